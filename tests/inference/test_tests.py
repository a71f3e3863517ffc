"""Tests of distributions: identities, references, size, and what they refuse."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.multitest import multipletests

from ldpstats import InvalidArgument, NotAvailable, NotIdentified, TestResult
from ldpstats.inference import goodness, tests
from ldpstats.inference.information import (
    checked_inverse,
    expected_information,
    fpe16,
    observed_tangent_inverse,
    tangent_inverse,
)
from ldpstats.inference.tails import chi2_pvalue, normal_pvalue
from ldpstats.inference.tests import METHODS, adjust, reject
from ldpstats.likelihood.covariance import Covariance, independent_bits, multinomial, uniformised

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


def test_a_result_prints_its_null():
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
def test_z_test():
    z, p = tests.z_test([[0.3, 0.1]], [0.1, 0.2], 0.1, "smaller")
    np.testing.assert_allclose(z, [[2.0, 0.0]], atol=1e-15)
    np.testing.assert_allclose(p, stats.norm.cdf([[2.0, 0.0]]))
    z, p = tests.z_test([0.0, 0.1, -0.1], 0.0)
    assert z.tolist() == [0.0, np.inf, -np.inf]
    assert p.tolist() == [1.0, 0.0, 0.0]


def test_binomial_excess_against_scipy():
    for t in (0, 1, 5, 9, 10):
        less = stats.binomtest(t, 10, 0.3, alternative="less").pvalue
        more = stats.binomtest(t, 10, 0.3, alternative="greater").pvalue
        assert tests.binomial_excess(t, 10, 0.3, 0.5) == pytest.approx(more, rel=1e-12)
        assert tests.binomial_excess(t, 10, 0.3, -0.2) == pytest.approx(less, rel=1e-12)
    far = tests.binomial_excess([700_000_000], 1_000_000_000, 0.6999, 0.1)
    assert far[0] == pytest.approx(stats.binom.sf(699_999_999, 1_000_000_000, 0.6999), rel=1e-6)
    # A report that is impossible unless p > 0.
    assert tests.binomial_excess([1, 0], 10, 0.0, 0.5).tolist() == [0.0, 1.0]


def test_wald_against_statsmodels():
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
def test_wald_knows_what_is_certain(epsilon):
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
        expected, expected_df = goodness.given_distribution(p, V, decreasing(k))
        assert full == pytest.approx(float(expected), rel=1e-6)
        assert df == expected_df


# ---- quadratic forms
@pytest.mark.parametrize("tangent", [True, False])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_structured_quadratic_equals_dense(epsilon, tangent):
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


def test_quadratic_at_a_million_categories():
    k, n = 1_000_000, 10_000_000
    a, b = coefficients(k, 12.0)
    p0 = np.full(k, 1 / k)
    counts = np.random.default_rng(15).multinomial(n, b + a * p0)
    statistic, df = goodness.given_distribution((counts / n - b) / a, uniformised(p0, a, b, n), p0)
    by_counts, pearson_df = goodness.pearson_given(counts, b + a * p0)
    assert statistic == pytest.approx(float(by_counts), rel=1e-10)
    assert df == pearson_df == k - 1
    assert abs(statistic - df) < 5 * np.sqrt(2 * df)


def test_quadratic_refuses_what_is_singular():
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


# -- pearson ---------------------------------------------------------------------------------------
REPS = 1000

BAND = 4 * np.sqrt(0.05 * 0.95 / REPS)  # four Monte Carlo standard errors of a size near .05


def bit_sums(rng: np.random.Generator, p: Array, p1: float, p0: float, n: int) -> Array:
    """Sums of the bits of n unary reports, in REPS surveys."""
    having = rng.multinomial(n, p, size=REPS)
    return rng.binomial(having, p1) + rng.binomial(n - having, p0)


def size(statistic: Array, df: int | Array) -> float:
    return float(np.mean(chi2_pvalue(statistic, df) < 0.05))


# ---- Pearson
@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.1), (10, 1.0), (50, 5.0)])
def test_given_distribution_is_pearson_on_krr_reports(k, epsilon):
    n, p0 = 3000, decreasing(k)
    Q, a, b = krr(k, epsilon)
    counts = np.random.default_rng(16).multinomial(n, p0 @ Q, size=20)
    estimate = (counts / n - b) / a
    wald, df = goodness.given_distribution(estimate, uniformised(p0, a, b, n), p0)
    by_counts, pearson_df = goodness.pearson_given(counts, p0 @ Q)
    np.testing.assert_allclose(wald, by_counts, rtol=1e-10)
    assert df == pearson_df == k - 1
    np.testing.assert_allclose(by_counts, stats.chisquare(counts, n * (p0 @ Q), axis=1).statistic)


def test_an_impossible_output_refutes_the_null():
    statistic, df = goodness.pearson_given([[5, 5, 0], [5, 4, 1]], [0.5, 0.5, 0.0])
    assert statistic.tolist() == [0.0, np.inf]
    assert df == 1
    assert chi2_pvalue(statistic, df).tolist() == [1.0, 0.0]


def test_two_samples_against_scipy_and_wald():
    rng = np.random.default_rng(17)
    Q, a, b = krr(6, 1.0)
    first, second = rng.multinomial(900, decreasing(6) @ Q), rng.multinomial(400, decreasing(6) @ Q)
    statistic, df = goodness.two_sample_pearson(first, second)
    reference = stats.chi2_contingency([first, second])
    assert statistic == pytest.approx(reference.statistic, rel=1e-12)
    assert df == reference.dof
    # With the covariance pooled under the null, the Wald test of the estimates is the same.
    pooled = ((first + second) / 1300 - b) / a
    wald, wald_df = goodness.two_sample_wald(
        (first / 900 - b) / a,
        (second / 400 - b) / a,
        uniformised(pooled, a, b, 900),
        uniformised(pooled, a, b, 400),
    )
    assert wald == pytest.approx(float(statistic), rel=1e-10)
    assert wald_df == df


def test_two_samples_in_batches_with_outputs_never_seen():
    first = np.array([[5, 5, 0], [3, 3, 4]])
    statistic, df = goodness.two_sample_pearson(first, [[2, 8, 0], [5, 5, 0]])
    assert df.tolist() == [1, 2]
    assert statistic[0] == pytest.approx(stats.chi2_contingency([[5, 5], [2, 8]], False).statistic)


# ---- size of the tests of distributions
def test_size_of_given_distribution_unary():
    k, n, p0 = 10, 500, decreasing(10)
    on = float(1 / (1 + np.exp(-0.5)))
    off = 1 - on
    sums = bit_sums(np.random.default_rng(19), p0, on, off, n)
    estimate = (sums / n - off) / (on - off)
    null = independent_bits(p0, on, off, n).scaled((on - off) ** -2)
    assert size(*goodness.given_distribution(estimate, null, p0)) == pytest.approx(0.05, abs=BAND)
    full = tests.quadratic(estimate - p0, null, tangent=False)
    assert size(*full) == pytest.approx(0.05, abs=BAND)
    # Control: Pearson's sum over bits, as if each report had a single one.
    m0 = off + (on - off) * p0
    naive = np.sum((sums - n * m0) ** 2 / (n * m0), axis=1)
    assert size(naive, k - 1) < 0.05 - BAND


def test_size_of_two_samples_with_different_epsilons():
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
        found.append(float(goodness.two_sample_wald(x, y, V_a, V_b)[0]))
    assert size(np.array(found), 5) == pytest.approx(0.05, abs=BAND)
    # Control: Pearson's test needs one channel.
    assert size(*goodness.two_sample_pearson(first, second)) > 0.5


# -- goodness --------------------------------------------------------------------------------------
RECTANGULAR = np.random.default_rng(22).dirichlet(2 * np.ones(7), size=4)


def test_size_of_channel_fit():
    p = np.array([0.6, 0.4, 0.0, 0.0])  # the test does not mind the boundary
    rng = np.random.default_rng(23)
    counts = rng.multinomial(2000, p @ RECTANGULAR, size=REPS)
    statistic, df = goodness.channel_fit(counts, RECTANGULAR)
    assert df == 3
    assert size(statistic, df) == pytest.approx(0.05, abs=BAND)
    single, _ = goodness.channel_fit(counts[5], RECTANGULAR)
    assert single == pytest.approx(float(statistic[5]), rel=1e-12)
    # Control: another channel's reports, and the df of a full multinomial.
    wrong = rng.multinomial(2000, p @ np.roll(RECTANGULAR, 1, axis=1), size=REPS)
    assert size(*goodness.channel_fit(wrong, RECTANGULAR)) > 0.9
    assert size(statistic, 6) < 0.05 - BAND


def test_channel_fit_is_zero_on_exact_counts_of_any_sign():
    Q = np.array([[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]])
    p = np.array([1.2, -0.2])  # outside the simplex, but pQ is a law
    statistic, df = goodness.channel_fit(np.round(p @ Q * 1000), Q)
    assert statistic == pytest.approx(0, abs=1e-18)
    assert df == 1
    # A duplicated category lowers the rank, not the fit; an output nobody emits takes no part.
    padded = np.column_stack([np.vstack([Q, Q[:1]]), np.zeros(3)])
    again, df = goodness.channel_fit([[300, 260, 440, 0], [300, 260, 440, 1]], padded)
    assert again.tolist() == [pytest.approx(22.5, rel=1e-9), np.inf]
    assert df == 1


def test_channel_fit_refusals():
    with pytest.raises(NotAvailable, match="every law"):
        goodness.channel_fit([5, 5], np.eye(2))
    with pytest.raises(NotAvailable, match="collect more reports"):
        goodness.channel_fit([300, 0, 0], [[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]])
    with pytest.raises(InvalidArgument, match="columns"):
        goodness.channel_fit([5, 5], np.ones((2, 3)) / 3)


@pytest.mark.parametrize(("p1", "p0"), [(0.75, 0.25), (0.5, 0.1), (1.0, 0.0)])
def test_popcount_law_by_enumeration(p1, p0):
    k = 4
    reports = np.array(list(itertools.product((0, 1), repeat=k)))
    for x in range(k):
        law = np.where(np.arange(k) == x, p1, p0)
        weight = np.prod(np.where(reports == 1, law, 1 - law), axis=1)
        brute = np.bincount(reports.sum(axis=1), weights=weight, minlength=k + 1)
        np.testing.assert_allclose(goodness.popcount_law(k, p1, p0), brute, atol=1e-15)


def test_size_of_popcount_and_bit_total():
    k, n, p1, p0 = 20, 1000, 0.5, 0.27
    rng = np.random.default_rng(24)

    def surveys(off: float) -> tuple[Array, Array]:
        ones = rng.binomial(1, p1, size=(REPS, n)) + rng.binomial(k - 1, off, size=(REPS, n))
        histogram = np.stack([np.sum(ones == j, axis=1) for j in range(k + 1)], axis=1)
        return histogram, ones.sum(axis=1)

    histogram, total = surveys(p0)
    statistic, df = goodness.popcount_fit(histogram, p1, p0)
    assert 5 < df < k
    assert size(statistic, df) == pytest.approx(0.05, abs=BAND)
    z, p = goodness.bit_total_fit(total, n, k, p1, p0)
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=BAND)
    assert np.std(z) == pytest.approx(1, abs=4 / np.sqrt(2 * REPS))
    # Control: clients that flip with another probability.
    histogram, total = surveys(0.29)
    assert size(*goodness.popcount_fit(histogram, p1, p0)) > 0.5
    assert np.mean(goodness.bit_total_fit(total, n, k, p1, p0)[1] < 0.05) > 0.5


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
def test_few_reports_do_not_contradict_a_channel(epsilon):
    """P(p < alpha) is at most alpha for one report of geometric noise, whatever the answer.

    By enumeration: every report, and the law that makes it likeliest, as a fit has it. The two
    tails alone fall far below the probability of a report in the middle (the control).
    """
    k = 8
    a = np.exp(-epsilon / (k - 1))
    Q = (1 - a) / (1 + a) * a ** np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    Q[:, [0, -1]] /= 1 - a
    inverse, found = np.linalg.inv(Q).T, np.empty(k)
    for y in range(k):
        law = Q[np.argmax(Q[:, y])]
        z, p = goodness.negative_estimates(np.eye(k, dtype=int)[y], inverse, law)
        found[y] = min(1.0, k * p.min())
        assert np.all(p >= law[y] - 1e-15)
        if epsilon < 1.0 and 0 < y < k - 1:
            assert normal_pvalue(z.min(), "smaller") < 1e-3 * law[y]
    for alpha in (1e-3, 0.01, 0.05):
        assert np.all(Q @ (found < alpha) <= alpha)


# Adjusted p-values.

P = np.array([0.01, 0.02, 0.03, 0.04, 0.5])


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("bonferroni", [0.05, 0.10, 0.15, 0.20, 1.0]),
        ("holm", [0.05, 0.08, 0.09, 0.09, 0.5]),
        ("bh", [0.05, 0.05, 0.05, 0.05, 0.5]),
    ],
)
def test_adjusted_pvalues_by_hand(method, expected):
    np.testing.assert_allclose(adjust(P, method), expected, rtol=1e-12)
    # The order of the hypotheses does not matter.
    shuffled = np.array([3, 0, 4, 2, 1])
    np.testing.assert_allclose(adjust(P[shuffled], method), np.array(expected)[shuffled])


@pytest.mark.parametrize("method", METHODS)
def test_against_statsmodels(method):
    rng = np.random.default_rng(9)
    theirs = {"bonferroni": "bonferroni", "holm": "holm", "bh": "fdr_bh"}[method]
    families = rng.random((5, 40)) ** 3
    families[2, 10:20] = families[2, 3]  # ties
    found = adjust(families, method)
    for p, ours in zip(families, found, strict=True):
        np.testing.assert_allclose(ours, multipletests(p, method=theirs)[1], rtol=1e-12)


def test_error_rates():
    rng = np.random.default_rng(11)
    reps, k, real = 2000, 20, 8
    z = rng.normal(size=(reps, k))
    z[:, :real] += 3.0
    p = stats.norm.sf(z)
    band = 4 * np.sqrt(0.05 * 0.95 / reps)
    wrong = {}
    for method in METHODS:
        rejected = reject(p, 0.05, method)
        false = rejected[:, real:].sum(axis=1)
        wrong[method] = float(np.mean(false > 0))
        share = np.mean(false / np.maximum(rejected.sum(axis=1), 1))
        assert share < 0.05 + band
    assert wrong["bonferroni"] <= wrong["holm"] < 0.05 + band
    # Controls: BH does not bound the probability of any false rejection, nor do raw p-values.
    assert wrong["bh"] > 0.05 + band
    assert np.mean(p[:, real:].min(axis=1) < 0.05) > 0.4


def test_shares_of_the_level():
    shares = np.array([0.4, 0.3, 0.2, 0.05, 0.05])
    np.testing.assert_allclose(adjust(P, shares=shares), [0.025, 0.2 / 3.0, 0.15, 0.8, 1.0])
    np.testing.assert_allclose(adjust(P, shares=np.full(5, 0.2)), adjust(P), rtol=1e-12)
    assert reject(P, 0.05, shares=shares).tolist() == [True, False, False, False, False]
    rng = np.random.default_rng(12)
    reps = 4_000
    false = reject(rng.random((reps, 5)), 0.05, shares=shares).any(axis=1).mean()
    # all hypotheses true and independent: 1 - prod(1 - .05 w), within four standard errors
    exact = 1.0 - np.prod(1.0 - 0.05 * shares)
    assert abs(false - exact) < 4 * np.sqrt(exact * (1 - exact) / reps)


# Information of a likelihood, up to a million categories.

ArrayInformation = npt.NDArray[np.float64]


def krr_information(k: int, epsilon: float) -> tuple[ArrayInformation, float, float]:
    """Q, a and b of k-RR, Q = a I + b 11'."""
    a, b = np.expm1(epsilon) / (np.exp(epsilon) + k - 1), 1 / (np.exp(epsilon) + k - 1)
    return a * np.eye(k) + b, float(a), float(b)


def channels() -> list[ArrayInformation]:
    rng = np.random.default_rng(1)
    return [
        krr_information(4, 1.0)[0],
        *(rng.dirichlet(np.ones(width), size=4) for width in (4, 7, 16)),
    ]


def tangent_basis(k: int) -> ArrayInformation:
    """An orthonormal basis of the directions that sum to zero, by QR."""
    return np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, 1:]]))[0][:, 1:]


@pytest.mark.parametrize("Q", channels(), ids=lambda Q: f"{Q.shape[0]}x{Q.shape[1]}")
def test_inverse_on_the_tangent_space(Q):
    p, n, k = np.array([0.4, 0.3, 0.2, 0.1]), 50.0, 4
    J = expected_information(Q, p, n)
    np.testing.assert_allclose(J @ p, n * np.ones(k), rtol=1e-12)
    inverse = np.linalg.inv(J)
    assert inverse.sum() == pytest.approx(1 / n, rel=1e-9)
    B = tangent_basis(k)
    by_basis = B @ np.linalg.inv(B.T @ J @ B) @ B.T
    scale = float(np.abs(inverse).max())
    np.testing.assert_allclose(inverse - np.outer(p, p) / n, by_basis, atol=1e-10 * scale)
    for V in (tangent_inverse(J, p, n), observed_tangent_inverse(J)):
        np.testing.assert_allclose(V.matrix(), by_basis, atol=1e-11 * scale)
        np.testing.assert_allclose(V.matrix().sum(axis=0), 0, atol=1e-13 * scale)
    np.testing.assert_allclose(fpe16(J).matrix(), inverse, atol=1e-11 * scale)


def test_fpe16_overstates_by_the_outer_product_of_p():
    Q, _, _ = krr_information(5, 4.0)
    p, n = np.array([0.9, 0.04, 0.03, 0.02, 0.01]), 10_000.0
    J = expected_information(Q, p, n)
    right, printed = tangent_inverse(J, p, n), fpe16(J)
    difference = printed.matrix() - right.matrix()
    np.testing.assert_allclose(difference, np.outer(p, p) / n, rtol=1e-8)
    # A sum that is certain has variance 0; the printed form claims 1/n.
    ones = np.ones((1, 5))
    assert right.transform(ones)[0, 0] == pytest.approx(0, abs=1e-18)
    assert printed.transform(ones)[0, 0] == pytest.approx(1 / n, rel=1e-9)
    # The ratio for the large cell that a simulation of 4000 surveys found to be 6.0.
    assert printed.variances()[0] / right.variances()[0] == pytest.approx(6.0, abs=0.3)


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.1), (5, 1.0), (20, 3.0), (50, 0.01), (300, 8.0)])
def test_uniformised_equals_the_dense_information(k, epsilon):
    Q, a, b = krr_information(k, epsilon)
    p = 0.8 ** np.arange(k)
    p /= p.sum()
    J = expected_information(Q, p, n=1000)
    # J holds n (1 + a^2 ...): what rounding leaves of its tangent part is about eps / a^2.
    rtol = max(1e-10, 100 * 2.2e-16 / a**2)
    np.testing.assert_allclose(
        tangent_inverse(J, p, 1000).variances(), uniformised(p, a, b, 1000).variances(), rtol=rtol
    )
    # J as a whole is worse conditioned than its tangent part, by a factor up to k
    expected = uniformised(p, a, b, 1000, fpe16=True).matrix()
    bound = 10 * k * rtol * float(np.abs(expected).max())
    np.testing.assert_allclose(fpe16(J).matrix(), expected, atol=bound)


def test_an_estimate_near_zero_does_not_spoil_the_others():
    p = np.array([1e-13, 0.5, 0.3, 0.2])
    p /= p.sum()
    V = observed_tangent_inverse(np.diag(100 / p)).matrix()
    expected = (np.diag(p) - np.outer(p, p)) / 100
    np.testing.assert_allclose(V[1:, 1:], expected[1:, 1:], rtol=1e-12)
    np.testing.assert_allclose(V[0, 0], expected[0, 0], rtol=1e-3)


def test_singular_off_the_tangent_space_only():
    B = tangent_basis(4)
    J = np.asarray(B @ B.T)  # no information about the sum, which needs none
    with pytest.raises(NotIdentified):
        fpe16(J)
    np.testing.assert_allclose(observed_tangent_inverse(J).matrix(), B @ B.T, atol=1e-14)


@pytest.mark.parametrize("k", [2, 5, 40, 300])
@pytest.mark.parametrize("deficiency", ["equal rows", "few outputs", "row is a mixture"])
def test_unidentified_channels_are_refused(k, deficiency):
    rng = np.random.default_rng(k)
    Q = rng.dirichlet(np.ones(k), size=k)
    if deficiency == "equal rows":
        Q[-1] = Q[0]
    elif deficiency == "few outputs":
        Q = rng.dirichlet(np.ones(max(1, k // 2)), size=k)
    else:
        Q[-1] = rng.dirichlet(np.ones(k - 1)) @ Q[:-1]
    p = rng.dirichlet(np.ones(k))
    J = expected_information(Q, p, n=1e5)
    with pytest.raises(NotIdentified, match="singular"):
        tangent_inverse(J, p, 1e5)
    with pytest.raises(NotIdentified, match="singular"):
        observed_tangent_inverse(J)
    with pytest.raises(NotIdentified, match="singular"):
        fpe16(J)


@pytest.mark.parametrize("k", [2, 20, 500])
def test_the_rank_rule_accepts_the_least_informative_channels(k):
    Q, a, b = krr_information(k, 0.1)  # a^2 = 1.1e-2/k^2, far below anything collected in practice
    p = np.full(k, 1 / k)
    V = tangent_inverse(expected_information(Q, p, 1.0), p, 1.0)
    np.testing.assert_allclose(V.variances(), uniformised(p, a, b, 1.0).variances(), rtol=1e-5)


def test_information_refusals():
    Q = np.array([[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(InvalidArgument, match="information is infinite"):
        expected_information(Q, [1.0, 0.0], n=10)
    with pytest.raises(InvalidArgument, match="2 rows"):
        expected_information(np.eye(3), [0.5, 0.5], n=10)
    with pytest.raises(InvalidArgument, match="J p = n 1"):
        tangent_inverse(np.eye(2), [0.5, 0.5], n=10)
    with pytest.raises(InvalidArgument, match="must have the shape"):
        tangent_inverse(np.eye(3), [0.5, 0.5], n=10)
    with pytest.raises(NotIdentified):
        uniformised([0.5, 0.5], a=0.0, b=0.5, n=10)
    with pytest.raises(NotIdentified):
        checked_inverse(np.array([[1.0, 2.0], [2.0, 1.0]]), "of a test")
