"""What answers that are not listed do to weighted estimates of candidates.

An answer that is not among the candidates owns the same cells in every report. What it adds to them
by chance is common to all respondents of a cohort, so that no variance between sampling units shows
it, and it does not shrink as a sample grows. The residuals of the cells do show it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.designs.estimation import estimated_totals
from ldpstats.inference.designs.sample import Sample, Scores
from ldpstats.inference.designs.totals import Ratios
from ldpstats.problems.decoding import CohortDecoding
from ldpstats.problems.joint.features import indicators

__all__ = ["collision_covariance", "collisions"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_COLUMNS = 512  # cells whose variances are found at a time
_SATURATED = 1e-8  # share of their collisions that residuals show where candidates fit anything


def collision_covariance(sample: Sample, at: Codes, decoded: CohortDecoding) -> Array:
    """Covariance of the estimated frequencies by chance collisions with other answers, (k, k).

    To be added to that of the design; zero over a closed alphabet. Weights of the cohorts are those
    of a list that is complete.

    Parameters
    ----------
    sample : Sample
        Of c cells.
    at : array of int64, shape (c,)
        The report of each cell, as `decoded` has them; -1 outside the domain.
    decoded : CohortDecoding
        Of the reports in the domain.
    """
    found, source = collisions(sample, at, decoded), decoded.moments.sources[0]
    if found <= 0.0:
        return np.zeros((decoded.k, decoded.k))
    inverse = decoded.moments.inverse
    return np.asarray(found * inverse @ source.collision_spread() @ inverse)


def collisions(sample: Sample, at: Codes, decoded: CohortDecoding) -> float:
    """Sum of the squared frequencies of answers that are not listed, from the residuals.

    The moment estimate: squared residuals are on average those that design and randomisation make,
    less what the candidates follow, and in proportion to this sum those of collisions. The first
    are estimated as without a correction for finite populations. It may be negative.
    """
    problem = decoded.moments
    if not problem.is_open:
        return 0.0
    free, source = sample.without_corrections(), problem.sources[0]
    place = np.append(decoded.place, -1)[at]
    z = (decoded.phi - decoded.p) / source.reports.sum()
    followed = _variance(free, place, z)
    seen = 0.0
    for columns, cells in _cells(decoded):
        V = _variance(free, place, cells)
        seen += float(source.weights[columns] @ np.diagonal(V))
    residual = source.moved - source.design.times(decoded.p)
    expected = seen - float(np.vdot(source.design.gram(source.weights), followed))
    every = float(source.collision_variance * source.weights.sum())
    rate = every - float(np.vdot(problem.inverse, source.collision_spread()))
    if rate <= _SATURATED * every:
        return 0.0
    return (float(source.weights @ residual**2) - expected) / rate


def _variance(sample: Sample, place: Codes, table: Any) -> Array:
    """Covariance of weighted totals of scores, which hold the randomisation."""
    none = np.zeros((table.shape[1], table.shape[1]))
    totals = estimated_totals(
        sample, Scores(((place, table),), np.where(place >= 0, 0, -1)), none, none
    )
    return totals.covariance_of(Ratios(np.eye(len(none))))


def _cells(decoded: CohortDecoding) -> Iterator[tuple[slice, Any]]:
    """Linearised scores of the frequencies of cells, (u, b) sparse, for blocks of cohorts."""
    from scipy.sparse import csr_array

    source, distinct = decoded.moments.sources[0], decoded.distinct
    m, cohort = source.design.n_cells, distinct.cohort
    assert cohort is not None
    t = (source.moved + source.offset).reshape(-1, m)
    step = max(1, _COLUMNS // m)
    for start in range(0, len(t), step):
        stop = min(start + step, len(t))
        rows = np.flatnonzero((cohort >= start) & (cohort < stop))
        own = cohort[rows]
        apart = np.where(source.reports[own, None] > 0.0, indicators(distinct[rows]) - t[own], 0.0)
        apart /= np.maximum(source.reports[own], np.finfo(np.float64).tiny)[:, None]
        columns = (own - start)[:, None] * m + np.arange(m)
        shape = (len(distinct), (stop - start) * m)
        entries = (apart.ravel(), (np.repeat(rows, m), columns.ravel()))
        yield slice(start * m, stop * m), csr_array(entries, shape=shape)
