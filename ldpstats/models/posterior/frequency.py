"""The posterior of the frequencies of one variable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import one_of, replicates
from ldpstats.errors import InvalidArgument
from ldpstats.inference.chains.hmc import sample
from ldpstats.models.posterior.densities.frequency import FrequencyDensity
from ldpstats.models.posterior.record import Origin
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.priors import Dirichlet, SimplexPrior
from ldpstats.problems.problem import Likelihood

__all__ = ["checked_draws", "checked_generator", "frequency_posterior"]

ENGINES = ("hmc", "pymc")
_FEWEST = 160


def checked_generator(rng: object) -> np.random.Generator:
    """The generator that a caller passes."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidArgument("rng", rng, "pass a generator, np.random.default_rng(seed)")
    return rng


def checked_draws(draws: object) -> int:
    """The number of draws over all chains."""
    return replicates("draws", draws, _FEWEST)


def frequency_posterior(
    likelihood: Likelihood,
    labels: pd.Index[Any],
    origin: Origin,
    rng: np.random.Generator,
    prior: SimplexPrior | None = None,
    draws: int = 4000,
    engine: str = "hmc",
) -> PosteriorResults:
    """Draw from the posterior of frequencies with these labels, given the likelihood of reports."""
    one_of("engine", engine, ENGINES)
    prior = Dirichlet() if prior is None else prior
    if not isinstance(prior, SimplexPrior):
        remedy = "must be a prior of frequencies, such as ldpstats.priors.Dirichlet(1.0), or None"
        raise InvalidArgument("prior", prior, remedy)
    law = prior.law(labels)
    origin = replace(origin, prior=repr(prior))
    density = FrequencyDensity.of(likelihood, law)
    chains = sample(density, rng, draws)
    return PosteriorResults.of(
        chains, density, labels, origin, prior_draws=law.draw(rng, draws), engine=engine
    )
