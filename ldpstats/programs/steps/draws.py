"""Steps that draw an outcome, whatever the truth is: coins, dice, spinners, cards, questions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ldpstats.arguments.checks import positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.programs.checks import Proportions, proportions, two_labels
from ldpstats.programs.probabilities import chance, spelled
from ldpstats.programs.steps.base import Step, names_in

__all__ = ["Cards", "Flip", "Question", "Roll", "Spin"]

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
