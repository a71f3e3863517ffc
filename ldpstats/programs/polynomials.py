"""Polynomials in unknown parameters, with exact coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from ldpstats.errors import InvalidArgument

__all__ = ["Chance", "Polynomial", "unknown"]

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

        Parameters
        ----------
        values : mapping of str to number or array
            One for each name; others are ignored. Whole numbers and Fractions stay exact, and then
            names may be left out: the result is a polynomial in them. Floats and arrays give those.

        Raises
        ------
        InvalidArgument
            If a name has no value and others are floats.
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

    def derivative(self, name: str) -> Chance:
        """The derivative with respect to one unknown parameter.

        Examples
        --------
        >>> x = unknown("x")
        >>> (x * x * 3 + 1).derivative("x")
        6*x
        """
        found: dict[Monomial, Fraction] = {}
        for monomial, factor in self.terms:
            powers = dict(monomial)
            power = powers.pop(name, 0)
            if power:
                rest = powers | ({name: power - 1} if power > 1 else {})
                found[tuple(sorted(rest.items()))] = factor * power
        return _made(found)

    def bounds(self) -> tuple[Fraction, Fraction]:
        """Numbers between which the value lies for all parameters in [0, 1].

        They are the least and the largest Bernstein coefficient: sharp where no name has a power
        above one, and reached at the corners wherever they are coefficients of corners.
        """
        degrees = {name: 0 for name in self.names}
        for monomial, _ in self.terms:
            for name, power in monomial:
                degrees[name] = max(degrees[name], power)
        coefficients = [
            sum((f * _weight(dict(m), i, degrees) for m, f in self.terms), Fraction(0))
            for values in product(*(range(d + 1) for d in degrees.values()))
            for i in [dict(zip(degrees, values, strict=True))]
        ]
        return min(coefficients), max(coefficients)

    def corners(self) -> tuple[Fraction, Fraction]:
        """The least and the largest value where every parameter is 0 or 1."""
        choices = product((0, 1), repeat=len(self.names))
        values = [self.at(dict(zip(self.names, c, strict=True))) for c in choices]
        return min(values), max(values)

    def outside(self) -> dict[str, Fraction]:
        """Parameters in [0, 1] at which the value is not in [0, 1]; empty if none were found.

        Corners decide where no name has a power above one. Else the least and the largest value
        are searched for on a grid that closes in, and checked exactly.

        Examples
        --------
        >>> x = unknown("x")
        >>> (8 * x * (1 - x)).outside(), (4 * x * (1 - x)).outside()
        ({'x': Fraction(1, 2)}, {})
        """
        powers = [power for monomial, _ in self.terms for _, power in monomial]
        low, high = self.bounds() if max(powers) > 1 else (Fraction(0), Fraction(1))
        for wanted, sign in ((low < 0, -1.0), (high > 1, 1.0)):
            at = self._extreme(sign) if wanted else {}
            if at and not 0 <= self.at(at) <= 1:
                return at
        return {}

    def _extreme(self, sign: float) -> dict[str, Fraction]:
        """Where the value times `sign` is largest, to six decimals."""
        m = len(self.names)
        size = 2 * max(1, round(_GRID ** (1.0 / m) / 2.0)) + 1  # odd: with the middle
        low, high = np.zeros(m), np.ones(m)
        for _ in range(_CLOSER):
            points = np.linspace(low, high, size, axis=1)
            mesh = zip(self.names, np.meshgrid(*points, indexing="ij"), strict=True)
            values = sign * self.at(dict(mesh))
            at = np.unravel_index(np.argmax(values), values.shape)
            center, width = points[np.arange(m), np.array(at)], (high - low) / (size - 1)
            low, high = np.maximum(0.0, center - width), np.minimum(1.0, center + width)
        return {name: Fraction(f"{x:.6f}") for name, x in zip(self.names, center, strict=True)}

    def __add__(self, other: object) -> Chance:
        return NotImplemented if (terms := _terms(other)) is None else _sum(self.terms, terms, 1)

    def __sub__(self, other: object) -> Chance:
        return NotImplemented if (terms := _terms(other)) is None else _sum(self.terms, terms, -1)

    def __rsub__(self, other: object) -> Chance:
        return NotImplemented if (terms := _terms(other)) is None else _sum(terms, self.terms, -1)

    def __mul__(self, other: object) -> Chance:
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        found: dict[Monomial, Fraction] = {}
        for first, a in self.terms:
            for second, b in terms:
                key = _times(first, second)
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
            size = _term(monomial, abs(factor))
            text += f" {sign} {size}" if text else size if sign == "+" else f"-{size}"
        return text


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
    return Polynomial(tuple(sorted(kept.items(), key=_order)))


def _order(term: tuple[Monomial, Fraction]) -> tuple[int, Monomial]:
    return sum(power for _, power in term[0]), term[0]


def _sum(
    first: tuple[tuple[Monomial, Fraction], ...],
    second: tuple[tuple[Monomial, Fraction], ...],
    sign: int,
) -> Chance:
    found = dict(first)
    for monomial, factor in second:
        found[monomial] = found.get(monomial, Fraction(0)) + sign * factor
    return _made(found)


def _times(first: Monomial, second: Monomial) -> Monomial:
    powers = dict(first)
    for name, power in second:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted(powers.items()))


def _weight(powers: Mapping[str, int], place: Mapping[str, int], degrees: Mapping[str, int]) -> Any:
    """The Bernstein coefficient at `place` of a monomial: a product of C(i, m) / C(d, m)."""
    from math import comb

    weight = Fraction(1)
    for name, degree in degrees.items():
        power = powers.get(name, 0)
        weight *= Fraction(comb(place[name], power), comb(degree, power))
    return weight


def _term(monomial: Monomial, size: Fraction) -> str:
    """One term as Python reads it: ``1/2*x**2``."""
    powers = [name if power == 1 else f"{name}**{power}" for name, power in monomial]
    if size != 1 or not powers:
        powers.insert(0, str(size))
    return "*".join(powers)
