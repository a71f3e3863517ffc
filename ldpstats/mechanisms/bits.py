"""What mechanisms share that report noisy bits of their categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import as_array, counts_vector, probability
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument

__all__ = ["check_theta", "other_bit", "sums_of_bits"]


LEAST_THETA = 1e-9  # below, the integers of the sampler are too coarse to hold epsilon


def other_bit(theta: float, epsilon: float) -> float:
    """P(bit = 1) of a category that is not the answer, ``theta / ((1 - theta) e^eps + theta)``.

    Rounded up where theta is so near one that rounding it down would leak more than epsilon.
    """
    weight = theta * np.exp(-epsilon)
    total = 1.0 - theta + weight
    found, clear = weight / total, (1.0 - theta) / total
    while 1.0 - found > clear * (1.0 + 5e-16):
        found = np.nextafter(found, 1.0)
    return float(found)


def check_theta(theta: object, graded: bool = False) -> float:
    """P(own bit = 1) as a float, in (0, 1), not too near zero, and if `graded` nor to one."""
    value = probability("theta", theta, zero=False, one=False)
    if value < LEAST_THETA:
        raise InvalidArgument("theta", value, f"must be at least {LEAST_THETA:g}, such as 0.5")
    if graded and value > 1.0 - LEAST_THETA:
        remedy = f"must be at most 1 - {LEAST_THETA:g} where categories differ in epsilon"
        raise InvalidArgument("theta", value, remedy)
    return value


def sums_of_bits(
    n: npt.ArrayLike, nobs: npt.ArrayLike | None, labels: pd.Index[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Sums of one bit a label, shape (1, k), and the number of reports, (1,), for `BitCounts`."""
    if nobs is None:
        raise InvalidArgument("nobs", None, "is needed: bit sums do not say how many reports")
    n = align("n", n, labels)
    n = as_array("n", n, f"must be {len(labels)} sums of bits")
    shape = (len(labels),) if n.ndim == 1 else (1, len(labels))
    ones = counts_vector("n", n, shape).reshape(1, len(labels))
    each = np.atleast_1d(as_array("nobs", nobs, "must be the number of reports"))
    return ones, counts_vector("nobs", each, (1,))
