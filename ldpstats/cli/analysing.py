"""ldpstats fit, associate, survey and discover: from tables of reports to results.

The four commands come first; then what they share: combinations of reports, tables of a
questionnaire, engines, options given once for each variable, and complex samples.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

import ldpstats as ldp
from ldpstats import io
from ldpstats.arguments import one_of, positive_integer, probability
from ldpstats.cli.common import (
    Once,
    add_output,
    add_reading,
    added,
    adder,
    check_csv,
    check_output,
    in_file,
    on_a_terminal,
    option,
    output_files,
    progress,
)
from ldpstats.engines.others import ENGINES
from ldpstats.engines.others import opened as opened_table
from ldpstats.engines.parquet import found_files
from ldpstats.errors import InvalidArgument, LDPWarning, NotAvailable, NotIdentified
from ldpstats.estimators import ESTIMATORS, JOINT_ESTIMATORS
from ldpstats.inference.designs.linearisation import SINGLE_UNIT
from ldpstats.io.google import header_of
from ldpstats.io.reports import SURVEY_COLUMNS, read_fingerprints
from ldpstats.io.storage import FilePath
from ldpstats.io.tables import table_chunks
from ldpstats.likelihood.hashed import LARGEST_DENSE
from ldpstats.mechanisms.hashed import Hashed
from ldpstats.models.association.evidence import METHODS
from ldpstats.models.association.groups import variable_names
from ldpstats.models.dictionary.search import SEARCHES, THRESHOLDS
from ldpstats.models.layout import distinct_lines
from ldpstats.models.plots import moved
from ldpstats.survey.analyses import sums_suffice, watching
from ldpstats.survey.data import held_on, rows_of
from ldpstats.survey.questions import FINGERPRINTS

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
    command = added(commands, "fit", _fit, words, _FIT)
    add = adder(command)
    add("input", INPUTS, "INPUT", nargs="+")
    add_of = adder(command.add_mutually_exclusive_group(required=True))
    add_of("--spec", "specification of the mechanism (JSON)", "FILE", action=Once)
    add_of("--params", "parameters of google/rappor (CSV)", "FILE")
    add_of("--questionnaire", "questionnaire of the table (JSON)", "FILE")
    add("--column", "column of reports (default: report)", action=Once)
    add("--count", "column of counts, where a row is many reports", "COLUMN")
    add("--cohort", "column of cohorts (default: reports are cohort:report)", "COLUMN", action=Once)
    add_among = adder(command.add_mutually_exclusive_group())
    add_among("--candidates", "text file of candidates, one a line", "FILE", action=Once)
    add_among("--map", "map of candidates of google/rappor (CSV)", "FILE")
    words = "with --questionnaire: public column that makes groups; may be given again"
    add("--by", words, "COLUMN", several=True)
    add_where(add)
    add("--bits", "sum bits instead of keeping their patterns")
    words = "mle (default), inversion (default with candidates or --bits), lasso, em, ..."
    add("--method", f"estimator: {words}", "METHOD")
    words = "list the categories detected, corrected for multiple tests: "
    words += f"{', '.join(_CORRECTIONS)} (default for candidates: {_CORRECTIONS[0]})"
    add("--detect", words, "METHOD", choices=_CORRECTIONS)
    words = "1 - coverage of intervals, and error rate of --detect"
    add_output(add, words, "categories", "the estimates")
    add("--csv", "write the table of estimates as CSV; - prints it instead", "FILE")
    add_engine(add)
    add_reading(add, "answers", "count and report them", missing=None)
    add_design(command)


def _fit(given: argparse.Namespace) -> None:
    of = (given.spec, given.params, given.questionnaire)
    files = list(found_files(source(given), True)[0])
    check_output(given, (*map(str, files), *of, given.candidates, given.map, in_file(given.csv)))
    check_csv(given)
    if given.method is not None:
        one_of("method", given.method, tuple(ESTIMATORS))
    design = design_of(given)
    if given.questionnaire is None:
        estimate = _from_counts(given, files)
    else:
        estimate = _from_survey(given, files, design)
    with output_files(given, given.csv) as write, running(given):
        results = estimate()
        document = results.to_json()
        frame = results.to_frame(given.alpha).to_csv(index=False, lineterminator="\n")
        table = str(results.summary(given.alpha, given.max_rows, given.details))
        if isinstance(results, ldp.FrequencyResults) and (
            given.detect or results.unexplained is not None
        ):
            table += f"\n\n{_detected(results, given)}"
        write(document, lambda: results.plot(alpha=given.alpha, title=given.title), frame)
    print(document if given.json == "-" else frame.rstrip("\n") if given.csv == "-" else table)


def _from_counts(given: argparse.Namespace, files: list[Path]) -> Callable[[], Any]:
    """What fits a table of the reports of one mechanism; its options are checked first."""
    refuse_options(given, ("by", "where", "sep"), "goes with --questionnaire only")
    mechanism: Any
    if given.spec is not None:
        mechanism = io.read_mechanism(given.spec)
    else:  # files of google/rappor have columns of their own
        if len(files) != 1:
            raise InvalidArgument("input", source(given), "must be one file with --params")
        refuse_engine(given, "goes with --spec and --questionnaire: files of google/rappor are CSV")
        for name in ("column", "count", "cohort", "na"):
            value = getattr(given, name)
            if value is not None and value != []:
                raise InvalidArgument(option(name), value, "goes with --spec only")
        mechanism = io.read_rappor_params(given.params)
    candidates = _candidates(given, mechanism)
    _check_size(given.method, mechanism, candidates)
    sums = False
    if given.spec is not None:
        sums = on_engine(given, files) and sums_suffice(mechanism, candidates, given.method, None)

    def fit() -> ldp.FrequencyResults:
        counts: ldp.Counts | ldp.BitCounts
        if given.spec is not None:
            column = "report" if given.column is None else given.column
            how: dict[str, Any] = {"count": given.count, "cohort": given.cohort}
            counts = _counts(given, mechanism, column, sums, **how)
        elif "cohort" not in header_of(source(given)):  # a file of counts has no header
            counts = io.read_rappor_counts(source(given), mechanism)
        else:
            with progress("counting") as advance:
                how = {"missing": missing(given), "bits": given.bits, "advance": advance}
                counts = io.read_rappor_reports(source(given), mechanism, **how)
        return _modelled(given, counts, candidates)

    return fit


def _modelled(given: argparse.Namespace, counts: Any, candidates: Any) -> ldp.FrequencyResults:
    if not counts.nobs:
        remedy = "holds no report: nothing can be estimated"
        raise InvalidArgument("input", source(given), remedy)
    model = ldp.FrequencyModel(counts, candidates=candidates, name=given.column)
    return model.fit(given.method)


def _counts(
    given: argparse.Namespace, mechanism: Any, column: str, sums: bool = False, **how: Any
) -> ldp.Counts | ldp.BitCounts:
    """The counts of a column of reports, or the sums of their bits where these suffice."""
    how |= {"missing": missing(given), "bits": given.bits or sums}
    how["na"] = missing_codes(given)
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
        if given.sep is None and (given.bits or not there):

            def in_chunks() -> ldp.FrequencyResults:
                for file in files:
                    check_fingerprint_column(file, sheet)
                counts = _counts(given, sheet[given.column], given.column)
                return _modelled(given, counts, candidates)

            return in_chunks
    refuse_options(given, ("bits",), "sums the bits of all rows: leave --by and --where out")

    def fit() -> ldp.FrequencyResults | ldp.GroupedResults | ldp.WeightedResults:
        survey = opened(given, sheet, design)
        several = [one for one in given.by if "," in one and one not in survey.columns]
        if several:
            remedy = "no such column: give --by again for each column"
            raise InvalidArgument("--by", several[0], remedy)
        by, how = given.by or None, {"method": given.method}
        with watching(survey.data if on_a_terminal() else None):
            results = survey.frequencies(given.column, by, candidates, **how)
        refuse_missing(given, results.n_missing)
        return results

    return fit


def _candidates(given: argparse.Namespace, mechanism: ldp.Mechanism) -> Any:
    """The candidates of --candidates or --map; None where the mechanism lists its categories."""
    flag, path = ("--candidates", given.candidates) if given.map is None else ("--map", given.map)
    if not mechanism.is_open:
        if path is not None:
            raise InvalidArgument(flag, path, f"must be left out: {mechanism} lists its categories")
        return None
    if path is None:
        remedy = f"is needed: any text is an answer to {mechanism}; name a file of candidates"
        raise InvalidArgument(flag, None, remedy)
    if given.map is None:
        return io.read_candidates(path)
    if not isinstance(mechanism, ldp.RAPPOR):
        raise InvalidArgument(flag, path, f"goes with RAPPOR only, not with {mechanism}")
    if not path.lower().endswith((".csv", ".csv.gz")):
        remedy = "must end in .csv or .csv.gz; a list, one candidate a line, goes with --candidates"
        raise InvalidArgument(flag, path, remedy)
    return io.read_rappor_map(path, mechanism)


def _check_size(method: str | None, mechanism: ldp.Mechanism, candidates: Any) -> None:
    """Before reports are read, refuse more hashed candidates than a covariance can hold."""
    if method == "lasso" or not isinstance(mechanism, Hashed):
        return
    k = len(mechanism.labels(candidates))
    if k > LARGEST_DENSE:
        remedy = f"has no standard errors for {k} candidates, {LARGEST_DENSE} at most: use "
        remedy += "--method lasso, which selects among them first"
        raise InvalidArgument("--method", method, remedy)


def _detected(results: ldp.FrequencyResults, given: argparse.Namespace) -> str:
    """The categories detected, one a line."""
    if results.caution:
        return f"Detected: not shown; the list is not complete, and {results.caution}"
    method = given.detect or _CORRECTIONS[0]
    detected = results.detected(given.alpha, method)
    rate = "false discovery rate" if method == "bh" else "family-wise error"
    head = f"Detected ({method}, {rate} {given.alpha:g}): "
    lines = [f"{head}{len(detected)} of {len(results.categories)}"]
    lines += [f"  {text}" for text in distinct_lines(detected[: given.max_rows], _WIDTH)]
    if len(detected) > given.max_rows:
        lines.append(f"  and {len(detected) - given.max_rows} more")
    return "\n".join(lines)


# -- The command ``ldpstats associate``: are privatised variables associated? ----------------------


_ASSOCIATE = """\
Estimate the joint distribution of two or more variables that the same respondents reported, each
privatised by its own mechanism, and test whether they are independent. Options that say "each" are
given once for every variable, in the same order; "-" stands for none.

INPUT has a column of reports for each variable; a row is one respondent, or with --count several
who gave the same reports. Or each variable has its own table: INPUT is the first, --with names the
others, and --id names the column that matches their rows, in any order.

INPUT, and each table of --with, may be a folder or a pattern in quotes, whose files are one table.

With --questionnaire, each --column names one of its questions, or a public column of text, and the
table may be cut by --where. Respondents without all of the answers are left out and counted. If
--weights, --strata, --clusters or --fpc name columns of a complex sample, the table is that of its
population.
"""

_PLOTS = ("heatmap", "departures", "mosaic")


def add_associate(commands: Any) -> None:
    words = "estimate a joint distribution from reports, and test independence"
    command = added(commands, "associate", _associate, words, _ASSOCIATE)
    stray = "the table of another variable is given by --with {} --id COLUMN; several files of one "
    stray += "table by a pattern in quotes"
    command.set_defaults(stray=stray)
    add = adder(command)
    add("input", "table of reports: a file, a folder or a pattern in quotes", "INPUT")

    def each(name: str, metavar: str, words: str) -> None:
        add(name, f"each: {words}", metavar, several=True)

    each("--spec", "FILE", "specification of the mechanism (JSON)")
    words = "questionnaire of the table (JSON), instead of --spec"
    add("--questionnaire", words, "FILE")
    each("--column", "COLUMN", "column of reports (default with --with: report)")
    words = "name of the variable (default: its column, or its table where columns are alike)"
    each("--name", "NAME", words)
    add_where(add)
    each("--cohort", "COLUMN", "column of cohorts (default: reports are cohort:report)")
    words = "devices drew each report afresh: no two come from one permanent response"
    add("--drawn-afresh", words)
    words = "text file, one a line: candidates, or the categories to keep where all are known"
    each("--candidates", "FILE", words)
    add("--other", 'add a category "Other" for all other answers')
    words = "table of the next variable (once for each but the first)"
    add("--with", words, "FILE", dest="others", several=True)
    add("--id", "column that identifies the respondents, in every table", "COLUMN")
    add("--count", "column of counts, where a row is many respondents", "COLUMN")
    words = "mle (default), one_step, em, inversion, ..."
    add("--method", f"estimator: {words}", "NAME")
    words = f"test of independence: score (default), {', '.join(METHODS[1:])}"
    add("--test", words, "NAME", choices=METHODS)
    words = "score, pearson: permutations for the p-value (default: 999 if counts are small)"
    add("--permutations", words, "B", type=int)
    words = "bootstrap: surveys to simulate (default: 199)"
    add("--surveys", words, "B", type=int)
    add("--seed", "seed of permutations and simulated surveys, which need one", type=int)
    add_output(add, "1 - coverage of intervals", "cells", "the table", _PLOTS)
    words = "leave such respondents out, and count them"
    add_engine(add)
    what = "reports, and respondents who are not in every table"
    add_reading(add, what, words, missing=None)
    add_design(command)


def _associate(given: argparse.Namespace) -> None:
    # The options of the test that draw at random
    method = given.test or METHODS[0]
    test_options: dict[str, Any] = {}
    for name, argument, methods in (
        ("permutations", "n_permutations", ("score", "pearson")),
        ("surveys", "n_boot", ("bootstrap",)),
        ("seed", "rng", ("score", "pearson", "bootstrap")),
    ):
        value = getattr(given, name)
        if value is None:
            continue
        if method not in methods:
            raise InvalidArgument(option(name), value, f"goes with --test {' or '.join(methods)}")
        test_options[argument] = positive_integer(option(name), value, 0 if name == "seed" else 1)
    if "rng" in test_options:
        test_options["rng"] = np.random.default_rng(test_options["rng"])
    elif test_options or method == "bootstrap":
        raise InvalidArgument("--seed", None, "is needed for p-values by simulation, for example 1")
    one_of("--method", given.method or "mle", tuple(JOINT_ESTIMATORS))
    design = design_of(given)
    fit = _weighted(given, design) if design else _unweighted(given, test_options)
    with output_files(given) as write, running(given):
        results, test, is_shown = fit()
        document = results.to_dict() | {"test": None if test is None else test.to_dict()}
        text = json.dumps(document, allow_nan=False)
        table = str(results.summary(given.alpha, given.max_rows, given.details))
        if test is not None and not is_shown:
            table += f"\n\n{test}"
        kind, how = given.plot_kind or _PLOTS[0], {"alpha": given.alpha, "title": given.title}
        write(text, lambda: results.plot(kind, **how))
    print(text if given.json == "-" else table)


Fitted = tuple[Any, ldp.TestResult | None, bool]
"""Results, the test of independence, and whether their summary shows it."""


def _unweighted(given: argparse.Namespace, how: dict[str, Any]) -> Callable[[], Fitted]:
    """What fits a table of respondents who count the same; its options are checked first."""
    read = from_tables(given) if given.questionnaire is None else from_survey(given)

    def fit() -> Fitted:
        counts, candidates, names = read()
        if not counts.nobs:
            remedy = "holds no respondent with a report on every variable: nothing can be estimated"
            raise InvalidArgument("input", given.input, remedy)
        asked = {"candidates": candidates, "names": names, **_kinds(given)}
        model = ldp.AssociationModel(counts, **asked)
        results = model.fit(given.method)
        test: ldp.TestResult | None
        if how or given.test not in (None, METHODS[0]):
            test = model.test_independence(results, given.test or METHODS[0], **how)
        else:
            test = _default_test(results) if given.test is None else results.test_independence()
        return results, test, given.test is None and test is results.independence

    return fit


def _weighted(given: argparse.Namespace, design: Mapping[str, Any]) -> Callable[[], Fitted]:
    """What fits the table of a complex sample; its options are checked first."""
    refuse_unweighted(given, ("method", "test", "permutations", "surveys", "seed"))
    sheet, _, candidates, _ = sheet_of(given)

    def fit() -> Fitted:
        survey = opened(given, sheet, design)
        with watching(survey.data if on_a_terminal() else None):
            results = survey.association(*given.column, candidates=candidates, **_kinds(given))
        refuse_missing(given, results.n_missing)
        return results, _default_test(results), True

    return fit


def _kinds(given: argparse.Namespace) -> dict[str, Any]:
    """What answers and devices are taken to be, as arguments of an association."""
    return {"other": given.other, "memoised": False if given.drawn_afresh else None}


def _default_test(results: Any) -> ldp.TestResult | None:
    """The default test of a table; skipped, with a warning, where it is not available."""
    try:
        test: ldp.TestResult = results.test_independence()
    except (NotAvailable, NotIdentified) as error:
        warnings.warn(f"no test of independence: {error}", LDPWarning, stacklevel=2)
        return None
    return test


# -- The commands ``ldpstats survey`` and ``discover``: strings that nobody listed ----------------


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


# -- survey ----------------------------------------------------------------------------------------


def add_survey(commands: Any) -> None:
    words = "specify how strings that nobody listed are reported"
    add = adder(added(commands, "survey", _survey, words, _SURVEY, _SURVEY_EXAMPLES))
    add("output", "specification to write (JSON)", "OUTPUT")
    words = "characters of a string, a multiple of --gram; longer strings lose their end"
    add("--length", words, "M", type=int, required=True)
    add("--gram", "characters of a gram", "N", type=int, required=True)
    words = "the characters of strings, such as a-z0-9.-"
    add("--alphabet", words, "TEXT", required=True)
    words = "privacy of all that a respondent reports, in nats"
    add("--epsilon", words, type=float, required=True)
    words = "shares of epsilon: of the string, the first and the second gram (default: a third)"
    add("--split", words, ("STRING", "GRAM", "GRAM"), type=float, nargs=3)
    add("--gram-mechanism", "best (default), krr, oue, orr, rappor", "NAME")
    add("--string-mechanism", "orr (default), rappor", "NAME")
    words = "characters from one gram to the next (default: N): less makes grams overlap"
    add("--step", words, "S", type=int)
    words = "character that fills short strings, not one of the alphabet (default: a space)"
    add("--pad", words, "CHARACTER", default=" ")
    words = "character of the alphabet to put for any other (default: refuse such strings)"
    add("--replace", words, "CHARACTER")
    add("--force", "overwrite a file that exists")


def _survey(given: argparse.Namespace) -> None:
    names = signature(ldp.DictionarySurvey).parameters  # as the options are called
    how = {name: getattr(given, name) for name in names}
    survey = ldp.DictionarySurvey(**how | {"alphabet": _characters(given.alphabet)})
    io.write_survey(survey, given.output, force=given.force)
    print(f"{given.output}: {survey}")
    print(f"  each gram: {survey.gram_mechanism}")
    print(f"  the string: {survey.string_mechanism}")


def _characters(text: str) -> str:
    """The characters of an alphabet that is written with ranges, such as "a-z0-9.-"."""

    def characters(pair: re.Match[str]) -> str:
        first, last = map(ord, pair.groups())
        if not 0 <= last - first < _MOST_CHARACTERS:
            remedy = (
                "is not a range upwards: write it as a-z; a hyphen that is a character goes last"
            )
            raise InvalidArgument("--alphabet", pair[0], remedy)
        return "".join(map(chr, range(first, last + 1)))

    hyphen = "-" * text.startswith("-")  # stands for itself
    return hyphen + re.sub("(.)-(.)", characters, text[len(hyphen) :], flags=re.DOTALL)


# -- discover --------------------------------------------------------------------------------------


def add_discover(commands: Any) -> None:
    words = "find frequent strings that nobody listed, from reports"
    add = adder(added(commands, "discover", _discover, words, _DISCOVER, _DISCOVER_EXAMPLES))
    fit = signature(ldp.DictionaryModel.fit).parameters
    defaults = {name: parameter.default for name, parameter in fit.items()}
    add("input", INPUTS, "INPUT", nargs="+")
    words = "specification of the survey (JSON)"
    add("--survey", words, "FILE", required=True)
    words = "regular expression that a string must match as a whole, or it is not tested"
    add("--keep", words, "REGEX")
    words = f"likelihood or cliques (default: {defaults['search']})"
    add("--search", words, "NAME", default=defaults["search"])
    words = "frequency from which a pair of grams is an edge: standard, fpe16 or a number"
    words += f" (default: {defaults['threshold']})"
    add("--threshold", words, default=defaults["threshold"])
    for name, (kind, words) in _NUMBERS.items():
        words += f" (default: {defaults[name]:g})"
        add(option(name), words, "N", type=kind, default=defaults[name])
    words = "probability of finding any string that nobody holds, and 1 - coverage of intervals"
    plot = "the strings or the graph of their grams"
    add_output(add, words, "strings", plot, ("strings", "graph"))
    add_engine(add)
    add_reading(add, "reports", "leave such respondents out, and count them")


def _discover(given: argparse.Namespace) -> None:
    files = files_of(given)
    check_output(given, (*map(str, files), given.survey))
    how = {name: getattr(given, name) for name in ("alpha", *_NUMBERS)}
    how["search"] = one_of("--search", given.search, SEARCHES)
    how["threshold"] = given.threshold
    if given.threshold not in THRESHOLDS:
        try:
            how["threshold"] = probability("--threshold", float(given.threshold))
        except ValueError:
            remedy = f"must be {', '.join(THRESHOLDS)} or a frequency from 0 to 1"
            raise InvalidArgument("--threshold", given.threshold, remedy) from None
    survey = io.read_survey(given.survey)
    with output_files(given) as write:
        reports = _reports(given, files, survey)
        if not len(reports):
            raise InvalidArgument("input", source(given), "holds no report: nothing can be found")
        model = ldp.DictionaryModel(reports, keep=given.keep)
        with progress("discovering") as advance:
            results = model.fit(**how, progress=lambda stage, done: advance(done, stage))
        tested = results.candidates_frame.rename_axis("string").reset_index()
        document = results.to_dict() | {"tested": tested.to_dict(orient="records")}
        text = json.dumps(document, allow_nan=False)
        table = str(results.summary(given.alpha, given.max_rows, given.details))
        draw = partial(results.plot_graph, title=given.title)
        if given.plot_kind != "graph":
            draw = partial(results.plot, alpha=given.alpha, title=given.title)
        write(text, draw)
    print(text if given.json == "-" else table)


def _reports(
    given: argparse.Namespace, files: list[Path], survey: ldp.DictionarySurvey
) -> ldp.DictionaryReports:
    """The reports of all files, one after another."""
    reports = survey.no_reports()
    with running(given), progress("reading") as advance:
        if on_engine(given, files) and given.on_error == "report":
            query = opened_table(source(given), "input", None, given.engine, given.on_error)
            assert query is not None  # for Parquet files
            next(query.batches(SURVEY_COLUMNS), None)  # comes once every file was read
            left_out = dict(query.left_out)  # those that cannot be, with warnings
            files = [file for file in files if str(file) not in left_out]
        for number, file in enumerate(files):
            show = moved(advance, number, len(files))
            reports = reports + io.read_dictionary_reports(
                file, survey, missing=given.missing, na=given.na, advance=show
            )
    return reports


# -- How often each combination of reports was seen, from the tables that the options name --------


Read = tuple[ldp.JointCounts, list[Any], list[str]]  # counts, candidates and names


def from_tables(given: argparse.Namespace) -> Callable[[], Read]:
    """What reads the tables of variables with specifications; its options are checked first."""
    refuse_options(given, ("where", "sep"), "goes with --questionnaire only")
    d = len(given.spec)
    if d < 2:
        remedy = "two or more variables are needed, or --questionnaire; ldpstats fit is for one"
        raise InvalidArgument("--spec", given.spec, remedy)
    if given.others and len(given.others) != d - 1:
        remedy = f"must name {d - 1} tables, one for each variable but the first: repeat a table "
        raise InvalidArgument("--with", given.others, f"{remedy}that holds several")
    if given.others and given.id is None:
        remedy = "is needed: name the column that identifies the respondents in all tables"
        raise InvalidArgument("--id", None, remedy)
    paths = [given.input, *given.others] if given.others else [given.input] * d
    columns: list[str] = given.column
    if not columns and given.others:
        columns = ["report"] * d
    elif len(columns) != d:
        remedy = f"must be given once for each of the {d} --spec"
        raise InvalidArgument("--column", columns, remedy)
    # The name of each variable: its column, its table or a letter, whichever is distinct
    names: list[str] = given.name or columns
    if given.others and not given.name and len(set(columns)) < d:
        names = [Path(path).name.split(".")[0] or path for path in paths]
        if len(set(names)) < d:
            names = list(variable_names(None, d))
    if len(names) != d or len(set(names)) < len(names):
        raise InvalidArgument("--name", names, f"must be {d} different names, one for each --spec")
    cohorts, listed = (values_of(given, name, d) for name in ("cohort", "candidates"))
    files = check_files(given, paths, [*given.spec, *listed])
    mechanisms = [io.read_mechanism(path) for path in given.spec]
    candidates = [candidates_of(*each) for each in zip(listed, mechanisms, names, strict=True)]
    asked = dict(zip(columns, mechanisms, strict=False))
    queried = False  # whether one grouped query counts the combinations; else it is done in chunks
    if given.others:
        if any(len(some) > 1 for some in files):
            remedy = "must be one file with --with, as each other table: in Python, "
            raise InvalidArgument("input", given.input, f"{remedy}survey.matched() joins tables")
        refuse_engine(given, "goes without --with: in Python, survey.matched() joins tables")
    elif given.count is not None or any(cohorts) or given.na or len(asked) < len(files):
        refuse_engine(given, "goes without --count, --cohort and --na")
    else:
        queried = on_engine(given, files[0])
    if queried:
        sheet = ldp.Questionnaire(asked)
        return lambda: (_queried(given, sheet, columns), candidates, names)
    return lambda: (_counted(given, files, mechanisms, columns, cohorts), candidates, names)


def from_survey(given: argparse.Namespace) -> Callable[[], Read]:
    """What reads columns of a questionnaire; its options are checked first."""
    sheet, made, candidates, files = sheet_of(given)
    private = given.where is None and all(isinstance(one, ldp.Mechanism) for one in made)
    private &= given.sep is None and isinstance(missing_codes(given), list)
    private &= not any(isinstance(one, ldp.ByColumn) for one in made)
    there = on_engine(given, files[0])

    def read() -> Read:
        if there or not private:
            return _queried(given, sheet, given.column), candidates, given.column
        for file in files[0]:
            check_fingerprint_column(file, sheet)
        counts = _counted(given, files, made, given.column, [None] * len(made))
        return counts, candidates, given.column

    return read


def _queried(
    given: argparse.Namespace, sheet: ldp.Questionnaire, columns: Sequence[str]
) -> ldp.JointCounts:
    """Counts of combinations of reports and public columns of a survey."""
    survey = opened(given, sheet, {})
    with watching(survey.data if on_a_terminal() else None):
        counts = survey.joint_counts(*columns)
    refuse_missing(given, counts.n_missing)
    return counts


def _counted(
    given: argparse.Namespace,
    files: list[list[Path]],
    mechanisms: Sequence[Any],
    columns: Sequence[str],
    cohorts: Sequence[str | None],
) -> Any:
    """Counts of combinations of reports, read chunk by chunk, one file of a table after another."""
    how: dict[str, Any] = {"id": given.id, "missing": missing(given), "na": given.na}
    how |= {"cohorts": cohorts, "count": given.count}
    total: Any = 0
    with progress("counting") as advance:
        for number, paths in enumerate(zip(*files, strict=True)):
            how["advance"] = moved(advance, number, len(files[0]))
            total = total + io.read_joint_counts(paths, mechanisms, columns, **how)
    return total


# -- Tables of a questionnaire on the command line: options, and the survey they describe ---------


def add_where(add: Callable[..., Any]) -> None:
    """The option that chooses respondents."""
    words = (
        "with --questionnaire: only respondents for whom this holds, \"age >= 18 and sex == 'f'\""
    )
    add("--where", words, "CONDITION")
    words = "with --questionnaire: what is between the fields of a CSV file (default: a comma)"
    add("--sep", words, "CHARACTER")


def missing_codes(given: argparse.Namespace) -> Any:
    """The codes of --na: a list, or a mapping where they name columns, as in Q7=9."""
    named = [text for text in given.na if "=" in text and given.questionnaire is not None]
    if not named:
        return given.na
    if len(named) < len(given.na):
        remedy = "must name a column too, COLUMN=TEXT, as others do"
        raise InvalidArgument("--na", next(t for t in given.na if t not in named), remedy)
    found: dict[str, list[str]] = {}
    for text in named:
        column, _, code = text.partition("=")
        found.setdefault(column, []).append(code)
    return found


def refuse_options(given: argparse.Namespace, names: Sequence[str], remedy: str) -> None:
    """Refuse options that were given but do not apply."""
    for name in names:
        value = getattr(given, name)
        if value not in (None, False, []):
            flag = "--with" if name == "others" else option(name)
            raise InvalidArgument(flag, value, remedy)


def missing(given: argparse.Namespace) -> str:
    """What to do with missing answers: count them where a questionnaire expects some."""
    return str(given.missing or ("raise" if given.questionnaire is None else "count"))


def opened(
    given: argparse.Namespace, sheet: ldp.Questionnaire, design: Mapping[str, Any]
) -> ldp.Survey:
    """The table as a survey, perhaps with a design, or some of its rows.

    Of a table without --questionnaire the sheet has some of the mechanisms.
    """
    how = engine_options(given) | ({} if given.sep is None else {"sep": given.sep})
    rows = rows_of(source(given), "input", missing_codes(given), **how)
    table = held_on(rows, sheet, None, given.questionnaire is not None)
    survey = ldp.Survey(table, sheet, **design)
    if survey.design is not None:
        survey.design.check(table)
    return survey if given.where is None else survey.where(given.where)


def refuse_missing(given: argparse.Namespace, n_missing: int) -> None:
    """Refuse missing answers where that was asked for."""
    if given.missing == "raise" and n_missing:
        remedy = f"{n_missing} respondents lack an answer or a group: use --missing count"
        raise InvalidArgument("--missing", "raise", remedy)


def check_fingerprint_column(path: FilePath, sheet: ldp.Questionnaire) -> None:
    """Refuse a table in which a row carries another questionnaire's fingerprint."""
    done = 0
    for frame in table_chunks(path, [], optional=[FINGERPRINTS], codes=[FINGERPRINTS]):
        if FINGERPRINTS not in frame:
            return
        read_fingerprints(path, frame, FINGERPRINTS, (), sheet.in_wave(None), done)
        done += len(frame)


# -- Tables of reports on the command line: one file or several, and the engine that counts them ---


INPUTS = "table of reports: one or several files, a folder, or a pattern in quotes"

_SPARK = {  # of a session of our own; spark-submit has its own settings
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def add_engine(add: Callable[..., Any]) -> None:
    """The options of commands that count on an engine."""
    words = f"what counts the rows of Parquet files: {', '.join(ENGINES)} (default: duckdb)"
    add("--engine", words, "NAME", choices=tuple(ENGINES))
    words = "a file that is damaged, or of another table: refuse all (default: raise), or report "
    words += "it and count the others (report)"
    add("--on-error", words, choices=("raise", "report"), default="raise")


def source(given: argparse.Namespace) -> Any:
    """INPUT as it was given: a name, or a list of names."""
    names = given.input
    return names[0] if isinstance(names, list) and len(names) == 1 else names


def files_of(given: argparse.Namespace, table: object = None) -> list[Path]:
    """The files of a table, INPUT if none is given, in the order in which they are read."""
    named = source(given) if table is None else table
    return list(found_files(named, given.on_error == "report")[0])


def on_engine(given: argparse.Namespace, files: list[Path]) -> bool:
    """Whether an engine counts the table; options of engines are refused where none does.

    CSV is read chunk by chunk.
    """
    if all(file.name.lower().endswith(".parquet") for file in files):
        return True
    refuse_engine(given, "goes with Parquet files: others are read chunk by chunk")
    return False


def refuse_engine(given: argparse.Namespace, remedy: str) -> None:
    """Refuse the options of engines where they do not apply."""
    for name, default in (("engine", None), ("on_error", "raise")):
        value = getattr(given, name)
        if value != default:
            raise InvalidArgument(option(name), value, remedy)


def engine_options(given: argparse.Namespace) -> dict[str, Any]:
    """The options of engines as arguments of `Survey` and `count`."""
    return {"engine": given.engine, "on_error": given.on_error}


@contextmanager
def running(given: argparse.Namespace) -> Iterator[None]:
    """A session of Spark, where it is asked for: that of spark-submit, or one of our own.

    A session of our own runs on the cores of this machine, and ends with the command.
    """
    if given.engine != "spark":
        yield
        return
    from ldpstats.engines.base import needed
    from ldpstats.engines.base import running as named

    with needed("spark", "ldpstats[spark]"):
        from pyspark.sql import SparkSession
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("ldpstats")
    own = "PYSPARK_GATEWAY_PORT" not in os.environ and SparkSession.getActiveSession() is None
    for key, value in _SPARK.items() if own else ():
        builder = builder.config(key, value)
    with named("engine", "spark"):
        session = builder.getOrCreate()
    try:
        if own:
            session.sparkContext.setLogLevel("ERROR")
        yield
    finally:
        if own:
            session.stop()


# -- Options of the command that are given once for each of several variables ---------------------


_NONE = "-"  # stands for no value


def sheet_of(
    given: argparse.Namespace,
) -> tuple[ldp.Questionnaire, list[Any], list[Any], list[list[Path]]]:
    """The questionnaire; of each --column what made it, its candidates and its files; all checked.

    Nothing of the package made a public column: None.
    """
    remedy = "does not go with --questionnaire, which says what the columns hold"
    refuse_options(given, ("spec", "name", "cohort", "others", "id", "count"), remedy)
    sheet, columns = ldp.Questionnaire.from_json(given.questionnaire), given.column
    if len(columns) < 2:
        choice = f"questions, {', '.join(sheet)}, or public columns"
        raise InvalidArgument("--column", columns, f"must be given twice or more: {choice}")
    listed = values_of(given, "candidates", len(columns))
    files = check_files(given, [given.input] * len(columns), [given.questionnaire, *listed])
    made = [sheet[column] if column in sheet else None for column in columns]
    candidates = [candidates_of(*each) for each in zip(listed, made, columns, strict=True)]
    return sheet, made, candidates, files


def values_of(given: argparse.Namespace, name: str, d: int) -> list[str | None]:
    """The values of an option given once for each of d variables, or never; None for none."""
    values = getattr(given, name)
    if values and len(values) != d:
        of = "--spec" if given.questionnaire is None else "--column"
        raise InvalidArgument(
            option(name), values, f"must be given once for each of the {d} {of}, - for none"
        )
    return [None if value == _NONE else value for value in values] or [None] * d


def candidates_of(path: str | None, mechanism: Any, name: str) -> list[Any] | None:
    """The candidates of a variable, or those of its categories that are kept; None for all.

    Only a `Mechanism` has any: a public column has the values that it holds.
    """
    if not isinstance(mechanism, ldp.Mechanism):
        if path is not None:
            raise InvalidArgument("--candidates", path, f"must be - for {name}")
        return None
    if path is None:
        if mechanism.is_open:
            remedy = f"is needed for {name}: any text is an answer to {mechanism}; name a file"
            raise InvalidArgument("--candidates", None, remedy)
        return None
    listed = io.read_candidates(path)
    if mechanism.is_open:
        return listed
    known = {str(label): label for label in mechanism.labels()}
    for number, text in enumerate(listed, start=1):
        if text not in known:
            raise InvalidArgument(
                f"{path}, line {number}", text, f"is not a category of {mechanism}"
            )
    return [known[text] for text in listed]


def check_files(
    given: argparse.Namespace, paths: Sequence[str], others: Sequence[str | None]
) -> list[list[Path]]:
    """The files of the table of each variable, of which none is written."""
    files = [files_of(given, path) for path in paths]
    read = [*(str(file) for some in files for file in some), *filter(None, others)]
    check_output(given, {os.path.realpath(path) for path in read})
    if given.plot is not None and len(paths) > 2:
        raise NotAvailable(f"a plot shows two variables, not {len(paths)}: leave --plot out")
    return files


# -- Complex samples on the command line: the options that describe how respondents were sampled ---


_COLUMNS = ("weights", "strata", "clusters", "fpc")
_RULES = ("not_nested", "single_unit")


def add_design(command: argparse.ArgumentParser) -> None:
    """The options of commands that estimate from a complex sample."""
    words = "with --questionnaire: public columns that say how respondents were sampled"
    add = adder(command.add_argument_group("complex samples", words))
    add("--weights", "column of sampling weights", "COLUMN", action=Once)

    def by_stage(name: str, words: str) -> None:
        words += "; given again for each further stage"
        add(name, words, "COLUMN", several=True)

    by_stage("--strata", f"column of strata, {_NONE} where a stage has none")
    by_stage("--clusters", "column of sampling units")
    by_stage("--fpc", "column of numbers of units in the population, or of sampled fractions")
    words = "labels of units are unique in the whole table (default: within their stratum)"
    add("--not-nested", words)
    words = f"a stratum with a single unit: {', '.join(SINGLE_UNIT)} (default: {SINGLE_UNIT[0]})"
    add("--single-unit", words, "RULE", choices=SINGLE_UNIT)


def design_of(given: argparse.Namespace) -> dict[str, Any]:
    """The options as arguments of `Survey`; none where no column of a design is named."""
    if given.questionnaire is None:
        refuse_options(given, (*_COLUMNS, *_RULES), "goes with --questionnaire only")
    for name in _COLUMNS:
        value = getattr(given, name)
        if value == "" or (isinstance(value, list) and "" in value):
            remedy = f"must be the name of a column: leave --{name} out if there is none"
            raise InvalidArgument(f"--{name}", "", remedy)
    if not any(getattr(given, name) for name in _COLUMNS):
        refuse_options(given, _RULES, "goes with the columns of a design, such as --clusters")
        return {}
    for name in ("clusters", "fpc"):
        if _NONE in getattr(given, name):
            raise InvalidArgument(f"--{name}", _NONE, "goes with --strata only")
    return {
        "weights": given.weights,
        "strata": ["" if name == _NONE else name for name in given.strata],
        "clusters": given.clusters,
        "fpc": given.fpc,
        "nested": not given.not_nested,
        "single_unit": given.single_unit or SINGLE_UNIT[0],
    }


def refuse_unweighted(given: argparse.Namespace, names: Sequence[str]) -> None:
    """Refuse the options of analyses that know no weights."""
    refuse_options(given, names, "goes without --weights, --strata, --clusters and --fpc")
