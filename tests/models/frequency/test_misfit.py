"""Fits that warn: reports that do not fit, channels that tell nothing, and what is degenerate.

What it guards: a `MisfitWarning` where goodness of fit has p < .001 and only there, over every
model; the level of the goodness of fit itself for dense channels; and legal input at the edge of
what there is, which must give an answer or an error of this package.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.cli.program import main
from ldpstats.inference import goodness
from ldpstats.io import write_mechanism
from ldpstats.models.frequency.fit_checks import goodness_of_fit
from ldpstats.models.frequency.misfit import MISFIT, impossible
from ldpstats.privacy import uldp
from ldpstats.problems.problem import Likelihood

Array = npt.NDArray[Any]

ABC = ("a", "b", "c")
WORDS = [f"word{i}" for i in range(20)]
RAPPOR: dict[str, Any] = dict(n_bits=64, n_hashes=2, n_cohorts=8, p=0.25, q=0.75)


def quiet(call: Callable[[], Any]) -> Any:
    """The value of a call that must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


# -- who warns -------------------------------------------------------------------------------------


def test_a_fit_warns_below_one_in_a_thousand_and_only_there() -> None:
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


def test_the_warning_names_the_hypothesis_and_points_at_the_caller() -> None:
    counts = ldp.KRR(ABC, epsilon=1.0).counts([900, 50, 50])
    with pytest.warns(ldp.MisfitWarning) as caught:
        ldp.FrequencyModel(counts).fit()
    (warning,) = caught
    assert warning.filename == __file__
    assert "the reports were made by this mechanism" in str(warning.message)
    assert issubclass(ldp.MisfitWarning, ldp.LDPWarning) and ldp.errors.MisfitWarning


@pytest.mark.parametrize("method", ["mle", "em", "inversion", "projected", "nnls"])
def test_every_estimator_warns(method: str) -> None:
    counts = ldp.KRR(ABC, epsilon=1.0).counts([900, 50, 50])
    with pytest.warns(ldp.MisfitWarning):
        ldp.FrequencyModel(counts).fit(method)


def test_associations_warn_by_variable() -> None:
    right, wrong = ldp.KRR(2, 1.0), ldp.KRR(ABC, 1.0)
    table = np.array([[300, 20, 15], [280, 15, 20]])
    model = ldp.AssociationModel(
        ldp.JointCounts.from_table(table, (right, wrong)), names=("paid", "job")
    )
    with pytest.warns(ldp.MisfitWarning, match="^job: goodness of fit") as caught:
        results = model.fit()
    assert len(caught) == 1 and caught[0].filename == __file__
    assert "DOUBTFUL: the reports of job" in results.summary().as_text()
    assert "reports of paid" not in results.summary().as_text()


def test_personalised_models_warn() -> None:
    pum = ldp.PUM(ldp.URR(3, {0}, epsilon=1.0), ("home",))
    counts = pum.common.counts([500, 300, 100, 1])
    with pytest.warns(ldp.MisfitWarning) as caught:
        ldp.PersonalizedModel(counts, pum).fit()
    assert caught[0].filename == __file__


def test_dictionaries_warn_of_reports_that_no_strings_could_make() -> None:
    rng = np.random.default_rng(1)
    survey, other = (
        ldp.DictionarySurvey(
            length=4,
            gram=2,
            alphabet="abc",
            gram_mechanism=ldp.ORR(8, 16, epsilon),
            string_mechanism=ldp.ORR(16, 16, epsilon),
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


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "others", [{"x": 0.3, "y": 0.2}, {"x": 0.2}, {f"{i}": 0.02 for i in range(10)}]
)
def test_unlisted_answers_are_no_misfit(others: dict[str, float], seed: int) -> None:
    counts = held(ldp.RAPPOR(f=0.0, **RAPPOR), others, 20_000, seed)
    known = ldp.FrequencyModel(counts, candidates=WORDS, incomplete=True)
    quiet(known.fit)
    quiet(lambda: ldp.FrequencyModel(counts, candidates=WORDS).fit())
    quiet(lambda: ldp.FrequencyModel(counts, candidates=WORDS).fit("lasso"))


def test_an_estimate_that_takes_the_list_for_complete_is_a_misfit() -> None:
    counts = held(ldp.RAPPOR(f=0.0, **RAPPOR), {"x": 0.3, "y": 0.2}, 20_000, 0)
    with pytest.warns(ldp.MisfitWarning, match="other answers are held"):
        ldp.FrequencyModel(counts, candidates=WORDS).fit("projected")
    quiet(lambda: ldp.FrequencyModel(counts, candidates=WORDS, incomplete=True).fit("projected"))


@pytest.mark.parametrize("incomplete", [False, True])
@pytest.mark.parametrize("f", [0.25, 0.5])
def test_wrong_parameters_are_a_misfit_even_of_a_list_that_is_incomplete(
    f: float, incomplete: bool
) -> None:
    sent = held(ldp.RAPPOR(f=0.0, **RAPPOR), {"x": 0.3}, 20_000, 1)
    read = ldp.BitCounts(sent.ones, sent.reports, ldp.RAPPOR(f=f, **RAPPOR))
    model = ldp.FrequencyModel(read, candidates=WORDS, incomplete=incomplete)
    with pytest.warns(ldp.MisfitWarning, match="no answers could make"):
        model.fit()


def test_misfit_of_labels_of_an_open_alphabet() -> None:
    rng = np.random.default_rng(4)
    sent = ldp.ORR(16, 8, epsilon=1.0).privatize(rng.choice(WORDS, 40_000), rng).tally()
    read = ldp.Counts(sent.y, sent.n, ldp.ORR(16, 8, epsilon=4.0), cohort=sent.cohort)
    # as if all had said little of what they hold: no answer makes a label so seldom by itself...
    assert impossible([sent.mechanism.moments(sent, WORDS)]) > 0.05
    # ... but epsilon 4 hides less than was hidden, and even labels are those of many answers
    quiet(lambda: ldp.FrequencyModel(read, candidates=WORDS, incomplete=True).fit())
    back = ldp.ORR(16, 8, epsilon=4.0).privatize(rng.choice(WORDS, 40_000), rng).tally()
    noisy = ldp.Counts(back.y, back.n, ldp.ORR(16, 8, epsilon=0.5), cohort=back.cohort)
    with pytest.warns(ldp.MisfitWarning, match="no answers could make"):
        ldp.FrequencyModel(noisy, candidates=WORDS, incomplete=True).fit()


def test_any_answers_fit_is_the_binomial_tail() -> None:
    from scipy import stats

    found = goodness.any_answers_fit([[10, 40, 50]], [100], absent=0.2, present=0.6, most=None)
    tails = [stats.binom.cdf(10, 100, 0.2), stats.binom.sf(49, 100, 0.6)]
    assert found == pytest.approx(min(1.0, 6 * min(tails)), rel=1e-9)
    # absent and present change places where an owned bit is set less often
    inverted = goodness.any_answers_fit([[10, 40, 50]], [100], absent=0.6, present=0.2, most=None)
    assert inverted == found
    assert goodness.any_answers_fit(np.zeros((2, 3)), [0, 0], 0.2, 0.6, 1) == 1.0


# -- the command line ------------------------------------------------------------------------------


def test_the_command_line_warns_on_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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


# -- goodness of fit of dense channels -------------------------------------------------------------


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
        test = goodness_of_fit([counts], [mechanism.moments(counts)])
        found.append(np.nan if test is None else test.pvalue)
    return np.array(found)


@pytest.mark.parametrize("n", [20, 200])
def test_right_channels_are_not_doubted(n: int) -> None:
    # 0.1.0 found p < .001 in one of three: standard errors at the projected estimate of a channel
    # of condition 2,000 are far too small
    pvalues = fits(exponential(5, 6.0, seed=62), SKEWED, n, R=300, seed=1)
    assert np.mean(pvalues < MISFIT) <= 0.01 and np.mean(pvalues < 0.05) < 0.10


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
    "Q",
    [revealing(), exponential(5, 6.0, 62), exponential(5, 6.0, 213), exponential(4, 9.0, 7)],
    ids=["revealing", "condition 2018", "condition 1084", "epsilon 9"],
)
@pytest.mark.parametrize("n", [10, 50, 500])
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
    for _ in range(2000):
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
    assert seen > 500


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
    # what never varies is certain: below zero it is no chance
    z, pvalue = goodness.negative_estimates([10, 0], [[-1.0, 2.0], [1.0, 1.0]], [1.0, 0.0])
    assert z[0] == -np.inf and pvalue[0] == 0.0 and pvalue[1] == pytest.approx(0.5)


# -- epsilon 50, and reports that are hardly noisy -------------------------------------------------


@pytest.mark.parametrize("method", ["nnls", "inversion", "mle", "em", "projected", "thresholded"])
@pytest.mark.parametrize("n_cohorts", [1, 16])
def test_epsilon_50_over_an_open_alphabet(method: str, n_cohorts: int) -> None:
    # the share of other answers has no variance, which 0.1.0 computed as -1e-20
    orr, rng = ldp.ORR(5, n_cohorts, epsilon=50.0), np.random.default_rng(3)
    reports = orr.privatize(rng.choice(["a", "c"], 1000), rng)
    model = ldp.FrequencyModel(reports, candidates=["a", "c"])
    results = quiet(lambda: model.fit(method))
    assert results.unexplained.estimate == pytest.approx(0.0, abs=1e-9)
    # with few cells others could be held unseen, and the error allows for that
    assert 0.0 <= results.unexplained.bse < (1e-6 if n_cohorts == 1 else 0.02)
    assert np.isfinite(results.linear_bse).all()


def test_a_label_that_nobody_makes_pins_the_candidates_that_own_it() -> None:
    orr, rng = ldp.ORR(32, 4, epsilon=50.0), np.random.default_rng(3)
    reports = orr.privatize(["a", "b"] * 300, rng)
    results = ldp.FrequencyModel(reports, candidates=["a", "b", "c"]).fit("mle")
    assert results.bse["c"] == 0.0 and results.bse["a"] == pytest.approx(
        0.5 / np.sqrt(600), rel=0.1
    )


def test_thresholds_of_estimates_that_cannot_vary() -> None:
    # all is known from reports without noise, and rounding is all that varies
    first = ldp.URAP(ABC, set(), 0.5).privatize(["a", "a"], np.random.default_rng(0))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        Q = np.ones((3, 3)) + 1e-9 * rng.random((3, 3))
        blind = ldp.CustomMechanism(Q / Q.sum(axis=1, keepdims=True), ABC)
        model = ldp.FrequencyModel([first, blind.privatize(["a"], rng)])
        assert quiet(lambda m=model: m.fit("thresholded")).params["a"] == pytest.approx(1.0)


# -- groups of nobody ------------------------------------------------------------------------------

MECHANISMS = (
    ldp.KRR(ABC, 2.0),
    ldp.KRAPPOR(ABC, 1.0),
    ldp.URR(ABC, {"a"}, 1.0),
    ldp.URAP(ABC, {"a"}, 1.0),
    ldp.CustomMechanism([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]], ABC),
    ldp.ORR(8, 2, 1.0, alphabet=ABC),
)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("last", [True, False])
def test_a_group_of_nobody_adds_nothing(mechanism: ldp.Mechanism, last: bool) -> None:
    some = ldp.KRR(ABC, 1.0).counts([400, 330, 270])
    none = mechanism.privatize([None, None], np.random.default_rng(0), missing="count")
    alone = ldp.FrequencyModel(some).fit()
    for empty, missing in ((none, 2), (none.tally(), 2), (mechanism.no_counts(), 0)):
        beside = quiet(ldp.FrequencyModel([some, empty] if last else [empty, some]).fit)
        pd.testing.assert_series_equal(beside.params, alone.params)
        pd.testing.assert_frame_equal(beside.conf_int(), alone.conf_int())
        assert (beside.nobs, beside.n_missing, beside.epsilon) == (1000, missing, 1.0)
    other = ldp.KRR(ABC, 1.0).counts([350, 330, 320])
    expected = ldp.two_sample_test(some, other)
    assert ldp.two_sample_test([none, some], other).pvalue == expected.pvalue
    for first, second, name in ((some, none, "second"), ([none.tally()], some, "first")):
        with pytest.raises(ldp.InvalidArgument, match=f"{name}=0: holds no report"):
            ldp.two_sample_test(first, second)
    with pytest.raises(ldp.InvalidArgument, match="hold no report"):
        ldp.FrequencyModel([none, mechanism.no_counts()])


def test_a_group_of_nobody_must_have_the_same_categories() -> None:
    some, none = ldp.KRR(3, 1.0).counts([4, 3, 2]), ldp.KRR(4, 1.0).no_counts()
    with pytest.raises(ldp.MechanismMismatch):
        ldp.FrequencyModel([some, none])


def test_a_group_of_nobody_in_a_joint_table() -> None:
    krr, other = ldp.KRR(2, 1.0), ldp.KRR(2, 3.0)
    some = ldp.JointCounts.from_table([[40, 10], [20, 30]], (krr, krr))
    none = ldp.JointCounts.from_table(np.zeros((2, 2), int), (other, krr))
    alone = ldp.AssociationModel(some).fit()
    for groups in ([some, none], [none, some]):
        beside = quiet(ldp.AssociationModel(groups).fit)
        np.testing.assert_array_equal(beside.table, alone.table)
        assert beside.test_independence().pvalue == alone.test_independence().pvalue
        assert (beside.epsilon, beside.n_strata, beside.sources) == (2.0, 1, alone.sources)
    with pytest.raises(ldp.InvalidArgument, match="hold no report"):
        ldp.AssociationModel([none, none]).fit()


# -- sums, certificates, condition numbers ---------------------------------------------------------

HALF = 2**52


def one_side() -> ldp.JointCounts:
    warner = ldp.Warner(1.0)
    return ldp.JointCounts.from_table([[HALF, 1], [1, 1]], (warner, warner))


@pytest.mark.parametrize(
    "call",
    [
        lambda: sum([ldp.Warner(1.0).counts([HALF, 10])] * 2),
        lambda: ldp.Warner(1.0).counts([HALF, HALF]),
        lambda: ldp.KRR(5000, 1.0).counts(np.full(5000, HALF)),  # wraps around at 2**63
        lambda: sum([ldp.KRAPPOR(3, 1.0).counts([1, 1, 1], nobs=HALF)] * 2),
        lambda: ldp.ORAPPOR(8, 2, 4000, 1.0).counts(np.ones((4000, 8), int), np.full(4000, HALF)),
        lambda: one_side() + one_side(),
        lambda: ldp.JointCounts.from_table([[HALF, HALF]] * 2, (ldp.Warner(1.0),) * 2),
        lambda: ldp.FrequencyModel([ldp.Warner(1.0).counts([HALF, 10])] * 2),
        lambda: ldp.Counts.from_frame(
            pd.DataFrame({"report": ["no"] + [None] * 3000, "n": HALF}),
            ldp.Warner(1.0),
            count="n",
            missing="count",
        ),
    ],
)
def test_sums_that_are_not_exact_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ldp.InvalidArgument, match=r"fewer than 2\*\*53 reports in all"):
        call()


def test_sums_below_the_limit_are_exact() -> None:
    warner = ldp.Warner(1.0)
    assert (warner.counts([HALF, 0]) + warner.counts([HALF - 1, 0])).nobs == 2**53 - 1
    survey = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
    reports = survey.privatize(["abca"], np.random.default_rng(1))
    many = ldp.DictionaryReports(
        survey, reports.pair, reports.first, reports.second, reports.string, 2**62
    )
    with pytest.raises(ldp.InvalidArgument, match="n_missing"):
        many + many


@pytest.mark.parametrize("n", [10**3, 10**13, 10**15])
def test_certificates_bound_what_exact_arithmetic_finds(n: int) -> None:
    rng, beyond = np.random.default_rng(5), 0
    for _ in range(20):
        Q = rng.dirichlet(np.full(6, 0.5), size=4)
        counts = rng.multinomial(n, rng.dirichlet(np.ones(4)) @ Q)
        seen = counts > 0
        problem = Likelihood(Q.T[seen], counts[seen])
        p = ldp.FrequencyModel(ldp.CustomMechanism(Q).counts(counts)).fit().params.to_numpy()
        exact = exact_gap(Q.T[seen], counts[seen], p)
        assert exact * n <= problem.gap_nats(p)
        beyond += exact > problem.gap(p)  # the gap alone is not a bound
    assert n < 10**12 or beyond > 0
    results = ldp.FrequencyModel(
        ldp.KRR(3, 1.0).counts([n // 2, n // 4, n - n // 2 - n // 4])
    ).fit()
    assert results.gap_nats >= n * np.finfo(float).eps


def exact_gap(W: Array, n: Array, p: Array) -> float:
    """``max_x score_x / n - 1`` at p over its sum, in fractions."""
    weights = [Fraction(float(v)) for v in p]
    rows = [[Fraction(float(v)) for v in row] for row in W]
    law = [sum(w * q for w, q in zip(row, weights, strict=True)) for row in rows]
    scores = [
        sum(Fraction(int(m)) * row[x] / d for m, row, d in zip(n, rows, law, strict=True))
        for x in range(p.size)
    ]
    return float(max(scores) * sum(weights) / int(n.sum()) - 1)


def alike(gap: float) -> ldp.CustomMechanism:
    rows = [[0.5, 0.3, 0.2], [0.5 + gap, 0.3 - gap, 0.2], [0.2, 0.3, 0.5]]
    return ldp.CustomMechanism(rows, ABC)


def test_ill_conditioned_channels_say_so() -> None:
    for gap, told in ((1e-9, True), (1e-7, False)):
        mechanism = alike(gap)
        model = ldp.FrequencyModel(mechanism.counts([400, 300, 300]))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results = model.fit()
        assert results.condition == pytest.approx(np.linalg.cond(mechanism.Q), rel=1e-6)
        assert ["condition number" in str(w.message) for w in caught] == [True] * told
        assert all(w.category is ldp.LDPWarning and w.filename == __file__ for w in caught)
        assert ("WARNING: the channel's condition number" in str(results.summary())) == told
        again = ldp.FrequencyResults.from_json(results.to_json())
        assert again.condition == results.condition
    document = results.to_dict()
    del document["condition"]  # as 0.1.0 wrote results
    assert ldp.FrequencyResults.from_dict(document).condition == 1.0


def test_ill_conditioned_mechanisms_say_so() -> None:
    rng, many = np.random.default_rng(2), np.full(1000, 1e-3)
    told = [
        ldp.FrequencyModel(ldp.KRR(1000, 1e-6).draw(many, 10**6, rng)),
        ldp.FrequencyModel(ldp.KRAPPOR(1000, 1e-6).counts([500] * 1000, nobs=1000)),
        ldp.FrequencyModel(ldp.ORR(1024, 4, 1e-6).privatize(["a", "b"] * 50, rng), ["a", "b"]),
        ldp.AssociationModel(  # the product of two
            ldp.JointCounts.from_table([[40, 10], [20, 30]], (ldp.Warner(1e-4), ldp.Warner(1e-4)))
        ),
    ]
    for model in told:
        with pytest.warns(ldp.LDPWarning, match="condition number"):
            results = model.fit()
        assert results.condition > 1e8
    # epsilon 1e-6 of few categories is not so bad, and one good source is enough
    quiet(ldp.FrequencyModel(ldp.Warner(1e-6).counts([500, 500])).fit)
    good = ldp.KRR(ABC, 1.0).counts([400, 300, 300])
    quiet(ldp.FrequencyModel([alike(1e-9).counts([400, 300, 300]), good]).fit)


@pytest.mark.parametrize(
    "mechanism", [ldp.KRR(4, 0.3), ldp.Warner(0.2), ldp.CustomMechanism(exponential(4, 3.0, 1))]
)
def test_condition_of_square_channels(mechanism: ldp.Mechanism) -> None:
    counts = mechanism.counts([10] * mechanism.k)
    exact = np.linalg.cond(mechanism.channel().matrix())
    assert mechanism.moments(counts).condition == pytest.approx(exact, rel=1e-9)


def test_reports_of_bits_have_no_positions() -> None:
    certificate = uldp(ldp.URAP(ABC, {"a"}, 1.0))
    for which in ("protected", "invertible"):
        with pytest.raises(ldp.NotAvailable) as raised:
            getattr(certificate, which)
        assert "too many" not in str(raised.value)  # of two
        assert "n_protected (2) and n_invertible (2)" in str(raised.value)
