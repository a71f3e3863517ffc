"""PyMC's No-U-Turn sampler for posteriors of this package."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.chains.density import LogDensity, floored_eigen
from ldpstats.inference.chains.hmc import Chains
from ldpstats.models.posterior.densities.frequency import FrequencyDensity
from ldpstats.models.posterior.packages import package
from ldpstats.models.posterior.pymc.products import mixed
from ldpstats.priors.dirichlet import DirichletLaw

__all__ = ["density_chains", "density_model", "frequency_model", "laplace", "pymc_chains"]

Array = npt.NDArray[Any]

_NEED = "engine='pymc'"
_CHAINS, _WARMUP = 4, 1000


def pymc_chains(density: LogDensity, rng: np.random.Generator, draws: int) -> Chains:
    """Draw from a posterior by PyMC's sampler, in 4 chains of 1,000 iterations of warm-up.

    Frequencies with a Dirichlet prior are a model of PyMC's own distributions and of our
    likelihood. Other posteriors enter as they are, value and gradient, in the coordinates in which
    their Laplace approximation is standard normal.

    Parameters
    ----------
    density : LogDensity
    rng : numpy Generator
        The same state gives the same draws.
    draws : int
        Over all chains; rounded up to a multiple of 4.

    Raises
    ------
    NotAvailable
        If PyMC is not installed.
    """
    package("pymc", _NEED)
    if isinstance(density, FrequencyDensity) and isinstance(density.prior, DirichletLaw):
        trace = _run(frequency_model(density), rng, draws)
        return _chains(trace, density.coordinates(_values(trace, "p")))
    return density_chains(density, rng, draws)


def density_chains(density: LogDensity, rng: np.random.Generator, draws: int) -> Chains:
    """Draw from any log density, in the coordinates of its Laplace approximation."""
    centre, scale = laplace(density)
    trace = _run(density_model(density, centre, scale), rng, draws)
    return _chains(trace, _values(trace, "u") @ scale.T + centre)


def frequency_model(density: FrequencyDensity) -> Any:
    """The model of PyMC of frequencies "p", with a Dirichlet prior, and their reports."""
    pymc = package("pymc", _NEED)
    likelihood, prior = density.likelihood, density.prior
    assert isinstance(prior, DirichletLaw)
    with pymc.Model() as model:
        p = pymc.Dirichlet("p", prior.alpha)
        m = mixed(likelihood.W, p)
        pymc.Potential("reports", (likelihood.n * pymc.math.log(m)).sum())
    return model


def laplace(density: LogDensity) -> tuple[Array, Array]:
    """Mode, (d,), and scale, (d, d): ``z = mode + scale u`` for standard normal u, nearly."""
    centre = np.asarray(density.mode(), dtype=np.float64)
    values, vectors = floored_eigen(density.curvature(centre))
    return centre, vectors / np.sqrt(values)


def density_model(density: LogDensity, centre: Array, scale: Array) -> Any:
    """The model of PyMC of coordinates "u" whose log density is that of ``centre + scale u``."""
    pymc = package("pymc", _NEED)
    with pymc.Model() as model:
        u = pymc.Flat("u", shape=density.size)
        value, _ = _density()(density)(pymc.math.dot(scale, u) + centre)
        pymc.Potential("log_density", value)
    return model


@cache
def _density() -> Any:
    """The Op of a log density; its class needs PyTensor, and is made when that is imported."""
    from pytensor import tensor as pt
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    class Density(Op):  # type: ignore[misc]
        """Value and gradient of a log density at z, shape (d,)."""

        def __init__(self, density: LogDensity) -> None:
            self.density = density

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Density) and self.density is other.density

        def __hash__(self) -> int:
            return hash((Density, id(self.density)))

        def make_node(self, z: Any) -> Any:
            z = pt.cast(pt.as_tensor_variable(z), "float64")
            return Apply(self, [z], [pt.dscalar(), pt.dvector()])

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            values, gradients = self.density.evaluate(inputs[0][None])
            outputs[0][0] = np.asarray(values[0], dtype=np.float64)
            outputs[1][0] = np.asarray(gradients[0], dtype=np.float64)

        def grad(self, inputs: Any, gradients: Any) -> Any:
            return [gradients[0] * self(*inputs)[1]]

    return Density


@contextmanager
def _quiet() -> Iterator[None]:
    """PyMC says nothing of its chains: the results do."""
    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _run(model: Any, rng: np.random.Generator, draws: int) -> Any:
    """The chains of a model, in this process, as a MultiTrace."""
    seed = int(rng.integers(2**31))
    how = {"draws": ceil(draws / _CHAINS), "tune": _WARMUP, "chains": _CHAINS, "cores": 1}
    how |= {"progressbar": False, "return_inferencedata": False, "random_seed": seed}
    with _quiet():
        return package("pymc", _NEED).sample(model=model, compute_convergence_checks=False, **how)


def _values(trace: Any, name: str) -> Array:
    """Draws of a vector, shape (c, n, d)."""
    return np.stack(trace.get_values(name, combine=False))


def _chains(trace: Any, z: Array) -> Chains:
    """Draws with what the sampler says of its trajectories."""
    accepted = float(np.mean(trace.get_sampler_stats("mean_tree_accept")))
    divergent = int(np.sum(trace.get_sampler_stats("diverging")))
    step_size = float(np.mean(trace.get_sampler_stats("step_size")))
    return Chains(z, accepted, divergent, step_size, _WARMUP)
