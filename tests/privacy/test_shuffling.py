"""Amplification by shuffling against exact enumeration and published numbers."""

from itertools import combinations_with_replacement, permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ldpstats as ldp
from ldpstats import privacy
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.privacy.shuffling import (
    ReportLaws,
    TwoReports,
    clones,
    epsilon_bounds,
    hoeffding_delta,
    positive_part_bound,
    shuffled_pairs,
)


def multisets(Q: npt.NDArray[Any], answers: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Probability of each multiset of reports (numbers by kind) of respondents with answers."""
    law = {(0,) * Q.shape[1]: 1.0}
    for x in answers:
        grown: dict[tuple[int, ...], float] = {}
        for counts, chance in law.items():
            for y in range(Q.shape[1]):
                key = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                grown[key] = grown.get(key, 0.0) + chance * Q[x, y]
        law = grown
    return law


def worst_delta(Q: npt.NDArray[Any], n: int, epsilons: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The largest hockey-stick divergence of all neighbouring data sets, at each epsilon."""
    worst = np.zeros(len(epsilons))
    for others in combinations_with_replacement(range(len(Q)), n - 1):
        laws = []
        for x in range(len(Q)):
            law = multisets(Q, (x, *others))
            laws.append(np.array([law[key] for key in sorted(law)]))
        for x, other in permutations(range(len(Q)), 2):
            gaps = laws[x] - np.exp(epsilons)[:, None] * laws[other]
            worst = np.maximum(worst, np.maximum(gaps, 0.0).sum(axis=1))
    return worst


EPSILONS = np.array([0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.7, 1.0, 1.4, 1.9])


def random_channel(seed: int, k: int, l: int) -> np.ndarray:  # noqa: E741
    Q = np.random.default_rng(seed).dirichlet(np.full(l, 3.0), size=k) + 0.05
    return Q / Q.sum(axis=1, keepdims=True)


SUBSETS = np.array([[2, 2, 2, 1, 1, 1], [2, 1, 1, 2, 2, 1], [1, 2, 1, 2, 1, 2], [1, 1, 2, 1, 2, 2]])

SMALL = {
    "krr 2": (ldp.KRR(2, 1.0), 6),
    "krr 3": (ldp.KRR(3, 0.5), 6),
    "krr 4": (ldp.KRR(4, 2.0), 4),
    "krr 5": (ldp.KRR(5, 0.5), 3),
    "warner": (ldp.Warner(epsilon=0.7), 5),
    "skewed coin": ([[0.9, 0.1], [0.5, 0.5]], 6),
    "three coins": ([[0.9, 0.1], [0.5, 0.5], [0.7, 0.3]], 4),
    "unary": (ldp.KRAPPOR(2, 1.5), 4),
    "unary 3": (ldp.KRAPPOR(3, 1.0), 3),
    "optimised unary": (ldp.KRAPPOR(3, 1.5, theta=0.5), 3),
    "random 2 x 3": (random_channel(1, 2, 3), 6),
    "random 3 x 4": (random_channel(2, 3, 4), 4),
    "random 4 x 2": (random_channel(3, 4, 2), 4),
    "random 4 x 5": (random_channel(4, 4, 5), 3),
    "subsets": (SUBSETS / 9.0, 3),
}


@pytest.mark.parametrize("name", SMALL)
def test_bounds_hold_for_all_data_sets(name):
    mechanism, most = SMALL[name]
    Q = mechanism.channel().matrix() if isinstance(mechanism, ldp.Mechanism) else mechanism
    for n in range(1, most + 1):
        exact = worst_delta(np.asarray(Q), n, EPSILONS)
        shuffled = privacy.amplification(mechanism, n, 1e-3)
        bound = np.array([shuffled.delta_at(epsilon) for epsilon in EPSILONS])
        assert np.all(bound >= exact - 1e-14)
        own = worst_delta(np.asarray(Q), n, np.array([shuffled.epsilon]))[0]
        assert own <= 1e-3 + 1e-14
        if not np.isnan(shuffled.lower) and shuffled.lower > 0.0:
            assert worst_delta(np.asarray(Q), n, np.array([shuffled.lower]))[0] >= 1e-3 - 1e-12
        if np.shape(Q)[1] == 2:  # the number of ones is all there is
            assert bound == pytest.approx(exact, abs=1e-9)


def test_the_published_variation_ratio_formula_is_no_bound():
    """The negative control: enumeration finds that a formula that is in use claims too much."""
    p, b = np.exp(0.5), 1.0 / (np.exp(0.5) + 2.0)
    first, second = np.array([p * b, b, b]), np.array([b, p * b, b])
    claimed = ReportLaws(np.array([b, b, 1.0 - 2.0 * b]), first, second).delta(0.3, 2, 1e-3)
    exact = worst_delta(ldp.KRR(3, 0.5).channel().matrix(), 2, np.array([0.3]))[0]
    assert claimed == pytest.approx(0.03318, abs=1e-5)
    assert exact == pytest.approx(0.03701, abs=1e-5)
    assert privacy.amplification(ldp.KRR(3, 0.5), 2, 1e-3).delta_at(0.3) >= exact


def test_clones_against_the_authors_program():
    """README of apple/ml-shuffling-amplification: n = 1e5, epsilon 4, delta 1e-6."""
    found = epsilon_bounds(shuffled_pairs(ldp.KRR(2, 4.0)), 10**5, 1e-6)
    assert 0.1675385583317841 <= found["clones"] <= 0.172790550755978
    assert found["clones, closed form"] == pytest.approx(0.5378040242374512, rel=1e-12)


@pytest.mark.parametrize(
    ("k", "epsilon", "delta"),
    [
        (2, 0.005, 0.005642546362741425),
        (100, 0.005, 0.007445148952583604),
        (2, 0.02397882347116631, 1e-6),
        (100, 0.026881289729458715, 1e-6),
    ],
)
def test_hoeffding_against_the_authors_program(k, epsilon, delta):
    """Notebook of BorjaBalle/amplification-by-shuffling: n = 5000, epsilon 0.4."""
    (law,) = shuffled_pairs(ldp.KRR(k, 0.4)).blankets
    assert hoeffding_delta(law, epsilon, 5000) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("n", [37, 400, 5000])
@pytest.mark.parametrize("local", [0.3, 1.0, 4.0])
def test_the_lattice_is_above_and_near_binomial_tails(n, local):
    law = clones(local)
    for epsilon in (0.0, 0.1 * local, 0.4 * local):
        exact = law.delta_below(epsilon, n, 1e-9)
        bound = positive_part_bound(law.values(epsilon), law.others, n, 1e-9)
        assert exact * (1.0 - 1e-9) <= bound <= exact * 1.003 + 1e-12


@pytest.mark.parametrize("k", [3, 1000])
def test_upper_and_lower_bounds_of_krr_are_close(k):
    shuffled = privacy.amplification(ldp.KRR(k, 1.0), 10_000, 1e-6)
    assert shuffled.lower <= shuffled.epsilon <= shuffled.lower * 1.002


def test_two_reports_of_many_respondents():
    shuffled = privacy.amplification(ldp.Warner(epsilon=1.0), 20_000, 1e-6)
    assert shuffled.method == "two reports"
    assert shuffled.lower <= shuffled.epsilon <= shuffled.lower * 1.0101
    few = TwoReports(0.7, 0.3, 401)
    assert few.delta_above(0.15, 1e-6) >= max(
        few.split_delta(0.15, m, 400 - m, 1e-6)[0] for m in range(0, 401, 20)
    )


def test_epsilon_and_delta_agree():
    shuffled = privacy.amplification(ldp.KRR(3, 2.0), 50, 1e-5)
    assert 0.99e-5 < shuffled.delta_at(shuffled.epsilon) <= 1e-5
    assert shuffled.delta_at(2.0) == 0.0 and shuffled.delta_at(np.inf) == 0.0


def test_colluding_respondents_hide_nothing():
    whole = privacy.amplification(ldp.KRR(3, 1.0), 30, 1e-6)
    some = privacy.amplification(ldp.KRR(3, 1.0), 60, 1e-6, colluding=0.5)
    assert (some.epsilon, some.honest) == (whole.epsilon, 30)
    assert privacy.amplification(ldp.KRR(3, 1.0), 1, 1e-6, colluding=0.9).honest == 1


def test_cohorts_count_as_part_of_the_report():
    """Hashed answers are no less private than the randomiser within a cohort."""
    hashed = ldp.ORR(n_outputs=4, n_cohorts=8, epsilon=1.0)
    within = privacy.amplification(ldp.KRR(4, 1.0), 40, 1e-6)
    assert privacy.amplification(hashed, 40, 1e-6).bounds["blanket"] == within.bounds["blanket"]
    closed = ldp.ORR(n_outputs=2, n_cohorts=2, epsilon=1.0, alphabet=("a", "b", "c"))
    Q = closed.channel().matrix()
    for n in (2, 3):
        exact = worst_delta(Q, n, EPSILONS)
        shuffled = privacy.amplification(closed, n, 1e-3)
        assert np.all([shuffled.delta_at(e) for e in EPSILONS] >= exact - 1e-14)


@pytest.mark.parametrize(
    "mechanism", [ldp.Observed(3), ldp.Mangat(p=0.5), [[1.0, 0.0], [0.5, 0.5]]]
)
def test_reports_that_rule_out_an_answer_stay_what_they_are(mechanism):
    with pytest.raises(NotAvailable, match="epsilon is infinite"):
        privacy.amplification(mechanism, 1000, 1e-6)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("n", {"n": 0}),
        ("n", {"n": 2.5}),
        ("delta", {"delta": 0.0}),
        ("delta", {"delta": 1.0}),
        ("delta", {"delta": 1e-200}),
        ("colluding", {"colluding": 1.0}),
        ("colluding", {"colluding": -0.1}),
        ("mechanism", {"mechanism": "krr"}),
    ],
)
def test_bad_input(name, given):
    call = {"mechanism": ldp.KRR(3, 1.0), "n": 100, "delta": 1e-6} | given
    with pytest.raises(InvalidArgument) as error:
        privacy.amplification(**call)
    assert error.value.name == name
