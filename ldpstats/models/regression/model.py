"""What all regressions on privatised answers are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import one_of, positive_integer
from ldpstats.errors import NotAvailable
from ldpstats.likelihood.regression import LINKS
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.models.regression.devices import fit_with_devices
from ldpstats.models.regression.fitting import fitted
from ldpstats.models.regression.posterior import regression_posterior
from ldpstats.models.regression.results import RegressionResults
from ldpstats.models.regression.structure import (
    RegressionStructure,
    planned_information,
    response_data,
)
from ldpstats.priors import Beta, Normal

__all__ = [
    "PrivatePredictors",
    "PrivatizedLogit",
    "PrivatizedMNLogit",
    "PrivatizedOrderedModel",
    "PrivatizedRegression",
]


Array = npt.NDArray[Any]

_METHODS = ("mle", "newton", "em", "corrected")


class PrivatizedRegression(RegressionStructure):
    """A regression in which the response, predictors, or both are privatised.

    Parameters
    ----------
    data : RegressionData

    Attributes
    ----------
    exog_names : list of str
    endog_names : str
    nobs : int
    """

    def information(self, params: Any, exog: Any = None) -> Array:
        """Expected information of the coefficients in one survey, for planning.

        Parameters
        ----------
        params : array-like
            Coefficients, in the order of `fit().cov_params()`.
        exog : array-like, shape (m, p), optional
            Covariates of planned respondents; those of the data by default.

        Returns
        -------
        array, shape (p, p)
        """
        return planned_information(self, params, exog)

    def fit(
        self,
        method: str | None = None,
        penalty: str | None = None,
        cov_type: str | None = None,
        cov_kwds: Any = None,
        start_params: Any = None,
        maxiter: int = 100,
        disp: Any = False,
    ) -> RegressionResults:
        """Estimate the coefficients.

        Where the response was asked by devices with unknown parameters
        (`ldpstats.devices.unknown`), in one or several groups of reports, these are estimated with
        the coefficients by maximum likelihood, and come last in `params`.

        Parameters
        ----------
        method : {"mle", "em", "corrected"}, optional
            "mle" is Newton's method on the likelihood of the reports; "em" comes to the same
            maximum by data augmentation. "corrected" solves the corrected score equations, which
            need no model of the private predictors; its covariance is a sandwich. It is the default
            for numbers with private predictors: there "mle" takes every departure from normal or
            Poisson laws for effects of the answers that it does not see. Else "mle" is.
        penalty : {None, "jeffreys"}
            Half the log determinant of the expected information, added to the log-likelihood: the
            estimate is then always finite.
        cov_type : {"nonrobust", "HC0", "cluster"}, optional
            "nonrobust" by default; "HC0" with sampling weights. With the design of a survey the
            covariance is that of the design, with primary units less strata for degrees of freedom.
        cov_kwds : dict, optional
            ``{"groups": labels}`` for "cluster". With up to 1,000 clusters the covariance is then
            bias-reduced (CR2), and each coefficient has the t distribution with its own
            Satterthwaite degrees of freedom (``results.df_inference``): few where few clusters
            have information on it. ``"use_correction": True`` gives the covariance with a factor
            for few clusters and normal quantiles, as in statsmodels, and False that without; beyond
            1,000 clusters the default is True.
        start_params : array-like, optional
            Where iterations start.
        maxiter : int
        disp : bool
            Has no effect: nothing is printed.

        Returns
        -------
        RegressionResults
            `DeviceRegressionResults`, which have all that these have, with unknown parameters.

        Raises
        ------
        InvalidArgument
            For an unknown option, or one that does not go with the others.
        NotIdentified
            If the information of the reports is singular, or they leave a coefficient or an
            unknown parameter open.

        Warns
        -----
        ConvergenceWarning
            If the maximum is at infinity, or the iteration stopped before it.
        """
        if self.unknown:
            given: dict[str, Any] = {"method": method, "penalty": penalty, "cov_type": cov_type}
            given |= {"cov_kwds": cov_kwds, "start_params": start_params, "maxiter": maxiter}
            return fit_with_devices(self, given)
        only = self.data.only_corrected
        if method is None:
            # mixtures of laws of numbers fit any other shape by effects that are not there
            numeric = bool(self.data.predictors) and not self.data.is_categorical
            method = "corrected" if only or numeric else "mle"
        method = one_of("method", method, _METHODS)
        if only and method != "corrected":
            raise NotAvailable(f"method={method!r}: {only}: use method='corrected'")
        if penalty is not None:
            penalty = one_of("penalty", penalty, ("jeffreys",))
        maxiter = positive_integer("maxiter", maxiter)
        del disp
        return fitted(self, method, penalty, cov_type, cov_kwds, start_params, maxiter)

    def fit_posterior(
        self,
        rng: np.random.Generator,
        prior: Normal | Mapping[str, Normal | Beta] | None = None,
        draws: int = 4000,
        engine: str = "hmc",
    ) -> PosteriorResults:
        """The posterior of the coefficients, by draws, and of unknown parameters of devices.

        By default slopes are normal with mean 0 and standard deviation 2.5 over that of the
        covariate, and the probabilities of all categories at the means of the covariates are
        uniform, as in a `FrequencyModel` with a flat prior; of numbers, slopes are in standard
        deviations of the response, the level at the means has a standard deviation of 10, and
        log(sigma) one of 1. Thresholds are reported as `fit` has them: the first, and the
        logarithms of the steps. Private predictors have the law of `fit`, a multinomial logit,
        with such a prior too.

        Parameters
        ----------
        rng : numpy Generator
            The same seed gives the same draws.
        prior : Normal, mapping of str to Normal or Beta, or None
            Of all coefficients of covariates, the constant included, or of those named; of
            covariates as they are, not standardised. Others have the default. An unknown parameter
            of a device has the Beta prior under its name, by default the flat Beta(1, 1).
        draws : int
            Over all 16 chains, at least 160; rounded up to a multiple of 16.
        engine : {"hmc", "pymc"}
            The package's own Hamiltonian Monte Carlo, or PyMC's (extra `bayes`).

        Returns
        -------
        PosteriorResults
            Labels of the coefficients are those of `fit`; "sigma" is added for numbers, and
            unknown parameters of devices by name.

        Raises
        ------
        NotAvailable
            With sampling weights or the design of a survey, which leave no likelihood.
        NotIdentified
            If the reports leave something open beside unknown parameters of devices, and no prior
            of what is open was given.
        InvalidArgument
            For an argument that is out of range, and a prior of another coefficient, given twice,
            or far from the scale of its covariate.

        Warns
        -----
        PosteriorWarning
            Where chains do not agree, or a prior is so wide that most of the posterior lies where
            they do not come.

        References
        ----------
        A. Gelman, A. Jakulin, M. G. Pittau and Y.-S. Su, A weakly informative default prior
        distribution for logistic and other regression models, Annals of Applied Statistics 2008.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(2024)
        >>> X = pd.DataFrame({"const": 1.0, "age": rng.integers(-2, 3, size=4000)})
        >>> ill = np.where(rng.random(4000) < 1 / (1 + np.exp(0.5 - 0.8 * X.age)), "yes", "no")
        >>> model = ldp.PrivatizedLogit(ldp.Warner(epsilon=2.0).privatize(ill, rng), X)
        >>> posterior = model.fit_posterior(rng, draws=1000)
        >>> posterior.params.round(1).to_dict()
        {'const': -0.4, 'age': 0.8}
        """
        return regression_posterior(self, rng, prior, draws, engine)


# -- Binary regressions of a privatised answer ----------------------------------------------------


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


# -- Multinomial logits of a privatised answer ----------------------------------------------------


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


# -- Proportional odds models of a privatised answer ----------------------------------------------


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


# -- Regressions whose predictors are privatised, with a public or a privatised response ----------


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
