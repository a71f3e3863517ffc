"""The plot of a change. Matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import positive_integer
from ldpstats.models.shared.axes import axes_of, axis_labels, title_text
from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.forest import (
    LONGEST_LABEL,
    draw_estimates,
    finish_rows,
    interval_name,
    name_rows,
    rows_height,
    sorts,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_change"]

_WIDTH = 7.0  # inches


def plot_change(
    fit: Fit,
    waves: tuple[str, ...],
    frame: pd.DataFrame,
    ax: Axes | None,
    alpha: float,
    most: Any,
    title: str | None,
    sort: Any = False,
) -> Axes:
    """Draw the change of each category with its interval; the largest where there are many."""
    most = positive_integer("most", most)
    question = f"{fit.name}: " if fit.name else ""
    words = title_text(title, f"{question}from {waves[0]} to {waves[1]}, n = {fit.nobs:,}")
    order = np.argsort(-np.abs(frame["linear"].to_numpy()), kind="stable")
    shown = np.sort(order[:most])
    if sorts(sort):
        shown = shown[np.argsort(-frame["params"].to_numpy()[shown], kind="stable")]
    own = ax is None
    ax = axes_of(ax, _WIDTH, rows_height(len(shown) + (len(shown) < len(frame))))
    draw_estimates(ax, frame.iloc[shown], np.arange(len(shown))[::-1], interval_name(alpha))
    name_rows(ax, axis_labels(frame.index[shown], LONGEST_LABEL), len(frame) - len(shown))
    ax.set_xlabel("change of the frequency, in percentage points")
    finish_rows(ax, words, own, sign="")
    return ax
