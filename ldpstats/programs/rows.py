"""What is said to each true answer, with exact probabilities: in structured form, or by rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.programs.checks import distinct
from ldpstats.programs.polynomials import Chance

__all__ = [
    "Even",
    "Law",
    "Row",
    "arranged",
    "check_entries",
    "constant",
    "folded",
    "listed",
    "made",
    "merged",
    "mixed",
    "shared",
    "weighted",
]

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

    def least(self) -> Fraction:
        """A bound of the positive probabilities of reports, from below; 1 for polynomials."""
        if self.even is None:
            found: Iterable[Chance] = (p for row in self.sparse or () for p in row.values())
        else:
            own, base = self.even.own, self.even.base
            apart = [base, *self.even.extra.values(), *(base + p for p in self.even.extra.values())]
            found = [*apart, *(own + p for p in apart)]
        few = {id(p): p for p in found}.values()  # rows share most of their numbers
        return min((p for p in few if isinstance(p, Fraction) and p > 0), default=_ONE)

    @cached_property
    def places(self) -> dict[Any, int]:
        """The number of each category."""
        return {label: x for x, label in enumerate(self.categories)}


def arranged(found: Law, fill: bool = False) -> Law:
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


def folded(found: Law) -> Law:
    """The law with what it says of all categories equally in its base."""
    if found.even is None or not all(label in found.even.extra for label in found.categories):
        return found
    extra = dict(found.even.extra)
    shares = [extra.pop(label) for label in found.categories]
    if shares.count(shares[0]) < len(shares):
        return found
    even = Even(found.even.own, found.even.base + shares[0], extra)
    return Law(found.categories, found.outputs, even)


def constant(categories: tuple[Any, ...], extra: Row) -> Law:
    return Law(categories, tuple(extra), Even(_ZERO, _ZERO, extra))


def shared(found: Law) -> Row:
    """The part of an even law that all categories have in common."""
    assert found.even is not None
    shared = dict.fromkeys(found.categories, found.even.base) if found.even.base != 0 else {}
    for label, p in found.even.extra.items():
        shared[label] = shared.get(label, _ZERO) + p
    return shared


def merged(laws: Iterable[Law]) -> tuple[Any, ...]:
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


def mixed(weighted: Iterable[tuple[Chance, Even | None]]) -> Even:
    own: Chance = _ZERO
    base: Chance = _ZERO
    extra: Row = {}
    for weight, part in weighted:
        assert part is not None
        own, base = own + weight * part.own, base + weight * part.base
        for label, p in part.extra.items():
            extra[label] = extra.get(label, _ZERO) + weight * p
    return Even(own, base, made(extra))


def weighted(parts: Iterable[tuple[Chance, Row]]) -> Row:
    """The sum of some rows with weights."""
    found: Row = {}
    for weight, row in parts:
        if weight != 0:
            for label, p in row.items():
                found[label] = found.get(label, _ZERO) + weight * p
    return made(found)


def made(row: Row) -> Row:
    """A row without its zeros."""
    return {label: p for label, p in row.items() if p != 0}


def listed(categories: tuple[Any, ...], outputs: tuple[Any, ...], row: Callable[[int], Row]) -> Law:
    """A law row by row."""
    rows, entries = [], 0
    for x in range(len(categories)):
        rows.append(row(x))
        entries += len(rows[-1])
        check_entries(entries)
    return Law(categories, outputs, None, tuple(rows))


def check_entries(entries: int) -> None:
    if entries > _MOST_ENTRIES:
        raise NotAvailable(
            f"the matrix of this device has more than {_MOST_ENTRIES} entries that differ: use "
            "fewer categories, or fewer parts"
        )
