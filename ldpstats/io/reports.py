"""Files of reports: written, made from files of true answers, and read column by column."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, one_of
from ldpstats.errors import HIDDEN, InvalidArgument, MechanismMismatch, shorten
from ldpstats.io.specifications import specification_text
from ldpstats.io.storage import (
    FilePath,
    checked_path,
    privatized,
    reading,
    refusal,
    without_answers,
)
from ldpstats.io.tables import (
    CHUNK_ROWS,
    Advance,
    answers_in,
    cell_type,
    check_mechanism,
    check_spreadsheet_safe,
    coded,
    column_metadata,
    columns_of,
    file_format,
    filled,
    found_in,
    guarded,
    label_of,
    missing_texts,
    names,
    objects,
    parsed,
    present,
    refuse_guarded,
    refuse_missing,
    reports_in,
    table_chunks,
    unguarded,
    write_table,
)
from ldpstats.labels import midpoints, preview
from ldpstats.mechanisms import Client, Collector, Mechanism, RAPPORClient
from ldpstats.mechanisms.custom import Enumerated
from ldpstats.models.dictionary.survey import DictionarySurvey, starts_of
from ldpstats.reports.layout import (
    check_coded,
    check_fingerprints,
    cohort_beside,
    cohort_column,
    cohort_index,
    cohort_labels,
    fingerprint_column,
    holds_bytes,
    is_fingerprint,
)
from ldpstats.reports.single import Reports


def write_reports(
    reports: Reports | Iterable[Reports],
    path: FilePath,
    *,
    force: bool = False,
    spreadsheet_safe: bool = False,
) -> None:
    """Write reports to a CSV or Parquet file, in the column `report`; see `reports.layout`.

    Parameters
    ----------
    reports : Reports or iterable of Reports
        Chunks of one mechanism's reports. A respondent who gave no answer becomes an empty report.
    path : path-like
        A Parquet file holds bits as bytes, and cohorts in the column `report_cohort`. The
        mechanism's fingerprint goes with the reports: a CSV file has it in every row, missing
        answers included, in the column `report_fingerprint`; a Parquet file stores it once. Keep
        the specification beside the file (`write_mechanism`): without it the reports cannot be
        analysed.
    force : bool
        Whether an existing file may be overwritten.
    spreadsheet_safe : bool
        In CSV, put an apostrophe before cells that begin with =, +, - or @, which a spreadsheet
        would run as a formula. `read_counts` takes "'-5" for the label -5.

    Raises
    ------
    InvalidArgument
        If the file exists or cannot be written, there are no chunks, a chunk is not Reports, or
        `spreadsheet_safe` is True for Parquet or makes two labels equal.
    MechanismMismatch
        If the chunks are of several mechanisms.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from ldpstats.io import read_counts
    >>> warner = ldp.Warner(epsilon=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/reports.csv.gz"
    ...     write_reports(warner.privatize(["yes"] * 9, np.random.default_rng(0)), path)
    ...     read_counts(path, warner).nobs
    9
    """
    mechanism, chunks = chunks_of(reports, Reports, lambda chunk: chunk.mechanism)
    Layout(mechanism, ("report",)).write_chunks(path, chunks, force, spreadsheet_safe)


@without_answers
def privatize_file(
    source: FilePath,
    target: FilePath,
    column: str,
    client: Collector,
    *,
    name: str = "report",
    keep: Sequence[str] = (),
    missing: str = "raise",
    na: Sequence[str] = (),
    force: bool = False,
    specification: FilePath | None = None,
    spreadsheet_safe: bool = False,
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
) -> tuple[int, int]:
    """Privatise a column of a file into another file, chunk by chunk.

    The true column is never copied, and no error shows what it holds. The rows keep their order.

    A row is one respondent, who reports once. The answers of one respondent in several rows spend
    epsilon once for each row. For RAPPOR, repeated reports of the same person need the client that
    remembers, one for each person (`RAPPOR.client`), not this function.

    Parameters
    ----------
    source, target : path-like
        CSV or Parquet files.
    column : str
        Column of true categories.
    client : Collector
        From `Mechanism.collector`. A respondent's `Client` makes as many reports as it may.
    name : str
        Name of the column of reports. In a Parquet file cohorts, if there are any, follow in the
        column NAME_cohort. In a CSV file the column NAME_fingerprint follows: every row, missing
        answers included, says which mechanism made it.
    keep : sequence of str
        Other columns to copy beside it, unchanged. Reports made before keep their fingerprints.
    missing : {"raise", "count"}
        Refuse missing answers, or write an empty report for each, so the file still shows that the
        answer was missing.
    na : sequence of str
        Text that means a missing answer too, for example ("NA",).
    force : bool
        Whether existing files may be overwritten.
    specification : path-like, optional
        Where to write the specification of the mechanism; both files appear or neither.
    spreadsheet_safe : bool
        As in `write_reports`. Not for answers that `keep` leaves for another run: with an open
        alphabet that run refuses them.
    chunk_rows, advance
        As in `read_column`.

    Returns
    -------
    nobs, n_missing : int
        Reports, and missing answers.

    Raises
    ------
    InvalidArgument
        If a file cannot be read or written or is malformed, answers are missing and not counted,
        there are no answers, or `keep` names the true column; with an open alphabet, if
        `spreadsheet_safe` seems to have changed an answer in CSV.
    NotAvailable
        If `client` serves a single respondent (`RAPPOR.client`).
    UnknownCategory
        If an answer is not one of the categories; the row is named, the answer is not shown.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from pathlib import Path
    >>> client = ldp.Warner(epsilon=1.0).collector()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answers, reports = Path(folder, "answers.csv"), Path(folder, "reports.csv")
    ...     _ = answers.write_text("sex,answer\\nf,yes\\nm,\\nf,no\\n")
    ...     privatize_file(answers, reports, "answer", client, keep=["sex"], missing="count")
    ...     reports.read_text().splitlines()[0]
    (2, 1)
    'report,report_fingerprint,sex'
    """
    if not isinstance(client, Collector | Client | RAPPORClient):
        raise InvalidArgument("client", client, "must be a collector: mechanism.collector()")
    names("name", [name])
    labels = None if client.mechanism.is_open else client.mechanism.labels()
    if labels is None:
        remedy = "must be text that has a UTF-8 form: convert it, or read it in its own encoding"
    elif midpoints(labels) is not None:
        remedy = f"is in none of the {len(labels)} bins {preview(labels)}: correct it, or extend "
        remedy += "the edges"
    else:
        remedy = f"is not among the {len(labels)} labels {preview(labels)}: correct it or add the "
        remedy += "label to categories="
    return Layout(client.mechanism, (name,)).privatize(
        source,
        target,
        column,
        client,
        labels,
        remedy,
        keep=keep,
        missing=missing,
        na=na,
        specification=specification,
        spreadsheet_safe=spreadsheet_safe,
        force=force,
        chunks={"chunk_rows": chunk_rows, "advance": advance},
    )


@dataclass(frozen=True)
class Layout:
    """The columns of a table that reports of a mechanism, or of a survey of strings, stand in."""

    made_by: Mechanism | DictionarySurvey
    columns: tuple[str, ...]  # of a survey five: start, gram, start, gram and string

    @property
    def parts(self) -> dict[str, Mechanism | None]:
        """What makes the reports of each column; None for whole numbers beside them."""
        parts: tuple[Mechanism | None, ...]
        if isinstance(self.made_by, Mechanism):
            parts = (self.made_by,)
        else:
            first, second, string = self.made_by.mechanisms
            parts = None, first, None, second, string
        return dict(zip(self.columns, parts, strict=True))

    @property
    def types(self) -> dict[str, str]:
        """Arrow's type of each column."""
        kinds = {c: int if by is None else cell_type(by) for c, by in self.parts.items()}
        known = {int: "int64", float: "double", bool: "bool"}  # labels of several types are text
        return {column: known.get(kind, "string") for column, kind in kinds.items()}

    def cells(self, reports: Any) -> dict[str, Any]:
        """What the columns have, for `columns_of`: reports, or whole numbers."""
        parts: Any = (reports,)
        if not isinstance(self.made_by, Mechanism):
            start_1, start_2 = (starts.tolist() for starts in starts_of(reports))
            parts = start_1, reports.first, start_2, reports.second, reports.string
        return dict(zip(self.columns, parts, strict=True))

    @property
    def mark(self) -> str:
        """The column of fingerprints, in CSV and in frames."""
        alone = isinstance(self.made_by, Mechanism)
        return fingerprint_column(self.columns[0]) if alone else SURVEY_FINGERPRINTS

    @property
    def stored(self) -> dict[str, dict[bytes, bytes]]:
        """The columns in a Parquet file, and what is stored beside them: who made the reports."""
        own = {}
        if not isinstance(self.made_by, Mechanism):
            own = {SURVEY_FINGERPRINT: self.made_by.fingerprint.encode("ascii")}
        found: dict[str, dict[bytes, bytes]] = {}
        for column, part in self.parts.items():
            if part is None:
                found[column] = own
            else:  # for whoever reads this column alone
                alone = own | {FINGERPRINT: part.fingerprint.encode("ascii")}
                beside = [cohort_column(column)] * bool(part.n_cohorts)
                found |= dict.fromkeys((column, *beside), alone)
        return found

    def check_stored(self, path: FilePath) -> None:
        """Refuse a file whose columns are of another mechanism or survey, as Parquet stores it."""
        for column in self.columns:
            stored = column_metadata(path, column)
            check_stored(f"{path}, column {column!r}", stored, self.made_by)

    def chunk(self, path: FilePath, reports: Any, absent: Array) -> dict[str, pd.Series[Any]]:
        """A chunk of reports for a file, empty where `absent`, (n,); in CSV with fingerprints."""
        parquet = file_format(path) == ".parquet"
        table = columns_of(self.cells(reports), absent, parquet)
        if not parquet:
            table[self.mark] = constant(self.made_by.fingerprint, absent.size)
        return table

    def write(
        self,
        path: FilePath,
        frames: Iterable[pd.DataFrame],
        kept: Mapping[str, Mapping[bytes, bytes]] | None = None,
        **how: Any,
    ) -> None:
        """Write frames with these columns, and what is stored beside `kept` ones; `write_table`."""
        for mechanism in filter(None, self.parts.values()):
            check_labels(path, mechanism, how["spreadsheet_safe"])
        stored = {**(kept or {}), **self.stored}
        write_table(frames, path, self.types, stored, **how)

    def write_chunks(self, path: FilePath, chunks: Iterable[Any], force: bool, safe: bool) -> None:
        """Write chunks of reports; of those who gave no answer, an empty row after each chunk."""
        frames = (
            self.chunk(path, chunk, np.arange(len(chunk) + chunk.n_missing) >= len(chunk))
            for chunk in chunks
        )
        self.write(path, map(pd.DataFrame, frames), force=force, spreadsheet_safe=safe)

    def privatize(
        self,
        source: FilePath,
        target: FilePath,
        answers: str,
        client: Any,
        labels: pd.Index[Any] | None,
        remedy: str,
        *,
        keep: Sequence[str],
        missing: str,
        na: Sequence[str],
        specification: FilePath | None,
        spreadsheet_safe: bool,
        force: bool,
        chunks: Mapping[str, Any],
    ) -> tuple[int, int]:
        """Privatise a column of answers, among `labels` or any text; reports, and those missing."""
        own = [*self.stored, self.mark]
        kept = KeptColumns(source, target, names("keep", keep), [answers], own, spreadsheet_safe)
        one_of("missing", missing, ("raise", "count"))
        na = names("na", na)
        check_paths(source, target, specification)
        check_spreadsheet_safe(spreadsheet_safe, target)
        totals = [0, 0]

        def frames() -> Iterator[pd.DataFrame]:
            for frame in table_chunks(
                source,
                [answers, *kept.names],
                **chunks,
                optional=kept.optional,
                secret=True,
                codes=[answers],
            ):
                done = sum(totals)
                values, absent, named = answers_of(source, frame[answers], labels, na, done)
                if missing == "raise":
                    refuse_missing(named(None), done, absent)
                reports = privatized(client, values, named, remedy)
                totals[0] += len(reports)
                totals[1] += int(absent.sum())
                yield pd.DataFrame(self.chunk(target, reports, absent) | kept.of(frame, done))
            if not totals[0]:
                raise refusal(source, "holds no answer: there is nothing to privatise")

        more: Any = {"force": force, "spreadsheet_safe": spreadsheet_safe}
        if specification is not None:
            more["beside"] = {specification: specification_text(self.made_by)}
        self.write(target, frames(), kept.stored, **more)
        return totals[0], totals[1]


def check_stored(
    where: str, stored: Mapping[bytes, bytes], made_by: Any, key: bytes | None = None
) -> None:
    """Refuse a column that is of another mechanism or questionnaire, as Parquet stores it."""
    own = SURVEY_FINGERPRINT if isinstance(made_by, DictionarySurvey) else FINGERPRINT
    found = stored_text(stored, key or own)
    if found and found != made_by.fingerprint:
        raise MechanismMismatch(
            f"{where} holds reports of another mechanism, survey or questionnaire: its fingerprint "
            f"is {shorten(found)}, not that of {made_by}, {made_by.fingerprint}; use the "
            "specification that the reports were made with"
        )


# -- A column of privatised reports in a table: which mechanism made it, and what its fields say ---


FINGERPRINT = b"ldpstats.fingerprint"  # under this, Parquet stores it beside a column
# the same of reports about strings that nobody listed, whose columns are those of `to_frame`
SURVEY_COLUMNS = ("start_1", "gram_1", "start_2", "gram_2", "string")
SURVEY_FINGERPRINT = b"ldpstats.survey"
SURVEY_FINGERPRINTS = fingerprint_column("survey")  # the column of it in CSV


def stored_text(stored: Mapping[bytes, bytes], key: bytes) -> str:
    """What Parquet stores under a key beside a column, as text; empty if nothing."""
    return stored.get(key, b"").decode("ascii", "replace")  # it may be damaged


def read_fingerprints(
    path: FilePath, frame: pd.DataFrame, column: str, na: Sequence[str], made_by: Any, done: int
) -> None:
    """Refuse a chunk, `done` rows after the start, with another fingerprint in `column`, if any."""
    if column not in frame:
        return
    where, text = f"{path}, column {column!r}", coded(frame[column])
    if text is None:
        check_fingerprints(where, column, objects(frame[column]), made_by, done)
        return
    fields = [None if field in na else field for field in text[1].tolist()]
    check_coded(where, column, text[0], fields, made_by, done)


@dataclass(frozen=True)
class ReportColumn:
    """Reader of a column of reports, with a column of cohorts or none."""

    path: FilePath
    mechanism: Mechanism
    column: str
    cohort: str | None = None
    missing: str = "raise"
    na: Sequence[str] = ()
    exact: bool = False  # for labels in which blanks count: others are matched as people write them

    def __post_init__(self) -> None:
        one_of("missing", self.missing, ("raise", "count"))
        check_mechanism(self.mechanism)
        names("column", self.columns)
        object.__setattr__(self, "na", names("na", self.na))
        if self.cohort is not None:
            if self.cohort == self.column:
                raise InvalidArgument("cohort", self.cohort, "is the column of reports")
            if not (self.mechanism.n_cohorts or self.mechanism.cohort_names):
                remedy = f"must be left out: {self.mechanism} has no cohorts"
                raise InvalidArgument("cohort", self.cohort, remedy)
        Layout(self.mechanism, (self.column,)).check_stored(self.path)

    @property
    def columns(self) -> list[str]:
        """The columns to read."""
        return [self.column] if self.cohort is None else [self.column, self.cohort]

    @property
    def optional(self) -> list[str]:
        """The columns of fingerprints and of cohorts, which are read if they are there."""
        known = self.mechanism.n_cohorts or self.mechanism.cohort_names
        beside = [cohort_column(self.column)] if known and self.cohort is None else []
        return [fingerprint_column(self.column), *beside]

    @cached_property
    def _labels(self) -> pd.Index[Any] | None:
        """The labels that reports are; None of others."""
        return self.mechanism.outputs if isinstance(self.mechanism, Enumerated) else None

    @cached_property
    def _missing_texts(self) -> list[str]:
        return missing_texts(self.path, self.na, () if self._labels is None else self._labels)

    def read(self, frame: pd.DataFrame, done: int) -> tuple[Reports, npt.NDArray[np.bool_]]:
        """The reports of a chunk, `done` rows after the start, and which of its rows have none."""
        mechanism, labels, cohort, named = self.mechanism, self._labels, self.cohort, None
        marks = fingerprint_column(self.column), self._missing_texts
        read_fingerprints(self.path, frame, *marks, mechanism, done)
        where = f"{self.path}, column {self.column!r}"
        values, absent = self._fields(frame, self.column, labels)
        if self.missing == "raise":
            refuse_missing(where, done, absent)
        if cohort is None:  # in the reports' text, or in a column of its name
            first = values[0] if len(values) else None
            cohort = cohort_beside(self.column, mechanism, frame.columns, first)
        places = where, f"{self.path}, column {cohort!r}"
        if labels is None:
            named = None if cohort is None else frame[cohort]
            return parsed(places, mechanism, values, absent, named, done), absent
        if cohort is not None:
            values, absent = self._fields(frame, self.column, cohort_labels(mechanism))
            named = _whole(*self._fields(frame, cohort, cohort_index(mechanism)))
        column = _whole(values, absent)
        found, blank = reports_in(places, mechanism, column, named, done, self.exact)
        if self.missing == "raise":  # text of blanks alone too, unless it is a label
            refuse_missing(where, done, blank)
        return found, blank

    def _fields(
        self, frame: pd.DataFrame, column: str, labels: pd.Index[Any] | None
    ) -> tuple[Any, npt.NDArray[np.bool_]]:
        """The values of a column that are there, texts of labels as these; which rows have none."""
        where = f"{self.path}, column {column!r}"
        if labels is None and holds_bytes(frame[column]):
            return found_in(where, frame[column])
        to_label = None if labels is None else label_of(self.path, labels, self.na)
        empty = [*self._missing_texts, ""] if labels is None else self._missing_texts
        return present(where, frame[column], to_label, empty)


def _whole(values: Any, absent: Array) -> Any:
    """A whole column from its values that are there."""
    kind = int if values.dtype.kind == "i" else object
    return filled(values, absent, kind) if absent.any() else values


# -- Tables of true answers made into tables of reports: what all kinds of reports share ----------


T = TypeVar("T")


def answers_of(
    source: FilePath,
    column: pd.Series[Any],
    labels: pd.Index[Any] | None,
    na: Sequence[str],
    done: int,
) -> tuple[Array, npt.NDArray[np.bool_], Callable[[int | None], str]]:
    """The answers in a column of a chunk, which rows have none, and what names the row of one."""
    where = f"{source}, column {column.name!r}"
    to_label = None if labels is None else label_of(source, labels, na)
    texts = missing_texts(source, na, () if labels is None else labels)
    values, absent = present(where, column, to_label, texts, True)
    named = answers_in(where, done, absent)
    if labels is None:
        refuse_guarded(source, values, named)
    return values, absent, named


def chunks_of(reports: object, kind: type[T], maker: Callable[[T], Any]) -> tuple[Any, Iterator[T]]:
    """The one mechanism or survey that made the reports, found by `maker`, and their chunks."""

    def checked(chunk: object) -> T:
        if not isinstance(chunk, kind):
            raise InvalidArgument("reports", chunk, f"must be {kind.__name__}, or several of them")
        return chunk

    try:
        chunks = map(checked, reports if isinstance(reports, Iterable) else [reports])
    except Exception:  # somebody else's object may raise anything
        raise InvalidArgument("reports", reports, "must be reports, or chunks of them") from None
    first = next(chunks, None)
    if first is None:
        raise InvalidArgument("reports", [], "there are none: nothing to write")
    made_by = maker(first)

    def of_one() -> Iterator[T]:
        for chunk in chain([first], chunks):
            if maker(chunk).fingerprint != made_by.fingerprint:
                raise MechanismMismatch(
                    f"reports of {maker(chunk)} and of {made_by} do not go into one file: write a "
                    "file for each"
                )
            yield chunk

    return made_by, of_one()


def check_labels(path: FilePath, mechanism: Mechanism, spreadsheet_safe: bool) -> None:
    """Refuse labels of reports that a file cannot hold or distinguish."""
    if isinstance(mechanism, Enumerated):
        label_of(path, mechanism.outputs, ())
        if spreadsheet_safe and not isinstance(mechanism.outputs, pd.RangeIndex):
            texts = set(map(str, mechanism.outputs))
            for text in texts:
                if guarded(text) != text and guarded(text) in texts:
                    remedy = f"could not be distinguished from the label {text!r}: leave "
                    remedy += "spreadsheet_safe out"
                    raise InvalidArgument("labels", guarded(text), remedy)


def check_paths(source: FilePath, target: FilePath, beside: FilePath | None) -> None:
    """Refuse to write what is read; `beside` is another file to write, if any."""
    read = os.path.realpath(checked_path(source))
    for path in [target] if beside is None else [target, beside]:
        if read == os.path.realpath(checked_path(path)):
            raise refusal(path, "is the file that is read: write to another one")


# -- A list of candidates as a text file ----------------------------------------------------------


def read_candidates(path: FilePath) -> list[str]:
    """Read candidates for an open alphabet from a text file, one a line.

    Parameters
    ----------
    path : path-like
        UTF-8 text. A candidate is its whole line, spaces included, without the line's end.

    Returns
    -------
    list of str

    Raises
    ------
    InvalidArgument
        If the file cannot be read, is empty, or has a blank line or a repeated candidate.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "candidates.txt").write_text("apple\\nred pear\\n")
    ...     read_candidates(f"{folder}/candidates.txt")
    ['apple', 'red pear']
    """
    found: dict[str, int] = {}
    with reading(path), open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            candidate = line.removesuffix("\n")
            if not candidate.strip():
                raise refusal(path, f"line {number} is blank: remove it")
            first = found.setdefault(candidate, number)
            if first != number:
                remedy = f"is also the candidate of line {first}: remove one of the lines"
                raise InvalidArgument(f"{path}, line {number}", candidate, remedy)
    if not found:
        raise refusal(path, "is empty: give candidates, one a line")
    return list(found)


# -- Columns that are copied beside new reports, and the fingerprints of earlier reports in them ---
# Earlier reports keep them: a column, or what Parquet stores beside the reports, in CSV a column.


ALREADY = (
    "belongs to reports: the table holds reports already, not true answers; privatise the table of "
    "true answers instead"
)
STORED_FINGERPRINT = b"ldpstats.questionnaire"  # beside a column of answer sheets, in Parquet


def is_of_reports(stored: Mapping[bytes, bytes]) -> bool:
    """Whether what Parquet and Arrow store beside a column says that it holds reports."""
    return bool({FINGERPRINT, SURVEY_FINGERPRINT, STORED_FINGERPRINT} & set(stored))


@dataclass(frozen=True)
class KeptColumns:
    """The columns of a table of answers that are copied, unchanged, into the table of reports."""

    source: FilePath
    target: FilePath
    names: list[str]
    answers: Sequence[str]  # the columns of true answers, which are never copied
    own: Sequence[str]  # the new columns, of reports and fingerprints
    spreadsheet_safe: bool = False
    marks: Sequence[str] = ()  # columns that a table has if its `answers` are sheets already

    def __post_init__(self) -> None:
        for column in self.answers:
            if not isinstance(column, str):  # answers, perhaps: not shown
                remedy = "must be text, the name of the column of answers"
                raise InvalidArgument("column", type(column).__name__, remedy)
            if column in self.names:
                remedy = "holds the true answers, which are never copied"
                raise InvalidArgument("keep", column, remedy)
        twice = [name for name in self.names if self.names.count(name) > 1]
        if twice or {*self.names} & {*self.own}:
            remedy = f"must be distinct names, and none of the reports' own: {', '.join(self.own)}"
            wrong = twice or [name for name in self.names if name in self.own]
            raise InvalidArgument("keep", list(dict.fromkeys(wrong)), remedy)
        taken = sorted({*self.own} & {*self._fingerprints.values(), *self._cohorts.values()})
        if taken:
            remedy = "is the name of a new column and of the fingerprints or cohorts of a kept one"
            raise InvalidArgument("keep", taken[0], f"{remedy}: give the new one another name")
        every = [*self.names, *self.own]
        if self.spreadsheet_safe and len(set(map(guarded, every))) < len(every):
            remedy = "become equal when an apostrophe is put before =, +, - and @: rename one"
            raise InvalidArgument("keep", every, remedy)

    @cached_property
    def _fingerprints(self) -> dict[str, str]:
        """The name of the column of fingerprints of each kept column, whether or not it exists."""
        found = {name: fingerprint_column(name) for name in self.names}
        return found | ({"": SURVEY_FINGERPRINTS} if set(SURVEY_COLUMNS) & set(self.names) else {})

    @cached_property
    def _cohorts(self) -> dict[str, str]:
        """The name of the column of cohorts of each kept column of reports in a Parquet file."""
        return {name: cohort_column(name) for name in self.names if self.stored[name]}

    @property
    def optional(self) -> list[str]:
        """Columns to read if they exist."""
        every = [*self._fingerprints.values(), *self._cohorts.values(), *self.marks]
        return [c for c in dict.fromkeys(every) if c not in (*self.names, *self.answers)]

    def refuse_reports(self, frame: pd.DataFrame, first: bool) -> None:
        """Refuse a chunk in which reports, which have fingerprints, stand in place of answers."""
        found = [column for column in self.marks if column in frame]
        if first:  # what Parquet stores is of the whole file
            stored = ((name, column_metadata(self.source, name, True)) for name in self.answers)
            found += [name for name, notes in stored if is_of_reports(notes)]
        if found:
            raise InvalidArgument(f"{self.source}, column {found[0]!r}", HIDDEN, ALREADY)

    @cached_property
    def stored(self) -> dict[str, Mapping[bytes, bytes]]:
        """Fingerprints that Parquet stores beside the columns, by name of the column."""
        found: dict[str, Mapping[bytes, bytes]] = {}
        for name in self.names:
            stored = column_metadata(self.source, name, secret=True)
            kinds = (FINGERPRINT, SURVEY_FINGERPRINT)
            found[name] = {kind: stored[kind] for kind in kinds if kind in stored}
        return found

    def of(self, frame: pd.DataFrame, done: int) -> dict[str, pd.Series[Any]]:
        """The columns of a chunk, `done` rows after the start, each with its fingerprints."""
        columns: dict[str, pd.Series[Any]] = {}
        parquet = file_format(self.target) == ".parquet"
        for name in self.names:
            if parquet and file_format(self.source) != ".parquet":
                # the apostrophes of `guarded` would stay
                remedy = "begins with an apostrophe and one of =, +, - and @, as written with "
                remedy += "spreadsheet_safe= (--spreadsheet-safe), which Parquet would take for "
                remedy += "text: write a CSV file, or make the table without it"
                self._refuse(frame[name], done, lambda field: unguarded(field) != field, remedy)
            if not parquet and holds_bytes(frame[name]):
                remedy = "holds bytes, which CSV cannot hold: write a Parquet file"
                raise InvalidArgument(f"{self.source}, column {name!r}", HIDDEN, remedy)
            columns[name] = frame[name]
            cohort = self._cohorts.get(name, name)
            if cohort in frame and cohort not in self.names:
                columns[cohort] = frame[cohort]
            self._add(columns, frame, done, fingerprint_column(name), name, FINGERPRINT)
        for name in self.names:
            if name in SURVEY_COLUMNS:
                self._add(columns, frame, done, SURVEY_FINGERPRINTS, name, SURVEY_FINGERPRINT)
        return columns

    def _add(
        self,
        columns: dict[str, pd.Series[Any]],
        frame: pd.DataFrame,
        done: int,
        column: str,
        name: str,
        kind: bytes,
    ) -> None:
        """Add the column of fingerprints of the column `name`, unless there is none."""
        if column in columns or column not in self.optional:
            return
        if column in frame:
            # one that is named like fingerprints but holds something else is not copied unasked
            remedy = "is not a fingerprint, but the column is named like the fingerprints of a "
            remedy += "kept column: rename it"
            self._refuse(frame[column], done, lambda v: v != "" and not is_fingerprint(v), remedy)
            columns[column] = frame[column]
        elif kind in self.stored[name] and file_format(self.target) != ".parquet":
            digits = stored_text(self.stored[name], kind)
            columns[column] = constant(digits, len(frame))

    def _refuse(
        self, column: pd.Series[Any], done: int, bad: Callable[[Any], bool], remedy: str
    ) -> None:
        """Refuse a column for the first field that is bad; each distinct text is looked at once."""
        text = coded(column)
        if text is None:
            wrong = np.array([v is not None and bad(v) for v in objects(column).tolist()], bool)
        else:
            wrong = np.array([*map(bad, text[1].tolist()), False], dtype=bool)[text[0]]
        if wrong.any():
            where = f"{self.source}, column {column.name!r}, row {done + int(np.argmax(wrong)) + 1}"
            raise InvalidArgument(where, HIDDEN, remedy)


def constant(text: str, n: int) -> pd.Series[Any]:
    """A column of n equal texts."""
    return pd.Series(np.full(n, text, dtype=object), dtype=object)
