"""The heat map of a channel. Matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.models.shared.axes import axes_of, axis_labels, set_title, title_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ldpstats.planning.best.result import ChannelDesign

__all__ = ["plot_design"]

Array = npt.NDArray[Any]

_REPORTS, _CATEGORIES = 400, 100


def plot_design(design: ChannelDesign, ax: Axes | None, title: str | None) -> Axes:
    """Draw Q, reports by falling probability: darker cells are more probable."""
    k, l = design.mechanism.channel().shape  # noqa: E741
    if l > _REPORTS or k > _CATEGORIES:
        raise NotAvailable(
            f"plot() draws at most {_CATEGORIES} categories and {_REPORTS} reports; this channel "
            f"has {k} and {l}"
        )
    Q = _ordered(design.mechanism.channel().matrix(), design.goal.priors.mean(axis=0))
    name = design.name or "Best channel"
    default = f"{name[0].upper()}{name[1:]}: {k} categories, {l} reports"
    text = title_text(title, default)
    ax = axes_of(ax, min(12.0, 2.5 + 0.28 * l), min(9.0, 1.4 + 0.32 * k))
    image = ax.imshow(Q, cmap="Blues", vmin=0.0, vmax=float(Q.max()), aspect="auto")
    labels = axis_labels(design.mechanism.categories, 20)
    ax.set_yticks(range(k), labels)
    ax.set_xticks([])
    ax.set_xlabel("reports, the most frequent first")
    ax.set_ylabel("category")
    ax.figure.colorbar(image, ax=ax, label="P(report | category)")
    set_title(ax, text)
    return ax


def _ordered(Q: Array, p: Array) -> Array:
    """Reports by the size of the set that they favour, then by probability."""
    high = Q > np.sqrt(Q.max(axis=0) * Q.min(axis=0)) if Q.min() > 0.0 else Q > 0.5 * Q.max(axis=0)
    weight = np.rint(1e9 * (p @ Q))
    return Q[:, np.lexsort((*(-high[::-1].astype(int)), high.sum(axis=0), -weight))]
