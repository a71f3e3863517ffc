"""Sums of bits where the reports are: partial sums of batches of rows, which add up.

Groups are numbered in the order of the domains, the last column fastest; a row with a missing value
that is not in the domain is in group -1. Partial sums have the columns group and cohort, from 0 (-1
for rows without a group and for missing reports), reports, their number, and ones, int64 as bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import Array, record
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.io.tables import cohorts_in, reports_in, whole_counts
from ldpstats.mechanisms import Mechanism
from ldpstats.reports.layout import (
    BitFormat,
    CellSums,
    arrow_bytes,
    in_pandas,
    is_of_bytes,
    plain_bytes,
)
from ldpstats.reports.single import BitCounts

MOST_BYTES = 1 << 30  # of memory that the sums of a share of the rows may fill
_BYTES = 24  # of it for each bit of a group and cohort

_ROW = re.compile(r", row [0-9]+$|\[[0-9]+\]$")


@record
class BitSums:
    """What `Query.partial` runs to sum bits: from batches of rows to one of sums; it is pickled."""

    mechanism: Mechanism
    column: str  # of reports
    cohort: str | None = None  # the column of cohorts, where reports do not have them
    by: tuple[str, ...] = ()  # columns whose combinations of values are groups
    domains: tuple[Any, ...] = ()  # arrays of Arrow, the values of each of them
    count: str | None = None  # column of whole counts, where a row stands for several reports
    where: str = "reports"  # what an error calls them

    def __post_init__(self) -> None:
        if not self.mechanism.n_bits:
            raise NotAvailable(f"{self.mechanism} does not report bits: count its reports")
        cells = self.n_numbers * self.n_cohorts
        if _BYTES * cells * self.mechanism.n_bits > MOST_BYTES:
            raise NotAvailable(
                f"sums of {self.mechanism.n_bits} bits in {cells} groups and cohorts take more "
                f"than {MOST_BYTES} bytes of memory: use fewer groups"
            )

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        named = [self.column, self.cohort, *self.by, self.count]
        return list(dict.fromkeys(name for name in named if name is not None))

    @property
    def n_groups(self) -> int:
        """Number of groups of rows without a missing value."""
        return prod(map(len, self.domains))

    @property
    def n_numbers(self) -> int:
        """Number of groups and, last, that of rows without one where there may be some."""
        return self.n_groups + bool(self.by)

    @property
    def n_cohorts(self) -> int:
        """Number of cohorts, 1 where there are none."""
        return max(self.mechanism.n_cohorts, 1)

    @property
    def schema(self) -> Any:
        """The columns of partial sums."""
        import pyarrow

        numbers = [pyarrow.field(name, pyarrow.int64()) for name in ("group", "cohort", "reports")]
        return pyarrow.schema([*numbers, pyarrow.field("ones", pyarrow.binary())])

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Sum all rows of record batches into one."""
        sums = _Sums(self)
        for batch in batches:
            sums.add(batch)
        yield sums.record()


class _Sums:
    """Running sums of the bits, reports and missing reports of each group and cohort."""

    def __init__(self, what: BitSums) -> None:
        self.what = what
        self.shape = what.n_numbers, what.n_cohorts
        self.bits = CellSums(what.mechanism.n_bits, prod(self.shape))
        self.repeated: Any = None  # bits of rows that have counts, and their reports
        self.reports = np.zeros(prod(self.shape), dtype=np.int64)
        self.missing = np.zeros(self.shape[0], dtype=np.int64)

    def add(self, batch: Any) -> None:
        """Add the rows of a record batch."""
        what = self.what
        try:
            packed, cohort, absent = self._reports(batch)
            n = None
            if what.count is not None:
                n = whole_counts(f"column {what.count!r}", in_pandas(batch.column(what.count)), 0)
        except InvalidArgument as error:  # rows of a batch have no number of their own
            name = _ROW.sub("", error.name)
            error.args = (name + str(error).removeprefix(error.name),)
            error.name = name
            raise error from None
        cell: Any = None  # the group of each row, and its cohort
        if what.by:
            cell = np.zeros(batch.num_rows, dtype=np.int64)
            nowhere = np.zeros(batch.num_rows, dtype=bool)
            for name, domain in zip(what.by, what.domains, strict=True):
                code = _codes(name, batch.column(name), domain)
                nowhere |= code < 0
                cell = cell * len(domain) + code
            cell[nowhere] = what.n_groups
        if absent.any():
            lost = np.zeros(absent.size, dtype=np.int64) if cell is None else cell
            counted = np.bincount(lost[absent], _some(n, absent), self.missing.size)
            self.missing += counted.astype(np.int64)
            cell, n = _some(cell, ~absent), _some(n, ~absent)
        if cohort is not None:
            cell = cohort if cell is None else cell * self.shape[1] + cohort
        if n is None:
            self.bits.add(packed, cell)
        else:
            cell = np.zeros(len(packed), dtype=np.int64) if cell is None else cell
            self.reports += np.bincount(cell, n, self.reports.size).astype(np.int64)
            table = BitFormat(what.mechanism.n_bits)  # as packed bits stand in tables
            sums = table.sum_bits(packed, n, cell, self.reports.size)
            self.repeated = sums if self.repeated is None else self.repeated + sums

    def _reports(self, batch: Any) -> tuple[Array, Array | None, npt.NDArray[np.bool_]]:
        """The bits of text, packed, and the cohorts of reports; and which rows have none."""
        what, column = self.what, batch.column(self.what.column)
        beside = None if what.cohort is None else batch.column(what.cohort)
        form: Any = what.mechanism.format
        if not is_of_bytes(column.type) or (beside is None) != (not what.mechanism.n_cohorts):
            cohort = None if beside is None else in_pandas(beside)
            places = what.where, f"{what.where}, cohort"
            found, absent = reports_in(places, what.mechanism, in_pandas(column), cohort)
            return form.to_table(found.y), found.cohort, absent
        column, bits = plain_bytes(column), what.mechanism.n_bits
        absent, there = _nulls(column), column.drop_null() if column.null_count else column
        packed = arrow_bytes(what.where, there, -(-bits // 8), bits)
        form.from_table(what.where, packed)  # which refuses what is no report
        return packed, None if beside is None else self._cohorts(beside, absent), absent

    def _cohorts(self, column: Any, absent: npt.NDArray[np.bool_]) -> Array:
        """The cohorts of the rows that are not `absent`; in place where all rows have one."""
        import pyarrow

        mechanism = self.what.mechanism
        if pyarrow.types.is_integer(column.type) and not column.null_count and not absent.any():
            values = column.to_numpy()
            if values.size and values.min() >= 0 and values.max() < mechanism.n_cohorts:
                return np.asarray(values)
        return cohorts_in(f"{self.what.where}, cohort", mechanism, in_pandas(column), absent)

    def record(self) -> Any:
        """The sums as a record batch; see `BitSums.schema`."""
        import pyarrow

        number = self.bits.reports() + self.reports
        cells, missing = np.flatnonzero(number), np.flatnonzero(self.missing)
        ones = self.bits.total(cells) + (0 if self.repeated is None else self.repeated[cells])
        group = np.concatenate([cells // self.shape[1], missing])
        group[group == self.what.n_groups] = -1
        cohort = np.concatenate([cells % self.shape[1], np.full(missing.size, -1)])
        reports = np.concatenate([number[cells], self.missing[missing]])
        sums = [row.tobytes() for row in ones.astype("<i8")] + [b""] * missing.size
        arrays = [*map(pyarrow.array, (group, cohort, reports)), pyarrow.array(sums)]
        return pyarrow.record_batch(arrays, schema=self.what.schema)


def _nulls(array: Any) -> npt.NDArray[np.bool_]:
    """Which values of an Arrow array are missing."""
    if not array.null_count:
        return np.zeros(len(array), dtype=bool)
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False))


def _some(n: Array | None, rows: Array) -> Array | None:
    return None if n is None else n[rows]


def _codes(name: str, column: Any, domain: Any) -> npt.NDArray[np.int64]:
    """Positions of a column's values in a domain, -1 where missing."""
    import pyarrow
    from pyarrow import compute

    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    column = column.cast(domain.type)
    if pyarrow.types.is_floating(column.type):
        column = compute.add(column, 0.0)  # one zero, as in cells
    found = compute.index_in(column, value_set=domain)
    strange = _nulls(found) & ~_nulls(column)
    if strange.any():
        value = column[int(np.argmax(strange))].as_py()
        remedy = "was not there before: the table changed while it was in use; make the survey anew"
        raise InvalidArgument(f"column {name!r}", value, remedy)
    codes: npt.NDArray[np.int64] = found.fill_null(-1).to_numpy().astype(np.int64)
    return codes


def add_up(partials: Iterable[Any], what: BitSums) -> dict[int, BitCounts]:
    """The sums of all groups that have rows, by number, -1 for rows without one."""
    import pyarrow

    C, bits = what.n_cohorts, what.mechanism.n_bits
    G = what.n_numbers
    ones, reports = np.zeros((G, C, bits), dtype=np.int64), np.zeros((G, C), dtype=np.int64)
    missing = np.zeros(G, dtype=np.int64)
    for batch in partials:  # which has a group and cohort once; group -1 is the last
        group, cohort, n = (batch.column(i).to_numpy() for i in range(3))
        there = cohort >= 0
        missing[group[~there]] += n[~there]
        some = batch.column(3).filter(pyarrow.array(there))
        sums = arrow_bytes("sums", some, 8 * bits, 64 * bits)
        ones[group[there], cohort[there]] += sums.view("<i8")
        reports[group[there], cohort[there]] += n[there]
    seen = np.flatnonzero(reports.any(axis=1) | (missing > 0)).tolist()
    numbers = sorted(-1 if g == what.n_groups else g for g in seen)
    made_by = what.mechanism
    return {g: BitCounts(ones[g], reports[g], made_by, int(missing[g])) for g in numbers}
