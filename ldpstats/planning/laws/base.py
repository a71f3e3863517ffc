"""What every planned test answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy.typing as npt

__all__ = ["PlannedTest"]

Array = npt.NDArray[Any]


class PlannedTest(ABC):
    """A test of one level, for a mechanism, a null hypothesis and a truth."""

    @property
    @abstractmethod
    def differs(self) -> bool:
        """Whether more respondents lead to a rejection: the truth is not the null hypothesis."""

    @abstractmethod
    def power(self, n: Array) -> Array:
        """Probability of a rejection with n respondents; n of shape (s,), not always whole."""

    def zigzag(self, n: float) -> float:
        """Respondents below n among which the power may already have been larger; 0 if it grows."""
        return 0.0
