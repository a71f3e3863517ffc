"""Samples of bits: coins by enumeration, laws by chi-square with a wrong law as control."""

import numpy as np
import pytest
from scipy import stats
from shared.crafted_words import ALL, LEVEL, ONE, pvalue, script, stream_key

from ldpstats.errors import InvalidArgument
from ldpstats.kernels import words as kernels
from ldpstats.reports.layout import BitFormat, CellSums
from ldpstats.sampling import samplers


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
@pytest.mark.parametrize("source", [samplers.Streams, kernels.CompiledStreams])
def test_coins_take_digits_until_none_of_a_row_is_tied(limit, size, source):
    digits = [int(digit) for digit in f"{limit:064b}".rstrip("0")]
    digits += [0] * (-len(digits) % kernels.STEPS)
    streams, twin = source(stream_key(3)), samplers.Streams(stream_key(3))
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
    words = samplers.simulation_words(np.random.default_rng(12))
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
    words = samplers.simulation_words(np.random.default_rng(13))
    place = np.arange(n)[:, None] % n_bits
    bits = BitFormat(n_bits).unpack(samplers.sample_bits(place, n_bits, P1, P0, words))
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
    words = samplers.simulation_words(np.random.default_rng(1))
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
    packed = samplers.sample_bits(
        place, n_bits, ONE, 0, samplers.simulation_words(np.random.default_rng(1))
    )
    assert np.array_equal(BitFormat(n_bits).sum_bits(packed)[0], np.full(n_bits, 20))
    assert np.array_equal(np.flatnonzero(BitFormat(n_bits).unpack(packed)) % n_bits, place[:, 0])


def test_bits_refuse_a_position_outside():
    with pytest.raises(InvalidArgument, match=r"^positions="):
        samplers.sample_bits([[5]], 5, 1, 1, samplers.simulation_words(np.random.default_rng(1)))


@pytest.mark.parametrize(("n", "n_bits"), [(0, 3), (1, 8), (254, 9), (255, 64), (1000, 37)])
def test_column_sums(path, n, n_bits):
    rng = np.random.default_rng(n)
    bits = rng.random((n, n_bits)) < np.linspace(0, 1, n_bits)
    packed = np.packbits(bits, axis=1, bitorder="little")
    assert np.array_equal(BitFormat(n_bits).unpack(packed), bits)
    sums = BitFormat(n_bits).sum_bits(packed)[0]
    assert sums.dtype == np.int64
    assert np.array_equal(sums, bits.sum(axis=0))
    assert np.array_equal(BitFormat(n_bits).sum_bits(packed[::2])[0], bits[::2].sum(axis=0))


def test_cell_sums_in_parts(path):
    """Parts of any size add up, also where the compiled sums begin after some."""
    rng = np.random.default_rng(5)
    packed, cell = rng.integers(0, 256, (90_000, 9), dtype=np.uint8), rng.integers(0, 3, 90_000)
    packed[:, -1] &= 15
    running = CellSums(68, 3)
    for part in np.split(np.arange(90_000), [0, 1, 300, 20_000]):
        running.add(packed[part], cell[part])
    assert np.array_equal(running.reports(), np.bincount(cell))
    assert np.array_equal(running.total(), BitFormat(68).sum_bits(packed, None, cell, 3))
    assert np.array_equal(running.total([2, 0]), running.total()[[2, 0]])
    bits = BitFormat(68).unpack(packed)
    assert np.array_equal(running.total(), [bits[cell == c].sum(axis=0) for c in range(3)])
