"""Every vignette runs as it is, and asserts the numbers that it prints.

The simulations behind them are in `benchmarks/studies/`; `tests/studies/` computes a part of each
again and asserts what the vignettes leave out.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from shared.scripts import run

ROOT = Path(__file__).parents[1]
VIGNETTES = sorted((ROOT / "vignettes" / "articles").glob("*.py"))
NAMES = [script.stem for script in VIGNETTES]


def test_the_vignettes_are_found() -> None:
    expected = {"01_survey", "02_krr_or_rappor", "03_open_alphabets", "04_rappor_candidates"}
    expected |= {"05_association", "06_utility_optimised", "07_personal", "08_unknown_dictionary"}
    expected |= {"09_questionnaire", "10_large_data", "11_complex_samples", "12_regression"}
    expected |= {"13_planning", "14_partial_pooling", "15_cheating_detection"}
    assert expected <= set(NAMES)


@pytest.mark.parametrize("script", VIGNETTES, ids=NAMES)
def test_a_vignette_reads_like_a_short_paper(script: Path) -> None:
    """80 to 300 lines; what redoes experiments of a paper sets its numbers beside ours."""
    text = script.read_text(encoding="utf-8")
    assert 80 <= len(text.splitlines()) <= 300
    others = {"01_survey", "04_rappor_candidates", "09_questionnaire", "10_large_data"}
    others |= {"11_complex_samples", "12_regression", "13_planning"}
    others |= {"14_partial_pooling", "15_cheating_detection"}
    if script.stem not in others:
        (heading,) = re.findall(r"^# \|.*\| here \|$", text, re.M)
        rows = text[text.index(heading) :].split("\n\n")[0]
        assert rows.count("\n# |") >= 8


@pytest.mark.parametrize("script", VIGNETTES, ids=NAMES)
def test_a_vignette_runs_and_writes_nothing(script: Path, tmp_path: Path) -> None:
    ran = run(script, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("script", VIGNETTES, ids=NAMES)
def test_a_vignette_saves_its_figures_where_it_is_told(script: Path, tmp_path: Path) -> None:
    ran = run(script, tmp_path, "--figures", str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    names = [path.name for path in tmp_path.iterdir()]
    assert names and all(name.startswith(script.stem[:3]) for name in names)


@pytest.mark.spark
def test_the_vignette_of_large_data_runs_on_spark(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed: Spark needs version 17")
    ran = run(ROOT / "vignettes" / "articles" / "10_large_data.py", tmp_path, "--spark")
    assert ran.returncode == 0, ran.stderr
    assert "Spark: the same tables, byte for byte" in ran.stdout


@pytest.mark.parametrize("line", ["assert 0.1 + 0.2 == 0.3", "import warnings; warnings.warn('x')"])
def test_a_failed_assertion_or_a_warning_is_caught(line: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(line, encoding="utf-8")
    assert run(script, tmp_path).returncode != 0
