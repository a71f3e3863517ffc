"""The engines that draw from posteriors, by name."""

from __future__ import annotations

import numpy as np

from ldpstats.arguments.checks import one_of
from ldpstats.inference.chains.density import LogDensity
from ldpstats.inference.chains.hmc import Chains, sample

__all__ = ["ENGINES", "chains_by"]

ENGINES = ("hmc", "pymc")


def chains_by(engine: str, density: LogDensity, rng: np.random.Generator, draws: int) -> Chains:
    """Draw from a posterior by one of the engines.

    Parameters
    ----------
    engine : {"hmc", "pymc"}
        The package's own Hamiltonian Monte Carlo, or PyMC's (extra `bayes`).
    density : LogDensity
    rng : numpy Generator
        The same state gives the same draws.
    draws : int
        Over all chains.

    Raises
    ------
    InvalidArgument
        For another engine.
    NotAvailable
        If PyMC is needed and not installed.
    """
    if one_of("engine", engine, ENGINES) == "hmc":
        return sample(density, rng, draws)
    from ldpstats.models.posterior.pymc.sampling import pymc_chains

    return pymc_chains(density, rng, draws)
