"""Means, cumulative frequencies and quantiles of ordered answers, from the unconstrained estimate.

Each is a weighted sum of the frequencies, or is found by testing such sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers, probability
from ldpstats.arguments.intervals import midpoints
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.edges import edge_range
from ldpstats.inference.intervals import inverted
from ldpstats.inference.tails import one_sided
from ldpstats.models.frequency.answers import Answers
from ldpstats.models.frequency.contrasts import contrast_law
from ldpstats.models.frequency.record import Laws
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.estimates import Uncertain

__all__ = [
    "OrderedAnswers",
    "WeightedSum",
    "checked_quantiles",
    "checked_scores",
    "cumulative_sums",
    "mean_score",
    "quantile_bounds",
    "refuse_open",
    "refuse_unordered",
]

Array = npt.NDArray[Any]

_COLUMNS = ["estimate", "se", "lower", "upper"]
_WIDEST = 1e100  # of which the square is still a number
_FIXED = 1e-10  # variance of the sum of the estimates, relative to their own, that counts as zero


@dataclass(frozen=True, eq=False)
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


def weighted_sum(
    linear: Uncertain, laws: Laws, scores: Array, shift: float, known: Answers | None
) -> WeightedSum:
    """The sum of all frequencies is one: scores may be shifted, and the sum moves with them.

    Where the estimates need not sum to one they are shifted by what makes the variance smallest;
    else by `shift`, which matters for rounding alone.
    """
    V = linear.known()
    c = _best_shift(V, scores, shift)
    row = scores - c
    estimate = float(row @ linear.estimate) + c
    se = float(np.sqrt(max(V.transform(row[None])[0, 0], 0.0)))
    law = contrast_law(linear, laws, row, known) if np.any(row) else None

    def at(value: Array) -> tuple[Array, Array]:
        if law is None:
            return np.full(1, se), np.zeros(1)
        return law.at(value - c)

    return WeightedSum(estimate, se, at, float(scores.min()), float(scores.max()))


def _best_shift(V: Covariance, scores: Array, shift: float) -> float:
    ones = V.times(np.ones(scores.size))
    variance = float(ones.sum())
    if variance <= _FIXED * float(V.variances().sum()):
        return shift
    return float(scores @ ones) / variance


def mean_score(linear: Uncertain, laws: Laws, scores: Array, known: Answers | None) -> WeightedSum:
    """The mean of the scores of the answers, from that of scores between 0 and 1."""
    least, most = float(scores.min()), float(scores.max())
    width = most - least
    unit = (scores - least) / width
    one = weighted_sum(linear, laws, unit, float(unit.mean()), known)

    def at(value: Array) -> tuple[Array, Array]:
        se, skewness = one.at((value - least) / width)
        return width * se, skewness

    return WeightedSum(least + width * one.estimate, width * one.se, at, least, most)


def cumulative_sums(linear: Uncertain, laws: Laws, known: Answers | None) -> list[WeightedSum]:
    """The frequency of each category and those before it; that of the last is one."""
    k = linear.estimate.size
    tails = [(np.arange(k) <= x).astype(float) for x in range(k - 1)]
    sums = [weighted_sum(linear, laws, tail, 0.0, known) for tail in tails]
    certain = np.zeros(1)
    return [*sums, WeightedSum(1.0, 0.0, lambda value: (certain, certain), 1.0, 1.0)]


def quantile_bounds(sums: list[WeightedSum], q: float, alpha: float) -> tuple[int, int, int]:
    """Positions of the q quantile and of the ends of its interval.

    The quantile is the first category whose cumulative frequency is at least q. The interval begins
    with the first of which a test of level alpha/2 does not reject that, and ends behind the last
    of which a test does not reject the contrary.
    """
    inner = range(len(sums) - 1)  # the last cumulative frequency is one
    last = len(sums) - 1
    estimate = next((x for x in inner if sums[x].estimate >= q), last)
    low = next((x for x in inner if sums[x].pvalue(q, upper=False) >= alpha / 2), last)
    below = [x for x in inner if sums[x].pvalue(q, upper=True) >= alpha / 2]
    return estimate, low, max(below) + 1 if below else 0


def checked_scores(scores: Any, labels: pd.Index[Any]) -> Array:
    """A number for each category; by default the labels, if they are numbers, or their midpoints.

    Midpoints are those of labels that are all intervals, such as "[0, 10)".
    """
    k = len(labels)
    if scores is None and (scores := midpoints(labels)) is None:
        scores = labels.to_numpy()
        plain = [isinstance(v, int | float) and not isinstance(v, bool) for v in labels.tolist()]
        if not all(plain):
            example = f"{{{labels[0]!r}: 1, {labels[min(1, k - 1)]!r}: 2, ...}}"
            remedy = f"the labels are not numbers: pass a score for each, for example {example}"
            raise InvalidArgument("scores", None, remedy)
    given = pd.Series(dict(scores), dtype=object) if isinstance(scores, Mapping) else scores
    remedy = f"must be {k} finite numbers, one for each category, at most {_WIDEST:g} apart"
    values = numbers("scores", align("scores", given, labels), remedy, (k,))
    if not np.isfinite(values).all() or values.max() - values.min() > _WIDEST:
        raise InvalidArgument("scores", scores, remedy)
    if values.min() == values.max():
        raise InvalidArgument("scores", scores, "are all the same: their mean is known")
    return values


def checked_quantiles(q: Any) -> tuple[list[float], bool]:
    """Probabilities strictly between 0 and 1, and whether one was given alone."""
    alone = isinstance(q, int | float | np.number)
    given = [q] if alone else numbers("q", q, "must be a probability, or a list of them").tolist()
    if not isinstance(given, list) or not given or any(isinstance(v, list) for v in given):
        raise InvalidArgument("q", q, "must be a probability, or a list of them")
    return [probability("q", value, zero=False, one=False) for value in given], alone


def refuse_unordered(labels: pd.Index[Any]) -> None:
    """Refuse numbers that do not ascend: cumulative frequencies of them mean nothing."""
    numeric = isinstance(labels, pd.RangeIndex) or pd.api.types.is_numeric_dtype(labels.dtype)
    if numeric and not labels.is_monotonic_increasing:
        raise InvalidArgument(
            "categories",
            labels[:5].tolist(),
            "are numbers that do not ascend, and cumulative frequencies go by their order: list "
            "the categories of the mechanism from the smallest to the largest",
        )


def refuse_open(linear: Uncertain, is_open: bool) -> None:
    """Refuse lists of candidates, whose frequencies need not sum to one."""
    if is_open or linear.at is not None:
        raise NotAvailable(
            "ordered answers need all categories: candidates over an open alphabet have no mean, "
            "cumulative frequencies or quantiles"
        )


@dataclass(frozen=True, eq=False)
class OrderedAnswers:
    """Tables of ordered answers, from the linear estimate and what is known of its law.

    `is_open` says that the categories need not be all answers; `known` gives the law of the reports
    of each answer, None where it is not known.
    """

    linear: Uncertain
    laws: Laws
    categories: pd.Index[Any]
    name: str
    is_open: bool
    known: Callable[[], Answers | None]

    def mean(self, scores: Any, alpha: float) -> pd.Series[float]:
        """See `FrequencyResults.mean`, as for the others."""
        refuse_open(self.linear, self.is_open)
        values = checked_scores(scores, self.categories)
        found = mean_score(self.linear, self.laws, values, self.known())
        name = f"mean of {self.name}" if self.name else "mean"
        entries = [found.estimate, found.se, *found.interval(alpha)]
        return pd.Series(entries, index=_COLUMNS, name=name)

    def cumulative(self, alpha: float) -> pd.DataFrame:
        rows = [[one.estimate, one.se, *one.interval(alpha)] for one in self._sums()]
        return pd.DataFrame(rows, index=self.categories, columns=_COLUMNS)

    def quantile(self, q: Any, alpha: float) -> pd.Series[Any] | pd.DataFrame:
        wanted, alone = checked_quantiles(q)
        sums = self._sums()
        rows = [self.categories.take(quantile_bounds(sums, v, alpha)) for v in wanted]
        columns = ["estimate", "lower", "upper"]
        if alone:
            name = f"{wanted[0]:g} quantile" + (f" of {self.name}" if self.name else "")
            return pd.Series(rows[0], index=columns, name=name)
        index = pd.Index(wanted, name="q")
        return pd.DataFrame([row.tolist() for row in rows], index=index, columns=columns)

    def _sums(self) -> list[WeightedSum]:
        refuse_open(self.linear, self.is_open)
        refuse_unordered(self.categories)
        return cumulative_sums(self.linear, self.laws, self.known())
