"""The records that results of several variables hold beside the fit itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import one_of
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

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of each variable."""
        return tuple(len(values) for values in self.labels)

    @property
    def cells(self) -> pd.Index[Any]:
        """One entry per cell, row-major."""
        return pd.MultiIndex.from_product(self.labels, names=self.names)

    @property
    def are_doubtful(self) -> bool:
        """Whether the reports of one say that answers are missing from its categories."""
        if self.is_complete:
            return False
        shares = [fit.unexplained for fit in self.margin_fits]
        open_lists = any(s is not None and s.estimate > 2.0 * s.bse for s in shares)
        # of lumped categories the margin has one row more than the table
        pairs = zip(self.margin_fits, self.labels, strict=True)
        rests = [fit.linear for fit, labels in pairs if len(fit.categories) > len(labels)]
        return open_lists or any(rest.estimate[-1] > 2.0 * rest.bse()[-1] for rest in rests)

    def place(self, name: str, variable: object) -> int:
        """The place of the variable that the argument `name` names."""
        return self.names.index(one_of(name, variable, self.names))

    def table(self, values: npt.NDArray[Any], name: str) -> Any:
        """Values of the cells, row-major: a DataFrame, a Series of three or more variables."""
        if len(self.sizes) > 2:
            return pd.Series(values, index=self.cells, name=name)
        rows, columns = (
            label.rename(name) for label, name in zip(self.labels, self.names, strict=True)
        )
        return pd.DataFrame(values.reshape(self.sizes), index=rows, columns=columns)


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
