"""Cohorts that reports on several variables share, and the strata that they make."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.reports.single import Reports

__all__ = ["cohort_groups", "cohort_strata", "may_share"]

Array = npt.NDArray[Any]

_CHANCE = 1e-6  # of as many equal cohorts, where devices drew both


def cohort_groups(reports: Sequence[Reports], nobs: int) -> list[list[int]]:
    """Variables grouped by shared cohorts; those without cohorts are in no group."""
    groups: list[list[int]] = []
    for v, part in enumerate(reports):
        if part.cohort is None or part.mechanism.n_cohorts < 2:
            continue
        for group in groups:
            first = reports[group[0]].cohort
            if first is not None and _determined(first, part.cohort, nobs):
                group.append(v)
                break
        else:
            groups.append([v])
    return groups


def cohort_strata(reports: Sequence[Reports], nobs: int) -> tuple[Array, list[slice]] | None:
    """An order of the combinations by shared cohorts, and the slice of each; None without any."""
    groups = [group for group in cohort_groups(reports, nobs) if len(group) > 1]
    if not groups:
        return None
    shared = [reports[v].cohort for group in groups for v in group]
    keys = np.column_stack([cohort for cohort in shared if cohort is not None])
    labels = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    ends = [0, *np.cumsum(np.bincount(labels)).tolist()]
    return np.argsort(labels, kind="stable"), [slice(*pair) for pair in pairwise(ends)]


def may_share(first: Reports, second: Reports, n: Array, alike: bool) -> bool:
    """Whether two reports of each respondent may come from one permanent response.

    `n`, (u,), is how many respondents each pair of reports stands for. A device has one cohort:
    where cohorts differ both responses were drawn, and where they agree in everybody, or more often
    than by chance, some devices kept theirs. Without cohorts only who asks knows whether the
    reports are `alike`, on one question.
    """
    kept = first.mechanism.permanent
    if kept is None or kept != second.mechanism.permanent:
        return False
    if first.cohort is None or second.cohort is None:
        return alike
    from scipy.special import bdtrc  # only here: it takes a while to load

    total, agree = int(n.sum()), int(n[first.cohort == second.cohort].sum())
    if agree == total:
        return total > 0
    return bool(bdtrc(agree - 1, total, 1.0 / first.mechanism.n_cohorts) < _CHANCE)


def _determined(first: Array, second: Array, nobs: int) -> bool:
    """Whether cohorts of one variable are a function of those of the other."""
    if np.array_equal(first, second):
        return True
    pairs = np.unique(np.column_stack([first, second]), axis=0)
    most = max(np.unique(first).size, np.unique(second).size)
    return len(pairs) == most and nobs > 2 * most
