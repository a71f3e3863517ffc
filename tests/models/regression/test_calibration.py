"""Simulation-based calibration of posteriors of regressions: the stored ranks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.posteriors.regressions import CONTROLS, RANKS, SETTINGS, STORED, pvalues, ranks

pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws


SURVEYS = 250  # at least, of every setting


@pytest.fixture(scope="module")
def stored() -> pd.DataFrame:
    return pd.read_csv(STORED)


def test_stored_ranks_are_uniform(stored):
    found = pvalues(stored)
    right = found[~found["setting"].isin(CONTROLS)]
    assert set(right["setting"]) == set(SETTINGS) - set(CONTROLS)
    assert right["pvalue"].min() > 0.05 / len(right)
    assert right.loc[right["setting"] == "logit", "surveys"].eq(1000).all()
    assert right["surveys"].ge(SURVEYS).all()


def test_the_controls_are_seen(stored):
    """Who takes reports for answers, has another prior, or takes nobody to cheat."""
    found = pvalues(stored).set_index(["setting", "coefficient"])
    assert found["surveys"].min() >= 100
    assert (found.loc["naive", "pvalue"] < 1e-6).all()
    assert found.loc[("other prior", "age"), "pvalue"] < 1e-6
    assert found.loc[("honest", "const"), "pvalue"] < 1e-6


def near(setting: str, number: int, stored: pd.DataFrame) -> bool:
    """Whether a survey has the stored ranks, but for the luck of other draws."""
    own = stored[(stored["setting"] == setting) & (stored["survey"] == number)]
    again = ranks(setting, number)
    for name, rank in zip(own["coefficient"], own["rank"], strict=True):
        share = (rank + 0.5) / RANKS
        # two sets of 63 draws, worth a third of that at least
        luck = np.sqrt(2.0 * share * (1.0 - share) * 3.0 * RANKS) + 1.0
        if abs(again[name] - rank) > 4.0 * luck:
            return False
    return True


def test_a_stored_survey_comes_out_again(stored):
    assert near("logit", 7, stored)


@pytest.mark.slow
@pytest.mark.parametrize("setting", [one for one in SETTINGS if one not in CONTROLS])
def test_other_surveys_are_calibrated(setting, replications):
    """New surveys, beside the stored ones: the mean rank is that of uniform ones."""
    R = replications(40, 8)
    found = pd.DataFrame([ranks(setting, 100_000 + i) for i in range(R)])
    error = np.sqrt((RANKS**2 - 1) / 12.0 / R)
    assert np.all(np.abs(found.mean() - (RANKS - 1) / 2.0) < 4.0 * error)
