"""The Lasso over candidates, and least squares over what it selects."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldpstats.arguments.checks import one_of, real_number
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators.base import SelectingEstimator
from ldpstats.problems.equations import Moments
from ldpstats.problems.hashed.moments import CohortMoments
from ldpstats.problems.problem import Solution

__all__ = ["Lasso", "penalty_level"]


def penalty_level(rule: str, n_candidates: int, false_selections: float = 1.0) -> float:
    """Penalty z >= 0 per standard deviation of the gradient under pure noise.

    A candidate that is absent is selected by chance where its gradient, ``A_x' D noise`` with
    standard deviation s_x, exceeds ``s_x z`` (in a design that is nearly orthogonal). "quantile":
    the z that about `false_selections` of all candidates exceed, were all absent (Belloni, Chen,
    Chernozhukov and Hansen 2012, Econometrica 80(6), with a level for each candidate); from S/2 on
    there is none, as p >= 0 alone lets half of them in. "universal": ``sqrt(2 ln S)``, which all
    absent ones stay below with a probability that tends to one (Donoho and Johnstone 1994,
    Biometrika 81(3)).

    Examples
    --------
    >>> round(penalty_level("universal", 100_000), 3), round(penalty_level("quantile", 100_000), 3)
    (4.799, 4.265)
    """
    if not (n_candidates >= 1 and n_candidates == int(n_candidates)):
        raise InvalidArgument("n_candidates", n_candidates, "must be a whole number, at least 1")
    if rule == "universal":
        return math.sqrt(2.0 * math.log(n_candidates))
    if rule != "quantile":
        raise InvalidArgument("rule", rule, 'must be "quantile" or "universal"')
    if not false_selections > 0.0:
        raise InvalidArgument("false_selections", false_selections, "must be positive, such as 1")
    from scipy.special import ndtri

    return abs(float(ndtri(min(false_selections / n_candidates, 0.5))))


@dataclass(frozen=True)
class Lasso(SelectingEstimator):
    """Select candidates by a non-negative Lasso, then estimate those by least squares (EPK14).

    It is for lists that are too long for least squares: of more candidates than the cohorts tell
    apart, or of so many that their noise drowns the present ones. The penalty of a candidate is a
    multiple z of the standard deviation that its gradient has by chance.

    Parameters
    ----------
    penalty : {"quantile", "universal"}
        "quantile": z is such that `false_selections` absent candidates are expected to be selected.
        "universal": z is the root of 2 ln(number of candidates).
    false_selections : float
        See `penalty`.

    Raises
    ------
    InvalidArgument
        If `penalty` is unknown, or if `false_selections` is not a positive finite number.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> rappor = ldp.RAPPOR(n_bits=32, n_hashes=2, n_cohorts=16, f=0.0, p=0.25, q=0.75)
    >>> words = [f"word{i}" for i in range(500)]
    >>> answers = ["word3", "word5", "word7"] * 10_000
    >>> counts = rappor.privatize(answers, np.random.default_rng(1)).tally(bits=True)
    >>> results = ldp.FrequencyModel(counts, candidates=words).fit("lasso")
    >>> list(results.detected(alpha=0.05))
    ['word3', 'word5', 'word7']
    """

    penalty: str = "quantile"
    false_selections: float = 1.0
    name: ClassVar[str] = "lasso"

    def __post_init__(self) -> None:
        one_of("penalty", self.penalty, ("quantile", "universal"))
        given = self.false_selections
        remedy = "must be a positive finite number, for example 1.0"
        number = real_number("false_selections", given, remedy)
        if not 0.0 < number < np.inf:
            raise InvalidArgument("false_selections", given, remedy)
        object.__setattr__(self, "false_selections", number)

    def refit(self, problem: Moments) -> tuple[Solution, Moments]:
        """Select, and estimate the selected by least squares.

        Raises
        ------
        NotAvailable
            If categories are not hashed, or reports come from several mechanisms.
        NotIdentified
            If the selected candidates cannot be distinguished.
        """
        from ldpstats.estimators.solvers.nonnegative import nonnegative_lasso

        # it selects among hashed candidates; what is not hashed needs no selection
        if not isinstance(problem, CohortMoments):
            raise NotAvailable(
                "'lasso' selects among candidates of reports that are hashed, in bits or labels: "
                "use method 'inversion' or 'thresholded'"
            )
        source = problem.single(self.name)
        z = penalty_level(self.penalty, problem.k, self.false_selections)
        spread = np.sqrt(source.noise.gradient_variances(source))
        fit = nonnegative_lasso(source.design, source.cohort_weights, source.moved, z * spread)
        support = np.flatnonzero(fit.p > 0.0)
        p, chosen = np.zeros(problem.k), problem.take(support)
        if support.size:
            p[support] = chosen.estimate()[0]
        message = (
            f"non-negative Lasso, penalty {self.penalty!r} of {z:.4g} standard deviations: "
            f"{support.size} of {problem.k} candidates selected, then least squares"
        )
        return Solution(p, np.nan, fit.n_iter, fit.converged, message, support), chosen
