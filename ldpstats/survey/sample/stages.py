"""The stages of a sample, from the columns of a table that describe them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.engines.weighted import LEAST_WEIGHT, MOST_WEIGHT
from ldpstats.errors import InvalidArgument
from ldpstats.inference.designs.sample import Stage
from ldpstats.models.shared.spelling import count_of
from ldpstats.survey.columns import Column
from ldpstats.survey.held import Held
from ldpstats.survey.sample.design import SampleDesign, StageColumns

__all__ = ["refuse_rows", "stages_of"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_LABELS = "units and strata need text, whole numbers, booleans or categories as labels"
_WHOLE = "the whole sample"


@dataclass(frozen=True, eq=False)
class _Groups(Sequence[str]):
    """Groups of cells, with names that are only written when somebody reads them.

    Attributes
    ----------
    at : array of int64, shape (c,)
        The group of each cell.
    above : sequence of str, and `of`, array of int64, shape (g,)
        Names of larger groups, and the one that each group is in.
    labels : array, shape (g,)
        Labels of the groups within those; empty where each is alone.
    """

    at: Codes
    above: Sequence[str]
    of: Codes
    labels: Array

    def __len__(self) -> int:
        return len(self.of)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[str]: ...
    def __getitem__(self, i: int | slice) -> str | Sequence[str]:
        if isinstance(i, slice):
            return [self[j] for j in range(len(self))[i]]
        parts = (self.above[self.of[i]], str(self.labels[i]))
        return " / ".join(part for part in parts if part not in ("", _WHOLE)) or _WHOLE


def stages_of(cells: Held, n: Array | None, design: SampleDesign) -> tuple[Stage, ...]:
    """The stages of the whole sample, whose respondents are all in some cells.

    `n`, (c,), is how many respondents each cell stands for; None where cells are rows.
    """
    c = len(cells)
    number = np.ones(c) if n is None else n
    nothing = np.zeros(c, dtype=np.int64)
    units = _Groups(nothing, [_WHOLE], nothing[:1], np.array([""], dtype=object))
    found = []
    for columns in design.stages:
        parents = units
        strata = _split(parents, _labels(cells, "strata", columns.strata, n))
        if columns.units is None:
            sampled = np.bincount(strata.at, number, len(strata))
            unit, of = None, strata.at
        else:
            column = _labels(cells, "clusters", columns.units, n)
            units = _split(strata, column)
            if not design.nested:
                _refuse_repeated(columns.units, units, strata)
            sampled = np.bincount(units.of, minlength=len(strata)).astype(float)
            unit, of = units.at, units.of
        N = _population(cells, n, columns, strata, sampled)
        found.append(Stage(unit, of, sampled, N, strata.of, strata))
    return tuple(found)


def _labels(cells: Held, argument: str, name: str | None, n: Array | None) -> Column | None:
    """A column of strata or units, none of which may be missing."""
    if name is None:
        return None
    try:
        column = cells.public(name).categories(_LABELS)
    except InvalidArgument as error:
        raise InvalidArgument(argument, name, error.remedy) from None
    remedy = "is missing: every respondent of a sample is in a stratum and in a unit"
    refuse_rows(argument, name, column.missing, None, remedy, n)
    return column


def _split(groups: _Groups, column: Column | None) -> _Groups:
    """Groups within groups: those of equal labels in a column; the same without one."""
    if column is None:
        one = np.arange(len(groups))
        return _Groups(groups.at, groups, one, np.full(len(groups), "", dtype=object))
    k = len(column.values)
    at, keys = pd.factorize(groups.at * k + column.codes, sort=True)
    of, label = np.divmod(keys, k)
    return _Groups(at.astype(np.int64), groups, of, column.values[label])


def _refuse_repeated(name: str, units: _Groups, strata: _Groups) -> None:
    """Refuse a label that units of several strata have."""
    codes, labels = pd.factorize(units.labels)
    often = np.flatnonzero(np.bincount(codes) > 1)
    if often.size:
        label = labels[often[0]]
        first, second = (strata[h] for h in units.of[codes == often[0]][:2])
        more = f" ({often.size} such units)" if often.size > 1 else ""
        remedy = f"unit {label!r} is in {first!r} and in {second!r}{more}: correct it; or pass "
        remedy += "nested=True if labels are unique only within strata, and name other units"
        raise InvalidArgument("clusters", name, remedy)


def _population(
    cells: Held, n: Array | None, columns: StageColumns, strata: _Groups, sampled: Array
) -> Array:
    """Units in the population by stratum, (H,); inf without a correction."""
    name = columns.fpc
    if name is None:
        return np.full(len(strata), np.inf)
    given = cells.numbers("fpc", name)
    _refuse_corrections(name, given, n)
    found = np.empty(len(strata))
    found[strata.at] = given
    other = np.flatnonzero(given != found[strata.at])
    if other.size:
        h = strata.at[other[0]]
        remedy = f"holds {given[other[0]]:g} and {found[h]:g} in stratum {strata[h]!r} of stage "
        remedy += f"{columns.number}: it must be one number in each"
        raise InvalidArgument("fpc", name, remedy)
    if np.all(found <= 1.0):
        return np.asarray(sampled / found)
    short = np.flatnonzero(found < sampled)
    if short.size:
        h = short[0]
        more = f" (and so {short.size - 1} more)" if short.size > 1 else ""
        remedy = f"stratum {strata[h]!r} of stage {columns.number} has {found[h]:g} units in the "
        remedy += f"population, but {sampled[h]:.0f} in the sample{more}: count units, not persons"
        raise InvalidArgument("fpc", name, f"{remedy}, of that stage")
    return found


def _refuse_corrections(name: str, given: Array, n: Array | None) -> None:
    """Refuse what is neither a number of units nor a sampling fraction."""
    remedy = "must be the number of units in the population, or the sampled fraction of them"
    refuse_rows("fpc", name, np.isnan(given), given, f"is missing: it {remedy}", n)
    beyond = ~((given >= LEAST_WEIGHT) & (given <= MOST_WEIGHT))
    refuse_rows("fpc", name, beyond, given, remedy, n)
    if np.any(given > 1.0):
        words = "is a fraction, but other rows hold numbers of units: use one of them throughout"
        refuse_rows("fpc", name, given < 1.0, given, words, n)


def refuse_rows(
    argument: str, name: str, bad: Mask, values: Array | None, remedy: str, n: Array | None
) -> None:
    """Refuse a column of which some cells are `bad`, (c,); `n` respondents each, None: rows."""
    rows = np.flatnonzero(bad)
    if not rows.size:
        return
    value = None if values is None or np.isnan(values[rows[0]]) else float(values[rows[0]])
    if n is None:
        more = f" ({rows.size} such rows)" if rows.size > 1 else ""
        where = f", row {rows[0] + 1}"
    else:
        more, where = f" (in {count_of(int(n[rows].sum()), 'row')})", ""
    first, colon, rest = remedy.partition(":")
    raise InvalidArgument(f"{argument} {name!r}{where}", value, f"{first}{more}{colon}{rest}")
