"""The summary of least squares of a privatised answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ldpstats.errors import NotAvailable
from ldpstats.models.regression.summary import few_notes, quantiles_in_words
from ldpstats.models.shared.notes import epsilon_text, header
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    distinct_lines,
    figures,
    interval_columns,
    one_line,
    pvalue_text,
    pvalue_words,
)

__all__ = ["linear_summary"]

_SCORES = 8  # scores that a note shows
_NAIVE = 6  # and naive coefficients
_FEW = 10.0  # degrees of freedom, in respondents, below which skewed answers mislead t
_WORDS = {
    "nonrobust": "equal variances",
    "HC0": "robust (HC0)",
    "HC1": "robust (HC1)",
    "HC2": "robust (HC2)",
    "HC3": "robust (HC3)",
}


def linear_summary(
    result: Any, frame: pd.DataFrame, alpha: float, max_rows: int, details: bool
) -> SummaryTable:
    """What is said of a `PrivatizedOLSResults`, whose coefficients are in `frame`."""
    shown = frame.iloc[:max_rows]
    letter = "t" if result.use_t else "z"
    digits = _digits(shown["std_error"].to_numpy())
    rows = zip(
        shown[["estimate", "std_error"]].to_numpy(),
        result.tvalues.iloc[:max_rows],
        shown["p_value"],
        shown[["lower", "upper"]].to_numpy(),
        strict=True,
    )
    return SummaryTable(
        title=f"Least squares of {one_line(result.model.endog_names, LONGEST_LABEL)}",
        header=_header(result, details),
        columns=["coef", "std err", letter, f"P>|{letter}|", *interval_columns(alpha)],
        stubs=distinct_lines(shown.index, LONGEST_LABEL),
        body=[
            [*figures(b, digits), *figures([t], 2), pvalue_text(p), *figures(ends, digits)]
            for b, t, p, ends in rows
        ],
        notes=_notes(result, len(shown), len(frame), details),
    )


def _digits(se: Any) -> int:
    """Decimals that show two digits of the smallest standard error; from 4 to 9."""
    smallest = float(se[se > 1e-9].min(initial=1.0))
    return int(np.clip(2 - np.floor(np.log10(smallest)), 4, 9))


def _header(result: Any, details: bool) -> list[list[str]]:
    model = result.model
    several = len(model.groups) > 1
    left = [
        (
            "Mechanisms:" if several and not i else "" if i else "Mechanism:",
            f"{group.mechanism}" + (f", n = {len(group)}" if several else ""),
        )
        for i, group in enumerate(model.groups)
    ]
    clusters = f"{result.n_clusters} clusters" + (" (CR2)" if result.shares is not None else "")
    covariance = _WORDS.get(result.cov_type, clusters)
    left += [("Covariance:", covariance), ("R2, reports:", f"{result.rsquared:.4f}")]
    if not model.is_observed:
        left.append(("R2, answers:", _share(result.rsquared_answers)))
    right = [
        ("No. Reports:", f"{result.nobs:g}"),
        ("Missing:", str(model.n_missing)),
        ("Epsilon, largest:" if several else "Epsilon (nats):", epsilon_text(result.epsilon)),
        ("Df residuals:", f"{result.df_resid:g}"),
    ]
    if details:
        left.append(("F statistic:", "-" if np.isnan(result.fvalue) else f"{result.fvalue:.4g}"))
        right.append(("Residual variance:", f"{result.scale:.6g}"))
    return header(left, right)


def _share(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"


def _notes(result: Any, n_shown: int, n: int, details: bool) -> list[str]:
    model = result.model
    law = quantiles_in_words(result.df_inference, result.use_t)
    least = 4.0 if result.n_clusters is not None else _FEW
    notes = [f"Intervals and p-values: Wald, {law}.", *few_notes(result.df_inference, least)]
    if n_shown < n:
        notes.append(f"Shown: the first {n_shown} of {n} coefficients.")
    if not np.isnan(result.fvalue):
        notes.append(
            f"All coefficients but the constant are zero: {pvalue_words(result.f_pvalue)}."
        )
    if details or len(model.labels) <= _SCORES:
        pairs = list(zip(model.labels.tolist(), model.scores.tolist(), strict=True))
        if any(label != score for label, score in pairs):
            text = ", ".join(f"{one_line(a, LONGEST_LABEL)} = {v:g}" for a, v in pairs[:40])
            notes.append(f"Scores: {text}{', ...' if len(pairs) > 40 else ''}.")
    if not model.is_observed:
        notes.append(
            "NOTE: the response is decoded from the reports, and residuals hold the randomisation, "
            f"which is {_percent(result.privacy_share)} of their variance. The R2 of the reports "
            "is not that of the answers; there is no likelihood."
        )
        notes += _naive_notes(result)
        if result.cov_type == "nonrobust":
            notes.append(
                "WARNING: the randomisation makes the variances of the response unequal, and the "
                "standard errors assume that they are equal: use cov_type='HC2'."
            )
    if model.response.is_open:
        notes.append("NOTE: the candidates are taken to be all answers.")
    if result.n_clusters is not None and result.shares is None and result.n_clusters < 50:
        notes.append(
            f"WARNING: {result.n_clusters} clusters are few for a covariance; intervals may cover "
            "less often than stated."
        )
    return notes


def _naive_notes(result: Any) -> list[str]:
    """The coefficients of the reports themselves, where they could be mistaken for answers."""
    try:
        naive = result.compare_naive()["naive"]
    except NotAvailable:
        return []
    pairs = list(naive.items())[:_NAIVE]
    text = ", ".join(f"{one_line(name, LONGEST_LABEL)} {b:.3g}" for name, b in pairs)
    more = ", ..." if len(naive) > _NAIVE else ""
    return [f"Naive coefficients, of the reports as if they were answers: {text}{more}."]


def _percent(share: float) -> str:
    if np.isnan(share):
        return "an unknown part"
    return f"{100.0 * share:.0f}%"
