"""The posterior of a regression on privatised answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import one_of
from ldpstats.errors import NotAvailable
from ldpstats.mechanisms.observed import protect_some
from ldpstats.models.posterior.densities.regression import RegressionDensity
from ldpstats.models.posterior.engines import ENGINES, chains_by
from ldpstats.models.posterior.frequency import checked_draws, checked_generator
from ldpstats.models.posterior.modes import BELOW_ONE
from ldpstats.models.posterior.ranges import POSITIVE, PROBABILITY, REAL
from ldpstats.models.posterior.record import Origin
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.models.regression.beyond import warn_of_wide_priors
from ldpstats.models.regression.devices.posterior import DevicesTarget
from ldpstats.models.regression.fitting import compare_with_corrected
from ldpstats.models.regression.posterior_check import regression_check
from ldpstats.models.regression.prior import prior_in_words, regression_prior
from ldpstats.models.regression.structure import RegressionStructure
from ldpstats.problems.regression.outcomes import Multinomial, Normal

__all__ = ["coefficient_labels", "refuse_posterior", "regression_posterior"]

_STEPS = "Thresholds: the first, and logarithms of the steps to the next."


def regression_posterior(
    model: RegressionStructure, rng: Any, prior: Any, draws: Any, engine: Any
) -> PosteriorResults:
    """Draws of the coefficients; see `PrivatizedRegression.fit_posterior`."""
    generator, number = checked_generator(rng), checked_draws(draws)
    engine = one_of("engine", engine, ENGINES)
    refuse_posterior(model)
    if model.unknown:
        return _with_devices(model, generator, prior, number, engine)
    law = regression_prior(model, prior)
    density = RegressionDensity(model.likelihood, law)
    chains = chains_by(engine, density, generator, number)
    thetas = density.parameters(chains.z)
    if model.data.predictors and not model.data.is_categorical:
        compare_with_corrected(model, thetas.reshape(-1, density.size).mean(axis=0))
    labels, before = coefficient_labels(model), law.draw(generator, number)
    warn_of_wide_priors(density, chains.z, before)
    simplex = np.full(len(labels), REAL)
    if isinstance(model.data.outcome, Normal):
        simplex[-1] = POSITIVE
    return PosteriorResults.of(
        chains,
        density,
        labels,
        _origin(model, prior_in_words(model, prior)),
        simplex=simplex,
        peak=density.constrained(density.mode()),
        prior_draws=density.shown(before),
        check=regression_check(model, thetas.reshape(-1, density.size), generator),
        engine=engine,
    )


def _with_devices(
    model: RegressionStructure, rng: np.random.Generator, prior: Any, draws: int, engine: str
) -> PosteriorResults:
    """Draws of the coefficients and of unknown parameters of devices."""
    target = DevicesTarget.of(model, prior)
    density = target.density
    chains = chains_by(engine, density, rng, draws)
    some = density.parameters(chains.z).reshape(-1, density.size)
    peak = target.peak
    origin = _origin(model, target.words)
    if peak is None:
        origin = replace(origin, without_mode=BELOW_ONE)
    m = density.likelihood.m
    return PosteriorResults.of(
        chains,
        density,
        target.labels,
        replace(origin, subject="Coefficients and parameters"),
        simplex=np.r_[np.full(len(target.labels) - m, REAL), np.full(m, PROBABILITY)],
        peak=peak,
        prior_draws=target.drawn(rng, draws),
        check=regression_check(model, some, rng, density.likelihood.matrices),
        engine=engine,
    )


def _origin(model: RegressionStructure, prior: str) -> Origin:
    """What the draws are about."""
    mechanisms = list(dict.fromkeys(model.data.mechanisms()))
    return Origin(
        nobs=model.nobs,
        n_missing=model.data.n_missing,
        epsilon=max((mechanism.epsilon for mechanism in mechanisms), default=float("inf")),
        sources=tuple(map(str, mechanisms)),
        prior=prior,
        name=model.endog_names,
        subject="Coefficients",
        note=_STEPS if model.threshold_names else "",
        is_partial=protect_some(mechanisms),
    )


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
