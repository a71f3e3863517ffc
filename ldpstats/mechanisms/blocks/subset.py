"""Subset selection: the report is a set of categories of one size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import positive_epsilon, positive_integer
from ldpstats.arguments.labels import as_labels
from ldpstats.channels.subsets import Subsets
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.bits import sums_of_bits
from ldpstats.problems.covariance import subset_bits
from ldpstats.problems.equations import Equations, Moments
from ldpstats.reports.single import BitCounts, Counts
from ldpstats.reports.subsets import SubsetFormat
from ldpstats.sampling import realised, samplers
from ldpstats.sampling.subsets import drawn_sums, sample_subsets
from ldpstats.sampling.words import Words, simulation_words

__all__ = ["SubsetSelection", "best_size"]

Array = npt.NDArray[Any]

_ENTRIES = 1 << 22  # bits of reports that are drawn at a time
_LISTED = 1 << 16  # entries of Q that are drawn from row by row
_FEW = 1 << 17  # reports that are drawn one by one in about the time that their sums take


@dataclass(frozen=True, eq=False)
class SubsetSelection(Mechanism):
    """Subset selection (Ye and Barg 2018): the report is a set of `size` categories.

    A set that holds the answer is e^eps times as probable as one that does not, and sets that agree
    in this are equally probable: ``P(y | x) = e^eps / Z`` if x is in y, else ``1 / Z``, with
    ``Z = C(k-1, size-1) e^eps + C(k-1, size)``. Size 1 is k-RR.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories; an int k means the labels 0 .. k-1.
    epsilon : float
        Privacy of one report, in nats.
    size : int, optional
        Categories in a report, from 1 to k - 1. By default the one with the smallest summed
        variance at the uniform distribution, of the linear estimate and, which is the same there,
        of the inverse information: the size whose odds ``size / (k - size)`` are nearest to
        e^-eps, near ``k / (e^eps + 1)``.

    Raises
    ------
    InvalidArgument
        For an epsilon that is not positive, or a size outside 1 .. k - 1.

    Notes
    -----
    A report is k bits, of which `size` are set. The number of reports that hold category x is
    binomial: ``T_x ~ Bin(n, p0 + (p1 - p0) p_x)`` with ``p1 = P(x in y | x) = size e^eps / (size
    e^eps + k - size)`` and ``p0 = P(x in y | another)``.

    References
    ----------
    M. Ye and A. Barg, Optimal schemes for discrete distribution estimation under locally
    differential privacy, IEEE Transactions on Information Theory 64 (2018), eq. 6 to 9.

    Examples
    --------
    >>> subsets = SubsetSelection(("nurse", "teacher", "driver", "cook"), epsilon=np.log(3), size=2)
    >>> subsets.p1, round(subsets.p0, 12)
    (0.75, 0.416666666667)
    >>> reports = subsets.privatize(["cook", "nurse"], np.random.default_rng(1))
    >>> subsets.report_labels(reports).tolist()
    ['1001', '0110']
    """

    categories: Any
    epsilon: float
    size: int | None = None
    n_outputs = 0
    n_cohorts = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", as_labels("categories", self.categories))
        object.__setattr__(self, "epsilon", positive_epsilon("epsilon", self.epsilon))
        size = best_size(self.k, self.epsilon)
        if self.size is not None:
            size = positive_integer("size", self.size)
            if size >= self.k:
                remedy = f"must be from 1 to {self.k - 1}: a report leaves out a category at least"
                raise InvalidArgument("size", self.size, remedy)
        object.__setattr__(self, "size", size)

    def _report_names(self, size: int) -> Array:
        patterns = self.channel().patterns()
        return self.format.text(np.packbits(patterns, axis=1, bitorder="little"))

    @property
    def d(self) -> int:
        """Number of categories in a report."""
        assert self.size is not None
        return self.size

    @property
    def p1(self) -> float:
        """P(bit x = 1), that is x in the report, if x is the answer."""
        return self.channel().own

    @property
    def p0(self) -> float:
        """P(bit x = 1) if x is not the answer."""
        return self.channel().other

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        return self.k

    @property
    def format(self) -> SubsetFormat:
        return SubsetFormat(self.k, self.d)

    def channel(self, candidates: Any = None) -> Subsets:
        self._closed(candidates)
        k, d = self.k, self.d
        away = (k - d) * np.exp(-self.epsilon)  # in powers of e^-eps, which cannot overflow
        slope = -np.expm1(-self.epsilon) * d * (k - d) / ((k - 1) * (d + away))
        return Subsets(k, d, float(d / (d + away)), float(away / (d + away)), float(slope))

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> Moments:
        self._closed(candidates)
        self._own(counts)
        sums, Q = counts.bit_counts(), self.channel()
        nobs, mean = sums.nobs, self.d / self.k
        return Equations(
            Q.slope,
            Q.other,
            sums.ones[0] / nobs,
            V=lambda p: subset_bits(p, Q.size, Q.own, Q.left_out, nobs),
            weights=np.full(self.k, nobs / (mean * (1.0 - mean))),
            nobs=nobs,
            kind="subsets",
        )

    def _keep(self) -> int:
        # from the smaller of the chances of keeping and of leaving out, see `KRR`
        Q = self.channel()
        if Q.own < 0.5:
            return samplers.threshold(Q.own, "down")
        return (1 << 64) - max(samplers.threshold(Q.left_out, "up"), 1)

    def sample(self, codes: Array, words: Words) -> Array:
        return sample_subsets(codes, self.k, self.d, self._keep(), words)

    def _draw_document(self) -> dict[str, Any]:
        return {"kind": "subset", "k": self.k, "size": self.d, "keep": str(self._keep())}

    def _sampler_epsilon(self) -> float:
        keep, k, d = self._keep(), self.k, self.d
        return abs(realised.log_ratio(keep * (k - d), ((1 << 64) - keep) * d))

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> BitCounts:
        self._closed(candidates)
        true = np.asarray(true_counts, dtype=np.int64)
        nobs, Q = int(true.sum()), self.channel()
        if Q.k * Q.shape[1] <= min(_LISTED, 16 * nobs):
            ones = rng.multinomial(true, Q.matrix()).sum(axis=0) @ Q.patterns()
        elif nobs > _FEW:
            ones = drawn_sums(true, self.d, Q.own, rng)
        else:
            ones = self._reported(true, simulation_words(rng))
        return BitCounts(ones[None, :], np.array([nobs]), self)

    def _reported(self, true: Array, words: Words) -> Array:
        """Sums of the bits of one report after another, shape (k,)."""
        ones, ends = np.zeros(self.k, dtype=np.int64), np.cumsum(true)
        step = max(1, _ENTRIES // self.k)
        for start in range(0, int(ends[-1]), step):
            people = np.arange(start, min(start + step, int(ends[-1])))
            reports = self.sample(np.searchsorted(ends, people, side="right"), words)
            ones += self.format.sum_bits(reports)[0]
        return ones

    def specimen(self) -> BitCounts:
        return self.counts(np.repeat([1, 0], [self.d, self.k - self.d]), 1)

    def counts(self, n: npt.ArrayLike, nobs: npt.ArrayLike | None = None) -> BitCounts:
        """Counts from the sums of the k bits.

        Parameters
        ----------
        n : array-like of int, shape (k,) or (1, k)
            How many reports hold each category, in category order.
        nobs : int
            Number of reports.

        Raises
        ------
        InvalidArgument
            For a missing `nobs`, a wrong length, or sums that are not those of `nobs` reports of
            `size` ones.
        """
        return BitCounts(*sums_of_bits(n, nobs, self.categories), self)


def best_size(k: int, epsilon: float) -> int:
    """The size of subsets of k categories with the smallest summed variance at the uniform p.

    The sum is ``(k-1)^2 (1 + u e^eps)^2 / (k u (e^eps - 1)^2)`` with the odds ``u = size / (k -
    size)``, which is smallest where ``|ln u + eps|`` is.

    Examples
    --------
    >>> [best_size(8, epsilon) for epsilon in (0.1, 0.5, 1.0, 2.0)]
    [4, 3, 2, 1]
    """
    centre = k * np.exp(-epsilon) / (1.0 + np.exp(-epsilon))
    sizes = np.clip(np.floor(centre) + np.arange(2), 1, k - 1)
    distance = np.abs(np.log(sizes / (k - sizes)) + epsilon)
    return int(sizes[int(np.argmin(distance))])
