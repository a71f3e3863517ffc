"""Counts of a survey's reports: of one table, of a question, of groups, of several questions.

`count` is the public call for files, frames and tables of an engine. What analyses of a `Survey`
need follows: distinct combinations of reports with their numbers where few are possible, else rows;
sums of bits where the rows are; waves matched; groups; and files of true answers made into sheets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import combinations
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, boolean, one_of
from ldpstats.engines.base import watched
from ldpstats.engines.bits import BitSums, add_up
from ldpstats.engines.query import MOST_BYTES, Query
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators import Inversion
from ldpstats.io.counting import read_counts
from ldpstats.io.reports import (
    STORED_FINGERPRINT,
    KeptColumns,
    answers_of,
    check_labels,
    check_paths,
    constant,
)
from ldpstats.io.storage import FilePath, refusal, without_answers
from ldpstats.io.tables import (
    CHUNK_ROWS,
    Advance,
    answers_in,
    check_mechanism,
    check_spreadsheet_safe,
    columns_shown,
    file_format,
    filled,
    names,
    objects,
    table_chunks,
    write_table,
)
from ldpstats.mechanisms import ByColumn, Mechanism
from ldpstats.models.association.groups import UNASKED, refuse_shared
from ldpstats.models.frequency.model import reports_in
from ldpstats.models.layout import count_of
from ldpstats.models.plots import maybe_bar, moved, progress_bar
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.layout import cohort_column, fingerprint_column
from ldpstats.reports.single import BitCounts, Counts, Reports, possible_reports, tallied
from ldpstats.survey.conditions import read
from ldpstats.survey.data import (
    Csv,
    Held,
    held_on,
    identifiers,
    refuse_identifiers,
    refuse_other_kind,
    rows_of,
    side_by_side,
)
from ldpstats.survey.questionnaire import (
    Coded,
    Questionnaire,
    SheetCollector,
    marks,
    report_columns,
)
from ldpstats.survey.questions import FINGERPRINTS, Named, assigned, maker_of
from ldpstats.survey.tables import Column, Table


def count(
    source: Any,
    mechanism: Mechanism,
    column: str | None = None,
    *,
    count: str | None = None,
    cohort: str | None = None,
    bits: bool = False,
    missing: str = "count",
    where: Any = None,
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
    where : str, expression of Narwhals, or mask, optional
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
    bits = boolean("bits", bits)
    check_mechanism(mechanism)
    if bits and not mechanism.n_bits:
        raise NotAvailable(f"{mechanism} does not report bits: count without bits=True")
    if cohort is not None and not (mechanism.n_cohorts or mechanism.cohort_names):
        remedy = f"must be left out: {mechanism} has no cohorts"
        raise InvalidArgument("cohort", cohort, remedy)
    known: dict[str, str] = {}
    for argument, name in (("column", column), ("count", count), ("cohort", cohort)):
        if not isinstance(name, str | None):
            raise InvalidArgument(argument, name, "must be text, the name of a column")
        if name in known:
            raise InvalidArgument(argument, name, f"is the column that {known[name]}= names")
        if name is not None:
            known[name] = argument
    one_of("missing", missing, ("raise", "count"))
    progress = boolean("progress", progress)
    rows = rows_of(source, "source", na, table, engine, on_error)
    column = _column_of_reports(rows.columns, column, [count, cohort])
    found: Counts | BitCounts
    if isinstance(rows, Csv) and where is None and not isinstance(mechanism, ByColumn):
        how: dict[str, Any] = {"cohort": cohort, "missing": missing, "bits": bits}
        how["na"] = Table.missing_codes(rows, column)
        total: Any = 0
        with maybe_bar("counting", progress) as bar:
            for i, file in enumerate(rows.frame):
                how["advance"] = moved(bar, i, len(rows.frame))
                total = total + read_counts(file, mechanism, column, count, **how)
        found = total
    else:
        with watching(rows if progress and isinstance(rows, Query) else None):
            sheet = Questionnaire({column: mechanism})
            held = held_on(rows, sheet, {} if cohort is None else {column: cohort}, whole=False)
            held.columns_of([] if count is None else [count])
            if where is not None:
                held = held.where(read(where))
            data = tally(held, column, bits, count)
            if isinstance(data, Reports):
                found = data.tally(bits=bits)
            else:
                found = data.bit_counts() if bits else data
    if missing == "raise" and found.n_missing:
        place = rows.first(column, None) if isinstance(rows, Query) else None
        verb = "is" if found.n_missing == 1 else "are"
        remedy = f"{count_of(found.n_missing, 'report')} {verb} missing"
        remedy += f", the first in {place}" if place else ""
        remedy += ": leave them out, or count them with missing='count' (--missing count)"
        raise InvalidArgument("missing", missing, remedy)
    return found


def _column_of_reports(
    columns: Sequence[str], column: str | None, taken: Sequence[str | None]
) -> str:
    """The column of reports, which is the only one beside the `taken` if it was not named."""
    if column is not None:
        if column in columns:
            return column
        remedy = f"no such column; the table has {columns_shown(columns)}"
        raise InvalidArgument("column", column, remedy)
    others = [name for name in columns if name not in taken]
    beside = {made(name) for name in others for made in (fingerprint_column, cohort_column)}
    free = [name for name in others if name not in beside]
    if len(free) == 1:
        return free[0]
    remedy = f"name the column of reports; the table has {columns_shown(columns)}"
    raise InvalidArgument("column", None, remedy)


@contextmanager
def watching(rows: Query | Held | None) -> Iterator[None]:
    """Show how far the queries of these rows have come that run meanwhile; nothing for None."""
    if rows is None:
        yield
        return
    n = len(rows) if rows.ordered else 0  # others would be read once more for this
    with progress_bar("counting") as bar, watched(lambda f: bar(f, rows=round(f * n))):
        yield


# -- What an analysis needs of a survey's rows: counts, of one question or of several -------------


Data = Reports | Counts | BitCounts

_MOST_CELLS = 1 << 26  # combinations of reports beyond which hardly any repeats


def tally(held: Held, name: str, sums: bool = False, count: str | None = None) -> Data:
    """The reports of a question, or how often each was seen; `sums` of bits where they suffice."""
    if sums and held.remote:
        return summed(held, name, count=count)[1][0]
    cells, n = _cells(held, [name]) if count is None else held.cells([name], count)
    return weighed(cells.coded(name), n)


def grouped(
    held: Held, name: str, by: Sequence[object], sums: bool = False
) -> tuple[dict[Any, Data], int]:
    """`tally` by groups, in the order of their columns; and how many respondents have no group."""
    names = [column for column in by if isinstance(column, str)]
    for column in names:
        if column != name:
            held.refuse_private(column)
    data: list[Data]
    if sums and held.remote:
        cells, parts = summed(held, name, names)
        labels, rows, ungrouped = grouped_rows(cells, by, name)
        data = [reduce(add, [parts[i] for i in chosen]) for chosen in rows]
    else:
        cells, n = _cells(held, [name, *names])
        labels, rows, ungrouped = grouped_rows(cells, by, name)
        found = cells.coded(name)
        times = [None if n is None else n[chosen] for chosen in rows]
        data = [weighed(found.taken(r), own) for r, own in zip(rows, times, strict=True)]
    return dict(zip(labels, data, strict=True)), cells.taken(ungrouped).respondents


def sums_suffice(mechanism: Any, candidates: Any, method: Any, constraints: Any) -> bool:
    """Whether a fit needs the sums of bits only, and gives the same from whole reports."""
    # over candidates by inversion; others that are distributions have a log-likelihood besides
    named = method is None or (isinstance(method, str) and str.__str__(method) == Inversion.name)
    linear = (named or isinstance(method, Inversion)) and constraints is None
    hashed = isinstance(mechanism, Mechanism) and mechanism.is_open and mechanism.n_bits > 0
    return hashed and linear and candidates is not None


def refuse_unanswered(name: str, data: Iterable[Data], held: Held) -> None:
    """Refuse a question that nobody answered."""
    if not any(map(reports_in, data)):
        raise InvalidArgument("name", name, f"nobody of {len(held)} answered this question")


def joint(held: Held, names: Sequence[str]) -> JointCounts:
    """The respondents who answered several questions."""
    cells, n = _cells(held, names)
    found = _together(cells, names, n)
    if n is None or found.merges or not held.ordered:
        return found
    return _together(held.read(names), names, None)  # in the order that a table in memory has


def joint_groups(held: Held, names: Sequence[str]) -> list[JointCounts]:
    """The respondents who answered all questions, then those asked some, by what they answered.

    Only full sheets count as asked some: elsewhere, and in public columns, an answer may be missing
    because of what it is.
    """
    sheet = held.questionnaire
    public = [name for name in names if name not in sheet.private]
    if sheet.ask in (None, len(sheet.private)) or len(public) == len(names):
        return [joint(held, names)]
    some = held.answered(names)
    partial = held.is_full & (held.answered(public) == len(public)) & (some > 0)
    partial &= some < len(names)
    found = [joint(held.chosen(~partial), names)]
    if not found[0].nobs:  # without them nothing is known of the association
        return [joint(held, names)]
    cells, n = _cells(held.chosen(partial), names)
    cells.table.prepare(names)
    coded = [cells.coded(name) for name in names]
    there = np.array([part.present for part in coded])
    kinds = (1 << np.arange(len(names))) @ there  # which questions were asked, as a number
    for kind in np.unique(kinds):
        rows, reports = np.flatnonzero(kinds == kind), []
        for name, part, asked in zip(names, coded, there[:, rows[0]], strict=True):
            none = Reports(np.zeros(rows.size, dtype=np.int64), UNASKED, name=name)
            reports.append(replace(part.taken(rows).reports if asked else none, n_missing=0))
        found.append(JointCounts(reports, None if n is None else n[rows]).tally())
    return found


def _together(cells: Held, names: Sequence[str], n: Array | None) -> JointCounts:
    cells.table.prepare(names)
    parts = [cells.coded(name) for name in names]
    return JointCounts.of_rows([(part.reports, part.present) for part in parts], n)


def _cells(held: Held, names: Sequence[str]) -> tuple[Held, Array | None]:
    """Distinct combinations where few are possible, else rows."""
    sheet = held.questionnaire
    asked = [maker_of(sheet[name]) for name in names if name in sheet]
    sizes = [float(possible_reports(made_by)) for made_by in asked if made_by.n_bits]
    if held.ordered and np.prod(sizes) > _MOST_CELLS:
        if held.remote:
            n = len(held)
            width = sum(-(-made_by.n_bits // 8) for made_by in asked)
            if n * width > MOST_BYTES:  # they hardly ever repeat
                questions = ", ".join(map(repr, names))
                raise NotAvailable(
                    f"the likelihood of {questions} needs {n} reports of {width} bytes, more than "
                    f"{MOST_BYTES / 1e6:,.0f} MB: sums of bits suffice for method='inversion' with "
                    "candidates=, and FrequencyModel takes ldp.count(..., bits=True); or take a "
                    "random part of the respondents"
                )
        return held.read(names), None
    return held.cells(names)


def pairs(
    held: Held, names: Sequence[str]
) -> tuple[Mapping[str, tuple[str, int]], Iterator[tuple[tuple[str, str], list[JointCounts]]]]:
    """The groups of every pair of questions, and of each read its mechanism and reports."""
    known: dict[str, tuple[str, int]] = {}

    def counted() -> Iterator[tuple[tuple[str, str], list[JointCounts]]]:
        for both in combinations(names, 2):
            counts, *partial = groups = joint_groups(held, both)
            lacking = counts.lacking or (0, 0)
            for v, (name, made_by) in enumerate(zip(both, counts.mechanisms, strict=True)):
                alone = sum(one.nobs for one in partial if one.mechanisms[v] is not UNASKED)
                known[name] = str(made_by), counts.nobs + counts.n_missing - lacking[v] + alone
            yield both, groups

    return known, counted()


def refuse_kept(held: Held, names: Sequence[str], memoised: object, analysis: str) -> None:
    """Refuse two reports of a person that may come from one permanent response."""
    if memoised is not None:
        refuse_shared([], names, memoised, analysis)
        return
    sheet = held.questionnaire
    kept = {name: maker_of(sheet[name]).permanent for name in names if name in sheet}
    for both in combinations(kept, 2):
        if kept[both[0]] is not None and kept[both[0]] == kept[both[1]]:
            origins = [held.origin(name) for name in both]
            origins = ["wave", "wave"] if analysis == "change" else origins
            refuse_shared([joint(held, both)], both, None, analysis, origins)


def weighed(found: Coded, n: Array | None) -> Data:
    """Reports, each of n respondents (None: one)."""
    reports: Reports = found.reports
    if n is None:
        return reports
    missing = int(n[~found.present].sum())
    return tallied(replace(reports, n_missing=missing), n[found.present])


# -- Sums of bits of a remote survey, made where its rows are -------------------------------------


def summed(
    remote: Held, name: str, by: Sequence[str] = (), count: str | None = None
) -> tuple[Held, list[BitCounts]]:
    """Sums of the bits of a question for each combination of values of `by`, its rows."""
    import pyarrow

    columns = remote.columns_of(by)
    domains = [remote.table.domain(column)[0] for column in columns]
    ((column, cohort),) = remote.parts_of(name).items()
    made_by = maker_of(remote.questionnaire[name])
    what = BitSums(made_by, column, cohort, tuple(columns), tuple(domains), count, name)
    found = add_up(remote.query.partial(what.names, what, what.schema), what)
    places = np.unravel_index(list(found), [len(domain) for domain in domains]) if by else ()
    taken = {c: d.take(at) for c, d, at in zip(columns, domains, places, strict=True)}
    sums = list(found.values()) or [made_by.no_counts().bit_counts()]
    n = np.array([part.nobs + part.n_missing for part in sums])
    return remote.part(pyarrow.table(taken), n), sums


# -- Two waves of a survey side by side, wherever their rows are ----------------------------------


def matched(first: Held, second: Held, id: str, suffixes: tuple[str, str]) -> Held:
    """The persons who are in two waves: joined where both are, or row by row in memory."""
    why = "the two waves are not on one engine, and"
    if first.remote and second.remote:
        why = "only whole numbers, and text without blanks around it, are matched on an engine, and"
        kinds = [kind for wave in (first, second) if (kind := _checked_identifiers(wave, id))]
        if len(kinds) == 2:
            refuse_other_kind(id, *kinds)
            query = first.query.joined(second.query, id, suffixes)
            sizes = len(first), len(second)
            return side_by_side((first, second), id, suffixes, sizes, query)
    for wave in (first, second):
        if not wave.ordered:
            raise NotAvailable(
                f"id={id!r}: {why} rows of one have no order: open both in the same way, or read "
                "both into memory"
            )
    waves = [wave.read(wave.columns) for wave in (first, second)]
    keys, kinds = zip(*(identifiers(wave, id) for wave in waves), strict=True)
    refuse_other_kind(id, *kinds)
    place = keys[1].get_indexer(keys[0])
    both = np.flatnonzero(place >= 0)
    together = waves[0].taken(both), waves[1].taken(place[both])
    return side_by_side(together, id, suffixes, (len(first), len(second)))


def _checked_identifiers(wave: Held, id: str) -> str | None:
    """What distinct identifiers are, if the engine can match them: whole numbers or text."""
    import narwhals

    wave.refuse_private(id)
    if wave.owner(id) is not None:
        return None
    (column,) = wave.parts_of(id)
    dtype, col = wave.query.type(column), narwhals.col(column)
    text = dtype == narwhals.String
    if not (text or dtype.is_integer()):
        return None
    missing = col.is_null()
    if text:
        missing = missing | (col.fill_null("") == "")
        blank = f"[{''.join(chr(i) for i in range(1 << 16) if chr(i).isspace())}]"
        if len(wave.query.filtered(col.fill_null("").str.contains(f"^{blank}|{blank}$"))):
            return None  # which memory ignores: match the rows there
    absent = len(wave.query.filtered(missing))
    twice, times = wave.query.commonest(column)
    refuse_identifiers(id, len(wave), absent, twice, times)
    return "text" if text else "numbers"


# -- Groups of respondents, made by one or several public columns ---------------------------------


MOST_GROUPS = 1000

Rows = npt.NDArray[np.int64]

_REMEDY = "group by text, booleans, categories or whole numbers; make bands of it first"


def combined(columns: Sequence[Column]) -> npt.NDArray[np.int64]:
    """The number of the combination of values in each row, (n,), in order; none is missing."""
    cells = np.zeros(len(columns[0].codes), dtype=np.int64)
    for column in columns:  # numbered anew each time, so that they stay small
        cells = cells * len(column.values) + column.codes
        cells = pd.factorize(cells, sort=True)[0].astype(np.int64)
    return cells


def grouped_rows(held: Held, by: Sequence[object], name: str) -> tuple[list[Any], list[Rows], Rows]:
    """Labels (tuples if `by` several) of groups in order, rows of each, and rows without group."""
    if not by:
        raise InvalidArgument("by", list(by), "names no column")
    names = [str.__str__(column) for column in by if isinstance(column, str)]
    if len(names) < len(by) or len({*names, name}) <= len(names):
        remedy = "must be different public columns, other than the question"
        raise InvalidArgument("by", list(by), remedy)
    held.table.prepare(names)
    columns = [held.public(column).categories(_REMEDY) for column in names]
    missing = np.any([column.missing for column in columns], axis=0)
    known = np.flatnonzero(~missing)
    if not known.size:
        raise InvalidArgument("by", list(by), f"nobody of {held.respondents} has a group")
    cells = combined([column.taken(known) for column in columns])
    n_groups = int(cells.max()) + 1
    if n_groups > MOST_GROUPS:
        remedy = f"makes {n_groups} groups, {MOST_GROUPS} at most: use fewer or wider ones"
        raise InvalidArgument("by", list(by), remedy)
    order = known[np.argsort(cells, kind="stable")]
    rows = np.split(order, np.cumsum(np.bincount(cells))[:-1])
    first = [group[0] for group in rows]
    labels = [column.values[column.codes[first]] for column in columns]
    together = list(zip(*labels, strict=True)) if len(labels) > 1 else list(labels[0])
    return together, rows, np.flatnonzero(missing)


# -- Files of true answers made into files of answer sheets ---------------------------------------
# Reports take the place of the answers to private questions; observed questions are copied. Nothing
# else is, unless `keep` names it, and no error shows what the file holds. A row is one respondent,
# who fills in one sheet. Every row of a CSV file says which questionnaire made it, Parquet once.


@without_answers
def privatize_sheets(
    source: FilePath,
    target: FilePath,
    client: SheetCollector,
    *,
    keep: Sequence[str] = (),
    na: Sequence[str] = (),
    force: bool = False,
    specification: FilePath | None = None,
    spreadsheet_safe: bool = False,
    chunk_rows: int = CHUNK_ROWS,
    advance: Advance | None = None,
) -> dict[str, int]:
    """Privatise the questions of a file into another one; return reports of private questions."""
    if not isinstance(client, SheetCollector):
        raise InvalidArgument("client", client, "must be a collector: questionnaire.collector()")
    check_paths(source, target, specification)
    check_spreadsheet_safe(spreadsheet_safe, target)
    sheet, copied = client.mechanism, names("keep", keep)
    for name in copied:
        if name in sheet.observed:
            raise InvalidArgument("keep", name, "is a question, and is copied anyway")
    own = [FINGERPRINTS]
    for question in sheet.entries:
        own += question.layout.stored if question.private else ()
        for mechanism in question.mechanisms.values():
            check_labels(target, mechanism, spreadsheet_safe)
    # names of private questions are columns of answers, and of reports as well
    copied = [*sheet.observed, *copied]
    kept = KeptColumns(source, target, copied, sheet.private, own, spreadsheet_safe, marks(sheet))
    totals = dict.fromkeys(sheet.private, 0)
    beside = {} if specification is None else {specification: sheet.to_json()}
    stored: dict[str, Mapping[bytes, bytes]] = dict(kept.stored)
    for column, notes in stored_notes(sheet).items():
        stored[column] = {**stored.get(column, {}), **notes}
    chunks = _sheets(client, kept, names("na", na), totals, chunk_rows=chunk_rows, advance=advance)
    types = {c: t for q in sheet.entries if q.private for c, t in q.layout.types.items()}
    write_table(
        chunks, target, types, stored, force, beside=beside, spreadsheet_safe=spreadsheet_safe
    )
    return totals


def stored_notes(sheet: Questionnaire) -> dict[str, dict[bytes, bytes]]:
    """What Parquet stores beside the columns of a questionnaire: who made them."""
    own = {STORED_FINGERPRINT: sheet.family.encode("ascii")}
    return {
        column: {**stored, **own}
        for question in sheet.entries
        for column, stored in question.layout.stored.items()
    }


def _sheets(
    client: SheetCollector,
    kept: KeptColumns,
    na: Sequence[str],
    totals: dict[str, int],
    **how: Any,
) -> Iterator[pd.DataFrame]:
    """The chunks of the table of sheets, questions first; `totals` counts reports."""
    sheet, source, done = client.mechanism, kept.source, 0
    parquet = file_format(kept.target) == ".parquet"
    columns = [*sheet.questions, *kept.names]
    beside = [c for c in assigned(sheet).values() if c not in columns]
    how |= {"optional": [*kept.optional, *beside], "secret": True}
    for frame in table_chunks(source, list(dict.fromkeys(columns)), **how):
        kept.refuse_reports(frame, not done)
        answers: dict[str, Any] = {}
        for question in sheet.entries:
            column = frame[question.name]
            values, absent, _ = answers_of(source, column, question.labels, na, done)
            answers[question.name] = filled(values, absent)
        cohorts = {c: frame[c] for c in assigned(sheet).values() if c in frame}
        every = np.zeros(len(frame), dtype=bool)

        def where(name: str, done: int = done, every: Array = every) -> Named:
            return answers_in(f"{source}, column {name!r}", done, every)

        table = Table.of(pd.DataFrame(answers | cohorts))
        reports = report_columns(
            sheet, table, client.words, where=where, stored=parquet, known=client.known
        )
        copied = kept.of(frame, done)
        found: dict[str, pd.Series[Any]] = {}
        for name in sheet.questions:
            if name in reports:
                cells = {c: as_written(v) for c, v in reports[name].items()}
                totals[name] += int(next(iter(cells.values())).notna().sum())
                found |= cells
            else:
                found[name] = copied.pop(name).mask(answers[name].isna(), None)
        if not parquet:
            found[FINGERPRINTS] = constant(sheet.family, len(frame))
        yield pd.DataFrame(found | copied)
        done += len(frame)
    if not done:
        raise refusal(source, "holds no row: there is nothing to privatise")


def as_written(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of objects, or one of Arrow as it is."""
    stays = isinstance(column.dtype, pd.ArrowDtype)
    return column if stays else pd.Series(objects(column), dtype=object)
