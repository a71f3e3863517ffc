"""Tables of true answers made into tables of reports: what all kinds of reports share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import one_of
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.io.kept import KeptColumns
from ldpstats.io.secrecy import privatized
from ldpstats.io.specifications import specification_text
from ldpstats.io.storage.files import FilePath, checked_path, refusal
from ldpstats.io.table_writing import check_spreadsheet_safe
from ldpstats.io.tables import names, table_chunks
from ldpstats.io.values import (
    LabelOf,
    answers_in,
    check_guarded,
    label_of,
    missing_texts,
    present,
    refuse_guarded,
    refuse_missing,
)
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.enumerated import Enumerated

__all__ = ["Answers", "check_labels", "check_paths", "chunks_of", "filled"]

Array = npt.NDArray[Any]
T = TypeVar("T")


# -- reports ---------------------------------------------------------------------------------------


def chunks_of(reports: object, kind: type[T], maker: Callable[[T], Any]) -> tuple[Any, Iterator[T]]:
    """The one mechanism or survey that made the reports, found by `maker`, and their chunks."""

    def checked(chunk: object) -> T:
        if not isinstance(chunk, kind):
            raise InvalidArgument("reports", chunk, f"must be {kind.__name__}, or several of them")
        return chunk

    try:
        chunks = map(checked, reports if isinstance(reports, Iterable) else [reports])
    except Exception:  # somebody else's object may raise anything
        raise InvalidArgument("reports", reports, "must be reports, or chunks of them") from None
    first = next(chunks, None)
    if first is None:
        raise InvalidArgument("reports", [], "there are none: nothing to write")
    made_by = maker(first)

    def of_one() -> Iterator[T]:
        for chunk in chain([first], chunks):
            if maker(chunk).fingerprint != made_by.fingerprint:
                raise MechanismMismatch(
                    f"reports of {maker(chunk)} and of {made_by} do not go into one file: write a "
                    "file for each"
                )
            yield chunk

    return made_by, of_one()


def filled(cells: Any, absent: Array) -> pd.Series[Any]:
    """A column with `cells` in this order, and None where a respondent is `absent`, (n,)."""
    column = np.full(absent.size, None, dtype=object)
    column[~absent] = cells
    return pd.Series(column, dtype=object)


def check_labels(path: FilePath, mechanism: Mechanism, spreadsheet_safe: bool) -> None:
    """Refuse labels of reports that a file cannot hold or distinguish."""
    if isinstance(mechanism, Enumerated):
        label_of(path, mechanism.outputs, ())
        if spreadsheet_safe:
            check_guarded(mechanism.outputs)


# -- answers ---------------------------------------------------------------------------------------


def check_paths(source: FilePath, target: FilePath, beside: FilePath | None) -> None:
    """Refuse to write what is read; `beside` is another file to write, if any."""
    read = os.path.realpath(checked_path(source))
    for path in [target] if beside is None else [target, beside]:
        if read == os.path.realpath(checked_path(path)):
            raise refusal(path, "is the file that is read: write to another one")


@dataclass(frozen=True)
class Answers:
    """A column of true answers, and what goes into the table of reports with them."""

    kept: KeptColumns  # the tables, the column of answers, and the columns that are copied
    labels: pd.Index[Any] | None  # the possible answers; None where any text is one
    missing: str  # "raise" or "count"
    na: Sequence[str]
    specification: FilePath | None  # where to write it, together with the table

    def __post_init__(self) -> None:
        one_of("missing", self.missing, ("raise", "count"))
        object.__setattr__(self, "na", names("na", self.na))
        check_paths(self.kept.source, self.kept.target, self.specification)
        check_spreadsheet_safe(self.kept.spreadsheet_safe, self.kept.target)

    def beside(self, made_by: Any) -> dict[FilePath, str]:
        """The text of the file of the specification, if there is one."""
        path = self.specification
        return {} if path is None else {path: specification_text(made_by)}

    @cached_property
    def _to_label(self) -> LabelOf | None:
        return None if self.labels is None else label_of(self.kept.source, self.labels, self.na)

    @cached_property
    def _missing_texts(self) -> list[str]:
        return missing_texts(self.kept.source, self.na, () if self.labels is None else self.labels)

    def privatized(
        self,
        client: Any,
        remedy: str,
        columns: Callable[[Any, Array], dict[str, pd.Series[Any]]],
        totals: list[int],
        **how: Any,
    ) -> Iterator[pd.DataFrame]:
        """The chunks of the table of reports."""
        kept, source = self.kept, self.kept.source
        (answers,) = kept.answers
        where = f"{source}, column {answers!r}"
        how |= {"optional": kept.optional, "secret": True, "codes": [answers]}
        for frame in table_chunks(source, [answers, *kept.names], **how):
            done = sum(totals)
            column = frame[answers]
            values, absent = present(where, column, self._to_label, self._missing_texts, True)
            if self.missing == "raise":
                refuse_missing(where, done, absent)
            named = answers_in(where, done, absent)
            if self.labels is None:
                refuse_guarded(source, values, named)
            reports = privatized(client, values, named, remedy)
            totals[0] += len(reports)
            totals[1] += int(absent.sum())
            yield pd.DataFrame(columns(reports, absent) | kept.of(frame, done))
        if not totals[0]:
            raise refusal(source, "holds no answer: there is nothing to privatise")
