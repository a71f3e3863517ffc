"""Compiled loops, and nothing else. Import them where they are used: numba takes a while.

Importing numba takes .2 s, and loading machine code that an earlier process kept on disk a little
more. The very first use on a machine, or after an upgrade, compiles: about a second for the first
loop and a few tenths for each other. numpy does the same work at a tenth or twentieth of the speed
without either, so it serves until its work would have repaid the loading (`repaid`). Only loops
whose numpy twin gives the same integers may ask this: results never depend on what a process did
before. Loops over floats are chosen by the size of their arrays alone.
"""

from __future__ import annotations

from collections import defaultdict

__all__ = ["LOADING", "repaid"]

LOADING = 0.5
"""Seconds that numba and a loop take from disk; compiling one takes twice as long."""

_spent: defaultdict[str, float] = defaultdict(float)  # seconds of numpy in this process, by module


def repaid(module: str, seconds: float) -> bool:
    """Whether to load a module of loops for work that takes numpy `seconds`.

    It is loaded once numpy would have spent, in this process, as long as loading takes: at worst
    the first calls together take twice as long as if their number had been known.
    """
    if _spent[module] < LOADING:
        _spent[module] += seconds
    return _spent[module] >= LOADING
