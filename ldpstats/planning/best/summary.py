"""The summary of a design: statsmodels' layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ldpstats.models.shared.tables import SummaryTable

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = ["design_summary"]

_LOSSES = {
    "total": "sum of the variances of all frequencies",
    "worst": "largest variance of a frequency",
    "contrasts": "variance of the contrasts, summed",
    "D": "geometric mean of the eigenvalues of the covariance",
}


def design_summary(design: Any) -> Summary:
    """The design as a statsmodels `Summary`."""
    goal, k = design.goal, design.mechanism.k
    n_outputs = design.mechanism.channel().shape[1]
    header = [
        ["Mechanism:", type(design.mechanism).__name__, "Categories:", str(k)],
        ["Design:", design.name or "(no name)", "Reports:", _count(n_outputs)],
        ["Epsilon:", _epsilon(design), "Priors:", str(len(goal.priors))],
        ["Loss x n:", f"{design.loss:.6g}", "Gap:", f"{design.gap:.2g}"],
    ]
    stubs = [str(name) for name in design.efficiency.index]
    body = [[_ratio(value)] for value in design.efficiency.tolist()]
    table = SummaryTable(
        "Best channel for a privacy limit",
        header,
        ["respondents needed"],
        stubs,
        body,
        _notes(design),
    )
    return table.layout()


def _count(n: int) -> str:
    return str(n) if n < 10**9 else f"about 2^{n.bit_length() - 1}"


def _ratio(value: float) -> str:
    if np.isnan(value):
        return "not computed"
    return "not identified" if np.isinf(value) else f"{value:.3f}"


def _epsilon(design: Any) -> str:
    if design.limits.kind == "one":
        return f"{design.limits.least:.6g}"
    off = design.epsilon[~np.eye(len(design.epsilon), dtype=bool)]
    whose = "category" if design.limits.kind == "own" else "pair"
    return f"{off.min():.4g} to {off.max():.4g}, by {whose}"


def _notes(design: Any) -> list[str]:
    notes = [
        f"Loss: {_LOSSES[design.goal.kind]}, for one respondent; divide by the number.",
        f"No channel within the limits needs fewer respondents by more than {_share(design.gap)}.",
        "Respondents needed: by named mechanisms for the same precision, as ratios to the design.",
    ]
    if len(design.goal.priors) > 1:
        notes.append("The loss is that at the worst of the priors.")
    if design.unprotected.any():
        open_ = design.mechanism.categories[design.unprotected].tolist()
        notes.append(f"NOTE: reports may reveal {_listed(open_)}, which are not sensitive.")
    if not design.identified:
        notes.append(
            "NOTE: this channel answers that question alone. Its reports do not determine the "
            "other frequencies: a fit of all categories raises NotIdentified."
        )
    if design.gap > 1e-3:
        notes.append(
            "NOTE: the gap is that of the channel and the certificate together: the channel may be "
            "closer to the best one than it says."
        )
    notes.append("The design is best at its prior: see sensitivity() for others.")
    return notes


def _share(gap: float) -> str:
    return "1e-7 of them" if gap < 1e-7 else f"{100 * gap:.2g} %"


def _listed(labels: list[Any]) -> str:
    shown = ", ".join(map(str, labels[:5]))
    return shown + (", ..." if len(labels) > 5 else "")
