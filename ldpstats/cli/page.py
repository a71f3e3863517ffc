"""ldpstats page: a questionnaire as a page that respondents fill in."""

from __future__ import annotations

import argparse
import json
from typing import Any

import ldpstats as ldp
from ldpstats.cli.common import HOW, distinct
from ldpstats.errors import LDPError
from ldpstats.io.storage.commits import replacing

__all__ = ["add_page"]

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
    command = commands.add_parser("page", help=words, description=_PAGE, **HOW)
    command.set_defaults(run=_page)
    add = command.add_argument
    add("questionnaire", metavar="QUESTIONNAIRE", help="the questionnaire (JSON)")
    add("--to", metavar="FILE", help="the page to write, such as survey.html")
    add("--post", metavar="URL", help="where the page sends reports (default: nowhere)")
    words = "ask for an invitation code, which goes with the reports"
    add("--invitations", action="store_true", help=words)
    words = "show reports before they are sent, which biases estimates: see page_text"
    add("--show-first", action="store_true", help=words)
    add("--texts", metavar="FILE", help="words that replace those of the page (JSON)")
    add("--write-texts", metavar="FILE", help="write all words of the page, to be replaced")
    add("--force", action="store_true", help="overwrite files that exist")


def _page(given: argparse.Namespace) -> int:
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
        return 0
    for name in ("post", "texts", "invitations", "show_first"):
        if getattr(given, name):
            raise LDPError(f"--{name.replace('_', '-')} goes with --to: it is for a page")
    with replacing(given.write_texts, given.force) as temporary:
        text = json.dumps(ldp.page.page_texts(sheet), indent=2, ensure_ascii=False) + "\n"
        temporary.write_text(text, encoding="utf-8")
    return 0
