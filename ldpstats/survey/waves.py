"""The persons who are in two waves of a survey: their columns side by side, their identifiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import InvalidArgument
from ldpstats.reports.single import Reports
from ldpstats.survey.coded import Coded
from ldpstats.survey.columns import Column
from ldpstats.survey.held import Held, Selected
from ldpstats.survey.questionnaire import Questionnaire

__all__ = ["Waves", "identifiers", "refuse_identifiers", "refuse_other_kind"]


@dataclass(frozen=True, eq=False)
class Waves(Held):
    """The persons who are in two waves, with the columns of both, distinguished by a suffix."""

    questionnaire: Questionnaire
    sources: Mapping[str, tuple[Held, str]]  # the wave of each name, and its name there
    left_out: tuple[int, int]

    @classmethod
    def of(cls, first: Held, second: Held, id: str, suffixes: tuple[str, str]) -> Waves:
        """Match two waves by a column of identifiers, which stays as it is."""
        keys, kinds = zip(*(identifiers(wave, id) for wave in (first, second)), strict=True)
        refuse_other_kind(id, *kinds)
        place = keys[1].get_indexer(keys[0])
        both = np.flatnonzero(place >= 0)
        waves = Selected(first, both), Selected(second, place[both])
        return cls.matched(waves, id, suffixes, (len(first), len(second)), both.size)

    @classmethod
    def matched(
        cls,
        waves: tuple[Held, Held],
        id: str,
        suffixes: tuple[str, str],
        sizes: tuple[int, int],
        both: int,
    ) -> Waves:
        """The columns of two waves that were of `sizes` persons, of whom `both` are in the two."""
        if not both:
            remedy = "no person is in both waves: is this the column that identifies persons?"
            raise InvalidArgument("id", id, remedy)
        sources: dict[str, tuple[Held, str]] = {id: (waves[0], id)}
        mechanisms = {}
        for wave, suffix in zip(waves, suffixes, strict=True):
            asked = wave.questionnaire
            for name in dict.fromkeys((*asked.questions, *wave.columns)):
                if name == id:
                    continue
                if f"{name}{suffix}" in sources:
                    remedy = f"would name two columns {name + suffix!r}: choose others"
                    raise InvalidArgument("suffixes", suffixes, remedy)
                sources[f"{name}{suffix}"] = wave, name
                if name in asked:
                    mechanisms[f"{name}{suffix}"] = asked[name]
        return cls(Questionnaire(mechanisms), sources, (sizes[0] - both, sizes[1] - both))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(new for new, (wave, name) in self.sources.items() if name in wave.columns)

    @property
    def public_columns(self) -> tuple[str, ...]:
        both = self.sources.items()
        return tuple(new for new, (wave, name) in both if name in wave.public_columns)

    @property
    def lost(self) -> tuple[int, int]:
        return self.left_out

    def __len__(self) -> int:
        return len(next(iter(self.sources.values()))[0])

    def prepare(self, names: Iterable[str]) -> None:
        for name in names:
            wave, old = self.sources.get(name, (None, name))
            if wave is not None:
                wave.prepare([old])

    def origin(self, name: str) -> str:
        return self.sources[name][1]

    def owner(self, name: str) -> str | None:
        wave, old = self._source(name)
        question = wave.owner(old)
        found = [new for new, source in self.sources.items() if source == (wave, question)]
        return found[0] if found else None

    def unasked(self, name: str) -> Column:
        wave, old = self._source(name)
        return replace(wave.unasked(old), name=name)

    def reported(self, name: str) -> Coded:
        wave, old = self._source(name)
        found = wave.reported(old)
        if isinstance(found.reports, Reports):
            found = replace(found, reports=replace(found.reports, name=name))
        return found

    def parts_of(self, name: str) -> dict[str, str | None]:
        wave, old = self._source(name)
        new: dict[Any, str] = {source: new for new, source in self.sources.items()}
        return {new[wave, c]: new.get((wave, d)) for c, d in wave.parts_of(old).items()}

    def _source(self, name: str) -> tuple[Held, str]:
        if name not in self.sources:
            shown = ", ".join(map(repr, self.columns))
            hint = did_you_mean(name, self.columns)
            raise InvalidArgument("column", name, f"no such column; the waves have {shown}{hint}")
        return self.sources[name]


def refuse_other_kind(id: str, first: str, second: str) -> None:
    """Refuse identifiers that are of different kinds in two waves."""
    if first != second:
        remedy = f"holds {first} in one wave and {second} in the other: convert one"
        raise InvalidArgument("id", id, remedy)


def refuse_identifiers(id: str, n: int, missing: int, twice: Any, times: int) -> None:
    """Refuse a column of n rows if identifiers are missing, or one appears several times."""
    if missing:
        remedy = f"{missing} of {n} rows have no identifier: select others"
        raise InvalidArgument("id", id, remedy)
    if times > 1:
        raise InvalidArgument("id", id, f"{twice!r} appears {times} times: keep one row a person")


def identifiers(held: Held, id: str) -> tuple[pd.Index[Any], str]:
    """The identifiers of all rows, and what they are; refuse missing and repeated ones."""
    column = held.public(id)
    times = np.bincount(column.codes[~column.missing], minlength=len(column.values))
    often = int(np.argmax(times > 1)) if times.size else 0
    most = (column.values[often], int(times[often])) if times.size else (None, 0)
    refuse_identifiers(id, len(held), int(column.missing.sum()), *most)
    keys: pd.Index[Any] = pd.Index(column.values[column.codes].tolist(), dtype=object)
    return keys, column.what
