"""ldpstats privatize: replace a column of true answers by privatised reports."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
from inspect import Parameter, signature
from typing import Any

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli.common import (
    HOW,
    Once,
    add_reading,
    distinct,
    label_list,
    option,
    progress,
    split_labels,
)
from ldpstats.cli.devices import add_device_options, device_mechanism, refuse_params
from ldpstats.errors import InvalidArgument, LDPError
from ldpstats.mechanisms.reading import MECHANISMS
from ldpstats.survey.writing import privatize_sheets

__all__ = ["add_privatize"]


# options that are fields of a mechanism: type and help
_PARAMETERS: dict[str, tuple[type, str]] = {
    "categories": (str, "labels separated by commas, or their number k for the labels 0 to k-1"),
    "edges": (str, "square-wave: edges of the bins of numbers, separated by commas"),
    "half_width": (int, "square-wave: reports on either side of the true bin that are likelier"),
    "alphabet": (str, "orr, orappor, rappor: all possible answers, as --categories (default: any)"),
    "sensitive": (str, "urap, urr: the categories to protect, separated by commas"),
    "epsilon": (float, "privacy of one report, in nats"),
    "theta": (float, "krappor, urap: P(own bit = 1); 0.5 is optimised unary encoding"),
    "p_truth": (float, "forced-response: probability of being told to answer truthfully"),
    "p_yes": (float, "forced-response: probability of being told to say yes"),
    "p": (
        float,
        "warner, unrelated-question, mangat: probability of the truth, of the sensitive "
        "question, of the truth if it is no; "
        "rappor: P(reported bit = 1) where the permanent one is 0",
    ),
    "q": (float, "rappor: P(reported bit = 1) where the permanent one is 1"),
    "f": (float, "rappor: noise of the permanent response"),
    "prevalence": (float, "unrelated-question: share of yes to the unrelated question"),
    "n_outputs": (int, "orr: labels that an answer is hashed to"),
    "n_bits": (int, "orappor, rappor: bits of a report"),
    "n_hashes": (int, "orappor, rappor: hashes of an answer"),
    "n_cohorts": (int, "orr, orappor, rappor, olh: cohorts"),
    "size": (int, "subset-selection: categories in a report (default: the best number)"),
    "hashing": (str, "rappor: ldpstats (default) or google"),
}


_LABELS = ("categories", "alphabet")


def _oue(categories: Any, epsilon: float) -> ldp.KRAPPOR:
    """Optimised unary encoding, under the name that it has in plans."""
    return ldp.KRAPPOR(categories, epsilon, theta=0.5)


def _mechanisms() -> dict[str, Callable[..., ldp.Mechanism]]:
    """The mechanisms that these options can specify, by their names on the command line."""
    found: dict[str, Callable[..., ldp.Mechanism]] = {
        re.sub("(?<=[a-z])(?=[A-Z])", "-", name).lower(): kind
        for name, kind in MECHANISMS.items()
        if all(f.name in _PARAMETERS or f.default is not f.empty for f in _parameters(kind))
    }
    return found | {"olh": ldp.OLH, "oue": _oue}


def _parameters(kind: Callable[..., ldp.Mechanism]) -> Iterable[Parameter]:
    return signature(kind).parameters.values()


_PRIVATIZE = """\
Privatise a column of answers, with the operating system's randomness. The true answers are never
copied; other columns are copied only if --keep names them. Whoever holds INPUT sees every answer:
privacy begins where this runs, best on the respondent's own device.

A row is one respondent, who reports once. Privatising the same answers again, or several rows of
one respondent, spends epsilon each time. For RAPPOR, repeated reports of the same person need the
client that remembers (RAPPOR.client in Python), not this command.

Privatise several columns one by one, each with its own epsilon, and --keep a column that tells the
respondents apart: ldpstats associate matches the tables by it. For one table instead, privatise
OUTPUT again, naming the new reports with --as and keeping the earlier ones with --keep; until the
last run, OUTPUT still holds the true answers that are kept for the next one.

A CSV file OUTPUT has one more column, report_fingerprint: each row says which specification made
it, so that no other is used by mistake. With --write-spec, either both files appear or neither.

With --survey, answers are strings that nobody listed, and OUTPUT has the columns start_1, gram_1,
start_2, gram_2, string and, in CSV, survey_fingerprint: see ldpstats survey.

With --questionnaire, every row is an answer sheet: reports replace the answers to all private
questions, in columns of the same names, observed questions are copied, and epsilon is that of a
whole sheet. A device of several groups draws the group of each respondent, unless the column
NAME_cohort has it; respondents who work a device with unknown parameters are simulated with the
values of --param QUESTION.NAME=VALUE. Missing answers and questions that were not asked are empty
cells (or, for a missing answer, a report of the category that the questionnaire names). See
ldpstats questionnaire.
"""


_KNOWN_AS = {  # names that the field uses, and ours
    "grr": "krr",
    "sue": "krappor",
    "subset": "subset-selection",
    "hadamard": "hadamard-response",
    "projective": "projective-geometry-response",
}


def _own_name(name: str) -> str:
    """Return the name of a mechanism; for a name that the field uses, raise an error with ours."""
    if name.lower() in _KNOWN_AS:
        raise argparse.ArgumentTypeError(f"{name} is called {_KNOWN_AS[name.lower()]} here")
    return name


def add_privatize(commands: Any) -> None:
    words = "replace a column of true answers by privatised reports"
    command = commands.add_parser("privatize", help=words, description=_PRIVATIZE, **HOW)
    command.set_defaults(run=_privatize)
    add = command.add_argument
    add("input", metavar="INPUT", help="table of true answers")
    add("output", metavar="OUTPUT", help="table of reports to write")
    add("--column", action=Once, help="column of true answers")
    add("--spec", action=Once, metavar="FILE", help="specification of the mechanism (JSON)")
    words = "specification of a survey of strings that nobody listed (JSON), instead of --spec"
    add("--survey", metavar="FILE", help=words)
    words = "questionnaire (JSON), instead of --column and --spec: its questions are columns"
    add("--questionnaire", metavar="FILE", help=words)
    made = command.add_argument_group("a mechanism of your own, instead of --spec")
    names = sorted(_mechanisms())
    add_made = made.add_argument
    add_made("--mechanism", type=_own_name, choices=names, metavar="NAME", help=", ".join(names))
    add_device_options(add_made)
    for name, (kind, text) in _PARAMETERS.items():
        flags = [f"-{name}"] if name == "f" else []
        made.add_argument(*flags, option(name), type=kind, help=text)
    made.add_argument("--write-spec", metavar="FILE", help="where to write its specification")
    words = "refuse a specification whose epsilon, in nats, is larger"
    add("--max-epsilon", type=float, metavar="EPSILON", help=words)
    words = "run a mechanism that does not protect its respondents"
    add("--allow-no-privacy", action="store_true", help=words)
    words = "what to call the column of reports (default: report)"
    add("--as", dest="name", metavar="COLUMN", help=words)
    words = "copy another column too, as it is: an identifier, or reports made before"
    add("--keep", action="append", default=[], metavar="COLUMN", help=words)
    words = "CSV: put an apostrophe before cells that begin with =, +, - or @, which a spreadsheet "
    words += "would run as a formula. Labels, identifiers and missing answers are read without it; "
    words += "a later run refuses answers kept with --keep that have it, if any text is an answer"
    add("--spreadsheet-safe", action="store_true", help=words)
    counted = "write an empty report for each; with --questionnaire a missing answer is an empty "
    counted += "cell, or the category that the questionnaire names"
    add_reading(add, "answers", counted)
    command.set_defaults(missing=None)  # to tell whether it was given


def _privatize(given: argparse.Namespace) -> int:
    if given.questionnaire is not None:
        return _privatize_sheets(given)
    if given.column is None:
        raise LDPError("--column is missing: name the column of true answers")
    distinct(given.input, given.output, given.spec, given.survey, given.write_spec)
    how: dict[str, Any] = {n: getattr(given, n) for n in ("keep", "na", "force")}
    how["missing"] = given.missing or "raise"
    made_by: Any
    privatize: Any
    if given.survey is None:
        made_by, privatize = _mechanism(given), io.privatize_file
        how["name"] = "report" if given.name is None else given.name
    else:
        made_by, privatize = _survey(given), io.privatize_strings
    limits = {"max_epsilon": given.max_epsilon, "allow_no_privacy": given.allow_no_privacy}
    collector = made_by.collector(**limits)
    how |= {"specification": given.write_spec, "spreadsheet_safe": given.spreadsheet_safe}
    with progress("privatising") as advance:
        paths = given.input, given.output, given.column
        nobs, n_missing = privatize(*paths, collector, **how, advance=advance)
    print(f"{given.output}: {nobs} reports of {made_by}, {n_missing} missing")
    return 0


def _privatize_sheets(given: argparse.Namespace) -> int:
    """Privatise the columns of a questionnaire."""
    params, given.param = given.param, []
    _exclude(given, "--questionnaire", "column", "survey", "spec", "missing")
    distinct(given.input, given.output, given.questionnaire)
    sheet = ldp.Questionnaire.from_json(given.questionnaire)
    limits = {"max_epsilon": given.max_epsilon, "allow_no_privacy": given.allow_no_privacy}
    collector = sheet.collector(**limits, parameters=_unknown(params))
    how = {n: getattr(given, n) for n in ("keep", "na", "force", "spreadsheet_safe")}
    with progress("privatising") as advance:
        totals = privatize_sheets(given.input, given.output, collector, **how, advance=advance)
    counts = ", ".join(f"{name}: {number}" for name, number in totals.items())
    print(f"{given.output}: reports of {sheet}{f' ({counts})' if counts else ''}")
    return 0


def _unknown(params: list[str]) -> dict[str, dict[str, str]] | None:
    """Values of unknown parameters, by question."""
    found: dict[str, dict[str, str]] = {}
    for param in params:
        key, sign, value = param.rpartition("=")
        question, dot, name = key.rpartition(".")
        if not sign or not dot:
            remedy = "must be QUESTION.NAME=VALUE with --questionnaire, such as used.cheating=.1"
            raise InvalidArgument("--param", param, remedy)
        if name in found.setdefault(question, {}):
            raise InvalidArgument("--param", param, f"gives {key} a second time")
        found[question][name] = value
    return found or None


def _survey(given: argparse.Namespace) -> ldp.DictionarySurvey:
    """The survey of --survey, which excludes options of a mechanism."""
    _exclude(given, "--survey", "spec")
    return io.read_survey(given.survey)


def _exclude(given: argparse.Namespace, chosen: str, *more: str) -> None:
    """Refuse options of a mechanism, and some `more`, beside a chosen one."""
    for name in (*more, "mechanism", "device", "param", *_PARAMETERS, "write_spec", "name"):
        value = getattr(given, name)
        if value is not None and value != []:
            flag = "--as" if name == "name" else option(name)
            raise InvalidArgument(flag, value, f"cannot be combined with {chosen}")


def _mechanism(given: argparse.Namespace) -> ldp.Mechanism:
    """The mechanism of --spec, or the one that the options describe."""
    options = {k: v for k in _PARAMETERS if (v := getattr(given, k)) is not None}
    if given.spec is not None:
        made = ("mechanism", "device", "param", "write_spec")
        for name in (*options, *(n for n in made if getattr(given, n))):
            raise InvalidArgument(
                option(name), getattr(given, name), "cannot be combined with --spec"
            )
        return io.read_mechanism(given.spec)
    if (given.mechanism is None and given.device is None) or given.write_spec is None:
        raise LDPError(
            "--spec is missing: pass a specification, or --mechanism with its options (or --device "
            "with --param) and --write-spec, because the reports cannot be analysed without a "
            "specification"
        )
    refuse_params(given)
    if given.device is not None:
        return _designed(given, options)
    kind = _mechanisms()[given.mechanism]
    known = {
        field.name: field.default is field.empty or field.name in ("sensitive", "epsilon")
        for field in _parameters(kind)
        if field.name in _PARAMETERS
    }
    if kind is ldp.Warner and "p" in options:  # one of the two
        known["epsilon"] = False
    for name in options:
        if name not in known:
            wanted = ", ".join(map(option, known))
            raise InvalidArgument(
                option(name),
                options[name],
                f"is not an option of {given.mechanism}, which has {wanted}",
            )
    for name, needed in known.items():
        if needed and name not in options:
            raise InvalidArgument(option(name), None, f"is needed for {given.mechanism}")
    for name in _LABELS:
        if name in options:
            options[name] = label_list(options[name], option(name))
    if "edges" in options:
        options["edges"] = [_number(text) for text in options["edges"].split(",")]
    if "sensitive" in options:
        options["sensitive"] = _members(options["sensitive"], options["categories"])
    return kind(**options)


def _designed(given: argparse.Namespace, options: dict[str, Any]) -> ldp.Mechanism:
    """The mechanism of --device, which excludes the options of --mechanism."""
    for name in ("mechanism", *options):
        if name != "categories" and getattr(given, name) is not None:
            remedy = "cannot be combined with --device, whose parameters are --param NAME=VALUE"
            raise InvalidArgument(option(name), getattr(given, name), remedy)
    return device_mechanism(given)


def _number(text: str) -> float:
    """A number of a list."""
    try:
        return float(text)
    except ValueError:
        remedy = "must be numbers separated by commas, such as 0,10,20.5"
        raise InvalidArgument("--edges", text, remedy) from None


def _members(text: str, categories: int | list[str]) -> list[Any]:
    """Labels separated by commas, perhaps none; numbers if the categories are 0 to k-1."""
    if not text:
        return []
    labels = split_labels(text, "--sensitive")
    if isinstance(categories, int):
        return [int(v) if v.isascii() and v.isdecimal() else v for v in labels]
    return labels
