"""Variances of weighted totals under a design, by linearisation.

The scores are those of privatised reports: what varies is the sample and the randomisation of every
respondent, who randomise independently. The variance between units holds both, but for what a
correction for a finite population takes away of the randomisation, see `missed_noise`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument
from ldpstats.inference.designs.sample import Sample, Scores, Stage, gram

__all__ = [
    "between_units",
    "degrees_of_freedom",
    "design_covariance",
    "in_one_unit",
    "missed_noise",
    "scale_of_strata",
]

Array = npt.NDArray[Any]

_FEW = 1 << 16  # places that are marked one by one
_NO_OTHERS = (
    "needs a stratum with two units or more, in each domain and unit that has strata of one: "
    "choose 'certainty' or 'centered'"
)


def design_covariance(sample: Sample, scores: Scores) -> Array:
    """Covariance of the weighted totals of scores, shape (p, p).

    The variance between units of each stage, ``(1 - f) n / (n - 1) sum_j (z_j - mean)^2``, summed
    over strata, times the sampling fractions of the stages before (Saerndal, Swensson, Wretman
    1992, section 4.4).

    Raises
    ------
    InvalidArgument
        For strata of a single unit, if `single_unit` is "fail"; and if "average" finds no others
        among those with respondents in the domain.
    """
    sample.refuse_single_units()
    found = np.zeros((scores.size, scores.size))
    for number in range(len(sample.stages)):
        found += between_units(sample, number, scores)
    return (found + found.T) / 2.0


def scale_of_strata(sample: Sample, number: int) -> Array:
    """What the sum of squares between units counts in each stratum of a stage, shape (H,)."""
    stage, factor = sample.stages[number], sample.factors[number]
    n = stage.sampled
    single = n < 2
    scale = factor * (1.0 - stage.fraction) * np.where(single, 1.0, n / np.maximum(n - 1.0, 1.0))
    if sample.single_unit == "average":
        return _averaged(scale, stage)
    if sample.single_unit == "certainty":
        return np.where(single, 0.0, scale)
    return np.asarray(scale)


def between_units(sample: Sample, number: int, scores: Scores) -> Array:
    """What one stage adds to the covariance, shape (p, p)."""
    stage = sample.stages[number]
    if sample.single_unit != "average" or not np.any(stage.is_single):
        return _squares(sample, number, scores, scale_of_strata(sample, number))
    scale = scale_of_strata(replace(sample, single_unit="certainty"), number)
    factor = _known_strata(sample, stage, scores, scores.domain is None or number > 0)
    found = np.zeros((scores.size, scores.size))
    distinct, which = np.unique(np.sqrt(factor), axis=0, return_inverse=True)
    for i, root in enumerate(distinct):
        own = _squares(
            sample, number, scores, np.where(which.reshape(-1)[stage.parent] == i, scale, 0.0)
        )
        found += own * np.outer(*2 * (np.repeat(root, scores.size // root.size),))
    return found


def _known_strata(sample: Sample, stage: Stage, scores: Scores, needed: bool) -> Array:
    """What "average" makes of the strata with several units, by unit above and domain, (u, g).

    How many strata have respondents in the domain, over those of them that show a variance: strata
    of one unit are given the mean of the others there. Zero where there are no others, which is
    refused if they are `needed`.
    """
    g, H = scores.n_domains, len(stage.sampled)
    domain = scores.domains
    there = np.flatnonzero((domain >= 0) & (sample.n > 0))
    own, strata = np.divmod(np.unique(domain[there] * H + stage.cell_strata[there]), H)
    at, shape = stage.parent[strata] * g + own, (int(stage.parent.max()) + 1, g)
    every = np.bincount(at, minlength=shape[0] * g).reshape(shape)
    known = np.bincount(at, ~stage.is_single[strata], shape[0] * g).reshape(shape)
    if needed and np.any((known == 0.0) & (every > 0)):
        raise InvalidArgument("single_unit", "average", _NO_OTHERS)
    return np.divide(every, known, out=np.zeros(shape), where=known > 0.0)


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


def _averaged(scale: Array, stage: Stage) -> Array:
    """The factor of each stratum where those of one unit are given the mean of the others."""
    single = stage.is_single
    strata = np.bincount(stage.parent)
    known = np.bincount(stage.parent, ~single, strata.size)
    if np.any(known[stage.parent] == 0.0):
        raise InvalidArgument("single_unit", "average", _NO_OTHERS)
    return np.where(single, 0.0, scale * (strata / np.maximum(known, 1.0))[stage.parent])


def missed_noise(sample: Sample) -> Array:
    """Share of the randomisation variance of each cell that `design_covariance` lacks, (c,).

    Stage by stage the covariance holds the shares ``1 - f_1``, ``f_1 (1 - f_2)``, ... of it: what
    is missing is the product of all sampling fractions, and all of it where no stage is estimated.
    """
    held = np.zeros(sample.w.shape)
    for stage, factor in zip(sample.stages, sample.factors, strict=True):
        share = factor * (1.0 - stage.fraction)
        if sample.single_unit == "certainty":
            share = np.where(stage.sampled < 2, 0.0, share)
        held += share[stage.cell_strata]
    return 1.0 - held


def degrees_of_freedom(sample: Sample, inside: npt.NDArray[np.bool_]) -> float:
    """Units of the first stage with respondents `inside`, (c,), less strata that hold them.

    Without strata that were taken whole, see `degrees_in_domains`.
    """
    return float(degrees_in_domains(sample, np.where(inside, 0, -1), 1)[0])


def degrees_in_domains(sample: Sample, domain: npt.NDArray[np.int64], g: int) -> Array:
    """`degrees_of_freedom` of g domains, (g,); `domain` is that of each cell, -1 outside.

    Strata of which all units were taken show nothing of the sampling and add none, but where the
    others have none either. Where a domain has no others, its degrees are those of the next stage,
    or of respondents, whose noise varies.
    """
    stage = sample.stages[0]
    drawn = np.where(stage.fraction[stage.cell_strata] < 1.0, domain, -1)
    found = _units_less_strata(sample, stage.unit, drawn, g)
    found = np.where(found < 1.0, _units_less_strata(sample, stage.unit, domain, g), found)
    whole = np.bincount(drawn[drawn >= 0], minlength=g) == 0
    if not whole.any():
        return found
    if len(sample.stages) > 1:
        rest = degrees_in_domains(replace(sample, stages=sample.stages[1:]), domain, g)
    else:
        rest = _units_less_strata(sample, None, domain, g)
    return np.where(whole, rest, found)


def _units_less_strata(
    sample: Sample, unit: npt.NDArray[np.int64] | None, domain: npt.NDArray[np.int64], g: int
) -> Array:
    """Units of g domains, or respondents, less strata of the first stage that hold them, (g,)."""
    stage, there = sample.stages[0], np.flatnonzero((domain >= 0) & (sample.n > 0))
    own = domain[there]
    strata = _different(own, stage.cell_strata[there], len(stage.sampled), g)
    if unit is None:
        return np.asarray(np.bincount(own, sample.n[there], g) - strata)
    return _different(own, unit[there], len(stage.strata), g) - strata


def in_one_unit(sample: Sample, domain: npt.NDArray[np.int64], g: int) -> npt.NDArray[np.bool_]:
    """Which of g domains one unit of the first stage holds, where not all units were taken, (g,).

    Shares of such a domain do not vary between units, whatever their variance is. Nor is anything
    known of a domain in strata of one unit each, if these are given the mean of the others.
    """
    stage = sample.stages[0]
    there = np.flatnonzero((domain >= 0) & (sample.n > 0))
    own, n = domain[there], sample.n[there]
    units = np.bincount(own, n, g)
    if stage.unit is not None:
        units = _different(own, stage.unit[there], len(stage.strata), g)
    taken = np.bincount(own, n * (stage.fraction[stage.cell_strata[there]] >= 1.0), g)
    found = (units == 1.0) & (taken == 0.0)
    if sample.single_unit == "average":
        several = ~stage.is_single[stage.cell_strata[there]]
        found |= (units > 0.0) & (np.bincount(own, several, g) == 0.0)
    return np.asarray(found)


def _different(own: npt.NDArray[np.int64], codes: npt.NDArray[np.int64], n: int, g: int) -> Array:
    """How many different codes below n each of g domains has, (g,)."""
    pairs = own * n + codes
    if g * n <= max(_FEW, 4 * pairs.size):  # without sorting
        seen = np.zeros(g * n, dtype=bool)
        seen[pairs] = True
        return np.asarray(seen.reshape(g, n).sum(axis=1, dtype=float))
    return np.asarray(np.bincount(np.unique(pairs) // n, minlength=g).astype(float))
