"""What the benchmarks store for the site: rows of ratios, complex samples, regressions."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from simulate import ALPHA, at_least, at_most

from benchmarks import complex_samples, regressions

ROOT = Path(__file__).parents[2]
RATIOS = ROOT / "benchmarks" / "results" / "ratios.csv"


def test_a_section_that_is_run_again_replaces_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_stored_ratios_say_what_they_were_measured_on() -> None:
    found = pd.read_csv(RATIOS, keep_default_na=False)
    assert found["figure"].ne("").all() and found["machine"].str.contains("cores").all()
    assert not found["machine"].str.contains(r"\b20\d\d-").any()  # no date


@pytest.fixture(scope="module")
def complex_figures() -> pd.DataFrame:
    return pd.read_csv(complex_samples.STORED, comment="#")


def test_stored_intervals_of_complex_samples_cover(complex_figures: pd.DataFrame) -> None:
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
def test_some_complex_samples_again(complex_figures: pd.DataFrame) -> None:
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


def test_stored_regressions_are_the_examples() -> None:
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
