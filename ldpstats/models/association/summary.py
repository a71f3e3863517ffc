"""The summary of a joint distribution as statsmodels tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary

from ldpstats.models.frequency.summary import (
    COVARIANCE,
    decimals,
    one_line,
    protection_notes,
    tabulated,
)
from ldpstats.problems.problem import ill_conditioned

__all__ = ["association_summary"]

_LONGEST_LABEL = 40
_FEW = 10.0  # reports that a cell rests on below which normal laws are doubtful
_NAMED = 3  # cells that a note names
_ROUNDING = 1e-9  # of frequencies


def association_summary(results: Any, alpha: float, max_rows: int) -> Summary:
    """Lay out `AssociationResults` as a header, a table of cells and notes."""
    frame = results.summary_frame(alpha)
    shown = frame
    if len(frame) > max_rows:
        order = np.argsort(-frame["linear"].to_numpy(), kind="stable")[:max_rows]
        shown = frame.iloc[order]
    columns = ["estimate", "std err", "unconstr.", "std err", f"[{alpha / 2:.4g}"]
    columns.append(f"{1 - alpha / 2:.4g}]")
    digits = decimals(shown)
    body = [
        ["-" if np.isnan(value) else f"{value:.{digits}f}" for value in row]
        for row in shown.to_numpy()
    ]
    each = _LONGEST_LABEL // len(results.names)
    stubs = [" : ".join(one_line(label, each) for label in cell) for cell in shown.index]
    title = f"Joint distribution of {' and '.join(one_line(name, 40) for name in results.names)}"
    notes = _notes(results, frame, alpha, len(frame) - len(shown))
    return tabulated(title, _header(results), columns, body, stubs, notes)


def _few_reports(results: Any) -> list[str]:
    """Which cells rest on few reports, at their own frequencies."""
    if results.law is None:
        if results.smallest_expected >= _FEW:
            return []
        return [
            "FEW REPORTS: of some combination fewer than ten are expected, and intervals of rare "
            "cells cover less often than they say."
        ]
    reports = results.effective_reports
    few = reports[reports < _FEW]
    if few.empty:
        return []
    return [
        f"FEW REPORTS: {len(few)} of {results.k} cells rest on fewer than ten reports "
        f"({_named(few.sort_values(kind='stable'), '{:.1f}')}). Their intervals allow for it; "
        "conditionals, effects and Wald tests, which rest on normal laws, do not."
    ]


def _excluded(results: Any, frame: pd.DataFrame) -> list[str]:
    """Which intervals do not hold the estimate beside them."""
    p = frame["params"]
    below, above = frame["lower"] - p, p - frame["upper"]
    outside = p[((below > _ROUNDING) | (above > _ROUNDING)) & p.between(0.0, 1.0)]
    if outside.empty:
        return []
    what = "maximum likelihood estimate" if results.is_maximum else "estimate"
    return [
        f"NOTE: {len(outside)} of {results.k} intervals do not hold the {what} beside them "
        f"({_named(outside, '{:.4g}')}): it obeys bounds that the unconstrained one does not, and "
        "is biased near them."
    ]


def _named(values: Any, form: str) -> str:
    """The first few cells and their values, in words."""
    named = [
        f"{' : '.join(one_line(label, 20) for label in cell)}: {form.format(value)}"
        for cell, value in values.iloc[:_NAMED].items()
    ]
    return ", ".join([*named, "..."] if len(values) > _NAMED else named)


def _header(results: Any) -> list[list[str]]:
    eps = f"{results.epsilon:.6g}" if np.isfinite(results.epsilon) else "infinite"
    llf = f"{results.llf:.6g}" if np.isfinite(results.llf) else "-"
    gap = f"{results.gap_nats:.2g} nats" if np.isfinite(results.gap) else "-"
    method = f"{results.method}, {results.settings}" if results.settings else results.method
    rows = []
    for name, labels, source in zip(results.names, results.labels, results.sources, strict=True):
        rows.append([f"{one_line(name, 20)}:", source, "Categories:", str(len(labels))])
    kind = COVARIANCE.get(results.cov_type, results.cov_type)
    return [
        *rows,
        ["Estimator:", method, "No. Respondents:", str(results.nobs)],
        ["Covariance:", kind, "Epsilon, all (nats):", eps],
        ["Log-Likelihood:", llf, "Cells:", str(results.k)],
        ["Strata:", str(results.n_strata), "Missing:", str(results.n_missing)],
        ["Gap to maximum:", gap, "Converged:", "yes" if results.converged else "NO"],
    ]


def _notes(results: Any, frame: pd.DataFrame, alpha: float, rest: int) -> list[str]:
    if np.isnan(results.linear.bse()).any():
        notes = [
            f"Standard errors of {len(frame)} cells at once were not computed: list fewer "
            "categories, with other=True."
        ]
    else:
        kind = "Wald" if results.law is None else "score intervals with skewness"
        notes = [
            f"Intervals: {100 * (1 - alpha):.4g}% {kind}, from the unconstrained estimate, cut to "
            "[0, 1]."
        ]
    if rest:
        notes.append(f"{rest} cells with smaller estimates are not shown.")
    notes += _few_reports(results) + _excluded(results, frame)
    for name, fit in zip(results.names, results.margin_fits, strict=True):
        test = fit.goodness_of_fit
        if fit.unexplained is None and test is not None and test.pvalue < 0.01:
            notes.append(
                f"DOUBTFUL: the reports of {name} speak against the hypothesis that {test.null} "
                f"({test.method}): p = {test.pvalue:.3g}."
            )
    if results.dispersion > 1.0:
        notes.append(
            "Standard errors of the unconstrained estimate are "
            f"{np.sqrt(results.dispersion):.3g} times those of the reports alone, for answers that "
            "are not among the candidates."
        )
    test = results.independence
    if test is None:
        notes.append("Independence of all variables was not tested: test pairs of them.")
    else:
        notes.append(
            f"Independence ({test.method}): {test.statistic:.4g} on {test.df:g} df, "
            f"p = {test.pvalue:.3g}." + (f" Note: {test.note}." if test.note else "")
        )
    if not results.is_complete:
        words = "are ignored by the estimate, as if there were none; by the unconstrained one not."
        if not (results.is_maximum or results.method == "one_step"):
            words = "are in no cell, so that the cells need not sum to one."
        notes.append(f"Answers that are not among the candidates {words}")
        if results.is_doubtful:
            notes.append("DOUBTFUL: the reports say that there are such answers; use other=True.")
    for name, other in zip(results.names, results.others, strict=True):
        if other in ("product", "fpe16"):
            notes.append(
                f"Other of {name} is modelled ({other}): it is taken for one kind of answer, "
                "whatever the other variables are."
            )
    if results.n_strata > 1:
        notes.append(
            f"Respondents are in {results.n_strata} strata (shared cohorts, or groups of "
            "mechanisms), within which tests compare them."
        )
    if results.on_boundary and results.is_maximum:
        notes.append(
            "The estimate is on the boundary (a cell of zero), which the intervals do not rest on."
        )
    notes += protection_notes(results.sources)
    if results.cov_type == "none (constrained)":
        notes.append(
            f"NOTE: {results.without_errors}; those shown are of the unconstrained estimate."
        )
    if not results.converged:
        notes.append(f"NOT CONVERGED: {results.message}")
    if words := ill_conditioned(results.condition):
        notes.append(f"WARNING: {words}.")
    return notes
