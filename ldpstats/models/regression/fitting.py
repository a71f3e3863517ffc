"""From a model to its results: maximise, notice what is wrong, and find the covariance."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import numbers, one_of
from ldpstats.errors import ConvergenceWarning, InvalidArgument, MisfitWarning, NotIdentified
from ldpstats.estimators.regression import (
    Corrected,
    Found,
    corrected,
    expectation_maximisation,
    flat_direction,
    search,
)
from ldpstats.inference.designs.linearisation import degrees_of_freedom_estimation
from ldpstats.inference.regression import (
    MOST_CLUSTERS,
    InformationShares,
    cluster_sandwich,
    design_meat,
)
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.likelihood.predictors import stacked_indicators, start, units
from ldpstats.likelihood.regression import Multinomial, Normal, RegressionLikelihood, Seen, Separate
from ldpstats.models.regression.results import RegressionResults
from ldpstats.models.regression.structure import RegressionStructure, cluster_codes

__all__ = ["compare_with_corrected", "fitted"]


Array = npt.NDArray[Any]

_MISLED = 1e-3
_COVARIANCES = ("nonrobust", "HC0", "cluster")
_SHARE = 0.1  # part in a flat direction from which on a coefficient is named in the warning


def fitted(
    model: RegressionStructure,
    method: str,
    penalty: str | None,
    cov_type: Any,
    cov_kwds: Any,
    start_params: Any,
    maxiter: int,
) -> RegressionResults:
    """The results of a fit by maximum likelihood."""
    kind, groups, corrected = covariance_kind(model, cov_type, cov_kwds, method)
    first = _given(model, start_params)
    if method == "corrected":
        if penalty is not None:
            raise InvalidArgument("penalty", penalty, "goes with method='mle' only")
        return corrected_fit(model, kind, groups, corrected, first)
    if method == "em":
        found = _by_em(model, penalty, first)
    else:
        found = model.climb(penalty, first, maxiter)
    if penalty is not None:  # the penalised likelihood falls to minus infinity
        found = replace(found, flat=None)
    infinite = _named(model, found)
    top = found.maximum
    if infinite:
        where = ", ".join(infinite)
        warnings.warn(
            f"the likelihood has its maximum at infinity, or cannot tell it from there: {where}. "
            "p-values and default intervals are valid, and fit(penalty='jeffreys') has finite "
            "estimates",
            ConvergenceWarning,
            5,
        )
    elif not top.converged:
        warnings.warn(
            f"the iteration stopped after {top.n_iter} steps before a maximum was reached (twice "
            f"the gain still predicted: {top.decrement:.2g}): raise maxiter, or pass start_params",
            ConvergenceWarning,
            5,
        )
    if model.data.predictors and not model.data.is_categorical:
        compare_with_corrected(model, top.theta)
    fixed = _fixed(model, found)
    V, shares = covariance(model, top.theta, top.hessian, kind, groups, corrected, fixed)
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
        df=_degrees(model, kind),
        shares=shares,
    )


def compare_with_corrected(model: RegressionStructure, theta: Array) -> None:
    """Warn where the law of a number misleads its likelihood, as corrected scores show."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            other = corrected_fit(model, "HC0", None, False, None)
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
            6,
        )


def _given(model: RegressionStructure, start_params: Any) -> Array | None:
    """Start values as an array."""
    if start_params is None:
        return None
    m, shown, first = model.likelihood.n_outcome, model.n_shown, start(model.likelihood)
    remedy = f"must be {shown} finite numbers, the coefficients"
    found = numbers("start_params", start_params, remedy)
    if isinstance(start_params, pd.DataFrame):
        found = found.T  # equations one after the other
    found = found.ravel()
    if found.size not in (shown, m, first.size) or not np.isfinite(found).all():
        raise InvalidArgument("start_params", start_params, remedy)
    first[: found.size] = found
    return first


def _by_em(model: RegressionStructure, penalty: str | None, first: Array | None) -> Found:
    if penalty is not None:
        raise InvalidArgument("penalty", penalty, "goes with method='mle' only")
    likelihood = model.likelihood
    found = expectation_maximisation(likelihood, start(likelihood) if first is None else first)
    return Found(found, 1, flat_direction(likelihood, found, model.units))


def _named(model: RegressionStructure, found: Found) -> tuple[str, ...]:
    """Names of the coefficients whose estimate is at infinity."""
    if found.flat is None:
        return ()
    names = model.all_names
    return tuple(names[j] for j in np.flatnonzero(found.flat[0] > _SHARE))


def _fixed(model: RegressionStructure, found: Found) -> npt.NDArray[np.bool_]:
    """Parameters without a standard error."""
    if found.flat is None:
        return np.zeros(found.maximum.theta.shape, dtype=bool)
    return np.asarray((found.flat > _SHARE).any(axis=0))


def covariance_kind(
    model: RegressionStructure, cov_type: Any, cov_kwds: Any, method: str
) -> tuple[str, Any, bool | None]:
    """The kind of covariance, codes of the clusters, and how to correct for few of them.

    True is a factor, and None the bias-reduced covariance.
    """
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
    if cov_kwds is not None and not isinstance(cov_kwds, Mapping):
        raise InvalidArgument("cov_kwds", cov_kwds, "must be a dict such as {'groups': labels}")
    options = dict(cov_kwds or {})
    groups = options.pop("groups", None)
    correct = options.pop("use_correction", None)
    if options:
        raise InvalidArgument("cov_kwds", sorted(options), "knows 'groups' and 'use_correction'")
    if correct is not None and not isinstance(correct, bool | np.bool_):
        raise InvalidArgument("cov_kwds['use_correction']", correct, "must be True or False")
    if (cov_type == "cluster") != (groups is not None):
        remedy = "cov_type='cluster' needs cov_kwds={'groups': labels}, others take none"
        raise InvalidArgument("cov_kwds", cov_kwds, remedy)
    if cov_type == "nonrobust" and (data.weights is not None or method == "corrected"):
        why = "sampling weights" if data.weights is not None else "corrected scores"
        remedy = f"must be 'HC0' or 'cluster': the information is no covariance with {why}"
        raise InvalidArgument("cov_type", cov_type, remedy)
    if groups is None:
        return cov_type, None, False
    codes, n_groups = cluster_codes(groups, data.n)
    if correct is None and n_groups > MOST_CLUSTERS:
        correct = True
    return cov_type, codes, None if correct is None else bool(correct)


def _degrees(model: RegressionStructure, kind: str) -> float | None:
    """Degrees of freedom of t quantiles; None for normal ones."""
    data = model.data
    if kind == "design":
        return float(degrees_of_freedom_estimation(data.sample, data.inside))
    if isinstance(data.outcome, Normal) and kind == "nonrobust":
        return float(model.nobs - len(data.names))
    return None


def covariance(
    model: RegressionStructure,
    theta: Array,
    hessian: Array,
    kind: str,
    groups: Any,
    correct: bool | None,
    fixed: npt.NDArray[np.bool_],
) -> tuple[Array, InformationShares | None]:
    """Covariance of all parameters, nan for those that are `fixed`, and shares of few clusters."""
    free = ~fixed
    found = np.full(hessian.shape, np.nan)
    if fixed.any():
        free &= ~_undetermined(model, -hessian, free)
    V = _inverse(model, -hessian[np.ix_(free, free)], free)
    if kind == "nonrobust":
        if isinstance(model.data.outcome, Normal):  # as for least squares
            V = V * (model.nobs / (model.nobs - len(model.data.names)))
        found[np.ix_(free, free)] = V
        return found, None
    whole = model.assembled
    scores = whole.likelihood.score_obs(theta)[:, free]
    if kind == "HC0":
        meat = (scores * whole.squares[:, None]).T @ scores
    elif kind == "cluster":
        rows = (scores, whole.place, whole.weights, groups)
        known = None if correct is not None else _by_cluster(model, theta, groups)
        own = known if known is None else known[:, free][:, :, free]
        found[np.ix_(free, free)], shares = cluster_sandwich(rows, V, model.nobs, correct, own)
        return found, None if shares is None else shares.among(free)
    else:
        data = model.data
        at = np.full(data.sample.w.shape, -1, dtype=np.int64)
        at[data.inside] = whole.place
        assert data.weights is not None
        factor = whole.weights[0] / data.weights[0]
        meat = design_meat(data.sample, scores * factor, at)
    found[np.ix_(free, free)] = V @ meat @ V
    return found, None


def _by_cluster(model: RegressionStructure, theta: Array, groups: Any) -> Array | None:
    """Expected information of each cluster, (G, P, P); None where it is not known."""
    whole = model.assembled
    if whole.likelihood.marginal is not None or not model.lists_reports:
        return None
    found = []
    for one in range(int(groups.max()) + 1):
        at = np.flatnonzero(groups == one)
        rows = whole.place[at]
        own = replace(
            whole,
            likelihood=whole.likelihood.take(rows, whole.weights[at]),
            law=whole.law and whole.law.take(rows),
        )
        found.append(own.expected().matrix(theta))
    return np.array(found)


def _undetermined(
    model: RegressionStructure, information: Array, free: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Other parameters on which nothing is known, where some maxima are at infinity."""
    at = np.flatnonzero(free)
    own = model.units[np.ix_(free, free)]
    scaled = own.T @ information[np.ix_(free, free)] @ own
    size, axes = np.linalg.eigh((scaled + scaled.T) / 2.0)
    none = size <= 1e-6 * max(float(size[-1]), 1e-300) if size.size else size > 0.0
    found = np.zeros(free.shape, dtype=bool)
    found[at[(np.abs(axes[:, none]) > _SHARE).any(axis=1)]] = True
    return found


def _inverse(model: RegressionStructure, information: Array, free: npt.NDArray[np.bool_]) -> Array:
    """Inverse of the information, which is refused where it is singular."""
    own = model.units[np.ix_(free, free)]
    scaled = own.T @ information @ own
    size, axes = np.linalg.eigh((scaled + scaled.T) / 2.0)
    if size.size and size[0] <= 1e-9 * max(size[-1], 1e-300):
        names = np.array(model.all_names)[free]
        most = np.flatnonzero(np.abs(axes[:, 0]) > 0.3)
        raise NotIdentified(
            f"the information of the reports on {', '.join(names[most])} is singular at the "
            "estimate: use fewer covariates or categories, or fit(penalty='jeffreys')"
        )
    inverse = own @ ((axes / size) @ axes.T) @ own.T
    return np.asarray((inverse + inverse.T) / 2.0)


# -- Fits by corrected scores, which need no law of the private predictors ------------------------


_LEAST = 1e-12  # of the spread of a number, below which its residual variance is not told


def corrected_fit(
    model: RegressionStructure, kind: str, groups: Any, correct: bool | None, first: Array | None
) -> RegressionResults:
    """The root of the corrected scores, with a sandwich covariance.

    The law of the private predictors, which predictions average over, is fitted beside it, and
    the sandwich is of both.
    """
    data = model.data
    counts = np.ones(data.n) if data.counts is None else np.asarray(data.counts, dtype=np.float64)
    weights = counts if data.weights is None else np.asarray(data.weights, dtype=np.float64)
    weights = weights * (counts.sum() / weights.sum())
    phi = _configurations(model, weights)
    response = _response(model, weights)
    m = model.n_shown
    starts = [] if first is None else [first[:m]]
    found = corrected(data.designs, phi, response, data.outcome, weights, data.offset, starts)
    if not found.on_path:
        warnings.warn(
            "the root of the corrected score was not reached on the path from smoothed indicators, "
            "as happens where reports say little of the private predictors: it may be another than "
            "the consistent one; compare method='mle'",
            ConvergenceWarning,
            5,
        )
    theta, bread, rows = _beside(model, found, weights)
    inverse, shares = np.linalg.inv(bread), None
    if kind == "cluster":
        at = np.arange(data.n)
        V, shares = cluster_sandwich((rows, at, weights, groups), inverse, model.nobs, correct)
    elif kind == "design":
        assert data.sample is not None and data.weights is not None
        at = np.full(data.sample.w.shape, -1, dtype=np.int64)
        at[data.inside] = np.arange(data.n)
        meat = design_meat(data.sample, rows * (weights[0] / data.weights[0]), at)
        V = inverse @ meat @ inverse.T
    else:
        meat = (rows * (weights**2 / np.maximum(counts, 1.0))[:, None]).T @ rows
        V = inverse @ meat @ inverse.T
    size = theta.size
    whole = np.zeros((size, size))
    there = np.ones(size, dtype=bool)
    there[m : model.likelihood.n_outcome] = False  # the spread of a number has no standard error
    whole[np.ix_(there, there)] = (V + V.T) / 2.0
    return RegressionResults(
        model=model,
        theta=theta,
        covariance_all=whole,
        value=found.value,
        hessian=-bread,
        method="corrected",
        penalty=None,
        cov_type=kind,
        converged=found.converged,
        n_iter=found.n_iter,
        n_maxima=found.n_roots,
        infinite=(),
        df=degrees_of_freedom_estimation(data.sample, data.inside) if kind == "design" else None,
        shares=None if shares is None else shares.among(there),
    )


def _configurations(model: RegressionStructure, weights: Array) -> Array:
    """Unbiased indicators of the configurations, (n, C)."""
    data = model.data
    phi = np.ones((data.n, 1))
    for name, groups in data.predictors.items():
        own, _, _ = stacked_indicators(groups, weights, data.candidates.get(name))
        phi = (phi[:, :, None] * own[:, None, :]).reshape(data.n, -1)
    return phi


def _response(model: RegressionStructure, weights: Array) -> Array:
    """Numbers, or indicators of the categories."""
    data = model.data
    if not data.is_categorical:
        return np.asarray(data.response)
    if data.is_private:
        listed = data.candidates.get(data.response_name)
        return stacked_indicators(data.response, weights, listed)[0]
    assert data.categories is not None
    return np.asarray(np.eye(len(data.categories))[data.response])


def _beside(
    model: RegressionStructure, found: Corrected, weights: Array
) -> tuple[Array, Array, Array]:
    """All parameters, the derivative of their scores, and the scores of each row."""
    data, theta = model.data, found.theta
    if isinstance(data.outcome, Normal):
        spread = max(found.scale, _LEAST * float(np.var(data.response)))
        theta = np.append(theta, 0.5 * np.log(max(spread, 1e-300)))
    if data.marginal is None:
        return theta, found.bread, found.influence
    assert model.likelihood.B is not None
    law = RegressionLikelihood(
        Multinomial(len(data.designs)),
        (Separate(data.marginal.to_numpy(dtype=np.float64), len(data.designs) - 1),),
        _by_row(model),
        weights,
    )
    top = search(law, np.zeros(law.size), units(law)).maximum
    m = found.theta.size
    bread = np.zeros((m + law.size, m + law.size))
    bread[:m, :m], bread[m:, m:] = found.bread, -top.hessian
    rows = np.hstack([found.influence, law.score_obs(top.theta)])
    return np.append(theta, top.theta), bread, rows


def _by_row(model: RegressionStructure) -> Seen:
    """Likelihoods of the reports on the predictors, of all respondents."""
    B = model.likelihood.B
    assert B is not None
    return Seen(B.table, B.at[model.assembled.place])
