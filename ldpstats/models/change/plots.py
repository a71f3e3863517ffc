"""The plot of a change. Matplotlib is imported when one is drawn."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ldpstats.models.shared.axes import axes_of, axis_labels, legend_below, plain
from ldpstats.models.shared.fit import Fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_change"]

_LONGEST_LABEL = 30
_LONGEST_LINE = 56  # characters of a line of the title


def plot_change(
    fit: Fit, waves: tuple[str, ...], frame: pd.DataFrame, ax: Axes | None, alpha: float
) -> Axes:
    """Draw the change of each category with its interval, in percentage points."""
    ax = axes_of(ax, 7.0, 1.6 + 0.3 * len(frame))
    at = np.arange(len(frame))[::-1]
    low, high, estimate = (100.0 * frame[name] for name in ("lower", "upper", "params"))
    ax.axvline(0.0, color="0.6", lw=0.8, zorder=0)
    ax.hlines(at, low, high, color="C0", lw=2, alpha=0.6, label=f"{100 * (1 - alpha):g}% interval")
    ax.plot(estimate, at, "o", color="C0", label="estimate")
    ax.set_yticks(at, axis_labels(frame.index, _LONGEST_LABEL))
    ax.set_ylim(-0.6, len(frame) - 0.4)
    ax.set_xlabel("change, percentage points")
    question = f"{fit.name}: " if fit.name else ""
    title = plain(f"{question}from {waves[0]} to {waves[1]}, n = {fit.nobs:,}")
    ax.set_title(textwrap.fill(title, _LONGEST_LINE), fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)
    legend_below(ax)
    return ax
