"""The Hessian of a likelihood of very many reports, and where to start, from a sample of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.solvers.dense import DenseModel
from ldpstats.estimators.solvers.proximal import proximal_newton
from ldpstats.problems.rows.base import DenseRows, Rows

__all__ = ["has_few_reports", "sampled", "spread_out", "starting_point"]

Array = npt.NDArray[Any]

SAMPLE = 20_000  # draws of reports for a Hessian; gradient and likelihood are of all reports
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
_FLOOR = 1e-8  # least curvature, relative to the largest, that counts
_EVEN = 0.5  # share of the sample that is spread evenly over the respondents
_ROUGH = 1e-3  # gap per report at which a start is good enough


def has_few_reports(W: Rows) -> bool:
    """Whether the exact Hessian of joint reports is about as quick as one from a sample."""
    one_group = len(W.groups(np.empty(W.shape[0]))) == 1
    return (one_group and W.is_table) or W.shape[0] <= 2 * SAMPLE


def sampled(W: Rows, n: Array) -> Callable[[Rows, Array], DenseModel]:
    """How to model the Hessian W' diag(v) W from a sample of reports, for counts n, shape (u,).

    Half of the sample is spread evenly over the respondents, the other half goes to the reports
    that say most: those with a large ``sum_x v_i W_ix^2 / D_x``, their share in the diagonal D of
    the Hessian. Without them, what identifies a rare category would be left to chance. Each drawn
    report is weighted by the inverse of its probability, and the matrix scaled to the diagonal D.
    Nothing is random: positions are spread out by a fixed sequence.
    """

    def at(_: Rows, v: Array) -> DenseModel:
        D = W.adjoints(v)[1]
        D = np.maximum(D, _FLOOR * D.max())
        share = v * W.mix_squares(1.0 / D)
        chance = _EVEN * n / n.sum() + (1.0 - _EVEN) * share / share.sum()
        found, times = np.unique(spread_out(chance, SAMPLE), return_counts=True)
        keep = np.zeros(n.size, dtype=bool)
        keep[found] = True
        H = W.select(keep).rough_gram(times * v[found] / (SAMPLE * chance[found]))
        H[np.diag_indices_from(H)] += _FLOOR * D
        scale = np.sqrt(D / H.diagonal())
        H *= scale
        H *= scale[:, None]
        return DenseModel(H)

    return at


def spread_out(weights: Array, m: int) -> Array:
    """m positions, ascending, each drawn about ``m weights / sum(weights)`` times.

    One of each of m equal parts of the total, at a place within it that has no period.
    """
    ends = np.cumsum(weights)
    place = np.arange(m) + np.modf(np.arange(m) * _GOLDEN)[0]
    found = np.searchsorted(ends, place * (ends[-1] / m), side="right")
    return np.asarray(np.minimum(found, weights.size - 1))


def starting_point(W: Rows, n: Array) -> Array:
    """Where to start, shape (k,): `Rows.start`, but for joint reports the variables independent."""
    starts = [_start(part, m) * (m.sum() / n.sum()) for part, m in W.groups(n)]
    return np.asarray(np.sum(starts, axis=0))


def _start(W: Rows, n: Array) -> Array:
    margins = W.margins(n)
    return reduce(np.kron, [_rough(*margin) for margin in margins]) if margins else W.start(n)


def _rough(W: Array, n: Array) -> Array:
    """About the maximum of the likelihood of one variable, from a sample of its reports."""
    seen, times = np.unique(spread_out(n, SAMPLE), return_counts=True)
    rows, k = DenseRows(W[seen].astype(np.float64)), W.shape[1]
    uniform = np.full(k, 1.0 / k)
    return proximal_newton(rows, times.astype(np.float64), uniform, _ROUGH, max_iter=50).p
