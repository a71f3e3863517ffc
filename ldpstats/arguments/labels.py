"""Category labels: what the caller may pass, and the codes 0 .. k-1 that arrays use."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import as_array, listed, one_of, positive_integer, whole_below
from ldpstats.arguments.distinct import factorized
from ldpstats.errors import InvalidArgument, UnknownCategory

__all__ = [
    "align",
    "as_labels",
    "as_series",
    "check_column",
    "column_name",
    "encode",
    "labels_from_json",
    "labels_to_json",
    "missing_entries",
    "place_of",
    "position",
    "preview",
    "sensitive_codes",
    "sensitive_labels",
    "two_positions",
    "whole",
]

_PLAIN = (str, bool, int, float)
_MANY_LABELS = 1 << 20
_ABSENT = -2  # the code of a missing value; -1 is that of an unknown one


def as_labels(name: str, labels: object, least: int = 2) -> pd.Index[Any]:
    """Return distinct labels as an Index; an int k stands for 0 .. k-1, which takes no memory."""
    if isinstance(labels, int | np.integer) and not isinstance(labels, bool):
        return pd.RangeIndex(positive_integer(name, labels, least))
    if isinstance(labels, pd.Series) and isinstance(labels.dtype, pd.CategoricalDtype):
        labels = labels.cat.categories
    elif isinstance(labels, pd.Categorical | pd.CategoricalIndex | pd.CategoricalDtype):
        labels = labels.categories
    if isinstance(labels, pd.RangeIndex) and labels.start == 0 and labels.step == 1:
        return pd.RangeIndex(positive_integer(f"len({name})", len(labels), least))
    if isinstance(labels, str | bytes | float | bool | Mapping) or labels is None:
        raise InvalidArgument(name, labels, "must be a number of categories or a list of labels")
    if isinstance(labels, pd.DataFrame):
        raise InvalidArgument(name, labels, "is a table: pass the list of possible labels")
    if isinstance(labels, set | frozenset):
        raise InvalidArgument(name, labels, "has no order: pass a list or a tuple")
    found = listed(name, labels, "must be a number of categories or a list of labels")
    values = [_plain(value) for value in found]
    try:
        return _checked_labels(name, values, least)
    except InvalidArgument:
        if name in ("categories", "alphabet"):
            _refuse_answers(name, labels, values)
        raise


def _refuse_answers(name: str, labels: object, values: list[Any]) -> None:
    """Refuse a column of answers in the place of the possible ones."""
    try:
        distinct = pd.Series(values, dtype=object).nunique()
    except Exception:  # what cannot be hashed, or compared, is no answer
        return
    column = isinstance(labels, pd.Series | pd.Index | np.ndarray)
    if len(values) > (1 if column else 2) * distinct:
        raise InvalidArgument(
            name,
            f"{len(values)} values, {distinct} different",  # not quoted: they may be true answers
            "is a column of answers, where labels repeat or are missing. Pass the possible answers "
            "in order, each once, such as ('no', 'yes'); those that nobody gave belong to them",
        )


def _plain(value: Any) -> Any:
    """A label as Python's own type, where it is one of numpy's or text of a subclass."""
    if isinstance(value, np.generic):
        return value.item()
    return str.__str__(value) if isinstance(value, str) else value


def _checked_labels(name: str, values: list[Any], least: int) -> pd.Index[Any]:
    if len(values) < least:
        raise InvalidArgument(name, values, f"needs at least {least} labels")
    for value in values:
        if not isinstance(value, _PLAIN) or (isinstance(value, float) and not isfinite(value)):
            raise InvalidArgument(
                name,
                value,
                "labels must be strings, integers, finite floats or booleans, never missing; "
                "convert others, such as the intervals of pd.cut, with .astype(str), labels "
                "and values",
            )
    if values == list(range(len(values))) and all(type(v) is int for v in values):
        return pd.RangeIndex(len(values))
    # labels that look the same in print (1 and "1") or compare equal (1 and True) get mixed up
    seen: set[Any] = set()
    for value in values:
        if str(value) in seen or value in seen:
            raise InvalidArgument(name, value, "the label occurs twice: labels must be distinct")
        seen |= {value, str(value)}
    kind = (
        object if len({type(v) for v in values}) > 1 or isinstance(values[0], str | bool) else None
    )
    index: pd.Index[Any] = pd.Index(values, dtype=kind)
    return index


def encode(
    name: str, values: object, labels: pd.Index[Any], missing: str = "raise", check: bool = True
) -> tuple[npt.NDArray[np.int64], int]:
    """Return codes of `values` among `labels`, and how many missing values were set aside.

    ``check=False`` trusts integers to be labels 0 .. k-1: the caller finds those out of range.
    """
    missing = one_of("missing", missing, ("raise", "count"))
    if isinstance(labels, pd.RangeIndex) and type(values) is np.ndarray:  # not a masked one
        if values.ndim == 1 and values.dtype.kind in "iu":
            return _integer_codes(name, values, len(labels), check), 0
    found = _quickly(values, labels)
    if found is not None and (not found[1] or missing == "count"):
        return found
    series = as_series(name, values)
    absent = missing_entries(name, series)
    n_missing = int(absent.sum())
    if n_missing and missing == "raise":
        raise InvalidArgument(
            f"{name}[{int(np.argmax(absent))}]",
            series.iloc[int(np.argmax(absent))],
            f"is missing ({n_missing} of {len(series)} are): leave missing answers out yourself, "
            "or pass missing='count' to have them counted and reported",
        )
    present = series[~absent] if n_missing else series
    try:
        codes = _codes(present, labels)
    except Exception:  # lists, bytes; and to compare somebody else's object may raise anything
        raise InvalidArgument(name, values, f"must be labels such as {preview(labels)}") from None
    if (codes < 0).any():
        first = int(np.argmax(codes < 0))
        unknown = present.iloc[first]
        unknown = unknown.item() if isinstance(unknown, np.generic) else unknown
        raise UnknownCategory(
            f"{name}[{present.index[first]}]",
            unknown,
            f"is not among the {len(labels)} labels {preview(labels)} "
            f"({int((codes < 0).sum())} such values); correct it or add the label to categories=",
        )
    return codes, n_missing


def _quickly(values: object, labels: pd.Index[Any]) -> tuple[npt.NDArray[np.int64], int] | None:
    """What `encode` returns for a long column; None where there is no short cut, or an error."""
    if isinstance(labels, pd.RangeIndex) and isinstance(values, pd.Series):
        array = values.to_numpy() if isinstance(values.dtype, np.dtype) else np.empty(0)
        if array.size and whole_below(array, len(labels)):
            return array.astype(np.int64), 0
    found = factorized(values, labels)
    if found is None:
        return None
    try:
        places = _codes(pd.Series(found[1], dtype=object), labels)
    except Exception:  # to compare somebody else's object may raise anything
        return None
    codes = np.append(places, _ABSENT)[found[0]]
    if codes.min() >= 0:
        return codes, 0
    if (codes == -1).any():  # no label: the error says which
        return None
    present = codes[codes >= 0]
    return present, codes.size - present.size


def missing_entries(name: str, series: pd.Series[Any]) -> npt.NDArray[np.bool_]:
    """Which values of a column are missing."""
    try:
        return series.isna().to_numpy()
    except (ArithmeticError, TypeError):  # a signalling NaN, bytes without a type
        remedy = "holds a value that is neither a label nor missing"
        raise InvalidArgument(name, series.tolist(), remedy) from None


def place_of(value: object, labels: pd.Index[Any]) -> int | None:
    """The code of one answer, text or a whole number; None where `encode` has to say."""
    kind = type(value)
    if isinstance(labels, pd.RangeIndex):
        return value if kind is int and 0 <= value < len(labels) else None  # type: ignore[operator,return-value]
    if labels.inferred_type == {str: "string", int: "integer"}.get(kind):
        try:
            place: Any = labels.get_loc(value)
            return int(place)
        except (KeyError, OverflowError):
            pass
    return None


def position(name: str, label: object, labels: pd.Index[Any], remedy: str) -> int:
    """Return the place of one label among `labels`; `remedy` says what it should have been."""
    if isinstance(label, str | bool | int | float | np.generic):
        try:
            codes = encode(name, [_plain(label)], labels)[0]
        except InvalidArgument:
            codes = np.empty(0, dtype=np.int64)
        if codes.size:
            return int(codes[0])
    raise InvalidArgument(name, label, remedy)


def positions(name: str, labels: object, categories: pd.Index[Any]) -> list[int]:
    """Return the places of one category, or of a list of different ones."""
    several = labels if isinstance(labels, list) else [labels]
    remedy = f"must be a category, or a list of different ones: {list(categories)}"
    places = [position(name, label, categories, remedy) for label in several]
    if not places or len(set(places)) < len(places):
        raise InvalidArgument(name, labels, remedy)
    return places


def two_positions(name: str, given: object, labels: pd.Index[Any], remedy: str) -> list[int]:
    """Return the places of two different labels; `remedy` says what one should have been."""
    two = "must be two different labels"
    places = [position(name, label, labels, remedy) for label in listed(name, given, two)]
    if len(places) != 2 or places[0] == places[1]:
        raise InvalidArgument(name, given, two)
    return places


def column_name(values: object) -> str:
    """The name of a column, where it has one that is text; else none."""
    own = values.name if isinstance(values, pd.Series | pd.Index) else None
    return str.__str__(own) if isinstance(own, str) else ""


def check_column(name: str, column: object, frame: pd.DataFrame) -> None:
    """Refuse the name of a column that a table lacks, or has more than once."""
    names: list[Any] = frame.columns.tolist()
    hashable = isinstance(column, str | int | float | tuple | np.generic)
    times = names.count(_plain(column)) if hashable else 0
    if times != 1:
        found = "more than one" if times else "no"
        raise InvalidArgument(name, column, f"{found} such column; the table has {names}")


def sensitive_codes(
    sensitive: object, labels: pd.Index[Any], name: str = "sensitive"
) -> npt.NDArray[np.int64]:
    """Codes of the sensitive ones among `labels`, in increasing order."""
    if isinstance(sensitive, str | bytes) or not isinstance(sensitive, Iterable):
        raise InvalidArgument(
            name, sensitive, "must be a set or list of categories; an empty one protects nothing"
        )
    if not isinstance(sensitive, np.ndarray | pd.Series | pd.Index | pd.Categorical | pd.DataFrame):
        if isinstance(sensitive, set | frozenset | Mapping):
            sensitive = tuple(sensitive)
        sensitive = listed(name, sensitive, "must be a set or list of categories")
    if missing_entries(name, as_series(name, sensitive)).any():
        raise InvalidArgument(name, sensitive, "holds a missing value: name categories only")
    codes = encode(name, sensitive, labels)[0]
    distinct, times = np.unique(codes, return_counts=True)
    if distinct.size != codes.size:
        twice = labels[int(distinct[np.argmax(times)])]
        raise InvalidArgument(name, twice, "the category occurs twice: name each once")
    return np.sort(codes)


def sensitive_labels(codes: npt.NDArray[np.int64], labels: pd.Index[Any]) -> pd.Index[Any]:
    """The labels at `codes`, as a list: never a range, which would be written as a number."""
    found: pd.Index[Any] = pd.Index(labels.take(codes).to_numpy(), dtype=labels.dtype)
    return found


def as_series(name: str, values: object) -> pd.Series[Any]:
    """Return a column of values as a Series numbered from 0; a single value has length one."""
    remedy = "must be one-dimensional: a Series, array or list"
    if np.isscalar(values) or values is None:
        values = [values]
    if isinstance(values, list) and len(values) == 1 and isinstance(values[0], str):
        return pd.Series(values, dtype=object)  # a device's one answer, however long: not copied
    if isinstance(values, pd.DataFrame | dict | set):
        raise InvalidArgument(name, values, remedy)
    if isinstance(values, pd.MultiIndex):
        raise InvalidArgument(name, values, remedy)
    arrow: Any = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(values, arrow.ChunkedArray):
        if arrow.types.is_dictionary(values.type):  # numpy would read the codes of each chunk
            values = values.cast(values.type.value_type)
    if not isinstance(values, pd.Series | pd.Index):
        # a masked entry is missing, not refused
        array = values if isinstance(values, np.ndarray) else as_array(name, values, remedy)
        if array.ndim != 1 or array.dtype.names:
            raise InvalidArgument(name, values, remedy)
        if not array.dtype.isnative:  # which pandas cannot compare
            values = array.astype(array.dtype.newbyteorder("="))
    series: pd.Series[Any]
    try:
        series = pd.Series(values)
    except UnicodeEncodeError:  # half of a surrogate pair; which one, the caller finds out
        series = pd.Series(values, dtype=object)
    except (TypeError, ValueError):
        raise InvalidArgument(name, values, remedy) from None
    return series.reset_index(drop=True)


def _integer_codes(
    name: str, values: npt.NDArray[Any], k: int, check: bool
) -> npt.NDArray[np.int64]:
    codes = values.astype(np.int64, copy=False)
    if check and not whole_below(codes, k):
        first = int(np.argmax((values < 0) | (values >= k)))
        raise UnknownCategory(
            f"{name}[{first}]", int(values[first]), f"is not among the {k} labels 0 to {k - 1}"
        )
    return codes


def _codes(present: pd.Series[Any], labels: pd.Index[Any]) -> npt.NDArray[np.int64]:
    if isinstance(present.dtype, pd.CategoricalDtype):
        lookup = _positions(pd.Index(present.cat.categories, dtype=object), labels)
        return lookup[present.cat.codes.to_numpy()].astype(np.int64)
    if isinstance(labels, pd.RangeIndex) and present.dtype.kind in "iu":
        values = present.to_numpy()
        return np.where((values >= 0) & (values < len(labels)), values, -1).astype(np.int64)
    if labels.dtype == object:
        return _positions(pd.Index(present, dtype=object), labels)
    if present.dtype == bool:  # True is not the label 1
        return np.full(len(present), -1, dtype=np.int64)
    return _positions(pd.Index(present), labels)


def _positions(values: pd.Index[Any], labels: pd.Index[Any]) -> npt.NDArray[np.int64]:
    """Positions of values among `labels`, -1 where absent."""
    if not isinstance(labels, pd.RangeIndex) or len(labels) <= _MANY_LABELS:
        return np.asarray(labels.get_indexer(values)).astype(np.int64)
    # pandas would list all labels: look among the few that are near instead
    k, numbers = len(labels), (int, float, np.integer, np.floating)
    inside = (v for v in values.tolist() if isinstance(v, numbers) and 0 <= v < k)
    near = np.array(sorted({int(v) for v in inside}), dtype=np.int64)
    found = pd.Index(near).get_indexer(values)
    return np.where(found < 0, -1, np.append(near, -1)[found])


def preview(labels: pd.Index[Any]) -> str:
    """The first labels, for a message."""
    shown = [repr(v) for v in labels[:5].tolist()]
    return ", ".join(shown) + (", ..." if len(labels) > 5 else "")


def by_label(name: str, values: object) -> Any:
    """A mapping from labels to numbers as a Series; anything else as it is."""
    if not isinstance(values, Mapping):
        return values
    try:
        given = dict(values)
        index: pd.Index[Any] = pd.Index(list(given), dtype=object, tupleize_cols=False)
        return pd.Series(list(given.values()), index=index.infer_objects(), dtype=object)
    except Exception:  # somebody else's mapping may raise anything
        raise InvalidArgument(name, values, "must be a mapping from labels to numbers") from None


def align(name: str, values: object, labels: pd.Index[Any], absent: float | None = None) -> Any:
    """Put a Series or mapping in the order of `labels`, absent ones filled; leave others alone.

    Labels may be absent only if `absent` is given. Missing values stay, for the caller to refuse.
    """
    kind = "Series" if isinstance(values, pd.Series) else "mapping"
    values = by_label(name, values)
    if not isinstance(values, pd.Series):
        return values
    given = values.index
    lacking = absent is None and len(given) < len(labels)
    known = not (lacking or isinstance(given, pd.MultiIndex) or given.has_duplicates)
    if not (known and given.astype(object).isin(labels).all()):
        raise InvalidArgument(
            name, given.tolist(), f"as a {kind} must be indexed by the labels {preview(labels)}"
        )
    held = values.dtype
    if pd.api.types.is_bool_dtype(held) or not pd.api.types.is_numeric_dtype(held):
        # cannot be filled with a number
        values = pd.Series(values.to_numpy(), index=given, dtype=object)
    # only what is absent is filled: a missing value that was given stays missing
    found = values.set_axis(given.astype(object)).reindex(labels.astype(object), fill_value=absent)
    return found.infer_objects().to_numpy()


def labels_to_json(labels: pd.Index[Any]) -> int | list[Any]:
    """Labels as JSON: an int for 0 .. k-1, else the list."""
    return len(labels) if isinstance(labels, pd.RangeIndex) else labels.tolist()


def labels_from_json(name: str, document: object) -> pd.Index[Any]:
    """Inverse of `labels_to_json`."""
    if not isinstance(document, int | list):
        raise InvalidArgument(name, document, "must be a number of labels or a list of labels")
    return as_labels(name, document, least=1)


def whole(value: Any) -> Any:
    """The number whose text this is ("1", not "01"); anything else as it is."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        number = int(value)
        return number if str(number) == value else value
    return value
