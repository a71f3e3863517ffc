"""The summary of the associations of several variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.notes import estimator_text
from ldpstats.models.shared.spelling import count_of
from ldpstats.models.shared.tables import (
    SummaryTable,
    distinct_lines,
    figures,
    interval_columns,
    one_line,
    pvalue_text,
)

__all__ = ["matrix_summary"]

_LONGEST_NAME = 24


def matrix_summary(
    variables: Sequence[tuple[str, str, int]],
    frame: pd.DataFrame,
    fits: Mapping[tuple[str, ...], Fit],
    alpha: float,
    max_rows: int,
) -> SummaryTable:
    """What is said of the pairs; `variables` are names, mechanisms and numbers of reports.

    `fits` are those whose machinery is to be shown.
    """
    order = np.argsort(frame["pvalue"].fillna(2.0).to_numpy(), kind="stable")[:max_rows]
    shown = frame if len(frame) <= max_rows else frame.iloc[order]
    names = [name for name, *_ in variables]
    short = dict(zip(names, distinct_lines(names, _LONGEST_NAME), strict=True))
    body, rows = [], list[Any](shown.itertuples(index=False))
    for row in rows:
        nobs = "-" if row.nobs is pd.NA else str(row.nobs)
        df = "-" if np.isnan(row.df) else f"{row.df:g}"
        tests = [
            *figures([row.statistic], 2),
            df,
            pvalue_text(row.pvalue),
            pvalue_text(row.pvalue_holm),
        ]
        body.append([*figures([row.cramers_v, row.lower, row.upper], 3), nobs, *tests])
    ends = interval_columns(alpha)
    return SummaryTable(
        title=f"Associations of {len(variables)} variables",
        header=[
            [f"{short[name]}:", source, "Reports:", str(size)] for name, source, size in variables
        ],
        columns=["Cramer's V", *ends, "n", "chi2", "df", "p-value", "Holm"],
        stubs=[" : ".join(short[name] for name in pair) for pair in shown.index],
        body=body,
        notes=[
            *_notes(frame, len(shown), alpha),
            *(_machinery(pair, fits[pair]) for pair in shown.index if pair in fits),
        ],
    )


def _notes(frame: pd.DataFrame, shown: int, alpha: float) -> list[str]:
    tested = int(frame["pvalue"].notna().sum())
    times = count_of(tested, "test")
    notes = [
        f"Cramer's V with {100 * (1 - alpha):.4g}% intervals, from the unconstrained estimates; "
        f"score tests of independence, p-values as they are and adjusted for {times} (Holm)."
    ]
    if frame["n_missing"].sum():
        notes.append("NOTE: each pair rests on the respondents who have both reports.")
    if rest := len(frame) - shown:
        notes.append(f"{rest} pairs with larger p-values are not shown.")
    said: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for pair, note, upper in zip(frame.index, frame["note"], frame["upper"], strict=True):
        if note:
            kind = "WARNING" if np.isnan(upper) else "NOTE"
            said.setdefault((kind, note), []).append(pair)
    return notes + [f"{kind}: {_listed(pairs)}: {note}." for (kind, note), pairs in said.items()]


def _listed(pairs: list[tuple[str, str]]) -> str:
    """Pairs in words: "a and b", and "a with b, c" where all of them have a variable in common."""
    common = set(pairs[0]).intersection(*pairs)
    if len(pairs) > 1 and common:
        (name,) = common
        others = (b if a == name else a for a, b in pairs)
        return f"{one_line(name, 40)} with {', '.join(one_line(other, 40) for other in others)}"
    return ", ".join(f"{one_line(a, 40)} and {one_line(b, 40)}" for a, b in pairs)


def _machinery(pair: tuple[str, ...], fit: Fit) -> str:
    """How one pair was fitted."""
    names = " and ".join(one_line(name, _LONGEST_NAME) for name in pair)
    gap = f", gap {fit.gap_nats:.2g} nats" if np.isfinite(fit.gap) else ""
    state = "converged" if fit.converged else "did NOT converge"
    log_lik = f", log-likelihood {fit.llf:.2f}" if np.isfinite(fit.llf) else ""
    steps = count_of(fit.n_iter, "iteration")
    return f"{names}: {estimator_text(fit)}{log_lik}{gap}, {steps}, {state}."
