"""Whether the reports agree with the law that a regression has fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import positive_integer
from ldpstats.errors import NotAvailable
from ldpstats.inference.outcome import TestResult
from ldpstats.inference.regression.goodness import (
    Cells,
    enough_in_each,
    pearson,
    quadratic_form,
    score_groups,
)
from ldpstats.inference.regression.margins import Points, average, row_means
from ldpstats.inference.regression.sandwich import design_meat
from ldpstats.models.regression.answers.reported import ReportTable
from ldpstats.problems.regression.collapse import alike
from ldpstats.problems.regression.outcomes import Binary, Categorical, Ordered, Outcome

__all__ = ["goodness_of_fit"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_PER_CELL = 5.0  # reports in a cell, at least on average of the rarest
_PER_SUM = 20.0  # respondents for each sum whose covariance is estimated


def goodness_of_fit(results: Any, groups: Any) -> TestResult:
    """Goodness of fit; see `RegressionResults.goodness_of_fit`."""
    most = positive_integer("groups", groups, 2)
    _refuse(results)
    table = ReportTable(results.law, results.devices)
    if table.is_counted and not results.law.questions and results.cov_type == "nonrobust":
        found = _patterns(results, table)
        if found is not None:
            return found
    return _grouped(results, table, most)


def _refuse(results: Any) -> None:
    """Refuse fits without cells, or without a likelihood."""
    what = "goodness_of_fit"
    if not isinstance(results.model.data.outcome, Categorical):
        raise NotAvailable(f"{what}: it is for categories, and the outcome is a number")
    if results.method == "corrected":
        raise NotAvailable(f"{what}: corrected scores fit no law of the reports: use method='mle'")
    if results.infinite:
        raise NotAvailable(
            f"{what}: the estimate is at infinity: use that of fit(penalty='jeffreys')"
        )
    if results.cov_type == "cluster":
        raise NotAvailable(
            f"{what}: with cov_type='cluster' cells are not independent: use a fit without it"
        )


def _reported(outcome: Outcome, Q: Array) -> Callable[[Array], tuple[Array, Array]]:
    """The law of a report as a function of the linear predictors."""

    def of(eta: Array) -> tuple[Array, Array]:
        return outcome.mean(eta) @ Q, np.einsum("nkq,kl->nlq", outcome.jacobian(eta), Q)

    return of


# -- patterns ------------------------------------------------------------------------------


def _patterns(results: Any, table: ReportTable) -> TestResult | None:
    """Pearson's test where covariates repeat often enough; None where they do not."""
    data, whole = results.model.data, results.law.assembled
    columns = [data.designs[0], table.at[whole.place]]
    if data.offset is not None:
        columns.append(data.offset)
    kinds = alike(columns)
    if kinds is None:
        return None
    first, place = kinds
    sizes = np.bincount(place, whole.weights, len(first))
    law = results.law.rows.take(first)
    mean = row_means(law, results.law.theta)[0]
    channel = table.at[whole.place][first]
    codes = table.codes[whole.place]
    seen, expected = [], []
    df = -results.law.theta.size - len(table.slopes[0])
    for h, Q in enumerate(table.channels):
        own = np.flatnonzero(channel == h)
        if not own.size:
            continue
        expected.append((sizes[own, None] * (mean[own] @ Q)).ravel())
        counts = np.zeros((len(first), Q.shape[1]))
        inside = channel[place] == h
        np.add.at(counts, (place[inside], codes[inside]), whole.weights[inside])
        seen.append(counts[own].ravel())
        df += own.size * (Q.shape[1] - 1)
    if not enough_in_each(np.concatenate(expected)):
        return None
    if df <= 0:
        raise NotAvailable(
            "goodness_of_fit: the model has as many coefficients as the table of covariates and "
            "reports has cells, and fits any: there is nothing to test"
        )
    statistic = pearson(np.concatenate(seen), np.concatenate(expected))
    return TestResult.chi_square(
        _null(results),
        statistic,
        float(df),
        f"Pearson chi-square of the reports, {len(first)} patterns of covariates",
    )


# -- groups --------------------------------------------------------------------------------


def _grouped(results: Any, table: ReportTable, most: int) -> TestResult:
    """The test in groups of equal fitted probability."""
    likelihood = results.law.assembled.likelihood
    law = results.law.distinct
    B = likelihood.B
    points = replace(law, weights=likelihood.weights, seen=None if B is None else B[:])
    mean = row_means(points, results.law.theta)[0]
    score = _score(results.model.data.outcome, mean)
    n_groups = _number(results, table, mean, most)
    code = score_groups(score, likelihood.weights, n_groups)
    robust = not table.is_counted or results.cov_type != "nonrobust"
    cells, placed = _cells(results, table, points, mean, code, robust)
    A = _inverse_information(results)
    V = cells.spread - cells.slopes @ A @ cells.slopes.T
    if robust:
        assert placed is not None
        influence = placed - likelihood.score_obs(results.law.theta) @ A @ cells.slopes.T
        V, spread = _meat(results, influence), _meat(results, placed)
    else:
        spread = cells.spread
    statistic, df = quadratic_form(cells.gaps, V, spread)
    if not df:
        raise NotAvailable(
            "goodness_of_fit: the coefficients fit the groups whatever the reports are: there is "
            "nothing to test"
        )
    what = "reports" if table.is_counted else "decoded answers"
    return TestResult.chi_square(
        _null(results),
        statistic,
        float(df),
        f"chi-square of the {what} in {int(code.max()) + 1} groups of fitted probability",
    )


def _score(outcome: Outcome, mean: Array) -> Array:
    """What rows are sorted by: success, the place of an ordered answer, or not the reference."""
    if isinstance(outcome, Binary):
        return np.asarray(mean[:, 1])
    if isinstance(outcome, Ordered):
        return np.asarray(mean @ np.arange(mean.shape[1]))
    return np.asarray(1.0 - mean[:, 0])


def _number(results: Any, table: ReportTable, mean: Array, most: int) -> int:
    """Number of groups that leave enough in each cell."""
    n = float(results.nobs)
    weights = results.law.distinct.weights
    if table.is_counted:
        rarest = min(float((weights @ mean @ Q).min()) for Q in table.channels)
        room = n * rarest / (_PER_CELL * len(table.channels))
    else:
        room = n / (_PER_SUM * (mean.shape[1] - 1))
    if room < 2.0:
        raise NotAvailable(
            f"goodness_of_fit: {results.nobs:,} reports leave fewer than two groups with enough in "
            "each cell: join rare categories"
        )
    return int(min(most, room))


def _cells(
    results: Any,
    table: ReportTable,
    points: Points,
    mean: Array,
    code: Codes,
    robust: bool,
) -> tuple[Cells, Array | None]:
    """Sums in groups; for robust covariances also what each row adds to them, (u, m)."""
    theta, parts = results.law.theta, []
    blocks: list[tuple[Codes, Array]] = []
    for g in range(int(code.max()) + 1):
        for h, Q in enumerate(table.channels):
            rows = np.flatnonzero((code == g) & (table.at == h))
            if not rows.size:
                continue
            some = points.take(rows)
            law = mean[rows] @ Q
            gap = table.seen(rows, h) - law
            slopes = average(some, theta, _reported(some.outcome, Q)).gradient
            by_devices = np.einsum("n,nk,mkl->lm", some.weights, mean[rows], table.slopes[h])
            slopes = np.hstack([slopes, by_devices])
            spread = np.diag(some.weights @ law) - (law * some.weights[:, None]).T @ law
            last = Q.shape[1] - 1  # cells sum to one
            parts.append((some.weights @ gap[:, :last], spread[:last, :last], slopes[:last]))
            blocks.append((rows, gap[:, :last]))
    m = sum(len(part[0]) for part in parts)
    spread, at = np.zeros((m, m)), 0
    placed = np.zeros((points.n, m)) if robust else None
    for (gaps, own, _), (rows, each) in zip(parts, blocks, strict=True):
        there = slice(at, at + len(gaps))
        spread[there, there] = own
        if placed is not None:
            placed[rows, there] = each
        at += len(gaps)
    gaps = np.concatenate([part[0] for part in parts])
    return Cells(gaps, spread, np.vstack([part[2] for part in parts])), placed


def _inverse_information(results: Any) -> Array:
    """Inverse of the observed information of all parameters."""
    if results.cov_type == "nonrobust":
        V = np.asarray(results.covariance_all)
        free = np.isfinite(np.diagonal(V))  # parameters of devices on the boundary are not
        return V[np.ix_(free, free)] if results.devices else V
    return np.linalg.inv(-results.hessian)


def _meat(results: Any, rows: Array) -> Array:
    """Covariance of the weighted sum of rows, (m, m)."""
    data, whole = results.model.data, results.law.assembled
    if results.cov_type != "design":
        return np.asarray((rows * whole.squares[:, None]).T @ rows)
    assert data.weights is not None
    at = np.full(data.sample.w.shape, -1, dtype=np.int64)
    at[data.inside] = whole.place
    return design_meat(data.sample, rows * (whole.weights[0] / data.weights[0]), at)


def _null(results: Any) -> str:
    """The null hypothesis in words."""
    names = ", ".join(results.model.exog_names[:8])
    more = ", ..." if len(results.model.exog_names) > 8 else ""
    return f"the true answers to {results.model.endog_names} follow the model in {names}{more}"
