"""Do reports look as their mechanism can make them? Where they do not, the fit says so."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import LDPWarning, MisfitWarning, NotAvailable
from ldpstats.estimators.mle import maximise
from ldpstats.estimators.solvers.ascent import gap_target
from ldpstats.inference import goodness
from ldpstats.inference.tests import TestResult
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.problems.equations import Equations, Moments
from ldpstats.problems.hashed.moments import CohortMoments, merged
from ldpstats.problems.problem import ill_conditioned
from ldpstats.problems.rows.base import DenseRows

__all__ = [
    "MISFIT",
    "condition_of",
    "dense_fit",
    "impossible",
    "misfit",
    "shown",
    "warn_of_doubts",
]

Array = npt.NDArray[Any]

NULL = "the reports were made by this mechanism"
NEGATIVE = "Bonferroni on the most negative estimate"
HOMOGENEITY = "all sources have the same distribution"
MISFIT = 1e-3  # p-value below which a fit warns
_FEWEST = 10  # reports that two cells of five take
_KNOWN = "pass incomplete=True if other answers are known to be held"
_ROOM = 3.0  # standard errors that the share of answers that are not listed may be off


def dense_fit(counts: Array, Q: Array, problem: Equations) -> tuple[Array, Array] | TestResult:
    """Test that counts of labels, shape (l,), come from a channel Q, shape (k, l), whatever p is.

    Where there are more outputs than categories, by the distance from the laws of the channel, with
    rare outputs put together; else, or where too few reports are left for that, by the estimates
    that are most negative: then z and one-sided p-values of all, shape (k,), are returned.
    """
    seen = counts > 0
    target = gap_target(int(counts.sum()), None)
    best = maximise(DenseRows(Q.T[seen]), counts[seen].astype(np.float64), target, False)[0].p
    law = best @ Q
    possible = Q.any(axis=0)
    if possible.sum() > len(Q) and counts.sum() >= _FEWEST:
        group = goodness.rare_groups(counts.sum() * law[possible])
        pooled = np.array([goodness.group_sums(row, group) for row in Q[:, possible]])
        try:
            outcome = goodness.channel_fit(goodness.group_sums(counts[possible], group), pooled)
        except NotAvailable:  # no more groups than they tell apart
            pass
        else:
            method = "chi-square distance from the laws of the channel"
            return TestResult.chi_square(NULL, float(outcome[0]), outcome[1], method)
    made = counts[possible], np.asarray(problem.inverse), law[possible]
    return goodness.negative_estimates(*made)


def impossible(problems: Sequence[Moments]) -> float:
    """p-value of hashed reports that no answers whatever could make; 1 where none are open."""
    found = []
    for problem in problems:
        if isinstance(problem, CohortMoments) and problem.is_open:
            for source in problem.sources:
                design = source.design
                low = source.offset - design.slope * design.background
                most = min(design.cells.shape[2], design.n_cells)
                most = None if source.is_labels else most
                ends = low, low + design.slope
                found.append(goodness.any_answers_fit(source.ones, source.reports, *ends, most))
    return min(1.0, len(found) * min(found)) if found else 1.0


def misfit(
    results: FrequencyResults, problems: Sequence[Moments], incomplete: bool, complete: str = ""
) -> str:
    """What a fit warns of, in words; "" where the reports fit, or nothing tells.

    Over an open alphabet answers that are not listed are no misfit, where the list is known to be
    incomplete or `unexplained` leaves room for as many as it takes, unless the estimate takes the
    list for complete. Reports that no answers could make are always one.

    Parameters
    ----------
    results : FrequencyResults
    problems : sequence of Moments
        Of each source.
    incomplete : bool
        Whether the candidates are known not to be all answers.
    complete : str
        What to do about answers that are not listed, where the estimate takes the list for
        complete; "" where it does not.
    """
    pvalue = impossible(problems)
    if pvalue < MISFIT:
        return (
            f"the reports do not fit the mechanism (p {shown(pvalue)}): no answers could make so "
            "many or so few of some cells; check that its parameters are those of the clients"
        )
    test, share = results.goodness_of_fit, results.unexplained
    if test is None or not test.pvalue < MISFIT:
        return ""
    remedy = "check that its parameters are those of the clients"
    if test.null == HOMOGENEITY:
        remedy = "fit them one by one"
    if share is not None:
        if incomplete or results.linear.at is not None:
            return ""
        room = share.estimate + _ROOM * share.bse >= _least_unlisted(problems)
        if room and not complete:
            return ""
        remedy = complete if room else f"check the mechanism's parameters, or {_KNOWN}"
    return (
        f"goodness of fit has p {shown(test.pvalue)}: the reports contradict the hypothesis that "
        f"{test.null} ({test.method}); {remedy}"
    )


def _least_unlisted(problems: Sequence[Moments]) -> float:
    """The share of answers that are not listed that it takes to explain the misfit."""
    hashed = [problem for problem in problems if isinstance(problem, CohortMoments)]
    found = merged(hashed).misfit()
    return 0.0 if found is None else found.least_unlisted


def condition_of(problems: Sequence[Moments], joined: Moments) -> float:
    """Condition number of the channels of several sources together: of the best, or of all."""
    best = min(problem.condition for problem in problems)
    whole = len(problems) > 1 and isinstance(joined, Equations) and np.ndim(joined.A) == 2
    return min(best, joined.condition) if whole else best


def shown(pvalue: float) -> str:
    """A p-value behind the letter p; nobody is shown that one is zero."""
    return f"= {pvalue:.2g}" if pvalue > 0.0 else "< 1e-300"


def warn_of_doubts(misfit: str, condition: float, stacklevel: int = 3) -> None:
    """Tell the caller of the caller of reports that do not fit, and of ill-conditioned channels."""
    if misfit:
        warnings.warn(misfit, MisfitWarning, stacklevel=stacklevel)
    if words := ill_conditioned(condition):
        warnings.warn(words, LDPWarning, stacklevel=stacklevel)
