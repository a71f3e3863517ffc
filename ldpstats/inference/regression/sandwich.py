"""Sandwich covariances: what scores of respondents or clusters vary by."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.designs.estimation import estimated_totals
from ldpstats.inference.designs.sample import Sample, Scores
from ldpstats.inference.designs.totals import Ratios

__all__ = ["cluster_meat", "design_meat"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]


def cluster_meat(scores: Array, place: Codes, weights: Array, groups: Codes) -> tuple[Array, int]:
    """Products of the clusters' score totals, (p, p), and the number of clusters.

    Parameters
    ----------
    scores : array, shape (u, p)
        Of each kind of row.
    place : array of int64, shape (n,)
        The kind of each row.
    weights : array, shape (n,)
    groups : array of int64, shape (n,)
        The cluster of each row, from 0.
    """
    from scipy.sparse import csr_array

    n_groups = int(groups.max()) + 1
    sums = csr_array((weights, (groups, place)), shape=(n_groups, len(scores))) @ scores
    return np.asarray(sums.T @ sums), n_groups


def design_meat(sample: Sample, scores: Array, at: Codes) -> Array:
    """Covariance of the weighted score totals under the design of a sample, (p, p).

    Finite population corrections are not used: coefficients describe a law, not a population.

    Parameters
    ----------
    sample : Sample
        Of c cells.
    scores : array, shape (u, p)
    at : array of int64, shape (c,)
        The score of each cell; -1 for none.
    """
    none = np.zeros((scores.shape[1], scores.shape[1]))
    free = sample.without_corrections()
    free.refuse_single_units()
    totals = estimated_totals(free, Scores(((at, scores),)), none, none)
    return totals.covariance_of(Ratios(np.eye(scores.shape[1])))
