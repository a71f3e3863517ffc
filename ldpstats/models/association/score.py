"""Score tests of two variables: are the scores of their reports correlated, in any way or a trend?

They need no joint estimate, so that no boundary matters. The p-value is that of permuted reports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.inference.tables import independence as association
from ldpstats.inference.tables import permutation
from ldpstats.inference.tables.cross_moments import CrossMoments, Whitening
from ldpstats.inference.tables.permutation_moments import Blocks, Cumulants, score_cumulants
from ldpstats.inference.tests import TestResult
from ldpstats.models.association.evidence import Evidence
from ldpstats.models.association.groups import Scores
from ldpstats.models.association.mutual import REPEATED, mutual_test
from ldpstats.models.association.pvalues import (
    BY_MOMENTS,
    SMALL,
    by_permutations,
    doubt,
    null_hypothesis,
    permutations,
    smallest_expected,
    two_way,
)
from ldpstats.problems.joint.stratum import unbiased_map

__all__ = ["score_test", "trend_test"]

Array = npt.NDArray[Any]

_MOST_TABLES = 1000  # tables with the same margins that are gone through
_MOST_CELLS = 1 << 22  # cells of a table of distinct reports


def score_test(
    evidence: Evidence,
    rng: np.random.Generator | None = None,
    n_permutations: int | None = None,
    advance: Callable[[float], None] = lambda fraction: None,
) -> TestResult:
    """Score test on the marginal fits; by permutation where that is asked for and needed."""
    if len(evidence.sizes) > 2:
        return mutual_test(evidence, rng, n_permutations, advance)
    features = _Features.of(evidence)
    expected = None
    if evidence.is_complete:
        expected = (evidence.sizes[0] - 1, evidence.sizes[1] - 1)
    parts = features.parts
    found = association.score(parts, expected, features.space)
    null, smallest = null_hypothesis(evidence.names), smallest_expected(evidence)
    strata = "" if len(parts) == 1 else f", within {len(parts)} strata"
    method = f"score test on the marginal fits{strata}"
    B = permutations(rng, n_permutations, smallest)
    if B and rng is not None:
        draws = _permuted(evidence, rng, B, advance)
        return by_permutations(null, found.statistic, found.df, draws, method, found.note)
    return _by_moments(null, found.statistic, found.df, features, smallest, method, found.note)


def trend_test(evidence: Evidence, u: Array, v: Array) -> TestResult:
    """Linear-by-linear trend of the scores u and v of the categories."""
    two_way(evidence.sizes)
    X, Y = _unbiased_maps(evidence)
    ones = X.sum(axis=1), Y.sum(axis=1)  # of the one that centred scores lack
    features = _Features.of(evidence)
    parts = [part.transformed(X, Y, *ones) for part in features.parts]
    z, _, correlation = association.linear_trend(parts, u, v)
    su, sv = association.centred_scores(parts, u, v)
    # the scores of categories as combinations of those of reports
    found = _by_moments(
        f"{evidence.names[0]} and {evidence.names[1]} have no linear-by-linear trend",
        z**2,
        None,
        features.combined(X.T @ su, Y.T @ sv),
        smallest_expected(evidence),
        "linear-by-linear trend (z), on the reports",
        f"estimated correlation of the scores {correlation:.3g}",
    )
    return replace(found, statistic=float(z))


def _unbiased_maps(evidence: Evidence) -> tuple[Array, Array]:
    """What takes the scores of two variables to features that are unbiased over all strata."""
    strata = [(s, part) for s in evidence.scores for part in s.group.slices]
    shares = [int(s.group.counts.n[part].sum()) / evidence.nobs for s, part in strata]
    responses = [
        np.sum(
            [share * s.shown(v, part) for share, (s, part) in zip(shares, strata, strict=True)],
            axis=0,
        )
        for v in range(2)
    ]
    X, Y = map(unbiased_map, responses, evidence.names)
    return X, Y


@dataclass(frozen=True, eq=False)
class _Features:
    """Features of the reports of two variables, stratum by stratum, and their moments.

    Parameters
    ----------
    scores : tuple of Scores
        Of each group.
    parts : tuple of CrossMoments
    maps : tuple of array, shape (k, f), or None
        What takes scores of categories to features; None where they are the features.
    """

    scores: tuple[Scores, ...]
    parts: tuple[CrossMoments, ...]
    maps: tuple[Array, Array] | None = None

    @classmethod
    def of(cls, evidence: Evidence) -> _Features:
        """The scores at the marginal fits."""
        parts = (part for scores in evidence.scores for part in scores.cross_moments(0, 1))
        return cls(evidence.scores, tuple(parts))

    def combined(self, x: Array, y: Array) -> _Features:
        """Single features, x'a and y'b."""
        parts = tuple(association.trend_moments(part, x, y) for part in self.parts)
        return replace(self, parts=parts, maps=(x[:, None], y[:, None]))

    @cached_property
    def space(self) -> Whitening:
        """Coordinates in which the features are white."""
        return Whitening.of(self.parts)

    @property
    def strata(self) -> list[tuple[Scores, slice]]:
        return [(scores, part) for scores in self.scores for part in scores.group.slices]

    def _mapped(self, v: int, scores: Array) -> Array:
        return scores if self.maps is None else scores @ self.maps[v]

    def _blocks(self, v: int, scores: Scores, part: slice) -> Blocks:
        return lambda: ((self._mapped(v, a), n) for a, n in scores.blocks(v, part))

    def cumulants(self) -> Cumulants:
        """Of the score statistic of the features, if reports are permuted within strata."""
        x, y = ([self._blocks(v, *stratum) for stratum in self.strata] for v in (0, 1))
        return score_cumulants(self.space, self.parts, x, y)

    def tables(self) -> list[tuple[Array, Array, Array]] | None:
        """Respondents with each pair of distinct reports, and the features of these, by stratum.

        None where reports hardly ever repeat and are many.
        """
        found = []
        for scores, part in self.strata:
            group, n = scores.group, scores.group.counts.n[part]
            if len(n) > REPEATED and any(index is None for index in group.index):
                return None
            codes, rows = zip(*(group.distinct(v, part) for v in (0, 1)), strict=True)
            extent = len(rows[0]), len(rows[1])
            if prod(extent) > _MOST_CELLS:
                return None
            table = np.zeros(extent, dtype=np.int64)
            np.add.at(table, codes, n)
            x, y = (self._mapped(v, scores.centred(v, rows[v])) for v in (0, 1))
            found.append((table, x, y))
        return found


def _by_moments(
    null: str,
    statistic: float,
    df: int | None,
    features: _Features,
    smallest: float,
    method: str,
    note: str,
) -> TestResult:
    """p-value by the law of permutations: exact where tables are sparse and few, else by moments.

    It is at least the probability of the very table that was seen.
    """
    law, known = None if df is None else float(df), features.tables()
    if known is not None and smallest < SMALL:
        each, x, y = zip(*known, strict=True)
        every = permutation.all_table_scores(each, x, y, _MOST_TABLES)
        if every is not None:
            p = permutation.exact_pvalue(statistic, *every)
            how = f"{method}, exact p-value over {len(every[0])} tables with these margins"
            return TestResult(null, float(statistic), law, p, how, note)
    p = features.cumulants().pvalue(statistic)
    if known is not None:
        p = max(p, float(np.exp(sum(permutation.log_probability(t) for t, _, _ in known))))
    note = "; ".join(filter(None, (note, doubt(smallest, by_rng=df is not None))))
    return TestResult(null, float(statistic), law, p, f"{method}, {BY_MOMENTS}", note)


def _permuted(
    evidence: Evidence, rng: np.random.Generator, B: int, advance: Callable[[float], None]
) -> Array:
    """Score statistics of permuted reports."""
    strata = [(scores, part) for scores in evidence.scores for part in scores.group.slices]
    cells = [scores.group.table(0, 1, part) for scores, part in strata]
    tables = [table for table in cells if table is not None]
    if len(tables) == len(cells):
        x, y = ([scores.centred(v, slice(None)) for scores, _ in strata] for v in (0, 1))
        return permutation.permuted_table_scores(tables, x, y, B, rng, advance)
    x, y = ([scores.values(v, part) for scores, part in strata] for v in (0, 1))
    return permutation.permuted_scores(x, y, B, rng, advance)
