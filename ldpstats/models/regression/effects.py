"""Predictions of the true answers, their averages by group, and effects of covariates.

All are means over rows of the outcome's mean by `FittedLaw`, averaged over the law of private
predictors: predictions of rows as they are, or set to values; comparisons, of two such averages;
slopes, where rows move along a covariate as the formula moves them. Standard errors are by the
delta method. Marginal effects are those of statsmodels, of single columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    Array,
    boolean,
    did_you_mean,
    level,
    listed,
    numbers,
    one_of,
    record,
    replicates,
)
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.regression import (
    Average,
    Function,
    Points,
    average,
    means,
    ones,
    rates,
    row_means,
)
from ldpstats.labels import Mask, as_series, missing_entries
from ldpstats.likelihood.regression import Categorical, Multinomial, Ordered
from ldpstats.models.layout import (
    LONGEST_LABEL,
    Body,
    Cells,
    Heading,
    Table,
    joined,
    one_line,
)
from ldpstats.models.regression.fitted import FittedLaw, Rows, new_rows, typical_row
from ldpstats.models.regression.formulas import names_of
from ldpstats.models.regression.hypotheses import Degrees, WaldResults
from ldpstats.models.regression.structure import new_covariates
from ldpstats.models.results import linear_hypothesis
from ldpstats.models.storage import Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary


_AT = ("overall", "mean", "median", "zero", "all")
_NAMES = {"dydx": "dy/dx", "eyex": "d(lny)/d(lnx)", "dyex": "dy/d(lnx)", "eydx": "d(lny)/dx"}
_MOST_GROUPS = 50
_MOST_ROWS = 1000
# functions that make several columns of a number, and codings that mix categories
_SEVERAL = {"bs", "cc", "cr", "cs", "poly", "te", "Diff", "Helmert", "Poly", "Sum"}


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
    alpha = level(alpha)
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
    made = Predicted(table, index=index, columns=["mean", "se", "lower", "upper"])
    made.alpha, made.intervals = alpha, law.intervals
    return made


class Predicted(Table):
    """Predictions with standard errors and intervals of a level `alpha`."""

    _metadata: ClassVar[list[str]] = ["alpha", "intervals"]
    alpha: float
    intervals: Callable[[Array, Array, float], tuple[Array, Array]]

    def summary_frame(self, alpha: float | None = None) -> pd.DataFrame:
        """The same, with intervals of another level."""
        mean, se = self["mean"].to_numpy(), self["se"].to_numpy()
        ends = self.intervals(mean, se, self.alpha if alpha is None else level(alpha))
        return self.to_frame().assign(lower=ends[0], upper=ends[1])


def _among_all(values: Array, whole: Mask) -> Array:
    """Values of the whole rows among all, others NaN."""
    if whole.all():
        return values
    filled = np.full((whole.size, *values.shape[1:]), np.nan)
    filled[whole] = values
    return filled


# -- averages, and what they are compared by ---------------------------------------------------


class Averages(Stored, WaldResults):
    """Averages by a fitted law, whose covariance is by the delta method."""

    law: FittedLaw
    found: Average | None
    _head, _noun = "mean", "estimates"

    def __len__(self) -> int:
        return len(self.index)

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

    def _table_facts(self) -> dict[str, Any]:
        return self.law.data.design_facts

    @property
    def _rows_index(self) -> pd.Index[Any]:
        """Labels of rows in plots and summaries."""
        return self.index

    def plot(
        self, ax: Axes | None = None, alpha: float = 0.05, most: int = 40, title: str | None = None
    ) -> Any:
        """Draw the estimates with their intervals; of several labels a panel for each of the first.

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
        frame = frame.set_axis(["params", "lower", "upper"], axis=1).set_axis(self._rows_index)
        title = title_text(title, self._heading()[0])
        return draw_estimates(frame, self._unit, alpha, most, ax, title, self._null)

    _null: float | None = 0.0  # where plots have a line


@dataclass(frozen=True, eq=False, repr=False)
class GroupedAverages(Averages):
    """Averages in groups, of terms where there are several, and of categories.

    Values of `found` and `draws`, (R, m), are on the scale on which intervals are made: groups
    after one another, in each the terms, and in each of these the categories.
    """

    groups: list[Any] = field(metadata={"read": lambda groups: list(map(_as_label, groups))})
    names: tuple[str, ...]  # what the groups are of
    terms: tuple[str, ...]
    kind: str  # "within" groups, "adjusted" to values, or of "rows"
    measure: str  # what each number is
    alpha: float
    law: FittedLaw
    found: Average
    draws: npt.NDArray[np.float64] | None
    given: bool | None = field(
        default=None, metadata={"later": True}
    )  # whether averages are over newdata

    @property
    def by(self) -> str:
        """What the groups are of; "" where there are none."""
        return ", ".join(filter(None, self.names))

    @cached_property
    def index(self) -> pd.Index[Any]:
        levels: list[tuple[str, Sequence[Any]]] = [("term", self.terms)] if self.terms else []
        if self.law.labels is not None:
            levels.append((self.law.data.response_name or "category", list(self.law.labels)))
        names: list[str | None] = [name or None for name in self.names] or [None]
        rows = [group if len(self.names) > 1 else (group,) for group in self.groups]
        if not self.names and levels:
            names, rows = [], [()]
        for name, labels in levels:
            names.append(name)
            rows = [(*row, label) for row in rows for label in labels]
        if len(names) > 1:
            return pd.MultiIndex.from_tuples(rows, names=[name or "row" for name in names])
        index: pd.Index[Any] = pd.Index(
            [one for (one,) in rows], name=names[0], tupleize_cols=False
        )
        return index

    @property
    def _rows_index(self) -> pd.Index[Any]:
        """The labels without what is the same in all rows, groups with what they are of."""
        index = self.index
        if isinstance(index, pd.MultiIndex):
            # not what is compared: the sign of a difference is in it
            first = int(bool(self.names) and self.measure in _SIGNS)
            same = [i for i, codes in enumerate(index.codes) if i >= first and not np.ptp(codes)]
            index = index.droplevel(same if len(same) < index.nlevels else same[1:])
        if not isinstance(index, pd.MultiIndex):
            return index
        pairs = []
        for *first, last in index:
            texts = [
                str(label) if name == "term" else f"{name} = {label}"
                for name, label in zip(index.names[:-1], first, strict=True)
            ]
            pairs.append((", ".join(texts), last))
        return pd.MultiIndex.from_tuples(pairs)

    @property
    def frame(self) -> pd.DataFrame:
        """The estimates with standard errors and intervals."""
        return self.summary_frame(self.alpha)

    def _hypothesis(self, hypothesis: Any) -> tuple[Array, Array]:
        return linear_hypothesis(hypothesis, pd.Index(joined(self.index, ":"), tupleize_cols=False))

    def summary(
        self, alpha: float | None = None, max_rows: int = 40, details: bool = False
    ) -> Summary:
        """The estimates as text, `as_html()` or `as_latex()`; by default of the level asked for."""
        return super().summary(self.alpha if alpha is None else alpha, max_rows, details)

    def _body(self, shown: pd.DataFrame, heads: list[str], cells: list[list[str]]) -> Body:
        index = self._rows_index[: len(shown)]
        if index.name == "term" and all(": " in label for label in index):  # blocks of variables
            index = pd.MultiIndex.from_tuples([label.partition(": ")[::2] for label in index])
        shown = shown.set_axis(index)
        return super()._body(shown, heads, cells)

    def _natural(self) -> tuple[Average, Array | None]:
        """Estimates and draws as they are shown."""
        _, _, shown, slope = _SCALES[self.measure]
        value = self.found.value
        draws = None if self.draws is None else shown(self.draws)
        return self.found.mapped(shown(value), slope(value)), draws

    @property
    def _estimated(self) -> tuple[Array, Array]:
        natural, _ = self._natural()
        return natural.value, natural.covariance(self.law.covariance)

    def _bounds(self, alpha: float) -> Array:
        if self.draws is not None:  # equal-tailed
            ends = np.quantile(self.draws, [level(alpha) / 2.0, 1.0 - alpha / 2.0], axis=0)
        else:
            V = self.found.covariance(self.law.covariance)
            half = self.law.quantile(alpha) * np.sqrt(np.maximum(np.diagonal(V), 0.0))
            ends = np.stack([self.found.value - half, self.found.value + half])
        return np.asarray(_SCALES[self.measure][2](ends).T)

    def _interval_notes(self, *of: Any) -> list[str]:
        note = "Averages over the respondents and their weights"
        if self.kind == "rows":
            note = "Estimates for the rows of newdata"
        elif self.given:
            note = "Averages over the rows of newdata"
        how = "standard errors by the delta method"
        if self.draws is not None:
            how += f", intervals from {len(self.draws):,} draws of the parameters"
        return [f"{note}; {how}."]

    # -- contrasts of groups -------------------------------------------------------------------

    _comparisons: ClassVar[tuple[str, ...]] = ("difference", "ratio")

    def contrasts(self, reference: Any = None, comparison: str = "difference") -> Effects:
        """Comparisons of groups, as results that can be tested and drawn.

        Parameters
        ----------
        reference : label, optional
            The group that others are compared with; by default each pair is compared.
        comparison : {"difference", "ratio", "odds_ratio", "lift"}
            As for `RegressionResults.comparisons`; of effects "difference" or "ratio".

        Returns
        -------
        Effects
            Of the later group against the earlier one, or the reference.

        Raises
        ------
        InvalidArgument
            If there are no groups, or the reference is none of them.
        """
        comparison = one_of("comparison", comparison, self._comparisons)
        if len(self.groups) < 2:
            remedy = "is one group: pass by= or at= to compare several"
            raise InvalidArgument("by", self.by, remedy)
        places = range(len(self.groups))
        pairs = [(b, a) for a, b in combinations(places, 2)]
        if reference is not None:
            first = self._place(reference)
            pairs = [(b, first) for b in places if b != first]
        of = np.eye(len(places))
        R = np.kron([of[b] - of[a] for b, a in pairs], np.eye(len(self.index) // len(self.groups)))
        natural, draws = self._natural()
        found = _scaled(natural, comparison).times(R)
        if draws is not None:
            draws = _SCALES[comparison][0](draws) @ R.T
        texts = list(map(str, self.groups))
        if len(self.names) > 1:
            texts = [f"({', '.join(map(str, group))})" for group in self.groups]
        sign = _SIGNS[comparison]
        labels = [f"{texts[b]} {sign} {texts[a]}" for b, a in pairs]
        how = self.kind, comparison, self.alpha, self.law, found, draws, self.given
        return Effects(labels, (self.by or "row",), self.terms, *how)

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
        """Differences between groups as a table; `contrasts` has them as results.

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
        return self.contrasts(reference).summary_frame(alpha)


@dataclass(frozen=True, eq=False, repr=False)
class AveragePredictions(GroupedAverages):
    """Average predictions of the true answers, with intervals by the delta method.

    Attributes
    ----------
    groups : list
        Labels of the groups, tuples of several covariates; one, "all", where there are none.
    by : str
        What the groups are of; "" where there are none.
    kind : {"within", "adjusted", "rows"}
    frame : DataFrame
        "mean", "se", "lower" and "upper", a row for each group and, of several categories, for
        each category.
    """

    _format: ClassVar[str] = "ldpstats-average-predictions"
    _version: ClassVar[int] = 1
    _comparisons = ("difference", "ratio", "odds_ratio", "lift")
    _null = None

    def __repr__(self) -> str:
        rows = "rows of newdata" if self.given else "respondents"
        words = "each row" if self.kind == "rows" else f"average over the {rows}"
        if self.by and self.kind != "rows":
            how = "by group" if self.kind == "within" else f"all {rows} set to each value"
            words = f"average {how} ({self.by})"
        return f"{self.law.subject}, {words}\n{self.frame}"

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
        """nan: that an average is zero is no hypothesis of interest; see `contrasts`."""
        return self._shaped(np.full(len(self.index), np.nan), "pvalues")

    def _bounds(self, alpha: float) -> Array:
        if self.draws is not None:
            return super()._bounds(alpha)
        return np.column_stack(self.law.intervals(self.found.value, self.bse.to_numpy(), alpha))

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """The averages with standard errors and intervals of another level.

        Intervals are made on the logit scale for probabilities, on the log scale for rates.
        """
        frame = self._tidy(level(alpha))[["estimate", "std_error", "lower", "upper"]]
        return frame.set_axis(["mean", "se", "lower", "upper"], axis=1)

    def _heading(self) -> Heading:
        name = f"Average predictions of {one_line(self._subject, LONGEST_LABEL)}"
        return name, [("Groups:", self.by or "none")], [("Kind:", self.kind)]

    def _estimate_cells(self, *of: Any) -> Cells:
        heads, cells, words = super()._estimate_cells(*of)  # that they are zero is not tested
        return [*heads[:2], *heads[4:]], [[*row[:2], *row[4:]] for row in cells], words

    def _interval_notes(self, *of: Any) -> list[str]:
        (note,) = super()._interval_notes(*of)
        if self.kind == "rows":
            return [note]
        others = "covariates" if self.kind == "within" else "other covariates"
        as_in = "as given" if self.given else "as in the sample"
        return [note.replace(";", f", whose {others} are {as_in};", 1)]


@dataclass(frozen=True, eq=False, repr=False)
class Effects(GroupedAverages):
    """Effects of covariates on the true answers: comparisons, slopes, and contrasts of groups.

    Attributes
    ----------
    measure : str
        "difference", "ratio", "odds_ratio" or "lift"; of slopes "dydx", "eyex", "dyex" or "eydx".
    terms : tuple of str
        What is compared, such as "age: +10" or "city: b - a".
    groups : list
        Labels of the groups, tuples of several covariates; one, "all", where there are none.
    by : str
        What the groups are of; "" where there are none.
    kind : {"within", "adjusted", "rows"}
        Whether averages are over the groups, at chosen values, or of the rows of `newdata`.
    frame : DataFrame
        The `measure`, "se", "z", "p_value", "lower" and "upper", a row for each group, term and, of
        several categories, category.
    """

    _format: ClassVar[str] = "ldpstats-effects"
    _version: ClassVar[int] = 1

    def __repr__(self) -> str:
        return str(self.summary())

    @property
    def tvalues(self) -> Any:
        """Estimates over their standard errors, of ratios on the log scale."""
        variance = np.diagonal(self.found.covariance(self.law.covariance))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = self.found.value / np.sqrt(np.maximum(variance, 0.0))
        return self._shaped(np.where(np.isfinite(z), z, np.nan), "tvalues")

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """The effects as a table, with intervals of another level."""
        columns = ["estimate", "std_error", "t", "p_value", "lower", "upper"]
        heads = [self.measure, "se", "z", "p_value", "lower", "upper"]
        return self._tidy(level(alpha))[columns].set_axis(heads, axis=1)

    @property
    def _head(self) -> str:  # type: ignore[override]
        return _NAMES.get(self.measure, "effect")

    @property
    def _unit(self) -> str:
        return _NAMES.get(self.measure, self.measure.replace("_", " "))

    @property
    def _null(self) -> float:  # type: ignore[override]
        return 1.0 if self.measure in ("ratio", "odds_ratio") else 0.0

    def _heading(self) -> Heading:
        name = f"Effects on {one_line(self._subject, LONGEST_LABEL)}"
        left = [("Effects:", self._unit)]
        if len(self.terms) == 1:
            left.append(("Of:", one_line(self.terms[0], LONGEST_LABEL)))
        return name, left, [("Groups:", self.by or "none")]

    def _interval_notes(self, *of: Any) -> list[str]:
        (note,) = super()._interval_notes(*of)
        if self.measure in ("ratio", "odds_ratio", "lift"):
            what = {"odds_ratio": "Odds ratios are of", "ratio": "Ratios are of"}
            words = what.get(self.measure, "Lifts, ratios less one, are of")
            note += f" {words} averages; tests and intervals are made on the log scale."
        if self.law.questions:
            note += " Averages over private predictors use their estimated law."
        return [note]


def _as_label(group: Any) -> Any:
    """The label of a group in a document: of several covariates a tuple."""
    return tuple(group) if isinstance(group, list) else group


# the scale on which two means are compared, its derivative, what is shown and its derivative
_PLAIN = (np.positive, np.ones_like) * 2
_SCALES: dict[str, Any] = {
    **dict.fromkeys(("mean", "difference", *_NAMES), _PLAIN),
    "ratio": (np.log, np.reciprocal, np.exp, np.exp),
    "lift": (np.log, np.reciprocal, np.expm1, np.exp),
    "odds_ratio": (lambda p: np.log(p / (1 - p)), lambda p: 1 / (p * (1 - p)), np.exp, np.exp),
}
_SIGNS = {"difference": "-", "ratio": "/", "odds_ratio": "/", "lift": "/"}


def _scaled(mean: Average, comparison: str) -> Average:
    """An average on the scale of a comparison."""
    scale, slope, *_ = _SCALES[comparison]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = mean.mapped(scale(mean.value), slope(mean.value))
    if not np.isfinite(found.value).all():
        raise NotAvailable(
            f"comparison={comparison!r} needs averages above zero, and one is "
            f"{mean.value.min():.4g}: use 'difference'"
        )
    return found


# -- what is averaged --------------------------------------------------------------------------

Made = TypeVar("Made", bound="GroupedAverages")
Side = tuple[Points, Sequence[Array] | None]  # rows, and directions in which they move
Sides = Callable[[dict[str, Any]], list[Side]]  # of what other covariates are set to
Group = tuple[Array, list[int] | None]  # weights of rows, and configurations of private predictors


@record
class Question:
    """What is asked of averages: of which rows, in which groups, set to which values.

    `thetas` are the estimated parameters and, for intervals by simulation, others drawn from their
    law.
    """

    rows: Rows
    names: tuple[str, ...]
    labels: list[tuple[Any, ...]]
    groups: list[Group]
    settings: list[dict[str, Any]]
    kind: str
    alpha: float
    thetas: list[Array]
    given: bool = False  # whether averages are over newdata
    typical: bool = False  # whether groups are one row, the mean of their covariates

    @classmethod
    def of(
        cls,
        law: FittedLaw,
        by: Any,
        at: Any,
        newdata: Any,
        alpha: Any,
        rng: Any = None,
        draws: Any = None,
        kind: Any = "within",
    ) -> Question:
        """Read the arguments that predictions, comparisons and slopes share."""
        law.quantile(alpha)
        law.refuse_incomplete("predictions")
        kind = one_of("kind", kind, ("within", "adjusted"))
        rows = Rows.of(law, newdata)
        every = rows.points.weights, None
        names: tuple[str, ...] = ()
        labels: list[tuple[Any, ...]] = [()]
        groups: list[Group] = [every]
        settings = [{}] if at is None else _settings(rows, at)
        if by is not None:
            names, labels, groups = _groups(rows, by)
        elif newdata is not None and at is None:
            index = rows.table.index
            if len(index) > _MOST_ROWS:
                remedy = f"are more than {_MOST_ROWS:,}: pass by=, or see get_prediction"
                raise InvalidArgument("newdata", f"{len(index):,} rows", remedy)
            names, labels = (str(index.name or ""),), [(label,) for label in index]
            kind, groups = "rows", [(own, None) for own in np.eye(len(index))]
        for name in names:
            if name in settings[0]:
                raise InvalidArgument("by", name, "is set by at=: take it from one of them")
        if kind == "adjusted" and by is not None:
            if not all(isinstance(name, str) for name in ([by] if isinstance(by, str) else by)):
                remedy = "'adjusted' sets all respondents to each group: pass by= the name of a "
                raise InvalidArgument("kind", kind, f"{remedy}covariate, not labels")
            own = [dict(zip(names, label, strict=True)) for label in labels]
            settings = [one | other for one in own for other in settings]
            names, labels, groups = (), [()], [every]
        if len(groups) * len(settings) > _MOST_ROWS:
            much = f"{len(groups) * len(settings):,} groups and values"
            raise InvalidArgument("at", much, f"are more than {_MOST_ROWS:,}: use fewer")
        kind = "adjusted" if settings[0] else kind
        thetas = [law.theta, *_drawn(law, rng, draws)]
        whole = names, labels, groups, settings, kind, float(alpha), thetas
        return cls(rows, *whole, given=newdata is not None and kind != "rows")

    def predictions(self) -> AveragePredictions:
        """Average predictions; see `RegressionResults.predictions`."""
        terms: dict[str, Sides] = {"": partial(self._sides, [({}, None)])}
        return self._answer(AveragePredictions, terms, "mean", means(self.rows.law.data.outcome))

    def comparisons(self, variables: Any, comparison: Any, pairs: Any) -> Effects:
        """Comparisons of average predictions; see `RegressionResults.comparisons`."""
        rows, outcome = self.rows, self.rows.law.data.outcome
        comparison = one_of("comparison", comparison, tuple(_SIGNS))
        pairs = boolean("pairs", pairs)
        if comparison == "odds_ratio" and not isinstance(outcome, Categorical):
            remedy = "is of probabilities, and the outcome is a number: use 'difference' or 'ratio'"
            raise InvalidArgument("comparison", comparison, remedy)
        terms: dict[str, Sides] = {}
        for name, asked in _variables(rows, variables).items():
            where, is_number = f"variables[{name!r}]", rows.is_number(name)
            levels = [] if is_number and asked is not None else rows.levels(name)
            if isinstance(asked, list | tuple):
                levels = _values_of(rows, where, name, list(asked))
                if len(levels) != 2:
                    raise InvalidArgument(where, asked, "must be two values, the lower first")
            elif is_number and set(levels) != {0, 1}:
                step = numbers(where, 1.0 if asked is None else asked, _STEPS)
                if step.shape != () or not np.isfinite(step) or not step:
                    raise InvalidArgument(where, asked, _STEPS)
                ways: Any = ({}, (name, float(step))), ({}, None)
                terms[f"{name}: {step:+g}"] = partial(self._sides, ways)
                continue
            elif asked is not None:
                (first,) = _values_of(rows, where, name, asked)
                levels = [first, *(one for one in levels if one != first)]
            if name in self.settings[0]:
                remedy = "is set to values, and compared: leave it out of at"
                raise InvalidArgument("at", name, remedy)
            if len(levels) > _MOST_GROUPS:
                remedy = f"has {len(levels):,} levels, {_MOST_GROUPS} at most: compare two of them"
                raise InvalidArgument("variables", name, f"{remedy}, as {{{name!r}: [low, high]}}")
            for low, high in combinations(levels, 2):
                if pairs or low == levels[0]:
                    ways = ({name: high}, None), ({name: low}, None)
                    label = f"{name}: {high} {_SIGNS[comparison]} {low}"
                    terms[label] = partial(self._sides, ways)
        return self._answer(Effects, terms, comparison, means(outcome))

    def slopes(self, variables: Any, slope: Any) -> Effects:
        """Average slopes; see `RegressionResults.slopes`."""
        slope, rows = one_of("slope", slope, tuple(_NAMES)), self.rows
        if isinstance(variables, Mapping):
            remedy = "must be the name of a number, or several: values belong into at="
            raise InvalidArgument("variables", variables, remedy)
        names, elastic = list(_variables(rows, variables)), slope.endswith("ex")
        if variables is None:
            names = [name for name in names if rows.is_number(name)]
        if not names:
            raise InvalidArgument("variables", None, "the model has no number: use comparisons()")
        for name in names:
            if not rows.is_number(name):
                remedy = f"has categories, and slopes are of numbers: use comparisons({name!r})"
                raise InvalidArgument("variables", name, remedy)
            if elastic and name in rows.law.questions:
                remedy = f"is by the logarithm of {name!r}, which nobody knows: use 'dydx' or "
                raise InvalidArgument("slope", slope, f"{remedy}'eydx'")
        terms: dict[str, Sides] = {name: partial(self._along, name, elastic) for name in names}
        of = rates(rows.law.data.outcome, slope.startswith("ey"))
        return self._answer(Effects, terms, slope, of)

    def _sides(self, ways: Any, values: dict[str, Any]) -> list[Side]:
        """All rows in one or two ways: with other values, or after a step."""
        return [(self.rows.at(values | own, step), None) for own, step in ways]

    def _along(self, name: str, elastic: bool, values: dict[str, Any]) -> list[Side]:
        """Rows that move along a covariate."""
        return [self.rows.toward(name, values, elastic)]

    def _answer(
        self, made: type[Made], terms: Mapping[str, Sides], measure: str, of: Function
    ) -> Made:
        """Averages of the sides of each term; where a term has two, compared by the measure."""
        found: dict[tuple[int, int, int], list[Average]] = {}
        for s, values in enumerate(self.settings):
            for t, sides in enumerate(terms.values()):
                both = sides(values)
                for g, group in enumerate(self.groups):
                    found[g, s, t] = each = []
                    for theta in self.thetas:
                        one, *other = (self._average(side, group, theta, of) for side in both)
                        if other:
                            one = _scaled(one, measure) - _scaled(other[0], measure)
                        each.append(one)
        parts = [found[key] for key in sorted(found)]
        labels: list[Any] = [
            (*label, *values.values()) for label in self.labels for values in self.settings
        ]
        names = (*self.names, *self.settings[0])
        if len(names) < 2:
            labels = [label[0] for label in labels] if names else ["all"]
        draws = None
        if len(self.thetas) > 1:
            draws = np.hstack([[one.value for one in each[1:]] for each in parts])
        estimate = Average.stacked([each[0] for each in parts])
        how = self.kind, measure, self.alpha, self.rows.law, estimate, draws, self.given or None
        return made(labels, names, tuple(filter(None, terms)), *how)

    def _average(self, side: Side, group: Group, theta: Array, of: Function) -> Average:
        """The average in a group, of the means that are shown."""
        (points, along), (weights, chosen) = side, group
        there = np.flatnonzero(weights)
        points = points.take(there, weights[there] / weights.sum())
        along = None if along is None else [one[there] for one in along]
        points = typical_row(points, "mean") if self.typical else points
        found = average(points, theta, of, chosen, along)
        if chosen is not None:
            found = found / average(points, theta, ones, chosen)
        return found[self.rows.law.shown]


def _drawn(law: FittedLaw, rng: Any, draws: Any) -> list[Array]:
    """Parameters from the normal or t law about the estimate; none without a generator."""
    if rng is None:
        return []
    if not isinstance(rng, np.random.Generator):
        remedy = "must be a numpy Generator, such as numpy.random.default_rng(1)"
        raise InvalidArgument("rng", type(rng).__name__, remedy)
    draws = replicates("draws", draws, 100)
    V, size = law.covariance, law.theta.size
    if not np.isfinite(V).all():
        raise NotAvailable(
            "rng: an estimate is at infinity or on a bound, and has no law to draw from: leave rng "
            "out, or fit with penalty='jeffreys'"
        )
    spread, axes = np.linalg.eigh(V)
    root = axes * np.sqrt(np.maximum(spread, 0.0))
    z = rng.normal(size=(draws, size)) @ root.T
    if law.df is not None and np.isfinite(law.df):
        z /= np.sqrt(rng.chisquare(law.df, size=(draws, 1)) / law.df)
    return list(law.theta + z)


def _settings(rows: Rows, at: Any) -> list[dict[str, Any]]:
    """All combinations of the values of `at`."""
    remedy = 'must be covariates with their values, such as {"age": [20, 40], "sex": ["f", "m"]}'
    if not isinstance(at, Mapping) or not at:
        raise InvalidArgument("at", at, remedy)
    chosen = {rows.known("at", name): wanted for name, wanted in at.items()}
    each = [_values_of(rows, f"at[{name!r}]", name, wanted) for name, wanted in chosen.items()]
    return [dict(zip(chosen, values, strict=True)) for values in product(*each)]


def _values_of(rows: Rows, where: str, name: str, wanted: Any) -> list[Any]:
    """Values that a covariate is set to: numbers, or some of its levels."""
    values = as_series(where, [wanted] if np.ndim(wanted) == 0 else wanted).tolist()
    if not 0 < len(values) <= _MOST_GROUPS or len(set(map(str, values))) < len(values):
        raise InvalidArgument(where, wanted, f"must be 1 to {_MOST_GROUPS} different values")
    if not rows.is_private(name) and rows.is_number(name):
        if not np.isfinite(numbers(where, values, "must be finite numbers")).all():
            raise InvalidArgument(where, wanted, "must be finite numbers")
        return values
    known = rows.levels(name)
    if unknown := [value for value in values if value not in known]:
        raise InvalidArgument(where, unknown[0], f"is none of its values, which are {known[:10]}")
    return values


def _groups(rows: Rows, by: Any) -> tuple[tuple[str, ...], list[tuple[Any, ...]], list[Group]]:
    """Names and labels of groups, and who is in them; of several covariates all combinations."""
    several = isinstance(by, list | tuple) and 0 < len(by) < len(rows.place)
    several = several and all(isinstance(name, str) for name in by)
    each = [_one_grouping(rows, one) for one in (by if several else [by])]
    names = tuple(name for name, _ in each)
    if len(set(names)) < len(names):
        raise InvalidArgument("by", by, "names a covariate twice")
    labels, groups = [], list[Group]()
    for parts in product(*(own.items() for _, own in each)):
        inside = np.logical_and.reduce([rows_of for _, (rows_of, _) in parts])
        weights = np.bincount(rows.place[inside], rows.weights[inside], rows.points.n)
        private = [set(chosen) for _, (_, chosen) in parts if chosen is not None]
        if weights.any():
            labels.append(tuple(label for label, _ in parts))
            groups.append((weights, sorted(set.intersection(*private)) if private else None))
    return names, labels, groups


def _one_grouping(rows: Rows, by: Any) -> tuple[str, dict[Any, tuple[Mask, list[int] | None]]]:
    """The name of a covariate, or of labels of the rows, and who is in the groups that it makes."""
    law, n, formula = rows.law, len(rows.place), rows.law.data.formula
    if isinstance(by, str):
        name = str.__str__(by)
        if rows.is_private(name):
            every, answers = np.ones(n, dtype=bool), law.answers(name)
            return name, {one: (every, law.configurations_with(name, one)) for one in answers}
        if name not in rows.every:
            known = [*map(str, rows.every), *law.questions]
            remedy = f"is no covariate, of which there are {', '.join(known[:10])}"
            remedy += f"{did_you_mean(name, known)}; of another column pass the values, one for "
            raise InvalidArgument("by", name, f"{remedy}each row, as by=table[{name!r}]")
        values: Any = rows.every[name]
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
    return name, {labels[g]: (codes == g, None) for g in order}


_STEPS = "must be how far the number moves, such as 10, or two values, such as [20, 40]"


def _variables(rows: Rows, variables: Any) -> dict[str, Any]:
    """The variables whose effects are asked for, and what is asked of each; all by default."""
    if variables is None and rows.covariates:
        return dict.fromkeys(rows.covariates)
    if variables is None:
        raise InvalidArgument("variables", None, "the model has no covariate")
    asked: Any = variables
    if not isinstance(variables, Mapping):
        remedy = 'must be the name of a covariate, a list of names, or values, as in {"age": 10}'
        one = isinstance(variables, str)
        asked = [variables] if one else listed("variables", variables, remedy)
        asked = {rows.known("variables", name): None for name in asked}
    if not asked:
        raise InvalidArgument("variables", variables, "are none: name a covariate")
    return {rows.known("variables", name): value for name, value in asked.items()}


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
        points = _with_values(law, law.rows, atexog)
    else:
        points = _given_rows(law, atexog)
    if at not in ("overall", "all"):
        points = typical_row(points, at)
    _refuse_shared(law)
    # what each effect is of: rows that move in some directions, or that are compared, by a number
    X, of_means = law.data.designs[0], means(law.data.outcome, method.startswith("ey"))
    names: list[str] = []
    effects: list[tuple[Function, list[Side], float]] = []
    for j, name in enumerate(law.data.names):
        if law.constant[j] or (law.private[j] and name not in law.questions):
            continue
        column = (
            np.concatenate([one[:, j] for one in law.data.designs]) if law.private[j] else X[:, j]
        )
        low, high = column.min(), column.max()
        whole = bool((column == np.floor(column)).all())
        is_dummy = whole and low == 0.0 and high == 1.0
        names.append(name)
        if dummy and is_dummy:
            ends = (_with_column(points, j, value) for value in (1.0, 0.0))
            effects.append((of_means, [(one, None) for one in ends], 1.0))
        elif count and whole and low >= 0.0 and not is_dummy:
            ends = (_with_column(points, j, by, added=True) for by in (1.0, -1.0))
            effects.append((of_means, [(one, None) for one in ends], 2.0))
        else:
            along = [np.zeros_like(design.X) for design in points.designs]
            for direction, design in zip(along, points.designs, strict=True):
                direction[:, j] = design.X[:, j] if method.endswith("ex") else 1.0
            effects.append((rates(points.outcome, method.startswith("ey")), [(points, along)], 1.0))
    for name, question, answer, reference in factors:
        names.append(name)
        both = (law.answered(points, question, one) for one in (answer, reference))
        effects.append((of_means, [(one, None) for one in both], 1.0))
    if at == "all":
        rows = []
        for of, sides, divisor in effects:
            row, *less = (row_means(side, law.theta, None, of, along)[0] for side, along in sides)
            rows.append((row - sum(less))[:, law.shown] / divisor)
        each = np.stack(rows, axis=1)
        each = each[:, :, 0] if len(law.shown) == 1 else each
        return MarginalEffects(each, names, at, method, law, None)
    parts = []
    for of, sides, divisor in effects:
        one, *other = (average(side, law.theta, of, along=along) for side, along in sides)
        gap = one - other[0] if other else one
        parts.append(gap.times(np.eye(len(gap.value))[law.shown] / divisor))
    places = np.arange(len(names) * len(law.shown)).reshape(len(names), -1).T.ravel()
    found = Average.stacked(parts)[places]  # those on the first category first
    return MarginalEffects(_by_category(found.value, law), names, at, method, law, found)


def _refuse_shared(law: FittedLaw) -> None:
    """Refuse effects of single columns where a covariate is in several, as a polynomial's is."""
    formula = law.data.formula
    if formula is None:
        return
    known, terms, seen = {*formula.columns, *law.questions}, formula.formula.terms, set[str]()
    for term in terms:
        words = names_of((term,)).union(*(factor.functions for factor in term))
        names = words & known
        mixed = names if len(names) > 1 or words & _SEVERAL else names & seen
        seen |= names
        if mixed:
            name = min(mixed)
            of = [":".join(f.code for f in one) for one in terms if name in names_of((one,))]
            raise NotAvailable(
                f"get_margeff moves each column of the design alone, and {name!r} has several or "
                f"shares one, {', '.join(of)}: use slopes({name!r}) or comparisons({name!r}), "
                "which move the covariate itself"
            )


def _with_values(law: FittedLaw, points: Points, atexog: Mapping[Any, Any]) -> Points:
    """Rows with other values in some public columns, by name or place."""
    names = list(law.data.names)
    for key, value in atexog.items():
        if isinstance(key, str) and key in names:
            j = names.index(key)
        elif isinstance(key, int | np.integer) and 0 <= key < len(names):
            j = int(key)
        else:
            remedy = f"must be the name or the place of a covariate: {', '.join(names[:8])}"
            raise InvalidArgument("atexog", key, remedy)
        name = f"atexog[{key!r}]"
        if law.private[j]:
            remedy = "changes with a private predictor: predict(exog) has its values as columns"
            raise InvalidArgument("atexog", key, remedy)
        column = numbers(name, value, f"must be a number, or one for each of {points.n} rows")
        if column.shape not in ((), (points.n,)) or not np.isfinite(column).all():
            remedy = f"must be a finite number, or one for each of the {points.n} rows"
            raise InvalidArgument(name, value, remedy)
        points = _with_column(points, j, column)
    return points


def _with_column(points: Points, j: int, value: Any, added: bool = False) -> Points:
    """The rows with another value in a column of all configurations, or moved by it."""
    designs = []
    for design in points.designs:
        X = design.X.copy()
        X[:, j] = X[:, j] + value if added else value
        designs.append(replace(design, X=X))
    return replace(points, designs=tuple(designs))


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
