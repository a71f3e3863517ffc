"""Steps that draw nothing, or one of the other answers: what is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldpstats.arguments.checks import positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.programs.checks import known_label
from ldpstats.programs.steps.base import Step

__all__ = ["Another", "Hashed", "Opposite", "Say", "Truth"]

_MOST_CELLS, _MOST_COHORTS = 100_000, 1 << 31


@dataclass(frozen=True, eq=False, repr=False)
class Truth(Step):
    """Say the true answer."""

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        return answers

    def __repr__(self) -> str:
        return "truth"


@dataclass(frozen=True, eq=False, repr=False)
class Opposite(Step):
    """Say the other one of two answers."""

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        return answers

    def __repr__(self) -> str:
        return "opposite"


@dataclass(frozen=True, eq=False, repr=False)
class Another(Step):
    """Say one of the other answers, each with the same probability."""

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        return answers

    def __repr__(self) -> str:
        return "another"


@dataclass(frozen=True, eq=False, repr=False)
class Say(Step):
    """Say this, whatever the truth is."""

    label: Any

    def _checked(self) -> dict[str, Any]:
        return {"label": known_label("label", self.label)}

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...]:
        return (self.label,)

    def __repr__(self) -> str:
        return f"say({self.label!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Hashed(Step):
    """Say the cell, from 0 to n_outputs - 1, that the package's hash gives to the true answer."""

    n_outputs: int
    cohort: int = 0

    def _checked(self) -> dict[str, Any]:
        n_outputs = positive_integer("n_outputs", self.n_outputs, 2)
        if n_outputs > _MOST_CELLS:
            raise InvalidArgument("n_outputs", self.n_outputs, f"must be at most {_MOST_CELLS}")
        cohort = positive_integer("cohort", self.cohort, 0)
        if cohort >= _MOST_COHORTS:
            raise InvalidArgument("cohort", self.cohort, "must be below 2^31")
        return {"n_outputs": n_outputs, "cohort": cohort}

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...]:
        return tuple(range(self.n_outputs))

    def __repr__(self) -> str:
        return f"hashed({self.n_outputs}{f', {self.cohort}' if self.cohort else ''})"
