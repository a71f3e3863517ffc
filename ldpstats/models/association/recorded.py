"""The records of results of several variables, made of their evidence."""

from __future__ import annotations

import numpy as np

from ldpstats.errors import NotAvailable, NotIdentified
from ldpstats.inference.skewness import CellLaw
from ldpstats.inference.tests import TestResult
from ldpstats.models.association.estimates import dispersion
from ldpstats.models.association.evidence import Evidence
from ldpstats.models.association.pvalues import smallest_expected
from ldpstats.models.association.record import Cells, Tests, Variables
from ldpstats.models.association.score import score_test, trend_test
from ldpstats.models.association.tallies import is_stored, tallied
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.problems.problem import Solution

__all__ = ["cells_of", "tests_of", "variables_of"]


def variables_of(
    evidence: Evidence, margin_fits: tuple[FrequencyResults, ...], lacking: tuple[int, ...]
) -> Variables:
    """The variables with their own fits."""
    made_by = [group.counts.mechanisms for group in evidence.groups]
    return Variables(
        names=evidence.names,
        labels=tuple(spec.labels for spec in evidence.specs),
        others=tuple(spec.other for spec in evidence.specs),
        margin_fits=margin_fits,
        is_complete=evidence.is_complete,
        lacking=lacking,
        unprotected=tuple(
            name
            for v, name in enumerate(evidence.names)
            if any(mechanisms[v].unprotected for mechanisms in made_by)
        ),
    )


def cells_of(evidence: Evidence, law: CellLaw | None) -> Cells:
    """What errors of the cells rest on."""
    return Cells(
        n_strata=sum(len(group.slices) for group in evidence.groups),
        dispersion=dispersion(evidence),
        smallest_expected=smallest_expected(evidence),
        law=law,
    )


def tests_of(evidence: Evidence, solution: Solution | None = None) -> Tests:
    """The tests that a fit makes: where the tallies are not kept, those that need them.

    Without a `solution` they are kept, as of results that were collapsed.
    """
    if solution is None or is_stored(evidence):
        return Tests(evidence.digest, _independence(evidence), evidence=tallied(evidence))
    return Tests(
        digest=evidence.digest,
        independence=_independence(evidence),
        trend=_trend(evidence),
        null_llf=_null_llf(evidence, solution),
        evidence=tallied(evidence),
    )


def _independence(evidence: Evidence) -> TestResult | None:
    """The score test of independence; None where a variable does not vary."""
    try:
        return score_test(evidence)
    except (NotIdentified, NotAvailable):
        return None


def _trend(evidence: Evidence) -> TestResult | None:
    """The test for a trend over categories 1, 2, 3, ...; None where there is none."""
    if len(evidence.sizes) != 2:
        return None
    try:
        return trend_test(evidence, *(np.arange(1.0, k + 1.0) for k in evidence.sizes))
    except (NotIdentified, NotAvailable):
        return None


def _null_llf(evidence: Evidence, solution: Solution) -> float:
    """Log-likelihood under independence, for the ratio; nan beside what is no maximum."""
    if np.isnan(solution.gap):
        return float("nan")
    return evidence.likelihood.loglike(evidence.null)
