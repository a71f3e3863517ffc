"""Precision, sample sizes and recommendations, with arguments that work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from hostile.examples import JOBS, P3, Examples, Site

from ldpstats import planning

_ALSO = {
    "mechanism": ("p", "category", "candidates", "goal"),
    "mechanisms": ("p", "categories", "category", "mechanism"),
    "categories": ("p", "mechanisms", "category", "goal"),
    "se": ("n", "width", "relative", "goal"),
    "width": ("se", "relative"),
    "relative": ("se", "p"),
    "n": ("se",),
    "p": ("candidates", "relative"),
    "truth": ("estimate",),
    "estimate": ("truth",),
    "goal": ("se", "p", "power"),
    "power": ("goal", "alpha"),
}


def precision_sites(e: Examples) -> Iterator[Site]:
    words = {"candidates": JOBS, "p": P3}
    asked: dict[str, Any] = {"mechanism": e.krr, "p": P3, "design_effect": 1.5}
    goal = planning.ValueTest(P3, JOBS[0], 0.6)
    calls: dict[str, tuple[Any, dict[str, Any]]] = {
        "one_report_covariance": (planning.one_report_covariance, {"mechanism": e.krr, "p": P3}),
        "precision": (planning.precision, asked | {"n": 100}),
        "precision hashed": (planning.precision, {"mechanism": e.orr, "n": 100, **words}),
        "sample_size": (
            planning.sample_size,
            asked | {"se": 0.05, "category": JOBS[0], "alpha": 0.05},
        ),
        "sample_size width": (planning.sample_size, {"mechanism": e.oue, "width": 0.1}),
        "sample_size relative": (
            planning.sample_size,
            {"mechanism": e.urr, "p": pd.Series(P3, JOBS), "relative": 0.1},
        ),
        "sample_size goal": (
            planning.sample_size,
            {"mechanism": e.krr, "goal": goal, "power": 0.7},
        ),
        "compare": (
            planning.compare,
            {"mechanisms": [e.krr, e.oue], "p": P3, "n": 100, "design_effect": 1.0},
        ),
        "recommend": (
            planning.recommend,
            {"categories": JOBS, "epsilon": 1.0, "goal": {JOBS[0]: 1.0}, "p": P3},
        ),
        "realised_losses": (planning.realised_losses, {"estimate": P3, "truth": P3}),
    }
    for name, (call, given) in calls.items():
        yield Site(f"planning.{name}", call, given, also=_ALSO)
    found = planning.precision(e.krr, P3, 100)
    yield Site("Precision.width", found.width, {"alpha": 0.05})
    yield Site("Precision.frame", found.frame, {"alpha": 0.05})
    yield Site("Precision.summary", found.summary, {"alpha": 0.05, "max_rows": 3})
    plot = {"mechanisms": ["krr", e.krr], "categories": JOBS, "p": P3, "n": 50}
    plot |= {"epsilons": (1.0, 2.0), "category": JOBS[0], "design_effect": 1.0, "title": "T"}
    yield Site("planning.plot_frontier", planning.plot_frontier, plot, also=_ALSO, slow=True)
