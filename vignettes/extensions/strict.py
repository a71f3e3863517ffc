"""Articles and recipes run with warnings as errors, and write nothing into their folder."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any


def run_strictly(gallery_conf: dict[str, Any], name: str, when: str) -> None:
    """Sphinx-Gallery calls this before and after each script, in the process that runs it."""
    warnings.resetwarnings()
    if when == "before":
        warnings.simplefilter("error")
        return
    for folder in gallery_conf["examples_dirs"]:
        here = Path(gallery_conf["src_dir"]) / folder
        written = [
            path.name
            for path in here.iterdir()
            if path.suffix not in (".py", ".rst") and path.name != "__pycache__"
        ]
        if written:
            raise OSError(f"{folder}: {name}, or a script beside it, wrote {written}")
