"""What the studies store: where, made by which command, and how a part is replaced."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.studies import stored

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "benchmarks" / "studies"
TABLES = sorted(STUDIES.glob("*.csv"))
SCRIPTS = [path for path in sorted(STUDIES.glob("*.py")) if "def main()" in path.read_text("utf-8")]
PARTS = {  # tables that are stored by parts, and the column that names these
    "joint_tables": "scene",
    "association_tests": "table",
    "default_surveys": "part",
    "utility_optimised": "table",
    "unknown_devices": "setting",
    "unknown_regressions": "setting",
    "unknown_dictionary": "scene",
    "unknown_dictionary_strings": "scene",
}

OF_NO_VIGNETTE = {
    "calibrated_posteriors",
    "default_surveys",
    "frequency_calibration",
    "unknown_devices",
    "unknown_regressions",
}  # what it shows is in the reference, and a test says it


def test_the_studies_are_found() -> None:
    whole = {"krr_or_rappor", "open_alphabets", "personal_places"}
    whole |= {"calibrated_posteriors", "frequency_calibration"}
    assert {path.stem for path in TABLES} == whole | set(PARTS)
    scripts = (whole | set(PARTS)) - {"unknown_dictionary_strings"}
    assert {path.stem for path in SCRIPTS} == scripts


def test_a_table_says_which_command_makes_it() -> None:
    readers = [page.read_text("utf-8") for page in (ROOT / "vignettes" / "articles").glob("*.py")]
    for path in TABLES:
        with path.open(encoding="utf-8") as file:
            first = file.readline()
        module = first.removeprefix("# Made by: python -m ").removesuffix(" --full\n")
        script = ROOT / (module.replace(".", "/") + ".py")
        assert script in SCRIPTS and f"python -m {module} --full" in script.read_text("utf-8")
        assert script.stem in OF_NO_VIGNETTE or any(script.name in text for text in readers)


@pytest.mark.parametrize("name", ["joint_tables", "unknown_dictionary"])
def test_a_part_that_comes_out_the_same_leaves_the_table_as_it_was(
    name: str, tmp_path: Path
) -> None:
    path = Path(shutil.copy(STUDIES / f"{name}.csv", tmp_path))
    before, column = path.read_text(encoding="utf-8"), PARTS[name]
    table = pd.read_csv(path, comment="#")
    parts = table[column].unique().tolist()
    # the first part, which then comes before the others; numbers are rounded as they were
    stored.renew(path, column, parts, {parts[0]: table[table[column] == parts[0]]})
    assert path.read_text(encoding="utf-8") == before
    assert stored.load(path, column, parts).equals(table)


def test_a_part_that_is_new_replaces_the_stored_one(tmp_path: Path) -> None:
    path = tmp_path / "some_strings.csv"
    stored.save(path, "part,value\na,1\nb,2\n")
    stored.renew(path, "part", ["a", "b"], {"b": pd.DataFrame({"part": ["b"], "value": [3]})})
    command = "# Made by: python -m benchmarks.studies.some --full\n"
    assert path.read_text(encoding="utf-8") == command + "part,value\na,1\nb,3\n"
    with pytest.raises(AssertionError):
        stored.load(path, "part", ["b", "a"])


def test_parts_are_named_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def wanted(*arguments: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["study", *arguments])
        return stored.wanted("A study.", ["a", "b", "c"], present=["a", "b"])

    assert wanted() == [] and wanted("--full") == ["a", "b"] and wanted("--full", "b") == ["b"]
    for absent in ("c", "d"):
        with pytest.raises(SystemExit):
            wanted("--full", absent)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["association_tests", "krr_or_rappor"])
def test_a_study_checks_itself_from_the_command_line(name: str) -> None:
    """The others are checked by their own tests."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", f"benchmarks.studies.{name}"],
        cwd=ROOT,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        encoding="utf-8",
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout and ran.stderr == ""
