"""Functions of privacy, planning and datasets, with arguments that work."""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from hostile.examples import JOBS, P3, Examples, Site

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


# Precision, sample sizes and recommendations, with arguments that work.

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
            {"categories": JOBS, "epsilon": 1.0, "goal": {JOBS[0]: 1.0}, "p": P3, "questions": 2},
        ),
        "recommend goal": (
            planning.recommend,
            {"categories": JOBS, "epsilon": 1.0, "goal": goal, "power": 0.7},
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


# Goals of a survey, their power and their smallest effects, with arguments that work.


def goal_sites(e: Examples) -> Iterator[Site]:
    table = np.array([[0.2, 0.1], [0.1, 0.2], [0.2, 0.2]])
    X = pd.DataFrame({"const": 1.0, "age": np.linspace(-1.0, 1.0, 7)})
    made = {
        "ValueTest": ({"p": P3, "category": "nurse", "value": 0.4}, e.krr),
        "PresenceTest": ({"p": P3, "category": "nurse", "n_candidates": 5}, e.oue),
        "GroupsTest": (
            {"p": (P3, (0.4, 0.3, 0.3)), "shares": (0.4, 0.6), "category": "driver"},
            e.krr,
        ),
        "IndependenceTest": ({"table": table}, (e.krr, e.warner)),
        "CoefficientTest": (
            {"params": (-0.5, 1.0), "exog": X, "coefficient": "age", "model": "logit"},
            e.warner,
        ),
    }
    for name, (given, mechanism) in made.items():
        goal = getattr(planning, name)
        yield Site(f"planning.{name}", goal, given)
        # what a goal takes for good may not fit the mechanism
        yield Site(f"planning.{name}.ray", _planned(goal, mechanism), given, also=_ALSO_GOAL_SITES)
        asked = {"mechanism": mechanism, "goal": goal(**given), "n": 50_000}
        asked = asked | {"alpha": 0.05, "design_effect": 1.5}
        yield Site(f"planning.power {name}", planning.power, asked, also=_ALSO_GOAL_SITES)
        asked = asked | {"power": 0.8}
        yield Site(
            f"planning.minimum_detectable {name}",
            planning.minimum_detectable,
            asked,
            also=_ALSO_GOAL_SITES,
        )
    mixed = planning.GroupsTest((P3, (0.4, 0.3, 0.3), P3))
    asked = {"mechanism": [e.krr, e.oue, e.urr], "goal": mixed, "n": 1000}
    yield Site("planning.power groups", planning.power, asked, also=_ALSO_GOAL_SITES)
    hashed = planning.PresenceTest(pd.Series(P3, index=JOBS), "cook" if "cook" in JOBS else JOBS[1])
    asked = {"mechanism": e.orr, "goal": hashed, "n": 1000}
    yield Site("planning.power hashed", planning.power, asked, also=_ALSO_GOAL_SITES)


_FIELDS = ("p", "category", "table", "params", "coefficient", "mechanism")

_ALSO_GOAL_SITES = dict.fromkeys(
    ("mechanism", "goal", "power", "alpha", "p", "shares", "category", "value", "table", "exog",
     "params", "coefficient", "model", "n_candidates", "n", "design_effect"),
    (*_FIELDS, "goal", "n", "power"),
)  # fmt: skip


def _planned(goal: type, mechanism: object):
    def power(**given: object) -> float:
        return planning.power(mechanism, goal(**given), 1000)

    return power
