"""The plot of a symmetric matrix, such as Cramer's V of all pairs. Matplotlib is imported then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument
from ldpstats.models.shared.axes import axes_of, set_title
from ldpstats.models.shared.cells import (
    cell_size,
    colour_bar,
    draw_cells,
    hatch_cells,
    labels_of,
    longest_label,
    settle,
    write_cells,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_symmetric"]

Array = npt.NDArray[Any]


def plot_symmetric(
    values: pd.DataFrame,
    lower: pd.DataFrame | None = None,
    upper: pd.DataFrame | None = None,
    established: pd.DataFrame | None = None,
    ax: Axes | None = None,
    title: str = "",
    label: str = "",
    note: str = "",
    limits: tuple[float, float] = (0.0, 1.0),
) -> Axes:
    """Draw the pairs of k variables as a triangle of cells, with their intervals.

    `values` has the same k >= 2 labels in rows and columns; what is on the diagonal and above it is
    not drawn. Cells that are not `established` are hatched, which the `note` explains. nan is an
    empty cell. `label` names the colours, which run over `limits`.
    """
    V = _square("values", values, values)
    low, high = (V if ends is None else _square("bounds", ends, values) for ends in (lower, upper))
    told = np.ones(V.shape, bool) if established is None else _square("told", established, values)
    below = np.tri(len(V), k=-1, dtype=bool)
    rows, columns = labels_of(values.index[1:]), labels_of(values.columns[:-1])
    V, low, high, told, below = (M[1:, :-1] for M in (V, low, high, told.astype(bool), below))
    width, height = cell_size(len(rows), len(columns))
    own = ax is None
    size = 2.6 + 0.07 * longest_label(values.index) + len(columns) * width
    ax = axes_of(ax, size, 1.8 + len(rows) * height)
    known = np.where(below, V, np.nan)
    mesh = draw_cells(ax, np.ma.masked_invalid(known), _colours(limits), rows, columns)
    faces = mesh.to_rgba(known)
    hatched = below & ~told & np.isfinite(V)
    hatch_cells(ax, hatched, faces)
    ax.set_xlabel(note if hatched.any() else "")
    set_title(ax, title)
    settle(ax, colour_bar(ax, mesh, label), np.ones(len(columns)), own)
    write_cells(ax, _texts(known, low, high, lower is not None), faces, told)
    return ax


def _square(name: str, table: Any, like: Any) -> Array:
    """The numbers of a square table with the labels of another."""
    if not isinstance(table, pd.DataFrame) or not isinstance(like, pd.DataFrame):
        raise InvalidArgument(name, table, "must be a DataFrame")
    k = len(like)
    if k < 2 or table.shape != (k, k) or list(table.index) != list(like.columns):
        raise InvalidArgument(name, table, "must have the same two or more labels on both sides")
    return table.to_numpy()


def _colours(limits: tuple[float, float]) -> tuple[Any, Any]:
    import matplotlib
    from matplotlib.colors import Normalize

    return matplotlib.colormaps["Blues"], Normalize(*limits)


def _texts(V: Array, low: Array, high: Array, bounded: bool) -> list[list[str]]:
    """Texts of the cells with intervals, and without."""
    plain = [f"{v:.2f}" if np.isfinite(v) else "" for v in V.flat]
    ends = zip(plain, low.flat, high.flat, strict=True)
    full = [text and f"{text}\n[{a:.2f}, {b:.2f}]" for text, a, b in ends]
    return [full, plain] if bounded else [plain]
