"""The summary of the frequencies of one variable in several groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from ldpstats.inference.tests import TestResult
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.grouped.labels import Label, worded
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    closing_notes,
    decimals,
    epsilon_text,
    figures,
    goodness_notes,
    interval_columns,
    largest,
    one_line,
    protection_notes,
    pvalue_text,
)

if TYPE_CHECKING:
    from ldpstats.models.grouped.results import GroupedResults

__all__ = ["grouped_summary"]

_COLUMNS = ["params", "bse", "lower", "upper"]
_MOST_SOURCES = 4  # mechanisms that a header names


def grouped_summary(results: GroupedResults, alpha: float, max_rows: int) -> SummaryTable:
    """A block of rows for each group, under its label and number of reports."""
    frames = [largest(fit.summary_frame(alpha), max_rows) for fit in results.fits]
    digits = decimals(pd.concat(frames))
    stubs: list[str] = []
    body: list[list[str]] = []
    for label, fit, frame in zip(results.labels, results.fits, frames, strict=True):
        stubs.append(one_line(f"{_shown(label)} (n = {fit.nobs})", LONGEST_LABEL))
        body.append([""] * len(_COLUMNS))
        stubs += [f"  {one_line(category, LONGEST_LABEL)}" for category in frame.index]
        body += [figures(row, digits) for row in frame[_COLUMNS].to_numpy()]
    return SummaryTable(
        title=f"Frequencies of {results.name or 'a privatised variable'} by {_by(results)}",
        header=_header(results),
        columns=["estimate", "std err", *interval_columns(alpha)],
        stubs=stubs,
        body=body,
        notes=_notes(results, alpha, len(results.categories) - len(frames[0])),
    )


def _by(results: GroupedResults) -> str:
    *most, last = results.by
    return f"{', '.join(most)} and {last}" if most else last


def _shown(label: Label) -> str:
    return ", ".join(map(str, label))


def _header(results: GroupedResults) -> list[list[str]]:
    fits, first = results.fits, results.fits[0]
    epsilons = {fit.epsilon for fit in fits}
    left = [
        ("Groups:", str(len(fits))),
        ("Estimator:", first.method + (f", {first.settings}" if first.settings else "")),
    ]
    sources = list(dict.fromkeys(source for fit in fits for source in fit.sources))
    if len(sources) > _MOST_SOURCES:
        sources = [f"{len(sources)} kinds"]
    left += [("Mechanism:" if i == 0 else "", source) for i, source in enumerate(sources)]
    right = [
        ("No. Reports:", str(results.nobs)),
        ("Missing:", str(results.n_missing)),
        ("Epsilon (nats):" if len(epsilons) == 1 else "Epsilon, largest:", _largest(epsilons)),
    ]
    rows = max(len(left), len(right))
    pairs = [side + [("", "")] * (rows - len(side)) for side in (left, right)]
    return [[*a, *b] for a, b in zip(*pairs, strict=True)]


def _largest(epsilons: set[float]) -> str:
    return epsilon_text(max(epsilons))


def _notes(results: GroupedResults, alpha: float, hidden: int) -> list[str]:
    notes = [
        f"Intervals: {100 * (1 - alpha):.4g}%, each from the unconstrained estimate of its group, "
        "cut to [0, 1]."
    ]
    if hidden:
        notes.append(f"{hidden} categories with smaller estimates are not shown in each group.")
    notes += _equality(results.equal)
    partly = next((fit for fit in results.fits if fit.fit.is_partial), None)
    notes += protection_notes(partly.fit) if partly is not None else []
    if results.empty:
        names = "; ".join(worded(label, results.by) for label in results.empty)
        notes.append(f"NOTE: without a report, and not fitted: {names}.")
    if results.n_ungrouped:
        notes.append(f"NOTE: {results.n_ungrouped} respondents are in no group.")
    for label, fit in zip(results.labels, results.fits, strict=True):
        notes += _doubts(worded(label, results.by), fit)
    return notes


def _equality(test: TestResult | None) -> list[str]:
    """The test that all groups are equal, with what its reader must know."""
    if test is None:
        return []
    df: Any = f"{test.df:g}" if isinstance(test.df, int | float) else test.df
    words = f"{test.statistic:.4g}, df {df}, p = {pvalue_text(test.pvalue)}"
    more = f"; {test.note}" if test.note else ""
    return [f"Equality of the groups ({test.method}): statistic {words}{more}."]


def _doubts(words: str, fit: FrequencyResults) -> Sequence[str]:
    """Warnings of one group, which name it."""
    notes = closing_notes(fit.fit, fit.condition) + goodness_notes(fit.goodness_of_fit)
    if fit.caution:
        notes.append(f"WARNING: {fit.caution}: tests and intervals do not keep their level.")
    if fit.is_incomplete:
        notes.append("WARNING: the reports indicate that other answers exist.")
    doubts = [note.removeprefix("WARNING: ") for note in notes if note.startswith("WARNING: ")]
    return [f"WARNING: {words}: {doubt}" for doubt in doubts]
