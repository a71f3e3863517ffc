"""What every step of a device is: data that never changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import fields
from functools import cached_property
from typing import Any

from ldpstats.errors import InvalidArgument
from ldpstats.programs.polynomials import Polynomial

__all__ = ["MOST_DEEP", "MOST_STEPS", "Step", "check_step", "names_in", "typed", "union"]

MOST_DEEP, MOST_STEPS = 60, 20_000


class Step(ABC):
    """One step of a device; those that it is made of are among its fields.

    Two steps are equal when all that they are made of is, types of labels included. The
    representation of a step is what `ldpstats.devices` makes it of.
    """

    depth: int
    size: int

    def __post_init__(self) -> None:
        """Put the fields in their exact form, and refuse steps nested too deep, or too many."""
        for name, value in self._checked().items():
            object.__setattr__(self, name, value)
        depth = 1 + max((step.depth for step in self.children), default=0)
        size = 1 + sum(step.size for step in self.children)
        if depth > MOST_DEEP or size > MOST_STEPS:
            remedy = (
                f"may be nested {MOST_DEEP} deep and hold {MOST_STEPS} steps: a device is finite, "
                "it cannot call itself"
            )
            raise InvalidArgument("device", f"{size} steps, {depth} deep", remedy)
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "size", size)

    def _checked(self) -> dict[str, Any]:
        """The fields that take another form, checked."""
        return {}

    @abstractmethod
    def __repr__(self) -> str:
        """The step as `ldpstats.devices` spells it."""

    @property
    def children(self) -> tuple[Step, ...]:
        """The steps that this one is made of."""
        return ()

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """The unknown parameters, in the order of the alphabet."""
        found = {name for step in self.children for name in step.unknown}
        return tuple(sorted(found | self._names()))

    def _names(self) -> set[str]:
        """The unknown parameters of its own probabilities."""
        return set()

    @property
    def outcomes(self) -> tuple[Any, ...] | None:
        """What the step can say, in the order of first appearance; None if the truth decides."""
        return self.said(None)

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        """What it can say where these are the true answers; None for what is not known."""
        return None

    def _fields(self) -> tuple[Any, ...]:
        return tuple(getattr(self, item.name) for item in fields(self))  # type: ignore[arg-type]

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return type(self).__name__, *map(typed, self._fields())

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Step) and hash(self) == hash(other) and self._key == other._key

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._fields()  # not the hash, which is of this process


def typed(value: Any) -> Any:
    """A label with its type, by which 1 is not True; the same of each label of a tuple."""
    if isinstance(value, tuple):
        return tuple(typed(item) for item in value)
    if isinstance(value, Step | Polynomial) or value is None:
        return value
    return type(value).__name__, value


def names_in(chances: Iterable[Any]) -> set[str]:
    """The unknown parameters of some probabilities."""
    return {name for value in chances if isinstance(value, Polynomial) for name in value.names}


def check_step(name: str, value: object) -> Step:
    """Refuse anything but a step."""
    if isinstance(value, Step):
        return value
    if callable(value):
        remedy = "is a function: steps are data, so that a device cannot call itself"
    else:
        remedy = "must be a step, such as truth, say('yes') or roll(6).when({...})"
    raise InvalidArgument(name, value, remedy)


def union(steps: Iterable[Step], answers: tuple[Any, ...] | None = None) -> tuple[Any, ...] | None:
    """What any of some steps can say; None if the truth decides in one, and is not known."""
    found: dict[Any, Any] = {}
    for step in steps:
        said = step.said(answers)
        if said is None:
            return None
        for label in said:
            found.setdefault(typed(label), label)
    return tuple(found.values())
