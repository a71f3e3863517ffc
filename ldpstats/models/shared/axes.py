"""Axes, labels and legends that all plots share. Matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ldpstats.errors import InvalidArgument
from ldpstats.models.shared.tables import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axes_of", "axis_labels", "legend_below", "plain"]


def axes_of(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes to draw on: those given, or new ones of this size in inches."""
    import matplotlib.axes
    import matplotlib.pyplot as plt

    if ax is None:
        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    if not isinstance(ax, matplotlib.axes.Axes):
        remedy = "must be matplotlib Axes, for example plt.subplots()[1]"
        if isinstance(ax, str):
            remedy += "; there is one kind of this plot, which needs no name"
        raise InvalidArgument("ax", ax, remedy)
    return ax


def plain(text: str) -> str:
    """Text that matplotlib shows as it is: two dollar signs would set mathematics."""
    return text.replace("$", r"\$")


def axis_labels(labels: Iterable[Any], longest: int) -> list[str]:
    """Labels on one line, shortened unless that makes two of them equal."""
    labels = list(labels)
    shown = [one_line(label, longest) for label in labels]
    if len(set(shown)) < len(shown):  # what tells them apart was left out
        shown = [one_line(label, 2 * longest) for label in labels]
    return [plain(label) for label in shown]


def legend_below(ax: Axes) -> None:
    """Put the legend under the label of the horizontal axis, where it hides no estimate."""
    from matplotlib.transforms import ScaledTranslation

    drop = 14 + 2.4 * float(ax.xaxis.label.get_fontsize())  # points: ticks, two lines of text
    down = ScaledTranslation(0.0, -drop / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + down,
        borderaxespad=0.0,
        ncols=3,
        frameon=False,
        handlelength=1.2,
        columnspacing=1.2,
    )
