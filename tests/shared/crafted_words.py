"""Crafted random words, and the chi-square test of what samplers make of them."""

import numpy as np
from scipy import stats

from ldpstats.kernels import words as kernels

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


def stream_key(seed):
    return np.random.default_rng(seed).integers(0, 2**64, size=(3, kernels.LANES), dtype=np.uint64)


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
