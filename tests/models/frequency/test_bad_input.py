"""Malformed input of models of frequencies and their results: each error names the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.bad_values import Refusal, refuses, said

import ldpstats as ldp
from ldpstats.errors import MechanismMismatch, NotAvailable, NotIdentified
from ldpstats.estimators import ESTIMATORS
from ldpstats.estimators import constraints as cons

JOBS = ("nurse", "teacher", "driver")
KRR = ldp.KRR(JOBS, epsilon=1.0)
NUMBERED = ldp.KRR(3, epsilon=1.0)
OTHER = ldp.KRR(JOBS, epsilon=2.0)
BITS = ldp.KRAPPOR(JOBS, epsilon=1.0)
WIDE = ldp.CustomMechanism([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
FLAT = ldp.CustomMechanism([[0.5, 0.5], [0.5, 0.5]])
COUNTS = KRR.counts([40, 33, 27])  # an estimate in the interior
ONES = BITS.counts([50, 40, 30], nobs=100)
MODEL = ldp.FrequencyModel(COUNTS)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def fitted() -> ldp.FrequencyResults:
    return MODEL.fit()


def constrained(constraints: Any) -> ldp.FrequencyResults:
    return MODEL.fit(constraints=constraints)


BAD = [
    # -- models
    *refuses("data", ldp.FrequencyModel, {"plain numbers": [1, 2, 3], "nothing": [], "none": None}),
    *refuses(
        "counts",
        lambda v: ldp.FrequencyModel(v).fit(),
        {
            "no report": KRR.no_counts(),
            "all zero": KRR.counts([0, 0, 0]),
            "no bits": BITS.counts([0, 0, 0], nobs=0),
            "empty answers": KRR.privatize([], rng()),
        },
    ),
    *refuses(
        "",
        ldp.FrequencyModel,
        {"other categories": said([COUNTS, NUMBERED.counts([1, 2, 3])], "categories")},
        MechanismMismatch,
    ),
    *refuses(
        "candidates",
        lambda v: ldp.FrequencyModel(COUNTS, candidates=v),
        {"candidates": JOBS},
        NotAvailable,
    ),
    *refuses(
        "method",
        lambda v: MODEL.fit(v),
        {"no such method": "magic", "method a class": ESTIMATORS["mle"]},
    ),
    *refuses(
        "",
        lambda v: ldp.FrequencyModel(ONES).fit(v),
        {"mle of bit sums": said("mle", "method"), "em of bit sums": said("em", "method")},
        NotAvailable,
    ),
    *refuses(
        "",
        lambda v: MODEL.fit(v),
        {"composite of labels": said("composite", "composite")},
        NotAvailable,
    ),
    *refuses("cov_type", lambda v: MODEL.fit(cov_type=v), {"no such cov_type": "HC3"}),
    *refuses(
        "cov_type", lambda v: MODEL.fit("inversion", cov_type=v), {"fpe16 of inversion": "fpe16"}
    ),
    *refuses(
        "constraints",
        lambda v: MODEL.fit("inversion", constraints=v),
        {"constrained inversion": lambda p: []},
    ),
    *refuses(
        "constraints",
        lambda v: MODEL.fit(constraints=v),
        {
            "contradictory constraints": lambda p: [p[0] >= 0.8, p[1] >= 0.8],
            "constraint a number": 3,
        },
    ),
    *refuses(
        "constraints",
        constrained,
        {
            "constraint no list": lambda p: p[0] >= 0.2,
            "constraint none": lambda p: None,
            "constraint a bool": lambda p: [True],
            "constraint of nothing": lambda: [],
        },
    ),
    *refuses(
        "",
        constrained,
        {
            "constraint chained": said(lambda p: [0 <= p[0] <= 0.2], "truth value"),
            "constraint position": said(lambda p: [p[9] >= 0], "out of bounds"),
            "constraint shape": said(lambda p: [np.ones(4) @ p == 1], "dimensions"),
            "constraint nan": said(lambda p: [p[0] >= np.nan], "finite"),
            "constraint fails": said(lambda p: [1 / 0], "division by zero"),
        },
    ),
    *refuses(
        "margin",
        lambda v: constrained(cons.known_margin(v)),
        {
            "margin position": {(0, 3): 0.5},
            "margin negative": {(0, -1): 0.5},
            "margin no tuple": {0: 0.5},
            "margin label": {("nurse",): 0.5},
            "margin twice": {(0, 0): 0.5},
            "margin empty": {(): 0.5},
            "margin nan": {(0,): np.nan},
            "margin text": {(0,): "half"},
        },
    ),
    *refuses(
        "margin", lambda v: constrained(cons.known_margin([1, 0], v)), {"margin columns": [0.5]}
    ),
    *refuses(
        "values",
        lambda v: constrained(cons.known_margin([1, 0, 0], v)),
        {"margin values": [np.inf]},
    ),
    *refuses("low", lambda v: constrained(cons.bounds(v)), {"low length": [0.1, 0.2]}),
    *refuses(
        "high",
        lambda v: constrained(cons.bounds(high=v)),
        {"high length": [0.5] * 4, "high nan": np.nan},
    ),
    *refuses(
        "",
        lambda v: ldp.FrequencyModel(v).fit(),
        {"not identified": said(FLAT.counts([5, 5]), "rank 1")},
        NotIdentified,
    ),
    *refuses(
        "p0",
        lambda v: MODEL.test_distribution(v),
        {
            "p0 sum": [0.5, 0.5, 0.5],
            "p0 negative": [1.2, -0.2, 0],
            "p0 length": [0.5, 0.5],
            "p0 text": ["a", "b", "c"],
            "p0 labels": pd.Series([0.5, 0.3, 0.2], index=["nurse", "teacher", "cook"]),
        },
    ),
    *refuses(
        "",
        lambda v: ldp.two_sample_test(COUNTS, v),
        {"two samples, categories": said(NUMBERED.counts([1, 2, 3]), "categories")},
        MechanismMismatch,
    ),
    *refuses(
        "method",
        lambda v: ldp.two_sample_test(COUNTS, COUNTS, method=v),
        {"two samples, method": "t"},
    ),
    *refuses(
        "",
        lambda v: ldp.two_sample_test(COUNTS, OTHER.counts([1, 2, 3]), method=v),
        {"two samples, pearson": said("pearson", "method='wald'")},
        NotAvailable,
    ),
    *refuses("data", lambda v: ldp.two_sample_test(v, [3, 4]), {"two samples, numbers": [1, 2]}),
    *refuses(
        "second=",
        lambda v: ldp.two_sample_test(COUNTS, v),
        {"two samples, empty": said(KRR.no_counts(), "second=0")},
    ),
    # -- results
    *refuses(
        "alpha",
        lambda v: fitted().conf_int(v),
        {
            "alpha zero": 0,
            "alpha one": 1.0,
            "alpha in percent": 95,
            "alpha nan": np.nan,
            "alpha text": "0.05",
        },
    ),
    *refuses("alpha", lambda v: fitted().detected(v), {"alpha bool": True}),
    *refuses("alpha", lambda v: fitted().summary(alpha=v), {"alpha of a summary": 2}),
    *refuses("max_rows", lambda v: fitted().summary(max_rows=v), {"rows of a summary": 0}),
    *refuses("alpha", lambda v: fitted().plot(alpha=v), {"alpha of a plot": -1}),
    *refuses("method", lambda v: fitted().conf_int(method=v), {"interval method": "t"}),
    *refuses(
        "simultaneous", lambda v: fitted().conf_int(simultaneous=v), {"simultaneous": "tukey"}
    ),
    *refuses(
        "simultaneous",
        lambda v: fitted().conf_int(method="exact", simultaneous=v),
        {"scheffe of exact": "scheffe"},
    ),
    *refuses(
        "",
        lambda v: ldp.FrequencyModel(WIDE.counts([5, 4, 3])).fit().conf_int(method=v),
        {"exact without a form": said("exact", "method='wald'")},
        NotAvailable,
    ),
    *refuses("model", lambda v: fitted().conf_int(method=v), {"profile alone": "profile"}),
    *refuses(
        "model",
        lambda v: fitted().conf_int(method="profile", model=v),
        {"profile, wrong model": COUNTS},
    ),
    *refuses(
        "rng",
        lambda v: fitted().conf_int(method="bootstrap", model=MODEL, rng=v),
        {"bootstrap without rng": None},
    ),
    *refuses(
        "n_boot",
        lambda v: fitted().conf_int(method="bootstrap", model=MODEL, rng=rng(), n_boot=v),
        {"bootstrap of one": 1},
    ),
    *refuses(
        "rng",
        lambda v: fitted().conf_int(method="bootstrap", model=MODEL, rng=v),
        {"bootstrap with a seed": 1},
    ),
    *refuses(
        "n_boot", lambda v: fitted().conf_int(method="wald", n_boot=v), {"option of no method": 9}
    ),
    *refuses("method", lambda v: fitted().detected(method=v), {"multiplicity": "none"}),
    *refuses(
        "hypothesis",
        lambda v: fitted().t_test(v),
        {
            "unknown label tested": "nurse = cook",
            "broken hypothesis": "nurse = = driver",
            "hypothesis length": [1, -1],
            "hypothesis nan": [1, np.nan, 0],
            "hypothesis values": ([1, -1, 0], [0, 0]),
            "hypothesis empty": "",
            "no hypotheses": [],
            "hypothesis of operators": "= ,",
            "known for certain": [1, 1, 1],
        },
    ),
    *refuses(
        "hypothesis",
        lambda v: fitted().wald_test(v),
        {"contradictory": "nurse = 0, nurse = 1", "against the sum": ([1, 1, 1], 2)},
    ),
    *refuses(
        "second",
        lambda v: fitted().difference("nurse", v),
        {"unknown label, difference": "cook", "unhashable label": ["driver"]},
    ),
    *refuses("first", lambda v: fitted().ratio(v, "nurse"), {"unknown label, ratio": "cook"}),
    *refuses(
        "second",
        lambda v: fitted().ratio("nurse", v),
        {"no labels, ratio": [], "a label twice, ratio": ["nurse", "nurse"]},
    ),
    *refuses(
        "alpha", lambda v: fitted().ratio("driver", "nurse", alpha=v), {"alpha of a ratio": 0}
    ),
    *refuses("cov_type", lambda v: fitted().cov_params(v), {"covariance": "robust"}),
    *refuses(
        "truth",
        lambda v: fitted().plot(truth=v),
        {
            "truth, wrong labels": pd.Series([1.0], index=["x"]),
            "truth, wrong length": [0.5, 0.5],
            "truth, text": ["a", "b", "c"],
        },
    ),
    *refuses("document", ldp.FrequencyResults.from_dict, {"results, no object": {}}),
    *refuses("text", ldp.FrequencyResults.from_json, {"results, no JSON": "{"}),
    *refuses(
        "",
        ldp.FrequencyResults.from_dict,
        {
            "results, field missing": said(
                {k: v for k, v in fitted().to_dict().items() if k != "nobs"}, "nobs"
            )
        },
    ),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: Refusal) -> None:
    case.check()


def test_good_constraints_pass() -> None:
    """The negative control: the constraints that the cases spoil are good."""
    for constraints in (
        lambda p: [p[0] >= 0.2],
        lambda p: (p[2] >= 0.2, p[1] <= 0.5),
        cons.known_margin({(0, 2): 0.7}),
        cons.known_margin([[1, 0, 1]], [0.7]),
        cons.bounds([0.1, 0.2, 0.3], 0.6),
    ):
        assert constrained(constraints).params.sum() == pytest.approx(1.0)
    assert constrained(cons.known_margin({(0, 2): 0.7})).params["teacher"] == pytest.approx(0.3)
