"""What happens to a report after it is made: labels in, probabilities of new labels out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import distribution, numbers
from ldpstats.arguments.labels import as_labels, encode, preview
from ldpstats.errors import InvalidArgument

__all__ = [
    "Randomiser",
    "asked_of",
    "category_order",
    "distinct_labels",
    "law_of_processing",
    "ordered_table",
]

Array = npt.NDArray[Any]

_KINDS = (
    "must be what becomes of a report: a mechanism or a device, a dictionary or Series from each "
    "report to its new label, or a DataFrame with a row of probabilities for each report"
)


@runtime_checkable
class Randomiser(Protocol):
    """What makes a mechanism of given categories, such as a device of `ldpstats.devices`."""

    def mechanism(self, categories: Any) -> Any: ...


def asked_of(other: object, categories: pd.Index[Any]) -> Any:
    """The mechanism that a device makes of these categories; anything else as it is."""
    if isinstance(other, pd.DataFrame | pd.Series | type) or not isinstance(other, Randomiser):
        return other
    return other.mechanism(categories) if callable(other.mechanism) else other


def law_of_processing(other: object, outputs: pd.Index[Any]) -> tuple[Array, pd.Index[Any]]:
    """Probabilities R of the new labels for each of l reports, shape (l, m), and the m labels.

    Raises
    ------
    UnknownCategory
        If a key or row is no report.
    InvalidArgument
        For a report without a key or row, one with two, and rows that do not sum to one.
    """
    if isinstance(other, pd.DataFrame):
        return _table(other, outputs)
    if isinstance(other, pd.Series):
        return _recoded(other.index.tolist(), other.tolist(), outputs)
    if isinstance(other, Mapping):
        return _recoded(list(other), list(other.values()), outputs)
    raise InvalidArgument("other", other, _KINDS)


def distinct_labels(name: str, labels: list[Any], least: int = 1) -> tuple[pd.Index[Any], Array]:
    """Each of n labels once, in order of first appearance, and the places of the n among them."""
    places: dict[Any, int] = {}
    plain = [value.item() if isinstance(value, np.generic) else value for value in labels]
    try:  # 1 and True are two labels, which `as_labels` refuses together
        at = [places.setdefault((type(value), value), len(places)) for value in plain]
    except TypeError:
        remedy = "must hold labels: strings, integers, finite floats or booleans"
        raise InvalidArgument(name, labels, remedy) from None
    found = as_labels(name, [value for _, value in places], least)
    return found, np.array(at, dtype=np.int64)


def category_order(outputs: pd.Index[Any], categories: pd.Index[Any]) -> Array | None:
    """The place of each category among the outputs; None unless they are the same labels."""
    own, wanted = outputs.tolist(), categories.tolist()
    if len(own) != len(wanted):
        return None
    places = {(type(value), value): y for y, value in enumerate(own)}
    found = [places.get((type(value), value), -1) for value in wanted]
    return None if -1 in found else np.array(found)


def ordered_table(Q: object, categories: Any, outputs: Any) -> tuple[Any, Any, Any]:
    """A DataFrame's numbers and labels: of its rows as categories, of its columns as outputs.

    Rows and columns whose labels are given as well come in that order. Those that are only
    numbered, as pandas does by itself, have no labels. Anything else is left as it is.

    Raises
    ------
    InvalidArgument
        If labels are given that are not those of the rows or columns.
    """
    if not isinstance(Q, pd.DataFrame):
        return Q, categories, outputs
    found = []
    for axis, (name, given) in enumerate((("categories", categories), ("outputs", outputs))):
        own, what = Q.axes[axis], ("index", "columns")[axis]
        if not own.equals(pd.RangeIndex(len(own))):
            if isinstance(own, pd.MultiIndex):
                raise InvalidArgument(f"Q.{what}", own.tolist(), "must have one level of labels")
            labels = as_labels(f"Q.{what}", own.tolist(), least=1)
            wanted = labels if given is None else as_labels(name, given, least=1)
            order = category_order(labels, wanted)
            if order is None:
                remedy = f"must be the labels of Q.{what}, {preview(labels)}; or pass Q.to_numpy()"
                raise InvalidArgument(name, wanted.tolist(), remedy)
            Q, given = Q.iloc[order] if axis == 0 else Q.iloc[:, order], wanted
        found.append(given)
    return Q, found[0], found[1]


def _recoded(
    keys: list[Any], labels: list[Any], outputs: pd.Index[Any]
) -> tuple[Array, pd.Index[Any]]:
    """R of zeros and ones, from the label that each report becomes."""
    order = _one_each("other", keys, outputs, "new label")
    new, places = distinct_labels("other", [labels[i] for i in order])
    R = np.zeros((len(outputs), len(new)))
    R[np.arange(len(outputs)), places] = 1.0
    return R, new


def _table(other: pd.DataFrame, outputs: pd.Index[Any]) -> tuple[Array, pd.Index[Any]]:
    """R of a table: reports in rows, new labels in columns."""
    if isinstance(other.index, pd.MultiIndex) or isinstance(other.columns, pd.MultiIndex):
        raise InvalidArgument("other", other, "must have one label for each row and column")
    order = _one_each("other.index", other.index.tolist(), outputs, "row")
    new = as_labels("other.columns", other.columns.tolist(), least=1)
    remedy = "must hold probabilities: a row for each report, a column for each new label"
    R = numbers("other", other.to_numpy()[order], remedy, (len(outputs), len(new)))
    for label, row in zip(outputs.tolist(), R, strict=True):
        distribution(f"other.loc[{label!r}]", row, len(new))
    return R, new


def _one_each(name: str, keys: list[Any], outputs: pd.Index[Any], what: str) -> Array:
    """Positions of the keys in the order of the reports, each of which has one."""
    codes = encode(name, keys, outputs)[0] if keys else np.empty(0, dtype=np.int64)
    times = np.bincount(codes, minlength=len(outputs))
    if (times != 1).any():
        label = outputs.tolist()[int(np.argmax(times != 1))]
        remedy = (
            f"each of the {len(outputs)} reports {preview(outputs)} needs one {what}, one that "
            "stays as it is too"
        )
        many = "twice" if times.max() > 1 and times[outputs.tolist().index(label)] else "missing"
        raise InvalidArgument(name, label, f"is {many}: {remedy}")
    return np.argsort(codes)
