"""Replicate weights against R's package survey: given columns, and jackknives of a design."""

from __future__ import annotations

import pytest
from shared.survey_reference import (
    BRIEF,
    FIGURES,
    GIVEN,
    Figure,
    domain,
    given,
    named,
    ratio,
    share,
    survey,
    total,
    transcript,
)


@pytest.mark.parametrize("figure", FIGURES, ids=named)
@pytest.mark.parametrize("mse", ["", "_mse"])
@pytest.mark.parametrize("name", [name for name in GIVEN if name not in ("boot", "other")])
def test_replicate_weights(name: str, mse: str, figure: Figure) -> None:
    figure(given(name + mse), transcript("replicates")[name + mse])


@pytest.mark.parametrize("figure", BRIEF, ids=named)
@pytest.mark.parametrize("name", ["boot", "boot_mse", "other", "other_mse"])
def test_scales_that_are_given(name: str, figure: Figure) -> None:
    figure(given(name), transcript("replicates")[name])


@pytest.mark.parametrize("name", GIVEN)
def test_factors_of_replicates(name: str) -> None:
    share(given(name, combined=False), transcript("replicates")[name])


@pytest.mark.parametrize("figure", [*BRIEF, total, domain, ratio], ids=named)
@pytest.mark.parametrize("name", ["units", "clusters", "clusters_fpc", "elements_fpc"])
def test_jackknives_of_a_design(name: str, figure: Figure) -> None:
    figure(survey(name).replicates("jackknife"), transcript("replicates")[f"jackknife_{name}"])
