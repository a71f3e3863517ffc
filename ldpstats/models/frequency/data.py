"""What a caller passes as the data of one variable, and what it is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ldpstats.errors import InvalidArgument, NotIdentified
from ldpstats.models.shared.spelling import in_turn
from ldpstats.reports.columns import not_reports
from ldpstats.reports.single import BitCounts, Counts, Reports

__all__ = ["Data", "tallied", "variable_name"]

Data = Reports | Counts | BitCounts
Tally = Counts | BitCounts


def tallied(data: Data | Sequence[Data]) -> tuple[tuple[Tally, ...], tuple[str, ...]]:
    """The counts of each mechanism, summed over its groups; and the cohort that each is of, or "".

    The cohorts of a device are groups with a device of their own. A cohort is drawn without regard
    to the answer: how many respondents it has says nothing of frequencies and parameters, whatever
    the shares that it was drawn with, and everything is estimated given these numbers.

    Raises
    ------
    NotIdentified
        If an unknown parameter is in the devices of cohorts without a report alone.
    """
    groups: list[Any] = list(data) if isinstance(data, list | tuple) else [data]
    if not groups:
        raise InvalidArgument("data", data, "is empty: pass reports or counts")
    for group in groups:
        if not isinstance(group, Reports | Counts | BitCounts):
            remedy = "must be Reports, Counts or BitCounts"
            remedy += " (plain numbers become counts with mechanism.counts(n)"
            more = "; a dict of groups is for GroupedModel(groups).fit())"
            remedy += more if isinstance(group, Mapping) else ")"
            raise not_reports("data", group, remedy)
    counts = [group.tally() if isinstance(group, Reports) else group for group in groups]
    found = [part for one in counts for part in _by_cohort(one)]
    _check_parameters(counts, found)
    if len(found) == 1:  # a fingerprint takes long where Q is large
        return (found[0][1],), (found[0][0],)
    sums: dict[tuple[str, bool, str], Any] = {}
    for name, own in found:
        key = own.mechanism.fingerprint, own.has_patterns, name
        sums[key] = sums[key] + own if key in sums else own
    return tuple(sums.values()), tuple(name for *_, name in sums)


def _by_cohort(counts: Tally) -> list[tuple[str, Tally]]:
    """The cohorts of these counts that have reports, each with its name; "" where there are none.

    Reports that no cohort can make are impossible: counts with some stay as they are, to be refused
    where equations are made.
    """
    parts = counts.mechanism.cohort_parts
    if not (parts and isinstance(counts, Counts) and counts.nobs):
        return [("", counts)]
    n = counts.vector()
    own = [np.where(part.places >= 0, n[part.places], 0) for part in parts]
    if sum(int(one.sum()) for one in own) < counts.nobs:
        return [("", counts)]
    found: list[tuple[str, Tally]] = []
    for part, one in zip(parts, own, strict=True):
        if one.any():
            lost = 0 if found else counts.n_missing
            within = _by_cohort(replace(part.mechanism.counts(one), n_missing=lost))
            found += [(f"{part.name}:{name}" if name else part.name, c) for name, c in within]
    return found


def _check_parameters(given: Sequence[Tally], found: Sequence[tuple[str, Tally]]) -> None:
    """Refuse parameters that only cohorts without a report have."""
    known = {name for _, counts in found for name in counts.mechanism.unknown}
    lost = {n: 0 for counts in given for n in counts.mechanism.unknown if n not in known}
    if lost:
        there = {name for name, _ in found}
        cohorts = {name: 0 for counts in given for name in counts.mechanism.cohort_names}
        raise NotIdentified(
            f"the unknown {in_turn(list(lost))} cannot be estimated: there is no report of the "
            f"cohort {in_turn([name for name in cohorts if name not in there])}"
        )


def variable_name(name: str | None, data: object) -> str:
    """The name that was given, else the one that all reports have."""
    if name is not None:
        if not isinstance(name, str):
            raise InvalidArgument("name", name, "must be text: the name of the variable")
        return name
    groups = data if isinstance(data, list | tuple) else [data]
    found = {group.name if isinstance(group, Reports) else "" for group in groups}
    return found.pop() if len(found) == 1 else ""
