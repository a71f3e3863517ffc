"""Hostile arguments: what no caller should pass, and every public callable to pass it to.

A call has the arguments of an example that works, of which one or two are replaced. It must return,
or raise an `LDPError` that names the argument; `fault_of` says what else happened. The number of a
call determines it, so that one that failed can be made again alone.
"""

from __future__ import annotations

import copy
import inspect
import json
import random
import re
import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import ldpstats as ldp
from ldpstats import datasets, io, planning, privacy
from ldpstats.errors import LDPError, LDPWarning
from ldpstats.estimators import EM, MLE, CvxpyMLE, Lasso, OneStep, Thresholded
from ldpstats.estimators import constraints as cons

SECONDS = 60  # after which a call hangs: a thousand times what the longest takes
BYTES = 4 << 30  # that a call may ask for on top of what is there
LONGEST = 2000  # characters of a message


# -- values ----------------------------------------------------------------------------------------


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
    __eq__ = _refuse  # type: ignore[assignment]
    __hash__ = _refuse  # type: ignore[assignment]


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
    "-inf": lambda: float("-inf"),
    "-0.0": lambda: -0.0,
    "0": lambda: 0,
    "-1": lambda: -1,
    "1": lambda: 1,
    "2": lambda: 2,
    "tiny": lambda: 5e-324,
    "huge float": lambda: 1e308,
    "2**31": lambda: 2**31,
    "2**53": lambda: 2**53,
    "2**62": lambda: 2**62,
    "2**63-1": lambda: 2**63 - 1,
    "2**63": lambda: 2**63,
    "10**400": lambda: 10**400,
    "True": lambda: True,
    "False": lambda: False,
    "np.bool": lambda: np.bool_(True),
    "complex": lambda: 1j,
    "np.complex": lambda: np.complex128(1.0),
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
    "np.str": lambda: np.str_("nurse"),
    "bad str": lambda: BadStr("nurse"),
    "bytes": lambda: b"nurse",
    "bytearray": lambda: bytearray(b"12"),
    "np.bytes": lambda: np.bytes_(b"nurse"),
    "np.int8": lambda: np.int8(1),
    "np.uint64": lambda: np.uint64(2**64 - 1),
    "np.float16": lambda: np.float16(0.5),
    "longdouble": lambda: np.longdouble("0.5"),
    "longdouble nan": lambda: np.longdouble("nan"),
    "datetime64": lambda: np.datetime64("2024-01-01"),
    "timedelta64": lambda: np.timedelta64(1, "D"),
    "NaT64": lambda: np.datetime64("NaT"),
    "Timestamp": lambda: pd.Timestamp("2024-01-01"),
    "Interval": lambda: pd.Interval(0, 1),
    "void": lambda: np.zeros(1, dtype=[("a", int)])[0],
    "masked": lambda: np.ma.masked,
    "Ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "slice": lambda: slice(None),
    "0-d": lambda: np.array(0.5),
    "0-d object": lambda: np.array(None, dtype=object),
    "0-d int": lambda: np.array(1),
    "0-d text": lambda: np.array("mle"),
    "array of one": lambda: np.array([0.5]),
    "array of one text": lambda: np.array(["default"]),
    "Series of one": lambda: pd.Series([0.5]),
    "Index of one": lambda: pd.Index(["default"]),
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
    "empty tuple": lambda: (),
    "empty dict": lambda: {},
    "empty array": lambda: np.array([]),
    "empty object array": lambda: np.array([], dtype=object),
    "list of None": lambda: [None, None, None],
    "list of NA": lambda: [pd.NA, 1, 2],
    "list of nan": lambda: [0.5, float("nan"), 0.5],
    "list of inf": lambda: [float("inf"), 1.0, 0.0],
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
    "list of functions": lambda: [_refuse] * 3,
    "list of classes": lambda: [int, str, float],
    "list of arrays": lambda: [np.array([0.5, 0.5])] * 3,
    "list of Series": lambda: [pd.Series([1, 2, 3])] * 2,
    "list of dicts": lambda: [{}, {}, {}],
    "nested": lambda: [["nurse"], ["driver"], ["teacher"]],
    "ragged": lambda: [[1, 2], [3]],
    "itself": _self_containing,
    "set": lambda: {"nurse", "driver"},
    "frozenset": lambda: frozenset({0, 1}),
    "dict": lambda: {"nurse": 1, "driver": 2, "teacher": 3},
    "dict of BadEq": lambda: {BadEq(): 1},
    "dict keys": lambda: {"nurse": 1, "driver": 2}.keys(),
    "range": lambda: range(3),
    "memoryview": lambda: memoryview(b"123"),
    "object array": lambda: np.array([1, "nurse", None], dtype=object),
    "object array of lists": lambda: np.array([[1], None, {}], dtype=object),
    "2-d": lambda: np.eye(3),
    "3-d": lambda: np.zeros((2, 2, 2)),
    "2-d text": lambda: np.array([["a", "b"], ["c", "d"]]),
    "structured": lambda: np.zeros(3, dtype=[("a", int), ("b", float)]),
    "recarray": lambda: np.rec.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
    "masked array": lambda: np.ma.masked_equal([1, 2, 3], 2),
    "masked text": lambda: np.ma.array(["nurse", "driver"], mask=[True, False]),
    "float16 array": lambda: np.array([0.5, 0.3, 0.2], dtype=np.float16),
    "longdouble array": lambda: np.array([0.5, 0.3, 0.2], dtype=np.longdouble),
    "complex array": lambda: np.array([0.5, 0.3, 0.2], dtype=complex),
    "datetime array": lambda: np.array(["2024-01-01"] * 3, dtype="datetime64[D]"),
    "timedelta array": lambda: np.array([1, 2, 3], dtype="timedelta64[s]"),
    "bytes array": lambda: np.array([b"a", b"b", b"c"]),
    "void array": lambda: np.zeros(3, dtype="V4"),
    "bool array": lambda: np.array([True, False, True]),
    "uint64 array": lambda: np.array([2**64 - 1, 0, 1], dtype=np.uint64),
    "negative array": lambda: np.array([-1, 0, 1]),
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
    "Series of zones": lambda: pd.Series(pd.to_datetime(["2024-01-01"] * 3, utc=True)),
    "Series of periods": lambda: pd.Series(pd.period_range("2024", periods=3, freq="M")),
    "Series of intervals": lambda: pd.Series(pd.cut([1, 2, 3], 2)),
    "Series sparse": lambda: pd.Series(pd.arrays.SparseArray([0.0, 0.0, 1.0])),
    "categorical": lambda: pd.Series(["nurse", "driver"], dtype="category"),
    "categorical NA": lambda: pd.Series(["nurse", None], dtype="category"),
    "categorical unused": lambda: pd.Series(
        pd.Categorical(["nurse"], categories=["nurse", "teacher", "driver", "cook"])
    ),
    "categorical alike": lambda: pd.Series(pd.Categorical([1, "1"], categories=[1, "1"])),
    "categorical of numbers": lambda: pd.Series(pd.Categorical([0, 1, 2])),
    "categorical of dates": lambda: pd.Categorical(pd.to_datetime(["2024-01-01"])),
    "Categorical NA": lambda: pd.Categorical(["nurse", None]),
    "CategoricalIndex": lambda: pd.CategoricalIndex(["nurse", "nurse"]),
    "categorical dtype": lambda: pd.CategoricalDtype(),
    "MultiIndex": lambda: pd.MultiIndex.from_product([["a", "b"], [1, 2]]),
    "DatetimeIndex": lambda: pd.DatetimeIndex(["2024-01-01"]),
    "RangeIndex": lambda: pd.RangeIndex(2, 8, 3),
    "huge RangeIndex": lambda: pd.RangeIndex(2**62),
    "IntervalIndex": lambda: pd.interval_range(0, 3),
    "Index with NA": lambda: pd.Index(["nurse", None]),
    "Arrow array": lambda: pa.array(["nurse", None]),
    "Arrow table": lambda: pa.table({"report": ["nurse"]}),
}


def _elements(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray | pd.Series | pd.Index):
        return value.tolist()
    return list(value)


def _spoiled_element(value: Any, dice: random.Random) -> list[Any]:
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
    "an element": _spoiled_element,
    "an element, object array": lambda v, dice: _object_array(_spoiled_element(v, dice)),
    "an element, Series": lambda v, dice: pd.Series(_object_array(_spoiled_element(v, dice))),
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


# -- examples that work ----------------------------------------------------------------------------

JOBS = ("nurse", "teacher", "driver")
P3 = (0.5, 0.3, 0.2)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@dataclass(frozen=True)
class Fresh:
    """An argument that is made anew for each call."""

    make: Callable[[], Any]


RNG = Fresh(rng)


@dataclass(frozen=True)
class Site:
    """A public callable with arguments that work.

    Parameters
    ----------
    name : str
    call : callable
    arguments : dict
        By name; `Fresh` ones are made anew.
    also : dict
        What else than its name an error may call an argument.
    slow : bool
        Whether a call takes long: it is drawn ten times less often.
    files : bool
        Whether it is of `ldpstats.io`.
    """

    name: str
    call: Callable[..., Any]
    arguments: dict[str, Any]
    also: dict[str, tuple[str, ...]] = field(default_factory=dict)
    slow: bool = False
    files: bool = False


class Examples:
    """Objects to call methods of, and to pass where others belong."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.krr = ldp.KRR(JOBS, epsilon=1.0)
        self.numbered = ldp.KRR(3, epsilon=1.0)
        self.oue = ldp.KRAPPOR(JOBS, epsilon=1.0)
        self.warner = ldp.Warner(epsilon=1.0)
        self.custom = ldp.CustomMechanism([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
        self.orr = ldp.ORR(8, 4, epsilon=2.0)
        self.orr_closed = ldp.ORR(3, 4, epsilon=2.0, alphabet=JOBS)
        self.orappor = ldp.ORAPPOR(8, 2, 4, epsilon=3.0)
        self.rappor = ldp.RAPPOR(8, 2, 4, f=0.0, p=0.25, q=0.75)
        self.google = ldp.RAPPOR(8, 2, 2, f=0.0, p=0.25, q=0.75, hashing="google")
        self.urr = ldp.URR(JOBS, {"nurse"}, epsilon=1.0)
        self.urap = ldp.URAP(JOBS, {"nurse"}, epsilon=1.0)
        self.pum = ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, 1.0), ("home",))
        self.survey = ldp.DictionarySurvey(4, 2, "abc", epsilon=6.0)
        self.mechanisms = {
            "KRR": self.krr,
            "KRR(3)": self.numbered,
            "KRAPPOR": self.oue,
            "Warner": self.warner,
            "CustomMechanism": self.custom,
            "ORR": self.orr,
            "ORR closed": self.orr_closed,
            "ORAPPOR": self.orappor,
            "RAPPOR": self.rappor,
            "RAPPOR google": self.google,
            "URR": self.urr,
            "URAP": self.urap,
        }
        g = rng()
        self.values = {
            name: g.integers(0, 3, 60)
            if name == "KRR(3)"
            else g.integers(0, 2, 60)
            if name == "CustomMechanism"
            else g.choice(np.array(["no", "yes"] if name == "Warner" else JOBS, dtype=object), 60)
            for name in self.mechanisms
        }
        self.reports = {
            name: m.privatize(self.values[name], g) for name, m in self.mechanisms.items()
        }
        self.counts = {name: r.tally() for name, r in self.reports.items()}
        self.bits = {
            name: r.tally(bits=True)
            for name, r in self.reports.items()
            if self.mechanisms[name].n_bits
        }
        self.results = ldp.FrequencyModel(self.counts["KRR"]).fit()
        quiet = warnings.catch_warnings()
        with quiet:
            warnings.simplefilter("ignore")
            self.open_results = ldp.FrequencyModel(self.counts["ORR"], candidates=JOBS).fit()
            self.joint = ldp.JointCounts((self.reports["KRR"], self.reports["Warner"]))
            self.association = ldp.AssociationModel(
                self.reports["KRR"], self.reports["Warner"], names=("job", "late")
            )
            self.table = self.association.fit()
            yes = ldp.KRR(("no", "yes"), 6.0)
            many = [yes.privatize(g.choice(["no", "yes"], 3000), g) for _ in range(3)]
            self.three = ldp.AssociationModel(*many).fit()
            self.frequency = ldp.FrequencyModel(self.counts["KRR"])
            places = ["centre", "park", "clinic"] * 40
            self.personal_reports = self.pum.privatize(places, g, tags={"home": ["park"] * 120})
            self.personal = ldp.PersonalizedModel(self.personal_reports, self.pum)
            self.personal_results = self.personal.fit()
            self.strings = self.survey.privatize(["abca", "cc", "bab"] * 60, g)
            self.dictionary = ldp.DictionaryModel(self.strings)
            self.discovered = self.dictionary.fit(false_grams=5.0, max_candidates=20)
        self.channel = self.krr.channel()
        self.table_frame = pd.DataFrame({"report": list(JOBS), "count": [3, 2, 1]})
        self._files()
        self.others: dict[str, Any] = {
            "KRR": self.krr,
            "KRR class": ldp.KRR,
            "KRAPPOR": self.oue,
            "ORR": self.orr,
            "URAP": self.urap,
            "PUM": self.pum,
            "survey": self.survey,
            "Reports": self.reports["KRR"],
            "Reports of bits": self.reports["KRAPPOR"],
            "Reports of cohorts": self.reports["RAPPOR"],
            "Reports class": ldp.Reports,
            "Counts": self.counts["KRR"],
            "Counts of others": ldp.KRR(JOBS, 2.0).counts([1, 2, 3]),
            "no Counts": self.krr.no_counts(),
            "BitCounts": self.bits["KRAPPOR"],
            "JointCounts": self.joint,
            "DictionaryReports": self.strings,
            "FrequencyResults": self.results,
            "AssociationResults": self.table,
            "DictionaryResults": self.discovered,
            "PersonalizedResults": self.personal_results,
            "FrequencyModel": self.frequency,
            "AssociationModel": self.association,
            "channel": self.channel,
            "Effect": self.table.cramers_v(),
            "TestResult": self.table.test_independence(),
            "estimator": MLE(),
            "estimator class": MLE,
            "constraints": cons.monotone(),
            "generator of numbers": rng(),
            "list of Reports": [self.reports["KRR"], self.reports["Warner"]],
            "list of Counts": [self.counts["KRR"], None],
            "specification": self.krr.to_dict(),
            "audit": self.krr.audit(),
        }

    def _files(self) -> None:
        self.answers = str(self.folder / "answers.csv")
        Path(self.answers).write_text("id,job\n1,nurse\n2,driver\n3,teacher\n")
        self.words = str(self.folder / "words.csv")
        Path(self.words).write_text("word\nabca\ncc\n")
        self.report_file = str(self.folder / "reports.csv")
        io.write_reports(self.reports["KRR"], self.report_file)
        self.pair_file = str(self.folder / "pair.csv")
        Path(self.pair_file).write_text("id,job,late,n\n1,nurse,yes,2\n2,driver,no,3\n")
        self.string_file = str(self.folder / "strings.csv")
        io.write_dictionary_reports(self.strings, self.string_file)
        self.spec = str(self.folder / "spec.json")
        io.write_mechanism(self.krr, self.spec)
        self.survey_file = str(self.folder / "survey.json")
        io.write_survey(self.survey, self.survey_file)
        self.candidates = str(self.folder / "candidates.txt")
        Path(self.candidates).write_text("nurse\nteacher\n")
        self.map_file = str(self.folder / "map.csv")
        io.write_rappor_map(JOBS, self.google, self.map_file)
        self.params_file = str(self.folder / "params.csv")
        io.write_rappor_params(self.google, self.params_file)
        self.google_counts = str(self.folder / "counts.csv")
        io.write_rappor_counts(self.bits["RAPPOR google"], self.google_counts)
        self.google_reports = str(self.folder / "google_reports.csv")
        io.write_rappor_reports(self.reports["RAPPOR google"], self.google_reports)


def _takes(call: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the callable has."""
    known = inspect.signature(call).parameters
    if any(p.kind is p.VAR_KEYWORD for p in known.values()):
        return arguments
    return {name: value for name, value in arguments.items() if name in known}


def sites(e: Examples) -> list[Site]:
    """Every public callable."""
    found = [
        *_constructors(e),
        *_channel_sites(e),
        *_mechanism_sites(e),
        *_count_sites(e),
        *_model_sites(e),
        *_result_sites(e),
        *_document_sites(e),
        *_privacy_sites(e),
        *_utility_sites(e),
        *(replace(site, files=True) for site in _io_sites(e)),
    ]
    names = [site.name for site in found]
    assert len(set(names)) == len(names), "two sites have one name"
    return found


def _constructors(e: Examples) -> Iterator[Site]:
    some = {"categories": JOBS, "epsilon": 1.0}
    hashed: dict[str, Any] = {"n_cohorts": 4, "alphabet": None}
    bloom = hashed | {"n_bits": 8, "n_hashes": 2}
    yield Site("KRR", ldp.KRR, some)
    yield Site("KRAPPOR", ldp.KRAPPOR, some | {"theta": 0.5})
    yield Site("Warner", ldp.Warner, {"epsilon": 1.0})
    yield Site("ForcedResponse", ldp.ForcedResponse, {"p_truth": 0.5, "p_yes": 0.25})
    yield Site("UnrelatedQuestion", ldp.UnrelatedQuestion, {"p": 0.5, "prevalence": 0.5})
    yield Site("Mangat", ldp.Mangat, {"p": 0.5})
    Q = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
    three = {"Q": Q, "categories": ("a", "b"), "outputs": JOBS}
    yield Site("CustomMechanism", ldp.CustomMechanism, three)
    yield Site("ORR", ldp.ORR, hashed | {"n_outputs": 8, "epsilon": 2.0})
    yield Site("ORR closed", ldp.ORR, hashed | {"n_outputs": 8, "epsilon": 2.0, "alphabet": JOBS})
    yield Site("ORAPPOR", ldp.ORAPPOR, bloom | {"epsilon": 2.0})
    noise = {"f": 0.1, "p": 0.25, "q": 0.75, "hashing": "ldpstats"}
    yield Site("RAPPOR", ldp.RAPPOR, bloom | noise)
    yield Site("URAP", ldp.URAP, some | {"sensitive": ["nurse"], "theta": 0.5})
    yield Site("URR", ldp.URR, some | {"sensitive": ["nurse"]})
    graded = {"epsilon": {"nurse": 0.5, "driver": 1.0}, "categories": JOBS}
    yield Site(
        "URR levels", ldp.URR, graded, {"categories": ("sensitive",), "epsilon": ("sensitive",)}
    )
    levels = some | {"sensitive": ["nurse", "driver"], "levels": (0.5, 1.0)}
    yield Site("URR levels=", ldp.URR, levels, {"levels": ("epsilon",)})
    yield Site("PUM", ldp.PUM, {"mechanism": e.urr, "tags": ("home", "work")})
    given = {"labels": JOBS, "cells": np.zeros((4, 3, 2), dtype=int)}
    yield Site("CandidateMap", ldp.CandidateMap, given, {"labels": ("candidates",)})
    survey = {
        "length": 4,
        "gram": 2,
        "alphabet": "abc",
        "epsilon": 6.0,
        "split": (0.4, 0.3, 0.3),
        "gram_mechanism": "krr",
        "string_mechanism": "orr",
        "pad": " ",
        "step": 2,
        "replace": "a",
    }
    yield Site("DictionarySurvey", ldp.DictionarySurvey, survey)
    yield Site("EM", EM, {"tol": 1e-6, "max_iter": 10})
    yield Site("MLE", MLE, {"constraints": cons.monotone(), "tol": 1e-6, "max_iter": 10})
    yield Site("CvxpyMLE", CvxpyMLE, {"tol": 1e-6})
    yield Site("Lasso", Lasso, {"penalty": "quantile", "false_selections": 1.0})
    yield Site("OneStep", OneStep, {"newton": 1})
    yield Site("Thresholded", Thresholded, {"alpha": 0.05})
    yield Site("known_margin", cons.known_margin, {"margin": [[1, 0, 1]], "values": [0.7]})
    yield Site("known_margin{}", cons.known_margin, {"margin": {(0, 2): 0.7}})
    yield Site("monotone", cons.monotone, {"order": "increasing"})
    yield Site("unimodal", cons.unimodal, {"mode": 1})
    yield Site("bounds", cons.bounds, {"low": [0.1, 0.1, 0.1], "high": 0.9})
    yield Site("Counts", ldp.Counts, {"y": [0, 1], "n": [3, 4], "mechanism": e.krr, "n_missing": 1})
    yield Site("Reports", ldp.Reports, {"y": [0, 1], "mechanism": e.krr, "n_missing": 1})
    yield Site(
        "Counts of cohorts",
        ldp.Counts,
        {"y": [0, 1], "n": [3, 4], "mechanism": e.orr, "cohort": [0, 3]},
    )
    sums = {"ones": [[3, 2, 1]], "reports": [4], "mechanism": e.oue, "n_missing": 0}
    yield Site("BitCounts", ldp.BitCounts, sums)
    noisy = e.counts["URAP"]
    parts = {"y": noisy.y, "n": noisy.n, "mechanism": e.urap, "noise": noisy.noise}
    yield Site("Counts of URAP", ldp.Counts, parts)
    pair = (e.reports["KRR"], e.reports["Warner"])
    ids = (np.arange(60), np.arange(60))
    yield Site("JointCounts", ldp.JointCounts, {"reports": pair, "n": np.ones(60, int), "ids": ids})
    found = e.strings
    whole = {name: getattr(found, name) for name in ("survey", "pair", "first", "second", "string")}
    yield Site("DictionaryReports", ldp.DictionaryReports, whole | {"n_missing": 0})


_FILE = {"state": ("file", "path")}
_STATES = count()


def _state_file(folder: Path) -> str:
    """The name of a file that is not there yet."""
    return str(folder / f"state-{next(_STATES)}")


def _channel_sites(e: Examples) -> Iterator[Site]:
    Q = ldp.channels.Dense([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    yield Site("Dense", ldp.channels.Dense, {"Q": Q.Q.tolist()})
    yield Site("Stacked", ldp.channels.Stacked, {"channels": [Q, Q], "shares": [0.5, 0.5]})
    yield Site("Kronecker", ldp.channels.Kronecker, {"channels": [Q, Q]})
    test = {"null": "p = q", "statistic": 1.0, "df": 1.0, "method": "a test"}
    yield Site("TestResult.chi_square", ldp.TestResult.chi_square, test)
    yield Site("TestResult", ldp.TestResult, test | {"pvalue": 0.3})
    whole = e.table.test_independence().to_dict()
    yield Site("TestResult.from_dict", ldp.TestResult.from_dict, {"document": whole})


def _mechanism_sites(e: Examples) -> Iterator[Site]:
    for name, m in e.mechanisms.items():
        values, reports = e.values[name], e.reports[name]
        listed = {"candidates": JOBS} if m.is_open else {"candidates": None}
        cohort = {"cohort": np.arange(60) % m.n_cohorts} if m.n_cohorts else {}
        given = {"values": values, "rng": RNG, "missing": "raise"}
        yield Site(f"{name}.privatize", m.privatize, given | cohort)
        sizes = len(m.labels(listed["candidates"]))
        p = np.full(sizes, 1.0 / sizes)
        yield Site(f"{name}.draw", m.draw, {"p": p, "n": 100, "rng": RNG} | listed)
        yield Site(f"{name}.labels", m.labels, dict(listed))
        yield Site(f"{name}.channel", m.channel, dict(listed))
        if m.n_bits:
            found = e.bits[name]
            ones = found.ones if m.n_cohorts else found.ones[0]
            nobs = found.reports if m.n_cohorts else int(found.reports[0])
            yield Site(f"{name}.counts", m.counts, {"n": ones, "nobs": nobs}, {"n": ("ones", "C")})
        else:
            yield Site(f"{name}.counts", m.counts, {"n": e.counts[name].vector(), "nobs": None})
        counted = {"counts": e.counts[name]} | listed
        also = {"counts": ("data",)}
        yield Site(f"{name}.likelihood", m.likelihood, counted, also)
        if m.n_bits:
            counted = {"counts": e.bits[name]} | listed
        yield Site(f"{name}.moments", m.moments, counted, also)
        cohorts = None if reports.cohort is None else reports.cohort
        text = m.report_labels(reports)
        if cohorts is not None:
            text = np.array([str(t).split(":")[-1] for t in text], dtype=object)
        parse = {"name": "report", "labels": text, "cohort": cohorts}
        if cohorts is None:
            parse.pop("cohort")
        parse.pop("name")
        yield Site(f"{name}.parse", partial(m.parse, "labels"), parse)
        client = {
            "entropy": Fresh(lambda: rng().bytes),
            "reports": 2,
            "max_epsilon": 100.0,
            "allow_no_privacy": False,
            "secret": bytes(32),
        }
        for kind in ("client", "collector"):
            make = getattr(m, kind)
            yield Site(f"{name}.{kind}", make, _takes(make, client))
        kept = {"state": Fresh(partial(_state_file, e.folder)), "reports": 2}
        yield Site(f"{name}.client of a file", m.client, _takes(m.client, kept), _FILE)
        collector = m.collector()
        one = {"value": values[0].item() if isinstance(values[0], np.generic) else values[0]}
        yield Site(f"{name}.collector().report", collector.report, one, {"value": ("values",)})
        many = {"values": values, "missing": "raise"}
        yield Site(f"{name}.collector().privatize", collector.privatize, many)
        yield Site(f"{name}.report", partial(_reported, m), one, {"value": ("values",)})
    pum = {"values": ["park", "centre"], "tags": {"home": ["park", None]}}
    yield Site("PUM.privatize", e.pum.privatize, pum | {"rng": RNG, "missing": "raise"})
    yield Site("PUM.preprocess", e.pum.preprocess, dict(pum))
    yield Site("PUM.channel", e.pum.channel, {"tags": {"home": {"park"}}})
    own = {"tags": {"home": {"park"}}, "entropy": Fresh(lambda: rng().bytes), "reports": 2}
    own |= {"max_epsilon": 10.0, "allow_no_privacy": False}
    yield Site("PUM.client", e.pum.client, _takes(e.pum.client, own))
    client = e.pum.client({"home": {"park"}}, **_takes(e.pum.client, {"reports": None}))
    yield Site("PUM.client().report", client.report, {"value": "park"}, {"value": ("values",)})
    words = {"values": ["abca", "cc"], "missing": "raise"}
    yield Site("survey.privatize", e.survey.privatize, words | {"rng": RNG})
    also = {"strings": ("candidates", "Q")}
    yield Site("survey.channel", e.survey.channel, {"strings": ["ab", "c"]}, also, slow=True)
    yield Site(
        "survey.client", e.survey.client, _takes(e.survey.client, {"entropy": None, "reports": 2})
    )
    yield Site("survey.report", e.survey.collector().report, {"value": "abc"})
    yield Site("survey.collector().privatize", e.survey.collector().privatize, words)
    yield Site("lump", ldp.lump, {"reports": e.reports["KRR"], "keep": ["nurse"], "other": "Rest"})
    yield Site(
        "lump bits", ldp.lump, {"reports": e.reports["KRAPPOR"], "keep": ["nurse"], "other": "Rest"}
    )
    yield Site(
        "withhold",
        ldp.withhold,
        {"reports": e.reports["URR"], "sensitive": ["nurse"], "label": "withheld"},
    )
    yield Site("paired", ldp.paired, {"first": e.reports["KRR"], "second": e.reports["KRAPPOR"]})


def _reported(m: Any, value: object) -> Any:
    """The first report of a client of its own."""
    return m.client().report(value)


def _count_sites(e: Examples) -> Iterator[Site]:
    frame = {"frame": e.table_frame, "mechanism": e.krr, "report": "report", "count": "count"}
    also = {"frame": ("column",)}
    yield Site("Counts.from_frame", ldp.Counts.from_frame, frame | {"missing": "raise"}, also)
    cohorts = pd.DataFrame({"report": [0, 1], "cohort": [0, 3], "n": [1, 2]})
    held = {"frame": cohorts, "mechanism": e.orr, "cohort": "cohort", "count": "n"}
    yield Site("Counts.from_frame cohorts", ldp.Counts.from_frame, held, also)
    bits = pd.DataFrame({"report": ["010", "111"]})
    yield Site("Counts.from_frame bits", ldp.Counts.from_frame, {"frame": bits, "mechanism": e.oue})
    table = {"table": [[3, 2], [1, 2], [4, 5]], "mechanisms": (e.krr, e.warner)}
    yield Site("JointCounts.from_table", ldp.JointCounts.from_table, table)
    for name in ("KRR", "KRAPPOR", "ORR"):
        yield Site(f"{name} tally", e.reports[name].tally, {"bits": False})
    yield Site("variable", e.joint.variable, {"v": 0})
    tabulated = datasets.load_gss().head(20)
    yield Site("expand", datasets.expand, {"table": tabulated, "count": "count"})


def _model_sites(e: Examples) -> Iterator[Site]:
    data = {"data": e.counts["KRR"]}
    also = {"data": ("counts", "reports")}
    yield Site("FrequencyModel", ldp.FrequencyModel, data, also)
    groups = {"data": [e.counts["KRR"], ldp.KRR(JOBS, 2.0).counts([3, 2, 1])]}
    yield Site("FrequencyModel groups", ldp.FrequencyModel, groups, also)
    opened = {"data": e.counts["ORR"], "candidates": JOBS, "incomplete": True}
    yield Site("FrequencyModel open", ldp.FrequencyModel, opened, also)
    how = {"method": "mle", "constraints": None, "cov_type": "default"}
    yield Site("FrequencyModel.fit", e.frequency.fit, how)
    bound = {"method": "mle", "constraints": cons.known_margin({(0, 2): 0.7})}
    yield Site("FrequencyModel.fit constrained", e.frequency.fit, bound, slow=True)
    opened_model = ldp.FrequencyModel(e.counts["ORR"], candidates=JOBS)
    yield Site("FrequencyModel.fit open", opened_model.fit, {"method": "inversion"})
    sums = ldp.FrequencyModel(e.bits["KRAPPOR"])
    yield Site("FrequencyModel.fit bits", sums.fit, {"method": "inversion", "cov_type": "default"})
    yield Site("test_distribution", e.frequency.test_distribution, {"p0": P3})
    two = {"first": e.counts["KRR"], "second": ldp.KRR(JOBS, 2.0).counts([30, 20, 10])}
    named = {"first": ("data", "counts"), "second": ("data", "counts")}
    yield Site("two_sample_test", ldp.two_sample_test, two | {"method": "default"}, named)
    opened_two = {"first": e.counts["ORR"], "second": e.counts["ORR"], "candidates": JOBS}
    yield Site("two_sample_test open", ldp.two_sample_test, opened_two, named)
    joint = {"names": ("job", "late"), "other": False, "candidates": None, "ids": None}
    both = {"reports": (e.reports["KRR"], e.reports["Warner"])}
    yield Site("AssociationModel", _association, both | joint)
    with_ids = both | {"ids": (np.arange(60), np.arange(60)), "names": ["job", "late"]}
    yield Site("AssociationModel ids", _association, with_ids)
    listed = {"candidates": (JOBS, None), "other": ("product", False)}
    opened_both = {"reports": (e.reports["ORR"], e.reports["Warner"])}
    yield Site("AssociationModel open", _association, opened_both | listed)
    yield Site("AssociationModel.fit", e.association.fit, {"method": "mle", "cov_type": "default"})
    person = {"data": e.personal_reports, "pum": e.pum, "background": {"home": P3}, "exact": False}
    yield Site("PersonalizedModel", ldp.PersonalizedModel, person, also)
    yield Site("PersonalizedModel.fit", e.personal.fit, {"method": "mle"})
    words = {"reports": e.strings, "keep": "[abc]+"}
    yield Site("DictionaryModel", ldp.DictionaryModel, words)
    find = {
        "alpha": 0.05,
        "threshold": "standard",
        "search": "likelihood",
        "false_grams": 5.0,
        "max_grams": 20,
        "max_candidates": 20,
        "width": 100,
        "progress": None,
    }
    yield Site("DictionaryModel.fit", e.dictionary.fit, find, slow=True)
    lasso = ldp.FrequencyModel(e.bits["RAPPOR"], candidates=JOBS)
    yield Site("FrequencyModel.fit lasso", lasso.fit, {"method": "lasso"})
    yield Site("select", e.strings.select, {"keep": np.arange(5)})
    yield Site("at_pair", e.strings.at_pair, {"number": 0})


def _association(reports: Any, **how: Any) -> Any:
    several = isinstance(reports, list | tuple)
    return ldp.AssociationModel(*(reports if several else (reports,)), **how)


def _result_sites(e: Examples) -> Iterator[Site]:
    held: dict[str, Any] = {
        "FrequencyResults": e.results,
        "open FrequencyResults": e.open_results,
        "AssociationResults": e.table,
        "three AssociationResults": e.three,
        "PersonalizedResults": e.personal_results,
        "DictionaryResults": e.discovered,
    }
    truth = {"FrequencyResults": P3, "open FrequencyResults": P3, "PersonalizedResults": P3}
    for name, r in held.items():
        simple: dict[str, dict[str, Any]] = {
            "summary": {"alpha": 0.05, "max_rows": 40},
            "summary_frame": {"alpha": 0.05},
            "conf_int": {"alpha": 0.05, "method": "default", "clip": True, "simultaneous": None},
            "cov_params": {"cov_type": "default"},
            "detected": {"alpha": 0.05, "method": "bonferroni", "force": True},
        }
        if name == "DictionaryResults":
            del simple["detected"]
            simple["conf_int"] = {"alpha": 0.05, "method": "selected"}
            simple["detectable_at"] = {"power": 0.8}
        for method, arguments in simple.items():
            call = getattr(r, method)
            yield Site(f"{name}.{method}", call, _takes(call, arguments))
        k = len(r.linear_params)
        row = np.zeros(k)
        if k:
            row[0] = 1.0
            for test in ("t_test", "wald_test"):
                yield Site(f"{name}.{test}", getattr(r, test), {"hypothesis": (row, 0.1)})
        if name != "three AssociationResults":
            plot = {"alpha": 0.05, "ax": None, "truth": truth.get(name)}
            if name == "AssociationResults":
                plot |= {"kind": "heatmap"}
            if name == "DictionaryResults":
                plot |= {"most": 5, "truth": {"abca": 0.3}}
            yield Site(f"{name}.plot", r.plot, _takes(r.plot, plot), slow=True)
    known = {"alpha": 0.05, "method": "profile", "model": e.frequency}
    yield Site("conf_int profile", e.results.conf_int, known)
    redrawn = known | {"method": "bootstrap", "rng": RNG, "n_boot": 39}
    yield Site("conf_int bootstrap", e.results.conf_int, redrawn, slow=True)
    yield Site("t_test text", e.results.t_test, {"hypothesis": "nurse = driver"})
    yield Site("wald_test text", e.results.wald_test, {"hypothesis": "nurse = driver"})
    pair = {"first": "nurse", "second": "driver", "alpha": 0.05}
    yield Site("difference", e.results.difference, pair)
    yield Site("ratio", e.results.ratio, pair)
    yield Site("plot_graph", e.discovered.plot_graph, {"ax": None, "max_strings": 3}, slow=True)
    t = e.table
    rows = {"rows": ("nurse", "driver"), "alpha": 0.05}
    yield Site("odds_ratio", t.odds_ratio, rows | {"columns": ("yes", "no")})
    yield Site("risk_ratio", t.risk_ratio, rows | {"column": "yes"})
    yield Site("risk_difference", t.risk_difference, rows | {"column": "yes"})
    yield Site("cramers_v", t.cramers_v, {"alpha": 0.05})
    yield Site("conditional", t.conditional, {"on": "late", "alpha": 0.05})
    yield Site("margins", t.margins, {"alpha": 0.05})
    independence = {"method": "score", "model": e.association, "rng": None}
    yield Site("test_independence", t.test_independence, independence)
    permuted = independence | {"n_permutations": 9, "rng": RNG}
    yield Site("test_independence permuted", t.test_independence, permuted, slow=True)
    booted = {"method": "bootstrap", "model": e.association, "n_boot": 3, "rng": RNG}
    yield Site("test_independence bootstrap", t.test_independence, booted, slow=True)
    scores = {"row_scores": [1, 2, 3], "column_scores": [0, 1], "model": e.association}
    yield Site("test_trend", t.test_trend, scores)
    yield Site("test_homogeneity", e.three.test_homogeneity, {"by": "z"})
    yield Site(
        "test_conditional_independence", e.three.test_conditional_independence, {"given": "z"}
    )


def _document_sites(e: Examples) -> Iterator[Site]:
    """Specifications and stored results; their own spoiler damages them anywhere."""
    for name, m in e.mechanisms.items():
        document = {"document": m.to_dict()}
        also = {"document": ("specification",)}
        yield Site(f"{name} specification", ldp.mechanism_from_dict, document, also)
    also = {"document": ("specification", "mechanism")}
    yield Site("KRR.from_dict", ldp.KRR.from_dict, {"document": e.krr.to_dict()}, also)
    yield Site("PUM.from_dict", ldp.PUM.from_dict, {"document": e.pum.to_dict()}, also)
    survey = {"document": e.survey.to_dict()}
    yield Site("survey.from_dict", ldp.DictionarySurvey.from_dict, survey, also)
    held: dict[str, Any] = {
        "FrequencyResults": e.results,
        "open FrequencyResults": e.open_results,
        "AssociationResults": e.table,
        "PersonalizedResults": e.personal_results,
        "DictionaryResults": e.discovered,
    }
    for name, r in held.items():
        yield Site(f"{name}.from_dict", type(r).from_dict, {"document": r.to_dict()})
        yield Site(
            f"{name}.from_json", type(r).from_json, {"text": r.to_json()}, {"text": ("document",)}
        )


def _privacy_sites(e: Examples) -> Iterator[Site]:
    Q = [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]
    yield Site("privacy.epsilon", privacy.epsilon, {"Q": Q})
    yield Site("privacy.epsilon mechanism", privacy.epsilon, {"Q": e.krr})
    yield Site("privacy.uldp", privacy.uldp, {"Q": e.urr, "sensitive": ["nurse"]})
    yield Site("privacy.uldp array", privacy.uldp, {"Q": Q, "sensitive": [0]})
    yield Site("privacy.compose", privacy.compose, {"epsilons": [1.0, 0.5]})
    yield Site("split_budget", privacy.split_budget, {"total": 3.0, "weights": [1, 1, 2]})
    yield Site("sequential", privacy.sequential, {"first": e.krr, "second": e.krr})
    after = {"first": Q, "second": [Q, Q, Q]}
    yield Site("sequential adaptive", privacy.sequential, after)
    R = [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]
    process = {"Q": Q, "R": R, "sensitive": [0]}
    yield Site("post_process", privacy.post_process, process)


_UTILITY: dict[str, Any] = {
    "k": 4,
    "n_sensitive": 2,
    "epsilon": 1.0,
    "p": (0.4, 0.3, 0.2, 0.1),
    "loss": "l2",
    "S": 10,
    "n_cohorts": 4,
    "mass": 0.9,
    "n_hashes": 1,
    "n_cells": 8,
    "n": 1000,
    "theta": 0.5,
    "sensitive": (0, 1),
    "r_hat": (0.4, 0.3, 0.2, 0.1),
    "r": (0.3, 0.3, 0.3, 0.1),
    "pi_hat": (0.2, 0.8),
    "pi": (0.3, 0.7),
    "candidates": None,
}


def _utility_sites(e: Examples) -> Iterator[Site]:
    for name in planning.__all__:
        call = getattr(planning, name)
        if inspect.isclass(call) or name in ("plan_dictionary", "recommend_design"):
            continue
        given = {n: v for n, v in _UTILITY.items() if n in inspect.signature(call).parameters}
        if name.startswith("uldp_") or name == "urr_worst_distribution":
            given["loss"] = "l1"
        if "mechanism" in inspect.signature(call).parameters:
            given["mechanism"] = "krr"
        if name.startswith("effective") or name.startswith("uldp_"):
            given["mechanism"] = "urr" if name.startswith("uldp_") else "krappor"
        if name in ("expected_loss", "random_design_loss"):
            given["mechanism"] = ldp.KRR(4, 1.0) if name == "expected_loss" else e.orr
            given["p"] = (0.4, 0.3, 0.2, 0.1)
        if name == "personalized_bound":
            given |= {"r_hat": P3, "r": P3, "pi_hat": [(0.5, 0.5)], "pi": [(0.9, 0.1)]}
        known = inspect.signature(call).parameters
        given = {n: v for n, v in given.items() if n in known}
        yield Site(f"planning.{name}", call, given, slow=name in ("best_theta",))
    plan = {
        "length": 4,
        "alphabet": "abc",
        "epsilon": 6.0,
        "n": 1000,
        "grams": (2,),
        "shares": (0.3,),
        "gram_mechanisms": ("krr",),
        "string_mechanisms": ("orr",),
        "alpha": 0.05,
        "power": 0.8,
        "false_grams": 50.0,
        "max_candidates": 50,
    }
    yield Site("plan_dictionary", planning.plan_dictionary, plan, slow=True)
    design = {
        "S": 10,
        "n": 1000,
        "epsilon": 2.0,
        "p": None,
        "closed": False,
        "mechanisms": ("orr",),
        "n_outputs": (4, 8),
        "n_cohorts": (4,),
        "n_hashes": (1,),
        "loss": "l1",
    }
    yield Site("recommend_design", planning.recommend_design, design, slow=True)


def _io_sites(e: Examples) -> Iterator[Site]:
    named = {"path": ("file", "directory", "written", "format"), "source": ("file",)}
    target = Fresh(lambda: str(e.folder / "target.csv"))
    how = {"force": True}
    yield Site("is_survey", io.is_survey, {"path": e.spec}, named)
    yield Site("read_mechanism", io.read_mechanism, {"path": e.spec}, named)
    yield Site("read_survey", io.read_survey, {"path": e.survey_file}, named)
    yield Site("read_candidates", io.read_candidates, {"path": e.candidates}, named)
    column = {"path": e.answers, "column": "job", "chunk_rows": 2, "advance": None}
    yield Site("read_column", _listed(io.read_column), column, named)
    columns = {"path": e.answers, "columns": ["job"], "chunk_rows": 2, "advance": None}
    yield Site("read_columns", _listed(io.read_columns), columns, named)
    counts = {
        "path": e.report_file,
        "mechanism": e.krr,
        "column": "report",
        "count": None,
        "cohort": None,
        "missing": "raise",
        "na": (),
        "bits": False,
        "most_bytes": 1 << 20,
        "chunk_rows": 10,
        "advance": None,
    }
    yield Site("read_counts", io.read_counts, counts, named)
    joint = {
        "path": e.pair_file,
        "mechanisms": (e.krr, e.warner),
        "columns": ("job", "late"),
        "count": "n",
        "cohorts": None,
        "id": None,
        "missing": "raise",
        "na": ("NA",),
        "most_bytes": 1 << 20,
        "chunk_rows": 10,
    }
    yield Site("read_joint_counts", io.read_joint_counts, joint, named)
    matched = joint | {"path": [e.pair_file] * 2, "id": "id", "count": None}
    yield Site("read_joint_counts ids", io.read_joint_counts, matched, named)
    strings = {
        "path": e.string_file,
        "survey": e.survey,
        "columns": None,
        "missing": "raise",
        "na": (),
        "chunk_rows": 50,
    }
    yield Site("read_dictionary_reports", io.read_dictionary_reports, strings, named)
    yield Site(
        "read_rappor_map", io.read_rappor_map, {"path": e.map_file, "rappor": e.google}, named
    )
    params = {"path": e.params_file, "hashing": "google"}
    yield Site("read_rappor_params", io.read_rappor_params, params, named)
    google = {"path": e.google_counts, "rappor": e.google}
    yield Site("read_rappor_counts", io.read_rappor_counts, google, named)
    google = {"path": e.google_reports, "rappor": e.google, "missing": "raise", "bits": True}
    yield Site("read_rappor_reports", io.read_rappor_reports, google, named)
    private = {
        "source": e.answers,
        "target": target,
        "column": "job",
        "client": e.krr.collector(),
        "name": "report",
        "keep": ("id",),
        "missing": "raise",
        "na": (),
        "force": True,
        "chunk_rows": 2,
    }
    also = named | {"client": ("mechanism",), "target": ("file", "path", "written")}
    yield Site("privatize_file", io.privatize_file, private, also)
    worded = {n: v for n, v in private.items() if n not in ("name", "keep")}
    worded |= {"source": e.words, "column": "word", "client": e.survey.collector()}
    yield Site("privatize_strings", io.privatize_strings, worded, also)
    yield Site(
        "write_reports",
        io.write_reports,
        {"reports": e.reports["KRR"], "path": target} | how,
        named,
    )
    yield Site(
        "write_dictionary_reports",
        io.write_dictionary_reports,
        {"reports": e.strings, "path": target} | how,
        named,
    )
    yield Site(
        "write_mechanism", io.write_mechanism, {"mechanism": e.krr, "path": target} | how, named
    )
    yield Site("write_survey", io.write_survey, {"survey": e.survey, "path": target} | how, named)
    bloom = {"rappor": e.google, "path": target} | how
    yield Site("write_rappor_params", io.write_rappor_params, bloom, named)
    yield Site("write_rappor_map", io.write_rappor_map, bloom | {"candidates": JOBS}, named)
    sums = {"counts": e.bits["RAPPOR google"], "path": target} | how
    yield Site("write_rappor_counts", io.write_rappor_counts, sums, named)
    rows = {"reports": e.reports["RAPPOR google"], "path": target} | how
    yield Site("write_rappor_reports", io.write_rappor_reports, rows, named)


def _listed(read: Callable[..., Iterator[Any]]) -> Callable[..., list[Any]]:
    def call(**how: Any) -> list[Any]:
        return list(read(**how))

    call.__signature__ = inspect.signature(read)  # type: ignore[attr-defined]
    return call


# -- documents -------------------------------------------------------------------------------------

JSON_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e308, float("nan"), float("inf"), 2**63, 10**400,
    "", "1", "nurse", "x" * 5000, "nur\ud800se", "nur\0se", [], [[]], {}, [None], [1, [2]], [True],
    {"a": 1}, [{}], [1, 1], ["nurse", "nurse"], [float("nan")], "ldpstats-mechanism",
)  # fmt: skip


def spoil_document(document: Any, dice: random.Random) -> Any:
    """A copy of a JSON document that is damaged somewhere."""
    document = copy.deepcopy(document)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        for key in list(keys)[:40]:
            places.append((node, key))
            if isinstance(node[key], dict | list) and node[key]:
                walk(node[key])

    if isinstance(document, dict | list):
        walk(document)
    if not places:
        return dice.choice(JSON_VALUES)
    node, key = dice.choice(places)
    what = dice.randrange(5)
    if what == 0:
        del node[key]
    elif what == 1 and isinstance(node, dict):
        node[dice.choice(["x", "", 1, None, "epsilon", "version"])] = dice.choice(JSON_VALUES)
    elif what == 2 and isinstance(node, list):
        node.insert(key, dice.choice(JSON_VALUES))
    else:
        node[key] = dice.choice(JSON_VALUES)
    return document


def signed(document: Any) -> Any:
    """The document with the fingerprint of what it says, where it has one."""
    if not isinstance(document, dict) or "fingerprint" not in document:
        return document
    import hashlib

    rest = {name: value for name, value in document.items() if name != "fingerprint"}
    try:
        text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    except TypeError:  # names of several types
        return document
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return rest | {"fingerprint": digest}


# -- calls -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """A call with hostile arguments."""

    number: int
    site: Site
    arguments: dict[str, Any]
    replaced: dict[str, str]

    def __str__(self) -> str:
        what = ", ".join(f"{name}={value}" for name, value in self.replaced.items())
        return f"call {self.number}: {self.site.name}({what})"


def hostile_value(good: Any, name: str, e: Examples, dice: random.Random) -> tuple[str, Any]:
    """A hostile value in the place of a good one, with its name."""
    if name == "document" and dice.random() < 0.8:
        spoiled = spoil_document(good, dice)
        if dice.random() < 0.3:
            spoiled = spoil_document(spoiled, dice)
        return "damaged", signed(spoiled)
    if name == "text" and isinstance(good, str) and good.startswith("{") and dice.random() < 0.7:
        return "damaged", json.dumps(spoil_document(json.loads(good), dice))
    collection = isinstance(good, list | tuple | np.ndarray | pd.Series)
    if collection and dice.random() < 0.5:
        label = dice.choice(list(SPOILERS))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return label, SPOILERS[label](good, dice)
            except Exception:  # there is no such form of it
                return "an element", _spoiled_element(good, dice)
    pool: dict[str, Any] = dict(SCALARS) if dice.random() < 0.45 else dict(COLLECTIONS)
    if dice.random() < 0.15:
        label = dice.choice(list(e.others))
        return label, e.others[label]
    label = dice.choice(list(pool))
    return label, pool[label]()


def call_of(number: int, e: Examples, every: list[Site]) -> Call:
    """The hostile call of a number."""
    dice = random.Random(number)
    while True:
        site = dice.choice(every)
        if not site.slow or dice.random() < 0.1:
            break
    given = {n: v.make() if isinstance(v, Fresh) else v for n, v in site.arguments.items()}
    names = dice.sample(list(given), min(len(given), 1 if dice.random() < 0.7 else 2))
    replaced = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            replaced[name], given[name] = hostile_value(given[name], name, e, dice)
            if name == "advance" and callable(given[name]):  # what it raises is the caller's own
                replaced[name], given[name] = "0", 0
    return Call(number, site, given, replaced)


class Hung(BaseException):
    """A call took longer than `SECONDS`."""


@contextmanager
def bounded(seconds: float = SECONDS, more: int = BYTES) -> Iterator[None]:
    """End what hangs, and refuse memory of absurd sizes."""

    def stop(*_: Any) -> None:
        raise Hung(f"more than {seconds} seconds")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + more
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fault_of(call: Call) -> str:
    """What is wrong with how the call ended; empty where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LDPWarning)
        try:
            with bounded():
                repr(call.site.call(**call.arguments))
        except LDPError as error:
            return _message_fault(error, call)
        except Hung as error:
            return f"hangs: {error}"
        except Exception as error:
            return _described(error)
    return ""


def _message_fault(error: LDPError, call: Call) -> str:
    text = str(error)
    if len(text) > LONGEST:
        return f"a message of {len(text)} characters"
    if "a defect of ldpstats" in text:
        return text[:200]
    if not isinstance(error, ldp.InvalidArgument):
        return "" if text else "no message"
    words = set(call.site.arguments) | _parameters(call.site.call)
    for name in call.replaced:
        words |= set(call.site.also.get(name, ()))
        if name in ("document", "text"):
            words |= {"document", "specification", "version", *_keys(call.site.arguments[name])}
    if not any(word.lower().removesuffix("s") in text.lower() for word in words):
        return f"no argument is named: {text[:150]}"
    return ""


def _parameters(call: Callable[..., Any]) -> set[str]:
    known = inspect.signature(call).parameters.values()
    return {p.name for p in known if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}


def _keys(document: Any) -> set[str]:
    """All names in a JSON document."""
    if isinstance(document, str):
        document = json.loads(document)
    inner = document.values() if isinstance(document, dict) else document
    found = set(document) if isinstance(document, dict) else set()
    return found.union(*(_keys(item) for item in inner if isinstance(item, dict | list)))


def _described(error: Exception) -> str:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/ldpstats/" in f.filename]
    at = own[-1] if own else frames[-1]
    place = f"{Path(at.filename).name}:{at.lineno} {at.name}"
    words = re.sub(r"\s+", " ", str(error))[:150]
    return f"{type(error).__name__} at {place}: {words}"
