"""The summary of a change between two waves."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ldpstats.inference.tables.effects import Effect
from ldpstats.models.association.results import AssociationResults
from ldpstats.models.change.record import Changes
from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.missing import missing_notes
from ldpstats.models.shared.notes import (
    closing_notes,
    epsilon_text,
    estimator_text,
    header,
    protection_notes,
)
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    decimals,
    figures,
    interval_columns,
    one_line,
    pvalue_text,
    pvalue_words,
)

__all__ = ["change_summary"]

_SHOWN = [0, 1, 2, 3, 6, 7]  # columns: both waves, change, standard error, lower, upper
_ROUNDING = 5e-5  # of frequencies, that a summary does not show


def change_summary(
    fit: Fit,
    joint: AssociationResults,
    changes: Changes,
    turnover: Effect | None,
    frame: pd.DataFrame,
    alpha: float,
    max_rows: int,
    details: bool,
) -> SummaryTable:
    """What is said of the change of each category."""
    order = np.argsort(-np.abs(frame["linear"].to_numpy()), kind="stable")[:max_rows]
    shown = frame if len(frame) <= max_rows else frame.iloc[np.sort(order)]
    digits = decimals(shown)
    parts = shown.to_numpy(float)[:, _SHOWN], shown["pvalues"]
    body = [[*figures(row, digits), pvalue_text(p)] for row, p in zip(*parts, strict=True)]
    heads = [*(one_line(wave, 12) for wave in joint.names), "change", "std err"]
    notes = missing_notes(joint.nobs, joint.n_missing, joint.names, joint.lacking)
    notes += _interval_notes(fit, changes, shown, alpha)
    if rest := len(frame) - len(shown):
        notes.append(f"{rest} categories with smaller changes are not shown.")
    notes += _test_notes(changes) + ([] if turnover is None else [f"Turnover: {turnover}."])
    question = f" of {one_line(fit.name, LONGEST_LABEL)}" if fit.name else ""
    return SummaryTable(
        title=f"Change{question} from {' to '.join(one_line(wave, 40) for wave in joint.names)}",
        header=_header(fit, joint, details),
        columns=[*heads, *interval_columns(alpha), "p-value"],
        stubs=[one_line(label, LONGEST_LABEL) for label in shown.index],
        body=body,
        notes=notes + protection_notes(fit) + closing_notes(fit, joint.condition),
    )


def _header(fit: Fit, joint: AssociationResults, details: bool) -> list[list[str]]:
    waves = [f"{one_line(wave, 20)}:" for wave in joint.names]
    left = [*zip(waves, fit.sources, strict=True), ("Estimator:", estimator_text(fit))]
    right = [
        ("Categories:", str(len(joint.labels[0]))),
        ("No. Respondents:", str(fit.nobs)),
        ("Left out:", str(fit.n_missing)),
        ("Epsilon, both (nats):", epsilon_text(fit.epsilon)),
    ]
    return header(left, right, joint.fit if details else None)


def _interval_notes(fit: Fit, changes: Changes, shown: pd.DataFrame, alpha: float) -> list[str]:
    if np.isnan(fit.linear.bse()).any():
        return ["Standard errors of so many categories were not computed: lump them, candidates=."]
    kind = "Wald" if changes.law is None else "score intervals with skewness"
    notes = [f"Intervals: {100 * (1 - alpha):.4g}% {kind}, from the unconstrained estimate."]
    gap = np.abs(shown["params"] - shown["linear"]).max()
    if gap > _ROUNDING:
        notes.append(
            f"NOTE: the unconstrained estimate differs, by {gap:.2g} at most: see summary_frame()."
        )
    return notes


def _test_notes(changes: Changes) -> list[str]:
    test = changes.homogeneity
    if test is None:
        return []
    notes = [
        f"Same distribution in both waves ({test.method}): {test.statistic:.4g} on {test.df:g} df, "
        f"{pvalue_words(test.pvalue)}."
    ]
    return [*notes, f"NOTE: {test.note}."] if test.note else notes
