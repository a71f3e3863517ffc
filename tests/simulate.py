"""What a simulation of many surveys says: coverage, size and bias, and how far luck carries them.

A simulation takes R surveys of one setting, either many at once, as arrays with a row for each
(`surveys.draw`), or one by one, as users see them (`repeat`). What it finds is a share of the
surveys: of those whose interval holds the truth (`coverage`), of those in which a test rejects
(`size`). `near` and `at_most` compare a share with what is promised; both allow for luck, so many
Monte Carlo standard errors, which a control must exceed to show that the test sees a defect.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

ALPHA = 0.05  # the level of tests, and what intervals may miss


def repeat(R: int, survey: Callable[[int], Mapping[str, npt.ArrayLike]]) -> dict[str, Array]:
    """What each of R surveys, numbered from zero, says under each name: arrays with R rows."""
    said = [survey(r) for r in range(R)]
    return {name: np.array([np.asarray(one[name]) for one in said]) for name in said[0]}


# ---- what is found


def coverage(ends: npt.ArrayLike, truth: npt.ArrayLike, rounding: float = 0.0) -> Array:
    """Share of surveys whose interval holds the truth; ends of shape (R, ..., 2)."""
    low, high = np.moveaxis(np.asarray(ends), -1, 0)
    inside = (low <= np.asarray(truth) + rounding) & (np.asarray(truth) - rounding <= high)
    return np.asarray(np.mean(inside, axis=0))


def size(pvalues: npt.ArrayLike, alpha: float = ALPHA) -> float:
    """Share of surveys in which a test rejects: its size under the null, else its power."""
    return float(np.mean(np.asarray(pvalues) < alpha))


def bias(estimates: npt.ArrayLike, truth: npt.ArrayLike) -> Array:
    """Mean error of estimates of shape (R, ...), in Monte Carlo standard errors."""
    found = np.asarray(estimates)
    return np.asarray((found.mean(axis=0) - truth) / (found.std(axis=0) / np.sqrt(len(found))))


# ---- what is promised


def error(share: npt.ArrayLike, R: float) -> Array:
    """Monte Carlo standard error of a share of R surveys that is truly `share`."""
    share = np.asarray(share)
    return np.asarray(np.sqrt(share * (1.0 - share) / R))


def near(found: npt.ArrayLike, promised: npt.ArrayLike, R: float, errors: float = 4.0) -> bool:
    """Whether every share is what is promised but for luck: so many standard errors."""
    return bool(np.all(np.abs(np.asarray(found) - promised) <= errors * error(promised, R)))


def at_most(found: npt.ArrayLike, promised: float, R: npt.ArrayLike, errors: float = 3.0) -> bool:
    """Whether every share is what is promised or less, but for luck."""
    return bool(np.all(np.asarray(found) <= promised + errors * error(promised, np.asarray(R))))


def at_least(found: npt.ArrayLike, promised: float, R: float, errors: float = 4.0) -> bool:
    """Whether every share is what is promised or more, but for luck."""
    return bool(np.all(np.asarray(found) >= promised - errors * error(promised, R)))
