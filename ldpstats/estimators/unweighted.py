"""KBR16's least squares for hashed reports, without weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.estimators.base import MomentsEstimator
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.equations import Moments
from ldpstats.problems.hashed.moments import CohortMoments
from ldpstats.problems.problem import Solution

__all__ = ["Unweighted"]

Array = npt.NDArray[Any]

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
        printed, p = _printed(problem), problem.plug_in()
        (source,) = printed.sources
        C = source.design.n_cohorts
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
    design, C = source.design, source.design.n_cohorts
    low = source.offset - design.slope * design.background  # P(a cell that the answer does not own)
    printed = replace(
        source,
        design=replace(design, background=0.0),
        offset=low,
        reports=np.full(C, problem.nobs / C),
        given=np.ones(C),
    )
    return replace(problem, sources=(printed,), incomplete=False)
