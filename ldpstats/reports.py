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

_MIXED = "patterns and sums of bits do not add up: use bit_counts() of the patterns first"


class Source(Protocol):
    """What counts need to know of the mechanism that made them."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def n_bits(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    def parse(self, name: str, labels: object) -> Array: ...
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
        _check_reports(self.y, mechanism)
        if not bits:
            y, n = _collapse(self.y, None, mechanism.n_outputs)
            return Counts(y, n, self.mechanism, self.n_missing)
        if not mechanism.n_bits:
            raise NotAvailable(f"{mechanism} does not report bits: call tally() without bits=True")
        ones = samplers.column_sums(self.y, mechanism.n_bits)[None, :]
        return BitCounts(ones, np.array([len(self)]), self.mechanism, self.n_missing)


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

    def __post_init__(self) -> None:
        n = np.asarray(self.n)
        if n.dtype.kind not in "iu" or n.shape != self.y.shape[:1] or n.min(initial=0) < 0:
            raise InvalidArgument(
                "n", self.n, f"must be {self.y.shape[0]} non-negative integers, one a report in y"
            )
        _check_reports(self.y, self.mechanism)

    @property
    def nobs(self) -> int:
        """Number of reports."""
        return int(self.n.sum())

    def vector(self) -> npt.NDArray[np.int64]:
        """Counts of all outputs in output order, shape (l,); for enumerable mechanisms only."""
        if self.mechanism.n_bits:
            raise NotAvailable(
                f"reports of {self.mechanism} are bit patterns: use bit_counts() for their sums"
            )
        return np.bincount(self.y, weights=self.n, minlength=self.mechanism.n_outputs).astype(
            np.int64
        )

    def bit_counts(self) -> BitCounts:
        """The bit sums of these patterns; for mechanisms that report bits only."""
        if not self.mechanism.n_bits:
            raise NotAvailable(f"{self.mechanism} does not report bits: use vector()")
        many = np.flatnonzero(self.n != 1)  # none where reports are wide
        once = np.delete(self.y, many, axis=0) if many.size else self.y
        ones = samplers.column_sums(once, self.mechanism.n_bits)
        ones = ones + self.n[many] @ samplers.unpack(self.y[many], self.mechanism.n_bits)
        return BitCounts(ones[None, :], np.array([self.nobs]), self.mechanism, self.n_missing)

    def __add__(self, other: Counts) -> Counts:
        if isinstance(other, BitCounts) and self.n.size:
            raise NotAvailable(_MIXED)
        if not isinstance(other, Counts):
            return NotImplemented
        _same_mechanism(self.mechanism, other.mechanism)
        y = np.concatenate([self.y, other.y])
        n = np.concatenate([self.n, other.n])
        y, n = _collapse(y, n, self.mechanism.n_outputs)
        return Counts(y, n, self.mechanism, self.n_missing + other.n_missing)

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
    ) -> Counts:
        """Read counts from a table with a column of reports and, optionally, one of counts.

        Parameters
        ----------
        frame : DataFrame
            One row per report, or per distinct report when `count` is given.
        mechanism : Mechanism
            The mechanism that made the reports.
        report : str
            Column of output labels; bit reports are strings such as "0110", category order.
        count : str, optional
            Column of whole counts.
        missing : {"raise", "count"}
            Refuse rows without a report, or leave them out and add their number, by the column
            `count` if given, to `n_missing`.

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
        for name, column in (("report", report), ("count", count)):
            if column is not None and column not in frame.columns:
                raise InvalidArgument(
                    name, column, f"no such column; the table has {frame.columns.tolist()}"
                )
        if count is None:
            n = np.ones(len(frame), dtype=np.int64)
        else:
            n = counts_vector(f"column {count!r}", frame[count].to_numpy(), (len(frame),))
        name, reports, n_missing = f"column {report!r}", frame[report], 0
        absent = reports.isna().to_numpy()
        if missing == "count" and absent.any():
            # rows are numbered anew in errors, and the name says so
            name, reports = f"{name}.dropna()", reports[~absent]
            n, n_missing = n[~absent], int(n[absent].sum())
        y = mechanism.parse(name, reports)
        return cls(*_collapse(y, n, mechanism.n_outputs), mechanism, n_missing)


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
        if (
            ones.shape != (reports.size, self.mechanism.n_bits)
            or min(ones.min(), reports.min()) < 0
        ):
            raise InvalidArgument(
                "ones",
                f"array of shape {ones.shape}",
                f"must be non-negative, of shape ({reports.size}, {self.mechanism.n_bits})",
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


def _check_reports(y: Array, mechanism: Source) -> None:
    """Refuse codes out of range, and packed reports of another width."""
    if mechanism.n_bits:
        good = y.dtype == np.uint8 and y.shape[1:] == (-(-mechanism.n_bits // 8),)
        what = f"packed reports of {mechanism.n_bits} bits, uint8 of shape (u, bytes)"
    else:
        whole = y.ndim == 1 and y.dtype.kind in "iu"
        good = whole and (not y.size or (y.min() >= 0 and y.max() < mechanism.n_outputs))
        what = f"output codes 0 to {mechanism.n_outputs - 1}, integers of shape (u,)"
    if not good:
        raise InvalidArgument("y", y, f"must be {what}")


def _collapse(
    y: Array, n: npt.NDArray[np.int64] | None, n_outputs: int
) -> tuple[Array, npt.NDArray[np.int64]]:
    """Merge equal reports, n of each (None: one), and drop those with count zero."""
    if y.ndim == 1:
        total = np.bincount(y, weights=n, minlength=n_outputs) if y.size else np.zeros(0)
        seen = np.flatnonzero(total)
        return seen, total[seen].astype(np.int64)
    if y.shape[1] > 8:
        return (y, np.ones(len(y), dtype=np.int64)) if n is None else (y[n > 0], n[n > 0])
    words = np.zeros((y.shape[0], 8), dtype=np.uint8)
    words[:, : y.shape[1]] = y
    keys, first, group = np.unique(
        words.view(np.uint64)[:, 0], return_index=True, return_inverse=True
    )
    total = np.bincount(group, weights=n, minlength=keys.size)
    return y[first[total > 0]], total[total > 0].astype(np.int64)
