"""Hostile values: what no caller should pass, and what can be made of a good collection."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa


class Hostility(RuntimeError):
    """What hostile objects raise: nothing of the package expects it."""


def _refuse(*_: Any, **__: Any) -> Any:
    raise Hostility("hostile")


class BadEq:
    __eq__ = _refuse
    __ne__ = _refuse
    __hash__ = object.__hash__


class BadHash:
    __hash__ = _refuse

    def __eq__(self, other: object) -> bool:
        return False


class BadLen:
    __len__ = _refuse

    def __getitem__(self, i: int) -> float:
        return 0.5


class BadRepr:
    __repr__ = _refuse
    __str__ = _refuse


class BadIter:
    __iter__ = _refuse

    def __len__(self) -> int:
        return 3


class BadArray:
    __array__ = _refuse


class BadBool:
    __bool__ = _refuse


class BadFloat:
    __float__ = _refuse
    __index__ = _refuse


class BadStr(str):
    __eq__ = _refuse
    __hash__ = _refuse


class LongRepr:
    def __repr__(self) -> str:
        return "x\n" * 100_000


class Liar:
    """Claims to have every attribute."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self


def _surrogate() -> str:
    return "nur\ud800se"


def _self_containing() -> list[Any]:
    a: list[Any] = []
    a.append(a)
    return a


def _duplicated() -> pd.Series[Any]:
    return pd.Series([0.5, 0.3, 0.2], index=["nurse", "nurse", "driver"])


def _multi() -> pd.Series[Any]:
    index = pd.MultiIndex.from_tuples([("nurse", 1), ("teacher", 2), ("driver", 3)])
    return pd.Series([1, 2, 3], index=index)


SCALARS: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "nan": lambda: float("nan"),
    "pd.NA": lambda: pd.NA,
    "pd.NaT": lambda: pd.NaT,
    "inf": lambda: float("inf"),
    "-0.0": lambda: -0.0,
    "0": lambda: 0,
    "-1": lambda: -1,
    "1": lambda: 1,
    "2": lambda: 2,
    "tiny": lambda: 5e-324,
    "huge float": lambda: 1e308,
    "2**62": lambda: 2**62,
    "2**63": lambda: 2**63,
    "10**400": lambda: 10**400,
    "True": lambda: True,
    "False": lambda: False,
    "complex": lambda: 1j,
    "Decimal": lambda: Decimal("0.5"),
    "Decimal nan": lambda: Decimal("sNaN"),
    "Fraction": lambda: Fraction(1, 2),
    "empty text": lambda: "",
    "text": lambda: "nurse",
    "other text": lambda: "no such label",
    "number as text": lambda: "1",
    "long text": lambda: "x" * 50_000,
    "surrogate": _surrogate,
    "NUL": lambda: "nur\0se",
    "bad str": lambda: BadStr("nurse"),
    "bytes": lambda: b"nurse",
    "np.uint64": lambda: np.uint64(2**64 - 1),
    "np.float16": lambda: np.float16(0.5),
    "longdouble nan": lambda: np.longdouble("nan"),
    "datetime64": lambda: np.datetime64("2024-01-01"),
    "timedelta64": lambda: np.timedelta64(1, "D"),
    "Timestamp": lambda: pd.Timestamp("2024-01-01"),
    "void": lambda: np.zeros(1, dtype=[("a", int)])[0],
    "masked": lambda: np.ma.masked,
    "Ellipsis": lambda: ...,
    "slice": lambda: slice(None),
    "0-d": lambda: np.array(0.5),
    "0-d object": lambda: np.array(None, dtype=object),
    "0-d text": lambda: np.array("mle"),
    "array of one": lambda: np.array([0.5]),
    "Series of one": lambda: pd.Series([0.5]),
    "Arrow scalar": lambda: pa.scalar(1),
    "Path": lambda: Path("nurse"),
    "object": object,
    "class": lambda: dict,
    "function": lambda: _refuse,
    "identity": lambda: lambda x: x,
    "generator": lambda: (x for x in (0.5, 0.3, 0.2)),
    "iterator": lambda: iter([0.5] * 3),
    "BadEq": BadEq,
    "BadHash": BadHash,
    "BadLen": BadLen,
    "BadRepr": BadRepr,
    "BadIter": BadIter,
    "BadArray": BadArray,
    "BadBool": BadBool,
    "BadFloat": BadFloat,
    "LongRepr": LongRepr,
    "Liar": Liar,
    "BadEq class": lambda: BadEq,
}

COLLECTIONS: dict[str, Callable[[], Any]] = {
    "empty list": lambda: [],
    "empty dict": lambda: {},
    "empty array": lambda: np.array([]),
    "empty object array": lambda: np.array([], dtype=object),
    "list of None": lambda: [None, None, None],
    "list of NA": lambda: [pd.NA, 1, 2],
    "list of nan": lambda: [0.5, float("nan"), 0.5],
    "list of huge": lambda: [10**400, 1, 1],
    "list of 2**63": lambda: [2**63, 1, 1],
    "list of bool": lambda: [True, False, True],
    "list of complex": lambda: [1j, 1, 1],
    "list of Decimal": lambda: [Decimal("0.5"), Decimal("0.3"), Decimal("0.2")],
    "list of text": lambda: ["nurse", "", "driver"],
    "list of surrogates": lambda: [_surrogate(), "nurse", "driver"],
    "list of NUL": lambda: ["nurse\0", "nurse", "driver"],
    "list of bytes": lambda: [b"nurse", b"teacher"],
    "list of BadEq": lambda: [BadEq(), BadEq(), BadEq()],
    "list of BadHash": lambda: [BadHash(), BadHash(), BadHash()],
    "list of BadRepr": lambda: [BadRepr(), BadRepr(), BadRepr()],
    "list of BadArray": lambda: [BadArray(), BadArray(), BadArray()],
    "list of BadFloat": lambda: [BadFloat(), BadFloat(), BadFloat()],
    "list of dates": lambda: [np.datetime64("2024-01-01")] * 3,
    "list of arrays": lambda: [np.array([0.5, 0.5])] * 3,
    "list of Series": lambda: [pd.Series([1, 2, 3])] * 2,
    "nested": lambda: [["nurse"], ["driver"], ["teacher"]],
    "ragged": lambda: [[1, 2], [3]],
    "itself": _self_containing,
    "set": lambda: {"nurse", "driver"},
    "dict": lambda: {"nurse": 1, "driver": 2, "teacher": 3},
    "dict of BadEq": lambda: {BadEq(): 1},
    "dict keys": lambda: {"nurse": 1, "driver": 2}.keys(),
    "range": lambda: range(3),
    "object array": lambda: np.array([1, "nurse", None], dtype=object),
    "object array of lists": lambda: np.array([[1], None, {}], dtype=object),
    "2-d": lambda: np.eye(3),
    "2-d text": lambda: np.array([["a", "b"], ["c", "d"]]),
    "structured": lambda: np.zeros(3, dtype=[("a", int), ("b", float)]),
    "masked array": lambda: np.ma.masked_equal([1, 2, 3], 2),
    "float16 array": lambda: np.array([0.5, 0.3, 0.2], dtype=np.float16),
    "complex array": lambda: np.array([0.5, 0.3, 0.2], dtype=complex),
    "datetime array": lambda: np.array(["2024-01-01"] * 3, dtype="datetime64[D]"),
    "bytes array": lambda: np.array([b"a", b"b", b"c"]),
    "bool array": lambda: np.array([True, False, True]),
    "uint64 array": lambda: np.array([2**64 - 1, 0, 1], dtype=np.uint64),
    "StringDType": lambda: np.array(["nurse", "driver"], dtype=np.dtypes.StringDType()),
    "DataFrame": lambda: pd.DataFrame({"report": ["nurse"], "n": [1]}),
    "empty frame": lambda: pd.DataFrame(),
    "frame of twins": lambda: pd.DataFrame([["a", "b"]], columns=["report", "report"]),
    "empty Series": lambda: pd.Series([], dtype=object),
    "Series twice": _duplicated,
    "Series multi": _multi,
    "Series of NA": lambda: pd.Series([pd.NA, 1, 2], dtype="Int64"),
    "Series boolean NA": lambda: pd.Series([True, None, False], dtype="boolean"),
    "Series string": lambda: pd.Series(["nurse", None, "driver"], dtype="string"),
    "Series Arrow": lambda: pd.Series([1, 2, 3], dtype="int64[pyarrow]"),
    "Series Arrow null": lambda: pd.Series([0.5, None], dtype="float64[pyarrow]"),
    "Series Arrow text": lambda: pd.Series(["nurse", None], dtype="string[pyarrow]"),
    "Series Arrow list": lambda: pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
    "Series Arrow decimal": lambda: pd.Series(
        [Decimal("0.5")], dtype=pd.ArrowDtype(pa.decimal128(3, 2))
    ),
    "Series of dates": lambda: pd.Series(pd.to_datetime(["2024-01-01"] * 3)),
    "Series of intervals": lambda: pd.Series(pd.cut([1, 2, 3], 2)),
    "categorical": lambda: pd.Series(["nurse", "driver"], dtype="category"),
    "categorical NA": lambda: pd.Series(["nurse", None], dtype="category"),
    "categorical unused": lambda: pd.Series(
        pd.Categorical(["nurse"], categories=["nurse", "teacher", "driver", "cook"])
    ),
    "categorical alike": lambda: pd.Series(pd.Categorical([1, "1"], categories=[1, "1"])),
    "categorical of dates": lambda: pd.Categorical(pd.to_datetime(["2024-01-01"])),
    "Categorical NA": lambda: pd.Categorical(["nurse", None]),
    "MultiIndex": lambda: pd.MultiIndex.from_product([["a", "b"], [1, 2]]),
    "huge RangeIndex": lambda: pd.RangeIndex(2**62),
    "IntervalIndex": lambda: pd.interval_range(0, 3),
    "Index with NA": lambda: pd.Index(["nurse", None]),
    "Arrow array": lambda: pa.array(["nurse", None]),
}


def _elements(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray | pd.Series | pd.Index):
        return value.tolist()
    return list(value)


def spoiled_element(value: Any, dice: random.Random) -> list[Any]:
    items = _elements(value)
    bad = SCALARS[dice.choice(list(SCALARS))]()
    if items:
        items[dice.randrange(len(items))] = bad
    else:
        items = [bad]
    return items


def _object_array(items: list[Any]) -> Any:
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array


def _read_only(value: Any) -> Any:
    array = np.array(value)
    array.setflags(write=False)
    return array


# what is made of a good collection, with the dice
SPOILERS: dict[str, Callable[[Any, random.Random], Any]] = {
    "an element": spoiled_element,
    "an element, object array": lambda v, dice: _object_array(spoiled_element(v, dice)),
    "an element, Series": lambda v, dice: pd.Series(_object_array(spoiled_element(v, dice))),
    "one less": lambda v, dice: _elements(v)[:-1],
    "one more": lambda v, dice: [*_elements(v), *_elements(v)[:1]],
    "all alike": lambda v, dice: _elements(v)[:1] * len(_elements(v)),
    "set": lambda v, dice: set(_elements(v)),
    "dict": lambda v, dice: dict.fromkeys(_elements(v)),
    "tuple": lambda v, dice: tuple(_elements(v)),
    "generator": lambda v, dice: (x for x in _elements(v)),
    "iterator once": lambda v, dice: iter(_elements(v)),
    "as text": lambda v, dice: str(_elements(v)),
    "nested": lambda v, dice: [_elements(v)],
    "column": lambda v, dice: [[x] for x in _elements(v)],
    "read-only": lambda v, dice: _read_only(v),
    "reversed": lambda v, dice: np.array(v)[::-1],
    "masked": lambda v, dice: np.ma.array(np.array(v), mask=np.arange(np.size(v)) == 0),
    "not masked": lambda v, dice: np.ma.array(np.array(v)),
    "objects": lambda v, dice: _object_array(_elements(v)),
    "big endian": lambda v, dice: np.array(v).astype(np.array(v).dtype.newbyteorder(">")),
    "float32": lambda v, dice: np.array(v, dtype=np.float32),
    "Series": lambda v, dice: pd.Series(np.array(v)),
    "Series of one label": lambda v, dice: pd.Series(np.array(v), index=[0] * len(v)),
    "Series of NA": lambda v, dice: pd.Series(_elements(v)).convert_dtypes().shift(1),
    "Arrow": lambda v, dice: pd.Series(_elements(v)).convert_dtypes(dtype_backend="pyarrow"),
    "Arrow NA": lambda v, dice: (
        pd.Series(_elements(v)).convert_dtypes(dtype_backend="pyarrow").shift(1)
    ),
    "categorical": lambda v, dice: pd.Series(_elements(v), dtype="category"),
    "categorical NA": lambda v, dice: pd.Series([None, *_elements(v)[1:]], dtype="category"),
    "Categorical": lambda v, dice: pd.Categorical(_elements(v)),
    "Index": lambda v, dice: pd.Index(_elements(v)),
    "frame": lambda v, dice: pd.DataFrame({"report": _elements(v)}),
    "matrix": lambda v, dice: np.array([_elements(v)] * 2),
}
