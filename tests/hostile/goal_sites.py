"""Goals of a survey, their power and their smallest effects, with arguments that work."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from hostile.examples import JOBS, P3, Examples, Site

from ldpstats import planning


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
        yield Site(f"planning.{name}.ray", _planned(goal, mechanism), given, also=_ALSO)
        asked = {"mechanism": mechanism, "goal": goal(**given), "n": 50_000}
        asked = asked | {"alpha": 0.05, "design_effect": 1.5}
        yield Site(f"planning.power {name}", planning.power, asked, also=_ALSO)
        asked = asked | {"power": 0.8}
        yield Site(
            f"planning.minimum_detectable {name}", planning.minimum_detectable, asked, also=_ALSO
        )
    mixed = planning.GroupsTest((P3, (0.4, 0.3, 0.3), P3))
    asked = {"mechanism": [e.krr, e.oue, e.urr], "goal": mixed, "n": 1000}
    yield Site("planning.power groups", planning.power, asked, also=_ALSO)
    hashed = planning.PresenceTest(pd.Series(P3, index=JOBS), "cook" if "cook" in JOBS else JOBS[1])
    asked = {"mechanism": e.orr, "goal": hashed, "n": 1000}
    yield Site("planning.power hashed", planning.power, asked, also=_ALSO)


_FIELDS = ("p", "category", "table", "params", "coefficient", "mechanism")
_ALSO = dict.fromkeys(
    ("mechanism", "goal", "power", "alpha", "p", "shares", "category", "value", "table", "exog",
     "params", "coefficient", "model", "n_candidates", "n", "design_effect"),
    (*_FIELDS, "goal", "n", "power"),
)  # fmt: skip


def _planned(goal: type, mechanism: object):  # type: ignore[no-untyped-def]
    def power(**given: object) -> float:
        return planning.power(mechanism, goal(**given), 1000)

    return power
