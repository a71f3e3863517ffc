"""Expected information of coefficients in a survey that is planned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.models.regression.rows import covariates
from ldpstats.models.regression.structure import RegressionStructure
from ldpstats.problems.regression.jeffreys import ReportLaw
from ldpstats.problems.regression.predictors import predictors_of

__all__ = ["planned_information"]

Array = npt.NDArray[Any]


def planned_information(model: RegressionStructure, params: Any, exog: Any = None) -> Array:
    """See `RegressionStructure.information`."""
    data = model.data
    if model.unknown:
        raise NotAvailable(
            f"information: the devices have the unknown {', '.join(model.unknown)}: use "
            "fit().information(), which has their information too"
        )
    m = model.n_shown
    if data.predictors or not data.is_categorical:
        raise NotAvailable(
            "information: it is known for private or public categorical responses with public "
            "predictors; simulate for others"
        )
    given = params.T if isinstance(params, pd.DataFrame) else params
    remedy = f"must be {m} finite numbers, the coefficients in the order of cov_params()"
    theta = numbers("params", given, remedy).ravel()
    if theta.size != m or not np.isfinite(theta).all():
        raise InvalidArgument("params", params, remedy)
    expected = model.assembled.expected()
    if exog is None:
        return expected.matrix(theta)
    if isinstance(exog, pd.DataFrame) and set(exog.columns) >= set(data.names):
        exog = exog[list(data.names)]
    p = len(data.names)
    try:
        n = len(exog)
    except Exception:  # a number, or somebody else's object
        remedy = f"must be a table or array of {p} columns, {', '.join(data.names)}"
        raise InvalidArgument("exog", exog, remedy) from None
    X, _ = covariates(exog, n, name="exog")
    if X.shape[1] != p:
        remedy = f"must have the {p} columns {', '.join(data.names)}"
        raise InvalidArgument("exog", f"{X.shape[1]} columns", remedy)
    law = expected.law
    assert law is not None
    if len(law.channels) > 1:
        raise NotAvailable(
            "information: with several groups it is not known which mechanism planned respondents "
            "have: make a model of one group"
        )
    planned = replace(
        expected,
        designs=(predictors_of(data.outcome, X),),
        weights=np.ones((len(X), 1)),
        law=ReportLaw(law.channels, np.zeros(len(X), dtype=np.int64)),
    )
    return planned.matrix(theta)
