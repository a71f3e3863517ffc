"""What a fitted regression on privatised answers says: estimates, tests, intervals, predictions.

Default tests and intervals of coefficients are from the profile of the penalised likelihood: the
interval of level 1 - alpha holds all values whose profile falls by less than half the squared
quantile, and the p-value is of the fall at zero, so that they agree. Other tests are likelihood
ratios, scores and Wald tests, and other tables compare the fit with a naive one. What is said of
the true answers rests on `RegressionResults.law`; `effects`, `fitted`, `plots` compute it.
`StoredRegression` is what of all this a document holds, in which there is no respondent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    did_you_mean,
    level,
    numbers,
    one_of,
    probability,
)
from ldpstats.documents import number_to_json, written
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators.regression import Maximum, Objective, ascend, search
from ldpstats.inference.profiles import Probed, Profile
from ldpstats.inference.regression import InformationShares
from ldpstats.inference.tails import chi2_pvalue
from ldpstats.inference.tests import TestResult
from ldpstats.likelihood.predictors import start, units
from ldpstats.likelihood.regression import (
    Binary,
    Multinomial,
    Normal,
    Ordered,
    ReportLaw,
    predictors_of,
)
from ldpstats.models.layout import SummaryTable, names_alpha
from ldpstats.models.regression.fitted import Devices, FittedLaw, facts_from_json
from ldpstats.models.regression.hypotheses import (
    Degrees,
    WaldResults,
    flat,
    naive_params,
    partial_score,
    reported_codes,
    t_quantile,
    wald_contrast,
)
from ldpstats.models.regression.presentation import (
    coefficient_labels,
    model_name,
    regression_summary,
    summary_header,
    summary_notes,
    total_epsilon,
)
from ldpstats.models.regression.structure import Named, conditional_value, distinct_rows
from ldpstats.models.storage import Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ldpstats.models.regression.effects import AveragePredictions, MarginalEffects

__all__ = ["Coefficients", "RegressionResults"]


Array = npt.NDArray[Any]

_MOST_PROFILES = 30  # coefficients up to which each is profiled
_MANY = 50_000  # rows from which on profiles are made only if they may differ from Wald,
_SMALL = 0.05  # as where no standardised coefficient is known to this
_DECREMENT = 1e-9  # of restricted maxima
_AT_BOUND, _INSIDE = 0.05, 1e-3  # first step from a bound, and distance from it of starts

_LEVEL = 0.05  # one minus that of the intervals in a document
_AGAIN = "fit the model to the reports again"

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


class Coefficients(Stored, WaldResults):
    """Coefficients of regressions: criteria, those of who takes reports for answers, predictions.

    A kind has a `model`, `cov_type`, `method` and `use_t`, the `law` of the true answers, and says
    why tests are Wald.
    """

    _format: ClassVar[str] = "ldpstats-regression-results"
    _version: ClassVar[int] = 1

    model: Any

    if TYPE_CHECKING:  # of kinds

        @property
        def infinite(self) -> tuple[str, ...]: ...

        @property
        def nobs(self) -> float: ...
        @property
        def llf(self) -> float: ...
        @property
        def law(self) -> FittedLaw: ...
        @property
        def why_wald(self) -> str: ...
        def _refuse_pseudo(self, what: str) -> None: ...

    names = WaldResults._names

    def _shaped(self, values: Array, name: str) -> Any:
        if isinstance(self.index, pd.MultiIndex):
            equations = self.model.data.categories[1:]
            table = np.asarray(values).reshape(len(equations), -1).T
            return pd.DataFrame(table, index=self.model.exog_names, columns=equations)
        return super()._shaped(values, name)

    @property
    def params(self) -> Any:
        """Coefficients: a Series, or a DataFrame with a column for each equation (multinomial).

        Those whose maximum is at infinity are infinite; predictions take one that is far out.
        """
        values = self._estimated[0]
        far = np.isin(self.names, self.infinite)
        return self._shaped(np.where(far, np.copysign(np.inf, values), values), "params")

    @property
    def aic(self) -> float:
        """-2 llf + 2 coefficients, where there is a likelihood."""
        self._refuse_pseudo("aic")
        return -2.0 * self.llf + 2.0 * len(self.index)

    @property
    def bic(self) -> float:
        """-2 llf + log(nobs) coefficients, where there is a likelihood."""
        self._refuse_pseudo("bic")
        return -2.0 * self.llf + float(np.log(self.nobs)) * len(self.index)

    @property
    def uses_likelihood(self) -> bool:
        """Whether default tests and intervals are from the likelihood, and not Wald."""
        return not self.why_wald

    def _naive(self) -> Array:
        model, data = self.model, self.model.data
        configuration = None
        for name, groups in data.predictors.items():
            labels = groups[0].mechanism.labels(data.candidates.get(name))
            codes = reported_codes(groups, labels)
            configuration = codes if configuration is None else configuration * len(labels) + codes
        response = data.response
        if data.is_private:
            response = reported_codes(response, data.categories)
            response = response if data.scores is None else data.scores[response]
        weights = data.counts if data.weights is None else data.weights
        how = configuration, weights, data.offset
        return naive_params(data.outcome, data.designs, response, *how)[: model.n_shown]

    def compare_naive(self) -> pd.DataFrame:
        """Coefficients beside those of a model that takes the reports for the answers.

        Returns
        -------
        DataFrame, shape (p, 4)
            Columns "params", "bse", "naive" and "ratio", the naive ones by the estimates.

        Raises
        ------
        NotAvailable
            If reports are bits or codes, which nobody could take for answers.

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
        naive = self._naive()
        own = self.index[: len(naive)]
        params, bse = flat(self.params)[: len(naive)], flat(self.bse)[: len(naive)]
        columns = {"params": params, "bse": bse, "naive": naive, "ratio": naive / params}
        return pd.DataFrame(columns, index=own)

    @names_alpha
    def plot(self, *others: Any, labels: Any = None, **options: Any) -> Any:
        """Draw the coefficients with their intervals, with those of other results beside them.

        Parameters
        ----------
        *others
            Other results, or "naive": the coefficients of those who take reports for answers.
        labels : sequence of str, optional
        **options
            As of `ldpstats.models.regression.plots.plot_coefficients`: names, constant, alpha,
            most, ax, title.

        Returns
        -------
        Axes, or array of Axes for the equations of a multinomial logit
        """
        from ldpstats.models.regression.plots import plot_coefficients

        drawn: list[Any] = [self]
        called = ["corrected"]
        for i, one in enumerate(others):
            is_naive = isinstance(one, str) and one == "naive"
            if is_naive:
                one = self.compare_naive()[["naive"]].rename(columns={"naive": "params"})
            drawn.append(one)
            called.append("naive" if is_naive else str(i + 2))
        if len(drawn) == 1:
            called = [""]
        return plot_coefficients(drawn, called if labels is None else labels, **options)

    plot_coefficients = plot

    # -- the true answers ----------------------------------------------------------------------

    def predict(self, exog: Any = None, which: str = "mean", offset: Any = None) -> Any:
        """Probabilities of the true answers, or expected numbers.

        Parameters
        ----------
        exog : DataFrame, dict of columns or array, shape (m, p), optional
            The respondents by default. The covariates of the model, columns of a table by name;
            of a model with a formula, a table with its public columns. Private predictors are
            averaged over, unless the table has columns of their values. Other columns are not used.
        which : {"mean", "linear"}
            "linear" is the linear predictor; of an ordered model without the thresholds.
        offset : float or array-like, shape (m,), optional
            Zero by default; that of the fit for the respondents.

        Returns
        -------
        Series, shape (m,), or DataFrame, shape (m, k)
            The probability of success, the second of two categories; of more categories a column
            for each. Rows with a missing value are NaN.

        Raises
        ------
        InvalidArgument
            If a column is missing, holds no numbers or an unknown level.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(2024)
        >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=4000)})
        >>> ill = np.where(rng.random(4000) < 1 / (1 + np.exp(1 - X.age)), "yes", "no")
        >>> reports = ldp.Warner(epsilon=1.5).privatize(ill, rng)
        >>> results = ldp.PrivatizedLogit(reports, X).fit()
        >>> results.predict([[1.0, -1.0], [1.0, 1.0]]).round(1).tolist()
        [0.1, 0.5]
        """
        from ldpstats.models.regression.effects import predict_rows

        return predict_rows(self.law, exog, which, offset)

    @names_alpha
    def get_prediction(
        self, exog: Any = None, offset: Any = None, alpha: float = 0.05
    ) -> pd.DataFrame:
        """`predict` with standard errors and intervals.

        Standard errors are by the delta method. Intervals of probabilities are made on the logit
        scale and those of rates on the log scale, so that they lie within their range.

        Parameters
        ----------
        exog, offset
            As for `predict`.
        alpha : float
            One minus the coverage of the intervals.

        Returns
        -------
        DataFrame
            "mean", "se", "lower" and "upper", a row for each row of `exog`; of several categories
            a row for each category.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(2024)
        >>> table = pd.DataFrame({"age": rng.integers(18, 80, 4000)})
        >>> late = np.where(rng.random(4000) < 0.1 + 0.01 * (table["age"] - 18), "yes", "no")
        >>> reports = ldp.Warner(epsilon=1.5).privatize(late, rng)
        >>> results = ldp.regression("late ~ age", table, {"late": reports}).fit()
        >>> people = pd.DataFrame({"age": [20, 40, 60]}, index=["Ann", "Bea", "Cleo"])
        >>> results.get_prediction(people).round(2)
              mean    se  lower  upper
        Ann   0.19  0.02   0.16   0.23
        Bea   0.34  0.02   0.31   0.37
        Cleo  0.53  0.02   0.50   0.56
        """
        from ldpstats.models.regression.effects import prediction_frame

        return prediction_frame(self.law, exog, offset, alpha)

    @names_alpha
    def predictions(
        self,
        by: Any = None,
        alpha: float = 0.05,
        kind: str = "within",
        at: Any = None,
        exog: Any = None,
    ) -> AveragePredictions:
        """Average predictions of the true answers, in all or by group.

        Averages are over the respondents and their weights. Their covariates are taken as they are
        in the sample; standard errors are by the delta method from the covariance of the fit, that
        of the design for surveys.

        Parameters
        ----------
        by : str or array-like, shape (n,), optional
            A public covariate, a private predictor, or a label of each respondent's group.
        alpha : float
            One minus the coverage of the intervals, which are made on the logit scale for
            probabilities.
        kind : {"within", "adjusted"}
            "within" averages over the respondents of each group; groups then differ by their other
            covariates too. "adjusted" averages over all respondents, each set to the group, all
            other covariates and the law of the private predictors as they are.
        at : dict, optional
            One covariate or private predictor, and values to which all respondents are set, such
            as ``{"age": [20, 40, 60]}``: "adjusted" predictions at chosen values. Without `by`.
        exog : DataFrame, dict of columns or array, optional
            Up to 1,000 rows to predict for, as for `predict`, in place of averages: those of
            `get_prediction`, as results that can be tested. Without `by` and `at`.

        Returns
        -------
        AveragePredictions
            `frame`, `differences()` between groups, `t_test` and `wald_test` by their labels.

        Raises
        ------
        InvalidArgument
            For an unknown covariate, labels that are missing or not one for each respondent,
            values of `at` that are no numbers, or not among those of a covariate of labels, and
            more than 50 groups.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(2024)
        >>> table = pd.DataFrame({"age": rng.normal(size=4000), "city": np.arange(4000) % 2})
        >>> late = np.where(rng.random(4000) < 0.2 + 0.4 * table.city, "yes", "no")
        >>> reports = ldp.Warner(epsilon=1.5).privatize(late, rng)
        >>> model = ldp.regression("late ~ age + city", table, {"late": reports})
        >>> model.fit().predictions(by="city").frame["mean"].round(1).tolist()
        [0.2, 0.6]
        >>> model.fit().predictions(at={"age": [-1, 1]}).frame["mean"].round(1).tolist()
        [0.4, 0.4]
        """
        from ldpstats.models.regression.effects import average_predictions

        return average_predictions(self.law, by, alpha, kind, at, exog)

    def get_margeff(
        self,
        at: str = "overall",
        method: str = "dydx",
        atexog: Any = None,
        dummy: bool = False,
        count: bool = False,
    ) -> MarginalEffects:
        """Marginal effects of the covariates on the true answers.

        They are those of statsmodels, except that the offset of the fit enters and averages are
        over the weights. Each covariate is moved alone, also where another is a function of it.
        Private predictors that are factors have differences of average predictions in place of
        derivatives, each category against the first.

        Parameters
        ----------
        at : {"overall", "mean", "median", "zero", "all"}
            The average effect, that at one point, or that in each row, without standard errors.
        method : {"dydx", "eyex", "dyex", "eydx"}
            Derivatives of the mean or, with "ey", of its logarithm; by covariates or, with "ex",
            by their logarithms.
        atexog : mapping or array-like, optional
            Values of some public covariates by name or place, for all or each row; or an array of
            rows in place of the respondents'.
        dummy, count : bool
            Whether covariates of 0 and 1 move from 0 to 1, and whole numbers by one.

        Returns
        -------
        MarginalEffects
            `margeff`, `margeff_se`, `margeff_cov`, `tvalues`, `pvalues`, `conf_int(alpha)`,
            `summary_frame(alpha)` and `summary(alpha)`. Of two categories effects are on success,
            of more on each.

        Raises
        ------
        InvalidArgument
            For an unknown option, or "dyex" and "eyex" of discrete covariates.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(2024)
        >>> X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=4000)})
        >>> ill = np.where(rng.random(4000) < 1 / (1 + np.exp(1 - X.age)), "yes", "no")
        >>> reports = ldp.Warner(epsilon=1.5).privatize(ill, rng)
        >>> ldp.PrivatizedLogit(reports, X).fit().get_margeff().margeff.round(1).tolist()
        [0.2]
        """
        from ldpstats.models.regression.effects import margins_of

        return margins_of(self.law, at, method, atexog, dummy, count)

    @names_alpha
    def plot_effects(
        self,
        name: str | None = None,
        at: str = "observed",
        points: int = 31,
        alpha: float = 0.05,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Any:
        """Draw predictions of the true answers along a covariate.

        Numbers have a curve with a band; factors, private predictors and numbers with few values
        have points with intervals.

        Parameters
        ----------
        name : str, optional
            The covariate, a column of the formula, or a private predictor. By default all have a
            panel.
        at : {"observed", "mean"}
            Whether predictions are averages over the respondents, whose other covariates stay as
            they are, or those at the means of the other covariates.
        points : int
            Of a curve.
        alpha : float
            One minus the coverage of the intervals.
        ax : Axes, optional
        title : str, optional

        Returns
        -------
        Axes, or array of Axes
        """
        from ldpstats.models.regression.plots import plot_effects

        return plot_effects(self.law, name, at, points, alpha, ax, title)

    # -- presentation --------------------------------------------------------------------------

    @property
    def _subject(self) -> str:
        return str(self.model.endog_names)

    def _summary_table(self, alpha: float, max_rows: int, details: bool) -> SummaryTable:
        return regression_summary(self, self._tidy(alpha), alpha, max_rows, details)

    def __str__(self) -> str:
        return str(self.summary())

    def _header_and_notes(self, details: bool) -> tuple[Any, list[str]]:
        """The header of the summary, and its notes but those on intervals."""
        return summary_header(self, details), summary_notes(self, details)

    def _stored(self) -> dict[str, Any]:
        return StoredRegression.of(self)._stored()

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Any:
        """Read what `to_dict` wrote: all that needs no respondent."""
        return super(Coefficients, StoredRegression).from_dict(document)

    def _criteria(self) -> dict[str, float]:
        """The likelihood and what is made of it; nan where there is none."""
        try:
            return {"llf": self.llf, "aic": self.aic, "bic": self.bic}
        except NotAvailable:
            return dict.fromkeys(("llf", "aic", "bic"), float("nan"))


@dataclass(frozen=True, eq=False, repr=False)
class RegressionResults(Coefficients):
    """A fitted regression on privatised answers.

    `pvalues`, `conf_int` and the columns of `summary` are from one profile of the likelihood with
    half the log determinant of the expected information added, whose intervals always end: a
    coefficient has p < .05 if and only if its 95 % interval does not hold zero, and so at every
    level. The likelihood of numbers is taken without the penalty. `bse`, `tvalues`,
    `wald_test`, `t_test` and ``conf_int(method="wald")`` are of the normal approximation, which
    fails where information is scarce. `why_wald` says why all are Wald, as with robust covariances,
    sampling weights, designs, and more than 30 coefficients. With clusters `df_inference` has the
    degrees of freedom of each coefficient; predictions and margins take the least of them.

    Predictions and margins are of the true answers, not of reports. Averages over private
    predictors use their estimated law given the public covariates.

    The summary says that "the reports know as much as m respondents": m is the number of
    respondents times the p-th root of the ratio of two determinants, those of the information of
    the reports and of the answers themselves on the p coefficients, an average over them.

    `to_json` writes the results without a respondent. What is read (`from_json`) has their
    estimates, tests, default intervals of 95 % and summary, and predicts the same for other tables,
    to the last digit: a formula is written with its levels and with what functions such as
    ``center`` learned. What needs the respondents is refused: averages over them, profiles at other
    levels, tests that fit again. Formulas with a function of your own are not written.

    Attributes
    ----------
    n_maxima : int
        Distinct local maxima that were met from several starts.
    infinite : tuple of str
        Coefficients whose maximum is at infinity.

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

    model: Any
    theta: Array  # all parameters: of the outcome, of private predictors' law, of devices
    covariance_all: Array  # of theta; nan where an estimate is infinite or held by a bound
    value: float  # of what was maximised
    hessian: Array
    method: str
    penalty: str | None
    cov_type: str
    converged: bool
    n_iter: int
    n_maxima: int
    infinite: tuple[str, ...]
    df: float | None = None
    shares: InformationShares | None = None
    n_clusters: ClassVar[None] = None
    _limits: dict[tuple[float, str], Array] = field(default_factory=dict, init=False)
    _zeros: dict[int, tuple[Profile, Probed]] = field(default_factory=dict, init=False)

    def __getattr__(self, name: str) -> Any:
        # results of statsmodels have these, of answers that were seen
        if name in _OF_SEEN_ANSWERS:
            raise AttributeError(
                f"{name}: it needs the answer of each respondent, which nobody has seen: use "
                "goodness_of_fit(), predictions() and compare_naive()"
            )
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    # -- coefficients --------------------------------------------------------------------------

    @property
    def shown(self) -> list[int]:
        """Places in `theta` of what is reported: coefficients, and unknown parameters last."""
        size = len(self.theta)
        return [*range(self.model.n_shown), *range(size - len(self.model.unknown), size)]

    @cached_property
    def index(self) -> pd.Index[Any]:
        return coefficient_labels(self.model)

    @property
    def _estimated(self) -> tuple[Array, Array]:
        return self.theta[self.shown], self.covariance_all[np.ix_(self.shown, self.shown)]

    @property
    def use_t(self) -> bool:
        """Whether quantiles are those of a t distribution."""
        return self.df is not None or self.shares is not None

    @property
    def degrees(self) -> Degrees:
        return self.df if self.shares is None else self.shares.degrees

    @property
    def penalises(self) -> bool:
        """Whether profiles are of the penalised likelihood."""
        return not isinstance(self.model.data.outcome, Normal) and not self.model.unknown

    @cached_property
    def why_wald(self) -> str:
        """Why default tests and intervals are Wald; "" where they are from the likelihood."""
        if self.method == "corrected":
            return "corrected scores have no likelihood"
        if self.model.unknown and np.isin(self.theta[self.model.bounded], (0.0, 1.0)).any():
            return ""  # profiles know bounds, and Wald does not
        if self.cov_type != "nonrobust":
            kind = "that of the design" if self.cov_type == "design" else self.cov_type
            return f"the likelihood does not know the covariance, which is {kind}"
        if self.use_t and self.model.is_exact:
            return "they are exact for least squares"
        if len(self.shown) > _MOST_PROFILES:
            return f"there are more than {_MOST_PROFILES} coefficients"
        if self.model.likelihood.n > _MANY and not self.infinite:
            # standard errors of the coefficients of standardised covariates
            m = self.model.n_shown
            inverse = np.linalg.inv(self.model.units[:m, :m])
            V = inverse @ self.covariance_all[:m, :m] @ inverse.T
            if float(np.sqrt(np.diagonal(V).max())) < _SMALL:
                return "with so much information the likelihood is quadratic"
        return ""

    @cached_property
    def marginal_params(self) -> pd.DataFrame | None:
        """Coefficients of the law of the private predictors, a column for each configuration."""
        marginal = self.model.data.marginal
        if marginal is None or self.method == "corrected":
            return None
        labels = [
            one[0] if len(one) == 1 else one for one in list(self.model.data.configurations)[1:]
        ]
        whole = self.model.likelihood
        gamma = self.theta[whole.n_outcome : whole.size - whole.m].reshape(len(labels), -1).T
        columns = pd.Index(labels, tupleize_cols=False)
        return pd.DataFrame(gamma, index=list(marginal.columns), columns=columns)

    @property
    def scale(self) -> float:
        """Variance of a numeric outcome about its mean; one for others."""
        if not isinstance(self.model.data.outcome, Normal):
            return 1.0
        n, p = self.model.nobs, len(self.model.data.names)
        sigma = float(np.exp(self.theta[self.model.n_shown]))
        variance: float = sigma**2 * n / (n - p)
        return variance

    # -- likelihood ----------------------------------------------------------------------------

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        return int(self.model.nobs)

    @property
    def llf(self) -> float:
        """Log-likelihood of the reports of the response, given the public covariates.

        With private predictors it is given their reports too: the log-likelihood of all reports
        given the public covariates, which the fit maximises, less that of the predictors' reports
        alone at the same estimate. `llnull`, `aic` and `bic` are of the same likelihood; `llr` is
        of all reports.
        """
        assert self.law.assembled is not None
        return conditional_value(self.law.assembled.likelihood, self.law.theta)

    @cached_property
    def _null(self) -> tuple[float, float]:
        """Log-likelihood with constants only: given the predictors' reports, and joint."""
        if self.model.unknown:
            slopes = [j for at in self._terms.values() for j in at]
            fall = self.ratio_without(slopes) / 2.0 if slopes else 0.0
            return self.llf - fall, self.value - fall
        whole = self.model.likelihood
        design, outcome = whole.designs[0], whole.outcome
        columns = 0 if isinstance(outcome, Ordered) else 1
        plain = predictors_of(outcome, np.ones((whole.n, columns)), design.offset)
        null, _ = distinct_rows(replace(whole, designs=(plain,) * len(whole.designs)))
        first = start(null)
        m = null.n_outcome
        first[m:] = self.theta[whole.n_outcome :]
        if not isinstance(outcome, Normal) and whole.marginal is None and columns:
            first[:m] = 0.0
        top = search(null, first, units(null), concave=self.model.is_exact, n_random=2).maximum
        return conditional_value(null, top.theta), top.value

    @property
    def llnull(self) -> float:
        """Log-likelihood of the model without covariates."""
        return self._null[0]

    @property
    def llr(self) -> float:
        """Likelihood ratio statistic of all coefficients but the constant."""
        self._refuse_pseudo("llr")
        assert self.law.assembled is not None
        joint = self.law.assembled.likelihood.value(self.law.theta)
        return max(0.0, 2.0 * (joint - self._null[1]))

    @property
    def llr_pvalue(self) -> float:
        """Its p-value, chi-square with `df_model` degrees of freedom."""
        return float(chi2_pvalue(self.llr, self.df_model)) if self.df_model else float("nan")

    @property
    def prsquared(self) -> float:
        """McFadden's 1 - llf / llnull, of the reports: noise lowers it."""
        return 1.0 - self.llf / self.llnull

    @property
    def df_model(self) -> float:
        """Number of slopes."""
        model = self.model
        has_constant = not isinstance(model.data.outcome, Ordered) and model.spans_constant
        return float((len(model.data.names) - has_constant) * len(model.equations))

    @property
    def df_resid(self) -> float:
        """Respondents less coefficients."""
        return float(self.nobs - len(self.shown))

    def _refuse_pseudo(self, what: str) -> None:
        """Refuse what needs a likelihood, where weights leave a pseudo-likelihood or none."""
        data = self.model.data
        if self.method == "corrected":
            raise NotAvailable(f"{what}: corrected scores have no likelihood: use wald_test")
        if data.weights is not None:
            raise NotAvailable(
                f"{what}: weighted likelihoods are not those of the sample: use wald_test, "
                "which knows the weights and the design"
            )

    # -- tests and intervals of single coefficients --------------------------------------------

    @cached_property
    def pvalues(self) -> Any:
        """p-values of each coefficient, by `test_of_coefficients`."""
        from scipy.special import fdtrc

        if self.why_wald:
            return self.wald_pvalues
        model = self.model
        each = np.array([self._at_zero(j)[1].fall ** 2 for j in self.shown])
        if isinstance(model.data.outcome, Normal):  # exact for least squares
            n, p = model.nobs, len(model.data.names)
            return self._shaped(fdtrc(1, n - p, np.expm1(each / n) * (n - p)), "pvalues")
        pvalues = np.asarray(chi2_pvalue(each, 1))
        inside = model.bounded[self.shown]  # tests of parameters of devices are one-sided
        positive = self.theta[self.shown][inside] > 0.0
        pvalues[inside] = np.where(positive, pvalues[inside] / 2.0, 1.0)
        return self._shaped(pvalues, "pvalues")

    @property
    def test_of_coefficients(self) -> str:
        """Which test `pvalues` are of.

        "penalised likelihood ratio", "likelihood ratio" of numbers and of unknown devices, or
        "Wald".
        """
        if self.why_wald:
            return "Wald"
        return f"{'penalised ' if self.penalises else ''}likelihood ratio"

    @property
    def wald_pvalues(self) -> Any:
        """p-values of `tvalues`."""
        return super().pvalues

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
        alpha = probability("alpha", alpha)
        if (alpha, method) not in self._limits:  # profiles take time, and a summary repeats them
            z = t_quantile(alpha, self._each_df)
            if method == "profile" and self.method == "corrected":
                raise NotAvailable(
                    "profile: corrected scores have no likelihood: use method='wald'"
                )
            if method == "profile" and self.cov_type != "nonrobust":
                raise NotAvailable(
                    f"profile: the covariance is {self.cov_type}, which profiles do not know: use "
                    "'wald'"
                )
            if np.isinf(z).all():
                limits = np.tile([-np.inf, np.inf], (len(self.shown), 1))
            elif method == "profile" or (method == "default" and not self.why_wald):
                limits = np.asarray(self.profiles(z))
            else:
                limits = super()._bounds(alpha)
            self._limits[alpha, method] = limits
        ends = self._limits[alpha, method].copy()
        return pd.DataFrame(ends, index=self.index, columns=["lower", "upper"])

    def _bounds(self, alpha: float) -> Array:
        return self.conf_int(alpha).to_numpy()

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
        alpha = level(alpha)
        model = self.model
        outcome, names = model.data.outcome, model.exog_names
        is_logit = isinstance(outcome, Binary) and outcome.link == "logit"
        if not is_logit and not isinstance(outcome, Multinomial | Ordered):
            raise NotAvailable(
                f"odds_ratios: {model_name(outcome)} regressions have none: use get_margeff(), or "
                "fit model='logit'"
            )
        moves = np.ones(len(names))
        known = [name for j, name in enumerate(names) if j != model.constant]
        if per is not None and not isinstance(per, Mapping):
            example = f"{{{known[0]!r}: 10}}" if known else "{'age': 10}"
            remedy = f"must be a mapping of coefficients to units, such as {example}"
            raise InvalidArgument("per", per, remedy)
        for name, value in ({} if per is None else per).items():
            if not isinstance(name, str) or name not in known:
                remedy = f"is no coefficient, which are {', '.join(known[:10])}"
                hint = did_you_mean(name, tuple(known)) if isinstance(name, str) else ""
                raise InvalidArgument("per", name, remedy + hint)
            argument, remedy = f"per[{name!r}]", "must be a positive finite number, such as 10"
            move = numbers(argument, value, remedy)
            if move.shape != () or not np.isfinite(move) or move <= 0.0:
                raise InvalidArgument(argument, value, remedy)
            moves[names.index(name)] = float(move)
        p, equations = len(names), len(model.equations)
        slopes = [j for j in range(p) if j != model.constant]
        table = self._tidy(alpha).iloc[[e * p + j for e in range(equations) for j in slopes]]
        by = np.tile(moves[slopes], equations)[:, None]
        with np.errstate(over="ignore"):
            ratios = np.exp(table[["estimate", "lower", "upper"]].to_numpy() * by)
        odds = pd.DataFrame(ratios, index=table.index, columns=["odds_ratio", "lower", "upper"])
        return odds.assign(p_value=table["p_value"])

    # -- profiles ------------------------------------------------------------------------------

    @cached_property
    def profiled(self) -> tuple[Objective, Maximum]:
        """What is profiled, penalised but for numbers, and its maximum."""
        model = self.model
        here = Maximum(
            self.theta,
            self.value,
            self.theta * 0.0,
            self.hessian,
            0.0,
            self.converged,
            self.n_iter,
            np.isnan(np.diagonal(self.covariance_all)) & bool(model.unknown),
        )
        if not self.penalises:
            return model.objective(None), here
        objective, first = model.objective("jeffreys", self.theta), start(model.likelihood)
        if self.penalty is not None:
            top = here
        # the likelihood was searched from many starts: the penalty moves its maximum, or brings it
        # home
        elif self.infinite:
            top = search(objective, first, model.units, n_random=2).maximum
        else:
            top = search(objective, self.theta, model.units, [first], n_random=0).maximum
        return objective.bent_at(top.theta), top

    def _at_zero(self, index: int) -> tuple[Profile, Probed]:
        """A profile, and where the coefficient is zero: p-value and interval both rest on it."""
        known = self._zeros
        if index not in known:
            profile = Profile(*self.profiled, index, self.model.units, self.model.bounded)
            starts = [profile.line(0.0), start(self.model.likelihood)]
            known[index] = profile, profile.at(0.0, starts)
        return known[index]

    def profiles(self, quantile: float) -> Array:
        """Profile intervals of all that is shown, (m, 2); `quantile` is 1.96 for 95 %."""
        model, (_, top) = self.model, self.profiled
        drop = 0.5 * quantile**2
        if isinstance(model.data.outcome, Normal):  # exact for least squares
            df = model.nobs - len(model.data.names)
            drop = 0.5 * model.nobs * float(np.log1p(quantile**2 / df))
        # about the variances of the parameters, positive whatever the curvature
        scale = np.sqrt(np.abs(np.diagonal(top.hessian)))
        scale = np.where(scale > 0.0, scale, 1.0)
        size, axes = np.linalg.eigh(-top.hessian / np.outer(scale, scale))
        inverse = (axes / np.maximum(np.abs(size), 1e-6)) @ axes.T
        steps = quantile * np.sqrt(np.diagonal(inverse) / scale**2)
        steps = np.where(top.held, _AT_BOUND, steps)
        limits = np.empty((len(self.shown), 2))
        for place, j in enumerate(self.shown):
            profile, zero = self._at_zero(j)
            limits[place] = profile.interval(drop, float(steps[j]), zero)
            if top.held[j] and not model.bounded[j]:  # at infinity: zero alone can be left out
                out = zero.fall**2 > 2.0 * drop
                for side, end in enumerate((-np.inf, np.inf)):
                    if not out or self.theta[j] * end > 0.0:
                        limits[place, side] = end
        return limits

    # -- hypotheses ----------------------------------------------------------------------------

    @property
    def _terms(self) -> dict[str, list[int]]:
        """The coefficients of each term, over all equations; without those of the constant."""
        data = self.model.data
        p, equations = len(data.names), len(self.model.equations)
        if data.formula is not None:
            columns = {name: list(map(int, at)) for name, at in data.formula.terms.items()}
        else:
            columns = {name: [j] for j, name in enumerate(data.names)}
        return {
            name: [e * p + j for e in range(equations) for j in at]
            for name, at in columns.items()
            if at != [self.model.constant]
        }

    def _coefficients_of(self, term: Any) -> tuple[str, list[int]]:
        """A term, a coefficient, or several, in words and as places of coefficients."""
        data, terms = self.model.data, self._terms
        p, equations = len(data.names), len(self.model.equations)
        if hasattr(term, "cov_params"):
            remedy = (
                "is a fitted model, but takes the term to leave out, and fits the model without it "
                f"to the same reports: {', '.join(terms)}"
            )
            raise InvalidArgument("term", type(term).__name__, remedy)
        names = [term] if isinstance(term, str) else term
        if not isinstance(names, Sequence) or not names:
            remedy = f"must be the name of a term or coefficient, or a list: {', '.join(terms)}"
            raise InvalidArgument("term", term, remedy)
        places: list[int] = []
        for name in (str.__str__(one) if isinstance(one, str) else one for one in names):
            if isinstance(name, str) and name in terms:
                places += terms[name]
            elif isinstance(name, str) and name in data.names:
                j = list(data.names).index(name)
                places += [e * p + j for e in range(equations)]
            else:
                remedy = f"is no term: they are {', '.join(terms)}"
                known = [*terms, *data.names]
                hint = did_you_mean(name, known) if isinstance(name, str) else ""
                raise InvalidArgument("term", name, remedy + hint)
        return ", ".join(map(str, names)), sorted(set(places))

    def _without(self, objective: Objective, fixed: Sequence[int]) -> Maximum:
        """The maximum with some coefficients zero, from where the others are and from none."""
        model = self.model
        free = np.ones(self.theta.shape, dtype=bool)
        free[list(fixed)] = False
        first, zero = self.theta.copy(), start(model.likelihood)
        first[~free] = 0.0
        zero[~free] = 0.0
        first[model.bounded] = np.clip(first[model.bounded], _INSIDE, 1.0 - _INSIDE)
        starts = [first] if model.is_exact else [first, zero]
        if self.infinite and not model.unknown:
            starts = [zero]
        how: dict[str, Any] = {"units": model.units, "bounded": model.bounded}
        met = [
            ascend(objective, one, free, tolerance=_DECREMENT, **how)
            for one in starts
            if np.isfinite(objective.value(one))
        ]
        return max(met, key=lambda one: one.value)

    def ratio_without(self, fixed: Sequence[int]) -> float:
        """Likelihood ratio statistic of coefficients, by place, that are zero."""
        null = self._without(self.model.objective(self.penalty, self.theta), fixed)
        return max(0.0, 2.0 * (self.value - null.value))

    def score_statistic(self, fixed: Sequence[int]) -> tuple[float | None, str]:
        """Score statistic of the same; None where the information, named then, is singular."""
        model = self.model
        null = self._without(model.likelihood, fixed)
        free = ~null.held
        free[list(fixed)] = True
        at = np.flatnonzero(np.isin(np.flatnonzero(free), fixed))
        information, how = -null.hessian, "observed information"
        if model.unknown:
            information, how = model.likelihood.expected(null.theta), "expected information"
        elif (
            model.data.is_categorical and model.likelihood.marginal is None and model.lists_reports
        ):
            information = model.assembled.expected().matrix(null.theta)
            how = "expected information"
        return partial_score(null.score[free], information[np.ix_(free, free)], at), how

    def lr_test(self, term: Any) -> TestResult:
        """Likelihood ratio test that all coefficients of a term are zero.

        Parameters
        ----------
        term : str or list of str
            Terms of the formula, or names of covariates. Other results are not taken: the model
            without the term is fitted here, to the same reports.
        """
        if self.method == "corrected":
            raise NotAvailable("lr_test: corrected scores have no likelihood: use wald_test")
        if self.cov_type != "nonrobust":
            raise NotAvailable(
                f"lr_test: the covariance is {self.cov_type}, which the likelihood does not know: "
                "use wald_test"
            )
        name, at = self._coefficients_of(term)
        how = "Likelihood ratio test" if self.penalty is None else "Penalised likelihood ratio"
        null = f"the coefficients of {name} are zero"
        return TestResult.chi_square(null, self.ratio_without(at), len(at), how)

    def term_tests(self) -> pd.DataFrame:
        """Test of each term: the model without it, likelihood ratio, df and p-value.

        With robust covariances, weights, designs and corrected scores Wald tests.
        """
        terms = self._terms
        index = pd.Index(list(terms), name="term", dtype=object)
        rows: list[tuple[float, ...]] = []
        if self.method == "corrected" or self.cov_type != "nonrobust":
            m = self.model.n_shown
            theta, V = self.theta[:m], self.covariance_all[:m, :m]
            for at in terms.values():
                test = wald_contrast(theta, V, np.eye(m)[at], np.zeros(len(at)), self.degrees)
                scale = len(at) if self.use_t else 1  # with a design chi-square is F times df
                statistic = float(np.squeeze(test.statistic)) * scale
                rows.append((statistic, len(at), float(np.squeeze(test.pvalue))))
            return pd.DataFrame(rows, index=index, columns=["Wald", "df", "pvalue"])
        for at in terms.values():
            ratio, df = self.ratio_without(at), len(at)
            rows.append((self.llf - ratio / 2.0, ratio, df, float(chi2_pvalue(ratio, df))))
        return pd.DataFrame(rows, index=index, columns=["llf_without", "LR", "df", "pvalue"])

    def score_test(self, term: Any) -> TestResult:
        """Score test that all coefficients of a term are zero, from the model without it.

        Parameters
        ----------
        term : str or list of str
            As for `lr_test`.
        """
        if self.method == "corrected" or self.model.data.weights is not None:
            raise NotAvailable(
                "score_test: it needs the likelihood of the sample: use wald_test, which knows "
                "corrected scores, weights and designs"
            )
        name, at = self._coefficients_of(term)
        statistic, how = self.score_statistic(at)
        if statistic is None:
            raise NotAvailable(
                f"score_test: under the hypothesis the {how} on {name} is singular: use lr_test"
            )
        null = f"the coefficients of {name} are zero"
        return TestResult.chi_square(null, statistic, len(at), f"Score test with {how}")

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
        model, data = self.model, self.model.data
        if not data.is_private or len(data.response) < 2:
            raise NotAvailable(
                "question_test: the response is one group of reports: pass a list of Reports, one "
                "for each way of asking"
            )
        if self.method == "corrected" or data.weights is not None or self.penalty is not None:
            raise NotAvailable("question_test: it needs the unpenalised likelihood of the sample")
        if terms not in ("constant", "all"):
            raise InvalidArgument("terms", terms, "must be 'constant' or 'all'")
        sizes = [len(group) for group in data.response]
        at = np.repeat(np.arange(len(sizes)), sizes)
        used = [g for g, size in enumerate(sizes) if size]
        others = [(at == g).astype(np.float64) for g in used[1:]]
        names = list(data.names)
        columns: list[int | None] = [None]  # a level of its own, and covariates
        if terms == "all":
            slopes = [j for j in range(len(names)) if j != model.constant]
            implied = model.constant is None and model.spans_constant
            columns = [*slopes] if implied else [None, *slopes]
        extra, added = [], []
        for g, indicator in zip(used[1:], others, strict=True):
            extra += [(j, indicator) for j in columns]
            added += [f"{'level' if j is None else names[j]} in group {g + 1}" for j in columns]
        designs = []
        for X in data.designs:
            new = [indicator if j is None else indicator * X[:, j] for j, indicator in extra]
            designs.append(np.column_stack([X, *new]))
        wider = type(model).of(replace(data, designs=designs, names=[*names, *added], formula=None))
        test: TestResult = wider.fit().lr_test(added)
        what = "the level" if terms == "constant" else "the law"
        null = (
            f"{what} of the true answers given the covariates is the same however they were asked"
        )
        return replace(test, null=null)

    def _hypothesis(self, hypothesis: Any) -> tuple[Array, Array]:
        if isinstance(hypothesis, str):
            name, terms = hypothesis.strip(), self._terms
            if name in terms and name not in self.names:
                likely = self.method != "corrected" and self.cov_type == "nonrobust"
                test = f"score_test({name!r}), lr_test({name!r}) or " if likely else ""
                names = [self.model.all_names[j] for j in terms[name]]
                remedy = (
                    f"is a term of {len(names)} coefficients: use {test}term_tests(), or name the "
                    f"coefficients, such as '{names[0]} = 0'"
                )
                raise InvalidArgument("hypothesis", hypothesis, remedy)
        return super()._hypothesis(hypothesis)

    # -- the true answers ----------------------------------------------------------------------

    @cached_property
    def law(self) -> FittedLaw:
        """The law of the true answers, by the estimated parameters."""
        model, whole, likelihood = self.model, self.model.assembled, self.model.likelihood
        p = likelihood.size - likelihood.m
        if self.model.unknown and self.devices is not None:
            channels = tuple(Q[:, Q.any(axis=0)] for Q in self.devices[0])
            law = ReportLaw(channels, likelihood.group)
            whole = replace(whole, likelihood=likelihood.known(self.theta[p:]), law=law)
        df = self.df if self.shares is None else float(np.nanmin(self._each_df))
        return FittedLaw(model.data, whole, self.theta[:p], self.covariance_all[:p, :p], df)

    @property
    def devices(self) -> Devices | None:
        """Channels of devices with unknown parameters, and derivatives by these; None of others."""
        likelihood: Any = self.model.likelihood
        if not likelihood.m:
            return None
        theta = self.theta[-likelihood.m :]
        free = np.isfinite(np.diagonal(self.covariance_all)[-likelihood.m :])
        slopes = [Q.derivatives(theta)[free] for Q in likelihood.matrices]
        return [Q.at(theta) for Q in likelihood.matrices], slopes

    def goodness_of_fit(self, groups: int = 10) -> TestResult:
        """Test whether the reports agree with the fitted law of the true answers.

        Where covariates repeat often enough, Pearson's chi-square of the counts of reports, in
        cells of a pattern of covariates and a report. Else respondents are grouped by their fitted
        probabilities, as Hosmer and Lemeshow do, and the sums of reports in each group are compared
        with what is expected, by the covariance that they have with estimated coefficients. Where a
        report has many values, such as bits, decoded answers take the place of cells.

        Parameters
        ----------
        groups : int
            The largest number of groups; fewer where cells would be too small.

        Returns
        -------
        TestResult

        Raises
        ------
        NotAvailable
            If the outcome is a number, the fit is by corrected scores, at infinity or with
            clusters, the model fits any table, or there are too few reports.
        """
        from ldpstats.models.regression.fitted import goodness_of_fit

        return goodness_of_fit(self, groups)

    # -- presentation --------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        data = self.model.data
        return {
            "name": self._subject,
            "mechanism": "; ".join(dict.fromkeys(map(str, data.mechanisms()))),
            "method": self.method,
            "penalty": self.penalty or "",
            "cov_type": self.cov_type,
            "epsilon": total_epsilon(data),
            "nobs": self.nobs,
            "n_missing": data.n_missing,
            "k": 0 if data.categories is None else len(data.categories),
            "df_model": self.df_model,
            "df_resid": self.df_resid,
            **self._criteria(),
            "n_maxima": self.n_maxima,
            "converged": self.converged,
        }


@dataclass(frozen=True, eq=False, repr=False)
class DeviceRegressionResults(RegressionResults):
    """Coefficients of a regression and unknown parameters of devices, estimated together.

    All that `RegressionResults` has is here too, and standard errors of all of it allow for the
    parameters being unknown. `params` are the coefficients (of a multinomial logit "category:
    name"), then the unknown parameters, in [0, 1]. `bse` is nan for a parameter on the boundary,
    and given its value for the rest. `conf_int` has profiles of the joint likelihood, which end at
    the bounds of parameters; of coefficients at infinity they have no end, or only one that leaves
    out zero. p-values of unknown parameters are one-sided, and go with the 90 % interval.
    """

    @property
    def coefficients(self) -> pd.Series[float]:
        """The coefficients alone."""
        some: pd.Series[float] = self.params.iloc[: self.model.n_shown]
        return some.rename("coefficients")

    @property
    def parameters(self) -> pd.Series[float]:
        """The unknown parameters alone."""
        some: pd.Series[float] = self.params.iloc[self.model.n_shown :]
        return some.rename("parameters")

    @property
    def on_boundary(self) -> tuple[str, ...]:
        """Unknown parameters whose estimate is 0 or 1."""
        values = self.parameters
        return tuple(values.index[(values <= 0.0) | (values >= 1.0)])

    def information(self) -> pd.DataFrame:
        """Expected joint information of the reports at the estimate, (p + m, p + m)."""
        names = self.model.all_names
        information = self.model.likelihood.expected(self.theta)
        return pd.DataFrame(information, index=names, columns=names)

    def __repr__(self) -> str:
        names = ", ".join(self.model.unknown)
        return f"DeviceRegressionResults({self.model.endog_names}, {names}; n={self.nobs})"


# -- what is written as a document, and read ---------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class StoredRegression(Coefficients):
    """A regression that was written as a document, and read: all that needs no respondent."""

    law: FittedLaw
    unknown: tuple[str, ...]
    constant: int | None
    estimate: npt.NDArray[np.float64]
    covariance: npt.NDArray[np.float64]
    infinite: tuple[str, ...]
    tested: npt.NDArray[np.float64]  # p-values
    limits: npt.NDArray[np.float64]  # default intervals of 95 %, (m, 2)
    df: npt.NDArray[np.float64] | None  # of each coefficient; None of normal quantiles
    reported: npt.NDArray[np.float64] | None  # naive coefficients
    method: str
    penalty: str | None
    cov_type: str
    why_wald: str
    penalises: bool
    n_clusters: int | None
    heading: tuple[tuple[str, ...], ...]
    details: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    more: tuple[str, ...]
    facts: dict[str, Any]

    @classmethod
    def of(cls, results: Any) -> StoredRegression:
        """What is kept of results."""
        model, use_t = results.model, results.use_t
        try:
            naive = results._naive()
        except NotAvailable:
            naive = None
        (heading, notes), (details, more) = map(results._header_and_notes, (False, True))
        estimate, covariance = results._estimated
        facts = results._facts().items()
        df = np.asarray(results.df_inference, dtype=np.float64).T.ravel()
        return cls(
            law=results.law,
            unknown=tuple(model.unknown),
            constant=model.constant,
            estimate=estimate,
            covariance=covariance,
            infinite=results.infinite,
            tested=np.asarray(results.pvalues, dtype=np.float64).T.ravel(),
            limits=results._bounds(_LEVEL),
            df=df if use_t else None,
            reported=naive,
            method=results.method,
            penalty=results.penalty,
            cov_type=results.cov_type,
            why_wald=results.why_wald,
            penalises=results.penalises,
            n_clusters=results.n_clusters,
            heading=tuple(map(tuple, heading)),
            details=tuple(map(tuple, details)),
            notes=tuple(notes),
            more=tuple(more),
            facts={k: number_to_json(v) if isinstance(v, float) else v for k, v in facts},
        )

    def __repr__(self) -> str:
        return f"StoredRegression({self.method}, m={len(self.index)}, n={self.nobs:g})"

    @cached_property
    def model(self) -> Any:
        """The model, without respondents."""
        model: Any = Named()
        model.data, model.unknown, model.constant = self.law.data, self.unknown, self.constant
        return model

    @cached_property
    def index(self) -> pd.Index[Any]:
        return coefficient_labels(self.model)

    @property
    def _estimated(self) -> tuple[Array, Array]:
        return self.estimate, self.covariance

    @property
    def use_t(self) -> bool:
        """Whether quantiles are those of a t distribution."""
        return self.df is not None

    @property
    def degrees(self) -> Degrees:
        known = self.df
        if known is None or np.ptp(known) == 0.0:
            return None if known is None else float(known[0])

        def of(R: Array) -> float:
            if len(R) > 1 or np.count_nonzero(R) > 1:
                raise NotAvailable(
                    "degrees of freedom of several coefficients together need the respondents, "
                    f"who are not in a document: {_AGAIN}"
                )
            return float(known[np.flatnonzero(R[0])[0]])

        return of

    @property
    def nobs(self) -> float:
        """Number of respondents."""
        return float(self.facts["nobs"])

    @property
    def llf(self) -> float:
        """Log-likelihood, where there is one."""
        self._refuse_pseudo("llf")
        return float(self.facts["llf"])

    def _refuse_pseudo(self, what: str) -> None:
        if self.facts["llf"] == "nan":
            raise NotAvailable(f"{what}: this fit has no likelihood: use wald_test")

    @property
    def pvalues(self) -> Any:
        """p-values of each coefficient, those of the fit."""
        return self._shaped(self.tested, "pvalues")

    def conf_int(self, alpha: float = 0.05, method: str = "default") -> pd.DataFrame:
        """Confidence intervals of the coefficients; default ones by profiles of 95 % alone.

        Parameters
        ----------
        alpha : float
        method : {"default", "wald"}
        """
        alpha, method = level(alpha), one_of("method", method, ("default", "wald"))
        ends = super()._bounds(alpha) if method == "wald" else self._bounds(alpha)
        return pd.DataFrame(ends, index=self.index, columns=["lower", "upper"])

    def _bounds(self, alpha: float) -> Array:
        if self.why_wald:
            return super()._bounds(alpha)
        if alpha != _LEVEL:
            raise NotAvailable(
                "profiles at other levels than 95 % need the reports, which are not in a document: "
                f"use conf_int(method='wald'), or {_AGAIN}"
            )
        return self.limits

    def _naive(self) -> Array:
        if self.reported is None:
            raise NotAvailable("there is no naive estimate to compare with")
        return self.reported

    def __getattr__(self, name: str) -> Any:
        if name in (facts := self.__dict__.get("facts", {})):
            return facts_from_json(facts)[name]
        words = f"{type(self).__name__!r} has no attribute {name!r}"
        if not name.startswith("_") and hasattr(RegressionResults, name):
            words = f"{name}: it needs respondents, who are not in a document: {_AGAIN}"
        raise AttributeError(words)

    def _stored(self) -> dict[str, Any]:
        return written(self)

    def _header_and_notes(self, details: bool) -> tuple[Any, list[str]]:
        return (self.details, [*self.more]) if details else (self.heading, [*self.notes])

    def _facts(self) -> dict[str, Any]:
        return facts_from_json(self.facts)
