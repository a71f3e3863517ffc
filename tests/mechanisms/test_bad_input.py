"""Malformed mechanisms, specifications and answers: each error names the argument."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from shared.bad_values import Refusal, refuses

import ldpstats as ldp
from ldpstats.errors import UnknownCategory

JOBS = ("nurse", "teacher", "driver")
KRR = ldp.KRR(JOBS, epsilon=1.0)
WIDE = ldp.CustomMechanism([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
SPEC = KRR.to_dict()


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


BAD = [
    # -- matrices: parameters of the other mechanisms are in test_bad_parameters.py
    *refuses("Q[0]", ldp.CustomMechanism, {"Q rows": [[0.5, 0.4], [0.5, 0.5]]}),
    *refuses("Q[1]", ldp.CustomMechanism, {"Q transposed": np.array([[0.9, 0.1], [0.5, 0.5]]).T}),
    *refuses("Q[0, 1]", ldp.CustomMechanism, {"Q negative": [[1.1, -0.1], [0.5, 0.5]]}),
    *refuses("Q[0, 0]", ldp.CustomMechanism, {"Q nan": [[np.nan, 1], [0.5, 0.5]]}),
    *refuses(
        "Q",
        ldp.CustomMechanism,
        {
            "Q a vector": [0.5, 0.5],
            "Q one row": [[0.5, 0.5]],
            "Q ragged": [[0.5, 0.5], [1.0]],
            "Q text": [["a", "b"], ["c", "d"]],
            "Q beyond floats": [[10**400, 0], [0, 1]],
        },
    ),
    *refuses(
        "categories",
        lambda v: ldp.CustomMechanism(WIDE.Q, v),
        {"too few categories": ("a",), "too many categories": JOBS},
    ),
    *refuses("outputs", lambda v: ldp.CustomMechanism(WIDE.Q, outputs=v), {"too few outputs": 2}),
    *refuses(
        "shares",
        lambda v: ldp.channels.Stacked([KRR.channel()] * 2, v),
        {"channel shares": np.array([1.0, 1.0])},
    ),
    # -- specifications
    *refuses(
        "specification",
        ldp.mechanism_from_dict,
        {
            "not an object": [1],
            "no format": {"mechanism": "KRR"},
            "unknown field": SPEC | {"x": 1},
            "missing field": {k: v for k, v in SPEC.items() if k != "epsilon"},
        },
    ),
    *refuses("version", ldp.mechanism_from_dict, {"later version": SPEC | {"version": 2}}),
    *refuses("mechanism", ldp.mechanism_from_dict, {"no such kind": SPEC | {"mechanism": "X"}}),
    *refuses("mechanism", ldp.Warner.from_dict, {"another kind": SPEC}),
    *refuses("categories", ldp.mechanism_from_dict, {"null labels": SPEC | {"categories": None}}),
    *refuses("epsilon", ldp.mechanism_from_dict, {"null epsilon": SPEC | {"epsilon": None}}),
    # -- values
    *refuses(
        "values[1]",
        lambda v: KRR.privatize(v, rng()),
        {"unknown category": ["nurse", "cook"]},
        UnknownCategory,
    ),
    *refuses(
        "values[1]",
        lambda v: KRR.privatize(v, rng()),
        {"missing answer": ["nurse", None], "pandas missing": pd.Series(["nurse", pd.NA])},
    ),
    *refuses(
        "missing", lambda v: KRR.privatize(["nurse"], rng(), missing=v), {"no such policy": "drop"}
    ),
    *refuses(
        "rng",
        lambda v: KRR.privatize(["nurse"], v),
        {"a seed": 1, "no generator": None, "old generator": np.random.RandomState(1)},
    ),
    *refuses(
        "value=", lambda v: KRR.client().report(v), {"client, unknown": "cook"}, UnknownCategory
    ),
    *refuses("value=", lambda v: KRR.client().report(v), {"client, missing": None}),
    *refuses("entropy", lambda v: KRR.client(entropy=v), {"entropy no function": b"123"}),
    *refuses(
        "entropy", lambda v: KRR.client(v).report("nurse"), {"entropy too short": lambda n: b""}
    ),
    *refuses(
        "p",
        lambda v: KRR.draw(v, 10, rng()),
        {
            "draw from no law": [0.5, 0.6, 0.2],
            "draw, wrong length": [0.5, 0.5],
            "draw, negative": [1.5, -0.5, 0.0],
        },
    ),
    *refuses(
        "n",
        lambda v: KRR.draw([0.5, 0.3, 0.2], v, rng()),
        {"draw nobody": -1, "draw half a person": 1.5},
    ),
    *refuses("rng", lambda v: KRR.draw([0.5, 0.3, 0.2], 10, v), {"draw with a seed": 1}),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: Refusal) -> None:
    case.check()
