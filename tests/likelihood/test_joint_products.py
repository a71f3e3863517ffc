"""Covariances of many cells, as diagonals plus low rank, against all pairs of reports listed."""

from __future__ import annotations

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.models.association import evidence as estimates

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


def listed(mechanism, load):
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
    (F, Q), (G, R) = (listed(m, stratum.loads.get(v)) for v, m in enumerate(PAIRS[name]))
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
