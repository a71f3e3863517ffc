"""The joint distribution of some of the variables, from that of all."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import listed
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.observed import joint_epsilon
from ldpstats.models.association.estimates import cell_law, covariance_of, dispersion, rests_on
from ldpstats.models.association.evidence import Evidence
from ldpstats.models.association.groups import JointGroup
from ldpstats.models.association.record import Cells, Tests, Variables
from ldpstats.models.association.recorded import cells_of, tests_of
from ldpstats.models.shared.fit import Fit
from ldpstats.problems.estimates import Uncertain
from ldpstats.reports.joint import JointCounts

__all__ = ["collapsed", "places"]

Array = npt.NDArray[Any]

_SUMMED = "cells summed over other variables"


def places(names: Any, known: Sequence[str]) -> list[int]:
    """The places of two or more variables, fewer than all, each once."""
    remedy = f"must be two or more of {list(known)}, fewer than all, each once"
    chosen = listed("names", names, remedy)
    good = all(isinstance(name, str) and name in known for name in chosen)
    if not good or len(set(chosen)) < len(chosen) or not 1 < len(chosen) < len(known):
        if good and len(chosen) == 1:
            remedy += "; margins() has the distribution of one"
        raise InvalidArgument("names", names, remedy)
    return [known.index(name) for name in chosen]


def collapsed(
    keep: Sequence[int], fit: Fit, variables: Variables, cells: Cells, tests: Tests
) -> tuple[Fit, Variables, Cells, Tests]:
    """What results of the variables `keep` hold: sums of cells, and their covariance.

    Where the tallies of the reports are at hand, the law of the cells and the test of independence
    are those of a model of these variables alone. Else both are None.
    """
    group = _cell_groups([len(labels) for labels in variables.labels], keep)
    own = _taken(variables, keep)
    evidence = None if tests.evidence is None else _evidence(tests.evidence, keep)
    linear, law = _summed(fit.linear, group), None
    problem = None if evidence is None else rests_on(evidence, linear)
    if evidence is not None and problem is not None:
        V = covariance_of(problem)
        if V is not None:
            linear = Uncertain(linear.estimate, V.scaled(dispersion(evidence)))
        law = cell_law(evidence, problem, V)
    return (
        replace(
            fit,
            fitted=_summed(fit.fitted, group),
            linear=linear,
            settings="; ".join(
                filter(None, (fit.settings, f"summed over {len(variables.names)} variables"))
            ),
            epsilon=_epsilon(own, evidence),
            sources=tuple(fit.sources[v] for v in keep),
            is_partial=any(margin.fit.is_partial for margin in own.margin_fits),
            llf=float("nan"),
        ),
        own,
        _cells(cells, evidence, law),
        _tests(tests, evidence, own),
    )


def _cell_groups(sizes: Sequence[int], keep: Sequence[int]) -> npt.NDArray[np.int64]:
    """Which cell of the variables `keep` each cell of all variables, row-major, is summed into."""
    at = np.indices(sizes).reshape(len(sizes), -1)[list(keep)]
    cells: npt.NDArray[np.int64] = np.ravel_multi_index(tuple(at), [sizes[v] for v in keep])
    return cells


def _summed(part: Uncertain, group: npt.NDArray[np.int64]) -> Uncertain:
    V = None if part.covariance is None else part.covariance.merged(group)
    return Uncertain(np.bincount(group, part.estimate), V)


def _taken(variables: Variables, keep: Sequence[int]) -> Variables:
    def some(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(values[v] for v in keep)

    return replace(
        variables,
        names=some(variables.names),
        labels=some(variables.labels),
        others=some(variables.others),
        margin_fits=some(variables.margin_fits),
        lacking=(),  # of respondents who lacked a variable that is no longer there, too
        unprotected=tuple(name for name in some(variables.names) if name in variables.unprotected),
    )


def _evidence(evidence: Evidence, keep: Sequence[int]) -> Evidence:
    """The tallies of some variables."""
    specs = tuple(evidence.specs[v] for v in keep)
    groups = []
    for group in evidence.groups:
        parts = [replace(group.counts.reports[v], n_missing=0) for v in keep]
        groups.append(JointGroup(JointCounts(parts, group.counts.n).tally(), specs))
    return Evidence(tuple(groups), specs, tuple(evidence.names[v] for v in keep))


def _epsilon(own: Variables, evidence: Evidence | None) -> float:
    """Privacy of the reports on these variables of one respondent; at most, without tallies."""
    if evidence is None:
        pairs = zip(own.names, own.margin_fits, strict=True)
        private = [margin.epsilon for name, margin in pairs if name not in own.unprotected]
        return float(sum(private)) if private else float("inf")
    return max(joint_epsilon(group.counts.mechanisms) for group in evidence.groups)


def _cells(cells: Cells, evidence: Evidence | None, law: Any) -> Cells:
    """Without tallies the smallest expected count is that of all variables, which is smaller."""
    if evidence is None:
        return replace(cells, law=None)
    return cells_of(evidence, law)


def _tests(tests: Tests, evidence: Evidence | None, own: Variables) -> Tests:
    if evidence is None:
        digest = hashlib.blake2b(f"{tests.digest} {own.names}".encode(), digest_size=8)
        return Tests(digest.hexdigest())
    return tests_of(evidence)
