"""Predictions of the true answers, their averages by group, and marginal effects of covariates.

All are means over rows of the outcome's mean by `FittedLaw`, averaged over the law of private
predictors; standard errors are by the delta method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, boolean, level, numbers, one_of
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.regression import (
    Average,
    Points,
    average,
    effects_of_rows,
    marginal_effects,
    means,
    ones,
    row_means,
)
from ldpstats.labels import as_series, missing_entries
from ldpstats.likelihood.regression import Multinomial, Ordered
from ldpstats.models.layout import (
    LONGEST_LABEL,
    Cells,
    Heading,
    joined,
    one_line,
)
from ldpstats.models.regression.fitted import (
    FittedLaw,
    covariate,
    typical_row,
    with_column,
    with_values,
)
from ldpstats.models.regression.hypotheses import Degrees, WaldResults, t_pvalues
from ldpstats.models.regression.structure import new_covariates
from ldpstats.models.results import linear_hypothesis
from ldpstats.models.storage import Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

Mask = npt.NDArray[np.bool_]

_AT = ("overall", "mean", "median", "zero", "all")
_NAMES = {"dydx": "dy/dx", "eyex": "d(lny)/d(lnx)", "dyex": "dy/d(lnx)", "eydx": "d(lny)/dx"}
_MOST_GROUPS = 50
_MOST_ROWS = 1000


# -- predictions -------------------------------------------------------------------------------


def predict_rows(law: FittedLaw, exog: Any, which: Any, offset: Any) -> Any:
    """Predictions; see `RegressionResults.predict`."""
    which = one_of("which", which, ("mean", "linear"))
    points, whole, index = new_rows(law, exog, offset)
    if which == "mean":
        values = _among_all(row_means(points, law.theta)[0], whole)
        if law.labels is None:
            return pd.Series(values[:, law.shown[0]], index=index, name="predicted")
        return pd.DataFrame(values, index=index, columns=law.labels)
    if len(points.designs) > 1:
        remedy = "has no value where private predictors are averaged over: give their values in "
        raise InvalidArgument("which", "linear", f"{remedy}columns of exog, or use 'mean'")
    design, outcome = points.designs[0], law.data.outcome
    eta = design.eta(law.theta[: points.n_outcome])
    if isinstance(outcome, Multinomial):
        assert law.data.categories is not None
        columns = law.data.categories[1:]
        eta = _among_all(eta[:, : len(columns)], whole)  # without spreads of intercepts
        return pd.DataFrame(eta, index=index, columns=columns)
    if isinstance(outcome, Ordered):  # without thresholds
        eta = replace(design, q=1).eta(np.append(law.theta[: design.p], 0.0)) * -1.0
    return pd.Series(_among_all(eta[:, 0], whole), index=index, name="linear")


def prediction_frame(law: FittedLaw, exog: Any, offset: Any, alpha: Any) -> pd.DataFrame:
    """Predictions with intervals; see `RegressionResults.get_prediction`."""
    law.quantile(alpha)
    points, whole, rows = new_rows(law, exog, offset)
    values, variances = row_means(points, law.theta, law.covariance)
    assert variances is not None
    mean, se = values[:, law.shown], np.sqrt(np.maximum(variances[:, law.shown], 0.0))
    each = [mean, se, *law.intervals(mean, se, alpha)]
    table = np.column_stack([_among_all(one, whole).ravel() for one in each])
    index: Any = rows
    if law.labels is not None:
        pairs = [(row, label) for row in rows for label in law.labels]
        names = [rows.name, law.data.response_name or "category"]
        index = pd.MultiIndex.from_tuples(pairs, names=names)
    return pd.DataFrame(table, index=index, columns=["mean", "se", "lower", "upper"])


def _among_all(values: Array, whole: Mask) -> Array:
    """Values of the whole rows among all, others NaN."""
    if whole.all():
        return values
    filled = np.full((whole.size, *values.shape[1:]), np.nan)
    filled[whole] = values
    return filled


def new_rows(
    law: FittedLaw, exog: Any = None, offset: Any = None
) -> tuple[Points, Mask, pd.Index[Any]]:
    """Rows to predict for without a missing value, which of all they are, and labels of all."""
    data = law.data
    marginal: Array | None = None
    if exog is None:
        matrices: list[Array] = list(data.designs)
        marginal = None if data.marginal is None else data.marginal.to_numpy(dtype=np.float64)
        known = pd.RangeIndex(len(law.respondents.place))
        index = known if data.formula is None else data.formula.index
        shift = data.offset
    else:
        matrices, index = _matrices(law, exog)
        if len(matrices) > 1:
            marginal = data.formula.marginal(exog)
        shift = None
    n = len(matrices[0])
    if offset is not None:
        values = offset.to_numpy() if isinstance(offset, pd.Series) else offset
        remedy = f"must be a number, or {n} numbers, one for each row"
        shift = numbers("offset", values, remedy)
        if shift.shape not in ((), (n,)) or np.isinf(shift).any():
            raise InvalidArgument("offset", offset, remedy)
        shift = np.broadcast_to(shift, (n,))
    whole = np.ones(n, dtype=bool)
    for one in [*matrices, *([] if marginal is None else [marginal])]:
        whole &= ~np.isnan(one).any(axis=1)
    if shift is not None:
        whole &= ~np.isnan(shift)
    if len(matrices) > 1:
        law.refuse_incomplete("predict")
    points = law.points(
        [one[whole] for one in matrices],
        None if marginal is None else marginal[whole],
        None if shift is None else shift[whole],
    )
    return points, whole, index


def _matrices(law: FittedLaw, exog: Any) -> tuple[list[Array], pd.Index[Any]]:
    """Design matrices, one for each configuration or one alone, and labels of the rows."""
    data = law.data
    if isinstance(exog, Mapping):
        try:
            exog = pd.DataFrame(dict(exog))
        except ValueError:
            remedy = 'must have columns of one length, such as {"age": [20, 40, 60]}'
            raise InvalidArgument("exog", dict(exog), remedy) from None
    is_table = isinstance(exog, pd.DataFrame) or hasattr(exog, "__arrow_c_stream__")
    if data.formula is not None and is_table and not isinstance(exog, pd.Series):
        designs = data.formula.exog(exog)
        index = exog.index if isinstance(exog, pd.DataFrame) else pd.RangeIndex(len(designs[0]))
        return designs, index
    if law.questions:
        remedy = "must be a table with the public columns of the formula"
        raise InvalidArgument("exog", type(exog).__name__, remedy)
    X, index = new_covariates(data, "exog", exog)
    return [X], index


# -- average predictions -----------------------------------------------------------------------


class Averages(Stored, WaldResults):
    """Averages by a fitted law, whose covariance is by the delta method."""

    law: FittedLaw
    found: Average | None
    _head, _noun = "mean", "estimates"

    @property
    def _unit(self) -> str:
        return self.law.unit

    @property
    def _estimated(self) -> tuple[Array, Array]:
        if self.found is None:
            raise NotAvailable("at='all' has no standard errors: use another at=")
        return self.found.value, self.found.covariance(self.law.covariance)

    @property
    def degrees(self) -> Degrees:
        return self.law.df

    @property
    def _subject(self) -> str:
        return self.law.subject

    def _facts(self) -> dict[str, Any]:
        return dict(self.law.facts)

    def plot(
        self, ax: Axes | None = None, alpha: float = 0.05, most: int = 40, title: str | None = None
    ) -> Any:
        """Draw the averages with their intervals; of pairs a panel for each first label.

        Parameters
        ----------
        ax : Axes, optional
        alpha : float
            One minus the coverage of the intervals.
        most : int
            Estimates that are drawn, the first of them.
        title : str, optional

        Returns
        -------
        Axes, or array of Axes
        """
        from ldpstats.models.plots import title_text
        from ldpstats.models.regression.plots import draw_estimates

        frame = self._tidy(level(alpha))[["estimate", "lower", "upper"]]
        frame = frame.set_axis(["params", "lower", "upper"], axis=1)
        title = title_text(title, self._subject)
        return draw_estimates(frame, self._unit, alpha, most, ax, title)


@dataclass(frozen=True, eq=False, repr=False)
class AveragePredictions(Averages):
    """Average predictions of the true answers, with intervals by the delta method.

    Attributes
    ----------
    groups : list
        Labels of the groups; one, "all", where there are none.
    by : str
        What the groups are of; "" where there are none.
    kind : {"within", "adjusted", "rows"}
    frame : DataFrame
        "mean", "se", "lower" and "upper", a row for each group and, of several categories, for
        each category.
    """

    _format: ClassVar[str] = "ldpstats-average-predictions"
    _version: ClassVar[int] = 1

    groups: list[Any]
    by: str
    kind: str
    alpha: float
    law: FittedLaw
    found: Average

    def __repr__(self) -> str:
        words = "each row" if self.kind == "rows" else "average over the respondents"
        if self.by and self.kind != "rows":
            how = "by group" if self.kind == "within" else "all respondents set to each value"
            words = f"average {how} ({self.by})"
        return f"{self.law.subject}, {words}\n{self.frame}"

    @property
    def index(self) -> pd.Index[Any]:
        return self._index(self.groups)

    @property
    def means(self) -> Array:
        """The averages, shape (groups, categories)."""
        return self.found.value.reshape(len(self.groups), -1)

    @property
    def cov(self) -> Array:
        """Their covariance, groups after one another."""
        return self._estimated[1]

    @property
    def pvalues(self) -> Any:
        """nan: that an average is zero is no hypothesis of interest; see `differences`."""
        return self._shaped(np.full(len(self.index), np.nan), "pvalues")

    @property
    def frame(self) -> pd.DataFrame:
        """The averages with standard errors and intervals."""
        return self.summary_frame(self.alpha)

    def _bounds(self, alpha: float) -> Array:
        return np.column_stack(self.law.intervals(self.found.value, self.bse.to_numpy(), alpha))

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """The averages with standard errors and intervals of another level.

        Intervals are made on the logit scale for probabilities, on the log scale for rates.
        """
        frame = self._tidy(level(alpha))[["estimate", "std_error", "lower", "upper"]]
        return frame.set_axis(["mean", "se", "lower", "upper"], axis=1)

    def _hypothesis(self, hypothesis: Any) -> tuple[Array, Array]:
        return linear_hypothesis(hypothesis, pd.Index(joined(self.index, ":"), tupleize_cols=False))

    def _place(self, reference: Any) -> int:
        """The place of a group."""
        for place, group in enumerate(self.groups):
            try:
                if group is reference or bool(group == reference):
                    return place
            except Exception:  # an array, NA, or somebody else's object
                break
        remedy = f"is none of the groups, which are {self.groups[:10]}"
        raise InvalidArgument("reference", reference, remedy)

    def differences(self, reference: Any = None, alpha: float = 0.05) -> pd.DataFrame:
        """Differences between groups.

        Parameters
        ----------
        reference : label, optional
            The group that others are compared with; by default each pair is compared.
        alpha : float
            One minus the coverage of the intervals, which are Wald.

        Returns
        -------
        DataFrame
            "difference" (of the later group less the earlier one, or the reference), "se", "z",
            "p_value", "lower" and "upper".

        Raises
        ------
        InvalidArgument
            If there are no groups, or the reference is none of them.
        """
        if len(self.groups) < 2:
            remedy = "is one group: pass by= to predictions to compare several"
            raise InvalidArgument("by", self.by, remedy)
        places = range(len(self.groups))
        if reference is None:
            pairs = [(b, a) for a, b in combinations(places, 2)]
        else:
            first = self._place(reference)
            pairs = [(b, first) for b in places if b != first]
        k = len(self.law.shown)
        R = np.zeros((len(pairs), len(self.groups)))
        for row, (b, a) in enumerate(pairs):
            R[row, b], R[row, a] = 1.0, -1.0
        gaps = self.found.times(np.kron(R, np.eye(k)))
        se = np.sqrt(np.maximum(np.diagonal(gaps.covariance(self.law.covariance)), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = gaps.value / se
        half = self.law.quantile(alpha) * se
        ends = gaps.value - half, gaps.value + half
        table = np.column_stack([gaps.value, se, z, t_pvalues(z, self.law.df), *ends])
        labels = [f"{self.groups[b]} - {self.groups[a]}" for b, a in pairs]
        columns = ["difference", "se", "z", "p_value", "lower", "upper"]
        return pd.DataFrame(table, index=self._index(labels), columns=columns)

    def summary(
        self, alpha: float | None = None, max_rows: int = 40, details: bool = False
    ) -> Summary:
        """The averages as text, `as_html()` or `as_latex()`; by default of the level asked for."""
        return super().summary(self.alpha if alpha is None else alpha, max_rows, details)

    def _heading(self) -> Heading:
        name = f"Average predictions of {one_line(self._subject, LONGEST_LABEL)}"
        return name, [("Groups:", self.by or "none")], [("Kind:", self.kind)]

    def _estimate_cells(self, *of: Any) -> Cells:
        heads, cells, words = super()._estimate_cells(*of)  # that they are zero is not tested
        return [*heads[:2], *heads[4:]], [[*row[:2], *row[4:]] for row in cells], words

    def _interval_notes(self, *of: Any) -> list[str]:
        others = "covariates" if self.kind == "within" else "other covariates"
        note = (
            f"Averages over the respondents and their weights, whose {others} are as in the sample"
        )
        if self.kind == "rows":
            note = "Predictions for the rows of exog"
        return [f"{note}; standard errors by the delta method."]

    def _index(self, groups: Sequence[Any]) -> pd.Index[Any]:
        """Labels of the rows."""
        labels, name = self.law.labels, self.by or None
        index: pd.Index[Any]
        if labels is None:
            index = pd.Index(groups, name=name, tupleize_cols=False)
            return index
        if not self.by:
            index = pd.Index(labels, name=self.law.data.response_name)
            return index
        pairs = [(group, label) for group in groups for label in labels]
        return pd.MultiIndex.from_tuples(pairs, names=[name, self.law.data.response_name])


def average_predictions(
    law: FittedLaw, by: Any, alpha: Any, kind: Any, at: Any = None, exog: Any = None
) -> AveragePredictions:
    """Average predictions; see `RegressionResults.predictions`."""
    law.quantile(alpha)
    kind = one_of("kind", kind, ("within", "adjusted"))
    law.refuse_incomplete("predictions")
    if exog is not None:
        if by is not None or at is not None:
            raise InvalidArgument("exog", type(exog).__name__, "goes without by= and at=")
        return _row_predictions(law, exog, alpha)
    if at is not None:
        if by is not None:
            raise InvalidArgument("at", at, "goes without by=, which takes groups as they are")
        by, chosen = _values_of(law, at)
        kind = "adjusted"
    of, points = means(law.data.outcome), law.distinct

    def mean(rows: Points) -> Average:
        return average(rows, law.theta, of)

    groups: list[Any]
    name, codes = "", None
    if by is None:
        groups, parts = ["all"], [mean(points)]
    elif at is not None:
        groups, name = chosen, by
    elif isinstance(by, str) and by in law.questions:
        groups, name = law.answers(by), by
    else:
        groups, name, codes = _groups(law, by)
        if kind == "adjusted" and not isinstance(by, str):
            remedy = "'adjusted' sets all respondents to each group: pass by= the name of a "
            raise InvalidArgument("kind", kind, f"{remedy}covariate, not labels")
    if by is not None and kind == "adjusted":
        parts = [mean(law.at_value(name, value)) for value in groups]
    elif codes is not None:
        parts, whole = [], law.respondents
        for g in range(len(groups)):
            inside = codes == g
            weights = np.bincount(whole.place[inside], whole.weights[inside], points.n)
            there = weights > 0.0
            rows = points.take(there)
            parts.append(mean(replace(rows, weights=weights[there] / weights.sum())))
    elif by is not None:
        parts = []
        for answer in groups:
            some = law.configurations_with(by, answer)
            share = average(points, law.theta, ones, some)
            parts.append(average(points, law.theta, of, some) / share)
    return AveragePredictions(groups, name, kind, float(alpha), law, law.stacked(parts))


def _row_predictions(law: FittedLaw, exog: Any, alpha: Any) -> AveragePredictions:
    """Predictions for the rows of a table, each a group of its own."""
    points, whole, index = new_rows(law, exog)
    if not 0 < whole.size <= _MOST_ROWS or not whole.all():
        remedy = (
            f"must have 1 to {_MOST_ROWS:,} rows, none with a missing value: see get_prediction"
        )
        raise InvalidArgument("exog", f"{whole.size:,} rows", remedy)
    of = means(law.data.outcome)
    rows = (replace(points.take([i]), weights=np.ones(1)) for i in range(points.n))
    parts = [average(row, law.theta, of) for row in rows]
    by = "" if law.labels is None else str(index.name or "row")
    return AveragePredictions(index.tolist(), by, "rows", float(alpha), law, law.stacked(parts))


def _values_of(law: FittedLaw, at: Any) -> tuple[str, list[Any]]:
    """The covariate or private predictor of `at`, and the values that all are set to."""
    remedy = 'must be one covariate with its values, such as {"age": [20, 40, 60]}'
    if not isinstance(at, Mapping) or len(at) != 1 or not isinstance(next(iter(at)), str):
        raise InvalidArgument("at", at, remedy)
    ((name, wanted),) = at.items()
    where = f"at[{name!r}]"
    column = None if name in law.questions else covariate(law, name, "at")
    values = as_series(where, [wanted] if np.ndim(wanted) == 0 else wanted).tolist()
    if not 0 < len(values) <= _MOST_GROUPS or len(set(map(str, values))) < len(values):
        raise InvalidArgument(where, wanted, f"must be 1 to {_MOST_GROUPS} different values")
    if column is not None and pd.api.types.is_numeric_dtype(column.dtype):
        if not np.isfinite(numbers(where, values, "must be finite numbers")).all():
            raise InvalidArgument(where, wanted, "must be finite numbers")
        return name, values
    known = law.answers(name) if column is None else list(pd.unique(column.dropna()))
    if unknown := [value for value in values if value not in known]:
        raise InvalidArgument(where, unknown[0], f"is none of its values, which are {known[:10]}")
    return name, values


def _groups(law: FittedLaw, by: Any) -> tuple[list[Any], str, Array]:
    """Labels of the groups, their name, and the group of each respondent."""
    data, n, formula = law.data, law.data.n, law.data.formula
    if isinstance(by, str):
        name = str.__str__(by)
        values = covariate(law, name)
    else:  # a label for each respondent, or for each row of the table
        values = as_series("by", pd.Series(by) if isinstance(by, pd.Categorical) else by)
        if len(values) != n and formula is not None and len(values) == formula.kept.size:
            values = values[formula.kept]
        if len(values) != n:
            remedy = f"must be the name of a covariate, or a label for each of the {n} respondents"
            raise InvalidArgument("by", f"{len(values)} labels", remedy)
        name = str(values.name if values.name is not None else "group")
    absent = missing_entries("by", values)
    if absent.any():
        remedy = "must be given for each respondent: make a group of those without"
        raise InvalidArgument("by", f"{int(absent.sum())} missing labels", remedy)
    try:
        codes, labels = pd.factorize(values)
    except Exception:  # lists, and what cannot be compared
        remedy = "must be labels of groups: texts, numbers or categories"
        raise InvalidArgument("by", name, remedy) from None
    if len(labels) > _MOST_GROUPS:
        remedy = (
            f"has {len(labels):,} different values, and {_MOST_GROUPS} groups are the most: pass "
            "the groups, such as pandas.cut(age, 4)"
        )
        raise InvalidArgument("by", name, remedy)
    if isinstance(getattr(values, "dtype", None), pd.CategoricalDtype):
        order = np.argsort(pd.Index(values.dtype.categories).get_indexer(labels))
    else:
        try:
            order = np.argsort(np.asarray(labels), kind="stable")
        except Exception:  # of several types
            order = np.arange(len(labels))
    place = np.argsort(order)
    if (place < 0).any() or len(codes) != data.n:
        raise InvalidArgument("by", name, f"must have a label for each of {data.n} respondents")
    return [labels[g] for g in order], name, place[codes]


# -- marginal effects --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class MarginalEffects(Averages):
    """Marginal effects on the true answers, with standard errors by the delta method.

    Attributes
    ----------
    margeff : array, shape (m,), or (m, k) for k categories
        Of two categories those on success. With ``at="all"``, (n, m) or (n, m, k).
    names : list of str
        What each of the m effects is of.
    at, method : str
    """

    _format: ClassVar[str] = "ldpstats-marginal-effects"
    _version: ClassVar[int] = 1

    margeff: npt.NDArray[np.float64]
    names: list[str]
    at: str
    method: str
    law: FittedLaw
    found: Average | None

    def __repr__(self) -> str:
        return f"MarginalEffects({_NAMES[self.method]} of {self.law.subject}, at={self.at!r})"

    @property
    def margeff_options(self) -> dict[str, str]:
        """What was asked for."""
        return {"at": self.at, "method": self.method}

    @property
    def index(self) -> pd.Index[Any]:
        labels = self.law.labels
        if labels is None:
            return pd.Index(self.names)
        pairs = [(label, name) for label in labels for name in self.names]
        return pd.MultiIndex.from_tuples(pairs, names=["endog", "exog"])

    @property
    def _unit(self) -> str:
        return _NAMES[self.method]

    _head = _unit

    def _shaped(self, values: Array, name: str) -> Any:
        return _by_category(values, self.law)

    @property
    def margeff_cov(self) -> Array:
        """Covariance of the effects, those on the first category first."""
        return self._estimated[1]

    @property
    def margeff_se(self) -> Array:
        """Standard errors, shaped as `margeff`."""
        return np.asarray(self.bse)

    def conf_int(self, alpha: float = 0.05) -> Array:
        """Wald intervals, shape (m, 2), or (m, 2, k) for k categories."""
        ends = self._bounds(level(alpha)).T
        return np.stack([_by_category(end, self.law) for end in ends], axis=1)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """The effects as a table, with the columns of statsmodels.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.

        Returns
        -------
        DataFrame
            A row for each effect; of several categories indexed by "endog", the category, and
            "exog".
        """
        frame = self._tidy(level(alpha))
        heads = ["Std. Err.", "z", "Pr(>|z|)", "Conf. Int. Low", "Cont. Int. Hi."]
        columns = ["estimate", "std_error", "t", "p_value", "lower", "upper"]
        return frame[columns].set_axis([_NAMES[self.method], *heads], axis=1)

    def _heading(self) -> Heading:
        name = f"Marginal effects on {one_line(self._subject, LONGEST_LABEL)}"
        return name, [("Method:", self._unit)], [("At:", self.at)]

    def _interval_notes(self, *of: Any) -> list[str]:
        note = "Effects on the true answers; covariates are as in the sample, Wald by delta method."
        if self.law.questions:
            note += " Averages over the private predictors use their estimated law."
        return [note]


def _by_category(values: Array, law: FittedLaw) -> Array:
    """Values of categories after one another as columns; one alone as it is."""
    k = len(law.shown)
    return np.asarray(values if k == 1 else values.reshape(k, -1).T)


def margins_of(
    law: FittedLaw, at: Any, method: Any, atexog: Any, dummy: Any, count: Any
) -> MarginalEffects:
    """Marginal effects; see `RegressionResults.get_margeff`."""
    method = one_of("method", method.lower() if isinstance(method, str) else method, (*_NAMES,))
    at = one_of("at", at.lower() if isinstance(at, str) else at, _AT)
    dummy, count = boolean("dummy", dummy), boolean("count", count)
    law.refuse_incomplete("margins")
    # private predictors that are factors: name, question, category and reference
    factors = []
    for question in law.questions:
        if question in law.data.names:
            continue  # it is a number
        reference, *others = law.answers(question)
        for answer in others:
            usual = f"{question}[T.{answer}]"
            name = usual if usual in law.data.names else f"{question}[{answer}]"
            factors.append((name, question, answer, reference))
    discrete = dummy or count or bool(factors)
    if discrete and method.endswith("ex"):
        remedy = "is a derivative by a logarithm, which discrete covariates have none of: use "
        raise InvalidArgument("method", method, f"{remedy}'dydx' or 'eydx'")
    if (dummy or count) and at in ("median", "zero"):
        remedy = "is no value of dummies and counts: use 'overall' or 'mean'"
        raise InvalidArgument("at", at, remedy)
    if atexog is None:
        points = law.distinct if at == "overall" else law.rows
    elif isinstance(atexog, Mapping):
        points = with_values(law, law.rows, atexog)
    else:
        points = _given_rows(law, atexog)
    if at not in ("overall", "all"):
        points = typical_row(points, at)
    # columns that have effects
    X = law.data.designs[0]
    kinds = {}
    for j, name in enumerate(law.data.names):
        if law.constant[j] or (law.private[j] and name not in law.questions):
            continue
        column = (
            np.concatenate([one[:, j] for one in law.data.designs]) if law.private[j] else X[:, j]
        )
        low, high = column.min(), column.max()
        whole = bool((column == np.floor(column)).all())
        is_dummy = whole and low == 0.0 and high == 1.0
        kinds[j] = "slope"
        if dummy and is_dummy:
            kinds[j] = "dummy"
        elif count and whole and low >= 0.0 and not is_dummy:
            kinds[j] = "count"
    names = [law.data.names[j] for j in kinds] + [name for name, *_ in factors]
    if at == "all":
        each = _each_effect(law, points, kinds, factors, method)
        return MarginalEffects(each, names, at, method, law, None)
    effects = _average_effect(law, points, kinds, factors, method)
    return MarginalEffects(_by_category(effects.value, law), names, at, method, law, effects)


def _given_rows(law: FittedLaw, atexog: Any) -> Points:
    """Rows of covariates as the caller gave them."""
    if law.questions:
        remedy = "must be a dict of public covariates: the model has private predictors"
        raise InvalidArgument("atexog", atexog, remedy)
    X, _ = new_covariates(law.data, "atexog", atexog)
    if not len(X) or np.isnan(X).any():
        remedy = "must have one row at least, none with a missing value"
        raise InvalidArgument("atexog", f"{len(X)} rows", remedy)
    rows = law.rows
    same = len(X) == rows.n
    return law.points(
        [X], None, rows.designs[0].offset if same else None, rows.weights if same else None
    )


def _steps(
    law: FittedLaw, points: Points, kinds: Mapping[int, str], factors: Sequence[Any]
) -> list[tuple[int, Points, Points, float]]:
    """Place, the two kinds of rows and the divisor of each effect that is a difference."""
    steps = []
    for place, (j, kind) in enumerate(kinds.items()):
        if kind == "dummy":
            steps.append((place, with_column(points, j, 1.0), with_column(points, j, 0.0), 1.0))
        elif kind == "count":
            up, down = (with_column(points, j, by, added=True) for by in (1.0, -1.0))
            steps.append((place, up, down, 2.0))
    for place, (_, question, answer, reference) in enumerate(factors, start=len(kinds)):
        there = law.answered(points, question, answer)
        steps.append((place, there, law.answered(points, question, reference), 1.0))
    return steps


def _average_effect(
    law: FittedLaw, points: Points, kinds: Mapping[int, str], factors: Sequence[Any], method: str
) -> Average:
    """Average effects, those on the first category that is shown first."""
    k, m = len(law.shown), len(kinds) + len(factors)
    value, gradient = np.zeros((k, m)), np.zeros((k, m, law.theta.size))
    slopes = [(i, j) for i, (j, kind) in enumerate(kinds.items()) if kind == "slope"]
    derivatives = marginal_effects(points, law.theta, [j for _, j in slopes], method)
    if slopes:
        places, shape = [i for i, _ in slopes], (-1, len(slopes))
        value[:, places] = derivatives.value.reshape(shape)[law.shown]
        gradient[:, places] = derivatives.gradient.reshape(*shape, law.theta.size)[law.shown]
    of = means(points.outcome, method.startswith("ey"))
    for place, up, down, divisor in _steps(law, points, kinds, factors):
        gap = average(up, law.theta, of) - average(down, law.theta, of)
        value[:, place] = gap.value[law.shown] / divisor
        gradient[:, place] = gap.gradient[law.shown] / divisor
    return Average(value.ravel(), gradient.reshape(k * m, law.theta.size))


def _each_effect(
    law: FittedLaw, points: Points, kinds: Mapping[int, str], factors: Sequence[Any], method: str
) -> Array:
    """Effects in each row, (n, m), or (n, m, k) for several categories."""
    k, m = len(law.shown), len(kinds) + len(factors)
    value = np.zeros((points.n, k, m))
    slopes = [(i, j) for i, (j, kind) in enumerate(kinds.items()) if kind == "slope"]
    if slopes:
        derivatives = effects_of_rows(points, law.theta, [j for _, j in slopes], method)
        value[:, :, [i for i, _ in slopes]] = derivatives[:, law.shown]
    beta, of = law.theta[: points.n_outcome], means(points.outcome, method.startswith("ey"))
    chances = points.law(law.theta)
    for place, up, down, divisor in _steps(law, points, kinds, factors):
        for c, (one, other) in enumerate(zip(up.designs, down.designs, strict=True)):
            gap = of(one.eta(beta))[0] - of(other.eta(beta))[0]
            value[:, :, place] += chances[:, c, None] * gap[:, law.shown] / divisor
    return np.asarray(value[:, 0] if k == 1 else value.transpose(0, 2, 1))
