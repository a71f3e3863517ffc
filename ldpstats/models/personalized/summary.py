"""The summary of frequencies behind a personalised mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    closing_notes,
    decimals,
    epsilon_text,
    estimate_columns,
    figures,
    fit_rows,
    goodness_notes,
    largest,
    one_line,
    protection_notes,
    source_rows,
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
) -> SummaryTable:
    """What is said of the frequencies; `case` and `bound` are what results have of these names."""
    shown = largest(frame, max_rows)
    digits = decimals(shown)
    exact = intermediate.exact is not None
    kind = "from the exact ones of the category and of the tags" if exact else "Wald"
    notes = [
        f"Intervals: {100 * (1 - alpha):.4g}% {kind}, around the unconstrained estimate, cut to "
        "[0, 1].",
        "p-value: of p = 0 against p > 0, not adjusted for the number of categories.",
    ]
    if rest := len(frame) - len(shown):
        notes.append(f"{rest} categories with smaller estimates are not shown.")
    notes += protection_notes(fit) + _background_notes(case, bound)
    if intermediate.on_boundary and fit.is_maximum:
        notes.append(
            "NOTE: the estimate is on the boundary (an intermediate frequency of zero); the "
            "intervals do not rest on it."
        )
    notes += closing_notes(fit, intermediate.condition)
    return SummaryTable(
        title="Frequencies behind a personalised mechanism",
        header=_header(fit, intermediate, case),
        columns=[*estimate_columns(alpha), "p-value"],
        stubs=[one_line(label, LONGEST_LABEL) for label in shown.index],
        body=[[*figures(row[:-1], digits), f"{row[-1]:.3f}"] for row in shown.to_numpy()],
        notes=notes + goodness_notes(intermediate.goodness_of_fit),
    )


def _header(fit: Fit, intermediate: FrequencyResults, case: pd.Series[Any]) -> list[list[str]]:
    eps = "Epsilon, largest:" if len(fit.sources) > 1 else "Epsilon (nats):"
    right = [
        ("No. Reports:", str(fit.nobs)),
        ("Missing:", str(fit.n_missing)),
        (eps, epsilon_text(fit.epsilon)),
    ]
    rows = source_rows(fit) + fit_rows(fit, right)
    bots = intermediate.fitted
    shares = zip(bots.estimate[-len(case) :], bots.bse()[-len(case) :], case.items(), strict=True)
    for i, (share, error, (tag, known)) in enumerate(shares):
        (se,) = figures([error], 4)
        words = ["Tags:" if i == 0 else "", f"{one_line(tag, 20)} {share:.4f} (std err {se})"]
        rows.append([*words, "Background:" if i == 0 else "", known])
    return rows


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
