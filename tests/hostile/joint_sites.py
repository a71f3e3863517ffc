"""Joint analyses of several questions and waves, with arguments that work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from hostile.examples import JOBS, RNG, Examples, Site, taken

import ldpstats as ldp


def joint_sites(e: Examples) -> Iterator[Site]:
    first, second = e.reports["KRR"], ldp.KRR(JOBS, 2.0).privatize(e.values["KRR"], RNG.make())
    third, everyone = e.reports["KRAPPOR"], np.ones(60, dtype=bool)
    waves = {"first": first, "second": second, "name": "job", "waves": ("2023", "2024")}
    said = {
        "first": ("reports", "rows", "ids", "counts"),
        "second": ("reports", "rows", "ids", "counts"),
    }
    yield Site("change", ldp.change, waves | {"candidates": None, "method": "mle"}, said)
    masked = {"first": (first, everyone), "second": (second, everyone)}
    yield Site("change of rows", ldp.change, masked | {"candidates": JOBS[:2]}, said)
    many = {"reports": {"job": first, "late": second, "ill": third}, "alpha": 0.05}
    rows = {"reports": ("rows", "names", "ids", "counts")}
    how = {"candidates": None, "other": False, "method": "mle"}
    yield Site("associations", ldp.associations, many | how, rows, slow=True)
    pairs = {"rows": [(first, everyone), (second, None)]}
    yield Site("JointCounts.of_rows", ldp.JointCounts.of_rows, pairs, {"rows": ("reports",)})
    yield from _methods(e, first, second, third)


def _methods(e: Examples, first: Any, second: Any, third: Any) -> Iterator[Site]:
    results = ldp.change(first, second, name="job")
    simple: dict[str, dict[str, Any]] = {
        "summary": {"alpha": 0.05, "max_rows": 40, "details": False},
        "summary_frame": {"alpha": 0.05},
        "conf_int": {"alpha": 0.05, "method": "default", "clip": True},
        "turnover": {"alpha": 0.05},
        "cov_params": {"cov_type": "default"},
        "t_test": {"hypothesis": (np.array([1.0, 0.0, 0.0]), 0.1)},
        "wald_test": {"hypothesis": f"{JOBS[0]} = 0, {JOBS[1]} = 0"},
    }
    for method, arguments in simple.items():
        call = getattr(results, method)
        yield Site(f"ChangeResults.{method}", call, taken(call, arguments))
    drawn = {"kind": "change", "ax": None, "alpha": 0.05, "most": 2, "title": "moves", "sort": True}
    yield Site("ChangeResults.plot", results.plot, drawn, slow=True)
    matrix = ldp.associations({"job": first, "late": second, "ill": third})
    yield Site("AssociationMatrix.summary", matrix.summary, {"max_rows": 2, "details": True})
    yield Site("AssociationMatrix.plot", matrix.plot, {"ax": None, "title": "pairs"}, slow=True)
    yield Site("AssociationMatrix pair", matrix.__getitem__, {"names": ("job", "late")})
    yield Site("collapse", e.three.collapse, {"names": ["x", "z"]})
    for made in (results, matrix):
        kind = type(made)
        yield Site(f"{kind.__name__}.from_dict", kind.from_dict, {"document": made.to_dict()})
        text = {"text": made.to_json()}
        yield Site(f"{kind.__name__}.from_json", kind.from_json, text, {"text": ("document",)})
