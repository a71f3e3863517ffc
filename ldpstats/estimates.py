"""The pieces that results are made of: an estimate with its covariance, and exact counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.covariances import Covariance

__all__ = ["ExactForm", "Uncertain", "number_from_json", "number_to_json"]

Array = npt.NDArray[Any]


def number_to_json(value: float) -> float | str:
    """A number as strict JSON has it: nan and infinity become their names."""
    return value if np.isfinite(value) else repr(float(value))


def number_from_json(value: float | str) -> float:
    """Inverse of `number_to_json`."""
    return float(value)


@dataclass(frozen=True, eq=False)
class Uncertain:
    """An estimate of shape (k,) and its covariance, None where it was not computed."""

    estimate: Array
    covariance: Covariance | None

    def bse(self) -> Array:
        """Standard errors, shape (k,); nan where there is no covariance."""
        if self.covariance is None:
            return np.full(self.estimate.size, np.nan)
        return np.sqrt(self.covariance.variances())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        V = self.covariance
        document: dict[str, Any] = {"estimate": self.estimate.tolist(), "covariance": None}
        if V is not None:
            factors = None if V.factors is None else V.factors.tolist()
            document["covariance"] = {
                "diagonal": V.diagonal.tolist(),
                "core": V.core.tolist(),
                "factors": factors,
            }
        return document

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Uncertain:
        """Inverse of `to_dict`."""
        estimate, V = np.array(document["estimate"]), document["covariance"]
        if V is None:
            return cls(estimate, None)
        factors = None if V["factors"] is None else np.array(V["factors"])
        return cls(estimate, Covariance(np.array(V["diagonal"]), np.array(V["core"]), factors))


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

    def apply(self, function: Any, *rest: Any) -> Array:
        """``function(tally, nobs, offset, scale, *rest)`` of the categories that have a count."""
        at = self.known
        return np.asarray(
            function(self.tally[at], self.nobs, self.offset[at], self.scale[at], *rest)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "tally": self.tally.tolist(),
            "nobs": self.nobs,
            "offset": [number_to_json(v) for v in self.offset.tolist()],
            "scale": [number_to_json(v) for v in self.scale.tolist()],
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> ExactForm:
        """Inverse of `to_dict`."""
        offset, scale = (np.array(document[name], dtype=float) for name in ("offset", "scale"))
        return cls(np.array(document["tally"]), document["nobs"], offset, scale)
