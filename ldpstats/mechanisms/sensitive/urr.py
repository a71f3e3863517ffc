"""Utility-optimised randomised response."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.channels.structured import Uniformised
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.mechanisms.sensitive.levels import Levelled
from ldpstats.problems.covariance import multinomial
from ldpstats.problems.equations import Equations, Moments
from ldpstats.reports.single import BitCounts, Counts
from ldpstats.sampling import realised, samplers
from ldpstats.sampling.words import Words

__all__ = ["URR"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class URR(Levelled, Enumerated):
    """Utility-optimised randomised response (MK19 Definition 3): noise for sensitive answers only.

    With S sensitive categories, ``P(y | x)`` is ``c1 = e^eps / (S + e^eps - 1)`` if y = x is
    sensitive, ``c2 = 1 / (S + e^eps - 1)`` if y is another sensitive category, whatever x, and
    ``c3 = 1 - S c2`` if y = x is not sensitive. A sensitive answer is always reported as a
    sensitive one. Another is reported as it is with probability c3, which reveals it, and as one
    of the sensitive categories otherwise, so that these may have come from anyone.

    With all categories sensitive this is k-RR, with none the answers themselves, and for two
    categories Mangat's design.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories; an int k means the labels 0 .. k-1.
    sensitive : set or sequence of labels
        The categories to protect, in any order. May be left out where `epsilon` names them.
    epsilon : float, or dict from label to float
        Privacy of one report, in nats; of each sensitive category its own if a dict.
    levels : sequence of float, optional
        Epsilon of each sensitive category, in category order: what a dict becomes, with the
        largest as `epsilon`.

    Raises
    ------
    InvalidArgument
        For an epsilon that is not positive, a dict that lacks a sensitive category, a sensitive
        category named twice, or no `sensitive` and no dict.
    UnknownCategory
        For a sensitive category that is not among `categories`.

    Notes
    -----
    With an epsilon for each sensitive category, ``P(y | x) = b_y + a [x = y]`` where
    ``b_y = a / (e^{eps_y} - 1)`` for sensitive y, and ``a = 1 / (1 + sum_y 1 / (e^{eps_y} - 1))``.
    What is guaranteed is that no protected report raises the odds of a sensitive category x against
    any other category by more than ``e^{eps_x}``, nor those of another category at all: of two
    sensitive categories, no report favours one over the other by more than the larger epsilon. The
    stricter demand that no report may count *against* x by more than ``e^{eps_x}`` either would
    hold all categories to twice the smallest epsilon, as each differs from that category by no more
    than its epsilon. `pair_epsilon` gives the guarantee, and the audit reads it off Q.

    Examples
    --------
    >>> urr = URR(("nurse", "teacher", "driver", "cook"), {"nurse", "cook"}, epsilon=np.log(3))
    >>> urr.channel().matrix()
    array([[0.75, 0.  , 0.  , 0.25],
           [0.25, 0.5 , 0.  , 0.25],
           [0.25, 0.  , 0.5 , 0.25],
           [0.25, 0.  , 0.  , 0.75]])

    Two levels of protection:

    >>> urr = URR(("a", "b", "c"), epsilon={"a": np.log(2), "b": np.log(5)})
    >>> urr.channel().matrix().round(4)
    array([[0.8889, 0.1111, 0.    ],
           [0.4444, 0.5556, 0.    ],
           [0.4444, 0.1111, 0.4444]])
    """

    categories: Any
    sensitive: Any = None
    epsilon: Any = None
    levels: Any = None

    @cached_property
    def _channel(self) -> Uniformised:
        # in powers of e^-eps, which cannot overflow
        each = self.epsilon if self.levels is None else np.array(self.levels)
        odds = np.broadcast_to(np.exp(-each) / -np.expm1(-each), self._at.shape)  # 1/(e^eps - 1)
        total = 1.0 + (self._at.size * odds[0] if self.levels is None and odds.size else odds.sum())
        return _Scattered(self.k, float(1.0 / total), self._at, odds / total)

    def channel(self, candidates: Any = None) -> Uniformised:
        self._closed(candidates)
        return self._channel

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> Moments:
        self._closed(candidates)
        self._own(counts)
        nobs, Q = counts.nobs, self._channel
        mean = Q.a / self.k + Q.noise()
        return Equations(
            Q.a,
            Q.b,
            counts.vector() / nobs,
            V=lambda p: multinomial(Q.forward(p), nobs),
            weights=nobs / mean,
            nobs=nobs,
        )

    # -- sampling --------------------------------------------------------------------------------

    def _keep(self) -> int:
        """Threshold of keeping the answer; rounded towards more privacy."""
        a, rest = self._channel.a, self._channel.replaced
        if a < 0.5:
            return samplers.threshold(a, "down")
        return (1 << 64) - (max(samplers.threshold(rest, "up"), 1) if rest > 0.0 else 0)

    @cached_property
    def _replacements(self) -> samplers.IntegerRows | None:
        """The law of a replaced answer; None where it is uniform on the sensitive categories."""
        if self.levels is None:
            return None
        law = self._channel.noise(self._at)
        law = law / law.sum()
        # the integers are rounded down, which would leak where they are few: here they are not
        rare = law < 2.0**-32
        law[rare] = np.ldexp(np.ceil(np.ldexp(law[rare], 64)), -64)
        return samplers.integer_rows(law[None])

    def sample(self, codes: Array, words: Words) -> Array:
        out = np.array(samplers.sample_krr(codes, self.k, 1 << 64, words))  # checks their range
        replaced = np.flatnonzero(~samplers.sample_coins(out.size, self._keep(), words))
        nowhere = np.zeros(replaced.size, dtype=np.int64)
        if self._replacements is not None:
            drawn = samplers.sample_rows(nowhere, self._replacements, words)
        elif self._at.size:
            drawn = samplers.sample_krr(nowhere, self._at.size, 0, words)
        else:
            drawn = nowhere
        out[replaced] = self._at[drawn]
        return out

    def _draw_document(self) -> dict[str, Any]:
        law, by = self._replacements, self._at.tolist()
        draw = {"kind": "replace", "keep": str(self._keep()), "by": by}
        return draw if law is None else draw | {"law": law.document(len(by))["rows"][0]}

    def _sampler_epsilon(self) -> float:
        keep, S = self._keep(), self._at.size
        if self._replacements is None:
            return realised.realised_epsilon_kept(keep, 1, S) if S else 0.0
        weights = realised.weights_of(self._replacements, 0)
        found = [realised.realised_epsilon_kept(keep, w, 1 << 64) for w in weights]
        return self._worst(np.array(found))

    def _worst(self, realised: Array) -> float:
        """Where levels differ, the largest, plus what a category leaks beyond its own."""
        return float(self.epsilon + np.max(realised - np.array(self.levels)))

    def _realised(self) -> Array:
        return self._channel.ratios(self._at)

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> Counts:
        self._closed(candidates)
        kept = rng.binomial(true_counts, self._channel.a)
        if self._at.size:
            law = self._channel.noise(self._at)
            replaced = int((true_counts - kept).sum())
            kept[self._at] += rng.multinomial(replaced, law / law.sum())
        return self.counts(kept)


@dataclass(frozen=True, eq=False, init=False)
class _Scattered(Uniformised):
    """``Q = a I + 1 b'`` with b zero but at S categories; it is spread out when it is asked for."""

    at: npt.NDArray[np.int64]  # increasing
    weights: Array  # b at these, positive

    def __init__(self, k: int, a: float, at: npt.NDArray[np.int64], weights: Array) -> None:
        for name, value in (("k", k), ("a", a), ("at", at), ("weights", weights)):
            object.__setattr__(self, name, value)

    @cached_property  # type: ignore[misc]  # a field of the class above
    def b(self) -> Array:
        b = np.zeros(self.k)
        b[self.at] = self.weights
        return b

    def noise(self, y: Array | slice = slice(None)) -> Array:
        if isinstance(y, slice):
            return self.b[y]
        # one more, beyond all categories, where the search may end
        at, weights = np.append(self.at, self.k), np.append(self.weights, 0.0)
        place = np.searchsorted(self.at, y)
        return np.where(at[place] == y, weights[place], 0.0)

    @property
    def replaced(self) -> float:
        return float(self.weights.sum())

    def epsilon(self) -> float:
        if self.at.size < self.k:  # a report of any other category reveals it
            return float("inf")
        return float(self.ratios(self.at).max())

    def protected_epsilon(self, sensitive: Array) -> float:
        if np.setdiff1d(sensitive, self.at).size:  # revealed by a report
            return float("inf")
        return float(self.ratios(self.at).max(initial=0.0))
