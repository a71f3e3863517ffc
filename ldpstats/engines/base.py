"""What an engine does, and what a query rests on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from ldpstats.engines.failures import running
from ldpstats.errors import NotAvailable

__all__ = [
    "BATCH_ROWS",
    "Engine",
    "Frame",
    "Partial",
    "Source",
    "other_engine",
    "picked",
    "stacked",
]

BATCH_ROWS = 1 << 17

Partial = Callable[[Iterator[Any]], Iterator[Any]]
"""From record batches to partial results that add up, as record batches; it can be pickled."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Engine:
    """Runs lazy frames of Narwhals; this one collects any of them as a whole."""

    title: ClassVar[str] = "another engine"
    keeps_order: ClassVar[bool] = True  # of rows in files
    in_threads: ClassVar[bool] = True  # whether shares of files are worked on by threads here
    misread: ClassVar[str] = r"\*"  # names of columns that it takes for something else

    def seen(self, native: Any) -> Any:
        """A frame of the engine, as one of Narwhals."""
        import narwhals

        return narwhals.from_native(native)

    def session(self) -> Engine:
        """Where one query runs, beside others."""
        return self

    def table(self, frame: Any, most_bytes: int | None = None) -> Any:
        """All rows, as a table of Arrow; None if they take more than `most_bytes`."""
        table = frame.collect("pyarrow").to_native()
        return None if most_bytes is not None and table.nbytes > most_bytes else table

    def batches(self, frame: Any, rows: int) -> Iterator[Any]:
        """All rows, as record batches of at most so many."""
        yield from self.table(frame).to_batches(max_chunksize=rows)

    def partial(self, frame: Any, function: Partial, schema: Any) -> Iterator[Any]:
        """What `function` makes of the rows where they are, as record batches of the schema."""
        yield from function(self.batches(frame, BATCH_ROWS))

    def scan(self, files: Sequence[str], widths: Mapping[str, str]) -> Any:
        """Parquet files, one after another; columns with `widths` differ in type."""
        raise NotAvailable(f"{self.title} does not read {files[0]} here: read both into memory")


def picked(frame: Any, names: Sequence[str], made: Sequence[str] | None = None) -> Any:
    """Some columns, under the names `made` if those are given.

    DuckDB would read a bare name as SQL: "1" as a number, "a+b" as a sum.
    """
    import narwhals

    pairs = zip(names, made or names, strict=True)
    return frame.select(*(narwhals.col(name).alias(new) for name, new in pairs))


def stacked(frames: Sequence[Any], widths: Mapping[str, str]) -> Any:
    """Frames one after another, which may have the columns in another order or type.

    Categories become text: files may have others.
    """
    import narwhals

    types: dict[str, Any] = {
        "whole numbers": narwhals.Int64,
        "numbers": narwhals.Float64,
        "text": narwhals.String,
        "bytes": narwhals.Binary,
        "bool": narwhals.Boolean,
        "date32[day]": narwhals.Date,
    }
    wanted = {name: types[kind] for name, kind in widths.items() if kind in types}
    made = []
    for frame in frames:
        schema = frame.collect_schema()
        texts = {name: types["text"] for name in schema if schema[name] == narwhals.Categorical}
        casts = {name: narwhals.col(name).cast(kind) for name, kind in (texts | wanted).items()}
        made.append(frame.select(*(casts.get(n, narwhals.col(n)) for n in frames[0].columns)))
    return narwhals.concat(made)


def other_engine(source: Source, session: Engine) -> str:
    """What the error about a table of another engine says."""
    return f"{session.title} cannot see {source.shown}: read both tables into memory"


class Source(ABC):
    """What a query rests on."""

    name: str  # of the argument, for errors
    engine: Engine
    ordered: bool  # whether the rows have an order

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The columns with their types, of Narwhals."""
        return self.tried(lambda: dict(self.root(self.engine.session()).collect_schema()))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self.schema)

    @abstractmethod
    def root(self, session: Engine) -> Any:
        """All rows, as a lazy frame of Narwhals that runs in this session."""

    def is_text(self, name: str) -> bool:
        """Whether a column holds text."""
        import narwhals

        return bool(self.schema[name] == narwhals.String)

    def stored(self, name: str) -> Mapping[bytes, bytes]:
        """The keys and values that are stored beside a column."""
        return {}

    def levels(self, name: str) -> tuple[Any, ...] | None:
        """The values of a column of ordered categories, in order; None for any other column."""
        return None

    @property
    def files(self) -> Sequence[str]:
        """Parquet files that it reads."""
        return ()

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Files that are not counted, and why."""
        return ()

    @property
    @abstractmethod
    def shown(self) -> str:
        """What it is, for errors."""

    def tried(self, action: Callable[[], T]) -> T:
        """What an action returns; its failures name the data."""
        with running(self.name, self.shown):
            return action()

    def streamed(self, batches: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        """`tried` for an action that returns batches one after another."""
        with running(self.name, self.shown):
            yield from batches()

    def partial(
        self,
        frame: Callable[[Any], Any],
        function: Partial,
        schema: Any,
        names: Sequence[str],
        whole: bool,
    ) -> Iterator[Any]:
        """Run `function` on `frame(root)`: all rows of the columns `names` if `whole`."""
        session = self.engine.session()

        def run() -> Iterator[Any]:
            return session.partial(frame(self.root(session)), function, schema)

        return self.streamed(run)

    def first(self, found: Callable[[Any], Any]) -> str | None:
        """The place of the first row that `found` selects; None where rows have no place."""
        return None


@dataclass(frozen=True, eq=False)
class Frame(Source):
    """A lazy frame that somebody made; it stays on the connection or session that it has."""

    name: str
    native: Any
    engine: Engine
    ordered: bool = False

    def root(self, session: Engine) -> Any:
        if session.title != self.engine.title:
            raise NotAvailable(other_engine(self, session))
        return self.engine.seen(self.native)

    def levels(self, name: str) -> tuple[Any, ...] | None:
        import narwhals

        kind = self.schema[name]
        # in Arrow, too, an Enum of Polars is ordered and one of DuckDB is not
        ordered = self.engine.title == "Polars" and isinstance(kind, narwhals.Enum)
        return tuple(kind.categories) if ordered else None

    @property
    def shown(self) -> str:
        return type(self.native).__name__
