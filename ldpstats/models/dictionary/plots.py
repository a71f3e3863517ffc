"""Figures of strings that nobody listed: their intervals, and the graph of their grams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, as_array, numbers
from ldpstats.errors import InvalidArgument
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.plots import LONGEST_LABEL as LONGEST_TICK
from ldpstats.models.plots import (
    axes_of,
    axis_labels,
    draw_estimates,
    interval_name,
    keep_in_cell,
    plain,
    plot_rows,
    set_title,
    sorts,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_NAME = 30
MOST_STRINGS = 10  # whose paths have colours that are told apart
_MOST_OTHERS = 5  # grams of a position that are drawn though no accepted string has them
_MOST_EDGES = 120  # that are drawn in grey
_MOST_POSITIONS = 5  # of which all pairs have their edges drawn, not those of neighbours alone
_LARGEST_NODE = 300.0  # points squared
_WIDEST_LINE = 5.0  # points
_GREY = "0.8"
_SHARED = "0.5"  # edges that several of the drawn strings have


# -- frequencies with intervals --------------------------------------------------------------------


def plot_dictionary(
    found: pd.DataFrame,
    true: pd.Series[float] | None,
    ax: Axes | None,
    alpha: float,
    most: int,
    sort: Any,
    title: str,
) -> Axes:
    """Draw frequencies of strings that were found and, by the truth, missed (FPE16 6 and 10)."""
    if true is None:
        rows, hidden = found.iloc[:most].assign(truth=np.nan), {"were found": len(found[most:])}
    else:
        rest = true.index[most:].isin(found.index)
        shown = [*true.index[:most], *found.index[~found.index.isin(true.index)]]
        rows = found.reindex(shown).assign(truth=true.reindex(shown).fillna(0.0))
        hidden = {"were found": int(rest.sum()), "were missed": int((~rest).sum())}
    if not sorts(sort):
        rows = rows.sort_index()
    is_found = rows["params"].notna().to_numpy()
    is_false = is_found & (rows["truth"] == 0.0).to_numpy()

    def draw(ax: Axes, at: Array) -> None:
        draw_estimates(ax, at[is_found], rows[is_found], interval_name(alpha))
        if is_false.any():
            label = "estimate of a string that nobody holds"
            ax.plot(rows["params"][is_false], at[is_false], "X", color="C1", label=label)
        if true is not None:
            ax.plot(rows["truth"], at, "d", color="C3", mfc="none", label="true frequency")
        if not len(rows):
            ax.set_xlim(0.0, 1.0)
            how: dict[str, Any] = {"transform": ax.transAxes, "ha": "center", "color": "0.4"}
            ax.text(0.5, 0.5, "no string was found", **how)

    labels = axis_labels(rows.index, LONGEST_TICK)
    labels = [t if f else f"{t}  (missed)" for t, f in zip(labels, is_found, strict=True)]
    left = [f"not shown: {n} rarer ones that {what}" for what, n in hidden.items() if n]
    ax = plot_rows(draw, labels, 0, ax, title, "\n".join(["frequency", *left]))
    for text, was_found in zip(ax.get_yticklabels(), is_found, strict=True):
        text.set_color("black" if was_found else "0.55")
    return ax


def read_truth(survey: DictionarySurvey, truth: Any) -> pd.Series[float]:
    """True frequencies by string as the survey reads it, the most frequent first."""
    remedy = "must be a Series of frequencies, whose index are strings"
    if isinstance(truth, pd.Series):
        labels, frequencies = list(truth.index), truth.to_numpy()
    elif isinstance(truth, Mapping):
        labels, frequencies = list(truth), as_array("truth", list(truth.values()), remedy)
    else:
        raise InvalidArgument("truth", truth, remedy)
    values = numbers("truth", frequencies, remedy)
    given = pd.Series(values, index=pd.Index(labels, dtype=object))
    if not all(isinstance(label, str) for label in labels):
        raise InvalidArgument("truth", truth, remedy)
    if not np.isfinite(given).all() or (given < 0.0).any() or given.sum() > 1.0 + 1e-6:
        raise InvalidArgument("truth", truth, "must be frequencies: in [0, 1], one in all")
    padded = survey.layout.strings("truth", given.index.tolist(), survey.replace)
    read = given.groupby(survey.layout.unpadded(padded)).sum()
    return read[read > 0.0].sort_values(ascending=False, kind="stable")


# -- the graph of grams (FPE16 Figure 5) -----------------------------------------------------------


def plot_graph(
    survey: DictionarySurvey,
    known: pd.DataFrame,
    edges: pd.DataFrame,
    n_edges: int,
    strings: pd.Series[float],
    n_hidden: int,
    ax: Axes | None,
    title: str,
) -> Axes:
    """Draw the graph of `known` grams, with accepted strings as paths through it.

    `n_hidden` strings are not drawn. Nodes are as large, and lines as wide, as their frequency. A
    path is dark grey where it shares an edge, dashed where a pair is no edge. The most frequent
    other grams and edges are drawn, too.
    """
    from matplotlib.collections import LineCollection

    starts = survey.layout.starts
    grams, paths = _nodes(survey, known, list(strings.index))
    lowest = float(grams["y"].max()) if len(grams) else 0.0
    ax = axes_of(ax, 2.6 + 1.05 * len(starts), 2.0 + 0.42 * max(lowest + 1.0, 3.0))
    # joint frequencies of all edges, by start and gram of both ends
    ends = ["start_1", "gram_1", "start_2", "gram_2"]
    present: pd.Series[float] = edges.set_index(ends)["estimate"]
    # the most frequent edges between drawn nodes, in grey
    x = grams["x"]
    farthest = 1.0 if x.nunique() > _MOST_POSITIONS else np.inf
    steps = [x.get(edge[2:], np.nan) - x.get(edge[:2], np.nan) for edge in present.index]
    shown = present[np.array(steps) <= farthest].nlargest(_MOST_EDGES)
    lines = [_curve(grams, edge[:2], edge[2:]) for edge in shown.index]
    widths = _widths(shown.to_numpy(), grams)
    ax.add_collection(LineCollection(lines, colors=_GREY, linewidths=widths, zorder=1))
    _draw_paths(ax, grams, paths, strings, present)
    _draw_nodes(ax, grams, survey.pad)
    hidden = {
        "strings": n_hidden,
        "grams": len(known) - len(grams),
        "edges": n_edges - len(shown),
    }
    rest = ", ".join(f"{n:,} {what}" for what, n in hidden.items() if n > 0)
    ax.set_xticks(range(len(starts)), [str(start + 1) for start in starts])
    notes = ["first character of the gram", *([f"not drawn: {rest}"] if rest else [])]
    ax.set_xlabel("\n".join(notes))
    ax.set_yticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlim(-0.5, len(starts) - 0.5 + (1.6 if len(strings) else 0.0))
    ax.set_ylim(lowest + 0.6, -1.0)
    set_title(ax, title)
    keep_in_cell(ax)
    return ax


def _nodes(
    survey: DictionarySurvey, known: pd.DataFrame, strings: list[str]
) -> tuple[pd.DataFrame, list[list[tuple[int, str]]]]:
    """Grams to draw by (start, gram): estimate, place, whether a string has it; and paths."""
    from scipy.optimize import isotonic_regression

    layout, n = survey.layout, len(strings)
    padded = layout.strings("strings", strings) if strings else np.empty(0, dtype="<U1")
    columns, parts = [], []
    for a, start in enumerate(layout.starts):
        own = layout.grams_at(padded, a).tolist() if strings else []
        # grams of the strings as near to their rows as goes where they are one row apart
        rows = pd.Series(np.arange(n, dtype=float)).groupby(np.array(own, dtype=object)).mean()
        rows = rows.sort_values(kind="stable")
        steps = np.arange(len(rows))
        apart = isotonic_regression(rows.to_numpy() - steps).x + steps
        y = pd.Series(np.clip(apart, steps, n - len(rows) + steps), rows.index)
        # the most frequent others below
        here = known[known["start"] == start].set_index("gram")["estimate"]
        here = here.sort_values(ascending=False, kind="stable")
        others = here.index[~here.index.isin(y.index)][:_MOST_OTHERS]
        below = pd.Series(n + 0.5 + np.arange(len(others)), others, dtype=float)
        column: pd.DataFrame = pd.concat([y, below]).to_frame("y")
        column["is_own"] = column.index.isin(y.index)
        column["estimate"] = here.reindex(column.index).fillna(0.0)
        column["x"] = float(a)
        columns.append(column.set_index(pd.MultiIndex.from_product([[start], column.index])))
        parts.append([(start, gram) for gram in own])
    return pd.concat(columns), [list(path) for path in zip(*parts, strict=True)]


def _widths(frequencies: Array, grams: pd.DataFrame) -> Array:
    """Widths of lines in proportion to frequencies, where a gram is as wide as the widest."""
    largest = max(float(grams["estimate"].max()), 1e-12)
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
    ax: Axes,
    grams: pd.DataFrame,
    paths: list[list[tuple[int, str]]],
    strings: pd.Series[float],
    present: pd.Series[float],
) -> None:
    """Each string from gram to gram, and its name with its frequency at the end."""
    import matplotlib
    from matplotlib.collections import LineCollection

    n, turbo = len(strings), matplotlib.colormaps["turbo"]
    widths = np.maximum(_widths(strings.to_numpy(), grams), 1.2)
    last = float(grams["x"].max()) if len(grams) else 0.0
    shared = Counter(pair for path in paths for pair in pairwise(path))
    for i, (string, path) in enumerate(zip(strings.index, paths, strict=True)):
        colour: Any = f"C{i}" if n <= MOST_STRINGS else turbo((i + 0.5) / n)
        pairs = list(pairwise(path))
        lines = [_curve(grams, a, b) for a, b in pairs]
        lines.append(np.vstack([_place(grams, path[-1]), [last + 0.45, float(i)]]))
        colours = [colour if shared[pair] == 1 else _SHARED for pair in pairs]
        styles = ["-" if (*a, *b) in present.index else (0, (2, 2)) for a, b in pairs]
        how: dict[str, Any] = {"linewidths": widths[i], "linestyles": [*styles, "-"], "zorder": 2}
        ax.add_collection(LineCollection(lines, colors=[*colours, colour], **how))
        label = f"{axis_labels([string], _LONGEST_NAME)[0]}  {100 * strings.iloc[i]:.1f}%"
        ax.text(last + 0.5, float(i), label, va="center", color=colour, fontsize="small")


def _draw_nodes(ax: Axes, grams: pd.DataFrame, pad: str) -> None:
    """Grams as nodes with their text, in which pads are seen."""
    from matplotlib.patheffects import withStroke

    if not len(grams):
        ax.text(0.5, 0.5, "no gram stood out", transform=ax.transAxes, ha="center", color="0.4")
        return
    largest = max(float(grams["estimate"].max()), 1e-12)
    area = np.maximum(_LARGEST_NODE * grams["estimate"].clip(lower=0.0) / largest, 10.0)
    faces = np.where(grams["is_own"], "0.25", "0.65")
    ax.scatter(grams["x"], grams["y"], s=area, c=faces, edgecolors="white", lw=0.5, zorder=3)
    halo = [withStroke(linewidth=2.5, foreground="white")]
    for (_, gram), node, size in zip(grams.index, grams.itertuples(), area, strict=True):
        text = gram.replace(pad, "\u2423") if not pad.isprintable() or pad.isspace() else gram
        ax.annotate(
            plain("".join(c if c.isprintable() else "?" for c in text)),
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
