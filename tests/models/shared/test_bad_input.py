"""Malformed input: one clear error each, never a number; no traceback from the command line."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import datasets, io, planning, privacy
from ldpstats.cli.program import main
from ldpstats.estimators import ESTIMATORS
from ldpstats.estimators import constraints as cons

JOBS = ("nurse", "teacher", "driver")
KRR = ldp.KRR(JOBS, epsilon=1.0)
NUMBERED = ldp.KRR(3, epsilon=1.0)
OTHER = ldp.KRR(JOBS, epsilon=2.0)
BITS = ldp.KRAPPOR(JOBS, epsilon=1.0)
WIDE = ldp.CustomMechanism([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
COUNTS = KRR.counts([40, 33, 27])  # an estimate in the interior
ONES = BITS.counts([50, 40, 30], nobs=100)
SPEC = KRR.to_dict()


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def fitted() -> ldp.FrequencyResults:
    return ldp.FrequencyModel(COUNTS).fit()


def constrained(constraints: Any) -> ldp.FrequencyResults:
    return ldp.FrequencyModel(COUNTS).fit(constraints=constraints)


def frame(reports: list[Any], count: list[Any] | None = None) -> pd.DataFrame:
    columns = {"report": pd.Series(reports, dtype=object)}
    return pd.DataFrame(columns if count is None else columns | {"count": count})


# what is wrong, a call, and what the message must say: the argument's name comes first
API: list[tuple[str, Callable[[], Any], str]] = [
    # -- mechanisms
    ("epsilon zero", lambda: ldp.KRR(3, 0), "epsilon"),
    ("epsilon negative", lambda: ldp.KRR(3, -1.0), "epsilon"),
    ("epsilon nan", lambda: ldp.KRR(3, np.nan), "epsilon"),
    ("epsilon infinite", lambda: ldp.KRR(3, np.inf), "epsilon"),
    ("epsilon bool", lambda: ldp.KRR(3, True), "epsilon"),
    ("epsilon text", lambda: ldp.KRR(3, "1"), "epsilon"),
    ("epsilon none", lambda: ldp.KRR(3, None), "epsilon"),
    ("epsilon list", lambda: ldp.KRR(3, [1.0]), "epsilon"),
    ("epsilon complex", lambda: ldp.KRR(3, 1j), "epsilon"),
    ("epsilon beyond floats", lambda: ldp.KRR(3, 10**400), "epsilon"),
    ("warner epsilon", lambda: ldp.Warner(-0.5), "epsilon"),
    ("rappor epsilon", lambda: ldp.KRAPPOR(3, np.nan), "epsilon"),
    ("theta zero", lambda: ldp.KRAPPOR(3, 1.0, theta=0), "theta"),
    ("theta one", lambda: ldp.KRAPPOR(3, 1.0, theta=1.0), "theta"),
    ("theta nan", lambda: ldp.KRAPPOR(3, 1.0, theta=np.nan), "theta"),
    ("theta text", lambda: ldp.KRAPPOR(3, 1.0, theta="0.5"), "theta"),
    ("no truth", lambda: ldp.ForcedResponse(p_truth=0, p_yes=0.5), "p_truth"),
    ("more than one", lambda: ldp.ForcedResponse(p_truth=0.8, p_yes=0.3), "p_truth + p_yes"),
    ("forced negative", lambda: ldp.ForcedResponse(p_truth=0.5, p_yes=-0.1), "p_yes"),
    ("question never asked", lambda: ldp.UnrelatedQuestion(p=0, prevalence=0.5), "p"),
    ("prevalence", lambda: ldp.UnrelatedQuestion(p=0.5, prevalence=1.5), "prevalence"),
    ("mangat one", lambda: ldp.Mangat(p=1.0), "p"),
    ("duplicated label", lambda: ldp.KRR(("a", "b", "a"), 1.0), "categories"),
    ("labels of equal text", lambda: ldp.KRR((1, "1"), 1.0), "categories"),
    ("a set of labels", lambda: ldp.KRR({"a", "b"}, 1.0), "categories"),
    ("a dict of labels", lambda: ldp.KRR({"a": 1, "b": 2}, 1.0), "categories"),
    ("one label", lambda: ldp.KRR(("a",), 1.0), "categories"),
    ("no label", lambda: ldp.KRR((), 1.0), "categories"),
    ("one category", lambda: ldp.KRR(1, 1.0), "categories"),
    ("negative k", lambda: ldp.KRR(-3, 1.0), "categories"),
    ("fractional k", lambda: ldp.KRR(2.5, 1.0), "categories"),
    ("k beyond integers", lambda: ldp.KRR(10**30, 1.0), "categories"),
    ("a string of labels", lambda: ldp.KRR("abc", 1.0), "categories"),
    ("missing label", lambda: ldp.KRR(("a", None), 1.0), "categories"),
    ("nan label", lambda: ldp.KRR((1.0, np.nan), 1.0), "categories"),
    ("nested labels", lambda: ldp.KRR((("a",), ("b",)), 1.0), "categories"),
    ("Q rows", lambda: ldp.CustomMechanism([[0.5, 0.4], [0.5, 0.5]]), "Q[0]"),
    ("Q transposed", lambda: ldp.CustomMechanism(np.array([[0.9, 0.1], [0.5, 0.5]]).T), "Q[1]"),
    ("Q negative", lambda: ldp.CustomMechanism([[1.1, -0.1], [0.5, 0.5]]), "Q[0, 1]"),
    ("Q nan", lambda: ldp.CustomMechanism([[np.nan, 1], [0.5, 0.5]]), "Q[0, 0]"),
    ("Q a vector", lambda: ldp.CustomMechanism([0.5, 0.5]), "Q"),
    ("Q one row", lambda: ldp.CustomMechanism([[0.5, 0.5]]), "Q"),
    ("Q ragged", lambda: ldp.CustomMechanism([[0.5, 0.5], [1.0]]), "Q"),
    ("Q text", lambda: ldp.CustomMechanism([["a", "b"], ["c", "d"]]), "Q"),
    ("Q beyond floats", lambda: ldp.CustomMechanism([[10**400, 0], [0, 1]]), "Q"),
    ("too few categories", lambda: ldp.CustomMechanism(WIDE.Q, ("a",)), "categories"),
    ("too many categories", lambda: ldp.CustomMechanism(WIDE.Q, JOBS), "categories"),
    ("too few outputs", lambda: ldp.CustomMechanism(WIDE.Q, outputs=2), "outputs"),
    ("channel shares", lambda: ldp.channels.Stacked([KRR.channel()] * 2, [1.0, 1.0]), "shares"),
    # -- specifications
    ("not an object", lambda: ldp.mechanism_from_dict([1]), "specification"),
    ("no format", lambda: ldp.mechanism_from_dict({"mechanism": "KRR"}), "specification"),
    ("later version", lambda: ldp.mechanism_from_dict(SPEC | {"version": 2}), "version"),
    ("no such kind", lambda: ldp.mechanism_from_dict(SPEC | {"mechanism": "X"}), "mechanism"),
    ("another kind", lambda: ldp.Warner.from_dict(SPEC), "mechanism"),
    ("unknown field", lambda: ldp.mechanism_from_dict(SPEC | {"x": 1}), "specification"),
    (
        "missing field",
        lambda: ldp.mechanism_from_dict({k: v for k, v in SPEC.items() if k != "epsilon"}),
        "specification",
    ),
    ("null labels", lambda: ldp.mechanism_from_dict(SPEC | {"categories": None}), "categories"),
    ("null epsilon", lambda: ldp.mechanism_from_dict(SPEC | {"epsilon": None}), "epsilon"),
    # -- values
    ("unknown category", lambda: KRR.privatize(["nurse", "cook"], rng()), "values[1]"),
    ("missing answer", lambda: KRR.privatize(["nurse", None], rng()), "values[1]"),
    ("nan answer", lambda: NUMBERED.privatize([0.0, np.nan], rng()), "values[1]"),
    ("pandas missing", lambda: KRR.privatize(pd.Series(["nurse", pd.NA]), rng()), "values[1]"),
    ("code too large", lambda: NUMBERED.privatize(np.array([0, 3]), rng()), "values[1]"),
    ("code negative", lambda: NUMBERED.privatize(np.array([0, -1]), rng()), "values[1]"),
    ("fractional code", lambda: NUMBERED.privatize([0.0, 0.5], rng()), "values[1]"),
    ("text for a code", lambda: NUMBERED.privatize(["0"], rng()), "values[0]"),
    ("bool for a code", lambda: NUMBERED.privatize([True, False], rng()), "values[0]"),
    ("bool object", lambda: NUMBERED.privatize(np.array([True], dtype=object), rng()), "values[0]"),
    ("code for text", lambda: KRR.privatize([0, 1], rng()), "values[0]"),
    ("a matrix of values", lambda: NUMBERED.privatize(np.zeros((2, 2), int), rng()), "values"),
    ("a table of values", lambda: KRR.privatize(pd.DataFrame({"x": JOBS}), rng()), "values"),
    ("a set of values", lambda: KRR.privatize(set(JOBS), rng()), "values"),
    ("unhashable values", lambda: KRR.privatize([["nurse"], ["driver"]], rng()), "values"),
    ("bytes", lambda: NUMBERED.privatize(np.array([b"0"]), rng()), "values"),
    ("lists in a Series", lambda: KRR.privatize(pd.Series([["nurse"], []]), rng()), "values"),
    (
        "masked",
        lambda: NUMBERED.privatize(np.ma.masked_equal([0, 1], 1), rng()),
        "values[1]",
    ),
    ("ragged values", lambda: KRR.privatize([["nurse"], ["driver", "nurse"]], rng()), "values"),
    ("no such policy", lambda: KRR.privatize(["nurse"], rng(), missing="drop"), "missing"),
    ("a seed", lambda: KRR.privatize(["nurse"], 1), "rng"),
    ("no generator", lambda: KRR.privatize(["nurse"], None), "rng"),
    ("old generator", lambda: KRR.privatize(["nurse"], np.random.RandomState(1)), "rng"),
    ("client, unknown", lambda: KRR.client().report("cook"), "value="),
    ("client, missing", lambda: KRR.client().report(None), "value="),
    ("entropy no function", lambda: KRR.client(entropy=b"123"), "entropy"),
    ("entropy too short", lambda: KRR.client(lambda n: b"").report("nurse"), "entropy"),
    ("draw from no law", lambda: KRR.draw([0.5, 0.6, 0.2], 10, rng()), "p"),
    ("draw, wrong length", lambda: KRR.draw([0.5, 0.5], 10, rng()), "p"),
    ("draw, negative", lambda: KRR.draw([1.5, -0.5, 0.0], 10, rng()), "p"),
    ("draw nobody", lambda: KRR.draw([0.5, 0.3, 0.2], -1, rng()), "n"),
    ("draw half a person", lambda: KRR.draw([0.5, 0.3, 0.2], 1.5, rng()), "n"),
    ("draw with a seed", lambda: KRR.draw([0.5, 0.3, 0.2], 10, 1), "rng"),
    # -- counts
    ("wrong length", lambda: KRR.counts([1, 2]), "n"),
    ("negative count", lambda: KRR.counts([1, 2, -3]), "n[2]"),
    ("fractional count", lambda: KRR.counts([1, 2.5, 3]), "n[1]"),
    ("nan count", lambda: KRR.counts([1, np.nan, 3]), "n[1]"),
    ("infinite count", lambda: KRR.counts([1, np.inf, 3]), "n[1]"),
    ("count beyond exactness", lambda: KRR.counts([1, 2**62, 3]), "n[1]"),
    ("counts as text", lambda: KRR.counts(["1", "2", "3"]), "n"),
    ("counts as bools", lambda: KRR.counts([True, False, True]), "n"),
    ("counts in two rows", lambda: KRR.counts([[1, 2, 3]]), "n"),
    ("ragged counts", lambda: KRR.counts([1, [2], 3]), "n"),
    ("nobs of labels", lambda: KRR.counts([1, 2, 3], nobs=6), "nobs"),
    ("bits without nobs", lambda: BITS.counts([1, 2, 3]), "nobs"),
    ("bits above nobs", lambda: BITS.counts([1, 2, 11], nobs=10), "ones[0, 2]"),
    ("negative nobs", lambda: BITS.counts([0, 0, 0], nobs=-1), "nobs"),
    ("fractional nobs", lambda: BITS.counts([1, 2, 3], nobs=10.5), "nobs"),
    ("two nobs", lambda: BITS.counts([1, 2, 3], nobs=[10, 10]), "nobs"),
    ("other epsilon added", lambda: COUNTS + OTHER.counts([1, 2, 3]), "fingerprint"),
    ("other bits added", lambda: ONES + ldp.KRAPPOR(JOBS, 2.0).counts([1, 2, 3], 9), "fingerprint"),
    ("other counts", lambda: KRR.moments(OTHER.counts([1, 2, 3])), "counts"),
    ("bit sums of labels", lambda: KRR.privatize(["nurse"], rng()).tally(bits=True), "bits"),
    ("bit sums of counts", lambda: COUNTS.bit_counts(), "bits"),
    ("vector of bits", lambda: BITS.privatize(["nurse"], rng()).tally().vector(), "bit_counts()"),
    ("no report column", lambda: ldp.Counts.from_frame(frame([]), KRR, report="x"), "report"),
    ("no count column", lambda: ldp.Counts.from_frame(frame([]), KRR, count="x"), "count"),
    ("unknown report", lambda: ldp.Counts.from_frame(frame(["cook"]), KRR), "'report'[0]"),
    ("missing report", lambda: ldp.Counts.from_frame(frame([None]), KRR), "'report'[0]"),
    (
        "negative in table",
        lambda: ldp.Counts.from_frame(frame(["nurse"], [-1]), KRR, count="count"),
        "'count'[0]",
    ),
    (
        "fraction in table",
        lambda: ldp.Counts.from_frame(frame(["nurse"], [0.5]), KRR, count="count"),
        "'count'[0]",
    ),
    ("bits too short", lambda: ldp.Counts.from_frame(frame(["01"]), BITS), "'report'[0]"),
    ("bits as a number", lambda: ldp.Counts.from_frame(frame([110]), BITS), "'report'[0]"),
    ("bits not binary", lambda: ldp.Counts.from_frame(frame(["012"]), BITS), "'report'[0]"),
    ("no table", lambda: ldp.Counts.from_frame({"report": ["nurse"]}, KRR), "frame"),
    (
        "policy of a table",
        lambda: ldp.Counts.from_frame(frame(["nurse"]), KRR, missing="drop"),
        "missing",
    ),
    ("reports to counts", lambda: COUNTS + KRR.privatize(["nurse"], rng()), "tally()"),
    ("reports of floats", lambda: ldp.Reports([0.0], KRR), "y"),
    ("counts of floats", lambda: ldp.Counts([0], [1.0], KRR), "n"),
    ("sums of floats", lambda: ldp.BitCounts([[1.0, 2.0, 3.0]], [4], BITS), "ones"),
    ("patterns to sums", lambda: ONES + BITS.privatize(["nurse"], rng()).tally(), "bit_counts()"),
    ("missing in a Series", lambda: KRR.counts(pd.Series([np.nan], ["nurse"])), "n[0]"),
    # -- models
    ("plain numbers", lambda: ldp.FrequencyModel([1, 2, 3]), "data"),
    ("nothing", lambda: ldp.FrequencyModel([]), "data"),
    ("none", lambda: ldp.FrequencyModel(None), "data"),
    ("no report", lambda: ldp.FrequencyModel(KRR.no_counts()).fit(), "counts"),
    ("all zero", lambda: ldp.FrequencyModel(KRR.counts([0, 0, 0])).fit(), "counts"),
    ("no bits", lambda: ldp.FrequencyModel(BITS.counts([0, 0, 0], nobs=0)).fit(), "counts"),
    ("empty answers", lambda: ldp.FrequencyModel(KRR.privatize([], rng())).fit(), "counts"),
    (
        "other categories",
        lambda: ldp.FrequencyModel([COUNTS, NUMBERED.counts([1, 2, 3])]),
        "categories",
    ),
    ("candidates", lambda: ldp.FrequencyModel(COUNTS, candidates=JOBS), "candidates"),
    ("no such method", lambda: ldp.FrequencyModel(COUNTS).fit("magic"), "method"),
    ("method a class", lambda: ldp.FrequencyModel(COUNTS).fit(ESTIMATORS["mle"]), "method"),
    ("mle of bit sums", lambda: ldp.FrequencyModel(ONES).fit("mle"), "method"),
    ("em of bit sums", lambda: ldp.FrequencyModel(ONES).fit("em"), "method"),
    ("composite of labels", lambda: ldp.FrequencyModel(COUNTS).fit("composite"), "composite"),
    ("no such cov_type", lambda: ldp.FrequencyModel(COUNTS).fit(cov_type="HC3"), "cov_type"),
    (
        "fpe16 of inversion",
        lambda: ldp.FrequencyModel(COUNTS).fit("inversion", cov_type="fpe16"),
        "cov_type",
    ),
    (
        "constrained inversion",
        lambda: ldp.FrequencyModel(COUNTS).fit("inversion", constraints=lambda p: []),
        "constraints",
    ),
    (
        "contradictory constraints",
        lambda: ldp.FrequencyModel(COUNTS).fit(constraints=lambda p: [p[0] >= 0.8, p[1] >= 0.8]),
        "constraints",
    ),
    ("constraint no list", lambda: constrained(lambda p: p[0] >= 0.2), "constraints"),
    ("constraint none", lambda: constrained(lambda p: None), "constraints"),
    ("constraint a bool", lambda: constrained(lambda p: [True]), "constraints"),
    ("constraint chained", lambda: constrained(lambda p: [0 <= p[0] <= 0.2]), "truth value"),
    ("constraint position", lambda: constrained(lambda p: [p[9] >= 0]), "out of bounds"),
    ("constraint shape", lambda: constrained(lambda p: [np.ones(4) @ p == 1]), "dimensions"),
    ("constraint nan", lambda: constrained(lambda p: [p[0] >= np.nan]), "finite"),
    ("constraint fails", lambda: constrained(lambda p: [1 / 0]), "division by zero"),
    ("constraint of nothing", lambda: constrained(lambda: []), "constraints"),
    ("margin position", lambda: constrained(cons.known_margin({(0, 3): 0.5})), "margin"),
    ("margin negative", lambda: constrained(cons.known_margin({(0, -1): 0.5})), "margin"),
    ("margin no tuple", lambda: constrained(cons.known_margin({0: 0.5})), "margin"),
    ("margin label", lambda: constrained(cons.known_margin({("nurse",): 0.5})), "margin"),
    ("margin twice", lambda: constrained(cons.known_margin({(0, 0): 0.5})), "margin"),
    ("margin empty", lambda: constrained(cons.known_margin({(): 0.5})), "margin"),
    ("margin nan", lambda: constrained(cons.known_margin({(0,): np.nan})), "margin"),
    ("margin text", lambda: constrained(cons.known_margin({(0,): "half"})), "margin"),
    ("margin columns", lambda: constrained(cons.known_margin([1, 0], [0.5])), "margin"),
    ("margin values", lambda: constrained(cons.known_margin([1, 0, 0], [np.inf])), "values"),
    ("low length", lambda: constrained(cons.bounds([0.1, 0.2])), "low"),
    ("high length", lambda: constrained(cons.bounds(high=[0.5] * 4)), "high"),
    ("high nan", lambda: constrained(cons.bounds(high=np.nan)), "high"),
    ("constraint a number", lambda: ldp.FrequencyModel(COUNTS).fit(constraints=3), "constraints"),
    (
        "not identified",
        lambda: ldp.FrequencyModel(
            ldp.CustomMechanism([[0.5, 0.5], [0.5, 0.5]]).counts([5, 5])
        ).fit(),
        "rank 1",
    ),
    ("p0 sum", lambda: ldp.FrequencyModel(COUNTS).test_distribution([0.5, 0.5, 0.5]), "p0"),
    ("p0 negative", lambda: ldp.FrequencyModel(COUNTS).test_distribution([1.2, -0.2, 0]), "p0"),
    ("p0 length", lambda: ldp.FrequencyModel(COUNTS).test_distribution([0.5, 0.5]), "p0"),
    ("p0 text", lambda: ldp.FrequencyModel(COUNTS).test_distribution(["a", "b", "c"]), "p0"),
    (
        "p0 labels",
        lambda: ldp.FrequencyModel(COUNTS).test_distribution(
            pd.Series([0.5, 0.3, 0.2], index=["nurse", "teacher", "cook"])
        ),
        "p0",
    ),
    (
        "two samples, categories",
        lambda: ldp.two_sample_test(COUNTS, NUMBERED.counts([1, 2, 3])),
        "categories",
    ),
    ("two samples, method", lambda: ldp.two_sample_test(COUNTS, COUNTS, method="t"), "method"),
    (
        "two samples, pearson",
        lambda: ldp.two_sample_test(COUNTS, OTHER.counts([1, 2, 3]), method="pearson"),
        "method='wald'",
    ),
    ("two samples, numbers", lambda: ldp.two_sample_test([1, 2], [3, 4]), "data"),
    ("two samples, empty", lambda: ldp.two_sample_test(COUNTS, KRR.no_counts()), "second=0"),
    # -- results
    ("alpha zero", lambda: fitted().conf_int(0), "alpha"),
    ("alpha one", lambda: fitted().conf_int(1.0), "alpha"),
    ("alpha in percent", lambda: fitted().conf_int(95), "alpha"),
    ("alpha nan", lambda: fitted().conf_int(np.nan), "alpha"),
    ("alpha text", lambda: fitted().conf_int("0.05"), "alpha"),
    ("alpha bool", lambda: fitted().detected(True), "alpha"),
    ("alpha of a summary", lambda: fitted().summary(alpha=2), "alpha"),
    ("rows of a summary", lambda: fitted().summary(max_rows=0), "max_rows"),
    ("alpha of a plot", lambda: fitted().plot(alpha=-1), "alpha"),
    ("interval method", lambda: fitted().conf_int(method="t"), "method"),
    ("simultaneous", lambda: fitted().conf_int(simultaneous="tukey"), "simultaneous"),
    (
        "scheffe of exact",
        lambda: fitted().conf_int(method="exact", simultaneous="scheffe"),
        "simultaneous",
    ),
    (
        "exact without a form",
        lambda: ldp.FrequencyModel(WIDE.counts([5, 4, 3])).fit().conf_int(method="exact"),
        "method='wald'",
    ),
    ("profile alone", lambda: fitted().conf_int(method="profile"), "model"),
    (
        "profile, wrong model",
        lambda: fitted().conf_int(method="profile", model=COUNTS),
        "model",
    ),
    (
        "bootstrap without rng",
        lambda: fitted().conf_int(method="bootstrap", model=ldp.FrequencyModel(COUNTS)),
        "rng",
    ),
    (
        "bootstrap of one",
        lambda: fitted().conf_int(
            method="bootstrap", model=ldp.FrequencyModel(COUNTS), rng=rng(), n_boot=1
        ),
        "n_boot",
    ),
    (
        "bootstrap with a seed",
        lambda: fitted().conf_int(method="bootstrap", model=ldp.FrequencyModel(COUNTS), rng=1),
        "rng",
    ),
    ("option of no method", lambda: fitted().conf_int(method="wald", n_boot=9), "n_boot"),
    ("multiplicity", lambda: fitted().detected(method="none"), "method"),
    ("unknown label tested", lambda: fitted().t_test("nurse = cook"), "hypothesis"),
    ("broken hypothesis", lambda: fitted().t_test("nurse = = driver"), "hypothesis"),
    ("hypothesis length", lambda: fitted().t_test([1, -1]), "hypothesis"),
    ("hypothesis nan", lambda: fitted().t_test([1, np.nan, 0]), "hypothesis"),
    ("hypothesis values", lambda: fitted().t_test(([1, -1, 0], [0, 0])), "hypothesis"),
    ("hypothesis empty", lambda: fitted().t_test(""), "hypothesis"),
    ("no hypotheses", lambda: fitted().t_test([]), "hypothesis"),
    ("hypothesis of operators", lambda: fitted().t_test("= ,"), "hypothesis"),
    ("known for certain", lambda: fitted().t_test([1, 1, 1]), "hypothesis"),
    ("contradictory", lambda: fitted().wald_test("nurse = 0, nurse = 1"), "hypothesis"),
    ("against the sum", lambda: fitted().wald_test(([1, 1, 1], 2)), "hypothesis"),
    ("unknown label, difference", lambda: fitted().difference("nurse", "cook"), "second"),
    ("unknown label, ratio", lambda: fitted().ratio("cook", "nurse"), "first"),
    ("unhashable label", lambda: fitted().difference("nurse", ["driver"]), "second"),
    ("alpha of a ratio", lambda: fitted().ratio("driver", "nurse", alpha=0), "alpha"),
    ("covariance", lambda: fitted().cov_params("robust"), "cov_type"),
    ("truth, wrong labels", lambda: fitted().plot(truth=pd.Series([1.0], index=["x"])), "truth"),
    ("truth, wrong length", lambda: fitted().plot(truth=[0.5, 0.5]), "truth"),
    ("truth, text", lambda: fitted().plot(truth=["a", "b", "c"]), "truth"),
    ("results, no object", lambda: ldp.FrequencyResults.from_dict({}), "document"),
    ("results, no JSON", lambda: ldp.FrequencyResults.from_json("{"), "text"),
    (
        "results, field missing",
        lambda: ldp.FrequencyResults.from_dict(
            {k: v for k, v in fitted().to_dict().items() if k != "nobs"}
        ),
        "nobs",
    ),
    # -- planning, privacy, data
    ("compose", lambda: privacy.compose([1.0, -1.0]), "epsilons[1]"),
    ("compose a number", lambda: privacy.compose(1.0), "epsilons"),
    ("split infinity", lambda: privacy.split_budget(np.inf, [1, 1]), "total"),
    ("split by nothing", lambda: privacy.split_budget(1.0, []), "weights"),
    ("split by zero", lambda: privacy.split_budget(1.0, [1, 0]), "weights"),
    ("split by text", lambda: privacy.split_budget(1.0, ["a"]), "weights"),
    ("epsilon of no channel", lambda: privacy.epsilon([[0.5, 0.6], [0.5, 0.5]]), "Q[0]"),
    ("loss of no law", lambda: planning.krr_l2([0.5, 0.6], 1.0, 100), "p"),
    ("loss of nobody", lambda: planning.krr_l2([0.5, 0.5], 1.0, 0), "n"),
    ("loss of no mechanism", lambda: planning.expected_loss(None, [0.5, 0.5], 9), "mechanism"),
    ("no designs", lambda: planning.recommend_design(8, 100, 1.0, mechanisms=None), "mechanisms"),
    ("half closed", lambda: planning.recommend_design(8, 100, 1.0, closed="x"), "closed"),
    ("lasso of text", lambda: ESTIMATORS["lasso"](false_selections="x"), "false_selections"),
    ("no such column", lambda: datasets.expand(datasets.load_gss(), "n"), "count"),
]


@pytest.mark.parametrize(("call", "says"), [case[1:] for case in API], ids=[c[0] for c in API])
def test_the_api_refuses(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(ldp.LDPError) as caught:
        call()
    message = str(caught.value)
    assert says in message
    assert "\n" not in message and len(message) < 400
    assert ": " in message or "; " in message  # what is wrong, then what to do


# -- the command line ------------------------------------------------------------------------------


class Folder:
    """Good files to spoil, and one bad file of each kind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spec = self.text("spec.json", json.dumps(SPEC))
        self.bit_spec = self.text("bits.json", json.dumps(BITS.to_dict()))
        self.answers = self.text("answers.csv", "id,job\n1,nurse\n2,driver\n")
        self.reports = self.text("reports.csv", "report\nnurse\nnurse\ndriver\n")
        self.out = str(path / "out.csv")

    def text(self, name: str, text: str) -> str:
        return self.data(name, text.encode())

    def data(self, name: str, data: bytes) -> str:
        file = self.path / name
        file.write_bytes(data)
        return str(file)

    def parquet(self, name: str = "reports.parquet", mechanism: ldp.Mechanism = KRR) -> str:
        file = self.path / name
        io.write_reports(mechanism.privatize(JOBS * 50, rng()), file)
        return str(file)

    def column(self, name: str, values: Any) -> str:
        file = self.path / name
        pd.DataFrame({"report": values}).to_parquet(file)
        return str(file)

    def fit(self, *more: str, reports: str | None = None, spec: str | None = None) -> list[str]:
        return ["fit", reports or self.reports, "--spec", spec or self.spec, *more]

    def fit_csv(self, text: str, *more: str) -> list[str]:
        return self.fit(*more, reports=self.text("bad.csv", text))

    def spec_of(self, **fields: Any) -> list[str]:
        return ["audit", self.text("bad.json", json.dumps(SPEC | fields))]

    def privatize(self, *more: str, answers: str | None = None, column: str = "job") -> list[str]:
        spec = [] if "--mechanism" in more else ["--spec", self.spec]
        return ["privatize", answers or self.answers, self.out, "--column", column, *spec, *more]

    def make(self, mechanism: str, *more: str) -> list[str]:
        made = ["--mechanism", mechanism, *more, "--write-spec", str(self.path / "new.json")]
        return self.privatize(*made)


# what is wrong, the arguments, and what the message must say
COMMANDS: list[tuple[str, Callable[[Folder], list[str]], str]] = [
    # -- arguments
    ("no command", lambda f: [], "COMMAND"),
    ("no such command", lambda f: ["guess"], "guess"),
    ("no such option", lambda f: f.fit("--magic"), "--magic"),
    ("abbreviated option", lambda f: f.fit("--meth", "mle"), "--meth"),
    ("no specification", lambda f: ["fit", f.reports], "--spec"),
    ("no such method", lambda f: f.fit("--method", "magic"), "method"),
    ("alpha two", lambda f: f.fit("--alpha", "2"), "alpha"),
    ("alpha zero", lambda f: f.fit("--alpha", "0"), "alpha"),
    ("alpha negative", lambda f: f.fit("--alpha", "-0.05"), "alpha"),
    ("alpha nan", lambda f: f.fit("--alpha", "nan"), "alpha"),
    ("alpha a word", lambda f: f.fit("--alpha", "five"), "--alpha"),
    ("no rows", lambda f: f.fit("--max-rows", "0"), "max_rows"),
    ("policy for missing", lambda f: f.fit("--missing", "drop"), "--missing"),
    ("bits of labels", lambda f: f.fit("--bits"), "bits"),
    ("plot of no format", lambda f: f.fit("--plot", "figure.docx"), "plot"),
    ("reports are counts", lambda f: f.fit("--count", "report"), "count"),
    ("na is a label", lambda f: f.fit("--na", "nurse"), "na"),
    ("json over the input", lambda f: f.fit("--json", f.reports, "--force"), "twice"),
    ("json exists", lambda f: f.fit("--json", f.answers), "exists"),
    ("plot in no folder", lambda f: f.fit("--plot", "/nowhere/at/all/plot.png"), "written"),
    # -- files
    ("missing file", lambda f: f.fit(reports=f"{f.path}/none.csv"), "no such file"),
    ("a folder", lambda f: f.fit(reports=str(f.path)), "known format"),
    (
        "a folder called csv",
        lambda f: (Path(f.path, "d.csv").mkdir(), f.fit(reports=f"{f.path}/d.csv"))[1],
        "directory",
    ),
    ("unknown suffix", lambda f: f.fit(reports=f.text("r.xlsx", "report")), ".parquet"),
    ("empty file", lambda f: f.fit_csv(""), "empty"),
    ("only a header", lambda f: f.fit_csv("report\n"), "no report"),
    ("no header", lambda f: f.fit_csv("nurse\ndriver\n"), "column"),
    ("wrong column", lambda f: f.fit("--column", "answer"), "answer"),
    ("column twice", lambda f: f.fit_csv("report,report\nnurse,nurse\n"), "more than one"),
    ("semicolons", lambda f: f.fit_csv("id;report\n1;nurse\n"), "column"),
    ("row too long", lambda f: f.fit_csv("report\nnurse\nnurse,driver\n"), "row 2"),
    ("row too short", lambda f: f.fit_csv("id,report\n1,nurse\n2\n"), "row 2"),
    ("open quote", lambda f: f.fit_csv('report\n"nurse\ndriver\n'), "CSV"),
    ("text after quote", lambda f: f.fit_csv('report\n"nurse"x\n'), "CSV"),
    ("latin-1", lambda f: f.fit(reports=f.data("l.csv", b"report\ncaf\xe9\n")), "UTF-8"),
    ("latin-1 header", lambda f: f.fit(reports=f.data("l.csv", b"caf\xe9\nnurse\n")), "UTF-8"),
    (
        "utf-16",
        lambda f: f.fit(reports=f.data("u.csv", "report\nnurse\n".encode("utf-16"))),
        "UTF-8",
    ),
    ("binary", lambda f: f.fit(reports=f.data("b.csv", bytes(range(256)))), "UTF-8"),
    ("not gzip", lambda f: f.fit(reports=f.data("r.csv.gz", b"report\nnurse\n")), "cannot be read"),
    (
        "cut gzip",
        lambda f: f.fit(reports=f.data("r.csv.gz", gzip.compress(b"report\nnurse\n" * 99)[:-9])),
        "cannot be read",
    ),
    ("not parquet", lambda f: f.fit(reports=f.data("r.parquet", b"report\n")), "cannot be read"),
    ("empty parquet", lambda f: f.fit(reports=f.data("r.parquet", b"")), "cannot be read"),
    (
        "cut parquet",
        lambda f: f.fit(reports=f.data("c.parquet", Path(f.parquet()).read_bytes()[:-20])),
        "cannot be read",
    ),
    (
        "damaged parquet",
        lambda f: f.fit(reports=f.data("c.parquet", spoiled(Path(f.parquet()).read_bytes()))),
        "cannot be read",
    ),
    # -- reports
    ("unknown report", lambda f: f.fit_csv("report\nnurse\ncook\n"), "row 2"),
    ("space in a report", lambda f: f.fit_csv("report\nnurse \n"), "row 1"),
    ("missing report", lambda f: f.fit_csv("report\nnurse\n\n"), "row 2"),
    ("NA is no label", lambda f: f.fit_csv("report\nnurse\nNA\n"), "'NA'"),
    ("None is no label", lambda f: f.fit_csv("report\nnurse\nNone\n"), "'None'"),
    ("all missing", lambda f: f.fit_csv("id,report\n1,\n", "--missing", "count"), "no report"),
    ("no such count", lambda f: f.fit("--count", "n"), "'n'"),
    ("negative count", lambda f: f.fit_csv("report,n\nnurse,-1\n", "--count", "n"), "row 1"),
    ("fractional count", lambda f: f.fit_csv("report,n\nnurse,0.5\n", "--count", "n"), "row 1"),
    ("missing count", lambda f: f.fit_csv("report,n\nnurse,\n", "--count", "n"), "row 1"),
    ("count a word", lambda f: f.fit_csv("report,n\nnurse,ten\n", "--count", "n"), "row 1"),
    ("count too long", lambda f: f.fit_csv(f"report,n\nnurse,{10**30}\n", "--count", "n"), "row 1"),
    ("counts of zero", lambda f: f.fit_csv("report,n\nnurse,0\n", "--count", "n"), "no report"),
    ("bits too short", lambda f: f.fit(reports=bit_csv(f, "01"), spec=f.bit_spec), "row 2"),
    ("bits not binary", lambda f: f.fit(reports=bit_csv(f, "01x"), spec=f.bit_spec), "row 2"),
    (
        "mle of bit sums",
        lambda f: f.fit("--bits", "--method", "mle", reports=bit_csv(f, "011"), spec=f.bit_spec),
        "inversion",
    ),
    ("composite of labels", lambda f: f.fit("--method", "composite"), "composite"),
    ("other parquet", lambda f: f.fit(reports=f.parquet("o.parquet", OTHER)), "fingerprint"),
    ("parquet of lists", lambda f: f.fit(reports=f.column("l.parquet", [["nurse"]])), "list"),
    (
        "parquet of dates",
        lambda f: f.fit(reports=f.column("d.parquet", pd.to_datetime(["2020-01-01"]))),
        "timestamp",
    ),
    ("parquet of numbers", lambda f: f.fit(reports=f.column("n.parquet", [0, 1])), "row 1"),
    (
        "parquet with a null",
        lambda f: f.fit(reports=f.column("n.parquet", ["nurse", None])),
        "row 2",
    ),
    # -- specifications
    ("spec missing", lambda f: ["audit", f"{f.path}/none.json"], "no such file"),
    ("spec a folder", lambda f: ["audit", str(f.path)], "directory"),
    ("spec empty", lambda f: ["audit", f.text("bad.json", "")], "bad.json"),
    ("spec no JSON", lambda f: ["audit", f.text("bad.json", "epsilon: 1")], "bad.json"),
    ("spec latin-1", lambda f: ["audit", f.data("bad.json", b'{"\xe9": 1}')], "UTF-8"),
    ("spec a list", lambda f: ["audit", f.text("bad.json", "[1]")], "specification"),
    ("spec too deep", lambda f: ["audit", f.text("bad.json", "[" * 100_000)], "bad.json"),
    ("spec repeats", lambda f: ["audit", f.text("bad.json", '{"a": 1, "a": 2}')], "repeats"),
    ("spec version", lambda f: f.spec_of(version=9), "version"),
    ("spec kind", lambda f: f.spec_of(mechanism="Oracle"), "mechanism"),
    ("spec field", lambda f: f.spec_of(delta=1e-6), "epsilon"),
    ("spec epsilon", lambda f: f.spec_of(epsilon=-1), "epsilon"),
    ("spec epsilon nan", lambda f: f.spec_of(epsilon=float("nan")), "epsilon"),
    ("spec epsilon huge", lambda f: f.spec_of(epsilon=10**400), "bad.json"),
    ("spec labels", lambda f: f.spec_of(categories=["a", "a"]), "categories"),
    (
        "spec rows",
        lambda f: f.spec_of(mechanism="CustomMechanism", Q=[[1, 1], [0, 1]], outputs=2),
        "bad.json",
    ),
    # -- privatize
    ("answers missing", lambda f: f.privatize(answers=f"{f.path}/none.csv"), "no such file"),
    ("answers, wrong column", lambda f: f.privatize(column="work"), "work"),
    ("unknown answer", lambda f: f.privatize(answers=f.text("a.csv", "job\ncook\n")), "row 1"),
    ("missing answer", lambda f: f.privatize(answers=f.text("a.csv", "job\nnurse\n\n")), "row 2"),
    ("no answer", lambda f: f.privatize(answers=f.text("a.csv", "job\n")), "no answer"),
    ("empty answers", lambda f: f.privatize(answers=f.text("a.csv", "")), "empty"),
    ("ragged answers", lambda f: f.privatize(answers=f.text("a.csv", "job\na,b\n")), "row 1"),
    ("latin-1 answers", lambda f: f.privatize(answers=f.data("a.csv", b"job\n\xe9\n")), "UTF-8"),
    ("true answers kept", lambda f: f.privatize("--keep", "job"), "keep"),
    ("kept column missing", lambda f: f.privatize("--keep", "sex"), "sex"),
    ("output exists", lambda f: [*f.privatize()[:2], f.reports, *f.privatize()[3:]], "exists"),
    ("output is input", lambda f: [*f.privatize()[:2], f.answers, *f.privatize()[3:]], "twice"),
    ("output format", lambda f: [*f.privatize()[:2], "out.sav", *f.privatize()[3:]], "out.sav"),
    ("output nowhere", lambda f: [*f.privatize()[:2], "/no/o.csv", *f.privatize()[3:]], "written"),
    ("neither spec nor kind", lambda f: [*f.privatize()[:5]], "--spec"),
    ("both spec and kind", lambda f: [*f.privatize(), "--mechanism", "krr"], "--mechanism"),
    ("no place for the spec", lambda f: f.privatize("--mechanism", "warner"), "--write-spec"),
    ("no such kind", lambda f: f.make("oracle"), "oracle"),
    ("kind without epsilon", lambda f: f.make("krr", "--categories", "a,b"), "--epsilon"),
    ("kind without labels", lambda f: f.make("krr", "--epsilon", "1"), "--categories"),
    ("kind with theta", lambda f: f.make("warner", "--epsilon", "1", "--theta", ".5"), "--theta"),
    ("epsilon a word", lambda f: f.make("warner", "--epsilon", "one"), "--epsilon"),
    ("epsilon infinite", lambda f: f.make("warner", "--epsilon", "inf"), "epsilon"),
    (
        "labels twice",
        lambda f: f.make("krr", "--epsilon", "1", "--categories", "a,a"),
        "categories",
    ),
    ("no labels", lambda f: f.make("krr", "--epsilon", "1", "--categories", ""), "categories"),
    (
        "labels, open quote",
        lambda f: f.make("krr", "--epsilon", "1", "--categories", 'a,"b'),
        "--categories",
    ),
    (
        "empty label",
        lambda f: f.make("krr", "--epsilon", "1", "--categories", "nurse,driver,"),
        "Parquet",
    ),
]


def spoiled(data: bytes) -> bytes:
    """Bytes of a Parquet file with the first page overwritten."""
    return data[:4] + bytes(60) + data[64:]


def bit_csv(folder: Folder, second: str) -> str:
    return folder.text("bits.csv", f"report\n010\n{second}\n")


@pytest.mark.parametrize(
    ("arguments", "says"), [case[1:] for case in COMMANDS], ids=[c[0] for c in COMMANDS]
)
def test_the_command_line_refuses(
    arguments: Callable[[Folder], list[str]],
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = arguments(Folder(tmp_path))
    before = {path: path.stat().st_size for path in tmp_path.iterdir()}
    status = main(argv)
    out, err = capsys.readouterr()
    assert status == 2
    assert out == ""
    assert err.startswith("ldpstats: error: ") and err.count("\n") == 1 and err.endswith("\n")
    assert says in err
    assert "Traceback" not in err
    # nothing was written, not even in part
    assert {path: path.stat().st_size for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["latin-1", "cut parquet", "alpha two", "unknown answer"])
def test_the_program_itself_refuses(name: str, tmp_path: Path) -> None:
    arguments = {case[0]: case[1] for case in COMMANDS}[name](Folder(tmp_path))
    ran = subprocess.run(
        [sys.executable, "-m", "ldpstats.cli", *arguments], capture_output=True, text=True
    )
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("ldpstats: error: ") and ran.stderr.count("\n") == 1


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


def test_good_input_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The negative control: the files that the cases spoil are good."""
    folder = Folder(tmp_path)
    assert main(folder.fit()) == 0
    assert main(folder.fit(reports=folder.parquet())) == 0
    assert main(folder.fit(reports=bit_csv(folder, "011"), spec=folder.bit_spec)) == 0
    assert main(folder.privatize()) == 0
    assert main(folder.spec_of()) == 0
    assert capsys.readouterr().err == ""


def test_there_are_enough_cases() -> None:
    names = [case[0] for case in API] + [f"command: {case[0]}" for case in COMMANDS]
    assert len(set(names)) == len(names) >= 60
