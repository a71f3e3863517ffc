"""ldpstats fit: from a table of reports to frequencies."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import ldpstats as ldp
from ldpstats import io
from ldpstats.arguments.checks import one_of
from ldpstats.cli.common import (
    HOW,
    add_output,
    add_reading,
    check_output,
    option,
    output_files,
    progress,
)
from ldpstats.errors import InvalidArgument
from ldpstats.io.google.fields import header_of
from ldpstats.mechanisms.hashed.base import Hashed
from ldpstats.problems.hashed.moments import LARGEST_DENSE

__all__ = ["add_fit"]

_WIDTH = 76  # of a label in a list

_CORRECTIONS = ("bonferroni", "holm", "bh")

_FIT = """\
Estimate how frequent each category is among the true answers, from privatised reports. The
specification must be the one that made them: files that ldpstats wrote say which that is.
Where any text is an answer, the frequencies are those of a list of candidates, and the candidates
detected are listed under the table. With --params, INPUT is a file of google/rappor, counts or
reports.
"""


def add_fit(commands: Any) -> None:
    words = "estimate the frequencies of the categories from reports"
    command = commands.add_parser("fit", help=words, description=_FIT, **HOW)
    command.set_defaults(run=_fit)
    add = command.add_argument
    add("input", metavar="INPUT", help="table of reports")
    of = command.add_mutually_exclusive_group(required=True)
    of.add_argument("--spec", metavar="FILE", help="specification of the mechanism (JSON)")
    of.add_argument("--params", metavar="FILE", help="parameters of google/rappor (CSV)")
    add("--column", help="column of reports (default: report)")
    add("--count", metavar="COLUMN", help="column of counts, where a row is many reports")
    add("--cohort", metavar="COLUMN", help="column of cohorts (default: reports are cohort:report)")
    among = command.add_mutually_exclusive_group()
    among.add_argument("--candidates", metavar="FILE", help="text file of candidates, one a line")
    among.add_argument("--map", metavar="FILE", help="map of candidates of google/rappor (CSV)")
    add("--bits", action="store_true", help="sum bits instead of keeping their patterns")
    words = "mle (default), inversion (default with candidates or --bits), lasso, em, ..."
    add("--method", help=f"estimator: {words}")
    words = "list the categories detected, corrected for multiple tests: "
    words += f"{', '.join(_CORRECTIONS)} (default for candidates: {_CORRECTIONS[0]})"
    add("--detect", choices=_CORRECTIONS, metavar="METHOD", help=words)
    words = "1 - coverage of intervals, and error rate of --detect"
    add_output(add, words, "categories", "the estimates")
    add_reading(add, "answers", "count and report them")


def _fit(given: argparse.Namespace) -> int:
    check_output(given, (given.input, given.spec, given.params, given.candidates, given.map))
    if given.method is not None:
        from ldpstats.estimators import ESTIMATORS

        one_of("method", given.method, tuple(ESTIMATORS))
    mechanism = _google(given) if given.spec is None else io.read_mechanism(given.spec)
    candidates = _candidates(given, mechanism)
    _check_size(given.method, mechanism, candidates)
    with output_files(given) as write:
        with progress("counting") as advance:
            counts = _counts(given, mechanism, advance)
        if not counts.nobs:
            raise InvalidArgument("input", given.input, "holds no report: nothing can be estimated")
        results = ldp.FrequencyModel(counts, candidates=candidates).fit(given.method)
        document = results.to_json()
        table = str(results.summary(given.alpha, given.max_rows, given.details))
        if given.detect or candidates is not None:
            table += f"\n\n{_detected(results, given)}"
        write(document, lambda: results.plot(alpha=given.alpha))
    print(document if given.json == "-" else table)
    return 0


def _google(given: argparse.Namespace) -> ldp.RAPPOR:
    """The RAPPOR of --params, whose files have columns of their own."""
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


def _counts(
    given: argparse.Namespace, mechanism: Any, advance: Callable[[float], None] | None
) -> ldp.Counts | ldp.BitCounts:
    how: dict[str, Any] = {"missing": given.missing, "bits": given.bits, "advance": advance}
    if given.spec is not None:
        column = "report" if given.column is None else given.column
        how |= {"cohort": given.cohort, "na": given.na}
        return io.read_counts(given.input, mechanism, column, given.count, **how)
    if "cohort" in header_of(given.input):  # a file of counts has no header
        return io.read_rappor_reports(given.input, mechanism, **how)
    return io.read_rappor_counts(given.input, mechanism)


def _detected(results: ldp.FrequencyResults, given: argparse.Namespace) -> str:
    """The categories detected, one a line."""
    from ldpstats.models.shared.tables import one_line

    if results.caution:
        return f"Detected: not shown; the list is not complete, and {results.caution}"
    method = given.detect or _CORRECTIONS[0]
    found = results.detected(given.alpha, method)
    rate = "false discovery rate" if method == "bh" else "family-wise error"
    head = f"Detected ({method}, {rate} {given.alpha:g}): "
    lines = [f"{head}{len(found)} of {len(results.categories)}"]
    lines += [f"  {one_line(label, _WIDTH)}" for label in found[: given.max_rows]]
    if len(found) > given.max_rows:
        lines.append(f"  and {len(found) - given.max_rows} more")
    return "\n".join(lines)
