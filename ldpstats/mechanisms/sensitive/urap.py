"""Utility-optimised RAPPOR."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import positive_epsilon
from ldpstats.arguments.labels import as_labels, sensitive_codes, sensitive_labels
from ldpstats.channels.base import Channel
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.bits import check_theta, other_bit, sums_of_bits
from ldpstats.mechanisms.sensitive.bits import SensitiveBits
from ldpstats.mechanisms.sensitive.revealing import RevealingFormat
from ldpstats.problems.covariance import independent_bits
from ldpstats.problems.equations import Equations, Moments
from ldpstats.reports.single import BitCounts, Counts
from ldpstats.sampling import realised, samplers
from ldpstats.sampling.words import Words

__all__ = ["URAP"]

Array = npt.NDArray[Any]


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
        default. `planning.best_theta` finds the one with the smallest expected loss.

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
    the noise around them does not depend on the answer, and only its sums are kept, for the
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
        # `told` may be near one
        return float(1.0 - self.theta + self.theta * np.exp(-self.epsilon))

    @property
    def told(self) -> float:
        """1 - d2, P(report reveals the answer) of an answer that is not sensitive."""
        if not self._at.size:
            return 1.0
        if self.theta is None:
            return float(-np.expm1(-self.epsilon / 2))
        return float(-self.theta * np.expm1(-self.epsilon))

    @cached_property
    def format(self) -> RevealingFormat:
        return RevealingFormat(self.k, sensitive_codes(self.sensitive, self.categories))

    @property
    def _at(self) -> npt.NDArray[np.int64]:
        """Codes of the sensitive categories."""
        return self.format.sensitive

    # -- what is known of the reports -----------------------------------------------------------

    def channel(self, candidates: Any = None) -> Channel:
        """Q of the reports as they are counted: a revealed answer without the noise around it."""
        self._closed(candidates)
        return SensitiveBits(self.format, self.p1, self.d1, self.d2, self.told)

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> Moments:
        """Equations of all bits, those around revealed answers included (MK19 section 2.5)."""
        self._closed(candidates)
        self._own(counts)
        sums = counts.bit_counts()
        nobs = sums.nobs
        p1 = np.where(self.format.protects, self.p1, self.told)
        p0 = np.where(self.format.protects, self.d1, 0.0)
        slope = np.where(self.format.protects, self._slope(), self.told)
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
        # the others own one more bit, which is set where the answer is revealed
        place = np.full(self.k, S)
        place[self._at] = np.arange(S)
        number = np.zeros(self.k, dtype=np.int64)
        others = self.format.others
        number[others] = np.arange(1, others.size + 1)
        codes = np.array(samplers.sample_krr(codes, self.k, 1 << 64, words))  # checks their range
        drawn = samplers.sample_bits(
            place[codes][:, None], S + 1, [own] * S + [told], [other] * S + [0], words
        )
        revealed = (drawn[:, S >> 3] >> np.uint8(S & 7)) & 1
        drawn[:, S >> 3] &= np.uint8(255 ^ (1 << (S & 7)))
        return self.format.pack(drawn[:, : -(-S // 8)], number[codes] * revealed)

    def _sampler_epsilon(self) -> float:
        own, other, told = self._thresholds()
        S, N = self._at.size, self.format.n_others
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
        ones = rng.binomial(true_counts, np.where(self.format.protects, self.p1, self.told))
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
