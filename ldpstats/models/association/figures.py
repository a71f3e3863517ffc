"""The figure of a two-way table that results ask for, by its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ldpstats.errors import NotAvailable
from ldpstats.inference import intervals
from ldpstats.inference.tables import effects
from ldpstats.models.association.merging import merging
from ldpstats.models.association.plots import plot_heat_map, plot_mosaic
from ldpstats.models.association.two_way import TwoWay, z_values
from ldpstats.models.shared.axes import title_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]


def draw(
    two_way: TwoWay,
    kind: str,
    bounds: pd.DataFrame,
    ax: Axes | None,
    alpha: float,
    title: str | None,
) -> Axes:
    """Draw the table with the bounds of its cells, (k, 2); see `AssociationResults.plot`."""
    names, table = two_way.variables.names, two_way.variables.table
    words = title_text(title, f"{names[0]} and {names[1]}, n = {two_way.fit.nobs:,}")
    if kind == "mosaic":
        return _mosaic(two_way, bounds, ax, alpha, words)
    low, high = (table(bounds[end].to_numpy(), end) for end in ("lower", "upper"))
    z = None
    if kind == "departures":
        z = table(z_values(*two_way.departures()).reshape(-1), "z")
    return plot_heat_map(table(two_way.fit.fitted.estimate, "params"), low, high, ax, words, z)


def _mosaic(
    two_way: TwoWay, bounds: pd.DataFrame, ax: Axes | None, alpha: float, title: str
) -> Axes:
    """With categories that are too thin to read merged, and the intervals of their sums."""
    fit = two_way.fit
    if np.any(fit.fitted.estimate < 0.0):
        raise NotAvailable(
            f"a mosaic has no tiles for negative estimates of {fit.method!r}: fit 'mle'"
        )
    merged = merging(two_way.variables.table(fit.fitted.estimate, "params"))
    linear, V = merged.sums(fit.linear.estimate), fit.linear.known().merged(merged.cells)
    normal = intervals.wald(linear.to_numpy().ravel(), np.sqrt(V.variances()), alpha)
    low, high = (
        merged.chosen(bounds[end].to_numpy(), normal[:, side]).reshape(linear.shape)
        for side, end in enumerate(("lower", "upper"))
    )
    ends = effects.conditionals(linear, V, 0, alpha, cumulative=True)
    cut = [end[:, :-1] for end in ends[1:3]]
    z = z_values(*effects.departures(linear, V))
    return plot_mosaic(merged.sums(fit.fitted.estimate), low, high, ax, title, z, *cut)
