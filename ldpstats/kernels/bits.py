"""Compiled products with packed bits; imported only where a solver needs them, because of numba.

Where many bits are set, a byte of eight bits indexes a table of the 256 possible partial sums, so
that a product costs one look-up per byte. Where few are, products run along lists of the set bits.
The plain numpy twins are `UnaryRows.mix` and `UnaryRows.adjoint`; of sums, `reports.layout`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.kernels.words import compiled

Array = npt.NDArray[Any]

# Rows of a table are a little longer than 256 entries: at a stride of a power of two the entries
# of the frequent byte 0 would all compete for the same cache lines (five times slower).
_STRIDE = 260
_TOGETHER = 32  # reports, in four groups of eight, that share a pass over the sums
_CHUNK = 4096  # reports whose bits are listed at a time

_BITS = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(np.float64)  # bit j of byte c

# A word with only bit j set, times this, has in its six leading bits a number of its own: a de
# Bruijn sequence. _PLACE gives back j.
_SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
_PLACE = np.empty(64, dtype=np.int64)
_PLACE[((np.uint64(1) << np.arange(64, dtype=np.uint64)) * _SEQUENCE) >> np.uint64(58)] = range(64)


def bit_mix(packed: npt.NDArray[np.uint8], x: Array) -> Array:
    """Y x for the bits Y, shape (u, k), of packed reports; bytes where x is zero are not read."""
    padded = np.zeros((packed.shape[1], 8))
    padded.reshape(-1)[: x.size] = x
    used = np.flatnonzero(padded.any(axis=1))
    table = np.empty((used.size, _STRIDE))
    table[:, :256] = padded[used] @ _BITS.T
    return _gather(packed, used.astype(np.uint32), table)


def bit_sums(packed: npt.NDArray[np.uint8], v: Array, k: int) -> Array:
    """Y' v for the bits Y, shape (u, k), of packed reports."""
    v = np.asarray(v, dtype=np.float64)
    whole = len(packed) - len(packed) % _TOGETHER
    out = v[whole:] @ np.unpackbits(packed[whole:], axis=1, bitorder="little")
    _add_sums(packed[:whole], v[:whole], out)
    return out[:k]


def listed(packed: npt.NDArray[np.uint8]) -> tuple[Array, Array] | None:
    """The set bits of each report, where a list of them takes no more memory than the bits."""
    counts = np.zeros(len(packed) + 1, dtype=np.int64)
    for part, words in _words(packed):
        counts[1:][part] = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    starts = np.cumsum(counts)
    kind = np.dtype(np.uint16 if packed.shape[1] <= 1 << 13 else np.uint32)
    if starts[-1] * kind.itemsize > packed.size:
        return None
    at = np.empty(starts[-1], dtype=kind)
    for part, words in _words(packed):
        _list_bits(words, at[starts[part.start] : starts[part.stop]])
    return starts, at


def _words(packed: npt.NDArray[np.uint8]) -> Iterator[tuple[slice, Array]]:
    """Reports in whole 64-bit words, some at a time."""
    for start in range(0, len(packed), _CHUNK):
        part = slice(start, min(start + _CHUNK, len(packed)))
        padded = np.pad(packed[part], ((0, 0), (0, -packed.shape[1] % 8)))
        yield part, padded.view("<u8")


def list_gram(starts: Array, at: Array, v: Array, k: int) -> Array:
    """Y' diag(v) Y, shape (k, k), for the bits Y that `listed` gives."""
    upper = np.zeros((k, k))
    _scatter_pairs(starts, at, np.asarray(v, dtype=np.float64), upper)
    return upper + np.triu(upper, 1).T


@compiled
def _gather(packed: Any, used: Any, table: Any) -> Array:
    out = np.empty(packed.shape[0])
    n = used.shape[0]
    whole = n - n % 4
    for i in range(packed.shape[0]):
        row = packed[i]
        a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0  # four sums: an addition need not wait for the last
        for b in range(0, whole, 4):
            a0 += table[b, row[used[b]]]
            a1 += table[b + 1, row[used[b + 1]]]
            a2 += table[b + 2, row[used[b + 2]]]
            a3 += table[b + 3, row[used[b + 3]]]
        for b in range(whole, n):
            a0 += table[b, row[used[b]]]
        out[i] = (a0 + a1) + (a2 + a3)
    return out


@compiled
def transpose(rows: Any, columns: Any) -> None:
    """Fill byte j of columns[b] with bit j of byte b of eight reports, one bit for each report.

    Blocks of 1, 2, then 4 bits of the 8 x 8 that are off the diagonal change places.
    """
    for b in range(columns.shape[0]):
        x = np.uint64(0)
        for r in range(8):
            x |= np.uint64(rows[r, b]) << np.uint64(8 * r)
        t = (x ^ (x >> np.uint64(7))) & np.uint64(0x00AA00AA00AA00AA)
        x ^= t ^ (t << np.uint64(7))
        t = (x ^ (x >> np.uint64(14))) & np.uint64(0x0000CCCC0000CCCC)
        x ^= t ^ (t << np.uint64(14))
        t = (x ^ (x >> np.uint64(28))) & np.uint64(0x00000000F0F0F0F0)
        columns[b] = x ^ t ^ (t << np.uint64(28))


@compiled
def partial_sums(v: Any, table: Any) -> None:
    """Fill table[c] with the sum of the v[r] whose bit r of c is set."""
    table[0], filled = 0.0, 1
    for r in range(8):
        for c in range(filled):
            table[filled + c] = table[c] + v[r]
        filled *= 2


@compiled
def _add_sums(packed: Any, v: Any, out: Any) -> None:
    """Add Y' v to `out`, shape (8 width,), for a multiple of `_TOGETHER` reports.

    A column of eight reports is a byte, whose table of partial sums stays in the nearest cache.
    """
    u, width = packed.shape
    tables = np.empty((4, 256))
    words = np.empty((4, width), dtype=np.uint64)
    columns = words.view(np.uint8)
    t0, t1, t2, t3 = tables[0], tables[1], tables[2], tables[3]
    c0, c1, c2, c3 = columns[0], columns[1], columns[2], columns[3]
    for start in range(0, u, _TOGETHER):
        for group in range(4):
            first = start + 8 * group
            partial_sums(v[first : first + 8], tables[group])
            transpose(packed[first : first + 8], words[group])
        for j in range(out.shape[0]):
            out[j] += (t0[c0[j]] + t1[c1[j]]) + (t2[c2[j]] + t3[c3[j]])


@compiled
def _list_bits(words: Any, at: Any) -> None:
    found = 0
    for i in range(words.shape[0]):
        for b in range(words.shape[1]):
            word = words[i, b]
            while word:
                lowest = word & (~word + np.uint64(1))
                at[found] = 64 * b + _PLACE[(lowest * _SEQUENCE) >> np.uint64(58)]
                found += 1
                word ^= lowest


@compiled
def list_mix(starts: Any, at: Any, x: Any) -> Array:
    """`bit_mix` from the set bits that `listed` gives."""
    out = np.empty(starts.shape[0] - 1)
    for i in range(out.shape[0]):
        bits = at[starts[i] : starts[i + 1]]
        a0, a1 = 0.0, 0.0
        for m in range(0, bits.shape[0] - 1, 2):
            a0 += x[bits[m]]
            a1 += x[bits[m + 1]]
        if bits.shape[0] % 2:
            a0 += x[bits[-1]]
        out[i] = a0 + a1
    return out


@compiled
def list_sums(starts: Any, at: Any, v: Any, k: int) -> Array:
    """`bit_sums` from the set bits that `listed` gives."""
    out = np.zeros(k)
    for i in range(v.shape[0]):
        weight = v[i]
        for j in at[starts[i] : starts[i + 1]]:
            out[j] += weight
    return out


@compiled
def _scatter_pairs(starts: Any, at: Any, v: Any, upper: Any) -> None:
    for i in range(v.shape[0]):
        bits = at[starts[i] : starts[i + 1]]
        weight = v[i]
        for m in range(bits.shape[0]):
            row = upper[bits[m]]
            for j in bits[m:]:
                row[j] += weight


@partial(compiled, nogil=True)
def add_bits(words: Any, cell: Any, lanes: Any, seen: Any, total: Any) -> None:
    """Add the bits of report i to the sums of its cell, cell[i], and count it in `seen`, (C,).

    `words` has the n reports of w 64-bit words one after another. Lane j of a word, of the eight in
    `lanes`, (C, 8 w), sums bit j of its eight bytes at once, each in a byte. A byte holds 255 at
    most: after 128 reports of a cell its lanes are emptied into `total`, (C, 64 w), in their order.
    """
    each, sums, width = lanes.view(np.uint8), lanes.reshape(-1), lanes.shape[1] // 8
    lowest = np.uint64(0x0101010101010101)
    for i in range(cell.shape[0]):
        c = np.int64(cell[i])
        for b in range(width):
            word, own = words[i * width + b], 8 * (c * width + b)
            for j in range(8):  # runs on vectors
                sums[own + j] += (word >> np.uint64(j)) & lowest
        seen[c] += 1
        if seen[c] & 127 == 0:
            for j in range(total.shape[1]):  # array expressions would take ten times to compile
                total[c, j] += each[c, j]
            for j in range(lanes.shape[1]):
                lanes[c, j] = 0
