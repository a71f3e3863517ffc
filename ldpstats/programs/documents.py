"""Steps as JSON documents."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ldpstats.errors import InvalidArgument
from ldpstats.programs import steps
from ldpstats.programs.polynomials import Chance, Polynomial, Proportions, chance, unknown

__all__ = ["step_from_dict", "step_to_dict"]


def step_to_dict(step: steps.Step) -> dict[str, Any]:
    """A step as plain JSON types: probabilities as text such as "1/6".

    Examples
    --------
    >>> step_to_dict(steps.Roll(6))
    {'step': 'roll', 'sides': 6}
    """
    write = _WRITE.get(type(step))
    head = {"step": type(step).__name__.lower()}
    return head if write is None else head | write(step)


def step_from_dict(document: object, depth: int = 0) -> steps.Step:
    """Read a step, as `step_to_dict` wrote it.

    Raises
    ------
    InvalidArgument
        If the document does not describe a step, or steps are nested too deep.

    Examples
    --------
    >>> step_from_dict({"step": "roll", "sides": 6})
    roll(6)
    """
    if depth > steps.MOST_DEEP:
        remedy = f"is nested more than {steps.MOST_DEEP} deep: a device cannot call itself"
        raise InvalidArgument("device", "a document", remedy)
    if not isinstance(document, dict) or not isinstance(document.get("step"), str):
        raise InvalidArgument("device", document, 'must be an object with "step": its name')
    name = document["step"]
    if name not in _FIELDS:
        raise InvalidArgument("step", name, f"must be one of {', '.join(_FIELDS)}")
    kind, fields = _FIELDS[name]
    given = {key: value for key, value in document.items() if key != "step"}
    if not set(fields) - set(_OPTIONAL) <= set(given) <= set(fields):
        remedy = f"a {name} has the fields {', '.join(fields) or '(none)'}"
        raise InvalidArgument("device", sorted(map(str, given)), remedy)
    made: steps.Step = kind(**{key: _READ[key](value, depth + 1) for key, value in given.items()})
    return made


def chance_to_json(value: Chance) -> Any:
    """A probability as text; one with unknown parameters as the list of its terms."""
    if isinstance(value, Polynomial):
        return [[str(factor), dict(monomial)] for monomial, factor in value.terms]
    return str(value)


def chance_from_json(value: Any) -> Chance:
    """Inverse of `chance_to_json`."""
    remedy = 'must be text such as "1/6", or the terms of a polynomial such as [["1", {"c": 1}]]'
    if isinstance(value, str):
        return chance("probability", value)
    if not isinstance(value, list):
        raise InvalidArgument("probability", value, remedy)
    total: Chance = Fraction(0)
    for term in value:
        if not (isinstance(term, list) and len(term) == 2 and isinstance(term[1], dict)):
            raise InvalidArgument("probability", value, remedy)
        total = total + _term(term[0], term[1], remedy)
    return chance("probability", total)


def _term(factor: Any, powers: dict[Any, Any], remedy: str) -> Chance:
    text = factor.removeprefix("-") if isinstance(factor, str) else ""
    head, _, tail = text.partition("/")
    digits = all(
        part.isascii() and part.isdigit() and len(part) < 1300 for part in (head, tail or "1")
    )
    if not digits or not int(tail or 1):
        raise InvalidArgument("probability", factor, remedy)
    term: Chance = Fraction(factor)
    for name, power in powers.items():
        if type(power) is not int or not 1 <= power <= 100:
            raise InvalidArgument("probability", powers, remedy)
        term = term * unknown(name) ** power
    return term


def _plain(value: Any, depth: int) -> Any:
    return value


def _law(value: Any, depth: int) -> Any:
    if not isinstance(value, list) or not all(isinstance(v, list) and len(v) == 2 for v in value):
        raise InvalidArgument("law", value, "must be a list of labels with their probabilities")
    return tuple((label, chance_from_json(p)) for label, p in value)


def _branches(value: Any, depth: int) -> Any:
    if not isinstance(value, list) or not all(
        isinstance(v, list) and len(v) == 2 and isinstance(v[0], list) for v in value
    ):
        raise InvalidArgument("branches", value, "must be a list of outcomes with their steps")
    return tuple((tuple(keys), step_from_dict(step, depth)) for keys, step in value)


def _optional(value: Any, depth: int) -> Any:
    return None if value is None else step_from_dict(value, depth)


def _several(value: Any, depth: int) -> Any:
    if not isinstance(value, list):
        raise InvalidArgument("steps", value, "must be a list of steps")
    return tuple(step_from_dict(step, depth) for step in value)


def _tuple(value: Any, depth: int) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _write_law(law: Proportions) -> list[Any]:
    return [[label, chance_to_json(p)] for label, p in law]


def _write_several(step: steps.Parts | steps.Cohorts) -> dict[str, Any]:
    return {"steps": [step_to_dict(child) for child in step.steps]}


def _write_cohorts(step: steps.Cohorts) -> dict[str, Any]:
    found = _write_several(step)
    if step.names is not None:
        found["names"] = list(step.names)
    if step.shares is not None:
        found["shares"] = [chance_to_json(p) for p in step.shares]
    return found


def _shares(value: Any, depth: int) -> Any:
    if not isinstance(value, list):
        raise InvalidArgument("shares", value, "must be a list of probabilities")
    return tuple(chance_from_json(p) for p in value)


_READ: dict[str, Callable[[Any, int], Any]] = {
    "p": lambda value, _: chance_from_json(value),
    "prevalence": lambda value, _: chance_from_json(value),
    "law": _law,
    "numbers": _tuple,
    "answers": _tuple,
    "names": _tuple,
    "shares": _shares,
    "text": _plain,
    "label": _plain,
    "sides": _plain,
    "n_outputs": _plain,
    "cohort": _plain,
    "branches": _branches,
    "source": step_from_dict,
    "first": step_from_dict,
    "second": step_from_dict,
    "otherwise": _optional,
    "steps": _several,
}
_FIELDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "truth": (steps.Truth, ()),
    "opposite": (steps.Opposite, ()),
    "another": (steps.Another, ()),
    "say": (steps.Say, ("label",)),
    "flip": (steps.Flip, ("p",)),
    "roll": (steps.Roll, ("sides",)),
    "spin": (steps.Spin, ("law",)),
    "cards": (steps.Cards, ("law", "numbers")),
    "question": (steps.Question, ("prevalence", "text", "answers")),
    "when": (steps.When, ("source", "branches", "otherwise")),
    "then": (steps.Then, ("first", "second")),
    "parts": (steps.Parts, ("steps",)),
    "hashed": (steps.Hashed, ("n_outputs", "cohort")),
    "cohorts": (steps.Cohorts, ("steps", "names", "shares")),
}
_OPTIONAL = ("names", "shares")  # written only where they are not the default
_WRITE: dict[type[steps.Step], Callable[[Any], dict[str, Any]]] = {
    steps.Say: lambda step: {"label": step.label},
    steps.Flip: lambda step: {"p": chance_to_json(step.p)},
    steps.Roll: lambda step: {"sides": step.sides},
    steps.Spin: lambda step: {"law": _write_law(step.law)},
    steps.Cards: lambda step: {
        "law": _write_law(step.law),
        "numbers": None if step.numbers is None else list(step.numbers),
    },
    steps.Question: lambda step: {
        "prevalence": chance_to_json(step.prevalence),
        "text": step.text,
        "answers": list(step.answers),
    },
    steps.When: lambda step: {
        "source": step_to_dict(step.source),
        "branches": [[list(keys), step_to_dict(branch)] for keys, branch in step.branches],
        "otherwise": None if step.otherwise is None else step_to_dict(step.otherwise),
    },
    steps.Then: lambda step: {
        "first": step_to_dict(step.first),
        "second": step_to_dict(step.second),
    },
    steps.Parts: _write_several,
    steps.Hashed: lambda step: {"n_outputs": step.n_outputs, "cohort": step.cohort},
    steps.Cohorts: _write_cohorts,
}
