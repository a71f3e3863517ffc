"""Simulated surveys over candidates.

`Surveys` decodes many surveys at once: with the strings and the cohort sizes held fixed the linear
map is the same in all of them. (Everything the package says is conditional on both.) Its variances
are derived anew, by the law of total variance, and a test compares with what `fit` returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from simulate import ALPHA, at_most

from ldpstats.inference import intervals
from ldpstats.inference import tests as multiplicity
from ldpstats.inference.tails import normal_pvalue, skewed_pvalue
from ldpstats.likelihood.covariance import project_subsimplex

Array = npt.NDArray[Any]


def zipf(present: int, absent: int) -> Array:
    p = np.zeros(present + absent)
    p[:present] = 1.0 / np.arange(1, present + 1)
    return p / p.sum()


# ---- many surveys at once


@dataclass(frozen=True)
class Decoded:
    """Estimates of R surveys, shape (R, S), with what inference needs.

    `se` is the plain standard error. `null` holds standard errors and skewness if the candidate is
    absent; `tallied` holds them, and the growth of the variance, at the estimate.
    """

    estimate: Array
    se: Array
    null: tuple[Array, Array]
    tallied: tuple[Array, Array, Array]

    def pvalues(self) -> Array:
        se, skewness = self.null
        return skewed_pvalue(self.estimate / se, skewness)

    def normal_pvalues(self) -> Array:
        """Control: the skewness left out."""
        return normal_pvalue(self.estimate / self.null[0], "larger")

    def intervals(self, alpha: float = ALPHA) -> Array:
        return intervals.skewed(self.estimate, *self.tallied, alpha)


class Surveys:
    """Surveys with the same strings and cohort sizes."""

    def __init__(self, mechanism: Any, p: Array, n: int, seed: Any) -> None:
        self.rng = np.random.default_rng(seed)
        self.p, self.mechanism = p, mechanism
        self.names = [f"{self.rng.integers(1 << 60):x}" for _ in p]
        self.counts = mechanism.draw(p, n, self.rng, self.names)
        problem = mechanism.moments(self.counts, self.names)
        self.problem, self.source = problem, problem.sources[0]
        self.reports = self.source.reports
        self.high, self.low = mechanism.cell_law.high, mechanism.cell_law.low

    def draw(self, R: int) -> Array:
        """Right-hand sides of the normal equations of R surveys, shape (R, S)."""
        source, design = self.source, self.source.design
        here = np.flatnonzero(self.p > 0)
        right = np.zeros((R, self.p.size))
        for c, n in enumerate(self.reports):
            people = self.rng.multinomial(n, self.p[here], size=R)
            ones = self._randomised(people, design.incidence(c)[:, here], int(n))
            moved = ones / n - source.offset
            owned = np.pad(moved, ((0, 0), (0, 1)))[:, design.cells[c]].sum(axis=2)
            owned -= design.background * moved.sum(axis=1, keepdims=True)
            right += design.slope * source.cohort_weights[c] * owned
        return right

    def _randomised(self, people: Array, H: Array, n: int) -> Array:
        """Reports of each cell of one cohort, shape (R, m), of answers, shape (R, present)."""
        R, m = len(people), H.shape[0]
        if not self.source.is_labels:
            owners = (people @ H.T).astype(np.int64)
            others = self.rng.binomial(n - owners, self.low)
            return np.asarray(self.rng.binomial(owners, self.high) + others)
        kept = self.rng.binomial(people, self.high - self.low)
        left = n - kept.sum(axis=1)
        if n > m:
            uniform = self.rng.multinomial(left, np.full(m, 1.0 / m))
        else:  # few reports: one by one
            cells = np.repeat(np.arange(R), left) * m
            cells += self.rng.integers(m, size=cells.size)
            uniform = np.bincount(cells, minlength=R * m).reshape(R, m)
        return (kept @ H.T).astype(np.int64) + uniform

    @cached_property
    def _influence(self) -> tuple[list[Array], Array, Array]:
        """A report's contribution to the estimates, given the answer y: E[W|y] and E[W^2|y].

        The means by cohort, (C, S, S + 1) with a last column for answers that hash evenly, and the
        squares over reports, (S, S + 1), summed; and the reports of each cohort.
        """
        source, design = self.source, self.source.design
        inverse, gain = self.problem.inverse, self.high - self.low
        even = self.low + gain * design.background
        means, squares = [], np.zeros((self.p.size, self.p.size + 1))
        for c, n in enumerate(self.reports):
            L = source.cohort_weights[c] * inverse @ design.block(c).T
            padded = np.pad(L, ((0, 0), (0, 1)))
            own, own2 = padded[:, design.cells[c]].sum(2), (padded**2)[:, design.cells[c]].sum(2)
            all1, all2 = L.sum(axis=1)[:, None], (L**2).sum(axis=1)[:, None]
            mean = self.low * all1 + gain * own
            if source.is_labels:
                square, unknown = self.low * all2 + gain * own2, even * all2
            else:
                low, high = (v * (1.0 - v) for v in (self.low, self.high))
                square = low * all2 + (high - low) * own2 + mean**2
                both = self.low**2 + 2 * self.low * gain * design.background
                both += gain**2 * source.shared
                unknown = even * all2 + both * (all1**2 - all2)
            means.append(np.hstack([mean, even * all1]))
            squares += np.hstack([square, unknown]) / n
        return means, squares, self.reports

    def variances(self, p: Array) -> Array:
        """Variances of the estimates at frequencies p, both of shape (R, S)."""
        means, squares, reports = self._influence
        law = np.hstack([p, np.maximum(1.0 - p.sum(axis=1, keepdims=True), 0.0)])
        total = law @ squares.T
        for mean, n in zip(means, reports, strict=True):
            total -= (law @ mean.T) ** 2 / n
        return np.asarray(total)

    def decode(self, right: Array) -> Decoded:
        source, design = self.source, self.source.design
        estimate = right @ self.problem.inverse
        plug_in = np.array([project_subsimplex(row) for row in estimate])
        variance = self.variances(plug_in)
        n, scale = self.reports[:, None].astype(float), design.slope
        nobs = design.owners(np.broadcast_to(n, source.ones.shape))
        share = np.array([design.owners(n * source.cell_means(p)) for p in plug_in]) / nobs
        absent = share - scale * plug_in

        def tally(m: Array) -> tuple[Array, Array]:
            """Variance of the own tally over its exposure, and its growth."""
            m = np.clip(m, 0.5 / nobs, 1.0 - 0.5 / nobs)
            return m * (1.0 - m) / (scale**2 * nobs), (1.0 - 2.0 * m) / (scale * nobs)

        other = np.maximum(variance - tally(share)[0], 0.0)
        laws = []
        for m in (absent, absent + scale * estimate):
            own, rate = tally(m)
            laws.append((np.sqrt(other + own), own * rate / (other + own) ** 1.5, rate))
        return Decoded(estimate, np.sqrt(variance), laws[0][:2], laws[1])

    def simulate(self, R: int) -> Decoded:
        return self.decode(self.draw(R))


def error_rates(pvalues: Array, present: Array) -> tuple[dict[str, float], float]:
    """Share of surveys with a false detection, FDR of BH ("bh"), and its standard error."""
    rates = {}
    for method in ("bonferroni", "holm"):
        rejected = multiplicity.reject(pvalues, ALPHA, method)
        rates[method] = float(rejected[:, ~present].any(axis=1).mean())
    rejected = multiplicity.reject(pvalues, ALPHA, "bh")
    false = rejected[:, ~present].sum(axis=1) / np.maximum(rejected.sum(axis=1), 1)
    rates["bh"] = float(false.mean())
    return rates, float(false.std() / np.sqrt(len(false)))


def check_errors(decoded: Decoded, present: Array) -> None:
    R = len(decoded.estimate)
    rates, se = error_rates(decoded.pvalues(), present)
    assert at_most([rates["bonferroni"], rates["holm"]], ALPHA, R), rates
    assert rates["bh"] <= ALPHA + 3 * se, rates
