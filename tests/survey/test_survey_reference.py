"""Complex samples against R's package survey: a test for each figure of each design.

The transcripts, the tables they are of and the script that made them are in `reference/survey`.
Answers are `Observed`: what R estimates from true answers is what is estimated here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
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
RULES = {"certainty": "certainty", "adjust": "centered", "average": "average"}  # R's name, ours


@cache
def people() -> pd.DataFrame:
    table = pd.read_csv(FOLDER / "people.csv").assign(everyone=1013)
    factors = pd.read_csv(FOLDER / "replicates.csv")
    return pd.concat([table, factors.mul(table["weight"], axis=0)], axis=1)


@cache
def transcript(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def survey_of(design: Mapping[str, Any]) -> ldp.Survey:
    return ldp.Survey(people(), ANSWERS, weights="weight", **design)


@cache
def survey(name: str) -> ldp.Survey:
    """The survey of a design of `DESIGNS`, or "units/adjust" of `SINGLE`."""
    if "/" in name:
        design, rule = name.split("/")
        return survey_of(SINGLE[design] | {"single_unit": RULES[rule]})
    return survey_of(DESIGNS[name])


def same(found: Any, expected: Any) -> None:
    """Equal to 1e-8 of the largest; covariances of nothing are zero to the rounding of R."""
    wanted = np.asarray(expected, dtype=float)
    got = np.asarray(found, dtype=float).reshape(wanted.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-10 * np.abs(wanted).max())


def variances(expected: Mapping[str, Any]) -> Any:
    return np.diagonal(np.atleast_2d(expected["cov"]))


def by_domain(values: Any) -> Any:
    """R lists the domains of a category, we the categories of a domain."""
    return np.arange(12).reshape(4, 3).T.ravel() if values is None else np.asarray(values)


# -- figures: each compares results of a survey with what R has of it --------------------------------


def share(survey: ldp.Survey, r: Any) -> None:
    found = survey.frequencies("job")
    same(found.params, r["share"]["value"])
    same(found.cov_params(), r["share"]["cov"])


def total(survey: ldp.Survey, r: Any) -> None:
    found = survey.frequencies("job").totals()
    same(found["estimate"], r["total"]["value"])
    same(found["se"] ** 2, variances(r["total"]))


def interval(survey: ldp.Survey, r: Any) -> None:
    found = survey.frequencies("job")
    same(found.df, [r["df"]] * 4)
    same(found.conf_int(clip=False), r["confint"])


def effects(survey: ldp.Survey, r: Any) -> None:
    same(survey.frequencies("job").deff()["deff"], r["deff"])


def by_region(survey: ldp.Survey, r: Any) -> None:
    found = survey.frequencies("job", by="region")
    order = np.arange(12).reshape(4, 3).T.ravel()  # R lists the regions of a job first
    same(found.params, np.array(r["by_region"]["value"])[order])
    same(found.cov_params(), np.array(r["by_region"]["cov"])[np.ix_(order, order)])


def difference(survey: ldp.Survey, r: Any) -> None:
    found = survey.frequencies("job", by="region").differences(reference="south")
    north = found.loc["north"]
    same(north["estimate"], r["difference"]["value"])
    same(north["se"] ** 2, variances(r["difference"]))


def domain(survey: ldp.Survey, r: Any) -> None:
    found = survey.where("sex == 'f' and age != '65+'").frequencies("job")
    same(found.params, r["domain"]["value"])
    same(found.cov_params(), r["domain"]["cov"])


def domain_total(survey: ldp.Survey, r: Any) -> None:
    found = survey.where("sex == 'f' and age != '65+'").frequencies("job")
    same(found.totals()["se"] ** 2, variances(r["domain_total"]))
    same(found.df, [r["domain"]["df"]] * 4)


def missing(survey: ldp.Survey, r: Any) -> None:
    found = survey.frequencies("health")
    same(found.params, r["missing"]["value"])
    same(found.cov_params(), r["missing"]["cov"])


def ratio(survey: ldp.Survey, r: Any) -> None:
    found = survey.frequencies("job").ratio("nurse", "cook")
    same([found["estimate"]], r["ratio"]["value"])
    same([found["se"] ** 2], variances(r["ratio"]))


def score(survey: ldp.Survey, r: Any) -> None:
    found = survey.frequencies("job").mean([1, 2, 3, 4])
    same([found["estimate"]], r["score"]["value"])
    same([found["se"] ** 2], variances(r["score"]))
    by_sex = survey.frequencies("job", by="sex").mean([1, 2, 3, 4])
    same(by_sex["estimate"], r["score_by_sex"]["value"])
    same(by_sex["se"] ** 2, r["score_by_sex"]["variance"])


Figure = Callable[[ldp.Survey, Any], None]
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


@pytest.mark.parametrize("figure", BRIEF, ids=named)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", SINGLE)
def test_strata_of_a_single_unit(name: str, rule: str, figure: Figure) -> None:
    figure(survey(f"{name}/{rule}"), transcript("single_units")[f"{name}_{rule}"])
