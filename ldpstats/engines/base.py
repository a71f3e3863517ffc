"""What an engine does, and what a query rests on; its errors, and one form of its results."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any, ClassVar

from ldpstats import errors
from ldpstats.arguments import record
from ldpstats.errors import InvalidArgument, LDPError, NotAvailable, cut
from ldpstats.reports.layout import is_of_bytes

BATCH_ROWS = 1 << 17

Partial = Callable[[Iterator[Any]], Iterator[Any]]
"""From record batches to partial results that add up, as record batches; it can be pickled."""


@record
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

    def joined(self, other: Engine, files: Sequence[str]) -> Engine:
        """What reads a table of this engine and one of another, from these files among others."""
        return self

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


# -- Errors of engines, turned into one that names the data and says what to do -------------------


_PANIC = "pyo3_runtime"  # of Rust, which is no Exception to Python
_ENGINES = {
    "_duckdb": "DuckDB",
    "duckdb": "DuckDB",
    "pyspark": "Spark",
    "py4j": "Spark",
    "polars": "Polars",
    _PANIC: "Polars",
    "pyarrow": "Arrow",
    "ibis": "Ibis",
    "dask": "Dask",
    "narwhals": "Narwhals",
}
_OWN = re.compile(r"^ldpstats\.errors\.(\w+): (.*)$", re.MULTILINE)
_REMEDIES = (  # words of a message, in lower case, and what helps
    ("could not set lock", "another process writes to it: wait, or copy the file"),
    ("unique file handle", "it is open in this process: pass a relation of that connection"),
    ("different configuration", "it is open in this process: pass a relation of that connection"),
    (
        "operations are disabled by configuration",
        "a view of a database may read no other file: CREATE TABLE of what it shows, or pass a "
        "relation of a connection of your own",
    ),
    ("no space left", "the disk is full: free some space"),
    ("file too large", "the disk is full: free some space"),
    ("maxresultsize", "raise spark.driver.maxResultSize, or ask for fewer columns at a time"),
    ("out of memory", "ask for fewer columns at a time, or give the engine more memory"),
    ("open result", "another query still reads from this connection: finish or close that first"),
    ("busy with another call", "another thread uses this connection: give each a cursor() of it"),
    ("python worker exited", "a worker ended; memory may lack: see the log of Spark"),
    ("already been closed", "keep the connection open while it is in use"),
    ("connection was closed", "keep the connection open while it is in use"),
    ("sparkcontext", "keep the Spark session running while it is in use"),
    ("connection refused", "keep the Spark session running while it is in use"),
    ("does not exist", "keep the table while it is in use"),
    ("no module named 'ldpstats'", "install ldpstats where the workers of Spark run"),
    ("no module named", "set PYSPARK_PYTHON to a Python that has ldpstats and what it needs"),
    ("java gateway process exited", "Spark needs Java 17 or later: install it"),
)


class EngineFailure(InvalidArgument):
    """An engine stopped before it had an answer."""


def engine_of(error: BaseException) -> str:
    """The engine that an error belongs to, by its class or by where it was raised; "" if none."""
    modules = [type(error).__module__]
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if frames:
        modules.append(str(frames[-1].f_globals.get("__name__", "")))
    roots = [module.partition(".")[0] for module in modules]
    return next((_ENGINES[root] for root in roots if root in _ENGINES), "")


def of_engine(error: Exception) -> bool:
    """Whether an engine or the system raised it, rather than this package."""
    return bool(engine_of(error)) or isinstance(error, OSError | MemoryError | EOFError)


def reason(error: BaseException) -> str:
    """What an engine says, on one line."""
    text = str(error)
    causes = re.findall(r"^Caused by: (.*)$", text, re.MULTILINE)  # of Java, the first one last
    lines = causes[-1:] or [line for line in text.splitlines() if not line.startswith("\tat ")]
    text = " ".join(" ".join(lines).split())
    return cut("".join(sign if sign.isprintable() else "?" for sign in text), 300)


@contextmanager
def running(name: str, shown: str) -> Iterator[None]:
    """Turn errors of engines, not of this package, into one that shows `name` as `shown`."""
    try:
        yield
    except LDPError:
        raise
    except BaseException as error:
        panic = type(error).__module__ == _PANIC
        if not panic and not (isinstance(error, Exception) and of_engine(error)):
            raise
        raise _failure(name, shown, engine_of(error), error) from None


@contextmanager
def needed(engine: str, requirement: str) -> Iterator[None]:
    """Say what to install where an engine is missing."""
    try:
        yield
    except ImportError:
        remedy = f"is not installed: python -m pip install '{requirement}'"
        raise InvalidArgument("engine", engine, remedy) from None


def _failure(name: str, shown: str, engine: str, error: BaseException) -> LDPError:
    """What the user reads where an engine stopped."""
    # without the calls of Java, which name parts of Spark that have not failed
    text = "\n".join(line for line in str(error).splitlines() if not line.startswith("\tat "))
    own = _OWN.findall(text)
    if own:  # raised in a worker, whose trace ends with it
        kind, message = own[-1]
        made: type[LDPError] = getattr(errors, kind, LDPError)
        if not issubclass(made, InvalidArgument):
            return made(message)
        argument, _, rest = message.partition("=")
        value, _, remedy = rest.partition(": ")
        return made(argument, _Shown(value), remedy)
    if engine == "Spark" and isinstance(error, AssertionError):  # a session that was stopped
        error = RuntimeError("there is no SparkContext")
    low = f"{reason(error)} {text}".lower()
    remedy = next((remedy for words, remedy in _REMEDIES if words in low), "")
    if isinstance(error, MemoryError) and not remedy:
        remedy = "out of memory: ask for fewer columns at a time"
    what = f"{engine or 'the system'} stopped ({type(error).__name__}: {reason(error)})"
    return EngineFailure(name, _Shown(shown), f"{what}: {remedy or 'see its message'}")


@dataclass(frozen=True, repr=False)
class _Shown:
    """Text that stands in a message without quotes."""

    text: str

    def __repr__(self) -> str:
        return self.text


# -- One form of results, whatever engine they come from: types of columns and the order of rows ---


def plain(table: Any) -> Any:
    """A table of Arrow with one type for each kind of value."""
    # whole numbers int64 (columns with larger ones stay as they are), others double; text string,
    # bytes binary, dictionaries their values, moments timestamps in microseconds
    import pyarrow

    arrays = [_plain(table.column(i)) for i in range(table.num_columns)]
    return pyarrow.Table.from_arrays(arrays, names=table.column_names)


def _plain(column: Any) -> Any:
    import pyarrow
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    if types.is_unsigned_integer(kind) and kind.bit_width == 64 and len(column):
        if (pc.max(column).as_py() or 0) >= 1 << 63:
            return column
    target = None
    if types.is_decimal(kind) and kind.scale == 0:
        try:
            return column.cast(pyarrow.int64())
        except pyarrow.ArrowInvalid:  # too large for it
            return column
    if types.is_integer(kind):
        target = pyarrow.int64()
    elif types.is_floating(kind):
        # one zero: engines differ in whether they tell -0.0 from 0.0
        return pc.add(column.cast(pyarrow.float64()), 0.0)
    elif types.is_large_string(kind) or types.is_string_view(kind):
        target = pyarrow.string()
    elif is_of_bytes(kind):
        target = pyarrow.binary()
    elif types.is_timestamp(kind) and kind.unit != "us":
        return column.cast(pyarrow.timestamp("us", kind.tz), safe=False)
    return column if target is None or kind == target else column.cast(target)


def sorted_cells(table: Any) -> Any:
    """Distinct rows in the order of the columns, missing ones last; the last is their number."""
    # values that engines tell apart, but one type of Arrow does not, are added up: 0.0 and -0.0,
    # moments a nanosecond apart
    import pyarrow
    from pyarrow import types

    names = [f"c{i}" for i in range(table.num_columns - 1)]  # whatever the columns are called
    cells = table.rename_columns([*names, "n"])
    cells = cells.set_column(len(names), "n", cells.column("n").cast(pyarrow.int64()))
    if any(types.is_floating(t) or types.is_timestamp(t) for t in cells.schema.types):
        cells = cells.group_by(names).aggregate([("n", "sum")]).select([*names, "n_sum"])
    order = []
    for i, name in enumerate(names):
        kind = cells.schema.field(name).type
        if types.is_nested(kind) or types.is_interval(kind):
            remedy = f"is of the type {kind}, which has no order: cast it"
            raise InvalidArgument("column", table.column_names[i], remedy)
        if not types.is_null(kind):
            order.append((name, "ascending"))
    if order:
        cells = cells.sort_by(order)
    return cells.rename_columns([*table.column_names[:-1], "n"])


# -- How far a query has come ---------------------------------------------------------------------


_watch: ContextVar[Callable[[float], None] | None] = ContextVar("watch", default=None)

SECONDS = 0.2  # from one look to the next


@contextmanager
def watched(advance: Callable[[float], None] | None) -> Iterator[None]:
    """Queries that run meanwhile call `advance` with the fraction that is done, if they know it."""
    token = _watch.set(advance)
    try:
        yield
    finally:
        _watch.reset(token)


def tell(fraction: float) -> None:
    """Say how far the query that runs has come."""
    if advance := _watch.get():
        advance(min(1.0, fraction))


@contextmanager
def polled(connection: Any) -> Iterator[None]:
    """Look how far DuckDB has come with a grouped query, which runs meanwhile."""
    advance = _watch.get()
    if advance is None or connection is None:
        yield
        return
    connection.execute("SET enable_progress_bar = true")  # without it DuckDB does not count
    connection.execute("SET enable_progress_bar_print = false")
    ended = Event()

    def look() -> None:
        while not ended.wait(SECONDS):
            # reading is the first half of what DuckDB counts; the groups are the other
            done = 2 * connection.query_progress() / 100
            if done > 0:  # -1 before it begins, and at its end
                advance(min(1.0, done))

    watcher = Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
