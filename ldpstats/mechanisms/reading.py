"""Mechanisms by name: what reads a specification, of parts of others too."""

from __future__ import annotations

from typing import Any

from ldpstats.errors import InvalidArgument

__all__ = ["MECHANISMS", "read_mechanism"]

MECHANISMS: dict[str, Any] = {}
"""The package's kinds of mechanisms by name; `ldpstats.mechanisms` lists them."""


def read_mechanism(name: object, document: dict[str, Any]) -> Any:
    """Read the specification of a mechanism of this name."""
    if not isinstance(name, str) or name not in MECHANISMS:
        remedy = f"must be one of {', '.join(MECHANISMS)}; from_dict of its own class reads another"
        raise InvalidArgument("mechanism", name, remedy)
    return MECHANISMS[name].from_dict(document)
