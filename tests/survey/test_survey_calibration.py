"""Surveys whose weights are calibrated, post-stratified or trimmed."""

from __future__ import annotations

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


def test_replicates_that_are_made_are_calibrated_anew() -> None:
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
def test_engines_give_the_same(place: str, tmp_path: Path) -> None:
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


def test_categories_as_people_write_them() -> None:
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


def test_shares_need_a_total() -> None:
    shares = {name: {k: v / 2300 for k, v in own.items()} for name, own in MARGINS.items()}
    made = survey().calibrate(shares, total=2300).frequencies("job")
    same(made, by_r()["clusters_raking"]["share"])
    with pytest.raises(ldp.InvalidArgument, match=r"add up to one: multiply.*total="):
        survey().calibrate(shares)
    with pytest.raises(ldp.InvalidArgument, match="total=2300: goes with shares"):
        survey().calibrate(MARGINS, total=2300)


def test_totals_that_margins_fix_do_not_vary() -> None:
    """Also of an unprotected question, in every category and where margins are crossed."""
    jobs = {"cook": 500, "driver": 600, "nurse": 700, "teacher": 500}
    found = survey().calibrate({"job": jobs, "sex": SEX}).frequencies("job").totals()
    np.testing.assert_allclose(found["estimate"], list(jobs.values()), rtol=1e-10)
    assert (found["se"] == 0.0).all()
    twice = survey().poststratify({"region": REGION}).calibrate({"sex": SEX})
    assert (twice.frequencies("sex").totals()["se"] == 0.0).all()  # of the last calibration
    assert (twice.frequencies("region").totals()["se"] > 1.0).all()


def test_the_noise_of_reports_has_the_calibrated_weights() -> None:
    """Where everybody is in the sample the randomisation alone varies."""
    frame = pd.DataFrame({"ill": ["no", "yes", "no"] * 4, "a": list("xxxxxxyyyyyy"), "N": 12})
    held = ldp.Survey(frame.assign(w=1.0), {"ill": ldp.Warner(epsilon=1.0)}, weights="w", fpc="N")
    found = held.poststratify({"a": {"x": 6, "y": 18}}).frequencies("ill")
    p = np.exp(1.0) / (1.0 + np.exp(1.0))
    expected = np.sqrt((6 * 1 + 6 * 9) * p * (1 - p)) / (2 * p - 1) / 24
    np.testing.assert_allclose(found.bse, expected, rtol=1e-10)


def test_raking_within_bounds() -> None:
    free, held = (survey().calibrate(MARGINS, bounds=b) for b in (None, (0.87, 1.12)))
    assert free.calibration is not None and held.calibration is not None
    least, *_, most = free.calibration.steps[0].factors
    assert least < 0.87 or most > 1.12
    least, *_, most = held.calibration.steps[0].factors
    assert 0.87 <= least < most <= 1.12 and held.calibration.steps[0].deviation <= 1e-12
    assert (held.frequencies("sex").totals()["se"] == 0.0).all()


def test_the_report() -> None:
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
    assert "trimmed to 4 to 25; calibrated to region, sex; calibrated to region x age" in repr(made)
    beyond = survey().trim(upper=13).calibration
    strict = survey().trim(upper=13, strict=True).calibration
    assert beyond is not None and strict is not None
    assert beyond.steps[0].n_beyond > 0 == strict.steps[0].n_beyond
    assert "NOTE:" in beyond.summary().as_text() and "<table" in beyond._repr_html_()


def test_negative_weights_are_warned_of() -> None:
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
def test_what_is_refused(call: Any, error: str, words: str) -> None:
    with pytest.raises(getattr(ldp, error), match=words):
        call(survey())
