"""The drawing of a device as a tree, from the first step on the left to the reports."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldpstats.devices.tree import Node
from ldpstats.errors import InvalidArgument, NotAvailable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_tree"]

_LONGEST_LINE = 26  # characters of a line in a box
_MOST_LINES = 4  # of a box
_MOST_LEAVES, _MOST_DEEP = 200, 25
_GAP = 0.8  # lines between boxes
_TOP = 0.6  # lines above the first
_PAD = 1.6  # characters around the text of a box
_EM, _LINE = 0.60, 1.25  # width of a character and height of a line, in font sizes
_FONT = 10.0
_INK, _STEP, _LEAF = "0.25", "#dbe7f3", "#f7ecd0"


@dataclass(frozen=True)
class _Box:
    """A node with its place: columns in characters, rows in lines."""

    text: str
    is_leaf: bool
    x: float
    y: float
    width: float
    branches: tuple[tuple[str, _Box], ...]


def draw_tree(tree: Node, ax: object = None) -> Axes:
    """Draw a tree on the axes given, or on new ones that are as large as it needs."""
    leaves, depth = tree.leaves, tree.depth
    if leaves > _MOST_LEAVES or depth > _MOST_DEEP:
        raise NotAvailable(
            f"a tree of {leaves} reports and {depth} steps is too large to draw: at most "
            f"{_MOST_LEAVES} and {_MOST_DEEP} can be read; draw a part of the device"
        )
    columns = _columns(tree)
    box, rows = _placed(tree, columns, 0, _TOP)
    across = max(right for right in _rights(box))
    axes, size = _axes(ax, across, rows)
    _draw(axes, box, size)
    axes.set_xlim(-0.5, across + 0.5)
    axes.set_ylim(rows, 0.0)
    axes.set_axis_off()
    return axes


def _columns(tree: Node) -> list[float]:
    """The left edge of the boxes at each depth, in characters."""
    widths: dict[int, int] = {}
    labels: dict[int, int] = {}
    for depth, node in _nodes(tree, 0):
        for branch in node.branches:  # a report may reach into the next columns: its row is empty
            widths[depth] = max(widths.get(depth, 0), _width(_wrapped(node.text)))
            text = _label(branch.outcomes, branch.chance)
            labels[depth] = max(labels.get(depth, 0), _width(text))
    lefts = [0.0]
    for depth in range(len(widths)):
        lefts.append(lefts[-1] + widths[depth] + 2 * _PAD + labels[depth] + 5.0)
    return lefts


def _rights(box: _Box) -> Iterator[float]:
    yield box.x + box.width
    for _, other in box.branches:
        yield from _rights(other)


def _nodes(node: Node, depth: int) -> Iterator[tuple[int, Node]]:
    yield depth, node
    for branch in node.branches:
        yield from _nodes(branch.node, depth + 1)


def _placed(node: Node, columns: list[float], depth: int, top: float) -> tuple[_Box, float]:
    """The box of a node below a row, and the row below all of its branches."""
    text = _wrapped(node.text)
    lines = text.count("\n") + 1
    row, below = top, []
    for branch in node.branches:
        label = _label(branch.outcomes, branch.chance)
        extra = float(label.count("\n"))
        box, row = _placed(branch.node, columns, depth + 1, row + extra)
        below.append((label, box))
    bottom = max(row, top + lines + _GAP + 0.4)
    middle = (below[0][1].y + below[-1][1].y) / 2 if below else (top + bottom - _GAP) / 2
    middle = max(middle, top + lines / 2)
    width = _width(text) + 2 * _PAD
    return _Box(text, node.is_leaf, columns[depth], middle, width, tuple(below)), bottom


def _axes(ax: object, across: float, rows: float) -> tuple[Axes, float]:
    """The axes, and the size of a font in which everything fits."""
    import matplotlib.axes
    import matplotlib.pyplot as plt

    if ax is None:
        size = max(_FONT, float(plt.rcParams["font.size"]))
        width, height = (across + 2) * _EM * size / 72, (rows + 0.6) * _LINE * size / 72
        figure = plt.figure(figsize=(max(width, 1.0), max(height, 0.6)))
        return figure.add_axes((0.0, 0.0, 1.0, 1.0)), size
    if not isinstance(ax, matplotlib.axes.Axes):
        raise InvalidArgument("ax", ax, "must be matplotlib Axes, for example plt.subplots()[1]")
    if ax.name != "rectilinear":
        raise InvalidArgument("ax", ax.name, "must be rectangular: these Axes are another kind")
    scale = 72 / ax.figure.dpi
    wide = ax.bbox.width * scale / ((across + 1) * _EM)
    high = ax.bbox.height * scale / ((rows + 0.4) * _LINE)
    return ax, min(_FONT, wide, high)


def _draw(ax: Axes, box: _Box, size: float) -> None:
    """Draw a box, the lines from it, and the boxes that follow."""
    right = box.x + box.width
    for label, other in box.branches:
        bend = right + 1.2
        xs, ys = [right, bend, bend, other.x], [box.y, box.y, other.y, other.y]
        ax.plot(xs, ys, color=_INK, linewidth=0.8, zorder=1)
        ax.text(bend + 0.8, other.y - 0.12, label, fontsize=0.92 * size, va="bottom", zorder=3)
        _draw(ax, other, size)
    lines = box.text.count("\n") + 1
    _patch(ax, box, lines)
    ax.text(box.x + box.width / 2, box.y, box.text, fontsize=size, ha="center", va="center")


def _patch(ax: Axes, box: _Box, lines: int) -> None:
    from matplotlib.patches import Rectangle

    height = lines + 0.35
    face: Any = _LEAF if box.is_leaf else _STEP
    corner = (box.x, box.y - height / 2)
    shape = Rectangle(corner, box.width, height, facecolor=face, edgecolor=_INK, linewidth=0.8)
    ax.add_patch(shape).set_zorder(2)


def _label(outcomes: str, chance: str) -> str:
    """The words over a branch: outcomes, and their probability."""
    text = _shown(outcomes)
    return f"{_wrapped(text)}  ({chance})" if chance else _wrapped(text)


def _wrapped(text: str) -> str:
    """Text in lines of a box, cut after some."""
    lines = textwrap.wrap(_shown(text), _LONGEST_LINE) or [" "]
    if len(lines) > _MOST_LINES:
        lines = lines[:_MOST_LINES]
        lines[-1] = f"{lines[-1][: _LONGEST_LINE - 3]}..."
    return "\n".join(lines)


def _width(text: str) -> int:
    """Columns of text in a font, where wide characters take two."""
    from unicodedata import east_asian_width

    return max(sum(2 if east_asian_width(c) in "WF" else 1 for c in v) for v in text.split("\n"))


def _shown(text: str) -> str:
    """Text without control characters and without mathematics."""
    return "".join(c if c.isprintable() else " " for c in text).replace("$", r"\$")
