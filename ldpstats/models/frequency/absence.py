"""p-values of frequencies of zero, from an estimate and what is known of its law."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference import tests as tests_
from ldpstats.inference.tails import continuity, skewed_pvalue
from ldpstats.models.frequency.record import Laws
from ldpstats.problems.estimates import Uncertain

__all__ = ["one_sided", "two_sided"]

Array = npt.NDArray[Any]


def one_sided(linear: Uncertain, laws: Laws) -> Array:
    """p-values, shape (k,), of p = 0 against p > 0; 1 for what was not selected."""
    p, own = _normal(linear, laws, "larger"), np.flatnonzero(laws.counted(linear.estimate.size))
    if laws.exact is not None and own.size:
        p[own] = laws.exact.take(own).apply(tests_.binomial_excess)
    return p


def two_sided(linear: Uncertain, laws: Laws) -> Array:
    """p-values, shape (k,), of p = 0; twice the smaller tail."""
    p, own = _normal(linear, laws, "two-sided"), np.flatnonzero(laws.counted(linear.estimate.size))
    if laws.exact is not None and own.size:
        form = laws.exact.take(own)
        tails = form.apply(tests_.binomial_excess), form.apply(tests_.binomial_deficit)
        p[own] = np.minimum(2.0 * np.minimum(*tails), 1.0)
    return p


def _normal(linear: Uncertain, laws: Laws, alternative: str) -> Array:
    """By the normal law, with the variance and the skewness at p = 0 where they are known."""
    linear.every_bse()
    at, se = linear.places, linear.bse()
    p = np.ones(linear.estimate.size)
    estimate = linear.estimate[at]
    if laws.tally is None:
        p[at] = tests_.z_test(estimate, se[at], 0.0, alternative)[1]
        return p
    se, skewness = laws.tally.absent(estimate.size)
    z = tests_.z_test(estimate, se)[0]
    step = continuity(skewness) if laws.tally.everywhere else 0.0
    larger, smaller = (skewed_pvalue(s * z - step, s * skewness) for s in (1.0, -1.0))
    p[at] = larger
    if alternative == "two-sided":
        p[at] = np.minimum(2.0 * np.minimum(larger, smaller), 1.0)
    return p
