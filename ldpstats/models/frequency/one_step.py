"""The unconstrained estimate from the likelihood of bits that inference rests on, and its law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.channels.base import Channel
from ldpstats.inference.information import observed_tangent_inverse
from ldpstats.mechanisms.base import Mechanism
from ldpstats.models.frequency.covariance import LARGEST_INFORMATION
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.estimates import Uncertain
from ldpstats.problems.moments import LARGEST_LIST, Moments
from ldpstats.problems.problem import Likelihood
from ldpstats.problems.tallies import PathLaw

__all__ = ["OneStep", "effective_counts", "rests_on_scores"]

Array = npt.NDArray[Any]

_LEAST = 1e-6  # reports, over all categories, where the reference has none


@dataclass(frozen=True, eq=False)
class OneStep(Moments):
    """One Newton step of the exact likelihood from a reference point, without the bounds of p.

    ``p0 + V s(p0)`` with s the score of all reports and V the inverse of their expected information
    J at p0 on the tangent space of the simplex. Because ``E[s(p0)] = J p`` for every p, it is
    unbiased whatever p0 is, and at p0 = p no regular estimate has a smaller variance. For k-RR it
    is the inversion; for bits it knows, as the inversion bit by bit does not, that a respondent
    has one category. It leaves [0, 1], and so stays calibrated where a frequency is zero.

    Parameters
    ----------
    channels : tuple of Channel
        Of the sources.
    reports : tuple of int
        Reports of each.
    likelihood : Likelihood
        Of all reports.
    reference : array, shape (k,)
        p0, on the simplex.

    Raises
    ------
    NotIdentified
        Where the reports do not determine p.
    NotAvailable
        Where a channel's expected information cannot be computed.
    """

    channels: tuple[Channel, ...]
    reports: tuple[int, ...]
    likelihood: Likelihood
    reference: Array
    kind: str = "scores"
    linear_method: ClassVar[str] = "one step"

    @property
    def k(self) -> int:
        return self.reference.size

    @property
    def nobs(self) -> int:  # type: ignore[override]
        return sum(self.reports)

    def at(self, p: Array) -> OneStep:
        """The same from another reference point."""
        return replace(self, reference=np.asarray(p, dtype=np.float64))

    @cached_property
    def start(self) -> Array:
        """p0, with next to nothing where it is zero: no possible report may be impossible."""
        p = np.maximum(self.reference, _LEAST / (self.nobs * self.k))
        return np.asarray(p / p.sum())

    @cached_property
    def _covariance(self) -> Covariance:
        parts = zip(self.channels, self.reports, strict=True)
        J = sum(n * channel.information(self.start) for channel, n in parts)
        return observed_tangent_inverse(np.asarray(J))

    def estimate(self) -> tuple[Array, str]:
        step = self._covariance.core @ self.likelihood.score(self.start)
        return self.start + step, "one Newton step of the likelihood"

    def covariance(self, p: Array | None = None) -> Covariance:
        return self._covariance if p is None else self.at(p)._covariance

    def influences(self, p: Array) -> list[tuple[int, Array, Array]] | None:
        step, found = self.at(p), []
        for n, channel in zip(self.reports, self.channels, strict=True):
            if self.k * channel.shape[1] > LARGEST_LIST:
                return None
            Q, m = channel.emitted(step.start)
            found.append((n, (step._covariance.core @ (Q / m)).T, m))
        return found

    def law(self) -> PathLaw:
        """How each estimate varies if its frequency is another than in the reference."""
        p, pairs = self.start, zip(self.channels, self.reports, strict=True)
        moments = [ch.score_moments(p, n * self._covariance.core) for ch, n in pairs]
        return PathLaw.around(p, self.reports, moments)

    def tally(self, linear: Uncertain, p: Array | None = None) -> PathLaw:
        return self.law()


def rests_on_scores(mechanisms: Sequence[Mechanism], problems: Sequence[Moments]) -> bool:
    """Whether inference from whole reports is by one step of their likelihood.

    It is for reports of bits or of blocks without cohorts. A label for each category needs no step.
    """
    if any(one.n_cohorts for one in mechanisms) or problems[0].k > LARGEST_INFORMATION:
        return False
    pairs = zip(mechanisms, problems, strict=True)
    return any(one.n_bits or problem.has_blocks for one, problem in pairs)


def effective_counts(problems: Sequence[OneStep], p: Array) -> Array:
    """Mean of the Poisson count that is as skewed as the sum, or difference, of two estimates.

    Of one problem as its estimate; of more than two as the most skewed of all pairs.
    """
    laws = [(problem.nobs, *problem.law().law(p)[:2]) for problem in problems]
    cumulants = [(n, se**2, np.abs(skewness) * se**3) for n, se, skewness in laws]
    pairs = combinations(cumulants, 2) if len(laws) > 1 else [tuple(cumulants)]
    return np.asarray(np.min([_as_skewed(pair) for pair in pairs], axis=0))


def _as_skewed(cumulants: Sequence[tuple[int, Array, Array]]) -> Array:
    nobs, variance, third = (sum(parts) for parts in zip(*cumulants, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        count = np.where(third > 0.0, variance**3 / third**2, np.inf)
    return np.asarray(np.minimum(count, nobs))
