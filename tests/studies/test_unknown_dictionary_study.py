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


@pytest.mark.slow
def test_the_same_random_numbers_find_the_same_strings() -> None:
    study.check()


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
