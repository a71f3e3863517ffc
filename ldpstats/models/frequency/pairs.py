"""Difference and ratio of the frequencies of two categories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument
from ldpstats.inference.tables.ratio import FiellerInterval, fieller
from ldpstats.inference.tails import one_sided
from ldpstats.problems.estimates import Uncertain

__all__ = ["difference", "ratio"]

Array = npt.NDArray[Any]


def difference(
    labels: tuple[Any, Any],
    places: tuple[int, int],
    k: int,
    t_test: Callable[[Any], Any],
    alpha: float,
) -> pd.Series[float]:
    """Estimate, standard error, interval and p-value by the `t_test` of k frequencies."""
    (first, second), (i, j) = labels, places
    if i == j:
        raise InvalidArgument("second", second, "is the first category: name two")
    R = np.zeros((1, k))
    R[0, i], R[0, j] = 1.0, -1.0
    try:
        test = t_test(R)
    except InvalidArgument:  # which names another argument
        remedy = f"and {first!r} were never reported, of which conf_int() tells more"
        raise InvalidArgument("second", second, remedy) from None
    lower, upper = test.conf_int(alpha)[0]
    values = [test.effect[0], test.sd.ravel()[0], lower, upper, float(np.ravel(test.pvalue)[0])]
    index = ["estimate", "se", "lower", "upper", "pvalue"]
    return pd.Series(values, index=index, name=f"{first} - {second}")


def ratio(
    linear: Uncertain,
    first: Sequence[int],
    second: Sequence[int],
    law_of: Callable[[Array, Array], Callable[[float], Any] | None],
    alpha: float,
) -> FiellerInterval:
    """All ratios of the frequencies at some places over those at others that are not rejected.

    The ratio is r where ``(1 - v) sum first - v sum second`` is zero, with ``v = r / (1 + r)``. Its
    estimate is tested with the law that it has there, ``law_of(a, b)(v)`` for the indicators a and
    b of the places; where that is not known Fieller's set takes the law at the estimate.
    """
    R = np.zeros((2, linear.estimate.size))
    R[0, first] = R[1, second] = 1.0
    law = law_of(*R)
    rows, estimate, V = linear.restricted(R)
    num, den = (float(x) for x in rows @ estimate)
    if law is None:
        spread = V.transform(rows)
        return fieller(num, den, spread[0, 0], spread[1, 1], spread[0, 1], alpha)
    # what is in both sums alone, in the first alone or in the second alone: ratios 1, inf and 0
    low = 0.0 if np.any(R[1] > R[0]) else 0.5
    high = 1.0 if np.any(R[0] > R[1]) else 0.5
    if low < high and max(num, den) > 0.0:
        centre = min(max(max(num, 0.0) / (max(num, 0.0) + max(den, 0.0)), low), high)

        def tail(v: float, upper: bool) -> float:
            se, skewness = law(v).at(np.zeros(1))
            gap = np.array([(1.0 - v) * num - v * den])
            return float(one_sided(gap, se, skewness, upper)[0])

        low, high = _limit(tail, centre, low, True, alpha), _limit(tail, centre, high, False, alpha)
    least, most = (v / (1.0 - v) if v < 1.0 else np.inf for v in (low, high))
    return FiellerInterval(least, most, "bounded" if most < np.inf else "unbounded")


def _limit(
    tail: Callable[[float, bool], float], centre: float, end: float, upper: bool, alpha: float
) -> float:
    """The last value on the way from the centre to an end of the range that is not rejected.

    If the centre is itself rejected, because an estimate is negative, that at which the estimate is
    alpha/2 times as probable as there (a CLs limit).
    """
    from scipy.optimize import brentq

    half = alpha / 2.0
    at_centre = tail(centre, upper)
    least = half if at_centre > half else half * at_centre
    if end == centre or tail(end, upper) >= least:
        return end
    return float(brentq(lambda v: tail(v, upper) - least, centre, end, xtol=1e-14))
