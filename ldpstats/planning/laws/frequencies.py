"""The law of the estimate of one frequency from one respondent, as tests of results take it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.mechanisms.base import Mechanism
from ldpstats.planning.variances import (
    has_scores,
    one_report_covariance,
    one_report_variances,
    score_covariance,
)
from ldpstats.problems.hashed.moments import CohortMoments
from ldpstats.problems.moments import Moments
from ldpstats.problems.tallies import OwnTally, PathLaw

__all__ = ["FrequencyLaw", "estimate_covariance", "frequency_law"]

Array = npt.NDArray[Any]

_COHORT = 10**7  # reports of each cohort of a survey whose reports are as expected


@dataclass(frozen=True)
class FrequencyLaw:
    """Law of an unbiased estimate of one frequency.

    Parameters
    ----------
    cumulants : callable
        Variance and third cumulant from one respondent, if the frequency is v and the others are in
        proportion.
    count : (float, float) or None
        Where the estimate rests on a count that is Binomial(n, offset + scale v): offset and scale,
        which is positive.
    exact : bool
        Whether tests of p = 0 are by the binomial tail of that count.
    continuous : bool
        Whether tests of p = 0 have no correction for continuity.
    """

    cumulants: Callable[[float], tuple[float, float]]
    count: tuple[float, float] | None = None
    exact: bool = False
    continuous: bool = False


def frequency_law(mechanism: Mechanism, p: Array, x: int, candidates: Any = None) -> FrequencyLaw:
    """Law of the unconstrained estimate of frequency x where the distribution is p, shape (k,).

    It is the estimate of `FrequencyResults.linear_params`: of bits whose patterns are known by one
    step of their likelihood, else the inversion.
    """
    scored = _score_law(mechanism, p)
    if scored is not None:
        return FrequencyLaw(_on_path(scored, x, 1.0))
    problem = mechanism.moments(mechanism.specimen(), candidates)
    form = problem.exact_form()
    if form is not None and form.known[x]:
        return _counted(float(form.offset[x]), float(form.scale[x]))
    if isinstance(problem, CohortMoments):
        return _hashed(mechanism, problem, p, x, candidates)
    tally = problem.tally(None, p)  # type: ignore[arg-type]  # only hashes look at an estimate
    if isinstance(tally, PathLaw):
        return FrequencyLaw(_on_path(tally, x, float(problem.nobs)))
    variance = float(one_report_variances(mechanism, p, candidates)[x])
    return FrequencyLaw(lambda v: (variance, 0.0), continuous=True)


def estimate_covariance(
    mechanism: Mechanism, p: Array, candidates: Any = None, scores: bool = False
) -> Array:
    """Covariance, (k, k), of one respondent's unconstrained estimate."""
    if not scores:
        return one_report_covariance(mechanism, p, candidates, "inversion").matrix()
    return score_covariance(mechanism, p)[1].matrix()


def _score_law(mechanism: Mechanism, p: Array) -> PathLaw | None:
    """Of the one-step estimate; None where results do not rest on it."""
    if not has_scores(mechanism):
        return None
    try:
        start, V = score_covariance(mechanism, p)
        moments = mechanism.channel().score_moments(start, V.core)
    except (NotAvailable, NotIdentified):  # inversion has the milder demands
        return None
    return PathLaw.around(start, (1,), [moments])


def _on_path(law: PathLaw, x: int, n: float) -> Callable[[float], tuple[float, float]]:
    """Cumulants of entry x, of a law of n respondents."""
    one = PathLaw(law.nobs / n, law.own[..., [x]], law.others[..., [x]])

    def cumulants(v: float) -> tuple[float, float]:
        se, skewness, _ = one.law(np.array([v]))
        return float(se[0]) ** 2, float(skewness[0] * se[0] ** 3)

    return cumulants


def _counted(offset: float, scale: float) -> FrequencyLaw:
    if scale < 0.0:  # count the other reports
        offset, scale = 1.0 - offset, -scale

    def cumulants(v: float) -> tuple[float, float]:
        m = min(max(offset + scale * v, 0.0), 1.0)
        spread = m * (1.0 - m)
        return spread / scale**2, spread * (1.0 - 2.0 * m) / scale**3

    return FrequencyLaw(cumulants, (offset, scale), exact=True)


def _hashed(
    mechanism: Mechanism, problem: CohortMoments, p: Array, x: int, candidates: Any
) -> FrequencyLaw:
    """Law of a hashed candidate, by the tally of its own cells where reports are as expected."""
    cells = problem.single("power").cell_means(p)
    ones = np.rint(cells * _COHORT).astype(np.int64)
    sizes = np.full(len(ones), _COHORT) if mechanism.n_bits else None
    expected: Moments = mechanism.moments(mechanism.counts(ones, sizes), candidates)
    if not isinstance(expected, CohortMoments):
        raise InvalidArgument("mechanism", str(mechanism), "has reports that cannot be planned")
    n = float(expected.nobs)
    tally = expected.own_tally(expected.covariance(p).variances())
    one = OwnTally(*(getattr(tally, f.name)[[x]] for f in fields(tally)))

    def cumulants(v: float) -> tuple[float, float]:
        se, skewness, _ = one.law(np.array([v]))
        return float(se[0]) ** 2 * n, float(skewness[0] * se[0] ** 3) * n**2

    return FrequencyLaw(cumulants, continuous=True)
