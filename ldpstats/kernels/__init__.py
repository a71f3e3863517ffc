"""Compiled loops, and nothing else. Import them where they are used: numba takes a while.

Importing numba takes .2 s, and loading machine code that an earlier process kept on disk a little
more. The very first use on a machine, or after an upgrade, compiles: about a second for the first
loop and a few tenths for each other. numpy does the same work at a tenth or twentieth of the speed
without either, so it serves until its work would have repaid the loading (`repaid`). Only loops
whose numpy twin gives the same integers may ask this: results never depend on what a process did
before. Loops over floats are chosen by the size of their arrays alone.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["LOADING", "in_numpy", "repaid"]

LOADING = 0.5
"""Seconds that numba and a loop take from disk; compiling one takes twice as long."""

_spent: defaultdict[str, float] = defaultdict(float)  # seconds of numpy in this process, by module


def repaid(module: str, seconds: float) -> bool:
    """Whether to load a module of loops for work that would take numpy about `seconds` more.

    It is loaded once numpy has spent, in this process and with this work, as long as loading
    takes: at worst the first calls together take twice as long as if their number had been known.
    """
    return _spent[module] + seconds >= LOADING


@contextmanager
def in_numpy(module: str) -> Iterator[None]:
    """Measure what numpy spends on work that the loops of a module would do.

    Estimates serve for the call to come alone: added up they would go wrong by what the machine is
    slower than the one they were made on.
    """
    start = time.thread_time()
    try:
        yield
    finally:
        _spent[module] += time.thread_time() - start
