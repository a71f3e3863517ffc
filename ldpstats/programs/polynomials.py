"""Exact probabilities: polynomials in unknown parameters, numbers as people write them, laws.

A law is labels with their probabilities, which sum to one. Here too are the checks of what else the
steps of a device are made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import isfinite
from numbers import Integral
from typing import Any

import numpy as np

from ldpstats.arguments import Array, listed
from ldpstats.errors import InvalidArgument
from ldpstats.labels import Labels, as_labels

Monomial = tuple[tuple[str, int], ...]

_MOST_TERMS = 10_000
_GRID = 65  # points of the grid on which an extreme value is looked for
_CLOSER = 5


@dataclass(frozen=True)
class Polynomial:
    """A polynomial in unknown parameters: a probability that the design leaves open.

    Sums, differences and products with Fractions and whole numbers are exact. One that is constant
    becomes a Fraction again, so that ``c + (1 - c)`` is 1.

    Parameters
    ----------
    terms : tuple of (monomial, Fraction)
        Sorted; a monomial is a sorted tuple of names with their powers. `unknown` makes the first.

    Examples
    --------
    >>> cheating = unknown("cheating")
    >>> honest = 1 - cheating
    >>> honest, honest + cheating, honest * honest
    (1 - cheating, Fraction(1, 1), 1 - 2*cheating + cheating**2)
    >>> honest.at({"cheating": Fraction(1, 10)}), honest.at({"cheating": 0.25})
    (Fraction(9, 10), 0.75)
    """

    terms: tuple[tuple[Monomial, Fraction], ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The unknown parameters, in the order of the alphabet."""
        return tuple(sorted({name for monomial, _ in self.terms for name, _ in monomial}))

    def at(self, values: Mapping[str, Any]) -> Any:
        """The value where the unknown parameters have these values.

        Whole numbers and Fractions stay exact, and then names may be left out: the result is a
        polynomial in them. Floats and arrays give those.
        """
        given = {name: values[name] for name in self.names if name in values}
        exact = all(isinstance(value, int | Fraction) for value in given.values())
        if not exact and len(given) < len(self.names):
            lacking = [name for name in self.names if name not in given]
            raise InvalidArgument("values", sorted(given), f"must have a value for {lacking} too")
        total: Any = Fraction(0)
        for monomial, factor in self.terms:
            term: Any = factor if exact else float(factor)
            for name, power in monomial:
                known = name in given
                term = term * (given[name] if known else unknown(name)) ** power
            total = total + term
        return total

    def outside(self) -> dict[str, Fraction]:
        """Parameters in [0, 1] at which the value is not in [0, 1]; empty if none were found.

        Corners decide where no name has a power above one. Else the least and the largest value
        are searched for on a grid that closes in, and checked exactly.
        """
        tried: list[Any] = list(product((Fraction(0), Fraction(1)), repeat=len(self.names)))
        if any(power > 1 for monomial, _ in self.terms for _, power in monomial):
            for sign in (-1.0, 1.0):  # where the value times it is largest, to six decimals

                def value(points: Array, sign: float = sign) -> Any:
                    mesh = np.meshgrid(*points, indexing="ij")
                    return sign * self.at(dict(zip(self.names, mesh, strict=True)))

                center, _ = closing_in(value, len(self.names), _CLOSER)
                tried.append([Fraction(f"{x:.6f}") for x in center])
        for point in tried:
            at = dict(zip(self.names, point, strict=True))
            if not 0 <= self.at(at) <= 1:
                return at
        return {}

    def __add__(self, other: object) -> Chance:
        if (terms := _terms(other)) is None:
            return NotImplemented
        found = dict(self.terms)
        for monomial, factor in terms:
            found[monomial] = found.get(monomial, Fraction(0)) + factor
        return _made(found)

    def __sub__(self, other: Any) -> Chance:
        return NotImplemented if _terms(other) is None else self + other * -1

    def __rsub__(self, other: object) -> Chance:
        return NotImplemented if _terms(other) is None else self * -1 + other  # type: ignore[operator]

    def __mul__(self, other: object) -> Chance:
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        found: dict[Monomial, Fraction] = {}
        for first, a in self.terms:
            for second, b in terms:
                powers = dict(first)
                for name, power in second:
                    powers[name] = powers.get(name, 0) + power
                key = tuple(sorted(powers.items()))
                found[key] = found.get(key, Fraction(0)) + a * b
        return _made(found)

    def __truediv__(self, other: object) -> Chance:
        if isinstance(other, int | Fraction) and not isinstance(other, bool) and other != 0:
            return self * (Fraction(1) / other)
        return NotImplemented

    def __pow__(self, power: object) -> Chance:
        if not isinstance(power, int) or isinstance(power, bool) or not 0 <= power <= 100:
            return NotImplemented
        result: Chance = Fraction(1)
        for _ in range(power):
            result = self * result
        return result

    def __neg__(self) -> Chance:
        return self * -1

    __radd__ = __add__
    __rmul__ = __mul__

    def __repr__(self) -> str:
        text = ""
        for monomial, factor in self.terms:
            sign = "-" if factor < 0 else "+"
            powers = [name if power == 1 else f"{name}**{power}" for name, power in monomial]
            if abs(factor) != 1 or not powers:
                powers.insert(0, str(abs(factor)))
            term = "*".join(powers)
            text += f" {sign} {term}" if text else term if sign == "+" else f"-{term}"
        return text


def closing_in(value: Callable[[Array], Array], m: int, rounds: int) -> tuple[Array, float]:
    """Where a function of [0, 1]^m is largest on a grid that closes in, and the largest value.

    It takes points of each axis, (m, size), and has a value for each of their combinations.
    """
    size = 2 * max(1, round(_GRID ** (1.0 / m) / 2.0)) + 1  # odd: with the middle
    low, high, largest = np.zeros(m), np.ones(m), -np.inf
    for _ in range(rounds):
        points = np.linspace(low, high, size, axis=1)
        values = value(points)
        at = np.array(np.unravel_index(np.argmax(values), values.shape))
        largest = max(largest, float(values.max()))
        center, width = points[np.arange(m), at], (high - low) / (size - 1)
        low, high = np.maximum(0.0, center - width), np.minimum(1.0, center + width)
    return center, largest


Chance = Fraction | Polynomial
"""A probability: exact, or a polynomial in unknown parameters."""


def unknown(name: str) -> Polynomial:
    """An unknown parameter, in [0, 1], in place of a probability.

    Parameters
    ----------
    name : str
        A name as Python has them, such as "cheating": results call the parameter by it.

    Raises
    ------
    InvalidArgument
        If `name` is not a valid name.

    Examples
    --------
    >>> 1 - unknown("cheating")
    1 - cheating
    """
    if not isinstance(name, str) or not str.isidentifier(name) or len(name) > 100:
        remedy = "must be a name as Python has them (letters, digits, _), for example 'cheating'"
        raise InvalidArgument("name", name, remedy)
    return Polynomial(((((str.__str__(name), 1),), Fraction(1)),))


def _terms(value: object) -> tuple[tuple[Monomial, Fraction], ...] | None:
    """The terms of a summand or factor; None if it is neither number nor polynomial."""
    if isinstance(value, Polynomial):
        return value.terms
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return None
    return (((), Fraction(value)),)


def _made(found: Mapping[Monomial, Fraction]) -> Chance:
    """A polynomial from its terms; a Fraction if it is constant."""
    kept = {monomial: factor for monomial, factor in found.items() if factor}
    if not kept:
        return Fraction(0)
    if set(kept) == {()}:
        return kept[()]
    if len(kept) > _MOST_TERMS:
        raise InvalidArgument("polynomial", f"{len(kept)} terms", "uses too many unknown names")
    ordered = sorted(kept.items(), key=lambda term: (sum(n for _, n in term[0]), term[0]))
    return Polynomial(tuple(ordered))


# -- Probabilities as people write them, read exactly ---------------------------------------------


_REMEDY = "must be a probability in [0, 1], for example '1/6', Fraction(1, 6) or 0.25"
_DIGITS = r"[0-9]{1,400}"
_DECIMAL = rf"({_DIGITS}(\.[0-9]{{0,400}})?|\.{_DIGITS})([eE][+-]?[0-9]{{1,3}})?"
_TEXT = re.compile(rf"\s*[+-]?({_DIGITS}\s*/\s*{_DIGITS}|{_DECIMAL})\s*")
_LONGEST = 4000  # binary digits of a denominator
_UNKNOWN = "must stay in [0, 1] whatever the unknown parameters are in [0, 1]"


def chance(name: str, value: object) -> Chance:
    """Read a probability exactly: a float as its shortest decimal, 0.1 is 1/10, text as "1/6"."""
    if isinstance(value, Polynomial):
        if len(value.names) > 10:
            raise InvalidArgument(name, value, "must have at most ten unknown parameters")
        if outside := value.outside():
            shown = ", ".join(f"{known} = {at}" for known, at in outside.items())
            remedy = f"{_UNKNOWN}; where {shown} it is {value.at(outside)}"
            raise InvalidArgument(name, value, remedy)
        return value
    number = value.item() if isinstance(value, np.integer) else value
    if isinstance(value, float | np.floating | str | Decimal):  # not exact by its type
        text = str(value)  # of a float the shortest decimal of its own precision
        try:
            number = Fraction(re.sub(r"\s", "", text)) if _TEXT.fullmatch(text) else None
        except (ValueError, ZeroDivisionError):
            raise InvalidArgument(name, value, _REMEDY) from None
    if isinstance(number, bool) or not isinstance(number, int | Fraction):
        raise InvalidArgument(name, value, _REMEDY)
    exact = Fraction(number)
    if not 0 <= exact <= 1:
        understood = f" (understood as {exact})" if exact.denominator > 1 else ""
        raise InvalidArgument(name, value, f"{_REMEDY}{understood}")
    if exact.denominator.bit_length() > _LONGEST:
        remedy = f"must be a Fraction whose denominator has at most {_LONGEST} binary digits"
        raise InvalidArgument(name, value, remedy)
    return exact


def spelled(value: Chance) -> str:
    """A probability as the constructors of devices read it back: "'1/6'", "1 - unknown('c')"."""
    if isinstance(value, Fraction):
        return repr(str(value)) if value.denominator > 1 else str(value)
    text = repr(value)
    text = re.sub(r"[^\W\d]\w*", lambda found: f"unknown({found[0]!r})", text)
    return re.sub(r"\b(\d+)/(\d+)", r"Fraction(\1, \2)", text)


# -- Checks of what the steps of a device are made of ---------------------------------------------


Proportions = tuple[tuple[Any, Chance], ...]

_NEW = object()
_MOST_LABELS = 1 << 20
_LABEL = "must be a label: text, a whole number, a finite float, True or False"
_LAW = (
    "must be a dict of labels with their probabilities, for example {'red': '1/3', 'blue': '2/3'}"
)
_DECK = "must be a dict of labels with numbers of cards, for example {'red': 3, 'blue': 7}"


def known_label(name: str, value: object) -> Any:
    """Return a label in Python's own type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float) and isfinite(value):
        return float(value) + 0.0
    remedy = _LABEL
    if isinstance(value, tuple):
        remedy = f"{_LABEL}; not a tuple: join its parts, as in 'red, black'"
    raise InvalidArgument(name, value, remedy)


def listed_labels(name: str, value: object, least: int = 2) -> Labels:
    """Return distinct labels that are few enough to be listed."""
    labels = as_labels(name, value, least)
    if len(labels) > _MOST_LABELS:
        remedy = f"must be at most {_MOST_LABELS} labels, which a device lists one by one"
        raise InvalidArgument(f"len({name})", len(labels), remedy)
    return labels


def two_labels(answers: object) -> tuple[Any, Any]:
    """Return two different labels."""
    remedy = "must be two different labels, that of a yes second, for example ('no', 'yes')"
    labels = [known_label("answers", label) for label in listed("answers", answers, remedy)]
    if len(set(map(str, labels))) != 2 or len(labels) != 2 or labels[0] == labels[1]:
        raise InvalidArgument("answers", answers, remedy)
    return labels[0], labels[1]


def several_steps(name: str, value: object, least: int) -> tuple[Any, ...]:
    """Return some steps as a tuple."""
    remedy = f"must be {'two steps or more' if least == 2 else 'a list of steps'}"
    steps = tuple(listed(name, value, remedy))
    if len(steps) < least:
        raise InvalidArgument(name, value, remedy)
    return steps


def cohort_names(value: object, n: int) -> tuple[str, ...]:
    """Return the names of n cohorts, which reports begin with."""
    remedy = "must be text without a colon, blanks around it or control characters: reports are "
    remedy += "the name of the cohort, a colon and the answer"
    names = tuple(known_label("cohorts", name) for name in listed("cohorts", value, remedy))
    for name in names:
        plain = isinstance(name, str) and name.isprintable() and name.strip() == name
        if not plain or not name or ":" in name:
            raise InvalidArgument("cohorts", name, f"the name of a cohort {remedy}")
    distinct("cohorts", list(names))
    if len(names) != n:
        raise InvalidArgument("cohorts", names, f"must be {n} names, one for each cohort")
    return names


def cohort_shares(value: object, n: int) -> tuple[Fraction, ...]:
    """Return the exact probabilities of n cohorts, positive and of sum one."""
    remedy = f"must be {n} probabilities above 0 that sum to one, one for each cohort"
    given = listed("shares", value, remedy)
    found = tuple(chance("shares", p) for p in given)
    if len(found) != n or not all(isinstance(p, Fraction) and p > 0 for p in found):
        raise InvalidArgument("shares", value, remedy)
    total = sum(found, Fraction(0))
    if total != 1:
        understood = ", ".join(map(str, found[:6]))
        said = f"{remedy}: they sum to {total} (understood as {understood}); write thirds as '1/3'"
        raise InvalidArgument("shares", value, said)
    return tuple(Fraction(p) for p in found)  # type: ignore[arg-type]


def proportions(
    name: str, value: object, counts: bool = False
) -> tuple[Proportions, tuple[int, ...] | None]:
    """Return labels with exact probabilities that sum to one, and numbers of cards if given."""
    remedy = _DECK if counts else _LAW
    pairs: list[Any] = list(value.items()) if isinstance(value, Mapping) else []
    if isinstance(value, tuple | list):
        pairs = list(value)
    if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise InvalidArgument(name, value, remedy)
    given = [(known_label(name, label), number) for label, number in pairs]
    distinct(name, [label for label, _ in given])
    if counts and all(
        isinstance(number, Integral) and not isinstance(number, bool | np.timedelta64)
        for _, number in given
    ):
        cards = tuple(int(number) for _, number in given)
        n = sum(cards)
        if min(cards) < 0 or n < 1 or n >= 1 << 53:
            raise InvalidArgument(name, dict(given), _DECK)
        return tuple((label, Fraction(int(number), n)) for label, number in given), cards
    law = tuple((label, chance(f"{name}[{label!r}]", number)) for label, number in given)
    total = sum((p for _, p in law), Fraction(0))
    if total != 1:
        understood = ", ".join(f"{label!r}: {p}" for label, p in law[:6])
        hint = "write thirds as '1/3' or Fraction(1, 3): a float is its shortest decimal"
        said = f"sum to {total}, not to one (understood as {understood}); {hint}"
        raise InvalidArgument(name, value, f"the probabilities {said}")
    return law, None


def distinct(name: str, labels: list[Any]) -> None:
    """Refuse labels that occur twice, or look the same in print (1 and "1")."""
    by_text: dict[str, Any] = {}
    by_value: dict[Any, Any] = {}
    for label in labels:
        known = by_text.get(str(label), by_value.get(label, _NEW))
        if known is not _NEW:
            again = "occurs twice" if type(known) is type(label) else f"looks the same as {known!r}"
            raise InvalidArgument(name, label, f"the label {again}: labels must be distinct")
        by_text[str(label)] = by_value[label] = label
