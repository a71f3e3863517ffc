"""Expected losses of inversion under k-RR, k-RAPPOR and no privacy; worst cases of uRR and uRAP."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import one_of, positive_epsilon, positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.models.layout import one_line
from ldpstats.planning.hashing import (
    NONPRIVATE,
    Loss,
    Rates,
    categories,
    each,
    krappor_rates,
    krr_rates,
    probabilities,
    sample_size,
    setting,
    urap_rates,
    urr_rates,
)

__all__ = [
    "LOSSES",
    "kinds",
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
    "shares_text",
    "table_text",
    "uldp_high_privacy_loss",
    "uldp_low_privacy_loss",
    "uldp_lower_bound",
    "urap_kinds",
    "urap_worst_distribution",
    "urap_worst_l1",
    "urap_worst_l2",
    "urr_worst_distribution",
    "urr_worst_l1",
    "urr_worst_l2",
    "worst_loss",
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


# -- Shares that a plan assumes, in words ---------------------------------------------------------


_MOST = 8  # numbers that are written out
_ROWS = 4
_LONGEST = 20  # characters of a label


def shares_text(p: Any) -> str:
    """Shares in their order, with their labels where p is a Series.

    Examples
    --------
    >>> shares_text(pd.Series({"no": 0.95, "yes": 0.05})), shares_text([0.5, 0.3, 0.2])
    ('no 0.95, yes 0.05', '0.5, 0.3, 0.2')
    >>> shares_text(pd.Series([0.25] * 4, index=list("abcd")))
    'equal (0.25 each)'
    """
    values = np.asarray(p, dtype=np.float64)
    labels = p.index.tolist() if isinstance(p, pd.Series) else None
    if labels is not None and np.ptp(values) <= 1e-12:
        return f"equal ({values[0]:.4g} each)"
    words = [f"{value:.4g}" for value in values[:_MOST]]
    if labels is not None:
        words = [f"{one_line(x, _LONGEST)} {w}" for x, w in zip(labels, words, strict=False)]
    if len(values) > _MOST:
        words.append(f"... ({len(values)} in all)")
    return ", ".join(words)


def table_text(table: Any) -> str:
    """Rows of shares, with their labels where the table is a DataFrame."""
    named = isinstance(table, pd.DataFrame)
    rows = [table.iloc[i] if named else table[i] for i in range(min(len(table), _ROWS))]
    words = [shares_text(row) for row in rows]
    if named:
        pairs = zip(table.index, words, strict=False)
        words = [f"{one_line(label, _LONGEST)}: {text}" for label, text in pairs]
    if len(table) > _ROWS:
        words.append(f"... ({len(table)} rows)")
    return "; ".join(words)


# -- Worst-case distributions and losses of uRR and uRAP (MK19 section 4.3, Appendix E) -----------
# Let S categories be sensitive and N not. Each loss is concave in p and symmetric within the two
# kinds, so the worst p is constant on each, with total shares w and 1 - w. In the notation of the
# package's docstring, the derivative of ``sqrt(m (1 - m)) / (q - r)`` in p decreases in m and
# depends on nothing else. So the l1 loss is largest where all m are equal or, if sensitive
# categories are reported more often even at w = 0, at w = 0. The l2 loss is quadratic in w. This
# gives closed forms at every epsilon; MK19's propositions cover part of the range.


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
    return _worst(_urr_kinds, k, n_sensitive, epsilon, n, "l2")


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
    return _worst(_urr_kinds, k, n_sensitive, epsilon, n, "l1")


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
    rates = partial(urap_kinds, theta=theta)
    return _worst(rates, k, n_sensitive, epsilon, n, "l2")


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
    rates = partial(urap_kinds, theta=theta)
    return _worst(rates, k, n_sensitive, epsilon, n, "l1")


def _worst(
    rates_of: Callable[[Array, Array], Rates],
    k: Any,
    n_sensitive: Any,
    epsilon: Any,
    n: Any,
    loss: str,
) -> Loss:
    """The largest loss of the rates that a mechanism has for two kinds of categories."""
    copies = kinds(k, n_sensitive)
    eps, respondents = setting(epsilon, n)
    return worst_loss(rates_of(copies, eps), copies, respondents, loss)


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


# -- Worst-case losses of uRR and uRAP at small and large epsilon, and a lower bound (MK19) -------


_MECHANISMS = ("urr", "urap")


def uldp_high_privacy_loss(
    mechanism: str, n_sensitive: int, epsilon: npt.ArrayLike, n: npt.ArrayLike, loss: str = "l1"
) -> Loss:
    """MK19's form of the worst-case loss for epsilon near 0 (eqs. 15 and 18, and Table 4).

    With S sensitive categories the squared l2 loss is S (S - 1) / (n epsilon^2) for uRR and
    4 S / (n epsilon^2) for uRAP, the order of `uldp_lower_bound`. The l1 loss is the root of
    2 S / pi times that. The other categories add only terms of lower order.

    Parameters
    ----------
    mechanism : {"urr", "urap"}
    n_sensitive : int
        Number of sensitive categories S, at least 2; all k of them for k-RR and k-RAPPOR.
    epsilon : float or array
        Privacy of a report, in nats.
    n : int or array of int
        Respondents.
    loss : {"l1", "l2"}
        Expected l1 loss, or expected squared l2 loss.

    Returns
    -------
    float or array
        Of the shape to which `epsilon` and `n` broadcast.

    Raises
    ------
    InvalidArgument
        If an argument is out of range.

    Notes
    -----
    For RAPPOR, which is uRAP with S = k, MK19 Table 4 prints 4 k / (n epsilon^2) (1 - 1/k); the
    factor 1 - 1/k is wrong.

    Examples
    --------
    >>> round(float(uldp_high_privacy_loss("urap", 10, epsilon=0.01, n=10**9)), 4)
    0.0505
    >>> from ldpstats.planning import urap_worst_l1
    >>> round(float(urap_worst_l1(100, 10, epsilon=0.01, n=10**9)), 4)
    0.0539
    """
    S, (eps, respondents) = positive_integer("n_sensitive", n_sensitive, 2), setting(epsilon, n)
    loss = one_of("loss", loss, LOSSES)
    each_term = S - 1 if one_of("mechanism", mechanism, _MECHANISMS) == "urr" else 4
    squared = S * each_term / (respondents * eps**2)
    return squared if loss == "l2" else np.sqrt(2.0 * S / np.pi * squared)


def uldp_low_privacy_loss(
    mechanism: str, k: int, n_sensitive: int, n: npt.ArrayLike, loss: str = "l1"
) -> Loss:
    """MK19's form of the worst-case loss at epsilon = ln k (sections D.1.3, D.2.3, E.1.3, E.2.3).

    For uRR the l1 loss is exactly 1 + S / (k - 1) times the non-private one, and the squared l2
    loss the square of that factor. For uRAP, if S is far below k, they are about 1 + S / k^(3/4)
    times the non-private l1 loss, and (1 + (S + 1) / sqrt(k)) / n.

    Parameters
    ----------
    mechanism : {"urr", "urap"}
    k : int
        Number of categories.
    n_sensitive : int
        Number of sensitive categories S, from 1 to k.
    n : int or array of int
        Respondents.
    loss : {"l1", "l2"}
        Expected l1 loss, or expected squared l2 loss.

    Returns
    -------
    float or array
        Of the shape of `n`.

    Raises
    ------
    InvalidArgument
        If an argument is out of range.

    Notes
    -----
    With S = k, the l1 and squared l2 losses are about 2 and 4 times the non-private ones for k-RR,
    and k^(1/4) and sqrt(k) times for RAPPOR. MK19 sections 4.3, D.2.3 and E.1.3 state factors of
    sqrt(k) for the l1 loss of RAPPOR and 4 for that of RR.

    Examples
    --------
    >>> round(float(uldp_low_privacy_loss("urr", 100, 10, n=20_000)), 4)
    0.0618
    >>> from ldpstats.planning import urr_worst_l1
    >>> round(float(urr_worst_l1(100, 10, np.log(100), n=20_000)), 4)
    0.0618
    """
    S = int(kinds(k, n_sensitive, least=1)[0])
    if one_of("mechanism", mechanism, _MECHANISMS) == "urr":
        ratio = 1.0 + S / (k - 1)
        squared = ratio**2 * nonprivate_worst_l2(k, n)
    else:
        ratio = 1.0 + S / k**0.75
        squared = (1.0 + (S + 1) / np.sqrt(k)) / sample_size(n)
    return squared if one_of("loss", loss, LOSSES) == "l2" else ratio * nonprivate_worst_l1(k, n)


def uldp_lower_bound(
    n_sensitive: int, epsilon: npt.ArrayLike, n: npt.ArrayLike, loss: str = "l1"
) -> Loss:
    """Order of the smallest worst-case loss of any mechanism, for epsilon up to 1.

    With S sensitive categories and ``m = n epsilon^2`` it is ``min(1, S / sqrt(m))`` for the l1 and
    ``min(1, 1 / sqrt(m), S / m)`` for the squared l2 loss (KBR16 Proposition 1, with S in the place
    of k as in MK19 section 3.2). Up to an unknown constant factor, no mechanism that protects the S
    categories has a smaller worst-case loss under any estimator. Compare rates of growth with it,
    not sizes.

    Parameters
    ----------
    n_sensitive : int
        Number of sensitive categories, at least 2.
    epsilon : float or array
        Privacy of a report, in nats, at most 1.
    n : int or array of int
        Respondents.
    loss : {"l1", "l2"}
        Expected l1 loss, or expected squared l2 loss.

    Returns
    -------
    float or array
        Of the shape to which `epsilon` and `n` broadcast.

    Raises
    ------
    InvalidArgument
        If an argument is out of range.

    Notes
    -----
    MK19 prints the last term of each minimum only. It exceeds the largest possible loss where
    reports are few: an estimate that ignores them has at most an l1 loss of 2.

    Examples
    --------
    >>> float(uldp_lower_bound(10, epsilon=0.5, n=10_000))
    0.2
    >>> uldp_lower_bound(10, epsilon=0.5, n=[4, 100, 10_000], loss="l2")
    array([1.   , 0.2  , 0.004])
    """
    S, (eps, respondents) = positive_integer("n_sensitive", n_sensitive, 2), setting(epsilon, n)
    if np.any(eps > 1.0):
        remedy = "must be at most 1, up to which the bound holds"
        raise InvalidArgument("epsilon", float(eps.max()), remedy)
    root = np.sqrt(respondents) * eps
    if one_of("loss", loss, LOSSES) == "l1":
        return np.minimum(1.0, S / root)
    return np.minimum(1.0, np.minimum(1.0 / root, S / root**2))
