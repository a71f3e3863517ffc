"""The summary of a joint distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.inference.tests import TestResult
from ldpstats.models.association.record import Cells, Variables
from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.missing import missing_notes
from ldpstats.models.shared.notes import (
    DOUBTFUL,
    closing_notes,
    epsilon_text,
    estimator_text,
    header,
    interval_note,
    protection_notes,
    resolution_notes,
    rest_notes,
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
    pvalue_words,
    second_shown,
    second_words,
    touch_ends,
)

__all__ = ["association_summary", "cell_stubs", "listed"]

_FEW = 10.0  # reports that a cell rests on below which normal laws are doubtful
_ROOM = 60  # characters of the labels of a cell together
_NAMED = 3  # cells that a note names
_ROUNDING = 1e-9  # of frequencies


def association_summary(
    fit: Fit,
    variables: Variables,
    cells: Cells,
    independence: TestResult | None,
    *,
    frame: pd.DataFrame,
    reports: pd.Series[float] | None,
    condition: float,
    is_doubtful: bool,
    alpha: float,
    max_rows: int,
    details: bool,
) -> SummaryTable:
    """What is said of the cells; `reports` are those that each rests on, where they are known."""
    names, shown = variables.names, largest(frame, max_rows)
    digits, both = decimals(shown), second_shown(frame, details)
    return SummaryTable(
        title=f"Joint distribution of {listed(names)}",
        header=_header(fit, variables, cells, details),
        columns=estimate_columns(alpha, both),
        stubs=cell_stubs(shown.index),
        body=estimate_cells(shown, digits, both),
        notes=[
            *missing_notes(fit.nobs, fit.n_missing, names, variables.lacking),
            *_interval_notes(fit, cells, frame, alpha, second_words(frame, both, digits)),
            *rest_notes(len(shown), len(frame)),
            *_few_reports(cells, reports),
            *_excluded(fit, frame),
            *_margin_notes(variables),
            *_dispersion_notes(cells),
            *_test_notes(independence),
            *_list_notes(fit, variables, is_doubtful),
            *_design_notes(fit, cells),
            *protection_notes(fit),
            *resolution_notes(fit, what="cells"),
            *closing_notes(fit, condition),
        ],
    )


def cell_stubs(cells: pd.Index[Any]) -> list[str]:
    """Names of the cells, of which no two are alike."""
    levels = [list(dict.fromkeys(cells.get_level_values(v))) for v in range(cells.nlevels)]
    longest = [max(len(str(label)) for label in labels) for labels in levels]
    columns = []
    for labels, own in zip(levels, longest, strict=True):
        # short labels of the other variables leave more room
        room = max(_ROOM // len(levels), _ROOM - (sum(longest) - own))
        columns.append(dict(zip(labels, distinct_lines(labels, room), strict=True)))
    return [" : ".join(map(dict.__getitem__, columns, cell)) for cell in cells]


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    *first, last = (one_line(name, LONGEST_LABEL) for name in names)
    return f"{', '.join(first)} and {last}"


def _header(fit: Fit, variables: Variables, cells: Cells, details: bool) -> list[list[str]]:
    own = list(zip(variables.names, fit.sources, variables.labels, strict=True))
    left = [(f"{one_line(name, 20)}:", source) for name, source, _ in own]
    right = [("Categories:", str(len(labels))) for *_, labels in own]
    left += [("Estimator:", estimator_text(fit)), ("Cells:", str(fit.linear.estimate.size))]
    right += [("No. Respondents:", str(fit.nobs)), ("Missing:", str(fit.n_missing))]
    if cells.n_strata > 1:
        left.append(("Strata:", str(cells.n_strata)))
    right.append(("Epsilon, all (nats):", epsilon_text(fit.epsilon)))
    if variables.unprotected:
        right.append(("Not protected:", one_line(", ".join(variables.unprotected), 40)))
    return header(left, right, fit if details else None)


def _interval_notes(
    fit: Fit, cells: Cells, frame: pd.DataFrame, alpha: float, source: str
) -> list[str]:
    if np.isnan(fit.linear.bse()).any():
        return [
            f"Standard errors of {len(frame)} cells at once were not computed: list fewer "
            "categories, with other=True."
        ]
    kind = "Wald" if cells.law is None else "score intervals with skewness"
    return [interval_note(alpha, kind, touch_ends(frame), source)]


def _few_reports(cells: Cells, reports: pd.Series[float] | None) -> list[str]:
    """Which cells rest on few reports, at their own frequencies."""
    if reports is None:
        if cells.smallest_expected >= _FEW:
            return []
        return [
            "WARNING: fewer than ten reports of some combination are expected; intervals of rare "
            "cells cover less often than stated."
        ]
    few = reports[reports < _FEW]
    if few.empty:
        return []
    return [
        f"WARNING: {len(few)} of {len(reports)} cells rest on fewer than ten reports "
        f"({_named(few.sort_values(kind='stable'), '{:.1f}')}). Their intervals allow for it; "
        "conditionals, effects and Wald tests, which rest on normal laws, do not."
    ]


def _excluded(fit: Fit, frame: pd.DataFrame) -> list[str]:
    """Which intervals do not contain the estimate beside them."""
    p = frame["params"]
    below, above = frame["lower"] - p, p - frame["upper"]
    outside = p[((below > _ROUNDING) | (above > _ROUNDING)) & p.between(0.0, 1.0)]
    if outside.empty:
        return []
    what = "maximum likelihood estimate" if fit.is_maximum else "estimate"
    return [
        f"NOTE: {len(outside)} of {len(frame)} intervals do not contain the {what} beside them "
        f"({_named(outside, '{:.4g}')}): it obeys bounds that the unconstrained one does not, and "
        "is biased near them."
    ]


def _named(values: pd.Series[float], form: str) -> str:
    """The first few cells and their values, in words."""
    first = values.iloc[:_NAMED]
    cells = [" : ".join(one_line(label, 20) for label in cell) for cell in first.index]
    named = [f"{cell}: {form.format(value)}" for cell, value in zip(cells, first, strict=True)]
    return ", ".join([*named, "..."] if len(values) > _NAMED else named)


def _margin_notes(variables: Variables) -> list[str]:
    """Which variables' own reports contradict their mechanism."""
    notes = []
    for name, margin in zip(variables.names, variables.margin_fits, strict=True):
        test = margin.goodness_of_fit
        if margin.unexplained is None and test is not None and test.pvalue < DOUBTFUL:
            notes.append(
                f"WARNING: the reports of {name} contradict the hypothesis that {test.null} "
                f"({test.method}): {pvalue_words(test.pvalue)}."
            )
    return notes


def _dispersion_notes(cells: Cells) -> list[str]:
    if cells.dispersion <= 1.0:
        return []
    return [
        "NOTE: standard errors of the unconstrained estimate are "
        f"{np.sqrt(cells.dispersion):.3g} times those from the reports alone, to allow for answers "
        "that are not among the candidates."
    ]


def _test_notes(test: TestResult | None) -> list[str]:
    if test is None:
        return ["Independence of all variables was not tested: test pairs of them."]
    notes = [
        f"Independence ({test.method}): {test.statistic:.4g} on {test.df:g} df, "
        f"{pvalue_words(test.pvalue)}."
    ]
    return [*notes, f"NOTE: {test.note}."] if test.note else notes


def _list_notes(fit: Fit, variables: Variables, is_doubtful: bool) -> list[str]:
    """What is assumed of answers that are not among the categories, and whether it holds."""
    notes = []
    if not variables.is_complete:
        words = "are ignored by the estimate, but not by the unconstrained one."
        if not (fit.is_maximum or fit.method == "one_step"):
            words = "are in no cell, so that the cells need not sum to one."
        notes.append(f"NOTE: answers that are not among the candidates {words}")
    if is_doubtful:
        notes.append("WARNING: the reports indicate that such answers exist; use other=True.")
    for name, other in zip(variables.names, variables.others, strict=True):
        if other in ("product", "fpe16"):
            notes.append(
                f"NOTE: other answers of {name} are modelled ({other}) as one category, whose "
                "reports follow one law whatever the values of the other variables."
            )
    return notes


def _design_notes(fit: Fit, cells: Cells) -> list[str]:
    notes = []
    if cells.n_strata > 1:
        notes.append(
            f"Respondents are in {cells.n_strata} strata (shared cohorts, or groups of "
            "mechanisms); tests compare respondents within them."
        )
    if fit.on_boundary and fit.is_maximum:
        notes.append(
            "NOTE: the estimate is on the boundary (a cell of zero); the intervals do not rest on "
            "it."
        )
    return notes
