"""The exact law of what a device reports, given the true answer, and what it guarantees.

A law has a structured form where all categories are alike, ``P(y | x) = own [y = x] + base [y is a
category] + extra[y]``, which takes no k x k numbers; else it is kept row by row. Then come the
largest ratio of its probabilities and the logarithm of that, and devices with unknown parameters:
values for them, the terms of their laws, and the worst privacy.

The ratio of two probabilities that are linear in a parameter is monotone in it, so that the largest
over [0, 1] is at a corner of the cube, exactly. Parameters with higher powers are searched for on a
grid that closes in on the largest ratio. Where a report becomes impossible for every answer, the
limit of the ratio counts.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb, inf, prod
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.programs.polynomials import Chance, Polynomial, closing_in, distinct
from ldpstats.programs.steps import (
    Another,
    Cohorts,
    Draw,
    Hashed,
    Opposite,
    Parts,
    Say,
    Step,
    Then,
    Truth,
    When,
    check_branches,
)
from ldpstats.sampling.hashing import hash_strings, own_cells

Row = dict[Any, Chance]
_MOST_ENTRIES = 1 << 22
_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Even:
    """``P(y | x) = own [y = x] + base [y is a category] + extra[y]``: all categories alike."""

    own: Chance
    base: Chance
    extra: Row


@dataclass(frozen=True)
class Law:
    """The law of a report for each of k categories.

    The l outputs are in category order where all are categories, else as they first appear. The
    law is in structured form (`even`), or `sparse`: for each category the probabilities of its
    reports.
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
        return self._sum(self.categories[x])

    def _sum(self, own: Any = None) -> Row:
        """The law of a category, or what all categories have in common where that is None."""
        assert self.even is not None
        row = dict.fromkeys(self.categories, self.even.base) if self.even.base != 0 else {}
        if own is not None and self.even.own != 0:
            _add(row, {own: self.even.own})
        return _add(row, self.even.extra)

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
            chances: Iterable[Chance] = (p for row in self.sparse or () for p in row.values())
        else:
            own, base = self.even.own, self.even.base
            apart = [base, *self.even.extra.values(), *(base + p for p in self.even.extra.values())]
            chances = [*apart, *(own + p for p in apart)]
        few = {id(p): p for p in chances}.values()  # rows share most of their numbers
        return min((p for p in few if isinstance(p, Fraction) and p > 0), default=_ONE)

    @cached_property
    def places(self) -> dict[Any, int]:
        """The number of each category."""
        return {label: x for x, label in enumerate(self.categories)}


def law(step: Step, categories: Iterable[Any]) -> Law:
    """The law of the report of a step for each true answer, of k distinct labels."""
    labels = categories.tolist() if isinstance(categories, pd.Index) else categories
    found = _arranged(_law(step, tuple(labels)), fill=True)
    if found.even is None or not all(label in found.even.extra for label in found.categories):
        return found
    extra = dict(found.even.extra)  # what it says of all categories equally goes to the base
    shares = [extra.pop(label) for label in found.categories]
    if shares.count(shares[0]) < len(shares):
        return found
    return replace(found, even=Even(found.even.own, found.even.base + shares[0], extra))


def _law(step: Step, categories: tuple[Any, ...]) -> Law:
    """The law of a step by its kind, with outputs in the order of first appearance."""
    match step:
        case Truth():
            return Law(categories, categories, Even(_ONE, _ZERO, {}))
        case Another():
            if len(categories) < 2:
                raise InvalidArgument("another", categories, "needs two categories or more")
            share = Fraction(1, len(categories) - 1)
            return Law(categories, categories, Even(-share, share, {}))
        case Opposite():
            if len(categories) != 2:
                remedy = "needs exactly two categories; `another` draws one of the other categories"
                raise InvalidArgument("opposite", f"{len(categories)} categories", remedy)
            return Law(categories, categories, Even(-_ONE, _ONE, {}))
        case Say() | Draw():
            extra: Row = {step.label: _ONE} if isinstance(step, Say) else dict(step.law)
            return Law(categories, tuple(extra), Even(_ZERO, _ZERO, extra))
        case Hashed():
            hashes = hash_strings("categories", [str(label) for label in categories])
            cohort = np.full(len(categories), step.cohort, dtype=np.int64)
            cells = own_cells(hashes, cohort, 1, step.n_outputs)[:, 0].tolist()
            rows: tuple[Row, ...] = tuple({cell: _ONE} for cell in cells)
            return Law(categories, tuple(range(step.n_outputs)), None, rows)
        case When():
            return _law_of_branches(step, categories)
        case Then():
            return _law_of_sequence(step, categories)
        case Parts():
            return _law_of_parts(step, categories)
        case Cohorts():
            laws = [_arranged(_law(one, categories)) for one in step.steps]
            _check_entries(sum(len(one.outputs) for one in laws))
            cohorts = list(zip(step.named, step.chances, laws, strict=True))
            said = tuple(f"{name}:{y}" for name, _, one in cohorts for y in one.outputs)
            shared = (
                {f"{name}:{y}": p * q for name, p, one in cohorts for y, q in one.row(x).items()}
                for x in range(len(categories))
            )
            return _by_rows(categories, said, shared)
    raise NotAvailable(f"a step of the kind {type(step).__name__} has no law")


def _law_of_branches(step: When, categories: tuple[Any, ...]) -> Law:
    """``P(y | x) = sum_z P(outcome z | x) P(y | x, branch of z)``."""
    source = _law(step.source, categories)
    keys = [key for outcomes, _ in step.branches for key in outcomes]
    kind = "answer" if isinstance(step.source, Truth) else "outcome of the step before"
    check_branches(keys, source.outputs, step.otherwise is not None, kind)
    chosen = {key: branch for outcomes, branch in step.branches for key in outcomes}
    laws = {id(branch): _law(branch, categories) for _, branch in step.branches}  # in their order
    rest = step.otherwise
    if rest is not None and len(chosen) < len(source.outputs):
        laws.setdefault(id(rest), _law(rest, categories))
    ways = {outcome: laws[id(chosen.get(outcome, rest))] for outcome in source.outputs}
    labels: dict[Any, Any] = {}  # all that can be said, in the order of first appearance
    for way in laws.values():
        for label in way.outputs:
            known = labels.setdefault(label, label)
            if type(known) is not type(label):
                remedy = (
                    f"looks the same as {known!r}, which another branch says: write one of them"
                )
                raise InvalidArgument("say", label, remedy)
    outputs = tuple(labels)
    constant = source.even is not None and source.even.own == 0 and source.even.base == 0
    if not constant or any(way.even is None for way in laws.values()):
        rows = (
            _weighted((p, ways[outcome].row(x)) for outcome, p in source.row(x).items())
            for x in range(len(categories))
        )
        return _by_rows(categories, outputs, rows)
    shares: Row = {}
    for outcome, p in source.row(0).items():
        _add(shares, {id(ways[outcome]): p})
    own: Chance = _ZERO
    base: Chance = _ZERO
    extra: Row = {}
    for way in laws.values():
        assert way.even is not None
        weight = shares[id(way)]
        own, base = own + weight * way.even.own, base + weight * way.even.base
        _add(extra, way.even.extra, weight)
    return Law(categories, outputs, Even(own, base, _without_zeros(extra)))


def _law_of_sequence(step: Then, categories: tuple[Any, ...]) -> Law:
    """``P(z | x) = sum_y P(y | x) P(z | y)``: the second step takes the report for the truth."""
    first = _law(step.first, categories)
    if step.first.outcomes is None:  # else it has answers of its own, such as the cells of a hash
        first = _arranged(first, fill=True)
    second = _law(step.second, first.outputs)
    outputs = second.outputs
    a, b = first.even, second.even
    if a is not None and b is not None and first.outputs == categories:
        # (a I + 1 c') (b I + 1 d') = a b I + 1 (b c' + d'), since the rows of each sum to one
        extra = _without_zeros(_add({label: b.own * p for label, p in a.extra.items()}, b.extra))
        return Law(categories, outputs, Even(a.own * b.own, b.own * a.base + b.base, extra))
    if a is not None and a.own == 0 and a.base == 0:  # whatever the truth is
        row = _weighted((p, second.row(second.places[y])) for y, p in a.extra.items())
        return Law(categories, outputs, Even(_ZERO, _ZERO, row))
    if a is None:
        rows = (
            _weighted((p, second.row(second.places[y])) for y, p in first.row(x).items())
            for x in range(len(categories))
        )
        return _by_rows(categories, outputs, rows)
    common = _weighted((p, second.row(second.places[y])) for y, p in first._sum().items())

    def spread(own: Any) -> Row:
        row = dict(common)  # of which few change
        for label, p in second.row(second.places[own]).items():
            row[label] = row.get(label, _ZERO) + a.own * p
            if row[label] == 0:
                del row[label]
        return row

    return _by_rows(categories, outputs, map(spread, categories))


def _law_of_parts(step: Parts, categories: tuple[Any, ...]) -> Law:
    """The product of the laws of the parts, whose reports are joined by commas."""
    laws = [_arranged(_law(part, categories)) for part in step.steps]
    _check_entries(prod(len(part.outputs) for part in laws))
    outputs = tuple(", ".join(map(str, ys)) for ys in product(*(part.outputs for part in laws)))
    if len(set(outputs)) < len(outputs):
        twice = next(text for i, text in enumerate(outputs) if text in outputs[:i])
        raise InvalidArgument("parts", twice, "can be read in two ways: use labels without commas")

    def joined(x: int) -> Row:
        row: Row = {"": _ONE}
        for i, part in enumerate(laws):
            join, own = ", " if i else "", part.row(x)
            row = {
                f"{text}{join}{y}": p * q
                for text, p in row.items()
                for y, q in own.items()
                if q != 0
            }
        return row

    found = _by_rows(categories, outputs, map(joined, range(len(categories))))
    said = {text for row in found.sparse or () for text in row}
    # two parts that tell the truth agree: only what some category can report
    return replace(found, outputs=tuple(text for text in outputs if text in said))


def _arranged(found: Law, fill: bool = False) -> Law:
    """Outputs in category order where all are categories; to `fill` adds those never said."""
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


def _by_rows(categories: tuple[Any, ...], outputs: tuple[Any, ...], rows: Iterable[Row]) -> Law:
    """A law row by row, as long as they are few enough."""
    kept, entries = [], 0
    for row in rows:
        kept.append(row)
        entries += len(row)
        _check_entries(entries)
    return Law(categories, outputs, None, tuple(kept))


def _check_entries(entries: int) -> None:
    if entries > _MOST_ENTRIES:
        raise NotAvailable(
            f"the matrix of this device has more than {_MOST_ENTRIES} entries that differ: use "
            "fewer categories, or fewer parts"
        )


def _weighted(parts: Iterable[tuple[Chance, Row]]) -> Row:
    """The sum of some rows with weights."""
    total: Row = {}
    for weight, row in parts:
        if weight != 0:
            _add(total, row, weight)
    return _without_zeros(total)


def _add(total: Row, row: Row, weight: Chance = _ONE) -> Row:
    for label, p in row.items():
        total[label] = total.get(label, _ZERO) + weight * p
    return total


def _without_zeros(row: Row) -> Row:
    return {label: p for label, p in row.items() if p != 0}


# -- What an exact law guarantees: the largest ratio of its probabilities, and its logarithm ------


def largest_ratio(law: Law) -> Fraction | float:
    """The largest ``Q[x, y] / Q[x', y]`` over x, x' and y; inf if a report excludes an answer."""
    k, even = len(law.categories), law.even
    if even is None:
        return ratio_of_rows((law.row(x).items() for x in range(k)), k)
    # all categories are alike: one's own report against that of any other
    own, base = Fraction(even.own), Fraction(even.base)  # type: ignore[arg-type]
    if k < 2 or own == 0:
        return Fraction(1)
    named = [Fraction(p) + base for y, p in even.extra.items() if y in law.places]  # type: ignore[arg-type]
    others = named if len(named) == k else [*named, base]
    best = Fraction(1)
    for other in set(others):
        mine = own + other
        if min(mine, other) <= 0:
            return inf
        best = max(best, mine / other, other / mine)
    return best


def ratio_of_rows(rows: Iterable[Iterable[tuple[Any, Any]]], k: int) -> Fraction | float:
    """Of k rows of pairs of a report and its probability; polynomials are left out."""
    values: dict[Any, dict[tuple[int, int], Fraction]] = {}  # most rows share their few numbers
    seen: dict[Any, int] = {}
    for row in rows:
        for label, p in row:
            if isinstance(p, Fraction) and p:
                values.setdefault(label, {}).setdefault((p.numerator, p.denominator), p)
                seen[label] = seen.get(label, 0) + 1
    if any(times < k for times in seen.values()):
        return inf
    ranges = ((max(few.values()), min(few.values())) for few in values.values())
    return max((high / low for high, low in ranges), default=Fraction(1))


def nearest_log(ratio: Fraction | float) -> float:
    """The float nearest to the natural logarithm of a positive Fraction; inf for inf.

    The logarithm of a Fraction other than one is irrational, so that enough digits always decide.
    """
    if ratio == inf:
        return inf
    exact, digits = Fraction(ratio), 50
    if exact == 1:
        return 0.0
    while True:
        context = decimal.Context(
            prec=digits,
            Emax=decimal.MAX_EMAX,
            Emin=decimal.MIN_EMIN,
            rounding=decimal.ROUND_HALF_EVEN,
        )
        quotient = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
        value = context.ln(quotient)
        error = Decimal(10).scaleb(-digits, context) * (2 + abs(value))
        low, high = float(value - error), float(value + error)
        if low == high:
            return low
        digits *= 2


# -- Devices with unknown parameters: values for them, terms of their laws, and the worst privacy --


_ROUNDS = 12
_MOST_FACES = 5  # axes, one of them the answers, up to which limits at faces are looked for


def substituted(field: Any, values: Mapping[str, Fraction]) -> Any:
    """A step, or a field of one, with values in [0, 1] for its unknown parameters, by name."""
    if isinstance(field, Step) and field.unknown:
        names = [item.name for item in fields(field)]  # type: ignore[arg-type]
        changed = {name: substituted(getattr(field, name), values) for name in names}
        shown = ", ".join(f"{name}={values[name]}" for name in field.unknown)
        called = field.spelling and f"{field.spelling} at {shown}"
        return replace(field, **changed).called(called)  # type: ignore[type-var]
    if isinstance(field, Polynomial):
        return field.at(values)
    return tuple(substituted(item, values) for item in field) if isinstance(field, tuple) else field


def terms_of(rows: Sequence[Sequence[Chance]], names: Sequence[str]) -> tuple[Array, Array]:
    """Exponents, (T, m), and exact coefficients, (T, k, l), of a k x l matrix of polynomials."""
    found: dict[tuple[int, ...], Array] = {}
    shape = len(rows), len(rows[0])
    for x, row in enumerate(rows):
        for y, entry in enumerate(row):
            terms = entry.terms if isinstance(entry, Polynomial) else (((), entry),)
            for monomial, factor in terms:
                own = dict(monomial)
                powers = tuple(own.get(name, 0) for name in names)
                if powers not in found:
                    found[powers] = np.full(shape, Fraction(0), dtype=object)
                found[powers][x, y] += factor
    keys = sorted(found)
    return np.array(keys, dtype=np.int64).reshape(len(keys), len(names)), np.array(
        [found[key] for key in keys], dtype=object
    )


def worst_epsilon(exponents: Array, coefficients: Array) -> float:
    """The largest epsilon, in nats, over all values of the parameters in [0, 1].

    From `terms_of`; inf where a report excludes an answer at some values.
    """
    degrees = exponents.max(axis=0, initial=0)
    axes = [_homogeneous(int(d))[:, column] for d, column in zip(degrees, exponents.T, strict=True)]
    C = np.asarray(coefficients)
    place = np.ones((1, len(exponents)), dtype=object)
    for one in axes:
        place = (place[:, None] * one[None]).reshape(-1, len(exponents))
    # exact sums, so that what is zero is zero
    sums = [
        sum(C[t] if row[t] == 1 else row[t] * C[t] for t in np.flatnonzero(row)) for row in place
    ]
    G = np.stack(sums, axis=1).astype(np.float64)  # (k, D, l)
    shape = len(G), *(int(d) + 1 for d in degrees)
    worst = 1.0
    for y in range(G.shape[2]):
        worst = max(worst, _worst_ratio(G[:, :, y].reshape(shape)))
        if np.isinf(worst):
            break
    return float(np.log(worst))


def _homogeneous(degree: int) -> Array:
    """Coefficients of ``t**i (1 - t)**(degree - i)``, a row for each i, of powers of t, exactly."""
    return np.array(
        [[comb(degree - r, i - r) if i >= r else 0 for r in range(degree + 1)]
         for i in range(degree + 1)],
        dtype=object,
    )  # fmt: skip


def _worst_ratio(G: Array) -> float:
    """The largest ratio of polynomials with the coefficients ``G[x]``, shape (k, d_1 + 1, ...).

    A common factor t**a (1 - t)**b of all of them leaves slices of G; a bound is then a slice too.
    """
    for axis in range(1, G.ndim):
        used = np.flatnonzero(np.moveaxis(G, axis, 0).reshape(G.shape[axis], -1).any(axis=1))
        if used.size:
            G = np.take(G, range(used[0], used[-1] + 1), axis=axis)
    G = G.reshape(len(G), *(size for size in G.shape[1:] if size > 1))
    some = G.reshape(len(G), -1).any(axis=1)
    if not some.all():
        return np.inf if some.any() else 1.0
    if G.ndim == 1:
        return float(G.max() / G.min())
    linear = [axis for axis in range(1, G.ndim) if G.shape[axis] == 2]
    faces = linear[:1] or (range(1, G.ndim) if G.ndim <= _MOST_FACES else [])
    found = max((_worst_ratio(np.take(G, i, axis=a)) for a in faces for i in (0, -1)), default=1.0)
    return found if linear or np.isinf(found) else max(found, _ratio_on_grid(G))


def _ratio_on_grid(G: Array) -> float:
    """The largest ratio on a grid that closes in on it."""
    rounding = 1e-14 * float(np.abs(G).max()) if G.min() < 0.0 else 0.0

    def ratio(points: Array) -> Array:
        value = G
        for t in points:  # the first axis of what is left gives way to points at the end
            i = np.arange(value.shape[1])
            value = np.tensordot(value, t ** i[:, None] * (1.0 - t) ** (i[-1] - i)[:, None], (1, 0))
        value = np.where(np.abs(value) <= rounding, 0.0, value)
        top, least = value.max(axis=0), value.min(axis=0)
        bounded = np.where(least > 0.0, top / np.where(least > 0.0, least, 1.0), np.inf)
        return np.where(top > 0.0, bounded, 1.0)

    return max(closing_in(ratio, G.ndim - 1, _ROUNDS)[1], 1.0)
