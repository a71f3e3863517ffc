"""What Parquet files say of themselves: columns, types, what is stored beside them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpstats.arguments.distinct import is_text
from ldpstats.io.storage.files import reading, refusal

__all__ = ["BATCH", "MERGED", "Footer", "combined", "difference", "footer", "levels", "widths"]

_OWN = b"ldpstats."  # fingerprints, which must agree between files
BATCH = b"ldpstats.batch"  # of a file of a collector: what was drawn when it was written
MERGED = b"ldpstats.merged"  # what a collector merged into it, as a list of JSON


@dataclass(frozen=True, eq=False)
class Footer:
    """The footer of a file, and the state of the file when it was read."""

    schema: Any  # of Arrow
    n: int
    groups: tuple[int, ...]  # rows of each row group
    state: tuple[int, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.schema.names)

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
            _check_names(path, schema.names)
            return Footer(schema, int(held.num_rows), groups, state)


def _check_names(path: Path, names: list[str]) -> None:
    if not names:
        raise refusal(path, "has no columns: leave it out")
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.casefold(), name)
        if other is not name:
            remedy = f"has the columns {other!r} and {name!r}: rename one, for engines ignore case"
            raise refusal(path, remedy)


def _value_type(kind: Any) -> Any:
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def _kind(kind: Any) -> str:
    """A type as far as files of one table must agree."""
    from pyarrow import types

    kind = _value_type(kind)
    tests = {
        "whole numbers": types.is_integer,
        "numbers": types.is_floating,
        "text": is_text,
        "bytes": lambda t: types.is_binary(t) or types.is_large_binary(t),
    }
    return next((name for name, test in tests.items() if test(kind)), str(kind))


def difference(first: Footer, path: str, other: Footer) -> str:
    """How the columns of a file differ from those of the first, at `path`; "" if they agree.

    Widths of numbers may differ, and a column without any value fits all.
    """
    lacks = [name for name in first.columns if name not in other.columns]
    more = [name for name in other.columns if name not in first.columns]
    for names, verb in ((lacks, "has no column"), (more, "has the column")):
        if names:
            has = "has" if verb == "has no column" else "does not have"
            return f"{verb} {names[0]!r}, which {path} {has}: give files of one table"
    for name in first.columns:
        kinds = [_kind(held.schema.field(name).type) for held in (first, other)]
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


def widths(footers: Sequence[Footer]) -> dict[str, str]:
    """The columns that files hold in several types, with the kind of their values."""
    found = {}
    for name in footers[0].columns:
        kinds = {_value_type(held.schema.field(name).type) for held in footers}
        if len(kinds) > 1:
            found[name] = min(map(_kind, kinds), key=lambda kind: kind == "null")
    return found


def combined(notes: Sequence[Mapping[bytes, bytes]]) -> dict[bytes, bytes]:
    """What all files store, each key as the first that has it."""
    found: dict[bytes, bytes] = {}
    for some in notes:
        found = {**some, **found}
    return found


def levels(files: Mapping[str, Footer], name: str) -> tuple[Any, ...] | None:
    """Ordered categories of a column as the files hold them; None for any other column."""
    from pyarrow import types

    known: list[Any] = []
    for file, held in files.items():
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


def _dictionaries(file: str, held: Footer, name: str) -> list[list[Any]]:
    """The categories of each row group."""
    import pyarrow
    import pyarrow.parquet

    found = []
    with reading(file, pyarrow.ArrowException, regular=True):
        with pyarrow.parquet.ParquetFile(file) as opened:
            for group in range(len(held.groups)):
                batches = opened.iter_batches(1, row_groups=[group], columns=[name])
                for batch in batches:
                    found.append(batch.column(0).dictionary.to_pylist())
                    break
    return found
