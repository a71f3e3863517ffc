"""How many respondents a survey needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import level, real_number
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.planning.expected_precision import (
    place_of_category,
    precision,
    relatives,
    standard_errors,
    widths,
)
from ldpstats.planning.goals.base import Goal
from ldpstats.planning.power_of_tests import respondents_for_power

__all__ = ["sample_size", "smallest_sample"]

Array = npt.NDArray[Any]

_MOST = 2**63 - 1
_TARGETS = ("se", "width", "relative")
_LEAST = 1e-150  # of a target, whose square does not vanish
_TOO_LARGE = {"se": 0.5, "width": 1.0}  # which every share has
_POWER = 0.8
_NEAR = 1e-9  # relative distance of the first bracket from the guess


def sample_size(
    mechanism: Mechanism,
    p: npt.ArrayLike | None = None,
    se: float | None = None,
    width: float | None = None,
    relative: float | None = None,
    category: Any = None,
    design_effect: float = 1.0,
    alpha: float = 0.05,
    candidates: Any = None,
    goal: Goal | None = None,
    power: float | None = None,
    method: str = "mle",
) -> int:
    """The smallest number of respondents whose estimates are as precise, or powerful, as asked.

    The inverse of `precision`: with so many the worst category, or the one named, reaches the
    target, and with one respondent fewer it does not. With a `goal` the inverse of `power`.

    Parameters
    ----------
    mechanism : Mechanism
        Any mechanism; `Observed` for a survey without privacy.
    p : array-like, shape (k,), or Series or mapping by label, optional
        Expected distribution; an array is in category order. Default: uniform.
    se : float, optional
        Standard error to reach, below 0.5; 0.015 is one and a half percentage points.
    width : float, optional
        Full width of the Wald interval to reach, before a cut to [0, 1]; below 1.
    relative : float, optional
        Standard error over p to reach. Every category that counts needs a positive p.
    category : label, optional
        The category that counts. Default: all of them, so that the worst one decides.
    design_effect : float
        As in `precision`.
    alpha : float
        1 - coverage of the interval of `width`, or level of the test of `goal`.
    candidates : sequence of str, optional
        The strings whose distribution is p; only for mechanisms with an open alphabet.
    goal : ValueTest, GroupsTest, PresenceTest, IndependenceTest or CoefficientTest, optional
        What a test is to find. It has its own truth, so that p, category and candidates go without.
        Tests of counts have a power that goes up and down as n grows: the first n that has it.
    power : float, optional
        Power of that test, above `alpha`. Default with a goal: 0.8.
    method : {"mle", "inversion"}
        As in `precision`; not for a goal.

    Returns
    -------
    int
        Respondents; with `GroupsTest` those of all groups together, split by its `shares`.

    Raises
    ------
    NotIdentified
        If the reports of the mechanism leave p open.
    NotAvailable
        If 2**63 respondents are not enough, or candidates too many for standard errors.
    InvalidArgument
        If not exactly one of `se`, `width`, `relative` and `goal` is given, or one is out of range.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("nurse", "cook", "driver"), epsilon=1.0)
    >>> sample_size(krr, [0.5, 0.3, 0.2], se=0.02)
    4501
    >>> float(precision(krr, [0.5, 0.3, 0.2], 4501).se.max()) <= 0.02
    True
    >>> sample_size(krr, [0.5, 0.3, 0.2], relative=0.1, category="driver")
    3840
    >>> goal = ldp.planning.ValueTest([0.3, 0.7], category="yes", value=0.25)
    >>> sample_size(ldp.KRR(("yes", "no"), epsilon=1.0), goal=goal, power=0.8)
    3469
    """
    if goal is not None:
        without = {"p": p, "category": category, "candidates": candidates}
        _refuse(without | dict(zip(_TARGETS, (se, width, relative), strict=True)))
        asked = _POWER if power is None else power
        return respondents_for_power(mechanism, goal, asked, alpha, design_effect)
    if power is not None:
        raise InvalidArgument("power", power, "goes with goal= only")
    kind, target = _target(se, width, relative)
    alpha = level(alpha)
    one = precision(mechanism, p, 1, design_effect, candidates, method)
    shares = one.p.to_numpy()
    place = slice(None) if category is None else [place_of_category(category, one.p.index)]
    variances, shares = one.variances[place], shares[place]
    if kind == "relative" and not np.all(shares > 0.0):
        label = one.p.index[place][int(np.argmin(shares))]
        raise InvalidArgument("p", f"0 for {label!r}", "must be positive for relative=")

    def size(n: int) -> float:
        errors = standard_errors(variances, n, one.design_effect)
        if kind == "width":
            errors = widths(errors, alpha)
        elif kind == "relative":
            errors = relatives(errors, shares)
        return float(errors.max())

    needed = size(1) / target
    return smallest_sample(lambda n: size(n) <= target, needed * needed)


def _refuse(given: dict[str, Any]) -> None:
    """Refuse arguments that a goal replaces."""
    for name, value in given.items():
        if value is not None:
            raise InvalidArgument(name, value, "goes without goal=, which says what is needed")


def _target(*given: Any) -> tuple[str, float]:
    """The kind and value of the one target that is given."""
    named = {name: value for name, value in zip(_TARGETS, given, strict=True) if value is not None}
    if len(named) != 1:
        remedy = "give exactly one of se=, width=, relative= and goal="
        raise InvalidArgument("se", named or None, remedy)
    ((name, value),) = named.items()
    remedy = "must be a positive finite number, for example 0.01"
    number = real_number(name, value, remedy)
    if name in _TOO_LARGE and number >= _TOO_LARGE[name]:
        more = f"must be below {_TOO_LARGE[name]:g}: shares lie in [0, 1]"
        if np.isfinite(number) and number < 100.0:
            more += f"; {number:g} percentage points are {name}={number / 100.0:g}"
        raise InvalidArgument(name, value, more)
    if not _LEAST <= number < np.inf:
        raise InvalidArgument(name, value, remedy)
    return name, number


def smallest_sample(reached: Callable[[int], bool], guess: float) -> int:
    """The smallest n that reaches a target, which more respondents never lose.

    Parameters
    ----------
    reached : callable
        Whether n respondents reach the target.
    guess : float
        About how many are needed; a good guess saves calls.

    Raises
    ------
    NotAvailable
        If 2**63 respondents are not enough.
    """
    at = int(min(max(guess, 1.0), float(2**62)))
    low, high = _bracket(reached, at)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _bracket(reached: Callable[[int], bool], at: int) -> tuple[int, int]:
    """Numbers around the smallest that reaches the target; the lower one does not, or is zero."""
    step = 1 + int(_NEAR * at)
    low, high = max(0, at - step), min(at + step, _MOST)
    while low and reached(low):
        step *= 2
        low, high = max(0, low - step), low
    while not reached(high):
        if high == _MOST:
            raise NotAvailable(
                "2**63 respondents do not reach the target: ask for less precision or power, or "
                "use a larger epsilon"
            )
        step *= 2
        low, high = high, min(high + step, _MOST)
    return low, high
