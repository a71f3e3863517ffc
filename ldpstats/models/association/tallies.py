"""Tallies of the reports: what results carry of the evidence, and how it is stored.

Tests other than the default one rest on how often each combination of reports was seen. Results
carry these tallies where they are a table of few cells; they are never larger for more respondents.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import boolean
from ldpstats.errors import InvalidArgument, LDPError
from ldpstats.mechanisms import mechanism_from_dict
from ldpstats.models.association.evidence import Evidence
from ldpstats.models.association.groups import JointGroup
from ldpstats.models.association.variables import VariableSpec
from ldpstats.reports.joint import ALWAYS_MERGED, JointCounts
from ldpstats.reports.single import Reports

__all__ = ["MOST_TALLIES", "is_stored", "tallied", "tallies_from_dict", "tallies_to_dict"]

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
    groups = [_group_to_dict(group.counts) for group in evidence.groups]
    try:
        for group in groups:
            for document in group["mechanisms"]:
                mechanism_from_dict(document)
    except LDPError:  # of a class that is not the package's
        return None
    return {"complete": [spec.complete for spec in evidence.specs], "groups": groups}


def _group_to_dict(counts: JointCounts) -> dict[str, Any]:
    return {
        "mechanisms": [mechanism.to_dict() for mechanism in counts.mechanisms],
        "reports": [part.y.tolist() for part in counts.reports],
        "cohorts": [None if p.cohort is None else p.cohort.tolist() for p in counts.reports],
        "n": counts.n.tolist(),
    }


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
    groups = tuple(JointGroup(_counts(group), specs) for group in document["groups"])
    evidence = Evidence(groups, specs, names)
    if evidence.digest != digest:
        remedy = "is not that of the tallies: the document was changed or damaged"
        raise InvalidArgument("digest", digest, remedy)
    return evidence


def _counts(document: dict[str, Any]) -> JointCounts:
    columns = ("mechanisms", "reports", "cohorts")
    parts = []
    for made_by, y, cohort in zip(*(document[name] for name in columns), strict=True):
        mechanism = mechanism_from_dict(made_by)
        reports = np.asarray(y, dtype=np.uint8 if mechanism.n_bits else np.int64)
        at = None if cohort is None else np.asarray(cohort, dtype=np.int64)
        parts.append(Reports(reports, mechanism, cohort=at))
    return JointCounts(parts, document["n"])
