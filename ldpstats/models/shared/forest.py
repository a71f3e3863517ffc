"""Plots of estimates with their intervals, one line a category (forest plots).

Matplotlib is imported when one is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers, positive_integer
from ldpstats.arguments.intervals import midpoints
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument
from ldpstats.models.shared.axes import (
    axes_of,
    axis_labels,
    figure_of,
    font_scale,
    keep_in_cell,
    lacks_layout,
    legend_below,
    percent_axis,
    set_title,
    shrink_labels,
    title_text,
)
from ldpstats.models.shared.fit import Fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "LONGEST_LABEL",
    "draw_estimates",
    "finish_rows",
    "interval_name",
    "name_rows",
    "plot_frequencies",
    "rows_height",
    "shown_rows",
    "sorts",
]

Array = npt.NDArray[Any]

LONGEST_LABEL = 30
_WIDTH = 7.0  # inches
_ROOM = 5.2  # inches beside the labels
_SHORT = 0.004  # of the range of all that is drawn: intervals that a line does not show


def plot_frequencies(
    fit: Fit,
    frame: pd.DataFrame,
    ax: Axes | None,
    alpha: float,
    truth: Any = None,
    sort: Any = None,
    most: int = 25,
    title: str | None = None,
) -> Axes:
    """Draw estimates with intervals, one line a category; the largest where there are many."""
    true, most = _truth(truth, frame.index), positive_integer("most", most)
    source = fit.sources[0] if len(fit.sources) == 1 else f"{len(fit.sources)} mechanisms"
    words = title_text(title, "\n".join([*filter(None, [fit.name]), f"{source}, n = {fit.nobs:,}"]))
    shown = shown_rows(frame["params"], frame["linear"], sorts(sort, frame.index), most)
    own = ax is None
    ax = axes_of(ax, _WIDTH, rows_height(len(shown) + (len(shown) < len(frame))))
    at = np.arange(len(shown))[::-1]
    draw_estimates(ax, frame.iloc[shown], at, interval_name(alpha))
    if true is not None:
        ax.plot(true[shown], at, "d", color="C3", mfc="none", label="truth")
    name_rows(ax, axis_labels(frame.index[shown], LONGEST_LABEL), len(frame) - len(shown))
    ax.set_xlabel("frequency")
    finish_rows(ax, words, own)
    return ax


def sorts(sort: Any, labels: pd.Index[Any] | None = None) -> bool:
    """Whether rows are sorted by their estimates; None keeps bins of numbers in their order."""
    if sort is None and labels is not None:
        return midpoints(labels) is None
    if isinstance(sort, bool | np.bool_):
        return bool(sort)
    if isinstance(sort, str) and sort == "none":
        return False
    raise InvalidArgument(
        "sort", sort, "must be True, the largest estimate first, or False, the order of categories"
    )


def shown_rows(params: Any, ties: Any, sort: bool, most: int) -> npt.NDArray[np.int64]:
    """Positions of the largest estimates, at most so many: sorted, or in order of category."""
    largest = np.lexsort((-np.asarray(ties), -np.asarray(params)))[:most]
    return largest if sort else np.sort(largest)


def rows_height(rows: int) -> float:
    """Height in inches of a figure with so many rows."""
    return 1.8 + 0.26 * max(rows, 1)


def interval_name(alpha: float) -> str:
    """An interval in words."""
    return f"{100 * (1 - alpha):g}% interval"


def _truth(truth: Any, index: pd.Index[Any]) -> npt.NDArray[np.float64] | None:
    if truth is None:
        return None
    given = align("truth", truth, index)
    values = numbers("truth", given, f"must be {len(index)} numbers", (len(index),))
    if not np.isfinite(values).all():
        raise InvalidArgument("truth", truth, "must be finite numbers, one for each category")
    return values


# -- rows ----------------------------------------------------------------------------------


def draw_estimates(ax: Axes, frame: pd.DataFrame, at: Array, interval: str) -> None:
    """Draw `params` with `lower` and `upper` at heights; intervals too short to see are bars."""
    if not len(frame):
        return
    p, low, high = (frame[name].to_numpy() for name in ("params", "lower", "upper"))
    ax.axvline(0.0, color="0.8", lw=0.8, zorder=0)
    if np.isfinite(low).any():
        ax.hlines(at, low, high, color="C0", lw=2, alpha=0.6, label=interval)
    drawn = np.concatenate([p, low, high, [0.0]])
    span = np.ptp(drawn[np.isfinite(drawn)])
    # elsewhere the estimate lies on a short interval, and shows where it is
    hidden = (high - low <= _SHORT * span) & ((low <= 0.0) | (high >= 1.0) | (p < low) | (p > high))
    if hidden.any():
        how: dict[str, Any] = {"color": "C0", "ms": 13, "mew": 2, "alpha": 0.6}
        ax.plot(low[hidden], at[hidden], "|", label=f"{interval} too short to see", **how)
    ax.plot(frame["params"], at, "o", ms=5, color="C0", label="estimate")
    ax.margins(x=0.03)  # everything is within the limits, a marker at an end is not cut


def name_rows(ax: Axes, labels: Sequence[str], n_more: int = 0) -> None:
    """Name rows from the top down, with a line about those that are not drawn."""
    at = np.arange(len(labels))[::-1]
    names = list(labels)
    if n_more:
        at, names = np.append(at, -1), [*names, f"and {n_more:,} more"]
    ax.set_yticks(at, names)
    ax.set_ylim(min(at, default=0) - 0.6, max(len(labels), 1) - 0.4)
    if n_more:
        more = ax.get_yticklabels()[-1]
        more.set_color("0.4")
        more.set_fontstyle("italic")


def finish_rows(ax: Axes, title: str, own: bool, sign: str = "%") -> None:
    """Percentages, title and legend; labels have the room that they need.

    `sign` stands behind the percentages: none behind percentage points.
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    for _ in range(1 if own else 2):  # labels may leave less room than axes have had
        set_title(ax, title)
        legend_below(ax)
        if own:
            _widen(ax)
        elif lacks_layout(ax):
            keep_in_cell(ax)
        else:
            figure_of(ax).draw_without_rendering()
        shrink_labels(ax)
    percent_axis(ax, sign=sign)


def _widen(ax: Axes) -> None:
    """Widen the figure by labels that would take the room of the estimates and the title."""
    labels = ax.get_yticklabels()
    widest = max((label.get_window_extent().width for label in labels), default=0.0)
    figure = figure_of(ax)
    room = font_scale() * _ROOM
    figure.set_figwidth(max(figure.get_figwidth(), widest / figure.dpi + room))
