"""Mechanisms of ordered categories and of numbers in bins: geometric noise, the square wave."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, positive_epsilon, positive_integer, record
from ldpstats.channels.families import Band, Geometric
from ldpstats.errors import InvalidArgument
from ldpstats.labels import Labels, as_labels, binned, checked_edges, interval_labels, midpoints
from ldpstats.mechanisms.base import set_fields, threshold_of
from ldpstats.mechanisms.custom import Enumerated
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import Words


@record
class GeometricResponse(Enumerated):
    """Ordered categories, reported with truncated geometric noise: nearby ones are likelier.

    With ``a = exp(-epsilon / (k - 1))``, ``P(y | x) = a^|x - y| / (1 + a)`` for the first and last
    category y, and ``(1 - a) / (1 + a) a^|x - y|`` for those between. Any two categories x, x' are
    told apart by at most ``epsilon |x - x'| / (k - 1)``: neighbours are protected more than the
    ends, and epsilon is that of the ends.

    The noise has a standard deviation of about ``sqrt(2) (k - 1) / epsilon`` steps. Means are
    estimated about as well as epsilon allows where it is small; single frequencies are not, for
    which `KRR` or `SquareWave` is better.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories in their order; an int k means the labels 0 .. k-1. Numbers, and
        intervals such as "[0, 10)", must ascend. Noise acts on the places in the list: unequal
        steps between numbers are not seen by it.
    epsilon : float
        Privacy of one report, in nats.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan (2012), SIAM Journal on Computing 41, 1673-1693, section 2.

    Examples
    --------
    >>> grades = GeometricResponse(("low", "middle", "high"), epsilon=2 * np.log(2))
    >>> grades.channel().matrix().round(4)
    array([[0.6667, 0.1667, 0.1667],
           [0.3333, 0.3333, 0.3333],
           [0.1667, 0.1667, 0.6667]])
    """

    categories: Any
    epsilon: float
    is_ordered: ClassVar = True
    _rounding = "up"

    def __post_init__(self) -> None:
        labels = as_labels("categories", self.categories)
        if not isinstance(labels, pd.RangeIndex):
            numeric = pd.api.types.is_numeric_dtype(labels.dtype)
            places = labels.to_numpy() if numeric else midpoints(labels)
            if places is not None and not np.all(np.diff(places) > 0.0):
                remedy = "do not ascend: list the categories from the smallest to the largest"
                raise InvalidArgument("categories", labels[:5].tolist(), remedy)
        set_fields(self, categories=labels)
        set_fields(self, epsilon=positive_epsilon("epsilon", self.epsilon))

    @cached_property
    def _channel(self) -> Geometric:
        return Geometric(self.k, self.epsilon / (self.k - 1))


# -- The square wave mechanism for numbers in bins ------------------------------------------------


_SERIES = 0.01  # epsilon below which the closed form of the half width cancels


def optimal_half_width(epsilon: float) -> float:
    """Share of the range that maximises a bound of the mutual information (Li et al. 2020, 5.3).

    ``b = (eps e^eps - e^eps + 1) / (2 e^eps (e^eps - 1 - eps))``, from 1/2 to 0 as epsilon grows.
    """
    e = epsilon
    if e < _SERIES:
        above = 1 / 2 + e * (1 / 3 + e * (1 / 8 + e * (1 / 30 + e / 144)))
        below = 1 + e * (1 / 3 + e * (1 / 12 + e * (1 / 60 + e / 360)))
        return float(np.exp(-e)) * above / below
    return float((e - 1.0 + np.exp(-e)) / (2.0 * (np.expm1(e) - e)))


@record
class SquareWave(Enumerated):
    """Numbers in bins: a report near the true bin with a higher probability (a square wave).

    The k bins and b more at either end are the possible reports, numbered from 0 to
    ``k + 2 b - 1``; report y stands for place ``y - b``. The ``2 b + 1`` reports within b places
    of the true bin have the probability ``e^eps / ((2 b + 1) e^eps + k - 1)`` each, the others
    ``1 / ((2 b + 1) e^eps + k - 1)`` (Li et al. 2020, section 5.4, bucketised first). Without a
    half width this is `KRR`.

    Noise acts on the ranks of the bins, so that bins may have unequal widths: narrow ones where
    answers are many. Answers are numbers, text that spells one, or labels of bins such as
    "[0, 10)", which are the categories of the estimates, in their order. Their midpoints are the
    default scores of means and regressions.

    Parameters
    ----------
    edges : array-like of float, shape (k + 1,)
        Edges of the bins in increasing order, finite. A bin contains its lower edge, the last one
        its upper edge too. Answers beyond the edges are refused.
    epsilon : float
        Privacy of one report, in nats.
    half_width : int, optional
        The b of above, from 0 to k - 1. By default that of the paper, ``floor(k b(epsilon))`` with
        `optimal_half_width`, which serves means. A smaller one serves the distribution function,
        and none (k-RR) serves single frequencies if bins are few: for k = 16 and epsilon 1,
        n times the variance of the mean of uniform answers on [0, 1] is 1.00, 1.26 and 8.83 for
        b = 4, 2 and 0, and the summed variance of the frequencies 385, 334 and 100.

    References
    ----------
    Li, Wang, Lopuhaa-Zwakenberg, Li, Skoric (2020), Estimating Numerical Distributions under Local
    Differential Privacy, SIGMOD 2020, 621-635.

    Examples
    --------
    >>> ages = SquareWave([0, 18, 30, 45, 65, 100], epsilon=1.0)
    >>> ages.categories.tolist(), ages.half_width, len(ages.outputs)
    (['[0, 18)', '[18, 30)', '[30, 45)', '[45, 65)', '[65, 100]'], 1, 7)
    >>> reports = ages.privatize([17.5, 44, "30", "[65, 100]"], np.random.default_rng(1))
    >>> import ldpstats as ldp
    >>> counts = ages.draw([.2, .3, .2, .2, .1], 20_000, np.random.default_rng(2))
    >>> ldp.FrequencyModel(counts).fit().mean().round(1).to_dict()   # of the midpoints: 35.75
    {'estimate': 35.9, 'se': 0.6, 'lower': 34.8, 'upper': 37.0}
    """

    edges: Any
    epsilon: float
    half_width: Any = None
    is_ordered: ClassVar = True

    def __post_init__(self) -> None:
        edges = checked_edges(self.edges)
        epsilon = positive_epsilon("epsilon", self.epsilon)
        k, b = edges.size - 1, self.half_width
        if b is None:
            b = int(k * optimal_half_width(epsilon))
        if not positive_integer("half_width", b, 0) < k:
            raise InvalidArgument("half_width", b, f"must be at most {k - 1}, one less than bins")
        set_fields(self, edges=edges, epsilon=epsilon, half_width=int(b))

    @cached_property
    def categories(self) -> Labels:  # type: ignore[override]
        """Labels of the bins, in order."""
        return interval_labels(self.edges)

    @property
    def outputs(self) -> Labels:
        return pd.RangeIndex(self.k + 2 * self.half_width)

    def to_labels(self, name: str, values: object) -> object:
        return binned(name, values, self.edges, self.categories)

    @cached_property
    def _channel(self) -> Band:
        return Band(self.edges.size - 1, self.half_width, self.epsilon)

    def _keep(self) -> int:
        """Threshold of a uniform draw from the band, and not from all reports."""
        Q = self._channel
        return threshold_of(Q.width * Q.excess, Q.shape[1] * Q.low)

    def sample(self, codes: Array, words: Words) -> Array:
        return samplers.sample_band(codes, self.k, self._channel.width, self._keep(), words)

    def _draw_document(self) -> dict[str, Any]:
        width, keep = self._channel.width, str(self._keep())
        return {"kind": "band", "k": self.k, "width": width, "keep": keep}
