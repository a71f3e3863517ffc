"""Fits that warn: a `MisfitWarning` where goodness of fit has p < .001, and only there."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from surveys import quiet

import ldpstats as ldp
from ldpstats.cli import main
from ldpstats.inference import goodness
from ldpstats.io import write_mechanism
from ldpstats.models.frequency.tests import impossible

ABC = ("a", "b", "c")
WORDS = [f"word{i}" for i in range(20)]
RAPPOR: dict[str, Any] = dict(n_bits=64, n_hashes=2, n_cohorts=8, p=0.25, q=0.75)


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
    check = "; check that its parameters are those with which the reports were made"
    assert str(warning.message).endswith(check)
    assert issubclass(ldp.MisfitWarning, ldp.LDPWarning) and ldp.errors.MisfitWarning


@pytest.mark.parametrize("method", ["em", "inversion", "nnls"])
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
    assert "WARNING: the reports of job contradict" in results.summary().as_text()
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
def test_unlisted_answers_are_no_misfit(others: dict[str, float]) -> None:
    counts = held(ldp.RAPPOR(f=0.0, **RAPPOR), others, 20_000, 0)
    known = ldp.FrequencyModel(counts, candidates=WORDS, incomplete=True)
    quiet(known.fit)
    quiet(lambda: ldp.FrequencyModel(counts, candidates=WORDS).fit())
    quiet(lambda: ldp.FrequencyModel(counts, candidates=WORDS).fit("lasso"))


@pytest.mark.parametrize(("f", "incomplete"), [(0.25, True), (0.5, False)])
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
