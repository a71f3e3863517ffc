"""What a regression is made of: responses, designs and reports on predictors, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt
import pandas as pd

from ldpstats.problems.regression.outcomes import Categorical, Outcome
from ldpstats.reports.single import Reports

__all__ = ["RegressionData"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class RegressionData:
    """The data of a regression of n respondents, checked.

    Parameters
    ----------
    outcome : Outcome
    response : sequence of Reports, or array of shape (n,)
        Groups of reports whose rows follow one another; or the numbers or category codes that are
        public.
    designs : sequence of array, each (n, p)
        Covariates in each configuration of the private predictors; one if there are none.
    names : sequence of str
        Names of the p covariates.
    categories : Index, optional
        Of a categorical outcome, in order.
    response_name : str
    offset : array, shape (n,), optional
    counts : array, shape (n,), optional
        How many respondents each row stands for ("frequency weights").
    weights : array, shape (n,), optional
        Sampling weights, of all whom a row stands for together.
    predictors : mapping of str to sequence of Reports
        Reports on the private predictors, as `response`.
    configurations : sequence of tuple
        Labels of the private predictors in each configuration, the last predictor fastest.
    marginal : DataFrame, optional
        Public covariates of the law of the configurations, (n, r).
    candidates : mapping of str to sequence of str
        The possible answers, where any string is one.
    n_missing : int
        Rows that were left out because a value was missing.
    formula : Any
        Makes designs of other tables: ``exog(table)``.
    only_corrected : str
        Why there is no likelihood, so that only corrected scores are left; "" if there is one.
    sample, inside, facts
        The complex sample, a cell a row, and the cells that the rows here are.
    """

    outcome: Outcome
    response: Any
    designs: Sequence[Array]
    names: Sequence[str]
    categories: pd.Index[Any] | None = None
    response_name: str = "y"
    offset: Array | None = None
    counts: Array | None = None
    weights: Array | None = None
    predictors: Mapping[str, Sequence[Reports]] = field(default_factory=dict)
    configurations: Sequence[tuple[Any, ...]] = ((),)
    marginal: pd.DataFrame | None = None
    candidates: Mapping[str, Any] = field(default_factory=dict)
    n_missing: int = 0
    formula: Any = None
    only_corrected: str = ""
    sample: Any = None
    inside: Any = None
    facts: Any = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.designs[0])

    @property
    def is_private(self) -> bool:
        """Whether the response is privatised."""
        return isinstance(self.response, Sequence)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Unknown parameters of the devices of the response."""
        groups = self.response if self.is_private else []
        return tuple(dict.fromkeys(name for one in groups for name in one.mechanism.unknown))

    @property
    def is_categorical(self) -> bool:
        """Whether the outcome is one of several categories."""
        return isinstance(self.outcome, Categorical)

    def mechanisms(self) -> list[Any]:
        """All mechanisms, of response and predictors."""
        groups = list(self.response) if self.is_private else []
        for one in self.predictors.values():
            groups += list(one)
        return [reports.mechanism for reports in groups]
