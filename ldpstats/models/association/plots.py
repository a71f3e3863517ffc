"""The figures of a joint distribution; Matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, record
from ldpstats.labels import Labels
from ldpstats.models.plots import LONGEST_LABEL as LONGEST_TICK
from ldpstats.models.plots import (
    axes_of,
    axis_labels,
    colour_bar,
    draw_bars,
    hatch,
    in_lines,
    interval_name,
    labels_of,
    longest_label,
    new_figure,
    percent_text,
    plot_cells,
    plot_groups,
    plot_rows,
    set_figure_title,
    set_title,
    settle,
    variable_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import BoundaryNorm, Colormap

# Colours of departures from independence are the same in both plots: bands of their z value, grey
# where it lies within 1.96, so that no colour is seen where nothing is established.

_BANDS = (-8.0, -4.0, -1.96, 1.96, 4.0, 8.0)  # of z values; beyond the ends there is a colour more
_LEADER = 12.0  # points between tiles and their labels
_GAP = 0.012  # between the columns of a mosaic, whose widths sum to one
_Z_LABEL = "departure from independence\n(standard errors)"
_HATCHED = "hatched: the interval contains 0"


def plot_heat_map(
    table: pd.DataFrame,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    ax: Axes | None = None,
    title: str = "",
    z: npt.ArrayLike | None = None,
    largest: float = 1e-12,
) -> Axes:
    """Draw a joint table as a heat map, with the interval of each cell or its departures z.

    Colours are of frequencies up to the `largest`, if that is not in the table.
    """
    p, low, high = map(np.asarray, (table, low, high))
    # decimals of percentages that show two digits of the usual half-width
    half = 50 * float(np.median(high - low))
    digits = int(np.clip(1 - np.floor(np.log10(half)), 0, 4)) if half > 0 else 1
    percent = [f"{100 * value:.{digits}f}%" for value in p.flat]
    how: dict[str, Any] = {}
    if z is None:
        certain, values, alone = low > 0, p, percent
        ends = zip(percent, (100 * low).flat, (100 * high).flat, strict=True)
        texts = [f"{e}\n[{a:.{digits}f}, {b:.{digits}f}]" for e, a, b in ends]
        how = {"limits": (min(0.0, p.min()), max(p.max(), largest)), "hatched": ~certain}
        how |= {"bar": "frequency", "form": lambda value, _: percent_text(value)}
    else:
        values = np.asarray(z)
        certain = np.abs(values) >= _BANDS[3]
        alone = [f"{round(value, 1) + 0.0:+.1f}" for value in values.flat]  # no negative zero
        texts = [f"{a}\n{b}" for a, b in zip(alone, percent, strict=True)]
        how = {"colours": _departure_colours(), "bar": _Z_LABEL}
    of = variable_name(table.columns, "Y"), variable_name(table.index, "X")
    labels = labels_of(table.index), labels_of(table.columns)
    how |= {"certain": certain, "note": _HATCHED}
    return plot_cells(values, labels, (texts, alone), ax, title, of, **how)


def plot_heat_maps(
    tables: Mapping[str, tuple[pd.DataFrame, npt.ArrayLike, npt.ArrayLike]], title: str
) -> Any:
    """Draw heat maps beside each other, with one scale of colours: a table with its intervals."""
    frames = [frame for frame, _, _ in tables.values()]
    k1, k2 = frames[0].shape
    columns = min(len(tables), 3)
    rows = -(-len(tables) // columns)
    wide = 1.9 + 0.07 * longest_label(frames[0].index) + k2 * float(np.clip(9.0 / k2, 0.36, 1.1))
    figure = new_figure(columns * wide, rows * (1.7 + 0.5 * k1))
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    largest = max(float(frame.to_numpy().max()) for frame in frames)
    for ax, (name, (frame, low, high)) in zip(panels, tables.items(), strict=False):
        plot_heat_map(frame, low, high, ax, axis_labels([name], LONGEST_TICK)[0], largest=largest)
    for ax in panels[len(tables) :]:
        ax.remove()
    set_figure_title(figure, title)
    return panels[: len(tables)]


def plot_conditional(
    frame: pd.DataFrame, alpha: float, ax: Axes | None, title: str, panels: bool = False
) -> Any:
    """Draw shares of answers given another as bars with intervals: a group of bars a condition.

    `frame` has "params", "lower" and "upper" by condition and answer; of two answers the second is
    drawn alone. With `panels` each condition has axes of its own; returned are these, (k1,).
    """
    conditions, answers = (frame.index.unique(v) for v in (0, 1))
    given: dict[Any, Any] = {name: frame.xs(name, level=0) for name in conditions}
    of = f"share, given {variable_name(conditions, 'X')}"
    if panels:
        called = {f"{conditions.name} = {name}": own for name, own in given.items()}
        return plot_groups(called, alpha, title, sort=False, draw=draw_bars)
    drawn = answers[1:] if len(answers) == 2 else answers
    if len(drawn) == 1:
        name = variable_name(answers, "Y")
        of = f"share of {name} = {axis_labels(drawn, LONGEST_TICK)[0]}"
    high, interval = 0.8 / len(drawn), interval_name(alpha)

    def draw(ax: Axes, at: Array) -> None:
        for j, (answer, label) in enumerate(
            zip(drawn, axis_labels(drawn, LONGEST_TICK), strict=True)
        ):
            rows: Any = frame.xs(answer, level=1).reindex(conditions)
            own = at - high * (j - (len(drawn) - 1) / 2.0)
            label = "estimate" if len(drawn) == 1 else label
            how = {"height": 0.9 * high, "color": f"C{j % 10}", "label": label}
            draw_bars(ax, own, rows, interval if j == len(drawn) - 1 else "", how)

    labels = axis_labels(conditions, LONGEST_TICK)
    return plot_rows(draw, labels, 0, ax, title, of, lines=1.0 + 0.4 * (len(drawn) - 1))


def plot_mosaic(
    table: pd.DataFrame,
    low: Array,
    z: Array,
    bars: tuple[Array, Array],
    ax: Axes | None = None,
    title: str = "",
) -> Axes:
    """Draw a joint table as a mosaic: widths P(X), heights P(Y | X), the first category on top.

    `low`, (k1, k2), are the lower ends of cells, `z` their departures from independence, `bars`,
    (k1, k2 - 1), the intervals of cumulative conditional frequencies.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.patches import Rectangle

    p, (cmap, norm), own = table.to_numpy(), _departure_colours(), ax is None
    k1, k2 = p.shape
    width = 4.5 + 0.07 * longest_label(table.columns) + 0.3 * k1
    ax = axes_of(ax, min(width, 14.0), min(3.6 + 0.16 * k2, 9.0))
    # left ends and widths of columns, (k1,), and ends of tiles in them, (k1, k2 + 1)
    wide = p.sum(axis=1)
    left = np.cumsum(wide) - wide + _GAP * (np.cumsum(wide > 0) - 1)
    conditional = p / np.where(wide > 0, wide, 1.0)[:, None]
    ends = np.hstack([np.zeros((len(p), 1)), np.cumsum(conditional, axis=1)])
    parts = left[:, None], ends[:, :-1], wide[:, None], np.diff(ends)  # x, y, width, height
    tiles, shown = np.stack(np.broadcast_arrays(*parts), axis=-1), wide > 0
    each, colours = tiles[shown].reshape(-1, 4), cmap(norm(z))[shown].reshape(-1, 4)
    for (x, y, w, h), colour in zip(each, colours, strict=True):
        tile = Rectangle((x, y), w, h, facecolor=colour, edgecolor="white", lw=0.8)
        tile.set_in_layout(False)  # it is inside the axes: the layout need not look at it
        ax.add_patch(tile)
    hatch(ax, tiles[(low <= 0) & (p > 0)], "0.5")
    # labels of X below their columns; those of Y on an axis beside the tiles of the last
    middles, rows = left[shown] + wide[shown] / 2, np.array(labels_of(table.index))
    last, columns = ends[shown][-1], labels_of(table.columns)
    ax.set_xticks(middles, rows[shown])
    ax.set_xlim(0.0, float(left[-1] + wide[-1]))
    ax.set_ylim(1.0, 0.0)
    ax.set_ylabel("cumulative conditional frequency")
    ax.yaxis.set_major_formatter(lambda value, _: percent_text(value))
    ax.tick_params(axis="x", length=0)
    side = ax.secondary_yaxis("right")
    side.set_yticks((last[:-1] + last[1:]) / 2, columns)
    side.tick_params(length=0, pad=_LEADER)
    for one in (ax, side):
        one.spines[:].set_visible(False)
    side.set_ylabel(variable_name(table.columns, "Y"))
    notes = [_HATCHED] if np.any((low <= 0) & (p > 0)) else []
    notes.append("bars: intervals of the boundaries between tiles")
    if not shown.all():
        notes.append(f"of frequency 0, not shown: {', '.join(rows[~shown])}")
    lines = in_lines("\n".join(notes), ax, float(ax.xaxis.label.get_fontsize()))
    ax.set_xlabel(f"{variable_name(table.index, 'X')}\n{lines}")
    set_title(ax, title)
    settle(ax, colour_bar(ax, ScalarMappable(norm, cmap), _Z_LABEL), wide[shown], own)
    set_title(ax, title)  # in lines as wide as the axes are now
    _move_apart(ax, side.yaxis, columns, np.asarray(side.get_yticks()), ax.get_xlim()[1])
    if ax.get_xticklabels()[0].get_rotation():  # some columns are narrower than their labels
        ax.tick_params(axis="x", pad=_LEADER)
        _move_apart(ax, ax.xaxis, list(rows[shown]), middles, 1.0)
    # intervals of the boundaries between tiles, side by side in each column
    steps, there = (wide / k2)[:, None], np.broadcast_to(shown[:, None], bars[0].shape)
    points = 72 / ax.figure.dpi * ax.bbox.width / float(np.diff(ax.get_xlim())[0])
    x = (left[:, None] + steps * np.arange(1, k2))[there]
    cap, thin = np.minimum(0.3 * steps, 0.006), np.minimum(1.2, 0.4 * points * steps)
    cap, thin = (np.broadcast_to(v, there.shape)[there] for v in (cap, thin))
    bottom, top = (end[there] for end in bars)
    ax.vlines(x, bottom, top, color="black", lw=thin)  # thin in narrow columns
    ax.hlines([*bottom, *top], [*(x - cap)] * 2, [*(x + cap)] * 2, color="black", lw=[*thin] * 2)
    return ax


def _move_apart(ax: Axes, axis: Any, names: list[str], middle: Array, edge: float) -> None:
    """Move labels from the middle of tiles as far as it takes not to overlap; lines lead there.

    The labels are those of an axis that is at `edge` of the other one.
    """
    across = axis is ax.xaxis
    box, whole = ax.bbox, max(ax.get_xlim()) if across else 1.0
    length, depth = (box.width, box.height) if across else (box.height, box.width)
    room = 72 * length / ax.figure.dpi
    size = min(float(axis.get_ticklabels()[0].get_fontsize()), room / len(names) / 1.2)
    axis.set_tick_params(labelsize=size)
    least = 1.2 * size / room * whole
    steps = least * np.arange(len(names))
    apart = np.maximum.accumulate(middle - steps) + steps
    places = np.minimum(apart, whole - least / 2 - steps[::-1])
    axis.set_ticks(places, names)
    reach = edge + 0.8 * _LEADER / 72 * ax.figure.dpi / depth * (1.0 if across else edge)
    for start, end in zip(middle, places, strict=True):
        if abs(start - end) > 0.2 * least:
            ends = [[start, end], [edge, reach]] if across else [[edge, reach], [start, end]]
            (line,) = ax.plot(*ends, color="0.5", lw=0.6, clip_on=False)
            line.set_in_layout(False)


def _departure_colours() -> tuple[Colormap, BoundaryNorm]:
    """Bands of z values: blue for too few, grey for nothing established, red for too many."""
    import matplotlib
    from matplotlib.colors import BoundaryNorm, ListedColormap

    ends = matplotlib.colormaps["RdBu_r"]([0.04, 0.15, 0.3, 0.7, 0.85, 0.96])
    grey = [0.88, 0.88, 0.88, 1.0]
    cmap = ListedColormap([*ends[:3].tolist(), grey, *ends[3:].tolist()])
    return cmap, BoundaryNorm(_BANDS, cmap.N, extend="both")


# -- Categories that a mosaic would draw too thin to read, merged into one ------------------------


_THIN = 0.015  # of the width or the height of a mosaic


@record
class Merging:
    """Which categories of a table are drawn together."""

    rows: Array  # (k1,) group of each category
    columns: Array  # (k2,)
    labels: tuple[Labels, Labels]  # of the groups

    @property
    def cells(self) -> Array:
        """Group of each cell, shape (k1 k2,)."""
        return (self.rows[:, None] * len(self.labels[1]) + self.columns).ravel()

    def sums(self, values: Array) -> pd.DataFrame:
        """Cells, (k1, k2), summed over their groups."""
        shape = tuple(map(len, self.labels))
        total = np.bincount(self.cells, np.ravel(values), minlength=shape[0] * shape[1])
        return pd.DataFrame(total.reshape(shape), *self.labels)

    def chosen(self, values: Array, merged: Array) -> Array:
        """The values, (k1 k2,), of cells that stay, and those `merged` of the others."""
        alone = np.bincount(self.cells) == 1
        out = np.array(merged, dtype=np.float64)
        out[self.cells[alone[self.cells]]] = np.ravel(values)[alone[self.cells]]
        return out


def merging(table: pd.DataFrame) -> Merging:
    """The merging of thin categories: rare rows (columns of a mosaic), tiles thin in every row."""
    p = table.to_numpy()
    wide = p.sum(axis=1)  # rows of frequency zero are not drawn, and stay
    rows, row_labels = _groups(table.index, (wide > 0.0) & (wide < _THIN * wide.sum()))
    p = np.array([p[rows == group].sum(axis=0) for group in range(len(row_labels))])
    wide = p.sum(axis=1)
    conditional = p[wide > 0.0] / wide[wide > 0.0, None]
    columns, column_labels = _groups(table.columns, (conditional < _THIN).all(axis=0))
    return Merging(rows, columns, (row_labels, column_labels))


def _groups(labels: Labels, thin: Array) -> tuple[Array, Labels]:
    """Groups of categories, the thin ones together in the last: two of them at least.

    Where fewer than two others were left, there would be nothing to see, and all stay.
    """
    n = int(thin.sum())
    if n < 2 or len(labels) - n < 2:
        return np.arange(len(labels)), labels
    groups = np.where(thin, len(labels) - n, np.cumsum(~thin) - 1)
    return groups, pd.Index([*labels[~thin], f"other ({n})"], dtype=object, name=labels.name)
