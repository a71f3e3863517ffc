"""O-RAPPOR: k-RAPPOR of a Bloom filter of the answer, in cohorts."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ldpstats.arguments.checks import named_only, positive_epsilon
from ldpstats.mechanisms.hashed.bits import HashedBits, most_different
from ldpstats.sampling import samplers

__all__ = ["ORAPPOR"]


@named_only("ORAPPOR(16, 2, 8, epsilon=1.0)")
@dataclass(frozen=True, eq=False)
class ORAPPOR(HashedBits):
    """O-RAPPOR (KBR16 section 5.2): every bit of the answer's Bloom filter is flipped alike.

    Each respondent is in one of `n_cohorts` cohorts, uniformly; her cohort's hashes set up to
    `n_hashes` of `n_bits` bits. Two answers differ in up to D = min(2 n_hashes, n_bits) bits, so a
    bit is kept with the odds ``e^{eps/D}``: flips of ``e^{eps/2}``, as the text of KBR16 has them
    for one hash, would give n_hashes times epsilon.

    Parameters
    ----------
    n_bits : int
        Bits of a report, at least 2.
    n_hashes : int
        Hashes of an answer; one is best (KBR16 section 5.3).
    n_cohorts : int
        Cohorts C.
    epsilon : float
        Privacy of one report, in nats, over all pairs of Bloom filters.
    alphabet : int or sequence of labels, optional
        All possible answers. Permutations then take the place of hashes (KBR16 section 5.4); with
        one cohort, one hash and as many bits as labels this is k-RAPPOR with its bits renamed.

    Examples
    --------
    >>> rappor = ORAPPOR(n_bits=32, n_hashes=2, n_cohorts=8, epsilon=4.0)
    >>> round(float(np.log(rappor.p1 / rappor.p0)), 12)   # epsilon / (2 hashes)
    1.0
    >>> rappor.audit().agrees
    True
    """

    n_bits: int
    n_hashes: int
    n_cohorts: int
    _: KW_ONLY
    epsilon: float
    alphabet: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_epsilon("epsilon", self.epsilon))
        self._check_bits()

    @property
    def _bit_epsilon(self) -> float:
        return self.epsilon / sum(most_different(self.n_bits, self.n_hashes, 1.0, 1.0))

    @property
    def p1(self) -> float:
        return float(1.0 / (1.0 + np.exp(-self._bit_epsilon)))

    @property
    def p0(self) -> float:
        return float(np.exp(-self._bit_epsilon) / (1.0 + np.exp(-self._bit_epsilon)))

    def _thresholds(self) -> tuple[int, int]:
        # rounded towards more privacy; 1 - p1 is p0 exactly
        other = max(samplers.threshold(self.p0, "up"), 1)
        return (1 << 64) - other, other
