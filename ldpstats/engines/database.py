"""DuckDB: a caller's relations, files through an embedded database, and database files."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from ldpstats.arguments import record
from ldpstats.engines.base import Engine, polled, running
from ldpstats.engines.query import Query
from ldpstats.errors import InvalidArgument
from ldpstats.io.storage import reading

SUFFIXES = (".duckdb", ".ddb", ".db")
MEMORY = "1GB"  # beyond it DuckDB uses temporary files
_FORKED: list[Any] = []  # connections of the process that this one was forked from


@record
class DuckDB(Engine):
    """Runs relations on the connection that they have, or in a database of our own in memory."""

    title = "DuckDB"
    own: bool = False  # which begins with the first query of a process
    databases: tuple[Path, ...] = ()  # that somebody else made, with views that would read any file
    files: tuple[str, ...] = ()  # that it may read beside them
    connection: Any = None  # of one query in it
    _open: dict[int, Any] = field(default_factory=dict, init=False, repr=False)

    def seen(self, native: Any) -> Any:
        if isinstance(native, str):  # a query of one of the databases
            if self.connection is None:
                return None
            native = self.connection.sql(native)
        kinds = dict(zip(native.columns, map(str, native.types), strict=True))
        if {"DOUBLE", "FLOAT"} & {*kinds.values()}:
            # without bounds: those in Parquet files are of the numbers only, of which DuckDB 2.0
            # infers that there is no NaN
            columns = []
            for name, kind in kinds.items():
                column = _quoted(name)
                if kind in ("DOUBLE", "FLOAT"):
                    column = f"CASE WHEN random() >= 0 THEN {column} END AS {column}"
                columns.append(column)
            native = native.project(", ".join(columns))
        return super().seen(native)

    def table(self, frame: Any, most_bytes: int | None = None) -> Any:
        import pyarrow

        with _interrupts(), polled(self.connection):
            if most_bytes is None:
                return super().table(frame)
            parts, size = [], 0
            reader = _reader(frame, 1 << 20)
            try:
                for batch in reader:
                    parts.append(batch)
                    size += batch.nbytes
                    if size > most_bytes:
                        return None
                return pyarrow.Table.from_batches(parts, schema=reader.schema)
            finally:
                reader.close()

    def batches(self, frame: Any, rows: int) -> Iterator[Any]:
        with _interrupts():
            reader = _reader(frame, rows)
            try:
                yield from reader
            finally:
                reader.close()  # a connection runs no other query before

    def session(self) -> Engine:
        if not self.own:
            return self
        import duckdb

        process = os.getpid()  # a fork has the memory of a connection, but not its threads
        if process not in self._open:
            folder = tempfile.mkdtemp(prefix="ldpstats-")
            settings: dict[str, Any] = {
                "memory_limit": MEMORY,
                "temp_directory": folder,
                "autoinstall_known_extensions": "false",
            }
            connection = duckdb.connect(":memory:", config=settings)
            weakref.finalize(self, _end, connection, folder, os.getpid())
            for path in self.databases:
                file = _escaped(str(path))
                connection.execute(f"ATTACH '{file}' AS {_name(path)} (READ_ONLY)")
            if self.databases:
                names = {name for file in self.files for name in (file, _literal(file))}
                allowed = ", ".join(f"'{_escaped(name)}'" for name in sorted(names))
                connection.execute(f"SET allowed_paths = [{allowed}]")
                connection.execute("SET enable_external_access = false")
            self._open[process] = connection
        cursor = self._open[process].cursor()
        cursor.execute("SET enable_progress_bar = false")
        return DuckDB(connection=cursor)

    def joined(self, other: Engine, files: Sequence[str]) -> Engine:
        theirs = other.databases if isinstance(other, DuckDB) else ()
        databases = tuple(dict.fromkeys((*self.databases, *theirs)))
        return DuckDB(True, databases, tuple(files)) if self.own and databases else self

    def scan(self, files: Sequence[str], widths: Mapping[str, str], **how: bool) -> Any:
        if self.connection is None:
            return super().scan(files, widths)
        # DuckDB would take *, ? and [ in a name for patterns
        names = [_literal(file) for file in files]
        return self.seen(self.connection.read_parquet(names, union_by_name=bool(widths), **how))

    def __reduce__(self) -> Any:
        # a copy, here or in another process, has a database of its own
        return DuckDB, (self.own, self.databases, self.files)


@contextmanager
def _interrupts() -> Iterator[None]:
    """Raise what Python does at Ctrl-C, for which DuckDB has an error of its own."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from None


def _reader(frame: Any, rows: int) -> Any:
    relation = frame.to_native()
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # before 1.5
    return read(rows)


def _end(connection: Any, folder: str, process: int) -> None:
    if process != os.getpid():
        _FORKED.append(connection)  # to close it would wait for threads that are not there
        return
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


def _literal(file: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in file)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _escaped(file: str) -> str:
    return file.replace("'", "''")


def _name(path: Path) -> str:
    """What a database file is called where it is attached."""
    return "d" + hashlib.sha256(bytes(path)).hexdigest()[:16]


def database(name: str, path: Path, table: str | None) -> Query:
    """A table, or view, of a database file; `table` may be left out where there is one."""
    path = path.absolute()
    engine = DuckDB(own=True, databases=(path,))
    with reading(path, regular=True):
        path.stat()
    with running(name, str(path)):
        session: Any = engine.session()
        where = _name(path)
        found = session.connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() "
            f"WHERE database_name = '{where}' AND NOT internal UNION ALL "
            "SELECT schema_name, view_name FROM duckdb_views() "
            f"WHERE database_name = '{where}' AND NOT internal ORDER BY ALL"
        ).fetchall()
    if not found:
        raise InvalidArgument("path", str(path), "this database holds no table: check the name")
    names = [name if schema == "main" else f"{schema}.{name}" for schema, name in found]
    shown = ", ".join(map(repr, names[:20]))
    if table is None:
        fits = found
        remedy = f"needed, for the database has more than one: {shown}"
    else:
        fits = [pair for pair in found if table in (pair[1], ".".join(pair))]
        remedy = f"must be one table of the database, which has {shown}"
    if len(fits) != 1:
        raise InvalidArgument("table", table, remedy)
    sql = f"SELECT * FROM {where}.{'.'.join(map(_quoted, fits[0]))}"
    return Query(name, engine, f"{path}, table {fits[0][1]!r}", sql)
