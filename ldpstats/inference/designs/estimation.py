"""Estimated totals of a sample, by linearisation or by replication."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.inference.designs import taylor
from ldpstats.inference.designs.sample import Sample, Scores
from ldpstats.inference.designs.totals import LinearTotals, ReplicatedTotals, Totals

__all__ = [
    "degrees_in_domains",
    "degrees_of_freedom",
    "estimated_totals",
    "in_one_unit",
    "missed_noise",
]

Array = npt.NDArray[Any]

_DETERMINED = 1e-11  # standard error, relative to the largest total, that is rounding
_MOST_REPLICATED = 5e7  # numbers, 400 MB


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
        The part of it that the variance between units or replicates lacks, see `missed_noise`.

    Raises
    ------
    NotAvailable
        If the totals of all replicates are too many to be kept.
    """
    estimate, replication = scores.total(sample.w), sample.replication
    if replication is None:
        covariance = taylor.design_covariance(sample, sample.residuals(scores))
        if sample.calibration is not None:
            covariance = _without_rounding(covariance, float(np.abs(estimate).max()))
        return LinearTotals(estimate, covariance + missed, noise)
    scales = replication.scales(sample)
    if len(scales) * scores.size > _MOST_REPLICATED:
        raise NotAvailable(
            f"{scores.size} totals in {len(scales)} replicates were not computed: take fewer "
            "categories, domains or replicates, or the survey without replicates"
        )
    rest = missed + replication.rest(sample, sample.residuals(scores))
    if not len(scales):  # all units of the first stage are in the sample
        return LinearTotals(estimate, rest, noise)
    replicates = replication.totals(sample, scores)
    about = replication.about_estimate
    return ReplicatedTotals(estimate, noise, replicates, scales, rest, about)


def _without_rounding(covariance: Array, size: float) -> Array:
    """A covariance of totals, zero for those that population totals determine.

    Rounding is all that is left of their residuals; `size` is that of the largest total.
    """
    fixed = np.abs(np.diagonal(covariance)) <= (_DETERMINED * size) ** 2
    return np.where(fixed[:, None] | fixed, 0.0, covariance)


def missed_noise(sample: Sample) -> Array:
    """Share of the randomisation variance of each cell that the variance estimate lacks, (c,)."""
    if sample.replication is None:
        return taylor.missed_noise(sample)
    return sample.replication.missed(sample)


def degrees_of_freedom(sample: Sample, inside: npt.NDArray[np.bool_]) -> float:
    """Degrees of freedom of variances in a domain, whose cells are `inside`, shape (c,)."""
    if sample.replication is None:
        return taylor.degrees_of_freedom(sample, inside)
    return sample.replication.degrees_of_freedom(sample, inside)


def in_one_unit(
    sample: Sample, domain: npt.NDArray[np.int64], varies: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Which of g domains lie in one sampling unit, and do not show how their shares vary, (g,).

    Replicates that were given do not tell their units: there it is where nothing `varies`, (g,).
    """
    if sample.replication is not None and not sample.replication.knows_units:
        return ~varies
    return taylor.in_one_unit(sample, domain, len(varies))


def degrees_in_domains(sample: Sample, domain: npt.NDArray[np.int64], g: int) -> Array:
    """`degrees_of_freedom` of g domains, (g,); `domain` is that of each cell, -1 outside."""
    if sample.replication is None:
        return taylor.degrees_in_domains(sample, domain, g)
    return np.array([degrees_of_freedom(sample, domain == i) for i in range(g)])
