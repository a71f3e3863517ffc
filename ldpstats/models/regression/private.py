"""Regressions whose predictors are privatised, with a public or a privatised response."""

from __future__ import annotations

from ldpstats.models.regression.base import PrivatizedRegression

__all__ = ["PrivatePredictors"]


class PrivatePredictors(PrivatizedRegression):
    """Regression on privatised answers, made by `regression` and `Survey.regression`.

    By maximum likelihood the outcome's law given all predictors and the law of the private
    predictors given public ones, a multinomial logit, are estimated together; the latter's
    coefficients are ``results.marginal_params``. ``fit(method="corrected")`` solves the corrected
    score equations, which need no such law. It is the default for numeric responses, of which
    maximum likelihood would need the exact law: the ages 18 to 79, all as frequent, are a mixture
    of normal laws to it, and so it found effects of 20 years, with standard errors of half a year,
    where there are none.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(2024)
    >>> smokes = rng.choice(["no", "yes"], p=[0.7, 0.3], size=6000)
    >>> table = pd.DataFrame({"ill": rng.random(6000) < np.where(smokes == "yes", 0.5, 0.2)})
    >>> reports = ldp.Warner(epsilon=1.5).privatize(smokes, rng)
    >>> model = ldp.regression("ill ~ smokes", table, {"smokes": reports})
    >>> model.fit().params.round(1)
    Intercept        -1.4
    smokes[T.yes]     1.4
    Name: params, dtype: float64
    """
