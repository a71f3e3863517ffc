"""Plots of joint tables with their uncertainty. Matplotlib is imported when one is drawn.

Colours of departures from independence are the same in both plots: bands of their z value, grey
where it lies within 1.96, so that no colour is seen where nothing is established.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers
from ldpstats.errors import InvalidArgument
from ldpstats.models.shared.axes import (
    LONGEST_LINE,
    axes_of,
    percent_text,
    set_title,
)
from ldpstats.models.shared.cells import (
    cell_size,
    colour_bar,
    draw_cells,
    hatch,
    hatch_cells,
    labels_of,
    longest_label,
    settle,
    variable_name,
    write_cells,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import BoundaryNorm, Colormap

__all__ = ["plot_heat_map", "plot_mosaic"]

Array = npt.NDArray[Any]

_BANDS = (-8.0, -4.0, -1.96, 1.96, 4.0, 8.0)  # of z values; beyond the ends there is a colour more
_GAP = 0.012  # between the columns of a mosaic, whose widths sum to one
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
    cell = cell_size(k1, k2)
    own = ax is None
    ax = axes_of(ax, 2.6 + 0.07 * longest_label(table.index) + k2 * cell[0], 1.8 + k1 * cell[1])
    if independence is None:
        certain = low > 0
        colours, values = _frequency_colours(p), p
    else:
        values = _numbers("independence", independence, p.shape)
        certain = np.abs(values) >= _BANDS[3]
        colours = _departure_colours()
    mesh = draw_cells(ax, values, colours, labels_of(table.index), labels_of(table.columns))
    faces = mesh.to_rgba(values)
    hatched = ~certain & (independence is None)
    hatch_cells(ax, hatched, faces)
    ax.set_ylabel(variable_name(table.index, "X"))
    notes = [_HATCHED] if hatched.any() else []
    ax.set_xlabel("\n".join([variable_name(table.columns, "Y"), *notes]))
    set_title(ax, title)
    if independence is None:
        bar = colour_bar(ax, mesh, "frequency", lambda value, _: percent_text(value))
        texts = _cell_texts(p, low, high)
    else:
        bar, texts = colour_bar(ax, mesh, _Z_LABEL), _z_texts(values, p, low, high)
    settle(ax, bar, np.ones(k2), own)
    write_cells(ax, texts, faces, certain)
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
    width = 4.5 + 0.07 * longest_label(table.columns) + 0.3 * k1
    ax = axes_of(ax, min(width, 14.0), min(3.6 + 0.16 * k2, 9.0))
    left, wide, ends = _layout(p)
    tiles = np.stack([*np.broadcast_arrays(left[:, None], ends[:, :-1], wide[:, None])], axis=-1)
    tiles = np.concatenate([tiles, np.diff(ends)[..., None]], axis=-1)  # x, y, width, height
    shown = wide > 0
    _fill(ax, tiles[shown], cmap(norm(values))[shown])
    hatch(ax, tiles[(low <= 0) & (p > 0)], "0.5")
    _name_mosaic(ax, table, left, wide, ends)
    notes = [_HATCHED] if np.any((low <= 0) & (p > 0)) else []
    notes += ["bars: intervals of the boundaries between tiles"] if bars is not None else []
    if not shown.all():
        absent = ", ".join(np.array(labels_of(table.index))[~shown])
        notes += textwrap.wrap(f"of frequency 0, not shown: {absent}", LONGEST_LINE)
    ax.set_xlabel("\n".join([variable_name(table.index, "X"), *notes]))
    set_title(ax, title)
    bar = None
    if z is not None:
        from matplotlib.cm import ScalarMappable

        bar = colour_bar(ax, ScalarMappable(norm, cmap), _Z_LABEL)
    settle(ax, bar, wide[shown], own)
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


# -- heat map ------------------------------------------------------------------------------


def _cell_texts(p: Array, low: Array, high: Array) -> tuple[list[str], list[str]]:
    """Texts of the cells with their intervals, and without; in percent."""
    digits = _digits(low, high)
    estimates = [f"{100 * value:.{digits}f}%" for value in p.flat]
    ends = zip(estimates, (100 * low).flat, (100 * high).flat, strict=True)
    return [f"{e}\n[{a:.{digits}f}, {b:.{digits}f}]" for e, a, b in ends], estimates


def _z_texts(z: Array, p: Array, low: Array, high: Array) -> tuple[list[str], list[str]]:
    """z values of the cells with the estimates, and without."""
    alone = [f"{round(value, 1) + 0.0:+.1f}" for value in z.flat]  # no negative zero
    return [f"{a}\n{b}" for a, b in zip(alone, _cell_texts(p, low, high)[1], strict=True)], alone


def _digits(low: Array, high: Array) -> int:
    """Decimals of percentages that show two digits of the usual half-width."""
    half = 50 * float(np.median(high - low))
    return int(np.clip(1 - np.floor(np.log10(half)), 0, 4)) if half > 0 else 1


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
    ax.set_xticks(left[shown] + wide[shown] / 2, np.array(labels_of(table.index))[shown])
    ax.set_yticks((ends[shown[0], :-1] + ends[shown[0], 1:]) / 2, labels_of(table.columns))
    ax.set_xlim(0.0, float(left[-1] + wide[-1]))
    ax.set_ylim(1.0, 0.0)
    ax.set_ylabel(variable_name(table.columns, "Y"))
    scale = ax.secondary_yaxis("right")
    scale.set_ylabel("cumulative conditional frequency")
    scale.yaxis.set_major_formatter(lambda value, _: percent_text(value))
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
