"""Steps of a randomising device, as data: what is drawn, and what is said on each outcome."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

from ldpstats.arguments.checks import positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.programs.checks import (
    Proportions,
    known_label,
    outcomes_of,
    proportions,
    several_steps,
    two_labels,
)
from ldpstats.programs.polynomials import Polynomial
from ldpstats.programs.probabilities import chance

__all__ = [
    "Another",
    "Cards",
    "Cohorts",
    "Flip",
    "Hashed",
    "Opposite",
    "Parts",
    "Question",
    "Roll",
    "Say",
    "Spin",
    "Step",
    "Then",
    "Truth",
    "When",
]

MOST_DEEP, MOST_STEPS, MOST_SIDES = 60, 20_000, 100_000


class Step:
    """One step of a device; those that it is made of are among its fields.

    Two steps are equal when all that they are made of is, types of labels included.
    """

    def __post_init__(self) -> None:
        self._check()
        self._measure()

    def _check(self) -> None:
        """Check the fields, and put them in their exact form."""

    def _measure(self) -> None:
        """Refuse steps that are nested too deep, or too many."""
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

    depth: int = 1
    size: int = 1

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
        return set()

    @property
    def outcomes(self) -> tuple[Any, ...] | None:
        """What the step can say, in the order of first appearance; None if the truth decides."""
        return None

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        own = [_typed(getattr(self, item.name)) for item in fields(self)]  # type: ignore[arg-type]
        return type(self).__name__, *own

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Step) and hash(self) == hash(other) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)


def _typed(value: Any) -> Any:
    """A field with the types of its labels: 1 is not True."""
    if isinstance(value, tuple):
        return tuple(_typed(item) for item in value)
    if isinstance(value, Step | Polynomial) or value is None:
        return value
    return type(value).__name__, value


@dataclass(frozen=True, eq=False)
class Truth(Step):
    """Say the true answer."""


@dataclass(frozen=True, eq=False)
class Opposite(Step):
    """Say the other one of two answers."""


@dataclass(frozen=True, eq=False)
class Another(Step):
    """Say one of the other answers, each with the same probability."""


@dataclass(frozen=True, eq=False)
class Say(Step):
    """Say this, whatever the truth is."""

    label: Any

    def _check(self) -> None:
        self._set(label=known_label("label", self.label))

    @property
    def outcomes(self) -> tuple[Any, ...]:
        return (self.label,)


@dataclass(frozen=True, eq=False)
class Flip(Step):
    """Flip a coin that shows "heads" with probability p, else "tails"."""

    p: Any = Fraction(1, 2)

    def _check(self) -> None:
        self._set(p=chance("p", self.p))

    def _names(self) -> set[str]:
        return names_in((self.p,))

    @property
    def outcomes(self) -> tuple[Any, ...]:
        return "heads", "tails"


@dataclass(frozen=True, eq=False)
class Roll(Step):
    """Roll a fair die, whose sides are 1, 2, ..., sides."""

    sides: int = 6

    def _check(self) -> None:
        sides = positive_integer("sides", self.sides, 1)
        if sides > MOST_SIDES:
            remedy = f"must be at most {MOST_SIDES}: spin({{...}}) has outcomes of any probability"
            raise InvalidArgument("sides", self.sides, remedy)
        self._set(sides=sides)

    @property
    def outcomes(self) -> tuple[Any, ...]:
        return tuple(range(1, self.sides + 1))


@dataclass(frozen=True, eq=False)
class Spin(Step):
    """Turn a spinner that stops at each label with its probability."""

    law: Proportions

    def _check(self) -> None:
        self._set(law=proportions("law", self.law)[0])

    def _names(self) -> set[str]:
        return names_in(p for _, p in self.law)

    @property
    def outcomes(self) -> tuple[Any, ...]:
        return tuple(label for label, _ in self.law)


@dataclass(frozen=True, eq=False)
class Cards(Step):
    """Draw a card from a shuffled deck; each has its label.

    `law` has the numbers of cards of each label, or their proportions; `numbers` are the former, in
    the order of the law, and None where proportions were given.
    """

    law: Proportions
    numbers: tuple[int, ...] | None = None

    def _check(self) -> None:
        law, numbers = proportions("law", self.law, counts=True)
        if numbers is None and self.numbers is not None:
            given = [(label, n) for (label, _), n in zip(law, self.numbers, strict=False)]
            again, numbers = proportions("numbers", given, counts=True)
            if numbers is None or again != law:
                raise InvalidArgument("numbers", self.numbers, "must be the cards of each label")
        self._set(law=law, numbers=numbers)

    def _names(self) -> set[str]:
        return names_in(p for _, p in self.law)

    @property
    def outcomes(self) -> tuple[Any, ...]:
        return tuple(label for label, _ in self.law)


@dataclass(frozen=True, eq=False)
class Question(Step):
    """Answer an unrelated question, whose "yes", the second answer, has this prevalence."""

    prevalence: Any
    text: str | None = None
    answers: tuple[Any, Any] = ("no", "yes")

    def _check(self) -> None:
        if self.text is not None and not isinstance(self.text, str):
            raise InvalidArgument("text", self.text, "must be the question's text, or None")
        self._set(
            prevalence=chance("prevalence", self.prevalence),
            text=None if self.text is None else str.__str__(self.text),
            answers=two_labels("answers", self.answers),
        )

    def _names(self) -> set[str]:
        return names_in((self.prevalence,))

    @property
    def outcomes(self) -> tuple[Any, ...]:
        return self.answers


@dataclass(frozen=True, eq=False)
class When(Step):
    """Go on by the outcome of `source`, with the same true answer.

    `branches` are pairs of the outcomes that lead to a step and that step.
    """

    source: Step
    branches: tuple[tuple[tuple[Any, ...], Step], ...]
    otherwise: Step | None = None

    def _check(self) -> None:
        check_step("source", self.source)
        if self.otherwise is not None:
            check_step("otherwise", self.otherwise)
        for _, step in self.branches:
            check_step("branches", step)
        keys = outcomes_of(self.branches)
        if self.source.outcomes is not None:
            check_branches(keys, self.source.outcomes, self.otherwise is not None)

    @property
    def children(self) -> tuple[Step, ...]:
        rest = () if self.otherwise is None else (self.otherwise,)
        return (self.source, *(step for _, step in self.branches), *rest)

    @property
    def outcomes(self) -> tuple[Any, ...] | None:
        return _union(self.children[1:])


@dataclass(frozen=True, eq=False)
class Then(Step):
    """Take the report of `first` for the true answer of `second`."""

    first: Step
    second: Step

    def _check(self) -> None:
        check_step("first", self.first)
        check_step("second", self.second)

    @property
    def children(self) -> tuple[Step, ...]:
        return self.first, self.second

    @property
    def outcomes(self) -> tuple[Any, ...] | None:
        return self.second.outcomes


@dataclass(frozen=True, eq=False)
class Parts(Step):
    """Report the results of several steps, which are independent given the true answer."""

    steps: tuple[Step, ...]

    def _check(self) -> None:
        self._set(steps=several_steps("parts", self.steps, 2))
        for step in self.steps:
            check_step("parts", step)

    @property
    def children(self) -> tuple[Step, ...]:
        return self.steps


@dataclass(frozen=True, eq=False)
class Hashed(Step):
    """Say the cell, from 0 to n_outputs - 1, that the package's hash gives to the true answer."""

    n_outputs: int
    cohort: int = 0

    def _check(self) -> None:
        n_outputs = positive_integer("n_outputs", self.n_outputs, 2)
        if n_outputs > MOST_SIDES:
            raise InvalidArgument("n_outputs", self.n_outputs, f"must be at most {MOST_SIDES}")
        cohort = positive_integer("cohort", self.cohort, 0)
        if cohort >= 1 << 31:
            raise InvalidArgument("cohort", self.cohort, "must be below 2^31")
        self._set(n_outputs=n_outputs, cohort=cohort)

    @property
    def outcomes(self) -> tuple[Any, ...]:
        return tuple(range(self.n_outputs))


@dataclass(frozen=True, eq=False)
class Cohorts(Step):
    """Draw one of several steps, each with the same probability; its number is reported too."""

    steps: tuple[Step, ...]

    def _check(self) -> None:
        self._set(steps=several_steps("cohorts", self.steps, 1))
        for step in self.steps:
            check_step("cohorts", step)

    @property
    def children(self) -> tuple[Step, ...]:
        return self.steps


def names_in(chances: Any) -> set[str]:
    """The unknown parameters of some probabilities."""
    return {name for value in chances if isinstance(value, Polynomial) for name in value.names}


def check_step(name: str, value: object) -> Step:
    """Refuse what is no step."""
    if isinstance(value, Step):
        return value
    if callable(value):
        remedy = "is a function: steps are data, so that a device cannot call itself"
    else:
        remedy = "must be a step, such as truth, say('yes') or roll(6).when({...})"
    raise InvalidArgument(name, value, remedy)


def check_branches(keys: list[Any], outcomes: tuple[Any, ...], otherwise: bool) -> None:
    """Refuse branches for outcomes that cannot occur, and outcomes without a branch."""
    known = {_typed(label) for label in outcomes}
    shown = ", ".join(map(repr, outcomes[:6])) + (", ..." if len(outcomes) > 6 else "")
    for key in keys:
        if _typed(key) not in known:
            raise InvalidArgument(
                "when", key, f"is no outcome of the step before; they are {shown}"
            )
    left = known - {_typed(key) for key in keys}
    if left and not otherwise:
        first = next(label for label in outcomes if _typed(label) in left)
        remedy = "has no branch: give it one, or otherwise= for all outcomes that have none"
        raise InvalidArgument("when", first, remedy)


def _union(steps: tuple[Step, ...]) -> tuple[Any, ...] | None:
    """What any of some steps can say; None if the truth decides in one."""
    found: dict[Any, Any] = {}
    for step in steps:
        if step.outcomes is None:
            return None
        for label in step.outcomes:
            found.setdefault(_typed(label), label)
    return tuple(found.values())
