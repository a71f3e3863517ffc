"""What a caller passes as the data of one variable, and what it is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ldpstats.errors import InvalidArgument
from ldpstats.reports.columns import not_reports
from ldpstats.reports.single import BitCounts, Counts, Reports

__all__ = ["Data", "tallied", "variable_name"]

Data = Reports | Counts | BitCounts


def tallied(data: Data | Sequence[Data]) -> tuple[Counts | BitCounts, ...]:
    """The counts of each mechanism, summed over its groups."""
    groups: list[Any] = list(data) if isinstance(data, list | tuple) else [data]
    if not groups:
        raise InvalidArgument("data", data, "is empty: pass reports or counts")
    sums: dict[tuple[str, bool], Any] = {}
    for group in groups:
        if not isinstance(group, Reports | Counts | BitCounts):
            remedy = "must be Reports, Counts or BitCounts"
            remedy += " (plain numbers become counts with mechanism.counts(n)"
            more = "; a dict of groups is for GroupedModel(groups).fit())"
            remedy += more if isinstance(group, Mapping) else ")"
            raise not_reports("data", group, remedy)
    for group in groups:
        counts = group.tally() if isinstance(group, Reports) else group
        if len(groups) == 1:  # a fingerprint takes long where Q is large
            return (counts,)
        key = counts.mechanism.fingerprint, counts.has_patterns
        sums[key] = sums[key] + counts if key in sums else counts
    return tuple(sums.values())


def variable_name(name: str | None, data: object) -> str:
    """The name that was given, else the one that all reports have."""
    if name is not None:
        if not isinstance(name, str):
            raise InvalidArgument("name", name, "must be text: the name of the variable")
        return name
    groups = data if isinstance(data, list | tuple) else [data]
    found = {group.name if isinstance(group, Reports) else "" for group in groups}
    return found.pop() if len(found) == 1 else ""
