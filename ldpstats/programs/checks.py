"""Checks of what the steps of a device are made of."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import listed
from ldpstats.arguments.labels import as_labels
from ldpstats.errors import InvalidArgument
from ldpstats.programs.polynomials import Chance
from ldpstats.programs.probabilities import chance

__all__ = [
    "Proportions",
    "cohort_names",
    "cohort_shares",
    "distinct",
    "known_label",
    "listed_labels",
    "proportions",
    "several_steps",
    "two_labels",
]

Proportions = tuple[tuple[Any, Chance], ...]

_NEW = object()
_MOST_LABELS = 1 << 20
_LABEL = "must be a label: text, a whole number, a finite float, True or False"
_LAW = (
    "must be a dict of labels with their probabilities, for example {'red': '1/3', 'blue': '2/3'}"
)
_DECK = "must be a dict of labels with numbers of cards, for example {'red': 3, 'blue': 7}"


def known_label(name: str, value: object) -> Any:
    """Return a label in Python's own type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float) and isfinite(value):
        return float(value) + 0.0
    remedy = _LABEL
    if isinstance(value, tuple):
        remedy = f"{_LABEL}; not a tuple: join its parts, as in 'red, black'"
    raise InvalidArgument(name, value, remedy)


def listed_labels(name: str, value: object, least: int = 2) -> pd.Index[Any]:
    """Return distinct labels that are few enough to be listed."""
    labels = as_labels(name, value, least)
    if len(labels) > _MOST_LABELS:
        remedy = f"must be at most {_MOST_LABELS} labels, which a device lists one by one"
        raise InvalidArgument(f"len({name})", len(labels), remedy)
    return labels


def two_labels(name: str, value: object) -> tuple[Any, Any]:
    """Return two different labels."""
    remedy = "must be two different labels, that of a yes second, for example ('no', 'yes')"
    labels = [known_label(name, label) for label in listed(name, value, remedy)]
    if len(labels) != 2 or str(labels[0]) == str(labels[1]) or labels[0] == labels[1]:
        raise InvalidArgument(name, value, remedy)
    return labels[0], labels[1]


def several_steps(name: str, value: object, least: int) -> tuple[Any, ...]:
    """Return some steps as a tuple."""
    remedy = f"must be {'two steps or more' if least == 2 else 'a list of steps'}"
    steps = tuple(listed(name, value, remedy))
    if len(steps) < least:
        raise InvalidArgument(name, value, remedy)
    return steps


def cohort_names(value: object, n: int) -> tuple[str, ...]:
    """Return the names of n cohorts, which reports begin with."""
    remedy = "must be text without a colon, blanks around it or control characters: reports are "
    remedy += "the name of the cohort, a colon and the answer"
    names = tuple(known_label("cohorts", name) for name in listed("cohorts", value, remedy))
    for name in names:
        plain = isinstance(name, str) and name.isprintable() and name.strip() == name
        if not plain or not name or ":" in name:
            raise InvalidArgument("cohorts", name, f"the name of a cohort {remedy}")
    distinct("cohorts", list(names))
    if len(names) != n:
        raise InvalidArgument("cohorts", names, f"must be {n} names, one for each cohort")
    return names


def cohort_shares(value: object, n: int) -> tuple[Fraction, ...]:
    """Return the exact probabilities of n cohorts, positive and of sum one."""
    remedy = f"must be {n} probabilities above 0 that sum to one, one for each cohort"
    given = listed("shares", value, remedy)
    found = tuple(chance("shares", p) for p in given)
    if len(found) != n or not all(isinstance(p, Fraction) and p > 0 for p in found):
        raise InvalidArgument("shares", value, remedy)
    total = sum(found, Fraction(0))
    if total != 1:
        understood = ", ".join(map(str, found[:6]))
        said = f"{remedy}: they sum to {total} (understood as {understood}); write thirds as '1/3'"
        raise InvalidArgument("shares", value, said)
    return tuple(Fraction(p) for p in found)  # type: ignore[arg-type]


def proportions(
    name: str, value: object, counts: bool = False
) -> tuple[Proportions, tuple[int, ...] | None]:
    """Return labels with exact probabilities that sum to one, and numbers of cards if given."""
    remedy = _DECK if counts else _LAW
    pairs = _pairs(name, value, remedy)
    labels = [known_label(name, label) for label, _ in pairs]
    distinct(name, labels)
    if not pairs:
        raise InvalidArgument(name, value, remedy)
    numbers = [number for _, number in pairs]
    if counts and all(_is_count(number) for number in numbers):
        return _deck(name, labels, [int(number) for number in numbers])
    law = tuple(
        (label, chance(f"{name}[{label!r}]", number))
        for label, number in zip(labels, numbers, strict=True)
    )
    total = sum((p for _, p in law), Fraction(0))
    if total != 1:
        understood = ", ".join(f"{label!r}: {p}" for label, p in law[:6])
        hint = "write thirds as '1/3' or Fraction(1, 3): a float is its shortest decimal"
        said = f"sum to {total}, not to one (understood as {understood}); {hint}"
        raise InvalidArgument(name, value, f"the probabilities {said}")
    return law, None


def _pairs(name: str, value: object, remedy: str) -> list[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if not isinstance(value, tuple | list):
        raise InvalidArgument(name, value, remedy)
    for pair in value:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidArgument(name, value, remedy)
    return [(label, number) for label, number in value]


def _is_count(number: object) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool | np.timedelta64)


def _deck(
    name: str, labels: list[Any], numbers: list[int]
) -> tuple[Proportions, tuple[int, ...] | None]:
    total = sum(numbers)
    if min(numbers) < 0 or total < 1 or total >= 1 << 53:
        raise InvalidArgument(name, dict(zip(labels, numbers, strict=True)), _DECK)
    law = tuple((label, Fraction(n, total)) for label, n in zip(labels, numbers, strict=True))
    return law, tuple(numbers)


def distinct(name: str, labels: list[Any]) -> None:
    """Refuse labels that occur twice, or look the same in print (1 and "1")."""
    by_text: dict[str, Any] = {}
    by_value: dict[Any, Any] = {}
    for label in labels:
        known = by_text.get(str(label), by_value.get(label, _NEW))
        if known is not _NEW:
            again = "occurs twice" if type(known) is type(label) else f"looks the same as {known!r}"
            raise InvalidArgument(name, label, f"the label {again}: labels must be distinct")
        by_text[str(label)] = by_value[label] = label
