"""A variable without protection, for questions that need none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.labels import as_labels
from ldpstats.channels.structured import Uniformised
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.problems.covariance import multinomial
from ldpstats.problems.equations import Equations, Moments
from ldpstats.reports.single import BitCounts, Counts
from ldpstats.sampling.words import Words

__all__ = ["Observed", "joint_epsilon", "protect_some"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Observed(Enumerated):
    """An unprotected variable: the report is the answer. It gives no privacy.

    Epsilon is infinite, and using this class is the consent to that: clients, collectors and the
    command line run it without further permission. It joins a public variable, or the answers of a
    group that was asked directly, to privatised ones in every model.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories; an int k means the labels 0 .. k-1.

    Raises
    ------
    InvalidArgument
        For categories that are fewer than two, repeat, or are no labels.

    Examples
    --------
    >>> region = Observed(("north", "south"))
    >>> region
    Observed(k=2, no privacy)
    >>> reports = region.privatize(["north", "south", "north"], np.random.default_rng(1))
    >>> reports.y.tolist()
    [0, 1, 0]
    """

    categories: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", as_labels("categories", self.categories))

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return float("inf")

    @property
    def unprotected(self) -> bool:
        return True

    def channel(self, candidates: Any = None) -> Uniformised:
        self._closed(candidates)
        return Uniformised(self.k, 1.0, 0.0)

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> Moments:
        self._closed(candidates)
        self._own(counts)
        nobs, t = counts.nobs, counts.vector() / counts.nobs
        weights = np.full(self.k, float(nobs * self.k))
        return Equations(1.0, 0.0, t, lambda p: multinomial(p, nobs), weights, nobs)

    def sample(self, codes: Array, words: Words) -> Array:
        return np.array(codes, dtype=np.int64)  # their range is checked with the reports

    def _draw_document(self) -> dict[str, Any]:
        return {"kind": "same"}

    def _sampler_epsilon(self) -> float:
        return float("inf")

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> Counts:
        self._closed(candidates)
        return self.counts(true_counts)

    def __str__(self) -> str:
        return f"Observed(k={self.k}, no privacy)"

    __repr__ = __str__


def joint_epsilon(mechanisms: Iterable[Any]) -> float:
    """Privacy of what one respondent sends about several variables, in nats.

    The sum over those that are protected: `Observed` ones do not enter it. Infinite if none is.
    """
    private = [mechanism.epsilon for mechanism in mechanisms if not mechanism.unprotected]
    return float(sum(private)) if private else float("inf")


def protect_some(mechanisms: Iterable[Any]) -> bool:
    """Whether the epsilon of some mechanism protects only its sensitive categories."""
    return any(one.sensitive is not None and len(one.sensitive) < one.k for one in mechanisms)
