"""An epsilon for each sensitive category, as `URR` and `URAP` take it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import positive_epsilon
from ldpstats.arguments.labels import as_labels, sensitive_codes, sensitive_labels
from ldpstats.channels.audit import Audit
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.base import Mechanism

__all__ = ["Levelled", "checked_levels", "own_epsilons", "pairs"]

Array = npt.NDArray[Any]


class Levelled(Mechanism):
    """A mechanism that protects each sensitive category with an epsilon of its own.

    A subclass has `levels`, those of the sensitive categories where they differ, else None.
    """

    levels: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", as_labels("categories", self.categories))
        own = own_epsilons(self.sensitive, self.epsilon, self.levels, self.categories)
        for name, value in zip(("sensitive", "epsilon", "levels"), own, strict=True):
            object.__setattr__(self, name, value)

    @cached_property
    def _at(self) -> npt.NDArray[np.int64]:
        """Codes of the sensitive categories."""
        return sensitive_codes(self.sensitive, self.categories)

    @abstractmethod
    def _realised(self) -> Array:
        """Epsilon of each sensitive category by Q, in nats."""

    @abstractmethod
    def _worst(self, realised: Array) -> float:
        """Where levels differ, the largest, plus what a category leaks beyond its own."""

    def audit(self) -> Audit:
        """Compare the declared epsilon with Q and with the sampler's integer thresholds.

        Where categories differ in epsilon each is compared with its own: the values shown are the
        largest epsilon, plus what the category that leaks most beyond its own leaks too much.
        """
        found = super().audit()
        return (
            found if self.levels is None else replace(found, channel=self._worst(self._realised()))
        )

    def pair_epsilon(self) -> Array:
        """The guarantee for each pair, ``G[x, x']``, shape (k, k), in nats.

        It bounds ``ln P(y | x) / P(y | x')`` for all protected reports y: by the epsilon of x,
        which is reached, if x is sensitive, and by 0 if it is not.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> ldp.URR(("a", "b", "c"), epsilon={"a": 0.5, "b": 2.0}).pair_epsilon()
        array([[0. , 0.5, 0.5],
               [2. , 0. , 2. ],
               [0. , 0. , 0. ]])
        """
        return pairs(self.k, self._at, self.epsilon if self.levels is None else self.levels)


def own_epsilons(
    sensitive: Any, epsilon: Any, levels: Any, categories: pd.Index[Any]
) -> tuple[pd.Index[Any], float, tuple[float, ...] | None]:
    """Labels that are sensitive, the largest epsilon, and that of each where they differ."""
    if isinstance(epsilon, Mapping):
        if levels is not None:
            raise InvalidArgument("levels", levels, "goes without an epsilon of each category")
        sensitive = list(epsilon) if sensitive is None else sensitive
    labels = sensitive_labels(sensitive_codes(sensitive, categories), categories)
    if isinstance(epsilon, Mapping):
        levels = _levels(epsilon, labels)
    if levels is not None:
        levels = checked_levels(levels, labels)
        top = max(levels)
        known = isinstance(epsilon, int | float | np.number) and epsilon == top
        if not known and not isinstance(epsilon, Mapping):
            raise InvalidArgument("epsilon", epsilon, f"must be the largest of levels, {top}")
        epsilon, levels = top, None if len(set(levels)) == 1 else levels
    return labels, positive_epsilon("epsilon", epsilon), levels


def pairs(k: int, sensitive: Array, own: Any) -> Array:
    """Bounds of ``ln P(y | x) / P(y | x')``, (k, k): the epsilon of x where it is sensitive."""
    row = np.zeros(k)
    row[sensitive] = own
    return np.where(np.eye(k, dtype=bool), 0.0, row[:, None])


def _levels(epsilon: Mapping[Any, Any], sensitive: pd.Index[Any]) -> list[Any]:
    """Epsilon of each sensitive category, in order; none may lack one, or have none to have."""
    for label in epsilon:
        if label not in sensitive:
            remedy = "is of no sensitive category: leave it out, or name the category in sensitive"
            raise InvalidArgument(f"epsilon[{label!r}]", epsilon[label], remedy)
    for label in sensitive.tolist():
        if label not in epsilon:
            raise InvalidArgument(
                "epsilon", dict(epsilon), f"lacks the sensitive category {label!r}: give it one"
            )
    if not epsilon:
        raise InvalidArgument("epsilon", {}, "names no category: give sensitive=() and a number")
    return [epsilon[label] for label in sensitive.tolist()]


def checked_levels(levels: Any, labels: pd.Index[Any], name: str = "epsilon") -> tuple[float, ...]:
    """An epsilon for each of the labels; `name` is what a mapping of them would be called."""
    given = levels if isinstance(levels, list | tuple) else [levels]
    if not len(labels):
        raise InvalidArgument("levels", levels, "must be None where no category is sensitive")
    if len(given) != len(labels):
        raise InvalidArgument("levels", levels, f"must be {len(labels)} epsilons, one each")
    return tuple(
        positive_epsilon(f"{name}[{label!r}]", value)
        for label, value in zip(labels.tolist(), given, strict=True)
    )
