"""Covariances: the type, and those of tallies by enumeration of small surveys."""

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

import ldpstats as ldp
from ldpstats import InvalidArgument, NotAvailable
from ldpstats.likelihood import moments as equations
from ldpstats.likelihood.covariance import (
    Covariance,
    block_diagonal,
    independent_bits,
    multinomial,
    spectral_norm,
    uniformised,
)
from ldpstats.likelihood.moments import Equations

Array = npt.NDArray[np.float64]


def krr(k: int, epsilon: float) -> tuple[Array, float, float]:
    """Q, a and b of k-RR, Q = a I + b 11'."""
    a, b = np.expm1(epsilon) / (np.exp(epsilon) + k - 1), 1 / (np.exp(epsilon) + k - 1)
    return a * np.eye(k) + b, float(a), float(b)


def structured(rng: np.random.Generator, k: int = 5, r: int = 2) -> Covariance:
    root = rng.normal(size=(r, r))
    return Covariance(rng.random(k), root @ root.T, rng.normal(size=(k, r)))


# ---- the type
def test_operations_agree_with_the_matrix():
    rng = np.random.default_rng(2)
    V, W = structured(rng), structured(rng)
    dense = Covariance.dense(W.matrix())
    R = rng.normal(size=(3, 5))
    assert V.factors is not None
    expected = np.diag(V.diagonal) + V.factors @ V.core @ V.factors.T
    for left, right in itertools.product((V, Covariance.dense(V.matrix())), (W, dense)):
        np.testing.assert_allclose(left.matrix(), expected, rtol=1e-12)
        np.testing.assert_allclose(left.variances(), np.diag(expected), rtol=1e-12)
        np.testing.assert_allclose(left.transform(R), R @ expected @ R.T, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(left.forms(R), np.diag(left.transform(R)), rtol=1e-12)
        np.testing.assert_allclose(left.scaled(3.0).matrix(), 3 * expected, rtol=1e-12)
        np.testing.assert_allclose((left + right).matrix(), expected + W.matrix(), rtol=1e-12)
        np.testing.assert_allclose(
            left.take([3, 1]).matrix(), expected[np.ix_([3, 1], [3, 1])], rtol=1e-12
        )
    assert (V + W).factors is not None
    assert (V + dense).factors is None


def test_an_excess_taken_away_and_blocks():
    rng = np.random.default_rng(4)
    V, W = structured(rng), structured(rng, k=3, r=1)
    u = rng.dirichlet(np.ones(5))
    A = np.eye(5) - np.outer(u, np.ones(5))
    expected = A @ V.matrix() @ A.T
    zero = np.zeros((5, 3))
    blocks = np.block([[V.matrix(), zero], [zero.T, W.matrix()]])
    for left in (V, Covariance.dense(V.matrix())):
        without = left.without_excess(u)
        np.testing.assert_allclose(without.matrix(), expected, atol=1e-13)
        np.testing.assert_allclose(without.matrix().sum(axis=1), 0, atol=1e-13)
        assert (without.factors is None) == (left.factors is None)
        joint = block_diagonal([left, W])
        np.testing.assert_allclose(joint.matrix(), blocks, atol=1e-13)
        assert (joint.factors is None) == (left.factors is None)


def test_a_million_categories():
    k = 1_000_000
    p = np.full(k, 1 / k)
    R = np.zeros((2, k))
    R[0, 0], R[0, 1], R[1] = 1, -1, 1
    a, b = math.expm1(5.0) / (math.exp(5.0) + k - 1), 1 / (math.exp(5.0) + k - 1)
    krr_cov = uniformised(p, a, b, n=1e6)
    V = krr_cov + independent_bits(p, 0.7, 0.1, n=1e6)
    one = krr_cov.variances()[0]
    assert one == pytest.approx((b + a / k) * (1 - b - a / k) / (1e6 * a**2), rel=1e-9)
    assert V.variances().shape == (k,)
    # Two exchangeable categories, and a sum that is certain: variance 0 up to rounding.
    contrast = krr_cov.transform(R)
    assert contrast[0, 0] == pytest.approx(2 * (b + a / k) / (1e6 * a**2), rel=1e-9)
    assert abs(contrast[1, 1]) < 1e-9 * krr_cov.variances().sum()
    with pytest.raises(NotAvailable, match=r"8000 GB; use variances\(\)"):
        V.matrix()


def test_zero_variance_is_zero_and_a_negative_one_is_refused():
    assert multinomial([1.0, 0.0], n=10).variances().tolist() == [0.0, 0.0]
    with pytest.raises(InvalidArgument, match="negative variance"):
        Covariance(np.array([0.1, 0.1]), np.array([[-1.0]]), np.array([[1.0], [0.0]])).variances()


@pytest.mark.parametrize(
    ("build", "match"),
    [
        (lambda: Covariance(np.ones(2), np.ones((2, 1))), "core"),
        (lambda: Covariance(np.ones(2), np.ones((1, 1)), np.ones((3, 1))), "factors"),
        (lambda: Covariance(np.ones(2), np.array([[0.0, 1.0], [2.0, 0.0]])), "symmetric"),
        (lambda: Covariance.dense([[np.nan]]), "finite"),
        (lambda: Covariance.dense(np.eye(2)).scaled(-1.0), "c=-1.0"),
        (lambda: multinomial([0.5, 0.6], n=10), "sum to one"),
        (lambda: Covariance.dense(np.eye(2)).without_excess([1.0]), "2 entries"),
        (lambda: block_diagonal([]), "at least one"),
        (lambda: independent_bits([1.5, 0.0], 0.9, 0.1, n=10), "project p first"),
        (lambda: independent_bits(np.full(40, 0.5), 0.75, 0.25, n=10), "too far from the simplex"),
    ],
)
def test_refusals(build, match):
    with pytest.raises(InvalidArgument, match=match):
        build()


# ---- covariances of tallies, by enumeration
def test_multinomial_against_every_possible_survey():
    m, n, k = np.array([0.5, 0.3, 0.2]), 4, 3
    _, a, b = krr(k, 1.0)
    surveys = [c for c in itertools.product(range(n + 1), repeat=k) if sum(c) == n]
    weight = np.array(
        [math.factorial(n) / math.prod(map(math.factorial, c)) * math.prod(m**c) for c in surveys]
    )
    f = np.array(surveys) / n
    centred = f - weight @ f
    brute = (centred * weight[:, None]).T @ centred
    np.testing.assert_allclose(multinomial(m, n).matrix(), brute, rtol=1e-12, atol=1e-15)
    # The linear estimate (f - b)/a of k-RR has the covariance that `uniformised` states.
    p = (m - b) / a
    np.testing.assert_allclose(uniformised(p, a, b, n).matrix(), brute / a**2, rtol=1e-12)


@pytest.mark.parametrize(
    ("p1", "p0"), [(0.75, 0.25), (0.5, 0.1), ([0.9, 0.5, 0.6], [0.2, 0.0, 0.3])]
)
def test_independent_bits_against_every_report(p1, p0):
    p, k = np.array([0.6, 0.3, 0.1]), 3
    on, off = np.broadcast_to(p1, k), np.broadcast_to(p0, k)
    reports = np.array(list(itertools.product((0, 1), repeat=k)), dtype=float)
    weight = np.zeros(len(reports))
    for x in range(k):
        law = np.where(np.arange(k) == x, on, off)
        weight += p[x] * np.prod(np.where(reports == 1, law, 1 - law), axis=1)
    centred = reports - weight @ reports
    brute = (centred * weight[:, None]).T @ centred
    V = independent_bits(p, on, off, n=10)
    np.testing.assert_allclose(V.matrix(), brute / 10, rtol=1e-12, atol=1e-16)


# Ends of spectra, and inverses of large channels, against all singular values.


@pytest.mark.parametrize(
    "M",
    [
        np.diag([3.0, -5.0, 1.0]),
        np.zeros((4, 4)),
        np.eye(30) + 0.2,
        np.eye(30) - 1.0 / 30.0,
        np.random.default_rng(1).random((70, 50)),
        np.random.default_rng(2).normal(size=(40, 90)),
        np.diag(np.r_[np.full(99, 1.0), 1.0 + 1e-7]),
    ],
)
def test_largest_singular_value(M):
    assert spectral_norm(M) == pytest.approx(np.linalg.norm(M, 2), rel=1e-13, abs=1e-300)


def channel(condition: float, k: int = 60) -> np.ndarray:
    """A stochastic matrix whose smallest singular value is about 1/condition."""
    rng = np.random.default_rng(4)
    Q = rng.dirichlet(np.ones(k), size=k) * 0.2 + 0.8 * np.eye(k)
    Q[1] = Q[0] + (Q[1] - Q[0]) / condition
    return Q


def problems(Q: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> list[Equations]:
    """The equations of a channel, as if it were large and as it is."""
    made = []
    for least in (1, 512):
        monkeypatch.setattr(equations, "_LARGE", least)
        mechanism = ldp.CustomMechanism(Q)
        problem = mechanism.moments(mechanism.counts(np.arange(1, len(Q) + 1)))
        assert isinstance(problem, Equations)
        assert problem.condition > 1.0 and np.shape(problem.inverse) == Q.shape  # now, and kept
        made.append(problem)
    return made


@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4, 1e8, 1e12])
def test_large_channels_are_inverted_like_small_ones(condition, monkeypatch):
    large, small = problems(channel(condition), monkeypatch)
    if condition < 1e6:  # beyond that all singular values are computed for both
        assert not np.array_equal(large.inverse, small.inverse)
    assert large.condition == pytest.approx(small.condition, rel=max(1e-12, 1e-14 * condition))
    np.testing.assert_allclose(
        large.inverse, small.inverse, atol=1e-14 * condition * np.abs(small.inverse).max()
    )


@pytest.mark.parametrize("twin", [0, 59])
def test_singular_channels_are_refused_whatever_their_size(twin, monkeypatch):
    Q = channel(1.0)
    Q[7] = Q[twin]
    for least in (1, 512):
        monkeypatch.setattr(equations, "_LARGE", least)
        mechanism = ldp.CustomMechanism(Q)
        problem = mechanism.moments(mechanism.counts(np.arange(1, 61)))
        with pytest.raises(ldp.NotIdentified, match="rank 59"):
            problem.estimate()
