"""The exact law of what a device reports, given the true answer."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb, inf
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.programs.polynomials import Chance, Polynomial, distinct
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

__all__ = [
    "Law",
    "Row",
    "largest_ratio",
    "law",
    "nearest_log",
    "ratio_of_rows",
    "substituted",
    "terms_of",
    "worst_epsilon",
]


# -- What is said to each true answer, with exact probabilities: in structured form, or by rows ---


Row = dict[Any, Chance]
_MOST_ENTRIES = 1 << 22
_ZERO_rows, _ONE_rows = Fraction(0), Fraction(1)


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
            found[own] = found.get(own, _ZERO_rows) + self.even.own
        for label, p in self.even.extra.items():
            found[label] = found.get(label, _ZERO_rows) + p
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
        return tuple(tuple(row.get(y, _ZERO_rows) for y in outputs) for row in rows)

    def least(self) -> Fraction:
        """A bound of the positive probabilities of reports, from below; 1 for polynomials."""
        if self.even is None:
            found: Iterable[Chance] = (p for row in self.sparse or () for p in row.values())
        else:
            own, base = self.even.own, self.even.base
            apart = [base, *self.even.extra.values(), *(base + p for p in self.even.extra.values())]
            found = [*apart, *(own + p for p in apart)]
        few = {id(p): p for p in found}.values()  # rows share most of their numbers
        return min((p for p in few if isinstance(p, Fraction) and p > 0), default=_ONE_rows)

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
    return Law(categories, tuple(extra), Even(_ZERO_rows, _ZERO_rows, extra))


def shared(found: Law) -> Row:
    """The part of an even law that all categories have in common."""
    assert found.even is not None
    shared = dict.fromkeys(found.categories, found.even.base) if found.even.base != 0 else {}
    for label, p in found.even.extra.items():
        shared[label] = shared.get(label, _ZERO_rows) + p
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
    own: Chance = _ZERO_rows
    base: Chance = _ZERO_rows
    extra: Row = {}
    for weight, part in weighted:
        assert part is not None
        own, base = own + weight * part.own, base + weight * part.base
        for label, p in part.extra.items():
            extra[label] = extra.get(label, _ZERO_rows) + weight * p
    return Even(own, base, made(extra))


def weighted(parts: Iterable[tuple[Chance, Row]]) -> Row:
    """The sum of some rows with weights."""
    found: Row = {}
    for weight, row in parts:
        if weight != 0:
            for label, p in row.items():
                found[label] = found.get(label, _ZERO_rows) + weight * p
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


# -- What an exact law guarantees: the largest ratio of its probabilities, and its logarithm ------


def largest_ratio(law: Law) -> Fraction | float:
    """The largest ``Q[x, y] / Q[x', y]`` over x, x' and y; inf if a report excludes an answer."""
    if law.even is not None:
        return _even_ratio(law)
    k = len(law.categories)
    return ratio_of_rows((law.row(x).items() for x in range(k)), k)


def ratio_of_rows(rows: Iterable[Iterable[tuple[Any, Any]]], k: int) -> Fraction | float:
    """The same of k rows of pairs of a report and its probability; polynomials are left out."""
    found: dict[Any, dict[tuple[int, int], Fraction]] = {}  # most rows share their few numbers
    seen: dict[Any, int] = {}
    for row in rows:
        for label, p in row:
            if isinstance(p, Fraction) and p:
                found.setdefault(label, {}).setdefault((p.numerator, p.denominator), p)
                seen[label] = seen.get(label, 0) + 1
    if any(times < k for times in seen.values()):
        return inf
    ranges = ((max(values.values()), min(values.values())) for values in found.values())
    return max((high / low for high, low in ranges), default=Fraction(1))


def _even_ratio(law: Law) -> Fraction | float:
    """The same where all categories are alike: own report against that of any other."""
    even = law.even
    assert even is not None
    own, base = Fraction(even.own), Fraction(even.base)  # type: ignore[arg-type]
    k = len(law.categories)
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


def nearest_log(ratio: Fraction | float) -> float:
    """The float nearest to the natural logarithm of a positive Fraction; inf for inf.

    The logarithm of a Fraction other than one is irrational, so that enough digits always decide.

    Examples
    --------
    >>> nearest_log(Fraction(3)), nearest_log(Fraction(10**30 + 1, 10**30))
    (1.0986122886681098, 1e-30)
    """
    if not isinstance(ratio, Fraction):
        return float(ratio) if ratio == inf else nearest_log(Fraction(ratio))
    if ratio == 1:
        return 0.0
    digits = 50
    while True:
        value, error = _log(ratio, digits)
        low, high = float(value - error), float(value + error)
        if low == high:
            return low
        digits *= 2


def _log(ratio: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """The logarithm to so many digits after the point, and a bound of its error."""
    context = decimal.Context(
        prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, rounding=decimal.ROUND_HALF_EVEN
    )
    quotient = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    value = context.ln(quotient)
    error = Decimal(10).scaleb(-digits, context) * (2 + abs(value))
    return value, error


# -- Devices with unknown parameters: values for them, terms of their laws, and the worst privacy --


Array = npt.NDArray[Any]

_FINE = 65  # points of a grid of the parameters that enter with a power above one
_ROUNDS = 12
_MOST_FACES = 5  # axes, one of them the answers, up to which limits at faces are looked for


def substituted(step: Step, values: Mapping[str, Fraction]) -> Step:
    """The same step with values for its unknown parameters.

    Parameters
    ----------
    step : Step
    values : mapping of str to Fraction
        In [0, 1], by name.

    Examples
    --------
    >>> from ldpstats.programs.polynomials import unknown
    >>> from ldpstats.programs.steps import Flip
    >>> substituted(Flip(1 - unknown("c")), {"c": Fraction(1, 10)})
    flip('9/10')
    """
    if not step.unknown:
        return step
    changed = {f.name: _value(getattr(step, f.name), values) for f in fields(step)}  # type: ignore[arg-type]
    return replace(step, **changed)  # type: ignore[type-var]


def _value(field: Any, values: Mapping[str, Fraction]) -> Any:
    if isinstance(field, Step):
        return substituted(field, values)
    if isinstance(field, Polynomial):
        return field.at(values)
    return tuple(_value(item, values) for item in field) if isinstance(field, tuple) else field


def terms_of(rows: Sequence[Sequence[Chance]], names: Sequence[str]) -> tuple[Array, Array]:
    """Exponents, (T, m), and exact coefficients, (T, k, l), of a matrix of polynomials.

    Parameters
    ----------
    rows : k rows of l Fractions or polynomials
    names : sequence of str, length m
        The parameters, in the order of the columns of the exponents.

    Examples
    --------
    >>> from ldpstats.programs.polynomials import unknown
    >>> c = unknown("c")
    >>> exponents, coefficients = terms_of([[c, 1 - c]], ["c"])
    >>> exponents.tolist(), coefficients.astype(int).tolist()
    ([[0], [1]], [[[0, 1]], [[1, -1]]])
    """
    place = {name: j for j, name in enumerate(names)}
    found: dict[tuple[int, ...], Array] = {}
    shape = len(rows), len(rows[0])
    none = (0,) * len(names)
    for x, row in enumerate(rows):
        for y, entry in enumerate(row):
            terms = entry.terms if isinstance(entry, Polynomial) else (((), entry),)
            for monomial, factor in terms:
                powers = list(none)
                for name, power in monomial:
                    powers[place[name]] = power
                if tuple(powers) not in found:
                    found[tuple(powers)] = np.full(shape, Fraction(0), dtype=object)
                found[tuple(powers)][x, y] += factor
    keys = sorted(found)
    return np.array(keys, dtype=np.int64).reshape(len(keys), len(names)), np.array(
        [found[key] for key in keys], dtype=object
    )


def worst_epsilon(exponents: Array, coefficients: Array) -> float:
    """The largest epsilon, in nats, over all values of the parameters in [0, 1].

    The ratio of two probabilities that are linear in a parameter is monotone in it, so that the
    largest is at a corner of the cube, exactly. Parameters with higher powers are searched for on
    a grid that closes in on the largest ratio. Where a report becomes impossible for every answer,
    the limit of the ratio counts.

    Parameters
    ----------
    exponents : array of int, shape (T, m)
    coefficients : array, shape (T, k, l)

    Returns
    -------
    float
        inf where a report excludes an answer at some values.

    Examples
    --------
    A coin that shows heads with an unknown probability from 0 to 1/2, for the truth:

    >>> exponents = np.array([[0], [1]])
    >>> rows = [[[.5, .5], [.5, .5]], [[.25, -.25], [-.25, .25]]]
    >>> round(worst_epsilon(exponents, np.array(rows)), 4)  # ln 3
    1.0986
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
    return found if linear or np.isinf(found) else max(found, _searched(G))


def _searched(G: Array) -> float:
    """The largest ratio on a grid that closes in on it."""
    m = G.ndim - 1
    size = 2 * max(1, round(_FINE ** (1.0 / m) / 2.0)) + 1  # odd: with the middle
    rounding = 1e-14 * float(np.abs(G).max()) if G.min() < 0.0 else 0.0
    low, high, worst = np.zeros(m), np.ones(m), 1.0
    for _ in range(_ROUNDS):
        points = np.linspace(low, high, size, axis=1)  # (m, size)
        value = G
        for t in points:  # the first axis of what is left gives way to points at the end
            i = np.arange(value.shape[1])
            value = np.tensordot(value, t ** i[:, None] * (1.0 - t) ** (i[-1] - i)[:, None], (1, 0))
        value = np.where(np.abs(value) <= rounding, 0.0, value)
        top, least = value.max(axis=0), value.min(axis=0)
        if np.any((least <= 0.0) & (top > 0.0)):
            return np.inf
        ratio = np.where(top > 0.0, top / np.where(top > 0.0, least, 1.0), 1.0)
        at = np.array(np.unravel_index(np.argmax(ratio), ratio.shape))
        worst = max(worst, float(ratio.max()))
        center, width = points[np.arange(m), at], (high - low) / (size - 1)
        low, high = np.maximum(0.0, center - width), np.minimum(1.0, center + width)
    return worst
