"""Probabilities that a category is reported, and the two losses that follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import (
    as_array,
    distribution,
    positive_epsilon,
    positive_integer,
)
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.bits import check_theta

Array = npt.NDArray[Any]
Loss = Any  # np.float64, or an array of float64 where epsilon or n is one


@dataclass(frozen=True)
class Rates:
    """P(a category is reported), by its own respondents and by others, shape (..., k) or (..., 1).

    ``miss`` is 1 - own and ``slope`` is own - other, kept because subtraction would lose them to
    rounding at large epsilon.
    """

    own: Array
    miss: Array
    other: Array
    slope: Array

    def deviations(self, p: Array, n: Array) -> Array:
        """Standard deviations of p_hat, shape (..., k), for `p` of shape (..., k)."""
        m = self.own * p + self.other * (1.0 - p)
        not_m = self.miss * p + (1.0 - self.other) * (1.0 - p)
        return np.asarray(np.sqrt(m * not_m / n[..., None]) / self.slope)

    def l2(self, p: Array, n: Array, copies: Array | int = 1) -> Loss:
        """Squared l2 loss, with `copies` categories of each kind."""
        return np.sum(copies * self.deviations(p, n) ** 2, axis=-1)

    def l1(self, p: Array, n: Array, copies: Array | int = 1) -> Loss:
        # E |Z| = sqrt(2 / pi) for a standard normal Z
        return np.sqrt(2.0 / np.pi) * np.sum(copies * self.deviations(p, n), axis=-1)

    def worst_l2(self, k: int, n: Array) -> Loss:
        return self.l2(np.array([1.0 / k]), n, k)

    def worst_l1(self, k: int, n: Array) -> Loss:
        return self.l1(np.array([1.0 / k]), n, k)


NONPRIVATE = Rates(np.ones(1), np.zeros(1), np.zeros(1), np.ones(1))


def krr_rates(k: int, epsilon: Array) -> Rates:
    """KBR16 eq. 4 in powers of e^-epsilon, which cannot overflow."""
    epsilon = epsilon[..., None]
    lie = np.exp(-epsilon)
    total = 1.0 + (k - 1) * lie
    return Rates(1.0 / total, (k - 1) * lie / total, lie / total, -np.expm1(-epsilon) / total)


def krappor_rates(epsilon: Array, theta: float | None) -> Rates:
    """Generalised RAPPOR: own bit with probability theta, others with psi (MK19 section 2.4)."""
    epsilon = epsilon[..., None]
    if theta is None:
        flip = np.exp(-epsilon / 2.0)
        kept = 1.0 / (1.0 + flip)
        return Rates(kept, flip * kept, flip * kept, np.tanh(epsilon / 4.0))
    own = np.full_like(epsilon, check_theta(theta))
    total = 1.0 - own + own * np.exp(-epsilon)
    psi = own * np.exp(-epsilon) / total
    return Rates(own, 1.0 - own, psi, own * (1.0 - own) * -np.expm1(-epsilon) / total)


def urr_rates(odds: Array, copies: Array | int = 1) -> Rates:
    """MK19 Definition 3, from 1 / (e^epsilon - 1) of each sensitive category and 0 of others."""
    sensitive = np.sum(copies * odds, axis=-1, keepdims=True)
    total = 1.0 + sensitive
    return Rates(
        (1.0 + odds) / total,
        (sensitive - odds) / total,
        odds / total,
        np.broadcast_to(1.0 / total, odds.shape),
    )


def urap_rates(mask: Array, epsilon: Array, theta: float | None) -> Rates:
    """MK19 Definition 4 for sensitive (True) and other categories; no noise if all are other."""
    if not mask.any():
        return urr_rates(np.zeros((*epsilon.shape, 1)))
    bit = krappor_rates(epsilon, theta)
    lie = np.exp(-epsilon)[..., None]
    shown = bit.own * -np.expm1(-epsilon)[..., None]  # 1 - d2
    rest = Rates(shown, bit.miss + bit.own * lie, np.zeros(1), shown)
    return Rates(
        *(np.where(mask, getattr(bit, f.name), getattr(rest, f.name)) for f in fields(bit))
    )


def rectangular(name: str, value: object) -> Array:
    return as_array(name, value, "must be a number or an array of numbers")


def each(name: str, value: object, check: Callable[[str, object], float]) -> Array:
    """The numbers of `value`, each checked, as float64 of the same shape."""
    array = rectangular(name, value)
    checked = [check(name, number) for number in array.ravel().tolist()]
    return np.asarray(checked, dtype=np.float64).reshape(array.shape)


def setting(epsilon: object, n: object) -> tuple[Array, Array]:
    eps, respondents = each("epsilon", epsilon, positive_epsilon), sample_size(n)
    try:
        np.broadcast_shapes(eps.shape, respondents.shape)
    except ValueError:
        remedy = f"must broadcast with epsilon, which has shape {eps.shape}"
        raise InvalidArgument("n", f"array of shape {respondents.shape}", remedy) from None
    return eps, respondents


def sample_size(n: object) -> Array:
    return each("n", n, positive_integer)


def probabilities(p: object) -> Array:
    return distribution("p", p, positive_integer("len(p)", rectangular("p", p).size, least=2))


def categories(k: object) -> int:
    return positive_integer("k", k, least=2)
