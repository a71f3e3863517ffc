"""Results and their parts as JSON documents: dataclasses, written and read by their type hints.

A field stands under its name, in order. Numbers that JSON lacks become their names, "nan" and
"inf". An array of at most 1,000 numbers becomes nested lists. A larger one becomes
an object: "shape", and either "repeated", the one number that all entries are, or "base64", the
bytes of the entries row by row, of the kind "dtype" ("float64" or "int64", least byte first); of a
symmetric matrix ("triangle": "upper") only those of its diagonal and above it. Labels 0 to k - 1
become k, others a list, those of several levels an object; a frame becomes an object of its
columns, a tuple a list, and a part an object, of which the keys tell the class where there are
several.

The metadata of a field may say more: "key", under which it stands; "array", "packed" for integers
that become an object where they are many, or "symmetric"; "later", of a field that is left out
where it is None, as before there was such a field; "read", the function that reads it; "shared",
the field with which an estimate may share its covariance, which is then written there alone. A
class whose documents may lack fields that have a default is `_lenient`; the values of one that is
`_listed` are a list.
"""

from __future__ import annotations

import inspect
import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import cache
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, one_of, positive_integer, real_number
from ldpstats.errors import InvalidArgument, LDPError, cut
from ldpstats.labels import labels_from_json, labels_to_json


class Document:
    """A dataclass that becomes a JSON document, and is read again."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values; nan and infinity become their names."""
        return written(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        if type(document) is not dict and not isinstance(document, Mapping):
            remedy = f"must be what {cls.__name__}.to_dict wrote"
            raise InvalidArgument("document", document, remedy)
        kind: Any = cls
        if inspect.isabstract(cls):  # the keys tell which of its kinds
            kinds: list[Any] = cls.__subclasses__()
            kind = next(one for one in kinds if set(keys_of(one)) <= set(document))
        found: Self = part(kind, document)
        return found


class _Labels:
    """In place of `pandas.Index`, which takes no type argument when the program runs."""

    def __class_getitem__(cls, item: Any) -> Any:
        return pd.Index


_PANDAS = SimpleNamespace(Index=_Labels, DataFrame=pd.DataFrame)


@cache
def keys_of(kind: type) -> Mapping[str, tuple[Field[Any] | None, Any]]:
    """The keys of a document, in order, each with its field and what makes a value of its type.

    They are the names of the fields, or what `_document` of a class says; a key that is not of a
    field, and has None, is the class's own business.
    """
    hints = get_type_hints(kind, localns={"pd": _PANDAS})
    own: dict[str, tuple[Field[Any] | None, Any]] = {}
    for item in fields(kind):
        own[item.metadata.get("key", item.name)] = item, _reader(hints[item.name])
    return {key: own.get(key, (None, None)) for key in getattr(kind, "_document", ()) or own}


# -- Writing --------------------------------------------------------------------------------------


def written(source: Any) -> dict[str, Any]:
    """The fields of a dataclass as plain JSON types; of other keys the attribute, if any."""
    document: dict[str, Any] = {}
    kind: Any = type(source)
    keys = keys_of(kind)
    for key, (item, reads) in keys.items():
        if item is None:
            document[key] = _plain(getattr(source, key, None))
            continue
        value, form = getattr(source, item.name), item.metadata
        if value is None:
            if "later" not in form:
                document[key] = None
            continue
        if "array" in form:
            document[key] = array_to_json(value, form["array"] == "symmetric")
        else:
            document[key] = number_to_json(float(value)) if reads is _number else _plain(value)
        if "shared" in form and form["shared"] in keys and value.covariance is not None:
            if value.covariance is getattr(source, form["shared"]).covariance:
                document[key]["covariance"] = form["shared"]
    return document


_WRITTEN = (str, int, dict, NoneType)  # as it is


def _plain(value: Any) -> Any:
    if isinstance(value, _WRITTEN):
        return value
    if isinstance(value, Document):
        return value.to_dict()
    if isinstance(value, float):
        return number_to_json(value)
    if isinstance(value, np.ndarray):
        return array_to_json(value) if value.dtype.kind == "f" else value.tolist()
    if isinstance(value, pd.MultiIndex):
        return {"names": list(value.names), "labels": [list(label) for label in value]}
    if isinstance(value, pd.Index):
        return labels_to_json(value)
    if isinstance(value, pd.DataFrame):
        return value.to_dict(orient="list")
    if isinstance(value, (tuple, list, Sequence)):
        return [_plain(one) for one in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    found = written(value)
    return list(found.values()) if getattr(value, "_listed", False) else found


# -- Reading: what is damaged in a document may raise any error -----------------------------------


def read(kind: type, document: Mapping[str, Any]) -> dict[str, Any]:
    """The values in a document by the names of fields; what a class adds by its key, as it is."""
    found: dict[str, Any] = {}
    keys, (_, required) = keys_of(kind), _names(kind)
    if not required <= document.keys():
        lacking = sorted(required - document.keys())
        raise InvalidArgument("document", lacking, "are fields that it lacks")
    for key, (item, reads) in keys.items():
        if key not in document:
            continue
        value = document[key]
        if item is None:
            found[key] = value
            continue
        form = item.metadata
        try:
            if "read" in form:
                found[item.name] = form["read"](value)
            elif (
                "shared" in form
                and form["shared"] in keys
                and value["covariance"] == form["shared"]
            ):
                name = form["shared"]
                found[name] = reads(name, document[name])
                alone = reads(key, {**value, "covariance": None})
                found[item.name] = replace(alone, covariance=found[name].covariance)
            elif item.name not in found:
                found[item.name] = reads(key, value)
        except LDPError:
            raise
        except Exception as error:
            raise damaged(key, value, error) from error
    return found


def damaged(name: str, shown: object, error: Exception) -> InvalidArgument:
    """The error about what led to another one while it was read."""
    why = " ".join(f"{type(error).__name__}: {error}".split())
    return InvalidArgument(name, shown, f"is damaged ({cut(why, 200)})")


def part(kind: type, document: Mapping[str, Any]) -> Any:
    """A dataclass that is a part of a document, of whose keys all are known."""
    known = keys_of(kind).keys()
    if not document.keys() <= known:
        unknown = sorted(document.keys() - known, key=str)
        raise InvalidArgument("document", unknown, f"are no fields of {kind.__name__}")
    return made(kind, read(kind, document))


def made(kind: Any, values: Mapping[str, Any]) -> Any:
    """A dataclass with those of the values that are of its fields."""
    return kind(**{name: values[name] for name in _names(kind)[0] if name in values})


@cache
def _names(kind: Any) -> tuple[tuple[str, ...], frozenset[str]]:
    """The fields that make an object of a class, and the keys that its documents must have."""
    own = tuple(item.name for item in fields(kind) if item.init)
    lenient = getattr(kind, "_lenient", False)
    may_lack = {
        key
        for key, (item, _) in keys_of(kind).items()
        if item and item.default is not MISSING and (lenient or "later" in item.metadata)
    }
    return own, frozenset(keys_of(kind)) - may_lack


@cache
def _reader(hint: Any) -> Callable[[str, Any], Any]:
    """What makes a value of this type of the name and the content of a field."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in _READERS:
        return _READERS[kind]
    if kind in (Union, UnionType):
        kinds = [one for one in parts if one is not NoneType]
        if len(kinds) > 1:  # one or several
            return lambda _, value: tuple(value) if isinstance(value, list) else value
        reads = _reader(kinds[0])
        return lambda name, value: None if value is None else reads(name, value)
    if kind is np.ndarray:
        entries = _ENTRIES.get(get_args(parts[1])[0], "float64")
        return lambda _, value: array_from_json(value, entries)
    if kind in (tuple, Sequence):
        several = list(map(_reader, parts)) if kind is tuple and ... not in parts else None
        first = _reader(parts[0])

        def entries_of(name: str, value: Any) -> tuple[Any, ...]:
            if not isinstance(value, list):
                raise InvalidArgument(name, value, "must be a list")
            if several is None:
                return tuple([first(name, one) for one in value])
            return tuple([own(name, one) for own, one in zip(several, value, strict=True)])

        return entries_of
    if kind is Literal:
        return lambda name, value: one_of(name, value, parts)
    if hasattr(kind, "from_dict"):
        return lambda _, value: kind.from_dict(value)
    if not is_dataclass(kind):
        return lambda _, value: value
    own: Any = kind
    if getattr(own, "_listed", False):
        keys = list(keys_of(own))
        return lambda _, value: part(own, dict(zip(keys, value, strict=True)))
    return lambda _, value: part(own, value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(name, value, "must be text")
    return value


def _number(name: str, value: Any) -> float:
    named = value if isinstance(value, str) else ""
    return _NAMES[named] if named in _NAMES else real_number(name, value, "must be a number")


def _index(name: str, value: Any) -> pd.Index[Any]:
    if not isinstance(value, dict):
        return labels_from_json(name, value)
    labels = [tuple(label) for label in value["labels"]]
    return pd.MultiIndex.from_tuples(labels, names=value["names"])


_NAMES = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_READERS: dict[Any, Callable[[str, Any], Any]] = {
    str: _text,
    float: _number,
    int: lambda name, value: positive_integer(name, value, 0),
    bool: boolean,
    pd.Index: _index,
    pd.DataFrame: lambda _, value: pd.DataFrame(value),
}
_ENTRIES: dict[Any, str | None] = {np.int64: "int64", np.bool_: "bool", np.integer[Any]: None}


# -- Numbers and arrays: text that gives back every bit -------------------------------------------


_REPEATED = 10**9
_LISTED = 1000  # numbers, up to which people may want to read them
_FEW = 50
_KINDS = {"float64": np.dtype("<f8"), "int64": np.dtype("<i8")}


def number_to_json(value: float) -> float | str:
    """A number as strict JSON has it: nan and infinity become their names."""
    return value if math.isfinite(value) else repr(float(value))


def array_to_json(values: Array, symmetric: bool = False) -> Any:
    """An array of float64 or int64 in JSON types; half of the entries of a `symmetric` matrix."""
    if values.size <= _LISTED:
        listed = values.tolist()
        if values.ndim == 1 and values.size < _FEW:  # where numpy takes longer
            return listed if all(map(math.isfinite, listed)) else _named(values)
        return listed if np.isfinite(values).all() else _named(values)
    document: dict[str, Any] = {"shape": list(values.shape)}
    first = values.flat[0].item()
    if np.isfinite(first) and np.all(values == first):
        return document | {"repeated": first}
    if symmetric:
        document["triangle"] = "upper"
        values = values[np.tri(len(values), dtype=np.bool_).T]  # on the diagonal and above
    kind = "float64" if values.dtype.kind == "f" else "int64"
    text = b64encode(values.astype(_KINDS[kind], copy=False).tobytes()).decode("ascii")
    return document | {"dtype": kind, "base64": text}


def array_from_json(document: Any, kind: str | None = "float64") -> Array:
    """Inverse of `array_to_json`; a `kind` of None stands for that of the entries.

    What is damaged in a document raises a ValueError, TypeError or LookupError.
    """
    if not isinstance(document, dict):
        found = np.array(document, dtype=None if kind == "int64" else kind)
        if kind == "int64" and found.size and found.dtype.kind != "i":  # never rounded
            raise TypeError(f"{found.dtype} entries are not whole numbers")
        return found.astype(kind or found.dtype, copy=False)
    shape = tuple(document["shape"])
    if "repeated" in document:
        if math.prod(shape) > _REPEATED:
            raise ValueError(f"{shape} is more than any array has")
        return np.full(shape, document["repeated"], dtype=kind)
    entries = np.frombuffer(b64decode(document["base64"], validate=True), _KINDS[document["dtype"]])
    if "triangle" not in document:
        return entries.astype(kind or entries.dtype).reshape(shape)
    whole = np.empty(shape, dtype=kind or entries.dtype)
    upper = np.tri(shape[0], dtype=np.bool_).T
    whole[upper] = entries
    whole.T[upper] = entries
    return whole


def _named(values: Array) -> list[Any]:
    """Nested lists with the names of numbers that JSON lacks."""
    rows = values.tolist() if values.ndim == 1 else values
    return [number_to_json(v) if values.ndim == 1 else _named(v) for v in rows]
