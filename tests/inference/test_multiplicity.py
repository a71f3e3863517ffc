"""Adjusted p-values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from ldpstats.inference.tests import METHODS, adjust, reject

P = np.array([0.01, 0.02, 0.03, 0.04, 0.5])


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("bonferroni", [0.05, 0.10, 0.15, 0.20, 1.0]),
        ("holm", [0.05, 0.08, 0.09, 0.09, 0.5]),
        ("bh", [0.05, 0.05, 0.05, 0.05, 0.5]),
    ],
)
def test_adjusted_pvalues_by_hand(method: str, expected: list[float]) -> None:
    np.testing.assert_allclose(adjust(P, method), expected, rtol=1e-12)
    # The order of the hypotheses does not matter.
    shuffled = np.array([3, 0, 4, 2, 1])
    np.testing.assert_allclose(adjust(P[shuffled], method), np.array(expected)[shuffled])


@pytest.mark.parametrize("method", METHODS)
def test_against_statsmodels(method: str) -> None:
    rng = np.random.default_rng(9)
    theirs = {"bonferroni": "bonferroni", "holm": "holm", "bh": "fdr_bh"}[method]
    families = rng.random((5, 40)) ** 3
    families[2, 10:20] = families[2, 3]  # ties
    found = adjust(families, method)
    for p, ours in zip(families, found, strict=True):
        np.testing.assert_allclose(ours, multipletests(p, method=theirs)[1], rtol=1e-12)


def test_error_rates() -> None:
    rng = np.random.default_rng(11)
    reps, k, real = 2000, 20, 8
    z = rng.normal(size=(reps, k))
    z[:, :real] += 3.0
    p = stats.norm.sf(z)
    band = 4 * np.sqrt(0.05 * 0.95 / reps)
    wrong = {}
    for method in METHODS:
        rejected = reject(p, 0.05, method)
        false = rejected[:, real:].sum(axis=1)
        wrong[method] = float(np.mean(false > 0))
        share = np.mean(false / np.maximum(rejected.sum(axis=1), 1))
        assert share < 0.05 + band
    assert wrong["bonferroni"] <= wrong["holm"] < 0.05 + band
    # Controls: BH does not bound the probability of any false rejection, nor do raw p-values.
    assert wrong["bh"] > 0.05 + band
    assert np.mean(p[:, real:].min(axis=1) < 0.05) > 0.4


def test_shares_of_the_level() -> None:
    shares = np.array([0.4, 0.3, 0.2, 0.05, 0.05])
    np.testing.assert_allclose(adjust(P, shares=shares), [0.025, 0.2 / 3.0, 0.15, 0.8, 1.0])
    np.testing.assert_allclose(adjust(P, shares=np.full(5, 0.2)), adjust(P), rtol=1e-12)
    assert reject(P, 0.05, shares=shares).tolist() == [True, False, False, False, False]
    rng = np.random.default_rng(12)
    reps = 4_000
    false = reject(rng.random((reps, 5)), 0.05, shares=shares).any(axis=1).mean()
    # all hypotheses true and independent: 1 - prod(1 - .05 w), within four standard errors
    exact = 1.0 - np.prod(1.0 - 0.05 * shares)
    assert abs(false - exact) < 4 * np.sqrt(exact * (1 - exact) / reps)
