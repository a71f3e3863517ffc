"""Names of files, and errors of reading them that name the file and say what to do."""

from __future__ import annotations

import csv
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ldpstats.errors import InvalidArgument

__all__ = ["FilePath", "checked_path", "reading", "refusal"]

FilePath = str | os.PathLike[str]


def refusal(path: FilePath, remedy: str) -> InvalidArgument:
    """The error that a file cannot be used, and why."""
    return InvalidArgument("path", os.fspath(path), remedy)


def checked_path(path: object) -> Path:
    """Refuse anything but the name of a file: a number would mean an open file."""
    remedy = "must be the name of a file"
    if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
        raise InvalidArgument("path", path, remedy)
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair
        raise InvalidArgument("path", path, remedy) from None
    return Path(path)


@contextmanager
def reading(
    path: FilePath, *others: type[Exception], secret: bool = False, regular: bool = False
) -> Iterator[None]:
    """Turn errors of reading a file, and `others`, into one that names the file.

    For a `secret` file, of true answers, the error shows no byte of it. A pipe or device is refused
    at once where a `regular` file is needed.
    """
    damage: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, *others)
    try:
        if checked_path(path).is_dir():
            raise refusal(path, "is a directory: give the name of a file")
        if regular and Path(path).exists() and not Path(path).is_file():
            raise refusal(path, "is not a regular file: write its content to a file, and read that")
        yield
    except FileNotFoundError:
        raise refusal(path, "no such file: check the name") from None
    except UnicodeDecodeError as error:
        byte = "" if secret else f" (byte 0x{error.object[error.start]:02x})"
        raise refusal(path, f"is not UTF-8 text{byte}: save it as UTF-8") from None
    except csv.Error as error:
        fault = "" if secret else f" ({error})"
        raise refusal(path, f"is not well-formed CSV{fault}: repair the file") from None
    except damage as error:
        reason = getattr(error, "strerror", None) or (type(error).__name__ if secret else error)
        shown = " ".join(str(reason).split())
        raise refusal(path, f"cannot be read ({shown}): it may be damaged or cut off") from None
