"""Plots of weighted frequencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldpstats.models.shared.forest import plot_frequencies
from ldpstats.models.shared.panels import plot_groups

if TYPE_CHECKING:
    from ldpstats.models.weighted.results import WeightedResults

__all__ = ["plot_weighted"]


def plot_weighted(
    results: WeightedResults,
    alpha: float,
    ax: Any = None,
    sort: bool | str = True,
    most: int = 25,
    title: str | None = None,
    figure: Any = None,
) -> Any:
    """Frequencies with intervals: on one axes, or for each domain on axes of its own."""
    frame = results.summary_frame(alpha)
    if not results.by:
        return plot_frequencies(results.fit, frame, ax, alpha, sort=sort, most=most, title=title)
    k, labels = len(results.categories), results.domains.labels
    parts = (frame.iloc[i * k : (i + 1) * k] for i in range(len(labels)))
    frames = {
        label: part.set_axis(results.categories) for label, part in zip(labels, parts, strict=True)
    }
    by = ", ".join(results.by)
    default = f"{results.name} by {by}" if results.name else f"by {by}"
    sizes = results.domains.sizes.tolist()
    return plot_groups(frames, alpha, title, default, sort, most, sizes=sizes, figure=figure)
