"""The summary of the frequencies of one variable in several groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ldpstats.inference.tests import TestResult
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.frequency.summary import interval_kind
from ldpstats.models.grouped.record import FittedGroups
from ldpstats.models.shared.groups import worded
from ldpstats.models.shared.notes import (
    Pair,
    closing_notes,
    epsilon_text,
    estimator_text,
    goodness_notes,
    header,
    interval_note,
    protection_notes,
    resolution_notes,
)
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    decimals,
    distinct_lines,
    estimate_cells,
    estimate_columns,
    largest,
    one_line,
    pvalue_text,
    pvalue_words,
    second_shown,
    second_words,
    touch_ends,
)

__all__ = ["grouped_summary"]

_MOST_SOURCES = 4  # mechanisms that a header names
_MOST_GROUPS = 40  # groups that are shown and named, unless max_rows is more


def grouped_summary(
    results: FittedGroups, alpha: float, max_rows: int, details: bool
) -> SummaryTable:
    """A block of rows for each group, under its label and number of reports."""
    places = _shown(results, max_rows)
    fits = [results.fits[place] for place in places]
    every = [fit.summary_frame(alpha).iloc[fit.linear.places] for fit in fits]
    frames = [largest(frame, max_rows) for frame in every]
    together = pd.concat(frames)
    digits, both = decimals(together), second_shown(together, details)
    columns = [*estimate_columns(alpha, both), "p-value"]
    stubs: list[str] = []
    body: list[list[str]] = []
    labels = (", ".join(map(str, results.labels[place])) for place in places)
    names = distinct_lines(labels, LONGEST_LABEL)
    for name, fit, frame in zip(names, fits, frames, strict=True):
        stubs += [f"{name} (n = {fit.nobs})", *_stubs(frame.index)]
        cells = estimate_cells(frame, digits, both)
        pvalues = [pvalue_text(p) for p in frame["presence_pvalue"]]
        body += [[""] * len(columns), *([*row, p] for row, p in zip(cells, pvalues, strict=True))]
    what = f" of {one_line(results.name, LONGEST_LABEL)}" if results.name else ""
    return SummaryTable(
        title=f"Frequencies{what} by {_by(results)}",
        header=header(_left(results), _right(results)),
        columns=columns,
        stubs=stubs,
        body=body,
        notes=[
            interval_note(
                alpha,
                f"{_kinds(fits)}, within each group",
                touch_ends(together),
                second_words(together, both, digits),
            ),
            "p-value: of p = 0 against p > 0, not adjusted for the number of categories.",
            *_groups_note(len(places), len(results.fits)),
            *_rest_notes(max_rows, max(map(len, every))),
            *_equality(results.equal),
            *_group_notes(results, places, details),
        ],
    )


def _kinds(fits: list[FrequencyResults]) -> str:
    """How the intervals of these groups are computed, in words."""
    return "; or ".join(dict.fromkeys(interval_kind(fit.fit, fit.laws) for fit in fits))


def _shown(results: FittedGroups, max_rows: int) -> list[int]:
    """Places of the groups that are shown: those with most reports, in their order."""
    sizes = np.array([fit.nobs for fit in results.fits])
    most = np.argsort(-sizes, kind="stable")[: max(_MOST_GROUPS, max_rows)]
    return sorted(most.tolist())


def _stubs(categories: pd.Index[Any]) -> list[str]:
    return [f"  {text}" for text in distinct_lines(categories, LONGEST_LABEL)]


def _by(results: FittedGroups) -> str:
    *most, last = results.by
    return f"{', '.join(most)} and {last}" if most else last


def _left(results: FittedGroups) -> list[Pair]:
    sources = results.sources
    if len(sources) > _MOST_SOURCES:
        sources = (f"{len(sources)} kinds",)
    head = "Mechanism:" if len(results.sources) == 1 else "Mechanisms:"
    pairs = [(head if i == 0 else "", source) for i, source in enumerate(sources)]
    return [*pairs, ("Estimator:", estimator_text(results.fits[0].fit))]


def _right(results: FittedGroups) -> list[Pair]:
    alike = len({fit.epsilon for fit in results.fits}) == 1
    return [
        ("Groups:", str(len(results.fits))),
        ("No. Reports:", str(results.nobs)),
        ("Missing:", str(results.n_missing)),
        ("Epsilon (nats):" if alike else "Epsilon, largest:", epsilon_text(results.epsilon)),
    ]


def _groups_note(n_shown: int, n: int) -> list[str]:
    """How many groups are shown, where not all are."""
    if n_shown == n:
        return []
    words = f"Shown: the {n_shown} groups with most reports, of {n}"
    return [f"{words}; summary(max_rows={n}) shows all, summary_frame() has all."]


def _rest_notes(n_shown: int, n: int) -> list[str]:
    """How many rows are shown, where not all are."""
    return [f"Shown: the {n_shown} largest of {n} estimates in each group."] if n_shown < n else []


def _equality(test: TestResult | None) -> list[str]:
    """The test that all groups are equal, with what its reader must know."""
    if test is None:
        return []
    df: Any = f"{test.df:g}" if isinstance(test.df, int | float) else test.df
    words = f"{test.statistic:.4g} on {df} df, {pvalue_words(test.pvalue)}"
    notes = [f"Same distribution in all groups ({test.method}): {words}."]
    return [*notes, f"NOTE: {test.note}."] if test.note else notes


def _group_notes(results: FittedGroups, places: list[int], details: bool) -> list[str]:
    """Who is left out, what epsilon does not protect, and what to doubt in which group."""
    notes: list[str] = []
    if results.empty:
        most = max(_MOST_GROUPS, len(places))
        names = "; ".join(worded(label, results.by) for label in results.empty[:most])
        names += f"; and {len(results.empty) - most} more" * (len(results.empty) > most)
        notes.append(f"NOTE: without a report, and not fitted: {names}.")
    if results.n_ungrouped:
        notes.append(f"NOTE: {results.n_ungrouped} respondents are in no group.")
    partly = next((fit for fit in results.fits if fit.fit.is_partial), None)
    notes += protection_notes(partly.fit) if partly is not None else []
    for place in places:
        notes += _doubts(worded(results.labels[place], results.by), results.fits[place], details)
    others = [fit for place, fit in enumerate(results.fits) if place not in set(places)]
    doubtful = sum(bool(_doubts("", fit, False)) for fit in others)
    if doubtful:
        words = f"{doubtful} of the {len(others)} groups that are not shown have warnings"
        notes.append(f"WARNING: {words}: see the summary of each, such as results[label].summary()")
    return notes


def _doubts(words: str, fit: FrequencyResults, details: bool) -> list[str]:
    """Warnings of one group, which name it; all that is said of its fit with `details`."""
    notes = resolution_notes(fit.fit, fit.presence_pvalues)
    notes += closing_notes(fit.fit, fit.condition) + goodness_notes(fit.goodness_of_fit)
    if fit.caution:
        notes.append(f"WARNING: {fit.caution}: tests and intervals do not keep their level.")
    if fit.is_incomplete:
        notes.append("WARNING: the reports indicate that other answers exist.")
    if details:
        return [f"{words}: {note}" for note in notes]
    doubts = [note.removeprefix("WARNING: ") for note in notes if note.startswith("WARNING: ")]
    return [f"WARNING: {words}: {doubt}" for doubt in doubts]
