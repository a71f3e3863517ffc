"""The exact law of what a device reports, given the true answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.errors import InvalidArgument
from ldpstats.programs.polynomials import Chance
from ldpstats.programs.rows import (
    Even,
    Law,
    Row,
    arranged,
    check_entries,
    constant,
    folded,
    listed,
    made,
    merged,
    mixed,
    shared,
    weighted,
)
from ldpstats.programs.steps import (
    Another,
    Cards,
    Cohorts,
    Flip,
    Hashed,
    Opposite,
    Parts,
    Question,
    Roll,
    Say,
    Spin,
    Step,
    Then,
    Truth,
    When,
    check_branches,
)
from ldpstats.sampling.hashing import hash_strings, own_cells

__all__ = ["Even", "Law", "law"]

_ZERO, _ONE = Fraction(0), Fraction(1)


def law(step: Step, categories: Iterable[Any]) -> Law:
    """The law of the report of a step, for each true answer.

    Parameters
    ----------
    step : Step
    categories : sequence of distinct labels

    Returns
    -------
    Law

    Raises
    ------
    InvalidArgument
        If a branch is for an outcome that cannot occur, or an outcome has none; if the truth has
        more categories than a step allows; if two parts give the same text.

    Examples
    --------
    >>> die = When(Roll(6), (((1,), Say("yes")), ((6,), Say("no"))), Truth())
    >>> law(die, ("no", "yes")).rows
    ((Fraction(5, 6), Fraction(1, 6)), (Fraction(1, 6), Fraction(5, 6)))
    """
    labels = categories.tolist() if isinstance(categories, pd.Index) else categories
    return folded(arranged(_law(step, tuple(labels)), fill=True))


def _law(step: Step, categories: tuple[Any, ...]) -> Law:
    return _RULES[type(step)](step, categories)


def _truth(step: Truth, categories: tuple[Any, ...]) -> Law:
    return Law(categories, categories, Even(_ONE, _ZERO, {}))


def _another(step: Another, categories: tuple[Any, ...]) -> Law:
    if len(categories) < 2:
        raise InvalidArgument("another", categories, "needs two categories or more")
    share = Fraction(1, len(categories) - 1)
    return Law(categories, categories, Even(-share, share, {}))


def _opposite(step: Opposite, categories: tuple[Any, ...]) -> Law:
    if len(categories) != 2:
        remedy = "needs exactly two categories; `another` draws one of the other categories"
        raise InvalidArgument("opposite", f"{len(categories)} categories", remedy)
    return Law(categories, categories, Even(-_ONE, _ONE, {}))


def _say(step: Say, categories: tuple[Any, ...]) -> Law:
    return constant(categories, {step.label: _ONE})


def _flip(step: Flip, categories: tuple[Any, ...]) -> Law:
    return constant(categories, {"heads": step.p, "tails": 1 - step.p})


def _roll(step: Roll, categories: tuple[Any, ...]) -> Law:
    return constant(categories, dict.fromkeys(range(1, step.sides + 1), Fraction(1, step.sides)))


def _spin(step: Spin | Cards, categories: tuple[Any, ...]) -> Law:
    return constant(categories, dict(step.law))


def _question(step: Question, categories: tuple[Any, ...]) -> Law:
    no, yes = step.answers
    return constant(categories, {no: 1 - step.prevalence, yes: step.prevalence})


def _hashed(step: Hashed, categories: tuple[Any, ...]) -> Law:
    hashes = hash_strings("categories", [str(label) for label in categories])
    cohort = np.full(len(categories), step.cohort, dtype=np.int64)
    cells = own_cells(hashes, cohort, 1, step.n_outputs)[:, 0].tolist()
    return Law(
        categories, tuple(range(step.n_outputs)), None, tuple({cell: _ONE} for cell in cells)
    )


def _when(step: When, categories: tuple[Any, ...]) -> Law:
    source = _law(step.source, categories)
    _check_answers(step, source)
    chosen = {key: branch for keys, branch in step.branches for key in keys}
    laws = {id(branch): _law(branch, categories) for _, branch in step.branches}  # in their order
    rest = step.otherwise
    if rest is not None and len(chosen) < len(source.outputs):
        laws.setdefault(id(rest), _law(rest, categories))
    ways = {outcome: laws[id(chosen.get(outcome, rest))] for outcome in source.outputs}
    outputs = merged(laws.values())
    constant = source.even is not None and source.even.own == 0 and source.even.base == 0
    if constant and all(way.even is not None for way in laws.values()):
        shares: dict[int, Chance] = {}
        for outcome, p in source.row(0).items():
            shares[id(ways[outcome])] = shares.get(id(ways[outcome]), _ZERO) + p
        return Law(categories, outputs, mixed((shares[id(w)], w.even) for w in laws.values()))

    def row(x: int) -> Row:
        return weighted((p, ways[outcome].row(x)) for outcome, p in source.row(x).items())

    return listed(categories, outputs, row)


def _check_answers(step: When, source: Law) -> None:
    """Refuse branches for answers that there are not, and answers without a branch."""
    keys = [key for outcomes, _ in step.branches for key in outcomes]
    kind = "answer" if isinstance(step.source, Truth) else "outcome of the step before"
    check_branches(keys, source.outputs, step.otherwise is not None, kind)


def _then(step: Then, categories: tuple[Any, ...]) -> Law:
    first = _law(step.first, categories)
    if step.first.outcomes is None:  # else it has answers of its own, such as the cells of a hash
        first = arranged(first, fill=True)
    second = _law(step.second, first.outputs)
    outputs = second.outputs
    a, b = first.even, second.even
    if a is not None and b is not None and first.outputs == categories:
        # (a I + 1 c') (b I + 1 d') = a b I + 1 (b c' + d'), since the rows of each sum to one
        extra = {label: b.own * p for label, p in a.extra.items()}
        for label, p in b.extra.items():
            extra[label] = extra.get(label, _ZERO) + p
        return Law(categories, outputs, Even(a.own * b.own, b.own * a.base + b.base, made(extra)))
    if a is not None and a.own == 0 and a.base == 0:  # whatever the truth is
        row = weighted((p, second.row(second.places[y])) for y, p in a.extra.items())
        return Law(categories, outputs, Even(_ZERO, _ZERO, row))
    if a is not None:
        common = weighted((p, second.row(second.places[y])) for y, p in shared(first).items())

        def spread(x: int) -> Row:
            found = dict(common)  # of which few change
            for label, p in second.row(second.places[categories[x]]).items():
                found[label] = found.get(label, _ZERO) + a.own * p
                if found[label] == 0:
                    del found[label]
            return found

        return listed(categories, outputs, spread)

    def row_of(x: int) -> Row:
        return weighted((p, second.row(second.places[y])) for y, p in first.row(x).items())

    return listed(categories, outputs, row_of)


def _parts(step: Parts, categories: tuple[Any, ...]) -> Law:
    laws = [arranged(_law(part, categories)) for part in step.steps]
    size = 1
    for part in laws:
        size *= len(part.outputs)
    check_entries(size)
    outputs = tuple(", ".join(map(str, ys)) for ys in product(*(part.outputs for part in laws)))
    if len(set(outputs)) < len(outputs):
        twice = next(text for i, text in enumerate(outputs) if text in outputs[:i])
        raise InvalidArgument("parts", twice, "can be read in two ways: use labels without commas")

    def row(x: int) -> Row:
        found: Row = {"": _ONE}
        for i, part in enumerate(laws):
            join = ", " if i else ""
            own = part.row(x)
            found = {
                f"{text}{join}{y}": p * q
                for text, p in found.items()
                for y, q in own.items()
                if q != 0
            }
        return found

    found = listed(categories, outputs, row)
    said = {text for own in found.sparse or () for text in own}
    # two parts that tell the truth agree: only what some category can report
    return replace(found, outputs=tuple(text for text in outputs if text in said))


def _cohorts(step: Cohorts, categories: tuple[Any, ...]) -> Law:
    laws = [arranged(_law(part, categories)) for part in step.steps]
    check_entries(sum(len(part.outputs) for part in laws))
    cohorts = list(zip(step.named, step.chances, laws, strict=True))
    outputs = tuple(f"{name}:{y}" for name, _, part in cohorts for y in part.outputs)

    def row(x: int) -> Row:
        return {
            f"{name}:{y}": share * p
            for name, share, part in cohorts
            for y, p in part.row(x).items()
        }

    return listed(categories, outputs, row)


_RULES: dict[type[Step], Callable[[Any, tuple[Any, ...]], Law]] = {
    Truth: _truth,
    Another: _another,
    Opposite: _opposite,
    Say: _say,
    Flip: _flip,
    Roll: _roll,
    Spin: _spin,
    Cards: _spin,
    Question: _question,
    When: _when,
    Then: _then,
    Parts: _parts,
    Hashed: _hashed,
    Cohorts: _cohorts,
}
