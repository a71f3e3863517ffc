"""Tests and intervals of single coefficients from the likelihood of a fitted regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.regression.newton import Maximum
from ldpstats.estimators.regression.search import Objective, ascend, search
from ldpstats.inference.regression.profiles import Probed, profile_at, profile_interval
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.models.regression.estimates import FittedRegression
from ldpstats.problems.regression.outcomes import Normal
from ldpstats.problems.regression.standard import start

__all__ = [
    "coefficient_pvalues",
    "coefficient_test",
    "partial_score",
    "profile_intervals",
    "profiled",
    "ratio_without",
    "score_statistic",
]

Array = npt.NDArray[Any]

_SINGULAR = 1e-10  # information on a coefficient, beside the others, relative to that without them
_DECREMENT = 1e-9  # of restricted maxima


def ratio_without(results: FittedRegression, fixed: Sequence[int]) -> tuple[float, float]:
    """Likelihood ratio statistic of coefficients that are zero, and the restricted maximum."""
    model = results.model
    objective = model.objective(results.penalty, results.theta)
    found = restricted_maximum(results, objective, fixed)
    return max(0.0, 2.0 * (results.value - found.value)), found.value


def restricted_maximum(
    results: FittedRegression, objective: Objective, fixed: Sequence[int]
) -> Maximum:
    """The maximum with some coefficients zero, from where the others are and from no effects."""
    free = np.ones(results.theta.shape, dtype=bool)
    free[list(fixed)] = False
    first, zero = results.theta.copy(), start(results.model.likelihood)
    first[~free] = 0.0
    zero[~free] = 0.0
    starts = [first] if results.model.is_exact else [first, zero]
    if results.infinite:
        starts = [zero]
    units = results.model.units
    met = [
        ascend(objective, one, free, tolerance=_DECREMENT, units=units)
        for one in starts
        if np.isfinite(objective.value(one))
    ]
    return max(met, key=lambda one: one.value)


def score_statistic(results: FittedRegression, fixed: Sequence[int]) -> tuple[float | None, str]:
    """Score statistic of coefficients that are zero, and the information that it takes.

    None where that is singular.
    """
    model = results.model
    null = restricted_maximum(results, model.likelihood, fixed)
    score, information, how = null.score, -null.hessian, "observed information"
    if _knows_expected(results):
        information, how = model.assembled.expected().matrix(null.theta), "expected information"
    return partial_score(score, information, np.array(fixed)), how


def partial_score(score: Array, information: Array, at: Array) -> float | None:
    """Score statistic of the parameters at these places; None where information is singular."""
    free = np.ones(score.shape, dtype=bool)
    free[at] = False
    scale = np.sqrt(np.abs(np.diagonal(information)))
    scale = np.where(scale > 0.0, scale, 1.0)
    scaled = information / np.outer(scale, scale)
    rest = scaled[np.ix_(at, at)]
    if free.any():
        cross = scaled[np.ix_(at, free)]
        rest = rest - cross @ np.linalg.lstsq(scaled[np.ix_(free, free)], cross.T, rcond=1e-12)[0]
    if np.linalg.eigvalsh(rest)[0] <= _SINGULAR:
        return None
    u = score[at] / scale[at]
    return float(u @ np.linalg.solve(rest, u))


def _knows_expected(results: FittedRegression) -> bool:
    """Whether the expected information of the reports is known."""
    model = results.model
    return model.data.is_categorical and model.likelihood.marginal is None and model.lists_reports


def coefficient_test(results: FittedRegression) -> str:
    """The test behind default p-values: by the likelihood ratio, penalised or not, or "Wald"."""
    if results.why_wald:
        return "Wald"
    return f"{'penalised ' if results.penalises else ''}likelihood ratio"


def coefficient_pvalues(results: Any, indices: Sequence[int]) -> Array:
    """p-values of some coefficients, each alone, by the profiles that intervals are cut from."""
    from scipy.special import fdtrc

    model = results.model
    each = np.array([at_zero(results, j).fall ** 2 for j in indices])
    if isinstance(model.data.outcome, Normal):  # exact for least squares
        n, p = model.nobs, len(model.data.names)
        return np.asarray(fdtrc(1, n - p, np.expm1(each / n) * (n - p)))
    return np.asarray(chi2_pvalue(each, 1))


def profile_intervals(results: Any, indices: Sequence[int], quantile: float) -> Array:
    """Profile intervals of some coefficients, (m, 2).

    Of categorical and count outcomes those of the penalised likelihood, which always end. They hold
    zero if and only if `coefficient_pvalues` do not reject it.

    Parameters
    ----------
    results : FittedRegression
    indices : sequence of int
    quantile : float
        Of the standard normal or t distribution, 1.96 for 95 %.
    """
    model, (objective, top) = results.model, results.profiled
    drop = 0.5 * quantile**2
    if isinstance(model.data.outcome, Normal):  # exact for least squares
        df = model.nobs - len(model.data.names)
        drop = 0.5 * model.nobs * float(np.log1p(quantile**2 / df))
    found = np.empty((len(indices), 2))
    V = _spread(top.hessian)
    for i, j in enumerate(indices):
        step, zero = quantile * float(np.sqrt(V[j])), at_zero(results, j)
        found[i] = profile_interval(objective, top, j, drop, step, model.units, zero)
    return found


def at_zero(results: Any, index: int) -> Probed:
    """The profile where a coefficient is zero: p-value and interval both rest on it."""
    known: dict[int, Probed] = results.tested_at_zero
    if index not in known:
        objective, top = results.profiled
        nothing = start(results.model.likelihood)
        known[index] = profile_at(objective, top, index, 0.0, [nothing], results.model.units)
    return known[index]


def profiled(results: Any) -> tuple[Objective, Maximum]:
    """The objective of profiles, penalised but for numbers, and its maximum."""
    model = results.model
    here = Maximum(
        results.theta,
        results.value,
        results.theta * 0.0,
        results.hessian,
        0.0,
        results.converged,
        results.n_iter,
    )
    if not results.penalises:
        return model.objective(None), here
    objective, first = model.penalised(results.theta), start(model.likelihood)
    if results.penalty is not None:
        top = here
    # the likelihood was searched from many starts: the penalty moves its maximum, or brings it home
    elif results.infinite:
        top = search(objective, first, model.units, n_random=2).maximum
    else:
        top = search(objective, results.theta, model.units, [first], n_random=0).maximum
    return objective.bent_at(top.theta), top


def _spread(hessian: Array) -> Array:
    """About the variances of the parameters, (p,), positive whatever the curvature."""
    scale = np.sqrt(np.abs(np.diagonal(hessian)))
    scale = np.where(scale > 0.0, scale, 1.0)
    size, axes = np.linalg.eigh(-hessian / np.outer(scale, scale))
    inverse = (axes / np.maximum(np.abs(size), 1e-6)) @ axes.T
    return np.asarray(np.diagonal(inverse) / scale**2)
