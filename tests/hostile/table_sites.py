"""Weighted tables, with arguments that work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from hostile.examples import JOBS, Examples, Site

import ldpstats as ldp


def table_sites(e: Examples) -> Iterator[Site]:
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"job": rng.choice(JOBS, 90), "late": rng.choice(["no", "yes"], 90)})
    people = table.assign(w=rng.uniform(1.0, 3.0, 90), unit=np.arange(90) // 6)
    survey = ldp.Survey(people, {"job": e.krr, "late": e.warner}, weights="w", clusters="unit")
    names = {"names": ("job", "late"), "candidates": None, "other": False, "method": "inversion"}

    def association(names: Any, **how: Any) -> Any:
        return survey.association(*(names if isinstance(names, list | tuple) else (names,)), **how)

    yield Site("Survey.association weighted", association, names)
    t = survey.association("job", "late")
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
