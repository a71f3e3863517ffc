"""Worst distributions of uRR and uRAP, by numerical search and as the papers state them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from ldpstats import planning

URR = {"l1": planning.urr_l1, "l2": planning.urr_l2}
URAP = {"l1": planning.urap_l1, "l2": planning.urap_l2}
WORST = {
    ("urr", "l1"): planning.urr_worst_l1,
    ("urr", "l2"): planning.urr_worst_l2,
    ("urap", "l1"): planning.urap_worst_l1,
    ("urap", "l2"): planning.urap_worst_l2,
}


def root(n):
    return np.sqrt(2 / (np.pi * n))


def loss_of(mechanism, loss):
    return {"urr": URR, "urap": URAP}[mechanism][loss]


MIXES = [(5, 1), (5, 4)]  # more other than sensitive categories, and fewer
VARIANTS = [("urr", None), ("urap", None), ("urap", 0.85)]


def more(theta):
    return () if theta is None else (theta,)


def worst_distribution(mechanism, k, S, epsilon, loss, theta):
    if mechanism == "urr":
        return planning.urr_worst_distribution(k, S, epsilon)
    return planning.urap_worst_distribution(k, S, epsilon, loss, theta)


@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize(("mechanism", "theta"), VARIANTS)
@pytest.mark.parametrize(("k", "S"), MIXES)
def test_a_numerical_search_ends_at_the_worst_distribution(k, S, mechanism, theta, loss):
    rng = np.random.default_rng([k, S])
    for epsilon in (0.4, 3.5):
        p = worst_distribution(mechanism, k, S, epsilon, loss, theta)
        bound = WORST[mechanism, loss](k, S, epsilon, 1, *more(theta))

        def value(q, epsilon=epsilon):
            q = np.clip(q, 0, 1) / np.clip(q, 0, 1).sum()  # the solver leaves it by rounding
            return loss_of(mechanism, loss)(q, range(S), epsilon, 1, *more(theta))

        assert p.shape == (k,) and p.sum() == pytest.approx(1, abs=1e-14)
        assert value(p) == pytest.approx(bound, rel=1e-12)
        best = 0.0
        for _ in range(2):
            found = optimize.minimize(
                lambda q, value=value: -value(q),
                rng.dirichlet(np.ones(k)),
                method="SLSQP",
                bounds=[(0, 1)] * k,
                constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
                options={"ftol": 1e-12, "maxiter": 500},
            )
            assert -found.fun <= bound * (1 + 1e-9)
            if -found.fun > best:
                best, where = -found.fun, found.x
        assert best == pytest.approx(bound, rel=1e-6)
        np.testing.assert_allclose(where, p, atol=5e-3)  # the top is flat
        spread = rng.dirichlet(np.full(k, 0.7), size=100)
        assert max(value(q) for q in spread) < bound


@pytest.mark.parametrize(("k", "S"), [(20, 4), (20, 15), (400, 76)])
def test_worst_cases_are_the_papers(k, S):
    N, n = k - S, 1000
    for factor in (0.2, 0.9, 1.0, 1.1, 1.5):
        epsilon = factor * np.log(N + 1)
        e, u = np.exp(epsilon), np.exp(epsilon) - 1
        if factor <= 1:
            p = np.r_[np.zeros(S), np.full(N, 1 / N)]
            l1 = S * np.sqrt(S + e - 2) / u + np.sqrt(S * N / u + N - 1)  # eq. 12
            l2 = S * (S + 2 * e - 3) / u**2 + 1 - 1 / N  # Proposition 16
        else:
            p = np.r_[np.full(S, (1 - N / u) / k), np.full(N, (1 + S / u) / k)]  # eq. 13
            l1 = np.sqrt(k - 1) * (S + u) / u  # eq. 14
            l2 = ((S + u) / u) ** 2 * (1 - 1 / k)  # Proposition 17
        np.testing.assert_allclose(planning.urr_worst_distribution(k, S, epsilon), p, atol=1e-14)
        assert planning.urr_worst_l1(k, S, epsilon, n) == pytest.approx(root(n) * l1, rel=1e-9)
        assert planning.urr_worst_l2(k, S, epsilon, n) == pytest.approx(l2 / n, rel=1e-9)
    for factor in (0.05, 0.5, 0.999):
        epsilon = factor * 2 * np.log(N / 2 + 1)
        s = np.exp(epsilon / 2)
        l1 = np.sqrt(s) * S / (s - 1) + np.sqrt(s * N / (s - 1) - 1)  # eq. 17
        l2 = 1 + ((S + 1) * s - 1) / (s - 1) ** 2 - 1 / N  # Proposition 19
        assert planning.urap_worst_l1(k, S, epsilon, n) == pytest.approx(root(n) * l1, rel=1e-9)
        assert planning.urap_worst_l2(k, S, epsilon, n) == pytest.approx(l2 / n, rel=1e-9)
