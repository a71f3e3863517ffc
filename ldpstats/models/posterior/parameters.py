"""The posterior of frequencies and unknown parameters of devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import one_of
from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import InvalidArgument
from ldpstats.estimators.parametric.maximum import maximum
from ldpstats.models.posterior.densities.parameters import ParametersDensity, with_answers
from ldpstats.models.posterior.engines import ENGINES, chains_by
from ldpstats.models.posterior.frequency import (
    checked_draws,
    checked_generator,
    checked_prior,
)
from ldpstats.models.posterior.modes import BELOW_ONE
from ldpstats.models.posterior.predictive import REPLICATES, predictive_check
from ldpstats.models.posterior.ranges import PROBABILITY
from ldpstats.models.posterior.record import Origin
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.priors import Beta, SimplexPrior
from ldpstats.priors.dirichlet import DirichletLaw
from ldpstats.problems.parametric.likelihood import ParametricLikelihood

__all__ = ["ParametersPrior", "parameters_posterior", "parameters_prior"]

Array = npt.NDArray[Any]

_FREQUENCIES = "frequencies"
_HOW = (
    "must be None, a prior of the frequencies such as Dirichlet(1.0), or a dict such as "
    "{'cheating': Beta(2, 18), 'frequencies': Dirichlet(1.0)}"
)


@dataclass(frozen=True, eq=False)
class ParametersPrior:
    """Priors of the frequencies and of each parameter, which are independent.

    `given` are the parameters whose prior was chosen; those of the others are flat.
    """

    frequencies: SimplexPrior
    parameters: tuple[Beta, ...]
    given: tuple[str, ...]
    words: str


def parameters_prior(prior: Any, names: Sequence[str]) -> ParametersPrior:
    """Read the priors that a caller passes, by name.

    Raises
    ------
    InvalidArgument
        If a name is not an unknown parameter, or its prior is not a Beta.

    Examples
    --------
    >>> parameters_prior({"cheating": Beta(2, 18)}, ["cheating"]).words
    'Dirichlet(1.0), cheating: Beta(2.0, 18.0)'
    """
    if not isinstance(prior, Mapping):
        if prior is not None and not isinstance(prior, SimplexPrior):
            raise InvalidArgument("prior", prior, _HOW)
        prior = {} if prior is None else {_FREQUENCIES: prior}
    for name, law in prior.items():
        if name in names:
            if not isinstance(law, Beta):
                remedy = "must be a prior of a probability, such as ldpstats.priors.Beta(2, 18)"
                raise InvalidArgument(f"prior[{name!r}]", law, remedy)
        elif name != _FREQUENCIES:
            hint = did_you_mean(name, names)
            remedy = f"is no unknown parameter of {', '.join(names)}{hint}; prior= {_HOW}"
            raise InvalidArgument("prior", name, remedy)
    own = None if _FREQUENCIES in names else prior.get(_FREQUENCIES)
    shares = checked_prior(own)
    laws = tuple(prior.get(name, Beta()) for name in names)
    pairs = zip(names, laws, strict=True)
    words = ", ".join([repr(shares), *(f"{name}: {law!r}" for name, law in pairs)])
    return ParametersPrior(shares, laws, tuple(n for n in names if n in prior), words)


def parameters_posterior(
    likelihood: ParametricLikelihood,
    labels: pd.Index[Any],
    origin: Origin,
    rng: np.random.Generator,
    prior: ParametersPrior,
    draws: int = 4000,
    engine: str = "hmc",
) -> PosteriorResults:
    """Draw from the posterior of frequencies and parameters with these labels, k + m of them."""
    engine = one_of("engine", engine, ENGINES)
    rng, draws = checked_generator(rng), checked_draws(draws)
    k = likelihood.k
    law = prior.frequencies.law(labels[:k])
    a, b = (np.array([getattr(one, side) for one in prior.parameters]) for side in "ab")
    density = ParametersDensity(likelihood, law, a, b)
    chains = chains_by(engine, density, rng, draws)
    kept = density.constrained(chains.z).reshape(-1, likelihood.size)
    kept = kept[:: -(-len(kept) // REPLICATES)]
    peak = _peak(likelihood, law, a, b)
    before = np.column_stack([law.draw(rng, draws), rng.beta(a, b, size=(draws, a.size))])
    return PosteriorResults.of(
        chains,
        density,
        labels,
        replace(origin, prior=prior.words, without_mode=BELOW_ONE if peak is None else ""),
        simplex=np.r_[np.zeros(k, dtype=np.int64), np.full(likelihood.m, PROBABILITY)],
        peak=peak,
        prior_draws=before,
        check=predictive_check(kept, likelihood.laws, likelihood.counts, rng),
        engine=engine,
    )


def _peak(likelihood: ParametricLikelihood, law: Any, a: Array, b: Array) -> Array | None:
    """Where the posterior density of frequencies and parameters is largest; None if nowhere.

    Priors with exponents of at least one add answers that were asked directly.
    """
    if not isinstance(law, DirichletLaw) or min(law.alpha.min(), a.min(), b.min()) < 1.0:
        return None
    return maximum(with_answers(likelihood, law.alpha - 1.0, a - 1.0, b - 1.0)).x
