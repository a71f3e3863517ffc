"""The theta of URAP with the least worst-case loss."""

from __future__ import annotations

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats import planning

URAP = {"l1": planning.urap_l1, "l2": planning.urap_l2}
WORST = {"l1": planning.urap_worst_l1, "l2": planning.urap_worst_l2}


def closed_form(S, epsilon, p):
    e = np.exp(epsilon)
    return 1 / (1 + np.sqrt((S - (1 - 1 / e) * p[:S].sum()) / (S + e - 1)))


def test_best_theta_of_the_l2_loss_has_a_closed_form():
    rng = np.random.default_rng(4)
    for _ in range(60):
        k = int(rng.integers(2, 40))
        S, epsilon, p = int(rng.integers(1, k + 1)), rng.uniform(0.01, 12), rng.dirichlet([0.5] * k)
        theta = planning.best_theta(k, S, epsilon, p).theta
        # a search by values finds the place to about the root of their precision
        assert theta == pytest.approx(closed_form(S, epsilon, p), abs=1e-7)


@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize(("k", "S", "epsilon"), [(2, 1, 0.1), (10, 9, 6.0), (300, 5, 1.0)])
def test_no_theta_of_a_fine_grid_is_better(k, S, epsilon, loss):
    rng = np.random.default_rng(k)
    logits = np.linspace(-3, 2 * epsilon + np.log(k) + 2, 81)
    thetas = 1 / (1 + np.exp(-logits))
    for p in (None, rng.dirichlet(np.full(k, 0.4)), np.eye(k)[-1]):
        if p is None:
            losses = [WORST[loss](k, S, epsilon, 1, t) for t in thetas]
        else:
            losses = [URAP[loss](p, range(S), epsilon, 1, t) for t in thetas]
        losses = np.array(losses)
        # convex in the logit, up to rounding, so that there is one minimum
        assert np.diff(losses, 2).min() > -1e-10 * losses.max()
        found = planning.best_theta(k, S, epsilon, p, loss)
        assert found.loss <= losses.min() * (1 + 1e-12)
        assert found.loss == pytest.approx(losses.min(), rel=2e-2)
        at = logits[np.argmin(losses)]
        assert abs(np.log(found.theta / (1 - found.theta)) - at) <= 2 * (logits[1] - logits[0])
        assert found.default_theta == pytest.approx(1 / (1 + np.exp(-epsilon / 2)))
        assert found.gain >= 1 - 1e-12 and float(found) == found.theta


def test_best_theta_is_that_of_optimised_unary_encoding_when_all_is_sensitive():
    # Wang et al. 2017: 1/2 minimises what does not depend on p, which is all for rare categories
    for loss in ("l1", "l2"):
        found = [planning.best_theta(k, k, 1.0, loss=loss).theta for k in (10, 100, 1000, 10**4)]
        assert found == sorted(found, reverse=True)
        assert found[-1] == pytest.approx(0.5, abs=1e-4)
    assert planning.best_theta(10**4, 10**4, 1.0, np.full(10**4, 1e-4)).theta == pytest.approx(
        0.5, abs=1e-4
    )


def test_best_theta_of_extreme_epsilon():
    for epsilon in (1e-6, 50.0):
        for p in (None, np.eye(5)[0], np.eye(5)[4]):
            for loss in ("l1", "l2"):
                found = planning.best_theta(5, 1, epsilon, p, loss)
                assert 0 < found.theta < 1 and np.isfinite(found.loss)
                ldp.URAP(5, {0}, epsilon, found.theta)
