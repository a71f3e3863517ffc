"""What every estimator is: an object that turns a problem into a `Solution`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from ldpstats.arguments import Array
from ldpstats.likelihood.covariance import Covariance
from ldpstats.likelihood.moments import Moments
from ldpstats.likelihood.rows import Likelihood, Solution

Problem = TypeVar("Problem", Likelihood, Moments)


class Estimator(ABC, Generic[Problem]):
    """Solves a `Likelihood` or a `Moments` problem; holds its own tuning and no data.

    Examples
    --------
    >>> from ldpstats.estimators import ESTIMATORS, Estimator
    >>> all(issubclass(kind, Estimator) for kind in ESTIMATORS.values())
    True
    """

    name: ClassVar[str]
    # what restricts p beyond the simplex, see `MLE`; None for most estimators
    constraints: Callable[[Any], list[Any]] | None = None
    # why its estimates have no standard errors, as `cov_type` says it; "" if they have
    without_errors: str = ""

    @abstractmethod
    def solve(self, problem: Problem) -> Solution:
        """Return the estimate with its certificate."""


class LikelihoodEstimator(Estimator[Likelihood]):
    """An estimator of p from the likelihood of the reports.

    Examples
    --------
    >>> from ldpstats.estimators import EM, MLE, LikelihoodEstimator
    >>> isinstance(MLE(), LikelihoodEstimator), isinstance(EM(tol=1e-9), LikelihoodEstimator)
    (True, True)
    """


class MomentsEstimator(Estimator[Moments]):
    """An estimator of p from linear equations in p.

    Examples
    --------
    >>> from ldpstats.estimators import Inversion, MomentsEstimator
    >>> isinstance(Inversion(), MomentsEstimator)
    True
    """

    def excess(self, problem: Moments, p: Array) -> Array | None:
        """How the estimator spreads what its linear start has too much, shape (k,), sum one.

        In the interior every estimate here is the linear one less ``excess * (sum - 1)``; None
        where the sum is left as it is.
        """
        return None

    def covariance(self, problem: Moments, solution: Solution, linear: Covariance) -> Covariance:
        """Covariance of the estimate, to first order, in the interior of the simplex.

        Parameters
        ----------
        problem : Moments
        solution : Solution
            What `solve` returned.
        linear : Covariance
            That of the unconstrained linear estimate.
        """
        u = self.excess(problem, solution.p)
        return linear if u is None else linear.without_excess(u)


class SelectingEstimator(MomentsEstimator):
    """An estimator that selects candidates, and estimates the frequencies of those alone.

    Its `Solution.support` holds what it selected.
    """

    @abstractmethod
    def refit(self, problem: Moments) -> tuple[Solution, Moments]:
        """The estimate, and the problem of the selected, on which their standard errors rest."""

    def solve(self, problem: Moments) -> Solution:
        """Return the estimate, zero for what was not selected; `support` says what was."""
        return self.refit(problem)[0]
