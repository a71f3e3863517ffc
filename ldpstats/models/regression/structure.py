"""A regression on privatised answers: its data, its likelihood, and how that is climbed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import as_array, numbers
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable, NotIdentified
from ldpstats.estimators.regression import Found, Objective, Penalised, search
from ldpstats.likelihood.joint import decode
from ldpstats.likelihood.predictors import constant_column, constant_combination, start, units
from ldpstats.likelihood.regression import (
    Binary,
    Categorical,
    ExpectedInformation,
    Multinomial,
    Normal,
    Ordered,
    Outcome,
    RegressionLikelihood,
    ReportLaw,
    Seen,
    Separate,
    alike,
    crossed,
    likelihoods,
    predictors_of,
)
from ldpstats.reports.single import BitCounts, Counts, Reports, not_reports

__all__ = [
    "Assembled",
    "RegressionData",
    "RegressionStructure",
    "cluster_codes",
    "conditional_value",
    "covariates",
    "has_listed_reports",
    "null_results",
    "outcome_of",
    "planned_information",
    "refuse_aliased",
    "report_groups",
    "response_data",
    "response_name",
    "row_numbers",
    "row_weights",
    "same_labels",
    "shaped",
    "shaped_intervals",
    "whole_weights",
]


Array = npt.NDArray[Any]

_SOME = 5000  # rows on which other starts are tried
_ALIASED = 1e-10  # share of a covariate that the others leave, up to which it is one of them
_KNOWN = 0.5  # standardised coefficients known to this, of many rows, need no other starts


class RegressionStructure:
    """A regression in which the response, predictors, or both are privatised.

    Parameters
    ----------
    data : RegressionData

    Attributes
    ----------
    exog_names : list of str
    endog_names : str
    nobs : int
    """

    def __init__(self, data: RegressionData) -> None:
        self.data = data
        self._check_rank()

    @classmethod
    def of(cls, data: RegressionData) -> Self:
        """The model of data that are checked already."""
        model = cls.__new__(cls)
        RegressionStructure.__init__(model, data)
        return model

    # -- what it is ----------------------------------------------------------------------------

    @property
    def exog_names(self) -> list[str]:
        """Names of the covariates."""
        return list(self.data.names)

    @property
    def endog_names(self) -> str:
        """Name of the response."""
        return self.data.response_name

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        counts = self.data.counts
        return self.data.n if counts is None else int(np.sum(counts))

    @property
    def categories(self) -> pd.Index[Any] | None:
        """Categories of the outcome."""
        return self.data.categories

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({self.endog_names} on {', '.join(self.exog_names)}; n={self.nobs})"

    @property
    def equations(self) -> list[str]:
        """Names of the equations of a multinomial logit; one without a name for others."""
        categories = self.categories
        if isinstance(self.data.outcome, Multinomial) and categories is not None:
            return [str(label) for label in categories[1:]]
        return [""]

    @property
    def threshold_names(self) -> list[str]:
        """Names of the thresholds between ordered categories, as statsmodels has them."""
        categories = self.categories
        if not isinstance(self.data.outcome, Ordered) or categories is None:
            return []
        return [f"{a}/{b}" for a, b in pairwise(categories)]

    @property
    def n_shown(self) -> int:
        """Number of coefficients that results show: all of the outcome but its spread.

        Unknown parameters of devices are shown too, after them.
        """
        return self.likelihood.n_outcome - isinstance(self.data.outcome, Normal)

    @property
    def all_names(self) -> list[str]:
        """A name for each parameter: of the outcome, of private predictors' law, of devices."""
        found = [
            f"{equation}: {name}" if equation else name
            for equation in self.equations
            for name in self.exog_names
        ] + self.threshold_names
        if isinstance(self.data.outcome, Normal):
            found.append("log(sigma)")
        if self.data.marginal is not None:
            for labels in self.data.configurations[1:]:
                which = ", ".join(str(label) for label in labels)
                found += [f"P({which}): {name}" for name in self.data.marginal.columns]
        return [*found, *self.unknown]

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """Unknown parameters of the devices of the response."""
        return self.data.unknown

    @cached_property
    def assembled(self) -> Assembled:
        """The likelihood over distinct rows."""
        return assembled(self.data)

    @property
    def likelihood(self) -> RegressionLikelihood:
        """The likelihood over distinct rows."""
        return self.assembled.likelihood

    @cached_property
    def units(self) -> Array:
        """Parameters from standardised ones."""
        return units(self.likelihood)

    @cached_property
    def constant(self) -> int | None:
        """Which covariate is the same for all."""
        return constant_column(self.data.designs)

    @cached_property
    def spans_constant(self) -> bool:
        """Whether covariates, such as dummies of all levels, sum to a constant."""
        return constant_combination(self.data.designs) is not None

    @property
    def lists_reports(self) -> bool:
        """Whether the possible reports of the response can be listed, so that law is their own."""
        return not self.data.is_private or all(
            has_listed_reports(reports.mechanism) for reports in self.data.response
        )

    @property
    def is_exact(self) -> bool:
        """Whether nothing is privatised, so that the likelihood is concave."""
        likelihood = self.likelihood
        seen, hidden = likelihood.seen, likelihood.B
        clear = not isinstance(seen, Seen) or bool(
            (np.count_nonzero(seen.table, axis=1) == 1).all()
        )
        if hidden is not None:
            clear = clear and bool((np.count_nonzero(hidden.table, axis=1) == 1).all())
        return clear

    def _check_rank(self) -> None:
        """Refuse covariates and channels that do not determine the coefficients."""
        used = self.data.counts if self.data.weights is None else self.data.weights
        designs = self.data.designs
        if used is not None and (used == 0.0).any():
            designs = [X[used > 0.0] for X in designs]
        aliased = aliased_columns(designs, isinstance(self.data.outcome, Ordered))
        if aliased:
            names = ", ".join(self.data.names[j] for j in aliased)
            raise NotIdentified(
                f"X: {names}: a linear combination of the other covariates, or zero: leave it out"
            )
        reports = dict(self.data.predictors)
        if self.data.is_private and self.data.is_categorical and not self.unknown:
            reports[self.endog_names] = self.data.response
        self._refuse_unknown_predictors()
        for name, groups in reports.items():
            listed = self.data.candidates.get(name)
            if not full_rank([report_channel(one, listed) for one in groups]):
                raise NotIdentified(
                    f"{name}: the channel of its reports has a rank below its number of "
                    "categories, so that reports do not determine their frequencies: join "
                    "categories, or ask with another mechanism"
                )

    def _refuse_unknown_predictors(self) -> None:
        for name, groups in self.data.predictors.items():
            for one in groups:
                if one.mechanism.unknown:
                    raise NotAvailable(
                        f"{name}: a private predictor by a device with the unknown "
                        f"{', '.join(one.mechanism.unknown)}: use one with known parameters"
                    )

    # -- its maxima ----------------------------------------------------------------------------

    def objective(self, penalty: str | None, theta: Array | None = None) -> Objective:
        """The log-likelihood, with a penalty if one is asked for.

        Parameters
        ----------
        penalty : {None, "jeffreys"}
        theta : array, optional
            Gives the law of private predictors that the penalty takes.
        """
        return self.likelihood if penalty is None else self.penalised(theta)

    def penalised(self, theta: Array | None = None) -> Penalised:
        """The penalised log-likelihood, see `objective`."""
        return Penalised(self.likelihood, self.assembled.expected(theta))

    def climb(
        self,
        penalty: str | None = None,
        start_params: Array | None = None,
        maxiter: int = 100,
        theta: Array | None = None,
    ) -> Found:
        """The highest maximum, with a penalty or without."""
        usual = start(self.likelihood)
        first, others = (usual, []) if start_params is None else (start_params, [usual])
        if others and self.is_exact:  # one maximum at most, which is met from where it is usual
            first = usual
        smaller = None
        if penalty is not None and self.likelihood.marginal is not None and theta is None:
            theta = self.climb(None, start_params, maxiter).maximum.theta
        if self.likelihood.n > 2 * _SOME and not self.is_exact:
            smaller = self._smaller(penalty, theta)
        return search(
            self.objective(penalty, theta),
            first,
            self.units,
            others,
            maxiter=maxiter,
            concave=self.is_exact,
            smaller=smaller,
            enough=_KNOWN if smaller is not None else 0.0,
        )

    def _smaller(self, penalty: str | None, theta: Array | None) -> Objective:
        """The objective on some rows, weighted up to all."""
        n = min(max(_SOME, 200 * self.likelihood.size), self.likelihood.n)
        rows = np.random.default_rng(2024).choice(self.likelihood.n, n, replace=False)
        rows.sort()
        weights = self.likelihood.weights[rows]
        some = self.likelihood.take(rows, weights * (self.likelihood.weights.sum() / weights.sum()))
        if penalty is None:
            return some
        law = self.assembled.law
        own = replace(self.assembled, likelihood=some, law=law and law.take(rows))
        return Penalised(some, own.expected(theta))


def aliased_columns(designs: Sequence[Array], ordered: bool = False) -> list[int]:
    """Columns that are linear combinations of those before them, in all configurations.

    Parameters
    ----------
    designs : sequence of array, each (n, p)
    ordered : bool
        Whether thresholds stand for a constant.
    """
    p = designs[0].shape[1]
    n = sum(len(X) for X in designs)
    constant = constant_column(designs) if p else None
    centred = ordered or constant is not None
    mean = sum(X.sum(axis=0) for X in designs) / n if centred else np.zeros(p)
    gram = np.sum([(X - mean).T @ (X - mean) for X in designs], axis=0)
    size = np.sqrt(np.asarray(sum((X**2).sum(axis=0) for X in designs)))
    kept: list[int] = []
    found: list[int] = []
    for j in range(p):
        if j == constant and not ordered:
            continue
        own = np.sqrt(gram[j, j])
        rest = own**2
        if kept and own > 0.0:
            inner = gram[np.ix_(kept, kept)]
            scale = np.sqrt(np.diagonal(inner))
            beside = gram[kept, j] / scale
            rest -= beside @ np.linalg.solve(inner / np.outer(scale, scale), beside)
        if own > _ALIASED * size[j] and rest > _ALIASED * own**2:
            kept.append(j)
        else:
            found.append(j)
    return found


# -- Rows of a regression: reports, covariates, weights and clusters as checked arrays ------------


Codes = npt.NDArray[np.int64]

_ALIASED_rows = 1e-9  # of the length of a column, what other columns leave of it
_SHOWN = 5


def report_groups(reports: object) -> list[Reports]:
    """The groups of respondents, whose rows follow one another; over the same categories.

    Raises
    ------
    InvalidArgument
        For anything else than reports, for counts, and where there is no report.
    """
    groups: list[Any] = list(reports) if isinstance(reports, list | tuple) else [reports]
    for i, one in enumerate(groups):
        name = "reports" if len(groups) == 1 else f"reports[{i}]"
        if isinstance(one, Counts | BitCounts):
            remedy = "are counts, which have no rows: pass the Reports, one for each row of X"
            raise InvalidArgument(name, one, remedy)
        if not isinstance(one, Reports):
            raise not_reports(name, one, "must be Reports, or a list of them for several groups")
    if not sum(map(len, groups)):
        raise InvalidArgument("reports", reports, "hold no report: there is nothing to fit")
    return groups


def same_labels(groups: Sequence[Reports], candidates: Any) -> pd.Index[Any]:
    """The categories of all groups.

    Raises
    ------
    MechanismMismatch
        If groups have different categories.
    """
    first = groups[0].mechanism
    labels: pd.Index[Any] = first.labels(candidates)
    for group in groups[1:]:
        if not group.mechanism.labels(candidates).equals(labels):
            raise MechanismMismatch(
                f"{group.mechanism} and {first} have different categories: groups of one "
                "regression need the same labels in the same order"
            )
    return labels


# ---- covariates


def covariates(X: object, n: int, n_missing: int = 0, name: str = "X") -> tuple[Array, list[str]]:
    """Covariates as float64, shape (n, p), and their names.

    Columns of arrays are called "const" and x1, x2, ..., as statsmodels does.

    Raises
    ------
    InvalidArgument
        If there is no column, another number of rows than reports, two columns of one name, text,
        or a value that is missing or not finite.
    """
    if isinstance(X, pd.Series):
        X = X.to_frame(X.name if X.name is not None else "x1")
    if isinstance(X, pd.DataFrame):
        values, names = _of_frame(X, name)
    else:
        remedy = f"must be a table or an array of numbers with {n} rows, one for each report"
        array = numbers(name, X, remedy)
        values = array[:, None] if array.ndim == 1 else array
        if values.ndim != 2:
            raise InvalidArgument(name, f"array of shape {array.shape}", remedy)
        names = _usual_names(values, name)
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


def _of_frame(X: pd.DataFrame, name: str) -> tuple[Array, list[str]]:
    names = [str(one) for one in X.columns]
    if len(set(names)) < len(names):
        twice = sorted({one for one in names if names.count(one) > 1})
        raise InvalidArgument(name, twice[:_SHOWN], "names columns twice: rename them")
    values = np.empty((len(X), len(names)))
    for j, label in enumerate(names):
        values[:, j] = _column(X.iloc[:, j], f"{name}[{label!r}]")
    return values, names


def _column(column: pd.Series[Any], name: str) -> Array:
    if isinstance(column.dtype, pd.CategoricalDtype):
        remedy = "is categorical: make dummies of it, or use a formula"
        raise InvalidArgument(name, f"{len(column)} rows", remedy)
    absent = column.isna().to_numpy()
    if absent.any():
        rows = _row_list(np.flatnonzero(absent))
        remedy = f"is missing in row {rows}: leave out these rows of X and of the reports"
        raise InvalidArgument(name, f"{int(absent.sum())} missing values", remedy)
    given = column.to_numpy(dtype=object if column.dtype == object else None)
    if pd.api.types.is_extension_array_dtype(column.dtype):
        given = column.to_numpy(dtype=object)
    remedy = "must be finite numbers; make dummies of text, or use a formula"
    return _finite(name, numbers(name, given, remedy))


def _finite(name: str, values: Array) -> Array:
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        remedy = "must be finite numbers: correct it, or leave out the row and its report"
        raise InvalidArgument(f"{name}, row {row + 1}", float(values[row]), remedy)
    return values


def _usual_names(X: Array, name: str) -> list[str]:
    """The names that statsmodels gives to columns of an array; they must be finite."""
    p = X.shape[1]
    for j in range(p):
        _finite(f"{name}[:, {j}]", X[:, j])
    if not len(X):
        return [f"x{j + 1}" for j in range(p)]
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0.0)
    if not constant.size:
        return [f"x{j + 1}" for j in range(p)]
    names = [f"x{j + 1}" for j in range(p - 1)]
    names.insert(int(constant[0]), "const")
    return names


def refuse_aliased(X: Array, names: Sequence[str], a: Array | None = None) -> None:
    """Refuse columns that are linear combinations of others in rows of positive weight `a`.

    Raises
    ------
    NotIdentified
        Naming the columns, and those that they are combinations of.
    """
    used = X if a is None else X[a > 0.0]
    n, p = used.shape
    if n < p:
        raise NotIdentified(
            f"{n} rows do not determine {p} coefficients ({_listed(names)}): leave out columns "
            "of X, or collect more reports"
        )
    length = np.sqrt(np.einsum("ij,ij->j", used, used))
    zero = np.flatnonzero(length == 0.0).tolist()
    if zero:
        raise NotIdentified(
            f"the columns {_listed([names[j] for j in zero])} of X are zero in every row: leave "
            "them out"
        )
    unit = used / length
    R = np.asarray(np.linalg.qr(unit, mode="r"))
    kept: list[int] = []
    words = []
    for j in range(p):
        others = np.linalg.lstsq(R[:, kept], R[:, j], rcond=None)[0] if kept else np.zeros(0)
        left = R[:, j] - R[:, kept] @ others
        if np.linalg.norm(left) > _ALIASED_rows:
            kept.append(j)
            continue
        parts = [names[i] for i, b in zip(kept, others, strict=True) if abs(b) > 1e-7]
        words.append(f"{names[j]} is a linear combination of {_listed(parts)}")
    if words:
        raise NotIdentified(
            f"the coefficients are not determined: {'; '.join(words[:_SHOWN])}. Leave out one "
            "column of each combination"
        )


# ---- weights and clusters


def row_numbers(name: str, value: object, n: int) -> Array:
    """Finite numbers, one for each row, shape (n,)."""
    given = value.to_numpy() if isinstance(value, pd.Series) else value
    remedy = f"must be {n} finite numbers, one for each report"
    return _finite(name, numbers(name, given, remedy, (n,)))


def row_weights(name: str, value: object, n: int) -> Array:
    """Weights of the rows, not negative and not all zero; ones where none are given."""
    if value is None:
        return np.ones(n)
    found = row_numbers(name, value, n)
    if (found < 0.0).any():
        row = int(np.argmax(found < 0.0))
        raise InvalidArgument(f"{name}, row {row + 1}", found[row].item(), "must not be negative")
    if not found.any():
        raise InvalidArgument(name, value, "are all zero: no row would count")
    return found


def whole_weights(name: str, value: object, n: int) -> Array:
    """How many respondents each row stands for; ones where nothing is given."""
    found = row_weights(name, value, n)
    part = found != np.floor(found)
    if part.any():
        row = int(np.argmax(part))
        remedy = "must be a whole number of respondents; weights of a survey are weights="
        raise InvalidArgument(f"{name}, row {row + 1}", found[row].item(), remedy)
    return found


def cluster_codes(groups: object, n: int) -> tuple[Codes, int]:
    """The cluster of each row, and how many there are.

    Raises
    ------
    InvalidArgument
        If they are not one label for each row, some are missing, or there is one cluster only.
    """
    name = "cov_kwds['groups']"
    remedy = f"must be {n} labels of clusters, one for each report"
    values = groups if isinstance(groups, pd.Series | pd.Index) else as_array(name, groups, remedy)
    if values.ndim != 1 or len(values) != n:
        raise InvalidArgument(name, f"array of shape {values.shape}", remedy)
    codes, labels = pd.factorize(values)
    if (codes < 0).any():
        rows = _row_list(np.flatnonzero(codes < 0))
        raise InvalidArgument(name, f"missing in row {rows}", remedy)
    if len(labels) < 2:
        raise InvalidArgument(name, labels.tolist(), "must name at least two clusters")
    return codes.astype(np.int64), len(labels)


def _row_list(rows: Codes) -> str:
    more = f" and {rows.size - _SHOWN} more" if rows.size > _SHOWN else ""
    return ", ".join(str(int(row) + 1) for row in rows[:_SHOWN]) + more


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more


def response_name(groups: Iterable[Reports], covariates: Sequence[str], default: str) -> str:
    """The name of the reports, if it is not that of a covariate which they were made from."""
    known = [*(group.name for group in groups), default, "response"]
    return next(name for name in known if name and (name not in covariates or name == known[-1]))


# -- Arguments of a regression of a privatised answer, checked ------------------------------------


OUTCOMES = ("logit", "probit", "cloglog", "multinomial", "ordered")


def outcome_of(model: str, k: int) -> Outcome:
    """The law of a categorical outcome, by the name of its model."""
    if model == "multinomial":
        return Multinomial(k)
    return Ordered(k) if model == "ordered" else Binary(model)


def response_data(
    model: str,
    reports: object,
    X: object,
    offset: object = None,
    freq_weights: object = None,
    weights: object = None,
    candidates: Any = None,
) -> RegressionData:
    """The data of a regression of reports on covariates.

    Parameters
    ----------
    model : str
        One of `OUTCOMES`.
    reports, X, offset, freq_weights, weights, candidates
        As the caller passed them.

    Raises
    ------
    InvalidArgument
        If arrays do not fit, or the model is for another number of categories.
    MechanismMismatch
        If groups have different categories.
    """
    groups = report_groups(reports)
    labels = same_labels(groups, candidates)
    k = len(labels)
    if k != 2 and model not in ("multinomial", "ordered"):
        remedy = (
            f"have {k} categories, and a {model} model is for two: use PrivatizedMNLogit or "
            "PrivatizedOrderedModel, or join categories with ldpstats.Lumped"
        )
        raise InvalidArgument("reports", str(groups[0].mechanism), remedy)
    if k < 2:
        raise InvalidArgument("reports", labels.tolist(), "must have two categories at least")
    n = sum(map(len, groups))
    matrix, names = covariates(X, n, sum(group.n_missing for group in groups))
    name = response_name(groups, names, "y")
    counts = None if freq_weights is None else whole_weights("freq_weights", freq_weights, n)
    total = None if weights is None else row_weights("weights", weights, n)
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
        n_missing=sum(group.n_missing for group in groups),
    )


# -- Expected information of coefficients in a survey that is planned -----------------------------


def planned_information(model: RegressionStructure, params: Any, exog: Any = None) -> Array:
    """See `RegressionStructure.information`."""
    data = model.data
    if model.unknown:
        raise NotAvailable(
            f"information: the devices have the unknown {', '.join(model.unknown)}: use "
            "fit().information(), which has their information too"
        )
    m = model.n_shown
    if data.predictors or not data.is_categorical:
        raise NotAvailable(
            "information: it is known for private or public categorical responses with public "
            "predictors; simulate for others"
        )
    given = params.T if isinstance(params, pd.DataFrame) else params
    remedy = f"must be {m} finite numbers, the coefficients in the order of cov_params()"
    theta = numbers("params", given, remedy).ravel()
    if theta.size != m or not np.isfinite(theta).all():
        raise InvalidArgument("params", params, remedy)
    expected = model.assembled.expected()
    if exog is None:
        return expected.matrix(theta)
    if isinstance(exog, pd.DataFrame) and set(exog.columns) >= set(data.names):
        exog = exog[list(data.names)]
    p = len(data.names)
    try:
        n = len(exog)
    except Exception:  # a number, or somebody else's object
        remedy = f"must be a table or array of {p} columns, {', '.join(data.names)}"
        raise InvalidArgument("exog", exog, remedy) from None
    X, _ = covariates(exog, n, name="exog")
    if X.shape[1] != p:
        remedy = f"must have the {p} columns {', '.join(data.names)}"
        raise InvalidArgument("exog", f"{X.shape[1]} columns", remedy)
    law = expected.law
    assert law is not None
    if len(law.channels) > 1:
        raise NotAvailable(
            "information: with several groups it is not known which mechanism planned respondents "
            "have: make a model of one group"
        )
    planned = replace(
        expected,
        designs=(predictors_of(data.outcome, X),),
        weights=np.ones((len(X), 1)),
        law=ReportLaw(law.channels, np.zeros(len(X), dtype=np.int64)),
    )
    return planned.matrix(theta)


# -- From the data of a regression to its likelihood and its expected information -----------------


_MOST_OUTPUTS = 64  # of a channel, whose information is summed over them


@dataclass(frozen=True, eq=False)
class Assembled:
    """The likelihood of a regression, over distinct rows.

    Parameters
    ----------
    likelihood : RegressionLikelihood
        Of u rows.
    place : array of int64, shape (n,)
        The row of each respondent.
    weights : array, shape (n,)
        Of each respondent in the likelihood, or of those whom she stands for.
    counts : array, shape (n,)
        Whom she stands for.
    law : ReportLaw or None
        Channels of the u rows, where the outcome is categorical.
    """

    likelihood: RegressionLikelihood
    place: Codes
    weights: Array
    counts: Array
    law: ReportLaw | None

    @cached_property
    def squares(self) -> Array:
        """Sum of the squared weights of the respondents of each row, (u,)."""
        each = self.weights**2 / np.maximum(
            self.counts, 1.0
        )  # rows that stand for nobody have none
        return np.bincount(self.place, each, self.likelihood.n)

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


def assembled(data: RegressionData, collapse: bool = True) -> Assembled:
    """The likelihood of the data; rows that are alike are made one."""
    n = data.n
    scale = np.zeros(n)
    law: ReportLaw | None = None
    seen: Any = data.response
    if data.is_categorical:
        assert data.categories is not None
        k = len(data.categories)
        if data.unknown:
            seen = _reported(data.response)
        elif data.is_private:
            listed = data.candidates.get(data.response_name)
            seen, own = likelihoods(data.response, listed)
            scale = scale + own
            channels = [report_channel(reports, listed) for reports in data.response]
            sizes = [len(reports) for reports in data.response]
            law = ReportLaw(tuple(channels), np.repeat(np.arange(len(sizes)), sizes))
        else:
            seen = Seen(np.eye(k), np.asarray(seen, dtype=np.int64))
            law = ReportLaw((np.eye(k),), np.zeros(n, dtype=np.int64))
    B: Seen | None = None
    if data.predictors:
        each = []
        for name, groups in data.predictors.items():
            found, own = likelihoods(groups, data.candidates.get(name))
            scale = scale + own
            each.append(found)
        B = crossed(each)
    counts = np.ones(n) if data.counts is None else np.asarray(data.counts, dtype=np.float64)
    weights = counts if data.weights is None else np.asarray(data.weights, dtype=np.float64)
    weights = weights * (counts.sum() / weights.sum())
    likelihood = RegressionLikelihood(
        outcome=data.outcome,
        designs=tuple(predictors_of(data.outcome, X, data.offset) for X in data.designs),
        seen=seen,
        weights=weights,
        B=B,
        marginal=None
        if data.marginal is None
        else Separate(data.marginal.to_numpy(dtype=np.float64), len(data.designs) - 1),
        constant=float(weights @ scale),
    )
    place = np.arange(n)
    kinds = alike(_columns(likelihood, law)) if collapse and n > 1 else None
    if kinds is not None:
        first, place = kinds
        summed = np.bincount(place, weights, len(first))
        likelihood = replace(likelihood.take(first, summed), constant=likelihood.constant)
        law = law and law.take(first)
    return Assembled(likelihood, place, weights, counts, law)


def _reported(groups: Sequence[Reports]) -> Seen:
    """The reports of groups by devices with unknown parameters, whose likelihoods nobody knows."""
    k = len(groups[0].mechanism.categories)
    before = np.cumsum([0, *(one.mechanism.n_outputs for one in groups)])
    codes = [one.y.astype(np.int64) + at for one, at in zip(groups, before, strict=False)]
    return Seen(np.full((before[-1], k), np.nan), np.concatenate(codes))


def _columns(likelihood: RegressionLikelihood, law: ReportLaw | None) -> list[Array]:
    """All that rows may differ in."""
    seen = likelihood.seen
    columns = [seen.at if isinstance(seen, Seen) else seen]
    if likelihood.B is not None:
        columns.append(likelihood.B.at)
    if law is not None and len(law.channels) > 1:
        columns.append(law.at)
    if likelihood.designs[0].offset is not None:
        columns.append(likelihood.designs[0].offset)
    columns += [design.X for design in likelihood.designs]
    if likelihood.marginal is not None:
        columns.append(likelihood.marginal.X)
    return columns


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
    even = np.full(k, 1.0 / k)
    variance = float(np.trace(decoding.noise_at(even))) + 1.0 - 1.0 / k
    kept = min(1.0, np.sqrt((1.0 - 1.0 / k) / variance))
    return np.asarray(kept * np.eye(k) + (1.0 - kept) / k)


def has_listed_reports(mechanism: Any) -> bool:
    """Whether the possible reports are few enough to sum over."""
    return 0 < mechanism.n_outputs <= _MOST_OUTPUTS and not mechanism.n_cohorts


def full_rank(channels: Sequence[Array]) -> bool:
    """Whether reports of all groups together determine the frequencies."""
    Q = np.hstack(list(channels))
    return bool(np.linalg.matrix_rank(Q) == len(Q))


# -- What a regression is made of: responses, designs and reports on predictors, as arrays --------


@dataclass(frozen=True, eq=False)
class RegressionData:
    """The data of a regression of n respondents, checked.

    Parameters
    ----------
    outcome : Outcome
    response : sequence of Reports, or array of shape (n,)
        Groups of reports whose rows follow one another; or the numbers or category codes that are
        public.
    designs : sequence of array, each (n, p)
        Covariates in each configuration of the private predictors; one if there are none.
    names : sequence of str
        Names of the p covariates.
    categories : Index, optional
        Of a categorical outcome, in order.
    response_name : str
    offset : array, shape (n,), optional
    counts : array, shape (n,), optional
        How many respondents each row stands for ("frequency weights").
    weights : array, shape (n,), optional
        Sampling weights, of all whom a row stands for together.
    predictors : mapping of str to sequence of Reports
        Reports on the private predictors, as `response`.
    configurations : sequence of tuple
        Labels of the private predictors in each configuration, the last predictor fastest.
    marginal : DataFrame, optional
        Public covariates of the law of the configurations, (n, r).
    candidates : mapping of str to sequence of str
        The possible answers, where any string is one.
    n_missing : int
        Rows that were left out because a value was missing.
    formula : Any
        Makes designs of other tables: ``exog(table)``.
    only_corrected : str
        Why there is no likelihood, so that only corrected scores are left; "" if there is one.
    sample, inside, facts
        The complex sample, a cell a row, and the cells that the rows here are.
    """

    outcome: Outcome
    response: Any
    designs: Sequence[Array]
    names: Sequence[str]
    categories: pd.Index[Any] | None = None
    response_name: str = "y"
    offset: Array | None = None
    counts: Array | None = None
    weights: Array | None = None
    predictors: Mapping[str, Sequence[Reports]] = field(default_factory=dict)
    configurations: Sequence[tuple[Any, ...]] = ((),)
    marginal: pd.DataFrame | None = None
    candidates: Mapping[str, Any] = field(default_factory=dict)
    n_missing: int = 0
    formula: Any = None
    only_corrected: str = ""
    sample: Any = None
    inside: Any = None
    facts: Any = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.designs[0])

    @property
    def is_private(self) -> bool:
        """Whether the response is privatised."""
        return isinstance(self.response, Sequence)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Unknown parameters of the devices of the response."""
        groups = self.response if self.is_private else []
        return tuple(dict.fromkeys(name for one in groups for name in one.mechanism.unknown))

    @property
    def is_categorical(self) -> bool:
        """Whether the outcome is one of several categories."""
        return isinstance(self.outcome, Categorical)

    def mechanisms(self) -> list[Any]:
        """All mechanisms, of response and predictors."""
        groups = list(self.response) if self.is_private else []
        for one in self.predictors.values():
            groups += list(one)
        return [reports.mechanism for reports in groups]


# -- The model without covariates, and likelihoods given the reports on predictors ----------------


def conditional_value(likelihood: RegressionLikelihood, theta: Array) -> float:
    """Log-likelihood of the response reports given those on the private predictors."""
    value = likelihood.value(theta)
    if likelihood.marginal is None:
        return value
    assert likelihood.B is not None
    seen = np.einsum("nc,nc->n", likelihood.B[:], likelihood.law(theta))
    return value - float(likelihood.weights @ np.log(seen))


def null_results(model: RegressionStructure, theta: Array) -> tuple[float, float]:
    """Log-likelihood of the model with constants only: given the predictors' reports, and joint."""
    whole = model.likelihood
    design, outcome = whole.designs[0], whole.outcome
    columns = 0 if isinstance(outcome, Ordered) else 1
    plain = predictors_of(outcome, np.ones((whole.n, columns)), design.offset)
    null = _joined(replace(whole, designs=tuple(plain for _ in whole.designs)))
    first = start(null)
    m = null.n_outcome
    first[m:] = theta[whole.n_outcome :]
    if not isinstance(outcome, Normal) and whole.marginal is None and columns:
        first[:m] = 0.0
    found = search(null, first, units(null), concave=model.is_exact, n_random=2)
    return conditional_value(null, found.maximum.theta), found.maximum.value


def _joined(null: RegressionLikelihood) -> RegressionLikelihood:
    """The same likelihood, of which rows that are alike without covariates are one."""
    seen, offset = null.seen, null.designs[0].offset
    columns = [seen.at if isinstance(seen, Seen) else seen]
    columns += [] if null.B is None else [null.B.at]
    columns += [] if offset is None else [offset]
    columns += [] if null.marginal is None else [null.marginal.X]
    kinds = alike(columns) if null.n > 1 else None
    if kinds is None:
        return null
    first, place = kinds
    weights = np.bincount(place, null.weights, len(first))
    return replace(null.take(first, weights), constant=null.constant)


# -- Coefficients as labelled tables --------------------------------------------------------------


def shaped(model: RegressionStructure, values: Array, name: str) -> Any:
    """A number for each coefficient: a Series, or a DataFrame of a multinomial logit.

    With unknown parameters of devices a Series in any case; their numbers come last, or are left
    out.
    """
    categories = model.categories
    if model.unknown:
        return pd.Series(values, index=_with_parameters(model)[: len(values)], name=name)
    if isinstance(model.data.outcome, Multinomial) and categories is not None:
        table = np.asarray(values).reshape(len(categories) - 1, -1).T
        return pd.DataFrame(table, index=model.exog_names, columns=categories[1:])
    return pd.Series(values, index=model.exog_names + model.threshold_names, name=name)


def _with_parameters(model: RegressionStructure) -> list[str]:
    """Names of the coefficients, and of the unknown parameters."""
    return [*model.all_names[: model.n_shown], *model.unknown]


def shaped_intervals(model: RegressionStructure, limits: Array) -> pd.DataFrame:
    """Limits, (m, 2), as a table."""
    categories, columns = model.categories, ["lower", "upper"]
    if model.unknown:
        return pd.DataFrame(limits, index=_with_parameters(model), columns=columns)
    index: Any = model.exog_names + model.threshold_names
    if isinstance(model.data.outcome, Multinomial) and categories is not None:
        pairs = [(label, name) for label in categories[1:] for name in model.exog_names]
        index = pd.MultiIndex.from_tuples(pairs, names=[model.endog_names or "y", "name"])
    return pd.DataFrame(limits, index=index, columns=columns)
