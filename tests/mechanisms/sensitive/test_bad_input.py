"""Bad reports, counts and answers of URR and URAP: what is wrong with them, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp

five: Callable[..., Any] = lambda *a, **k: ldp.URR(5, *a, **k)  # noqa: E731
bits: Callable[..., Any] = lambda *a, **k: ldp.URAP(5, *a, **k)  # noqa: E731
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "sums too large": (lambda: bits((0,), 1.0).counts([6, 0, 0, 0, 0], 5), r"ones\[0, 0\]=6: "),
    "sums without n": (lambda: bits((0,), 1.0).counts([1, 0, 0, 0, 0]), r"nobs=None: is needed"),
    "too many revealed": (
        lambda: bits((0,), 1.0).counts([0, 3, 3, 0, 0], 5),
        r"say that 5 reports reveal 6 answers: each reveals one at most",
    ),
    "too few revealed": (
        lambda: bits((), 1.0).counts([1, 3, 0, 0, 0], 5),
        r"say that 4 of 5 reports reveal an answer: all do here",
    ),
    "two revealed": (
        lambda: bits((0,), 1.0).parse("report", ["10000", "01100"]),
        r"report\[1\]='01100': has two bits that are not sensitive",
    ),
    "none revealed": (
        lambda: bits((), 1.0).parse("report", ["10000", "00000"]),
        r"report\[1\]='00000': has no bit: none is sensitive",
    ),
    "none revealed, packed": (
        lambda: ldp.Reports(np.zeros((1, 1), np.uint8), bits((), 1.0)),
        r"y=.*reveals no category, although none is sensitive",
    ),
    "short report": (
        lambda: bits((0,), 1.0).parse("r", ["0101"]),
        r"r\[0\]='0101': .*5 characters",
    ),
    "report of a wrong width": (
        lambda: ldp.Reports(np.zeros((1, 1), np.uint8), bits((0,), 1.0)),
        r"y=.*packed reports of 16 bits",
    ),
    "noise too large": (
        lambda: ldp.Counts(np.zeros((1, 2), np.uint8), [3], bits((0,), 1.0), noise=[4, 0, 0, 0, 0]),
        r"noise=.*from 0 to the number of reports",
    ),
    "noise of labels": (
        lambda: ldp.Counts(
            np.zeros(1, np.int64), [3], five((0,), 1.0), noise=np.zeros(5, np.int64)
        ),
        r"noise=.*must be None",
    ),
    "candidates": (lambda: bits((0,), 1.0).channel(["a"]), r"candidates= is for open alphabets"),
    "too many patterns": (
        lambda: ldp.URAP(40, range(30), 1.0).channel().matrix(),
        r"2\^30 patterns: use channel\(\)\.likelihood",
    ),
}


@pytest.mark.parametrize(("call", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input_says_what_to_do(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ldp.LDPError, match=words):
        call()
