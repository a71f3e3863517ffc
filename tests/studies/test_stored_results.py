"""What benchmarks and studies store: where, made by which command, what it says."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from simulate import ALPHA, at_least, at_most

from benchmarks import complex_samples, regressions
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
    "joint_models": "setting",
    "unknown_devices": "setting",
    "unknown_regressions": "setting",
    "unknown_dictionary": "scene",
    "unknown_dictionary_strings": "scene",
}

OF_NO_VIGNETTE = {
    "calibrated_posteriors",
    "default_surveys",
    "frequency_calibration",
    "joint_models",
    "unknown_devices",
    "unknown_regressions",
}  # what it shows is in the reference, and a test says it


def test_the_studies_are_found():
    whole = {"krr_or_rappor", "open_alphabets", "personal_places"}
    whole |= {"calibrated_posteriors", "frequency_calibration"}
    assert {path.stem for path in TABLES} == whole | set(PARTS)
    scripts = (whole | set(PARTS)) - {"unknown_dictionary_strings"}
    assert {path.stem for path in SCRIPTS} == scripts


def test_a_table_says_which_command_makes_it():
    readers = [page.read_text("utf-8") for page in (ROOT / "vignettes" / "articles").glob("*.py")]
    for path in TABLES:
        with path.open(encoding="utf-8") as file:
            first = file.readline()
        module = first.removeprefix("# Made by: python -m ").removesuffix(" --full\n")
        script = ROOT / (module.replace(".", "/") + ".py")
        assert script in SCRIPTS and f"python -m {module} --full" in script.read_text("utf-8")
        assert script.stem in OF_NO_VIGNETTE or any(script.name in text for text in readers)


@pytest.mark.parametrize("name", ["joint_tables", "unknown_dictionary"])
def test_a_part_that_comes_out_the_same_leaves_the_table_as_it_was(name, tmp_path):
    path = Path(shutil.copy(STUDIES / f"{name}.csv", tmp_path))
    before, column = path.read_text(encoding="utf-8"), PARTS[name]
    table = pd.read_csv(path, comment="#")
    parts = table[column].unique().tolist()
    # the first part, which then comes before the others; numbers are rounded as they were
    stored.renew(path, column, parts, {parts[0]: table[table[column] == parts[0]]})
    assert path.read_text(encoding="utf-8") == before
    assert stored.load(path, column, parts).equals(table)


def test_a_part_that_is_new_replaces_the_stored_one(tmp_path):
    path = tmp_path / "some_strings.csv"
    stored.save(path, "part,value\na,1\nb,2\n")
    stored.renew(path, "part", ["a", "b"], {"b": pd.DataFrame({"part": ["b"], "value": [3]})})
    command = "# Made by: python -m benchmarks.studies.some --full\n"
    assert path.read_text(encoding="utf-8") == command + "part,value\na,1\nb,3\n"
    with pytest.raises(AssertionError):
        stored.load(path, "part", ["b", "a"])


def test_parts_are_named_on_the_command_line(monkeypatch):
    def wanted(*arguments: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["study", *arguments])
        return stored.wanted("A study.", ["a", "b", "c"], present=["a", "b"])

    assert wanted() == [] and wanted("--full") == ["a", "b"] and wanted("--full", "b") == ["b"]
    for absent in ("c", "d"):
        with pytest.raises(SystemExit):
            wanted("--full", absent)


@pytest.mark.slow
def test_a_study_checks_itself_from_the_command_line():
    """One of them; the tests of the others call the same check."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", "benchmarks.studies.krr_or_rappor"],
        cwd=ROOT,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        encoding="utf-8",
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout and ran.stderr == ""


# -- kept rows -------------------------------------------------------------------------------------


RATIOS = ROOT / "benchmarks" / "results" / "ratios.csv"


def test_a_section_that_is_run_again_replaces_its_rows(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    timing = importlib.import_module("timing")
    Row, keep_rows = timing.Row, timing.keep_rows
    path, order = tmp_path / "new" / "rows.csv", ("first", "second")
    keep_rows(path, "second", [Row("b", "c", "2 x")], order, "here")
    keep_rows(path, "first", [Row("a", "", "1 s"), Row("a, too", "", "2 s")], order, "here")
    keep_rows(path, "second", [Row("b", "c", "3 x")], order, "there")
    found = pd.read_csv(path, keep_default_na=False)
    assert tuple(found.columns) == timing.COLUMNS
    assert found["section"].tolist() == ["first", "first", "second"]
    assert found.iloc[2].tolist() == ["second", "b", "c", "3 x", "there"]


def test_stored_ratios_say_what_they_were_measured_on():
    found = pd.read_csv(RATIOS, keep_default_na=False)
    assert found["figure"].ne("").all() and found["machine"].str.contains("cores").all()
    assert not found["machine"].str.contains(r"\b20\d\d-").any()  # no date


@pytest.fixture(scope="module")
def complex_figures():
    return pd.read_csv(complex_samples.STORED, comment="#")


def test_stored_intervals_of_complex_samples_cover(complex_figures):
    rows = complex_figures[complex_figures["what"] == "coverage"].set_index("name")
    good = rows.loc[["shares", "domains", "differences", "calibrated"]]
    for row in good.itertuples():
        assert at_least(row.mean, 1 - ALPHA, row.samples), row
    assert rows.loc["unweighted", "mean"].max() < 0.8  # control
    sizes = complex_figures[complex_figures["test"].isin(["unbiased", "second"])]
    assert at_most(sizes["mean"], ALPHA, sizes["samples"], errors=4.0)
    apart = complex_figures[complex_figures["what"] == "apart"]
    assert apart[["least", "most"]].abs().max(axis=None) < 4.5


@pytest.mark.slow
def test_some_complex_samples_again(complex_figures):
    """40 samples of a design: means over cells, which move together, as one cell."""
    from benchmarks.samples.population import DESIGNS, population

    people = population(*complex_samples.SIZE)
    again = complex_samples.setting(DESIGNS["two stages"](people), "k-RR", 1.0, 40)
    again = again[again["what"] == "coverage"].set_index("name")["mean"]
    before = complex_figures[complex_figures["design"] == "two stages"]
    before = before[before["what"] == "coverage"].set_index("name")["mean"]
    error = np.sqrt(before * (1 - before) / 40)
    assert ((again - before).abs() < 4.5 * error).all()
    assert abs(before["unweighted"] - before["shares"]) > 4.5 * error["shares"]  # control


def test_stored_regressions_are_the_examples():
    stored = pd.read_csv(regressions.STORED, comment="#", keep_default_na=False)
    assert stored["cell"].unique().tolist() == list(regressions.EXAMPLES)
    surveys = stored.groupby("cell", sort=False)["surveys"].first()
    assert surveys.to_dict() == regressions.EXAMPLES
    assert (stored.loc[stored["what"] == "failed", "value"].astype(float) == 0).all()
    covered = stored[stored["what"] == "coverage"]
    for row in covered.itertuples():
        assert at_least(float(row.value), 1 - ALPHA, row.surveys), row
    sizes = stored[stored["what"] == "size default"]
    assert at_most(sizes["value"].astype(float), ALPHA, sizes["surveys"], errors=4.0)
    # control: the reports taken for answers are far off
    assert stored.loc[stored["what"] == "naive bias", "value"].astype(float).abs().max() > 0.2


# -- benchmarks ------------------------------------------------------------------------------------


FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
@pytest.mark.parametrize(("ratio", "aim", "met"), [(4.6, 5, True), (0.79, 1, False)])
def test_an_aim_that_is_not_met_fails_the_run(ratio, aim, met):
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
