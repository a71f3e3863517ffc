"""Tests of distributions: identities, references, and what they refuse."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import statsmodels.api as sm
from scipy import stats

from ldpstats.errors import InvalidArgument, NotIdentified
from ldpstats.inference import pearson, tests
from ldpstats.inference.tests import TestResult
from ldpstats.problems.covariance import Covariance, independent_bits, multinomial, uniformised

Array = npt.NDArray[Any]


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


# ---- TestResult


@pytest.mark.parametrize(("statistic", "df"), [(3.2, 4), (np.inf, (3.0, 96.5)), (-1.5, None)])
def test_results_survive_json(statistic: float, df: float | tuple[float, ...] | None) -> None:
    result = TestResult("the two samples have the same p", statistic, df, 0.25, "Wald", "a note")
    document = json.dumps(result.to_dict(), allow_nan=False)
    assert TestResult.from_dict(json.loads(document)) == result


def test_a_result_prints_its_null() -> None:
    text = str(TestResult("p is uniform", np.inf, (3, 9.5), 0.0, "Some test", "an output was new"))
    assert text.splitlines() == [
        "Some test",
        "  H0: p is uniform",
        "  statistic inf, df 3, 9.5, p-value 0",
        "  Note: an output was new",
    ]
    assert "df" not in str(TestResult("p is uniform", 1.0, None, 0.3, "Some test"))
    with pytest.raises(InvalidArgument, match="pvalue"):
        TestResult("p is uniform", 1.0, None, 1.3, "Some test")
    with pytest.raises(InvalidArgument, match="NaN"):
        TestResult("p is uniform", np.nan, None, 0.3, "Some test")


# ---- one estimate at a time


def test_z_test() -> None:
    z, p = tests.z_test([[0.3, 0.1]], [0.1, 0.2], 0.1, "smaller")
    np.testing.assert_allclose(z, [[2.0, 0.0]], atol=1e-15)
    np.testing.assert_allclose(p, stats.norm.cdf([[2.0, 0.0]]))
    z, p = tests.z_test([0.0, 0.1, -0.1], 0.0)
    assert z.tolist() == [0.0, np.inf, -np.inf]
    assert p.tolist() == [1.0, 0.0, 0.0]


def test_binomial_excess_against_scipy() -> None:
    for t in (0, 1, 5, 9, 10):
        less = stats.binomtest(t, 10, 0.3, alternative="less").pvalue
        more = stats.binomtest(t, 10, 0.3, alternative="greater").pvalue
        assert tests.binomial_excess(t, 10, 0.3, 0.5) == pytest.approx(more, rel=1e-12)
        assert tests.binomial_excess(t, 10, 0.3, -0.2) == pytest.approx(less, rel=1e-12)
    far = tests.binomial_excess([700_000_000], 1_000_000_000, 0.6999, 0.1)
    assert far[0] == pytest.approx(stats.binom.sf(699_999_999, 1_000_000_000, 0.6999), rel=1e-6)
    # A report that is impossible unless p > 0.
    assert tests.binomial_excess([1, 0], 10, 0.0, 0.5).tolist() == [0.0, 1.0]


def test_wald_against_statsmodels() -> None:
    rng = np.random.default_rng(12)
    X = rng.normal(size=(60, 4))
    fit = sm.OLS(X @ [1.0, 0.2, 0.0, 0.0] + rng.normal(size=60), X).fit()
    R, value = np.array([[1.0, -1, 0, 0], [0, 0, 1, 2], [0, 1, 1, 0]]), np.array([0.7, 0.0, 0.1])
    theirs = fit.wald_test((R, value), use_f=False, scalar=True)
    ours, df = tests.wald(R, value, fit.params, Covariance.dense(fit.cov_params()))
    assert ours == pytest.approx(float(theirs.statistic), rel=1e-9)
    assert df == 3
    # The same test after any invertible change of the restrictions, and with one repeated.
    change = rng.normal(size=(3, 3))
    R2, value2 = np.vstack([change @ R, R[:1] * 1e6]), np.append(change @ value, value[0] * 1e6)
    again, df2 = tests.wald(R2, value2, fit.params, Covariance.dense(fit.cov_params()))
    assert again == pytest.approx(ours, rel=1e-7)
    assert df2 == 3


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_wald_knows_what_is_certain(epsilon: float) -> None:
    k, n = 6, 5000
    Q, a, b = krr(k, epsilon)
    counts = np.random.default_rng(13).multinomial(n, decreasing(k) @ Q)
    p = (counts / n - b) / a
    V = uniformised(p, a, b, n)
    for covariance in (V, Covariance.dense(V.matrix())):
        contrast = np.array([[1.0, -1, 0, 0, 0, 0]])
        alone, df = tests.wald(contrast, [0], p, covariance)
        assert alone == pytest.approx((p[0] - p[1]) ** 2 / V.transform(contrast)[0, 0], rel=1e-9)
        assert df == 1
        total = np.ones((1, k))
        with_sum, df = tests.wald(np.vstack([contrast, total]), [0, 1], p, covariance)
        assert with_sum == pytest.approx(alone, rel=1e-7)
        assert df == 1
        with pytest.raises(InvalidArgument, match="contradicts what is known"):
            tests.wald(np.vstack([contrast, total]), [0, 2], p, covariance)
        with pytest.raises(InvalidArgument, match="contradicts"):
            tests.wald(np.vstack([contrast, 2 * contrast]), [0, 1], p, covariance)
        with pytest.raises(InvalidArgument, match="nothing to test"):
            tests.wald(total, [1], p, covariance)
        # All of p = p0 at once has k restrictions and k - 1 degrees of freedom.
        full, df = tests.wald(np.eye(k), decreasing(k), p, covariance)
        expected, expected_df = pearson.given_distribution(p, V, decreasing(k))
        assert full == pytest.approx(float(expected), rel=1e-6)
        assert df == expected_df


# ---- quadratic forms


@pytest.mark.parametrize("tangent", [True, False])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_structured_quadratic_equals_dense(epsilon: float, tangent: bool) -> None:
    rng = np.random.default_rng(14)
    k = 12
    p, d = decreasing(k), rng.normal(size=(7, k)) / 50
    p1 = 1 / (1 + np.exp(-epsilon / 2))
    bits = independent_bits(p, p1, 1 - p1, 1000).scaled((2 * p1 - 1) ** -2)
    a, b = coefficients(k, epsilon)
    cases = [bits, bits + uniformised(p, a, b, 500), bits.without_excess(p)]
    if tangent:
        cases += [uniformised(p, a, b, 500), uniformised(p, a, b, 500) + bits]
        d -= d.mean(axis=1, keepdims=True)
    for V in cases:
        if not tangent and V is cases[2]:
            with pytest.raises(NotIdentified):
                tests.quadratic(d, V, tangent)
            continue
        structured, df = tests.quadratic(d, V, tangent)
        dense, dense_df = tests.quadratic(d, V.matrix(), tangent)
        np.testing.assert_allclose(structured, dense, rtol=1e-9)
        assert df == dense_df == k - tangent
        # By the book: an orthonormal basis of contrasts.
        B = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, 1:]]))[0][:, 1:]
        B = B if tangent else np.eye(k)
        book = [x @ B @ np.linalg.solve(B.T @ V.matrix() @ B, B.T @ x) for x in d]
        np.testing.assert_allclose(structured, book, rtol=1e-8)


def test_quadratic_at_a_million_categories() -> None:
    k, n = 1_000_000, 10_000_000
    a, b = coefficients(k, 12.0)
    p0 = np.full(k, 1 / k)
    counts = np.random.default_rng(15).multinomial(n, b + a * p0)
    statistic, df = pearson.given_distribution((counts / n - b) / a, uniformised(p0, a, b, n), p0)
    by_counts, pearson_df = pearson.pearson_given(counts, b + a * p0)
    assert statistic == pytest.approx(float(by_counts), rel=1e-10)
    assert df == pearson_df == k - 1
    assert abs(statistic - df) < 5 * np.sqrt(2 * df)


def test_quadratic_refuses_what_is_singular() -> None:
    V = multinomial([0.5, 0.5, 0.0], n=10)
    with pytest.raises(NotIdentified):
        tests.quadratic([0.1, -0.1, 0.0], V)
    with pytest.raises(NotIdentified):
        tests.quadratic([0.1, -0.1], multinomial([0.5, 0.5], n=10), tangent=False)
    with pytest.raises(InvalidArgument, match="at least two"):
        tests.quadratic([0.1], [[1.0]])
    with pytest.raises(InvalidArgument, match="last axis of 2"):
        tests.quadratic([0.1], np.eye(2))
    indefinite = Covariance(np.ones(2), np.array([[-9.0]]), np.array([[1.0], [-1.0]]))
    with pytest.raises(InvalidArgument, match="negative eigenvalue"):
        tests.quadratic([0.1, -0.1], indefinite)
