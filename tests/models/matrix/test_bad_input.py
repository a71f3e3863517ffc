"""What associations of several variables, and the change of one, refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shared.bad_values import Refusal, refuses, said

import ldpstats as ldp
from ldpstats.errors import MechanismMismatch, NotAvailable

ABC = ("a", "b", "c")
KRR = ldp.KRR(ABC, epsilon=2.0)
RNG = np.random.default_rng(1)
X, Y, Z = (KRR.privatize(RNG.choice(ABC, 60), RNG) for _ in range(3))
HALF = np.arange(60) < 30
OPEN = ldp.ORR(8, 4, epsilon=2.0)
WORDS = [OPEN.privatize(RNG.choice(ABC, 60), RNG) for _ in range(2)]
MATRIX = ldp.associations({"x": X, "y": Y, "z": Z})


def ids(reports: ldp.Reports, known: Any) -> ldp.Reports:
    return ldp.Reports(reports.y, KRR, ids=known)


@pytest.mark.parametrize(
    "refusal",
    [
        *refuses(
            "reports",
            ldp.associations,
            {
                "a list": said([X, Y], "must map names"),
                "reports": said(X, "must map names"),
                "one variable": said({"x": X}, "two or more"),
                "none": said({}, "two or more"),
                "values": said({"x": X, "y": 3}, "reports['y']"),
                "counts": said({"x": X, "y": Y.tally()}, "reports['y']"),
                "three": said({"x": X, "y": (Y, HALF, HALF)}, "reports['y']"),
                "one object": said({"x": X, "y": X}, "reports of 'x'"),
                "one object twice": said({"x": X, "y": Y, "z": (X, None)}, "reports of 'x'"),
            },
        ),
        *refuses(
            "names",
            lambda v: ldp.associations({v: X, "y": Y}),
            {"a number": said(3, "text"), "empty": said("", "text")},
        ),
        *refuses(
            "rows",
            lambda v: ldp.associations({"x": X, "y": (Y, v)}),
            {
                "codes": said(np.arange(60), "True or False"),
                "short mask": said(HALF[:20], "60 reports"),
                "other mask": said(np.ones(59, dtype=bool), "60 reports"),
                "text": said("all", "True or False"),
            },
        ),
        *refuses(
            "candidates=",
            lambda v: ldp.associations({"x": X, "y": Y}, candidates=v),
            {"unknown name": said({"q": ["a"]}, "'q'"), "one list": said(["a"], "each of")},
        ),
        *refuses(
            "alpha=",
            lambda v: ldp.associations({"x": X, "y": Y}, alpha=v),
            {"one": 1.0, "zero": 0, "text": "5%", "nan": float("nan")},
        ),
        *refuses(
            "method=",
            lambda v: ldp.associations({"x": X, "y": Y}, method=v),
            {"unknown": said("mle2", "'mle'")},
        ),
        *refuses(
            "names=",
            lambda v: MATRIX[v],
            {
                "unknown": ("x", "q"),
                "one": "x",
                "same": ("x", "x"),
                "three": ("x", "y", "z"),
                "a list": ["x", "y"],
                "numbers": (0, 1),
            },
        ),
        # -- change
        *refuses(
            "reports",
            lambda v: ldp.change(*v),
            {
                "one object": said((X, X), "same object"),
                "one missing": said((X, None), "must be Reports"),
                "change of counts": said((X.tally(), Y.tally()), "must be Reports"),
                "lengths": said((X, Y[:20]), "60, 20", "ids="),
                "missing answers": said((ldp.Reports(X.y, KRR, 3), Y), "ids=", "of_rows"),
                "lengths, one with identifiers": said((ids(X, range(60)), Y[:20]), "60, 20"),
            },
        ),
        *refuses(
            "ids=",
            lambda v: ldp.change(ids(X, range(60)), ids(Y, v)),
            {
                "strangers": said(range(60, 120), "no respondent"),
                "text for numbers": said([str(i) for i in range(60)], "one kind"),
            },
        ),
        *refuses(
            "ids=",
            lambda v: ldp.AssociationModel(ids(X, range(60)), Y, ids=v),
            {"given twice": said((range(60), range(60)), "leave ids= out")},
        ),
        *refuses(
            "rows",
            lambda v: ldp.change(*v),
            {
                "rows of others": said(((X, None), (Y[:20], HALF)), "20 reports, and 30"),
                "rows of lists": said(([X, X], [Y, Y]), "mask"),
                "masks of others": said(((X, None), (Y[:29], np.arange(58) < 29)), "same rows"),
            },
        ),
        *refuses("name=", lambda v: ldp.change(X, Y, name=v), {"number": 3, "list": ["job"]}),
        *refuses(
            "waves=",
            lambda v: ldp.change(X, Y, waves=v),
            {"one": ["a"], "alike": ["a", "a"], "text": "ab", "numbers": [1, 2]},
        ),
        *refuses(
            "",
            lambda v: ldp.change(X[:0], Y[:0]),
            {"nobody": said(None, "no report")},
        ),
        *refuses(
            "",
            lambda v: ldp.change(X, v),
            {
                "other order": said(
                    ldp.KRR(("c", "b", "a"), 2.0).privatize(["a"] * 60, RNG), "same order"
                ),
                "fewer categories": said(
                    ldp.KRR(("a", "b"), 2.0).privatize(["a"] * 60, RNG), "different categories"
                ),
            },
            MechanismMismatch,
        ),
        *refuses(
            "",
            lambda v: ldp.change(*v),
            {"open alphabet": said(WORDS, "candidates=")},
            NotAvailable,
        ),
        # -- rows
        *refuses(
            "",
            ldp.JointCounts.of_rows,
            {
                "no pairs": said(X, "pairs"),
                "one pair": said([(X, None)], "two or more"),
                "no rows": said([], "two or more"),
                "bare reports": said([X, Y], "rows[0]", "pairs"),
                "missing in a mask": said([(X, [True] * 59 + [None]), (Y, None)], "True or False"),
            },
        ),
    ],
)
def test_bad_input(refusal: Refusal) -> None:
    refusal.check()
