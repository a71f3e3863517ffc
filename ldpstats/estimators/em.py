"""Expectation maximisation, accelerated and certified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import positive_integer
from ldpstats.estimators.base import LikelihoodEstimator
from ldpstats.estimators.solvers.ascent import (
    STEP,
    Ascent,
    certified_gap,
    check_tol,
    gap_target,
    maximise_reduced,
    observed,
    report,
    require_possible,
)
from ldpstats.estimators.solvers.proximal import DiagonalModel
from ldpstats.estimators.solvers.watch import tell
from ldpstats.problems.problem import Likelihood, Solution
from ldpstats.problems.rows.base import Rows

__all__ = ["EM", "em_step"]

Array = npt.NDArray[Any]

_TINY = 1e-30  # subnormal numbers are slow; the certificate guards what is flushed


def em_step(problem: Likelihood, p: Array) -> Array:
    """One plain EM step, ``p_x <- p_x score_x / n`` (FPE16 section III-A, MK19 section 2.5).

    Examples
    --------
    >>> problem = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40]))
    >>> em_step(problem, np.array([0.5, 0.5]))
    array([0.55, 0.45])
    """
    return np.asarray(p * problem.score(p) / problem.nobs)


@dataclass(frozen=True)
class EM(LikelihoodEstimator):
    """Maximum likelihood by EM with squared extrapolation (SQUAREM), stopped on the duality gap.

    Two EM steps r, r + v from p are extrapolated to ``p - 2 s r + s^2 v``, ``s = -|r|/|v|``; a step
    that would lower the log-likelihood is halved towards plain EM (Varadhan & Roland 2008).

    Parameters
    ----------
    tol : float or None
        Gap per report to reach; None for 1e-3 nats over all reports and an estimated Newton step
        below 1e-3 standard errors.
    max_iter : int
        Largest number of EM steps.

    Raises
    ------
    InvalidArgument
        Where `tol` is not positive or `max_iter` is below 1.

    Examples
    --------
    >>> problem = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40]))
    >>> EM(tol=1e-9).solve(problem).p.round(6)
    array([0.7, 0.3])
    """

    tol: float | None = None
    max_iter: int = 100_000
    name: ClassVar[str] = "em"

    def __post_init__(self) -> None:
        check_tol(self.tol)
        positive_integer("max_iter", self.max_iter)

    def solve(self, problem: Likelihood) -> Solution:
        """Maximise the likelihood; `n_iter` counts EM steps.

        Warns
        -----
        ConvergenceWarning
            Where `max_iter` steps did not reach the gap.
        """
        W, n = observed(problem)
        target = gap_target(problem.nobs, self.tol)
        last = STEP if self.tol is None else np.inf

        def solve(rows: Rows, counts: Array) -> tuple[Ascent, str]:
            found = squarem(rows.prepared(), counts, target, self.max_iter, last)
            return found, f"EM, {found.n_iter} steps"

        found, how = maximise_reduced(W, n, target, solve)
        return report(found, problem.nobs, how, target)


def squarem(W: Rows, n: Array, target: float, max_iter: int, max_step: float = np.inf) -> Ascent:
    """Accelerated EM on rows W, shape (u, k), with counts n > 0; see `EM`.

    `max_step` bounds the estimated Newton step that is left, in standard errors.
    """
    total, k = float(n.sum()), W.shape[1]
    p = np.full(k, 1.0 / k)
    d = W.mix(p)
    if not d.min() > 0.0:
        require_possible(W)
    steps, done = 0, False
    while True:
        score = W.adjoint(n / (d * total))
        tell(float(score.max()) - 1.0, target)
        if score.max() - 1.0 <= target:
            model = DiagonalModel.at(W, n / (d * d * total))
            done = np.sqrt(total) * model.size(model.step(p, 1.0 - score)) <= max_step
        if done or steps >= max_iter:
            break
        p1 = _flush(p * score, score)
        score1 = W.adjoint(n / (W.mix(p1) * total))
        p2 = _flush(p1 * score1, score1)
        p2 /= p2.sum()
        steps += 2
        p, d = _extrapolate(W, n, p, p1, p2, W.mix(p2))
    gap = certified_gap(W, n, p)
    return Ascent(p, gap, steps, done and gap <= target)


def _extrapolate(
    W: Rows, n: Array, p: Array, p1: Array, p2: Array, d2: Array
) -> tuple[Array, Array]:
    """The extrapolated point and its W p; never less likely than p2."""
    r = p1 - p
    v = (p2 - p1) - r
    norm = float(np.linalg.norm(v))
    s = float(np.linalg.norm(r)) / norm if norm > 0.0 else 1.0
    least = float(n @ np.log(d2))
    while s > 1.0:
        q = p + 2.0 * s * r + s * s * v
        q = np.where(q > 0.0, q, 0.1 * p2)  # entries on their way to zero stay ahead of it
        q /= q.sum()
        d = W.mix(q)
        if d.min() > 0.0 and float(n @ np.log(d)) >= least:
            return q, d
        s = (s + 1.0) / 2.0 if s > 1.1 else 1.0
    return p2, d2


def _flush(p: Array, score: Array) -> Array:
    """p with negligible entries that are still falling set to zero."""
    return np.where((p < _TINY) & (score < 1.0), 0.0, p)
