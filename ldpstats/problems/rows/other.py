"""What is not among the categories of interest: the category "Other" of a likelihood.

Where the mechanism allows it "Other" is exact, see `ldpstats.mechanisms.lumped`. Here is what can
be said of it where answers are hashed: the law of each bit, or label, of the respondents whose
answer is none of the candidates, by subtraction of what the candidates explain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import distribution, one_of
from ldpstats.arguments.labels import encode
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.problems.hash_design import HashDesign
from ldpstats.problems.simplex import project_simplex
from ldpstats.reports.single import Counts, Reports, cell_counts

__all__ = ["other_law", "other_rows", "rows_of_law"]

Array = npt.NDArray[Any]

_LEAST_SHARE = 1e-6  # of Other, below which there is nothing to estimate its law from
_PRINTED_CLIP = 1e-6  # of probabilities, in google/rappor's association.R
_LARGEST_LOG = 700.0  # of a likelihood ratio that a double holds


def other_rows(data: Reports | Counts, candidates: Any, p: Any, form: str = "product") -> Array:
    """Likelihood of "Other", one number a report, for answers outside the list of candidates.

    Bits: as if they were independent in reports of "Other", each with the probability that is left
    over once the candidates' part is taken off (FPE16 section III-B). Labels (O-RR) have a law that
    is left over in the same way, and need no such assumption.
    """
    left = _LeftOver.of(data, candidates, p, form)
    if form == "fpe16":
        return rows_of_law(left.printed(), data)
    return rows_of_law(left.law(1), data, left.law(0))


def rows_of_law(law: Array, data: Reports | Counts, unset: Array | None = None) -> Array:
    """Likelihood of reports, (u,), under a law of each cohort's cells, as `other_law` gives it.

    It is in the scale of the candidates' own rows, see `other_rows`. `unset` is the law of cells
    that are not the report's label, or of bits that are not set, where it differs.
    """
    assert data.cohort is not None
    if not data.mechanism.n_bits:
        return np.asarray(law[data.cohort, data.y])
    unset = law if unset is None else unset
    p0, p1 = data.mechanism.p0, data.mechanism.p1
    if not (0.0 < p0 < 1.0 and 0.0 < p1 < 1.0):
        raise NotAvailable(f"a bit of {data.mechanism} may lack noise: a product of bits has none")
    clear = np.log1p(-unset) - np.log1p(-p0)
    log = clear.sum(axis=1)[data.cohort]
    change = np.log(law) - np.log(p0) - clear  # gained by a bit that is set
    patterns = (np.arange(256)[:, None] >> np.arange(8)) & 1
    for j in range(data.y.shape[1]):  # byte by byte: a table of its 256 patterns in each cohort
        part = change[:, 8 * j : 8 * j + 8]
        log += (part @ patterns[:, : part.shape[1]].T)[data.cohort, data.y[:, j]]
    if log.max(initial=0.0) > _LARGEST_LOG:
        raise NotAvailable(
            f"reports of {data.mechanism} are too telling for a product of bits: use fewer bits"
        )
    return np.asarray(np.exp(log))


def other_law(data: Reports | Counts, candidates: Any, p: Any, form: str = "product") -> Array:
    """Law of the reports of "Other" in each cohort, of bits or labels, shape (C, n_cells).

    Arguments and errors are those of `other_rows`. What is left over of a cell is shrunk towards
    that of answers that hash evenly, by the share of its variance that is noise (empirical Bayes:
    the variance over all cells, less that of privacy). Bits: P(bit = 1), kept between p* and q*,
    which are what an answer can give. Labels: probabilities that sum to one, each at least that of
    a label that is not the answer's own; the nearest such law.
    """
    left = _LeftOver.of(data, candidates, p, form)
    return left.printed() if form == "fpe16" else left.law()


@dataclass(frozen=True, eq=False)
class _LeftOver:
    """Tallies of cells, (C, m), and what the candidates account for.

    `own` is the mass of the candidates that own a cell, `p_sum` that of all of them; `high` and
    `low` are the probabilities of a cell that the answer owns, and that it does not; `even` is the
    share of answers that own a cell where they hash evenly.
    """

    ones: Array
    reports: Array
    own: Array
    p_sum: float
    high: float
    low: float
    n_bits: int
    even: float

    @classmethod
    def of(cls, data: Reports | Counts, candidates: Any, p: Any, form: str) -> _LeftOver:
        form = one_of("form", form, ("product", "fpe16"))
        # a check of what a caller may pass, reports or their counts
        counts = data.tally() if isinstance(data, Reports) else data
        if not isinstance(counts, Counts):
            raise InvalidArgument("data", data, "must be Reports or Counts: whole reports")
        mechanism = data.mechanism
        if not mechanism.n_cohorts:
            raise NotAvailable(f"{mechanism} hashes no answers: lump(reports, keep) is exact")
        if form == "fpe16" and not mechanism.n_bits:
            raise NotAvailable('form="fpe16" is a product of bits; O-RR reports labels')
        cells = mechanism.cells(candidates) if mechanism.is_open else _some(mechanism, candidates)
        p = distribution("p", p, cells.shape[1], partial=True)
        if 1.0 - p.sum() < _LEAST_SHARE:
            raise NotAvailable(f"the candidates sum to {p.sum():.6g}: nothing is left for Other")
        ones, reports = cell_counts(counts)
        own, law = HashDesign(cells, mechanism.n_cells).owned(p), mechanism.cell_law
        total, n_bits = float(p.sum()), mechanism.n_bits
        return cls(ones, reports, own, total, law.high, law.low, n_bits, law.shared)

    def printed(self) -> Array:
        """FPE16 III-B as printed: the noise of all reports is taken off those of Other."""
        seen = self._seen(self.ones, self.reports)
        left = (seen - self.high * self.own - self.low * (1.0 - self.own)) / (1.0 - self.p_sum)
        return np.asarray(np.clip(left, _PRINTED_CLIP, 1.0 - _PRINTED_CLIP))

    def law(self, without: int | None = None) -> Array:
        """Law of each cell, from all reports or all but one: that has 1 or 0, `without`, there."""
        ones, reports = self.ones, self.reports
        if without is not None:
            ones, reports = np.maximum(ones - without, 0), np.maximum(reports - 1, 0)
        owned = self._shrunken(ones, reports)
        if not self.n_bits:  # shares add up to one
            owned -= self._excess[:, None]
        return np.asarray(self.low + (self.high - self.low) * np.clip(owned, 0.0, 1.0))

    def _shrunken(self, ones: Array, reports: Array) -> Array:
        """Share of the answers in Other that own a cell, shrunk towards `even`."""
        return np.asarray(self.even + self._weight * (self._owned(ones, reports) - self.even))

    @cached_property
    def _excess(self) -> Array:
        """What the projection onto the simplex takes off each share, (C,)."""
        owned = self._shrunken(self.ones, self.reports)
        return np.array([v.max() - project_simplex(v).max() for v in owned])

    def _seen(self, ones: Array, reports: Array) -> Array:
        none = np.full(ones.shape, self.low)
        return np.asarray(np.divide(ones, reports[:, None], out=none, where=reports[:, None] > 0))

    def _owned(self, ones: Array, reports: Array) -> Array:
        """The same by subtraction alone; `even` where there is no report."""
        rest, slope = 1.0 - self.p_sum, self.high - self.low
        left = self._seen(ones, reports) - self.high * self.own - self.low * (self.p_sum - self.own)
        share = (left / rest - self.low) / slope
        return np.asarray(np.where(reports[:, None] > 0, share, self.even))

    @cached_property
    def _weight(self) -> Array:
        """Share of the variance of what is left over that is not noise, (C, m)."""
        rest, slope = 1.0 - self.p_sum, self.high - self.low
        level = self.low + slope * (self.own + rest * self.even)
        precision = self.reports[:, None] * (rest * slope) ** 2 / (level * (1.0 - level))
        if not precision.any():
            return precision
        square = (self._owned(self.ones, self.reports) - self.even) ** 2
        # moments: squares beyond those that noise has, weighted by precision
        excess = float((precision * square).sum()) - np.count_nonzero(precision)
        variance = max(excess / float(precision.sum()), 0.0)
        return np.asarray(variance * precision / (1.0 + variance * precision))


def _some(mechanism: Any, labels: Any) -> Array:
    """Cells of some labels of a known alphabet."""
    cells = mechanism.cells()
    if labels is None:
        return np.asarray(cells)
    return np.ascontiguousarray(cells[:, encode("candidates", labels, mechanism.categories)[0]])
