"""Each draw of the client in JavaScript is that of the package's sampler, word by word.

A third of the words are awkward ones, such as random words hardly ever are: ties with thresholds,
and halves that are refused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from clients.vectors.tapes import Tape
from shared.javascript import answered, client_document, needs_node

from ldpstats.sampling import exact, samplers, subsets
from ldpstats.sampling.words import Words, system_words
from ldpstats.survey.asking import draw_asked

pytestmark = needs_node

ONE = 1 << 64
K = 5
Draw = Callable[[int, Words], Any]

TENTH = ONE // 10
ROWS = samplers.integer_rows(
    [[0.7, 0.2, 0.1, 0.0], [0.0, 0.0, 1.0, 0.0], [1 - 2e-18, 2e-18, 0.0, 0.0]]
)
LAWS = [exact.inversion(weights) for weights in ([3, 0, 4, 1], [0, 0, 1, 2], [1, 1, 1, 0])]
COMMON = exact.inversion([7, 1, 0, 3, 3, 3])
ACCEPTED = [Fraction(1, 3), Fraction(0), Fraction(1), Fraction(5, 7), Fraction(1, ONE * 3)]
OWN = [ONE, 1 << 63, 3 * TENTH, 0, 1, 3 * TENTH, TENTH, TENTH, ONE - 1, 12345]
OTHER = [TENTH, 1 << 63, TENTH, 0, 3 * TENTH, ONE, TENTH, 1 << 63, ONE - 1, 0]


def law(inversion: exact.Inversion) -> dict[str, Any]:
    return {
        "upper": [str(word) for word in inversion.upper],
        "rest": [str(rest) for rest in inversion.rest],
        "total": str(inversion.total),
    }


def labels(draw: dict[str, Any], answers: int, reports: int, sampler: Draw) -> Any:
    return {"answers": answers, "reports": reports, "draw": draw}, sampler


def keep(k: int, T: int, rest: Fraction | None = None) -> Any:
    draw: dict[str, Any] = {"kind": "keep", "k": k, "keep": str(T)}
    if rest is not None:
        draw["rest"] = [str(rest.numerator), str(rest.denominator)]
    given = Fraction(0) if rest is None else rest
    return labels(draw, k, k, lambda x, words: samplers.sample_krr([x], k, T, words, given)[0])


def rows(x: int, words: Words) -> Any:
    return samplers.sample_rows([x], ROWS, words)[0]


def band(width: int, T: int) -> Any:
    draw = {"kind": "band", "k": K, "width": width, "keep": str(T)}
    sampler = lambda x, words: samplers.sample_band([x], K, width, T, words)[0]  # noqa: E731
    return labels(draw, K, K + width - 1, sampler)


def bits(m: int, own: Any, other: Any) -> Any:
    text = [
        [str(T) for T in some] if isinstance(some, list) else str(some) for some in (own, other)
    ]
    draw = {"kind": "bits", "bits": m, "own": text[0], "other": text[1], "sent": m}

    def sampler(x: int, words: Words) -> str:
        packed = samplers.sample_bits([[x]], m, own, other, words)
        return "".join(map(str, np.unpackbits(packed[0], count=m, bitorder="little")))

    return {"answers": m, "reports": {"bits": m}, "draw": draw}, sampler


def subset(k: int, size: int, T: int) -> Any:
    draw = {"kind": "subset", "k": k, "size": size, "keep": str(T)}

    def sampler(x: int, words: Words) -> str:
        packed = subsets.sample_subsets([x], k, size, T, words)
        return "".join(map(str, np.unpackbits(packed[0], count=k, bitorder="little")))

    return {"answers": k, "reports": {"bits": k}, "draw": draw}, sampler


DRAWS = {
    "keep": keep(5, 3 * TENTH),
    "keep-never": keep(7, 0),
    "keep-always": keep(3, ONE),
    "keep-one": keep(1, 1 << 63),
    "keep-many": keep((1 << 32) - 5, (1 << 63) + 7),
    "keep-exactly": keep(6, TENTH, Fraction(1, 3)),
    "keep-rest-zero": keep(6, TENTH, Fraction(0)),
    "rows": labels(
        {
            "kind": "rows",
            "rows": [
                {"upper": [str(u) for u in upper], "outputs": outputs.tolist()}
                for upper, outputs in zip(ROWS.upper, ROWS.outputs, strict=True)
            ],
        },
        3,
        4,
        rows,
    ),
    "exact": labels(
        {"kind": "exact", "rows": [law(one) for one in LAWS]},
        3,
        4,
        lambda x, words: exact.sample_inversions([x], 3, lambda i: LAWS[i], words)[0],
    ),
    "own": labels(
        {"kind": "own", "law": law(COMMON)},
        K,
        K,
        lambda x, words: exact.sample_own([x], K, COMMON, words)[0],
    ),
    "others": labels(
        {
            "kind": "others",
            "law": law(COMMON),
            "accepted": [[str(one.numerator), str(one.denominator)] for one in ACCEPTED],
        },
        K,
        6,
        lambda x, words: exact.sample_others([x], K, COMMON, ACCEPTED, words)[0],
    ),
    "band": band(3, 7 * TENTH),
    "band-one": band(1, 1),
    "bits": bits(10, OWN, OTHER),
    "bits-alike": bits(130, 7 * TENTH, 3 * TENTH),
    "bits-bytes": bits(64, ONE - 1, 1),
    "bits-certain": bits(9, ONE, 0),
    "bits-even": bits(70, 1 << 63, 1 << 62),
    "subset": subset(9, 4, 6 * TENTH),
    "subset-one": subset(6, 1, TENTH),
    "subset-wide": subset(5, 4, ONE - TENTH),
    "subset-2": subset(2, 1, ONE),
}


def words_of(question: Any, n: int, rng: np.random.Generator) -> bytes:
    """Random words, a third of which tie with numbers of the document, or with the ends."""
    special = {0, 1, ONE - 1, ONE - 2}
    for text in _texts(question["draw"]):
        for shift in (-1, 0, 1):
            special.add((int(text) + shift) % ONE)
    pool = np.array(sorted(special), dtype=np.uint64)
    words = rng.integers(0, ONE, n, dtype=np.uint64)
    chosen, ties = rng.choice(pool, n), rng.random(n)
    low = np.uint64((1 << 32) - 1)
    words = np.where(ties < 1 / 6, chosen, words)
    words = np.where((ties >= 1 / 6) & (ties < 1 / 4), (chosen & ~low) | (words & low), words)
    words = np.where((ties >= 1 / 4) & (ties < 1 / 3), words & ~low, words)
    return words.astype("<u8").tobytes()


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value.isdigit() else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _texts(part)]


@functools.cache
def compared() -> dict[str, tuple[Any, Any]]:
    """What Node says of each draw, started once for all, and what the samplers do."""
    requests, expected = [], []
    for name, (question, sampler) in DRAWS.items():
        rng = np.random.default_rng(sum(map(ord, name)))
        x = rng.integers(0, min(question["answers"], 2**31), 60).tolist()
        given = words_of(question, 12_000, rng)
        source = Tape(given)
        words = system_words(source)
        reports = [str(sampler(one, words)) for one in x]
        expected.append({"reports": reports, "used": source.used})
        request = {"client": client_document(question), "random": given.hex(), "reports": None}
        requests.append(request | {"answers": [str(one) for one in x]})
    return dict(zip(DRAWS, zip(answered(*requests), expected, strict=True), strict=True))


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_is_that_of_the_sampler(name: str) -> None:
    said, expected = compared()[name]
    assert said == expected
    assert len(set(said["reports"])) > 1 or name == "keep-one"


NAMES = ["9", "1", "__proto__", "toString", "x"]
SAME = {"answers": ["a"], "reports": ["a"], "draw": {"kind": "same"}, "private": True}


def asked_of(n: int, ask: int | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """A request of 20 sheets of n questions, and what the package draws."""
    names = NAMES[:n]
    given = words_of(SAME, 1_000, np.random.default_rng(n))
    source = Tape(given)
    words = system_words(source)
    drawn = [draw_asked(1, n, ask, words)[0] for _ in range(21)][:20]
    asked = [[name for name, one in zip(names, some, strict=True) if one] for some in drawn]
    reports = [{name: "a" if name in some else None for name in names} for some in asked]
    client = client_document([{"name": name} | SAME for name in names], ask=ask)
    request = {"client": client, "random": given.hex(), "reports": 20}
    request["answers"] = [dict.fromkeys(names, "a")] * 20
    return request, {"reports": reports, "asked": asked, "used": source.used}


def test_the_questions_that_are_asked_are_drawn_as_the_package_draws_them() -> None:
    settings = [(5, 2), (5, 3), (5, 4), (5, 5), (5, None), (4, 2), (1, 1)]
    requests, expected = zip(*(asked_of(*one) for one in settings), strict=True)
    assert answered(*requests) == list(expected)
    assert len({tuple(some) for some in expected[0]["asked"]}) > 5
