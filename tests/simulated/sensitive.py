"""Simulated surveys by URR and URAP.

What these mechanisms bring that others do not is categories that are reported without noise, and
then seldom or never: every setting has some of probability zero and some that are expected 0.5 to
10 times.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from surveys import (
    draw,
    moments,
)

import ldpstats as ldp

Array = npt.NDArray[Any]


SENSITIVE = {0.2: (3,), 0.4: (0, 3), 0.8: (0, 1, 3, 4)}  # of every five categories
# expected reports of their own, or what they share of all that is left
KINDS = ("large", 0.0, 0.5, "moderate", 2.0, "large", 0.0, 10.0, 5.0, 1.0)


def with_levels(k: int, sensitive: tuple[int, ...], epsilon: float) -> ldp.URR:
    """One sensitive category in three has half of epsilon, one has twice as much."""
    return ldp.URR(k, epsilon={x: epsilon * (1, 0.5, 2)[i % 3] for i, x in enumerate(sensitive)})


MECHANISMS: dict[str, Callable[..., ldp.Mechanism]] = {
    "urr": ldp.URR,
    "urr-levels": with_levels,
    "urap": ldp.URAP,
    "urap-half": partial(ldp.URAP, theta=0.5),
}


@dataclass(frozen=True)
class Setting:
    """A mechanism, the number of respondents, and the first of `KINDS` in either class."""

    name: str
    k: int
    share: float
    epsilon: float
    n: int
    turn: int

    def __str__(self) -> str:
        return f"{self.name}-{self.k}-{self.share:g}-{self.epsilon:g}-{self.n}-{self.turn}"

    @cached_property
    def is_sensitive(self) -> npt.NDArray[np.bool_]:
        return np.isin(np.arange(self.k) % 5, SENSITIVE[self.share])

    @cached_property
    def mechanism(self) -> ldp.Mechanism:
        sensitive = tuple(np.flatnonzero(self.is_sensitive).tolist())
        return MECHANISMS[self.name](self.k, sensitive, self.epsilon)

    @cached_property
    def law(self) -> tuple[Array, Array]:
        """P(tally) of each category is offset + scale p."""
        problem = moments(self.mechanism, self.n)
        offset, scale = (np.broadcast_to(x, self.k) for x in (problem.offset, problem.A))
        return offset, scale

    @cached_property
    def p(self) -> Array:
        few, weight = np.zeros(self.k), np.zeros(self.k)
        for members in (self.is_sensitive, ~self.is_sensitive):
            for i, x in enumerate(np.flatnonzero(members)):
                kind = KINDS[(i + self.turn) % len(KINDS)]
                if isinstance(kind, float):
                    few[x] = min(kind / (self.n * self.law[1][x]), 0.2 / self.k)
                else:
                    weight[x] = {"large": 1.0, "moderate": 0.1}[kind]
        return few + (1 - few.sum()) * weight / weight.sum()

    @property
    def tallied(self) -> Array:
        offset, scale = self.law
        return offset + scale * self.p

    def draw(self, R: int, stream: int = 0) -> Array:
        rng = np.random.default_rng([2019, stream, SETTINGS.index(self)])
        return draw(self.mechanism, self.p, self.n, R, rng)


GRID = list(itertools.product(MECHANISMS, (5, 20, 50), SENSITIVE, (0.3, 1.0, 3.0)))
SIZES = list(itertools.product((1000, 10_000, 100_000), (0, 1, 4)))
SETTINGS = [Setting(*where, *size) for where in GRID for size in SIZES]
# one of the nine sizes for each, so that all meet each k, share and epsilon
SIMULATED = [Setting(*where, *SIZES[(4 * i + i // 9) % 9]) for i, where in enumerate(GRID)]
A_FEW = [SIMULATED[GRID.index(g)] for g in (("urr-levels", 20, 0.4, 1.0), ("urap", 5, 0.4, 3.0))]
