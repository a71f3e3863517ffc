"""What every goal of a survey answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import distribution, numbers
from ldpstats.arguments.labels import align, by_label, position
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.base import Mechanism
from ldpstats.planning.laws.base import PlannedTest
from ldpstats.planning.variances import check_mechanism

__all__ = ["Goal", "Ray", "Setting", "checked_category", "checked_shares", "frozen", "setting"]

Array = npt.NDArray[Any]

_SHARES = (
    "must be non-negative shares that sum to one: an array, or a Series or mapping by category"
)


class Ray(ABC):
    """The truths between a null hypothesis, multiple 0, and the truth of a goal, multiple 1.

    Beyond 1 lie larger departures from the null hypothesis.
    """

    @property
    @abstractmethod
    def most(self) -> float:
        """The largest multiple for which the truth is a distribution; inf where all are."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """What `effect` is, in words."""

    @abstractmethod
    def effect(self, multiple: float) -> float:
        """A truth in the goal's own units."""

    @abstractmethod
    def truth(self, multiple: float) -> Any:
        """The truth itself, with its labels: a Series or a DataFrame."""

    @abstractmethod
    def test(self, multiple: float, alpha: float) -> PlannedTest:
        """The test of level alpha that results run by default, if the truth is this one."""


class Goal(ABC):
    """A null hypothesis and a truth: a subclass is a frozen dataclass."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What is to be found, in words."""

    @property
    @abstractmethod
    def truth(self) -> str:
        """What the truth is, in words."""

    def __str__(self) -> str:
        return f"{self.words}; {self.truth}"

    @abstractmethod
    def ray(self, mechanism: Any) -> Ray:
        """The goal in a survey with this mechanism."""


@dataclass(frozen=True, eq=False)
class Setting:
    """A mechanism with the distribution that is planned for, in the order of its categories."""

    mechanism: Mechanism
    p: Array
    labels: pd.Index[Any]
    candidates: Any

    def place(self, category: Any, name: str = "category") -> int:
        """Position of a category."""
        remedy = f"is no category of {self.mechanism}"
        return position(name, category, self.labels, remedy)


def setting(mechanism: object, p: Any, name: str = "p", of: str = "mechanism") -> Setting:
    """What a goal is planned with; of an open alphabet the labels of p are the candidates."""
    made_by, candidates = check_mechanism(mechanism, of), None
    if made_by.is_open:
        if not isinstance(p, pd.Series):
            remedy = "must be a Series or mapping by string, the candidates whose answers "
            remedy += f"{made_by} reports"
            raise InvalidArgument(name, f"array of shape {np.shape(p)}", remedy)
        candidates = tuple(p.index)
    labels = made_by.labels(candidates)
    law = distribution(name, align(name, p, labels), len(labels))
    return Setting(made_by, law / law.sum(), labels, candidates)


def checked_shares(name: str, value: object) -> Any:
    """A distribution as an array that cannot be changed, or as a Series of its own."""
    value = by_label(name, value)
    values = numbers(name, value, _SHARES)
    if values.ndim != 1 or values.size < 2:
        raise InvalidArgument(name, f"array of shape {values.shape}", _SHARES)
    distribution(name, values, values.size)
    if isinstance(value, pd.Series):
        if not value.index.is_unique or isinstance(value.index, pd.MultiIndex):
            remedy = "as a Series must have one label for each category, none of them twice"
            raise InvalidArgument(name, value.index.tolist(), remedy)
        return pd.Series(values, index=value.index.copy())
    return frozen(values)


def checked_category(name: str, category: object, p: Any) -> Any:
    """A label: plain, and known where p is a Series."""
    if isinstance(p, pd.Series):
        position(name, category, p.index, "is not among the labels of p")
    if not isinstance(category, str | bool | int | float | np.generic):
        raise InvalidArgument(name, category, "must be the label of a category")
    return str.__str__(category) if isinstance(category, str) else category


def frozen(values: Array) -> Array:
    """An array that cannot be changed."""
    found = np.array(values, dtype=np.float64)
    found.setflags(write=False)
    return found
