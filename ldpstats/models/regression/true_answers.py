"""What a fitted regression says about the true answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from ldpstats.models.layout import names_alpha

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ldpstats.inference.tests import TestResult
    from ldpstats.models.regression.effects import AveragePredictions, MarginalEffects
    from ldpstats.models.regression.fitted import FittedLaw

__all__ = ["TrueAnswers"]


class TrueAnswers(ABC):
    """Results that have estimated the law of the true answers.

    Predictions and margins are of the true answers, not of reports. Averages over private
    predictors use their estimated law given the public covariates.
    """

    @property
    @abstractmethod
    def law(self) -> FittedLaw:
        """The law of the true answers, by the estimated parameters."""

    @abstractmethod
    def compare_naive(self) -> pd.DataFrame:
        """Coefficients beside the naive ones."""

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
        from ldpstats.models.regression.effects import predicted

        return predicted(self.law, exog, which, offset)

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
        self, by: Any = None, alpha: float = 0.05, kind: str = "within", at: Any = None
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

        Returns
        -------
        AveragePredictions
            `frame`, and `differences()` between groups.

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

        return average_predictions(self.law, by, alpha, kind, at)

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

    @names_alpha
    def plot_coefficients(self, *others: Any, labels: Any = None, **options: Any) -> Any:
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

        def naive(results: TrueAnswers) -> pd.DataFrame:
            return results.compare_naive()[["naive"]].rename(columns={"naive": "params"})

        drawn: list[Any] = [self]
        called = ["corrected"]
        for i, one in enumerate(others):
            is_naive = isinstance(one, str) and one == "naive"
            drawn.append(naive(self) if is_naive else one)
            called.append("naive" if is_naive else str(i + 2))
        if len(drawn) == 1:
            called = [""]
        return plot_coefficients(drawn, called if labels is None else labels, **options)
