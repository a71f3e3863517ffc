"""Test that groups have the same distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.mechanisms.base import Mechanism
from ldpstats.planning.laws.forms import FormTest
from ldpstats.planning.laws.frequencies import estimate_covariance
from ldpstats.planning.variances import has_scores

__all__ = ["homogeneity_form"]

Array = npt.NDArray[Any]


def homogeneity_form(
    mechanisms: Sequence[Mechanism], p: Array, shares: Array, candidates: Any, alpha: float
) -> FormTest:
    """The default test of `homogeneity_test`, for groups of distributions p, shape (g, k).

    Pearson's of the table of labels if one mechanism without cohorts makes them, else Wald's, which
    the score test of whole reports equals where groups are large.
    """
    first, pooled = mechanisms[0], shares @ p
    alike = all(one == first for one in mechanisms)
    if alike and not first.n_bits and not first.n_cohorts:
        Q = np.asarray(first.channel().matrix())
        means = p @ Q
        null = [_multinomial(pooled @ Q)] * len(p)
        return _compared(means, shares, null, [_multinomial(m) for m in means], alpha)
    scores = all(has_scores(one) for one in mechanisms)
    null = [estimate_covariance(one, pooled, candidates, scores) for one in mechanisms]
    pairs = zip(mechanisms, p, strict=True)
    truth = [estimate_covariance(one, row, candidates, scores) for one, row in pairs]
    return _compared(p, shares, null, truth, alpha)


def _multinomial(m: Array) -> Array:
    return np.asarray(np.diag(m) - np.outer(m, m))


def _compared(
    means: Array, shares: Array, null: Sequence[Array], truth: Sequence[Array], alpha: float
) -> FormTest:
    """All groups with the first: covariances of one respondent of each, (d, d)."""
    delta = (means[1:] - means[0]).ravel()
    pair = [_contrasts(each, shares) for each in (null, truth)]
    return FormTest.of(delta, pair[0], pair[1], alpha)


def _contrasts(each: Sequence[Array], shares: Array) -> Array:
    """Covariance of the differences from the first group."""
    d, others = len(each[0]), len(each) - 1
    found = np.kron(np.ones((others, others)), each[0] / shares[0])
    for i in range(others):
        block = slice(i * d, (i + 1) * d)
        found[block, block] += each[i + 1] / shares[i + 1]
    return np.asarray(found)
