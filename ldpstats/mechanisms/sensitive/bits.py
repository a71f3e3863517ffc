"""The channel of utility-optimised RAPPOR."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels.base import Channel, OutputClasses, n_patterns
from ldpstats.channels.bit_scores import BitScores, unary_scores
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
    p1: float | Array  # P(bit = 1) of a sensitive category that is the answer, or (S,)
    d1: float | Array  # and of one that is not
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

    def matrix(self) -> Array:
        S = self._at.size
        if S > 20:
            raise NotAvailable(
                f"matrix() of reports of {S} bits would list 2^{S} patterns: use "
                "channel().likelihood(y), which forms only the columns of observed reports"
            )
        return super().matrix()

    def _matrix(self) -> Array:
        k, l = self.shape  # noqa: E741
        Q, patterns = np.zeros((k, l)), self._patterns()
        if self._at.size:
            # any bit that the answer does not own is noise
            d1 = np.broadcast_to(self.d1, self._at.size)
            own = d1 + (np.broadcast_to(self.p1, d1.shape) - d1) * np.eye(d1.size)
            Q[self._at, :patterns] = _pattern_law(own)
            Q[self._others, :patterns] = self.d2 * _pattern_law(d1[None])
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

    def score_reach(self, p: Array, features: Array) -> tuple[Array, Array]:
        others = self._others
        told = features[:, others] / p[others]
        if not self._at.size:
            return told.min(axis=1), told.max(axis=1)
        order = np.concatenate([self._at, others])
        low, high = self._scores().reach(p[order], features[:, order])
        return (
            np.minimum(low, told.min(axis=1, initial=np.inf)),
            np.maximum(high, told.max(axis=1, initial=-np.inf)),
        )

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
        return float("inf") if self.format.n_others else self._protected()

    def protected_epsilon(self, sensitive: Array) -> float:
        if np.setdiff1d(sensitive, self._at).size:  # revealed by a report
            return float("inf")
        return self._protected()

    def _ratios(self) -> tuple[Array, Array, float]:
        """Log odds of a bit that is set and of one that is not for its owner, and ln d2.

        All are against the law of noise alone. Of each sensitive category, or of two that stand for
        all where they are alike.
        """
        S = self._at.size if np.ndim(self.p1) else min(self._at.size, 2)
        p1, d1 = np.broadcast_to(self.p1, S), np.broadcast_to(self.d1, S)
        set_, clear = np.log(p1) - np.log(d1), np.log1p(-p1) - np.log1p(-d1)
        if np.ndim(self.p1) == 0 and S and abs(p1[0] + d1[0] - 1.0) < 1e-15:
            clear = -set_  # 1 - p1 is d1, the more exact of the two
        return set_, clear, float(np.log(self.d2)) if S else 0.0

    def raised(self) -> Array:
        """Largest ``ln Q[x, y] / Q[x', y]`` over protected y and all other x', in nats.

        Of each sensitive category x, or of two where they are alike, then of all that are not.
        """
        set_, clear, rest = self._ratios()
        S, N = set_.size, self.format.n_others
        if not S:
            return np.zeros(1)
        against = np.minimum(set_, clear)
        order = np.argsort(against)[:2]
        least = np.full(S, against[order[0]])  # that the bit of another category makes of a report
        least[order[0]] = against[order[-1]] if S > 1 else np.inf
        found = np.maximum(set_, clear) - np.minimum(least, rest if N else np.inf)
        found = np.append(found, rest - against.min() if N else 0.0)
        return np.asarray(np.maximum(found, 0.0))

    def _protected(self) -> float:
        """Largest log ratio in the reports that reveal nothing."""
        return float(self.raised().max()) if self._at.size else 0.0

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
            found, asked = self.raised(), mask[self._at]
            own = found[:-1][asked] if np.ndim(self.p1) else found[:-1][: int(asked.sum())]
            ratio[0] = max(own.max(initial=0.0), found[-1] * mask[self._others].any())
        return replace(classes, log_ratio=ratio)


def _pattern_law(chance: Array) -> Array:
    """Law of the patterns of S independent bits that are 1 with these chances, (m, S) -> (m, 2^S).

    Pattern number ``sum_j bit_j 2^j``.
    """
    law = np.ones((len(chance), 1))
    for q in chance.T[:, :, None]:
        law = np.hstack([law * (1.0 - q), law * q])
    return law
