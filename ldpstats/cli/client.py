"""ldpstats client: what respondents' devices are given, in the language that they run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from ldpstats.cli.common import HOW
from ldpstats.errors import LDPError
from ldpstats.io.specifications import is_format, json_document
from ldpstats.io.storage.commits import replacing_all
from ldpstats.io.storage.files import checked_path, refusal
from ldpstats.survey.documents import QUESTIONNAIRE, read_specification
from ldpstats.survey.questionnaire import Questionnaire

__all__ = ["add_client"]

_FILES = {
    "js": ("ldpstats-client.mjs", "ldpstats-client.d.mts", "conformance.mjs"),
    "python": ("ldpstats_client.py",),
}
_CLIENT = """\
Write what a respondent's device needs to make reports without this package. --language writes the
files of the client: js for browsers and Node, python for Python 3.9 and later; they need nothing
else. With SURVEY, the specification of a mechanism, a questionnaire, a PUM or a dictionary survey,
client.json is written too: the same survey, with its probabilities as integers. The reports of all
clients are those that this package reads; ldpstats conformance compares a client with it.
"""


def add_client(commands: Any) -> None:
    words = "write clients for respondents' devices, in JavaScript or Python"
    command = commands.add_parser("client", help=words, description=_CLIENT, **HOW)
    command.set_defaults(run=_client)
    add = command.add_argument
    add("survey", metavar="SURVEY", nargs="?", help="a specification (JSON), for client.json")
    words = "the language of the client's files; javascript is js"
    add("--language", type=_language, choices=sorted(_FILES), help=words)
    add("--to", metavar="DIR", required=True, help="the folder to write them to")
    add("--force", action="store_true", help="overwrite files that exist")


def _language(name: str) -> str:
    return "js" if name == "javascript" else name


def _client(given: argparse.Namespace) -> int:
    if given.survey is None and given.language is None:
        raise LDPError("pass --language for the files of a client, or SURVEY for its document")
    texts = {}
    if given.survey is not None:
        document = _instrument(given.survey).client_document()
        texts["client.json"] = json.dumps(document, indent=2).encode("ascii") + b"\n"
    for name in _FILES.get(given.language, ()):
        texts[name] = files("ldpstats.clients").joinpath("portable", name).read_bytes()
    with _folder(given.to) as folder:
        with replacing_all([folder / name for name in texts], given.force) as temporary:
            for path, content in zip(temporary, texts.values(), strict=True):
                path.write_bytes(content)
    return 0


def _instrument(path: str) -> Any:
    """What a file specifies, of any kind."""
    if is_format(json_document(path), QUESTIONNAIRE):
        return Questionnaire.from_json(path)
    return read_specification(path)


@contextmanager
def _folder(name: str) -> Iterator[Path]:
    """The folder of this name, made if there is none, and then removed if nothing comes into it."""
    folder = checked_path(name)
    there = folder.exists()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise refusal(name, f"cannot be made a folder ({error.strerror})") from None
    try:
        yield folder
    finally:
        if not there:
            with suppress(OSError):
                folder.rmdir()  # only an empty one goes
