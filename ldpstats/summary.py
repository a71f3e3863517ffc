"""Summaries as statsmodels tables: text, HTML and LaTeX from one description."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = ["frequency_summary"]


_HEADER_TEXT = {
    "data_aligns": "lrlr",
    "colsep": "  ",
    "table_dec_above": "=",
    "table_dec_below": "=",  # Summary drops the last line of every table but one
    "title_align": "c",
}
_COVARIANCE = {
    "expected": "expected information",
    "observed": "observed information",
    "fpe16": "fpe16 (overstates)",
    "linear": "linear estimate",
}
_WIDTHS = (16, 27, 16, 24)  # of the header's columns in text, to end where the table below ends


def frequency_summary(results: Any, alpha: float, max_rows: int) -> Summary:
    """Lay out `FrequencyResults` as a header, a table of categories and notes."""
    from statsmodels.iolib.summary import Summary
    from statsmodels.iolib.table import SimpleTable
    from statsmodels.iolib.tableformatting import fmt_params

    summary = Summary()
    title = "Frequencies of a privatised variable"
    header = SimpleTable(_header(results), title=title, txt_fmt=_HEADER_TEXT)
    frame, rest = _shown(results.summary_frame(alpha), max_rows)
    columns = ["estimate", "std err", "unconstr.", "std err", f"[{alpha / 2:.4g}"]
    columns += [f"{1 - alpha / 2:.4g}]", "p-value"]
    digits = _digits(frame)
    body = [_row(values, digits) for values in frame.to_numpy()]
    stubs = [str(label) for label in frame.index]
    table = SimpleTable(body, headers=columns, stubs=stubs, txt_fmt=fmt_params)
    summary.tables = [header, table]
    summary.add_extra_txt(_notes(results, alpha, rest))
    return summary


def _header(results: Any) -> list[list[str]]:
    eps = f"{results.epsilon:.6g}" if np.isfinite(results.epsilon) else "infinite"
    llf = f"{results.llf:.6g}" if np.isfinite(results.llf) else "-"
    gap = f"{results.gap_nats:.2g} nats" if np.isfinite(results.gap) else "-"
    rows = [["Mechanism:" if i == 0 else "", s, "", ""] for i, s in enumerate(results.sources)]
    rows += [
        ["Estimator:", results.method, "No. Reports:", str(results.nobs)],
        [
            "Covariance:",
            _COVARIANCE.get(results.cov_type, results.cov_type),
            "Missing:",
            str(results.n_missing),
        ],
        ["Log-Likelihood:", llf, "Epsilon (nats):", eps],
        ["Gap to maximum:", gap, "Converged:", "yes" if results.converged else "NO"],
    ]
    pad = (str.ljust, str.rjust, str.ljust, str.rjust)
    return [[f(cell, w) for f, cell, w in zip(pad, row, _WIDTHS, strict=True)] for row in rows]


def _shown(frame: pd.DataFrame, max_rows: int) -> tuple[pd.DataFrame, int]:
    """The rows to print: all, or the largest unconstrained estimates."""
    if len(frame) <= max_rows:
        return frame, 0
    largest = frame["linear"].nlargest(max_rows).index
    return frame.loc[largest], len(frame) - max_rows


def _digits(frame: pd.DataFrame) -> int:
    """Decimals that show two digits of the smallest standard error; at least four."""
    se = frame["linear_se"].to_numpy()
    smallest = se[se > 1e-9].min(initial=1.0)
    return int(np.clip(2 - np.floor(np.log10(smallest)), 4, 9))


def _row(values: Any, digits: int) -> list[str]:
    *numbers, pvalue = values
    cells = ["-" if np.isnan(v) else f"{v:.{digits}f}" for v in numbers]
    return [*cells, f"{pvalue:.3f}"]


def _notes(results: Any, alpha: float, rest: int) -> list[str]:
    own = np.zeros(1, dtype=bool) if results.exact is None else results.exact.known
    kind = "exact (Clopper-Pearson)" if own.all() else "Wald"
    if own.any() and not own.all():
        kind = "exact (where a category has a count of its own) or Wald"
    notes = [
        f"Intervals: {100 * (1 - alpha):.4g}% {kind}, from the unconstrained estimate, "
        "cut to [0, 1].",
        "p-value: of p = 0 against p > 0, not adjusted for the number of categories.",
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
        notes.append(f"Goodness of fit ({fit.method}): p = {fit.pvalue:.3g}.")
        if fit.pvalue < 0.01:
            notes.append(f"DOUBTFUL: the reports speak against the hypothesis that {fit.null}.")
    return [*notes, *results.notes]
