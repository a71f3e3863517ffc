"""Average predictions of the true answers, in all and by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers, one_of
from ldpstats.arguments.labels import as_series, missing_entries
from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import InvalidArgument
from ldpstats.inference.regression.margins import Average, Points, average, means, ones
from ldpstats.models.regression.answers.fitted_law import FittedLaw
from ldpstats.models.regression.answers.held import with_column
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    distinct_lines,
    figures,
    interval_columns,
    one_line,
)

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = ["AveragePredictions", "average_predictions", "covariate", "set_to"]

Array = npt.NDArray[Any]

_MOST_GROUPS = 50


@dataclass(frozen=True, eq=False, repr=False)
class AveragePredictions:
    """Average predictions of the true answers, with intervals by the delta method.

    Attributes
    ----------
    groups : list
        Labels of the groups; one, "all", where there are none.
    by : str
        What the groups are of; "" where there are none.
    kind : {"within", "adjusted"}
    frame : DataFrame
        "mean", "se", "lower" and "upper", a row for each group and, of several categories, for
        each category.
    """

    groups: list[Any]
    by: str
    kind: str
    alpha: float
    law: FittedLaw = field(repr=False)
    found: Average = field(repr=False)

    def __repr__(self) -> str:
        return f"{self.law.subject}, {self._words}\n{self.frame}"

    def _repr_html_(self) -> str:
        return str(self.summary().as_html())

    @property
    def _words(self) -> str:
        if not self.by:
            return "average over the respondents"
        how = "by group" if self.kind == "within" else "all respondents set to each value"
        return f"average {how} ({self.by})"

    @property
    def means(self) -> Array:
        """The averages, shape (groups, categories)."""
        return self.found.value.reshape(len(self.groups), -1)

    @property
    def cov(self) -> Array:
        """Their covariance, groups after one another."""
        return self.found.covariance(self.law.covariance)

    @property
    def frame(self) -> pd.DataFrame:
        """The averages with standard errors and intervals."""
        return self.summary_frame(self.alpha)

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """The averages with standard errors and intervals of another level."""
        mean = self.found.value
        se = np.sqrt(np.maximum(np.diagonal(self.cov), 0.0))
        table = np.column_stack([mean, se, *self.law.intervals(mean, se, alpha)])
        columns = ["mean", "se", "lower", "upper"]
        return pd.DataFrame(table, index=self._index(self.groups), columns=columns)

    @names_alpha
    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals: on the logit scale for probabilities, the log scale for rates."""
        return self.summary_frame(alpha)[["lower", "upper"]]

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

    @names_alpha
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
        table = np.column_stack([gaps.value, se, z, self.law.pvalues(z), *ends])
        labels = [f"{self.groups[b]} - {self.groups[a]}" for b, a in pairs]
        columns = ["difference", "se", "z", "p_value", "lower", "upper"]
        return pd.DataFrame(table, index=self._index(labels), columns=columns)

    @names_alpha
    def summary(self, alpha: float | None = None) -> Summary:
        """The averages as text, `as_html()` or `as_latex()`."""
        alpha = self.alpha if alpha is None else alpha
        frame = self.summary_frame(alpha)
        held = "covariates" if self.kind == "within" else "other covariates"
        stubs = [
            ": ".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in frame.index
        ]
        return SummaryTable(
            title=f"Average predictions of {one_line(self.law.subject, LONGEST_LABEL)}",
            header=[["Groups:", self.by or "none", "Kind:", self.kind]],
            columns=["mean", "std err", *interval_columns(alpha)],
            stubs=distinct_lines(stubs, LONGEST_LABEL),
            body=[figures(row, 4) for row in frame.to_numpy()],
            notes=[
                f"Averages over the respondents and their weights, whose {held} are as in the "
                "sample; standard errors by the delta method."
            ],
        ).layout()

    def _index(self, groups: Sequence[Any]) -> pd.Index[Any]:
        """Labels of the rows."""
        labels, name = self.law.labels, self.by or None
        found: pd.Index[Any]
        if labels is None:
            found = pd.Index(groups, name=name, tupleize_cols=False)
            return found
        if not self.by:
            found = pd.Index(labels, name=self.law.data.response_name)
            return found
        pairs = [(group, label) for group in groups for label in labels]
        return pd.MultiIndex.from_tuples(pairs, names=[name, self.law.data.response_name])


def average_predictions(
    law: FittedLaw, by: Any, alpha: Any, kind: Any, at: Any = None
) -> AveragePredictions:
    """Average predictions; see `RegressionResults.predictions`."""
    law.quantile(alpha)
    kind = one_of("kind", kind, ("within", "adjusted"))
    law.refuse_incomplete("predictions")
    if at is not None:
        if by is not None:
            raise InvalidArgument("at", at, "goes without by=, which takes groups as they are")
        by, chosen = _chosen(law, at)
        kind = "adjusted"
    of = means(law.data.outcome)

    def mean(points: Points) -> Average:
        return average(points, law.theta, of)

    groups: list[Any]
    if by is None:
        groups, name, parts = ["all"], "", [mean(law.distinct)]
    elif isinstance(by, str) and by in law.questions:
        groups, name = law.answers(by) if at is None else chosen, by
        parts = [_of_answer(law, by, answer, kind) for answer in groups]
    elif at is not None:
        groups, name, parts = chosen, by, [mean(set_to(law, by, value)) for value in chosen]
    else:
        groups, name, codes = _groups(law, by)
        if kind == "within":
            parts = [mean(_inside(law, codes == g)) for g in range(len(groups))]
        elif not isinstance(by, str):
            remedy = "'adjusted' sets all respondents to each group: pass by= the name of a "
            raise InvalidArgument("kind", kind, f"{remedy}covariate, not labels")
        else:
            parts = [mean(set_to(law, by, value)) for value in groups]
    R = np.eye(len(parts[0].value))[law.shown]
    found = Average.stacked([part.times(R) for part in parts])
    return AveragePredictions(groups, name, kind, float(alpha), law, found)


def _chosen(law: FittedLaw, at: Any) -> tuple[str, list[Any]]:
    """The covariate or private predictor of `at`, and the values that all are set to."""
    remedy = 'must be one covariate with its values, such as {"age": [20, 40, 60]}'
    if not isinstance(at, Mapping) or len(at) != 1 or not isinstance(next(iter(at)), str):
        raise InvalidArgument("at", at, remedy)
    ((name, given),) = at.items()
    where = f"at[{name!r}]"
    column = None if name in law.questions else covariate(law, name, "at")
    values = as_series(where, [given] if np.ndim(given) == 0 else given).tolist()
    if not 0 < len(values) <= _MOST_GROUPS or len(set(map(str, values))) < len(values):
        raise InvalidArgument(where, given, f"must be 1 to {_MOST_GROUPS} different values")
    if column is not None and pd.api.types.is_numeric_dtype(column.dtype):
        if not np.isfinite(numbers(where, values, "must be finite numbers")).all():
            raise InvalidArgument(where, given, "must be finite numbers")
        return name, values
    known = law.answers(name) if column is None else list(pd.unique(column.dropna()))
    if unknown := [value for value in values if value not in known]:
        raise InvalidArgument(where, unknown[0], f"is none of its values, which are {known[:10]}")
    return name, values


def _of_answer(law: FittedLaw, question: str, answer: Any, kind: str) -> Average:
    """The average of those with a private answer, or of all if they had it."""
    points, of = law.distinct, means(law.data.outcome)
    if kind == "adjusted":
        return average(law.answered(points, question, answer), law.theta, of)
    some = law.configurations_with(question, answer)
    share = average(points, law.theta, ones, some)
    return average(points, law.theta, of, some) / share


def _inside(law: FittedLaw, inside: Array) -> Points:
    """The distinct rows, with the weights of some respondents."""
    whole = law.assembled
    weights = np.bincount(whole.place[inside], whole.weights[inside], law.distinct.n)
    there = weights > 0.0
    return replace(law.distinct.take(there), weights=weights[there] / weights.sum())


def _groups(law: FittedLaw, by: Any) -> tuple[list[Any], str, Array]:
    """Labels of the groups, their name, and the group of each respondent."""
    data = law.data
    if isinstance(by, str):
        name = str.__str__(by)
        values = covariate(law, name)
    else:
        values = _labels(law, by)
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


def covariate(law: FittedLaw, name: Any, argument: str = "by") -> Any:
    """The values of a public covariate."""
    formula, data = law.data.formula, law.data
    name = str.__str__(name) if isinstance(name, str) else type(name).__name__
    public = None if formula is None else formula.public
    if public is not None and name in public.columns:
        return public[name]
    if name in data.names and not law.private[list(data.names).index(name)]:
        return pd.Series(data.designs[0][:, list(data.names).index(name)], name=name)
    known = [*([] if public is None else public.columns), *law.questions]
    known = list(map(str, known)) or list(data.names)
    remedy = f"is no covariate, of which there are {', '.join(known[:10])}"
    raise InvalidArgument(argument, name, remedy + did_you_mean(name, tuple(known)))


def _labels(law: FittedLaw, by: Any) -> Any:
    """Labels of groups as given: one for each respondent, or for each row of the table."""
    n, formula = law.data.n, law.data.formula
    values = as_series("by", pd.Series(by) if isinstance(by, pd.Categorical) else by)
    if len(values) != n and formula is not None and len(values) == formula.kept.size:
        values = values[formula.kept]
    if len(values) != n:
        remedy = f"must be the name of a covariate, or a label for each of the {n} respondents"
        raise InvalidArgument("by", f"{len(values)} labels", remedy)
    return values


def set_to(law: FittedLaw, name: str, value: Any) -> Points:
    """All respondents with one value of a public covariate."""
    formula, data = law.data.formula, law.data
    if formula is None or formula.public is None or name not in formula.public.columns:
        return with_column(law.distinct, list(data.names).index(name), float(value))
    table = formula.public
    column = pd.Series([value] * len(table), index=table.index)
    same = _in_type(column, table[name].dtype)
    matrices = formula.exog(table.assign(**{name: same}))
    own = law.rows
    designs = [replace(d, X=X) for d, X in zip(own.designs, matrices, strict=True)]
    return replace(own, designs=tuple(designs))


def _in_type(column: pd.Series[Any], dtype: Any) -> pd.Series[Any]:
    """One value, in the type of the respondents' column if that holds it: 20.5 is no int."""
    if not isinstance(dtype, np.dtype) or not len(column):
        return column
    with np.errstate(all="ignore"):
        try:
            there = column.iloc[:1].astype(dtype)
        except (TypeError, ValueError, OverflowError):
            return column
    return column.astype(dtype) if there.iloc[0] == column.iloc[0] else column
