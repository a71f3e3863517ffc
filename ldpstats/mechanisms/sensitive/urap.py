"""Utility-optimised RAPPOR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.labels import sensitive_codes
from ldpstats.clients.document import check_table, numbers
from ldpstats.mechanisms.bits import check_theta, other_bit, sums_of_bits
from ldpstats.mechanisms.sensitive.bits import SensitiveBits
from ldpstats.mechanisms.sensitive.levels import Levelled
from ldpstats.mechanisms.sensitive.revealing import RevealingFormat
from ldpstats.problems.covariance import independent_bits
from ldpstats.problems.equations import Equations, Moments
from ldpstats.reports.single import BitCounts, Counts
from ldpstats.sampling import samplers
from ldpstats.sampling.realised import realised_bits_raised
from ldpstats.sampling.words import Words

__all__ = ["URAP"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class URAP(Levelled):
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
        The categories to protect, in any order. May be left out where `epsilon` names them.
    epsilon : float, or dict from label to float
        Privacy of one report, in nats; of each sensitive category its own if a dict.
    theta : float, optional
        P(own bit = 1) of a sensitive category, in (0, 1), of that with the smallest epsilon;
        ``e^{eps/2} / (1 + e^{eps/2})`` by default. `planning.best_theta` finds the one with the
        smallest expected loss.
    levels : sequence of float, optional
        Epsilon of each sensitive category, in category order: what a dict becomes, with the
        largest as `epsilon`.

    Raises
    ------
    InvalidArgument
        For an epsilon that is not positive, a dict that lacks a sensitive category, theta outside
        (0, 1), a sensitive category named twice, or no `sensitive` and no dict.
    UnknownCategory
        For a sensitive category that is not among `categories`.

    Notes
    -----
    A report is kept as the bits of the sensitive categories, packed, and the number of the revealed
    category after them (0 for none): see `Reports.y`. Counts of revealed answers are plain numbers;
    the noise around them does not depend on the answer, and only its sums are kept, for the
    linear estimate. As text, in files, a report has a bit for each category, in category order.

    With an epsilon for each sensitive category x, what is guaranteed is that of `URR`: no protected
    report raises the odds of x against any other category by more than ``e^{eps_x}``, nor those of
    a category that is not sensitive at all (`pair_epsilon`). Let u_x and v_x be the likelihoods of
    a set and of a clear bit of x, over those of noise. A report with the bit of x alone, against
    one of x' without, shows that the guarantee is ``u_x <= v_x' e^{eps_x}``, and against other
    categories ``u_x <= d2 e^{eps_x}`` and ``d2 <= v_x``. The variance of the estimate of x grows
    with ``1 / ((1 - v_x) (u_x - 1))``, so for a given d2 the best choice has ``v_x = d2`` and
    ``u_x = d2 e^{eps_x}`` for all x: ``P(bit = 1) = (1 - d2) / (1 - e^{-eps_x})`` if x is the
    answer and ``(1 - d2) / (d2 (e^{eps_x} - 1))`` if not, with d2 as of the smallest epsilon.

    Examples
    --------
    >>> urap = URAP(("nurse", "teacher", "cook"), {"cook"}, epsilon=2 * np.log(3))
    >>> round(urap.p1, 12), round(urap.d1, 12), round(urap.d2, 12)
    (0.75, 0.25, 0.333333333333)
    >>> urap.channel().matrix().round(4)   # reports 0 and 1 are protected, 2 and 3 reveal
    array([[0.25  , 0.0833, 0.6667, 0.    ],
           [0.25  , 0.0833, 0.    , 0.6667],
           [0.25  , 0.75  , 0.    , 0.    ]])

    Two levels of protection: reports 0 to 3 are protected, and 4 reveals.

    >>> urap = URAP(("a", "b", "c"), epsilon={"a": np.log(4), "b": np.log(16)})
    >>> urap.channel().matrix().round(4)
    array([[0.3111, 0.6222, 0.0222, 0.0444, 0.    ],
           [0.3111, 0.1556, 0.3556, 0.1778, 0.    ],
           [0.3111, 0.1556, 0.0222, 0.0111, 0.5   ]])
    """

    categories: Any
    sensitive: Any = None
    epsilon: Any = None
    theta: float | None = None
    levels: Any = None
    n_outputs = 0
    n_cohorts = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.theta is not None:
            object.__setattr__(self, "theta", check_theta(self.theta, self.levels is not None))

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        return self.k

    def _report_names(self, size: int) -> Array:
        told = np.setdiff1d(np.arange(self.k), sensitive_codes(self.sensitive, self.categories))
        bits = np.zeros((size, self.k), dtype=np.uint8)
        noised = np.delete(np.arange(self.k), told)
        numbers = np.arange(size - told.size)
        bits[: numbers.size, noised] = numbers[:, None] >> np.arange(noised.size) & 1
        bits[numbers.size + np.arange(told.size), told] = 1
        return np.array(["".join(row) for row in bits.astype(str)], dtype=object)

    @property
    def _least(self) -> float:
        """The smallest epsilon."""
        return float(self.epsilon if self.levels is None else min(self.levels))

    @property
    def p1(self) -> Any:
        """P(bit = 1) of a sensitive category that is the answer: theta.

        Where levels differ, of each sensitive category, shape (S,).
        """
        if self.levels is not None:
            return self._graded[0]
        if self.theta is None:
            return float(1.0 / (1.0 + np.exp(-self.epsilon / 2)))
        return self.theta

    @property
    def d1(self) -> Any:
        """P(bit = 1) of a sensitive category that is not the answer; (S,) where levels differ."""
        if self.levels is not None:
            return self._graded[1]
        if self.theta is None:
            return float(np.exp(-self.epsilon / 2) / (1.0 + np.exp(-self.epsilon / 2)))
        return other_bit(self.theta, self.epsilon)

    @cached_property
    def _graded(self) -> tuple[Array, Array, Array]:
        """P(bit = 1) of the answer and of another, and their difference, where levels differ."""
        eps, least, told = np.array(self.levels), self._least, self.told
        share = -np.expm1(-eps)  # 1 - e^-eps
        rise = eps - least / 2  # ln d2 e^eps, in a form that keeps its digits
        if self.theta is not None:
            rise = eps - least + np.log1p((1.0 - self.theta) * np.expm1(least))
        clear = -np.expm1(-rise) / share  # 1 - d1
        own = _rounded(told / share, self.d2 * clear, "down")
        other = _rounded(told * np.exp(-rise) / share, clear, "up")
        return own, other, np.asarray(other * np.expm1(rise))

    @property
    def d2(self) -> float:
        """P(protected report) of an answer that is not sensitive."""
        if not self._at.size:
            return 0.0
        if self.theta is None:
            return float(np.exp(-self._least / 2))
        # `told` may be near one
        return float(1.0 - self.theta + self.theta * np.exp(-self._least))

    @property
    def told(self) -> float:
        """1 - d2, P(report reveals the answer) of an answer that is not sensitive."""
        if not self._at.size:
            return 1.0
        if self.theta is None:
            return float(-np.expm1(-self._least / 2))
        return float(-self.theta * np.expm1(-self._least))

    @cached_property
    def format(self) -> RevealingFormat:
        return RevealingFormat(self.k, sensitive_codes(self.sensitive, self.categories))

    # -- what is known of the reports -----------------------------------------------------------

    def channel(self, candidates: Any = None) -> SensitiveBits:
        """Q of the reports as they are counted: a revealed answer without the noise around it."""
        self._closed(candidates)
        return SensitiveBits(self.format, self.p1, self.d1, self.d2, self.told)

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> Moments:
        """Equations of all bits, those around revealed answers included (MK19 section 2.5)."""
        self._closed(candidates)
        self._own(counts)
        sums = counts.bit_counts()
        nobs = sums.nobs
        p1, p0, slope = np.full(self.k, self.told), np.zeros(self.k), np.full(self.k, self.told)
        p1[self._at], p0[self._at], slope[self._at] = self.p1, self.d1, self._slope()
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

    def _slope(self) -> Any:
        """theta - d1, of which a subtraction would lose digits at small epsilon."""
        if self.levels is not None:
            return self._graded[2]
        if self.theta is None:
            return float(np.tanh(self.epsilon / 4.0))
        return float(self.d1 * (1.0 - self.theta) * np.expm1(self.epsilon))

    # -- sampling --------------------------------------------------------------------------------

    def _thresholds(self) -> tuple[list[int], list[int], int]:
        """Of the own bits, of others', and of revealing; all rounded towards more privacy.

        Of each sensitive category, or of two that stand for all where they are alike.
        """
        S, certain = self._at.size, 1 << 64
        shown = min(S, 2) if self.levels is None else S
        p1, d1 = np.broadcast_to(self.p1, shown).tolist(), np.broadcast_to(self.d1, shown).tolist()
        other = [max(samplers.threshold(d, "up"), 1) for d in d1]
        if self.theta is None and self.levels is None:
            own = [certain - threshold for threshold in other]
        else:
            own = [samplers.threshold(p, "down") for p in p1]
        if not S:
            return own, other, certain
        if self.told < 0.5:
            return own, other, samplers.threshold(self.told, "down")
        return own, other, certain - max(samplers.threshold(self.d2, "up"), 1)

    def _each(self) -> tuple[list[int], list[int], int]:
        """As `_thresholds`, of each sensitive category."""
        own, other, told = self._thresholds()
        if self.levels is None:
            own, other = own[:1] * self._at.size, other[:1] * self._at.size
        return own, other, told

    def _draw_document(self) -> dict[str, Any]:
        check_table(self, 3 * self._at.size)
        own, other, told = self._each()
        thresholds = {"own": numbers(own), "other": numbers(other), "told": str(told)}
        return {"kind": "reveal", "sensitive": self._at.tolist(), **thresholds}

    def sample(self, codes: Array, words: Words) -> Array:
        S = self._at.size
        own, other, told = self._each()
        # the others own one more bit, which is set where the answer is revealed
        place = np.full(self.k, S)
        place[self._at] = np.arange(S)
        number = np.zeros(self.k, dtype=np.int64)
        others = self.format.others
        number[others] = np.arange(1, others.size + 1)
        codes = np.array(samplers.sample_krr(codes, self.k, 1 << 64, words))  # checks their range
        drawn = samplers.sample_bits(place[codes][:, None], S + 1, [*own, told], [*other, 0], words)
        revealed = (drawn[:, S >> 3] >> np.uint8(S & 7)) & 1
        drawn[:, S >> 3] &= np.uint8(255 ^ (1 << (S & 7)))
        return self.format.pack(drawn[:, : -(-S // 8)], number[codes] * revealed)

    def _sampler_epsilon(self) -> float:
        if not self._at.size:
            return 0.0
        return self._worst(realised_bits_raised(*self._thresholds(), self.format.n_others))

    def _worst(self, raised: Array) -> float:
        """Largest epsilon of a category and of others; where levels differ, what leaks is added."""
        if self.levels is None:
            return float(raised.max())
        return float(self.epsilon + np.max(raised - np.append(self.levels, 0.0)))

    def _realised(self) -> Array:
        return self.channel().raised()

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> BitCounts:
        self._closed(candidates)
        nobs, true_counts = int(np.sum(true_counts)), np.asarray(true_counts)
        own = np.full(self.k, self.told)
        own[self._at] = self.p1
        ones = rng.binomial(true_counts, own)
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

    # -- specification ---------------------------------------------------------------------------

    def _specification(self) -> dict[str, Any]:
        document = super()._specification()
        if self.levels is None:  # as it was written before there were levels
            del document["levels"]
        return document

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        if isinstance(document, Mapping) and "levels" not in document:
            document = {**document, "levels": None}
        return super().from_dict(document)


def _rounded(chance: Array, rest: Array, towards: str) -> Array:
    """Probabilities from the smaller of themselves and their complements, never the other way.

    Next to one only the complement has digits.
    """
    found = 1.0 - rest
    wrong = 1.0 - found < rest if towards == "down" else 1.0 - found > rest
    found = np.where(wrong, np.nextafter(found, 0.0 if towards == "down" else 1.0), found)
    return np.where(chance < 0.5, chance, found)
