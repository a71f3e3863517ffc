"""Surveys whose weights are calibrated, post-stratified or trimmed."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from shared.engines import PLACES

import ldpstats as ldp

FOLDER = Path(__file__).parents[1] / "reference" / "survey"

JOBS = ("cook", "driver", "nurse", "teacher")

SHEET = ldp.Questionnaire({"job": ldp.Observed(JOBS), "ill": ldp.Warner(epsilon=2.0)})

DESIGN: dict[str, Any] = {"weights": "weight", "strata": "stratum", "clusters": "unit"}

REGION = {"east": 780, "north": 590, "south": 930}

SEX = {"f": 1280, "m": 1020}

MARGINS = {"region": REGION, "sex": SEX}

INSIDE = "sex == 'f' and age != '65+'"


@cache
def by_r() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "calibration.json").read_text())
    return found


@cache
def people() -> pd.DataFrame:
    frame = pd.read_csv(FOLDER / "people.csv")
    frame["ill"] = np.where(frame["job"] == "nurse", "yes", "no")
    return frame


@cache
def survey() -> ldp.Survey:
    return ldp.Survey(people(), SHEET, **DESIGN)


def same(found: Any, expected: dict[str, Any]) -> None:
    np.testing.assert_allclose(found.params, expected["value"], rtol=1e-9)
    np.testing.assert_allclose(found.cov_params(), expected["cov"], atol=1e-11)


def test_replicates_that_are_made_are_calibrated_anew():
    """As R has it of replicates in columns."""
    again = survey().calibrate(MARGINS).replicates("jackknife").frequencies("job")
    other = survey().replicates("jackknife").calibrate(MARGINS).frequencies("job")
    np.testing.assert_allclose(again.cov_params(), other.cov_params(), rtol=1e-9)
    expected = by_r()["jkn_raking"]["share"]["cov"]
    np.testing.assert_allclose(again.cov_params(), expected, atol=1e-5)


def changed(held: ldp.Survey) -> list[ldp.Survey]:
    crossed = people().groupby(["region", "age"]).weight.sum() * (2300 / people().weight.sum())
    trimmed = held.trim(4, 25)
    return [trimmed, trimmed.calibrate(MARGINS).calibrate({("region", "age"): crossed})]


@pytest.mark.parametrize("place", ["relation", "polars"])
def test_engines_give_the_same(place, tmp_path):
    held = PLACES[place](pa.Table.from_pandas(people(), preserve_index=False), tmp_path)
    engine = ldp.Survey(**held, questionnaire=SHEET, **DESIGN)
    for one, two in zip(changed(engine), changed(survey()), strict=True):
        for mine, other in ((one, two), (one.where(INSIDE), two.where(INSIDE))):
            found, expected = (each.frequencies("ill", by="sex") for each in (mine, other))
            np.testing.assert_allclose(found.params, expected.params, rtol=1e-10)
            np.testing.assert_allclose(found.bse, expected.bse, rtol=1e-9)
            assert found.domains.n_ungrouped == 0 and found.nobs == expected.nobs
        assert one.calibration is not None and two.calibration is not None
        np.testing.assert_allclose(
            one.calibration.to_frame().select_dtypes("number"),
            two.calibration.to_frame().select_dtypes("number"),
            atol=1e-9,
        )


def test_categories_as_people_write_them():
    table = people().assign(n=np.where(people().sex == "f", 1, 2), old=people().age == "65+")
    held = ldp.Survey(table, SHEET, **DESIGN)
    expected = survey().calibrate(MARGINS).frequencies("ill").bse
    for written in ({1: 1280, 2: 1020}, {"1": 1280, 2.0: 1020}, pd.Series([1020, 1280], [2, 1])):
        made = held.calibrate({"region": REGION, "n": written})
        np.testing.assert_allclose(made.frequencies("ill").bse, expected, rtol=1e-12)
    totals = {(True, 1): 300, (False, "1"): 980, (True, 2): 220, (False, 2): 800, ("x", 9): 0}
    del totals["x", 9]
    made = held.poststratify({("old", "n"): totals})
    assert made.calibration is not None
    assert made.calibration.categories is not None
    assert made.calibration.categories.loc[("old x n", "True x 2"), "target"] == 220


def test_shares_need_a_total():
    shares = {name: {k: v / 2300 for k, v in own.items()} for name, own in MARGINS.items()}
    made = survey().calibrate(shares, total=2300).frequencies("job")
    same(made, by_r()["clusters_raking"]["share"])
    with pytest.raises(ldp.InvalidArgument, match=r"add up to one: multiply.*total="):
        survey().calibrate(shares)
    with pytest.raises(ldp.InvalidArgument, match="total=2300: goes with shares"):
        survey().calibrate(MARGINS, total=2300)


def test_totals_that_margins_fix_do_not_vary():
    """Also of an unprotected question, in every category and where margins are crossed."""
    jobs = {"cook": 500, "driver": 600, "nurse": 700, "teacher": 500}
    found = survey().calibrate({"job": jobs, "sex": SEX}).frequencies("job").totals()
    np.testing.assert_allclose(found["estimate"], list(jobs.values()), rtol=1e-10)
    assert (found["se"] == 0.0).all()
    twice = survey().poststratify({"region": REGION}).calibrate({"sex": SEX})
    assert (twice.frequencies("sex").totals()["se"] == 0.0).all()  # of the last calibration
    assert (twice.frequencies("region").totals()["se"] > 1.0).all()


def test_the_noise_of_reports_has_the_calibrated_weights():
    """Where everybody is in the sample the randomisation alone varies."""
    frame = pd.DataFrame({"ill": ["no", "yes", "no"] * 4, "a": list("xxxxxxyyyyyy"), "N": 12})
    held = ldp.Survey(frame.assign(w=1.0), {"ill": ldp.Warner(epsilon=1.0)}, weights="w", fpc="N")
    found = held.poststratify({"a": {"x": 6, "y": 18}}).frequencies("ill")
    p = np.exp(1.0) / (1.0 + np.exp(1.0))
    expected = np.sqrt((6 * 1 + 6 * 9) * p * (1 - p)) / (2 * p - 1) / 24
    np.testing.assert_allclose(found.bse, expected, rtol=1e-10)


def test_raking_within_bounds():
    free, held = (survey().calibrate(MARGINS, bounds=b) for b in (None, (0.87, 1.12)))
    assert free.calibration is not None and held.calibration is not None
    least, *_, most = free.calibration.steps[0].factors
    assert least < 0.87 or most > 1.12
    least, *_, most = held.calibration.steps[0].factors
    assert 0.87 <= least < most <= 1.12 and held.calibration.steps[0].deviation <= 1e-12
    assert (held.frequencies("sex").totals()["se"] == 0.0).all()


def test_the_report():
    made = changed(survey())[1]
    report = made.calibration
    assert report is not None and survey().calibration is None
    frame = report.to_frame()
    assert frame.method.to_list() == ["trimming", "raking", "raking"]
    assert frame.n_trimmed.to_list() == [17, 0, 0]
    w = people().weight
    np.testing.assert_allclose(frame.kish_before[1], len(w) * (w**2).sum() / w.sum() ** 2)
    np.testing.assert_allclose(frame.sum_after, [w.sum(), 2300, 2300])
    assert report.categories is not None and len(report.categories) == 5 + 9
    text = report.summary().as_text()
    for words in ("Calibration of weights", "trimming: 4 to 25", "Trimming cut 17 weights", "Kish"):
        assert words in text
    assert repr(report).endswith("(trimming: 4 to 25; raking: region, sex; raking: region x age)")
    assert "calibrated" in made.frequencies("ill").summary().as_text()
    shown = " ".join(repr(made).split())
    assert "trimmed to 4 to 25; calibrated to region, sex; calibrated to region x age" in shown
    beyond = survey().trim(upper=13).calibration
    strict = survey().trim(upper=13, strict=True).calibration
    assert beyond is not None and strict is not None
    assert beyond.steps[0].n_beyond > 0 == strict.steps[0].n_beyond
    assert "NOTE:" in beyond.summary().as_text() and "<table" in beyond._repr_html_()


def test_negative_weights_are_warned_of():
    codes = pd.DataFrame({"ill": ["no", "yes"] * 6, "w": 1.0, "a": list("xxxxxxxxxyyy")})
    codes["b"] = list("pppppppqqqqp")
    held = ldp.Survey(codes, {"ill": ldp.Warner(epsilon=1.0)}, weights="w")
    margins = {"a": {"x": 2, "y": 10}, "b": {"p": 9, "q": 3}}
    with pytest.warns(ldp.LDPWarning, match="respondents have negative weights"):
        made = held.calibrate(margins, "linear")
    assert made.calibration is not None and "WARNING" in made.calibration.summary().as_text()
    with pytest.raises(ldp.InvalidArgument, match="negative after an earlier calibration"):
        made.calibrate(margins)
    zero = held.calibrate(margins, "linear", bounds=(0, None)).calibration
    assert zero is not None and zero.steps[0].n_negative == 0


def without_sex() -> ldp.Survey:
    return ldp.Survey(people().assign(sex=people().sex.where(people().index > 3)), SHEET, **DESIGN)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda s: s.calibrate({"ill": {"no": 1, "yes": 2}}), "InvalidArgument", "constraints="),
        (lambda s: s.calibrate({"sexx": SEX}), "InvalidArgument", "did you mean 'sex'"),
        (lambda s: without_sex().calibrate(MARGINS), "InvalidArgument", "missing for 4 respondent"),
        (lambda s: s.calibrate({"sex": SEX | {"x": 3}}), "InvalidArgument", "nobody in the sample"),
        (lambda s: s.calibrate({"sex": {"F": 9, "m": 1}}), "InvalidArgument", "did you mean 'f'"),
        (lambda s: s.calibrate({"sex": {"f": 9}}), "InvalidArgument", "'m'.*no total or one of"),
        (lambda s: s.calibrate({"sex": {"f": 9, "m": -1}}), "InvalidArgument", "'m'.=-1: must be"),
        (
            lambda s: s.calibrate(MARGINS | {"sex": {"f": 1280, "m": 1021}}),
            "InvalidArgument",
            r"'region': 2300.0, 'sex': 2301.0.*different populations: multiply",
        ),
        (
            lambda s: s.calibrate(
                {
                    ("sex", "stratum"): {(x, y): 10 for x in "fm" for y in "abcd"},
                    "sex": {"f": 41, "m": 39},
                }
            ),
            "InvalidArgument",
            "contradict each other.* instead of",
        ),
        (lambda s: s.calibrate(MARGINS, "logit"), "InvalidArgument", "two finite bounds"),
        (lambda s: s.calibrate(MARGINS, bounds=(0.95, 1.05)), "InvalidArgument", "widen the bound"),
        (lambda s: s.calibrate(MARGINS, bounds=(0, 0.5)), "InvalidArgument", "weights sum to 2322"),
        (lambda s: s.calibrate({("sex", "age"): SEX}), "InvalidArgument", "tuple of 2 values"),
        (lambda s: s.poststratify(MARGINS), "InvalidArgument", "several margins: cross them"),
        (lambda s: s.calibrate({"weight": {1: 5}}), "InvalidArgument", "numbers with decimals"),
        (lambda s: s.where(INSIDE).calibrate(MARGINS), "NotAvailable", "whole survey first"),
        (lambda s: s.where(INSIDE).trim(upper=20), "NotAvailable", "whole survey first"),
        (lambda s: s.calibrate(MARGINS).trim(4, 25), "NotAvailable", "trim first and calibrate"),
        (lambda s: s.trim(), "InvalidArgument", "give the largest weight"),
        (lambda s: s.trim(5, 4), "InvalidArgument", "must be below upper, 4"),
        (lambda s: s.trim(upper=5), "InvalidArgument", "above the mean weight, 12.55"),
        (
            lambda s: ldp.Survey(people(), SHEET).calibrate(MARGINS),
            "NotAvailable",
            "no weights: name their column",
        ),
    ],
)
def test_what_is_refused(call, error, words):
    with pytest.raises(getattr(ldp, error), match=words):
        call(survey())


# Surveys whose variances come from replicates: columns of weights, or made from the design.

SHEET_REPLICATES = ldp.Questionnaire({"job": ldp.KRR(("cook", "nurse", "driver"), 2.0)})

DESIGN_REPLICATES: dict[str, Any] = {"weights": "w", "strata": "region", "clusters": "school"}

N_SCHOOLS = {"n": 4, "s": 6}


@cache
def table() -> pd.DataFrame:
    """Two hundred respondents in ten schools of two regions, with weights of the jackknife."""
    rng = np.random.default_rng(20)
    region = rng.choice(["n", "s"], 200, p=[0.4, 0.6])
    school = np.where(region == "n", rng.integers(0, 4, 200), rng.integers(10, 16, 200))
    frame = pd.DataFrame(
        {
            "job": rng.choice(SHEET_REPLICATES["job"].categories, 200, p=[0.5, 0.3, 0.2]),
            "region": region,
            "school": school,
            "w": rng.uniform(1.0, 3.0, 200).round(2),
            "age": rng.integers(18, 80, 200),
            "sex": rng.choice(["f", "m"], 200),
        }
    )
    frame.loc[frame.index % 17 == 3, "job"] = None
    frame = SHEET_REPLICATES.privatize(frame, rng)
    factors = {}
    for one, own in frame.groupby("school")["region"].first().items():
        n = N_SCHOOLS[own]
        others = np.where(region == own, n / (n - 1), 1.0)
        factors[f"f_{one}"] = np.where(school == one, 0.0, others)
    whole = pd.DataFrame(factors)
    return pd.concat([frame, whole, whole.mul(frame["w"], axis=0).add_prefix("rep_")], axis=1)


def jackknife_weights(columns: str = "rep_*", **more: Any) -> ldp.ReplicateWeights:
    left = [(n - 1) / n for n in N_SCHOOLS.values() for _ in range(n)]
    return ldp.ReplicateWeights(columns, "JKn", rscales=left, **more)


def given(columns: str = "rep_*", frame: Any = None, **more: Any) -> ldp.Survey:
    weights = jackknife_weights(columns, **more)
    frame = table() if frame is None else frame
    return ldp.Survey(frame, SHEET_REPLICATES, weights="w", replicate_weights=weights)


def same_replicates(one: Any, two: Any) -> None:
    np.testing.assert_allclose(one.params, two.params, rtol=1e-10)
    np.testing.assert_allclose(one.cov_params(), two.cov_params(), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(one.df, two.df)


def test_made_and_given_replicates_agree():
    """Also in domains, by groups, for factors, and for the maximum of the weighted likelihood."""
    made = ldp.Survey(table(), SHEET_REPLICATES, **DESIGN_REPLICATES).replicates("jackknife")
    columns = given()
    for how in ({}, {"by": "sex"}, {"method": "mle"}):
        same_replicates(columns.frequencies("job", **how), made.frequencies("job", **how))
    condition = "age < 50 and sex == 'f'"
    same_replicates(*(one.where(condition).frequencies("job") for one in (columns, made)))
    same_replicates(*(one[table()["age"] < 50].frequencies("job") for one in (columns, made)))
    factors = given("f_*", combined=False)
    same_replicates(factors.frequencies("job"), made.frequencies("job"))


def test_results_are_those_of_linearisation_nearly():
    """Of all jobs, whose counts are totals; the sum of the weights alone makes shares ratios."""
    survey = ldp.Survey(table(), SHEET_REPLICATES, **DESIGN_REPLICATES)
    linear, made = survey.frequencies("job"), survey.replicates("jackknife").frequencies("job")
    np.testing.assert_allclose(made.bse, linear.bse, rtol=0.1)
    assert (made.bse != linear.bse).all()
    np.testing.assert_allclose(made.totals()["se"], linear.totals()["se"], rtol=1e-10)
    drawn = survey.replicates("bootstrap", np.random.default_rng(3), 400).frequencies("job")
    # 400 draws: four Monte Carlo standard errors of a standard error
    np.testing.assert_allclose(drawn.bse, made.bse, rtol=4 / np.sqrt(2 * 400))
    assert (drawn.params == made.params).all()
    assert made.sample.variance == "jackknife"
    assert drawn.sample.variance == "bootstrap of 400 replicates"


REFERENCE = Path(__file__).parents[1] / "reference" / "survey" / "people.csv"

SAMPLES: dict[str, dict[str, Any]] = {
    "two stages": {
        "strata": "stratum",
        "clusters": ["psu", "ssu"],
        "fpc": ["fpc1", "fpc2"],
        "nested": True,
    },
    "certainty": {"strata": "alone", "fpc": "residents", "single_unit": "certainty"},
    "centered": {
        "strata": "lone",
        "clusters": "psu",
        "fpc": "fpc1",
        "single_unit": "centered",
        "nested": True,
    },
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_jackknife_of_totals_is_linearisation(name):
    """Exactly, with randomised reports, all corrections and single units, and in domains."""
    people = pd.read_csv(REFERENCE, na_values=[""], keep_default_na=False)
    sheet = ldp.Questionnaire({"job": ldp.KRR(("cook", "driver", "nurse", "teacher"), 2.0)})
    reported = sheet.privatize(people, np.random.default_rng(1))
    survey = ldp.Survey(reported, sheet, weights="weight", **SAMPLES[name])
    made = survey.replicates("jackknife")
    for condition in ("weight > 0", "sex == 'f' and age != '65+'"):
        linear, found = (one.where(condition).frequencies("job") for one in (survey, made))
        np.testing.assert_allclose(found.totals()["se"], linear.totals()["se"], rtol=1e-12)
        np.testing.assert_allclose(found.bse, linear.bse, rtol=0.05)
        assert (found.df == linear.df).all()


def test_a_bootstrap_is_drawn_once():
    survey = ldp.Survey(table(), SHEET_REPLICATES, **DESIGN_REPLICATES, fpc=None)
    made = survey.replicates("bootstrap", np.random.default_rng(3), 9)
    again = survey.replicates("bootstrap", np.random.default_rng(3), 9)
    first = made.frequencies("job")
    assert (
        first.to_json() == made.frequencies("job").to_json() == again.frequencies("job").to_json()
    )
    assert type(first).from_json(first.to_json()).summary().as_text() == first.summary().as_text()
    other = survey.replicates("bootstrap", np.random.default_rng(4), 9).frequencies("job")
    assert (other.bse != first.bse).all()


def test_finite_populations_keep_the_noise():
    """Where all schools are in the sample what is left is the noise of the randomisation."""
    frame = table().assign(N=table()["region"].map(N_SCHOOLS))
    survey = ldp.Survey(frame, SHEET_REPLICATES, **DESIGN_REPLICATES, fpc="N")
    linear = survey.frequencies("job")
    assert (linear.bse > 0.02).all()
    for made in (
        survey.replicates("jackknife"),
        survey.replicates("bootstrap", np.random.default_rng(1), 20),
    ):
        np.testing.assert_allclose(made.frequencies("job").bse, linear.bse, rtol=1e-10)
    # of a second stage that takes all respondents nothing is added, nor taken away
    size = frame.groupby("school")["school"].transform("size")
    frame = frame.assign(N=2 * frame["N"], M=size)
    one, two = (
        ldp.Survey(frame, SHEET_REPLICATES, **DESIGN_REPLICATES, fpc=fpc)
        for fpc in ("N", ["N", "M"])
    )
    np.testing.assert_allclose(two.frequencies("job").bse, one.frequencies("job").bse, rtol=1e-10)


@pytest.mark.parametrize("place", ["relation", "polars"])
def test_engines_give_the_same_replicates(place, tmp_path):
    held = PLACES[place](pa.Table.from_pandas(table(), preserve_index=False), tmp_path)
    df = {"df": 8.0}  # 10 schools less 2 regions
    expected = given().frequencies("job", by="sex")
    for weights in (jackknife_weights(**df), jackknife_weights("f_*", combined=False, **df)):
        engine = ldp.Survey(
            **held, questionnaire=SHEET_REPLICATES, weights="w", replicate_weights=weights
        )
        same_replicates(engine.frequencies("job", by="sex"), expected)
    made = ldp.Survey(**held, questionnaire=SHEET_REPLICATES, **DESIGN_REPLICATES).replicates(
        "jackknife"
    )
    same_replicates(made.frequencies("job"), given().frequencies("job"))


# -- refusals --------------------------------------------------------------------------------------
def spoilt(value: Any) -> pd.DataFrame:
    """The table with a bad value in a replicate."""
    frame = table().copy()
    if isinstance(value, str):
        frame["rep_f_2"] = frame["rep_f_2"].astype(str)
    frame.loc[7, "rep_f_2"] = value
    return frame


@pytest.mark.parametrize("value", [-0.5, np.nan, np.inf, "much"])
def test_replicate_weights_that_cannot_be(value, tmp_path):
    with pytest.raises(ldp.InvalidArgument, match=r"replicate_weights.*rep_f_2.*number"):
        given(frame=spoilt(value))
    if value not in (-0.5, "much"):
        return
    held = PLACES["relation"](pa.Table.from_pandas(spoilt(value)), tmp_path)
    weights = jackknife_weights(df=8.0)
    engine = ldp.Survey(
        **held, questionnaire=SHEET_REPLICATES, weights="w", replicate_weights=weights
    )
    with pytest.raises(ldp.InvalidArgument, match=r"replicate_weights.*rep_f_2.*number"):
        engine.frequencies("job")


def test_too_small_domains():
    small = given().where("school == 2")
    with pytest.raises(ldp.NotAvailable, match="replicate 3 has no weight in some domain"):
        small.frequencies("job")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"replicate_weights": "rep_*"}, "must be ldp.ReplicateWeights"),
        ({"replicate_weights": ldp.ReplicateWeights("q*", "BRR")}, "no column of the table"),
        ({"replicate_weights": ldp.ReplicateWeights(["rep_f_2", "rep_f_99"], "BRR")},
         "replicate_weights='rep_f_99': no such column"),
        ({"replicate_weights": ldp.ReplicateWeights(["rep_f_2", "w"], "BRR")},
         "is the column that weights= names"),
        ({"replicate_weights": ldp.ReplicateWeights(["rep_f_2", "job"], "BRR")},
         "needs a public column"),
        ({"replicate_weights": ldp.ReplicateWeights("rep_*", "JKn", rscales=[0.5] * 9)},
         "must be 10 numbers, one for each replicate, not 9"),
        ({"replicate_weights": ldp.ReplicateWeights("rep_*", "BRR"), "strata": "region"},
         "hold the design already"),
        ({"replicate_weights": ldp.ReplicateWeights("rep_*", "BRR"), "weights": None},
         "name the column of weights"),
    ],
)  # fmt: skip
def test_bad_designs(arguments, message):
    with pytest.raises(ldp.InvalidArgument, match=message):
        ldp.Survey(table(), SHEET_REPLICATES, **{"weights": "w"} | arguments)


def test_replicates_that_cannot_be_made():
    with pytest.raises(ldp.NotAvailable, match="a survey without a design"):
        ldp.Survey(table(), SHEET_REPLICATES).replicates("jackknife")
    with pytest.raises(ldp.NotAvailable, match="columns of replicate weights already"):
        given().replicates("jackknife")
    alone = table().assign(region=lambda t: t["region"].where(t["school"] != 12, "e"))
    survey = ldp.Survey(alone, SHEET_REPLICATES, **DESIGN_REPLICATES)
    with pytest.raises(ldp.InvalidArgument, match="one unit only"):
        survey.replicates("jackknife")
    centred = ldp.Survey(alone, SHEET_REPLICATES, **DESIGN_REPLICATES, single_unit="centered")
    assert centred.replicates("jackknife").frequencies("job").bse.gt(0).all()
    with pytest.raises(ldp.InvalidArgument, match="nothing can be drawn from one unit"):
        centred.replicates("bootstrap", np.random.default_rng(1))


@pytest.mark.parametrize("place", ["memory", "files"])
def test_factors_taken_for_weights_are_warned_of(place, tmp_path):
    """And weights taken for factors; R's svrepdesign warns of the same."""
    frame = table().assign(w=20.0 * table()["w"])
    frame[frame.filter(like="rep_").columns] *= 20.0
    made = pa.Table.from_pandas(frame)
    source = {"data": frame} if place == "memory" else PLACES[place](made, tmp_path)

    def survey(columns: str, combined: bool) -> ldp.Survey:
        weights = jackknife_weights(columns, combined=combined, df=8)
        return ldp.Survey(
            **source, questionnaire=SHEET_REPLICATES, weights="w", replicate_weights=weights
        )

    with pytest.warns(ldp.LDPWarning, match="like factors, not like weights: pass combined=False"):
        survey("f_*", combined=True).frequencies("job")
    with pytest.warns(ldp.LDPWarning, match="not like factors: leave combined=False out"):
        survey("rep_*", combined=False).where("sex == 'f'").frequencies("job")
    for columns, combined in (("f_*", False), ("rep_*", True)):  # no warning, which would be raised
        survey(columns, combined).where("region == 'n'").frequencies("job", by="sex")


# -- columns as a user describes them --------------------------------------------------------------
def columns_of(**more: Any) -> ldp.ReplicateWeights:
    return ldp.ReplicateWeights(**{"columns": ["r1", "r2", "r3"], "kind": "JK1"} | more)


def test_a_pattern_becomes_names():
    weights = columns_of(columns="rep_*").on(["id", "rep_2", "rep_10", "REP_1", "reps"])
    assert weights.columns == ("rep_2", "rep_10")
    assert columns_of(columns="*w").on(["aw", "w", "wb"]).columns == ("aw", "w")
    assert columns_of().on(["r3", "r2", "r1", "x"]) == columns_of()
    assert (
        repr(columns_of(mse=True))
        == "ReplicateWeights(columns=('r1', 'r2', 'r3'), kind='JK1', mse=True)"
    )
    long = columns_of(columns=list("abcd"), kind="JKn", rscales=[0.5] * 4)
    assert repr(long) == "ReplicateWeights(columns='a' to 'd' (4), kind='JKn', rscales=4 numbers)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": "rep"}, "columns='rep': .*one asterisk"),
        ({"columns": "a*b*"}, "one asterisk"),
        ({"columns": ["a", "a"]}, "'a' is there twice"),
        ({"columns": ["a"]}, "two replicates or more"),
        ({"kind": "brr"}, "kind='brr': .*did you mean"),
        ({"kind": "Fay"}, "rho=None: must be Fay's factor"),
        ({"kind": "Fay", "rho": 1.0}, r"rho=1.0: .*\[0, 1\)"),
        ({"rho": 0.3}, "rho=0.3: goes with kind 'Fay'"),
        ({"scale": 0}, "scale=0: must be a positive finite number"),
        ({"kind": "BRR", "scale": 1.0}, "follows from the kind 'BRR'"),
        ({"kind": "other"}, "scale=None: of kind 'other'"),
        ({"kind": "JKn"}, r"rscales=None: .*\(n - 1\) / n"),
        ({"kind": "JKn", "rscales": [0.5, 0.5]}, "must be 3 numbers.*not 2"),
        ({"kind": "ACS", "rscales": [1, 1, 1]}, "follow from the kind 'ACS'"),
        ({"mse": 1}, "mse=1: must be True or False"),
        ({"df": 0}, "df=0: must be a positive"),
    ],
)
def test_bad_arguments_of_columns(arguments, message):
    with pytest.raises(ldp.InvalidArgument, match=message):
        columns_of(**arguments)


def test_columns_that_a_table_lacks():
    with pytest.raises(ldp.InvalidArgument, match="columns='q_\\*': no column of the table"):
        columns_of(columns="q_*").on(["r1"])
    with pytest.raises(ldp.InvalidArgument, match="two replicates"):
        columns_of(columns="r*").on(["r1"])
    with pytest.raises(ldp.InvalidArgument, match="df=None: must be given for a table"):
        columns_of().on(["r1", "r2", "r3"], summed=True)
    assert columns_of(df=9).on([], summed=True).df == 9.0
    with pytest.raises(ldp.InvalidArgument, match=r"rscales=.*must be 2 numbers"):
        columns_of(columns="r*", kind="JKn", rscales=[1.0]).on(["r1", "r2"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("jack", None, None), "kind='jack': must be one of"),
        (("jackknife", np.random.default_rng(1), None), "rng=.*goes with 'bootstrap'"),
        (("jackknife", None, 30), "n=30: goes with 'bootstrap'"),
        (("bootstrap", None, 30), "rng=None: pass a generator"),
        (("bootstrap", 7, 30), "rng=7: pass a generator"),
        (("bootstrap", np.random.default_rng(1), 1), "n=1: must be an integer of at least 2"),
        (("bootstrap", np.random.default_rng(1), 10**6), "at most 100000 replicates"),
    ],
)
def test_bad_arguments_of_made_replicates(arguments, message):
    with pytest.raises(ldp.InvalidArgument, match=message):
        ldp.Survey(table(), SHEET_REPLICATES, **DESIGN_REPLICATES).replicates(*arguments)
