"""Samplers without rounding: the law of their integers, where 64 digits do not decide."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from ldpstats.sampling.samplers import (
    CERTAIN,
    Inversion,
    inversion,
    sample_inversions,
    sample_krr,
    sample_others,
    sample_own,
    simulation_words,
)

WEIGHTS = {
    "thirds": (1, 1, 1),
    "dice": (1, 0, 4, 1),
    "zero first": (0, 0, 2, 5),
    "zero last": (3, 4, 0),
    "certain": (0, 1, 0),
    "one": (7,),
    "powers of two": (1, 2, 1),
    "huge": (10**40, 3, 10**41 + 7, 1),
    "tiny": (1, 10**60, 1),
    "close": (10**30, 1, 1, 10**30),
}
each = pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())


class Given:
    """Words in a given order; then none."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def __call__(self, n: int) -> Any:
        taken, self.left = self.left[:n], self.left[n:]
        assert len(taken) == n, "more words than given"
        return np.array(taken, dtype=np.uint64)


def by_definition(weights: Iterable[int], words: list[int]) -> int:
    """The outcome of the number with these binary digits, 64 in a word, by exact comparison."""
    ends = list(accumulate(weights))
    u = sum(Fraction(word, CERTAIN ** (i + 1)) for i, word in enumerate(words))
    return sum(Fraction(end, ends[-1]) <= u for end in ends[:-1])


@each
def test_the_integers_realise_the_law(weights: tuple[int, ...]) -> None:
    assert inversion(weights).law() == [Fraction(w, sum(weights)) for w in weights]


@each
def test_words_near_every_threshold(weights: tuple[int, ...]) -> None:
    """Words on both sides of each, and those that agree with it for one, two and three words."""
    row, total = inversion(weights), sum(weights)
    for end in list(accumulate(weights))[:-1]:
        digits, rest = [], Fraction(end, total)
        for _ in range(3):
            digits.append(min(int(rest * CERTAIN), CERTAIN - 1))
            rest = rest * CERTAIN - digits[-1]
        for agree in range(3):
            for off in (-1, 0, 1):
                word = digits[agree] + off
                if 0 <= word < CERTAIN:
                    words = [*digits[:agree], word, 5, 6, 7]
                    source = Given(*words[1:])
                    found = row.draw(np.array(words[:1], dtype=np.uint64), source)
                    assert found[0] == by_definition(weights, words)


def test_a_row_that_is_off_by_one_is_seen() -> None:
    """Negative control: one threshold moved by one part in 2**64."""
    right = inversion((1, 2))
    wrong = Inversion(right.upper + np.uint64(1), right.rest, right.total)
    assert wrong.law() != right.law()
    word = int(right.upper[0]) + 1
    drawn = wrong.draw(np.array([word], dtype=np.uint64), Given(0, 0))
    assert drawn[0] != by_definition((1, 2), [word, 0, 0])


@pytest.mark.parametrize("n", [1, 5])
def test_k_rr_decides_by_further_words_where_64_digits_agree(n: int) -> None:
    """P(keep) = (keep + 1/3) / 2**64: the tie goes to the report in one of three cases."""
    keep, k = 0x123456789ABCDEF0, 4
    low = 3 << 30  # gives report 3 of 4 where the code is not kept
    tie = (keep >> 32 << 32) | low
    further = (keep & 0xFFFFFFFF) << 32
    third = CERTAIN // 3
    for last, kept in ((0, True), (third - 1, True), (third + 1, False), (CERTAIN - 1, False)):
        words = Given(*[tie] * n, *[further] * n, *[last] * n)
        assert (
            sample_krr([0] * n, k, keep, words, Fraction(1, 3)).tolist() == [0 if kept else 3] * n
        )
    words = Given(*[tie] * n, *[further] * n)  # as before there was a rest
    assert sample_krr([0] * n, k, keep, words).tolist() == [3] * n


@pytest.mark.parametrize("n", [1, 20_000, 200_000])
def test_samplers_draw_their_laws(n: int) -> None:
    """By counts within 5 standard errors, short and long simulations, with and without streams."""
    words = simulation_words(np.random.default_rng(n))
    codes = np.arange(n) % 3
    rows = [inversion((1, 2, 3)), inversion((0, 5, 1)), inversion((10**25, 1, 10**25))]
    own, common = Fraction(1, 7), inversion((10, 20, 15, 25))
    less = [Fraction(1, 2), Fraction(2, 3), Fraction(3, 4)]
    drawn = {
        "rows": sample_inversions(codes, 3, rows.__getitem__, words),
        "own": sample_own(codes, 3, common, words),
        "others": sample_others(codes, 3, inversion((2, 3, 4)), less, words),
    }
    laws = {
        "rows": [row.law() for row in rows],
        "own": [[own * (x == y) + common.law()[y + 1] for y in range(3)] for x in range(3)],
        "others": [
            [(Fraction(2 + y, 9) * (less[y] if x == y else 1)) / Fraction(8, 9) for y in range(3)]
            for x in range(3)
        ],
    }
    for name, reports in drawn.items():
        for x in range(3):
            mine = reports[codes == x]
            q = np.array([float(p) for p in laws[name][x]])
            assert q.sum() == pytest.approx(1.0)
            seen = np.bincount(mine, minlength=3)
            bound = 5.0 * np.sqrt(mine.size * q * (1.0 - q)) + 1e-9 + (n == 1)
            assert np.all(abs(seen - mine.size * q) <= bound), name
