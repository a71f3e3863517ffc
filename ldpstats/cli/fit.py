"""ldpstats fit: from a table of reports to frequencies."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ldpstats as ldp
from ldpstats import io
from ldpstats.arguments.checks import one_of
from ldpstats.cli.common import (
    HOW,
    Once,
    add_output,
    add_reading,
    check_output,
    on_a_terminal,
    option,
    output_files,
    progress,
)
from ldpstats.cli.designs import add_design, design_of, refuse_unweighted
from ldpstats.cli.surveys import (
    add_where,
    check_fingerprint_column,
    missing,
    opened,
    refuse_missing,
    refuse_options,
)
from ldpstats.cli.tables import (
    INPUTS,
    add_engine,
    engine_options,
    named_files,
    on_engine,
    refuse_engine,
    running,
    source,
)
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.io.google.fields import header_of
from ldpstats.mechanisms.hashed.base import Hashed
from ldpstats.problems.hashed.moments import LARGEST_DENSE
from ldpstats.survey.counting import watching
from ldpstats.survey.tallying import sums_suffice

__all__ = ["add_fit"]

_WIDTH = 76  # of a label in a list

_CORRECTIONS = ("bonferroni", "holm", "bh")

_FIT = """\
Estimate how frequent each category is among the true answers, from privatised reports. The
specification must be the one that made them: files that ldpstats wrote say which that is.
Where any text is an answer, the frequencies are those of a list of candidates, and the candidates
detected are listed under the table. With --params, INPUT is a file of google/rappor, counts or
reports. Several files, a folder or a pattern in quotes are one table; Parquet is counted by DuckDB,
or by another --engine.

With --questionnaire, --column names one of its questions, or a public column. Missing answers are
counted, and the table may be cut by --where and --by. If --weights, --strata, --clusters or --fpc
name columns of a complex sample, frequencies are those of its population, and those of --where and
--by are domains.
"""


def add_fit(commands: Any) -> None:
    words = "estimate the frequencies of the categories from reports"
    command = commands.add_parser("fit", help=words, description=_FIT, **HOW)
    command.set_defaults(run=_fit)
    add = command.add_argument
    add("input", metavar="INPUT", nargs="+", help=INPUTS)
    of = command.add_mutually_exclusive_group(required=True)
    of.add_argument(
        "--spec", action=Once, metavar="FILE", help="specification of the mechanism (JSON)"
    )
    of.add_argument("--params", metavar="FILE", help="parameters of google/rappor (CSV)")
    of.add_argument("--questionnaire", metavar="FILE", help="questionnaire of the table (JSON)")
    add("--column", action=Once, help="column of reports (default: report)")
    add("--count", metavar="COLUMN", help="column of counts, where a row is many reports")
    add(
        "--cohort",
        action=Once,
        metavar="COLUMN",
        help="column of cohorts (default: reports are cohort:report)",
    )
    among = command.add_mutually_exclusive_group()
    among.add_argument(
        "--candidates", action=Once, metavar="FILE", help="text file of candidates, one a line"
    )
    among.add_argument("--map", metavar="FILE", help="map of candidates of google/rappor (CSV)")
    words = "with --questionnaire: public column that makes groups; may be given again"
    add("--by", action="append", default=[], metavar="COLUMN", help=words)
    add_where(add)
    add("--bits", action="store_true", help="sum bits instead of keeping their patterns")
    words = "mle (default), inversion (default with candidates or --bits), lasso, em, ..."
    add("--method", help=f"estimator: {words}")
    words = "list the categories detected, corrected for multiple tests: "
    words += f"{', '.join(_CORRECTIONS)} (default for candidates: {_CORRECTIONS[0]})"
    add("--detect", choices=_CORRECTIONS, metavar="METHOD", help=words)
    words = "1 - coverage of intervals, and error rate of --detect"
    add_output(add, words, "categories", "the estimates")
    add("--csv", metavar="FILE", help="write the table of estimates as CSV; - prints it instead")
    add_engine(add)
    add_reading(add, "answers", "count and report them", missing=None)
    add_design(command)


def _fit(given: argparse.Namespace) -> int:
    csv = given.csv if given.csv != "-" else None
    of = (given.spec, given.params, given.questionnaire)
    files = named_files(given)
    check_output(given, (*map(str, files), *of, given.candidates, given.map, csv))
    if csv is not None and not csv.lower().endswith(".csv"):
        raise InvalidArgument("--csv", csv, "must end in .csv")
    if given.json == given.csv == "-":
        raise InvalidArgument("--csv", "-", "prints instead of --json -: give a file for one")
    if given.method is not None:
        from ldpstats.estimators import ESTIMATORS

        one_of("method", given.method, tuple(ESTIMATORS))
    design = design_of(given)
    if given.questionnaire is None:
        estimate = _from_counts(given, files)
    else:
        estimate = _from_survey(given, files, design)
    with output_files(given, given.csv) as write, running(given):
        results = estimate()
        document, frame = results.to_json(), _table(results, given.alpha)
        table = str(results.summary(given.alpha, given.max_rows, given.details))
        if isinstance(results, ldp.FrequencyResults) and (
            given.detect or results.unexplained is not None
        ):
            table += f"\n\n{_detected(results, given)}"
        write(document, lambda: results.plot(alpha=given.alpha, title=given.title), frame)
    printed = document if given.json == "-" else frame.rstrip("\n") if given.csv == "-" else table
    print(printed)
    return 0


def _table(results: Any, alpha: float) -> str:
    """The table of estimates as CSV."""
    text: str = results.to_frame(alpha).to_csv(index=False, lineterminator="\n")
    return text


def _from_counts(given: argparse.Namespace, files: list[Path]) -> Callable[[], Any]:
    """What fits a table of the reports of one mechanism; its options are checked first."""
    refuse_options(given, ("by", "where"), "goes with --questionnaire only")
    mechanism = _google(given, files) if given.spec is None else io.read_mechanism(given.spec)
    candidates = _candidates(given, mechanism)
    _check_size(given.method, mechanism, candidates)
    if given.spec is None:
        return lambda: _modelled(given, _google_counts(given, mechanism), candidates)
    column = "report" if given.column is None else given.column
    how = {"count": given.count, "cohort": given.cohort}
    sums = on_engine(given, files) and sums_suffice(mechanism, candidates, given.method, None)
    return lambda: _modelled(given, _counts(given, mechanism, column, sums, **how), candidates)


def _modelled(given: argparse.Namespace, counts: Any, candidates: Any) -> ldp.FrequencyResults:
    if not counts.nobs:
        remedy = "holds no report: nothing can be estimated"
        raise InvalidArgument("input", source(given), remedy)
    model = ldp.FrequencyModel(counts, candidates=candidates, name=given.column)
    results: ldp.FrequencyResults = model.fit(given.method)
    return results


def _counts(
    given: argparse.Namespace, mechanism: Any, column: str, sums: bool = False, **how: Any
) -> ldp.Counts | ldp.BitCounts:
    """The counts of a column of reports, or the sums of their bits where these suffice."""
    how |= {"missing": missing(given), "bits": given.bits or sums, "na": given.na}
    how |= engine_options(given) | {"progress": on_a_terminal()}
    return ldp.count(source(given), mechanism, column, **how)


def _from_survey(
    given: argparse.Namespace, files: list[Path], design: dict[str, Any]
) -> Callable[[], Any]:
    """What fits a question of a questionnaire; its options are checked first."""
    sheet = ldp.Questionnaire.from_json(given.questionnaire)
    refuse_options(given, ("count", "cohort"), "goes with --spec and --params only")
    if given.column is None:
        raise InvalidArgument("--column", None, f"is needed: a question, {', '.join(sheet)}")
    if given.by:
        refuse_options(given, ("detect",), "goes without --by")
    if design:
        refuse_unweighted(given, ("detect", "bits"))
    mechanism = sheet[given.column] if given.column in sheet else None
    if isinstance(mechanism, ldp.PUM | ldp.DictionarySurvey):
        kind = "personalized" if isinstance(mechanism, ldp.PUM) else "dictionary"
        words = f"survey.{kind}({given.column!r})"
        raise NotAvailable(f"{given.column!r} of {given.questionnaire}: in Python, {words} fits it")
    candidates = None if mechanism is None else _candidates(given, mechanism)
    if mechanism is not None and not design:
        _check_size(given.method, mechanism, candidates)
    there = on_engine(given, files)
    if mechanism is not None and not (given.by or given.where is not None or design):
        if given.bits or not there:
            return lambda: _in_chunks(given, files, sheet, candidates)
    refuse_options(given, ("bits",), "sums the bits of all rows: leave --by and --where out")
    return lambda: _surveyed(given, sheet, candidates, design)


def _surveyed(
    given: argparse.Namespace, sheet: ldp.Questionnaire, candidates: Any, design: dict[str, Any]
) -> ldp.FrequencyResults | ldp.GroupedResults | ldp.WeightedResults:
    """The fit of a question in all rows or in some, perhaps by groups."""
    survey = opened(given, sheet, design)
    several = [one for one in given.by if "," in one and one not in survey.columns]
    if several:
        remedy = "no such column: give --by again for each column"
        raise InvalidArgument("--by", several[0], remedy)
    with watching(survey.data if on_a_terminal() else None):
        results = survey.frequencies(
            given.column, given.by or None, candidates, method=given.method
        )
    refuse_missing(given, results.n_missing)
    return results


def _in_chunks(
    given: argparse.Namespace, files: list[Path], sheet: ldp.Questionnaire, candidates: Any
) -> ldp.FrequencyResults:
    """The fit of a question whose column is read chunk by chunk, or whose bits are summed."""
    for file in files:
        check_fingerprint_column(file, sheet)
    return _modelled(given, _counts(given, sheet[given.column], given.column), candidates)


def _google(given: argparse.Namespace, files: list[Path]) -> ldp.RAPPOR:
    """The RAPPOR of --params, whose files have columns of their own."""
    if len(files) != 1:
        raise InvalidArgument("input", source(given), "must be one file with --params")
    refuse_engine(given, "goes with --spec and --questionnaire: files of google/rappor are CSV")
    for name in ("column", "count", "cohort", "na"):
        value = getattr(given, name)
        if value is not None and value != []:
            raise InvalidArgument(option(name), value, "goes with --spec only")
    return io.read_rappor_params(given.params)


def _candidates(given: argparse.Namespace, mechanism: ldp.Mechanism) -> Any:
    """The candidates of --candidates or --map; None where the mechanism lists its categories."""
    flag, path = ("--candidates", given.candidates) if given.map is None else ("--map", given.map)
    if not mechanism.is_open:
        if path is not None:
            raise InvalidArgument(flag, path, f"must be left out: {mechanism} lists its categories")
        return None
    if path is None:
        raise InvalidArgument(
            flag,
            None,
            f"is needed: any text is an answer to {mechanism}; name a file of candidates",
        )
    if given.map is None:
        return io.read_candidates(path)
    if not isinstance(mechanism, ldp.RAPPOR):
        raise InvalidArgument(flag, path, f"goes with RAPPOR only, not with {mechanism}")
    if not path.lower().endswith((".csv", ".csv.gz")):
        raise InvalidArgument(
            flag,
            path,
            "must end in .csv or .csv.gz; a list, one candidate a line, goes with --candidates",
        )
    return io.read_rappor_map(path, mechanism)


def _check_size(method: str | None, mechanism: ldp.Mechanism, candidates: Any) -> None:
    """Before reports are read, refuse more hashed candidates than a covariance can hold."""
    if method == "lasso" or not isinstance(mechanism, Hashed):
        return
    k = len(mechanism.labels(candidates))
    if k > LARGEST_DENSE:
        raise InvalidArgument(
            "--method",
            method,
            f"has no standard errors for {k} candidates, {LARGEST_DENSE} at most: use "
            "--method lasso, which selects among them first",
        )


def _google_counts(given: argparse.Namespace, mechanism: Any) -> ldp.Counts | ldp.BitCounts:
    """The counts or reports of a file of google/rappor."""
    file = source(given)
    if "cohort" not in header_of(file):  # a file of counts has no header
        return io.read_rappor_counts(file, mechanism)
    with progress("counting") as advance:
        how: dict[str, Any] = {"missing": missing(given), "bits": given.bits, "advance": advance}
        return io.read_rappor_reports(file, mechanism, **how)


def _detected(results: ldp.FrequencyResults, given: argparse.Namespace) -> str:
    """The categories detected, one a line."""
    from ldpstats.models.shared.tables import distinct_lines

    if results.caution:
        return f"Detected: not shown; the list is not complete, and {results.caution}"
    method = given.detect or _CORRECTIONS[0]
    found = results.detected(given.alpha, method)
    rate = "false discovery rate" if method == "bh" else "family-wise error"
    head = f"Detected ({method}, {rate} {given.alpha:g}): "
    lines = [f"{head}{len(found)} of {len(results.categories)}"]
    lines += [f"  {text}" for text in distinct_lines(found[: given.max_rows], _WIDTH)]
    if len(found) > given.max_rows:
        lines.append(f"  and {len(found) - given.max_rows} more")
    return "\n".join(lines)
