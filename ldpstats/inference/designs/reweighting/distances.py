"""How far calibration may move weights: the distances of Deville and Saerndal (1992).

Minimising a distance between the weights d and d g, given totals of X, makes ``g = F(X lambda)``.
F grows, and the multipliers minimise the convex ``sum d P(X lambda) - t'lambda``, P' = F.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Distance", "Linear", "Logit", "Raking"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Distance(ABC):
    """A distance; factors of weights stay within `lower` and `upper`."""

    lower: float = -np.inf
    upper: float = np.inf

    @property
    def least(self) -> float:
        """What no factor is below."""
        return self.lower

    def centred(self, ratio: float) -> tuple[Distance, float]:
        """A distance from d times a factor, and that factor, with the same nearest weights.

        With the sum of the weights given those are the same for ``d * ratio``, where the distance
        is a sum of (w - d)^2 / d or w log(w / d), and there rounding does least.
        """
        return replace(self, lower=self.lower / ratio, upper=self.upper / ratio), ratio

    @abstractmethod
    def factors(self, u: Array) -> Array:
        """F at ``u = X lambda``."""

    @abstractmethod
    def slopes(self, u: Array) -> Array:
        """The derivative of F; zero where a bound holds."""

    @abstractmethod
    def potential(self, u: Array) -> Array:
        """P, the integral of F."""


@dataclass(frozen=True)
class Linear(Distance):
    """``F = 1 + u``, the generalised regression estimator; cut off at bounds."""

    def _cut(self, u: Array) -> Array:
        return np.clip(u, self.lower - 1.0, self.upper - 1.0)

    def factors(self, u: Array) -> Array:
        return 1.0 + self._cut(u)

    def slopes(self, u: Array) -> Array:
        return np.asarray(self._cut(u) == u, dtype=np.float64)

    def potential(self, u: Array) -> Array:
        inside = self._cut(u)
        return np.asarray(inside + inside**2 / 2.0 + (1.0 + inside) * (u - inside))


@dataclass(frozen=True)
class Raking(Distance):
    """``F = exp(u)``, which iterative proportional fitting reaches; cut off at bounds."""

    @property
    def least(self) -> float:
        return max(self.lower, 0.0)

    def _cut(self, u: Array) -> Array:
        low = np.log(self.lower) if self.lower > 0.0 else -np.inf
        return np.clip(u, low, np.log(self.upper))

    def factors(self, u: Array) -> Array:
        with np.errstate(over="ignore"):  # a step too long is taken back
            return np.asarray(np.exp(self._cut(u)))

    def slopes(self, u: Array) -> Array:
        return np.where(self._cut(u) == u, self.factors(u), 0.0)

    def potential(self, u: Array) -> Array:
        inside = self._cut(u)
        return self.factors(u) * (1.0 + u - inside)


@dataclass(frozen=True)
class Logit(Distance):
    """Between finite bounds, smoothly: (2.6) of Deville and Saerndal (1992)."""

    def centred(self, ratio: float) -> tuple[Distance, float]:
        return self, 1.0

    def _place(self, u: Array) -> tuple[Array, float]:
        """The logit of the place between the bounds, and its derivative."""
        slope = (self.upper - self.lower) / ((1.0 - self.lower) * (self.upper - 1.0))
        return slope * u + np.log((1.0 - self.lower) / (self.upper - 1.0)), slope

    def _share(self, u: Array) -> Array:
        return np.asarray((1.0 + np.tanh(self._place(u)[0] / 2.0)) / 2.0)

    def factors(self, u: Array) -> Array:
        return self.lower + (self.upper - self.lower) * self._share(u)

    def slopes(self, u: Array) -> Array:
        share = self._share(u)
        return np.asarray((self.upper - self.lower) * self._place(u)[1] * share * (1.0 - share))

    def potential(self, u: Array) -> Array:
        place, slope = self._place(u)
        return self.lower * u + (self.upper - self.lower) / slope * np.logaddexp(0.0, place)
