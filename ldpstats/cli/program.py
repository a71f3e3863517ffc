"""The command line of the package, ``ldpstats COMMAND``.

Exit status 0 is success; 1, that an audit found a leak or no privacy; 2, bad input, with one line
on standard error and nothing on standard output; 130, an interruption once it has started; 141,
that nobody reads the output. After SIGTERM and SIGHUP the process ends by the signal, which a shell
shows as 143 and 129; `collect` ends with status 0 after SIGTERM and SIGINT. However it ends, files
appear complete or not at all, and those of one run together; only SIGKILL or a crash leaves a
temporary file, whose name begins with ".ldpstats-".
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

import ldpstats as ldp
from ldpstats.cli.analysing import add_associate, add_discover, add_fit, add_survey
from ldpstats.cli.collecting import (
    add_client,
    add_collect,
    add_conformance,
    add_invite,
    add_page,
    add_privatize,
    add_questionnaire,
    add_statement,
)
from ldpstats.cli.common import HOW
from ldpstats.cli.planning import add_audit, add_device, add_plan
from ldpstats.errors import MOST_CHARACTERS, LDPError, LDPWarning, cut
from ldpstats.io.storage import cleaning_up, remove_unfinished

_EXAMPLES = """\
examples:
  ldpstats plan --categories nurse,teacher,driver --epsilon 1 --epsilon 2 --se 0.02 --plot plan.png
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
  ldpstats device kuk --param p1=.8 --param p2=.2 --write-spec kuk.json --plot kuk.png
  ldpstats privatize answers.csv cards.csv --column used --device forced-dice --write-spec die.json
  ldpstats questionnaire sheet.json --question job job.json --question hours hours.json
  ldpstats privatize answers.csv sheets.csv --questionnaire sheet.json --keep person
  ldpstats client sheet.json --language js --to clients
  ldpstats page sheet.json --to survey.html --post https://survey.example/sheets
  ldpstats fit sheets.csv --questionnaire sheet.json --column job --by region \\
      --where "age >= 18 and sex == 'f'" --csv jobs.csv
  ldpstats associate sheets.csv --questionnaire sheet.json --column job --column region
  ldpstats fit sheets.csv --questionnaire sheet.json --column job --weights weight \\
      --strata region --clusters town --by sex
  ldpstats invite sheet.json -n 5000 --to codes.csv
  ldpstats collect sheet.json --to sheets --port 8000 --invitations codes.invitations.json
  ldpstats audit survey.json
  ldpstats conformance --only keep python ldpstats_client.py --conformance

Tables are .csv, .csv.gz or .parquet files with named columns; they may be larger than memory.
"""


def command() -> NoReturn:
    """Run a command and end the process with its exit status."""
    status = main()
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        # all is done, and Python would print what it cannot raise while it ends
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise SystemExit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    try:
        _fill_standard_streams()
        with cleaning_up(), _quiet_interruptions():
            return _status(argv)
    except KeyboardInterrupt:  # before a command began, or while the first was being dealt with
        remove_unfinished()
        return 130


def _fill_standard_streams() -> None:
    """Open closed standard streams, so that files to write do not get their numbers.

    A function of its own: an interruption at a `try` within another escapes both (Python 3.11).
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free


def _status(argv: Sequence[str] | None) -> int:
    """Run a command; what it raises becomes a line on standard error and an exit status."""
    arguments = None
    try:
        if sys.stdout is None:
            raise LDPError("standard output is closed: redirect it, for example to /dev/null")
        with warnings.catch_warnings():
            warnings.simplefilter("always", LDPWarning)
            warnings.showwarning = _show_warning
            parser = _parser()
            arguments, unknown = parser.parse_known_args(argv)
            if unknown:
                first, stray = unknown[0], getattr(arguments, "stray", "")  # for one more file
                hint = f"; {stray.format(first)}" if stray and not first.startswith("-") else ""
                parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
            status: int = arguments.run(arguments) or 0
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
        if arguments is None or arguments.command != "privatize":  # it might quote an answer
            where += f": {error}"
        return _complain(f"a defect of ldpstats, please report it ({where})", 2)


def _complain(message: str, status: int) -> int:
    _print_line(f"ldpstats: error: {' '.join(message.split())}")
    return status


def _print_line(text: str) -> None:
    """Print a line to standard error, cut if it is long; ignore a reader that is gone."""
    if sys.stderr is None:  # print() would take standard output instead
        return
    try:
        print(cut(text, MOST_CHARACTERS), file=sys.stderr, flush=True)
    except OSError:
        _give_up(sys.stderr)


def _flushed() -> int:
    """Flush standard output; return 0, or the exit status of a failure."""
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
    """Discard what a stream still holds, so that Python does not fail to write it on exit."""
    try:
        stream.flush()
    except OSError:
        with suppress(OSError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())


@contextmanager
def _quiet_interruptions() -> Iterator[None]:
    """Silence a second interruption during clean-up, which Python prints if it cannot raise it."""
    before = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _print_line(f"ldpstats: warning: {' '.join(str(message).split())}")


# -- arguments -------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Raise errors that `main` prints on one line; argparse would print its usage too."""

    def error(self, message: str) -> NoReturn:
        raise LDPError(f"{message} (see {self.prog} --help)")

    def print_help(self, file: Any = None) -> None:
        # argparse would say nothing where it cannot be written
        print(self.format_help(), end="", file=file)


def _parser() -> argparse.ArgumentParser:
    description = "Collect and analyse categorical answers under local differential privacy."
    parser = _Parser("ldpstats", description=description, epilog=_EXAMPLES, **HOW)
    parser.add_argument("--version", action="version", version=f"ldpstats {ldp.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for add in (
        *(add_plan, add_privatize, add_fit, add_associate, add_survey, add_discover),
        *(add_questionnaire, add_client, add_page, add_statement, add_invite, add_collect),
        *(add_audit, add_device, add_conformance),
    ):
        add(commands)
    return parser
