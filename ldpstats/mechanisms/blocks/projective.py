"""Projective geometry response."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpstats.arguments.checks import positive_epsilon
from ldpstats.arguments.labels import as_labels
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

    Raises
    ------
    InvalidArgument
        For an epsilon that is not positive, or categories that are none.

    Notes
    -----
    The prime q and the length t of the vectors are those with the smallest summed variance at the
    uniform distribution, of all with ``k <= (q^t - 1) / (q - 1)`` labels and q^t at most 2^25,
    which bounds time and memory; of those within 1 % of the smallest, the one with the fewest
    labels. Where e^eps is about k or more, that is t = 2, a label for each category: k-RR.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", as_labels("categories", self.categories))
        object.__setattr__(self, "epsilon", positive_epsilon("epsilon", self.epsilon))

    @cached_property
    def design(self) -> BlockDesign:
        return best_design(self.k, self.epsilon)


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
