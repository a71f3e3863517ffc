"""A survey whose rows stay where they are: on an engine that filters, groups and joins them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.engines.query import Query
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable
from ldpstats.reports.fingerprints import check_fingerprints
from ldpstats.survey.coded import Coded
from ldpstats.survey.columns import Column, as_numbers
from ldpstats.survey.conditions import Condition
from ldpstats.survey.domains import Domain, series_of
from ldpstats.survey.held import Collected, Derived, Held, coded_reports
from ldpstats.survey.pushed import expression, known
from ldpstats.survey.questionnaire import Questionnaire
from ldpstats.survey.tables import Table
from ldpstats.survey.waves import Waves

__all__ = ["Part", "Read", "Remote"]

_NULL = "make it null first, in SQL with NULLIF(column, code)"

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class OnEngine(Table):
    """The rows of a query as a table that reads a column when it is needed."""

    frame: Query

    @property
    def columns(self) -> tuple[str, ...]:
        return self.frame.columns

    def __len__(self) -> int:
        return len(self.frame)

    def _column(self, name: str) -> pd.Series[Any]:
        return series_of(self.frame, name, self.arrow(name))

    def arrow(self, name: str) -> Any:
        """A column as an array of Arrow."""
        return self.frame.rows([name]).column(name).combine_chunks()

    def check_marks(self, name: str, made_by: Any) -> None:
        digits = self.frame.cells([name]).column(0).to_pandas()
        try:
            check_fingerprints(f"column {name!r}", name, digits, made_by)
        except MechanismMismatch as error:  # it names the row of a cell
            found = re.search(r", row (\d+): ", str(error))
            first = found and self.frame.first(name, digits[int(found[1]) - 1])
            place = f", first in {first}: " if first else ": "
            text = re.sub(r", row \d+: ", lambda _: place, str(error), count=1)
            raise MechanismMismatch(text) from None

    def first(self, name: str) -> Any:
        if not self.frame.is_text(name):
            return None
        return self.frame.one(name)

    def stored(self, name: str) -> Any:
        return self.frame.stored(name)

    def _arranged(self, columns: Any) -> NoReturn:
        raise NotAvailable("tables of an engine are not changed: read them first")


@dataclass(frozen=True, eq=False)
class Read(OnEngine):
    """Columns of some rows or cells of a query, which were read."""

    read: Any = None  # pyarrow.Table

    def __len__(self) -> int:
        return int(self.read.num_rows)

    def arrow(self, name: str) -> Any:
        return self.read.column(name).combine_chunks()


@dataclass(frozen=True, eq=False)
class Remote(Derived):
    """Rows of a query, of which nothing is in memory.

    `whole` is about all rows, whatever is selected: a `Collected` table, or two `Waves`.
    """

    query: Query
    all_rows: Query
    domains: dict[str, Domain] = field(default_factory=dict, repr=False)
    empty: dict[str, bool] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, query: Query, questionnaire: Questionnaire, *how: Any) -> Remote:
        """All rows of a query, after the checks of a collected table, which takes the rest."""
        return cls(Collected(OnEngine("data", query), questionnaire, *how), query, query)

    @property
    def ordered(self) -> bool:
        return self.query.ordered

    def __len__(self) -> int:
        return len(self.query)

    def prepare(self, names: Iterable[str]) -> None:
        """Nothing: a column is read when an analysis asks for it."""

    def unasked(self, name: str) -> Column:
        return self.read([name]).unasked(name)

    def reported(self, name: str) -> Coded:
        return self.read([name]).reported(name)

    def where(self, condition: Condition) -> Remote:
        return replace(self, query=self.query.filtered(expression(condition, self)))

    def cells(
        self, names: Sequence[str], count: str | None = None
    ) -> tuple[Held, npt.NDArray[np.int64] | None]:
        found = self.query.cells(self.columns_of(names), count)
        last = found.num_columns - 1  # by place: a column of the table may be called n too
        n, found = found.column(last).to_numpy(), found.remove_column(last)
        if self.query is self.all_rows:
            self._learn(names, found)
        return Part(self, Read("data", self.query, read=found), n), n

    def weighted(
        self, names: Sequence[str], weights: Sequence[str], domain: Remote, factors: bool
    ) -> tuple[Part, Any]:
        """Distinct combinations of columns, and beside them `Query.weighted` sums.

        The sums say too which combinations are `inside` the domain, rows of these.
        """
        query = self.query
        filters = domain.query.filters
        found, sums = query.weighted(self.columns_of(names), weights, filters, factors)
        self._learn(names, found)
        n = sums.column("n").to_numpy()
        return Part(self, Read("data", query, read=found), n), sums

    def read(self, names: Sequence[str]) -> Held:
        if self.ordered:
            return Part(self, OnEngine("data", self.query))
        return Part(self, Read("data", self.query, read=self.query.rows(self.columns_of(names))))

    def _learn(self, names: Sequence[str], cells: Any) -> None:
        """Keep the distinct values of public columns, which all cells of a whole table have."""
        for name in names:
            known = name in self.domains or isinstance(self.whole, Waves)
            if not known and self.owner(name) is None:
                self.domains[name] = Domain.of(self.all_rows, name, cells.column(name))

    def domain(self, name: str) -> Domain:
        """The distinct values of a column in the whole table."""
        if name not in self.domains:
            self.domains[name] = self._domain(name)
        return self.domains[name]

    def _domain(self, name: str) -> Domain:
        if not isinstance(self.whole, Waves):
            return Domain.of(self.all_rows, name)
        wave, old = self.whole.sources[name]
        assert isinstance(wave, Remote)
        found = wave.domain(old)
        return replace(found, column=replace(found.column, name=name))

    # -- what conditions ask --------------------------------------------------------------------

    def compared(self, name: str) -> Any:
        """The type of a column of numbers or dates, which the engine compares; None of others."""
        import narwhals

        if self.owner(name) is not None or self.query.levels(*self.parts_of(name)) is not None:
            return None
        dtype = self.query.type(name)
        date = dtype == narwhals.Date or (dtype == narwhals.Datetime and dtype.time_zone is None)
        return dtype if dtype.is_numeric() or date else None

    def is_empty(self, name: str) -> bool:
        """Whether a column has no value in the whole table."""
        if isinstance(self.whole, Waves):
            wave, old = self.whole.sources[name]
            assert isinstance(wave, Remote)
            return wave.is_empty(old)
        if name not in self.empty:
            self.empty[name] = not len(self.all_rows.filtered(known(name, self.compared(name))))
        return self.empty[name]

    def distinct(self, names: Sequence[str]) -> tuple[Held, list[list[Any]]]:
        """The distinct values of a column in the whole table, or the pairs of two in these rows."""
        import pyarrow

        for name in names:
            self.refuse_private(name)
        columns = self.columns_of(names)
        if len(columns) == 1:
            read = pyarrow.table({columns[0]: self.domain(columns[0]).raw})
        else:
            read = self.query.cells(columns)
            read = read.remove_column(read.num_columns - 1)
        values = Part(self, Read("data", self.query, read=read))
        first = [next(iter(self.parts_of(name))) for name in names]
        return values, [read.column(column).to_pylist() for column in first]


@dataclass(frozen=True, eq=False)
class Part(Derived):
    """Rows or cells of a remote survey that are read into memory."""

    whole: Remote
    table: OnEngine
    n: Array | None = None  # how many respondents each cell stands for
    parsed: dict[str, Coded] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def respondents(self) -> int:
        return len(self) if self.n is None else int(self.n.sum())

    def some(self, rows: npt.NDArray[np.int64]) -> Held:
        if self.n is None or not isinstance(self.table, Read):
            return super().some(rows)
        table = replace(self.table, read=self.table.read.take(rows))
        return Part(self.whole, table, self.n[rows])

    def prepare(self, names: Iterable[str]) -> None:
        """Nothing: the columns were read, or are read one by one."""

    def numbers(self, argument: str, name: str) -> Array:
        return as_numbers(argument, name, self.table.typed(name))

    def unasked(self, name: str) -> Column:
        (column,) = self.parts_of(name)
        return self.whole.domain(column).coded(self.table.arrow(column))

    def reported(self, name: str) -> Coded:
        if name not in self.parsed:
            try:
                self.parsed[name] = coded_reports(self.table, self, name)
            except InvalidArgument as error:
                raise self._located(name, error) from None
        return self.parsed[name]

    def _located(self, name: str, error: InvalidArgument) -> InvalidArgument:
        """An error about a cell, with the place of the first such row of the whole table."""
        found = re.fullmatch(r"(.*), row (\d+)", error.name)
        if found is None:
            return error
        column = self._column(name, found[1])
        cells = self.table.arrow(column)
        value = cells[int(found[2]) - 1]
        remedy = re.sub(r" \(\d+ such values?\)", "", error.remedy)
        remedy = re.sub(r"leave it empty, or give Survey na=.*", "make it NULL", remedy)
        return type(error)(
            found[1], value.as_py(), f"{remedy}; {self._place(column, cells, value)}"
        )

    def _column(self, name: str, shown: str) -> str:
        """The column of a question that an error is about, as it is `shown` there."""
        if shown in self.columns:
            return shown
        parts = self.parts_of(name)
        beside = {f"{column}, cohort": cohort for column, cohort in parts.items()}
        return beside.get(shown) or next(iter(parts))

    def _place(self, column: str, cells: Any, value: Any) -> str:
        """How many rows hold a value, and the first of them, in words."""
        import pyarrow
        import pyarrow.compute as pc

        same = np.asarray(pc.index_in(cells, value_set=pyarrow.array([value], cells.type)))
        rows = np.flatnonzero(same == 0)
        times = rows.size if self.n is None else int(self.n[rows].sum())
        first = self.whole.query.first(column, value.as_py())
        return f"{times} row{'s' * (times != 1)}" + (f", the first in {first}" if first else "")
