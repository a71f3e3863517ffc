"""Questions on the right side of a formula: what their answers are in a design matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.models.frequency.ordered import checked_scores
from ldpstats.models.regression.formulas.responses import plain_numbers

__all__ = ["PrivateColumn", "combinations", "held_at"]

Array = npt.NDArray[Any]

MOST_CONFIGURATIONS = 10_000


@dataclass(frozen=True, eq=False)
class PrivateColumn:
    """The answers to a question as a column of a table.

    Attributes
    ----------
    name : str
    labels : pandas.Index
        Its k categories, in the mechanism's order.
    values : array, shape (k,), or None
        What stands for each category: numbers or truth values; None for a factor, whose reference
        is the first category.
    """

    name: str
    labels: pd.Index[Any]
    values: Array | None

    @classmethod
    def of(cls, name: str, labels: pd.Index[Any], scores: object = None) -> PrivateColumn:
        """A question's answers as numbers, if it has scores or its labels are numbers."""
        labels = pd.Index(labels.tolist(), dtype=object)
        if scores is not None:
            try:
                return cls(name, labels, checked_scores(scores, labels))
            except InvalidArgument as error:
                raise InvalidArgument(f"scores[{name!r}]", scores, error.remedy) from None
        if plain_numbers(labels):
            return cls(name, labels, np.array(labels.tolist()))
        if all(isinstance(label, bool) for label in labels):
            return cls(name, labels, np.array(labels.tolist()))
        return cls(name, labels, None)

    def column(self, codes: Array) -> Any:
        """The answers of respondents from their codes, (n,)."""
        if self.values is None:
            return pd.Categorical.from_codes(codes, categories=self.labels)
        return self.values[codes]

    def codes(self, argument: str, answers: pd.Series[Any]) -> Array:
        """Codes of answers that are given, -1 where one is missing; refuse unknown ones."""
        known = {label: code for code, label in enumerate(self.labels.tolist())}
        absent = answers.isna().to_numpy()
        values = answers.astype(object).tolist()
        found = [-1 if no else known.get(v, -2) for v, no in zip(values, absent, strict=True)]
        codes = np.array(found, dtype=np.int64)
        if (codes == -2).any():
            value = values[int(np.argmax(codes == -2))]
            remedy = f"is no category of {self.name!r}, which has {self.labels.tolist()[:20]}"
            raise InvalidArgument(argument, value, remedy)
        return codes


def combinations(columns: Sequence[PrivateColumn]) -> Array:
    """Codes of all combinations of categories, (C, number of columns), the last changing first."""
    sizes = [len(column.labels) for column in columns]
    if prod(sizes) > MOST_CONFIGURATIONS:
        raise NotAvailable(
            f"the private predictors have {prod(sizes):,} combinations of categories, "
            f"{MOST_CONFIGURATIONS:,} at most: use fewer predictors, or lump categories first"
        )
    codes = np.indices(sizes).reshape(len(sizes), -1).T if sizes else np.zeros((1, 0), np.int64)
    return np.asarray(codes)


def held_at(
    frame: pd.DataFrame, columns: Sequence[PrivateColumn], codes: Array | Mapping[str, Array]
) -> pd.DataFrame:
    """A table with private columns: the same codes in all rows, (columns,), or by name (n,)."""
    n = len(frame)
    made = {
        column.name: column.column(
            codes[column.name] if isinstance(codes, Mapping) else np.full(n, codes[place])
        )
        for place, column in enumerate(columns)
    }
    return frame.assign(**made)
