"""Numbers and arrays in JSON documents: text that gives back every bit.

A number that JSON lacks becomes its name, "nan" or "inf". An array of at most 1,000 numbers becomes
nested lists. A larger one becomes an object: "shape", and either "repeated", the one number that
all entries are, or "base64", the bytes of the entries row by row, of the kind "dtype" ("float64" or
"int64", least byte first); of a symmetric matrix ("triangle": "upper") only those of its diagonal
and above it.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["array_from_json", "array_to_json", "number_from_json", "number_to_json"]

Array = npt.NDArray[Any]

_REPEATED = 10**9
_LISTED = 1000  # numbers, up to which people may want to read them
_KINDS = {"float64": np.dtype("<f8"), "int64": np.dtype("<i8")}


def number_to_json(value: float) -> float | str:
    """A number as strict JSON has it: nan and infinity become their names."""
    return value if np.isfinite(value) else repr(float(value))


def number_from_json(value: float | str) -> float:
    """Inverse of `number_to_json`."""
    return float(value)


def array_to_json(values: Array, symmetric: bool = False) -> Any:
    """An array of float64 or int64, of any shape, in JSON types; see the module's docstring.

    Of a `symmetric` matrix half of the entries are enough.
    """
    if values.size <= _LISTED:
        return values.tolist() if np.isfinite(values).all() else _named(values)
    document: dict[str, Any] = {"shape": list(values.shape)}
    first = values.flat[0].item()
    if np.isfinite(first) and np.all(values == first):
        return document | {"repeated": first}
    if symmetric:
        document["triangle"] = "upper"
        values = values[_upper(len(values))]
    kind = "float64" if values.dtype.kind == "f" else "int64"
    text = b64encode(values.astype(_KINDS[kind], copy=False).tobytes()).decode("ascii")
    return document | {"dtype": kind, "base64": text}


def array_from_json(document: Any, kind: str | None = "float64") -> Array:
    """Inverse of `array_to_json`; a `kind` of None stands for that of the entries.

    What is damaged in a document raises a ValueError, TypeError or LookupError.
    """
    if not isinstance(document, dict):
        return np.array(document, dtype=kind)
    shape = tuple(document["shape"])
    if "repeated" in document:
        if math.prod(shape) > _REPEATED:
            raise ValueError(f"{shape} is more than any array has")
        return np.full(shape, document["repeated"], dtype=kind)
    entries = np.frombuffer(b64decode(document["base64"], validate=True), _KINDS[document["dtype"]])
    if "triangle" not in document:
        return entries.astype(kind or entries.dtype).reshape(shape)
    whole, upper = np.empty(shape, dtype=kind or entries.dtype), _upper(shape[0])
    whole[upper] = entries
    whole.T[upper] = entries
    return whole


def _named(values: Array) -> list[Any]:
    """Nested lists with the names of numbers that JSON lacks."""
    rows = values.tolist() if values.ndim == 1 else values
    return [number_to_json(v) if values.ndim == 1 else _named(v) for v in rows]


def _upper(size: int) -> npt.NDArray[np.bool_]:
    """The entries of a square matrix on its diagonal and above."""
    return np.tri(size, dtype=np.bool_).T
