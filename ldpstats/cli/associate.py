"""The command ``ldpstats associate``: are privatised variables associated?"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ldpstats as ldp
from ldpstats import io
from ldpstats.arguments.checks import one_of, positive_integer
from ldpstats.cli.common import (
    HOW,
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
    add_engine,
    files_of,
    on_engine,
    refuse_engine,
    running,
)
from ldpstats.errors import InvalidArgument, LDPWarning, NotAvailable, NotIdentified
from ldpstats.estimators import JOINT_ESTIMATORS
from ldpstats.models.association.independence import METHODS
from ldpstats.models.association.variables import variable_names
from ldpstats.models.shared.bar import moved
from ldpstats.survey.counting import watching

__all__ = ["add_associate"]

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
population, of two variables.
"""

_PLOTS = ("heatmap", "departures", "mosaic")
_NONE = "-"  # stands for no value


def add_associate(commands: Any) -> None:
    """Add the command to those of the program."""
    words = "estimate a joint distribution from reports, and test independence"
    command = commands.add_parser("associate", help=words, description=_ASSOCIATE, **HOW)
    stray = "the table of another variable is given by --with {} --id COLUMN; several files of one "
    stray += "table by a pattern in quotes"
    command.set_defaults(run=_associate, stray=stray)
    add = command.add_argument
    add("input", metavar="INPUT", help="table of reports: a file, a folder or a pattern in quotes")

    def each(name: str, metavar: str, words: str, **how: Any) -> None:
        add(name, action="append", default=[], metavar=metavar, help=f"each: {words}", **how)

    each("--spec", "FILE", "specification of the mechanism (JSON)")
    words = "questionnaire of the table (JSON), instead of --spec"
    add("--questionnaire", metavar="FILE", help=words)
    each("--column", "COLUMN", "column of reports (default with --with: report)")
    words = "name of the variable (default: its column, or its table where columns are alike)"
    each("--name", "NAME", words)
    add_where(add)
    each("--cohort", "COLUMN", "column of cohorts (default: reports are cohort:report)")
    words = "text file, one a line: candidates, or the categories to keep where all are known"
    each("--candidates", "FILE", words)
    add("--other", action="store_true", help='add a category "Other" for all other answers')
    words = "table of the next variable (once for each but the first)"
    add("--with", dest="others", action="append", default=[], metavar="FILE", help=words)
    add("--id", metavar="COLUMN", help="column that identifies the respondents, in every table")
    add("--count", metavar="COLUMN", help="column of counts, where a row is many respondents")
    words = "mle (default), one_step, em, inversion, ..."
    add("--method", metavar="NAME", help=f"estimator: {words}")
    words = f"test of independence: score (default), {', '.join(METHODS[1:])}"
    add("--test", choices=METHODS, metavar="NAME", help=words)
    words = "score, pearson: permutations for the p-value (default: 999 if counts are small)"
    add("--permutations", type=int, metavar="B", help=words)
    words = "bootstrap: surveys to simulate (default: 199)"
    add("--surveys", type=int, metavar="B", help=words)
    add("--seed", type=int, help="seed of permutations and simulated surveys, which need one")
    add_output(add, "1 - coverage of intervals", "cells", "the table")
    words = f"{', '.join(_PLOTS)} (default: {_PLOTS[0]})"
    add("--plot-kind", choices=_PLOTS, metavar="KIND", help=words)
    words = "leave such respondents out, and count them"
    add_engine(add)
    what = "reports, and respondents who are not in every table"
    add_reading(add, what, words, missing=None)
    add_design(command)


def _associate(given: argparse.Namespace) -> int:
    how = _test_options(given)
    one_of("--method", given.method or "mle", tuple(JOINT_ESTIMATORS))
    design = design_of(given)
    fit = _weighted(given, design) if design else _unweighted(given, how)
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
    return 0


Fitted = tuple[Any, ldp.TestResult | None, bool]
"""Results, the test of independence, and whether their summary shows it."""


def _unweighted(given: argparse.Namespace, how: dict[str, Any]) -> Callable[[], Fitted]:
    """What fits a table of respondents who count the same; its options are checked first."""
    read = _from_tables(given) if given.questionnaire is None else _from_survey(given)

    def fit() -> Fitted:
        counts, candidates, names = read()
        if not counts.nobs:
            remedy = "holds no respondent with a report on every variable: nothing can be estimated"
            raise InvalidArgument("input", given.input, remedy)
        model = ldp.AssociationModel(counts, candidates=candidates, other=given.other, names=names)
        results = model.fit(given.method)
        test = _test(model, results, given.test, how)
        return results, test, given.test is None and test is results.independence

    return fit


def _weighted(given: argparse.Namespace, design: Mapping[str, Any]) -> Callable[[], Fitted]:
    """What fits the table of a complex sample; its options are checked first."""
    refuse_unweighted(given, ("other", "method", "test", "permutations", "surveys", "seed"))
    asked = _Asked.of(given)

    def fit() -> Fitted:
        survey = opened(given, asked.sheet, design)
        with watching(survey.data if on_a_terminal() else None):
            results = survey.association(*asked.columns, candidates=asked.candidates)
        refuse_missing(given, results.n_missing)
        return results, _default_test(results), True

    return fit


# -- tables ----------------------------------------------------------------------------------------

Read = tuple[ldp.JointCounts, list[Any], list[str]]  # counts, candidates and names


def _from_tables(given: argparse.Namespace) -> Callable[[], Read]:
    """What reads the tables of variables with specifications; its options are checked first."""
    refuse_options(given, ("where",), "goes with --questionnaire only")
    paths = _paths(given)
    columns = _columns(given, paths)
    names = _names(given, paths, columns)
    cohorts, listed = (_each(given, name, len(paths)) for name in ("cohort", "candidates"))
    files = _check_files(given, paths, [*given.spec, *listed])
    mechanisms = [io.read_mechanism(path) for path in given.spec]
    candidates = [_candidates(*each) for each in zip(listed, mechanisms, names, strict=True)]
    asked = dict(zip(columns, mechanisms, strict=False))
    if _is_queried(given, files, asked, cohorts):
        sheet = ldp.Questionnaire(asked)
        return lambda: (_queried(given, sheet, columns), candidates, names)
    return lambda: (_counted(given, files, mechanisms, columns, cohorts), candidates, names)


def _is_queried(
    given: argparse.Namespace,
    files: list[list[Path]],
    asked: Mapping[str, Any],
    cohorts: Sequence[str | None],
) -> bool:
    """Whether one grouped query counts the combinations; else the tables are read in chunks."""
    if given.others:
        if any(len(some) > 1 for some in files):
            remedy = "must be one file with --with, as each other table: in Python, "
            raise InvalidArgument("input", given.input, f"{remedy}survey.matched() joins tables")
        refuse_engine(given, "goes without --with: in Python, survey.matched() joins tables")
        return False
    if given.count is not None or any(cohorts) or given.na or len(asked) < len(files):
        refuse_engine(given, "goes without --count, --cohort and --na")
        return False
    return on_engine(given, files[0])


@dataclass(frozen=True)
class _Asked:
    """Columns of a table of a questionnaire, each with what made it and its candidates."""

    sheet: ldp.Questionnaire
    columns: list[str]
    made: list[Any]
    candidates: list[Any]
    files: list[Path]

    @classmethod
    def of(cls, given: argparse.Namespace) -> _Asked:
        """Those that options name, which are checked."""
        remedy = "does not go with --questionnaire, which says what the columns hold"
        refuse_options(given, ("spec", "name", "cohort", "others", "id", "count"), remedy)
        sheet, columns = ldp.Questionnaire.from_json(given.questionnaire), given.column
        if len(columns) < 2:
            choice = f"questions, {', '.join(sheet)}, or public columns"
            raise InvalidArgument("--column", columns, f"must be given twice or more: {choice}")
        listed = _each(given, "candidates", len(columns))
        files = _check_files(given, [given.input] * len(columns), [given.questionnaire, *listed])
        made = [sheet[column] if column in sheet else None for column in columns]
        candidates = [_candidates(*each) for each in zip(listed, made, columns, strict=True)]
        return cls(sheet, columns, made, candidates, files[0])


def _from_survey(given: argparse.Namespace) -> Callable[[], Read]:
    """What reads columns of a questionnaire; its options are checked first."""
    asked = _Asked.of(given)
    private = given.where is None and all(isinstance(one, ldp.Mechanism) for one in asked.made)
    there = on_engine(given, asked.files)

    def read() -> Read:
        if there or not private:
            counts = _queried(given, asked.sheet, asked.columns)
        else:
            for file in asked.files:
                check_fingerprint_column(file, asked.sheet)
            files, d = [asked.files] * len(asked.columns), len(asked.columns)
            counts = _counted(given, files, asked.made, asked.columns, [None] * d)
        return counts, asked.candidates, asked.columns

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
) -> ldp.JointCounts:
    """Counts of combinations of reports, read chunk by chunk, one file of a table after another."""
    how: dict[str, Any] = {"id": given.id, "missing": missing(given), "na": given.na}
    total: Any = None
    with progress("counting") as advance:
        for number, paths in enumerate(zip(*files, strict=True)):
            how["advance"] = moved(advance, number, len(files[0]))
            part = io.read_joint_counts(
                paths, mechanisms, columns, given.count, cohorts=cohorts, **how
            )
            total = part if total is None else total + part
    counts: ldp.JointCounts = total
    return counts


# -- options ---------------------------------------------------------------------------------------


def _each(given: argparse.Namespace, name: str, d: int) -> list[str | None]:
    """The values of an option given once for each of d variables, or never; None for none."""
    values = getattr(given, name)
    if values and len(values) != d:
        of = "--spec" if given.questionnaire is None else "--column"
        raise InvalidArgument(
            option(name), values, f"must be given once for each of the {d} {of}, - for none"
        )
    return [None if value == _NONE else value for value in values] or [None] * d


def _paths(given: argparse.Namespace) -> list[str]:
    """The table of each variable."""
    d = len(given.spec)
    if d < 2:
        remedy = "two or more variables are needed, or --questionnaire; ldpstats fit is for one"
        raise InvalidArgument("--spec", given.spec, remedy)
    if not given.others:
        return [given.input] * d
    if len(given.others) != d - 1:
        raise InvalidArgument(
            "--with",
            given.others,
            f"must name {d - 1} tables, one for each variable but the first: repeat a table that "
            "holds several",
        )
    if given.id is None:
        remedy = "is needed: name the column that identifies the respondents in all tables"
        raise InvalidArgument("--id", None, remedy)
    return [given.input, *given.others]


def _columns(given: argparse.Namespace, paths: Sequence[str]) -> list[str]:
    """The column of each variable."""
    if not given.column and given.others:
        return ["report"] * len(paths)
    if len(given.column) != len(paths):
        raise InvalidArgument(
            "--column", given.column, f"must be given once for each of the {len(paths)} --spec"
        )
    columns: list[str] = given.column
    return columns


def _names(given: argparse.Namespace, paths: Sequence[str], columns: list[str]) -> list[str]:
    """The name of each variable: its column, its table or a letter, whichever is distinct."""
    names: list[str] = given.name or columns
    if given.others and not given.name and len(set(columns)) < len(columns):
        names = [Path(path).name.split(".")[0] or path for path in paths]
        if len(set(names)) < len(names):
            names = list(variable_names(None, len(names)))
    if len(names) != len(columns) or len(set(names)) < len(names):
        raise InvalidArgument(
            "--name", names, f"must be {len(columns)} different names, one for each --spec"
        )
    return names


def _test_options(given: argparse.Namespace) -> dict[str, Any]:
    """The options of the test that draw at random."""
    method = given.test or METHODS[0]
    how: dict[str, Any] = {}
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
        how[argument] = positive_integer(option(name), value, 0 if name == "seed" else 1)
    if "rng" in how:
        how["rng"] = np.random.default_rng(how["rng"])
    elif how or method == "bootstrap":
        raise InvalidArgument("--seed", None, "is needed for p-values by simulation, for example 1")
    return how


def _candidates(path: str | None, mechanism: Any, name: str) -> list[Any] | None:
    """The candidates of a variable, or those of its categories that are kept; None for all.

    Only a `Mechanism` has any: a public column has the values that it holds.
    """
    if not isinstance(mechanism, ldp.Mechanism):
        if path is not None:
            raise InvalidArgument("--candidates", path, f"must be - for {name}")
        return None
    if path is None:
        if mechanism.is_open:
            raise InvalidArgument(
                "--candidates",
                None,
                f"is needed for {name}: any text is an answer to {mechanism}; name a file",
            )
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


def _check_files(
    given: argparse.Namespace, paths: Sequence[str], others: Sequence[str | None]
) -> list[list[Path]]:
    """The files of the table of each variable, of which none is written."""
    files = [files_of(given, path) for path in paths]
    read = [*(str(file) for some in files for file in some), *filter(None, others)]
    check_output(given, {os.path.realpath(path) for path in read})
    if given.plot is None and given.plot_kind is not None:
        raise InvalidArgument("--plot-kind", given.plot_kind, "goes with --plot")
    if given.plot is not None and len(paths) > 2:
        raise NotAvailable(f"a plot shows two variables, not {len(paths)}: leave --plot out")
    return files


# -- results ---------------------------------------------------------------------------------------


def _test(
    model: ldp.AssociationModel,
    results: ldp.AssociationResults,
    method: str | None,
    how: dict[str, Any],
) -> ldp.TestResult | None:
    """The test asked for."""
    if how or method not in (None, METHODS[0]):
        return model.test_independence(results, method or METHODS[0], **how)
    return _default_test(results) if method is None else results.test_independence()


def _default_test(results: Any) -> ldp.TestResult | None:
    """The default test of a table; skipped, with a warning, where it is not available."""
    try:
        test: ldp.TestResult = results.test_independence()
    except (NotAvailable, NotIdentified) as error:
        warnings.warn(f"no test of independence: {error}", LDPWarning, stacklevel=2)
        return None
    return test
