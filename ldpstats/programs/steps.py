"""Steps of a randomising device, as data: what is drawn, and what is said on each outcome.

What every step is, then the steps that are made of others, those that draw an outcome whatever the
truth is, and those that draw nothing, or one of the other answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

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

MOST_DEEP, MOST_STEPS = 60, 20_000


class Step:
    """One step of a device; those that it is made of are among its fields.

    Two steps are equal when all that they are made of is, types of labels included. The
    representation of a step is what made it: a design, or what `ldpstats.devices` makes it of.
    """

    depth: int
    size: int
    spelling: str | None = None  # what made the step, as its author wrote it: no part of the step

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

    def __repr__(self) -> str:
        return self.spelling or self._spelled()

    def _spelled(self) -> str:
        """The step as `ldpstats.devices` spells it."""
        return type(self).__name__.lower()

    def called(self, spelling: str | None) -> Self:
        """The same step with a spelling of its own, such as "warner(p=0.8)"."""
        again = copy(self)
        object.__setattr__(again, "spelling", spelling)
        return again

    @property
    def is_called(self) -> bool:
        """Whether the step, or one that it is made of, has a spelling of its own."""
        return bool(self.spelling) or any(step.is_called for step in self.children)

    @cached_property
    def children(self) -> tuple[Step, ...]:
        """The steps that this one is made of."""
        return tuple(_found_in(Step, self._fields()))

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """The unknown parameters, in the order of the alphabet."""
        names = {name for step in self.children for name in step.unknown}
        names |= {name for p in _found_in(Polynomial, self._fields()) for name in p.names}
        return tuple(sorted(names))

    @property
    def outcomes(self) -> tuple[Any, ...] | None:
        """What the step can say, in the order of first appearance; None if the truth decides."""
        return self.said(None)

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        """What it can say where these are the true answers; None for what is not known."""
        return None if self.children else answers

    def _fields(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)  # type: ignore[attr-defined]

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
        # not the hash, which is of this process
        return type(self), self._fields(), {"spelling": self.spelling} if self.spelling else None


def typed(value: Any) -> Any:
    """A label with its type, by which 1 is not True; the same of each label of a tuple."""
    if isinstance(value, tuple):
        return tuple(typed(item) for item in value)
    if isinstance(value, Step | Polynomial) or value is None:
        return value
    return type(value).__name__, value


def _found_in(kind: type[Any], value: Any) -> Iterator[Any]:
    """What is of a kind in a field: itself, or in tuples, the outermost only."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _found_in(kind, item)


def check_step(name: str, value: object) -> Step:
    """Refuse anything but a step."""
    if isinstance(value, Step):
        return value
    if callable(value):
        remedy = "is a function: steps are data, so that a device cannot call itself"
    else:
        remedy = "must be a step, such as truth, say('yes') or roll(6).when({...})"
    raise InvalidArgument(name, value, remedy)


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
        pairs: Any = self.branches
        if not isinstance(pairs, tuple) or not pairs:
            raise InvalidArgument("when", pairs, "must have a branch, for example {1: 'yes'}")
        branches = []
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], tuple):
                remedy = "must be a tuple of outcomes and their step"
                raise InvalidArgument("branches", pair, remedy)
            if not pair[0]:
                raise InvalidArgument("when", pair[0], "names no outcome: leave this branch out")
            outcomes = tuple(known_label("when", key) for key in pair[0])
            branches.append((outcomes, check_step("branches", pair[1])))
        keys = [key for outcomes, _ in branches for key in outcomes]
        distinct("when", keys)
        if self.source.outcomes is not None:
            check_branches(keys, self.source.outcomes, self.otherwise is not None)
        return {"branches": tuple(branches)}

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        steps = [step for _, step in self.branches]
        source = self.source.said(answers)
        taken = {typed(key) for keys, _ in self.branches for key in keys}
        if self.otherwise and (source is None or not {typed(y) for y in source} <= taken):
            steps.append(self.otherwise)
        labels: dict[Any, Any] = {}
        for step in steps:
            said = step.said(answers)
            if said is None:
                return None
            for label in said:
                labels.setdefault(typed(label), label)
        return tuple(labels.values())

    def _spelled(self) -> str:
        source = f"({self.source})" if isinstance(self.source, Then) else f"{self.source}"
        pairs = []
        for keys, branch in self.branches:  # a range, a label or a tuple of them
            shown = repr(keys if len(keys) > 1 else keys[0])
            run = all(type(key) is int and key == keys[0] + i for i, key in enumerate(keys))
            if run and len(keys) > 1:
                shown = f"range({keys[0]}, {keys[-1] + 1})"
            pairs.append(f"{shown}: {_short(branch)}")
        rest = "" if self.otherwise is None else f", otherwise={_short(self.otherwise)}"
        return f"{source}.when({{{', '.join(pairs)}}}{rest})"


@dataclass(frozen=True, eq=False, repr=False)
class Then(Step):
    """Take the report of `first` for the true answer of `second`."""

    first: Step
    second: Step

    def _checked(self) -> dict[str, Any]:
        check_step("first", self.first)
        check_step("second", self.second)
        return {}

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        return self.second.said(self.first.said(answers))

    def _spelled(self) -> str:
        second = f"({self.second})" if isinstance(self.second, Then) else f"{self.second}"
        return f"{self.first} >> {second}"


@dataclass(frozen=True, eq=False, repr=False)
class Parts(Step):
    """Report the results of several steps, which are independent given the true answer."""

    steps: tuple[Step, ...]

    def _checked(self) -> dict[str, Any]:
        steps = several_steps("parts", self.steps, 2)
        return {"steps": tuple(check_step("parts", step) for step in steps)}

    def _spelled(self) -> str:
        return f"parts({', '.join(map(_short, self.steps))})"


@dataclass(frozen=True, eq=False, repr=False)
class Cohorts(Step):
    """Draw one of several steps; which it was is reported too."""

    steps: tuple[Step, ...]
    names: tuple[str, ...] | None = None  # "0", "1", ... if None
    shares: tuple[Fraction, ...] | None = None  # probabilities of the steps; alike if None
    named: ClassVar[tuple[str, ...]]  # the name of each step, as reports begin with it
    chances: ClassVar[tuple[Fraction, ...]]  # the probability of each step

    def _checked(self) -> dict[str, Any]:
        steps = several_steps("cohorts", self.steps, 1)
        n = len(steps)
        numbered, alike = tuple(map(str, range(n))), (Fraction(1, n),) * n
        named = numbered if self.names is None else cohort_names(self.names, n)
        chances = alike if self.shares is None else cohort_shares(self.shares, n)
        return {
            "steps": tuple(check_step("cohorts", step) for step in steps),
            "names": None if named == numbered else named,
            "shares": None if chances == alike else chances,
            "named": named,
            "chances": chances,
        }

    def _spelled(self) -> str:
        given = "[" + ", ".join(map(_short, self.steps)) + "]"
        if self.names is not None:
            pairs = zip(self.names, self.steps, strict=True)
            given = "{" + ", ".join(f"{name!r}: {_short(step)}" for name, step in pairs) + "}"
        shares = ""
        if self.shares is not None:
            shares = f", shares=[{', '.join(map(spelled, self.shares))}]"
        return f"cohorts({given}{shares})"


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


def _short(step: Step) -> str:
    """A step as a branch: a bare label stands for saying it."""
    return repr(step.label) if isinstance(step, Say) else repr(step)


# -- Steps that draw an outcome, whatever the truth is: coins, dice, spinners, cards, questions ---


_MOST_SIDES = 100_000


class Draw(Step):
    """A step whose outcomes have a law that does not depend on the true answer."""

    law: Proportions  # outcomes with their probabilities: a field, or what follows from the fields

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...]:
        return tuple(label for label, _ in self.law)


@dataclass(frozen=True, eq=False, repr=False)
class Flip(Draw):
    """Flip a coin that shows "heads" with probability p, else "tails"."""

    p: Any = Fraction(1, 2)

    def _checked(self) -> dict[str, Any]:
        p = chance("p", self.p)
        return {"p": p, "law": (("heads", p), ("tails", 1 - p))}

    def _spelled(self) -> str:
        return "flip()" if self.p == Fraction(1, 2) else f"flip({spelled(self.p)})"


@dataclass(frozen=True, eq=False, repr=False)
class Roll(Draw):
    """Roll a fair die, whose sides are 1, 2, ..., sides."""

    sides: int = 6

    def _checked(self) -> dict[str, Any]:
        sides = positive_integer("sides", self.sides, 1)
        if sides > _MOST_SIDES:
            remedy = f"must be at most {_MOST_SIDES}: spin({{...}}) has outcomes of any probability"
            raise InvalidArgument("sides", self.sides, remedy)
        return {"sides": sides}

    @property
    def law(self) -> Proportions:  # type: ignore[override]
        share = Fraction(1, self.sides)
        return tuple((side, share) for side in range(1, self.sides + 1))

    def _spelled(self) -> str:
        return f"roll({self.sides})"


@dataclass(frozen=True, eq=False, repr=False)
class Spin(Draw):
    """Turn a spinner that stops at each label with its probability."""

    law: Proportions

    def _checked(self) -> dict[str, Any]:
        return {"law": proportions("outcomes", self.law)[0]}

    def _spelled(self) -> str:
        return f"spin({_spelled_law(self.law)})"


@dataclass(frozen=True, eq=False, repr=False)
class Cards(Draw):
    """Draw a card from a shuffled deck; each has its label."""

    law: Proportions
    numbers: tuple[int, ...] | None = None  # of cards; None where proportions were given

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

    def _spelled(self) -> str:
        if self.numbers is None:
            return f"cards({_spelled_law(self.law)})"
        pairs = zip(self.law, self.numbers, strict=True)
        return "cards({" + ", ".join(f"{label!r}: {n}" for (label, _), n in pairs) + "})"


@dataclass(frozen=True, eq=False, repr=False)
class Question(Draw):
    """Answer an unrelated question, whose "yes", the second answer, has this prevalence."""

    prevalence: Any
    text: str | None = None
    answers: tuple[Any, Any] = ("no", "yes")

    def _checked(self) -> dict[str, Any]:
        if self.text is not None and not isinstance(self.text, str):
            raise InvalidArgument("text", self.text, "must be the question's text, or None")
        p, (no, yes) = chance("prevalence", self.prevalence), two_labels(self.answers)
        text = None if self.text is None else str.__str__(self.text)
        law = (no, 1 - p), (yes, p)
        return {"prevalence": p, "text": text, "answers": (no, yes), "law": law}

    def _spelled(self) -> str:
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


@dataclass(frozen=True, eq=False, repr=False)
class Opposite(Step):
    """Say the other one of two answers."""


@dataclass(frozen=True, eq=False, repr=False)
class Another(Step):
    """Say one of the other answers, each with the same probability."""


@dataclass(frozen=True, eq=False, repr=False)
class Say(Step):
    """Say this, whatever the truth is."""

    label: Any

    def _checked(self) -> dict[str, Any]:
        return {"label": known_label("label", self.label)}

    def said(self, answers: tuple[Any, ...] | None) -> tuple[Any, ...]:
        return (self.label,)

    def _spelled(self) -> str:
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

    def _spelled(self) -> str:
        return f"hashed({self.n_outputs}{f', {self.cohort}' if self.cohort else ''})"
