"""The main job of the README."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def demo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "ldpstats.demo", *arguments],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        encoding="utf-8",
    )


def test_the_demonstration_prints_the_table_beside_the_truth(tmp_path: Path) -> None:
    ran = demo(tmp_path, "out")
    assert ran.returncode == 0 and ran.stderr == ""
    assert "The truth, which the analyst does not see" in ran.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"collected.csv", "income.png", "questionnaire.json"}


def test_help_writes_nothing(tmp_path: Path) -> None:
    ran = demo(tmp_path, "--help")
    assert ran.returncode == 0 and "Privatise income" in ran.stdout
    assert list(tmp_path.iterdir()) == []
