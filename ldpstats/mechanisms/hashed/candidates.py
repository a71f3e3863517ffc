"""Lists of strings to look for, and maps of the cells that they own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import as_array
from ldpstats.arguments.labels import as_labels
from ldpstats.errors import InvalidArgument

__all__ = ["CandidateMap", "candidate_labels"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class CandidateMap:
    """Candidates whose cells are given, not computed: for reports of clients with another hash.

    Parameters
    ----------
    labels : sequence of str
        S distinct candidates.
    cells : array of int, shape (C, S, h)
        Cells (labels, or bits from 0) that each candidate owns in each cohort.

    Raises
    ------
    InvalidArgument
        If the labels are not distinct strings, or the cells have another shape or are not integers.

    Examples
    --------
    >>> candidates = CandidateMap(("a", "b"), np.array([[[0, 1], [2, 3]]]))
    >>> len(candidates.labels)
    2
    """

    labels: Any
    cells: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", candidate_labels(self.labels))
        size = len(self.labels)
        cells = as_array("cells", self.cells, f"must be an array of integers, (C, {size}, h)")
        if cells.ndim != 3 or cells.shape[1] != size or cells.dtype.kind not in "iu":
            raise InvalidArgument(
                "cells",
                f"array of {cells.dtype}, shape {cells.shape}",
                f"must be integers, of shape (C, {size}, h)",
            )
        object.__setattr__(self, "cells", cells)


def candidate_labels(candidates: object) -> pd.Index[Any]:
    """Check a list of candidates: distinct strings, at least one."""
    if isinstance(candidates, int | np.integer | pd.CategoricalDtype | pd.RangeIndex):
        raise InvalidArgument("candidates", candidates, "must be a list of strings to look for")
    if isinstance(candidates, Iterator):  # they are looked at more than once
        raise InvalidArgument("candidates", candidates, "is used up by one pass: pass list(...)")
    if isinstance(getattr(candidates, "dtype", None), pd.CategoricalDtype):
        candidates = list(candidates)  # type: ignore[call-overload]  # what is there, not the categories
    labels = as_labels("candidates", candidates, least=1)
    for i, label in enumerate(labels.tolist()):
        if not isinstance(label, str):
            raise InvalidArgument(
                f"candidates[{i}]",
                label,
                "must be a string, as the answers of an open alphabet are",
            )
    return labels
