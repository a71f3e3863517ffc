"""Intervals that fit again and again: what the refits find, and the surveys they are of."""

from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.estimators import MLE
from ldpstats.estimators.likelihood import model_of_refits, refitted
from ldpstats.estimators.solvers import observed
from ldpstats.models.frequency import model as refits
from ldpstats.models.frequency.model import _surveys

WORDS = ("a", "b", "c", "d", "e", "f")
TRUTH = np.array([0.4, 0.3, 0.2, 0.1, 0.0, 0.0])
BLOOM = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=4, f=0.0, p=0.25, q=0.75)
MECHANISMS: dict[str, tuple[Any, Any]] = {
    "bits": (ldp.KRAPPOR(WORDS, 2.0), None),
    "hashed bits": (BLOOM, WORDS),
    "hashed labels": (ldp.ORR(4, n_cohorts=8, epsilon=2.0), WORDS),
}


@pytest.mark.parametrize("kind", MECHANISMS)
def test_a_shared_hessian_leaves_the_maximum_where_it_is(kind):
    mechanism, candidates = MECHANISMS[kind]
    rng = np.random.default_rng(1)
    first, second = (
        ldp.FrequencyModel(
            mechanism.privatize(rng.choice(WORDS, 3000, p=TRUTH), rng), candidates=candidates
        )
        for _ in range(2)
    )
    results = first.fit("mle")
    model = model_of_refits(*observed(first.likelihood()), results.params.to_numpy())
    W, n = observed(second.likelihood())
    found, wanted = (
        refitted(W, n, results.params.to_numpy(), model),
        MLE().solve(second.likelihood()),
    )
    assert model is not None and found.message.startswith("Newton with the Hessian of other")
    assert found.converged and 3000 * found.gap <= 1e-3
    # the next step is below 1e-3 standard errors, in the metric of the Hessian
    apart = found.p - wanted.p
    assert np.sqrt(3000 * apart @ model.times(apart)) < 1e-3


def drawn(kind: str, seed: int, n: int, n_boot: int) -> list[Any]:
    """Simulated surveys of n respondents."""
    mechanism, candidates = MECHANISMS[kind]
    reports = mechanism.privatize([WORDS[0]] * n, np.random.default_rng(0))
    rng = np.random.default_rng(seed)
    return list(_surveys(reports.tally(), candidates, TRUTH, rng, n_boot))


@pytest.mark.parametrize(("kind", "together"), [("bits", 1), ("hashed bits", 1 << 14)])
def test_surveys_drawn_together_are_as_many_as_asked_for(kind, together, monkeypatch):
    monkeypatch.setattr(refits, "_TOGETHER", together)
    first, again = drawn(kind, 3, 200, 7), drawn(kind, 3, 200, 7)
    assert [counts.nobs for counts in first] == [200] * 7
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.y, other.y)
        np.testing.assert_array_equal(one.n, other.n)
    assert not all(np.array_equal(counts.n, first[0].n) for counts in first[1:])


def test_surveys_drawn_together_have_the_law_of_those_drawn_alone():
    """Sums of bits: their means and covariances over surveys, and none between surveys."""
    n, n_boot = 400, 1500
    ones = np.array([counts.bit_counts().ones[0] for counts in drawn("bits", 4, n, n_boot)])
    p1, p0 = MECHANISMS["bits"][0].p1, MECHANISMS["bits"][0].p0
    law = p0 + (p1 - p0) * TRUTH
    V = n * (np.diag(law * (1.0 - law)) + (p1 - p0) ** 2 * _off_diagonal(-np.outer(TRUTH, TRUTH)))
    sd = np.sqrt(np.diag(V))
    z = (ones.mean(axis=0) - n * law) / (sd / np.sqrt(n_boot))
    assert np.abs(z).max() < 4.5  # six normal numbers exceed it once in 20,000 times
    standard = (ones - n * law) / sd
    error = 1.0 / np.sqrt(n_boot)  # of a correlation; the variances' is root two of it
    found = standard.T @ standard / n_boot
    assert np.abs(found - V / np.outer(sd, sd)).max() < 4.5 * np.sqrt(2.0) * error
    assert np.abs(standard[1:].T @ standard[:-1] / n_boot).max() < 4.5 * error


def _off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return np.asarray(matrix - np.diag(np.diag(matrix)))
