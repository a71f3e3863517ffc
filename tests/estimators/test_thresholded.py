"""Estimates of which only the significant ones are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shared.moment_problems import dense_moments, krr_channel, krr_moments, unary_moments

from ldpstats.errors import InvalidArgument
from ldpstats.estimators import (
    Thresholded,
)
from ldpstats.estimators.thresholded import null_standard_errors


def test_thresholded_by_hand() -> None:
    c = np.array([500, 300, 105, 95])
    a, b = krr_channel(4, 2.0)
    p = (c / 1000 - b) / a
    z = 2.241402727604947  # the 1 - .05/4 point of the normal law
    bound = z * np.sqrt(b * (1 - b) / 1000) / a
    assert (p > bound).tolist() == [True, True, False, False]
    solution = Thresholded(alpha=0.05).solve(krr_moments(c, 2.0))
    rest = (1 - p[0] - p[1]) / 2
    np.testing.assert_allclose(solution.p, [p[0], p[1], rest, rest], rtol=1e-12)
    assert "kept 2 of 4" in solution.message and "spread" in solution.message


def test_thresholded_says_when_it_rescales_what_it_kept() -> None:
    solution = Thresholded().solve(unary_moments(np.array([760, 740, 100]), 1000, 0.9, 0.1))
    assert "kept 2 of 3, divided by their sum 1.62" in solution.message
    np.testing.assert_allclose(solution.p, [0.66 / 1.3, 0.64 / 1.3, 0], rtol=1e-12)


def test_thresholded_spreads_everything_when_nothing_is_significant() -> None:
    c = np.array([7, 5, 5, 3])  # the standard error at zero is about .6
    np.testing.assert_array_equal(Thresholded().solve(krr_moments(c, 0.5)).p, np.full(4, 0.25))


def test_null_standard_errors_of_unary_reports() -> None:
    found = null_standard_errors(unary_moments(np.array([30, 40, 20]), 100, 0.75, 0.25))
    np.testing.assert_allclose(found, np.sqrt(0.25 * 0.75 / 100) / 0.5, rtol=1e-13)


def test_null_standard_errors_of_a_dense_design_match_the_scalar_one() -> None:
    a, b = krr_channel(4, 1.0)
    c = np.array([40, 30, 20, 10])
    dense = null_standard_errors(dense_moments(a * np.eye(4) + b, c))
    np.testing.assert_allclose(dense, null_standard_errors(krr_moments(c, 1.0)), rtol=1e-12)


def test_thresholded_keeps_no_false_category_at_its_level() -> None:
    rng = np.random.default_rng(3)  # 1000 surveys: 4 binomial standard errors are .028
    a, b = krr_channel(10, 1.0)
    p = np.array([0.6, 0.4] + [0.0] * 8)
    found = [
        Thresholded(0.05).solve(krr_moments(c, 1.0)).message
        for c in rng.multinomial(5000, a * p + b, size=1000)
    ]
    assert np.mean([not m.startswith("kept 2 of") for m in found]) < 0.05 * 0.8 + 0.028


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, float("nan"), "0.05"])
def test_thresholded_refuses_a_bad_level(alpha: Any) -> None:
    with pytest.raises(InvalidArgument, match="alpha"):
        Thresholded(alpha=alpha)
