"""Designs of complex samples against R's package survey: a test for each figure of each."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from shared.survey_reference import (
    BRIEF,
    DESIGNS,
    FIGURES,
    Figure,
    named,
    quickly,
    survey,
    survey_of,
    transcript,
)

SINGLE: dict[str, dict[str, Any]] = {
    "units": {"strata": "lone", "clusters": "psu"},
    "units_fpc": {"strata": "lone", "clusters": "psu", "fpc": "fpc1"},
    "elements_fpc": {"strata": "alone", "fpc": "residents"},
}
RULES = {"certainty": "certainty", "adjust": "centered", "average": "average"}  # R's name, ours


@cache
def single(name: str, rule: str) -> Any:
    return survey_of(SINGLE[name] | {"single_unit": RULES[rule]})


@pytest.mark.parametrize("figure", FIGURES, ids=named)
@pytest.mark.parametrize("name", quickly(DESIGNS, ["elements_fpc", "clusters", "two_stages_fpc"]))
def test_designs(name: str, figure: Figure) -> None:
    figure(survey(name), transcript("designs")[name])


@pytest.mark.parametrize("figure", BRIEF, ids=named)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", quickly(SINGLE, ["units"]))
def test_strata_of_a_single_unit(name: str, rule: str, figure: Figure) -> None:
    figure(single(name, rule), transcript("single_units")[f"{name}_{rule}"])
