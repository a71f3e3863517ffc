"""Tables of reports on the command line: one file or several, and the engine that counts them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ldpstats.cli.common import option, progress
from ldpstats.engines.database import SUFFIXES
from ldpstats.engines.listing import found_files
from ldpstats.engines.watch import watched
from ldpstats.errors import InvalidArgument

__all__ = [
    "INPUTS",
    "add_engine",
    "engine_options",
    "files_of",
    "moved",
    "named_files",
    "on_engine",
    "running",
    "source",
    "watching",
]

INPUTS = "table of reports: a file, several, a folder, or a pattern in quotes"
ENGINES = ("duckdb", "spark", "polars")

_SPARK = {  # of a session of our own; spark-submit has its own settings
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def add_engine(add: Callable[..., Any]) -> None:
    """The options of commands that count on an engine."""
    words = f"what counts the rows of Parquet files: {', '.join(ENGINES)} (default: {ENGINES[0]})"
    add("--engine", choices=ENGINES, metavar="NAME", help=words)
    words = "a file that is damaged, or of another table: refuse all (default: raise), or report "
    words += "it and count the others (report)"
    add("--on-error", choices=("raise", "report"), default="raise", help=words)


def source(given: argparse.Namespace) -> Any:
    """INPUT as it was given: a name, or a list of names."""
    names = given.input
    return names[0] if isinstance(names, list) and len(names) == 1 else names


def files_of(given: argparse.Namespace, table: object = None) -> list[Path]:
    """The files of a table, INPUT if none is given, in the order in which they are read."""
    named = source(given) if table is None else table
    return list(found_files(named, given.on_error == "report").files)


def named_files(given: argparse.Namespace) -> list[Path]:
    """The same for INPUT; what is no file is left to whatever reads it, after the other options."""
    return list(found_files(source(given), True).files)


def moved(
    advance: Callable[..., None] | None, number: int, n: int
) -> Callable[[float], None] | None:
    """What moves a bar over n files while one of them is read."""
    if advance is None:
        return None
    move = advance
    return lambda fraction: move((number + fraction) / n)


def on_engine(given: argparse.Namespace, files: list[Path]) -> bool:
    """Whether an engine counts the table; options of engines are refused where none does.

    CSV is read chunk by chunk.
    """
    kinds = (".parquet", *SUFFIXES)
    if all(file.name.lower().endswith(kinds) for file in files):
        return True
    refuse_engine(given, "goes with Parquet files: others are read chunk by chunk")
    return False


def refuse_engine(given: argparse.Namespace, remedy: str) -> None:
    """Refuse the options of engines where they do not apply."""
    for name, default in (("engine", None), ("on_error", "raise")):
        value = getattr(given, name)
        if value != default:
            raise InvalidArgument(option(name), value, remedy)


def engine_options(given: argparse.Namespace) -> dict[str, Any]:
    """The options of engines as arguments of `Survey` and `count`."""
    return {"engine": given.engine, "on_error": given.on_error}


@contextmanager
def running(given: argparse.Namespace) -> Iterator[None]:
    """A session of Spark, where it is asked for: that of spark-submit, or one of our own.

    A session of our own has two workers for each core at most, and ends with the command.
    """
    if given.engine != "spark":
        yield
        return
    from ldpstats.engines.failures import needed
    from ldpstats.engines.failures import running as named

    with needed("spark", "ldpstats[spark]"):
        from pyspark.sql import SparkSession
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("ldpstats")
    own = "PYSPARK_GATEWAY_PORT" not in os.environ and SparkSession.getActiveSession() is None
    for key, value in _SPARK.items() if own else ():
        builder = builder.config(key, value)
    with named("engine", "spark"):
        session = builder.getOrCreate()
    try:
        if own:
            session.sparkContext.setLogLevel("ERROR")
        yield
    finally:
        if own:
            session.stop()


@contextmanager
def watching(what: str, table: Sized) -> Iterator[None]:
    """A bar with rows and their rate for the queries of a table that run meanwhile."""
    with progress(what) as advance:
        if advance is None:
            yield
            return
        move, rows = advance, len(table)

        def moved(fraction: float) -> None:
            move(fraction, rows=round(fraction * rows))

        with watched(moved):
            yield
