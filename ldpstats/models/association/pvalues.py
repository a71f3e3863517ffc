"""How tests of association find their p-values: by the law of permutations, exactly or nearly."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import replicates
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.tables import permutation
from ldpstats.inference.tests import TestResult
from ldpstats.models.association.evidence import Evidence
from ldpstats.reports.single import Counts

__all__ = [
    "BY_MOMENTS",
    "SMALL",
    "by_permutations",
    "doubt",
    "null_hypothesis",
    "permutations",
    "smallest_expected",
    "two_way",
]

Array = npt.NDArray[Any]

SMALL = 5.0  # smallest expected count below which tables are sparse
BY_MOMENTS = "p-value by the moments of permutations"


def null_hypothesis(names: Sequence[str]) -> str:
    """H0 in words."""
    *most, last = names
    return f"{', '.join(most)} and {last} are independent"


def two_way(sizes: Sequence[int]) -> None:
    """Refuse a test of two variables where there are more."""
    if len(sizes) != 2:
        raise NotAvailable(
            f"the test compares two variables, the model has {len(sizes)}: use "
            "method='score', or a model of two of them"
        )


def smallest_expected(evidence: Evidence) -> float:
    """Smallest expected count of a pair of labels, or of values of two bits, under independence.

    Of hashed answers a label or bit is a candidate's own; there are as many in every cohort.
    """
    return min(
        float(group.nobs * prod(_rarest(counts) for counts in group.variables))
        for group in evidence.groups
    )


def _rarest(counts: Counts) -> float:
    """Share of the rarest label that was seen; of bits and hashes the least that is to be seen."""
    mechanism = counts.mechanism
    if mechanism.n_bits and mechanism.sensitive is not None:  # bits, and answers that are revealed
        share = counts.bit_counts().ones / counts.nobs
        rare = np.minimum(share, 1.0 - share)
        return float(rare[rare > 0.0].min(initial=1.0))
    if mechanism.n_cohorts or mechanism.n_bits:
        law = mechanism.cell_law if mechanism.n_cohorts else None
        pair = (law.high, law.low) if law else (mechanism.p1, mechanism.p0)
        return float(min(q for p in pair for q in (p, 1.0 - p) if q > 0.0))
    seen = counts.vector()
    return float(seen[seen > 0].min() / counts.nobs)


def doubt(smallest: float, by_rng: bool = True) -> str:
    """What is said of a p-value by moments where counts are small."""
    if smallest >= SMALL:
        return ""
    approximate = f"the smallest expected count is {smallest:.2g}: the p-value is approximate"
    exact = "model.test_independence(results, rng=...) (--seed) gives an exact one"
    return f"{approximate}; {exact}" if by_rng else approximate


def permutations(
    rng: np.random.Generator | None, n_permutations: int | None, smallest: float
) -> int:
    """How many permutations to draw: those asked for, or 999 where counts are small, or none."""
    if n_permutations is None:
        return 999 if rng is not None and smallest < SMALL else 0
    if rng is None:
        raise InvalidArgument("rng", None, "pass a generator, np.random.default_rng(seed)")
    return replicates("n_permutations", n_permutations)


def by_permutations(
    null: str, statistic: float, df: int, draws: Array, method: str, note: str = ""
) -> TestResult:
    """The test with the exact p-value of these permutations."""
    p = permutation.permutation_pvalue(statistic, draws)
    how = f"{method}, exact p-value by {len(draws)} permutations"
    return TestResult(null, float(statistic), float(df), p, how, note)
