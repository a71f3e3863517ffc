"""Projective geometry response."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpstats.arguments.checks import positive_epsilon, positive_integer
from ldpstats.arguments.labels import as_labels
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.blocks.base import BlockMechanism
from ldpstats.problems.blocks.base import BlockDesign
from ldpstats.problems.blocks.projective import ProjectiveDesign
from ldpstats.problems.blocks.single import SingleDesign

__all__ = ["ProjectiveGeometryResponse", "best_design", "summed_variance"]

_MOST_WORK = 1 << 25  # vectors q^t of a design, which its transform takes time for
_CLOSE = 1.01  # factor by which variances may differ that are as good as equal


@dataclass(frozen=True, eq=False)
class ProjectiveGeometryResponse(BlockMechanism):
    """Projective geometry response (Feldman, Nelson, Nguyen and Talwar 2022).

    Categories and labels are points of a projective space over a field of q elements, and a label
    is e^eps times as probable where it is orthogonal to the answer, which about one in q is. Its
    variance is nearly that of `SubsetSelection`, and a report takes about log2 k bits.

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k >= 2 categories; an int k means the labels 0 .. k-1.
    epsilon : float
        Privacy of one report, in nats.
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
        object.__setattr__(self, "categories", as_labels("categories", self.categories))
        object.__setattr__(self, "epsilon", positive_epsilon("epsilon", self.epsilon))
        if self.q is None and self.t is None:
            best = best_design(self.k, self.epsilon)
            q, t = _next_prime(max(self.k - 2, 1)), 2
            if isinstance(best, ProjectiveDesign):
                q, t = best.q, best.t
        else:
            q, t = _checked(self.k, self.q, self.t)
        object.__setattr__(self, "q", q)
        object.__setattr__(self, "t", t)

    @cached_property
    def design(self) -> BlockDesign:
        assert self.q is not None and self.t is not None
        return SingleDesign(self.k) if self.t == 2 else ProjectiveDesign(self.k, self.q, self.t)


def _checked(k: int, q: Any, t: Any) -> tuple[int, int]:
    """The size of a field and the length of vectors that the caller asks for."""
    field, length = positive_integer("q", q, 2), positive_integer("t", t, 2)
    if length > 2 and (length > 25 or field**length > _MOST_WORK):
        raise InvalidArgument("q, t", (field, length), f"q^t must be at most {_MOST_WORK}")
    if field > _MOST_WORK or _next_prime(field - 1) != field:
        raise InvalidArgument("q", q, f"must be a prime of at most {_MOST_WORK}, such as 2, 3 or 5")
    if (field**length - 1) // (field - 1) < k:
        remedy = f"have fewer than {k} labels: increase t, or q"
        raise InvalidArgument("q, t", (field, length), remedy)
    return field, length


def best_design(k: int, epsilon: float) -> BlockDesign:
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
    sums = np.array([summed_variance(design, epsilon) for design in designs])
    good = np.flatnonzero(sums <= _CLOSE * sums.min())
    return min((designs[i] for i in good), key=lambda design: design.n_labels)


def summed_variance(design: BlockDesign, epsilon: float) -> float:
    """Sum of the variances of the linear estimates at the uniform p, times the number of reports.

    Examples
    --------
    >>> fano = ProjectiveDesign(7, 2, 3)   # 7 labels, of which each category has 3
    >>> round(summed_variance(fano, 0.5), 2), round(summed_variance(SingleDesign(7), 0.5), 2)
    (81.5, 119.16)
    """
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
