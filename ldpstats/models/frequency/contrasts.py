"""Laws of contrasts of frequencies under a null hypothesis, where that of the reports is known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.quadratic import ReportSums
from ldpstats.models.frequency.answers import Answers
from ldpstats.models.frequency.record import Laws
from ldpstats.problems.estimates import Uncertain
from ldpstats.problems.report_law import ReportLaw
from ldpstats.problems.tallies import Tallies

if TYPE_CHECKING:
    from ldpstats.models.shared.contrasts import ContrastLaw

__all__ = ["contrast_law", "laws_between", "null_law"]

Array = npt.NDArray[Any]


def contrast_law(
    linear: Uncertain, laws: Laws, row: Array, known: Answers | None = None
) -> ContrastLaw | None:
    """The law of the contrast `row`, shape (k,); None where it is not known.

    Where the law of each answer is `known`, at the likeliest frequencies of every value.
    """
    from ldpstats.models.shared.contrasts import ContrastLaw

    if known is not None and np.ptp(row) > 0.0:
        return ContrastLaw(known.law(row).at, float(row.min()), float(row.max()), is_fixed=False)
    span = float(row.min()), float(row.max())
    if laws.law is not None and linear.at is None:
        return ContrastLaw(partial(_moved_law, linear, laws.law, row), *span)
    if laws.tally is not None and np.count_nonzero(row) == 1:
        entries = np.flatnonzero(row)
        places = np.arange(linear.estimate.size)[linear.places]
        place = np.searchsorted(places, entries[0])
        p = np.clip(linear.estimate[linear.places], 0.0, 1.0)
        return ContrastLaw(partial(_tally_law, laws.tally, p, row[entries[0]], place), *span)
    return None


def laws_between(
    linear: Uncertain, laws: Laws, first: Array, second: Array, known: Answers | None = None
) -> Callable[[float], Any] | None:
    """The laws of ``(1 - v) first - v second`` for all v; None where they are not known."""
    if known is not None:
        return known.between(first, second)
    if laws.law is None or linear.at is not None:
        return None

    def law(v: float) -> ContrastLaw:
        found = contrast_law(linear, laws, (1.0 - v) * first - v * second)
        assert found is not None  # the law of the reports is known
        return found

    return law


def null_law(
    linear: Uncertain, laws: Laws, R: Array, gap: Array, known: Answers | None = None
) -> ReportSums | None:
    """The law of independent contrasts R, (q, k), under the null that `gap` is noise.

    At the likeliest frequencies of the null, if the law of each answer is `known`; but of labels
    where a short step along the covariance of the estimate leads there. None where nothing is known
    but the covariance of the estimate.
    """
    change = _restriction(linear, R, gap)
    if laws.law is not None:
        led = np.allclose(R @ change, -gap, rtol=1e-6, atol=1e-12)
        near = led and all(part.can_move(change) for part in laws.law.parts)
        if known is None or near:
            moved = laws.law.moved(change)
            parts = [(part.contrasts(R), part.law, part.nobs) for part in moved.parts]
            return ReportSums(moved.covariance(R), parts)
    law = None if known is None else known.null_law(R, R @ linear.estimate - gap)
    if law is not None:
        return law
    if laws.tally is None or not laws.tally.everywhere:
        return None
    inside = np.clip(linear.estimate, 0.0, 1.0)
    there, here = (laws.tally.law(p)[0] for p in (inside + change, inside))
    return ReportSums(linear.known().transform(R) + (R * (there**2 - here**2)) @ R.T)


def _moved_law(linear: Uncertain, law: ReportLaw, row: Array, value: Array) -> tuple[Array, Array]:
    """Standard error and skewness of a contrast if it is `value`, from the law of reports."""
    R, covariances = row[None], linear.known().times(row)
    scale = float(row @ covariances)
    gap = float(row @ linear.estimate - value[0])
    moved = law.moved(covariances * (-gap / scale if scale else 0.0))
    variance = np.diagonal(moved.covariance(R))
    cumulant = moved.third_cumulants(R)
    return np.sqrt(variance), cumulant / np.where(variance > 0.0, variance, 1.0) ** 1.5


def _tally_law(
    tally: Tallies, inside: Array, factor: float, place: int, value: Array
) -> tuple[Array, Array]:
    """The same of a multiple of one frequency, from its tally, the others as in `inside`."""
    p = inside.copy()
    p[place] = value[0] / factor
    se, skewness, _ = tally.law(p)
    return abs(factor) * se[[place]], np.sign(factor) * skewness[[place]]


def _restriction(linear: Uncertain, R: Array, gap: Array) -> Array:
    """What takes the estimate, whose contrasts R are off by `gap`, to the null: shape (k,)."""
    V = linear.known()
    weights = np.linalg.lstsq(V.transform(R), gap, rcond=None)[0]
    return np.asarray(-V.times(R.T @ weights))
