"""Binary regressions of a privatised answer."""

from __future__ import annotations

from typing import Any

from ldpstats.arguments.checks import one_of
from ldpstats.models.regression.base import PrivatizedRegression
from ldpstats.models.regression.reading import response_data
from ldpstats.problems.regression.outcomes import LINKS

__all__ = ["PrivatizedLogit"]


class PrivatizedLogit(PrivatizedRegression):
    """Logit, probit or complementary log-log regression of a privatised answer.

    Parameters
    ----------
    reports : Reports, or list of Reports
        Over two categories, of which the second is success. Several are groups of respondents,
        whose rows follow one another in `X`; each may have another mechanism, `Observed` too.
    X : DataFrame or array, shape (n, p)
        Covariates. No constant is added.
    link : {"logit", "probit", "cloglog"}
    offset : array-like, shape (n,), optional
        Added to the linear predictor.
    freq_weights : array-like, shape (n,), optional
        How many respondents each row stands for.
    weights : array-like, shape (n,), optional
        Sampling weights.
    candidates : sequence of str, optional
        The two answers, for mechanisms over an open alphabet.

    Raises
    ------
    InvalidArgument
        If the reports have not two categories, or arrays do not fit.
    NotIdentified
        If covariates are linear combinations of others, or the reports say nothing.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(2024)
    >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=5000)})
    >>> ill = np.where(rng.random(5000) < 1 / (1 + np.exp(0.5 - 0.8 * X.age)), "yes", "no")
    >>> reports = ldp.Warner(epsilon=1.0).privatize(ill, rng)
    >>> results = ldp.PrivatizedLogit(reports, X).fit()
    >>> results.params.round(2)
    const   -0.42
    age      0.93
    Name: params, dtype: float64
    """

    def __init__(
        self,
        reports: Any,
        X: Any,
        link: str = "logit",
        offset: Any = None,
        freq_weights: Any = None,
        weights: Any = None,
        candidates: Any = None,
    ) -> None:
        link = one_of("link", link, tuple(LINKS))
        super().__init__(response_data(link, reports, X, offset, freq_weights, weights, candidates))
