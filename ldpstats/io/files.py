"""Opening files for reading and writing, with errors that name the file and say what to do."""

from __future__ import annotations

import csv
import os
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ldpstats.errors import InvalidArgument

__all__ = ["FilePath", "checked_path", "reading", "refusal", "replacing"]

FilePath = str | os.PathLike[str]


def refusal(path: FilePath, remedy: str) -> InvalidArgument:
    """The error that a file cannot be used, and why."""
    return InvalidArgument("path", os.fspath(path), remedy)


def checked_path(path: object) -> Path:
    """Refuse what is no name of a file: a number would stand for an open file."""
    if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
        raise InvalidArgument("path", path, "must be the name of a file")
    return Path(path)


@contextmanager
def reading(path: FilePath, *others: type[Exception]) -> Iterator[None]:
    """Turn whatever goes wrong in reading a file, and `others`, into one error that names it."""
    damage: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, *others)
    try:
        if checked_path(path).is_dir():
            raise refusal(path, "is a directory: give the name of a file")
        yield
    except FileNotFoundError:
        raise refusal(path, "no such file: check the name") from None
    except UnicodeDecodeError as error:
        bad = error.object[error.start]
        raise refusal(path, f"is not UTF-8 text (byte 0x{bad:02x}): save it as UTF-8") from None
    except csv.Error as error:
        raise refusal(path, f"is not well-formed CSV ({error}): repair the file") from None
    except damage as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise refusal(path, f"cannot be read ({reason}): it may be damaged or cut off") from None


@contextmanager
def replacing(path: FilePath, force: bool = False) -> Iterator[Path]:
    """Give a temporary name to write to, which becomes `path` unless an error ends the block.

    Parameters
    ----------
    path : path-like
    force : bool
        Whether an existing file may be overwritten.

    Raises
    ------
    InvalidArgument
        For a path that exists (unless `force`), is no regular file, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/a.txt") as temporary:
    ...         _ = temporary.write_text("done")
    ...     print(Path(f"{folder}/a.txt").read_text())
    done
    """
    target = Path(os.path.realpath(checked_path(path)))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        if target.exists() and not target.is_file():
            raise refusal(path, "is no regular file: give the name of a file to write")
        if target.exists() and not force:
            raise refusal(path, "already exists: choose another name, or force=True (--force)")
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        raise refusal(path, f"cannot be written ({error.strerror or error})") from None
    finally:
        with suppress(OSError):
            temporary.unlink()
