"""Steps of a randomising device, as data: what is drawn, and what is said on each outcome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

from ldpstats.arguments import did_you_mean, positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.programs.polynomials import (
    Polynomial,
    Proportions,
    chance,
    cohort_names,
    cohort_shares,
    distinct,
    known_label,
    proportions,
    several_steps,
    spelled,
    two_labels,
)

__all__ = [
    "MOST_DEEP",
    "MOST_STEPS",
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
    "check_branches",
    "check_step",
    "names_in",
    "typed",
]


# -- What every step of a device is: data that never changes --------------------------------------


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


# -- Steps that are made of others: branches, sequences, parts, cohorts ---------------------------


@dataclass(frozen=True, eq=False, repr=False)
class When(Step):
    """Go on by the outcome of `source`, with the same true answer.

    `branches` are pairs of the outcomes that lead to a step and that step.
    """

    source: Step
    branches: tuple[tuple[tuple[Any, ...], Step], ...]
    otherwise: Step | None = None

    def _checked(self) -> dict[str, Any]:
        check_step("source", self.source)
        if self.otherwise is not None:
            check_step("otherwise", self.otherwise)
        branches = _branches(self.branches)
        keys = [key for outcomes, _ in branches for key in outcomes]
        distinct("when", keys)
        if self.source.outcomes is not None:
            check_branches(keys, self.source.outcomes, self.otherwise is not None)
        return {"branches": branches}

    @property
    def children(self) -> tuple[Step, ...]:
        rest = () if self.otherwise is None else (self.otherwise,)
        return (self.source, *(step for _, step in self.branches), *rest)

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        steps = [step for _, step in self.branches]
        source = self.source.said(answers)
        taken = {typed(key) for keys, _ in self.branches for key in keys}
        if self.otherwise and (source is None or not {typed(y) for y in source} <= taken):
            steps.append(self.otherwise)
        return union(steps, answers)

    def __repr__(self) -> str:
        source = f"({self.source})" if isinstance(self.source, Then) else f"{self.source}"
        pairs = ", ".join(f"{_key(keys)}: {_short(branch)}" for keys, branch in self.branches)
        rest = "" if self.otherwise is None else f", otherwise={_short(self.otherwise)}"
        return f"{source}.when({{{pairs}}}{rest})"


@dataclass(frozen=True, eq=False, repr=False)
class Then(Step):
    """Take the report of `first` for the true answer of `second`."""

    first: Step
    second: Step

    def _checked(self) -> dict[str, Any]:
        check_step("first", self.first)
        check_step("second", self.second)
        return {}

    @property
    def children(self) -> tuple[Step, ...]:
        return self.first, self.second

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        return self.second.said(self.first.said(answers))

    def __repr__(self) -> str:
        second = f"({self.second})" if isinstance(self.second, Then) else f"{self.second}"
        return f"{self.first} >> {second}"


@dataclass(frozen=True, eq=False, repr=False)
class Parts(Step):
    """Report the results of several steps, which are independent given the true answer."""

    steps: tuple[Step, ...]

    def _checked(self) -> dict[str, Any]:
        steps = several_steps("parts", self.steps, 2)
        return {"steps": tuple(check_step("parts", step) for step in steps)}

    @property
    def children(self) -> tuple[Step, ...]:
        return self.steps

    def __repr__(self) -> str:
        return f"parts({', '.join(map(_short, self.steps))})"


@dataclass(frozen=True, eq=False, repr=False)
class Cohorts(Step):
    """Draw one of several steps; which it was is reported too.

    `names` are those of the steps, "0", "1", ... if None; `shares` their probabilities, all the
    same if None.
    """

    steps: tuple[Step, ...]
    names: tuple[str, ...] | None = None
    shares: tuple[Fraction, ...] | None = None

    def _checked(self) -> dict[str, Any]:
        steps = several_steps("cohorts", self.steps, 1)
        n = len(steps)
        names = None if self.names is None else cohort_names(self.names, n)
        shares = None if self.shares is None else cohort_shares(self.shares, n)
        return {
            "steps": tuple(check_step("cohorts", step) for step in steps),
            "names": None if names == _numbered(n) else names,
            "shares": None if shares == (Fraction(1, n),) * n else shares,
        }

    @property
    def children(self) -> tuple[Step, ...]:
        return self.steps

    @property
    def named(self) -> tuple[str, ...]:
        """The name of each step, as reports begin with it."""
        return _numbered(len(self.steps)) if self.names is None else self.names

    @property
    def chances(self) -> tuple[Fraction, ...]:
        """The probability of each step."""
        n = len(self.steps)
        return (Fraction(1, n),) * n if self.shares is None else self.shares

    def __repr__(self) -> str:
        given = "[" + ", ".join(map(_short, self.steps)) + "]"
        if self.names is not None:
            pairs = zip(self.names, self.steps, strict=True)
            given = "{" + ", ".join(f"{name!r}: {_short(step)}" for name, step in pairs) + "}"
        shares = ""
        if self.shares is not None:
            shares = f", shares=[{', '.join(map(spelled, self.shares))}]"
        return f"cohorts({given}{shares})"


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(map(str, range(n)))


def check_branches(
    keys: list[Any],
    outcomes: tuple[Any, ...],
    otherwise: bool,
    kind: str = "outcome of the step before",
) -> None:
    """Refuse branches for outcomes that cannot occur, and outcomes without a branch."""
    known, given = {typed(label) for label in outcomes}, {typed(key) for key in keys}
    shown = ", ".join(map(repr, outcomes[:6])) + (", ..." if len(outcomes) > 6 else "")
    for key in keys:
        if typed(key) not in known:
            texts = [str(label) for label in outcomes[:1000]]
            hint = "" if str(key) in texts else did_you_mean(key, texts)
            raise InvalidArgument("when", key, f"is no {kind}; they are {shown}{hint}")
    if not otherwise and not known <= given:
        first = next(label for label in outcomes if typed(label) not in given)
        remedy = "has no branch: give it one, or otherwise= for all outcomes that have none"
        raise InvalidArgument("when", first, remedy)


def _branches(given: Any) -> tuple[tuple[tuple[Any, ...], Step], ...]:
    """Branches with their outcomes in Python's own types."""
    if not isinstance(given, tuple) or not given:
        raise InvalidArgument("when", given, "must have a branch, for example {1: 'yes'}")
    found = []
    for pair in given:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], tuple):
            raise InvalidArgument("branches", pair, "must be a tuple of outcomes and their step")
        if not pair[0]:
            raise InvalidArgument("when", pair[0], "names no outcome: leave this branch out")
        keys = tuple(known_label("when", key) for key in pair[0])
        found.append((keys, check_step("branches", pair[1])))
    return tuple(found)


def _key(keys: tuple[Any, ...]) -> str:
    """The outcomes of a branch, as `when` reads them."""
    if len(keys) == 1:
        return repr(keys[0])
    if all(type(key) is int and key == keys[0] + i for i, key in enumerate(keys)):
        return f"range({keys[0]}, {keys[-1] + 1})"
    return repr(keys)


def _short(step: Step) -> str:
    """A step as a branch: a bare label stands for saying it."""
    return repr(step.label) if isinstance(step, Say) else repr(step)


# -- Steps that draw an outcome, whatever the truth is: coins, dice, spinners, cards, questions ---


_MOST_SIDES = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class Flip(Step):
    """Flip a coin that shows "heads" with probability p, else "tails"."""

    p: Any = Fraction(1, 2)

    def _checked(self) -> dict[str, Any]:
        return {"p": chance("p", self.p)}

    def _names(self) -> set[str]:
        return names_in((self.p,))

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...]:
        return "heads", "tails"

    def __repr__(self) -> str:
        return "flip()" if self.p == Fraction(1, 2) else f"flip({spelled(self.p)})"


@dataclass(frozen=True, eq=False, repr=False)
class Roll(Step):
    """Roll a fair die, whose sides are 1, 2, ..., sides."""

    sides: int = 6

    def _checked(self) -> dict[str, Any]:
        sides = positive_integer("sides", self.sides, 1)
        if sides > _MOST_SIDES:
            remedy = f"must be at most {_MOST_SIDES}: spin({{...}}) has outcomes of any probability"
            raise InvalidArgument("sides", self.sides, remedy)
        return {"sides": sides}

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...]:
        return tuple(range(1, self.sides + 1))

    def __repr__(self) -> str:
        return f"roll({self.sides})"


@dataclass(frozen=True, eq=False, repr=False)
class Spin(Step):
    """Turn a spinner that stops at each label with its probability."""

    law: Proportions

    def _checked(self) -> dict[str, Any]:
        return {"law": proportions("outcomes", self.law)[0]}

    def _names(self) -> set[str]:
        return names_in(p for _, p in self.law)

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...]:
        return tuple(label for label, _ in self.law)

    def __repr__(self) -> str:
        return f"spin({_spelled_law(self.law)})"


@dataclass(frozen=True, eq=False, repr=False)
class Cards(Step):
    """Draw a card from a shuffled deck; each has its label.

    `law` has the proportions of each label. `numbers` are the numbers of cards, in the order of the
    law, and None where proportions were given.
    """

    law: Proportions
    numbers: tuple[int, ...] | None = None

    def _checked(self) -> dict[str, Any]:
        law, numbers = proportions("outcomes", self.law, counts=self.numbers is None)
        if self.numbers is not None:
            remedy = "must be as many numbers of cards as labels, in their proportions"
            given: object = self.numbers
            if not isinstance(given, tuple) or len(given) != len(law):
                raise InvalidArgument("numbers", given, remedy)
            deck = [(label, number) for (label, _), number in zip(law, given, strict=True)]
            again, numbers = proportions("numbers", deck, counts=True)
            if numbers is None or again != law:
                raise InvalidArgument("numbers", given, remedy)
        elif numbers is None and all(p in (0, 1) for _, p in law):
            numbers = tuple(int(p == 1) for _, p in law)  # written alike, and the same deck
        return {"law": law, "numbers": numbers}

    def _names(self) -> set[str]:
        return names_in(p for _, p in self.law)

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...]:
        return tuple(label for label, _ in self.law)

    def __repr__(self) -> str:
        if self.numbers is None:
            return f"cards({_spelled_law(self.law)})"
        pairs = zip(self.law, self.numbers, strict=True)
        return "cards({" + ", ".join(f"{label!r}: {n}" for (label, _), n in pairs) + "})"


@dataclass(frozen=True, eq=False, repr=False)
class Question(Step):
    """Answer an unrelated question, whose "yes", the second answer, has this prevalence."""

    prevalence: Any
    text: str | None = None
    answers: tuple[Any, Any] = ("no", "yes")

    def _checked(self) -> dict[str, Any]:
        if self.text is not None and not isinstance(self.text, str):
            raise InvalidArgument("text", self.text, "must be the question's text, or None")
        return {
            "prevalence": chance("prevalence", self.prevalence),
            "text": None if self.text is None else str.__str__(self.text),
            "answers": two_labels("answers", self.answers),
        }

    def _names(self) -> set[str]:
        return names_in((self.prevalence,))

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...]:
        return self.answers

    def __repr__(self) -> str:
        text = "" if self.text is None else f", {self.text!r}"
        answers = "" if self.answers == ("no", "yes") else f", answers={self.answers!r}"
        return f"question({spelled(self.prevalence)}{text}{answers})"


def _spelled_law(law: Proportions) -> str:
    return "{" + ", ".join(f"{label!r}: {spelled(p)}" for label, p in law) + "}"


# -- Steps that draw nothing, or one of the other answers: what is said ---------------------------


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
