"""The heat map of a channel. Matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.models.shared.axes import axes_of, axis_labels, set_title, title_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_design"]

Array = npt.NDArray[Any]

_REPORTS, _CATEGORIES = 400, 100


def plot_design(design: Any, ax: Axes | None, title: str | None) -> Axes:
    """Draw Q, reports by falling probability: dark cells are the categories that make a report."""
    k, l = design.mechanism.channel().shape  # noqa: E741
    if l > _REPORTS or k > _CATEGORIES:
        raise NotAvailable(
            f"plot() draws at most {_CATEGORIES} categories and {_REPORTS} reports; this channel "
            f"has {k} and {l}"
        )
    p = design.goal.priors.mean(axis=0)
    Q = _ordered(design.mechanism.channel().matrix(), p)
    name = design.name or "Best channel"
    text = title_text(title, f"{name[0].upper()}{name[1:]}, {l} reports")
    ax = axes_of(ax, 6.4, min(9.0, 1.4 + 0.32 * k))
    edges = np.concatenate([[0.0], np.cumsum(p @ Q)])
    cells = ax.pcolormesh(
        edges, np.arange(k + 1) - 0.5, Q / Q.max(axis=0), cmap="Blues", vmin=0.0, vmax=1.0
    )
    cells.set_edgecolor("white")
    cells.set_linewidth(0.3 if l > 60 else 0.8)
    ax.set_yticks(range(k), axis_labels(design.mechanism.categories, 20))
    ax.set_ylim(k - 0.5, -0.5)
    ax.set_xlabel("reports, as wide as they are probable")
    ax.figure.colorbar(cells, ax=ax, label="probability, relative to the largest")
    set_title(ax, text)
    return ax


def _ordered(Q: Array, p: Array) -> Array:
    """Reports by the size of the set that they favour, then by probability."""
    high = Q > np.sqrt(Q.max(axis=0) * Q.min(axis=0)) if Q.min() > 0.0 else Q > 0.5 * Q.max(axis=0)
    weight = np.rint(1e9 * (p @ Q))
    return Q[:, np.lexsort((*(-high[::-1].astype(int)), high.sum(axis=0), -weight))]
