"""Coefficients of regressions on privatised answers: what all kinds of such results have and say.

Criteria, the estimates of who takes reports for answers, predictions of the true answers, and the
summary, whose header and notes a kind completes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, level, one_of
from ldpstats.documents import number_to_json, written
from ldpstats.errors import NotAvailable
from ldpstats.hints import missing_attribute
from ldpstats.labels import Labels
from ldpstats.likelihood.regression import Binary, Multinomial, Normal, Ordered
from ldpstats.mechanisms.base import told_apart
from ldpstats.models.layout import (
    LONGEST_LABEL,
    Frame,
    Heading,
    Pair,
    Table,
    header,
    names_alpha,
    one_line,
)
from ldpstats.models.regression.fitted import FittedLaw, facts_from_json
from ldpstats.models.regression.hypotheses import (
    Degrees,
    WaldResults,
    flat,
    naive_params,
    reported_codes,
)
from ldpstats.models.regression.structure import Named
from ldpstats.models.storage import Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ldpstats.models.regression.effects import (
        AveragePredictions,
        Effects,
        MarginalEffects,
    )

_SHOWN = 6  # coefficients that a note shows
_MECHANISMS = 4
_LEVEL = 0.05  # one minus that of the intervals in a document
_AGAIN = "fit the model to the reports again"
_FEW = 10.0  # degrees of freedom, in respondents, below which skewed answers mislead t
_KEPT = ("law", "infinite", "method", "penalty", "cov_type", "why_wald", "penalises", "n_clusters")
KINDS = {
    "nonrobust": "observed information",
    "cluster": "sandwich, by cluster",
    "CR2": "sandwich, by cluster (CR2)",
    "design": "sandwich, by the design",
}


class Coefficients(Stored, WaldResults):
    """Coefficients of regressions: criteria, those of who takes reports for answers, predictions.

    A kind has a `model`, `cov_type`, `method` and `use_t`, the `law` of the true answers, and says
    why tests are Wald.
    """

    _format: ClassVar[str] = "ldpstats-regression-results"
    _version: ClassVar[int] = 1

    model: Any
    _covariances: ClassVar[dict[str, str]] = KINDS
    _untested = property(attrgetter("model.threshold_names"))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # what a kind has

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
        return float(2.0 * len(self.index) - 2.0 * self.llf)

    @property
    def bic(self) -> float:
        """-2 llf + log(nobs) coefficients, where there is a likelihood."""
        self._refuse_pseudo("bic")
        return float(np.log(self.nobs) * len(self.index) - 2.0 * self.llf)

    @property
    def uses_likelihood(self) -> bool:
        """Whether default tests and intervals are from the likelihood, and not Wald."""
        return not self.why_wald

    def _naive(self) -> Array:
        model, data, response = self.model, self.model.data, self.model.data.response
        configuration: Any = 0 if data.predictors else None
        for name, groups in data.predictors.items():
            labels = groups[0].mechanism.labels(data.candidates.get(name))
            configuration = configuration * len(labels) + reported_codes(groups, labels)
        if data.is_private:
            response = reported_codes(response, data.categories)
            response = response if data.scores is None else data.scores[response]
        how = configuration, data.mass, data.offset
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
        params, bse = (flat(one)[: len(naive)] for one in (self.params, self.bse))
        with np.errstate(divide="ignore", invalid="ignore"):  # no spread of groups at all
            columns = {"params": params, "bse": bse, "naive": naive, "ratio": naive / params}
        return Table(columns, index=self.index[: len(naive)])

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

        drawn, called = [self, *others], ["corrected" if others else ""]
        for i, one in enumerate(others, 1):
            is_naive = isinstance(one, str) and one == "naive"
            called.append("naive" if is_naive else str(i + 1))
            if is_naive:
                drawn[i] = self.compare_naive()[["naive"]].set_axis(["params"], axis=1)
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

    def predictions(
        self,
        by: Any = None,
        alpha: float = 0.05,
        kind: str = "within",
        at: Any = None,
        newdata: Any = None,
        rng: np.random.Generator | None = None,
        draws: int = 1000,
    ) -> AveragePredictions:
        """Average predictions of the true answers, in all or by group.

        Averages are over the respondents and their weights. Their covariates are taken as they are
        in the sample; standard errors are by the delta method from the covariance of the fit, that
        of the design for surveys.

        Parameters
        ----------
        by : str, list of str or array-like, shape (n,), optional
            A public covariate, a private predictor, several of these, or a label of each
            respondent's group.
        alpha : float
            One minus the coverage of the intervals, which are made on the logit scale for
            probabilities.
        kind : {"within", "adjusted"}
            "within" averages over the respondents of each group; groups then differ by their other
            covariates too. "adjusted" averages over all respondents, each set to the group, all
            other covariates and the law of the private predictors as they are.
        at : dict, optional
            Covariates or private predictors, and values to which all respondents are set, such as
            ``{"age": [20, 40], "sex": ["f", "m"]}``: all combinations, in each group of `by`.
        newdata : DataFrame, dict of columns or array, optional
            Other rows in place of the respondents, as for `predict`. Without `by` and `at` each of
            up to 1,000 rows is predicted for, else they are averaged over.
        rng : numpy.random.Generator, optional
            For intervals by simulation: quantiles of the averages at parameters that are drawn from
            their normal law, of designs a t law.
        draws : int
            How many are drawn, 100 at least.

        Returns
        -------
        AveragePredictions
            `frame`, `contrasts()` and `differences()` between groups, `summary`, `plot`, `t_test`
            and `wald_test` by labels.

        Raises
        ------
        InvalidArgument
            For an unknown covariate, labels that are missing or not one for each respondent,
            values of `at` that are no numbers, or not among those of a covariate of labels, more
            than 50 groups or values, and rows that lack a column or a value.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(2024)
        >>> table = pd.DataFrame({"age": rng.normal(size=4000), "city": np.arange(4000) % 2})
        >>> late = np.where(rng.random(4000) < 0.2 + 0.4 * table.city, "yes", "no")
        >>> reports = ldp.Warner(epsilon=1.5).privatize(late, rng)
        >>> results = ldp.regression("late ~ age + city", table, {"late": reports}).fit()
        >>> results.predictions(by="city").frame["mean"].round(1).tolist()
        [0.2, 0.6]
        >>> results.predictions(at={"age": [-1, 1], "city": [0, 1]}).frame["mean"].round(1)
        age  city
        -1   0       0.2
             1       0.6
         1   0       0.2
             1       0.6
        Name: mean, dtype: float64
        """
        from ldpstats.models.regression.effects import Question

        return Question.of(self.law, by, at, newdata, alpha, rng, draws, kind).predictions()

    def comparisons(
        self,
        variables: Any = None,
        by: Any = None,
        comparison: str = "difference",
        pairs: bool = False,
        at: Any = None,
        newdata: Any = None,
        alpha: float = 0.05,
        rng: np.random.Generator | None = None,
        draws: int = 1000,
    ) -> Effects:
        """What becomes of the average prediction where a covariate changes.

        Covariates are moved through the formula: one that is in several terms, such as ``age +
        I(age ** 2)`` or an interaction, moves in all of them. All respondents are set to either
        value, their other covariates and the law of the private predictors as they are, and the
        two averages compared.

        Parameters
        ----------
        variables : str, list of str or dict, optional
            Covariates or private predictors, all by default. A number moves by one, or from 0 to 1
            where it has no other values; categories are compared with the first. A dict says
            otherwise: ``{"age": 10}`` for ten years, ``{"age": [20, 40]}`` for two values,
            ``{"city": "b"}`` for another reference.
        by, at, newdata
            As for `predictions`: groups of rows that are averaged over, values of other covariates,
            and other rows. Without `by` and `at` each row of `newdata` has an effect of its own.
        comparison : {"difference", "ratio", "odds_ratio", "lift"}
            Of two averages the difference, the ratio, the ratio of their odds, or the difference
            as a share of the second, (a - b) / b.
        pairs : bool
            Whether all pairs of categories are compared, not only with the first.
        alpha : float
            One minus the coverage of the intervals, of ratios made on the log scale.
        rng, draws
            As for `predictions`: intervals by simulation.

        Returns
        -------
        Effects
            `frame`, `summary`, `plot`, tests, and `contrasts()` between groups.

        Raises
        ------
        InvalidArgument
            For unknown covariates and levels, and odds ratios of a number.
        NotAvailable
            For ratios of averages that are not above zero.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(2024)
        >>> table = pd.DataFrame({"age": rng.normal(size=4000), "city": np.arange(4000) % 2})
        >>> late = np.where(rng.random(4000) < 0.2 + 0.4 * table.city, "yes", "no")
        >>> reports = ldp.Warner(epsilon=1.5).privatize(late, rng)
        >>> results = ldp.regression("late ~ age * city", table, {"late": reports}).fit()
        >>> results.comparisons("city").to_frame().round(2)
                  term  estimate  std_error  lower  upper  p_value
        0  city: 1 - 0      0.36       0.02   0.32   0.41      0.0
        """
        from ldpstats.models.regression.effects import Question

        question = Question.of(self.law, by, at, newdata, alpha, rng, draws)
        return question.comparisons(variables, comparison, pairs)

    def slopes(
        self,
        variables: Any = None,
        by: Any = None,
        slope: str = "dydx",
        at: Any = None,
        newdata: Any = None,
        alpha: float = 0.05,
        rng: np.random.Generator | None = None,
        draws: int = 1000,
    ) -> Effects:
        """Average slopes of the prediction along numbers.

        Numbers are moved through the formula: a polynomial, a spline or an interaction has one
        slope, which `get_margeff` of columns does not know.

        Parameters
        ----------
        variables : str or list of str, optional
            Numbers, all by default.
        by, at, newdata
            As for `comparisons`.
        slope : {"dydx", "eyex", "dyex", "eydx"}
            Derivatives of the mean or, with "ey", of its logarithm; by the number or, with "ex", by
            its logarithm.
        alpha : float
            One minus the coverage of the intervals.
        rng, draws
            As for `predictions`: intervals by simulation.

        Returns
        -------
        Effects
            `frame`, `summary`, `plot`, tests, and `contrasts()` between groups.

        Raises
        ------
        InvalidArgument
            For unknown covariates, and those that are no numbers.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(2024)
        >>> table = pd.DataFrame({"age": rng.uniform(-2, 2, size=9000)})
        >>> ill = np.where(rng.random(9000) < 0.1 + 0.2 * table.age**2, "yes", "no")
        >>> reports = ldp.Warner(epsilon=1.5).privatize(ill, rng)
        >>> results = ldp.regression("ill ~ age + I(age ** 2)", table, {"ill": reports}).fit()
        >>> results.slopes("age", at={"age": [-1, 1]}).frame["dydx"].round(1).tolist()
        [-0.4, 0.4]
        """
        from ldpstats.models.regression.effects import Question

        question = Question.of(self.law, by, at, newdata, alpha, rng, draws)
        return question.slopes(variables, slope)

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
        over the weights. Each column is moved alone; of a formula that has a covariate in
        several columns, such as ``age + I(age ** 2)``, ask for `slopes` and `comparisons`.
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
        NotAvailable
            For a formula with a covariate in several columns.

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

    def plot_effects(
        self,
        name: str | None = None,
        at: str = "observed",
        points: int = 31,
        alpha: float = 0.05,
        ax: Axes | None = None,
        title: str | None = None,
        by: Any = None,
    ) -> Any:
        """Draw predictions of the true answers along a covariate.

        Numbers have a curve with a band; factors, private predictors and numbers with few values
        have points with intervals. Of more than ten groups each has a panel with its curve, or a
        row with its points; so has each of more than ten levels.

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
        by : str, list of str or array-like, optional
            Groups of respondents, as for `predictions`, each drawn along the covariate `name`:
            together, or of several categories in a panel each.

        Returns
        -------
        Axes, or array of Axes
        """
        from ldpstats.models.regression.effects import Question
        from ldpstats.models.regression.plots import plot_effects

        question = Question.of(self.law, by, None, None, alpha)
        return plot_effects(question, name, at, points, ax, title)

    # -- presentation --------------------------------------------------------------------------

    @property
    def _subject(self) -> str:
        return str(self.model.endog_names)

    def __str__(self) -> str:
        return str(self.summary())

    @property
    def _title(self) -> str:
        subject = one_line(self.model.endog_names, LONGEST_LABEL)
        return f"{model_name(self.model.data.outcome)} regression of {subject}"

    @property
    def _covariance_in_words(self) -> str:
        kind = self.cov_type
        if kind == "cluster" and self.shares is not None:
            kind = "CR2"
        return self._covariances.get(kind, f"sandwich ({kind})")

    def _table_facts(self) -> dict[str, Any]:
        return {**self.model.data.design_facts, "se_type": self._covariance_in_words}

    def _heading(self) -> Heading:
        """What was fitted to which reports."""
        data, questions = self.model.data, self.model.data.questions
        left: list[Pair] = [("Dep. variable:", one_line(self.model.endog_names, 30))]
        if isinstance(data.outcome, Binary):
            left.append(("Success:", one_line(data.categories[1], 30)))
        elif isinstance(data.outcome, Multinomial):
            left.append(("Reference:", one_line(data.categories[0], 30)))
        mechanisms = []
        for name, groups in questions:
            shown = list(groups)[:_MECHANISMS]
            for group, text in zip(shown, told_apart(one.mechanism for one in shown), strict=True):
                of = f"{one_line(name, 20)}: " if len(questions) > 1 else ""
                size = f", n = {len(group):,}" if len(groups) > 1 else ""
                mechanisms.append(f"{of}{text}{size}")
            if len(groups) > _MECHANISMS:
                mechanisms.append(f"and {len(groups) - _MECHANISMS} more groups")
        first, *others = mechanisms
        left += [(f"Mechanism{'s' * bool(others)}:", first), *(("", one) for one in others)]
        method = self.method.upper() if len(self.method) < 4 else self.method
        left.append(("Method:", f"{method}, {self.penalty}" if self.penalty else method))
        left.append(("Covariance:", self._covariance_in_words))
        if data.facts is not None:
            left.append(("Design:", one_line(data.facts.design, 40)))
        epsilon = "Epsilon (nats):"
        if len(questions) > 1:
            epsilon = "Epsilon, all answers:"
        elif len(set(map(attrgetter("epsilon"), data.mechanisms()))) > 1:
            epsilon = "Epsilon, largest:"
        right = [
            ("Respondents:", f"{self.nobs:,.0f}"),
            ("Missing, left out:", f"{data.n_missing:,}"),
            (epsilon, data.epsilon),
        ]
        if data.facts is not None:
            right.append(("Sum of weights:", f"{data.facts.weight_sum:,.6g}"))
        return self._title, left, right

    def _computed(self) -> tuple[list[Pair], list[Pair]]:
        converged = "yes" if self.converged else "NO"
        df = f"{self.df_model:g}, {self.df_resid:g}"
        return [("Converged:", converged)], [("Df model, residual:", df)]

    def _interval_notes(self, frame: Frame, uncut: Frame, alpha: float, source: str) -> list[str]:
        percent = f"{100 * (1 - alpha):.4g}%"
        if not self.why_wald:
            kind = "penalised " if self.penalises else ""
            letter = "t" if self.use_t else "z"
            scaled = "" if self.cov_type == "nonrobust" else ", scaled to the sandwich"
            known = self.df_inference[self.bse.notna()] if scaled else self.df_inference
            return [
                f"P-values and {percent} intervals: profiles of the {kind}likelihood{scaled}, "
                f"which agree about zero. Std err and {letter} are Wald.",
                *(few_notes(known, 4.0) if scaled else []),
            ]
        known, law = flat(self.df_inference), "normal"
        if self.use_t and np.ptp(known) == 0.0:
            law = f"t with {known[0]:.4g} degrees of freedom"
        elif self.use_t:
            known = known[~np.isnan(known)]
            ends = f", {known.min():.3g} to {known.max():.3g}" if known.size else ""
            law = f"t with degrees of freedom of each coefficient (Satterthwaite{ends})"
        notes = [f"P-values and {percent} intervals: Wald, {law}, as {self.why_wald}."]
        squares = self.method == "least squares" and self.n_clusters is None
        return notes + few_notes(self.df_inference, _FEW if squares else 4.0)

    def _naive_notes(self) -> list[str]:
        """What slopes would read if reports were answers."""
        if self.model.is_exact:
            return []
        try:
            table = self.compare_naive()
        except NotAvailable:
            return []
        model, slopes = self.model, []
        n = len(model.exog_names) * len(model.equations)
        for j, (name, value) in enumerate(zip(self._names[:n], table["naive"], strict=False)):
            if j % len(model.exog_names) != model.constant:
                slopes.append(f"{one_line(name, LONGEST_LABEL)} {value:.3f}")
        if not slopes:
            return []
        end = ", ..." if len(slopes) > _SHOWN else "."
        return [f"Without the channel the slopes would read: {', '.join(slopes[:_SHOWN])}{end}"]

    def _stored(self) -> dict[str, Any]:
        return StoredRegression.of(self)._stored()

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Any:
        """Read what `to_dict` wrote: all that needs no respondent."""
        return super(Coefficients, StoredRegression).from_dict(document)

    def _facts(self) -> dict[str, Any]:
        data = self.model.data
        try:
            criteria = {"llf": self.llf, "aic": self.aic, "bic": self.bic}
        except NotAvailable:
            criteria = dict.fromkeys(("llf", "aic", "bic"), float("nan"))
        return {
            "name": self._subject,
            "mechanism": "; ".join(dict.fromkeys(map(str, data.mechanisms()))),
            "method": self.method,
            "penalty": self.penalty or "",
            "cov_type": self.cov_type,
            "epsilon": data.epsilon,
            "nobs": self.nobs,
            "n_missing": data.n_missing,
            "k": 0 if data.categories is None else len(data.categories),
            "df_model": self.df_model,
            "df_resid": self.df_resid,
            **criteria,
            "converged": self.converged,
        }


# -- what is written as a document, and read ---------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class StoredRegression(Coefficients):
    """A regression that was written as a document, and read: all that needs no respondent."""

    law: FittedLaw
    unknown: tuple[str, ...]
    constant: int | None
    estimate: Array
    covariance: Array
    infinite: tuple[str, ...]
    tested: Array  # p-values
    limits: Array  # default intervals of 95 %, (m, 2)
    df: Array | None  # of each coefficient; None of normal quantiles
    reported: Array | None  # naive coefficients
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
        (_, left, right), frame = results._heading(), results._tidy(_LEVEL)
        heading, details = header(left, right), header(left, right, results._computed())
        estimate, covariance = results._estimated
        facts = results._facts().items()
        df = np.asarray(results.df_inference, dtype=np.float64).T.ravel()
        return cls(
            **{name: getattr(results, name) for name in _KEPT},
            unknown=tuple(model.unknown),
            constant=model.constant,
            estimate=estimate,
            covariance=covariance,
            tested=np.asarray(results.pvalues, dtype=np.float64).T.ravel(),
            limits=results._bounds(_LEVEL),
            df=df if use_t else None,
            reported=naive,
            heading=tuple(map(tuple, heading)),
            details=tuple(map(tuple, details)),
            notes=tuple(results._notes(frame)),
            more=tuple(results._notes(frame, True)),
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
    def index(self) -> Labels:
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
        if self.why_wald and not self.model.sd_names:
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
        words = missing_attribute(self, name)
        known = any(hasattr(kind, name) for kind in Coefficients.__subclasses__())
        if known and not name.startswith("_"):
            words = f"{name}: it needs respondents, who are not in a document: {_AGAIN}"
        raise AttributeError(words)

    def _stored(self) -> dict[str, Any]:
        return written(self)

    def _heading(self) -> Heading:
        return self._title, *_pairs(self.heading)

    def _computed(self) -> tuple[list[Pair], list[Pair]]:
        return _pairs(self.details[len(self.heading) :])

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        return [*(self.more if details else self.notes)]

    def _facts(self) -> dict[str, Any]:
        return facts_from_json(self.facts)


def _pairs(rows: Sequence[Sequence[str]]) -> tuple[list[Pair], list[Pair]]:
    """The pairs, left and right, of the rows of a header."""
    return [(row[0], row[1]) for row in rows], [(row[2], row[3]) for row in rows]


# -- words -------------------------------------------------------------------------------------


def coefficient_labels(model: Any, more: Sequence[str] = ()) -> Labels:
    """Labels of the coefficients, and of others behind them; by equation of a multinomial logit."""
    listed = bool(model.unknown) or model.data.groups is not None  # all equations in one list
    if isinstance(model.data.outcome, Multinomial) and not listed:
        pairs = [(label, name) for label in model.categories[1:] for name in model.exog_names]
        return pd.MultiIndex.from_tuples(pairs, names=[model.endog_names or "y", "name"])
    names = model.exog_names + model.threshold_names
    if listed:
        names = model.all_names[: model.n_shown]
    return pd.Index([*names, *model.unknown, *more])


def model_name(outcome: Any) -> str:
    """What a model is called."""
    if isinstance(outcome, Binary):
        names = {"logit": "Logit", "probit": "Probit", "cloglog": "Complementary log-log"}
        return names[outcome.link]
    kinds = {Multinomial: "Multinomial logit", Ordered: "Proportional odds", Normal: "Linear"}
    return next((name for kind, name in kinds.items() if isinstance(outcome, kind)), "Poisson")


def few_notes(df: Any, least: float) -> list[str]:
    """What is said of coefficients with degrees of freedom below `least`, or without any."""
    frame: Any = df.stack() if isinstance(df, pd.DataFrame) else df
    none, few = (
        ", ".join([str(name) for name in frame.index[some]][:_SHOWN])
        for some in (frame.isna(), frame < least)
    )
    notes = []
    if none:
        notes.append(
            f"WARNING: one cluster alone determines most of {none}: its variance cannot be "
            "estimated."
        )
    if few:
        notes.append(
            f"WARNING: few clusters or respondents have information on {few} (fewer than {least:g} "
            "degrees of freedom): intervals are approximate."
        )
    return notes
