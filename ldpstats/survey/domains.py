"""The distinct values of a column that an engine holds, and columns coded by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.engines.query import Query
from ldpstats.errors import InvalidArgument
from ldpstats.survey.columns import Column, as_column
from ldpstats.survey.tables import Table

__all__ = ["Domain", "series_of"]


@dataclass(frozen=True, eq=False)
class Domain:
    """What a column of a whole table holds.

    Kind, values and order of a column do not depend on the rows that are selected, so they are
    asked of the engine once.

    Attributes
    ----------
    raw : pyarrow array, shape (u,)
        Distinct values as they are stored, a missing one included.
    column : Column
        The same as a column of u rows.
    """

    raw: Any
    column: Column

    @classmethod
    def of(cls, query: Query, name: str, values: Any = None) -> Domain:
        """Ask for the distinct values of a column, unless they are among some `values` of it."""
        import pyarrow.compute as pc

        found = query.cells([name]).column(0) if values is None else pc.unique(values)
        raw = found.combine_chunks() if values is None else found
        return cls(raw, as_column(name, series_of(query, name, raw)))

    def coded(self, values: Any) -> Column:
        """A column of some of these values, such as rows of the table."""
        import pyarrow.compute as pc

        place = pc.index_in(values, value_set=self.raw)
        if place.null_count:
            remedy = "changed while it was in use: make the survey anew"
            raise InvalidArgument("column", self.column.name, remedy)
        at: npt.NDArray[np.int64] = np.asarray(place).astype(np.int64)
        return self.column.taken(at)


def series_of(query: Query, name: str, raw: Any) -> pd.Series[Any]:
    """Values of a column in pandas, ordered categories as such."""
    import pyarrow

    levels = query.levels(name)
    if levels is None:
        return Table.of(pyarrow.table({name: raw})).typed(name)
    kind = pd.CategoricalDtype(list(levels), ordered=True)
    return pd.Series(raw.to_pylist(), dtype=object).astype(kind)
