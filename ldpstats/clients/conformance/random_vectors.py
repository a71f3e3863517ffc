"""Random test vectors: client documents, answers and bytes that are hard to get right.

What is expected comes from the client in Python that the package itself runs on.
"""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from ldpstats.clients.conformance.random_draws import (
    COMPOSED,
    DRAWS,
    TEXTS,
    long_question,
    random_question,
)
from ldpstats.clients.conformance.vectors import Vector
from ldpstats.clients.portable.ldpstats_client import (
    conformance_answer,
    fingerprint,
    spent_document,
)

__all__ = ["random_vectors"]

W = 1 << 64
_MOST_WORDS = 400
_LONG_BYTES = 1 << 17
_EVERY = 250  # vectors, of which one has more bits than a block of COINS
_KINDS = (*DRAWS, "questionnaire", "hash", "block", "questionnaire", "keep", "questionnaire")


def random_vectors(n: int, seed: int) -> tuple[Vector, ...]:
    """Vectors that no client can have stored; kinds of draw take turns.

    Parameters
    ----------
    n : int
        How many.
    seed : int
        The same one makes the same vectors.
    """
    return tuple(_vector(Random(f"{seed} {i}"), i) for i in range(n))


def _vector(dice: Random, number: int) -> Vector:
    if number % _EVERY == _EVERY // 2:
        return _long_vector(dice, number)
    kind = _KINDS[number % len(_KINDS)]
    document = _damaged(dice, _document(dice, kind))
    request = {
        "client": document,
        "random": _bytes(dice, document).hex(),
        **dice.choice((*[{"reports": None}] * 9, {"reports": 1}, {"reports": 3}, {})),
        **_options(dice, document),
    }
    request["answers"] = [_answer(dice, document) for _ in range(dice.randrange(1, 6))]
    return _with_reports(f"random {number} ({kind})", request)


def _long_vector(dice: Random, number: int) -> Vector:
    """A report of more than 4,096 words, which are drawn in blocks."""
    document = _sealed({"question": long_question(dice)}, "inf")
    request = {"client": document, "random": dice.randbytes(_LONG_BYTES).hex(), "answers": ["7"]}
    return _with_reports(f"random {number} (long bits)", request)


def _with_reports(name: str, request: dict[str, Any]) -> Vector:
    expected = conformance_answer({"id": 0, **json.loads(json.dumps(request))})
    del expected["id"]
    return Vector(name, request, expected)


# -- documents -------------------------------------------------------------------------------------


def _document(dice: Random, kind: str) -> dict[str, Any]:
    asked = (
        _questions(dice) if kind == "questionnaire" else {"question": random_question(dice, kind)}
    )
    survey = f"{dice.getrandbits(48):012x}"
    spent = spent_document(asked)
    claims = (*["inf"] * 6, *[repr(spent)] * 4, repr(1.5 * spent + 0.25), repr(0.999 * spent))
    return _sealed(asked, dice.choice(claims), survey)


def _sealed(asked: dict[str, Any], epsilon: str, survey: str = "0123456789ab") -> dict[str, Any]:
    """A client document with its fingerprint."""
    document = {"format": "ldpstats-client", "version": 1, "survey": survey, "epsilon": epsilon}
    document |= asked
    return document | {"fingerprint": fingerprint(document)}


def _questions(dice: Random) -> dict[str, Any]:
    """A questionnaire of up to nine questions, some of any kind."""
    names = dice.sample(TEXTS, dice.randrange(1, 10))
    several = [kind for kind in DRAWS if kind != "rappor"]
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
    return {"questions": questions, "ask": ask}


def _damaged(dice: Random, document: dict[str, Any]) -> dict[str, Any]:
    """The document, or one in twelve times one that must be refused."""
    if dice.random() > 1 / 12:
        return document
    what = dice.randrange(4)
    if what == 0:
        return {**document, "fingerprint": document["fingerprint"][::-1] + "0"}
    if what == 1:
        return {name: value for name, value in document.items() if name != "fingerprint"}
    damaged: dict[str, Any] = json.loads(json.dumps(document))
    del damaged["fingerprint"]
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
    crafted = _crafted(dice, document)
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


def _crafted(dice: Random, document: dict[str, Any]) -> list[list[int]]:
    """Runs of words at which a draw of the document may turn."""
    text = json.dumps(document)
    half = dice.getrandbits(32)
    found = [[word] for word in (0, W - 1, W >> 1, W - (1 << 32), (1 << 32) - 1)]
    found += [[W - 1] * dice.randrange(2, 20), [half << 32 | half]]
    limits = dict.fromkeys(int(digits) for digits in re.findall(r'"(\d{1,400})"', text))
    for limit in [*limits][:20]:
        high, low = limit % W >> 32 << 32, limit % (1 << 32) << 32
        found += [[word % W] for word in (limit - 1, limit, limit + 1)]
        for tie in (low - 1, low, low, low + (1 << 32)):
            found.append([high + dice.getrandbits(32), tie % W])
    for k in [*dict.fromkeys(int(digits) for digits in re.findall(r"\d{1,10}", text))][:40]:
        if 1 < k < 1 << 32:  # the least of the half words that give j, where some are rejected
            j = dice.randrange(k)
            found.append([(dice.getrandbits(32) << 32) + -(-(j << 32) // k) % (1 << 32)])
    return found


# -- answers, tags, secrets ------------------------------------------------------------------------


def _options(dice: Random, document: dict[str, Any]) -> dict[str, Any]:
    question = document.get("question") or {}
    draw = question.get("draw") or {}
    found: dict[str, Any] = {}
    if draw.get("kind") == "rappor" and dice.random() < 0.7:
        found["secret"] = dice.randbytes(32).hex()
    tags: dict[str, Any]
    if "questions" in document:
        tags = {one["name"]: t for one in document["questions"] if (t := _tags(dice, one))}
    else:
        tags = _tags(dice, question)
    if tags:
        found["tags"] = tags
    if dice.random() < 0.1:
        found["max_epsilon"] = dice.choice(("1", "0.5", "2.0", "50", "1e3", "inf"))
        names = [one["name"] for one in document.get("questions", ())] or ["report"]
        found["unprotected"] = dice.sample(names, dice.randrange(len(names) + 1))
    return found


def _tags(dice: Random, question: dict[str, Any]) -> dict[str, list[str]]:
    draw = question.get("draw") or {}
    if draw.get("kind") != "personal" or dice.random() < 0.1:
        return {}
    tags: dict[str, list[str]] = {}
    for answer in question.get("answers", ()):
        if dice.random() < 0.5:
            tags.setdefault(dice.choice(draw["tags"]), []).append(answer)
    if dice.random() < 0.1:
        tags["none of them"] = ["nurse"]
    return tags


def _answer(dice: Random, document: dict[str, Any]) -> Any:
    """An answer to a document; one in twelve is wrong."""
    if "questions" not in document:
        return _text(dice, document.get("question") or {})
    answers = {one["name"]: _text(dice, one, 60) for one in document["questions"]}
    for name in list(answers):
        if dice.random() < 0.15:
            answers[name] = None
        elif dice.random() < 0.1:
            del answers[name]
    if dice.random() < 0.05:
        answers["no question"] = None
    return answers if dice.random() < 0.97 else dice.choice((None, "nurse", [], 3))


def _text(dice: Random, question: dict[str, Any], one_in: int = 12) -> Any:
    """An answer to a question."""
    answers, draw = question.get("answers"), question.get("draw") or {}
    if dice.randrange(one_in) == 0:
        wrong: tuple[Any, ...] = (
            None,
            0,
            1,
            True,
            [],
            {},
            "\ud800",
            "a\udc00b",
            "no answer",
            *TEXTS,
        )
        return dice.choice(wrong)
    if draw.get("kind") == "grams":
        letters = draw["alphabet"] * 5 + draw["pad"] + "?"
        return "".join(dice.choice(letters) for _ in range(dice.randrange(1, 12)))
    if isinstance(answers, int):
        return str(dice.choice((0, answers - 1, dice.randrange(answers))))
    return dice.choice(answers or dice.choice((TEXTS, COMPOSED)))
