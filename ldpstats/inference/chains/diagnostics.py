"""Whether chains agree, and how many independent draws theirs are worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import numbers
from ldpstats.errors import InvalidArgument

__all__ = ["ess_bulk", "ess_mean", "ess_tail", "rhat"]

Array = npt.NDArray[Any]

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
