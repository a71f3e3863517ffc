"""The truncated geometric channel of ordered categories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import positive_epsilon
from ldpstats.arguments.intervals import midpoints
from ldpstats.arguments.labels import as_labels
from ldpstats.channels.ordered import Geometric
from ldpstats.clients.document import check_table
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.sampling import realised, samplers
from ldpstats.sampling.words import Words

__all__ = ["GeometricResponse"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
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

    def __post_init__(self) -> None:
        labels = as_labels("categories", self.categories)
        _refuse_disorder(labels)
        object.__setattr__(self, "categories", labels)
        object.__setattr__(self, "epsilon", positive_epsilon("epsilon", self.epsilon))

    @property
    def is_ordered(self) -> bool:
        return True

    def channel(self, candidates: Any = None) -> Geometric:
        self._closed(candidates)
        return self._channel

    @cached_property
    def _channel(self) -> Geometric:
        return Geometric(self.k, self.epsilon / (self.k - 1))

    @cached_property
    def _rows(self) -> samplers.IntegerRows:
        return samplers.integer_rows(self._channel.matrix(), "up")

    def sample(self, codes: Array, words: Words) -> Array:
        return samplers.sample_rows(codes, self._rows, words)

    def _draw_document(self) -> dict[str, Any]:
        check_table(self, self.k * self.k)
        return self._rows.document(self.k)

    def _sampler_epsilon(self) -> float:
        return realised.realised_epsilon_rows(self._rows)


def _refuse_disorder(labels: pd.Index[Any]) -> None:
    """Refuse numbers and intervals that do not ascend."""
    if isinstance(labels, pd.RangeIndex):
        return
    numeric = pd.api.types.is_numeric_dtype(labels.dtype)
    found = labels.to_numpy() if numeric else midpoints(labels)
    if found is not None and not np.all(np.diff(found) > 0.0):
        remedy = "do not ascend: list the categories from the smallest to the largest"
        raise InvalidArgument("categories", labels[:5].tolist(), remedy)
