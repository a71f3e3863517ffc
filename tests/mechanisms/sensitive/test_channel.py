"""Channels of URR and URAP: the papers' coefficients, special cases, the law of reports."""

from __future__ import annotations

import numpy as np
import pytest
from grid import report_codes
from scipy import stats
from shared.sensitive_surveys import JOBS, URAPS, each_urap, every_report, theta_of

import ldpstats as ldp

# -- the coefficients of the paper, and what the mechanisms reduce to ----------------------------


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, np.log(400), 12.0])
@pytest.mark.parametrize(("k", "S"), [(2, 1), (5, 1), (5, 3), (400, 76), (4, 4)])
def test_coefficients_of_urr(k: int, S: int, epsilon: float) -> None:
    urr, e = ldp.URR(k, range(S), epsilon), np.exp(epsilon)
    Q = urr.channel().matrix()
    c1, c2 = e / (S + e - 1), 1 / (S + e - 1)
    want = np.zeros((k, k))
    want[:, :S] = c2
    np.fill_diagonal(want, [c1] * S + [1 - S * c2] * (k - S))
    # 1 - S c2 cancels at small epsilon: relative to one
    np.testing.assert_allclose(Q, want, rtol=1e-13, atol=1e-15)
    assert np.log(Q[0, 0] / Q[1, 0]) == pytest.approx(epsilon, abs=1e-12)
    assert urr.audit().channel == pytest.approx(epsilon, abs=1e-12)
    assert urr.channel().a == pytest.approx((e - 1) / (S + e - 1), rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 6.0, 12.0])
@pytest.mark.parametrize("theta", [None, 0.05, 0.5, 0.95, 0.999])
def test_coefficients_of_urap(epsilon: float, theta: float | None) -> None:
    urap, e = ldp.URAP(4, (1, 2), epsilon, theta), np.exp(epsilon)
    t = theta_of(urap)
    assert urap.p1 == pytest.approx(t, rel=1e-14)
    assert urap.d1 == pytest.approx(t / ((1 - t) * e + t), rel=1e-13)
    assert urap.d2 == pytest.approx(((1 - t) * e + t) / e, rel=1e-13)
    assert urap.told + urap.d2 == pytest.approx(1.0, abs=1e-15)
    if theta is None:  # the shorter forms that MK19 states
        assert urap.d2 == pytest.approx(np.exp(-epsilon / 2), rel=1e-14)
        assert urap.d1 == pytest.approx(1 - urap.p1, rel=1e-13)
    found = urap.audit()
    assert found.channel == pytest.approx(epsilon, abs=1e-12) and found.agrees


@pytest.mark.parametrize(("theta", "epsilon"), [(1 - 1e-6, 20.0), (1 - 1e-10, 40.0), (0.999, 40.0)])
def test_d2_near_zero_keeps_its_digits(theta: float, epsilon: float) -> None:
    urap = ldp.URAP(4, (1, 2), epsilon, theta)
    assert urap.d2 == pytest.approx((1 - theta) + theta * np.exp(-epsilon), rel=1e-15)
    audit = urap.audit()
    assert audit.channel == pytest.approx(epsilon, abs=1e-11) and audit.agrees


@each_urap
def test_channel_of_urap_is_the_definition(urap: ldp.URAP) -> None:
    reports, Q = every_report(urap)
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, atol=1e-12)
    codes, found = report_codes(reports), urap.channel().matrix()
    merged = np.zeros(found.shape)
    np.add.at(merged.T, codes, Q.T)
    np.testing.assert_allclose(found, merged, rtol=1e-10, atol=1e-15)


def test_all_sensitive_is_krr_and_krappor() -> None:
    # to rounding; the columns of both are in one order
    for epsilon in (0.01, 1.0, 5.0):
        urr, krr = ldp.URR(JOBS, JOBS, epsilon), ldp.KRR(JOBS, epsilon)
        Q = krr.channel().matrix()
        np.testing.assert_allclose(urr.channel().matrix(), Q, rtol=0, atol=1e-15)
        assert urr.audit().sampler == pytest.approx(krr.audit().sampler, rel=1e-15)
        for theta in (None, 0.5, 0.8):
            urap = ldp.URAP(JOBS, JOBS, epsilon, theta)
            krappor = ldp.KRAPPOR(JOBS, epsilon, theta)
            Q = krappor.channel().matrix()
            np.testing.assert_allclose(urap.channel().matrix(), Q, rtol=0, atol=1e-15)
            assert urap.audit().sampler == pytest.approx(krappor.audit().sampler, rel=1e-12)
            assert urap.format.packed_bits == 8


# -- the law of the reports, noise included ------------------------------------------------------


@pytest.mark.parametrize("name", ["some", "one", "theta", "none", "all"])
def test_reports_have_the_law_of_all_their_bits(name: str) -> None:
    urap = URAPS[name]
    reports, Q = every_report(urap)
    number = {y.tobytes(): i for i, y in enumerate(reports.y)}
    rng, n = np.random.default_rng(5), 60_000
    for x, label in enumerate(urap.categories):
        made = urap.privatize(np.repeat(np.array([label]), n), rng)
        observed = np.bincount([number[y.tobytes()] for y in made.y], minlength=Q.shape[1])
        assert not observed[Q[x] == 0.0].any()
        expected = n * Q[x]
        small = (expected < 5) & (expected > 0)
        cells = np.append(observed[expected >= 5], observed[small].sum())
        means = np.append(expected[expected >= 5], expected[small].sum())
        chi2 = ((cells - means)[means > 0] ** 2 / means[means > 0]).sum()
        # 1e-6 of each of 18 tests: with a fixed seed a failure means a wrong law
        assert stats.chi2.sf(chi2, max((means > 0).sum() - 1, 1)) > 1e-6
