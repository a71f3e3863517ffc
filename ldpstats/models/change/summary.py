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
    interval_note,
    protection_notes,
)
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    decimals,
    distinct_lines,
    figures,
    interval_columns,
    one_line,
    pvalue_text,
    pvalue_words,
    second_shown,
    second_words,
)

__all__ = ["change_summary"]

_HEAD = 12  # characters of the head of a column


def change_summary(
    fit: Fit,
    joint: AssociationResults,
    changes: Changes,
    turnover: Effect | None,
    *,
    frame: pd.DataFrame,
    alpha: float,
    max_rows: int,
    details: bool,
) -> SummaryTable:
    """What is said of the change of each category."""
    shown = _largest(frame, max_rows)
    digits, both = decimals(shown), second_shown(frame, details)
    second = ["linear", "linear_se"] if both else []
    # both waves come first, whatever they are called
    places = [0, 1, *(list(frame).index(c) for c in ["params", "bse", *second, "lower", "upper"])]
    rows = zip(shown.to_numpy(float)[:, places], shown["pvalue"], strict=True)
    question = f" of {one_line(fit.name, LONGEST_LABEL)}" if fit.name else ""
    heads = [*distinct_lines(joint.names, _HEAD), "change", "std err"]
    return SummaryTable(
        title=f"Change{question} from {' to '.join(one_line(wave, 40) for wave in joint.names)}",
        header=_header(fit, joint, changes, details),
        columns=[
            *heads,
            *(["unconstr.", "std err"] if both else []),
            *interval_columns(alpha),
            "p-value",
        ],
        stubs=distinct_lines(shown.index, LONGEST_LABEL),
        body=[[*figures(row, digits), pvalue_text(p)] for row, p in rows],
        notes=[
            *_lost_notes(changes.lost),
            *missing_notes(joint.nobs, joint.n_missing, joint.names, joint.lacking),
            *_interval_notes(fit, changes, alpha, second_words(frame, both, digits)),
            *_rest_notes(len(shown), len(frame)),
            *_test_notes(changes),
            *([] if turnover is None else [f"Turnover: {turnover}."]),
            *protection_notes(fit),
            *closing_notes(fit, joint.condition),
        ],
    )


def _largest(frame: pd.DataFrame, max_rows: int) -> pd.DataFrame:
    """All rows, or those of the largest changes, in order of category."""
    order = np.argsort(-np.abs(frame["linear"].to_numpy()), kind="stable")[:max_rows]
    return frame if len(frame) <= max_rows else frame.iloc[np.sort(order)]


def _header(
    fit: Fit, joint: AssociationResults, changes: Changes, details: bool
) -> list[list[str]]:
    pairs = zip(joint.names, fit.sources, strict=True)
    left = [(f"{one_line(wave, 20)}:", source) for wave, source in pairs]
    left += [("Estimator:", estimator_text(fit)), ("Categories:", str(len(joint.labels[0])))]
    right = [("No. Respondents:", str(fit.nobs)), ("Missing:", str(fit.n_missing))]
    if any(changes.lost):
        right.append(("In one wave only:", str(sum(changes.lost))))
    right.append(("Epsilon, both (nats):", epsilon_text(fit.epsilon)))
    return header(left, right, joint.fit if details else None)


def _lost_notes(lost: tuple[int, int]) -> list[str]:
    if not any(lost):
        return []
    each = " and ".join(f"{size:,}" for size in lost)
    return [f"NOTE: {each} persons, in one of the matched waves only, were left out."]


def _interval_notes(fit: Fit, changes: Changes, alpha: float, source: str) -> list[str]:
    if np.isnan(fit.linear.bse()).any():
        return ["Standard errors of so many categories were not computed: lump them, candidates=."]
    kind = "Wald" if changes.law is None else "score intervals with skewness"
    return [
        interval_note(alpha, kind, False, source),
        "p-value: of no change, two-sided, not adjusted for the number of categories.",
    ]


def _rest_notes(n_shown: int, n: int) -> list[str]:
    return [f"Shown: the {n_shown} largest of {n} changes."] if n_shown < n else []


def _test_notes(changes: Changes) -> list[str]:
    test = changes.homogeneity
    if test is None:
        return []
    notes = [
        f"Same distribution in both waves ({test.method}): {test.statistic:.4g} on {test.df:g} df, "
        f"{pvalue_words(test.pvalue)}."
    ]
    return [*notes, f"NOTE: {test.note}."] if test.note else notes
