"""The summary of frequencies and unknown parameters."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ldpstats.inference.outcome import TestResult
from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.notes import (
    closing_notes,
    design_pairs,
    estimator_text,
    goodness_notes,
    header,
    interval_note,
    respondents_pairs,
    rest_notes,
    title,
)
from ldpstats.models.shared.spelling import in_turn
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    decimals,
    distinct_lines,
    estimate_cells,
    estimate_columns,
    largest,
    pvalue_text,
    second_shown,
    second_words,
    touch_ends,
)

__all__ = ["parameters_summary"]


def parameters_summary(
    fit: Fit,
    test: TestResult | None,
    names: Sequence[str],
    undetermined: Sequence[str],
    *,
    outside: str,
    frame: pd.DataFrame,
    intervals: str,
    alpha: float,
    max_rows: int,
    details: bool,
) -> SummaryTable:
    """What is said of frequencies and of parameters with these names, last in the frame."""
    k = len(frame) - len(names)
    shown = pd.concat([largest(frame.iloc[:k], max_rows), frame.iloc[k:]])
    digits, both = decimals(shown), second_shown(shown, details)
    cells = estimate_cells(shown, digits, both)
    kind = {"profile": "profile likelihood", "wald": "Wald"}[intervals]
    pairs = zip(cells, shown["presence_pvalue"], strict=True)
    left = [*design_pairs(fit), ("Estimator:", estimator_text(fit)), ("Categories:", str(k))]
    left.append(("Unknown parameters:", str(len(names))))
    return SummaryTable(
        title=title(fit, "Frequencies and parameters"),
        header=header(left, respondents_pairs(fit), fit if details else None),
        columns=[*estimate_columns(alpha, both), "p-value"],
        stubs=distinct_lines(shown.index, LONGEST_LABEL),
        body=[[*row, pvalue_text(p)] for row, p in pairs],
        notes=[
            interval_note(alpha, kind, touch_ends(shown), second_words(shown, both, digits)),
            "p-value: of a value of 0 against one above, by the likelihood ratio, not adjusted.",
            *rest_notes(len(shown) - len(frame) + k, k),
            *_epsilon_notes(names),
            *_boundary_notes(fit, frame, undetermined),
            *([f"WARNING: {outside}."] if outside else []),
            *closing_notes(fit, 1.0),
            *goodness_notes(test),
        ],
    )


def _epsilon_notes(names: Sequence[str]) -> list[str]:
    quoted = in_turn([f"{name!r}" for name in names])
    return [f"Epsilon: the largest for any value of {quoted} between 0 and 1."]


def _boundary_notes(fit: Fit, frame: pd.DataFrame, undetermined: Sequence[str]) -> list[str]:
    """What the estimate does not tell."""
    notes = []
    if undetermined:
        notes.append(
            f"WARNING: at this estimate the reports leave {in_turn(undetermined)} open: "
            "other values fit as well. Only the intervals say what is known of it."
        )
    elif fit.linear.covariance is None:
        notes.append(
            "WARNING: the unconstrained estimate has no standard errors: rely on the intervals."
        )
    values = fit.fitted.estimate
    at_bound = frame.index[(values <= 0.0) | (values >= 1.0)]
    if len(at_bound):
        notes.append(
            f"NOTE: the estimate of {in_turn(list(map(str, at_bound)))} is on the boundary; the "
            "intervals keep their coverage there, standard errors do not."
        )
    return notes
