"""Hamiltonian Monte Carlo with the Laplace metric, many chains at a time."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, pi, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.chains.density import LogDensity, floored_eigen

__all__ = ["Chains", "sample"]

Array = npt.NDArray[Any]

CHAINS = 16
WARMUP = 150
_TARGET = 0.8  # acceptance probability that the step size is tuned to
_LENGTH = pi / 2.0  # of a trajectory, in standard deviations: independent draws of a normal law
_MOST_STEPS = 64  # leapfrog steps of one trajectory
_DIVERGES = 1000.0  # nats of energy lost


@dataclass(frozen=True, eq=False)
class Chains:
    """Draws of several chains after their warm-up.

    Parameters
    ----------
    z : array, shape (c, n, d)
        Unconstrained draws.
    accepted : float
        Mean acceptance probability.
    divergent : int
        Trajectories whose energy was not conserved by far (1,000 nats).
    step_size : float
        In standard deviations of the Laplace approximation.
    warmup : int
        Iterations of each chain before the first draw that is kept.
    """

    z: Array
    accepted: float
    divergent: int
    step_size: float
    warmup: int


@dataclass(frozen=True, eq=False)
class _Whitened:
    """A density in the coordinates u in which its Laplace approximation is standard normal."""

    density: LogDensity
    centre: Array
    scale: Array  # (d, d): z = centre + scale u

    @classmethod
    def of(cls, density: LogDensity) -> _Whitened:
        centre = np.asarray(density.mode(), dtype=np.float64)
        values, vectors = floored_eigen(density.curvature(centre))
        return cls(density, centre, vectors / np.sqrt(values))

    def points(self, u: Array) -> Array:
        return np.asarray(u @ self.scale.T + self.centre)

    def evaluate(self, u: Array) -> tuple[Array, Array]:
        values, gradients = self.density.evaluate(self.points(u))
        return values, gradients @ self.scale


class _StepSize:
    """Dual averaging of the logarithm of the step size (Hoffman and Gelman 2014, section 3.2)."""

    def __init__(self, first: float) -> None:
        self.value, self.final = first, first
        self._centre, self._error, self._count = log(10.0 * first), 0.0, 0

    def update(self, accepted: float) -> None:
        self._count += 1
        t = self._count
        self._error += (_TARGET - accepted - self._error) / (t + 10.0)
        logarithm = self._centre - sqrt(t) / 0.05 * self._error
        self.value = float(np.exp(np.clip(logarithm, -12.0, log(_LENGTH))))
        weight = t**-0.75
        self.final = float(np.exp(weight * log(self.value) + (1.0 - weight) * log(self.final)))


def sample(
    density: LogDensity,
    rng: np.random.Generator,
    draws: int,
    chains: int = CHAINS,
    warmup: int = WARMUP,
) -> Chains:
    """Draw from a posterior by Hamiltonian Monte Carlo.

    The mass matrix is the Hessian at the mode, with eigenvalues of at least .05. Trajectories are
    half a turn of a standard normal law long on average, by leapfrog steps whose size is tuned in
    the warm-up and varies from trajectory to trajectory. All chains move together.

    Parameters
    ----------
    density : LogDensity
    rng : numpy Generator
        The same state gives the same draws.
    draws : int
        Over all chains; rounded up to a multiple of `chains`.
    chains : int
    warmup : int
        Iterations of each chain that are thrown away.

    References
    ----------
    R. M. Neal, MCMC using Hamiltonian dynamics, Handbook of Markov Chain Monte Carlo, 2011.
    """
    law = _Whitened.of(density)
    u = rng.standard_normal((chains, density.size))
    state = (u, *law.evaluate(u))
    step = _StepSize(_first_step(density.size))
    for _ in range(warmup):
        state, chance, _ = _move(law, state, step.value, rng)
        step.update(float(chance.mean()))
    n = ceil(draws / chains)
    kept = np.empty((n, chains, density.size))
    accepted, divergent = 0.0, 0
    for i in range(n):
        state, chance, lost = _move(law, state, step.final, rng)
        kept[i] = state[0]
        accepted += float(chance.mean())
        divergent += int((lost > _DIVERGES).sum())
    z = law.points(kept.transpose(1, 0, 2))
    return Chains(z, accepted / n, divergent, step.final, warmup)


def _first_step(size: int) -> float:
    """Step size of about the target for a normal law of so many coordinates."""
    return 1.2 / sqrt(sqrt(max(size, 1)))


def _move(
    law: _Whitened, state: tuple[Array, Array, Array], size: float, rng: np.random.Generator
) -> tuple[tuple[Array, Array, Array], Array, Array]:
    """One trajectory of every chain: the new state, acceptance probabilities and lost energies."""
    u, value, gradient = state
    momentum = rng.standard_normal(u.shape)
    steps = size * rng.uniform(0.8, 1.2, (len(u), 1))
    turns = min(_MOST_STEPS, max(1, round(_LENGTH * rng.uniform(0.6, 1.4) / size)))
    energy = 0.5 * (momentum * momentum).sum(axis=1) - value
    at, slope, found = u, gradient, value
    with np.errstate(all="ignore"):  # a trajectory that leaves the range of numbers is rejected
        momentum = momentum + 0.5 * steps * slope
        for turn in range(turns):
            at = at + steps * momentum
            found, slope = law.evaluate(at)
            momentum = momentum + (steps if turn < turns - 1 else 0.5 * steps) * slope
        lost = 0.5 * (momentum * momentum).sum(axis=1) - found - energy
        lost = np.where(np.isfinite(lost), lost, np.inf)
        chance = np.exp(-np.maximum(lost, 0.0))
    moves = rng.random(len(u)) < chance
    new = (
        np.where(moves[:, None], at, u),
        np.where(moves, found, value),
        np.where(moves[:, None], slope, gradient),
    )
    return new, chance, lost
