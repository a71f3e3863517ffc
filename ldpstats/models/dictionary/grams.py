"""Strings of a fixed length over an alphabet, cut into n-grams.

Characters are Unicode code points. A shorter string is padded at its end, so that a pad is followed
by pads alone; what is longer than the length is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import listed, positive_integer
from ldpstats.arguments.labels import as_series
from ldpstats.errors import InvalidArgument

__all__ = ["GramLayout"]

Array = npt.NDArray[Any]

_MOST_GRAMS = 1 << 28  # of an alphabet that are listed in turn
_MOST_POSITIONS = 128  # of grams: eight thousand pairs
_MOST_CHARACTERS = 1024  # of a string


@dataclass(frozen=True)
class GramLayout:
    """How strings are padded and cut into n-grams (FPE16 section IV).

    Parameters
    ----------
    length : int
        Characters M of a string, after padding or truncation; at most 1024.
    gram : int
        Characters n of a gram, of which `length` is a multiple, at least twice.
    alphabet : str
        The D characters that strings are made of.
    pad : str
        The character that fills short strings; not one of the alphabet.
    step : int
        Characters from the start of one gram to that of the next: n where grams lie side by side,
        less where they overlap.

    Raises
    ------
    InvalidArgument
        For a length that is not a multiple of the gram, or is one gram; an alphabet with a
        character twice, with the pad, or without an order; a step that leaves characters out.

    Examples
    --------
    >>> layout = GramLayout(length=6, gram=2, alphabet="abc", pad=" ", step=2)
    >>> layout.starts, layout.pairs, layout.n_grams
    ((0, 2, 4), ((0, 1), (0, 2), (1, 2)), 13)
    """

    length: int
    gram: int
    alphabet: str
    pad: str
    step: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", positive_integer("length", self.length, 2))
        object.__setattr__(self, "gram", positive_integer("gram", self.gram))
        object.__setattr__(self, "step", positive_integer("step", self.step))
        if self.length % self.gram or self.length == self.gram:
            near = max(-(-self.length // self.gram), 2) * self.gram
            raise InvalidArgument(
                "length",
                self.length,
                f"must be a multiple of gram={self.gram}, at least twice: for example {near}",
            )
        if self.length > _MOST_CHARACTERS:
            raise InvalidArgument("length", self.length, f"must be at most {_MOST_CHARACTERS}")
        if self.step > self.gram or (self.length - self.gram) % self.step:
            remedy = f"must be at most gram={self.gram}, and divide {self.length - self.gram}"
            raise InvalidArgument("step", self.step, f"{remedy}: some characters would be left out")
        object.__setattr__(self, "alphabet", _alphabet(self.alphabet))
        if not isinstance(self.pad, str) or len(self.pad) != 1 or not _is_text(self.pad):
            raise InvalidArgument("pad", self.pad, 'must be one character, for example " "')
        if self.pad in self.alphabet:
            raise InvalidArgument(
                "alphabet", self.pad, "holds the pad: choose a pad that no string contains"
            )

    # -- positions ---------------------------------------------------------------------------

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """First character of each of the K positions, counted from 0."""
        return tuple(range(0, self.length - self.gram + 1, self.step))

    @property
    def n_positions(self) -> int:
        """Number of positions K."""
        return len(self.starts)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The K (K - 1) / 2 pairs of positions, in order."""
        return tuple(combinations(range(self.n_positions), 2))

    @property
    def too_large(self) -> str:
        """Why no analysis could do with such grams; empty where one can."""
        if self.n_grams > _MOST_GRAMS:
            D = len(self.alphabet)
            count = f"makes {D}^{self.gram} grams of an alphabet of {D}"
            return f"{count}, more than {_MOST_GRAMS}: use shorter grams"
        if self.n_positions > _MOST_POSITIONS:
            return (
                f"makes {self.n_positions} positions, more than {_MOST_POSITIONS}: use longer grams"
            )
        return ""

    # -- strings -----------------------------------------------------------------------------

    def strings(self, name: str, values: object, replace: str | None = None) -> npt.NDArray[Any]:
        """Padded and truncated strings, as numpy text of shape (n,)."""
        series = values if isinstance(values, pd.Series) else as_series(name, values)
        is_text = series.map(lambda v: isinstance(v, str)).to_numpy(bool)
        if not is_text.all():
            first = int(np.argmin(is_text))
            where = f"{name}[{series.index[first]}]"
            raise InvalidArgument(where, series.iloc[first], "must be a string")
        codes, distinct = pd.factorize(series)
        known, texts = frozenset(self.alphabet), []
        for i, text in enumerate(map(str, distinct)):
            stray = sorted(set(text) - known)
            if not text or (stray and replace is None):
                where = f"{name}[{series.index[int(np.argmax(codes == i))]}]"
                raise InvalidArgument(where, text, *_stray_remedies(stray))
            if stray:
                text = "".join(c if c in known else str(replace) for c in text)
            texts.append(text[: self.length].ljust(self.length, self.pad))
        return np.array(texts, dtype=f"<U{self.length}")[codes]

    def grams_at(self, strings: Array, position: int) -> npt.NDArray[Any]:
        """The gram of each padded string, (n,), at a position from 0 to K - 1."""
        characters = np.ascontiguousarray(strings).view("<U1").reshape(len(strings), self.length)
        start = self.starts[position]
        part = np.ascontiguousarray(characters[:, start : start + self.gram])
        return np.asarray(part.view(f"<U{self.gram}")[:, 0])

    def joined(self, grams: list[Array]) -> npt.NDArray[Any]:
        """Padded strings from their grams, K arrays of shape (n,): inverse of `grams_at`.

        Where grams overlap the later ones add their last characters.
        """
        own = [np.ascontiguousarray(g, dtype=f"<U{self.gram}").view("<U1") for g in grams]
        parts = [g.reshape(-1, self.gram) for g in own]
        parts = [part if i == 0 else part[:, -self.step :] for i, part in enumerate(parts)]
        whole = np.ascontiguousarray(np.hstack(parts))
        return np.asarray(whole.view(f"<U{self.length}")[:, 0])

    def unpadded(self, strings: Array) -> list[str]:
        """Plain strings, without their padding."""
        return [str(text).rstrip(self.pad) for text in strings]

    # -- grams -------------------------------------------------------------------------------

    @property
    def n_grams(self) -> int:
        """Number of grams that a position can hold: a pad is followed by pads."""
        return sum(len(self.alphabet) ** j for j in range(self.gram + 1))

    def grams(self) -> npt.NDArray[Any]:
        """All grams in order, as numpy text of shape (n_grams,); see `gram_blocks`."""
        return np.concatenate(list(self.gram_blocks(self.n_grams)))

    def gram_blocks(self, size: int) -> Iterator[npt.NDArray[Any]]:
        """All grams in blocks of at most about `size`, the longest without pads first."""
        if self.n_grams > _MOST_GRAMS:
            raise InvalidArgument("gram", self.gram, self.too_large)
        letters = np.array(list(self.alphabet), dtype="<U1")
        D = letters.size
        for filled in range(self.gram, -1, -1):
            total = D**filled
            for start in range(0, total, size):
                numbers = np.arange(start, min(start + size, total))
                out = np.full((numbers.size, self.gram), self.pad, dtype="<U1")
                for place in range(filled - 1, -1, -1):
                    numbers, digit = np.divmod(numbers, D)
                    out[:, place] = letters[digit]
                yield np.asarray(out.view(f"<U{self.gram}")[:, 0])

    def may_follow(self, first: Array, second: Array, gap: int) -> npt.NDArray[np.bool_]:
        """Whether grams can be in one string, shape (a, b): `second` lies `gap` positions later.

        They must agree where they overlap, and nothing but pads follows a pad.
        """
        a, b = (np.ascontiguousarray(g, dtype=f"<U{self.gram}") for g in (first, second))
        if not a.size or not b.size:
            return np.zeros((a.size, b.size), dtype=bool)
        left, right = a.view("<U1").reshape(-1, self.gram), b.view("<U1").reshape(-1, self.gram)
        ended = (left == self.pad).any(axis=1)
        empty = (right == self.pad).all(axis=1)
        apart = gap * self.step
        if apart >= self.gram:
            return np.asarray(~ended[:, None] | empty[None, :])
        agree = np.ones((a.size, b.size), dtype=bool)
        for j in range(self.gram - apart):
            agree &= left[:, None, apart + j] == right[None, :, j]
        tail = (right[:, self.gram - apart :] == self.pad).all(axis=1)
        return np.asarray(agree & (~ended[:, None] | tail[None, :]))


def _stray_remedies(stray: list[str]) -> tuple[str, str]:
    """What to do about a string with characters outside the alphabet, or without any.

    The second quotes no character.
    """
    if not stray:
        empty = "is empty: leave such answers out"
        return empty, empty
    words = "has characters outside the alphabet{}: add them, change the strings, or choose one of "
    words += "the alphabet with replace="
    return words.format(f" ({', '.join(map(repr, stray[:5]))})"), words.format("")


def _is_text(character: str) -> bool:
    """Whether a character can be written in UTF-8, and numpy keeps it at the end of a text."""
    return character != "\0" and not "\ud800" <= character <= "\udfff"


def _alphabet(given: Any) -> str:
    """The characters of an alphabet, checked."""
    remedy = 'must be distinct characters, at least two, for example "abc"'
    if isinstance(given, Set | Mapping):
        raise InvalidArgument("alphabet", given, f"has no order: {remedy}")
    characters = listed("alphabet", list(given) if isinstance(given, str) else given, remedy)
    for c in characters:
        if not isinstance(c, str) or len(c) != 1 or not _is_text(c):
            raise InvalidArgument("alphabet", c, remedy)
    if len(characters) < 2:
        raise InvalidArgument("alphabet", given, remedy)
    twice = sorted(c for c, n in Counter(characters).items() if n > 1)
    if twice:
        raise InvalidArgument("alphabet", "".join(twice), f"occurs twice: {remedy}")
    return "".join(characters)
