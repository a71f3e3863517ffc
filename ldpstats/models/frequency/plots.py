"""Plots of frequencies. Matplotlib is imported when one is drawn."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument
from ldpstats.models.shared.axes import axes_of, axis_labels, legend_below
from ldpstats.models.shared.fit import Fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_frequencies"]

_MOST_LABELS = 40  # more categories than this are drawn against their rank, without labels
_LONGEST_LABEL = 30
_LONGEST_LINE = 56  # characters of a line of the title, which fits into _ROOM
_WIDTH = 7.0  # inches
_ROOM = 5.2  # inches beside the labels


def plot_frequencies(
    fit: Fit, frame: pd.DataFrame, ax: Axes | None, alpha: float, truth: Any = None
) -> Axes:
    """Draw estimates with intervals, one line a category; many categories against their rank."""
    true = _truth(truth, frame.index)
    many = len(frame) > _MOST_LABELS
    own = ax is None
    ax = axes_of(ax, _WIDTH, 4.0 if many else 1.6 + 0.3 * len(frame))
    draw = _draw_many if many else _draw_labelled
    draw(ax, frame, true, f"{100 * (1 - alpha):g}% interval")
    ax.spines[["top", "right"]].set_visible(False)
    source = fit.sources[0] if len(fit.sources) == 1 else f"{len(fit.sources)} mechanisms"
    title = textwrap.fill(f"{source}, n = {fit.nobs:,}", _LONGEST_LINE)
    ax.set_title(title, fontsize="medium")
    legend_below(ax)
    if own:
        _widen(ax)
    return ax


def _widen(ax: Axes) -> None:
    """Widen the figure by labels that would take the room of the estimates and the title."""
    widest = max(label.get_window_extent().width for label in ax.get_yticklabels())
    figure: Any = ax.figure
    figure.set_figwidth(max(_WIDTH, widest / figure.dpi + _ROOM))


def _truth(truth: Any, index: pd.Index[Any]) -> npt.NDArray[np.float64] | None:
    if truth is None:
        return None
    given = align("truth", truth, index)
    values = numbers("truth", given, f"must be {len(index)} numbers", (len(index),))
    if not np.isfinite(values).all():
        raise InvalidArgument("truth", truth, "must be finite numbers, one for each category")
    return values


def _draw_labelled(ax: Axes, frame: pd.DataFrame, truth: Any, interval: str) -> None:
    at = np.arange(len(frame))[::-1]
    ax.axvline(0.0, color="0.8", lw=0.8, zorder=0)
    ax.hlines(at, frame["lower"], frame["upper"], color="C0", lw=2, alpha=0.6, label=interval)
    ax.plot(frame["params"], at, "o", color="C0", label="estimate")
    if truth is not None:
        ax.plot(truth, at, "d", color="C3", mfc="none", label="truth")
    ax.set_yticks(at, axis_labels(frame.index, _LONGEST_LABEL))
    ax.set_ylim(-0.6, len(frame) - 0.4)
    ax.margins(x=0.03)  # everything is within the limits, a marker at an end is not cut
    ax.set_xlabel("frequency")


def _draw_many(ax: Axes, frame: pd.DataFrame, truth: Any, interval: str) -> None:
    order = np.argsort(-frame["linear"].to_numpy(), kind="stable")
    rank = np.arange(1, len(frame) + 1)
    lower, upper = frame["lower"].to_numpy()[order], frame["upper"].to_numpy()[order]
    ax.axhline(0.0, color="0.8", lw=0.8, zorder=0)
    ax.fill_between(rank, lower, upper, color="C0", alpha=0.25, lw=0, step="mid", label=interval)
    ax.plot(rank, frame["params"].to_numpy()[order], ".", color="C0", ms=3, label="estimate")
    if truth is not None:
        ax.plot(rank, truth[order], ".", color="C3", ms=3, label="truth")
    ax.set_xlabel("category, by rank of its unconstrained estimate")
    ax.set_ylabel("frequency")
