"""Summaries as statsmodels tables: text, HTML and LaTeX from one description."""

from __future__ import annotations

import copy
import html
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable
from statsmodels.iolib.tableformatting import fmt_base

from ldpstats.problems.problem import ill_conditioned

__all__ = [
    "COVARIANCE",
    "decimals",
    "frequency_summary",
    "one_line",
    "protection_notes",
    "tabulated",
]


_HEADER_TEXT = {
    "data_aligns": "lrlr",
    "colsep": "  ",
    "table_dec_above": "=",
    "table_dec_below": "=",  # Summary drops the last line of every table but one
    "title_align": "c",
}
COVARIANCE = {  # what a covariance rests on, in words
    "expected": "expected information",
    "observed": "observed information",
    "fpe16": "fpe16 (overstates)",
    "linear": "linear estimate",
    "dual": "dual of the likelihood",
}
_LONGEST_LABEL = 40
_LATEX = {c: f"\\{c}" for c in "%_&#${}"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


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


def one_line(label: object, longest: int) -> str:
    """A label as it is shown: no line breaks or tabs, the middle left out where it is too long."""
    text = "".join(c if c.isprintable() else " " for c in str(label))
    if len(text) <= longest:
        return text
    tail = (longest - 3) // 3
    return f"{text[: longest - 3 - tail]}...{text[-tail:]}"


def frequency_summary(results: Any, alpha: float, max_rows: int) -> Summary:
    """Lay out `FrequencyResults` as a header, a table of categories and notes."""
    frame = results.summary_frame(alpha)
    columns = ["estimate", "std err", "unconstr.", "std err", f"[{alpha / 2:.4g}"]
    columns += [f"{1 - alpha / 2:.4g}]", "p-value"]
    shown = _largest(frame.iloc[results.linear.places], max_rows)
    digits = decimals(shown)
    body = [_row(values, digits) for values in shown.to_numpy()]
    stubs = [one_line(label, _LONGEST_LABEL) for label in shown.index]
    title = "Frequencies of a privatised variable"
    rest = len(frame.iloc[results.linear.places]) - len(shown)
    notes = _notes(results, frame, alpha, rest)
    return tabulated(title, _header(results), columns, body, stubs, notes)


def tabulated(
    title: str,
    header: list[list[str]],
    columns: list[str],
    body: list[list[str]],
    stubs: list[str],
    notes: list[str],
) -> Summary:
    """A header of two pairs of columns, a table below it of the same width, and notes."""
    # both tables get the width of the wider one
    below = [
        max(10, width) for width in [max(map(len, stubs), default=0), *_widths([columns, *body])]
    ]
    above = _widths(header)
    lack = (sum(above) + 2 * (len(above) - 1)) - (sum(below) + len(below) - 1)
    below[0] += max(0, lack)
    above[1] += max(0, -lack) // 2
    above[3] += (max(0, -lack) + 1) // 2
    summary = _EscapedSummary()
    summary.tables = [
        SimpleTable(header, title=title, txt_fmt=_HEADER_TEXT | {"colwidths": above}),
        SimpleTable(body, columns, stubs, txt_fmt=fmt_base | {"colwidths": below}),
    ]
    summary.add_extra_txt(notes)
    return summary


def _header(results: Any) -> list[list[str]]:
    several = len(results.sources) > 1
    eps = f"{results.epsilon:.6g}" if np.isfinite(results.epsilon) else "infinite"
    llf = f"{results.llf:.6g}" if np.isfinite(results.llf) else "-"
    gap = f"{results.gap_nats:.2g} nats" if np.isfinite(results.gap) else "-"
    method = f"{results.method}, {results.settings}" if results.settings else results.method
    kind = COVARIANCE.get(results.cov_type, results.cov_type)
    rows = [["Mechanism:" if i == 0 else "", s, "", ""] for i, s in enumerate(results.sources)]
    rows += [
        ["Estimator:", method, "No. Reports:", str(results.nobs)],
        ["Covariance:", kind, "Missing:", str(results.n_missing)],
        ["Log-Likelihood:", llf, "Epsilon, largest:" if several else "Epsilon (nats):", eps],
        ["Gap to maximum:", gap, "Converged:", "yes" if results.converged else "NO"],
    ]
    if results.unexplained is not None:
        rest, at = results.unexplained, results.linear.places
        looked = f"{len(results.categories)}"
        if results.linear.at is not None:
            looked += f", {at.size} selected"
        error = "-" if np.isnan(rest.bse) else f"{rest.bse:.4f}"
        share = f"{rest.estimate:.4f} (std err {error})"
        rows.append(["Not among them:", share, "Candidates:", looked])
    return rows


def _widths(rows: list[list[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _largest(frame: pd.DataFrame, max_rows: int) -> pd.DataFrame:
    """The rows to print: all, or the largest unconstrained estimates."""
    if len(frame) <= max_rows:
        return frame
    return frame.iloc[np.argsort(-frame["linear"].to_numpy(), kind="stable")[:max_rows]]


def decimals(frame: pd.DataFrame) -> int:
    """Decimals that show two digits of the smallest standard error; at least four."""
    se = frame["linear_se"].to_numpy()
    smallest = se[se > 1e-9].min(initial=1.0)
    return int(np.clip(2 - np.floor(np.log10(smallest)), 4, 9))


def _row(values: Any, digits: int) -> list[str]:
    *numbers, pvalue = values
    cells = ["-" if np.isnan(v) else f"{v:.{digits}f}" for v in numbers]
    return [*cells, "-" if np.isnan(pvalue) else f"{pvalue:.3f}"]


def _notes(results: Any, frame: pd.DataFrame, alpha: float, rest: int) -> list[str]:
    frame = frame.iloc[results.linear.places]
    own = results.counted
    kind = "Wald" if results.tally is None else "score, with the skewness of the reports"
    if own.all():
        kind = "exact (Clopper-Pearson)"
    elif own.any():
        kind = f"exact (where a category has a count of its own) or {kind}"
    notes = [
        f"Intervals: {100 * (1 - alpha):.4g}% {kind}, from the unconstrained estimate, "
        "cut to [0, 1].",
        *(_cut_notes(results, frame, alpha) if results.linear.covariance is not None else []),
        "p-value: of p = 0 against p > 0, not adjusted for the number of categories.",
    ]
    if results.linear_method == "one step":
        notes.insert(1, "Unconstrained estimate: one Newton step of the likelihood of the bits.")
    notes += protection_notes(results.sources)
    if results.linear.covariance is None:
        notes = [
            f"Standard errors of {len(frame)} candidates at once were not computed: use method "
            "'lasso', or fewer candidates."
        ]
    if rest:
        notes.append(f"{rest} categories with smaller estimates are not shown.")
    if results.assumes_complete:
        notes.append("The estimate takes the candidates for all answers: it sums to one.")
        if results.is_incomplete:
            notes.append("DOUBTFUL: the reports say that they are not; see the unconstrained one.")
    if results.caution:
        notes.append(
            f"WARNING: the list of candidates is not complete, and {results.caution}: tests and "
            "intervals do not keep their level."
        )
    notes += _selection_notes(results)
    notes += _boundary_notes(results)
    if results.cov_type == "none (constrained)":
        notes.append(
            f"NOTE: {results.without_errors}; those shown are of the unconstrained estimate."
        )
    if not results.converged:
        notes.append(f"NOT CONVERGED: {results.message}")
    if words := ill_conditioned(results.condition):
        notes.append(f"WARNING: {words}.")
    fit = results.goodness_of_fit
    if fit is not None:
        p = f"= {fit.pvalue:.3g}" if fit.pvalue > 0.0 else "< 1e-300"
        notes.append(f"Goodness of fit ({fit.method}): p {p}.")
        if fit.pvalue < 0.01:
            notes.append(f"DOUBTFUL: the reports speak against the hypothesis that {fit.null}.")
        if results.dispersion > 1.0:
            which = "among the candidates" if results.linear.at is None else "among the selected"
            notes.append(
                "Standard errors of the unconstrained estimate are "
                f"{np.sqrt(results.dispersion):.3g} times those of the reports alone, for answers "
                f"that are not {which}; cohorts are weighted accordingly."
            )
    return notes


def protection_notes(sources: Sequence[str]) -> list[str]:
    """What epsilon does not protect, for mechanisms that protect sensitive categories only."""
    found = [re.search(r"k=(\d+), sensitive=(\d+)", source) for source in sources]
    if not any(match and int(match[2]) < int(match[1]) for match in found):
        return []
    return ["Epsilon protects the sensitive categories only: reports may reveal any other answer."]


def _selection_notes(results: Any) -> list[str]:
    if results.linear.at is None:
        return []
    return [
        f"Post-selection: intervals are those of the {results.linear.at.size} selected candidates "
        "as if they had been given, and cover less often than they say, as does the share that is "
        "not among them; tests are adjusted for "
        f"all {len(results.categories)} candidates."
    ]


def _cut_notes(results: Any, frame: pd.DataFrame, alpha: float) -> list[str]:
    notes, edges = [], (frame["lower"] <= 0.0) | (frame["upper"] >= 1.0)
    if edges.any():
        uncut = results.conf_int(alpha, clip=False).loc[frame.index]
        for beyond, where in (
            (uncut["upper"] <= 0.0, "below 0"),
            (uncut["lower"] >= 1.0, "above 1"),
        ):
            if beyond.any():
                notes.append(
                    f"Before the cut the interval of {_named(frame.index[beyond])} lay {where}; "
                    "the one shown has a limit of its own (see conf_int)."
                )
    missed = (frame["params"] < frame["lower"]) | (frame["params"] > frame["upper"])
    if results.is_maximum and missed.any():
        notes.append(
            f"The interval of {_named(frame.index[missed])} does not hold the estimate, which is "
            "constrained: it belongs to the unconstrained one."
        )
    return notes


def _named(labels: Any) -> str:
    """The first labels, and how many more there are."""
    shown = ", ".join(one_line(label, _LONGEST_LABEL) for label in labels[:3])
    return shown if len(labels) <= 3 else f"{shown} and {len(labels) - 3} more"


def _boundary_notes(results: Any) -> list[str]:
    if not results.on_boundary or results.method in ("inversion", "lasso"):  # know no boundary
        return []
    notes = [
        "The estimate is on the boundary (a frequency of zero); the intervals keep their coverage "
        "there."
    ]
    if results.method not in ("mle", "em", "cvxpy"):
        notes.append("The standard errors of the estimate hold in the interior only.")
    return notes
