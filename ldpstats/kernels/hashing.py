"""Compiled hashing of strings and cells; imported only for long arrays, because of numba.

The plain twins are `hashlib.sha256` a string at a time and the numpy lines of
`ldpstats.sampling.hashing`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.kernels.words import LANES, compiled, copied

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

# FIPS 180-4, sections 4.2.2 and 5.3.3: the fractions of the cube roots of the first 64 primes, and
# of the square roots of the first 8.
_PRIMES = [n for n in range(2, 312) if all(n % d for d in range(2, n))]
_ROUNDS = np.array([int(n ** (1 / 3) % 1 * 2**32) for n in _PRIMES], dtype=np.uint32)
_START = np.array([int(n**0.5 % 1 * 2**32) for n in _PRIMES[:8]], dtype=np.uint32)

# In what follows np.uint32(...) keeps numba, which computes in 64 bits, to words of 32.


@compiled
def _turned(x: Any, n: Any) -> Any:
    """x rotated right by n bits."""
    return np.uint32(x >> np.uint32(n)) | np.uint32(x << np.uint32(32 - n))


@compiled
def _step(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, word: Any) -> Any:
    """One round of SHA-256: what d and h become; the other six only change their names."""
    high = _turned(e, 6) ^ _turned(e, 11) ^ _turned(e, 25)
    first = np.uint32(h + high + ((e & f) ^ (~e & g)) + word)
    low = _turned(a, 2) ^ _turned(a, 13) ^ _turned(a, 22)
    return np.uint32(d + first), np.uint32(first + low + ((a & b) ^ (a & c) ^ (b & c)))


@compiled
def _compress(state: U32, words: U32) -> None:
    """Take one block of 64 bytes into each of the hashes (FIPS 180-4, section 6.2.2).

    A lane is a column: the loops over lanes have no branch, so that they run on vectors.
    """
    for t in range(16, 64):
        for j in range(LANES):
            x, y = words[t - 15, j], words[t - 2, j]
            x = _turned(x, 7) ^ _turned(x, 18) ^ np.uint32(x >> np.uint32(3))
            y = _turned(y, 17) ^ _turned(y, 19) ^ np.uint32(y >> np.uint32(10))
            words[t, j] = np.uint32(words[t - 16, j] + x + words[t - 7, j] + y)
    v = state.copy()
    for t in range(0, 64, 8):  # eight rounds bring every letter back to its place
        k, r = _ROUNDS[t : t + 4], _ROUNDS[t + 4 : t + 8]
        k0, k1, k2, k3, k4, k5, k6, k7 = k[0], k[1], k[2], k[3], r[0], r[1], r[2], r[3]
        for j in range(LANES):
            a, b, c, d = v[0, j], v[1, j], v[2, j], v[3, j]
            e, f, g, h = v[4, j], v[5, j], v[6, j], v[7, j]
            d, h = _step(a, b, c, d, e, f, g, h, np.uint32(words[t, j] + k0))
            c, g = _step(h, a, b, c, d, e, f, g, np.uint32(words[t + 1, j] + k1))
            b, f = _step(g, h, a, b, c, d, e, f, np.uint32(words[t + 2, j] + k2))
            a, e = _step(f, g, h, a, b, c, d, e, np.uint32(words[t + 3, j] + k3))
            h, d = _step(e, f, g, h, a, b, c, d, np.uint32(words[t + 4, j] + k4))
            g, c = _step(d, e, f, g, h, a, b, c, np.uint32(words[t + 5, j] + k5))
            f, b = _step(c, d, e, f, g, h, a, b, np.uint32(words[t + 6, j] + k6))
            e, a = _step(b, c, d, e, f, g, h, a, np.uint32(words[t + 7, j] + k7))
            v[0, j], v[1, j], v[2, j], v[3, j] = a, b, c, d
            v[4, j], v[5, j], v[6, j], v[7, j] = e, f, g, h
    for i in range(8):
        for j in range(LANES):
            state[i, j] = np.uint32(state[i, j] + v[i, j])


@compiled
def _word(a: Any, b: Any, c: Any, d: Any) -> Any:
    """The word of four bytes, first byte highest."""
    high = (np.uint32(a) << np.uint32(24)) | (np.uint32(b) << np.uint32(16))
    return np.uint32(high | (np.uint32(c) << np.uint32(8)) | np.uint32(d))


@compiled
def _little_endian(word: Any) -> Any:
    """The number whose lowest byte is the first of a word, as uint64."""
    x, byte = np.uint32(word), np.uint32(0xFF)
    first, second = x & byte, (x >> np.uint32(8)) & byte
    return np.uint64(_word(first, second, (x >> np.uint32(16)) & byte, x >> np.uint32(24)))


@compiled
def _fill(words: U32, lane: Any, text: Any, start: Any, stop: Any, block: Any) -> None:
    """Write one block of the padded string text[start:stop] to its lane, as big-endian words.

    The padding is a bit 1, zeros, and the length in bits in the last eight bytes of a block.
    """
    at = start + 64 * block
    for i in range(16):
        word = np.uint32(0)
        if at + 4 <= stop:  # LLVM makes one load of the four
            word = _word(text[at], text[at + 1], text[at + 2], text[at + 3])
        elif at <= stop:
            word = np.uint32(0x80000000)
            for k in range(stop - 1, at - 1, -1):
                word = np.uint32(word >> np.uint32(8)) | (np.uint32(text[k]) << np.uint32(24))
        words[i, lane] = word
        at += 4
    if at >= stop + 9:
        words[14, lane] = np.uint32((stop - start) >> 29)
        words[15, lane] = np.uint32((stop - start) << 3)


@compiled
def sha256_words(text: Any, offsets: Any, out: U64) -> None:
    """First eight bytes, read as little-endian numbers, of the SHA-256 of many strings.

    Each lane takes the next string as soon as its own is done: strings of any length share the
    vectors, and a long one keeps only its own lane busy.
    """
    words = np.zeros((64, LANES), dtype=np.uint32)
    state = np.zeros((8, LANES), dtype=np.uint32)
    owner, block = np.full(LANES, -1), np.zeros(LANES, dtype=np.int64)
    taken = done = 0
    while done < out.shape[0]:
        for j in range(LANES):
            if owner[j] < 0:
                if taken == out.shape[0]:
                    continue  # an idle lane hashes what it holds, unused
                owner[j], block[j] = taken, 0
                copied(_START, state[:, j])
                taken += 1
            _fill(words, j, text, offsets[owner[j]], offsets[owner[j] + 1], block[j])
        _compress(state, words)
        for j in range(LANES):
            i = owner[j]
            if i < 0:
                continue
            block[j] += 1
            if 64 * block[j] >= offsets[i + 1] - offsets[i] + 9:
                high = _little_endian(state[1, j]) << np.uint64(32)
                out[i] = _little_endian(state[0, j]) | high
                owner[j] = -1
                done += 1


@compiled
def _mix(z: Any) -> Any:
    """`hashing.mix64` of one number."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def _cell(z: Any, n_cells: Any) -> Any:
    """The cell of a mixed number."""
    return ((z >> np.uint64(32)) * n_cells) >> np.uint64(32)


@compiled
def cells(hashes: U64, keys: U64, n_cells: np.uint64, out: Any) -> None:
    """Fill out[c, x], shape (C, S), with the cell of hashes[x] under keys[c]."""
    for c in range(keys.shape[0]):
        key, row = keys[c], out[c]
        for x in range(hashes.shape[0]):
            row[x] = _cell(_mix(hashes[x] ^ key), n_cells)


@compiled
def own_cells(hashes: U64, cohort: U64, j: np.uint64, n_cells: np.uint64, out: Any) -> None:
    """Fill out[i], shape (n,), with the cell of hashes[i] under the key of (cohort[i], j)."""
    for i in range(hashes.shape[0]):
        number = (cohort[i] << np.uint64(16)) + j + np.uint64(1)
        key = _mix(np.uint64(0x9E3779B97F4A7C15) * number)
        out[i] = _cell(_mix(hashes[i] ^ key), n_cells)


_PART = 512  # strings whose cells and sums stay in the nearest cache


@compiled
def _join(own: Any, size: int, n_cells: np.uint64) -> None:
    """Write the number whose digits, in base m, are own[:, x] to own[0, x]."""
    first = own[0]
    for j in range(1, own.shape[0]):
        digit = own[j]
        for x in range(size):
            first[x] = np.uint32(first[x] * n_cells + digit[x])


@compiled
def _keep_distinct(own: Any, size: int, n_cells: np.uint64) -> None:
    """Write m to own[j, x] where it repeats one of the rows before."""
    for j in range(1, own.shape[0]):
        row = own[j]
        for i in range(j):
            before = own[i]
            for x in range(size):
                row[x] = n_cells if row[x] == before[x] else row[x]


@compiled
def owner_sums(
    hashes: U64, keys: U64, n_cells: np.uint64, joined: bool, tables: Any, out: Any
) -> None:
    """Sum the entries of several tables at the cells that strings own; no cell is stored."""
    U, r = keys.shape
    K, S = out.shape
    own = np.empty((r, _PART), dtype=np.uint32)
    total = np.empty((K, _PART), dtype=out.dtype)
    for start in range(0, S, _PART):
        part = hashes[start : start + _PART]
        size = part.shape[0]
        total[:] = 0.0
        for u in range(U):
            cells(part, keys[u], n_cells, own)
            if joined:
                _join(own, size, n_cells)
            else:
                _keep_distinct(own, size, n_cells)
            for k in range(K):
                table, row = tables[u, k], total[k]
                for j in range(1 if joined else r):
                    places = own[j]
                    for x in range(size):
                        row[x] += table[places[x]]
        for k in range(K):
            copied(total[k, :size], out[k, start : start + size])
