"""Variances of weighted totals by replicates, made from the design or given as columns of weights.

Randomised reports need no change of the classical methods: a replicate has other weights for the
same reports, so that replicates vary by the sampling and by the randomisation. Only the share of
the randomisation that a correction for a finite population takes away is added, as it is to
linearised variances (`linearisation.missed_noise`).

A jackknife leaves out one unit of the first stage, whose stratum shares its weight: JK1 without
strata, JKn with strata (Wolter 2007, section 4.5). It is found from totals of units, so that no
weights by cell and replicate are kept. For the bootstrap see Rao and Wu (1988) and Rao, Wu and Yue
(1992, section 2); for the scales of given weights Wolter (2007, Introduction to Variance
Estimation, chapters 3 to 5), for successive differences Fay and Train (1995).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, record
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.designs.linearisation import (
    Replication,
    Sample,
    Scores,
    dense,
    scale_of_strata,
)
from ldpstats.labels import Codes

_ROUNDING = 1e-12  # of a total, relative to its terms
_MOST_UNITS = 20_000  # of a jackknife, each of which makes a replicate
_MOST_NUMBERS = 4_000_000  # of a block of draws, 32 MB
_MOST_DRAWS = 1_000_000_000  # of a bootstrap, 1 GB where no stratum has over 256 units


@record
class _Units:
    """Units of the first stage: of each its stratum, and how many alike it stands for, (u,).

    Respondents who are units stand in cells, which hold several if their weights are the same.
    """

    cells: Codes  # the unit of each cell, (c,)
    strata: Codes
    alike: Codes
    absent: Codes  # sampled units of each stratum of which no cell is there, (H,)

    @classmethod
    def of(cls, sample: Sample) -> _Units:
        """Those of a sample; refuses cells of respondents with several weights."""
        stage = sample.stages[0]
        if stage.unit is None:
            cells, strata = np.arange(len(sample.w)), stage.strata
            alike = np.rint(sample.n).astype(np.int64)
            if np.any(sample.w2 * sample.n - sample.w**2 > 1e-9 * sample.w**2):
                raise NotAvailable(
                    "respondents of several weights are summed: name the clusters they are in, "
                    "read the table into memory, or use the survey without replicates"
                )
        else:
            cells, strata = stage.unit, stage.strata
            alike = np.ones(len(strata), dtype=np.int64)
        there = np.bincount(strata, alike, len(stage.sampled))
        return cls(cells, strata, alike, np.rint(stage.sampled - there).astype(np.int64))

    def means(self, sample: Sample, scores: Scores) -> Array:
        """Weighted totals of scores in each unit, for one of those alike, shape (u, p)."""
        found = dense(scores.totals(sample.w, self.cells, len(self.strata)))
        return found / np.maximum(self.alike, 1)[:, None]


@record
class Jackknife(Replication):
    """Replicates without one unit of the first stage, whose stratum shares its weight."""

    about_estimate: bool = False

    def scales(self, sample: Sample) -> Array:
        sample.refuse_single_units()
        return _jackknife_scale(sample)[_left_out(sample, _Units.of(sample))[1]]

    def totals(self, sample: Sample, scores: Scores) -> Array:
        units, n = _Units.of(sample), sample.stages[0].sampled
        unit, stratum = _left_out(sample, units)
        X = units.means(sample, scores)
        X = np.vstack([X, np.zeros(X.shape[1])])  # at -1: a unit without cells
        mean = dense(scores.totals(sample.w, sample.stages[0].cell_strata, len(n))) / n[:, None]
        mean[n < 2] = 0.0  # a unit alone is left out and not replaced
        others = np.where(n < 2, 1.0, n / np.maximum(n - 1.0, 1.0))[stratum]
        total, others = scores.totals(sample.w), others[:, None]
        found = total + others * (mean[stratum] - X[unit])
        # rounding is what is left of a domain whose only unit is left out, and no ratio
        size = np.abs(total) + others * (np.abs(mean[stratum]) + np.abs(X[unit]))
        return np.where(np.abs(found) <= _ROUNDING * size, 0.0, found)


def jackknife(sample: Sample) -> Jackknife:
    """The jackknife of a sample: deviations are from the mean of the replicates, as in R."""
    first = sample.stages[0]
    # but from the estimate where "centered" units are left out and not replaced, so that the
    # replicates' mean is another
    return Jackknife(sample.single_unit == "centered" and bool(np.any(first.is_single)))


def _jackknife_scale(sample: Sample) -> Array:
    """What the replicates of each stratum count, ``(1 - f) (n - 1) / n`` as a rule, shape (H,)."""
    n = sample.stages[0].sampled
    share = np.where(n < 2, 1.0, (n - 1.0) / n)
    return np.asarray(scale_of_strata(sample, 0) * share**2)


def _left_out(sample: Sample, units: _Units) -> tuple[Codes, Codes]:
    """The unit that each replicate leaves out, -1 for one without cells, and its stratum, (R,)."""
    counts = _jackknife_scale(sample) > 0.0
    alike = np.where(counts[units.strata], units.alike, 0)
    absent = np.where(counts, units.absent, 0)
    if alike.sum() + absent.sum() > _MOST_UNITS:
        raise NotAvailable(
            f"a jackknife of {alike.sum() + absent.sum()} units takes as many replicates, "
            f"{_MOST_UNITS} at most: choose 'bootstrap', or name the clusters they are in"
        )
    unit = np.repeat(np.arange(len(alike)), alike)
    stratum = np.concatenate([units.strata[unit], np.repeat(np.arange(len(absent)), absent)])
    return np.concatenate([unit, np.full(absent.sum(), -1)]), stratum


@record
class Bootstrap(Replication):
    """Replicates in which n - 1 of the n units of each stratum were drawn with replacement.

    A unit drawn m times has ``1 + sqrt(1 - f) (m n / (n - 1) - 1)`` times its weight.
    """

    draws: npt.NDArray[np.unsignedinteger[Any]]  # (u, R): how often each unit was drawn
    about_estimate = False

    def scales(self, sample: Sample) -> Array:
        n = self.draws.shape[1]
        return np.full(n, 1.0 / (n - 1.0))

    def totals(self, sample: Sample, scores: Scores) -> Array:
        units, stage = _Units.of(sample), sample.stages[0]
        n = stage.sampled
        part = np.where(n < 2, 0.0, np.sqrt(1.0 - stage.fraction))
        drawn = (part * n / np.maximum(n - 1.0, 1.0))[units.strata]
        X = units.means(sample, scores)
        fixed = scores.totals(sample.w * (1.0 - part)[stage.cell_strata])
        found = np.empty((self.draws.shape[1], X.shape[1]))
        for block in _blocks(self.draws.shape[1], len(X)):
            found[block] = fixed + self.draws[:, block].T.astype(np.float64) @ (X * drawn[:, None])
        return found

    def most_degrees(self, inside: npt.NDArray[np.bool_]) -> float:
        return float(self.draws.shape[1] - 1)


def bootstrap(sample: Sample, n: int, rng: np.random.Generator) -> Bootstrap:
    """Draw n replicates of the units of the first stage; the same for the same units and seed."""
    sample.refuse_single_units()
    stage, units = sample.stages[0], _Units.of(sample)
    if np.any(stage.is_single) and sample.single_unit != "certainty":
        remedy = "nothing can be drawn from one unit: choose 'certainty', or the jackknife"
        raise InvalidArgument("single_unit", sample.single_unit, remedy)
    if n * len(units.strata) > _MOST_DRAWS:
        raise NotAvailable(
            f"a bootstrap of {len(units.strata)} units in {n} replicates takes too much memory: "
            f"take {_MOST_DRAWS // len(units.strata)} replicates, or name the clusters they are in"
        )
    most = int(stage.sampled.max(initial=1.0))
    draws = np.zeros((len(units.strata), n), dtype=np.min_scalar_type(most))
    order = np.argsort(units.strata, kind="stable")
    ends = np.cumsum(np.bincount(units.strata, minlength=len(stage.sampled)))
    for h, members in enumerate(np.split(order, ends[:-1])):
        drawn = int(stage.sampled[h]) - 1
        chances = np.append(units.alike[members], units.absent[h]) / stage.sampled[h]
        for block in _blocks(n, len(chances)):
            size = block.stop - block.start
            counts = rng.multinomial(max(drawn, 0), chances, size)
            draws[members, block] = counts[:, :-1].T
    return Bootstrap(draws)


def _blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of n replicates, each of which has few numbers where a replicate has `width`."""
    step = max(1, _MOST_NUMBERS // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


# -- Variances of weighted totals from given columns of replicate weights -------------------------


KINDS = (
    "BRR",
    "Fay",
    "JK1",
    "JK2",
    "JKn",
    "bootstrap",
    "successive-difference",
    "ACS",
    "other",
)
_DEPENDENT = 1e-5  # of a column's length: what is left of it if it depends on others, as in R


def scales_of(
    kind: str,
    n: int,
    rho: float | None = None,
    scale: float | None = None,
    rscales: Array | None = None,
) -> Array:
    """What the squared deviation of each of n replicates counts, as in R (svrepdesign), (n,)."""
    known = {
        "BRR": 1.0 / n,
        "Fay": 1.0 / (n * (1.0 - (rho or 0.0)) ** 2),
        "JK1": (n - 1.0) / n,
        "bootstrap": 1.0 / (n - 1.0) if n > 1 else np.inf,
        "successive-difference": 4.0 / n,
        "ACS": 4.0 / n,
    }
    common = known.get(kind, 1.0) if scale is None else scale
    return np.full(n, common) * (1.0 if rscales is None else rscales)


@record
class GivenWeights(Replication):
    """Replicates whose weights somebody else made."""

    weights: Array  # (c, R): sums of the replicate weights of each cell
    scale: Array  # (R,): see `scales_of`
    about_estimate: bool = False
    df: float | None = None  # degrees of freedom; by default the rank of the weights less one
    from_design = False

    def scales(self, sample: Sample) -> Array:
        return self.scale

    def totals(self, sample: Sample, scores: Scores) -> Array:
        from scipy.sparse import csr_array

        found: Any = 0.0
        for at, table in scores.parts:
            there = np.flatnonzero(at >= 0)
            shape = (table.shape[0], len(at))
            sums = csr_array((np.ones(there.size), (at[there], there)), shape=shape) @ self.weights
            found = found + dense(table.T @ sums)
        return np.asarray(found.T)

    def most_degrees(self, inside: npt.NDArray[np.bool_]) -> float:
        if self.df is not None:
            return self.df
        from scipy.linalg.lapack import dpstrf

        weights = self.weights[inside]
        products = weights.T @ weights
        length = np.sqrt(np.diagonal(products))
        there = np.flatnonzero(length > 0.0)
        if not there.size:
            return -1.0
        cosines = products[np.ix_(there, there)] / np.outer(length[there], length[there])
        # the rank: columns that do not depend on others, by a pivoted Cholesky decomposition
        return int(dpstrf(cosines, tol=_DEPENDENT**2)[2]) - 1.0

    def times(self, factor: Array) -> GivenWeights:
        return replace(self, weights=self.weights * factor[:, None])
