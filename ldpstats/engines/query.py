"""A table that is asked rather than read: filters, distinct rows and joins where the data are.

Tables of Arrow that a query returns are the same from every engine: one type for each kind of value
(`plain`), and cells in one order, a missing value being one of them. Only the order in which an
engine adds numbers is its own: sums of weights agree to a relative 1e-12, and have no order.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import reduce
from operator import and_, or_
from typing import Any, Self, TypeVar

import numpy as np

from ldpstats.arguments import record
from ldpstats.engines.base import (
    BATCH_ROWS,
    Engine,
    EngineFailure,
    Partial,
    picked,
    plain,
    running,
    sorted_cells,
)
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.io.tables import SIGNS, columns_shown

T = TypeVar("T")


MOST_BYTES = 1 << 31  # of distinct rows that a query returns


@record
class Query:
    """Rows of a table that an engine holds; nothing is read until something is asked."""

    name: str  # of the argument, for errors
    engine: Engine
    shown: str  # what it is, for errors
    native: Any  # a lazy frame, which stays on its connection or session; SQL, for a database
    # two of which it is the join: `native` is the identifier, and their columns' names here
    sources: tuple[Query, ...] = field(default=(), kw_only=True)
    filters: tuple[Any, ...] = field(default=(), kw_only=True)  # expressions that must be true
    _known: dict[Any, Any] = field(default_factory=dict, repr=False, kw_only=True)
    _types: dict[str, Any] = field(default_factory=dict, repr=False, kw_only=True)

    def root(self, session: Engine) -> Any:
        """All rows, as a lazy frame of Narwhals that runs in this session."""
        if self.sources:
            (left, right), (id, first, second) = self.sources, self.native
            theirs = "_".join(["id", *first.values(), *second.values()])  # no other's name
            made = [theirs if old == id else new for old, new in second.items()]
            one = picked(left.frame(session), [*first], [*first.values()])
            two = picked(right.frame(session), [*second], made)
            both = one.join(two, how="inner", left_on=id, right_on=theirs)
            return picked(both, list(dict.fromkeys([*first.values(), *second.values()])))
        found = session.seen(self.native) if session.title == self.engine.title else None
        if found is None:
            raise NotAvailable(
                f"{session.title} cannot see {self.shown}: read both tables into memory"
            )
        return found

    @property
    def files(self) -> Sequence[str]:
        """Parquet files that it reads."""
        return [file for source in self.sources for file in source.files]

    @property
    def ordered(self) -> bool:
        """Whether the rows have an order, which `rows` and `batches` keep."""
        return False

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Files that are not counted, and why; only with on_error="report"."""
        return tuple(file for source in self.sources for file in source.left_out)

    @property
    def schema(self) -> Mapping[str, Any]:
        """The columns with their types, of Narwhals."""
        if not self._types:
            root = self.tried(lambda: self.root(self.engine.session()).collect_schema())
            self._types.update(root)
        return self._types

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self.schema)

    def type(self, name: str) -> Any:
        """The type of a column, of Narwhals."""
        self._check([name])
        return self.schema[name]

    def is_text(self, name: str) -> bool:
        """Whether a column holds text."""
        import narwhals

        return bool(self.type(name) == narwhals.String)

    def stored(self, name: str) -> Mapping[bytes, bytes]:
        """The keys and values that Parquet files store beside a column."""
        return {}

    def levels(self, name: str) -> tuple[Any, ...] | None:
        """The values of a column of ordered categories, in order; None for any other column."""
        import narwhals

        kind = self.schema[name]
        # in Arrow, too, an Enum of Polars is ordered and one of DuckDB is not
        ordered = self.engine.title == "Polars" and isinstance(kind, narwhals.Enum)
        return tuple(kind.categories) if ordered else None

    def filtered(self, expression: Any) -> Self:
        """The rows for which an expression of Narwhals is true."""
        return replace(self, filters=(*self.filters, expression), _known={})

    def whole(self) -> Self:
        """All rows, whatever is selected."""
        return replace(self, filters=(), _known={}) if self.filters else self

    def __len__(self) -> int:
        if self.left_out not in self._known:
            import narwhals

            table = self._collected(lambda frame: frame.select(narwhals.len()))
            # asked again: the query may have left out files
            self._known[self.left_out] = int(table.column(0)[0].as_py())
        return int(self._known[self.left_out])

    def cells(
        self, names: Sequence[str], count: str | None = None, most_bytes: int = MOST_BYTES
    ) -> Any:
        """Distinct rows of some columns, sorted, and "n": their number, or the sum of `count`."""
        import narwhals
        import pyarrow

        names = list(dict.fromkeys(names))
        given = [*names, *([count] if count is not None else [])]
        self._check(given)
        if count is not None:
            kind, column = self.type(count), narwhals.col(count)
            if not kind.is_numeric():
                raise InvalidArgument("count", count, f"holds {kind}: it must hold whole numbers")
            bad = column.is_null() | (column < 0)
            if not kind.is_integer():
                bad = bad | (column != column.round())
            if kind.is_float():
                bad = bad | column.is_nan() | (column.abs() > 2.0**53)
            if found := self._some(count, bad):
                remedy = f"holds {found[0]!r}: it must hold whole numbers, none of them negative"
                raise InvalidArgument("count", count, remedy)
        if not names:
            n = len(self)
            if count is not None:
                total = narwhals.col(count).sum().alias("n")
                table = self._collected(lambda frame: frame.select(total))
                n = int(table.column(0)[0].as_py() or 0)
            return pyarrow.table({"n": pyarrow.array([n], pyarrow.int64())})
        summed = {} if count is None else {"n": narwhals.col(count)}
        keys = {f"c{i}": narwhals.col(name) for i, name in enumerate(names)}
        table = self._sums(names, keys, summed, most_bytes, ", or select rows with where=")
        return sorted_cells(table.rename_columns([*names, "n"]))

    def weighted(
        self,
        names: Sequence[str],
        weights: Sequence[str],
        domain: Sequence[Any] = (),
        factors: bool = False,
        most_bytes: int = MOST_BYTES,
    ) -> tuple[Any, Any]:
        """Distinct rows of some columns; and whether they are in the domain, and sums of weights.

        Of each: "inside", where all expressions of the domain are true; "n", the number of rows;
        "w0", "w1", ..., sums of the columns of weights (with `factors` of products with the first),
        "w0w0" of squares of the first, and "bad": how many have a weight that is missing, infinite,
        negative or, first, zero.
        """
        import narwhals

        names = list(dict.fromkeys(names))
        self._check([*names, *weights])
        for i, weight in enumerate(weights):
            if not (kind := self.type(weight)).is_numeric():
                argument = "replicate_weights" if i else "weights"
                raise InvalidArgument(argument, weight, f"holds {kind}: it must hold numbers")
        keys = {f"c{i}": narwhals.col(name) for i, name in enumerate(names)}
        keys["inside"] = reduce(and_, domain) if domain else narwhals.lit(True)
        numbers = [narwhals.col(name).cast(narwhals.Float64) for name in weights]
        summed = {
            f"w{i}": numbers[0] * number if i and factors else number
            for i, number in enumerate(numbers)
        }
        if weights:
            bad = (bad_weight(name, not i) for i, name in enumerate(weights))
            summed["w0w0"] = numbers[0] * numbers[0]
            summed["bad"] = reduce(or_, bad).cast(narwhals.Int64)
        table = self._sums(names, keys, summed, most_bytes)
        k = len(names)
        cells = table.select(list(range(k))).rename_columns(names)
        return cells, table.select(list(range(k, table.num_columns)))

    def rows(self, names: Sequence[str]) -> Any:
        """All rows of some columns, as a table of Arrow."""
        self._check(names)
        return plain(self._collected(lambda frame: picked(frame, names)))

    def batches(self, names: Sequence[str], rows: int = BATCH_ROWS) -> Iterator[Any]:
        """All rows of some columns, as record batches of at most `rows`, one after another."""
        self._check(names)
        session = self.engine.session()

        def run() -> Iterator[Any]:
            return session.batches(picked(self.frame(session), names), rows)

        yield from self.streamed(run)

    def partial(self, names: Sequence[str], function: Partial, schema: Any) -> Iterable[Any]:
        """Run a function of record batches where the data are; its few results add up."""
        # once for each share of the rows, in threads or on workers, where it comes pickled; types
        # are those of the source: bytes as binary or fixed-size binary, text also as dictionaries
        self._check(names)

        def run() -> list[Any]:
            session = self.engine.session()
            return list(session.partial(picked(self.frame(session), names), function, schema))

        return self.tried(run)

    def joined(self, other: Query, id: str, suffixes: tuple[str, str]) -> Query:
        """Rows of both that agree in the column `id`; a suffix distinguishes other columns."""
        sides = self, other
        for side in sides:
            side._check([id, *side.columns])
        names = [
            {old: old if old == id else old + suffix for old in side.columns}
            for side, suffix in zip(sides, suffixes, strict=True)
        ]
        # without case, which engines do not see
        every = [new.casefold() for own in names for new in own.values()]
        twice = next((n for n in every if every.count(n) > 1 and n != id.casefold()), None)
        if twice is not None or every.count(id.casefold()) > 2:
            remedy = f"would name two columns {twice or id!r}: choose others"
            raise InvalidArgument("suffixes", suffixes, remedy)
        engine = self.engine.joined(other.engine, [*self.files, *other.files])
        shown = f"{self.shown} joined with {other.shown}"
        both = Query(self.name, engine, shown, (id, *names), sources=sides)
        try:
            _ = both.schema
        except EngineFailure as error:
            if "different connections" not in str(error):
                raise
            remedy = "are on different connections: make both on one, or read both into memory"
            raise NotAvailable(f"{both.shown}: {remedy}") from None
        return both

    def commonest(self, name: str) -> tuple[Any, int]:
        """The value that most rows hold, and how many do; (None, 0) where no row has one."""
        import narwhals

        self._check([name])

        def grouped(frame: Any) -> Any:
            there = picked(frame.filter(~narwhals.col(name).is_null()), [name], ["c"])
            sizes = there.group_by("c").agg(narwhals.len().alias("n"))
            return sizes.sort("n", "c", descending=[True, False]).head(1)

        table = plain(self._collected(grouped))
        if not table.num_rows:
            return None, 0
        return table.column("c")[0].as_py(), int(table.column("n")[0].as_py())

    def one(self, name: str) -> Any:
        """The first value of a column, or any where rows have no order; None if it has none."""
        import narwhals

        self._check([name])
        found = self._some(name, ~narwhals.col(name).is_null())
        return found[0] if found else None

    def first(self, name: str, value: object) -> str | None:
        """The first row with a value, as "a.parquet, row 3"; None where rows have no place."""
        return None

    def frame(self, session: Engine) -> Any:
        """The rows, as a lazy frame of Narwhals that runs in this session."""
        return self.filtered_frame(self.root(session))

    def filtered_frame(self, frame: Any) -> Any:
        """The rows of a frame that are not filtered out."""
        for expression in self.filters:
            frame = frame.filter(expression)
        return frame

    def tried(self, action: Callable[[], T]) -> T:
        """What an action returns; its failures name the data."""
        if self.sources:
            left, right = self.sources
            return left.tried(lambda: right.tried(action))
        with running(self.name, self.shown):
            return action()

    def streamed(self, batches: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        """`tried` for an action that returns batches one after another."""
        if self.sources:
            left, right = self.sources
            yield from left.streamed(lambda: right.streamed(batches))
            return
        with running(self.name, self.shown):
            yield from batches()

    # -- inside --------------------------------------------------------------------------------

    def _collected(self, made: Any, most_bytes: int | None = None) -> Any:
        """What `made` of the frame yields, as a table of Arrow; None beyond `most_bytes`."""

        def run() -> Any:
            session = self.engine.session()
            return session.table(made(self.frame(session)), most_bytes)

        return self.tried(run)

    def _sums(
        self,
        names: Sequence[str],
        keys: Mapping[str, Any],
        summed: Mapping[str, Any],
        most_bytes: int,
        more: str = "",
    ) -> Any:
        """The distinct keys, the number "n" of their rows, unless it is summed, and sums."""
        import narwhals

        totals = {"n": narwhals.len()} | {name: narwhals.col(name).sum() for name in summed}

        def grouped(frame: Any) -> Any:
            chosen = frame.select(*(made.alias(name) for name, made in {**keys, **summed}.items()))
            cells = chosen.group_by(*keys).agg(*(t.alias(name) for name, t in totals.items()))
            return cells.select(*keys, *totals)

        table = self._collected(grouped, most_bytes)
        if table is None:
            raise NotAvailable(
                f"the distinct combinations of {', '.join(map(repr, names))} take more than "
                f"{most_bytes / 1e6:,.0f} MB: ask for fewer columns{more}"
            )
        return plain(table)

    def _check(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.columns:
                remedy = f"no such column; the table has {columns_shown(self.columns)}"
                raise InvalidArgument("column", name, remedy)
            if re.fullmatch(self.engine.misread, name, re.DOTALL):
                remedy = f"is a pattern or a field to {self.engine.title}, not a name: rename it"
                raise InvalidArgument("column", name, remedy)

    def _some(self, name: str, test: Any) -> list[Any]:
        """A value of a column in the rows for which an expression is true; none without them."""
        table = self._collected(lambda frame: picked(frame.filter(test), [name]).head(1))
        found: list[Any] = table.column(0).to_pylist()
        return found


# -- Expressions for tests of a column, which every engine evaluates alike -------------------------


# products of weights and squares of their sums stay far from the ends of what a number can be
LEAST_WEIGHT, MOST_WEIGHT = 1e-50, 1e50


def bad_weight(name: str, positive: bool) -> Any:
    """Where a column of weights has none: what is missing, negative or beyond bounds, or zero."""
    import narwhals

    number = narwhals.col(name).cast(narwhals.Float64)
    # all engines sort NaN after every number, or find no comparison with it true
    low = number >= (LEAST_WEIGHT if positive else 0.0)
    return number.is_null() | ~(low & (number <= MOST_WEIGHT))


_MOST_DECIMAL = 10**38  # beyond it engines know no whole number


def known(name: str, dtype: Any) -> Any:
    """Where a column, of this type if it has numbers or dates, has a value."""
    import narwhals

    col = narwhals.col(name)
    return ~col.is_null() & ~col.is_nan() if dtype and dtype.is_float() else ~col.is_null()


def compared(name: str, dtype: Any, sign: str, wanted: Any) -> Any:
    """Where a column of numbers or dates, which are known, compares with a value."""
    import narwhals

    col = narwhals.col(name)
    if dtype.is_decimal() and isinstance(wanted, int) and abs(wanted) < _MOST_DECIMAL:
        return SIGNS[sign](col, wanted)  # float has fewer digits
    if dtype.is_numeric() and not dtype.is_integer():
        return SIGNS[sign](col.cast(narwhals.Float64), float(wanted))
    unit: Any = None
    step = 1
    if dtype.is_integer():
        signed, bits = str(dtype).startswith("I"), int(str(dtype).lstrip("UInt"))
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    else:  # days, or microseconds, parts of which do not count
        unit, step = ("D", 86_400_000_000) if dtype == narwhals.Date else ("us", 1)
        if unit == "us" and dtype.time_unit in ("s", "ms"):  # Polars would cut the bounds to it
            col = col.cast(narwhals.Datetime("us"))
        wanted = int(wanted.astype(np.int64))
        ends = np.array([dt.datetime.min, dt.datetime.max], dtype="M8[us]").astype(np.int64)
        low, high = (ends // step).tolist()
        if unit == "us" and dtype.time_unit == "ns":
            low, high = -(1 << 63) // 1000 + 1, ((1 << 63) - 1) // 1000

    def made(number: float) -> Any:
        return np.datetime64(int(number), unit).item() if unit else int(number)

    def at_least(bound: float) -> Any:
        return col >= made(max(bound, low)) if bound <= high else col > made(high)

    last, first = wanted // step, -(-wanted // step)
    if sign == "==":
        if first == last and unit != "us" and low <= first <= high:
            return col == made(first)
        return at_least(first) & ~at_least(last + 1)
    return at_least(last + 1) if sign == ">" else ~at_least(first)
