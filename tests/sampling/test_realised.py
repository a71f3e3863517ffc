"""Epsilon that the samplers realise, against exact enumeration."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from shared.crafted_words import ALL, NASTY, ONE, weights

from ldpstats.sampling import samplers

P1, P0 = samplers.threshold(0.7310585786300049, "down"), samplers.threshold(0.3, "up")


def log(ratio):
    with localcontext() as context:
        context.prec = 80
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def close(value, ratio):
    exact = log(ratio)
    return abs(Decimal(value) - exact) <= Decimal("1e-15") * abs(exact)


EPSILONS = [1e-12, 1e-3, 0.1, 0.69, 0.7, 1.0, 5.0, 30.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [2, 3, 1000, 1_000_003])
def test_realised_epsilon_of_krr(k, epsilon):
    keep = samplers.threshold(np.expm1(epsilon) / (np.exp(epsilon) + k - 1), "down")
    other = Fraction(ONE - keep, ONE * k)
    own = Fraction(keep, ONE) + other
    assert own + (k - 1) * other == 1
    found = samplers.realised_epsilon_kept(keep, 1, k)
    assert close(found, own / other)
    # the threshold is within a unit of a float that carries a few roundings
    p = keep / ONE
    assert abs(found - epsilon) < (p * 2**-50 + 2**-64) * k / (1 - p) + 1e-14 * epsilon


@pytest.mark.parametrize(
    ("p1", "p0"), [(P1, P0), (P0, P1), (ONE // 2, 1), (ALL, 1), (3, 2), (ONE // 2 + 1, ONE // 2)]
)
@pytest.mark.parametrize("hashes", [1, 3])
def test_realised_epsilon_of_bits_by_enumeration(p1, p0, hashes):
    """The largest ratio over all reports of two values that set disjoint bits."""
    one = {True: Fraction(p1, ONE), False: Fraction(p0, ONE)}
    ratio = max(
        (one[True] if a else 1 - one[True])
        * (one[False] if b else 1 - one[False])
        / (one[False] if a else 1 - one[False])
        / (one[True] if b else 1 - one[True])
        for a, b in product((0, 1), repeat=2)
    )
    assert close(hashes * sum(samplers.realised_ratios(p1, p0)), ratio**hashes)


def test_realised_epsilon_at_the_ends():
    assert samplers.realised_epsilon_kept(0, 1, 5) == 0
    assert samplers.realised_epsilon_kept(ONE, 1, 5) == np.inf
    assert sum(samplers.realised_ratios(P0, P0)) == 0
    assert sum(samplers.realised_ratios(0, 0)) == sum(samplers.realised_ratios(ONE, ONE)) == 0
    for p1, p0 in ((P1, 0), (ONE, P0), (ONE, 0), (0, P0), (P1, ONE)):
        assert sum(samplers.realised_ratios(p1, p0)) == np.inf
    assert samplers.realised_epsilon_rows(samplers.integer_rows(np.eye(3))) == np.inf
    assert samplers.realised_epsilon_rows(samplers.integer_rows([[1.0, 0.0]] * 2)) == 0
    assert samplers.realised_epsilon_rows(samplers.integer_rows([NASTY[1]] * 3)) == 0


@pytest.mark.parametrize("seed", range(5))
def test_realised_epsilon_of_rows_by_enumeration(seed):
    Q = np.random.default_rng(seed).dirichlet(np.full(6, 0.5), size=4)
    Q[:, 3] = 0  # never emitted, so it tells nothing
    Q /= Q.sum(axis=1, keepdims=True)
    Q[0, :2] = [1e-19, Q[0, 0] + Q[0, 1]]
    rows = samplers.integer_rows(Q)
    weight = weights(rows)
    ratio = max(Fraction(a[y], b[y]) for a, b in product(weight, repeat=2) for y in (0, 1, 2, 4, 5))
    assert close(samplers.realised_epsilon_rows(rows), ratio)
