"""Parquet files, one after another, as one table; each is counted exactly once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from ldpstats.engines.base import BATCH_ROWS, Engine, Partial, Source
from ldpstats.engines.database import Embedded
from ldpstats.engines.failures import EngineFailure, of_engine, reason, running
from ldpstats.engines.footers import Footer, combined, difference, footer, levels, widths
from ldpstats.engines.listing import Found
from ldpstats.engines.shares import shares
from ldpstats.errors import InvalidArgument, LDPWarning
from ldpstats.io.storage.files import refusal
from ldpstats.reports.packed import is_of_bytes

__all__ = ["Files", "parquet"]

T = TypeVar("T")

_CHANGED = "changed while it was in use: make the survey anew"


@dataclass(frozen=True, eq=False)
class Files(Source):
    """Parquet files of one schema.

    With `report`, files that turn out to be damaged are left out from then on, with a warning.
    """

    name: str
    engine: Engine
    footers: Mapping[str, Footer]
    report: bool
    refused: tuple[tuple[str, str], ...] = ()  # when they were opened
    damaged: dict[str, str] = field(default_factory=dict)  # found since

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        return self.engine.keeps_order

    @property
    def shown(self) -> str:
        return next(iter(self.footers)) if len(self.footers) == 1 else f"{len(self.footers)} files"

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        return (*self.refused, *self.damaged.items())

    @property
    def columns(self) -> tuple[str, ...]:
        return next(iter(self.footers.values())).columns

    @property
    def files(self) -> list[str]:
        """Those that are counted."""
        return [file for file in self.footers if file not in self.damaged]

    @property
    def widths(self) -> dict[str, str]:
        """The columns that files hold in several types, with what they hold in all."""
        return widths(list(self.footers.values()))

    def root(self, session: Engine) -> Any:
        return session.scan(self.files, self.widths)

    def is_text(self, name: str) -> bool:
        kind = next(iter(self.footers.values())).schema.field(name).type
        return not is_of_bytes(kind) and super().is_text(name)  # for bytes no database is opened

    def stored(self, name: str) -> Mapping[bytes, bytes]:
        return combined([self.footers[file].stored(name) for file in self.files])

    def levels(self, name: str) -> tuple[Any, ...] | None:
        return levels({file: self.footers[file] for file in self.files}, name)

    # -- damage --------------------------------------------------------------------------------

    def tried(self, action: Callable[[], T]) -> T:
        while True:
            self._refused_changed()
            try:
                with running(self.name, self.shown):
                    found = action()
            except EngineFailure:
                if not (self._refused_changed() or self._refused_damaged()):
                    raise
            else:
                if not self._refused_changed():
                    return found

    def streamed(self, batches: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        self._refused_changed()
        if self.report:  # read whole before: what was handed on cannot be taken back
            self._refused_damaged()
        try:
            yield from super().streamed(batches)
        except EngineFailure:
            self._check_unchanged()
            if not self.report:
                self._refused_damaged()
            raise
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        """Refuse files that changed, also with `report`: their rows were handed on."""
        for file in self.files:
            if not self.footers[file].unchanged(file):
                raise refusal(file, _CHANGED)

    def _refuse(self, file: str, why: str) -> None:
        """Leave a file out, or refuse it."""
        if not self.report:
            raise refusal(file, why)
        self.damaged[file] = why
        _warn(file, why)
        if not self.files:
            raise refusal(file, f"{why}; no other file is left")

    def _refused_changed(self) -> bool:
        """Refuse files that are not those that were opened; return whether there are any."""
        return any([self.refused_changed(file) for file in self.files])

    def refused_changed(self, file: str) -> bool:
        """Refuse a file that is not the one that was opened, and return whether it is not."""
        if self.footers[file].unchanged(file):
            return False
        self._refuse(file, _CHANGED)
        return True

    def _refused_damaged(self) -> bool:
        """Read each file alone; refuse those that fail, and return whether there are any."""
        return any([self.refused_damaged(file) for file in self.files])

    def refused_damaged(self, file: str) -> bool:
        """Read a file alone; refuse it if that fails, and return whether it did."""
        why = self._damage(file)
        if why:
            self._refuse(file, why)
        return bool(why)

    @cached_property
    def _checker(self) -> Embedded:
        """DuckDB, whatever engine counts; kept, as what it opens ends with it."""
        return self.engine if isinstance(self.engine, Embedded) else Embedded()

    def _damage(self, file: str) -> str:
        """Why a file cannot be read by DuckDB, or by Arrow, which reads bits; "" if it can."""
        import pyarrow.parquet

        session = self._checker.session()
        try:
            for _ in session.batches(session.scan([file], {}), BATCH_ROWS):
                pass
            with pyarrow.parquet.ParquetFile(file) as opened:
                for _ in opened.iter_batches():
                    pass
        except Exception as error:
            if not of_engine(error):
                raise
            return f"cannot be read ({reason(error)}): it may be damaged or cut off"
        return ""

    # -- parts ---------------------------------------------------------------------------------

    def partial(
        self,
        frame: Callable[[Any], Any],
        function: Partial,
        schema: Any,
        names: Sequence[str],
        whole: bool,
    ) -> Iterator[Any]:
        if not self.engine.in_threads:
            session = self.engine.session()

            def collected() -> list[Any]:
                return list(session.partial(frame(self.root(session)), function, schema))

            yield from self.tried(collected)
            return
        self._refused_changed()
        yield from shares(self, frame, function, names, whole)

    def first(self, found: Callable[[Any], Any]) -> str | None:
        places = {"filename", "file_row_number"}
        if places & {name.casefold() for name in self.columns}:
            return None
        import narwhals

        def run() -> Any:
            session = self._checker.session()
            rows = found(session.located(self.files, self.widths)).select(*sorted(places))
            number = narwhals.col("file_row_number").min()
            return session.table(rows.group_by("filename").agg(number))

        rows = dict(zip(*self.tried(run).to_pydict().values(), strict=True))
        file = next((file for file in self.files if file in rows), None)
        return None if file is None else f"{file}, row {rows[file] + 1}"


def _warn(file: str, why: str) -> None:
    """Say that a file is not counted."""
    warnings.warn(f"{file}: {why}; this file is left out", LDPWarning, stacklevel=2)


def _copies(footers: dict[str, Footer]) -> list[tuple[str, str]]:
    """Leave out what other files hold too: batches that a collector merged, and copies, with why.

    A collector that merges files removes them when the whole is there: sheets count once meanwhile.
    """
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
    problems = list(found.refused)
    for path in found.files:
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
    return Files(name, engine, footers, report, tuple(problems))
