"""Tests of independence by name, from the evidence of an association model."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import one_of, replicates
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.inference.tables import independence as association
from ldpstats.inference.tables import permutation
from ldpstats.inference.tables import wald as tables
from ldpstats.inference.tables.permutation_moments import Cumulants, Spread, moments
from ldpstats.inference.tests import TestResult
from ldpstats.models.association.estimates import maximum
from ldpstats.models.association.evidence import Evidence, simulated
from ldpstats.models.association.pvalues import (
    BY_MOMENTS,
    SMALL,
    by_permutations,
    doubt,
    null_hypothesis,
    permutations,
    smallest_expected,
    two_way,
)
from ldpstats.models.association.score import score_test
from ldpstats.models.frequency.covariance import LARGEST_INFORMATION
from ldpstats.problems.covariance import Covariance
from ldpstats.sampling.words import simulation_words

__all__ = [
    "METHODS",
    "check_options",
    "likelihood_ratio_test",
    "test_independence",
    "wald_test",
]

Array = npt.NDArray[Any]

METHODS = ("score", "wald", "lr", "pearson", "bootstrap", "fpe16")
_SURVEYS = 199  # that a bootstrap simulates


def check_options(
    method: str, rng: np.random.Generator | None, n_permutations: int | None, n_boot: int | None
) -> str:
    """The name of the test, after a check that its options go with it."""
    method = one_of("method", method, METHODS)
    if rng is not None:
        simulation_words(rng)  # refuses what is no generator
    if n_permutations is not None and method not in ("score", "pearson"):
        raise InvalidArgument("n_permutations", n_permutations, "goes with 'score' or 'pearson'")
    if n_boot is not None and method != "bootstrap":
        raise InvalidArgument("n_boot", n_boot, "goes with 'bootstrap'")
    if rng is not None and method not in ("score", "pearson", "bootstrap"):
        raise InvalidArgument("rng", rng, "goes with 'score', 'pearson' or 'bootstrap'")
    if rng is None and (n_permutations is not None or method == "bootstrap"):
        raise InvalidArgument("rng", None, "pass a generator, np.random.default_rng(seed)")
    for name, value in (("n_permutations", n_permutations), ("n_boot", n_boot)):
        if value is not None:
            replicates(name, value)
    return method


def test_independence(
    evidence: Evidence,
    method: str,
    fitted: Array | None,
    on_boundary: bool,
    rng: np.random.Generator | None = None,
    n_permutations: int | None = None,
    n_boot: int | None = None,
    advance: Callable[[float], None] = lambda fraction: None,
) -> TestResult:
    """The test of this name, with checked options (see `AssociationResults.test_independence`)."""
    if method == "score":
        return score_test(evidence, rng, n_permutations, advance)
    if method == "lr":
        statistic = _likelihood_ratio(evidence, fitted)
        return likelihood_ratio_test(evidence.names, evidence.sizes, statistic, on_boundary)
    if method == "bootstrap" and rng is not None:
        n_boot = _SURVEYS if n_boot is None else int(n_boot)
        return _bootstrap(evidence, fitted, rng, n_boot, advance)
    two_way(evidence.sizes)
    if method == "pearson":
        return _pearson(evidence, rng, n_permutations, advance)
    return _fpe16(evidence, fitted) if method == "fpe16" else _wald(evidence)


def _chi_square(evidence: Evidence, statistic: float, df: int, method: str) -> TestResult:
    return TestResult.chi_square(null_hypothesis(evidence.names), statistic, df, method)


def _wald(evidence: Evidence) -> TestResult:
    """Over candidates on the dual estimate: the delta method of p - r c' fails for noisy totals."""
    _check_size(evidence.sizes)
    dual = evidence.dual_moments
    P = dual.estimate()[0].reshape(evidence.sizes)
    smallest, how = smallest_expected(evidence), "Wald test on the one-step joint estimate"
    return wald_test(evidence.names, P, dual.covariance(), smallest, how)


def _check_size(sizes: tuple[int, ...]) -> None:
    """Refuse a test of very many cells at once, whose covariance would have to be inverted."""
    n_cells = prod(sizes)
    if n_cells > LARGEST_INFORMATION:
        raise NotAvailable(
            f"a Wald test needs the covariance of {n_cells} cells: use method='score'"
        )


def wald_test(
    names: tuple[str, ...], P: Array, covariance: Covariance, smallest: float, method: str
) -> TestResult:
    """Wald's test of a two-way table P; `smallest` is its smallest expected count."""
    _check_size(P.shape)
    try:
        statistic, df = tables.wald_independence(P, covariance)
    except NotIdentified:
        raise NotAvailable(
            "a Wald test needs more reports: without noise, cells that were never reported leave "
            "directions without a variance; use method='score'"
        ) from None
    note = ""
    if smallest < SMALL:
        count = f"the smallest expected count is {smallest:.2g}"
        note = f"{count}: a Wald test rejects too often; use method='score'"
    return TestResult.chi_square(null_hypothesis(names), statistic, df, method, note)


def _pearson(
    evidence: Evidence,
    rng: np.random.Generator | None,
    n_permutations: int | None,
    advance: Callable[[float], None],
) -> TestResult:
    group = evidence.groups[0]
    if len(evidence.groups) > 1 or len(group.slices) > 1:
        raise NotAvailable(
            "Pearson's test needs one product channel for all respondents, not several groups or "
            "shared cohorts: use method='score', which allows for them"
        )
    if any(m.n_bits or m.n_cohorts for m in group.counts.mechanisms):
        raise NotAvailable(
            "Pearson's test needs reports that are labels of one list: use method='score', which "
            "is its form for bits and cohorts"
        )
    table = group.counts.table()
    statistic, df, note = association.pearson(table)
    null, method = null_hypothesis(evidence.names), "Pearson chi-square of the privatised table"
    smallest = association.smallest_expected(table)
    B = permutations(rng, n_permutations, smallest)
    if B and rng is not None:
        each = [np.eye(size) for size in table.shape]
        draws = permutation.permuted_table_scores([table], [each[0]], [each[1]], B, rng, advance)
        return by_permutations(null, statistic, df, draws, method, note)
    margins = [Spread.of_labels(table.sum(axis=axis)) for axis in (1, 0)]
    law = Cumulants.of_moments(*moments([margins[0], margins[1].scaled(group.nobs)]))
    p = max(law.pvalue(statistic), float(np.exp(permutation.log_probability(table))))
    how, note = f"{method}, {BY_MOMENTS}", "; ".join(filter(None, (note, doubt(smallest))))
    return TestResult(null, statistic, float(df), p, how, note)


# -- from the joint maximum of the likelihood --------------------------------------------------


def likelihood_ratio_test(
    names: tuple[str, ...], sizes: tuple[int, ...], statistic: float, on_boundary: bool
) -> TestResult:
    """The likelihood ratio test with this statistic."""
    note = ""
    if on_boundary:
        note = (
            "the joint estimate is on the boundary, where the test rejects too seldom and has "
            "little power: use method='score' or 'bootstrap'"
        )
    null = null_hypothesis(names)
    return TestResult.chi_square(null, statistic, _df(sizes), "likelihood ratio test", note)


def _df(sizes: tuple[int, ...]) -> int:
    return prod(sizes) - sum(k - 1 for k in sizes) - 1


def _likelihood_ratio(evidence: Evidence, fitted: Array | None = None) -> float:
    """Twice the log-likelihood that the joint maximum gains over that under independence."""
    likelihood = evidence.likelihood
    best = likelihood.loglike(maximum(evidence).p if fitted is None else fitted)
    return max(2.0 * (best - likelihood.loglike(evidence.null)), 0.0)


def _bootstrap(
    evidence: Evidence,
    fitted: Array | None,
    rng: np.random.Generator,
    n_boot: int,
    advance: Callable[[float], None],
) -> TestResult:
    statistic, null = _likelihood_ratio(evidence, fitted), evidence.null
    draws = np.empty(n_boot)
    for b in range(n_boot):
        draws[b] = _likelihood_ratio(simulated(evidence, null, rng))
        advance((b + 1) / n_boot)
    p = permutation.permutation_pvalue(statistic, draws)
    how = f"likelihood ratio, p-value by {n_boot} surveys simulated under independence"
    df = float(_df(evidence.sizes))
    return TestResult(null_hypothesis(evidence.names), statistic, df, p, how)


def _fpe16(evidence: Evidence, fitted: Array | None) -> TestResult:
    """The statistic of FPE16 III-D as printed, at the maximum likelihood estimate."""
    n_cells = prod(evidence.sizes)
    if n_cells > LARGEST_INFORMATION:
        raise NotAvailable(
            f"T of FPE16 needs the information matrix of {n_cells} cells: use method='score'"
        )
    p = maximum(evidence).p if fitted is None else fitted
    J = evidence.likelihood.information(p)
    statistic, df = tables.fpe16(p.reshape(evidence.sizes), J)
    return _chi_square(evidence, statistic, df, "statistic T of FPE16 III-D, as printed")
