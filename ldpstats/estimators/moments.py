"""Estimators by moments: inversion, projection, least squares, Lasso, and thresholds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldpstats.arguments import Array, floats, level, one_of, real_number
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators.base import MomentsEstimator, SelectingEstimator
from ldpstats.likelihood.covariance import Covariance, project_simplex
from ldpstats.likelihood.hashed import CohortMoments
from ldpstats.likelihood.joint import JointMoments
from ldpstats.likelihood.moments import Equations, Moments
from ldpstats.likelihood.rows import Solution


@dataclass(frozen=True)
class Inversion(MomentsEstimator):
    """The unbiased empirical estimate ``p = G (t - offset)`` (KBR16 eq. 6 and 11).

    Entries may be negative; they are shown as they are. See `Equations.inverse` for G.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(3, epsilon=np.log(4.0))   # p = 2 m - 1/3
    >>> Inversion().solve(krr.moments(krr.counts([60, 30, 10]))).p.round(4)
    array([ 0.8667,  0.2667, -0.1333])
    """

    name: ClassVar[str] = "inversion"

    def solve(self, problem: Moments) -> Solution:
        """Return the linear estimate; `message` holds the misfit of the equations.

        Raises
        ------
        NotIdentified
            Where different p give the same reports.
        """
        p, message = problem.estimate()
        return Solution(p, np.nan, 0, True, message)


# -- Projection of the empirical estimate onto the simplex ----------------------------------------


@dataclass(frozen=True)
class Projected(MomentsEstimator):
    """The empirical estimate projected onto the simplex (KBR16 section 4.1, remedy b).

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(3, epsilon=1.0)
    >>> problem = krr.moments(krr.counts([60, 35, 5]))
    >>> Projected().solve(problem).p.round(4)
    array([0.8432, 0.1568, 0.    ])
    """

    name: ClassVar[str] = "projected"

    def solve(self, problem: Moments) -> Solution:
        """Return the projection; `message` says how far the estimate was moved."""
        estimate = Inversion().solve(problem).p
        p = project_simplex(estimate)
        distance = float(np.linalg.norm(p - estimate))
        return Solution(
            p, np.nan, 0, True, f"projected onto the simplex, at distance {distance:.2e}"
        )

    def excess(self, problem: Moments, p: Array) -> Array:
        """An equal share from every category, shape (k,)."""
        return np.full(p.size, 1.0 / p.size)


# -- Non-negative least squares -------------------------------------------------------------------


@dataclass(frozen=True)
class NNLS(MomentsEstimator):
    """The p >= 0 that fits the equations best in (weighted) least squares; its sum is free.

    With one equation per category this is the empirical estimate with negative entries set to zero.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(3, epsilon=np.log(4.0))
    >>> NNLS().solve(krr.moments(krr.counts([60, 30, 10]))).p.round(4)
    array([0.8667, 0.2667, 0.    ])
    """

    name: ClassVar[str] = "nnls"

    def solve(self, problem: Moments) -> Solution:
        """Return the estimate; `message` holds the root of the weighted sum of squares left.

        Raises
        ------
        NotAvailable
            For moments of several variables.
        NotIdentified
            Where the equations do not determine p.
        """
        # each form of equations has its own algorithm, and moments know none
        steps, converged = 0, True
        if isinstance(problem, CohortMoments):
            from ldpstats.estimators.constrained import nonnegative_lasso

            problem.require_identified()
            source = problem.single("nnls")
            weights, moved = source.cohort_weights, source.moved
            fit = nonnegative_lasso(source.design, weights, moved, 0.0)
            p, steps, converged = fit.p, fit.n_iter, fit.converged
            share = np.repeat(weights / weights.max(), source.design.n_cells)
            residual = float(np.sqrt(share @ (moved - source.design.times(p)) ** 2))
        elif not isinstance(problem, Equations):
            raise NotAvailable("nnls is for one variable; use method 'moments' or 'projected'")
        else:
            G = problem.inverse  # also the check that p is identified
            moved = floats(problem.t - problem.offset)
            if np.ndim(G) < 2:
                p = np.maximum(moved * G, 0.0)
                residual = float(np.linalg.norm(moved - p / G))
            else:
                from scipy.optimize import nnls

                root = np.sqrt(problem.weights / np.max(problem.weights))
                p, residual = nnls(root[:, None] * problem.A, root * moved)
        message = f"non-negative least squares, sum {p.sum():.6g}: residual {residual:.2e}"
        return Solution(p, np.nan, steps, converged, message)


# -- Moments of several variables from features that sum to one -----------------------------------


@dataclass(frozen=True)
class MomentsGLS(MomentsEstimator):
    """The linear estimate of a joint table, adjusted by least squares to margins that sum to one.

    Bit reports estimate each category from its own bit, so that their estimates do not sum to one.
    That they must is used report by report; it loses less to the maximum likelihood estimate.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
    >>> counts = ldp.JointCounts.from_table([[400, 150], [150, 300]], (krr, krr))
    >>> MomentsGLS().solve(ldp.AssociationModel(counts).moments()).p.sum().round(12)
    np.float64(1.0)
    """

    name: ClassVar[str] = "moments-gls"

    def solve(self, problem: Moments) -> Solution:
        """Adjust and solve `AssociationModel.moments`.

        Raises
        ------
        NotAvailable
            If the moments are not of a joint table, or some categories are not listed.
        """
        p, how = _adjusted(problem).estimate()
        return Solution(p, np.nan, 0, True, f"{how}; margins sum to one by least squares")

    def covariance(self, problem: Moments, solution: Solution, linear: Covariance) -> Covariance:
        adjusted = _adjusted(problem)
        large = None if linear.factors is None else adjusted.factored
        return adjusted.covariance() if large is None else large


def _adjusted(problem: Moments) -> JointMoments:
    # only moments of several variables have margins
    if not isinstance(problem, JointMoments) or not problem.complete:
        raise NotAvailable("moments-gls is for joint tables whose categories are all listed")
    return problem.summing_to_one()


# -- KBR16's minimax estimator of the squared loss, with private frequencies in its place ---------


@dataclass(frozen=True)
class Minimax(MomentsEstimator):
    """``(sqrt(n) / k + T) / (sqrt(n) + n)`` with T = n times the unbiased estimate (KBR16 eq. 25).

    For answers without noise T are the counts of the categories, and the estimate is minimax for
    the l2 loss (Lehmann and Casella 1998): its risk is ``(1 - 1/k) / (sqrt(n) + 1)^2`` whatever the
    frequencies are. KBR16 prints it for that case only. For private reports T is n times the
    estimate of `Inversion`. Under k-RR and k-RAPPOR, where the summed variance is a constant less
    ``sum p^2 / n``, the risk is then the same for all frequencies too; it is not minimax any more.

    The default is better for inference: this estimate is biased towards 1/k by about
    ``1 / sqrt(n)`` of the distance, as much as a standard error without noise, and improves the
    largest loss by a factor of ``(1 + 1 / sqrt(n))^2`` only. It is not constrained to the simplex.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> told = ldp.Observed(("a", "b", "c"))
    >>> counts = told.counts([80, 15, 5])                  # (10/3 + T) / 110
    >>> Minimax().solve(told.moments(counts)).p.round(4)
    array([0.7576, 0.1667, 0.0758])
    """

    name: ClassVar[str] = "minimax"

    def solve(self, problem: Moments) -> Solution:
        """Return the estimate; `message` holds the weight of the uniform distribution.

        Raises
        ------
        NotAvailable
            For hashed candidates, of which there may be more than are listed.
        """
        weight = _weight(problem)
        p = weight * problem.estimate()[0] + (1.0 - weight) / problem.k
        message = f"the unbiased estimate with weight {weight:.6g}, the uniform one with the rest"
        return Solution(p, np.nan, 0, True, message)

    def covariance(self, problem: Moments, solution: Solution, linear: Covariance) -> Covariance:
        """The covariance of the unconstrained estimate, shrunk."""
        return linear.stretched(_weight(problem))


def _weight(problem: Moments) -> float:
    """Weight of the unbiased estimate: n over n + sqrt(n)."""
    if problem.kind == "cohorts":
        raise NotAvailable(
            "the minimax estimator needs all categories, and hashed candidates need not be all: "
            "use method 'inversion'"
        )
    return float(1.0 / (1.0 + 1.0 / np.sqrt(problem.nobs)))


# -- The Lasso over candidates, and least squares over what it selects ----------------------------


def penalty_level(rule: str, n_candidates: int, false_selections: float = 1.0) -> float:
    """Penalty z >= 0 per standard deviation of the gradient under pure noise.

    A candidate that is absent is selected by chance where its gradient, ``A_x' D noise`` with
    standard deviation s_x, exceeds ``s_x z`` (in a design that is nearly orthogonal). "quantile":
    the z that about `false_selections` of all candidates exceed, were all absent (Belloni, Chen,
    Chernozhukov and Hansen 2012, Econometrica 80(6), with a level for each candidate); from S/2 on
    there is none, as p >= 0 alone lets half of them in. "universal": ``sqrt(2 ln S)``, which all
    absent ones stay below with a probability that tends to one (Donoho and Johnstone 1994,
    Biometrika 81(3)).
    """
    if rule == "universal":
        return math.sqrt(2.0 * math.log(n_candidates))
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
        remedy = "must be a positive finite number, for example 1.0"
        number = real_number("false_selections", self.false_selections, remedy)
        if not 0.0 < number < np.inf:
            raise InvalidArgument("false_selections", self.false_selections, remedy)
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
        from ldpstats.estimators.constrained import nonnegative_lasso

        # it selects among hashed candidates; what is not hashed needs no selection
        if not isinstance(problem, CohortMoments):
            raise NotAvailable(
                "'lasso' selects among candidates of reports that are hashed, in bits or labels: "
                "use method 'inversion' or 'thresholded'"
            )
        source = problem.single(self.name)
        z = penalty_level(self.penalty, problem.k, self.false_selections)
        spread = np.sqrt(source.gradient_variances())
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


# -- Estimates that pass a significance threshold; the others share what is left ------------------


@dataclass(frozen=True)
class Thresholded(MomentsEstimator):
    """Significant estimates are kept, the rest of the mass is spread evenly over the others.

    Entry j of the linear estimate is kept where it exceeds z_{1 - alpha/k} standard errors at
    p_j = 0 (Bonferroni over the k categories; EPK14, MK19 sections 2.5 and 5). Where the kept
    entries already exceed one they are divided by their sum, and `message` says so.

    Parameters
    ----------
    alpha : float
        Probability, at most, of keeping any category that nobody has.

    Raises
    ------
    InvalidArgument
        Where alpha is not in (0, 1).

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(4, epsilon=2.0)
    >>> solution = Thresholded(alpha=0.05).solve(krr.moments(krr.counts([500, 300, 110, 90])))
    >>> solution.p.round(4)
    array([0.6565, 0.3313, 0.0061, 0.0061])
    >>> solution.message
    'kept 2 of 4, 0.0121788 spread evenly over the others'
    """

    alpha: float = 0.05
    name: ClassVar[str] = "thresholded"

    def __post_init__(self) -> None:
        level(self.alpha)

    def solve(self, problem: Moments) -> Solution:
        """Return the thresholded estimate; `message` says what was kept."""
        from scipy.special import ndtri

        k = problem.k
        estimate, _ = problem.estimate()
        keep = estimate > -ndtri(self.alpha / k) * problem.null_standard_errors()
        total, n_kept = float(estimate[keep].sum()), int(keep.sum())
        if total > 1.0 or n_kept == k:
            p = np.where(keep, estimate, 0.0) / total
            message = f"kept {n_kept} of {k}, divided by their sum {total:.6g}"
        else:
            p = np.where(keep, estimate, (1.0 - total) / (k - n_kept))
            message = f"kept {n_kept} of {k}, {1.0 - total:.6g} spread evenly over the others"
        return Solution(p, np.nan, 0, True, message)
