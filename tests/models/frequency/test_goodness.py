"""Goodness of fit: its size, empty categories, errors by hand; inference where reports are few."""

import re
import warnings
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from surveys import quiet

import ldpstats as ldp
from ldpstats import planning
from ldpstats.cli import main
from ldpstats.estimators import MLE
from ldpstats.inference import goodness
from ldpstats.inference.goodness import form_cumulants
from ldpstats.io import write_mechanism

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
def test_right_channels_are_not_doubted(n):
    # 0.1.0 found p < .001 in one of three: standard errors at the projected estimate of a channel
    # of condition 2,000 are far too small
    pvalues = fits(exponential(5, 6.0, seed=62), SKEWED, n, R=150, seed=1)
    assert np.mean(pvalues < 1e-3) <= 0.01 and np.mean(pvalues < 0.05) < 0.12


def test_empty_categories_do_not_hide_the_test():
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
def test_size_of_goodness_of_fit(Q, n, replications):
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


def test_channel_fit_knows_no_bare_errors():
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


def test_negative_estimates_by_hand():
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


def test_sparse_blocks_are_no_misfit():
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


def test_channel_distance_has_the_exact_moments():
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


def test_hashes_that_tell_all_answers_apart_are_tested_as_labels():
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
def fit_pvalues(draw, R: int) -> np.ndarray:
    """p-values of the goodness-of-fit line over R simulated surveys."""
    fits = [ldp.FrequencyModel(draw()).fit("inversion").goodness_of_fit for _ in range(R)]
    return np.array([fit.pvalue for fit in fits])


def test_square_channels_are_seldom_doubted_without_reason():
    # most frequencies are zero, where estimates are negative half of the time; 4 standard errors
    krr, rng, R = ldp.KRR(20, 3.0), np.random.default_rng(6), 150
    p = np.zeros(20)
    p[:3] = 0.5, 0.3, 0.2
    pvalues = fit_pvalues(lambda: krr.draw(p, 108, rng), R)
    for level in (0.05, 0.01):
        assert np.mean(pvalues < level) < level + 4 * np.sqrt(level / R)


def test_sources_that_agree_are_seldom_doubted():
    a, b, rng, R = ldp.KRR(30, 3.0), ldp.KRR(30, 2.0), np.random.default_rng(6), 80
    p = np.full(30, 1 / 30)
    pvalues = fit_pvalues(lambda: [a.draw(p, 200, rng), b.draw(p, 200, rng)], R)
    assert np.mean(pvalues < 0.05) < 0.05 + 4 * np.sqrt(0.05 / R)


def test_impossible_counts_are_doubted():
    # all 1000 reports alike, where the noise alone would make 700 others
    with pytest.warns(ldp.MisfitWarning):
        fit = ldp.FrequencyModel(ldp.KRR(5, 1.0).counts([0, 0, 1000, 0, 0])).fit().goodness_of_fit
    assert fit is not None
    expected = 5 * stats.binom.cdf(0, 1000, ldp.KRR(5, 1.0).channel().b)
    assert fit.pvalue == pytest.approx(expected, rel=1e-6)
    with pytest.warns(ldp.MisfitWarning):
        certain = ldp.FrequencyModel(ldp.Mangat(p=0.6).counts([100, 0])).fit().goodness_of_fit
    assert certain is not None and certain.pvalue < 1e-9


def test_several_sources_keep_the_test_of_each():
    wrong = ldp.KRAPPOR(3, 1.0).counts([10, 10, 10], nobs=100)  # far too few ones
    right = ldp.KRAPPOR(3, 2.0).counts([55, 50, 50], nobs=100)
    with pytest.warns(ldp.MisfitWarning):
        fit = ldp.FrequencyModel([wrong, right]).fit().goodness_of_fit
    assert fit is not None and fit.pvalue < 1e-6


def test_groups_of_one_mechanism_are_added_up():
    halves = [KRR.counts([300, 250, 240, 210])] * 2
    pd.testing.assert_frame_equal(
        ldp.FrequencyModel(halves).fit().conf_int(), MODEL.fit().conf_int()
    )


def test_a_category_that_was_not_seen_is_no_certain_zero():
    krr = ldp.KRR(("a", "b", "c"), 3.0)
    results = ldp.FrequencyModel(krr.counts([10, 5, 0])).fit()
    assert results.linear_bse["c"] > 0.0 and results.pvalues["c"] > 0.5
    assert results.wald_test("c = 0").pvalue > 0.05
    pooled = ldp.FrequencyModel(
        [krr.counts([10, 5, 0]), ldp.KRR(krr.categories, 2.0).counts([6, 4, 0])]
    )
    assert pooled.fit().conf_int().loc["c", "upper"] > 0.0


def test_loglikelihood_is_of_distributions_only():
    counts = ldp.KRR(4, 1.0).counts([40, 10, 5, 5])
    assert np.isnan(ldp.FrequencyModel(counts).fit("nnls").llf)
    assert np.isfinite(ldp.FrequencyModel(counts).fit("projected").llf)


def test_reports_that_no_category_can_make_are_refused():
    mechanism = ldp.CustomMechanism([[0.6, 0.4, 0.0], [0.3, 0.7, 0.0]], outputs=("x", "y", "z"))
    with pytest.raises(ldp.InvalidArgument, match="'z'"):
        ldp.FrequencyModel(mechanism.counts([50, 50, 30]))


def test_a_distribution_on_the_boundary_is_tested():
    certain = ldp.FrequencyModel(ldp.ForcedResponse(p_truth=0.5, p_yes=0.5).counts([30, 70]))
    assert certain.test_distribution([0.0, 1.0]).pvalue == 0.0  # no "no" is possible


def test_bootstrap_wants_the_estimator_that_was_used():
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


def test_clients_refuse_a_sampler_that_leaks():
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


# Fits that warn: a `MisfitWarning` where goodness of fit has p < .001, and only there.

ABC = ("a", "b", "c")

WORDS = [f"word{i}" for i in range(20)]

RAPPOR: dict[str, Any] = dict(n_bits=64, n_hashes=2, n_cohorts=8, p=0.25, q=0.75)


# -- who warns -------------------------------------------------------------------------------------
def test_a_fit_warns_below_one_in_a_thousand_and_only_there():
    krr = ldp.KRR(ABC, epsilon=1.0)
    pvalues = []
    for least in range(120, 200, 4):
        counts = krr.counts([500 - least // 2, 500 - least // 2, least])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit = ldp.FrequencyModel(counts).fit().goodness_of_fit
        assert fit is not None
        pvalues.append(fit.pvalue)
        assert [w.category for w in caught] == [ldp.MisfitWarning] * (fit.pvalue < 1e-3)
    assert min(pvalues) < 1e-4 and sorted(pvalues)[-1] > 1e-2
    assert any(1e-3 < p < 1e-2 for p in pvalues)  # which the summary doubts, without a warning


def test_the_warning_names_the_hypothesis_and_points_at_the_caller():
    counts = ldp.KRR(ABC, epsilon=1.0).counts([900, 50, 50])
    with pytest.warns(ldp.MisfitWarning) as caught:
        ldp.FrequencyModel(counts).fit()
    (warning,) = caught
    assert warning.filename == __file__
    assert "the reports were made by this mechanism" in str(warning.message)
    check = "; check that its parameters are those with which the reports were made"
    assert str(warning.message).endswith(check)
    assert issubclass(ldp.MisfitWarning, ldp.LDPWarning) and ldp.errors.MisfitWarning


@pytest.mark.parametrize("method", ["em", "inversion", "nnls"])
def test_every_estimator_warns(method):
    counts = ldp.KRR(ABC, epsilon=1.0).counts([900, 50, 50])
    with pytest.warns(ldp.MisfitWarning):
        ldp.FrequencyModel(counts).fit(method)


def test_associations_warn_by_variable():
    right, wrong = ldp.KRR(2, 1.0), ldp.KRR(ABC, 1.0)
    table = np.array([[300, 20, 15], [280, 15, 20]])
    model = ldp.AssociationModel(
        ldp.JointCounts.from_table(table, (right, wrong)), names=("paid", "job")
    )
    with pytest.warns(ldp.MisfitWarning, match="^job: goodness of fit") as caught:
        results = model.fit()
    assert len(caught) == 1 and caught[0].filename == __file__
    assert "WARNING: the reports of job contradict" in results.summary().as_text()
    assert "reports of paid" not in results.summary().as_text()


def test_personalised_models_warn():
    pum = ldp.PUM(ldp.URR(3, {0}, epsilon=1.0), ("home",))
    counts = pum.common.counts([500, 300, 100, 1])
    with pytest.warns(ldp.MisfitWarning) as caught:
        ldp.PersonalizedModel(counts, pum).fit()
    assert caught[0].filename == __file__


def test_dictionaries_warn_of_reports_that_no_strings_could_make():
    rng = np.random.default_rng(1)
    survey, other = (
        ldp.DictionarySurvey(
            length=4,
            gram=2,
            alphabet="abc",
            gram_mechanism=ldp.ORR(8, 16, epsilon=epsilon),
            string_mechanism=ldp.ORR(16, 16, epsilon=epsilon),
        )
        for epsilon in (2.0, 4.0)
    )
    words = rng.choice(["abca", "ccab", "bb"], 4_000, p=[0.5, 0.3, 0.2])
    made = survey.privatize(words, rng)
    quiet(ldp.DictionaryModel(made).fit)
    quiet(lambda: ldp.DictionaryModel(made, keep="abca|zz").fit())  # half of them are not found
    sent = other.privatize(words, rng)
    parts = [
        ldp.Reports(part.y, mechanism, 0, part.cohort)
        for part, mechanism in zip(
            (sent.first, sent.second, sent.string), survey.mechanisms, strict=True
        )
    ]
    wrong = ldp.DictionaryReports(survey, sent.pair, *parts)
    with pytest.warns(ldp.MisfitWarning, match="do not fit the survey"):
        ldp.DictionaryModel(wrong).fit()


# -- lists that are not complete -------------------------------------------------------------------
def held(rappor: ldp.RAPPOR, others: dict[str, float], n: int, seed: int) -> ldp.BitCounts:
    """Sums of the bits of `n` who hold the words evenly, but for some who hold others."""
    rng = np.random.default_rng(seed)
    share = (1.0 - sum(others.values())) / len(WORDS)
    answers = rng.choice([*WORDS, *others], n, p=[*[share] * len(WORDS), *others.values()])
    return rappor.privatize(answers, rng).tally(bits=True)


@pytest.mark.parametrize(
    "others", [{"x": 0.3, "y": 0.2}, {"x": 0.2}, {f"{i}": 0.02 for i in range(10)}]
)
def test_unlisted_answers_are_no_misfit(others):
    counts = held(ldp.RAPPOR(f=0.0, **RAPPOR), others, 20_000, 0)
    known = ldp.FrequencyModel(counts, candidates=WORDS, incomplete=True)
    quiet(known.fit)
    quiet(lambda: ldp.FrequencyModel(counts, candidates=WORDS).fit())
    quiet(lambda: ldp.FrequencyModel(counts, candidates=WORDS).fit("lasso"))


@pytest.mark.parametrize(("f", "incomplete"), [(0.25, True), (0.5, False)])
def test_wrong_parameters_are_a_misfit_even_of_a_list_that_is_incomplete(f, incomplete):
    sent = held(ldp.RAPPOR(f=0.0, **RAPPOR), {"x": 0.3}, 20_000, 1)
    read = ldp.BitCounts(sent.ones, sent.reports, ldp.RAPPOR(f=f, **RAPPOR))
    model = ldp.FrequencyModel(read, candidates=WORDS, incomplete=incomplete)
    with pytest.warns(ldp.MisfitWarning, match="no answers could make"):
        model.fit()


def test_misfit_of_labels_of_an_open_alphabet():
    rng = np.random.default_rng(4)
    sent = ldp.ORR(16, 8, epsilon=1.0).privatize(rng.choice(WORDS, 40_000), rng).tally()
    read = ldp.Counts(sent.y, sent.n, ldp.ORR(16, 8, epsilon=4.0), cohort=sent.cohort)
    # as if all had said little of what they hold: no answer makes a label so seldom by itself...
    quiet(lambda: ldp.FrequencyModel(sent, candidates=WORDS, incomplete=True).fit())
    # ... but epsilon 4 hides less than was hidden, and even labels are those of many answers
    quiet(lambda: ldp.FrequencyModel(read, candidates=WORDS, incomplete=True).fit())
    back = ldp.ORR(16, 8, epsilon=4.0).privatize(rng.choice(WORDS, 40_000), rng).tally()
    noisy = ldp.Counts(back.y, back.n, ldp.ORR(16, 8, epsilon=0.5), cohort=back.cohort)
    with pytest.warns(ldp.MisfitWarning, match="no answers could make"):
        ldp.FrequencyModel(noisy, candidates=WORDS, incomplete=True).fit()


def test_any_answers_fit_is_the_binomial_tail():
    from scipy import stats

    found = goodness.any_answers_fit([[10, 40, 50]], [100], absent=0.2, present=0.6, most=None)
    tails = [stats.binom.cdf(10, 100, 0.2), stats.binom.sf(49, 100, 0.6)]
    assert found == pytest.approx(min(1.0, 6 * min(tails)), rel=1e-9)
    # absent and present change places where an owned bit is set less often
    inverted = goodness.any_answers_fit([[10, 40, 50]], [100], absent=0.6, present=0.2, most=None)
    assert inverted == found
    assert goodness.any_answers_fit(np.zeros((2, 3)), [0, 0], 0.2, 0.6, 1) == 1.0


# -- the command line ------------------------------------------------------------------------------
def test_the_command_line_warns_on_one_line(tmp_path, capsys):
    spec, table = tmp_path / "survey.json", tmp_path / "counts.csv"
    write_mechanism(ldp.KRR(ABC, epsilon=1.0), spec)
    pd.DataFrame({"report": ABC, "n": [900, 50, 50]}).to_csv(table, index=False)
    assert main(["fit", str(table), "--spec", str(spec), "--count", "n"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("ldpstats: warning: goodness of fit has p = ") and err.count("\n") == 1
    assert "Frequencies of a privatised variable" in out and "Traceback" not in out + err
    pd.DataFrame({"report": ABC, "n": [400, 330, 270]}).to_csv(table, index=False)
    assert main(["fit", str(table), "--spec", str(spec), "--count", "n"]) == 0
    assert capsys.readouterr().err == ""


# A survey that cannot answer says so.

WORDS_WEAK = "too small or too private for its"


def summary(mechanism: ldp.Mechanism, n: int, seed: int = 1) -> str:
    k = mechanism.k
    counts = mechanism.draw(np.full(k, 1 / k), n, np.random.default_rng(seed))
    text = ldp.FrequencyModel(counts).fit("inversion").summary(max_rows=3).as_text()
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("mechanism", "n"),
    [(ldp.KRR(4, 0.5), 50), (ldp.KRAPPOR(50, 0.2), 2000)],
)
def test_too_few_reports(mechanism, n):
    text = summary(mechanism, n)
    assert WORDS_WEAK in text
    needed = int(re.search(r"n of about ([\d,]+) is needed", text)[1].replace(",", ""))
    k = mechanism.k
    shares = np.random.default_rng(1).dirichlet(np.ones(k), 20_000)
    spread = shares.var(axis=0).sum()
    guess = np.square(shares - 1 / k).sum(axis=1)  # loss of the guess that all are equal
    assert spread == pytest.approx((k - 1) / (k * (k + 1)), rel=0.03)
    assert guess.mean() == pytest.approx(spread, rel=0.03)
    planned = planning.precision(mechanism, None, 1).total / spread
    assert needed == pytest.approx(planned, rel=0.1)
    assert WORDS_WEAK not in summary(mechanism, 2 * needed)


def test_one_share_alone_is_uniform():
    reports = ldp.ORR(8, 8, epsilon=0.2).privatize(["w"] * 100, np.random.default_rng(1))
    fit = ldp.FrequencyModel(reports, candidates=["absent"]).fit("inversion")
    text = " ".join(fit.summary().as_text().split())
    needed = int(re.search(r"n of about ([\d,]+) is needed", text)[1].replace(",", ""))
    assert needed == pytest.approx(100 * 12 * fit.linear.bse()[0] ** 2, rel=0.1)


def test_a_small_p_value_in_the_table_is_said_to_be_unadjusted():
    krr = ldp.KRR(10, 0.5)
    counts = krr.counts([16, 9, 9, 9, 9, 9, 9, 9, 9, 9])
    fit = ldp.FrequencyModel(counts).fit("inversion")
    assert 0.005 < fit.presence_pvalues().min() < 0.05
    text = " ".join(fit.summary().as_text().split())
    assert WORDS_WEAK in text and "(p-values in the table are not adjusted)" in text
    rng = np.random.default_rng(1)
    joint = ldp.AssociationModel(*(krr.privatize(np.arange(10), rng) for _ in range(2)))
    assert "not adjusted)" not in joint.fit("inversion").summary().as_text()  # it has no p-values


def test_none_where_a_category_stands_out():
    krr = ldp.KRR(1000, 1.0)
    law = np.append(0.9, np.full(999, 0.1 / 999))
    counts = krr.draw(law, 100_000, np.random.default_rng(1))
    fit = ldp.FrequencyModel(counts).fit("inversion")
    assert fit.linear.bse().min() > 0.04  # far above 1 / k
    assert WORDS_WEAK not in fit.summary(max_rows=2).as_text().replace("\n", " ")


def test_candidates_that_were_selected_have_none():
    orr = ldp.ORR(8, 8, epsilon=0.5)
    words = [f"w{i}" for i in range(12)]
    counts = orr.privatize(words * 10, np.random.default_rng(1)).tally()
    fit = ldp.FrequencyModel(counts, candidates=words).fit("inversion")
    assert WORDS_WEAK in " ".join(fit.summary().as_text().split())
