"""Reports on several variables by the same respondents, and how often each combination was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from math import prod
from operator import attrgetter, is_
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    Array,
    counts_vector,
    listed,
    positive_integer,
    record,
    reports_in_all,
)
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.reports.single import (
    Counts,
    Reports,
    alike,
    by_ids,
    by_rows,
    check_ids,
    check_mechanism,
    check_same,
    checked_parts,
    cohort_groups,
    held,
    numbered_reports,
    possible_reports,
    report_numbers,
)

_MOST_CELLS = 1 << 26  # combinations that are counted in an array of 512 MB at most
ALWAYS_MERGED = 1 << 14  # up to so many combinations, equal ones are merged however few there are
_DENSE = 4  # combinations of reports, per respondent, up to which equal ones are merged


@record
class JointCounts:
    """How often each combination of reports was seen; row i of every variable is one combination.

    Parameters
    ----------
    reports : sequence of Reports
        One element per variable, two or more, with u reports each: report i of all of them came
        from the same respondents.
    n : array of int64, shape (u,), optional
        How often each combination was seen; once by default, as when u counts respondents.
    ids : sequence of array-like, optional
        Identifiers of the respondents, one sequence per variable, to check that reports i of all
        variables are of the same person. They are compared and not kept.

    Attributes
    ----------
    n_missing : int
        Respondents who were left out because a report was missing.
    lacking : tuple of int
        How many respondents lacked a report on each variable; empty where that is not known.

    Raises
    ------
    InvalidArgument
        If there are fewer than two variables, numbers of reports differ, identifiers differ or
        repeat, a variable lacks answers (`n_missing`) and no `ids` show that reports still match,
        or there are 2**53 respondents or more.

    Notes
    -----
    Where all reports have identifiers of their own (`Reports.ids`), respondents are matched by
    them, and those without a report on every variable are left out and counted. Respondents of
    whom no identifier is known are counted where a variable's `n_missing` shows them.

    Counts of chunks add up. Combinations are merged by `tally` where there are few: a pair of k-RR
    reports becomes an l1 x l2 table; wide bit patterns hardly ever repeat and stay as they are.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr, rng = ldp.KRR(("a", "b"), epsilon=1.0), np.random.default_rng(0)
    >>> x, y = (krr.privatize(["a", "b"] * 50, rng) for _ in range(2))
    >>> joint = JointCounts((x, y)).tally()
    >>> joint.nobs, len(joint.n)
    (100, 4)
    >>> (joint + joint).nobs
    200

    The second respondent did not answer the second question:

    >>> x = Reports(np.array([0, 1, 1]), krr, ids=["ann", "bob", "eve"])
    >>> y = Reports(np.array([1, 0]), krr, n_missing=1, ids=["eve", "ann"])
    >>> joint = JointCounts((x, y))
    >>> joint.nobs, joint.n_missing, joint.lacking
    (2, 1, (0, 1))
    """

    reports: tuple[Reports, ...]
    n: npt.NDArray[np.int64]
    lacking: tuple[int, ...]

    def __init__(
        self,
        reports: Sequence[Reports],
        n: npt.ArrayLike | None = None,
        ids: Sequence[Any] | None = None,
    ) -> None:
        parts, lacking = checked_parts(reports), tuple[int, ...]()
        own = sum(part.ids is not None for part in parts)
        if ids is not None and own:
            remedy = "the reports have identifiers of their own: leave ids= out"
            raise InvalidArgument("ids", "given", remedy)
        if own == len(parts) and n is None:
            parts, lacking = by_ids(parts)
        parts = alike(parts)
        u = len(parts[0])
        counts = np.ones(u, dtype=np.int64) if n is None else counts_vector("n", n, (u,))
        if ids is not None:
            check_ids(ids, len(parts), u)
        elif any(missing := list(map(attrgetter("n_missing"), parts))) and not lacking:
            raise InvalidArgument(
                "reports",
                f"n_missing {missing}",
                "answers were left out of a variable, so that reports no longer match: give the "
                "reports identifiers, Reports(..., ids=), say which rows have one, "
                "JointCounts.of_rows, or pass ids= to show that they match",
            )
        reports_in_all("n", counts)
        object.__setattr__(self, "reports", parts)
        object.__setattr__(self, "n", counts)
        object.__setattr__(self, "lacking", lacking)

    def __repr__(self) -> str:
        return f"JointCounts({', '.join(map(str, self.mechanisms))}; n={self.nobs})"

    def _repr_html_(self) -> str:
        """What is held, in a notebook."""
        missing, names = zip(*((part.n_missing, part.name) for part in self.reports), strict=True)
        return held("Joint counts", self.mechanisms, self.nobs, missing, names)

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        return int(self.n.sum())

    @property
    def n_missing(self) -> int:
        """Respondents who were left out because a report was missing."""
        return int(max(map(attrgetter("n_missing"), self.reports)))

    @property
    def mechanisms(self) -> tuple[Any, ...]:
        """The mechanism of each variable."""
        return tuple(map(attrgetter("mechanism"), self.reports))

    @property
    def possible(self) -> tuple[int, ...]:
        """Number of different reports of each variable, cohorts included."""
        return tuple(map(possible_reports, self.mechanisms))

    @property
    def merges(self) -> bool:
        """Whether `tally` merges equal combinations: few are possible."""
        most = max(ALWAYS_MERGED, min(_DENSE * self.nobs, _MOST_CELLS))
        return prod(map(float, self.possible)) <= most

    @classmethod
    def from_table(cls, table: Any, mechanisms: Sequence[Any]) -> JointCounts:
        """Counts from a table of label reports.

        Parameters
        ----------
        table : array-like of int, shape (l1, l2, ...)
            How often each combination of reports was seen, one axis a variable, in the order of the
            mechanisms' outputs. A DataFrame of two variables is matched by its labels.
        mechanisms : sequence of Mechanism
            Mechanisms whose reports are labels (k-RR, binary designs, custom matrices).

        Raises
        ------
        InvalidArgument
            If `table` has another shape or holds entries that are not counts.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
        >>> JointCounts.from_table([[40, 10], [20, 30]], (krr, krr)).nobs
        100
        """
        mechanisms = listed("mechanisms", mechanisms, "must be a list of mechanisms")
        for v, mechanism in enumerate(mechanisms):
            check_mechanism(f"mechanisms[{v}]", mechanism)
            if mechanism.n_bits or mechanism.n_cohorts:
                raise NotAvailable(
                    f"{mechanism} does not report plain labels: pass the reports of respondents, "
                    "JointCounts([x, y])"
                )
        shape = tuple(mechanism.n_outputs for mechanism in mechanisms)
        if isinstance(table, pd.DataFrame) and len(shape) == 2:
            for axis, mechanism in zip((table.index, table.columns), mechanisms, strict=True):
                unknown = axis.difference(mechanism.outputs)
                if len(unknown) or not axis.is_unique:
                    raise InvalidArgument(
                        "table",
                        unknown.tolist() or axis[axis.duplicated()].tolist(),
                        f"labels must be reports of {mechanism}, each once",
                    )
            rows, columns = (mechanism.outputs for mechanism in mechanisms)
            table = np.asarray(table.reindex(index=rows, columns=columns).fillna(0))
        counts = counts_vector("table", table, shape)
        seen = np.nonzero(counts)
        parts = [Reports(y, m) for y, m in zip(seen, mechanisms, strict=True)]
        return cls(parts, counts[seen])

    @classmethod
    def of_rows(
        cls, rows: Sequence[tuple[Reports, Any]], n: npt.ArrayLike | None = None
    ) -> JointCounts:
        """Counts of the rows of a table that have a report on every variable.

        Parameters
        ----------
        rows : sequence of pairs (Reports, mask)
            One pair per variable. The mask, bool of shape (N,), says which of the N rows have a
            report; None stands for all. The reports are of these rows, in order, or of all N rows,
            of which those outside the mask are left out.
        n : array of int64, shape (N,), optional
            How many respondents each row stands for; one by default.

        Returns
        -------
        JointCounts
            `n_missing` is the number of respondents in the other rows.

        Raises
        ------
        InvalidArgument
            If masks are not of the same rows, or do not fit the reports.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
        >>> x = Reports(np.array([0, 1, 1]), krr)
        >>> y = Reports(np.array([1, 0]), krr)
        >>> joint = JointCounts.of_rows([(x, None), (y, [True, False, True])])
        >>> joint.nobs, joint.n_missing, joint.lacking
        (2, 1, (0, 1))
        """
        (parts, lacking), times = by_rows(rows, None if n is None else np.asarray(n))
        made = cls([replace(part, n_missing=0) for part in parts], times)
        return _raw(parts, made.n, lacking)

    def tally(self) -> JointCounts:
        """Merge equal combinations where few are possible, and drop those with count zero."""
        if not self.merges:
            keep = self.n > 0
            return self if keep.all() else self._take(keep, self.n[keep])
        sizes = self.possible
        cells = np.zeros(len(self.n), dtype=np.int64)
        for part, size in zip(self.reports, sizes, strict=True):
            cells = cells * size + report_numbers(part)
        total = np.bincount(cells, weights=None if (self.n == 1).all() else self.n)
        seen = np.flatnonzero(total)
        parts, rest = [], seen
        for part, size in zip(self.reports[::-1], sizes[::-1], strict=True):
            parts.append(numbered_reports(part, rest % size))
            rest = rest // size
        return _raw(tuple(parts[::-1]), total[seen].astype(np.int64), self.lacking)

    def __add__(self, other: JointCounts) -> JointCounts:
        if not isinstance(other, JointCounts):
            return NotImplemented
        if len(self.reports) != len(other.reports):
            shown = f"{len(other.reports)} variables"
            raise InvalidArgument("other", shown, f"must have {len(self.reports)}")
        for mine, theirs in zip(self.mechanisms, other.mechanisms, strict=True):
            check_same(mine, theirs, "AssociationModel")
        n = np.concatenate([self.n, other.n])
        reports_in_all("counts", n)
        parts = []
        for first, second in zip(self.reports, other.reports, strict=True):
            cohort = None
            if first.cohort is not None and second.cohort is not None:
                cohort = np.concatenate([first.cohort, second.cohort])
            missing = first.n_missing + second.n_missing
            y = np.concatenate([first.y, second.y])
            parts.append(Reports(y, first.mechanism, missing, cohort, first.name))
        # how many lacked each variable in both; empty where that is not known of one
        known = [part.lacking for part in (self, other) if part.n_missing]
        lacking = tuple(map(sum, zip(*known, strict=True))) if all(known) else ()
        return _raw(tuple(parts), n, lacking).tally()

    def __radd__(self, other: int) -> JointCounts:
        # sum() starts from zero
        return self if other == 0 else NotImplemented

    def variable(self, v: int) -> tuple[Counts, Array | None]:
        """The reports of one variable, and which of them each combination has.

        Returns
        -------
        counts : Counts
            Distinct reports where few are possible; else one report a combination, in order.
        index : array of intp, shape (u,), or None
            Position in `counts` of the report of each combination; None where they are in order.
        """
        if positive_integer("v", v, 0) >= len(self.reports):
            raise InvalidArgument("v", v, f"must be from 0 to {len(self.reports) - 1}")
        part = self.reports[v]
        size = possible_reports(part.mechanism)
        if size > max(len(self.n) // 2, 64) or size > _MOST_CELLS:
            return Counts(part.y, self.n, part.mechanism, part.n_missing, part.cohort), None
        code = report_numbers(part)
        total = np.bincount(code, weights=self.n, minlength=size).astype(np.int64)
        # keep only the reports that occur
        seen = np.flatnonzero(np.bincount(code, minlength=size))
        place = np.zeros(size, dtype=np.intp)
        place[seen] = np.arange(seen.size)
        y = numbered_reports(part, seen)
        return Counts(y.y, total[seen], y.mechanism, part.n_missing, y.cohort), place[code]

    @cached_property
    def shared_cohorts(self) -> bool:
        """Whether the cohort of one variable determines that of another in every respondent."""
        return any(len(group) > 1 for group in cohort_groups(self.reports, self.nobs))

    def strata(self) -> tuple[JointCounts, list[slice]]:
        """Groups in which reports of different variables are independent given the true values.

        One group, unless variables share cohorts: then one for each combination of cohorts.
        """
        groups = [group for group in cohort_groups(self.reports, self.nobs) if len(group) > 1]
        if not groups:
            return self, [slice(0, len(self.n))]
        shared: Any = [self.reports[v].cohort for group in groups for v in group]
        keys = np.column_stack(shared)
        labels = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        order, ends = np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels)).tolist()
        return self._take(order, self.n[order]), [slice(*pair) for pair in pairwise([0, *ends])]

    def by_cohort(self) -> list[JointCounts]:
        """The same respondents by the cohorts of devices that have some, each with its own device.

        How many respondents a cohort has says nothing of their answers. One element where no
        variable has such a device; respondents without a report are counted in the first. Where one
        cohort does not determine the answers the device stays, with the shares that cohorts have.

        Raises
        ------
        NotAvailable
            For two variables with such devices, whose cohorts are not told apart.
        """
        together = []
        for v, part in enumerate(self.reports):
            mechanism = part.mechanism
            if not mechanism.cohort_parts or mechanism.unknown:
                continue
            cohort = np.full(mechanism.n_outputs, -1)
            code = np.zeros(mechanism.n_outputs, dtype=np.int64)
            for c, own in enumerate(mechanism.cohort_parts):
                cohort[own.places], code[own.places] = c, np.arange(own.places.size)
            groups = cohort[part.y]
            if not self.nobs or (groups < 0).any():
                continue  # impossible reports are refused where equations are made
            if not mechanism.is_separable:
                together.append((v, np.bincount(groups, self.n, len(mechanism.cohort_parts))))
                continue
            found: list[JointCounts] = []
            for c, own in enumerate(mechanism.cohort_parts):
                rows = np.flatnonzero((groups == c) & (self.n > 0))
                if not rows.size:
                    continue
                some = self._take(rows, self.n[rows])
                reports = list(some.reports)
                y = code[part.y[rows]]
                reports[v] = Reports(y, own.mechanism, part.n_missing, name=part.name)
                if found:
                    reports = [replace(one, n_missing=0) for one in reports]
                found.append(_raw(tuple(reports), some.n, () if found else self.lacking))
            return [one for group in found for one in group.by_cohort()]
        if len(together) > 1:
            raise NotAvailable(
                "two variables with cohorts none of which determines the answers alone: how the "
                "cohorts of both go together is not modelled; use ORR or OLH for hashed answers"
            )
        reports = list(self.reports)
        for v, sizes in together:
            part = reports[v]
            reports[v] = replace(part, mechanism=part.mechanism.of_sizes(sizes))
        return [_raw(tuple(reports), self.n, self.lacking)] if together else [self]

    def with_reports(self, reports: Sequence[Reports]) -> JointCounts:
        """The same respondents with their reports in another form, such as lumped."""
        if all(map(is_, reports, self.reports)):
            return self
        return _raw(tuple(reports), self.n, self.lacking).tally()

    def simulated(
        self, p: Array, labels: Sequence[pd.Index[Any]], rng: np.random.Generator
    ) -> JointCounts:
        """Simulated reports of `nobs` respondents, true values drawn from p; same cohorts."""
        sizes = [len(values) for values in labels]
        if not any(m.n_bits or m.n_cohorts for m in self.mechanisms):
            law = np.reshape(p, sizes)
            for m in self.mechanisms:  # each takes the first axis and puts its own last
                law = np.tensordot(law, m.channel().matrix(), (0, 0))
            drawn = rng.multinomial(self.nobs, law.reshape(-1) / law.sum())
            return JointCounts.from_table(drawn.reshape(law.shape), self.mechanisms)
        cells = rng.choice(len(p), size=self.nobs, p=p / p.sum())
        parts = []
        places = np.unravel_index(cells, sizes)
        for part, values, codes in zip(self.reports, labels, places, strict=True):
            how = {} if part.cohort is None else {"cohort": np.repeat(part.cohort, self.n)}
            parts.append(part.mechanism.privatize(values.take(codes), rng, **how))
        return JointCounts(parts).tally()

    def _take(self, rows: Array, n: Array) -> JointCounts:
        parts = [
            replace(p, y=p.y[rows], cohort=None if p.cohort is None else p.cohort[rows])
            for p in self.reports
        ]
        return _raw(tuple(parts), n, self.lacking)

    def table(self) -> npt.NDArray[np.int64]:
        """Counts of all combinations of labels, one axis a variable, in output order."""
        if any(m.n_bits or m.n_cohorts for m in self.mechanisms):
            raise NotAvailable("reports are not all labels of one list: there is no table of them")
        shape = tuple(m.n_outputs for m in self.mechanisms)
        total = np.zeros(shape, dtype=np.int64)
        np.add.at(total, tuple(part.y for part in self.reports), self.n)
        return total


def _raw(parts: tuple[Reports, ...], n: Array, lacking: tuple[int, ...] = ()) -> JointCounts:
    """Counts of parts that are known to match."""
    made = object.__new__(JointCounts)
    object.__setattr__(made, "reports", parts)
    object.__setattr__(made, "n", n)
    object.__setattr__(made, "lacking", lacking)
    return made
