"""What of a device its respondents are told, and the objects that they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldpstats.errors import NotAvailable
from ldpstats.programs.polynomials import Polynomial
from ldpstats.programs.steps import (
    Cards,
    Flip,
    Parts,
    Roll,
    Say,
    Spin,
    Step,
    Then,
    Truth,
    When,
    typed,
)

__all__ = [
    "OBJECTS",
    "asks_the_truth",
    "counted_outcome",
    "objects_of",
    "says_itself",
    "told_step",
]

OBJECTS: dict[type[Step], str] = {Flip: "flip", Roll: "roll", Spin: "spin", Cards: "draw"}
"""What respondents hold, and what they do with it."""


def counted_outcome(step: Then) -> tuple[Step, int, Any] | None:
    """The object, the number of draws and the outcome that is counted; None if none is."""
    if not isinstance(step.first, Parts) or not isinstance(step.second, When):
        return None
    drawn, times = step.first.steps[0], len(step.first.steps)
    own = drawn.outcomes
    if type(drawn) not in OBJECTS or own is None or any(s != drawn for s in step.first.steps):
        return None
    said = {
        label: branch.label
        for labels, branch in step.second.branches
        for label in labels
        if isinstance(branch, Say)
    }
    if not isinstance(step.second.source, Truth) or len(said) != len(own) ** times:
        return None
    for outcome in own:
        if all(label.split(", ").count(str(outcome)) == n for label, n in said.items()):
            return drawn, times, outcome
    return None


def told_step(step: Step) -> Step:
    """The step that respondents are told: not what some do with an unknown probability."""
    while isinstance(step, When) and _is_behaviour(step.source):
        if step.otherwise is None:
            raise NotAvailable(
                f"instructions are not known where the probability is {_open(step.source)[0]}: "
                "pass the step that respondents are told as otherwise="
            )
        step = step.otherwise
    if _is_behaviour(step):
        raise NotAvailable(
            f"there are no instructions for an object whose probability is {_open(step)[0]}: "
            "give its value, as device.mechanism(categories).at(...) does, or use it in "
            "when(..., otherwise=)"
        )
    return step


def _is_behaviour(step: Step) -> bool:
    return type(step) in OBJECTS and bool(_open(step))


def _open(step: Any) -> list[Polynomial]:
    """The probabilities of an object that depend on unknown parameters."""
    chances = [step.p] if isinstance(step, Flip) else [p for _, p in getattr(step, "law", ())]
    return [p for p in chances if isinstance(p, Polynomial)]


def objects_of(step: Step) -> dict[type[Step], dict[Step, int]]:
    """The different coins, dice, spinners and decks, numbered in the order of their use."""
    kinds: tuple[type[Step], ...] = tuple(OBJECTS)
    found: dict[type[Step], dict[Step, int]] = {kind: {} for kind in kinds}
    waiting = [step]
    while waiting:
        first = told_step(waiting.pop())
        if type(first) in OBJECTS:
            numbers = found[type(first)]
            numbers.setdefault(first, len(numbers) + 1)
        waiting += reversed(first.children)
    return found


def asks_the_truth(step: Step) -> bool:
    """Whether a step begins with branches for the true answer."""
    asked = False
    while isinstance(step, When | Then):
        asked |= isinstance(step, When)
        if isinstance(step, When):
            step = step.source
        else:
            step = step.second if isinstance(step.first, Truth) else step.first
    return asked and isinstance(step, Truth)


def says_itself(step: Step, outcomes: Sequence[Any]) -> bool:
    """Whether a step says the outcome that leads to it."""
    return isinstance(step, Say) and [typed(outcome) for outcome in outcomes] == [typed(step.label)]
