"""ldpstats conformance: does a client, in any language, make the reports of the specification?"""

from __future__ import annotations

import argparse
import json
from typing import Any

from ldpstats.arguments.checks import positive_number
from ldpstats.cli.common import HOW, output_files
from ldpstats.clients.conformance import compared
from ldpstats.clients.vectors import chosen, stored_vectors

__all__ = ["add_conformance"]

_MOST_SECONDS = 86_400.0


def add_conformance(commands: Any) -> None:
    words = "compare a client, in any language, with the test vectors of the specification"
    epilog = (
        "COMMAND reads lines of JSON and writes lines of JSON, as section 11 of SPECIFICATION.md\n"
        "says. Options of this command stand before COMMAND; what stands after it is its own.\n"
        "Exit status 0: the client agrees; 1: it does not."
    )
    command = commands.add_parser(
        "conformance", help=words, description=f"{words}.", epilog=epilog, **HOW
    )
    command.set_defaults(run=_conformance, plot=None)
    add = command.add_argument
    add("program", metavar="COMMAND", help="the client: a program")
    add("rest", metavar="ARG", nargs=argparse.REMAINDER, help="its arguments")
    words = "run these vectors alone: the name of one, or a kind of draw; may be repeated"
    add("--only", action="append", default=[], metavar="NAME_OR_KIND", help=words)
    words = "seconds that the client may take for a line (default: 10)"
    add("--timeout", type=float, default=10.0, metavar="SECONDS", help=words)
    add("--json", metavar="FILE", help="write the results as JSON; - prints them instead")
    add("--force", action="store_true", help="overwrite a file that exists")


def _conformance(given: argparse.Namespace) -> int:
    timeout = positive_number("--timeout", given.timeout, (0.001, _MOST_SECONDS))
    vectors = chosen(stored_vectors(), given.only)
    with output_files(given) as write:
        result = compared(vectors, [given.program, *given.rest], timeout)
        document = json.dumps(result.to_dict())
        write(document, _no_plot)
    print(document if given.json == "-" else result)
    return 0 if result.agrees else 1


def _no_plot() -> None:
    """What draws the plot that this command does not have."""
