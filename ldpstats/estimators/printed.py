"""KBR16's least squares for hashed reports, without weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ldpstats.arguments import Array, positive_integer, real_number
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.estimators.base import LikelihoodEstimator, MomentsEstimator
from ldpstats.estimators.likelihood import em_step
from ldpstats.estimators.moments import Inversion
from ldpstats.estimators.solvers import observed, possible, tell
from ldpstats.likelihood.covariance import Covariance
from ldpstats.likelihood.hashed import CohortMoments
from ldpstats.likelihood.moments import Moments
from ldpstats.likelihood.rows import Likelihood, Solution

_ROUNDING = 1e-14


@dataclass(frozen=True)
class Unweighted(MomentsEstimator):
    """Ordinary least squares of hashed reports as printed in KBR16 (eq. 18, published numbering).

    It solves ``H p = (C (e^eps + k - 1) m - 1) / (e^eps - 1)`` for the candidates, with m the share
    of each pair of report and cohort among all reports, and H the hashes. For reports of bits the
    same is solved with the probabilities of their bits, as section 5.2 has it without a formula.

    The default (`Inversion`) is better in three ways. It uses shares within each cohort, so that
    chance in the sizes of cohorts adds no noise, and weighs cohorts by their sizes; with cohorts of
    the same size, and candidates that are all answers, the two estimates are the same. A cohort
    without reports, which it leaves out, counts here as if nobody had any answer. Over an open
    alphabet it allows for answers that are not among the candidates, whose mass is spread over the
    candidates here.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> orr = ldp.ORR(2, 8, epsilon=2.0, alphabet=("a", "b", "c"))
    >>> counts = orr.privatize(["a"] * 600 + ["b"] * 400, np.random.default_rng(1)).tally()
    >>> model = ldp.FrequencyModel(counts)
    >>> model.fit("unweighted").params.round(2).tolist()
    [0.58, 0.44, -0.03]
    >>> model.fit("inversion").params.round(2).tolist()
    [0.59, 0.42, -0.01]
    """

    name: ClassVar[str] = "unweighted"

    def solve(self, problem: Moments) -> Solution:
        """Return the estimate, unconstrained.

        Raises
        ------
        NotAvailable
            Where the reports are not hashed, or are of several mechanisms.
        NotIdentified
            Where candidates cannot be distinguished.
        """
        p = _printed(problem).estimate()[0]
        return Solution(p, np.nan, 0, True, "least squares without weights (KBR16 eq. 18)")

    def covariance(self, problem: Moments, solution: Solution, linear: Covariance) -> Covariance:
        """Covariance at `Moments.plug_in`, with that from the sizes of cohorts.

        Given the sizes it is that of the reports. Their counts are multinomial with even
        probabilities, and the mean of an equation is in proportion to its cohort's share.
        """
        printed, p = _printed(problem), problem.plug_in
        (source,) = printed.sources
        C = len(source.reports)
        means = source.design.by_cohort(source.cell_means(p).reshape(-1))
        apart, scale = means - means.mean(axis=0), C / problem.nobs
        spread = printed.spread(p) + scale * apart.T @ apart
        # almost without noise, all that is left of the terms that cancel is rounding
        terms = np.sqrt(scale) * np.linalg.norm(means, axis=0)
        spread[np.abs(spread) <= _ROUNDING * np.outer(terms, terms)] = 0.0
        return Covariance(np.zeros(problem.k), spread, printed.inverse)


def _printed(problem: Moments) -> CohortMoments:
    """The equations as printed: of shares of all reports, with weights of one, without others."""
    # only these equations are of hashes
    if not isinstance(problem, CohortMoments):
        raise NotAvailable(
            "unweighted least squares (KBR16 eq. 18) is for hashed reports, of ORR, ORAPPOR and "
            "RAPPOR; use method 'inversion'"
        )
    source = problem.single("unweighted")
    C = len(source.reports)
    printed = replace(
        source,
        design=replace(source.design, background=0.0),
        offset=source.absent,
        reports=np.full(C, problem.nobs / C),
        cohort_weights=np.ones(C),
    )
    return replace(problem, sources=(printed,), incomplete=False)


# -- The empirical estimate, truncated and renormalised -------------------------------------------


@dataclass(frozen=True)
class Normalized(MomentsEstimator):
    """Negative entries set to zero, the rest divided by their sum (KBR16 section 4.1, remedy a).

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(3, epsilon=np.log(4.0))   # inversion gives .8667, .2667, -.1333
    >>> Normalized().solve(krr.moments(krr.counts([60, 30, 10]))).p.round(4)
    array([0.7647, 0.2353, 0.    ])
    """

    name: ClassVar[str] = "normalized"

    def solve(self, problem: Moments) -> Solution:
        """Return the renormalised estimate; `message` holds the sum it was divided by.

        Raises
        ------
        NotIdentified
            Where no entry of the empirical estimate is positive.
        """
        kept = np.maximum(Inversion().solve(problem).p, 0.0)
        total = float(kept.sum())
        if total == 0.0:
            raise NotIdentified(
                "no entry of the empirical estimate is positive, so nothing is left to normalise; "
                "collect more reports, or use method 'projected' or 'mle'"
            )
        message = f"negative entries set to zero, the rest divided by their sum {total:.6g}"
        return Solution(kept / total, np.nan, 0, True, message)

    def excess(self, problem: Moments, p: Array) -> Array:
        """In proportion to p: dividing by a sum of 1 + s takes p s away, to first order."""
        return p


# -- Expectation maximisation as FPE16 prints it --------------------------------------------------


_DELTA = "must be a positive number, for example 1e-6"


@dataclass(frozen=True)
class PlainEM(LikelihoodEstimator):
    """EM from the uniform distribution until no frequency moves by `delta` (FPE16 section III-A).

    Step 1 of FPE16 starts at the uniform distribution, step 2 is `em_step`, and step 3 stops when
    ``max |p_new - p| < delta``, "some small positive value". EM moves slowly where noise is strong:
    small steps do not mean that the maximum is near, and the rule stops far from it. The estimate
    then depends on the start and on `delta`, and is smoother than the maximum. `gap` says how far
    it is, and `message` in nats. `EM`, the default under that name, makes the same steps,
    extrapolates them and stops on the gap; `MLE` is faster still.

    Parameters
    ----------
    delta : float
        Largest change of a frequency in the last step. FPE16 names no value; 1e-6 by default.
    max_iter : int
        Largest number of steps; FPE16 has no such limit.

    Raises
    ------
    InvalidArgument
        If `delta` is not positive or `max_iter` is below 1.

    Examples
    --------
    >>> problem = Likelihood(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60, 40]))
    >>> solution = PlainEM(delta=0.03).solve(problem)      # the maximum is at 0.7
    >>> solution.p.round(4), solution.n_iter, solution.gap > 0.01
    (array([0.6148, 0.3852]), 3, True)
    """

    delta: float = 1e-6
    max_iter: int = 1_000_000
    name: ClassVar[str] = "em-fpe16"

    def __post_init__(self) -> None:
        if not 0.0 < real_number("delta", self.delta, _DELTA) < np.inf:
            raise InvalidArgument("delta", self.delta, _DELTA)
        positive_integer("max_iter", self.max_iter)

    def solve(self, problem: Likelihood) -> Solution:
        """Iterate to the printed rule; `converged` says that it holds, and `gap` how far p is."""
        W, n = observed(problem)
        prepared = Likelihood(W.prepared(), n)
        p, _ = possible(prepared.W, np.full(prepared.k, 1.0 / prepared.k))
        change, steps = np.inf, 0
        while change >= self.delta and steps < self.max_iter:
            new = em_step(prepared, p)
            change, p, steps = float(np.abs(new - p).max()), new, steps + 1
            tell(change, self.delta)
        gap, nats = prepared.gap(p), prepared.gap_nats(p)
        done = change < self.delta
        message = f"EM as printed, {steps} steps, the last below {self.delta:g}"
        if not done:
            message = f"EM as printed, not converged after {steps} steps"
        message += f": gap {gap:.1e} per report, up to {nats:.1e} nats below the maximum"
        return Solution(p, gap, steps, done, message)
