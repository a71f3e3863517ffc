"""What a fitted regression says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import one_of, probability
from ldpstats.estimators.regression.newton import Maximum
from ldpstats.estimators.regression.search import Objective
from ldpstats.inference.outcome import TestResult
from ldpstats.inference.regression.profiles import Probed
from ldpstats.models.regression.answers.fitted_law import FittedLaw
from ldpstats.models.regression.answers.reported import Devices
from ldpstats.models.regression.comparing import compare_naive, question_test
from ldpstats.models.regression.contrasts import (
    linear_constraints,
    t_contrasts,
    wald_contrast,
)
from ldpstats.models.regression.estimates import FittedRegression
from ldpstats.models.regression.hypotheses import lr_test, refuse_terms, score_test, term_tests
from ldpstats.models.regression.intervals import coefficient_intervals
from ldpstats.models.regression.likelihood_tests import (
    coefficient_pvalues,
    coefficient_test,
    profile_intervals,
    profiled,
    ratio_without,
    score_statistic,
)
from ldpstats.models.regression.naming import shaped, shaped_intervals
from ldpstats.models.regression.odds import odds_ratios
from ldpstats.models.regression.presented import PresentedRegression
from ldpstats.models.shared.spelling import names_alpha

__all__ = ["RegressionResults"]

Array = npt.NDArray[Any]

_OF_SEEN_ANSWERS = {
    "get_distribution",
    "get_influence",
    "fittedvalues",
    "outlier_test",
    "pred_table",
    "resid",
    "resid_dev",
    "resid_generalized",
    "resid_misclassified",
    "resid_pearson",
    "resid_prob",
    "resid_response",
    "wresid",
}


@dataclass(frozen=True, eq=False, repr=False)
class RegressionResults(FittedRegression, PresentedRegression):
    """A fitted regression on privatised answers.

    `pvalues`, `conf_int` and the columns of `summary` are from one profile of the likelihood with
    half the log determinant of the expected information added, whose intervals always end: a
    coefficient has p < .05 if and only if its 95 % interval does not hold zero, and so at every
    level. The likelihood of numbers is taken without the penalty. `bse`, `tvalues`,
    `wald_test`, `t_test` and ``conf_int(method="wald")`` are of the normal approximation, which
    fails where information is scarce. `why_wald` says why all are Wald, as with robust covariances,
    sampling weights, designs, and more than 30 coefficients. With clusters `df_inference` has the
    degrees of freedom of each coefficient; predictions and margins take the least of them.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(1)
    >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=5_000)})
    >>> ill = np.where(rng.random(5_000) < 1 / (1 + np.exp(0.5 - 0.8 * X["age"])), "yes", "no")
    >>> results = ldp.PrivatizedLogit(ldp.Warner(epsilon=1.0).privatize(ill, rng), X).fit()
    >>> results.to_frame().round(3)
        term  estimate  std_error  lower  upper  p_value
    0  const    -0.648      0.078 -0.802 -0.497      0.0
    1    age     0.798      0.091  0.622  0.977      0.0
    >>> results.conf_int().round(2)
           lower  upper
    const  -0.80  -0.50
    age     0.62   0.98
    """

    def __getattr__(self, name: str) -> Any:
        # results of statsmodels have these, of answers that were seen
        if name in _OF_SEEN_ANSWERS:
            raise AttributeError(
                f"{name}: it needs the answer of each respondent, which nobody has seen: use "
                "goodness_of_fit(), predictions() and compare_naive()"
            )
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    @property
    def devices(self) -> Devices | None:
        """Channels of devices with unknown parameters, and derivatives by these; None of others."""
        return None

    @cached_property
    def law(self) -> FittedLaw:
        """The law of the true answers, by the estimated parameters."""
        model = self.model
        df = self.df if self.shares is None else float(np.nanmin(self._each_df))
        return FittedLaw(model.data, model.assembled, self.theta, self.covariance_all, df)

    @cached_property
    def pvalues(self) -> Any:
        """p-values of each coefficient, by `test_of_coefficients`."""
        if not self.uses_likelihood:
            return self.wald_pvalues
        return shaped(self.model, self._likelihood_pvalues(), "pvalues")

    def _likelihood_pvalues(self) -> Array:
        return coefficient_pvalues(self, range(self._m))

    @property
    def test_of_coefficients(self) -> str:
        """Which test `pvalues` are of.

        "penalised likelihood ratio", "likelihood ratio" of numbers and of unknown devices, or
        "Wald".
        """
        return coefficient_test(self)

    @property
    def wald_pvalues(self) -> Any:
        """p-values of `tvalues`."""
        from scipy.special import ndtr, stdtr

        z = -np.abs(np.asarray(self.tvalues).T.ravel())
        df = self._each_df
        found = 2.0 * (ndtr(z) if df is None else stdtr(df, z))
        return shaped(self.model, found, "pvalues")

    def conf_int(self, alpha: float = 0.05, method: str = "default") -> pd.DataFrame:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        alpha : float
        method : {"default", "profile", "wald"}
            "default" is the profile of the penalised likelihood where `uses_likelihood`, else Wald.

        Returns
        -------
        DataFrame
            Columns "lower" and "upper"; of a multinomial logit indexed by equation and name.
        """
        method = one_of("method", method, ("default", "profile", "wald"))
        kind = (probability("alpha", alpha), method)
        if kind not in self._limits:  # profiles take time, and a summary shows them again
            self._limits[kind] = coefficient_intervals(self, *kind)
        return shaped_intervals(self.model, self._limits[kind].copy())

    @cached_property
    def _limits(self) -> dict[tuple[float, str], Any]:
        """Limits of intervals that were asked for, by level and method."""
        return {}

    @names_alpha
    def odds_ratios(self, alpha: float = 0.05, per: Any = None) -> pd.DataFrame:
        """Odds ratios of the true answers, with the intervals of `conf_int`.

        Of a logit they are of success, of a multinomial logit of each category against the
        reference, and of an ordered model of a higher answer. The constant and thresholds have
        none.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        per : mapping of str to float, optional
            How far covariates move, one by default: ``{"age": 10}`` for ten years. Where another
            coefficient is of the same covariate, such as a square, each is still taken alone.

        Returns
        -------
        DataFrame
            "odds_ratio", "lower", "upper" and "p_value", that of `pvalues`; of a multinomial logit
            indexed by equation and name.

        Raises
        ------
        NotAvailable
            If the link is not the logit, or the response is a number.
        InvalidArgument
            If `per` names no coefficient, or a number of units is not positive.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(1)
        >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(40, 10, size=5_000)})
        >>> ill = np.where(rng.random(5_000) < 1 / (1 + np.exp(4 - 0.08 * X["age"])), "yes", "no")
        >>> results = ldp.PrivatizedLogit(ldp.Warner(epsilon=1.0).privatize(ill, rng), X).fit()
        >>> results.odds_ratios(per={"age": 10}).round(2)
             odds_ratio  lower  upper  p_value
        age        2.46   2.01   3.02      0.0
        """
        return odds_ratios(self, alpha, per)

    @cached_property
    def profiled(self) -> tuple[Objective, Maximum]:
        """What is profiled, and its maximum."""
        return profiled(self)

    @cached_property
    def tested_at_zero(self) -> dict[int, Probed]:
        """Profiles at zero that were made, by place of the coefficient."""
        return {}

    def profiles(self, quantile: float) -> Array:
        """Profile intervals of all that is shown, (m, 2); `quantile` is 1.96 for 95 %."""
        return profile_intervals(self, range(self._m), quantile)

    # -- hypotheses ----------------------------------------------------------------------------

    def ratio_without(self, fixed: Sequence[int]) -> float:
        """Likelihood ratio statistic of coefficients, by place, that are zero."""
        return ratio_without(self, fixed)[0]

    def score_statistic(self, fixed: Sequence[int]) -> tuple[float | None, str]:
        """Score statistic of the same; None where the information, named then, is singular."""
        return score_statistic(self, fixed)

    def lr_test(self, term: Any) -> TestResult:
        """Likelihood ratio test that all coefficients of a term are zero.

        Parameters
        ----------
        term : str or list of str
            Terms of the formula, or names of covariates. Other results are not taken: the model
            without the term is fitted here, to the same reports.
        """
        return lr_test(self, term)

    def term_tests(self) -> pd.DataFrame:
        """Test of each term: the model without it, likelihood ratio, df and p-value.

        With robust covariances, weights, designs and corrected scores Wald tests.
        """
        return term_tests(self)

    def score_test(self, term: Any) -> TestResult:
        """Score test that all coefficients of a term are zero, from the model without it.

        Parameters
        ----------
        term : str or list of str
            As for `lr_test`.
        """
        return score_test(self, term)

    def question_test(self, terms: str = "constant") -> TestResult:
        """Test whether groups that were asked in different ways answer alike.

        For a response in several groups of reports, such as a direct question (`Observed`) and a
        randomised one: a likelihood ratio test against a level, or coefficients, of their own.

        Parameters
        ----------
        terms : {"constant", "all"}
            Whether groups may differ in the constant (the thresholds' level), or in every
            coefficient.
        """
        return question_test(self, terms)

    def compare_naive(self) -> pd.DataFrame:
        """Coefficients beside those of a model that takes the reports for the answers.

        Returns
        -------
        DataFrame
            Columns "params", "bse", "naive" and "ratio", the naive ones by the estimates.

        Raises
        ------
        NotAvailable
            If reports are bits or codes, which nobody could take for answers.
        """
        return compare_naive(self)

    def t_test(self, hypothesis: Any) -> Any:
        """Wald tests of linear hypotheses, one by one.

        Parameters
        ----------
        hypothesis : str, array, or pair
            As in statsmodels: "age = 0", a matrix R, or (R, value). Coefficients of a multinomial
            logit are named as in `cov_params`. Terms of several coefficients, such as C(region),
            are tested by `term_tests` and `score_test`.
        """
        return t_contrasts(*self._hypothesis(hypothesis), self.degrees)

    def wald_test(self, hypothesis: Any) -> Any:
        """Wald test of linear hypotheses together, see `t_test`.

        With few clusters the F distribution is that of the approximate Hotelling test ("HTZ").
        """
        return wald_contrast(*self._hypothesis(hypothesis), self.degrees)

    def _hypothesis(self, hypothesis: Any) -> tuple[Array, Array, Array, Array]:
        refuse_terms(self, hypothesis)
        R, value = linear_constraints(self._shown_names, hypothesis)
        V = self.covariance_all[np.ix_(self.shown, self.shown)]
        return self.theta[self.shown], V, R, value
