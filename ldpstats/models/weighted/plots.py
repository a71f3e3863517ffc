"""Plots of weighted frequencies in domains."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.panels import plot_groups
from ldpstats.models.weighted.record import Domains

__all__ = ["plot_domains"]


def plot_domains(
    fit: Fit,
    domains: Domains,
    categories: pd.Index[Any],
    frame: pd.DataFrame,
    alpha: float,
    *,
    sort: bool | str | None,
    most: int,
    title: str | None,
    figure: Any,
) -> Any:
    """Frequencies with intervals, each domain on axes of its own."""
    k = len(categories)
    frames = {
        label: frame.iloc[i * k : (i + 1) * k].set_axis(categories)
        for i, label in enumerate(domains.labels)
    }
    by = ", ".join(domains.by)
    default = f"{fit.name} by {by}" if fit.name else f"by {by}"
    sizes = domains.sizes.tolist()
    return plot_groups(frames, alpha, title, default, sort, most, sizes=sizes, figure=figure)
