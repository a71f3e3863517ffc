"""Structured channels against dense ones."""

import tracemalloc

import numpy as np
import pytest

import ldpstats as ldp

RNG = np.random.default_rng(3)


def random_channel(k: int, l: int) -> ldp.channels.Dense:  # noqa: E741
    return ldp.channels.Dense(RNG.dirichlet(np.ones(l), size=k))


def test_kronecker_is_the_product_of_its_parts():
    a, b, c = random_channel(3, 4), ldp.channels.Uniformised(2, 0.4, 0.3), random_channel(2, 3)
    joint = ldp.channels.Kronecker([a, b, c])
    Q = joint.matrix()
    assert Q.shape == joint.shape == (12, 24)
    p = RNG.dirichlet(np.ones(12))
    np.testing.assert_allclose(joint.forward(p), p @ Q, atol=1e-14)
    y = np.array([[0, 1, 2], [3, 0, 1], [2, 1, 0]])
    code = np.ravel_multi_index(tuple(y.T), (4, 2, 3))
    np.testing.assert_allclose(joint.likelihood(tuple(y.T)), Q[:, code].T, atol=1e-15)
    assert joint.epsilon() == pytest.approx(a.epsilon() + b.epsilon() + c.epsilon())
    assert joint.epsilon() == pytest.approx(ldp.channels.Dense(Q).epsilon())


def test_stacked_is_a_choice_of_channel():
    a, b = random_channel(3, 4), ldp.channels.Uniformised(3, 0.4, 0.2)
    stacked = ldp.channels.Stacked([a, b], np.array([0.25, 0.75]))
    Q = stacked.matrix()
    assert Q.shape == stacked.shape == (3, 7)
    p = RNG.dirichlet(np.ones(3))
    np.testing.assert_allclose(stacked.forward(p), p @ Q, atol=1e-15)
    np.testing.assert_allclose(
        stacked.likelihood((np.array([1, 3]), np.array([0]))), Q[:, [1, 3, 4]].T, atol=1e-15
    )
    assert stacked.epsilon() == pytest.approx(max(a.epsilon(), b.epsilon()))
    stacked = ldp.channels.Stacked([a, b], np.array([0.0, 1.0]))
    assert stacked.epsilon() == pytest.approx(b.epsilon())


def test_bits_with_several_hashes_match_the_enumeration():
    members = np.array([[0, 2], [1, 1], [3, 0]])  # the second value's hashes collide
    channel = ldp.channels.Bits(members, 4, p1=0.7, p0=0.2)
    Q = channel.matrix()
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, atol=1e-15)
    patterns = np.arange(16)
    bits = (patterns[:, None] >> np.arange(4)) & 1
    packed = np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")
    np.testing.assert_allclose(channel.likelihood(packed), Q.T, atol=1e-15)
    p = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(channel.bit_means(p), (p @ Q) @ bits, atol=1e-15)
    assert channel.epsilon() == pytest.approx(ldp.channels.Dense(Q).epsilon(), abs=1e-12)


@pytest.mark.parametrize(("p1", "p0"), [(1.0, 0.25), (0.5, 0.0), (0.3, 0.6)])
def test_bits_at_the_edge(p1, p0):
    channel = ldp.channels.Bits(np.array([[0], [1]]), 2, p1, p0)
    Q = channel.matrix()
    packed = np.arange(4, dtype=np.uint8)[:, None]
    np.testing.assert_allclose(channel.likelihood(packed), Q.T, atol=1e-15)
    assert channel.epsilon() == pytest.approx(ldp.channels.Dense(Q).epsilon(), abs=1e-12)


def test_wide_reports_do_not_underflow():
    mechanism = ldp.KRAPPOR(3_000, epsilon=1.0)
    reports = mechanism.privatize(np.arange(20), np.random.default_rng(1))
    rows = mechanism.channel().rows(reports.y)
    assert np.all(np.isfinite(rows.log_scale)) and rows.log_scale.max() < -700
    likelihood = rows.mix(np.full(3_000, 1 / 3_000))
    assert np.all((likelihood > 1e-3) & (likelihood < 1e3))


def test_a_million_categories_take_memory_in_proportion():
    k = 1_000_000
    tracemalloc.start()
    krr = ldp.KRR(k, epsilon=1.0)
    p = np.full(k, 1 / k)
    law = krr.channel().forward(p)
    rows = krr.channel().rows(np.arange(10))
    rows.adjoint(rows.mix(p))
    reports = krr.privatize(np.arange(1_000), np.random.default_rng(0))
    reports.tally()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert law.sum() == pytest.approx(1.0)
    assert peak < 20 * 8 * k  # twenty vectors; the matrix would be a million of them
