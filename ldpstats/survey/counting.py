"""Count reports where they are: one call for files, frames and tables of an engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ldpstats.arguments.checks import boolean, one_of
from ldpstats.engines.query import Query
from ldpstats.engines.watch import watched
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.io.counting import read_counts
from ldpstats.io.values import check_mechanism
from ldpstats.mechanisms import Mechanism
from ldpstats.models.shared.bar import maybe_bar, moved, progress_bar
from ldpstats.models.shared.spelling import count_of
from ldpstats.reports.fingerprints import fingerprint_column
from ldpstats.reports.packed import cohort_column
from ldpstats.reports.single import BitCounts, Counts, Reports
from ldpstats.survey.conditions import parse
from ldpstats.survey.files import Csv
from ldpstats.survey.held import Held
from ldpstats.survey.opening import held_on, rows_of
from ldpstats.survey.questionnaire import Questionnaire
from ldpstats.survey.selecting import columns_in
from ldpstats.survey.tables import Table
from ldpstats.survey.tallying import tally

__all__ = ["count", "watching"]


def count(
    source: Any,
    mechanism: Mechanism,
    column: str | None = None,
    *,
    count: str | None = None,
    cohort: str | None = None,
    bits: bool = False,
    missing: str = "count",
    where: str | None = None,
    na: Any = (),
    table: str | None = None,
    engine: str | None = None,
    on_error: str = "raise",
    progress: bool = False,
) -> Counts | BitCounts:
    """Count the reports of one mechanism in a table, wherever it is.

    Parameters
    ----------
    source : table, lazy table, or path
        As the data of a `Survey`: frames of pandas, Polars and Spark, Arrow tables, relations of
        DuckDB; names, lists and patterns of CSV and Parquet files, and DuckDB databases.
    mechanism : Mechanism
        The mechanism that made the reports.
    column : str, optional
        Column of reports; may be left out where the table has no other.
    count : str, optional
        Column of whole counts, where a row stands for several equal reports.
    cohort : str, optional
        Column of cohorts, whole numbers from 0. By default cohorts are before the reports, as in
        "3:0110", or in the column report_cohort for the column report.
    bits : bool
        Sum the bits instead of counting the patterns: this takes little memory and suffices for
        linear estimates, but does not give the likelihood.
    missing : {"count", "raise"}
        Count missing reports in `n_missing`, or refuse them.
    where : str, optional
        A condition on other columns, as for `Survey.where`.
    na : list, or mapping from column to list
        Codes that mean missing, as for `Survey`.
    table, engine, on_error
        As for `Survey`.
    progress : bool
        Whether a bar on standard error shows how far files and queries of DuckDB have come.

    Returns
    -------
    Counts or BitCounts
        How often each report was seen; with `bits` the sums of the bits in each cohort.

    Raises
    ------
    InvalidArgument
        If the table cannot be read, a column does not exist, a report is unknown (or missing, with
        ``missing="raise"``), or `count` holds anything but whole counts.
    MechanismMismatch
        If fingerprints in the table are of another mechanism.
    NotAvailable
        If `bits` is True and the mechanism does not report bits, or distinct reports take more
        memory than a query may return.

    Examples
    --------
    >>> import pandas as pd, ldpstats as ldp
    >>> frame = pd.DataFrame({"ill": ["no", "yes", "no", None], "age": [17, 40, 81, 50]})
    >>> count(frame, ldp.Warner(epsilon=1.0), "ill", where="age >= 18").vector()
    array([1, 1])
    """
    asked = _Asked(mechanism, column, count, cohort, boolean("bits", bits), where)
    one_of("missing", missing, ("count", "raise"))
    progress = boolean("progress", progress)
    rows = rows_of(source, "source", na, table, engine, on_error)
    if isinstance(rows, Csv) and where is None:
        found = asked.in_csv(rows, missing, progress)
    else:
        with watching(rows if progress and isinstance(rows, Query) else None):
            found = asked.counted(asked.held(rows))
    if missing == "raise" and found.n_missing:
        place = rows.first(asked.named(rows.columns), None) if isinstance(rows, Query) else None
        verb = "is" if found.n_missing == 1 else "are"
        remedy = f"{count_of(found.n_missing, 'report')} {verb} missing"
        remedy += f", the first in {place}" if place else ""
        remedy += ": leave them out, or count them with missing='count' (--missing count)"
        raise InvalidArgument("missing", missing, remedy)
    return found


@dataclass(frozen=True)
class _Asked:
    """What is counted, of whatever table."""

    mechanism: Mechanism
    column: str | None
    count: str | None
    cohort: str | None
    bits: bool
    where: str | None

    def __post_init__(self) -> None:
        check_mechanism(self.mechanism)
        if self.bits and not self.mechanism.n_bits:
            raise NotAvailable(f"{self.mechanism} does not report bits: count without bits=True")
        named = self.mechanism.cohort_names
        if self.cohort is not None and not (self.mechanism.n_cohorts or named):
            remedy = f"must be left out: {self.mechanism} has no cohorts"
            raise InvalidArgument("cohort", self.cohort, remedy)
        given = {"column": self.column, "count": self.count, "cohort": self.cohort}
        known: dict[str, str] = {}
        for argument, name in given.items():
            if name is None:
                continue
            if not isinstance(name, str):
                raise InvalidArgument(argument, name, "must be text, the name of a column")
            if name in known:
                raise InvalidArgument(argument, name, f"is the column that {known[name]}= names")
            known[name] = argument

    def named(self, columns: Sequence[str]) -> str:
        """The column of reports, which is the only one if it was not named."""
        shown = ", ".join(map(repr, columns[:20])) + ", ..." * (len(columns) > 20)
        if self.column is not None:
            if self.column in columns:
                return self.column
            remedy = f"no such column; the table has {shown}"
            raise InvalidArgument("column", self.column, remedy)
        others = [name for name in columns if name not in (self.count, self.cohort)]
        beside = {made(name) for name in others for made in (fingerprint_column, cohort_column)}
        free = [name for name in others if name not in beside]
        if len(free) == 1:
            return free[0]
        raise InvalidArgument("column", None, f"name the column of reports; the table has {shown}")

    def in_csv(self, rows: Csv, missing: str, progress: bool) -> Counts | BitCounts:
        """Count the reports of CSV files chunk by chunk."""
        na = rows.na.on(self.named(rows.columns))
        how: dict[str, Any] = {"cohort": self.cohort, "missing": missing, "na": na}
        given = self.mechanism, self.named(rows.columns), self.count
        total: Any = 0
        with maybe_bar("counting", progress) as bar:
            for i, file in enumerate(rows.frame):
                advance = moved(bar, i, len(rows.frame))
                part = read_counts(file, *given, bits=self.bits, advance=advance, **how)
                total = total + part
        found: Counts | BitCounts = total
        return found

    def held(self, rows: Query | Table) -> Held:
        """The rows that are counted."""
        column = self.named(rows.columns)
        cohorts = {} if self.cohort is None else {column: self.cohort}
        held = held_on(rows, Questionnaire({column: self.mechanism}), cohorts, whole=False)
        held.columns_of([name for name in (self.count,) if name is not None])
        if self.where is None:
            return held
        tree = parse(self.where)
        held.prepare(columns_in(tree))
        return held.where(tree)

    def counted(self, held: Held) -> Counts | BitCounts:
        """The counts of these rows."""
        (column,) = held.questionnaire.questions
        found = tally(held, column, self.bits, self.count)
        if isinstance(found, Reports):
            return found.tally(bits=self.bits)
        return found.bit_counts() if self.bits else found


@contextmanager
def watching(rows: Query | Held | None) -> Iterator[None]:
    """Show how far the queries of these rows have come that run meanwhile; nothing for None."""
    if rows is None:
        yield
        return
    n = len(rows) if rows.ordered else 0  # others would be read once more for this
    with progress_bar("counting") as bar, watched(lambda f: bar(f, rows=round(f * n))):
        yield
