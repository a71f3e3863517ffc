"""Decoded reports and their noise against every report listed."""

import itertools

import numpy as np
import pytest
from grid import MECHANISMS, all_reports, candidates, channel, distribution, hidden

import ldpstats as ldp
from ldpstats.likelihood.joint import (
    decode,
    distinct_reports,
    report_covariance,
    table_noise,
    table_rows,
)
from ldpstats.models.association import evidence as estimates


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


# The noise of pairs of decoded reports, against all reports and categories.


def decoded(name):
    mechanism = MECHANISMS[name]
    reports, Q = listed(mechanism)
    return decode(reports, distribution(len(Q)) @ Q, candidates(mechanism)), Q


@pytest.mark.parametrize(
    "names",
    [("krr-labels", "warner"), ("observed", "krappor"), ("rappor", "urr-one"), ("orr",) * 2],
)
def test_noise_of_pairs_is_that_of_all_reports(names):
    (first, Q), (second, R) = map(decoded, names)
    phi, psi = first.phi[first.place], second.phi[second.place]
    table = table_rows([np.repeat(phi, len(psi), axis=0), np.tile(psi, (len(phi), 1))])
    law = np.einsum("xi,yj->xyij", Q, R).reshape(Q.shape[0] * R.shape[0], -1)
    means = law @ table
    t = np.random.default_rng(2).normal(size=len(law))  # weights of the pairs of true categories
    expected = (table.T * (t @ law)) @ table - (means.T * t) @ means
    size = np.abs((table.T * (np.abs(t) @ law)) @ table).max()
    noise = table_noise(t @ means, [first, second])
    np.testing.assert_allclose(noise, expected, rtol=0, atol=1e-11 * size)


def test_covariance_of_one_report():
    first, Q = decoded("krappor")
    p = distribution(len(Q))
    phi, m = first.phi[first.place], p @ Q
    expected = (phi.T * m) @ phi - np.outer(m @ phi, m @ phi)
    np.testing.assert_allclose(report_covariance(p, [first])[1], expected, atol=1e-11)


# Covariances of many cells, as diagonals plus low rank, against all pairs of reports listed.

PAIRS = {
    "labels": (ldp.KRR(5, 1.5), ldp.KRR(4, 0.7)),
    "sensitive labels": (
        ldp.URR(tuple("abcd"), sensitive={"a", "b"}, epsilon=1.0),
        ldp.KRR(3, 1.0),
    ),
    "labels, bits": (ldp.KRR(5, 1.5), ldp.KRAPPOR(4, 2.0)),
    "bits": (ldp.KRAPPOR(3, 3.0), ldp.KRAPPOR(4, 2.0, theta=0.5)),
}


def model(name, n=3_000):
    rng = np.random.default_rng(3)
    first, second = PAIRS[name]
    x = rng.integers(0, first.k, n)
    y = np.where(rng.random(n) < 0.4, x % second.k, rng.integers(0, second.k, n))
    reports = [m.privatize(m.labels(None).take(v), rng) for m, v in ((first, x), (second, y))]
    return ldp.AssociationModel(*reports)


def listed_products(mechanism, load):
    """The features of all reports of a variable, a row each, and the channel of these reports."""
    channel, k = mechanism.channel(), mechanism.k
    if not mechanism.n_bits:
        return (np.eye(k) - channel.b) / channel.a, channel.matrix()
    bits = np.arange(2**k)[:, None] >> np.arange(k) & 1
    x = (bits - mechanism.p0) / (mechanism.p1 - mechanism.p0)
    return x - np.outer(x.sum(axis=1) - 1.0, load), channel.matrix()


@pytest.mark.parametrize("name", PAIRS)
def test_the_covariance_is_that_of_all_pairs_of_reports(name):
    problem = estimates.unconstrained(model(name).evidence, by_name=True)
    stratum = problem.strata[0]
    (F, Q), (G, R) = (listed_products(m, stratum.loads.get(v)) for v, m in enumerate(PAIRS[name]))
    law = Q.T @ problem.in_errors.reshape(problem.sizes) @ R
    if stratum.listed is not None:
        law = stratum.report_law(problem.plug_in)
    products, law = np.kron(F, G), law.ravel()
    mean = law @ products
    expected = (products.T * law @ products - np.outer(mean, mean)) / problem.nobs
    found = problem.factored
    assert found.factors.shape[1] == 2 * sum(problem.sizes) + 3
    np.testing.assert_allclose(found.matrix(), expected, rtol=0, atol=1e-14 * expected.max())


def test_large_tables_give_what_small_ones_do(monkeypatch):
    labels = model("labels")
    small = labels.fit("inversion")
    monkeypatch.setattr(estimates, "LARGEST_INFORMATION", 0)
    large = labels.fit("inversion")
    assert small.linear.covariance.factors is None
    assert large.linear.covariance.factors is not None
    np.testing.assert_allclose(large.linear.bse(), small.linear.bse(), rtol=1e-12)
    for table in ("conditional", "departures"):
        np.testing.assert_allclose(
            *(getattr(res, table)().to_numpy(dtype=float) for res in (large, small)), rtol=1e-10
        )
    one, other = large.cramers_v(), small.cramers_v()
    assert (one.kind, one.message) == (other.kind, other.message)
    values = [[e.estimate, e.lower, e.upper] for e in (one, other)]
    np.testing.assert_allclose(*values, rtol=1e-11)
    again = type(large).from_json(large.to_json())
    assert again.cramers_v() == one
