"""KBR16's Proposition 7, as the composite likelihood that it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.estimators.base import MomentsEstimator
from ldpstats.problems.equations import Equations, Moments
from ldpstats.problems.problem import Solution

__all__ = ["Composite"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Composite(MomentsEstimator):
    """Maximise ``sum_j T_j log m_j + (n - T_j) log(1 - m_j)`` over the simplex (KBR16 Prop. 7).

    Here T_j = n t_j reports have bit j set and ``m_j = offset + A p_j``. It treats the bits of a
    report as independent given p, which they are not: it is a composite likelihood, built from the
    k marginal ones, and not the likelihood, which `MLE` maximises.

    For a multiplier nu the conditions ``(t - m)/(m (1 - m)) <= nu``, with equality where p > 0, are
    k quadratics, and the sum of their solutions falls in nu: a one-dimensional root gives p.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> rappor = ldp.KRAPPOR(3, epsilon=2.0)
    >>> problem = rappor.moments(rappor.counts([600, 400, 260], nobs=1000))
    >>> Composite().solve(problem).p.round(4)
    array([0.7164, 0.2836, 0.    ])
    """

    name: ClassVar[str] = "composite"

    def solve(self, problem: Moments) -> Solution:
        """Return the maximum; `message` holds how far the optimality conditions are from holding.

        Raises
        ------
        NotAvailable
            Where the reports are not unary: one independent bit per category.
        """
        t, A, offset = _bits(problem)
        nu = _multiplier(t, A, offset)
        p = _given(nu, t, A, offset)
        total = float(p.sum())
        p = p / total
        message = (
            f"KKT conditions of the composite likelihood solved for their multiplier {nu:.6g}: "
            f"residual {_residual(p, nu, t, A, offset):.1e}"
        )
        return Solution(p, np.nan, 0, True, message)

    def excess(self, problem: Moments, p: Array) -> Array:
        """In proportion to the variances m (1 - m) of the bits, the inverse weights of the fit."""
        _, A, offset = _bits(problem)
        m = offset + A * p
        return np.asarray(m * (1.0 - m) / (m * (1.0 - m)).sum())


def _bits(problem: Moments) -> tuple[Array, float, Array]:
    """t, A and offset of ``E[t_j] = offset_j + A p_j``, one bit a category."""
    # only these moments are such equations: of others the composite likelihood is not known
    if (
        not isinstance(problem, Equations)
        or problem.kind != "bits"
        or not isinstance(problem.A, float)
    ):
        raise NotAvailable(
            "the composite likelihood needs unary reports, with one bit per category "
            "(KRAPPOR and its relatives); use method 'mle'"
        )
    return problem.t, problem.A, np.asarray(problem.offset, dtype=np.float64)


def _given(nu: float, t: Array, A: float, offset: Array) -> Array:
    """p for the multiplier nu: the root m in [0, 1] of ``t - m = nu m (1 - m)``, then p >= 0."""
    half = 1.0 + nu
    root = np.sqrt(np.maximum(half * half - 4.0 * nu * t, 0.0))
    # the two forms of the same root, each where it does not cancel
    m = 2.0 * t / (half + root) if half > 0.0 else (half - root) / (2.0 * nu)
    return np.maximum(np.asarray((m - offset) / A), 0.0)


def _multiplier(t: Array, A: float, offset: Array) -> float:
    """The nu at which p sums to one."""
    from scipy.optimize import brentq

    def excess(nu: float) -> float:
        return float(_given(nu, t, A, offset).sum()) - 1.0

    sign = 1.0 if excess(0.0) > 0.0 else -1.0
    edge = sign
    while sign * excess(edge) > 0.0:
        edge *= 2.0
    return float(brentq(excess, min(0.0, edge), max(0.0, edge), xtol=1e-15, rtol=1e-15))


def _residual(p: Array, nu: float, t: Array, A: float, offset: Array) -> float:
    """Largest violation of ``t - m - nu m (1 - m) <= 0``, with equality where p > 0."""
    m = offset + A * p
    slack = t - m - nu * m * (1.0 - m)
    return float(np.max(np.where(p > 0.0, np.abs(slack), np.maximum(slack, 0.0))))
