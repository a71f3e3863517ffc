"""What a sample costs: imports and memory."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np

from ldpstats.sampling import samplers


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
