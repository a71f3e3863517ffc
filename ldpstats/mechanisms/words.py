"""A mechanism and its parameters in words, for summaries, messages and notebooks."""

from __future__ import annotations

from dataclasses import Field, fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.errors import shorten

__all__ = ["brief", "in_words", "made_of", "parameters"]

_NAMED = 3  # sensitive categories that are named one by one
_LONGEST = 20  # characters of a label
_LONGEST_STEPS = 72  # of a device, or of what a mechanism is made of
_UNNAMED = ("device", "description")  # which say themselves what they are
# lists, by their length; edges, by what is between them
_ALIASES = {"categories": "k", "alphabet": "k", "edges": "k", "outputs": "n_outputs"}


def in_words(mechanism: Any, with_epsilon: bool = True) -> str:
    """The mechanism as it might be called: its name, and its parameters in brackets."""
    pairs = parameters(mechanism)
    if not with_epsilon:
        pairs = [pair for pair in pairs if pair[0] != "epsilon"]
    head = "".join(f"{text}; " for name, text in pairs if name in _UNNAMED)
    shown = ", ".join(f"{name}={text}" for name, text in pairs if name not in _UNNAMED)
    return f"{type(mechanism).__name__}({head}{shown})"


def made_of(mechanism: Any) -> str:
    """A device by its steps, a combination by its parts, another mechanism as it is called."""
    steps = getattr(mechanism, "device", None) or getattr(mechanism, "description", None)
    return brief(steps or mechanism)


def brief(text: object) -> str:
    """What a mechanism is made of, on one line; the beginning, where it is long.

    Examples
    --------
    >>> brief("roll(6).when({1: 'yes', 6: 'no'}, otherwise=truth)")
    "roll(6).when({1: 'yes', 6: 'no'}, otherwise=truth)"
    >>> brief(f"truth.when({{'nurse': roll(6), 'cook': roll(8), 'driver': {'flip() >> ' * 9}}})")
    "truth.when({'nurse': roll(6), 'cook': roll(8), ..."
    """
    line = " ".join(str(text).split())
    if len(line) <= _LONGEST_STEPS:
        return line
    start = line[: _LONGEST_STEPS - 3]
    at = start.rfind(", ") + 2  # after a whole step, if there is one
    return f"{start[:at] if at > _LONGEST else start}..."


def parameters(mechanism: Any) -> list[tuple[str, str]]:
    """Names and values of the parameters, of lists their length; epsilon last where it follows.

    Parameters that are as they are by default are left out.
    """
    epsilon = ("epsilon", _number(mechanism.epsilon))
    if not is_dataclass(mechanism):
        return [("k", str(mechanism.k)), epsilon]
    pairs = []
    for item in fields(mechanism):
        value = getattr(mechanism, item.name)
        if not _is_default(item, value) and (text := _text(mechanism, item.name, value)):
            pairs.append((_ALIASES.get(item.name, item.name), text))
    if "epsilon" not in dict(pairs):
        pairs.append(epsilon)
    return pairs


def _is_default(item: Field[Any], value: Any) -> bool:
    if isinstance(value, pd.Index):
        return isinstance(item.default, tuple)  # two labels, whatever they are
    return value is None or (isinstance(value, str) and value == item.default)


def _text(mechanism: Any, name: str, value: Any) -> str:
    """A parameter in words; "" where another one says it."""
    if name == "sensitive":
        return _sensitive(mechanism)
    if name == "edges":
        return str(mechanism.k)
    if name in _UNNAMED:
        return brief(value)
    if name in ("levels", "permanent") or isinstance(value, np.ndarray):
        return ""  # told with epsilon, a fingerprint, and too many numbers
    if name == "epsilon":
        return _epsilon(mechanism)
    if isinstance(value, pd.Index):
        alike = name == "outputs" and value.equals(mechanism.categories)
        return "" if alike else str(len(value))
    return _number(value) if isinstance(value, int | float) else shorten(value, _LONGEST)


def _sensitive(mechanism: Any) -> str:
    """The sensitive categories where they are few, else their number."""
    labels = mechanism.sensitive.tolist()
    if len(labels) in (0, mechanism.k):
        return "all" if labels else "none"
    if len(labels) > _NAMED:
        return f"{len(labels)} of {mechanism.k}"
    return "{" + ", ".join(shorten(label, _LONGEST) for label in labels) + "}"


def _epsilon(mechanism: Any) -> str:
    """Epsilon; where each sensitive category has its own, each or their range."""
    levels = getattr(mechanism, "levels", None)
    if levels is None:
        return _number(mechanism.epsilon)
    if len(levels) > _NAMED:
        return f"{_number(min(levels))} to {_number(max(levels))}"
    return "(" + ", ".join(map(_number, levels)) + ")"


def _number(value: float) -> str:
    return f"{value:.6g}"
