"""Linear estimates of URR and URAP: unbiased, and their covariance, exactly."""

from __future__ import annotations

import numpy as np
import pytest
from grid import distribution
from shared.sensitive_surveys import MECHANISMS, each_urap, every_report

import ldpstats as ldp


@each_urap
def test_linear_estimate_of_urap_is_unbiased_with_its_covariance(urap: ldp.URAP) -> None:
    reports, Q = every_report(urap)
    single = [ldp.Reports(reports.y[i : i + 1], urap) for i in range(len(reports))]
    T = np.array([urap.moments(r.tally()).estimate()[0] for r in single])
    sums = np.array([urap.moments(r.tally(bits=True)).estimate()[0] for r in single])
    np.testing.assert_allclose(T, sums, rtol=1e-12)
    size = np.abs(T).max()  # large at small epsilon
    np.testing.assert_allclose(Q @ T, np.eye(urap.k), rtol=0, atol=1e-11 * size)
    p = distribution(urap.k)
    law = p @ Q
    V = (T.T * law) @ T - np.outer(law @ T, law @ T)
    found = urap.moments(single[0].tally()).covariance(p).matrix()
    np.testing.assert_allclose(found, V, rtol=1e-8, atol=1e-9 * np.abs(V).max())


@pytest.mark.parametrize("name", ["urr", "urr-levels"])
def test_linear_estimate_of_urr_is_unbiased_with_its_covariance(name: str) -> None:
    urr = MECHANISMS[name]
    Q = urr.channel().matrix()
    single = [urr.counts(row) for row in np.eye(5, dtype=int)]
    T = np.array([urr.moments(c).estimate()[0] for c in single])
    np.testing.assert_allclose(Q @ T, np.eye(5), rtol=0, atol=1e-13)
    np.testing.assert_allclose(T.sum(axis=1), 1.0, atol=1e-13)
    p = distribution(5)
    law = p @ Q
    V = (T.T * law) @ T - np.outer(p, p)
    np.testing.assert_allclose(urr.moments(single[0]).covariance(p).matrix(), V, atol=1e-13)
