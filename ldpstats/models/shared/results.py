"""What the results of every fit have in common: an estimate, its covariance, linear hypotheses."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import one_of
from ldpstats.errors import InvalidArgument, LDPWarning, NotAvailable
from ldpstats.inference import tests as tests_
from ldpstats.inference.tails import chi2_pvalue, two_sided
from ldpstats.inference.tests import TestResult
from ldpstats.models.shared.fit import WITHOUT_ERRORS, Fit, Part
from ldpstats.models.shared.hypotheses import linear_hypothesis
from ldpstats.models.shared.presentation import Presented
from ldpstats.models.shared.storage import Stored
from ldpstats.problems.estimates import Uncertain

if TYPE_CHECKING:
    from ldpstats.inference.quadratic import ReportSums
    from ldpstats.models.shared.contrasts import ContrastLaw
    from ldpstats.problems.covariance import Covariance

__all__ = ["FittedResults", "tidy_names"]

Array = npt.NDArray[Any]

_ROUNDING = 1e-6  # of frequencies that sum to one


@dataclass(frozen=True, eq=False)
class FittedResults(Stored, Presented):
    """Estimated frequencies and their uncertainty.

    `params`, `bse` and `cov_params` describe the estimator that was asked for; tests rest on the
    unconstrained estimate (`linear_params`, `linear_cov`) whatever the estimator was.
    """

    fit: Fit

    fitted = Part[Uncertain]("fit", "The estimate that was asked for, with its covariance.")
    linear = Part[Uncertain]("fit", "The unconstrained estimate, with its covariance.")
    name = Part[str]("fit", "Name of the variable; empty where it has none.")
    method = Part[str]("fit", "Name of the estimator.")
    settings = Part[str]("fit", "What of the estimator its name does not say.")
    cov_type = Part[str]("fit", "What the covariance of `params` rests on.")
    nobs = Part[int]("fit", "Number of reports, or of respondents where each makes several.")
    n_missing = Part[int]("fit", "Respondents who gave no answer.")
    epsilon = Part[float]("fit", "Privacy of a respondent's reports, in nats; the largest.")
    sources = Part[tuple[str, ...]]("fit", "The mechanisms of the reports, in words.")
    llf = Part[float]("fit", "Log-likelihood at `params`, in nats; nan where it is not known.")
    aic = Part[float]("fit", "Akaike's criterion; nan where `params` maximise no likelihood.")
    bic = Part[float]("fit", "Schwarz's criterion; nan where `params` maximise no likelihood.")
    df_model = Part[int]("fit", "Frequencies that vary freely: one fewer where they sum to one.")
    df_resid = Part[int]("fit", "Reports less `df_model`.")
    gap = Part[float]("fit", "`gap_nats` of one report.")
    gap_nats = Part[float]("fit", "Bound, in nats, of the log-likelihood that any p could gain.")
    n_iter = Part[int]("fit", "Iterations of the estimator.")
    converged = Part[bool]("fit", "Whether the estimator reached its certificate.")
    message = Part[str]("fit", "How the estimator ended.")
    is_maximum = Part[bool]("fit", "Whether `params` maximise the likelihood, with a certificate.")
    on_boundary = Part[bool]("fit", "Whether some estimated frequency is zero.")

    @property
    @abstractmethod
    def index(self) -> pd.Index[Any]:
        """Labels of the k frequencies."""

    @property
    def terms(self) -> pd.Index[Any]:
        """Names of the frequencies in hypotheses."""
        return self.index

    @property
    def k(self) -> int:
        """Number of frequencies."""
        return len(self.index)

    def _series(self, values: Array, name: str) -> pd.Series[float]:
        return pd.Series(values, index=self.index, name=name)

    @property
    def params(self) -> pd.Series[float]:
        """Estimated frequencies by category."""
        return self._series(self.fitted.estimate, "params")

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of `params`; nan, with an `LDPWarning`, where there are none."""
        self._warn_of_no_errors()
        return self._series(self.fitted.bse(), "bse")

    def _warn_of_no_errors(self) -> None:
        if words := self.fit.without_errors:
            if self.linear.has_errors:
                words += ": linear_bse are those of linear_params"
            warnings.warn(words, LDPWarning, stacklevel=3)

    @property
    def linear_params(self) -> pd.Series[float]:
        """The unconstrained linear estimate by category."""
        return self._series(self.linear.estimate, "linear_params")

    @property
    def linear_bse(self) -> pd.Series[float]:
        """Standard errors of `linear_params`; nan, with an `LDPWarning`, where there are none."""
        if not self.linear.has_errors:
            warnings.warn(WITHOUT_ERRORS["none (too large)"], LDPWarning, stacklevel=2)
        return self._series(self.linear.bse(), "linear_bse")

    @property
    def tvalues(self) -> pd.Series[float]:
        """`linear_params` over their standard errors; nan where these are zero or unknown.

        p-values do not come from them: they know the law of few reports.
        """
        se = self.linear.bse()
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._series(np.where(se > 0.0, self.linear.estimate / se, np.nan), "tvalues")

    @property
    def linear_cov(self) -> pd.DataFrame:
        """Covariance matrix of `linear_params`, of the selected candidates where some were."""
        return self._frame(self.linear.known().matrix(), self.linear.places)

    def _frame(self, matrix: Array, at: Any = slice(None)) -> pd.DataFrame:
        return pd.DataFrame(matrix, index=self.index[at], columns=self.index[at])

    def cov_params(self, cov_type: str | None = None) -> pd.DataFrame:
        """Covariance matrix of `params`.

        Parameters
        ----------
        cov_type : {None, "default", "linear", "fpe16"}
            None or "default" gives the one chosen at `fit`; "linear" that of `linear_params`;
            "fpe16" the inverse information without the constraint that p sums to one, as FPE16
            III-C has it, which overstates by ``p p' / nobs``.

        Raises
        ------
        NotAvailable
            When it was not computed, or is too large to form.
        """
        cov_type = one_of(
            "cov_type", "default" if cov_type is None else cov_type, ("default", "linear", "fpe16")
        )
        if cov_type == "linear":
            return self.linear_cov
        if self.fitted.covariance is None:
            raise NotAvailable(
                f"{self.fit.without_errors}: use linear_cov, which belongs to linear_params"
            )
        matrix = self.fitted.covariance.matrix()
        if cov_type == "fpe16" and self.cov_type != "fpe16":
            if self.cov_type != "expected":
                raise NotAvailable("refit with fit(cov_type='fpe16'): it needs the reports here")
            matrix = matrix + np.outer(self.fitted.estimate, self.fitted.estimate) / self.nobs
        return self._frame(matrix, self.fitted.places)

    def t_test(self, hypothesis: Any) -> Any:
        """Test linear combinations of the frequencies one by one, two-sided.

        Parameters
        ----------
        hypothesis : str, array, or pair (R, q)
            A string such as "nurse = cook", "nurse - cook = 0.1" or several joined by commas
            (labels that are not strings are written ``p[label]``); or R of shape (q, k), or
            (R, value), for R p = value.

        Returns
        -------
        statsmodels ContrastResults
            With `effect`, `sd`, `statistic`, `pvalue`, `conf_int()` and `summary_frame()`. Where
            the law of the estimate is known they are those of a score test: with the standard error
            and the skewness under the null, and the interval of all values that are not rejected.
            `sd` is the standard error at the estimate.

        Raises
        ------
        InvalidArgument
            For a hypothesis that cannot be read, or whose estimate has no sampling variance.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> results = ldp.FrequencyModel(counts).fit()
        >>> float(results.t_test("a = b").pvalue.round(4))
        0.001
        """
        from ldpstats.models.shared.contrasts import ContrastLaws, contrast_names, contrast_results

        given, value = linear_hypothesis(hypothesis, self.terms)
        R, estimate, V = self.linear.restricted(given)
        effect = R @ estimate
        variance = V.forms(R)
        scale = np.einsum("ij,ij->i", R, R) * float(V.variances().max())
        for row in np.flatnonzero(variance <= 1e-12 * scale).tolist():
            law = self._contrast_law(given[row])
            # a law tells how the estimate varies where the contrast has another value
            if law is None or law.is_fixed:
                raise InvalidArgument(
                    "hypothesis",
                    R[row].tolist(),
                    "is fixed by sum(p) = 1, or about categories that were never reported, of "
                    "which conf_int() tells more: there is nothing to test",
                )
        names = contrast_names(given, value, self.terms)
        laws = ContrastLaws(given, self._contrast_law)
        return contrast_results(effect, np.sqrt(np.maximum(variance, 0.0)), value, laws, names)

    def _contrast_law(self, row: Array) -> ContrastLaw | None:
        """The law of the contrast `row`, shape (k,); None where it is not known."""
        return None

    def _null_law(self, R: Array, gap: Array) -> ReportSums | None:
        """The law of independent contrasts R, (q, k), under the null that `gap` is noise."""
        return None

    def _testing_covariance(self, estimated: Covariance) -> Covariance:
        """The covariance of the estimate that tells what is certain."""
        return estimated

    def wald_test(self, hypothesis: Any) -> TestResult:
        """Test several linear restrictions together.

        Redundant restrictions are removed by rank; the covariance has rank k - 1. Where the law of
        the reports is known this is a score test: the covariance is that at the likeliest
        frequencies under the null, and the p-value comes from the first three moments that the
        statistic has there, which allow for few reports. With many reports its law is chi-square,
        as it is taken to be where the law of the reports is not known (hashes, joint tables). The
        p-value of a single restriction is that of `t_test`. To test a whole distribution there is
        `FrequencyModel.test_distribution`.

        Parameters
        ----------
        hypothesis : str, array, or pair (R, q)
            As in `t_test`.

        Raises
        ------
        InvalidArgument
            For restrictions that contradict each other or sum(p) = 1.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> results = ldp.FrequencyModel(counts).fit()
        >>> print(results.wald_test("a = b, b = c"))
        Wald test on the unconstrained estimate, p-value by the law under the null
          H0: a = b, b = c
          statistic 43.4, df 2, p-value 3.765e-10
        """
        given, value = linear_hypothesis(hypothesis, self.terms)
        R, estimate, covariance = self.linear.restricted(given)
        try:
            V = self._testing_covariance(covariance)
            given, gap = tests_.independent(R, value, estimate, V)
        except InvalidArgument as error:  # which calls it by the name of an array
            raise InvalidArgument("hypothesis", hypothesis, error.remedy) from None
        statistic, df, pvalue, how = self._score_test(given, gap, given @ estimate - gap)
        words = hypothesis if isinstance(hypothesis, str) else f"R p = q, {len(R)} restriction(s)"
        return TestResult(words, statistic, float(df), pvalue, how)

    def _score_test(self, R: Array, gap: Array, value: Array) -> tuple[float, int, float, str]:
        """Statistic, degrees of freedom, p-value and method of R p = value, R of unit variance."""
        how = "Wald test on the unconstrained estimate"
        scored = f"{how}, p-value by the law under the null"
        row = np.zeros(self.k)
        row[self.linear.places] = R[0]
        one = self._contrast_law(row) if len(R) == 1 else None
        if one is not None:
            (se,), (skewness,) = one.at(np.clip(value, one.least, one.most))
            z = float(tests_.standardised(gap, se)[0])
            return z**2, 1, float(two_sided(gap, se, skewness)[0]), scored
        law = self._null_law(R, gap)
        if law is None:
            statistic = float(np.sum(gap**2))
            return statistic, gap.size, float(chi2_pvalue(statistic, gap.size)), how
        return *law.test(gap), scored if law.parts else how

    @abstractmethod
    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Confidence intervals, columns "lower" and "upper"."""

    def _estimates_frame(self, alpha: float, intervals: pd.DataFrame | None = None) -> pd.DataFrame:
        """Both estimates, their standard errors and intervals; nan where none were computed.

        The default intervals may have been computed already.
        """
        unknown = pd.DataFrame(np.nan, index=self.index, columns=["lower", "upper"])
        computed = not np.isnan(self.linear.bse()[self.linear.places]).any()
        if intervals is None:
            intervals = self.conf_int(alpha) if computed else unknown
        return pd.DataFrame(
            {
                "params": self.params,
                "bse": self._series(self.fitted.bse(), "bse"),
                "linear": self.linear_params,
                "linear_se": self._series(self.linear.bse(), "linear_bse"),
                "lower": intervals["lower"],
                "upper": intervals["upper"],
            }
        )

    def _contradiction(self) -> str:
        total = float(self.fitted.estimate.sum())
        if self.is_maximum and not -_ROUNDING < 1.0 - total:
            return f"its frequencies sum to {total:.6g}"
        return super()._contradiction()

    # -- presentation ------------------------------------------------------------------------

    @abstractmethod
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates: "params", "bse", "lower", "upper" and more."""

    def _tidy(self, alpha: float) -> pd.DataFrame:
        return tidy_names(self.summary_frame(alpha))

    @property
    def _subject(self) -> str:
        return self.name or "frequency"

    def _facts(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "mechanism": "; ".join(self.sources),
            "method": self.method,
            "cov_type": self.cov_type,
            "epsilon": self.epsilon,
            "nobs": self.nobs,
            "n_missing": self.n_missing,
            "k": self.k,
            "df_model": self.df_model,
            "df_resid": self.df_resid,
            "llf": self.llf,
            "aic": self.aic,
            "bic": self.bic,
            "converged": self.converged,
        }


def tidy_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns of a `summary_frame` as `to_frame` calls them."""
    names = {"params": "estimate", "bse": "std_error", "presence_pvalue": "p_value"}
    return frame.rename(columns=names | {"pvalue": "p_value"})
