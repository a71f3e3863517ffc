"""From a model to its results: maximise, notice what is wrong, and find the covariance.

Maximum likelihood has the inverse of the observed information, a sandwich, or the covariance of a
survey's design. Corrected scores, which need no law of the private predictors, have a sandwich of
their root and of that law, which predictions average over. All take a `PrivatizedRegression`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import numbers, one_of
from ldpstats.errors import ConvergenceWarning, InvalidArgument, MisfitWarning, NotIdentified
from ldpstats.estimators.regression import (
    Found,
    Maximum,
    corrected,
    expectation_maximisation,
    flat_direction,
    search,
)
from ldpstats.inference.designs.linearisation import degrees_of_freedom
from ldpstats.inference.regression import (
    InformationShares,
    cluster_sandwich,
)
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.likelihood.predictors import stacked_indicators, start, units
from ldpstats.likelihood.regression import Multinomial, Normal, RegressionLikelihood, Seen, Separate
from ldpstats.models.regression.results import RegressionResults
from ldpstats.models.regression.structure import cluster_options, sandwich_meat

__all__ = [
    "compare_with_corrected",
    "fit_regression",
    "infinite_parameters",
    "warn_of_the_end",
]


Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

_MISLED = 1e-3
_COVARIANCES = ("nonrobust", "HC0", "cluster")
_SHARE = 0.1  # part in a flat direction from which on a coefficient is named in the warning
_LEAST = 1e-12  # of the spread of a number, below which its residual variance is not told


def fit_regression(
    model: Any,
    method: str,
    penalty: str | None,
    cov_type: Any,
    cov_kwds: Any,
    start_params: Any,
    maxiter: int,
) -> RegressionResults:
    """The results of a fit by maximum likelihood or corrected scores."""
    data, likelihood = model.data, model.likelihood
    kind, groups, correct = _covariance_kind(model, cov_type, cov_kwds, method)
    first: Array | None = None
    if start_params is not None:
        m, shown, first = likelihood.n_outcome, model.n_shown, start(likelihood)
        remedy = f"must be {shown} finite numbers, the coefficients"
        values = numbers("start_params", start_params, remedy)
        if isinstance(start_params, pd.DataFrame):
            values = values.T  # equations one after the other
        values = values.ravel()
        if values.size not in (shown, m, first.size) or not np.isfinite(values).all():
            raise InvalidArgument("start_params", start_params, remedy)
        first[: values.size] = values
    if penalty is not None and method in ("corrected", "em"):
        raise InvalidArgument("penalty", penalty, "goes with method='mle' only")
    if method == "corrected":
        return _corrected_fit(model, kind, groups, correct, first)
    if method == "em":
        top = expectation_maximisation(likelihood, start(likelihood) if first is None else first)
        found = Found(top, 1, flat_direction(likelihood, top, model.units))
    else:
        found = model.climb(penalty, first, maxiter)
    top = found.maximum
    # the penalised likelihood falls to minus infinity
    flat = found.flat if penalty is None else None
    infinite, fixed = infinite_parameters(model.all_names, flat, top)
    instead = "p-values and default intervals are valid, and fit(penalty='jeffreys') has finite "
    warn_of_the_end(top, infinite, instead + "estimates")
    if data.predictors and not data.is_categorical:
        compare_with_corrected(model, top.theta)
    V, shares = _covariance(model, top.theta, top.hessian, kind, groups, correct, fixed)
    df: float | None = None
    if kind == "design":
        df = float(degrees_of_freedom(data.sample, np.where(data.inside, 0, -1))[0])
    elif isinstance(data.outcome, Normal) and kind == "nonrobust":
        df = float(model.nobs - len(data.names))
    return RegressionResults(
        model=model,
        theta=top.theta,
        covariance_all=V,
        value=top.value,
        hessian=top.hessian,
        method="mle" if method == "newton" else method,
        penalty=penalty,
        cov_type=kind,
        converged=top.converged and not infinite,
        n_iter=top.n_iter,
        n_maxima=found.n_maxima,
        infinite=infinite,
        df=df,
        shares=shares,
    )


def infinite_parameters(
    names: Sequence[str], flat: Array | None, top: Maximum
) -> tuple[tuple[str, ...], Mask]:
    """Names of parameters at infinity, and which of all, (size,), have no standard error."""
    fixed = np.zeros(top.theta.shape, dtype=bool)
    if flat is None:
        return (), fixed
    fixed[: flat.shape[1]] = (flat > _SHARE).any(axis=0)
    return tuple(names[j] for j in np.flatnonzero(flat[0] > _SHARE).tolist()), fixed


def warn_of_the_end(top: Maximum, infinite: Sequence[str], instead: str) -> None:
    """Warn of maxima at infinity, and of iterations that stopped before one."""
    if infinite:
        warnings.warn(
            "the likelihood has its maximum at infinity, or cannot tell it from there: "
            f"{', '.join(infinite)}. {instead}",
            ConvergenceWarning,
            4,
        )
    elif not top.converged:
        warnings.warn(
            f"the iteration stopped after {top.n_iter} steps before a maximum was reached (twice "
            f"the gain still predicted: {top.decrement:.2g}): raise maxiter, or pass start_params",
            ConvergenceWarning,
            4,
        )


def compare_with_corrected(model: Any, theta: Array) -> None:
    """Warn where the law of a number misleads its likelihood, as corrected scores show."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            other = _corrected_fit(model, "HC0", None, False, None)
    except NotIdentified:
        return
    m = model.n_shown
    off, V = theta[:m] - other.theta[:m], other.covariance_all[:m, :m]
    distance = float(off @ np.linalg.solve(V, off))
    if float(chi2_pvalue(distance, m)) < _MISLED:
        warnings.warn(
            "maximum likelihood differs from corrected scores by far more than chance: the law of "
            f"{model.endog_names} given the predictors is not that of the model, and private "
            "predictors are taken for what makes its shape: use method='corrected'",
            MisfitWarning,
            4,
        )


# -- covariances -------------------------------------------------------------------------------


def _covariance_kind(
    model: Any, cov_type: Any, cov_kwds: Any, method: str
) -> tuple[str, Any, bool | None]:
    """The kind of covariance, and `cluster_options`."""
    data = model.data
    if data.sample is not None:
        if cov_type is not None or cov_kwds is not None:
            remedy = "leave it out: the survey has a design, and the covariance is that of it"
            raise InvalidArgument("cov_type", cov_type, remedy)
        return "design", None, False
    if cov_type is None:
        plain = data.weights is None and method != "corrected"
        cov_type = "nonrobust" if plain else "HC0"
    cov_type = one_of("cov_type", cov_type, _COVARIANCES)
    groups, correct = cluster_options(cov_type, cov_kwds, data.n)
    if cov_type == "nonrobust" and (data.weights is not None or method == "corrected"):
        why = "sampling weights" if data.weights is not None else "corrected scores"
        remedy = f"must be 'HC0' or 'cluster': the information is no covariance with {why}"
        raise InvalidArgument("cov_type", cov_type, remedy)
    return cov_type, groups, correct


def _covariance(
    model: Any,
    theta: Array,
    hessian: Array,
    kind: str,
    groups: Any,
    correct: bool | None,
    fixed: Mask,
) -> tuple[Array, InformationShares | None]:
    """Covariance of all parameters, nan for those that are `fixed`, and shares of few clusters."""
    free = ~fixed
    full = np.full(hessian.shape, np.nan)
    if fixed.any():  # and nothing may be known on others, where some maxima are at infinity
        size, axes, _ = _in_units(model, -hessian, free)
        none = size <= 1e-6 * max(float(size[-1]), 1e-300) if size.size else size > 0.0
        at = np.flatnonzero(free)
        free[at[(np.abs(axes[:, none]) > _SHARE).any(axis=1)]] = False
    size, axes, scale = _in_units(model, -hessian, free)
    if size.size and size[0] <= 1e-9 * max(size[-1], 1e-300):
        names = np.array(model.all_names)[free]
        most = np.flatnonzero(np.abs(axes[:, 0]) > 0.3)
        raise NotIdentified(
            f"the information of the reports on {', '.join(names[most])} is singular at the "
            "estimate: use fewer covariates or categories, or fit(penalty='jeffreys')"
        )
    V = scale @ ((axes / size) @ axes.T) @ scale.T
    V = (V + V.T) / 2.0
    if kind == "nonrobust":
        if isinstance(model.data.outcome, Normal):  # as for least squares
            V = V * (model.nobs / (model.nobs - len(model.data.names)))
        full[np.ix_(free, free)] = V
        return full, None
    whole = model.assembled
    scores = whole.likelihood.score_obs(theta)[:, free]
    if kind == "cluster":
        rows = (scores, whole.place, whole.weights, groups)
        known = None if correct is not None else _information_by_cluster(model, theta, groups)
        each = known if known is None else known[:, free][:, :, free]
        full[np.ix_(free, free)], shares = cluster_sandwich(rows, V, model.nobs, correct, each)
        return full, None if shares is None else shares.among(free)
    meat = sandwich_meat(model.data, whole, kind, scores)
    full[np.ix_(free, free)] = V @ meat @ V
    return full, None


def _in_units(model: Any, information: Array, free: Mask) -> tuple[Array, Array, Array]:
    """Eigenvalues and vectors of the information on standardised parameters, and their units."""
    scale = model.units[np.ix_(free, free)]
    scaled = scale.T @ information[np.ix_(free, free)] @ scale
    size, axes = np.linalg.eigh((scaled + scaled.T) / 2.0)
    return size, axes, scale


def _information_by_cluster(model: Any, theta: Array, groups: Any) -> Array | None:
    """Expected information of each cluster, (G, P, P); None where it is not known."""
    whole = model.assembled
    if whole.likelihood.marginal is not None or not model.lists_reports:
        return None
    each = []
    for cluster in range(int(groups.max()) + 1):
        at = np.flatnonzero(groups == cluster)
        rows = whole.place[at]
        inside = replace(
            whole,
            likelihood=whole.likelihood.take(rows, whole.weights[at]),
            law=whole.law and whole.law.take(rows),
        )
        each.append(inside.expected().matrix(theta))
    return np.array(each)


# -- corrected scores --------------------------------------------------------------------------


def _corrected_fit(
    model: Any, kind: str, groups: Any, correct: bool | None, first: Array | None
) -> RegressionResults:
    """The root of the corrected scores, with a sandwich covariance of it and of the law beside."""
    data, likelihood = model.data, model.likelihood
    # a row for each respondent, as decoded answers depend on her report
    each = replace(model.assembled, place=np.arange(data.n))
    weights = each.weights
    phi = np.ones((data.n, 1))  # unbiased indicators of the configurations, (n, C)
    for name, reports in data.predictors.items():
        decoded, _, _ = stacked_indicators(reports, weights, data.candidates.get(name))
        phi = (phi[:, :, None] * decoded[:, None, :]).reshape(data.n, -1)
    if not data.is_categorical:
        response = np.asarray(data.response)
    elif data.is_private:
        listed = data.candidates.get(data.response_name)
        response = stacked_indicators(data.response, weights, listed)[0]
    else:
        response = np.asarray(np.eye(len(data.categories))[data.response])
    m = model.n_shown
    starts = [] if first is None else [first[:m]]
    root = corrected(data.designs, phi, response, data.outcome, weights, data.offset, starts)
    if not root.on_path:
        warnings.warn(
            "the root of the corrected score was not reached on the path from smoothed indicators, "
            "as happens where reports say little of the private predictors: it may be another than "
            "the consistent one; compare method='mle'",
            ConvergenceWarning,
            4,
        )
    theta, bread, rows = root.theta, root.bread, root.influence
    if isinstance(data.outcome, Normal):
        spread = max(root.scale, _LEAST * float(np.var(data.response)))
        theta = np.append(theta, 0.5 * np.log(max(spread, 1e-300)))
    if data.marginal is not None:
        B = likelihood.B
        law = RegressionLikelihood(
            Multinomial(len(data.designs)),
            (Separate(data.marginal.to_numpy(dtype=np.float64), len(data.designs) - 1),),
            Seen(B.table, B.at[model.assembled.place]),
            weights,
        )
        top = search(law, np.zeros(law.size), units(law)).maximum
        theta = np.append(theta, top.theta)
        bread = np.zeros((m + law.size, m + law.size))
        bread[:m, :m], bread[m:, m:] = root.bread, -top.hessian
        rows = np.hstack([root.influence, law.score_obs(top.theta)])
    inverse, shares, df = np.linalg.inv(bread), None, None
    if kind == "cluster":
        V, shares = cluster_sandwich(
            (rows, each.place, weights, groups), inverse, model.nobs, correct
        )
    else:
        V = inverse @ sandwich_meat(data, each, kind, rows) @ inverse.T
    if kind == "design":
        df = float(degrees_of_freedom(data.sample, np.where(data.inside, 0, -1))[0])
    size = theta.size
    whole = np.zeros((size, size))
    there = np.ones(size, dtype=bool)
    there[m : likelihood.n_outcome] = False  # the spread of a number has no standard error
    whole[np.ix_(there, there)] = (V + V.T) / 2.0
    return RegressionResults(
        model=model,
        theta=theta,
        covariance_all=whole,
        value=root.value,
        hessian=-bread,
        method="corrected",
        penalty=None,
        cov_type=kind,
        converged=root.converged,
        n_iter=root.n_iter,
        n_maxima=root.n_roots,
        infinite=(),
        df=df,
        shares=None if shares is None else shares.among(there),
    )
