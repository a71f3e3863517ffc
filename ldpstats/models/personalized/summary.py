"""The summary of frequencies behind a personalised mechanism as statsmodels tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary

from ldpstats.models.frequency.summary import (
    COVARIANCE,
    decimals,
    one_line,
    protection_notes,
    tabulated,
)
from ldpstats.problems.problem import ill_conditioned

__all__ = ["personalized_summary"]

_LONGEST_LABEL = 40


def personalized_summary(results: Any, alpha: float, max_rows: int) -> Summary:
    """Lay out `PersonalizedResults` as a header, a table of categories and notes."""
    frame = results.summary_frame(alpha)
    order = np.arange(len(frame))
    if len(frame) > max_rows:
        order = np.argsort(-frame["linear"].to_numpy(), kind="stable")[:max_rows]
    shown = frame.iloc[order]
    columns = ["estimate", "std err", "unconstr.", "std err", f"[{alpha / 2:.4g}"]
    columns += [f"{1 - alpha / 2:.4g}]", "p-value"]
    digits = decimals(shown)
    body = [
        [*("-" if np.isnan(v) else f"{v:.{digits}f}" for v in row[:-1]), f"{row[-1]:.3f}"]
        for row in shown.to_numpy()
    ]
    stubs = [one_line(label, _LONGEST_LABEL) for label in shown.index]
    title = "Frequencies behind a personalised mechanism"
    notes = _notes(results, frame, alpha, len(frame) - len(shown))
    return tabulated(title, _header(results), columns, body, stubs, notes)


def _header(results: Any) -> list[list[str]]:
    llf = f"{results.llf:.6g}" if np.isfinite(results.llf) else "-"
    gap = f"{results.gap_nats:.2g} nats" if np.isfinite(results.gap) else "-"
    eps = "Epsilon, largest:" if len(results.sources) > 1 else "Epsilon (nats):"
    kind = COVARIANCE.get(results.cov_type, results.cov_type)
    method = f"{results.method}, {results.settings}" if results.settings else results.method
    rows = [["Mechanism:" if i == 0 else "", s, "", ""] for i, s in enumerate(results.sources)]
    rows += [
        ["Estimator:", method, "No. Reports:", str(results.nobs)],
        ["Covariance:", kind, "Missing:", str(results.n_missing)],
        ["Log-Likelihood:", llf, eps, f"{results.epsilon:.6g}"],
        ["Gap to maximum:", gap, "Converged:", "yes" if results.converged else "NO"],
    ]
    bots = results.intermediate.summary_frame().iloc[results.k :]
    shares = zip(bots["params"], bots["bse"], results.case.items(), strict=True)
    for i, (share, error, (tag, case)) in enumerate(shares):
        se = "-" if np.isnan(error) else f"{error:.4f}"
        words = ["Tags:" if i == 0 else "", f"{one_line(tag, 20)} {share:.4f} (std err {se})"]
        rows.append([*words, "Background:" if i == 0 else "", case])
    return rows


def _notes(results: Any, frame: pd.DataFrame, alpha: float, rest: int) -> list[str]:
    exact = results.intermediate.exact is not None
    kind = "from the exact ones of the category and of the tags" if exact else "Wald"
    notes = [
        f"Intervals: {100 * (1 - alpha):.4g}% {kind}, around the unconstrained estimate, cut to "
        "[0, 1].",
        "p-value: of p = 0 against p > 0, not adjusted for the number of categories.",
    ]
    if rest:
        notes.append(f"{rest} categories with smaller estimates are not shown.")
    notes += protection_notes(results.sources)
    notes += _background_notes(results)
    if results.intermediate.on_boundary and results.is_maximum:
        notes.append(
            "The estimate is on the boundary (an intermediate frequency of zero), which the "
            "intervals do not rest on."
        )
    if results.cov_type == "none (constrained)":
        notes.append(
            f"NOTE: {results.without_errors}; those shown are of the unconstrained estimate."
        )
    if not results.converged:
        notes.append(f"NOT CONVERGED: {results.message}")
    if words := ill_conditioned(results.intermediate.condition):
        notes.append(f"WARNING: {words}.")
    fit = results.intermediate.goodness_of_fit
    if fit is not None:
        notes.append(f"Goodness of fit ({fit.method}): p = {fit.pvalue:.3g}.")
        if fit.pvalue < 0.01:
            notes.append(f"DOUBTFUL: the reports speak against the hypothesis that {fit.null}.")
    return notes


def _background_notes(results: Any) -> list[str]:
    """What the background assumes, and what it may cost."""
    names = {
        case: ", ".join(one_line(tag, 20) for tag in results.tags[results.case == case])
        for case in ("none", "given")
    }
    bound = results.loss_bound()
    noise = f"Expected l1 error from the noise of the reports: {bound['noise']:.3g}"
    if results.exact:
        return [f"The background is taken to be exact. {noise}."]
    notes = []
    if names["none"]:
        notes.append(
            f"NO BACKGROUND of {names['none']}: such reports were discarded, and their share "
            "spread over the categories that are not sensitive for all in proportion to the others."
        )
    if names["given"]:
        notes.append(f"BACKGROUND of {names['given']}: taken as it was given, right or wrong.")
    return [
        *notes,
        "Standard errors, intervals and p-values allow for the noise of the reports only, not for "
        "an error of the background.",
        f"{noise}; from an error of the background: {bound['background']:.3g} at worst.",
    ]
