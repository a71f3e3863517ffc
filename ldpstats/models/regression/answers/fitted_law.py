"""The law of the true answers that a regression has estimated, and how uncertain it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level
from ldpstats.errors import NotAvailable
from ldpstats.inference.regression.margins import Points
from ldpstats.models.regression.arrays import Assembled
from ldpstats.models.regression.record import RegressionData
from ldpstats.problems.regression.outcomes import Binary, Categorical, Normal, Poisson
from ldpstats.problems.regression.predictors import Separate, predictors_of

__all__ = ["FittedLaw"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FittedLaw:
    """The law of the true answers, by the estimated parameters.

    Parameters
    ----------
    data : RegressionData
    assembled : Assembled
        The likelihood over distinct rows.
    theta : array, shape (size,)
    covariance : array, shape (size, size)
    df : float or None
        Degrees of freedom of t quantiles; None for normal ones.
    """

    data: RegressionData
    assembled: Assembled
    theta: Array
    covariance: Array
    df: float | None

    # -- rows ----------------------------------------------------------------------------------

    @property
    def is_complete(self) -> bool:
        """Whether the law of the private predictors was estimated, if there are any."""
        return len(self.data.designs) == 1 or len(self.theta) == self.assembled.likelihood.size

    def refuse_incomplete(self, what: str) -> None:
        """Refuse averages over private predictors whose law nobody estimated."""
        if not self.is_complete:
            raise NotAvailable(
                f"{what}: corrected scores estimate no law of the private predictors to average "
                "over: use fit(method='mle'), or predict(exog) with columns of their values"
            )

    @cached_property
    def distinct(self) -> Points:
        """The distinct rows of the respondents, with weights that sum to one."""
        own = self.assembled.likelihood
        weights = own.weights / own.weights.sum()
        return Points(own.outcome, own.designs, own.marginal, weights, len(self.theta))

    @cached_property
    def rows(self) -> Points:
        """The rows of the respondents in order, with weights that sum to one."""
        marginal = self.data.marginal
        weights = self.assembled.weights / self.assembled.weights.sum()
        return self.points(
            self.data.designs,
            None if marginal is None else marginal.to_numpy(dtype=np.float64),
            self.data.offset,
            weights,
        )

    def points(
        self,
        matrices: Sequence[Array],
        marginal: Array | None = None,
        offset: Array | None = None,
        weights: Array | None = None,
    ) -> Points:
        """Other rows, with one matrix for each configuration, or one alone."""
        n, outcome = len(matrices[0]), self.data.outcome
        law = None
        if len(matrices) > 1:
            assert marginal is not None
            law = Separate(marginal, len(matrices) - 1)
        return Points(
            outcome,
            tuple(predictors_of(outcome, X, offset) for X in matrices),
            law,
            np.full(n, 1.0 / max(n, 1)) if weights is None else weights,
            len(self.theta),
        )

    # -- covariates ----------------------------------------------------------------------------

    @cached_property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Which covariates are the same for all."""
        designs = self.data.designs
        return np.asarray(
            np.all([(X == designs[0][0]).all(axis=0) for X in designs], axis=0), dtype=bool
        )

    @cached_property
    def private(self) -> npt.NDArray[np.bool_]:
        """Which covariates change with the private predictors."""
        first = self.data.designs[0]
        found = np.zeros(first.shape[1], dtype=bool)
        for X in self.data.designs[1:]:
            found |= (X != first).any(axis=0)
        return found

    @property
    def questions(self) -> list[str]:
        """The private predictors."""
        return list(self.data.predictors)

    def answers(self, question: str) -> list[Any]:
        """The categories of a private predictor."""
        at = self.questions.index(question)
        return list(dict.fromkeys(one[at] for one in self.data.configurations))

    def configurations_with(self, question: str, answer: Any) -> list[int]:
        """The configurations in which a private predictor has this value."""
        at = self.questions.index(question)
        return [c for c, one in enumerate(self.data.configurations) if one[at] == answer]

    def answered(self, points: Points, question: str, answer: Any) -> Points:
        """All respondents with this value of a private predictor, the law of the others as is."""
        at = self.questions.index(question)
        found = {tuple(one): c for c, one in enumerate(self.data.configurations)}
        moved = [
            found[(*one[:at], answer, *one[at + 1 :])]
            for one in map(tuple, self.data.configurations)
        ]
        return replace(points, designs=tuple(points.designs[c] for c in moved))

    # -- outcome -------------------------------------------------------------------------------

    @property
    def labels(self) -> pd.Index[Any] | None:
        """Categories whose probabilities are shown; None for one number."""
        return self.data.categories if len(self.shown) > 1 else None

    @property
    def shown(self) -> list[int]:
        """Which of the means are shown: of two categories the second, success."""
        outcome = self.data.outcome
        if isinstance(outcome, Binary):
            return [1]
        return list(range(outcome.k)) if isinstance(outcome, Categorical) else [0]

    @property
    def subject(self) -> str:
        """What a mean is, in words."""
        name = self.data.response_name
        if isinstance(self.data.outcome, Binary):
            assert self.data.categories is not None
            return f"P({name} = {self.data.categories[1]})"
        return f"P({name})" if isinstance(self.data.outcome, Categorical) else f"mean of {name}"

    def quantile(self, alpha: float) -> float:
        """The two-sided quantile of the normal or t distribution."""
        from scipy.special import ndtri, stdtrit

        tail = level(alpha) / 2.0
        return -float(ndtri(tail) if self.df is None else stdtrit(self.df, tail))

    def pvalues(self, z: Array) -> Array:
        """Two-sided p-values."""
        from scipy.special import ndtr, stdtr

        below = -np.abs(z)
        return np.asarray(2.0 * (ndtr(below) if self.df is None else stdtr(self.df, below)))

    def intervals(self, mean: Array, se: Array, alpha: float) -> tuple[Array, Array]:
        """Limits of means: on the logit scale for probabilities, on the log scale for rates."""
        q = self.quantile(alpha)
        if isinstance(self.data.outcome, Normal):
            return mean - q * se, mean + q * se
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if isinstance(self.data.outcome, Poisson):
                spread = np.exp(q * se / mean)
                return mean / spread, mean * spread
            odds = mean / (1.0 - mean)
            spread = np.exp(q * se / (mean * (1.0 - mean)))
            lower, upper = odds / (odds + spread), odds * spread / (1.0 + odds * spread)
        upper = np.where(np.isinf(spread) & (mean > 0.0), 1.0, upper)
        sure = (se == 0.0) | (((mean <= 0.0) | (mean >= 1.0)) & ~np.isnan(se))  # rounded
        return np.where(sure, mean, lower), np.where(sure, mean, upper)
