"""The test of a linear trend: exact answers, size and bias."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from shared.association_laws import COLUMNS, ROWS, krr, near, one_hot, random_table, surveys

from ldpstats.errors import InvalidArgument
from ldpstats.inference.tables.cross_moments import CrossMoments
from ldpstats.inference.tables.independence import linear_trend, score
from ldpstats.inference.tails import normal_pvalue


def test_trend_of_exact_answers_is_their_correlation() -> None:
    table = random_table(12, (3, 4))
    u, v = np.array([1.0, 2.0, 4.0]), np.array([0.0, 1.0, 2.0, 3.0])
    i, j = (np.repeat(index.ravel(), table.ravel()) for index in np.indices(table.shape))
    z, covariance, correlation = linear_trend([one_hot(table)], u, v)
    assert correlation == pytest.approx(np.corrcoef(u[i], v[j])[0, 1], rel=1e-12)
    assert covariance == pytest.approx(np.cov(u[i], v[j], ddof=0)[0, 1], rel=1e-12)
    reference = sm.stats.Table(table).test_ordinal_association(u, v)
    n = table.sum()
    assert z == pytest.approx(reference.zscore * np.sqrt(n / (n - 1)), rel=1e-10)
    assert linear_trend([one_hot(table)], -u, v)[0] == pytest.approx(-z, rel=1e-12)


def test_trend_does_not_depend_on_where_scores_start() -> None:
    """The features of single bits do not sum to one, so that this takes centring."""
    rng = np.random.default_rng(13)
    parts = [
        CrossMoments.of_reports(
            (rng.integers(0, 2, size=(n, 3)) - 0.3) / 0.4,
            (rng.integers(0, 2, size=(n, 4)) - 0.3) / 0.4,
        )
        for n in (300, 500)
    ]
    first = linear_trend(parts, [1, 2, 3], [1, 2, 3, 4])
    years = linear_trend(parts, [2021, 2022, 2023], [10, 20, 30, 40])
    assert years[0] == pytest.approx(first[0], rel=1e-8)
    assert years[1] == pytest.approx(10 * first[1], rel=1e-8)


def test_size_and_bias_of_trend() -> None:
    channels = [krr(3, 1.0), krr(4, 1.0)]
    ax, by = (np.linalg.inv(Q) for Q in channels)
    u, v = np.arange(3.0), np.arange(4.0)
    independent = np.outer(ROWS, COLUMNS)
    z = [
        linear_trend([CrossMoments.of_table(t, ax, by)], u, v)[0]
        for t in surveys(independent, channels, 10_000, 600, seed=5)
    ]
    assert near(np.mean(normal_pvalue(z) < 0.05), 600)
    tilt = np.outer(u - ROWS @ u, v - COLUMNS @ v)
    P = independent * (1 + 0.35 * tilt)
    truth = 0.35 * (ROWS @ (u - ROWS @ u) ** 2) * (COLUMNS @ (v - COLUMNS @ v) ** 2)
    found = [
        linear_trend([CrossMoments.of_table(t, ax, by)], u, v)
        for t in surveys(P, channels, 10_000, 600, seed=6)
    ]
    estimates = np.array([covariance for _, covariance, _ in found])
    assert estimates.mean() == pytest.approx(truth, abs=4 * estimates.std() / np.sqrt(600))
    wide = [score([one_hot(t)]).pvalue for t in surveys(P, channels, 10_000, 600, seed=6)]
    power = np.mean(normal_pvalue([z for z, _, _ in found]) < 0.05)
    assert power > np.mean(np.less(wide, 0.05)) + 0.1  # that is what it is for


def test_bad_scores_are_refused() -> None:
    part = one_hot(random_table(14, (2, 3)))
    for u, v, name in (
        ([1, 2, 3], [1, 2, 3], "u"),
        ([1, 2], [1, 2], "v"),
        ([1, 2], [1, 1, 1], "v"),
        ([1, np.nan], [1, 2, 3], "u"),
    ):
        with pytest.raises(InvalidArgument, match=name):
            linear_trend([part], u, v)
    with pytest.raises(InvalidArgument, match="parts"):
        linear_trend([], [1, 2], [1, 2])
    # an estimated variance below 0: there is no correlation
    noisy = CrossMoments(
        9, part.cross, np.array([1.1, -0.1]), part.mean_y, 4 * np.eye(2), part.gram_y
    )
    assert np.isnan(linear_trend([noisy], [0, 1], [1, 2, 3])[2])
