"""What simulations are judged by: right procedures pass, and wrong ones do not."""

import numpy as np
import pytest
from scipy import stats
from simulate import ALPHA, at_least, at_most, bias, coverage, error, near, repeat, size

R = 2000
TRUTH = np.array([0.0, 1.0, 5.0])
ESTIMATES = TRUTH + np.random.default_rng(1).normal(size=(R, 3))
HALF = stats.norm.isf(ALPHA / 2)


def ends(width: float) -> np.ndarray:
    return np.stack([ESTIMATES - width, ESTIMATES + width], axis=-1)


@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (0.9, False), (1.2, False)])
def test_intervals_of_another_width_do_not_cover_as_promised(factor, right):
    found = coverage(ends(factor * HALF), TRUTH)
    assert found.shape == (3,)
    assert near(found, 1 - ALPHA, R) == right
    assert at_least(found, 1 - ALPHA, R) == (factor >= 1)
    assert near(found, 2 * stats.norm.cdf(factor * HALF) - 1, R)


def test_coverage_counts_an_end_and_may_forgive_rounding():
    at = np.array([[[0.0, 1.0]], [[1.0, 2.0]], [[1.0 + 1e-13, 2.0]], [[0.0, 0.9]]])
    assert coverage(at, [1.0]) == 0.5
    assert coverage(at, [1.0], rounding=1e-12) == 0.75


@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (0.85, False)])
def test_a_test_of_another_size_is_found(factor, right):
    pvalues = 2 * stats.norm.sf(np.abs(ESTIMATES[:, 0]) / factor)
    assert near(size(pvalues), ALPHA, R) == at_most(size(pvalues), ALPHA, R) == right
    assert size(pvalues, 1.0) == 1.0 and size([0.04, 0.05, 0.06, 0.2]) == 0.25


def test_bias_is_in_standard_errors():
    assert np.abs(bias(ESTIMATES, TRUTH)).max() < 4
    assert bias(ESTIMATES, TRUTH - 0.2).min() > 4
    assert bias([1.0, 3.0], 0.0) == pytest.approx(2 / (1 / np.sqrt(2)))


def test_bands_narrow_with_the_surveys():
    assert error(0.05, 1900) == pytest.approx(0.005)
    assert near(0.065, 0.05, 1900) and not near(0.065, 0.05, 7600)
    assert at_most([0.01, 0.064], 0.05, 1900) and not at_most([0.01, 0.066], 0.05, 1900)
    assert at_least(0.035, 0.05, 1900) and not at_least(0.025, 0.05, 1900)


def test_surveys_are_stacked_by_name():
    found = repeat(3, lambda r: {"number": r, "row": [r, r + 1]})
    assert found["number"].tolist() == [0, 1, 2]
    assert found["row"].tolist() == [[0, 1], [1, 2], [2, 3]]
