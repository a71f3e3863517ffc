"""Answers as people write them: matched with labels where exactly one label fits."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import whole_below
from ldpstats.arguments.distinct import factorized
from ldpstats.arguments.labels import as_series, missing_entries, preview
from ldpstats.arguments.names import nearest_label
from ldpstats.errors import HIDDEN, InvalidArgument, UnknownCategory, shorten

__all__ = ["OTHER_LABELS", "matched", "written_as"]

OTHER_LABELS = "or make the mechanism with the labels of the data (categories=...)"
"""What to do where the data have other labels than the mechanism."""

Codes = npt.NDArray[np.int64]
Key = tuple[str, Any]  # "bool", "number" or "text", and the value: True, 1 and "1" differ

_MISSING, _UNKNOWN = -1, -2
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
    labels: pd.Index[Any],
    secret: bool = False,
    other: str = OTHER_LABELS,
) -> Codes:
    """Return codes of answers among `labels`, int64 of shape (n,), -1 where missing.

    A value that is a label is that label. Otherwise surrounding blanks are ignored, text stands for
    the number (3, -3, 3.0) or the truth value (True, true, TRUE) that it spells, a number or truth
    value for its text, and a whole float for an integer. A value is matched if exactly one label
    fits. Empty text is missing unless it is a label. Case matters, and True is never 1.

    Errors name `where` and the row, from 1; with ``secret=True`` they do not show the value.
    `other` is what to do where the data have other labels.
    """
    if isinstance(labels, pd.RangeIndex) and type(values) is np.ndarray:  # not a masked one
        if values.ndim == 1 and whole_below(values, len(labels)):
            return values.astype(np.int64)
    known = _Labels(labels)
    quick = _quickly(values, known)
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
        raise known.refusal(where, row + 1, HIDDEN if secret else value, times, other)
    return found


def written_as(column: pd.Series[Any], codes: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which values of a column are one of some codes as people write them, shape (n,).

    Blanks around text do not count, and text stands for the number that it spells: the code "9" is
    9, 9.0, "9" and "9.0". A column of a type that holds no answers has none of them.
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
    number = _NUMBER.fullmatch(text)
    return [("text", text), *(_numbers(text, *number.groups()) if number else ())]


def _quickly(values: object, known: _Labels) -> Codes | None:
    """What `matched` returns for a long column; None where there is no short cut, or an error."""
    quick = factorized(values, known.labels)
    if quick is None:
        return None
    try:
        places = known.places(pd.Index(quick[1], dtype=object))
    except Exception:  # to compare somebody else's object may raise anything
        return None
    found: Codes = np.append(places, _MISSING)[quick[0]]
    return None if (found == _UNKNOWN).any() else found


def _factorized(where: str, values: object) -> tuple[Codes, pd.Index[Any]]:
    """Codes of distinct values, (n,), -1 where missing; and the distinct values."""
    arrow: Any = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(values, arrow.Array | arrow.ChunkedArray):
        values = pd.Series(values, dtype=pd.ArrowDtype(values.type))
    column = as_series(where, values)
    absent = missing_entries(where, column)
    distinct: pd.Index[Any]
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


def _numbers(text: str, whole: str, decimals: str | None, power: str | None) -> list[Key]:
    """The number that a text spells; powers of ten only for decimals, as in 1e-07."""
    if power is None and not (decimals or "").strip(".0"):
        return [("number", int(text.partition(".")[0]))]
    number = float(text)
    return [] if power is not None and number.is_integer() else [("number", number)]


@dataclass(frozen=True)
class _Labels:
    """Labels, and how answers find them."""

    labels: pd.Index[Any]

    def places(self, distinct: pd.Index[Any]) -> Codes:
        """Codes of distinct values, shape (u,)."""
        counted, k = isinstance(self.labels, pd.RangeIndex), len(self.labels)
        if counted and isinstance(distinct.dtype, np.dtype) and distinct.dtype.kind in "iu":
            numbers = distinct.to_numpy()
            return np.where((numbers >= 0) & (numbers < k), numbers, _UNKNOWN).astype(np.int64)
        values = distinct.tolist()
        found = np.full(len(values), _UNKNOWN, dtype=np.int64)
        if self.labels.inferred_type == "string" and all(isinstance(v, str) for v in values):
            there = self.labels.get_indexer(pd.Index(values, dtype=object))
            found[there >= 0] = there[there >= 0]
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
        fits = set(self._alike(key))
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
            text = value.strip()
            spelled: list[Key] = [("bool", _TRUTH[text])] if text in _TRUTH else []
            if number := _NUMBER.fullmatch(text):
                spelled += _numbers(text, *number.groups())
            yield from (place for key in spelled if (place := self._exact(key)) is not None)
            texts = {text}
        else:
            texts = {str(value)}
            if kind == "number" and abs(value) < _EXACT and value == int(value):
                texts.add(str(int(value)))
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
        self, where: str, row: int, value: object, times: int, other: str
    ) -> UnknownCategory:
        """The error about a value that is no label, given so many times; some are not shown."""
        value = value.item() if isinstance(value, np.generic) else value
        known = f"is not among the {len(self.labels)} labels {preview(self.labels)}"
        unquoted = f"{known}; correct it, or add the label to categories="
        remedy = unquoted
        if value is not HIDDEN:
            nearest = self._nearest(value)
            hint = "" if nearest is None else f"; the nearest is {nearest!r}"
            remedy = (
                f"{known}{hint} ({times} such value{'s' if times > 1 else ''}); correct it, "
                f"{other}; if it means a missing answer, leave it empty, or give Survey "
                f"na={{{where!r}: [{shorten(value)}]}}"
            )
        return UnknownCategory(f"{where}, row {row}", value, remedy, unquoted)

    def _nearest(self, value: object) -> Any:
        """The label that is spelled most like a value, if one is."""
        if not isinstance(value, str) or isinstance(self.labels, pd.RangeIndex):
            return None
        labels = self.labels.tolist()
        if len(labels) > _MOST_COMPARED:
            folded = str.__str__(value).strip().casefold()
            labels = [label for label in labels if str(label).strip().casefold() == folded]
        return nearest_label(str.__str__(value), labels)
