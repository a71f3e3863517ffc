"""Epsilon of several reports about one respondent: what they add up to, and how to share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from ldpstats.arguments.checks import listed, probability, real_number
from ldpstats.errors import InvalidArgument
from ldpstats.privacy.optimal_composition import optimal_epsilon

__all__ = ["compose", "split_budget"]


def compose(epsilons: Sequence[float], delta: float = 0.0) -> float:
    """Epsilon of several reports about the same value: they add up (sequential composition).

    So do those of utility-optimised LDP for the same sensitive categories (MK19 Proposition 1), and
    those of LDP with them (Proposition 12). `sequential` gives the channel of both together.

    Parameters
    ----------
    epsilons : sequence of float
        In nats; zero for a report without information, inf for one without protection.
    delta : float
        In [0, 1). Above zero, the smallest epsilon for which all reports together are (epsilon,
        delta)-private, without any approximation from below (Kairouz, Oh, Viswanath 2015,
        Theorem 3.3; Murtagh, Vadhan 2016, Theorem 1.5). It needs epsilons that were fixed before
        the first report, and that protect all categories.

    Raises
    ------
    InvalidArgument
        If `epsilons` is not a sequence, or one is negative, NaN or not a number; or `delta` is no
        probability below one.

    Examples
    --------
    >>> compose([1.0, 0.5])
    1.5
    >>> round(compose([0.1] * 50, delta=1e-6), 3)
    3.173
    """
    remedy = "must be a number of at least 0, in nats; inf is no privacy"
    given = _sequence("epsilons", epsilons)
    for i, value in enumerate(given):
        if not _number(value) >= 0.0:
            raise InvalidArgument(f"epsilons[{i}]", value, remedy)
    chance = probability("delta", delta, one=False)
    total = float(sum(map(float, given)))
    if chance == 0.0 or not np.isfinite(total):
        return total
    return optimal_epsilon([float(value) for value in given], chance)


def split_budget(total: float, weights: Sequence[float]) -> tuple[float, ...]:
    """Divide a total epsilon over several reports in proportion to `weights`.

    Parameters
    ----------
    total : float
        In nats, positive and finite.
    weights : sequence of float
        Positive and finite, of any size: only their ratios matter.

    Raises
    ------
    InvalidArgument
        If the total or a weight is not positive and finite, or there are no weights.

    Examples
    --------
    >>> split_budget(3.0, [1, 1, 2])
    (0.75, 0.75, 1.5)
    """
    remedy = "must be a positive finite number (in nats), for example 1.0"
    if not 0.0 < _number(total) < np.inf:
        raise InvalidArgument("total", total, remedy)
    remedy = "must be a positive finite number: the share of one report, such as 1 for equal shares"
    given = _sequence("weights", weights)
    for i, value in enumerate(given):
        if not 0.0 < _number(value) < np.inf:
            raise InvalidArgument(f"weights[{i}]", value, remedy)
    if not given:
        raise InvalidArgument("weights", weights, "needs at least one positive finite number")
    shares = np.array(given, dtype=np.float64)
    shares = shares / shares.max()  # whose sum cannot overflow
    parts = float(total) * (shares / shares.sum())
    if not parts.all():
        raise InvalidArgument("weights", weights, "differ so much that a share rounds to zero")
    return tuple(parts.tolist())


def _sequence(name: str, values: object) -> list[Any]:
    remedy = "must be a sequence of numbers, such as [1.0, 0.5]"
    if isinstance(values, Set | Mapping):  # which merge equal numbers
        raise InvalidArgument(name, values, remedy)
    return listed(name, values, remedy)


def _number(value: object) -> float:
    """The value as a float; NaN if it is not a real number."""
    try:
        return real_number("", value, "")
    except InvalidArgument:
        return np.nan
