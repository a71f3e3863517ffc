"""Input of joint models that looks odd and is good: identifiers, labels, thin and large tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.association_reports import (
    BLOOM,
    IDS,
    KR2,
    KRR,
    MISSING,
    UNARY,
    WORDS,
    YES,
    Model,
    N,
    X,
    Y,
    fitted,
    reports,
    rng,
)

import ldpstats as ldp
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified


def test_identifiers_restore_missing_answers() -> None:
    kept = ldp.Reports(MISSING.y, KRR, n_missing=1)
    other = ldp.Reports(np.zeros(N + 1, dtype=np.int64), KR2)
    ids = np.arange(N + 1)
    assert Model(kept, other, ids=(ids, ids)).nobs == N + 1


def test_identifiers_of_any_kind() -> None:
    text = pd.Series([f"person {i}" for i in IDS], index=IDS[::-1])
    for ids in (text, text.astype("category"), text.to_numpy(), list(text)):
        assert Model(X, Y, ids=(ids, text)).nobs == N
    assert Model(X, Y, ids=(IDS, IDS.astype(float))).nobs == N


# -- thin and degenerate data ------------------------------------------------------------------


def one(mechanism: Any, value: str) -> ldp.Reports:
    return mechanism.privatize([value], rng())  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("method", "mechanism", "value", "candidates"),
    [("mle", KRR, "a", None), ("em", UNARY, "a", None), ("inversion", BLOOM, "apple", WORDS)],
    ids=["krr", "unary", "bloom"],
)
def test_one_respondent(method: str, mechanism: Any, value: str, candidates: Any) -> None:
    results = fitted(
        one(mechanism, value), one(KR2, "no"), candidates=[candidates, None], method=method
    )
    assert results.nobs == 1
    assert np.isfinite(results.fitted.estimate).all()
    str(results.summary())
    results.conf_int()
    results.conditional()
    results.margins()
    ldp.AssociationResults.from_json(results.to_json())


@pytest.mark.parametrize("first", ["labels", "bits"])
def test_all_reports_identical(first: str) -> None:
    same = {
        "labels": ldp.Reports(np.zeros(50, dtype=np.int64), KRR),
        "bits": ldp.Reports(np.full((50, 1), 5, dtype=np.uint8), UNARY),
    }[first]
    results = fitted(same, ldp.Reports(np.zeros(50, dtype=np.int64), KR2))
    assert results.independence is None
    for method in ("score", "pearson") if first == "labels" else ("score",):
        with pytest.raises(NotIdentified, match="do not vary"):
            results.test_independence(method)
    assert np.isfinite(results.linear_bse).all()
    str(results.summary())
    results.conf_int()
    results.conditional()
    odds = results.odds_ratio(("a", "b"), YES)
    assert (odds.lower, odds.upper) == (0.0, np.inf)  # a column that may be empty


@pytest.mark.parametrize(
    "arrange", [lambda x: (x, x), lambda x: ([x], [x]), lambda x: (ldp.JointCounts((x, x)),)]
)
def test_one_reports_object_for_two_variables(arrange: Any) -> None:
    """Its noise is in both variables: independence would always be rejected."""
    x = ldp.Reports(rng(3).integers(0, 2, 300), KR2)
    with pytest.raises(InvalidArgument, match=r"reports\[1\]=.*same object as reports\[0\]"):
        ldp.AssociationModel(*arrange(x))
    again = ldp.Reports(x.y.copy(), KR2)  # equal answers are no error
    assert ldp.AssociationModel(x, again).nobs == 300


def test_category_never_reported() -> None:
    x = ldp.Reports(rng(3).integers(0, 2, 300), KRR)
    y = ldp.Reports(rng(4).integers(0, 2, 300), KR2)
    results = fitted(x, y)
    assert results.table.loc["c"].max() <= 1e-6
    test = results.test_independence()
    assert test.df == 1
    assert "never seen" in test.note
    assert results.test_independence("pearson").statistic == pytest.approx(test.statistic)
    assert np.isfinite(results.bse).all()


def test_labels_with_colons_are_not_mixed_up() -> None:
    x = reports(ldp.KRR(("a:b", "a"), epsilon=2.0), ("a:b", "a"))
    y = reports(ldp.KRR(("c", "b:c"), epsilon=2.0), ("c", "b:c"), 2)
    results = fitted(x, y)
    assert results.terms.tolist().count("a:b:c") == 2
    # two cells have this name: it must not stand for one of them
    with pytest.raises(InvalidArgument, match="hypothesis"):
        results.t_test("p[a:b:c] = 0.25")


@pytest.mark.parametrize(
    ("labels", "term"),
    [
        (("very good", "not, so = good"), "p[very good:no]"),
        ((10, 20), "p[10:no]"),
        ((1.5, 2.5), "p[1.5:no]"),
        ((True, False), "p[True:no]"),
        (pd.Categorical(["lo", "hi"], categories=["hi", "lo"], ordered=True), "p[hi:no]"),
    ],
)
def test_odd_labels(labels: Any, term: str) -> None:
    mechanism = ldp.KRR(labels, epsilon=2.0)
    x = reports(mechanism, list(mechanism.categories))
    results = fitted(x, Y, names=("how well?", "late: yes"))
    assert results.table.index.tolist() == list(mechanism.categories)
    assert results.table.index.name == "how well?"
    frequency = float(results.t_test(f"{term} = 0").effect[0])
    assert frequency == pytest.approx(float(results.linear_table.iloc[0, 0]))
    str(results.summary())
    again = ldp.AssociationResults.from_json(results.to_json())
    pd.testing.assert_frame_equal(again.table, results.table)
    for frame in (results.conditional("late: yes"), results.summary_frame()):
        assert len(frame) == 4


# -- large tables ------------------------------------------------------------------------------


def large() -> ldp.AssociationResults:
    k, g = 46, rng()
    krr = ldp.KRR(k, epsilon=5.0)
    values = g.integers(0, k, 4000)
    return fitted(krr.privatize(values, g), krr.privatize((values * 7) % k, g), method="inversion")


def test_large_tables_have_effects_and_covariances() -> None:
    results = large()
    assert results.linear.covariance.factors is not None  # no matrix of 2,116 rows
    assert not results.conf_int().isna().any().any()
    for table in (results.departures(), results.conditional().iloc[:, :1], results.cov_params()):
        assert np.isfinite(table.to_numpy()).all()
    assert results.cramers_v().upper > 0.5
    results.plot("departures")
    for method in ("wald", "fpe16"):
        with pytest.raises(NotAvailable, match="score"):
            results.test_independence(method)


def test_large_tables_without_covariances_say_what_to_do() -> None:
    g, krr = rng(), ldp.KRR(13, epsilon=5.0)
    reports = (krr.privatize(g.integers(0, 13, 400), g) for _ in range(3))
    with pytest.raises(NotAvailable) as caught:
        fitted(*reports, method="inversion").cov_params()
    # neither of these exists for joint tables
    assert "lasso" not in str(caught.value)
    assert "bootstrap" not in str(caught.value)
