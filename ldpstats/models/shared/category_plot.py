"""Frequencies in several groups: panels, or one category with a line for each group.

Matplotlib is imported when one is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import positive_integer
from ldpstats.arguments.labels import preview
from ldpstats.errors import InvalidArgument
from ldpstats.models.shared.axes import axes_of, axis_labels, title_text
from ldpstats.models.shared.forest import (
    LONGEST_LABEL,
    draw_estimates,
    finish_rows,
    interval_name,
    name_rows,
    rows_height,
    shown_rows,
    sorts,
)
from ldpstats.models.shared.panels import plot_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_by_group"]

_WIDTH = 7.0  # inches


def plot_by_group(
    frames: Mapping[Any, pd.DataFrame],
    alpha: float,
    name: str,
    by: Sequence[str],
    sizes: Sequence[int],
    *,
    category: Any,
    ax: Axes | None,
    figure: Any,
    title: str | None,
    **how: Any,
) -> Any:
    """Draw all categories in a panel for each group, or one category with a line for each.

    `frames` holds, by group, a frame with `params`, `lower` and `upper` by category; `sizes` are
    numbers of reports. Returns the Axes of the panels, shape (groups,), or the one Axes.
    """
    groups = f"by {', '.join(by)}"
    if category is None:
        if ax is not None:
            raise InvalidArgument("ax", ax, "goes with category=: pass figure= for all categories")
        default = f"{name} {groups}" if name else groups
        return plot_groups(frames, alpha, title, default, sizes=sizes, figure=figure, **how)
    if figure is not None:
        raise InvalidArgument("figure", figure, "is for all categories: pass ax= for one")
    words = title_text(title, f"{name}: {category}, {groups}" if name else f"{category}, {groups}")
    return _plot_category(frames, category, ax, alpha, words, sizes=sizes, **how)


def _plot_category(
    frames: Mapping[Any, pd.DataFrame],
    category: Any,
    ax: Axes | None,
    alpha: float,
    title: str,
    *,
    sort: Any,
    most: int,
    sizes: Sequence[int],
) -> Axes:
    """Groups are sorted by their estimates, or stay in order; `most` of them, the largest."""
    most = positive_integer("most", most)
    rows = pd.DataFrame([_row(frame, category) for frame in frames.values()]).reset_index(drop=True)
    groups = pd.Index(_named(list(frames)))
    shown = shown_rows(rows["params"], rows["params"], sorts(sort, groups), most)
    own, n_more = ax is None, len(rows) - len(shown)
    ax = axes_of(ax, _WIDTH, rows_height(len(shown) + (n_more > 0)))
    draw_estimates(ax, rows.iloc[shown], np.arange(len(shown))[::-1], interval_name(alpha))
    names = axis_labels(groups[shown], LONGEST_LABEL)
    name_rows(
        ax, [f"{name}, n = {sizes[i]:,}" for name, i in zip(names, shown, strict=True)], n_more
    )
    ax.set_xlabel(f"frequency of {axis_labels([category], LONGEST_LABEL)[0]}")
    finish_rows(ax, title, own)
    return ax


def _row(frame: pd.DataFrame, category: Any) -> pd.Series[float]:
    """The row of a category; labels of another type, as 1 for True, are others."""
    category = category.item() if isinstance(category, np.generic) else category
    for place, label in enumerate(frame.index.tolist()):
        if type(label) is type(category) and label == category:
            return frame[["params", "lower", "upper"]].iloc[place]
    raise InvalidArgument("category", category, f"must be one of {preview(frame.index)}")


def _named(groups: Sequence[Any]) -> list[str]:
    """Names of groups; of several columns side by side."""
    return [", ".join(map(str, g)) if isinstance(g, tuple) else str(g) for g in groups]
