"""Bad input to URR and URAP: the argument, what is wrong with it, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp

five: Callable[..., Any] = lambda *a, **k: ldp.URR(5, *a, **k)  # noqa: E731
bits: Callable[..., Any] = lambda *a, **k: ldp.URAP(5, *a, **k)  # noqa: E731
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "unknown": (lambda: five((0, 7), 1.0), r"sensitive\[1\]=7: is not among the 5 labels"),
    "unknown word": (lambda: bits(["nurse"], 1.0), r"sensitive\[0\]='nurse': is not among"),
    "twice": (lambda: five([1, 0, 1], 1.0), r"sensitive=1: .*twice.*once"),
    "a string": (lambda: ldp.URR(("a", "b"), "ab", 1.0), r"sensitive='ab': must be a set or list"),
    "a number": (lambda: bits(3, 1.0), r"sensitive=3: must be a set or list"),
    "a mask": (lambda: five([True, False] * 2 + [True], 1.0), r"sensitive\[0\]=True: is not among"),
    "NaN": (lambda: bits([np.nan], 1.0), r"sensitive=.*nan.*: holds a missing value"),
    "None": (lambda: five([0, None], 1.0), r"sensitive=.*: holds a missing value"),
    "nested": (lambda: five([[0, 1]], 1.0), r"sensitive=.*one-dimensional"),
    "no sensitive": (lambda: five(epsilon=1.0), r"sensitive=None: must be a set or list"),
    "no epsilon": (lambda: five((0, 1)), r"epsilon=None: must be a number"),
    "levels without epsilon": (lambda: five((0,), levels=(1.0,)), r"epsilon=None: .*largest"),
    "epsilon zero": (lambda: five((0,), 0.0), r"epsilon=0.0: must be a number from"),
    "epsilon NaN": (lambda: bits((0,), np.nan), r"epsilon=nan: must be a number from"),
    "epsilon bool": (lambda: bits((0,), True), r"epsilon=True: must be a number from"),
    "epsilon text": (lambda: five((0,), "1"), r"epsilon='1': must be a number from"),
    "epsilon infinite": (lambda: five((0,), np.inf), r"epsilon=inf: must be a number from"),
    "epsilon list": (lambda: five((0, 1), [1.0, 2.0]), r"epsilon=\[1.0, 2.0\]: must be a number"),
    "epsilon dict": (lambda: bits((0, 1), {0: 1, 1: 2}), r"epsilon=.*: must be a number from"),
    "one lacks": (lambda: five((0, 1), {0: 1.0}), r"epsilon=.*lacks the sensitive category 1"),
    "all lack": (lambda: five((0, 1), {}), r"epsilon=\{\}: lacks the sensitive category 0"),
    "empty dict": (lambda: five(epsilon={}), r"epsilon=\{\}: names no category"),
    "one more": (
        lambda: five((0, 1), {0: 1.0, 1: 1.0, 3: 2.0}),
        r"epsilon\[3\]=2.0: is of no sensitive category: leave it out",
    ),
    "unknown level": (lambda: five(epsilon={9: 1.0}), r"9: is not among the 5 labels"),
    "level zero": (lambda: five(epsilon={0: 1.0, 1: 0.0}), r"epsilon\[1\]=0.0: must be a number"),
    "level NaN": (lambda: five(epsilon={0: np.nan}), r"epsilon\[0\]=nan: must be a number"),
    "level bool": (lambda: five(epsilon={0: True}), r"epsilon\[0\]=True: must be a number"),
    "level text": (lambda: five(epsilon={2: "1"}), r"epsilon\[2\]='1': must be a number"),
    "few levels": (lambda: five((0, 1), 2.0, (2.0,)), r"levels=\(2.0,\): must be 2 epsilons"),
    "no one's level": (lambda: five((), 2.0, (2.0,)), r"levels=.*no category is sensitive"),
    "levels larger": (lambda: five((0, 1), 1.0, (1.0, 2.0)), r"epsilon=1.0: must be the largest"),
    "levels and dict": (lambda: five((0,), {0: 1.0}, (1.0,)), r"levels=\(1.0,\): goes without"),
    "theta zero": (lambda: bits((0,), 1.0, 0.0), r"theta=0.0: must be a probability in \(0, 1\)"),
    "theta one": (lambda: bits((0,), 1.0, 1), r"theta=1: must be a probability in \(0, 1\)"),
    "theta NaN": (lambda: bits((0,), 1.0, np.nan), r"theta=nan: must be a probability"),
    "theta bool": (lambda: bits((0,), 1.0, True), r"theta=True: must be a probability"),
    "theta text": (lambda: bits((0,), 1.0, "x"), r"theta='x': must be a probability"),
    "one category": (lambda: ldp.URR(1, (0,), 1.0), r"categories=1"),
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
    "a number as report": (
        lambda: bits((0,), 1.0).parse("r", [10000]),
        r"r\[0\]=.*10000.*: .*text",
    ),
    "report of a wrong width": (
        lambda: ldp.Reports(np.zeros((1, 1), np.uint8), bits((0,), 1.0)),
        r"y=.*packed reports of 16 bits",
    ),
    "noise of a wrong shape": (
        lambda: ldp.Counts(np.zeros((1, 2), np.uint8), [3], bits((0,), 1.0), noise=np.array([1])),
        r"noise=.*must be None, or 5 sums of bits",
    ),
    "noise too large": (
        lambda: ldp.Counts(np.zeros((1, 2), np.uint8), [3], bits((0,), 1.0), noise=[4, 0, 0, 0, 0]),
        r"noise=.*from 0 to the number of reports",
    ),
    "negative noise": (
        lambda: ldp.Counts(
            np.zeros((1, 2), np.uint8), [3], bits((0,), 1.0), noise=[-1, 0, 0, 0, 0]
        ),
        r"noise=.*from 0 to the number of reports",
    ),
    "noise of labels": (
        lambda: ldp.Counts(
            np.zeros(1, np.int64), [3], five((0,), 1.0), noise=np.zeros(5, np.int64)
        ),
        r"noise=.*must be None",
    ),
    "value": (
        lambda: five((0,), 1.0).privatize([5], np.random.default_rng(1)),
        r"values\[0\]=5: is not among the 5 labels",
    ),
    "code": (
        lambda: bits((0,), 1.0).privatize(np.array([0, 9]), np.random.default_rng(1)),
        r"values\[1\]=9: is not among the 5 labels",
    ),
    "candidates": (lambda: bits((0,), 1.0).channel(["a"]), r"candidates= is for open alphabets"),
    "too many patterns": (
        lambda: ldp.URAP(40, range(30), 1.0).channel().matrix(),
        r"2\^30 patterns: use likelihood",
    ),
}


@pytest.mark.parametrize(("call", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input_says_what_to_do(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ldp.LDPError, match=words):
        call()


def test_theta_too_small_for_the_sampler_is_refused() -> None:
    for kind in (lambda t: ldp.URAP(3, {0}, 1.0, theta=t), lambda t: ldp.KRAPPOR(3, 1.0, theta=t)):
        with pytest.raises(ldp.InvalidArgument, match="theta=1e-20: must be at least 1e-09"):
            kind(1e-20)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ldp.privacy.post_process(ldp.URR(3, {0}, 1.0), [[10**400, 0, 0]] * 3),
        lambda: ldp.utility.personalized_bound([10**400, 0], [1, 0], [[1.0]], [[1.0]]),
        lambda: ldp.utility.best_theta(2, 1, 1.0, p=[10**400, 0]),
        lambda: ldp.mechanism_from_dict({"format": np.zeros(3)}),
        lambda: ldp.PUM.from_dict({"format": np.zeros(3)}),
        lambda: ldp.FrequencyResults.from_dict({"format": np.zeros(3)}),
        lambda: ldp.FrequencyResults.from_json(None),  # type: ignore[arg-type]
        lambda: ldp.URAP(3, {0}, 1.0).counts([[1], [2, 3]], 10),
        lambda: ldp.PUM(ldp.URR(3, {0}, 1.0), ("home",)).channel(np.array([])),
    ],
)
def test_odd_input_is_refused_in_words(call: Callable[[], Any]) -> None:
    with pytest.raises(ldp.LDPError, match=r"must|is not JSON"):
        call()
