"""The law of label reports, as contrasts of the frequencies move it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.documents import array_from_json, array_to_json

__all__ = ["ReportLaw", "ReportPart"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class ReportPart:
    """What an estimate makes of the reports of one source that are labels.

    Parameters
    ----------
    weights : array, shape (l,) or (k, l)
        Number with which a report counts for each category; shape (l,) for a diagonal.
    slopes : array, shape (l,) or (k, l)
        Growth of the probability of each report with each frequency; shape (l,) for a diagonal.
    law : array, shape (l,)
        Probabilities of the reports.
    nobs : int
    """

    weights: Array
    slopes: Array
    law: Array
    nobs: int

    def contrasts(self, R: Array) -> Array:
        """Number with which a report counts for each contrast, shape (q, l), R of shape (q, k)."""
        return np.asarray(R * self.weights if self.weights.ndim == 1 else R @ self.weights)

    def moved(self, change: Array) -> ReportPart:
        """The part where the frequencies differ by `change`, shape (k,), which sums to zero.

        A report that is left with less than half a report's share gets that, or what it had.
        """
        law = np.maximum(self._led(change), np.minimum(self.law, 0.5 / self.nobs))
        return ReportPart(self.weights, self.slopes, law / law.sum(), self.nobs)

    def can_move(self, change: Array) -> bool:
        """Whether no report becomes twice as likely, or half as; a tenth of one is no change."""
        led, slack = self._led(change), 0.1 / self.nobs
        return bool(np.all((led >= 0.5 * self.law - slack) & (led <= 2.0 * self.law + slack)))

    def _led(self, change: Array) -> Array:
        step = self.slopes * change if self.slopes.ndim == 1 else change @ self.slopes
        return np.asarray(self.law + step)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        names = ("weights", "slopes", "law")
        return {name: array_to_json(getattr(self, name)) for name in names} | {"nobs": self.nobs}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> ReportPart:
        """Inverse of `to_dict`."""
        weights, slopes, law = (
            array_from_json(document[name]) for name in ("weights", "slopes", "law")
        )
        return cls(weights, slopes, law, int(document["nobs"]))


@dataclass(frozen=True, eq=False)
class ReportLaw:
    """The law of a linear estimate from label reports, which can be moved to where a null holds.

    Tests of the estimate are then score tests: with its variance, and its skewness, under the null.
    The variance at the estimate itself is too small where a channel is ill-conditioned or reports
    are few.

    Parameters
    ----------
    parts : tuple of ReportPart
        The sources.
    """

    parts: tuple[ReportPart, ...]

    def moved(self, change: Array) -> ReportLaw:
        """The law where the frequencies differ by `change`, shape (k,)."""
        return ReportLaw(tuple(part.moved(change) for part in self.parts))

    def covariance(self, R: Array) -> Array:
        """Covariance of the contrasts R p, shape (q, q), for R of shape (q, k)."""
        total = np.zeros((len(R), len(R)))
        for part in self.parts:
            u = part.contrasts(R)
            centred = u - (u @ part.law)[:, None]
            total += (centred * part.law) @ centred.T / part.nobs
        return total

    def third_cumulants(self, R: Array) -> Array:
        """Third cumulant of each contrast, shape (q,)."""
        total = np.zeros(len(R))
        for part in self.parts:
            u = part.contrasts(R)
            centred = u - (u @ part.law)[:, None]
            total += centred * centred * centred @ part.law / part.nobs**2  # quicker than a power
        return total

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"parts": [part.to_dict() for part in self.parts]}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> ReportLaw:
        """Inverse of `to_dict`."""
        return cls(tuple(ReportPart.from_dict(part) for part in document["parts"]))
