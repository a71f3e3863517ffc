"""The graph of grams as a plot. Matplotlib is imported when it is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import positive_integer
from ldpstats.models.dictionary.plots import figure_title
from ldpstats.models.dictionary.record import Searched, Tested
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.shared.axes import (
    axes_of,
    axis_labels,
    keep_in_cell,
    plain,
    set_title,
    title_text,
)
from ldpstats.models.shared.fit import Fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_graph"]

Array = npt.NDArray[Any]

_LONGEST_LABEL = 30
_MOST_STRINGS = 10  # whose paths have colours that are told apart
_MOST_OTHERS = 5  # grams of a position that are drawn though no accepted string has them
_MOST_EDGES = 120  # that are drawn in grey
_MOST_POSITIONS = 5  # of which all pairs have their edges drawn, not those of neighbours alone
_LARGEST_NODE = 300.0  # points squared
_WIDEST_LINE = 5.0  # points
_GREY = "0.8"
_SHARED = "0.5"  # edges that several of the drawn strings have


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Grams that are drawn.

    Parameters
    ----------
    grams : DataFrame
        `estimate`, `x` (position), `y` and `is_own` (some drawn string has it), by (start, gram).
    paths : list of lists of (start, gram)
        A path for each drawn string.
    """

    grams: pd.DataFrame
    paths: list[list[tuple[int, str]]]


def plot_graph(
    fit: Fit,
    survey: DictionarySurvey,
    tested: Tested,
    searched: Searched,
    params: pd.Series[float],
    ax: Axes | None,
    max_strings: int | None,
    title: str | None = None,
) -> Axes:
    """Draw the graph of grams (FPE16 Figure 5), with the accepted strings as paths through it.

    Positions are columns, grams are nodes whose area is their frequency, lines are edges as wide as
    their joint frequency. A string's path has its colour, dark grey where it shares an edge with
    another, dashed where a pair is no edge. Beside the grams of the strings the most frequent
    others are drawn, and in light grey the most frequent edges (of neighbouring positions alone, if
    there are more than five); how many are left out is written below.
    """
    most = _MOST_STRINGS if max_strings is None else positive_integer("max_strings", max_strings)
    words = title_text(title, figure_title(fit, tested))
    strings = params.iloc[:most]
    nodes = _nodes(survey, searched.grams, list(strings.index))
    columns = len(survey.layout.starts)
    height = 2.0 + 0.42 * max(float(nodes.grams["y"].max()) + 1.0 if len(nodes.grams) else 1.0, 3.0)
    ax = axes_of(ax, 2.6 + 1.05 * columns, height)
    present = _present_edges(searched.edges)
    n_edges = _draw_edges(ax, nodes, present)
    _draw_paths(ax, nodes, strings, present)
    _draw_nodes(ax, nodes, survey.pad)
    hidden = {
        "strings": len(params) - len(strings),
        "grams": len(searched.grams) - len(nodes.grams),
        "edges": searched.n_edges - n_edges,
    }
    _name_columns(ax, survey.layout.starts, nodes, hidden, any_strings=len(strings) > 0)
    set_title(ax, words)
    keep_in_cell(ax)
    return ax


def _present_edges(edges: pd.DataFrame) -> pd.Series[float]:
    """Joint frequencies of all edges, by start and gram of both ends."""
    ends = ["start_1", "gram_1", "start_2", "gram_2"]
    present: pd.Series[float] = edges.set_index(ends)["estimate"]
    return present


def _nodes(survey: DictionarySurvey, known: pd.DataFrame, strings: list[str]) -> _Nodes:
    """The grams to draw, with their places."""
    layout = survey.layout
    padded = layout.strings("strings", strings) if strings else np.empty(0, dtype="<U1")
    columns, parts = [], []
    for a, start in enumerate(layout.starts):
        own = layout.grams_at(padded, a).tolist() if strings else []
        here = known[known["start"] == start].set_index("gram")["estimate"]
        column = _column(own, here.sort_values(ascending=False, kind="stable")).assign(x=float(a))
        columns.append(column.set_index(pd.MultiIndex.from_product([[start], column.index])))
        parts.append([(start, gram) for gram in own])
    return _Nodes(pd.concat(columns), [list(path) for path in zip(*parts, strict=True)])


def _column(own: list[str], known: pd.Series[float]) -> pd.DataFrame:
    """A position: grams of the strings near their rows, the most frequent others below."""
    rows = pd.Series(np.arange(len(own), dtype=float)).groupby(np.array(own, dtype=object)).mean()
    y = _places(rows, len(own))
    others = known.index[~known.index.isin(y.index)][:_MOST_OTHERS]
    below = pd.Series(len(own) + 0.5 + np.arange(len(others)), others, dtype=float)
    column: pd.DataFrame = pd.concat([y, below]).to_frame("y")
    column["is_own"] = column.index.isin(y.index)
    column["estimate"] = known.reindex(column.index).fillna(0.0)
    return column


def _places(wanted: pd.Series[float], rows: int) -> pd.Series[float]:
    """The places nearest to those wanted that are one row apart at least."""
    from scipy.optimize import isotonic_regression

    wanted = wanted.sort_values(kind="stable")
    steps = np.arange(len(wanted))
    apart = isotonic_regression(wanted.to_numpy() - steps).x + steps
    return pd.Series(np.clip(apart, steps, rows - len(wanted) + steps), wanted.index)


def _draw_edges(ax: Axes, nodes: _Nodes, present: pd.Series[float]) -> int:
    """The most frequent edges between drawn nodes in grey; how many were drawn."""
    from matplotlib.collections import LineCollection

    x = nodes.grams["x"]
    farthest = 1.0 if x.nunique() > _MOST_POSITIONS else np.inf
    steps = [x.get(edge[2:], np.nan) - x.get(edge[:2], np.nan) for edge in present.index]
    shown = present[np.array(steps) <= farthest].nlargest(_MOST_EDGES)
    lines = [_curve(nodes.grams, edge[:2], edge[2:]) for edge in shown.index]
    widths = _widths(shown.to_numpy(), nodes)
    ax.add_collection(LineCollection(lines, colors=_GREY, linewidths=widths, zorder=1))
    return len(shown)


def _widths(frequencies: Array, nodes: _Nodes) -> Array:
    """Widths of lines in proportion to frequencies, where a gram is as wide as the widest."""
    largest = max(float(nodes.grams["estimate"].max()), 1e-12)
    return np.maximum(_WIDEST_LINE * np.clip(frequencies, 0.0, None) / largest, 0.4)


def _place(grams: pd.DataFrame, node: Any) -> Array:
    return np.array([grams.at[node, "x"], grams.at[node, "y"]], dtype=np.float64)


def _curve(grams: pd.DataFrame, first: Any, second: Any) -> Array:
    """A line between two nodes, level at both ends; it passes above the nodes in between."""
    (x0, y0), (x1, y1) = _place(grams, first), _place(grams, second)
    t = np.linspace(0.0, 1.0, 25)
    y = y0 + (y1 - y0) * t * t * (3.0 - 2.0 * t)
    bulge = 0.0 if x1 - x0 < 1.5 else 0.5
    return np.column_stack([x0 + (x1 - x0) * t, y - bulge * np.sin(np.pi * t) ** 2])


def _draw_paths(
    ax: Axes, nodes: _Nodes, strings: pd.Series[float], present: pd.Series[float]
) -> None:
    """Each string from gram to gram, and its name with its frequency at the end."""
    from matplotlib.collections import LineCollection

    widths = np.maximum(_widths(strings.to_numpy(), nodes), 1.2)
    last = float(nodes.grams["x"].max()) if len(nodes.grams) else 0.0
    shared = Counter(pair for path in nodes.paths for pair in pairwise(path))
    for i, (string, path) in enumerate(zip(strings.index, nodes.paths, strict=True)):
        colour = _colour(i, len(strings))
        pairs = list(pairwise(path))
        lines = [_curve(nodes.grams, a, b) for a, b in pairs]
        lines.append(np.vstack([_place(nodes.grams, path[-1]), [last + 0.45, float(i)]]))
        colours = [colour if shared[pair] == 1 else _SHARED for pair in pairs]
        styles = ["-" if (*a, *b) in present.index else (0, (2, 2)) for a, b in pairs]
        how: dict[str, Any] = {"linewidths": widths[i], "linestyles": [*styles, "-"], "zorder": 2}
        ax.add_collection(LineCollection(lines, colors=[*colours, colour], **how))
        label = f"{axis_labels([string], _LONGEST_LABEL)[0]}  {100 * strings.iloc[i]:.1f}%"
        ax.text(last + 0.5, float(i), label, va="center", color=colour, fontsize="small")


def _colour(i: int, n: int) -> Any:
    import matplotlib

    return f"C{i}" if n <= _MOST_STRINGS else matplotlib.colormaps["turbo"]((i + 0.5) / n)


def _draw_nodes(ax: Axes, nodes: _Nodes, pad: str) -> None:
    from matplotlib.patheffects import withStroke

    frame = nodes.grams
    if not len(frame):
        ax.text(0.5, 0.5, "no gram stood out", transform=ax.transAxes, ha="center", color="0.4")
        return
    largest = max(float(frame["estimate"].max()), 1e-12)
    area = np.maximum(_LARGEST_NODE * frame["estimate"].clip(lower=0.0) / largest, 10.0)
    faces = np.where(frame["is_own"], "0.25", "0.65")
    ax.scatter(frame["x"], frame["y"], s=area, c=faces, edgecolors="white", lw=0.5, zorder=3)
    halo = [withStroke(linewidth=2.5, foreground="white")]
    for (_, gram), node, size in zip(frame.index, frame.itertuples(), area, strict=True):
        ax.annotate(
            _visible(gram, pad),
            (node.x, node.y),
            (0.0, np.sqrt(size) / 2.0 + 1.5),
            textcoords="offset points",
            ha="center",
            va="bottom",
            color="black" if node.is_own else "0.5",
            family="monospace",
            fontsize="small",
            path_effects=halo,
            zorder=4,
        )


def _visible(gram: str, pad: str) -> str:
    """A gram with its pads to be seen, and without mathematics."""
    shown = gram.replace(pad, "\u2423") if not pad.isprintable() or pad.isspace() else gram
    return plain("".join(c if c.isprintable() else "?" for c in shown))


def _name_columns(
    ax: Axes, starts: Sequence[int], nodes: _Nodes, hidden: Mapping[str, int], any_strings: bool
) -> None:
    ax.set_xticks(range(len(starts)), [str(start + 1) for start in starts])
    rest = ", ".join(f"{n:,} {what}" for what, n in hidden.items() if n > 0)
    notes = ["first character of the gram", *([f"not drawn: {rest}"] if rest else [])]
    ax.set_xlabel("\n".join(notes))
    ax.set_yticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    lowest = float(nodes.grams["y"].max()) if len(nodes.grams) else 0.0
    ax.set_xlim(-0.5, len(starts) - 0.5 + (1.6 if any_strings else 0.0))
    ax.set_ylim(lowest + 0.6, -1.0)
