"""Every name of the reference page of arrays, and those that version 0.2.0 documented elsewhere."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "vignettes/reference/arrays.md"
DOCUMENTED = re.findall(r"^   ([a-z_]+(?:\.\w+)+)$", PAGE.read_text(), re.MULTILINE)
BEFORE = {  # names by the module that they were documented in
    "information": "expected_information fpe16 observed_tangent_inverse tangent_inverse",
    "multiplicity": "adjust reject",
    "pearson": "given_distribution pearson_given several_samples_pearson several_samples_wald "
    "two_sample_pearson two_sample_wald",
    "selection": "selected_intervals",
    "skewness": "CellLaw path_cumulants",
    "tables.conditionals": "conditional conditionals",
    "tables.cramer": "cramers_v departures",
    "tables.cross_moments": "CrossMoments",
    "tables.fitted": "fitted_conditionals fitted_cramers_v",
    "tables.permutation_moments": "Cumulants moments score_cumulants",
    "tables.spread": "Spread",
    "tables.wald": "conditional_independence fpe16 homogeneity wald_independence wald_nonlinear",
}


def test_the_page_names_what_there_is() -> None:
    assert len(DOCUMENTED) > 60
    for name in DOCUMENTED:
        module, function = name.rsplit(".", 1)
        assert callable(getattr(importlib.import_module(f"ldpstats.inference.{module}"), function))


@pytest.mark.parametrize("module", BEFORE)
def test_former_modules_are_attributes(module: str) -> None:
    package, _, last = f"ldpstats.inference.{module}".rpartition(".")
    home = getattr(importlib.import_module(package), last)
    for name in BEFORE[module].split():
        assert getattr(home, name).__name__ == name


def test_other_attributes_are_missing() -> None:
    for package in ("ldpstats.inference", "ldpstats.inference.tables"):
        with pytest.raises(AttributeError, match="has no attribute 'none'"):
            getattr(importlib.import_module(package), "none")  # noqa: B009
