"""Invitations: codes that take one sheet each.

Two files are made together. One has the codes, for those who invite; the other has only hashes of
them, for the collector: whoever reads it cannot answer in anybody's name. A code has 19 random
letters out of 31, 94 bits: of a million codes a guess hits one with probability 5e-23, and whoever
has the hashes and tries 1e12 codes a second finds the first after some 700 years.

What the collector keeps of a code is whether it is spent, beside a keyed hash. All codes are there
from the beginning, in the order of their hashes, and to spend one changes one number in its place.
So the database says neither when nor in which order codes were spent, and nothing in it belongs to
a code and to a sheet.
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from secrets import choice
from typing import Any
from urllib.parse import urlsplit

from ldpstats.arguments.checks import listed, positive_integer
from ldpstats.clients.portable.ldpstats_client import CODE_LENGTH, LETTERS, checked_with
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.io.specifications import is_format, json_document
from ldpstats.io.storage.commits import replacing_all
from ldpstats.io.storage.files import FilePath, checked_path, refusal
from ldpstats.survey.questionnaire import Questionnaire

__all__ = ["INVITED", "Invitations", "enrol", "invite", "read_invitations", "spend"]

FORMAT, VERSION = "ldpstats-invitations", 1
HASH_SIZE = 16  # bytes
_MOST = 10_000_000
_HASH = re.compile(f"[0-9a-f]{{{2 * HASH_SIZE}}}")
_ADDRESS = re.compile(r"[\x21-\x7e]+")

INVITED = """
CREATE TABLE IF NOT EXISTS invited
    (code BLOB PRIMARY KEY, spent INTEGER NOT NULL) WITHOUT ROWID;
"""


# -- making codes ----------------------------------------------------------------------------------


def invite(
    questionnaire: Questionnaire,
    n: int,
    to: FilePath,
    *,
    url: str | None = None,
    force: bool = False,
) -> Path:
    """Make invitation codes, from the randomness of the operating system.

    Parameters
    ----------
    questionnaire : Questionnaire
        The codes are for its sheets alone.
    n : int
        How many.
    to : path-like
        The table of codes to write (CSV), which only its owner may read: ``code``, and ``link`` if
        there is a `url`. Whoever has it can answer in place of those who are invited.
    url : str, optional
        Where the page is. A link has the code as its fragment, which browsers do not send.
    force : bool
        Whether existing files may be overwritten: the codes in them are then lost.

    Returns
    -------
    Path
        The file for the collector, beside the table, ``codes.invitations.json`` for ``codes.csv``.
        It has a hash of each code, in an order that says nothing. Its owner alone may read it, too.

    Raises
    ------
    InvalidArgument
        For any other argument, and for files that exist or cannot be written.

    Examples
    --------
    >>> import tempfile, ldpstats as ldp
    >>> from ldpstats.collector import invite
    >>> sheet = ldp.Questionnaire({"late": ldp.KRR(("no", "yes"), epsilon=1.0)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = invite(sheet, 3, f"{folder}/codes.csv", url="https://survey.example/")
    ...     print(made.name, made.with_name("codes.csv").read_text().count("\\n"))
    codes.invitations.json 4
    """
    if not isinstance(questionnaire, Questionnaire):
        raise InvalidArgument("questionnaire", questionnaire, "must be a Questionnaire")
    if positive_integer("n", n) > _MOST:
        raise InvalidArgument("n", n, f"must be at most {_MOST}")
    link = _link(url)
    table = checked_path(to)
    hashes = table.with_suffix(".invitations.json")
    codes = list(_new_codes(n))
    survey = questionnaire.fingerprint
    document = {
        "format": FORMAT,
        "version": VERSION,
        "survey": survey,
        "codes": sorted(hashed(code, survey).hex() for code in codes),
    }
    with replacing_all([table, hashes], force, private=True) as (own, other):
        with own.open("w", encoding="ascii", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["code"] if link is None else ["code", "link"])
            for code in map(grouped, codes):
                rows.writerow([code] if link is None else [code, f"{link}#{code}"])
        other.write_text(json.dumps(document, indent=0) + "\n", encoding="ascii")
    return hashes


def _new_codes(n: int) -> Iterator[str]:
    known: set[str] = set()
    while len(known) < n:
        code = checked_with("".join(choice(LETTERS) for _ in range(CODE_LENGTH - 1)))
        if code not in known:
            known.add(code)
            yield code


def _link(url: object) -> str | None:
    """The address of a page, to which a code is added."""
    if url is None:
        return None
    remedy = 'must be the address of the page, such as "https://survey.example/", without a "#"'
    if not isinstance(url, str) or not _ADDRESS.fullmatch(url) or "#" in url:
        raise InvalidArgument("url", url, remedy)
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InvalidArgument("url", url, remedy) from None
    if parts.scheme == "file" or (parts.scheme in ("http", "https") and parts.netloc):
        return url if parts.path else f"{url}/"
    raise InvalidArgument("url", url, remedy)


def grouped(code: str) -> str:
    """A code as it is shown: four letters, a hyphen, and so on."""
    return "-".join(code[i : i + 4] for i in range(0, CODE_LENGTH, 4))


def hashed(code: str, survey: str) -> bytes:
    """The hash of a code, which is that of one questionnaire."""
    return blake2b(code.encode("ascii"), key=survey.encode("ascii"), digest_size=HASH_SIZE).digest()


# -- knowing codes ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Invitations:
    """The codes that a collector knows, by their hashes, which increase."""

    survey: str
    hashes: Sequence[bytes]

    def find(self, code: str) -> bytes | None:
        """The hash of a code; None if the code is unknown."""
        found = hashed(code, self.survey)
        place = bisect_left(self.hashes, found)
        return found if self.hashes[place : place + 1] == [found] else None


def read_invitations(paths: object, survey: str) -> Invitations | None:
    """The invitations of files that `invite` wrote for the collector; None without files.

    Raises
    ------
    InvalidArgument
        For a file that cannot be read, or is none.
    MechanismMismatch
        For codes of another questionnaire.
    """
    files = listed("invitations", paths, "must be a list of files that ldpstats invite wrote")
    if not files:
        return None
    return Invitations(survey, sorted({one for file in files for one in _hashes(file, survey)}))


def _hashes(path: Any, survey: str) -> Iterator[bytes]:
    if str(path).lower().endswith(".csv"):
        other = checked_path(path).with_suffix(".invitations.json").name
        raise refusal(path, f"is for those who invite: give the collector {other}, without codes")
    document = json_document(path)
    if not is_format(document, FORMAT) or document.get("version") != VERSION:
        raise refusal(path, "is no file of invitations: ldpstats invite writes them")
    if document.get("survey") != survey:
        raise MechanismMismatch(
            f"{path} has invitations to a questionnaire with fingerprint {document.get('survey')}, "
            f"not {survey}: name the file that ldpstats invite made for this one"
        )
    codes = document.get("codes")
    if not isinstance(codes, list) or not codes or sorted(set(map(str, codes))) != codes:
        raise refusal(path, "is damaged: it must have different hashes of codes in their order")
    for code in codes:
        if not _HASH.fullmatch(code):
            raise refusal(path, "is damaged: a hash of a code has other characters")
        yield bytes.fromhex(code)


# -- spending codes --------------------------------------------------------------------------------


def enrol(database: sqlite3.Connection, codes: Iterable[bytes]) -> None:
    """Give every code its place, those that are new in their order; spent ones stay spent."""
    rows = [(code,) for code in sorted(codes)]
    database.executemany("INSERT OR IGNORE INTO invited VALUES (?, 0)", rows)


def spend(database: sqlite3.Connection, code: bytes) -> bool:
    """Mark a code as spent; False if it was before."""
    query = "UPDATE invited SET spent = 1 WHERE code = ? AND spent = 0"
    return database.execute(query, [code]).rowcount == 1
