"""Devices with unknown parameters: values for them, terms of their laws, and the worst privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.programs.polynomials import Chance, Polynomial
from ldpstats.programs.steps import Step

__all__ = ["substituted", "terms_of", "worst_epsilon"]

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
