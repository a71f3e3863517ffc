"""The model without covariates, and likelihoods given the reports on predictors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.estimators.regression.search import search
from ldpstats.models.regression.structure import RegressionStructure
from ldpstats.problems.regression.collapse import alike
from ldpstats.problems.regression.likelihood import RegressionLikelihood, Seen
from ldpstats.problems.regression.outcomes import Normal, Ordered
from ldpstats.problems.regression.predictors import predictors_of
from ldpstats.problems.regression.standard import start, units

__all__ = ["conditional_value", "null_results"]

Array = npt.NDArray[Any]


def conditional_value(likelihood: RegressionLikelihood, theta: Array) -> float:
    """Log-likelihood of the response reports given those on the private predictors."""
    value = likelihood.value(theta)
    if likelihood.marginal is None:
        return value
    assert likelihood.B is not None
    seen = np.einsum("nc,nc->n", likelihood.B[:], likelihood.law(theta))
    return value - float(likelihood.weights @ np.log(seen))


def null_results(model: RegressionStructure, theta: Array) -> tuple[float, float]:
    """Log-likelihood of the model with constants only: given the predictors' reports, and joint."""
    whole = model.likelihood
    design, outcome = whole.designs[0], whole.outcome
    columns = 0 if isinstance(outcome, Ordered) else 1
    plain = predictors_of(outcome, np.ones((whole.n, columns)), design.offset)
    null = _joined(replace(whole, designs=tuple(plain for _ in whole.designs)))
    first = start(null)
    m = null.n_outcome
    first[m:] = theta[whole.n_outcome :]
    if not isinstance(outcome, Normal) and whole.marginal is None and columns:
        first[:m] = 0.0
    found = search(null, first, units(null), concave=model.is_exact, n_random=2)
    return conditional_value(null, found.maximum.theta), found.maximum.value


def _joined(null: RegressionLikelihood) -> RegressionLikelihood:
    """The same likelihood, of which rows that are alike without covariates are one."""
    seen, offset = null.seen, null.designs[0].offset
    columns = [seen.at if isinstance(seen, Seen) else seen]
    columns += [] if null.B is None else [null.B.at]
    columns += [] if offset is None else [offset]
    columns += [] if null.marginal is None else [null.marginal.X]
    kinds = alike(columns) if null.n > 1 else None
    if kinds is None:
        return null
    first, place = kinds
    weights = np.bincount(place, null.weights, len(first))
    return replace(null.take(first, weights), constant=null.constant)
