"""Utility-optimised RAPPOR."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import positive_epsilon
from ldpstats.arguments.labels import as_labels, sensitive_codes, sensitive_labels
from ldpstats.channels.base import Channel, OutputClasses, n_patterns
from ldpstats.channels.bit_scores import BitScores, unary_scores
from ldpstats.channels.structured import Bits
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.bits import (
    check_theta,
    format_bits,
    other_bit,
    parse_bits,
    sums_of_bits,
)
from ldpstats.mechanisms.enumerated import without_cohort
from ldpstats.problems.covariance import independent_bits
from ldpstats.problems.equations import Equations, Moments
from ldpstats.problems.rows.base import Rows, UnaryRows
from ldpstats.problems.rows.sensitive import SensitiveRows
from ldpstats.reports.single import BitCounts, Counts, Reports
from ldpstats.sampling import packing, realised, samplers
from ldpstats.sampling.words import Words

__all__ = ["URAP"]

Array = npt.NDArray[Any]

_CODE_TYPES = ("<u1", "<u2", "<u4", "<u8")  # of the number of an answer that a report reveals
_ROWS = 1 << 14  # reports whose bits are copied at a time


@dataclass(frozen=True, eq=False)
class URAP(Mechanism):
    """Utility-optimised RAPPOR (MK19 Definition 4): a bit per category, noise for sensitive ones.

    The bit of a sensitive category is 1 with probability `theta` if it is the answer, and with
    ``d1 = theta / ((1 - theta) e^eps + theta)`` if it is not. The bit of any other category is 1
    with probability ``1 - d2``, ``d2 = 1 - theta (1 - e^-eps)``, if it is the answer, which it then
    reveals, and never if it is not. Every report with no such bit is protected.

    With all categories sensitive this is `KRAPPOR`. With none, answers are reported as they are:
    there is no protected report that they would have to help to hide, and d2 is zero.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories; an int k means the labels 0 .. k-1.
    sensitive : set or sequence of labels
        The categories to protect, in any order.
    epsilon : float
        Privacy of one report, in nats.
    theta : float, optional
        P(own bit = 1) of a sensitive category, in (0, 1); ``e^{eps/2} / (1 + e^{eps/2})`` by
        default. `utility.best_theta` finds the one with the smallest expected loss.

    Raises
    ------
    InvalidArgument
        For an epsilon that is not positive, theta outside (0, 1), or a sensitive category named
        twice.
    UnknownCategory
        For a sensitive category that is not among `categories`.

    Notes
    -----
    A report is kept as the bits of the sensitive categories, packed, and the number of the revealed
    category after them (0 for none): see `Reports.y`. Counts of revealed answers are plain numbers;
    the noise that came with them says nothing of the answer, and only its sums are kept, for the
    linear estimate. As text, in files, a report has a bit for each category, in category order.

    Examples
    --------
    >>> urap = URAP(("nurse", "teacher", "cook"), {"cook"}, epsilon=2 * np.log(3))
    >>> round(urap.p1, 12), round(urap.d1, 12), round(urap.d2, 12)
    (0.75, 0.25, 0.333333333333)
    >>> urap.channel().matrix().round(4)   # reports 0 and 1 are protected, 2 and 3 reveal
    array([[0.25  , 0.0833, 0.6667, 0.    ],
           [0.25  , 0.0833, 0.    , 0.6667],
           [0.25  , 0.75  , 0.    , 0.    ]])
    """

    categories: Any
    sensitive: Any = field()
    epsilon: float
    theta: float | None = None
    n_outputs = 0
    n_cohorts = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", as_labels("categories", self.categories))
        codes = sensitive_codes(self.sensitive, self.categories)
        object.__setattr__(self, "sensitive", sensitive_labels(codes, self.categories))
        object.__setattr__(self, "epsilon", positive_epsilon("epsilon", self.epsilon))
        if self.theta is not None:
            object.__setattr__(self, "theta", check_theta(self.theta))

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        return self.k

    @property
    def p1(self) -> float:
        """P(bit = 1) of a sensitive category that is the answer: theta."""
        if self.theta is None:
            return float(1.0 / (1.0 + np.exp(-self.epsilon / 2)))
        return self.theta

    @property
    def d1(self) -> float:
        """P(bit = 1) of a sensitive category that is not the answer."""
        if self.theta is None:
            return float(np.exp(-self.epsilon / 2) / (1.0 + np.exp(-self.epsilon / 2)))
        return other_bit(self.theta, self.epsilon)

    @property
    def d2(self) -> float:
        """P(protected report) of an answer that is not sensitive."""
        if not self._at.size:
            return 0.0
        if self.theta is None:
            return float(np.exp(-self.epsilon / 2))
        return float(1.0 - self.theta + self.theta * np.exp(-self.epsilon))  # told may be near one

    @property
    def told(self) -> float:
        """1 - d2, P(report reveals the answer) of an answer that is not sensitive."""
        if not self._at.size:
            return 1.0
        if self.theta is None:
            return float(-np.expm1(-self.epsilon / 2))
        return float(-self.theta * np.expm1(-self.epsilon))

    @cached_property
    def _at(self) -> npt.NDArray[np.int64]:
        """Codes of the sensitive categories."""
        return sensitive_codes(self.sensitive, self.categories)

    @cached_property
    def _others(self) -> npt.NDArray[np.int64]:
        """Codes of the categories that are not sensitive."""
        return np.delete(np.arange(self.k), self._at)

    @property
    def _n_others(self) -> int:
        return self.k - self._at.size

    @cached_property
    def _protects(self) -> npt.NDArray[np.bool_]:
        mask = np.zeros(self.k, dtype=bool)
        mask[self._at] = True
        return mask

    # -- packed reports --------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        """Bytes of the bits of the sensitive categories."""
        return -(-self._at.size // 8)

    @property
    def _code_type(self) -> str | None:
        """Type of the number after them; None where there is nothing to reveal."""
        N = self._n_others
        return next(t for t in _CODE_TYPES if N < 256 ** int(t[2])) if N else None

    @property
    def packed_bits(self) -> int:
        return 8 * (self._width + int((self._code_type or "<u0")[2]))

    def packing_fault(self, y: Array) -> str:
        S, N = self._at.size, self._n_others
        if S % 8 and (y[:, self._width - 1] >> (S % 8)).any():
            return f"has bits beyond the {S} of the sensitive categories: padding must be zero"
        revealed = self.revealed(y)
        if (revealed > N).any():
            return f"reveals a category beyond the {N} that are not sensitive"
        return "" if S or revealed.all() else "reveals no category, although none is sensitive"

    def sums_fault(self, ones: Array, reports: Array) -> str:
        told = int(ones[0, self._others].sum())
        if told > reports[0]:
            return f"say that {reports[0]} reports reveal {told} answers: each reveals one at most"
        if told < reports[0] and not self._at.size:
            return f"say that {told} of {reports[0]} reports reveal an answer: all do here"
        return ""

    def revealed(self, y: Array) -> Array:
        """Number of the revealed category in packed reports, int64 of shape (n,); 0 for none.

        Number j + 1 stands for the j-th of the categories that are not sensitive.
        """
        if self._code_type is None:
            return np.zeros(len(y), dtype=np.int64)
        code = np.ascontiguousarray(y[:, self._width :]).view(self._code_type)
        return code[:, 0].astype(np.int64)

    def _packed(self, bits: npt.NDArray[np.uint8], revealed: Array) -> npt.NDArray[np.uint8]:
        """Packed reports from packed bits, (n, width), and numbers of revealed categories."""
        if self._code_type is None:
            return bits
        code = revealed.astype(self._code_type)[:, None].view(np.uint8)
        return np.concatenate([bits, code], axis=1)

    def unpack(self, y: Array) -> Array:
        bits = np.zeros((len(y), self.k), dtype=bool)
        bits[:, self._at] = packing.unpack(y[:, : self._width], self._at.size)
        revealed = self.revealed(y)
        at = np.flatnonzero(revealed)
        bits[at, self._others[revealed[at] - 1]] = True
        return bits

    def sum_bits(self, y: Array, n: Array | None = None) -> Array:
        revealed, bits = self.revealed(y), y[:, : self._width]
        sums = np.zeros(self.k, dtype=np.int64)
        told = np.bincount(revealed, weights=n, minlength=self._others.size + 1)[1:]
        sums[self._others] = np.rint(told)
        for start in range(0, len(y), _ROWS):
            part = bits[start : start + _ROWS]
            times = np.ones(len(part), np.int64) if n is None else n[start : start + _ROWS]
            many = (times != 1) & part.any(axis=1)
            sums[self._at] += packing.column_sums(part[times == 1], self._at.size)
            sums[self._at] += times[many] @ packing.unpack(part[many], self._at.size)
        return sums

    def condense(self, y: Array, n: Array | None) -> tuple[Array, Array | None, Array | None]:
        revealed = self.revealed(y)
        told = revealed > 0
        if not told.any():
            return y, n, None
        times = np.ones(len(y), dtype=np.int64) if n is None else n
        counts = np.bincount(revealed[told], weights=times[told], minlength=1).astype(np.int64)
        seen, kept = np.flatnonzero(counts), np.flatnonzero(~told)
        left = np.empty((kept.size + seen.size, y.shape[1]), np.uint8)  # the only copy of reports
        np.take(y, kept, axis=0, out=left[: kept.size], mode="clip")
        left[kept.size :] = self._packed(np.zeros((seen.size, self._width), np.uint8), seen)
        times = np.concatenate([times[kept], counts[seen]])
        noise = self.sum_bits(y, n) - self.sum_bits(left, times)
        return left, times, noise if noise.any() else None

    # -- what is known of the reports -----------------------------------------------------------

    def channel(self, candidates: Any = None) -> Channel:
        """Q of the reports as they are counted: a revealed answer without the noise around it."""
        self._closed(candidates)
        return _SensitiveBits(self)

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> Moments:
        """Equations of all bits, those around revealed answers included (MK19 section 2.5)."""
        self._closed(candidates)
        self._own(counts)
        sums = counts.bit_counts() if isinstance(counts, Counts) else counts
        nobs = sums.nobs
        p1 = np.where(self._protects, self.p1, self.told)
        p0 = np.where(self._protects, self.d1, 0.0)
        slope = np.where(self._protects, self._slope(), self.told)
        mean = p0 + slope / self.k
        return Equations(
            slope,
            p0,
            sums.ones.sum(axis=0) / nobs,
            V=lambda p: independent_bits(p, p1, p0, nobs),
            weights=nobs / (mean * (1.0 - mean)) if self._at.size else nobs / mean,
            nobs=nobs,
            kind="sensitive",
        )

    def _slope(self) -> float:
        """theta - d1, of which a subtraction would lose digits at small epsilon."""
        if self.theta is None:
            return float(np.tanh(self.epsilon / 4.0))
        return float(self.d1 * (1.0 - self.theta) * np.expm1(self.epsilon))

    # -- sampling --------------------------------------------------------------------------------

    def _thresholds(self) -> tuple[int, int, int]:
        """Of the own bit, of another's, and of revealing; all rounded towards more privacy."""
        other = max(samplers.threshold(self.d1, "up"), 1)
        own = (1 << 64) - other if self.theta is None else samplers.threshold(self.p1, "down")
        if not self._at.size:
            return own, other, 1 << 64
        if self.told < 0.5:
            return own, other, samplers.threshold(self.told, "down")
        return own, other, (1 << 64) - max(samplers.threshold(self.d2, "up"), 1)

    def sample(self, codes: Array, words: Words) -> Array:
        S = self._at.size
        own, other, told = self._thresholds()
        # what is not sensitive owns one more bit, set where the answer is revealed
        place = np.full(self.k, S)
        place[self._at] = np.arange(S)
        number = np.zeros(self.k, dtype=np.int64)
        number[self._others] = np.arange(1, self._others.size + 1)
        codes = np.array(samplers.sample_krr(codes, self.k, 1 << 64, words))  # checks their range
        drawn = samplers.sample_bits(
            place[codes][:, None], S + 1, [own] * S + [told], [other] * S + [0], words
        )
        revealed = (drawn[:, S >> 3] >> np.uint8(S & 7)) & 1
        drawn[:, S >> 3] &= np.uint8(255 ^ (1 << (S & 7)))
        return self._packed(drawn[:, : self._width], number[codes] * revealed)

    def sampler_epsilon(self) -> float:
        own, other, told = self._thresholds()
        S, N = self._at.size, self._n_others
        if not S:
            return 0.0
        certain = 1 << 64
        up, down = realised.realised_ratios(own, other)
        worst = up + down if S > 1 else 0.0
        if N:  # a sensitive answer against one that is not, whose report is protected with d2
            left = certain - told
            set_ = realised.log_ratio(own * certain, other * left)
            clear = realised.log_ratio((certain - own) * certain, (certain - other) * left)
            worst = max(worst, abs(set_), abs(clear))
        return worst

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> BitCounts:
        self._closed(candidates)
        nobs, true_counts = int(np.sum(true_counts)), np.asarray(true_counts)
        ones = rng.binomial(true_counts, np.where(self._protects, self.p1, self.told))
        ones[self._at] += rng.binomial(nobs - true_counts[self._at], self.d1)
        return BitCounts(ones[None, :], np.array([nobs]), self)

    # -- counts and text -------------------------------------------------------------------------

    def counts(self, n: npt.ArrayLike, nobs: npt.ArrayLike | None = None) -> BitCounts:
        """Counts from the sums of the k bits.

        Parameters
        ----------
        n : array-like of int, shape (k,) or (1, k)
            How often each bit was set, in category order.
        nobs : int
            Number of reports; bit sums alone do not say.

        Raises
        ------
        InvalidArgument
            For a missing `nobs`, a wrong length, or sums that exceed `nobs`.
        """
        return BitCounts(*sums_of_bits(n, nobs, self.categories), self)

    def parse(self, name: str, labels: object, cohort: object = None) -> Reports:
        without_cohort(self, cohort)
        bits = packing.unpack(parse_bits(name, labels, self.k), self.k)
        told = bits[:, self._others]
        many = np.flatnonzero(told.sum(axis=1) > 1)
        if many.size:
            raise InvalidArgument(
                f"{name}[{many[0]}]",
                "".join("01"[b] for b in bits[many[0]].astype(int)),
                f"has two bits that are not sensitive: no report of {self} has",
            )
        if not self._at.size and not told.any(axis=1).all():
            i = int(np.argmin(told.any(axis=1)))
            raise InvalidArgument(f"{name}[{i}]", "0" * self.k, "has no bit: none is sensitive")
        revealed = np.where(told.any(axis=1), told.argmax(axis=1) + 1, 0) if told.size else 0
        packed = np.packbits(bits[:, self._at], axis=1, bitorder="little")
        return Reports(self._packed(packed, np.broadcast_to(revealed, len(bits))), self)

    def report_labels(self, reports: Reports) -> npt.NDArray[Any]:
        packed = np.packbits(self.unpack(reports.y), axis=1, bitorder="little")
        return format_bits(packed, self.k)

    def __str__(self) -> str:
        theta = "" if self.theta is None else f", theta={self.theta:.6g}"
        return f"URAP(k={self.k}, sensitive={self._at.size}, epsilon={self.epsilon:.6g}{theta})"


@dataclass(frozen=True, eq=False)
class _SensitiveBits(Channel):
    """Reports of `URAP`: the patterns of the sensitive bits, then the answers that are revealed."""

    urap: URAP

    @property
    def shape(self) -> tuple[int, int]:
        return self.urap.k, self._patterns() + self.urap._n_others

    def _patterns(self) -> int:
        """Number of protected reports."""
        S = self.urap._at.size
        return int(2**S) if S else 0

    def _noised(self) -> Bits:
        """The bits of the sensitive categories."""
        S = self.urap._at.size
        return Bits(range(S), S, self.urap.p1, self.urap.d1)

    def matrix(self) -> Array:
        S = self.urap._at.size
        if S > 20:
            raise NotAvailable(
                f"matrix() of reports of {S} bits would list 2^{S} patterns: use likelihood(y), "
                "which forms only the columns of observed reports"
            )
        return super().matrix()

    def _matrix(self) -> Array:
        urap, (k, l) = self.urap, self.shape  # noqa: E741
        Q, patterns = np.zeros((k, l)), self._patterns()
        # any bit that the answer does not own is noise
        noise = Bits(np.array([[0]]), urap._at.size, urap.d1, urap.d1) if urap._at.size else None
        if noise is not None:
            Q[urap._at, :patterns] = self._noised()._matrix()
            Q[urap._others, :patterns] = urap.d2 * noise._matrix()
        Q[urap._others, patterns + np.arange(urap._others.size)] = urap.told
        return Q

    def _scores(self) -> BitScores:
        """The law of protected reports; the sensitive categories come first."""
        urap = self.urap
        leftover = np.full(urap._others.size, urap.d2)
        return unary_scores(urap.p1, urap.d1, urap._at.size, leftover)

    def information(self, p: Array) -> Array:
        urap, J = self.urap, np.zeros((p.size, p.size))
        if urap._at.size:
            order = np.concatenate([urap._at, urap._others])
            J[np.ix_(order, order)] = self._scores().information(p[order])
        told = p[urap._others]
        if np.any(told <= 0.0):
            raise InvalidArgument("p", p, "must be positive where a report reveals the category")
        J[urap._others, urap._others] += urap.told / told
        return J

    def score_moments(self, p: Array, features: Array) -> tuple[Array, Array]:
        urap, others = self.urap, self.urap._others
        own, mean = np.zeros((3, p.size)), np.zeros((3, p.size))
        if urap._at.size:
            order = np.concatenate([urap._at, others])
            found = self._scores().moments(p[order], features[np.ix_(order, order)])
            own[:, order], mean[:, order] = found
            own[:, others] *= urap.d2
        u = features[:, others] / p[others]  # of reports that reveal
        for j in range(3):
            own[j, others] += (
                urap.told * np.diagonal(features)[others] ** (j + 1) / p[others] ** (j + 1)
            )
            mean[j] += urap.told * (u ** (j + 1) @ p[others])
        return own, mean

    def rows(self, y: npt.NDArray[np.uint8]) -> Rows:
        urap = self.urap
        revealed = urap.revealed(y)
        protected = np.count_nonzero(revealed == 0)
        # counts have these first: part of the same array, whose last bytes, the number, are zero
        packed = y[:protected] if not revealed[:protected].any() else y[revealed == 0]
        return SensitiveRows(
            UnaryRows(packed, urap.p1, urap.d1, urap._at.size),
            revealed == 0,
            urap._others[revealed[revealed > 0] - 1],
            urap._protects,
            urap.told,
            urap.d2,
        )

    def epsilon(self) -> float:
        return float("inf") if self.urap._n_others else self._noised().epsilon()

    def protected_epsilon(self, sensitive: Array) -> float:
        if np.setdiff1d(sensitive, self.urap._at).size:  # revealed by a report
            return float("inf")
        return self._protected()

    def _protected(self) -> float:
        """Largest log ratio in the reports that reveal nothing."""
        urap, S = self.urap, self.urap._at.size
        worst = self._noised().epsilon() if S > 1 else 0.0
        if S and urap._n_others:  # of a sensitive answer against one that is not
            set_ = np.log(urap.p1) - np.log(urap.d1) - np.log(urap.d2)
            clear = np.log1p(-urap.p1) - np.log1p(-urap.d1) - np.log(urap.d2)
            worst = max(worst, abs(float(set_)), abs(float(clear)))
        return worst

    def output_classes(self) -> OutputClasses:
        urap = self.urap
        S, others = urap._at.size, urap._others
        ratios, sole, size = [], [], []
        if S:
            ratios, sole, size = [self._protected()], [-1], [n_patterns(S)]
        return OutputClasses(
            np.append(ratios, np.full(others.size, np.inf)),
            np.append(sole, others).astype(np.int64),
            np.append(size, np.ones(others.size)),
        )
