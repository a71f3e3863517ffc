"""What a collector holds: privatised reports, and the counts that replace them.

Counts add up, so that collection in chunks or on many machines is a sum, and they know the
mechanism that made them, so that counts of different mechanisms are never mixed by accident.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NoReturn, Protocol, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import (
    as_array,
    boolean,
    check_slice,
    counts_vector,
    one_of,
    positive_integer,
    reports_in_all,
    whole_below,
)
from ldpstats.arguments.labels import as_series, check_column, missing_entries
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable
from ldpstats.reports.display import held
from ldpstats.reports.fingerprints import check_fingerprints, fingerprint_column
from ldpstats.reports.packed import cohort_beside

__all__ = ["BitCounts", "Counts", "Reports", "cell_counts", "check_mechanism", "tallied"]

Array = npt.NDArray[Any]

_MOST_REPORTS = 1 << 53  # sums of weights are exact below
_MOST_CELLS = 1 << 26  # labels of all cohorts that are counted in an array of 512 MB at most

_MIXED = "patterns cannot be added to sums of bits: use bit_counts() of the patterns first"
_NO_LABELS = "reports of {} are bit patterns: use bit_counts() for their sums"
_UNCOUNTED = "reports cannot be added, but their counts can: use reports.tally() first"


class Source(Protocol):
    """What counts need to know of the mechanism that made them."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def n_bits(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def n_cohorts(self) -> int: ...
    @property
    def format(self) -> Any: ...  # a ReportFormat: a BitFormat where reports are bits
    def parse(self, name: str, labels: object, cohort: object = None) -> Reports: ...
    def no_counts(self) -> Counts: ...
    def __str__(self) -> str: ...


def _same_mechanism(left: Source, right: Source) -> None:
    if left.fingerprint != right.fingerprint:
        raise MechanismMismatch(
            f"counts of {left} (fingerprint {left.fingerprint}) cannot be added to counts of "
            f"{right} (fingerprint {right.fingerprint}): fit them together as "
            "FrequencyModel([first, second]) instead"
        )


@dataclass(frozen=True, eq=False)
class Reports:
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
        _check_reports(self)
        if not isinstance(self.name, str):
            raise InvalidArgument("name", self.name, "must be text: the name of the variable")
        if self.ids is not None:
            object.__setattr__(self, "ids", _checked_ids(self.ids, len(self)))

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
        chosen = _chosen(rows, len(self))
        cohort = None if self.cohort is None else self.cohort[chosen]
        ids = None if self.ids is None else self.ids[chosen]
        return Reports(self.y[chosen], self.mechanism, 0, cohort, self.name, ids)

    def __add__(self, other: object) -> NoReturn:
        raise NotAvailable(_UNCOUNTED)

    __radd__ = __add__

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
        mechanism: Source = self.mechanism
        if not boolean("bits", bits):
            return tallied(self)
        if not mechanism.n_bits:
            raise NotAvailable(f"{mechanism} does not report bits: call tally() without bits=True")
        ones, reports = _bit_sums(self.y, None, self.cohort, mechanism)
        return BitCounts(ones, reports, self.mechanism, self.n_missing)


@dataclass(frozen=True, eq=False)
class Counts:
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
        _check_reports(self)
        n = _array("n", self.n)
        if n.shape != self.y.shape[:1] or not whole_below(n, _MOST_REPORTS):
            raise InvalidArgument(
                "n",
                self.n,
                f"must be {len(self.y)} non-negative integers below 2**53, one a report in y",
            )
        reports_in_all("n", n)
        object.__setattr__(self, "n", n.astype(np.int64, copy=False))
        if self.noise is not None:
            noise, bits = _array("noise", self.noise), self.mechanism.n_bits
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
        cells = _cell_numbers(self.y, self.cohort, mechanism.n_outputs)
        total = np.bincount(cells, weights=self.n, minlength=int(np.prod(shape)))
        return total.astype(np.int64).reshape(shape)

    def bit_counts(self) -> BitCounts:
        """The bit sums of these patterns; for mechanisms that report bits only."""
        if not self.mechanism.n_bits:
            raise NotAvailable(f"{self.mechanism} does not report bits: use vector()")
        ones, reports = _bit_sums(self.y, self.n, self.cohort, self.mechanism)
        if self.noise is not None:
            ones = ones + self.noise
        return BitCounts(ones, reports, self.mechanism, self.n_missing)

    def __add__(self, other: Counts) -> Counts:
        if isinstance(other, BitCounts) and self.n.size:
            raise NotAvailable(_MIXED)
        if not isinstance(other, Counts):
            return NotImplemented
        _same_mechanism(self.mechanism, other.mechanism)
        y = np.concatenate([self.y, other.y])
        n = np.concatenate([self.n, other.n])
        reports_in_all("counts", n)
        cohort = None
        if self.cohort is not None and other.cohort is not None:
            cohort = np.concatenate([self.cohort, other.cohort])
        kept = [part.noise for part in (self, other) if part.noise is not None]
        noise = np.sum(kept, axis=0) if kept else None
        missing = self.n_missing + other.n_missing
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
            bytes (`io.layout`).
        count : str, optional
            Column of whole counts.
        missing : {"raise", "count"}
            Refuse rows without a report, or leave them out and add them (or their `count`) to
            `n_missing`.
        cohort : str, optional
            Column of cohorts, whole numbers from 0. By default cohorts are before the reports, as
            in "3:0110", or in the column report_cohort for the column report.

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
        >>> ldp.Counts.from_frame(frame, ldp.Warner(1.0), count="count").nobs
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
        digits = fingerprint_column(str(report))
        if frame.columns.tolist().count(digits) == 1 and digits not in used:
            check_fingerprints(f"column {digits!r}", digits, frame[digits], mechanism)
        if count is None:
            n = np.ones(len(frame), dtype=np.int64)
        else:
            n = counts_vector(f"column {count!r}", frame[count].to_numpy(), (len(frame),))
        name, reports, n_missing = f"column {report!r}", frame[report], 0
        if cohort is None:
            first = reports.dropna().head(1).tolist()
            every = frame.columns.tolist()
            beside = [c for c in every if c not in used and every.count(c) == 1]
            cohort = cohort_beside(str(report), mechanism, beside, *first or [None])
        groups = None if cohort is None else frame[cohort]
        absent = reports.isna().to_numpy()
        if missing == "count" and absent.any():
            # rows are numbered anew in errors, and the name says so
            name, reports = f"{name}.dropna()", reports[~absent]
            n, n_missing = n[~absent], reports_in_all(f"column {count!r}", n[absent])
            groups = None if groups is None else groups[~absent]
        found = mechanism.parse(name, reports, groups)
        reports_in_all(f"column {count!r}", n)
        return _counted(found.y, n, found.cohort, mechanism, n_missing)


@dataclass(frozen=True, eq=False)
class BitCounts:
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
        _check_source(self)
        C, bits = max(self.mechanism.n_cohorts, 1), self.mechanism.n_bits
        if not bits:
            raise InvalidArgument(
                "mechanism", str(self.mechanism), "does not report bits: use Counts"
            )
        for name, shape in (("ones", (C, bits)), ("reports", (C,))):
            sums = _array(name, getattr(self, name))
            if sums.shape != shape or not whole_below(sums, _MOST_REPORTS):
                raise InvalidArgument(
                    name,
                    f"array of {sums.dtype}, shape {sums.shape}",
                    f"must be non-negative integers below 2**53, of shape {shape}",
                )
            object.__setattr__(self, name, sums.astype(np.int64, copy=False))
        reports_in_all("reports", self.reports)
        if fault := self.mechanism.format.sums_fault(self.ones, self.reports):
            raise InvalidArgument("ones", self.ones.tolist(), fault)
        above = np.argwhere(self.ones > self.reports[:, None])
        if above.size:
            c, j = above[0].tolist()
            raise InvalidArgument(
                f"ones[{c}, {j}]",
                int(self.ones[c, j]),
                f"exceeds the number of reports, {int(self.reports[c])}",
            )

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
            _same_mechanism(self.mechanism, other.mechanism)
            return replace(self, n_missing=self.n_missing + other.n_missing)
        if isinstance(other, Counts):
            raise NotAvailable(_MIXED)
        if not isinstance(other, BitCounts):
            return NotImplemented
        _same_mechanism(self.mechanism, other.mechanism)
        reports_in_all("counts", np.append(self.reports, other.reports))
        return BitCounts(
            self.ones + other.ones,
            self.reports + other.reports,
            self.mechanism,
            self.n_missing + other.n_missing,
        )

    __radd__ = __add__


def cell_counts(counts: Counts | BitCounts) -> tuple[Array, Array]:
    """How often each cell of each cohort was reported, (C, m), and reports, (C,)."""
    if counts.mechanism.n_bits:
        sums = counts.bit_counts()
        return sums.ones, sums.reports
    ones = counts.vector()
    return ones, ones.sum(axis=1)


def tallied(reports: Reports, n: npt.NDArray[np.int64] | None = None) -> Counts:
    """The counts of reports, n respondents each (None: one), equal ones merged."""
    parts = reports.cohort, reports.mechanism, reports.n_missing
    return _counted(reports.y, n, *parts)


def check_mechanism(name: str, mechanism: object) -> None:
    """Refuse anything but a mechanism, such as its class."""
    known = getattr(mechanism, "n_cohorts", None), getattr(mechanism, "n_outputs", None)
    if isinstance(mechanism, type) or not all(isinstance(size, int) for size in known):
        raise InvalidArgument(name, mechanism, "must be the mechanism of the reports")


def _check_source(data: Reports | Counts | BitCounts) -> None:
    """Check `mechanism` and `n_missing`."""
    check_mechanism("mechanism", data.mechanism)
    object.__setattr__(data, "n_missing", positive_integer("n_missing", data.n_missing, 0))


def _checked_ids(ids: object, n: int) -> npt.NDArray[np.object_]:
    """Identifiers of n respondents, each once."""
    column = as_series("ids", ids)
    if len(column) != n:
        raise InvalidArgument("ids", f"{len(column)} ids", f"must be {n}, one a report")
    if missing_entries("ids", column).any():
        raise InvalidArgument("ids", "missing", "every respondent needs an identifier")
    if column.duplicated().any():
        twice = column[column.duplicated()].iloc[0]
        raise InvalidArgument("ids", twice, "appears more than once: keep one report each")
    return column.to_numpy(dtype=object)


def _chosen(rows: object, n: int) -> Any:
    """A mask of n respondents, positions among them, or a slice."""
    if isinstance(rows, slice):
        check_slice("rows", rows, n)
        return rows
    remedy = f"must be a mask of {n} respondents (True or False each), positions, or a slice"
    if isinstance(rows, int | np.integer | str):
        raise InvalidArgument("rows", rows, remedy)
    found = as_array("rows", rows, remedy)
    found = found.astype(np.int64) if found.shape == (0,) else found
    mask = found.dtype == bool
    if found.ndim != 1 or not (found.size == n if mask else whole_below(found, n)):
        raise InvalidArgument("rows", rows, remedy)
    return found


def _array(name: str, values: object) -> Array:
    """Return lists or an array as an array, entries unchanged."""
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidArgument(name, values, "must not be masked: leave masked entries out")
    array = as_array(name, values, "must be an array: are rows of one length?")
    # a list without entries has no type
    return array.astype(np.int64) if array.shape == (0,) and isinstance(values, list) else array


def _check_reports(data: Reports | Counts) -> None:
    """Check `y` and `cohort`; lists become arrays, and integers the type that holds them."""
    _check_source(data)
    mechanism: Source = data.mechanism
    y = _array("y", data.y)
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
    if not mechanism.n_bits:
        kind = np.dtype(np.int64)
        if isinstance(data, Reports) and mechanism.n_outputs < 1 << 32:
            kind = np.min_scalar_type(mechanism.n_outputs)
        y = y.astype(kind, copy=False)
    object.__setattr__(data, "y", y)
    if not mechanism.n_cohorts:
        if data.cohort is not None:
            remedy = f"must be None: {mechanism} has no cohorts"
            raise InvalidArgument("cohort", data.cohort, remedy)
        return
    cohort = _array("cohort", data.cohort)
    if cohort.shape != y.shape[:1] or not whole_below(cohort, mechanism.n_cohorts):
        raise InvalidArgument(
            "cohort",
            data.cohort,
            f"must be a number from 0 to {mechanism.n_cohorts - 1} for each report",
        )
    object.__setattr__(data, "cohort", cohort.astype(np.int64, copy=False))


def _cell_numbers(y: Array, cohort: Array | None, n_outputs: int) -> Array:
    """One number for each label of each cohort, cohort by cohort."""
    return y if cohort is None else cohort * np.int64(n_outputs) + y  # cohorts are int64


def _bit_sums(
    y: Array, n: npt.NDArray[np.int64] | None, cohort: Array | None, mechanism: Source
) -> tuple[Array, Array]:
    """Sums of bits, shape (C, n_bits), and reports, (C,), of n packed reports each (None: one)."""
    C = max(mechanism.n_cohorts, 1)
    ones = mechanism.format.sum_bits(y, n, cohort, C)
    groups = np.zeros(len(y), dtype=np.int64) if cohort is None else cohort
    return ones, np.bincount(groups, weights=n, minlength=C).astype(np.int64)


def _counted(
    y: Array,
    n: npt.NDArray[np.int64] | None,
    cohort: Array | None,
    mechanism: Source,
    n_missing: int,
    noise: Array | None = None,
) -> Counts:
    """The counts of reports, n of each (None: one), equal ones merged."""
    y, n, more = mechanism.format.condense(y, n)
    if more is not None:
        noise = more if noise is None else noise + more
    y, total, cohort = _collapse(y, n, cohort, mechanism)
    return Counts(y, total, mechanism, n_missing, cohort, noise)


def _collapse(
    y: Array, n: npt.NDArray[np.int64] | None, cohort: Array | None, mechanism: Source
) -> tuple[Array, npt.NDArray[np.int64], Array | None]:
    """Merge equal reports, n of each (None: one), and drop those with count zero."""
    if y.ndim == 1:
        return _collapse_labels(y, n, cohort, mechanism.n_outputs, max(mechanism.n_cohorts, 1))
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


def _collapse_labels(
    y: Array, n: npt.NDArray[np.int64] | None, cohort: Array | None, n_outputs: int, n_cohorts: int
) -> tuple[Array, npt.NDArray[np.int64], Array | None]:
    numbers = _cell_numbers(y, cohort, n_outputs)
    if n_outputs * n_cohorts > _MOST_CELLS:  # too many to count in an array
        cells, group = np.unique(numbers, return_inverse=True)
        total = np.bincount(group, weights=n, minlength=cells.size)
        cells, total = cells[total > 0], total[total > 0]
    else:
        everything = np.bincount(numbers, weights=n, minlength=n_outputs * n_cohorts)
        cells = np.flatnonzero(everything)
        total = everything[cells]
    members = None if cohort is None else cells // n_outputs
    return cells % n_outputs if cohort is not None else cells, total.astype(np.int64), members
