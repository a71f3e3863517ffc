"""The command ``ldpstats associate``: are privatised variables associated?"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import ldpstats as ldp
from ldpstats.arguments.checks import one_of, positive_integer
from ldpstats.cli.combinations import from_survey, from_tables
from ldpstats.cli.common import (
    HOW,
    add_output,
    add_reading,
    on_a_terminal,
    option,
    output_files,
)
from ldpstats.cli.designs import add_design, design_of, refuse_unweighted
from ldpstats.cli.surveys import (
    add_where,
    opened,
    refuse_missing,
)
from ldpstats.cli.tables import (
    add_engine,
    running,
)
from ldpstats.cli.variables import Asked
from ldpstats.errors import InvalidArgument, LDPWarning, NotAvailable, NotIdentified
from ldpstats.estimators import JOINT_ESTIMATORS
from ldpstats.models.association.independence import METHODS
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
    words = "devices drew each report afresh: no two come from one permanent response"
    add("--drawn-afresh", action="store_true", help=words)
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
    read = from_tables(given) if given.questionnaire is None else from_survey(given)

    def fit() -> Fitted:
        counts, candidates, names = read()
        if not counts.nobs:
            remedy = "holds no respondent with a report on every variable: nothing can be estimated"
            raise InvalidArgument("input", given.input, remedy)
        model = ldp.AssociationModel(
            counts,
            candidates=candidates,
            other=given.other,
            names=names,
            memoised=False if given.drawn_afresh else None,
        )
        results = model.fit(given.method)
        test = _test(model, results, given.test, how)
        return results, test, given.test is None and test is results.independence

    return fit


def _weighted(given: argparse.Namespace, design: Mapping[str, Any]) -> Callable[[], Fitted]:
    """What fits the table of a complex sample; its options are checked first."""
    refuse_unweighted(given, ("other", "method", "test", "permutations", "surveys", "seed"))
    asked = Asked.of(given)

    def fit() -> Fitted:
        survey = opened(given, asked.sheet, design)
        with watching(survey.data if on_a_terminal() else None):
            results = survey.association(
                *asked.columns,
                candidates=asked.candidates,
                memoised=False if given.drawn_afresh else None,
            )
        refuse_missing(given, results.n_missing)
        return results, _default_test(results), True

    return fit


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
