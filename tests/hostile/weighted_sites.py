"""Weighted frequencies and tables, with arguments that work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from hostile.examples import JOBS, Examples, Site

import ldpstats as ldp

COLUMN = ("column", "question", "name", "where", "table", "names", "groups")


def weighted_sites(e: Examples) -> Iterator[Site]:
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"job": rng.choice(JOBS, 90), "late": rng.choice(["no", "yes"], 90)})
    people = table.assign(w=rng.uniform(1.0, 3.0, 90), unit=np.arange(90) // 6)
    people["region"] = rng.choice(["n", "s"], 90)
    survey = ldp.Survey(people, {"job": e.krr, "late": e.warner}, weights="w", clusters="unit")
    names = {"names": ("job", "late"), "candidates": None, "other": False, "method": "inversion"}

    def association(names: Any, **how: Any) -> Any:
        return survey.association(*(names if isinstance(names, list | tuple) else (names,)), **how)

    yield Site("Survey.association weighted", association, names)
    yield from _sample_sites(e, people, survey, rng)
    three = survey.association("job", "late", "region")
    yield from _table_sites(survey.association("job", "late"), three)
    yield from _frequency_sites(survey.frequencies("job"), survey.frequencies("job", by="region"))


def _sample_sites(
    e: Examples, people: pd.DataFrame, survey: Any, rng: np.random.Generator
) -> Iterator[Site]:
    names = {"name": COLUMN, "by": COLUMN}
    asked: dict[str, Any] = {"name": "job", "by": ["region"], "candidates": None}
    asked |= {"incomplete": False, "method": "mle", "constraints": None, "cov_type": "default"}
    drawn = survey.replicates("bootstrap", np.random.default_rng(1), 20)
    fixed = survey.calibrate({"region": {"n": 90.0, "s": 90.0}})
    for kind, one in {"weighted": survey, "of replicates": drawn, "calibrated": fixed}.items():
        given = asked | {"method": "mle" if one is survey else None}
        yield Site(f"Survey.frequencies {kind}", one.frequencies, given, names)
    sheet = ldp.Questionnaire({"word": e.orr})
    held = sheet.privatize(people[["w", "region"]].assign(word=people["job"]), rng)
    opened = ldp.Survey(held, sheet, weights="w")
    listed = {"name": "word", "by": "region", "candidates": JOBS, "incomplete": True}
    yield Site("Survey.frequencies weighted open", opened.frequencies, listed, names)
    several = {"name": "word", "candidates": {"word": JOBS}, "other": False}
    yield Site(
        "Survey.association weighted open",
        lambda name, **how: opened.association(name, "region", **how),
        several,
        {"name": ("names", "column", "question")},
    )
    yield Site(
        "where weighted",
        lambda condition: fixed.where(condition).frequencies("job"),
        {"condition": "region == 'n' or w > 2"},
        {"condition": COLUMN},
    )
    mask = {"mask": np.arange(90) % 2 == 0}
    yield Site("Survey[mask] weighted", lambda mask: survey[mask].frequencies("job"), mask)
    factors = _replicates(people, 4)
    columns = {"data": people.join(factors), "questionnaire": {"job": e.krr}, "weights": "w"}
    given = columns | {"replicate_weights": ldp.ReplicateWeights("rep_*", "BRR"), "changes": ()}
    also = {"data": ("table", "frame", "path", "weights", "replicate_weights", "columns")}
    also |= {"questionnaire": ("mechanisms", "question")}
    yield Site("Survey of replicates", ldp.Survey, given, also)


def _replicates(people: pd.DataFrame, n: int) -> pd.DataFrame:
    """Columns of replicate weights."""
    rng = np.random.default_rng(6)
    return pd.DataFrame({f"rep_{r}": people["w"] * rng.integers(0, 3, 90) for r in range(n)})


def _frequency_sites(r: Any, grouped: Any) -> Iterator[Site]:
    alpha: dict[str, Any] = {"alpha": 0.05}
    domain = {"domain": "n", "method": "second"}
    calls: dict[str, tuple[Any, dict[str, Any]]] = {
        "conf_int": (r.conf_int, alpha | {"method": "default", "clip": True}),
        "totals": (grouped.totals, alpha),
        "mean": (grouped.mean, alpha | {"scores": [1, 2, 3]}),
        "ratio": (r.ratio, alpha | {"numerator": "nurse", "denominator": ["driver", "teacher"]}),
        "differences": (grouped.differences, alpha | {"reference": "s", "all_pairs": False}),
        "t_test": (r.t_test, {"hypothesis": (np.eye(3)[0], 0.1)}),
        "wald_test": (r.wald_test, {"hypothesis": (np.eye(3)[0], 0.1)}),
        "test_equal": (grouped.test_equal, {"method": "first"}),
        "test_distribution": (grouped.test_distribution, {"p0": [0.5, 0.3, 0.2]} | domain),
        "summary_frame": (r.summary_frame, alpha),
        "to_frame": (grouped.to_frame, alpha),
        "summary": (grouped.summary, alpha | {"max_rows": 40, "details": True}),
        "from_dict": (type(r).from_dict, {"document": grouped.to_dict()}),
        "from_json": (type(r).from_json, {"text": grouped.to_json()}),
    }
    for name, (call, given) in calls.items():
        yield Site(f"WeightedResults.{name}", call, given)
    plot = alpha | {"sort": True, "most": 2, "title": "Jobs"}
    yield Site("WeightedResults.plot", r.plot, plot | {"ax": None}, slow=True)
    yield Site("WeightedResults plots", grouped.plot, plot | {"figure": None}, slow=True)


def _table_sites(t: Any, three: Any) -> Iterator[Site]:
    alpha: dict[str, Any] = {"alpha": 0.05}
    rows = {"max_rows": 40, "details": True}
    cells = {"numerator": ("nurse", "yes"), "denominator": [("driver", "yes"), ("driver", "no")]}
    pairs = {"rows": ("nurse", "driver"), "columns": ("yes", "no")}
    calls: dict[str, dict[str, Any]] = {
        "conf_int": alpha | {"method": "default", "clip": True},
        "totals": alpha,
        "margins": alpha,
        "conditional": alpha | {"on": "late"},
        "differences": alpha | {"on": "job", "reference": "nurse", "all_pairs": False},
        "ratio": alpha | cells,
        "odds_ratio": alpha | pairs,
        "risk_difference": alpha | {"rows": pairs["rows"], "column": "yes"},
        "risk_ratio": alpha | {"rows": pairs["rows"], "column": "yes"},
        "cramers_v": alpha,
        "test_independence": {"method": "first", "effects": "observed"},
        "summary_frame": alpha,
        "to_frame": alpha,
        "summary": alpha | rows,
    }
    for name, given in calls.items():
        yield Site(f"WeightedTable.{name}", getattr(t, name), given)
    yield Site("WeightedTable.collapse", three.collapse, {"names": ["region", "job"]})
    given, call = {"given": "late", "method": "first"}, three.test_conditional_independence
    yield Site("WeightedTable.test_conditional_independence", call, given)
    plot = {"kind": "heatmap", "ax": None, "alpha": 0.05, "title": "Late"}
    yield Site("WeightedTable.plot", t.plot, plot, slow=True)
    for test in ("t_test", "wald_test"):
        contrast = {"hypothesis": (np.eye(6)[0] - np.eye(6)[3], 0.1)}
        yield Site(f"WeightedTable.{test}", getattr(t, test), contrast)
    yield Site("WeightedTable.from_dict", type(t).from_dict, {"document": t.to_dict()})
    yield Site("WeightedTable.from_json", type(t).from_json, {"text": t.to_json()})
