"""Plots of estimates: axes, labels, titles and legends of all plots; rows, panels; progress bars.

Matplotlib is imported when one is drawn.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.estimators.solvers import watched
from ldpstats.labels import Labels, midpoints
from ldpstats.models.layout import distinct_lines, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_USUAL_WIDTH = 6.4  # inches of a figure, by the usual style
_LIGHT = 0.55  # luma of a colour above which black is easier to read on it than white
LONGEST_LINE = 56  # characters of a line of a title
_CHARACTER = 0.55  # width of a character of a title, in font sizes
_LINE = 0.85  # of the height of a row that its label may take
_SMALLEST = 5.0  # points, of labels
_TICK_ROOM = 46.0  # points from one percentage on an axis to the next
_LEAST_SHARE = 0.3  # of their cell that axes keep when they make room for labels
_EDGE = 3.0  # pixels between what belongs to axes and the end of their cell


def axes_of(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes to draw on: those given, or new ones of this size in inches by the usual style."""
    import matplotlib.axes

    if ax is None:
        new: Axes = new_figure(width, height).subplots()
        return new
    if not isinstance(ax, matplotlib.axes.Axes):
        remedy = "must be matplotlib Axes, for example plt.subplots()[1]"
        if isinstance(ax, str):
            remedy += "; there is one kind of this plot, which needs no name"
        raise InvalidArgument("ax", ax, remedy)
    if ax.name != "rectilinear":
        raise InvalidArgument("ax", ax.name, "must be rectangular: these Axes are another kind")
    return ax


def new_figure(width: float, height: float) -> Any:
    """A figure of this size in inches by the usual style: as wide and high as the style asks for.

    Its width goes by that of figures, its height by that of a line of text.
    """
    import matplotlib.pyplot as plt

    size = style("figure.figsize")[0] / _USUAL_WIDTH * width, style("font.size") / 10.0 * height
    return plt.figure(figsize=size, layout="constrained")


def style(name: str) -> Any:
    """What the style sheet in use says."""
    import matplotlib

    in_use: Any = matplotlib.rcParams
    return in_use[name]


def figure_of(part: Any) -> Any:
    """The whole figure, of axes or a part of it."""
    return part.figure.canvas.figure


# -- text ----------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Text that matplotlib shows as it is: two dollar signs would set mathematics."""
    return text.replace("$", r"\$")


def axis_labels(labels: Iterable[Any], longest: int) -> list[str]:
    """Labels on one line, shortened so that no two of them become equal."""
    return [plain(label) for label in distinct_lines(labels, longest)]


def percent_text(value: float, sign: str = "%") -> str:
    """A frequency in percent without needless digits: 0.025 is "2.5%"."""
    percent = float(f"{100.0 * value:.10g}") + 0.0  # no negative zero
    return f"{np.format_float_positional(percent, trim='-')}{sign}"


def title_text(title: Any, default: str) -> str:
    """The title to draw, without control characters: the default for None, "" for no title."""
    if title is not None and not isinstance(title, str):
        raise InvalidArgument("title", title, 'must be text, or "" for no title')
    text = default if title is None else str.__str__(title)
    return "\n".join(one_line(line, sys.maxsize) for line in text.splitlines())


def set_title(ax: Axes, text: str) -> None:
    """Write a title in lines that are no wider than the axes."""
    ax.set_title(plain(in_lines(text, ax, float(ax.title.get_fontsize()))))


def set_figure_title(figure: Any, text: str) -> None:
    """Write a title above all axes in lines that are no wider than the figure."""
    title = figure.suptitle("")
    title.set_text(plain(in_lines(text, figure, float(title.get_fontsize()), 3 * LONGEST_LINE)))


def in_lines(text: str, within: Any, size: float, most: int = LONGEST_LINE) -> str:
    """Text of a font size in lines that are no wider than axes or a figure, nor than `most`."""
    room = 72 * within.bbox.width / figure_of(within).dpi
    longest = int(np.clip(room / (_CHARACTER * size), 16, most))
    joined = text.replace(" = ", "\xa0=\xa0")  # "n = 1,000" stays on its line
    lines = [textwrap.fill(line, longest) for line in joined.split("\n")]
    return "\n".join(lines).replace("\xa0", " ")


# -- axes ----------------------------------------------------------------------------------


def percent_axis(ax: Axes, room: float | None = None, sign: str = "%") -> None:
    """Label the horizontal axis in percent, with as many ticks as there is room for, in points."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    room = 72 * ax.bbox.width / ax.figure.dpi if room is None else room
    ticks = int(np.clip(room / _TICK_ROOM, 2, 8))
    ax.xaxis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: percent_text(value, sign)))


def legend_below(ax: Axes) -> None:
    """Put the legend under the label of the horizontal axis, where it hides no estimate."""
    from matplotlib.transforms import ScaledTranslation

    if not ax.get_legend_handles_labels()[0]:
        return
    size, more = float(ax.xaxis.label.get_fontsize()), ax.get_xlabel().count("\n")
    drop = 14 + 2.4 * size + 1.25 * size * more  # points: ticks, their labels, lines of the label
    down = ScaledTranslation(0.0, -drop / 72, ax.figure.dpi_scale_trans)
    for columns in (4, 3, 2, 1):
        legend = ax.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=ax.transAxes + down,
            borderaxespad=0.0,
            ncols=columns,
            frameon=False,
            handlelength=1.2,
            columnspacing=1.2,
        )
        if legend.get_window_extent().width <= 1.2 * ax.bbox.width:
            break


def finish(ax: Axes, title: str, own: bool, rows: bool = False) -> None:
    """Title and legend, in a figure of their `own` or in axes of the caller.

    Labels of `rows` get the room that they need.
    """
    ax.spines[["top", "right"]].set_visible(False)
    for _ in range(1 if own else 2):  # labels may leave less room than axes have had
        set_title(ax, title)
        legend_below(ax)
        if own and rows:  # by labels that would take the room of the estimates and the title
            labels = ax.get_yticklabels()
            widest = max((label.get_window_extent().width for label in labels), default=0.0)
            figure, room = figure_of(ax), style("figure.figsize")[0] / _USUAL_WIDTH * _ROOM
            figure.set_figwidth(max(figure.get_figwidth(), widest / figure.dpi + room))
        elif not own and lacks_layout(ax):
            keep_in_cell(ax)
        elif not own:
            figure_of(ax).draw_without_rendering()
        if rows:
            shrink_labels(ax)


def shrink_labels(ax: Axes) -> None:
    """Make labels of rows small enough not to touch one another."""
    labels = ax.get_yticklabels()
    if not labels:
        return
    low, high = ax.get_ylim()
    row = 72 * ax.bbox.height / ax.figure.dpi / abs(high - low)
    size = max(_SMALLEST, _LINE * row / 1.2)
    if size < float(labels[0].get_fontsize()):
        ax.tick_params(axis="y", labelsize=size)


def keep_in_cell(ax: Axes, beside: Axes | None = None) -> None:
    """Shrink axes that nobody lays out until their labels and legend fit into their cell.

    What stands `beside` them on the right, a colour bar, moves along.
    """
    if not lacks_layout(ax):
        return
    extents = [part.get_tightbbox() for part in (ax, beside) if part is not None]
    boxes = np.array([extent.extents for extent in extents if extent is not None])
    # lower left and upper right corners, in pixels, of what belongs to the axes: to the middle of
    # gaps
    whole: Any = ax.figure.bbox
    region, spec = np.array([whole.p0, whole.p1]), ax.get_subplotspec()
    if spec is not None:
        spec, figure = spec.get_topmost_subplotspec(), ax.figure  # a colour bar has taken a part
        bottoms, tops, lefts, rights = spec.get_gridspec().get_grid_positions(figure)  # type: ignore[arg-type]
        across = [0.0, *(np.add(rights[:-1], lefts[1:]) / 2), 1.0]
        down = [1.0, *(np.add(bottoms[:-1], tops[1:]) / 2), 0.0]
        rows, columns = spec.rowspan, spec.colspan
        x, y = (across[columns.start], across[columns.stop]), (down[rows.stop], down[rows.start])
        region = region[0] + np.column_stack([x, y]) * whole.size
    room = np.maximum(ax.bbox.size - _LEAST_SHARE * np.ptp(region, axis=0), 0.0)
    over = region[0] - boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0) - region[1]
    low = np.clip(over[0] + _EDGE, 0.0, room)
    high = np.clip(over[1] + _EDGE, 0.0, room - low)
    for part, start in ((ax, low), (beside, np.array([-high[0], low[1]]))):
        if part is not None and max(*low, *high) > 0.0:
            p0, p1 = part.bbox.get_points() + np.array([start, -high])
            part.set_position(np.divide([*(p0 - whole.p0), *(p1 - p0)], np.tile(whole.size, 2)))
            part.set_in_layout(True)  # a layout engine that the caller sets later includes them


def lacks_layout(ax: Axes) -> bool:
    """Whether nobody lays out the figure of these axes."""
    return figure_of(ax).get_layout_engine() is None


# -- Tables drawn as cells: their texts, labels and colour bars ------------------------------------


_LONGEST_CELL = 24
_SIZES = (0.9, 0.8, 0.7, 0.6)  # of the font, of text in cells: the largest that fits
_APART = 0.2  # lumas of a cell and of its hatching
_LIGHTEST, _DARKEST = 0.75, 0.25  # lumas beyond which no lighter, or darker, hatching is seen
_PAD = 0.03  # between the axes and their colour bar, in widths of the axes
_BAR_TEXTS = 5.5  # width of the texts of a colour bar, in font sizes: five digits and two lines
_MOST_ROOM = 0.4  # for the colour bar and for what is left of it, each; in widths of the axes


def plot_cells(
    values: Array,
    labels: tuple[list[str], list[str]],
    texts: Sequence[list[str]],
    ax: Axes | None,
    title: str,
    names: tuple[str, str],
    bar: str,
    *,
    limits: tuple[float, float] = (0.0, 1.0),
    colours: tuple[Any, Any] | None = None,
    form: Any = "%g",
    certain: Array | None = None,
    hatched: Array | None = None,
    note: str = "",
) -> Axes:
    """Draw a table, (k1, k2), as cells in colours, the first row on top; nan is an empty cell.

    Of the `texts` of all cells, from long to short, those are written that fit; paler where it is
    not `certain`. The `note` is below the `names` of columns and rows where cells are `hatched`.
    The `bar` says what colours are: a map and a norm, or blues over the `limits`.
    """
    import matplotlib
    from matplotlib.colors import Normalize

    rows, columns = labels
    own, (k1, k2) = ax is None, values.shape
    width, height = float(np.clip(9.0 / k2, 0.36, 1.25)), float(np.clip(9.0 / k1, 0.32, 0.5))
    ax = axes_of(ax, 2.6 + 0.07 * max(map(len, rows)) + k2 * width, 1.8 + k1 * height)
    cmap, norm = colours or (matplotlib.colormaps["Blues"], Normalize(*limits))
    shown = np.ma.masked_invalid(values)
    mesh = ax.pcolormesh(shown, cmap=cmap, norm=norm, edgecolor="white", lw=0.5)
    ax.invert_yaxis()
    ax.set_xticks(np.arange(k2) + 0.5, columns)
    ax.set_yticks(np.arange(k1) + 0.5, rows)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    faces, said = mesh.to_rgba(values), [names[0]]
    light = faces[..., :3] @ np.array([0.299, 0.587, 0.114])  # their luma
    if hatched is not None and hatched.any():
        # so lightly that text can be read: lighter than the colour where text is black, if there is
        # room
        lighter = np.where(light > _LIGHT, light < _LIGHTEST, light < _DARKEST)
        greys = np.round(light + np.where(lighter, _APART, -_APART), 1)
        for grey in np.unique(greys[hatched]):
            these = np.argwhere(hatched & (greys == grey))
            hatch(ax, [(j, i, 1.0, 1.0) for i, j in these], f"{grey:.1f}")
        said.append(note)
    ax.set_xlabel("\n".join(filter(None, said)))
    ax.set_ylabel(names[1])
    set_title(ax, title)
    settle(ax, colour_bar(ax, mesh, bar, form), np.ones(k2), own)
    # as much in every cell as fits into all
    room = 0.94 * ax.bbox.width / k2, 0.9 * ax.bbox.height / k1
    for some, part in product(texts, _SIZES):
        size = part * style("font.size")
        trial = ax.text(0.5, 0.5, max(some, key=len), fontsize=size)
        extent = trial.get_window_extent()
        trial.remove()
        if extent.width <= room[0] and extent.height <= room[1]:
            break
    else:
        return ax
    dark = "black" if certain is None else np.where(certain, "black", "0.35")
    inks = np.where(light > _LIGHT, dark, "white")  # whichever is easier to read
    for (i, j), text in zip(np.ndindex(k1, k2), some, strict=True):
        how: dict[str, Any] = {"fontsize": size, "color": inks[i, j]}
        if text:
            ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", **how)
    return ax


def labels_of(index: Labels) -> list[str]:
    """Labels of rows or columns."""
    return axis_labels(index, _LONGEST_CELL)


def longest_label(index: Labels) -> int:
    """Characters of the longest label."""
    return max(map(len, labels_of(index)))


def variable_name(index: Labels, default: str) -> str:
    """The name of the variable whose categories these are."""
    name = default if index.name is None else index.name
    return plain(one_line(name, _LONGEST_CELL))


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
    """Turn labels upright where one is too wide; where they overlap still, leave some out."""
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


# -- A bar on standard error that shows how far a computation has come ----------------------------


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[..., None]]:
    """A bar that appears after a second; moved by (fraction, stage, rows that were read)."""
    from tqdm import tqdm

    form = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
    how = {"delay": 1, "leave": False, "bar_format": form}
    # without miniters a bar that was quick for a while would wait for ten seconds
    with tqdm(total=1.0, desc=what, miniters=0, **how) as bar:

        def advance(fraction: float, stage: str = "", rows: int = 0) -> None:
            bar.set_description_str(f"{what}: {stage}" if stage else what, refresh=False)
            if rows:
                rate = rows / max(1e-9, bar.format_dict["elapsed"])
                bar.set_postfix_str(f"{rows:,} rows, {rate:,.0f} a second", refresh=False)
            bar.update(fraction - bar.n)

        yield advance


@contextmanager
def maybe_bar(what: str, show: bool) -> Iterator[Callable[..., None]]:
    """`progress_bar` if it is to be shown, else what takes the same and shows nothing."""
    if not show:
        yield lambda *_, **__: None
        return
    with progress_bar(what) as advance:
        yield advance


def moved(advance: Callable[..., None], number: int, n: int) -> Callable[[float], None]:
    """What moves a bar over n files while one of them is read."""
    return lambda fraction: advance((number + fraction) / n)


@contextmanager
def fitting() -> Iterator[None]:
    """A bar of the likelihoods that are maximised meanwhile."""
    with progress_bar("fitting") as advance, watched(advance):
        yield


# -- Plots of estimates with their intervals, one line a category (forest plots) ------------------


LONGEST_LABEL = 30
_WIDTH = 7.0  # inches
_ROOM = 5.2  # inches beside the labels
_SHORT = 0.004  # of the range of all that is drawn: intervals that a line does not show


def sorts(sort: Any, labels: Labels | None = None) -> bool:
    """Whether rows are sorted by their estimates; None keeps bins of numbers in their order."""
    if sort is None and labels is not None:
        return midpoints(labels) is None
    if not isinstance(sort, bool | np.bool_) and not (isinstance(sort, str) and sort == "none"):
        remedy = "must be True, the largest estimate first, or False, the order of categories"
        raise InvalidArgument("sort", sort, remedy)
    return bool(sort) and sort != "none"


def shown_rows(params: Any, ties: Any, sort: bool, most: int) -> Array:
    """Positions of the largest estimates, at most so many: sorted, or in order of category."""
    largest = np.lexsort((-np.asarray(ties), -np.asarray(params)))[:most]
    return largest if sort else np.sort(largest)


def rows_height(rows: float) -> float:
    """Height in inches of a figure with so many rows."""
    return 1.8 + 0.26 * max(rows, 1)


def interval_name(alpha: float) -> str:
    """An interval in words."""
    return f"{100 * (1 - alpha):g}% interval"


# -- rows ----------------------------------------------------------------------------------


def draw_estimates(
    ax: Axes,
    at: Array,
    frame: pd.DataFrame,
    interval: str,
    detected: Array | None = None,
) -> None:
    """Draw `params` with `lower` and `upper` at heights; intervals too short to see are bars."""
    if not len(frame):
        return
    p, low, high = (frame[name].to_numpy() for name in ("params", "lower", "upper"))
    ax.axvline(0.0, color="0.8", lw=0.8, zorder=0)
    if np.isfinite(low).any():
        ax.hlines(at, low, high, color="C0", alpha=0.6, label=interval)
    drawn = np.concatenate([p, low, high, [0.0]])
    span = np.ptp(drawn[np.isfinite(drawn)])
    # elsewhere the estimate lies on a short interval, and shows where it is
    hidden = (high - low <= _SHORT * span) & ((low <= 0.0) | (high >= 1.0) | (p < low) | (p > high))
    if hidden.any():
        size, words = 2.0 * style("lines.markersize"), f"{interval} too short to see"
        how: dict[str, Any] = {"color": "C0", "ms": size, "mew": size / 6, "alpha": 0.6}
        ax.plot(low[hidden], at[hidden], "|", label=words, **how)
    kinds: list[tuple[Any, str, str]] = [(slice(None), "C0", "estimate")]
    if detected is not None:
        kinds = [(detected, "C0", "detected"), (~detected, "white", "not detected")]
    for some, face, label in kinds:
        ax.plot(p[some], at[some], "o", color="C0", mfc=face, label=label)
    ax.margins(x=0.03)  # everything is within the limits, a marker at an end is not cut


def draw_bars(
    ax: Axes, at: Array, frame: pd.DataFrame, interval: str, how: Mapping[str, Any] | None = None
) -> None:
    """Draw `params` as bars from zero with `lower` and `upper`; `how` says their looks."""
    look: dict[str, Any] = {"height": 0.7, "color": "C0", "label": "estimate"} | dict(how or {})
    p, low, high = (frame[name].to_numpy(float) for name in ("params", "lower", "upper"))
    ax.barh(at, p, alpha=0.6, **look)
    ax.hlines(at, low, high, color="0.15", label=interval)
    for ends in (low, high):
        ax.plot(ends, at, "|", color="0.15")


def name_rows(ax: Axes, labels: Sequence[str], n_more: int = 0) -> None:
    """Name rows from the top down, with a line about those that are not drawn."""
    at = np.arange(len(labels))[::-1]
    names = list(labels)
    if n_more:
        at, names = np.append(at, -1), [*names, f"and {n_more:,} more"]
    ax.set_yticks(at, names)
    ax.set_ylim(min(at, default=0) - 0.6, max(len(labels), 1) - 0.4)
    if n_more:
        more = ax.get_yticklabels()[-1]
        more.set_color("0.4")
        more.set_fontstyle("italic")


def plot_rows(
    draw: Callable[[Axes, Array], None],
    labels: Sequence[str],
    n_more: int,
    ax: Axes | None,
    title: str,
    name: str,
    sign: str | None = "%",
    lines: float = 1.0,
) -> Axes:
    """Rows that `draw` draws at their heights, under their labels; of `lines` lines each.

    `name` is that of the axis, which has percentages with their `sign`, or None numbers.
    """
    own = ax is None
    ax = axes_of(ax, _WIDTH, rows_height(lines * len(labels) + (n_more > 0)))
    draw(ax, np.arange(len(labels))[::-1])
    name_rows(ax, labels, n_more)
    ax.set_xlabel(name)
    ax.tick_params(axis="y", length=0)
    finish(ax, title, own, rows=True)
    if sign is not None:
        percent_axis(ax, sign=sign)
    return ax


def group_names(groups: Iterable[Any]) -> list[str]:
    """Names of groups; of several columns side by side."""
    return [", ".join(map(str, g)) if isinstance(g, tuple) else str(g) for g in groups]


# -- Small multiples: estimates of each group in a panel ------------------------------------------


_COLUMNS = 4  # panels side by side, at most
_PANEL = 2.3  # inches, width of a panel
_LONGEST_GROUP = 26  # characters, which are no wider than a panel
_PANEL_CHARACTER = 0.085  # inches, of a label


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
    draw: Callable[..., None] = draw_estimates,
) -> npt.NDArray[Any]:
    """Draw a panel for each group, with the same categories in the same rows; the Axes, (groups,).

    `frames` has, by group, a frame with `params`, `lower` and `upper` by category; at most
    `most_groups` are drawn. Categories are sorted by their mean over all groups. `draw` draws the
    rows of a panel.
    """
    from matplotlib.figure import FigureBase
    from matplotlib.layout_engine import ConstrainedLayoutEngine

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
        _PANEL * columns + 0.4 + _PANEL_CHARACTER * max(map(len, labels)),
        0.7 + rows * (rows_height(len(shown) + (n_more > 0)) - 0.8),
    )
    if figure is None:
        whole = new_figure(*size)
    elif not isinstance(whole := figure, FigureBase):
        remedy = "must be a matplotlib Figure, for example plt.figure(layout='constrained')"
        raise InvalidArgument("figure", figure, remedy)
    elif not isinstance(figure_of(whole).get_layout_engine(), ConstrainedLayoutEngine):
        figure_of(whole).set_layout_engine("constrained")  # no other makes room for the legend
    grid = whole.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    panels = grid.ravel()
    names = axis_labels(group_names(frames)[:n], _LONGEST_GROUP)
    if sizes:
        names = [f"{name}, n = {size:,}" for name, size in zip(names, sizes, strict=False)]
    at = np.arange(len(shown))[::-1]
    drawn: Array = panels[:n]
    for ax, name, frame in zip(drawn, names, frames.values(), strict=False):
        draw(ax, at, frame.reindex(shown), interval_name(alpha))
        set_title(ax, name)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
    for ax in grid[:, 0]:
        name_rows(ax, labels, n_more)
    for ax in panels[n:]:
        ax.remove()
    handles: dict[str, Any] = {}  # what any of the panels shows, each once
    for place, ax in enumerate(drawn):
        percent_axis(ax, 72 * _PANEL if figure is None else None)
        if place + columns >= n:  # the lowest of its column
            ax.tick_params(axis="x", labelbottom=True)
            ax.set_xlabel("frequency")
        some, texts = ax.get_legend_handles_labels()
        handles |= dict(zip(texts, some, strict=True))
    if words:
        set_figure_title(whole, words)
    rest = f"and {len(frames) - n:,} more groups" if len(frames) > n else None
    how: dict[str, Any] = {"loc": "outside lower center", "ncols": 3, "frameon": False}
    whole.legend(handles.values(), handles, title=rest, handlelength=1.2, **how)
    return drawn


# -- Latent classes and items ----------------------------------------------------------------------


def plot_class_lines(
    answers: pd.DataFrame, called: Mapping[str, str], alpha: float, ax: Axes | None, title: str
) -> Axes:
    """A line for each class through its probabilities of the answers, with their intervals.

    `answers`, indexed by answer and class, has "params", "lower" and "upper"; `called` the names of
    the classes.
    """
    rows = [str(row) for row in answers.index.unique(level=0)]

    def draw(ax: Axes, at: Array) -> None:
        for c, (name, label) in enumerate(called.items()):
            some, color = answers.xs(name, level=1).reindex(rows), f"C{c % 10}"
            own = at - 0.12 * (c - (len(called) - 1) / 2.0)
            ax.hlines(own, some["lower"], some["upper"], color=color, alpha=0.6)
            thin = style("lines.linewidth") / 2.0
            ax.plot(some["params"], own, "o-", lw=thin, color=color, label=plain(label))
        ax.set_xlim(-0.02, 1.02)

    name = f"probability of the answer, {interval_name(alpha)}"
    return plot_rows(draw, rows, 0, ax, title, name)


def plot_curves(
    curves: tuple[Array, Array], names: Sequence[str], ax: Axes | None, title: str
) -> Axes:
    """The probability of a yes, (m, J), by ability, (m,), a line for each of the J items."""
    own, (ability, yes) = ax is None, curves
    ax = axes_of(ax, 5.5, 3.8)
    for j, name in enumerate(names):
        style = "-" if j < 10 else "--"
        ax.plot(ability, yes[:, j], style, color=f"C{j % 10}", label=plain(one_line(name, 20)))
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("ability, in standard deviations")
    ax.set_ylabel("probability of yes")
    finish(ax, title, own)
    return ax
