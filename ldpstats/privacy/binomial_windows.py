"""Binomial laws on the numbers that matter, to full relative precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["binomial_window", "reach"]

Array = npt.NDArray[Any]


def reach(n: int, share: float, tail: float) -> float:
    """Distance from the mean beyond which a binomial number has at most this mass.

    By Bernstein's inequality; one more, as a respondent's own report may count or not.
    """
    depth = float(np.log(2.0 / tail))
    spread = n * share * (1.0 - share)
    return float(depth / 3.0 + np.sqrt(depth**2 / 9.0 + 2.0 * spread * depth)) + 2.0


def binomial_window(n: int, share: float, tail: float) -> tuple[Array, Array]:
    """Numbers of successes of n and their probabilities, rescaled to one, but for a tail.

    Probabilities come from ratios of neighbours, from the mode on, which does not cancel for large
    n as differences of log factorials do.
    """
    if n == 0 or share <= 0.0 or share >= 1.0:
        return np.array([float(n) if share >= 1.0 else 0.0]), np.ones(1)
    width = reach(n, share, tail)
    t = np.arange(max(np.floor(n * share - width), 0.0), min(np.ceil(n * share + width), n) + 1.0)
    steps = np.log((n - t[:-1]) / (t[:-1] + 1.0)) + np.log(share / (1.0 - share))
    mode = int(np.clip(np.floor((n + 1) * share) - t[0], 0, t.size - 1))
    log_mass = np.zeros(t.size)
    log_mass[mode + 1 :] = np.cumsum(steps[mode:])
    log_mass[:mode] = -np.cumsum(steps[:mode][::-1])[::-1]
    mass = np.exp(log_mass)
    return t, mass / mass.sum()
