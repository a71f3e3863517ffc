"""Malformed input of models of frequencies and their results: each error names the argument."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.refusals import Refusal, said

import ldpstats as ldp
from ldpstats import InvalidArgument, LDPError, MechanismMismatch, NotAvailable, NotIdentified
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


FITTED, WIDELY = MODEL.fit(), ldp.FrequencyModel(WIDE.counts([5, 4, 3])).fit()


def fit(counts: Any, method: Any = None, **how: Any) -> ldp.FrequencyResults:
    return ldp.FrequencyModel(counts).fit(method, **how)


def constrained(constraints: Any, method: Any = None) -> ldp.FrequencyResults:
    return MODEL.fit(method, constraints=constraints)


def bootstrap(**how: Any) -> pd.DataFrame:
    return FITTED.conf_int(method="bootstrap", model=MODEL, **how)


def margin(*given: Any) -> ldp.FrequencyResults:
    return constrained(cons.known_margin(*given))


# how the error begins, words that it says, and the call
BAD: list[tuple[str, str, Callable[[], Any]]] = [
    # -- models
    ("data", "", lambda: ldp.FrequencyModel([1, 2, 3])),
    ("data", "", lambda: ldp.FrequencyModel([])),
    ("counts", "", lambda: fit(KRR.no_counts())),
    ("counts", "", lambda: fit(BITS.counts([0, 0, 0], nobs=0))),
    ("counts", "", lambda: fit(KRR.privatize([], np.random.default_rng(1)))),
    ("method", "", lambda: MODEL.fit("magic")),
    ("method", "", lambda: MODEL.fit(ESTIMATORS["mle"])),
    ("cov_type", "", lambda: MODEL.fit(cov_type="HC3")),
    ("cov_type", "", lambda: MODEL.fit("inversion", cov_type="fpe16")),
    ("constraints", "", lambda: constrained(lambda p: [], "inversion")),
    ("constraints", "", lambda: constrained(lambda p: [p[0] >= 0.8, p[1] >= 0.8])),
    ("constraints", "", lambda: constrained(3)),
    ("constraints", "", lambda: constrained(lambda p: p[0] >= 0.2)),
    ("constraints", "", lambda: constrained(lambda p: [True])),
    ("", "truth value", lambda: constrained(lambda p: [0 <= p[0] <= 0.2])),
    ("", "out of bounds", lambda: constrained(lambda p: [p[9] >= 0])),
    ("", "finite", lambda: constrained(lambda p: [p[0] >= np.nan])),
    ("", "division by zero", lambda: constrained(lambda p: [1 / 0])),
    ("margin", "", lambda: margin({(0, 3): 0.5})),
    ("margin", "", lambda: margin({0: 0.5})),
    ("margin", "", lambda: margin({(0, 0): 0.5})),
    ("margin", "", lambda: margin({(0,): np.nan})),
    ("margin", "", lambda: margin([1, 0], [0.5])),
    ("values", "", lambda: margin([1, 0, 0], [np.inf])),
    ("low", "", lambda: constrained(cons.bounds([0.1, 0.2]))),
    ("high", "", lambda: constrained(cons.bounds(high=np.nan))),
    ("p0", "", lambda: MODEL.test_distribution([0.5, 0.5, 0.5])),
    ("p0", "", lambda: MODEL.test_distribution([0.5, 0.5])),
    ("p0", "", lambda: MODEL.test_distribution(pd.Series([0.7, 0.3], index=["nurse", "cook"]))),
    ("method", "", lambda: ldp.two_sample_test(COUNTS, COUNTS, method="t")),
    ("data", "", lambda: ldp.two_sample_test([1, 2], [3, 4])),
    ("second=", "second=0", lambda: ldp.two_sample_test(COUNTS, KRR.no_counts())),
    # -- results
    ("alpha", "", lambda: FITTED.conf_int(1.0)),
    ("alpha", "", lambda: FITTED.conf_int(95)),
    ("alpha", "", lambda: FITTED.plot(alpha=-1)),
    ("max_rows", "", lambda: FITTED.summary(max_rows=0)),
    ("method", "", lambda: FITTED.conf_int(method="t")),
    ("simultaneous", "", lambda: FITTED.conf_int(simultaneous="tukey")),
    ("simultaneous", "", lambda: FITTED.conf_int(method="exact", simultaneous="scheffe")),
    ("model", "", lambda: FITTED.conf_int(method="profile")),
    ("model", "", lambda: FITTED.conf_int(method="profile", model=COUNTS)),
    ("rng", "", lambda: bootstrap(rng=None)),
    ("n_boot", "", lambda: bootstrap(rng=np.random.default_rng(1), n_boot=1)),
    ("n_boot", "", lambda: FITTED.conf_int(method="wald", n_boot=9)),
    ("method", "", lambda: FITTED.detected(method="none")),
    ("hypothesis", "", lambda: FITTED.t_test("nurse = cook")),
    ("hypothesis", "", lambda: FITTED.t_test([1, -1])),
    ("hypothesis", "", lambda: FITTED.t_test(([1, -1, 0], [0, 0]))),
    ("hypothesis", "", lambda: FITTED.t_test([1, 1, 1])),  # known for certain
    ("hypothesis", "", lambda: FITTED.wald_test("nurse = 0, nurse = 1")),
    ("hypothesis", "", lambda: FITTED.wald_test(([1, 1, 1], 2))),
    ("second", "", lambda: FITTED.difference("nurse", "cook")),
    ("second", "", lambda: FITTED.difference("nurse", ["driver"])),
    ("first", "", lambda: FITTED.ratio("cook", "nurse")),
    ("second", "", lambda: FITTED.ratio("nurse", [])),
    ("second", "", lambda: FITTED.ratio("nurse", ["nurse", "nurse"])),
    ("cov_type", "", lambda: FITTED.cov_params("robust")),
    ("truth", "", lambda: FITTED.plot(truth=pd.Series([1.0], index=["x"]))),
    ("document", "", lambda: ldp.FrequencyResults.from_dict({})),
    ("text", "", lambda: ldp.FrequencyResults.from_json("{")),
    ("", "nobs", lambda: ldp.FrequencyResults.from_dict(FITTED.to_dict() | {"nobs": "many"})),
]
OTHERWISE: list[tuple[type[LDPError], str, str, Callable[[], Any]]] = [
    (MechanismMismatch, "", "categories", lambda: fit([COUNTS, NUMBERED.counts([1, 2, 3])])),
    (NotAvailable, "candidates", "", lambda: ldp.FrequencyModel(COUNTS, candidates=JOBS)),
    (NotAvailable, "", "method", lambda: fit(ONES, "mle")),
    (NotAvailable, "", "composite", lambda: fit(COUNTS, "composite")),
    (NotIdentified, "", "rank 1", lambda: fit(FLAT.counts([5, 5]))),
    (
        NotAvailable,
        "",
        "method='wald'",
        lambda: ldp.two_sample_test(COUNTS, OTHER.counts([1, 2, 3]), method="pearson"),
    ),
    (
        NotAvailable,
        "",
        "method='wald'",
        lambda: fit(WIDE.counts([5, 4, 3])).conf_int(method="exact"),
    ),
]


@pytest.mark.parametrize(("field", "words", "call"), BAD)
def test_bad_input_is_refused(field, words, call):
    Refusal(field, lambda _: call(), said(None, words), InvalidArgument).check()


@pytest.mark.parametrize(("kind", "field", "words", "call"), OTHERWISE)
def test_what_is_not_available_is_named(kind, field, words, call):
    Refusal(field, lambda _: call(), said(None, words), kind).check()


def test_good_constraints_pass():
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
