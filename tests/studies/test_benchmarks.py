"""The benchmarks say by their exit code whether the package is as fast as it was."""

from __future__ import annotations

import runpy
import sys
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the section `million` with rows of our own."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON", "VECLIB_MAXIMUM"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", "1")
    solve = pytest.importorskip("solve")

    def with_rows(rows):
        monkeypatch.setattr(solve, "million", lambda scale: rows)
        monkeypatch.setattr(sys, "argv", ["run.py", "--quick", "million"])
        runpy.run_path(str(FOLDER / "run.py"), run_name="__main__")
        return capsys.readouterr().out

    return with_rows


def test_an_aim_that_is_not_met_fails_the_run(run):
    faster = import_module("timing").faster
    good, bad = faster("fit", "numpy", 1.0, 6.0, aim=5), faster("sort", "numpy", 1.0, 4.0, aim=5)
    assert "yes" in run([good])
    with pytest.raises(SystemExit, match=r"(?s)not met:.*million: sort") as stop:
        run([good, bad])
    assert stop.value.code != 0


@pytest.mark.parametrize(
    ("ratio", "aim", "met"), [(4.6, 5, True), (4.4, 5, False), (0.81, 1, True)]
)
def test_aims_allow_for_noise(run, ratio, aim, met):
    reached = import_module("timing").reached
    assert reached(ratio, aim) is met
