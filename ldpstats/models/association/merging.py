"""Categories that a mosaic would draw too thin to read, merged into one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["Merging", "merging"]

Array = npt.NDArray[Any]

_THIN = 0.015  # of the width or the height of a mosaic


@dataclass(frozen=True, eq=False)
class Merging:
    """Which categories of a table are drawn together.

    Parameters
    ----------
    rows, columns : array of int, shape (k1,) and (k2,)
        Group of each category.
    labels : pair of Index
        Of the groups.
    """

    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    labels: tuple[pd.Index[Any], pd.Index[Any]]

    @property
    def cells(self) -> npt.NDArray[np.int64]:
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
    """The merging of categories of a table of frequencies that are too thin to read.

    Rows are columns of the mosaic: thin where they are rare. Columns are its tiles: thin where they
    are in every row. Rows of frequency zero are not drawn, and stay.
    """
    p = table.to_numpy()
    wide = p.sum(axis=1)
    rows, row_labels = _groups(table.index, (wide > 0.0) & (wide < _THIN * wide.sum()))
    p = np.array([p[rows == group].sum(axis=0) for group in range(len(row_labels))])
    wide = p.sum(axis=1)
    conditional = p[wide > 0.0] / wide[wide > 0.0, None]
    columns, column_labels = _groups(table.columns, (conditional < _THIN).all(axis=0))
    return Merging(rows, columns, (row_labels, column_labels))


def _groups(
    labels: pd.Index[Any], thin: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], pd.Index[Any]]:
    """Groups of categories, the thin ones together in the last: two of them at least.

    Where fewer than two others were left, there would be nothing to see, and all stay.
    """
    n = int(thin.sum())
    if n < 2 or len(labels) - n < 2:
        return np.arange(len(labels)), labels
    groups = np.where(thin, len(labels) - n, np.cumsum(~thin) - 1)
    return groups, pd.Index([*labels[~thin], f"other ({n})"], dtype=object, name=labels.name)
