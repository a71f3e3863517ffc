"""The posterior of a regression on privatised answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ldpstats.errors import NotAvailable
from ldpstats.models.posterior.densities.regression import RegressionDensity
from ldpstats.models.posterior.record import Origin
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.models.regression.prior import prior_in_words, regression_prior
from ldpstats.models.regression.structure import RegressionStructure
from ldpstats.problems.regression.outcomes import Multinomial, Normal

__all__ = ["regression_posterior"]


def regression_posterior(
    model: RegressionStructure, rng: Any, prior: Any, draws: Any, engine: Any
) -> PosteriorResults:
    """Draws of the coefficients; see `PrivatizedRegression.fit_posterior`."""
    raise NotImplementedError


def refuse_posterior(model: RegressionStructure) -> None:
    """Refuse weights and what has no likelihood."""
    data = model.data
    if data.sample is not None:
        raise NotAvailable(
            "fit_posterior: a survey with a design has a pseudo-likelihood, of which a posterior "
            "is not defined: use fit(), or make the survey without weights="
        )
    if data.weights is not None:
        raise NotAvailable(
            "fit_posterior: sampling weights leave a pseudo-likelihood, of which a posterior is "
            "not defined: use fit(), or leave out weights= (numbers of respondents are "
            "freq_weights=)"
        )
    if data.only_corrected:
        raise NotAvailable(f"fit_posterior: {data.only_corrected}: use fit()")


def coefficient_labels(model: RegressionStructure) -> pd.Index[Any]:
    """Labels of the coefficients that are reported, as `fit` has them, and sigma."""
    categories = model.categories
    if isinstance(model.data.outcome, Multinomial) and categories is not None:
        pairs = [(label, name) for label in categories[1:] for name in model.exog_names]
        return pd.MultiIndex.from_tuples(pairs, names=[model.endog_names or "y", "name"])
    sigma = ["sigma"] if isinstance(model.data.outcome, Normal) else []
    return pd.Index(model.exog_names + model.threshold_names + sigma)
