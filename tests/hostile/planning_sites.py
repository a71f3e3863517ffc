"""Functions of privacy, planning and datasets, with arguments that work."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from hostile.examples import P3, Examples, Site

import ldpstats as ldp
from ldpstats import planning, privacy


def privacy_sites(e: Examples) -> Iterator[Site]:
    Q = [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]
    yield Site("privacy.epsilon", privacy.epsilon, {"Q": Q})
    yield Site("privacy.epsilon mechanism", privacy.epsilon, {"Q": e.krr})
    yield Site("privacy.uldp", privacy.uldp, {"Q": e.urr, "sensitive": ["nurse"]})
    yield Site("privacy.uldp array", privacy.uldp, {"Q": Q, "sensitive": [0]})
    for name in ("osldp", "osldp_factors"):
        call = getattr(privacy, name)
        yield Site(f"privacy.{name}", call, {"Q": e.urr, "sensitive": ["nurse"]})
        yield Site(f"privacy.{name} array", call, {"Q": Q, "sensitive": [0]})
    for name in ("dominates", "deficiency"):
        call = getattr(privacy, name)
        yield Site(f"privacy.{name}", call, {"A": e.krr, "B": e.urr})
        yield Site(f"privacy.{name} arrays", call, {"A": Q, "B": [[0.5, 0.5], [0.4, 0.6]]})
    yield Site("privacy.compose", privacy.compose, {"epsilons": [1.0, 0.5], "delta": 1e-3})
    yield Site("split_budget", privacy.split_budget, {"total": 3.0, "weights": [1, 1, 2]})
    yield Site("sequential", privacy.sequential, {"first": e.krr, "second": e.krr})
    after = {"first": Q, "second": [Q, Q, Q]}
    yield Site("sequential adaptive", privacy.sequential, after)
    R = [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]
    process = {"Q": Q, "R": R, "sensitive": [0]}
    yield Site("post_process", privacy.post_process, process)
    shuffle = {"mechanism": e.krr, "n": 20, "delta": 1e-3, "colluding": 0.1}
    yield Site("privacy.amplification", privacy.amplification, shuffle, slow=True)
    shuffled = privacy.amplification(e.krr, 20, 1e-3)
    yield Site("Amplification.delta_at", shuffled.delta_at, {"epsilon": 0.5})
    p3 = [0.5, 0.3, 0.2]
    judged = {"mechanism": e.krr, "p": p3, "reports": ["nurse", "driver"], "candidates": None}
    yield Site("privacy.posterior", privacy.posterior, judged)
    table = pd.DataFrame(np.full((3, 2), 1 / 6), e.krr.categories, e.warner.categories)
    two = {"mechanism": [e.krr, e.warner], "p": table, "reports": [["nurse"], ["yes"]]}
    yield Site("privacy.posterior of two", privacy.posterior, two)
    beliefs = privacy.posterior(e.krr, p3)
    drawn = {"beliefs": beliefs, "p": p3, "ax": None, "title": "Report"}
    yield Site("privacy.plot_posterior", privacy.plot_posterior, drawn, slow=True)
    yield from ledger_sites(e)


def ledger_sites(e: Examples) -> Iterator[Site]:
    entry = privacy.Spending("job", 1.0)
    yield Site("privacy.Ledger", privacy.Ledger, {"entries": (entry,), "limit": 3.0})
    fields = {
        "question": "job",
        "epsilon": 1.0,
        "wave": "2024",
        "mechanism": "KRR",
        "reports": 2,
        "sensitive": ("nurse",),
        "permanent": "first",
        "lifetime": 2.0,
        "fingerprint": "abc",
    }
    yield Site("privacy.Spending", privacy.Spending, fields)
    ledger = privacy.Ledger((entry,), 1e9)  # which grows
    spend = {"question": "job", "mechanism": e.krr, "wave": "", "reports": 1, "permanent": "x"}
    yield Site("Ledger.spend", ledger.spend, spend)
    sheet = ldp.Questionnaire({"job": e.krr, "ill": e.warner})
    given = {"questionnaire": sheet, "wave": "2024", "asked": ["job"]}
    yield Site("Ledger.spend_sheet", ledger.spend_sheet, given)
    other = privacy.Ledger((privacy.Spending("ill", 0.5),))
    yield Site("Ledger.merge", ledger.merge, {"other": other, "repeated": "once"})
    yield Site("Ledger.epsilon", ledger.epsilon, {"delta": 1e-6})
    yield Site("Ledger.epsilon_of", ledger.epsilon_of, {"question": "job", "category": "nurse"})
    yield Site("Ledger.by", ledger.by, {"what": "wave"})
    yield Site("Ledger.from_dict", privacy.Ledger.from_dict, {"document": ledger.to_dict()})


PLANNING: dict[str, Any] = {
    "k": 4,
    "n_sensitive": 2,
    "epsilon": 1.0,
    "p": (0.4, 0.3, 0.2, 0.1),
    "loss": "l2",
    "S": 10,
    "n_cohorts": 4,
    "mass": 0.9,
    "n_hashes": 1,
    "n_cells": 8,
    "n": 1000,
    "theta": 0.5,
    "sensitive": (0, 1),
    "r_hat": (0.4, 0.3, 0.2, 0.1),
    "r": (0.3, 0.3, 0.3, 0.1),
    "pi_hat": (0.2, 0.8),
    "pi": (0.3, 0.7),
    "candidates": None,
}


def manipulation_sites(e: Examples) -> Iterator[Site]:
    given = {"mechanism": e.krr, "share": 0.01, "p": (0.4, 0.3, 0.3), "n": 100}
    yield Site("planning.manipulation", planning.manipulation, given | {"cohorts": "assigned"})
    hashed = given | {"mechanism": e.orr, "candidates": ("a", "b", "c"), "cohorts": "chosen"}
    yield Site("planning.manipulation hashed", planning.manipulation, hashed)
    found = planning.manipulation(e.numbered, 0.01)
    yield Site("Manipulation.summary", found.summary, {"max_rows": 2})
    yield Site("Manipulation.difference", found.difference, {"first": 0, "second": 1})


_OWN = (
    "compare",
    "design_channel",
    "minimum_detectable",
    "one_report_covariance",
    "plan_dictionary",
    "plot_frontier",
    "power",
    "precision",
    "realised_losses",
    "recommend",
    "recommend_design",
    "sample_size",
)  # with sites of their own


def planning_sites(e: Examples) -> Iterator[Site]:
    for name in planning.__all__:
        call = getattr(planning, name)
        if inspect.isclass(call) or name in _OWN:
            continue
        if name == "manipulation":
            yield from manipulation_sites(e)
            continue
        given = {n: v for n, v in PLANNING.items() if n in inspect.signature(call).parameters}
        if name.startswith("uldp_") or name == "urr_worst_distribution":
            given["loss"] = "l1"
        if "mechanism" in inspect.signature(call).parameters:
            given["mechanism"] = "krr"
        if name.startswith("effective") or name.startswith("uldp_"):
            given["mechanism"] = "urr" if name.startswith("uldp_") else "krappor"
        if name in ("expected_loss", "random_design_loss"):
            given["mechanism"] = ldp.KRR(4, 1.0) if name == "expected_loss" else e.orr
            given["p"] = (0.4, 0.3, 0.2, 0.1)
        if name == "personalized_bound":
            given |= {"r_hat": P3, "r": P3, "pi_hat": [(0.5, 0.5)], "pi": [(0.9, 0.1)]}
        known = inspect.signature(call).parameters
        given = {n: v for n, v in given.items() if n in known}
        yield Site(f"planning.{name}", call, given, slow=name in ("best_theta",))
    plan = {
        "length": 4,
        "alphabet": "abc",
        "epsilon": 6.0,
        "n": 1000,
        "grams": (2,),
        "shares": (0.3,),
        "gram_mechanisms": ("krr",),
        "string_mechanisms": ("orr",),
        "alpha": 0.05,
        "power": 0.8,
        "false_grams": 50.0,
        "max_candidates": 50,
    }
    yield Site("plan_dictionary", planning.plan_dictionary, plan, slow=True)
    design = {
        "S": 10,
        "n": 1000,
        "epsilon": 2.0,
        "p": None,
        "closed": False,
        "mechanisms": ("orr",),
        "n_outputs": (4, 8),
        "n_cohorts": (4,),
        "n_hashes": (1,),
        "loss": "l1",
    }
    yield Site("recommend_design", planning.recommend_design, design, slow=True)
    channel = {
        "categories": ("nurse", "cook", "driver"),
        "epsilon": 1.0,
        "prior": P3,
        "loss": {"nurse": 1.0, "cook": -1.0},
        "sensitive": ["nurse", "cook"],
        "max_outputs": 9,
    }
    yield Site("design_channel", planning.design_channel, channel, slow=True)
    best = planning.design_channel(("nurse", "cook", "driver"), 1.0)
    yield Site("design_channel sensitivity", best.sensitivity, {"prior": P3}, slow=True)
