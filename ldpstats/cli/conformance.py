"""ldpstats conformance: does a client, in any language, make the reports of the specification?"""

from __future__ import annotations

import argparse
import json
import secrets
from typing import Any

from ldpstats.arguments.checks import positive_number
from ldpstats.cli.common import HOW, output_files
from ldpstats.clients.conformance import compared
from ldpstats.clients.conformance.random_vectors import random_vectors
from ldpstats.clients.conformance.vectors import chosen, stored_vectors

__all__ = ["add_conformance"]

_MOST_SECONDS, _MOST_RANDOM = 86_400.0, 100_000


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
    words = "how many random vectors to add, which nobody can have stored (default: 500)"
    add("--random", type=int, default=500, metavar="N", help=words)
    words = "makes the same random vectors again (default: another one each time)"
    add("--seed", type=int, metavar="S", help=words)
    words = "seconds that the client may take for a line (default: 10)"
    add("--timeout", type=float, default=10.0, metavar="SECONDS", help=words)
    add("--json", metavar="FILE", help="write the results as JSON; - prints them instead")
    add("--force", action="store_true", help="overwrite a file that exists")


def _conformance(given: argparse.Namespace) -> int:
    timeout = positive_number("--timeout", given.timeout, (0.001, _MOST_SECONDS))
    number = int(positive_number("--random", given.random, (0, _MOST_RANDOM)))
    seed = secrets.randbits(32) if given.seed is None else given.seed
    vectors = chosen([*stored_vectors(), *random_vectors(number, seed)], given.only)
    with output_files(given) as write:
        result = compared(vectors, [given.program, *given.rest], timeout)
        document = json.dumps({**result.to_dict(), "random": number, "seed": seed})
        write(document, _no_plot)
    if given.json == "-":
        print(document)
    else:
        print(f"{number:,} of the vectors are random: --seed {seed} makes them again\n{result}")
    return 0 if result.agrees else 1


def _no_plot() -> None:
    """What draws the plot that this command does not have."""
