"""What least squares of a privatised answer found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, level, positive_integer
from ldpstats.errors import InvalidArgument
from ldpstats.models.regression.contrasts import linear_constraints, t_contrasts, wald_contrast
from ldpstats.models.regression.least_squares.fit import LinearFit
from ldpstats.models.regression.least_squares.summary import linear_summary
from ldpstats.models.regression.naive import naive_params, reported_codes
from ldpstats.models.regression.rows import covariates, row_numbers
from ldpstats.models.shared.presentation import Presented
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.problems.regression.outcomes import Normal

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary
    from statsmodels.stats.contrast import ContrastResults

__all__ = ["PrivatizedOLSResults"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class PrivatizedOLSResults(LinearFit, Presented):
    """Coefficients of least squares of the scores of a privatised answer.

    Attributes
    ----------
    params, bse, tvalues, pvalues : Series, shape (p,)
        Coefficients, standard errors, their ratio, and two-sided p-values.
    scale : float
        Residual variance of the pseudo-response; it holds the variance of the randomisation.
    noise_variance : float
        Estimated mean variance that the randomisation adds to a pseudo-response.
    privacy_share : float
        `noise_variance` over `scale`: the share of the residual variance that is randomisation.
    rsquared : float
        Of the pseudo-response: what the covariates explain of answers and randomisation.
    rsquared_answers : float
        Estimated R squared of the true scores; nan where their estimated variance is not positive.
    nobs, df_model, df_resid : float
        Respondents, coefficients other than a constant, and respondents less coefficients.
    df_inference : Series, shape (p,)
        Degrees of freedom of the test and interval of each coefficient.
    cov_type : str
        Covariance of the estimates.

    Methods
    -------
    conf_int, cov_params, t_test, wald_test, f_test
        Intervals, covariances, and Wald tests of linear hypotheses.
    compare_naive
        What least squares of the reports themselves would give.
    predict
        Expected scores of true answers.
    summary, to_frame, glance, to_maketables
        All of it in print, or as tables of data.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(1)
    >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=5_000)})
    >>> days = np.clip(np.round(2 + X["age"] + rng.normal(size=5_000)), 0, 4).astype(int)
    >>> reports = ldp.KRR(range(5), epsilon=2.0).privatize(days, rng)
    >>> results = ldp.PrivatizedOLS(reports, X).fit()
    >>> results.params.round(2)
    const    1.95
    age      0.82
    Name: params, dtype: float64
    >>> f"{results.privacy_share:.2f}"
    '0.83'
    """

    def __repr__(self) -> str:
        return f"PrivatizedOLSResults(p={self.fitted.p}, n={self.nobs:g}, {self.cov_type})"

    @property
    def names(self) -> list[str]:
        """Names of the coefficients."""
        return list(self.model.exog_names)

    def _series(self, values: Array, name: str) -> pd.Series[float]:
        return pd.Series(values, index=self.names, name=name)

    # -- estimates ---------------------------------------------------------------------------

    @property
    def params(self) -> pd.Series[float]:
        """Coefficients."""
        return self._series(self.fitted.beta, "params")

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors."""
        return self._series(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)), "bse")

    @property
    def tvalues(self) -> pd.Series[float]:
        """Coefficients over their standard errors; nan where these are zero."""
        se = self.bse.to_numpy()
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._series(np.where(se > 0.0, self.fitted.beta / se, np.nan), "tvalues")

    @cached_property
    def df_inference(self) -> pd.Series[float]:
        """Degrees of freedom of each coefficient."""
        df, rows = self.degrees, np.eye(self.fitted.p)
        each = [df(row[None, :]) if callable(df) else df for row in rows]
        return self._series(np.array(each), "df")

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of coefficients of zero."""
        from scipy.special import ndtr, stdtr

        below = -np.abs(self.tvalues.to_numpy())
        p = 2.0 * (stdtr(self.df_inference.to_numpy(), below) if self.use_t else ndtr(below))
        return self._series(p, "pvalues")

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the coefficients, shape (p, p)."""
        return pd.DataFrame(self.covariance, index=self.names, columns=self.names)

    @names_alpha
    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Wald intervals, columns "lower" and "upper".

        Examples
        --------
        >>> import numpy as np, ldpstats as ldp
        >>> reports = ldp.Observed([0, 1, 2]).parse("answer", [0, 1, 2, 1, 1])
        >>> model = ldp.PrivatizedOLS(reports, np.ones((5, 1)))
        >>> model.fit().conf_int().round(2).loc["const"].tolist()
        [0.12, 1.88]
        """
        from scipy.special import ndtri, stdtrit

        tail = level(alpha) / 2.0
        far = -(stdtrit(self.df_inference.to_numpy(), tail) if self.use_t else ndtri(tail))
        b, se = self.fitted.beta, self.bse.to_numpy()
        ends = {"lower": b - far * se, "upper": b + far * se}
        return pd.DataFrame(ends, index=self.names)

    # -- prediction --------------------------------------------------------------------------

    @property
    def fittedvalues(self) -> Array:
        """Expected scores of the respondents, shape (n,)."""
        return np.asarray(self.fitted.X @ self.fitted.beta + self.model.offset)

    @property
    def resid(self) -> Array:
        """Pseudo-responses less `fittedvalues`, shape (n,): they hold the randomisation."""
        return self.fitted.resid

    def predict(self, exog: Any = None, offset: Any = None) -> Any:
        """Expected scores of true answers.

        Parameters
        ----------
        exog : DataFrame or array, shape (m, p), optional
            The columns of X; those of a table are found by name. Of a model from a formula also
            the columns that the formula names. By default the respondents.
        offset : array, shape (m,), optional
            Zero by default; that of the fit where `exog` is not given.

        Returns
        -------
        Series, shape (m,), for a table, else array

        Examples
        --------
        >>> import numpy as np, ldpstats as ldp
        >>> reports = ldp.Observed([0, 1, 2]).parse("answer", [0, 1, 2, 1, 1])
        >>> ldp.PrivatizedOLS(reports, np.ones((5, 1))).fit().predict([[1.0]]).round(2).tolist()
        [1.0]
        """
        if exog is None:
            return self.fittedvalues if offset is None else self._shifted(offset)
        if isinstance(exog, pd.DataFrame) and set(self.names) <= set(map(str, exog.columns)):
            named = exog.set_axis([str(one) for one in exog.columns], axis=1)
            X = covariates(named[self.names], len(exog), name="exog")[0]
        elif isinstance(exog, pd.DataFrame) and self.model.formula is not None:
            (X,) = self.model.formula.exog(exog)
        else:
            X = _rows_of(exog, self.names)
        found = X @ self.fitted.beta
        if offset is not None:
            found = found + row_numbers("offset", offset, len(found))
        if isinstance(exog, pd.DataFrame):
            return pd.Series(found, index=exog.index, name="predicted")
        return found

    def _shifted(self, offset: Any) -> Array:
        own = row_numbers("offset", offset, len(self.fitted.y))
        return np.asarray(self.fitted.X @ self.fitted.beta + own)

    # -- tests -------------------------------------------------------------------------------

    def t_test(self, hypothesis: Any) -> ContrastResults:
        """Wald tests of linear combinations of coefficients, one by one.

        Parameters
        ----------
        hypothesis : str, list of str, array, or pair (R, value)
            For example "x1 = x2, x3 = 0".

        Examples
        --------
        >>> import numpy as np, ldpstats as ldp
        >>> reports = ldp.Observed([0, 1, 2]).parse("answer", [0, 1, 2, 1, 1])
        >>> result = ldp.PrivatizedOLS(reports, np.ones((5, 1))).fit()
        >>> float(result.t_test("const = 0").pvalue.round(3))
        0.034
        """
        R, value = linear_constraints(self.names, hypothesis)
        df = self.degrees if self.use_t else None
        return t_contrasts(self.fitted.beta, self.covariance, R, value, df)

    def wald_test(self, hypothesis: Any, use_f: bool | None = None) -> ContrastResults:
        """Wald test of several linear restrictions together.

        Parameters
        ----------
        hypothesis : str, list of str, array, or pair (R, value)
        use_f : bool, optional
            Whether the test is an F test; by default as the fit uses t. Else it is a chi-square
            test.
        """
        R, value = linear_constraints(self.names, hypothesis)
        is_f = self.use_t if use_f is None else boolean("use_f", use_f)
        df = self.degrees if is_f else None
        return wald_contrast(self.fitted.beta, self.covariance, R, value, df)

    def f_test(self, hypothesis: Any) -> ContrastResults:
        """F test of several linear restrictions together."""
        return self.wald_test(hypothesis, use_f=True)

    def compare_naive(self) -> pd.DataFrame:
        """The coefficients beside those of least squares that takes the reports for the answers.

        Returns
        -------
        DataFrame, shape (p, 4)
            Columns "params", "bse", "naive" and "ratio", naive by estimate.

        Raises
        ------
        NotAvailable
            If the reports are not named like the categories.

        Examples
        --------
        >>> import numpy as np, ldpstats as ldp
        >>> rng = np.random.default_rng(1)
        >>> x = rng.normal(size=5000)
        >>> answers = rng.binomial(1, 0.5 + 0.2 * np.tanh(x))
        >>> reports = ldp.KRR(2, epsilon=1.0).privatize(answers, rng)
        >>> result = ldp.PrivatizedOLS(reports, np.column_stack([np.ones(5000), x])).fit()
        >>> result.compare_naive()["ratio"].round(3).to_dict()
        {'const': 0.996, 'x1': 0.462}
        """
        model = self.model
        y = model.scores[reported_codes(model.groups, model.labels)]
        weights = self.fitted.times * self.fitted.weights
        found = naive_params(Normal(), [self.fitted.X], y, None, weights, model.offset)
        naive = self._series(found, "naive")
        ratio = (naive / self.params).rename("ratio")
        return pd.concat([self.params, self.bse, naive, ratio], axis=1)

    # -- presentation ------------------------------------------------------------------------

    @property
    def _subject(self) -> str:
        return str(self.model.endog_names)

    def _tidy(self, alpha: float) -> pd.DataFrame:
        ends = self.conf_int(alpha)
        return pd.DataFrame(
            {
                "estimate": self.params,
                "std_error": self.bse,
                "lower": ends["lower"],
                "upper": ends["upper"],
                "p_value": self.pvalues,
            }
        )

    def _facts(self) -> dict[str, Any]:
        is_likely = self.model.is_observed and not self.model.is_weighted
        unknown = float("nan")
        return {
            "name": self._subject,
            "mechanism": "; ".join(self.mechanisms),
            "method": "least squares",
            "cov_type": self.cov_type,
            "epsilon": self.epsilon,
            "nobs": self.nobs,
            "n_missing": self.model.n_missing,
            "k": len(self.model.labels),
            "df_model": self.df_model,
            "df_resid": self.df_resid,
            "rsquared": self.rsquared,
            "rsquared_answers": self.rsquared_answers,
            "privacy_share": self.privacy_share,
            "llf": self.llf if is_likely else unknown,
            "aic": self.aic if is_likely else unknown,
            "bic": self.bic if is_likely else unknown,
            "converged": True,
        }

    @property
    def mechanisms(self) -> list[str]:
        """The mechanisms, one for each group."""
        return [str(group.mechanism) for group in self.model.groups]

    @property
    def epsilon(self) -> float:
        """Privacy of a report in nats; of several mechanisms the weakest."""
        return float(max(group.mechanism.epsilon for group in self.model.groups))

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The coefficients with what they rest on, as text, `as_html()` or `as_latex()`.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        max_rows : int
            Coefficients shown; the first of them.
        details : bool
            Whether the scores of the categories and the fit are shown.
        """
        rows = positive_integer("max_rows", max_rows)
        alpha = level(alpha)
        table = linear_summary(self, self._tidy(alpha), alpha, rows, boolean("details", details))
        return table.layout()


def _rows_of(exog: Any, names: Sequence[str]) -> Array:
    """Rows of new covariates in the order of the columns of X."""
    try:
        m = len(exog)
    except Exception:  # a number, or somebody else's object
        m = -1
    X = covariates(exog, m, name="exog")[0]
    if X.shape[1] != len(names):
        remedy = f"must have the {len(names)} columns of X: {', '.join(names[:8])}"
        raise InvalidArgument("exog", f"{X.shape[1]} columns", remedy)
    return X
