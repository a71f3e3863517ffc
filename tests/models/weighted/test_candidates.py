"""Candidates of open alphabets in complex samples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import IncompleteListWarning, InvalidArgument, MisfitWarning, NotAvailable

WORDS = ("ash", "birch", "cedar", "daphne", "elm")


@pytest.fixture(scope="module")
def survey() -> ldp.Survey:
    """Trees in 40 clusters, reported by O-RR with 12 cohorts."""
    rng, n = np.random.default_rng(1), 4000
    table = pd.DataFrame(
        {
            "tree": rng.choice(WORDS, n, p=[0.4, 0.25, 0.15, 0.12, 0.08]),
            "side": rng.choice(["n", "s"], n),
            "w": rng.uniform(1.0, 3.0, n),
            "plot": np.arange(n) % 40,
        }
    )
    sheet = ldp.Questionnaire({"tree": ldp.ORR(8, 12, epsilon=3.0)})
    return ldp.Survey(sheet.privatize(table, rng), sheet, weights="w", clusters="plot")


def test_what_is_left_of_a_complete_list_is_nothing(survey):
    found = survey.frequencies("tree", candidates=WORDS)
    np.testing.assert_allclose(found.params, [0.4, 0.25, 0.15, 0.12, 0.08], atol=0.05)
    share = found.unexplained()
    assert abs(share["estimate"]) < 4.0 * share["se"] and share["lower"] == 0.0
    again = ldp.WeightedResults.from_json(found.to_json())
    pd.testing.assert_series_equal(again.unexplained(), share)
    by_side = survey.frequencies("tree", by="side", candidates=WORDS).unexplained()
    assert by_side.index.tolist() == ["n", "s"]


def test_standard_errors_allow_for_answers_that_are_not_listed(survey):
    every = survey.frequencies("tree", candidates=WORDS)
    some = survey.frequencies("tree", candidates=WORDS[2:], incomplete=True)
    assert some.unexplained()["estimate"] == pytest.approx(0.65, abs=0.06)
    # birch and ash meet the cells of others in some cohorts, which no design shows
    assert np.all(some.bse > 1.1 * every.bse[list(WORDS[2:])])


def test_a_likelihood_that_takes_the_list_for_complete_is_doubted(survey):
    with pytest.warns(MisfitWarning, match="takes the candidates for all answers"):
        survey.frequencies("tree", candidates=WORDS[2:], method="mle")
    full = survey.frequencies("tree", candidates=WORDS, method="mle")
    assert full.params.sum() == pytest.approx(1.0) and full.converged


def test_few_cohorts_are_named():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"tree": rng.choice(WORDS, 3000), "w": rng.uniform(1.0, 2.0, 3000)})
    sheet = ldp.Questionnaire({"tree": ldp.ORR(8, 4, epsilon=4.0)})
    few = ldp.Survey(sheet.privatize(table, rng), sheet, weights="w")
    with pytest.warns(IncompleteListWarning, match="only 4 of the cohorts"):
        few.frequencies("tree", candidates=WORDS[:2])


def test_hashed_reports_of_a_closed_alphabet_have_design_effects():
    rng, n = np.random.default_rng(3), 2000
    table = pd.DataFrame({"tree": rng.choice(WORDS, n), "plot": np.arange(n) % 40, "N": 80})
    sheet = ldp.Questionnaire({"tree": ldp.ORR(3, 8, epsilon=3.0, alphabet=WORDS)})
    collected = sheet.privatize(table, rng)
    survey = ldp.Survey(collected, sheet, clusters="plot", fpc="N")
    found = survey.frequencies("tree").deff()
    # the product is known even where the noise leaves too little to tell its factors apart
    assert np.all(found["deff"] > 1.5) and np.all(found["channel"] > 1.5)
    assert 0.0 < found["deff_design"].median() < 1.5


def test_closed_alphabets_know_all_answers():
    table = pd.DataFrame({"ill": ["no", "yes"] * 20, "w": 1.0})
    survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=2.0)}, weights="w")
    with pytest.raises(NotAvailable, match="no candidates"):
        survey.frequencies("ill").unexplained()
    with pytest.raises(InvalidArgument, match="open alphabet"):
        survey.frequencies("ill", incomplete=True)
