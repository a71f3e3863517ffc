"""The plot of a matrix of associations. Matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ldpstats.models.shared.axes import title_text
from ldpstats.models.shared.matrix import plot_symmetric

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_matrix"]


def plot_matrix(
    v: pd.DataFrame,
    lower: pd.DataFrame,
    upper: pd.DataFrame,
    pvalues: pd.DataFrame,
    alpha: float,
    ax: Axes | None,
    title: str | None,
) -> Axes:
    """Draw the lower triangle: Cramer's V of each pair with its interval."""
    percent = f"{100 * (1 - alpha):g}%"
    return plot_symmetric(
        v,
        lower,
        upper,
        pvalues < alpha,
        ax,
        title_text(title, f"Associations of {len(v)} variables, {percent} intervals"),
        "Cramer's V",
        f"hatched: independence is not rejected at {alpha:g} (Holm)",
    )
