"""A regression on privatised answers: its data, its likelihood, and how that is climbed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.estimators.regression.penalised import Penalised
from ldpstats.estimators.regression.search import Found, Objective, search
from ldpstats.models.regression.arrays import (
    Assembled,
    assembled,
    full_rank,
    has_listed_reports,
    report_channel,
)
from ldpstats.models.regression.record import RegressionData
from ldpstats.problems.regression.likelihood import RegressionLikelihood, Seen
from ldpstats.problems.regression.outcomes import Multinomial, Normal, Ordered
from ldpstats.problems.regression.standard import (
    constant_column,
    constant_combination,
    start,
    units,
)

__all__ = ["RegressionStructure"]

Array = npt.NDArray[Any]

_SOME = 5000  # rows on which other starts are tried
_ALIASED = 1e-10  # share of a covariate that the others leave, up to which it is one of them
_KNOWN = 0.5  # standardised coefficients known to this, of many rows, need no other starts


class RegressionStructure:
    """A regression in which the response, predictors, or both are privatised.

    Parameters
    ----------
    data : RegressionData

    Attributes
    ----------
    exog_names : list of str
    endog_names : str
    nobs : int
    """

    def __init__(self, data: RegressionData) -> None:
        self.data = data
        self._check_rank()

    @classmethod
    def of(cls, data: RegressionData) -> Self:
        """The model of data that are checked already."""
        model = cls.__new__(cls)
        RegressionStructure.__init__(model, data)
        return model

    # -- what it is ----------------------------------------------------------------------------

    @property
    def exog_names(self) -> list[str]:
        """Names of the covariates."""
        return list(self.data.names)

    @property
    def endog_names(self) -> str:
        """Name of the response."""
        return self.data.response_name

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        counts = self.data.counts
        return self.data.n if counts is None else int(np.sum(counts))

    @property
    def categories(self) -> pd.Index[Any] | None:
        """Categories of the outcome."""
        return self.data.categories

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({self.endog_names} on {', '.join(self.exog_names)}; n={self.nobs})"

    @property
    def equations(self) -> list[str]:
        """Names of the equations of a multinomial logit; one without a name for others."""
        categories = self.categories
        if isinstance(self.data.outcome, Multinomial) and categories is not None:
            return [str(label) for label in categories[1:]]
        return [""]

    @property
    def threshold_names(self) -> list[str]:
        """Names of the thresholds between ordered categories, as statsmodels has them."""
        categories = self.categories
        if not isinstance(self.data.outcome, Ordered) or categories is None:
            return []
        return [f"{a}/{b}" for a, b in pairwise(categories)]

    @property
    def n_shown(self) -> int:
        """Number of coefficients that results show: all of the outcome but its spread.

        Unknown parameters of devices are shown too, after them.
        """
        return self.likelihood.n_outcome - isinstance(self.data.outcome, Normal)

    @property
    def all_names(self) -> list[str]:
        """A name for each parameter: of the outcome, of private predictors' law, of devices."""
        found = [
            f"{equation}: {name}" if equation else name
            for equation in self.equations
            for name in self.exog_names
        ] + self.threshold_names
        if isinstance(self.data.outcome, Normal):
            found.append("log(sigma)")
        if self.data.marginal is not None:
            for labels in self.data.configurations[1:]:
                which = ", ".join(str(label) for label in labels)
                found += [f"P({which}): {name}" for name in self.data.marginal.columns]
        return [*found, *self.unknown]

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """Unknown parameters of the devices of the response."""
        return self.data.unknown

    @cached_property
    def assembled(self) -> Assembled:
        """The likelihood over distinct rows."""
        return assembled(self.data)

    @property
    def likelihood(self) -> RegressionLikelihood:
        """The likelihood over distinct rows."""
        return self.assembled.likelihood

    @cached_property
    def units(self) -> Array:
        """Parameters from standardised ones."""
        return units(self.likelihood)

    @cached_property
    def constant(self) -> int | None:
        """Which covariate is the same for all."""
        return constant_column(self.data.designs)

    @cached_property
    def spans_constant(self) -> bool:
        """Whether covariates, such as dummies of all levels, sum to a constant."""
        return constant_combination(self.data.designs) is not None

    @property
    def lists_reports(self) -> bool:
        """Whether the possible reports of the response can be listed, so that law is their own."""
        return not self.data.is_private or all(
            has_listed_reports(reports.mechanism) for reports in self.data.response
        )

    @property
    def is_exact(self) -> bool:
        """Whether nothing is privatised, so that the likelihood is concave."""
        likelihood = self.likelihood
        seen, hidden = likelihood.seen, likelihood.B
        clear = not isinstance(seen, Seen) or bool(
            (np.count_nonzero(seen.table, axis=1) == 1).all()
        )
        if hidden is not None:
            clear = clear and bool((np.count_nonzero(hidden.table, axis=1) == 1).all())
        return clear

    def _check_rank(self) -> None:
        """Refuse covariates and channels that do not determine the coefficients."""
        used = self.data.counts if self.data.weights is None else self.data.weights
        designs = self.data.designs
        if used is not None and (used == 0.0).any():
            designs = [X[used > 0.0] for X in designs]
        aliased = aliased_columns(designs, isinstance(self.data.outcome, Ordered))
        if aliased:
            names = ", ".join(self.data.names[j] for j in aliased)
            raise NotIdentified(
                f"X: {names}: a linear combination of the other covariates, or zero: leave it out"
            )
        reports = dict(self.data.predictors)
        if self.data.is_private and self.data.is_categorical and not self.unknown:
            reports[self.endog_names] = self.data.response
        self._refuse_unknown_predictors()
        for name, groups in reports.items():
            listed = self.data.candidates.get(name)
            if not full_rank([report_channel(one, listed) for one in groups]):
                raise NotIdentified(
                    f"{name}: the channel of its reports has a rank below its number of "
                    "categories, so that reports do not determine their frequencies: join "
                    "categories, or ask with another mechanism"
                )

    def _refuse_unknown_predictors(self) -> None:
        for name, groups in self.data.predictors.items():
            for one in groups:
                if one.mechanism.unknown:
                    raise NotAvailable(
                        f"{name}: a private predictor by a device with the unknown "
                        f"{', '.join(one.mechanism.unknown)}: use one with known parameters"
                    )

    # -- its maxima ----------------------------------------------------------------------------

    def objective(self, penalty: str | None, theta: Array | None = None) -> Objective:
        """The log-likelihood, with a penalty if one is asked for.

        Parameters
        ----------
        penalty : {None, "jeffreys"}
        theta : array, optional
            Gives the law of private predictors that the penalty takes.
        """
        return self.likelihood if penalty is None else self.penalised(theta)

    def penalised(self, theta: Array | None = None) -> Penalised:
        """The penalised log-likelihood, see `objective`."""
        return Penalised(self.likelihood, self.assembled.expected(theta))

    def climb(
        self,
        penalty: str | None = None,
        start_params: Array | None = None,
        maxiter: int = 100,
        theta: Array | None = None,
    ) -> Found:
        """The highest maximum, with a penalty or without."""
        usual = start(self.likelihood)
        first, others = (usual, []) if start_params is None else (start_params, [usual])
        if others and self.is_exact:  # one maximum at most, which is met from where it is usual
            first = usual
        smaller = None
        if penalty is not None and self.likelihood.marginal is not None and theta is None:
            theta = self.climb(None, start_params, maxiter).maximum.theta
        if self.likelihood.n > 2 * _SOME and not self.is_exact:
            smaller = self._smaller(penalty, theta)
        return search(
            self.objective(penalty, theta),
            first,
            self.units,
            others,
            maxiter=maxiter,
            concave=self.is_exact,
            smaller=smaller,
            enough=_KNOWN if smaller is not None else 0.0,
        )

    def _smaller(self, penalty: str | None, theta: Array | None) -> Objective:
        """The objective on some rows, weighted up to all."""
        n = min(max(_SOME, 200 * self.likelihood.size), self.likelihood.n)
        rows = np.random.default_rng(2024).choice(self.likelihood.n, n, replace=False)
        rows.sort()
        weights = self.likelihood.weights[rows]
        some = self.likelihood.take(rows, weights * (self.likelihood.weights.sum() / weights.sum()))
        if penalty is None:
            return some
        law = self.assembled.law
        own = replace(self.assembled, likelihood=some, law=law and law.take(rows))
        return Penalised(some, own.expected(theta))


def aliased_columns(designs: Sequence[Array], ordered: bool = False) -> list[int]:
    """Columns that are linear combinations of those before them, in all configurations.

    Parameters
    ----------
    designs : sequence of array, each (n, p)
    ordered : bool
        Whether thresholds stand for a constant.
    """
    p = designs[0].shape[1]
    n = sum(len(X) for X in designs)
    constant = constant_column(designs) if p else None
    centred = ordered or constant is not None
    mean = sum(X.sum(axis=0) for X in designs) / n if centred else np.zeros(p)
    gram = np.sum([(X - mean).T @ (X - mean) for X in designs], axis=0)
    size = np.sqrt(np.asarray(sum((X**2).sum(axis=0) for X in designs)))
    kept: list[int] = []
    found: list[int] = []
    for j in range(p):
        if j == constant and not ordered:
            continue
        own = np.sqrt(gram[j, j])
        rest = own**2
        if kept and own > 0.0:
            inner = gram[np.ix_(kept, kept)]
            scale = np.sqrt(np.diagonal(inner))
            beside = gram[kept, j] / scale
            rest -= beside @ np.linalg.solve(inner / np.outer(scale, scale), beside)
        if own > _ALIASED * size[j] and rest > _ALIASED * own**2:
            kept.append(j)
        else:
            found.append(j)
    return found
