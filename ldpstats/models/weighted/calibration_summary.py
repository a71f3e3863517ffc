"""The summary of what was done to the weights of a survey."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ldpstats.models.shared.notes import header
from ldpstats.models.shared.spelling import count_of
from ldpstats.models.shared.tables import LONGEST_LABEL, SummaryTable, one_line

__all__ = ["calibration_summary"]

_QUARTILES = ("min", "25%", "50%", "75%", "max")


def calibration_summary(
    frame: pd.DataFrame, nobs: int, categories: pd.DataFrame | None
) -> SummaryTable:
    """A row for each step of `CalibrationReport.to_frame`."""
    steps = list(frame.itertuples())
    left = [("Last step:", str(steps[-1].method)), ("Respondents:", f"{nobs:,}")]
    right = [
        ("Sum of weights before:", f"{steps[0].sum_before:,.6g}"),
        ("Sum of weights after:", f"{steps[-1].sum_after:,.6g}"),
    ]
    return SummaryTable(
        title="Calibration of weights",
        header=header(left, right),
        columns=[*_QUARTILES, "deviation", "Kish before", "Kish after"],
        stubs=[one_line(f"{step.method}: {step.margins}", LONGEST_LABEL) for step in steps],
        body=[_cells(step) for step in steps],
        notes=[
            "min to max: factors of the weights, their quartiles over respondents; deviation: "
            "largest relative one from a total; Kish: n sum(w^2) / sum(w)^2.",
            *(note for step in steps for note in _step_notes(step)),
            *_farthest(categories),
        ],
    )


def _cells(step: Any) -> list[str]:
    deviation = "-" if step.method == "trimming" else f"{step.deviation:.1g}"
    factors = (
        step.factor_min,
        step.factor_q1,
        step.factor_median,
        step.factor_q3,
        step.factor_max,
    )
    kish = step.kish_before, step.kish_after
    return [*(f"{one:.4g}" for one in factors), deviation, *(f"{one:.3f}" for one in kish)]


def _farthest(categories: pd.DataFrame | None) -> list[str]:
    """The category whose total was farthest from the sum of its weights."""
    if categories is None:
        return []
    ratio = categories["ratio"]
    at = int(np.abs(np.log(ratio.to_numpy())).argmax())
    words = f"{' '.join(ratio.index[at])}, whose total is {ratio.iloc[at]:.3g}"
    return [f"Farthest from its total before: {words} times the sum of its weights."]


def _step_notes(step: Any) -> list[str]:
    """What must be known of a step: bounds, weights that were cut, negative ones."""
    notes = []
    if step.method == "trimming":
        notes.append(f"Trimming cut {count_of(step.n_trimmed, 'weight')}; the sum stays the same.")
    else:
        within = f", factors {step.bounds}" if step.bounds else ""
        notes.append(
            f"{step.method.capitalize()}: {count_of(step.iterations, 'iteration')}{within}."
        )
    if step.n_beyond:
        notes.append(
            f"NOTE: {count_of(step.n_beyond, 'weight')} moved out of the bounds when they took "
            "their part of what was cut: strict=True repeats the trimming until none is."
        )
    if step.n_negative:
        notes.append(
            f"WARNING: the weights of {count_of(step.n_negative, 'respondent')} are negative: give "
            'bounds=(0, None), or use method="raking".'
        )
    return notes
