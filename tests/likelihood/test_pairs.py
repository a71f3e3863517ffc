"""The noise of pairs of decoded reports, against all reports and categories."""

from __future__ import annotations

import numpy as np
import pytest

from ldpstats.likelihood.joint import decode, pair_noise, pair_table, report_covariance
from tests.grid import MECHANISMS, candidates, distribution
from tests.likelihood.test_decoding import listed


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
    table = pair_table(np.repeat(phi, len(psi), axis=0), np.tile(psi, (len(phi), 1)))
    law = np.einsum("xi,yj->xyij", Q, R).reshape(Q.shape[0] * R.shape[0], -1)
    means = law @ table
    t = np.random.default_rng(2).normal(size=len(law))  # weights of the pairs of true categories
    expected = (table.T * (t @ law)) @ table - (means.T * t) @ means
    size = np.abs((table.T * (np.abs(t) @ law)) @ table).max()
    noise = pair_noise(t @ means, first, second)
    np.testing.assert_allclose(noise, expected, rtol=0, atol=1e-11 * size)


def test_covariance_of_one_report():
    first, Q = decoded("krappor")
    p = distribution(len(Q))
    phi, m = first.phi[first.place], p @ Q
    expected = (phi.T * m) @ phi - np.outer(m @ phi, m @ phi)
    np.testing.assert_allclose(report_covariance(first, p), expected, atol=1e-11)
