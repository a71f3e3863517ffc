"""Tallies of the reports: what results carry of the evidence, and how it is stored.

Tests other than the default one rest on how often each combination of reports was seen. Results
carry these tallies where they are a table of few cells; they are never larger for more respondents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import boolean
from ldpstats.errors import InvalidArgument, LDPError
from ldpstats.mechanisms import mechanism_from_dict
from ldpstats.models.association.estimates import Evidence
from ldpstats.models.association.groups import JointGroup, VariableSpec
from ldpstats.reports.joint import ALWAYS_MERGED, JointCounts
from ldpstats.reports.single import Reports

__all__ = [
    "MOST_TALLIES",
    "is_stored",
    "merging",
    "tallied",
    "tallies_from_dict",
    "tallies_to_dict",
]


# combinations of reports that are possible, over all groups: no more than are always merged, since
# what is stored must not show the respondents one by one, in the order of their table
MOST_TALLIES = ALWAYS_MERGED


def tallied(evidence: Evidence) -> Evidence | None:
    """The evidence, where it is a table of few different reports."""
    cells = sum(prod(group.counts.possible) for group in evidence.groups)
    return evidence if cells <= MOST_TALLIES else None


def is_stored(evidence: Evidence) -> bool:
    """Whether the tallies can be written and read again: candidates are not."""
    return tallied(evidence) is not None and all(s.candidates is None for s in evidence.specs)


def tallies_to_dict(evidence: Evidence | None) -> dict[str, Any] | None:
    """The tallies as plain JSON types; None over candidates, and for a mechanism of one's own."""
    if evidence is None or not is_stored(evidence):
        return None
    groups = []
    for counts in (group.counts for group in evidence.groups):
        mechanisms = [mechanism.to_dict() for mechanism in counts.mechanisms]
        try:
            for document in mechanisms:
                mechanism_from_dict(document)
        except LDPError:  # of a class that is not the package's
            return None
        cohorts = [part.cohort for part in counts.reports]
        groups.append(
            {
                "mechanisms": mechanisms,
                "reports": [part.y.tolist() for part in counts.reports],
                "cohorts": [None if cohort is None else cohort.tolist() for cohort in cohorts],
                "n": counts.n.tolist(),
            }
        )
    return {"complete": [spec.complete for spec in evidence.specs], "groups": groups}


def tallies_from_dict(
    document: dict[str, Any] | None,
    names: tuple[str, ...],
    labels: Sequence[pd.Index[Any]],
    others: Sequence[str],
    digest: str,
) -> Evidence | None:
    """The evidence that `tallies_to_dict` wrote, of results with this digest."""
    if document is None:
        return None
    complete = [boolean("complete", value) for value in document["complete"]]
    parts = zip(labels, others, complete, strict=True)
    specs = tuple(VariableSpec(own, None, other, listed) for own, other, listed in parts)
    groups = []
    for group in document["groups"]:
        reports = []
        columns = (group[name] for name in ("mechanisms", "reports", "cohorts"))
        for made_by, y, cohort in zip(*columns, strict=True):
            mechanism = mechanism_from_dict(made_by)
            values = np.asarray(y, dtype=np.uint8 if mechanism.n_bits else np.int64)
            at = None if cohort is None else np.asarray(cohort, dtype=np.int64)
            reports.append(Reports(values, mechanism, cohort=at))
        groups.append(JointGroup(JointCounts(reports, group["n"]), specs))
    evidence = Evidence(tuple(groups), specs, names)
    if evidence.digest != digest:
        remedy = "is not that of the tallies: the document was changed or damaged"
        raise InvalidArgument("digest", digest, remedy)
    return evidence


# -- Categories that a mosaic would draw too thin to read, merged into one ------------------------


Array = npt.NDArray[Any]

_THIN = 0.015  # of the width or the height of a mosaic


@dataclass(frozen=True, eq=False)
class Merging:
    """Which categories of a table are drawn together."""

    rows: npt.NDArray[np.int64]  # (k1,) group of each category
    columns: npt.NDArray[np.int64]  # (k2,)
    labels: tuple[pd.Index[Any], pd.Index[Any]]  # of the groups

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """Group of each cell, shape (k1 k2,)."""
        return (self.rows[:, None] * len(self.labels[1]) + self.columns).ravel()

    def sums(self, values: Array) -> pd.DataFrame:
        """Cells, (k1, k2), summed over their groups."""
        shape = tuple(map(len, self.labels))
        total = np.bincount(self.cells, np.ravel(values), minlength=shape[0] * shape[1])
        return pd.DataFrame(total.reshape(shape), *self.labels)

    def chosen(self, values: Array, merged: Array) -> Array:
        """The values, (k1 k2,), of cells that stay, and those `merged` of the others."""
        alone = np.bincount(self.cells) == 1
        out = np.array(merged, dtype=np.float64)
        out[self.cells[alone[self.cells]]] = np.ravel(values)[alone[self.cells]]
        return out


def merging(table: pd.DataFrame) -> Merging:
    """The merging of thin categories: rare rows (columns of a mosaic), tiles thin in every row."""
    p = table.to_numpy()
    wide = p.sum(axis=1)  # rows of frequency zero are not drawn, and stay
    rows, row_labels = _groups(table.index, (wide > 0.0) & (wide < _THIN * wide.sum()))
    p = np.array([p[rows == group].sum(axis=0) for group in range(len(row_labels))])
    wide = p.sum(axis=1)
    conditional = p[wide > 0.0] / wide[wide > 0.0, None]
    columns, column_labels = _groups(table.columns, (conditional < _THIN).all(axis=0))
    return Merging(rows, columns, (row_labels, column_labels))


def _groups(
    labels: pd.Index[Any], thin: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], pd.Index[Any]]:
    """Groups of categories, the thin ones together in the last: two of them at least.

    Where fewer than two others were left, there would be nothing to see, and all stay.
    """
    n = int(thin.sum())
    if n < 2 or len(labels) - n < 2:
        return np.arange(len(labels)), labels
    groups = np.where(thin, len(labels) - n, np.cumsum(~thin) - 1)
    return groups, pd.Index([*labels[~thin], f"other ({n})"], dtype=object, name=labels.name)
