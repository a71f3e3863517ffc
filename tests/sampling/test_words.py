"""Sources of random words: generators, the stream in compiled code, the operating system."""

import subprocess
import sys
import tracemalloc

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


# What a sample costs: imports and memory.


def test_short_arrays_do_not_import_numba():
    program = """
import sys, numpy as np
from ldpstats.sampling import samplers as randomness
from ldpstats.reports.layout import BitFormat
from ldpstats.sampling import samplers
for words in (randomness.system_words(), randomness.simulation_words(np.random.default_rng(1))):
    for n in (1, 5000):
        zeros = np.zeros(n, dtype=np.int64)
        samplers.sample_krr(zeros, 9, 2**63, words)
        packed = samplers.sample_bits(zeros[:, None], 1024, 2**63, 2**60 + 1, words)
        BitFormat(1024).sum_bits(packed)
        samplers.sample_rows(zeros, samplers.integer_rows(np.eye(3)), words)
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_memory_is_the_output_and_small_buffers(path):
    n = 1 << 20
    codes, words = np.zeros(n, dtype=np.int64), samplers.simulation_words(np.random.default_rng(1))
    place = codes[: n // 8, None]
    for sample, size in (
        (lambda: samplers.sample_krr(codes, 1000, 2**60, words), 8 * n),
        (lambda: samplers.sample_bits(place, 1024, 2**63, 2**62 + 1, words), 16 * n),
    ):
        sample()  # where it does, loads numba and compiles
        tracemalloc.start()
        assert sample().nbytes == size
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < size + (8 << 20)


def test_loops_are_loaded_once_numpy_has_spent_as_long():
    # time counts, not what somebody's machine once took for a word
    program = """
import sys, time, numpy as np, ldpstats as ldp
from ldpstats import kernels
kernels.LOADING = 0.2
krr, rng, codes = ldp.KRR(1024, 1.0), np.random.default_rng(1), np.zeros(1_000_000, dtype=np.int64)
spent, seconds = 0.0, 0.0
while "numba" not in sys.modules:
    spent += seconds
    assert spent < 0.6  # seconds of whole calls: more than the draws of words that count
    start = time.thread_time()
    krr.privatize(codes, rng)
    seconds = time.thread_time() - start
assert spent > 0.1
"""
    subprocess.run([sys.executable, "-c", program], check=True)
