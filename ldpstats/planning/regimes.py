"""Worst-case losses of uRR and uRAP at small and large epsilon, and a lower bound (MK19)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import one_of, positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.planning.losses import nonprivate_worst_l1, nonprivate_worst_l2
from ldpstats.planning.rates import Loss, sample_size, setting
from ldpstats.planning.worst_case import LOSSES, kinds

__all__ = ["uldp_high_privacy_loss", "uldp_low_privacy_loss", "uldp_lower_bound"]

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
