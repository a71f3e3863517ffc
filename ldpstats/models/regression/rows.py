"""Rows of a regression: reports, covariates, weights and clusters as checked arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import as_array, numbers
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotIdentified
from ldpstats.reports.columns import not_reports
from ldpstats.reports.single import BitCounts, Counts, Reports

__all__ = [
    "cluster_codes",
    "covariates",
    "refuse_aliased",
    "report_groups",
    "response_name",
    "row_numbers",
    "row_weights",
    "same_labels",
    "whole_weights",
]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]

_ALIASED = 1e-9  # of the length of a column, what other columns leave of it
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
        if np.linalg.norm(left) > _ALIASED:
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
