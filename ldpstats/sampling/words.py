"""Sources of uniform 64-bit words.

A sampler consumes words and never asks where they come from. A simulation draws them from the
caller's `numpy.random.Generator`; a respondent's client draws them from the operating system.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.kernels import repaid
from ldpstats.sampling.streams import LANES, Streams

if TYPE_CHECKING:
    from ldpstats.kernels.words import CompiledStreams

__all__ = [
    "BULK",
    "SimulationWords",
    "SystemWords",
    "Words",
    "entropy_of",
    "simulation_words",
    "system_words",
]

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
    """Return a source of words that is a function of `rng` alone.

    `rng` itself answers until a request reaches `BULK` words. From then on 64 interleaved SFC64
    streams (one of numpy's own bit generators), keyed once by `rng`, answer: where they are
    compiled, eight times faster than filling an array from `rng`. The same state of `rng` and the
    same requests give the same words.
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
