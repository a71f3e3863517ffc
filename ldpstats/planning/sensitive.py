"""Expected losses of uRR and uRAP, which protect only the sensitive categories (MK19 section 4.3).

They are the sums of the package's docstring, with q and r that depend on whether x is sensitive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import positive_epsilon
from ldpstats.arguments.labels import sensitive_codes
from ldpstats.errors import InvalidArgument
from ldpstats.planning.rates import (
    Loss,
    probabilities,
    rectangular,
    sample_size,
    setting,
    urap_rates,
    urr_rates,
)

__all__ = ["urap_l1", "urap_l2", "urr_l1", "urr_l2"]

Array = npt.NDArray[Any]


def urr_l2(p: npt.ArrayLike, sensitive: Any, epsilon: Any, n: npt.ArrayLike) -> Loss:
    """Expected squared l2 loss under uRR, exact for every n (MK19 Proposition 15).

    Parameters
    ----------
    p : array, shape (k,)
        Distribution of the category.
    sensitive : collection of int, or array of bool, shape (k,)
        Positions of the sensitive categories in p, in any order, or a mask. With none there is no
        privacy and no noise; with all, uRR is k-RR.
    epsilon : float or array, or dict from int to float
        Privacy of a report, in nats; a dict gives each sensitive position its own.
    n : int or array of int
        Respondents.

    Returns
    -------
    float or array
        Of the shape to which `epsilon` and `n` broadcast.

    Raises
    ------
    InvalidArgument
        If `p` is not a distribution over at least two categories, `sensitive` repeats a position or
        is a mask of another length, `epsilon` or `n` is not positive, or the keys of a dict are not
        the sensitive positions.
    UnknownCategory
        If `sensitive` names a position outside p.

    Examples
    --------
    >>> p = [0.4, 0.3, 0.2, 0.1]
    >>> round(float(urr_l2(p, [2, 3], epsilon=1.0, n=20_000)), 6)
    0.000168
    >>> round(float(urr_l2(p, [2, 3], epsilon={2: 2.0, 3: 0.5}, n=20_000)), 6)
    0.00021
    """
    p = probabilities(p)
    odds, respondents = _odds(_mask(sensitive, p.size), epsilon, n)
    return urr_rates(odds).l2(p, respondents)


def urr_l1(p: npt.ArrayLike, sensitive: Any, epsilon: Any, n: npt.ArrayLike) -> Loss:
    """Asymptotic expected l1 loss under uRR (MK19 Proposition 4).

    See `urr_l2` for the parameters.

    Examples
    --------
    >>> round(float(urr_l1([0.4, 0.3, 0.2, 0.1], [2, 3], epsilon=1.0, n=20_000)), 4)
    0.0205
    """
    p = probabilities(p)
    odds, respondents = _odds(_mask(sensitive, p.size), epsilon, n)
    return urr_rates(odds).l1(p, respondents)


def urap_l2(
    p: npt.ArrayLike,
    sensitive: Any,
    epsilon: npt.ArrayLike,
    n: npt.ArrayLike,
    theta: float | None = None,
) -> Loss:
    """Expected squared l2 loss under uRAP, exact for every n (MK19 Proposition 18 for any theta).

    Parameters
    ----------
    p, sensitive, n
        As in `urr_l2`. With no sensitive category there is no noise; with all, uRAP is k-RAPPOR.
    epsilon : float or array
        Privacy of a report, in nats.
    theta : float, optional
        P(bit = 1) of a respondent's own sensitive category (MK19 Definition 4). Default
        e^(epsilon/2) / (1 + e^(epsilon/2)), as in the paper; `best_theta` finds the best.

    Returns
    -------
    float or array
        Of the shape to which `epsilon` and `n` broadcast.

    Raises
    ------
    InvalidArgument
        As in `urr_l2`, or if `theta` is not in (0, 1).

    Examples
    --------
    >>> p = [0.4, 0.3, 0.2, 0.1]
    >>> round(float(urap_l2(p, [2, 3], epsilon=1.0, n=20_000)), 7)
    0.0004807
    >>> round(float(urap_l2(p, [2, 3], epsilon=1.0, n=20_000, theta=0.59)), 7)
    0.0004784
    """
    p = probabilities(p)
    eps, respondents = setting(epsilon, n)
    return urap_rates(_mask(sensitive, p.size), eps, theta).l2(p, respondents)


def urap_l1(
    p: npt.ArrayLike,
    sensitive: Any,
    epsilon: npt.ArrayLike,
    n: npt.ArrayLike,
    theta: float | None = None,
) -> Loss:
    """Asymptotic expected l1 loss under uRAP (MK19 Proposition 7 for any theta).

    See `urap_l2` for the parameters.

    Examples
    --------
    >>> round(float(urap_l1([0.4, 0.3, 0.2, 0.1], [2, 3], epsilon=1.0, n=20_000)), 4)
    0.0325
    """
    p = probabilities(p)
    eps, respondents = setting(epsilon, n)
    return urap_rates(_mask(sensitive, p.size), eps, theta).l1(p, respondents)


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
    return odds, sample_size(n)
