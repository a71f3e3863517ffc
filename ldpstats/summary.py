"""Summaries as statsmodels tables: text, HTML and LaTeX from one description."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = ["frequency_summary"]


def frequency_summary(results: Any, alpha: float, max_rows: int) -> Summary:
    """Lay out `FrequencyResults` as a header, a table of categories and notes."""
    from statsmodels.iolib.summary import Summary
    from statsmodels.iolib.table import SimpleTable
    from statsmodels.iolib.tableformatting import fmt_2cols, fmt_params

    summary = Summary()
    title = "Frequencies of a privatised variable"
    header = SimpleTable(_header(results), title=title, txt_fmt=fmt_2cols)
    frame, rest = _shown(results.summary_frame(alpha), max_rows)
    columns = ["estimate", "std err", "unconstr.", "std err", f"[{alpha / 2:.4g}"]
    columns += [f"{1 - alpha / 2:.4g}]", "P(p=0)"]
    body = [_row(values) for values in frame.to_numpy()]
    stubs = [str(label) for label in frame.index]
    table = SimpleTable(body, headers=columns, stubs=stubs, txt_fmt=fmt_params)
    summary.tables = [header, table]
    summary.add_extra_txt(_notes(results, alpha, rest))
    return summary


def _header(results: Any) -> list[list[str]]:
    sources = "; ".join(results.sources)
    eps = f"{results.epsilon:.6g}" if np.isfinite(results.epsilon) else "infinite"
    llf = f"{results.llf:.6g}" if np.isfinite(results.llf) else "-"
    gap = f"{results.gap_nats:.2g} nats" if np.isfinite(results.gap) else "-"
    return [
        ["Mechanism:", sources, "", ""],
        ["Estimator:", results.method, "No. Reports:", str(results.nobs)],
        ["Covariance:", results.cov_type, "Missing:", str(results.n_missing)],
        ["Log-Likelihood:", llf, "Epsilon (nats):", eps],
        ["Gap to maximum:", gap, "Converged:", "yes" if results.converged else "NO"],
    ]


def _shown(frame: pd.DataFrame, max_rows: int) -> tuple[pd.DataFrame, int]:
    """The rows to print: all, or the largest unconstrained estimates."""
    if len(frame) <= max_rows:
        return frame, 0
    largest = frame["linear"].nlargest(max_rows).index
    return frame.loc[largest], len(frame) - max_rows


def _row(values: Any) -> list[str]:
    *numbers, pvalue = values
    cells = ["-" if np.isnan(v) else f"{v:.4f}" for v in numbers]
    return [*cells, f"{pvalue:.3f}"]


def _notes(results: Any, alpha: float, rest: int) -> list[str]:
    kind = "exact (Clopper-Pearson)" if results.exact is not None else "Wald"
    notes = [
        f"Intervals: {100 * (1 - alpha):.4g}% {kind}, from the unconstrained estimate, cut to [0, 1].",
        "P(p=0): one-sided, p = 0 against p > 0, not adjusted for the number of categories.",
    ]
    if rest:
        notes.append(f"{rest} categories with smaller estimates are not shown.")
    if results.on_boundary and results.method in ("mle", "em"):
        notes.append(
            "The estimate is on the boundary (a frequency of zero); the intervals keep their "
            "coverage there."
        )
    if not results.converged:
        notes.append(f"NOT CONVERGED: {results.message}")
    fit = results.goodness_of_fit
    if fit is not None:
        verdict = "" if fit.pvalue >= 0.01 else "  The reports do not look like this mechanism's."
        notes.append(f"Fit of the channel ({fit.method}): p = {fit.pvalue:.3g}.{verdict}")
    return [*notes, *results.notes]
