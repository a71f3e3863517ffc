"""The command line of the package, ``ldpstats COMMAND``.

Exit status 0 is success; 1, that an audit found a leak or no privacy; 2, bad input, with one line
on standard error and nothing on standard output; 130, an interruption once it has started; 141,
that nobody reads the output. After SIGTERM and SIGHUP the process ends by the signal, which a shell
shows as 143 and 129. However it ends, files appear complete or not at all, and those of one run
together; only SIGKILL or a crash leaves a temporary file, whose name begins with ".ldpstats-".
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, NoReturn, TextIO

import ldpstats as ldp
from ldpstats import io
from ldpstats.arguments.checks import one_of
from ldpstats.cli_associate import add_associate
from ldpstats.cli_common import (
    HOW,
    add_output,
    add_reading,
    check_output,
    distinct,
    option,
    output_files,
    progress,
)
from ldpstats.cli_discover import add_discover, add_survey
from ldpstats.errors import MOST_CHARACTERS, InvalidArgument, LDPError, LDPWarning, cut
from ldpstats.io.google_fields import header_of
from ldpstats.io.interrupts import cleaning_up, remove_unfinished
from ldpstats.mechanisms.hashed.base import Hashed
from ldpstats.problems.hashed.moments import LARGEST_DENSE

__all__ = ["main"]

_MECHANISMS: dict[str, type[ldp.Mechanism]] = {
    "forced-response": ldp.ForcedResponse,
    "krappor": ldp.KRAPPOR,
    "krr": ldp.KRR,
    "mangat": ldp.Mangat,
    "orappor": ldp.ORAPPOR,
    "orr": ldp.ORR,
    "rappor": ldp.RAPPOR,
    "unrelated-question": ldp.UnrelatedQuestion,
    "urap": ldp.URAP,
    "urr": ldp.URR,
    "warner": ldp.Warner,
}

# the options that are fields of a mechanism: what they are parsed by, and their help
_PARAMETERS: dict[str, tuple[type, str]] = {
    "categories": (str, "labels separated by commas, or their number k for the labels 0 to k-1"),
    "alphabet": (str, "orr, orappor, rappor: all possible answers, as --categories (default: any)"),
    "sensitive": (str, "urap, urr: the categories to protect, separated by commas"),
    "epsilon": (float, "privacy of one report, in nats"),
    "theta": (float, "krappor, urap: P(own bit = 1); 0.5 is optimised unary encoding"),
    "p_truth": (float, "forced-response: probability of being told to answer truthfully"),
    "p_yes": (float, "forced-response: probability of being told to say yes"),
    "p": (
        float,
        "unrelated-question, mangat: probability of the sensitive question, of the truth; "
        "rappor: P(reported bit = 1) where the permanent one is 0",
    ),
    "q": (float, "rappor: P(reported bit = 1) where the permanent one is 1"),
    "f": (float, "rappor: noise of the permanent response"),
    "prevalence": (float, "unrelated-question: share of yes to the unrelated question"),
    "n_outputs": (int, "orr: labels that an answer is hashed to"),
    "n_bits": (int, "orappor, rappor: bits of a report"),
    "n_hashes": (int, "orappor, rappor: hashes of an answer"),
    "n_cohorts": (int, "orr, orappor, rappor: cohorts"),
    "hashing": (str, "rappor: ldpstats (default) or google"),
}
_LABELS = ("categories", "alphabet")

_WIDTH = 76  # of a label in a list

_CORRECTIONS = ("bonferroni", "holm", "bh")

_EXAMPLES = """\
examples:
  ldpstats privatize answers.csv reports.csv --column job \\
      --mechanism krr --epsilon 1 --categories nurse,teacher,driver --write-spec survey.json
  ldpstats privatize more.parquet more_reports.parquet --column job --spec survey.json
  ldpstats fit reports.csv --spec survey.json --plot jobs.png
  ldpstats fit counts.csv --spec survey.json --count n --method inversion --json -
  ldpstats privatize visits.csv noisy.csv --column host --mechanism orr --epsilon 2 \\
      --n-outputs 64 --n-cohorts 256 --write-spec hosts.json
  ldpstats fit noisy.csv --spec hosts.json --candidates hosts.txt --detect holm
  ldpstats fit counts.csv --params params.csv --map map.csv
  ldpstats privatize answers.csv jobs.csv --column job --spec job.json --keep person
  ldpstats privatize answers.csv hours.csv --column hours --spec hours.json --keep person
  ldpstats associate jobs.csv --spec job.json --name job \\
      --with hours.csv --spec hours.json --name hours --id person
  ldpstats associate reports.csv --column job --spec job.json --column hours --spec hours.json \\
      --test bootstrap --seed 1 --plot table.png --plot-kind departures
  ldpstats privatize answers.csv status.csv --column status --mechanism urr --epsilon 1 \\
      --categories married,single,divorced,widowed --sensitive divorced --write-spec status.json
  ldpstats audit survey.json

Tables are .csv, .csv.gz or .parquet files with named columns; they may be larger than memory.
"""

_PRIVATIZE = """\
Privatise a column of answers, with the operating system's randomness. The true answers are never
copied; of the other columns only those that --keep names are. Whoever holds INPUT sees every
answer: privacy begins where this runs, best on the respondent's own device.

A row is one respondent, who reports once. Privatising the same answers again, or several rows of
one respondent, spends epsilon each time. For RAPPOR, repeated reports of the same person need the
client that remembers (RAPPOR.client in Python), not this command.

Privatise several columns one by one, each with its own epsilon, and --keep a column that tells the
respondents apart: ldpstats associate matches the tables by it. To have one table instead, privatise
OUTPUT again, with --as for a name of the reports and --keep for those that were made before; until
the last run, it holds the answers that are kept for the next one.

A CSV file OUTPUT has one more column, report_fingerprint: each row says which specification made
it, so that no other is taken for it. With --write-spec, both files appear or none.

With --survey, answers are strings that nobody listed, and OUTPUT has the columns start_1, gram_1,
start_2, gram_2, string and, in CSV, survey_fingerprint: see ldpstats survey.
"""

_FIT = """\
Estimate how frequent each category is among the true answers, from privatised reports. The
specification must be the one that made them: files that ldpstats wrote say which that is.
Where any text is an answer, the frequencies are those of a list of candidates, and the candidates
that are there are listed under the table. With --params, INPUT is a file of google/rappor, counts
or reports.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process by default.

    Returns
    -------
    int
        0 success, 1 an audit that found a leak or no privacy, 2 bad input, 130 interrupted, 141
        broken pipe. An interruption before `main` runs, while Python imports the package, is
        Python's own: a traceback. SIGTERM and SIGHUP end the process, as they do by default, after
        unfinished files are gone.

    Examples
    --------
    >>> main(["--version"])
    ldpstats 0.1.0
    0
    """
    try:
        _fill_standard_streams()
        with cleaning_up(), _quiet_interruptions():
            return _status(argv)
    except KeyboardInterrupt:  # before a command began, or while the first was being dealt with
        remove_unfinished()
        return 130


def _status(argv: Sequence[str] | None) -> int:
    """Run a command; what it raises becomes a line on standard error and an exit status."""
    arguments = None
    try:
        if sys.stdout is None:
            raise LDPError("standard output is closed: redirect it, for example to /dev/null")
        with warnings.catch_warnings():
            warnings.simplefilter("always", LDPWarning)
            warnings.showwarning = _show_warning
            arguments = _arguments(argv)
            status: int = arguments.run(arguments)
        return _flushed() or status
    except SystemExit as stop:  # --help and --version
        return _flushed() or int(stop.code or 0)
    except KeyboardInterrupt:
        remove_unfinished()
        return _complain("interrupted", 130)
    except BrokenPipeError:
        _give_up(sys.stdout)
        return 141
    except MemoryError:
        return _complain("not enough memory for so many categories or reports", 2)
    except OSError as error:
        if error.filename is None:  # files have names: this is standard output, in a print
            return _unwritable(error)
        return _complain(str(error), 2)
    except (LDPError, UnicodeError) as error:
        return _complain(str(error), 2)
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} in {Path(at.filename).name}, line {at.lineno}"
        if arguments is None or arguments.run is not _privatize:  # it might quote an answer
            where += f": {error}"
        return _complain(f"a defect of ldpstats, please report it ({where})", 2)


def _complain(message: str, status: int) -> int:
    _print_line(f"ldpstats: error: {' '.join(message.split())}")
    return status


def _print_line(text: str) -> None:
    """Print a line to standard error, cut if it is long; or to nobody, where nobody reads it."""
    if sys.stderr is None:  # print() would take standard output instead
        return
    try:
        print(cut(text, MOST_CHARACTERS), file=sys.stderr, flush=True)
    except OSError:
        _give_up(sys.stderr)


def _flushed() -> int:
    """Write out standard output; the exit status where that cannot be done, 0 otherwise."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _give_up(sys.stdout)
        return 141
    except OSError as error:
        return _unwritable(error)
    return 0


def _unwritable(error: OSError) -> int:
    _give_up(sys.stdout)
    return _complain(f"standard output cannot be written ({error.strerror or error})", 2)


def _give_up(stream: TextIO) -> None:
    """Send nowhere what a stream still holds: Python writes it on exit, and must not fail again."""
    try:
        stream.flush()
    except OSError:
        with suppress(OSError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())


@contextmanager
def _quiet_interruptions() -> Iterator[None]:
    """Print nothing of a second interruption that meets the clean-up after the first.

    Python prints it where it cannot be raised, as from a generator that is being closed.
    """
    before = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _fill_standard_streams() -> None:
    """Open standard streams that are closed, or files to write would get their numbers."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _print_line(f"ldpstats: warning: {' '.join(str(message).split())}")


# -- arguments -------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Raises what `main` prints on one line, where argparse would print its usage too."""

    def error(self, message: str) -> NoReturn:
        raise LDPError(f"{message} (see {self.prog} --help)")

    def print_help(self, file: Any = None) -> None:
        # argparse would say nothing where it cannot be written
        print(self.format_help(), end="", file=file)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    given, unknown = parser.parse_known_args(argv)
    if unknown:
        first, stray = unknown[0], getattr(given, "stray", "")  # what to do with one more file
        hint = f"; {stray.format(first)}" if stray and not first.startswith("-") else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    return given


def _parser() -> argparse.ArgumentParser:
    description = "Collect and analyse categorical answers under local differential privacy."
    parser = _Parser("ldpstats", description=description, epilog=_EXAMPLES, **HOW)
    parser.add_argument("--version", action="version", version=f"ldpstats {ldp.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    _add_privatize(commands)
    _add_fit(commands)
    add_associate(commands)
    add_survey(commands)
    add_discover(commands)
    _add_audit(commands)
    return parser


def _add_privatize(commands: Any) -> None:
    words = "replace a column of true answers by privatised reports"
    command = commands.add_parser("privatize", help=words, description=_PRIVATIZE, **HOW)
    command.set_defaults(run=_privatize)
    add = command.add_argument
    add("input", metavar="INPUT", help="table of true answers")
    add("output", metavar="OUTPUT", help="table of reports to write")
    add("--column", required=True, help="column of true answers")
    add("--spec", metavar="FILE", help="specification of the mechanism (JSON)")
    words = "specification of a survey of strings that nobody listed (JSON), instead of --spec"
    add("--survey", metavar="FILE", help=words)
    made = command.add_argument_group("a mechanism of your own, instead of --spec")
    names = sorted(_MECHANISMS)
    made.add_argument("--mechanism", choices=names, metavar="NAME", help=", ".join(names))
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
    words += "answers that --keep leaves for another run are refused there if any text is an answer"
    add("--spreadsheet-safe", action="store_true", help=words)
    add_reading(add, "answers", "write an empty report for each")


def _add_fit(commands: Any) -> None:
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
    words = (
        "list what is there, with errors controlled over all (default for candidates: bonferroni)"
    )
    add(
        "--detect",
        choices=_CORRECTIONS,
        metavar="METHOD",
        help=f"{words}; {', '.join(_CORRECTIONS)}",
    )
    words = "1 - coverage of intervals, and error rate of --detect"
    add_output(add, words, "categories", "the estimates")
    add_reading(add, "answers", "count and report them")


def _add_audit(commands: Any) -> None:
    words = "compare the epsilon declared with the channel's and the sampler's"
    command = commands.add_parser("audit", help=words, description=f"{words}.", **HOW)
    command.set_defaults(run=_audit)
    words = "specification of a mechanism or a survey (JSON)"
    command.add_argument("spec", metavar="SPEC", help=words)
    command.add_argument("--json", action="store_true", help="print JSON")


# -- commands --------------------------------------------------------------------------------------


def _privatize(given: argparse.Namespace) -> int:
    distinct(given.input, given.output, given.spec, given.survey, given.write_spec)
    how: dict[str, Any] = {n: getattr(given, n) for n in ("keep", "missing", "na", "force")}
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


def _survey(given: argparse.Namespace) -> ldp.DictionarySurvey:
    """The survey of --survey, which leaves nothing to choose."""
    for name in ("spec", "mechanism", *_PARAMETERS, "write_spec", "name"):
        value = getattr(given, name)
        if value is not None:
            flag = "--as" if name == "name" else option(name)
            raise InvalidArgument(flag, value, "goes without --survey only")
    return io.read_survey(given.survey)


def _mechanism(given: argparse.Namespace) -> ldp.Mechanism:
    """The mechanism of --spec, or the one that the options describe."""
    options = {k: v for k in _PARAMETERS if (v := getattr(given, k)) is not None}
    if given.spec is not None:
        for name in (*options, *(n for n in ("mechanism", "write_spec") if getattr(given, n))):
            raise InvalidArgument(option(name), getattr(given, name), "goes without --spec only")
        return io.read_mechanism(given.spec)
    if given.mechanism is None or given.write_spec is None:
        raise LDPError(
            "--spec is missing: pass a specification, or --mechanism with its options and "
            "--write-spec, because the reports cannot be analysed without a specification"
        )
    kind = _MECHANISMS[given.mechanism]
    known = {
        field.name: field.default is MISSING or field.name in ("sensitive", "epsilon")
        for field in fields(kind)  # type: ignore[arg-type]
        if field.name in _PARAMETERS
    }
    for name in options:
        if name not in known:
            wanted = ", ".join(map(option, known))
            raise InvalidArgument(
                option(name), options[name], f"is no option of {given.mechanism}: it has {wanted}"
            )
    for name, needed in known.items():
        if needed and name not in options:
            raise InvalidArgument(option(name), None, f"is needed for {given.mechanism}")
    for name in _LABELS:
        if name in options:
            options[name] = _categories(options[name], option(name))
    if "sensitive" in options:
        options["sensitive"] = _members(options["sensitive"], options["categories"])
    return kind(**options)


def _members(text: str, categories: int | list[str]) -> list[Any]:
    """Labels separated by commas; numbers where the categories are 0 to k-1. There may be none."""
    if not text:
        return []
    labels = _split(text, "--sensitive")
    if isinstance(categories, int):
        return [int(v) if v.isascii() and v.isdecimal() else v for v in labels]
    return labels


def _categories(text: str, flag: str = "--categories") -> int | list[str]:
    """A number of categories, or labels; a label with a comma in it stands in double quotes."""
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return int(text)
    return _split(text, flag)


def _split(text: str, flag: str) -> list[str]:
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        raise InvalidArgument(flag, text, f"is no list of labels ({error})") from None


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
        table = str(results.summary(given.alpha, given.max_rows))
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
    """Refuse, before reports are read, more hashed candidates than have standard errors at once."""
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
    """The categories that are there, one a line."""
    from ldpstats.summary import one_line

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


def _audit(given: argparse.Namespace) -> int:
    read = io.read_survey if io.is_survey(given.spec) else io.read_mechanism
    audit = read(given.spec).audit()
    print(json.dumps(audit.to_dict(), allow_nan=False) if given.json else audit)
    return 0 if audit.agrees and audit.private else 1


if __name__ == "__main__":
    raise SystemExit(main())
