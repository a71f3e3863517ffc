"""Hamiltonian Monte Carlo with the Laplace metric, many chains at a time."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.chains.density import LogDensity, floored_eigen
from ldpstats.inference.chains.diagnostics import ess_bulk, ess_tail, rhat

__all__ = ["Chains", "sample"]

Array = npt.NDArray[Any]

CHAINS = 16
WARMUP = 150
LONGEST = 8
_TARGETS = (0.8, 0.95, 0.99)  # acceptance: the next one where trajectories diverged
_LENGTH = 2.0  # of a trajectory, in standard deviations
_RHAT = 1.007  # above which chains run on
_MOST_STEPS = 64  # leapfrog steps of one trajectory
_MOST_HALVINGS = 60  # of the way from the mode to where a chain starts
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
        Iterations of each chain before the first draw.
    thin : int
        One in so many iterations was kept.
    """

    z: Array
    accepted: float
    divergent: int
    step_size: float
    warmup: int
    thin: int = 1


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

    def __init__(self, first: float, target: float) -> None:
        self._target = target
        self.value, self.final = first, first
        self._centre, self._error, self._count = log(10.0 * first), 0.0, 0

    def update(self, accepted: float) -> None:
        self._count += 1
        t = self._count
        self._error += (self._target - accepted - self._error) / (t + 10.0)
        logarithm = self._centre - sqrt(t) / 0.05 * self._error
        self.value = float(np.exp(np.clip(logarithm, -12.0, log(_LENGTH))))
        weight = t**-0.75
        self.final = float(np.exp(weight * log(self.value) + (1.0 - weight) * log(self.final)))


class _Walk:
    """All chains on their way: where they are, and what their trajectories were like."""

    def __init__(
        self, density: LogDensity, rng: np.random.Generator, chains: int, target: float
    ) -> None:
        self.law, self.rng = _Whitened.of(density), rng
        u = rng.standard_normal((chains, density.size))
        self.state = _started(self.law, u)
        self.step = _StepSize(_first_step(density.size), target)
        self.moves, self.accepted, self.divergent = 0, 0.0, 0

    def warm_up(self, iterations: int) -> None:
        for _ in range(iterations):
            self.state, chance, _ = _move(self.law, self.state, self.step.value, self.rng)
            self.step.update(float(chance.mean()))

    def draw(self, n: int) -> Array:
        """The next n iterations of all chains, z of shape (c, n, d)."""
        kept = np.empty((n, *self.state[0].shape))
        for i in range(n):
            self.state, chance, lost = _move(self.law, self.state, self.step.final, self.rng)
            kept[i] = self.state[0]
            self.accepted += float(chance.mean())
            self.divergent += int((lost > _DIVERGES).sum())
        self.moves += n
        return self.law.points(kept.transpose(1, 0, 2))


def sample(
    density: LogDensity,
    rng: np.random.Generator,
    draws: int,
    chains: int = CHAINS,
    warmup: int = WARMUP,
    longest: int = LONGEST,
) -> Chains:
    """Draw from a posterior by Hamiltonian Monte Carlo.

    The mass matrix is the Hessian at the mode, with eigenvalues of at least .001. Trajectories have
    a random length of about two standard deviations, in leapfrog steps whose size is tuned in the
    warm-up for an acceptance of .8. All chains move together. Where the draws of what is reported
    are dependent (an effective size of less than a third of them, R-hat above 1.007), chains run
    on to twice their length, up to `longest` times the first, and one in so many draws is kept.
    Where trajectories diverge, chains start again with smaller steps (acceptance .95, then .99).

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
    longest : int
        Chains are at most so many times as long as what is kept of them.

    References
    ----------
    R. M. Neal, MCMC using Hamiltonian dynamics, Handbook of Markov Chain Monte Carlo, 2011.

    Examples
    --------
    >>> from ldpstats.inference.chains.density import maximum
    >>> class Normal(LogDensity):
    ...     size = 1
    ...     def evaluate(self, z): return -0.5 * ((z - 3.0) ** 2).sum(axis=-1), 3.0 - z
    ...     def mode(self): return maximum(self, np.zeros(1))
    ...     def curvature(self, z): return np.eye(1)
    ...     def constrained(self, z): return z
    >>> found = sample(Normal(), np.random.default_rng(1), draws=4000)
    >>> found.z.shape, bool(abs(found.z.mean() - 3.0) < 0.07), found.divergent
    ((16, 250, 1), True, 0)
    """
    for target in _TARGETS:
        walk = _Walk(density, rng, chains, target)
        walk.warm_up(warmup)
        z, thin = _drawn(walk, ceil(draws / chains), longest)
        if not walk.divergent:
            break
    return Chains(z, walk.accepted / walk.moves, walk.divergent, walk.step.final, warmup, thin)


def _drawn(walk: _Walk, n: int, longest: int) -> tuple[Array, int]:
    """Draws z, (c, n, d), of chains as long as they must be, one in so many; see `sample`."""
    z, thin = walk.draw(n), 1
    while 2 * thin <= longest and not _is_enough(walk.law.density.constrained(z)):
        more = walk.draw(n * thin)[:, thin - 1 :: thin]
        z, thin = np.concatenate([z, more], axis=1)[:, 1::2], 2 * thin
    return z, thin


def _is_enough(draws: Array) -> bool:
    """Whether chains agree, and their draws of m quantities, (c, n, m), are worth a third."""
    if draws.shape[1] < 4:
        return True
    luck = 1.0 + 1.0 / draws.shape[1]  # R-hat of few draws that are independent
    if np.nanmax(rhat(draws), initial=1.0) > max(_RHAT, luck):
        return False
    least = draws.shape[0] * draws.shape[1] / 3.0
    return bool(ess_bulk(draws).min() > least and ess_tail(draws).min() > least)


def _started(law: _Whitened, u: Array) -> tuple[Array, Array, Array]:
    """The state at u, drawn towards the mode where the density vanishes."""
    for _ in range(_MOST_HALVINGS):
        with np.errstate(all="ignore"):
            values, slopes = law.evaluate(u)
        outside = ~(np.isfinite(values) & np.isfinite(slopes).all(axis=1))
        if not outside.any():
            break
        u = np.where(outside[:, None], u / 2.0, u)
    return u, values, slopes


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
