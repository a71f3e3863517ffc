"""The summary of frequencies and unknown parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

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

if TYPE_CHECKING:
    from ldpstats.models.parameters.results import ParametersResults

__all__ = ["parameters_summary"]


def parameters_summary(
    results: ParametersResults, alpha: float, max_rows: int, details: bool
) -> SummaryTable:
    """What is said of frequencies and parameters."""
    fit, k = results.fit, len(results.categories)
    frame = results.summary_frame(alpha)
    shown = pd.concat([largest(frame.iloc[:k], max_rows), frame.iloc[k:]])
    digits, both = decimals(shown), second_shown(shown, details)
    cells = estimate_cells(shown, digits, both)
    kind = {"profile": "profile likelihood", "wald": "Wald"}[results.default_intervals]
    pairs = zip(cells, shown["presence_pvalue"], strict=True)
    left = [*design_pairs(fit), ("Estimator:", estimator_text(fit)), ("Categories:", str(k))]
    left.append(("Unknown parameters:", str(len(results.groups.names))))
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
            *_epsilon_notes(results),
            *_boundary_notes(results),
            *closing_notes(fit, 1.0),
            *goodness_notes(results.goodness_of_fit),
        ],
    )


def _epsilon_notes(results: ParametersResults) -> list[str]:
    names = in_turn([f"{name!r}" for name in results.groups.names])
    return [f"Epsilon: the largest for any value of {names} between 0 and 1."]


def _boundary_notes(results: ParametersResults) -> list[str]:
    """What the estimate does not tell."""
    notes = []
    if len(left := results.undetermined):
        notes.append(
            f"WARNING: at this estimate the reports leave {in_turn(list(map(str, left)))} open: "
            "other values fit as well. Only the intervals say what is known of it."
        )
    elif results.linear.covariance is None:
        notes.append(
            "WARNING: the likelihood is too flat for standard errors of the unconstrained estimate:"
            " rely on the intervals."
        )
    values = results.fitted.estimate
    at_bound = results.index[(values <= 0.0) | (values >= 1.0)]
    if len(at_bound):
        notes.append(
            f"NOTE: the estimate of {in_turn(list(map(str, at_bound)))} is on the boundary; the "
            "intervals keep their coverage there, standard errors do not."
        )
    return notes
