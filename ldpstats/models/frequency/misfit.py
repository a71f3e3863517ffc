"""Do reports look as their mechanism can make them? Where they do not, the fit says so."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ldpstats.errors import LDPWarning, MisfitWarning
from ldpstats.inference import goodness
from ldpstats.models.frequency.fit_checks import HOMOGENEITY
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.problems.moments import Moments
from ldpstats.problems.pooled import joined
from ldpstats.problems.problem import ill_conditioned

__all__ = ["MISFIT", "impossible", "misfit", "shown", "warn_of_doubts"]

MISFIT = 1e-3  # p-value below which a fit warns
_KNOWN = "pass incomplete=True if other answers are known to be held"
_CHECK = "check that its parameters are those with which the reports were made"
_ROOM = 3.0  # standard errors that the share of answers that are not listed may be off


def impossible(problems: Sequence[Moments]) -> float:
    """p-value of hashed reports that no answers whatever could make; 1 where none are open."""
    bounds = [cells for problem in problems for cells in problem.cell_bounds()]
    found = [
        goodness.any_answers_fit(c.ones, c.reports, c.absent, c.present, c.most) for c in bounds
    ]
    return min(1.0, len(found) * min(found)) if found else 1.0


def misfit(
    results: FrequencyResults, problems: Sequence[Moments], incomplete: bool, complete: str = ""
) -> str:
    """What a fit warns of, in words; "" where the reports fit, or nothing tells.

    Over an open alphabet answers that are not listed are no misfit, where the list is known to be
    incomplete or `unexplained` leaves room for as many as it takes, unless the estimate takes the
    list for complete. Reports that no answers could make are always one.
    """
    pvalue = impossible(problems)
    if pvalue < MISFIT:
        return (
            f"the reports do not fit the mechanism (p {shown(pvalue)}): no answers could make so "
            "many or so few of some cells; " + _CHECK
        )
    test, share = results.goodness_of_fit, results.unexplained
    if test is None or not test.pvalue < MISFIT:
        return ""
    remedy = _CHECK
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
    found = joined(problems).misfit()
    return 0.0 if found is None else found.least_unlisted


def shown(pvalue: float) -> str:
    """A p-value behind the letter p; nobody is shown that one is zero."""
    return f"= {pvalue:.2g}" if pvalue > 0.0 else "< 1e-300"


def warn_of_doubts(misfit: str, condition: float, stacklevel: int = 3) -> None:
    """Tell the caller of the caller of reports that do not fit, and of ill-conditioned channels."""
    if misfit:
        warnings.warn(misfit, MisfitWarning, stacklevel=stacklevel)
    if words := ill_conditioned(condition):
        warnings.warn(words, LDPWarning, stacklevel=stacklevel)
