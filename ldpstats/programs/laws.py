"""The exact law of what a device reports, given the true answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.programs.checks import distinct
from ldpstats.programs.polynomials import Chance
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

Row = dict[Any, Chance]
_MOST_ENTRIES = 1 << 22
_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Even:
    """``P(y | x) = own [y = x] + base [y is a category] + extra[y]``: all categories alike.

    Parameters
    ----------
    own, base : Chance
    extra : dict of label to Chance
    """

    own: Chance
    base: Chance
    extra: Row


@dataclass(frozen=True)
class Law:
    """The law of a report for each category.

    Parameters
    ----------
    categories : tuple of labels, k of them
    outputs : tuple of labels, l of them
        In category order where all are categories, else in the order of first appearance.
    even : Even or None
        The law in structured form, where it has one.
    sparse : tuple of dict, optional
        For each category the probabilities of its reports, where it has none.
    """

    categories: tuple[Any, ...]
    outputs: tuple[Any, ...]
    even: Even | None
    sparse: tuple[Row, ...] | None = None

    def row(self, x: int) -> Row:
        """Probabilities of the reports of category number x, by label."""
        if self.even is None:
            assert self.sparse is not None
            return self.sparse[x]
        found = dict.fromkeys(self.categories, self.even.base) if self.even.base != 0 else {}
        if self.even.own != 0:
            own = self.categories[x]
            found[own] = found.get(own, _ZERO) + self.even.own
        for label, p in self.even.extra.items():
            found[label] = found.get(label, _ZERO) + p
        return found

    @property
    def rows(self) -> tuple[tuple[Chance, ...], ...]:
        """Probabilities of the outputs, exactly: k rows of l, which sum to one."""
        return self.listed(self.outputs)

    def listed(self, outputs: Sequence[Any]) -> tuple[tuple[Chance, ...], ...]:
        """Probabilities of these outputs, which are all that can be said, and may be more."""
        k, l = len(self.categories), len(outputs)  # noqa: E741
        if k * l > _MOST_ENTRIES:
            raise NotAvailable(
                f"the exact matrix of this device has {k} x {l} entries: too many to list"
            )
        rows = (self.row(x) for x in range(k))
        return tuple(tuple(row.get(y, _ZERO) for y in outputs) for row in rows)

    @cached_property
    def places(self) -> dict[Any, int]:
        """The number of each category."""
        return {label: x for x, label in enumerate(self.categories)}


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
    return _arranged(_law(step, tuple(labels)), fill=True)


def _law(step: Step, categories: tuple[Any, ...]) -> Law:
    return _RULES[type(step)](step, categories)


def _arranged(found: Law, fill: bool = False) -> Law:
    """The law with its outputs in category order, where all of them are categories.

    To `fill` puts those among them that are never said.
    """
    distinct("outcomes", list(found.outputs))
    if not all(label in found.places for label in found.outputs):
        return found
    own = found.categories
    for label in found.outputs:
        if type(own[found.places[label]]) is not type(label):
            remedy = f"is not {own[found.places[label]]!r}, the category: write it in the same way"
            raise InvalidArgument("say", label, remedy)
    said = set(found.outputs)
    outputs = own if fill else tuple(label for label in own if label in said)
    return Law(own, outputs, found.even, found.sparse)


def _constant(categories: tuple[Any, ...], extra: Row) -> Law:
    return Law(categories, tuple(extra), Even(_ZERO, _ZERO, extra))


def _truth(step: Truth, categories: tuple[Any, ...]) -> Law:
    return Law(categories, categories, Even(_ONE, _ZERO, {}))


def _another(step: Another, categories: tuple[Any, ...]) -> Law:
    if len(categories) < 2:
        raise InvalidArgument("another", categories, "needs two categories or more")
    share = Fraction(1, len(categories) - 1)
    return Law(categories, categories, Even(-share, share, {}))


def _opposite(step: Opposite, categories: tuple[Any, ...]) -> Law:
    if len(categories) != 2:
        remedy = "is the other one of two answers; another is one of several others"
        raise InvalidArgument("opposite", f"{len(categories)} categories", remedy)
    return Law(categories, categories, Even(-_ONE, _ONE, {}))


def _say(step: Say, categories: tuple[Any, ...]) -> Law:
    return _constant(categories, {step.label: _ONE})


def _flip(step: Flip, categories: tuple[Any, ...]) -> Law:
    return _constant(categories, {"heads": step.p, "tails": 1 - step.p})


def _roll(step: Roll, categories: tuple[Any, ...]) -> Law:
    return _constant(categories, dict.fromkeys(range(1, step.sides + 1), Fraction(1, step.sides)))


def _spin(step: Spin | Cards, categories: tuple[Any, ...]) -> Law:
    return _constant(categories, dict(step.law))


def _question(step: Question, categories: tuple[Any, ...]) -> Law:
    no, yes = step.answers
    return _constant(categories, {no: 1 - step.prevalence, yes: step.prevalence})


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
    laws: dict[int, Law] = {}
    ways: dict[Any, Law] = {}  # by outcome
    for outcome in source.outputs:
        branch = chosen.get(outcome, step.otherwise)
        assert branch is not None
        if id(branch) not in laws:
            laws[id(branch)] = _law(branch, categories)
        ways[outcome] = laws[id(branch)]
    outputs = _merged(laws.values())
    constant = source.even is not None and source.even.own == 0 and source.even.base == 0
    if constant and all(way.even is not None for way in laws.values()):
        shares: dict[int, Chance] = {}
        for outcome, p in source.row(0).items():
            shares[id(ways[outcome])] = shares.get(id(ways[outcome]), _ZERO) + p
        return Law(categories, outputs, _mixed((shares[id(w)], w.even) for w in laws.values()))

    def row(x: int) -> Row:
        return _weighted((p, ways[outcome].row(x)) for outcome, p in source.row(x).items())

    return _listed(categories, outputs, row)


def _check_answers(step: When, source: Law) -> None:
    """Refuse branches for answers that there are not, and answers without a branch."""
    keys = [key for outcomes, _ in step.branches for key in outcomes]
    known = set(source.outputs)
    for key in keys:
        if key not in known:
            hint = did_you_mean(key, map(str, source.outputs[:1000]))
            raise InvalidArgument("when", key, f"is no outcome of the step before{hint}")
    check_branches(keys, source.outputs, step.otherwise is not None)


def _then(step: Then, categories: tuple[Any, ...]) -> Law:
    own = step.first.outcomes is not None  # answers of its own, such as the cells of a hash
    first = _arranged(_law(step.first, categories), fill=not own)
    second = _law(step.second, first.outputs)
    outputs = second.outputs
    a, b = first.even, second.even
    if a is not None and b is not None and first.outputs == categories:
        # (a I + 1 c') (b I + 1 d') = a b I + 1 (b c' + d'), since the rows of each sum to one
        extra = {label: b.own * p for label, p in a.extra.items()}
        for label, p in b.extra.items():
            extra[label] = extra.get(label, _ZERO) + p
        return Law(categories, outputs, Even(a.own * b.own, b.own * a.base + b.base, _made(extra)))
    if a is not None and a.own == 0 and a.base == 0:  # whatever the truth is
        row = _weighted((p, second.row(second.places[y])) for y, p in a.extra.items())
        return Law(categories, outputs, Even(_ZERO, _ZERO, row))
    if a is not None:
        common = _weighted((p, second.row(second.places[y])) for y, p in _shared(first).items())

        def spread(x: int) -> Row:
            own = second.row(second.places[categories[x]])
            return _weighted([(_ONE, common), (a.own, own)])

        return _listed(categories, outputs, spread)

    def row_of(x: int) -> Row:
        return _weighted((p, second.row(second.places[y])) for y, p in first.row(x).items())

    return _listed(categories, outputs, row_of)


def _shared(found: Law) -> Row:
    """The part of an even law that all categories have in common."""
    assert found.even is not None
    shared = dict.fromkeys(found.categories, found.even.base) if found.even.base != 0 else {}
    for label, p in found.even.extra.items():
        shared[label] = shared.get(label, _ZERO) + p
    return shared


def _parts(step: Parts, categories: tuple[Any, ...]) -> Law:
    laws = [_arranged(_law(part, categories)) for part in step.steps]
    size = 1
    for part in laws:
        size *= len(part.outputs)
    _check_entries(size)
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

    return _listed(categories, outputs, row)


def _cohorts(step: Cohorts, categories: tuple[Any, ...]) -> Law:
    laws = [_arranged(_law(part, categories)) for part in step.steps]
    _check_entries(sum(len(part.outputs) for part in laws))
    outputs = tuple(f"{c}:{y}" for c, part in enumerate(laws) for y in part.outputs)
    share = Fraction(1, len(laws))

    def row(x: int) -> Row:
        rows = enumerate(part.row(x) for part in laws)
        return {f"{c}:{y}": share * p for c, own in rows for y, p in own.items()}

    return _listed(categories, outputs, row)


def _merged(laws: Iterable[Law]) -> tuple[Any, ...]:
    """What any of some laws can say, in the order of first appearance."""
    found: dict[Any, Any] = {}
    for one in laws:
        for label in one.outputs:
            known = found.setdefault(label, label)
            if type(known) is not type(label):
                remedy = (
                    f"looks the same as {known!r}, which another branch says: write one of them"
                )
                raise InvalidArgument("say", label, remedy)
    return tuple(found)


def _mixed(weighted: Iterable[tuple[Chance, Even | None]]) -> Even:
    own: Chance = _ZERO
    base: Chance = _ZERO
    extra: Row = {}
    for weight, part in weighted:
        assert part is not None
        own, base = own + weight * part.own, base + weight * part.base
        for label, p in part.extra.items():
            extra[label] = extra.get(label, _ZERO) + weight * p
    return Even(own, base, _made(extra))


def _weighted(parts: Iterable[tuple[Chance, Row]]) -> Row:
    """The sum of some rows with weights."""
    found: Row = {}
    for weight, row in parts:
        if weight != 0:
            for label, p in row.items():
                found[label] = found.get(label, _ZERO) + weight * p
    return _made(found)


def _made(row: Row) -> Row:
    """A row without its zeros."""
    return {label: p for label, p in row.items() if p != 0}


def _listed(
    categories: tuple[Any, ...], outputs: tuple[Any, ...], row: Callable[[int], Row]
) -> Law:
    """A law row by row."""
    rows, entries = [], 0
    for x in range(len(categories)):
        rows.append(row(x))
        entries += len(rows[-1])
        _check_entries(entries)
    return Law(categories, outputs, None, tuple(rows))


def _check_entries(entries: int) -> None:
    if entries > _MOST_ENTRIES:
        raise NotAvailable(
            f"the matrix of this device has more than {_MOST_ENTRIES} entries that differ: use "
            "fewer categories, or fewer parts"
        )


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
