"""Hamiltonian Monte Carlo with the Laplace metric, many chains at a time, and their diagnostics.

The mass matrix is the Hessian at the mode, with eigenvalues of at least .001. Trajectories have a
random length of about two standard deviations, in leapfrog steps whose size is tuned in the warm-up
for an acceptance of .8. All chains move together. Where the draws of what is reported are dependent
(an effective size of less than a third of them, R-hat above 1.007), chains run on to twice their
length, up to `longest` times the first, and one in so many draws is kept. Where trajectories
diverge, chains start again with smaller steps (acceptance .95, then .99).

R-hat is 1 where chains agree, above 1.01 where they do not: the larger of R-hat of normal scores of
the draws and of their distances from the median, after every chain is split in two. Effective
sizes are those of the same halves, by Geyer's initial monotone sequence.

References
----------
R. M. Neal, MCMC using Hamiltonian dynamics, Handbook of Markov Chain Monte Carlo, 2011.
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Buerkner, Rank-normalization, folding, and
localization: an improved R-hat for assessing convergence of MCMC, Bayesian Analysis 16 (2021),
667-718.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import ceil, log, sqrt

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, floats, numbers, record
from ldpstats.errors import InvalidArgument
from ldpstats.estimators.regression import maximise

CHAINS = 16
WARMUP = 150
LONGEST = 8
_TARGETS = (0.8, 0.95, 0.99)  # acceptance: the next one where trajectories diverged
_LENGTH = 2.0  # of a trajectory, in standard deviations
_RHAT = 1.007  # above which chains run on
_MOST_STEPS = 64  # leapfrog steps of one trajectory
_MOST_HALVINGS = 60  # of the way from the mode to where a chain starts
_DIVERGES = 1000.0  # nats of energy lost


@record
class Chains:
    """Draws of several chains after their warm-up."""

    z: Array  # (c, n, d): unconstrained draws
    accepted: float  # mean acceptance probability
    divergent: int  # trajectories that lost over 1,000 nats of energy
    step_size: float  # in standard deviations of the Laplace approximation
    warmup: int  # iterations of each chain before the first draw
    thin: int = 1  # one in so many iterations was kept


class _Walk:
    """All chains on their way, in coordinates u whose Laplace approximation is standard normal."""

    def __init__(self, density: LogDensity, rng: np.random.Generator, chains: int) -> None:
        self.density, self.rng = density, rng
        self.centre = floats(density.mode())
        curved, vectors = floored_eigen(density.curvature(self.centre))
        self.scale = vectors / np.sqrt(curved)  # (d, d): z = centre + scale u
        u = rng.standard_normal((chains, density.size))
        for _ in range(_MOST_HALVINGS):  # towards the mode where the density vanishes
            with np.errstate(all="ignore"):
                values, slopes = self.evaluate(u)
            outside = ~(np.isfinite(values) & np.isfinite(slopes).all(axis=1))
            if not outside.any():
                break
            u = np.where(outside[:, None], u / 2.0, u)
        self.state = u, values, slopes
        self.moves, self.accepted, self.divergent = 0, 0.0, 0

    def evaluate(self, u: Array) -> tuple[Array, Array]:
        """Values of the density at u, (c, d), and gradients by u."""
        values, gradients = self.density.evaluate(np.asarray(u @ self.scale.T + self.centre))
        return values, gradients @ self.scale

    def move(self, size: float) -> tuple[Array, Array]:
        """One trajectory of every chain: acceptance probabilities and lost energies, (c,)."""
        u, value, gradient = self.state
        momentum = self.rng.standard_normal(u.shape)
        steps = size * self.rng.uniform(0.8, 1.2, (len(u), 1))
        turns = min(_MOST_STEPS, max(1, round(_LENGTH * self.rng.uniform(0.6, 1.4) / size)))
        energy = 0.5 * (momentum * momentum).sum(axis=1) - value
        at, slope, end = u, gradient, value
        with np.errstate(all="ignore"):  # a trajectory that leaves the range of numbers is rejected
            momentum = momentum + 0.5 * steps * slope
            for turn in range(turns):
                at = at + steps * momentum
                end, slope = self.evaluate(at)
                momentum = momentum + (steps if turn < turns - 1 else 0.5 * steps) * slope
            lost = 0.5 * (momentum * momentum).sum(axis=1) - end - energy
            lost = np.where(np.isfinite(lost), lost, np.inf)
            chance = np.exp(-np.maximum(lost, 0.0))
        moves = self.rng.random(len(u)) < chance
        self.state = (
            np.where(moves[:, None], at, u),
            np.where(moves, end, value),
            np.where(moves[:, None], slope, gradient),
        )
        return chance, lost

    def warm_up(self, n: int, target: float) -> None:
        """Tune the step size by n iterations, for an acceptance of `target`.

        By dual averaging of its logarithm (Hoffman and Gelman 2014, section 3.2).
        """
        # about the target for a normal law of so many coordinates
        now = self.size = 1.2 / sqrt(sqrt(max(self.density.size, 1)))
        centre, error = log(10.0 * now), 0.0
        for t in range(1, n + 1):
            accepted = float(self.move(now)[0].mean())
            error += (target - accepted - error) / (t + 10.0)
            now = float(np.exp(np.clip(centre - sqrt(t) / 0.05 * error, -12.0, log(_LENGTH))))
            weight = t**-0.75
            self.size = float(np.exp(weight * log(now) + (1.0 - weight) * log(self.size)))

    def draw(self, n: int) -> Array:
        """The next n iterations of all chains, z of shape (c, n, d)."""
        draws = np.empty((n, *self.state[0].shape))
        for i in range(n):
            chance, lost = self.move(self.size)
            draws[i] = self.state[0]
            self.accepted += float(chance.mean())
            self.divergent += int((lost > _DIVERGES).sum())
        self.moves += n
        return draws.transpose(1, 0, 2) @ self.scale.T + self.centre


def sample(
    density: LogDensity,
    rng: np.random.Generator,
    draws: int,
    chains: int = CHAINS,
    warmup: int = WARMUP,
    longest: int = LONGEST,
) -> Chains:
    """Draw from a posterior by Hamiltonian Monte Carlo; the same `rng` gives the same draws."""
    for target in _TARGETS:
        walk = _Walk(density, rng, chains)
        walk.warm_up(warmup, target)
        n = ceil(draws / chains)
        z, thin = walk.draw(n), 1
        luck = 1.0 + 1.0 / n  # R-hat of few draws that are independent
        while 2 * thin <= longest and n >= _LEAST:
            # until chains agree, and draws are worth a third
            reported = density.constrained(z)
            if np.nanmax(rhat(reported), initial=1.0) <= max(_RHAT, luck):
                least = z.shape[0] * z.shape[1] / 3.0
                if ess_bulk(reported).min() > least and ess_tail(reported).min() > least:
                    break
            more = walk.draw(n * thin)[:, thin - 1 :: thin]
            z, thin = np.concatenate([z, more], axis=1)[:, 1::2], 2 * thin
        if not walk.divergent:
            break
    return Chains(z, walk.accepted / walk.moves, walk.divergent, walk.size, warmup, thin)


# -- Whether chains agree, and how many independent draws theirs are worth ------------------------


_BLOCK = 1 << 20  # numbers whose autocovariances are computed at a time
_LEAST = 4  # draws of a chain


def rhat(draws: npt.ArrayLike) -> Array:
    """Rank-normalised split R-hat, () or (m,), of draws (c, n) or (c, n, m); nan if none varies."""
    halves = _halves(draws)
    folded = np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True))
    ratios, n = [], halves.shape[2]
    for scores in (_scores(halves), _scores(folded)):
        within = scores.var(axis=2, ddof=1).mean(axis=1)
        between = scores.mean(axis=2).var(axis=1, ddof=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios.append(np.sqrt(between / within + (n - 1) / n))
    return _each(draws, np.maximum(*ratios))


def ess_bulk(draws: npt.ArrayLike) -> Array:
    """Effective number of draws for the centre of a law: that of normal scores."""
    return _each(draws, _effective(_scores(_halves(draws))))


def ess_tail(draws: npt.ArrayLike) -> Array:
    """Effective number of draws for the ends of a 90 % interval, the smaller one of both."""
    halves = _halves(draws)
    whole = floats(draws)
    ends = np.quantile(whole.reshape(whole.shape[0] * whole.shape[1], -1), [0.05, 0.95], axis=0)
    sizes = [_effective((halves <= end[:, None, None]).astype(np.float64)) for end in ends]
    return _each(draws, np.minimum(*sizes))


def ess_mean(draws: npt.ArrayLike) -> Array:
    """Effective number of draws for the mean: its variance is that of a draw over this number."""
    return _each(draws, _effective(_halves(draws)))


def _each(draws: npt.ArrayLike, found: Array) -> Array:
    """What was found of each quantity, (m,); a number where draws are of one, (c, n)."""
    return found if np.ndim(draws) > 2 else found[0]


def _halves(draws: npt.ArrayLike) -> Array:
    """Both halves of every chain as chains, shape (m, 2 c, n // 2)."""
    remedy = f"must be finite draws of shape (c, n) or (c, n, m), with n of at least {_LEAST}"
    array = numbers("draws", draws, remedy)
    if array.ndim not in (2, 3) or array.shape[1] < _LEAST or not array.size:
        raise InvalidArgument("draws", f"array of shape {array.shape}", remedy)
    if not np.isfinite(array).all():
        raise InvalidArgument("draws", array, remedy)
    moved = np.moveaxis(array.reshape(*array.shape[:2], -1), 2, 0)
    half = moved.shape[2] // 2
    return np.concatenate([moved[:, :, :half], moved[:, :, -half:]], axis=1)


def _scores(halves: Array) -> Array:
    """Normal scores of ranks among all draws of a quantity; ties share their mean rank."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    m, chains, n = halves.shape
    ranks = rankdata(halves.reshape(m, -1), axis=1).reshape(halves.shape)
    return np.asarray(ndtri((ranks - 0.375) / (chains * n + 0.25)))


def _effective(halves: Array) -> Array:
    """Effective sizes, shape (m,), by Geyer's initial monotone sequence over all chains."""
    m, chains, n = halves.shape
    draws, size = chains * n, 1 << (2 * n - 1).bit_length()
    last = max(1, (n - 1) // 2)  # pairs of lags (0, 1), (2, 3), ...
    sizes = np.empty(m)
    step = max(1, _BLOCK // draws)
    for start in range(0, m, step):
        block = halves[start : start + step]
        transform = np.fft.rfft(block - block.mean(axis=-1, keepdims=True), size)
        power = transform.real**2 + transform.imag**2
        covariances = np.asarray(np.fft.irfft(power, size)[..., :n] / n).mean(axis=1)
        within = covariances[:, :1] * n / (n - 1.0)
        total = covariances[:, :1] + block.mean(axis=2).var(axis=1, ddof=1)[:, None]
        constant = np.ptp(block, axis=(1, 2)) < 1e-15
        rho = 1.0 - (within - covariances) / np.where(total > 0.0, total, 1.0)
        rho[:, 0] = 1.0
        pairs = rho[:, 0 : 2 * last : 2] + rho[:, 1 : 2 * last : 2]
        ends = np.where((pairs < 0.0).any(axis=1), (pairs < 0.0).argmax(axis=1), last - 1)
        inside = np.arange(last) < np.maximum(ends, 1)[:, None]
        monotone = np.minimum.accumulate(pairs, axis=1)
        beyond = np.maximum(rho[np.arange(len(rho)), 2 * ends], 0.0) * (ends > 0)
        tau = 2.0 * np.where(inside, monotone, 0.0).sum(axis=1) - 1.0 + beyond
        effective = draws / np.maximum(tau, 1.0 / np.log10(draws))
        sizes[start : start + step] = np.where(constant, float(draws), effective)
    return sizes


# -- What a sampler needs to know of a posterior: its logarithm and gradient without constraints ---


FLOOR = 1e-3  # of the eigenvalues of a curvature: a floor of .05 halves effective sizes at k = 50


class LogDensity(ABC):
    """A log posterior over unconstrained coordinates z, (d,), up to a constant.

    It is that of z: the Jacobian of the map from z to what is reported is included.
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


@record
class _Height:
    """A density as what Newton's method climbs."""

    density: LogDensity

    def value(self, z: Array) -> float:
        return float(self.density.evaluate(z[None])[0][0])

    def evaluate(self, z: Array) -> tuple[float, Array, Array]:
        values, gradients = self.density.evaluate(z[None])
        return float(values[0]), gradients[0], -self.density.curvature(z)


def maximum(density: LogDensity, start: Array, tol: float = 1e-10, max_iter: int = 200) -> Array:
    """Climb from `start`, (d,), by Newton's method until a step promises less than `tol` nats."""
    return maximise(_Height(density), start, None, max_iter, 2.0 * tol).theta
