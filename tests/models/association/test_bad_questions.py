"""Questions that a joint table does not answer: each error names the argument and the remedy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from shared.association_reports import WORDS, YES, B, U, X, Y, Z, fitted, rng, two
from shared.bad_values import Refusal, refuses, said

import ldpstats as ldp
from ldpstats.errors import NotAvailable


def three() -> ldp.AssociationResults:
    return fitted(X, Y, Z)


def redrawn(rng: np.random.Generator, **how: Any) -> ldp.TestResult:
    """The test that simulates surveys, which is the model's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ldp.AssociationModel(B, Y, **how)
        return model.test_independence(model.fit(), "bootstrap", rng=rng)


QUESTIONS = [
    # -- tests
    *refuses(
        "method='best'",
        lambda v: two().test_independence(v),
        {"no such test": said("best", "'score'")},
    ),
    *refuses(
        "rng=",
        lambda how: two().test_independence(**how),
        {
            "bootstrap without rng": said({"method": "bootstrap"}, "rng=None", "default_rng"),
            "permutations without rng": said({"n_permutations": 9}, "rng=None", "default_rng"),
            "a seed for rng": said(
                {"method": "bootstrap", "rng": 1, "n_boot": 3}, "rng=1", "default_rng"
            ),
            "a seed to permute": said({"rng": 1, "n_permutations": 9}, "rng=1", "default_rng"),
            "a seed that is not needed": said({"rng": "x"}, "rng='x'", "default_rng"),
        },
    ),
    *refuses(
        "n_permutations=",
        lambda how: two().test_independence(**how, rng=rng()),
        {
            "no permutation": said({"n_permutations": 0}, "n_permutations=0", "at least 1"),
            "permutations of wald": said(
                {"method": "wald", "n_permutations": 9}, "n_permutations=9", "'score'"
            ),
        },
    ),
    *refuses(
        "n_boot=0",
        lambda v: two().test_independence("bootstrap", n_boot=v, rng=rng()),
        {"no survey": said(0, "at least 1")},
    ),
    *refuses(
        "",
        lambda v: redrawn(v, candidates=[WORDS, None]),
        {"bootstrap of a list": said(rng(), "not known", "method='score'")},
        NotAvailable,
    ),
    *refuses(
        "",
        lambda v: redrawn(v, candidates=[WORDS[:2], None], other=True),
        {"bootstrap of modelled Other": said(rng(), "method='score'")},
        NotAvailable,
    ),
    *refuses(
        "",
        lambda v: fitted(U, Y).test_independence(v),
        {"pearson of bits": said("pearson", "labels", "method='score'")},
        NotAvailable,
    ),
    *refuses(
        "given='q'",
        lambda v: three().test_conditional_independence(v),
        {"given what": said("q", "'x', 'y', 'z'")},
    ),
    *refuses("by='q'", lambda v: three().test_homogeneity(v), {"by what": "q"}),
    *refuses(
        "",
        lambda v: two().test_conditional_independence(v),
        {"two given one": said("job", "three variables")},
        NotAvailable,
    ),
    *refuses(
        "",
        lambda v: three().test_homogeneity(v),
        {"weak cells": said("z", "cells", "merge")},
        NotAvailable,
    ),
    *refuses(
        "",
        lambda v: two().test_trend(v, [1, 2]),
        {
            "scores of too few": said([1, 2], "3 scores"),
            "scores of text": said(["lo", "mid", "hi"], "scores"),
            "scores all equal": said([1, 1, 1], "differ"),
        },
    ),
    # -- effects
    *refuses(
        "",
        lambda v: two().odds_ratio(v, YES),
        {"no such row": said(("a", "q"), "'q'", "job", "['a', 'b', 'c']")},
    ),
    *refuses(
        "",
        lambda v: two().risk_difference(("a", "b"), v),
        {"no such column": said("maybe", "'maybe'", "late", "['no', 'yes']")},
    ),
    *refuses(
        "rows=",
        lambda v: two().odds_ratio(v, YES),
        {"one row": said(("a",), "two"), "the same row": said(("a", "a"), "different")},
    ),
    *refuses("rows='ab'", lambda v: two().risk_ratio(v, "no"), {"rows as text": said("ab", "two")}),
    *refuses("columns=", lambda v: two().odds_ratio(("a", "b"), v), {"columns": ("no",)}),
    *refuses(
        "alpha=1.0",
        lambda v: two().odds_ratio(("a", "b"), YES, alpha=v),
        {"alpha": said(1.0, "0.05")},
    ),
    *refuses(
        "on=",
        lambda v: two().conditional(v),
        {
            "on what": said("q", "on='q'", "'job', 'late'"),
            "on an axis": said(0, "on=0", "'job', 'late'"),
        },
    ),
    # -- results
    *refuses(
        "method='exact'", lambda v: two().conf_int(method=v), {"interval": said("exact", "'wald'")}
    ),
    *refuses("alpha=5", lambda v: two().conf_int(alpha=v), {"level": said(5, "0.05")}),
    *refuses("alpha=0", lambda v: two().margins(alpha=v), {"level of margins": said(0, "0.05")}),
    *refuses("max_rows=0", lambda v: two().summary(max_rows=v), {"rows of the summary": 0}),
    *refuses("kind='bar'", lambda v: two().plot(kind=v), {"plot": said("bar", "'heatmap'")}),
    *refuses("hypothesis=", lambda v: two().t_test(v), {"hypothesis": "a:maybe = 0"}),
    *refuses("text=", ldp.AssociationResults.from_json, {"no JSON": said("{", "JSON")}),
    *refuses(
        "document",
        ldp.AssociationResults.from_json,
        {
            "other JSON": "[]",
            "JSON of one variable": said(ldp.FrequencyModel(X).fit().to_json(), "format"),
        },
    ),
    *refuses(
        "",
        ldp.AssociationResults.from_dict,
        {
            "fields of JSON": said(
                {k: v for k, v in two().to_dict().items() if k != "names"}, "names"
            )
        },
    ),
    # -- of two variables, not three
    *refuses(
        "",
        lambda ask: ask(three()),
        {
            "pearson of three": said(
                lambda r: r.test_independence("pearson"), "two variables", "method='score'"
            ),
            "wald of three": said(
                lambda r: r.test_independence("wald"), "two variables", "method='score'"
            ),
            "trend of three": said(lambda r: r.test_trend(), "two variables"),
            "odds of three": said(
                lambda r: r.odds_ratio(("a", "b"), YES), "two variables", "there are 3"
            ),
            "risk of three": said(lambda r: r.risk_difference(("a", "b"), "no"), "two variables"),
            "cramer of three": said(lambda r: r.cramers_v(), "two variables"),
            "conditional of three": said(lambda r: r.conditional(), "two variables"),
            "plot of three": said(lambda r: r.plot(), "two variables"),
        },
        NotAvailable,
    ),
]


@pytest.mark.parametrize("case", QUESTIONS)
def test_bad_questions_are_refused(case: Refusal) -> None:
    case.check()
