"""Labels of several answers or reports, joined to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ldpstats.arguments.labels import as_labels
from ldpstats.errors import InvalidArgument

__all__ = ["SEPARATOR", "joined_labels"]

SEPARATOR = ", "


def joined_labels(name: str, several: Sequence[tuple[Any, ...]]) -> pd.Index[Any]:
    """Each of several tuples of labels as one label, such as "nurse, yes"."""
    if several and len(several[0]) == 1:
        return as_labels(name, [label for (label,) in several], least=1)
    found: dict[str, tuple[Any, ...]] = {}
    for labels in several:
        text = SEPARATOR.join(map(str, labels))
        if text in found:
            remedy = f"stands for {found[text]} and for {labels}: use labels without a comma"
            raise InvalidArgument(name, text, remedy)
        found[text] = labels
    return as_labels(name, list(found), least=1)
