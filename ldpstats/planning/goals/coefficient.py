"""A coefficient of a regression with a privatised response."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import as_array, numbers, one_of, positive_integer
from ldpstats.arguments.labels import position
from ldpstats.errors import InvalidArgument
from ldpstats.models.regression.reading import outcome_of
from ldpstats.models.regression.rows import covariates
from ldpstats.planning.goals.base import Goal, Ray, frozen
from ldpstats.planning.laws.base import PlannedTest
from ldpstats.planning.laws.coefficients import CoefficientLaw, coefficient_test, response_channel
from ldpstats.planning.shares import shares_text
from ldpstats.planning.variances import check_mechanism
from ldpstats.problems.regression.outcomes import Multinomial, Ordered

__all__ = ["CoefficientTest"]

Array = npt.NDArray[Any]

_MODELS = ("logit", "probit", "cloglog", "mnlogit", "ordered")


@dataclass(frozen=True, eq=False)
class CoefficientTest(Goal):
    """To find that a coefficient of a regression on a privatised answer is not zero.

    The test is that of ``results.pvalues`` of `PrivatizedLogit`, `PrivatizedMNLogit` and
    `PrivatizedOrderedModel`: the score test at the restricted maximum, with the expected
    information there. Its mean and its variance under the truth are those of the score of the
    reports at the restricted maximum of the expected log-likelihood.

    Parameters
    ----------
    params : array-like
        True coefficients as `fit().params` has them: shape (p,); (p, k - 1) for "mnlogit", a column
        for each category but the first; (p + k - 1,) for "ordered", slopes, the first threshold and
        the logarithms of the steps between thresholds.
    exog : DataFrame or array, shape (m, p)
        Covariates of respondents, each row as frequent as the others: last year's, or a grid. A
        constant is a column like the others.
    coefficient : label, int, or pair
        Which coefficient: the name of a column of `exog`, or its position. For "mnlogit" a pair of
        that and the category, by label.
    model : {"logit", "probit", "cloglog", "mnlogit", "ordered"}

    Raises
    ------
    InvalidArgument
        If an argument is invalid, or they do not fit each other.

    Notes
    -----
    On the ray of `planning.minimum_detectable` the coefficient grows from zero in the direction of
    the true one, the others stay. The effect is the coefficient.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> X = pd.DataFrame({"const": 1.0, "age": np.linspace(-1.5, 1.5, 31)})
    >>> goal = ldp.planning.CoefficientTest([-0.5, 0.4], X, coefficient="age")
    >>> print(goal)
    to find that the coefficient of 'age' is not zero; true coefficients: -0.5, 0.4
    >>> round(ldp.planning.power(ldp.Warner(epsilon=1.0), goal, n=1000), 3)
    0.682
    """

    params: Any
    exog: Any
    coefficient: Any
    model: str = "logit"

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", one_of("model", self.model, _MODELS))
        remedy = "must be a table or array of finite numbers with a row for each respondent"
        shape = as_array("exog", self.exog, remedy).shape
        if len(shape) not in (1, 2) or not shape[0]:
            raise InvalidArgument("exog", f"array of shape {shape}", remedy)
        X, names = covariates(self.exog, shape[0], name="exog")
        table = pd.DataFrame(frozen(X), columns=names)
        object.__setattr__(self, "exog", table)
        remedy = "must be finite numbers, the coefficients as fit().params has them"
        given = numbers("params", self.params, remedy)
        if not np.isfinite(given).all() or not given.size:
            raise InvalidArgument("params", self.params, remedy)
        object.__setattr__(self, "params", frozen(given))
        self._column()

    def _column(self) -> int:
        """Position of the covariate among the columns."""
        which = self.coefficient
        if self.model == "mnlogit":
            if not isinstance(which, tuple) or len(which) != 2:
                remedy = "must be a pair for 'mnlogit': a column of exog, and a category"
                raise InvalidArgument("coefficient", which, remedy)
            which = which[0]
        which = str.__str__(which) if isinstance(which, str) else which
        names = list(self.exog.columns)
        if isinstance(which, str) and which in names:
            return names.index(which)
        remedy = f"must be one of the columns {', '.join(names[:10])} of exog, or a position"
        if isinstance(which, str):
            raise InvalidArgument("coefficient", which, remedy)
        try:
            found = positive_integer("coefficient", which, 0)
        except InvalidArgument:
            raise InvalidArgument("coefficient", which, remedy) from None
        if found >= len(names):
            raise InvalidArgument("coefficient", which, remedy)
        return found

    @property
    def _name(self) -> str:
        name = repr(self.exog.columns[self._column()])
        return f"{name} for {self.coefficient[1]!r}" if self.model == "mnlogit" else name

    @property
    def words(self) -> str:
        return f"to find that the coefficient of {self._name} is not zero"

    @property
    def truth(self) -> str:
        return f"true coefficients: {shares_text(self.params.ravel())}"

    def ray(self, mechanism: Any) -> _CoefficientRay:
        """The goal in a survey with this mechanism."""
        made_by = check_mechanism(mechanism)
        Q, labels = response_channel(made_by)
        k, p = len(labels), self.exog.shape[1]
        if k != 2 and self.model not in ("mnlogit", "ordered"):
            remedy = f"has {k} categories, and a {self.model} model is for two"
            raise InvalidArgument("mechanism", str(made_by), remedy)
        outcome = outcome_of("multinomial" if self.model == "mnlogit" else self.model, k)
        shapes: dict[type, tuple[int, ...]] = {Multinomial: (p, k - 1), Ordered: (p + k - 1,)}
        shape = shapes.get(type(outcome), (p,))
        if self.params.shape != shape:
            remedy = f"must have the shape {shape} for {p} columns and {k} categories"
            raise InvalidArgument("params", f"array of shape {self.params.shape}", remedy)
        place, theta = self._column(), self.params.T.ravel()
        if self.model == "mnlogit":
            remedy = f"must name a category other than the first, {labels[0]!r}"
            place += p * position("coefficient", self.coefficient[1], labels[1:], remedy)
        X = self.exog.to_numpy(dtype=np.float64)
        law = CoefficientLaw.of(outcome, X, Q, theta, place)
        return _CoefficientRay(law, f"coefficient of {self._name}")


@dataclass(frozen=True, eq=False)
class _CoefficientRay(Ray):
    """One coefficient grows, the others stay."""

    law: CoefficientLaw
    name: str

    @property
    def most(self) -> float:
        return np.inf

    @property
    def unit(self) -> str:
        return self.name

    def effect(self, multiple: float) -> float:
        return float(multiple * self.law.theta[self.law.place])

    def _at(self, multiple: float) -> CoefficientLaw:
        theta = self.law.theta.copy()
        theta[self.law.place] *= multiple
        return replace(self.law, theta=theta)

    def truth(self, multiple: float) -> pd.Series[float]:
        return pd.Series(self._at(multiple).theta, name="params")

    def test(self, multiple: float, alpha: float) -> PlannedTest:
        return coefficient_test(self._at(multiple), alpha)
