"""Summaries: a record of a title, a header, a table and notes, and its layout.

The layout is a statsmodels `Summary`: text, HTML and LaTeX. A note begins with WARNING where it
bears on what may be concluded, and with NOTE where it says how the numbers are to be read; notes
without either explain the table. They are shown in the order in which they are given.
"""

from __future__ import annotations

import copy
import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable
from statsmodels.iolib.tableformatting import fmt_base

from ldpstats.inference.tests import TestResult
from ldpstats.models.shared.fit import Fit
from ldpstats.problems.problem import ill_conditioned

__all__ = [
    "DOUBTFUL",
    "LONGEST_LABEL",
    "SummaryTable",
    "closing_notes",
    "decimals",
    "epsilon_text",
    "estimate_columns",
    "figures",
    "fit_rows",
    "goodness_notes",
    "interval_columns",
    "largest",
    "one_line",
    "protection_notes",
    "pvalue_text",
    "source_rows",
]

LONGEST_LABEL = 40
DOUBTFUL = 0.01  # p-value of a goodness of fit below which a summary warns
_HEADER_TEXT = {
    "data_aligns": "lrlr",
    "colsep": "  ",
    "table_dec_above": "=",
    "table_dec_below": "=",  # Summary drops the last line of every table but one
    "title_align": "c",
}
_COVARIANCE = {  # what a covariance rests on, in words
    "expected": "expected information",
    "observed": "observed information",
    "fpe16": "fpe16 (overstates)",
    "linear": "linear estimate",
    "dual": "dual of the likelihood",
}
_LATEX = {c: f"\\{c}" for c in "%_&#${}"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


@dataclass(frozen=True)
class SummaryTable:
    """What a summary says.

    Parameters
    ----------
    title : str
    header : sequence of rows of four cells
        Two pairs of a name and a value.
    columns : sequence of str
        Heads of the columns of the table.
    stubs : sequence of str
        Names of its rows.
    body : sequence of rows of str
    notes : sequence of str
    """

    title: str
    header: Sequence[Sequence[str]]
    columns: Sequence[str]
    stubs: Sequence[str]
    body: Sequence[Sequence[str]]
    notes: Sequence[str]

    def layout(self) -> Summary:
        """The header, the table below it of the same width, and the notes."""
        heads, stubs = list(self.columns), list(self.stubs)
        header, body = [[list(row) for row in rows] for rows in (self.header, self.body)]
        widths = [max(map(len, stubs), default=0), *_widths([heads, *body])]
        below, above = [max(10, width) for width in widths], _widths(header)
        # both tables get the width of the wider one
        lack = (sum(above) + 2 * (len(above) - 1)) - (sum(below) + len(below) - 1)
        below[0] += max(0, lack)
        above[1] += max(0, -lack) // 2
        above[3] += (max(0, -lack) + 1) // 2
        summary = _EscapedSummary()
        summary.tables = [
            SimpleTable(header, title=self.title, txt_fmt=_HEADER_TEXT | {"colwidths": above}),
            SimpleTable(body, heads, stubs, txt_fmt=fmt_base | {"colwidths": below}),
        ]
        summary.add_extra_txt(list(self.notes))
        return summary


class _EscapedSummary(Summary):  # type: ignore[misc]  # statsmodels ships no types
    """A `Summary` whose labels and notes are text, not markup, in HTML and LaTeX."""

    def as_html(self) -> str:
        return str(self._escaped(html.escape).as_html())

    def as_latex(self) -> str:
        return str(self._escaped(_latex_escape).as_latex())

    def _escaped(self, escape: Callable[[str], str]) -> Summary:
        plain = Summary()
        plain.tables = copy.deepcopy(self.tables)
        plain.extra_txt = None if self.extra_txt is None else escape(self.extra_txt)
        for table in plain.tables:
            table.title = escape(table.title or "")
            # statsmodels escapes some characters of some cells, which would come on top
            table.output_formats["latex"]["replacements"] = {}
            for row in table:
                for cell in row:
                    cell.data = escape(str(cell.data).strip())
        return plain


def _latex_escape(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


# -- words and figures ---------------------------------------------------------------------


def one_line(label: object, longest: int) -> str:
    """A label as it is shown: no line breaks or tabs, the middle left out where it is too long."""
    text = "".join(c if c.isprintable() else " " for c in str(label))
    if len(text) <= longest:
        return text
    tail = (longest - 3) // 3
    return f"{text[: longest - 3 - tail]}...{text[-tail:]}"


def figures(values: Iterable[float], digits: int) -> list[str]:
    """Numbers with so many decimals; "-" for what was not computed."""
    return ["-" if np.isnan(value) else f"{value:.{digits}f}" for value in values]


def pvalue_text(p: float) -> str:
    """A p-value to three digits; no p-value is shown as zero."""
    return f"{p:.3g}" if p > 0.0 else "<1e-300"


def decimals(frame: pd.DataFrame) -> int:
    """Decimals that show two digits of the smallest standard error; at least four."""
    se = frame["linear_se"].to_numpy()
    smallest = se[se > 1e-9].min(initial=1.0)
    return int(np.clip(2 - np.floor(np.log10(smallest)), 4, 9))


def largest(frame: pd.DataFrame, max_rows: int) -> pd.DataFrame:
    """The rows to print: all, or the largest unconstrained estimates."""
    if len(frame) <= max_rows:
        return frame
    return frame.iloc[np.argsort(-frame["linear"].to_numpy(), kind="stable")[:max_rows]]


def interval_columns(alpha: float) -> list[str]:
    """Heads of the two columns of an interval."""
    return [f"[{alpha / 2:.4g}", f"{1 - alpha / 2:.4g}]"]


def estimate_columns(alpha: float) -> list[str]:
    """Heads of both estimates, their standard errors and the interval."""
    return ["estimate", "std err", "unconstr.", "std err", *interval_columns(alpha)]


# -- header and notes of every fit -----------------------------------------------------------


def source_rows(fit: Fit) -> list[list[str]]:
    """Header rows of the mechanisms."""
    return [["Mechanism:" if i == 0 else "", s, "", ""] for i, s in enumerate(fit.sources)]


def fit_rows(fit: Fit, right: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Header rows of the estimator, with three pairs of the kind's own on the right."""
    llf = f"{fit.llf:.6g}" if np.isfinite(fit.llf) else "-"
    gap = f"{fit.gap_nats:.2g} nats" if np.isfinite(fit.gap) else "-"
    left = [
        ("Estimator:", f"{fit.method}, {fit.settings}" if fit.settings else fit.method),
        ("Covariance:", _COVARIANCE.get(fit.cov_type, fit.cov_type)),
        ("Log-Likelihood:", llf),
        ("Gap to maximum:", gap),
    ]
    return [
        [*a, *b]
        for a, b in zip(
            left, [*right, ("Converged:", "yes" if fit.converged else "NO")], strict=True
        )
    ]


def epsilon_text(epsilon: float) -> str:
    """Epsilon in nats, as a summary shows it."""
    return f"{epsilon:.6g}" if np.isfinite(epsilon) else "infinite"


def protection_notes(fit: Fit) -> list[str]:
    """What epsilon does not protect, for mechanisms that protect sensitive categories only."""
    if not fit.is_partial:
        return []
    return [
        "NOTE: epsilon protects the sensitive categories only: reports may reveal any other answer."
    ]


def closing_notes(fit: Fit, condition: float) -> list[str]:
    """Notes on standard errors, convergence and the channel that every fit may need."""
    notes = []
    if fit.cov_type == "none (constrained)":
        notes.append(
            f"NOTE: {fit.without_errors}; those shown belong to the unconstrained estimate."
        )
    if not fit.converged:
        notes.append(f"WARNING: the estimator did not converge: {fit.message}")
    if words := ill_conditioned(condition):
        notes.append(f"WARNING: {words}.")
    return notes


def goodness_notes(test: TestResult | None) -> list[str]:
    """The goodness of fit, and a warning where the reports contradict its hypothesis."""
    if test is None:
        return []
    p = f"= {test.pvalue:.3g}" if test.pvalue > 0.0 else "< 1e-300"
    notes = [f"Goodness of fit ({test.method}): p {p}."]
    if test.pvalue < DOUBTFUL:
        notes.append(f"WARNING: the reports contradict the hypothesis that {test.null}.")
    return notes
