"""Parquet files, one after another, as one table; each is counted exactly once."""

from __future__ import annotations

import glob
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from ldpstats.arguments import listed, record
from ldpstats.engines.base import (
    BATCH_ROWS,
    Engine,
    EngineFailure,
    Partial,
    of_engine,
    picked,
    reason,
    running,
    tell,
)
from ldpstats.engines.database import DuckDB
from ldpstats.engines.query import Query
from ldpstats.errors import InvalidArgument, LDPWarning
from ldpstats.io.storage import checked_path, reading, refusal
from ldpstats.io.tables import file_format
from ldpstats.labels import is_text
from ldpstats.reports.layout import is_of_bytes

T = TypeVar("T")

_CHANGED = "changed while it was in use: make the survey anew"


@record
class Files(Query):
    """Parquet files of one schema.

    With `report`, files that turn out to be damaged are left out from then on, with a warning.
    """

    footers: Mapping[str, Footer]
    report: bool
    refused: tuple[tuple[str, str], ...] = ()  # when they were opened
    damaged: dict[str, str] = field(default_factory=dict)  # found since

    @property
    def ordered(self) -> bool:
        return self.engine.keeps_order

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        return (*self.refused, *self.damaged.items())

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(next(iter(self.footers.values())).schema.names)

    @property
    def files(self) -> list[str]:
        """Those that are counted."""
        return [file for file in self.footers if file not in self.damaged]

    @property
    def widths(self) -> dict[str, str]:
        """The columns that files hold in several types, with what they hold in all."""
        found = {}
        for name in self.columns:
            kinds = {_value_type(held.schema.field(name).type) for held in self.footers.values()}
            if len(kinds) > 1:
                found[name] = min(map(_kind, kinds), key="null".__eq__)
        return found

    def root(self, session: Engine) -> Any:
        return session.scan(self.files, self.widths)

    def is_text(self, name: str) -> bool:
        kind = next(iter(self.footers.values())).schema.field(name).type
        return not is_of_bytes(kind) and super().is_text(name)  # for bytes no database is opened

    def stored(self, name: str) -> Mapping[bytes, bytes]:
        notes: dict[bytes, bytes] = {}
        for file in self.files:  # each key as the first file that has it
            notes = {**self.footers[file].stored(name), **notes}
        return notes

    def levels(self, name: str) -> tuple[Any, ...] | None:
        from pyarrow import types

        known: list[Any] = []
        for file in self.files:
            held = self.footers[file]
            kind = held.schema.field(name).type
            if not types.is_dictionary(kind) or not kind.ordered:
                return None
            for values in _dictionaries(file, held, name):
                place = {value: i for i, value in enumerate(known)}
                order = [place[value] for value in values if value in place]
                if order != sorted(order):
                    remedy = f"orders the categories of column {name!r} in another way: convert one"
                    raise refusal(file, remedy)
                known += [value for value in values if value not in place]
        return tuple(known)

    # -- damage --------------------------------------------------------------------------------

    def tried(self, action: Callable[[], T]) -> T:
        while True:
            self.refused_changed(self.files)
            try:
                with running(self.name, self.shown):
                    found = action()
            except EngineFailure:
                if not (self.refused_changed(self.files) or self.refused_damaged(self.files)):
                    raise
            else:
                if not self.refused_changed(self.files):
                    return found

    def streamed(self, batches: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        self.refused_changed(self.files)
        if self.report:  # read whole before: what was handed on cannot be taken back
            self.refused_damaged(self.files)
        try:
            yield from super().streamed(batches)
        except EngineFailure:
            self.refused_changed(self.files, handed_on=True)
            if not self.report:
                self.refused_damaged(self.files)
            raise
        self.refused_changed(self.files, handed_on=True)

    def _refuse(self, file: str, why: str) -> None:
        """Leave a file out, or refuse it."""
        if not self.report:
            raise refusal(file, why)
        self.damaged[file] = why
        _warn(file, why)
        if not self.files:
            raise refusal(file, f"{why}; no other file is left")

    def refused_changed(self, files: Sequence[str], handed_on: bool = False) -> bool:
        """Refuse those of some files that are not the ones that were opened; are there any?"""
        found = False
        for file in files:
            if not self.footers[file].unchanged(file):
                if handed_on:  # their rows: nothing can be left out any more
                    raise refusal(file, _CHANGED)
                self._refuse(file, _CHANGED)
                found = True
        return found

    def refused_damaged(self, files: Sequence[str]) -> bool:
        """Read each of some files alone; refuse those that fail; are there any?"""
        import pyarrow.parquet

        found = False
        for file in files:
            session = self._checker.session()
            try:
                for _ in session.batches(session.scan([file], {}), BATCH_ROWS):
                    pass
                with pyarrow.parquet.ParquetFile(file) as opened:  # which reads bits
                    for _ in opened.iter_batches():
                        pass
            except Exception as error:
                if not of_engine(error):
                    raise
                why = f"cannot be read ({reason(error)}): it may be damaged or cut off"
                self._refuse(file, why)
                found = True
        return found

    @cached_property
    def _checker(self) -> DuckDB:
        """DuckDB, whatever engine counts; kept, as what it opens ends with it."""
        return self.engine if isinstance(self.engine, DuckDB) else DuckDB(own=True)

    # -- parts ---------------------------------------------------------------------------------

    def partial(self, names: Sequence[str], function: Partial, schema: Any) -> Iterable[Any]:
        if not self.engine.in_threads:
            return super().partial(names, function, schema)
        self._check(names)
        self.refused_changed(self.files)
        return shares(self, names, function)

    def first(self, name: str, value: object) -> str | None:
        places = {"filename", "file_row_number"}
        if places & {column.casefold() for column in self.columns}:
            return None
        import narwhals

        column = narwhals.col(name)
        test = column.is_null() if value is None else column == value

        def run() -> Any:
            session = self._checker.session()
            table = session.scan(self.files, self.widths, **dict.fromkeys(places, True))
            rows = self.filtered_frame(table).filter(test).select(*sorted(places))
            number = narwhals.col("file_row_number").min()
            return session.table(rows.group_by("filename").agg(number))

        rows = dict(zip(*self.tried(run).to_pydict().values(), strict=True))
        file = next((file for file in self.files if file in rows), None)
        return None if file is None else f"{file}, row {rows[file] + 1}"


def _warn(file: str, why: str) -> None:
    """Say that a file is not counted."""
    warnings.warn(f"{file}: {why}; this file is left out", LDPWarning, stacklevel=2)


def _copies(footers: dict[str, Footer]) -> list[tuple[str, str]]:
    """Leave out what other files hold too: batches that a collector merged, and copies, and why."""
    # a collector removes files that it merges when the whole is there: sheets count once meanwhile
    merged = frozenset[str]().union(*(held.merged for held in footers.values()))
    known: dict[str, str] = {}
    copies = []
    for file, held in list(footers.items()):
        first = known.setdefault(held.batch, file) if held.batch else file
        if first != file:
            copies.append((file, f"holds the same sheets as {first}: remove one of them"))
        if first != file or (held.batch or Path(file).name) in merged:
            del footers[file]
    return copies


def parquet(name: str, found: Found, engine: Engine, report: bool) -> Files:
    """Open Parquet files: read what they say of their columns, and compare it."""
    footers: dict[str, Footer] = {}
    files, refused = found
    problems = list(refused)
    for path in files:
        file = str(path)
        try:
            opened = footer(path)
        except InvalidArgument as error:
            if not report:
                raise
            problems.append((file, error.remedy))
            continue
        first = next(iter(footers.values()), None)
        why = difference(first, next(iter(footers), ""), opened) if first else ""
        if why and not report:
            raise refusal(file, why)
        if why:
            problems.append((file, why))
        else:
            footers[file] = opened
    if not footers:
        file, why = problems[0]
        raise refusal(file, f"{why}; no other file is left")
    problems += _copies(footers)
    for file, why in problems:
        _warn(file, why)
    shown = next(iter(footers)) if len(footers) == 1 else f"{len(footers)} files"
    return Files(name, engine, shown, None, footers, report, tuple(problems))


# -- What Parquet files say of themselves: columns, types, what is stored beside them -------------


_OWN = b"ldpstats."  # fingerprints, which must agree between files
BATCH = b"ldpstats.batch"  # of a file of a collector: what was drawn when it was written
MERGED = b"ldpstats.merged"  # what a collector merged into it, as a list of JSON


@record
class Footer:
    """The footer of a file, and the state of the file when it was read."""

    schema: Any  # of Arrow
    n: int
    groups: tuple[int, ...]  # rows of each row group
    state: tuple[int, ...]

    @property
    def batch(self) -> str:
        """Which batch of sheets the file is; "" if no collector wrote it."""
        return str((self.schema.metadata or {}).get(BATCH, b"").decode("ascii", "replace"))

    @property
    def merged(self) -> frozenset[str]:
        """The batches that were merged into it; names of files that have no batch."""
        try:
            found = json.loads((self.schema.metadata or {}).get(MERGED, b"[]"))
        except ValueError:
            return frozenset()
        return frozenset(map(str, found)) if isinstance(found, list) else frozenset()

    def stored(self, name: str) -> dict[bytes, bytes]:
        """The keys and values beside a column."""
        return dict(self.schema.field(name).metadata or {})

    def unchanged(self, file: str) -> bool:
        """Whether the file is still the one that was read."""
        try:
            return _state(file) == self.state
        except OSError:
            return False


def _state(file: str | Path) -> tuple[int, ...]:
    found = os.stat(file)
    return found.st_ino, found.st_size, found.st_mtime_ns


def footer(path: Path) -> Footer:
    """Read the footer of a file; refuse one that is damaged, or that engines cannot query."""
    import pyarrow
    import pyarrow.parquet

    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise refusal(path, "the name is not UTF-8: rename the file") from None
    with reading(path, pyarrow.ArrowException, regular=True):
        state = _state(path)
        with pyarrow.parquet.ParquetFile(path) as file:
            held, schema = file.metadata, file.schema_arrow
            groups = tuple(held.row_group(i).num_rows for i in range(held.num_row_groups))
            if not schema.names:
                raise refusal(path, "has no columns: leave it out")
            known: dict[str, str] = {}
            for name in schema.names:
                other = known.setdefault(name.casefold(), name)
                if other is not name:
                    remedy = f"has the columns {other!r} and {name!r}: rename one, for engines "
                    remedy += "ignore case"
                    raise refusal(path, remedy)
            return Footer(schema, int(held.num_rows), groups, state)


def _value_type(kind: Any) -> Any:
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def _kind(kind: Any) -> str:
    """A type as far as files of one table must agree."""
    from pyarrow import types

    tests = {
        "whole numbers": types.is_integer,
        "numbers": types.is_floating,
        "text": is_text,
        "bytes": lambda t: types.is_binary(t) or types.is_large_binary(t),
    }
    return next((name for name, test in tests.items() if test(kind)), str(kind))


def difference(first: Footer, path: str, other: Footer) -> str:
    """How columns differ from those of the first file, at `path`, but for the widths of numbers."""
    known_names, names_there = first.schema.names, other.schema.names
    lacks = [name for name in known_names if name not in names_there]
    more = [name for name in names_there if name not in known_names]
    for names, verb in ((lacks, "has no column"), (more, "has the column")):
        if names:
            has = "has" if verb == "has no column" else "does not have"
            return f"{verb} {names[0]!r}, which {path} {has}: give files of one table"
    for name in known_names:
        kinds = [_kind(_value_type(held.schema.field(name).type)) for held in (first, other)]
        if kinds[0] != kinds[1] and "null" not in kinds:
            return f"holds {kinds[1]} in column {name!r}, and {path} {kinds[0]}: convert one"
        notes, known = other.stored(name), first.stored(name)
        for key in notes.keys() & known.keys():
            if key.startswith(_OWN) and notes[key] != known[key]:
                return (
                    f"holds reports of another mechanism than {path} in column {name!r}: their "
                    "fingerprints differ; count the files separately"
                )
    return ""


def _dictionaries(file: str, held: Footer, name: str) -> list[list[Any]]:
    """The categories of each row group."""
    import pyarrow
    import pyarrow.parquet

    found = []
    with reading(file, pyarrow.ArrowException, regular=True):
        with pyarrow.parquet.ParquetFile(file) as opened:
            for group in range(len(held.groups)):
                batches = opened.iter_batches(1, row_groups=[group], columns=[name])
                found += [batch.column(0).dictionary.to_pylist() for batch in islice(batches, 1)]
    return found


# -- Names of files: one, a list, a pattern or a folder -------------------------------------------
# A pattern such as "part-*.parquet" stands for all that match, in the order of their names, and a
# folder for all tables in it. A folder that is named like a table is one, as Spark writes them.


_KINDS = (".csv", ".csv.gz", ".parquet")
_GONE = "no such file: check the name"


Found = tuple[tuple[Path, ...], tuple[tuple[str, str], ...]]
"""Files in the order in which they are read, and names that led to none, with the reason."""


def found_files(data: object, report: bool = False) -> Found:
    """The files that `data` names, each once; with `report` also the names without one."""
    items = data if isinstance(data, list | tuple) else [data]
    files: list[Path] = []
    refused: list[tuple[str, str]] = []
    known: dict[tuple[int, int], Path] = {}
    for item in listed("data", items, "must be a list of files"):
        if not os.fspath(item):  # which would mean the current folder
            raise InvalidArgument("path", item, "must be the name of a file")
        path = checked_path(item)
        try:
            expanded = list(_expanded(path))
        except OSError as error:
            expanded = [(path, f"cannot be read ({error.strerror})")]
        for file, fault in expanded:
            fault = fault or _twice(file, known)
            if not fault:
                files.append(file)
            elif report:
                refused.append((str(file), fault))
            else:
                raise refusal(file, fault)
    kinds: dict[bool, Path] = {}
    for file in files:
        file_format(file)
        kinds.setdefault(file.name.lower().endswith(".parquet"), file)
    if len(kinds) > 1:
        remedy = f"is of another kind than {kinds[True]}: convert one of them"
        raise InvalidArgument("path", str(kinds[False]), remedy)
    return tuple(files), tuple(refused)


def _expanded(path: Path) -> Iterator[tuple[Path, str]]:
    """Each file that a name stands for, with what is wrong with it, if anything."""
    if path.is_dir():
        yield from _inside(path)
    elif path.exists() or not glob.has_magic(str(path)):
        file_format(path)
        yield path, "" if path.exists() else _GONE
    else:
        matches = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]
        # "**" finds a folder that is a table, and what is in it
        files = dict.fromkeys(pair for match in matches for pair in _matched(match))
        yield from files
        if not files:
            found = "only folders match" if matches else "no file matches"
            yield path, f"{found} this pattern: check it"


def _inside(folder: Path) -> Iterator[tuple[Path, str]]:
    """The tables in a folder."""
    inside = sorted(file for file in folder.iterdir() if file.name.lower().endswith(_KINDS))
    shown = [file for file in inside if file.name[0] not in "._"]  # others belong to programs
    for file in shown:
        yield from _matched(file)
    if not shown:
        yield folder, f"the folder holds no table: {', '.join(_KINDS)}"


def _matched(path: Path) -> Iterator[tuple[Path, str]]:
    """A file; the tables in a folder that is named like one, as Spark writes them; else nothing."""
    if not path.is_dir():
        yield path, ""
    elif path.name.lower().endswith(_KINDS):
        yield from _inside(path)


def _twice(file: Path, known: dict[tuple[int, int], Path]) -> str:
    """Why a file is not to be read: it was named before, or cannot be; "" for a new one."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return "leads to no file: mend or remove this link" if file.is_symlink() else _GONE
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    first = known.setdefault((found.st_dev, found.st_ino), file)
    if first is file:
        return ""
    return f"is {'listed twice' if first == file else f'the same file as {first}'}: name it once"


# -- Shares of Parquet files, worked on by threads ------------------------------------------------


SHARE_ROWS = 1 << 20


def shares(source: Files, names: Sequence[str], function: Partial) -> Iterator[Any]:
    """What `function` makes of the shares of all files; nothing of a file that is left out."""

    def batches(file: str, groups: list[int] | None) -> Iterator[Any]:
        if groups is None:
            session = source.engine.session()
            chosen = source.filtered_frame(session.scan([file], source.widths))
            yield from session.batches(picked(chosen, names), BATCH_ROWS)
            return
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(file) as opened:
            read = opened.iter_batches(
                BATCH_ROWS, row_groups=groups, columns=list(names), use_threads=False
            )
            for batch in read:  # in the order of the file, and "a" would bring "a.b" with it
                yield batch.select(list(names))

    def work(file: str, groups: list[int] | None) -> list[Any]:
        with running(source.name, file):
            return list(function(batches(file, groups)))

    def results(file: str, futures: list[Future[list[Any]]]) -> list[Any]:
        """All of a file; none if it is left out."""
        try:
            found = [batch for future in futures for batch in future.result()]
        except EngineFailure:
            if not (source.refused_changed([file]) or source.refused_damaged([file])):
                raise
            return []
        return [] if source.refused_changed([file]) else found  # before any of it is handed on

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        begun = []
        for file in source.files:
            cut: Iterable[list[int] | None] = [None]
            if not source.filters:
                cut = _small_groups(source.footers[file])
            begun.append((file, [pool.submit(work, file, groups) for groups in cut]))
        done, everything = 0, sum(len(futures) for _, futures in begun)
        try:
            for file, futures in begun:
                yield from results(file, futures)
                done += len(futures)
                tell(done / max(1, everything))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _small_groups(footer: Footer) -> Iterator[list[int]]:
    """Row groups of a file, together as far as they are small."""
    groups: list[int] = []
    rows = 0
    for group, n in enumerate(footer.groups):
        groups.append(group)
        rows += n
        if rows >= SHARE_ROWS or group == len(footer.groups) - 1:
            yield groups
            groups, rows = [], 0
