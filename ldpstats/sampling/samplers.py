"""Exact samplers of the randomisers, and the privacy that their integers realise.

A probability is an integer threshold t out of 2**64, and every draw below is exact in law for its
thresholds given uniform 64-bit words: no floating-point number takes part, so that what a
respondent's client does can be audited to the last bit. Simulation and client share these
functions and differ only in their source of words.

Long simulations go through `ldpstats.kernels.words` (numba), which uses the words of a
simulation as it makes them; shorter ones, and clients, never import it, and make the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.sampling.streams import ALL, STEPS, krr
from ldpstats.sampling.words import BULK, SimulationWords, Words

__all__ = [
    "CERTAIN",
    "IntegerRows",
    "below",
    "checked_codes",
    "integer_rows",
    "sample_band",
    "sample_bits",
    "sample_coins",
    "sample_krr",
    "sample_rows",
    "threshold",
]

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
U8 = npt.NDArray[np.uint8]

CERTAIN = 1 << 64
"""The threshold of an event of probability one."""

LARGE = 1 << 17
"""Work of fewer 64-bit words than this stays in numpy, where it takes a few milliseconds."""

LOW = (1 << 32) - 1
_NOTHING = Fraction(0)


def threshold(probability: float, rounding: Literal["down", "up"]) -> int:
    """Return probability * 2**64 as an integer, from the exact value of the float."""
    if not 0 <= probability <= 1:
        raise InvalidArgument("probability", probability, "must lie in [0, 1], for example 0.25")
    if rounding not in ("down", "up"):
        raise InvalidArgument("rounding", rounding, "must be 'down' or 'up'")
    numerator, denominator = float(probability).as_integer_ratio()
    if rounding == "down":
        return numerator * CERTAIN // denominator
    return -(-numerator * CERTAIN // denominator)


def sample_krr(
    codes: npt.ArrayLike, k: int, keep: int, words: Words, rest: Fraction = _NOTHING
) -> I64:
    """Report each true code with probability keep / 2**64, else a uniform draw over all k.

    A `rest` in [0, 1) makes it (keep + rest) / 2**64, exactly: where 64 binary digits agree with
    `keep`, further ones decide.

    One word serves a user. Its high half is compared with the high half of `keep`; its low half
    gives the uniform draw by Lemire's multiply-shift (Fast random integer generation in an
    interval, 2019). Two rare cases leave a user pending: a tie of the high halves, which a further
    word settles by the low half of `keep`, and Lemire's rejection, which draws again. Users are
    taken in chunks; the pending ones of a chunk are settled, in order, before the next chunk.
    """
    true = _integers("codes", codes, 1)
    if not 1 <= k < 1 << 32:
        raise InvalidArgument("k", k, "must lie in [1, 2**32)")
    _check_threshold("keep", keep)
    streams = None
    if true.size >= LARGE and isinstance(words, SimulationWords):
        streams = words.streams(3 * true.size)  # the time of numpy, in words
    elif true.size == 1 and 0 <= true[0] < k:
        return np.array([_single_krr(int(true[0]), k, keep, words, rest)])
    out = np.empty_like(true)
    source, report = true.view(np.uint64), out.view(np.uint64)  # negative codes become large
    scalars = np.uint64(k), np.uint64(keep >> 32), np.uint64((1 << 32) % k)
    step = 1 << 18 if streams else 1 << 14
    for start in range(0, true.size, step):
        chunk = slice(start, start + step)
        if streams:
            pending, random = streams.krr(source[chunk], *scalars, report[chunk])
        else:
            random = words(source[chunk].size)
            pending, random = krr(source[chunk], random, *scalars, report[chunk])
        if pending.size:
            where = start + pending
            _check_range("codes", true[where], k)
            report[where] = _settle_krr(source[where], random, k, keep, words, rest)
    return out


def _single_krr(code: int, k: int, keep: int, words: Words, rest: Fraction) -> int:
    """The report of one user, from the same words as among many."""
    high, low = divmod(int(words(1)[0]), 1 << 32)
    kept = high < keep >> 32
    if high == keep >> 32:
        further = int(words(1)[0]) >> 32
        kept = further < keep & LOW or (further == keep & LOW and below(rest, words))
    product = low * k
    while not kept and product & LOW < (1 << 32) % k:
        product = (int(words(1)[0]) & LOW) * k
    return (product >> 32, code)[kept]


def below(chance: Fraction, words: Words) -> bool:
    """Whether a uniform number is below a fraction in [0, 1]: exactly so likely."""
    while 0 < chance < 1:
        chance = chance * CERTAIN - int(words(1)[0])
        if not 0 < chance < 1:
            break
    return chance > 0


def _settle_krr(codes: U64, random: U64, k: int, keep: int, words: Words, exactly: Fraction) -> U64:
    """Return the reports of pending users, whose first words were `random`."""
    out = codes.copy()
    tied = random >> 32 == keep >> 32
    kept = np.zeros(codes.size, dtype=bool)
    if np.any(tied):
        further = words(int(tied.sum())) >> 32
        kept[tied] = further < (keep & LOW)
        for i in np.flatnonzero(tied)[further == (keep & LOW)] if exactly else ():
            kept[i] = below(exactly, words)
    rest, low = np.flatnonzero(~kept), random[~kept] & LOW
    while rest.size:
        product = low * np.uint64(k)
        accepted = product & LOW >= (1 << 32) % k
        out[rest[accepted]] = product[accepted] >> 32
        if (rest := rest[~accepted]).size:
            low = words(rest.size) & LOW
    return out


def sample_band(codes: npt.ArrayLike, k: int, width: int, keep: int, words: Words) -> I64:
    """Report a uniform draw from `width` reports, the first of which is the code, or from all.

    The first with probability keep / 2**64; all are ``k + width - 1``. Both are drawn
    for everybody.
    """
    true = _integers("codes", codes, 1)
    _check_range("codes", true, k)
    kept, any_code = sample_coins(true.size, keep, words), np.zeros(true.size, dtype=np.int64)
    near = true + sample_krr(any_code, width, 0, words)
    return np.where(kept, near, sample_krr(any_code, k + width - 1, 0, words))


def sample_bits(
    positions: npt.ArrayLike,
    n_bits: int,
    p1: int | Sequence[int],
    p0: int | Sequence[int],
    words: Words,
) -> U8:
    """Draw independent bits: 1 with probability p1 at a row's positions, with p0 elsewhere."""
    place = _integers("positions", positions, 2)
    if n_bits < 1:
        raise InvalidArgument("n_bits", n_bits, "must be at least 1")
    _check_range("positions", place, n_bits)
    at, elsewhere = _by_threshold("p1", p1, n_bits), _by_threshold("p0", p0, n_bits)
    n, n_bytes = len(place), -(-n_bits // 8)
    out = np.empty((n, n_bytes), dtype=np.uint8)
    # chunks of a short array are too small to call for a kernel
    step = max(1, (1 << 20 if n * n_bytes >= 8 * LARGE else 1 << 14) // n_bytes)
    for start in range(0, n, step):
        chunk = slice(start, start + step)
        block = _background(len(place[chunk]), n_bytes, elsewhere, words)
        _overwrite(block, place[chunk], at, words)
        out[chunk] = block
    return out


def sample_coins(n: int, p: int, words: Words) -> npt.NDArray[np.bool_]:
    """Draw n independent coins, each true with probability p / 2**64."""
    _check_threshold("p", p)
    packed = _coin_bytes(-(-n // 8), p, words)
    return np.unpackbits(packed, count=n, bitorder="little").view(np.bool_)


def _by_threshold(
    name: str, p: int | Sequence[int], n_bits: int
) -> list[tuple[int, npt.NDArray[np.bool_]]]:
    """Return the distinct thresholds of `p`, each with the bits (n_bits,) that it governs."""
    values = np.empty(n_bits, dtype=object)
    if isinstance(p, (int, np.integer)):
        values[:] = int(p)
    elif len(p) == n_bits:
        values[:] = [int(value) for value in p]
    else:
        raise InvalidArgument(name, p, f"must be one threshold, or one for each of {n_bits} bits")
    for value in (distinct := sorted(set(values))):
        _check_threshold(name, value)
    return [(value, values == value) for value in distinct]


def _background(
    rows: int, n_bytes: int, groups: list[tuple[int, npt.NDArray[np.bool_]]], words: Words
) -> U8:
    """Return rows of packed independent bits, (rows, n_bytes), by the thresholds of `groups`."""
    if len(groups) == 1 and groups[0][1].size == 8 * n_bytes:  # nothing to be masked
        return _coin_bytes(rows * n_bytes, groups[0][0], words).reshape(rows, n_bytes)
    block = np.zeros((rows, n_bytes), dtype=np.uint8)
    for value, bits in groups:
        mask = np.packbits(bits, bitorder="little")
        touched = np.flatnonzero(mask)
        first, last = int(touched[0]), int(touched[-1]) + 1
        coins = _coin_bytes(rows * (last - first), value, words).reshape(rows, -1)
        if np.any(mask[first:last] != 255):  # padding, or bits of another group
            coins &= mask[first:last]
        block[:, first:last] |= coins
    return block


def _overwrite(
    block: U8, place: I64, groups: list[tuple[int, npt.NDArray[np.bool_]]], words: Words
) -> None:
    """Redraw the bits of `block` at each row's positions, by the thresholds of `groups`.

    Each column of `place` redraws one bit a row: a position named twice keeps its last draw.
    """
    flat, offset = block.reshape(-1), np.arange(len(block)) * block.shape[1]
    for column in place.T:
        hit = np.empty(len(block), dtype=np.uint8)
        for value, bits in groups:
            chosen = bits[column] if len(groups) > 1 else slice(None)
            size = hit[chosen].size
            hit[chosen] = np.unpackbits(_coin_bytes(-(-size // 8), value, words), count=size)
        byte, shift = offset + (column >> 3), (column & 7).astype(np.uint8)
        flat[byte] = flat[byte] & ~(np.uint8(1) << shift) | hit << shift


def _coin_bytes(size: int, limit: int, words: Words) -> U8:
    """Return 8 * size of the bits of `_coins`, packed in bytes."""
    return _coins(-(-size // 8), limit, words).view(np.uint8)[:size]


def _coins(size: int, limit: int, words: Words) -> U64:
    """Return 64 * size independent bits, each 1 with probability limit / 2**64, packed in words.

    Each of the 64 lanes of a word compares the binary digits of a uniform fraction with those of
    the threshold, the most significant first. A one in the random word means that the digits
    agree and the lane stays tied; a zero, that they differ: the fraction is smaller, and the
    lane's bit is 1, exactly where the threshold's digit is 1. A tied lane provisionally holds the
    threshold's last digit, so that `result` flips only where that digit does, and at the end it
    falls back to 0: it is not below the digits so far. After twelve digits one word in 64 still
    holds a tied lane: only those words go on (`kernels.coins` stops by rows of 64 words instead).
    The zeros that end the threshold need no digit, since no fraction falls short of them.
    """
    if limit in (0, CERTAIN):
        return np.full(size, ALL if limit else np.uint64(0))
    digits = [int(digit) for digit in f"{limit:064b}".rstrip("0")]
    if size >= 1 << 14 and isinstance(words, SimulationWords):
        flips = _flips(digits + [0] * (-len(digits) % STEPS))
        return words.streams(min(3 * flips.size, 50) * size).coins(flips, size)
    first, flips = len(digits[:12]), _flips(digits[:12])
    result, tied = np.zeros(size, dtype=np.uint64), np.full(size, ALL)
    for start in range(0, size, 1 << 12):
        block = slice(start, start + (1 << 12))
        random = words(first * tied[block].size).reshape(first, -1)
        _compare(random, flips, result[block], tied[block])
    limit = limit << 12 & (CERTAIN - 1)
    rest = np.flatnonzero(tied != 0) if limit else tied[:0]
    if rest.size:
        result[rest] |= tied[rest] & _coins(rest.size, limit, words)
    return result


def _flips(digits: list[int]) -> U64:
    """Return all ones where a digit differs from the one before it, zeros coming at either end."""
    return np.where(np.diff([0, *digits, 0]) != 0, ALL, np.uint64(0))


def _compare(random: U64, flips: U64, result: U64, tied: U64) -> None:
    """Advance the lanes of `result` and `tied`, (n,), by r digits, with words (r, n)."""
    for word, flip in zip(random, flips, strict=False):
        result ^= tied & flip
        tied &= word
    result ^= tied & flips[-1]


@dataclass(frozen=True)
class IntegerRows:
    """A channel whose rows are integer weights that sum to 2**64 exactly.

    Only outputs of positive weight are kept, so no other can be drawn.

    `outputs` has the increasing outputs of each row x, shape (m_x,). `upper` has the largest word
    that gives each of them: cumulative weight minus one, so that the last is 2**64 - 1.
    """

    outputs: tuple[I64, ...]
    upper: tuple[U64, ...]

    def document(self, n_outputs: int) -> dict[str, Any]:
        """The draw "rows" of a client document, of a channel with so many outputs."""
        rows: list[dict[str, Any]] = []
        for outputs, upper in zip(self.outputs, self.upper, strict=True):
            row: dict[str, Any] = {"upper": [str(word) for word in upper.tolist()]}
            rows.append(row if outputs.size == n_outputs else row | {"outputs": outputs.tolist()})
        return {"kind": "rows", "rows": rows}


def integer_rows(Q: npt.ArrayLike, rounding: Literal["down", "up"] = "down") -> IntegerRows:
    """Turn each row of a channel into integer weights that sum to 2**64 exactly.

    A weight is Q[x, y] * 2**64 rounded down, but at least 1 where Q[x, y] > 0, or rounded up; the
    largest entry of the row takes what is left. Zero entries stay zero. Where the smallest entry of
    each column decides on epsilon and the largest entries of rows are the largest of columns too,
    to round up is the side of more privacy.
    """
    matrix = np.asarray(Q, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0:
        raise InvalidArgument("Q", Q, "must be a matrix with a row for each true value")
    if not np.all(matrix >= 0):
        raise InvalidArgument("Q", Q, "must hold non-negative numbers")
    for x in np.flatnonzero(~(np.abs(matrix.sum(axis=1) - 1) <= 1e-9)):
        raise InvalidArgument("Q", Q, f"must have rows that sum to one; row {x} does not")
    outputs = tuple(np.flatnonzero(row) for row in matrix)
    return IntegerRows(
        outputs, tuple(_upper(row, rounding)[y] for row, y in zip(matrix, outputs, strict=True))
    )


def _upper(row: npt.NDArray[np.float64], rounding: str) -> U64:
    """Return the inclusive cumulative weights of a row of probabilities, zeros included.

    The work is that of the whole row: its time does not tell how many outputs a true value has.
    """
    largest = int(np.argmax(row))
    made = row > 0
    row = row.copy()
    row[largest] = 0  # its weight may be 2**64, which wraps to 0 below on purpose
    exact = np.ldexp(row, 64)
    weights = (np.floor(exact) if rounding == "down" else np.ceil(exact)).astype(np.uint64)
    weights = np.maximum(weights, made.astype(np.uint64))
    weights[largest] = 0
    weights[largest] = (CERTAIN - int(weights.sum())) % CERTAIN
    return np.cumsum(weights, dtype=np.uint64) - np.uint64(1)


def sample_rows(codes: npt.ArrayLike, rows: IntegerRows, words: Words) -> I64:
    """Draw one output from the row of each true code, by inversion; one word serves a user."""
    true = _integers("codes", codes, 1)
    _check_range("codes", true, len(rows.upper))
    out = np.empty_like(true)
    for start in range(0, true.size, 1 << 16):
        code, report = true[start : start + (1 << 16)], out[start : start + (1 << 16)]
        request = code.size if true.size >= LARGE else BULK - 1
        sizes = (min(request, code.size - i) for i in range(0, code.size, request))
        random = np.concatenate([words(size) for size in sizes])
        order = np.argsort(code, kind="stable")
        present, first = np.unique(code[order], return_index=True)
        for x, users in zip(present, np.split(order, first[1:]), strict=True):
            report[users] = rows.outputs[x][np.searchsorted(rows.upper[x], random[users])]
    return out


def checked_codes(codes: npt.ArrayLike, k: int) -> I64:
    """Codes of true categories, int64 of shape (n,); refused unless all lie in [0, k)."""
    true = _integers("codes", codes, 1)
    _check_range("codes", true, k)
    return true


def _integers(name: str, values: npt.ArrayLike, ndim: int) -> I64:
    """Return `values` as a contiguous int64 array of `ndim` dimensions, or refuse them."""
    array = np.asarray(values)
    if array.ndim != ndim:
        raise InvalidArgument(name, values, f"must have {ndim} dimension(s), not {array.ndim}")
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidArgument(name, values, f"must be integers, not {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _check_range(name: str, values: npt.NDArray[Any], bound: int) -> None:
    outside = (values < 0) | (values >= bound)
    if np.any(outside):
        raise InvalidArgument(name, int(values[outside][0]), f"must lie in [0, {bound})")


def _check_threshold(name: str, value: int) -> None:
    if not 0 <= value <= CERTAIN:
        raise InvalidArgument(name, value, "must be an integer threshold in [0, 2**64]")
