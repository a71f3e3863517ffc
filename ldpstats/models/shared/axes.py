"""Axes, labels, titles and legends of all plots. Matplotlib is imported when one is drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.models.shared.tables import distinct_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "LIGHT",
    "LONGEST_LINE",
    "axes_of",
    "axis_labels",
    "figure_of",
    "font_scale",
    "keep_in_cell",
    "lacks_layout",
    "legend_below",
    "luma",
    "percent_axis",
    "percent_text",
    "plain",
    "set_figure_title",
    "set_title",
    "shrink_labels",
    "text_colours",
    "title_text",
]

LIGHT = 0.55  # luma of a colour above which black is easier to read on it than white
LONGEST_LINE = 56  # characters of a line of a title
_CHARACTER = 0.55  # width of a character of a title, in font sizes
_LINE = 0.85  # of the height of a row that its label may take
_SMALLEST = 5.0  # points, of labels
_TICK_ROOM = 46.0  # points from one percentage on an axis to the next
_LEAST_SHARE = 0.3  # of their cell that axes keep when they make room for labels
_EDGE = 3.0  # pixels between what belongs to axes and the end of their cell


def axes_of(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes to draw on: those given, or new ones of this size in inches at the usual font."""
    import matplotlib.axes
    import matplotlib.pyplot as plt

    if ax is None:
        scale = font_scale()
        return plt.subplots(figsize=(scale * width, scale * height), layout="constrained")[1]
    if not isinstance(ax, matplotlib.axes.Axes):
        remedy = "must be matplotlib Axes, for example plt.subplots()[1]"
        if isinstance(ax, str):
            remedy += "; there is one kind of this plot, which needs no name"
        raise InvalidArgument("ax", ax, remedy)
    if ax.name != "rectilinear":
        raise InvalidArgument("ax", ax.name, "must be rectangular: these Axes are another kind")
    return ax


def font_scale() -> float:
    """How much larger than usual the font is, and figures must be."""
    import matplotlib

    return max(1.0, float(matplotlib.rcParams["font.size"]) / 10.0)


def figure_of(ax: Axes) -> Any:
    """The whole figure, of axes in a part of it too."""
    return ax.figure.canvas.figure


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
    lines = ["".join(c if c.isprintable() else " " for c in line) for line in text.splitlines()]
    return "\n".join(lines)


def set_title(ax: Axes, text: str) -> None:
    """Write a title in lines that are no wider than the axes."""
    lines = _in_lines(text, 72 * ax.bbox.width / ax.figure.dpi, LONGEST_LINE)
    ax.set_title(plain(lines), fontsize="medium")


def set_figure_title(figure: Any, text: str) -> None:
    """Write a title above all axes in lines that are no wider than the figure."""
    lines = _in_lines(text, 72 * figure.bbox.width / figure.dpi, 3 * LONGEST_LINE)
    figure.suptitle(plain(lines), fontsize="medium")


def _in_lines(text: str, room: float, most: int) -> str:
    """A title in lines that take this room in points, and have so many characters at most."""
    import matplotlib

    size = float(matplotlib.rcParams["font.size"])
    longest = int(np.clip(room / (_CHARACTER * size), 16, most))
    joined = text.replace(" = ", "\xa0=\xa0")  # "n = 1,000" stays on its line
    lines = [textwrap.fill(line, longest) for line in joined.split("\n")]
    return "\n".join(lines).replace("\xa0", " ")


def text_colours(faces: npt.ArrayLike) -> npt.NDArray[np.str_]:
    """Black or white, whichever is easier to read on colours (..., 4); by their luma."""
    return np.where(luma(faces) > LIGHT, "black", "white")


def luma(faces: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """How light colours (..., 4) are, from 0 to 1."""
    return np.asarray(np.asarray(faces)[..., :3] @ np.array([0.299, 0.587, 0.114]))


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
    size = float(ax.xaxis.label.get_fontsize())
    more = ax.get_xlabel().count("\n")
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
    first, last = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    region, box, whole = _cell(ax), ax.bbox.frozen(), ax.figure.bbox
    over = [*(region[:2] - first), *(last - region[2:])]
    left, bottom, right, top = (max(0.0, value + _EDGE) for value in over)
    room = np.array([box.width, box.height]) - _LEAST_SHARE * (region[2:] - region[:2])
    across, up = np.maximum(room, 0.0)
    left, bottom = min(left, across), min(bottom, up)
    right, top = min(right, across - left), min(top, up - bottom)
    for part, edge in ((ax, left), (beside, -right)):
        if part is not None and max(left, bottom, right, top) > 0.0:
            old = part.bbox.frozen()
            x, y = old.x0 + edge - whole.x0, old.y0 + bottom - whole.y0
            wide = old.width - (left + right if part is ax else 0.0)
            place = x, y, wide, old.height - bottom - top
            part.set_position(np.divide(place, np.tile([whole.width, whole.height], 2)))
            part.set_in_layout(True)  # a layout engine that the caller sets later includes them


def lacks_layout(ax: Axes) -> bool:
    """Whether nobody lays out the figure of these axes."""
    return figure_of(ax).get_layout_engine() is None


def _cell(ax: Axes) -> npt.NDArray[np.float64]:
    """Left, bottom, right and top, in pixels, of what belongs to axes: to the middle of gaps."""
    whole = ax.figure.bbox
    spec = ax.get_subplotspec()
    if spec is None:
        return np.array([whole.x0, whole.y0, whole.x1, whole.y1])
    spec = spec.get_topmost_subplotspec()  # a colour bar has taken a part
    figure: Any = ax.figure
    bottoms, tops, lefts, rights = spec.get_gridspec().get_grid_positions(figure)
    across = [0.0, *(np.add(rights[:-1], lefts[1:]) / 2), 1.0]
    down = [1.0, *(np.add(bottoms[:-1], tops[1:]) / 2), 0.0]
    rows, columns = spec.rowspan, spec.colspan
    x = whole.x0 + whole.width * np.array([across[columns.start], across[columns.stop]])
    y = whole.y0 + whole.height * np.array([down[rows.stop], down[rows.start]])
    return np.array([x[0], y[0], x[1], y[1]])
