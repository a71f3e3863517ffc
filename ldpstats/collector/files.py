"""Files of sheets in a folder, against the record of what was written into it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

from ldpstats.errors import InvalidArgument

__all__ = ["HOUR", "About", "Tables", "compared", "fault_of", "named", "taken"]

HOUR = 3600
_NAME = re.compile(r"sheets-\d{4}-\d\d-\d\dT\d\d-([0-9a-f]{16}|[0-9a-f]{32})\.parquet")
_CHANGED = "was changed or cut off"


@dataclass(frozen=True)
class About:
    """What a file of sheets says of itself."""

    sheets: int
    batch: str  # drawn when it was written; "" of files that 0.2.0 wrote
    merged: frozenset[str]  # batches that were merged into it, or names of files that have none


class Tables(Protocol):
    """Writes and reads files of sheets; each file is flushed to the disk."""

    def write(self, sheets: Sequence[str], path: Path) -> None: ...

    def merge(self, files: Sequence[Path], path: Path) -> None: ...

    def about(self, path: Path) -> About: ...


def digest(path: Path) -> str:
    """32 hexadecimal digits of the content of a file."""
    found = blake2b(digest_size=16)
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
    return found.hexdigest()


def named(path: Path) -> tuple[str, str, int]:
    """A name for a file of sheets, the digest that it ends in, and the hour that it begins with."""
    hour, content = int(time.time()) // HOUR * HOUR, digest(path)
    day = time.strftime("%Y-%m-%dT%H", time.gmtime(hour))
    return f"sheets-{day}-{content}.parquet", content, hour


def tables_in(folder: Path) -> list[str]:
    """Names of the tables in a folder that `Survey` reads."""
    return sorted(
        entry.name
        for entry in os.scandir(folder)
        if entry.name.lower().endswith(".parquet") and entry.name[0] not in "._"
    )


def fault_of(path: Path, content: str) -> str:
    """What is wrong with a file that was written with a digest; empty if nothing is."""
    try:
        if digest(path) == content:
            return ""
        return _CHANGED if path.stat().st_size else "is empty"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def compared(
    folder: Path, record: Mapping[str, str], merged: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """What is wrong with files, by name, and the names of files that the record should have.

    `record` has the digests of the files that were written, by name; `merged` of those that went
    into others.
    """
    faults = {name: why for name, held in record.items() if (why := fault_of(folder / name, held))}
    copied = {held: f"is a copy of {name}: remove it" for name, held in record.items()}
    copied |= dict.fromkeys(merged.values(), "was merged into another file: remove it")
    unknown = []
    for name in tables_in(folder):
        if name in record:
            continue
        content = digest(folder / name)
        if content in copied:
            faults[name] = copied[content]
        elif why := _not_own(name, content):
            faults[name] = why
        else:
            unknown.append(name)
    return faults, unknown


def _not_own(name: str, content: str) -> str:
    """Why a file is none that a collector wrote; empty if it is one."""
    found = _NAME.fullmatch(name)
    if found is None:
        return "was not written by a collector: remove it"
    # 0.2.0 drew the end of a name
    return "" if found[1] == content or len(found[1]) == 16 else _CHANGED


def taken(folder: Path, tables: Tables) -> list[tuple[str, str, int]]:
    """The files of sheets in a folder, without copies: their names, digests and sheets."""
    found, known = {}, set()
    merged: set[str] = set()
    for name in tables_in(folder):
        content = digest(folder / name)
        if content in known or _not_own(name, content):
            continue
        try:
            about = tables.about(folder / name)
        except InvalidArgument:
            continue
        known.add(content)
        merged |= about.merged
        found[name] = (content, about)
    return [
        (name, content, about.sheets)
        for name, (content, about) in found.items()
        if (about.batch or name) not in merged
    ]
