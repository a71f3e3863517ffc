"""The plot of a posterior: means and intervals. Matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import positive_integer
from ldpstats.models.posterior.record import Origin
from ldpstats.models.shared.axes import axes_of, axis_labels, legend_below, set_title, title_text
from ldpstats.models.shared.forest import (
    LONGEST_LABEL,
    finish_rows,
    name_rows,
    rows_height,
    shown_rows,
    sorts,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_posterior"]

_WIDTH = 7.0  # inches
_LONGEST_PRIOR = 40  # in the title


def plot_posterior(
    origin: Origin,
    frame: pd.DataFrame,
    inner: pd.DataFrame,
    ax: Axes | None,
    alpha: float,
    sort: Any,
    most: int,
    title: str | None,
    shares: bool,
) -> Axes:
    """Draw "params" with "lower" and "upper", and `inner` intervals, one line a parameter."""
    most = positive_integer("most", most)
    source = origin.sources[0] if len(origin.sources) == 1 else f"{len(origin.sources)} mechanisms"
    head = f"posterior{f' of {origin.name}' if origin.name else ''}"
    if len(origin.prior) <= _LONGEST_PRIOR:  # the summary has longer ones
        head += f", prior {origin.prior}"
    words = title_text(title, f"{head}\n{source}, n = {origin.nobs:,}")
    plain = shares and not isinstance(frame.index, pd.MultiIndex)  # else what belongs together is
    by_size = sorts(sort, frame.index if shares else None) if plain or sort is not None else False
    shown = shown_rows(frame["params"], frame["params"], by_size, most)
    own = ax is None
    ax = axes_of(ax, _WIDTH, rows_height(len(shown) + (len(shown) < len(frame))))
    at = np.arange(len(shown))[::-1]
    rows, core = frame.iloc[shown], inner.iloc[shown]
    ax.axvline(0.0, color="0.8", lw=0.8, zorder=0)
    ends = f"{100 * (1 - alpha):g}% of the posterior"
    ax.hlines(at, rows["lower"], rows["upper"], color="C0", lw=1.5, alpha=0.6, label=ends)
    ax.hlines(at, core["lower"], core["upper"], color="C0", lw=5, alpha=0.6, label="50%")
    ax.plot(rows["params"], at, "o", ms=5, color="C0", mec="white", label="mean")
    ax.margins(x=0.03)
    labels = [" : ".join(map(str, v)) if isinstance(v, tuple) else v for v in rows.index]
    name_rows(ax, axis_labels(labels, LONGEST_LABEL), len(frame) - len(shown))
    if shares:
        ax.set_xlabel("frequency")
        finish_rows(ax, words, own)
    else:
        ax.spines[["top", "right"]].set_visible(False)
        set_title(ax, words)
        legend_below(ax)
    return ax
