"""Groups of respondents that are compared: who reported, and whether they are different persons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.errors import InvalidArgument
from ldpstats.reports.single import BitCounts, Counts, Reports

__all__ = ["missing_in", "refuse_shared_persons", "reports_in"]


def _parts(data: object) -> list[Any]:
    return list(data) if isinstance(data, list | tuple) else [data]


def reports_in(data: object) -> int | None:
    """Number of reports in the data of a group; None for what is no data."""
    parts = _parts(data)
    if not parts or not all(isinstance(part, Reports | Counts | BitCounts) for part in parts):
        return None
    return sum(len(part) if isinstance(part, Reports) else part.nobs for part in parts)


def missing_in(data: object) -> int:
    """Respondents of a group who gave no answer."""
    return sum(part.n_missing for part in _parts(data))


def refuse_shared_persons(groups: Mapping[str, object]) -> None:
    """Refuse groups, by the argument's name, in which an identifier appears twice."""
    owner: dict[Any, str] = {}
    named: list[tuple[str, Any]] = []
    for name, data in groups.items():
        parts = [part.ids for part in _parts(data) if isinstance(part, Reports)]
        ids = [part for part in parts if part is not None]
        if ids:
            named.append((name, pd.unique(np.concatenate(ids))))
    if len(named) < 2 or pd.Index(np.concatenate([ids for _, ids in named])).is_unique:
        return
    for name, ids in named:
        for person in ids:
            if person in owner:
                raise InvalidArgument(
                    f"{name}.ids",
                    person,
                    f"is in {owner[person]} too: groups must be of different persons; compare "
                    "answers of the same persons by AssociationModel with ids=, or survey.change",
                )
            owner[person] = name
