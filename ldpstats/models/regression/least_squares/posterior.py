"""The posterior of least squares coefficients of a privatised answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import one_of
from ldpstats.errors import NotAvailable
from ldpstats.inference.chains.density import LogDensity
from ldpstats.models.posterior.densities.coefficients import (
    LEVEL,
    SLOPE,
    SPREAD,
    CoefficientPrior,
    coefficient_prior,
)
from ldpstats.models.posterior.densities.least_squares import EstimateDensity
from ldpstats.models.posterior.densities.regression import RegressionDensity
from ldpstats.models.posterior.engines import ENGINES, chains_by
from ldpstats.models.posterior.frequency import checked_draws, checked_generator
from ldpstats.models.posterior.ranges import POSITIVE, REAL
from ldpstats.models.posterior.record import Origin
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.models.regression.prior import given_laws, no_coefficient
from ldpstats.priors import Normal
from ldpstats.problems.regression.likelihood import RegressionLikelihood
from ldpstats.problems.regression.outcomes import Normal as Numeric
from ldpstats.problems.regression.predictors import Scaled
from ldpstats.problems.regression.standard import constant_column

__all__ = ["least_squares_posterior"]

Array = npt.NDArray[Any]


def least_squares_posterior(
    model: Any, rng: Any, prior: Any, draws: Any, engine: Any
) -> PosteriorResults:
    """Draws of the coefficients; see `PrivatizedOLS.fit_posterior`."""
    generator, number = checked_generator(rng), checked_draws(draws)
    engine = one_of("engine", engine, ENGINES)
    if model.is_weighted:
        raise NotAvailable(
            "fit_posterior: survey weights leave a pseudo-likelihood, of which a posterior is not "
            "defined: use fit(), or leave out weights="
        )
    law = _prior(model, prior)
    density = _density(model, law)
    chains = chains_by(engine, density, generator, number)
    names = [*model.exog_names, *(["sigma"] if model.is_observed else [])]
    prior_draws = law.draw(generator, number)
    if model.is_observed:
        prior_draws[:, -1] = np.exp(prior_draws[:, -1])
    return PosteriorResults.of(
        chains,
        density,
        pd.Index(names),
        _origin(model, _in_words(model, prior)),
        simplex=[REAL] * len(model.exog_names) + [POSITIVE] * model.is_observed,
        peak=density.constrained(density.mode()),
        prior_draws=prior_draws,
        engine=engine,
    )


def _likelihood(model: Any) -> RegressionLikelihood:
    """The normal linear model of the pseudo-response."""
    design = Scaled(model.exog, 2, model.offset)
    return RegressionLikelihood(Numeric(), (design,), model.response.values, model.times)


def _prior(model: Any, prior: object) -> CoefficientPrior:
    """The prior of the coefficients, and of log(sigma) where nothing was randomised."""
    names, p = [*model.exog_names], len(model.exog_names)
    own = given_laws(prior, p, lambda name: _place(names, name))
    scores = np.asarray(model.scores, dtype=np.float64)
    scale = (float(scores.std()) or 1.0, float(scores.mean()))
    likelihood = _likelihood(model)
    if model.is_observed:
        return coefficient_prior(likelihood, [*names, "log(sigma)"], own)
    whole = coefficient_prior(likelihood, [*names, "log(sigma)"], own, scale)
    rows = whole.rows[:, -1] == 0.0
    return CoefficientPrior(whole.rows[rows, :-1], whole.mean[rows], whole.sd[rows])


def _place(names: list[str], name: object) -> list[int]:
    if not isinstance(name, str) or name not in names:
        raise no_coefficient(name, names)
    return [names.index(name)]


def _density(model: Any, law: CoefficientPrior) -> LogDensity:
    if model.is_observed:
        return RegressionDensity(_likelihood(model), law)
    fit = model.fit("HC2")
    return EstimateDensity(np.asarray(fit.params), np.asarray(fit.cov_params()), law)


def _in_words(model: Any, prior: object) -> str:
    """The prior as the summary shows it."""
    names = model.exog_names
    own = given_laws(prior, len(names), lambda name: _place(names, name))
    of = "response" if model.is_observed else "scores"
    words = [f"coefficients {prior!r}"] if isinstance(prior, Normal) else []
    if not words:
        words = [f"{names[j]} {Normal(*law)!r}" for j, law in own.items()]
        constant = constant_column([model.exog])
        if set(range(len(names))) - {constant} - set(own):
            words.append(f"{'other ' if own else ''}slopes Normal(0, {SLOPE:g} sd({of}) / sd(x))")
        if constant is not None and constant not in own:
            words.append(f"level at the means of the covariates of sd {LEVEL:g} sd({of})")
    if model.is_observed:
        words.append(f"log(sigma) of sd {SPREAD:g} about log sd(response)")
    return "; ".join(words)


def _origin(model: Any, prior: str) -> Origin:
    mechanisms = list(dict.fromkeys(group.mechanism for group in model.groups))
    return Origin(
        nobs=int(model.times.sum()),
        n_missing=model.n_missing,
        epsilon=max(mechanism.epsilon for mechanism in mechanisms),
        sources=tuple(map(str, mechanisms)),
        prior=prior,
        name=model.endog_names,
        subject="Coefficients",
    )
