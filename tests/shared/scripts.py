"""Scripts of the site, run as a reader runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["run"]


def run(*arguments: str | Path, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a directory of its own, without a display, with warnings as errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", *map(str, arguments)],
        cwd=directory,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        encoding="utf-8",
    )
