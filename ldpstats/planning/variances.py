"""Covariance of the linear estimate at one respondent, on which every plan rests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import distribution, positive_number
from ldpstats.arguments.labels import align
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.sensitive.pum import PUM
from ldpstats.problems.covariance import Covariance
from ldpstats.problems.moments import Moments

__all__ = [
    "check_mechanism",
    "effect_of_design",
    "expected_shares",
    "one_report_covariance",
    "one_report_variances",
]

Array = npt.NDArray[Any]

_EFFECTS = (1e-6, 1e6)


def one_report_covariance(
    mechanism: Mechanism, p: npt.ArrayLike | None = None, candidates: Any = None
) -> Covariance:
    """Covariance of the unconstrained linear estimate (`inversion`) of one respondent's reports.

    Divided by n it is the covariance of the estimates from n respondents. It is exact; where a
    mechanism has cohorts, given their hashes and cohorts of equal size.

    Parameters
    ----------
    mechanism : Mechanism
        Any mechanism.
    p : array-like, shape (k,), or Series, optional
        Distribution of the categories or candidates, a Series by label. Over an open alphabet it
        may sum to less than one: other answers are then taken to hash evenly. Default: uniform.
    candidates : sequence of str, optional
        The strings whose distribution is p; only for mechanisms with an open alphabet.

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
        If `mechanism` is not a mechanism, or `p` is not a distribution over the categories.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(4, epsilon=1.0)
    >>> one_report_covariance(krr, [0.4, 0.3, 0.2, 0.1]).variances().round(3)
    array([2.304, 2.157, 1.991, 1.804])
    """
    problem, law = _planned(mechanism, p, candidates)
    if not problem.has_covariance:
        raise NotAvailable(
            f"the covariance of {problem.k} categories of {mechanism} is too large to form: "
            "precision() has their standard errors"
        )
    return problem.covariance(law).scaled(float(problem.nobs))


def one_report_variances(mechanism: Mechanism, p: Any = None, candidates: Any = None) -> Array:
    """The diagonal of `one_report_covariance`, shape (k,), for very many categories too."""
    problem, law = _planned(mechanism, p, candidates)
    return np.asarray(problem.estimate_variances(law) * problem.nobs)


def _planned(mechanism: Mechanism, p: Any, candidates: Any) -> tuple[Moments, Array]:
    """The equations of one report in each cohort, and the distribution."""
    check_mechanism(mechanism)
    law = expected_shares(p, mechanism.labels(candidates), partial=mechanism.is_open)
    return mechanism.moments(mechanism.specimen(), candidates), law


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
