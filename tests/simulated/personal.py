"""Simulated surveys behind a personalised mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from surveys import (
    draw,
    moments,
    null_covariances,
    observed_covariances,
    projected,
)
from surveys import estimates as intermediate

import ldpstats as ldp

Array = npt.NDArray[Any]


BATCH = 1000  # surveys at a time
KINDS: dict[str, Callable[..., Any]] = {"urr": ldp.URR, "urap": ldp.URAP}


@dataclass(frozen=True)
class Setting:
    """What is surveyed: the mechanism, the respondents, and how many of them use bots.

    The last category is reached through bots only, the one before has half a report on average and
    no bot, two more have two and six reports and bots. The shares of the others fall.
    """

    kind: str
    k: int
    S: int
    kappa: int
    epsilon: float
    n: int
    where: str

    def __str__(self) -> str:
        values = [getattr(self, field.name) for field in fields(self)]
        return "-".join(f"{v:g}" if isinstance(v, float) else str(v) for v in values)

    @cached_property
    def pum(self) -> ldp.PUM:
        tags = ("home", "work", "gym")[: self.kappa]
        return ldp.PUM(KINDS[self.kind](self.k, range(self.S), self.epsilon), tags)

    @cached_property
    def pi(self) -> Array:
        """Background, (kappa, k): none of what is sensitive for all, or of the last but one."""
        base = 1.0 / np.arange(1, self.k + 1)
        pi = np.array([np.roll(base, -3), base[::-1], np.roll(base, self.k // 2)])[: self.kappa]
        pi[:, : self.S] = pi[:, -2] = 0.0
        pi[0, self.k // 2] = 0.0
        return np.asarray(pi / pi.sum(axis=1, keepdims=True))

    @cached_property
    def r(self) -> Array:
        """Intermediate frequencies, shape (k + kappa,)."""
        share = {"many": 0.3, "few": 0.01, "none": 0.0}[self.where]
        bots = share * np.array([1.0, 0.4, 0.2])[: self.kappa]
        own = 1.0 / np.arange(1, self.k + 1)
        rare = np.array([6.0, 2.0, 0.5, 0.0]) / self.n
        own[-4:] = 0.0
        own *= (1.0 - bots.sum() - rare.sum()) / own.sum()
        own[-4:] = rare
        return np.concatenate([own, bots])

    @cached_property
    def G(self) -> Array:
        return np.hstack([np.eye(self.k), self.pi.T])

    @property
    def p(self) -> Array:
        return np.asarray(self.G @ self.r)

    @cached_property
    def law(self) -> tuple[Array, Array]:
        """Offset and scale of the tallies, shape (k + kappa,): chance of each, offset + scale r."""
        problem = moments(self.pum.common, self.n)
        shape = self.r.shape
        return np.broadcast_to(problem.offset, shape), np.broadcast_to(problem.A, shape)

    @property
    def expected(self) -> Array:
        """Smallest expected tally among those that the estimate of a category rests on."""
        offset, scale = self.law
        tally = self.n * (offset + scale * self.r)
        bots = np.where(self.pi > 0.0, tally[self.k :, None], np.inf).min(axis=0)
        return np.asarray(np.minimum(tally[: self.k], bots))

    def draw(self, R: int, *key: int) -> Array:
        """Tallies of R surveys, shape (R, k + kappa): they have the law of `Mechanism.draw`."""
        rng = np.random.default_rng([2025, *map(ord, str(self)), *key])
        return draw(self.pum.common, self.r, self.n, R, rng)

    def counts(self, tally: Array) -> Any:
        return self.pum.common.counts(tally, None if self.kind == "urr" else self.n)

    def results(self, tally: Array, exact: bool = True) -> ldp.PersonalizedResults:
        background = dict(zip(self.pum.tags, self.pi, strict=True))
        model = ldp.PersonalizedModel(self.counts(tally), self.pum, background, exact)
        return model.fit("inversion")


# ---- many surveys at once


def estimates(setting: Setting, tally: Array) -> tuple[Array, Array]:
    """Linear estimates of r, shape (R, k + kappa), and their plug-in covariances."""
    common, n = setting.pum.common, setting.n
    with np.errstate(divide="ignore", invalid="ignore"):  # of one report again and again
        r, V = intermediate(common, tally, n)[0], observed_covariances(common, tally, n)
    unknown = ~np.isfinite(V).all(axis=(1, 2))
    V[unknown] = null_covariances(common, projected(r[unknown]), n)
    return r, V
