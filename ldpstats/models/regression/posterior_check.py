"""The posterior predictive check of the reports of a regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.inference.outcome import TestResult
from ldpstats.inference.regression.goodness import score_groups
from ldpstats.inference.regression.margins import Points, row_means
from ldpstats.models.regression.answers.reported import ReportTable
from ldpstats.models.regression.structure import RegressionStructure
from ldpstats.problems.parametric.matrices import PolynomialMatrix
from ldpstats.problems.regression.outcomes import Categorical

__all__ = ["regression_check"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_GROUPS = 10
_PER_CELL = 5.0  # reports in a cell, on average of the rarest
_DRAWS = 200


def regression_check(
    model: RegressionStructure,
    thetas: Array,
    rng: np.random.Generator,
    matrices: Sequence[PolynomialMatrix] = (),
) -> TestResult | None:
    """Whether the reports look like those that the posterior predicts.

    Reports are counted in groups of respondents with about equal probability of the outcome. The
    discrepancy is Pearson's chi-square of these counts against what a draw of the parameters
    expects; it is compared with that of reports simulated from the same draw (Gelman, Meng and
    Stern 1996).

    Parameters
    ----------
    model : RegressionStructure
    thetas : array, shape (s, size)
        Draws of all parameters; at most 200, evenly spaced, are used.
    rng : numpy Generator
    matrices : sequence of PolynomialMatrix
        Channels of devices with unknown parameters, which are the last columns of `thetas`.

    Returns
    -------
    TestResult or None
        None where the outcome is a number, or reports have too many values to be counted.
    """
    if not isinstance(model.data.outcome, Categorical):
        return None
    used = thetas[np.linspace(0, len(thetas) - 1, min(_DRAWS, len(thetas))).astype(np.int64)]
    mean = used.mean(axis=0)[model.likelihood.size :]
    devices = [Q.at(mean) for Q in matrices], [Q.derivatives(mean) for Q in matrices]
    try:
        table = ReportTable(model, devices if matrices else None)
    except NotAvailable:  # too many reports of devices with unknown parameters
        return None
    if not table.is_counted:
        return None
    size = model.likelihood.size
    cells = _Cells(model, table, used.mean(axis=0)[:size])
    each = []
    for theta in used:
        channels = [Q.at(theta[size:]) for Q in matrices] or table.channels
        each.append(cells.discrepancies(theta[:size], channels, rng))
    seen, simulated = np.array(each).T
    return TestResult(
        f"the reports on {model.endog_names} are such as the model predicts",
        float(seen.mean()),
        None,
        float(np.mean(simulated >= seen)),
        f"posterior predictive check, chi-square of the reports in {cells.groups} groups of "
        "predicted probability",
    )


class _Cells:
    """Counts of reports by group of respondents, mechanism and report."""

    def __init__(self, model: RegressionStructure, table: ReportTable, theta: Array) -> None:
        likelihood = model.likelihood
        self.table, self.weights = table, likelihood.weights
        self.points = Points(
            likelihood.outcome,
            likelihood.designs,
            likelihood.marginal,
            likelihood.weights,
            likelihood.size,
            None if likelihood.B is None else likelihood.B[:],
        )
        mean = row_means(self.points, theta)[0]
        self.code = score_groups(mean @ np.arange(mean.shape[1]), self.weights, self._number(mean))
        self.groups = int(self.code.max()) + 1
        self.rows = [np.flatnonzero(table.at == h) for h in range(len(table.channels))]
        self.seen = [
            self._summed(rows, np.eye(Q.shape[1])[table.codes[rows]] * self.weights[rows, None])
            for rows, Q in zip(self.rows, table.channels, strict=True)
        ]

    def _number(self, mean: Array) -> int:
        """Number of groups that leave enough reports in each cell."""
        rarest = min(float((self.weights @ mean @ Q).min()) for Q in self.table.channels)
        room = rarest / (_PER_CELL * len(self.table.channels))
        return int(np.clip(room, 1, _GROUPS))

    def _summed(self, rows: Codes, each: Array) -> Array:
        """Sums over the rows of each group, (groups, l)."""
        found = np.zeros((self.groups, each.shape[1]))
        np.add.at(found, self.code[rows], each)
        return found

    def discrepancies(
        self, theta: Array, channels: Sequence[Array], rng: np.random.Generator
    ) -> tuple[float, float]:
        """The discrepancy of the reports, and that of simulated ones."""
        mean = row_means(self.points, theta)[0]
        own = simulated = 0.0
        for rows, Q, seen in zip(self.rows, channels, self.seen, strict=True):
            law = mean[rows] @ Q
            law /= law.sum(axis=1, keepdims=True)
            times = np.rint(self.weights[rows]).astype(np.int64)
            expected = self._summed(rows, law * times[:, None])
            drawn = self._summed(rows, rng.multinomial(times, law).astype(np.float64))
            there = expected > 0.0
            own += float((((seen - expected) ** 2)[there] / expected[there]).sum())
            simulated += float((((drawn - expected) ** 2)[there] / expected[there]).sum())
        return own, simulated
