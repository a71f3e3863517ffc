"""Words: arguments that other packages call by another name, and numbers of things."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

from ldpstats.errors import InvalidArgument

__all__ = ["count_of", "in_turn", "names_alpha"]

P = ParamSpec("P")
T = TypeVar("T")


def names_alpha(method: Callable[P, T]) -> Callable[P, T]:
    """A method that answers ``level=.95`` with the spelling that it has here: ``alpha=0.05``."""

    @wraps(method)
    def spelled(*args: P.args, **kwargs: P.kwargs) -> T:
        for name in ("level", "conf_level", "confidence", "confidence_level"):
            if name in kwargs:
                level, alpha = kwargs[name], 0.05
                if isinstance(level, int | float) and 0.0 < level < 1.0:
                    alpha = round(1.0 - float(level), 12)
                remedy = f"is called alpha, one minus the level: pass alpha={alpha:g}"
                raise InvalidArgument(name, level, remedy)
        return method(*args, **kwargs)

    return spelled


def count_of(n: int, noun: str) -> str:
    """A number of things in words: "1 test", "3 tests"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def in_turn(words: Sequence[str], most: int = 6) -> str:
    """Some words in a row: "a, b and c"; beyond `most` the number of the others."""
    shown = list(words)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
