"""Tests by what results hold: a test that was made, an estimate, tallies of the reports.

A model that is passed has the reports themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import numbers
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.tests import TestResult
from ldpstats.models.association import independence as by_name
from ldpstats.models.association.evidence import Evidence
from ldpstats.models.association.record import Cells, Tests, Variables
from ldpstats.models.association.score import trend_test
from ldpstats.models.association.tallies import MOST_TALLIES
from ldpstats.models.shared.fit import Fit

__all__ = ["evidence_of", "independence", "trend"]

Array = npt.NDArray[Any]

_ROUNDING = 1e-9  # of frequencies


def evidence_of(model: Any, variables: Variables, tests: Tests) -> Evidence | None:
    """The reports of the model that is given, else the tallies that the results carry."""
    if model is None:
        return tests.evidence
    evidence = getattr(model, "evidence", None)
    if not isinstance(evidence, Evidence):  # what a caller passes may be anything
        raise InvalidArgument("model", model, "must be the AssociationModel that was fitted")
    if (evidence.digest, evidence.names) != (tests.digest, variables.names):
        raise InvalidArgument("model", model, "has other data than the results")
    return evidence


def _without_reports(otherwise: str) -> NotAvailable:
    """The error of a test that needs reports which the results do not carry."""
    return NotAvailable(
        "results hold no reports, and carry tallies only where at most "
        f"{MOST_TALLIES:,} combinations are possible (read from JSON, not over candidates): pass "
        f"model=model, the fitted model, or {otherwise}"
    )


def independence(
    held: tuple[Fit, Variables, Cells, Tests],
    model: Any,
    method: str,
    rng: np.random.Generator | None,
    n_permutations: int | None,
    n_boot: int | None,
    advance: Callable[[float], None],
) -> TestResult:
    """The test of independence of this name, with checked options."""
    fit, variables, cells, tests = held
    names, sizes = variables.names, variables.sizes
    evidence = evidence_of(model, variables, tests)
    if method == "wald" and len(sizes) == 2 and abs(fit.linear.estimate.sum() - 1.0) <= _ROUNDING:
        P, V = fit.linear.estimate.reshape(sizes), fit.linear.known()
        how = "Wald test on the unconstrained joint estimate"
        return by_name.wald_test(names, P, V, cells.smallest_expected, how)
    plain = fit.is_maximum and fit.converged and not fit.settings
    if evidence is None and method == "lr" and plain and not np.isnan(tests.null_llf):
        gain = max(2.0 * (fit.llf - tests.null_llf), 0.0)
        return by_name.likelihood_ratio_test(names, sizes, gain, fit.on_boundary)
    if evidence is None:
        raise _without_reports("use method='score'")
    fitted = fit.fitted.estimate if plain else None
    return by_name.test_independence(
        evidence, method, fitted, fit.on_boundary, rng, n_permutations, n_boot, advance
    )


def trend(
    variables: Variables, tests: Tests, model: Any, given: tuple[tuple[str, Any], ...]
) -> TestResult:
    """The test for a trend with these scores, argument by argument, of two variables."""
    evidence = evidence_of(model, variables, tests)
    pairs = zip(given, variables.sizes, strict=True)
    scores = [_scores(*argument, size) for argument, size in pairs]
    if evidence is not None:
        return trend_test(evidence, *scores)
    usual = all(np.array_equal(own, _scores("", None, own.size)) for own in scores)
    if tests.trend is None or not usual:
        raise _without_reports("leave out the scores")
    return tests.trend


def _scores(name: str, given: Any, size: int) -> Array:
    """Scores of the categories of a variable: those given, else 1, 2, 3, ..."""
    if given is None:
        return np.arange(1.0, size + 1.0)
    scores = numbers(name, given, f"must be {size} scores, one number a category", (size,))
    if not np.isfinite(scores).all() or np.ptp(scores) == 0.0:
        raise InvalidArgument(
            name, given, f"must be {size} finite scores that differ, such as 1, 2, 3"
        )
    return scores
