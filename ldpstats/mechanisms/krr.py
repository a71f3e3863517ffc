"""k-ary randomised response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import positive_epsilon
from ldpstats.arguments.labels import as_labels
from ldpstats.channels.structured import Uniformised
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.problems.covariance import multinomial
from ldpstats.problems.equations import Equations, Moments
from ldpstats.reports.single import BitCounts, Counts
from ldpstats.sampling import realised, samplers
from ldpstats.sampling.words import Words

__all__ = ["KRR"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class KRR(Enumerated):
    """k-ary randomised response (KBR16 eq. 4): the true category, or a uniform other one.

    ``P(y | x) = e^eps / (e^eps + k - 1)`` if y = x, else ``1 / (e^eps + k - 1)``.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories; an int k means the labels 0 .. k-1.
    epsilon : float
        Privacy of one report, in nats.

    Examples
    --------
    >>> krr = KRR(("nurse", "teacher", "driver"), epsilon=np.log(2))
    >>> krr.channel().matrix()
    array([[0.5 , 0.25, 0.25],
           [0.25, 0.5 , 0.25],
           [0.25, 0.25, 0.5 ]])
    """

    categories: Any
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", as_labels("categories", self.categories))
        object.__setattr__(self, "epsilon", positive_epsilon("epsilon", self.epsilon))

    def channel(self, candidates: Any = None) -> Uniformised:
        self._closed(candidates)
        small = np.exp(-self.epsilon)  # in powers of e^-eps, which cannot overflow
        total = 1.0 + (self.k - 1) * small
        return Uniformised(self.k, float(-np.expm1(-self.epsilon) / total), float(small / total))

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> Moments:
        self._closed(candidates)
        self._own(counts)
        nobs, Q = counts.nobs, self.channel()
        t = counts.vector() / nobs
        return Equations(
            Q.a,
            Q.b,
            t,
            V=lambda p: multinomial(Q.forward(p), nobs),
            weights=np.full(self.k, float(nobs * self.k)),
            nobs=nobs,
        )

    def _keep(self) -> int:
        # from the smaller of the chances of keeping and of not keeping, which a double holds to
        # full precision; more noise is the safe side
        Q = self.channel()
        if Q.a < 0.5:
            return samplers.threshold(Q.a, "down")
        return (1 << 64) - max(samplers.threshold(self.k * float(Q.b), "up"), 1)

    def sample(self, codes: Array, words: Words) -> Array:
        return samplers.sample_krr(codes, self.k, self._keep(), words)

    def _draw_document(self) -> dict[str, Any]:
        return {"kind": "keep", "k": self.k, "keep": str(self._keep())}

    def _sampler_epsilon(self) -> float:
        return realised.realised_epsilon_krr(self.k, self._keep())

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> Counts:
        self._closed(candidates)
        kept = rng.binomial(true_counts, self.channel().a)
        spread = rng.multinomial(int((true_counts - kept).sum()), np.full(self.k, 1.0 / self.k))
        return self.counts(kept + spread)
