"""Sources of random words: generators, the stream in compiled code, the operating system."""

from __future__ import annotations

import numpy as np
import pytest

from ldpstats.errors import InvalidArgument
from ldpstats.kernels import words as kernels
from ldpstats.sampling import samplers


@pytest.mark.parametrize("rng", [7, None, np.random.RandomState(1), np.random.PCG64(1)])
def test_simulation_refuses_what_is_not_a_generator(rng):
    remedy = r"default_rng\(7\)" if rng == 7 else r"default_rng\(seed\)"
    with pytest.raises(InvalidArgument, match=remedy):
        samplers.simulation_words(rng)


def test_short_requests_are_those_of_the_generator():
    words = samplers.simulation_words(np.random.default_rng(5))
    expected = np.random.default_rng(5).integers(0, 2**64, dtype=np.uint64, size=10)
    assert np.array_equal(words(10), expected)
    assert words(0).size == 0


def test_long_requests_are_numpys_sfc64():
    rng = np.random.default_rng(5)
    words = samplers.simulation_words(rng)
    drawn = np.concatenate([words(samplers.BULK), words(3 * samplers.BULK)])
    key = np.random.default_rng(5).integers(0, 2**64, dtype=np.uint64, size=(3, kernels.LANES))
    for lane in (0, 1, kernels.LANES - 1):
        reference = np.random.SFC64()
        state = reference.state
        state["state"]["state"] = np.append(key[:, lane], np.uint64(1))
        reference.state = state
        expected = reference.random_raw(4 * samplers.BULK // kernels.LANES)
        assert np.array_equal(drawn[lane :: kernels.LANES], expected)


@pytest.mark.parametrize("sizes", [(1, 5), (samplers.BULK, 100, 2 * samplers.BULK, 1)])
def test_simulation_is_reproducible_and_never_repeats_itself(sizes):
    first, again = (samplers.simulation_words(np.random.default_rng(3)) for _ in range(2))
    drawn = np.concatenate([first(n) for n in sizes])
    assert np.array_equal(drawn, np.concatenate([again(n) for n in sizes]))
    assert np.unique(drawn).size == drawn.size  # a coincidence has probability below 1e-9


def test_system_words_are_different_each_time():
    words = samplers.system_words()
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
        samplers.system_words(entropy)(2)
    assert "2a" not in str(caught.value).split(": ", 1)[1]
    assert "***" not in str(caught.value)
