"""How many respondents saw their reports and deleted them: a number, and nothing else.

Pages that show reports first say so at ``/withdrawn`` (see `page.page_text`). The number is in
``DIR/.collecting/withdrawn``. `GET /counts` has it in steps, since one that grew with each deletion
would tell when somebody did not like a report.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from ldpstats.collector.files import HOUR
from ldpstats.collector.folder import flush_folder
from ldpstats.collector.store import FEWEST, PRIVATE, DiskFailure
from ldpstats.errors import InvalidArgument

__all__ = ["Withdrawals", "opened_withdrawals"]

_NAME = "withdrawn"


@dataclass
class Withdrawals:
    """The number in a file; `add` may be called from several threads."""

    path: Path
    n: int
    _lock: Lock = field(default_factory=Lock)

    @property
    def shown(self) -> int:
        """The number in steps of the sheets of a file, rounded down."""
        return self.n // FEWEST * FEWEST

    def add(self) -> None:
        """Count one more; it is on the disk when this returns.

        Raises
        ------
        DiskFailure
            If it cannot be written; it is not counted then.
        """
        temporary, hour = self.path.with_suffix(".part"), int(time.time()) // HOUR * HOUR
        with self._lock:
            try:
                with open(temporary, "w", encoding="ascii") as file:
                    file.write(f"{self.n + 1}\n")
                    file.flush()
                    os.fsync(file.fileno())
                os.utime(temporary, (hour, hour))
                os.replace(temporary, self.path)
                flush_folder(self.path.parent)
            except OSError as error:
                raise DiskFailure(str(error)) from None
            self.n += 1


def opened_withdrawals(folder: Path) -> Withdrawals:
    """The number of a folder whose store is open.

    Raises
    ------
    InvalidArgument
        If the file has no number.
    """
    path = folder / PRIVATE / _NAME
    try:
        text = path.read_text(encoding="ascii").strip() if path.exists() else "0"
        return Withdrawals(path, int(text))
    except (OSError, ValueError):
        remedy = "has no number of deleted reports: restore it, or remove it to count from 0"
        raise InvalidArgument("folder", str(path), remedy) from None
