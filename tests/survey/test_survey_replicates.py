"""Surveys whose variances come from replicates: columns of weights, or made from the design."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from shared.engines import PLACES

import ldpstats as ldp

SHEET = ldp.Questionnaire({"job": ldp.KRR(("cook", "nurse", "driver"), 2.0)})
DESIGN: dict[str, Any] = {"weights": "w", "strata": "region", "clusters": "school"}
N_SCHOOLS = {"n": 4, "s": 6}


@cache
def table() -> pd.DataFrame:
    """Two hundred respondents in ten schools of two regions, with weights of the jackknife."""
    rng = np.random.default_rng(20)
    region = rng.choice(["n", "s"], 200, p=[0.4, 0.6])
    school = np.where(region == "n", rng.integers(0, 4, 200), rng.integers(10, 16, 200))
    frame = pd.DataFrame(
        {
            "job": rng.choice(SHEET["job"].categories, 200, p=[0.5, 0.3, 0.2]),
            "region": region,
            "school": school,
            "w": rng.uniform(1.0, 3.0, 200).round(2),
            "age": rng.integers(18, 80, 200),
            "sex": rng.choice(["f", "m"], 200),
        }
    )
    frame.loc[frame.index % 17 == 3, "job"] = None
    frame = SHEET.privatize(frame, rng)
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
    return ldp.Survey(frame, SHEET, weights="w", replicate_weights=weights)


def same(one: Any, two: Any) -> None:
    np.testing.assert_allclose(one.params, two.params, rtol=1e-10)
    np.testing.assert_allclose(one.cov_params(), two.cov_params(), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(one.df, two.df)


def test_made_and_given_replicates_agree() -> None:
    """Also in domains, by groups, for factors, and for the maximum of the weighted likelihood."""
    made = ldp.Survey(table(), SHEET, **DESIGN).replicates("jackknife")
    columns = given()
    for how in ({}, {"by": "sex"}, {"method": "mle"}):
        same(columns.frequencies("job", **how), made.frequencies("job", **how))
    condition = "age < 50 and sex == 'f'"
    same(*(one.where(condition).frequencies("job") for one in (columns, made)))
    same(*(one[table()["age"] < 50].frequencies("job") for one in (columns, made)))
    factors = given("f_*", combined=False)
    same(factors.frequencies("job"), made.frequencies("job"))


def test_results_are_those_of_linearisation_nearly() -> None:
    """Of all jobs, whose counts are totals; the sum of the weights alone makes shares ratios."""
    survey = ldp.Survey(table(), SHEET, **DESIGN)
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
    "two stages": {"strata": "stratum", "clusters": ["psu", "ssu"], "fpc": ["fpc1", "fpc2"]},
    "certainty": {"strata": "alone", "fpc": "residents", "single_unit": "certainty"},
    "centered": {"strata": "lone", "clusters": "psu", "fpc": "fpc1", "single_unit": "centered"},
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_jackknife_of_totals_is_linearisation(name: str) -> None:
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


def test_a_bootstrap_is_drawn_once() -> None:
    survey = ldp.Survey(table(), SHEET, **DESIGN, fpc=None)
    made = survey.replicates("bootstrap", np.random.default_rng(3), 9)
    again = survey.replicates("bootstrap", np.random.default_rng(3), 9)
    first = made.frequencies("job")
    assert (
        first.to_json() == made.frequencies("job").to_json() == again.frequencies("job").to_json()
    )
    assert type(first).from_json(first.to_json()).summary().as_text() == first.summary().as_text()
    other = survey.replicates("bootstrap", np.random.default_rng(4), 9).frequencies("job")
    assert (other.bse != first.bse).all()


def test_finite_populations_keep_the_noise() -> None:
    """Where all schools are in the sample what is left is the noise of the randomisation."""
    frame = table().assign(N=table()["region"].map(N_SCHOOLS))
    survey = ldp.Survey(frame, SHEET, **DESIGN, fpc="N")
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
    one, two = (ldp.Survey(frame, SHEET, **DESIGN, fpc=fpc) for fpc in ("N", ["N", "M"]))
    np.testing.assert_allclose(two.frequencies("job").bse, one.frequencies("job").bse, rtol=1e-10)


@pytest.mark.parametrize("place", ["relation", "polars"])
def test_engines_give_the_same(place: str, tmp_path: Path) -> None:
    held = PLACES[place](pa.Table.from_pandas(table(), preserve_index=False), tmp_path)
    df = {"df": 8.0}  # 10 schools less 2 regions
    expected = given().frequencies("job", by="sex")
    for weights in (jackknife_weights(**df), jackknife_weights("f_*", combined=False, **df)):
        engine = ldp.Survey(**held, questionnaire=SHEET, weights="w", replicate_weights=weights)
        same(engine.frequencies("job", by="sex"), expected)
    made = ldp.Survey(**held, questionnaire=SHEET, **DESIGN).replicates("jackknife")
    same(made.frequencies("job"), given().frequencies("job"))


# -- refusals --------------------------------------------------------------------------------------


def spoilt(value: Any) -> pd.DataFrame:
    """The table with a bad value in a replicate."""
    frame = table().copy()
    if isinstance(value, str):
        frame["rep_f_2"] = frame["rep_f_2"].astype(str)
    frame.loc[7, "rep_f_2"] = value
    return frame


@pytest.mark.parametrize("value", [-0.5, np.nan, np.inf, "much"])
def test_replicate_weights_that_cannot_be(value: Any, tmp_path: Path) -> None:
    with pytest.raises(ldp.InvalidArgument, match=r"replicate_weights.*rep_f_2.*number"):
        given(frame=spoilt(value))
    if value not in (-0.5, "much"):
        return
    held = PLACES["relation"](pa.Table.from_pandas(spoilt(value)), tmp_path)
    weights = jackknife_weights(df=8.0)
    engine = ldp.Survey(**held, questionnaire=SHEET, weights="w", replicate_weights=weights)
    with pytest.raises(ldp.InvalidArgument, match=r"replicate_weights.*rep_f_2.*number"):
        engine.frequencies("job")


def test_too_small_domains() -> None:
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
def test_bad_designs(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ldp.InvalidArgument, match=message):
        ldp.Survey(table(), SHEET, **{"weights": "w"} | arguments)


def test_replicates_that_cannot_be_made() -> None:
    with pytest.raises(ldp.NotAvailable, match="a survey without a design"):
        ldp.Survey(table(), SHEET).replicates("jackknife")
    with pytest.raises(ldp.NotAvailable, match="columns of replicate weights already"):
        given().replicates("jackknife")
    alone = table().assign(region=lambda t: t["region"].where(t["school"] != 12, "e"))
    survey = ldp.Survey(alone, SHEET, **DESIGN)
    with pytest.raises(ldp.InvalidArgument, match="one unit only"):
        survey.replicates("jackknife")
    centred = ldp.Survey(alone, SHEET, **DESIGN, single_unit="centered")
    assert centred.replicates("jackknife").frequencies("job").bse.gt(0).all()
    with pytest.raises(ldp.InvalidArgument, match="nothing can be drawn from one unit"):
        centred.replicates("bootstrap", np.random.default_rng(1))


@pytest.mark.parametrize("place", ["memory", "files"])
def test_factors_taken_for_weights_are_warned_of(place: str, tmp_path: Path) -> None:
    """And weights taken for factors; R's svrepdesign warns of the same."""
    frame = table().assign(w=20.0 * table()["w"])
    frame[frame.filter(like="rep_").columns] *= 20.0
    made = pa.Table.from_pandas(frame)
    source = {"data": frame} if place == "memory" else PLACES[place](made, tmp_path)

    def survey(columns: str, combined: bool) -> ldp.Survey:
        weights = jackknife_weights(columns, combined=combined, df=8)
        return ldp.Survey(**source, questionnaire=SHEET, weights="w", replicate_weights=weights)

    with pytest.warns(ldp.LDPWarning, match="like factors, not like weights: pass combined=False"):
        survey("f_*", combined=True).frequencies("job")
    with pytest.warns(ldp.LDPWarning, match="not like factors: leave combined=False out"):
        survey("rep_*", combined=False).where("sex == 'f'").frequencies("job")
    for columns, combined in (("f_*", False), ("rep_*", True)):  # no warning, which would be raised
        survey(columns, combined).where("region == 'n'").frequencies("job", by="sex")


# -- columns as a user describes them --------------------------------------------------------------


def columns_of(**more: Any) -> ldp.ReplicateWeights:
    return ldp.ReplicateWeights(**{"columns": ["r1", "r2", "r3"], "kind": "JK1"} | more)


def test_a_pattern_becomes_names() -> None:
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
def test_bad_arguments_of_columns(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ldp.InvalidArgument, match=message):
        columns_of(**arguments)


def test_columns_that_a_table_lacks() -> None:
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
def test_bad_arguments_of_made_replicates(arguments: Any, message: str) -> None:
    with pytest.raises(ldp.InvalidArgument, match=message):
        ldp.Survey(table(), SHEET, **DESIGN).replicates(*arguments)
