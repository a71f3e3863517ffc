"""Devices with unknown parameters: values for them, terms of their laws, and the worst privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.programs.polynomials import Chance, Polynomial
from ldpstats.programs.steps import Step

__all__ = ["substituted", "terms_of", "worst_epsilon"]

Array = npt.NDArray[Any]

_FINE = 65  # values of a parameter that enters with a power above one
_ROUNDS = 12


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
    largest is at a corner of the cube. Parameters with higher powers are searched for on a grid
    that closes in on the largest ratio.

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
    C = np.asarray(coefficients, dtype=np.float64)
    m = exponents.shape[1]
    higher = exponents.max(axis=0, initial=0) > 1
    low, high = np.zeros(m), np.ones(m)
    worst = 0.0
    for _ in range(_ROUNDS if higher.any() else 1):
        size = max(3, round(_FINE ** (1.0 / max(1, int(higher.sum())))))
        axes = [
            np.linspace(a, b, size) if curved else np.array([0.0, 1.0])
            for a, b, curved in zip(low, high, higher, strict=True)
        ]
        best, at = 0.0, np.full(m, 0.5)
        for corner in product(*axes):
            theta = np.array(corner)
            found = _epsilon(np.tensordot(np.prod(theta**exponents, axis=1), C, axes=1))
            if found > best:
                best, at = found, theta
        worst = max(worst, best)
        if np.isinf(worst):
            break
        width = (high - low) / (size - 1)
        low, high = np.maximum(0.0, at - width), np.minimum(1.0, at + width)
    return worst


def _epsilon(Q: Array) -> float:
    """The largest log ratio in a column; of columns that are zero nothing."""
    Q = np.where(np.abs(Q) < 1e-15, 0.0, Q)  # rounding of a difference
    used = Q.max(axis=0) > 0.0
    if not used.any():
        return 0.0
    high, low = Q[:, used].max(axis=0), Q[:, used].min(axis=0)
    return float("inf") if np.any(low <= 0.0) else float(np.log(high / low).max())
