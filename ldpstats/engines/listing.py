"""Names of files: one, a list, a pattern or a folder."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ldpstats.arguments.checks import listed
from ldpstats.errors import InvalidArgument
from ldpstats.io.storage.files import checked_path, refusal
from ldpstats.io.tables import file_format

__all__ = ["Found", "found_files", "is_files"]

_KINDS = (".csv", ".csv.gz", ".parquet")
_GONE = "no such file: check the name"


def is_files(data: object) -> bool:
    """Whether `data` names files: a name, or a list of names."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(item, str | os.PathLike) for item in data)
    return isinstance(data, str | os.PathLike)


@dataclass(frozen=True)
class Found:
    """Files in the order in which they are read, and names that led to none, with the reason."""

    files: tuple[Path, ...]
    refused: tuple[tuple[str, str], ...] = ()


def found_files(data: object, report: bool = False) -> Found:
    """The files that `data` names, each once.

    A pattern such as "part-*.parquet" stands for all that match, in the order of their names, and a
    folder for all tables in it. A folder that is named like a table is one, as Spark writes them.
    A name that leads to no file, or to one that was named before, is an error; with `report` it is
    among `refused`.

    Raises
    ------
    InvalidArgument
        For anything but names of files, and files of several kinds.
    """
    items = data if isinstance(data, list | tuple) else [data]
    files: list[Path] = []
    refused: list[tuple[str, str]] = []
    known: dict[tuple[int, int], Path] = {}
    for item in listed("data", items, "must be a list of files"):
        if not os.fspath(item):  # which would mean the current folder
            raise InvalidArgument("path", item, "must be the name of a file")
        for file, reason in _readable(checked_path(item)):
            reason = reason or _twice(file, known)
            if not reason:
                files.append(file)
            elif report:
                refused.append((str(file), reason))
            else:
                raise refusal(file, reason)
    _check_kinds(files)
    return Found(tuple(files), tuple(refused))


def _readable(path: Path) -> list[tuple[Path, str]]:
    """`_expanded`, with the reason where the system refuses a name or a folder."""
    try:
        return list(_expanded(path))
    except OSError as error:
        return [(path, f"cannot be read ({error.strerror})")]


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
    inside = sorted(file for file in folder.iterdir() if _names_table(file))
    shown = [file for file in inside if file.name[0] not in "._"]  # others belong to programs
    for file in shown:
        yield from _matched(file)
    if not shown:
        yield folder, f"the folder holds no table: {', '.join(_KINDS)}"


def _matched(path: Path) -> Iterator[tuple[Path, str]]:
    """A file; the tables in a folder that is named like one, as Spark writes them; else nothing."""
    if not path.is_dir():
        yield path, ""
    elif _names_table(path):
        yield from _inside(path)


def _names_table(path: Path) -> bool:
    return path.name.lower().endswith(_KINDS)


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
    return (
        "is listed twice: name it once"
        if first == file
        else f"is the same file as {first}: name it once"
    )


def _check_kinds(files: list[Path]) -> None:
    """Refuse files that are no tables, such as _SUCCESS, or tables of several kinds."""
    kinds: dict[bool, Path] = {}
    for file in files:
        file_format(file)
        kinds.setdefault(file.name.lower().endswith(".parquet"), file)
    if len(kinds) > 1:
        remedy = f"is of another kind than {kinds[True]}: convert one of them"
        raise InvalidArgument("path", str(kinds[False]), remedy)
