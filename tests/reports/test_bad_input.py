"""Malformed counts, reports and tables of reports: each error names the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.bad_values import Refusal, refuses, said

import ldpstats as ldp
from ldpstats.errors import MechanismMismatch, NotAvailable, UnknownCategory

JOBS = ("nurse", "teacher", "driver")
KRR = ldp.KRR(JOBS, epsilon=1.0)
OTHER = ldp.KRR(JOBS, epsilon=2.0)
BITS = ldp.KRAPPOR(JOBS, epsilon=1.0)
COUNTS = KRR.counts([40, 33, 27])  # an estimate in the interior
ONES = BITS.counts([50, 40, 30], nobs=100)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def frame(reports: list[Any], count: list[Any] | None = None) -> pd.DataFrame:
    columns = {"report": pd.Series(reports, dtype=object)}
    return pd.DataFrame(columns if count is None else columns | {"count": count})


BAD = [
    *refuses(
        "n",
        KRR.counts,
        {
            "wrong length": [1, 2],
            "counts as text": ["1", "2", "3"],
            "counts as bools": [True, False, True],
            "counts in two rows": [[1, 2, 3]],
            "ragged counts": [1, [2], 3],
        },
    ),
    *refuses("n[2]", KRR.counts, {"negative count": [1, 2, -3]}),
    *refuses(
        "n[1]",
        KRR.counts,
        {
            "fractional count": [1, 2.5, 3],
            "nan count": [1, np.nan, 3],
            "infinite count": [1, np.inf, 3],
            "count beyond exactness": [1, 2**62, 3],
        },
    ),
    *refuses("nobs", lambda v: KRR.counts([1, 2, 3], nobs=v), {"nobs of labels": 6}),
    *refuses("nobs", lambda v: BITS.counts([1, 2, 3], v), {"bits without nobs": None}),
    *refuses("ones[0, 2]", lambda v: BITS.counts(v, nobs=10), {"bits above nobs": [1, 2, 11]}),
    *refuses("nobs", lambda v: BITS.counts([0, 0, 0], nobs=v), {"negative nobs": -1}),
    *refuses(
        "nobs",
        lambda v: BITS.counts([1, 2, 3], nobs=v),
        {"fractional nobs": 10.5, "two nobs": [10, 10]},
    ),
    *refuses(
        "",
        lambda v: COUNTS + v,
        {"other epsilon added": said(OTHER.counts([1, 2, 3]), "fingerprint")},
        MechanismMismatch,
    ),
    *refuses(
        "",
        lambda v: ONES + v,
        {"other bits added": said(ldp.KRAPPOR(JOBS, 2.0).counts([1, 2, 3], 9), "fingerprint")},
        MechanismMismatch,
    ),
    *refuses("counts", KRR.moments, {"other counts": OTHER.counts([1, 2, 3])}),
    *refuses(
        "",
        lambda v: KRR.privatize(["nurse"], rng()).tally(bits=v),
        {"bit sums of labels": said(True, "bits")},
        NotAvailable,
    ),
    *refuses(
        "", lambda v: v.bit_counts(), {"bit sums of counts": said(COUNTS, "bits")}, NotAvailable
    ),
    *refuses(
        "",
        lambda v: v.tally().vector(),
        {"vector of bits": said(BITS.privatize(["nurse"], rng()), "bit_counts()")},
        NotAvailable,
    ),
    *refuses(
        "report",
        lambda v: ldp.Counts.from_frame(frame([]), KRR, report=v),
        {"no report column": "x"},
    ),
    *refuses(
        "count", lambda v: ldp.Counts.from_frame(frame([]), KRR, count=v), {"no count column": "x"}
    ),
    *refuses(
        "",
        lambda v: ldp.Counts.from_frame(frame(v), KRR),
        {"unknown report": said(["cook"], "'report', row 1=")},
        UnknownCategory,
    ),
    *refuses(
        "",
        lambda v: ldp.Counts.from_frame(frame(v), KRR),
        {"missing report": said([None], "'report', row 1=")},
    ),
    *refuses(
        "",
        lambda v: ldp.Counts.from_frame(frame(["nurse"], v), KRR, count="count"),
        {
            "negative in table": said([-1], "'count'[0]"),
            "fraction in table": said([0.5], "'count'[0]"),
        },
    ),
    *refuses(
        "",
        lambda v: ldp.Counts.from_frame(frame(v), BITS),
        {
            "bits too short": said(["01"], "'report'[0]"),
            "bits as a number": said([110], "'report'[0]"),
            "bits not binary": said(["012"], "'report'[0]"),
        },
    ),
    *refuses("frame", lambda v: ldp.Counts.from_frame(v, KRR), {"no table": {"report": ["nurse"]}}),
    *refuses(
        "missing",
        lambda v: ldp.Counts.from_frame(frame(["nurse"]), KRR, missing=v),
        {"policy of a table": "drop"},
    ),
    *refuses(
        "",
        lambda v: COUNTS + v,
        {"reports to counts": said(KRR.privatize(["nurse"], rng()), "tally()")},
        NotAvailable,
    ),
    *refuses("y", lambda v: ldp.Reports(v, KRR), {"reports of floats": [0.0]}),
    *refuses("n", lambda v: ldp.Counts([0], v, KRR), {"counts of floats": [1.0]}),
    *refuses("ones", lambda v: ldp.BitCounts(v, [4], BITS), {"sums of floats": [[1.0, 2.0, 3.0]]}),
    *refuses(
        "",
        lambda v: ONES + v,
        {"patterns to sums": said(BITS.privatize(["nurse"], rng()).tally(), "bit_counts()")},
        NotAvailable,
    ),
    *refuses("n[0]", KRR.counts, {"missing in a Series": pd.Series([np.nan], ["nurse"])}),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: Refusal) -> None:
    case.check()
