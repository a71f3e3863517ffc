"""The command ``ldpstats survey``: strings that nobody listed."""

from __future__ import annotations

import argparse
from typing import Any

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli_common import HOW
from ldpstats.errors import InvalidArgument

__all__ = ["add_survey"]

_SURVEY = """\
Write the specification of a survey of strings that nobody listed. A respondent reports two grams of
the string, at random positions, and the whole string, each privatised; together they spend epsilon.

In --alphabet, two characters with a hyphen between them stand for all from the first to the second
in the order of Unicode: "a-z0-9". A hyphen that is the first character, the last one, or follows
such a range, stands for itself: "a-z0-9.-".
"""

_SURVEY_EXAMPLES = """\
examples:
  ldpstats survey hosts.json --length 20 --gram 2 --alphabet "a-z0-9.-" --epsilon 4.4
  ldpstats survey words.json --length 12 --gram 3 --alphabet a-z --epsilon 6 \\
      --split 0.3 0.35 0.35 --string-mechanism rappor
  ldpstats privatize visits.csv reports.csv --column host --survey hosts.json
  ldpstats audit hosts.json
"""

_MOST_CHARACTERS = 1 << 16  # of a range


# -- survey ----------------------------------------------------------------------------------------


def add_survey(commands: Any) -> None:
    """Add the command to those of the program."""
    words = "specify how strings that nobody listed are reported"
    how = HOW | {"description": _SURVEY, "epilog": _SURVEY_EXAMPLES}
    command = commands.add_parser("survey", help=words, **how)
    command.set_defaults(run=_survey)
    add = command.add_argument
    add("output", metavar="OUTPUT", help="specification to write (JSON)")
    words = "characters of a string, a multiple of --gram: what is longer loses its end"
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
    found, i = "", 0
    while i < len(text):
        if text[i + 1 : i + 2] != "-" or i + 2 == len(text):
            found, i = found + text[i], i + 1
            continue
        first, last = ord(text[i]), ord(text[i + 2])
        if not 0 <= last - first < _MOST_CHARACTERS:
            remedy = f"{text[i : i + 3]!r} must be a range upwards; a hyphen itself stands last"
            raise InvalidArgument("--alphabet", text, remedy)
        found, i = found + "".join(map(chr, range(first, last + 1))), i + 3
    return found
