"""Comparison of a frequency with a given value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldpstats.arguments.checks import probability
from ldpstats.planning.goals.base import Goal, checked_category, checked_shares, setting
from ldpstats.planning.goals.frequencies import FrequencyRay
from ldpstats.planning.shares import shares_text

__all__ = ["ValueTest"]


@dataclass(frozen=True, eq=False)
class ValueTest(Goal):
    """To find that the frequency of a category is not `value`.

    The test is that of ``results.t_test("p[category] = value")``: a two-sided score test of the
    unconstrained estimate, with its standard error and skewness under the null hypothesis. Where
    the estimate rests on a count of its own (k-RR, binary designs, answers without noise) the power
    is summed exactly over the tallies that are rejected; elsewhere it is by Pearson's type III law.

    Parameters
    ----------
    p : array-like, shape (k,), or Series or mapping by label
        True distribution of the answers; an array is in the order of the categories. Over an open
        alphabet by candidate.
    category : label
        The category that is compared.
    value : float
        Its frequency under the null hypothesis, in [0, 1].

    Raises
    ------
    InvalidArgument
        If `p` is not a distribution, `value` no probability, or `category` not a label of p.

    Notes
    -----
    On the ray of `planning.minimum_detectable` the frequency goes from `value` to the true one, and
    beyond; the other categories keep their proportions. The effect is the frequency.

    Over an open alphabet the candidates are taken for all answers. With few cohorts or few cells
    results allow for others too, in some surveys, and have less power than this.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> goal = ldp.planning.ValueTest({"no": 0.7, "yes": 0.3}, category="yes", value=0.25)
    >>> print(goal)
    to find that the frequency of 'yes' is not 0.25; true shares: no 0.7, yes 0.3
    >>> round(ldp.planning.power(ldp.Warner(epsilon=1.0), goal, n=2000), 3)
    0.566
    """

    p: Any
    category: Any
    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", checked_shares("p", self.p))
        object.__setattr__(self, "value", probability("value", self.value))
        category = checked_category("category", self.category, self.p)
        object.__setattr__(self, "category", category)

    @property
    def words(self) -> str:
        return f"to find that the frequency of {self.category!r} is not {self.value:g}"

    @property
    def truth(self) -> str:
        return f"true shares: {shares_text(self.p)}"

    def ray(self, mechanism: Any) -> FrequencyRay:
        """The goal in a survey with this mechanism."""
        at = setting(mechanism, self.p)
        return FrequencyRay(at, at.place(self.category), self.value)
