"""The channel of utility-optimised RAPPOR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels.base import Channel, OutputClasses, n_patterns
from ldpstats.channels.bit_scores import BitScores, unary_scores
from ldpstats.channels.structured import Bits
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.sensitive.revealing import RevealingFormat
from ldpstats.problems.rows.base import Rows
from ldpstats.problems.rows.sensitive import SensitiveRows
from ldpstats.problems.rows.unary import UnaryRows

__all__ = ["SensitiveBits"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class SensitiveBits(Channel):
    """Reports of `URAP`: the patterns of the sensitive bits, then the answers that are revealed."""

    format: RevealingFormat
    p1: float  # P(bit = 1) of a sensitive category that is the answer
    d1: float  # and of one that is not
    d2: float  # P(protected report) of an answer that is not sensitive
    told: float  # 1 - d2

    @property
    def _at(self) -> npt.NDArray[np.int64]:
        return self.format.sensitive

    @property
    def _others(self) -> npt.NDArray[np.int64]:
        return self.format.others

    @property
    def shape(self) -> tuple[int, int]:
        return self.format.n_bits, self._patterns() + self.format.n_others

    def _patterns(self) -> int:
        """Number of protected reports."""
        S = self._at.size
        return int(2**S) if S else 0

    def _noised(self) -> Bits:
        """The bits of the sensitive categories."""
        S = self._at.size
        return Bits(range(S), S, self.p1, self.d1)

    def matrix(self) -> Array:
        S = self._at.size
        if S > 20:
            raise NotAvailable(
                f"matrix() of reports of {S} bits would list 2^{S} patterns: use likelihood(y), "
                "which forms only the columns of observed reports"
            )
        return super().matrix()

    def _matrix(self) -> Array:
        k, l = self.shape  # noqa: E741
        Q, patterns = np.zeros((k, l)), self._patterns()
        # any bit that the answer does not own is noise
        noise = Bits(np.array([[0]]), self._at.size, self.d1, self.d1) if self._at.size else None
        if noise is not None:
            Q[self._at, :patterns] = self._noised().matrix()
            Q[self._others, :patterns] = self.d2 * noise.matrix()
        Q[self._others, patterns + np.arange(self._others.size)] = self.told
        return Q

    def _scores(self) -> BitScores:
        """The law of protected reports; the sensitive categories come first."""
        leftover = np.full(self._others.size, self.d2)
        return unary_scores(self.p1, self.d1, self._at.size, leftover)

    def information(self, p: Array) -> Array:
        J = np.zeros((p.size, p.size))
        if self._at.size:
            order = np.concatenate([self._at, self._others])
            J[np.ix_(order, order)] = self._scores().information(p[order])
        told = p[self._others]
        if np.any(told <= 0.0):
            raise InvalidArgument("p", p, "must be positive where a report reveals the category")
        J[self._others, self._others] += self.told / told
        return J

    def score_moments(self, p: Array, features: Array) -> tuple[Array, Array]:
        others = self._others
        own, mean = np.zeros((3, p.size)), np.zeros((3, p.size))
        if self._at.size:
            order = np.concatenate([self._at, others])
            found = self._scores().moments(p[order], features[np.ix_(order, order)])
            own[:, order], mean[:, order] = found
            own[:, others] *= self.d2
        u = features[:, others] / p[others]  # of reports that reveal
        for j in range(3):
            own[j, others] += (
                self.told * np.diagonal(features)[others] ** (j + 1) / p[others] ** (j + 1)
            )
            mean[j] += self.told * (u ** (j + 1) @ p[others])
        return own, mean

    def rows(self, y: npt.NDArray[np.uint8]) -> Rows:
        revealed = self.format.revealed(y)
        protected = np.count_nonzero(revealed == 0)
        # counts have these first: part of the same array, whose last bytes, the number, are zero
        packed = y[:protected] if not revealed[:protected].any() else y[revealed == 0]
        return SensitiveRows(
            UnaryRows(packed, self.p1, self.d1, self._at.size),
            revealed == 0,
            self._others[revealed[revealed > 0] - 1],
            self.format.protects,
            self.told,
            self.d2,
        )

    def epsilon(self) -> float:
        return float("inf") if self.format.n_others else self._noised().epsilon()

    def protected_epsilon(self, sensitive: Array) -> float:
        if np.setdiff1d(sensitive, self._at).size:  # revealed by a report
            return float("inf")
        return self._protected()

    def _protected(self) -> float:
        """Largest log ratio in the reports that reveal nothing."""
        S = self._at.size
        worst = self._noised().epsilon() if S > 1 else 0.0
        if S and self.format.n_others:  # of a sensitive answer against one that is not
            set_ = np.log(self.p1) - np.log(self.d1) - np.log(self.d2)
            clear = np.log1p(-self.p1) - np.log1p(-self.d1) - np.log(self.d2)
            worst = max(worst, abs(float(set_)), abs(float(clear)))
        return worst

    def output_classes(self) -> OutputClasses:
        S, others = self._at.size, self._others
        ratios, sole, size = [], [], []
        if S:
            ratios, sole, size = [self._protected()], [-1], [n_patterns(S)]
        return OutputClasses(
            np.append(ratios, np.full(others.size, np.inf)),
            np.append(sole, others).astype(np.int64),
            np.append(size, np.ones(others.size)),
        )

    def one_sided(self, sensitive: Array) -> OutputClasses:
        classes, mask = self.output_classes(), np.zeros(self.format.n_bits, dtype=bool)
        mask[sensitive] = True
        ratio = np.where(mask[classes.sole], np.inf, -np.inf)  # of reports that reveal
        if self._at.size and mask.any():
            ratio[0] = self._raised(mask)
        return replace(classes, log_ratio=ratio)

