"""Complex samples against R's package survey: a test for each figure of each design.

The transcripts, the tables they are of and the script that made them are in `reference/survey`.
Answers are `Observed`: what R estimates from true answers is what is estimated here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

FOLDER = Path(__file__).parents[1] / "reference" / "survey"
JOBS = ["cook", "driver", "nurse", "teacher"]
ANSWERS = {"job": ldp.Observed(JOBS), "health": ldp.Observed(["good", "poor"])}

DESIGNS: dict[str, dict[str, Any]] = {
    "weights": {},
    "simple_fpc": {"fpc": "everyone"},
    "elements": {"strata": "stratum"},
    "elements_fpc": {"strata": "stratum", "fpc": "residents"},
    "units": {"clusters": "unit"},
    "clusters": {"strata": "stratum", "clusters": "psu"},
    "clusters_fpc": {"strata": "stratum", "clusters": "psu", "fpc": "fpc1"},
    "two_stages_no_fpc": {"strata": "stratum", "clusters": ["psu", "ssu"]},
    "two_stages_fpc": {
        "strata": "stratum",
        "clusters": ["psu", "ssu"],
        "fpc": ["fpc1", "fpc2"],
    },
    "persons_fpc": {"strata": "stratum", "clusters": "psu", "fpc": ["fpc1", "persons"]},
    "three_stages_fpc": {
        "strata": "stratum",
        "clusters": ["psu", "ssu"],
        "fpc": ["fpc1", "fpc2", "fpc3"],
    },
}
SINGLE: dict[str, dict[str, Any]] = {
    "units": {"strata": "lone", "clusters": "psu"},
    "units_fpc": {"strata": "lone", "clusters": "psu", "fpc": "fpc1"},
    "elements_fpc": {"strata": "alone", "fpc": "residents"},
}
_UNITS = np.array([3, 5, 3, 2])
GIVEN: dict[str, dict[str, Any]] = {
    "jk1": {"kind": "JK1"},
    "jkn": {"kind": "JKn", "rscales": np.repeat((_UNITS - 1) / _UNITS, _UNITS)},
    "brr": {"kind": "BRR"},
    "fay": {"kind": "Fay", "rho": 0.3},
    "boot": {"kind": "bootstrap", "scale": 1 / 20},
    "sdr": {"kind": "successive-difference"},
    "other": {"kind": "other", "scale": 0.07, "rscales": 1 / np.arange(1, 21)},
}
RULES = {"certainty": "certainty", "adjust": "centered", "average": "average"}  # R's name, ours


@cache
def people() -> pd.DataFrame:
    table = pd.read_csv(FOLDER / "people.csv").assign(everyone=1013)
    factors = pd.read_csv(FOLDER / "replicates.csv")
    whole = factors.mul(table["weight"], axis=0).add_prefix("w_")
    return pd.concat([table, factors, whole], axis=1)


@cache
def transcript(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def survey_of(design: Mapping[str, Any]) -> Any:
    return ldp.Survey(people(), ANSWERS, weights="weight", **design)


@cache
def survey(name: str) -> Any:
    """The survey of a design of `DESIGNS`, or "units/adjust" of `SINGLE`."""
    if "/" in name:
        design, rule = name.split("/")
        return survey_of(SINGLE[design] | {"single_unit": RULES[rule]})
    return survey_of(DESIGNS[name])


@cache
def given(name: str, combined: bool = True) -> Any:
    """The survey of replicate weights of `GIVEN`; or of factors, not combined with weights."""
    kind = name.removesuffix("_mse")
    columns = "boot_*" if kind == "other" else f"{kind}_*"
    columns = f"w_{columns}" if combined else columns
    how = GIVEN[kind] | {"mse": name.endswith("_mse"), "combined": combined}
    return survey_of({"replicate_weights": ldp.ReplicateWeights(columns, **how)})


def same(found: Any, expected: Any) -> None:
    """Equal to 1e-8 of the largest; covariances of nothing are zero to the rounding of R."""
    wanted = np.asarray(expected, dtype=float)
    got = np.asarray(found, dtype=float).reshape(wanted.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-10 * np.abs(wanted).max())


def variances(expected: Mapping[str, Any]) -> Any:
    return np.diagonal(np.atleast_2d(expected["cov"]))


# -- figures: each compares results of a survey with what R has of it ------------------------------


def share(survey: Any, r: Any) -> None:
    found = survey.frequencies("job")
    same(found.params, r["share"]["value"])
    same(found.cov_params(), r["share"]["cov"])


def total(survey: Any, r: Any) -> None:
    found = survey.frequencies("job").totals()
    same(found["estimate"], r["total"]["value"])
    same(found["se"] ** 2, variances(r["total"]))


def interval(survey: Any, r: Any) -> None:
    found = survey.frequencies("job")
    same(found.df, [r["df"]] * 4)
    same(found.conf_int(method="wald", clip=False), r["confint"])


def effects(survey: Any, r: Any) -> None:
    same(survey.frequencies("job").deff()["deff"], r["deff"])


def by_region(survey: Any, r: Any) -> None:
    found = survey.frequencies("job", by="region")
    order = np.arange(12).reshape(4, 3).T.ravel()  # R lists the regions of a job first
    same(found.params, np.array(r["by_region"]["value"])[order])
    same(found.cov_params(), np.array(r["by_region"]["cov"])[np.ix_(order, order)])


def difference(survey: Any, r: Any) -> None:
    found = survey.frequencies("job", by="region").differences(reference="south")
    north = found.loc["north"]
    same(north["estimate"], r["difference"]["value"])
    same(north["se"] ** 2, variances(r["difference"]))


def domain(survey: Any, r: Any) -> None:
    found = survey.where("sex == 'f' and age != '65+'").frequencies("job")
    same(found.params, r["domain"]["value"])
    same(found.cov_params(), r["domain"]["cov"])


def domain_total(survey: Any, r: Any) -> None:
    found = survey.where("sex == 'f' and age != '65+'").frequencies("job")
    same(found.totals()["se"] ** 2, variances(r["domain_total"]))
    same(found.df, [r["domain"]["df"]] * 4)


def missing(survey: Any, r: Any) -> None:
    found = survey.frequencies("health")
    same(found.params, r["missing"]["value"])
    same(found.cov_params(), r["missing"]["cov"])


def ratio(survey: Any, r: Any) -> None:
    found = survey.frequencies("job").ratio("nurse", "cook")
    same([found["estimate"]], r["ratio"]["value"])
    same([found["se"] ** 2], variances(r["ratio"]))


def score(survey: Any, r: Any) -> None:
    found = survey.frequencies("job").mean([1, 2, 3, 4])
    same([found["estimate"]], r["score"]["value"])
    same([found["se"] ** 2], variances(r["score"]))
    by_sex = survey.frequencies("job", by="sex").mean([1, 2, 3, 4])
    same(by_sex["estimate"], r["score_by_sex"]["value"])
    same(by_sex["se"] ** 2, r["score_by_sex"]["variance"])


def independence(survey: Any, r: Any) -> None:
    """With design effects at the observed table, as R has them; ours are under independence.

    Nor does a correction for finite populations enter our test: designs with fpc are left out.
    """
    table, F, chi2 = survey.association("job", "region"), r["chisq_F"], r["chisq"]
    second = table.test_independence(method="second", effects="observed")
    same([second.statistic, *second.df, second.pvalue], [F["statistic"], *F["df"], F["pvalue"]])
    first = table.test_independence(method="first-chi2", effects="observed")
    same([first.statistic, first.df, first.pvalue], [6 * F["statistic"], 6, chi2["pvalue"]])


def wald(survey: Any, r: Any) -> None:
    table = survey.association("job", "region")
    for name, method in [("wald", "wald"), ("adj_wald", "wald-adjusted")]:
        test = table.test_independence(method=method)
        expected = [r[name]["statistic"], *r[name]["df"], r[name]["pvalue"]]
        same([test.statistic, *test.df, test.pvalue], expected)


Figure = Callable[[Any, Any], None]
BRIEF: list[Figure] = [share, by_region]
FIGURES: list[Figure] = [
    *BRIEF,
    total,
    interval,
    effects,
    difference,
    domain,
    domain_total,
    missing,
    ratio,
    score,
]


def named(value: Any) -> str | None:
    return value.__name__ if callable(value) else None


@pytest.mark.parametrize("figure", FIGURES, ids=named)
@pytest.mark.parametrize("name", DESIGNS)
def test_designs(name: str, figure: Figure) -> None:
    figure(survey(name), transcript("designs")[name])


@pytest.mark.parametrize("figure", [independence, wald], ids=named)
@pytest.mark.parametrize("name", ["weights", "elements", "units", "clusters", "two_stages_no_fpc"])
def test_independence(name: str, figure: Figure) -> None:
    figure(survey(name), transcript("designs")[name])


@pytest.mark.parametrize("figure", BRIEF, ids=named)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", SINGLE)
def test_strata_of_a_single_unit(name: str, rule: str, figure: Figure) -> None:
    figure(survey(f"{name}/{rule}"), transcript("single_units")[f"{name}_{rule}"])


@pytest.mark.parametrize("figure", FIGURES, ids=named)
@pytest.mark.parametrize("mse", ["", "_mse"])
@pytest.mark.parametrize("name", [name for name in GIVEN if name not in ("boot", "other")])
def test_replicate_weights(name: str, mse: str, figure: Figure) -> None:
    figure(given(name + mse), transcript("replicates")[name + mse])


@pytest.mark.parametrize("name", ["jk1", "jkn_mse", "brr", "fay_mse", "sdr", "boot", "other_mse"])
def test_independence_by_replication(name: str) -> None:
    independence(given(name), transcript("replicates")[name])


@pytest.mark.parametrize("figure", BRIEF, ids=named)
@pytest.mark.parametrize("name", ["boot", "boot_mse", "other", "other_mse"])
def test_scales_that_are_given(name: str, figure: Figure) -> None:
    figure(given(name), transcript("replicates")[name])


@pytest.mark.parametrize("name", GIVEN)
def test_factors_of_replicates(name: str) -> None:
    share(given(name, combined=False), transcript("replicates")[name])


@pytest.mark.parametrize("figure", [*BRIEF, total, domain, ratio], ids=named)
@pytest.mark.parametrize("name", ["units", "clusters", "clusters_fpc", "elements_fpc"])
def test_jackknives_of_a_design(name: str, figure: Figure) -> None:
    figure(survey(name).replicates("jackknife"), transcript("replicates")[f"jackknife_{name}"])


# -- calibrated weights ----------------------------------------------------------------------------

BASES: dict[str, Callable[[], Any]] = {
    "elements_fpc": lambda: survey("elements_fpc"),
    "clusters": lambda: survey("clusters"),
    "two_stages_fpc": lambda: survey("two_stages_fpc"),
    "jkn": lambda: given("jkn"),
    "boot_mse": lambda: given("boot_mse"),
}
WAYS: dict[str, dict[str, Any]] = {
    "raking": {"method": "raking"},
    "linear": {"method": "linear"},
    "linear_bounds": {"method": "linear", "bounds": (0.87, 1.12)},
    "logit": {"method": "logit", "bounds": (0.5, 2.0)},
}


@cache
def calibrated(base: str, way: str) -> Any:
    margins = transcript("calibration")["margins"]
    if way == "poststratified":
        return BASES[base]().poststratify({"region": margins["region"]})
    return BASES[base]().calibrate(margins, **WAYS[way])


def calibrations() -> Iterator[tuple[str, str]]:
    for base in BASES:
        for way in [*WAYS, "poststratified"]:
            if f"{base}_{way}" in transcript("calibration"):
                yield base, way


@pytest.mark.parametrize("figure", [*BRIEF, total, domain], ids=named)
@pytest.mark.parametrize(("base", "way"), list(calibrations()))
def test_calibrated(base: str, way: str, figure: Figure) -> None:
    figure(calibrated(base, way), transcript("calibration")[f"{base}_{way}"])


@pytest.mark.parametrize("figure", FIGURES[2:], ids=named)
@pytest.mark.parametrize("way", WAYS)
def test_calibrated_clusters(way: str, figure: Figure) -> None:
    figure(calibrated("clusters", way), transcript("calibration")[f"clusters_{way}"])
