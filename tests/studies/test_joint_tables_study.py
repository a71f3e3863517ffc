"""The studies of joint tables and of tests of independence: what is stored, and what it says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.studies import association_tests, joint_tables
from benchmarks.studies.joint_tables import of


@pytest.fixture(scope="module")
def laws() -> pd.DataFrame:
    return joint_tables.load()


@pytest.mark.slow
def test_surveys_again_agree_with_the_stored_laws() -> None:
    joint_tables.check()


@pytest.mark.slow
def test_surveys_again_agree_with_the_stored_sizes() -> None:
    association_tests.check()


def test_what_table_ii_may_be(laws: pd.DataFrame) -> None:
    beside = joint_tables.readings(laws)
    fit = beside["rms z"] / beside["ours, most"]
    ten = fit.xs(10, level="surveys")
    one = beside.xs(("product", 1), level=["method", "surveys"])
    assert beside.loc[("hashed", "ignore", 1), "rms z"] > 5
    assert (one["largest"] < 2.5).all()
    assert (one["rms z"] > 0.75 * one["ours, least"]).all()
    assert (one["rms z"] < 1.05 * one["ours, least"]).all()
    assert 0.6 < ten["hashed, geometric", "product"] < 1.0
    assert 0.6 < ten["basic", "lump"] < 1.0
    assert (ten[["hashed, 8 cohorts", "hashed, 8 cohorts, geometric"]] > 1.5).all()
    single = beside.loc[("basic", "lump", 1)]
    assert single["rms z"] < 0.5 * single["ours, least"]


def test_biases(laws: pd.DataFrame) -> None:
    biases = joint_tables.biases(laws).sort_index()
    exact = biases[biases.index.get_level_values(1).isin(["lump", "moments"])]
    assert exact["rms z"].between(0.6, 1.5).all() and (exact["largest z"] < 4.5).all()
    assert (biases.xs("ignore", level=1)["rms bias"] > 1.9).all()
    modelled = biases.loc[("hashed", "product")]
    assert modelled["largest z"].drop("shift").max() < 4.5
    assert 15 < modelled.loc["shift", "largest z"] < 20
    largest = joint_tables.bias_of(laws, "hashed", "product", "shift")[0].abs().to_numpy()
    shown = largest[:5, :5].max(), np.append(largest[5, :5], largest[:5, 5]).max(), largest[5, 5]
    assert np.round(shown, 1).tolist() == [0.2, 0.6, 1.1]
    more = biases.xs("moments", level=1)["SD"] / biases.xs("lump", level=1)["SD"]
    assert more.between(1.045, 1.085).all()
    falling = of(laws, "hashed, geometric", "product", "mean") - joint_tables.table_1
    assert 0.1 < falling.iloc[5, 5] < 0.45


def test_sizes_and_powers() -> None:
    tests = association_tests.load()
    size, power = tests["size"].unstack(), tests["power"].unstack()
    sparse = ["sparse", "sparse, RAPPOR", "sparse, 30 x 2"]
    # four Monte Carlo errors
    assert size.loc[["dense", *sparse], ["score", "wald"]].stack().between(0.03, 0.07).all()
    assert size.loc["few respondents", "wald"] < 0.01
    assert abs(size.loc["dense", "fpe16"] - 0.05) < 0.02
    assert power.loc["dense", ["score", "lr", "fpe16"]].between(0.64, 0.76).all()
    assert (size.loc[sparse, "fpe16"] < 0.005).all() and (power.loc[sparse, "fpe16"] < 0.07).all()
    assert (size.loc[sparse, "lr"] < 0.02).all()
    assert (power.loc[sparse, "score"] > power.loc[sparse, "lr"]).all()
    assert power.loc["sparse", ["score", "fpe16"]].round(2).tolist() == [0.41, 0.06]
    assert power.loc["sparse, 30 x 2", "bootstrap"] > power.loc["sparse, 30 x 2", "score"]
    same = tests.loc[["dense", "sparse"]].query("test in ['score', 'pearson']")
    assert same["size"].nunique() == 2  # for k-RR they are one test
    assert abs(size.loc["few respondents", "score"] - 0.05) < 0.02
    assert abs(size.loc["few respondents", "permuted"] - 0.05) < 0.02
