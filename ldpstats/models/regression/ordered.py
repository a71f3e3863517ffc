"""Proportional odds models of a privatised answer."""

from __future__ import annotations

from typing import Any

from ldpstats.models.regression.base import PrivatizedRegression
from ldpstats.models.regression.reading import response_data

__all__ = ["PrivatizedOrderedModel"]


class PrivatizedOrderedModel(PrivatizedRegression):
    """Proportional odds model of a privatised answer with ordered categories.

    ``P(y <= a) = 1/(1 + exp(x'beta - alpha_a))``. As in statsmodels' OrderedModel, coefficients are
    the slopes, the first threshold, and the logarithms of the steps from one to the next; `X` has
    no constant.

    Parameters
    ----------
    reports : Reports, or list of Reports
        Groups of respondents whose rows follow one another in `X`, over the same categories;
        the mechanism has them in order, the lowest first.
    X : DataFrame or array, shape (n, p)
    offset : array-like, shape (n,), optional
        Added to the slopes' part of the predictor.
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
    >>> X = pd.DataFrame({"age": rng.normal(size=8000)})
    >>> latent = 0.8 * X.age + rng.logistic(size=8000)
    >>> levels = np.array(["never", "rarely", "often"])
    >>> answers = levels[np.digitize(latent, [0.0, 1.5])]
    >>> reports = ldp.KRR(levels, epsilon=2.0).privatize(answers, rng)
    >>> ldp.PrivatizedOrderedModel(reports, X).fit().params.round(1)
    age             0.8
    never/rarely    0.0
    rarely/often    0.4
    Name: params, dtype: float64
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
            response_data("ordered", reports, X, offset, freq_weights, weights, candidates)
        )
