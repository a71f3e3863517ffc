"""The benchmarks say by their exit code whether the package is as fast as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(("ratio", "aim", "met"), [(4.6, 5, True), (0.79, 1, False)])
def test_an_aim_that_is_not_met_fails_the_run(ratio: float, aim: float, met: bool) -> None:
    """Up to what ratios vary from run to run."""
    program = f"""
import runpy, sys
sys.path.insert(0, {str(FOLDER)!r})
import solve, timing
solve.million = lambda scale: [timing.faster("sort", "numpy", 1.0, {ratio}, aim={aim})]
solve.million.__doc__ = "Of our own."
sys.argv = ["run.py", "--quick", "million"]
runpy.run_path({str(FOLDER / "run.py")!r}, run_name="__main__")
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.returncode == 0) is met, ran.stderr
    assert ("aims that were not met:\n  million: sort" in ran.stderr) is not met
