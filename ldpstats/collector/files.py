"""Sheets as Parquet files, which `Survey` reads, and what is wrong with files in a folder."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from secrets import SystemRandom, token_hex
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.engines.parquet import BATCH, MERGED, Footer, footer
from ldpstats.errors import InvalidArgument
from ldpstats.io.reports import SURVEY_COLUMNS, constant
from ldpstats.io.storage import reading, replacing
from ldpstats.io.tables import filled, stored_columns, write_table
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.custom import Enumerated
from ldpstats.reports.single import Reports
from ldpstats.survey.analyses import as_written, stored_notes
from ldpstats.survey.questionnaire import Questionnaire


@dataclass(frozen=True)
class BatchWriter:
    """Writes the sheets of a questionnaire, whose client `document` has the reports, to Parquet."""

    questionnaire: Questionnaire
    document: Mapping[str, Any]

    def write(self, sheets: Sequence[str], path: Path) -> None:
        """Write sheets, as `Checks.read` returns them, in random order."""
        rows = [json.loads(sheet) for sheet in sheets]
        SystemRandom().shuffle(rows)
        notes = stored_notes(self.questionnaire)
        drawn = {BATCH: token_hex(16).encode()}
        write_table([self._frame(rows)], path, self._types, notes, False, notes=drawn)

    def merge(self, files: Sequence[Path], path: Path) -> None:
        """Write the sheets of files into one, in random order; it says which it has merged."""
        import pyarrow
        import pyarrow.parquet

        tables, merged = [], []
        for file in files:
            with reading(file, pyarrow.ArrowException):
                tables.append(pyarrow.parquet.read_table(file, partitioning=None))
            merged.append(footer(file).batch or file.name)
        table = pyarrow.concat_tables(tables, promote_options="permissive")
        order = list(range(len(table)))
        SystemRandom().shuffle(order)
        drawn = {BATCH: token_hex(16).encode(), MERGED: json.dumps(merged).encode("ascii")}
        with replacing(path) as temporary:
            table = table.take(order).replace_schema_metadata(drawn)
            pyarrow.parquet.write_table(table, temporary)

    def about(self, path: Path) -> Footer:
        """What a file says of itself."""
        return footer(path)

    @cached_property
    def _types(self) -> dict[str, str]:
        """Arrow's types of the columns that are not text."""
        return {c: t for q in self.questionnaire.entries for c, t in q.layout.types.items()}

    def _frame(self, rows: list[list[Any]]) -> pd.DataFrame:
        """The columns of all questions, from rows of reports."""
        frame: dict[str, Any] = {}
        pairs = zip(self.questionnaire.entries, self.document["questions"], strict=True)
        for place, (question, entry) in enumerate(pairs):
            absent = np.array([row[place] is None for row in rows], dtype=bool)
            there = [row[place] for row in rows if row[place] is not None]
            columns: dict[str, pd.Series[Any]] = {}
            if len(question.columns) == 1:
                (mechanism,) = question.mechanisms.values()
                columns = _cells(question.name, mechanism, entry, there, absent)
            else:  # the five columns of a report about a string
                kinds = {"start": ("positions", None), "gram": ("grams", "gram_question")}
                for column, name in zip(question.columns, SURVEY_COLUMNS, strict=True):
                    what, _, number = name.partition("_")
                    field, part = kinds.get(what, (what, "string_question"))
                    texts = [report[field] for report in there]
                    texts = [text[int(number) - 1] for text in texts] if number else texts
                    if part is None:
                        columns[column] = filled(texts, absent, int)
                    else:
                        made_by, of = question.mechanisms[column], entry["draw"][part]
                        columns |= _cells(column, made_by, of, texts, absent)
            frame |= {name: as_written(column) for name, column in columns.items()}
        if self.questionnaire.wave is not None:
            frame["wave"] = constant(self.questionnaire.wave, len(rows))
        if self.questionnaire.link:
            frame["token"] = pd.Series([row[-1] for row in rows], dtype=object)
        return pd.DataFrame(frame)


def _cells(
    name: str, mechanism: Mechanism, entry: Mapping[str, Any], texts: list[str], absent: Any
) -> dict[str, pd.Series[Any]]:
    """The columns of a mechanism's reports, from their texts."""
    if isinstance(mechanism, Enumerated):  # texts are numbers, or have a place in the list
        listed = entry["reports"]
        if isinstance(listed, int):
            codes = [int(text) for text in texts]
        else:
            place = {text: code for code, text in enumerate(listed)}
            codes = [place[text] for text in texts]
        reports = Reports(np.array(codes, dtype=np.int64), mechanism)
    else:
        reports = mechanism.parse("reports", pd.Series(texts, dtype=object))
    return stored_columns(name, reports, absent)


# -- Files of sheets in a folder, against the record of what was written into it ------------------


HOUR = 3600
_NAME = re.compile(r"sheets-\d{4}-\d\d-\d\dT\d\d-([0-9a-f]{16}|[0-9a-f]{32})\.parquet")
_CHANGED = "was changed or cut off"


def digest(path: Path) -> str:
    """32 hexadecimal digits of the content of a file."""
    hashing = blake2b(digest_size=16)
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            hashing.update(part)
    return hashing.hexdigest()


def named(path: Path) -> tuple[str, str, int]:
    """A name for a file of sheets, the digest that it ends in, and the hour that it begins with."""
    hour, content = int(time.time()) // HOUR * HOUR, digest(path)
    day = time.strftime("%Y-%m-%dT%H", time.gmtime(hour))
    return f"sheets-{day}-{content}.parquet", content, hour


def tables_in(folder: Path) -> list[str]:
    """Names of the tables in a folder that `Survey` reads."""
    return sorted(
        entry.name
        for entry in os.scandir(folder)
        if entry.name.lower().endswith(".parquet") and entry.name[0] not in "._"
    )


def fault_of(path: Path, content: str) -> str:
    """What is wrong with a file that was written with a digest; empty if nothing is."""
    try:
        if digest(path) == content:
            return ""
        return _CHANGED if path.stat().st_size else "is empty"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def compared(
    folder: Path, record: Mapping[str, str], merged: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """What is wrong with files, by name, and names of files that the record should have."""
    # The digests of files that were written, by name, and of those that went into others
    faults = {
        name: why for name, written in record.items() if (why := fault_of(folder / name, written))
    }
    copied = {written: f"is a copy of {name}: remove it" for name, written in record.items()}
    copied |= dict.fromkeys(merged.values(), "was merged into another file: remove it")
    unknown = []
    for name in tables_in(folder):
        if name in record:
            continue
        content = digest(folder / name)
        if content in copied:
            faults[name] = copied[content]
        elif why := _not_own(name, content):
            faults[name] = why
        else:
            unknown.append(name)
    return faults, unknown


def _not_own(name: str, content: str) -> str:
    """Why a file is none that a collector wrote; empty if it is one."""
    match = _NAME.fullmatch(name)
    if match is None:
        return "was not written by a collector: remove it"
    # 0.2.0 drew the end of a name
    return "" if match[1] == content or len(match[1]) == 16 else _CHANGED


def taken(folder: Path, tables: BatchWriter) -> list[tuple[str, str, int]]:
    """The files of sheets in a folder, without copies: their names, digests and sheets."""
    files, known = {}, set()
    merged: set[str] = set()
    for name in tables_in(folder):
        content = digest(folder / name)
        if content in known or _not_own(name, content):
            continue
        try:
            about = tables.about(folder / name)
        except InvalidArgument:
            continue
        known.add(content)
        merged |= about.merged
        files[name] = (content, about)
    return [
        (name, content, about.n)
        for name, (content, about) in files.items()
        if (about.batch or name) not in merged
    ]
