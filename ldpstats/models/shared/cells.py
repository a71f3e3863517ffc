"""Tables drawn as cells: their texts, labels and colour bars. Matplotlib is imported when drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.models.shared.axes import (
    LIGHT,
    axis_labels,
    figure_of,
    keep_in_cell,
    lacks_layout,
    luma,
    plain,
    shrink_labels,
    text_colours,
)
from ldpstats.models.shared.tables import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "LONGEST_LABEL",
    "cell_size",
    "colour_bar",
    "draw_cells",
    "hatch",
    "hatch_cells",
    "hatch_greys",
    "labels_of",
    "longest_label",
    "settle",
    "variable_name",
    "write_cells",
]

Array = npt.NDArray[Any]

LONGEST_LABEL = 24
_SIZES = (9.0, 8.0, 7.0, 6.0)  # points, of text in cells: the largest that fits
_APART = 0.2  # lumas of a cell and of its hatching
_LIGHTEST, _DARKEST = 0.75, 0.25  # lumas beyond which no lighter, or darker, hatching is seen
_PAD = 0.03  # between the axes and their colour bar, in widths of the axes
_BAR_TEXTS = 5.5  # width of the texts of a colour bar, in font sizes: five digits and two lines
_MOST_ROOM = 0.4  # for the colour bar and for what is left of it, each; in widths of the axes


def cell_size(rows: int, columns: int) -> tuple[float, float]:
    """Width and height of a cell, in inches, in a figure of a table of this shape."""
    return float(np.clip(9.0 / columns, 0.36, 1.25)), float(np.clip(9.0 / rows, 0.32, 0.5))


def labels_of(index: pd.Index[Any]) -> list[str]:
    """Labels of rows or columns."""
    return axis_labels(index, LONGEST_LABEL)


def longest_label(index: pd.Index[Any]) -> int:
    """Characters of the longest label."""
    return max(map(len, labels_of(index)))


def variable_name(index: pd.Index[Any], default: str) -> str:
    """The name of the variable whose categories these are."""
    name = default if index.name is None else index.name
    return plain(one_line(name, LONGEST_LABEL))


def draw_cells(
    ax: Axes, values: Array, colours: tuple[Any, Any], rows: list[str], columns: list[str]
) -> Any:
    """Draw values, (k1, k2), in colours (a map and a norm), the first row on top; the mesh."""
    cmap, norm = colours
    mesh = ax.pcolormesh(values, cmap=cmap, norm=norm, edgecolor="white", lw=0.5)
    ax.invert_yaxis()
    ax.set_xticks(np.arange(len(columns)) + 0.5, columns)
    ax.set_yticks(np.arange(len(rows)) + 0.5, rows)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return mesh


def write_cells(ax: Axes, candidates: Sequence[list[str]], faces: Array, certain: Array) -> None:
    """Write as much into every cell, (k1, k2), as fits into all; `candidates` from long to short.

    `faces` are the colours of the cells, (k1, k2, 4). An empty text leaves its cell empty.
    """
    k1, k2 = certain.shape
    room = 0.94 * ax.bbox.width / k2, 0.9 * ax.bbox.height / k1
    for texts, size in product(candidates, _SIZES):
        if _fits(ax, max(texts, key=len), size, room):
            break
    else:
        return
    colours = text_colours(faces)
    for (i, j), text in zip(np.ndindex(k1, k2), texts, strict=True):
        faint = not certain[i, j] and colours[i, j] == "black"
        how: dict[str, Any] = {"fontsize": size, "color": "0.35" if faint else colours[i, j]}
        if text:
            ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", **how)


def _fits(ax: Axes, text: str, size: float, room: tuple[float, float]) -> bool:
    trial = ax.text(0.5, 0.5, text, fontsize=size)
    extent = trial.get_window_extent()
    trial.remove()
    return bool(extent.width <= room[0] and extent.height <= room[1])


def hatch_cells(ax: Axes, cells: npt.NDArray[np.bool_], faces: Array) -> None:
    """Hatch some cells, (k1, k2), so lightly that text can be read over it."""
    greys = hatch_greys(faces)
    for grey in np.unique(greys[cells]):
        these = np.argwhere(cells & (greys == grey))
        hatch(ax, [(j, i, 1.0, 1.0) for i, j in these], f"{grey:.1f}")


def hatch_greys(faces: Array) -> Array:
    """Greys, 0 to 1, that are seen on colours (..., 4) and leave their text readable.

    A grey is lighter than its colour where the text is black and darker where it is white, if the
    colour leaves room for that.
    """
    light = luma(faces)
    lighter = np.where(light > LIGHT, light < _LIGHTEST, light < _DARKEST)
    return np.round(light + np.where(lighter, _APART, -_APART), 1)


def hatch(ax: Axes, places: Any, colour: Any) -> None:
    """Hatch tiles, each (x, y, width, height)."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    if len(places):
        tiles = [Rectangle((x, y), wide, high) for x, y, wide, high in places]
        ax.add_collection(
            PatchCollection(tiles, facecolor="none", edgecolor=colour, hatch="///", lw=0)
        )


def colour_bar(ax: Axes, mappable: Any, label: str, form: Any = "%g") -> Axes:
    """A colour bar in the room of the axes, right of what stands beside them."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure: Any = ax.figure
    how = {"label": label, "aspect": 30, "format": form}
    if not isinstance(figure_of(ax).get_layout_engine(), ConstrainedLayoutEngine):
        # nobody else makes room for the texts: those beside the axes, and of the bar
        extent = ax.get_tightbbox()
        beside = 0.0 if extent is None else max(extent.x1 - ax.bbox.x1, 0.0)
        texts = _BAR_TEXTS * float(ax.yaxis.label.get_fontsize()) / 72 * figure.dpi
        how["pad"] = min(_PAD + beside / ax.bbox.width, _MOST_ROOM)
        how["fraction"] = min((ax.bbox.height / 30 + texts) / ax.bbox.width, _MOST_ROOM)
    bar = figure.colorbar(mappable, ax=ax, **({"pad": _PAD} | how))
    bar.outline.set_visible(False)
    axes: Axes = bar.ax
    return axes


def settle(ax: Axes, beside: Axes | None, widths: Array, own: bool) -> None:
    """Turn labels that are too wide for their columns, and keep axes and colour bar in their cell.

    `own` is whether the figure is ours, and may grow.
    """
    _turn_labels(ax, widths, own)
    if lacks_layout(ax):
        keep_in_cell(ax, beside)  # narrower columns now
        _turn_labels(ax, widths, own)
        keep_in_cell(ax, beside)
    shrink_labels(ax)


def _turn_labels(ax: Axes, widths: Array, own: bool) -> None:
    """Turn the labels below upright where one is wider than its column.

    A figure of our own grows by the room that they take. Of labels that would still overlap, those
    of the narrower columns are left out.
    """
    figure = figure_of(ax)
    figure.draw_without_rendering()  # lays out the axes
    needed = np.array([label.get_window_extent().width for label in ax.get_xticklabels()])
    low, high = ax.get_xlim()
    if np.all(needed <= 0.95 * ax.bbox.width * widths / (high - low)):
        return
    ax.tick_params(axis="x", rotation=90)
    if own:
        figure.set_figheight(figure.get_figheight() + needed.max() / figure.dpi)
    figure.draw_without_rendering()
    labels = ax.get_xticklabels()
    at = np.array([label.get_window_extent().x0 for label in labels])
    line = 0.9 * max(label.get_window_extent().width for label in labels)
    written: list[int] = []
    for i in np.argsort(-widths, kind="stable"):
        if np.all(np.abs(at[written] - at[i]) >= line):
            written.append(int(i))
    texts = [label.get_text() if i in written else "" for i, label in enumerate(labels)]
    ax.set_xticks(ax.get_xticks(), texts)
