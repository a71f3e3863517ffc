"""What a regression finds that takes the reports for the answers, for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import NotAvailable
from ldpstats.estimators.regression.least_squares import least_squares
from ldpstats.estimators.regression.search import search
from ldpstats.problems.regression.likelihood import RegressionLikelihood, Seen
from ldpstats.problems.regression.outcomes import Normal, Outcome
from ldpstats.problems.regression.predictors import predictors_of
from ldpstats.problems.regression.standard import start, units
from ldpstats.reports.single import Reports

__all__ = ["naive_params", "reported_codes"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]


def reported_codes(groups: Sequence[Reports], labels: pd.Index[Any]) -> Codes:
    """The category that each respondent reported, shape (n,).

    Raises
    ------
    NotAvailable
        If the reports of a mechanism are not named like the categories: there is nothing then that
        could be mistaken for the answer.
    """
    for group in groups:
        mechanism = group.mechanism
        outputs = getattr(mechanism, "outputs", None)
        if mechanism.n_bits or mechanism.n_cohorts or outputs is None or not labels.equals(outputs):
            kind = "bits" if mechanism.n_bits else "codes other than the categories"
            raise NotAvailable(
                f"the reports of {mechanism} are {kind}, which nobody could take for answers: "
                "there is no naive estimate to compare with"
            )
    return np.concatenate([group.y.astype(np.int64) for group in groups])


def naive_params(
    outcome: Outcome,
    designs: Sequence[Array],
    response: Array,
    configuration: Codes | None = None,
    weights: Array | None = None,
    offset: Array | None = None,
) -> Array:
    """Parameters of the outcome if reports are taken for answers.

    They are those of the model of statsmodels, with the reports in place of the answers.

    Parameters
    ----------
    outcome : Outcome
    designs : sequence of arrays, shape (n, p); length C
        Covariates if the private predictors are in configuration c; one if none are private.
    response : array, shape (n,)
        Numbers, or codes of the categories, reported ones if the response is private.
    configuration : array of int64, shape (n,), optional
        The reported configuration of the private predictors.
    weights : array, shape (n,), optional
    offset : array, shape (n,), optional

    Returns
    -------
    array, shape (P,)
        In the order of `corrected`; of a number the coefficients alone.

    Raises
    ------
    NotAvailable
        If the maximum is at infinity, or columns are linear combinations of others.

    Examples
    --------
    >>> from ldpstats.problems.regression.outcomes import Binary
    >>> X = np.column_stack([np.ones(8), np.repeat([0.0, 1.0], 4)])
    >>> naive_params(Binary(), [X], np.array([0, 0, 0, 1, 0, 1, 1, 1])).round(3).tolist()
    [-1.099, 2.197]
    """
    n = len(response)
    X = designs[0]
    if configuration is not None:
        X = np.stack(designs)[configuration, np.arange(n)]
    w = np.ones(n) if weights is None else weights
    if np.linalg.matrix_rank(X * np.sqrt(w)[:, None]) < X.shape[1]:
        raise NotAvailable("the covariates as reported are linear combinations of each other")
    if isinstance(outcome, Normal):
        y = response if offset is None else response - offset
        return least_squares(X, y, w, np.ones(n)).beta
    seen: Any = response
    k = getattr(outcome, "k", 0)
    if k:
        seen = Seen(np.eye(k), np.asarray(response, dtype=np.int64))
    whole = RegressionLikelihood(outcome, (predictors_of(outcome, X, offset),), seen, w)
    found = search(whole, start(whole), units(whole), concave=True)
    if found.flat is not None or not found.maximum.converged:
        raise NotAvailable("the naive estimate is at infinity: the covariates separate the reports")
    return found.maximum.theta
