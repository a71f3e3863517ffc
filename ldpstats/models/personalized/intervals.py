"""Frequencies that are mixtures of what was reported of a category and of bots (MK19 section 5).

The intermediate frequencies r are those of k categories and then of kappa bots. A frequency of the
truth is ``p_x = r_x + sum_t r(bot_t) pi_t(x)`` (MK19 eq. 21), where pi_t is the distribution of the
category behind bot t: given, or in proportion to r over the categories that are not sensitive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.inference.intervals import wald
from ldpstats.inference.tails import skewed_pvalue
from ldpstats.inference.tests import binomial_deficit, binomial_excess
from ldpstats.problems.covariance import Covariance

__all__ = ["Mixture", "intervals", "mixture", "mover", "presence"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Mixture:
    """p as a function of the intermediate frequencies near r: ``own * r_X + loads @ (rows @ r)``.

    Parameters
    ----------
    background : array, shape (kappa, k)
        Distribution of the category behind each bot, given or in proportion to r.
    own : array, shape (k,)
        How often the frequency of a category itself counts: once, and more where bots are spread.
    loads : array, shape (k, q)
        Weights of the q combinations of r that enter beside it.
    rows : array, shape (q, k + kappa)
        Those combinations: the bots whose background is given, and, where others are spread, the
        contrast ``B - (B/N) sum_N r``, zero at r itself, of their sum B against the categories that
        they are spread over, of which the sum is N.
    at : array of int, shape (q,)
        Position in r of the bot that a combination is; -1 for the contrast.

    Examples
    --------
    >>> from ldpstats.problems.covariance import multinomial
    >>> r = np.array([0.2, 0.3, 0.5])   # two categories and a bot
    >>> mix = mixture(r, np.array([[0.9, 0.1]]), np.array([True, True]))
    >>> mix.estimate(r)
    array([0.65, 0.35])
    >>> mix.covariance(multinomial(r, n=100)).variances().round(6)
    array([0.001825, 0.001825])
    """

    background: Array
    own: Array
    loads: Array
    rows: Array
    at: npt.NDArray[np.int64]

    def estimate(self, r: Array) -> Array:
        """MK19 eq. 21, shape (k,), at the r that the mixture is of."""
        k = self.own.size
        return np.asarray(r[:k] + r[k:] @ self.background)

    def blocks(self, V: Covariance) -> tuple[Array, Array]:
        """Covariances of ``own * r_X`` with ``rows @ r``, (k, q), and those among these, (q, q)."""
        k = self.own.size
        if V.factors is None:
            images = V.matrix() @ self.rows.T
        else:
            loaded = V.core @ (V.factors.T @ self.rows.T)
            images = V.diagonal[:, None] * self.rows.T + V.factors @ loaded
        inner = self.rows @ images
        cross = self.own[:, None] * images[:k]
        return cross, (inner + inner.T) / 2

    def covariance(self, V: Covariance) -> Covariance:
        """Covariance G V G' of p, where V is that of r and G the derivative of p; O(k) if V is."""
        k = self.own.size
        if V.factors is None:
            G = self.loads @ self.rows
            G[np.arange(k), np.arange(k)] += self.own
            return Covariance.dense(V.transform(G))
        cross, inner = self.blocks(V)
        q, rank = inner.shape[0], V.core.shape[0]
        core = np.zeros((rank + 2 * q, rank + 2 * q))
        core[:rank, :rank], core[rank : rank + q, rank : rank + q] = V.core, inner
        core[rank : rank + q, rank + q :] = core[rank + q :, rank : rank + q] = np.eye(q)
        own = self.own[:, None] * V.factors[:k]
        factors = np.hstack([own, self.loads, cross])
        return Covariance(self.own**2 * V.diagonal[:k], core, factors)


def mixture(r: Array, given: Array, others: npt.NDArray[np.bool_]) -> Mixture:
    """How p rests on the intermediate frequencies (MK19 eq. 21 and the end of section 5.3)."""
    kappa, k = given.shape
    spread = np.asarray(np.isnan(given).any(axis=1))
    at = k + np.flatnonzero(~spread)
    rows, loads, own = np.zeros((at.size, k + kappa)), given[~spread].T, np.ones(k)
    rows[np.arange(at.size), at] = 1.0
    if not spread.any():
        return Mixture(given, own, loads, rows, at)
    total, sum_of_bots = float(r[:k][others].sum()), float(r[k:][spread].sum())
    if not total > 0.0:
        raise NotAvailable(
            f"tags without a background are spread over the {int(others.sum())} categories that "
            f"are not sensitive for all, whose estimates sum to {total:.3g}: give a background"
        )
    share, ratio = np.where(others, r[:k] / total, 0.0), sum_of_bots / total
    contrast = np.concatenate([np.where(others, -ratio, 0.0), spread.astype(np.float64)])
    return Mixture(
        background=np.where(spread[:, None], share, given),
        own=np.where(others, 1.0 + ratio, 1.0),
        loads=np.column_stack([loads, share]),
        rows=np.vstack([rows, contrast]),
        at=np.append(at, -1),
    )


def mover(
    below: npt.ArrayLike, above: npt.ArrayLike, correlation: npt.ArrayLike
) -> tuple[Array, Array]:
    """How far the interval of a sum reaches, from the intervals of its parts.

    The method of variance estimates recovery: the lower end of a sum of q estimates is below it by
    ``sqrt(sum_ij rho_ij b_i b_j)``, where b_i is how far the lower end of part i is below its
    estimate; likewise above. It keeps the skewness and the small-sample coverage that the intervals
    of the parts have. Of two parts that are negatively correlated the shorter sides count in the
    product: what one loses the other need not make up for where a few reports decide, and there the
    product of like sides covers too seldom (.87 in the worst case found).
    """
    low, high = np.asarray(below, dtype=np.float64), np.asarray(above, dtype=np.float64)
    rho = np.asarray(correlation, dtype=np.float64)
    short = np.minimum(low, high)
    cancelled = np.einsum("...ij,...i,...j->...", np.minimum(rho, 0.0), short, short)
    added = np.maximum(rho, 0.0)
    squares = (np.einsum("...ij,...i,...j->...", added, d, d) + cancelled for d in (low, high))
    reach_below, reach_above = (np.sqrt(np.maximum(square, 0.0)) for square in squares)
    return reach_below, reach_above


def intervals(r: Array, ends: Array, mix: Mixture, V: Covariance, alpha: float) -> Array:
    """Confidence intervals of p from those of the intermediate frequencies, by `mover`."""
    k, q = mix.loads.shape
    cross, inner = mix.blocks(V)
    values = mix.rows @ r
    each = wald(values, np.sqrt(np.maximum(np.diagonal(inner), 0.0)), alpha)
    each[mix.at >= 0] = ends[mix.at[mix.at >= 0]]
    weights = np.column_stack([mix.own, mix.loads])
    down = np.column_stack([r[:k] - ends[:k, 0], np.broadcast_to(values - each[:, 0], (k, q))])
    up = np.column_stack([ends[:k, 1] - r[:k], np.broadcast_to(each[:, 1] - values, (k, q))])
    down, up = np.maximum(down, 0.0), np.maximum(up, 0.0)  # exact ends may have another centre
    below = np.where(weights >= 0.0, weights * down, -weights * up)
    above = np.where(weights >= 0.0, weights * up, -weights * down)
    C = np.empty((k, 1 + q, 1 + q))
    C[:, 0, 0] = mix.own**2 * V.variances()[:k]
    C[:, 0, 1:] = C[:, 1:, 0] = cross * mix.loads
    C[:, 1:, 1:] = mix.loads[:, :, None] * inner * mix.loads[:, None, :]
    low, high = mover(below, above, _correlation(C))
    p = mix.estimate(r)
    return np.stack([p - low, p + high], axis=-1)


def _correlation(C: Array) -> Array:
    """Correlations from covariances, shape (..., q, q); zero with what does not vary."""
    places = np.arange(C.shape[-1])
    sd = np.sqrt(np.maximum(C[..., places, places], 0.0))
    product = sd[..., :, None] * sd[..., None, :]
    rho = np.divide(C, product, out=np.zeros(C.shape), where=product > 0.0)
    rho[..., places, places] = 1.0
    return np.asarray(np.clip(rho, -1.0, 1.0))


def presence(
    tally: npt.ArrayLike,
    nobs: int,
    offset: npt.ArrayLike,
    scale: npt.ArrayLike,
    weights: npt.ArrayLike,
    exclusive: bool,
) -> tuple[Array, Array]:
    """One-sided p-values of sums of frequencies that are zero only if each of their parts is.

    Where all parts are zero the law of their counts is known. A sum with one part that noise can
    imitate has an exact binomial p-value; with several, that of the weighted sum with its mean,
    variance and skewness under the null. A report that is impossible under the null settles it.
    """
    shape = np.broadcast_shapes(*(np.shape(a) for a in (tally, offset, scale, weights)))
    t, o, s, w = (np.broadcast_to(a, shape) for a in (tally, offset, scale, weights))
    noisy = (w > 0.0) & (o > 0.0)
    seen = np.any((w > 0.0) & (o <= 0.0) & (t > 0), axis=-1)
    larger, smaller = _weighted_tails(t, nobs, o, np.where(noisy, w / s, 0.0), exclusive)
    parts = noisy.sum(axis=-1)
    sole = np.argmax(noisy, axis=-1)[..., None]
    only = [np.take_along_axis(a, sole, axis=-1)[..., 0] for a in (t, o, s)]
    one = parts == 1
    t1, o1, s1 = (values[one] for values in only)
    larger[one] = binomial_excess(t1, nobs, o1, s1)
    smaller[one] = binomial_deficit(t1, nobs, o1, s1)
    larger[parts == 0] = smaller[parts == 0] = 1.0
    larger[seen] = 0.0
    return larger, smaller


def _weighted_tails(
    t: Array, nobs: int, offset: Array, g: Array, exclusive: bool
) -> tuple[Array, Array]:
    """Tails of a weighted sum of counts with known law; 1 where no count has a weight.

    Counts are discrete: as in an exact test, the tail begins half a report before the sum.
    """
    first, second, third = (np.sum(offset * g**power, axis=-1) for power in (1, 2, 3))
    variance, cumulant = second - first**2, third - 3.0 * first * second + 2.0 * first**3
    if not exclusive:
        spread = offset * (1.0 - offset)
        variance = np.sum(g**2 * spread, axis=-1)
        cumulant = np.sum(g**3 * spread * (1.0 - 2.0 * offset), axis=-1)
    some = variance > 0.0
    variance = np.where(some, variance, 1.0)
    excess, half = np.sum(g * (t / nobs - offset), axis=-1), np.abs(g).max(axis=-1) / (2.0 * nobs)
    above, below = ((side * excess - half) / np.sqrt(variance / nobs) for side in (1.0, -1.0))
    skewness = np.where(some, cumulant, 0.0) / variance**1.5 / np.sqrt(nobs)
    return (
        np.where(some, skewed_pvalue(above, skewness), 1.0),
        np.where(some, skewed_pvalue(below, -skewness), 1.0),
    )
