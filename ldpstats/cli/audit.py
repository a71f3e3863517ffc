"""ldpstats audit: does Q, and do the integers of the sampler, keep the epsilon declared?"""

from __future__ import annotations

import argparse
import json
from typing import Any

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli.common import HOW
from ldpstats.io.specifications import is_format, json_document
from ldpstats.survey.documents import QUESTIONNAIRE

__all__ = ["add_audit"]


def add_audit(commands: Any) -> None:
    words = "compare the epsilon declared with the channel's and the sampler's"
    command = commands.add_parser("audit", help=words, description=f"{words}.", **HOW)
    command.set_defaults(run=_audit)
    words = "specification of a mechanism, a survey or a questionnaire (JSON)"
    command.add_argument("spec", metavar="SPEC", help=words)
    command.add_argument("--json", action="store_true", help="print JSON")


def _audit(given: argparse.Namespace) -> int:
    audit: ldp.privacy.Audit
    document = json_document(given.spec)
    if is_format(document, QUESTIONNAIRE):
        audit = ldp.Questionnaire.from_json(given.spec).audit()
    else:
        read = io.read_survey if io.is_survey(given.spec) else io.read_mechanism
        audit = read(given.spec).audit()
    print(json.dumps(audit.to_dict(), allow_nan=False) if given.json else audit)
    return 0 if audit.agrees and audit.private else 1
