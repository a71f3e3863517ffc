"""Steps as JSON documents: their fields by name, probabilities as text such as "1/6"."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ldpstats.arguments import listed
from ldpstats.errors import InvalidArgument
from ldpstats.programs import steps
from ldpstats.programs.polynomials import Chance, Polynomial, chance, unknown

_KINDS: dict[str, Any] = {
    kind.__name__.lower(): kind
    for kind in (
        *(steps.Truth, steps.Opposite, steps.Another, steps.Say, steps.Flip, steps.Roll),
        *(steps.Spin, steps.Cards, steps.Question, steps.When, steps.Then, steps.Parts),
        *(steps.Hashed, steps.Cohorts),
    )
}
_FIELDS = {kind: kind.__match_args__ for kind in _KINDS.values()}
_OPTIONAL = ("names", "shares")  # written only where they are not the default


def step_to_dict(step: steps.Step) -> dict[str, Any]:
    """A step as plain JSON types."""
    document: dict[str, Any] = {"step": type(step).__name__.lower()}
    for name in _FIELDS[type(step)]:
        value = getattr(step, name)
        if value is not None or name not in _OPTIONAL:
            document[name] = _plain(value)
    return document


def _plain(value: Any) -> Any:
    """A field of a step in JSON types; a polynomial as the list of its terms."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, steps.Step):
        return step_to_dict(value)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Polynomial):
        return [[str(factor), dict(monomial)] for monomial, factor in value.terms]
    return value


def step_from_dict(document: object, depth: int = 0) -> steps.Step:
    """Read a step, as `step_to_dict` wrote it."""
    if depth > steps.MOST_DEEP:
        remedy = f"is nested more than {steps.MOST_DEEP} deep: a device cannot call itself"
        raise InvalidArgument("device", "a document", remedy)
    if not isinstance(document, dict) or not isinstance(document.get("step"), str):
        raise InvalidArgument("device", document, 'must be an object with "step": its name')
    name = document["step"]
    if name not in _KINDS:
        raise InvalidArgument("step", name, f"must be one of {', '.join(_KINDS)}")
    known = _FIELDS[_KINDS[name]]
    given = {key: value for key, value in document.items() if key != "step"}
    if not set(known) - set(_OPTIONAL) <= set(given) <= set(known):
        remedy = f"a {name} has the fields {', '.join(known) or '(none)'}"
        raise InvalidArgument("device", sorted(map(str, given)), remedy)
    step: steps.Step = _KINDS[name](**{k: _read(k, v, depth + 1) for k, v in given.items()})
    return step


def _read(name: str, value: Any, depth: int) -> Any:
    """A field of a step from JSON types; what it may be is checked by the step itself."""
    match name:
        case "p" | "prevalence":
            return _chance(value)
        case "numbers" | "answers" | "names":
            return tuple(value) if isinstance(value, list) else value
        case "source" | "first" | "second":
            return step_from_dict(value, depth)
        case "otherwise":
            return None if value is None else step_from_dict(value, depth)
        case "law":
            return tuple((label, _chance(p)) for label, p in _pairs(name, value))
        case "branches":
            return tuple(
                (tuple(listed(name, keys, _PAIRS)), step_from_dict(step, depth))
                for keys, step in _pairs(name, value)
            )
        case "steps":
            steps_ = listed(name, value, "must be a list of steps")
            return tuple(step_from_dict(step, depth) for step in steps_)
        case "shares":
            return tuple(map(_chance, listed(name, value, "must be a list of probabilities")))
    return value


_PAIRS = "must be a list of pairs: of labels with their probabilities, of outcomes with their step"


def _pairs(name: str, value: Any, remedy: str = _PAIRS) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(v, list) and len(v) == 2 for v in value):
        raise InvalidArgument(name, value, remedy)
    return value


def _chance(value: Any) -> Chance:
    """A probability from text, or from the terms of a polynomial."""
    remedy = 'must be text such as "1/6", or the terms of a polynomial such as [["1", {"c": 1}]]'
    if isinstance(value, str):
        return chance("probability", value)
    total: Chance = Fraction(0)
    for factor, powers in _pairs("probability", value, remedy):
        if not isinstance(powers, dict):
            raise InvalidArgument("probability", value, remedy)
        head, _, tail = (factor if isinstance(factor, str) else "").removeprefix("-").partition("/")
        digits = all(v.isascii() and v.isdigit() and len(v) < 1300 for v in (head, tail or "1"))
        if not digits or not int(tail or 1):
            raise InvalidArgument("probability", factor, remedy)
        term: Chance = Fraction(factor)
        for name, power in powers.items():
            if type(power) is not int or not 1 <= power <= 100:
                raise InvalidArgument("probability", powers, remedy)
            term = term * unknown(name) ** power
        total = total + term
    return chance("probability", total)
