"""What a collector holds: privatised reports, and the counts that replace them.

Counts add up, so that collection in chunks or on many machines is a sum, and they know the
mechanism that made them, so that counts of different mechanisms are never mixed by accident.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats import samplers
from ldpstats.checks import counts_vector, one_of
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable

__all__ = ["BitCounts", "Counts", "Reports"]

Array = npt.NDArray[Any]

_MOST_CELLS = 1 << 26  # labels of all cohorts that are counted in an array of 512 MB at most

_MIXED = "patterns and sums of bits do not add up: use bit_counts() of the patterns first"


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
        Output codes, int64 of shape (n,); or packed bits, uint8 of shape (n, ceil(n_bits / 8)),
        bit j in byte j // 8 at position j % 8.
    mechanism : Mechanism
        The mechanism that made the reports.
    n_missing : int
        Respondents who gave no answer and are not in `y`.
    cohort : array of int64, shape (n,), or None
        Cohort of each respondent, for mechanisms that have cohorts.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    >>> reports = krr.privatize(["a", "b", "a", "c"], np.random.default_rng(0))
    >>> len(reports), reports.tally().nobs
    (4, 4)
    """

    y: Array
    mechanism: Any
    n_missing: int = 0
    cohort: Array | None = None

    def __len__(self) -> int:
        return int(self.y.shape[0])

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
            For ``bits=True`` on reports that are not bits.
        """
        mechanism: Source = self.mechanism
        _check_reports(self.y, self.cohort, mechanism)
        if not bits:
            y, n, cohort = _collapse(self.y, None, self.cohort, mechanism)
            return Counts(y, n, self.mechanism, self.n_missing, cohort)
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
        Distinct reports, in the form of `Reports.y`.
    n : array of int64, shape (u,)
        How often each was seen.
    mechanism : Mechanism
        The mechanism that made the reports.
    n_missing : int
        Respondents who gave no answer; they are in no count.
    cohort : array of int64, shape (u,), or None
        Cohort of each distinct report, for mechanisms that have cohorts.

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

    def __post_init__(self) -> None:
        n = np.asarray(self.n)
        if n.dtype.kind not in "iu" or n.shape != self.y.shape[:1] or n.min(initial=0) < 0:
            raise InvalidArgument(
                "n", self.n, f"must be {self.y.shape[0]} non-negative integers, one a report in y"
            )
        _check_reports(self.y, self.cohort, self.mechanism)

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
            raise NotAvailable(
                f"reports of {mechanism} are bit patterns: use bit_counts() for their sums"
            )
        shape = (mechanism.n_cohorts, mechanism.n_outputs)[0 if mechanism.n_cohorts else 1 :]
        cells = _cell_numbers(self.y, self.cohort, mechanism.n_outputs)
        total = np.bincount(cells, weights=self.n, minlength=int(np.prod(shape)))
        return total.astype(np.int64).reshape(shape)

    def bit_counts(self) -> BitCounts:
        """The bit sums of these patterns; for mechanisms that report bits only."""
        if not self.mechanism.n_bits:
            raise NotAvailable(f"{self.mechanism} does not report bits: use vector()")
        ones, reports = _bit_sums(self.y, self.n, self.cohort, self.mechanism)
        return BitCounts(ones, reports, self.mechanism, self.n_missing)

    def __add__(self, other: Counts) -> Counts:
        if isinstance(other, BitCounts) and self.n.size:
            raise NotAvailable(_MIXED)
        if not isinstance(other, Counts):
            return NotImplemented
        _same_mechanism(self.mechanism, other.mechanism)
        y = np.concatenate([self.y, other.y])
        n = np.concatenate([self.n, other.n])
        cohort = None
        if self.cohort is not None and other.cohort is not None:
            cohort = np.concatenate([self.cohort, other.cohort])
        y, n, cohort = _collapse(y, n, cohort, self.mechanism)
        return Counts(y, n, self.mechanism, self.n_missing + other.n_missing, cohort)

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
            Column of output labels; bit reports are strings such as "0110", category order. Where
            the mechanism has cohorts, and no column of them is named, reports are "cohort:report".
        count : str, optional
            Column of whole counts.
        missing : {"raise", "count"}
            Refuse rows without a report, or leave them out and add their number, by the column
            `count` if given, to `n_missing`.
        cohort : str, optional
            Column of cohorts, whole numbers from 0.

        Raises
        ------
        InvalidArgument
            For no table, a column that does not exist, missing or unknown reports, or counts that
            are negative or fractional.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> frame = pd.DataFrame({"report": ["no", "yes"], "count": [60, 40]})
        >>> ldp.Counts.from_frame(frame, ldp.Warner(1.0), count="count").nobs
        100
        """
        one_of("missing", missing, ("raise", "count"))
        if not isinstance(frame, pd.DataFrame):
            raise InvalidArgument("frame", frame, "must be a pandas DataFrame, one row per report")
        for name, column in (("report", report), ("count", count), ("cohort", cohort)):
            if column is not None and column not in frame.columns:
                raise InvalidArgument(
                    name, column, f"no such column; the table has {frame.columns.tolist()}"
                )
        if count is None:
            n = np.ones(len(frame), dtype=np.int64)
        else:
            n = counts_vector(f"column {count!r}", frame[count].to_numpy(), (len(frame),))
        name, reports, n_missing = f"column {report!r}", frame[report], 0
        groups = None if cohort is None else frame[cohort]
        absent = reports.isna().to_numpy()
        if missing == "count" and absent.any():
            # rows are numbered anew in errors, and the name says so
            name, reports = f"{name}.dropna()", reports[~absent]
            n, n_missing = n[~absent], int(n[absent].sum())
            groups = None if groups is None else groups[~absent]
        found = mechanism.parse(name, reports, groups)
        y, n, members = _collapse(found.y, n, found.cohort, mechanism)
        return cls(y, n, mechanism, n_missing, members)


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

    def __post_init__(self) -> None:
        ones, reports = np.asarray(self.ones), np.asarray(self.reports)
        C, bits = max(self.mechanism.n_cohorts, 1), self.mechanism.n_bits
        if reports.shape != (C,) or ones.shape != (C, bits) or min(ones.min(), reports.min()) < 0:
            raise InvalidArgument(
                "ones",
                f"array of shape {ones.shape} with reports of shape {reports.shape}",
                f"must be non-negative, of shape ({C}, {bits}) and ({C},)",
            )
        if np.any(self.ones > self.reports[:, None]):
            c, j = (int(i) for i in np.argwhere(self.ones > self.reports[:, None])[0])
            raise InvalidArgument(
                f"ones[{c}, {j}]",
                int(self.ones[c, j]),
                f"exceeds the number of reports, {int(self.reports[c])}",
            )

    @property
    def nobs(self) -> int:
        """Number of reports."""
        return int(self.reports.sum())

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
        return BitCounts(
            self.ones + other.ones,
            self.reports + other.reports,
            self.mechanism,
            self.n_missing + other.n_missing,
        )

    __radd__ = __add__


def _check_reports(y: Array, cohort: Array | None, mechanism: Source) -> None:
    """Refuse codes out of range, packed reports of another width, and cohorts that do not fit."""
    if mechanism.n_bits:
        good = y.dtype == np.uint8 and y.shape[1:] == (-(-mechanism.n_bits // 8),)
        what = f"packed reports of {mechanism.n_bits} bits, uint8 of shape (u, bytes)"
        if good and y.size and (spare := mechanism.n_bits % 8) and (y[:, -1] >> spare).any():
            raise InvalidArgument(
                "y", y, f"has bits beyond the {mechanism.n_bits} of a report: padding must be zero"
            )
    else:
        good = y.ndim == 1 and _whole_below(y, mechanism.n_outputs)
        what = f"output codes 0 to {mechanism.n_outputs - 1}, integers of shape (u,)"
    if not good:
        raise InvalidArgument("y", y, f"must be {what}")
    if not mechanism.n_cohorts:
        if cohort is not None:
            raise InvalidArgument("cohort", cohort, f"must be None: {mechanism} has no cohorts")
        return
    if (
        cohort is None
        or cohort.shape != y.shape[:1]
        or not _whole_below(cohort, mechanism.n_cohorts)
    ):
        raise InvalidArgument(
            "cohort",
            cohort,
            f"must be a number from 0 to {mechanism.n_cohorts - 1} for each report",
        )


def _whole_below(codes: Array, bound: int) -> bool:
    if codes.dtype.kind not in "iu":
        return False
    return not codes.size or bool(codes.min() >= 0 and codes.max() < bound)


def _cell_numbers(y: Array, cohort: Array | None, n_outputs: int) -> Array:
    """One number for each label of each cohort, cohort by cohort."""
    return y if cohort is None else cohort * np.int64(n_outputs) + y


def _bit_sums(
    y: Array, n: npt.NDArray[np.int64] | None, cohort: Array | None, mechanism: Source
) -> tuple[Array, Array]:
    """Sums of bits, shape (C, n_bits), and reports, (C,), of n packed reports each (None: one)."""
    C, bits = max(mechanism.n_cohorts, 1), mechanism.n_bits
    groups = np.zeros(len(y), dtype=np.int64) if cohort is None else cohort
    weights = np.ones(len(y), dtype=np.int64) if n is None else n
    order = np.argsort(groups, kind="stable") if C > 1 else slice(None)
    y, weights = y[order], weights[order]
    ends = np.cumsum(np.bincount(groups, minlength=C))
    ones = np.empty((C, bits), dtype=np.int64)
    for c, (stop, start) in enumerate(zip(ends, [0, *ends[:-1]], strict=True)):
        part, times = y[start:stop], weights[start:stop]
        many = np.flatnonzero(times != 1)  # none where reports are wide
        once = np.delete(part, many, axis=0) if many.size else part
        ones[c] = samplers.column_sums(once, bits)
        if many.size:
            ones[c] += times[many] @ samplers.unpack(part[many], bits)
    return ones, np.bincount(groups, weights=n, minlength=C).astype(np.int64)


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
        return y[seen], n[seen], None if cohort is None else cohort[seen]
    words = np.zeros((y.shape[0], 8), dtype=np.uint8)
    words[:, : y.shape[1]] = y
    keys: Array = words.view(np.uint64)[:, 0]
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
    if n_outputs * n_cohorts > _MOST_CELLS:  # too many to count in an array
        cells, group = np.unique(_cell_numbers(y, cohort, n_outputs), return_inverse=True)
        total = np.bincount(group, weights=n, minlength=cells.size)
        cells, total = cells[total > 0], total[total > 0]
    else:
        numbers = _cell_numbers(y, cohort, n_outputs)
        everything = np.bincount(numbers, weights=n, minlength=n_outputs * n_cohorts)
        cells = np.flatnonzero(everything)
        total = everything[cells]
    members = None if cohort is None else cells // n_outputs
    return cells % n_outputs if cohort is not None else cells, total.astype(np.int64), members
