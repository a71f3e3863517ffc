"""What mechanisms share whose reports are labels of blocks."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import counts_vector
from ldpstats.channels.incidence import Blocks
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.base import Mechanism
from ldpstats.problems.block_equations import block_equations
from ldpstats.problems.blocks.base import BlockDesign
from ldpstats.problems.equations import Moments
from ldpstats.reports.blocks import BlockFormat
from ldpstats.reports.single import BitCounts, Counts
from ldpstats.sampling import realised, samplers
from ldpstats.sampling.blocks import sample_labels
from ldpstats.sampling.words import Words, simulation_words

__all__ = ["BlockMechanism"]

Array = npt.NDArray[Any]

_USERS = 1 << 18  # whose reports are counted at a time
_TOGETHER = 1 << 14  # whose reports are drawn at a time
_LISTED = 1 << 20  # entries of Q that are drawn from row by row


class BlockMechanism(Mechanism):
    """A label y has probability ``e^eps / Z`` if its block holds the answer, else ``1 / Z``.

    With s of l labels for each category, ``Z = s e^eps + l - s``. A subclass has a `design`.
    """

    n_bits = 0
    n_cohorts = 0

    @property
    @abstractmethod
    def design(self) -> BlockDesign:
        """Which categories each label stands for."""

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return self.design.n_labels

    @property
    def format(self) -> BlockFormat:
        return BlockFormat(self.n_outputs, self.design)

    @property
    def report_bits(self) -> int:
        """Bits that a report takes."""
        return (self.n_outputs - 1).bit_length()

    def channel(self, candidates: Any = None) -> Blocks:
        self._closed(candidates)
        size, small = self.design.size, np.exp(-self.epsilon)
        Z = size + (self.n_outputs - size) * small  # in powers of e^-eps, which cannot overflow
        gain = -np.expm1(-self.epsilon) / Z
        return Blocks(self.design, float(1.0 / Z), float(small / Z), float(gain))

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> Moments:
        self._closed(candidates)
        self._own(counts)
        Q = self.channel()
        return block_equations(self.design, Q.low, Q.gain, counts.vector(), counts.nobs)

    def _keep(self) -> int:
        # from the smaller of the chances of an own label and of another, see `KRR`
        Q, size = self.channel(), self.design.size
        if size * Q.high < 0.5:
            return samplers.threshold(size * Q.high, "down")
        other = min((self.n_outputs - size) * Q.low, 1.0)
        return (1 << 64) - max(samplers.threshold(other, "up"), 1)

    def sample(self, codes: Array, words: Words) -> Array:
        true = samplers.checked_codes(codes, self.k)
        sizes, out = (self.design.size, self.n_outputs - self.design.size), np.empty_like(true)
        for start in range(0, true.size, _TOGETHER):
            code = true[start : start + _TOGETHER]
            kept, number = sample_labels(code.size, *sizes, self._keep(), words)
            own = self.design.own_label(code, np.where(kept, number, 0))
            other = self.design.other_label(code, np.where(kept, 0, number))
            out[start : start + _TOGETHER] = np.where(kept, own, other)
        return out

    def _draw_document(self) -> dict[str, Any]:
        own, design = self.design.size, self.design.document()
        others, keep = self.n_outputs - own, str(self._keep())
        return {"kind": "block", "own": own, "others": others, "keep": keep, "design": design}

    def _sampler_epsilon(self) -> float:
        keep, size = self._keep(), self.design.size
        others = self.n_outputs - size
        return abs(realised.log_ratio(keep * others, ((1 << 64) - keep) * size))

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> Counts:
        self._closed(candidates)
        true, l = np.asarray(true_counts), self.n_outputs  # noqa: E741
        if self.k * l <= min(_LISTED, 4 * int(true.sum())):
            return self.counts(rng.multinomial(true, self.channel().matrix()).sum(axis=0))
        words, ends = simulation_words(rng), np.cumsum(true)
        total = np.zeros(l, dtype=np.int64)
        for start in range(0, int(ends[-1]), _USERS):
            people = np.arange(start, min(start + _USERS, int(ends[-1])))
            codes = np.searchsorted(ends, people, side="right")
            total += np.bincount(self.sample(codes, words), minlength=l)
        return self.counts(total)

    def counts(self, n: npt.ArrayLike, nobs: npt.ArrayLike | None = None) -> Counts:
        """Counts from a vector of counts of the labels.

        Parameters
        ----------
        n : array-like of int, shape (l,)
            How often each label was reported, in their order.
        nobs : None
            Not used: the number of reports is ``sum(n)``.

        Raises
        ------
        InvalidArgument
            For a vector of another length, or entries that are negative or fractional.
        """
        if nobs is not None:
            raise InvalidArgument("nobs", nobs, "is for bit sums only; here it is sum(n)")
        vector = counts_vector("n", n, (self.n_outputs,))
        seen = np.flatnonzero(vector)
        return Counts(seen, vector[seen], self)
