"""Pearson's tests, and the size of the tests of distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from ldpstats.inference import pearson, tests
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.problems.covariance import independent_bits, uniformised

Array = npt.NDArray[Any]

REPS = 1000
BAND = 4 * np.sqrt(0.05 * 0.95 / REPS)  # four Monte Carlo standard errors of a size near .05


def coefficients(k: int, epsilon: float) -> tuple[float, float]:
    """a and b of k-RR, Q = a I + b 11'."""
    b = float(1 / (np.exp(epsilon) + k - 1))
    return float(np.expm1(epsilon)) * b, b


def krr(k: int, epsilon: float) -> tuple[Array, float, float]:
    """Q, a and b of k-RR."""
    a, b = coefficients(k, epsilon)
    return a * np.eye(k) + b, a, b


def decreasing(k: int) -> Array:
    p = 0.8 ** np.arange(k)
    return np.asarray(p / p.sum())


def bit_sums(rng: np.random.Generator, p: Array, p1: float, p0: float, n: int) -> Array:
    """Sums of the bits of n unary reports, in REPS surveys."""
    having = rng.multinomial(n, p, size=REPS)
    return rng.binomial(having, p1) + rng.binomial(n - having, p0)


def size(statistic: Array, df: int | Array) -> float:
    return float(np.mean(chi2_pvalue(statistic, df) < 0.05))


# ---- Pearson


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.1), (10, 1.0), (50, 5.0)])
def test_given_distribution_is_pearson_on_krr_reports(k: int, epsilon: float) -> None:
    n, p0 = 3000, decreasing(k)
    Q, a, b = krr(k, epsilon)
    counts = np.random.default_rng(16).multinomial(n, p0 @ Q, size=20)
    estimate = (counts / n - b) / a
    wald, df = pearson.given_distribution(estimate, uniformised(p0, a, b, n), p0)
    by_counts, pearson_df = pearson.pearson_given(counts, p0 @ Q)
    np.testing.assert_allclose(wald, by_counts, rtol=1e-10)
    assert df == pearson_df == k - 1
    np.testing.assert_allclose(by_counts, stats.chisquare(counts, n * (p0 @ Q), axis=1).statistic)


def test_an_impossible_output_refutes_the_null() -> None:
    statistic, df = pearson.pearson_given([[5, 5, 0], [5, 4, 1]], [0.5, 0.5, 0.0])
    assert statistic.tolist() == [0.0, np.inf]
    assert df == 1
    assert chi2_pvalue(statistic, df).tolist() == [1.0, 0.0]


def test_two_samples_against_scipy_and_wald() -> None:
    rng = np.random.default_rng(17)
    Q, a, b = krr(6, 1.0)
    first, second = rng.multinomial(900, decreasing(6) @ Q), rng.multinomial(400, decreasing(6) @ Q)
    statistic, df = pearson.two_sample_pearson(first, second)
    reference = stats.chi2_contingency([first, second])
    assert statistic == pytest.approx(reference.statistic, rel=1e-12)
    assert df == reference.dof
    # With the covariance pooled under the null, the Wald test of the estimates is the same.
    pooled = ((first + second) / 1300 - b) / a
    wald, wald_df = pearson.two_sample_wald(
        (first / 900 - b) / a,
        (second / 400 - b) / a,
        uniformised(pooled, a, b, 900),
        uniformised(pooled, a, b, 400),
    )
    assert wald == pytest.approx(float(statistic), rel=1e-10)
    assert wald_df == df


def test_two_samples_in_batches_with_outputs_never_seen() -> None:
    first = np.array([[5, 5, 0], [3, 3, 4]])
    statistic, df = pearson.two_sample_pearson(first, [[2, 8, 0], [5, 5, 0]])
    assert df.tolist() == [1, 2]
    assert statistic[0] == pytest.approx(stats.chi2_contingency([[5, 5], [2, 8]], False).statistic)


# ---- size of the tests of distributions


def test_size_of_given_distribution_unary() -> None:
    k, n, p0 = 10, 500, decreasing(10)
    on = float(1 / (1 + np.exp(-0.5)))
    off = 1 - on
    sums = bit_sums(np.random.default_rng(19), p0, on, off, n)
    estimate = (sums / n - off) / (on - off)
    null = independent_bits(p0, on, off, n).scaled((on - off) ** -2)
    assert size(*pearson.given_distribution(estimate, null, p0)) == pytest.approx(0.05, abs=BAND)
    full = tests.quadratic(estimate - p0, null, tangent=False)
    assert size(*full) == pytest.approx(0.05, abs=BAND)
    # Control: Pearson's sum over bits, as if each report had a single one.
    m0 = off + (on - off) * p0
    naive = np.sum((sums - n * m0) ** 2 / (n * m0), axis=1)
    assert size(naive, k - 1) < 0.05 - BAND


def test_size_of_two_samples_with_different_epsilons() -> None:
    p, n_a, n_b = decreasing(6), 2000, 3000
    rng = np.random.default_rng(21)
    (Q_a, a_a, b_a), (Q_b, a_b, b_b) = krr(6, 1.0), krr(6, 2.0)
    first, second = rng.multinomial(n_a, p @ Q_a, REPS), rng.multinomial(n_b, p @ Q_b, REPS)
    est_a, est_b = (first / n_a - b_a) / a_a, (second / n_b - b_b) / a_b
    weight = n_b * a_b**2 / (n_a * a_a**2 + n_b * a_b**2)
    found = []
    for x, y in zip(est_a, est_b, strict=True):
        pooled = (1 - weight) * x + weight * y
        V_a, V_b = uniformised(pooled, a_a, b_a, n_a), uniformised(pooled, a_b, b_b, n_b)
        found.append(float(pearson.two_sample_wald(x, y, V_a, V_b)[0]))
    assert size(np.array(found), 5) == pytest.approx(0.05, abs=BAND)
    # Control: Pearson's test needs one channel.
    assert size(*pearson.two_sample_pearson(first, second)) > 0.5
