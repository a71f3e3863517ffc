"""Ranks of true frequencies among draws of their posterior: what is stored, and some again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.studies import frequency_calibration as study
from benchmarks.studies.stored import load

FAIR = [setting for setting in study.SETTINGS if setting != study.CONTROL]


@pytest.fixture(scope="module")
def stored() -> Any:
    return load(study.STORED, "setting", list(study.SETTINGS))


def test_the_stored_ranks_are_of_all_surveys(stored: Any) -> None:
    counts = stored.filter(like="bin").to_numpy()
    assert counts.shape[1] == study.BINS and (counts.sum(axis=1) == study.SURVEYS).all()
    np.testing.assert_allclose(study.pvalues(counts), stored["pvalue"], rtol=1e-3)


def test_the_stored_ranks_are_uniform_unless_epsilon_is_wrong(stored: Any) -> None:
    """Thirteen categories: the smallest p-value is below .001 with chance .013."""
    smallest = stored.groupby("setting")["pvalue"].min()
    assert (smallest[FAIR] > 0.001).all()
    assert smallest[study.CONTROL] < 0.001


def test_some_surveys_are_ranked_again() -> None:
    rng = np.random.default_rng(1)
    ranks = np.array([study.rank_of("k-RR", rng) for _ in range(6)])
    assert ranks.shape == (6, 4) and ranks.min() >= 0 and ranks.max() <= study.RANKS
    np.testing.assert_array_equal(study.histogram("k-RR", 6).sum(axis=1), 6)
