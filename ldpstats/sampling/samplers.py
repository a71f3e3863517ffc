"""Exact samplers of the randomisers, and the privacy that their integers realise.

A probability is an integer threshold t out of 2**64, and every draw below is exact in law for its
thresholds given uniform 64-bit words: no floating-point number takes part, so that what a
respondent's client does can be audited to the last bit. Simulation and client share these
functions and differ only in their source of words.

Long simulations go through `ldpstats.kernels.words` (numba), which uses the words of a
simulation as it makes them; shorter ones, and clients, never import it, and make the same words.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import record
from ldpstats.errors import InvalidArgument
from ldpstats.kernels import in_numpy, repaid

if TYPE_CHECKING:
    from ldpstats.kernels.words import CompiledStreams

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
    numerator, denominator = float(probability).as_integer_ratio()
    if rounding == "down":
        return numerator * CERTAIN // denominator
    return -(-numerator * CERTAIN // denominator)


def bit_thresholds(p1: float, p0: float, alike: bool = False) -> tuple[int, int]:
    """Thresholds of own and of other bits, towards more privacy; `alike` says that 1 - p1 is p0."""
    if alike:
        other = max(threshold(p0, "up"), 1)
        return CERTAIN - other, other
    if p1 > p0:
        return threshold(p1, "down"), threshold(p0, "up")
    return threshold(p1, "up"), threshold(p0, "down")


def sample_krr(
    codes: npt.ArrayLike, k: int, keep: int, words: Words, rest: Fraction = _NOTHING
) -> I64:
    """Report each true code with probability (keep + rest) / 2**64, else a uniform draw over all k.

    One word serves a user. Its high half is compared with the high half of `keep`; its low half
    gives the uniform draw by Lemire's multiply-shift (Fast random integer generation in an
    interval, 2019). Two rare cases leave a user pending: a tie of the high halves, which a further
    word settles by the low half of `keep` (and if that ties too, `rest` in [0, 1)), and Lemire's
    rejection, which draws again. The pending ones of a chunk are settled before the next chunk.
    """
    true = np.ascontiguousarray(codes, dtype=np.int64)
    streams = None
    if true.size >= LARGE and isinstance(words, SimulationWords):
        streams = words.streams(3 * true.size)  # the time of numpy, in words
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


def below(chance: Fraction, words: Words) -> bool:
    """Whether a uniform number is below a fraction in [0, 1]: exactly so likely."""
    while 0 < chance < 1:
        chance = chance * CERTAIN - int(words(1)[0])
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
    """Report one of the `width` reports from the code on, with probability keep / 2**64, or of all.

    All are ``k + width - 1``. Both are drawn for everybody.
    """
    true = checked_codes(codes, k)
    kept, any_code = sample_coins(true.size, keep, words), np.zeros(true.size, dtype=np.int64)
    near = true + sample_krr(any_code, width, 0, words)
    return np.where(kept, near, sample_krr(any_code, k + width - 1, 0, words))


def sample_bits(
    positions: I64,
    n_bits: int,
    p1: int | Sequence[int],
    p0: int | Sequence[int],
    words: Words,
) -> U8:
    """Draw independent bits: 1 with probability p1 at a row's positions, with p0 elsewhere."""
    place = np.ascontiguousarray(positions, dtype=np.int64)
    _check_range("positions", place, n_bits)
    at, elsewhere = _by_threshold(p1, n_bits), _by_threshold(p0, n_bits)
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
    packed = _coin_bytes(-(-n // 8), p, words)
    return np.unpackbits(packed, count=n, bitorder="little").view(np.bool_)


def _by_threshold(p: int | Sequence[int], n_bits: int) -> list[tuple[int, npt.NDArray[np.bool_]]]:
    """Return the distinct thresholds of `p`, each with the bits (n_bits,) that it governs."""
    values = np.empty(n_bits, dtype=object)
    values[:] = int(p) if isinstance(p, (int, np.integer)) else list(map(int, p))
    return [(value, values == value) for value in sorted(set(values))]


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
    holds a tied lane: only those words go on (`kernels.words` stops by rows of 64 words instead).
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
    """A channel whose rows are integer weights that sum to 2**64 exactly; none is zero."""

    outputs: tuple[I64, ...]  # the increasing outputs of each row x, shape (m_x,)
    upper: tuple[U64, ...]  # the largest word that gives each: cumulative weight minus one

    def document(self, n_outputs: int) -> dict[str, Any]:
        """The draw "rows" of a client document, of a channel with so many outputs."""
        rows: list[dict[str, Any]] = []
        for outputs, upper in zip(self.outputs, self.upper, strict=True):
            row: dict[str, Any] = {"upper": [str(word) for word in upper.tolist()]}
            rows.append(row if outputs.size == n_outputs else row | {"outputs": outputs.tolist()})
        return {"kind": "rows", "rows": rows}


def integer_rows(Q: npt.ArrayLike, rounding: Literal["down", "up"] = "down") -> IntegerRows:
    """Turn each row of a channel into integer weights that sum to 2**64 exactly.

    A weight is Q[x, y] * 2**64, rounded, but at least 1 where Q[x, y] > 0; the largest entry of the
    row takes what is left. Where the smallest entry of each column decides on epsilon and the
    largest entries of rows are the largest of columns too, to round up is the more private side.
    """
    matrix = np.asarray(Q, dtype=np.float64)
    outputs = tuple(np.flatnonzero(row) for row in matrix)
    upper: list[U64] = []
    # the work is that of the whole row: its time does not tell how many outputs a true value has
    for probabilities, kept in zip(matrix, outputs, strict=True):
        largest = int(np.argmax(probabilities))
        made = probabilities > 0
        row = probabilities.copy()
        row[largest] = 0  # its weight may be 2**64, which wraps to 0 below on purpose
        exact = np.ldexp(row, 64)
        weights = (np.floor(exact) if rounding == "down" else np.ceil(exact)).astype(np.uint64)
        weights = np.maximum(weights, made.astype(np.uint64))
        weights[largest] = 0
        weights[largest] = (CERTAIN - int(weights.sum())) % CERTAIN
        upper.append((np.cumsum(weights, dtype=np.uint64) - np.uint64(1))[kept])
    return IntegerRows(outputs, tuple(upper))


def sample_rows(codes: npt.ArrayLike, rows: IntegerRows, words: Words) -> I64:
    """Draw one output from the row of each true code, by inversion; one word serves a user."""

    def drawn(x: int, random: U64) -> I64:
        return rows.outputs[x][np.searchsorted(rows.upper[x], random)]

    return _sample_by_row(codes, len(rows.upper), drawn, words)


def _sample_by_row(
    codes: npt.ArrayLike, k: int, drawn: Callable[[int, U64], I64], words: Words
) -> I64:
    """Reports ``drawn(x, first)`` of the users of each code x, from a first word of each."""
    true = checked_codes(codes, k)
    out = np.empty_like(true)
    for start in range(0, true.size, 1 << 16):
        code, report = true[start : start + (1 << 16)], out[start : start + (1 << 16)]
        random = _uniform(code.size, true.size, words)
        order = np.argsort(code, kind="stable")
        present, first = np.unique(code[order], return_index=True)
        for x, users in zip(present.tolist(), np.split(order, first[1:]), strict=True):
            report[users] = drawn(x, random[users])
    return out


def checked_codes(codes: npt.ArrayLike, k: int) -> I64:
    """Codes of true categories, int64 of shape (n,); refused unless all lie in [0, k)."""
    true = np.ascontiguousarray(codes, dtype=np.int64)
    _check_range("codes", true, k)
    return true


def _check_range(name: str, values: npt.NDArray[Any], bound: int) -> None:
    outside = (values < 0) | (values >= bound)
    if np.any(outside):
        raise InvalidArgument(name, int(values[outside][0]), f"must lie in [0, {bound})")


# -- Samplers whose law is exactly a given one, whatever its denominator --------------------------
# A uniform number U in [0, 1) is compared with cumulative probabilities c. Its first 64 binary
# digits are one word; they decide unless they are those of c, which happens once in 2**64 times
# for each c. Only then are further digits drawn, as many as it takes. So the realised law is the
# declared one to the last digit, not rounded to 64 bits, and a draw costs one word.


_LAST = CERTAIN - 1


@record
class Inversion:
    """Cumulative probabilities of m outcomes but the last: ``(upper + rest / total) / 2**64``."""

    upper: U64  # shape (m - 1,)
    rest: tuple[int, ...]  # below total; total itself where the cumulative probability is one
    total: int

    def draw(self, first: U64, words: Words) -> I64:
        """Outcomes 0 .. m - 1 from the first word of each draw, shape (n,)."""
        outcome = np.searchsorted(self.upper, first, side="right")
        if not self.upper.size:
            return outcome
        same = (outcome > 0) & (self.upper[outcome - 1] == first)
        for i in np.flatnonzero(same):
            stop = int(outcome[i])
            start = int(np.searchsorted(self.upper, first[i], side="left"))
            outcome[i] = start + _reached(self.rest[start:stop], self.total, words)
        return outcome

    def document(self) -> dict[str, Any]:
        """The law, as client documents say it."""
        return {
            "upper": [str(word) for word in self.upper.tolist()],
            "rest": [str(value) for value in self.rest],
            "total": str(self.total),
        }

    def law(self) -> list[Fraction]:
        """The probabilities of the outcomes that the integers realise."""
        pairs = zip(self.upper.tolist(), self.rest, strict=True)
        whole = CERTAIN * self.total
        ends = [0, *(u * self.total + r for u, r in pairs), whole]
        widths = [after - before for before, after in pairwise(ends)]
        chances = {width: Fraction(width, whole) for width in set(widths)}
        return [chances[width] for width in widths]


def inversion(weights: Sequence[int]) -> Inversion:
    """Draw outcome i with probability ``weights[i] / sum(weights)``."""
    ends = list(accumulate(weights))
    total = ends.pop()
    upper, rest = [], []
    for end in ends:
        digits = min(end * CERTAIN // total, _LAST)
        upper.append(digits)
        rest.append(end * CERTAIN - digits * total)
    return Inversion(np.array(upper, dtype=np.uint64), tuple(rest), total)


def _reached(rest: Sequence[int], total: int, words: Words) -> int:
    """How many of the fractions rest / total, in increasing order, a uniform number reaches."""
    passed, left = 0, list(rest)
    while left:
        word = int(words(1)[0])
        digits = [value * CERTAIN // total for value in left]
        stop = bisect_right(digits, word)
        start = bisect_right(digits, word - 1)
        passed += start
        left = [value * CERTAIN - word * total for value in left[start:stop]]
        done = next((i for i, value in enumerate(left) if value), len(left))
        passed, left = passed + done, left[done:]  # what is reached exactly needs no digit
    return passed


def _uniform(n: int, size: int, words: Words) -> U64:
    """n words of a simulation of `size` users, which takes to its streams where it is long."""
    request = max(n, 1) if size >= LARGE else BULK - 1
    sizes = (min(request, n - i) for i in range(0, n, request))
    return np.concatenate([np.empty(0, np.uint64), *(words(few) for few in sizes)])


def sample_inversions(codes: npt.ArrayLike, k: int, row: Any, words: Words) -> I64:
    """Draw an outcome from the row of each true code; ``row(x)`` is its `Inversion`."""
    return _sample_by_row(codes, k, lambda x, first: row(x).draw(first, words), words)


def sample_own(codes: npt.ArrayLike, k: int, common: Inversion, words: Words) -> I64:
    """Draw from ``own`` (outcome 0: the code itself) or from a law that all codes have in common.

    Outcome ``y + 1`` of `common` is report y.
    """
    true = checked_codes(codes, k)
    out = np.empty_like(true)
    for start in range(0, true.size, 1 << 16):
        chunk = slice(start, start + (1 << 16))
        drawn = common.draw(_uniform(true[chunk].size, true.size, words), words)
        out[chunk] = np.where(drawn == 0, true[chunk], drawn - 1)
    return out


def sample_others(
    codes: npt.ArrayLike, k: int, common: Inversion, accepted: Sequence[Fraction], words: Words
) -> I64:
    """Draw from a law that all codes have in common, less often the code itself.

    A draw that is the code x is accepted with probability ``accepted[x]``, else all is drawn anew:
    with the same chance for all codes, so that the number of draws tells nothing.
    """
    true = checked_codes(codes, k)
    out = np.empty_like(true)
    left = np.arange(true.size)
    scaled = [chance * CERTAIN for chance in accepted]
    digits = np.array([min(int(value), _LAST) for value in scaled], dtype=np.uint64)
    while left.size:
        out[left] = common.draw(_uniform(left.size, true.size, words), words)
        own = left[out[left] == true[left]]
        random, bound = _uniform(own.size, true.size, words), digits[true[own]]
        kept = random < bound
        for i in np.flatnonzero(random == bound):
            x = int(true[own[i]])
            kept[i] = below(scaled[x] - int(digits[x]), words)
        left = own[~kept]
    return out


# -- The interleaved streams of a simulation in numpy: those of `kernels.words`, word for word ----


LANES = 64
"""Number of interleaved streams: enough to fill vector registers, few enough to key cheaply."""

STEPS = 4
"""Rows of words, one word a stream, that are taken together."""

ALL = np.uint64((1 << 64) - 1)

_PAD = 8  # entries, so that rows of a power of two do not compete for the same cache lines
_BLOCK = 1 << 10  # groups of rows from which coins are tossed at a time


class Streams:
    """A source of words that interleaves the streams started at a key, each numpy's own SFC64.

    The key, (3, LANES), has the initial a, b, c of each stream; the counter starts at 1. A step is
    a bijection of them, so that a uniform key makes the state uniform: no words are discarded.
    """

    def __init__(self, key: U64) -> None:
        self._lanes, self._drawn = [np.random.SFC64(0) for _ in range(LANES)], 0
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
        """`size` words of coins, by `kernels.words.coins`; see there for `flips`."""
        most = (flips.size - 1) // STEPS
        blocks: list[U64] = []
        left = -(-size // LANES)
        while left:  # words are drawn in blocks; what was not needed is drawn again
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
    """Where rows of coins start, `left` at most, and how many groups of words each takes.

    A row takes groups until each bit of each of its lanes has seen a zero, but at most `most`.
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


# -- Numbers of labels, of which blocks have several ----------------------------------------------


def sample_below(bounds: I64, words: Words) -> I64:
    """Draw a uniform integer below each bound, from 64-bit words of which few are refused."""
    out, left = np.zeros(bounds.shape, dtype=np.int64), np.arange(bounds.size)
    size = bounds.astype(np.uint64)
    spare = np.array([CERTAIN % int(b) for b in np.unique(bounds)], dtype=np.uint64)
    refused = spare[np.searchsorted(np.unique(bounds), bounds)] if bounds.size else size
    while left.size:
        random = words(left.size)
        out[left] = random % size[left]
        left = left[random > ~refused[left]]  # the last 2**64 mod b of the words
    return out


# -- Uniform subsets of one size that hold a given member with a given probability ----------------


_ENTRIES = 1 << 19  # keys that are drawn at a time
_MOST = 500_000_000  # people, of whom numpy draws some at random


def sample_subsets(codes: npt.ArrayLike, k: int, size: int, keep: int, words: Words) -> U8:
    """Draw subsets of `size` of k categories that hold the true code with probability keep / 2**64.

    Packed bits, shape (n, ceil(k/8)). The other members are those with the smallest of independent
    32-bit keys; where two tie at the border all keys of the subset are drawn again.
    """
    true = checked_codes(codes, k)
    out = np.empty((true.size, -(-k // 8)), dtype=np.uint8)
    step = max(1, _ENTRIES // k)
    for start in range(0, true.size, step):
        code = true[start : start + step]
        own = sample_coins(code.size, keep, words)
        bits = np.zeros((code.size, k), dtype=bool)
        bits[:, :-1] = _chosen(k - 1, size - own, words)
        rows = np.arange(code.size)
        bits[rows, -1] = bits[rows, code]  # the last category stands in for the true one
        bits[rows, code] = own
        out[start : start + step] = np.packbits(bits, axis=1, bitorder="little")
    return out


def _chosen(k: int, sizes: I64, words: Words) -> npt.NDArray[np.bool_]:
    """Uniform subsets of k, bool of shape (n, k) of these sizes."""
    out = np.empty((sizes.size, k), dtype=bool)
    left = np.arange(sizes.size)
    while left.size:
        keys = words(-(-left.size * k // 2)).view(np.uint32)[: left.size * k].reshape(-1, k)
        # a number above the `sizes` smallest keys of each row
        m = sizes[left]
        places = [size - 1 for size in np.unique(m).tolist() if size]
        ranked = np.partition(keys, places, axis=1) if places else keys
        last = ranked[np.arange(len(keys)), np.maximum(m - 1, 0)].astype(np.uint64)
        border = np.where(m > 0, last + np.uint64(1), np.uint64(0))
        members = keys < border[:, None]
        out[left] = members
        left = left[members.sum(axis=1) != sizes[left]]
    return out


def drawn_sums(true: I64, size: int, own: float, rng: np.random.Generator) -> I64:
    """Sums of the bits of subset reports of `true`, (k,), people of each category, shape (k,).

    With the law of `sample_subsets`, `own` being the chance to report one's own category. Beside it
    a report has `size` or ``size - 1`` uniform ones of k - 1 places, filled one after another: all
    that matters of a person is how many ones she has left, and when her own place comes.
    """
    total = np.zeros(true.size, dtype=np.int64)
    parts = -(-int(true.sum()) // _MOST)
    for i in range(parts):
        some = true // parts + (i < true % parts)
        kept = rng.binomial(some, own)
        total += kept
        for people, left in ((kept, size - 1), (some - kept, size)):
            total += _filled(people, left, rng)
    return total


def _filled(people: I64, ones: int, rng: np.random.Generator) -> I64:
    """Sums of uniform subsets of k - 1 places, with the last category in the true one's place."""
    k = people.size
    total = np.zeros(k, dtype=np.int64)
    waiting, done = np.zeros(ones + 1, dtype=np.int64), np.zeros(ones + 1, dtype=np.int64)
    waiting[ones] = people.sum()  # by the number of ones left; done: whose own place has passed
    low, high = ones, ones + 1  # of the numbers of ones that anybody has left
    for j in range(k - 1):
        low, at = max(low - 1, 0), slice(max(low - 1, 0), high)
        own = rng.multivariate_hypergeometric(waiting[at], int(people[j]), method="marginals")
        waiting[at] -= own
        chance = np.minimum(np.arange(at.start, high) / (k - 1 - j), 1.0)
        for state, place in ((waiting[at], j), (done[at], j), (own, k - 1)):
            hits = rng.binomial(state, chance)
            total[place] += hits.sum()
            state -= hits
            state[:-1] += hits[1:]
        done[at] += own
        there = np.flatnonzero(waiting[at] + done[at])
        if not there.size:
            break
        low, high = at.start + int(there[0]), at.start + int(there[-1]) + 1
    return total


# -- Epsilon that the integers of a sampler realise -----------------------------------------------


def realised_epsilon_rows(rows: IntegerRows, among: Any = slice(None)) -> float:
    """Return the epsilon that `sample_rows` realises, in nats, of some outputs or of all."""
    n_outputs = 1 + max(int(outputs[-1]) for outputs in rows.outputs)
    seen = np.zeros(n_outputs, dtype=np.int64)
    high, low = np.zeros(n_outputs, dtype=np.uint64), np.full(n_outputs, ALL)
    for y, upper in zip(rows.outputs, rows.upper, strict=True):
        less_one = upper.copy()  # weights minus one: 2**64 itself has no 64-bit integer
        less_one[1:] -= upper[:-1] + np.uint64(1)
        seen[y] += 1
        high[y], low[y] = np.maximum(high[y], less_one), np.minimum(low[y], less_one)
    drawn = np.zeros(n_outputs, dtype=bool)
    drawn[among] = seen[among] > 0
    if np.any(seen[drawn] < len(rows.upper)):
        return math.inf
    # a difference of equal weights is zero; one more than each weight, as above
    ratio = np.log1p((high - low)[drawn] / (low[drawn] + 1.0))
    return float(ratio.max(initial=0.0))


# -- Sources of uniform 64-bit words --------------------------------------------------------------
# A sampler consumes words and never asks where they come from. A simulation draws them from the
# caller's `numpy.random.Generator`; a respondent's client draws them from the operating system.


Words = Callable[[int], npt.NDArray[np.uint64]]
"""``words(n)`` returns a fresh array of n independent uniform 64-bit words."""

BULK = 1 << 15
"""A request of at least this many words makes a simulation turn to the interleaved streams."""

_SECONDS = 4e-9  # of numpy, for a word of the streams


class SimulationWords:
    """A source of words that is a function of a generator alone; see `simulation_words`."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._streams: Streams | CompiledStreams | None = None

    def __call__(self, n: int) -> npt.NDArray[np.uint64]:
        if self._streams is None and n < BULK:
            return self._rng.integers(0, 2**64, dtype=np.uint64, size=n)
        return self.streams(n)(n)

    def streams(self, n: int) -> Streams | CompiledStreams:
        """Return the streams, which answer every later request too, for n words of them.

        They are compiled from where that repays loading the loops; both give the same words.
        """
        here = self._streams
        if (here is None or isinstance(here, Streams)) and repaid("words", n * _SECONDS):
            from ldpstats.kernels.words import CompiledStreams

            self._streams = CompiledStreams(*(here.position if here else (self._key(), 0)))
        elif here is None:
            self._streams = Streams(self._key())
        assert self._streams is not None
        return self._streams

    def _key(self) -> npt.NDArray[np.uint64]:
        """The first a, b, c of each stream."""
        return self._rng.integers(0, 2**64, dtype=np.uint64, size=(3, LANES))


def simulation_words(rng: np.random.Generator) -> SimulationWords:
    """Return a source of words that is a function of `rng` alone, and of the requests.

    `rng` itself answers until a request reaches `BULK` words. From then on 64 interleaved SFC64
    streams, keyed once by `rng`, answer: compiled, eight times faster than `rng`.
    """
    given: object = rng
    if not isinstance(given, np.random.Generator):
        seed = given if isinstance(given, int) else "seed"
        raise InvalidArgument(
            "rng", given, f"must be a numpy.random.Generator, as in np.random.default_rng({seed})"
        )
    return SimulationWords(given)


def system_words(entropy: Callable[[int], bytes] | None = None) -> SystemWords:
    """Return a source of words for real collection, from the operating system."""
    source: Any = os.urandom if entropy is None else entropy
    if not callable(source):
        raise InvalidArgument("entropy", entropy, "must be a function of n that returns n bytes")
    return SystemWords(source)


def entropy_of(words: Words) -> Callable[[int], bytes]:
    """Return the bytes of a source of words: `system_words` of them gives the same words."""
    return lambda n: words(-(-n // 8)).astype("<u8").tobytes()[:n]


@dataclass(frozen=True)
class SystemWords:
    """Words from a source of bytes; a class, so that a collector can go to another process."""

    source: Callable[[int], bytes]

    def __call__(self, n: int) -> npt.NDArray[np.uint64]:
        return np.frombuffer(self.bytes(8 * n), dtype="<u8").astype(np.uint64)

    def next(self) -> int:
        """The next word, for the draws of `ldpstats.clients.portable`."""
        return int.from_bytes(self.bytes(8), "little")

    def bytes(self, n: int) -> bytes:
        """The next n bytes."""
        try:
            raw: object = self.source(n)
        except (TypeError, ValueError, LookupError, ArithmeticError, RuntimeError) as error:
            why = f"raised {type(error).__name__} when asked for {n} bytes"
            raise InvalidArgument("entropy", self.source, f"{why}: it must return them") from error
        if not isinstance(raw, bytes) or len(raw) != n:
            got = f"{len(raw)} bytes" if isinstance(raw, bytes) else type(raw).__name__
            remedy = f"must return exactly the {n} bytes asked for, not {got}"
            raise InvalidArgument("entropy", self.source, remedy)
        return raw
