"""Any channel that the analyst can write down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from ldpstats.arguments.labels import as_labels
from ldpstats.channels.base import Channel
from ldpstats.channels.structured import Dense
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.enumerated import Enumerated

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

    Examples
    --------
    Two of three answers are protected, the third is reported as it is:

    >>> mech = CustomMechanism([[.8, .2, 0], [.2, .8, 0], [.1, .1, .8]], ("a", "b", "c"))
    >>> mech.epsilon
    inf
    """

    Q: Any
    categories: Any = None
    outputs: Any = None
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

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        return self.channel().epsilon()

    def channel(self, candidates: Any = None) -> Channel:
        self._closed(candidates)
        return self._channel
