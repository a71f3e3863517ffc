"""How often each combination of reports was seen, from the tables that the options name."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ldpstats as ldp
from ldpstats import io
from ldpstats.cli.common import on_a_terminal, progress
from ldpstats.cli.surveys import (
    check_fingerprint_column,
    missing,
    opened,
    refuse_missing,
    refuse_options,
)
from ldpstats.cli.tables import on_engine, refuse_engine
from ldpstats.cli.variables import (
    Asked,
    candidates_of,
    check_files,
    columns_of,
    names_of,
    paths_of,
    values_of,
)
from ldpstats.errors import InvalidArgument
from ldpstats.models.shared.bar import moved
from ldpstats.survey.counting import watching

__all__ = ["Read", "from_survey", "from_tables"]

Read = tuple[ldp.JointCounts, list[Any], list[str]]  # counts, candidates and names


def from_tables(given: argparse.Namespace) -> Callable[[], Read]:
    """What reads the tables of variables with specifications; its options are checked first."""
    refuse_options(given, ("where",), "goes with --questionnaire only")
    paths = paths_of(given)
    columns = columns_of(given, paths)
    names = names_of(given, paths, columns)
    cohorts, listed = (values_of(given, name, len(paths)) for name in ("cohort", "candidates"))
    files = check_files(given, paths, [*given.spec, *listed])
    mechanisms = [io.read_mechanism(path) for path in given.spec]
    candidates = [candidates_of(*each) for each in zip(listed, mechanisms, names, strict=True)]
    asked = dict(zip(columns, mechanisms, strict=False))
    if _is_queried(given, files, asked, cohorts):
        sheet = ldp.Questionnaire(asked)
        return lambda: (_queried(given, sheet, columns), candidates, names)
    return lambda: (_counted(given, files, mechanisms, columns, cohorts), candidates, names)


def _is_queried(
    given: argparse.Namespace,
    files: list[list[Path]],
    asked: Mapping[str, Any],
    cohorts: Sequence[str | None],
) -> bool:
    """Whether one grouped query counts the combinations; else the tables are read in chunks."""
    if given.others:
        if any(len(some) > 1 for some in files):
            remedy = "must be one file with --with, as each other table: in Python, "
            raise InvalidArgument("input", given.input, f"{remedy}survey.matched() joins tables")
        refuse_engine(given, "goes without --with: in Python, survey.matched() joins tables")
        return False
    if given.count is not None or any(cohorts) or given.na or len(asked) < len(files):
        refuse_engine(given, "goes without --count, --cohort and --na")
        return False
    return on_engine(given, files[0])


def from_survey(given: argparse.Namespace) -> Callable[[], Read]:
    """What reads columns of a questionnaire; its options are checked first."""
    asked = Asked.of(given)
    private = given.where is None and all(isinstance(one, ldp.Mechanism) for one in asked.made)
    there = on_engine(given, asked.files)

    def read() -> Read:
        if there or not private:
            counts = _queried(given, asked.sheet, asked.columns)
        else:
            for file in asked.files:
                check_fingerprint_column(file, asked.sheet)
            files, d = [asked.files] * len(asked.columns), len(asked.columns)
            counts = _counted(given, files, asked.made, asked.columns, [None] * d)
        return counts, asked.candidates, asked.columns

    return read


def _queried(
    given: argparse.Namespace, sheet: ldp.Questionnaire, columns: Sequence[str]
) -> ldp.JointCounts:
    """Counts of combinations of reports and public columns of a survey."""
    survey = opened(given, sheet, {})
    with watching(survey.data if on_a_terminal() else None):
        counts = survey.joint_counts(*columns)
    refuse_missing(given, counts.n_missing)
    return counts


def _counted(
    given: argparse.Namespace,
    files: list[list[Path]],
    mechanisms: Sequence[Any],
    columns: Sequence[str],
    cohorts: Sequence[str | None],
) -> ldp.JointCounts:
    """Counts of combinations of reports, read chunk by chunk, one file of a table after another."""
    how: dict[str, Any] = {"id": given.id, "missing": missing(given), "na": given.na}
    total: Any = None
    with progress("counting") as advance:
        for number, paths in enumerate(zip(*files, strict=True)):
            how["advance"] = moved(advance, number, len(files[0]))
            part = io.read_joint_counts(
                paths, mechanisms, columns, given.count, cohorts=cohorts, **how
            )
            total = part if total is None else total + part
    counts: ldp.JointCounts = total
    return counts
