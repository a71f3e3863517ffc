"""A complex sample as arrays, estimated totals of its privatised reports, and how they vary.

A cell holds respondents who are alike in all that an estimate depends on: their sampling units, and
what they reported. Its number of respondents, the sum of their weights and that of the squares are
all that is needed of them. A table in memory has a cell for each row.

The scores are those of privatised reports: what varies is the sample and the randomisation of every
respondent, who randomise independently. The variance between units holds both, but for what a
correction for a finite population takes away of the randomisation: the product of all sampling
fractions, and all of it where no stage is estimated (`missed_noise`).

An answer that is not among the candidates owns the same cells in every report. What it adds to them
by chance is common to all respondents of a cohort, so that no variance between sampling units shows
it, and it does not shrink as a sample grows. The residuals of the cells do show it (`collisions`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, record
from ldpstats.documents import Document
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.labels import Codes
from ldpstats.likelihood.covariance import Covariance
from ldpstats.likelihood.joint import CohortDecoding, indicators

SINGLE_UNIT = ("fail", "certainty", "centered", "average")
_DENSE = 0.05  # share of entries from which on dense products are faster
_FULL = 4  # places of a table of sums for each cell, up to which it is kept with its zeros
_SHOWN = 10  # strata of a single unit that an error names


@record
class Stage:
    """One stage of sampling: units were drawn in each of its strata.

    Strata of a later stage lie within units of the stage before.
    """

    unit: Codes | None  # (c,): of each cell; None where each respondent is one, which ends stages
    strata: Codes  # (u,): of each unit, or (c,) of each cell where respondents are the units
    sampled: Array  # (H,): units in the whole sample, also those outside of a domain
    population: Array  # (H,): units in the population; inf where no correction is wanted
    parent: Codes  # (H,): unit of the stage before that a stratum lies in; zero at the first stage
    labels: Sequence[Any]  # (H,): names of the strata

    @cached_property
    def fraction(self) -> Array:
        """Sampled share of the units of each stratum, zero without a correction; shape (H,)."""
        return self.sampled / self.population

    @cached_property
    def cell_strata(self) -> Codes:
        """The stratum of each cell, shape (c,)."""
        return self.strata if self.unit is None else self.strata[self.unit]

    @property
    def is_single(self) -> npt.NDArray[np.bool_]:
        """Strata with a single sampled unit of several, whose variance cannot be estimated."""
        return (self.sampled < 2) & (self.fraction < 1.0)


@record
class Sample:
    """Cells of a complex sample."""

    stages: tuple[Stage, ...]  # after the first only those with a finite population correction
    n: Array  # (c,): respondents of each cell
    w: Array  # (c,): the sum of their weights
    w2: Array  # (c,): and of the squares of these
    single_unit: str = "fail"  # what a stratum with one unit adds, one of `SINGLE_UNIT`
    replication: Replication | None = None  # what variances are estimated from, if not linearised
    # of scores, whose totals vary as calibrated ones do, where w is after a calibration
    residuals: Callable[[Scores], Scores] | None = None

    @cached_property
    def factors(self) -> list[Array]:
        """Product of the sampling fractions of all earlier stages, by stage, each (H,)."""
        found = [np.ones(len(self.stages[0].sampled))]
        for before, stage in zip(self.stages, self.stages[1:], strict=False):
            above = before.strata[stage.parent]
            found.append(found[-1][above] * before.fraction[above])
        return found

    def refuse_single_units(self) -> None:
        """Refuse strata of a single unit, if none of the remedies was chosen."""
        if self.single_unit != "fail":
            return
        for number, stage in enumerate(self.stages, 1):
            single = np.flatnonzero(stage.is_single)
            if single.size:
                names = ", ".join(str(stage.labels[h]) for h in single[:_SHOWN])
                more = f" and {single.size - _SHOWN} more" if single.size > _SHOWN else ""
                have = "stratum" if single.size == 1 else "strata"
                raise InvalidArgument(
                    "single_unit",
                    "fail",
                    f"{single.size} {have} of stage {number} with one unit only ({names}{more}), "
                    "which shows no variance: join strata, or choose 'certainty', 'centered' or "
                    "'average'",
                )

    def without_corrections(self) -> Sample:
        """As if units had been drawn with replacement; itself where they were.

        What a hypothesis about a superpopulation rests on: a finite population never holds it.
        """
        first = self.stages[0]
        if len(self.stages) == 1 and not np.any(first.fraction):
            return self
        free = replace(first, population=np.full(first.sampled.shape, np.inf))
        # single units that are a whole stratum are no error: "fail" was satisfied before
        single = "certainty" if self.single_unit == "fail" else self.single_unit
        return replace(self, stages=(free,), single_unit=single)

    def times(self, factor: Array) -> Sample:
        """Cells with weights multiplied by `factor`, shape (c,)."""
        replication = None if self.replication is None else self.replication.times(factor)
        return replace(self, w=self.w * factor, w2=self.w2 * factor**2, replication=replication)


class Replication(ABC):
    """Samples that might have been drawn instead, R of them, as weights of the cells."""

    about_estimate: bool  # deviations are from the estimate, not from the mean of the replicates
    from_design: bool = True  # made of the units of the first stage; later stages are linearised

    @abstractmethod
    def totals(self, sample: Sample, scores: Scores) -> Array:
        """Weighted totals of p scores in every replicate, shape (R, p)."""

    @abstractmethod
    def scales(self, sample: Sample) -> Array:
        """What the squared deviation of each replicate counts, shape (R,)."""

    def most_degrees(self, inside: npt.NDArray[np.bool_]) -> float:
        """Degrees of freedom that weights leave a domain, whose cells are `inside`, (c,)."""
        return np.inf

    def times(self, factor: Array) -> Replication:
        """These replicates where weights are multiplied by `factor`, shape (c,)."""
        return self


@record
class Scores:
    """What a respondent of each cell adds to p estimates, for a unit of weight.

    The score of cell i is the sum of rows of tables, ``table[at[i]]``; at -1 nothing.
    """

    parts: tuple[tuple[Codes, Any], ...]  # at, (c,), and table, dense or sparse, (b, p)
    domain: Codes | None = None  # (c,): of g domains with p / g estimates each; -1 outside of all
    n_domains: int = 1  # g

    def __add__(self, other: Scores) -> Scores:
        return Scores(self.parts + other.parts)

    @property
    def domains(self) -> Codes:
        """The domain of each cell, (c,); by default the cells that have a score are one."""
        if self.domain is not None:
            return self.domain
        return np.where(np.any([at >= 0 for at, _ in self.parts], axis=0), 0, -1)

    def totals(self, weights: Array, groups: Codes | None = None, n_groups: int = 1) -> Any:
        """Weighted sums of scores by group of cells, (n_groups, p), sparse if all tables are; of
        all cells, (p,).
        """
        from scipy.sparse import csr_array

        total: Any = None
        for at, table in self.parts:
            there = np.flatnonzero(at >= 0)
            b, rows = table.shape[0], 0 if groups is None else groups[there]
            full = isinstance(table, np.ndarray) and n_groups * b <= _FULL * there.size
            if full or groups is None:  # without sorting
                sums = np.bincount(rows * b + at[there], weights[there], n_groups * b)
                group_sums = sums.reshape(n_groups, b) @ table
            else:
                entries = (weights[there], (rows, at[there]))
                group_sums = csr_array(entries, shape=(n_groups, b)) @ table
            total = group_sums if total is None else total + group_sums
        return dense(total).reshape(-1) if groups is None else total

    def products(self, weights: Array) -> Array:
        """Weighted sum of the outer products of the scores with themselves, shape (p, p)."""
        from scipy.sparse import csr_array

        found: Any = 0.0
        for at, table in self.parts:
            for other, beside in self.parts:
                there = np.flatnonzero((at >= 0) & (other >= 0))
                shape = (table.shape[0], beside.shape[0])
                between = csr_array((weights[there], (at[there], other[there])), shape=shape)
                found = found + dense(table.T @ (between @ beside))
        return np.asarray(found)


def dense(matrix: Any) -> Array:
    """A matrix as a plain array."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def gram(X: Any, weights: Array) -> Array:
    """``X' diag(weights) X`` of a dense or sparse X, shape (p, p)."""
    if not isinstance(X, np.ndarray) and X.nnz > _DENSE * np.prod(X.shape):
        X = X.toarray()
    scaled = X * weights[:, None] if isinstance(X, np.ndarray) else X.multiply(weights[:, None])
    return dense(X.T @ scaled)


# -- Estimated totals of a sample, how they vary, and what follows for functions of them ----------


_LARGE = 1 << 16  # entries from which on zeros are looked for
_FILLED = 0.05  # share of other entries from which on a dense product is faster
_ROUNDING = 1e-13  # of a variance, relative to what it would be if nothing cancelled


@record
class Ratios:
    """Linear combinations of ratios of totals, ``R ((A T) / (B T))``."""

    A: Array  # (q, m): numerators, as linear forms of m totals
    B: Array | None = None  # (q, m): denominators; one without
    R: Array | None = None  # (r, q): combinations of the ratios; each of them without

    def defined(self, T: Array) -> tuple[npt.NDArray[np.bool_], Ratios]:
        """Which functions rest on no ratio to zero at totals T, (q,) or (r,), and those."""
        there = np.full(len(self.A), True) if self.B is None else self.B @ T != 0.0
        if self.R is None:
            rows, R = there, None
        else:
            rows = ~self.R[:, ~there].any(axis=1)
            R = self.R[np.ix_(rows, there)]
        return rows, Ratios(self.A[there], None if self.B is None else self.B[there], R)

    def value(self, T: Array) -> Array:
        """The functions of totals T, shape (..., m) -> (..., q)."""
        values = T @ self.A.T
        if self.B is not None:
            values = values / (T @ self.B.T)
        return values if self.R is None else values @ self.R.T

    def jacobian(self, T: Array) -> Array:
        """Their derivatives at T, shape (m,) -> (q, m)."""
        J: Array = self.A
        if self.B is not None:
            below = self.B @ T
            J = (self.A - ((self.A @ T) / below)[:, None] * self.B) / below[:, None]
        return J if self.R is None else product(self.R, J)


@record
class Estimated:
    """Estimates, shape (q,), and their covariances, (q, q): in all, and of the randomisation."""

    value: Array
    covariance: Array
    noise: Array


class Totals(Document, ABC):
    """Estimated totals, shape (m,), of a complex sample of privatised reports."""

    estimate: Array
    noise: Array  # covariance of the randomisation, (m, m)

    @abstractmethod
    def _covariance(self, functions: Ratios, J: Array) -> Array:
        """Covariance of functions of the totals, with derivatives J at the estimate, (q, m)."""

    def covariance_of(self, functions: Ratios) -> Array:
        """Covariance of functions of the totals, design and randomisation together, (q, q)."""
        return self._covariance(functions, functions.jacobian(self.estimate))

    @property
    @abstractmethod
    def _spread(self) -> Array:
        """About the standard errors of the totals, (m,)."""

    @abstractmethod
    def some(self, at: Any) -> Totals:
        """Some of the totals, a slice or places."""

    def of(self, functions: Ratios) -> Estimated:
        """Functions of the totals, with covariances; zero where only rounding is left of one."""
        J = functions.jacobian(self.estimate)
        covariance = self._covariance(functions, J)
        nothing = np.abs(np.diagonal(covariance)) <= _ROUNDING * (np.abs(J) @ self._spread) ** 2
        covariance = np.where(nothing[:, None] | nothing, 0.0, covariance)
        noise = product(product(J, self.noise), J.T)
        return Estimated(functions.value(self.estimate), covariance, noise)


@record
class LinearTotals(Totals):
    """Totals with their covariance, (m, m), from which that of functions follows by derivatives."""

    kind: Literal["linear"] = field(default="linear", init=False, repr=False)
    estimate: Array
    covariance: Array
    noise: Array

    def _covariance(self, functions: Ratios, J: Array) -> Array:
        return product(product(J, self.covariance), J.T)

    def some(self, at: Any) -> LinearTotals:
        return LinearTotals(self.estimate[at], self.covariance[at][:, at], self.noise[at][:, at])

    @property
    def _spread(self) -> Array:
        return np.asarray(np.sqrt(np.abs(np.diagonal(self.covariance))))


@record
class ReplicatedTotals(Totals):
    """Totals in each of R replicates, in which functions of them are computed anew."""

    kind: Literal["replicated"] = field(default="replicated", init=False, repr=False)
    estimate: Array
    noise: Array
    replicates: Array  # (R, m)
    scales: Array  # (R,): what the squared deviation of each replicate counts
    missed: Array  # (m, m): covariance of the randomisation that the replicates lack
    about_estimate: bool = False  # deviations from the estimate, not the mean of the replicates

    def _covariance(self, functions: Ratios, J: Array) -> Array:
        counts = self.scales > 0.0
        with np.errstate(divide="ignore", invalid="ignore"):  # refused below
            values = functions.value(self.replicates[counts])
        if not np.isfinite(values).all():
            number = np.flatnonzero(counts)[~np.isfinite(values).all(axis=1)][0] + 1
            raise NotAvailable(
                f"replicate {number} has no weight in some domain, which lies in the units that it "
                "leaves out: take larger domains, or the survey without replicates"
            )
        centre = functions.value(self.estimate) if self.about_estimate else values.mean(axis=0)
        apart = values - centre
        missed = product(product(J, self.missed), J.T)
        return np.asarray((apart * self.scales[counts, None]).T @ apart + missed)

    def some(self, at: Any) -> ReplicatedTotals:
        return replace(
            self,
            estimate=self.estimate[at],
            noise=self.noise[at][:, at],
            replicates=self.replicates[:, at],
            missed=self.missed[at][:, at],
        )

    @property
    def _spread(self) -> Array:
        return np.asarray(np.sqrt(self.scales @ (self.replicates - self.estimate) ** 2))


def checked(covariance: Array) -> Covariance:
    """A covariance whose variances are not negative; else an error that says why."""
    v = np.diagonal(covariance)
    if np.any(v < 0.0):
        raise NotAvailable(
            f"the variance of {int((v < 0.0).sum())} of {v.size} estimates is estimated to be "
            "negative: the randomisation variance that the correction for a finite population "
            "adds is an unbiased estimate, which in a domain of few respondents may be negative; "
            "leave fpc= out, or join domains"
        )
    return Covariance.dense((covariance + covariance.T) / 2.0)  # rounding is not symmetric


def product(left: Array, right: Array) -> Array:
    """``left @ right``; of many domains most entries of one of them may be zero."""
    from scipy.sparse import csr_array

    thin = []
    for matrix in (left, right.T):
        many = matrix.size > _LARGE and np.count_nonzero(matrix) <= _FILLED * matrix.size
        thin.append(csr_array(matrix) if many else matrix)
    if thin[0] is left:
        return (thin[1] @ left.T).T
    return thin[0] @ right


# -- Variances of weighted totals under a design, by linearisation --------------------------------


_FEW = 1 << 16  # places that are marked one by one
_NO_OTHERS = (
    "needs a stratum with two units or more, in each domain and unit that has strata of one: "
    "choose 'certainty' or 'centered'"
)


def design_covariance(sample: Sample, scores: Scores, first: int = 0) -> Array:
    """Covariance of the weighted totals of scores, (p, p), stage by stage from the `first` on.

    ``(1 - f) n / (n - 1) sum_j (z_j - mean)^2`` over units, times the fractions of stages before.
    """
    if not first:
        sample.refuse_single_units()
    total: Any = 0.0
    for number in range(first, len(sample.stages)):
        if sample.single_unit == "average" and np.any(sample.stages[number].is_single):
            total = total + _averaged(sample, number, scores)
        else:
            total = total + _squares(sample, number, scores, scale_of_strata(sample, number))
    return np.asarray((total + np.transpose(total)) / 2.0)


def scale_of_strata(sample: Sample, number: int) -> Array:
    """What the sum of squares between units counts in each stratum of a stage, shape (H,)."""
    stage, factor = sample.stages[number], sample.factors[number]
    n = stage.sampled
    single = n < 2
    scale = factor * (1.0 - stage.fraction) * np.where(single, 1.0, n / np.maximum(n - 1.0, 1.0))
    if sample.single_unit == "average":  # the mean of the others
        strata = np.bincount(stage.parent)
        known = np.bincount(stage.parent, ~stage.is_single, strata.size)
        if np.any(known[stage.parent] == 0.0):
            raise InvalidArgument("single_unit", "average", _NO_OTHERS)
        others = scale * (strata / np.maximum(known, 1.0))[stage.parent]
        return np.where(stage.is_single, 0.0, others)
    if sample.single_unit == "certainty":
        return np.where(single, 0.0, scale)
    return scale


def _averaged(sample: Sample, number: int, scores: Scores) -> Array:
    """What a stage adds whose strata of one unit are given the mean of the others, (p, p)."""
    stage = sample.stages[number]
    scale = scale_of_strata(replace(sample, single_unit="certainty"), number)
    # of the others with respondents in the domain: how many there are over those that show a
    # variance, by unit above and domain, (u, g)
    g, H, domain = scores.n_domains, len(stage.sampled), scores.domains
    there = np.flatnonzero((domain >= 0) & (sample.n > 0))
    codes = np.unique(domain[there] * H + stage.cell_strata[there])
    of_domain, strata = np.divmod(codes, H)
    at, shape = stage.parent[strata] * g + of_domain, (int(stage.parent.max()) + 1, g)
    every = np.bincount(at, minlength=shape[0] * g).reshape(shape)
    known = np.bincount(at, ~stage.is_single[strata], shape[0] * g).reshape(shape)
    needed = scores.domain is None or number > 0
    if needed and np.any((known == 0.0) & (every > 0)):
        raise InvalidArgument("single_unit", "average", _NO_OTHERS)
    factor = np.divide(every, known, out=np.zeros(shape), where=known > 0.0)
    total: Any = 0.0
    distinct, which = np.unique(np.sqrt(factor), axis=0, return_inverse=True)
    for i, root in enumerate(distinct):
        alike = which.reshape(-1)[stage.parent] == i
        squares = _squares(sample, number, scores, np.where(alike, scale, 0.0))
        total = total + squares * np.outer(*2 * (np.repeat(root, len(squares) // g),))
    return np.asarray(total)


def _squares(sample: Sample, number: int, scores: Scores, scale: Array) -> Array:
    """Sum of squares between the units of a stage whose strata count by `scale`, (H,); (p, p)."""
    stage = sample.stages[number]
    n = stage.sampled
    centre = np.where(n < 2, 0.0, scale / n)  # one unit alone is taken from zero
    strata = stage.cell_strata
    if stage.unit is None:
        squares = scores.products(sample.w2 * scale[strata])
    else:
        X = scores.totals(sample.w, stage.unit, len(stage.strata))
        squares = gram(X, scale[stage.strata])
    means = scores.totals(sample.w, strata, len(n))
    return squares - gram(means, centre)


def missed_noise(sample: Sample) -> Array:
    """Share of the randomisation variance of each cell that the estimated one lacks, (c,).

    Stage by stage `design_covariance` holds the shares ``1 - f_1``, ``f_1 (1 - f_2)``, ... of it,
    replicates that were given all of it.
    """
    estimated = np.zeros(sample.w.shape)
    if sample.replication is not None and not sample.replication.from_design:
        return estimated
    for stage, factor in zip(sample.stages, sample.factors, strict=True):
        share = factor * (1.0 - stage.fraction)
        if sample.single_unit == "certainty":
            share = np.where(stage.sampled < 2, 0.0, share)
        estimated += share[stage.cell_strata]
    return 1.0 - estimated


def degrees_of_freedom(sample: Sample, domain: Codes, g: int = 1) -> Array:
    """Degrees of freedom of variances in g domains, (g,); `domain` is that of each cell, or -1.

    Units of the first stage less strata that hold them, and no more than replicates leave.
    """
    degrees, left = np.full(g, np.inf), np.full(g, True)
    if sample.replication is None or sample.replication.from_design:
        # strata of which all units were taken show nothing of the sampling and add none, but where
        # the others have none either; where a domain has no others, its degrees are those of the
        # next stage, or of respondents, whose noise varies
        for stage in sample.stages:
            drawn = np.where(stage.fraction[stage.cell_strata] < 1.0, domain, -1)
            own = _units_less_strata(stage, stage.unit, sample.n, drawn, g)
            every = _units_less_strata(stage, stage.unit, sample.n, domain, g)
            degrees[left] = np.where(own < 1.0, every, own)[left]
            left &= np.bincount(drawn[drawn >= 0], minlength=g) == 0
            if not left.any():
                break
        else:
            degrees[left] = _units_less_strata(stage, None, sample.n, domain, g)[left]
    if sample.replication is not None:
        for i in range(g):
            degrees[i] = min(degrees[i], sample.replication.most_degrees(domain == i))
    return degrees


def _units_less_strata(stage: Stage, unit: Codes | None, n: Array, domain: Codes, g: int) -> Array:
    """Units of g domains, or respondents, less strata of a stage that hold them, (g,)."""
    there = np.flatnonzero((domain >= 0) & (n > 0))
    inside = domain[there]
    strata = _different(inside, stage.cell_strata[there], len(stage.sampled), g)
    if unit is None:
        return np.bincount(inside, n[there], g) - strata
    return _different(inside, unit[there], len(stage.strata), g) - strata


def _different(domain: Codes, codes: Codes, n: int, g: int) -> Array:
    """How many different codes below n each of g domains has, (g,)."""
    pairs = domain * n + codes
    if g * n <= max(_FEW, 4 * pairs.size):  # without sorting
        seen = np.zeros(g * n, dtype=bool)
        seen[pairs] = True
        return np.asarray(seen.reshape(g, n).sum(axis=1, dtype=float))
    return np.bincount(np.unique(pairs) // n, minlength=g).astype(float)


# -- Estimated totals of a sample, by linearisation or by replication -----------------------------


_DETERMINED = 1e-11  # standard error, relative to the largest total, that is rounding
_MOST_REPLICATED = 5e7  # numbers, 400 MB


def estimated_totals(
    sample: Sample,
    scores: Scores,
    noise_of: Callable[[Array], Array] | None = None,
    more: Array | float = 0.0,
) -> Totals:
    """Weighted totals of m scores of privatised reports, and how they vary.

    `noise_of` squared weights v, (c,), is ``sum v C(r)``, (m, m), of the randomisation; `more` a
    covariance that neither the design nor the reports show.
    """
    estimate, replication = scores.totals(sample.w), sample.replication
    noise = missed = np.zeros((len(estimate), len(estimate)))
    if noise_of is not None:
        noise = noise_of(sample.w2) + more
        missed = noise_of(sample.w2 * missed_noise(sample)) + more
    residuals = scores if sample.residuals is None else sample.residuals(scores)
    if replication is None:
        covariance = design_covariance(sample, residuals)
        if sample.residuals is not None:
            # rounding is all that is left of the residuals of totals that population ones determine
            size = float(np.abs(estimate).max())
            fixed = np.abs(np.diagonal(covariance)) <= (_DETERMINED * size) ** 2
            covariance = np.where(fixed[:, None] | fixed, 0.0, covariance)
        return LinearTotals(estimate, covariance + missed, noise)
    scales = replication.scales(sample)
    if len(scales) * len(estimate) > _MOST_REPLICATED:
        raise NotAvailable(
            f"{len(estimate)} totals in {len(scales)} replicates were not computed: take fewer "
            "categories, domains or replicates, or the survey without replicates"
        )
    rest = missed + design_covariance(sample, residuals, 1) * replication.from_design
    if not len(scales):  # all units of the first stage are in the sample
        return LinearTotals(estimate, rest, noise)
    replicates = replication.totals(sample, scores)
    about = replication.about_estimate
    return ReplicatedTotals(estimate, noise, replicates, scales, rest, about)


def in_one_unit(
    sample: Sample, domain: Codes, varies: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Which of g domains lie in one sampling unit, and do not show how their shares vary, (g,)."""
    if sample.replication is not None and not sample.replication.from_design:
        return ~varies  # replicates that were given do not tell their units
    stage, g = sample.stages[0], len(varies)
    there = np.flatnonzero((domain >= 0) & (sample.n > 0))
    inside, n = domain[there], sample.n[there]
    units = np.bincount(inside, n, g)
    if stage.unit is not None:
        units = _different(inside, stage.unit[there], len(stage.strata), g)
    taken = np.bincount(inside, n * (stage.fraction[stage.cell_strata[there]] >= 1.0), g)
    single = (units == 1.0) & (taken == 0.0)
    if sample.single_unit == "average":  # strata of one unit are given the mean of the others
        several = ~stage.is_single[stage.cell_strata[there]]
        single |= (units > 0.0) & (np.bincount(inside, several, g) == 0.0)
    return np.asarray(single)


# -- What answers that are not listed do to weighted estimates of candidates ----------------------


_COLUMNS = 512  # cells whose variances are found at a time
_SATURATED = 1e-8  # share of their collisions that residuals show where candidates fit anything


def collision_covariance(sample: Sample, place: Codes, decoded: CohortDecoding) -> Array:
    """Covariance of the estimated frequencies by chance collisions with other answers, (k, k).

    To be added to that of the design; `place`, (c,), is the row of `decoded.phi` of each cell.
    """
    squares, source = collisions(sample, place, decoded), decoded.moments.sources[0]
    if squares <= 0.0:
        return np.zeros((decoded.k, decoded.k))
    inverse = decoded.moments.inverse
    return squares * inverse @ source.collision_spread() @ inverse


def collisions(sample: Sample, place: Codes, decoded: CohortDecoding) -> float:
    """Moment estimate of the summed squared frequencies of unlisted answers; may be negative."""
    from scipy.sparse import csr_array

    # squared residuals are on average those that design and randomisation make, as estimated
    # without a correction for finite populations, less what the candidates follow, and in
    # proportion to this sum those of collisions
    problem = decoded.moments
    if not problem.is_open:
        return 0.0
    free, source = sample.without_corrections(), problem.sources[0]
    z = (decoded.phi - decoded.p) / source.reports.sum()
    followed = _variance(free, place, z)
    seen = 0.0
    distinct, m = decoded.distinct, source.design.n_cells
    cohort = distinct.cohort
    assert cohort is not None
    t = (source.moved + source.offset).reshape(-1, m)
    step = max(1, _COLUMNS // m)
    for start in range(0, len(t), step):  # linearised scores of the cells of a few cohorts
        stop = min(start + step, len(t))
        rows = np.flatnonzero((cohort >= start) & (cohort < stop))
        c = cohort[rows]
        apart = np.where(source.reports[c, None] > 0.0, indicators(distinct[rows]) - t[c], 0.0)
        apart /= np.maximum(source.reports[c], np.finfo(np.float64).tiny)[:, None]
        columns = (c - start)[:, None] * m + np.arange(m)
        entries = (apart.ravel(), (np.repeat(rows, m), columns.ravel()))
        cells = csr_array(entries, shape=(len(distinct), (stop - start) * m))
        V = _variance(free, place, cells)
        seen += float(source.weights[start * m : stop * m] @ np.diagonal(V))
    residual = source.moved - source.design.times(decoded.p)
    expected = seen - float(np.vdot(source.design.gram(source.weights), followed))
    every = float(source.collision_variance * source.weights.sum())
    rate = every - float(np.vdot(problem.inverse, source.collision_spread()))
    if rate <= _SATURATED * every:
        return 0.0
    return (float(source.weights @ residual**2) - expected) / rate


def _variance(sample: Sample, place: Codes, table: Any) -> Array:
    """Covariance of weighted totals of scores, which hold the randomisation."""
    totals = estimated_totals(sample, Scores(((place, table),), np.where(place >= 0, 0, -1)))
    return totals.covariance_of(Ratios(np.eye(table.shape[1])))
