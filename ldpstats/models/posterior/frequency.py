"""The posterior of the frequencies of one variable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import replicates
from ldpstats.errors import InvalidArgument
from ldpstats.inference.outcome import TestResult
from ldpstats.models.posterior.densities.frequency import FrequencyDensity
from ldpstats.models.posterior.engines import chains_by
from ldpstats.models.posterior.modes import BELOW_ONE, frequency_mode
from ldpstats.models.posterior.predictive import REPLICATES, predictive_check
from ldpstats.models.posterior.record import Origin
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.priors import Dirichlet, SimplexPrior
from ldpstats.priors.base import LogitLaw
from ldpstats.priors.dirichlet import DirichletLaw
from ldpstats.problems.problem import Likelihood

__all__ = ["checked_draws", "checked_generator", "checked_prior", "frequency_posterior"]

Array = npt.NDArray[Any]

Results = TypeVar("Results", bound=PosteriorResults)

_FEWEST = 160


def checked_generator(rng: object) -> np.random.Generator:
    """The generator that a caller passes."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidArgument("rng", rng, "pass a generator, np.random.default_rng(seed)")
    return rng


def checked_draws(draws: object) -> int:
    """The number of draws over all chains."""
    return replicates("draws", draws, _FEWEST)


def checked_prior(prior: object) -> SimplexPrior:
    """The prior of frequencies that a caller passes; None is the flat one."""
    if prior is None:
        return Dirichlet()
    if not isinstance(prior, SimplexPrior):
        remedy = "must be a prior of frequencies, such as ldpstats.priors.Dirichlet(1.0), or None"
        raise InvalidArgument("prior", prior, remedy)
    return prior


def frequency_posterior(
    likelihood: Likelihood,
    labels: pd.Index[Any],
    origin: Origin,
    rng: np.random.Generator,
    prior: Any,
    law: LogitLaw,
    draws: int,
    engine: str,
    groups: Sequence[tuple[Array, Array]],
    kind: type[Results],
) -> Results:
    """Draw from the posterior of frequencies with these labels, given the likelihood of reports.

    `law` is that of the prior over the labels, and `kind` the class of the results. `groups` are
    channels and counts for the posterior predictive check; none for no check.
    """
    rng, draws = checked_generator(rng), checked_draws(draws)
    peak = frequency_mode(likelihood, law)
    density = FrequencyDensity.of(likelihood, law)
    chains = chains_by(engine, density, rng, draws)
    kept = density.constrained(chains.z).reshape(-1, law.k)
    kept = kept[:: -(-len(kept) // REPLICATES)]
    words = repr(Dirichlet() if prior is None else prior)
    return kind.of(
        chains,
        density,
        labels,
        replace(origin, prior=words, without_mode=BELOW_ONE if peak is None else ""),
        peak=peak,
        prior_draws=law.draw(rng, draws),
        check=_check(kept, groups, rng) if groups else None,
        concentration=law.alpha if isinstance(law, DirichletLaw) else None,
        engine=engine,
    )


def _check(
    frequencies: Array, groups: Sequence[tuple[Array, Array]], rng: np.random.Generator
) -> TestResult:
    """The posterior predictive check of draws (s, k); groups are channels and counts."""
    counts = [n for _, n in groups]
    return predictive_check(frequencies, lambda p: [p @ Q for Q, _ in groups], counts, rng)
