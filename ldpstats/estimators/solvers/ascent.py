"""What every maximiser of a `Likelihood` shares: its target, its line search, its report."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import real_number
from ldpstats.errors import ConvergenceWarning, InvalidArgument
from ldpstats.problems.problem import Likelihood, Solution, nats_to_gain
from ldpstats.problems.rows.base import Rows

__all__ = [
    "Ascent",
    "certified_gap",
    "check_tol",
    "gap_target",
    "line_search",
    "maximise_reduced",
    "observed",
    "report",
    "require_possible",
    "search",
]

Array = npt.NDArray[Any]

GAP_NATS = 1e-3  # default tolerance: log-likelihood that may be left to gain, in nats
STEP = 5e-4  # length of the next step, in standard errors; its model is good to a factor of two
LAST_STEP = 0.02  # a Newton step below this leaves one below STEP: (s / (1 - s))^2
_TOL = "must be a positive gap per report, for example 1e-9"
_FLOOR = 1e-13  # no gap per report is asked for below what float64 sums resolve


@dataclass(frozen=True, eq=False)
class Ascent:
    """Where a maximiser stopped: p, its gap per report, iterations, and whether that is enough."""

    p: Array
    gap: float
    n_iter: int
    converged: bool


def gap_target(nobs: int, tol: float | None) -> float:
    """Gap per report to reach: `tol`, or 1e-3 nats over all `nobs` reports where it is None."""
    return max(GAP_NATS / nobs, _FLOOR) if tol is None else tol


def check_tol(tol: float | None) -> None:
    """Raise `InvalidArgument` unless `tol` is None or positive."""
    if tol is not None and not real_number("tol", tol, _TOL) > 0.0:
        raise InvalidArgument("tol", tol, _TOL)


def observed(problem: Likelihood) -> tuple[Rows, Array]:
    """The rows and counts (float64) of the reports that were seen at all."""
    seen = problem.n > 0
    if not seen.any():
        raise InvalidArgument("n", problem.n.tolist(), "must count at least one report")
    W = problem.W if seen.all() else problem.W.select(seen)
    return W, problem.n[seen].astype(np.float64)


def require_possible(W: Rows) -> None:
    """Raise `InvalidArgument` where a report has probability zero under every category."""
    impossible = np.flatnonzero(W.mix(np.ones(W.shape[1])) <= 0.0)
    if impossible.size:
        raise InvalidArgument(
            f"W[{impossible[0]}]",
            0.0,
            "this report was seen but is impossible under every category; check that the "
            "mechanism is the one that made the reports",
        )


def certified_gap(W: Rows, n: Array, p: Array) -> float:
    """``max_x score_x / N - 1`` at p, computed afresh in float64."""
    return max(float(W.adjoint(n / (W.mix(p) * float(n.sum()))).max()) - 1.0, 0.0)


def maximise_reduced(
    W: Rows, n: Array, target: float, solve: Callable[[Rows, Array], tuple[Ascent, str]]
) -> tuple[Ascent, str]:
    """Maximise by `solve`, in fewer categories where `Rows.reduced` has a smaller problem.

    `solve` takes rows and their counts, and returns the maximum and how it was found.
    """
    small = W.reduced(n)
    if small is None:
        return solve(W, n)
    if small.W.shape[1] == 1:
        p = small.expanded(np.ones(1))
        return Ascent(p, certified_gap(small.whole, n, p), 0, True), "counts of revealed answers"
    found, how = solve(small.W, small.n)
    p = small.expanded(found.p)
    gap = certified_gap(small.whole, n, p)
    return replace(found, p=p, gap=gap, converged=found.converged and gap <= target), how


def line_search(d: Array, change: Array, n: Array, cost: float, longest: float) -> float:
    """Maximiser over 0 <= t <= longest of ``sum_i n_i log(d_i + t change_i) / N - t cost``.

    d, all positive, and its change per unit of t have shape (u,); `cost` is the change of the sum
    of p. Newton's method on the derivative, which falls in t, kept inside a bracket; it stops where
    the derivative is a hundredth of what it was at 0. A full step that does is t = 1 exactly, so
    that an entry which it sends to zero becomes an exact zero.
    """
    total = float(n.sum())
    enough = 1e-2 * abs(float(n @ (change / d)) / total - cost)
    low, high, t = 0.0, longest, min(1.0, longest)
    for _ in range(60):
        at = d + t * change
        newton = -1.0
        if at.min() > 0.0:
            with np.errstate(over="ignore", invalid="ignore"):
                ratio = change / at
                slope = float(n @ ratio) / total - cost
                newton = t + slope * total / max(float(n @ (ratio * ratio)), 1e-300)
            if abs(slope) <= enough or (t == longest and slope >= 0.0):
                return t
            low, high = (t, high) if slope > 0.0 else (low, t)
        else:
            high = t
        if not low < newton < high:
            newton = longest if newton >= longest == high else (low + high) / 2.0
        t = newton
    return low


def search(W: Rows, n: Array, p: Array, d: Array, step: Array) -> tuple[float, Array]:
    """`line_search` along `step` from p, with d = W p, as far as p >= 0; and the change W step."""
    change = W.mix(step)
    shrinking = step < 0.0
    longest = float(np.min(p[shrinking] / -step[shrinking], initial=100.0))
    return line_search(d, change, n, float(step.sum()), longest), change


def report(found: Ascent, nobs: int, how: str, wanted: float) -> Solution:
    """Turn an `Ascent` into a `Solution`; warn where its gap was not reached."""
    nats = nats_to_gain(nobs, found.gap)
    message = f"{how}: gap {found.gap:.1e} per report, {nats:.1e} nats in all"
    if not found.converged:
        message += f"; not converged, {wanted:.1e} per report was wanted"
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return Solution(found.p, found.gap, found.n_iter, found.converged, message)
