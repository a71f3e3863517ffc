"""What an exact law guarantees: the largest ratio of its probabilities, and its logarithm."""

from __future__ import annotations

import decimal
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Any

from ldpstats.programs.laws import Law

__all__ = ["largest_ratio", "nearest_log", "ratio_of_rows"]


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
