"""Calibration of the posteriors of tables and of pooled groups: stored, and a part again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.studies import calibrated_posteriors as study

pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws


@pytest.fixture(scope="module")
def ranks() -> pd.DataFrame:
    return study.stored()


def test_ranks_are_uniform_but_those_of_the_control(ranks: pd.DataFrame) -> None:
    """No p-value below .05 over their number; mean ranks of 1/2 within four standard errors."""
    found = study.uniformity(ranks)
    surveys = ranks.groupby("setting", sort=False)["survey"].nunique()
    fine = found.drop("control", level="setting")
    assert fine["pvalue"].min() > 0.05 / len(fine)
    for setting in ("flat", "margins", "pooling"):
        band = 4 / np.sqrt(12 * surveys[setting])
        assert np.all(np.abs(fine.loc[setting, "mean"] - 0.5) < band)
    assert found.loc["control", "pvalue"].min() < 1e-6
    assert surveys.to_list() == [study.SURVEYS] * 3 + [study.CONTROLS]


@pytest.mark.parametrize("setting", ["flat", "pooling"])
def test_surveys_again_agree_with_the_stored_ranks(setting: str, ranks: pd.DataFrame) -> None:
    """A rank is a mean over draws: other draws give another one, within 60 of 159."""
    again = study.ranks(setting, range(3))
    before = ranks[(ranks["setting"] == setting) & (ranks["survey"] < 3)]
    gap = np.abs(again["rank"].to_numpy() - before["rank"].to_numpy())
    assert again["quantity"].tolist() == before["quantity"].tolist()
    assert gap.max() < 60 and gap.mean() < 15
