"""Bins of numbers: their labels, the numbers that stand for them, and which bin a number is in."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import numbers
from ldpstats.arguments.labels import as_series, missing_entries
from ldpstats.errors import InvalidArgument, UnknownCategory

__all__ = ["binned", "checked_edges", "interval_labels", "midpoints"]

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PLAIN = re.compile(rf"\s*{_NUMBER}\s*", re.ASCII)
_INTERVAL = re.compile(rf"[\[(]\s*({_NUMBER})\s*,\s*({_NUMBER})\s*[\])]", re.ASCII)
_MISSING, _UNKNOWN = -1, -2


def checked_edges(name: str, edges: object) -> Array:
    """Edges of at least two bins, float64 of shape (k + 1,), in increasing order and finite."""
    remedy = "must be three or more finite numbers in increasing order, such as [0, 10, 20, 50]"
    if isinstance(edges, str | bytes | bool | set | frozenset | dict | pd.DataFrame):
        raise InvalidArgument(name, edges, remedy)
    array = numbers(name, edges, remedy) + 0.0  # -0.0 is 0
    if array.ndim != 1 or array.size < 3 or not np.isfinite(array).all():
        raise InvalidArgument(name, edges, remedy)
    if not np.all(array[1:] > array[:-1]):
        first = int(np.argmax(array[1:] <= array[:-1])) + 1
        remedy = "does not exceed the edge before it: list the edges in increasing order, each once"
        raise InvalidArgument(f"{name}[{first}]", float(array[first]), remedy)
    array.flags.writeable = False
    return array


def interval_labels(edges: Array) -> pd.Index[Any]:
    """Labels of the bins, shape (k,): "[0, 10)"; the last one is closed, "[20, 50]".

    Examples
    --------
    >>> interval_labels(np.array([0.0, 0.5, 2.0])).tolist()
    ['[0, 0.5)', '[0.5, 2]']
    """
    texts = [_text(edge) for edge in edges.tolist()]
    found = [f"[{low}, {high})" for low, high in pairwise(texts)]
    found[-1] = found[-1][:-1] + "]"
    return pd.Index(found, dtype=object)


def _text(number: float) -> str:
    """A number to full precision, whole ones without a point."""
    return repr(number).removesuffix(".0")


def midpoints(labels: pd.Index[Any]) -> Array | None:
    """Midpoints of labels that are all intervals, such as "[0, 10)"; None for other labels.

    Examples
    --------
    >>> midpoints(pd.Index(["[0, 10)", "[10, 50]"]))
    array([ 5., 30.])
    """
    if labels.inferred_type != "string":
        return None
    ends = [_INTERVAL.fullmatch(label) for label in labels]
    if not all(ends):
        return None
    found = np.array([[float(v) for v in end.groups()] for end in ends if end])
    if not np.isfinite(found).all() or not np.all(found[:, 0] <= found[:, 1]):
        return None
    return np.asarray(found[:, 0] / 2.0 + found[:, 1] / 2.0)


def binned(name: str, values: object, edges: Array, labels: pd.Index[Any]) -> pd.Series[Any]:
    """Numbers as the labels of their bins, a categorical column; missing values stay missing.

    Bins contain their lower edge, and the last one its upper edge too. A value may be a number,
    text that spells one, or the label of a bin.

    Raises
    ------
    UnknownCategory
        For anything else, and for numbers beyond the edges.
    """
    series = as_series(name, values)
    if isinstance(series.dtype, pd.CategoricalDtype):
        lookup = _places(pd.Series(series.cat.categories), edges, labels)
        codes = np.append(lookup, _MISSING)[series.cat.codes.to_numpy()]
    else:
        codes = _places(series, edges, labels)
    if (codes == _UNKNOWN).any():
        first = int(np.argmax(codes == _UNKNOWN))
        value = series.iloc[first]
        low, high = _text(float(edges[0])), _text(float(edges[-1]))
        raise UnknownCategory(
            f"{name}[{first}]",
            value.item() if isinstance(value, np.generic) else value,
            f"is neither a number from {low} to {high} nor a bin such as {labels[0]!r} "
            f"({int((codes == _UNKNOWN).sum())} such values): correct it, or extend the edges",
        )
    return pd.Series(pd.Categorical.from_codes(codes, categories=labels, ordered=True))


def _places(series: pd.Series[Any], edges: Array, labels: pd.Index[Any]) -> Codes:
    """The bin of each value, shape (n,): -1 for missing ones, -2 for what is in no bin."""
    if pd.api.types.is_numeric_dtype(series.dtype) and not (
        pd.api.types.is_bool_dtype(series.dtype) or pd.api.types.is_complex_dtype(series.dtype)
    ):
        return _bins(series.to_numpy(dtype=np.float64, na_value=np.nan), edges)
    absent = missing_entries("values", series)
    known = {label: code for code, label in enumerate(labels.tolist())}
    found = np.full(len(series), _MISSING, dtype=np.int64)
    found[~absent] = [_place(value, known, edges) for value in series[~absent].tolist()]
    return found


def _bins(values: Array, edges: Array) -> Codes:
    codes = np.searchsorted(edges, values, side="right") - 1
    codes[values == edges[-1]] = edges.size - 2
    outside = (values < edges[0]) | (values > edges[-1])
    return np.asarray(
        np.select([np.isnan(values), outside], [_MISSING, _UNKNOWN], codes), dtype=np.int64
    )


def _place(value: Any, known: dict[str, int], edges: Array) -> int:
    """The bin of one value that is not missing; -2 if it has none."""
    if isinstance(value, str):
        place = known.get(value.strip())
        if place is not None:
            return place
        if not _PLAIN.fullmatch(value):
            return _UNKNOWN
    elif isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return _UNKNOWN
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        return _UNKNOWN
    return int(_bins(np.array([number]), edges)[0])
