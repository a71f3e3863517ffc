"""ldpstats collect, invite, page, client, conformance, questionnaire, privatize: making reports."""

from __future__ import annotations

import argparse
import json
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from inspect import signature
from typing import Any

import ldpstats as ldp
from ldpstats import io
from ldpstats.arguments import positive_epsilon, positive_number
from ldpstats.cli.common import (
    Once,
    add_reading,
    added,
    adder,
    distinct,
    label_list,
    numbers_in,
    option,
    output_files,
    progress,
    split_labels,
)
from ldpstats.cli.planning import add_device_options, device_mechanism, refuse_params
from ldpstats.clients.conformance import compared
from ldpstats.clients.random_vectors import chosen, random_vectors, stored_vectors
from ldpstats.collector import Limits, collect, invite
from ldpstats.errors import InvalidArgument, LDPError
from ldpstats.io.specifications import QUESTIONNAIRE, is_format, json_document
from ldpstats.io.storage import checked_path, refusal, replacing, replacing_all
from ldpstats.labels import as_labels
from ldpstats.mechanisms import DeviceMechanism
from ldpstats.mechanisms.base import KINDS, kind_of
from ldpstats.survey.analyses import privatize_sheets
from ldpstats.survey.questionnaire import Questionnaire
from ldpstats.survey.questions import as_text, read_specification

_COLLECT = """\
Take answer sheets over HTTP, and keep their reports as Parquet files in DIR, which ldpstats fit DIR
and Survey(DIR) read. Sheets wait until --batch of them have come, until the hour turns and a tenth
of that wait, or until SIGTERM or Ctrl-C stops the collector; then they go into a file, if they are
20 or more. Fewer wait for the next start. At the end of the survey --finish writes them.

  GET /              the questionnaire as a page
  GET /client.json   the client document, for other clients
  POST /sheets       a sheet; it is acknowledged when it is on the disk
  GET /health        200 while sheets can be kept, else 503; names damaged files
  GET /counts        how many sheets are in files; with --estimates what they say

Without --invitations anybody who reaches the collector can send any number of sheets, and a few
hundred forged ones can decide a survey. --max-sheets bounds how many are taken in all.

Use a reverse proxy for TLS, with --behind-proxy. The page "The collector" of the documentation
(README.md in the package's folder collector/) shows how, and says what is protected against whom.
"""


def add_collect(commands: Any) -> None:
    words = "take the answer sheets of a questionnaire over HTTP"
    add = adder(added(commands, "collect", _collect, words, _COLLECT))
    add("questionnaire", "the questionnaire (JSON)", "QUESTIONNAIRE")
    add("--to", "where to keep the sheets", "DIR", required=True)
    words = (
        "words that replace those of the page, as ldpstats page --write-texts writes them (JSON)"
    )
    add("--texts", words, "FILE")
    add("--host", "where to listen (default: 127.0.0.1)", default="127.0.0.1")
    add("--port", "0 takes any that is free (default: 8000)", type=int, default=8000)
    words = "origin of another page that may send sheets, such as https://survey.example; null for "
    words += "pages that are opened from a disk; may be repeated"
    add("--origin", words, "URL", dest="origins", several=True)
    words = "all requests come through a proxy, which appends the address to X-Forwarded-For"
    add("--behind-proxy", words)
    limits, of = Limits(), "sheets in a minute"
    words = f"{of}, of all senders together (default: {limits.per_minute})"
    add("--max-per-minute", words, "N", type=int, default=limits.per_minute)
    words = f"{of} from one address (default: {limits.per_address})"
    add("--max-per-address", words, "N", type=int, default=limits.per_address)
    words = "codes of ldpstats invite, as it writes them for the collector: a sheet is taken with "
    words += "a code alone, and a code takes one; may be repeated"
    add("--invitations", words, "FILE", several=True)
    add("--max-sheets", "sheets that are taken in all (default: all)", "N", type=int)
    words = "show at /counts what the sheets in files say, with intervals that hold however often "
    words += "one looks; whoever reaches the collector sees them"
    add("--estimates", words)
    words = (
        "sheets in a file, 20 or more (default: 1000); fewer at the turn of the hour and at the end"
    )
    add("--batch", words, "N", type=int, default=1000)
    words = "write the sheets that wait, however few, merge small files, and end; takes no sheet"
    add("--finish", words)
    words = (
        "begin a new record where that of DIR was lost or does not fit its files; sheets that were "
    )
    words += "taken before would count again if they are sent again"
    add("--forget-tokens", words)


def _collect(given: argparse.Namespace) -> None:
    sheet = ldp.Questionnaire.from_json(given.questionnaire)
    limits = Limits(given.max_per_minute, given.max_per_address)
    names = list(signature(collect).parameters)[2:]  # options bear the names of arguments
    how = {name: getattr(given, name) for name in names if name in given}
    collect(sheet, given.to, limits=limits, **how)


_INVITE = """\
Make codes, each of which takes one sheet, from the randomness of the operating system. FILE is for
those who invite: a code a line, and with --url a link, which has the code behind a "#", where
servers do not see it. Whoever has the file can answer in place of those who are invited: give each
line to one of them, and delete it when the last reminder is sent.

Beside it comes a file for the collector, FILE with the ending .invitations.json, with hashes of the
codes alone: nobody can answer with them. Start the collector with it:

  ldpstats invite sheet.json -n 5000 --to codes.csv --url https://survey.example/
  ldpstats collect sheet.json --to sheets --invitations codes.invitations.json

A code has 20 letters in groups of four, such as 24BD-FHKN-QSUW-Y359-ACE9. Capitals and hyphens do
not matter, and no letter looks like another; the last one shows typing errors. The others make 94
bits: of a million codes a guess hits one with probability 5e-23.
"""


def add_invite(commands: Any) -> None:
    words = "make codes, each of which takes one sheet of a collector"
    add = adder(added(commands, "invite", _invite, words, _INVITE))
    add("questionnaire", "the questionnaire (JSON)", "QUESTIONNAIRE")
    add("-n", "how many codes", "N", type=int, required=True)
    add("--to", "the table of codes to write, codes.csv", "FILE", required=True)
    add("--url", "address of the page, for links: https://survey.example/", "URL")
    add("--force", "overwrite files that exist: their codes are lost")


def _invite(given: argparse.Namespace) -> None:
    distinct(given.questionnaire, given.to)
    sheet = ldp.Questionnaire.from_json(given.questionnaire)
    hashes = invite(sheet, given.n, given.to, url=given.url, force=given.force)
    codes = "code" if given.n == 1 else "codes"
    print(f"{given.n:,} {codes} in {given.to}; for the collector: --invitations {hashes}")


# -- ldpstats page: a questionnaire as a page that respondents fill in ----------------------------


_PAGE = """\
Write a questionnaire as a page: one HTML file, which works in any browser with or without network.
Answers are privatised in the page, and only the reports leave it. With --post the page sends them
to a collector: --post /sheets if ldpstats collect serves the page, else the collector's address.
Without it respondents save their reports as a file or copy them as text. With --invitations the
page asks for a code of ldpstats invite, or takes it from its link, and sends it with the reports.

On agreement the page draws and sends in one step, and then shows what was sent. --show-first shows
reports before they are sent. Whoever dislikes one can delete it, which biases estimates; the
collector counts how many were.

--write-texts FILE writes all words of the page, to be replaced: wording of questions and answers,
title, introduction, another language. --texts FILE makes a page with them.
"""


def add_page(commands: Any) -> None:
    words = "write a questionnaire as a page that respondents fill in"
    add = adder(added(commands, "page", _page, words, _PAGE))
    add("questionnaire", "the questionnaire (JSON)", "QUESTIONNAIRE")
    add("--to", "the page to write, such as survey.html", "FILE")
    add("--post", "where the page sends reports (default: nowhere)", "URL")
    words = "ask for an invitation code, which goes with the reports"
    add("--invitations", words)
    words = "show reports before they are sent, which biases estimates: see page_text"
    add("--show-first", words)
    add("--texts", "words that replace those of the page (JSON)", "FILE")
    add("--write-texts", "write all words of the page, to be replaced", "FILE")
    add("--force", "overwrite files that exist")


def _page(given: argparse.Namespace) -> None:
    distinct(given.questionnaire, given.to, given.texts, given.write_texts)
    if (given.to is None) == (given.write_texts is None):
        raise LDPError("pass --to FILE for the page, or --write-texts FILE for its words")
    sheet = ldp.Questionnaire.from_json(given.questionnaire)
    if given.to is not None:
        ldp.page.write_page(
            *(sheet, given.to, given.texts, given.post, given.force),
            invitations=given.invitations,
            show_first=given.show_first,
        )
        return
    for name in ("post", "texts", "invitations", "show_first"):
        if getattr(given, name):
            raise LDPError(f"--{name.replace('_', '-')} goes with --to: it is for a page")
    with replacing(given.write_texts, given.force) as temporary:
        text = json.dumps(ldp.page.page_texts(sheet), indent=2, ensure_ascii=False) + "\n"
        temporary.write_text(text, encoding="utf-8")


# -- ldpstats statement: what a privacy officer is shown ------------------------------------------


_STATEMENT = """\
Print the privacy statement of a questionnaire, for whoever has to approve the survey: what is
asked, what leaves a device, epsilon by question and in all, what anyone can conclude, over several
waves too, and what is not protected. --to writes it as a page of HTML.
"""


def add_statement(commands: Any) -> None:
    words = "say on one page what a questionnaire protects, and what not"
    add = adder(added(commands, "statement", _statement, words, _STATEMENT))
    add("questionnaire", "the questionnaire (JSON)", "QUESTIONNAIRE")
    add("--to", "the page to write, such as statement.html", "FILE")
    add("--force", "overwrite a file that exists")


def _statement(given: argparse.Namespace) -> None:
    distinct(given.questionnaire, given.to)
    statement = ldp.Questionnaire.from_json(given.questionnaire).statement()
    if given.to is None:
        print(statement)
    else:
        statement.to_html(given.to, force=given.force)


# -- ldpstats client: what respondents' devices are given, in the language that they run ----------


_FILES = {
    "js": ("ldpstats-client.mjs", "ldpstats-client.d.mts", "conformance.mjs"),
    "python": ("ldpstats_client.py",),
}
_CLIENT = """\
Write what a respondent's device needs to make reports without this package. --language writes the
files of the client: js for browsers and Node, python for Python 3.9 and later; they need nothing
else. With SURVEY, the specification of a mechanism, a questionnaire, a PUM or a dictionary survey,
client.json is written too: the same survey, with its probabilities as integers. The reports of all
clients are those that this package reads; ldpstats conformance compares a client with it.
"""


def add_client(commands: Any) -> None:
    words = "write clients for respondents' devices, in JavaScript or Python"
    add = adder(added(commands, "client", _client, words, _CLIENT))
    add("survey", "a specification (JSON), for client.json", "SURVEY", nargs="?")
    words = "the language of the client's files; javascript is js"
    known = {"javascript": "js"}
    add("--language", words, type=lambda name: known.get(name, name), choices=sorted(_FILES))
    add("--to", "the folder to write them to", "DIR", required=True)
    add("--force", "overwrite files that exist")


def _client(given: argparse.Namespace) -> None:
    if given.survey is None and given.language is None:
        raise LDPError("pass --language for the files of a client, or SURVEY for its document")
    texts = {}
    if given.survey is not None:
        is_sheet = is_format(json_document(given.survey), QUESTIONNAIRE)
        read: Callable[[Any], Any] = Questionnaire.from_json if is_sheet else read_specification
        document = read(given.survey).client_document()
        texts["client.json"] = json.dumps(document, indent=2).encode("ascii") + b"\n"
    for name in _FILES.get(given.language, ()):
        texts[name] = files("ldpstats.clients").joinpath("portable", name).read_bytes()
    folder = checked_path(given.to)
    there = folder.exists()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise refusal(given.to, f"cannot be made a folder ({error.strerror})") from None
    try:
        with replacing_all([folder / name for name in texts], given.force) as temporary:
            for path, content in zip(temporary, texts.values(), strict=True):
                path.write_bytes(content)
    finally:
        if not there:
            with suppress(OSError):
                folder.rmdir()  # only an empty one goes


# -- ldpstats conformance: does a client, in any language, make the reports of the specification? --


_MOST_SECONDS, _MOST_RANDOM = 86_400.0, 100_000


def add_conformance(commands: Any) -> None:
    words = "compare a client, in any language, with the test vectors of the specification"
    epilog = (
        "COMMAND reads lines of JSON and writes lines of JSON, as section 11 of SPECIFICATION.md\n"
        "says. Options of this command stand before COMMAND; what stands after it is its own.\n"
        "Exit status 0: the client agrees; 1: it does not."
    )
    command = added(commands, "conformance", _conformance, words, f"{words}.", epilog)
    command.set_defaults(plot=None)
    add = adder(command)
    add("program", "the client: a program", "COMMAND")
    add("rest", "its arguments", "ARG", nargs=argparse.REMAINDER)
    words = "run these vectors alone: the name of one, or a kind of draw; may be repeated"
    add("--only", words, "NAME_OR_KIND", several=True)
    words = "how many random vectors to add, which nobody can have stored (default: 500)"
    add("--random", words, "N", type=int, default=500)
    words = "makes the same random vectors again (default: another one each time)"
    add("--seed", words, "S", type=int)
    words = "seconds that the client may take for a line (default: 10)"
    add("--timeout", words, "SECONDS", type=float, default=10.0)
    add("--json", "write the results as JSON; - prints them instead", "FILE")
    add("--force", "overwrite a file that exists")


def _conformance(given: argparse.Namespace) -> int:
    timeout = positive_number("--timeout", given.timeout, (0.001, _MOST_SECONDS))
    number = int(positive_number("--random", given.random, (0, _MOST_RANDOM)))
    seed = secrets.randbits(32) if given.seed is None else given.seed
    vectors = chosen([*stored_vectors(), *random_vectors(number, seed)], given.only)
    with output_files(given) as write:
        result = compared(vectors, [given.program, *given.rest], timeout)
        document = json.dumps({**result.to_dict(), "random": number, "seed": seed})
        write(document, lambda: None)
    if given.json == "-":
        print(document)
    else:
        print(f"{number:,} of the vectors are random: --seed {seed} makes them again\n{result}")
    return 0 if result.agrees else 1


# -- ldpstats questionnaire: specify whole answer sheets, or print one that is specified ----------


_QUESTIONNAIRE = """\
Write the specification of a questionnaire: named questions, each by k-ary randomised response or
with the specification of its mechanism or dictionary survey, and what all reports of an answer
sheet together spend. The questions are asked in the order of the options. Without questions, print
the questionnaire that FILE holds.

Designs with unknown parameters ask two groups with different devices, --group for each. A report
says its group, "A:yes", or the column NAME_cohort does beside the column NAME.

A survey that comes back has a questionnaire for each wave: the same options, another --wave. With
--link devices send one pseudonym in all waves, so that answers of several waves can be joined; with
--keep they also report from one response to each answer, as RAPPOR has it, in all waves.

Privatise a table of answers with ldpstats privatize INPUT OUTPUT --questionnaire FILE.
"""


_SHEET = ("ask", "refused", "wave", "link", "keep")  # options that are its arguments


class _Asked(argparse.Action):
    """Add a question to those of all options, in the order of the command line."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        namespace.asked = [*namespace.asked, (self.option_strings[0], *values)]


def add_questionnaire(commands: Any) -> None:
    words = "specify whole answer sheets, or print one that is specified"
    command = added(commands, "questionnaire", _questionnaire, words, _QUESTIONNAIRE)
    command.set_defaults(asked=[])
    add = adder(command)
    add("file", "the questionnaire (JSON)", "FILE")
    two: dict[str, Any] = {"nargs": 2, "action": _Asked, "dest": "asked"}
    words = "a question, which is a column of the table, and the specification of its mechanism"
    add("--question", words, ("NAME", "SPEC"), **two)
    three: dict[str, Any] = {"nargs": 3, "action": _Asked, "dest": "asked"}
    words = "a question by k-ary randomised response: its labels, separated by commas, or their "
    words += "number k, and epsilon"
    add("--krr", words, ("NAME", "LABELS", "EPSILON"), **three)
    words = (
        "a device of a question that is asked with another in each group, the name of the group "
    )
    words += "and the specification of the device; once for each group"
    add("--group", words, ("NAME", "GROUP", "SPEC"), **three)
    words = "a question without protection, and its labels: separated by commas, or their number k"
    add("--observed", words, ("NAME", "LABELS"), **two)
    words = "private questions that each respondent is asked, drawn at random (default: all)"
    add("--ask", words, "M", type=int)
    words = "the label of every private question that stands for a missing answer"
    add("--refused", words, "LABEL")
    add("--wave", "name of this wave of a survey that comes back: 2026-05", "NAME")
    words = "devices send the same pseudonym in all waves; needs --wave"
    add("--link", words)
    words = "devices keep the responses of RAPPOR and of mechanisms with two steps; needs --link"
    add("--keep", words)
    add("--force", "overwrite a file that exists")


def _questionnaire(given: argparse.Namespace) -> None:
    for flag, *_, last in given.asked:
        if flag in ("--question", "--group"):  # several may have one specification
            distinct(given.file, last)
    if not given.asked:
        for name in _SHEET:
            if getattr(given, name) not in (None, False):
                raise LDPError(f"--{name} goes with --question or --krr: name the questions")
        print(as_text(ldp.Questionnaire.from_json(given.file)))
        return
    mechanisms: dict[str, Any] = {}
    groups: dict[str, dict[str, Any]] = {}
    for flag, name, *values in given.asked:
        if name in mechanisms and not (flag == "--group" and name in groups):
            raise InvalidArgument(flag, name, "is the name of two questions: rename one")
        if flag == "--krr":
            where, (labels, epsilon) = f"--krr {name}", values
            (spent,) = numbers_in([epsilon], f"{where} epsilon", "must be a number: 1.0")
            categories = as_labels(f"{where} labels", label_list(labels, where))
            mechanisms[name] = ldp.KRR(categories, positive_epsilon(f"{where} epsilon", spent))
        elif flag == "--observed":
            mechanisms[name] = ldp.Observed(label_list(values[0], flag))
        elif flag == "--question":
            mechanisms[name] = read_specification(values[0])
        else:
            group, path = values
            own = mechanisms[name] = groups.setdefault(name, {})  # the first has the place
            if group in own:
                raise InvalidArgument(flag, group, f"is twice a group of {name}")
            own[group] = read_specification(path)
    for name, own in groups.items():  # a device in each group
        first, steps = next(iter(own.values())), {}
        for group, made_by in own.items():
            if not isinstance(made_by, DeviceMechanism):
                words = "must be a device in each group, as ldpstats device writes it"
                raise InvalidArgument(f"--group {name}", group, f"{words}, not {made_by}")
            if not made_by.categories.equals(first.categories):
                remedy = "must have the categories of the other groups, in the same order"
                raise InvalidArgument(f"--group {name}", group, remedy)
            steps[group] = ldp.devices.Device(made_by.device)
        mechanisms[name] = ldp.devices.cohorts(steps).mechanism(first.categories)
    how = {name: getattr(given, name) for name in _SHEET}
    ldp.Questionnaire(mechanisms, **how).to_json(given.file, force=given.force)
    print(as_text(ldp.Questionnaire.from_json(given.file)))


# -- ldpstats privatize: replace a column of true answers by privatised reports -------------------


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


def _mechanisms() -> dict[str, Callable[..., ldp.Mechanism]]:
    """The mechanisms that these options can specify, by their names on the command line."""
    mechanisms: dict[str, Callable[..., ldp.Mechanism]] = {
        "olh": ldp.OLH,
        "oue": lambda categories, epsilon: ldp.KRAPPOR(categories, epsilon, theta=0.5),
    }
    for name in KINDS:
        fields = signature(kind_of(name)).parameters.values()
        if all(f.name in _PARAMETERS or f.default is not f.empty for f in fields):
            mechanisms[re.sub("(?<=[a-z])(?=[A-Z])", "-", name).lower()] = kind_of(name)
    return mechanisms


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
    command = added(commands, "privatize", _privatize, words, _PRIVATIZE)
    add = adder(command)
    add("input", "table of true answers", "INPUT")
    add("output", "table of reports to write", "OUTPUT")
    add("--column", "column of true answers", action=Once)
    add("--spec", "specification of the mechanism (JSON)", "FILE", action=Once)
    words = "specification of a survey of strings that nobody listed (JSON), instead of --spec"
    add("--survey", words, "FILE")
    words = "questionnaire (JSON), instead of --column and --spec: its questions are columns"
    add("--questionnaire", words, "FILE")
    made = command.add_argument_group("a mechanism of your own, instead of --spec")
    names = sorted(_mechanisms())
    add_made = adder(made)
    add_made("--mechanism", ", ".join(names), "NAME", type=_own_name, choices=names)
    add_device_options(add_made)
    for name, (kind, text) in _PARAMETERS.items():
        add_made("-f --f" if name == "f" else option(name), text, type=kind)
    add_made("--write-spec", "where to write its specification", "FILE")
    words = "refuse a specification whose epsilon, in nats, is larger"
    add("--max-epsilon", words, "EPSILON", type=float)
    words = "run a mechanism that does not protect its respondents"
    add("--allow-no-privacy", words)
    words = "what to call the column of reports (default: report)"
    add("--as", words, "COLUMN", dest="name")
    words = "copy another column too, as it is: an identifier, or reports made before"
    add("--keep", words, "COLUMN", several=True)
    words = "CSV: put an apostrophe before cells that begin with =, +, - or @, which a spreadsheet "
    words += "would run as a formula. Labels, identifiers and missing answers are read without it; "
    words += "a later run refuses answers kept with --keep that have it, if any text is an answer"
    add("--spreadsheet-safe", words)
    counted = "write an empty report for each; with --questionnaire a missing answer is an empty "
    counted += "cell, or the category that the questionnaire names"
    add_reading(add, "answers", counted)
    command.set_defaults(missing=None)  # to tell whether it was given


def _privatize(given: argparse.Namespace) -> None:
    if given.questionnaire is not None:
        _privatize_sheets(given)
        return
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
        _exclude(given, "--survey", "spec")
        made_by, privatize = io.read_survey(given.survey), io.privatize_strings
    collector = made_by.collector(**_limits(given))
    how |= {"specification": given.write_spec, "spreadsheet_safe": given.spreadsheet_safe}
    with progress("privatising") as advance:
        paths = given.input, given.output, given.column
        nobs, n_missing = privatize(*paths, collector, **how, advance=advance)
    print(f"{given.output}: {nobs} reports of {made_by}, {n_missing} missing")


def _limits(given: argparse.Namespace) -> dict[str, Any]:
    return {"max_epsilon": given.max_epsilon, "allow_no_privacy": given.allow_no_privacy}


def _privatize_sheets(given: argparse.Namespace) -> None:
    """Privatise the columns of a questionnaire."""
    params, given.param = given.param, []
    _exclude(given, "--questionnaire", "column", "survey", "spec", "missing")
    distinct(given.input, given.output, given.questionnaire)
    sheet = ldp.Questionnaire.from_json(given.questionnaire)
    unknown: dict[str, dict[str, str]] = {}  # values of unknown parameters, by question
    for param in params:
        key, sign, value = param.rpartition("=")
        question, dot, name = key.rpartition(".")
        if not sign or not dot:
            remedy = "must be QUESTION.NAME=VALUE with --questionnaire, such as used.cheating=.1"
            raise InvalidArgument("--param", param, remedy)
        if name in unknown.setdefault(question, {}):
            raise InvalidArgument("--param", param, f"gives {key} a second time")
        unknown[question][name] = value
    collector = sheet.collector(**_limits(given), parameters=unknown or None)
    how = {n: getattr(given, n) for n in ("keep", "na", "force", "spreadsheet_safe")}
    with progress("privatising") as advance:
        totals = privatize_sheets(given.input, given.output, collector, **how, advance=advance)
    counts = ", ".join(f"{name}: {number}" for name, number in totals.items())
    print(f"{given.output}: reports of {sheet}{f' ({counts})' if counts else ''}")


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
            remedy = "cannot be combined with --spec"
            raise InvalidArgument(option(name), getattr(given, name), remedy)
        return io.read_mechanism(given.spec)
    if (given.mechanism is None and given.device is None) or given.write_spec is None:
        raise LDPError(
            "--spec is missing: pass a specification, or --mechanism with its options (or --device "
            "with --param) and --write-spec, because the reports cannot be analysed without a "
            "specification"
        )
    refuse_params(given)
    if given.device is not None:
        for name in ("mechanism", *options):
            if name != "categories" and getattr(given, name) is not None:
                remedy = "cannot be combined with --device, whose parameters are --param NAME=VALUE"
                raise InvalidArgument(option(name), getattr(given, name), remedy)
        return device_mechanism(given)
    kind = _mechanisms()[given.mechanism]
    known = {
        field.name: field.default is field.empty or field.name in ("sensitive", "epsilon")
        for field in signature(kind).parameters.values()
        if field.name in _PARAMETERS
    }
    if kind is ldp.Warner and "p" in options:  # one of the two
        known["epsilon"] = False
    for name in options:
        if name not in known:
            wanted = ", ".join(map(option, known))
            remedy = f"is not an option of {given.mechanism}, which has {wanted}"
            raise InvalidArgument(option(name), options[name], remedy)
    for name, needed in known.items():
        if needed and name not in options:
            raise InvalidArgument(option(name), None, f"is needed for {given.mechanism}")
    for name in _LABELS:
        if name in options:
            options[name] = label_list(options[name], option(name))
    if "edges" in options:
        remedy = "must be numbers separated by commas, such as 0,10,20.5"
        options["edges"] = numbers_in(options["edges"].split(","), "--edges", remedy)
    if "sensitive" in options:  # perhaps none; numbers if the categories are 0 to k-1
        text = options["sensitive"]
        members: list[Any] = list(split_labels(text, "--sensitive")) if text else []
        if isinstance(options["categories"], int):
            members = [int(v) if v.isascii() and v.isdecimal() else v for v in members]
        options["sensitive"] = members
    return kind(**options)
