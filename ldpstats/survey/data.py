"""What a survey rests on: a collected table, some of its rows, or two waves side by side.

`Held` is what analyses ask of either. Its table is in memory, or an engine's of which columns are
read when they are needed; while it is `remote` an engine filters, counts and joins the rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import filterfalse
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, as_array, check_slice, record
from ldpstats.engines.base import picked, running
from ldpstats.engines.others import is_files, opened
from ldpstats.engines.parquet import found_files
from ldpstats.engines.query import Query, known
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable
from ldpstats.io.reports import STORED_FINGERPRINT, check_stored
from ldpstats.io.storage import FilePath, checked_path, refusal
from ldpstats.io.tables import (
    BY_PANDAS,
    coded,
    columns_shown,
    csv_lines,
    missing_texts,
    table_chunks,
    unguarded,
    whole_counts,
)
from ldpstats.mechanisms import ByColumn, Mechanism
from ldpstats.mechanisms.custom import Enumerated
from ldpstats.mechanisms.designs import DesignFunction
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.layout import count_of
from ldpstats.reports.layout import (
    check_fingerprints,
    cohort_beside,
    cohort_column,
    cohort_labels,
    fingerprint_column,
)
from ldpstats.reports.single import Reports
from ldpstats.survey.conditions import Condition, Pushed, is_mask, sides
from ldpstats.survey.questionnaire import (
    Coded,
    Questionnaire,
    as_dictionary,
    as_observed,
    as_reports,
    observed_column,
    refuse_labels,
)
from ldpstats.survey.questions import FINGERPRINTS
from ldpstats.survey.tables import (
    Column,
    Table,
    as_column,
    as_numbers,
    check_names,
    missing_codes,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Held:
    """Rows of reports and of public columns, one a respondent, in memory or on an engine."""

    questionnaire: Questionnaire
    table: Any  # a `Table`
    owners: Mapping[str, str]  # the question of each column of reports or of their cohorts
    parts: Mapping[str, Mapping[str, str | None]]  # columns of each question, and their cohorts'
    marks: Sequence[str] = ()  # columns of fingerprints that there may be
    remote: bool = False  # whether an engine is asked about the rows, and holds them
    rows: npt.NDArray[np.int64] | None = None  # those selected in memory, each at most once
    n: Array | None = None  # how many respondents each row of the table stands for; None: one
    lost: tuple[int, int] = (0, 0)  # persons left out when waves were matched: in one of them only
    origins: Mapping[str, str] = field(default_factory=dict)  # names of questions in their waves
    kept: bool = False  # whether devices kept their responses from one of these waves to the next
    parsed: dict[str, Coded] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, table: Table, questionnaire: Questionnaire, cohorts: Mapping[str, str], whole: bool
    ) -> Held:
        """Check that the reports of a table are of a questionnaire.

        `cohorts`: their columns, by reports, if not NAME_cohort. If it is not `whole`, but some
        mechanisms, its own fingerprint need not be met.
        """
        own, makers_of = dict[str, str](), dict[str, Any]()
        family = questionnaire.in_wave(None)  # tables have the fingerprint of all waves
        marks: dict[str, Any] = {FINGERPRINTS: family} if whole else {}
        for question in questionnaire.entries:
            makers_of[question.name] = maker = question.layout.made_by
            marks[fingerprint_column(question.name)] = maker
            for column in question.columns:
                own[column] = question.name
                table.check_column(column, "question")
        beside = [*map(fingerprint_column, own), *map(cohort_column, own)]
        table.prepare([FINGERPRINTS, *beside, *own])
        for column, made_by in marks.items():
            if column in table.columns:
                table.check_marks(column, made_by)
        for column, name in own.items():
            if stored := table.stored(column):
                check_stored(f"column {column!r}", stored, makers_of[name])
                if whole:
                    check_stored(f"column {column!r}", stored, family, STORED_FINGERPRINT)
        others, known, parts = {*table.columns} - {*own}, dict(cohorts), {}
        for question in questionnaire.entries:
            designs: Sequence[str] = ()
            for column, mechanism in question.mechanisms.items():
                has = mechanism.n_cohorts or mechanism.cohort_names
                if isinstance(mechanism, ByColumn):
                    if table.first(column) not in mechanism.outputs:  # with the design before it
                        designs = mechanism.columns
                        for beside_it in designs:
                            table.check_column(beside_it, f"by_column of {column!r}")
                            if own.get(beside_it) in questionnaire.private:
                                remedy = "is private: name public columns, which say the design"
                                raise InvalidArgument("columns", beside_it, remedy)
                elif has and column not in known and cohort_column(column) in others:
                    first = table.first(column)
                    if cohort := cohort_beside(column, mechanism, others, first):
                        known[column] = cohort
            named = zip(question.columns, map(known.get, question.columns), strict=True)
            parts[question.name] = dict(named) | dict.fromkeys(designs)
        return cls(
            questionnaire=questionnaire,
            table=table,
            remote=isinstance(table, OnEngine),
            owners=own | {known[column]: name for column, name in own.items() if column in known},
            parts=parts,
            marks=(FINGERPRINTS, *marks),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        found: tuple[str, ...] = self.table.columns
        return found

    @property
    def public_columns(self) -> tuple[str, ...]:
        """Names of those that hold neither reports nor fingerprints."""
        return tuple(filterfalse({*self.owners, *self.marks}.__contains__, self.columns))

    def owner(self, name: str) -> str | None:
        """The question that a column belongs to."""
        return self.owners.get(name, name if name in self.questionnaire else None)

    def parts_of(self, name: str) -> Mapping[str, str | None]:
        """The columns of a question, each with that of its cohorts; a public column is its own."""
        if name in self.questionnaire:
            return self.parts[name]
        self.table.check_column(name)
        return {name: None}

    def origin(self, name: str) -> str:
        """What a question is called where waves are not told apart."""
        return self.origins.get(name, name)

    @property
    def index(self) -> pd.Index[Any]:
        """Labels of these rows: their numbers in the table from 0, but for tables of pandas."""
        found: pd.Index[Any] = self.table.index
        return found if self.rows is None else found.take(self.rows)

    def __len__(self) -> int:
        return len(self.table if self.rows is None else self.rows)

    @property
    def respondents(self) -> int:
        """How many respondents the rows are."""
        return len(self) if self.n is None else int(self._taken(self.n).sum())

    def _taken(self, values: Array) -> Array:
        """Values of the rows of the table, (n,), for these rows."""
        return values if self.rows is None else values[self.rows]

    @property
    def query(self) -> Any:
        """The `Query` that is asked about the rows; None where they are in memory."""
        return self.table.frame if self.remote else None

    @property
    def ordered(self) -> bool:
        """Whether rows stay in one order, however often they are read."""
        return not self.remote or bool(self.query.ordered)

    # -- selecting and reading rows ----------------------------------------------------------------

    def on(self, query: Query) -> Self:
        """The rows of another query of the same table."""
        return replace(self, table=replace(self.table, frame=query))

    def part(self, read: Any, n: Array | None = None) -> Self:
        """Rows, or cells of n respondents, of which these columns were read; None: not yet."""
        table = replace(self.table, read=read)
        return replace(self, remote=False, table=table, n=n, parsed={})

    def read(self, names: Sequence[str]) -> Self:
        """All rows in memory, as far as these questions and columns need them."""
        if not self.remote:
            return self
        return self.part(None if self.ordered else self.query.rows(self.columns_of(names)))

    def taken(self, rows: npt.NDArray[np.int64]) -> Self:
        """Some rows in memory: positions, each at most once."""
        held = self.read(self.columns)
        return replace(held, rows=rows if self.rows is None else self.rows[rows])

    def masked(self, mask: object, argument: str = "mask") -> Self:
        """The rows that a mask or a slice chooses; see `Survey.__getitem__`."""
        if not self.ordered:
            raise NotAvailable("rows of this table have no order: select them by where(condition)")
        n = len(self)
        if isinstance(mask, slice):
            check_slice(argument, mask, n)
            rows = np.arange(n)[mask]
        else:
            remedy = f"must be True or False for each of the {n} rows, or a slice"
            chosen = as_array(argument, mask, remedy)
            if chosen.dtype != bool or chosen.shape != (n,):
                raise InvalidArgument(argument, mask, remedy)
            if isinstance(mask, pd.Series) and not mask.index.equals(self.index):
                # it would choose other rows than it means
                remedy = "has another index than the rows of the survey, or another order: make it "
                remedy += "from the same table, .reindex it, or pass .to_numpy() if its order is "
                remedy += "that of the rows"
                raise InvalidArgument(argument, "Series", remedy)
            rows = np.flatnonzero(chosen)
        if not rows.size:
            raise InvalidArgument(argument, mask, "chooses nobody")
        return self.taken(rows)

    def where(self, condition: Any) -> Self:
        """The rows that a condition, an expression of Narwhals or a mask chooses; see `read`."""
        if is_mask(condition):
            return self.masked(condition, "where")
        if isinstance(condition, Condition):
            self.table.prepare(condition.columns())
            true = sides(condition, self.tested)[0]
        elif self.remote:
            public = picked(self.query.frame(self.query.engine.session()), self.public_columns)
            self.query.tried(lambda: check_expression(condition, public))
            true = condition.fill_null(False)
        else:
            true = self._evaluated(condition)
        return self.chosen(true)

    def chosen(self, true: Any) -> Self:
        """The rows where a mask is true, (n,), or on an engine an expression of Narwhals."""
        if self.remote:
            return self.on(self.query.filtered(true))
        return self.taken(np.flatnonzero(true))

    def _evaluated(self, expression: Any) -> Any:
        """Where an expression of Narwhals is true, in memory."""
        import narwhals
        import pyarrow

        self.table.prepare(self.public_columns)
        columns = {}
        for name in self.public_columns:
            with suppress(InvalidArgument, OverflowError):  # of values that it may not ask for
                column = self.public(name)
                if column.ordered is None:  # whole numbers stay whole beside missing ones
                    values = pyarrow.array(column.values)
                    cells = values.take(pyarrow.array(column.codes, mask=column.missing))
                else:
                    cells = pyarrow.array(column.plain(), from_pandas=True)
                columns[name] = cells
        frame = narwhals.from_native(pyarrow.table(columns))
        with running("where", repr(expression)):
            check_expression(expression, frame)
            made = frame.with_columns(expression.alias("where")).get_column("where")
        if len(made) != len(self):
            raise InvalidArgument("where", expression, "the table has no public column")
        return made.fill_null(False).to_numpy()

    def tested(self, name: str) -> Column:
        """The column of a condition."""
        if not self.remote:
            return self.public(name)
        import narwhals
        import pyarrow

        if self.owner(name) is None and self.table.levels(*self.parts_of(name)) is None:
            dtype = self.query.type(name)
            date = dtype == narwhals.Date or (dtype == narwhals.Datetime and not dtype.time_zone)
            if date or dtype.is_numeric():
                kind, none = "date" if date else "number", np.empty(0, dtype=np.int64)
                return Pushed(name, kind, none, none, dtype=dtype, rows=self)
        self.refuse_private(name)
        (column,) = self.columns_of([name])
        return self._cells([name], pyarrow.table({column: self.table.domain(column)[0]}))[0]

    def pairs(self, *names: str) -> list[Pushed]:
        """Two columns of the distinct pairs of values in rows on an engine."""
        cells = self.query.cells(self.columns_of(names))
        return self._cells(names, cells.remove_column(cells.num_columns - 1))

    def _cells(self, names: Sequence[str], read: Any) -> list[Pushed]:
        part, found = self.part(read), []
        for name in names:
            cells = read.column(next(iter(self.parts_of(name)))).to_pylist()
            found.append(Pushed(**vars(part.public(name)), cells=cells, rows=self))
        return found

    def cells(
        self, names: Sequence[str], count: str | None = None
    ) -> tuple[Self, npt.NDArray[np.int64] | None]:
        """Rows (on an engine distinct ones) of these columns; respondents of each, None: one."""
        if not self.remote:
            if count is None:
                return self, None
            times = whole_counts(f"column {count!r}", self.table.typed(count), 0)
            return self, self._taken(times)
        cells = self.query.cells(self.columns_of(names), count)
        last = cells.num_columns - 1  # by place: a column of the table may be called n too
        n, cells = cells.column(last).to_numpy(), cells.remove_column(last)
        if not self.query.filters:
            self._learn(names, cells)
        return self.part(cells, n), n

    def weighted(
        self, names: Sequence[str], weights: Sequence[str], domain: Held, factors: bool
    ) -> tuple[Self, Any]:
        """Distinct combinations of columns, and `Query.weighted` sums; which are in the domain."""
        filters = domain.query.filters
        cells, sums = self.query.weighted(self.columns_of(names), weights, filters, factors)
        self._learn(names, cells)
        return self.part(cells, sums.column("n").to_numpy()), sums

    def _learn(self, names: Sequence[str], cells: Any) -> None:
        """Keep the distinct values of public columns, which all cells of a whole table have."""
        for name in names:
            if self.owner(name) is None:
                self.table.learn(name, cells.column(name))

    # -- columns -----------------------------------------------------------------------------------

    def columns_of(self, names: Iterable[str]) -> list[str]:
        """All columns that these questions and public columns rest on."""
        parts = [pair for name in names for pair in self.parts_of(name).items()]
        return list(dict.fromkeys(c for pair in parts for c in pair if c is not None))

    def numbers(self, argument: str, name: str) -> Array:
        """A public column of numbers, (n,), NaN where one is missing; `argument` names it."""
        return self._taken(as_numbers(argument, name, self.table.typed(name)))

    def unasked(self, name: str) -> Column:
        """A column that no question has."""
        found: Column = self.table.as_column(name)
        return found if self.rows is None else found.taken(self.rows)

    def reported(self, name: str) -> Coded:
        """The reports of a question."""
        if self.remote:
            return self.read([name]).reported(name)
        if name not in self.parsed:
            self.parsed[name] = self._parsed(name)
        found = self.parsed[name]
        return found if self.rows is None else found.taken(self.rows)

    def _parsed(self, name: str) -> Coded:
        """The reports of a question in all rows of the table."""
        if isinstance(self.table, Joined):
            return self.table.reported(name)
        question, parts = self.questionnaire.question(name), self.parts_of(name)
        columns, cohorts, mechanism = [], {}, None
        try:
            for own, (column, cohort) in zip(question.columns, parts.items(), strict=False):
                mechanism, labels = question.mechanisms.get(own), None
                if isinstance(mechanism, Enumerated):
                    alone = cohort is None and len(parts) == len(question.columns)
                    labels = mechanism.outputs if alone else cohort_labels(mechanism)
                columns.append((column, self.table.reports(column, labels)))
                if cohort is not None:
                    cohorts[column] = self.table.column(cohort)
            if isinstance(question.made_by, DictionarySurvey):
                return as_dictionary(name, question.made_by, columns, cohorts)
            ((column, reports),) = columns
            assert mechanism is not None  # of the one column that all others have
            if isinstance(mechanism, ByColumn) and len(parts) > 1:
                named = list(parts)[1:]  # in waves with a suffix
                values = dict(zip(mechanism.columns, map(self.table.column, named), strict=True))
                return as_reports(name, mechanism, reports, mechanism.cohorts_in(values))
            return as_reports(name, mechanism, reports, cohorts.get(column))
        except InvalidArgument as error:
            raise self.table.located(error, parts, self.n) from None

    def public(self, name: str) -> Column:
        """A column without noise: public, or of an unprotected question."""
        self.refuse_private(name)
        if self.owner(name) is None:
            return self.unasked(name)
        return observed_column(name, self.reported(name))

    def refuse_private(self, name: str) -> None:
        """Refuse a column of a private question where one without noise is needed."""
        question = self.owner(name)
        if question in self.questionnaire.private:
            made_by = self.questionnaire[question]
            if question != name and isinstance(made_by, Mechanism) and made_by.cohort_names:
                remedy = f"says with which device {question!r} was asked: all groups are fitted "
                remedy += f"together, by survey.frequencies({question!r})"
                raise InvalidArgument("column", name, remedy)
            remedy = (
                "is private: a noisy report is not an answer, and rows chosen by it are not those "
                f"of the answer; use survey.association({question!r}, ...), whose conditional() "
                "compares by true answers"
            )
            raise InvalidArgument("column", name, remedy)

    def answered(self, names: Sequence[str]) -> Any:
        """How many of these columns each row has a value in: numbers, or an expression of them."""
        if not self.remote:
            self.table.prepare(names)
            return sum((self.coded(name).present for name in names), np.zeros(len(self), dtype=int))
        import narwhals

        total = narwhals.lit(0)
        for name in names:
            column = next(iter(self.parts_of(name)))
            there = known(column, self.query.type(column))
            if self.query.is_text(column):
                there = there & (narwhals.col(column).str.strip_chars() != "")
            total = total + there.cast(narwhals.Int64)
        return total

    @cached_property
    def is_full(self) -> Any:
        """Where as many private questions were answered as `ask=` drew: others were not asked."""
        return self.answered(self.questionnaire.private) == self.questionnaire.ask

    def coded(self, name: str) -> Coded:
        """The reports of a question, or a public column as one without protection."""
        if name in self.questionnaire:
            return self.reported(name)
        return as_observed(self.public(name))


def check_expression(expression: Any, public: Any) -> None:
    """Refuse an expression of Narwhals that does not choose rows by columns of a frame."""
    import narwhals
    from narwhals.exceptions import ColumnNotFoundError

    try:
        kinds = list(public.select(expression).collect_schema().values())
    except ColumnNotFoundError:
        remedy = "names a column that is not public, or holds neither text, numbers of 64 bits, "
        remedy += f"booleans nor dates; it may name {columns_shown(public.columns)}"
        raise InvalidArgument("where", expression, remedy) from None
    if kinds != [narwhals.Boolean]:
        raise InvalidArgument("where", expression, "must be true or false in each row")


# -- What a survey rests on, whatever kind of table it is given -----------------------------------


QUESTIONNAIRE_FILE = "questionnaire.json"  # in the folder of a collector, beside the tables
_NO_CODES = "goes with CSV files and tables in memory: on an engine make such codes missing first, "
_NO_CODES += "in SQL with NULLIF(column, code), or read the table into memory"
_NO_SHEETS = "holds no sheets yet: a collector puts them into a file when enough have come, and "
_NO_SHEETS += "when it is stopped"


def questionnaire_of(given: object, data: object, rows: Query | Table) -> Questionnaire:
    """The questionnaire of a survey: as given, or the one that is in the folder of its tables."""
    if isinstance(given, Questionnaire):
        return given
    if isinstance(given, Mapping):
        made = {
            name: asked.of(_values_in(asked.columns, rows))
            for name, asked in given.items()
            if isinstance(asked, DesignFunction)
        }
        return Questionnaire({**given, **made})
    remedy = 'must be a Questionnaire, or a dict such as {"job": KRR(...)}'
    if given is not None:
        raise InvalidArgument("questionnaire", given, remedy)
    path = _in_folder(data)
    if path is not None:
        if path.exists():
            return Questionnaire.from_json(path)
        remedy += f"; {path} is not there, as it is in the folder of a collector"
    raise InvalidArgument("questionnaire", None, remedy)


def _values_in(columns: Sequence[str], rows: Query | Table) -> list[tuple[Any, ...]]:
    """The distinct values of some columns, those that stand together in a row."""
    if isinstance(rows, Query):  # without how many there are of each
        rows = Table.of(rows.cells(columns).select(range(len(columns))))
    rows.prepare(columns)
    found = [rows.as_column(name) for name in columns]
    codes = np.unique(np.array([column.codes for column in found]), axis=1)
    whole = codes[:, (codes >= 0).all(axis=0)]
    values = (column.values[at].tolist() for column, at in zip(found, whole, strict=True))
    return list(zip(*values, strict=True))


def _in_folder(data: object) -> Path | None:
    """Where the questionnaire of a folder is, if `data` names a folder, or several of waves."""
    if isinstance(data, list | tuple) and data:
        data = data[0]
    if isinstance(data, str | os.PathLike) and os.path.isdir(checked_path(data)):
        return checked_path(data) / QUESTIONNAIRE_FILE
    return None


def rows_of(
    data: object,
    name: str = "data",
    na: object = (),
    table: str | None = None,
    engine: str | None = None,
    on_error: str = "raise",
    sep: object = ",",
) -> Query | Table:
    """A table on the engine that holds it, or in memory; `name` is that of the argument."""
    if (path := _in_folder(data)) is not None:
        try:
            shown = [file for file in path.parent.iterdir() if file.name[0] != "."]
        except OSError:  # whoever reads the folder says why
            shown = []
        if shown == [path]:
            raise refusal(os.fspath(data), _NO_SHEETS)  # type: ignore[call-overload]
    if not isinstance(sep, str) or len(sep) != 1 or sep.isalnum() or sep in "\"'\r\n":
        raise InvalidArgument("sep", sep, r"must be one character, such as ';' or '\t'")
    frame = read_by_pandas(data) if is_files(data) else data
    query = opened(frame, name, table, engine, on_error)
    codes = missing_codes(na)
    if sep != "," and (query is not None or not is_files(frame)):
        raise InvalidArgument("sep", sep, "goes with CSV files")
    if query is not None:
        if codes:
            raise InvalidArgument("na", na, _NO_CODES)
        return query
    if is_files(frame):
        in_memory: Table = Csv(name, found_files(frame)[0], sep=sep)
    else:  # of a frame a copy, as the caller may add columns later
        frame = frame.copy(deep=False) if isinstance(frame, pd.DataFrame) else frame
        in_memory = Table.of(frame, name)
    for column in codes:
        if column is not None:
            in_memory.check_column(column, "na")
    return replace(in_memory, na=codes)


def read_by_pandas(files: Any) -> Any:
    """The table of a file that pandas reads, value labels as categories; other names as given."""
    if isinstance(files, list | tuple):
        return files
    path = checked_path(files)
    reader = BY_PANDAS.get(path.suffix.lower())
    if reader is None:
        return files
    how = f"pandas.{reader}({str(path)!r})"
    try:
        frame: pd.DataFrame = getattr(pd, reader)(path)
    except ImportError as error:
        remedy = f"{how} needs another package: pip install 'ldpstats[files]' ({error})"
        raise NotAvailable(f"{path}: {remedy}") from None
    except OSError as error:
        raise refusal(path, f"cannot be read ({error.strerror or error})") from None
    except Exception as error:  # whatever is wrong with a file of somebody else's program
        remedy = f"{how} fails: {error}; correct the call, and pass the table that it returns"
        raise refusal(path, remedy) from None
    for name, labels in frame.attrs.get("variable_value_labels", {}).items():
        if isinstance(frame[name].dtype, pd.CategoricalDtype):  # of SPSS: pandas sorts them by name
            known = frame[name].cat.categories
            order = dict.fromkeys([*(labels[code] for code in sorted(labels)), *known])
            frame[name] = frame[name].cat.reorder_categories(
                [x for x in order if x in known], ordered=True
            )
    frame.attrs = {}
    return frame


def with_series(
    rows: Query | Table, argument: str, given: pd.Series[Any]
) -> tuple[Query | Table, str]:
    """A table of pandas with a Series as a column, matched by index, and the column's name."""
    name = str(argument if given.name is None else given.name)
    if isinstance(rows, Query) or rows.kind != "pandas":
        remedy = "is a Series, which goes with a table of pandas: name a column of the table"
        raise InvalidArgument(argument, name, remedy)
    index = rows.frame.index
    if not given.index.equals(index):
        same = given.index.is_unique and index.is_unique and len(given) == len(index)
        if not (same and index.isin(given.index).all()):
            remedy = "has another index than the table: make it from the same table, or pass "
            remedy += "pandas.Series(values, index=table.index)"
            raise InvalidArgument(argument, f"Series {name!r} of {len(given)} rows", remedy)
        given = given.reindex(index)
    while name in rows.columns and not rows.frame[name].equals(given.rename(name)):
        name += "_"  # pandas keeps the name of what a Series was computed from
    return replace(rows, frame=rows.frame.assign(**{name: given})), name


def held_on(
    rows: Query | Table,
    sheet: Questionnaire,
    cohorts: Mapping[str, str] | None = None,
    whole: bool = True,
) -> Held:
    """The rows of a table, with the questions that its columns answer; see `Held.of`."""
    if isinstance(rows, Query):
        return Held.of(OnEngine("data", rows), sheet, cohorts or {}, whole)
    if isinstance(rows, Csv):
        check_names(rows.name, list(rows.columns))
        for question in sheet.entries:
            labels = question.labels
            if labels is None or isinstance(labels, pd.RangeIndex):
                continue
            if "" in labels.tolist():
                remedy = "is a label, but an empty field of a CSV file means a missing answer: use "
                remedy += "a Parquet file, or name the label"
                raise InvalidArgument(question.name, "", remedy)
    if rows.na:
        refuse_labels(rows.na, sheet.entries)
    return Held.of(rows, sheet, cohorts or {}, whole)


# -- The columns of a table on an engine, in memory when they are needed ---------------------------


@record
class OnEngine(Table):
    """The rows of a query as a table that reads a column when it is needed, or was read."""

    frame: Query
    read: Any = None  # pyarrow.Table of the columns that were read, perhaps of other rows
    sources: Mapping[str, tuple[OnEngine, str]] = field(default_factory=dict)  # of joined tables
    domains: dict[str, tuple[Any, Column]] = field(default_factory=dict, repr=False)
    vacant: dict[str, bool] = field(default_factory=dict, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        held = self.frame.columns
        return tuple(filter(held.__contains__, self.sources)) or held

    def __len__(self) -> int:
        return len(self.frame if self.read is None else self.read)

    def _arrow(self, name: str) -> Any:
        read = self.frame.rows([name]) if self.read is None else self.read
        return read.column(name).combine_chunks()

    def _column(self, name: str) -> pd.Series[Any]:
        return self._series(name, self._arrow(name))

    def levels(self, name: str) -> tuple[Any, ...] | None:
        """The values of a column of ordered categories, in order; None for any other column."""
        table, old = self.sources.get(name, (self, name))
        return table.frame.levels(old)

    def _series(self, name: str, raw: Any) -> pd.Series[Any]:
        """Values of a column in pandas, ordered categories as such."""
        import pyarrow

        levels = self.levels(name)
        if levels is None:
            return Table.of(pyarrow.table({name: raw})).typed(name)
        kind = pd.CategoricalDtype(list(levels), ordered=True)
        return pd.Series(raw.to_pylist(), dtype=object).astype(kind)

    def as_column(self, name: str) -> Column:
        import pyarrow.compute as pc

        self.check_column(name)
        raw, found = self.domain(name)
        place = pc.index_in(self._arrow(name), value_set=raw)
        if place.null_count:
            remedy = "changed while it was in use: make the survey anew"
            raise InvalidArgument("column", name, remedy)
        return found.taken(np.asarray(place).astype(np.int64))

    def domain(self, name: str) -> tuple[Any, Column]:
        """The distinct values of a column in the whole table as stored, and as a column of them."""
        if name in self.sources:
            table, old = self.sources[name]
            raw, found = table.domain(old)
            return raw, replace(found, name=name)
        if name not in self.domains:  # asked of the engine once, whatever is selected
            self.learn(name, self.frame.whole().cells([name]).column(0))
        return self.domains[name]

    def learn(self, name: str, values: Any) -> None:
        """Keep the distinct values of a column, which all cells of the whole table have."""
        import pyarrow.compute as pc

        if name not in self.domains and name not in self.sources:
            raw = pc.unique(values)
            self.domains[name] = raw, as_column(name, self._series(name, raw))

    def is_empty(self, name: str) -> bool:
        """Whether a column of numbers or dates has no value in the whole table."""
        if name in self.sources:
            table, old = self.sources[name]
            return table.is_empty(old)
        if name not in self.vacant:
            there = known(name, self.frame.type(name))
            self.vacant[name] = not len(self.frame.whole().filtered(there))
        return self.vacant[name]

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
        return self.frame.one(name) if self.frame.is_text(name) else None

    def stored(self, name: str) -> Any:
        return self.frame.stored(name)

    def located(
        self, error: InvalidArgument, parts: Mapping[str, str | None], n: Array | None
    ) -> InvalidArgument:
        import pyarrow
        import pyarrow.compute as pc

        found = re.fullmatch(r"(.*), row (\d+)", error.name)
        if found is None:
            return error
        shown = column = found[1]
        if shown not in self.columns:
            beside = {f"{column}, cohort": cohort for column, cohort in parts.items()}
            column = beside.get(shown) or next(iter(parts))
        cells = self._arrow(column)
        value = cells[int(found[2]) - 1]
        remedy = re.sub(r" \(\d+ such values?\)", "", error.remedy)
        remedy = re.sub(r"leave it empty, or give Survey na=.*", "make it NULL", remedy)
        same = np.asarray(pc.index_in(cells, value_set=pyarrow.array([value], cells.type)))
        rows = np.flatnonzero(same == 0)
        times = rows.size if n is None else int(n[rows].sum())
        first = self.frame.first(column, value.as_py())
        place = count_of(times, "row") + (f", the first in {first}" if first else "")
        return type(error)(shown, value.as_py(), f"{remedy}; {place}")


# -- The persons who are in two waves of a survey: their columns side by side, their identifiers ---


@record
class Joined(Table):
    """The columns of two waves in memory, row by row side by side."""

    frame: Mapping[str, tuple[Held, str]]  # the wave of each column and question, its name there

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(new for new, (wave, name) in self.frame.items() if name in wave.columns)

    def __len__(self) -> int:
        return len(next(iter(self.frame.values()))[0])

    def prepare(self, names: Iterable[str]) -> None:
        for wave, old in filter(None, map(self.frame.get, names)):
            wave.table.prepare([old])

    def as_column(self, name: str) -> Column:
        self.check_column(name)
        wave, old = self.frame[name]
        return replace(wave.unasked(old), name=name)

    def typed(self, name: str, labels: pd.Index[Any] | None = None) -> pd.Series[Any]:
        self.check_column(name)
        wave, old = self.frame[name]
        column: pd.Series[Any] = wave.table.typed(old)
        return column if wave.rows is None else column.iloc[wave.rows].reset_index(drop=True)

    def reported(self, name: str) -> Coded:
        """The reports of a question."""
        wave, old = self.frame[name]
        found = wave.reported(old)
        if isinstance(found.reports, Reports):
            found = replace(found, reports=replace(found.reports, name=name))
        return found


def side_by_side(
    waves: tuple[Held, Held],
    id: str,
    suffixes: tuple[str, str],
    sizes: tuple[int, int],
    query: Query | None = None,
) -> Held:
    """The columns of two waves that were of `sizes` persons, told apart by a suffix.

    The persons are those of both waves; on an engine those of the query that joins them.
    """
    both = len(waves[0] if query is None else query)
    if not both:
        remedy = "no person is in both waves: is this the column that identifies persons?"
        raise InvalidArgument("id", id, remedy)
    sources: dict[str, tuple[Held, str]] = {id: (waves[0], id)}
    mechanisms, parts, owners = {}, {}, dict[str, str]()
    for wave, suffix in zip(waves, suffixes, strict=True):
        asked = wave.questionnaire
        new = {name: f"{name}{suffix}" for name in (*asked.questions, *wave.columns) if name != id}
        for name, made in new.items():
            if made in sources:
                remedy = f"would name two columns {made!r}: choose others"
                raise InvalidArgument("suffixes", suffixes, remedy)
            sources[made] = wave, name
            if name in asked:
                mechanisms[made] = asked[name]
                own = wave.parts[name].items()
                parts[made] = {new.get(c, c): d and new.get(d, d) for c, d in own}
        owners |= {new[c]: new[name] for c, name in wave.owners.items() if c in new and name in new}
    table: Table = Joined("data", sources)
    if query is not None:
        tables = {made: (wave.table, name) for made, (wave, name) in sources.items()}
        table = OnEngine("data", query, sources=tables)
    return Held(
        questionnaire=Questionnaire(mechanisms),
        table=table,
        owners=owners,
        parts=parts,
        marks=[f"{c}{s}" for wave, s in zip(waves, suffixes, strict=True) for c in wave.marks],
        remote=query is not None,
        lost=(sizes[0] - both, sizes[1] - both),
        origins={made: name for made, (_, name) in sources.items()},
        kept=all(wave.questionnaire.keep or wave.kept for wave in waves),
    )


def refuse_other_kind(id: str, first: str, second: str) -> None:
    """Refuse identifiers that are of different kinds in two waves."""
    if first != second and "empty" not in (first, second):
        remedy = f"holds {first} in one wave and {second} in the other: convert one"
        raise InvalidArgument("id", id, remedy)


def refuse_identifiers(id: str, n: int, missing: int, twice: Any, times: int) -> None:
    """Refuse a column of n rows if identifiers are missing, or one appears several times."""
    if missing:
        remedy = f"{missing} of {n} rows have no identifier: select others"
        raise InvalidArgument("id", id, remedy)
    if times > 1:
        raise InvalidArgument("id", id, f"{twice!r} appears {times} times: keep one row a person")


def identifiers(held: Held, id: str) -> tuple[pd.Index[Any], str]:
    """The identifiers of all rows, and what they are; refuse missing and repeated ones."""
    column = held.public(id)
    times = np.bincount(column.codes[~column.missing], minlength=len(column.values))
    often = int(np.argmax(times > 1)) if times.size else 0
    most = (column.values.tolist()[often], int(times[often])) if times.size else (None, 0)
    refuse_identifiers(id, len(held), int(column.missing.sum()), *most)
    keys: pd.Index[Any] = pd.Index(column.values[column.codes].tolist(), dtype=object)
    return keys, replace(column, ordered=None).what  # of categories what they hold


# -- Tables in CSV files, read by column when a column is first needed ----------------------------
# The apostrophe of spreadsheet_safe= before =, +, - and @ is no part of a field, unless of a label.


_WHOLE = re.compile("-?(0|[1-9][0-9]{0,99})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]{1,3})?|-?inf")
_TRUTH = {"true": True, "false": False}


@record
class Csv(Table):
    """CSV files of the same columns, one after another; an empty field is missing."""

    frame: tuple[Path, ...]
    sep: str = ","
    read: dict[str, pd.Series[Any]] = field(default_factory=dict, repr=False)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        first, *others = self.frame
        header = _header(first, self.sep)
        for file in others:
            differ = {*header} ^ {*_header(file, self.sep)}
            if differ:
                remedy = f"and {first} do not both have the column {min(differ)!r}: give files of "
                raise refusal(file, f"{remedy}one table")
        return header

    def __len__(self) -> int:
        if not self.read:
            self.prepare(self.columns[:1])
        return len(next(iter(self.read.values())))

    def prepare(self, columns: Iterable[str]) -> None:
        """Read columns that exist and were not read before, in one pass over the file."""
        wanted = [name for name in dict.fromkeys(columns) if name not in self.read]
        wanted = [name for name in wanted if name in self.columns]
        if not wanted:
            return
        texts: dict[str, list[Any]] = {name: [np.empty(0, dtype=object)] for name in wanted}
        for file in self.frame:
            for chunk in table_chunks(file, wanted, codes=wanted, sep=self.sep):
                for name in wanted:
                    text = coded(chunk[name])
                    assert text is not None
                    codes, distinct = text  # equal texts are one object
                    texts[name].append(np.array([*distinct.tolist(), None], dtype=object)[codes])
        made = {name: np.concatenate(cells) for name, cells in texts.items()}
        self.read.update({name: pd.Series(cells, dtype=object) for name, cells in made.items()})
        if len({len(column) for column in self.read.values()}) > 1:
            raise refusal(self.frame[0], "changed while it was in use: make the survey anew")

    def _column(self, name: str) -> pd.Series[Any]:
        self.prepare([name])
        return self.read[name]

    def missing_codes(self, name: str) -> tuple[str, ...]:
        return tuple(missing_texts(self.frame[0], super().missing_codes(name)))

    def typed(self, name: str, labels: pd.Index[Any] | None = None) -> pd.Series[Any]:
        """Whole numbers, numbers or booleans if all fields are written so, else text, as "01"."""
        column = _unguarded(self.column(name), set())
        codes, distinct = pd.factorize(column)
        texts = [text.strip() for text in distinct]
        filled = [text for text in texts if text]
        if not filled:
            return column
        values: Any
        if all(_WHOLE.fullmatch(text) for text in filled):
            exact: Any = "Int64" if max(map(len, filled)) <= 18 else object  # identifiers perhaps
            values = pd.array([int(text) if text else None for text in texts], dtype=exact)
        elif all(_NUMBER.fullmatch(text) for text in filled):
            values = np.array([float(text or "nan") for text in texts])
        elif all(text.lower() in _TRUTH for text in filled):
            truths = [_TRUTH[text.lower()] if text else None for text in texts]
            values = pd.array(truths, dtype="boolean")
        else:
            return column
        return pd.Series(pd.api.extensions.take(values, codes, allow_fill=True))

    def reports(self, name: str, labels: pd.Index[Any] | None = None) -> pd.Series[Any]:
        if labels is None or isinstance(labels, pd.RangeIndex):  # no label begins with it
            return _unguarded(self.column(name), set())
        return _unguarded(self.column(name), set(map(str, labels)))


def _header(file: FilePath, sep: str) -> tuple[str, ...]:
    with csv_lines(file, sep=sep) as (lines, _):
        header = next(lines, [])
    if not header:
        raise refusal(file, "is empty: the first line must name the columns")
    return tuple(map(unguarded, header))


def _unguarded(column: pd.Series[Any], labels: set[str]) -> pd.Series[Any]:
    """Fields without the apostrophe of spreadsheet_safe=, but for those that are labels with it."""
    changed = {text for text in column.unique() if text is not None and unguarded(text) != text}
    changed -= labels
    if not changed:
        return column
    cells = [unguarded(text) if text in changed else text for text in column]
    return pd.Series(cells, dtype=object)
