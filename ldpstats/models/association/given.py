"""Frequencies of one of two variables given the categories of the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.inference.tables import effects
from ldpstats.models.association.evidence import Evidence
from ldpstats.models.association.groups import JointGroup
from ldpstats.models.association.tallies import is_stored
from ldpstats.models.association.two_way import TwoWay
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.problems.simplex import project_simplex
from ldpstats.reports.single import Counts

__all__ = ["conditional_frame"]

Array = npt.NDArray[Any]

_ROUNDING = 1e-9  # of frequencies


def conditional_frame(
    two_way: TwoWay, evidence: Evidence | None, axis: int, alpha: float
) -> pd.DataFrame:
    """The frame of `AssociationResults.conditional`; `axis` is of the variable in the condition."""
    unconstrained, lower, upper, unbounded = effects.conditionals(
        two_way.linear, two_way.spread(alpha), axis, alpha
    )
    if (own := _intervals_given(evidence, axis, alpha)) is not None:
        lower, upper = own
    fitted, sizes = two_way.fit.fitted.estimate, two_way.variables.sizes
    if np.any(fitted < 0.0) or abs(fitted.sum() - 1.0) > _ROUNDING:
        fitted = project_simplex(fitted)
    estimate, empty = effects.fitted_conditionals(fitted.reshape(sizes), axis)
    columns = {
        "estimate": estimate,
        "unconstrained": unconstrained,
        "lower": lower,
        "upper": upper,
        "unbounded": unbounded | empty,
        "outside": (estimate < lower - _ROUNDING) | (estimate > upper + _ROUNDING),
    }
    cells = two_way.variables.cells
    frame = pd.DataFrame({k: v.reshape(-1) for k, v in columns.items()}, index=cells)
    if axis == 0:
        return frame
    return frame.swaplevel().iloc[np.arange(len(cells)).reshape(sizes).T.reshape(-1)]


# -- given a variable without noise, each category of which is a group of respondents ----------


def _intervals_given(evidence: Evidence | None, axis: int, alpha: float) -> Array | None:
    """Intervals of a two-way table's rows given a variable without noise, shape (2, k1, k2).

    They are those of the frequencies of each group alone, and [0, 1] where nobody is in a group.
    None where the variable has noise, or the tallies are not among what is stored of results.
    """
    if evidence is None or not (is_stored(evidence) and evidence.is_exact):
        return None
    if not all(group.counts.mechanisms[axis].unprotected for group in evidence.groups):
        return None
    bounds = np.zeros((2, *evidence.sizes))
    bounds[1] = 1.0
    for category in range(evidence.sizes[axis]):
        held = [_held(group, axis, category) for group in evidence.groups]
        parts = [counts for counts in held if counts.nobs]
        if parts:
            found = FrequencyModel(parts).fit_quietly().conf_int(alpha).to_numpy().T
            bounds[
                (slice(None), category) if axis == 0 else (slice(None), slice(None), category)
            ] = found
    return bounds


def _held(group: JointGroup, axis: int, category: int) -> Counts:
    """Reports on the other variable by the respondents of one category."""
    on, other = group.counts.reports[axis], group.counts.reports[1 - axis]
    rows = on.y == category
    cohort = None if other.cohort is None else other.cohort[rows]
    return Counts(other.y[rows], group.counts.n[rows], other.mechanism, 0, cohort)
