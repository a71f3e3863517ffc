"""Multinomial logits of a privatised answer."""

from __future__ import annotations

from typing import Any

from ldpstats.models.regression.base import PrivatizedRegression
from ldpstats.models.regression.reading import response_data

__all__ = ["PrivatizedMNLogit"]


class PrivatizedMNLogit(PrivatizedRegression):
    """Multinomial logit of a privatised answer with any number of categories.

    Parameters
    ----------
    reports : Reports, or list of Reports
        Groups of respondents whose rows follow one another in `X`, over the same categories;
        the first is the reference.
    X : DataFrame or array, shape (n, p)
    offset : array-like, shape (n,), optional
        Added to the predictors of all categories but the reference.
    freq_weights : array-like, shape (n,), optional
        How many respondents each row stands for.
    weights : array-like, shape (n,), optional
        Sampling weights.
    candidates : sequence of str, optional
        The possible answers, for mechanisms over an open alphabet.

    Raises
    ------
    InvalidArgument
        If arrays do not fit.
    NotIdentified
        If covariates are linear combinations of others, or the reports do not determine the
        frequencies of the categories.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(2024)
    >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=8000)})
    >>> score = np.column_stack([0 * X.age, 0.5 * X.age, -X.age]) + rng.gumbel(size=(8000, 3))
    >>> jobs = np.array(["nurse", "driver", "cook"])
    >>> reports = ldp.KRR(jobs, epsilon=2.0).privatize(jobs[score.argmax(axis=1)], rng)
    >>> ldp.PrivatizedMNLogit(reports, X).fit().params.round(1)
           driver  cook
    const    -0.0   0.0
    age       0.5  -1.0
    """

    def __init__(
        self,
        reports: Any,
        X: Any,
        offset: Any = None,
        freq_weights: Any = None,
        weights: Any = None,
        candidates: Any = None,
    ) -> None:
        super().__init__(
            response_data("multinomial", reports, X, offset, freq_weights, weights, candidates)
        )
