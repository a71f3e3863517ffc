"""Tables of two or three variables: tests of independence, and effects."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

_HOMES = {  # modules of version 0.2.0: where their functions are now
    "conditionals": "effects",
    "cramer": "effects",
    "cross_moments": "independence",
    "fitted": "independence",
    "permutation_moments": "permutation",
    "spread": "permutation",
    "wald": "independence",
}


def __getattr__(name: str) -> ModuleType:
    if name in _HOMES:
        return import_module(f"{__name__}.{_HOMES[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
