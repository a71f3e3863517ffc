"""What is printed for reading shows itself in notebooks, too."""

from __future__ import annotations

import html
import importlib
import inspect
import pkgutil
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.likelihood.covariance import Unexplained
from ldpstats.planning.goals import Goal
from ldpstats.survey.weighing import WeightChange

# arguments of other calls, which print as a line
LINES = {"Source", "ReplicateWeights", "MadeReplicates", "WeightStep", "Difference"}


def classes() -> list[type]:
    """All classes of the package that print in a form of their own."""
    found = set()
    for module in pkgutil.walk_packages(ldp.__path__, "ldpstats."):
        if module.name.rpartition(".")[2] in ("__main__", "ldpstats_client", "spark", "pymc"):
            continue
        for one in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(one) and one.__module__.startswith("ldpstats."):
                found.add(one)
    return sorted(
        (one for one in found if "__str__" in vars(one) and not issubclass(one, BaseException)),
        key=lambda one: one.__name__,
    )


def test_what_prints_is_shown_in_notebooks() -> None:
    made = classes()
    assert {"Audit", "MechanismChoice", "TestResult", "Ledger"} <= {one.__name__ for one in made}
    lack = {
        one.__name__
        for one in made
        if not hasattr(one, "_repr_html_") and not issubclass(one, Goal | WeightChange)
    }
    assert lack <= LINES


JOBS = ("<a>", "b", "c")
KRR, URR = ldp.KRR(JOBS, 1.0), ldp.URR(JOBS, {"<a>"}, 1.0)
SURVEY = ldp.FrequencyModel(KRR.counts([420, 330, 250]))
P = [0.5, 0.3, 0.2]
WHOLE: dict[str, Any] = {  # shown as a summary
    "precision": ldp.planning.precision(KRR, P, n=1000),
    "manipulation": ldp.planning.manipulation(KRR, 0.01, P),
    "channel": ldp.planning.design_channel(JOBS, 1.0, prior=P),
}
AS_PRINTED: dict[str, Any] = {
    "audit": KRR.audit(),
    "sheet audit": ldp.Questionnaire({"<b>": KRR}).audit(),
    "uldp": ldp.privacy.uldp(URR),
    "osldp": ldp.privacy.osldp(URR),
    "choice": ldp.planning.recommend(JOBS, 1.0),
    "theta": ldp.planning.best_theta(10, 2, 1.0),
    "fieller": SURVEY.fit().ratio("<a>", "b"),
    "bayes factor": SURVEY.fit_posterior(np.random.default_rng(1)).bayes_factor("<a> = b"),
    "unexplained": Unexplained(0.07, 0.05),
}


@pytest.mark.parametrize("kind", list(WHOLE))
def test_summaries_are_tables_in_notebooks(kind: str) -> None:
    page = WHOLE[kind]._repr_html_()
    assert page == WHOLE[kind].summary().as_html() and "<table" in page and "<a>" not in page


@pytest.mark.parametrize("kind", list(AS_PRINTED))
def test_other_results_are_shown_as_they_print(kind: str) -> None:
    page = AS_PRINTED[kind]._repr_html_()
    assert page.startswith("<pre>") and page.endswith("</pre>")
    inside = page[len("<pre>") : -len("</pre>")]
    assert "<" not in inside and html.unescape(inside) == str(AS_PRINTED[kind])
