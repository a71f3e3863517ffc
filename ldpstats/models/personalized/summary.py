"""The summary of frequencies behind a personalised mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.notes import (
    Pair,
    closing_notes,
    design_pairs,
    estimator_text,
    goodness_notes,
    header,
    interval_note,
    protection_notes,
    respondents_pairs,
    rest_notes,
    title,
)
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    decimals,
    distinct_lines,
    estimate_cells,
    estimate_columns,
    figures,
    largest,
    one_line,
    pvalue_text,
    second_shown,
    second_words,
    touch_ends,
)

__all__ = ["personalized_summary"]


def personalized_summary(
    fit: Fit,
    intermediate: FrequencyResults,
    *,
    frame: pd.DataFrame,
    case: pd.Series[Any],
    bound: pd.Series[float],
    alpha: float,
    max_rows: int,
    details: bool,
) -> SummaryTable:
    """What is said of the frequencies; `case` and `bound` are what results have of these names."""
    shown = largest(frame, max_rows)
    digits, both = decimals(shown), second_shown(frame, details)
    cells = estimate_cells(shown, digits, both)
    return SummaryTable(
        title=f"{title(fit, unnamed='')} behind a personalised mechanism",
        header=_header(fit, intermediate, case, details),
        columns=[*estimate_columns(alpha, both), "p-value"],
        stubs=distinct_lines(shown.index, LONGEST_LABEL),
        body=[
            [*row, pvalue_text(p)] for row, p in zip(cells, shown["presence_pvalue"], strict=True)
        ],
        notes=[
            *_interval_notes(intermediate, frame, alpha, second_words(frame, both, digits)),
            *rest_notes(len(shown), len(frame)),
            *protection_notes(fit),
            *_background_notes(case, bound),
            *_boundary_notes(fit, intermediate),
            *closing_notes(fit, intermediate.condition),
            *goodness_notes(intermediate.goodness_of_fit),
        ],
    )


def _header(
    fit: Fit, intermediate: FrequencyResults, case: pd.Series[Any], details: bool
) -> list[list[str]]:
    left = [
        *design_pairs(fit),
        ("Estimator:", estimator_text(fit)),
        ("Categories:", str(fit.fitted.estimate.size)),
    ]
    left, right = [*left, *_tags(intermediate, case)], respondents_pairs(fit)
    known = [("Background:" if i == 0 else "", words) for i, words in enumerate(case)]
    right += [("", "")] * (len(left) - len(right) - len(known)) + known
    return header(left, right, intermediate.fit if details else None)


def _tags(intermediate: FrequencyResults, case: pd.Series[Any]) -> list[Pair]:
    """The share of the reports that each tag stands for."""
    bots = intermediate.fitted
    shares = zip(bots.estimate[-len(case) :], bots.bse()[-len(case) :], case.index, strict=True)
    pairs = []
    for i, (share, error, tag) in enumerate(shares):
        (se,) = figures([error], 4)
        words = f"{one_line(tag, 20)} {share:.4f} (std err {se})"
        pairs.append(("Tags:" if i == 0 else "", words))
    return pairs


def _interval_notes(
    intermediate: FrequencyResults, frame: pd.DataFrame, alpha: float, source: str
) -> list[str]:
    exact = intermediate.exact is not None
    kind = "from the exact ones of the category and of the tags" if exact else "Wald"
    return [
        interval_note(alpha, kind, touch_ends(frame), source),
        "p-value: of p = 0 against p > 0, not adjusted for the number of categories.",
    ]


def _boundary_notes(fit: Fit, intermediate: FrequencyResults) -> list[str]:
    if not (intermediate.on_boundary and fit.is_maximum):
        return []
    return [
        "NOTE: the estimate is on the boundary (an intermediate frequency of zero); the intervals "
        "do not rest on it."
    ]


def _background_notes(case: pd.Series[Any], bound: pd.Series[float]) -> list[str]:
    """What the background assumes, and what it may cost."""
    noise = f"Expected l1 error from the noise of the reports: {bound['noise']:.3g}"
    if (case == "exact").all():
        return [f"The background is assumed to be exact. {noise}."]
    notes = []
    if lacking := _named(case.index[case == "none"]):
        notes.append(
            f"WARNING: no background is given for {lacking}: these reports were discarded, and "
            "their share was spread over the categories that are not sensitive for all, in "
            "proportion to the other estimates."
        )
    if given := _named(case.index[case == "given"]):
        notes.append(f"NOTE: the background of {given} was used as given, right or wrong.")
    return [
        *notes,
        "NOTE: standard errors, intervals and p-values allow for the noise of the reports only, "
        "not for an error of the background.",
        f"{noise}; from an error of the background: {bound['background']:.3g} at worst.",
    ]


def _named(tags: Iterable[Any]) -> str:
    return ", ".join(one_line(tag, 20) for tag in tags)
