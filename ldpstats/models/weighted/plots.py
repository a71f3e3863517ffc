"""Plots of weighted frequencies in domains."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ldpstats.models.shared.category_plot import plot_by_group
from ldpstats.models.shared.fit import Fit
from ldpstats.models.weighted.record import Domains

__all__ = ["plot_domains"]


def plot_domains(
    fit: Fit,
    domains: Domains,
    categories: pd.Index[Any],
    frame: pd.DataFrame,
    alpha: float,
    **how: Any,
) -> Any:
    """Frequencies with intervals: each domain on axes of its own, or one category on one axes."""
    k = len(categories)
    frames = {
        label: frame.iloc[i * k : (i + 1) * k].set_axis(categories)
        for i, label in enumerate(domains.labels)
    }
    return plot_by_group(frames, alpha, fit.name, domains.by, domains.sizes.tolist(), **how)
