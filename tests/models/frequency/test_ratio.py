"""Ratios of sums of frequencies."""

from __future__ import annotations

import pytest

import ldpstats as ldp

RESULTS = ldp.FrequencyModel(
    ldp.KRR(("low", "high", "refused"), epsilon=1.5).counts([620, 410, 270])
).fit()


def test_a_share_among_some_is_a_function_of_the_odds() -> None:
    """Fieller's set of a / (a + b) is that of a / b, mapped by r / (1 + r)."""
    odds, share = RESULTS.ratio("low", "high"), RESULTS.ratio("low", ["low", "high"])
    assert share.low == pytest.approx(odds.low / (1 + odds.low), rel=1e-9)
    assert share.high == pytest.approx(odds.high / (1 + odds.high), rel=1e-9)
    assert 0.5 < share.low < share.high < 1.0
    again = RESULTS.ratio(["low"], ["high"])
    assert (again.low, again.high) == (odds.low, odds.high)
