"""The summary of the frequencies of one variable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ldpstats.models.frequency.estimates import Checks, Laws
from ldpstats.models.layout import (
    LONGEST_LABEL,
    Fit,
    SummaryTable,
    closing_notes,
    decimals,
    design_pairs,
    distinct_lines,
    estimate_cells,
    estimate_columns,
    estimator_text,
    figures,
    goodness_notes,
    header,
    interval_note,
    largest,
    one_line,
    protection_notes,
    pvalue_text,
    resolution_notes,
    respondents_pairs,
    rest_notes,
    second_shown,
    second_words,
    title,
)

__all__ = ["frequency_summary", "interval_kind"]


def frequency_summary(
    fit: Fit,
    laws: Laws,
    checks: Checks,
    *,
    frame: pd.DataFrame,
    uncut: pd.DataFrame | None,
    alpha: float,
    max_rows: int,
    details: bool,
) -> SummaryTable:
    """What is said of frequencies; `uncut` are the intervals before they are cut to [0, 1]."""
    k = len(frame)
    frame = frame.iloc[fit.linear.places]
    shown = largest(frame, max_rows)
    digits = decimals(shown)
    both = second_shown(frame, details)
    cells = estimate_cells(shown, digits, both)
    return SummaryTable(
        title=title(fit),
        header=_header(fit, checks, k, details),
        columns=[*estimate_columns(alpha, both), "p-value"],
        stubs=distinct_lines(shown.index, LONGEST_LABEL),
        body=[
            [*row, pvalue_text(p)] for row, p in zip(cells, shown["presence_pvalue"], strict=True)
        ],
        notes=[
            *_interval_notes(fit, laws, frame, uncut, alpha, second_words(frame, both, digits)),
            *protection_notes(fit),
            *rest_notes(len(shown), len(frame)),
            *_list_notes(fit, checks),
            *_selection_notes(fit, k),
            *_penalty_notes(fit),
            *_boundary_notes(fit),
            *resolution_notes(fit, frame["presence_pvalue"].to_numpy),
            *closing_notes(fit, checks.condition),
            *goodness_notes(checks.goodness_of_fit),
            *_dispersion_notes(fit, checks),
        ],
    )


def _header(fit: Fit, checks: Checks, k: int, details: bool) -> list[list[str]]:
    left = [*design_pairs(fit), ("Estimator:", estimator_text(fit))]
    if (rest := checks.unexplained) is None:
        left.append(("Categories:", str(k)))
    else:
        (error,) = figures([rest.bse], 4)
        looked = str(k) if fit.linear.at is None else f"{k}, {fit.linear.at.size} selected"
        left.append(("Candidates:", looked))
        left.append(("Not among them:", f"{rest.estimate:.4f} (std err {error})"))
    return header(left, respondents_pairs(fit), fit if details else None)


def _interval_notes(
    fit: Fit,
    laws: Laws,
    frame: pd.DataFrame,
    uncut: pd.DataFrame | None,
    alpha: float,
    source: str,
) -> list[str]:
    """What intervals and p-values are, and which of them are cut to [0, 1]."""
    if uncut is None:
        return [
            f"Standard errors of {len(frame)} candidates at once were not computed: use method "
            "'lasso', or fewer candidates."
        ]
    uncut = uncut.reindex(frame.index)  # .loc would take labels True and False for a mask
    is_cut = bool((uncut["lower"] < 0.0).any() or (uncut["upper"] > 1.0).any())
    notes = [interval_note(alpha, interval_kind(fit, laws), is_cut, source)]
    if source and laws.linear_method == "one step":
        notes.append("Unconstrained estimate: one Newton step of the likelihood.")
    notes += _cut_notes(fit, frame, uncut, alpha)
    return [*notes, "p-value: of p = 0 against p > 0, not adjusted for the number of categories."]


def interval_kind(fit: Fit, laws: Laws) -> str:
    """How the default intervals are computed, in words."""
    own = laws.counted(fit.linear.estimate.size)[fit.linear.places]
    kind = "Wald" if laws.tally is None else "score, with the skewness of the reports"
    if own.all():
        return "exact (Clopper-Pearson)"
    if own.any():
        return f"exact (where a category has a count of its own) or {kind}"
    return kind


def _cut_notes(fit: Fit, frame: pd.DataFrame, uncut: pd.DataFrame, alpha: float) -> list[str]:
    notes = []
    for beyond, where, end in (
        (uncut["upper"] <= 0.0, "below 0", "upper"),
        (uncut["lower"] >= 1.0, "above 1", "lower"),
    ):
        if beyond.any():
            one = int(beyond.sum()) == 1
            notes.append(
                f"NOTE: before the cut the {'interval' if one else 'intervals'} of "
                f"{_named(frame.index[beyond])} lay wholly {where}; the {end} "
                f"{'limit' if one else 'limits'} shown instead: where the estimate would be "
                f"{alpha / 2:g} times as likely as at {where[-1]} (see conf_int)."
            )
    missed = (frame["params"] < frame["lower"]) | (frame["params"] > frame["upper"])
    if fit.is_maximum and missed.any():
        words = "interval of {} does" if missed.sum() == 1 else "intervals of {} do"
        notes.append(
            f"NOTE: the {words.format(_named(frame.index[missed]))} not contain the estimate, "
            "which is constrained: intervals belong to the unconstrained one."
        )
    return notes


def _named(labels: Any) -> str:
    """The first labels, and how many more there are."""
    shown = [one_line(label, LONGEST_LABEL) for label in labels[:3]]
    *first, last = [*shown, f"{len(labels) - 3} more"] if len(labels) > 3 else shown
    return f"{', '.join(first)} and {last}" if first else last


def _list_notes(fit: Fit, checks: Checks) -> list[str]:
    """What is assumed of answers that are not among the candidates, and whether it holds."""
    notes = []
    if checks.assume_complete(fit.method):
        notes.append(
            "The estimate assumes that the candidates are the only possible answers: it sums to "
            "one."
        )
    if checks.contradict(fit.method):
        notes.append(
            "WARNING: the reports indicate that other answers exist; use the unconstrained "
            "estimate."
        )
    if checks.caution:
        notes.append(
            f"WARNING: the list of candidates is not complete, and {checks.caution}: tests and "
            "intervals do not keep their level."
        )
    return notes


def _selection_notes(fit: Fit, k: int) -> list[str]:
    if fit.linear.at is None:
        return []
    return [
        "NOTE: intervals and the share that is not among the candidates are computed as if the "
        f"{fit.linear.at.size} selected candidates had been chosen in advance, and cover less "
        f"often than stated; tests are adjusted for all {k} candidates."
    ]


def _penalty_notes(fit: Fit) -> list[str]:
    if not fit.is_penalised:
        return []
    how = fit.message.partition(", ")[0].removeprefix("likelihood with ")
    return [
        f"NOTE: the estimate is penalised for roughness ({how.replace(' (chosen)', ', chosen')}), "
        "which biases it towards smooth frequencies; intervals and p-values rest on the "
        "unconstrained estimate."
    ]


def _boundary_notes(fit: Fit) -> list[str]:
    if not fit.on_boundary or fit.method in ("inversion", "lasso"):  # know no boundary
        return []
    notes = [
        "NOTE: the estimate is on the boundary (a frequency of zero); the intervals keep their "
        "coverage there."
    ]
    if fit.method not in ("mle", "em", "cvxpy", "smoothed"):
        notes.append("NOTE: the standard errors of the estimate hold in the interior only.")
    return notes


def _dispersion_notes(fit: Fit, checks: Checks) -> list[str]:
    if checks.goodness_of_fit is None or checks.dispersion <= 1.0:
        return []
    which = "the candidates" if fit.linear.at is None else "the selected"
    return [
        "NOTE: standard errors of the unconstrained estimate are "
        f"{np.sqrt(checks.dispersion):.3g} times those from the reports alone, to allow for "
        f"answers that are not among {which}; cohorts are weighted accordingly."
    ]
