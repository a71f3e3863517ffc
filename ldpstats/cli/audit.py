"""ldpstats audit: does Q, and do the integers of the sampler, keep the epsilon declared?"""

from __future__ import annotations

import argparse
import json
from typing import Any

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli.common import HOW
from ldpstats.cli.devices import add_device_options, device_mechanism, refuse_params
from ldpstats.errors import InvalidArgument, LDPError
from ldpstats.io.specifications import is_format, json_document
from ldpstats.survey.documents import QUESTIONNAIRE

__all__ = ["add_audit"]


def add_audit(commands: Any) -> None:
    words = "compare the epsilon declared with the channel's and the sampler's"
    command = commands.add_parser("audit", help=words, description=f"{words}.", **HOW)
    command.set_defaults(run=_audit)
    words = "specification of a mechanism, a survey or a questionnaire (JSON)"
    command.add_argument("spec", metavar="SPEC", nargs="?", help=words)
    add_device_options(command.add_argument)
    words = "the answers to --device, that of a yes second, or their number (default: no,yes)"
    command.add_argument("--categories", metavar="LABELS", help=words)
    command.add_argument("--json", action="store_true", help="print JSON")


def _audit(given: argparse.Namespace) -> int:
    audit = _read(given) if given.device is None else _designed(given)
    print(json.dumps(audit.to_dict(), allow_nan=False) if given.json else audit)
    return 0 if audit.agrees and audit.private else 1


def _designed(given: argparse.Namespace) -> ldp.privacy.Audit:
    """The audit of --device."""
    if given.spec is not None:
        raise InvalidArgument("--device", given.device, f"cannot be combined with {given.spec}")
    return device_mechanism(given).audit()


def _read(given: argparse.Namespace) -> ldp.privacy.Audit:
    """The audit of a specification."""
    refuse_params(given)
    if given.categories is not None:
        raise InvalidArgument("--categories", given.categories, "goes with --device only")
    if given.spec is None:
        raise LDPError("SPEC is missing: pass a specification, or --device with its parameters")
    document = json_document(given.spec)
    if is_format(document, QUESTIONNAIRE):
        return ldp.Questionnaire.from_json(given.spec).audit()
    read = io.read_survey if io.is_survey(given.spec) else io.read_mechanism
    return read(given.spec).audit()
