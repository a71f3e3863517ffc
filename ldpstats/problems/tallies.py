"""Counts that estimates rest on: their variance and skewness as a frequency varies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.documents import array_from_json, array_to_json

__all__ = ["OwnTally", "PathLaw", "PooledTallies", "Tallies"]

Array = npt.NDArray[Any]

_ROUNDING = 1e-12  # of a mean square, that may be left of a variance which is zero


@dataclass(frozen=True, eq=False)
class Tallies(ABC):
    """Counts that estimates rest on, few enough of them to make estimates skewed."""

    everywhere: ClassVar[bool] = False  # whether the law is worth following away from the estimate

    @abstractmethod
    def law(self, p: Array) -> tuple[Array, Array, Array]:
        """Standard error and skewness at the frequencies p, and growth of the variance with p.

        A share of reports counts as half a report at least, and at least half a report short of
        all.
        """

    def absent(self, k: int) -> tuple[Array, Array]:
        """Standard error and skewness, for tests, of k estimates whose frequency is zero."""
        se, skewness, _ = self.law(np.zeros(k))
        return se, skewness

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {field.name: array_to_json(getattr(self, field.name)) for field in fields(self)}

    @staticmethod
    def from_dict(document: dict[str, Any]) -> Tallies:
        """Inverse of `to_dict`; the fields tell of which kind they are."""
        known: dict[str, type[Tallies]] = {"share": PooledTallies, "own": PathLaw}
        kind = next((known[name] for name in known if name in document), OwnTally)
        values = (array_from_json(document[field.name]) for field in fields(kind))
        return kind(*values)


@dataclass(frozen=True, eq=False)
class PooledTallies(Tallies):
    """What estimates from several sources rest on: a binomial count of each category in each.

    The estimate is ``sum_s share_s (tally_s/nobs_s - offset_s)/scale_s`` with ``tally_s ~
    Bin(nobs_s, offset_s + scale_s p)``. Few reports without noise make it skewed, and its variance
    grow with the frequency: `FrequencyResults.detected` and `conf_int` allow for both.

    Parameters
    ----------
    nobs : array, shape (S, 1)
        Reports of each source.
    offset, scale : array, shape (S, k)
        Law of the counts.
    share : array, shape (S, k)
        Weight of each source in the estimate; they sum to one.

    Examples
    --------
    >>> tallies = PooledTallies(
    ...     nobs=np.full((2, 1), 100.0),
    ...     offset=np.array([[0.0], [0.2]]),
    ...     scale=np.array([[0.5], [0.6]]),
    ...     share=np.array([[0.8], [0.2]]),
    ... )
    >>> [v.round(4) for v in tallies.law(np.array([0.04]))]
    [array([0.0264]), array([0.4401]), array([0.0127])]
    """

    nobs: Array
    offset: Array
    scale: Array
    share: Array

    def law(self, p: Array) -> tuple[Array, Array, Array]:
        half, unit = 0.5 / self.nobs, self.share / (self.scale * self.nobs)
        m = np.clip(self.offset + self.scale * p, half, 1.0 - half)
        spread = self.nobs * m * (1.0 - m)
        variance = (unit**2 * spread).sum(axis=0)
        third = (unit**3 * spread * (1.0 - 2.0 * m)).sum(axis=0)
        rate = (unit * self.share * (1.0 - 2.0 * m)).sum(axis=0)
        return np.sqrt(variance), third / variance**1.5, rate


@dataclass(frozen=True, eq=False)
class OwnTally(Tallies):
    """What estimates of hashed candidates rest on: the reports of their own cells.

    To second order an estimate is ``(tally/nobs - offset)/scale`` with ``tally ~ Bin(nobs, offset +
    scale p)``, plus noise from all other cells. Few reports a cell make it skewed, and its variance
    grow with the frequency: `FrequencyResults.detected` and `conf_int` allow for both.

    Parameters
    ----------
    nobs : array, shape (s,)
        Reports, once for each own cell of the candidate in their cohort.
    offset : array, shape (s,)
        Mean share of own cells among them if the candidate is absent.
    scale : array, shape (s,)
        Growth of that share with the frequency.
    other : array, shape (s,)
        Variance of the other noise.
    excess : array, shape (s,)
        Third cumulant by chance collisions with answers that are not listed; zero where the list is
        complete. Tests allow for it; two-sided intervals of level .95 do not need it.
    guard : array, shape (s,)
        Variance that tests add where the cells of the candidate differ more than the average
        collisions explain; zero where the list is complete.

    Examples
    --------
    >>> tally = OwnTally(*np.array([[1000.0], [0.02], [0.5], [0.0], [0.0], [0.0]]))
    >>> se, skewness, rate = tally.law(np.zeros(1))
    >>> round(float(se[0]), 5), round(float(skewness[0]), 3)
    (0.00885, 0.217)
    """

    nobs: Array
    offset: Array
    scale: Array
    other: Array
    excess: Array
    guard: Array

    def law(self, p: Array) -> tuple[Array, Array, Array]:
        own, tilt = self._own(p)
        variance = self.other + own
        return np.sqrt(variance), own * tilt / variance**1.5, tilt

    def absent(self, k: int) -> tuple[Array, Array]:
        own, tilt = self._own(np.zeros(k))
        variance = self.other + own + self.guard
        return np.sqrt(variance), (own * tilt + self.excess) / variance**1.5

    def _own(self, p: Array) -> tuple[Array, Array]:
        """Variance of the own tally at the frequencies p, and its growth."""
        half = 0.5 / self.nobs
        share = np.clip(self.offset + self.scale * p, half, 1.0 - half)
        tilt = (1.0 - 2.0 * share) / (self.scale * self.nobs)
        return share * (1.0 - share) / (self.scale**2 * self.nobs), tilt


@dataclass(frozen=True, eq=False)
class PathLaw(Tallies):
    """The law of each estimate if its frequency were another, the others in proportion.

    An estimate is a mean over the reports of each source, added up over sources. Every report
    counts for it with a number that has the moments `own` where its category is the answer, and
    `others` where it is not; at the frequency v they are mixed with the shares v and 1 - v. The
    first three cumulants follow: exactly for a linear estimate, to first order for one whose
    weights were estimated too.

    Parameters
    ----------
    nobs : array, shape (S, 1)
        Reports of each source.
    own, others : array, shape (S, 3, k)
        Means of the number, of its square and of its cube.

    Examples
    --------
    Of 100 reports each tells the truth with probability 1/2, and nothing else:

    >>> law = PathLaw(np.array([[100.0]]), np.array([[[1.0], [2.0], [4.0]]]), np.zeros((1, 3, 1)))
    >>> [v.round(4) for v in law.law(np.array([0.04]))]
    [array([0.028]), array([0.6857]), array([0.0192])]
    """

    everywhere: ClassVar[bool] = True

    nobs: Array
    own: Array
    others: Array

    @classmethod
    def around(
        cls, p: Array, nobs: Sequence[int], moments: Sequence[tuple[Array, Array]]
    ) -> PathLaw:
        """From the `own` moments of each source, and those of all of its reports at p."""
        rest = 1.0 - p
        some = rest > 1e-9  # else the others are nobody, and what they would report does not matter
        others = [
            np.where(some, (mean - p * own) / np.where(some, rest, 1.0), own)
            for own, mean in moments
        ]
        reports = np.array([[float(n)] for n in nobs])
        return cls(reports, np.array([own for own, _ in moments]), np.array(others))

    def law(self, p: Array) -> tuple[Array, Array, Array]:
        v = np.clip(p, 0.0, 1.0)
        first, second, third = np.moveaxis(self.others + v * (self.own - self.others), 1, 0)
        rise = self.own - self.others
        spread = second - first**2
        spread = np.where(spread > _ROUNDING * second, spread, 0.0)  # what is certain has none
        variance = (spread / self.nobs).sum(axis=0)
        cumulant = ((third - 3.0 * first * second + 2.0 * first**3) / self.nobs**2).sum(axis=0)
        rate = ((rise[:, 1] - 2.0 * first * rise[:, 0]) / self.nobs).sum(axis=0)
        varies = variance > 0.0
        skewness = np.where(varies, cumulant, 0.0) / np.where(varies, variance, 1.0) ** 1.5
        return np.sqrt(variance), skewness, rate
