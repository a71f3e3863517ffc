"""The plot of a matrix of associations. Matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ldpstats.models.shared.axes import axes_of, axis_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_matrix"]

_LONGEST_LABEL = 24
_DARK = 0.55  # association above which text is white
_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_MOST_TEXT = 8  # variables up to which intervals are written


def plot_matrix(
    v: pd.DataFrame,
    lower: pd.DataFrame,
    upper: pd.DataFrame,
    pvalues: pd.DataFrame,
    alpha: float,
    ax: Axes | None,
) -> Axes:
    """Draw the lower triangle: Cramer's V of each pair, its interval, and stars."""
    d = len(v)
    ax = axes_of(ax, 2.4 + 0.95 * d, 1.8 + 0.75 * d)
    below = np.tril(np.ones((d, d), dtype=bool), -1)[1:, :-1]
    values = v.to_numpy()[1:, :-1]
    shown = np.ma.masked_where(~below | np.isnan(values), values)
    mesh = ax.pcolormesh(shown, cmap="Blues", vmin=0.0, vmax=1.0, edgecolor="white", lw=1.0)
    for i, j in np.argwhere(below):
        ends = lower.iloc[i + 1, j], upper.iloc[i + 1, j]
        text = _text(values[i, j], ends, pvalues.iloc[i + 1, j], d <= _MOST_TEXT)
        colour = "white" if values[i, j] > _DARK else "black"
        ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=8, color=colour)
    ax.invert_yaxis()
    labels = axis_labels(v.index, _LONGEST_LABEL)
    ax.set_xticks(np.arange(d - 1) + 0.5, labels[:-1], rotation=30, ha="right")
    ax.set_yticks(np.arange(d - 1) + 0.5, labels[1:])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.figure.colorbar(mesh, ax=ax, label="Cramer's V", fraction=0.05)
    words = f"with {100 * (1 - alpha):g}% intervals; " if d <= _MOST_TEXT else ""
    stars = ", ".join(f"{mark} p < {bound:g}" for bound, mark in _STARS[::-1])
    ax.set_title(f"Cramer's V {words}{stars} (Holm)", fontsize="small")
    return ax


def _text(v: float, ends: tuple[float, float], pvalue: float, long: bool) -> str:
    """What is written into a cell."""
    if np.isnan(ends[1]):
        return "not fitted"
    stars = next((mark for bound, mark in _STARS if pvalue < bound), "")
    value = f"{'-' if np.isnan(v) else f'{v:.2f}'}{stars}"
    return f"{value}\n[{ends[0]:.2f}, {ends[1]:.2f}]" if long else value
