"""Fits by corrected scores, which need no law of the private predictors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import ConvergenceWarning
from ldpstats.estimators.regression.corrected import Corrected, corrected
from ldpstats.estimators.regression.search import search
from ldpstats.inference.designs.estimation import degrees_of_freedom
from ldpstats.inference.regression.sandwich import cluster_sandwich, design_meat
from ldpstats.models.regression.results import RegressionResults
from ldpstats.models.regression.structure import RegressionStructure
from ldpstats.problems.regression.indicators import stacked_indicators
from ldpstats.problems.regression.likelihood import RegressionLikelihood, Seen
from ldpstats.problems.regression.outcomes import Multinomial, Normal
from ldpstats.problems.regression.predictors import Separate
from ldpstats.problems.regression.standard import units

__all__ = ["corrected_fit"]

Array = npt.NDArray[Any]

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
        df=degrees_of_freedom(data.sample, data.inside) if kind == "design" else None,
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
