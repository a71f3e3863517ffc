"""Score test of a coefficient of a regression on reports, with the expected law of the reports.

In a long survey the restricted maximum is where the expected log-likelihood of the truth is the
largest with the coefficient at zero. The score of the coefficient there, less what the others
explain of it, has a mean and a variance under the truth; the test divides it by the expected
information at the restricted maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.mechanisms.base import Mechanism
from ldpstats.planning.laws.forms import FormTest
from ldpstats.problems.regression.outcomes import Outcome
from ldpstats.problems.regression.predictors import Predictors, predictors_of

__all__ = ["CoefficientLaw", "coefficient_test", "response_channel"]

Array = npt.NDArray[Any]

_MOST_OUTPUTS = 4096  # reports that are gone through one by one
_STEPS = 100  # of Newton
_CLOSE = 1e-12  # decrement, in nats per respondent
_DIFFERENCE = 1e-5  # of numeric second derivatives
_SINGULAR = 1e-10  # information on the coefficient, relative to that without the others
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class CoefficientLaw:
    """A planned regression.

    Parameters
    ----------
    outcome : Outcome
        Of the true answer.
    design : Predictors
        Of the distinct rows of the covariates, u of them.
    weights : array, shape (u,)
        Shares of the rows; they sum to one.
    Q : array, shape (k, l)
        Channel of the response.
    theta : array
        True parameters.
    place : int
        Which of them is tested.
    """

    outcome: Outcome
    design: Predictors
    weights: Array
    Q: Array
    theta: Array
    place: int

    @classmethod
    def of(cls, outcome: Outcome, X: Array, Q: Array, theta: Array, place: int) -> CoefficientLaw:
        """With rows that are alike made one."""
        rows, n = np.unique(X, axis=0, return_counts=True)
        design = predictors_of(outcome, rows)
        return cls(outcome, design, n / n.sum(), Q, np.array(theta), place)

    @cached_property
    def reports(self) -> Array:
        """Law of the report of each row, (u, l)."""
        return np.asarray(self.outcome.mean(self.design.eta(self.theta)) @ self.Q)

    def loglike(self, theta: Array) -> float:
        """Expected log-likelihood of a respondent."""
        P = np.maximum(self.outcome.mean(self.design.eta(theta)) @ self.Q, _TINY)
        return float(self.weights @ np.sum(self.reports * np.log(P), axis=1))

    def scores(self, theta: Array) -> tuple[Array, Array, Array]:
        """Mean of the score and its mean square under the truth, and the information at theta."""
        size = theta.size
        mean, jacobian = self.outcome.mean_jacobian(self.design.eta(theta))
        P = np.maximum(mean @ self.Q, _TINY)
        g, S, J = np.zeros(size), np.zeros((size, size)), np.zeros((size, size))
        for y in range(self.Q.shape[1]):
            ratio = np.einsum("nkq,k->nq", jacobian, self.Q[:, y]) / P[:, [y]]
            rows = self.design.rows(theta, ratio)
            share = self.weights * self.reports[:, y]
            g += share @ rows
            S += (rows.T * share) @ rows
            J += (rows.T * (self.weights * P[:, y])) @ rows
        return g, S, J

    def curvature(self, theta: Array) -> Array:
        """Second derivative of `loglike`, by differences of scores."""
        found = np.empty((theta.size, theta.size))
        for i in range(theta.size):
            step = np.zeros(theta.size)
            step[i] = _DIFFERENCE * max(1.0, abs(theta[i]))
            ends = self.scores(theta + step)[0], self.scores(theta - step)[0]
            found[i] = (ends[0] - ends[1]) / (2.0 * step[i])
        return np.asarray((found + found.T) / 2.0)

    def restricted(self) -> Array:
        """Parameters at which `loglike` is the largest with the coefficient at zero."""
        theta = self.theta.copy()
        theta[self.place] = 0.0
        free = np.arange(theta.size) != self.place
        if not free.any() or self.theta[self.place] == 0.0:
            return theta
        value = self.loglike(theta)
        for _ in range(_STEPS):
            g, _, J = self.scores(theta)
            step = np.zeros(theta.size)
            step[free] = np.linalg.lstsq(J[np.ix_(free, free)], g[free], rcond=1e-12)[0]
            if g @ step < _CLOSE:
                break
            size, found = 1.0, self.loglike(theta + step)
            while not found >= value and size > 1e-10:
                size /= 2.0
                found = self.loglike(theta + size * step)
            theta, value = theta + size * step, found
        return theta


def coefficient_test(law: CoefficientLaw, alpha: float) -> FormTest:
    """The score test of the coefficient, see `models.regression.likelihood_tests`."""
    theta, j = law.restricted(), law.place
    free = np.arange(theta.size) != j
    g, S, J = law.scores(theta)
    information, _ = _efficient(J, J, j, free)
    if not information > _SINGULAR * J[j, j]:
        raise NotIdentified(
            "the reports and the rows of exog do not determine the coefficient: it needs a "
            "covariate that is no combination of others, and reports that depend on the answer"
        )
    H = -law.curvature(theta) if law.theta[j] != 0.0 else J
    variance, a = _efficient(S, H, j, free)
    mean = float(a @ g)
    M = max(variance - mean**2, 0.0) / information
    pull = mean**2 / information
    powers = np.arange(4)
    return FormTest(1, M ** (powers + 1), pull * M**powers, alpha)


def _efficient(S: Array, H: Array, j: int, free: Array) -> tuple[float, Array]:
    """Mean square of the score of j less what the others explain of it, and its weights."""
    a = np.zeros(len(S))
    a[j] = 1.0
    if free.any():
        a[free] = -np.linalg.lstsq(H[np.ix_(free, free)], H[free, j], rcond=1e-12)[0]
    return float(a @ S @ a), a


def response_channel(mechanism: Mechanism) -> tuple[Array, pd.Index[Any]]:
    """Channel of the response, (k, l), without reports that never occur, and the categories."""
    if mechanism.n_cohorts or mechanism.channel().shape[1] > _MOST_OUTPUTS:
        raise NotAvailable(
            f"the reports of {mechanism} are too many to be listed, which a plan of a regression "
            "needs: plan with k-ary randomised response of the same epsilon"
        )
    Q = np.asarray(mechanism.channel().matrix())
    return Q[:, Q.any(axis=0)], mechanism.categories
