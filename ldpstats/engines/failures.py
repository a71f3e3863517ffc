"""Errors of engines, turned into one that names the data and says what to do."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from ldpstats import errors
from ldpstats.errors import InvalidArgument, LDPError, cut

__all__ = ["EngineFailure", "engine_of", "needed", "of_engine", "reason", "running"]

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
    """Turn errors of engines into one that shows the argument `name` as `shown`.

    What was raised by this package, here or in a worker of Spark, says enough and stays as it is.
    """
    try:
        yield
    except LDPError:
        raise
    except BaseException as error:
        panic = type(error).__module__ == _PANIC
        if not panic and not (isinstance(error, Exception) and of_engine(error)):
            raise
        raise _named(name, shown, engine_of(error), error) from None


@contextmanager
def needed(engine: str, requirement: str) -> Iterator[None]:
    """Say what to install where an engine is missing."""
    try:
        yield
    except ImportError:
        pass
    else:
        return
    remedy = f"is not installed: python -m pip install '{requirement}'"
    raise InvalidArgument("engine", engine, remedy) from None


def _named(name: str, shown: str, engine: str, error: BaseException) -> LDPError:
    # without the calls of Java, which name parts of Spark that have not failed
    text = "\n".join(line for line in str(error).splitlines() if not line.startswith("\tat "))
    own = _OWN.findall(text)
    if own:  # raised in a worker, whose trace ends with it
        return _again(*own[-1])
    if engine == "Spark" and isinstance(error, AssertionError):  # a session that was stopped
        error = RuntimeError("there is no SparkContext")
    low = f"{reason(error)} {text}".lower()
    remedy = next((remedy for words, remedy in _REMEDIES if words in low), "")
    if isinstance(error, MemoryError) and not remedy:
        remedy = "out of memory: ask for fewer columns at a time"
    what = f"{engine or 'the system'} stopped ({type(error).__name__}: {reason(error)})"
    return EngineFailure(name, _Shown(shown), f"{what}: {remedy or 'see its message'}")


def _again(kind: str, message: str) -> LDPError:
    """An error of this package from its name and its message."""
    found: type[LDPError] = getattr(errors, kind, LDPError)
    if not issubclass(found, InvalidArgument):
        return found(message)
    name, _, rest = message.partition("=")
    value, _, remedy = rest.partition(": ")
    return found(name, _Shown(value), remedy)


class _Shown:
    """Text that stands in a message without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text
