"""Sums of weights by group, as an expression that every engine evaluates where its rows are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

__all__ = ["LEAST_WEIGHT", "MOST_WEIGHT", "added", "faults", "unusable"]

# products of weights and squares of their sums stay far from the ends of what a number can be
LEAST_WEIGHT, MOST_WEIGHT = 1e-50, 1e50


def added(
    frame: Any,
    names: Sequence[str],
    weights: Sequence[str],
    domain: Sequence[Any],
    factors: bool,
) -> Any:
    """The frame of `Query.weighted`, its columns of keys called c0, c1, ..."""
    import narwhals

    keys = [f"c{i}" for i in range(len(names))]
    sums = [f"w{i}" for i in range(len(weights))]
    made = {key: narwhals.col(name) for key, name in zip(keys, names, strict=True)}
    made["inside"] = reduce(and_, domain) if domain else narwhals.lit(True)
    numbers = [narwhals.col(name).cast(narwhals.Float64) for name in weights]
    if weights:
        first, *rest = numbers
        made |= dict(
            zip(sums, [first, *(first * r for r in rest)] if factors else numbers, strict=True)
        )
        made["w0w0"] = first * first
        sums = [*sums, "w0w0"]
        bad = [unusable(number, positive=not i) for i, number in enumerate(numbers)]
        made["bad"] = reduce(or_, bad).cast(narwhals.Int64)
        sums = [*sums, "bad"]
    chosen = frame.select(*(expression.alias(name) for name, expression in made.items()))
    totals = [narwhals.len().alias("n"), *(narwhals.col(name).sum() for name in sums)]
    return chosen.group_by(*keys, "inside").agg(*totals).select(*keys, "inside", "n", *sums)


def unusable(number: Any, positive: bool) -> Any:
    """Where a number is missing, infinite, negative or, if it is to be positive, zero or tiny.

    All engines sort NaN after every number, or find no comparison with it true.
    """
    low = number >= (LEAST_WEIGHT if positive else 0.0)
    return number.is_null() | ~(low & (number <= MOST_WEIGHT))


def faults(name: str, positive: bool) -> dict[str, Any]:
    """Expressions for what may be wrong with a column of numbers, by the words for it."""
    import narwhals

    number = narwhals.col(name).cast(narwhals.Float64)
    known = ~number.is_null() & ~number.is_nan()
    found = {
        "missing": ~known,
        "infinite": known & (number > MOST_WEIGHT),
        "negative": known & (number < 0.0),
    }
    if not positive:
        return found
    tiny = known & (number > 0.0) & (number < LEAST_WEIGHT)
    return found | {"zero": known & (number == 0.0), "tiny": tiny}
