"""The commands ``ldpstats survey`` and ``discover``: strings that nobody listed."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import pandas as pd

import ldpstats as ldp
from ldpstats import io
from ldpstats.arguments.checks import one_of, probability
from ldpstats.cli.common import (
    HOW,
    add_output,
    add_reading,
    check_output,
    option,
    output_files,
    progress,
)
from ldpstats.cli.tables import (
    INPUTS,
    add_engine,
    files_of,
    on_engine,
    running,
    source,
)
from ldpstats.engines.query import Query
from ldpstats.engines.sources import opened
from ldpstats.errors import InvalidArgument
from ldpstats.io.dictionary.reading import DictionaryTable
from ldpstats.io.report_columns import SURVEY_COLUMNS
from ldpstats.models.dictionary.search.evidence import SEARCHES, THRESHOLDS
from ldpstats.models.shared.bar import moved

__all__ = ["add_discover", "add_survey"]

_SURVEY = """\
Write the specification of a survey of strings that nobody listed. A respondent reports two grams of
the string, at random positions, and the whole string, each privatised; together they spend epsilon.

In --alphabet, two characters with a hyphen between them stand for all from the first to the second
in the order of Unicode: "a-z0-9". A hyphen that is the first character, the last one, or follows
such a range, stands for itself: "a-z0-9.-". What begins with one is written --alphabet="-a-z".
"""

_SURVEY_EXAMPLES = """\
examples:
  ldpstats survey hosts.json --length 20 --gram 2 --alphabet "a-z0-9.-" --epsilon 4.4
  ldpstats survey words.json --length 12 --gram 3 --alphabet a-z --epsilon 6 \\
      --split 0.3 0.35 0.35 --string-mechanism rappor
  ldpstats audit hosts.json
  ldpstats privatize visits.csv reports.csv --column host --survey hosts.json
  ldpstats discover reports.csv --survey hosts.json
"""

_DISCOVER = """\
Find the frequent strings of a dictionary that nobody listed, and estimate their frequencies. The
reports of grams propose candidates, those of whole strings test them: the probability of printing
even one string that nobody holds is at most --alpha. How many strings can be found depends on the
number of reports and on epsilon; the notes under the table say how frequent they must be.

INPUT is what ldpstats privatize --survey wrote, or a table with the same columns: start_1, gram_1,
start_2, gram_2 and string. Several files, a folder or a pattern in quotes are one table. The search
needs the reports themselves, in memory.
"""

_DISCOVER_EXAMPLES = """\
examples:
  ldpstats discover reports.csv --survey hosts.json --plot hosts.png --plot-kind graph
  ldpstats discover reports.parquet --survey hosts.json --keep "[a-z0-9.-]+[.][a-z]{2,}" --json -
"""

# arguments of `DictionaryModel.fit` that are options: type and help
_NUMBERS: dict[str, tuple[type, str]] = {
    "false_grams": (float, "expected number of absent grams kept at a position"),
    "max_grams": (int, "most grams kept at a position"),
    "max_candidates": (int, "most strings tested"),
    "width": (int, "most partial strings that the search follows"),
}

_MOST_CHARACTERS = 1 << 16  # of a range

_PLOTS = ("strings", "graph")


# -- survey ----------------------------------------------------------------------------------------


def add_survey(commands: Any) -> None:
    """Add the command to those of the program."""
    words = "specify how strings that nobody listed are reported"
    how = HOW | {"description": _SURVEY, "epilog": _SURVEY_EXAMPLES}
    command = commands.add_parser("survey", help=words, **how)
    command.set_defaults(run=_survey)
    add = command.add_argument
    add("output", metavar="OUTPUT", help="specification to write (JSON)")
    words = "characters of a string, a multiple of --gram; longer strings lose their end"
    add("--length", type=int, required=True, metavar="M", help=words)
    add("--gram", type=int, required=True, metavar="N", help="characters of a gram")
    words = "the characters of strings, such as a-z0-9.-"
    add("--alphabet", required=True, metavar="TEXT", help=words)
    words = "privacy of all that a respondent reports, in nats"
    add("--epsilon", type=float, required=True, help=words)
    words = "shares of epsilon: of the string, the first and the second gram (default: a third)"
    add("--split", type=float, nargs=3, metavar=("STRING", "GRAM", "GRAM"), help=words)
    add("--gram-mechanism", metavar="NAME", help="best (default), krr, oue, orr, rappor")
    add("--string-mechanism", metavar="NAME", help="orr (default), rappor")
    words = "characters from one gram to the next (default: N): less makes grams overlap"
    add("--step", type=int, metavar="S", help=words)
    words = "character that fills short strings, not one of the alphabet (default: a space)"
    add("--pad", default=" ", metavar="CHARACTER", help=words)
    words = "character of the alphabet to put for any other (default: refuse such strings)"
    add("--replace", metavar="CHARACTER", help=words)
    add("--force", action="store_true", help="overwrite a file that exists")


def _survey(given: argparse.Namespace) -> int:
    survey = ldp.DictionarySurvey(
        given.length,
        given.gram,
        _characters(given.alphabet),
        given.epsilon,
        given.split,
        given.gram_mechanism,
        given.string_mechanism,
        given.pad,
        given.step,
        given.replace,
    )
    io.write_survey(survey, given.output, force=given.force)
    print(f"{given.output}: {survey}")
    print(f"  each gram: {survey.gram_mechanism}")
    print(f"  the string: {survey.string_mechanism}")
    return 0


def _characters(text: str) -> str:
    """The characters of an alphabet that is written with ranges, such as "a-z0-9.-"."""
    first = "-" * text.startswith("-")  # stands for itself
    return first + re.sub("(.)-(.)", _range, text[len(first) :], flags=re.DOTALL)


def _range(found: re.Match[str]) -> str:
    first, last = map(ord, found.groups())
    if not 0 <= last - first < _MOST_CHARACTERS:
        remedy = "is not a range upwards: write it as a-z; put a hyphen that is a character last"
        raise InvalidArgument("--alphabet", found[0], remedy)
    return "".join(map(chr, range(first, last + 1)))


# -- discover --------------------------------------------------------------------------------------


def add_discover(commands: Any) -> None:
    """Add the command to those of the program."""
    words = "find frequent strings that nobody listed, from reports"
    how = HOW | {"description": _DISCOVER, "epilog": _DISCOVER_EXAMPLES}
    command = commands.add_parser("discover", help=words, **how)
    command.set_defaults(run=_discover)
    add = command.add_argument
    defaults = {
        name: p.default for name, p in signature(ldp.DictionaryModel.fit).parameters.items()
    }
    add("input", metavar="INPUT", nargs="+", help=INPUTS)
    words = "specification of the survey (JSON)"
    add("--survey", metavar="FILE", required=True, help=words)
    words = "regular expression that a string must match as a whole, or it is not tested"
    add("--keep", metavar="REGEX", help=words)
    words = f"likelihood or cliques (default: {defaults['search']})"
    add("--search", metavar="NAME", default=defaults["search"], help=words)
    words = "frequency from which a pair of grams is an edge: standard, fpe16 or a number"
    words += f" (default: {defaults['threshold']})"
    add("--threshold", default=defaults["threshold"], help=words)
    for name, (kind, words) in _NUMBERS.items():
        words += f" (default: {defaults[name]:g})"
        add(option(name), type=kind, default=defaults[name], metavar="N", help=words)
    words = "probability of finding any string that nobody holds, and 1 - coverage of intervals"
    add_output(add, words, "strings", "the strings or the graph of their grams")
    words = f"{', '.join(_PLOTS)} (default: {_PLOTS[0]})"
    add("--plot-kind", choices=_PLOTS, metavar="KIND", help=words)
    add_engine(add)
    add_reading(add, "reports", "leave such respondents out, and count them")


def _discover(given: argparse.Namespace) -> int:
    files = files_of(given)
    check_output(given, (*map(str, files), given.survey))
    if given.plot is None and given.plot_kind is not None:
        raise InvalidArgument("--plot-kind", given.plot_kind, "goes with --plot")
    how = {name: getattr(given, name) for name in ("alpha", *_NUMBERS)}
    how["search"] = one_of("--search", given.search, SEARCHES)
    how["threshold"] = _threshold(given.threshold)
    survey = io.read_survey(given.survey)
    with output_files(given) as write:
        reports = _read(given, files, survey)
        if not len(reports):
            raise InvalidArgument("input", source(given), "holds no report: nothing can be found")
        model = ldp.DictionaryModel(reports, keep=given.keep)
        with progress("discovering") as advance:
            show = None if advance is None else lambda stage, fraction: advance(fraction, stage)
            results = model.fit(**how, progress=show)
        tested = results.candidates_frame.rename_axis("string").reset_index()
        document = results.to_dict() | {"tested": tested.to_dict(orient="records")}
        text = json.dumps(document, allow_nan=False)
        table = str(results.summary(given.alpha, given.max_rows, given.details))
        draw = partial(results.plot_graph, title=given.title)
        if given.plot_kind != "graph":
            draw = partial(results.plot, alpha=given.alpha, title=given.title)
        write(text, draw)
    print(text if given.json == "-" else table)
    return 0


def _read(
    given: argparse.Namespace, files: list[Path], survey: ldp.DictionarySurvey
) -> ldp.DictionaryReports:
    """The reports of all files, one after another."""
    there = on_engine(given, files)
    reports, read = survey.no_reports(), _engine_rows if there else _csv_rows
    with running(given), progress("reading") as advance:
        intact = _intact(given, files) if there else files
        for number, file in enumerate(intact):
            reports = reports + read(given, file, survey, moved(advance, number, len(intact)))
    return reports


def _csv_rows(
    given: argparse.Namespace, file: Path, survey: ldp.DictionarySurvey, advance: Any
) -> ldp.DictionaryReports:
    how: dict[str, Any] = {"missing": given.missing, "na": given.na, "advance": advance}
    return io.read_dictionary_reports(file, survey, **how)


def _engine_rows(
    given: argparse.Namespace, file: Path, survey: ldp.DictionarySurvey, advance: Any
) -> ldp.DictionaryReports:
    table = DictionaryTable(file, survey, list(SURVEY_COLUMNS), given.na)
    query = _query(given, file, "raise")
    beside = [column for column in table.optional if column in query.columns]
    total = max(1, len(query))

    def frames() -> Iterator[pd.DataFrame]:
        done = 0
        for batch in query.batches([*SURVEY_COLUMNS, *beside]):
            yield batch.to_pandas(types_mapper=pd.ArrowDtype)
            done += batch.num_rows
            if advance is not None:
                advance(done / total)

    return table.gathered(frames(), given.missing)


def _query(given: argparse.Namespace, table: object, on_error: str) -> Query:
    query = opened(table, "input", None, given.engine, on_error)
    assert query is not None  # for Parquet files
    return query


def _intact(given: argparse.Namespace, files: list[Path]) -> list[Path]:
    """The files that can be read; with --on-error report the others are left out, with warnings."""
    query = _query(given, source(given), given.on_error)
    if given.on_error == "report":  # the first batch comes once every file was read as a whole
        next(query.batches(SURVEY_COLUMNS), None)
    left_out = dict(query.left_out)
    return [file for file in files if str(file) not in left_out]


def _threshold(text: str) -> str | float:
    """The name of a threshold, or a frequency."""
    if text in THRESHOLDS:
        return text
    try:
        return probability("--threshold", float(text))
    except ValueError:
        remedy = f"must be {', '.join(THRESHOLDS)} or a frequency from 0 to 1"
        raise InvalidArgument("--threshold", text, remedy) from None
