"""One-sided local differential privacy: the certificate, and the factors of Proposition 14."""

from __future__ import annotations

import numpy as np
import pytest
from shared.bad_values import Refusal, refuses

import ldpstats as ldp
from ldpstats.mechanisms import LumpedUnary
from ldpstats.privacy import dominates, epsilon, osldp, osldp_factors, uldp

JOBS = ("nurse", "teacher", "driver", "cook")


def definition_6(Q: np.ndarray, sensitive: list[int]) -> float:
    """The smallest epsilon of eq. 24, word by word."""
    found = 0.0
    for x in sensitive:
        for other in range(len(Q)):
            for y in np.flatnonzero(Q[x]):
                low = Q[other, y]
                found = max(found, np.log(Q[x, y] / low) if low else np.inf)
    return found


def one_sided_channel(rng: np.random.Generator) -> tuple[np.ndarray, list[int]]:
    """A channel in which sensitive categories share their reports with all others, mostly."""
    k, l = int(rng.integers(2, 6)), int(rng.integers(2, 7))  # noqa: E741
    S, shared = int(rng.integers(0, k + 1)), int(rng.integers(1, l + 1))
    Q = rng.dirichlet(np.ones(l), k) * (rng.random((k, l)) < 0.8)
    Q[:S, shared:] = 0.0
    if rng.random() < 0.9:
        Q[:, :shared] += 0.02
    Q[:, 0] += 1e-3
    order = rng.permutation(k)
    return (Q / Q.sum(axis=1, keepdims=True))[order], np.flatnonzero(order < S).tolist()


def test_the_certificate_and_the_factors_of_random_channels() -> None:
    rng, kinds, worst = np.random.default_rng(5), set(), 0.0
    for _ in range(200):
        Q, sensitive = one_sided_channel(rng)
        found, strong = osldp(Q, sensitive), uldp(Q, sensitive)
        assert found.epsilon == pytest.approx(definition_6(Q, sensitive), abs=1e-12)
        assert found.holds == (found.reason == "")
        assert found.epsilon <= strong.epsilon + 1e-12  # Proposition 13
        kinds.add((found.holds, strong.holds))
        if not found.holds:
            continue
        factors = osldp_factors(Q, sensitive)
        U, R = factors.uldp.matrix(), factors.processing
        worst = max(worst, float(np.abs(U @ R - Q).max()))
        assert R.min() >= 0.0 and np.allclose(R.sum(axis=1), 1.0, atol=1e-14)
        kept = uldp(U, sensitive)
        assert kept.epsilon <= found.epsilon + 1e-12 and factors.epsilon == found.epsilon
        assert kept.revealed is not None
        made = U.any(axis=0)
        assert np.array_equal(kept.revealed[made], factors.revealed[made])
        assert np.all((factors.kept < 0) == (factors.revealed >= 0))
    assert worst < 1e-15
    assert kinds == {(True, True), (True, False), (False, False)}


def test_the_first_factor_is_a_channel_that_dominates() -> None:
    Q = np.array([[0.5, 0.5, 0.0], [0.8, 0.1, 0.1], [0.25, 0.25, 0.5]])
    factors = osldp_factors(Q, [0])
    assert dominates(factors.uldp, Q) and not dominates(Q, factors.uldp)
    assert not uldp(Q, [0]).holds or uldp(Q, [0]).epsilon > factors.epsilon


def test_what_is_utility_optimised_is_its_own_first_factor() -> None:
    for mechanism in (ldp.URR(JOBS, {"cook"}, 1.0), ldp.URAP(JOBS, {"cook", "nurse"}, 0.5)):
        factors = osldp_factors(mechanism)
        Q = mechanism.channel().matrix()
        assert np.array_equal(factors.uldp.matrix(), Q)
        assert np.array_equal(factors.processing, np.eye(Q.shape[1]))


MECHANISMS = {
    "krr": ldp.KRR(4, 1.0),
    "krappor": ldp.KRAPPOR(4, 1.0),
    "wide": ldp.KRAPPOR(13, 1.0, theta=0.6),
    "lumped": LumpedUnary(14, 0.3, 0.7),
    "warner": ldp.Warner(epsilon=0.5),
    "urr": ldp.URR(4, epsilon={0: 1.0, 2: 3.0}),
    "urr-all": ldp.URR(3, range(3), 2.0),
    "urap": ldp.URAP(4, epsilon={0: 1.0, 2: 3.0}),
    "urap-one": ldp.URAP(3, [1], 2.0, theta=0.3),
    "urap-none": ldp.URAP(3, [], 2.0),
    "mangat": ldp.Mangat(p=0.4),
    "orr": ldp.ORR(3, 2, epsilon=1.0, alphabet=4),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_structure_certifies_what_the_matrix_does(name: str) -> None:
    mechanism = MECHANISMS[name]
    Q, k = mechanism.channel().matrix(), mechanism.k
    for sensitive in ([], [0], [k - 1], [0, 1], list(range(k))):
        labels = [mechanism.categories[x] for x in sensitive]
        found, dense = osldp(mechanism, labels), osldp(Q, sensitive)
        if np.isinf(dense.epsilon):
            assert np.isinf(found.epsilon)
        else:
            assert found.epsilon == pytest.approx(dense.epsilon, abs=1e-12)
        assert (found.n_shared, found.n_apart) == (dense.n_shared, dense.n_apart)
    assert osldp(Q, range(k)).epsilon == pytest.approx(epsilon(Q), abs=1e-12)


def test_each_category_has_its_own_one_sided_epsilon() -> None:
    for kind in (ldp.URR, ldp.URAP):
        mechanism = kind(JOBS, epsilon={"nurse": 0.5, "cook": 2.0})
        assert osldp(mechanism, ["nurse"]).epsilon == pytest.approx(0.5, abs=1e-12)
        assert osldp(mechanism).epsilon == pytest.approx(2.0, abs=1e-12)
        assert np.isinf(osldp(mechanism, ["teacher"]).epsilon)


POSITIONS = {
    "nothing": None,
    "text": "a",
    "outside": [3],
    "negative": [-1],
    "twice": [0, 0],
    "half": [0.5],
    "a mask of another size": [True],
}
BAD = [
    *refuses("sensitive", lambda v: osldp(np.eye(2), v), POSITIONS),
    *refuses("sensitive", lambda v: osldp_factors(np.eye(2), v), POSITIONS),
    *refuses("Q", lambda v: osldp(v, [0]), {"none": None, "text": "Q", "one row": [[1.0]]}),
    *refuses("Q[0]", lambda v: osldp_factors(v, [0]), {"sums": [[0.5, 0.6], [0.5, 0.5]]}),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: Refusal) -> None:
    case.check()
