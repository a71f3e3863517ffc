"""The records that results of several variables hold beside the fit itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ldpstats.inference.skewness import CellLaw
from ldpstats.inference.tests import TestResult
from ldpstats.models.association.evidence import Evidence
from ldpstats.models.frequency.results import FrequencyResults

__all__ = ["Cells", "Tests", "Variables"]


@dataclass(frozen=True, eq=False)
class Variables:
    """The variables: names, categories, how others are treated, and each one's own fit.

    `is_complete` says that all answers are among the categories; `lacking` how many respondents
    gave no report on each variable, and is empty where nobody did or that is not known.
    `unprotected` names the variables that some respondents answered without privacy.
    """

    names: tuple[str, ...]
    labels: tuple[pd.Index[Any], ...]
    others: tuple[str, ...]
    margin_fits: tuple[FrequencyResults, ...]
    is_complete: bool
    lacking: tuple[int, ...] = ()
    unprotected: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Cells:
    """What the standard errors and intervals of the cells rest on, beside the covariance."""

    n_strata: int
    dispersion: float
    smallest_expected: float
    law: CellLaw | None = None


@dataclass(frozen=True, eq=False)
class Tests:
    """Tests that were made of the reports, and the tallies that others start from.

    `trend` and `null_llf` are there where `evidence` is None.
    """

    digest: str
    independence: TestResult | None = None
    trend: TestResult | None = None
    null_llf: float = float("nan")
    evidence: Evidence | None = field(default=None, repr=False)
