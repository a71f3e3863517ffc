"""Samples of k-RR: at every boundary by crafted words, and in law by chi-square.

Chi-square checks are made at level 1e-6 with fixed seeds; each has a negative control, a slightly
wrong law that the same check must refuse.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from shared.crafted_words import ALL, LEVEL, ONE, pvalue, script

from ldpstats import kernels as loading
from ldpstats.errors import InvalidArgument
from ldpstats.sampling import samplers

# --- thresholds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 1e-300, 1e-25, 2.0**-64, 0.1, 1 / 3, 0.5, 1 - 2**-53, 1.0, 1])
def test_threshold_is_the_exact_neighbour(p):
    down, up = samplers.threshold(p, "down"), samplers.threshold(p, "up")
    assert down <= Fraction(p) * ONE <= up
    assert up - down == (0 if (Fraction(p) * ONE).denominator == 1 else 1)


@pytest.mark.parametrize("p", [-1e-300, 1 + 2**-52, float("nan"), float("inf")])
def test_threshold_refuses_what_is_no_probability(p):
    with pytest.raises(InvalidArgument, match="probability"):
        samplers.threshold(p, "down")


# --- k-RR ---------------------------------------------------------------------------------------


def krr_law(k, keep):
    p = keep / ONE
    return p * np.eye(k) + (1 - p) / k


@pytest.mark.parametrize(("k", "p"), [(2, 0.3), (3, 0.9), (5, 0.0), (7, 0.02), (10, 0.5)])
def test_krr_law(path, k, p):
    n, keep = 200_000, samplers.threshold(p, "down")
    codes = np.arange(n) % k
    y = samplers.sample_krr(codes, k, keep, samplers.simulation_words(np.random.default_rng(k)))
    observed = np.zeros((k, k), dtype=np.int64)
    np.add.at(observed, (codes, y), 1)
    shares = np.bincount(codes) / n
    assert pvalue(observed, shares[:, None] * krr_law(k, keep)) > LEVEL
    wrong = krr_law(k, samplers.threshold(p + 0.02, "down"))
    assert pvalue(observed, shares[:, None] * wrong) < LEVEL


@pytest.mark.parametrize("keep", [1, (5 << 32) + 9, 7 << 32, ALL])
def test_krr_keeps_exactly_below_the_threshold(path, keep):
    """The high half of a word and, at a tie, that of the next one are the 64 bits compared."""
    for fraction in {0, keep - 1, keep, keep + 1, keep >> 32 << 32, keep | 0xFFFFFFFF}:
        if 0 <= fraction < ONE:
            high, low = divmod(fraction, 1 << 32)
            draw = 1 << 31  # the low half of the first word gives category 1 of 3
            further = [low << 32] if high == keep >> 32 else []
            words = script((high << 32) + draw, *further)
            assert samplers.sample_krr([2], 3, keep, words)[0] == (2 if fraction < keep else 1)
            assert not words.left


@pytest.mark.parametrize("k", [2, 3, 7, 1000, 1_000_003, 2**31 + 1, 2**32 - 1])
def test_krr_gives_every_category_the_same_number_of_low_halves(path, k):
    """Category v owns the low halves from ceil(v 2^32 / k) on; at most its first is rejected."""
    spare, share = (1 << 32) % k, (1 << 32) // k
    for v in {0, 1, k // 3, k // 2, k - 2, k - 1}:
        first = -(-(v << 32) // k)
        last = -(-((v + 1) << 32) // k) - 1
        rejected = first * k % (1 << 32) < spare
        assert last - first + 1 - rejected == share
        accepted = first + rejected
        for low in {accepted, last}:
            assert samplers.sample_krr([0], k, 0, script((1 << 32) + low))[0] == v
        if rejected:  # draws again, with the low half of the next word
            words = script((1 << 32) + first, first, (9 << 32) + accepted)
            assert samplers.sample_krr([0], k, 0, words)[0] == v
            assert not words.left


def test_krr_settles_pending_users_in_order(path):
    keep, k = (4 << 32) + 10, 3
    tie, noise, rejected = 4 << 32, 9 << 32, 9 << 32
    low = [0x10, 0x60000000, 0xC0000000]  # accepted draws of 0, 1, 2
    words = script(
        tie + low[2],  # user 0: tie, then kept
        rejected,  # user 1: rejected twice
        0 + low[1],  # user 2: kept outright
        tie + low[1],  # user 3: tie, then noise from its own first word
        noise + low[0],  # user 4: noise outright
        *(9 << 32, 10 << 32),  # the ties of users 0 and 3
        *(0, low[2]),  # the further draws of user 1
    )
    assert samplers.sample_krr([1, 0, 2, 0, 1], k, keep, words).tolist() == [1, 2, 2, 1, 0]
    assert not words.left


@pytest.mark.parametrize("k", [3, 1000, 3_000_000_001])
@pytest.mark.parametrize("n", [1, 255, 256, 5000])
def test_krr_kernel_equals_its_twin_on_the_same_words(monkeypatch, k, n):
    monkeypatch.setattr(samplers, "LARGE", 0)
    monkeypatch.setattr(loading, "LOADING", 0.0)
    codes = np.random.default_rng(4).integers(0, k, size=n)
    reports = []
    for given in (False, True):
        words = samplers.simulation_words(np.random.default_rng(10))
        source = words.streams(1).__call__ if given else words
        y = samplers.sample_krr(codes, k, ONE // 3, source)
        reports.append(np.append(y, words(3).view(np.int64)))  # as many words were used
    assert np.array_equal(*reports)


@pytest.mark.parametrize("bad", [-1, 5, 2**40, -(2**63)])
def test_krr_refuses_a_code_outside(path, bad):
    codes = np.zeros(3000, dtype=np.int64)
    codes[2500] = bad
    with pytest.raises(InvalidArgument, match=rf"codes={bad}: must lie in \[0, 5\)"):
        samplers.sample_krr(codes, 5, ONE // 2, samplers.simulation_words(np.random.default_rng(1)))
    with pytest.raises(InvalidArgument, match=rf"codes={bad}: must lie in \[0, 5\)"):
        samplers.sample_krr(codes, 5, ONE, samplers.simulation_words(np.random.default_rng(1)))
