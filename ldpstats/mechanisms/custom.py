"""Any channel that the analyst can write down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.labels import as_labels, sensitive_codes, sensitive_labels
from ldpstats.channels.base import Channel
from ldpstats.channels.structured import Dense
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.base import check_document
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.sampling import realised, samplers

__all__ = ["CustomMechanism"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class CustomMechanism(Enumerated):
    """A mechanism given by its channel matrix, square or rectangular.

    Parameters
    ----------
    Q : array-like, shape (k, l)
        ``Q[x, y] = P(report y | category x)``; rows sum to one.
    categories : int, sequence of labels, or pandas Categorical, optional
        The k categories; 0 .. k-1 by default.
    outputs : int or sequence of labels, optional
        The l reports; the categories if l = k, else 0 .. l-1, by default.
    sensitive : set or sequence of labels, optional
        The categories that are protected, if not all are: epsilon is then that of utility-optimised
        LDP (MK19 Definition 2), where a report may reveal one of the others.

    Examples
    --------
    Two of three answers are protected, the third is reported as it is:

    >>> mech = CustomMechanism([[.8, .2, 0], [.2, .8, 0], [.1, .1, .8]], ("a", "b", "c"))
    >>> mech.epsilon
    inf
    >>> round(CustomMechanism(mech.Q, ("a", "b", "c"), sensitive=["a", "b"]).epsilon, 4)  # ln 8
    2.0794
    """

    Q: Any
    categories: Any = None
    outputs: Any = None
    sensitive: Any = None
    _channel: ClassVar[Dense]  # as a field it would be part of the specification

    def __post_init__(self) -> None:
        channel = Dense(self.Q)
        Q = channel.Q
        k, l = Q.shape  # noqa: E741
        categories = as_labels("categories", k if self.categories is None else self.categories)
        default = categories if k == l else l
        outputs = as_labels("outputs", default if self.outputs is None else self.outputs, least=1)
        for name, labels, size in (("categories", categories, k), ("outputs", outputs, l)):
            if len(labels) != size:
                raise InvalidArgument(
                    name, labels, f"Q of shape {Q.shape} needs {size} labels here"
                )
        for name, value in (("Q", Q), ("categories", categories), ("outputs", outputs)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_channel", channel)  # checked once: not for each report
        if self.sensitive is not None:
            codes = sensitive_codes(self.sensitive, categories)
            object.__setattr__(self, "sensitive", sensitive_labels(codes, categories))

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return self._channel_epsilon()

    def _sampler_epsilon(self) -> float:
        if self.sensitive is None:
            return super()._sampler_epsilon()
        rows = samplers.integer_rows(self._channel.Q)
        weights = np.zeros(self._channel.Q.shape, dtype=object)  # of which 2^64 is one: no int64
        for x, y in enumerate(rows.outputs):
            weights[x, y] = realised.weights_of(rows, x)
        codes = sensitive_codes(self.sensitive, self.categories)
        kept = self._channel.output_classes().protected(codes)
        return max(_ratio(column) for column in weights[:, kept].T) if kept.any() else 0.0

    def _specification(self) -> dict[str, Any]:
        document = super()._specification()
        if document["sensitive"] is None:  # as before there was a choice
            del document["sensitive"]
        return document

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        return super().from_dict({"sensitive": None} | check_document(document))

    def channel(self, candidates: Any = None) -> Channel:
        self._closed(candidates)
        return self._channel


def _ratio(weights: Array) -> float:
    """Log ratio of the largest of some integers to the smallest."""
    low = int(weights.min())
    return realised.log_ratio(int(weights.max()), low) if low else float("inf")
