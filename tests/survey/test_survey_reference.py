"""Designs of complex samples against R's package survey: a test for each figure of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from shared.engines import PLACES
from shared.survey_reference import (
    ANSWERS,
    BRIEF,
    DESIGNS,
    FIGURES,
    Figure,
    named,
    people,
    quickly,
    survey,
    survey_of,
    transcript,
)

import ldpstats as ldp

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


@pytest.fixture(scope="module")
def on_engine(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Any]:
    """The survey of a design whose rows an engine holds."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    columns = [name for name in people() if not name.startswith("w_")]
    made = pa.Table.from_pandas(people()[columns], preserve_index=False)

    @cache
    def opened(place: str, name: str) -> Any:
        held = PLACES[place](made, tmp_path_factory.mktemp("rows"))
        return ldp.Survey(**held, questionnaire=ANSWERS, weights="weight", **DESIGNS[name])

    return opened


@pytest.mark.slow
@pytest.mark.parametrize("figure", FIGURES, ids=named)
@pytest.mark.parametrize("place", ["files", "relation", "polars"])
@pytest.mark.parametrize("name", ["elements_fpc", "clusters", "two_stages_fpc"])
def test_designs_on_engines(
    on_engine: Callable[[str, str], Any], name: str, place: str, figure: Figure
) -> None:
    figure(on_engine(place, name), transcript("designs")[name])
