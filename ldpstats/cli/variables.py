"""Options of the command that are given once for each of several variables."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli.common import check_output, option
from ldpstats.cli.surveys import refuse_options
from ldpstats.cli.tables import files_of
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.models.association.variables import variable_names

__all__ = [
    "Asked",
    "candidates_of",
    "check_files",
    "columns_of",
    "names_of",
    "paths_of",
    "values_of",
]

_NONE = "-"  # stands for no value


@dataclass(frozen=True)
class Asked:
    """Columns of a table of a questionnaire, each with what made it and its candidates."""

    sheet: ldp.Questionnaire
    columns: list[str]
    made: list[Any]
    candidates: list[Any]
    files: list[Path]

    @classmethod
    def of(cls, given: argparse.Namespace) -> Asked:
        """Those that options name, which are checked."""
        remedy = "does not go with --questionnaire, which says what the columns hold"
        refuse_options(given, ("spec", "name", "cohort", "others", "id", "count"), remedy)
        sheet, columns = ldp.Questionnaire.from_json(given.questionnaire), given.column
        if len(columns) < 2:
            choice = f"questions, {', '.join(sheet)}, or public columns"
            raise InvalidArgument("--column", columns, f"must be given twice or more: {choice}")
        listed = values_of(given, "candidates", len(columns))
        files = check_files(given, [given.input] * len(columns), [given.questionnaire, *listed])
        made = [sheet[column] if column in sheet else None for column in columns]
        candidates = [candidates_of(*each) for each in zip(listed, made, columns, strict=True)]
        return cls(sheet, columns, made, candidates, files[0])


def values_of(given: argparse.Namespace, name: str, d: int) -> list[str | None]:
    """The values of an option given once for each of d variables, or never; None for none."""
    values = getattr(given, name)
    if values and len(values) != d:
        of = "--spec" if given.questionnaire is None else "--column"
        raise InvalidArgument(
            option(name), values, f"must be given once for each of the {d} {of}, - for none"
        )
    return [None if value == _NONE else value for value in values] or [None] * d


def paths_of(given: argparse.Namespace) -> list[str]:
    """The table of each variable."""
    d = len(given.spec)
    if d < 2:
        remedy = "two or more variables are needed, or --questionnaire; ldpstats fit is for one"
        raise InvalidArgument("--spec", given.spec, remedy)
    if not given.others:
        return [given.input] * d
    if len(given.others) != d - 1:
        raise InvalidArgument(
            "--with",
            given.others,
            f"must name {d - 1} tables, one for each variable but the first: repeat a table that "
            "holds several",
        )
    if given.id is None:
        remedy = "is needed: name the column that identifies the respondents in all tables"
        raise InvalidArgument("--id", None, remedy)
    return [given.input, *given.others]


def columns_of(given: argparse.Namespace, paths: Sequence[str]) -> list[str]:
    """The column of each variable."""
    if not given.column and given.others:
        return ["report"] * len(paths)
    if len(given.column) != len(paths):
        raise InvalidArgument(
            "--column", given.column, f"must be given once for each of the {len(paths)} --spec"
        )
    columns: list[str] = given.column
    return columns


def names_of(given: argparse.Namespace, paths: Sequence[str], columns: list[str]) -> list[str]:
    """The name of each variable: its column, its table or a letter, whichever is distinct."""
    names: list[str] = given.name or columns
    if given.others and not given.name and len(set(columns)) < len(columns):
        names = [Path(path).name.split(".")[0] or path for path in paths]
        if len(set(names)) < len(names):
            names = list(variable_names(None, len(names)))
    if len(names) != len(columns) or len(set(names)) < len(names):
        raise InvalidArgument(
            "--name", names, f"must be {len(columns)} different names, one for each --spec"
        )
    return names


def candidates_of(path: str | None, mechanism: Any, name: str) -> list[Any] | None:
    """The candidates of a variable, or those of its categories that are kept; None for all.

    Only a `Mechanism` has any: a public column has the values that it holds.
    """
    if not isinstance(mechanism, ldp.Mechanism):
        if path is not None:
            raise InvalidArgument("--candidates", path, f"must be - for {name}")
        return None
    if path is None:
        if mechanism.is_open:
            raise InvalidArgument(
                "--candidates",
                None,
                f"is needed for {name}: any text is an answer to {mechanism}; name a file",
            )
        return None
    listed = io.read_candidates(path)
    if mechanism.is_open:
        return listed
    known = {str(label): label for label in mechanism.labels()}
    for number, text in enumerate(listed, start=1):
        if text not in known:
            raise InvalidArgument(
                f"{path}, line {number}", text, f"is not a category of {mechanism}"
            )
    return [known[text] for text in listed]


def check_files(
    given: argparse.Namespace, paths: Sequence[str], others: Sequence[str | None]
) -> list[list[Path]]:
    """The files of the table of each variable, of which none is written."""
    files = [files_of(given, path) for path in paths]
    read = [*(str(file) for some in files for file in some), *filter(None, others)]
    check_output(given, {os.path.realpath(path) for path in read})
    if given.plot is None and given.plot_kind is not None:
        raise InvalidArgument("--plot-kind", given.plot_kind, "goes with --plot")
    if given.plot is not None and len(paths) > 2:
        raise NotAvailable(f"a plot shows two variables, not {len(paths)}: leave --plot out")
    return files
