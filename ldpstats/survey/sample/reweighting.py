"""From a survey to one with other weights, and the report of how they moved."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.errors import InvalidArgument, LDPWarning, NotAvailable
from ldpstats.inference.designs.reweighting.calibration import Margins
from ldpstats.inference.designs.reweighting.distances import Distance, Linear
from ldpstats.models.weighted.calibration_report import CalibrationReport, WeightStep, weight_step
from ldpstats.survey.held import Held
from ldpstats.survey.sample.cells import Weighed, weigh
from ldpstats.survey.sample.changes import (
    Adjusted,
    Calibration,
    WeightChange,
    adjusted,
    distance_of,
    trimming_of,
)
from ldpstats.survey.sample.design import SampleDesign
from ldpstats.survey.sample.margins import Margin, given_margins, margin_cells, matched_margin

__all__ = ["Reweighting", "calibrated", "check_changes", "poststratified", "report_of", "trimmed"]


@dataclass(frozen=True, eq=False)
class Reweighting:
    """A change of weights, with what it did."""

    change: WeightChange
    step: WeightStep
    nobs: int
    categories: pd.DataFrame | None = None


def check_changes(changes: object) -> None:
    """Refuse changes that the methods of a survey did not make."""
    if not (isinstance(changes, tuple) and all(isinstance(one, Reweighting) for one in changes)):
        remedy = "is set by calibrate, poststratify and trim: leave it out"
        raise InvalidArgument("changes", changes, remedy)


def report_of(done: Sequence[Reweighting]) -> CalibrationReport:
    """The report of all changes."""
    found = [one.categories for one in done if one.categories is not None]
    return CalibrationReport(
        tuple(one.step for one in done), done[-1].nobs, pd.concat(found) if found else None
    )


def calibrated(
    data: Held,
    design: SampleDesign | None,
    margins: object,
    method: object,
    bounds: object,
    total: object,
) -> Reweighting:
    """Calibrate the weights of a design to margins."""
    design = _weighted(design, "calibrate")
    distance = distance_of(method, bounds)
    return _calibrated(data, design, given_margins(data, margins, total), distance)


def poststratified(data: Held, design: SampleDesign | None, totals: object) -> Reweighting:
    """Calibrate to one margin."""
    design = _weighted(design, "poststratify")
    given = given_margins(data, totals, None, "totals")
    if len(given) > 1:
        remedy = "names several margins: cross them, {('region', 'sex'): {('north', 'f'): ...}}, "
        remedy += "or use calibrate(margins)"
        raise InvalidArgument("totals", [margin.name for margin in given], remedy)
    return _calibrated(data, design, given, Linear(), "post-stratification")


def _calibrated(
    data: Held,
    design: SampleDesign,
    given: Sequence[Margin],
    distance: Distance,
    name: str | None = None,
) -> Reweighting:
    columns = [column for margin in given for column in margin.columns]
    whole = _whole(data, design, columns, "calibrate")
    cells = margin_cells(whole.cells, given, whole.sample.n)
    matched = tuple(matched_margin(margin, cells) for margin in given)
    change = Calibration(matched, distance)
    before = adjusted(whole.cells, whole.sample, design.changes).sample
    after = adjusted(whole.cells, whole.sample, [*design.changes, change])
    assert after.at is not None
    last = after.steps[-1]
    step = weight_step(
        before,
        after.sample,
        last.factors[after.at],
        method=name or type(distance).__name__.lower(),
        margins=", ".join(margin.name for margin in matched),
        bounds=_bounds_text(distance),
        iterations=last.solved.iterations,
        deviation=last.solved.deviation,
    )
    if step.n_negative:
        warnings.warn(
            f"{step.n_negative} respondents have negative weights: give bounds=(0, None), or use "
            "method='raking'",
            LDPWarning,
            4,
        )
    sums = last.margins.indicators.T @ np.bincount(after.at, before.w)
    return Reweighting(change, step, _nobs(whole), _categories(last.margins, sums))


def trimmed(
    data: Held, design: SampleDesign | None, lower: object, upper: object, strict: object
) -> Reweighting:
    """Cut the weights of a design."""
    design = _weighted(design, "trim")
    if design.weights is None:
        raise NotAvailable("trim: weights follow from fpc=: name the column of weights")
    if any(isinstance(change, Calibration) for change in design.changes):
        raise NotAvailable(
            "trim: weights were calibrated, and trimming would move them off their totals: trim "
            "first and calibrate then, or calibrate with bounds="
        )
    change = trimming_of(design.weights, lower, upper, strict)
    whole = _whole(data, design, [design.weights], "trim")
    before = adjusted(whole.cells, whole.sample, design.changes).sample
    after: Adjusted = adjusted(whole.cells, whole.sample, [*design.changes, change])
    one, now = before.w / before.n, after.sample.w / before.n
    beyond = (now < change.lower * (1 - 1e-9)) | (now > change.upper * (1 + 1e-9))
    step = weight_step(
        before,
        after.sample,
        after.trimmings[-1],
        method="trimming",
        margins=f"{change.lower:g} to {change.upper:g}",
        bounds="",
        iterations=0,
        deviation=0.0,
        n_trimmed=int(before.n[(one < change.lower) | (one > change.upper)].sum()),
        n_beyond=int(before.n[beyond].sum()),
    )
    return Reweighting(change, step, _nobs(whole))


def _weighted(design: SampleDesign | None, what: str) -> SampleDesign:
    """The design; refuse a survey without one."""
    if design is None:
        raise NotAvailable(
            f"{what}: the survey has no weights: name their column, Survey(..., weights='w'); it "
            "holds ones if all respondents count the same"
        )
    return design


def _whole(data: Held, design: SampleDesign, columns: Sequence[str], what: str) -> Weighed:
    """The whole sample with the weights of the design, and columns; refuse a domain of it."""
    needed = [*design.change_columns, *columns]
    found = weigh(data, replace(design, changes=()), needed, needed)
    if not found.inside.all():
        raise NotAvailable(
            f"{what}: these respondents are a domain of the sample, and totals are of all: {what} "
            "the whole survey first, then select respondents"
        )
    return found


def _nobs(whole: Weighed) -> int:
    return int(whole.sample.n.sum())


def _bounds_text(distance: Distance) -> str:
    low, high = distance.lower, distance.upper
    return f"{low:g} to {high:g}" if high < np.inf or low > -np.inf else ""


def _categories(margins: Margins, sums: Any) -> pd.DataFrame:
    """The total of each category, and the sum of weights that it had."""
    pairs = [
        (name, label)
        for name, labels in zip(margins.names, margins.labels, strict=True)
        for label in labels
    ]
    index = pd.MultiIndex.from_tuples(pairs, names=["margin", "category"])
    found = {"target": margins.targets, "before": sums, "ratio": margins.targets / sums}
    return pd.DataFrame(found, index=index)
