"""A complex sample as arrays: cells of respondents, the stages that drew them, their scores.

A cell holds respondents who are alike in all that an estimate depends on: their sampling units, and
what they reported. Its number of respondents, the sum of their weights and that of the squares are
all that is needed of them. A table in memory has a cell for each row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument

__all__ = ["SINGLE_UNIT", "Adjustment", "Replication", "Sample", "Scores", "Stage", "gram"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

SINGLE_UNIT = ("fail", "certainty", "centered", "average")
_DENSE = 0.05  # share of entries from which on dense products are faster
_FULL = 4  # places of a table of sums for each cell, up to which it is kept with its zeros
_SHOWN = 10  # strata of a single unit that an error names


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage of sampling: units were drawn in each of its strata.

    Strata of a later stage lie within units of the stage before.

    Parameters
    ----------
    unit : array of int64, shape (c,), or None
        The unit of each cell; None where each respondent is a unit, which ends the stages.
    strata : array of int64, shape (u,), or (c,) where respondents are the units
        The stratum of each unit, or of each cell.
    sampled : array, shape (H,)
        Units in the whole sample, also those outside of a domain.
    population : array, shape (H,)
        Units in the population; inf where no correction is wanted.
    parent : array of int64, shape (H,)
        The unit of the stage before that each stratum lies in; zero at the first stage.
    labels : sequence, length H
        Names of the strata.
    """

    unit: Codes | None
    strata: Codes
    sampled: Array
    population: Array
    parent: Codes
    labels: Sequence[Any]

    @cached_property
    def fraction(self) -> Array:
        """Sampled share of the units of each stratum, zero without a correction; shape (H,)."""
        return np.asarray(self.sampled / self.population)

    @cached_property
    def cell_strata(self) -> Codes:
        """The stratum of each cell, shape (c,)."""
        return self.strata if self.unit is None else self.strata[self.unit]

    @property
    def is_single(self) -> npt.NDArray[np.bool_]:
        """Strata with a single sampled unit of several, whose variance cannot be estimated."""
        return np.asarray((self.sampled < 2) & (self.fraction < 1.0))


@dataclass(frozen=True, eq=False)
class Sample:
    """Cells of a complex sample.

    Parameters
    ----------
    stages : tuple of Stage
        At least one; of the later ones only those with a correction for finite populations, as the
        others add nothing to the variance.
    n, w, w2 : arrays, shape (c,)
        Respondents of each cell, the sum of their weights, and of the squares of these.
    single_unit : str
        What a stratum with one unit adds, one of `SINGLE_UNIT`.
    calibration : Adjustment, optional
        How the weights were calibrated; `w` and `w2` are those after it.
    replication : Replication, optional
        What variances are estimated from in place of linearisation.
    """

    stages: tuple[Stage, ...]
    n: Array
    w: Array
    w2: Array
    single_unit: str = "fail"
    replication: Replication | None = None
    calibration: Adjustment | None = None

    def residuals(self, scores: Scores) -> Scores:
        """The scores whose totals vary as calibrated ones do; without calibration the same."""
        return scores if self.calibration is None else self.calibration.residuals(scores)

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
        """The same as if units had been drawn with replacement; itself where they were.

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
        """The same cells with weights multiplied by `factor`, shape (c,)."""
        replication = None if self.replication is None else self.replication.times(factor)
        return replace(self, w=self.w * factor, w2=self.w2 * factor**2, replication=replication)


class Replication(ABC):
    """Samples that might have been drawn instead, R of them, as weights of the cells."""

    @property
    @abstractmethod
    def about_estimate(self) -> bool:
        """Whether deviations are from the estimate, not from the mean of the replicates."""

    @property
    def knows_units(self) -> bool:
        """Whether the units are those that the sample has, as where replicates were made of it."""
        return False

    @abstractmethod
    def totals(self, sample: Sample, scores: Scores) -> Array:
        """Weighted totals of p scores in every replicate, shape (R, p)."""

    @abstractmethod
    def scales(self, sample: Sample) -> Array:
        """What the squared deviation of each replicate counts, shape (R,)."""

    @abstractmethod
    def degrees_of_freedom(self, sample: Sample, inside: npt.NDArray[np.bool_]) -> float:
        """Of variances in a domain, whose cells are `inside`, shape (c,)."""

    @abstractmethod
    def missed(self, sample: Sample) -> Array:
        """Share of the randomisation variance of each cell that is not replicated, shape (c,)."""

    @abstractmethod
    def rest(self, sample: Sample, scores: Scores) -> Array:
        """The part of the covariance of p totals that later stages of sampling add, (p, p)."""

    def times(self, factor: Array) -> Replication:
        """The same replicates where weights are multiplied by `factor`, shape (c,)."""
        return self


@dataclass(frozen=True, eq=False)
class Scores:
    """What a respondent of each cell adds to p estimates, for a unit of weight.

    The score of cell i is the sum of rows of tables, ``table[at[i]]``; at -1 nothing.

    Parameters
    ----------
    parts : tuple of (at, table)
        `at` is an array of int64, shape (c,); `table` is dense or a `scipy.sparse` array, (b, p).
    domain : array of int64, shape (c,), optional
        Where the estimates are those of g domains, p / g of each in a row: the domain of each cell,
        -1 outside. By default they are of one, the cells that have a score.
    n_domains : int
        The number g of domains.
    """

    parts: tuple[tuple[Codes, Any], ...]
    domain: Codes | None = None
    n_domains: int = 1

    def __add__(self, other: Scores) -> Scores:
        return Scores(self.parts + other.parts)

    @property
    def domains(self) -> Codes:
        """The domain of each cell, -1 outside of all; shape (c,)."""
        if self.domain is not None:
            return self.domain
        return np.where(np.any([at >= 0 for at, _ in self.parts], axis=0), 0, -1)

    @property
    def size(self) -> int:
        """Number p of estimates."""
        return int(self.parts[0][1].shape[1])

    def totals(self, weights: Array, groups: Codes | None = None, n_groups: int = 1) -> Any:
        """Weighted sums of the scores by group of cells, (n_groups, p); sparse if all tables are.

        Parameters
        ----------
        weights : array, shape (c,)
        groups : array of int64, shape (c,), optional
            The group of each cell; one for all by default.
        """
        from scipy.sparse import csr_array

        total: Any = None
        for at, table in self.parts:
            there = np.flatnonzero(at >= 0)
            b, rows = table.shape[0], 0 if groups is None else groups[there]
            full = isinstance(table, np.ndarray) and n_groups * b <= _FULL * there.size
            if full or groups is None:  # without sorting
                sums = np.bincount(rows * b + at[there], weights[there], n_groups * b)
                found = sums.reshape(n_groups, b) @ table
            else:
                entries = (weights[there], (rows, at[there]))
                found = csr_array(entries, shape=(n_groups, b)) @ table
            total = found if total is None else total + found
        return total

    def total(self, weights: Array) -> Array:
        """Weighted sum of the scores of all cells, shape (p,)."""
        return dense(self.totals(weights)).reshape(-1)

    def products(self, weights: Array) -> Array:
        """Weighted sum of the outer products of the scores with themselves, shape (p, p)."""
        from scipy.sparse import csr_array

        found = np.zeros((self.size, self.size))
        for at, table in self.parts:
            for other, beside in self.parts:
                there = np.flatnonzero((at >= 0) & (other >= 0))
                shape = (table.shape[0], beside.shape[0])
                between = csr_array((weights[there], (at[there], other[there])), shape=shape)
                found += dense(table.T @ (between @ beside))
        return found


class Adjustment(ABC):
    """Weights that were changed to reproduce population totals, and how totals vary since."""

    @abstractmethod
    def residuals(self, scores: Scores) -> Scores:
        """Scores less what the population totals determine of them."""


def dense(matrix: Any) -> Array:
    """A matrix as a plain array."""
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def gram(X: Any, weights: Array) -> Array:
    """``X' diag(weights) X`` of a dense or sparse X, shape (p, p)."""
    if not isinstance(X, np.ndarray) and X.nnz > _DENSE * np.prod(X.shape):
        X = X.toarray()
    scaled = X * weights[:, None] if isinstance(X, np.ndarray) else X.multiply(weights[:, None])
    return dense(X.T @ scaled)
