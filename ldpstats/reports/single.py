"""What a collector holds: privatised reports, and the counts that replace them.

Counts add up, so that collection in chunks or on many machines is a sum, and they know the
mechanism that made them, so that counts of different mechanisms are never mixed by accident.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NoReturn, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    Array,
    as_array,
    boolean,
    check_slice,
    counts_vector,
    html_table,
    listed,
    one_of,
    positive_integer,
    record,
    reports_in_all,
    whole_below,
)
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable
from ldpstats.hints import Hinted
from ldpstats.labels import as_series, check_column, column_name, missing_entries
from ldpstats.reports.layout import check_fingerprints, cohort_beside, fingerprint_column

_MOST_REPORTS = 1 << 53  # sums of weights are exact below

_MIXED = "patterns cannot be added to sums of bits: use bit_counts() of the patterns first"
_NO_LABELS = "reports of {} are bit patterns: use bit_counts() for their sums"
_UNCOUNTED = "reports cannot be added, but their counts can: use reports.tally() first"


@record
class Reports(Hinted):
    """One privatised report per respondent.

    Parameters
    ----------
    y : array
        Output codes, shape (n,), in the smallest of uint8, uint16 and uint32 that holds
        `n_outputs` (cast them before you add or multiply); or packed bits, uint8 of shape
        (n, ceil(n_bits / 8)), bit j in byte j // 8 at position j % 8.
    mechanism : Mechanism
        The mechanism that made the reports.
    n_missing : int
        Respondents who gave no answer and are not in `y`.
    cohort : array of int64, shape (n,), or None
        Cohort of each respondent, for mechanisms that have cohorts.
    name : str
        Name of the variable; results are called by it.
    ids : array-like, shape (n,), or None
        Identifiers of the respondents, each once: they show whether reports of several variables
        or surveys are of the same persons. No result keeps them.

    Raises
    ------
    InvalidArgument
        If an array has another shape or type, or holds codes or cohorts that do not exist. Lists of
        whole numbers become arrays; floats are refused. If identifiers are missing or repeat.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    >>> reports = krr.privatize(["a", "b", "a", "c"], np.random.default_rng(0))
    >>> len(reports), reports.tally().nobs
    (4, 4)

    Those of some respondents:

    >>> len(reports[np.array([True, False, True, False])])
    2
    """

    y: Array
    mechanism: Any
    n_missing: int = 0
    cohort: Array | None = None
    name: str = ""
    ids: Any = None

    def __post_init__(self) -> None:
        _check(self, smallest=True)
        if not isinstance(self.name, str):
            raise InvalidArgument("name", self.name, "must be text: the name of the variable")
        if self.ids is not None:
            ids = checked_ids("ids", self.ids, len(self)).to_numpy(dtype=object)
            object.__setattr__(self, "ids", ids)

    def __len__(self) -> int:
        return int(self.y.shape[0])

    def _repr_html_(self) -> str:
        """What is held, in a notebook."""
        return held("Reports", [self.mechanism], len(self), [self.n_missing], [self.name])

    def __getitem__(self, rows: object) -> Reports:
        """Reports of some respondents: a mask of all of them, positions, or a slice.

        Reports have no index: of a Series only the values count, in their order.
        `n_missing` of the selection is zero: who gave no answer is in no row.
        """
        n = len(self)
        chosen: Any = rows
        if isinstance(rows, slice):
            check_slice("rows", rows, n)
        else:
            remedy = f"must be a mask of {n} respondents, True or False, positions, or a slice"
            if isinstance(rows, int | np.integer | str):
                raise InvalidArgument("rows", rows, remedy)
            chosen = as_array("rows", rows, remedy)
            chosen = chosen.astype(np.int64) if chosen.shape == (0,) else chosen
            fits = chosen.size == n if chosen.dtype == bool else whole_below(chosen, n)
            if chosen.ndim != 1 or not fits:
                raise InvalidArgument("rows", rows, remedy)
        cohort = None if self.cohort is None else self.cohort[chosen]
        ids = None if self.ids is None else self.ids[chosen]
        return Reports(self.y[chosen], self.mechanism, 0, cohort, self.name, ids)

    def __add__(self, other: object) -> NoReturn:
        raise NotAvailable(_UNCOUNTED)

    __radd__ = __add__

    def to_series(self, index: Any = None) -> pd.Series[Any]:
        """The reports as a column of a table, in the form in which `Survey` and files have them.

        Parameters
        ----------
        index : array-like, shape (n,), optional
            The index of the column, such as that of the table that it goes into. By default the
            identifiers, or numbers from 0.

        Returns
        -------
        Series
            Labels, or text such as "0110" and, of a mechanism with cohorts, "3:0110".

        Raises
        ------
        NotAvailable
            If respondents gave no answer: which rows are theirs is not known.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("nurse", "cook"), epsilon=1.0)
        >>> table = pd.DataFrame({"age": [30, 41, 28]})
        >>> reports = krr.privatize(["nurse", "cook", "nurse"], np.random.default_rng(1))
        >>> table["job"] = reports.to_series()
        >>> table
           age    job
        0   30  nurse
        1   41   cook
        2   28  nurse
        >>> len(ldp.Survey(table, {"job": krr}).reports("job"))
        3
        """
        if self.n_missing:
            raise NotAvailable(
                f"{self.n_missing} respondents gave no answer, and which rows are theirs is not "
                "known: Questionnaire.privatize(table, rng) makes a column with empty cells"
            )
        found = self.ids if index is None else listed("index", index, "must be an index")
        if found is not None and len(found) != len(self):
            raise InvalidArgument("index", index, f"must have {len(self)} labels, one a report")
        labels = self.mechanism.report_labels(self)
        return pd.Series(labels, found, name=self.name or None)

    @overload
    def tally(self, bits: Literal[False] = ...) -> Counts: ...
    @overload
    def tally(self, bits: Literal[True]) -> BitCounts: ...
    @overload
    def tally(self, bits: bool) -> Counts | BitCounts: ...
    def tally(self, bits: bool = False) -> Counts | BitCounts:
        """Count the distinct reports, or with ``bits=True`` sum each bit.

        Bit sums are all that linear estimates need and take n_bits numbers; the exact likelihood
        needs the patterns. Patterns of more than 64 bits hardly ever repeat and are kept as they
        are.

        Raises
        ------
        NotAvailable
            If ``bits=True`` and the reports are not bits.
        """
        mechanism = self.mechanism
        if not boolean("bits", bits):
            return tallied(self)
        if not mechanism.n_bits:
            raise NotAvailable(f"{mechanism} does not report bits: call tally() without bits=True")
        ones, reports = bit_sums(self.y, None, self.cohort, mechanism)
        return BitCounts(ones, reports, self.mechanism, self.n_missing)


@record
class Counts(Hinted):
    """How often each distinct report was seen.

    Parameters
    ----------
    y : array
        Distinct reports, in the form of `Reports.y`; codes are int64.
    n : array of int64, shape (u,)
        How often each was seen.
    mechanism : Mechanism
        The mechanism that made the reports.
    n_missing : int
        Respondents who gave no answer; they are in no count.
    cohort : array of int64, shape (u,), or None
        Cohort of each distinct report, for mechanisms that have cohorts.
    noise : array of int64, shape (n_bits,), or None
        Sums of bits dropped from `y` because they carry no information on the answer: those beside
        a revealed answer (`URAP`). Sums of all bits include them.

    Raises
    ------
    InvalidArgument
        As for `Reports`; or if counts are negative, not integers, or sum to 2**53 or more.

    Examples
    --------
    Counts of chunks add up to the counts of all:

    >>> import ldpstats as ldp
    >>> warner = ldp.Warner(epsilon=1.0)
    >>> (warner.counts([60, 40]) + warner.counts([1, 2])).n
    array([61, 42])
    """

    y: Array
    n: npt.NDArray[np.int64]
    mechanism: Any
    n_missing: int = 0
    cohort: Array | None = None
    noise: Array | None = None
    has_patterns: ClassVar[bool] = True  # whole reports were counted, not only sums of their bits

    def __post_init__(self) -> None:
        _check(self, smallest=False)
        n = plain_array("n", self.n)
        if n.shape != self.y.shape[:1] or not whole_below(n, _MOST_REPORTS):
            remedy = f"must be {len(self.y)} non-negative integers below 2**53, one a report in y"
            raise InvalidArgument("n", self.n, remedy)
        reports_in_all("n", n)
        object.__setattr__(self, "n", n.astype(np.int64, copy=False))
        if self.noise is not None:
            noise, bits = plain_array("noise", self.noise), self.mechanism.n_bits
            if not bits or noise.shape != (bits,) or not whole_below(noise, self.nobs + 1):
                remedy = "must be None"
                if bits:
                    remedy += f", or {bits} sums of bits from 0 to the number of reports"
                raise InvalidArgument("noise", self.noise, remedy)
            object.__setattr__(self, "noise", noise.astype(np.int64, copy=False))

    def _repr_html_(self) -> str:
        """What is held, in a notebook."""
        return held("Counts", [self.mechanism], self.nobs, [self.n_missing], [])

    @property
    def nobs(self) -> int:
        """Number of reports."""
        return int(self.n.sum())

    def vector(self) -> npt.NDArray[np.int64]:
        """Counts of all outputs in output order; for mechanisms whose reports are labels only.

        Shape (l,), or (C, l) for C cohorts.
        """
        mechanism = self.mechanism
        if mechanism.n_bits:
            raise NotAvailable(_NO_LABELS.format(mechanism))
        shape = (mechanism.n_cohorts, mechanism.n_outputs)[0 if mechanism.n_cohorts else 1 :]
        cells = self.y  # of all cohorts, one after the other
        if self.cohort is not None:
            cells = self.cohort * np.int64(mechanism.n_outputs) + self.y
        total = np.bincount(cells, weights=self.n, minlength=int(np.prod(shape)))
        return total.astype(np.int64).reshape(shape)

    @cached_property
    def _bit_sums(self) -> tuple[Array, Array]:
        ones, reports = bit_sums(self.y, self.n, self.cohort, self.mechanism)
        return ones if self.noise is None else ones + self.noise, reports

    def bit_counts(self) -> BitCounts:
        """The bit sums of these patterns; for mechanisms that report bits only."""
        if not self.mechanism.n_bits:
            raise NotAvailable(f"{self.mechanism} does not report bits: use vector()")
        return BitCounts(*cell_counts(self), self.mechanism, self.n_missing)

    def __add__(self, other: Counts) -> Counts:
        if isinstance(other, BitCounts) and self.n.size:
            raise NotAvailable(_MIXED)
        if not isinstance(other, Counts):
            return NotImplemented
        check_same(self.mechanism, other.mechanism, "FrequencyModel")
        y = np.concatenate([self.y, other.y])
        n = np.concatenate([self.n, other.n])
        reports_in_all("counts", n)
        cohort = None
        if self.cohort is not None and other.cohort is not None:
            cohort = np.concatenate([self.cohort, other.cohort])
        kept = [part.noise for part in (self, other) if part.noise is not None]
        missing = self.n_missing + other.n_missing
        noise = np.sum(kept, axis=0) if kept else None
        return _counted(y, n, cohort, self.mechanism, missing, noise)

    def __radd__(self, other: int) -> Counts:
        # sum() starts from zero
        return self if other == 0 else NotImplemented

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        mechanism: Any,
        report: str = "report",
        count: str | None = None,
        missing: str = "raise",
        cohort: str | None = None,
    ) -> Counts:
        """Read counts from a table with a column of reports and, optionally, one of counts.

        Parameters
        ----------
        frame : DataFrame
            One row per report, or per distinct report when `count` is given.
        mechanism : Mechanism
            The mechanism that made the reports.
        report : str
            Column of output labels; bit reports are strings such as "0110", in category order, or
            bytes (`reports.layout`).
        count : str, optional
            Column of whole counts.
        missing : {"raise", "count"}
            Refuse rows without a report, or leave them out and add them (or their `count`) to
            `n_missing`.
        cohort : str, optional
            Column of cohorts, whole numbers from 0 or the names of a device's. By default cohorts
            are before the reports, as in "3:0110", or in the column report_cohort for the column
            report.

        Raises
        ------
        InvalidArgument
            If `frame` is not a table, a column does not exist, reports are missing or unknown, or
            counts are negative or fractional.
        MechanismMismatch
            If the table has a column of fingerprints (report_fingerprint for the column report) and
            a row carries another mechanism's.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> frame = pd.DataFrame({"report": ["no", "yes"], "count": [60, 40]})
        >>> ldp.Counts.from_frame(frame, ldp.Warner(epsilon=1.0), count="count").nobs
        100
        """
        missing = one_of("missing", missing, ("raise", "count"))
        if not isinstance(frame, pd.DataFrame):
            raise InvalidArgument("frame", frame, "must be a pandas DataFrame, one row per report")
        check_mechanism("mechanism", mechanism)
        used: list[Any] = []
        for name, column in (("report", report), ("count", count), ("cohort", cohort)):
            if column is None and name != "report":
                continue
            check_column(name, column, frame)
            if column in used:
                raise InvalidArgument(name, column, "is named twice: give a column for each")
            used.append(column)
        every = frame.columns.tolist()
        digits = fingerprint_column(str(report))
        if every.count(digits) == 1 and digits not in used:
            check_fingerprints(f"column {digits!r}", digits, frame[digits], mechanism)
        if count is None:
            n = np.ones(len(frame), dtype=np.int64)
        else:
            n = counts_vector(f"column {count!r}", frame[count].to_numpy(), (len(frame),))
        name, labels, n_missing = f"column {report!r}", frame[report], 0
        if cohort is None:
            first = labels.dropna().head(1).tolist()
            beside = [c for c in every if c not in used and every.count(c) == 1]
            cohort = cohort_beside(str(report), mechanism, beside, *first or [None])
        groups = None if cohort is None else frame[cohort]
        absent = labels.isna().to_numpy()
        if missing == "count" and absent.any():
            # rows are numbered anew in errors, and the name says so
            name, labels = f"{name}.dropna()", labels[~absent]
            n, n_missing = n[~absent], reports_in_all(f"column {count!r}", n[absent])
            groups = None if groups is None else groups[~absent]
        reports = mechanism.parse(name, labels, groups)
        reports_in_all(f"column {count!r}", n)
        return _counted(reports.y, n, reports.cohort, mechanism, n_missing)


@record
class BitCounts(Hinted):
    """Sums of the bits of many reports, by cohort.

    Parameters
    ----------
    ones : array of int64, shape (C, n_bits)
        How often each bit was set, per cohort (C = 1 where there are no cohorts).
    reports : array of int64, shape (C,)
        Number of reports, per cohort.
    mechanism : Mechanism
        The mechanism that made the reports.
    n_missing : int
        Respondents who gave no answer.

    Raises
    ------
    InvalidArgument
        If an array has another shape, entries are negative, not integers or above the number of
        reports, there are 2**53 reports or more, or the mechanism does not report bits.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> rappor = ldp.KRAPPOR(("a", "b", "c"), epsilon=1.0)
    >>> reports = rappor.privatize(["a", "c"], np.random.default_rng(0))
    >>> reports.tally(bits=True).ones.shape
    (1, 3)
    """

    ones: npt.NDArray[np.int64]
    reports: npt.NDArray[np.int64]
    mechanism: Any
    n_missing: int = 0
    has_patterns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_mechanism("mechanism", self.mechanism)
        object.__setattr__(self, "n_missing", positive_integer("n_missing", self.n_missing, 0))
        C, bits = max(self.mechanism.n_cohorts, 1), self.mechanism.n_bits
        if not bits:
            remedy = "does not report bits: use Counts"
            raise InvalidArgument("mechanism", str(self.mechanism), remedy)
        for name, shape in (("ones", (C, bits)), ("reports", (C,))):
            sums = plain_array(name, getattr(self, name))
            if sums.shape != shape or not whole_below(sums, _MOST_REPORTS):
                remedy = f"must be non-negative integers below 2**53, of shape {shape}"
                raise InvalidArgument(name, f"array of {sums.dtype}, shape {sums.shape}", remedy)
            object.__setattr__(self, name, sums.astype(np.int64, copy=False))
        reports_in_all("reports", self.reports)
        if fault := self.mechanism.format.sums_fault(self.ones, self.reports):
            raise InvalidArgument("ones", self.ones.tolist(), fault)
        above = np.argwhere(self.ones > self.reports[:, None])
        if above.size:
            c, j = above[0].tolist()
            remedy = f"exceeds the number of reports, {int(self.reports[c])}"
            raise InvalidArgument(f"ones[{c}, {j}]", int(self.ones[c, j]), remedy)

    def _repr_html_(self) -> str:
        """What is held, in a notebook."""
        return held("Sums of bits", [self.mechanism], self.nobs, [self.n_missing], [])

    @property
    def nobs(self) -> int:
        """Number of reports."""
        return int(self.reports.sum())

    def vector(self) -> NoReturn:
        """Raise `NotAvailable`: sums of bits do not determine the counts of patterns."""
        raise NotAvailable(_NO_LABELS.format(self.mechanism))

    def bit_counts(self) -> BitCounts:
        """Return these sums, so that `Counts` and `BitCounts` serve alike."""
        return self

    def __add__(self, other: BitCounts | Counts | int) -> BitCounts:
        if isinstance(other, int) and other == 0:  # where sum() starts
            return self
        # an empty Counts is the neutral start of a sum, whichever kind follows
        if isinstance(other, Counts) and not other.n.size:
            check_same(self.mechanism, other.mechanism, "FrequencyModel")
            return replace(self, n_missing=self.n_missing + other.n_missing)
        if isinstance(other, Counts):
            raise NotAvailable(_MIXED)
        if not isinstance(other, BitCounts):
            return NotImplemented
        check_same(self.mechanism, other.mechanism, "FrequencyModel")
        reports_in_all("counts", np.append(self.reports, other.reports))
        missing = self.n_missing + other.n_missing
        sums = self.ones + other.ones, self.reports + other.reports
        return BitCounts(*sums, self.mechanism, missing)

    __radd__ = __add__


def _check(data: Reports | Counts, smallest: bool) -> None:
    """Check all fields; lists become arrays, codes int64 or the `smallest` integers."""
    check_mechanism("mechanism", data.mechanism)
    object.__setattr__(data, "n_missing", positive_integer("n_missing", data.n_missing, 0))
    mechanism = data.mechanism
    small = smallest and not mechanism.n_bits and mechanism.n_outputs < 1 << 32
    kind = np.min_scalar_type(mechanism.n_outputs) if small else np.dtype(np.int64)
    y = plain_array("y", data.y)
    if mechanism.n_bits:
        good = y.dtype == np.uint8 and y.shape[1:] == (-(-mechanism.format.packed_bits // 8),)
        what = f"packed reports of {mechanism.format.packed_bits} bits, uint8 of shape (u, bytes)"
        if good and y.size and (fault := mechanism.format.packing_fault(y)):
            raise InvalidArgument("y", y, fault)
    else:
        good = y.ndim == 1 and whole_below(y, mechanism.n_outputs)
        what = f"output codes 0 to {mechanism.n_outputs - 1}, integers of shape (u,)"
    if not good and y.dtype.kind not in "iufb":
        what += "; mechanism.parse(name, column) reads reports as they are written"
    if not good:
        raise InvalidArgument("y", data.y, f"must be {what}")
    y = y if mechanism.n_bits else y.astype(kind, copy=False)
    object.__setattr__(data, "y", y)
    if not mechanism.n_cohorts:
        if data.cohort is not None:
            remedy = f"must be None: {mechanism} has no cohorts"
            raise InvalidArgument("cohort", data.cohort, remedy)
        return
    cohort = plain_array("cohort", data.cohort)
    if cohort.shape != (len(y),) or not whole_below(cohort, mechanism.n_cohorts):
        remedy = f"must be a number from 0 to {mechanism.n_cohorts - 1} for each report"
        raise InvalidArgument("cohort", data.cohort, remedy)
    object.__setattr__(data, "cohort", cohort.astype(np.int64, copy=False))


def cell_counts(counts: Counts | BitCounts) -> tuple[Array, Array]:
    """How often each cell of each cohort was reported, (C, m), and reports, (C,)."""
    if isinstance(counts, BitCounts):
        return counts.ones, counts.reports
    if counts.mechanism.n_bits:
        return counts._bit_sums
    ones = counts.vector()
    return ones, ones.sum(axis=1)


def tallied(reports: Reports, n: npt.NDArray[np.int64] | None = None) -> Counts:
    """The counts of reports, n respondents each (None: one), equal ones merged."""
    return _counted(reports.y, n, reports.cohort, reports.mechanism, reports.n_missing)


def _counted(
    y: Array,
    n: npt.NDArray[np.int64] | None,
    cohort: Array | None,
    mechanism: Any,
    n_missing: int,
    noise: Array | None = None,
) -> Counts:
    """The counts of reports, n of each (None: one), equal ones merged."""
    y, n, more = mechanism.format.condense(y, n)
    if more is not None:
        noise = more if noise is None else noise + more
    y, total, cohort = _merged(y, n, cohort, mechanism)
    return Counts(y, total, mechanism, n_missing, cohort, noise)


# -- Checks of what reports and counts are made of: arrays, identifiers, selections of rows -------


def plain_array(name: str, values: object) -> Array:
    """Return lists or an array as an array, entries unchanged."""
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidArgument(name, values, "must not be masked: leave masked entries out")
    array = as_array(name, values, "must be an array: are rows of one length?")
    # a list without entries has no type
    return array.astype(np.int64) if array.shape == (0,) and isinstance(values, list) else array


def checked_ids(name: str, ids: object, n: int) -> pd.Series[Any]:
    """Identifiers of n respondents, each once."""
    column = as_series(name, ids)
    if len(column) != n:
        raise InvalidArgument(name, f"{len(column)} ids", f"must be {n}, one a report")
    if missing_entries(name, column).any():
        raise InvalidArgument(name, "missing", "every respondent needs an identifier")
    if column.duplicated().any():
        twice = column[column.duplicated()].iloc[0]
        raise InvalidArgument(name, twice, "appears more than once: keep one report each")
    return column


# -- Equal reports merged, and bits summed: functions of arrays -----------------------------------


_MOST_CELLS = 1 << 26  # labels of all cohorts that are counted in an array of 512 MB at most


def bit_sums(
    y: Array, n: npt.NDArray[np.int64] | None, cohort: Array | None, mechanism: Any
) -> tuple[Array, Array]:
    """Sums of bits, shape (C, n_bits), and reports, (C,), of n packed reports each (None: one)."""
    C = max(mechanism.n_cohorts, 1)
    ones = mechanism.format.sum_bits(y, n, cohort, C)
    groups = np.zeros(len(y), dtype=np.int64) if cohort is None else cohort
    return ones, np.bincount(groups, weights=n, minlength=C).astype(np.int64)


def _merged(
    y: Array, n: npt.NDArray[np.int64] | None, cohort: Array | None, mechanism: Any
) -> tuple[Array, npt.NDArray[np.int64], Array | None]:
    """Merge equal reports, n of each (None: one), and drop those with count zero."""
    if y.ndim == 1:
        labels = mechanism.n_outputs
        numbers = y if cohort is None else cohort * np.int64(labels) + y
        most = labels * max(mechanism.n_cohorts, 1)
        if most > _MOST_CELLS:  # too many to count in an array
            cells, group = np.unique(numbers, return_inverse=True)
            total = np.bincount(group, weights=n, minlength=cells.size)
            cells, total = cells[total > 0], total[total > 0]
        else:
            everything = np.bincount(numbers, weights=n, minlength=most)
            cells = np.flatnonzero(everything)
            total = everything[cells]
        total = total.astype(np.int64)
        return (cells, total, None) if cohort is None else (cells % labels, total, cells // labels)
    if y.shape[1] > 8:
        if n is None:
            return y, np.ones(len(y), dtype=np.int64), cohort
        seen = n > 0
        if seen.all():
            return y, n, cohort
        return y[seen], n[seen], None if cohort is None else cohort[seen]
    words = np.zeros((y.shape[0], 8), dtype=np.uint8)
    words[:, : y.shape[1]] = y
    keys: Array = words.view(np.uint64)[:, 0]
    if cohort is None and n is None:  # the sorted keys are the reports: no order is needed
        keys, total = np.unique(keys, return_counts=True)
        return np.ascontiguousarray(keys[:, None].view(np.uint8)[:, : y.shape[1]]), total, None
    if cohort is not None:  # equal patterns of one cohort: number the patterns first
        keys = np.unique(keys, return_inverse=True)[1] * np.int64(mechanism.n_cohorts) + cohort
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    total = np.bincount(group, weights=n, minlength=first.size)
    kept = first[total > 0]
    members = None if cohort is None else cohort[kept]
    return y[kept], total[total > 0].astype(np.int64), members


# -- Columns and tables where reports belong: the errors that say how they are read ---------------


_TABLES = ("duckdb", "polars", "pyarrow")


def not_reports(name: str, value: object, remedy: str) -> InvalidArgument:
    """The error about a value that is no reports; one from a table is told how it is read."""
    shown = value  # or how long it is where it may hold answers, which do not belong in a log
    if isinstance(value, pd.Series | pd.Index | pd.DataFrame):
        shown = f"{type(value).__name__} of {len(value)} rows"
    elif isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind not in "biuf":
        shown = f"array of {len(value)} rows"
    parts = value if isinstance(value, list | tuple) else [value]
    columns = str | np.ndarray | pd.Series | pd.Index | pd.DataFrame
    if any(
        isinstance(part, columns) or type(part).__module__.partition(".")[0] in _TABLES
        for part in parts
    ):
        names = [column for part in parts if (column := column_name(part))]
        question = repr(names[0] if names else "question")
        remedy += (
            f". A column of a table is read by mechanism.parse({question}, column), a whole table "
            f"by ldp.Survey(table, ldp.Questionnaire({{{question}: mechanism}}))"
        )
    return InvalidArgument(name, shown, remedy)


# -- What reports and counts need to know of the mechanism that made them -------------------------


def check_mechanism(name: str, mechanism: object) -> None:
    """Refuse anything but a mechanism, such as its class."""
    cohorts, outputs = getattr(mechanism, "n_cohorts", None), getattr(mechanism, "n_outputs", None)
    if isinstance(mechanism, type) or not (isinstance(cohorts, int) and isinstance(outputs, int)):
        raise InvalidArgument(name, mechanism, "must be the mechanism of the reports")


def check_same(left: Any, right: Any, together: str) -> None:
    """Refuse to add counts of two mechanisms; `together` fits them."""
    if left.fingerprint != right.fingerprint:
        raise MechanismMismatch(
            f"counts of {left} (fingerprint {left.fingerprint}) cannot be added to counts of "
            f"{right} (fingerprint {right.fingerprint}): fit them together as "
            f"{together}([first, second]) instead"
        )


# -- Reports and counts in a notebook: what they hold, none of them one by one --------------------


def held(
    kind: str, mechanisms: Sequence[Any], nobs: int, missing: Sequence[int], names: Sequence[str]
) -> str:
    """A table of what is held of one variable or several, whose names may be empty."""
    shown = [name for name in names if name]
    rows = [("mechanism", str(mechanism)) for mechanism in mechanisms]
    if len(mechanisms) == len(shown) > 1:
        rows = [(name, text) for name, (_, text) in zip(names, rows, strict=True)]
    rows += [("n", str(nobs)), ("missing", ", ".join(map(str, missing)))]
    return html_table(f"{kind} of {' and '.join(shown)}" if shown else kind, rows)


# -- Reports of a mechanism as numbers from 0, cohorts included, and back -------------------------


def possible_reports(mechanism: Any) -> int:
    """Number of different reports, cohorts included."""
    C: int = max(mechanism.n_cohorts, 1)
    size: int = 2**mechanism.format.packed_bits if mechanism.n_bits else mechanism.n_outputs
    return C * size


def report_numbers(part: Reports) -> Array:
    """A number for each report, the cohort in front; for patterns of up to 62 bits."""
    bits = part.mechanism.format.packed_bits
    code: Array = part.y if bits else part.y.astype(np.int64)
    if bits:
        words = np.zeros((len(part.y), 8), dtype=np.uint8)
        width = min(part.y.shape[1], 8)
        words[:, :width] = part.y[:, :width]
        code = words.view(np.int64)[:, 0]
    size = 2**bits if bits else part.mechanism.n_outputs
    return code if part.cohort is None else part.cohort * size + code


def numbered_reports(part: Reports, codes: Array) -> Reports:
    """The reports that have these numbers."""
    bits = part.mechanism.format.packed_bits
    size = 2**bits if bits else part.mechanism.n_outputs
    y, cohort = codes % size, None if part.cohort is None else codes // size
    if bits:
        words = np.ascontiguousarray(y.astype("<i8")).view(np.uint8).reshape(-1, 8)
        y = words[:, : part.y.shape[1]]
    return replace(part, y=y, cohort=cohort)


# -- Which respondents have a report on every variable: by identifier, by row, or in order --------


Matched = tuple[tuple[Reports, ...], tuple[int, ...]]  # reports, and how many lacked each variable

_PAIRS = "must be pairs (reports, present), one per variable"


def by_ids(parts: Sequence[Reports]) -> Matched:
    """The reports of those who are among the identifiers of all parts, in the first's order."""
    columns = [pd.Index(part.ids, dtype=object) for part in parts]
    chosen = np.array([column.get_indexer(columns[0]) for column in columns])
    chosen = chosen[:, (chosen >= 0).all(axis=0)]
    if not chosen.shape[1] and all(map(len, parts)):
        seen = ", ".join(repr(column[0]) for column in columns)
        remedy = "no respondent has a report on every variable: are these identifiers of one kind?"
        raise InvalidArgument("ids", seen, remedy)
    everyone = columns[0]
    for column in columns[1:]:
        everyone = everyone.append(column[everyone.get_indexer(column) < 0])
    total = max(len(everyone), *(len(part) + part.n_missing for part in parts))  # at least
    left_out = total - chosen.shape[1]
    return _taken(parts, chosen, left_out, total, [len(part) for part in parts])


def by_rows(rows: object, n: Array | None = None) -> tuple[Matched, Array]:
    """The reports of the rows that have one on every variable, and how many respondents each is.

    `rows` are pairs as in `JointCounts.of_rows`; a row stands for n respondents, (N,), or for one.
    """
    pairs: list[tuple[Reports, Array | None]] = []
    for v, pair in enumerate(listed("rows", rows, _PAIRS)):
        name, remedy = f"rows[{v}]", "the mask must be True or False for each row"
        both = pair if isinstance(pair, list | tuple) and len(pair) == 2 else (None, None)
        reports, mask = both
        if not isinstance(reports, Reports):
            raise InvalidArgument(name, pair, _PAIRS)
        if mask is not None:
            mask = as_array(name, mask, remedy)
            if mask.dtype != bool or mask.ndim != 1:
                raise InvalidArgument(name, both[1], remedy)
            if len(reports) not in (int(mask.sum()), mask.size):
                remedy = f"there are {len(reports)} reports, and {mask.sum()} of {mask.size} rows "
                remedy += "have one: pass the mask of these reports"
                raise InvalidArgument(name, "mask", remedy)
        pairs.append((reports, mask))
    sizes = [len(reports if mask is None else mask) for reports, mask in pairs]
    if len(set(sizes)) > 1:
        raise InvalidArgument("rows", f"{sizes} rows", "must be the same rows for each variable")
    N = sizes[0] if sizes else 0
    masks = [np.ones(N, dtype=bool) if mask is None else mask for _, mask in pairs]
    kept = np.flatnonzero(np.logical_and.reduce(masks)) if masks else np.empty(0, dtype=np.int64)
    parts = [reports for reports, _ in pairs]
    chosen = [
        kept if len(part) == N else np.cumsum(mask)[kept] - 1
        for part, mask in zip(parts, masks, strict=True)
    ]
    times = np.ones(N, dtype=np.int64) if n is None else counts_vector("n", n, (N,))
    answered = [int(times[mask].sum()) for mask in masks]
    left_out = int(times.sum() - times[kept].sum())
    return _taken(parts, chosen, left_out, int(times.sum()), answered), times[kept]


def _taken(
    parts: Sequence[Reports], chosen: Any, left_out: int, total: int, answered: Sequence[int]
) -> Matched:
    """Reports at the places chosen; of `total` respondents, how many `answered` each question."""
    reports = tuple(
        replace(part[at], n_missing=left_out, ids=None)
        for part, at in zip(parts, chosen, strict=True)
    )
    lacking = tuple(total - size for size in answered) if left_out else ()
    return reports, lacking


# -- in order ---------------------------------------------------------------------------------


def checked_parts(reports: Sequence[Reports]) -> tuple[Reports, ...]:
    """Reports of two or more variables."""
    parts = tuple(listed("reports", reports, "must be a list of Reports, one per variable"))
    for part in parts:
        if not isinstance(part, Reports):
            counts = isinstance(part, Counts | BitCounts)
            remedy = "counts of one variable do not say what the others were; " * counts
            remedy = f"must be Reports, one per variable: {remedy}pass the reports"
            raise not_reports("reports", part, remedy)
    if len(parts) < 2:
        remedy = "two or more variables are needed; FrequencyModel is for one"
        raise InvalidArgument("reports", f"{len(parts)} variable", remedy)
    return parts


def alike(parts: tuple[Reports, ...]) -> tuple[Reports, ...]:
    """These parts without identifiers, after a check that they have as many reports."""
    sizes = [len(part) for part in parts]
    if len(set(sizes)) > 1:
        raise InvalidArgument(
            "reports",
            f"{sizes} reports",
            "must be as many for each variable: report i of all variables is one respondent's; "
            "reports with identifiers, Reports(..., ids=), are matched by them",
        )
    return tuple(part if part.ids is None else replace(part, ids=None) for part in parts)


def check_ids(ids: Sequence[Any], variables: int, u: int) -> None:
    """Refuse identifiers, a column for each of several variables, that are not in one order."""
    remedy = "must hold one column of identifiers per variable"
    given = listed("ids", ids, remedy)
    if len(given) != variables:
        raise InvalidArgument("ids", f"{len(given)} columns", f"needs {variables}, one each")
    columns = [checked_ids(f"ids[{v}]", column, u) for v, column in enumerate(given)]
    for v, column in enumerate(columns):
        differ = np.flatnonzero((column != columns[0]).to_numpy())
        if differ.size:
            i = int(differ[0])
            raise InvalidArgument(
                f"ids[{v}][{i}]",
                column.iloc[i],
                f"is not the respondent of the first variable, {columns[0].iloc[i]!r}: bring the "
                "reports into one order, for example by merging the tables on the identifier",
            )


# -- Cohorts that reports on several variables share ----------------------------------------------


_CHANCE = 1e-6  # of as many equal cohorts, where devices drew both


def cohort_groups(reports: Sequence[Reports], nobs: int) -> list[list[int]]:
    """Variables grouped by shared cohorts; those without cohorts are in no group."""
    groups: list[list[int]] = []
    for v, part in enumerate(reports):
        if part.cohort is None or part.mechanism.n_cohorts < 2:
            continue
        for group in groups:
            first = reports[group[0]].cohort
            if first is not None and _determined(first, part.cohort, nobs):
                group.append(v)
                break
        else:
            groups.append([v])
    return groups


def may_share(first: Reports, second: Reports, n: Array, alike: bool) -> bool:
    """Whether two reports of each of n respondents, (u,), may come from one permanent response.

    Without cohorts only who asks knows whether the reports are `alike`, on one question.
    """
    kept = first.mechanism.permanent
    if kept is None or kept != second.mechanism.permanent:
        return False
    if first.cohort is None or second.cohort is None:
        return alike
    from scipy.special import bdtrc  # only here: it takes a while to load

    # a device has one cohort: where cohorts differ both responses were drawn, and where they agree
    # in everybody, or more often than by chance, some devices kept theirs
    total, agree = int(n.sum()), int(n[first.cohort == second.cohort].sum())
    if agree == total:
        return total > 0
    return bool(bdtrc(agree - 1, total, 1.0 / first.mechanism.n_cohorts) < _CHANCE)


def _determined(first: Array, second: Array, nobs: int) -> bool:
    """Whether cohorts of one variable are a function of those of the other."""
    if np.array_equal(first, second):
        return True
    pairs = np.unique(np.column_stack([first, second]), axis=0)
    most = max(np.unique(first).size, np.unique(second).size)
    return len(pairs) == most and nobs > 2 * most
