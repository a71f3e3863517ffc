"""ldpstats collect and invite: take the answer sheets of a questionnaire, by invitation."""

from __future__ import annotations

import argparse
from typing import Any

import ldpstats as ldp
from ldpstats.cli.common import HOW, distinct
from ldpstats.collector import Limits, collect, invite

__all__ = ["add_collect", "add_invite"]

_COLLECT = """\
Take answer sheets over HTTP, and keep their reports as Parquet files in DIR, which ldpstats fit DIR
and Survey(DIR) read. Sheets wait until --batch of them have come, until the hour turns and a tenth
of that wait, or until SIGTERM or Ctrl-C stops the collector; then they go into a file, if they are
20 or more. Fewer wait for the next start. At the end of the survey --finish writes them.

  GET /              the questionnaire as a page
  GET /client.json   the client document, for other clients
  POST /sheets       a sheet; it is acknowledged when it is on the disk
  GET /health        200 while sheets can be kept, else 503; names damaged files
  GET /counts        how many sheets are in files

Without --invitations anybody who reaches the collector can send any number of sheets, and a few
hundred forged ones can decide a survey. --max-sheets bounds how many are taken in all.

Use a reverse proxy for TLS, with --behind-proxy. The page "The collector" of the documentation
(README.md in the package's folder collector/) shows how, and says what is protected against whom.
"""


def add_collect(commands: Any) -> None:
    words = "take the answer sheets of a questionnaire over HTTP"
    command = commands.add_parser("collect", help=words, description=_COLLECT, **HOW)
    command.set_defaults(run=_collect)
    add = command.add_argument
    add("questionnaire", metavar="QUESTIONNAIRE", help="the questionnaire (JSON)")
    add("--to", metavar="DIR", required=True, help="where to keep the sheets")
    words = (
        "words that replace those of the page, as ldpstats page --write-texts writes them (JSON)"
    )
    add("--texts", metavar="FILE", help=words)
    add("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1)")
    add("--port", type=int, default=8000, help="0 takes any that is free (default: 8000)")
    words = "origin of another page that may send sheets, such as https://survey.example; null for "
    words += "pages that are opened from a disk; may be repeated"
    add("--origin", action="append", default=[], metavar="URL", help=words)
    words = "all requests come through a proxy, which appends the address to X-Forwarded-For"
    add("--behind-proxy", action="store_true", help=words)
    limits, of = Limits(), "sheets in a minute"
    words = f"{of}, of all senders together (default: {limits.per_minute})"
    add("--max-per-minute", type=int, default=limits.per_minute, metavar="N", help=words)
    words = f"{of} from one address (default: {limits.per_address})"
    add("--max-per-address", type=int, default=limits.per_address, metavar="N", help=words)
    words = "codes of ldpstats invite, as it writes them for the collector: a sheet is taken with "
    words += "a code alone, and a code takes one; may be repeated"
    add("--invitations", action="append", default=[], metavar="FILE", help=words)
    add("--max-sheets", type=int, metavar="N", help="sheets that are taken in all (default: all)")
    words = (
        "sheets in a file, 20 or more (default: 1000); fewer at the turn of the hour and at the end"
    )
    add("--batch", type=int, default=1000, metavar="N", help=words)
    words = "write the sheets that wait, however few, merge small files, and end; takes no sheet"
    add("--finish", action="store_true", help=words)
    words = (
        "begin a new record where that of DIR was lost or does not fit its files; sheets that were "
    )
    words += "taken before would count again if they are sent again"
    add("--forget-tokens", action="store_true", help=words)


def _collect(given: argparse.Namespace) -> int:
    collect(
        ldp.Questionnaire.from_json(given.questionnaire),
        given.to,
        texts=given.texts,
        host=given.host,
        port=given.port,
        origins=given.origin,
        behind_proxy=given.behind_proxy,
        batch=given.batch,
        limits=Limits(given.max_per_minute, given.max_per_address),
        invitations=given.invitations,
        max_sheets=given.max_sheets,
        finish=given.finish,
        forget_tokens=given.forget_tokens,
    )
    return 0


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
