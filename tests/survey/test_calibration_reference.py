"""Calibrated weights against R's package survey, with linearisation and with replicates."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from shared.survey_reference import (
    BRIEF,
    FIGURES,
    Figure,
    domain,
    given,
    named,
    quickly,
    same,
    survey,
    total,
    transcript,
)

from ldpstats.survey.sample.cells import weigh

BASES: dict[str, Callable[[], Any]] = {
    "elements_fpc": lambda: survey("elements_fpc"),
    "clusters": lambda: survey("clusters"),
    "two_stages_fpc": lambda: survey("two_stages_fpc"),
    "jkn": lambda: given("jkn"),
    "boot_mse": lambda: given("boot_mse"),
}
WAYS: dict[str, dict[str, Any]] = {
    "raking": {"method": "raking"},
    "linear": {"method": "linear"},
    "linear_bounds": {"method": "linear", "bounds": (0.87, 1.12)},
    "logit": {"method": "logit", "bounds": (0.5, 2.0)},
}
CALIBRATED = [
    (base, way)
    for base in BASES
    for way in [*WAYS, "poststratified"]
    if f"{base}_{way}" in transcript("calibration")  # bounds have no solution in all replicates
]


@cache
def calibrated(base: str, way: str) -> Any:
    margins = transcript("calibration")["margins"]
    if way == "poststratified":
        return BASES[base]().poststratify({"region": margins["region"]})
    return BASES[base]().calibrate(margins, **WAYS[way])


@pytest.mark.parametrize("figure", [*BRIEF, total, domain], ids=named)
@pytest.mark.parametrize(
    ("base", "way"),
    quickly(CALIBRATED, [("clusters", "raking"), ("elements_fpc", "logit"), ("jkn", "linear")]),
)
def test_calibrated(base: str, way: str, figure: Figure) -> None:
    figure(calibrated(base, way), transcript("calibration")[f"{base}_{way}"])


@pytest.mark.parametrize("figure", FIGURES[2:], ids=named)
@pytest.mark.parametrize("way", quickly(WAYS, ["raking"]))
def test_calibrated_clusters(way: str, figure: Figure) -> None:
    figure(calibrated("clusters", way), transcript("calibration")[f"clusters_{way}"])


def same_weights(survey: Any, r: Any) -> None:
    w = weigh(survey.data, survey.design, ["job"]).sample.w
    same([w.sum(), w.min(), w.max()], [r["sum"], r["min"], r["max"]])
    same(w[:12], r["first"])


@pytest.mark.parametrize(("base", "way"), quickly(CALIBRATED, [("clusters", "logit")]))
def test_weights(base: str, way: str) -> None:
    same_weights(calibrated(base, way), transcript("calibration")[f"{base}_{way}"]["weights"])


@pytest.mark.parametrize(("strict", "name"), [(False, "trimmed"), (True, "trimmed_strictly")])
def test_trimmed_weights(strict: bool, name: str) -> None:
    trimmed = survey("clusters").trim(4, 25, strict=strict)
    same_weights(trimmed, transcript("calibration")[name]["weights"])
