"""Presence of a rare category or candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldpstats.arguments.checks import positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.planning.goals.base import Goal, checked_category, checked_shares, setting
from ldpstats.planning.goals.frequencies import FrequencyRay
from ldpstats.planning.shares import shares_text

__all__ = ["PresenceTest"]


@dataclass(frozen=True, eq=False)
class PresenceTest(Goal):
    """To find that somebody gives a rare answer: that its frequency is above zero.

    The test is that of ``results.detected(alpha)``: one-sided, with Bonferroni's correction for
    all categories or candidates. Where the estimate rests on a count of its own both the test and
    its power are exact (binomial); elsewhere they are by Pearson's type III law.

    Parameters
    ----------
    p : array-like, shape (k,), or Series or mapping by label
        True distribution of the answers; an array is in the order of the categories. Over an open
        alphabet by candidate.
    category : label
        The rare category.
    n_candidates : int, optional
        Number of tests that are made together. Default: the k categories or candidates of p; a
        longer list may be planned.

    Raises
    ------
    InvalidArgument
        If `p` is not a distribution, `category` not a label of p, or `n_candidates` less than k.

    Notes
    -----
    On the ray of `planning.minimum_detectable` the share of the category grows from zero; the other
    categories keep their proportions. The effect is the share.

    Over an open alphabet the candidates are taken for all answers. With few cohorts or few cells
    results allow for others too, in some surveys, and have less power than this.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("nurse", "cook", "spy"), epsilon=1.0)
    >>> goal = ldp.planning.PresenceTest([0.6, 0.38, 0.02], category="spy")
    >>> print(goal)
    to detect 'spy' among 3 candidates; true shares: 0.6, 0.38, 0.02
    >>> round(ldp.planning.power(krr, goal, n=20_000), 3)
    0.646
    """

    p: Any
    category: Any
    n_candidates: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", checked_shares("p", self.p))
        category = checked_category("category", self.category, self.p)
        object.__setattr__(self, "category", category)
        k = len(self.p)
        if self.n_candidates is not None:
            found = positive_integer("n_candidates", self.n_candidates)
            if found < k:
                remedy = f"must be at least {k}: all shares in p are tested"
                raise InvalidArgument("n_candidates", self.n_candidates, remedy)
            object.__setattr__(self, "n_candidates", found)

    @property
    def tests(self) -> int:
        """Number of tests that are made together."""
        return len(self.p) if self.n_candidates is None else self.n_candidates

    @property
    def words(self) -> str:
        return f"to detect {self.category!r} among {self.tests} candidates"

    @property
    def truth(self) -> str:
        return f"true shares: {shares_text(self.p)}"

    def ray(self, mechanism: Any) -> FrequencyRay:
        """The goal in a survey with this mechanism."""
        at = setting(mechanism, self.p)
        return FrequencyRay(at, at.place(self.category), 0.0, presence=True, tests=self.tests)
