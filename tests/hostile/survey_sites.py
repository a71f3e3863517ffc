"""Surveys, with arguments that work."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from hostile.examples import JOBS, Examples, Site

import ldpstats as ldp

COLUMN = ("column", "question", "name", "where", "table")


def survey_sites(e: Examples) -> Iterator[Site]:
    sheet = ldp.Questionnaire(
        {"job": e.krr, "late": e.warner, "word": e.orr, "place": e.pum, "host": e.survey}
    )
    table, survey = _collected(e, sheet)
    design = {"weights": None, "strata": None, "clusters": None, "fpc": None, "na": ()}
    of = {"data": ("table", "frame", "path"), "questionnaire": ("mechanisms", "question")}
    places = {"table": None, "engine": None, "on_error": "raise"}
    kinds = {"nested": True, "single_unit": "fail", "replicate_weights": None, "changes": ()}
    given = {"data": table, "questionnaire": sheet} | design | places | kinds
    yield Site("Survey", ldp.Survey, given, of)
    drawn = {"weights": "weight", "strata": ["region"], "clusters": ["town"], "fpc": "towns"}
    sample = table.assign(weight=1.5, town=np.arange(60) % 20, towns=200)
    designed = {"data": sample, "questionnaire": sheet} | drawn | kinds
    yield Site("Survey of a sample", ldp.Survey, designed, of | {"data": (*of["data"], *drawn)})
    counted = {"source": table, "mechanism": e.krr, "column": "job", "count": None, "cohort": None}
    counted |= {"bits": False, "missing": "count", "where": "age > 18", "na": (), "progress": False}
    by_name = {"source": ("table", "frame", "path"), "where": COLUMN, "column": COLUMN}
    yield Site("count", ldp.count, counted | places, by_name)
    file = {"source": e.report_file, "mechanism": e.krr, "column": "report", "cohort": None}
    yield Site("count in files", ldp.count, file, by_name)
    mapping = {"job": e.krr, "late": e.warner}
    weights = {"columns": "rep_*", "kind": "Fay", "rho": 0.3, "scale": None, "rscales": None}
    weights |= {"mse": False, "combined": True, "df": 8.0}
    yield Site("ReplicateWeights", ldp.ReplicateWeights, weights, {"columns": COLUMN})
    sampled = ldp.Survey(table.assign(w=1.5), sheet, weights="w", clusters="who")
    drawn = {"kind": "bootstrap", "rng": np.random.default_rng(3), "n": 20}
    yield Site("Survey.replicates", sampled.replicates, drawn)
    totals = {"region": {"n": 40.0, "s": 60.0}, ("urban",): {True: 45.0, False: 55.0}}
    calibration = {"margins": totals, "method": "logit", "bounds": (0.2, 5.0), "total": None}
    yield Site("Survey.calibrate", sampled.calibrate, calibration)
    yield Site(
        "Survey.poststratify", sampled.poststratify, {"totals": {"region": totals["region"]}}
    )
    trimming = {"lower": None, "upper": 4.0, "strict": True}
    yield Site("Survey.trim", sampled.trim, trimming)
    yield Site("Survey mapping", ldp.Survey, {"data": table, "questionnaire": mapping}, of)
    condition = {"condition": "18 <= age < 65 and (region in ['n', 's'] or not urban)"}
    yield Site("where", survey.where, condition, {"condition": COLUMN})
    yield Site("Survey[mask]", lambda mask: survey[mask], {"mask": np.arange(60) % 2 == 0})
    yield Site("Survey.reports", survey.reports, {"name": "job", "id": "who"}, {
        "name": COLUMN, "id": COLUMN,
    })  # fmt: skip
    how = {"method": "mle", "cov_type": "default", "candidates": None, "incomplete": False}
    names = {"name": COLUMN, "by": COLUMN, "names": COLUMN}
    given = {"name": "job", "by": ["region", "urban"], **how}
    yield Site("Survey.frequencies", survey.frequencies, given, names)
    opened = {"name": "word", "candidates": JOBS, "incomplete": True, "method": "inversion"}
    yield Site("Survey.frequencies open", survey.frequencies, opened, names)
    personal = {"name": "place", "background": {"home": [0.5, 0.3, 0.2]}, "exact": False}
    yield Site("personalized", survey.personalized, personal | {"method": "mle"}, names)
    strings = {"name": "host", "keep": "[abc]+", "max_candidates": 20, "false_grams": 5.0}
    yield Site("dictionary", survey.dictionary, strings, names, slow=True)
    several = {"names": ("job", "late", "region")}
    yield Site("joint_counts", _several(survey.joint_counts), several, names)
    joint = several | {"candidates": None, "other": False, "method": "mle"}
    yield Site("Survey.association", _several(survey.association), joint, names)
    yield Site("Survey.associations", survey.associations, joint | {"alpha": 0.1}, names, slow=True)
    two = {"first": "late", "second": "again", "name": "late", "waves": ("a", "b")}
    again = ldp.Survey(table.assign(again=table["late"]), sheet.mechanisms | {"again": e.warner})
    yield Site("Survey.change", again.change, two | {"method": "mle"}, {
        "first": COLUMN, "second": COLUMN,
    })  # fmt: skip
    if find_spec("svy"):
        weighted = ldp.Survey(table, sheet, weights="age")
        yield Site("to_svy", weighted.to_svy, {"names": ["job", "late"]}, {"names": COLUMN})
    waves = {"other": survey, "id": "who", "suffixes": ("_1", "_2")}
    yield Site("matched", survey.matched, waves, {"id": COLUMN})


def _several(call: Any) -> Any:
    def called(names: Any, **how: Any) -> Any:
        return call(*(names if isinstance(names, list | tuple) else (names,)), **how)

    return called


def _collected(e: Examples, sheet: ldp.Questionnaire) -> tuple[pd.DataFrame, ldp.Survey]:
    """Sixty respondents, and their survey."""
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"job": rng.choice(JOBS, 60), "late": rng.choice(["no", "yes"], 60)})
    people["word"] = people["job"]
    people["place"] = rng.choice(["centre", "park", "clinic"], 60)
    people["host"] = rng.choice(["abca", "cc"], 60)
    people["age"] = rng.integers(18, 80, 60)
    people["region"] = rng.choice(["n", "s"], 60)
    people["urban"] = rng.random(60) < 0.5
    people["who"] = np.arange(60)
    table = sheet.privatize(people, rng)
    return table, ldp.Survey(table, sheet)
