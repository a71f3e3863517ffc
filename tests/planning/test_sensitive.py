"""Losses of uRR and uRAP: MK19's formulas, worst distributions, the best theta."""

import numpy as np
import pytest
from scipy import optimize

import ldpstats as ldp
from ldpstats import planning

EPSILONS = (0.3, 1.0, 3.0, 8.0)
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


# --- the formulas ---------------------------------------------------------------------------------


def printed(p, S, epsilon, n):
    """MK19 Propositions 4, 15, 7 and 18 as printed, sensitive categories first."""
    e, s = np.exp(epsilon), np.exp(epsilon / 2)
    u, v, vN = e - 1, (S + e - 1) / (e - 1), s / (s - 1)
    a, b, squares = p[:S], p[S:], (p**2).sum()
    return {
        ("urr", "l1"): root(n)
        * (np.sqrt((a + 1 / u) * (v - a - 1 / u)).sum() + np.sqrt(b * (v - b)).sum()),
        ("urr", "l2"): (2 * u * (S - a.sum()) + S * (S - 1)) / (n * u**2) + (1 - squares) / n,
        ("urap", "l1"): root(n)
        * (np.sqrt((a + 1 / (s - 1)) * (vN - a)).sum() + np.sqrt(b * (vN - b)).sum()),
        ("urap", "l2"): (1 + ((S + 1) * s - 1) / (s - 1) ** 2 - a.sum() / (s - 1) - squares) / n,
    }


def loss_of(mechanism, loss):
    return {"urr": URR, "urap": URAP}[mechanism][loss]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("k", "S"), [(2, 1), (7, 2), (7, 5), (400, 76)])
def test_losses_are_the_papers_formulas(k, S, epsilon):
    p = np.random.default_rng(k).dirichlet(np.ones(k))
    for (mechanism, loss), value in printed(p, S, epsilon, 1000).items():
        found = loss_of(mechanism, loss)(p, range(S), epsilon, 1000)
        assert found == pytest.approx(value, rel=1e-10), (mechanism, loss)


@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_losses_are_those_of_the_mechanisms(loss, epsilon):
    p = np.array([0.35, 0.05, 0.2, 0.0, 0.3, 0.1])
    n = 500
    for sensitive in ([], [4], [1, 3, 4], [0, 1, 2, 3, 4, 5]):
        mechanism = ldp.URR(6, sensitive, epsilon)
        value = planning.expected_loss(mechanism, p, n, loss=loss)
        assert URR[loss](p, sensitive, epsilon, n) == pytest.approx(value, rel=1e-9)
        for theta in (None, 0.4, 0.7):
            mechanism = ldp.URAP(6, sensitive, epsilon, theta)
            value = planning.expected_loss(mechanism, p, n, loss=loss)
            assert URAP[loss](p, sensitive, epsilon, n, theta) == pytest.approx(value, rel=1e-9)
    levels = {4: epsilon, 1: 2 * epsilon, 3: 0.2}
    value = planning.expected_loss(ldp.URR(6, epsilon=levels), p, n, loss=loss)
    assert URR[loss](p, [1, 3, 4], levels, n) == pytest.approx(value, rel=1e-9)


def test_positions_masks_and_order():
    p = np.array([0.1, 0.2, 0.3, 0.4])
    mask = np.array([False, True, False, True])
    for loss in (*URR.values(), *URAP.values()):
        value = loss(p, [1, 3], 1.0, 10)
        for same in ((3, 1), {1, 3}, mask, mask.tolist(), np.array([3, 1], dtype=np.uint8)):
            assert loss(p, same, 1.0, 10) == value
        order = [3, 2, 0, 1]
        moved = loss(p[order], mask[order], 1.0, 10)
        assert moved == pytest.approx(value, rel=1e-14)


# --- regimes and lower bounds ---------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["l1", "l2"])
@pytest.mark.parametrize("mechanism", ["urr", "urap"])
def test_high_privacy_forms_are_limits(mechanism, loss):
    n = 1000
    for k, S in ((100, 10), (50, 40), (8, 8)):
        # what is left out of the l1 loss is of order sqrt(epsilon)
        for epsilon, tolerance in ((1e-2, 0.1), (1e-4, 0.011), (1e-6, 0.0011)):
            exact = WORST[mechanism, loss](k, S, epsilon, n)
            form = planning.uldp_high_privacy_loss(mechanism, S, epsilon, n, loss)
            assert exact == pytest.approx(form, rel=tolerance)
    S, epsilon = 10, 0.01
    expected = {
        ("urr", "l1"): root(n) * S * np.sqrt(S - 1) / epsilon,  # eq. 15
        ("urap", "l1"): root(n) * 2 * S / epsilon,  # eq. 18
        ("urr", "l2"): S * (S - 1) / (n * epsilon**2),  # Table 4
        ("urap", "l2"): 4 * S / (n * epsilon**2),
    }[mechanism, loss]
    form = planning.uldp_high_privacy_loss(mechanism, S, epsilon, n, loss)
    assert form == pytest.approx(expected, rel=1e-12)


def test_table_4_has_a_factor_too_many_for_rappor():
    k, epsilon = 4, 1e-4
    exact = planning.krappor_worst_l2(k, epsilon, 1)
    assert exact == pytest.approx(4 * k / epsilon**2, rel=1e-3)
    assert exact != pytest.approx(4 * k / epsilon**2 * (1 - 1 / k), rel=0.2)


def test_low_privacy_forms():
    n = 1000
    for k, S in ((10, 1), (100, 10), (50, 50)):  # exact for uRR, all sensitive or few
        for loss in ("l1", "l2"):
            exact = WORST["urr", loss](k, S, np.log(k), n)
            form = planning.uldp_low_privacy_loss("urr", k, S, n, loss)
            assert form == pytest.approx(exact, rel=1e-12)
    for k, S in ((10**4, 20), (10**6, 100)):
        epsilon, plain = np.log(k), root(n) * np.sqrt(k - 1)
        l1 = planning.uldp_low_privacy_loss("urap", k, S, n)
        assert l1 == pytest.approx(plain * (1 + S / k**0.75), rel=1e-12)  # eq. 44
        l2 = planning.uldp_low_privacy_loss("urap", k, S, n, "l2")
        assert l2 == pytest.approx((1 + (S + 1) / np.sqrt(k)) / n, rel=1e-12)  # eq. 50
        assert l1 == pytest.approx(planning.urap_worst_l1(k, S, epsilon, n), rel=0.01)
        assert l2 == pytest.approx(planning.urap_worst_l2(k, S, epsilon, n), rel=0.01)


def test_lower_bound_has_the_minima_of_proposition_1():
    """KBR16: c min{1, 1 / sqrt(m), k / m} and c min{1, k / sqrt(m)} with m = n epsilon^2."""
    for S, n, l1, l2 in (
        (10, 4, 1.0, 1.0),  # m = 1: no report helps
        (10, 400, 1.0, 0.1),  # 1 / sqrt(m)
        (10, 40_000, 0.1, 1e-3),  # S / m
        (2, 100, 0.4, 0.08),
    ):
        assert planning.uldp_lower_bound(S, 0.5, n) == pytest.approx(l1)
        assert planning.uldp_lower_bound(S, 0.5, n, "l2") == pytest.approx(l2)
    assert planning.uldp_lower_bound(1000, 1e-6, 1) == 1.0
    # the bound is of the worst case, and an estimate that ignores the reports has at most 2
    assert planning.uldp_lower_bound(1000, [1e-6, 0.1, 1.0], 10**9, "l2").max() <= 1.0


# --- arrays and arguments -------------------------------------------------------------------------


def test_epsilon_and_n_broadcast():
    p, epsilon, n = [0.2, 0.3, 0.5], np.array([[0.5], [1.0]]), np.array([10, 100, 1000])
    for sensitive in ([], [1], [0, 1, 2]):
        for loss in (*URR.values(), *URAP.values()):
            grid = loss(p, sensitive, epsilon, n)
            assert grid.shape == (2, 3)
            for i, j in np.ndindex(2, 3):
                one = loss(p, sensitive, epsilon[i, 0], int(n[j]))
                assert isinstance(one, float) and grid[i, j] == pytest.approx(one, rel=1e-13)
    for S in (0, 1, 2, 3):
        for call in WORST.values():
            grid = call(3, S, epsilon, n)
            assert grid.shape == (2, 3)
            assert grid[1, 2] == pytest.approx(call(3, S, 1.0, 1000), rel=1e-13)
        assert planning.urr_worst_distribution(3, S, epsilon).shape == (2, 1, 3)
        assert planning.urap_worst_distribution(3, S, epsilon).shape == (2, 1, 3)
    assert planning.uldp_lower_bound(3, epsilon, n).shape == (2, 3)
    assert planning.uldp_high_privacy_loss("urr", 3, epsilon, n).shape == (2, 3)
    assert planning.urr_l2(p, [0], {0: 1.0}, n).shape == (3,)


# -- sensitive worst -------------------------------------------------------------------------------


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


# -- best theta ------------------------------------------------------------------------------------


WORST_OF_URAP = {"l1": planning.urap_worst_l1, "l2": planning.urap_worst_l2}


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
            losses = [WORST_OF_URAP[loss](k, S, epsilon, 1, t) for t in thetas]
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
