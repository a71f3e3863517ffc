"""Plots of joint tables with their uncertainty. Matplotlib is imported when one is drawn.

Colours of departures from independence are the same in both plots: bands of their z value, grey
where it lies within 1.96, so that no colour is seen where nothing is established.
"""

from __future__ import annotations

import textwrap
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers
from ldpstats.errors import InvalidArgument
from ldpstats.models.shared.axes import axes_of, axis_labels, plain
from ldpstats.models.shared.tables import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import BoundaryNorm, Colormap

__all__ = ["plot_heat_map", "plot_mosaic"]

Array = npt.NDArray[Any]

_LONGEST_LABEL = 24
_LONGEST_LINE = 56  # characters of a line of the title
_SIZES = (9.0, 8.0, 7.0, 6.0)  # points, of text in cells: the largest that fits
_BANDS = (-8.0, -4.0, -1.96, 1.96, 4.0, 8.0)  # of z values; beyond the ends there is a colour more
_GAP = 0.012  # between the columns of a mosaic, whose widths sum to one
_PAD = 0.03  # between the axes and their colour bar, in widths of the axes
_BAR_TEXTS = 5.5  # width of the texts of a colour bar, in font sizes: five digits and two lines
_MOST_ROOM = 0.4  # for the colour bar and for what is left of it, each; in widths of the axes
_Z_LABEL = "departure from independence\n(standard errors)"
_HATCHED = "hatched: the interval contains 0"


def plot_heat_map(
    table: pd.DataFrame,
    lower: pd.DataFrame | npt.ArrayLike,
    upper: pd.DataFrame | npt.ArrayLike,
    ax: Axes | None = None,
    title: str = "",
    independence: pd.DataFrame | npt.ArrayLike | None = None,
) -> Axes:
    """Draw a joint table as a heat map, with the estimate and the interval of each cell."""
    p, low, high = _intervals(table, lower, upper)
    k1, k2 = p.shape
    cell = np.clip(9.0 / k2, 0.36, 1.25), np.clip(9.0 / k1, 0.32, 0.5)
    own = ax is None
    ax = axes_of(ax, 2.6 + 0.07 * _longest(table.index) + k2 * cell[0], 1.8 + k1 * cell[1])
    if independence is None:
        certain = low > 0
        colours, values = _frequency_colours(p), p
    else:
        values = _numbers("independence", independence, p.shape)
        certain = np.abs(values) >= _BANDS[3]
        colours = _departure_colours()
    mesh = ax.pcolormesh(values, cmap=colours[0], norm=colours[1], edgecolor="white", lw=0.5)
    hatched = np.argwhere(~certain & (independence is None))
    _hatch(ax, [(j, i, 1.0, 1.0) for i, j in hatched], "0.84")  # light: text is written over it
    ax.invert_yaxis()
    ax.set_xticks(np.arange(k2) + 0.5, _labels(table.columns))
    ax.set_yticks(np.arange(k1) + 0.5, _labels(table.index))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_ylabel(_variable(table.index, "X"))
    ax.set_xlabel("\n".join([_variable(table.columns, "Y"), *([_HATCHED] if len(hatched) else [])]))
    ax.set_title(textwrap.fill(title, _LONGEST_LINE), fontsize="medium")
    _colour_bar(ax, mesh, "frequency" if independence is None else _Z_LABEL)
    _turn_labels(ax, np.ones(k2), own)
    _write_cells(ax, _cell_texts(p, low, high), mesh.to_rgba(values), certain)
    return ax


def plot_mosaic(
    table: pd.DataFrame,
    lower: pd.DataFrame | npt.ArrayLike,
    upper: pd.DataFrame | npt.ArrayLike,
    ax: Axes | None = None,
    title: str = "",
    z: pd.DataFrame | npt.ArrayLike | None = None,
    cum_lower: npt.ArrayLike | None = None,
    cum_upper: npt.ArrayLike | None = None,
) -> Axes:
    """Draw a joint table as a mosaic: widths P(X), heights P(Y | X), the first category on top."""
    p, low, _ = _intervals(table, lower, upper)
    if p.min() < 0 or abs(p.sum() - 1.0) > 1e-6:
        raise InvalidArgument(
            "table", p, "must hold frequencies that sum to one; pass the estimate on the simplex"
        )
    k1, k2 = p.shape
    bars = None
    if cum_lower is not None or cum_upper is not None:
        bars = _ends("cum_lower", cum_lower, cum_upper, (k1, k2 - 1))
    if z is None:
        (cmap, norm), values = _category_colours(k2), np.broadcast_to(np.arange(k2), p.shape)
    else:
        (cmap, norm), values = _departure_colours(), _numbers("z", z, p.shape)
    own = ax is None
    width = 4.5 + 0.07 * _longest(table.columns) + 0.3 * k1
    ax = axes_of(ax, min(width, 14.0), min(3.6 + 0.16 * k2, 9.0))
    left, wide, ends = _layout(p)
    tiles = np.stack([*np.broadcast_arrays(left[:, None], ends[:, :-1], wide[:, None])], axis=-1)
    tiles = np.concatenate([tiles, np.diff(ends)[..., None]], axis=-1)  # x, y, width, height
    shown = wide > 0
    _fill(ax, tiles[shown], cmap(norm(values))[shown])
    _hatch(ax, tiles[(low <= 0) & (p > 0)], "0.5")
    _name_mosaic(ax, table, left, wide, ends)
    notes = [_HATCHED] if np.any((low <= 0) & (p > 0)) else []
    notes += ["bars: intervals of the boundaries between tiles"] if bars is not None else []
    if not shown.all():
        absent = ", ".join(np.array(_labels(table.index))[~shown])
        notes += textwrap.wrap(f"of frequency 0, not shown: {absent}", _LONGEST_LINE)
    ax.set_xlabel("\n".join([_variable(table.index, "X"), *notes]))
    ax.set_title(textwrap.fill(title, _LONGEST_LINE), fontsize="medium")
    if z is not None:
        from matplotlib.cm import ScalarMappable

        _colour_bar(ax, ScalarMappable(norm, cmap), _Z_LABEL)
    _turn_labels(ax, wide[shown], own)
    _spread_labels(ax)
    if bars is not None:
        _draw_bars(ax, *bars, left, wide)
    return ax


# -- checks --------------------------------------------------------------------------------


def _numbers(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Finite numbers of the shape of the table."""
    array = numbers(name, value, f"must be numbers of shape {shape}", shape)
    if not np.isfinite(array).all():
        raise InvalidArgument(name, value, f"must be finite numbers of shape {shape}")
    return array


def _ends(name: str, lower: Any, upper: Any, shape: tuple[int, ...]) -> tuple[Array, Array]:
    low, high = _numbers(name, lower, shape), _numbers(name.replace("low", "upp"), upper, shape)
    if np.any(low > high):
        raise InvalidArgument(name, lower, "must not exceed the upper ends")
    return low, high


def _intervals(table: Any, lower: Any, upper: Any) -> tuple[Array, Array, Array]:
    if not isinstance(table, pd.DataFrame) or 0 in table.shape:
        raise InvalidArgument("table", table, "must be a DataFrame with rows and columns")
    p = _numbers("table", table, table.shape)
    return p, *_ends("lower", lower, upper, table.shape)


# -- colours -------------------------------------------------------------------------------


def _departure_colours() -> tuple[Colormap, BoundaryNorm]:
    """Bands of z values: blue for too few, grey for nothing established, red for too many."""
    import matplotlib
    from matplotlib.colors import BoundaryNorm, ListedColormap

    ends = matplotlib.colormaps["RdBu_r"]([0.04, 0.15, 0.3, 0.7, 0.85, 0.96])
    grey = [0.88, 0.88, 0.88, 1.0]
    cmap = ListedColormap([*ends[:3].tolist(), grey, *ends[3:].tolist()])
    return cmap, BoundaryNorm(_BANDS, cmap.N, extend="both")


def _frequency_colours(p: Array) -> tuple[Colormap, Any]:
    import matplotlib
    from matplotlib.colors import Normalize

    return matplotlib.colormaps["Blues"], Normalize(min(0.0, p.min()), max(p.max(), 1e-12))


def _category_colours(k: int) -> tuple[Colormap, Any]:
    import matplotlib
    from matplotlib.colors import Normalize

    return matplotlib.colormaps["YlGnBu"], Normalize(-0.35 * k, 1.15 * k)


def _colour_bar(ax: Axes, mappable: Any, label: str) -> None:
    """A colour bar in the room of the axes, right of what stands beside them."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure: Any = ax.figure
    how = {"label": label, "aspect": 30, "format": "%g" if label == _Z_LABEL else None}
    if not isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
        # nobody else makes room for the texts: those beside the axes, and of the bar
        extent = ax.get_tightbbox()
        beside = 0.0 if extent is None else max(extent.x1 - ax.bbox.x1, 0.0)
        texts = _BAR_TEXTS * float(ax.yaxis.label.get_fontsize()) / 72 * figure.dpi
        how["pad"] = min(_PAD + beside / ax.bbox.width, _MOST_ROOM)
        how["fraction"] = min((ax.bbox.height / 30 + texts) / ax.bbox.width, _MOST_ROOM)
    bar = figure.colorbar(mappable, ax=ax, **({"pad": _PAD} | how))
    bar.outline.set_visible(False)


# -- axes and labels -----------------------------------------------------------------------


def _labels(index: pd.Index[Any]) -> list[str]:
    return axis_labels(index, _LONGEST_LABEL)


def _longest(index: pd.Index[Any]) -> int:
    return max(map(len, _labels(index)))


def _variable(index: pd.Index[Any], default: str) -> str:
    name = default if index.name is None else index.name
    return plain(one_line(name, _LONGEST_LABEL))


def _turn_labels(ax: Axes, widths: Array, own: bool) -> None:
    """Turn the labels below upright where one is wider than its column.

    A figure of our own grows by the room that they take. Of labels that would still overlap, those
    of the narrower columns are left out.
    """
    figure: Any = ax.figure
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


# -- heat map ------------------------------------------------------------------------------


def _cell_texts(p: Array, low: Array, high: Array) -> tuple[list[str], list[str]]:
    """Texts of the cells with their intervals, and without; two digits of the usual half-width."""
    half = np.median(high - low) / 2
    digits = int(np.clip(1 - np.floor(np.log10(half)), 2, 6)) if half > 0 else 3
    estimates = [f"{value:.{digits}f}" for value in p.flat]
    ends = zip(estimates, low.flat, high.flat, strict=True)
    return [f"{e}\n[{a:.{digits}f}, {b:.{digits}f}]" for e, a, b in ends], estimates


def _write_cells(
    ax: Axes, candidates: tuple[list[str], list[str]], faces: Array, certain: Array
) -> None:
    """Write as much into every cell as fits into all."""
    k1, k2 = certain.shape
    room = 0.94 * ax.bbox.width / k2, 0.9 * ax.bbox.height / k1
    for texts, size in product(candidates, _SIZES):
        if _fits(ax, max(texts, key=len), size, room):
            break
    else:
        return
    light = faces[..., :3] @ [0.299, 0.587, 0.114] > 0.55  # luma: what the eye sees as light
    for (i, j), text in zip(np.ndindex(k1, k2), texts, strict=True):
        colour = "black" if light[i, j] else "white"
        if not certain[i, j] and light[i, j]:
            colour = "0.35"
        ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=size, color=colour)


def _fits(ax: Axes, text: str, size: float, room: tuple[float, float]) -> bool:
    trial = ax.text(0.5, 0.5, text, fontsize=size)
    extent = trial.get_window_extent()
    trial.remove()
    return bool(extent.width <= room[0] and extent.height <= room[1])


def _hatch(ax: Axes, places: Any, colour: str) -> None:
    """Hatch tiles, each (x, y, width, height)."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    if len(places):
        tiles = [Rectangle((x, y), wide, high) for x, y, wide, high in places]
        ax.add_collection(
            PatchCollection(tiles, facecolor="none", edgecolor=colour, hatch="///", lw=0)
        )


# -- mosaic --------------------------------------------------------------------------------


def _layout(p: Array) -> tuple[Array, Array, Array]:
    """Left ends and widths of columns, shape (k1,), and ends of tiles in them, (k1, k2 + 1)."""
    wide = p.sum(axis=1)
    left = np.cumsum(wide) - wide + _GAP * (np.cumsum(wide > 0) - 1)
    conditional = p / np.where(wide > 0, wide, 1.0)[:, None]
    top = np.hstack([np.zeros((len(p), 1)), np.cumsum(conditional, axis=1)])
    return left, wide, top


def _fill(ax: Axes, tiles: Array, colours: Array) -> None:
    from matplotlib.patches import Rectangle

    for (x, y, wide, high), colour in zip(
        tiles.reshape(-1, 4), colours.reshape(-1, 4), strict=True
    ):
        tile = Rectangle((x, y), wide, high, facecolor=colour, edgecolor="white", lw=0.8)
        tile.set_in_layout(False)  # it is inside the axes: the layout need not look at it
        ax.add_patch(tile)


def _draw_bars(ax: Axes, low: Array, high: Array, left: Array, wide: Array) -> None:
    """Intervals of the boundaries between tiles, side by side in each column."""
    steps = wide / (low.shape[1] + 1)
    at = left[:, None] + steps[:, None] * np.arange(1, low.shape[1] + 1)
    points = 72 / ax.figure.dpi * ax.bbox.width / float(np.diff(ax.get_xlim())[0])
    thin = np.minimum(1.2, 0.4 * points * steps)  # lines of narrow columns
    cap = np.minimum(0.3 * steps, 0.006)
    shown = np.broadcast_to(wide[:, None] > 0, low.shape)
    x, bottom, top = at[shown], low[shown], high[shown]
    cap, thin = (np.broadcast_to(v[:, None], low.shape)[shown] for v in (cap, thin))
    ax.vlines(x, bottom, top, color="black", lw=thin)
    ax.hlines([*bottom, *top], [*(x - cap)] * 2, [*(x + cap)] * 2, color="black", lw=[*thin] * 2)


def _name_mosaic(ax: Axes, table: pd.DataFrame, left: Array, wide: Array, ends: Array) -> None:
    """Labels of X below their columns, of Y beside the tiles of the first column."""
    shown = np.flatnonzero(wide)
    ax.set_xticks(left[shown] + wide[shown] / 2, np.array(_labels(table.index))[shown])
    ax.set_yticks((ends[shown[0], :-1] + ends[shown[0], 1:]) / 2, _labels(table.columns))
    ax.set_xlim(0.0, float(left[-1] + wide[-1]))
    ax.set_ylim(1.0, 0.0)
    ax.set_ylabel(_variable(table.columns, "Y"))
    ax.secondary_yaxis("right").set_ylabel("cumulative conditional frequency")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _spread_labels(ax: Axes) -> None:
    """Move the labels of tiles from their middle as far as it takes not to overlap."""
    labels, middle = ax.get_yticklabels(), np.asarray(ax.get_yticks())
    line = 1.2 * float(labels[0].get_fontsize()) / 72 * ax.figure.dpi
    least = min(line / ax.bbox.height, 1 / len(labels))
    steps = least * np.arange(len(labels))
    apart = np.maximum.accumulate(middle - steps) + steps
    places = np.minimum(apart, 1.0 - least / 2 - steps[::-1])
    ax.set_yticks(places, [label.get_text() for label in labels])
