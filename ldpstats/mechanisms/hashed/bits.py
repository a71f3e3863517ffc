"""What mechanisms share that report the bits of a Bloom filter of the answer."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import counts_vector, positive_integer
from ldpstats.channels.structured import Bits
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.hashed.base import CellLaw, Hashed
from ldpstats.problems.hashed.cohorts import BitNoise
from ldpstats.problems.problem import Likelihood
from ldpstats.problems.rows.base import Rows
from ldpstats.problems.rows.combined import StackedRows
from ldpstats.problems.rows.hashed import BloomRows
from ldpstats.reports.formats import BitFormat
from ldpstats.reports.single import BitCounts, Counts
from ldpstats.sampling import realised, samplers
from ldpstats.sampling.words import Words

__all__ = ["HashedBits", "most_different"]

Array = npt.NDArray[Any]


def most_different(n_bits: int, n_hashes: int, up: float, down: float) -> tuple[int, int]:
    """Numbers of bits that only one and only the other of two answers own, at their worst.

    Of all pairs of answers that h hashes into m bits can make, the pair with the largest
    ``a up + b down``, both at least 0: a and b are h where 2 h <= m. Fewer bits make the filters
    overlap: together they fill all bits, and the kind that tells more has as many as it can.
    """
    most = min(n_hashes, n_bits)
    if 2 * most <= n_bits:
        return most, most
    least = max(1, n_bits - most)  # every answer owns a bit
    return (n_bits - least, least) if up > down else (least, n_bits - least)


class HashedBits(Hashed):
    """A mechanism that reports noisy bits of a Bloom filter of the answer."""

    n_hashes: int
    n_outputs = 0

    @property
    @abstractmethod
    def p1(self) -> float:
        """P(bit = 1) of a bit that the answer owns."""

    @property
    @abstractmethod
    def p0(self) -> float:
        """P(bit = 1) of any other bit."""

    @abstractmethod
    def _thresholds(self) -> tuple[int, int]:
        """The two probabilities as the integers that the sampler uses."""

    def _check_bits(self) -> None:
        """Check the fields that all such mechanisms have."""
        object.__setattr__(self, "n_bits", positive_integer("n_bits", self.n_bits, 2))
        object.__setattr__(self, "n_hashes", positive_integer("n_hashes", self.n_hashes))
        if self.n_hashes > 65535:
            raise InvalidArgument("n_hashes", self.n_hashes, "must be at most 65535")
        self._check_hashed()

    @property
    def format(self) -> BitFormat:
        return BitFormat(self.n_bits)

    @property
    def n_cells(self) -> int:
        return self.n_bits

    @property
    def n_owned(self) -> int:
        return self.n_hashes

    def _randomise(self, cells: Array, words: Words) -> Array:
        return samplers.sample_bits(cells, self.n_bits, *self._thresholds(), words)

    def _then_document(self) -> dict[str, Any]:
        own, other = map(str, self._thresholds())
        return {"kind": "bits", "own": own, "other": other}

    def _randomise_counts(self, owners: Array, n: Array, rng: np.random.Generator) -> Array:
        others = rng.binomial(n[:, None] - owners, self.p0)
        return np.asarray(rng.binomial(owners, self.p1) + others)

    @property
    def cell_law(self) -> CellLaw:
        shared = float(1.0 - (1.0 - 1.0 / self.n_bits) ** self.n_hashes)
        return CellLaw(self.p1, self.p0, shared)

    def _noise(self) -> BitNoise:
        empty, m, h = (1.0 - 1.0 / self.n_bits) ** self.n_hashes, self.n_bits, self.n_hashes
        return BitNoise(shared=1.0 - 2.0 * empty + (1.0 - 2.0 / m) ** h)

    def _precision(self, mean: float) -> float:
        return 1.0 / (mean * (1.0 - mean))

    def _cohort_channel(self, cells: Array) -> Bits:
        return Bits(cells, self.n_bits, self.p1, self.p0)

    def _log_ratios(self) -> tuple[float, float]:
        """Log ratios of a set and of a cleared bit, in favour of its owner and against."""
        with np.errstate(divide="ignore"):
            up = float(np.log(self.p1) - np.log(self.p0))
            down = float(np.log1p(-self.p0) - np.log1p(-self.p1))
        return max(up, -down), max(down, -up)

    def worst_channel(self) -> Bits:
        """Two answers whose Bloom filters differ the most."""
        a, b = most_different(self.n_bits, self.n_hashes, *self._log_ratios())
        first, second = np.arange(a), np.arange(a, a + b)
        if not (a and b):  # one filter holds the other
            first, second = np.arange(a + b + 1), np.array([a + b])
        width = max(first.size, second.size)
        members = [np.pad(own, (0, width - own.size), mode="edge") for own in (first, second)]
        return Bits(np.array(members), self.n_bits, self.p1, self.p0)

    def _sampler_epsilon(self) -> float:
        return self._realised(*self._thresholds())

    def _realised(self, own: int, other: int) -> float:
        """Epsilon of integer thresholds of the two kinds of bits."""
        up, down = realised.realised_ratios(own, other)
        a, b = most_different(self.n_bits, self.n_hashes, up, down)
        return (a * up if a else 0.0) + (b * down if b else 0.0)

    def likelihood(self, counts: Counts, candidates: Any = None) -> Likelihood:
        """The exact likelihood of the bits given the cohorts."""
        self._own(counts)
        assert counts.cohort is not None
        if 0.0 < self.p0 < 1.0 and 0.0 < self.p1 < 1.0:
            cells = self.cells(candidates)
            rows: Rows = BloomRows(counts.y, counts.cohort, cells, self.n_bits, self.p1, self.p0)
            return Likelihood(rows, counts.n)
        # a bit that is never or always set makes answers impossible: cohort by cohort
        order = np.argsort(counts.cohort, kind="stable")
        ends = np.cumsum(np.bincount(counts.cohort, minlength=self.n_cohorts))[:-1]
        channel: Any = self.channel(candidates)
        parts = zip(channel.channels, np.split(counts.y[order], ends), strict=True)
        return Likelihood(StackedRows(tuple(Q.rows(y) for Q, y in parts)), counts.n[order])

    def counts(self, n: npt.ArrayLike, nobs: npt.ArrayLike | None = None) -> BitCounts:
        """Counts from the bit sums of each cohort.

        Parameters
        ----------
        n : array-like of int, shape (C, n_bits)
            How often each bit was set in each cohort.
        nobs : array-like of int, shape (C,)
            Reports of each cohort; bit sums alone do not say.

        Raises
        ------
        InvalidArgument
            For a missing `nobs`, another shape, or a sum that exceeds the reports of its cohort.
        """
        if nobs is None:
            raise InvalidArgument("nobs", None, "is needed: bit sums do not say how many reports")
        ones = counts_vector("n", n, (self.n_cohorts, self.n_bits))
        reports = counts_vector("nobs", [nobs] if np.isscalar(nobs) else nobs, (self.n_cohorts,))
        return BitCounts(ones, reports, self)
