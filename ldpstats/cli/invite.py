"""ldpstats invite: codes with which each of those who are invited can send one sheet."""

from __future__ import annotations

import argparse
from typing import Any

import ldpstats as ldp
from ldpstats.cli.common import HOW, distinct
from ldpstats.collector import invite

__all__ = ["add_invite"]

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
    command = commands.add_parser("invite", help=words, description=_INVITE, **HOW)
    command.set_defaults(run=_invite)
    add = command.add_argument
    add("questionnaire", metavar="QUESTIONNAIRE", help="the questionnaire (JSON)")
    add("-n", type=int, required=True, metavar="N", help="how many codes")
    add("--to", required=True, metavar="FILE", help="the table of codes to write, codes.csv")
    add("--url", metavar="URL", help="address of the page, for links: https://survey.example/")
    add("--force", action="store_true", help="overwrite files that exist: their codes are lost")


def _invite(given: argparse.Namespace) -> int:
    distinct(given.questionnaire, given.to)
    sheet = ldp.Questionnaire.from_json(given.questionnaire)
    hashes = invite(sheet, given.n, given.to, url=given.url, force=given.force)
    codes = "code" if given.n == 1 else "codes"
    print(f"{given.n:,} {codes} in {given.to}; for the collector: --invitations {hashes}")
    return 0
