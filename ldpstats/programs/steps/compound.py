"""Steps that are made of others: branches, sequences, parts, cohorts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import InvalidArgument
from ldpstats.programs.checks import (
    cohort_names,
    cohort_shares,
    distinct,
    known_label,
    several_steps,
)
from ldpstats.programs.probabilities import spelled
from ldpstats.programs.steps.base import Step, check_step, typed, union
from ldpstats.programs.steps.values import Say

__all__ = ["Cohorts", "Parts", "Then", "When", "check_branches"]


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
