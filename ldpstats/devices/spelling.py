"""Devices as the constructors spell them: a representation that evaluates to the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ldpstats.programs import steps
from ldpstats.programs.checks import Proportions
from ldpstats.programs.probabilities import spelled

__all__ = ["spelled_step"]


def spelled_step(step: steps.Step) -> str:
    """A step as Python that makes its device."""
    if isinstance(step, steps.When):
        return _when(step)
    if isinstance(step, steps.Then):
        return _then(step)
    return _SPELLED[type(step)](step)


def _when(step: steps.When) -> str:
    source = spelled_step(step.source)
    if isinstance(step.source, steps.Then):
        source = f"({source})"
    pairs = ", ".join(f"{_key(keys)}: {_branch(branch)}" for keys, branch in step.branches)
    rest = "" if step.otherwise is None else f", otherwise={_branch(step.otherwise)}"
    return f"{source}.when({{{pairs}}}{rest})"


def _then(step: steps.Then) -> str:
    second = spelled_step(step.second)
    if isinstance(step.second, steps.Then):
        second = f"({second})"
    return f"{spelled_step(step.first)} >> {second}"


def _key(keys: tuple[Any, ...]) -> str:
    if len(keys) == 1:
        return repr(keys[0])
    numbers = all(type(key) is int for key in keys)
    if numbers and keys == tuple(range(keys[0], keys[0] + len(keys))):
        return f"range({keys[0]}, {keys[-1] + 1})"
    return repr(keys)


def _branch(step: steps.Step) -> str:
    return repr(step.label) if isinstance(step, steps.Say) else spelled_step(step)


def _law(law: Proportions) -> str:
    return "{" + ", ".join(f"{label!r}: {spelled(p)}" for label, p in law) + "}"


def _flip(step: steps.Flip) -> str:
    return "flip()" if step.p * 2 == 1 else f"flip({spelled(step.p)})"


def _cards(step: steps.Cards) -> str:
    if step.numbers is None:
        return f"cards({_law(step.law)})"
    pairs = zip(step.law, step.numbers, strict=True)
    return "cards({" + ", ".join(f"{label!r}: {n}" for (label, _), n in pairs) + "})"


def _question(step: steps.Question) -> str:
    text = "" if step.text is None else f", {step.text!r}"
    answers = "" if step.answers == ("no", "yes") else f", answers={step.answers!r}"
    return f"question({spelled(step.prevalence)}{text}{answers})"


def _hashed(step: steps.Hashed) -> str:
    return f"hashed({step.n_outputs}{f', {step.cohort}' if step.cohort else ''})"


def _cohorts(step: steps.Cohorts) -> str:
    return f"cohorts([{', '.join(map(_branch, step.steps))}])"


_SPELLED: dict[type[steps.Step], Callable[[Any], str]] = {
    steps.Truth: lambda _: "truth",
    steps.Opposite: lambda _: "opposite",
    steps.Another: lambda _: "another",
    steps.Say: lambda step: f"say({step.label!r})",
    steps.Flip: _flip,
    steps.Roll: lambda step: f"roll({step.sides})",
    steps.Spin: lambda step: f"spin({_law(step.law)})",
    steps.Cards: _cards,
    steps.Question: _question,
    steps.Parts: lambda step: f"parts({', '.join(map(_branch, step.steps))})",
    steps.Hashed: _hashed,
    steps.Cohorts: _cohorts,
}
