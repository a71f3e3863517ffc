"""Random draws of every kind, as client documents have them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

__all__ = ["COMPOSED", "DRAWS", "TEXTS", "long_question", "random_question", "random_threshold"]

W = 1 << 64

TEXTS = (
    "nurse", "teacher", "", " ", " nurse", "Nurse", "0", "00", "1", "+1", "1.0", "True", "None",
    "null", "é", "e\u0301", "ß", "Zürich", "😀", "\u2028", "\x00", "\x7f", '"', "\\", "\n",
    "</script>", "\ufeff", "\ufb00", "__proto__", "constructor", "toString", "hasOwnProperty",
    "длинный", "日本", "a:b", "0110",
)  # fmt: skip

COMPOSED = ("\u00e9", "e\u0301", "\u212b", "\u1100\u1161", "a\u0323\u0307", "\u2126", "\ufb01")
"""Texts that some normalisation of Unicode takes for others."""

Draw = dict[str, Any]
Question = dict[str, Any]


def random_threshold(dice: Random) -> int:
    """A threshold: of any size, of few digits, or at an end."""
    ends = (0, 1, W // 2, W - 1, W)
    turns: tuple[Callable[[], int], ...] = (
        lambda: dice.choice(ends),
        lambda: dice.getrandbits(dice.randrange(1, 12)) << 52,
        lambda: dice.getrandbits(32) << 32,
        lambda: W - dice.getrandbits(dice.randrange(1, 64)),
        lambda: dice.getrandbits(dice.randrange(1, 64)),
        lambda: dice.getrandbits(64),
        lambda: dice.getrandbits(64),
    )
    return dice.choice(turns)()


def random_labels(dice: Random, n: int) -> int | list[str]:
    """A list of n texts, or their number."""
    if n > len(TEXTS) or dice.random() < 0.2:
        return n
    return dice.sample(TEXTS, n)


def _thresholds(dice: Random, n: int) -> list[str]:
    few = [random_threshold(dice) for _ in range(3)]
    return [str(dice.choice(few)) for _ in range(n)]


def _upper(dice: Random, n: int) -> list[str]:
    """Cumulative words of n outcomes, the last of which is certain."""
    found = sorted(min(random_threshold(dice), W - 1) for _ in range(n - 1))
    return [str(word) for word in [*found, W - 1]]


def _fraction(dice: Random, below: int | None = None) -> list[str]:
    """A fraction from 0 to 1, with a denominator of up to 200 bits."""
    total = below or 1 + dice.getrandbits(dice.choice((1, 2, 30, 64, 200)))
    return [str(dice.choice((0, total // 2, dice.randrange(total)))), str(total)]


def _law(dice: Random, n: int) -> Draw:
    """An INVERSION of n outcomes."""
    total = 1 + dice.getrandbits(dice.choice((1, 2, 30, 64, 200)))
    few = [min(random_threshold(dice), W - 1) for _ in range(max(1, n // 2))]
    ends = [(dice.choice(few), int(_fraction(dice, total)[0])) for _ in range(n - 1)]
    if ends and dice.random() < 0.2:
        ends[-1] = (W - 1, total)
    upper, rest = ([str(end[i]) for end in sorted(ends)] for i in (0, 1))
    return {"upper": upper, "rest": rest, "total": str(total)}


# -- labels: the draw, how many answers there are and how many reports -----------------------------

Made = tuple[Draw, int, int]


def _same(dice: Random) -> Made:
    k = dice.randrange(1, 9)
    return {"kind": "same"}, k, k


def _keep(dice: Random) -> Made:
    k = dice.choice((1, 2, 3, 5, 8, 30, 1000, 3_000_000_000, 2**32 - 1))
    draw = {"kind": "keep", "k": k, "keep": str(random_threshold(dice))}
    if dice.random() < 0.3:
        draw |= {"keep": str(min(random_threshold(dice), W - 1)), "rest": _fraction(dice)}
    return draw, k, k


def _rows(dice: Random) -> Made:
    k, m = dice.randrange(1, 6), dice.randrange(1, 8)
    rows: list[Draw] = [{"upper": _upper(dice, m)} for _ in range(k)]
    for row in rows:
        if dice.random() < 0.4:
            outputs = sorted(dice.sample(range(m), dice.randrange(1, m + 1)))
            row |= {"upper": _upper(dice, len(outputs)), "outputs": outputs}
    return {"kind": "rows", "rows": rows}, k, m


def _exact(dice: Random) -> Made:
    k, m = dice.randrange(1, 5), dice.randrange(1, 7)
    return {"kind": "exact", "rows": [_law(dice, m) for _ in range(k)]}, k, m


def _own(dice: Random) -> Made:
    k = dice.randrange(1, 8)
    return {"kind": "own", "law": _law(dice, k + 1)}, k, k


def _others(dice: Random) -> Made:
    k = dice.randrange(2, 8)
    accepted = [_fraction(dice) for _ in range(k)]
    return {"kind": "others", "law": _law(dice, k), "accepted": accepted}, k, k


def _band(dice: Random) -> Made:
    k, width = dice.choice((1, 2, 7, 3_000_000_000)), dice.choice((1, 2, 5, 1_000_000_000))
    draw = {"kind": "band", "k": k, "width": width, "keep": str(random_threshold(dice))}
    return draw, k, k + width - 1


def _replace(dice: Random, k: int | None = None) -> Made:
    k = k or dice.randrange(1, 8)
    by = dice.sample(range(k), dice.randrange(k + 1))
    draw: Draw = {"kind": "replace", "keep": str(random_threshold(dice) if by else W), "by": by}
    if by and dice.random() < 0.5:
        draw["law"] = {"upper": _upper(dice, len(by))}
    return draw, k, k


def _block(dice: Random) -> Made:
    keep = str(random_threshold(dice))
    kind = dice.choice(("single", "hadamard", "projective"))
    design: Draw = {"kind": kind}
    if kind == "single":
        k = dice.choice((2, 3, 10, 2**40 // 2**10))
        own, others, n = 1, k - 1, k
    elif kind == "hadamard":
        order, parts = dice.choice((2, 4, 16, 128, 1024, 2**17)), dice.randrange(1, 5)
        k, n = dice.randrange((parts - 1) * (order - 1), parts * (order - 1)) + 1, parts * order
        own, others = order // 2, n - order // 2
        design["order"] = order
    else:
        q, t = dice.choice(((2, 2), (2, 5), (3, 3), (5, 2), (5, 4), (101, 2)))
        n = (q**t - 1) // (q - 1)
        k = dice.randrange(1, n + 1)
        own, others = (q ** (t - 1) - 1) // (q - 1), q ** (t - 1)
        design |= {"q": q, "t": t}
    return {"kind": "block", "own": own, "others": others, "keep": keep, "design": design}, k, n


def _parts(dice: Random) -> Made:
    parts, k, m = [], 1, 1
    for _ in range(dice.randrange(1, 4)):
        draw, answers, reports = dice.choice((_rows, _exact, _own, _replace, _same))(dice)
        parts.append({"answers": answers, "reports": reports, "draw": draw})
        k, m = k * answers, m * reports
    return {"kind": "parts", "parts": parts}, k, m


# -- bits ------------------------------------------------------------------------------------------


def _bits(dice: Random) -> Made:
    k = dice.choice((1, 2, 7, 8, 9, 70, 200))
    m = k + dice.choice((0, 0, 1, 5))
    sides = [_thresholds(dice, m) if dice.random() < 0.4 else _thresholds(dice, 1)[0] for _ in "ab"]
    draw = {"kind": "bits", "bits": m, "own": sides[0], "other": sides[1]}
    sent = dice.choice((m, k))
    return {**draw, "sent": sent}, k, sent


def long_question(dice: Random) -> Question:
    """A question of kind `bits` whose words are drawn in two blocks, two for each bit."""
    k = (1 << 18) + dice.randrange(1, 600)
    own, other = str(random_threshold(dice)), str(dice.choice((1, 3)) * (W // 4))
    draw = {"kind": "bits", "bits": k, "own": own, "other": other, "sent": k}
    return {"answers": k, "reports": {"bits": k}, "draw": draw}


def _subset(dice: Random) -> Made:
    k = dice.choice((2, 3, 4, 5, 8, 21))
    size = dice.randrange(1, k)
    keep = str(random_threshold(dice))
    return {"kind": "subset", "k": k, "size": size, "keep": keep}, k, k


def _reveal(dice: Random, k: int | None = None) -> Made:
    k = k or dice.choice((1, 2, 5, 20))
    sensitive = sorted(dice.sample(range(k), dice.randrange(k + 1)))
    n = len(sensitive)
    own, other, told = (_thresholds(dice, size) for size in (n, n, 1))
    draw = {"kind": "reveal", "sensitive": sensitive, "own": own, "other": other, "told": told[0]}
    return draw, k, k


# -- cohorts, and answers that cannot be listed ----------------------------------------------------


def _hashing(dice: Random) -> tuple[Draw, int | list[str] | None]:
    """The fields of a hash, and the answers."""
    kind = dice.choice(("ldpstats", "md5", "permutation"))
    cells = (1, 2, 7, 16, 100, 256)
    shape = {
        "cohorts": dice.choice((1, 2, 5, 64, 65_537)),
        "cells": dice.choice((2, 3) if kind == "permutation" and dice.random() < 0.5 else cells),
        "hashes": dice.randrange(1, 5),
        "hash": kind,
    }
    size = dice.randrange(1, 12)
    listed = kind == "permutation" or dice.random() < 0.2
    return shape, random_labels(dice, size) if listed else None


def _hash(dice: Random) -> Question:
    shape, answers = _hashing(dice)
    own, other, keep = _thresholds(dice, 3)
    if dice.random() < 0.5:
        keep = max(own, keep, key=int)  # else the cell would seldom show
        then, reports = {"kind": "keep", "keep": keep}, shape["cells"]
    else:
        then, reports = {"kind": "bits", "own": own, "other": other}, {"bits": shape["cells"]}
    return {"answers": answers, "reports": reports, "draw": {"kind": "hash", **shape, "then": then}}


def _rappor(dice: Random) -> Question:
    shape, answers = _hashing(dice)
    names = ("owned", "absent", "one", "zero")
    limits = dict(zip(names, _thresholds(dice, 4), strict=True))
    draw = {"kind": "rappor", **shape, **limits, "once": dice.random() < 0.5}
    draw["digest"] = f"{dice.getrandbits(48):012x}"
    return {"answers": answers, "reports": {"bits": shape["cells"]}, "draw": draw}


def _personal(dice: Random) -> Question:
    labels = dice.sample(TEXTS, dice.randrange(2, 9))
    tags = [labels.pop() for _ in range(dice.randrange(1, len(labels)))]
    k = len(labels) + len(tags)
    draw = dice.choice((_replace, _reveal))(dice, k)[0]
    reports = {"bits": k} if draw["kind"] == "reveal" else labels + tags
    return {
        "answers": labels,
        "reports": reports,
        "draw": {"kind": "personal", "tags": tags, "draw": draw},
    }


def _grams(dice: Random) -> Question:
    alphabet = "".join(dice.sample("abcxyzé😀ß01 ", dice.randrange(2, 8)))
    length, gram = dice.randrange(4, 9), dice.randrange(1, 3)
    draw = {"kind": "grams", "length": length, "gram": gram, "step": dice.randrange(1, 3)}
    draw |= {
        "alphabet": alphabet,
        "pad": dice.choice(("_", " ", "\x00", "☃", alphabet[-1])),
        "gram_question": _hash_of_any(dice),
    }
    draw |= {"replace": dice.choice((None, alphabet[0])), "string_question": _hash_of_any(dice)}
    return {"answers": None, "reports": None, "draw": draw}


def _hash_of_any(dice: Random) -> Question:
    while True:
        question = _hash(dice)
        if question["answers"] is None:
            return question


_LABELS: dict[str, Callable[[Random], Made]] = {
    "same": _same, "keep": _keep, "rows": _rows, "exact": _exact, "own": _own, "others": _others,
    "band": _band, "replace": _replace, "block": _block, "parts": _parts,
}  # fmt: skip
_BITS: dict[str, Callable[[Random], Made]] = {"bits": _bits, "subset": _subset, "reveal": _reveal}
_QUESTIONS: dict[str, Callable[[Random], Question]] = {
    "hash": _hash, "rappor": _rappor, "personal": _personal, "grams": _grams,
}  # fmt: skip

DRAWS = (*_LABELS, *_BITS, *_QUESTIONS)
"""The kinds of draw of section 5."""


def random_question(dice: Random, kind: str) -> Question:
    """The answers, reports and draw of a question of this kind."""
    if kind in _QUESTIONS:
        return _QUESTIONS[kind](dice)
    draw, answers, reports = {**_LABELS, **_BITS}[kind](dice)
    sent = {"bits": reports} if kind in _BITS else random_labels(dice, reports)
    return {"answers": random_labels(dice, answers), "reports": sent, "draw": draw}
