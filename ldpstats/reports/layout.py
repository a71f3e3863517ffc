"""How reports are held in arrays, and how they stand in tables.

A column of a table holds one report a row; a missing one is a null, or an empty field in CSV.

Labels
    As they are, with their own type: text, whole numbers, numbers or booleans. Labels of several
    types, and those of CSV, are text.
Bits
    In CSV and in frames text such as "0110", first bit first. In Parquet, and wherever a column
    holds bytes, ``ceil(n_bits / 8)`` bytes a report: bit j of the text is in byte ``j // 8`` at
    position ``j % 8``, counted from the lowest; the bits after the last are zero. In Parquet the
    column is a FIXED_LEN_BYTE_ARRAY; other types of bytes are read too.
Cohorts
    In CSV and in frames before the report: "3:0110", "3:17". In Parquet in a column of their own,
    NAME_cohort beside the column NAME, whole numbers from 0 (int32). Both are read everywhere: a
    report whose text has a colon has its cohort there, and then a column of that name is any other.
    Devices of cohorts (`devices.cohorts`) report labels: "A:yes", or "yes" beside a column
    NAME_cohort with the name of the cohort.
Fingerprints
    Twelve hexadecimal digits that say which mechanism, survey or questionnaire made a report. In
    Parquet they are stored once, with the columns of reports and cohorts; in CSV, and in frames
    that are made of several files, every row has them in the column NAME_fingerprint.

A dictionary survey has five columns (start_1, gram_1, start_2, gram_2, string), of which the three
of reports are laid out like any other.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, record
from ldpstats.errors import InvalidArgument, MechanismMismatch, shorten
from ldpstats.kernels import in_numpy, repaid
from ldpstats.labels import (
    OTHER_LABELS,
    as_labels,
    as_series,
    encode,
    is_text,
    matched,
    whole,
)

Packed = npt.NDArray[np.uint8]


class ReportFormat(ABC):
    """The form of a mechanism's reports: `Reports.y`, and the text in files and messages."""

    @property
    def packed_bits(self) -> int:
        """Bits that a packed report takes, without the padding of its last byte; 0 for labels."""
        return 0

    @abstractmethod
    def parse(self, name: str, labels: object) -> Array:
        """Reports y from their text, (n,); `name` is what to call the text in an error."""

    @abstractmethod
    def text(self, y: Array) -> npt.NDArray[Any]:
        """Text of reports y, shape (n,): labels, or strings of bits in category order."""

    def single(self, y: Array) -> Any:
        """The text of one report."""
        return self.text(y)[0]

    def features(self, y: Array) -> Array | None:
        """What a report adds to the equations of its mechanism, (n, d); None for bits or labels."""
        return None

    def condense(self, y: Array, n: Array | None) -> tuple[Array, Array | None, Array | None]:
        """Leave out of reports, n of each (None: one), the bits that say nothing of the answer.

        Returns what is left of them, merged where that is quick, and the sums of the bits that
        were left out, shape (n_bits,), or None.
        """
        return y, n, None


@record
class LabelFormat(ReportFormat):
    """Labels from a list: y has their positions in it.

    `other` is what an error says to do where the data have other labels.
    """

    outputs: pd.Index[Any]
    other: str = OTHER_LABELS

    def matched(
        self, name: str, labels: object, done: int | None = None, exact: bool = False
    ) -> Array:
        """Positions of reports as people write them, (n,), -1 where missing; `labels.matched`."""
        return matched(name, labels, self.outputs, other=self.other, done=done, exact=exact)

    def parse(self, name: str, labels: object) -> Array:
        return self.all_there(name, self.matched(name, labels))

    def all_there(self, name: str, codes: Array) -> Array:
        """These codes; refuse missing ones."""
        absent = codes < 0
        if absent.any():
            row = int(np.argmax(absent)) + 1
            raise InvalidArgument(
                f"{name}, row {row}",
                None,
                f"is missing ({int(absent.sum())} of {codes.size} are): leave such rows out, for "
                "example with column.dropna()",
            )
        return codes

    def text(self, y: Array) -> npt.NDArray[Any]:
        return np.asarray(self.outputs.take(y))

    def single(self, y: Array) -> Any:
        return self.outputs[int(y[0])]


@dataclass(frozen=True)
class NumberFormat(ReportFormat):
    """Whole numbers below `n_outputs`, written in decimal digits."""

    n_outputs: int

    def parse(self, name: str, labels: object) -> Array:
        series = as_series(name, labels)
        if not pd.api.types.is_numeric_dtype(series.dtype):  # text of any kind
            series = series.map(whole).infer_objects()
        return encode(name, series, pd.RangeIndex(self.n_outputs))[0]

    def text(self, y: Array) -> npt.NDArray[Any]:
        return y.astype(str)


@dataclass(frozen=True)
class BitFormat(ReportFormat):
    """Packed bits, bit j in byte j // 8 at position j % 8; as text "0110", first bit first.

    In tables the bits are those of the text, as text or packed. `Reports.y` holds them packed, in
    that order or, in subclasses, in another; see `to_table` and `from_table`.
    """

    n_bits: int

    @property
    def packed_bits(self) -> int:
        return self.n_bits

    def packing_fault(self, y: Array) -> str:
        """What is wrong with packed reports of the right width; empty where nothing is."""
        spare = self.n_bits % 8
        if spare and (y[:, -1] >> spare).any():
            return f"has bits beyond the {self.n_bits} of a report: padding must be zero"
        return ""

    def sums_fault(self, ones: Array, reports: Array) -> str:
        """Why bit sums, (C, n_bits), of (C,) reports cannot be, beyond each being at most those."""
        return ""

    def revealed(self, y: Array) -> Array:
        """Number of the answer that each packed report reveals, int64 of shape (n,); 0 for none."""
        return np.zeros(len(y), dtype=np.int64)

    def unpack(self, y: Array) -> Array:
        """The bits of packed reports, bool of shape (n, n_bits)."""
        return np.unpackbits(y, axis=1, bitorder="little", count=self.n_bits).view(np.bool_)

    def sum_bits(
        self, y: Array, n: Array | None = None, cohort: Array | None = None, n_cohorts: int = 1
    ) -> Array:
        """How often each bit is set in packed reports of each cohort, shape (n_cohorts, n_bits).

        There are n of each report (None: one), and one cohort if `cohort` is None.
        """
        if n is None:
            bits = CellSums(self.n_bits, n_cohorts)
            bits.add(y, cohort)
            return bits.total()
        many = np.flatnonzero(n != 1)  # none where reports are wide
        if not many.size:
            return self.sum_bits(y, None, cohort, n_cohorts)
        groups = np.zeros(len(y), dtype=np.int64) if cohort is None else cohort
        once = np.delete(y, many, axis=0), None, np.delete(groups, many)
        sums = self.sum_bits(*once, n_cohorts)
        order = many[np.argsort(groups[many], kind="stable")]
        ends = np.cumsum(np.bincount(groups[many], minlength=n_cohorts))
        for c, rows in enumerate(np.split(order, ends[:-1])):
            sums[c] += n[rows] @ self.unpack(y[rows])
        return sums

    def from_table(self, name: str, packed: Packed) -> Array:
        """Reports y from the packed bits of their text, (n, ceil(n_bits / 8)); refuse others."""
        spare = self.n_bits % 8
        beyond = packed[:, -1] >> spare if spare and packed.size else np.empty(0)
        if beyond.any():
            i = int(np.argmax(beyond > 0))
            remedy = f"has bits beyond the {self.n_bits} of a report: padding must be zero"
            raise InvalidArgument(f"{name}[{i}]", packed[i].tobytes(), remedy)
        return packed

    def to_table(self, y: Array) -> Packed:
        """The packed bits of the text of reports, shape (n, ceil(n_bits / 8))."""
        return y

    def parse(self, name: str, labels: object) -> Array:
        column, bits = as_series(name, labels), self.n_bits
        width = -(-bits // 8)
        if holds_bytes(column):
            if isinstance(column.dtype, pd.ArrowDtype):
                packed = arrow_bytes(name, plain_bytes(column.array.__arrow_array__()), width, bits)
            else:
                values = column.tolist()
                for i, value in enumerate(values):
                    if not isinstance(value, bytes | bytearray) or len(value) != width:
                        raise InvalidArgument(f"{name}[{i}]", value, _WIDTH.format(width, bits))
                packed = np.frombuffer(b"".join(values), dtype=np.uint8)
                packed = packed.reshape(len(values), width)
        elif (quick := _bits_in_memory(column, bits)) is not None:
            packed = quick
        else:
            remedy = f"must be a string of {bits} characters 0 or 1 (read the column as text)"
            for i, v in enumerate(column):
                if not (isinstance(v, str) and len(v) == bits and not v.strip("01")):
                    raise InvalidArgument(f"{name}[{i}]", v, remedy)
            joined = np.frombuffer("".join(column).encode("ascii"), dtype=np.uint8)
            digits = joined.reshape(len(column), bits) - np.uint8(ord("0"))
            packed = np.packbits(digits, axis=1, bitorder="little")
        return self.from_table(name, packed)

    def text(self, y: Array) -> npt.NDArray[Any]:
        return format_bits(self.to_table(y), self.n_bits)


def format_bits(y: Packed, n_bits: int) -> npt.NDArray[Any]:
    """Packed reports as strings such as "0110", first bit first; array of str, shape (n,)."""
    bits = np.unpackbits(y, axis=1, count=n_bits, bitorder="little") + np.uint8(ord("0"))
    text = np.ascontiguousarray(bits).view(f"S{n_bits}")[:, 0]
    return text.astype(str)


def with_cohorts(text: npt.NDArray[Any], cohort: Array) -> npt.NDArray[Any]:
    """Reports "cohort:report", array of str, shape (n,)."""
    return np.array([f"{c}:{t}" for c, t in zip(cohort, text, strict=True)], dtype=str)


def split_cohorts(
    name: str, text: pd.Series[Any], n_bits: int
) -> tuple[pd.Series[Any], npt.NDArray[np.int64]]:
    """Inverse of `with_cohorts`: reports without their cohorts, and the cohorts, (n,).

    Reports have `n_bits` bits, or are numbers where that is 0.
    """
    if (quick := _cohorts_in_memory(text, n_bits)) is not None:
        return quick
    if holds_bytes(text):
        remedy = "is bytes, which have no cohort before them: name the column of cohorts"
        raise InvalidArgument(f"{name}[0]", text.iloc[0], remedy)
    halves = text.map(lambda v: v.partition(":") if isinstance(v, str) else ("", "", ""))
    good = halves.map(lambda v: v[0].isascii() and v[0].isdigit() and len(v[0]) < 11).to_numpy(bool)
    if not good.all():
        first = int(np.argmin(good))
        remedy = 'must be text such as "3:17", the cohort before the report; or name the column of '
        remedy += "cohorts"
        raise InvalidArgument(f"{name}[{first}]", text.iloc[first], remedy)
    cohorts = np.array([int(v[0]) for v in halves], dtype=np.int64)
    return halves.map(lambda v: v[2]), cohorts


# -- Sums of the bits of packed reports ------------------------------------------------------------


_PART = 1 << 16  # reports whose cells are converted at a time
_SECONDS = 4e-9  # of numpy, for the bits of a byte
_SORTED = 5e-8  # twice those of numpy where it sorts by cell, as more parts are likely to follow
_TURNS = 4  # rows that take turns where there is one cell: an addition need not wait for the last

_TURNING = np.arange(_PART, dtype=np.int32) % _TURNS


class CellSums:
    """Running sums of the bits of each cell, over packed reports that come in parts."""

    def __init__(self, n_bits: int, n_cells: int) -> None:
        self.n_bits, self.n_cells = n_bits, n_cells
        self._rows = n_cells if n_cells > 1 else _TURNS
        self._seen = np.zeros(self._rows, dtype=np.int64)
        self._few = np.zeros((self._rows, 8 * -(-n_bits // 8)), dtype=np.int64)
        # of compiled sums, where there are many reports: counts of bytes, and what overflowed
        width = 64 * -(-n_bits // 64)
        self._lanes = np.zeros((self._rows, width // 8), dtype=np.uint64)
        self._many = np.zeros((self._rows, width), dtype=np.int64)
        self._compiled = False

    def add(self, packed: Packed, cell: Array | None) -> None:
        """Add reports and the cell of each, (n,); None where all are of the first."""
        cell = None if self.n_cells == 1 else cell
        seconds = _SECONDS if cell is None else _SORTED
        if self._compiled or repaid("sums", packed.size * seconds):
            self._compiled = True
            self._add_compiled(packed, cell)
            return
        with in_numpy("sums"):
            cells, parts, n = np.zeros(1, np.int64), [packed], np.array([len(packed)])
            if cell is not None:
                order = np.argsort(cell, kind="stable")
                cells, starts, n = np.unique(cell[order], return_index=True, return_counts=True)
                parts = np.split(packed[order], starts[1:])
            for c, part in zip(cells, parts, strict=False):
                for start in range(0, len(part), 255):  # a sum of 255 bits fits a byte
                    bits = np.unpackbits(part[start : start + 255], axis=1, bitorder="little")
                    self._few[c] += bits.sum(axis=0, dtype=np.uint8)
            self._seen[cells] += n

    def _add_compiled(self, packed: Packed, cell: Array | None) -> None:
        from ldpstats.kernels.bits import add_bits

        for start in range(0, len(packed), _PART):
            some = packed[start : start + _PART]
            spare = -some.shape[1] % 8  # whole words, aligned: a view where they are that
            some = np.pad(some, ((0, 0), (0, spare))) if spare else np.ascontiguousarray(some)
            words = np.require(some.view(np.uint64), requirements="A")
            own = _TURNING[: len(words)]
            if cell is not None:
                own = cell[start : start + _PART].astype(np.int32, copy=False)
                own = np.ascontiguousarray(own)
            words = words.reshape(-1)
            for array in (words, own):  # as the memory of Arrow is: one type, compiled once
                array.flags.writeable = False
            add_bits(words, own, self._lanes, self._seen, self._many)

    def reports(self) -> Array:
        """The number of reports that were added, of each cell, shape (n_cells,)."""
        return self._seen if self.n_cells > 1 else self._seen.sum(keepdims=True)

    def total(self, cells: Any = slice(None)) -> Array:
        """The sums of all that was added, shape (n_cells, n_bits), or of some cells."""
        rows = cells if self.n_cells > 1 else slice(None)
        total = self._few[rows, : self.n_bits]
        if self._compiled:  # bit j of byte b is in lane (j, b)
            lanes = self._many[rows] + self._lanes[rows].view(np.uint8)
            each = lanes.reshape(len(lanes), lanes.shape[1] // 64, 8, 8).swapaxes(2, 3)
            total = total + each.reshape(lanes.shape)[:, : self.n_bits]
        return total if self.n_cells > 1 else total.sum(axis=0, keepdims=True)[cells]


# -- Columns of reports that are bytes, and the columns of cohorts that stand beside reports ------


_WIDTH = "must be {} bytes, the {} bits of a report"


def cohort_column(reports: str) -> str:
    """The name of the column of cohorts that belongs to a column of reports."""
    return f"{reports}_cohort"


def cohort_beside(
    column: str, mechanism: Any, columns: Collection[object], first: object
) -> str | None:
    """The column of cohorts beside reports, such as `first`; None if they stand before each."""
    name = cohort_column(column)
    known = mechanism.n_cohorts or mechanism.cohort_names
    before = isinstance(first, str) and ":" in first  # text such as "3:0110"
    return name if known and name in columns and not before else None


def cohort_index(mechanism: Any) -> pd.Index[Any]:
    """The names of a device's cohorts as a column has them: numbers, where all of them are."""
    names = mechanism.cohort_names
    if all(name.isascii() and name.isdecimal() and str(int(name)) == name for name in names):
        return pd.Index([int(name) for name in names])
    labels: pd.Index[Any] = pd.Index(names)
    return labels


def cohort_labels(mechanism: Any) -> pd.Index[Any]:
    """What reports of a device of cohorts may be without their cohort, of any of them."""
    said = [label for part in mechanism.cohort_parts for label in part.mechanism.outputs.tolist()]
    distinct = dict.fromkeys((type(label), label) for label in said)  # True is not 1
    labels: pd.Index[Any] = as_labels("cohorts", [label for _, label in distinct], 1)
    return labels


def label_codes(
    mechanism: Any,
    places: tuple[str, str],
    labels: object,
    cohort: object = None,
    done: int | None = None,
    exact: bool = False,
) -> Array:
    """Positions of reports that are labels, (n,), -1 where missing.

    `cohort` is the column of the cohorts of a device that has some, unless they stand before the
    reports. `places` are what errors call the two columns; `done` and `exact` are as in
    `labels.matched`.
    """
    if cohort is None:
        found: Array = mechanism.format.matched(places[0], labels, done, exact)
        return found
    known, parts = cohort_labels(mechanism), mechanism.cohort_parts
    codes = matched(places[0], labels, known, done=done)
    groups = matched(places[1], cohort, cohort_index(mechanism), done=done)
    table = np.full((len(parts) + 1, len(known) + 1), -1, dtype=np.int64)  # -1 beside missing ones
    for c, part in enumerate(parts):
        table[c, matched("cohorts", part.mechanism.outputs, known)] = part.places
    found = table[groups, codes]
    strange = (found < 0) & (codes >= 0)
    if not strange.any():
        return found
    alone = strange & (groups < 0)
    i = int(np.argmax(alone if alone.any() else strange))
    where, value = places[0], known[codes[i]]
    if alone.any():
        where, value = places[1], None
        remedy = (
            "is missing, but there is a report: say which device or design made it, or leave it out"
        )
    else:
        part = parts[groups[i]]
        said = ", ".join(map(repr, part.mechanism.outputs[part.places >= 0].tolist()[:8]))
        remedy = f"is no report of the cohort or design {part.name!r}, which says {said}"
    raise InvalidArgument(f"{where}, row {(done or 0) + i + 1}", value, remedy)


def holds_bytes(column: pd.Series[Any]) -> bool:
    """Whether a column of pandas holds bytes: by its type, or by its first value that is there."""
    if isinstance(column.dtype, pd.ArrowDtype):
        return is_of_bytes(column.dtype.pyarrow_dtype)
    if column.dtype != object:
        return False
    try:
        first = column.first_valid_index()
    except ArithmeticError:  # a signalling NaN, which whoever reads the column refuses
        return False
    return first is not None and isinstance(column.loc[first], bytes | bytearray)


def is_of_bytes(kind: Any) -> bool:
    """Whether a type of Arrow is of bytes."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    tests = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    return any(test(kind) for test in (*tests, types.is_binary_view))


def plain_bytes(array: Any) -> Any:
    """An Arrow array of bytes in a type that Arrow's functions take, a dictionary decoded."""
    import pyarrow

    if pyarrow.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    views = pyarrow.types.is_binary_view(array.type)
    return array.cast(pyarrow.large_binary()) if views else array


def in_pandas(array: Any) -> pd.Series[Any]:
    """An Arrow array as a column of pandas, in its own memory."""
    return pd.Series(pd.arrays.ArrowExtensionArray(array))


def arrow_bytes(name: str, array: Any, width: int, n_bits: int) -> Packed:
    """An Arrow array of bytes, whole or in chunks, as uint8, (n, width); a view if it is whole."""
    import pyarrow

    remedy, done = _WIDTH.format(width, n_bits), 0
    parts = [np.empty((0, width), dtype=np.uint8)]
    for chunk in getattr(array, "chunks", [array]):
        if not len(chunk):
            continue
        if chunk.null_count:
            at = done + int(np.argmax(chunk.is_null().to_numpy(zero_copy_only=False)))
            raise InvalidArgument(f"{name}[{at}]", None, "is missing: leave such rows out")
        if pyarrow.types.is_fixed_size_binary(chunk.type):
            if chunk.type.byte_width != width:
                raise InvalidArgument(f"{name}[{done}]", chunk[0].as_py(), remedy)
            first, memory = chunk.offset * width, chunk.buffers()[1]
        else:
            large = chunk.cast(pyarrow.large_binary())
            ends = np.frombuffer(large.buffers()[1], dtype=np.int64)
            ends = ends[large.offset : large.offset + len(large) + 1]
            wrong = np.flatnonzero(np.diff(ends) != width)
            if wrong.size:
                at = int(wrong[0])
                raise InvalidArgument(f"{name}[{done + at}]", large[at].as_py(), remedy)
            first, memory = int(ends[0]), large.buffers()[2]
        stop = first + len(chunk) * width
        view = np.frombuffer(memory, dtype=np.uint8)[first:stop]
        parts.append(view.reshape(len(chunk), width))
        done += len(chunk)
    return parts[1] if len(parts) == 2 else np.concatenate(parts)


# -- The form of reports that are subsets of the categories, all of one size ----------------------


@dataclass(frozen=True)
class SubsetFormat(BitFormat):
    """Packed bits of which exactly `size` are set; as text "0110", in category order."""

    size: int

    def packing_fault(self, y: Array) -> str:
        return super().packing_fault(y) or self._first_fault(y)[1]

    def sums_fault(self, ones: Array, reports: Array) -> str:
        total, expected = int(ones.sum()), self.size * int(reports.sum())
        if total == expected:
            return ""
        return f"sum to {total}: {int(reports.sum())} reports of {self.size} ones have {expected}"

    def from_table(self, name: str, packed: npt.NDArray[np.uint8]) -> Array:
        y = super().from_table(name, packed)
        i, remedy = self._first_fault(y)
        if remedy:
            raise InvalidArgument(f"{name}[{i}]", self.text(y[i : i + 1])[0], remedy)
        return y

    def _first_fault(self, y: Array) -> tuple[int, str]:
        """The first report with another number of ones, and what is wrong with it; or ""."""
        ones = np.bitwise_count(y).sum(axis=1, dtype=np.int64)
        wrong = np.flatnonzero(ones != self.size)
        if not wrong.size:
            return 0, ""
        i = int(wrong[0])
        return i, f"has {ones[i]} ones: a report of this mechanism has exactly {self.size}"


# -- The form of reports that are labels of blocks ------------------------------------------------


@dataclass(frozen=True)
class BlockFormat(NumberFormat):
    """Numbers of labels, of which `design` knows what each adds to the tallies of categories."""

    design: Any  # a BlockDesign

    def features(self, y: Array) -> Array:
        return np.asarray(self.design.features(y))


# -- Long columns of reports as text, read in the memory of Arrow ---------------------------------
# None where they need a closer look: the plain readers name what is wrong.


_FEW = 1 << 10  # rows that are not worth the import
_ROWS = 1 << 14  # read at a time
_COHORT = re.compile(b"([0-9]{1,10}):")


def _bits_in_memory(column: pd.Series[Any], n_bits: int) -> npt.NDArray[np.uint8] | None:
    """Packed bits of reports "0110", shape (n, ceil(n_bits / 8))."""
    array = _in_memory(column)
    if array is None:
        return None
    try:
        text = arrow_bytes("text", array, n_bits, n_bits)
    except InvalidArgument:
        return None
    parts = []
    for start in range(0, len(text), _ROWS):
        digits = text[start : start + _ROWS] - np.uint8(ord("0"))
        if digits.max() > 1:
            return None
        parts.append(np.packbits(digits, axis=1, bitorder="little"))
    return np.concatenate(parts)


def _cohorts_in_memory(
    column: pd.Series[Any], n_bits: int
) -> tuple[pd.Series[Any], npt.NDArray[np.int64]] | None:
    """Reports of `n_bits` characters (0: numbers) and cohorts, (n,), of "cohort:report"."""
    array = _in_memory(column)
    if array is None:
        return None
    from pyarrow import compute

    if n_bits:
        before = compute.binary_slice(array, 0, -n_bits)
        rest = compute.binary_slice(array, -n_bits)
    else:
        halves = compute.extract_regex(array, "^(?P<before>[0-9]{1,10}:)(?P<rest>.*)$")
        before, rest = compute.struct_field(halves, 0), compute.struct_field(halves, 1)
    if before.null_count:
        return None
    codes = before.dictionary_encode()
    read = [_COHORT.fullmatch(text) for text in codes.dictionary.to_pylist()]
    if None in read:
        return None
    numbers = np.array([int(match[1]) for match in read if match], dtype=np.int64)
    text = in_pandas(rest.cast("large_binary").cast("large_string"))
    return text, numbers[codes.indices.to_numpy()]


def _in_memory(column: pd.Series[Any]) -> Any:
    """A long column of text, none missing, as one Arrow array of bytes; None for others."""
    kinds = pd.StringDtype | pd.ArrowDtype
    if len(column) < _FEW or not (column.dtype == object or isinstance(column.dtype, kinds)):
        return None
    import pyarrow

    try:
        array = pyarrow.array(column, from_pandas=True)
        if not is_text(array.type) or array.null_count:
            return None
        array = array.cast(pyarrow.large_string()).cast(pyarrow.large_binary())
        return array.combine_chunks() if isinstance(array, pyarrow.ChunkedArray) else array
    except (pyarrow.ArrowException, UnicodeEncodeError):
        return None


# -- The column of a table that says which mechanism made the reports beside it -------------------
# Twelve hexadecimal digits in every row, so that rows of another mechanism are found wherever
# tables were put together.


_DIGITS = re.compile("[0-9a-f]{12}")


def fingerprint_column(reports: str) -> str:
    """The name of the column of fingerprints that belongs to a column of reports."""
    return f"{reports}_fingerprint"


def is_fingerprint(text: object) -> bool:
    """Whether a field is written as a fingerprint: twelve hexadecimal digits."""
    return isinstance(text, str) and _DIGITS.fullmatch(text) is not None


def check_fingerprints(where: str, column: str, values: Any, made_by: Any, done: int = 0) -> None:
    """Refuse rows of another mechanism or survey; skip missing and empty fields."""
    try:
        codes, distinct = pd.factorize(pd.Series(values))
    except (TypeError, ValueError):  # lists, arrays
        raise InvalidArgument(where, values, "must hold fingerprints: text or nothing") from None
    check_coded(where, column, codes, distinct.tolist(), made_by, done)


def check_coded(
    where: str, column: str, codes: Any, distinct: Sequence[Any], made_by: Any, done: int = 0
) -> None:
    """`check_fingerprints` from codes, (n,), and the fields that they stand for, if in any row."""
    own = made_by.fingerprint
    wrong = [i for i, v in enumerate(distinct) if v is not None and v != "" and not _alike(v, own)]
    rows = np.flatnonzero(np.isin(codes, wrong)) if wrong else np.empty(0)
    if not rows.size:
        return
    first = int(rows[0])
    row, found = f"{where}, row {done + first + 1}", distinct[codes[first]]
    if found == column:
        raise MechanismMismatch(f"{row}: is a second header line: remove it")
    rewritten = "; this is not a fingerprint: if a spreadsheet rewrote the column, empty it"
    raise MechanismMismatch(
        f"{row}: the report is of a mechanism or survey with fingerprint {shorten(found)}, not "
        f"of {made_by} ({own}): use the specification that it was made with, and keep reports "
        f"of several in files of their own{'' if is_fingerprint(found) else rewritten}"
    )


def _alike(found: object, own: str) -> bool:
    """Whether a field holds this fingerprint, perhaps rewritten as a number by a program."""
    if found == own:
        return True
    try:  # 001234567890 becomes 1234567890, and 12345678e012 becomes 1.2345678e19
        number, digits = float(found), float(own)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False
    if number == digits:
        return True
    # Excel saves 447870912345 as 4.47871E+11, which pandas reads as 447871000000.0
    short = "E+" in found if isinstance(found, str) else isinstance(found, float)
    return short and float(f"{number:.5e}") == number and isclose(number, digits, rel_tol=5e-6)
