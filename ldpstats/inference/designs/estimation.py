"""Estimated totals of a sample, by linearisation or by replication."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ldpstats.inference.designs.sample import Sample, Scores
from ldpstats.inference.designs.taylor import design_covariance
from ldpstats.inference.designs.totals import LinearTotals, Totals

__all__ = ["estimated_totals"]

Array = npt.NDArray[Any]


def estimated_totals(sample: Sample, scores: Scores, noise: Array, missed: Array) -> Totals:
    """Weighted totals of the scores of privatised reports, and how they vary.

    Parameters
    ----------
    sample : Sample
    scores : Scores
        Of m totals.
    noise : array, shape (m, m)
        Covariance that the randomisation alone has, ``sum w^2 C(r)``.
    missed : array, shape (m, m)
        The part of it that the variance between units lacks, see `missed_noise`.
    """
    covariance = design_covariance(sample, scores) + missed
    return LinearTotals(scores.total(sample.w), covariance, noise)
