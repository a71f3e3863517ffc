"""Compiled kernels: the few loops that numpy cannot run at the speed of memory.

Importing this module imports numba, which takes about half a second, so it is imported only where
an array is long enough to pay for that. Each kernel has a plain numpy twin where it is called.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["LANES", "add_columns", "compare", "krr_pass", "sfc64", "sfc64_lanes", "sfc64_words"]

LANES = 64
"""Number of interleaved streams: enough to fill vector registers, few enough to key cheaply."""

STEPS = 4
"""Steps of a stream for each load and store of its state."""

U64 = npt.NDArray[np.uint64]
F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile `function`, keeping the machine code on disk where there is a place for it."""
    try:
        return cast(F, numba.njit(cache=True)(function))
    except RuntimeError:  # neither the package's directory nor the user's cache can be written
        return cast(F, numba.njit(function))


@compiled
def sfc64(a: Any, b: Any, c: Any, count: Any) -> Any:
    """Return the next word of an SFC64 generator (Doty-Humphrey), then its next a, b, c."""
    word = a + b + count
    rotated = (c << np.uint64(24)) | (c >> np.uint64(40))
    return word, b ^ (b >> np.uint64(11)), c + (c << np.uint64(3)), rotated + word


@compiled
def sfc64_lanes(state: U64, count: np.uint64, out: U64) -> None:
    """Fill out[:, j] with the next words of stream j.

    Parameters
    ----------
    state : (3, LANES) uint64
        The a, b, c of each stream, updated in place.
    count : uint64
        The counter that all streams share, one more than the number of rows drawn before.
    out : (rows, LANES) uint64
        Filled in place; rows is a multiple of `STEPS`.
    """
    a, b, c = state[0].copy(), state[1].copy(), state[2].copy()
    for i in range(0, out.shape[0], STEPS):
        first, second, third, fourth = out[i], out[i + 1], out[i + 2], out[i + 3]
        now = count + np.uint64(i)
        for j in range(a.shape[0]):
            first[j], x, y, z = sfc64(a[j], b[j], c[j], now)
            second[j], x, y, z = sfc64(x, y, z, now + np.uint64(1))
            third[j], x, y, z = sfc64(x, y, z, now + np.uint64(2))
            fourth[j], a[j], b[j], c[j] = sfc64(x, y, z, now + np.uint64(3))
    state[0], state[1], state[2] = a, b, c


def sfc64_words(key: U64) -> Callable[[int], U64]:
    """Return a source of words that interleaves the streams started at `key`.

    For a given counter the step is a bijection of (a, b, c), so that a uniform key makes the
    state uniform at every step: no first words need to be discarded.

    Parameters
    ----------
    key : (3, LANES) uint64
        Initial a, b, c of each stream; the counter starts at 1, as in numpy.

    Returns
    -------
    Words
        Function of n that returns n words, shape (n,); what is left of the last rows is dropped.
    """
    state, drawn = key.copy(), 0
    memory = _aligned(0)
    last: weakref.ref[U64] | None = None

    def words(n: int) -> U64:
        nonlocal drawn, memory, last
        rows = STEPS * -(-n // (STEPS * LANES))
        # Fresh memory costs more than the words in it. So the same memory is filled again, but
        # only once the last array, and with it every view of it, is gone.
        in_use = last is not None and last() is not None
        if memory.size < 8 * LANES * rows or in_use:
            memory = _aligned(8 * LANES * rows)
        out = np.frombuffer(memory.data, dtype=np.uint64, count=LANES * rows)
        last = weakref.ref(out)
        sfc64_lanes(state, np.uint64(drawn + 1), out.reshape(rows, LANES))
        drawn += rows
        return out[:n]

    return words


def _aligned(n_bytes: int) -> npt.NDArray[np.uint8]:
    """Return fresh memory that starts at a cache line, so that no vector store crosses one."""
    memory = np.empty(n_bytes + 63, dtype=np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + n_bytes]


@compiled
def krr_pass(
    codes: U64, words: U64, k: np.uint64, keep_high: np.uint64, spare: np.uint64, out: U64
) -> npt.NDArray[np.int64]:
    """Answer k-RR for one chunk and return the pending positions; see `samplers.sample_krr`.

    The inner loop has no branch, so that it runs on vectors; it only notes whether its block of
    users holds a pending one, in which case a second loop lists them.

    Parameters
    ----------
    codes, words, out : (n,) uint64
        True codes, one random word a user, and the reports (filled in place).
    k, keep_high, spare : uint64
        Number of categories, high half of the threshold, and 2**32 mod k.

    Returns
    -------
    (m,) int64
        Increasing positions of the users whom their one word does not settle.
    """
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    n = codes.shape[0]
    pending = np.empty(n, dtype=np.int64)
    found = 0
    for start in range(0, n, 512):
        block, random, report = (
            codes[start : start + 512],
            words[start : start + 512],
            out[start : start + 512],
        )
        flag = np.uint64(0)
        for i in range(block.shape[0]):
            code, high = block[i], random[i] >> half
            product = (random[i] & low) * k
            report[i] = code if high < keep_high else product >> half
            rejected = (high > keep_high) & ((product & low) < spare)
            flag |= np.uint64((high == keep_high) | rejected | (code >= k))
        if flag:
            for i in range(block.shape[0]):
                code, high = block[i], random[i] >> half
                rejected = (high > keep_high) & (((random[i] & low) * k & low) < spare)
                if (high == keep_high) | rejected | (code >= k):
                    pending[found] = start + i
                    found += 1
    return pending[:found]


@compiled
def compare(random: U64, flips: U64, result: U64, tied: U64) -> None:
    """Compare random words with the digits of a threshold; see `samplers.sample_bits`.

    Parameters
    ----------
    random : (r, n) uint64
        One random word for each of r digits and n words of lanes.
    flips : (r + 1,) uint64
        All ones where the threshold's digit differs from the one before it, else zero; before the
        first and after the last digit come zeros.
    result, tied : (n,) uint64
        Updated in place: the lanes' bits, and the lanes whose digits all agreed with the
        threshold's; at the start no lane is 1 and every lane is tied.
    """
    for start in range(0, result.shape[0], 512):  # stays in the first-level cache for all digits
        value, still = result[start : start + 512], tied[start : start + 512]
        for digit in range(random.shape[0]):
            word, flip = random[digit, start : start + 512], flips[digit]
            for i in range(value.shape[0]):
                value[i] ^= still[i] & flip
                still[i] &= word[i]
        for i in range(value.shape[0]):
            value[i] ^= still[i] & flips[-1]


@compiled
def add_columns(packed: npt.NDArray[np.uint8], spread: U64, total: npt.NDArray[np.int64]) -> None:
    """Add the bits of each column of `packed` to `total`.

    Parameters
    ----------
    packed : (n, n_bytes) uint8
        Bits, least significant first within a byte.
    spread : (256,) uint64
        spread[b] holds the eight bits of byte b in its eight bytes, so that one addition advances
        eight counters. A counter of one byte is emptied after 255 rows, before it overflows.
    total : (8 n_bytes,) int64
        Added to in place.
    """
    counters = np.empty(packed.shape[1], dtype=np.uint64)
    for start in range(0, packed.shape[0], 255):
        counters[:] = 0
        for row in packed[start : start + 255]:
            for j in range(row.shape[0]):
                counters[j] += spread[row[j]]
        total += counters.view(np.uint8)
