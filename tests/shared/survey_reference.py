"""Figures of complex samples by R's package survey, and the same from results of a survey.

The transcripts, the tables they are of and the script that made them are in `reference/survey`.
Answers are `Observed`: what R estimates from true answers is what is estimated here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    """The survey of a design of `DESIGNS`."""
    return survey_of(DESIGNS[name])


@cache
def given(name: str, combined: bool = True) -> Any:
    """The survey of replicate weights of `GIVEN`; or of factors, not combined with weights."""
    kind = name.removesuffix("_mse")
    columns = "boot_*" if kind == "other" else f"{kind}_*"
    columns = f"w_{columns}" if combined else columns
    how = GIVEN[kind] | {"mse": name.endswith("_mse"), "combined": combined}
    return survey_of({"replicate_weights": ldp.ReplicateWeights(columns, **how)})


@cache
def frequencies(survey: Any, name: str, by: str | None = None) -> Any:
    return survey.frequencies(name, by=by)


@cache
def younger_women(survey: Any) -> Any:
    return survey.where("sex == 'f' and age != '65+'")


def same(found: Any, expected: Any) -> None:
    """Equal to 1e-8 of the largest; covariances of nothing are zero to the rounding of R."""
    wanted = np.asarray(expected, dtype=float)
    got = np.asarray(found, dtype=float).reshape(wanted.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-10 * np.abs(wanted).max())


def variances(expected: Mapping[str, Any]) -> Any:
    return np.diagonal(np.atleast_2d(expected["cov"]))


# -- figures: each compares results of a survey with what R has of it ------------------------------


def share(survey: Any, r: Any) -> None:
    found = frequencies(survey, "job")
    same(found.params, r["share"]["value"])
    same(found.cov_params(), r["share"]["cov"])


def total(survey: Any, r: Any) -> None:
    found = frequencies(survey, "job").totals()
    same(found["estimate"], r["total"]["value"])
    same(found["se"] ** 2, variances(r["total"]))


def interval(survey: Any, r: Any) -> None:
    found = frequencies(survey, "job")
    same(found.df, [r["df"]] * 4)
    same(found.conf_int(method="wald", clip=False), r["confint"])


def effects(survey: Any, r: Any) -> None:
    same(frequencies(survey, "job").deff()["deff"], r["deff"])


def by_region(survey: Any, r: Any) -> None:
    found = frequencies(survey, "job", "region")
    order = np.arange(12).reshape(4, 3).T.ravel()  # R lists the regions of a job first
    same(found.params, np.array(r["by_region"]["value"])[order])
    same(found.cov_params(), np.array(r["by_region"]["cov"])[np.ix_(order, order)])


def difference(survey: Any, r: Any) -> None:
    found = frequencies(survey, "job", "region").differences(reference="south")
    north = found.loc["north"]
    same(north["estimate"], r["difference"]["value"])
    same(north["se"] ** 2, variances(r["difference"]))


def domain(survey: Any, r: Any) -> None:
    found = frequencies(younger_women(survey), "job")
    same(found.params, r["domain"]["value"])
    same(found.cov_params(), r["domain"]["cov"])


def domain_total(survey: Any, r: Any) -> None:
    found = frequencies(younger_women(survey), "job")
    same(found.totals()["se"] ** 2, variances(r["domain_total"]))
    same(found.df, [r["domain"]["df"]] * 4)


def missing(survey: Any, r: Any) -> None:
    found = frequencies(survey, "health")
    same(found.params, r["missing"]["value"])
    same(found.cov_params(), r["missing"]["cov"])


def ratio(survey: Any, r: Any) -> None:
    found = frequencies(survey, "job").ratio("nurse", "cook")
    same([found["estimate"]], r["ratio"]["value"])
    same([found["se"] ** 2], variances(r["ratio"]))


def score(survey: Any, r: Any) -> None:
    found = frequencies(survey, "job").mean([1, 2, 3, 4])
    same([found["estimate"]], r["score"]["value"])
    same([found["se"] ** 2], variances(r["score"]))
    by_sex = frequencies(survey, "job", "sex").mean([1, 2, 3, 4])
    same(by_sex["estimate"], r["score_by_sex"]["value"])
    same(by_sex["se"] ** 2, r["score_by_sex"]["variance"])


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


def quickly(names: Iterable[Any], quick: Sequence[Any]) -> list[Any]:
    """All settings; but for the `quick` ones they are of the slow suite."""
    values = {x: x if isinstance(x, tuple) else (x,) for x in names}
    return [x if x in quick else pytest.param(*values[x], marks=pytest.mark.slow) for x in values]
