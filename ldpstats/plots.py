"""Plots of results. Matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.errors import InvalidArgument

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_frequencies"]

_MOST_LABELS = 40  # more categories than this are drawn against their rank, without labels


def plot_frequencies(results: Any, ax: Axes | None, alpha: float, truth: Any = None) -> Axes:
    """Draw estimates with intervals, one line a category; many categories against their rank."""
    import matplotlib.pyplot as plt

    frame = results.summary_frame(alpha)
    true = _truth(truth, frame.index)
    many = len(frame) > _MOST_LABELS
    if ax is None:
        height = 4.0 if many else 1.2 + 0.3 * len(frame)
        _, ax = plt.subplots(figsize=(7.0, height), layout="constrained")
    draw = _draw_many if many else _draw_labelled
    draw(ax, frame, true)
    coverage = f"{100 * (1 - alpha):g}% interval"
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles, [coverage if x == "interval" else x for x in labels], frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(f"{results.sources[0]}, n = {results.nobs:,}", fontsize="medium")
    return ax


def _truth(truth: Any, index: pd.Index[Any]) -> Any:
    if truth is None:
        return None
    if isinstance(truth, pd.Series):
        if set(truth.index) != set(index):
            raise InvalidArgument("truth", truth.index.tolist(), "must have the fitted categories")
        return truth.reindex(index).to_numpy()
    values = np.asarray(truth)
    if values.shape != (len(index),) or values.dtype.kind not in "iuf":
        raise InvalidArgument("truth", truth, f"must be {len(index)} numbers")
    return values


def _draw_labelled(ax: Axes, frame: pd.DataFrame, truth: Any) -> None:
    at = np.arange(len(frame))[::-1]
    ax.hlines(at, frame["lower"], frame["upper"], color="C0", lw=2, alpha=0.6, label="interval")
    ax.plot(frame["params"], at, "o", color="C0", label="estimate")
    if truth is not None:
        ax.plot(truth, at, "d", color="C3", mfc="none", label="truth")
    ax.set_yticks(at, [str(label) for label in frame.index])
    ax.set_xlabel("frequency")
    ax.set_xlim(left=min(0.0, float(frame["lower"].min())))
    ax.margins(y=0.08)


def _draw_many(ax: Axes, frame: pd.DataFrame, truth: Any) -> None:
    order = np.argsort(-frame["linear"].to_numpy(), kind="stable")
    rank = np.arange(1, len(frame) + 1)
    lower, upper = frame["lower"].to_numpy()[order], frame["upper"].to_numpy()[order]
    ax.fill_between(rank, lower, upper, color="C0", alpha=0.25, lw=0, step="mid", label="interval")
    ax.plot(rank, frame["params"].to_numpy()[order], ".", color="C0", ms=3, label="estimate")
    if truth is not None:
        ax.plot(rank, truth[order], ".", color="C3", ms=3, label="truth")
    ax.set_xlabel("category, by rank of its unconstrained estimate")
    ax.set_ylabel("frequency")
