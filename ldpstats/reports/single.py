"""What a collector holds: privatised reports, and the counts that replace them.

Counts add up, so that collection in chunks or on many machines is a sum, and they know the
mechanism that made them, so that counts of different mechanisms are never mixed by accident.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NoReturn, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, positive_integer, reports_in_all, whole_below
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.reports.checks import (
    checked_codes,
    checked_cohort,
    checked_ids,
    chosen_rows,
    plain_array,
)
from ldpstats.reports.display import held
from ldpstats.reports.frames import counted_columns
from ldpstats.reports.merging import bit_sums, cell_numbers, merged
from ldpstats.reports.source import Source, check_mechanism, check_same

__all__ = ["BitCounts", "Counts", "Reports", "cell_counts", "tallied"]

Array = npt.NDArray[Any]

_MOST_REPORTS = 1 << 53  # sums of weights are exact below

_MIXED = "patterns cannot be added to sums of bits: use bit_counts() of the patterns first"
_NO_LABELS = "reports of {} are bit patterns: use bit_counts() for their sums"
_UNCOUNTED = "reports cannot be added, but their counts can: use reports.tally() first"


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
        chosen = chosen_rows(rows, len(self))
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
        ones, reports = bit_sums(self.y, None, self.cohort, mechanism)
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
        _check(self, smallest=False)
        n = plain_array("n", self.n)
        if n.shape != self.y.shape[:1] or not whole_below(n, _MOST_REPORTS):
            raise InvalidArgument(
                "n",
                self.n,
                f"must be {len(self.y)} non-negative integers below 2**53, one a report in y",
            )
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
        cells = cell_numbers(self.y, self.cohort, mechanism.n_outputs)
        total = np.bincount(cells, weights=self.n, minlength=int(np.prod(shape)))
        return total.astype(np.int64).reshape(shape)

    def bit_counts(self) -> BitCounts:
        """The bit sums of these patterns; for mechanisms that report bits only."""
        if not self.mechanism.n_bits:
            raise NotAvailable(f"{self.mechanism} does not report bits: use vector()")
        ones, reports = bit_sums(self.y, self.n, self.cohort, self.mechanism)
        if self.noise is not None:
            ones = ones + self.noise
        return BitCounts(ones, reports, self.mechanism, self.n_missing)

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
        >>> ldp.Counts.from_frame(frame, ldp.Warner(epsilon=1.0), count="count").nobs
        100
        """
        columns = report, count, cohort
        y, n, groups, n_missing = counted_columns(frame, mechanism, *columns, missing)
        return _counted(y, n, groups, mechanism, n_missing)


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
            sums = plain_array(name, getattr(self, name))
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
            check_same(self.mechanism, other.mechanism, "FrequencyModel")
            return replace(self, n_missing=self.n_missing + other.n_missing)
        if isinstance(other, Counts):
            raise NotAvailable(_MIXED)
        if not isinstance(other, BitCounts):
            return NotImplemented
        check_same(self.mechanism, other.mechanism, "FrequencyModel")
        reports_in_all("counts", np.append(self.reports, other.reports))
        return BitCounts(
            self.ones + other.ones,
            self.reports + other.reports,
            self.mechanism,
            self.n_missing + other.n_missing,
        )

    __radd__ = __add__


def _check_source(data: Reports | Counts | BitCounts) -> None:
    """Check `mechanism` and `n_missing`."""
    check_mechanism("mechanism", data.mechanism)
    object.__setattr__(data, "n_missing", positive_integer("n_missing", data.n_missing, 0))


def _check(data: Reports | Counts, smallest: bool) -> None:
    """Check `y` and `cohort`; lists become arrays, codes int64 or the `smallest` integers."""
    _check_source(data)
    mechanism: Source = data.mechanism
    small = smallest and not mechanism.n_bits and mechanism.n_outputs < 1 << 32
    kind = np.min_scalar_type(mechanism.n_outputs) if small else np.dtype(np.int64)
    y = checked_codes(data.y, mechanism, kind)
    object.__setattr__(data, "y", y)
    object.__setattr__(data, "cohort", checked_cohort(data.cohort, len(y), mechanism))


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
    y, total, cohort = merged(y, n, cohort, mechanism)
    return Counts(y, total, mechanism, n_missing, cohort, noise)
