"""The law of the true answers that a regression has estimated, and whether reports agree with it.

`FittedLaw` is what predictions and margins rest on. `goodness_of_fit` compares reports with it: by
Pearson's chi-square where covariates repeat, else by sums in groups of equal fitted probability, as
Hosmer and Lemeshow, with covariance ``spread - slopes A slopes'``, A the inverse information.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, did_you_mean, level, numbers, positive_integer, record
from ldpstats.documents import array_from_json, array_to_json, number_to_json
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.regression import (
    Points,
    average,
    means,
    pearson,
    quadratic_form,
    row_means,
    score_groups,
)
from ldpstats.inference.tests import TestResult
from ldpstats.labels import Codes, Labels, Mask
from ldpstats.likelihood.predictors import stacked_indicators
from ldpstats.likelihood.regression import (
    Binary,
    Categorical,
    Mixed,
    Normal,
    Ordered,
    Poisson,
    Separate,
    alike,
    predictors_of,
)
from ldpstats.models.regression.formulas import Design, as_frame, columns_of, configurations_of
from ldpstats.models.regression.hypotheses import t_quantile
from ldpstats.models.regression.structure import (
    Assembled,
    Grouping,
    RegressionData,
    has_listed_reports,
    new_covariates,
    outcome_of,
    sandwich_meat,
)

Devices = tuple[Sequence[Array], Sequence[Array]]  # channels, (k, l), and derivatives, (m, k, l)

_WORDS = ("name", "mechanism", "method", "penalty", "cov_type")  # facts that are text
NUMBERS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
_PER_CELL = 5.0  # reports in a cell, at least on average of the rarest
_PER_SUM = 20.0  # respondents for each sum whose covariance is estimated
_STEP = 1e-6  # of slopes, of the range of a number
_MOST_CHANNELS = 3  # whose reports have cells of their own


@record
class FittedLaw:
    """The law of the true answers, by the estimated parameters.

    `assembled` has the likelihood over distinct rows, None of a law that was read from a document,
    which has no respondents; `df` are degrees of freedom of t quantiles, None for normal ones.
    """

    data: RegressionData
    assembled: Assembled | None
    theta: Array
    covariance: Array
    df: float | None

    # -- rows ----------------------------------------------------------------------------------

    @property
    def n_outcome(self) -> int:
        """Number of parameters of the outcome, the spread of a number included."""
        return predictors_of(self.data.outcome, self.data.designs[0]).size

    @property
    def respondents(self) -> Assembled:
        """The likelihood over distinct rows; refused where there are none."""
        if self.assembled is None:
            raise NotAvailable(
                "a document has no respondents to average over: pass rows to predict for, exog= of "
                "predict(), newdata= of predictions(), comparisons() and slopes(), or fit the "
                "model to the reports again"
            )
        return self.assembled

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What there is once: mechanisms, epsilon, and numbers of respondents."""
        data = self.data
        return {
            "name": self.subject,
            "mechanism": "; ".join(dict.fromkeys(map(str, data.mechanisms()))),
            "epsilon": data.epsilon,
            "nobs": int(data.times.sum()),
            "n_missing": data.n_missing,
        }

    def to_dict(self) -> dict[str, Any]:
        """The law without respondents, as JSON values."""
        data, outcome = self.data, self.data.outcome
        groups: dict[str, Any] = {}
        if isinstance(outcome, Mixed):
            assert data.groups is not None
            groups = {"groups": data.groups.name, "average": outcome.average}
            outcome = outcome.within
        family = outcome.link if isinstance(outcome, Binary) else type(outcome).__name__.lower()
        facts = self.facts.items()
        return {
            "family": "linear" if isinstance(outcome, Normal) else family,
            "response": data.response_name,
            "categories": None if data.categories is None else data.categories.tolist(),
            "covariates": list(data.names),
            "theta": array_to_json(self.theta),
            "covariance": array_to_json(self.covariance),
            "df": None if self.df is None else number_to_json(float(self.df)),
            "design": None if data.formula is None else data.formula.to_dict(),
            "facts": {k: number_to_json(v) if isinstance(v, float) else v for k, v in facts},
            **groups,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> FittedLaw:
        """Read what `to_dict` wrote."""
        labels, design = document["categories"], document["design"]
        names = document["covariates"]
        if not all(isinstance(one, str) for one in (*names, document["response"])):
            raise InvalidArgument("document", names, "are names that are no text")
        formula = None if design is None else Design.from_dict(design)
        private = () if formula is None else formula.private
        if formula is not None and len(formula.chosen) != len(names):
            raise InvalidArgument("document", names, "are not the columns of its formula")
        categories: Labels | None = None
        if labels is not None:
            categories = pd.Index(labels, dtype=None if isinstance(labels[0], int) else object)
        grouping = document.get("groups")
        outcome: Any = outcome_of(document["family"], len(labels or ()), grouping is not None)
        if grouping is not None:
            outcome = replace(outcome, average=bool(document["average"]))
            grouping = Grouping(str(grouping), (), np.zeros(0, dtype=np.int64), 0)
        configurations = configurations_of(private)
        data = RegressionData(
            outcome=outcome,
            response=None,
            designs=(np.zeros((0, len(names))),) * len(configurations),
            names=tuple(names),
            categories=categories,
            response_name=document["response"],
            predictors={column.name: () for column in private},
            configurations=configurations,
            formula=formula,
            groups=grouping,
        )
        theta, V = (array_from_json(document[key]) for key in ("theta", "covariance"))
        df = document["df"]
        law = cls(data, None, theta, V, None if df is None else float(NUMBERS.get(df, df)))
        if theta.ndim != 1 or V.shape != (theta.size, theta.size) or theta.size < law.n_outcome:
            raise InvalidArgument("document", theta.shape, "are not the parameters of its model")
        law.__dict__["facts"] = facts_from_json(document["facts"])
        return law

    def refuse_incomplete(self, what: str) -> None:
        """Refuse averages over private predictors whose law nobody estimated."""
        if len(self.data.designs) > 1 and len(self.theta) <= self.n_outcome:
            raise NotAvailable(
                f"{what}: corrected scores estimate no law of the private predictors to average "
                "over: use fit(method='mle'), or predict(exog) with columns of their values"
            )

    @cached_property
    def distinct(self) -> Points:
        """The distinct rows of the respondents, with weights that sum to one."""
        whole = self.respondents.likelihood
        weights = whole.weights / whole.weights.sum()
        return replace(whole, weights=weights, seen=None, B=None)

    @cached_property
    def rows(self) -> Points:
        """The rows of the respondents in order, with weights that sum to one."""
        data, weights = self.data, self.respondents.weights
        marginal = None if data.marginal is None else data.marginal.to_numpy()
        return self.points(data.designs, marginal, data.offset, weights / weights.sum())

    def points(
        self,
        matrices: Sequence[Array],
        marginal: Array | None = None,
        offset: Array | None = None,
        weights: Array | None = None,
    ) -> Points:
        """Other rows, with one matrix for each configuration, or one alone."""
        n, outcome = len(matrices[0]), self.data.outcome
        law = None if marginal is None else Separate(marginal, len(matrices) - 1)
        designs = tuple(predictors_of(outcome, X, offset) for X in matrices)
        weights = np.full(n, 1.0 / max(n, 1)) if weights is None else weights
        return Points(outcome, designs, None, weights, marginal=law)

    # -- covariates ----------------------------------------------------------------------------

    @cached_property
    def table(self) -> pd.DataFrame:
        """The public columns of the respondents; of a model without a formula their covariates."""
        if self.data.formula is not None:
            public: pd.DataFrame = self.data.formula.public
            return public
        return pd.DataFrame(self.data.designs[0], columns=list(self.data.names))

    @cached_property
    def constant(self) -> Mask:
        """Which covariates are the same for all."""
        designs = self.data.designs
        return np.asarray(np.all([(X == designs[0][0]).all(axis=0) for X in designs], axis=0))

    @cached_property
    def private(self) -> Mask:
        """Which covariates change with the private predictors."""
        designs = self.data.designs
        return np.asarray(np.any([(X != designs[0]).any(axis=0) for X in designs], axis=0))

    @property
    def questions(self) -> list[str]:
        """The private predictors."""
        return list(self.data.predictors)

    def answers(self, question: str) -> list[Any]:
        """The categories of a private predictor."""
        at = self.questions.index(question)
        return list(dict.fromkeys(one[at] for one in self.data.configurations))

    def configurations_with(self, question: str, answer: Any) -> list[int]:
        """The configurations in which a private predictor has this value."""
        at = self.questions.index(question)
        return [c for c, one in enumerate(self.data.configurations) if one[at] == answer]

    def answered(self, points: Points, question: str, answer: Any) -> Points:
        """All respondents with this value of a private predictor, the law of the others as is."""
        at, every = self.questions.index(question), list(map(tuple, self.data.configurations))
        changed = [every.index((*labels[:at], answer, *labels[at + 1 :])) for labels in every]
        return replace(points, designs=tuple(points.designs[c] for c in changed))

    # -- outcome -------------------------------------------------------------------------------

    @property
    def labels(self) -> Labels | None:
        """Categories whose probabilities are shown; None for one number."""
        return self.data.categories if len(self.shown) > 1 else None

    @property
    def shown(self) -> list[int]:
        """Which of the means are shown: of two categories the second, success."""
        outcome = self.data.outcome
        if isinstance(outcome, Binary):
            return [1]
        return list(range(outcome.k)) if isinstance(outcome, Categorical) else [0]

    @property
    def subject(self) -> str:
        """What a mean is, in words."""
        name = self.data.response_name
        if isinstance(self.data.outcome, Binary):
            assert self.data.categories is not None
            return f"P({name} = {self.data.categories[1]})"
        return f"P({name})" if isinstance(self.data.outcome, Categorical) else f"mean of {name}"

    @property
    def unit(self) -> str:
        """What an axis of means shows."""
        return self.subject if self.labels is None else "probability"

    def quantile(self, alpha: float) -> float:
        """The two-sided quantile of the normal or t distribution."""
        return float(t_quantile(level(alpha), self.df))

    def intervals(self, mean: Array, se: Array, alpha: float) -> tuple[Array, Array]:
        """Limits of means: on the logit scale for probabilities, on the log scale for rates."""
        q = self.quantile(alpha)
        if isinstance(self.data.outcome, Normal):
            return mean - q * se, mean + q * se
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if isinstance(self.data.outcome, Poisson):
                spread = np.exp(q * se / mean)
                return mean / spread, mean * spread
            odds = mean / (1.0 - mean)
            spread = np.exp(q * se / (mean * (1.0 - mean)))
            lower, upper = odds / (odds + spread), odds * spread / (1.0 + odds * spread)
        upper = np.where(np.isinf(spread) & (mean > 0.0), 1.0, upper)
        sure = (se == 0.0) | (((mean <= 0.0) | (mean >= 1.0)) & ~np.isnan(se))  # rounded
        return np.where(sure, mean, lower), np.where(sure, mean, upper)


def facts_from_json(document: Mapping[str, Any]) -> dict[str, Any]:
    """Facts whose numbers have their names where JSON lacks them."""
    return {k: v if k in _WORDS else NUMBERS.get(v, v) for k, v in document.items()}


# -- rows that predictions are for -------------------------------------------------------------


@record
class Rows:
    """Rows that predictions are for, the respondents or another table, and others made of them.

    `every` has their covariates by name, `place` says which of the distinct rows each of them is,
    and `weights` what each counts, both (n,). Of the distinct rows `table` has the covariates,
    `points` the design matrices, and weights that sum to one.
    """

    law: FittedLaw
    every: pd.DataFrame
    place: Codes
    weights: Array
    table: pd.DataFrame
    points: Points

    @classmethod
    def of(cls, law: FittedLaw, newdata: Any = None) -> Rows:
        """The rows of a table without missing values, or the respondents."""
        data, own = law.data, law.data.formula
        if newdata is None:
            points, table = law.rows, law.table
            columns = list(table) if own is None else own.columns
            codes = [np.zeros(points.n), *(pd.factorize(table[name])[0] for name in columns)]
            more = [one for one in (data.offset, data.marginal) if one is not None]
            kinds = alike([*codes, *map(np.asarray, more)])
            if kinds is not None:
                first, place = kinds
                weights = np.bincount(place, points.weights, len(first))
                some = points.take(first, weights)
                return cls(law, table, place, points.weights, table.iloc[first], some)
        else:
            table = _as_table("newdata", newdata)
            points, whole, index = new_rows(law, table, None, "newdata")
            if not whole.size or not whole.all():
                lost = f"{int((~whole).sum()):,} of {whole.size:,} rows with a missing value"
                raise InvalidArgument(
                    "newdata", lost, "must have a row at least, all of them whole"
                )
            if own is None:
                table = pd.DataFrame(points.designs[0].X, index, columns=list(data.names))
            elif not isinstance(table, pd.DataFrame):
                table = as_frame("newdata", table, columns_of("newdata", table)[1])
        return cls(law, table, np.arange(points.n), points.weights, table, points)

    @property
    def covariates(self) -> list[str]:
        """What may be set to a value: columns on the right of a formula, and private predictors."""
        if self.law.data.formula is not None:
            return [*self.law.data.formula.columns, *self.law.questions]
        names = list(map(str, self.table))
        return [name for name in names if self.values(name).nunique() > 1] or names

    def known(self, argument: str, name: Any) -> str:
        """The name of one of the covariates."""
        covariates = self.covariates
        if not isinstance(name, str) or name not in covariates:
            remedy = f"is no covariate, of which there are {', '.join(covariates[:10])}"
            raise InvalidArgument(argument, name, remedy + did_you_mean(name, covariates))
        return str.__str__(name)

    def is_private(self, name: str) -> bool:
        """Whether a covariate is a private predictor whose values the table does not have."""
        return name in self.law.questions and name not in self.table

    def values(self, name: str) -> Any:
        """The values of a public covariate, those of the respondents where there are any."""
        own = self.law.table
        return (own if len(own) and name in own else self.every)[name]

    def is_number(self, name: str) -> bool:
        """Whether a covariate is a number, and no category as in C(kids)."""
        formula = self.law.data.formula
        if name in self.law.questions:
            (column,) = (one for one in formula.private if one.name == name)
            return column.values is not None and column.values.dtype.kind != "b"
        dtype = self.values(name).dtype
        if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
            return False
        text = "" if formula is None else formula.formula.text
        return re.search(rf"\bC\(\s*{re.escape(name)}\s*[,)]", text) is None

    def levels(self, name: str) -> list[Any]:
        """The distinct values of a covariate, in the order of its categories or sorted."""
        if name in self.law.questions:
            return self.law.answers(name)
        column = self.values(name).dropna()
        if not len(self.law.table) and self.law.data.formula is not None:
            known: list[Any] = self.law.data.formula.levels(name)  # in a document, those of the fit
            if known:
                return known
        there = list(pd.unique(column))
        if isinstance(column.dtype, pd.CategoricalDtype):
            there = [one for one in column.dtype.categories if one in set(there)]
        else:
            with suppress(TypeError):  # of several types
                there = sorted(there)
        return [one.item() if isinstance(one, np.generic) else one for one in there]

    def at(self, values: Mapping[str, Any], step: tuple[str, Any] | None = None) -> Points:
        """All rows with these values of some covariates, then one number moved by a step.

        The law of the private predictors stays that of the rows as they are.
        """
        law, points, formula = self.law, self.points, self.law.data.formula
        public = {name: one for name, one in values.items() if not self.is_private(name)}
        if public or step is not None:
            columns = {name: _column(self.table[name], one) for name, one in public.items()}
            table = self.table.assign(**columns)
            if formula is not None:
                try:
                    matrices = formula.exog(table, "newdata", step)
                except InvalidArgument as error:
                    if error.name != "formula":
                        raise
                    name = step[0] if step is not None else ", ".join(public)
                    remedy = (
                        f"moves to where the formula has no value ({error.remedy}): a spline ends "
                        "where the respondents' values do; choose values among theirs, or slopes()"
                    )
                    raise InvalidArgument("covariate", name, remedy) from None
            else:
                if step is not None:
                    table[step[0]] = table[step[0]] + step[1]
                matrices = [table.to_numpy(dtype=np.float64)]
            designs = [replace(d, X=X) for d, X in zip(points.designs, matrices, strict=True)]
            points = replace(points, designs=tuple(designs))
        for name in values.keys() - public.keys():
            points = law.answered(points, name, values[name])
        return points

    def toward(
        self, name: str, values: Mapping[str, Any], elastic: bool
    ) -> tuple[Points, list[Array]]:
        """All rows with these values, and how their design matrices change with one number.

        By differences, which do not leave the range of the respondents, where splines end. The
        changes are by the number's logarithm where they are `elastic`.
        """
        points, x = self.at(values), np.ones(self.points.n)
        up = down = np.full(points.n, _STEP)
        if name not in self.law.questions:
            own = self.table[name].to_numpy(float)
            x = np.full(points.n, float(values[name])) if name in values else own
            seen = self.values(name).to_numpy(float)
            up = down = _STEP * np.full(points.n, float(np.ptp(seen)) or 1.0)
            if len(self.law.table) and np.ptp(seen):
                up = np.where((x <= seen.max()) & (x + up > seen.max()), 0.0, up)
                down = np.where((x >= seen.min()) & (x - down < seen.min()), 0.0, down)

        def change(share: float) -> list[Array]:
            above, below = (self.at(values, (name, share * way)) for way in (up, -down))
            per = (x if elastic else 1.0) / (share * (up + down))
            pairs = zip(above.designs, below.designs, strict=True)
            return [(one.X - other.X) * per[:, None] for one, other in pairs]

        along, closer = change(1.0), change(0.5)
        most = max(np.abs(one).max(initial=0.0) for one in along)
        gap = max(np.abs(a - b).max(initial=0.0) for a, b in zip(along, closer, strict=True))
        if gap > 0.1 * most or (most == 0.0 and points.n):
            remedy = "moves in steps in the formula, which have no slope: use "
            remedy += f"comparisons({{{name!r}: [VALUE, VALUE]}})"
            raise InvalidArgument("variables", name, remedy)
        return points, along


def _column(own: pd.Series[Any], value: Any) -> pd.Series[Any]:
    """A value in all rows, in the type of a column if that holds it: 20.5 is no int."""
    column, dtype = pd.Series([value] * len(own), index=own.index), own.dtype
    if isinstance(dtype, np.dtype) and len(column):
        with np.errstate(all="ignore"), suppress(TypeError, ValueError, OverflowError):
            there = column.iloc[:1].astype(dtype)
            if there.iloc[0] == column.iloc[0]:
                return column.astype(dtype)
    return column


def new_rows(
    law: FittedLaw, exog: Any = None, offset: Any = None, argument: str = "exog"
) -> tuple[Points, Mask, Labels]:
    """Rows to predict for without a missing value, which of all they are, and labels of all."""
    data, own = law.data, law.data.formula
    marginal: Any = None
    shift: Any = None
    if exog is None:
        matrices, marginal, shift = list(data.designs), data.marginal, data.offset
        known = pd.RangeIndex(len(law.respondents.place))
        index = known if own is None else own.index
    else:
        exog = _as_table(argument, exog)
        is_frame = isinstance(exog, pd.DataFrame)
        is_table = is_frame or hasattr(exog, "__arrow_c_stream__")
        if own is not None and is_table and not isinstance(exog, pd.Series):
            matrices = own.exog(exog, argument)
            index = exog.index if is_frame else pd.RangeIndex(len(matrices[0]))
        elif law.questions:
            remedy = "must be a table with the public columns of the formula"
            raise InvalidArgument(argument, type(exog).__name__, remedy)
        else:
            X, index = new_covariates(data, argument, exog)
            matrices = [X]
        if len(matrices) > 1:
            marginal = own.marginal(exog, argument)
    n = len(matrices[0])
    if offset is not None:
        values = offset.to_numpy() if isinstance(offset, pd.Series) else offset
        remedy = f"must be a number, or {n} numbers, one for each row"
        shift = numbers("offset", values, remedy)
        if shift.shape not in ((), (n,)) or np.isinf(shift).any():
            raise InvalidArgument("offset", offset, remedy)
        shift = np.broadcast_to(shift, (n,))
    if len(matrices) > 1:
        law.refuse_incomplete("predict")
    there = [np.asarray(one) for one in (marginal, shift) if one is not None]
    missing = [np.isnan(one).any(axis=tuple(range(1, one.ndim))) for one in (*matrices, *there)]
    whole = ~np.any(missing, axis=0)
    points = law.points(
        [one[whole] for one in matrices],
        None if marginal is None else np.asarray(marginal)[whole],
        None if shift is None else shift[whole],
    )
    return points, whole, index


def _as_table(argument: str, exog: Any) -> Any:
    """A mapping of columns as a table; others as they are."""
    if not isinstance(exog, Mapping):
        return exog
    try:
        return pd.DataFrame(dict(exog))
    except ValueError:
        remedy = 'must have columns of one length, such as {"age": [20, 40, 60]}'
        raise InvalidArgument(argument, dict(exog), remedy) from None


def typical_row(points: Points, at: str) -> Points:
    """One row: the "mean", "median" or "zero" of the covariates; constants stay."""

    def one(values: Array) -> Array:
        first = values[0]
        same = (values == first).all(axis=0)
        if at == "mean":
            middle = points.weights @ values / points.weights.sum()
        elif at == "median":
            w, order = points.weights, np.argsort(values, axis=0, kind="stable")
            below = np.cumsum(w[order], axis=0) / w.sum()
            # the middle of two values where half the weight is below
            halves = [(below < half).sum(axis=0) for half in (0.5 - 1e-12, 0.5 + 1e-12)]
            ends = np.minimum(halves, len(values) - 1)
            middle = np.take_along_axis(np.sort(values, axis=0), ends, axis=0).mean(axis=0)
        else:
            middle = np.zeros(first.shape)
        return np.asarray(np.where(same, first, middle))[None, :]

    def row(design: Any) -> Any:
        offset = None if design.offset is None else one(design.offset[:, None])[0]
        return replace(design, X=one(design.X), offset=offset)

    return replace(
        points,
        designs=tuple(map(row, points.designs)),
        marginal=None if points.marginal is None else row(points.marginal),
        weights=np.ones(1),
    )


# -- goodness of fit ---------------------------------------------------------------------------


def goodness_of_fit(results: Any, groups: Any) -> TestResult:
    """Goodness of fit; see `RegressionResults.goodness_of_fit`."""
    most, fault = positive_integer("groups", groups, 2), ""
    sample = results.model.data.sample
    in_units = sample is not None and sample.stages and sample.stages[0].unit is not None
    if not isinstance(results.model.data.outcome, Categorical):
        fault = "it is for categories, and the outcome is a number"
    elif results.method == "corrected":
        fault = "corrected scores fit no law of the reports: use method='mle'"
    elif results.infinite:
        fault = "the estimate is at infinity: use that of fit(penalty='jeffreys')"
    elif results.cov_type == "cluster" or in_units:
        fault = "reports of one cluster are not independent: use a fit without clusters"
    if fault:
        raise NotAvailable(f"goodness_of_fit: {fault}")
    table = ReportTable(results.law, results.devices)
    if table.is_counted and not results.law.questions and results.cov_type == "nonrobust":
        test = _patterns(results, table)
        if test is not None:
            return test
    return _grouped(results, table, most)


def _patterns(results: Any, table: ReportTable) -> TestResult | None:
    """Pearson's test where covariates repeat often enough; None where they do not."""
    data, whole, law = results.model.data, results.law.respondents, results.law
    channel, codes = table.at[whole.place], table.codes[whole.place]
    columns = [data.designs[0], channel]
    kinds = alike(columns if data.offset is None else [*columns, data.offset])
    if kinds is None:
        return None
    first, place = kinds
    sizes = np.bincount(place, whole.weights, len(first))
    mean = row_means(law.rows.take(first), law.theta)[0]
    seen, expected = [], []
    df = -law.theta.size - len(table.slopes[0])
    for h, Q in enumerate(table.channels):
        at, inside = channel[first] == h, channel == h
        counts = np.zeros((len(first), Q.shape[1]))
        np.add.at(counts, (place[inside], codes[inside]), whole.weights[inside])
        seen.append(counts[at].ravel())
        expected.append((sizes[at, None] * (mean[at] @ Q)).ravel())
        df += int(at.sum()) * (Q.shape[1] - 1)
    every = np.concatenate(expected)
    if every.min() < 1.0 or np.mean(every >= 5.0) < 0.8:  # Cochran's rule
        return None
    if df <= 0:
        raise NotAvailable(
            "goodness_of_fit: the model has as many coefficients as the table of covariates and "
            "reports has cells, and fits any: there is nothing to test"
        )
    statistic = pearson(np.concatenate(seen), every)
    how = f"Pearson chi-square of the reports, {len(first)} patterns of covariates"
    return TestResult.chi_square(_null(results), statistic, float(df), how)


def _grouped(results: Any, table: ReportTable, most: int) -> TestResult:
    """The test in groups of equal fitted probability."""
    from scipy.linalg import block_diag

    likelihood, law = results.law.respondents.likelihood, results.law
    outcome = results.model.data.outcome
    # reports of unknown devices are given to nobody: what they say of predictors is estimated too
    points = replace(likelihood, seen=None, B=None if results.devices else likelihood.B)
    mean = row_means(points, law.theta)[0]
    k, shares = mean.shape[1], law.distinct.weights
    score = 1.0 - mean[:, 0]  # not the reference
    if isinstance(outcome, Ordered):
        score = mean @ np.arange(k)
    room = results.nobs / (_PER_SUM * (k - 1))
    if table.is_counted:  # enough in each cell
        rarest = min(float((shares @ mean @ Q).min()) for Q in table.channels)
        room = results.nobs * rarest / (_PER_CELL * len(table.channels))
    if room < 2.0:
        raise NotAvailable(
            f"goodness_of_fit: {results.nobs:,} reports leave fewer than two groups with enough in "
            "each cell: join rare categories"
        )
    code = score_groups(score, likelihood.weights, int(min(most, room)))
    groups, robust = int(code.max()) + 1, not table.is_counted or results.cov_type != "nonrobust"
    gaps, spreads, slopes, placed = [], [], [], []
    for g in range(groups):
        for h, Q in enumerate(table.channels):
            rows = np.flatnonzero((code == g) & (table.at == h))
            if not rows.size:
                continue
            some, last = points.take(rows), Q.shape[1] - 1  # cells sum to one
            w, cells = some.weights, mean[rows] @ Q
            gap = (table.seen(rows, h) - cells)[:, :last]
            gaps.append(w @ gap)
            covariance = np.diag(w @ cells) - (cells * w[:, None]).T @ cells
            spreads.append(covariance[:last, :last])
            by_theta = average(some, law.theta, means(outcome)).gradient
            by_devices = np.einsum("n,nk,mkl->lm", w, mean[rows], table.slopes[h])
            slopes.append(np.hstack([Q.T @ by_theta, by_devices])[:last])
            if robust:  # what each row adds to the sums
                placed.append(np.zeros((points.n, last)))
                placed[-1][rows] = gap
    slope, spread = np.vstack(slopes), block_diag(*spreads)
    A = np.asarray(results.covariance_all)  # inverse of the observed information
    free = np.isfinite(np.diagonal(A)) | (not results.devices)  # devices on the boundary are not
    A = A[np.ix_(free, free)]
    if results.cov_type != "nonrobust":
        A = np.linalg.inv(-results.hessian[np.ix_(free, free)])
    V = spread - slope @ A @ slope.T
    if robust:
        scores, each = results.model.likelihood.score_obs(results.theta), np.hstack(placed)
        influence = each - scores[:, free] @ A @ slope.T
        how = results.model.data, law.respondents, results.cov_type
        V, spread = sandwich_meat(*how, influence), sandwich_meat(*how, each)
    statistic, df = quadratic_form(np.concatenate(gaps), V, spread)
    if not df:
        raise NotAvailable(
            "goodness_of_fit: the coefficients fit the groups whatever the reports are: there is "
            "nothing to test"
        )
    what = "reports" if table.is_counted else "decoded answers"
    words = f"chi-square of the {what} in {groups} groups of fitted probability"
    return TestResult.chi_square(_null(results), statistic, float(df), words)


def _null(results: Any) -> str:
    """The null hypothesis in words."""
    names = ", ".join(results.model.exog_names[:8])
    more = ", ..." if len(results.model.exog_names) > 8 else ""
    return f"the true answers to {results.model.endog_names} follow the model in {names}{more}"


class ReportTable:
    """What was reported, as cells, or as decoded answers where reports have too many values.

    Of a `FittedLaw` or a model, and of `devices` with unknown parameters. `codes`, (u,), are the
    cells of the reports of distinct rows, `channels[at]` their channels, (k, l), and `slopes` the
    derivatives of these by the parameters, (m, k, l); `phi`, (u, k), are decoded answers, or None.
    """

    def __init__(self, law: Any, devices: Devices | None = None) -> None:
        data, whole = law.data, law.assembled
        first = np.unique(whole.place, return_index=True)[1]
        self.phi: Array | None = None
        self.at = self.codes = np.zeros(len(first), dtype=np.int64)
        k = len(data.categories)
        self.slopes = [np.zeros((0 if devices is None else len(devices[1][0]), k, k))]
        self.channels = [np.eye(k)]
        if not data.is_private:
            self.codes = np.asarray(data.response)[first]
            return
        listed = all(
            has_listed_reports(group.mechanism) and group.mechanism.n_outputs <= 2 * k
            for group in data.response
        )
        if listed and len(data.response) <= _MOST_CHANNELS:
            self.channels, self.slopes, codes = [], [], []
            for g, group in enumerate(data.response):
                Q = group.mechanism.channel().matrix() if devices is None else devices[0][g]
                Q = np.asarray(Q, dtype=np.float64)
                there = Q.any(axis=0) | (devices is not None)
                self.channels.append(Q[:, there])
                by_devices = np.zeros((0, *Q.shape)) if devices is None else devices[1][g]
                self.slopes.append(by_devices[:, :, there])
                codes.append((np.cumsum(there) - 1)[np.asarray(group.y)])
            sizes = [len(group) for group in data.response]
            self.codes = np.concatenate(codes)[first]
            self.at = np.repeat(np.arange(len(sizes)), sizes)[first]
            return
        if devices is not None:
            raise NotAvailable(
                "the reports of devices with unknown parameters have too many values, or there are "
                f"more than {_MOST_CHANNELS} groups, so that they cannot be counted in cells"
            )
        candidates = data.candidates.get(data.response_name)
        self.phi = stacked_indicators(data.response, whole.weights, candidates)[0][first]

    @property
    def is_counted(self) -> bool:
        """Whether there are cells."""
        return self.phi is None

    def seen(self, rows: Codes, channel: int) -> Array:
        """What was reported in some rows: indicators of cells, or decoded answers."""
        if self.phi is not None:
            return self.phi[rows]
        return np.eye(self.channels[channel].shape[1])[self.codes[rows]]
