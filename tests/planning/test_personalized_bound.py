"""MK19's Theorem 1: the bound on the error of personalised mechanisms."""

from __future__ import annotations

import numpy as np
import pytest

from ldpstats import planning


def estimate_and_truth(k, r_hat, r, pi_hat, pi):
    """eq. 21 and eq. 55."""
    return r_hat[:k] + r_hat[k:] @ pi_hat, r[:k] + r[k:] @ pi


def test_theorem_1_holds_with_negative_estimates():
    rng = np.random.default_rng(8)
    violated = 0
    for _ in range(500):
        k, kappa = int(rng.integers(2, 8)), int(rng.integers(1, 4))
        r = rng.dirichlet(np.ones(k + kappa))
        r_hat = r + rng.normal(size=k + kappa) * rng.choice([0.01, 0.2])
        pi, pi_hat = rng.dirichlet(np.ones(k), size=(2, kappa))
        p_hat, p = estimate_and_truth(k, r_hat, r, pi_hat, pi)
        lost, bound = np.abs(p_hat - p).sum(), planning.personalized_bound(r_hat, r, pi_hat, pi)
        assert lost <= bound.total + 1e-12
        assert bound.second <= bound.worst_second + 1e-12
        assert bound.worst_second == pytest.approx(2 * np.abs(r_hat[k:]).sum())
        as_printed = bound.first + r_hat[k:] @ np.abs(pi_hat - pi).sum(axis=1)
        violated += lost > as_printed + 1e-12
    assert violated > 0


def test_worst_second_term_is_reached_also_by_backgrounds_with_negative_entries():
    r = np.array([0.4, 0.3, 0.1, 0.2])
    pi_hat = np.array([[1.2, -0.2, 0.0]])  # in proportion to an estimate
    bound = planning.personalized_bound(r, r, pi_hat, [[0.0, 0.0, 1.0]])
    assert bound.first == 0 and bound.second == pytest.approx(bound.worst_second)
    assert bound.worst_second == pytest.approx(0.2 * 2.4)
    no_tags = planning.personalized_bound(
        [0.6, 0.4], [0.5, 0.5], np.zeros((0, 2)), np.zeros((0, 2))
    )
    assert no_tags.total == pytest.approx(0.2) and no_tags.worst_second == 0
