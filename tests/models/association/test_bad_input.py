"""Malformed input of joint models: each error names the argument, the value and the remedy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import (
    InvalidArgument,
    LDPError,
    MechanismMismatch,
    NotAvailable,
    NotIdentified,
    UnknownCategory,
)
from ldpstats.estimators.lasso import Lasso

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
    return mechanism.privatize(pd.Index(values).take(g.integers(0, len(values), n)), g)  # type: ignore[no-any-return]


X, Y, Z = reports(KRR, ABC), reports(KR2, YES, 2), reports(KR2, YES, 3)
U = reports(UNARY, ABC, 4)
B, B2 = reports(BLOOM, WORDS, 5), reports(BLOOM, WORDS, 6)
SHORT = reports(KR2, YES, 2, N - 40)
MISSING = KRR.privatize(["a", None, *["b"] * N], rng(), missing="count")
IDS = np.arange(N)
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


def fitted(*data: Any, method: Any = None, **how: Any) -> ldp.AssociationResults:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Model(*data, **how).fit(method)


def two() -> ldp.AssociationResults:
    return fitted(X, Y, names=("job", "late"))


def three() -> ldp.AssociationResults:
    return fitted(X, Y, Z)


def shuffled(ids: Any) -> Any:
    return rng().permutation(ids)


Case = tuple[str, Callable[[], Any], type[Exception], tuple[str, ...]]

# what is wrong, a call, the error, and what the message must say: argument, value, remedy
CASES: list[Case] = [
    # -- reports
    ("lengths", lambda: Model(X, SHORT), InvalidArgument, ("reports=", "240, 200", "as many")),
    ("one variable", lambda: Model(X), InvalidArgument, ("reports=", "1 var", "FrequencyModel")),
    ("none", lambda: Model(), InvalidArgument, ("reports=", "0 var", "two or more")),
    ("one of each", lambda: Model([X, Y]), InvalidArgument, ("reports=", "1 var", "two or more")),
    (
        "counts",
        lambda: Model(X.tally(), Y),
        InvalidArgument,
        ("reports=Counts", "pass the reports"),
    ),
    (
        "bit counts",
        lambda: Model(X, U.tally(bits=True)),
        InvalidArgument,
        ("reports=BitCounts", "pass the reports"),
    ),
    ("codes", lambda: Model(X.y, Y.y), InvalidArgument, ("reports=array", "must be Reports")),
    ("mechanisms", lambda: Model(KRR, KR2), InvalidArgument, ("reports=KRR", "must be Reports")),
    ("nothing", lambda: Model(X, None), InvalidArgument, ("reports=None", "must be Reports")),
    ("text", lambda: Model("x", "y"), InvalidArgument, ("reports='x'", "must be Reports")),
    (
        "counts beside reports",
        lambda: Model(Joint([X, Y]), Z),
        InvalidArgument,
        ("reports=JointCounts", "must be Reports"),
    ),
    ("no report", lambda: fitted(NONE, NONE2), InvalidArgument, ("=0", "no report")),
    (
        "counts of zero",
        lambda: fitted(Joint([X, Y], np.zeros(N, dtype=int))),
        InvalidArgument,
        ("=0", "no report"),
    ),
    ("empty list", lambda: Model([]), InvalidArgument, ("reports=",)),
    ("empty lists", lambda: Model([], []), InvalidArgument, ("reports=",)),
    (
        "missing answers",
        lambda: Model(MISSING, ldp.Reports(np.zeros(N + 1, dtype=int), KR2)),
        InvalidArgument,
        ("reports=", "n_missing [1, 0]", "ids="),
    ),
    # -- groups
    ("groups", lambda: Model([X, X], [Y]), InvalidArgument, ("reports=[2, 1]", "same groups")),
    ("group and reports", lambda: Model([X, X], Y), InvalidArgument, ("reports=[2, 1]",)),
    (
        "lengths in a group",
        lambda: Model([X, X], [Y, SHORT]),
        InvalidArgument,
        ("reports=", "240, 200"),
    ),
    (
        "groups of other variables",
        lambda: Model([Joint([X, Y]), Joint([X, Y, Z])]),
        InvalidArgument,
        ("reports=", "same variables"),
    ),
    (
        "groups of other categories",
        lambda: Model([X, Y], [Y, X]),
        MechanismMismatch,
        ("different categories", "same order"),
    ),
    # -- identifiers
    (
        "order",
        lambda: Model(X, Y, ids=(IDS, IDS[::-1])),
        InvalidArgument,
        ("ids[1][0]", "239", "merging"),
    ),
    (
        "another person",
        lambda: Model(X, Y, ids=(IDS, np.append(IDS[:-1], 999))),
        InvalidArgument,
        ("ids[1][239]", "999", "merging"),
    ),
    (
        "repeated",
        lambda: Model(X, Y, ids=([0, *IDS[:-1]],) * 2),
        InvalidArgument,
        ("ids[0]", "0", "more than once"),
    ),
    (
        "repeated in the second",
        lambda: Model(X, Y, ids=(IDS, [0, *IDS[:-1]])),
        InvalidArgument,
        ("ids[1]", "0", "more than once"),
    ),
    (
        "missing",
        lambda: Model(X, Y, ids=([None, *IDS[1:]], IDS)),
        InvalidArgument,
        ("ids[0]", "missing", "identifier"),
    ),
    (
        "short",
        lambda: Model(X, Y, ids=(IDS[1:], IDS[1:])),
        InvalidArgument,
        ("ids[0]", "239", "must be 240"),
    ),
    ("one column", lambda: Model(X, Y, ids=(IDS,)), InvalidArgument, ("ids=", "1 col", "needs 2")),
    ("a flat column", lambda: Model(X, Y, ids=IDS), InvalidArgument, ("ids=", "needs 2")),
    (
        "numbers and text",
        lambda: Model(X, Y, ids=(IDS, IDS.astype(str))),
        InvalidArgument,
        ("ids[1][0]", "'0'", "merging"),
    ),
    ("no identifiers", lambda: Model(X, Y, ids=True), InvalidArgument, ("ids=True",)),
    (
        "ids of groups",
        lambda: Model([X, X], [Y, Y], ids=(IDS, IDS)),
        InvalidArgument,
        ("ids=", "one group", "JointCounts"),
    ),
    (
        "ids beside counts",
        lambda: Model(Joint([X, Y]), ids=(IDS, IDS[::-1])),
        InvalidArgument,
        ("ids=",),
    ),
    (
        "ids beside groups of counts",
        lambda: Model([Joint([X, Y]), Joint([X, Y])], ids=(IDS, IDS[::-1])),
        InvalidArgument,
        ("ids=",),
    ),
    # -- counts of combinations
    ("n short", lambda: Joint([X, Y], n=[1, 2]), InvalidArgument, ("n=", "240")),
    ("n negative", lambda: Joint([X, Y], n=np.full(N, -1)), InvalidArgument, ("n",)),
    ("n fractional", lambda: Joint([X, Y], n=np.full(N, 0.5)), InvalidArgument, ("n",)),
    # -- candidates
    (
        "no such category",
        lambda: Model(X, Y, candidates=[("a", "zz"), None]),
        UnknownCategory,
        ("candidates", "'zz'", "not among"),
    ),
    (
        "one category left",
        lambda: Model(X, Y, candidates=[("a",), None]),
        InvalidArgument,
        ("candidates=['a']", "fewer than two"),
    ),
    (
        "no category left",
        lambda: Model(X, Y, candidates=[(), None]),
        InvalidArgument,
        ("candidates",),
    ),
    (
        "no candidate",
        lambda: Model(B, Y, candidates=[(), None]),
        InvalidArgument,
        ("candidates=[]", "at least 1"),
    ),
    (
        "one candidate",
        lambda: Model(B, Y, candidates=[("apple",), None]),
        InvalidArgument,
        ("candidates=['apple']", "fewer than two"),
    ),
    (
        "category twice",
        lambda: Model(X, Y, candidates=[("a", "a"), None]),
        InvalidArgument,
        ("candidates", "'a'", "distinct"),
    ),
    (
        "candidate twice",
        lambda: Model(B, Y, candidates=[("apple", "apple"), None]),
        InvalidArgument,
        ("candidates='apple'", "distinct"),
    ),
    (
        "every category and Other",
        lambda: Model(X, Y, candidates=[ABC, None], other=True),
        InvalidArgument,
        ("candidates", "all categories", "leave other= out"),
    ),
    (
        "too few lists",
        lambda: Model(B, B2, candidates=[WORDS]),
        InvalidArgument,
        ("candidates=", "each of ['x', 'y']"),
    ),
    (
        "too many lists",
        lambda: Model(X, Y, candidates=[None] * 3),
        InvalidArgument,
        ("candidates=", "each of ['x', 'y']"),
    ),
    (
        "one list of three",
        lambda: Model(B, B2, candidates=WORDS),
        InvalidArgument,
        ("candidates=", "each of ['x', 'y']"),
    ),
    (
        "text",
        lambda: Model(B, B2, candidates="apple"),
        InvalidArgument,
        ("candidates='apple'", "each of ['x', 'y']"),
    ),
    (
        "text for a list",
        lambda: Model(B, Y, candidates=["apple", None]),
        InvalidArgument,
        ("candidates='apple'", "list"),
    ),
    (
        "text for categories",
        lambda: Model(X, Y, candidates=["ab", None]),
        InvalidArgument,
        ("candidates='ab'",),
    ),
    (
        "a number for categories",
        lambda: Model(X, Y, candidates=[2, None]),
        InvalidArgument,
        ("candidates=2",),
    ),
    (
        "a number of candidates",
        lambda: Model(B, Y, candidates=[2, None]),
        InvalidArgument,
        ("candidates=2", "list"),
    ),
    (
        "a set of categories",
        lambda: Model(X, Y, candidates=[{"a", "b"}, None]),
        InvalidArgument,
        ("candidates={",),
    ),
    (
        "numbers for words",
        lambda: Model(B, Y, candidates=[(1, 2), None]),
        InvalidArgument,
        ("candidates[0]=1", "string"),
    ),
    (
        "no such variable",
        lambda: Model(X, Y, candidates={"q": ABC}),
        InvalidArgument,
        ("candidates=['q']", "['x', 'y']"),
    ),
    ("open alphabet", lambda: Model(B, Y), NotAvailable, ("open alphabet", "candidates=")),
    # -- Other
    (
        "no such treatment",
        lambda: Model(X, Y, candidates=[("a",), None], other="fold"),
        InvalidArgument,
        ("other='fold'", "'lump'"),
    ),
    (
        "lump of hashes",
        lambda: Model(B, Y, candidates=[WORDS, None], other="lump"),
        InvalidArgument,
        ("other='lump'", "'product'"),
    ),
    (
        "product of labels",
        lambda: Model(X, Y, candidates=[("a",), None], other=("product", False)),
        InvalidArgument,
        ("other='product'", "use True"),
    ),
    (
        "Other than what",
        lambda: Model(B, Y, other=True),
        InvalidArgument,
        ("candidates=None", "what Other is not"),
    ),
    (
        "lump of nothing",
        lambda: Model(X, Y, other="lump"),
        InvalidArgument,
        ("candidates=None", "what Other is not"),
    ),
    (
        "too few treatments",
        lambda: Model(X, Y, candidates=[("a",), None], other=[True]),
        InvalidArgument,
        ("other=[True]", "each of ['x', 'y']"),
    ),
    (
        "other by an unknown name",
        lambda: Model(X, Y, candidates=[("a",), None], other={"q": True}),
        InvalidArgument,
        ("other=['q']", "['x', 'y']"),
    ),
    (
        "a number",
        lambda: Model(X, Y, candidates=[("a",), None], other=1),
        InvalidArgument,
        ("other=1",),
    ),
    (
        "a category named Other",
        lambda: Model(OTHERED, Y, candidates=[("a", "Other"), None], other=True),
        InvalidArgument,
        ("'Other'",),
    ),
    (
        "a candidate named Other",
        lambda: Model(B, Y, candidates=[("apple", "Other"), None], other=True),
        InvalidArgument,
        ("'Other'", "other=True"),
    ),
    (
        "unequal categories",
        lambda: Model(UNEQUAL, Y, candidates=[("a",), None], other=True),
        NotAvailable,
        ("'b' and 'c'", "keep"),
    ),
    # -- names
    (
        "names repeat",
        lambda: Model(X, Y, names=("p", "p")),
        InvalidArgument,
        ("names=('p', 'p')", "2 different"),
    ),
    ("one name", lambda: Model(X, Y, names=("p",)), InvalidArgument, ("names=('p',)", "2 diff")),
    ("a text of names", lambda: Model(X, Y, names="pq"), InvalidArgument, ("names='pq'",)),
    ("numbers", lambda: Model(X, Y, names=(1, 2)), InvalidArgument, ("names=1", "text")),
    ("an empty name", lambda: Model(X, Y, names=("", "q")), InvalidArgument, ("names=''",)),
    # -- fit
    (
        "no such method",
        lambda: fitted(X, Y, method="best"),
        InvalidArgument,
        ("method='best'", "'mle'"),
    ),
    ("selection", lambda: fitted(X, Y, method="lasso"), InvalidArgument, ("method='lasso'",)),
    (
        "selection object",
        lambda: fitted(X, Y, method=Lasso()),
        InvalidArgument,
        ("method=", "one variable"),
    ),
    ("a number", lambda: fitted(X, Y, method=3), InvalidArgument, ("method=3",)),
    (
        "covariance",
        lambda: Model(X, Y).fit(cov_type="HC0"),
        InvalidArgument,
        ("cov_type='HC0'", "'default'"),
    ),
    (
        "fpe16 of moments",
        lambda: Model(X, Y).fit("inversion", "fpe16"),
        InvalidArgument,
        ("cov_type='fpe16'", "likelihood"),
    ),
    (
        "fpe16 of the dual",
        lambda: Model(X, Y).fit("one_step", "fpe16"),
        InvalidArgument,
        ("cov_type='fpe16'", "likelihood"),
    ),
    (
        "gls of candidates",
        lambda: fitted(B, Y, candidates=[WORDS, None], method="moments-gls"),
        NotAvailable,
        ("moments-gls", "all listed"),
    ),
    # -- rank
    ("reports that say nothing", lambda: fitted(FLAT, Y), NotIdentified, ("rank 1", "merge")),
    ("fewer outputs than categories", lambda: fitted(TALL, Y), NotIdentified, ("rank 2", "merge")),
    (
        "more candidates than bits",
        lambda: fitted(FEW_BITS, Y, candidates=[WORDS, None], names=("word", "late")),
        NotIdentified,
        ("word", "bits", "merge"),
    ),
    # -- tests
    (
        "no such test",
        lambda: two().test_independence("best"),
        InvalidArgument,
        ("method='best'", "'score'"),
    ),
    (
        "bootstrap without rng",
        lambda: two().test_independence("bootstrap"),
        InvalidArgument,
        ("rng=None", "default_rng"),
    ),
    (
        "permutations without rng",
        lambda: two().test_independence(n_permutations=9),
        InvalidArgument,
        ("rng=None", "default_rng"),
    ),
    (
        "a seed for rng",
        lambda: two().test_independence("bootstrap", rng=1, n_boot=3),
        InvalidArgument,
        ("rng=1", "default_rng"),
    ),
    (
        "a seed to permute",
        lambda: two().test_independence(rng=1, n_permutations=9),
        InvalidArgument,
        ("rng=1", "default_rng"),
    ),
    (
        "a seed that is not needed",
        lambda: two().test_independence(rng="x"),
        InvalidArgument,
        ("rng='x'", "default_rng"),
    ),
    (
        "no permutation",
        lambda: two().test_independence(n_permutations=0, rng=rng()),
        InvalidArgument,
        ("n_permutations=0", "at least 1"),
    ),
    (
        "permutations of wald",
        lambda: two().test_independence("wald", n_permutations=9, rng=rng()),
        InvalidArgument,
        ("n_permutations=9", "'score'"),
    ),
    (
        "no survey",
        lambda: two().test_independence("bootstrap", n_boot=0, rng=rng()),
        InvalidArgument,
        ("n_boot=0", "at least 1"),
    ),
    (
        "bootstrap of a list",
        lambda: fitted(B, Y, candidates=[WORDS, None]).test_independence("bootstrap", rng=rng()),
        NotAvailable,
        ("not known", "method='score'"),
    ),
    (
        "bootstrap of modelled Other",
        lambda: fitted(B, Y, candidates=[WORDS[:2], None], other=True).test_independence(
            "bootstrap", rng=rng()
        ),
        NotAvailable,
        ("method='score'",),
    ),
    (
        "pearson of bits",
        lambda: fitted(U, Y).test_independence("pearson"),
        NotAvailable,
        ("labels", "method='score'"),
    ),
    (
        "pearson of three",
        lambda: three().test_independence("pearson"),
        NotAvailable,
        ("two variables", "method='score'"),
    ),
    (
        "wald of three",
        lambda: three().test_independence("wald"),
        NotAvailable,
        ("two variables", "method='score'"),
    ),
    (
        "given what",
        lambda: three().test_conditional_independence("q"),
        InvalidArgument,
        ("given='q'", "'x', 'y', 'z'"),
    ),
    ("by what", lambda: three().test_homogeneity("q"), InvalidArgument, ("by='q'",)),
    (
        "two given one",
        lambda: two().test_conditional_independence("job"),
        NotAvailable,
        ("three variables",),
    ),
    ("weak cells", lambda: three().test_homogeneity("z"), NotAvailable, ("cells", "merge")),
    ("scores of too few", lambda: two().test_trend([1, 2], [1, 2]), InvalidArgument, ("3 scores",)),
    (
        "scores of text",
        lambda: two().test_trend(["lo", "mid", "hi"], [1, 2]),
        InvalidArgument,
        ("scores",),
    ),
    ("scores all equal", lambda: two().test_trend([1, 1, 1], [1, 2]), InvalidArgument, ("differ",)),
    ("trend of three", lambda: three().test_trend(), NotAvailable, ("two variables",)),
    # -- effects
    (
        "no such row",
        lambda: two().odds_ratio(("a", "q"), YES),
        InvalidArgument,
        ("'q'", "job", "['a', 'b', 'c']"),
    ),
    (
        "no such column",
        lambda: two().risk_difference(("a", "b"), "maybe"),
        InvalidArgument,
        ("'maybe'", "late", "['no', 'yes']"),
    ),
    ("one row", lambda: two().odds_ratio(("a",), YES), InvalidArgument, ("rows=", "two")),
    ("rows as text", lambda: two().risk_ratio("ab", "no"), InvalidArgument, ("rows='ab'", "two")),
    (
        "the same row",
        lambda: two().odds_ratio(("a", "a"), YES),
        InvalidArgument,
        ("rows=", "different"),
    ),
    ("columns", lambda: two().odds_ratio(("a", "b"), ("no",)), InvalidArgument, ("columns=",)),
    (
        "alpha",
        lambda: two().odds_ratio(("a", "b"), YES, alpha=1.0),
        InvalidArgument,
        ("alpha=1.0", "0.05"),
    ),
    (
        "odds of three",
        lambda: three().odds_ratio(("a", "b"), YES),
        NotAvailable,
        ("two variables", "there are 3"),
    ),
    (
        "risk of three",
        lambda: three().risk_difference(("a", "b"), "no"),
        NotAvailable,
        ("two variables",),
    ),
    ("cramer of three", lambda: three().cramers_v(), NotAvailable, ("two variables",)),
    ("conditional of three", lambda: three().conditional(), NotAvailable, ("two variables",)),
    ("plot of three", lambda: three().plot(), NotAvailable, ("two variables",)),
    ("on what", lambda: two().conditional("q"), InvalidArgument, ("on='q'", "'job', 'late'")),
    (
        "on an axis",
        lambda: two().conditional(0),
        InvalidArgument,  # type: ignore[arg-type]
        ("on=0", "'job', 'late'"),
    ),
    # -- results
    (
        "interval",
        lambda: two().conf_int(method="exact"),
        InvalidArgument,
        ("method='exact'", "'wald'"),
    ),
    ("level", lambda: two().conf_int(alpha=5), InvalidArgument, ("alpha=5", "0.05")),
    ("level of margins", lambda: two().margins(alpha=0), InvalidArgument, ("alpha=0", "0.05")),
    ("rows of the summary", lambda: two().summary(max_rows=0), InvalidArgument, ("max_rows=0",)),
    ("plot", lambda: two().plot(kind="bar"), InvalidArgument, ("kind='bar'", "'heatmap'")),
    ("hypothesis", lambda: two().t_test("a:maybe = 0"), InvalidArgument, ("hypothesis=",)),
    ("no JSON", lambda: ldp.AssociationResults.from_json("{"), InvalidArgument, ("text=", "JSON")),
    ("other JSON", lambda: ldp.AssociationResults.from_json("[]"), InvalidArgument, ("document",)),
    (
        "JSON of one variable",
        lambda: ldp.AssociationResults.from_json(ldp.FrequencyModel(X).fit().to_json()),
        InvalidArgument,
        ("document", "format"),
    ),
    (
        "fields of JSON",
        lambda: ldp.AssociationResults.from_dict(
            {k: v for k, v in two().to_dict().items() if k != "names"}
        ),
        InvalidArgument,
        ("names",),
    ),
]


@pytest.mark.parametrize(
    ("call", "kind", "says"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_error(call: Callable[[], Any], kind: type[Exception], says: tuple[str, ...]) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, LDPError)
    for words in says:
        assert words in str(caught.value)


@pytest.mark.parametrize("method", ["mle", "em", "one_step", "inversion", "projected"])
@pytest.mark.parametrize("reports", [FLAT, TALL], ids=["flat", "tall"])
def test_rank_deficiency_is_refused_by_every_method(method: str, reports: ldp.Reports) -> None:
    with pytest.raises(NotIdentified, match="rank"):
        Model(reports, Y).fit(method)


def test_methods_that_do_not_exist_for_tables_are_not_offered() -> None:
    # whatever is in the list of names must not fail on the plainest table
    with pytest.raises(InvalidArgument) as caught:
        Model(X, Y).fit("no such method")
    for name in ("nnls", "composite"):
        if f"'{name}'" in str(caught.value):
            try:
                Model(U, U).fit(name)
            except LDPError as error:
                pytest.fail(f"{name} is offered and then refused: {error}")


def test_remedies_for_hashes_over_an_alphabet_do_not_contradict_each_other() -> None:
    with pytest.raises(NotAvailable, match="candidates=None") as caught:
        Model(HASHED, Y, candidates=[("a", "b"), None], other=True)
    assert "product" not in str(caught.value)
    # so this must work
    assert Model(HASHED, Y).sizes == (3, 2)


def test_error_about_a_candidate_named_other_without_other() -> None:
    # other= was not passed, so it is not what is wrong; the categories are fine
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Model(OTHERED, Y, candidates=[("a", "Other"), None])
    assert model.sizes == (2, 2)


def test_listing_every_category_is_no_error() -> None:
    # nothing is left out, whatever the order
    model = Model(X, Y, candidates=[("c", "a", "b"), None])
    assert model.fit("inversion").table.index.tolist() == ["a", "b", "c"]


def test_numpy_booleans_are_booleans() -> None:
    model = Model(X, Y, candidates=[("a",), None], other=np.True_)
    assert model.sizes == (2, 2)


def test_labels_may_come_in_an_index() -> None:
    results = two()
    expected = results.odds_ratio(("a", "b"), YES)
    assert results.odds_ratio(pd.Index(["a", "b"]), np.array(YES)) == expected


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


@pytest.mark.parametrize("method", ["mle", "em", "inversion", "projected"])
@pytest.mark.parametrize(
    ("mechanism", "value", "candidates"),
    [(KRR, "a", None), (UNARY, "a", None), (BLOOM, "apple", WORDS)],
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


def test_all_bits_identical_in_both() -> None:
    x, y = (ldp.Reports(np.full((50, 1), 5, dtype=np.uint8), UNARY) for _ in range(2))
    results = fitted(x, y)
    assert np.isfinite(results.linear_bse).all()
    str(results.summary())


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


def test_several_lumped_variables_of_other_kinds() -> None:
    results = fitted(X, U, candidates=[("b",), ("c",)], other=True)
    assert results.table.index.tolist() == ["b", "Other"]
    assert results.table.columns.tolist() == ["c", "Other"]
    assert results.table.to_numpy().sum() == pytest.approx(1.0)
    assert results.test_independence().df == 1


# -- large tables ------------------------------------------------------------------------------


def large() -> ldp.AssociationResults:
    k, g = 46, rng()
    krr = ldp.KRR(k, epsilon=5.0)
    values = g.integers(0, k, 4000)
    return fitted(krr.privatize(values, g), krr.privatize((values * 7) % k, g), method="inversion")


def test_large_tables_say_what_to_do() -> None:
    results = large()
    assert not results.conf_int().isna().any().any()  # standard errors do not take covariances
    for call in (
        results.cramers_v,
        results.departures,
        results.conditional,
        lambda: results.test_independence("wald"),
        results.cov_params,
        lambda: results.plot("departures"),
    ):
        with pytest.raises(NotAvailable) as caught:
            call()
        # neither of these exists for joint tables
        assert "lasso" not in str(caught.value)
        assert "bootstrap" not in str(caught.value)


def test_large_tables_refuse_what_does_not_fit_into_memory() -> None:
    # the statistic of FPE16 takes the information matrix of all cells: 2,116 squared here, and
    # 60 GB of numbers for 300 x 300 categories
    with pytest.raises(NotAvailable, match="score"):
        large().test_independence("fpe16")
