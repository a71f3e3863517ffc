"""Plots of weighted frequencies."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.forest import plot_frequencies
from ldpstats.models.shared.panels import plot_groups
from ldpstats.models.weighted.record import Domains

__all__ = ["plot_weighted"]


def plot_weighted(
    fit: Fit,
    domains: Domains,
    categories: pd.Index[Any],
    frame: pd.DataFrame,
    alpha: float,
    ax: Any = None,
    sort: bool | str = True,
    most: int = 25,
    title: str | None = None,
    figure: Any = None,
) -> Any:
    """Frequencies with intervals: on one axes, or for each domain on axes of its own."""
    if not domains.by:
        return plot_frequencies(fit, frame, ax, alpha, sort=sort, most=most, title=title)
    k = len(categories)
    frames = {
        label: frame.iloc[i * k : (i + 1) * k].set_axis(categories)
        for i, label in enumerate(domains.labels)
    }
    by = ", ".join(domains.by)
    default = f"{fit.name} by {by}" if fit.name else f"by {by}"
    sizes = domains.sizes.tolist()
    return plot_groups(frames, alpha, title, default, sort, most, sizes=sizes, figure=figure)
