"""Labels of groups: a value, or a tuple of them where several columns make the groups."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import listed
from ldpstats.errors import InvalidArgument

__all__ = ["Label", "group_columns", "group_label", "labelled", "stacked_index", "told", "worded"]

Label = tuple[Any, ...]


def group_columns(by: object) -> tuple[str, ...]:
    """Names of the columns that make the groups."""
    remedy = 'must be the names of the columns that make the groups, for example ("region",)'
    names = [by] if isinstance(by, str) else listed("by", by, remedy)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidArgument("by", by, remedy)
    if len(set(names)) < len(names):
        raise InvalidArgument("by", by, "names a column twice")
    return tuple(str(name) for name in names)


def group_label(label: object, by: tuple[str, ...]) -> Label:
    """The label of a group as a tuple with a value for each column."""
    values = label if isinstance(label, tuple) else (label,)
    if len(values) != len(by):
        one = "one value" if len(by) == 1 else f"a tuple of {len(by)} values"
        raise InvalidArgument("groups", label, f"must be labelled by {one}: {', '.join(by)}")
    return tuple(_plain(value, label) for value in values)


def _plain(value: Any, label: object) -> Any:
    """Text, a number or a truth value, as JSON has them."""
    plain = value.item() if isinstance(value, np.generic) else value
    number = isinstance(plain, int) or (isinstance(plain, float) and math.isfinite(plain))
    if not (number or isinstance(plain, str)):
        raise InvalidArgument(
            "groups", label, "must be labelled by text, finite numbers, True or False: convert it"
        )
    return str(plain) if isinstance(plain, str) else plain


def labelled(groups: object, by: tuple[str, ...]) -> dict[Label, Any]:
    """The data of each group by its label."""
    remedy = "must be a mapping of labels to reports, for example {'north': a, 'south': b}"
    if not isinstance(groups, Mapping) or not groups:
        raise InvalidArgument("groups", groups, remedy)
    found: dict[Label, Any] = {}
    for label, data in groups.items():
        key = group_label(label, by)
        if key in found:
            raise InvalidArgument("groups", label, "labels two groups")
        found[key] = data
    return found


def told(label: Label) -> Hashable:
    """The label as users write it: a value, or a tuple of several."""
    return label[0] if len(label) == 1 else label


def worded(label: Label, by: tuple[str, ...]) -> str:
    """The label as messages have it: region='north', year=2024."""
    return ", ".join(f"{name}={value!r}" for name, value in zip(by, label, strict=True))


def stacked_index(
    labels: tuple[Label, ...], categories: pd.Index[Any], by: tuple[str, ...], name: str
) -> pd.MultiIndex:
    """Every category of every group."""
    g, k = len(labels), len(categories)
    columns: list[pd.Index[Any]] = [
        pd.Index(values).repeat(k) for values in zip(*labels, strict=True)
    ]
    rows = categories.take(np.tile(np.arange(k), g))  # which keep their type
    free = (one for one in (name, "category", "answer") if one and one not in by)
    level = next(free, f"answer by {', '.join(by)}")
    return pd.MultiIndex.from_arrays([*columns, rows], names=[*by, level])
