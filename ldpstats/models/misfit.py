"""Do labels look as their channel says they must? For channels that have to be written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.estimators.ascent import gap_target
from ldpstats.estimators.mle import maximise
from ldpstats.inference import goodness
from ldpstats.inference.tests import TestResult
from ldpstats.operators import DenseRows
from ldpstats.problems import Equations

__all__ = ["dense_fit"]

Array = npt.NDArray[Any]

NULL = "the reports were made by this mechanism"
NEGATIVE = "Bonferroni on the most negative estimate"
_FEWEST = 10  # reports that two cells of five take


def dense_fit(counts: Array, Q: Array, problem: Equations) -> tuple[Array, Array] | TestResult:
    """Test that counts of labels, shape (l,), come from a channel Q, shape (k, l), whatever p is.

    Where there are more outputs than categories, by the distance from the laws of the channel, with
    rare outputs put together; else, or where too few reports are left for that, by the estimates
    that are most negative: then z and one-sided p-values of all, shape (k,), are returned.
    """
    seen = counts > 0
    target = gap_target(int(counts.sum()), None)
    best = maximise(DenseRows(Q.T[seen]), counts[seen].astype(np.float64), target, False)[0].p
    law = best @ Q
    possible = Q.any(axis=0)
    if possible.sum() > len(Q) and counts.sum() >= _FEWEST:
        group = goodness.rare_groups(counts.sum() * law[possible])
        merged = np.array([goodness.group_sums(row, group) for row in Q[:, possible]])
        try:
            outcome = goodness.channel_fit(
                goodness.group_sums(counts[possible], group).astype(np.int64), merged
            )
        except NotAvailable:  # as many groups as they tell apart
            pass
        else:
            return TestResult.chi_square(
                NULL, outcome[0], outcome[1], "chi-square distance from the laws of the channel"
            )
    return goodness.negative_estimates(counts, np.asarray(problem.inverse), law)
