"""Random bytes that are known beforehand."""

import hashlib
from collections.abc import Callable, Iterable
from itertools import count

W = 1 << 64
ALL = W - 1


class Ended(Exception):
    """The random bytes ended."""


class Tape:
    """Random bytes, of which `used` were taken."""

    def __init__(self, data: bytes) -> None:
        self.data, self.used = data, 0

    def __call__(self, n: int) -> bytes:
        """The next n bytes, as `entropy` of clients; whole words are taken until they end."""
        left = len(self.data) - self.used
        if n > left:
            self.used += left // 8 * 8
            raise Ended
        self.used += n
        return self.data[self.used - n : self.used]

    def taken(self, spare: int) -> bytes:
        """The bytes that were taken, and a few more."""
        return self.data[: self.used + spare]


class Endless(Tape):
    """A tape of words that a function of their number gives."""

    def __init__(self, word: Callable[[int], int]) -> None:
        super().__init__(b"")
        self._words = map(word, count())

    def __call__(self, n: int) -> bytes:
        self.used += n
        self._fill(self.used)
        return self.data[self.used - n : self.used]

    def _fill(self, size: int) -> None:
        more = [
            next(self._words).to_bytes(8, "little")
            for _ in range(len(self.data) // 8, -(-size // 8))
        ]
        self.data += b"".join(more)

    def taken(self, spare: int) -> bytes:
        self._fill(self.used + spare)
        return super().taken(spare)


def of_words(words: Iterable[int]) -> bytes:
    """The bytes of words."""
    return b"".join(word.to_bytes(8, "little") for word in words)


def _number(name: str, i: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{name} {i}".encode()).digest()[:8], "little")


def stream(name: str) -> Endless:
    """Words that look random, the same ones for a name each time."""
    return Endless(lambda i: _number(name, i))


def ones(name: str) -> Endless:
    """Nearly all words are the largest: comparisons of binary digits take long."""
    return Endless(lambda i: _number(name, i) if _number(f"{name} ones", i) % 12 == 0 else ALL)


def zeros(name: str) -> Endless:
    """Many words, or their halves, are zero: uniform draws are tied, and drawn again."""
    masks = (0, ALL >> 32, ALL ^ (ALL >> 32), ALL)
    return Endless(lambda i: _number(name, i) & masks[_number(f"{name} zeros", i) % 4])
