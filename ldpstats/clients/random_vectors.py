"""Random test vectors: client documents, answers and bytes that are hard to get right.

What is expected comes from the client in Python that the package itself runs on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from random import Random
from typing import Any

from ldpstats.clients.portable.ldpstats_client import (
    conformance_answer,
    fingerprint,
    spent_document,
)
from ldpstats.errors import InvalidArgument

# -- Random draws of every kind, as client documents have them ------------------------------------


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
    any_, few = dice.getrandbits(64), dice.getrandbits(dice.randrange(1, 64))
    end = dice.choice((0, 1, W // 2, W - 1, W))
    return dice.choice((end, any_ >> 53 << 52, any_ >> 32 << 32, W - few, few, any_, any_))


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
    words = sorted(min(random_threshold(dice), W - 1) for _ in range(n - 1))
    return [str(word) for word in [*words, W - 1]]


def _fraction(dice: Random, total: int = 0) -> list[str]:
    """A fraction from 0 to 1, with a denominator of up to 200 bits."""
    total = total or 1 + dice.getrandbits(dice.choice((1, 2, 30, 64, 200)))
    return [str(dice.choice((0, total // 2, dice.randrange(total)))), str(total)]


def _law(dice: Random, n: int) -> Draw:
    """An INVERSION of n outcomes."""
    total = int(_fraction(dice)[1])
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
    design: Draw = {"kind": dice.choice(("single", "hadamard", "projective"))}
    if design["kind"] == "single":
        k = n = dice.choice((2, 3, 10, 2**30))
        own = 1
    elif design["kind"] == "hadamard":
        order, parts = dice.choice((2, 4, 16, 128, 1024, 2**17)), dice.randrange(1, 5)
        k, n = dice.randrange((parts - 1) * (order - 1), parts * (order - 1)) + 1, parts * order
        own, design["order"] = order // 2, order
    else:
        q, t = dice.choice(((2, 2), (2, 5), (3, 3), (5, 2), (5, 4), (101, 2)))
        n, own = ((q**i - 1) // (q - 1) for i in (t, t - 1))
        k = dice.randrange(1, n + 1)
        design |= {"q": q, "t": t}
    draw = {"kind": "block", "own": own, "others": n - own, "keep": str(random_threshold(dice))}
    return draw | {"design": design}, k, n


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


def _subset(dice: Random) -> Made:
    k, keep = dice.choice((2, 3, 4, 5, 8, 21)), str(random_threshold(dice))
    return {"kind": "subset", "k": k, "size": dice.randrange(1, k), "keep": keep}, k, k


def _reveal(dice: Random, k: int | None = None) -> Made:
    k = k or dice.choice((1, 2, 5, 20))
    sensitive = sorted(dice.sample(range(k), dice.randrange(k + 1)))
    n = len(sensitive)
    told = str(random_threshold(dice))
    draw = {"kind": "reveal", "sensitive": sensitive, "told": told, "own": _thresholds(dice, n)}
    return draw | {"other": _thresholds(dice, n)}, k, k


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


def _kept(dice: Random) -> Question:
    first, answers, responses = _rows(dice)
    size = 0
    while size != responses:
        then, size, reports = dice.choice((_keep, _rows, _exact, _replace, _parts))(dice)
    draw = {"kind": "kept", "digest": dice.choice(TEXTS), "responses": responses}
    draw |= {"first": first, "then": then}
    sent = random_labels(dice, reports)
    return {"answers": random_labels(dice, answers), "reports": sent, "draw": draw}


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
    draw: Draw = {"kind": "grams", "length": length, "gram": gram, "step": dice.randrange(1, 3)}
    pad = dice.choice(("_", " ", "\x00", "☃", alphabet[-1]))
    draw |= {"alphabet": alphabet, "pad": pad, "replace": dice.choice((None, alphabet[0]))}
    for name in ("gram_question", "string_question"):  # of any text
        while (question := _hash(dice))["answers"] is not None:
            continue
        draw[name] = question
    return {"answers": None, "reports": None, "draw": draw}


_LABELS: dict[str, Callable[[Random], Made]] = {
    "same": _same, "keep": _keep, "rows": _rows, "exact": _exact, "own": _own, "others": _others,
    "band": _band, "replace": _replace, "block": _block, "parts": _parts,
}  # fmt: skip
_BITS: dict[str, Callable[[Random], Made]] = {"bits": _bits, "subset": _subset, "reveal": _reveal}
_QUESTIONS: dict[str, Callable[[Random], Question]] = {
    "hash": _hash, "rappor": _rappor, "kept": _kept, "personal": _personal, "grams": _grams,
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


W = 1 << 64
_MOST_WORDS = 400
_LONG_BYTES = 1 << 17
_EVERY = 250  # vectors, of which one has more bits than a block of COINS
_KINDS = (*DRAWS, "questionnaire", "hash", "block", "questionnaire", "keep", "questionnaire")


def random_vectors(n: int, seed: int) -> tuple[Vector, ...]:
    """Vectors that no client can have stored; kinds of draw take turns."""
    return tuple(_vector(Random(f"{seed} {i}"), i) for i in range(n))


def _vector(dice: Random, number: int) -> Vector:
    if number % _EVERY == _EVERY // 2:
        # A question of kind `bits` whose words, two for each bit, are drawn in two blocks
        k = (1 << 18) + dice.randrange(1, 600)
        own, other = str(random_threshold(dice)), str(dice.choice((1, 3)) * (W // 4))
        draw = {"kind": "bits", "bits": k, "own": own, "other": other, "sent": k}
        asked: dict[str, Any] = {"question": {"answers": k, "reports": {"bits": k}, "draw": draw}}
        words = dice.randbytes(_LONG_BYTES).hex()
        long: dict[str, Any] = {"client": _sealed(asked, "inf"), "random": words, "answers": ["7"]}
        return _with_reports(f"random {number} (long bits)", long)
    kind = _KINDS[number % len(_KINDS)]
    alone = kind != "questionnaire"
    asked = {"question": random_question(dice, kind)} if alone else _questions(dice)
    spent = spent_document(asked)
    claims = (*["inf"] * 6, *[repr(spent)] * 4, repr(1.5 * spent + 0.25), repr(0.999 * spent))
    document = _damaged(dice, _sealed(asked, dice.choice(claims), f"{dice.getrandbits(48):012x}"))
    request: dict[str, Any] = {"client": document, "random": _bytes(dice, document).hex()}
    request |= dice.choice((*[{"reports": None}] * 9, {"reports": 1}, {"reports": 3}, {}))
    if (kind in ("rappor", "kept") or "link" in document) and dice.random() < 0.7:
        request["secret"] = dice.randbytes(32).hex()
    several = [{"name": "report", **document["question"]}] if alone else document["questions"]
    if tags := {one["name"]: held for one in several if (held := _tags(dice, one))}:
        request["tags"] = tags["report"] if alone else tags
    if dice.random() < 0.1:
        request["max_epsilon"] = dice.choice(("1", "0.5", "2.0", "50", "1e3", "inf"))
        request["unprotected"] = [one["name"] for one in several if dice.random() < 0.5]
    answer = partial(_text, dice, several[0]) if alone else partial(_sheet, dice, several)
    request["answers"] = [answer() for _ in range(dice.randrange(1, 6))]
    return _with_reports(f"random {number} ({kind})", request)


def _with_reports(name: str, request: dict[str, Any]) -> Vector:
    expected = conformance_answer({"id": 0, **json.loads(json.dumps(request))})
    del expected["id"]
    return Vector(name, request, expected)


# -- documents -------------------------------------------------------------------------------------


def _sealed(asked: dict[str, Any], epsilon: str, survey: str = "0123456789ab") -> dict[str, Any]:
    """A client document with its fingerprint."""
    document = {"format": "ldpstats-client", "version": 1, "survey": survey, "epsilon": epsilon}
    document |= asked
    return document | {"fingerprint": fingerprint(document)}


def _questions(dice: Random) -> dict[str, Any]:
    """A questionnaire of up to nine questions, some of any kind."""
    names = dice.sample(TEXTS, dice.randrange(1, 10))
    keeps = dice.random() < 0.3  # waves that are linked, of devices that keep responses
    several = [kind for kind in DRAWS if keeps or kind not in ("rappor", "kept")]
    questions: list[dict[str, Any]] = []
    for name in names:
        kind = dice.choice(several) if dice.random() < 0.4 else dice.choice(("same", "keep"))
        question = random_question(dice, kind)
        question |= {"name": name, "private": dice.random() < 0.8}
        if isinstance(question["answers"], list) and dice.random() < 0.3:
            question["refused"] = dice.choice(question["answers"])
        questions.append(question)
    n = sum(question["private"] for question in questions)
    ask = dice.choice((None, n // 2 or 1, n // 2 or 1, dice.randrange(1, n + 1))) if n else None
    waves = {"wave": dice.choice(TEXTS[6:]), "family": "0123456789ab", "link": True}
    return {"questions": questions, "ask": ask, **(waves if keeps else {})}


def _damaged(dice: Random, document: dict[str, Any]) -> dict[str, Any]:
    """The document, or one in twelve times one that must be refused."""
    if dice.random() > 1 / 12:
        return document
    damaged: dict[str, Any] = json.loads(json.dumps(document))
    del damaged["fingerprint"]
    what = dice.randrange(4)
    if what < 2:
        return damaged | ({"fingerprint": "0123456789ab"} if what else {})
    question = dice.choice(damaged.get("questions", [damaged.get("question")]))
    if what == 2:
        question["draw"]["kind"] = dice.choice(("", "Keep", "constructor", "__proto__"))
    else:
        del question[dice.choice(("answers", "reports", "draw"))]
        if "draw" in question:  # some kinds need no `reports`
            question["draw"] = {"kind": "keep"}
    return damaged | {"fingerprint": fingerprint(damaged)}


# -- bytes -----------------------------------------------------------------------------------------


def _bytes(dice: Random, document: dict[str, Any]) -> bytes:
    """Random bytes: independent ones, or many that tie with a threshold or must be rejected."""
    # Runs of words at which a draw of the document may turn
    text = json.dumps(document)
    half = dice.getrandbits(32)
    crafted = [[word] for word in (0, W - 1, W >> 1, W - (1 << 32), (1 << 32) - 1)]
    crafted += [[W - 1] * dice.randrange(2, 20), [half << 32 | half]]
    limits = dict.fromkeys(int(digits) for digits in re.findall(r'"(\d{1,400})"', text))
    for limit in [*limits][:20]:
        high, low = limit % W >> 32 << 32, limit % (1 << 32) << 32
        crafted += [[word % W] for word in (limit - 1, limit, limit + 1)]
        for tie in (low - 1, low, low, low + (1 << 32)):
            crafted.append([high + dice.getrandbits(32), tie % W])
    for k in [*dict.fromkeys(int(digits) for digits in re.findall(r"\d{1,10}", text))][:40]:
        if 1 < k < 1 << 32:  # the least of the half words that give j, where some are rejected
            j = dice.randrange(k)
            crafted.append([(dice.getrandbits(32) << 32) + -(-(j << 32) // k) % (1 << 32)])
    if dice.random() < 0.5:  # the same few again and again
        crafted = [[W - 1], *dice.sample(crafted, 3)]
    share = dice.choice((0.0, 0.2, 0.6, 0.9))
    ones = dice.choice((0.0, 0.0, 0.0, 0.8))
    words: list[int] = []
    most = dice.choice((3, 40, *[_MOST_WORDS] * 5))
    while len(words) < most:
        words += dice.choice(crafted) if dice.random() < share else [dice.getrandbits(64)]
        if dice.random() < ones:  # bits that are tied for long
            words[-1] |= dice.getrandbits(64) | dice.getrandbits(64) | dice.getrandbits(64)
    return b"".join(word.to_bytes(8, "little") for word in words[:most])


# -- answers, tags, secrets ------------------------------------------------------------------------


def _tags(dice: Random, question: dict[str, Any]) -> dict[str, list[str]]:
    draw = question.get("draw") or {}
    tags: dict[str, list[str]] = {}
    if draw.get("kind") != "personal" or dice.random() < 0.1:
        return tags
    for answer in question.get("answers", ()):
        if dice.random() < 0.5:
            tags.setdefault(dice.choice(draw["tags"]), []).append(answer)
    if dice.random() < 0.1:
        tags["none of them"] = ["nurse"]
    return tags


def _sheet(dice: Random, questions: list[dict[str, Any]]) -> Any:
    """Answers to questions, some of them missing; one in thirty is none."""
    answers: dict[str, Any] = {"no question": None} if dice.random() < 0.05 else {}
    for one in questions:
        if (luck := dice.random()) < 0.9:
            answers[one["name"]] = None if luck < 0.15 else _text(dice, one, 60)
    return answers if dice.random() < 0.97 else dice.choice((None, "nurse", [], 3))


_WRONG: tuple[Any, ...] = (None, 0, 1, True, [], {}, "\ud800", "a\udc00b", "no answer", *TEXTS)


def _text(dice: Random, question: dict[str, Any], one_in: int = 12) -> Any:
    """An answer to a question; one in twelve is wrong."""
    answers, draw = question.get("answers"), question.get("draw") or {}
    if dice.randrange(one_in) == 0:
        return dice.choice(_WRONG)
    if draw.get("kind") == "grams":
        letters = draw["alphabet"] * 5 + draw["pad"] + "?"
        return "".join(dice.choice(letters) for _ in range(dice.randrange(1, 12)))
    if isinstance(answers, int):
        return str(dice.choice((0, answers - 1, dice.randrange(answers))))
    return dice.choice(answers or dice.choice((TEXTS, COMPOSED)))


# -- Test vectors: client documents, random bytes, answers, and the reports that come of them -----


@dataclass(frozen=True)
class Vector:
    """What one client is given, and what it must answer."""

    name: str
    request: Mapping[str, Any]
    expected: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The kind of draw of its document, or what stands for it."""
        return kinds(self.request["client"])[0]


def kinds(document: Any) -> list[str]:
    """The kinds of draw of a client document, the outermost first; "questionnaire" is one."""
    outer = ["questionnaire"] if isinstance(document, dict) and "questions" in document else []
    outer += _inner(document)
    return list(dict.fromkeys(outer)) or ["other"]


def _inner(part: Any) -> list[str]:
    if isinstance(part, list):
        return [kind for one in part for kind in _inner(one)]
    if not isinstance(part, dict):
        return []
    draw = part.get("draw")
    own = draw.get("kind") if isinstance(draw, dict) else None
    here = [own] if own in DRAWS else []
    return here + [kind for one in part.values() for kind in _inner(one)]


@cache
def stored_vectors() -> tuple[Vector, ...]:
    """The vectors that come with the package."""
    stored = json.loads(files("ldpstats.clients").joinpath("vectors.json").read_bytes())
    vectors = []
    for one in stored["vectors"]:
        request = {name: value for name, value in one.items() if name not in ("name", "expected")}
        if isinstance(request["client"], str):
            request["client"] = stored["clients"][request["client"]]
        vectors.append(Vector(one["name"], request, one["expected"]))
    return tuple(vectors)


def chosen(vectors: Iterable[Vector], only: Sequence[str]) -> tuple[Vector, ...]:
    """Those that have one of the names, or a draw of one of the kinds; all where there is none."""
    known = [(one, {one.name, *kinds(one.request["client"])}) for one in vectors]
    for name in only:
        if not any(name in names for _, names in known):
            every = {kind for one, _ in known for kind in kinds(one.request["client"])}
            remedy = f"is no name of a vector and no kind of draw: {', '.join(sorted(every))}"
            raise InvalidArgument("--only", name, remedy)
    return tuple(one for one, names in known if not only or names & set(only))
