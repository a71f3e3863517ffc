"""ldpstats questionnaire: specify whole answer sheets, or print one that is specified."""

from __future__ import annotations

import argparse
from typing import Any

import ldpstats as ldp
from ldpstats.cli.common import HOW, distinct, label_list
from ldpstats.errors import InvalidArgument, LDPError
from ldpstats.survey.documents import read_specification
from ldpstats.survey.listing import as_text

__all__ = ["add_questionnaire"]

_QUESTIONNAIRE = """\
Write the specification of a questionnaire: named questions, each with the specification of its
mechanism or dictionary survey, and what all reports of an answer sheet together spend. Without
--question and --observed, print the questionnaire that FILE holds.

Privatise a table of answers with ldpstats privatize INPUT OUTPUT --questionnaire FILE.
"""


def add_questionnaire(commands: Any) -> None:
    words = "specify whole answer sheets, or print one that is specified"
    command = commands.add_parser("questionnaire", help=words, description=_QUESTIONNAIRE, **HOW)
    command.set_defaults(run=_questionnaire)
    add = command.add_argument
    add("file", metavar="FILE", help="the questionnaire (JSON)")
    two: dict[str, Any] = {"nargs": 2, "action": "append", "default": []}
    words = "a question, which is a column of the table, and the specification of its mechanism"
    add("--question", metavar=("NAME", "SPEC"), help=words, **two)
    words = "a question without protection, and its labels: separated by commas, or their number k"
    add("--observed", metavar=("NAME", "LABELS"), help=words, **two)
    words = "private questions that each respondent is asked, drawn at random (default: all)"
    add("--ask", type=int, metavar="M", help=words)
    words = "the label of every private question that stands for a missing answer"
    add("--refused", metavar="LABEL", help=words)
    add("--force", action="store_true", help="overwrite a file that exists")


def _questionnaire(given: argparse.Namespace) -> int:
    specs = [path for _, path in given.question]
    for path in specs:  # several questions may have one specification
        distinct(given.file, path)
    if specs or given.observed:
        _written(given)
    else:
        for name in ("ask", "refused"):
            if getattr(given, name) is not None:
                raise LDPError(f"--{name} goes with --question: name the questions")
    print(as_text(ldp.Questionnaire.from_json(given.file)))
    return 0


def _written(given: argparse.Namespace) -> None:
    """Write the questionnaire that the options describe."""
    mechanisms: dict[str, Any] = {}
    for name, path in given.question:
        _check_new(name, mechanisms, "--question")
        mechanisms[name] = read_specification(path)
    for name, labels in given.observed:
        _check_new(name, mechanisms, "--observed")
        mechanisms[name] = ldp.Observed(label_list(labels, "--observed"))
    sheet = ldp.Questionnaire(mechanisms, ask=given.ask, refused=given.refused)
    sheet.to_json(given.file, force=given.force)


def _check_new(name: str, mechanisms: dict[str, Any], flag: str) -> None:
    if name in mechanisms:
        raise InvalidArgument(flag, name, "is the name of two questions: rename one")
