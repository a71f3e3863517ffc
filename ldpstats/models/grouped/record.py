"""What groups of respondents are, once they are fitted."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ldpstats.inference.tests import TestResult
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.shared.groups import Label, told

__all__ = ["FittedGroups"]


@dataclass(frozen=True, eq=False)
class FittedGroups:
    """The fits of several groups, and the test that they are equal.

    `labels` are those of the groups that were fitted, `empty` those of groups without a report.
    `untested` says why, where there is no test.
    """

    by: tuple[str, ...]
    labels: tuple[Label, ...]
    fits: tuple[FrequencyResults, ...]
    equal: TestResult | None = None
    untested: str = ""
    empty: tuple[Label, ...] = ()
    n_missing: int = 0
    n_ungrouped: int = 0
    name: str = ""

    @property
    def results(self) -> dict[Hashable, FrequencyResults]:
        """The results of each group, by its label."""
        return dict(zip(map(told, self.labels), self.fits, strict=True))

    @property
    def groups(self) -> pd.Index[Any]:
        """Labels of the groups that were fitted."""
        if len(self.by) == 1:
            one: pd.Index[Any] = pd.Index([label[0] for label in self.labels], name=self.by[0])
            return one
        several: pd.Index[Any] = pd.MultiIndex.from_tuples(self.labels, names=self.by)
        return several

    @property
    def categories(self) -> pd.Index[Any]:
        """Labels of the categories, in order."""
        return self.fits[0].categories

    @property
    def nobs(self) -> int:
        """Number of reports in all groups."""
        return sum(fit.nobs for fit in self.fits)

    @property
    def sizes(self) -> pd.Series[int]:
        """Number of reports in each group."""
        return pd.Series([fit.nobs for fit in self.fits], index=self.groups, name="nobs")

    @property
    def sources(self) -> tuple[str, ...]:
        """The mechanisms of all groups, in words, each once."""
        return tuple(dict.fromkeys(source for fit in self.fits for source in fit.sources))

    @property
    def epsilon(self) -> float:
        """Privacy of a respondent's report, in nats; the largest."""
        return max(fit.epsilon for fit in self.fits)
