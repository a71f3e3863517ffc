"""A bound on the l1 loss of a personalised estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import distribution, numbers
from ldpstats.errors import InvalidArgument

__all__ = ["PersonalizedBound", "personalized_bound"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PersonalizedBound:
    """Upper bound of the l1 loss of a personalised estimate, in two parts.

    Parameters
    ----------
    first : float
        l1 loss of the estimate of the intermediate distribution.
    second : float
        The most that errors in the background knowledge add.
    worst_second : float
        Maximum of `second` over all true backgrounds, computed from the estimates alone; twice the
        share of the tags if no estimate is negative.

    Examples
    --------
    >>> PersonalizedBound(first=0.02, second=0.01, worst_second=0.1).total
    0.03
    """

    first: float
    second: float
    worst_second: float

    @property
    def total(self) -> float:
        """The bound."""
        return self.first + self.second


def personalized_bound(
    r_hat: npt.ArrayLike, r: npt.ArrayLike, pi_hat: npt.ArrayLike, pi: npt.ArrayLike
) -> PersonalizedBound:
    """Bound the l1 loss of eq. 21's estimate under a personalised mechanism (MK19 Theorem 1).

    The estimate is ``p_hat(x) = r_hat(x) + sum_t r_hat(t) pi_hat_t(x)`` over the tags t, and ::

        l1(p_hat, p) <= l1(r_hat, r) + sum_t |r_hat(t)| l1(pi_hat_t, pi_t).

    Parameters
    ----------
    r_hat : array, shape (k + kappa,)
        Estimated distribution of the intermediate data: k categories, then kappa tags. Entries may
        be negative.
    r : array, shape (k + kappa,)
        The true one.
    pi_hat : array, shape (kappa, k)
        Assumed distributions of the category given each tag. Entries may be negative.
    pi : array, shape (kappa, k)
        The true ones.

    Returns
    -------
    PersonalizedBound

    Raises
    ------
    InvalidArgument
        If shapes differ, an entry is not finite, or `r` or a row of `pi` is not a distribution.

    Notes
    -----
    MK19 prints the second part without the absolute value, which may fail where an estimate is
    negative. Its maximum is ``sum_t |r_hat(t)| (1 + |pi_hat_t|_1)``, which is ``2 sum_t
    |r_hat(t)|`` when each pi_hat_t is a distribution.

    Examples
    --------
    >>> bound = personalized_bound(
    ...     r_hat=[0.52, 0.28, 0.2], r=[0.5, 0.3, 0.2], pi_hat=[[0.5, 0.5]], pi=[[0.9, 0.1]]
    ... )
    >>> round(bound.first, 4), round(bound.second, 4), round(bound.worst_second, 4)
    (0.04, 0.16, 0.4)
    """
    truth = _finite("pi", pi)
    if truth.ndim != 2:
        remedy = "must have one row for each tag and one column for each category"
        raise InvalidArgument("pi", f"array of shape {truth.shape}", remedy)
    kappa, k = truth.shape
    for t, row in enumerate(truth):
        distribution(f"pi[{t}]", row, k)
    assumed = _finite("pi_hat", pi_hat, (kappa, k))
    estimate = _finite("r_hat", r_hat, (k + kappa,))
    tags = np.abs(estimate[k:])
    return PersonalizedBound(
        float(np.abs(estimate - distribution("r", r, k + kappa)).sum()),
        float(tags @ np.abs(assumed - truth).sum(axis=1)),
        float(tags @ (1.0 + np.abs(assumed).sum(axis=1))),
    )


def _finite(name: str, value: object, shape: tuple[int, ...] | None = None) -> Array:
    remedy = "must be an array of finite numbers"
    array = numbers(name, value, remedy)
    if shape is not None and array.shape != shape:
        raise InvalidArgument(name, f"array of shape {array.shape}", f"must have shape {shape}")
    if not np.all(np.isfinite(array)):
        raise InvalidArgument(name, value, remedy)
    return array
