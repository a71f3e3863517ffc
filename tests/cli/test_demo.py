"""The main job of the README."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
from shared.scripts import run


def test_the_demonstration_prints_the_table_beside_the_truth(tmp_path: Path) -> None:
    ran = run("-m", "ldpstats.demo", "out", directory=tmp_path)  # a program, as the README runs it
    assert ran.returncode == 0 and ran.stderr == ""
    assert "The truth, which the analyst does not see" in ran.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"collected.csv", "income.png", "questionnaire.json"}


def test_help_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ldpstats.demo", "--help"])
    monkeypatch.delitem(sys.modules, "ldpstats.demo", raising=False)
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module("ldpstats.demo", run_name="__main__")
    assert "Privatise income" in capsys.readouterr().out and not list(tmp_path.iterdir())
