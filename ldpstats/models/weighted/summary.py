"""The summary of weighted frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ldpstats.inference.tests import TestResult
from ldpstats.models.shared.notes import (
    Pair,
    closing_notes,
    design_pairs,
    estimator_text,
    header,
    protection_notes,
    resolution_notes,
    respondents_pairs,
    rest_notes,
    title,
)
from ldpstats.models.shared.spelling import count_of
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    decimals,
    distinct_lines,
    estimate_cells,
    estimate_columns,
    figures,
    largest,
    pvalue_words,
    second_shown,
    second_words,
    touch_ends,
)
from ldpstats.models.weighted.base import DesignResults
from ldpstats.models.weighted.record import Domains, SampleFacts

__all__ = ["effect_cells", "effect_columns", "sample_notes", "sample_pairs", "weighted_summary"]


def weighted_summary(
    results: DesignResults,
    categories: pd.Index[Any],
    equal: TestResult | None,
    persons: float,
    *,
    alpha: float,
    max_rows: int,
    details: bool,
) -> SummaryTable:
    """What is said of weighted frequencies: a block of rows for each domain.

    `persons` is the sum of the weights of those with a report, in all domains.
    """
    frame = results.summary_frame(alpha)
    shown = largest(frame, max_rows)
    digits, both = decimals(shown), second_shown(frame, details)
    stubs, body = _rows(results.domains, categories, shown, (digits, both))
    fit, by = results.fit, results.domains.by
    what = title(fit, "Weighted frequencies") + (f" by {', '.join(by)}" if by else "")
    left = [*design_pairs(fit), ("Estimator:", estimator_text(fit)), *sample_pairs(results)]
    return SummaryTable(
        title=what,
        header=header(left, _right(results), fit if details else None),
        columns=[*estimate_columns(alpha, both), *effect_columns()],
        stubs=stubs,
        body=body,
        notes=[
            *sample_notes(results, frame, alpha, second_words(frame, both, digits)),
            *rest_notes(len(shown), len(frame)),
            *_answer_notes(results, persons),
            *_domain_notes(results.domains, equal),
            *protection_notes(fit),
            *([] if by else resolution_notes(fit)),
            *closing_notes(fit, 1.0),
        ],
    )


def _rows(
    domains: Domains, categories: pd.Index[Any], shown: pd.DataFrame, how: tuple[int, bool]
) -> tuple[list[str], list[list[str]]]:
    """Stubs and cells; with domains each under its label."""
    cells = [
        row + effects
        for row, effects in zip(estimate_cells(shown, *how), effect_cells(shown), strict=True)
    ]
    if not domains.by:
        return distinct_lines(shown.index, LONGEST_LABEL), cells
    stubs: list[str] = []
    body: list[list[str]] = []
    own = [label[:-1] for label in shown.index]
    lines = distinct_lines(categories, LONGEST_LABEL)
    names = [lines[place] for place in categories.get_indexer(shown.index.get_level_values(-1))]
    for label, size in zip(domains.labels, domains.sizes, strict=True):
        rows = [i for i, one in enumerate(own) if one == tuple(label)]
        if rows:
            stubs.append(f"{', '.join(map(str, label))} (n = {size})")
            body.append([""] * len(cells[0]))
            stubs += [f"  {names[i]}" for i in rows]
            body += [cells[i] for i in rows]
    return stubs, body


def effect_columns() -> list[str]:
    """Heads of the two factors of the design effect."""
    return ["deff design", "deff privacy"]


def effect_cells(frame: pd.DataFrame) -> list[list[str]]:
    """The cells below `effect_columns`."""
    return [figures(row, 2) for row in frame[["deff_design", "deff_privacy"]].to_numpy()]


def sample_pairs(results: DesignResults) -> list[Pair]:
    """How the sample was drawn."""
    facts = results.sample
    pairs = [("Design:", facts.design), ("Variance:", facts.variance)]
    if facts.n_units:
        units = f"{facts.n_units} in {facts.n_strata} " + (
            "strata" if facts.n_strata > 1 else "stratum"
        )
        pairs.append(("Units:", units))
    return pairs


def _right(results: DesignResults) -> list[Pair]:
    facts: SampleFacts = results.sample
    return [
        *respondents_pairs(results.fit),
        ("Sum of weights:", f"{facts.weight_sum:,.6g}"),
        ("Df of design:", f"{facts.df:g}"),
    ]


def sample_notes(
    results: DesignResults, frame: pd.DataFrame, alpha: float, source: str
) -> list[str]:
    """What intervals are, and what the design effects say."""
    df = results.df.to_numpy()
    cut = ", cut to [0, 1]" if touch_ends(frame) else ""
    law = f"{results.intervals}, t quantiles"
    kind = (
        f"{100 * (1 - alpha):.4g}% {law} with {_range(*np.maximum([df.min(), df.max()], 1.0))} df"
    )
    kind += " of each domain" * bool(results.domains.by)
    notes = [f"Intervals: {kind}{cut}{source}."]
    notes.append(
        "deff design: variance without noise over that of a simple random sample; deff privacy: "
        "variance over that without noise."
    )
    inner = (frame["lower"] > 0.0) & (frame["upper"] < 1.0)  # of others it is mostly chance
    known = frame["effective_n"][inner].dropna()
    if len(known):
        low, high = known.min(), known.max()
        notes.append(
            f"Effective sample size: {_range(low, high)} true answers of a simple random sample."
        )
    notes += _noise_notes(frame)
    if np.any(df < 1.0):
        notes.append(
            "WARNING: a domain lies in a single unit of each stratum, which shows little or "
            "nothing of its variance: its intervals are for one df."
        )
    return notes


def _range(low: float, high: float) -> str:
    """Two numbers without decimals, or one if they are alike."""
    ends = dict.fromkeys(f"{end:,.0f}" for end in (low, high))
    return " to ".join(ends)


def _noise_notes(frame: pd.DataFrame) -> list[str]:
    """Where the noise leaves little or nothing to estimate the design effect from.

    A variance on so many degrees of freedom has a relative standard error of sqrt(2 / df).
    """
    spread = frame["deff_privacy"] * np.sqrt(2.0 / np.maximum(frame["df"], 1.0))
    doubtful = int(((frame["deff_privacy"] > 2.0) & (spread > 0.5)).sum())
    notes = []
    if frame["deff_design"].isna().any():
        notes.append(
            "NOTE: -: not estimable, as the noise leaves no variance for the design, or the "
            "estimate is not between 0 and 1."
        )
    if doubtful:
        whose = f"those of {count_of(doubtful, 'estimate')}" if doubtful < len(frame) else "both"
        notes.append(
            "NOTE: where the noise has most of the variance, deff design and deff privacy are "
            f"rough, here {whose}; their product is not."
        )
    return notes


def _answer_notes(results: DesignResults, persons: float) -> list[str]:
    """The sum of the weights that totals rest on, where some did not answer."""
    if not results.fit.n_missing:
        return []
    where = " and are in a domain" if results.domains.by and results.domains.n_ungrouped else ""
    return [f"Totals are of those who answered{where}: the sum of their weights is {persons:,.6g}."]


def _domain_notes(domains: Domains, equal: TestResult | None) -> list[str]:
    """Who is in no domain, and whether domains are alike."""
    notes = []
    if domains.n_ungrouped:
        notes.append(f"NOTE: {domains.n_ungrouped} respondents are in no domain.")
    if equal is not None:
        words = f"{equal.method}): {pvalue_words(equal.pvalue)}"
        notes.append(f"Same distribution in all domains ({words}.")
    return notes
