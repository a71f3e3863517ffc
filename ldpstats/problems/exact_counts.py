"""Binomial counts of categories, whose law is known exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.documents import array_from_json, array_to_json

__all__ = ["ExactForm"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class ExactForm:
    """Binomial counts of categories: ``tally_x ~ Bin(nobs, offset_x + scale_x p_x)`` exactly.

    Every category has one under k-RR, binary designs and unary reports; under other channels only
    some, and `offset` and `scale` are nan for the rest. Exact intervals, and the exact p-values of
    `FrequencyResults.detected`, rest on them.
    """

    tally: Array
    nobs: int
    offset: Array
    scale: Array

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which categories have a count of their own, shape (k,)."""
        return np.isfinite(self.scale)

    def take(self, index: Array) -> ExactForm:
        """The counts of some categories."""
        return ExactForm(self.tally[index], self.nobs, self.offset[index], self.scale[index])

    def cumulants(self, p: Array) -> tuple[Array, Array]:
        """Variance and third cumulant, shape (k,), of ``(tally/nobs - offset)/scale`` at p."""
        m = self.offset + self.scale * p
        spread = m * (1.0 - m) / self.nobs
        return spread / self.scale**2, spread * (1.0 - 2.0 * m) / self.nobs / self.scale**3

    def apply(self, function: Any, *rest: Any) -> Array:
        """``function(tally, nobs, offset, scale, *rest)`` of the categories that have a count.

        Categories of one law that were counted alike are looked at once.
        """
        at = self.known
        tally, offset, scale = self.tally[at], self.offset[at], self.scale[at]
        if tally.size and np.all(offset == offset[0]) and np.all(scale == scale[0]):
            distinct, of = np.unique(tally, return_inverse=True)
            return np.asarray(function(distinct, self.nobs, offset[0], scale[0], *rest))[of]
        return np.asarray(function(tally, self.nobs, offset, scale, *rest))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "tally": array_to_json(self.tally),
            "nobs": self.nobs,
            "offset": array_to_json(self.offset),
            "scale": array_to_json(self.scale),
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> ExactForm:
        """Inverse of `to_dict`."""
        offset, scale = (array_from_json(document[name]) for name in ("offset", "scale"))
        return cls(array_from_json(document["tally"], None), document["nobs"], offset, scale)
