"""The summary of a posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ldpstats.inference.outcome import TestResult
from ldpstats.models.posterior.record import Origin, Run
from ldpstats.models.shared.notes import epsilon_text, header, rest_notes
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    distinct_lines,
    figures,
    interval_columns,
    one_line,
    pvalue_words,
)

__all__ = ["chain_doubts", "posterior_summary"]

RHAT = 1.01  # Vehtari et al. (2021)
FEWEST = 400  # effective draws (the same)
_DOUBTFUL = 0.01  # predictive p-value
_LONGEST_PRIOR = 40  # in the header; a longer one is a note
_ENGINES = {"hmc": "HMC, Laplace metric", "pymc": "PyMC, NUTS"}


def chain_doubts(
    rhat: pd.Series[float], ess: pd.DataFrame, divergences: int, size: tuple[int, int]
) -> list[str]:
    """Why the draws are not to be relied on, in words; none where they are."""
    doubts = []
    chains, n = size
    most = max(RHAT, 1.0 + 1.0 / n)  # R-hat of few independent draws varies by 1/n
    if (worst := float(rhat.max())) > most:
        doubts.append(
            f"chains do not agree yet: R-hat is up to {worst:.3f}, above {most:.4g}; draw more"
        )
    if (least := float(ess.min().min())) < FEWEST:
        doubts.append(
            f"the {chains * n} draws are worth {least:.0f} independent ones for some parameter, "
            f"fewer than {FEWEST}: intervals and probabilities are rough; draw more"
        )
    if divergences:
        doubts.append(
            f"{divergences} trajectories diverged: the chains may have missed a part of the "
            "posterior; compare with another prior or engine"
        )
    return doubts


def posterior_summary(
    origin: Origin,
    run: Run,
    size: tuple[int, int],
    frame: pd.DataFrame,
    check: TestResult | None,
    doubts: list[str],
    *,
    alpha: float,
    max_rows: int,
    details: bool,
    shares: bool,
) -> SummaryTable:
    """What is said of a posterior; `size` are chains and draws of each."""
    order = np.argsort(-frame["params"].to_numpy(), kind="stable")[:max_rows]
    shown = frame if len(frame) <= max_rows else frame.iloc[order]
    smallest = float(shown["bse"].where(shown["bse"] > 1e-9, 1.0).min())  # 0 for a single category
    digits = int(np.clip(2 - np.floor(np.log10(smallest)), 3 if not shares else 4, 9))
    columns = ["params", "bse", "lower", "upper"]
    body = [
        [
            *figures(row[columns], digits),
            f"{row.ess_bulk:.0f}",
            f"{row.ess_tail:.0f}",
            *figures([row.rhat], 3),
        ]
        for _, row in shown.iterrows()
    ]
    title = "Posterior of " + origin.subject[:1].lower() + origin.subject[1:]
    if origin.name:
        title += f" of {one_line(origin.name, LONGEST_LABEL)}"
    return SummaryTable(
        title=title,
        header=_header(origin, run, size, details),
        columns=["mean", "std dev", *interval_columns(alpha), "ESS", "tail ESS", "R-hat"],
        stubs=distinct_lines(_names(shown.index), LONGEST_LABEL),
        body=body,
        notes=[
            *_long_prior(origin.prior),
            f"Intervals hold {100 * (1 - alpha):.4g}% of the posterior, with equal tails.",
            *([origin.note] if origin.note else []),
            *_protection(origin),
            *rest_notes(len(shown), len(frame)),
            *_check_notes(check),
            *(f"WARNING: {doubt}." for doubt in doubts),
        ],
    )


def _header(origin: Origin, run: Run, size: tuple[int, int], details: bool) -> list[list[str]]:
    several = len(origin.sources) > 1
    head = "Mechanisms:" if several else "Mechanism:"
    left = [(head if i == 0 else "", source) for i, source in enumerate(origin.sources)]
    prior = origin.prior if len(origin.prior) <= _LONGEST_PRIOR else "see below"
    left += [("Prior:", prior), ("Engine:", _ENGINES[run.engine])]
    right = [
        ("No. Reports:", str(origin.nobs)),
        ("Missing:", str(origin.n_missing)),
        ("Epsilon, largest:" if several else "Epsilon (nats):", epsilon_text(origin.epsilon)),
        ("Draws:", f"{size[0]} chains of {size[1]}"),
    ]
    if details:
        left += [("Warm-up:", f"{run.warmup} iterations"), ("Kept:", f"one in {run.thin}")]
        right += [
            ("Accepted:", f"{run.accepted:.2f}"),
            ("Divergences:", str(run.divergences)),
            ("Step size:", f"{run.step_size:.3g}"),
        ]
    return header(left, right)


def _long_prior(prior: str) -> list[str]:
    return [f"Prior: {one_line(prior, 400)}."] if len(prior) > _LONGEST_PRIOR else []


def _names(index: pd.Index[Any]) -> list[Any]:
    if not isinstance(index, pd.MultiIndex):
        return index.tolist()
    return [" : ".join(map(str, label)) for label in index]


def _protection(origin: Origin) -> list[str]:
    if not origin.is_partial:
        return []
    return [
        "NOTE: epsilon protects the sensitive categories only: reports may reveal any other answer."
    ]


def _check_notes(check: TestResult | None) -> list[str]:
    if check is None:
        return []
    notes = [f"Posterior predictive check (chi-square discrepancy): {pvalue_words(check.pvalue)}."]
    if check.pvalue < _DOUBTFUL:
        notes.append(f"WARNING: the reports contradict the hypothesis that {check.null}.")
    return notes
