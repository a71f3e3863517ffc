"""Reports and counts in a notebook: what they hold, none of them one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldpstats.arguments.markup import html_table

__all__ = ["held"]


def held(
    kind: str, mechanisms: Sequence[Any], nobs: int, missing: Sequence[int], names: Sequence[str]
) -> str:
    """A table of what is held of one variable or several, whose names may be empty."""
    shown = [name for name in names if name]
    rows = [("mechanism", str(mechanism)) for mechanism in mechanisms]
    if len(mechanisms) == len(shown) > 1:
        rows = [(name, text) for name, (_, text) in zip(names, rows, strict=True)]
    rows += [("n", str(nobs)), ("missing", ", ".join(map(str, missing)))]
    return html_table(f"{kind} of {' and '.join(shown)}" if shown else kind, rows)
