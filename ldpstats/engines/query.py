"""A table that is asked rather than read: filters, distinct rows and joins where the data are.

Tables of Arrow that a query returns are the same from every engine: one type for each kind of value
(`plain`), and cells in one order, a missing value being one of them. Only the order in which an
engine adds numbers is its own: sums of weights agree to a relative 1e-12, and have no order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import and_, or_
from typing import Any, TypeVar

from ldpstats.engines.base import (
    BATCH_ROWS,
    Engine,
    EngineFailure,
    Partial,
    Source,
    picked,
    plain,
    sorted_cells,
)
from ldpstats.engines.database import Embedded
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.io.tables import columns_shown

__all__ = ["LEAST_WEIGHT", "MOST_BYTES", "MOST_WEIGHT", "Query", "faults"]


MOST_BYTES = 1 << 31  # of distinct rows that a query returns


@dataclass(frozen=True, eq=False)
class Query:
    """Rows of a table that an engine holds; nothing is read until something is asked."""

    source: Source
    filters: tuple[Any, ...] = ()  # expressions of Narwhals that must be true
    _known: dict[tuple[tuple[str, str], ...], int] = field(default_factory=dict, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return self.source.columns

    @property
    def ordered(self) -> bool:
        """Whether the rows have an order, which `rows` and `batches` keep."""
        return self.source.ordered

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Files that are not counted, and why; only with on_error="report"."""
        return self.source.left_out

    def type(self, name: str) -> Any:
        """The type of a column, of Narwhals."""
        self._check([name])
        return self.source.schema[name]

    def is_text(self, name: str) -> bool:
        """Whether a column holds text."""
        self._check([name])
        return self.source.is_text(name)

    def stored(self, name: str) -> Mapping[bytes, bytes]:
        """The keys and values that Parquet files store beside a column."""
        self._check([name])
        return self.source.stored(name)

    def levels(self, name: str) -> tuple[Any, ...] | None:
        """The values of a column of ordered categories, in order; None for any other column."""
        self._check([name])
        return self.source.levels(name)

    def filtered(self, expression: Any) -> Query:
        """The rows for which an expression of Narwhals is true."""
        return replace(self, filters=(*self.filters, expression), _known={})

    def __len__(self) -> int:
        if self.left_out not in self._known:
            import narwhals

            table = self._collected(lambda frame: frame.select(narwhals.len()))
            # asked again: the query may have left out files
            self._known[self.left_out] = int(table.column(0)[0].as_py())
        return self._known[self.left_out]

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
        keys = [f"c{i}" for i in range(len(names))]
        number = narwhals.len() if count is None else narwhals.col("v").sum()

        def grouped(frame: Any) -> Any:
            chosen = picked(frame, given, [*keys, "v"][: len(given)])
            return chosen.group_by(*keys).agg(number.alias("n")).select(*keys, "n")

        table = self._collected(grouped, most_bytes)
        if table is None:
            raise NotAvailable(
                f"the distinct combinations of {', '.join(map(repr, names))} take more than "
                f"{most_bytes / 1e6:,.0f} MB: ask for fewer columns, or select rows with where="
            )
        return sorted_cells(plain(table.rename_columns([*names, "n"])))

    def weighted(
        self,
        names: Sequence[str],
        weights: Sequence[str],
        domain: Sequence[Any] = (),
        factors: bool = False,
        most_bytes: int = MOST_BYTES,
    ) -> tuple[Any, Any]:
        """Distinct rows of some columns, and sums of weights; see the end of this module."""
        names = list(dict.fromkeys(names))
        self._check([*names, *weights])
        for i, weight in enumerate(weights):
            if not (kind := self.type(weight)).is_numeric():
                argument = "replicate_weights" if i else "weights"
                raise InvalidArgument(argument, weight, f"holds {kind}: it must hold numbers")
        table = self._collected(
            lambda frame: added(frame, names, weights, domain, factors), most_bytes
        )
        if table is None:
            raise NotAvailable(
                f"the distinct combinations of {', '.join(map(repr, names))} take more than "
                f"{most_bytes / 1e6:,.0f} MB: ask for fewer columns"
            )
        table = plain(table)
        k = len(names)
        keys = table.select(list(range(k))).rename_columns(names)
        return keys, table.select(list(range(k, table.num_columns)))

    def counts(self, tests: Mapping[str, Any]) -> dict[str, int]:
        """How many rows meet each of some expressions of Narwhals, by one query."""
        import narwhals

        made = [
            test.cast(narwhals.Int64).sum().alias(f"t{i}") for i, test in enumerate(tests.values())
        ]
        table = self._collected(lambda frame: frame.select(*made))
        return {name: int(table.column(i)[0].as_py() or 0) for i, name in enumerate(tests)}

    def rows(self, names: Sequence[str]) -> Any:
        """All rows of some columns, as a table of Arrow."""
        self._check(names)
        return plain(self._collected(lambda frame: picked(frame, names)))

    def batches(self, names: Sequence[str], rows: int = BATCH_ROWS) -> Iterator[Any]:
        """All rows of some columns, as record batches of at most `rows`, one after another."""
        self._check(names)
        session = self.source.engine.session()

        def run() -> Iterator[Any]:
            return session.batches(picked(self.frame(session), names), rows)

        yield from self.source.streamed(run)

    def partial(self, names: Sequence[str], function: Partial, schema: Any) -> Iterator[Any]:
        """Run a function of record batches where the data are; its results add up."""
        # once for each share of the rows, in threads or on workers, where it comes pickled; types
        # are those of the source: bytes as binary or fixed-size binary, text also as dictionaries
        self._check(names)

        def chosen(root: Any) -> Any:
            return picked(self._filtered(root), names)

        whole = not self.filters
        yield from self.source.partial(chosen, function, schema, list(names), whole)

    def joined(self, other: Query, id: str, suffixes: tuple[str, str]) -> Query:
        """Rows of both that agree in the column `id`; a suffix distinguishes other columns."""
        self._check([id, *self.columns])
        other._check([id, *other.columns])
        both = Joined(self.source.name, self, other, id, suffixes)
        try:
            _ = both.schema
        except EngineFailure as error:
            if "different connections" not in str(error):
                raise
            remedy = "are on different connections: make both on one, or read both into memory"
            raise NotAvailable(f"{both.shown}: {remedy}") from None
        return Query(both)

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
        import narwhals

        self._check([name])
        column = narwhals.col(name)
        test = column.is_null() if value is None else column == value
        return self.source.first(lambda root: self._filtered(root).filter(test))

    def frame(self, session: Engine) -> Any:
        """The rows, as a lazy frame of Narwhals that runs in this session."""
        return self._filtered(self.source.root(session))

    # -- inside --------------------------------------------------------------------------------

    def _filtered(self, frame: Any) -> Any:
        for expression in self.filters:
            frame = frame.filter(expression)
        return frame

    def _collected(self, made: Any, most_bytes: int | None = None) -> Any:
        """What `made` of the frame yields, as a table of Arrow; None beyond `most_bytes`."""

        def run() -> Any:
            session = self.source.engine.session()
            return session.table(made(self.frame(session)), most_bytes)

        return self.source.tried(run)

    def tried(self, action: Callable[[Any], T]) -> T:
        """What an action on the frame returns; its failures name the data."""
        return self.source.tried(lambda: action(self.frame(self.source.engine.session())))

    def _check(self, names: Sequence[str]) -> None:
        engine = self.source.engine
        for name in names:
            if name not in self.columns:
                remedy = f"no such column; the table has {columns_shown(self.columns)}"
                raise InvalidArgument("column", name, remedy)
            if re.fullmatch(engine.misread, name, re.DOTALL):
                remedy = f"is a pattern or a field to {engine.title}, not a name: rename it"
                raise InvalidArgument("column", name, remedy)

    def _some(self, name: str, test: Any) -> list[Any]:
        """A value of a column in the rows for which an expression is true; none without them."""
        table = self._collected(lambda frame: picked(frame.filter(test), [name]).head(1))
        found: list[Any] = table.column(0).to_pylist()
        return found


# -- Two tables side by side, row by row of the same identifier -----------------------------------


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Joined(Source):
    """An inner join; every column but the identifier has the suffix of its side."""

    name: str
    left: Query
    right: Query
    id: str
    suffixes: tuple[str, str]

    def __post_init__(self) -> None:
        # without case, which engines do not see
        names = [new.casefold() for side in (0, 1) for new in self._renamed(side).values()]
        id = self.id.casefold()
        twice = next((new for new in names if names.count(new) > 1 and new != id), None)
        if twice is not None or id in [n for n in names if names.count(n) > 2]:
            remedy = f"would name two columns {twice or self.id!r}: choose others"
            raise InvalidArgument("suffixes", self.suffixes, remedy)

    @cached_property
    def engine(self) -> Engine:  # type: ignore[override]
        left, right = self.left.source, self.right.source
        both = left.engine, right.engine
        if isinstance(both[0], Embedded) and isinstance(both[1], Embedded):
            databases = dict.fromkeys([*both[0].databases, *both[1].databases])
            if databases:  # one that reads both sides, and nothing else
                return Embedded(tuple(databases), tuple(self.files))
        return both[0]

    @property
    def files(self) -> Sequence[str]:  # type: ignore[override]
        return [*self.left.source.files, *self.right.source.files]

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        return False

    @property
    def shown(self) -> str:
        return f"{self.left.source.shown} joined with {self.right.source.shown}"

    def _renamed(self, side: int) -> dict[str, str]:
        """The columns of a side, and their names here."""
        source = (self.left, self.right)[side].source
        suffix = self.suffixes[side]
        return {old: old if old == self.id else old + suffix for old in source.columns}

    def root(self, session: Engine) -> Any:
        names = self._renamed(0), self._renamed(1)
        theirs = "_".join(["id", *names[0].values(), *names[1].values()])  # no other's name
        left = picked(self.left.frame(session), [*names[0]], [*names[0].values()])
        made = [theirs if old == self.id else new for old, new in names[1].items()]
        right = picked(self.right.frame(session), [*names[1]], made)
        both = left.join(right, how="inner", left_on=self.id, right_on=theirs)
        return picked(both, list(dict.fromkeys([*names[0].values(), *names[1].values()])))

    def _origin(self, name: str) -> tuple[Source, str]:
        """The table of a column, which exists, and its name there."""
        sides = enumerate((self.left.source, self.right.source))
        return next(
            (source, old)
            for side, source in sides
            for old, new in self._renamed(side).items()
            if new == name
        )

    def stored(self, name: str) -> Mapping[bytes, bytes]:
        source, old = self._origin(name)
        return source.stored(old)

    def levels(self, name: str) -> tuple[Any, ...] | None:
        source, old = self._origin(name)
        return source.levels(old)

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:  # type: ignore[override]
        return (*self.left.source.left_out, *self.right.source.left_out)

    def tried(self, action: Callable[[], T]) -> T:
        return self.left.source.tried(lambda: self.right.source.tried(action))

    def streamed(self, batches: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        return self.left.source.streamed(lambda: self.right.source.streamed(batches))


# -- Sums of weights by group, as an expression that every engine evaluates where its rows are ----
# Beside the distinct combinations of the columns c0, c1, ... stand "inside": whether they are in
# the domain, where all expressions of Narwhals are true; "n", the number of rows; "w0", "w1", ...,
# sums of the columns of weights (with `factors` of products with the first), "w0w0" of squares of
# the first, and "bad": how many have a weight that is missing, infinite, negative or, first, zero.


# products of weights and squares of their sums stay far from the ends of what a number can be
LEAST_WEIGHT, MOST_WEIGHT = 1e-50, 1e50


def added(
    frame: Any,
    names: Sequence[str],
    weights: Sequence[str],
    domain: Sequence[Any],
    factors: bool,
) -> Any:
    """The frame of `Query.weighted`, its columns of keys called c0, c1, ..."""
    import narwhals

    keys = [f"c{i}" for i in range(len(names))]
    sums = [f"w{i}" for i in range(len(weights))]
    made = {key: narwhals.col(name) for key, name in zip(keys, names, strict=True)}
    made["inside"] = reduce(and_, domain) if domain else narwhals.lit(True)
    numbers = [narwhals.col(name).cast(narwhals.Float64) for name in weights]
    if weights:
        first, *rest = numbers
        made |= dict(
            zip(sums, [first, *(first * r for r in rest)] if factors else numbers, strict=True)
        )
        made["w0w0"] = first * first
        sums = [*sums, "w0w0"]
        bad = []
        for i, number in enumerate(numbers):
            # all engines sort NaN after every number, or find no comparison with it true
            low = number >= (0.0 if i else LEAST_WEIGHT)
            bad.append(number.is_null() | ~(low & (number <= MOST_WEIGHT)))
        made["bad"] = reduce(or_, bad).cast(narwhals.Int64)
        sums = [*sums, "bad"]
    chosen = frame.select(*(expression.alias(name) for name, expression in made.items()))
    totals = [narwhals.len().alias("n"), *(narwhals.col(name).sum() for name in sums)]
    return chosen.group_by(*keys, "inside").agg(*totals).select(*keys, "inside", "n", *sums)


def faults(name: str, positive: bool) -> dict[str, Any]:
    """Expressions for what may be wrong with a column of numbers, by the words for it."""
    import narwhals

    number = narwhals.col(name).cast(narwhals.Float64)
    known = ~number.is_null() & ~number.is_nan()
    found = {
        "missing": ~known,
        "infinite": known & (number > MOST_WEIGHT),
        "negative": known & (number < 0.0),
    }
    if not positive:
        return found
    tiny = known & (number > 0.0) & (number < LEAST_WEIGHT)
    return found | {"zero": known & (number == 0.0), "tiny": tiny}
