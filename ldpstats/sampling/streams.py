"""The interleaved streams of a simulation in numpy: those of `kernels.words`, word for word."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.kernels import in_numpy

__all__ = ["ALL", "LANES", "STEPS", "Streams", "krr"]

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

LANES = 64
"""Number of interleaved streams: enough to fill vector registers, few enough to key cheaply."""

STEPS = 4
"""Rows of words, one word a stream, that are taken together."""

ALL = np.uint64((1 << 64) - 1)

_PAD = 8  # entries, so that rows of a power of two do not compete for the same cache lines
_BLOCK = 1 << 10  # groups of rows from which coins are tossed at a time


class _NoSeed(np.random.SeedSequence):
    """Zeros: the streams get their states afterwards, and a real seed takes longer to hash."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> npt.NDArray[Any]:
        return np.zeros(n_words, dtype=dtype)


_NO_SEED = _NoSeed(0)


class Streams:
    """A source of words that interleaves the streams started at a key, each numpy's own SFC64.

    For a given counter the step is a bijection of (a, b, c), so that a uniform key makes the
    state uniform at every step: no first words need to be discarded. `CompiledStreams` of
    `kernels.words` gives the same words.

    Parameters
    ----------
    key : (3, LANES) uint64
        Initial a, b, c of each stream; the counter starts at 1, as in numpy.
    """

    def __init__(self, key: U64) -> None:
        self._lanes, self._drawn = [np.random.SFC64(_NO_SEED) for _ in range(LANES)], 0
        self._move(np.vstack([key, np.ones(LANES, dtype=np.uint64)]), 0)

    @property
    def position(self) -> tuple[U64, int]:
        """The state, (3, LANES), and the number of rows drawn: where another may go on."""
        return self._state()[:3], self._drawn

    def _state(self) -> U64:
        """a, b, c and the counter of each stream, shape (4, LANES)."""
        states: list[Any] = [lane.state for lane in self._lanes]
        return np.column_stack([whole["state"]["state"] for whole in states])

    def _move(self, state: U64, drawn: int) -> None:
        """Go on from a state, (4, LANES), after `drawn` rows."""
        whole: Any = self._lanes[0].state
        for lane, own in zip(self._lanes, state.T, strict=True):
            whole["state"]["state"] = own
            lane.state = whole
        self._drawn = drawn

    @in_numpy("words")
    def __call__(self, n: int) -> U64:
        """Return n words, shape (n,); what is left of the last rows is dropped."""
        return self._words(n)

    @in_numpy("words")
    def krr(
        self, codes: U64, k: np.uint64, keep_high: np.uint64, spare: np.uint64, out: U64
    ) -> tuple[I64, U64]:
        """Do `krr` with the next words."""
        return krr(codes, self._words(codes.size), k, keep_high, spare, out)

    @in_numpy("words")
    def coins(self, flips: U64, size: int) -> U64:
        """`size` words of coins, by `kernels.words.coins`; see there for `flips`.

        A row of coins takes digits until none of its lanes is tied. Words are drawn in blocks, and
        what was not needed is drawn again with the next.
        """
        most = (flips.size - 1) // STEPS
        blocks: list[U64] = []
        left = -(-size // LANES)
        while left:
            state, drawn = self._state(), self._drawn
            rows = self._rows(STEPS * most * min(left, max(_BLOCK // most, 1)))
            groups = rows.reshape(-1, STEPS, LANES)
            starts, taken = _turns(groups, most, left)
            blocks.append(_tossed(groups, starts, taken, flips))
            left -= starts.size
            used = STEPS * int(starts[-1] + taken[-1])
            if used < len(rows):
                self._move(state, drawn)
                for lane in self._lanes:
                    lane.random_raw(used, output=False)
                self._drawn += used
        return np.concatenate(blocks).reshape(-1)[:size]

    def _words(self, n: int) -> U64:
        return self._rows(STEPS * -(-n // (STEPS * LANES))).reshape(-1)[:n]

    def _rows(self, rows: int) -> U64:
        """The next rows of words, shape (rows, LANES)."""
        out = np.empty((LANES, rows + _PAD), dtype=np.uint64)
        for lane, own in zip(self._lanes, out, strict=True):
            own[:rows] = lane.random_raw(rows)
        self._drawn += rows
        return np.ascontiguousarray(out[:, :rows].T)


def _turns(groups: U64, most: int, left: int) -> tuple[I64, I64]:
    """Where the rows of coins start, and how many groups of words each takes.

    A row takes groups until each bit of each of its lanes has seen a zero, but at most `most`; of
    the rows that the words suffice for, `left` at most. What each would take is found for every
    start at once.
    """
    together = np.bitwise_and.reduce(groups, axis=1)
    need, tied = np.ones(len(groups), dtype=np.int64), together.copy()
    at = np.flatnonzero(tied.any(axis=1))
    for done in range(1, most):
        need[at] = done + 1
        at = at[at + done < len(groups)]
        tied[at] &= together[at + done]
        at = at[tied[at].any(axis=1)]
        if not at.size:
            break
    starts: list[int] = []
    start, taken = 0, need.tolist()
    while len(starts) < left and start < len(taken) and start + taken[start] <= len(taken):
        starts.append(start)
        start += taken[start]
    first = np.array(starts, dtype=np.int64)
    return first, need[first]


def _tossed(groups: U64, starts: I64, taken: I64, flips: U64) -> U64:
    """The rows of coins, shape (R, LANES), that start at these groups of words."""
    result = np.zeros((starts.size, LANES), dtype=np.uint64)
    tied = np.full_like(result, ALL)
    going = np.arange(starts.size)
    for group in range(int(taken.max(initial=0))):
        going = going[taken[going] > group]
        value, still = result[going], tied[going]
        random = groups[starts[going] + group]
        for step in range(STEPS):
            value ^= still & flips[STEPS * group + step]
            still &= random[:, step]
        result[going], tied[going] = value, still
    return np.asarray(result ^ (tied & flips[-1]))


def krr(
    codes: U64, words: U64, k: np.uint64, keep_high: np.uint64, spare: np.uint64, out: U64
) -> tuple[I64, U64]:
    """Twin of `kernels.words.krr` for given words."""
    low, half = np.uint64((1 << 32) - 1), np.uint64(32)
    high = words >> half
    np.bitwise_and(words, low, out=out)
    out *= k  # of which the high half is the uniform draw
    refused = high == keep_high
    if spare:
        refused |= ((out & low) < spare) & (high > keep_high)
    refused |= codes >= k
    out >>= half
    np.copyto(out, codes, where=high < keep_high)
    pending = np.flatnonzero(refused)
    return pending, words[pending]
