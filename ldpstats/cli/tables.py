"""Tables of reports on the command line: one file or several, and the engine that counts them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ldpstats.cli.common import option
from ldpstats.engines.database import SUFFIXES
from ldpstats.engines.listing import found_files
from ldpstats.engines.sources import ENGINES
from ldpstats.errors import InvalidArgument

__all__ = [
    "INPUTS",
    "add_engine",
    "engine_options",
    "files_of",
    "named_files",
    "on_engine",
    "running",
    "source",
]

INPUTS = "table of reports: one or several files, a folder, or a pattern in quotes"

_SPARK = {  # of a session of our own; spark-submit has its own settings
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def add_engine(add: Callable[..., Any]) -> None:
    """The options of commands that count on an engine."""
    words = f"what counts the rows of Parquet files: {', '.join(ENGINES)} (default: duckdb)"
    add("--engine", choices=tuple(ENGINES), metavar="NAME", help=words)
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
    """The same for INPUT; what reads names without a file refuses them, after the other options."""
    return list(found_files(source(given), True).files)


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

    A session of our own runs on the cores of this machine, and ends with the command.
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
