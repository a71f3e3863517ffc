"""O-RR: k-ary randomised response of hashed answers, in cohorts."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import counts_vector, named_only, positive_epsilon, positive_integer
from ldpstats.channels.base import Channel
from ldpstats.channels.combined import Mapped
from ldpstats.channels.structured import Uniformised
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.hashed.base import CellLaw, Hashed
from ldpstats.mechanisms.krr import KRR
from ldpstats.problems.hashed.cohorts import LabelNoise
from ldpstats.problems.problem import Likelihood
from ldpstats.problems.rows.hashed import LabelRows
from ldpstats.reports.formats import NumberFormat
from ldpstats.reports.single import Counts
from ldpstats.sampling.words import Words

__all__ = ["ORR"]

Array = npt.NDArray[Any]


@named_only("ORR(4, 16, epsilon=1.0)")
@dataclass(frozen=True, eq=False)
class ORR(Hashed):
    """O-RR (KBR16 section 5.1, eq. 15 to 17): k-RR of a hash of the answer.

    Each respondent is in one of `n_cohorts` cohorts, uniformly, and knows it; her cohort's hash
    takes her answer to one of `n_outputs` labels, and she reports that label through k-RR. A report
    is her cohort and the label. ``ldpstats/clients/SPECIFICATION.md`` specifies the hash.

    Parameters
    ----------
    n_outputs : int
        Labels k of each cohort, at least 2.
    n_cohorts : int
        Cohorts C.
    epsilon : float
        Privacy of one report, in nats. The cohort is drawn without regard to the answer.
    alphabet : int or sequence of labels, optional
        All possible answers. Permutations then take the place of hashes (KBR16 section 5.4); with
        ``n_cohorts=1`` and as many outputs as labels this is k-RR with its outputs renamed.

    Examples
    --------
    >>> orr = ORR(n_outputs=8, n_cohorts=32, epsilon=2.0)
    >>> words = ("apple", "pear", "plum")
    >>> reports = orr.privatize(["apple", "pear"] * 5000, np.random.default_rng(1))
    >>> import ldpstats as ldp
    >>> ldp.FrequencyModel(reports, candidates=words).fit().params.round(2)
    apple    0.52
    pear     0.51
    plum     0.00
    Name: params, dtype: float64
    """

    n_outputs: int
    n_cohorts: int
    _: KW_ONLY
    epsilon: float
    alphabet: Any = None
    n_bits = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_outputs", positive_integer("n_outputs", self.n_outputs, 2))
        if self.n_outputs > 1 << 31:
            raise InvalidArgument("n_outputs", self.n_outputs, "must be at most 2**31")
        object.__setattr__(self, "epsilon", positive_epsilon("epsilon", self.epsilon))
        self._check_hashed()

    @property
    def format(self) -> NumberFormat:
        return NumberFormat(self.n_outputs)

    @property
    def n_cells(self) -> int:
        return self.n_outputs

    @property
    def n_owned(self) -> int:
        return 1

    @property
    def _krr(self) -> KRR:
        return KRR(self.n_outputs, self.epsilon)

    def _randomise(self, cells: Array, words: Words) -> Array:
        return self._krr.sample(cells[:, 0], words)

    def _then_document(self) -> dict[str, Any]:
        return {"kind": "keep", "keep": str(self._krr._keep())}

    def _randomise_counts(self, owners: Array, n: Array, rng: np.random.Generator) -> Array:
        kept = rng.binomial(owners, self._krr.channel().a)
        uniform = np.full(self.n_outputs, 1.0 / self.n_outputs)
        return np.asarray(kept + rng.multinomial(n - kept.sum(axis=1), uniform))

    @property
    def cell_law(self) -> CellLaw:
        Q = self._krr.channel()
        return CellLaw(Q.a + float(Q.b), float(Q.b), 1.0 / self.n_outputs)

    def _noise(self) -> LabelNoise:
        return LabelNoise()

    def _precision(self, mean: float) -> float:
        return 1.0 / mean

    def _cohort_channel(self, cells: Array) -> Channel:
        return Mapped(self._krr.channel(), cells[:, 0])

    def worst_channel(self) -> Uniformised:
        """k-RR: two answers that hash to different labels."""
        return self._krr.channel()

    def _sampler_epsilon(self) -> float:
        return self._krr.audit().sampler

    def likelihood(self, counts: Counts, candidates: Any = None) -> Likelihood:
        """The likelihood of the labels given the cohorts."""
        self._own(counts)
        assert counts.cohort is not None
        Q = self._krr.channel()
        return Likelihood(
            LabelRows(self.cells(candidates), counts.cohort, counts.y, Q.a, float(Q.b)), counts.n
        )

    def counts(self, n: npt.ArrayLike, nobs: npt.ArrayLike | None = None) -> Counts:
        """Counts from the label counts of each cohort.

        Parameters
        ----------
        n : array-like of int, shape (C, k)
            How often each label was reported in each cohort.
        nobs : array-like of int, shape (C,), optional
            Reports of each cohort, to be checked; they are the sums of `n`.

        Raises
        ------
        InvalidArgument
            For another shape, entries that are negative or fractional, or sums other than `nobs`.
        """
        table = counts_vector("n", n, (self.n_cohorts, self.n_outputs))
        if nobs is not None:
            reports = counts_vector("nobs", nobs, (self.n_cohorts,))
            if (wrong := np.flatnonzero(table.sum(axis=1) != reports)).size:
                c = int(wrong[0])
                raise InvalidArgument(
                    f"nobs[{c}]", int(reports[c]), f"must be the sum of n[{c}], {table[c].sum()}"
                )
        cohort, y = np.nonzero(table)
        return Counts(y, table[cohort, y], self, cohort=cohort)
