"""Input of joint models: each error names the argument, and what looks odd is good."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.refusals import refuses, said

import ldpstats as ldp
from ldpstats.estimators import Lasso

Model, Joint = ldp.AssociationModel, ldp.JointCounts

N = 240

ABC, YES, WORDS = ("a", "b", "c"), ("no", "yes"), ("apple", "pear", "plum")

KRR, KR2 = ldp.KRR(ABC, epsilon=2.0), ldp.KRR(YES, epsilon=2.0)

UNARY = ldp.KRAPPOR(ABC, epsilon=2.0)

BLOOM = ldp.RAPPOR(16, 2, 4, f=0.0, p=0.25, q=0.75)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def reports(mechanism: Any, values: Any, seed: int = 1, n: int = N) -> ldp.Reports:
    g = rng(seed)
    return mechanism.privatize(pd.Index(values).take(g.integers(0, len(values), n)), g)


X, Y, Z = reports(KRR, ABC), reports(KR2, YES, 2), reports(KR2, YES, 3)

U = reports(UNARY, ABC, 4)

B, B2 = reports(BLOOM, WORDS, 5), reports(BLOOM, WORDS, 6)

MISSING = KRR.privatize(["a", None, *["b"] * N], rng(), missing="count")

IDS = np.arange(N)


def fitted(*data: Any, method: Any = None, **how: Any) -> ldp.AssociationResults:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Model(*data, **how).fit(method)


def redrawn(*data: Any, **how: Any) -> ldp.TestResult:
    """The test that simulates surveys, which is the model's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Model(*data, **how)
        return model.test_independence(model.fit(), "bootstrap", rng=rng())


def two() -> ldp.AssociationResults:
    return fitted(X, Y, names=("job", "late"))


SHORT = reports(KR2, YES, 2, N - 40)

NONE = ldp.Reports(np.empty(0, dtype=np.int64), KRR)

NONE2 = ldp.Reports(np.empty(0, dtype=np.int64), KR2)

OTHERED = reports(ldp.KRR(("a", "b", "Other"), epsilon=2.0), ("a", "b", "Other"))

HASHED = reports(ldp.ORR(3, 3, epsilon=2.0, alphabet=ABC), ABC)

UNEQUAL = reports(
    ldp.CustomMechanism([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.3, 0.1, 0.6]], ABC), ABC
)

FLAT = ldp.Reports(np.arange(N) % 2, ldp.CustomMechanism([[0.5, 0.5], [0.5, 0.5]]))

TALL = ldp.Reports(np.arange(N) % 2, ldp.CustomMechanism([[0.8, 0.2], [0.2, 0.8], [0.5, 0.5]]))

FEW_BITS = reports(ldp.RAPPOR(2, 1, 1, f=0.0, p=0.25, q=0.75), WORDS)

BAD = [
    # -- reports
    *refuses(
        "reports=",
        lambda v: Model(*v),
        {
            "lengths": said((X, SHORT), "240, 200", "as many"),
            "one variable": said((X,), "1 var", "FrequencyModel"),
            "none": said((), "0 var", "two or more"),
            "counts": said((X.tally(), Y), "reports=Counts", "pass the reports"),
            "codes": said((X.y, Y.y), "reports=array", "must be Reports"),
            "counts beside reports": said((Joint([X, Y]), Z), "reports=JointCounts", "must be Rep"),
            "empty lists": ([], []),
            "missing answers": said(
                (MISSING, ldp.Reports(np.zeros(N + 1, dtype=int), KR2)), "n_missing [1, 0]", "ids="
            ),
            "groups": said(([X, X], [Y]), "reports=[2, 1]", "same groups"),
            "group and reports": said(([X, X], Y), "reports=[2, 1]"),
            "lengths in a group": said(([X, X], [Y, SHORT]), "240, 200"),
            "groups of other variables": said(([Joint([X, Y]), Joint([X, Y, Z])],), "same var"),
        },
    ),
    *refuses("", lambda v: fitted(*v), {"no report": said((NONE, NONE2), "=0", "no report")}),
    *refuses(
        "",
        lambda v: Model(*v),
        {
            "groups of other categories": said(
                ([X, Y], [Y, X]), "different categories", "same order"
            )
        },
        ldp.MechanismMismatch,
    ),
    # -- identifiers
    *refuses(
        "ids",
        lambda v: Model(X, Y, ids=v),
        {
            "order": said((IDS, IDS[::-1]), "ids[1][0]", "239", "merging"),
            "numbers and text": said((IDS, IDS.astype(str)), "'0'", "merging"),
            "repeated": said(([0, *IDS[:-1]],) * 2, "ids[0]", "0", "more than once"),
            "missing": said(([None, *IDS[1:]], IDS), "missing", "identifier"),
            "short": said((IDS[1:], IDS[1:]), "239", "must be 240"),
            "one column": said((IDS,), "1 col", "needs 2"),
            "no identifiers": said(True, "ids=True"),
        },
    ),
    *refuses(
        "ids=",
        lambda v: Model([X, X], [Y, Y], ids=v),
        {"ids of groups": said((IDS, IDS), "one group", "JointCounts")},
    ),
    *refuses("ids=", lambda v: Model(v, ids=(IDS, IDS)), {"ids beside counts": Joint([X, Y])}),
    *refuses("n=", lambda v: Joint([X, Y], n=v), {"n short": said([1, 2], "240")}),
    *refuses(
        "n", lambda v: Joint([X, Y], n=np.full(N, v)), {"n negative": -1, "n fractional": 0.5}
    ),
    # -- candidates
    *refuses(
        "candidates",
        lambda v: Model(X, Y, candidates=v),
        {"no such category": said([("a", "zz"), None], "'zz'", "not among")},
        ldp.UnknownCategory,
    ),
    *refuses(
        "candidates",
        lambda v: Model(X, Y, candidates=v),
        {
            "one category left": said([("a",), None], "candidates=['a']", "fewer than two"),
            "too many lists": said([None] * 3, "each of ['x', 'y']"),
            "text for categories": said(["ab", None], "candidates='ab'"),
            "a set of categories": said([{"a", "b"}, None], "candidates={"),
            "no such variable": said({"q": ABC}, "candidates=['q']", "['x', 'y']"),
            "category twice": said([("a", "a"), None], "'a'", "distinct"),
        },
    ),
    *refuses(
        "candidates",
        lambda v: Model(B, Y, candidates=v),
        {
            "one candidate": said([("apple",), None], "candidates=['apple']", "fewer than two"),
            "candidate twice": said([("apple", "apple"), None], "candidates='apple'", "distinct"),
            "a number of candidates": said([2, None], "candidates=2", "list"),
            "numbers for words": said([(1, 2), None], "candidates[0]=1", "string"),
        },
    ),
    *refuses(
        "candidates",
        lambda v: Model(X, Y, candidates=v, other=True),
        {"every category and Other": said([ABC, None], "all categories", "leave other= out")},
    ),
    *refuses(
        "candidates=",
        lambda v: Model(B, B2, candidates=v),
        {"one list of three": said(WORDS, "each of ['x', 'y']")},
    ),
    *refuses(
        "",
        lambda v: Model(*v),
        {"open alphabet": said((B, Y), "open alphabet", "candidates=")},
        ldp.NotAvailable,
    ),
    # -- Other
    *refuses(
        "other=",
        lambda v: Model(X, Y, candidates=[("a",), None], other=v),
        {
            "no such treatment": said("fold", "other='fold'", "'lump'"),
            "product of labels": said(("product", False), "other='product'", "use True"),
            "too few treatments": said([True], "other=[True]", "each of ['x', 'y']"),
            "a number": said(1, "other=1"),
        },
    ),
    *refuses(
        "other='lump'",
        lambda v: Model(B, Y, candidates=[WORDS, None], other=v),
        {"lump of hashes": said("lump", "'product'")},
    ),
    *refuses(
        "candidates=None",
        lambda v: Model(B, Y, other=v),
        {"Other than what": said(True, "what Other is not")},
    ),
    *refuses(
        "",
        lambda v: Model(OTHERED, Y, candidates=v, other=True),
        {"a category named Other": said([("a", "Other"), None], "'Other'")},
    ),
    *refuses(
        "",
        lambda v: Model(UNEQUAL, Y, candidates=[("a",), None], other=v),
        {"unequal categories": said(True, "'b' and 'c'", "keep")},
        ldp.NotAvailable,
    ),
    # -- names and fits
    *refuses(
        "names=",
        lambda v: Model(X, Y, names=v),
        {
            "names repeat": said(("p", "p"), "names=('p', 'p')", "2 different"),
            "a text of names": said("pq", "names='pq'"),
            "numbers": said((1, 2), "names=1", "text"),
        },
    ),
    *refuses(
        "method=",
        lambda v: fitted(X, Y, method=v),
        {
            "no such method": said("best", "method='best'", "'mle'"),
            "selection": said("lasso", "method='lasso'"),
            "selection object": said(Lasso(), "one variable"),
        },
    ),
    *refuses(
        "cov_type=",
        lambda v: Model(X, Y).fit(*v),
        {
            "covariance": said(("mle", "HC0"), "cov_type='HC0'", "'default'"),
            "fpe16 of moments": said(("inversion", "fpe16"), "cov_type='fpe16'", "likelihood"),
        },
    ),
    *refuses(
        "",
        lambda v: fitted(v, Y),
        {
            "reports that say nothing": said(FLAT, "rank 1", "merge"),
            "fewer outputs than categories": said(TALL, "rank 2", "merge"),
        },
        ldp.NotIdentified,
    ),
    *refuses(
        "",
        lambda v: fitted(v, Y, candidates=[WORDS, None], names=("word", "late")),
        {"more candidates than bits": said(FEW_BITS, "word", "bits", "merge")},
        ldp.NotIdentified,
    ),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    case.check()


def test_remedies_for_hashes_over_an_alphabet_do_not_contradict_each_other():
    with pytest.raises(ldp.NotAvailable, match="candidates=None") as caught:
        Model(HASHED, Y, candidates=[("a", "b"), None], other=True)
    assert "product" not in str(caught.value)
    # so this must work
    assert Model(HASHED, Y).sizes == (3, 2)


def three() -> ldp.AssociationResults:
    return fitted(X, Y, Z)


def redrawn_input(rng: np.random.Generator, **how: Any) -> ldp.TestResult:
    """The test that simulates surveys, which is the model's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ldp.AssociationModel(B, Y, **how)
        return model.test_independence(model.fit(), "bootstrap", rng=rng)


THREE = (
    ("pearson", lambda r: r.test_independence("pearson")),
    ("trend", lambda r: r.test_trend()),
    ("odds", lambda r: r.odds_ratio(("a", "b"), YES)),
    ("risk", lambda r: r.risk_difference(("a", "b"), "no")),
    ("cramer", lambda r: r.cramers_v()),
    ("conditional", lambda r: r.conditional()),
    ("plot", lambda r: r.plot("departures")),
)

QUESTIONS = [
    *refuses(
        "",
        lambda how: two().test_independence(**how),
        {
            "no such test": said({"method": "best"}, "method='best'", "'score'"),
            "bootstrap without rng": said({"method": "bootstrap"}, "rng=None", "default_rng"),
            "a seed to permute": said({"rng": 1, "n_permutations": 9}, "rng=1", "default_rng"),
            "no permutation": said({"n_permutations": 0, "rng": rng()}, "n_permutations=0", "at"),
            "permutations of wald": said(
                {"method": "wald", "n_permutations": 9, "rng": rng()}, "n_permutations=9", "'score'"
            ),
            "no survey": said(
                {"method": "bootstrap", "n_boot": 0, "rng": rng()}, "n_boot=0", "at least 1"
            ),
        },
    ),
    *refuses(
        "",
        lambda how: redrawn_input(rng(), **how),
        {
            "bootstrap of a list": said({"candidates": [WORDS, None]}, "not known", "'score'"),
            "bootstrap of modelled Other": said(
                {"candidates": [WORDS[:2], None], "other": True}, "method='score'"
            ),
        },
        ldp.NotAvailable,
    ),
    *refuses(
        "",
        lambda ask: ask(),
        {
            "pearson of bits": said(
                lambda: fitted(U, Y).test_independence("pearson"), "labels", "method='score'"
            ),
            "two given one": said(
                lambda: two().test_conditional_independence("job"), "three variables"
            ),
            "weak cells": said(lambda: three().test_homogeneity("z"), "cells", "merge"),
        },
        ldp.NotAvailable,
    ),
    *refuses(
        "",
        lambda ask: ask(),
        {
            "given what": said(
                lambda: three().test_conditional_independence("q"), "given='q'", "'x', 'y', 'z'"
            ),
            "by what": said(lambda: three().test_homogeneity("q"), "by='q'"),
            "scores of too few": said(lambda: two().test_trend([1, 2], [1, 2]), "3 scores"),
            "scores all equal": said(lambda: two().test_trend([1, 1, 1], [1, 2]), "differ"),
            "no such row": said(
                lambda: two().odds_ratio(("a", "q"), YES), "'q'", "job", "['a', 'b', 'c']"
            ),
            "no such column": said(
                lambda: two().risk_difference(("a", "b"), "maybe"), "'maybe'", "late"
            ),
            "one row": said(lambda: two().odds_ratio(("a",), YES), "rows=", "two"),
            "the same row": said(lambda: two().odds_ratio(("a", "a"), YES), "rows=", "different"),
            "rows as text": said(lambda: two().risk_ratio("ab", "no"), "rows='ab'", "two"),
            "alpha": said(lambda: two().odds_ratio(("a", "b"), YES, alpha=1.0), "alpha=1.0"),
            "on what": said(lambda: two().conditional("q"), "on='q'", "'job', 'late'"),
            "interval": said(lambda: two().conf_int(method="exact"), "method='exact'", "'wald'"),
            "level": said(lambda: two().conf_int(alpha=5), "alpha=5", "0.05"),
            "rows of the summary": said(lambda: two().summary(max_rows=0), "max_rows=0"),
            "plot": said(lambda: two().plot(kind="bar"), "kind='bar'", "'heatmap'"),
            "hypothesis": said(lambda: two().t_test("a:maybe = 0"), "hypothesis="),
            "no JSON": said(lambda: ldp.AssociationResults.from_json("{"), "text=", "JSON"),
            "JSON of one variable": said(
                lambda: ldp.AssociationResults.from_json(ldp.FrequencyModel(X).fit().to_json()),
                "document",
                "format",
            ),
        },
    ),
    # -- of two variables, not three
    *refuses(
        "",
        lambda ask: ask(three()),
        {f"{name} of three": said(ask, "two variables") for name, ask in THREE},
        ldp.NotAvailable,
    ),
]


@pytest.mark.parametrize("case", QUESTIONS)
def test_bad_questions_are_refused(case):
    case.check()


def test_identifiers_restore_missing_answers():
    kept = ldp.Reports(MISSING.y, KRR, n_missing=1)
    other = ldp.Reports(np.zeros(N + 1, dtype=np.int64), KR2)
    ids = np.arange(N + 1)
    assert Model(kept, other, ids=(ids, ids)).nobs == N + 1


# -- thin and degenerate data ------------------------------------------------------------------
def one(mechanism: Any, value: str) -> ldp.Reports:
    return mechanism.privatize([value], rng())


@pytest.mark.parametrize(
    ("method", "mechanism", "value", "candidates"),
    [("mle", KRR, "a", None), ("em", UNARY, "a", None), ("inversion", BLOOM, "apple", WORDS)],
    ids=["krr", "unary", "bloom"],
)
def test_one_respondent(method, mechanism, value, candidates):
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
def test_all_reports_identical(first):
    same = {
        "labels": ldp.Reports(np.zeros(50, dtype=np.int64), KRR),
        "bits": ldp.Reports(np.full((50, 1), 5, dtype=np.uint8), UNARY),
    }[first]
    results = fitted(same, ldp.Reports(np.zeros(50, dtype=np.int64), KR2))
    assert results.independence is None
    for method in ("score", "pearson") if first == "labels" else ("score",):
        with pytest.raises(ldp.NotIdentified, match="do not vary"):
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
def test_one_reports_object_for_two_variables(arrange):
    """Its noise is in both variables: independence would always be rejected."""
    x = ldp.Reports(rng(3).integers(0, 2, 300), KR2)
    with pytest.raises(ldp.InvalidArgument, match=r"reports\[1\]=.*same object as reports\[0\]"):
        ldp.AssociationModel(*arrange(x))
    again = ldp.Reports(x.y.copy(), KR2)  # equal answers are no error
    assert ldp.AssociationModel(x, again).nobs == 300


def test_category_never_reported():
    x = ldp.Reports(rng(3).integers(0, 2, 300), KRR)
    y = ldp.Reports(rng(4).integers(0, 2, 300), KR2)
    results = fitted(x, y)
    assert results.table.loc["c"].max() <= 1e-6
    test = results.test_independence()
    assert test.df == 1
    assert "never seen" in test.note
    assert results.test_independence("pearson").statistic == pytest.approx(test.statistic)
    assert np.isfinite(results.bse).all()


def test_labels_with_colons_are_not_mixed_up():
    x = reports(ldp.KRR(("a:b", "a"), epsilon=2.0), ("a:b", "a"))
    y = reports(ldp.KRR(("c", "b:c"), epsilon=2.0), ("c", "b:c"), 2)
    results = fitted(x, y)
    assert results.terms.tolist().count("a:b:c") == 2
    # two cells have this name: it must not stand for one of them
    with pytest.raises(ldp.InvalidArgument, match="hypothesis"):
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
def test_odd_labels(labels, term):
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


def test_large_tables_have_effects_and_covariances():
    results = large()
    assert results.linear.covariance.factors is not None  # no matrix of 2,116 rows
    assert not results.conf_int().isna().any().any()
    for table in (results.departures(), results.conditional().iloc[:, :1], results.cov_params()):
        assert np.isfinite(table.to_numpy()).all()
    assert results.cramers_v().upper > 0.5
    for method in ("wald", "fpe16"):
        with pytest.raises(ldp.NotAvailable, match="score"):
            results.test_independence(method)


def test_large_tables_without_covariances_say_what_to_do():
    g, krr = rng(), ldp.KRR(13, epsilon=5.0)
    reports = (krr.privatize(g.integers(0, 13, 400), g) for _ in range(3))
    with pytest.raises(ldp.NotAvailable) as caught:
        fitted(*reports, method="inversion").cov_params()
    # neither of these exists for joint tables
    assert "lasso" not in str(caught.value)
    assert "bootstrap" not in str(caught.value)
