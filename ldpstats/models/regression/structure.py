"""The data of a regression on privatised answers, as checked arrays, and its likelihood.

`response_data` takes what a caller passes: groups of reports, covariates, weights and clusters.
`assemble` makes the likelihood of `RegressionData` over distinct rows, with the channels that the
expected information of the reports is summed over.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, numbers, record
from ldpstats.errors import IncompleteListWarning, InvalidArgument, NotIdentified
from ldpstats.inference.regression import MOST_CLUSTERS, design_meat
from ldpstats.labels import Codes, Labels, as_series, midpoints, missing_entries
from ldpstats.likelihood.intercepts import GroupedLikelihood
from ldpstats.likelihood.joint import decode
from ldpstats.likelihood.parametric import PolynomialMatrix, crossed
from ldpstats.likelihood.predictors import (
    ParametricRegression,
    constant_column,
    unbiased_indicators,
)
from ldpstats.likelihood.regression import (
    Binary,
    Categorical,
    ExpectedInformation,
    MixedBinary,
    MixedMultinomial,
    Multinomial,
    Normal,
    Ordered,
    Outcome,
    Poisson,
    RegressionLikelihood,
    ReportLaw,
    Seen,
    Separate,
    alike,
    likelihoods,
    predictors_of,
)
from ldpstats.mechanisms.base import common_labels
from ldpstats.models.frequency.results import checked_scores
from ldpstats.models.regression.formulas import plain_numbers
from ldpstats.reports.single import BitCounts, Counts, Reports, not_reports

_ALIASED = 1e-10  # share of a covariate that the others leave, up to which it is one of them
_PLAIN = (str, int, float)  # labels of groups
_SHOWN = 5  # names and rows in messages
_CERTAIN = 3.09  # standard errors of the share of other answers that has p < .001
_MOST_OUTPUTS = 64  # of a channel, whose information is summed over them


# -- what a regression is made of --------------------------------------------------------------


@record
class Grouping:
    """Groups of respondents with intercepts of their own: `labels` of all, (G,), and `codes`, (n,).

    `n_nodes` are those of quadrature along each intercept; `codes` are empty in a document.
    """

    name: str
    labels: tuple[Any, ...]
    codes: Codes
    n_nodes: int

    @classmethod
    def of(cls, name: str, values: object, n: int) -> Grouping:
        """Groups of n respondents from a label of each: two at least, none missing."""
        codes, found = _row_labels(name, values, n)
        # as a document takes them
        labels = np.array([one if isinstance(one, _PLAIN) else str(one) for one in found], object)
        with suppress(TypeError):  # of several types they stay as they come
            order = np.argsort(labels, kind="stable")
            codes, labels = np.argsort(order)[codes], labels[order]
        return cls(name, tuple(labels.tolist()), codes, 0)


@record
class RegressionData:
    """The data of a regression of n respondents, checked.

    `response` are groups of reports whose rows follow one another, or public numbers or category
    codes, (n,). `designs` are the covariates, (n, p) each, in each configuration of the private
    `predictors`; one if there are none. `configurations` are their labels, the last predictor
    fastest, and `marginal` the public covariates, (n, r), of the law of the configurations.
    `counts` are how many respondents a row stands for, `weights` the sampling weights of all of
    these together, (n,) both. `candidates` are the possible answers, where any string is one, and
    `scores` numbers for the categories of a private response of a linear model.
    `n_missing` rows were left out, `formula` makes designs of other tables, and `only_corrected`
    says why there is no likelihood. `sample`, `inside`, `facts` are the complex sample, a cell a
    row, and the cells that the rows here are.
    """

    outcome: Outcome
    response: Any
    designs: Sequence[Array]
    names: Sequence[str]
    categories: Labels | None = None
    response_name: str = "y"
    offset: Array | None = None
    counts: Array | None = None
    weights: Array | None = None
    predictors: Mapping[str, Sequence[Reports]] = field(default_factory=dict)
    configurations: Sequence[tuple[Any, ...]] = ((),)
    marginal: pd.DataFrame | None = None
    candidates: Mapping[str, Any] = field(default_factory=dict)
    scores: Array | None = None
    n_missing: int = 0
    formula: Any = None
    only_corrected: str = ""
    sample: Any = None
    inside: Any = None
    facts: Any = None
    groups: Grouping | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.designs[0])

    @property
    def is_private(self) -> bool:
        """Whether the response is privatised."""
        return isinstance(self.response, Sequence)

    @property
    def is_categorical(self) -> bool:
        """Whether the outcome is one of several categories."""
        return isinstance(self.outcome, Categorical)

    @property
    def times(self) -> Array:
        """How many respondents each row stands for, (n,)."""
        return np.ones(self.n) if self.counts is None else np.asarray(self.counts, np.float64)

    @property
    def mass(self) -> Array:
        """Sampling weights of the rows, or numbers of respondents, (n,)."""
        return self.times if self.weights is None else np.asarray(self.weights, np.float64)

    @property
    def law_of_predictors(self) -> Separate | None:
        """The linear predictors of the law of the private predictors."""
        if self.marginal is None:
            return None
        return Separate(self.marginal.to_numpy(), len(self.designs) - 1)

    @property
    def questions(self) -> list[tuple[str, Sequence[Reports]]]:
        """Names and groups of reports of the private response and predictors."""
        response = [(self.response_name, self.response)] if self.is_private else []
        return [*response, *self.predictors.items()]

    def mechanisms(self) -> list[Any]:
        """All mechanisms, of response and predictors."""
        return [group.mechanism for _, groups in self.questions for group in groups]

    @property
    def epsilon(self) -> float:
        """The largest that a respondent spent on all questions; infinite where there are none."""
        spent = [max(one.mechanism.epsilon for one in groups) for _, groups in self.questions]
        return float(sum(spent)) if spent else float("inf")

    @property
    def design_facts(self) -> dict[str, Any]:
        """The weights or design of respondents, where there are any, for tables of models."""
        if self.facts is not None:
            words = self.facts.design  # which names weights where there is nothing else
            return {"design": words if words.startswith("weights") else f"weights; {words}"}
        return {} if self.weights is None else {"design": "weights"}


class Named:
    """A regression by its names: of response, covariates, equations, thresholds and parameters."""

    data: RegressionData

    if TYPE_CHECKING:  # of models

        @property
        def unknown(self) -> tuple[str, ...]: ...

    @property
    def exog_names(self) -> list[str]:
        """Names of the covariates."""
        return list(self.data.names)

    @property
    def endog_names(self) -> str:
        """Name of the response."""
        return self.data.response_name

    @property
    def categories(self) -> Labels | None:
        """Categories of the outcome."""
        return self.data.categories

    @property
    def equations(self) -> list[str]:
        """Names of the equations of a multinomial logit; one without a name for others."""
        categories = self.data.categories
        if isinstance(self.data.outcome, Multinomial) and categories is not None:
            return [str(label) for label in categories[1:]]
        return [""]

    @property
    def threshold_names(self) -> list[str]:
        """Names of the thresholds between ordered categories, as statsmodels has them."""
        categories = self.data.categories
        if not isinstance(self.data.outcome, Ordered) or categories is None:
            return []
        return [f"{a}/{b}" for a, b in pairwise(categories)]

    @property
    def n_shown(self) -> int:
        """Number of coefficients that results show: all of the outcome but its spread.

        Standard deviations of intercepts are among them. Unknown parameters of devices are shown
        too, after them.
        """
        n = len(self.exog_names) * len(self.equations)
        return n + len(self.threshold_names) + len(self.sd_names)

    @property
    def sd_names(self) -> list[str]:
        """Names of the standard deviations of intercepts of groups, one for each equation."""
        groups = self.data.groups
        if groups is None:
            return []
        return [f"{one}: sd({groups.name})".removeprefix(": ") for one in self.equations]

    @property
    def all_names(self) -> list[str]:
        """A name for each parameter: of the outcome, of private predictors' law, of devices."""
        names = [
            f"{equation}: {name}" if equation else name
            for equation in self.equations
            for name in self.exog_names
        ] + [*self.threshold_names, *self.sd_names]
        if isinstance(self.data.outcome, Normal):
            names.append("log(sigma)")
        if self.data.marginal is not None:
            for labels in self.data.configurations[1:]:
                which = ", ".join(str(label) for label in labels)
                names += [f"P({which}): {name}" for name in self.data.marginal.columns]
        return [*names, *self.unknown]


def response_data(
    model: str,
    reports: object,
    X: object,
    offset: object = None,
    freq_weights: object = None,
    weights: object = None,
    candidates: Any = None,
    scores: Any = None,
) -> RegressionData:
    """The data of a regression of reports on covariates, from what a caller passed."""
    groups: list[Any] = list(reports) if isinstance(reports, list | tuple) else [reports]
    for i, one in enumerate(groups):
        at = "reports" if len(groups) == 1 else f"reports[{i}]"
        if isinstance(one, Counts | BitCounts):
            remedy = "are counts, which have no rows: pass the Reports, one for each row of X"
            raise InvalidArgument(at, one, remedy)
        if not isinstance(one, Reports):
            raise not_reports(at, one, "must be Reports, or a list of them for several groups")
    if not sum(map(len, groups)):
        raise InvalidArgument("reports", reports, "hold no report: there is nothing to fit")
    mechanisms = [group.mechanism for group in groups]
    labels = common_labels(mechanisms, candidates, "groups of one regression")
    k = len(labels)
    if k != 2 and model not in ("multinomial", "ordered", "linear"):
        remedy = (
            f"have {k} categories, and a {model} model is for two: use PrivatizedMNLogit or "
            "PrivatizedOrderedModel, or join categories with ldpstats.Lumped"
        )
        raise InvalidArgument("reports", str(mechanisms[0]), remedy)
    if k < 2 and model != "linear":
        raise InvalidArgument("reports", labels.tolist(), "must have two categories at least")
    n, n_missing = sum(map(len, groups)), sum(group.n_missing for group in groups)
    matrix, names = covariates(X, n, n_missing)
    name = "response"  # or that of the reports, if they are not named as a covariate
    for own in ("answer" if model == "linear" else "y", *(group.name for group in groups[::-1])):
        name = own if own and own not in names else name
    if model == "linear":
        plain = plain_numbers(labels) or midpoints(labels) is not None
        pair = scores is None and k == 2 and not plain
        scores = np.array([0.0, 1.0]) if pair else checked_scores(scores, labels)
    counts = None
    if freq_weights is not None:
        counts = row_weights("freq_weights", freq_weights, n)
        remedy = "must be a whole number of respondents; weights of a survey are weights="
        _refuse_row("freq_weights", counts, counts != np.floor(counts), remedy)
    total = None if weights is None else row_weights("weights", weights, n)
    if total is not None and counts is not None and not (total * counts).any():
        raise InvalidArgument("weights", weights, "are all zero where freq_weights are not")
    return RegressionData(
        outcome=outcome_of(model, k),
        response=groups,
        designs=(matrix,),
        names=names,
        categories=labels,
        response_name=name,
        offset=None if offset is None else row_numbers("offset", offset, n),
        counts=counts,
        weights=total if total is None or counts is None else total * counts,
        candidates={} if candidates is None else {name: candidates},
        scores=scores,
        n_missing=n_missing,
    )


def outcome_of(model: str, k: int, grouped: bool = False) -> Outcome:
    """The law of an outcome by the name of its model; k categories, if it has some.

    If `grouped`, groups have intercepts of their own.
    """
    if grouped:
        return MixedMultinomial(k) if model == "multinomial" else MixedBinary(model)
    if model in ("multinomial", "ordered"):
        return Multinomial(k) if model == "multinomial" else Ordered(k)
    numeric: dict[str, Outcome] = {"linear": Normal(), "poisson": Poisson()}
    return numeric.get(model) or Binary(model)


# -- scores of the answers, each estimated without bias from its report ------------------------


@record
class PseudoResponse:
    """Unbiased scores of the answers, (n,), and the weighted sum of what noise adds to variances.

    `is_open` says that other answers than those listed are possible; the listed are taken to be
    all.
    """

    values: Array
    noise: float
    is_open: bool


def pseudo_response(
    groups: list[Reports], scores: Array, weights: Array, candidates: Any
) -> PseudoResponse:
    """The scores, (k,), of decoded reports; `weights` of all rows, (n,)."""
    values, noise, start, is_open = np.zeros(len(weights)), 0.0, 0, False
    for group in groups:
        end = start + len(group)
        weighed = weights[start:end]
        if weighed.any():  # others count nowhere
            decoded = unbiased_indicators(group, weighed, candidates)
            values[start:end] = (decoded.phi @ scores)[decoded.place]
            noise += float(scores @ decoded.noise @ scores)
            is_open = is_open or decoded.is_open
            if decoded.unlisted > _CERTAIN:
                words = "candidates: the reports indicate that other answers exist, and the scores "
                words += "of these are wrong: list more candidates"
                warnings.warn(words, IncompleteListWarning, 4)
        start = end
    return PseudoResponse(values, noise, is_open)


# -- covariates --------------------------------------------------------------------------------


def covariates(X: object, n: int, n_missing: int = 0, name: str = "X") -> tuple[Array, list[str]]:
    """Finite covariates, (n, p), and their names: those of statsmodels for arrays."""
    if isinstance(X, pd.Series):
        X = X.to_frame(X.name if X.name is not None else "x1")
    if isinstance(X, pd.DataFrame):
        names = list(map(str, X.columns))
        if len(set(names)) < len(names):
            twice = sorted({label for label in names if names.count(label) > 1})
            raise InvalidArgument(name, twice[:_SHOWN], "names columns twice: rename them")
        values = np.empty((len(X), len(names)))
        for j, label in enumerate(names):
            values[:, j] = _column(X.iloc[:, j], f"{name}[{label!r}]")
    else:
        remedy = f"must be a table or an array of numbers with {n} rows, one for each report"
        values = numbers(name, X, remedy)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2:
            raise InvalidArgument(name, f"array of shape {values.shape}", remedy)
        names = [f"x{j + 1}" for j in range(values.shape[1])]
        for j, column in enumerate(values.T):
            _finite(f"{name}[:, {j}]", column)
        constant: Any = np.flatnonzero((values == values[:1]).all(axis=0)) if len(values) else []
        if len(constant):
            names.pop()
            names.insert(int(constant[0]), "const")
    if len(values) != n:
        more = ""
        if n_missing and len(values) == n + n_missing:
            more = (
                f"; {n_missing} respondents gave no answer and have no report: leave out their "
                "rows, or use ldp.regression, which does"
            )
        remedy = f"must have a row for each of the {n} reports{more}"
        raise InvalidArgument(name, f"{len(values)} rows", remedy)
    if not values.shape[1]:
        remedy = "has no column: pass at least a constant, for example X.assign(const=1.0)"
        raise InvalidArgument(name, X, remedy)
    return values, names


def _column(column: pd.Series[Any], name: str, may_miss: bool = False) -> Array:
    """Finite numbers of a column, (n,); NaN where one is missing, if one may."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        remedy = "is categorical: make dummies of it, or use a formula"
        raise InvalidArgument(name, f"{len(column)} rows", remedy)
    absent = column.isna().to_numpy()
    if absent.any() and not may_miss:
        rows = _row_list(np.flatnonzero(absent))
        remedy = f"is missing in row {rows}: leave out these rows of X and of the reports"
        raise InvalidArgument(name, f"{int(absent.sum())} missing values", remedy)
    plain = column.dtype != object and not pd.api.types.is_extension_array_dtype(column.dtype)
    values = column.to_numpy(dtype=None if plain else object, copy=True)
    if not plain:
        values[absent] = np.nan
    kind = "numbers" if may_miss else "finite numbers"
    found = numbers(name, values, f"must be {kind}; make dummies of text, or use a formula")
    return found if may_miss else _finite(name, found)


def _finite(name: str, values: Array) -> Array:
    remedy = "must be finite numbers: correct it, or leave out the row and its report"
    _refuse_row(name, values, ~np.isfinite(values), remedy)
    return values


def _refuse_row(name: str, values: Array, bad: Array, remedy: str) -> None:
    """Refuse the first value that is bad."""
    for row in np.flatnonzero(bad)[:1].tolist():
        raise InvalidArgument(f"{name}, row {row + 1}", float(values[row]), remedy)


def new_covariates(data: RegressionData, name: str, exog: Any) -> tuple[Array, Labels]:
    """Covariates of other respondents, (m, p), NaN where one is missing, and labels of the rows."""
    p = len(data.names)
    remedy = f"must be a table or an array with the {p} columns of X: {', '.join(data.names[:8])}"
    if isinstance(exog, pd.DataFrame):
        named = exog.set_axis([str(one) for one in exog.columns], axis=1)
        for one in data.names:
            if (times := list(named.columns).count(one)) != 1:
                how = "is the name of several columns" if times else "no such column"
                raise InvalidArgument(f"{name}, column", one, how)
        index = exog.index
        X = np.column_stack([_column(named[one], f"{name}[{one!r}]", True) for one in data.names])
    else:
        if isinstance(exog, pd.Series):
            exog = exog.to_numpy()
        X = numbers(name, exog, remedy)
        if X.ndim == 1:
            X = X[:, None] if p == 1 else X[None, :]
        index = pd.RangeIndex(len(X) if X.ndim else 0)
    if X.ndim != 2 or X.shape[1] != p:
        raise InvalidArgument(name, f"array of shape {X.shape}", remedy)
    if np.isinf(X).any():
        raise InvalidArgument(name, float("inf"), "must be finite numbers, or NaN for missing")
    return X, index


def refuse_aliased(designs: Sequence[Array], names: Sequence[str], ordered: bool) -> None:
    """Refuse columns that are combinations of those before them, in all configurations, (n, p).

    If `ordered`, thresholds stand for a constant.
    """
    p, n = designs[0].shape[1], sum(map(len, designs))
    constant = constant_column(designs) if p else None
    centred = ordered or constant is not None
    mean = sum(X.sum(axis=0) for X in designs) / n if centred else 0.0
    gram = np.sum([(X - mean).T @ (X - mean) for X in designs], axis=0)
    size = np.sqrt(np.sum([(X**2).sum(axis=0) for X in designs], axis=0))
    length = np.sqrt(np.diagonal(gram))
    varies = length > _ALIASED * size
    unit = np.where(varies, length, 1.0)
    inner = gram / np.outer(unit, unit)
    kept: list[int] = []
    words: list[str] = []
    for j in range(p):
        if j == constant and not ordered:
            continue
        shares = np.linalg.solve(inner[np.ix_(kept, kept)], inner[kept, j])
        if not varies[j]:
            words.append(f"{names[j]} is {'constant' if size[j] else 'zero in every row'}")
        elif 1.0 - inner[kept, j] @ shares > _ALIASED:
            kept.append(j)
        else:
            parts = [names[i] for i, b in zip(kept, shares, strict=True) if abs(b) > 1e-7]
            more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
            others = ", ".join(map(repr, parts[:_SHOWN])) + more
            words.append(f"{names[j]} is a linear combination of {others}")
    if words and n < p:
        words = [f"{n} rows do not determine {p} coefficients", *words]
    if words:
        raise NotIdentified(f"X: {'; '.join(words[:_SHOWN])}: leave out one of each combination")


# -- offsets, weights and clusters -------------------------------------------------------------


def row_numbers(name: str, value: object, n: int) -> Array:
    """Finite numbers, one for each row, shape (n,)."""
    values = value.to_numpy() if isinstance(value, pd.Series) else value
    remedy = f"must be {n} finite numbers, one for each report"
    return _finite(name, numbers(name, values, remedy, (n,)))


def row_weights(name: str, value: object, n: int) -> Array:
    """Weights of the rows, not negative and not all zero."""
    weights = row_numbers(name, value, n)
    _refuse_row(name, weights, weights < 0.0, "must not be negative")
    if not weights.any():
        raise InvalidArgument(name, value, "are all zero: no row would count")
    return weights


def cluster_options(
    kind: str, cov_kwds: object, n: int, more: tuple[str, ...] = ()
) -> tuple[Codes | None, bool | None]:
    """The cluster of each row, (n,), and how to correct for few of them, from `cov_kwds`.

    True is a factor, and None the bias-reduced covariance. `more` are other options of this kind of
    covariance.
    """
    options = {} if cov_kwds is None else cov_kwds
    if not isinstance(options, Mapping):
        remedy = "must be a mapping, for example {'groups': household}"
        raise InvalidArgument("cov_kwds", cov_kwds, remedy)
    unknown = set(options) - {*more}
    if kind != "cluster":
        if unknown:
            raise InvalidArgument("cov_kwds", cov_kwds, "goes with cov_type='cluster' only")
        return None, False
    may = ["use_correction", *more]
    if unknown - {"groups", *may} or options.get("groups") is None:
        remedy = (
            "must have the cluster of each row, cov_kwds={'groups': labels}, and may have "
            f"{' and '.join(map(repr, may))}"
        )
        raise InvalidArgument("cov_kwds", sorted(map(str, options)), remedy)
    codes, labels = _row_labels("cov_kwds['groups']", options["groups"], n)
    correct = options.get("use_correction")
    if correct is not None:
        correct = boolean("cov_kwds['use_correction']", correct)
    elif len(labels) > MOST_CLUSTERS:
        correct = True
    return codes, correct


def _row_labels(name: str, values: object, n: int) -> tuple[Codes, Labels]:
    """Codes of a label of each of n rows, none of them missing, and the labels, at least two."""
    series = as_series(name, pd.Series(values) if isinstance(values, pd.Categorical) else values)
    if len(series) != n:
        remedy = f"must be {n} labels of groups, one for each report"
        raise InvalidArgument(name, f"{len(series)} labels", remedy)
    absent = missing_entries(name, series)
    if absent.any():
        remedy = "must have a label for each report: leave these out of the reports and of X"
        raise InvalidArgument(name, f"missing in row {_row_list(np.flatnonzero(absent))}", remedy)
    try:
        codes, labels = pd.factorize(series.astype(object))
    except TypeError:  # lists and the like
        remedy = "must be labels of groups: texts, numbers or categories"
        raise InvalidArgument(name, series.tolist(), remedy) from None
    if len(labels) < 2:
        raise InvalidArgument(name, list(labels), "must have two groups at least")
    return codes.astype(np.int64), labels


def _row_list(rows: Codes) -> str:
    more = f" and {rows.size - _SHOWN} more" if rows.size > _SHOWN else ""
    return ", ".join(str(int(row) + 1) for row in rows[:_SHOWN]) + more


# -- the likelihood ----------------------------------------------------------------------------


@record
class Assembled:
    """The likelihood of a regression over u distinct rows.

    `place` is the row of each respondent, (n,); `weights` are hers in the likelihood, or of those
    whom she stands for, and `counts` how many these are, (n,). `law` are the channels of the u
    rows, where the outcome is categorical.
    """

    likelihood: RegressionLikelihood
    place: Codes
    weights: Array
    counts: Array
    law: ReportLaw | None

    def take(self, rows: Any, weights: Array) -> Assembled:
        """Some rows of the likelihood, with other weights."""
        law = self.law and self.law.take(rows)
        return replace(self, likelihood=self.likelihood.take(rows, weights), law=law)

    def expected(self, theta: Array | None = None) -> ExpectedInformation:
        """Expected information of the outcome's parameters.

        Private predictors are taken as if they were seen, with their law under theta.
        """
        likelihood = self.likelihood
        weights = likelihood.weights[:, None]
        if likelihood.marginal is not None:
            assert theta is not None
            weights = weights * likelihood.law(theta)
        return ExpectedInformation(likelihood.outcome, likelihood.designs, weights, self.law)


def assemble(data: RegressionData, unknown: Sequence[str] = ()) -> Assembled:
    """The likelihood of the data; `unknown` are parameters of devices."""
    n, m = data.n, len(unknown)
    scale, none = np.zeros(n), np.zeros(n, dtype=np.int64)
    law: ReportLaw | None = None
    seen: Any = data.response
    matrices: list[PolynomialMatrix] = []
    if data.is_categorical:
        assert data.categories is not None
        k, listed = len(data.categories), data.candidates.get(data.response_name)
        if unknown:  # the likelihoods of the reports are not known
            matrices = [PolynomialMatrix.constant(np.eye(k), m)]
            if data.is_private:
                matrices, seen = _polynomials(seen, unknown)
            table = np.full((sum(Q.shape[2] for Q in matrices), k), np.nan)
            seen = Seen(table, np.asarray(seen, dtype=np.int64))
        elif data.is_private:
            channels = [report_channel(reports, listed) for reports in seen]
            at = np.repeat(np.arange(len(seen)), [len(reports) for reports in seen])
            law = ReportLaw(tuple(channels), at)
            seen, scale = likelihoods(seen, listed)
        else:
            seen = Seen(np.eye(k), np.asarray(seen, dtype=np.int64))
            law = ReportLaw((np.eye(k),), none)
    each = []
    for name, groups in data.predictors.items():
        if any(group.mechanism.unknown for group in groups):
            several, at = _polynomials(groups, unknown)
            each.append((PolynomialMatrix.beside(several), at))
        else:
            reported, logs = likelihoods(groups, data.candidates.get(name))
            scale = scale + logs
            each.append((PolynomialMatrix.constant(reported.table.T, m), reported.at))
    private, at = crossed(each or [(PolynomialMatrix.constant(np.ones((1, 1)), m), none)])
    B: Seen | None = None
    if data.predictors:
        known = np.full(private.shape[:0:-1], np.nan) if unknown else private.at(np.zeros(0)).T
        B = Seen(np.ascontiguousarray(known), at)
    counts = data.times
    weights = data.mass * (counts.sum() / data.mass.sum())
    likelihood = RegressionLikelihood(
        outcome=data.outcome,
        designs=tuple(predictors_of(data.outcome, X, data.offset) for X in data.designs),
        seen=seen,
        weights=weights,
        B=B,
        marginal=data.law_of_predictors,
        constant=float(weights @ scale),
    )
    if (own := data.groups) is not None:
        likelihood = GroupedLikelihood(**vars(likelihood), group=own.codes, n_nodes=own.n_nodes)
    likelihood, kinds = distinct_rows(likelihood, law)
    if unknown:
        more: Any = {"matrices": tuple(matrices), "private": private}
        likelihood = ParametricRegression(**vars(likelihood), **more)
    if kinds is None:
        return Assembled(likelihood, np.arange(n), weights, counts, law)
    first, place = kinds
    return Assembled(likelihood, place, weights, counts, law and law.take(first))


def _polynomials(
    groups: Sequence[Reports], unknown: Sequence[str]
) -> tuple[list[PolynomialMatrix], Codes]:
    """The channels of groups of devices, and which of the reports of all of them each row has."""
    from ldpstats.models.parameters import polynomial_matrix

    matrices = [polynomial_matrix(group.mechanism, unknown) for group in groups]
    before = np.cumsum([0, *(Q.shape[2] for Q in matrices[:-1])])
    pairs = zip(groups, before, strict=True)
    return matrices, np.concatenate([group.y.astype(np.int64) + at for group, at in pairs])


def sandwich_meat(data: RegressionData, whole: Assembled, cov_type: str, rows: Array) -> Array:
    """Covariance of the weighted sum of rows, (m, m): "HC0", or that of the survey's design."""
    if cov_type != "design":
        counts = np.maximum(whole.counts, 1.0)  # rows that stand for nobody have none
        squares = np.bincount(whole.place, whole.weights**2 / counts, len(rows))
        return (rows * squares[:, None]).T @ rows
    assert data.weights is not None
    at = np.full(data.sample.w.shape, -1, dtype=np.int64)
    at[data.inside] = whole.place
    return design_meat(data.sample, rows * (whole.weights[0] / data.weights[0]), at)


def distinct_rows(
    likelihood: RegressionLikelihood, law: ReportLaw | None = None
) -> tuple[RegressionLikelihood, tuple[Codes, Codes] | None]:
    """The likelihood with rows that are alike made one, and the first and place of these."""
    seen, B, marginal = likelihood.seen, likelihood.B, likelihood.marginal
    columns = [
        seen.at if isinstance(seen, Seen) else seen,
        None if B is None else B.at,
        law.at if law is not None and len(law.channels) > 1 else None,
        likelihood.designs[0].offset,
        likelihood.group,
        *(design.X for design in likelihood.designs),
        None if marginal is None else marginal.X,
    ]
    there = [one for one in columns if one is not None]
    kinds = alike(there) if likelihood.n > 1 else None
    if kinds is None:
        return likelihood, None
    first, place = kinds
    weights = np.bincount(place, likelihood.weights, len(first))
    return replace(likelihood.take(first, weights), constant=likelihood.constant), kinds


def report_channel(reports: Reports, candidates: Any = None) -> Array:
    """The channel of a group of reports, (k, l).

    Where reports are too many to be listed (bits, hashes), the k-ary randomised response whose
    frequencies have the same total variance where all categories are equally frequent.
    """
    mechanism = reports.mechanism
    if has_listed_reports(mechanism):
        Q = np.asarray(mechanism.channel().matrix(), dtype=np.float64)
        return Q[:, Q.any(axis=0)]
    decoding = decode(reports, None, candidates)
    k = decoding.k
    noise, own = np.trace(decoding.noise_at(np.full(k, 1.0 / k))), 1.0 - 1.0 / k
    kept = min(1.0, np.sqrt(own / (noise + own)))
    return np.asarray(kept * np.eye(k) + (1.0 - kept) / k)


def has_listed_reports(mechanism: Any) -> bool:
    """Whether the possible reports are few enough to sum over."""
    return 0 < mechanism.n_outputs <= _MOST_OUTPUTS and not mechanism.n_cohorts


def conditional_value(likelihood: RegressionLikelihood, theta: Array) -> float:
    """Log-likelihood of the response reports given those on the private predictors."""
    value = likelihood.value(theta)
    if likelihood.marginal is None:
        return value
    assert likelihood.B is not None
    seen = np.einsum("nc,nc->n", likelihood.B[:], likelihood.law(theta))
    return value - float(likelihood.weights @ np.log(seen))


# -- coefficients as labelled tables -----------------------------------------------------------
