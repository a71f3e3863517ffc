"""Random devices against an interpreter that lists every way that chance can go."""

import decimal
import hashlib
import json
import pickle
import random
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import inf, nextafter
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats import devices
from ldpstats.devices import (
    Device,
    another,
    cards,
    cohorts,
    flip,
    hashed,
    opposite,
    parts,
    question,
    roll,
    say,
    spin,
    truth,
)
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms import DeviceMechanism, mechanism_from_dict
from ldpstats.programs import steps
from ldpstats.programs.laws import law, nearest_log

ALPHABETS: tuple[tuple[Any, ...], ...] = (
    ("no", "yes"),
    ("a", "b", "c"),
    (False, True),
    tuple(range(4)),
    (0.5, "x", 3),
    ("nurse", "cook", "driver", "clerk", "baker"),
)

OTHERS = ("red", "black", "green")

MOST_WAYS = 4000


# ---- the ways that chance can go
def ways(step: steps.Step, answer: Any, answers: tuple[Any, ...]) -> Iterator[tuple[Fraction, Any]]:
    """Every way with its probability and its report; the same report may come many times."""
    name = type(step).__name__
    if isinstance(step, steps.When):
        for p, outcome in ways(step.source, answer, answers):
            for q, report in ways(branch(step, outcome), answer, answers):
                yield p * q, report
    elif isinstance(step, steps.Then):
        seen = middle(step.first, answers)
        for p, between in ways(step.first, answer, answers):
            for q, report in ways(step.second, between, seen):
                yield p * q, report
    elif isinstance(step, steps.Parts):
        for each in product(*(list(ways(part, answer, answers)) for part in step.steps)):
            chance = Fraction(1)
            for p, _ in each:
                chance *= p
            yield chance, ", ".join(str(report) for _, report in each)
    elif isinstance(step, steps.Cohorts):
        for c, part in enumerate(step.steps):
            for p, report in ways(part, answer, answers):
                yield p / len(step.steps), f"{c}:{report}"
    elif name in ("Truth", "Say"):
        yield Fraction(1), step.label if isinstance(step, steps.Say) else answer
    elif name in ("Another", "Opposite"):
        rest = [label for label in answers if not same(label, answer)]
        yield from ((Fraction(1, len(rest)), label) for label in rest)
    elif isinstance(step, steps.Hashed):
        yield Fraction(1), cell(str(answer), step.cohort, step.n_outputs)
    else:
        yield from draws(step)


def draws(step: Any) -> Iterator[tuple[Fraction, Any]]:
    if isinstance(step, steps.Flip):
        yield step.p, "heads"
        yield 1 - step.p, "tails"
    elif isinstance(step, steps.Roll):
        yield from ((Fraction(1, step.sides), side + 1) for side in range(step.sides))
    elif isinstance(step, steps.Question):
        yield 1 - step.prevalence, step.answers[0]
        yield step.prevalence, step.answers[1]
    elif step.numbers if isinstance(step, steps.Cards) else None:
        deck = [
            label for (label, _), n in zip(step.law, step.numbers, strict=True) for _ in range(n)
        ]
        yield from ((Fraction(1, len(deck)), card) for card in deck)
    else:
        yield from ((p, label) for label, p in step.law)


def branch(step: steps.When, outcome: Any) -> steps.Step:
    for keys, way in step.branches:
        if any(same(key, outcome) for key in keys):
            return way
    assert step.otherwise is not None
    return step.otherwise


def middle(first: steps.Step, answers: tuple[Any, ...]) -> tuple[Any, ...]:
    """The answers of the step that comes next: what may be reported to it."""
    said = sayable(first, answers)
    within = all(any(same(label, answer) for answer in answers) for label in said)
    return answers if within and first.outcomes is None else said


def sayable(step: steps.Step, answers: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a step can say to any of these answers, reached or not."""
    found: list[Any] = []
    if isinstance(step, steps.When):
        for outcome in sayable(step.source, answers):
            found += sayable(branch(step, outcome), answers)
    elif isinstance(step, steps.Then):
        found += sayable(step.second, middle(step.first, answers))
    elif isinstance(step, steps.Cohorts):
        for c, part in enumerate(step.steps):
            found += [f"{c}:{label}" for label in sayable(part, answers)]
    elif isinstance(step, steps.Hashed):
        found += range(step.n_outputs)
    else:
        found += [report for answer in answers for _, report in ways(step, answer, answers)]
    return tuple({(type(label), label): label for label in found}.values())


def same(first: Any, second: Any) -> bool:
    return type(first) is type(second) and bool(first == second)


def cell(text: str, cohort: int, n_cells: int) -> int:
    """Section 6 of the clients' specification, in whole numbers."""
    head = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    mixed = mix(head ^ mix(0x9E3779B97F4A7C15 * (65536 * cohort + 1) % 2**64))
    return (mixed >> 32) * n_cells >> 32


def mix(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def listed(device: Device, categories: tuple[Any, ...]) -> list[dict[Any, Fraction]]:
    """The law of the reports of each category, ways added up, without impossible reports."""
    rows = []
    for answer in categories:
        row: dict[Any, Fraction] = {}
        for p, report in ways(device.step, answer, categories):
            key = type(report).__name__, report
            row[key] = row.get(key, Fraction(0)) + p
        rows.append({key: p for key, p in row.items() if p})
    return rows


# ---- random devices
def random_device(number: int) -> tuple[Device, tuple[Any, ...]]:
    """A device, and categories that it fits; the same for the same number."""
    dice = random.Random(number)
    while True:
        categories = dice.choice(ALPHABETS)
        pool = dice.choice((categories, categories, OTHERS))
        try:
            device = _random(dice, categories, pool, dice.choice((1, 2, 2, 3)))
            law(device.step, categories)
        except InvalidArgument as error:  # labels that look alike, as False and the cell 0 do
            if not any(why in str(error) for why in ("looks the same", "same way", "two ways")):
                raise
            continue
        if count_ways(device.step, categories) <= MOST_WAYS:
            return device, categories


def count_ways(step: steps.Step, answers: tuple[Any, ...]) -> int:
    """A bound of the number of ways."""
    if isinstance(step, steps.When):
        rest = () if step.otherwise is None else (step.otherwise,)
        most = max(count_ways(s, answers) for s in (*(w for _, w in step.branches), *rest))
        return count_ways(step.source, answers) * most
    if isinstance(step, steps.Then | steps.Parts):
        total = 1
        for child in step.children:
            total *= count_ways(child, (*answers, *OTHERS, *range(6)))
        return total
    if isinstance(step, steps.Cohorts):
        return sum(count_ways(child, answers) for child in step.steps)
    if isinstance(step, steps.Another):
        return len(answers)
    if isinstance(step, steps.Cards) and step.numbers is not None:
        return sum(step.numbers)
    return 1 if step.outcomes is None else len(step.outcomes)


def _random(
    dice: random.Random, answers: tuple[Any, ...], pool: tuple[Any, ...], depth: int
) -> Device:
    if depth == 0:
        return _value(dice, answers, pool)
    kind = dice.choice(("when", "when", "when", "truth", "then", "parts", "cohorts", "hashed"))
    if kind == "then":
        first = _random(dice, answers, dice.choice((answers, pool)), depth - 1)
        between = middle(first.step, answers) if count_ways(first.step, answers) < 500 else ()
        return first >> _random(dice, between, pool, depth - 1) if between else first
    if kind == "parts":
        return parts(*(_random(dice, answers, pool, depth - 1) for _ in range(2)))
    if kind == "cohorts":
        return cohorts([_random(dice, answers, pool, depth - 1) for _ in range(dice.randint(1, 3))])
    if kind == "hashed":
        cells = hashed(dice.randint(2, 4), dice.randint(0, 9))
        return cells >> _random(dice, cells.step.outcomes or (), pool, depth - 1)
    source = truth if kind == "truth" else _draw(dice)
    if kind == "when" and dice.random() < 0.2:
        source = _random(dice, answers, pool, depth - 1)
    return _branched(dice, source, answers, pool, depth)


def _branched(
    dice: random.Random, source: Device, answers: tuple[Any, ...], pool: tuple[Any, ...], depth: int
) -> Device:
    said = source.step.outcomes
    outcomes = list(law(source.step, answers).outputs if said is None else said)
    dice.shuffle(outcomes)
    branches: dict[Any, Any] = {}
    rest = None
    while outcomes:
        take = dice.randint(1, len(outcomes))
        some, outcomes = outcomes[:take], outcomes[take:]
        way = _random(dice, answers, pool, depth - 1)
        if branches and dice.random() < 0.3:
            rest, outcomes = way, []
        else:
            branches[some[0] if take == 1 else tuple(some)] = way
    return source.when(branches, otherwise=rest)


def _value(dice: random.Random, answers: tuple[Any, ...], pool: tuple[Any, ...]) -> Device:
    values = [say(dice.choice(pool)), say(dice.choice(pool))]
    if pool != OTHERS:
        values += [truth, truth, another] if len(answers) > 1 else [truth]
        values += [opposite] if len(answers) == 2 else []
    return dice.choice(values)


def _draw(dice: random.Random) -> Device:
    kind = dice.choice(("flip", "roll", "spin", "cards", "question"))
    if kind == "flip":
        return flip(probability(dice))
    if kind == "roll":
        return roll(dice.choice((1, 2, 6, 10)))
    if kind == "cards":
        return cards({suit: dice.randint(1, 5) for suit in ("spade", "heart", "club")})
    if kind == "question":
        return question(probability(dice))
    weights = [dice.randint(0, 10 ** dice.choice((1, 2, 25))) + 1 for _ in range(3)]
    total = sum(weights)
    return spin({i: Fraction(w, total) for i, w in enumerate(weights)})


def probability(dice: random.Random) -> Any:
    """A probability in one of the forms in which people write them."""
    high = dice.choice((6, 52, 10**6, 10**30))
    p = Fraction(dice.randint(1, high - 1), high)
    form = dice.choice(("fraction", "text", "float", "decimal"))
    if form == "text":
        return str(p)
    if form == "float":
        return float(p)
    return Decimal(p.numerator) / Decimal(10**30) if high == 10**30 and form == "decimal" else p


MANY, FEW = 4_000, 200


def mechanism_of(device: Device, categories: tuple[Any, ...]) -> DeviceMechanism:
    """The mechanism; where reports are of both kinds, also in a cohort, with all of them listed."""
    try:
        return device.mechanism(categories)
    except ldp.InvalidArgument as error:
        assert "list all reports, outputs=" in str(error)
        return device.mechanism(categories, outputs=law(device.step, categories).outputs)


def brute_ratio(rows: list[dict[Any, Fraction]]) -> Fraction | float:
    """The largest ratio of two probabilities of a report, pair by pair."""
    worst: Fraction | float = Fraction(1)
    for first in rows:
        for second in rows:
            for report, p in first.items():
                worst = max(worst, p / second[report] if report in second else inf)
    return worst


def is_nearest_log(found: float, ratio: Fraction | float) -> bool:
    """Whether no float is nearer to ln(ratio), by 200 digits of decimal arithmetic."""
    if not isinstance(ratio, Fraction) or ratio == 1:
        return found == (0.0 if ratio == 1 else inf)
    with decimal.localcontext(prec=200):
        exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        off = [abs(Decimal(x) - exact) for x in (found, nextafter(found, 0), nextafter(found, inf))]
    return off[0] == min(off)


def check(number: int) -> None:
    device, categories = random_device(number)
    mechanism = mechanism_of(device, categories)
    rows = listed(device, categories)
    names = [(type(y).__name__, y) for y in mechanism.outputs.tolist()]
    exact = [{y: p for y, p in zip(names, row, strict=True) if p} for row in mechanism.exact]
    assert exact == rows
    assert all(sum(row) == 1 for row in mechanism.exact)
    ratio = brute_ratio(rows)
    assert mechanism.ratio == ratio and is_nearest_log(mechanism.epsilon, ratio)
    audit = mechanism.audit()
    assert audit.agrees and audit.sampler == audit.declared == mechanism.epsilon
    document = json.loads(json.dumps(mechanism.to_dict()))
    again = mechanism_from_dict(document)
    assert again == mechanism and again.fingerprint == mechanism.fingerprint
    assert isinstance(again, DeviceMechanism) and again.exact == mechanism.exact
    assert Device.from_dict(json.loads(json.dumps(device.to_dict()))) == device
    assert eval(repr(device), vars(devices) | {"Fraction": Fraction}) == device
    assert pickle.loads(pickle.dumps(device)) == device
    own = mechanism.equivalent
    if own is not None:
        Q, same = mechanism.channel().matrix(), own.channel().matrix()
        np.testing.assert_allclose(Q, same, rtol=1e-13, atol=1e-15)
    draw(mechanism, number)


def draw(mechanism: DeviceMechanism, seed: int, n: int = 100) -> None:
    """Reports of n respondents of each category: possible ones, in their proportions."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(mechanism.k), n)
    reports = mechanism.privatize(mechanism.categories.take(codes), rng)
    seen = np.zeros((mechanism.k, mechanism.n_outputs))
    np.add.at(seen, (codes, reports.y), 1)
    Q = mechanism.channel().matrix()
    assert not seen[Q == 0.0].any()
    off = np.divide((seen - n * Q) ** 2, n * Q, out=np.zeros_like(Q), where=Q > 0.05)
    # Pearson's sum has mean and half its variance below the number of cells
    assert off.sum() < Q.size + 8 * np.sqrt(2.0 * Q.size) + 20


@pytest.mark.parametrize("start", range(0, FEW, 100))
def test_random_devices(start):
    for number in range(start, start + 100):
        check(number)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, MANY, 1000))
def test_many_random_devices(start, attempts):
    for number in range(start, start + attempts(1000)):
        check(number)


def test_the_devices_are_of_many_kinds():
    text = " ".join(repr(random_device(number)[0]) for number in range(FEW))
    words = ("truth", "opposite", "another", "flip(", "roll(", "spin(", "cards(", "question(")
    words += ("parts(", "hashed(", "cohorts(", ">>", "otherwise=", "truth.when(")
    assert all(text.count(word) > 20 for word in words)


def test_the_interpreter_sees_a_small_change():
    """Negative control: a probability that is off by 1e-30 is another device."""
    p = Fraction(1, 3)
    right, wrong = (
        devices.flip(q).when({"heads": devices.truth}, otherwise="a")
        for q in (p, p + Fraction(1, 10**30))
    )
    assert listed(right, ("a", "b")) != listed(wrong, ("a", "b"))
    first, second = right.mechanism(("a", "b")), wrong.mechanism(("a", "b"))
    assert first.exact != second.exact and first.fingerprint != second.fingerprint
    assert not is_nearest_log(nextafter(nearest_log(Fraction(3)), 9.0), Fraction(3))


def test_a_wrong_law_of_reports_is_seen():
    """Negative control: reports of another device fail the check of their proportions."""

    class Wrong(DeviceMechanism):
        def sample(self, codes: Any, words: Any) -> Any:
            other = devices.flip(0.7).when({"heads": devices.truth}, otherwise="a")
            return other.mechanism(("a", "b")).sample(codes, words)

    device = devices.flip(0.3).when({"heads": devices.truth}, otherwise="a")
    with pytest.raises(AssertionError):
        draw(Wrong(device.step, ("a", "b")), 1)
    draw(device.mechanism(("a", "b")), 1)
