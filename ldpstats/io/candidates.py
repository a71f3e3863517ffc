"""A list of candidates as a text file."""

from __future__ import annotations

from ldpstats.errors import InvalidArgument
from ldpstats.io.storage.files import FilePath, reading, refusal

__all__ = ["read_candidates"]


def read_candidates(path: FilePath) -> list[str]:
    """Read candidates for an open alphabet from a text file, one a line.

    Parameters
    ----------
    path : path-like
        UTF-8 text. A candidate is its whole line, spaces included, without the line's end.

    Returns
    -------
    list of str

    Raises
    ------
    InvalidArgument
        If the file cannot be read, is empty, or has a blank line or a repeated candidate.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "candidates.txt").write_text("apple\\nred pear\\n")
    ...     read_candidates(f"{folder}/candidates.txt")
    ['apple', 'red pear']
    """
    found: dict[str, int] = {}
    with reading(path), open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            candidate = line.removesuffix("\n")
            if not candidate.strip():
                raise refusal(path, f"line {number} is blank: remove it")
            first = found.setdefault(candidate, number)
            if first != number:
                raise InvalidArgument(
                    f"{path}, line {number}",
                    candidate,
                    f"is also the candidate of line {first}: remove one of the lines",
                )
    if not found:
        raise refusal(path, "is empty: give candidates, one a line")
    return list(found)
