"""Wald, Scheffe and score intervals of estimates that are normal, or nearly so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import level
from ldpstats.errors import InvalidArgument
from ldpstats.inference.tails import chi2_critical, continuity, normal_critical, skewed_pvalue

__all__ = ["inverted", "scheffe", "skewed", "wald"]

Array = npt.NDArray[np.float64]

_STEPS = 55  # of bisection: to 3e-17 of the width at the start


def wald(estimate: npt.ArrayLike, se: npt.ArrayLike, alpha: float = 0.05) -> Array:
    """Wald intervals, estimate -+ z se.

    Parameters
    ----------
    estimate, se : array_like, shape (..., k)
        Estimates and their standard errors, in the same units.
    alpha : float
        One minus the confidence level of each interval.

    Returns
    -------
    ndarray, shape (..., k, 2)

    Raises
    ------
    InvalidArgument
        If a standard error is negative, an argument is NaN, or alpha is outside (0, 1).

    Examples
    --------
    >>> wald([0.5, 0.1], [0.1, 0.1], alpha=0.05).round(3)
    array([[ 0.304,  0.696],
           [-0.096,  0.296]])
    """
    return _around(estimate, se, normal_critical(alpha))


def scheffe(estimate: npt.ArrayLike, se: npt.ArrayLike, alpha: float, df: int) -> Array:
    """Scheffe intervals: simultaneously valid for every linear combination of df free parameters.

    The half-width is se sqrt(c), where c is the chi-square critical value on df degrees of freedom.

    Parameters
    ----------
    estimate, se : array_like, shape (..., k)
        Contrasts and their standard errors.
    alpha : float
        One minus the simultaneous confidence level.
    df : int
        Dimension of the space of contrasts; k - 1 for k probabilities.

    Returns
    -------
    ndarray, shape (..., k, 2)

    Raises
    ------
    InvalidArgument
        If df is not positive, or as for `wald`.

    Examples
    --------
    >>> scheffe([0.5], [0.1], alpha=0.05, df=4).round(3)
    array([[0.192, 0.808]])
    """
    return _around(estimate, se, float(np.sqrt(chi2_critical(alpha, df))))


def skewed(
    estimate: npt.ArrayLike,
    se: npt.ArrayLike,
    skewness: npt.ArrayLike,
    rate: npt.ArrayLike,
    alpha: float = 0.05,
) -> Array:
    """Score intervals of skewed estimates whose variance depends on the frequency.

    All p that the estimate does not reject, if its variance at p is ``se^2 + rate (p - estimate)``
    and its Cornish-Fisher quantiles are ``z sd(p) + shift``, ``shift = skewness se (z^2 - 1)/6`` ::

        estimate - shift + rate z^2/2 -+ z sqrt(se^2 - rate shift + rate^2 z^2/4).

    It is the Wald interval if skewness and rate are 0, and second-order accurate for a count over
    an exposure N, where rate and skewness se are about 1/N (`wilson` omits the skewness).

    Parameters
    ----------
    estimate, se : array_like, shape (..., k)
        Estimates, and their standard errors if the frequency is as estimated.
    skewness : array_like, shape (..., k)
        Skewness of each estimate.
    rate : array_like, shape (..., k)
        Derivative of the variance with respect to the frequency, in units of the estimate.
    alpha : float
        One minus the confidence level of each interval.

    Returns
    -------
    ndarray, shape (..., k, 2)

    Raises
    ------
    InvalidArgument
        If a standard error is negative, an argument is NaN, or alpha is outside (0, 1).

    References
    ----------
    Cai, T. T. (2005), Journal of Statistical Planning and Inference 131, 63-88.

    Examples
    --------
    A count of 20, whose exact interval is [12.2, 30.9]:

    >>> skewed(20.0, se=20**0.5, skewness=20**-0.5, rate=1.0).round(1)
    array([12.6, 30.3])
    """
    z = normal_critical(alpha)
    spread, third = np.asarray(se, dtype=np.float64), np.asarray(skewness, dtype=np.float64)
    growth = np.asarray(rate, dtype=np.float64)
    if np.isnan(third).any() or np.isnan(growth).any():
        raise InvalidArgument("skewness", third, "and rate must not hold NaN")
    if not np.all(spread >= 0):
        raise InvalidArgument("se", spread, "must hold standard errors >= 0, not NaN")
    shift = third * spread * (z**2 - 1) / 6
    centre = np.asarray(estimate, dtype=np.float64) - shift
    variance = np.maximum(spread**2 - growth * shift, 0.0)  # at the centre
    return _around(centre + growth * z**2 / 2, np.sqrt(variance + (growth * z / 2) ** 2), z)


def inverted(
    estimate: npt.ArrayLike,
    law: Callable[[Array], tuple[Array, ...]],
    alpha: float = 0.05,
    span: tuple[float, float] = (0.0, 1.0),
) -> Array:
    """Score intervals of estimates whose law is known at every frequency.

    All p that the estimate does not reject: at each end a tail of Pearson's type III law, with the
    standard error and skewness at that end, equals alpha/2, after the continuity correction of
    `ldpstats.inference.tails.continuity`. `skewed` is its second-order approximation, less accurate
    if few reports are expected.

    Parameters
    ----------
    estimate : array_like, shape (k,)
    law : callable
        ``law(p)``, p of shape (k,), gives standard errors and skewnesses, (k,); more is ignored.
    alpha : float
        One minus the confidence level of each interval.
    span : (float, float)
        Smallest and largest frequency; beyond, the law is that at the nearer end.

    Returns
    -------
    ndarray, shape (k, 2)

    Raises
    ------
    InvalidArgument
        If alpha is outside (0, 1) or an estimate is NaN.

    Examples
    --------
    A count of 4, whose exact interval is [1.09, 10.24]:

    >>> def poisson(mean):
    ...     sd = np.sqrt(np.maximum(mean, 1e-300))
    ...     return sd, 1.0 / sd
    >>> inverted([4.0], poisson, span=(0.0, 100.0)).round(2)
    array([[1.19, 9.87]])
    """
    half, x = level(alpha) / 2, np.asarray(estimate, dtype=np.float64)
    if np.isnan(x).any():
        raise InvalidArgument("estimate", x, "must not hold NaN")
    edges = [np.clip(x, *span), np.full(x.shape, span[0]), np.full(x.shape, span[1])]
    reach = span[1] - span[0] + 40.0 * np.max([law(v)[0] for v in edges], axis=0)
    far_ends, ends = (np.minimum(x, span[0]) - reach, np.maximum(x, span[1]) + reach), []
    for sign, far in zip((1.0, -1.0), far_ends, strict=True):
        inside, outside = x.copy(), far
        for _ in range(_STEPS):
            middle = 0.5 * (inside + outside)
            se, skewness = law(np.clip(middle, *span))[:2]
            step = se * continuity(skewness)
            held = _tail(sign * (x - middle) - step, se, sign * skewness) > half
            inside, outside = np.where(held, middle, inside), np.where(held, outside, middle)
        ends.append(inside)
    return np.stack(ends, axis=-1)


def _tail(excess: Array, se: Array, skewness: Array) -> Array:
    """P(Z > excess/se); if se = 0, 1 for an excess up to 0 and 0 beyond."""
    z = np.divide(excess, se, out=np.zeros(excess.shape), where=se > 0)
    return np.where(se > 0, skewed_pvalue(z, skewness), np.where(excess > 0, 0.0, 1.0))


def _around(estimate: npt.ArrayLike, se: npt.ArrayLike, critical: float) -> Array:
    """estimate -+ critical se, shape (..., 2)."""
    centre, spread = np.asarray(estimate, dtype=np.float64), np.asarray(se, dtype=np.float64)
    if np.isnan(centre).any():
        raise InvalidArgument("estimate", centre, "must not hold NaN")
    if not np.all(spread >= 0):
        raise InvalidArgument("se", spread, "must hold standard errors >= 0, not NaN")
    return np.stack([centre - critical * spread, centre + critical * spread], axis=-1)
