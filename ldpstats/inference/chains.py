"""Hamiltonian Monte Carlo with the Laplace metric, many chains at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import numbers
from ldpstats.errors import InvalidArgument

__all__ = [
    "Chains",
    "LogDensity",
    "ess_bulk",
    "ess_mean",
    "ess_tail",
    "floored_eigen",
    "maximum",
    "rhat",
    "sample",
]


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
    >>> from ldpstats.inference.chains import maximum
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


# -- Whether chains agree, and how many independent draws theirs are worth ------------------------


_BLOCK = 1 << 20  # numbers whose autocovariances are computed at a time
_LEAST = 4  # draws of a chain


def rhat(draws: npt.ArrayLike) -> Array:
    """Rank-normalised split R-hat: 1 where chains agree, above 1.01 where they do not.

    The larger of R-hat of normal scores of the draws and of their distances from the median, after
    every chain is split in two (Vehtari et al. 2021, section 4).

    Parameters
    ----------
    draws : array_like, shape (c, n) or (c, n, m)
        Draws of c chains, n >= 4 each, of m quantities.

    Returns
    -------
    ndarray, shape () or (m,)
        nan for a quantity that does not vary.

    References
    ----------
    A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Buerkner, Rank-normalization, folding,
    and localization: an improved R-hat for assessing convergence of MCMC, Bayesian Analysis 16
    (2021), 667-718.

    Examples
    --------
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> bool(rhat(draws) < 1.01), bool(rhat(draws + np.arange(4.0)[:, None]) > 1.5)
    (True, True)
    """
    halves, one = _halves(draws)
    folded = np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True))
    found = np.maximum(_split_rhat(_scores(halves)), _split_rhat(_scores(folded)))
    return found[0] if one else found


def ess_bulk(draws: npt.ArrayLike) -> Array:
    """Effective number of draws for the centre of a law: that of normal scores.

    Parameters and shapes as for `rhat`.

    Examples
    --------
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> 1500 < float(ess_bulk(draws)) < 2500
    True
    """
    halves, one = _halves(draws)
    found = _effective(_scores(halves))
    return found[0] if one else found


def ess_tail(draws: npt.ArrayLike) -> Array:
    """Effective number of draws for the ends of a 90 % interval, the smaller one of both.

    Parameters and shapes as for `rhat`.

    Examples
    --------
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> 1200 < float(ess_tail(draws)) < 2600
    True
    """
    halves, one = _halves(draws)
    whole = np.asarray(draws, dtype=np.float64)
    ends = np.quantile(whole.reshape(whole.shape[0] * whole.shape[1], -1), [0.05, 0.95], axis=0)
    sizes = [_effective((halves <= end[:, None, None]).astype(np.float64)) for end in ends]
    found = np.minimum(*sizes)
    return found[0] if one else found


def ess_mean(draws: npt.ArrayLike) -> Array:
    """Effective number of draws for the mean: its variance is that of a draw over this number.

    Parameters and shapes as for `rhat`.

    Examples
    --------
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> 1500 < float(ess_mean(draws)) < 2500
    True
    """
    halves, one = _halves(draws)
    found = _effective(halves)
    return found[0] if one else found


def _halves(draws: npt.ArrayLike) -> tuple[Array, bool]:
    """Both halves of every chain as chains, shape (m, 2 c, n // 2), and whether m was left out."""
    remedy = f"must be finite draws of shape (c, n) or (c, n, m), with n of at least {_LEAST}"
    array = numbers("draws", draws, remedy)
    if array.ndim not in (2, 3) or array.shape[1] < _LEAST or not array.size:
        raise InvalidArgument("draws", f"array of shape {array.shape}", remedy)
    if not np.isfinite(array).all():
        raise InvalidArgument("draws", array, remedy)
    one = array.ndim == 2
    moved = np.moveaxis(array[..., None] if one else array, 2, 0)
    half = moved.shape[2] // 2
    return np.concatenate([moved[:, :, :half], moved[:, :, -half:]], axis=1), one


def _scores(halves: Array) -> Array:
    """Normal scores of ranks among all draws of a quantity; ties share their mean rank."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    m, chains, n = halves.shape
    ranks = rankdata(halves.reshape(m, -1), axis=1).reshape(halves.shape)
    return np.asarray(ndtri((ranks - 0.375) / (chains * n + 0.25)))


def _split_rhat(halves: Array) -> Array:
    n = halves.shape[2]
    within = halves.var(axis=2, ddof=1).mean(axis=1)
    between = halves.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(between / within + (n - 1) / n))


def _effective(halves: Array) -> Array:
    """Effective sizes, shape (m,), by Geyer's initial monotone sequence over all chains."""
    m, chains, n = halves.shape
    step = max(1, _BLOCK // (chains * n))
    blocks = [_effective_block(halves[i : i + step]) for i in range(0, m, step)]
    return np.concatenate(blocks)


def _effective_block(halves: Array) -> Array:
    _, chains, n = halves.shape
    covariances = _autocovariances(halves).mean(axis=1)
    within = covariances[:, :1] * n / (n - 1.0)
    total = covariances[:, :1] + halves.mean(axis=2).var(axis=1, ddof=1)[:, None]
    constant = np.ptp(halves, axis=(1, 2)) < 1e-15
    rho = 1.0 - (within - covariances) / np.where(total > 0.0, total, 1.0)
    rho[:, 0] = 1.0
    last = max(1, (n - 1) // 2)  # pairs of lags (0, 1), (2, 3), ...
    pairs = rho[:, 0 : 2 * last : 2] + rho[:, 1 : 2 * last : 2]
    ends = np.where((pairs < 0.0).any(axis=1), (pairs < 0.0).argmax(axis=1), last - 1)
    inside = np.arange(last) < np.maximum(ends, 1)[:, None]
    monotone = np.minimum.accumulate(pairs, axis=1)
    beyond = np.maximum(rho[np.arange(len(rho)), 2 * ends], 0.0) * (ends > 0)
    tau = 2.0 * np.where(inside, monotone, 0.0).sum(axis=1) - 1.0 + beyond
    draws = chains * n
    found = draws / np.maximum(tau, 1.0 / np.log10(draws))
    return np.where(constant, float(draws), found)


def _autocovariances(halves: Array) -> Array:
    """Autocovariances at every lag, divided by n, along the last axis."""
    n = halves.shape[-1]
    size = 1 << (2 * n - 1).bit_length()
    centred = halves - halves.mean(axis=-1, keepdims=True)
    transform = np.fft.rfft(centred, size)
    power = transform.real**2 + transform.imag**2
    return np.asarray(np.fft.irfft(power, size)[..., :n] / n)


# -- What a sampler needs to know of a posterior: its logarithm and gradient without constraints ---


FLOOR = 1e-3  # of the eigenvalues of a curvature: a floor of .05 halves effective sizes at k = 50
_LARGEST_STEP = 2.0  # of a coordinate
_HALVINGS = np.array([1.0]), 0.5 ** np.arange(1, 30)


class LogDensity(ABC):
    """A log posterior over unconstrained coordinates z of shape (d,), up to a constant.

    Every method is a function of arrays; `evaluate` takes the points of several chains together.
    The density is that of z, so the Jacobian of the map from z to what is reported is included.
    """

    size: int  # number of coordinates d

    @abstractmethod
    def evaluate(self, z: Array) -> tuple[Array, Array]:
        """Values, shape (c,), and gradients, shape (c, d), at the points z of shape (c, d).

        A value may be -inf (or nan) where the density vanishes: the sampler then rejects the point.
        """

    @abstractmethod
    def mode(self) -> Array:
        """A maximum of the density of z, shape (d,): where chains start (see `maximum`)."""

    @abstractmethod
    def curvature(self, z: Array) -> Array:
        """The negative Hessian at z of shape (d,): a (d, d) array, the Laplace metric."""

    @abstractmethod
    def constrained(self, z: Array) -> Array:
        """What is reported, shape (..., m), at points z of shape (..., d)."""


def floored_eigen(curvature: Array) -> tuple[Array, Array]:
    """Eigenvalues, (d,), of at least .001 and eigenvectors, (d, d) in columns, of a curvature."""
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2.0)
    return np.maximum(values, FLOOR), vectors


def maximum(density: LogDensity, start: Array, tol: float = 1e-10, max_iter: int = 200) -> Array:
    """Climb to a maximum of a log density by Newton's method, shape (d,).

    Where the curvature is not positive definite its eigenvalues count by their size, at least .001.
    No coordinate moves by more than 2 in a step, and steps are halved until the density rises. It
    ends where a step promises less than `tol` nats, or no step rises any more.

    Parameters
    ----------
    density : LogDensity
    start : array, shape (d,)
    tol : float
        In nats.
    max_iter : int

    Examples
    --------
    >>> class Normal(LogDensity):
    ...     size = 2
    ...     def evaluate(self, z): return -0.5 * ((z - 3.0) ** 2).sum(axis=-1), 3.0 - z
    ...     def mode(self): return maximum(self, np.zeros(2))
    ...     def curvature(self, z): return np.eye(2)
    ...     def constrained(self, z): return z
    >>> Normal().mode()
    array([3., 3.])
    """
    z = np.array(start, dtype=np.float64)
    values, gradients = density.evaluate(z[None])
    for _ in range(max_iter):
        step = _newton_step(density.curvature(z), gradients[0])
        gain = 0.5 * float(step @ gradients[0])
        if gain <= tol:
            break
        step *= min(1.0, _LARGEST_STEP / float(np.abs(step).max()))
        for halvings in _HALVINGS:  # several in one evaluation, and seldom more than the first
            tries = z + step * halvings[:, None]
            found, slopes = density.evaluate(tries)
            rises = found >= values[0] + 2e-4 * halvings * float(step @ gradients[0])
            if rises.any():
                break
        else:
            break
        best = int(np.argmax(rises))
        z, values, gradients = tries[best], found[best : best + 1], slopes[best : best + 1]
    return z


def _newton_step(curvature: Array, gradient: Array) -> Array:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        return np.asarray(cho_solve(cho_factor(curvature), gradient))
    except LinAlgError:
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2.0)
        curved = np.maximum(np.abs(values), FLOOR)
        return np.asarray(vectors @ ((gradient @ vectors) / curved))
