"""Category labels: what the caller may pass, and the codes 0 .. k-1 that arrays use.

`encode` finds answers that are labels. `matched` finds answers as people write them: a value that
is a label is that label. Otherwise surrounding blanks are ignored, text stands for the number (3,
-3, 3.0) or the truth value (True, true, TRUE) that it spells, a number or truth value for its text,
and a whole float for an integer. A value is matched if exactly one label fits. Empty text is
missing unless it is a label. Case matters, and True is 1 only where the labels are 0 and 1. Bins of
numbers contain their lower edge, and the last one its upper edge too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from math import isfinite
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    as_array,
    listed,
    nearest_label,
    numbers,
    one_of,
    positive_integer,
    whole_below,
)
from ldpstats.errors import HIDDEN, InvalidArgument, UnknownCategory, shorten

Labels: TypeAlias = "pd.Index[Any]"  # which takes no argument when the program runs
Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

__all__ = [
    "OTHER_LABELS",
    "Labels",
    "align",
    "arrow_text",
    "as_labels",
    "as_series",
    "binned",
    "by_label",
    "check_column",
    "checked_edges",
    "column_name",
    "encode",
    "factorized",
    "interval_labels",
    "is_text",
    "labels_from_json",
    "labels_to_json",
    "matched",
    "midpoints",
    "missing_entries",
    "place_of",
    "position",
    "positions",
    "present_answers",
    "preview",
    "sensitive_codes",
    "sensitive_labels",
    "two_positions",
    "whole",
    "written_as",
]


_PLAIN = (str, bool, int, float)
_MANY_LABELS = 1 << 20
_MISSING, _UNKNOWN = -1, -2  # codes


def as_labels(name: str, labels: object, least: int = 2) -> Labels:
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
    values = list(map(_plain, found))
    try:
        return _checked_labels(name, values, least)
    except InvalidArgument:
        if name not in ("categories", "alphabet"):
            raise
        try:
            distinct = pd.Series(values, dtype=object).nunique()
        except Exception:  # what cannot be hashed, or compared, is no answer
            distinct = len(values)
        column = isinstance(labels, pd.Series | pd.Index | np.ndarray)
        if len(values) <= (1 if column else 2) * distinct:
            raise
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


def _checked_labels(name: str, values: list[Any], least: int) -> Labels:
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
    mixed = len(set(map(type, values))) > 1 or isinstance(values[0], str | bool)
    index: Labels = pd.Index(values, dtype=object if mixed else None)
    return index


def encode(
    name: str, values: object, labels: Labels, missing: str = "raise", check: bool = True
) -> tuple[Codes, int]:
    """Return codes of `values` among `labels`, and how many missing values were set aside.

    ``check=False`` trusts integers to be labels 0 .. k-1: the caller finds those out of range.
    """
    missing = one_of("missing", missing, ("raise", "count"))
    if not check and isinstance(labels, pd.RangeIndex) and type(values) is np.ndarray:
        if values.ndim == 1 and values.dtype.kind in "iu":
            return values.astype(np.int64, copy=False), 0
    quick = _quickly(values, labels, lambda distinct: _codes(pd.Series(distinct), labels))
    if quick is not None:
        n_missing = int((quick == _MISSING).sum())
        if not n_missing:
            return quick, 0
        if missing == "count":
            return quick[quick >= 0], n_missing
    present, n_missing = present_answers(name, values, missing)
    try:
        codes = _codes(present, labels)
    except Exception:  # lists, bytes; and to compare somebody else's object may raise anything
        raise InvalidArgument(name, values, f"must be labels such as {preview(labels)}") from None
    unknowns = codes == _UNKNOWN
    if unknowns.any():
        first = int(np.argmax(unknowns))
        unknown = present.iloc[first]
        unknown = unknown.item() if isinstance(unknown, np.generic) else unknown
        raise UnknownCategory(
            f"{name}[{present.index[first]}]",
            unknown,
            f"is not among the {len(labels)} labels {preview(labels)} "
            f"({int(unknowns.sum())} such values); correct it or add the label to categories=",
        )
    return codes, n_missing


def _quickly(values: object, labels: Labels, places: Callable[[Labels], Codes]) -> Codes | None:
    """Codes of numbers, or of a long column by the `places` of its values, -1 where missing.

    None where there is no short cut, or a value is no label.
    """
    if isinstance(labels, pd.RangeIndex):
        numpys = isinstance(values, pd.Series) and isinstance(values.dtype, np.dtype)
        array = values.to_numpy() if numpys else values  # type: ignore[attr-defined]
        if type(array) is np.ndarray and array.ndim == 1:  # not a masked one
            if whole_below(array, len(labels)):
                return array.astype(np.int64)
    factors = factorized(values, labels)
    if factors is None:
        return None
    try:
        found: Codes = np.append(places(pd.Index(factors[1], dtype=object)), _MISSING)[factors[0]]
    except Exception:  # to compare somebody else's object may raise anything
        return None
    return None if (found == _UNKNOWN).any() else found


def present_answers(name: str, values: object, missing: str) -> tuple[pd.Series[Any], int]:
    """The answers that are there, with their places, and how many are missing, if any may be."""
    one_of("missing", missing, ("raise", "count"))
    series = as_series(name, values)
    absent = missing_entries(name, series)
    n_missing = int(absent.sum())
    if n_missing and missing == "raise":
        first = int(np.argmax(absent))
        remedy = f"is missing ({n_missing} of {len(series)} are): leave missing answers out "
        remedy += "yourself, or pass missing='count' to have them counted and reported"
        raise InvalidArgument(f"{name}[{first}]", series.iloc[first], remedy)
    return series[~absent] if n_missing else series, n_missing


def missing_entries(name: str, series: pd.Series[Any]) -> npt.NDArray[np.bool_]:
    """Which values of a column are missing."""
    try:
        return series.isna().to_numpy()
    except (ArithmeticError, TypeError):  # a signalling NaN, bytes without a type
        remedy = "holds a value that is neither a label nor missing"
        raise InvalidArgument(name, series.tolist(), remedy) from None


def place_of(value: object, labels: Labels) -> int | None:
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


def position(name: str, label: object, labels: Labels, remedy: str) -> int:
    """Return the place of one label among `labels`; `remedy` says what it should have been."""
    if isinstance(label, str | bool | int | float | np.generic):
        try:
            codes = encode(name, [_plain(label)], labels)[0]
        except InvalidArgument:
            codes = np.empty(0, dtype=np.int64)
        if codes.size:
            return int(codes[0])
    raise InvalidArgument(name, label, remedy)


def positions(name: str, labels: object, categories: Labels) -> list[int]:
    """Return the places of one category, or of a list of different ones."""
    several = labels if isinstance(labels, list) else [labels]
    remedy = f"must be a category, or a list of different ones: {list(categories)}"
    places = [position(name, label, categories, remedy) for label in several]
    if not places or len(set(places)) < len(places):
        raise InvalidArgument(name, labels, remedy)
    return places


def two_positions(name: str, given: object, labels: Labels, remedy: str) -> list[int]:
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


def sensitive_codes(sensitive: object, labels: Labels) -> Codes:
    """Codes of the sensitive ones among `labels`, in increasing order."""
    name, remedy = "sensitive", "must be a set or list of categories"
    if isinstance(sensitive, str | bytes) or not isinstance(sensitive, Iterable):
        raise InvalidArgument(name, sensitive, f"{remedy}; an empty one protects nothing")
    if not isinstance(sensitive, np.ndarray | pd.Series | pd.Index | pd.Categorical | pd.DataFrame):
        if isinstance(sensitive, set | frozenset | Mapping):
            sensitive = tuple(sensitive)
        sensitive = listed(name, sensitive, remedy)
    if missing_entries(name, as_series(name, sensitive)).any():
        raise InvalidArgument(name, sensitive, "holds a missing value: name categories only")
    codes = encode(name, sensitive, labels)[0]
    distinct, times = np.unique(codes, return_counts=True)
    if distinct.size != codes.size:
        twice = labels[int(distinct[np.argmax(times)])]
        raise InvalidArgument(name, twice, "the category occurs twice: name each once")
    return distinct


def sensitive_labels(codes: Codes, labels: Labels) -> Labels:
    """The labels at `codes`, as a list: never a range, which would be written as a number."""
    found: Labels = pd.Index(labels.take(codes).to_numpy(), dtype=labels.dtype)
    return found


def as_series(name: str, values: object) -> pd.Series[Any]:
    """Return a column of values as a Series numbered from 0; a single value has length one."""
    remedy = "must be one-dimensional: a Series, array or list"
    if np.isscalar(values) or values is None:
        values = [values]
    if isinstance(values, list) and len(values) == 1 and isinstance(values[0], str):
        return pd.Series(values, dtype=object)  # a device's one answer, however long: not copied
    if isinstance(values, pd.DataFrame | dict | set | pd.MultiIndex):
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


def _codes(present: pd.Series[Any], labels: Labels) -> Codes:
    if isinstance(present.dtype, pd.CategoricalDtype):
        lookup = _positions(pd.Index(present.cat.categories, dtype=object), labels)
        return lookup[present.cat.codes.to_numpy()]
    if labels.dtype == object:
        return _positions(pd.Index(present, dtype=object), labels)
    if _zero_one(labels) and pd.api.types.infer_dtype(present) == "boolean":
        present = present.astype(np.int64)
    elif present.dtype == bool:  # True is no other label 1
        return np.full(len(present), _UNKNOWN)
    return _positions(pd.Index(present), labels)


def _zero_one(labels: Labels) -> bool:
    """Whether the labels are the numbers 0 and 1, which stand for no and yes."""
    return labels.dtype.kind == "i" and sorted(labels[:3].tolist()) == [0, 1]


def _positions(values: Labels, labels: Labels) -> Codes:
    """Positions of values among `labels`."""
    counted, k = isinstance(labels, pd.RangeIndex), len(labels)
    if counted and isinstance(values.dtype, np.dtype) and values.dtype.kind in "iu":
        codes = values.to_numpy()
        return np.where((codes >= 0) & (codes < k), codes, _UNKNOWN).astype(np.int64)
    if counted and k > _MANY_LABELS:
        # pandas would list all labels: look among the few that are near instead
        numbers = (int, float, np.integer, np.floating)
        inside = (v for v in values.tolist() if isinstance(v, numbers) and 0 <= v < k)
        near = np.array(sorted({int(v) for v in inside}), dtype=np.int64)
        found = np.append(near, _UNKNOWN)[pd.Index(near).get_indexer(values)]
    else:
        found = np.asarray(labels.get_indexer(values))
    return np.where(found < 0, _UNKNOWN, found).astype(np.int64)


def preview(labels: Labels) -> str:
    """The first labels, for a message."""
    shown = [repr(v) for v in labels[:5].tolist()]
    return ", ".join(shown) + (", ..." if len(labels) > 5 else "")


def by_label(name: str, values: object) -> Any:
    """A mapping from labels to numbers as a Series; anything else as it is."""
    if not isinstance(values, Mapping):
        return values
    try:
        given = dict(values)
        index: Labels = pd.Index(list(given), dtype=object, tupleize_cols=False)
        return pd.Series(list(given.values()), index=index.infer_objects(), dtype=object)
    except Exception:  # somebody else's mapping may raise anything
        raise InvalidArgument(name, values, "must be a mapping from labels to numbers") from None


def align(name: str, values: object, labels: Labels, absent: float | None = None) -> Any:
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


def labels_to_json(labels: Labels) -> int | list[Any]:
    """Labels as JSON: an int for 0 .. k-1, else the list."""
    return len(labels) if isinstance(labels, pd.RangeIndex) else labels.tolist()


def labels_from_json(name: str, document: object) -> Labels:
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


# -- Answers as people write them: matched with labels where exactly one label fits ---------------


OTHER_LABELS = "or make the mechanism with the labels of the data (categories=...)"
"""What to do where the data have other labels than the mechanism."""

Key = tuple[str, Any]  # "bool", "number" or "text", and the value: True, 1 and "1" differ

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,3})?")
_TRUTH = {spelled: truth for truth in (True, False) for spelled in (f"{truth}", f"{truth}".lower())}
_TRUTH |= {spelled.upper(): truth for spelled, truth in _TRUTH.items()}
_EXACT = 2.0**53  # a whole float from here on may stand for other integers
_MOST_COMPARED = 5_000  # labels among which the one nearest to an unknown value is searched
# object columns of one type: others may hold values that compare equal, such as 1, 1.0 and True
_ALIKE = {"string", "boolean", "integer", "floating", "decimal", "empty"}


def matched(
    where: str,
    values: object,
    labels: Labels,
    secret: bool = False,
    other: str = OTHER_LABELS,
    done: int | None = None,
    exact: bool = False,
) -> Codes:
    """Return codes of answers among `labels`, int64 of shape (n,), -1 where missing.

    Errors name `where` and the row, from 1; with ``secret=True`` they do not show the value.
    `other` is what to do where the data have other labels; of a file, `done` rows come before. With
    ``exact=True`` text is a label as it stands, or none.
    """
    known = _Labels(labels, exact)
    quick = _quickly(values, labels, known.places)
    if quick is not None:
        return quick
    try:
        codes, distinct = _factorized(where, values)
        found: Codes = np.append(known.places(distinct), _MISSING)[codes]
    except InvalidArgument as error:
        raise type(error)(where, HIDDEN, error.unquoted) if secret else error from None
    except Exception:  # nested columns; and to compare somebody else's object may raise anything
        remedy = f"must be labels such as {preview(labels)}"
        raise InvalidArgument(where, HIDDEN if secret else values, remedy) from None
    if (found == _UNKNOWN).any():
        row = int(np.argmax(found == _UNKNOWN))
        value, times = distinct[codes[row]], int((codes == codes[row]).sum())
        raise known.refusal(where, row, HIDDEN if secret else value, times, other, done)
    return found


def written_as(column: pd.Series[Any], codes: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which values of a column are one of some codes as people write them, shape (n,).

    The code "9" is 9, 9.0, "9" and "9.0". A column of a type that holds no answers has none.
    """
    keys = {key for code in codes for key in _spelled(code)}
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        found = column.isin([value for kind, value in keys if kind == "number"])
        return found.to_numpy(dtype=bool, na_value=False)
    try:
        places, distinct = _factorized("column", column)
    except Exception:  # a nested column, which whoever reads it as answers refuses
        return np.zeros(len(column), dtype=bool)
    fits = [not keys.isdisjoint(_spelled(value)) for value in distinct.tolist()]
    return np.array([*fits, False])[places]


def _spelled(value: Any) -> list[Key]:
    """What a value can be taken for: itself, or the number that its text spells."""
    key = _key(value)
    if key is None or key[0] != "text":
        return [] if key is None else [key]
    text = key[1].strip()
    keys: list[Key] = [("text", text)]
    if found := _NUMBER.fullmatch(text):
        _, decimals, power = found.groups()
        if power is None and not (decimals or "").strip(".0"):
            keys.append(("number", int(text.partition(".")[0])))
        elif power is None or not float(text).is_integer():  # powers of ten as in 1e-07
            keys.append(("number", float(text)))
    return keys


def _factorized(where: str, values: object) -> tuple[Codes, Labels]:
    """Codes of distinct values, (n,), -1 where missing; and the distinct values."""
    arrow: Any = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(values, arrow.Array | arrow.ChunkedArray):
        values = pd.Series(values, dtype=pd.ArrowDtype(values.type))
    column = as_series(where, values)
    absent = missing_entries(where, column)
    distinct: Labels
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) not in _ALIKE:
        keys = pd.Series([(type(v), v) if _key(v) else id(v) for v in column], dtype=object)
        codes = pd.factorize(keys)[0]
        distinct = pd.Index(column.iloc[np.unique(codes, return_index=True)[1]], dtype=object)
    else:
        codes, distinct = pd.factorize(column)
    codes[absent] = _MISSING
    return codes, distinct


def _key(value: Any) -> Key | None:
    """What a value is, and itself; None for what cannot be an answer."""
    if isinstance(value, str):
        return "text", str.__str__(value)
    if isinstance(value, bool | np.bool_):
        return "bool", bool(value)
    # numpy's durations count as integers
    if isinstance(value, Real | Decimal) and not isinstance(value, np.timedelta64):
        return "number", value
    return None


@dataclass(frozen=True)
class _Labels:
    """Labels, and how answers find them."""

    labels: pd.Index[Any]
    exact: bool

    def places(self, distinct: Labels) -> Codes:
        """Codes of distinct values, shape (u,)."""
        kind = distinct.dtype
        if isinstance(self.labels, pd.RangeIndex) and isinstance(kind, np.dtype):
            if kind.kind in "iu":
                return _positions(distinct, self.labels)
        values = distinct.tolist()
        found = np.full(len(values), _UNKNOWN)
        if self.labels.inferred_type == "string" and {*map(type, values)} <= {str, np.str_}:
            found = _positions(pd.Index(values, dtype=object), self.labels)
        for i in np.flatnonzero(found < 0):
            found[i] = self._place(values[i])
        return found

    def _place(self, value: Any) -> int:
        """Code of one value, missing or unknown ones included."""
        key = _key(value)
        if key is None or value != value:
            return _UNKNOWN if key is None else _MISSING
        exact = self._exact(key)
        if exact is not None:
            return exact
        if key[0] == "text" and not key[1].strip():
            exact = self._exact(("text", ""))
            return _MISSING if exact is None else exact
        fits = set[int]() if self.exact else set(self._alike(key))
        return fits.pop() if len(fits) == 1 else _UNKNOWN

    def _exact(self, key: Key) -> int | None:
        kind, value = key
        if isinstance(self.labels, pd.RangeIndex):
            inside = kind == "number" and 0 <= value < len(self.labels) and value == int(value)
            return int(value) if inside else None
        place = self._by_key.get(key)
        if place is not None and isinstance(value, float) and abs(value) >= _EXACT:
            return place if isinstance(self.labels[place], float) else None
        return place

    def _alike(self, key: Key) -> Iterator[int]:
        """Codes of the labels that fit a value which is not itself a label."""
        kind, value = key
        if kind == "text":
            (_, text), *spelled = _spelled(value)
            if text in _TRUTH:
                spelled.append(("bool", _TRUTH[text]))
            if text in _TRUTH and _zero_one(self.labels):
                spelled.append(("number", int(_TRUTH[text])))
            yield from (place for key in spelled if (place := self._exact(key)) is not None)
            texts = {text}
        else:
            texts = {str(value)}
            if kind == "number" and abs(value) < _EXACT and value == int(value):
                texts.add(str(int(value)))
            if kind == "bool" and _zero_one(self.labels):
                yield self.labels.tolist().index(int(value))
        for text in texts:
            yield from self._by_text.get(text, ())

    @cached_property
    def _by_key(self) -> dict[Key, int]:
        keys = map(_key, self.labels.tolist())
        return {key: place for place, key in enumerate(keys) if key is not None}

    @cached_property
    def _by_text(self) -> dict[str, list[int]]:
        """Codes of labels that are text, by what is between their surrounding blanks."""
        places: dict[str, list[int]] = {}
        for (kind, value), place in self._by_key.items():
            if kind == "text":
                places.setdefault(value.strip(), []).append(place)
        return places

    def refusal(
        self, where: str, row: int, value: object, times: int, other: str, done: int | None
    ) -> UnknownCategory:
        """The error about a value that is no label, given so many times; some are not shown."""
        value = value.item() if isinstance(value, np.generic) else value
        known = f"is not among the {len(self.labels)} labels {preview(self.labels)}"
        unquoted = f"{known}; correct it, or add the label to categories="
        remedy = unquoted
        if value is not HIDDEN:
            nearest = None
            if isinstance(value, str) and not isinstance(self.labels, pd.RangeIndex):
                labels, text = self.labels.tolist(), str.__str__(value)
                if len(labels) > _MOST_COMPARED:
                    folded = text.strip().casefold()
                    labels = [one for one in labels if str(one).strip().casefold() == folded]
                nearest = nearest_label(text, labels)
            hint = "" if nearest is None else f"; the nearest is {nearest!r}"
            if type(value).__name__ == "Reports":  # pandas puts all of them into every cell
                other = "make a column of them by reports.to_series()"
            shown = f"[{shorten(value)}]"
            na = f"na={shown} (--na)" if done is not None else f"Survey na={{{where!r}: {shown}}}"
            remedy = (
                f"{known}{hint} ({times} such value{'s' if times > 1 else ''}); correct it, "
                f"{other}; if it means a missing answer, leave it empty, or give {na}"
            )
        return UnknownCategory(f"{where}, row {(done or 0) + row + 1}", value, remedy, unquoted)


# -- The distinct values of a long column, found by Arrow: not one Python object at a time --------


DistinctCodes = npt.NDArray[np.int32]
Objects = npt.NDArray[np.object_]

MANY = 1 << 12
"""Columns of fewer values do not pay for importing Arrow."""

_POLARS = ("String", "Categorical")


def factorized(values: object, labels: Labels) -> tuple[DistinctCodes, Objects] | None:
    """Codes of a column, (n,), -1 where missing, and the values that they stand for.

    None where this is not quicker. Some values may be equal, or not occur; where all text is among
    the `labels`, the values are these.
    """
    try:
        n = len(values)  # type: ignore[arg-type]
        if n < MANY:
            return None
        known = 4 * len(labels) < n and labels.inferred_type == "string"
        likely = labels.to_numpy(dtype=object) if known else None
        if isinstance(values, pd.Series | pd.Index) and not isinstance(values, pd.MultiIndex):
            if isinstance(values.dtype, pd.StringDtype | pd.ArrowDtype):
                array: Any = values.array
                return arrow_text(array.__arrow_array__(), likely)
            return _of_objects(values.to_numpy(), likely) if values.dtype == object else None
        if type(values) is np.ndarray and values.ndim == 1:  # not a masked one
            if values.dtype.kind == "U" and values.dtype.isnative and values.itemsize:
                return _of_unicode(values, likely)
            return _of_objects(values, likely) if values.dtype == object else None
        column: Any = values
        kind = type(values).__module__.partition(".")[0]
        if kind == "polars" and type(values).__name__ == "Series":
            return arrow_text(column.to_arrow(), likely) if str(column.dtype) in _POLARS else None
        arrow: Any = sys.modules.get("pyarrow")
        if arrow is not None and isinstance(values, arrow.Array | arrow.ChunkedArray):
            return arrow_text(values, likely)
        return None
    except Exception:  # half of a surrogate pair; and somebody else's object may raise anything
        return None


def arrow_text(column: Any, likely: Objects | None = None) -> tuple[DistinctCodes, Objects] | None:
    """Codes and values of a column of Arrow that is text, or a dictionary of it; else None."""
    import pyarrow
    from pyarrow import types

    if not types.is_dictionary(column.type):
        if not is_text(column.type):
            return None
        if likely is not None:
            codes = _among(column, pyarrow.array(likely, column.type))
            if codes is not None:
                return _distinct_numbers(codes), likely
        column = column.dictionary_encode()
    elif not is_text(column.type.value_type):
        return None
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if isinstance(column, pyarrow.ChunkedArray):  # of no chunk, or too long for one
        return None
    return _merged(column.indices, np.array(column.dictionary.to_pylist(), dtype=object))


def _among(column: Any, likely: Any) -> Any:
    """Places of the values among distinct `likely` ones; None if one is not among them."""
    import pyarrow.compute

    found = pyarrow.compute.index_in(column, likely)
    return found if found.null_count == column.null_count else None


def is_text(kind: Any) -> bool:
    """Whether a type of Arrow is of text that its functions take."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _of_unicode(
    values: npt.NDArray[np.str_], likely: Objects | None
) -> tuple[DistinctCodes, Objects]:
    """Text of a fixed width, compared as bytes."""
    import pyarrow

    def column_of(text: npt.NDArray[np.str_]) -> Any:
        buffer = pyarrow.py_buffer(np.ascontiguousarray(text))
        kind = pyarrow.binary(values.itemsize)
        return pyarrow.Array.from_buffers(kind, text.size, [None, buffer])

    column = column_of(values)
    if likely is not None:
        width = values.itemsize // 4  # numpy drops the NULs at the end of a text
        likely = likely[[len(text) <= width and text[-1:] != "\0" for text in likely]]
        if (codes := _among(column, column_of(likely.astype(values.dtype)))) is not None:
            return codes.to_numpy(), likely
    column = column.dictionary_encode()
    distinct = np.array(column.dictionary.to_pylist(), dtype=f"S{values.itemsize}")
    return _merged(column.indices, distinct.view(values.dtype).astype(object))


def _of_objects(values: Objects, likely: Objects | None) -> tuple[DistinctCodes, Objects] | None:
    """Objects that are the same object, as labels that were taken from a list; else text."""
    import pyarrow

    addresses = np.frombuffer(np.ascontiguousarray(values), dtype=np.intp)
    if len(np.unique(addresses[:MANY])) > MANY // 2:
        text = pyarrow.array(values, from_pandas=True)
        return arrow_text(text, likely)
    column = pyarrow.array(addresses).dictionary_encode()
    codes = column.indices.to_numpy()
    place = np.empty(len(column.dictionary), dtype=np.intp)
    place[codes] = np.arange(values.size)  # whichever is the last: they are the same object
    return _merged(column.indices, values[place])


def _distinct_numbers(indices: Any) -> DistinctCodes:
    """Codes of Arrow, -1 where null."""
    found: DistinctCodes = (indices.fill_null(-1) if indices.null_count else indices).to_numpy()
    return found


def _merged(indices: Any, distinct: Objects) -> tuple[DistinctCodes, Objects]:
    """The codes, -1 where the index is null or its value is missing."""
    codes = _distinct_numbers(indices)
    absent = pd.isna(pd.Series(distinct, dtype=object)).to_numpy()
    if absent.any():
        codes = np.append(np.where(absent, -1, np.arange(absent.size)), -1)[codes]
    return codes, distinct


# -- Bins of numbers: their labels, the numbers that stand for them, and which bin a number is in --


Array = npt.NDArray[np.float64]

_RANGE_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PLAIN_RANGE = re.compile(rf"\s*{_RANGE_NUMBER}\s*", re.ASCII)
_INTERVAL = re.compile(rf"[\[(]\s*({_RANGE_NUMBER})\s*,\s*({_RANGE_NUMBER})\s*[\])]", re.ASCII)
_MISSING_RANGE, _NO_RANGE = -1, -2


def checked_edges(edges: object) -> Array:
    """Edges of at least two bins, float64 of shape (k + 1,), in increasing order and finite."""
    remedy = "must be three or more finite numbers in increasing order, such as [0, 10, 20, 50]"
    if isinstance(edges, str | bytes | bool | set | frozenset | dict | pd.DataFrame):
        raise InvalidArgument("edges", edges, remedy)
    array = numbers("edges", edges, remedy) + 0.0  # -0.0 is 0
    if array.ndim != 1 or array.size < 3 or not np.isfinite(array).all():
        raise InvalidArgument("edges", edges, remedy)
    if not np.all(array[1:] > array[:-1]):
        first = int(np.argmax(array[1:] <= array[:-1])) + 1
        remedy = "does not exceed the edge before it: list the edges in increasing order, each once"
        raise InvalidArgument(f"edges[{first}]", float(array[first]), remedy)
    array.flags.writeable = False
    return array


def interval_labels(edges: Array) -> Labels:
    """Labels of the bins, shape (k,): "[0, 10)"; the last one is closed, "[20, 50]"."""
    texts = [repr(edge).removesuffix(".0") for edge in edges.tolist()]
    labels = [f"[{low}, {high})" for low, high in pairwise(texts)]
    labels[-1] = labels[-1][:-1] + "]"
    return pd.Index(labels, dtype=object)


def midpoints(labels: Labels) -> Array | None:
    """Midpoints of labels that are all intervals, such as "[0, 10)"; None for other labels."""
    if labels.inferred_type != "string":
        return None
    ends = [_INTERVAL.fullmatch(label) for label in labels]
    if not all(ends):
        return None
    low, high = np.array([[float(v) for v in end.groups()] for end in ends if end]).T
    if not (np.isfinite(low).all() and np.isfinite(high).all()) or not np.all(low <= high):
        return None
    return np.asarray(low / 2.0 + high / 2.0)


def binned(name: str, values: object, edges: Array, labels: Labels) -> pd.Series[Any]:
    """Numbers as the labels of their bins, a categorical column; missing values stay missing.

    A value may be a number within the edges, text that spells one, or the label of a bin.
    """
    series = as_series(name, values)
    if isinstance(series.dtype, pd.CategoricalDtype):
        lookup = _bins_of(pd.Series(series.cat.categories), edges, labels)
        codes = np.append(lookup, _MISSING_RANGE)[series.cat.codes.to_numpy()]
    else:
        codes = _bins_of(series, edges, labels)
    if (codes == _NO_RANGE).any():
        first = int(np.argmax(codes == _NO_RANGE))
        value = series.iloc[first]
        low, high = (repr(edge).removesuffix(".0") for edge in edges[[0, -1]].tolist())
        raise UnknownCategory(
            f"{name}[{first}]",
            value.item() if isinstance(value, np.generic) else value,
            f"is neither a number from {low} to {high} nor a bin such as {labels[0]!r} "
            f"({int((codes == _NO_RANGE).sum())} such values): correct it, or extend the edges",
        )
    return pd.Series(pd.Categorical.from_codes(codes, categories=labels, ordered=True))


def _bins_of(series: pd.Series[Any], edges: Array, labels: Labels) -> Codes:
    """The bin of each value, shape (n,): -1 for missing ones, -2 for what is in no bin."""
    if pd.api.types.is_numeric_dtype(series.dtype) and not (
        pd.api.types.is_bool_dtype(series.dtype) or pd.api.types.is_complex_dtype(series.dtype)
    ):
        return _bins(series.to_numpy(dtype=np.float64, na_value=np.nan), edges)
    absent = missing_entries("values", series)
    known = {label: code for code, label in enumerate(labels.tolist())}
    found = np.full(len(series), _MISSING_RANGE, dtype=np.int64)
    found[~absent] = [_place(value, known, edges) for value in series[~absent].tolist()]
    return found


def _bins(values: Array, edges: Array) -> Codes:
    codes = np.searchsorted(edges, values, side="right") - 1
    codes[values == edges[-1]] = edges.size - 2
    outside = (values < edges[0]) | (values > edges[-1])
    return np.asarray(
        np.select([np.isnan(values), outside], [_MISSING_RANGE, _NO_RANGE], codes),
        dtype=np.int64,
    )


def _place(value: Any, known: dict[str, int], edges: Array) -> int:
    """The bin of one value that is not missing; -2 if it has none."""
    if isinstance(value, str):
        place = known.get(value.strip())
        if place is not None:
            return place
        if not _PLAIN_RANGE.fullmatch(value):
            return _NO_RANGE
    elif isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return _NO_RANGE
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        return _NO_RANGE
    return int(_bins(np.array([number]), edges)[0])
