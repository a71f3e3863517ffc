"""Goodness of fit: its size, empty categories, errors by hand; inference where reports are few."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from surveys import quiet

import ldpstats as ldp
from ldpstats.estimators import MLE
from ldpstats.inference import goodness
from ldpstats.inference.goodness import form_cumulants

Array = npt.NDArray[Any]
KRR = ldp.KRR(("nurse", "teacher", "driver", "cook"), epsilon=1.0)
MODEL = ldp.FrequencyModel(KRR.counts([600, 500, 480, 420]))


def goodness_of(counts: ldp.Counts) -> ldp.TestResult | None:
    return ldp.FrequencyModel(counts).fit_quietly("inversion").goodness_of_fit


def revealing() -> Array:
    """Outputs that one category alone makes, and two that all make."""
    Q = np.zeros((5, 10))
    for i in range(4):
        Q[i, [2 * i, 2 * i + 1, 8, 9]] = 0.5, 0.2, 0.2, 0.1
    Q[4, 8:] = 0.6, 0.4
    return Q


def exponential(k: int, epsilon: float, seed: int) -> Array:
    Q = np.exp(epsilon * np.random.default_rng(seed).random((k, k)))
    return np.asarray(Q / Q.sum(axis=1, keepdims=True))


SKEWED = np.array([0.9, 0.06, 0.03, 0.007, 0.003])


def fits(Q: Array, p: Array, n: int, R: int, seed: int) -> Array:
    """p-values of the goodness of fit of R surveys; nan where none was made."""
    mechanism, rng = ldp.CustomMechanism(Q), np.random.default_rng(seed)
    found = []
    for _ in range(R):
        counts = mechanism.draw(p, n, rng)
        test = goodness_of(counts)
        found.append(np.nan if test is None else test.pvalue)
    return np.array(found)


@pytest.mark.parametrize("n", [20, 200])
def test_right_channels_are_not_doubted(n: int) -> None:
    # 0.1.0 found p < .001 in one of three: standard errors at the projected estimate of a channel
    # of condition 2,000 are far too small
    pvalues = fits(exponential(5, 6.0, seed=62), SKEWED, n, R=150, seed=1)
    assert np.mean(pvalues < 1e-3) <= 0.01 and np.mean(pvalues < 0.05) < 0.12


def test_empty_categories_do_not_hide_the_test() -> None:
    # 0.1.0 had none for half of the surveys: outputs that nobody makes have fits below zero
    p = np.array([0.7, 0.3, 0.0, 0.0, 0.0])
    assert not np.isnan(fits(revealing(), p, 200, R=100, seed=2)).any()
    # power: the same outputs where a third of them went to a neighbour
    wrong, rng = np.round(p @ revealing() * 1000).astype(np.int64), np.random.default_rng(0)
    wrong[1] += 60
    mechanism = ldp.CustomMechanism(revealing())
    with pytest.warns(ldp.MisfitWarning):
        ldp.FrequencyModel(mechanism.counts(wrong)).fit()
    quiet(lambda: ldp.FrequencyModel(mechanism.draw(p, 1000, rng)).fit())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("Q", "n"),
    [
        (revealing(), 10),
        (exponential(5, 6.0, 62), 50),  # of condition 2,018
        (exponential(5, 6.0, 213), 500),  # of condition 1,084
        (exponential(4, 9.0, 7), 50),
    ],
    ids=["revealing", "condition 2018", "condition 1084", "epsilon 9"],
)
def test_size_of_goodness_of_fit(Q: Array, n: int, replications: Callable[[int], int]) -> None:
    R = replications(3000)
    for p in (SKEWED[: len(Q)] / SKEWED[: len(Q)].sum(), np.full(len(Q), 1.0 / len(Q))):
        pvalues = fits(Q, p, n, R, seed=3)
        assert not np.isnan(pvalues).any()
        for alpha, most in ((0.05, 0.06), (0.01, 0.015), (0.001, 0.003)):
            band = 4.0 * np.sqrt(most * (1.0 - most) / R)
            assert np.mean(pvalues < alpha) <= most + band, (alpha, p)
    # negative control: the normal tail at the standard errors of the projected estimate
    if Q.shape[1] == len(Q) and np.linalg.cond(Q) > 1000.0 and n == 50:
        mechanism, rng, rejected = ldp.CustomMechanism(Q), np.random.default_rng(4), 0
        for _ in range(500):
            problem = mechanism.moments(mechanism.draw(p, n, rng))
            z = problem.estimate()[0] / np.sqrt(problem.covariance().variances())
            rejected += 5.0 * goodness.normal_pvalue(z.min(), "smaller") < 1e-3
        assert rejected / 500 > 0.05


def test_channel_fit_knows_no_bare_errors() -> None:
    # weights of any ratio; 0.1.0 raised LinAlgError in about one of 5,000
    rng, seen = np.random.default_rng(1), 0
    nearly = np.full((6, 5), 0.2)
    nearly[0] += [2e-8, -5e-9, -5e-9, -5e-9, -5e-9]
    nearly[4:] += [[-2e-7, -2e-7, 8e-7, -2e-7, -2e-7], [8e-7, -2e-7, -2e-7, -2e-7, -2e-7]]
    cases = [(np.array([0, 1, 1, 0, 0]), nearly / nearly.sum(axis=1, keepdims=True))]
    for _ in range(400):
        k, l = int(rng.integers(2, 7)), int(rng.integers(2, 11))  # noqa: E741
        Q = rng.dirichlet(np.full(l, rng.choice([0.01, 0.1, 1.0])), size=k)
        Q = np.where(rng.random((k, l)) < 0.4, 0.0, Q) + 1e-300
        Q = Q if rng.random() < 0.5 else 1.0 / l + (Q - 1.0 / l) * 10.0 ** -rng.integers(1, 12)
        if rng.random() < 0.5:  # a column of zeros, and outputs of one category that all share
            Q = np.hstack([Q, np.zeros((k, 1))])
        Q /= Q.sum(axis=1, keepdims=True)
        law = rng.dirichlet(np.full(k, 0.3)) @ Q
        cases.append(
            (rng.multinomial(int(rng.choice([1, 2, 5, 20, 300, 10**12])), law / law.sum()), Q)
        )
    for counts, Q in cases:
        try:
            statistic, df = goodness.channel_fit(counts, Q)
        except ldp.NotAvailable:
            continue
        seen += 1
        assert statistic >= 0.0 and df >= 1
    assert seen > 100


def test_negative_estimates_by_hand() -> None:
    G, m, n = np.array([[2.0, -1.0, 0.0], [0.0, 3.0, -1.0]]), np.array([0.2, 0.5, 0.3]), 50
    counts = np.array([5, 30, 15])
    z, pvalue = goodness.negative_estimates(counts, G, m)
    values = np.repeat(G, 1, axis=0)
    for i in range(2):
        mean = values[i] @ m
        sd = np.sqrt(((values[i] - mean) ** 2) @ m / n)
        assert z[i] == pytest.approx(values[i] @ counts / n / sd)
    assert np.all((pvalue >= goodness.normal_pvalue(z, "smaller")) & (pvalue <= 1.0))
    # what never varies is certain: below zero it is no chance, else all there is
    z, pvalue = goodness.negative_estimates([10, 0], [[-1.0, 2.0], [1.0, 1.0]], [1.0, 0.0])
    assert z[0] == -np.inf and pvalue[0] == 0.0 and pvalue[1] == 1.0


def test_sparse_blocks_are_no_misfit() -> None:
    # one unlikely label, expected in .2 of 100 reports, was a MisfitWarning in 68 of 600 surveys
    blocks, rng = ldp.HadamardResponse(tuple("abcdef"), epsilon=8.0), np.random.default_rng(5)
    p = np.array([0.95, 0.03, 0.01, 0.006, 0.004, 0.0])
    R = 100
    drawn = (blocks.draw(p, 100, rng) for _ in range(R))
    found = [goodness_of(counts) for counts in drawn]
    doubted = sum(test is not None and test.pvalue < 1e-3 for test in found)
    assert doubted <= 1  # Binomial(100, .001): more than one in 1 of 200
    # control: reports of another epsilon are found
    wrong = ldp.HadamardResponse(tuple("abcdef"), epsilon=1.0).draw(p, 300, rng)
    read = ldp.Counts(wrong.y, wrong.n, blocks)
    test = goodness_of(read)
    assert test is not None and test.pvalue < 1e-3


def test_channel_distance_has_the_exact_moments() -> None:
    rng, parts = np.random.default_rng(1), []
    for n, kinds in ((3, 4), (2, 3)):
        m = rng.dirichlet(np.ones(kinds))
        parts.append((n, rng.normal(size=(kinds, 3)), m))
    values, chances = [], []
    spaces = [product(range(len(m)), repeat=n) for n, _, m in parts]
    for seen in product(*map(list, spaces)):
        total, chance = np.zeros(3), 1.0
        for (_, z, m), y in zip(parts, seen, strict=True):
            total = total + (z - m @ z)[list(y)].sum(axis=0)
            chance *= float(np.prod(m[list(y)]))
        values.append(total @ total)
        chances.append(chance)
    t, w = np.array(values), np.array(chances)
    law, mean = form_cumulants(parts), w @ t
    expected = mean, w @ (t - mean) ** 2, w @ (t - mean) ** 3
    assert (law.mean, law.variance, law.third) == pytest.approx(expected, rel=1e-10)


def test_hashes_that_tell_all_answers_apart_are_tested_as_labels() -> None:
    """Up to a permutation these are the labels of k-RR: sparse ones are put together."""
    labels = tuple(f"c{i}" for i in range(30))
    p = np.append(1.0 / np.arange(1, 21) ** 1.3, np.zeros(10))
    p /= p.sum()
    olh = ldp.OLH(labels, epsilon=8.0, n_cohorts=16)
    reports = olh.privatize(
        np.random.default_rng(3).choice(labels, 400, p=p), np.random.default_rng(4)
    )
    test = ldp.FrequencyModel(reports).test_distribution(p)
    assert test.method.startswith("Pearson") and "few reports" in test.note
    # the same statistic as of k-RR with the labels renamed
    counts = reports.tally()
    names = olh.cells(None)[counts.cohort, :, 0]
    codes = np.argmax(names == counts.y[:, None], axis=1)
    krr = ldp.KRR(labels, epsilon=8.0)
    same = krr.counts(np.bincount(codes, counts.n, 30).astype(int))
    expected = ldp.FrequencyModel(same).test_distribution(p)
    assert test.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert (test.df, test.pvalue) == (expected.df, pytest.approx(expected.pvalue, rel=1e-9))


# ---- of every kind of survey


def fit_pvalues(draw, R: int) -> np.ndarray:  # type: ignore[no-untyped-def]
    """p-values of the goodness-of-fit line over R simulated surveys."""
    fits = [ldp.FrequencyModel(draw()).fit("inversion").goodness_of_fit for _ in range(R)]
    return np.array([fit.pvalue for fit in fits])


def test_square_channels_are_seldom_doubted_without_reason() -> None:
    # most frequencies are zero, where estimates are negative half of the time; 4 standard errors
    krr, rng, R = ldp.KRR(20, 3.0), np.random.default_rng(6), 150
    p = np.zeros(20)
    p[:3] = 0.5, 0.3, 0.2
    pvalues = fit_pvalues(lambda: krr.draw(p, 108, rng), R)
    for level in (0.05, 0.01):
        assert np.mean(pvalues < level) < level + 4 * np.sqrt(level / R)


def test_sources_that_agree_are_seldom_doubted() -> None:
    a, b, rng, R = ldp.KRR(30, 3.0), ldp.KRR(30, 2.0), np.random.default_rng(6), 80
    p = np.full(30, 1 / 30)
    pvalues = fit_pvalues(lambda: [a.draw(p, 200, rng), b.draw(p, 200, rng)], R)
    assert np.mean(pvalues < 0.05) < 0.05 + 4 * np.sqrt(0.05 / R)


def test_impossible_counts_are_doubted() -> None:
    # all 1000 reports alike, where the noise alone would make 700 others
    with pytest.warns(ldp.MisfitWarning):
        fit = ldp.FrequencyModel(ldp.KRR(5, 1.0).counts([0, 0, 1000, 0, 0])).fit().goodness_of_fit
    assert fit is not None
    expected = 5 * stats.binom.cdf(0, 1000, ldp.KRR(5, 1.0).channel().b)
    assert fit.pvalue == pytest.approx(expected, rel=1e-6)
    with pytest.warns(ldp.MisfitWarning):
        certain = ldp.FrequencyModel(ldp.Mangat(p=0.6).counts([100, 0])).fit().goodness_of_fit
    assert certain is not None and certain.pvalue < 1e-9


def test_several_sources_keep_the_test_of_each() -> None:
    wrong = ldp.KRAPPOR(3, 1.0).counts([10, 10, 10], nobs=100)  # far too few ones
    right = ldp.KRAPPOR(3, 2.0).counts([55, 50, 50], nobs=100)
    with pytest.warns(ldp.MisfitWarning):
        fit = ldp.FrequencyModel([wrong, right]).fit().goodness_of_fit
    assert fit is not None and fit.pvalue < 1e-6


def test_groups_of_one_mechanism_are_added_up() -> None:
    halves = [KRR.counts([300, 250, 240, 210])] * 2
    pd.testing.assert_frame_equal(
        ldp.FrequencyModel(halves).fit().conf_int(), MODEL.fit().conf_int()
    )


def test_a_category_that_was_not_seen_is_no_certain_zero() -> None:
    krr = ldp.KRR(("a", "b", "c"), 3.0)
    results = ldp.FrequencyModel(krr.counts([10, 5, 0])).fit()
    assert results.linear_bse["c"] > 0.0 and results.pvalues["c"] > 0.5
    assert results.wald_test("c = 0").pvalue > 0.05
    pooled = ldp.FrequencyModel(
        [krr.counts([10, 5, 0]), ldp.KRR(krr.categories, 2.0).counts([6, 4, 0])]
    )
    assert pooled.fit().conf_int().loc["c", "upper"] > 0.0


def test_loglikelihood_is_of_distributions_only() -> None:
    counts = ldp.KRR(4, 1.0).counts([40, 10, 5, 5])
    assert np.isnan(ldp.FrequencyModel(counts).fit("nnls").llf)
    assert np.isfinite(ldp.FrequencyModel(counts).fit("projected").llf)


def test_reports_that_no_category_can_make_are_refused() -> None:
    mechanism = ldp.CustomMechanism([[0.6, 0.4, 0.0], [0.3, 0.7, 0.0]], outputs=("x", "y", "z"))
    with pytest.raises(ldp.InvalidArgument, match="'z'"):
        ldp.FrequencyModel(mechanism.counts([50, 50, 30]))


def test_a_distribution_on_the_boundary_is_tested() -> None:
    certain = ldp.FrequencyModel(ldp.ForcedResponse(p_truth=0.5, p_yes=0.5).counts([30, 70]))
    assert certain.test_distribution([0.0, 1.0]).pvalue == 0.0  # no "no" is possible


def test_bootstrap_wants_the_estimator_that_was_used() -> None:
    estimator = MLE(constraints=lambda p: [p[0] == 0.3])
    results = MODEL.fit(estimator)
    options = {"method": "bootstrap", "model": MODEL, "n_boot": 9, "alpha": 0.2}
    with pytest.raises(ldp.InvalidArgument, match="estimator"):
        results.conf_int(rng=np.random.default_rng(1), **options)
    ci = results.conf_int(rng=np.random.default_rng(1), estimator=estimator, **options)
    np.testing.assert_allclose(ci.loc["nurse"], 0.3, atol=1e-6)
    with pytest.raises(ldp.NotAvailable, match="constrained"):
        results.conf_int(method="profile", model=MODEL)
    with pytest.raises(ldp.NotAvailable, match="no covariance"):
        results.conf_int(method="wald-mle")


def test_clients_refuse_a_sampler_that_leaks() -> None:
    # P(yes | no) = 1e-13 is not held to nine digits by 64-bit thresholds
    design = ldp.ForcedResponse(p_truth=0.999999999999, p_yes=1e-13)
    if not design.audit().agrees:
        with pytest.raises(ldp.InvalidArgument, match="leaks"):
            design.client()

    class Leaky(ldp.KRR):
        def _keep(self) -> int:
            return super()._keep() + (1 << 40)  # of 2^64: too often by one in 16 million

    assert not Leaky(3, 1.0).audit().agrees
    with pytest.raises(ldp.InvalidArgument, match="leaks"):
        Leaky(3, 1.0).client()
