"""Covariance of the unconstrained estimate at one respondent, on which every plan rests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import distribution, one_of, positive_number
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference.information import observed_tangent_inverse
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.sensitive.pum import PUM
from ldpstats.models.frequency.one_step import rests_on_scores
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.moments import Moments

__all__ = [
    "METHODS",
    "check_mechanism",
    "effect_of_design",
    "expected_shares",
    "has_scores",
    "one_report_covariance",
    "one_report_variances",
    "score_covariance",
]

Array = npt.NDArray[Any]

_EFFECTS = (1e-6, 1e6)
METHODS = ("mle", "inversion")
_LEAST = 1e-12  # frequency of an answer that nobody gives


def one_report_covariance(
    mechanism: Mechanism,
    p: npt.ArrayLike | None = None,
    candidates: Any = None,
    method: str = "mle",
) -> Covariance:
    """Covariance of the unconstrained estimate from one respondent's report.

    Divided by n it is the covariance of `FrequencyResults.linear_params` from n respondents, on
    which intervals and tests rest. It is exact; where a mechanism has cohorts, given their hashes
    and cohorts of equal size.

    Parameters
    ----------
    mechanism : Mechanism
        Any mechanism.
    p : array-like, shape (k,), or Series, optional
        Distribution of the categories or candidates, a Series by label. Over an open alphabet it
        may sum to less than one: other answers are then taken to hash evenly. Default: uniform.
    candidates : sequence of str, optional
        The strings whose distribution is p; only for mechanisms with an open alphabet.
    method : {"mle", "inversion"}
        How the reports will be fitted. Beside "mle", reports of bits and of block designs have an
        unconstrained estimate from their likelihood, whose variance is the inverse information;
        with "inversion", or where only sums of bits are kept, they have the linear one from counts.
        For other mechanisms the two are one.

    Returns
    -------
    Covariance
        Of size k, in the order of ``mechanism.labels(candidates)``.

    Raises
    ------
    NotIdentified
        If the reports leave p open.
    NotAvailable
        If the categories are too many for a covariance, or candidates for standard errors.
    InvalidArgument
        If `mechanism` is not a mechanism, `p` is not a distribution over the categories, or
        `method` is another.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(4, epsilon=1.0)
    >>> one_report_covariance(krr, [0.4, 0.3, 0.2, 0.1]).variances().round(3)
    array([2.304, 2.157, 1.991, 1.804])
    """
    problem, law, scored = _planned(mechanism, p, candidates, method)
    if scored is not None:
        return scored
    if not problem.has_covariance:
        raise NotAvailable(
            f"the covariance of {problem.k} categories of {mechanism} is too large to form: "
            "precision() has their standard errors"
        )
    return problem.covariance(law).scaled(float(problem.nobs))


def one_report_variances(
    mechanism: Mechanism, p: Any = None, candidates: Any = None, method: str = "mle"
) -> Array:
    """The diagonal of `one_report_covariance`, shape (k,), for very many categories too."""
    problem, law, scored = _planned(mechanism, p, candidates, method)
    if scored is not None:
        return scored.variances()
    return np.asarray(problem.estimate_variances(law) * problem.nobs)


def _planned(
    mechanism: Mechanism, p: Any, candidates: Any, method: str
) -> tuple[Moments, Array, Covariance | None]:
    """The equations of one report in each cohort, the distribution, and what scores know."""
    check_mechanism(mechanism)
    how = one_of("method", method, METHODS)
    law = expected_shares(p, mechanism.labels(candidates), partial=mechanism.is_open)
    problem = mechanism.moments(mechanism.specimen(), candidates)
    if how == "inversion" or not has_scores(mechanism, problem):
        return problem, law, None
    try:
        return problem, law, score_covariance(mechanism, law)[1]
    except (NotAvailable, NotIdentified):  # inversion has the milder demands
        return problem, law, None


def has_scores(mechanism: Mechanism, problem: Moments | None = None) -> bool:
    """Whether results rest on the likelihood of bits or blocks; `problem` has its equations."""
    if mechanism.n_cohorts:  # which may have no equations without candidates
        return False
    if problem is None:
        problem = mechanism.moments(mechanism.specimen())
    return rests_on_scores([mechanism], [problem])


def score_covariance(mechanism: Mechanism, p: Array) -> tuple[Array, Covariance]:
    """The inverse information at p on the tangent space, after p with no frequency at zero."""
    start = np.maximum(p, _LEAST)
    start = start / start.sum()
    return start, observed_tangent_inverse(mechanism.channel().information(start))


def check_mechanism(mechanism: object, name: str = "mechanism") -> Mechanism:
    """Return a mechanism; refuse anything else."""
    if isinstance(mechanism, PUM):
        remedy = "has no distribution of its own: plan with its .common, categories and bots"
        raise InvalidArgument(name, str(mechanism), remedy)
    if not isinstance(mechanism, Mechanism):
        raise InvalidArgument(name, mechanism, "must be a mechanism, such as KRR(...)")
    return mechanism


def expected_shares(p: Any, labels: pd.Index[Any], name: str = "p", partial: bool = False) -> Array:
    """The distribution that a plan assumes, shape (k,): uniform by default, a Series by label."""
    k = len(labels)
    if p is None:
        return np.full(k, 1.0 / k)
    return distribution(name, align(name, p, labels), k, partial)


def effect_of_design(value: object) -> float:
    """A design effect: the factor by which the sampling design multiplies variances."""
    return positive_number("design_effect", value, _EFFECTS)
