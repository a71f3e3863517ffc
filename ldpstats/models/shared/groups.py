"""Labels of groups: a value, or a tuple of them where several columns make the groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import boolean, listed
from ldpstats.errors import InvalidArgument

__all__ = [
    "Label",
    "compared_index",
    "compared_pairs",
    "group_columns",
    "group_label",
    "group_place",
    "labelled",
    "several_worded",
    "stacked_index",
    "told",
    "worded",
]

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


def group_place(
    argument: str, label: object, labels: Sequence[Label], by: tuple[str, ...], what: str = "group"
) -> int:
    """The place of a label that an argument gives."""
    try:
        return labels.index(group_label(label, by))
    except ValueError:
        known = ", ".join(repr(told(one)) for one in labels[:5])
        more = ", ..." if len(labels) > 5 else ""
        raise InvalidArgument(argument, label, f"must be a {what}: {known}{more}") from None


def worded(label: Label, by: tuple[str, ...]) -> str:
    """The label as messages have it: region='north', year=2024."""
    return ", ".join(f"{name}={value!r}" for name, value in zip(by, label, strict=True))


def several_worded(labels: Sequence[Label], by: tuple[str, ...], most: int = 5) -> str:
    """The first of some labels as messages have them, and how many more there are."""
    more = f"; and {len(labels) - most} more" if len(labels) > most else ""
    return "; ".join(worded(label, by) for label in labels[:most]) + more


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


def compared_pairs(
    g: int, reference: Any, all_pairs: object, place: Callable[[Any], int]
) -> list[tuple[int, int]]:
    """The pairs of g groups that differences are of: all, or each other one with a reference.

    `place` finds the reference, which is the first by default.
    """
    if boolean("all_pairs", all_pairs):
        if reference is not None:
            remedy = "goes without all_pairs=True, which compares every pair"
            raise InvalidArgument("reference", reference, remedy)
        return [(i, j) for j in range(g) for i in range(j + 1, g)]
    at = 0 if reference is None else place(reference)
    return [(i, at) for i in range(g) if i != at]


def compared_index(
    labels: Sequence[Label],
    pairs: Sequence[tuple[int, int]],
    all_pairs: bool,
    categories: pd.Index[Any],
    by: tuple[str, ...],
    name: str,
) -> pd.MultiIndex:
    """Every category of every pair, the reference being named where there are several."""
    if not all_pairs:
        return stacked_index(tuple(labels[i] for i, _ in pairs), categories, by, name)
    both = tuple(labels[i] + labels[j] for i, j in pairs)
    return stacked_index(both, categories, (*by, *(f"{one} (reference)" for one in by)), name)
