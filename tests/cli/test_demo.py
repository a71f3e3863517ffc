"""The main job of the README."""

from __future__ import annotations

from pathlib import Path

from shared.scripts import run


def test_the_demonstration_prints_the_table_beside_the_truth(tmp_path: Path) -> None:
    ran = run("-m", "ldpstats.demo", "out", directory=tmp_path)
    assert ran.returncode == 0 and ran.stderr == ""
    assert "The truth, which the analyst does not see" in ran.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"collected.csv", "income.png", "questionnaire.json"}


def test_help_writes_nothing(tmp_path: Path) -> None:
    ran = run("-m", "ldpstats.demo", "--help", directory=tmp_path)
    assert ran.returncode == 0 and "Privatise income" in ran.stdout
    assert list(tmp_path.iterdir()) == []
