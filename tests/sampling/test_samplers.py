"""The samplers are exact: at every boundary by crafted words, and in law by chi-square.

Chi-square checks are made at level 1e-6 with fixed seeds; each has a negative control, a slightly
wrong law that the same check must refuse.
"""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from ldpstats.errors import InvalidArgument
from ldpstats.kernels import words as kernels
from ldpstats.sampling import packing, realised, samplers
from ldpstats.sampling.words import BULK, simulation_words, system_words

ONE = 1 << 64
ALL = ONE - 1
LEVEL = 1e-6


def script(*words):
    """A source of exactly these words; to ask for more fails."""
    left = list(words)

    def source(n):
        assert n <= len(left), "more words drawn than expected"
        head, left[:] = left[:n], left[n:]
        return np.array(head, dtype=np.uint64)

    source.left = left
    return source


def sequence(words):
    """A source that reads one array from its start."""
    position = 0

    def source(n):
        nonlocal position
        position += n
        return words[position - n : position].copy()

    return source


def pvalue(observed, probabilities):
    """Chi-square p-value of counts; an outcome of probability zero must not occur."""
    observed, probabilities = np.ravel(observed), np.ravel(probabilities)
    assert not observed[probabilities == 0].any()
    seen = probabilities > 0
    expected = observed.sum() * probabilities[seen]
    assert expected.min() > 5
    if expected.size == 1:  # a certain outcome
        return 1.0
    statistic = np.sum((observed[seen] - expected) ** 2 / expected)
    return stats.chi2.sf(statistic, expected.size - 1)


@pytest.fixture(params=["numpy", "numba"])
def path(request, monkeypatch):
    """Run a test with the plain and with the compiled path, whatever the size of the arrays."""
    monkeypatch.setattr(samplers, "LARGE", 0 if request.param == "numba" else 1 << 62)
    return request.param


# --- sources of words ---------------------------------------------------------------------------


@pytest.mark.parametrize("rng", [7, None, np.random.RandomState(1), np.random.PCG64(1)])
def test_simulation_refuses_what_is_not_a_generator(rng):
    remedy = r"default_rng\(7\)" if rng == 7 else r"default_rng\(seed\)"
    with pytest.raises(InvalidArgument, match=remedy):
        simulation_words(rng)


def test_short_requests_are_those_of_the_generator():
    words = simulation_words(np.random.default_rng(5))
    expected = np.random.default_rng(5).integers(0, 2**64, dtype=np.uint64, size=10)
    assert np.array_equal(words(10), expected)
    assert words(0).size == 0


def test_long_requests_are_numpys_sfc64():
    rng = np.random.default_rng(5)
    words = simulation_words(rng)
    drawn = np.concatenate([words(BULK), words(3 * BULK)])
    key = np.random.default_rng(5).integers(0, 2**64, dtype=np.uint64, size=(3, kernels.LANES))
    for lane in (0, 1, kernels.LANES - 1):
        reference = np.random.SFC64()
        state = reference.state
        state["state"]["state"] = np.append(key[:, lane], np.uint64(1))
        reference.state = state
        expected = reference.random_raw(4 * BULK // kernels.LANES)
        assert np.array_equal(drawn[lane :: kernels.LANES], expected)


def test_interpreted_stream_equals_the_compiled_one(monkeypatch):
    key = np.random.default_rng(1).integers(0, 2**64, dtype=np.uint64, size=(3, kernels.LANES))
    out = np.empty((2, 8, kernels.LANES), dtype=np.uint64)
    compiled, interpreted = key.copy(), key.copy()
    kernels.sfc64_lanes(compiled, np.uint64(3), out[0])
    for name in ("sfc64", "sfc64_rows"):  # which sfc64_lanes calls
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)
    with np.errstate(over="ignore"):
        kernels.sfc64_lanes.py_func(interpreted, np.uint64(3), out[1])
    assert np.array_equal(out[0], out[1])
    assert np.array_equal(compiled, interpreted)


def test_words_in_use_are_never_overwritten():
    words = simulation_words(np.random.default_rng(2))
    whole = words(BULK)
    part = words(BULK)[5:].reshape(-1, 3)  # only a view of a view is kept
    copies = whole.copy(), part.copy()
    for _ in range(3):
        words(BULK)
    assert np.array_equal(whole, copies[0])
    assert np.array_equal(part, copies[1])


@pytest.mark.parametrize("sizes", [(1, 5), (BULK, 100, 2 * BULK, 1)])
def test_simulation_is_reproducible_and_never_repeats_itself(sizes):
    first, again = (simulation_words(np.random.default_rng(3)) for _ in range(2))
    drawn = np.concatenate([first(n) for n in sizes])
    assert np.array_equal(drawn, np.concatenate([again(n) for n in sizes]))
    assert np.unique(drawn).size == drawn.size  # a coincidence has probability below 1e-9


def test_system_words_are_different_each_time():
    words = system_words()
    assert words(3).dtype == np.uint64
    assert np.unique(np.concatenate([words(100), words(100)])).size == 200


@pytest.mark.parametrize(
    ("entropy", "message"),
    [
        (lambda n: b"\x2a" * (n - 1), "16 bytes asked for, not 15 bytes"),
        (lambda n: b"\x2a" * (n + 1), "16 bytes asked for, not 17 bytes"),
        (lambda n: b"", "not 0 bytes"),
        (lambda n: "*" * n, "not str"),
        (lambda n: None, "not NoneType"),
    ],
)
def test_injected_entropy_must_be_of_the_length_asked_for(entropy, message):
    with pytest.raises(InvalidArgument, match=message) as caught:
        system_words(entropy)(2)
    assert "2a" not in str(caught.value).split(": ", 1)[1]
    assert "***" not in str(caught.value)


def test_entropy_must_be_callable():
    with pytest.raises(InvalidArgument, match="entropy"):
        system_words(b"0123456789abcdef")


# --- thresholds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 1e-300, 1e-25, 2.0**-64, 0.1, 1 / 3, 0.5, 1 - 2**-53, 1.0, 1])
def test_threshold_is_the_exact_neighbour(p):
    down, up = samplers.threshold(p, "down"), samplers.threshold(p, "up")
    assert down <= Fraction(p) * ONE <= up
    assert up - down == (0 if (Fraction(p) * ONE).denominator == 1 else 1)


def test_threshold_of_certain_and_impossible_events():
    assert samplers.threshold(1.0, "down") == ONE == samplers.CERTAIN
    assert samplers.threshold(0.0, "up") == 0
    assert samplers.threshold(np.float64(0.5), "up") == ONE // 2


@pytest.mark.parametrize("p", [-1e-300, 1 + 2**-52, float("nan"), float("inf")])
def test_threshold_refuses_what_is_no_probability(p):
    with pytest.raises(InvalidArgument, match="probability"):
        samplers.threshold(p, "down")


def test_threshold_refuses_another_rounding():
    with pytest.raises(InvalidArgument, match="rounding"):
        samplers.threshold(0.5, "nearest")


# --- k-RR ---------------------------------------------------------------------------------------


def krr_law(k, keep):
    p = keep / ONE
    return p * np.eye(k) + (1 - p) / k


@pytest.mark.parametrize(("k", "p"), [(2, 0.3), (3, 0.9), (5, 0.0), (7, 0.02), (10, 0.5)])
def test_krr_law(path, k, p):
    n, keep = 200_000, samplers.threshold(p, "down")
    codes = np.arange(n) % k
    y = samplers.sample_krr(codes, k, keep, simulation_words(np.random.default_rng(k)))
    observed = np.zeros((k, k), dtype=np.int64)
    np.add.at(observed, (codes, y), 1)
    shares = np.bincount(codes) / n
    assert pvalue(observed, shares[:, None] * krr_law(k, keep)) > LEVEL
    wrong = krr_law(k, samplers.threshold(p + 0.02, "down"))
    assert pvalue(observed, shares[:, None] * wrong) < LEVEL


def test_krr_with_a_million_categories(path):
    k, n = 1_000_003, 400_000
    codes = np.arange(n)
    y = samplers.sample_krr(codes, k, ONE // 4, simulation_words(np.random.default_rng(6)))
    kept = y == codes
    assert stats.binomtest(int(kept.sum()), n, 0.25 + 0.75 / k).pvalue > LEVEL
    bins = np.bincount(y[~kept] * 20 // k, minlength=20)
    edges = np.ceil(np.arange(21) * k / 20)
    assert pvalue(bins, np.diff(edges) / k) > LEVEL
    assert stats.binomtest(int(kept.sum()), n, 0.26).pvalue < LEVEL


def test_krr_without_noise_and_without_signal(path):
    codes = np.arange(5000) % 7
    words = simulation_words(np.random.default_rng(1))
    assert np.array_equal(samplers.sample_krr(codes, 7, ONE, words), codes)
    noise = np.bincount(samplers.sample_krr(np.zeros(70_000, int), 7, 0, words))
    assert pvalue(noise, np.full(7, 1 / 7)) > LEVEL
    assert np.array_equal(samplers.sample_krr(np.zeros(9, int), 1, 0, words), np.zeros(9))
    assert samplers.sample_krr(np.zeros(0, int), 7, 0, words).size == 0


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
def test_krr_block_equals_its_twin(k):
    rng = np.random.default_rng(8)
    n, scalars = 5000, (np.uint64(k), np.uint64(3), np.uint64((1 << 32) % k))
    codes = rng.integers(0, k, size=n).astype(np.uint64)
    codes[[17, 4000]] = np.array([k, ALL], dtype=np.uint64)  # out of range, and negative
    words = rng.integers(0, 7, size=n, dtype=np.uint64) << np.uint64(32)  # a tie in seven
    words |= rng.integers(0, 2**32, size=n, dtype=np.uint64)
    words[::11] &= np.uint64(7 << 32)  # and rejections
    out = np.zeros((3, n), dtype=np.uint64)
    pending, drawn = samplers._krr(codes, words, *scalars, out[0])
    assert {17, 4000} < set(pending.tolist())
    assert np.array_equal(drawn, words[pending])
    for i, function in ((1, kernels.krr_block), (2, kernels.krr_block.py_func)):
        assert function(codes, words, *scalars, out[i])
        assert np.array_equal(out[0], out[i])
    for function in (kernels.krr_is_pending, kernels.krr_is_pending.py_func):
        flags = [function(*pair, *scalars) for pair in zip(codes, words, strict=True)]
        assert np.array_equal(np.flatnonzero(flags), pending)
    for user in (pending[0], 17, 4000):  # one is enough to be noticed
        one = slice(user, user + 1)
        assert kernels.krr_block(codes[one], words[one], *scalars, out[1, one])


def stream_key(seed):
    return np.random.default_rng(seed).integers(0, 2**64, size=(3, kernels.LANES), dtype=np.uint64)


def interpret(monkeypatch):
    """Run the kernels as plain Python from now on."""
    for name in ("sfc64", "sfc64_rows", "_rows", "krr_block", "krr_is_pending", "krr", "coins"):
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)


@pytest.mark.parametrize("k", [3, 1000, 3_000_000_001])
@pytest.mark.parametrize("n", [1, 255, 256, 5000])
def test_krr_kernel_equals_its_twin_on_the_same_words(monkeypatch, k, n):
    monkeypatch.setattr(samplers, "LARGE", 0)
    codes = np.random.default_rng(4).integers(0, k, size=n)
    reports = []
    for given in (False, True):
        words = simulation_words(np.random.default_rng(10))
        source = words.streams().__call__ if given else words
        y = samplers.sample_krr(codes, k, ONE // 3, source)
        reports.append(np.append(y, words(3).view(np.int64)))  # as many words were used
    assert np.array_equal(*reports)


@pytest.mark.parametrize("n", [5, 700])
def test_interpreted_krr_equals_the_compiled_one(monkeypatch, n):
    k, codes = 3_000_000_001, np.random.default_rng(2).integers(0, 3_000_000_001, size=n)
    scalars = np.uint64(k), np.uint64(1 << 30), np.uint64((1 << 32) % k)
    results = []
    for interpreted in (False, True):
        if interpreted:
            interpret(monkeypatch)
        state, out = stream_key(1), np.zeros(n, dtype=np.uint64)
        with np.errstate(over="ignore"):
            found = kernels.krr(state, np.uint64(1), codes.astype(np.uint64), *scalars, out)
        results.append((state, out, *found))
    for first, second in zip(*results, strict=True):
        assert np.array_equal(first, second)


@pytest.mark.parametrize("bad", [-1, 5, 2**40, -(2**63)])
def test_krr_refuses_a_code_outside(path, bad):
    codes = np.zeros(3000, dtype=np.int64)
    codes[2500] = bad
    with pytest.raises(InvalidArgument, match=rf"codes={bad}: must lie in \[0, 5\)"):
        samplers.sample_krr(codes, 5, ONE // 2, simulation_words(np.random.default_rng(1)))
    with pytest.raises(InvalidArgument, match=rf"codes={bad}: must lie in \[0, 5\)"):
        samplers.sample_krr(codes, 5, ONE, simulation_words(np.random.default_rng(1)))


@pytest.mark.parametrize(
    ("codes", "k", "keep", "name"),
    [
        ([0.0, 1.0], 3, 0, "codes"),
        ([[0, 1]], 3, 0, "codes"),
        ([True], 3, 0, "codes"),
        ([0], 0, 0, "k"),
        ([0], 1 << 32, 0, "k"),
        ([0], 3, -1, "keep"),
        ([0], 3, ONE + 1, "keep"),
    ],
)
def test_krr_refuses_bad_arguments(codes, k, keep, name):
    with pytest.raises(InvalidArgument, match=f"^{name}="):
        samplers.sample_krr(codes, k, keep, simulation_words(np.random.default_rng(1)))


# --- bits ---------------------------------------------------------------------------------------


def enumerated(digits):
    """Words whose 64 lanes hold every pattern of six digits once; a one means that digits agree."""
    lanes = np.arange(64)
    for place, digit in enumerate(digits):
        fraction_digit = lanes >> (5 - place) & 1
        yield int((1 << lanes.astype(object))[fraction_digit == digit].sum())


@pytest.mark.parametrize("t", range(65))
def test_coins_are_exact_by_enumeration(t):
    """Of the 64 fractions of six digits exactly t are below t / 64."""
    digits = [t >> (5 - place) & 1 for place in range(6)]
    used = len("".join(map(str, digits)).rstrip("0")) if t < 64 else 0
    words = script(*list(enumerated(digits))[:used])
    (lanes,) = samplers._coins(1, t << 58, words).tolist()
    assert lanes.bit_count() == t
    assert not words.left


@pytest.mark.parametrize("prefix", [0, 1, 0b101100111010, 0b111111111111])
@pytest.mark.parametrize("t", [1, 31, 32, 63])
def test_coins_that_tie_for_twelve_digits_go_on(prefix, t):
    digits = [t >> (5 - place) & 1 for place in range(6)]
    used = len("".join(map(str, digits)).rstrip("0"))
    words = script(*[ALL] * 12, *list(enumerated(digits))[:used])
    (lanes,) = samplers._coins(1, (prefix << 52) + (t << 46), words).tolist()
    assert lanes.bit_count() == t
    assert not words.left


def test_coins_at_the_ends():
    assert samplers._coins(2, 0, script()).tolist() == [0, 0]
    assert samplers._coins(2, ONE, script()).tolist() == [ALL, ALL]
    # all 64 digits agree with the smallest threshold's and the largest's: not below
    assert samplers._coins(1, 1, script(*[ALL] * 64)).tolist() == [0]
    assert samplers._coins(1, ALL, script(*[ALL] * 64)).tolist() == [0]
    # only the last digit differs: below 1 the fraction 0, below 2**64 - 1 the one before it
    assert samplers._coins(1, 1, script(*[ALL] * 63, 0)).tolist() == [ALL]
    assert samplers._coins(1, ALL, script(*[ALL] * 63, 0)).tolist() == [ALL]


@pytest.mark.parametrize("digits", [1, 2, 5, 12])
def test_compare_decides_lane_by_lane(digits):
    rng = np.random.default_rng(digits)
    random = rng.integers(0, 2**64, size=(digits, 20), dtype=np.uint64)
    threshold = [*rng.integers(0, 2, size=digits - 1).tolist(), 1]
    result, tied = np.zeros(20, np.uint64), np.full(20, np.uint64(ALL))
    samplers._compare(random, samplers._flips(threshold), result, tied)
    # the fraction's digit is the threshold's where the word holds a one
    agree = np.unpackbits(random.view(np.uint8), axis=1).T.astype(bool)
    fraction = np.where(agree, threshold, 1 - np.array(threshold)) @ 2 ** np.arange(digits)[::-1]
    below = fraction < np.array(threshold) @ 2 ** np.arange(digits)[::-1]
    assert np.array_equal(np.unpackbits(result.view(np.uint8)), below)
    assert np.array_equal(tied, np.bitwise_and.reduce(random, axis=0))


@pytest.mark.parametrize("limit", [1, 3 << 40, ONE // 2, 13 << 59, 13 << 57, ONE // 3, ALL])
@pytest.mark.parametrize("size", [1, 64, 200])
def test_coins_kernel_equals_its_twin_on_the_same_words(limit, size):
    digits = [int(digit) for digit in f"{limit:064b}".rstrip("0")]
    digits += [0] * (-len(digits) % kernels.STEPS)
    streams, twin = kernels.Streams(stream_key(3)), kernels.Streams(stream_key(3))
    coins = streams.coins(samplers._flips(digits), size)
    for row in np.split(coins, range(kernels.LANES, size, kernels.LANES)):
        used: list[np.ndarray] = []
        tied = np.uint64(ALL)
        while np.any(tied) and len(used) < len(digits):
            used += list(twin(kernels.STEPS * kernels.LANES).copy().reshape(-1, kernels.LANES))
            tied = np.bitwise_and.reduce(used, axis=0)
        result, lanes = np.zeros(kernels.LANES, np.uint64), np.full(kernels.LANES, np.uint64(ALL))
        samplers._compare(np.array(used), samplers._flips(digits[: len(used)]), result, lanes)
        assert np.array_equal(row, result[: row.size])
    assert np.array_equal(streams(5), twin(5))  # as many words were used


def test_interpreted_coins_equal_the_compiled_ones(monkeypatch):
    flips = samplers._flips([int(digit) for digit in f"{ONE // 3:064b}"])
    results = []
    for interpreted in (False, True):
        if interpreted:
            interpret(monkeypatch)
        with np.errstate(over="ignore"):
            streams = kernels.Streams(stream_key(7))
            results.append(np.append(streams.coins(flips, 150), streams(1)))
    assert np.array_equal(*results)


@pytest.mark.parametrize("limit", [ONE // 5, ONE // 2, ONE - (ONE >> 10)])
def test_compiled_coins_have_their_probability(limit):
    n = 1 << 14
    coins = samplers._coins(n, limit, simulation_words(np.random.default_rng(20)))
    ones = int(np.bitwise_count(coins).sum())
    assert stats.binomtest(ones, 64 * n, limit / ONE).pvalue > LEVEL
    assert stats.binomtest(ones, 64 * n, limit / ONE - 0.004).pvalue < LEVEL
    lanes = np.unpackbits(coins.view(np.uint8)).reshape(n, 64).sum(axis=0)
    law = limit / ONE
    z = (lanes - n * law) / np.sqrt(n * law * (1 - law))
    assert stats.chi2.sf((z**2).sum(), 64) > LEVEL


def bit_law(places, n_bits, p1, p0):
    """Probability of each pattern, by its integer value."""
    one = np.where(np.isin(np.arange(n_bits), places), p1, p0) / ONE
    patterns = np.arange(1 << n_bits)[:, None] >> np.arange(n_bits) & 1
    return np.prod(np.where(patterns == 1, one, 1 - one), axis=1)


P1, P0 = samplers.threshold(0.7310585786300049, "down"), samplers.threshold(0.3, "up")
RUNS = [P0, P0, 0, ONE // 2, ONE]


@pytest.mark.parametrize(
    ("places", "p1", "p0"),
    [
        ([1], P1, P0),
        ([0, 4], P1, P0),
        ([2, 2], P1, P0),  # a collision counts once
        ([3, 0, 3], ONE // 2, P0),
        ([], P1, P0),
        ([4], 0, P0),
        ([4], ONE, 0),
        ([1, 2], P1, RUNS),
        ([1, 3], RUNS[::-1], RUNS),
    ],
)
def test_bits_law(path, places, p1, p0):
    n, n_bits = 150_000, 5
    words = simulation_words(np.random.default_rng(12))
    packed = samplers.sample_bits(np.tile(np.array(places, int), (n, 1)), n_bits, p1, p0, words)
    assert packed.shape == (n, 1)
    observed = np.bincount(packed[:, 0], minlength=32)
    assert observed.size == 32  # the padding bits are zero
    exact = bit_law(places, n_bits, *(np.array(np.broadcast_to(p, 5), float) for p in (p1, p0)))
    assert pvalue(observed, exact) > LEVEL
    noise = np.array(np.broadcast_to(p0, 5), float)
    uncertain = (noise > 0) & (noise < ONE)
    if uncertain.any():  # negative control: 3 % more noise
        noise[uncertain] *= 1.03
        wrong = bit_law(places, n_bits, np.array(np.broadcast_to(p1, 5), float), noise)
        assert pvalue(observed, wrong) < LEVEL


def test_compiled_coins_of_wide_reports():
    """Enough words for the kernel; every bit of every byte is checked, and pairs within a word."""
    n, n_bits, p0 = 20_000, 200, P0 / ONE
    words = simulation_words(np.random.default_rng(13))
    place = np.arange(n)[:, None] % n_bits
    bits = packing.unpack(samplers.sample_bits(place, n_bits, P1, P0, words), n_bits)
    own = bits[np.arange(n), place[:, 0]]
    assert stats.binomtest(int(own.sum()), n, P1 / ONE).pvalue > LEVEL
    assert stats.binomtest(int(own.sum()), n, P1 / ONE + 0.02).pvalue < LEVEL
    bits[np.arange(n), place[:, 0]] = False
    trials = n - np.bincount(place[:, 0], minlength=n_bits)
    ones = bits.sum(axis=0)
    for p, right in ((p0, True), (p0 + 0.005, False)):
        z = (ones - trials * p) / np.sqrt(trials * p * (1 - p))
        assert (stats.chi2.sf((z**2).sum(), n_bits) > LEVEL) == right
    pairs = n * (n_bits - 1) - 2 * n + 2 * n // n_bits  # neighbours of which neither is redrawn
    both = (bits[:, 1:] & bits[:, :-1]).sum()
    # two neighbouring pairs share a bit, which adds 2 (p0^3 - p0^4) to the variance of each
    sd = np.sqrt(pairs * (p0**2 * (1 - p0**2) + 2 * (p0**3 - p0**4)))
    assert abs(both - pairs * p0**2) < 5 * sd


def test_bits_are_packed_with_the_least_significant_first(path):
    words = simulation_words(np.random.default_rng(1))
    place = np.array([[0, 9], [7, 8], [10, 10]])
    packed = samplers.sample_bits(place, 11, ONE, 0, words)
    assert packed.tolist() == [[1, 2], [128, 1], [0, 4]]
    assert samplers.sample_bits(place, 11, 0, ONE, words).tolist() == [
        [254, 5],
        [127, 6],
        [255, 3],
    ]
    assert samplers.sample_bits(np.zeros((0, 1), int), 11, ONE, 0, words).shape == (0, 2)


def test_bits_of_every_position_across_chunks(path):
    n_bits = 1000
    place = (np.arange(20_000) % n_bits)[:, None]
    packed = samplers.sample_bits(place, n_bits, ONE, 0, simulation_words(np.random.default_rng(1)))
    assert np.array_equal(packing.column_sums(packed, n_bits), np.full(n_bits, 20))
    assert np.array_equal(np.flatnonzero(packing.unpack(packed, n_bits)) % n_bits, place[:, 0])


@pytest.mark.parametrize(
    ("positions", "n_bits", "p1", "p0", "name"),
    [
        ([[5]], 5, 1, 1, "positions"),
        ([[-1]], 5, 1, 1, "positions"),
        ([1], 5, 1, 1, "positions"),
        ([[1.5]], 5, 1, 1, "positions"),
        ([[1]], 0, 1, 1, "n_bits"),
        ([[1]], 5, -1, 1, "p1"),
        ([[1]], 5, 1, ONE + 1, "p0"),
        ([[1]], 5, 1, [1, 2], "p0"),
        ([[1]], 2, [ONE, ONE + 1], 1, "p1"),
    ],
)
def test_bits_refuse_bad_arguments(positions, n_bits, p1, p0, name):
    with pytest.raises(InvalidArgument, match=f"^{name}="):
        samplers.sample_bits(positions, n_bits, p1, p0, simulation_words(np.random.default_rng(1)))


@pytest.mark.parametrize(("n", "n_bits"), [(0, 3), (1, 8), (254, 9), (255, 64), (1000, 37)])
def test_column_sums(path, n, n_bits):
    rng = np.random.default_rng(n)
    bits = rng.random((n, n_bits)) < np.linspace(0, 1, n_bits)
    packed = np.packbits(bits, axis=1, bitorder="little")
    assert np.array_equal(packing.unpack(packed, n_bits), bits)
    sums = packing.column_sums(packed, n_bits)
    assert sums.dtype == np.int64
    assert np.array_equal(sums, bits.sum(axis=0))
    assert np.array_equal(packing.column_sums(packed[::2], n_bits), bits[::2].sum(axis=0))


def test_column_sums_kernel_interpreted():
    packed = np.full((600, 2), 255, dtype=np.uint8)  # counters of a byte are emptied in time
    packed[::2, 1] = 5
    spread = np.unpackbits(np.arange(256, dtype=np.uint8), bitorder="little").view(np.uint64)
    total = np.ones(16, dtype=np.int64)
    kernels.add_columns.py_func(packed, spread, total)
    assert total.tolist() == [601] * 8 + [601, 301, 601] + [301] * 5


@pytest.mark.parametrize("packed", [np.zeros((3, 2), np.uint8), np.zeros((3, 1), bool)])
def test_packed_reports_of_another_width_are_refused(packed):
    for function in (packing.column_sums, packing.unpack):
        with pytest.raises(InvalidArgument, match="packed"):
            function(packed, 7)


# --- arbitrary rows -----------------------------------------------------------------------------


def weights(rows):
    """Exact integer weights of each row, by output."""
    return [
        dict(zip(y.tolist(), np.diff(np.array([-1, *upper.tolist()], object)), strict=True))
        for y, upper in zip(rows.outputs, rows.upper, strict=True)
    ]


NASTY = [
    [1 / 3, 1 / 3, 1 / 3],
    [1e-25, 1.0, 0.0],
    [1e-300, 0.5, 0.5],
    [0.0, 0.0, 1.0],
    [1.0, 0.0, 0.0],
    [0.1, 0.2, 0.7],
    [5e-324, 1.0, 5e-324],
    [0.0, 1 - 2**-53, 2**-53],
    [2.0**-64, 2.0**-65, 1 - 2.0**-60],
]


def test_integer_rows_sum_exactly_and_keep_their_support():
    for q, weight in zip(NASTY, weights(samplers.integer_rows(NASTY)), strict=True):
        assert sum(weight.values()) == ONE
        assert set(weight) == {y for y, value in enumerate(q) if value > 0}
        assert min(weight.values()) >= 1
        for y, value in weight.items():  # the largest also carries the rounding of the others
            assert abs(value - Fraction(q[y]) * ONE) <= (1 if q[y] < max(q) else 2**12)


def test_integer_rows_of_long_random_rows():
    Q = np.random.default_rng(4).dirichlet(np.full(300, 0.05), size=40)
    for weight in weights(samplers.integer_rows(Q)):
        assert sum(weight.values()) == ONE


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
    y = samplers.sample_rows(codes, rows, simulation_words(np.random.default_rng(2)))
    observed = np.zeros(Q.shape, dtype=np.int64)
    np.add.at(observed, (codes, y), 1)
    shares = np.bincount(codes)[:, None] / n
    assert pvalue(observed, shares * Q) > LEVEL
    wrong = Q + 0.03 * np.array([[0, 1, 0, -1], [0, 1, -1, 0], [0, 0, 0, 0]])
    assert pvalue(observed, shares * wrong) < LEVEL
    assert samplers.sample_rows([], rows, script()).size == 0


@pytest.mark.parametrize(
    "Q",
    [
        [0.5, 0.5],
        [[]],
        [[0.5, 0.4]],
        [[1.1, -0.1]],
        [[float("nan"), 1.0]],
        [[0.5, 0.5], [0.6, 0.6]],
    ],
)
def test_integer_rows_refuse_what_is_no_channel(Q):
    with pytest.raises(InvalidArgument, match=r"^Q="):
        samplers.integer_rows(Q)


@pytest.mark.parametrize("code", [-1, 2])
def test_rows_refuse_a_code_outside(code):
    with pytest.raises(InvalidArgument, match="codes"):
        samplers.sample_rows([code], samplers.integer_rows(np.eye(2)), script(0))


# --- realised privacy ---------------------------------------------------------------------------


def log(ratio):
    with localcontext() as context:
        context.prec = 80
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def close(value, ratio):
    exact = log(ratio)
    return abs(Decimal(value) - exact) <= Decimal("1e-15") * abs(exact)


EPSILONS = [1e-12, 1e-3, 0.1, 0.69, 0.7, 1.0, 5.0, 30.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [2, 3, 1000, 1_000_003])
def test_realised_epsilon_of_krr(k, epsilon):
    keep = samplers.threshold(np.expm1(epsilon) / (np.exp(epsilon) + k - 1), "down")
    other = Fraction(ONE - keep, ONE * k)
    own = Fraction(keep, ONE) + other
    assert own + (k - 1) * other == 1
    found = realised.realised_epsilon_krr(k, keep)
    assert close(found, own / other)
    # the threshold is within a unit of a float that carries a few roundings
    p = keep / ONE
    assert abs(found - epsilon) < (p * 2**-50 + 2**-64) * k / (1 - p) + 1e-14 * epsilon


@pytest.mark.parametrize(
    ("p1", "p0"), [(P1, P0), (P0, P1), (ONE // 2, 1), (ALL, 1), (3, 2), (ONE // 2 + 1, ONE // 2)]
)
@pytest.mark.parametrize("hashes", [1, 3])
def test_realised_epsilon_of_bits_by_enumeration(p1, p0, hashes):
    """The largest ratio over all reports of two values that set disjoint bits."""
    one = {True: Fraction(p1, ONE), False: Fraction(p0, ONE)}
    ratio = max(
        (one[True] if a else 1 - one[True])
        * (one[False] if b else 1 - one[False])
        / (one[False] if a else 1 - one[False])
        / (one[True] if b else 1 - one[True])
        for a, b in product((0, 1), repeat=2)
    )
    assert close(realised.realised_epsilon_bits(p1, p0, hashes), ratio**hashes)


def test_realised_epsilon_at_the_ends():
    assert realised.realised_epsilon_krr(5, 0) == 0
    assert realised.realised_epsilon_krr(1, ONE // 2) == 0
    assert realised.realised_epsilon_krr(5, ONE) == np.inf
    assert realised.realised_epsilon_bits(P0, P0) == 0
    assert realised.realised_epsilon_bits(0, 0) == realised.realised_epsilon_bits(ONE, ONE) == 0
    for p1, p0 in ((P1, 0), (ONE, P0), (ONE, 0), (0, P0), (P1, ONE)):
        assert realised.realised_epsilon_bits(p1, p0) == np.inf
    assert realised.realised_epsilon_rows(samplers.integer_rows(np.eye(3))) == np.inf
    assert realised.realised_epsilon_rows(samplers.integer_rows([[1.0, 0.0]] * 2)) == 0
    assert realised.realised_epsilon_rows(samplers.integer_rows([NASTY[1]] * 3)) == 0


@pytest.mark.parametrize("seed", range(5))
def test_realised_epsilon_of_rows_by_enumeration(seed):
    Q = np.random.default_rng(seed).dirichlet(np.full(6, 0.5), size=4)
    Q[:, 3] = 0  # never emitted, so it tells nothing
    Q /= Q.sum(axis=1, keepdims=True)
    Q[0, :2] = [1e-19, Q[0, 0] + Q[0, 1]]
    rows = samplers.integer_rows(Q)
    weight = weights(rows)
    ratio = max(Fraction(a[y], b[y]) for a, b in product(weight, repeat=2) for y in (0, 1, 2, 4, 5))
    assert close(realised.realised_epsilon_rows(rows), ratio)


@pytest.mark.parametrize(
    "call",
    [
        lambda: realised.realised_epsilon_krr(0, 1),
        lambda: realised.realised_epsilon_krr(2, -1),
        lambda: realised.realised_epsilon_bits(ONE + 1, 1),
        lambda: realised.realised_epsilon_bits(1, -1),
        lambda: realised.realised_epsilon_bits(2, 1, 0),
    ],
)
def test_realised_epsilon_refuses_bad_arguments(call):
    with pytest.raises(InvalidArgument):
        call()


# --- cost ---------------------------------------------------------------------------------------


def test_short_arrays_do_not_import_numba():
    program = """
import sys, numpy as np
from ldpstats.sampling import words as randomness
from ldpstats.sampling import packing, realised, samplers
for words in (randomness.system_words(), randomness.simulation_words(np.random.default_rng(1))):
    for n in (1, 5000):
        zeros = np.zeros(n, dtype=np.int64)
        samplers.sample_krr(zeros, 9, 2**63, words)
        packed = samplers.sample_bits(zeros[:, None], 1024, 2**63, 2**60 + 1, words)
        packing.column_sums(packed, 1024)
        samplers.sample_rows(zeros, samplers.integer_rows(np.eye(3)), words)
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_memory_is_the_output_and_small_buffers():
    n = 1 << 20
    codes, words = np.zeros(n, dtype=np.int64), simulation_words(np.random.default_rng(1))
    place = codes[: n // 8, None]
    for sample, size in (
        (lambda: samplers.sample_krr(codes, 1000, 2**60, words), 8 * n),
        (lambda: samplers.sample_bits(place, 1024, 2**63, 2**62 + 1, words), 16 * n),
    ):
        sample()  # compiles
        tracemalloc.start()
        assert sample().nbytes == size
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < size + (8 << 20)
