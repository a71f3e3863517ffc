"""Intervals of cells and p-values of their absence, from the law of the estimate where known."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ldpstats.inference import intervals
from ldpstats.inference.skewness import CellLaw
from ldpstats.inference.tests import z_test
from ldpstats.models.shared.fit import Fit
from ldpstats.problems.estimates import Uncertain

__all__ = ["METHODS", "cell_intervals", "zero_pvalues"]

Array = npt.NDArray[Any]

METHODS = ("default", "wald", "wald-mle")


def cell_intervals(fit: Fit, law: CellLaw | None, alpha: float, method: str, clip: bool) -> Array:
    """Intervals of the cells, shape (k, 2), see `AssociationResults.conf_int`."""
    which = fit.fitted if method == "wald-mle" else fit.linear
    se = which.every_bse()
    if method == "default" and law is not None:
        bounds = law.interval(which.estimate, alpha)
        se = law.at(which.estimate)[0]  # beyond [0, 1] that at the nearer end
    else:
        bounds = intervals.wald(which.estimate, se, alpha)
    return intervals.edge_normal(bounds, which.estimate, se, alpha) if clip else bounds


def zero_pvalues(linear: Uncertain, law: CellLaw | None, two_sided: bool) -> Array:
    """p-values of frequencies of zero, from the law that intervals rest on."""
    if law is not None:
        return law.pvalues(linear.estimate, 0.0, two_sided)
    side = "two-sided" if two_sided else "larger"
    return z_test(linear.estimate, linear.bse(), 0.0, side)[1]
