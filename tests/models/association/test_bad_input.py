"""Malformed input of joint models: each error names the argument, the value and the remedy."""

from __future__ import annotations

import numpy as np
import pytest
from shared.association_reports import (
    ABC,
    B2,
    IDS,
    KR2,
    KRR,
    MISSING,
    WORDS,
    YES,
    B,
    Joint,
    Model,
    N,
    U,
    X,
    Y,
    Z,
    fitted,
    reports,
)
from shared.bad_values import Refusal, refuses, said

import ldpstats as ldp
from ldpstats.errors import (
    MechanismMismatch,
    NotAvailable,
    NotIdentified,
    UnknownCategory,
)
from ldpstats.estimators.lasso import Lasso

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
            "one of each": said(([X, Y],), "1 var", "two or more"),
            "counts": said((X.tally(), Y), "reports=Counts", "pass the reports"),
            "bit counts": said((X, U.tally(bits=True)), "reports=BitCounts", "pass the reports"),
            "codes": said((X.y, Y.y), "reports=array", "must be Reports"),
            "mechanisms": said((KRR, KR2), "reports=KRR", "must be Reports"),
            "nothing": said((X, None), "reports=None", "must be Reports"),
            "text": said(("x", "y"), "reports='x'", "must be Reports"),
            "counts beside reports": said(
                (Joint([X, Y]), Z), "reports=JointCounts", "must be Reports"
            ),
            "empty list": ([],),
            "empty lists": ([], []),
            "missing answers": said(
                (MISSING, ldp.Reports(np.zeros(N + 1, dtype=int), KR2)), "n_missing [1, 0]", "ids="
            ),
        },
    ),
    *refuses(
        "",
        lambda v: fitted(*v),
        {
            "no report": said((NONE, NONE2), "=0", "no report"),
            "counts of zero": said((Joint([X, Y], np.zeros(N, dtype=int)),), "=0", "no report"),
        },
    ),
    # -- groups
    *refuses(
        "reports=",
        lambda v: Model(*v),
        {
            "groups": said(([X, X], [Y]), "reports=[2, 1]", "same groups"),
            "group and reports": said(([X, X], Y), "reports=[2, 1]"),
            "lengths in a group": said(([X, X], [Y, SHORT]), "240, 200"),
            "groups of other variables": said(
                ([Joint([X, Y]), Joint([X, Y, Z])],), "same variables"
            ),
        },
    ),
    *refuses(
        "",
        lambda v: Model(*v),
        {
            "groups of other categories": said(
                ([X, Y], [Y, X]), "different categories", "same order"
            )
        },
        MechanismMismatch,
    ),
    # -- identifiers
    *refuses(
        "ids[1][0]",
        lambda v: Model(X, Y, ids=v),
        {
            "order": said((IDS, IDS[::-1]), "239", "merging"),
            "numbers and text": said((IDS, IDS.astype(str)), "'0'", "merging"),
        },
    ),
    *refuses(
        "ids[1][239]",
        lambda v: Model(X, Y, ids=v),
        {"another person": said((IDS, np.append(IDS[:-1], 999)), "999", "merging")},
    ),
    *refuses(
        "ids[0]",
        lambda v: Model(X, Y, ids=v),
        {
            "repeated": said(([0, *IDS[:-1]],) * 2, "0", "more than once"),
            "missing": said(([None, *IDS[1:]], IDS), "missing", "identifier"),
            "short": said((IDS[1:], IDS[1:]), "239", "must be 240"),
        },
    ),
    *refuses(
        "ids[1]",
        lambda v: Model(X, Y, ids=v),
        {"repeated in the second": said((IDS, [0, *IDS[:-1]]), "0", "more than once")},
    ),
    *refuses(
        "ids=",
        lambda v: Model(X, Y, ids=v),
        {
            "one column": said((IDS,), "1 col", "needs 2"),
            "a flat column": said(IDS, "needs 2"),
            "no identifiers": said(True, "ids=True"),
        },
    ),
    *refuses(
        "ids=",
        lambda v: Model([X, X], [Y, Y], ids=v),
        {"ids of groups": said((IDS, IDS), "one group", "JointCounts")},
    ),
    *refuses(
        "ids=",
        lambda v: Model(v, ids=(IDS, IDS[::-1])),
        {
            "ids beside counts": Joint([X, Y]),
            "ids beside groups of counts": [Joint([X, Y]), Joint([X, Y])],
        },
    ),
    # -- counts of combinations
    *refuses("n=", lambda v: Joint([X, Y], n=v), {"n short": said([1, 2], "240")}),
    *refuses(
        "n", lambda v: Joint([X, Y], n=np.full(N, v)), {"n negative": -1, "n fractional": 0.5}
    ),
    # -- candidates
    *refuses(
        "candidates",
        lambda v: Model(X, Y, candidates=v),
        {"no such category": said([("a", "zz"), None], "'zz'", "not among")},
        UnknownCategory,
    ),
    *refuses(
        "candidates=",
        lambda v: Model(X, Y, candidates=v),
        {
            "one category left": said([("a",), None], "candidates=['a']", "fewer than two"),
            "too many lists": said([None] * 3, "each of ['x', 'y']"),
            "text for categories": said(["ab", None], "candidates='ab'"),
            "a number for categories": said([2, None], "candidates=2"),
            "a set of categories": said([{"a", "b"}, None], "candidates={"),
            "no such variable": said({"q": ABC}, "candidates=['q']", "['x', 'y']"),
        },
    ),
    *refuses(
        "candidates",
        lambda v: Model(X, Y, candidates=v),
        {
            "no category left": [(), None],
            "category twice": said([("a", "a"), None], "'a'", "distinct"),
        },
    ),
    *refuses(
        "candidates=",
        lambda v: Model(B, Y, candidates=v),
        {
            "no candidate": said([(), None], "candidates=[]", "at least 1"),
            "one candidate": said([("apple",), None], "candidates=['apple']", "fewer than two"),
            "candidate twice": said([("apple", "apple"), None], "candidates='apple'", "distinct"),
            "text for a list": said(["apple", None], "candidates='apple'", "list"),
            "a number of candidates": said([2, None], "candidates=2", "list"),
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
        {
            "too few lists": said([WORDS], "each of ['x', 'y']"),
            "one list of three": said(WORDS, "each of ['x', 'y']"),
            "text": said("apple", "candidates='apple'", "each of ['x', 'y']"),
        },
    ),
    *refuses(
        "candidates[0]=1",
        lambda v: Model(B, Y, candidates=v),
        {"numbers for words": said([(1, 2), None], "string")},
    ),
    *refuses(
        "",
        lambda v: Model(*v),
        {"open alphabet": said((B, Y), "open alphabet", "candidates=")},
        NotAvailable,
    ),
    # -- Other
    *refuses(
        "other=",
        lambda v: Model(X, Y, candidates=[("a",), None], other=v),
        {
            "no such treatment": said("fold", "other='fold'", "'lump'"),
            "product of labels": said(("product", False), "other='product'", "use True"),
            "too few treatments": said([True], "other=[True]", "each of ['x', 'y']"),
            "other by an unknown name": said({"q": True}, "other=['q']", "['x', 'y']"),
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
        "candidates=None",
        lambda v: Model(X, Y, other=v),
        {"lump of nothing": said("lump", "what Other is not")},
    ),
    *refuses(
        "",
        lambda v: Model(OTHERED, Y, candidates=v, other=True),
        {"a category named Other": said([("a", "Other"), None], "'Other'")},
    ),
    *refuses(
        "",
        lambda v: Model(B, Y, candidates=v, other=True),
        {"a candidate named Other": said([("apple", "Other"), None], "'Other'", "other=True")},
    ),
    *refuses(
        "",
        lambda v: Model(UNEQUAL, Y, candidates=[("a",), None], other=v),
        {"unequal categories": said(True, "'b' and 'c'", "keep")},
        NotAvailable,
    ),
    # -- names
    *refuses(
        "names=",
        lambda v: Model(X, Y, names=v),
        {
            "names repeat": said(("p", "p"), "names=('p', 'p')", "2 different"),
            "one name": said(("p",), "names=('p',)", "2 diff"),
            "a text of names": said("pq", "names='pq'"),
            "numbers": said((1, 2), "names=1", "text"),
            "an empty name": said(("", "q"), "names=''"),
        },
    ),
    # -- fit
    *refuses(
        "method=",
        lambda v: fitted(X, Y, method=v),
        {
            "no such method": said("best", "method='best'", "'mle'"),
            "selection": said("lasso", "method='lasso'"),
            "selection object": said(Lasso(), "one variable"),
            "a number": said(3, "method=3"),
        },
    ),
    *refuses(
        "cov_type='HC0'",
        lambda v: Model(X, Y).fit(cov_type=v),
        {"covariance": said("HC0", "'default'")},
    ),
    *refuses(
        "cov_type=",
        lambda v: Model(X, Y).fit(v, "fpe16"),
        {
            "fpe16 of moments": said("inversion", "cov_type='fpe16'", "likelihood"),
            "fpe16 of the dual": said("one_step", "cov_type='fpe16'", "likelihood"),
        },
    ),
    # -- rank
    *refuses(
        "",
        lambda v: fitted(v, Y),
        {
            "reports that say nothing": said(FLAT, "rank 1", "merge"),
            "fewer outputs than categories": said(TALL, "rank 2", "merge"),
        },
        NotIdentified,
    ),
    *refuses(
        "",
        lambda v: fitted(v, Y, candidates=[WORDS, None], names=("word", "late")),
        {"more candidates than bits": said(FEW_BITS, "word", "bits", "merge")},
        NotIdentified,
    ),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: Refusal) -> None:
    case.check()


def test_remedies_for_hashes_over_an_alphabet_do_not_contradict_each_other() -> None:
    with pytest.raises(NotAvailable, match="candidates=None") as caught:
        Model(HASHED, Y, candidates=[("a", "b"), None], other=True)
    assert "product" not in str(caught.value)
    # so this must work
    assert Model(HASHED, Y).sizes == (3, 2)


def test_moments_gls_wants_every_category_listed() -> None:
    with pytest.raises(NotAvailable, match="all listed"):
        fitted(B, Y, candidates=[WORDS, None], method="moments-gls")
