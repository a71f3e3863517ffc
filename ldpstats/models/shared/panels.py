"""Small multiples: estimates of each group in a panel. Matplotlib is imported when drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.models.shared.axes import (
    axis_labels,
    font_scale,
    percent_axis,
    set_figure_title,
    title_text,
)
from ldpstats.models.shared.forest import (
    LONGEST_LABEL,
    draw_estimates,
    interval_name,
    name_rows,
    rows_height,
    shown_rows,
    sorts,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_groups"]

_COLUMNS = 4  # panels side by side, at most
_PANEL = 2.3  # inches, width of a panel
_LONGEST_GROUP = 26  # characters, which are no wider than a panel
_CHARACTER = 0.085  # inches, of a label


def plot_groups(
    frames: Mapping[Any, pd.DataFrame],
    alpha: float,
    title: str | None = None,
    default: str = "",
    sort: Any = None,
    most: int = 25,
    most_groups: int = 24,
    sizes: Sequence[int] = (),
    figure: Any = None,
) -> npt.NDArray[Any]:
    """Draw a panel for each group, with the same categories in the same rows and on the same axis.

    `frames` holds, by group, a frame with `params`, `lower` and `upper`, of which at most
    `most_groups` are drawn; a line below says how many more there are. Categories are sorted by
    their mean over all groups. `sizes` are numbers of reports. Returns the Axes, shape (groups,).
    """
    frames, words = dict(frames), title_text(title, default)
    most, most_groups = positive_integer("most", most), positive_integer("most_groups", most_groups)
    params = pd.DataFrame({place: f["params"] for place, f in enumerate(frames.values())})
    mean = params.mean(axis=1)
    shown = mean.index[shown_rows(mean, mean, sorts(sort, mean.index), most)]
    n, n_more = min(len(frames), most_groups), len(mean) - len(shown)
    labels = axis_labels(shown, LONGEST_LABEL)
    rows = -(-n // _COLUMNS)
    columns = -(-n // rows)  # five panels are three and two
    size = (
        _PANEL * columns + 0.4 + _CHARACTER * max(map(len, labels)),
        0.7 + rows * (rows_height(len(shown) + (n_more > 0)) - 0.8),
    )
    grid = _figure(figure, size).subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    panels = grid.ravel()
    names = _titles(list(frames)[:n], sizes)
    for ax, name, frame in zip(panels, names, frames.values(), strict=False):
        draw_estimates(ax, frame.reindex(shown), np.arange(len(shown))[::-1], interval_name(alpha))
        ax.set_title(name, fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
    for ax in grid[:, 0]:
        name_rows(ax, labels, n_more)
    for ax in panels[n:]:
        ax.remove()
    room = 72 * _PANEL if figure is None else None
    _finish(panels[:n], columns, words, len(frames) - n, room)
    drawn: npt.NDArray[Any] = panels[:n]
    return drawn


def _titles(groups: Sequence[Any], sizes: Sequence[int]) -> list[str]:
    """Names of groups, with their numbers of reports; of several columns side by side."""
    named = [", ".join(map(str, g)) if isinstance(g, tuple) else str(g) for g in groups]
    names = axis_labels(named, _LONGEST_GROUP)
    if sizes:
        names = [f"{name}, n = {size:,}" for name, size in zip(names, sizes, strict=False)]
    return [textwrap.fill(name, _LONGEST_GROUP) for name in names]


def _figure(figure: Any, size: tuple[float, float]) -> Any:
    """The figure, or part of one, to draw in: the one given, or a new one of this size."""
    import matplotlib.pyplot as plt
    from matplotlib.figure import FigureBase
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if figure is None:
        scaled = font_scale() * np.array(size)
        return plt.figure(figsize=(scaled[0], scaled[1]), layout="constrained")
    if not isinstance(figure, FigureBase):
        remedy = "must be a matplotlib Figure, for example plt.figure(layout='constrained')"
        raise InvalidArgument("figure", figure, remedy)
    part: Any = figure
    whole = part.canvas.figure
    if not isinstance(whole.get_layout_engine(), ConstrainedLayoutEngine):
        whole.set_layout_engine("constrained")  # no other makes room for the legend
    return figure


def _finish(
    panels: npt.NDArray[Any], columns: int, title: str, n_more: int, room: float | None
) -> None:
    """One title, one name of the axis, one legend; percentages under the lowest panels."""
    figure = panels[0].figure
    for place, ax in enumerate(panels):
        percent_axis(ax, room)
        if place + columns >= len(panels):  # the lowest of its column
            ax.tick_params(axis="x", labelbottom=True)
            ax.set_xlabel("frequency")
    if title:
        set_figure_title(figure, title)
    names = _legend(panels)
    rest = f"and {n_more:,} more groups" if n_more else None
    how: dict[str, Any] = {"loc": "outside lower center", "ncols": 3, "frameon": False}
    figure.legend(names.values(), names, title=rest, handlelength=1.2, **how)


def _legend(panels: npt.NDArray[Any]) -> dict[str, Any]:
    """What any of the panels shows, each once."""
    found: dict[str, Any] = {}
    ax: Axes
    for ax in panels:
        handles, labels = ax.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    return found
