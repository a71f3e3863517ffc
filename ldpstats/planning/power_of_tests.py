"""Power of the tests of a survey that is planned, and the respondents that a power needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ldpstats.arguments.checks import level, positive_integer, probability
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.planning.goals.base import Goal, Ray
from ldpstats.planning.laws.base import PlannedTest
from ldpstats.planning.variances import effect_of_design

__all__ = ["asked_power", "needed", "planned", "power", "respondents_for_power"]

_MOST = 2**53  # respondents
_WINDOW = 1 << 15  # respondents below a solution that are looked at one by one
_BLOCK = 1 << 14


def power(
    mechanism: Any, goal: Goal, n: int, alpha: float = 0.05, design_effect: float = 1.0
) -> float:
    """Probability that the package's test finds what a survey is to find out.

    Every goal names the test that results run by default; the power is that of this test, with the
    mechanism's own law of reports under the null hypothesis and under the truth. If the truth is
    the null hypothesis it is the size of the test.

    Parameters
    ----------
    mechanism : Mechanism
        Any mechanism, `Observed` for answers without privacy. For `IndependenceTest` a pair, one
        for each variable; for `GroupsTest` one for all groups, or a list of one for each.
    goal : ValueTest, GroupsTest, PresenceTest, IndependenceTest or CoefficientTest
        What is to be found out, and the truth.
    n : int
        Respondents, of all groups together.
    alpha : float
        Level of the test.
    design_effect : float
        Factor by which the sampling design multiplies variances: n respondents count as
        n / design_effect.

    Returns
    -------
    float

    Raises
    ------
    InvalidArgument
        If an argument is invalid, or the goal does not fit the mechanism.
    NotIdentified
        If the reports leave open what the goal asks.
    NotAvailable
        If the law of the reports cannot be computed.

    Examples
    --------
    Does the share of "yes" differ from one quarter? 2,000 answers, in the open and by Warner's
    design:

    >>> import ldpstats as ldp
    >>> goal = ldp.planning.ValueTest([0.7, 0.3], category="yes", value=0.25)
    >>> asked = ldp.Observed(("no", "yes"))
    >>> round(ldp.planning.power(asked, goal, n=2000), 3)
    0.999
    >>> round(ldp.planning.power(ldp.Warner(epsilon=1.0), goal, n=2000), 3)
    0.566
    """
    ray, number = planned(mechanism, goal), positive_integer("n", n)
    test = ray.test(1.0, level(alpha))
    return power_at(test, number, effect_of_design(design_effect))


def power_at(test: PlannedTest, n: int, design_effect: float) -> float:
    """Power of one test."""
    return float(test.power(np.array([n / design_effect]))[0])


def planned(mechanism: Any, goal: object) -> Ray:
    """The goal in a survey with this mechanism."""
    if not isinstance(goal, Goal):
        remedy = "must be a goal of planning, for example ValueTest(p, category, value)"
        raise InvalidArgument("goal", goal, remedy)
    return goal.ray(mechanism)


def asked_power(power: object, alpha: float) -> float:
    """A power that is asked for: above the level of the test."""
    found = probability("power", power, zero=False, one=False)
    if found <= alpha:
        remedy = f"must be above alpha = {alpha:g}, which a test has without any respondent"
        raise InvalidArgument("power", power, remedy)
    return found


def respondents_for_power(
    mechanism: Any,
    goal: Goal,
    power: float = 0.8,
    alpha: float = 0.05,
    design_effect: float = 1.0,
) -> int:
    """The smallest number of respondents with which `power` is at least the one asked for.

    Tests of counts have a power that goes up and down as n grows: a few respondents more may then
    have a little less. Of all numbers this is the first, up to about a million; beyond, of those
    near it.

    Parameters
    ----------
    mechanism, goal, alpha, design_effect
        As in `power`.
    power : float
        Power that is asked for, above alpha.

    Returns
    -------
    int

    Raises
    ------
    InvalidArgument
        As in `power`, and if the truth of the goal is its null hypothesis.
    NotAvailable
        If no number of respondents suffices.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> goal = ldp.planning.ValueTest([0.7, 0.3], category="yes", value=0.25)
    >>> respondents_for_power(ldp.Warner(epsilon=1.0), goal, power=0.8)
    3469
    """
    ray, alpha = planned(mechanism, goal), level(alpha)
    asked, effect = asked_power(power, alpha), effect_of_design(design_effect)
    test = ray.test(1.0, alpha)
    if not test.differs:
        remedy = "has the null hypothesis for its truth: no number of respondents finds a departure"
        raise InvalidArgument("goal", goal.words, remedy)
    return needed(test, asked, effect)


def needed(test: PlannedTest, asked: float, design_effect: float) -> int:
    """The smallest number of respondents with which a test has the power."""

    def enough(n: int) -> bool:
        return power_at(test, n, design_effect) >= asked

    last = _crossing(enough)
    back = int(min(_WINDOW, last - 1, math.ceil(design_effect * test.zigzag(last / design_effect))))
    for start in range(last - back, last, _BLOCK):
        block = np.arange(start, min(start + _BLOCK, last))
        reached = test.power(block / design_effect) >= asked
        if reached.any():
            return int(block[int(np.argmax(reached))])
    return last


def _crossing(enough: Callable[[int], bool]) -> int:
    """A number that is enough while one fewer is not, by doubling and bisection."""
    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise NotAvailable(
                "power: no number of respondents that a survey can have reaches it; the reports "
                "hardly depend on what the goal asks"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
