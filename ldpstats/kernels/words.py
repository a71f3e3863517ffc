"""Compiled kernels: the few loops that numpy cannot run at the speed of memory.

Importing this module imports numba, so it is imported only where that is repaid (`repaid`), and
each kernel has a plain numpy twin where it is called. Arrays are filled by loops: an assignment
of arrays compiles what would word the error of unequal shapes, which takes a second and a half.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

LANES = 64  # as in `sampling.samplers`, which is above this floor
STEPS = 4  # of a stream for each load and store of its state

BLOCK = 512
"""Users, or words, handled at a time: whole rows, and what they touch fits the nearest cache."""

U64 = npt.NDArray[np.uint64]
F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F, **how: Any) -> F:
    """Compile `function`, keeping the machine code on disk where there is a place for it.

    With ``nogil=True`` other threads run meanwhile: only for what shares no array with them.
    """
    try:
        return cast(F, numba.njit(cache=True, **how)(function))
    except RuntimeError:  # neither the package's directory nor the user's cache can be written
        return cast(F, numba.njit(**how)(function))


@compiled
def sfc64(a: Any, b: Any, c: Any, count: Any) -> Any:
    """Return the next word of an SFC64 generator (Doty-Humphrey), then its next a, b, c."""
    word = a + b + count
    rotated = (c << np.uint64(24)) | (c >> np.uint64(40))
    return word, b ^ (b >> np.uint64(11)), c + (c << np.uint64(3)), rotated + word


@compiled
def sfc64_rows(a: U64, b: U64, c: U64, count: np.uint64, out: U64) -> None:
    """Fill the `STEPS` rows of `out` with the next words of streams a, b, c; see `sfc64_lanes`."""
    first, second, third, fourth = out[0], out[1], out[2], out[3]
    for j in range(a.shape[0]):
        first[j], x, y, z = sfc64(a[j], b[j], c[j], count)
        second[j], x, y, z = sfc64(x, y, z, count + np.uint64(1))
        third[j], x, y, z = sfc64(x, y, z, count + np.uint64(2))
        fourth[j], a[j], b[j], c[j] = sfc64(x, y, z, count + np.uint64(3))


@compiled
def copied(source: Any, to: Any) -> None:
    """Copy an array, (n,), by a loop: see the head of this file."""
    for j in range(source.shape[0]):
        to[j] = source[j]


@compiled
def _put(a: U64, b: U64, c: U64, state: U64) -> None:
    copied(a, state[0])
    copied(b, state[1])
    copied(c, state[2])


@compiled
def sfc64_lanes(state: U64, count: np.uint64, out: U64) -> None:
    """Fill out[:, j] with the next words of stream j."""
    a, b, c = state[0].copy(), state[1].copy(), state[2].copy()  # known not to overlap
    for i in range(0, out.shape[0], STEPS):
        sfc64_rows(a, b, c, count + np.uint64(i), out[i : i + STEPS])
    _put(a, b, c, state)


@compiled
def _rows(n: Any) -> Any:
    """Return the number of rows, a multiple of `STEPS`, that hold n words."""
    return STEPS * -(-n // (STEPS * LANES))


class CompiledStreams:
    """`sampling.samplers.Streams` by compiled loops.

    Parameters
    ----------
    state : (3, LANES) uint64
        The a, b, c of each stream.
    drawn : int
        Rows of words that were drawn before.
    """

    def __init__(self, state: U64, drawn: int = 0) -> None:
        self._state, self._drawn = state.copy(), drawn
        self._memory = _aligned(0)
        self._last: weakref.ref[U64] | None = None

    def __call__(self, n: int) -> U64:
        """Return n words, shape (n,); what is left of the last rows is dropped."""
        rows = _rows(n)
        # Fresh memory costs more than the words in it. So the same memory is filled again, but
        # only once the last array, and with it every view of it, is gone.
        in_use = self._last is not None and self._last() is not None
        if self._memory.size < 8 * LANES * rows or in_use:
            self._memory = _aligned(8 * LANES * rows)
        out = np.frombuffer(self._memory.data, dtype=np.uint64, count=LANES * rows)
        self._last = weakref.ref(out)
        sfc64_lanes(self._state, self._next(rows), out.reshape(rows, LANES))
        return out[:n]

    def krr(
        self, codes: U64, k: np.uint64, keep_high: np.uint64, spare: np.uint64, out: U64
    ) -> tuple[npt.NDArray[np.int64], U64]:
        """Do `krr` with the next words."""
        count = self._next(_rows(codes.size))
        pending, words = krr(self._state, count, codes, k, keep_high, spare, out)
        return pending, words

    def coins(self, flips: U64, size: int) -> U64:
        """Do `coins` with the next words, and return `size` words of lanes."""
        out = np.empty(size, dtype=np.uint64)
        self._drawn += int(coins(self._state, np.uint64(self._drawn + 1), flips, out))
        return out

    def _next(self, rows: int) -> np.uint64:
        self._drawn += rows
        return np.uint64(self._drawn - rows + 1)


def _aligned(n_bytes: int) -> npt.NDArray[np.uint8]:
    """Return fresh memory that starts at a cache line, so that no vector store crosses one."""
    memory = np.empty(n_bytes + 63, dtype=np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + n_bytes]


@compiled
def krr_block(
    codes: U64, words: U64, k: np.uint64, keep_high: np.uint64, spare: np.uint64, out: U64
) -> bool:
    """Answer k-RR for a few users; return whether one of them may be pending.

    The loop has no branch, so that it runs on vectors. See `krr` for the arguments.
    """
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    flag = False
    for i in range(codes.shape[0]):
        code, high = codes[i], words[i] >> half
        product = (words[i] & low) * k
        out[i] = code if high < keep_high else product >> half
        flag |= (high == keep_high) | ((product & low) < spare) | (code >= k)
    return flag


@compiled
def krr_is_pending(
    code: np.uint64, word: np.uint64, k: np.uint64, keep_high: np.uint64, spare: np.uint64
) -> bool:
    """Return whether a tie, Lemire's rejection or a code out of range leaves a user pending."""
    low, high = np.uint64(0xFFFFFFFF), word >> np.uint64(32)
    rejected = (high > keep_high) & (((word & low) * k & low) < spare)
    return bool((high == keep_high) | rejected | (code >= k))


@compiled
def krr(
    state: U64,
    count: np.uint64,
    codes: U64,
    k: np.uint64,
    keep_high: np.uint64,
    spare: np.uint64,
    out: U64,
) -> tuple[npt.NDArray[np.int64], U64]:
    """Answer k-RR with the words that `sfc64_lanes` gives; see `samplers.sample_krr`.

    The words are used as they are made, so that none of them leaves the nearest cache.
    """
    a, b, c = state[0].copy(), state[1].copy(), state[2].copy()
    rows = np.empty((BLOCK // LANES, LANES), dtype=np.uint64)
    words = rows.reshape(BLOCK)
    pending = np.empty(codes.shape[0], dtype=np.int64)
    drawn = np.empty(codes.shape[0], dtype=np.uint64)
    found = 0
    for start in range(0, codes.shape[0], BLOCK):
        block = codes[start : start + BLOCK]
        for i in range(0, _rows(block.shape[0]), STEPS):
            sfc64_rows(a, b, c, count, rows[i : i + STEPS])
            count += np.uint64(STEPS)
        random = words[: block.shape[0]]
        if krr_block(block, random, k, keep_high, spare, out[start : start + BLOCK]):
            for i in range(block.shape[0]):
                if krr_is_pending(block[i], random[i], k, keep_high, spare):
                    pending[found], drawn[found] = start + i, random[i]
                    found += 1
    _put(a, b, c, state)
    return pending[:found].copy(), drawn[:found].copy()


@compiled
def coins(state: U64, count: np.uint64, flips: U64, out: U64) -> Any:
    """Compare random words with the digits of a threshold; see `samplers.sample_bits`.

    A row of words takes digits, with the words that `sfc64_lanes` gives, until none of its lanes
    is tied or the digits end.
    """
    a, b, c = state[0].copy(), state[1].copy(), state[2].copy()
    result, tied = np.empty(LANES, dtype=np.uint64), np.empty(LANES, dtype=np.uint64)
    zero, rows = np.uint64(0), 0
    for start in range(0, out.shape[0], LANES):
        result[:], tied[:], left = zero, ~zero, ~zero
        digit = 0
        while digit < flips.shape[0] - 1 and left != zero:
            now, left = count + np.uint64(rows), zero
            flip = flips[digit], flips[digit + 1], flips[digit + 2], flips[digit + 3]
            for j in range(LANES):
                first, x, y, z = sfc64(a[j], b[j], c[j], now)
                second, x, y, z = sfc64(x, y, z, now + np.uint64(1))
                third, x, y, z = sfc64(x, y, z, now + np.uint64(2))
                fourth, a[j], b[j], c[j] = sfc64(x, y, z, now + np.uint64(3))
                value, still = result[j] ^ (tied[j] & flip[0]), tied[j] & first
                value, still = value ^ (still & flip[1]), still & second
                value, still = value ^ (still & flip[2]), still & third
                value, still = value ^ (still & flip[3]), still & fourth
                result[j], tied[j] = value, still
                left |= still
            digit += STEPS
            rows += STEPS
        row = out[start : start + LANES]
        for j in range(row.shape[0]):
            row[j] = result[j] ^ (tied[j] & flips[-1])
    _put(a, b, c, state)
    return rows
