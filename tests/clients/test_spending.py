"""What draws spend, from the integers of a document, is what their laws say: section 5.5."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from math import comb, exp, inf, log, log1p
from random import Random
from typing import Any

import numpy as np
import pytest
from grid import MECHANISMS
from shared.javascript import NODE, answered, client_document, needs_node, sealed

import ldpstats as ldp
from ldpstats.clients.portable.ldpstats_client import Client, Refused, spent_document
from ldpstats.clients.random_vectors import DRAWS, random_question

W = 1 << 64
Law = dict[Any, Fraction]
LISTED = [kind for kind in DRAWS if kind not in ("hash", "rappor", "grams")]


# -- the law of a draw, report by report -----------------------------------------------------------


def share(threshold: Any) -> Fraction:
    return Fraction(int(threshold), W)


def added(*parts: tuple[Any, Fraction]) -> Law:
    law: Law = {}
    for y, p in parts:
        law[y] = law.get(y, Fraction(0)) + p
    return law


def outcomes(law: dict[str, Any]) -> list[Fraction]:
    if "rest" in law:
        ends = [
            share(u) + Fraction(int(r), W * int(law["total"]))
            for u, r in zip(law["upper"], law["rest"], strict=True)
        ] + [Fraction(1)]
    else:
        ends = [share(int(u) + 1) for u in law["upper"]]
    return [b - a for a, b in zip([Fraction(0), *ends], ends, strict=False)]


def patterns(ones: list[Fraction]) -> Law:
    """Independent bits."""
    found: Law = {(): Fraction(1)}
    for one in ones:
        both = ((0, 1 - one), (1, one))
        found = {(*bits, bit): p * q for bits, p in found.items() for bit, q in both}
    return found


def each(value: Any, m: int) -> list[Fraction]:
    return [share(t) for t in (value if isinstance(value, list) else [value] * m)]


def law_of(draw: dict[str, Any], x: int, n: int) -> Law:
    """P(y | x) of every report, by what sections 5.1 to 5.3 say."""
    kind = draw["kind"]
    t = share(draw["keep"]) if "keep" in draw else Fraction(0)
    if kind == "same":
        return {x: Fraction(1)}
    if kind == "keep":
        t = min(t + Fraction(*map(int, draw.get("rest", (0, 1)))) / W, Fraction(1))
        return added((x, t), *((y, (1 - t) / draw["k"]) for y in range(draw["k"])))
    if kind == "rows":
        p = outcomes(draw["rows"][x])
        return added(*zip(draw["rows"][x].get("outputs", range(len(p))), p, strict=True))
    if kind == "exact":
        return dict(enumerate(outcomes(draw["rows"][x])))
    if kind == "own":
        own, *p = outcomes(draw["law"])
        return added((x, own), *enumerate(p))
    if kind == "others":
        p = outcomes(draw["law"])
        p[x] *= min(Fraction(*map(int, draw["accepted"][x])), Fraction(1))
        return {y: one / sum(p) for y, one in enumerate(p)} if sum(p) else {}
    if kind == "band":
        m = draw["k"] + draw["width"] - 1
        near = ((x + i, t / draw["width"]) for i in range(draw["width"]))
        return added(*near, *((y, (1 - t) / m) for y in range(m)))
    if kind == "replace":
        m = len(draw["by"])
        p = outcomes(draw["law"]) if "law" in draw else [Fraction(1, m or 1)] * m
        return added((x, t), *((y, (1 - t) * one) for y, one in zip(draw["by"], p, strict=True)))
    if kind == "bits":
        own, other = each(draw["own"], draw["bits"]), each(draw["other"], draw["bits"])
        return patterns([own[j] if j == x else other[j] for j in range(draw["sent"])])
    if kind == "subset":
        k, d = draw["k"], draw["size"]
        sets = combinations(range(k), d)
        with_x, others = comb(k - 1, d - 1), comb(k - 1, d)
        return {A: t / with_x if x in A else (1 - t) / others for A in sets}
    if kind == "reveal":
        own, other = each(draw["own"], 0), each(draw["other"], 0)
        bits = [own[i] if y == x else other[i] for i, y in enumerate(draw["sensitive"])]
        told = share(draw["told"]) if x not in draw["sensitive"] else Fraction(0)
        return {
            (bits_, mark): p * q
            for bits_, p in patterns(bits).items()
            for mark, q in ((None, 1 - told), (x, told))
        }
    if kind == "kept":  # all reports come from the first step
        return law_of(draw["first"], x, n)
    assert kind == "parts"
    numbers = []
    for part in reversed(draw["parts"]):
        numbers.append(x % part["answers"])
        x //= part["answers"]
    laws = [
        law_of(part["draw"], i, part["answers"])
        for part, i in zip(draw["parts"], reversed(numbers), strict=True)
    ]
    found: Law = {}
    for pairs in product(*(law.items() for law in laws)):
        found[tuple(y for y, _ in pairs)] = np.prod([p for _, p in pairs])
    return found


def log_ratio(a: Fraction, b: Fraction) -> float:
    if b == 0:
        return inf
    if a < 2 * b:
        return log1p(float(a / b - 1))
    return log(a.numerator * b.denominator) - log(a.denominator * b.numerator)


def brute_force(laws: list[Law], protected: set[int] | None = None) -> float:
    """The largest log ratio of a report; those that prove what is not protected are left out."""
    if any(not law for law in laws):
        return inf
    laws = [{y: p for y, p in law.items() if p} for law in laws]
    if protected is not None and not protected:
        return inf if len(laws) > 1 and any(laws[0] != law for law in laws) else 0.0
    most = 0.0
    for y in {y for law in laws for y in law}:
        column = [law.get(y, Fraction(0)) for law in laws]
        makers = {x for x, p in enumerate(column) if p > 0}
        proof = protected is not None and len(makers) == 1 and not makers & protected
        if makers and not proof:
            most = max(most, log_ratio(max(column), min(column)))
    return most


def small(kind: str, dice: Random) -> tuple[dict[str, Any], int]:
    """A random draw whose reports can be listed."""
    while True:
        question = random_question(dice, kind)
        draw, answers = question["draw"], question["answers"]
        n = answers if isinstance(answers, int) else len(answers)
        if kind == "personal":
            draw, n = draw["draw"], n + len(draw["tags"])
        sizes = [draw.get(name, 0) for name in ("k", "bits", "width")]
        if n <= 12 and max(sizes) <= 8 and len(draw.get("sensitive", ())) <= 7:
            return question, n


def protected_by(draw: dict[str, Any], n: int) -> set[int] | None:
    found = draw.get("by", draw.get("sensitive"))
    return None if found is None else {y for y in found if y < n}


@pytest.mark.parametrize("kind", [kind for kind in LISTED if kind != "block"])
def test_random_draws_spend_what_their_laws_say(kind):
    finite = 0
    for seed in range(400 if kind == "exact" else 40):  # whose laws seldom share a report
        question, n = small(kind, Random(f"{kind} {seed}"))
        draw = question["draw"]["draw"] if kind == "personal" else question["draw"]
        laws = [law_of(draw, x, n) for x in range(n)]
        for law in laws:
            assert not law or sum(law.values()) == 1
        expected = brute_force(laws, protected_by(draw, n))
        found = spent_document({"question": question})
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-15), (question, found, expected)
        finite += 0 < found < inf
    assert finite > 1 or kind == "same"


# -- mechanisms, by their matrices -----------------------------------------------------------------


def mechanisms(dice: np.random.Generator) -> Iterator[tuple[ldp.Mechanism, Any]]:
    """Random mechanisms with the matrix or channel that says what they spend."""
    k, eps = int(dice.integers(2, 9)), float(dice.uniform(0.01, 6.0))
    for made in (
        ldp.KRR(k, eps),
        ldp.SubsetSelection(k, eps),
        ldp.HadamardResponse(int(dice.integers(2, 40)), eps),
        ldp.ProjectiveGeometryResponse(int(dice.integers(2, 40)), eps),
        ldp.GeometricResponse(k, eps),
        ldp.SquareWave(np.linspace(0.0, 1.0, k + 1), eps),
        ldp.CustomMechanism(dice.dirichlet(np.ones(4), size=k), k),
        ldp.KRAPPOR(k, eps),
        ldp.KRAPPOR(k, eps, theta=float(dice.uniform(0.1, 0.9))),
    ):
        yield made, made.channel().matrix()
    cells = int(dice.integers(2, 7))
    for made in (
        ldp.ORR(cells, 40, epsilon=eps, alphabet=k),
        ldp.ORAPPOR(cells, int(dice.integers(1, 4)), 5, epsilon=eps),
        ldp.RAPPOR(
            cells, int(dice.integers(1, 4)), 5, f=0.0, p=0.2, q=float(dice.uniform(0.3, 0.9))
        ),
        ldp.URR(k, range(int(dice.integers(1, k + 1))), epsilon=eps),
        ldp.URAP(k, range(int(dice.integers(1, k + 1))), eps),
        ldp.URR(k, epsilon={0: eps, 1: eps / 2}),
        ldp.URAP(k, epsilon={0: eps, 1: eps / 2}),
    ):
        yield made, None


@pytest.mark.parametrize("seed", range(10))
def test_mechanisms_spend_what_their_matrices_say(seed):
    for made, Q in mechanisms(np.random.default_rng(seed)):
        document = made.client_document()
        found = spent_document(document)
        expected = made.audit().channel if Q is None else np.log(Q.max(0) / Q.min(0)).max()
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-12), made
        assert found <= float(document["epsilon"]) + 1e-9 * max(1.0, found), made


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_grid_spends_what_it_says(name):
    document = MECHANISMS[name].client_document()
    found, said = spent_document(document), float(document["epsilon"])
    assert found == said or found == pytest.approx(said, rel=1e-9)


def test_cells_are_the_worst_pair_of_answers():
    """Of bits after a hash, and of a permanent response: all sets of cells, by brute force."""
    for seed in range(40):
        dice = Random(seed)
        m, h = dice.randrange(1, 5), dice.randrange(1, 5)
        limits = [share(dice.getrandbits(64)) for _ in "abcd"]
        sets = [set(c) for d in range(1, min(m, h) + 1) for c in combinations(range(m), d)]
        fields = {"cohorts": 3, "cells": m, "hashes": h, "hash": "ldpstats", "digest": ""}
        texts = [str(int(one * W)) for one in limits]
        names = ("owned", "absent", "one", "zero")
        then = {"kind": "bits", "own": texts[0], "other": texts[1]}
        once = dict(zip(names, texts, strict=True)) | {"kind": "rappor", "once": True}
        a, b, one, zero = limits
        both = [p * one + (1 - p) * zero for p in (a, b)]
        for draw, (own, other) in (
            ({"kind": "hash", "then": then}, (a, b)),
            (once | {"once": False}, (a, b)),
            (once, both),
        ):
            laws = [patterns([own if j in cells else other for j in range(m)]) for cells in sets]
            question = {"answers": None, "reports": {"bits": m}, "draw": fields | draw}
            assert spent_document({"question": question}) == pytest.approx(brute_force(laws))


# -- what clients refuse ---------------------------------------------------------------------------


def forged() -> dict[str, dict[str, Any]]:
    """Documents that say 0.1, with thresholds under which a report is the answer."""
    honest: dict[str, Any] = {
        "keep": ldp.KRR(("yes", "no"), 0.1),
        "band": ldp.SquareWave(np.linspace(0, 1, 5), 0.1),
        "block": ldp.HadamardResponse(5, 0.1),
        "subset": ldp.SubsetSelection(5, 0.1),
        "hash": ldp.ORR(4, 3, epsilon=0.1),
        "replace": ldp.URR(4, {0, 1}, epsilon=0.1),
    }
    found = {}
    for kind, mechanism in honest.items():
        document = mechanism.client_document()
        draw = document["question"]["draw"]
        (draw["then"] if kind == "hash" else draw)["keep"] = str(W)
        found[kind] = sealed(document)
    sheet = ldp.Questionnaire({"ill": ldp.Warner(epsilon=0.1)}).client_document()
    sheet["questions"][0]["draw"]["keep"] = str(W)
    return found | {"questionnaire": sealed(sheet)}


FORGED = forged()
LIMITS = [None, "0.1", "1", "50", "1e300", "inf"]


@pytest.mark.parametrize("kind", FORGED)
def test_a_document_whose_reports_are_the_answers_is_refused(kind):
    requests = [{"client": FORGED[kind], "random": "", "answers": []} for _ in LIMITS]
    for request, most in zip(requests, LIMITS, strict=True):
        if most is not None:
            request["max_epsilon"] = most
        with pytest.raises(Refused, match="epsilon") as found:
            Client(FORGED[kind], max_epsilon=most)
        assert found.value.reason == "epsilon"
    if NODE is not None:
        assert answered(*requests) == [{"refused": "epsilon"}] * len(LIMITS)
    endless = sealed(FORGED[kind] | {"epsilon": "inf"})  # it says so: refused under a limit alone
    assert Client(endless).epsilon == inf
    for most in LIMITS[1:]:
        with pytest.raises(Refused):
            Client(endless, max_epsilon=most)


def test_a_limit_is_kept_to_the_last_digits():
    for epsilon in (1e-6, 0.1, 1.0, 20.0):
        document = ldp.KRR(3, epsilon).client_document()
        spent = spent_document(document)
        assert spent == pytest.approx(epsilon, rel=1e-9)
        keep = int(document["question"]["draw"]["keep"])
        more = int(keep + max(1e-8, 1e-7 * epsilon) * W * exp(-epsilon))
        document["question"]["draw"]["keep"] = str(more)
        with pytest.raises(Refused):
            Client(sealed(document))


def test_uldp_is_not_ldp_and_says_so():
    urr = ldp.URR(("nurse", "teacher", "cook"), {"cook"}, epsilon=0.5).client_document()
    assert Client(urr).epsilon == 0.5
    with pytest.raises(Refused, match="not protected, or not for all answers"):
        Client(urr, max_epsilon="0.5")
    assert Client(urr, max_epsilon="0.5", unprotected=["report"]).epsilon == 0.5
    with pytest.raises(Refused, match="list of names"):
        Client(urr, max_epsilon="0.5", unprotected="report")
    whole = ldp.URR(3, range(3), epsilon=0.5).client_document()  # all answers are sensitive
    assert Client(whole, max_epsilon="0.5").epsilon == 0.5
    sheet = ldp.Questionnaire({"ill": ldp.Warner(epsilon=0.5), "region": ldp.Observed(3)})
    with pytest.raises(Refused, match="'region'"):
        Client(sheet.client_document(), max_epsilon="0.5")
    Client(sheet.client_document(), max_epsilon="0.5", unprotected=["region"])


@needs_node
def test_the_computation_is_quick_for_large_documents():
    """A device opens these at once; 2^32 answers are no list."""
    many = {"answers": 2**32 - 1, "reports": 2**32 - 1}
    keep = {"kind": "keep", "k": 2**32 - 1, "keep": "0"}
    wide = {"kind": "bits", "bits": 1 << 20, "own": str(W // 2), "other": "1", "sent": 1 << 20}
    bits = {"answers": 1 << 20, "reports": {"bits": 1 << 20}, "draw": wide}
    requests = [
        {"client": client_document(one, epsilon="90.0"), "random": "", "answers": []}
        for one in (many | {"draw": keep}, bits)
    ]
    assert answered(*requests) == [{"reports": [], "used": 0}] * 2
    assert [spent_document(one["client"]) for one in requests] == [
        0.0,
        pytest.approx(log(W / 2) + log((1 - 1 / W) / 0.5)),
    ]
