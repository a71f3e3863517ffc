"""Decoded reports and their noise against every report listed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.likelihood.joint import decode, distinct_reports
from tests.grid import MECHANISMS, all_reports, candidates, channel, distribution, hidden


def listed(mechanism):
    """Every report and its law given each category; of uRAP with the noise around what it tells."""
    if not isinstance(mechanism, ldp.URAP):
        return all_reports(mechanism), channel(mechanism).matrix()
    k, sensitive = mechanism.k, hidden(mechanism)
    bits = (np.arange(2**k)[:, None] >> np.arange(k)) & 1
    bits = bits[bits[:, ~sensitive].sum(axis=1) <= 1]
    if not sensitive.any():
        bits = bits[bits.any(axis=1)]
    p1, p0 = np.full(k, mechanism.told), np.zeros(k)
    p1[sensitive], p0[sensitive] = mechanism.p1, mechanism.d1
    ones = np.where(np.eye(k, dtype=bool), p1, p0)  # P(bit j = 1 | x)
    law = np.where(bits[None], ones[:, None], 1.0 - ones[:, None]).prod(axis=2)
    return mechanism.parse("bits", ["".join(map(str, row)) for row in bits]), law


@pytest.mark.parametrize("name", MECHANISMS)
def test_decoded_reports_are_unbiased_and_their_noise_is_known(name):
    mechanism = MECHANISMS[name]
    reports, Q = listed(mechanism)
    np.testing.assert_allclose(Q.sum(axis=1), 1.0)
    p = distribution(len(Q))
    made = decode(reports, p @ Q, candidates(mechanism))
    F = made.phi[made.place]
    np.testing.assert_allclose(Q @ F, np.eye(len(Q)), atol=1e-9)
    t = np.random.default_rng(1).normal(size=len(Q))
    expected = (F.T * (t @ Q)) @ F - np.diag(t)
    size = np.abs((F.T * (np.abs(t) @ Q)) @ F).max()
    np.testing.assert_allclose(made.noise(t, t.sum()), expected, rtol=0, atol=1e-11 * size)
    if not mechanism.is_open:  # nobody gave another answer, whatever the sum of weights
        np.testing.assert_array_equal(made.noise(t, 7.0), made.noise(t))


def law_of_others(mechanism, reports):
    """The law of the reports of an answer that may own any cells, in uniform cohorts."""
    m, C, cells = mechanism.n_cells, mechanism.n_cohorts, mechanism.cell_law
    if not mechanism.n_bits:
        return np.full(m * C, 1.0 / (m * C))
    bits = mechanism.format.unpack(reports.y)
    owned = np.array(list(itertools.product(range(m), repeat=mechanism.n_owned)))
    ones = np.full((len(owned), m), cells.low)
    np.put_along_axis(ones, owned, cells.high, axis=1)
    law = np.where(bits[None], ones[:, None], 1.0 - ones[:, None]).prod(axis=2)
    return law.mean(axis=0) / C


@pytest.mark.parametrize("name", [name for name in MECHANISMS if MECHANISMS[name].is_open])
def test_noise_of_answers_that_are_not_listed(name):
    mechanism = MECHANISMS[name]
    reports, Q = all_reports(mechanism), channel(MECHANISMS[name]).matrix()
    if name == "rappor-google":
        pytest.skip("hashes of its own")
    every = np.vstack([Q, law_of_others(mechanism, reports)])
    shares = np.array([0.5, 0.3, -0.1, 0.3])
    law = shares @ every
    weights = np.array([0.4, 0.2, 0.1, 0.3]) @ every
    made = decode(reports, weights, candidates(mechanism))
    np.testing.assert_allclose(made.p, [0.4, 0.2, 0.1], atol=1e-12)
    F = made.phi[made.place]
    means = np.vstack([np.eye(3), np.zeros(3)])
    np.testing.assert_allclose(every @ F, means, atol=1e-12)
    expected = (F.T * law) @ F - np.diag(shares[:3])
    np.testing.assert_allclose(made.noise(shares[:3], 1.0), expected, atol=1e-12)


def test_distinct_reports_are_those_of_a_cohort_and_wide_ones_are_kept():
    rng = np.random.default_rng(3)
    reports = MECHANISMS["rappor"].privatize(rng.choice(["apple", "pear"], 300), rng)
    distinct, place = distinct_reports(reports)
    assert len(distinct) < 300
    np.testing.assert_array_equal(distinct.y[place], reports.y)
    np.testing.assert_array_equal(distinct.cohort[place], reports.cohort)
    labels = MECHANISMS["orr"].privatize(rng.choice(["apple", "pear"], 300), rng)
    distinct, place = distinct_reports(labels)
    np.testing.assert_array_equal(distinct.y[place], labels.y)
    np.testing.assert_array_equal(distinct.cohort[place], labels.cohort)
    assert len(distinct) <= 12 and np.all(np.diff(distinct.cohort) >= 0)
    wide = ldp.KRAPPOR(80, epsilon=1.0).privatize([1, 1, 2], rng)
    assert len(distinct_reports(wide)[0]) == 3
