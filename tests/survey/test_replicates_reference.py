"""Replicate weights against R's package survey: given columns, and jackknives of a design."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from shared.survey_reference import (
    BRIEF,
    FIGURES,
    GIVEN,
    Figure,
    domain,
    given,
    named,
    quickly,
    ratio,
    share,
    survey,
    total,
    transcript,
)

WHOLE = [f"{name}{mse}" for name in GIVEN for mse in ("", "_mse") if name not in ("boot", "other")]
BRIEFLY = ["boot", "boot_mse", "other", "other_mse"]
JACKKNIFED = ["units", "clusters", "clusters_fpc", "elements_fpc"]


@cache
def jackknifed(name: str) -> Any:
    return survey(name).replicates("jackknife")


@pytest.mark.parametrize("figure", FIGURES, ids=named)
@pytest.mark.parametrize("name", quickly(WHOLE, ["jkn", "brr_mse"]))
def test_replicate_weights(name: str, figure: Figure) -> None:
    figure(given(name), transcript("replicates")[name])


@pytest.mark.parametrize("figure", BRIEF, ids=named)
@pytest.mark.parametrize("name", quickly(BRIEFLY, ["boot"]))
def test_scales_that_are_given(name: str, figure: Figure) -> None:
    figure(given(name), transcript("replicates")[name])


@pytest.mark.parametrize("name", quickly(GIVEN, ["fay"]))
def test_factors_of_replicates(name: str) -> None:
    share(given(name, combined=False), transcript("replicates")[name])


@pytest.mark.parametrize("figure", [*BRIEF, total, domain, ratio], ids=named)
@pytest.mark.parametrize("name", quickly(JACKKNIFED, ["clusters"]))
def test_jackknives_of_a_design(name: str, figure: Figure) -> None:
    figure(jackknifed(name), transcript("replicates")[f"jackknife_{name}"])
