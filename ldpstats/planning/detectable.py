"""The smallest effect that a survey finds with a given power."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ldpstats.arguments.checks import level, positive_integer
from ldpstats.arguments.markup import html_lines
from ldpstats.errors import InvalidArgument, LDPError
from ldpstats.planning.goals.base import Goal, Ray
from ldpstats.planning.power_of_tests import asked_power, needed, planned, power_at
from ldpstats.planning.variances import effect_of_design

__all__ = ["Detectable", "minimum_detectable"]

_FARTHEST = 2.0**12  # multiple of a departure that has no bounds


@dataclass(frozen=True, eq=False)
class Detectable:
    """The smallest effect that is found with a given power.

    Parameters
    ----------
    value : float
        The effect, also ``float(...)`` of this object, in the units of the goal: a frequency
        (`ValueTest`), a share (`PresenceTest`), a difference of two frequencies or Cramer's V of
        the true answers (`GroupsTest`, with and without a category), Cramer's V
        (`IndependenceTest`), a coefficient (`CoefficientTest`).
    unit : str
        What `value` is, in words.
    multiple : float
        The effect as a multiple of the departure of the goal's truth from its null hypothesis.
    truth : Series or DataFrame
        The truth that has this effect, on the ray from the null hypothesis to the goal's truth.
    power, alpha, design_effect : float
    n : int
        What the effect was computed for.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> goal = ldp.planning.ValueTest([0.7, 0.3], category="yes", value=0.25)
    >>> found = ldp.planning.minimum_detectable(ldp.Warner(epsilon=1.0), goal, n=10_000)
    >>> print(found)
    With 10000 respondents, power 0.8 at alpha 0.05: frequency of 'yes' 0.2796.
    """

    value: float
    unit: str
    multiple: float
    truth: Any
    power: float
    n: int
    alpha: float
    design_effect: float

    def __repr__(self) -> str:
        return f"Detectable({self.value:.6g}, {self.unit}, power={self.power:g}, n={self.n})"

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return (
            f"With {self.n} respondents, power {self.power:g} at alpha {self.alpha:g}: "
            f"{self.unit} {self.value:.4g}."
        )

    def _repr_html_(self) -> str:
        """The same, in a notebook."""
        return html_lines(str(self))

    def summary(self) -> str:
        """The effect in plain sentences, with the truth that has it."""
        text = (
            f"The smallest effect that {self.n} respondents find with probability "
            f"{self.power:g}, by a test of level {self.alpha:g}, is {self.unit} {self.value:.4g}."
        )
        if self.design_effect != 1.0:
            text += f" The design effect is {self.design_effect:g}."
        ratio = f"{self.multiple:.3g} times the departure of the goal"
        shown = pd.DataFrame(self.truth).round(4).to_string(max_rows=20)
        return f"{text} It is {ratio} from its null hypothesis. The truth is then\n{shown}"


def minimum_detectable(
    mechanism: Any,
    goal: Goal,
    n: int,
    power: float = 0.8,
    alpha: float = 0.05,
    design_effect: float = 1.0,
) -> Detectable:
    """The smallest effect that n respondents find with a given power.

    It is looked for on the ray from the goal's null hypothesis through its truth, beyond the truth
    too, as far as it leads to distributions: the truth of the goal says the direction.

    Parameters
    ----------
    mechanism, goal, n, alpha, design_effect
        As in `power`.
    power : float
        Power that is asked for, above alpha.

    Returns
    -------
    Detectable
        The effect as a `value` in the goal's units, and the truth that has it. `planning.power` of
        that truth is the power asked for.

    Raises
    ------
    InvalidArgument
        As in `power`; if the truth of the goal is its null hypothesis, which has no direction; or
        if no effect on the ray reaches the power: the message has the n that is needed for the
        largest one.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> goal = ldp.planning.PresenceTest([0.6, 0.38, 0.02], category="spy")
    >>> krr = ldp.KRR(("nurse", "cook", "spy"), epsilon=1.0)
    >>> found = ldp.planning.minimum_detectable(krr, goal, n=10_000)
    >>> round(found.value, 4)
    0.0338
    """
    ray, number, alpha = planned(mechanism, goal), positive_integer("n", n), level(alpha)
    asked, effect = asked_power(power, alpha), effect_of_design(design_effect)
    if not ray.test(1.0, alpha).differs:
        remedy = "has the null hypothesis for its truth, which gives no direction"
        raise InvalidArgument("goal", str(goal), remedy)

    def excess(multiple: float) -> float:
        if multiple == 0.0:
            return alpha - asked
        return power_at(ray.test(multiple, alpha), number, effect) - asked

    end = ray.most if ray.most < _FARTHEST else _beyond(excess)
    if excess(end) < 0.0:
        raise _too_few(ray, end, number, asked, alpha, effect)
    from scipy.optimize import brentq

    multiple = float(brentq(excess, 0.0, end, xtol=1e-12 * end, rtol=1e-12))
    found = ray.effect(multiple), ray.unit, multiple, ray.truth(multiple)
    return Detectable(*found, asked, number, alpha, effect)


def _beyond(excess: Any) -> float:
    """A multiple that reaches the power, by doubling; where none does, the best."""
    best, most = 1.0, excess(1.0)
    multiple = 1.0
    while most < 0.0 and multiple < _FARTHEST:
        multiple *= 2.0
        found = excess(multiple)
        if found <= most:  # extreme effects are as hard to see as small ones
            break
        best, most = multiple, found
    return best


def _too_few(
    ray: Ray, end: float, n: int, asked: float, alpha: float, effect: float
) -> InvalidArgument:
    largest = f"{ray.unit} {ray.effect(end):.4g}"
    remedy = f"no effect has power {asked:g}, up to the largest, {largest}"
    try:
        remedy += f"; that needs n = {needed(ray.test(end, alpha), asked, effect)}"
    except LDPError:
        remedy += "; nor with any other n"
    return InvalidArgument("n", n, remedy)
