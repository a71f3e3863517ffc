"""Bounds of epsilon and delta of shuffled reports, by each method."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ldpstats.privacy.binomial_windows import reach
from ldpstats.privacy.report_laws import WINDOW, ReportLaws
from ldpstats.privacy.shuffled_pairs import ShuffledPairs, clones
from ldpstats.privacy.two_reports import TwoReports

__all__ = ["clones_closed_form", "delta_bound", "epsilon_bounds", "hoeffding_delta", "lower_bound"]

Bound = Callable[[float], float]

_TOLERANCE = 1e-6  # relative, of epsilon
_WIDEST = 20_000  # likely numbers of reports, up to which two reports are treated exactly
_COARSE = 512  # points of a lattice
_CLOSED = 10  # pairs of answers
_SLACK = (3e-3, 1e-2, 3e-2, 1e-1)  # relative, of epsilon above an attack's


def epsilon_bounds(pairs: ShuffledPairs, n: int, delta: float) -> dict[str, float]:
    """Upper bounds of epsilon by method, none above that of one report."""
    own = pairs.epsilon
    found = {}
    two = _two_reports(pairs, n, delta)
    if two is not None:
        found["two reports"] = _certified(two, own, delta, near(pairs.blankets[0], n, delta))
    if pairs.blankets:
        found["blanket"] = _worst_epsilon(pairs.blankets, n, delta, own)
        if len(pairs.blankets) <= _CLOSED:
            found["blanket, Hoeffding"] = max(
                _hoeffding(law, n, delta, own) for law in pairs.blankets
            )
    found["clones"] = _worst_epsilon((clones(own),), n, delta, own)
    found["clones, closed form"] = clones_closed_form(own, n, delta)
    return {name: float(min(value, own)) for name, value in found.items()}


def delta_bound(pairs: ShuffledPairs, n: int, epsilon: float, target: float) -> float:
    """The smallest upper bound of delta at an epsilon."""
    if epsilon >= pairs.epsilon:
        return 0.0
    found = [clones(pairs.epsilon).delta(epsilon, n, target)]
    if pairs.blankets:
        found.append(_worst_delta(_both_orders(pairs.blankets), n, epsilon, target))
    two = _two_reports(pairs, n, target)
    if two is not None:
        found.append(two.delta_above(epsilon, target))
    return min(1.0, *found)


def lower_bound(pairs: ShuffledPairs, n: int, delta: float, top: float) -> float:
    """A lower bound of epsilon by attacks, at most `top`; NaN where none can be computed."""
    two = _two_reports(pairs, n, delta)
    if two is not None:
        start = near(pairs.blankets[0], n, delta)
        return _largest(lambda e: two.delta_below(e, delta), delta, 0.0, top, start)
    laws = [law for law in pairs.attacks if law.window(n, delta) <= WINDOW]
    if not laws:
        return np.nan
    found = 0.0
    for law in sorted(_both_orders(laws), key=lambda law: -law.spread()):
        start = near(law, n, delta)
        found = _largest(_below(law, n, delta), delta, found, top, start)
    return float(found)


def _above(law: ReportLaws, n: int, delta: float) -> Bound:
    return lambda epsilon: law.delta(epsilon, n, delta)


def _below(law: ReportLaws, n: int, delta: float) -> Bound:
    return lambda epsilon: law.delta_below(epsilon, n, delta)


def _hoeffding(law: ReportLaws, n: int, delta: float, own: float) -> float:
    start = 1.5 * near(law, n, delta)
    return smallest(lambda epsilon: hoeffding_delta(law, epsilon, n), delta, 0.0, own, start)


def clones_closed_form(epsilon: float, n: int, delta: float) -> float:
    """Feldman, McMillan, Talwar (2021), Theorem 3.1, as their program has it; inf out of range.

    The range is that of 4 / delta in place of the printed 2 / delta, which the proof needs.
    """
    log = np.log(4.0 / delta)
    if epsilon > np.log(n / (16.0 * log)):
        return np.inf
    grown = 8.0 * np.sqrt(np.exp(epsilon) * log / n) + 8.0 * np.exp(epsilon) / n
    share = -np.expm1(-epsilon) / (1.0 + np.exp(-epsilon - np.log1p(grown)))
    return float(np.log1p(share * grown))


def hoeffding_delta(law: ReportLaws, epsilon: float, n: int) -> float:
    """Balle, Bell, Gascon, Nissim (2019), section 5: delta by Hoeffding's inequality."""
    told = law.first + law.second > 0.0
    gamma = float(law.others[told].sum())
    width, drift = 0.0, np.expm1(epsilon)
    for side in (law, law.swapped()):
        values = side.values(epsilon)[told] * gamma
        width = max(width, float(values.max() - values.min()))
    if drift == 0.0:
        return 1.0
    ratio = (drift / width) ** 2
    kept = n * np.log1p(gamma * np.expm1(-2.0 * ratio))
    return float(min(1.0, np.exp(kept) / (4.0 * gamma * n * drift) * width**2))


def smallest(bound: Bound, delta: float, start: float, top: float, near: float) -> float:
    """The smallest epsilon from `start` to `top` at which a decreasing bound is at most delta.

    To 1e-6 of it, and never where the bound is larger: `top` if it is nowhere smaller. The search
    begins at `near`.
    """
    if bound(start) <= delta:
        return start
    low, high, goal = start, top, float(np.log(delta))
    guess = near if low < near < high else (low + high) / 2.0
    known: list[tuple[float, float]] = []
    for _ in range(200):
        if high - low <= _TOLERANCE * high:
            break
        value = float(np.log(max(bound(guess), 1e-320))) - goal
        low, high = (guess, high) if value > 0.0 else (low, guess)
        known = [*known[-1:], (guess, value)]
        guess = _next(known, low, high)
    return high


def _next(known: Sequence[tuple[float, float]], low: float, high: float) -> float:
    """The secant's zero, moved a little to the side where the end of the range is farther."""
    middle = (low + high) / 2.0
    b, g = known[-1]
    if len(known) == 1:
        zero = b * (1.02 if g > 0.0 else 0.98)
        return zero if low < zero < high else middle
    a, f = known[0]
    if f == g or abs(g) > 0.5 * abs(f) > 5.0:
        return middle
    zero = b - g * (b - a) / (g - f)
    margin = 0.4 * _TOLERANCE * high
    zero += margin if high - zero > zero - low else -margin
    return zero if low < zero < high else middle


def near(laws: ReportLaws, n: int, delta: float) -> float:
    """The epsilon that there would be if the sum of `ReportLaws` were normal."""
    from scipy.special import log_ndtr

    scale = laws.spread() / np.sqrt(n)
    low, high = 0.0, 40.0
    for _ in range(50):
        z = (low + high) / 2.0
        density = np.exp(-z * z / 2.0) / np.sqrt(2.0 * np.pi)
        found = scale * (density - z * np.exp(log_ndtr(-z)))
        low, high = (z, high) if found > delta else (low, z)
    return float(np.log1p(scale * low))


def _largest(bound: Bound, delta: float, start: float, top: float, near: float) -> float:
    """The largest epsilon, nearly, at which a decreasing lower bound is above delta; or `start`."""
    found = smallest(bound, delta, start, top, near)
    return max(start, found * (1.0 - 1.1 * _TOLERANCE)) if found > start else start


def _worst_epsilon(laws: Sequence[ReportLaws], n: int, delta: float, own: float) -> float:
    """The epsilon that suffices for all pairs of answers, in either order."""
    found = 0.0
    for law in _both_orders(laws):
        if len(laws) > 1 and found > 0.0 and law.delta(found, n, delta, _COARSE) <= delta:
            continue  # another pair needs more
        found = smallest(_above(law, n, delta), delta, found, own, near(law, n, delta))
    return found


def _worst_delta(laws: Sequence[ReportLaws], n: int, epsilon: float, target: float) -> float:
    """The largest bound of all laws: coarse ones say which need not be computed finely."""
    if len(laws) <= 2:
        return max(law.delta(epsilon, n, target) for law in laws)
    coarse = [(law.delta(epsilon, n, target, _COARSE), i) for i, law in enumerate(laws)]
    found = 0.0
    for bound, i in sorted(coarse, reverse=True):
        if bound <= found:
            break
        found = max(found, min(bound, laws[i].delta(epsilon, n, target)))
    return found


def _both_orders(laws: Sequence[ReportLaws]) -> list[ReportLaws]:
    return [side for law in laws for side in (law, law.swapped())]


def _two_reports(pairs: ShuffledPairs, n: int, target: float) -> TwoReports | None:
    if pairs.two is None or reach(n, pairs.two[0], target) > _WIDEST:
        return None
    return TwoReports(*pairs.two, n)


def _certified(two: TwoReports, own: float, delta: float, start: float) -> float:
    """An epsilon for all answers of others, from that of the worst that were tried on."""
    least = smallest(lambda e: two.delta_below(e, delta), delta, 0.0, own, start)
    for slack in _SLACK if two.n > 400 else (3.0 * _TOLERANCE, *_SLACK):
        epsilon = least * (1.0 + slack)
        if epsilon < own and two.certifies(epsilon, delta):
            return epsilon
    return own
