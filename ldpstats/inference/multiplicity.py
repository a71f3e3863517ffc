"""Many tests at once: adjusted p-values and rejections."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import level, one_of
from ldpstats.errors import InvalidArgument

__all__ = ["METHODS", "adjust", "adjusted_differences", "reject"]

Array = npt.NDArray[np.float64]

METHODS = ("bonferroni", "holm", "bh")


def adjust(
    pvalues: npt.ArrayLike, method: str = "bonferroni", shares: npt.ArrayLike | None = None
) -> Array:
    """Adjusted p-values: the smallest level at which each hypothesis is rejected.

    Parameters
    ----------
    pvalues : array_like, shape (..., k)
        One p-value per hypothesis; leading axes are separate families.
    method : {"bonferroni", "holm", "bh"}
        "bonferroni" and "holm" control the familywise error rate under any dependence; Holm rejects
        at least as often. "bh" (Benjamini-Hochberg) controls the false discovery rate of
        independent or positively dependent statistics.
    shares : array_like, shape (k,), optional
        Weights of the hypotheses for "bonferroni", fixed before the p-values are seen. Default:
        equal.

    Returns
    -------
    ndarray, shape (..., k)

    Raises
    ------
    InvalidArgument
        If there are no p-values, one is NaN or outside [0, 1], the method is unknown, or shares are
        not positive, do not add up to 1, or come with another method.

    References
    ----------
    Genovese, C. R., Roeder, K. and Wasserman, L. (2006), Biometrika 93, 509-524 (the shares).
    Holm, S. (1979), Scandinavian Journal of Statistics 6, 65-70.
    Benjamini, Y. and Hochberg, Y. (1995), Journal of the Royal Statistical Society B 57, 289-300.

    Examples
    --------
    >>> adjust([0.01, 0.02, 0.04], "bonferroni")
    array([0.03, 0.06, 0.12])
    >>> adjust([0.01, 0.02, 0.04], shares=[0.25, 0.5, 0.25])
    array([0.04, 0.04, 0.16])
    >>> adjust([0.01, 0.02, 0.04], "holm")
    array([0.03, 0.04, 0.04])
    >>> adjust([0.01, 0.02, 0.04], "bh")
    array([0.03, 0.03, 0.04])
    """
    method = one_of("method", method, METHODS)
    p = np.asarray(pvalues, dtype=np.float64)
    if p.ndim < 1 or p.size == 0:
        raise InvalidArgument("pvalues", p.shape, "must be a non-empty vector of p-values")
    if not np.all((p >= 0) & (p <= 1)):
        raise InvalidArgument("pvalues", p, "must lie in [0, 1], without NaN")
    k = p.shape[-1]
    if shares is not None:
        return np.asarray(np.minimum(p / _checked(shares, k, method), 1.0), dtype=np.float64)
    if method == "bonferroni":
        return np.asarray(np.minimum(k * p, 1.0), dtype=np.float64)
    if method == "bh":
        from scipy.stats import false_discovery_control

        return np.asarray(false_discovery_control(p, axis=-1), dtype=np.float64)
    order = np.argsort(p, axis=-1)
    ordered, rank = np.take_along_axis(p, order, axis=-1), np.arange(1, k + 1)
    # no hypothesis may look better than one with a smaller p-value
    stepped = np.maximum.accumulate((k + 1 - rank) * ordered, axis=-1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=-1)
    return adjusted


def adjusted_differences(estimates: Array, pvalues: Array, k: int) -> Array:
    """Holm's adjustment for all differences between groups, k categories for each comparison.

    Of two categories whose frequencies add up to one, a group has more of one by as much as it has
    less of the other: both rows test one hypothesis, which counts once.

    Parameters
    ----------
    estimates, pvalues : ndarray, shape (r,)
        Comparison by comparison, category by category.
    k : int

    Returns
    -------
    ndarray, shape (r,)

    Examples
    --------
    >>> adjusted_differences(np.array([-0.2, 0.2, 0.1, -0.1]), np.array([0.01, 0.01, 0.3, 0.3]), 2)
    array([0.02, 0.02, 0.3 , 0.3 ])
    >>> adjusted_differences(np.array([-0.2, 0.1]), np.array([0.01, 0.3]), 2)
    array([0.02, 0.3 ])
    """
    pairs = estimates.reshape(-1, 2) if k == 2 and estimates.size % 2 == 0 else None
    if pairs is None or not np.allclose(pairs.sum(axis=1), 0.0, rtol=0.0, atol=1e-12):
        return adjust(pvalues, "holm")
    return adjust(pvalues.reshape(-1, 2).max(axis=1), "holm").repeat(2)


def _checked(shares: npt.ArrayLike, k: int, method: str) -> Array:
    if method != "bonferroni":
        raise InvalidArgument("shares", shares, f'need method="bonferroni", not {method!r}')
    w = np.asarray(shares, dtype=np.float64)
    if w.shape != (k,) or not np.all(w > 0.0) or abs(w.sum() - 1.0) > 1e-9:
        raise InvalidArgument("shares", shares, f"must be {k} positive numbers that add up to 1")
    return w


def reject(
    pvalues: npt.ArrayLike,
    alpha: float = 0.05,
    method: str = "bonferroni",
    shares: npt.ArrayLike | None = None,
) -> npt.NDArray[np.bool_]:
    """Which hypotheses are rejected at level alpha.

    Parameters
    ----------
    pvalues : array_like, shape (..., k)
    alpha : float
        Level of the whole family.
    method : {"bonferroni", "holm", "bh"}
    shares : array_like, shape (k,), optional
        As for `adjust`.

    Returns
    -------
    ndarray of bool, shape (..., k)

    Raises
    ------
    InvalidArgument
        As for `adjust`, or where alpha is outside (0, 1).

    Examples
    --------
    >>> reject([0.01, 0.02, 0.04], alpha=0.05, method="bonferroni")
    array([ True, False, False])
    >>> reject([0.01, 0.02, 0.04], alpha=0.05, method="holm")
    array([ True,  True,  True])
    """
    return np.asarray(adjust(pvalues, method, shares) <= level(alpha), dtype=np.bool_)
