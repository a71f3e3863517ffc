"""Mechanisms for many categories: subsets of them, Hadamard and projective geometry response.

In the last two a label stands for a block of categories, and each category has as many own labels:
both choose the design with the smallest summed variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ldpstats.arguments import Array, positive_integer, record
from ldpstats.channels.families import Blocks, Subsets
from ldpstats.errors import InvalidArgument
from ldpstats.likelihood.blocks import BlockDesign, HadamardDesign, ProjectiveDesign, SingleDesign
from ldpstats.likelihood.covariance import subset_bits
from ldpstats.likelihood.moments import Moments, block_equations
from ldpstats.mechanisms.base import CategoryBits, Mechanism, check_labels, set_fields, threshold_of
from ldpstats.reports.layout import BlockFormat, SubsetFormat
from ldpstats.reports.single import BitCounts, Counts
from ldpstats.sampling import samplers
from ldpstats.sampling.samplers import (
    Words,
    drawn_sums,
    sample_below,
    sample_coins,
    sample_subsets,
    simulation_words,
)

# -- Reports that are labels of blocks ------------------------------------------------------------


_USERS = 1 << 18  # whose reports are counted at a time
_TOGETHER = 1 << 14  # whose reports are drawn at a time
_MOST_ENTRIES = 1 << 20  # of a Q that counts are drawn from row by row


class BlockMechanism(Mechanism):
    """A label y has probability ``e^eps / Z`` if its block holds the answer, else ``1 / Z``.

    With s of l labels for each category, ``Z = s e^eps + l - s``. A subclass has a `design`.
    """

    n_bits = 0
    n_cohorts = 0
    design: BlockDesign  # which categories each label stands for

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return self.design.n_labels

    @property
    def format(self) -> BlockFormat:
        return BlockFormat(self.n_outputs, self.design)

    @property
    def report_bits(self) -> int:
        """Bits that a report takes."""
        return (self.n_outputs - 1).bit_length()

    @cached_property
    def _channel(self) -> Blocks:
        size, small = self.design.size, np.exp(-self.epsilon)
        Z = size + (self.n_outputs - size) * small  # in powers of e^-eps, which cannot overflow
        gain = -np.expm1(-self.epsilon) / Z
        return Blocks(self.design, float(1.0 / Z), float(small / Z), float(gain))

    def _moments(self, counts: Any) -> Moments:
        Q = self._channel
        return block_equations(self.design, Q.low, Q.gain, counts.vector(), counts.nobs)

    def _keep(self) -> int:
        Q, size = self._channel, self.design.size
        return threshold_of(size * Q.high, min((self.n_outputs - size) * Q.low, 1.0))

    def sample(self, codes: Array, words: Words) -> Array:
        true = samplers.checked_codes(codes, self.k)
        sizes, out = (self.design.size, self.n_outputs - self.design.size), np.empty_like(true)
        for start in range(0, true.size, _TOGETHER):
            code = true[start : start + _TOGETHER]
            kept = sample_coins(code.size, self._keep(), words)
            number = sample_below(np.where(kept, *sizes), words)
            own = self.design.own_label(code, np.where(kept, number, 0))
            other = self.design.other_label(code, np.where(kept, 0, number))
            out[start : start + _TOGETHER] = np.where(kept, own, other)
        return out

    def _draw_document(self) -> dict[str, Any]:
        own, design = self.design.size, self.design.document()
        others, keep = self.n_outputs - own, str(self._keep())
        return {"kind": "block", "own": own, "others": others, "keep": keep, "design": design}

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> Counts | BitCounts:
        self._closed(candidates)
        true, l = np.asarray(true_counts), self.n_outputs  # noqa: E741
        if self.k * l <= min(_MOST_ENTRIES, 4 * int(true.sum())):
            return self.counts(rng.multinomial(true, self._channel.matrix()).sum(axis=0))
        words, total = simulation_words(rng), np.zeros(l, dtype=np.int64)
        for codes in _in_turn(true, _USERS):
            total += np.bincount(self.sample(codes, words), minlength=l)
        return self.counts(total)


def _in_turn(true: Array, step: int) -> Iterator[Array]:
    """Codes of as many people as `true`, shape (k,), counts of each category, `step` at a time."""
    ends = np.cumsum(true)
    for start in range(0, int(ends[-1]), step):
        people = np.arange(start, min(start + step, int(ends[-1])))
        yield np.searchsorted(ends, people, side="right")


# -- Subset selection: the report is a set of categories of one size ------------------------------


_ENTRIES = 1 << 22  # bits of reports that are drawn at a time
_MOST_SUBSET_ENTRIES = 1 << 16  # of a Q that counts are drawn from row by row
_FEW = 1 << 17  # reports that are drawn one by one in about the time that their sums take


@record
class SubsetSelection(CategoryBits):
    """Subset selection (Ye and Barg 2018): the report is a set of `size` categories.

    A set that holds the answer is e^eps times as probable as one that does not, and sets that agree
    in this are equally probable: ``P(y | x) = e^eps / Z`` if x is in y, else ``1 / Z``, with
    ``Z = C(k-1, size-1) e^eps + C(k-1, size)``. Size 1 is k-RR.

    Parameters
    ----------
    categories, epsilon
        As in `KRR`.
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

    def __post_init__(self) -> None:
        check_labels(self)
        # The summed variance at the uniform p is (k-1)^2 (1 + u e^eps)^2 / (k u (e^eps - 1)^2) with
        # u = size / (k - size): least where |ln u + eps| is
        centre = self.k * np.exp(-self.epsilon) / (1.0 + np.exp(-self.epsilon))
        near = np.clip(np.floor(centre) + np.arange(2), 1, self.k - 1)
        distance = np.abs(np.log(near / (self.k - near)) + self.epsilon)
        size = int(near[int(np.argmin(distance))])
        if self.size is not None:
            size = positive_integer("size", self.size)
            if size >= self.k:
                remedy = f"must be from 1 to {self.k - 1}: a report leaves out a category at least"
                raise InvalidArgument("size", self.size, remedy)
        set_fields(self, size=size)

    def _report_names(self, size: int) -> Array:
        patterns = self._channel.patterns()
        return self.format.text(np.packbits(patterns, axis=1, bitorder="little"))

    @property
    def d(self) -> int:
        """Number of categories in a report."""
        assert self.size is not None
        return self.size

    @property
    def p1(self) -> float:
        """P(bit x = 1), that is x in the report, if x is the answer."""
        return self._channel.own

    @property
    def p0(self) -> float:
        """P(bit x = 1) if x is not the answer."""
        return self._channel.other

    @property
    def format(self) -> SubsetFormat:
        return SubsetFormat(self.k, self.d)

    @cached_property
    def _channel(self) -> Subsets:
        k, d = self.k, self.d
        away = (k - d) * np.exp(-self.epsilon)  # in powers of e^-eps, which cannot overflow
        slope = -np.expm1(-self.epsilon) * d * (k - d) / ((k - 1) * (d + away))
        return Subsets(k, d, float(d / (d + away)), float(away / (d + away)), float(slope))

    def _moments(self, counts: Any) -> Moments:
        Q = self._channel
        law = Q.size, Q.own, Q.left_out
        return self._equations(
            "subsets", counts, Q.slope, Q.other, lambda p, n: subset_bits(p, *law, n)
        )

    def _keep(self) -> int:
        Q = self._channel
        return threshold_of(Q.own, Q.left_out)

    def sample(self, codes: Array, words: Words) -> Array:
        return sample_subsets(codes, self.k, self.d, self._keep(), words)

    def _draw_document(self) -> dict[str, Any]:
        return {"kind": "subset", "k": self.k, "size": self.d, "keep": str(self._keep())}

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> BitCounts:
        self._closed(candidates)
        true, Q = np.asarray(true_counts, dtype=np.int64), self._channel
        nobs = int(true.sum())
        if Q.k * Q.shape[1] <= min(_MOST_SUBSET_ENTRIES, 16 * nobs):
            ones = rng.multinomial(true, Q.matrix()).sum(axis=0) @ Q.patterns()
        elif nobs > _FEW:
            ones = drawn_sums(true, self.d, Q.own, rng)
        else:  # one report after another
            words, ones = simulation_words(rng), np.zeros(self.k, dtype=np.int64)
            for codes in _in_turn(true, max(1, _ENTRIES // self.k)):
                ones += self.format.sum_bits(self.sample(codes, words))[0]
        return BitCounts(ones[None, :], np.array([nobs]), self)

    def specimen(self) -> BitCounts:
        return self.counts(np.repeat([1, 0], [self.d, self.k - self.d]), 1)


# -- Hadamard response ----------------------------------------------------------------------------


@record
class HadamardResponse(BlockMechanism):
    """Hadamard response (Acharya, Sun and Zhang 2019): labels in the rows of Hadamard matrices.

    Each category has its own half of the labels of one of B Hadamard matrices of order b, of B b
    labels in all; an own label is e^eps times as probable as any other. With B = 1, which a small
    epsilon wants, the own labels of two categories agree by half and a report takes about log2 k
    bits. More matrices make own labels rarer, as a larger epsilon wants them to be.

    Parameters
    ----------
    categories, epsilon
        As in `KRR`.
    order : int, optional
        Order b of the matrices, a power of two. By default the one with the smallest variance; it
        is part of the specification, so that a device and an analyst have the same matrices.

    Raises
    ------
    InvalidArgument
        If epsilon is not positive, or `order` is no power of two, or larger than twice k.

    Notes
    -----
    Of all powers of two b, with as many matrices as the categories need, ``B = ceil(k / (b - 1))``,
    the one is taken whose summed variance at the uniform distribution is the smallest. The paper's
    ``B = 2^(ceil(log2 min(e^eps, 2k)) - 1)`` is of the right order, but may be several times too
    large: at k = 100,000 and epsilon = 0.7 its variances are 41 % larger.

    The linear estimate of p_x is half the share of own labels less that of the others of the same
    matrix, over ``s (e^eps - 1) / (2 Z)``, with s = b/2 and Z = s (e^eps - 1) + B b. With B = 1
    that is a binomial count.

    References
    ----------
    J. Acharya, Z. Sun and H. Zhang, Hadamard response: estimating distributions privately,
    efficiently, and with little communication, AISTATS 2019, sections 4 and 5.

    Examples
    --------
    >>> hadamard = HadamardResponse(100_000, epsilon=0.5)
    >>> hadamard.n_outputs, hadamard.report_bits
    (131072, 17)
    >>> HadamardResponse(("a", "b", "c"), epsilon=0.5).channel().matrix().round(4)
    array([[0.3112, 0.1888, 0.3112, 0.1888],
           [0.3112, 0.3112, 0.1888, 0.1888],
           [0.3112, 0.1888, 0.1888, 0.3112]])
    """

    categories: Any
    epsilon: float
    order: int | None = None

    def __post_init__(self) -> None:
        check_labels(self)
        if self.order is None:
            designs = [_hadamard_design(self.k, 2 << i) for i in range(self.k.bit_length())]
            order = min(designs, key=lambda one: _hadamard_variance(one, self.epsilon)).order
        else:
            order = positive_integer("order", self.order, 2)
            if order & (order - 1) or order > 2 * self.k:
                remedy = f"must be a power of two from 2 to {1 << self.k.bit_length()}"
                raise InvalidArgument("order", self.order, remedy)
        set_fields(self, order=order)

    @cached_property
    def design(self) -> HadamardDesign:  # type: ignore[override]
        """Which categories each label stands for."""
        assert self.order is not None
        return _hadamard_design(self.k, self.order)


def _hadamard_design(k: int, order: int) -> HadamardDesign:
    """The design with as few matrices as the categories need."""
    return HadamardDesign(k, -(-k // (order - 1)), order)


def _hadamard_variance(design: HadamardDesign, epsilon: float) -> float:
    """Summed variance of the linear estimates at the uniform p, times the number of reports."""
    k, s, small = design.k, design.size, float(np.exp(-epsilon))
    high = 1.0 / (s + (design.n_labels - s) * small)
    gain = -float(np.expm1(-epsilon)) * high
    inside = float(np.mean(design.part_masses(np.full(k, 1.0 / k))))
    square = s * (2.0 * small * high + gain * inside) / 4.0
    return k * square / (s * gain / 2.0) ** 2 - 1.0 / k


# -- Projective geometry response -----------------------------------------------------------------


_MOST_WORK = 1 << 25  # vectors q^t of a design, which its transform takes time for
_CLOSE = 1.01  # factor by which variances may differ that are as good as equal


@record
class ProjectiveGeometryResponse(BlockMechanism):
    """Projective geometry response (Feldman, Nelson, Nguyen and Talwar 2022).

    Categories and labels are points of a projective space over a field of q elements, and a label
    is e^eps times as probable where it is orthogonal to the answer, which about one in q is. Its
    variance is nearly that of `SubsetSelection`, and a report takes about log2 k bits.

    Parameters
    ----------
    categories, epsilon
        As in `KRR`.
    q, t : int, optional
        Size of the field, a prime, and length of its vectors, at least 2: both or neither. By
        default those with nearly the smallest variance; they are part of the specification, so that
        a device and an analyst have the same design.

    Raises
    ------
    InvalidArgument
        If epsilon is not positive, or q and t make no design with k labels or more and q^t at most
        2^25 (t = 2 has no such limit).

    Notes
    -----
    The prime q and the length t of the vectors are those with the smallest summed variance at the
    uniform distribution, of all with ``k <= (q^t - 1) / (q - 1)`` labels and q^t at most 2^25,
    which bounds time and memory; of those within 1 % of the smallest, the one with the fewest
    labels. Where e^eps is about k or more, that is t = 2, of whose labels k are used: k-RR.
    The number of reports with an own label of category x is binomial, ``Bin(n, other + (own -
    other) p_x)``.

    References
    ----------
    V. Feldman, J. Nelson, H. L. Nguyen and K. Talwar, Private frequency estimation via projective
    geometry, ICML 2022, section 3.

    Examples
    --------
    >>> projective = ProjectiveGeometryResponse(100_000, epsilon=2.0)
    >>> projective.design
    ProjectiveDesign(k=100000, q=7, t=7)
    >>> projective.n_outputs, projective.report_bits
    (137257, 18)
    """

    categories: Any
    epsilon: float
    q: int | None = None
    t: int | None = None

    def __post_init__(self) -> None:
        check_labels(self)
        if self.q is None and self.t is None:
            best = _best_geometry(self.k, self.epsilon)
            q, t = _next_prime(max(self.k - 2, 1)), 2
            if isinstance(best, ProjectiveDesign):
                q, t = best.q, best.t
        else:
            q, t = positive_integer("q", self.q, 2), positive_integer("t", self.t, 2)
            if t > 2 and (t > 25 or q**t > _MOST_WORK):
                raise InvalidArgument("q, t", (q, t), f"q^t must be at most {_MOST_WORK}")
            if q > _MOST_WORK or _next_prime(q - 1) != q:
                remedy = f"must be a prime of at most {_MOST_WORK}, such as 2, 3 or 5"
                raise InvalidArgument("q", self.q, remedy)
            if (q**t - 1) // (q - 1) < self.k:
                remedy = f"have fewer than {self.k} labels: increase t, or q"
                raise InvalidArgument("q, t", (q, t), remedy)
        set_fields(self, q=q, t=t)

    @cached_property
    def design(self) -> BlockDesign:  # type: ignore[override]
        """Which categories each label stands for."""
        assert self.q is not None and self.t is not None
        return SingleDesign(self.k) if self.t == 2 else ProjectiveDesign(self.k, self.q, self.t)


def _best_geometry(k: int, epsilon: float) -> BlockDesign:
    """The design with the smallest summed variance, see `ProjectiveGeometryResponse`."""
    designs: list[BlockDesign] = [SingleDesign(k)]
    q = 2
    while q**3 <= _MOST_WORK:
        t = 3
        while q**t <= _MOST_WORK and (q**t - 1) // (q - 1) < k:
            t += 1
        if q**t <= _MOST_WORK:
            designs.append(ProjectiveDesign(k, q, t))
        q = _next_prime(q)
    sums = np.array([_geometry_variance(design, epsilon) for design in designs])
    good = np.flatnonzero(sums <= _CLOSE * sums.min())
    return min((designs[i] for i in good), key=lambda design: design.n_labels)


def _geometry_variance(design: BlockDesign, epsilon: float) -> float:
    """Summed variance of the linear estimates at the uniform p, times the number of reports."""
    l, s, common, small = design.n_labels, design.size, design.common, np.exp(-epsilon)  # noqa: E741
    assert common is not None
    Z = s + (l - s) * small
    slope = -np.expm1(-epsilon) * (s - common) / Z
    mean = (common + (s - common) * small) / Z + slope / design.k
    return float(design.k * mean * (1.0 - mean) / slope**2)


def _next_prime(n: int) -> int:
    """The smallest prime above n."""
    n += 1
    while any(n % d == 0 for d in range(2, int(n**0.5) + 1)):
        n += 1
    return n
