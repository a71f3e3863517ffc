"""The plan of a survey of unknown strings: closed forms, what is recommended, and what is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.errors import InvalidArgument
from ldpstats.models.dictionary.search import (
    Stage,
    detectable,
    gram_stage,
    pair_stage,
    string_stage,
)
from ldpstats.planning import DictionaryPlan, plan_dictionary
from ldpstats.planning.dictionary import GramDesign, Setting, hashed_rates, report_variances

LETTERS = "abcdefgh"
HOSTS: dict[str, Any] = {  # FPE16 section V: hosts of at most 20 characters
    "length": 20,
    "alphabet": "abcdefghijklmnopqrstuvwxyz0123456789.-",
    "epsilon": 4.394449154672439,
    "n": 10**6,
}
SMALL: dict[str, Any] = {"length": 6, "alphabet": LETTERS, "epsilon": 6.0, "n": 20_000}


def setting(**other: Any) -> Setting:
    given = {**SMALL, "pad": " ", "alpha": 0.05, "power": 0.8, "false_grams": 50.0}
    return Setting(**{**given, "max_candidates": 100, **other})


# -- variances ------------------------------------------------------------------------------------


def test_likelihood_of_two_bits_has_the_information_of_all_their_outcomes() -> None:
    """Against bits that are set with the chance of any other answer's, by enumeration."""
    mechanism = ldp.RAPPOR(128, 2, 64, f=0.0, p=0.25, q=0.75)
    rates = hashed_rates([mechanism])
    own, other = float(rates.own[0, 0]), float(rates.other[0, 0])
    law = {1: (own, other), 0: (1 - own, 1 - other)}
    information = -1.0
    for a in (0, 1):
        for b in (0, 1):
            information += (law[a][0] * law[b][0]) ** 2 / (law[a][1] * law[b][1])
    found = report_variances(rates, 0.0, 2, likelihood=True)[0]
    assert found == pytest.approx(1.0 / information, rel=1e-12)
    assert found < 0.65 * report_variances(rates, 0.0, 2)[0]


@pytest.mark.parametrize("gram", ["oue", "orr"])
def test_standard_errors_are_those_of_fits(gram: str) -> None:
    """Grams, pairs and whole strings at random strings, whose grams are equally frequent."""
    s = setting(length=4, n=6_000, max_candidates=20)
    design = GramDesign(s, s.layout(2), gram, "orr")
    stages = design.stages(np.array([0.3]))
    rng = np.random.default_rng(5)
    survey = ldp.DictionarySurvey(4, 2, LETTERS, 6.0, (0.3, 0.35, 0.35), gram)
    values = ["".join(row) for row in rng.choice(list(LETTERS), (s.n, 4))]
    fit = ldp.DictionaryModel(survey.privatize(values, rng)).fit(max_candidates=20)
    seen = {
        "grams": fit.grams["se"].median(),
        "pairs": fit.pair_se,
        "test": fit.candidates["se"].median(),
    }
    for name, stage in stages.items():
        # known collisions make the likelihood of hashes a little better than on average
        assert seen[name] == pytest.approx(stage.noise[0], rel=0.1), name


# -- stages ---------------------------------------------------------------------------------------


def test_stages_pass_with_the_probability_they_are_solved_for() -> None:
    rng = np.random.default_rng(1)
    stages = {
        "grams": gram_stage(0.01, 1.5, 5),
        "pairs": pair_stage(0.03, 10, 20.0, 500),
        "test": string_stage(0.012, 0.05, 500),
    }
    found = detectable(stages, 0.8)
    assert found["found"] > max(float(found[name]) for name in stages)
    noise = {name: rng.standard_normal((100_000, s.times)) for name, s in stages.items()}
    passes = {
        name: ((found["found"] + s.noise * noise[name]) > s.noise * s.bound).all(axis=1)
        for name, s in stages.items()
    }
    # five standard errors of a share of 100,000
    assert np.logical_and.reduce(list(passes.values())).mean() == pytest.approx(0.8, abs=0.0064)
    for name, stage in stages.items():
        assert stage.probability(found[name]) == pytest.approx(0.8, rel=1e-9)


def test_any_string_passes_a_stage_without_bound() -> None:
    assert Stage(0.01, 0.0).frequency(0.3) == 0.0
    every = pair_stage(0.01, 3, log_strings=2.0, n_tested=500)  # all strings are tested
    assert every.frequency(0.99) == 0.0 and every.probability(0.0) == 1.0


def test_best_of_chance_is_what_pairs_must_beat() -> None:
    """As many strings that nobody holds are beyond the bound as are tested."""
    rng, stage = np.random.default_rng(2), pair_stage(0.5, 6, np.log(10_000.0), 100)
    beyond = [(rng.standard_normal(10_000) > stage.bound).sum() for _ in range(400)]
    assert stage.noise == pytest.approx(0.5 / np.sqrt(6))
    assert np.mean(beyond) == pytest.approx(100.0, abs=2.0)  # four standard errors


# -- plans ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hosts() -> DictionaryPlan:
    return plan_dictionary(**HOSTS)


def test_hosts_of_the_paper_get_long_grams_by_orr(hosts: DictionaryPlan) -> None:
    best = hosts.best
    assert (best["gram"], best["gram_mechanism"], best["string_mechanism"]) == (4, "orr", "orr")
    assert 0.2 <= best["share"] <= 0.27
    assert best["found"] == pytest.approx(0.01, rel=0.05)
    found = hosts.comparison["found"]
    assert found["paper"] > 1.5 * found["paper, best split"] > 3.0 * found["recommended"]
    assert found["thirds"] > 1.1 * found["recommended"]
    assert hosts.gain == pytest.approx((found["paper"] / found["recommended"]) ** 2)
    assert hosts.gain > 10.0
    assert set(hosts.left_out) == {5, 10}


def test_recommended_survey_is_the_one_of_the_row(hosts: DictionaryPlan) -> None:
    survey, best = hosts.survey(replace="-"), hosts.best
    assert survey.gram == 4 and survey.replace == "-"
    assert isinstance(survey.gram_mechanism, ldp.ORR)
    assert survey.epsilon == pytest.approx(HOSTS["epsilon"], rel=1e-12)
    assert survey.split[0] == pytest.approx(best["share"], rel=1e-12)
    gram, string = survey.gram_mechanism, survey.string_mechanism
    each = [(m.n_cohorts - 1).bit_length() + (m.n_outputs - 1).bit_length() for m in (gram, string)]
    assert best["bits"] == 4 + 2 * each[0] + each[1]  # 10 pairs of positions take 4 bits


def test_table_has_the_best_split_of_each_and_the_curve_shows_it() -> None:
    plan = plan_dictionary(**SMALL)
    table, curve = plan.table, plan.curve
    assert table["found"].is_monotonic_increasing
    assert not table[["gram", "gram_mechanism", "string_mechanism"]].duplicated().any()
    assert len(table) == 3 * 4 * 2
    assert plan.best["found"] == curve["found"].min() == curve["found"][plan.best["share"]]
    assert plan.best["found"] <= 1.02 * table["found"][0]
    # more epsilon for the string helps the test, and costs the grams and the pairs
    assert (np.diff(curve["grams"]) > 0).all() and (np.diff(curve["pairs"]) > 0).all()
    assert curve["test"].iloc[-1] < 0.2 * curve["test"].iloc[0]
    limits = table[["grams", "pairs", "test"]].idxmax(axis=1)
    assert (limits == table["limit"]).all()
    assert (plan.comparison.loc["recommended", table.columns] == plan.best).all()


def test_costs_decide_between_surveys_that_are_as_good() -> None:
    longer = plan_dictionary(**HOSTS, most_grams=1 << 28, shares=[0.23])
    assert longer.table["gram"][0] == 5 and longer.best["gram"] == 4  # 38 times as many to scan
    plan = plan_dictionary(**SMALL, grams=[3], gram_mechanisms=["oue", "orr"])
    assert plan.table["gram_mechanism"][0] == "oue"  # by less than 1 per cent, for 1186 bits
    assert plan.best["gram_mechanism"] == "orr" and plan.best["bits"] < 50


def test_grams_that_many_strings_share_are_not_recommended() -> None:
    plan = plan_dictionary(12, "abcdefghijklmnopqrstuvwxyz", epsilon=9.0, n=200_000)
    first, best = plan.table.iloc[0], plan.best
    assert first["gram"] == 1 and first["found"] < best["found"] and best["gram"] == 2
    assert first["sharing"] == pytest.approx(1.0 / (27 * first["found"])) and first["sharing"] > 5
    assert best["sharing"] < 1.0
    # with nothing else to choose from, the best of them
    alone = plan_dictionary(12, "abcdefghijklmnopqrstuvwxyz", epsilon=9.0, n=200_000, grams=1)
    assert alone.row == 0 and alone.table["sharing"].min() > 1.0


def test_frequencies_shrink_as_the_root_of_n_and_grow_with_demands() -> None:
    def found(**change: Any) -> float:
        few = {"grams": 3, "gram_mechanisms": "orr", "string_mechanisms": "orr"}
        return float(plan_dictionary(**{**SMALL, **few, **change}).best["found"])

    assert found(n=80_000) == pytest.approx(found() / 2.0, rel=1e-9)
    for harder in ({"power": 0.95}, {"alpha": 0.001}, {"false_grams": 1}, {"epsilon": 3.0}):
        assert found(**harder) > found()


def test_too_few_respondents_are_said_to_be() -> None:
    plan = plan_dictionary(**{**SMALL, "n": 10})
    assert plan.best["found"] > 1.0
    assert "WARNING: too few respondents" in str(plan)
    assert "WARNING" not in str(plan_dictionary(**SMALL))


def test_long_alphabets_leave_out_unary_reports_and_long_grams() -> None:
    plan = plan_dictionary(8, "".join(map(chr, range(256, 556))), 6.0, 10**6)
    assert set(plan.table.loc[plan.table["gram_mechanism"] == "oue", "gram"]) == {1}
    assert set(plan.left_out) == {4}
    more = plan_dictionary(8, LETTERS, 6.0, 10**6, most_grams=100)
    assert set(more.table["gram"]) == {1, 2} and "most_grams=100" in more.left_out[4]


BAD: dict[str, list[Any]] = {
    "length": [{"length": 1}, {"length": 6.5}, {"grams": 4}, {"grams": 6}],
    "alphabet": [{"alphabet": "aa"}, {"alphabet": ""}, {"pad": "a"}],
    "epsilon": [{"epsilon": 0.0}, {"epsilon": 1e-6}],
    "n": [{"n": 0}, {"n": 1e6}],
    "grams": [{"grams": []}, {"grams": "2"}, {"grams": [2.5]}, {"grams": [[2]]}],
    "shares": [
        *({"shares": [0.0]}, {"shares": [1.0]}, {"shares": []}, {"shares": ["a"]}, {"shares": "a"}),
    ],
    "gram_mechanisms": [
        *({"gram_mechanisms": "best"}, {"gram_mechanisms": []}, {"gram_mechanisms": 3}),
        {"alphabet": "".join(map(chr, range(256, 556))), "grams": 2, "gram_mechanisms": "oue"},
    ],
    "string_mechanisms": [{"string_mechanisms": ["krr"]}],
    "alpha": [{"alpha": 1.0}],
    "power": [{"power": 0.0}, {"power": 1.0}],
    "false_grams": [
        *({"false_grams": 0}, {"false_grams": 501}, {"false_grams": True}),
        {"false_grams": float("nan")},
    ],
    "max_candidates": [{"max_candidates": 0}, {"max_candidates": 4001}],
    "most_grams": [{"most_grams": 2}, {"most_grams": 0}],
}


@pytest.mark.parametrize(
    ("change", "name"), [(one, name) for name, several in BAD.items() for one in several]
)
def test_bad_input_is_refused_by_name(change: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        plan_dictionary(**{**SMALL, **change})
    assert caught.value.name == name


def test_what_no_limit_helps_is_about_the_length() -> None:
    with pytest.raises(InvalidArgument) as caught:
        plan_dictionary(1024, "abcdefghijklmnopqrstuvwxyz", 6.0, 10_000)
    assert caught.value.name in ("length", "most_grams")
    with pytest.raises(InvalidArgument) as caught:
        plan_dictionary(1024, "ab", 6.0, 10_000, grams=[1, 2])
    assert caught.value.name == "length"


# -- simulation -----------------------------------------------------------------------------------


PLANTED = 8


def found_share(
    design: GramDesign, share: float, frequency: float, strings: int, seed: int
) -> float:
    """How often strings of this frequency are found among random ones, of so many.

    A survey holds eight of them: they are found as often as one alone is, and with little more
    than the spread of independent strings, for an eighth of the fits.
    """
    rng, s = np.random.default_rng(seed), design.setting
    split = (share, (1.0 - share) / 2.0, (1.0 - share) / 2.0)
    survey = ldp.DictionarySurvey(
        s.length, design.layout.gram, s.alphabet, s.epsilon, split, design.gram, design.string
    )
    law = np.append(np.full(PLANTED, frequency), 1.0 - PLANTED * frequency)
    found, surveys = 0, strings // PLANTED
    for _ in range(surveys):
        rows = rng.choice(list(s.alphabet), (s.n, s.length))
        planted = rng.choice(list(s.alphabet), (PLANTED, s.length))
        held = rng.multinomial(s.n, law)[:-1]
        rows[: held.sum()] = np.repeat(planted, held, axis=0)
        values = ["".join(row) for row in rows]
        fit = ldp.DictionaryModel(survey.privatize(values, rng)).fit(max_candidates=100)
        found += sum("".join(string) in fit.params.index for string in planted)
    return found / (surveys * PLANTED)


GRID = np.arange(5, 91) / 100.0


@pytest.mark.slow
def test_planned_frequency_is_found_with_the_planned_probability(
    replications: Callable[..., int],
) -> None:
    runs, s = replications(200, 80), setting()
    design = GramDesign(s, s.layout(2), "orr", "orr")
    row = design.row(GRID)
    found = found_share(design, row["share"], row["found"], runs, seed=2)
    # four standard errors, and what closed forms leave out: the search finds slightly more strings
    # than the pairs alone predict, because the grams are evidence for a string as well
    band = 4.0 * np.sqrt(0.8 * 0.2 / runs)
    assert 0.8 - band < found < 0.8 + band + 0.1
    assert found_share(design, row["share"], row["found"] / 2.0, runs // 4, seed=9) < 0.2


@pytest.mark.slow
def test_recommended_survey_finds_more_than_those_below_it(
    replications: Callable[..., int],
) -> None:
    runs, s, plan = replications(120, 48), setting(), plan_dictionary(**SMALL, max_candidates=100)
    frequency, best = float(plan.best["found"]), plan.best
    made_by = best["gram_mechanism"], best["string_mechanism"]
    recommended = GramDesign(s, s.layout(best["gram"]), *made_by)
    paper = GramDesign(s, s.layout(2), "rappor", "rappor")
    shares = [
        found_share(recommended, best["share"], frequency, runs, seed=1),
        found_share(recommended, 0.1, frequency, runs // 3, seed=2),
        found_share(paper, 1.0 / 3.0, frequency, runs // 3, seed=3),
    ]
    # predicted .8, and less than .02 of the others, of which luck and high ranks find some more
    error = 3.0 * np.sqrt(0.8 * 0.2 / runs)
    assert shares[0] > 0.8 - error and max(shares[1:]) < 0.3
