"""Unary reports: one bit per category (k-RAPPOR, optimised unary encoding, generalised RAPPOR)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ldpstats.arguments import Array, record
from ldpstats.channels.structured import Bits
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.hints import guided
from ldpstats.likelihood.covariance import independent_bits
from ldpstats.likelihood.moments import Moments
from ldpstats.mechanisms.base import (
    CategoryBits,
    check_labels,
    check_theta,
    even_bit,
    other_bit,
    set_fields,
)
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import Words


@guided
@record
class KRAPPOR(CategoryBits):
    """k-RAPPOR: a bit per category, each noised on its own.

    The bit of the true category is 1 with probability theta, every other bit with probability
    ``psi = theta / ((1 - theta) e^eps + theta)``, which makes the report epsilon-private for
    every theta (MK19 section 2.4). The default theta = ``e^{eps/2} / (1 + e^{eps/2})`` flips all
    bits alike (KBR16 section 4.2); theta = 0.5 is optimised unary encoding.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories; an int k means the labels 0 .. k-1.
    epsilon : float
        Privacy of one report, in nats.
    theta : float, optional
        P(own bit = 1), in (0, 1).

    Examples
    --------
    >>> rappor = KRAPPOR(3, epsilon=2.1972245773362196)                                  # 2 ln 3
    >>> round(rappor.p1, 12), round(rappor.p0, 12)
    (0.75, 0.25)
    """

    categories: Any
    epsilon: float
    theta: float | None = None

    def __post_init__(self) -> None:
        check_labels(self)
        if self.theta is not None:
            set_fields(self, theta=check_theta(self.theta))

    @property
    def p1(self) -> float:
        """P(bit = 1) of the true category."""
        return even_bit(self.epsilon / 2)[0] if self.theta is None else self.theta

    @property
    def p0(self) -> float:
        """P(bit = 1) of any other category."""
        if self.theta is None:
            return even_bit(self.epsilon / 2)[1]
        return other_bit(self.theta, self.epsilon)

    @cached_property
    def _channel(self) -> Bits:
        return Bits(range(self.k), self.k, self.p1, self.p0)

    def _moments(self, counts: Any) -> Moments:
        p1, p0 = self.p1, self.p0
        return self._equations(
            "bits", counts, p1 - p0, p0, lambda p, n: independent_bits(p, p1, p0, n)
        )

    def _thresholds(self) -> tuple[int, int]:
        return samplers.bit_thresholds(self.p1, self.p0, alike=self.theta is None)

    def sample(self, codes: Array, words: Words) -> Array:
        return samplers.sample_bits(codes[:, None], self.k, *self._thresholds(), words)

    def _draw_document(self) -> dict[str, Any]:
        own, other = map(str, self._thresholds())
        return {"kind": "bits", "bits": self.k, "own": own, "other": other, "sent": self.k}

    def _sampler_epsilon(self) -> float:
        return sum(portable.rise_and_fall(*self._thresholds()))  # two answers differ in two bits
