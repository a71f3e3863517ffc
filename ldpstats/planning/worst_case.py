"""Worst-case distributions and losses of uRR and uRAP (MK19 section 4.3, Appendix E).

Let S categories be sensitive and N not. Each loss is concave in p and symmetric within the two
kinds, so the worst p is constant on each, with total shares w and 1 - w. In the notation of the
package's docstring, the derivative of ``sqrt(m (1 - m)) / (q - r)`` in p decreases in m and depends
on nothing else. So the l1 loss is largest where all m are equal or, if sensitive categories are
reported more often even at w = 0, at w = 0. The l2 loss is quadratic in w. This gives closed forms
at every epsilon; MK19's propositions cover part of the range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import one_of, positive_epsilon, positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.planning.rates import (
    Loss,
    Rates,
    categories,
    each,
    setting,
    urap_rates,
    urr_rates,
)

__all__ = [
    "urap_worst_distribution",
    "urap_worst_l1",
    "urap_worst_l2",
    "urr_worst_distribution",
    "urr_worst_l1",
    "urr_worst_l2",
]

Array = npt.NDArray[Any]

_MOST_LISTED = 1 << 26  # categories whose probabilities are listed, 512 MB

LOSSES = ("l1", "l2")


def urr_worst_distribution(k: int, n_sensitive: int, epsilon: npt.ArrayLike) -> Array:
    """The p at which `urr_l1` and `urr_l2` are largest (MK19 Propositions 5, 6, 16 and 17).

    With N categories that are not sensitive, it is uniform on these up to epsilon = ln(N + 1), and
    makes all reports equally likely beyond. The condition of MK19 Proposition 5, N >= S, is not
    needed.

    Parameters
    ----------
    k : int
        Number of categories, at least 2.
    n_sensitive : int
        Number of sensitive categories, from 0 to k.
    epsilon : float or array
        Privacy of a report, in nats.

    Returns
    -------
    array, shape (..., k)
        Sensitive categories first; one p for each epsilon.

    Raises
    ------
    InvalidArgument
        If an argument is out of range.

    Examples
    --------
    >>> urr_worst_distribution(4, 2, epsilon=[1.0, 2.0]).round(4)
    array([[0.    , 0.    , 0.5   , 0.5   ],
           [0.1717, 0.1717, 0.3283, 0.3283]])
    """
    copies, eps = _listed_kinds(k, n_sensitive), each("epsilon", epsilon, positive_epsilon)
    return np.repeat(worst_kinds(_urr_kinds(copies, eps), copies, "l1"), copies, axis=-1)


def urr_worst_l2(k: int, n_sensitive: int, epsilon: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Largest `urr_l2` over the distributions of `k` categories (MK19 Propositions 16 and 17).

    Parameters
    ----------
    k, n_sensitive, epsilon
        As in `urr_worst_distribution`.
    n : int or array of int
        Respondents.

    Returns
    -------
    float or array
        Of the shape to which `epsilon` and `n` broadcast.

    Raises
    ------
    InvalidArgument
        If an argument is out of range.

    Examples
    --------
    >>> round(float(urr_worst_l2(100, 10, epsilon=1.0, n=20_000)), 6)
    0.002156
    """
    return _urr_worst(k, n_sensitive, epsilon, n, "l2")


def urr_worst_l1(k: int, n_sensitive: int, epsilon: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Largest `urr_l1` over the distributions of `k` categories (MK19 eqs. 12 and 14).

    From epsilon = ln(N + 1) on, with N categories that are not sensitive, it is
    ``1 + n_sensitive / (e^epsilon - 1)`` times `nonprivate_worst_l1`: at epsilon = ln k, privacy
    costs little when few categories are sensitive. See `urr_worst_l2` for the parameters.

    Examples
    --------
    >>> from ldpstats.planning import nonprivate_worst_l1
    >>> private, plain = urr_worst_l1(100, 10, np.log(100), 10**4), nonprivate_worst_l1(100, 10**4)
    >>> round(float(private / plain), 4)
    1.101
    """
    return _urr_worst(k, n_sensitive, epsilon, n, "l1")


def urap_worst_distribution(
    k: int,
    n_sensitive: int,
    epsilon: npt.ArrayLike,
    loss: str = "l1",
    theta: float | None = None,
) -> Array:
    """The p at which `urap_l1` or `urap_l2` is largest (MK19 Propositions 8 and 19).

    At the default theta it is uniform on the N categories that are not sensitive, up to epsilon =
    2 ln(N/2 + 1) for the l2 loss and 2 arsinh(N/2) for the l1 loss; beyond, which MK19 does not
    treat, sensitive categories have a share too. The condition of Proposition 8, N >= S, is not
    needed.

    Parameters
    ----------
    k, n_sensitive, epsilon
        As in `urr_worst_distribution`.
    loss : {"l1", "l2"}
        The loss to maximise.
    theta : float, optional
        As in `urap_l2`.

    Returns
    -------
    array, shape (..., k)
        Sensitive categories first; one p for each epsilon.

    Raises
    ------
    InvalidArgument
        If an argument is out of range.

    Examples
    --------
    >>> urap_worst_distribution(4, 2, epsilon=[1.0, 2.0], loss="l2").round(4)
    array([[0.   , 0.   , 0.5  , 0.5  ],
           [0.1045, 0.1045, 0.3955, 0.3955]])
    """
    copies, eps = _listed_kinds(k, n_sensitive), each("epsilon", epsilon, positive_epsilon)
    loss = one_of("loss", loss, LOSSES)
    return np.repeat(worst_kinds(urap_kinds(copies, eps, theta), copies, loss), copies, axis=-1)


def urap_worst_l2(
    k: int,
    n_sensitive: int,
    epsilon: npt.ArrayLike,
    n: npt.ArrayLike,
    theta: float | None = None,
) -> Loss:
    """Largest `urap_l2` over the distributions of `k` categories (MK19 Proposition 19).

    See `urr_worst_l2` for the parameters, and `urap_l2` for `theta`.

    Examples
    --------
    >>> round(float(urap_worst_l2(100, 10, epsilon=1.0, n=20_000)), 5)
    0.00209
    """
    return _urap_worst(k, n_sensitive, epsilon, n, theta, "l2")


def urap_worst_l1(
    k: int,
    n_sensitive: int,
    epsilon: npt.ArrayLike,
    n: npt.ArrayLike,
    theta: float | None = None,
) -> Loss:
    """Largest `urap_l1` over the distributions of `k` categories (MK19 eq. 17).

    See `urr_worst_l2` for the parameters, and `urap_l2` for `theta`.

    Examples
    --------
    >>> round(float(urap_worst_l1(100, 10, epsilon=1.0, n=20_000)), 4)
    0.1968
    """
    return _urap_worst(k, n_sensitive, epsilon, n, theta, "l1")


def _urr_worst(k: Any, n_sensitive: Any, epsilon: Any, n: Any, loss: str) -> Loss:
    copies = kinds(k, n_sensitive)
    eps, respondents = setting(epsilon, n)
    return worst_loss(_urr_kinds(copies, eps), copies, respondents, loss)


def _urap_worst(k: Any, n_sensitive: Any, epsilon: Any, n: Any, theta: Any, loss: str) -> Loss:
    copies = kinds(k, n_sensitive)
    eps, respondents = setting(epsilon, n)
    return worst_loss(urap_kinds(copies, eps, theta), copies, respondents, loss)


def kinds(k: int, n_sensitive: int, least: int = 0) -> Array:
    """Numbers of sensitive and of other categories, (2,)."""
    k, S = categories(k), positive_integer("n_sensitive", n_sensitive, least)
    if S > k:
        raise InvalidArgument("n_sensitive", n_sensitive, f"must be at most k, which is {k}")
    return np.array([S, k - S])


def _listed_kinds(k: int, n_sensitive: int) -> npt.NDArray[np.int64]:
    """`kinds`, for few enough categories to list their probabilities."""
    copies = kinds(k, n_sensitive)
    if copies.sum() > _MOST_LISTED:
        raise InvalidArgument("k", k, f"must be at most {_MOST_LISTED}, because all are listed")
    return copies


def _urr_kinds(copies: Array, epsilon: Array) -> Rates:
    """Rates of one sensitive and one other category."""
    mask = np.array([copies[0] > 0, False])
    return urr_rates(mask / np.expm1(epsilon)[..., None], copies)


def urap_kinds(copies: Array, epsilon: Array, theta: float | None) -> Rates:
    """Rates of one sensitive and one other category."""
    return urap_rates(np.array([copies[0] > 0, False]), epsilon, theta)


def worst_kinds(rates: Rates, copies: Array, loss: str) -> Array:
    """Worst probabilities of one sensitive and one other category, shape (..., 2)."""
    S, N = copies.tolist()
    if S == 0 or N == 0:
        w = np.full(rates.slope.shape[:-1], float(S > 0))
    else:
        r, (slope, rest) = rates.other[..., 0], np.moveaxis(rates.slope, -1, 0)
        if loss == "l1":  # r + slope w / S = rest (1 - w) / N
            w = (rest / N - r) / (slope / S + rest / N)
        else:  # (1 - 2 r) / slope - 2 w / S = 1 / rest - 2 (1 - w) / N
            w = (1.0 / N + ((1.0 - 2.0 * r) / slope - 1.0 / rest) / 2.0) / (1.0 / S + 1.0 / N)
        w = np.maximum(w, 0.0)
    return np.stack([w / max(S, 1), (1.0 - w) / max(N, 1)], axis=-1)


def worst_loss(rates: Rates, copies: Array, n: Array, loss: str) -> Loss:
    p = worst_kinds(rates, copies, loss)
    return (rates.l1 if loss == "l1" else rates.l2)(p, n, copies)
