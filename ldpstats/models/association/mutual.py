"""Score test that three or more variables are mutually independent.

Scores are whitened, variable by variable; if the variables are independent, all products of those
of two or more variables are uncorrelated with variance one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.inference.tables.cross_moments import unvarying
from ldpstats.inference.tables.permutation_moments import Cumulants, Spread, blocks_of, moments
from ldpstats.inference.tests import TestResult
from ldpstats.models.association.evidence import Evidence
from ldpstats.models.association.groups import JointGroup, Scores
from ldpstats.models.association.pvalues import (
    BY_MOMENTS,
    by_permutations,
    doubt,
    null_hypothesis,
    permutations,
    smallest_expected,
)
from ldpstats.problems.rows.joint import Factor, JointRows

__all__ = ["REPEATED", "mutual_test"]

Array = npt.NDArray[Any]

REPEATED = 2000  # combinations among which equal patterns of bits are looked for


def mutual_test(
    evidence: Evidence,
    rng: np.random.Generator | None,
    n_permutations: int | None,
    advance: Callable[[float], None],
) -> TestResult:
    """The test of three or more variables, by permutation where that is asked for and needed."""
    if len(evidence.scores) > 1 or len(evidence.groups[0].slices) > 1:
        raise NotAvailable(
            "mutual independence of three or more variables is tested in one group without shared "
            "cohorts: test pairs of them"
        )
    (scores,), N = evidence.scores, evidence.nobs
    group = scores.group
    factors = [_white(scores, v, name) for v, name in enumerate(evidence.names)]
    ranks = [factor.W.shape[1] - 1 for factor in factors]
    varying = np.indices([r + 1 for r in ranks]).astype(bool).sum(axis=0).reshape(-1) >= 2

    def statistic(rows: JointRows, n: Array) -> float:
        return float(np.sum((rows.adjoint(n) / N)[varying] ** 2)) * N

    found = statistic(JointRows(tuple(factors)), group.counts.n)
    df = prod(r + 1 for r in ranks) - sum(ranks) - 1
    null, method = null_hypothesis(evidence.names), "score test of mutual independence"
    smallest = smallest_expected(evidence)
    B = permutations(rng, n_permutations, smallest)
    if not B or rng is None:
        p = max(_law(factors, group).pvalue(found), _probability_of_cells(group))
        how = f"{method}, {BY_MOMENTS}"
        return TestResult(null, found, float(df), p, how, doubt(smallest))
    each = np.repeat(np.arange(len(group.counts.n)), group.counts.n)
    first, *others = [Factor(f.W, each if f.index is None else f.index[each]) for f in factors]
    draws = np.empty(B)
    for i in range(B):
        drawn = JointRows((first, *(f.select(rng.permutation(N)) for f in others)))
        draws[i] = statistic(drawn, np.ones(N))
        advance((i + 1) / B)
    return by_permutations(null, found, df, draws, method)


def _law(factors: Sequence[Factor], group: JointGroup) -> Cumulants:
    """Cumulants of the statistic when the reports of each variable are permuted."""
    white = []
    for factor, counts in zip(factors, group.variables, strict=True):
        rank = factor.W.shape[1] - 1
        rows = blocks_of(factor.W[:, 1:], counts.n)
        white.append(Spread.of(rows, np.zeros(rank), np.eye(rank)))
    m = moments(white)
    return Cumulants.of_moments(*(value / group.nobs ** (e + 1) for e, value in enumerate(m)))


def _probability_of_cells(group: JointGroup) -> float:
    """Probability of the combinations of reports that were seen, given how often each report was.

    Zero where reports hardly ever repeat and are many: it is then next to nothing.
    """
    from scipy.special import gammaln

    n, everything = group.counts.n, slice(0, len(group.counts.n))
    if len(n) > REPEATED and any(index is None for index in group.index):
        return 0.0
    codes = [group.distinct(v, everything)[0] for v in range(len(group.index))]
    cells = np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].reshape(-1)
    each, total = gammaln(n.sum() + 1.0), -gammaln(np.bincount(cells, n) + 1.0).sum()
    total += sum(gammaln(np.bincount(code, n) + 1.0).sum() for code in codes)
    return float(np.exp(total - (len(codes) - 1) * each))


def _white(scores: Scores, v: int, name: str) -> Factor:
    """A one and the whitened scores of variable v, of each of its distinct reports."""
    centred, n = scores.centred(v, slice(None)), scores.group.variables[v].n
    mean = n @ centred / n.sum()
    square = (centred.T * n) @ centred / n.sum()
    values, vectors = np.linalg.eigh(square - np.outer(mean, mean))
    kept = values > 1e-9 * values[-1]
    if values[-1] <= 0.0:
        raise unvarying(name)
    W = vectors[:, kept] / np.sqrt(values[kept])
    white, index = (centred - mean) @ W, scores.group.index[v]
    return Factor(
        np.column_stack([np.ones(len(white)), white]),
        np.arange(len(white)) if index is None else index,
    )
