"""Counts of a device of cohorts as those of its cohorts, each a group with its own device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ldpstats.errors import NotIdentified
from ldpstats.mechanisms.cohort_parts import CohortPart, cohort_parts
from ldpstats.models.shared.spelling import in_turn

__all__ = ["by_cohort"]


def by_cohort(sources: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Groups for the likelihood, given how many respondents each has; and their names.

    The cohort is drawn without regard to the answer, and its probability is known: its size says
    nothing of frequencies and parameters. Given the sizes, estimates are those of as many groups;
    a cohort without a report is left out. A source of another device is a group without a name.

    Raises
    ------
    NotIdentified
        If a parameter is in the devices of cohorts without a report alone.
    """
    groups: list[Any] = []
    names: list[str] = []
    empty: list[str] = []
    for counts in sources:
        parts = cohort_parts(counts.mechanism)
        if not parts or _strange(parts, n := counts.vector()):
            groups.append(counts)
            names.append("")
            continue
        found = [(part, _own(part, n)) for part in parts]
        empty += [part.name for part, own in found if not own.sum()]
        kept = [(part, part.mechanism.counts(own)) for part, own in found if own.sum()]
        missing = [counts.n_missing] + [0] * len(kept)
        groups += [
            replace(own, n_missing=lost) for (_, own), lost in zip(kept, missing, strict=False)
        ]
        names += [part.name for part, _ in kept]
    _check_parameters(sources, groups, empty)
    return tuple(groups), tuple(names) if any(names) else ()


def _strange(parts: Sequence[CohortPart], n: Any) -> bool:
    """Whether a report is of no cohort: then it is impossible, and refused where it is counted."""
    placed = np.concatenate([part.places[part.places >= 0] for part in parts])
    return bool(np.delete(n, placed).any())


def _own(part: CohortPart, n: Any) -> Any:
    """How often each report of a cohort was seen."""
    return np.where(part.places >= 0, n[part.places], 0)


def _check_parameters(sources: Sequence[Any], groups: Sequence[Any], empty: Sequence[str]) -> None:
    """Refuse parameters of which no report tells."""
    known = {name for counts in groups for name in counts.mechanism.unknown}
    lost = {name: 0 for counts in sources for name in counts.mechanism.unknown if name not in known}
    if lost:
        raise NotIdentified(
            f"the unknown {in_turn(list(lost))} cannot be estimated: there is no report of the "
            f"cohort {in_turn(empty)}"
        )
