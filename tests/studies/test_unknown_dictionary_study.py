"""The study of unknown dictionaries: what it stores, and what that says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.studies import unknown_dictionary as study
from benchmarks.studies.unknown_dictionary import means_of


@pytest.fixture(scope="module")
def surveys() -> pd.DataFrame:
    return study.load()[0]


def test_hellinger_distances_by_hand() -> None:
    truth = pd.Series(study.zipf(60), [f"string {i}" for i in range(60)])
    assert study.hellinger(truth, truth.iloc[:0]) == 1.0 and study.hellinger(truth, truth) < 1e-6
    one = study.hellinger(truth, truth.iloc[:1])
    assert abs(one - np.sqrt(1.0 - truth.iloc[0])) < 1e-12


def test_the_same_random_numbers_find_the_same_strings() -> None:
    study.check()


def test_what_four_laws_give(surveys: pd.DataFrame) -> None:
    means = means_of(surveys, "laws", "found")
    assert 15.0 < means.loc["Zipf", "known"] < 19.0 and 6.5 < means.loc["Zipf", "paper"] < 9.5
    assert means.loc["uniform", "paper"] < 1.0 and means.loc["uniform", "known"] > 80.0
    assert means.loc["Zipf", "ours, same reports"].round() in (11, 12)
    assert means.loc["Zipf", "ours, planned"] > 20
    ours = means.loc["geometric", ["ours, same reports", "ours, planned"]]
    assert ours.round().tolist() == [10, 13]
    step = means.loc["step"]
    assert step["ours, same reports"] == 8 < 10 < step["ours, planned"]


def test_longer_strings_are_harder(surveys: pd.DataFrame) -> None:
    by_length = means_of(surveys, "lengths", "found", gram=2)
    assert by_length["paper"].loc[4] > 1.3 * by_length["paper"].loc[20]
    assert (by_length["ours, planned"] > by_length["paper"]).all()


def test_low_thresholds_cost_work_and_high_ones_strings(surveys: pd.DataFrame) -> None:
    rows = surveys[surveys["scene"] == "thresholds"]
    means = rows.groupby("threshold")[["edges", "hellinger"]].mean()
    assert means["edges"].is_monotonic_decreasing
    assert means.loc[16.0, "hellinger"] > means.loc[1.0, "hellinger"] + 0.05
    assert (means.loc[:2.0, "hellinger"] - means.loc[1.0, "hellinger"]).abs().max() < 0.005


def test_hosts_have_fewer_candidates_than_the_paper(surveys: pd.DataFrame) -> None:
    hosts = surveys[surveys["scene"] == "hosts"]
    decoders = hosts[hosts["arm"].str.startswith(("paper", "trigrams"))]
    assert np.prod([4, 2, 2, 3, 4, 5, 2, 1, 1, 1]) == 1920  # strings that its grams make
    assert decoders["candidates"].max() < 185  # of its trigrams
    grams = {arm: study.grams_per_position(rows) for arm, rows in decoders.groupby("arm")}
    assert grams["paper"] == "11 12 11 12 10 9 8 5 3 2"
    assert grams["paper, q as printed"] == "6 7 5 5 5 7 5 3 2 2"


def test_the_table_of_the_vignette(surveys: pd.DataFrame) -> None:
    laws = means_of(surveys, "laws", "found").round(1)
    assert laws.loc["Zipf"].tolist() == [16.4, 7.8, 11.8, 24.4]
    assert laws.loc["step", ["paper", "ours, same reports", "ours, planned"]].tolist() == [
        8,
        8,
        26.2,
    ]
    assert laws.loc["uniform", ["paper", "ours, same reports", "ours, planned"]].tolist() == [
        0,
        49.6,
        100,
    ]
    hosts = surveys[surveys["scene"] == "hosts"]
    found = hosts.groupby("arm", sort=False)["found"].mean().round(1)
    shown = ["known", "known, a third", "paper", "paper, q as printed", "ours, planned"]
    assert found[shown].tolist() == [77, 27.8, 3.8, 0, 19.8]
    assert found[found.index.str.startswith("trigrams")].tolist() == [6.8, 0.8]
