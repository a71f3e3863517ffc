"""Expected losses of the inversion estimator under k-RR, k-RAPPOR and no privacy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.planning.rates import (
    NONPRIVATE,
    Loss,
    categories,
    krappor_rates,
    krr_rates,
    probabilities,
    sample_size,
    setting,
)

__all__ = [
    "krappor_l1",
    "krappor_l2",
    "krappor_worst_l1",
    "krappor_worst_l2",
    "krr_l1",
    "krr_l2",
    "krr_worst_l1",
    "krr_worst_l2",
    "nonprivate_l1",
    "nonprivate_l2",
    "nonprivate_minimax_l2",
    "nonprivate_worst_l1",
    "nonprivate_worst_l2",
]


def nonprivate_l2(p: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Expected squared l2 loss of the sample frequencies, (1 - sum p^2) / n (KBR16 section E.1).

    Parameters
    ----------
    p : array, shape (k,)
        Distribution of the category.
    n : int or array of int
        Respondents.

    Examples
    --------
    >>> round(float(nonprivate_l2([0.5, 0.5], 100)), 6)
    0.005
    """
    return NONPRIVATE.l2(probabilities(p), sample_size(n))


def nonprivate_l1(p: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Asymptotic expected l1 loss of the sample frequencies (KBR16 section E.1).

    Parameters are those of `nonprivate_l2`.

    Examples
    --------
    >>> round(float(nonprivate_l1([0.5, 0.5], 100)), 4)
    0.0798
    """
    return NONPRIVATE.l1(probabilities(p), sample_size(n))


def nonprivate_worst_l2(k: int, n: npt.ArrayLike) -> Loss:
    """Largest `nonprivate_l2` over p: (1 - 1/k) / n, at the uniform p (KBR16 eq. 22).

    Parameters
    ----------
    k : int
        Number of categories, at least 2.
    n : int or array of int
        Respondents.

    Examples
    --------
    >>> round(float(nonprivate_worst_l2(4, 100)), 6)
    0.0075
    """
    return NONPRIVATE.worst_l2(categories(k), sample_size(n))


def nonprivate_worst_l1(k: int, n: npt.ArrayLike) -> Loss:
    """Largest `nonprivate_l1` over p: sqrt(2 (k-1) / (pi n)), at the uniform p (KBR16 eq. 23).

    Parameters are those of `nonprivate_worst_l2`.

    Examples
    --------
    >>> round(float(nonprivate_worst_l1(4, 100)), 4)
    0.1382
    """
    return NONPRIVATE.worst_l1(categories(k), sample_size(n))


def nonprivate_minimax_l2(k: int, n: npt.ArrayLike) -> Loss:
    """Smallest worst-case squared l2 loss of any estimator without privacy (KBR16 eq. 26).

    It is (1 - 1/k) / (sqrt(n) + 1)^2, little less than that of the sample frequencies.
    Parameters are those of `nonprivate_worst_l2`.

    Examples
    --------
    >>> round(float(nonprivate_minimax_l2(4, 100)), 4)
    0.0062
    """
    return (1.0 - 1.0 / categories(k)) / (np.sqrt(sample_size(n)) + 1.0) ** 2


def krr_l2(p: npt.ArrayLike, epsilon: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Expected squared l2 loss under k-RR, exact for every n (KBR16 Proposition 3).

    Parameters
    ----------
    p : array, shape (k,)
        Distribution of the category.
    epsilon : float or array
        Privacy of a report, in nats.
    n : int or array of int
        Respondents.

    Returns
    -------
    float or array
        Of the shape to which `epsilon` and `n` broadcast.

    Raises
    ------
    InvalidArgument
        If `p` is not a distribution over at least two categories, or `epsilon` or `n` is not
        positive.

    Examples
    --------
    >>> round(float(krr_l2([0.4, 0.3, 0.2, 0.1], epsilon=1.0, n=20_000)), 6)
    0.000413
    >>> 1e6 * krr_l2([0.4, 0.3, 0.2, 0.1], epsilon=[1.0, 2.0], n=20_000).round(6)
    array([413.,  97.])
    """
    p = probabilities(p)
    eps, respondents = setting(epsilon, n)
    return krr_rates(p.size, eps).l2(p, respondents)


def krr_l1(p: npt.ArrayLike, epsilon: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Asymptotic expected l1 loss under k-RR (KBR16 Proposition 3).

    See `krr_l2` for the parameters.

    Examples
    --------
    >>> round(float(krr_l1([0.4, 0.3, 0.2, 0.1], epsilon=1.0, n=20_000)), 4)
    0.0324
    """
    p = probabilities(p)
    eps, respondents = setting(epsilon, n)
    return krr_rates(p.size, eps).l1(p, respondents)


def krr_worst_l2(k: int, epsilon: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Largest `krr_l2` over the distributions of `k` categories: the uniform one (KBR16 eq. 8).

    See `krr_l2` for `epsilon` and `n`.

    Examples
    --------
    >>> round(float(krr_worst_l2(4, epsilon=1.0, n=20_000)), 6)
    0.000415
    """
    eps, respondents = setting(epsilon, n)
    return krr_rates(categories(k), eps).worst_l2(k, respondents)


def krr_worst_l1(k: int, epsilon: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Largest `krr_l1` over the distributions of `k` categories: the uniform one (KBR16 eq. 9).

    See `krr_l2` for `epsilon` and `n`.

    Examples
    --------
    >>> round(float(krr_worst_l1(4, epsilon=1.0, n=20_000)), 4)
    0.0325
    """
    eps, respondents = setting(epsilon, n)
    return krr_rates(categories(k), eps).worst_l1(k, respondents)


def krappor_l2(
    p: npt.ArrayLike, epsilon: npt.ArrayLike, n: npt.ArrayLike, theta: float | None = None
) -> Loss:
    """Expected squared l2 loss under k-RAPPOR, exact for every n (KBR16 Proposition 4).

    Parameters
    ----------
    p : array, shape (k,)
        Distribution of the category.
    epsilon : float or array
        Privacy of a report, in nats.
    n : int or array of int
        Respondents.
    theta : float, optional
        P(bit = 1) for the respondent's own bit in generalised RAPPOR (MK19 section 2.4). Default
        e^(epsilon/2) / (1 + e^(epsilon/2)), which is k-RAPPOR; 0.5 is optimised unary encoding.

    Returns
    -------
    float or array
        Of the shape to which `epsilon` and `n` broadcast.

    Raises
    ------
    InvalidArgument
        If `p` is not a distribution over at least two categories, `epsilon` or `n` is not positive,
        or `theta` is not in (0, 1).

    Examples
    --------
    >>> round(float(krappor_l2([0.4, 0.3, 0.2, 0.1], epsilon=1.0, n=20_000)), 6)
    0.000819
    >>> round(float(krappor_l2([0.4, 0.3, 0.2, 0.1], epsilon=1.0, n=20_000, theta=0.5)), 6)
    0.000822
    """
    eps, respondents = setting(epsilon, n)
    return krappor_rates(eps, theta).l2(probabilities(p), respondents)


def krappor_l1(
    p: npt.ArrayLike, epsilon: npt.ArrayLike, n: npt.ArrayLike, theta: float | None = None
) -> Loss:
    """Asymptotic expected l1 loss under k-RAPPOR (KBR16 Proposition 4).

    See `krappor_l2` for the parameters.

    Examples
    --------
    >>> round(float(krappor_l1([0.4, 0.3, 0.2, 0.1], epsilon=1.0, n=20_000)), 4)
    0.0457
    """
    eps, respondents = setting(epsilon, n)
    return krappor_rates(eps, theta).l1(probabilities(p), respondents)


def krappor_worst_l2(
    k: int, epsilon: npt.ArrayLike, n: npt.ArrayLike, theta: float | None = None
) -> Loss:
    """Largest `krappor_l2` over the distributions of `k` categories: the uniform (KBR16 eq. 12).

    See `krappor_l2` for `epsilon`, `n` and `theta`.

    Examples
    --------
    >>> round(float(krappor_worst_l2(4, epsilon=1.0, n=20_000)), 6)
    0.000821
    """
    eps, respondents = setting(epsilon, n)
    return krappor_rates(eps, theta).worst_l2(categories(k), respondents)


def krappor_worst_l1(
    k: int, epsilon: npt.ArrayLike, n: npt.ArrayLike, theta: float | None = None
) -> Loss:
    """Largest `krappor_l1` over the distributions of `k` categories: the uniform (KBR16 eq. 13).

    See `krappor_l2` for `epsilon`, `n` and `theta`.

    Examples
    --------
    >>> round(float(krappor_worst_l1(4, epsilon=1.0, n=20_000)), 4)
    0.0457
    """
    eps, respondents = setting(epsilon, n)
    return krappor_rates(eps, theta).worst_l1(categories(k), respondents)
