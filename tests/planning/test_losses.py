"""Expected losses: against exact variances from the channel, and published numbers."""

import itertools

import numpy as np
import pytest

from ldpstats import planning

EPSILONS = (0.2, 1.0, 3.0, 8.0)

THETAS = (None, 0.5, 0.3, 0.9)


def unary(epsilon, theta):
    """P(bit = 1) of the respondent's own bit and of another, from MK19 section 2.4."""
    e = np.exp(epsilon)
    theta = np.sqrt(e) / (1 + np.sqrt(e)) if theta is None else theta
    return theta, theta / ((1 - theta) * e + theta)


def krr_channel(k, epsilon):
    """Q and the value that each report adds to the estimate, both written out by hand."""
    e = np.exp(epsilon)
    Q = (np.ones((k, k)) + (e - 1) * np.eye(k)) / (e + k - 1)
    return Q, np.linalg.inv(Q)


def krappor_channel(k, epsilon, theta):
    own, other = unary(epsilon, theta)
    patterns = np.array(list(itertools.product([0, 1], repeat=k)))
    set_probability = np.where(np.eye(k), own, other)[:, None, :]
    Q = np.where(patterns, set_probability, 1 - set_probability).prod(axis=2)
    return Q, (patterns - other) / (own - other)


def exact_variances(p, Q, estimate):
    """Variances, shape (k,), of one report's estimate; the estimate of n is their mean."""
    m = p @ Q
    np.testing.assert_allclose(m @ estimate, p, atol=1e-11)  # unbiased
    return m @ (estimate - p) ** 2


@pytest.mark.parametrize("p", [[0.5, 0.5], [1.0, 0.0, 0.0], [0.4, 0.3, 0.2, 0.1, 0.0]])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_losses_are_the_variances_of_the_channel(p, epsilon):
    p, n = np.array(p), 50
    variances = exact_variances(p, *krr_channel(p.size, epsilon))
    assert planning.krr_l2(p, epsilon, n) == pytest.approx(variances.sum() / n, rel=1e-9)
    mean_l1 = np.sqrt(2 * variances / (np.pi * n)).sum()
    assert planning.krr_l1(p, epsilon, n) == pytest.approx(mean_l1, rel=1e-9)
    for theta in THETAS:
        variances = exact_variances(p, *krappor_channel(p.size, epsilon, theta))
        l2, l1 = variances.sum() / n, np.sqrt(2 * variances / (np.pi * n)).sum()
        assert planning.krappor_l2(p, epsilon, n, theta) == pytest.approx(l2, rel=1e-9)
        assert planning.krappor_l1(p, epsilon, n, theta) == pytest.approx(l1, rel=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [2, 7, 300])
def test_losses_are_the_papers_formulas(k, epsilon):
    # KBR16 Propositions 3 and 4 and eqs. 8, 9, 12, 13, as printed
    n, e, s = 1000, np.exp(epsilon), np.exp(epsilon / 2)
    p = np.random.default_rng(k).dirichlet(np.ones(k))
    plain = (1 - (p**2).sum()) / n
    worst = (1 - 1 / k) / n
    worst_l1 = np.sqrt(2 * (k - 1) / (np.pi * n))
    expected = {
        "krr_l2": plain + (k - 1) / n * (k + 2 * (e - 1)) / (e - 1) ** 2,
        "krr_l1": np.sqrt(
            2 * ((e - 1) * p + 1) * ((e - 1) * (1 - p) + k - 1) / (np.pi * n * (e - 1) ** 2)
        ).sum(),
        "krappor_l2": plain + k * s / (n * (s - 1) ** 2),
        "krappor_l1": np.sqrt(
            2 * ((s - 1) * p + 1) * ((s - 1) * (1 - p) + 1) / (np.pi * n * (s - 1) ** 2)
        ).sum(),
    }
    expected_worst = {
        "krr_worst_l2": (1 + (k + 2 * (e - 1)) / (e - 1) ** 2 * k) * worst,
        "krr_worst_l1": (e + k - 1) / (e - 1) * worst_l1,
        "krappor_worst_l2": (1 + k**2 * s / ((k - 1) * (s - 1) ** 2)) * worst,
        "krappor_worst_l1": np.sqrt((s + k - 1) * (s * (k - 1) + 1) / ((s - 1) ** 2 * (k - 1)))
        * worst_l1,
    }
    for name, value in expected.items():
        assert getattr(planning, name)(p, epsilon, n) == pytest.approx(value, rel=1e-9), name
    for name, value in expected_worst.items():
        assert getattr(planning, name)(k, epsilon, n) == pytest.approx(value, rel=1e-9), name


def test_nonprivate_losses():
    p = np.array([0.7, 0.2, 0.1])
    assert planning.nonprivate_l2(p, 10) == pytest.approx((1 - 0.54) / 10)
    assert planning.nonprivate_l1(p, 10) == pytest.approx(
        sum(np.sqrt(2 * x * (1 - x) / (10 * np.pi)) for x in p)
    )
    assert planning.nonprivate_worst_l2(3, 10) == pytest.approx((2 / 3) / 10)
    assert planning.nonprivate_worst_l1(3, 10) == pytest.approx(np.sqrt(4 / (10 * np.pi)))
    assert planning.nonprivate_minimax_l2(3, 16) == pytest.approx((2 / 3) / 25)


# 162 comparisons; under the formulas, all stay within this with probability 0.999
# --- worst cases ------------------------------------------------------------------------------
def losses_at(p, epsilon, theta):
    return {
        "krr_worst_l2": planning.krr_l2(p, epsilon, 100),
        "krr_worst_l1": planning.krr_l1(p, epsilon, 100),
        "krappor_worst_l2": planning.krappor_l2(p, epsilon, 100, theta),
        "krappor_worst_l1": planning.krappor_l1(p, epsilon, 100, theta),
    }


def worst(name, k, epsilon, theta):
    more = (theta,) if "krappor" in name else ()
    return getattr(planning, name)(k, epsilon, 100, *more)


@pytest.mark.parametrize("k", [2, 8])
@pytest.mark.parametrize(("epsilon", "theta"), [(0.3, None), (2.0, 0.3), (6.0, 0.9)])
def test_no_distribution_is_worse_than_the_uniform(k, epsilon, theta):
    rng = np.random.default_rng(5)
    draws = [rng.dirichlet(np.full(k, a)) for a in (0.1, 0.5, 1.0, 5.0) for _ in range(25)]
    for name, value in losses_at(np.full(k, 1 / k), epsilon, theta).items():
        bound = worst(name, k, epsilon, theta)
        assert value == pytest.approx(bound, rel=1e-12)
        assert max(losses_at(p, epsilon, theta)[name] for p in draws) < bound


# --- effective sample size, crossover, Proposition 5 --------------------------------------------
@pytest.mark.parametrize("mechanism", ["krr", "krappor"])
@pytest.mark.parametrize("k", [2, 30])
def test_both_losses_lead_to_one_effective_sample_size(mechanism, k):
    for epsilon in EPSILONS:
        size = planning.effective_sample_size(mechanism, k, epsilon, 10_000)
        private_l1 = getattr(planning, f"{mechanism}_worst_l1")(k, epsilon, 10_000)
        # the size at which the non-private loss is as large
        ratio = (planning.nonprivate_worst_l1(k, 10_000) / private_l1) ** 2
        assert size == pytest.approx(10_000 * ratio, rel=1e-9)
        assert size < 10_000


def test_effective_sample_sizes_approach_the_papers_forms():
    n, k = 10**6, 10**5
    for mechanism in ("krr", "krappor"):
        exact = planning.effective_sample_size(mechanism, k, 1e-3, n)
        form = planning.effective_sample_size_high_privacy(mechanism, k, 1e-3, n)
        assert exact == pytest.approx(form, rel=2e-3)
        exact = planning.effective_sample_size(mechanism, k, np.log(k), n)
        form = planning.effective_sample_size_low_privacy(mechanism, k, n)
        assert exact == pytest.approx(form, rel=1e-2)


def test_krr_keeps_a_ninth_of_the_sample_above_ln_k():
    kept = [planning.effective_sample_size("krr", k, np.log(k), 1) for k in range(2, 400)]
    assert min(kept) == pytest.approx(1 / 9)
    assert kept == sorted(kept) and kept[-1] < 1 / 4


def test_crossover_epsilon_published_values():
    found = [round(planning.crossover_epsilon(k), 2) for k in (8, 16, 64, 256, 1024)]
    assert found == [0.78, 1.56, 2.69, 3.67, 4.61]


def test_crossover_epsilon_is_where_the_losses_cross():
    for k in (6, 7, 8, 50, 1000, 10**6):
        cross = planning.crossover_epsilon(k)
        assert planning.excess_ratio(k, cross) == pytest.approx(1, rel=1e-9)
    p = np.random.default_rng(3).dirichlet(np.ones(50))
    cross = planning.crossover_epsilon(50)
    for factor, better in ((0.99, "krappor"), (1.01, "krr")):
        l2 = {
            "krr": planning.krr_l2(p, factor * cross, 100),
            "krappor": planning.krappor_l2(p, factor * cross, 100),
        }
        assert min(l2, key=l2.__getitem__) == better
    # the worst-case l1 losses cross there too
    l1 = (planning.krr_worst_l1(50, cross, 100), planning.krappor_worst_l1(50, cross, 100))
    assert l1[0] == pytest.approx(l1[1], rel=1e-9)


def test_krr_is_never_worse_up_to_five_categories():
    for k in range(2, 6):
        assert planning.crossover_epsilon(k) == 0.0
        assert np.all(planning.excess_ratio(k, np.geomspace(1e-4, 20, 200)) >= 1)
    assert planning.excess_ratio(6, 1e-4) < 1 and planning.crossover_epsilon(6) > 0


def test_proposition_5_and_the_constants_of_its_proof():
    ks = np.arange(3, 3000)
    at_ln_k = np.array([planning.excess_ratio(k, np.log(k)) for k in range(2, 3000)])
    assert np.argmin(at_ln_k) + 2 == 8 and round(at_ln_k.min(), 4) == 2.1536
    assert round(at_ln_k[7 - 2], 4) == 2.1593  # printed as 3.1559
    at_half = np.array([planning.excess_ratio(int(k), np.log(k / 2)) for k in ks])
    assert ks[np.argmin(at_half)] == 11 and round(at_half.min(), 3) == 1.443
    assert all(planning.crossover_epsilon(int(k)) < np.log(k / 2) for k in ks)
    # and the ratio increases with epsilon
    for k in (2, 7, 100):
        assert np.all(np.diff(planning.excess_ratio(k, np.linspace(0.01, 30, 500))) > 0)


# --- arrays and arguments -----------------------------------------------------------------------
def test_epsilon_and_n_broadcast():
    p = [0.2, 0.3, 0.5]
    epsilon, n = np.array([[0.5], [1.0]]), np.array([10, 100, 1000])
    for loss in (planning.krr_l2, planning.krr_l1, planning.krappor_l2, planning.krappor_l1):
        grid = loss(p, epsilon, n)
        assert grid.shape == (2, 3)
        for i, j in np.ndindex(2, 3):
            assert grid[i, j] == pytest.approx(loss(p, epsilon[i, 0], int(n[j])), rel=1e-14)
    assert planning.effective_sample_size("krr", 4, epsilon, n).shape == (2, 3)
    assert isinstance(planning.krr_l2(p, 1.0, 10), float)


def test_large_epsilon_is_no_privacy():
    p = [0.6, 0.4, 0.0]
    for loss in (planning.krr_l2, planning.krappor_l2):
        assert loss(p, 50.0, 10) == pytest.approx(planning.nonprivate_l2(p, 10), rel=1e-9)
    # nothing is lost to rounding where the loss is far below machine precision
    assert planning.krr_l2([1.0, 0.0, 0.0], 50.0, 1) == pytest.approx(4 * np.exp(-50.0), rel=1e-9)


# MK19's Theorem 1: the bound on the error of personalised mechanisms.


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
