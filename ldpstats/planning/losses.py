"""Expected losses of inversion in closed form: no privacy, k-RR, k-RAPPOR, uRR and uRAP.

Category i is reported T_i ~ Bin(n, m_i) times, m_i = q_i p_i + r_i (1 - p_i): q_i is the
probability that its own respondents report it, r_i that others do. ``p_hat_i = (T_i / n - r_i) /
(q_i - r_i)`` is unbiased; exactly, and for large n respectively,

    E ||p_hat - p||_2^2 = sum_i m_i (1 - m_i) / (n (q_i - r_i)^2),
    E ||p_hat - p||_1   ~ sum_i sqrt(2 m_i (1 - m_i) / (pi n)) / (q_i - r_i).

Each loss is a function of its own; those with `worst` are the largest over p.

============  ======================================  =======================  =================
loss          q, and r                                at p                     worst
============  ======================================  =======================  =================
nonprivate    1, 0                                    KBR16 section E.1        KBR16 eqs. 22, 23
krr           e / (e + k - 1), 1 / (e + k - 1)        KBR16 Proposition 3      KBR16 eqs. 8, 9
krappor       theta, theta / (theta + (1 - theta) e)  KBR16 Proposition 4      KBR16 eqs. 12, 13
urr, x in S   e / (e + S - 1), 1 / (e + S - 1)        MK19 Propositions 4, 15  MK19 eqs. 12, 14
urr, others   (e - 1) / (e + S - 1), 0
urap, x in S  as krappor                              MK19 Propositions 7, 18  MK19 eq. 17
urap, others  theta (1 - 1/e), 0
============  ======================================  =======================  =================

with e = e^epsilon. The uniform p is the worst for the first three; with S sensitive categories and
N others see `urr_worst_distribution` and `urap_worst_distribution`. From epsilon = ln(N + 1) on
`urr_worst_l1` is ``1 + S / (e^epsilon - 1)`` times `nonprivate_worst_l1`: at epsilon = ln k privacy
costs little when few categories are sensitive. `best_theta` finds the theta of the smallest loss of
uRAP.

Parameters of all: `p`, array (k,), the distribution, or `k`, the number of categories, at least 2;
`epsilon`, float or array, the privacy of a report in nats; `n`, int or array, the respondents;
`theta`, P(bit = 1) for the respondent's own bit in generalised RAPPOR (MK19 section 2.4), by
default e^(epsilon/2) / (1 + e^(epsilon/2)), which is k-RAPPOR, while 0.5 is optimised unary
encoding; `sensitive`, positions in p or a mask (k,), or `n_sensitive`, their number S. With no
sensitive category there is no noise; with all, uRR is k-RR and uRAP k-RAPPOR. For `urr_l1` and
`urr_l2` epsilon may be a dict from each sensitive position to its own. Losses are float, or arrays
of the shape to which `epsilon` and `n` broadcast. A malformed argument raises `InvalidArgument`, an
unknown position `UnknownCategory`.

Where the papers differ: KBR16's slides print k^2 e^epsilon in eq. 12, which has k^2 e^(epsilon/2)
in the paper, correctly. MK19 Propositions 5 and 8 ask for N >= S, which is not needed, and do not
treat the range beyond. MK19 Table 4 prints a factor 1 - 1/k for RAPPOR at small epsilon, which is
wrong. At epsilon = ln k and S = k the l1 and squared l2 losses are about 2 and 4 times those of no
privacy for k-RR, k^(1/4) and sqrt(k) times for RAPPOR; MK19 sections 4.3, D.2.3 and E.1.3 state the
factors 4 and sqrt(k) for the l1 loss.

Examples
--------
>>> p, how = [0.4, 0.3, 0.2, 0.1], {"epsilon": 1.0, "n": 20_000}
>>> [round(float(loss(p, **how)), 6) for loss in (krr_l2, krr_l1, krappor_l2, krappor_l1)]
[0.000413, 0.032389, 0.000819, 0.045654]
>>> 1e6 * krr_l2(p, epsilon=[1.0, 2.0], n=20_000).round(6)
array([413.,  97.])
>>> [round(float(loss(p, [2, 3], **how)), 6) for loss in (urr_l2, urr_l1, urap_l2, urap_l1)]
[0.000168, 0.020495, 0.000481, 0.032536]
>>> round(float(urr_l2(p, [2, 3], epsilon={2: 2.0, 3: 0.5}, n=20_000)), 6)
0.00021
>>> round(float(nonprivate_worst_l1(4, 100)), 4), round(float(krr_worst_l2(4, **how)), 6)
(0.1382, 0.000415)
>>> round(float(urr_worst_l2(100, 10, **how)), 6), round(float(urap_worst_l1(100, 10, **how)), 4)
(0.002156, 0.1968)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    Array,
    as_array,
    distribution,
    floats,
    listed,
    one_of,
    positive_epsilon,
    positive_integer,
)
from ldpstats.errors import InvalidArgument
from ldpstats.labels import sensitive_codes
from ldpstats.mechanisms.base import check_theta

__all__ = [
    "crossover_epsilon",
    "effective_sample_size",
    "effective_sample_size_high_privacy",
    "effective_sample_size_low_privacy",
    "excess_ratio",
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
    "uldp_high_privacy_loss",
    "uldp_low_privacy_loss",
    "uldp_lower_bound",
    "urap_l1",
    "urap_l2",
    "urap_worst_distribution",
    "urap_worst_l1",
    "urap_worst_l2",
    "urr_l1",
    "urr_l2",
    "urr_worst_distribution",
    "urr_worst_l1",
    "urr_worst_l2",
]

Loss = Any  # np.float64, or an array of float64 where epsilon or n is one

LOSSES = ("l1", "l2")


# -- Losses at a given p, and their maxima over p -------------------------------------------------


# The sample frequencies are uRR without a sensitive category, whatever epsilon is; k-RR and
# k-RAPPOR are uRR and uRAP where all are sensitive
_ALL: Any = object()


def nonprivate_l2(p: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Expected squared l2 loss of the sample frequencies, (1 - sum p^2) / n (KBR16 section E.1)."""
    return _at("urr", "l2", p, (), 1.0, n)


def nonprivate_l1(p: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Asymptotic expected l1 loss of the sample frequencies (KBR16 section E.1)."""
    return _at("urr", "l1", p, (), 1.0, n)


def nonprivate_worst_l2(k: int, n: npt.ArrayLike) -> Loss:
    """Largest `nonprivate_l2` over p: (1 - 1/k) / n, at the uniform p (KBR16 eq. 22)."""
    return _largest("urr", "l2", k, 0, 1.0, n)


def nonprivate_worst_l1(k: int, n: npt.ArrayLike) -> Loss:
    """Largest `nonprivate_l1` over p: sqrt(2 (k-1) / (pi n)), at the uniform p (KBR16 eq. 23)."""
    return _largest("urr", "l1", k, 0, 1.0, n)


def krr_l2(p: npt.ArrayLike, epsilon: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Expected squared l2 loss under k-RR, exact for every n (KBR16 Proposition 3)."""
    return _at("urr", "l2", p, _ALL, epsilon, n)


def krr_l1(p: npt.ArrayLike, epsilon: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Asymptotic expected l1 loss under k-RR (KBR16 Proposition 3)."""
    return _at("urr", "l1", p, _ALL, epsilon, n)


def krr_worst_l2(k: int, epsilon: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Largest `krr_l2` over the distributions of `k` categories: the uniform one (KBR16 eq. 8)."""
    return _largest("urr", "l2", k, k, epsilon, n)


def krr_worst_l1(k: int, epsilon: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Largest `krr_l1` over the distributions of `k` categories: the uniform one (KBR16 eq. 9)."""
    return _largest("urr", "l1", k, k, epsilon, n)


def krappor_l2(
    p: npt.ArrayLike, epsilon: npt.ArrayLike, n: npt.ArrayLike, theta: float | None = None
) -> Loss:
    """Expected squared l2 loss under k-RAPPOR, exact for every n (KBR16 Proposition 4)."""
    return _at("urap", "l2", p, _ALL, epsilon, n, theta)


def krappor_l1(
    p: npt.ArrayLike, epsilon: npt.ArrayLike, n: npt.ArrayLike, theta: float | None = None
) -> Loss:
    """Asymptotic expected l1 loss under k-RAPPOR (KBR16 Proposition 4)."""
    return _at("urap", "l1", p, _ALL, epsilon, n, theta)


def krappor_worst_l2(
    k: int, epsilon: npt.ArrayLike, n: npt.ArrayLike, theta: float | None = None
) -> Loss:
    """Largest `krappor_l2` over the distributions of `k` categories: the uniform (KBR16 eq. 12)."""
    return _largest("urap", "l2", k, k, epsilon, n, theta)


def krappor_worst_l1(
    k: int, epsilon: npt.ArrayLike, n: npt.ArrayLike, theta: float | None = None
) -> Loss:
    """Largest `krappor_l1` over the distributions of `k` categories: the uniform (KBR16 eq. 13)."""
    return _largest("urap", "l1", k, k, epsilon, n, theta)


def urr_l2(p: npt.ArrayLike, sensitive: Any, epsilon: Any, n: npt.ArrayLike) -> Loss:
    """Expected squared l2 loss under uRR, exact for every n (MK19 Proposition 15)."""
    return _at("urr", "l2", p, sensitive, epsilon, n)


def urr_l1(p: npt.ArrayLike, sensitive: Any, epsilon: Any, n: npt.ArrayLike) -> Loss:
    """Asymptotic expected l1 loss under uRR (MK19 Proposition 4)."""
    return _at("urr", "l1", p, sensitive, epsilon, n)


def urr_worst_l2(k: int, n_sensitive: int, epsilon: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Largest `urr_l2` over the distributions of `k` categories (MK19 Propositions 16 and 17)."""
    return _largest("urr", "l2", k, n_sensitive, epsilon, n)


def urr_worst_l1(k: int, n_sensitive: int, epsilon: npt.ArrayLike, n: npt.ArrayLike) -> Loss:
    """Largest `urr_l1` over the distributions of `k` categories (MK19 eqs. 12 and 14)."""
    return _largest("urr", "l1", k, n_sensitive, epsilon, n)


def urap_l2(
    p: npt.ArrayLike,
    sensitive: Any,
    epsilon: npt.ArrayLike,
    n: npt.ArrayLike,
    theta: float | None = None,
) -> Loss:
    """Expected squared l2 loss under uRAP, exact for every n (MK19 Proposition 18, any theta)."""
    return _at("urap", "l2", p, sensitive, epsilon, n, theta)


def urap_l1(
    p: npt.ArrayLike,
    sensitive: Any,
    epsilon: npt.ArrayLike,
    n: npt.ArrayLike,
    theta: float | None = None,
) -> Loss:
    """Asymptotic expected l1 loss under uRAP (MK19 Proposition 7, any theta)."""
    return _at("urap", "l1", p, sensitive, epsilon, n, theta)


def urap_worst_l2(
    k: int, n_sensitive: int, epsilon: npt.ArrayLike, n: npt.ArrayLike, theta: float | None = None
) -> Loss:
    """Largest `urap_l2` over the distributions of `k` categories (MK19 Proposition 19)."""
    return _largest("urap", "l2", k, n_sensitive, epsilon, n, theta)


def urap_worst_l1(
    k: int, n_sensitive: int, epsilon: npt.ArrayLike, n: npt.ArrayLike, theta: float | None = None
) -> Loss:
    """Largest `urap_l1` over the distributions of `k` categories (MK19 eq. 17)."""
    return _largest("urap", "l1", k, n_sensitive, epsilon, n, theta)


def _at(
    mechanism: str, loss: str, p: Any, sensitive: Any, epsilon: Any, n: Any, theta: Any = None
) -> Loss:
    """Loss of uRR or uRAP at p."""
    law = probabilities(p)
    mask = np.ones(law.size, dtype=bool) if sensitive is _ALL else _mask(sensitive, law.size)
    if mechanism == "urap":
        eps, respondents = setting(epsilon, n)
        rates = urap_rates(mask, eps, theta)
    else:
        odds, respondents = _odds(mask, epsilon, n)
        rates = urr_rates(odds)
    return rates.loss(law, respondents, loss)


def _largest(
    mechanism: str, loss: str, k: Any, n_sensitive: Any, epsilon: Any, n: Any, theta: Any = None
) -> Loss:
    """The largest loss of uRR or uRAP over all p."""
    copies, (eps, respondents) = kinds(k, n_sensitive), setting(epsilon, n)
    return worst_rates(mechanism, copies, eps, theta).loss(None, respondents, loss, copies)


def nonprivate_minimax_l2(k: int, n: npt.ArrayLike) -> Loss:
    """Smallest worst-case squared l2 loss of any estimator without privacy (KBR16 eq. 26).

    It is (1 - 1/k) / (sqrt(n) + 1)^2, little less than that of the sample frequencies.
    """
    return (1.0 - 1.0 / categories(k)) / (np.sqrt(respondents_of(n)) + 1.0) ** 2


def _mask(sensitive: Any, k: int) -> Array:
    """Which of k categories are sensitive, (k,)."""
    given = rectangular("sensitive", sensitive)
    if given.dtype == bool:
        if given.shape != (k,):
            remedy = f"must have one entry, True or False, for each of the {k} categories of p"
            raise InvalidArgument("sensitive", f"mask of shape {given.shape}", remedy)
        return given
    mask = np.zeros(k, dtype=bool)
    mask[sensitive_codes(sensitive, pd.RangeIndex(k))] = True
    return mask


def _odds(mask: Array, epsilon: Any, n: npt.ArrayLike) -> tuple[Array, Array]:
    """1 / (e^epsilon - 1) of sensitive categories and 0 of others, shape (..., k); and n."""
    if not isinstance(epsilon, Mapping):
        eps, respondents = setting(epsilon, n)
        return mask / np.expm1(eps)[..., None], respondents
    positions = np.flatnonzero(mask).tolist()
    if set(epsilon) != set(positions):
        raise InvalidArgument("epsilon", epsilon, f"must have exactly the keys {positions}")
    odds = np.zeros(mask.size)
    odds[positions] = [
        1.0 / np.expm1(positive_epsilon(f"epsilon[{x}]", epsilon[x])) for x in positions
    ]
    return odds, respondents_of(n)


# -- Worst-case distributions and losses of uRR and uRAP (MK19 section 4.3, Appendix E) -----------
# Let S categories be sensitive and N not. Each loss is concave in p and symmetric within the two
# kinds, so the worst p is constant on each, with total shares w and 1 - w. The derivative of
# ``sqrt(m (1 - m)) / (q - r)`` in p decreases in m and depends on nothing else. So the l1 loss is
# largest where all m are equal or, if sensitive categories are reported more often even at w = 0,
# at w = 0. The l2 loss is quadratic in w. This gives closed forms at every epsilon.


_MOST_LISTED = 1 << 26  # categories whose probabilities are listed, 512 MB


def urr_worst_distribution(k: int, n_sensitive: int, epsilon: npt.ArrayLike) -> Array:
    """The p at which `urr_l1` and `urr_l2` are largest (MK19 Propositions 5, 6, 16 and 17).

    With N categories that are not sensitive, it is uniform on these up to epsilon = ln(N + 1), and
    makes all reports equally likely beyond. Shape (..., k), sensitive categories first.

    Examples
    --------
    >>> urr_worst_distribution(4, 2, epsilon=[1.0, 2.0]).round(4)
    array([[0.    , 0.    , 0.5   , 0.5   ],
           [0.1717, 0.1717, 0.3283, 0.3283]])
    """
    copies, eps = _listed_kinds(k, n_sensitive), each("epsilon", epsilon, positive_epsilon)
    return np.repeat(worst_rates("urr", copies, eps).worst(copies, "l1"), copies, axis=-1)


def urap_worst_distribution(
    k: int, n_sensitive: int, epsilon: npt.ArrayLike, loss: str = "l1", theta: float | None = None
) -> Array:
    """The p at which `urap_l1` or `urap_l2` is largest (MK19 Propositions 8 and 19).

    At the default theta it is uniform on the N categories that are not sensitive, up to epsilon =
    2 ln(N/2 + 1) for the l2 loss and 2 arsinh(N/2) for the l1 loss; beyond, sensitive categories
    have a share too. Shape (..., k), sensitive categories first; `loss` is "l1" or "l2".

    Examples
    --------
    >>> urap_worst_distribution(4, 2, epsilon=[1.0, 2.0], loss="l2").round(4)
    array([[0.    , 0.    , 0.5   , 0.5   ],
           [0.1045, 0.1045, 0.3955, 0.3955]])
    """
    copies, eps = _listed_kinds(k, n_sensitive), each("epsilon", epsilon, positive_epsilon)
    loss = one_of("loss", loss, LOSSES)
    return np.repeat(worst_rates("urap", copies, eps, theta).worst(copies, loss), copies, axis=-1)


def kinds(k: int, n_sensitive: int, least: int = 0) -> Array:
    """Numbers of sensitive and of other categories, (2,)."""
    k, S = categories(k), positive_integer("n_sensitive", n_sensitive, least)
    if S > k:
        raise InvalidArgument("n_sensitive", n_sensitive, f"must be at most k, which is {k}")
    return np.array([S, k - S])


def _listed_kinds(k: int, n_sensitive: int) -> Array:
    """`kinds`, for few enough categories to list their probabilities."""
    copies = kinds(k, n_sensitive)
    if copies.sum() > _MOST_LISTED:
        raise InvalidArgument("k", k, f"must be at most {_MOST_LISTED}, because all are listed")
    return copies


def worst_rates(mechanism: str, copies: Array, epsilon: Array, theta: float | None = None) -> Rates:
    """Rates of one sensitive and one other category."""
    mask = np.array([copies[0] > 0, False])
    if mechanism == "urap":
        return urap_rates(mask, epsilon, theta)
    return urr_rates(mask / np.expm1(epsilon)[..., None], copies)


# -- Worst-case losses of uRR and uRAP at small and large epsilon, and a lower bound (MK19) -------


_MECHANISMS = ("urr", "urap")


def uldp_high_privacy_loss(
    mechanism: str, n_sensitive: int, epsilon: npt.ArrayLike, n: npt.ArrayLike, loss: str = "l1"
) -> Loss:
    """MK19's form of the worst-case loss for epsilon near 0 (eqs. 15 and 18, and Table 4).

    With S >= 2 sensitive categories the squared l2 loss of "urr" is S (S - 1) / (n epsilon^2), that
    of "urap" 4 S / (n epsilon^2), the order of `uldp_lower_bound`; the l1 loss is the root of
    2 S / pi times that. The other categories add only terms of lower order. All k categories are
    sensitive for k-RR and k-RAPPOR.

    Examples
    --------
    >>> round(float(uldp_high_privacy_loss("urap", 10, epsilon=0.01, n=10**9)), 4)
    0.0505
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

    For "urr" the l1 loss is exactly 1 + S / (k - 1) times the non-private one, and the squared l2
    loss the square of that factor. For "urap", if S is far below k, they are about 1 + S / k^(3/4)
    times the non-private l1 loss, and (1 + (S + 1) / sqrt(k)) / n.

    Examples
    --------
    >>> round(float(uldp_low_privacy_loss("urr", 100, 10, n=20_000)), 4)
    0.0618
    >>> round(float(urr_worst_l1(100, 10, np.log(100), n=20_000)), 4)
    0.0618
    """
    S = int(kinds(k, n_sensitive, least=1)[0])
    if one_of("mechanism", mechanism, _MECHANISMS) == "urr":
        ratio = 1.0 + S / (k - 1)
        squared = ratio**2 * nonprivate_worst_l2(k, n)
    else:
        ratio = 1.0 + S / k**0.75
        squared = (1.0 + (S + 1) / np.sqrt(k)) / respondents_of(n)
    return squared if one_of("loss", loss, LOSSES) == "l2" else ratio * nonprivate_worst_l1(k, n)


def uldp_lower_bound(
    n_sensitive: int, epsilon: npt.ArrayLike, n: npt.ArrayLike, loss: str = "l1"
) -> Loss:
    """Order of the smallest worst-case loss of any mechanism, for epsilon up to 1.

    With S >= 2 sensitive categories and ``m = n epsilon^2`` it is ``min(1, S / sqrt(m))`` for l1
    and ``min(1, 1 / sqrt(m), S / m)`` for the squared l2 loss (KBR16 Proposition 1, with S in the
    place of k as in MK19 section 3.2, which prints the last terms only). Up to an unknown constant
    factor, no mechanism that protects the S categories has a smaller worst-case loss under any
    estimator. Compare rates of growth with it, not sizes.

    Examples
    --------
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


# -- The cost of privacy in respondents under k-RR and k-RAPPOR -----------------------------------


_DESIGNS = ("krr", "krappor")


def effective_sample_size(
    mechanism: str, k: int, epsilon: npt.ArrayLike, n: npt.ArrayLike, theta: float | None = None
) -> Loss:
    """Respondents without privacy who would give the same worst-case loss (KBR16 section 4.3).

    n times the ratio of the worst-case squared l2 losses, non-private over private; the l1 losses
    give the same number. `mechanism` is "krr" or "krappor", to which `theta` belongs.

    Examples
    --------
    >>> round(float(effective_sample_size("krr", 100, epsilon=np.log(100), n=10_000)))
    2475
    >>> round(float(effective_sample_size("krappor", 100, epsilon=np.log(100), n=10_000)))
    742
    """
    if one_of("mechanism", mechanism, _DESIGNS) == "krappor":
        private = krappor_worst_l2(k, epsilon, n, theta)
    elif theta is None:
        private = krr_worst_l2(k, epsilon, n)
    else:
        raise InvalidArgument("theta", theta, "belongs to 'krappor'; leave it out for 'krr'")
    return respondents_of(n) * nonprivate_worst_l2(k, n) / private


def effective_sample_size_high_privacy(
    mechanism: str, k: int, epsilon: npt.ArrayLike, n: npt.ArrayLike
) -> Loss:
    """KBR16's form of `effective_sample_size` for small epsilon and many categories (section 4.3).

    n epsilon^2 / k^2 for k-RR and n epsilon^2 / (4k) for k-RAPPOR. No mechanism exceeds a constant
    times n epsilon^2 / k for epsilon <= 1 (KBR16 Proposition 1), so k-RAPPOR is order optimal and
    k-RR is not. At small k, the limit of k-RAPPOR has (k - 1) / k^2 in place of 1 / k.
    """
    k = categories(k)
    scale = k**2 if one_of("mechanism", mechanism, _DESIGNS) == "krr" else 4 * k
    eps, respondents = setting(epsilon, n)
    return respondents * eps**2 / scale


def effective_sample_size_low_privacy(mechanism: str, k: int, n: npt.ArrayLike) -> Loss:
    """KBR16's form of `effective_sample_size` at epsilon = ln k for many categories (section 4.3).

    n / 4 for k-RR, which is order optimal there (it keeps at least 1/9 of the sample at every k and
    every epsilon >= ln k), and n / sqrt(k) for k-RAPPOR.
    """
    k = categories(k)
    scale = 4.0 if one_of("mechanism", mechanism, _DESIGNS) == "krr" else np.sqrt(k)
    return respondents_of(n) / scale


def excess_ratio(k: int, epsilon: npt.ArrayLike) -> Loss:
    """Ratio of the squared l2 losses that privacy adds under k-RAPPOR and under k-RR.

    This is f(epsilon, k) of KBR16 section D. It depends neither on p nor on n: where it is at least
    1, k-RR has at most the loss of k-RAPPOR for every p and n. It increases with epsilon, and
    passes 1 at `crossover_epsilon`.

    Notes
    -----
    KBR16 Proposition 5 states that the ratio is at least 1 for epsilon >= ln(k/2). The paper's
    proof covers epsilon >= ln k, where the minimum is 2.1536, at k = 8 (not 3.1559 at k = 7); at
    ln(k/2) it is 1.443, at k = 11.

    Examples
    --------
    >>> round(float(excess_ratio(8, np.log(8))), 4)
    2.1536
    """
    k = categories(k)
    half = each("epsilon", epsilon, positive_epsilon) / 2.0
    flip = np.exp(-half)
    return k / (k - 1) * np.exp(half) * (1.0 + flip) ** 2 / (2.0 + (k - 2) * flip**2)


def crossover_epsilon(k: int) -> float:
    """Epsilon from which k-RR has no larger squared l2 loss than k-RAPPOR, for every p and n.

    It solves ``excess_ratio(k, epsilon) = 1``, which is k t^3 + 2 t^2 + k t = (k - 1)(k - 2) in
    t = e^(epsilon/2), and grows as (2/3) ln k. The worst-case l1 losses cross at the same epsilon.
    In nats; 0 for k <= 5, where k-RR is better at every epsilon.

    Examples
    --------
    >>> [round(crossover_epsilon(k), 2) for k in (5, 8, 16, 64, 256, 1024)]
    [0.0, 0.78, 1.56, 2.69, 3.67, 4.61]
    """
    k = categories(k)
    if k <= 5:
        return 0.0
    roots = np.roots([k, 2.0, k, -(k - 1.0) * (k - 2.0)])
    return 2.0 * float(np.log(roots[np.isreal(roots)].real.max()))


# -- Probabilities that a category is reported, and the two losses that follow --------------------


@dataclass(frozen=True)
class Rates:
    """P(a category is reported), by its own respondents and others, shape (..., k) or (..., 1)."""

    own: Array
    miss: Array  # 1 - own, and slope = own - other: subtraction would lose them at large epsilon
    other: Array
    slope: Array

    def deviations(self, p: Array, n: Array) -> Array:
        """Standard deviations of p_hat, shape (..., k), for `p` of shape (..., k)."""
        m = self.own * p + self.other * (1.0 - p)
        not_m = self.miss * p + (1.0 - self.other) * (1.0 - p)
        return np.sqrt(m * not_m / n[..., None]) / self.slope

    def loss(self, p: Array | None, n: Array, loss: str, copies: Any = 1) -> Loss:
        """Squared l2 loss, or l1 loss for large n, with `copies` categories of each kind."""
        deviations = self.deviations(self.worst(copies, loss) if p is None else p, n)
        if loss == "l2":
            return np.sum(copies * deviations**2, axis=-1)
        # E |Z| = sqrt(2 / pi) for a standard normal Z
        return np.sqrt(2.0 / np.pi) * np.sum(copies * deviations, axis=-1)

    def worst(self, copies: Any, loss: str) -> Array:
        """Worst probabilities of one sensitive and one other category, shape (..., 2)."""
        S, N = (int(number) for number in copies)
        if S == 0 or N == 0:
            w = np.full(self.slope.shape[:-1], float(S > 0))
        else:
            r, (slope, rest) = self.other[..., 0], np.moveaxis(self.slope, -1, 0)
            if loss == "l1":  # r + slope w / S = rest (1 - w) / N
                w = (rest / N - r) / (slope / S + rest / N)
            else:  # (1 - 2 r) / slope - 2 w / S = 1 / rest - 2 (1 - w) / N
                w = (1.0 / N + ((1.0 - 2.0 * r) / slope - 1.0 / rest) / 2.0) / (1.0 / S + 1.0 / N)
            w = np.maximum(w, 0.0)
        return np.stack([w / max(S, 1), (1.0 - w) / max(N, 1)], axis=-1)


def krappor_rates(epsilon: Array, theta: float | None) -> Rates:
    """Generalised RAPPOR: own bit with probability theta, others with psi (MK19 section 2.4)."""
    epsilon = epsilon[..., None]
    if theta is None:
        flip = np.exp(-epsilon / 2.0)
        kept = 1.0 / (1.0 + flip)
        return Rates(kept, flip * kept, flip * kept, np.tanh(epsilon / 4.0))
    own = np.full_like(epsilon, check_theta(theta))
    total = 1.0 - own + own * np.exp(-epsilon)
    psi = own * np.exp(-epsilon) / total
    return Rates(own, 1.0 - own, psi, own * (1.0 - own) * -np.expm1(-epsilon) / total)


def urr_rates(odds: Array, copies: Array | int = 1) -> Rates:
    """MK19 Definition 3, from 1 / (e^epsilon - 1) of each sensitive category and 0 of others."""
    sensitive = np.sum(copies * odds, axis=-1, keepdims=True)
    total = 1.0 + sensitive
    return Rates(
        (1.0 + odds) / total,
        (sensitive - odds) / total,
        odds / total,
        np.broadcast_to(1.0 / total, odds.shape),
    )


def urap_rates(mask: Array, epsilon: Array, theta: float | None) -> Rates:
    """MK19 Definition 4 for sensitive (True) and other categories; no noise if all are other."""
    if not mask.any():
        return urr_rates(np.zeros((*epsilon.shape, 1)))
    bit = krappor_rates(epsilon, theta)
    lie = np.exp(-epsilon)[..., None]
    shown = bit.own * -np.expm1(-epsilon)[..., None]  # 1 - d2
    rest = Rates(shown, bit.miss + bit.own * lie, np.zeros(1), shown)
    return Rates(
        *(np.where(mask, getattr(bit, f.name), getattr(rest, f.name)) for f in fields(bit))
    )


def rectangular(name: str, value: object) -> Array:
    return as_array(name, value, "must be a number or an array of numbers")


def each(name: str, value: object, check: Callable[[str, object], float]) -> Array:
    """The numbers of `value`, each checked, as float64 of the same shape."""
    array = rectangular(name, value)
    checked = [check(name, number) for number in array.ravel().tolist()]
    return floats(checked).reshape(array.shape)


def several(name: str, values: Any, remedy: str, check: Callable[[str, Any], Any]) -> list[Any]:
    """The distinct values of an argument, each checked; one alone may be given without a list."""
    alone = isinstance(values, str) or not isinstance(values, Iterable)
    found = [values] if alone else listed(name, values, remedy)
    if not found:
        raise InvalidArgument(name, values, remedy)
    return list(dict.fromkeys(check(name, value) for value in found))


def several_names(name: str, values: Any, choices: tuple[str, ...]) -> list[str]:
    remedy = f"must be names from {', '.join(map(repr, choices))}"
    return several(name, values, remedy, partial(one_of, choices=choices))


def setting(epsilon: object, n: object) -> tuple[Array, Array]:
    eps, respondents = each("epsilon", epsilon, positive_epsilon), respondents_of(n)
    try:
        np.broadcast_shapes(eps.shape, respondents.shape)
    except ValueError:
        remedy = f"must broadcast with epsilon, which has shape {eps.shape}"
        raise InvalidArgument("n", f"array of shape {respondents.shape}", remedy) from None
    return eps, respondents


def respondents_of(n: object) -> Array:
    return each("n", n, positive_integer)


def probabilities(p: object) -> Array:
    return distribution("p", p, positive_integer("len(p)", rectangular("p", p).size, least=2))


def categories(k: object) -> int:
    return positive_integer("k", k, least=2)
