"""Samples of arbitrary rows: exact at every boundary, and in law by chi-square."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from shared.crafted_words import LEVEL, NASTY, ONE, pvalue, script, weights

from ldpstats.errors import InvalidArgument
from ldpstats.sampling import samplers


def test_integer_rows_sum_exactly_and_keep_their_support():
    for q, weight in zip(NASTY, weights(samplers.integer_rows(NASTY)), strict=True):
        assert sum(weight.values()) == ONE
        assert set(weight) == {y for y, value in enumerate(q) if value > 0}
        assert min(weight.values()) >= 1
        for y, value in weight.items():  # the largest also carries the rounding of the others
            assert abs(value - Fraction(q[y]) * ONE) <= (1 if q[y] < max(q) else 2**12)


def test_rows_are_exact_at_every_boundary():
    rows = samplers.integer_rows(NASTY)
    for x, (y, upper) in enumerate(zip(rows.outputs, rows.upper, strict=True)):
        lower = [0, *(int(u) + 1 for u in upper[:-1])]
        for output, first, last in zip(y, lower, upper.tolist(), strict=True):
            drawn = samplers.sample_rows([x, x], rows, script(first, last))
            assert drawn.tolist() == [output, output]


@pytest.mark.parametrize("n", [60_000, 300_000])
def test_rows_law(n):
    Q = np.array([[0.0, 0.25, 0.0, 0.75], [0.1, 0.2, 0.7, 0.0], [0.0, 0.0, 0.0, 1.0]])
    codes = np.random.default_rng(1).integers(0, 3, size=n)
    rows = samplers.integer_rows(Q)
    y = samplers.sample_rows(codes, rows, samplers.simulation_words(np.random.default_rng(2)))
    observed = np.zeros(Q.shape, dtype=np.int64)
    np.add.at(observed, (codes, y), 1)
    shares = np.bincount(codes)[:, None] / n
    assert pvalue(observed, shares * Q) > LEVEL
    wrong = Q + 0.03 * np.array([[0, 1, 0, -1], [0, 1, -1, 0], [0, 0, 0, 0]])
    assert pvalue(observed, shares * wrong) < LEVEL
    assert samplers.sample_rows([], rows, script()).size == 0


@pytest.mark.parametrize("code", [-1, 2])
def test_rows_refuse_a_code_outside(code):
    with pytest.raises(InvalidArgument, match="codes"):
        samplers.sample_rows([code], samplers.integer_rows(np.eye(2)), script(0))
