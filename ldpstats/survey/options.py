"""Keywords that a survey hands on to a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from ldpstats.errors import InvalidArgument

__all__ = ["check_options"]


def check_options(how: Mapping[str, Any], fit: Callable[..., Any]) -> None:
    """Refuse keywords that a fit does not have."""
    known = [name for name in signature(fit).parameters if name != "self"]
    for name, value in how.items():
        if name not in known:
            remedy = f"is no option of the fit, which has {', '.join(known)}"
            if name == "alpha":
                remedy += "; pass alpha to summary() or conf_int()"
            raise InvalidArgument(name, value, remedy)
