"""Design effects: what a variance owes to the sample, and what to the randomisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Effects", "design_effects"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Effects:
    """The two factors of a design effect and their product, shape (q,); nan where unknown.

    Parameters
    ----------
    design : array
        Variance without noise over that of a simple random sample of true answers.
    privacy : array
        Variance over that without noise.
    whole : array
        Variance over that of a simple random sample of true answers.
    """

    design: Array
    privacy: Array
    whole: Array


def design_effects(p: Array, variance: Array, noise: Array, n: Array) -> Effects:
    """Design effects of shares p, all of shape (q,), each of n respondents.

    The variance of the true answers is estimated by what is left without the `noise`, the variance
    of the randomisation. Both factors are nan where nothing is left, and all where p is not between
    0 and 1, as where it is an unbiased estimate that chance has moved out of it.
    """
    simple = p * (1.0 - p) / np.maximum(n - 1.0, 1.0)
    simple = np.where((simple > 0.0) & (n > 1), simple, np.nan)
    sampled = np.where(variance > np.maximum(noise, 0.0), variance - noise, np.nan)
    return Effects(
        sampled / simple, np.where(simple > 0.0, variance / sampled, np.nan), variance / simple
    )
