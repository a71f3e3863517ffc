"""Permuted tables and reports: their law, the p-value, and its size."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from shared.association_laws import COLUMNS, krr, one_hot, surveys

from ldpstats.errors import InvalidArgument, NotIdentified
from ldpstats.inference.tables.cross_moments import CrossMoments
from ldpstats.inference.tables.independence import score
from ldpstats.inference.tables.permutation import (
    permutation_pvalue,
    permuted_scores,
    permuted_table_scores,
)


def test_permuted_scores_are_the_scores_of_permuted_reports() -> None:
    """Every value that occurs is one of all 4! 3! permutations of two strata, at its frequency."""
    rng = np.random.default_rng(10)
    x = [rng.normal(size=(4, 2)), rng.normal(size=(3, 2))]
    y = [rng.normal(size=(4, 1)), rng.normal(size=(3, 1))]
    all_values = [
        score([CrossMoments.of_reports(a, b[list(i)]) for a, b, i in zip(x, y, order, strict=True)])
        for order in itertools.product(
            itertools.permutations(range(4)), itertools.permutations(range(3))
        )
    ]
    exact = np.sort([result.statistic for result in all_values])
    # what the weights of strata are for: the mean over all orders is df N/(N - 1)
    assert exact.mean() == pytest.approx(2 * 7 / 6, rel=1e-10)
    draws = permuted_scores(x, y, n_perm=4000, rng=np.random.default_rng(1))
    nearest = np.abs(draws[:, None] - exact).argmin(axis=1)
    np.testing.assert_allclose(draws, exact[nearest], rtol=1e-9, atol=1e-12)
    # 144 equally likely orders
    counts = np.bincount(nearest, minlength=144)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_random_tables_follow_the_law_of_permutations() -> None:
    strata = [np.array([[4, 1], [2, 3]]), np.array([[1, 2], [3, 0]])]
    labels = [np.eye(2)] * 2
    rng = np.random.default_rng(2)
    drawn = permuted_table_scores(strata, labels, labels, n_perm=20_000, rng=rng)
    exact: dict[float, float] = {}
    for (r, c, n), (s, d, m) in [(((5, 6, 10)), ((3, 4, 6)))]:
        for i, j in itertools.product(range(0, 6), range(0, 4)):
            chance = stats.hypergeom(n, r, c).pmf(i) * stats.hypergeom(m, s, d).pmf(j)
            if chance > 0:
                tables_ = [
                    np.array([[i, r - i], [c - i, n - r - c + i]]),
                    np.array([[j, s - j], [d - j, m - s - d + j]]),
                ]
                value = round(score([one_hot(t) for t in tables_]).statistic, 8)
                exact[value] = exact.get(value, 0.0) + chance
    values = np.array(sorted(exact))
    counts = np.array([np.sum(np.abs(drawn - value) < 1e-6) for value in values])
    assert counts.sum() == 20_000
    expected = 20_000 * np.array([exact[value] for value in values])
    big = expected > 5
    assert (
        stats.chisquare(
            [*counts[big], counts[~big].sum()][: big.sum() + (~big).any()],
            [*expected[big], expected[~big].sum()][: big.sum() + (~big).any()],
        ).pvalue
        > 1e-3
    )


def test_permutation_pvalue() -> None:
    assert permutation_pvalue(2.0, [1.0, 2.0, 3.0]) == 3 / 4
    assert permutation_pvalue(2.0 + 1e-12, [2.0]) == 1.0  # a tie up to rounding
    assert permutation_pvalue(2.0 + 1e-6, [2.0]) == 0.5
    for draws in ([], [np.nan], [[1.0]]):
        with pytest.raises(InvalidArgument, match="draws"):
            permutation_pvalue(1.0, draws)
    rng = np.random.default_rng(1)
    with pytest.raises(InvalidArgument, match="strata"):
        permuted_scores([np.ones((2, 1))], [], 9, rng)
    with pytest.raises(InvalidArgument, match="n_perm"):
        permuted_scores([np.eye(2)], [np.eye(2)], 0, rng)
    with pytest.raises(NotIdentified, match="first"):
        permuted_table_scores([[[3, 4], [0, 0]]], [np.eye(2)], [np.eye(2)], 9, rng)


def test_permutation_keeps_its_size_where_the_chi_square_law_does_not() -> None:
    """20 respondents in 2 x 4; the chi-square law is too cautious or too bold there."""
    P = np.outer([0.85, 0.15], COLUMNS)
    rng = np.random.default_rng(3)
    labels = [np.eye(2)], [np.eye(4)]
    pvalues = []
    for table in surveys(P, [krr(2, 3.0), krr(4, 3.0)], 20, 1000, seed=4):
        if not table.any(axis=1).all():
            continue  # X constant: nothing to test
        draws = permuted_table_scores([table], *labels, n_perm=99, rng=rng)
        pvalues.append(permutation_pvalue(score([one_hot(table)]).statistic, draws))
    size = np.mean(np.less_equal(pvalues, 0.05))
    assert 0.03 < size < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 1000)  # ties make it lower


def test_permuting_across_strata_is_wrong() -> None:
    """Two strata with opposite margins: dependent together, independent within."""
    rng = np.random.default_rng(5)
    laws = np.outer([0.8, 0.2], [0.9, 0.1]), np.outer([0.2, 0.8], [0.1, 0.9])
    strata = [rng.multinomial(60, law.ravel()).reshape(2, 2) for law in laws]
    labels = [np.eye(2)] * 2
    within = permuted_table_scores(strata, labels, labels, 999, rng)
    across = permuted_table_scores([sum(strata)], labels[:1], labels[:1], 999, rng)
    assert permutation_pvalue(score([one_hot(t) for t in strata]).statistic, within) > 0.01
    assert permutation_pvalue(score([one_hot(sum(strata))]).statistic, across) == 0.001
