"""The tight (epsilon, delta) guarantee of several pure epsilon-private reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable

__all__ = ["optimal_epsilon"]

Array = npt.NDArray[Any]

_MOST_SUMS = 200_000
_STEPS = 1 << 16  # of the lattice to which epsilons are rounded up where sums are too many
_MOST_ROUNDED = 5000
_ROUNDING = 1e-12


def optimal_epsilon(epsilons: Sequence[float], delta: float) -> float:
    """The smallest epsilon for which reports are (epsilon, delta)-private together.

    No composition is worse than that of binary randomised response (Kairouz, Oh, Viswanath 2015,
    Theorem 3.3; Murtagh and Vadhan 2016, Theorem 1.5 for epsilons that differ), of which the log
    likelihood ratio is a sum of independent ``+-epsilon_i``. Where there are too many sums, each
    epsilon is rounded up to a multiple of 2^-16 of the total.

    Parameters
    ----------
    epsilons : sequence of float
        Finite and at least 0.
    delta : float
        In (0, 1).
    """
    total = float(np.sum(epsilons))
    if total == 0.0:
        return 0.0
    sums, mass = _loss_law([e for e in epsilons if e > 0.0], total)
    order = np.argsort(-sums, kind="stable")
    sums, mass, mirrored = sums[order], mass[order], mass[order][::-1]
    above, below = np.cumsum(mass), np.cumsum(mirrored)  # probabilities of s and, under R, of s
    with np.errstate(divide="ignore"):
        deltas = above - np.exp(sums + np.log(below))
        first = int(np.searchsorted(np.maximum.accumulate(deltas), delta, side="right"))
        # between sums first - 1 and first, delta is above - e^eps below
        last = max(first - 1, 0)
        found = np.log(max(above[last] - delta, 0.0)) - np.log(below[last])
    found = float(np.clip(found, 0.0, total))
    return min(found * (1.0 + _ROUNDING) + _ROUNDING, total) if found > 0.0 else 0.0


def _loss_law(epsilons: Sequence[float], total: float) -> tuple[Array, Array]:
    """Possible sums of ``+-epsilon_i`` and their probabilities, symmetric about zero."""
    distinct = Counter(epsilons)
    if prod(n + 1 for n in distinct.values()) > _MOST_SUMS:
        distinct = _rounded_up(epsilons, total)
        return _lattice_law(distinct, 2.0 * total / _STEPS)
    sums, mass = np.zeros(1), np.ones(1)
    for epsilon, n in distinct.items():
        ups, chance = _binomial(n, epsilon)
        sums = np.add.outer(sums, epsilon * (2.0 * ups - n)).ravel()
        mass = np.outer(mass, chance).ravel()
    order = np.argsort(sums, kind="stable")
    sums, mass = sums[order], mass[order]
    return (sums - sums[::-1]) / 2.0, mass


def _binomial(n: int, epsilon: float) -> tuple[Array, Array]:
    """Numbers of n binary reports that are the true answer, and their probabilities."""
    from scipy.special import gammaln

    ups = np.arange(n + 1.0)
    log = gammaln(n + 1.0) - gammaln(ups + 1.0) - gammaln(n - ups + 1.0)
    log += -ups * np.log1p(np.exp(-epsilon)) + (n - ups) * -np.logaddexp(0.0, epsilon)
    return ups, np.exp(log)


def _rounded_up(epsilons: Sequence[float], total: float) -> Counter[float]:
    if len(epsilons) > _MOST_ROUNDED:
        raise NotAvailable(
            f"delta: {len(epsilons)} different epsilons are too many for the optimal composition "
            f"(at most {_MOST_ROUNDED}); delta=0 adds them up"
        )
    step = 2.0 * total / _STEPS
    return Counter(float(np.ceil(e / step - 1e-9)) for e in epsilons)


def _lattice_law(steps: Counter[float], step: float) -> tuple[Array, Array]:
    """The law of the sum where each epsilon is a whole number of steps."""
    mass, most = np.ones(1), 0
    for size, n in steps.items():
        shift, up = int(size), 1.0 / (1.0 + np.exp(-size * step))
        for _ in range(n):
            grown = np.zeros(mass.size + 2 * shift)
            grown[: mass.size] += (1.0 - up) * mass
            grown[2 * shift :] += up * mass
            mass, most = grown, most + shift
    return step * (np.arange(mass.size) - most), mass
