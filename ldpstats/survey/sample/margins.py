"""Population totals of public columns, as people give them and as calibration needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import real_number
from ldpstats.arguments.matching import matched
from ldpstats.arguments.names import did_you_mean
from ldpstats.engines.weighted import LEAST_WEIGHT, MOST_WEIGHT
from ldpstats.errors import InvalidArgument, UnknownCategory
from ldpstats.inference.designs.reweighting.calibration import Margins
from ldpstats.models.shared.spelling import count_of
from ldpstats.survey.columns import Column
from ldpstats.survey.held import Held

__all__ = ["Margin", "MarginCells", "given_margins", "margin_cells", "matched_margin"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]
Category = tuple[Any, ...]  # a value of each column of a margin

_MARGINS = (
    "must map public columns, or tuples of them, to population totals of their categories, such as "
    "{'sex': {'f': 5200, 'm': 4800}}"
)
_LABELS = "calibrate to text, booleans, categories or whole numbers; make bands of it first"
_SHARES = 1e-6  # how far from one a sum of shares may be
_SHOWN = 5  # categories that an error names


@dataclass(frozen=True)
class Margin:
    """Population totals of the categories of some columns, crossed where there are several."""

    columns: tuple[str, ...]
    totals: Mapping[Category, float]
    argument: str = "margins"  # that it was given as

    @property
    def name(self) -> str:
        """The columns, in words."""
        return " x ".join(self.columns)

    @property
    def labels(self) -> list[str]:
        """The categories, in words."""
        return [worded(category) for category in self.totals]


def worded(category: Category) -> str:
    """A category, crossed perhaps, in words."""
    return " x ".join(str(value) for value in category)


@dataclass(frozen=True, eq=False)
class MarginCells:
    """Distinct combinations of the columns of margins, and who is in each.

    Attributes
    ----------
    columns : tuple of str
    values : tuple of arrays, each of shape (M,)
        Of each column, by combination.
    at : array of int64, shape (c,)
        The combination of each cell of the sample.
    """

    columns: tuple[str, ...]
    values: tuple[Array, ...]
    at: Codes

    def categories(self, columns: Sequence[str]) -> list[Category]:
        """The category of each combination in the margin of some columns."""
        own = [self.values[self.columns.index(name)].tolist() for name in columns]
        return list(zip(*own, strict=True))

    def margins(self, given: Sequence[Margin]) -> Margins:
        """Margins as arrays."""
        codes = []
        for margin in given:
            place = {category: j for j, category in enumerate(margin.totals)}
            codes.append([place[category] for category in self.categories(margin.columns)])
        return Margins(
            np.array(codes, dtype=np.int64).T.reshape(-1, len(given)),
            tuple(np.array(list(margin.totals.values())) for margin in given),
            tuple(margin.name for margin in given),
            tuple(margin.labels for margin in given),
        )


def margin_cells(held: Held, given: Sequence[Margin], n: Array) -> MarginCells:
    """Distinct combinations of the columns of margins; refuse missing values.

    `n`, of shape (c,), is how many respondents each row of `held` is.
    """
    columns = {name: margin.argument for margin in given for name in margin.columns}
    held.prepare(columns)
    found = [_complete(held, name, argument, n) for name, argument in columns.items()]
    at = np.zeros(len(held), dtype=np.int64)
    for column in found:  # numbered anew each time, so that they stay small
        at = pd.factorize(at * len(column.values) + column.codes)[0].astype(np.int64)
    first = np.empty(int(at.max()) + 1, dtype=np.int64)
    first[at[::-1]] = np.arange(len(at))[::-1]
    values = tuple(column.values[column.codes[first]] for column in found)
    return MarginCells(tuple(columns), values, at)


def _complete(held: Held, name: str, argument: str, n: Array) -> Column:
    """A public column as labels; refuse missing values."""
    column = held.public(name).categories(_LABELS)
    if column.missing.any():
        times = count_of(int(n[column.missing].sum()), "respondent")
        remedy = f"is missing for {times}, whom no total counts: impute it, or make a category of "
        remedy += "them and give its total"
        raise InvalidArgument(argument, name, remedy)
    return column


def given_margins(
    held: Held, given: object, total: object, argument: str = "margins"
) -> list[Margin]:
    """What a user gave as margins, with columns that are there; categories not yet matched."""
    if not isinstance(given, Mapping) or not given:
        raise InvalidArgument(argument, given, _MARGINS)
    found = [
        Margin(columns, dict(_totals(f"{argument}[{name!r}]", columns, given[name])), argument)
        for name in given
        for columns in [_columns(held, name, argument)]
    ]
    names = [frozenset(margin.columns) for margin in found]
    if len(set(names)) < len(names):
        raise InvalidArgument(argument, list(given), "hold the same columns twice")
    return _scaled(found, total)


def _columns(held: Held, name: object, argument: str) -> tuple[str, ...]:
    """The columns of a margin; refuse those that are not public."""
    columns = (name,) if isinstance(name, str) else name
    if not (isinstance(columns, tuple) and columns and all(isinstance(c, str) for c in columns)):
        raise InvalidArgument(argument, name, _MARGINS)
    if len(set(columns)) < len(columns):
        raise InvalidArgument(argument, name, "names a column twice")
    for column in columns:
        if held.owner(column) in held.questionnaire.private:
            remedy = "is private: its reports are noisy, and no cell of a margin is known; give "
            remedy += "its total to the estimate, frequencies(..., constraints=)"
            raise InvalidArgument(argument, column, remedy)
        if column not in held.columns:
            hint = did_you_mean(column, held.columns)
            raise InvalidArgument(argument, column, f"the table has no such column{hint}")
    return tuple(str.__str__(column) for column in columns)


def _totals(
    argument: str, columns: Sequence[str], given: object
) -> Iterator[tuple[Category, float]]:
    """Totals by category, as a mapping or a Series has them."""
    if not isinstance(given, Mapping | pd.Series) or not len(given):
        remedy = "must map each category to its population total: a dict, or a Series"
        raise InvalidArgument(argument, given, remedy)
    seen = set()
    for key, value in given.items():
        category = key if isinstance(key, tuple) and len(columns) > 1 else (key,)
        if len(category) != len(columns):
            remedy = f"must be a tuple of {len(columns)} values, of {', '.join(columns)}"
            raise InvalidArgument(f"category of {argument}", key, remedy)
        if category in seen:
            raise InvalidArgument(argument, key, "the category is there twice")
        seen.add(category)
        remedy = f"must be a population total: zero, or from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
        number = real_number(f"{argument}[{key!r}]", value, remedy)
        if not (number == 0.0 or LEAST_WEIGHT <= number <= MOST_WEIGHT):
            raise InvalidArgument(f"{argument}[{key!r}]", value, remedy)
        yield category, number


def _scaled(margins: list[Margin], total: object) -> list[Margin]:
    """Margins of totals; shares, which sum to one, are multiplied by a total."""
    sums = [sum(margin.totals.values()) for margin in margins]
    are_shares = all(abs(one - 1.0) <= _SHARES for one in sums)
    if total is None:
        if are_shares:
            argument = margins[0].argument
            remedy = "add up to one: multiply shares by the size of the population"
            if argument == "margins":  # post-stratification takes totals only
                remedy += ", or give it as total="
            raise InvalidArgument(argument, [margin.name for margin in margins], remedy)
        return margins
    remedy = f"must be the size of the population, from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
    size = real_number("total", total, remedy)
    if not LEAST_WEIGHT <= size <= MOST_WEIGHT:
        raise InvalidArgument("total", total, remedy)
    if not are_shares:
        shown = {margin.name: one for margin, one in zip(margins, sums, strict=True)}
        remedy = f"goes with shares that add up to one, but margins add up to {shown}: leave it out"
        raise InvalidArgument("total", total, remedy)
    return [
        replace(margin, totals={key: share * (size / one) for key, share in margin.totals.items()})
        for margin, one in zip(margins, sums, strict=True)
    ]


def matched_margin(margin: Margin, cells: MarginCells) -> Margin:
    """The margin with categories as the table has them, without those that nobody is in.

    Raises
    ------
    InvalidArgument
        If a category with a positive total has no respondents, or respondents are in a category
        whose total is zero or missing.
    """
    name = margin.columns[0] if len(margin.columns) == 1 else margin.columns
    argument = f"{margin.argument}[{name!r}]"
    known = dict.fromkeys(cells.categories(margin.columns))
    written = [
        _spellings(argument, {category[i] for category in margin.totals}, {c[i] for c in known})
        for i in range(len(margin.columns))
    ]
    found: dict[Category, float] = {}
    for category, total in margin.totals.items():
        there = tuple(own[value] for own, value in zip(written, category, strict=True))
        if there in found:
            raise InvalidArgument(argument, worded(category), "the category is there twice")
        if there in known:
            found[there] = total
        elif total > 0.0:
            hint = did_you_mean(worded(category), [worded(one) for one in known])
            remedy = f"nobody in the sample is in this category, whose total is {total:.12g}: join "
            remedy += f"it with another one, here and in the table{hint}"
            raise InvalidArgument(argument, worded(category), remedy)
    lacking = [worded(category) for category in known if not found.get(category)]
    if lacking:
        remedy = "have respondents, but no total or one of zero: give totals of all categories, or "
        remedy += "leave out who is not of the population"
        raise InvalidArgument(argument, lacking[:_SHOWN], remedy)
    return replace(margin, totals=found)


def _spellings(argument: str, given: set[Any], known: set[Any]) -> dict[Any, Any]:
    """The value of a column that each of some values is, as people write them; None if none."""
    labels = pd.Index(list(known))
    found = {}
    for value in given:
        try:
            place = int(matched(argument, [value], labels)[0])
        except UnknownCategory:
            place = -1
        found[value] = labels[place] if place >= 0 else None
    return found
