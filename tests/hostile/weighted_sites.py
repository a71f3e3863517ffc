"""Weighted frequencies and tables, with arguments that work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from hostile.examples import JOBS, Examples, Site

import ldpstats as ldp


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
    yield from _table_sites(survey.association("job", "late"))
    yield from _frequency_sites(survey.frequencies("job"), survey.frequencies("job", by="region"))


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
    }
    for name, (call, given) in calls.items():
        yield Site(f"WeightedResults.{name}", call, given)
    plot = alpha | {"sort": True, "most": 2, "title": "Jobs"}
    yield Site("WeightedResults.plot", r.plot, plot | {"ax": None}, slow=True)
    yield Site("WeightedResults plots", grouped.plot, plot | {"figure": None}, slow=True)


def _table_sites(t: Any) -> Iterator[Site]:
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
        "cramers_v": alpha,
        "test_independence": {"method": "first", "effects": "observed"},
        "summary_frame": alpha,
        "to_frame": alpha,
        "summary": alpha | rows,
    }
    for name, given in calls.items():
        yield Site(f"WeightedTable.{name}", getattr(t, name), given)
    plot = {"kind": "heatmap", "ax": None, "alpha": 0.05, "title": "Late"}
    yield Site("WeightedTable.plot", t.plot, plot, slow=True)
    for test in ("t_test", "wald_test"):
        contrast = {"hypothesis": (np.eye(6)[0] - np.eye(6)[3], 0.1)}
        yield Site(f"WeightedTable.{test}", getattr(t, test), contrast)
    yield Site("WeightedTable.from_dict", type(t).from_dict, {"document": t.to_dict()})
    yield Site("WeightedTable.from_json", type(t).from_json, {"text": t.to_json()})
