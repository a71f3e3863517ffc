"""Does the channel fit? Identities, size, and controls that fail."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference import goodness
from ldpstats.inference.tails import chi2_pvalue, normal_pvalue

Array = npt.NDArray[Any]

REPS = 1000
BAND = 4 * np.sqrt(0.05 * 0.95 / REPS)  # four Monte Carlo standard errors of a size near .05


def size(statistic: Array, df: int | Array) -> float:
    return float(np.mean(chi2_pvalue(statistic, df) < 0.05))


RECTANGULAR = np.random.default_rng(22).dirichlet(2 * np.ones(7), size=4)


def test_size_of_channel_fit() -> None:
    p = np.array([0.6, 0.4, 0.0, 0.0])  # the test does not mind the boundary
    rng = np.random.default_rng(23)
    counts = rng.multinomial(2000, p @ RECTANGULAR, size=REPS)
    statistic, df = goodness.channel_fit(counts, RECTANGULAR)
    assert df == 3
    assert size(statistic, df) == pytest.approx(0.05, abs=BAND)
    single, _ = goodness.channel_fit(counts[5], RECTANGULAR)
    assert single == pytest.approx(float(statistic[5]), rel=1e-12)
    # Control: another channel's reports, and the df of a full multinomial.
    wrong = rng.multinomial(2000, p @ np.roll(RECTANGULAR, 1, axis=1), size=REPS)
    assert size(*goodness.channel_fit(wrong, RECTANGULAR)) > 0.9
    assert size(statistic, 6) < 0.05 - BAND


def test_channel_fit_is_zero_on_exact_counts_of_any_sign() -> None:
    Q = np.array([[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]])
    p = np.array([1.2, -0.2])  # outside the simplex, but pQ is a law
    statistic, df = goodness.channel_fit(np.round(p @ Q * 1000), Q)
    assert statistic == pytest.approx(0, abs=1e-18)
    assert df == 1
    # A duplicated category lowers the rank, not the fit; an output nobody emits takes no part.
    padded = np.column_stack([np.vstack([Q, Q[:1]]), np.zeros(3)])
    again, df = goodness.channel_fit([[300, 260, 440, 0], [300, 260, 440, 1]], padded)
    assert again.tolist() == [pytest.approx(22.5, rel=1e-9), np.inf]
    assert df == 1


def test_channel_fit_refusals() -> None:
    with pytest.raises(NotAvailable, match="every law"):
        goodness.channel_fit([5, 5], np.eye(2))
    with pytest.raises(NotAvailable, match="collect more reports"):
        goodness.channel_fit([300, 0, 0], [[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]])
    with pytest.raises(InvalidArgument, match="columns"):
        goodness.channel_fit([5, 5], np.ones((2, 3)) / 3)


@pytest.mark.parametrize(("p1", "p0"), [(0.75, 0.25), (0.5, 0.1), (1.0, 0.0)])
def test_popcount_law_by_enumeration(p1: float, p0: float) -> None:
    k = 4
    reports = np.array(list(itertools.product((0, 1), repeat=k)))
    for x in range(k):
        law = np.where(np.arange(k) == x, p1, p0)
        weight = np.prod(np.where(reports == 1, law, 1 - law), axis=1)
        brute = np.bincount(reports.sum(axis=1), weights=weight, minlength=k + 1)
        np.testing.assert_allclose(goodness.popcount_law(k, p1, p0), brute, atol=1e-15)


def test_size_of_popcount_and_bit_total() -> None:
    k, n, p1, p0 = 20, 1000, 0.5, 0.27
    rng = np.random.default_rng(24)

    def surveys(off: float) -> tuple[Array, Array]:
        ones = rng.binomial(1, p1, size=(REPS, n)) + rng.binomial(k - 1, off, size=(REPS, n))
        histogram = np.stack([np.sum(ones == j, axis=1) for j in range(k + 1)], axis=1)
        return histogram, ones.sum(axis=1)

    histogram, total = surveys(p0)
    statistic, df = goodness.popcount_fit(histogram, p1, p0)
    assert 5 < df < k
    assert size(statistic, df) == pytest.approx(0.05, abs=BAND)
    z, p = goodness.bit_total_fit(total, n, k, p1, p0)
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=BAND)
    assert np.std(z) == pytest.approx(1, abs=4 / np.sqrt(2 * REPS))
    # Control: clients that flip with another probability.
    histogram, total = surveys(0.29)
    assert size(*goodness.popcount_fit(histogram, p1, p0)) > 0.5
    assert np.mean(goodness.bit_total_fit(total, n, k, p1, p0)[1] < 0.05) > 0.5


def test_popcount_refusals() -> None:
    with pytest.raises(NotAvailable, match="fewer than two cells"):
        goodness.popcount_fit([1, 2, 1], 0.75, 0.25)
    with pytest.raises(InvalidArgument, match="same total"):
        goodness.popcount_fit([[10, 20, 10], [10, 20, 11]], 0.75, 0.25)
    statistic, _ = goodness.popcount_fit([1, 500, 400, 99], 1.0, 0.3)
    assert statistic == np.inf  # no ones at all cannot happen with p1 = 1
    with pytest.raises(InvalidArgument, match="no randomness"):
        goodness.bit_total_fit(10, 10, k=3, p1=1.0, p0=0.0)
    with pytest.raises(InvalidArgument, match="total_ones"):
        goodness.bit_total_fit(31, 10, k=3, p1=0.7, p0=0.2)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
def test_few_reports_do_not_contradict_a_channel(epsilon: float) -> None:
    """P(p < alpha) is at most alpha for one report of geometric noise, whatever the answer.

    By enumeration: every report, and the law that makes it likeliest, as a fit has it. The two
    tails alone fall far below the probability of a report in the middle (the control).
    """
    k = 8
    a = np.exp(-epsilon / (k - 1))
    Q = (1 - a) / (1 + a) * a ** np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    Q[:, [0, -1]] /= 1 - a
    inverse, found = np.linalg.inv(Q).T, np.empty(k)
    for y in range(k):
        law = Q[np.argmax(Q[:, y])]
        z, p = goodness.negative_estimates(np.eye(k, dtype=int)[y], inverse, law)
        found[y] = min(1.0, k * p.min())
        assert np.all(p >= law[y] - 1e-15)
        if epsilon < 1.0 and 0 < y < k - 1:
            assert normal_pvalue(z.min(), "smaller") < 1e-3 * law[y]
    for alpha in (1e-3, 0.01, 0.05):
        assert np.all(Q @ (found < alpha) <= alpha)
