"""The unconstrained estimate of one privatised variable that inference rests on, and its law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels.base import Channel
from ldpstats.inference.information import observed_tangent_inverse
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.equations import Equations, Moments, precisions
from ldpstats.problems.estimates import PathLaw, ReportLaw, ReportPart
from ldpstats.problems.problem import Likelihood
from ldpstats.reports.single import BitCounts, Counts

__all__ = ["OneStep", "effective_counts", "path_law", "report_law"]

Array = npt.NDArray[Any]

_LEAST = 1e-6  # reports, over all categories, where the reference has none
_MANY = 10  # reports from which on their observed frequency is the better plug-in
_LARGEST_LAW = 1 << 20  # numbers that results may hold for the sake of tests
_LISTED = ("labels", "bits", "sensitive")  # equations whose reports have a law that can be listed


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
    def _start(self) -> Array:
        """p0, with next to nothing where it is zero: no possible report may be impossible."""
        p = np.maximum(self.reference, _LEAST / (self.nobs * self.k))
        return np.asarray(p / p.sum())

    @cached_property
    def _covariance(self) -> Covariance:
        parts = zip(self.channels, self.reports, strict=True)
        J = sum(n * channel.information(self._start) for channel, n in parts)
        return observed_tangent_inverse(np.asarray(J))

    def estimate(self) -> tuple[Array, str]:
        step = self._covariance.core @ self.likelihood.score(self._start)
        return self._start + step, "one Newton step of the likelihood"

    def covariance(self, p: Array | None = None) -> Covariance:
        return self._covariance if p is None else self.at(p)._covariance

    def law(self) -> PathLaw:
        """How each estimate varies if its frequency is another than in the reference."""
        p, own, others = self._start, [], []
        for channel, n in zip(self.channels, self.reports, strict=True):
            mine, mean = channel.score_moments(p, n * self._covariance.core)
            own.append(mine)
            others.append(_without(p, mine, mean))
        return PathLaw(
            np.array([[float(n)] for n in self.reports]), np.array(own), np.array(others)
        )


def _without(p: Array, own: Array, mean: Array) -> Array:
    """Means over the reports of all other categories, from those of a category and of all."""
    rest = 1.0 - p
    some = rest > 1e-9  # else the others are nobody, and what they would report does not matter
    return np.where(some, (mean - p * own) / np.where(some, rest, 1.0), own)


def effective_counts(problems: Sequence[OneStep], p: Array) -> Array:
    """Mean of the Poisson count that is as skewed as the sum, or difference, of the estimates.

    Parameters
    ----------
    problems : sequence of OneStep
        One, or the two sides of a comparison.
    p : array, shape (k,)
        Frequencies under the null.
    """
    variance, cumulant = np.zeros(p.shape), np.zeros(p.shape)
    for problem in problems:
        se, skewness, _ = problem.law().law(p)
        variance += se**2
        cumulant += np.abs(skewness) * se**3
    with np.errstate(divide="ignore", invalid="ignore"):
        count = np.where(cumulant > 0.0, variance**3 / cumulant**2, np.inf)
    return np.minimum(count, sum(problem.nobs for problem in problems))


def report_law(
    sources: Sequence[Counts | BitCounts], problems: Sequence[Moments], joined: Moments, p: Array
) -> ReportLaw | None:
    """The law of the linear estimate; None for bits and hashes, and for very many categories.

    Reports have their observed frequencies, or where fewer than ten were seen at least the
    probability under p: what was not seen is not impossible.

    Parameters
    ----------
    sources, problems : sequences of Counts and of their equations
    joined : Moments
        The equations of all sources together.
    p : array, shape (k,)
        Estimated frequencies.
    """
    if any(counts.mechanism.n_bits or counts.mechanism.n_cohorts for counts in sources):
        return None
    flat = [q for q in problems if isinstance(q, Equations)]
    if not isinstance(joined, Equations) or len(flat) < len(problems):
        return None
    dense = np.ndim(joined.A) == 2
    size = sum(q.t.size * (2 * q.k if dense else 1) for q in flat)
    if size > _LARGEST_LAW:
        return None
    weights, slopes = _dense(joined, flat) if dense else _diagonal(flat)
    parts = []
    for q, w, slope in zip(flat, weights, slopes, strict=True):
        step = q.A @ p if np.ndim(q.A) == 2 else q.A * p
        expected = np.maximum(q.offset + step, 0.0)
        seen = q.t * q.nobs >= _MANY
        law = np.where(seen, q.t, np.maximum(q.t, expected))
        parts.append(ReportPart(w, slope, law / law.sum(), q.nobs))
    return ReportLaw(tuple(parts))


def _diagonal(problems: Sequence[Equations]) -> tuple[list[Array], list[Array]]:
    """Weights and slopes, all (k,), of sources with an equation for each category."""
    slopes, precision = precisions(problems)
    return list(precision / precision.sum(axis=0) / slopes), list(slopes)


def _dense(joined: Equations, problems: Sequence[Equations]) -> tuple[list[Array], list[Array]]:
    """Weights and slopes, all (k, l), of sources that are solved together."""
    ends = np.cumsum([q.t.size for q in problems])[:-1]
    slopes = [np.asarray(q.A).T if np.ndim(q.A) == 2 else np.eye(q.k) * q.A for q in problems]
    return np.split(np.asarray(joined.inverse), ends, axis=1), slopes


def path_law(
    sources: Sequence[Counts | BitCounts], problems: Sequence[Moments], joined: Moments, p: Array
) -> PathLaw | None:
    """The law of linear estimates from channels without a count for each category.

    None where each category has an equation of its own, for hashes, and where sources are such
    that only the covariance is known.

    Parameters
    ----------
    sources, problems : sequences of counts and of their equations
    joined : Moments
        The equations of all sources together.
    p : array, shape (k,)
        Estimated frequencies.
    """
    flat = [q for q in problems if isinstance(q, Equations) and q.kind in _LISTED]
    if not isinstance(joined, Equations) or np.ndim(joined.A) < 2 or len(flat) < len(problems):
        return None
    if 2 * joined.k * sum(q.t.size for q in flat) > _LARGEST_LAW:
        return None
    own, others = [], []
    for counts, q, weights in zip(sources, flat, _dense(joined, flat)[0], strict=True):
        if q.kind == "labels":
            Q = counts.mechanism.channel().matrix()
            Q = Q[:, Q.any(axis=0)]
            mine = np.array([np.einsum("iy,iy->i", Q, weights**j) for j in (1, 2, 3)])
            mean = np.array([weights**j @ (p @ Q) for j in (1, 2, 3)])
        else:
            mine, mean = _bit_moments(q, weights, p)
        own.append(mine)
        others.append(_without(p, mine, mean))
    nobs = np.array([[float(q.nobs)] for q in flat])
    return PathLaw(nobs, np.array(own), np.array(others))


def _bit_moments(problem: Equations, weights: Array, p: Array) -> tuple[Array, Array]:
    """Raw moments of weighted sums of bits, (3, k): of the own category's reports, and of all."""
    noise = np.broadcast_to(problem.offset, p.shape)
    owned = noise + problem.A
    # cumulants of row i if x is the category: those of noise, with another law of bit x
    cumulants = [
        (law(noise) @ (weights**j).T)[:, None] + weights**j * (law(owned) - law(noise))
        for j, law in enumerate((_mean, _variance, _third), start=1)
    ]
    first, second, third = cumulants
    raw = first, second + first**2, third + 3.0 * first * second + first**3
    return np.array([np.diagonal(m) for m in raw]), np.array([m @ p for m in raw])


def _mean(m: Array) -> Array:
    return m


def _variance(m: Array) -> Array:
    return np.asarray(m * (1.0 - m))


def _third(m: Array) -> Array:
    return np.asarray(m * (1.0 - m) * (1.0 - 2.0 * m))
