"""The summary of a regression with unknown parameters of devices."""

from __future__ import annotations

from typing import Any

from ldpstats.models.regression.summary import model_name
from ldpstats.models.shared.notes import header
from ldpstats.models.shared.spelling import in_turn
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    distinct_lines,
    figures,
    interval_columns,
    pvalue_text,
)

__all__ = ["device_regression_summary"]


def device_regression_summary(results: Any, alpha: float) -> SummaryTable:
    """What is said of coefficients and parameters."""
    model, frame = results.model, results.summary_frame(alpha)
    columns = ["params", "bse", "lower", "upper"]
    body = [[*figures(row[columns], 4), pvalue_text(row["pvalues"])] for _, row in frame.iterrows()]
    mechanisms = list(dict.fromkeys(map(str, model.data.mechanisms())))
    left = [("Response:", model.endog_names), ("Model:", model_name(model.data.outcome))]
    left += [("Devices:" if i == 0 else "", one) for i, one in enumerate(mechanisms)]
    right = [
        ("Respondents:", f"{results.nobs}"),
        ("Groups:", f"{len(model.data.response)}"),
        ("Unknown parameters:", f"{len(model.unknown)}"),
        ("Log-likelihood:", f"{results.llf:.2f}"),
        ("Converged:", "yes" if results.converged else "NO"),
    ]
    return SummaryTable(
        title="Regression with unknown parameters of devices",
        header=header(left, right),
        columns=["coef", "std err", *interval_columns(alpha), "p-value"],
        stubs=distinct_lines(frame.index, LONGEST_LABEL),
        body=body,
        notes=_notes(results),
    )


def _notes(results: Any) -> list[str]:
    names = in_turn(list(results.model.unknown))
    notes = [
        "Intervals: profile likelihood of coefficients and parameters together.",
        "p-value: of zero, by the likelihood ratio; of unknown parameters against values above "
        "zero.",
        f"Unknown parameters of the devices, in [0, 1]: {names}.",
    ]
    if results.on_boundary:
        at = in_turn(list(results.on_boundary))
        notes.append(
            f"NOTE: the estimate of {at} is on the boundary: it has no standard error, and those "
            "of the rest are given its value. Rely on the intervals."
        )
    return notes
