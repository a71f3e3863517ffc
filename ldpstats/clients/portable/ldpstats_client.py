"""A respondent's client of ldpstats: one file, the standard library of Python 3.9 or later.

It takes true answers on the respondent's device, and gives privatised reports, which are all that
leaves it. What it does is written in ldpstats/clients/SPECIFICATION.md, whose numbers of sections
stand below. It opens no connection, writes no file but the state file that it is told to keep, and
shows no answer in an error.

In a program:

    client = Client(json.load(open("client.json")), state="client.state")
    client.report("nurse")                       # of a mechanism
    client.report({"job": "nurse", "ill": "no"})  # of a questionnaire, to what client.asked says
    client.message({"job": "nurse", "ill": "no"})  # the same, as a collector takes it

On a command line (answers come from standard input, since arguments show in lists of processes):

    echo nurse | python ldpstats_client.py client.json --state client.state
    echo '{"job": "nurse", "ill": "no"}' | python ldpstats_client.py client.json --message
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import math
import os
import secrets
import struct
import sys
import threading
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import groupby, zip_longest
from typing import Any, NamedTuple

VERSION = 1
W = 1 << 64
LOW = (1 << 32) - 1
SECRET_BYTES = 32
MOST_BITS = 1 << 24
MOST_RANKS = 1 << 24  # numbers that are ranked for one report
MOST_TRIES = 1 << 20  # of one step: a good source needs a few

Draw = Callable[[int, "Words"], int]  # the number of a report, from the number of an answer
Label = Callable[[int, int, bool], int]  # label number n of an answer's own, or of the others


class Refused(ValueError):
    """No report is made. `reason` is one of section 11, or "state" for a state file."""

    def __init__(self, reason: str, why: str) -> None:
        super().__init__(f"{why} ({reason})")
        self.reason = reason


# --- Random words (section 1) ---------------------------------------------------------------------


class Words:
    """The words of a device's random source: ``entropy(n)`` gives its next n bytes."""

    __slots__ = ("_entropy",)

    def __init__(self, entropy: Callable[[int], bytes] = os.urandom) -> None:
        self._entropy = entropy

    def next(self) -> int:
        """NEXT()."""
        return int.from_bytes(self.bytes(8), "little")

    def bytes(self, n: int) -> bytes:
        try:
            found = self._entropy(n)
        except Exception:
            found = b""
        if type(found) is not bytes or len(found) != n:
            raise Refused(
                "random", "the random source did not give the bytes that it was asked for"
            )
        return found


def stuck() -> Refused:
    return Refused("random", "a step was drawn again and again: the random source is broken")


# --- Elementary draws (section 3) -----------------------------------------------------------------


def keep(x: int, k: int, t: int, words: Words, rest: tuple[int, int] = (0, 1)) -> int:
    """KEEP: x with probability (t + rest) / W, else one of 0 .. k-1."""
    high, low = divmod(words.next(), 1 << 32)
    kept = high < t >> 32
    if high == t >> 32:
        further = words.next() >> 32
        kept = further < t & LOW or (further == t & LOW and below(*rest, words))
    product, tries = low * k, 0
    while not kept and product & LOW < (1 << 32) % k:
        if (tries := tries + 1) > MOST_TRIES:
            raise stuck()
        product = (words.next() & LOW) * k
    return (product >> 32, x)[kept]


def uniform(k: int, words: Words) -> int:
    """UNIFORM: one of 0 .. k-1."""
    return keep(0, k, 0, words)


def below(numerator: int, denominator: int, words: Words) -> bool:
    """BELOW: true with probability numerator / denominator."""
    while 0 < numerator < denominator:
        numerator = numerator * W - words.next() * denominator
    return numerator > 0


def coins(n: int, t: int, words: Words) -> int:
    """COINS: n words, in one number, of bits that are 1 with probability t / W each."""
    if t in (0, W):
        return (1 << 64 * n) - 1 if t else 0
    digits = f"{t:064b}".rstrip("0")[:12]
    out = tied = 0
    for start in range(0, n, 4096):
        size = min(4096, n - start)
        rows = words.bytes(8 * size * len(digits))
        found, left = 0, (1 << 64 * size) - 1
        for i, digit in enumerate(digits):
            row = int.from_bytes(rows[8 * size * i : 8 * size * (i + 1)], "little")
            if digit == "1":
                found |= left & ~row
            left &= row
        out |= found << 64 * start
        tied |= left << 64 * start
    t = (t << 12) % W
    if t and tied:
        ties = split(tied, n)
        places = [j for j, word in enumerate(ties) if word]
        again = split(coins(len(places), t, words), len(places))
        more = [0] * n
        for i, j in enumerate(places):
            more[j] = ties[j] & again[i]
        out |= int.from_bytes(struct.pack(f"<{n}Q", *more), "little")
    return out


def split(number: int, n: int) -> tuple[int, ...]:
    """The n words of a number, the lowest first."""
    return struct.unpack(f"<{n}Q", number.to_bytes(8 * n, "little"))


def coin(t: int, words: Words) -> bool:
    """COIN: true with probability t / W."""
    return bool(coins(1, t, words) & 1)


Groups = list[tuple[int, int, int, int]]


def groups_of(thresholds: Sequence[int]) -> Groups:
    """Different thresholds of bits, in increasing order: their first byte, words, and bits."""
    found = []
    if len(set(thresholds)) == 1:
        n = len(thresholds)
        return [(thresholds[0], 0, (n + 63) // 64, (1 << n) - 1)]
    order = sorted(range(len(thresholds)), key=thresholds.__getitem__)
    for t, places in groupby(order, key=thresholds.__getitem__):
        bits_of_t = list(places)
        first, last = bits_of_t[0] // 8, bits_of_t[-1] // 8
        mask = bytearray(last - first + 1)
        for j in bits_of_t:
            mask[j // 8 - first] |= 1 << j % 8
        found.append((t, first, (last - first + 8) // 8, int.from_bytes(mask, "little")))
    return found


def bits(places: Sequence[int], own: Sequence[int], other: Groups, words: Words) -> int:
    """BITS, in one number, bit j of value 2^j."""
    found = 0
    for t, first, size, mask in other:
        found |= (coins(size, t, words) & mask) << 8 * first
    for p in places:
        bit = coins(1, own[p], words) >> 7 & 1
        found = found & ~(1 << p) | bit << p
    return found


def shown(number: int, m: int) -> str:
    """m bits as text, bit 0 first."""
    return f"{number:0{m}b}"[::-1] if m else ""


def number_below(b: int, words: Words) -> int:
    """NUMBER: one of 0 .. b-1, from whole words."""
    for _ in range(MOST_TRIES):
        if (word := words.next()) < W - W % b:
            return word % b
    raise stuck()


class Inversion:
    """INVERSION: outcomes by their cumulative probabilities (upper + rest / total) / W."""

    def __init__(self, law: Fields) -> None:
        self.upper, self.rest = law.thresholds("upper"), [whole(r) for r in law.items("rest")]
        self.total = law.whole("total", 1)
        law.must(len(self.upper) == len(self.rest) and max(self.upper, default=0) < W)
        law.must(max(self.rest, default=0) <= self.total)
        ends = list(zip(self.upper, self.rest))  # noqa: B905 (Python 3.9)
        law.must(ends == sorted(ends))

    def __call__(self, words: Words) -> int:
        word = words.next()
        a, z = bisect_left(self.upper, word), bisect_right(self.upper, word)
        return a + reached(self.rest[a:z], self.total, words)

    def weights(self) -> list[int]:
        """The weights of the outcomes, of W times `total`."""
        pairs = zip(self.upper, self.rest)  # noqa: B905
        ends = [*(u * self.total + r for u, r in pairs), W * self.total]
        return [b - a for a, b in zip([0, *ends], ends)]  # noqa: B905


def reached(rest: list[int], total: int, words: Words) -> int:
    """REACHED: how many of the fractions rest / total a uniform number reaches."""
    n = 0
    while rest:
        word = words.next()
        digits = [r * W // total for r in rest]
        a, z = bisect_left(digits, word), bisect_right(digits, word)
        rest = [r * W - word * total for r in rest[a:z]]
        done = bisect_right(rest, 0)
        n, rest = n + a + done, rest[done:]
    return n


# --- Fields of documents (section 2) --------------------------------------------------------------


def whole(value: Any) -> int:
    """A whole number in text."""
    if type(value) is str and value.isascii() and value.isdigit() and len(value) < 4300:
        if value == "0" or value[0] != "0":
            return int(value)
    raise Refused("document", "the client document has a wrong number")


def threshold(value: Any) -> int:
    """A threshold, from 0 to W."""
    if type(value) is str and whole(value) <= W:
        return int(value)
    raise Refused("document", "the client document has a wrong threshold")


class Fields:
    """The fields of an object in a client document; they are refused where they are wrong."""

    def __init__(self, value: Any) -> None:
        if type(value) is not dict:
            raise Refused("document", "the client document lacks an object")
        self.value: dict[str, Any] = value

    def __getitem__(self, name: str) -> Any:
        self.must(name in self.value)
        return self.value[name]

    def must(self, right: bool) -> None:
        if not right:
            raise Refused("document", "the client document is damaged, or of another version")

    def inner(self, name: str) -> Fields:
        return Fields(self[name])

    def text(self, name: str) -> str:
        self.must(type(self[name]) is str)
        return str(self[name])

    def items(self, name: str) -> list[Any]:
        self.must(type(self[name]) is list)
        return list(self[name])

    def number(self, name: str, low: int = 1, high: int = LOW) -> int:
        """A JSON integer from `low` to `high`."""
        value = self[name]
        self.must(type(value) is int and low <= value <= high)
        return int(value)

    def numbers(self, name: str, size: int) -> list[int]:
        """A list of numbers below `size`."""
        found = self.items(name)
        self.must(all(type(n) is int and 0 <= n < size for n in found))
        return found

    def whole(self, name: str, low: int = 0, as_number: bool = False) -> int:
        """A whole number in text, or also as a JSON integer."""
        value = self[name] if as_number and type(self[name]) is int else whole(self[name])
        self.must(low <= value)
        return value

    def threshold(self, name: str) -> int:
        return threshold(self[name])

    def thresholds(self, name: str, n: int | None = None) -> list[int]:
        """A list of thresholds; of n, for which one may stand, where n is given."""
        if n is not None and type(self[name]) is str:
            return [self.threshold(name)] * n
        found = [threshold(t) for t in self.items(name)]
        self.must(n is None or len(found) == n)
        return found

    def fraction(self, value: Any) -> tuple[int, int]:
        """A fraction: two texts."""
        self.must(type(value) is list and len(value) == 2)
        top, bottom = whole(value[0]), whole(value[1])
        self.must(bottom > 0)
        return top, bottom

    def texts(self, name: str) -> Texts:
        return Texts(self[name])


class Texts:
    """A list of texts: an array of them, or a number k that stands for 0 .. k-1 (section 2.1)."""

    def __init__(self, value: Any) -> None:
        fields = Fields({"texts": value})
        if type(value) is int:
            self.size = fields.number("texts", 1)
            self._texts: list[str] = []
            self._places: dict[str, int] = {}
            return
        self._texts = fields.items("texts")
        fields.must(all(type(text) is str for text in self._texts))
        self._places = {text: i for i, text in enumerate(self._texts)}
        self.size = len(self._texts)
        fields.must(0 < len(self._places) == self.size)

    def __getitem__(self, i: int) -> str:
        return self._texts[i] if self._texts else str(i)

    def place(self, text: Any) -> int:
        """The number of a text; -1 if it is none of them."""
        if type(text) is not str:
            return -1
        if self._texts:
            return self._places.get(text, -1)
        if not (text.isascii() and text.isdigit() and len(text) < 11):
            return -1
        i = int(text)
        return i if i < self.size and str(i) == text else -1

    def answer(self, text: Any) -> int:
        """The number of an answer, or a refusal."""
        if (x := self.place(text)) < 0:
            raise Refused("answer", "this is not an answer to the question")
        return x


# --- What a report spends (section 5.5) -----------------------------------------------------------
# Epsilon is the largest logarithm of two probabilities of one report, for two answers or more; inf
# where a report can tell for certain.


def log_ratio(a: int, b: int) -> float:
    """ln(a / b) of two numbers that are not negative; 0 where both are 0."""
    if a < b:
        return -log_ratio(b, a)
    if b == 0:
        return math.inf if a else 0.0
    if a >> 1000 > b:  # a quotient that no float holds
        return math.log(a) - math.log(b)
    return math.log1p((a - b) / b) if a < 2 * b else math.log(a / b)


def widest(columns: Iterable[Sequence[Any]]) -> float:
    """The largest log ratio of two probabilities of one column; they are integers, or fractions."""
    found = 0.0
    for column in columns:
        top, low = max(column), min(column)
        ratio = log_ratio(top.numerator * low.denominator, low.numerator * top.denominator)
        found = max(found, ratio)
    return found


def farthest(bits_of: Sequence[tuple[float, float]]) -> float:
    """Bits whose probability of being what they are may rise and fall so much: two of them."""
    by_rise = sorted(range(len(bits_of)), key=lambda i: -bits_of[i][0])[:2]
    by_fall = sorted(range(len(bits_of)), key=lambda i: -bits_of[i][1])[:2]
    return max(bits_of[i][0] + bits_of[j][1] for i in by_rise for j in by_fall if i != j)


def rise_and_fall(own: int, other: int, total: int = W) -> tuple[float, float]:
    """How much likelier, and less likely, a bit of an answer's own may be than another's bit."""
    ones, zeros = log_ratio(own, other), log_ratio(total - own, total - other)
    return max(ones, zeros), max(-ones, -zeros)


def weights(upper: Sequence[int]) -> list[int]:
    """The weights of outcomes, of W."""
    ends = [u + 1 for u in upper]
    return [b - a for a, b in zip([0, *ends], ends)]  # noqa: B905


# --- Draws of labels (sections 5.1 and 5.2) -------------------------------------------------------
# Each function reads the fields of a kind for n answers.


class Opened(NamedTuple):
    """A draw that was opened."""

    size: int  # how many reports there are, or bits that are sent
    draw: Draw
    spent: Callable[[], float]  # epsilon
    shows: bool = False  # whether a report can be the proof of an answer that is not protected


def open_same(fields: Fields, n: int) -> Opened:
    return Opened(n, lambda x, words: x, lambda: math.inf, n > 1)


def open_keep(fields: Fields, n: int) -> Opened:
    k, t = fields.number("k", n), fields.threshold("keep")
    rest = fields.fraction(fields["rest"]) if "rest" in fields.value else (0, 1)
    fields.must(rest[0] < rest[1])
    kept, all_ = t * rest[1] + rest[0], W * rest[1]
    return Opened(
        k,
        lambda x, words: keep(x, k, t, words, rest),
        lambda: log_ratio(all_ + (k - 1) * kept, max(all_ - kept, 0)),
    )


def open_rows(fields: Fields, n: int) -> Opened:
    rows, most = [], 0
    for row in map(Fields, fields.items("rows")):
        upper = row.thresholds("upper")
        outputs = row.numbers("outputs", LOW) if "outputs" in row.value else None
        row.must(upper == sorted(upper) and upper[-1:] == [W - 1])
        row.must(outputs is None or len(outputs) == len(upper))
        most = max(most, len(upper) if outputs is None else max(outputs) + 1)
        rows.append((upper, outputs))
    fields.must(len(rows) == n)

    def draw(x: int, words: Words) -> int:
        upper, outputs = rows[x]
        y = bisect_left(upper, words.next())
        return y if outputs is None else outputs[y]

    def spent() -> float:
        columns: dict[int, dict[int, int]] = {}
        for x, (upper, outputs) in enumerate(rows):
            for y, weight in zip(outputs or range(len(upper)), weights(upper)):  # noqa: B905
                column = columns.setdefault(y, {})
                column[x] = column.get(x, 0) + weight
        return widest([*column.values(), *[0] * (len(column) < n)] for column in columns.values())

    return Opened(most, draw, spent)


def open_exact(fields: Fields, n: int) -> Opened:
    rows = [Inversion(Fields(row)) for row in fields.items("rows")]
    fields.must(len(rows) == n)

    def spent() -> float:
        chances = ([Fraction(w, row.total) for w in row.weights()] for row in rows)
        return widest(zip_longest(*chances, fillvalue=Fraction(0)))

    return Opened(1 + max(len(row.upper) for row in rows), lambda x, words: rows[x](words), spent)


def open_own(fields: Fields, n: int) -> Opened:
    law = Inversion(fields.inner("law"))

    def draw(x: int, words: Words) -> int:
        i = law(words)
        return x if i == 0 else i - 1

    def spent() -> float:
        own, *others = law.weights()
        others += [0] * (n - len(others))
        return widest((own + weight, weight) for weight in others[:n])

    return Opened(max(n, len(law.upper)), draw, spent)


def open_others(fields: Fields, n: int) -> Opened:
    law = Inversion(fields.inner("law"))
    accepted = [fields.fraction(pair) for pair in fields.items("accepted")]
    fields.must(len(accepted) == n)

    def draw(x: int, words: Words) -> int:
        numerator, denominator = accepted[x]
        bound = min(numerator * W // denominator, W - 1)
        for _ in range(MOST_TRIES):
            y = law(words)
            if y != x:
                return y
            word = words.next()
            if word < bound:
                return y
            if word == bound and below(numerator * W - bound * denominator, denominator, words):
                return y
        raise stuck()

    def spent() -> float:
        every = law.weights()
        every += [0] * (n - len(every))
        chances = [min(Fraction(*pair), Fraction(1)) for pair in accepted]
        ends = [sum(every) - every[x] * (1 - chances[x]) for x in range(n)]  # a try gives a report
        if not min(ends):
            return math.inf
        order = sorted(range(n), key=ends.__getitem__)
        far = {*order[:2], *order[-2:]}  # of all answers but one, whichever that is
        columns = [[1 / ends[x] for x in far if x != y] for y in range(len(every))]
        for x in range(n):
            columns[x].append(chances[x] / ends[x])
        return widest(column for column, weight in zip(columns, every) if weight)  # noqa: B905

    return Opened(1 + len(law.upper), draw, spent)


def open_band(fields: Fields, n: int) -> Opened:
    k, width, t = fields.number("k", n), fields.number("width"), fields.threshold("keep")
    size = k + width - 1

    def draw(x: int, words: Words) -> int:
        kept = coin(t, words)
        near = x + uniform(width, words)
        anywhere = uniform(size, words)
        return (anywhere, near)[kept]

    other = (W - t) * width
    return Opened(size, draw, lambda: log_ratio(t * size + other, other))


def open_replace(fields: Fields, n: int) -> Opened:
    t, by = fields.threshold("keep"), fields.numbers("by", LOW)
    upper = fields.inner("law").thresholds("upper") if "law" in fields.value else None
    fields.must(bool(by) or t == W)
    if upper is not None:
        fields.must(upper == sorted(upper) and upper[-1:] == [W - 1] and len(upper) == len(by))

    def draw(x: int, words: Words) -> int:
        words.next()
        if coin(t, words):
            return x
        if upper is not None:
            return by[bisect_left(upper, words.next())]
        return by[uniform(len(by), words)]

    own = {y for y in by if y < n}

    def spent() -> float:
        """Of the answers that `by` has: others are sent as they are."""
        shares = weights(upper) if upper is not None else [1] * len(by)
        of_answer = dict.fromkeys(own, 0)
        for y, share in zip(by, shares):  # noqa: B905
            if y < n:
                of_answer[y] += share
        if not own:
            return math.inf if t else 0.0
        lowest = min(of_answer.values()) * (W - t)
        return log_ratio(t * sum(shares) + lowest, lowest)

    return Opened(max([n - 1, *by]) + 1, draw, spent, n > 1 and t > 0 and len(own) < n)


def open_block(fields: Fields, n: int) -> Opened:
    own, others = (fields.whole(name, 1, True) for name in ("own", "others"))
    t, design = fields.threshold("keep"), fields.inner("design")
    fields.must(max(own, others) <= W)
    opened: tuple[int, Label] = open_part(_DESIGNS, design)(design, n, own, others)
    size, label = opened

    def draw(x: int, words: Words) -> int:
        kept = coin(t, words)
        return label(x, number_below(own if kept else others, words), kept)

    return Opened(size, draw, lambda: abs(log_ratio(t * others, (W - t) * own)))


def open_single(design: Fields, n: int, own: int, others: int) -> tuple[int, Label]:
    design.must(own == 1 and n <= others + 1)
    return others + 1, lambda x, number, is_own: x if is_own else number + (number >= x)


def open_hadamard(design: Fields, n: int, own: int, others: int) -> tuple[int, Label]:
    b = design.number("order", 2)
    parts, left = divmod(others + b // 2, b)
    design.must(b & (b - 1) == 0 and own == b // 2 and left == 0 and n <= parts * (b - 1))

    def parity(row: int, number: int, e: int) -> int:
        low = row & -row
        y = number % low + number // low * low * 2
        return y + low * (bin(row & y).count("1") % 2 != e)

    def label(x: int, number: int, is_own: bool) -> int:
        part, row = x // (b - 1), x % (b - 1) + 1
        far = number - b // 2
        if is_own or far < 0:
            return part * b + parity(row, number, 0 if is_own else 1)
        return far + b * (far >= part * b)

    return parts * b, label


def open_projective(design: Fields, n: int, own: int, others: int) -> tuple[int, Label]:
    q, t = design.number("q", 2), design.number("t", 2, 64)
    size = (q**t - 1) // (q - 1)
    design.must(all(q % d for d in range(2, math.isqrt(q) + 1)))
    design.must(own == (q ** (t - 1) - 1) // (q - 1) and others == q ** (t - 1) and n <= size)

    def digits(number: int, length: int) -> list[int]:
        return [number // q**i % q for i in range(length)]

    def start(j: int) -> int:
        return int(q**j - 1) // (q - 1)

    def point(number: int, length: int) -> list[int]:
        j = max(j for j in range(length) if start(j) <= number)
        return [*digits(number - start(j), j), 1, *[0] * (length - j - 1)]

    def label(x: int, number: int, is_own: bool) -> int:
        X = point(x, t)
        j = max(i for i in range(t) if X[i])
        F = point(number, t - 1) if is_own else digits(number, t - 1)
        V = [*F[:j], 0, *F[j:]]
        V[j] = (0 if is_own else 1) - sum(a * b for a, b in zip(X, V))  # noqa: B905
        V[j] %= q
        last = max(i for i in range(t) if V[i])
        inverse = pow(V[last], -1, q)
        return start(last) + int(sum(V[i] * inverse % q * q**i for i in range(last)))

    return size, label


def open_parts(fields: Fields, n: int) -> Opened:
    parts: list[tuple[int, int, Draw]] = []
    answers = reports = 1
    spent: list[Callable[[], float]] = []
    for part in map(Fields, fields.items("parts")):
        k, m = part.number("answers"), part.number("reports")
        size, draw_part, spent_part, shows = open_draw(_LABELS, part.inner("draw"), k)
        part.must(size <= m)
        parts.append((k, m, draw_part))
        spent.append((lambda: math.inf) if shows else spent_part)
        answers, reports = answers * k, reports * m
    fields.must(answers == n)

    def draw(x: int, words: Words) -> int:
        numbers = []
        for k, _, _ in reversed(parts):
            numbers.append(x % k)
            x //= k
        y = 0
        for (_, m, draw_part), number in zip(parts, reversed(numbers)):  # noqa: B905
            y = y * m + draw_part(number, words)
        return y

    return Opened(reports, draw, lambda: sum(one() for one in spent))


_DESIGNS: dict[str, Any] = {
    "single": open_single,
    "hadamard": open_hadamard,
    "projective": open_projective,
}
Kinds = dict[str, Callable[["Fields", int], "Opened"]]
_LABELS: Kinds = {
    "same": open_same,
    "keep": open_keep,
    "rows": open_rows,
    "exact": open_exact,
    "own": open_own,
    "others": open_others,
    "band": open_band,
    "replace": open_replace,
    "block": open_block,
    "parts": open_parts,
}


def open_part(kinds: dict[str, Any], fields: Fields) -> Any:
    """What opens the `kind` of an object."""
    kind = fields.text("kind")
    fields.must(kind in kinds)
    return kinds[kind]


def open_draw(kinds: Kinds, fields: Fields, n: int) -> Opened:
    """The draw of one of the kinds; nothing can be told of one answer alone."""
    opened: Opened = open_part(kinds, fields)(fields, n)
    return opened if n > 1 else opened._replace(spent=lambda: 0.0)


# --- Draws of bits (section 5.3) ------------------------------------------------------------------
# As above; the draw returns the bits in one number.


def open_bits(fields: Fields, n: int) -> Opened:
    m = fields.number("bits", n, MOST_BITS)
    own, other = fields.thresholds("own", m), fields.thresholds("other", m)
    sent, groups = fields.number("sent", 1, m), groups_of(other)
    mask, shown_ = (1 << sent) - 1, min(n, sent)

    def spent() -> float:
        alike = type(fields["own"]) is type(fields["other"]) is str
        pairs = zip(own[: 2 if alike else shown_], other[:shown_])  # noqa: B905
        found = []
        for pair, times in Counter(pairs).items():
            found += [rise_and_fall(*pair)] * min(times, 2)
        return farthest(found + [(0.0, 0.0)] * min(n - shown_, 2))

    return Opened(sent, lambda x, words: bits((x,), own, groups, words) & mask, spent)


def open_subset(fields: Fields, n: int) -> Opened:
    k, size, t = fields.number("k", n), fields.number("size"), fields.threshold("keep")
    fields.must(size < k)

    def chosen(places: int, ones: int, words: Words) -> int:
        for _ in range(max(64, MOST_TRIES // k)):
            raw = words.bytes(8 * ((places + 1) // 2))
            keys = [int.from_bytes(raw[4 * i : 4 * i + 4], "little") for i in range(places)]
            ranked = sorted(keys)
            border = ranked[ones - 1] if ones else -1
            if bisect_right(ranked, border) == ones:
                return int("".join("01"[key <= border] for key in reversed(keys)), 2)
        raise stuck()

    def draw(x: int, words: Words) -> int:
        own = coin(t, words)
        found = chosen(k - 1, size - own, words)
        found |= (found >> x & 1) << k - 1
        return found & ~(1 << x) | own << x

    return Opened(k, draw, lambda: abs(log_ratio(t * (k - size), (W - t) * size)))


def open_reveal(fields: Fields, n: int) -> Opened:
    sensitive = fields.numbers("sensitive", n)
    own, other = fields.thresholds("own"), fields.thresholds("other")
    told, s = fields.threshold("told"), len(sensitive)
    fields.must(sensitive == sorted(set(sensitive)) and len(own) == s == len(other))
    each, groups = [*own, told], groups_of([*other, 0])
    place = {x: p for p, x in enumerate(sensitive)}

    def draw(x: int, words: Words) -> int:
        words.next()
        drawn = bits((place.get(x, s),), each, groups, words)
        found = sum((drawn >> p & 1) << sensitive[p] for p in range(s))
        return found | (0 if x in place else drawn >> s) << x

    def spent() -> float:
        """Of the sensitive answers: another may be shown, and else its bits are those of others."""
        if s == 0 or (s < n and told == W):
            return math.inf if told else 0.0
        found, hidden = list(map(rise_and_fall, own, other)), log_ratio(W, W - told)
        return farthest(found + [(-hidden, hidden)] * min(n - s, 2))

    return Opened(n, draw, spent, told > 0 and s < n)


_BITS: Kinds = {"bits": open_bits, "subset": open_subset, "reveal": open_reveal}


# --- Hashes (section 6) ---------------------------------------------------------------------------


def mix64(z: int) -> int:
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % W
    z = (z ^ z >> 27) * 0x94D049BB133111EB % W
    return z ^ z >> 31


def hash_key(cohort: int, j: int) -> int:
    """K(c, j)."""
    return mix64(0x9E3779B97F4A7C15 * (65536 * cohort + j + 1) % W)


class Hash:
    """The cells of an answer in a cohort, and which answers there are."""

    def __init__(self, fields: Fields, answers: Any) -> None:
        self.kind = fields.text("hash")
        self.answers = None if answers is None else Texts(answers)
        self.cohorts, self.cells = fields.number("cohorts"), fields.number("cells")
        self.hashes = fields.number("hashes", 1, 65535)
        fields.must(self.kind in ("ldpstats", "md5", "permutation"))
        ranked = self.hashes * (self.answers.size if self.answers is not None else MOST_RANKS + 1)
        fields.must(self.kind != "permutation" or ranked <= MOST_RANKS)
        fields.must(self.kind != "md5" or (self.hashes <= 16 and self.cells <= 256))

    def spent(self, own: int, other: int, total: int = W) -> float:
        """Epsilon of bits of cells, which are 1 out of `total` where an answer owns them, or not.

        An answer owns one at least, and as many as it has hashes at most.
        """
        m = self.cells
        if m == 1 or (self.answers is not None and self.answers.size == 1):
            return 0.0
        more, less = sorted(rise_and_fall(own, other, total), reverse=True)
        most = min(self.hashes, m - 1)
        return most * more + min(self.hashes, m - most) * less

    def read(self, answer: str) -> str:
        """The answer, or a refusal."""
        if self.answers is not None:
            self.answers.answer(answer)
        return scalar_text(answer)

    def of(self, answer: str, cohort: int) -> list[int]:
        if self.kind == "permutation" and self.answers is not None:
            return self._permuted(self.answers.place(answer), self.answers.size, cohort)
        raw = answer.encode("utf-8")
        if self.kind == "md5":
            digest = hashlib.md5(cohort.to_bytes(4, "big") + raw, usedforsecurity=False).digest()
            return [byte % self.cells for byte in digest[: self.hashes]]
        head = int.from_bytes(hashlib.sha256(raw).digest()[:8], "little")
        mixed = (mix64(head ^ hash_key(cohort, j)) for j in range(self.hashes))
        return [(z >> 32) * self.cells >> 32 for z in mixed]

    def _permuted(self, x: int, size: int, cohort: int) -> list[int]:
        found: list[int] = []
        for j in range(self.hashes):
            key = hash_key(cohort, j)
            mine = mix64(x ^ key)
            cell = sum(mix64(i ^ key) < mine for i in range(size)) % self.cells
            found.append(found[0] if cell in found else cell)
        return found


def scalar_text(answer: Any) -> str:
    """A text of Unicode scalar values, which has a form in UTF-8."""
    if type(answer) is not str:
        raise Refused("answer", "an answer must be text")
    with contextlib.suppress(UnicodeEncodeError):
        answer.encode("utf-8")
        return answer
    raise Refused("answer", "an answer must not have half a character (a lone surrogate)")


# --- RAPPOR's secret (section 8) ------------------------------------------------------------------


def keyed_words(secret: bytes, message: bytes, n: int) -> list[int]:
    """The first n words of a message."""
    blocks = (
        hmac.digest(secret, message + i.to_bytes(8, "big"), "sha256") for i in range((n + 3) // 4)
    )
    return list(struct.unpack(f"<{n}Q", b"".join(blocks)[: 8 * n]))


def cohort_of(secret: bytes, cohorts: int) -> int:
    """The cohort of a device."""
    return keyed_words(secret, b"ldpstats cohort 1 %d" % cohorts, 1)[0] * cohorts // W


def pseudonym(secret: bytes, fields: Fields) -> str:
    """The token that a device sends in all waves of a linked questionnaire (section 10.2)."""
    asked = canonical({name: fields[name] for name in ("ask", "family", "questions")})
    message = b"ldpstats token 1 " + asked + bytes(8)
    return hmac.digest(secret, message, "sha256")[:16].hex()


def secret_of(secret: bytes, name: str) -> bytes:
    """The secret of a question that keeps responses, in a questionnaire (section 8)."""
    return hmac.digest(secret, b"ldpstats question 1 " + canonical(name) + bytes(8), "sha256")


def permanent_response(
    secret: bytes, head: str, answer: str, cells: Sequence[int], n: int, owned: int, absent: int
) -> list[bool]:
    """The n bits of the permanent response; `head` says cohort, threshold and digest."""
    message = f"ldpstats permanent 1 {head}\0".encode("ascii")
    message += hashlib.sha256(answer.encode("utf-8")).digest()
    own = set(cells)
    words = keyed_words(secret, message, n)
    return [word < (owned if j in own else absent) for j, word in enumerate(words)]


# --- Questions (sections 4 and 5) -----------------------------------------------------------------


class Question:
    """A question: `read` gives the form of an answer that `report` takes, or refuses it."""

    read: Any
    report: Any
    spent: Any  # epsilon of a report; of the answers that it protects, if some are not
    shows = False  # whether a report can be the proof of an answer that it does not protect

    def take_tags(self, tags: Any) -> None:
        """The respondent's own categories, which only questions of kind `personal` have."""
        if tags not in (None, {}):
            raise Refused("tags", "the question has no tags")


class Numbered(Question):
    """A question whose answers are listed: an answer x is a number."""

    def __init__(self, fields: Fields, extra: int = 0) -> None:
        self.answers, self.extra = fields.texts("answers"), extra
        self.places: dict[int, int] = {}  # of answers that have another number in the draw
        draw, reports = fields.inner("draw"), fields["reports"]
        self.bits = Fields(reports).number("bits", 1, MOST_BITS) if type(reports) is dict else None
        if self.bits is None:
            self.reports = Texts(reports)
        opened = open_draw(_BITS if self.bits else _LABELS, draw, self.answers.size + extra)
        size, self.draw, self.spent, self.shows = opened
        fields.must(size == self.bits if self.bits else size <= self.reports.size)

    def read(self, answer: Any) -> int:
        x = self.answers.answer(answer)
        return self.places.get(x, x)

    def report(self, x: int, words: Words) -> str:
        y = self.draw(x, words)
        return self.reports[y] if self.bits is None else shown(y, self.bits)


class Personal(Numbered):
    """A question some of whose answers are the respondent's own sensitive ones."""

    def __init__(self, fields: Fields) -> None:
        draw = fields.inner("draw")
        self.tags, inner = draw.texts("tags"), draw.inner("draw")
        draw.must(inner.text("kind") in ("replace", "reveal"))
        super().__init__(Fields({**fields.value, "draw": inner.value}), self.tags.size)

    def take_tags(self, tags: Any) -> None:
        why = "must be an object from tags of the question to lists of its answers, each in one"
        places: dict[int, int] = {}
        for tag, answers in _pairs(tags, why):
            i = self.tags.place(tag)
            found = [self.answers.place(text) for text in _listed(answers, why)]
            ours = self.answers.size + i
            if i < 0 or any(x < 0 or places.setdefault(x, ours) != ours for x in found):
                raise Refused("tags", why)
        self.places = places


class Plain(Question):
    """An answer that is sent as it is."""

    shows = True

    def spent(self) -> float:
        return math.inf

    def read(self, answer: Any) -> str:
        return scalar_text(answer)

    def report(self, x: str, words: Words) -> str:
        return x


class Hashed(Question):
    """An answer whose cells in a cohort, drawn for each report, are reported."""

    def __init__(self, fields: Fields) -> None:
        draw = fields.inner("draw")
        self.hash, then = Hash(draw, fields["answers"]), draw.inner("then")
        self.keep: int | None = None
        if then.text("kind") == "keep":
            self.keep = then.threshold("keep")
        else:
            then.must(then.text("kind") == "bits" and self.hash.cells <= MOST_BITS)
            self.bit = then.threshold("own"), then.threshold("other")
            self.own = self.bit[:1] * self.hash.cells
            self.other = groups_of(self.bit[1:] * self.hash.cells)

    def spent(self) -> float:
        if self.keep is None:
            return self.hash.spent(*self.bit)
        if self.hash.answers is not None and self.hash.answers.size == 1:
            return 0.0
        return log_ratio(W + (self.hash.cells - 1) * self.keep, W - self.keep)

    def read(self, answer: Any) -> str:
        return self.hash.read(answer)

    def report(self, x: str, words: Words) -> str:
        c, m = uniform(self.hash.cohorts, words), self.hash.cells
        cells = self.hash.of(x, c)
        if self.keep is not None:
            return f"{c}:{keep(cells[0], m, self.keep, words)}"
        return f"{c}:{shown(bits(cells, self.own, self.other, words), m)}"


class Rappor(Question):
    """An answer whose permanent response follows from the device's secret."""

    def __init__(self, fields: Fields) -> None:
        draw = fields.inner("draw")
        self.hash, self.digest = Hash(draw, fields["answers"]), draw.text("digest")
        draw.must(self.digest.isascii() and type(draw["once"]) is bool)
        draw.must(self.hash.cells <= MOST_BITS)
        self.owned, self.absent = draw.threshold("owned"), draw.threshold("absent")
        self.one, self.zero, self.once = draw.threshold("one"), draw.threshold("zero"), draw["once"]
        self.secret, self.cohort = b"", 0

    def spent(self) -> float:
        """Of the permanent response, which all reports come from; of the report, if it is one."""
        if not self.once:
            return self.hash.spent(self.owned, self.absent)
        own, other = (t * self.one + (W - t) * self.zero for t in (self.owned, self.absent))
        return self.hash.spent(own, other, W * W)

    def keep_secret(self, secret: bytes) -> None:
        self.secret, self.cohort = secret, cohort_of(secret, self.hash.cohorts)

    def read(self, answer: Any) -> str:
        return self.hash.read(answer)

    def report(self, x: str, words: Words) -> str:
        m, c = self.hash.cells, self.cohort
        head, cells = f"{c} {self.absent} {self.digest}", self.hash.of(x, c)
        R = permanent_response(self.secret, head, x, cells, m, self.owned, self.absent)
        groups = groups_of([self.one if bit else self.zero for bit in R])
        return f"{c}:{shown(bits((), (), groups, words), m)}"


class Kept(Question):
    """An answer whose response follows from the device's secret, and is reported with new noise."""

    def __init__(self, fields: Fields) -> None:
        draw = fields.inner("draw")
        self.answers, self.reports = fields.texts("answers"), fields.texts("reports")
        responses, first = draw.number("responses"), draw.inner("first")
        opened = open_draw({"rows": open_rows}, first, self.answers.size)
        then = open_draw(_LABELS, draw.inner("then"), responses)
        draw.must(opened.size <= responses and then.size <= self.reports.size)
        self._respond, self._then = opened.draw, then.draw
        self.spent = opened.spent  # all reports come from it
        law = {"answers": fields["answers"], "digest": draw.text("digest"), "first": first.value}
        self._head = b"ldpstats kept 1 " + hashlib.sha256(canonical(law)).digest()
        self.secret = b""

    def keep_secret(self, secret: bytes) -> None:
        self.secret = secret

    def read(self, answer: Any) -> int:
        return self.answers.answer(answer)

    def draw(self, x: int, words: Words) -> int:
        """The number of a report."""
        message = self._head + x.to_bytes(8, "big") + bytes(8)
        once = hmac.digest(self.secret, message, "sha256")
        return self._then(self._respond(x, Words(lambda n: once[:n])), words)

    def report(self, x: int, words: Words) -> str:
        return self.reports[self.draw(x, words)]


class Grams(Question):
    """A string of letters, of which two grams and the whole are reported."""

    def __init__(self, fields: Fields) -> None:
        fields.must(fields["answers"] is None and fields["reports"] is None)
        draw = fields.inner("draw")
        self.length, self.gram = draw.number("length", 1, 1 << 16), draw.number("gram")
        self.alphabet, self.pad = draw.text("alphabet"), draw.text("pad")
        self.replace = None if draw["replace"] is None else draw.text("replace")
        self.starts = range(0, self.length - self.gram + 1, draw.number("step"))
        draw.must(len(self.pad) == 1 and len(self.replace or "x") == 1 and len(self.starts) > 1)
        self.of_gram = open_question(draw.inner("gram_question"))
        self.of_string = open_question(draw.inner("string_question"))
        for inner in (self.of_gram, self.of_string):  # no secret is kept for them, nor tags
            draw.must(not isinstance(inner, (Rappor, Kept, Personal)))
        self.shows = self.of_gram.shows or self.of_string.shows

    def spent(self) -> float:
        return float(2 * self.of_gram.spent() + self.of_string.spent())

    def read(self, answer: Any) -> Any:
        text = scalar_text(answer)
        if not text:
            raise Refused("answer", "the answer is empty")
        if self.replace is not None:
            text = "".join(c if c in self.alphabet else self.replace for c in text)
        elif not all(c in self.alphabet for c in text):
            raise Refused("answer", "the answer has a character that is not in the alphabet")
        text = text[: self.length].ljust(self.length, self.pad)
        grams = [self.of_gram.read(text[i : i + self.gram]) for i in self.starts]
        return grams, self.of_string.read(text.rstrip(self.pad))

    def report(self, x: Any, words: Words) -> Any:
        i, j, left = 0, uniform(math.comb(len(self.starts), 2), words), len(self.starts) - 1
        while j >= left:
            i, j, left = i + 1, j - left, left - 1
        pair = i, i + 1 + j
        return {
            "positions": [self.starts[i] for i in pair],
            "grams": [self.of_gram.report(x[0][i], words) for i in pair],
            "string": self.of_string.report(x[1], words),
        }


_KINDS = {"hash": Hashed, "rappor": Rappor, "kept": Kept, "personal": Personal, "grams": Grams}


def open_question(fields: Fields) -> Question:
    """The question of an object with `answers`, `reports` and `draw`."""
    kind = fields.inner("draw").text("kind")
    fields.must("answers" in fields.value and "reports" in fields.value)
    question: Question
    if kind in _KINDS:
        question = _KINDS[kind](fields)
    else:
        plain = kind == "same" and fields["answers"] is None
        question = Plain() if plain else Numbered(fields)
    question.shows = question.shows or not fields.value.get("private", True)
    return question


def spent_of(questions: Iterable[Question], ask: int | None) -> float:
    """Epsilon of a report, or of the private questions of a sheet."""
    spent: list[float] = [question.spent() for question in questions]
    return sum(sorted(spent, reverse=True)[:ask])


def spent_document(document: dict[str, Any]) -> float:
    """Epsilon of a report of a document, or of a sheet."""
    asked = map(Fields, document.get("questions") or [document["question"]])
    private = (open_question(one) for one in asked if one.value.get("private", True))
    return spent_of(private, document.get("ask"))


def _pairs(value: Any, why: str) -> Any:
    if value is not None and type(value) is not dict:
        raise Refused("tags", why)
    return (value or {}).items()


def _listed(value: Any, why: str) -> list[Any]:
    if type(value) is not list and type(value) is not tuple:
        raise Refused("tags", why)
    return list(value)


# --- What a device keeps (section 9) --------------------------------------------------------------


class StateFile:
    """A file that is never rewritten: a JSON object on a line, then a full stop for each report.

    It is made before anything is reported, and a mark is on the disk before its report is given
    out, so that no crash, copy of the process, or second process can forget what was spent.
    """

    def __init__(self, path: Any) -> None:
        self.path = os.path.abspath(path)

    def refusal(self, remedy: str) -> Exception:
        return Refused("state", f"state={self.path!r} {remedy}")

    def opened(self, fresh: Callable[[], Any]) -> tuple[Any, Any]:
        """The object in the file, and how many reports have been marked.

        A `fresh` object is written first where there is no file. The file belongs to its user alone
        and appears complete or not at all: of several that make it at once, one does, and the
        others read that.
        """
        with self._failures():
            if os.path.exists(self.path) and not os.path.isfile(self.path):
                raise self.refusal("is no regular file: give the name of a file")
            if not os.path.lexists(self.path):
                self._create(self._content(fresh()))
            found = self._split(self._read())
            self.refuse_shared()
            return found

    def refuse_shared(self) -> None:
        """Refuse a file that others than its user may read or change, where a system says so."""
        mode = os.stat(self.path).st_mode & 0o777
        if os.name == "posix" and mode & 0o077:
            raise self.refusal(
                f"has the mode {mode:o}, and others may read or change it: chmod 600 it, and make "
                "a new one if somebody may have"
            )

    @contextlib.contextmanager
    def counting(self, document: dict[str, Any]) -> Iterator[tuple[int, Callable[[int], None]]]:
        """Give the number of reports so far, and the function that marks more of them.

        Others who use the file wait until the block ends. It must still hold the `document`.
        """
        with contextlib.ExitStack() as stack:
            with self._failures():
                # not buffered: what a full disk refuses must not be tried again on closing
                file = stack.enter_context(open(self.path, "r+b", buffering=0))
                stack.enter_context(_locked(file.fileno()))
                found, made = self._split(file.read())
            if found != document:
                raise self.refusal("is not the file that this client was made with: make it anew")

            def mark(more: int) -> None:
                with self._failures():
                    file.seek(0, os.SEEK_END)
                    while more:
                        more -= file.write(b"." * more)
                    os.fsync(file.fileno())

            yield made, mark

    def _content(self, document: Any) -> bytes:
        return json.dumps(document).encode("ascii") + b"\n"

    def _create(self, content: bytes) -> None:
        folder, name = os.path.split(self.path)
        temporary = os.path.join(folder, f".{name}.{secrets.token_hex(4)}")
        try:
            _write_new(temporary, content)
            try:
                os.link(temporary, self.path)
            except FileExistsError:
                return
            except OSError:  # a file system without links: others may find an empty file
                with contextlib.suppress(FileExistsError):
                    _write_new(self.path, content)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        _flush_folder(folder)

    def _read(self) -> bytes:
        """What is in the file; an empty one is being made, and is waited for."""
        deadline = time.monotonic() + 1.0
        while True:
            with open(self.path, "rb") as file:
                content = file.read()
            if content or time.monotonic() > deadline:
                return content
            time.sleep(0.01)

    def _split(self, content: bytes) -> tuple[Any, Any]:
        """The object and the number of marks."""
        if not content:
            raise self.refusal("is empty: remove it if nobody is making it, and try again")
        line, end, marks = content.partition(b"\n")
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict) or not end or marks.strip(b"."):
            raise self.refusal(
                "is no state of a client, or is damaged: if it cannot be restored, a new file "
                "starts a new lifetime of the respondent's budget"
            )
        return document, len(marks)

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (OSError, UnicodeEncodeError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise self.refusal(f"cannot be used ({reason}): nothing was reported") from None


def _write_new(path: str, content: bytes) -> None:
    """Write a file that must not exist yet, and wait until it is on the disk."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(path: str) -> None:
    """Wait until the names in a folder are on the disk, where the system can be asked to."""
    with contextlib.suppress(OSError):
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


@contextlib.contextmanager
def _locked(number: int) -> Iterator[None]:
    """Hold an open file alone, among all threads and processes."""
    if sys.platform == "win32":
        import msvcrt

        far = 1 << 30  # a byte that holds nothing: locked ones cannot be read
        os.lseek(number, far, os.SEEK_SET)
        msvcrt.locking(number, msvcrt.LK_LOCK, 1)
        os.lseek(number, 0, os.SEEK_SET)
        try:
            yield
        finally:
            os.lseek(number, far, os.SEEK_SET)
            msvcrt.locking(number, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(number, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(number, fcntl.LOCK_UN)


class Budget:
    """How many reports may be made (None: no limit), and how many were: in memory, or in a file."""

    def __init__(
        self,
        limit: int | None,
        file: StateFile | None = None,
        document: dict[str, Any] | None = None,
        before: int = 0,
    ) -> None:
        self.limit, self.file, self.before = limit, file, before
        self._document, self._made, self._process = document or {}, 0, os.getpid()
        # a thread that reports while it reports finds, after the inner report, that one was made
        self._lock = threading.RLock()
        self._busy: set[tuple[int, int]] = set()  # processes and threads

    def __repr__(self) -> str:
        return f"{type(self).__name__}(limit={self.limit})"

    @property
    def total(self) -> float:
        """Reports that are made in all, before and at most; inf without a limit."""
        return math.inf if self.limit is None else max(self.limit, self.before)

    def spend(
        self, draw: Callable[[], Any], reports: Callable[[Any], int] = lambda found: 1
    ) -> Any:
        """What `draw` returns, once the number of `reports` in it is counted.

        Nothing is given out that is not counted; where `draw` fails nothing is.
        """
        if self.file is not None:
            with self._alone(), self.file.counting(self._document) as (made, mark):
                return self._counted(draw, reports, made, mark)
        if self.limit is None:
            return draw()
        if os.getpid() != self._process:
            raise self.elsewhere()
        with self._lock:
            return self._counted(draw, reports, self._made, self._mark)

    def _counted(self, draw: Any, reports: Any, made: int, mark: Callable[[int], None]) -> Any:
        self._check(made, 1)
        found = draw()
        more = reports(found)
        self._check(max(made, self._made), more)
        mark(more)
        return found

    def _mark(self, more: int) -> None:
        self._made += more

    def _check(self, made: int, more: int) -> None:
        if self.limit is not None and made + more > self.limit:
            raise self.spent(max(self.limit - made, 0))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Refuse a report within a report of the same thread, which would wait for itself."""
        me = os.getpid(), threading.get_ident()
        if me in self._busy:
            raise self.within()
        self._busy.add(me)
        try:
            yield
        finally:
            self._busy.discard(me)

    def spent(self, left: int) -> Exception:
        return Refused("budget", f"reports={self.limit}: all were made, no further one is allowed")

    def elsewhere(self) -> Exception:
        return Refused(
            "budget", "this client was made in another process: make it where it is used"
        )

    def within(self) -> Exception:
        return Refused("budget", "a report of this client is being made: not from within it")


def kept_secret(document: dict[str, Any], file: StateFile) -> bytes:
    """The secret in a state."""
    kept = document.get("secret")
    if type(kept) is not str or len(kept) != 64 or set(kept) - set("0123456789abcdef"):
        raise file.refusal("has no secret, or a damaged one")
    return bytes.fromhex(kept)


def check_state(document: dict[str, Any], expected: dict[str, Any], file: StateFile) -> None:
    """Refuse a state with other fields than are expected."""
    if any(repr(document.get(name)) != repr(value) for name, value in expected.items()):
        raise file.refusal("is of another client: another survey needs another file")


# --- Invitations (section 10.1) -------------------------------------------------------------------

LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # 31, a prime number; none that looks like another
CODE_LENGTH = 20  # the last letter checks the others
_SKIPPED = dict.fromkeys([0x20, 0x2D, *range(0x2010, 0x2016)])  # the space, hyphens and dashes


def checked_with(letters: str) -> str:
    """The letters of an invitation code, and the one that checks them."""
    total = sum(i * LETTERS.index(letter) for i, letter in enumerate(letters, 1))
    return letters + LETTERS[total % len(LETTERS)]


def invitation_code(text: Any) -> str:
    """An invitation code in 20 letters, of one that may be typed in another way.

    Refused where a letter, or two that changed places, show that it was typed wrong.
    """
    code = text.translate(_SKIPPED) if type(text) is str else ""
    code = code.upper() if code.isascii() else ""
    if len(code) == CODE_LENGTH and not set(code) - set(LETTERS):
        if checked_with(code[:-1]) == code:
            return code
    raise Refused(
        "invitation",
        "the invitation code has a typing error: compare it with the one you were given",
    )


# --- The client -----------------------------------------------------------------------------------


def canonical(document: Any) -> bytes:
    """The canonical text of a document (section 2.4)."""
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")


def fingerprint(document: dict[str, Any]) -> str:
    """The fingerprint of a document (section 2.4)."""
    rest = {name: value for name, value in document.items() if name != "fingerprint"}
    return hashlib.sha256(canonical(rest)).hexdigest()[:12]


def checked_document(document: Any) -> Fields:
    """The fields of a client document of this version, with its own fingerprint."""
    fields = Fields(document)
    fields.must(fields["format"] == "ldpstats-client" and type(fields["version"]) is int)
    if fields["version"] != VERSION:
        raise Refused("document", f"the client document is not of version {VERSION}")
    try:
        fields.must(_is_exact(document) and fingerprint(document) == fields.text("fingerprint"))
    except (TypeError, ValueError, RecursionError):
        raise Refused("document", "the client document does not have its own fingerprint") from None
    return fields


def _is_exact(value: Any) -> bool:
    """Whether all in a document are JSON values other than fractions of numbers."""
    if type(value) is dict:
        return all(type(name) is str and _is_exact(inner) for name, inner in value.items())
    if type(value) is list:
        return all(map(_is_exact, value))
    if type(value) is int:
        return abs(value) < 1 << 53
    return value is None or type(value) in (str, bool)


def decimal(text: Any, reason: str) -> float:
    """A decimal number in text, or "inf"; not negative."""
    if type(text) is str and (text == "inf" or (text and set(text) <= set("0123456789.e+-"))):
        with contextlib.suppress(ValueError):
            if (value := float(text)) >= 0:
                return value
    raise Refused(reason, "an epsilon must be a decimal number, such as 1.5, or inf")


class TextReport(str):
    """The report of one question: a text that its client knows again by `mark`."""

    mark: object


class ObjectReport(dict[str, Any]):
    """A sheet, or a report with parts, that its client knows again; `sent` is its JSON."""

    mark: object
    sent: str


class Client:
    """One respondent's client: it privatises true answers, as often as it is allowed.

    `document` is a client document. `reports` is how many reports, or sheets, may be made (None:
    no limit); with a `state` file, all programs that use the file count together, and so do the
    waves of a questionnaire. `secret` is that of kept responses and linked waves, 32 bytes; without
    it one is drawn, or read from the state file. `tags` are the respondent's own categories, which
    stay here: {tag: [answers]}, or {question: {tag: [answers]}}.
    `max_epsilon` is the largest epsilon of one report that this device accepts, in text: what the
    draws spend is computed. With it, questions that are not protected, or not for all answers, are
    refused, unless they are named in `unprotected` ("report" is the question of a mechanism).
    `entropy(n)` returns n random bytes; only a test has reason to pass another.
    """

    def __init__(
        self,
        document: Any,
        *,
        entropy: Callable[[int], bytes] = os.urandom,
        reports: int | None = 1,
        state: Any = None,
        secret: bytes | None = None,
        tags: Any = None,
        max_epsilon: str | None = None,
        unprotected: Sequence[str] = (),
    ) -> None:
        fields = checked_document(document)
        self.survey, self.epsilon = fields.text("survey"), decimal(fields["epsilon"], "document")
        self._words = Words(entropy)
        self._mark = object()  # of its reports
        self._asked: tuple[str, ...] | None = None
        self._open_questions(fields)
        self._take_tags(tags)
        self._check_epsilon(fields, max_epsilon, unprotected)
        if reports is not None and (type(reports) is not int or reports < 1):
            raise Refused("budget", f"reports={reports!r}: must be a number from 1 on, or None")
        self._open_budget(fields, reports, state, secret)
        if not self.is_single:
            self._asked = self._drawn_asked()

    def _open_questions(self, fields: Fields) -> None:
        self.is_single = "question" in fields.value
        fields.must(self.is_single != ("questions" in fields.value))
        self._questions: dict[str, Question] = {}
        self._refused: dict[str, str] = {}
        self._private: list[str] = []
        self._ask: int | None = None
        self._counted, self.is_linked = self.survey, False
        self._token: str | None = None  # of all waves
        if self.is_single:
            inner = fields.inner("question")
            self._questions["report"] = open_question(inner)
            self._private = ["report"] * bool(inner.value.get("private", True))
            return
        for inner in map(Fields, fields.items("questions")):
            name = inner.text("name")
            question = self._questions[name] = open_question(inner)
            inner.must(type(inner["private"]) is bool)
            if isinstance(question, (Rappor, Kept)):  # which takes a device that keeps a secret
                inner.must("link" in fields.value and not getattr(question, "once", False))
            if inner["private"]:
                self._private.append(name)
            if "refused" in inner.value:
                self._refused[name] = inner.text("refused")
                try:
                    question.read(self._refused[name])
                except Refused:
                    inner.must(False)
        fields.must(0 < len(self._questions) == len(fields.items("questions")))
        if fields["ask"] is not None:
            self._ask = fields.number("ask", 1, len(self._private))
        fields.must(("wave" in fields.value) == ("family" in fields.value))
        if "wave" in fields.value:
            fields.must(bool(fields.text("wave")))
            self._counted = fields.text("family")
        self.is_linked = "link" in fields.value
        fields.must(not self.is_linked or (fields["link"] is True and "wave" in fields.value))

    def _check_epsilon(self, fields: Fields, most: str | None, unprotected: Sequence[str]) -> None:
        """Refuse draws that spend more than the document says, or the device accepts (5.5)."""
        private = (self._questions[name] for name in self._private)
        spent = spent_of(private, self._ask)
        if spent > self.epsilon + 1e-9 * max(1.0, self.epsilon):
            why = (
                f"its draws spend epsilon {spent:g}, more than the document says, {self.epsilon:g}"
            )
            raise Refused("epsilon", why)
        if most is None:
            return
        if not self.epsilon <= decimal(str(most), "epsilon") or math.isinf(self.epsilon):
            raise Refused("epsilon", f"one report spends epsilon {self.epsilon:g}")
        if isinstance(unprotected, str):
            raise Refused("epsilon", "unprotected must be a list of names of questions")
        for name, question in self._questions.items():
            if name not in unprotected and question.shows:
                why = "is not protected, or not for all answers: no epsilon bounds what is told"
                raise Refused("epsilon", f"question {name!r} {why}; unprotected= names it if meant")

    def _take_tags(self, tags: Any) -> None:
        if self.is_single:
            self._questions["report"].take_tags(tags)
            return
        for name, inner in _pairs(tags, "must be an object from questions to objects"):
            if name not in self._questions:
                raise Refused("tags", "some tags are of a question that does not exist")
            self._questions[name].take_tags(inner)

    def _open_budget(self, fields: Fields, limit: int | None, state: Any, secret: Any) -> None:
        file = None if state is None else StateFile(state)
        alone: Any = self._questions["report"] if self.is_single else None
        is_rappor, is_kept = isinstance(alone, Rappor), isinstance(alone, (Rappor, Kept))
        keeps = self.is_linked or is_kept
        if secret is not None and keeps:
            if file is not None or type(secret) is not bytes or len(secret) != SECRET_BYTES:
                raise Refused("random", f"secret: must be {SECRET_BYTES} bytes; a file has its own")
        if is_kept:
            limit = 1 if is_rappor and alone.once else None
        head = {"format": "ldpstats-client", "version": 1, "fingerprint": self._counted}
        if is_rappor:
            head.update(format="ldpstats-rappor-client", version=2)

        def fresh() -> dict[str, Any]:
            if not keeps:
                return head
            new = self._words.bytes(SECRET_BYTES)
            more = {"cohort": cohort_of(new, alone.hash.cohorts)} if is_rappor else {}
            return {**head, **more, "secret": new.hex()}

        self._budget = Budget(limit)
        if file is not None:
            document, made = file.opened(fresh)
            check_state(document, head, file)
            if not is_kept or limit is not None:  # marks would be a trace of each report
                self._budget = Budget(limit, file, document, made)
        if not keeps:
            return
        own = secret if file is None else kept_secret(document, file)
        own = own or self._words.bytes(SECRET_BYTES)
        if is_kept:
            alone.keep_secret(own)
            if is_rappor and file is not None:
                check_state(document, {"cohort": alone.cohort}, file)
            return
        self._token = pseudonym(own, fields)
        for name, question in self._questions.items():
            if isinstance(question, (Rappor, Kept)):
                question.keep_secret(secret_of(own, name))

    @property
    def total_epsilon(self) -> float:
        """Epsilon of all reports, of all waves; of kept responses, of those of one answer."""
        if isinstance(self._questions.get("report"), (Rappor, Kept)):
            return self.epsilon
        return self._budget.total * self.epsilon

    @property
    def asked(self) -> tuple[str, ...]:
        """The questions of the next sheet: only their answers are looked at (section 7)."""
        if self._asked is None:  # the random source ended when they were to be drawn
            self._asked = tuple(self._questions) if self.is_single else self._drawn_asked()
        return self._asked

    def _drawn_asked(self) -> tuple[str, ...]:
        n = len(self._private)
        fewer = 0 if self._ask is None else min(self._ask, n - self._ask)
        order, drawn = list(self._private), set()
        for i in range(fewer):
            j = i + uniform(n - i, self._words)
            drawn.add(order[j])
            order[j] = order[i]
        left_out = drawn if self._ask is None or fewer < self._ask else set(order) - drawn
        return tuple(name for name in self._questions if name not in left_out)

    def report(self, answer: Any) -> Any:
        """One report: text, or a dict of grams; a dict of a sheet, None where nothing was reported.

        It is for showing; `message` makes what is sent.

        Raises Refused, which shows no answer and has no frames that know it.
        """
        failure: BaseException
        try:
            draw = self._single if self.is_single else self._sheet
            return self._known(self._budget.spend(partial(draw, answer)))
        except BaseException as error:
            failure = error
            if isinstance(error, Exception) and not isinstance(error, (Refused, MemoryError)):
                why = f"the answer could not be privatised ({type(error).__name__})"
                failure = Refused("answer", why)  # the error may show it
        del answer
        failure.__context__ = failure.__cause__ = None
        raise failure.with_traceback(None)

    def _known(self, made: Any) -> Any:
        """A report that `message` can tell from an answer."""
        known: Any = TextReport(made) if type(made) is str else ObjectReport(made)
        known.mark = self._mark
        if type(made) is not str:
            known.sent = json.dumps(made)  # whatever becomes of the object
        return known

    def _single(self, answer: Any) -> Any:
        question = self._questions["report"]
        return question.report(question.read(answer), self._words)

    def _sheet(self, answers: Any) -> dict[str, Any]:
        asked = self.asked
        if type(answers) is not dict or not set(answers) <= set(self._questions):
            raise Refused("answer", "a sheet must be an object from names of questions to answers")
        read: dict[str, Any] = {}
        for name in asked:
            answer = answers.get(name)
            answer = self._refused.get(name) if answer is None else answer
            if answer is not None:
                read[name] = self._questions[name].read(answer)
        sheet: dict[str, Any] = dict.fromkeys(self._questions)
        for name, x in read.items():
            sheet[name] = self._questions[name].report(x, self._words)
        self._asked = None
        with contextlib.suppress(Refused):  # the sheet stands; the next one is refused
            self._asked = self._drawn_asked()
        return sheet

    def message(self, answers: Any, invitation: str | None = None) -> dict[str, Any]:
        """Make the report of true answers, and return what is sent to a collector (section 10).

        It privatises the answers and spends the budget, as `report` does, and raises what that
        raises. Keep the message until the collector has answered, to send the same one again.

        In place of answers it takes an object that `report` of this client returned: that report
        is sent as it was made, and nothing more is spent.

        `invitation` is the code of a survey that takes one sheet for each; one with a typing error
        is refused before anything is spent.
        """
        invited = {} if invitation is None else {"invitation": invitation_code(invitation)}
        made = answers
        if type(answers) not in (TextReport, ObjectReport):
            made = self.report(answers)
        elif answers.mark is not self._mark:
            raise Refused("answer", "this is a report that another client made")
        report = str(made) if type(made) is TextReport else json.loads(made.sent)
        return {
            "format": "ldpstats-sheet",
            "version": 1,
            "survey": self.survey,
            "token": self._token or secrets.token_hex(16),
            **invited,
            "sheet": {"report": report} if self.is_single else report,
        }

    def withdrawal(self) -> dict[str, Any]:
        """What a collector is sent at /withdrawn for a report that its respondent saw and deleted.

        It says so, and nothing else. To make no such choice possible explain what may be sent
        first, send the `message`, and show it afterwards (section 10).
        """
        return {"format": "ldpstats-withdrawal", "version": 1, "survey": self.survey}


# --- Conformance (section 11) ---------------------------------------------------------------------


class Given:
    """Bytes that stand for a random source, and how many of them were used."""

    def __init__(self, content: bytes) -> None:
        self.content, self.used = content, 0

    def __call__(self, n: int) -> bytes:
        start = self.used
        self.used = start + min(n, (len(self.content) - start) // 8 * 8)
        return self.content[start : self.used]


def conformance_answer(case: dict[str, Any]) -> dict[str, Any]:
    """What the client does with a line of the conformance test."""
    given = Given(bytes.fromhex(case["random"]))
    secret = case.get("secret")
    try:
        client = Client(
            case["client"],
            entropy=given,
            reports=case.get("reports", 1),
            secret=None if secret is None else bytes.fromhex(secret),
            tags=case.get("tags"),
            max_epsilon=case.get("max_epsilon"),
            unprotected=case.get("unprotected", ()),
        )
    except Refused as error:
        return {"id": case.get("id"), "refused": error.reason}
    make = client.report
    if case.get("messages"):
        make = partial(client.message, invitation=case.get("invitation"))
    reports: list[Any] = []
    asked: list[Any] = []
    next_asked: tuple[str, ...] = ()
    for answer in case["answers"]:
        try:
            with contextlib.suppress(Refused):  # then the report says why, below
                next_asked = client.asked
            reports.append(json.loads(json.dumps(make(answer))))
            asked.append(list(next_asked))
        except Refused as error:
            reports.append({"refused": error.reason})
    found = {"id": case.get("id"), "reports": reports, "used": given.used}
    return found if client.is_single else {**found, "asked": asked}


# --- Command line ---------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 1 if something is refused."""
    import argparse

    parser = argparse.ArgumentParser(
        description="Privatise the true answers of one respondent. Each line of standard input is "
        "an answer (a JSON object of answers for a questionnaire); each line of standard output "
        "is a report. Nothing but the reports should leave the device."
    )
    parser.add_argument("document", nargs="?", help="the client document, client.json")
    parser.add_argument(
        "--state", metavar="FILE", help="file that counts the reports that were made"
    )
    parser.add_argument("--reports", type=int, default=1, help="how many may be made in all (1)")
    parser.add_argument("--max-epsilon", help="the largest epsilon that this device accepts")
    words = "a question that need not be protected, or not for all answers, under --max-epsilon"
    parser.add_argument("--unprotected", action="append", default=[], metavar="NAME", help=words)
    parser.add_argument(
        "--tags", metavar="FILE", help="JSON file of the respondent's own categories"
    )
    parser.add_argument("--json", action="store_true", help="answers and reports are JSON texts")
    parser.add_argument("--message", action="store_true", help="write what a collector is sent")
    parser.add_argument(
        "--invitation",
        metavar="FILE",
        help="file with the code of an invitation, which goes into the message",
    )
    parser.add_argument("--asked", action="store_true", help="only say what the next sheet asks")
    parser.add_argument("--conformance", action="store_true", help="answer the conformance test")
    options = parser.parse_args(arguments)
    if options.document is None and not options.conformance:
        parser.error("give the client document, or --conformance")
    try:
        if not options.conformance:
            return _report_lines(options)
        for line in sys.stdin.buffer:
            print(json.dumps(conformance_answer(json.loads(line))), flush=True)
        return 0
    except Refused as error:
        print(f"{parser.prog}: refused: {error}", file=sys.stderr)
        return 1


def _report_lines(options: Any) -> int:
    client = Client(
        _read(options.document, "document"),
        reports=options.reports,
        state=options.state,
        tags=None if options.tags is None else _read(options.tags, "tags"),
        max_epsilon=options.max_epsilon,
        unprotected=options.unprotected,
    )
    if options.state is None:
        print(
            "note: no --state FILE, so the next run knows nothing of these reports", file=sys.stderr
        )
    if options.asked:
        print(json.dumps(client.asked))
        return 0
    if options.message and client.is_linked:
        words = "reports of all waves carry the same pseudonym, so they are joined: each wave that "
        print(f"note: {words}you answer tells more about you", file=sys.stderr)
    as_json = options.json or not client.is_single
    make = client.report
    if options.message:
        # the code is in a file: arguments show in lists of processes
        path, read = options.invitation, lambda text: invitation_code(text.strip())
        code = None if path is None else _read(path, "invitation", read, "text")
        make = partial(client.message, invitation=code)
    elif options.invitation is not None:
        raise Refused("invitation", "--invitation goes with --message")
    for line in sys.stdin.buffer:
        report = make(_read_answer(line, as_json))
        text = report if isinstance(report, str) and not options.json else json.dumps(report)
        # a name may have half a character, and the report is spent
        sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass") + b"\n")
        sys.stdout.buffer.flush()
    return 0


def _read(
    path: str, reason: str, parse: Callable[[str], Any] = json.loads, what: str = "JSON"
) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read())
    except Refused:
        raise
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or f"is not {what} in UTF-8"
        raise Refused(reason, f"{path}: {why}") from None


def _read_answer(line: bytes, as_json: bool) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        text = line.decode("utf-8").rstrip("\r\n")
        return json.loads(text) if as_json else text
    raise Refused("answer", "a line of standard input is not an answer in UTF-8")


if __name__ == "__main__":
    sys.exit(main())
