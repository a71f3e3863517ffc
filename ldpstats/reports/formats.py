"""How reports are held in arrays and written as text: labels, and packed bits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import as_series, encode, whole
from ldpstats.arguments.matching import OTHER_LABELS, matched
from ldpstats.errors import InvalidArgument
from ldpstats.reports.packed import holds_bytes, packed_bytes
from ldpstats.reports.texts import bits_of_text, cohorts_of_text
from ldpstats.sampling import packing

__all__ = [
    "BitFormat",
    "LabelFormat",
    "NumberFormat",
    "ReportFormat",
    "format_bits",
    "parse_bits",
    "split_cohorts",
    "with_cohorts",
]

Array = npt.NDArray[Any]
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


@dataclass(frozen=True, eq=False)
class LabelFormat(ReportFormat):
    """Labels from a list: y has their positions in it.

    `other` is what an error says to do where the data have other labels.
    """

    outputs: pd.Index[Any]
    other: str = OTHER_LABELS

    def matched(self, name: str, labels: object) -> Array:
        """Positions of reports as people write them, (n,), -1 where missing."""
        return matched(name, labels, self.outputs, other=self.other)

    def parse(self, name: str, labels: object) -> Array:
        codes = self.matched(name, labels)
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

    @property
    def n_bytes(self) -> int:
        """Bytes of a packed report."""
        return -(-self.packed_bits // 8)

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
        return packing.unpack(y, self.n_bits)

    def sum_bits(
        self, y: Array, n: Array | None = None, cohort: Array | None = None, n_cohorts: int = 1
    ) -> Array:
        """How often each bit is set in packed reports of each cohort, shape (n_cohorts, n_bits).

        There are n of each report (None: one), and one cohort if `cohort` is None.
        """
        if n is None:
            return packing.cell_sums(y, self.n_bits, cohort, n_cohorts)
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
        if spare and packed.size:
            beyond = packed[:, -1] >> spare
            if beyond.any():
                i = int(np.argmax(beyond > 0))
                remedy = f"has bits beyond the {self.n_bits} of a report: padding must be zero"
                raise InvalidArgument(f"{name}[{i}]", packed[i].tobytes(), remedy)
        return packed

    def to_table(self, y: Array) -> Packed:
        """The packed bits of the text of reports, shape (n, ceil(n_bits / 8))."""
        return y

    def parse(self, name: str, labels: object) -> Array:
        column = as_series(name, labels)
        if holds_bytes(column):
            packed = packed_bytes(name, column, -(-self.n_bits // 8), self.n_bits)
        else:
            packed = parse_bits(name, column, self.n_bits)
        return self.from_table(name, packed)

    def text(self, y: Array) -> npt.NDArray[Any]:
        return format_bits(self.to_table(y), self.n_bits)


def format_bits(y: Packed, n_bits: int) -> npt.NDArray[Any]:
    """Packed reports as strings such as "0110", first bit first; array of str, shape (n,)."""
    bits = np.unpackbits(y, axis=1, count=n_bits, bitorder="little") + np.uint8(ord("0"))
    text = np.ascontiguousarray(bits).view(f"S{n_bits}")[:, 0]
    return text.astype(str)


def parse_bits(name: str, labels: object, n_bits: int) -> Packed:
    """Inverse of `format_bits`; refuses strings of another length or with other characters."""
    text = as_series(name, labels)
    if (packed := bits_of_text(text, n_bits)) is not None:
        return packed
    remedy = f"must be a string of {n_bits} characters 0 or 1 (read the column as text)"
    for i, v in enumerate(text):
        if not (isinstance(v, str) and len(v) == n_bits and not v.strip("01")):
            raise InvalidArgument(f"{name}[{i}]", v, remedy)
    joined = "".join(text).encode("ascii")
    bits = np.frombuffer(joined, dtype=np.uint8).reshape(len(text), n_bits) - np.uint8(ord("0"))
    return np.packbits(bits, axis=1, bitorder="little")


def with_cohorts(text: npt.NDArray[Any], cohort: Array) -> npt.NDArray[Any]:
    """Reports "cohort:report", array of str, shape (n,)."""
    return np.array([f"{c}:{t}" for c, t in zip(cohort, text, strict=True)], dtype=str)


def split_cohorts(
    name: str, text: pd.Series[Any], n_bits: int
) -> tuple[pd.Series[Any], npt.NDArray[np.int64]]:
    """Inverse of `with_cohorts`: reports without their cohorts, and the cohorts, (n,).

    Reports have `n_bits` bits, or are numbers where that is 0.
    """
    if (quick := cohorts_of_text(text, n_bits)) is not None:
        return quick
    if holds_bytes(text):
        remedy = "is bytes, which have no cohort before them: name the column of cohorts"
        raise InvalidArgument(f"{name}[0]", text.iloc[0], remedy)
    found = text.map(lambda v: v.partition(":") if isinstance(v, str) else ("", "", ""))
    good = found.map(lambda v: v[0].isascii() and v[0].isdigit() and len(v[0]) < 11).to_numpy(bool)
    if not good.all():
        first = int(np.argmin(good))
        raise InvalidArgument(
            f"{name}[{first}]",
            text.iloc[first],
            'must be text such as "3:17", the cohort before the report; or name the column of '
            "cohorts",
        )
    cohorts = np.array([int(v[0]) for v in found], dtype=np.int64)
    return found.map(lambda v: v[2]), cohorts
