"""The laws of contrasts and weighted sums of frequencies, and what is found by them.

The laws come from that of each answer where it is known (`Answers`), else from that of the reports,
or of each frequency alone. Differences of groups, means, cumulative frequencies and quantiles rest
on them.

The variance of an estimate at the estimate itself is zero where a noiseless survey saw one answer
only, and too small where it saw few others. Score tests take it where the sum has the value that is
tested: at the likeliest frequencies of that value. Empirical likelihood gives them from those that
were found, ``p_x / (1 + lambda (s_x - v))``; for answers without noise it is the likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, record
from ldpstats.channels.families import Blocks, Subsets
from ldpstats.channels.structured import Channel, Uniformised
from ldpstats.errors import NotAvailable
from ldpstats.estimators.likelihood import MLE
from ldpstats.estimators.solvers import newton_root
from ldpstats.inference.goodness import ReportSums
from ldpstats.inference.intervals import Difference, edge_range, inverted
from ldpstats.inference.tails import CellLaw, one_sided
from ldpstats.likelihood.covariance import (
    ExactForm,
    PathLaw,
    ReportLaw,
    Uncertain,
    answer_moments,
    project_simplex,
)
from ldpstats.likelihood.rows import Likelihood, StackedRows
from ldpstats.mechanisms import Mechanism, mechanism_from_dict
from ldpstats.models.frequency.intervals import Laws
from ldpstats.models.layout import ESTIMATES
from ldpstats.models.results import Results

_TILTS = np.linspace(-60.0, 60.0, 241)  # of the frequencies, in logarithms
_EDGE = 1e-14  # values of scores in [0, 1] that are as good as its ends
_NEAR = 1e-12  # steps of tilts that are not worth while
_RESTRICTING = 60  # steps to frequencies that meet several restrictions
_UNSEEN = 1e-12  # share of a category that was not seen: it is not impossible
_MANY = 4096  # scores from which on not all tilts are held in memory at once
_MOST_PRODUCTS = 1e7  # of moments of pairs of contrasts
_MOST_MEMBERS = 12  # categories of which all subsets are listed
_LISTED = 4096  # reports up to which all are listed
_DRAWN = 1 << 19  # entries of likelihoods of the reports of an answer that stand for all
_ROUNDING = 1e-12  # of a mean square, that may be left of a variance which is zero


@record
class SumLaw:
    """The law of an estimate of ``sum_x s_x p_x`` at all values from the least to the largest s.

    Parameters
    ----------
    scores : array, shape (k,)
        The s, not all the same.
    p : array, shape (k,)
        Frequencies as they were found, all positive.
    moments : array, shape (S, 3, k)
        Means of what a report of each source counts for, of its square and of its cube, if category
        x is the answer.
    nobs : array, shape (S,)
    """

    scores: Array
    p: Array
    moments: Array
    nobs: Array

    @cached_property
    def _classes(self) -> tuple[Array, Array, Array]:
        """Distinct scores in [0, 1], their shares and moments.

        Answers of one score keep their proportions, whatever the value.
        """
        scores, of = np.unique(self.scores, return_inverse=True)
        share = np.bincount(of, weights=self.p)
        weighted = (self.moments * self.p).reshape(-1, of.size)
        sums = np.array([np.bincount(of, weights=row) for row in weighted])
        unit = (scores - scores[0]) / (scores[-1] - scores[0])
        return unit, share, (sums / share).reshape(*self.moments.shape[:2], -1)

    def _tilted(self, tilt: Array) -> Array:
        """Shares of the classes, (..., m), whose sum falls with `tilt`; those found at zero."""
        unit, share = self._classes[:2]
        up = np.maximum(tilt, 0.0)[..., None]
        found = share / (np.exp(-up) * (1.0 - unit) + np.exp(tilt[..., None] - up) * unit)
        return np.asarray(found / found.sum(axis=-1, keepdims=True))

    @cached_property
    def _values(self) -> Array:
        unit = self._classes[0]
        parts = np.array_split(_TILTS, 1 + unit.size // _MANY)
        return np.concatenate([self._tilted(part) @ unit for part in parts])

    def _shares(self, value: float) -> Array:
        u, least = self._classes[0], self.scores.min()
        v = (value - least) / (self.scores.max() - least)
        if not _EDGE < v < 1.0 - _EDGE:  # all have the least score, or the largest
            return self._tilted(_TILTS[-1] if v < 0.5 else _TILTS[0])
        tilt = float(np.interp(v, self._values[::-1], _TILTS[::-1]))

        def steep(tilt: float) -> tuple[float, float]:
            p = self._tilted(np.array(tilt))
            mean = float(p @ u)
            return mean - v, float(p @ (u / (math.exp(-tilt) * (1.0 - u) + u) * (mean - u)))

        tilt = newton_root(steep, float(_TILTS[0]), float(_TILTS[-1]), tilt, _EDGE, _NEAR)
        return self._tilted(np.array(tilt))

    def at(self, value: Array) -> tuple[Array, Array]:
        """Standard error and skewness, shape (1,), where the sum is `value`, shape (1,)."""
        raw = self._classes[2] @ self._shares(float(value[0]))
        first, second, third = np.moveaxis(raw, 1, 0)
        spread = second - first**2
        spread = np.where(spread > _ROUNDING * second, spread, 0.0)
        cumulant = third - 3.0 * first * second + 2.0 * first**3
        variance = float((spread / self.nobs).sum())
        if variance == 0.0:
            return np.zeros(1), np.zeros(1)
        skewness = float((cumulant / self.nobs**2).sum()) / variance**1.5
        return np.array([np.sqrt(variance)]), np.array([skewness])


@record
class Answers:
    """The frequencies that were found, and how the reports of each answer enter an estimate.

    ``moments(row)`` gives ``SumLaw.moments`` of the contrast `row`, shape (k,).
    ``reports(R)`` lists, for each source, what reports count for each contrast of R, shape (q, l),
    and the function of the frequencies that gives the probabilities of these reports. They are all
    that can be made, if `complete`, or a sample.
    """

    p: Array
    moments: Callable[[Array], Array]
    nobs: Array
    reports: Callable[[Array], Sequence[tuple[Array, Callable[[Array], Array]]]]
    complete: bool = True

    @cached_property
    def _seen(self) -> Array:
        p = self.p + _UNSEEN
        return np.asarray(p / p.sum())

    def law(self, row: Array) -> SumLaw:
        """The law of the contrast `row`, whose entries are not all the same."""
        return SumLaw(row, self._seen, self.moments(row), self.nobs)

    def between(self, first: Array, second: Array) -> Callable[[float], SumLaw]:
        """The laws of the contrasts ``(1 - v) first - v second``, for v from zero to one.

        Raw moments of contributions are polynomials in v, of degree three at most.
        """
        nodes = np.linspace(0.0, 1.0, 4)
        powers = np.linalg.inv(np.vander(nodes, increasing=True))
        rows = [(1.0 - v) * first - v * second for v in nodes]
        coefficients = np.tensordot(powers, [self.moments(row) for row in rows], 1)

        def law(v: float) -> SumLaw:
            moments = np.tensordot(v ** np.arange(4.0), coefficients, 1)
            return SumLaw((1.0 - v) * first - v * second, self._seen, moments, self.nobs)

        return law

    def null_law(self, R: Array, value: Array) -> ReportSums | None:
        """The law of contrasts R, shape (q, k), of the estimate where they are `value`.

        None where there are too many of reports that cannot be listed.
        """
        if not self.complete and (len(R) * self.p.size) ** 2 > _MOST_PRODUCTS:
            return None
        p = np.maximum(self.p, 0.5 / float(self.nobs.sum()))  # half a report of each at least
        p, G = p / p.sum(), R - value[:, None]
        # Newton's steps for the multipliers of the likeliest frequencies with R p = value; as near
        # as is possible
        multipliers = np.zeros(len(R))
        for _ in range(_RESTRICTING):
            weight = 1.0 + multipliers @ G
            share = G / weight
            score = share @ p
            step = np.linalg.lstsq((share * p) @ share.T, score, rcond=None)[0]
            size = 1.0
            while np.any(weight + size * (step @ G) <= 0.1 * weight) or (
                size > 1e-6 and p @ np.log(weight + size * (step @ G)) < p @ np.log(weight)
            ):
                size /= 2.0
            multipliers = multipliers + size * step
            if np.abs(step @ G).max() < _EDGE:
                break
        p = p / (1.0 + multipliers @ G)
        p = np.asarray(p / p.sum())
        listed = zip(self.reports(R), self.nobs.astype(int).tolist(), strict=True)
        parts = [(u, law(p), n) for (u, law), n in listed]
        V = np.zeros((len(R), len(R)))
        if self.complete:
            for u, m, n in parts:
                centred = u - (u @ m)[:, None]
                V += (centred * m) @ centred.T / n
            return ReportSums(V, parts)
        means = [self.moments(row)[:, :2] @ p for row in R]
        for i, j in combinations_with_replacement(range(len(R)), 2):
            square = self.moments(R[i] + R[j])[:, 1] @ p - means[i][:, 1] - means[j][:, 1]
            spread = square / 2.0 - means[i][:, 0] * means[j][:, 0]
            V[i, j] = V[j, i] = float((spread / self.nobs).sum())
        return ReportSums(V, parts)


def known_answers(results: Laws, documents: Sequence[Mapping[str, Any]]) -> Answers | None:
    """The law of the reports of single answers, if known; `documents` specify the mechanisms.

    None for hashes, and for sums of bits from several mechanisms.
    """
    if results.linear.at is not None or results.linear.covariance is None:
        return None
    tally = results.tally if results.linear_method == "one step" else None
    exact = results.exact if results.exact is not None and len(documents) == 1 else None
    makers = map(mechanism_from_dict, map(dict, documents))
    if results.law is not None:
        return _of_labels(results.law, [maker.channel() for maker in makers])
    if isinstance(tally, PathLaw):
        return _of_scores(results.linear, tally, list(makers))
    if exact is not None and exact.known.all():
        return _of_counts(results.linear, exact, next(makers))
    return None


def _of_labels(law: ReportLaw, channels: Sequence[Channel]) -> Answers | None:
    if [part.law.size for part in law.parts] != [channel.shape[1] for channel in channels]:
        return None
    seen = [part.nobs * part.law for part in law.parts]
    rows = [channel.rows(np.arange(n.size)) for channel, n in zip(channels, seen, strict=True)]
    W = rows[0] if len(rows) == 1 else StackedRows(tuple(rows))
    p = MLE().solve(Likelihood(W, np.concatenate(seen))).p
    nobs = np.array([float(part.nobs) for part in law.parts])
    pairs = list(zip(law.parts, channels, strict=True))

    def moments(row: Array) -> Array:
        every = []
        for part, channel in pairs:
            powers = _powers(part.contrasts(row[None])[0])
            if isinstance(channel, Uniformised):
                every.append(channel.a * powers + (powers @ channel.noise())[:, None])
            else:
                every.append(powers @ channel.matrix().T)
        return np.array(every)

    def reports(R: Array) -> list[tuple[Array, Callable[[Array], Array]]]:
        return [(part.contrasts(R), channel.forward) for part, channel in pairs]

    return Answers(p, moments, nobs, reports)


def _powers(u: Array) -> Array:
    return np.array([u, u * u, u * u * u])


def _of_scores(linear: Uncertain, tally: PathLaw, makers: Sequence[Mechanism]) -> Answers:
    # the scores of all reports have the mean zero where they were taken, so that those of the
    # reports of category i add up to 1 - p_i in entry i
    p = np.maximum(1.0 - tally.own[:, 0].sum(axis=0), 0.0)
    p = np.maximum(p, 1e-15)
    start, V, nobs = p / p.sum(), linear.known(), tally.nobs[:, 0]
    channels = [maker.channel() for maker in makers]

    def moments(row: Array) -> Array:
        features, every = np.tile(V.times(row), (row.size, 1)), []
        for channel, n in zip(channels, nobs, strict=True):
            every.append(channel.score_moments(start, n * features)[0])
        return np.array(every)

    def reports(R: Array) -> list[tuple[Array, Callable[[Array], Array]]]:
        weights, every = np.array([V.times(row) for row in R]), []
        for maker, n in zip(makers, nobs, strict=True):
            W, law = _listed(maker)
            every.append((n * weights @ (W / (W @ start)[:, None]).T, law))
        return every

    complete = all(_lists(channel) for channel in channels)
    return Answers(start, moments, nobs, reports, complete=complete)


def _listed(maker: Mechanism) -> tuple[Array, Callable[[Array], Array]]:
    """Likelihoods of reports up to a factor each, (l, k), and their law under frequencies.

    Where there are too many patterns of bits, a sample stands for them.
    """
    channel = maker.channel()
    if not _lists(channel):
        y, law = _sample(maker)
        return channel.rows(y).dense(), law
    Q = channel.matrix()
    Q = Q[:, Q.any(axis=0)]
    return Q.T, lambda p: np.asarray(p @ Q)


def _lists(channel: Channel) -> bool:
    """Whether all reports are listed."""
    few = channel.shape[1] <= _LISTED
    return few and not (isinstance(channel, Subsets) and channel.shape[0] > _MOST_MEMBERS)


def _sample(maker: Mechanism) -> tuple[Array, Callable[[Array], Array]]:
    """Reports of every answer, as many of each, and their law under frequencies.

    They are drawn from a fixed seed: the same results give the same test.
    """
    k = maker.k
    draws = int(np.clip(_DRAWN // k**2, 8, 1024))
    codes = np.repeat(np.arange(k), draws)
    y = maker.privatize(maker.categories[codes], np.random.default_rng(0)).y
    return y, lambda p: np.asarray(p[codes] / draws)


def _of_counts(linear: Uncertain, exact: ExactForm, maker: Mechanism) -> Answers | None:
    """Of sums of bits, and of labels whose counts give each category a binomial tally."""
    if maker.n_cohorts:
        return None
    channel = maker.channel()
    nobs, p = np.array([float(exact.nobs)]), project_simplex(linear.estimate)
    if isinstance(channel, Blocks):
        held = channel.design.features(np.arange(channel.shape[1])).T
        G = (held - exact.offset[:, None]) / exact.scale[:, None]
        Q = channel.matrix()

        powers = lambda row: (_powers(row @ G) @ Q.T)[None]  # noqa: E731
        return Answers(p, powers, nobs, lambda R: [(R @ G, channel.forward)])
    if not maker.n_bits:
        return None

    def moments(row: Array) -> Array:
        raw = answer_moments(exact.offset, exact.scale, (row / exact.scale)[None])
        return np.array([[one[0] for one in raw]])

    def reports(R: Array) -> list[tuple[Array, Callable[[Array], Array]]]:
        y, law = _sample(maker)
        bits = np.unpackbits(y, axis=1, count=maker.n_bits, bitorder="little")
        return [((R / exact.scale) @ (bits - exact.offset).T, law)]

    return Answers(p, moments, nobs, reports, complete=False)


# -- Differences of the frequencies of two independent groups of respondents ----------------------


_AT = np.linspace(0.0, 1.0, 4)  # frequencies at which polynomials of degree three are known
_TO_COEFFICIENTS = np.linalg.inv(np.vander(_AT, increasing=True))


def difference_rows(pairs: Sequence[tuple[Any, Any]], alpha: float) -> pd.DataFrame:
    """Each frequency of the first `FrequencyResults` of a pair minus that of the second."""
    laws = {}
    for fit in (fit for pair in pairs for fit in pair):
        if fit.linear.at is not None:
            raise NotAvailable(
                "differences of frequencies after a selection of candidates are not known: fit the "
                "groups with method='inversion'"
            )
        laws[id(fit)] = cell_law(fit)
    sides = list(zip(*pairs, strict=True))
    first, second = (np.concatenate([fit.linear.estimate for fit in side]) for side in sides)
    names = [f.name for f in fields(CellLaw)]
    stacked = [
        CellLaw(*(np.concatenate([getattr(laws[id(fit)], name) for fit in side]) for name in names))
        for side in sides
    ]
    all_pairs = Difference(first, second, *stacked)
    se = np.hypot(*(np.concatenate([fit.linear.bse() for fit in side]) for side in sides))
    columns = [all_pairs.estimate, se, all_pairs.interval(alpha), all_pairs.pvalues()]
    return pd.DataFrame(np.column_stack(columns), columns=[*ESTIMATES, "pvalue"])


def cell_law(results: Laws) -> CellLaw:
    """Variance and third cumulant of each linear estimate, whatever its frequency is.

    By its binomial count, else by `Tallies`; without either the variance is that at the estimate.
    """
    se = results.linear.every_bse()
    k = se.size
    variance, third = np.repeat(np.square(se)[None], 4, axis=0), np.zeros((4, k))
    if results.tally is not None:
        laws_at = [results.tally.law(np.full(k, p)) for p in _AT]
        variance = np.array([se**2 for se, _, _ in laws_at])
        third = np.array([skewness * se**3 for se, skewness, _ in laws_at])
    own = results._counted
    if results.exact is not None and own.any():
        counted = [results.exact.cumulants(np.full(k, p)) for p in _AT]
        variance = np.where(own, [v for v, _ in counted], variance)
        third = np.where(own, [c for _, c in counted], third)
    none = np.zeros(k)
    coefficients = _TO_COEFFICIENTS @ variance, _TO_COEFFICIENTS @ third
    return CellLaw(coefficients[0][:3].T, coefficients[1].T, none, none)


# -- Means, cumulative frequencies and quantiles of ordered answers -------------------------------
# Each is a weighted sum of the frequencies, or is found by testing such sums.


_FIXED = 1e-10  # variance of the sum of the estimates, relative to their own, that counts as zero


@record
class WeightedSum:
    """An estimate of ``sum_x s_x p_x``, with its standard error and skewness at any value.

    `at` gives both, of shape (1,), at a value of shape (1,) from `least` to `most`.
    """

    estimate: float
    se: float
    at: Callable[[Array], tuple[Array, Array]]
    least: float
    most: float

    def interval(self, alpha: float) -> Array:
        """All values that neither one-sided score test rejects, cut to those possible."""
        bounds = inverted([self.estimate], self.at, alpha, (self.least, self.most))
        reach = (self.least, self.most)
        return np.asarray(edge_range(bounds, [self.estimate], [self.se], reach, alpha)[0])

    def pvalue(self, value: float, upper: bool) -> float:
        """P(estimate or more) if `upper`, else P(estimate or less), if the sum is `value`."""
        se, skewness = self.at(np.array([value]))
        return float(one_sided(np.array([self.estimate - value]), se, skewness, upper)[0])


def weighted_sum(results: Results, scores: Array, shift: float) -> WeightedSum:
    """The sum of all frequencies is one: scores may be shifted, and the sum moves with them.

    Where the estimates need not sum to one they are shifted by what makes the variance smallest;
    else by `shift`, which matters for rounding alone.
    """
    V = results.linear.known()
    ones = V.times(np.ones(scores.size))
    variance = float(ones.sum())
    fixed = variance <= _FIXED * float(V.variances().sum())
    c = shift if fixed else float(scores @ ones) / variance
    row = scores - c
    estimate = float(row @ results.linear.estimate) + c
    se = float(np.sqrt(max(V.transform(row[None])[0, 0], 0.0)))
    law = results._contrast_law(row) if np.any(row) else None

    def at(value: Array) -> tuple[Array, Array]:
        if law is None:
            return np.full(1, se), np.zeros(1)
        return law.at(value - c)

    return WeightedSum(estimate, se, at, float(scores.min()), float(scores.max()))


def mean_score(results: Results, scores: Array) -> WeightedSum:
    """The mean of the scores of the answers, from that of scores between 0 and 1."""
    least, most = float(scores.min()), float(scores.max())
    width = most - least
    unit = (scores - least) / width
    one = weighted_sum(results, unit, float(unit.mean()))

    def at(value: Array) -> tuple[Array, Array]:
        se, skewness = one.at((value - least) / width)
        return width * se, skewness

    return WeightedSum(least + width * one.estimate, width * one.se, at, least, most)


def cumulative_sums(results: Results) -> list[WeightedSum]:
    """The frequency of each category and those before it; that of the last is one."""
    k = results.linear.estimate.size
    tails = [(np.arange(k) <= x).astype(float) for x in range(k - 1)]
    sums = [weighted_sum(results, tail, 0.0) for tail in tails]
    certain = np.zeros(1)
    return [*sums, WeightedSum(1.0, 0.0, lambda value: (certain, certain), 1.0, 1.0)]


def quantile_bounds(sums: list[WeightedSum], q: float, alpha: float) -> tuple[int, int, int]:
    """Positions of the q quantile and of its interval: see `FrequencyResults.quantile`."""
    inner = range(len(sums) - 1)  # the last cumulative frequency is one
    last = len(sums) - 1
    estimate = next((x for x in inner if sums[x].estimate >= q), last)
    low = next((x for x in inner if sums[x].pvalue(q, upper=False) >= alpha / 2), last)
    below = [x for x in inner if sums[x].pvalue(q, upper=True) >= alpha / 2]
    return estimate, low, max(below) + 1 if below else 0
