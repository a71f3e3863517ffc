"""URR and URAP against exact enumeration: law, guarantee, moments, counts, fits and bad input."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grid import distribution, expected_counts, hidden, packed, patterns, report_codes
from scipy import stats

import ldpstats as ldp
from ldpstats.channels.structured import Uniformised
from ldpstats.errors import BoundaryWarning
from ldpstats.estimators.mle import MLE
from ldpstats.io import read_counts
from ldpstats.mechanisms import lump
from ldpstats.privacy import uldp
from ldpstats.problems.covariance import uniformised, uniformised_fpe16

JOBS = ("nurse", "teacher", "driver", "cook", "clerk")
LEVELS = {"cook": 0.5, "nurse": 2.0}
MECHANISMS: dict[str, Any] = {
    "urr": ldp.URR(JOBS, {"nurse", "cook"}, epsilon=1.0),
    "urr-levels": ldp.URR(JOBS, epsilon=LEVELS),
    "urap": ldp.URAP(JOBS, {"nurse", "cook"}, epsilon=1.0),
    "urap-theta": ldp.URAP(JOBS, ["cook"], epsilon=1.5, theta=0.4),
}
URAPS: dict[str, ldp.URAP] = {
    "some": ldp.URAP(JOBS, {"nurse", "cook"}, epsilon=1.0),
    "one": ldp.URAP(3, [1], epsilon=0.3),
    "none": ldp.URAP(3, [], epsilon=0.3),
    "all": ldp.URAP(3, range(3), epsilon=0.8),
    "theta": ldp.URAP(4, [3, 0, 2], epsilon=2.0, theta=0.35),
    "strong": ldp.URAP(4, [2, 3], epsilon=1e-3),
    "weak": ldp.URAP(4, [2, 3], epsilon=12.0, theta=0.999),
}
each = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS.keys())
each_urap = pytest.mark.parametrize("urap", URAPS.values(), ids=URAPS.keys())


def theta_of(urap: ldp.URAP) -> float:
    """MK19's choice where none is given."""
    half = np.exp(urap.epsilon / 2)
    return float(half / (half + 1)) if urap.theta is None else urap.theta


def bit_laws(urap: ldp.URAP) -> np.ndarray:
    """P(bit j = 1 | x) by MK19 eq. 9 and 10, shape (k, k); rows are categories."""
    e, theta, S = np.exp(urap.epsilon), theta_of(urap), hidden(urap)
    d1 = theta / ((1 - theta) * e + theta)
    d2 = ((1 - theta) * e + theta) / e if S.any() else 0.0
    return np.where(np.eye(urap.k, dtype=bool), np.where(S, theta, 1 - d2), np.where(S, d1, 0.0))


def every_report(urap: ldp.URAP) -> tuple[ldp.Reports, np.ndarray]:
    """All reports with the noise around revealed answers, and their channel by MK19 eq. 8."""
    bits = patterns(urap.k)
    q = bit_laws(urap)[:, None, :]
    Q = np.where(bits, q, 1 - q).prod(axis=2)
    made = Q.any(axis=0)
    text = ["".join("01"[b] for b in row) for row in bits[made].astype(int)]
    return urap.parse("report", text), Q[:, made]


def answers(mechanism: Any, n: int, seed: int, p: np.ndarray | None = None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    law = distribution(mechanism.k) if p is None else p
    return np.asarray(mechanism.categories)[rng.choice(mechanism.k, size=n, p=law)]


def survey(mechanism: Any, n: int, seed: int, p: np.ndarray | None = None) -> ldp.Reports:
    rng = np.random.default_rng(1000 + seed)
    reports: ldp.Reports = mechanism.privatize(answers(mechanism, n, seed, p), rng)
    return reports


def dense(reports: ldp.Reports) -> ldp.Reports:
    """The same reports as those of a mechanism that is just a matrix."""
    mechanism = reports.mechanism
    outputs = tuple(f"report {y}" for y in range(mechanism.channel().matrix().shape[1]))
    custom = ldp.CustomMechanism(mechanism.channel().matrix(), mechanism.categories, outputs)
    return ldp.Reports(report_codes(reports), custom)


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


def test_all_sensitive_is_estimated_as_krr_and_krappor() -> None:
    n = [31, 12, 40, 9, 8]
    pairs: list[tuple[Any, Any]] = [
        (ldp.URR(JOBS, JOBS, 0.7).counts(n), ldp.KRR(JOBS, 0.7).counts(n)),
    ]
    krappor = survey(ldp.KRAPPOR(JOBS, 0.7), 500, seed=1)
    pairs.append((ldp.Reports(krappor.y, ldp.URAP(JOBS, JOBS, 0.7)).tally(), krappor.tally()))
    for one, two in pairs:
        for name in ("mle", "em", "inversion", "projected", "thresholded", "nnls"):
            a, b = (ldp.FrequencyModel(c).fit(name) for c in (one, two))
            np.testing.assert_allclose(a.params, b.params, atol=1e-9)
            np.testing.assert_allclose(a.linear_bse, b.linear_bse, rtol=1e-9)
        a, b = (ldp.FrequencyModel(c).fit() for c in (one, two))
        np.testing.assert_allclose(a.conf_int(), b.conf_int(), atol=1e-7)
        np.testing.assert_allclose(a.bse, b.bse, rtol=1e-6)


@pytest.mark.parametrize("make", [ldp.URR, ldp.URAP])
def test_none_sensitive_is_the_identity(make: Any) -> None:
    mechanism = make(JOBS, (), 0.5)
    values = answers(mechanism, 300, seed=1)
    reports = mechanism.privatize(values, np.random.default_rng(1))
    if make is ldp.URR:
        np.testing.assert_array_equal(mechanism.channel().matrix(), np.eye(5))
        np.testing.assert_array_equal(mechanism.report_labels(reports), values)
    else:
        np.testing.assert_array_equal(mechanism.channel().matrix(), np.eye(5))
        np.testing.assert_array_equal(
            np.asarray(JOBS)[mechanism.format.unpack(reports.y).argmax(1)], values
        )
        assert mechanism.d2 == 0.0 and mechanism.told == 1.0
    shares = pd.Series(values).value_counts(normalize=True).reindex(JOBS)
    for name in ("mle", "inversion", "thresholded", "em"):
        results = ldp.FrequencyModel(reports).fit(name)
        np.testing.assert_allclose(results.params, shares, atol=1e-12)
    se = np.sqrt(shares * (1 - shares) / 300)
    np.testing.assert_allclose(results.linear_bse, se, rtol=1e-12)
    certificate = uldp(mechanism)
    assert (certificate.epsilon, certificate.n_protected, certificate.n_invertible) == (0, 0, 5)
    assert mechanism.audit().sampler == 0.0


def test_one_of_two_is_mangat() -> None:
    for epsilon in (0.2, 1.0, 4.0):
        urr = ldp.URR(("no", "yes"), ["yes"], epsilon)
        mangat = ldp.Mangat(p=-np.expm1(-epsilon)).channel().matrix()
        np.testing.assert_allclose(urr.channel().matrix(), mangat, rtol=0, atol=1e-15)


# -- what is guaranteed, category by category ----------------------------------------------------


def ratio(Q: np.ndarray, x: int, other: int, protected: list[int]) -> float:
    return max(np.log(Q[x, y] / Q[other, y]) for y in protected)


@pytest.mark.parametrize(
    "levels",
    [
        {0: 1.0, 3: 2.0},
        {0: 0.1, 1: 0.1, 2: 8.0},
        {i: 0.3 * (i + 1) for i in range(5)},
        {4: 1e-6, 0: 3.0, 2: 1.0, 1: 10.0},
    ],
)
def test_each_category_has_its_own_epsilon(levels: dict[int, float]) -> None:
    urr = ldp.URR(5, epsilon=levels)
    assert urr.sensitive.tolist() == sorted(levels)
    assert urr.levels == tuple(levels[x] for x in sorted(levels))
    assert urr.epsilon == max(levels.values())
    Q, G, protected = urr.channel().matrix(), urr.pair_epsilon(), sorted(levels)
    a = 1 / (1 + sum(1 / np.expm1(eps) for eps in levels.values()))
    for y, eps in levels.items():
        assert Q[y - 1, y] == pytest.approx(a / np.expm1(eps), rel=1e-12)
    for x in range(5):
        for other in range(5):
            if x == other:
                assert G[x, other] == 0.0
            elif x in levels:
                assert ratio(Q, x, other, protected) == pytest.approx(levels[x], abs=1e-12)
                assert G[x, other] == levels[x]
            else:
                assert ratio(Q, x, other, protected) <= 1e-15 and G[x, other] == 0.0
    assert urr.audit().agrees
    assert urr.audit().channel == pytest.approx(urr.epsilon, abs=1e-12)
    assert uldp(urr).epsilon == pytest.approx(urr.epsilon, abs=1e-12)


def test_equal_levels_are_one_epsilon() -> None:
    one = ldp.URR(JOBS, {"nurse", "cook"}, 1.5)
    for other in (
        ldp.URR(JOBS, epsilon={"cook": 1.5, "nurse": 1.5}),
        ldp.URR(JOBS, ["cook", "nurse"], epsilon={"nurse": 1.5, "cook": 1.5}),
        ldp.URR(JOBS, ["cook", "nurse"], 1.5, levels=[1.5, 1.5]),
    ):
        assert one == other and one.fingerprint == other.fingerprint and other.levels is None
    assert ldp.URR(JOBS, ["cook", "nurse"], 2.0, (2.0, 0.5)) == MECHANISMS["urr-levels"]
    assert MECHANISMS["urr-levels"] != ldp.URR(JOBS, epsilon={"cook": 2.0, "nurse": 0.5})


@pytest.mark.parametrize("high", [10.0, 25.0, 30.0, 40.0, 50.0])
@pytest.mark.parametrize("low", [1e-6, 0.1, 1.0])
def test_levels_far_apart_do_not_leak_by_rounding(low: float, high: float) -> None:
    # the law of a replaced answer is far from uniform: 64-bit integers hold few of the rare ones
    audit = ldp.URR(5, epsilon={0: low, 1: high, 2: 0.5}).audit()
    assert audit.channel == pytest.approx(high, rel=1e-12)
    assert audit.agrees and audit.sampler <= high * (1 + 1e-9)


def leaky(mechanism: Any, b: list[float]) -> Any:
    """The mechanism with another background, which its declaration does not know of."""
    mechanism.__dict__["_channel"] = Uniformised(mechanism.k, 1.0 - sum(b), np.array(b))
    return mechanism


def test_audit_catches_a_category_that_leaks() -> None:
    # negative control: the background of one category lowered by a thousandth, the larger epsilon
    # of the other untouched
    for levels, low in (({0: 1.0, 2: 3.0}, 0), ({0: 1.0, 2: 1.0}, 2), ({0: 1.0, 2: 3.0}, 2)):
        urr = ldp.URR(4, epsilon=levels)
        b = np.asarray(urr.channel().b).copy()
        assert urr.audit().agrees
        b[low] *= 0.999
        audit = leaky(ldp.URR(4, epsilon=levels), b.tolist()).audit()
        assert not audit.agrees and "DO NOT AGREE" in str(audit)
        # a + b is what it was: ln (a + b) / b grows by as much as b was lowered
        assert audit.channel == pytest.approx(urr.epsilon - np.log(0.999), abs=1e-12)
        with pytest.raises(ldp.InvalidArgument, match="leaks more"):
            leaky(ldp.URR(4, epsilon=levels), b.tolist()).client()


@pytest.mark.parametrize(
    ("name", "factor"), [("d1", 0.999), ("d1", 1.001), ("d2", 0.999), ("p1", 1.001)]
)
def test_audit_catches_a_coefficient_that_leaks(name: str, factor: float) -> None:
    right = ldp.URAP(4, (0, 2), epsilon=1.0, theta=0.6)
    value = factor * getattr(right, name)
    wrong = type("URAP", (ldp.URAP,), {name: property(lambda self: value)})
    found = wrong(4, (0, 2), epsilon=1.0, theta=0.6).audit()
    assert right.audit().agrees
    # more noise around other answers is less private too: a clear bit tells the owner apart
    assert found.agrees == (name == "d1" and factor > 1) or found.channel > 1.0 + 1e-6


def test_audit_says_what_is_protected() -> None:
    for mechanism in MECHANISMS.values():
        audit = mechanism.audit()
        assert audit.sensitive == (len(mechanism.sensitive), 5)
        assert f"{len(mechanism.sensitive)} of 5 categories are protected" in str(audit)
        assert json.loads(json.dumps(audit.to_dict()))["agrees"]


def test_certificate_names_the_reports() -> None:
    found = uldp(MECHANISMS["urr"])
    assert found.protected.tolist() == [0, 3] and found.invertible.tolist() == [1, 2, 4]
    found = uldp(MECHANISMS["urap"])
    assert (found.n_protected, found.n_invertible) == (4, 3)
    # a category that is not sensitive cannot be declared so afterwards
    assert not uldp(MECHANISMS["urr"], ["nurse", "cook", "clerk"]).holds
    assert not uldp(MECHANISMS["urap"], ["clerk"]).holds
    # to protect fewer categories is no stronger demand
    assert uldp(MECHANISMS["urr"], ["nurse"]).epsilon == pytest.approx(1.0, abs=1e-12)


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


def test_noise_around_what_is_revealed_is_that_of_anyone() -> None:
    # given that the answer is revealed, bits of sensitive categories are d1, independently
    urap = ldp.URAP(7, (0, 1, 2, 4), epsilon=0.5)
    n = 60_000
    reports = urap.privatize(np.full(n, 5), np.random.default_rng(6))
    told = urap.format.revealed(reports.y) > 0
    assert abs(told.mean() - urap.told) < 5 * np.sqrt(urap.told * urap.d2 / n)
    bits = urap.format.unpack(reports.y)[told][:, [0, 1, 2, 4]]
    se = np.sqrt(urap.d1 * (1 - urap.d1) / told.sum())
    assert np.all(np.abs(bits.mean(axis=0) - urap.d1) < 5 * se)
    correlation = np.corrcoef(bits.T) - np.eye(4)
    assert np.abs(correlation).max() < 5 / np.sqrt(told.sum())
    assert reports.tally().noise.tolist() == [*bits.sum(axis=0)[:3], 0, bits.sum(axis=0)[3], 0, 0]


# -- moments: unbiased, and their covariance, exactly --------------------------------------------


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


def test_covariances_of_the_vector_background() -> None:
    for name in ("urr", "urr-levels"):
        channel, p, n = MECHANISMS[name].channel(), distribution(5), 700
        Q = channel.matrix()
        J = n * (Q / (p @ Q)) @ Q.T
        inverse = np.linalg.inv(J)
        np.testing.assert_allclose(
            uniformised_fpe16(p, channel.a, channel.b, n).matrix(), inverse, atol=1e-14
        )
        found = uniformised(p, channel.a, channel.b, n).matrix()
        np.testing.assert_allclose(found, inverse - np.outer(p, p) / n, atol=1e-14)


@pytest.mark.parametrize("mechanism", [MECHANISMS["urap"], MECHANISMS["urr-levels"]])
def test_drawn_counts_give_unbiased_estimates_with_their_covariance(mechanism: Any) -> None:
    rng, p, R, n = np.random.default_rng(8), distribution(5), 3000, 400
    draws = [mechanism.draw(p, n, rng) for _ in range(R)]
    found = np.array([mechanism.moments(c).estimate()[0] for c in draws])
    V = mechanism.moments(draws[0]).covariance(p).matrix()
    z = (found.mean(axis=0) - p) / np.sqrt(np.diag(V) / R)
    assert np.abs(z).max() < 5
    # a variance of 3000 draws has a relative standard error of 2.6 %
    np.testing.assert_allclose(found.var(axis=0), np.diag(V), rtol=0.13)


# -- counts --------------------------------------------------------------------------------------


def same_counts(one: ldp.Counts, two: ldp.Counts) -> None:
    """Equal as multisets: wide patterns are kept in the order in which they came."""

    def table(counts: ldp.Counts) -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        for y, n in zip(counts.y, counts.n.tolist(), strict=True):
            found[y.tobytes()] = found.get(y.tobytes(), 0) + n
        return found

    assert table(one) == table(two)
    assert one.n_missing == two.n_missing
    np.testing.assert_array_equal(one.noise, two.noise)


WIDE = ldp.URAP(90, range(5, 80), epsilon=1.0)


@pytest.mark.parametrize("urap", [*URAPS.values(), WIDE], ids=[*URAPS, "wide"])
def test_counts_do_not_depend_on_order_or_chunks(urap: ldp.URAP) -> None:
    reports = survey(urap, 900, seed=2)
    whole, sums = reports.tally(), reports.tally(bits=True)
    bits = urap.format.unpack(reports.y)
    assert whole.nobs == sums.nobs == 900
    np.testing.assert_array_equal(sums.ones[0], bits.sum(axis=0))
    np.testing.assert_array_equal(whole.bit_counts().ones, sums.ones)
    rng = np.random.default_rng(3)
    order = rng.permutation(900)
    parts = [ldp.Reports(reports.y[order[i::7]], urap) for i in range(7)]
    same_counts(sum((part.tally() for part in parts), start=urap.no_counts()), whole)
    same_counts(sum(part.tally() for part in parts[::-1]), whole)
    together = sum(part.tally(bits=True) for part in parts)
    np.testing.assert_array_equal(together.ones, sums.ones)
    same_counts(urap.no_counts() + whole + urap.no_counts(), whole)
    # an empty Counts is the start of either sum
    np.testing.assert_array_equal((urap.no_counts() + sums).ones, sums.ones)
    told = urap.format.revealed(whole.y) > 0
    assert not whole.y[told, : urap.format._width].any(), "what is counted has no noise"
    assert len(np.unique(urap.format.revealed(whole.y)[told])) == told.sum(), (
        "a row per revealed answer"
    )


@pytest.mark.parametrize("urap", [*URAPS.values(), WIDE], ids=[*URAPS, "wide"])
def test_counts_from_text_and_frames(urap: ldp.URAP, tmp_path: Any) -> None:
    reports = survey(urap, 300, seed=3)
    text = urap.report_labels(reports)
    assert all(len(t) == urap.k and set(t) <= {"0", "1"} for t in text)
    bits = urap.format.unpack(reports.y)
    assert ["".join("01"[b] for b in row) for row in bits.astype(int)] == text.tolist()
    np.testing.assert_array_equal(urap.parse("report", text).y, reports.y)
    frame = pd.DataFrame({"report": text})
    whole = reports.tally()
    same_counts(ldp.Counts.from_frame(frame, urap), whole)
    grouped = frame.value_counts("report").rename("count").reset_index()
    same_counts(ldp.Counts.from_frame(grouped, urap, count="count"), whole)
    gaps = pd.concat([frame, pd.DataFrame({"report": [None, None]})])
    found = ldp.Counts.from_frame(gaps, urap, missing="count")
    assert found.n_missing == 2
    np.testing.assert_array_equal(found.bit_counts().ones, whole.bit_counts().ones)
    frame.to_csv(tmp_path / "reports.csv", index=False)
    same_counts(read_counts(tmp_path / "reports.csv", urap, chunk_rows=37), whole)
    summed = read_counts(tmp_path / "reports.csv", urap, chunk_rows=37, bits=True)
    np.testing.assert_array_equal(summed.ones, whole.bit_counts().ones)
    client = urap.client(allow_no_privacy=not len(urap.sensitive))
    assert len(urap.parse("report", [client.report(urap.categories[-1])])) == 1


def test_reports_left_whole_have_the_same_likelihood() -> None:
    urap = URAPS["some"]
    reports = survey(urap, 500, seed=4)
    y, n = np.unique(reports.y, axis=0, return_counts=True)
    whole, condensed = ldp.Counts(y, n, urap), reports.tally()
    assert len(y) > len(condensed.y)
    one, two = urap.likelihood(whole), urap.likelihood(condensed)
    for p in (distribution(5), distribution(5)[::-1]):
        assert one.loglike(p) == pytest.approx(two.loglike(p), rel=1e-13)
        np.testing.assert_allclose(one.score(p), two.score(p), rtol=1e-12)
    np.testing.assert_array_equal(whole.bit_counts().ones, condensed.bit_counts().ones)
    same_counts(urap.no_counts() + whole, condensed)


def test_patterns_and_sums_do_not_add_up() -> None:
    reports = survey(URAPS["some"], 20, seed=4)
    with pytest.raises(ldp.NotAvailable, match="bit_counts"):
        reports.tally() + reports.tally(bits=True)
    with pytest.raises(ldp.MechanismMismatch, match="FrequencyModel"):
        reports.tally() + survey(URAPS["one"], 20, seed=4).tally()


@pytest.mark.parametrize("others", [1, 255, 256, 65535, 65536])
def test_number_of_a_revealed_answer_takes_the_bytes_it_needs(others: int) -> None:
    k = others + 3
    urap = ldp.URAP(k, (0, 1, k - 1), epsilon=2.0)
    width = 1 + (1 if others < 256 else 2 if others < 65536 else 4)
    values = np.array([k - 2, 2, 2 + others // 2, 0, k - 1] * 40)
    reports = urap.privatize(values, np.random.default_rng(1))
    assert reports.y.shape == (200, width) and urap.format.packed_bits == 8 * width
    revealed = urap.format.revealed(reports.y)
    told = revealed > 0
    np.testing.assert_array_equal(revealed[told] + 1, values[told])
    assert told.any() and not told[np.isin(values, (0, 1, k - 1))].any()
    counts = reports.tally()
    ones = counts.bit_counts().ones[0]
    np.testing.assert_array_equal(ones, reports.tally(bits=True).ones[0])
    np.testing.assert_array_equal(
        ones[2 : k - 1], np.bincount(values[told], minlength=k)[2 : k - 1]
    )
    if others < 65535:
        text = urap.report_labels(reports)
        np.testing.assert_array_equal(urap.parse("report", text).y, reports.y)
    beyond = reports.y.copy()
    beyond[0, 1:] = 255
    if others < 255 or others not in (255, 65535):
        with pytest.raises(ldp.InvalidArgument, match=f"beyond the {others} that are not"):
            ldp.Reports(beyond, urap)
    padded = reports.y.copy()
    padded[0, 0] |= 8
    with pytest.raises(ldp.InvalidArgument, match="padding must be zero"):
        ldp.Reports(padded, urap)


@pytest.mark.parametrize("mechanism", [*MECHANISMS.values(), WIDE])
def test_pickles(mechanism: Any) -> None:
    reports = survey(mechanism, 100, seed=5)
    again = pickle.loads(pickle.dumps(reports))
    assert again.mechanism == mechanism and hash(again.mechanism) == hash(mechanism)
    np.testing.assert_array_equal(again.y, reports.y)
    counts = pickle.loads(pickle.dumps(reports.tally()))
    np.testing.assert_array_equal(counts.noise, reports.tally().noise)
    results = ldp.FrequencyModel(counts).fit()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(results)).params, results.params)


# -- specifications ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [ldp.URR, ldp.URAP])
@pytest.mark.parametrize(
    ("categories", "sensitive"),
    [
        (4, {3, 1}),
        (4, ()),
        (4, range(4)),
        (("b", "a", "c"), ["a"]),
        ((2.5, 1.5), (1.5,)),
        ((False, True), [True]),
        ((1, "x", 2.5), ["x", 2.5]),
        ((10, 20, 30), np.array([30, 10])),
        (pd.Categorical(["lo", "hi", "lo"], categories=["lo", "mid", "hi"]), pd.Series(["mid"])),
    ],
)
def test_specification_keeps_labels(make: Any, categories: Any, sensitive: Any) -> None:
    mechanism = make(categories, sensitive, 1.25)
    again = ldp.mechanism_from_dict(json.loads(json.dumps(mechanism.to_dict())))
    assert again == mechanism and type(again) is type(mechanism)
    assert again.sensitive.tolist() == mechanism.sensitive.tolist()
    assert [type(v) for v in again.sensitive] == [type(v) for v in mechanism.sensitive]
    positions = mechanism.categories.get_indexer(mechanism.sensitive)
    assert list(positions) == sorted(positions), "in category order"
    assert mechanism.audit().agrees


def test_specifications_that_differ_have_other_fingerprints() -> None:
    made = [
        ldp.URR(3, (0,), 1.0),
        ldp.URR(3, (1,), 1.0),
        ldp.URR(3, (0, 1), 1.0),
        ldp.URR(3, (0, 1), 1.1),
        ldp.URR(3, epsilon={0: 1.0, 1: 1.1}),
        ldp.URR(3, (), 1.0),
        ldp.URAP(3, (0,), 1.0),
        ldp.URAP(3, (0,), 1.0, 0.5),
        ldp.URAP(3, (), 1.0),
        ldp.KRR(3, 1.0),
    ]
    assert len({m.fingerprint for m in made}) == len(made)
    assert ldp.URR(3, {2, 0}, 1.0) == ldp.URR(3, (0, 2), 1.0) == ldp.URR(3, [2, 0], 1)


def test_a_specification_by_hand_is_checked() -> None:
    document = ldp.URR(3, epsilon={0: 1.0, 1: 2.0}).to_dict()
    for change in ({"levels": [1.0]}, {"epsilon": 1.0}, {"sensitive": [0, 5]}, {"sensitive": "01"}):
        with pytest.raises(ldp.InvalidArgument):
            ldp.mechanism_from_dict(document | change)
    with pytest.raises(ldp.InvalidArgument, match="has the fields"):
        ldp.URR.from_dict({k: v for k, v in document.items() if k != "levels"})


# -- estimates, intervals and tests --------------------------------------------------------------


@each
def test_likelihood_fits_are_those_of_the_matrix(mechanism: Any) -> None:
    reports = survey(mechanism, 800, seed=6)
    one, two = ldp.FrequencyModel(reports), ldp.FrequencyModel(dense(reports))
    for name in (MLE(tol=1e-12), "em", "cvxpy"):
        a, b = one.fit(name), two.fit(name)
        np.testing.assert_allclose(a.params, b.params, atol=1e-3 if name == "em" else 1e-6)
    a, b = one.fit(), two.fit()
    assert a.llf == pytest.approx(b.llf, abs=2e-3)
    p = distribution(5)
    information = [m.likelihood().information(p) for m in (one, two)]
    np.testing.assert_allclose(information[0], information[1], rtol=1e-9)


@each
def test_standard_errors_are_those_of_the_matrix(mechanism: Any) -> None:
    # expected information for URR as for the matrix; observed information for URAP: at n = 1e5
    # they differ by about a hundredth
    reports = survey(mechanism, 100_000, seed=7)
    a, b = (ldp.FrequencyModel(r).fit() for r in (reports, dense(reports)))
    np.testing.assert_allclose(a.bse, b.bse, rtol=1e-6 if mechanism.n_outputs else 0.03)
    np.testing.assert_allclose(a.bse, np.sqrt(np.diag(a.cov_params())), rtol=1e-12)


def interior(mechanism: Any) -> ldp.FrequencyModel:
    model = ldp.FrequencyModel(survey(mechanism, 4000, seed=8, p=np.full(5, 0.2)))
    assert not model.fit().on_boundary
    return model


@each
def test_profile_intervals_are_those_of_the_matrix(mechanism: Any) -> None:
    model = interior(mechanism)
    reports = survey(mechanism, 4000, seed=8, p=np.full(5, 0.2))
    other = ldp.FrequencyModel(dense(reports))
    a = model.fit().conf_int(method="profile", model=model)
    b = other.fit().conf_int(method="profile", model=other)
    np.testing.assert_allclose(a, b, atol=2e-3)  # of intervals 0.03 wide at least


@each
def test_bootstrap_intervals_are_as_wide_as_the_others(mechanism: Any) -> None:
    model = interior(mechanism)
    results = model.fit()
    drawn = results.conf_int(
        method="bootstrap", model=model, rng=np.random.default_rng(1), n_boot=100
    )
    width = (drawn.upper - drawn.lower) / (2 * 1.96 * results.bse)
    # the 2.5 % quantiles of 100 draws: about 15 per cent
    assert np.all(np.abs(width - 1) < 0.45)


@each
def test_presence_is_detected(mechanism: Any) -> None:
    p = np.array([0.4, 0.6, 0.0, 0.0, 0.0])
    model = ldp.FrequencyModel(survey(mechanism, 20_000, seed=9, p=p))
    results = model.fit()
    assert set(results.detected()) >= {"nurse", "teacher"}
    assert {"driver", "clerk"}.isdisjoint(results.detected()), "never reported"
    limits = results.conf_int()
    assert limits.lower["driver"] == 0.0 < limits.upper["driver"] < 0.01
    assert np.all(np.abs(results.linear_params - p) <= 5 * results.linear_bse)


def test_thresholded_estimate_of_what_cannot_be_noise_is_kept() -> None:
    # one report of a category that is not sensitive proves that it is there
    urr = MECHANISMS["urr"]
    results = ldp.FrequencyModel(urr.counts([500, 499, 0, 480, 1])).fit("thresholded")
    assert results.params["clerk"] > 0.0 and results.params["driver"] == 0.0
    assert results.params.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["urr", "urr-levels", "urap"])
def test_given_distribution_is_tested_with_its_size(name: str) -> None:
    # 400 surveys: the share of p-values below 0.05 has a standard error of 0.011
    mechanism, rng, p = MECHANISMS[name], np.random.default_rng(10), distribution(5)
    wrong = p[[1, 0, 2, 3, 4]]
    found = [ldp.FrequencyModel(mechanism.draw(p, 3000, rng)) for _ in range(400)]
    pvalues = np.array([model.test_distribution(p).pvalue for model in found])
    assert abs((pvalues < 0.05).mean() - 0.05) < 0.04
    assert stats.kstest(pvalues, "uniform").pvalue > 1e-4
    assert np.mean([model.test_distribution(wrong).pvalue < 0.05 for model in found[:50]]) > 0.9


def test_two_samples_of_urr_are_compared_by_pearson() -> None:
    urr = MECHANISMS["urr"]
    one, two = urr.counts([50, 40, 30, 20, 10]), urr.counts([40, 45, 25, 30, 12])
    found = ldp.two_sample_test(one, two)
    chi2 = stats.chi2_contingency(np.array([one.vector(), two.vector()]), correction=False)
    assert found.statistic == pytest.approx(chi2.statistic, rel=1e-12)
    assert found.df == 4 and found.pvalue == pytest.approx(chi2.pvalue, rel=1e-12)


@pytest.mark.parametrize(("a", "b"), [("urap", "urap"), ("urr", "urap"), ("urr", "urr-levels")])
def test_two_samples_are_compared_with_the_right_size(a: str, b: str) -> None:
    rng, p = np.random.default_rng(11), distribution(5)
    pvalues = []
    for _ in range(200):
        pair = [MECHANISMS[m].draw(p, 3000, rng) for m in (a, b)]
        pvalues.append(ldp.two_sample_test(*pair).pvalue)
    assert abs((np.array(pvalues) < 0.05).mean() - 0.05) < 0.05  # standard error 0.0154
    moved = [MECHANISMS[a].draw(p, 3000, rng), MECHANISMS[b].draw(p[::-1], 3000, rng)]
    assert ldp.two_sample_test(*moved).pvalue < 1e-6


NEVER = np.array([0.4, 0.3, 0.0, 0.3, 0.0])  # nobody is a driver or a clerk


@pytest.mark.parametrize(("a", "b"), [("urr", "urr"), ("urr", "urr-levels"), ("urap", "urr")])
def test_what_nobody_reports_does_not_stop_a_test(a: str, b: str) -> None:
    one, two = (survey(MECHANISMS[m], 3000, i, NEVER) for i, m in enumerate((a, b)))
    for method in ("default", "wald"):
        assert ldp.two_sample_test(one, two, method=method).pvalue > 1e-4
    for data in (one, two, [one, two]):
        model = ldp.FrequencyModel(data)
        assert model.test_distribution(NEVER).pvalue > 1e-4
        # p0 rules out what was reported
        wrong = np.array([0.4, 0.0, 0.3, 0.3, 0.0])
        assert model.test_distribution(wrong).pvalue < 1e-12
        assert model.fit().goodness_of_fit.pvalue > 1e-4


def test_what_nobody_reports_has_an_interval_in_several_sources() -> None:
    groups = [survey(MECHANISMS[m], 500, 40, NEVER) for m in ("urr", "urap")]
    results = ldp.FrequencyModel(groups).fit()
    limits = results.conf_int()
    # 3 / (n P(revealed)), the rule of three, up to the choice of tails
    revealed = 500 * (groups[0].mechanism.channel().a + groups[1].mechanism.told)
    assert np.all(limits.upper[["driver", "clerk"]] > 2.9 / revealed)
    assert np.all(limits.upper[["driver", "clerk"]] < 4.5 / revealed)
    assert {"driver", "clerk"}.isdisjoint(results.detected())


@each
def test_results_round_trip(mechanism: Any) -> None:
    results = ldp.FrequencyModel(survey(mechanism, 500, seed=12)).fit()
    again = type(results).from_dict(json.loads(json.dumps(results.to_dict())))
    np.testing.assert_array_equal(again.params, results.params)
    np.testing.assert_array_equal(again.conf_int(), results.conf_int())
    assert str(mechanism) in str(again.summary())
    assert results.goodness_of_fit is not None and results.goodness_of_fit.pvalue > 1e-3


# -- one likelihood over both sources ------------------------------------------------------------

KRR, KRAPPOR = ldp.KRR(JOBS, epsilon=0.8), ldp.KRAPPOR(JOBS, epsilon=0.8)
SOURCES = {
    "urr-krr": (MECHANISMS["urr"], KRR),
    "urap-krappor": (MECHANISMS["urap"], KRAPPOR),
    "urr-urap": (MECHANISMS["urr-levels"], MECHANISMS["urap"]),
    "urr-urr-krr": (MECHANISMS["urr"], MECHANISMS["urr-levels"], KRR),
    "none-krappor": (ldp.URAP(JOBS, (), 1.0), KRAPPOR),
}


@pytest.mark.parametrize("mechanisms", SOURCES.values(), ids=SOURCES.keys())
def test_several_sources_have_one_likelihood(mechanisms: tuple[Any, ...]) -> None:
    groups = [survey(m, 400, seed=20 + i) for i, m in enumerate(mechanisms)]
    one, two = ldp.FrequencyModel(groups), ldp.FrequencyModel([dense(r) for r in groups])
    a, b = (model.fit(MLE(tol=1e-12)) for model in (one, two))
    np.testing.assert_allclose(a.params, b.params, atol=1e-6)
    # and by hand, from the stacked matrix
    W = np.vstack([m.channel().matrix().T for m in mechanisms])
    n = np.concatenate(
        [
            np.bincount(report_codes(r), minlength=m.channel().matrix().shape[1])
            for r, m in zip(groups, mechanisms, strict=True)
        ]
    )
    W, n = W[n > 0], n[n > 0]
    assert (W.T @ (n / (W @ a.params.to_numpy()))).max() / n.sum() - 1 <= 1e-11
    for name in ("inversion", "projected", "nnls", "thresholded", "em"):
        np.testing.assert_allclose(one.fit(name).params, a.params, atol=0.2)
    assert one.fit().goodness_of_fit.pvalue > 1e-3


@pytest.mark.parametrize("mechanisms", SOURCES.values(), ids=SOURCES.keys())
def test_several_sources_are_pooled_without_bias(mechanisms: tuple[Any, ...]) -> None:
    p = distribution(5)
    groups = [expected_counts(m, p, 1e12) for m in mechanisms]
    for name in ("inversion", "projected", "nnls", "mle"):
        found = ldp.FrequencyModel(groups).fit(name).params
        np.testing.assert_allclose(found, p, atol=1e-5)


def test_another_source_sharpens_the_estimate() -> None:
    groups = [survey(m, 2000, seed=30) for m in SOURCES["urr-krr"]]
    alone = [ldp.FrequencyModel(r).fit() for r in groups]
    both = ldp.FrequencyModel(groups).fit()
    for single in alone:
        assert np.all(both.bse < single.bse)
        assert np.all(both.linear_bse < single.linear_bse)


# -- other views of the reports ------------------------------------------------------------------


@pytest.mark.parametrize("keep", [["nurse"], ["teacher"], ["cook", "driver"], ["clerk", "nurse"]])
@pytest.mark.parametrize("name", ["urr", "urr-levels"])
def test_lumped_reports_of_urr(name: str, keep: list[str]) -> None:
    urr = MECHANISMS[name]
    reports = survey(urr, 200, seed=13)
    lumped = lump(reports, keep)
    Q = urr.channel().matrix()
    kept = [JOBS.index(v) for v in keep]
    rest = [x for x in range(5) if x not in kept]
    merged = np.column_stack([Q[:, kept], Q[:, rest].sum(axis=1)])
    for x in rest:  # all of Other are alike: that is what makes it exact
        np.testing.assert_allclose(merged[x], merged[rest[0]], atol=1e-15)
    want = np.vstack([merged[kept], merged[rest[0]]])
    np.testing.assert_allclose(lumped.mechanism.channel().matrix(), want, atol=1e-15)
    position = {v: i for i, v in enumerate(keep)}
    labels = [position.get(v, len(keep)) for v in urr.report_labels(reports)]
    np.testing.assert_array_equal(lumped.y, labels)


def test_reports_of_urap_are_not_lumped() -> None:
    # what is sensitive and what is not differ within Other: a clear refusal
    with pytest.raises(ldp.NotAvailable, match=r"URAP.*lump"):
        lump(survey(MECHANISMS["urap"], 50, seed=14), ["nurse"])


def joint_survey(first: Any, second: Any, n: int, seed: int) -> tuple[ldp.Reports, ldp.Reports]:
    """Reports on two variables of which the second follows the first half of the time."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, first.k, n)
    y = np.where(rng.random(n) < 0.5, x % second.k, rng.integers(0, second.k, n))
    return (
        first.privatize(np.asarray(first.categories)[x], rng),
        second.privatize(np.asarray(second.categories)[y], rng),
    )


ABC = ("a", "b", "c")
JOINT = {
    "urr": ldp.URR(ABC, ["b", "c"], 1.5),
    "urr-levels": ldp.URR(ABC, epsilon={"b": 1.0, "c": 2.0}),
    "urap": ldp.URAP(ABC, ["a", "c"], 1.5),
    "urap-none": ldp.URAP(ABC, [], 1.5),
    "krr": ldp.KRR(4, 1.5),
    "krappor": ldp.KRAPPOR(4, 1.5),
}
PAIRS = [
    ("urr", "krr"),
    ("urr", "urr-levels"),
    ("urap", "krr"),
    ("urap", "krappor"),
    ("urap", "urr"),
    ("urap", "urap"),
    ("urap-none", "urap"),
]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_joint_likelihood_is_that_of_the_matrices(a: str, b: str) -> None:
    pair = joint_survey(JOINT[a], JOINT[b], 1500, seed=15)
    one, two = ldp.AssociationModel(*pair), ldp.AssociationModel(*map(dense, pair))
    for name in ("mle", "em"):
        x, y = one.fit(name), two.fit(name)
        np.testing.assert_allclose(x.params, y.params, atol=1e-3 if name == "em" else 1e-6)
    x, y = one.fit(), two.fit()
    for method in ("score", "lr"):
        p, q = (m.test_independence(r, method) for m, r in ((one, x), (two, y)))
        assert p.statistic == pytest.approx(q.statistic, rel=1e-5)
        assert p.df == q.df == 2 * (pair[1].mechanism.k - 1) and p.pvalue < 1e-3
    labels = not (JOINT[a].n_bits or JOINT[b].n_bits)
    for name in ("inversion", "moments-gls", "one_step", "projected"):
        # bits are used one by one in linear estimates, so that only labels give the same ones
        found, want = one.fit(name).params, two.fit(name).params
        np.testing.assert_allclose(found, want, atol=1e-9 if labels else 0.12)
    if labels:
        p, q = (m.test_independence(r, "pearson") for m, r in ((one, x), (two, y)))
        assert p.statistic == pytest.approx(q.statistic, rel=1e-12)
    else:
        with pytest.raises(ldp.NotAvailable, match="score"):
            one.test_independence(x, "pearson")
    margins = x.margins()
    assert [len(frame) for frame in margins.values()] == [JOINT[a].k, JOINT[b].k]
    again = type(x).from_dict(json.loads(json.dumps(x.to_dict())))
    np.testing.assert_array_equal(again.params, x.params)
    assert "URR" in str(x.summary()) or "URAP" in str(x.summary())


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_joint_linear_estimates_are_unbiased(a: str, b: str) -> None:
    # of every pair of reports, weighted by its law: exact
    first, second = JOINT[a], JOINT[b]
    laws = []
    for m in (first, second):
        if isinstance(m, ldp.URAP):
            laws.append(every_report(m))
        elif m.n_bits:
            laws.append((ldp.Reports(packed(patterns(m.n_bits)), m), m.channel().matrix()))
        else:
            laws.append((ldp.Reports(np.arange(m.n_outputs), m), m.channel().matrix()))
    rng = np.random.default_rng(16)
    P = rng.dirichlet(np.ones(first.k * second.k)).reshape(first.k, second.k)
    n = np.rint(1e12 * (laws[0][1].T @ P @ laws[1][1])).astype(np.int64)
    at = np.indices(n.shape).reshape(2, -1)
    parts = [ldp.Reports(law[0].y[i], law[0].mechanism) for law, i in zip(laws, at, strict=True)]
    counts = ldp.JointCounts(parts, n.reshape(-1))
    for name in ("inversion", "moments-gls", "one_step", "mle"):
        found = ldp.AssociationModel(counts).fit(name).params
        np.testing.assert_allclose(np.asarray(found).reshape(P.shape), P, atol=2e-5)


def test_joint_reports_without_association() -> None:
    # negative control of the tests above, and their size: 40 surveys, standard error 0.034
    rng, pvalues = np.random.default_rng(17), []
    for _ in range(40):
        x, y = rng.choice(ABC, (2, 400))
        pair = JOINT["urap"].privatize(x, rng), JOINT["urr"].privatize(y, rng)
        model = ldp.AssociationModel(*pair)
        pvalues.append(model.test_independence(model.fit("one_step"), "score").pvalue)
    assert (np.array(pvalues) < 0.05).mean() < 0.05 + 4 * 0.034


def test_other_in_a_joint_table() -> None:
    urr, krr = JOINT["urr"], JOINT["krr"]
    pair = joint_survey(urr, krr, 1500, seed=18)
    exact = ldp.AssociationModel(*pair, candidates=[["a"], None], other=True).fit()
    lumped = lump(pair[0], ["a"])
    same = ldp.AssociationModel(lumped, pair[1]).fit()
    np.testing.assert_allclose(exact.params, same.params, atol=1e-12)
    with pytest.raises(ldp.InvalidArgument, match="lumps exactly"):
        ldp.AssociationModel(*pair, candidates=[["a"], None], other="product")
    bits = joint_survey(JOINT["urap"], krr, 100, seed=18)
    with pytest.raises(ldp.NotAvailable, match="lump"):
        ldp.AssociationModel(*bits, candidates=[["a"], None], other=True)


# -- size ----------------------------------------------------------------------------------------


def test_a_million_categories_take_memory_of_order_k() -> None:
    k, rng = 10**6, np.random.default_rng(1)
    p = np.full(k, 1.0 / k)
    tracemalloc.start()
    urr = ldp.URR(k, range(0, k, 10), epsilon=2.0)
    results = ldp.FrequencyModel(urr.draw(p, 10**5, rng)).fit()
    audit, tally = urr.audit(), urr.privatize(rng.integers(0, k, 10**5), rng).tally()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * 8 * k  # bytes: forty numbers a category, where Q has a million
    assert results.params.sum() == pytest.approx(1.0) and audit.agrees
    assert results.gap <= 1e-12 and tally.nobs == 10**5


def test_the_audit_of_many_named_categories_is_quick_enough_to_end() -> None:
    # compared name by name these were 4e9 comparisons, many minutes
    k = 90_000
    names = [f"category {i}" for i in range(k)]
    assert ldp.URR(names, names[: k // 2], epsilon=1.0).audit().agrees


# -- bad input: the argument, what is wrong with it, and what to do ------------------------------

five: Callable[..., Any] = lambda *a, **k: ldp.URR(5, *a, **k)  # noqa: E731
bits: Callable[..., Any] = lambda *a, **k: ldp.URAP(5, *a, **k)  # noqa: E731
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "unknown": (lambda: five((0, 7), 1.0), r"sensitive\[1\]=7: is not among the 5 labels"),
    "unknown word": (lambda: bits(["nurse"], 1.0), r"sensitive\[0\]='nurse': is not among"),
    "twice": (lambda: five([1, 0, 1], 1.0), r"sensitive=1: .*twice.*once"),
    "a string": (lambda: ldp.URR(("a", "b"), "ab", 1.0), r"sensitive='ab': must be a set or list"),
    "a number": (lambda: bits(3, 1.0), r"sensitive=3: must be a set or list"),
    "a mask": (lambda: five([True, False] * 2 + [True], 1.0), r"sensitive\[0\]=True: is not among"),
    "NaN": (lambda: bits([np.nan], 1.0), r"sensitive=.*nan.*: holds a missing value"),
    "None": (lambda: five([0, None], 1.0), r"sensitive=.*: holds a missing value"),
    "nested": (lambda: five([[0, 1]], 1.0), r"sensitive=.*one-dimensional"),
    "no sensitive": (lambda: five(epsilon=1.0), r"sensitive=None: must be a set or list"),
    "no epsilon": (lambda: five((0, 1)), r"epsilon=None: must be a number"),
    "levels without epsilon": (lambda: five((0,), levels=(1.0,)), r"epsilon=None: .*largest"),
    "epsilon zero": (lambda: five((0,), 0.0), r"epsilon=0.0: must be a number from"),
    "epsilon NaN": (lambda: bits((0,), np.nan), r"epsilon=nan: must be a number from"),
    "epsilon bool": (lambda: bits((0,), True), r"epsilon=True: must be a number from"),
    "epsilon text": (lambda: five((0,), "1"), r"epsilon='1': must be a number from"),
    "epsilon infinite": (lambda: five((0,), np.inf), r"epsilon=inf: must be a number from"),
    "epsilon list": (lambda: five((0, 1), [1.0, 2.0]), r"epsilon=\[1.0, 2.0\]: must be a number"),
    "epsilon dict": (lambda: bits((0, 1), {0: 1, 1: 2}), r"epsilon=.*: must be a number from"),
    "one lacks": (lambda: five((0, 1), {0: 1.0}), r"epsilon=.*lacks the sensitive category 1"),
    "all lack": (lambda: five((0, 1), {}), r"epsilon=\{\}: lacks the sensitive category 0"),
    "empty dict": (lambda: five(epsilon={}), r"epsilon=\{\}: names no category"),
    "one more": (
        lambda: five((0, 1), {0: 1.0, 1: 1.0, 3: 2.0}),
        r"epsilon\[3\]=2.0: is of no sensitive category: leave it out",
    ),
    "unknown level": (lambda: five(epsilon={9: 1.0}), r"9: is not among the 5 labels"),
    "level zero": (lambda: five(epsilon={0: 1.0, 1: 0.0}), r"epsilon\[1\]=0.0: must be a number"),
    "level NaN": (lambda: five(epsilon={0: np.nan}), r"epsilon\[0\]=nan: must be a number"),
    "level bool": (lambda: five(epsilon={0: True}), r"epsilon\[0\]=True: must be a number"),
    "level text": (lambda: five(epsilon={2: "1"}), r"epsilon\[2\]='1': must be a number"),
    "few levels": (lambda: five((0, 1), 2.0, (2.0,)), r"levels=\(2.0,\): must be 2 epsilons"),
    "no one's level": (lambda: five((), 2.0, (2.0,)), r"levels=.*no category is sensitive"),
    "levels larger": (lambda: five((0, 1), 1.0, (1.0, 2.0)), r"epsilon=1.0: must be the largest"),
    "levels and dict": (lambda: five((0,), {0: 1.0}, (1.0,)), r"levels=\(1.0,\): goes without"),
    "theta zero": (lambda: bits((0,), 1.0, 0.0), r"theta=0.0: must be a probability in \(0, 1\)"),
    "theta one": (lambda: bits((0,), 1.0, 1), r"theta=1: must be a probability in \(0, 1\)"),
    "theta NaN": (lambda: bits((0,), 1.0, np.nan), r"theta=nan: must be a probability"),
    "theta bool": (lambda: bits((0,), 1.0, True), r"theta=True: must be a probability"),
    "theta text": (lambda: bits((0,), 1.0, "x"), r"theta='x': must be a probability"),
    "one category": (lambda: ldp.URR(1, (0,), 1.0), r"categories=1"),
    "sums too large": (lambda: bits((0,), 1.0).counts([6, 0, 0, 0, 0], 5), r"ones\[0, 0\]=6: "),
    "sums without n": (lambda: bits((0,), 1.0).counts([1, 0, 0, 0, 0]), r"nobs=None: is needed"),
    "too many revealed": (
        lambda: bits((0,), 1.0).counts([0, 3, 3, 0, 0], 5),
        r"say that 5 reports reveal 6 answers: each reveals one at most",
    ),
    "too few revealed": (
        lambda: bits((), 1.0).counts([1, 3, 0, 0, 0], 5),
        r"say that 4 of 5 reports reveal an answer: all do here",
    ),
    "two revealed": (
        lambda: bits((0,), 1.0).parse("report", ["10000", "01100"]),
        r"report\[1\]='01100': has two bits that are not sensitive",
    ),
    "none revealed": (
        lambda: bits((), 1.0).parse("report", ["10000", "00000"]),
        r"report\[1\]='00000': has no bit: none is sensitive",
    ),
    "none revealed, packed": (
        lambda: ldp.Reports(np.zeros((1, 1), np.uint8), bits((), 1.0)),
        r"y=.*reveals no category, although none is sensitive",
    ),
    "short report": (
        lambda: bits((0,), 1.0).parse("r", ["0101"]),
        r"r\[0\]='0101': .*5 characters",
    ),
    "a number as report": (
        lambda: bits((0,), 1.0).parse("r", [10000]),
        r"r\[0\]=.*10000.*: .*text",
    ),
    "report of a wrong width": (
        lambda: ldp.Reports(np.zeros((1, 1), np.uint8), bits((0,), 1.0)),
        r"y=.*packed reports of 16 bits",
    ),
    "noise of a wrong shape": (
        lambda: ldp.Counts(np.zeros((1, 2), np.uint8), [3], bits((0,), 1.0), noise=np.array([1])),
        r"noise=.*must be None, or 5 sums of bits",
    ),
    "noise too large": (
        lambda: ldp.Counts(np.zeros((1, 2), np.uint8), [3], bits((0,), 1.0), noise=[4, 0, 0, 0, 0]),
        r"noise=.*from 0 to the number of reports",
    ),
    "negative noise": (
        lambda: ldp.Counts(
            np.zeros((1, 2), np.uint8), [3], bits((0,), 1.0), noise=[-1, 0, 0, 0, 0]
        ),
        r"noise=.*from 0 to the number of reports",
    ),
    "noise of labels": (
        lambda: ldp.Counts(
            np.zeros(1, np.int64), [3], five((0,), 1.0), noise=np.zeros(5, np.int64)
        ),
        r"noise=.*must be None",
    ),
    "value": (
        lambda: five((0,), 1.0).privatize([5], np.random.default_rng(1)),
        r"values\[0\]=5: is not among the 5 labels",
    ),
    "code": (
        lambda: bits((0,), 1.0).privatize(np.array([0, 9]), np.random.default_rng(1)),
        r"values\[1\]=9: is not among the 5 labels",
    ),
    "candidates": (lambda: bits((0,), 1.0).channel(["a"]), r"candidates= is for open alphabets"),
    "too many patterns": (
        lambda: ldp.URAP(40, range(30), 1.0).channel().matrix(),
        r"2\^30 patterns: use likelihood",
    ),
}


@pytest.mark.parametrize(("call", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input_says_what_to_do(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ldp.LDPError, match=words):
        call()


def test_intervals_on_the_boundary_warn() -> None:
    p = np.array([0.5, 0.5, 0, 0, 0])
    model = ldp.FrequencyModel(survey(MECHANISMS["urap"], 500, seed=19, p=p))
    with pytest.warns(BoundaryWarning, match="zero"):
        model.fit().conf_int(method="profile", model=model)


# -- what a review found ---------------------------------------------------------------------------


@pytest.mark.parametrize("theta", [1e-9, 0.3, 0.999999, 1 - 1e-12, 1 - 2.0**-53])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0])
def test_no_theta_leaks_by_rounding(theta: float, epsilon: float) -> None:
    for mechanism in (
        ldp.URAP(3, {0, 1}, epsilon, theta=theta),
        ldp.URAP(4, {2}, epsilon, theta=theta),
        ldp.KRAPPOR(3, epsilon, theta=theta),
    ):
        audit = mechanism.audit()
        assert audit.agrees, audit
        assert audit.channel == pytest.approx(epsilon, rel=1e-12) or theta > 0.99999


def test_theta_too_small_for_the_sampler_is_refused() -> None:
    for kind in (lambda t: ldp.URAP(3, {0}, 1.0, theta=t), lambda t: ldp.KRAPPOR(3, 1.0, theta=t)):
        with pytest.raises(ldp.InvalidArgument, match="theta=1e-20: must be at least 1e-09"):
            kind(1e-20)


def test_thousands_of_sensitive_categories_are_certified() -> None:
    urap = ldp.URAP(3000, range(1500), 1.0)
    assert urap.audit().agrees and urap.collector() is not None
    assert ldp.privacy.uldp(urap).n_protected == np.inf
    assert ldp.privacy.uldp(ldp.KRAPPOR(2000, 1.0)).epsilon == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(ldp.NotAvailable, match=r"2\^1500"):
        urap.channel().matrix()


@pytest.mark.parametrize("kind", [ldp.URR, ldp.URAP])
def test_bootstrap_intervals_lie_where_the_estimate_is(kind: Any) -> None:
    """The surveys are simulated from a law that keeps what is known nearly exactly."""
    mechanism = kind(tuple("abcde"), {"b", "d"}, 1.0)
    p = np.array([0.5, 0.2, 0.25, 0.05, 0.0])
    counts = mechanism.draw(p, 800, np.random.default_rng(6))
    model = ldp.FrequencyModel(counts)
    results = model.fit("inversion")
    rng = np.random.default_rng(0)
    with pytest.warns(ldp.BoundaryWarning):
        bounds = results.conf_int(method="bootstrap", model=model, rng=rng, n_boot=199)
    default = results.conf_int()
    told = ["a", "c", "e"]  # those that are not sensitive
    assert (bounds.loc[told, "lower"] <= results.params[told] + 1e-12).all()
    assert (results.params[told] <= bounds.loc[told, "upper"] + 1e-12).all()
    assert np.abs(bounds.loc[told] - default.loc[told]).to_numpy().max() < 0.03


def test_a_generator_of_sensitive_categories_is_a_list() -> None:
    made = ldp.URR(5, (i for i in (1, 3)), 1.0)
    assert made == ldp.URR(5, [1, 3], 1.0)


def test_specifications_are_plain_json() -> None:
    for made in (ldp.URR(3, epsilon={0: 0.5, 2: 1.0}), ldp.URAP(3, {1}, 1.0)):
        assert json.loads(json.dumps(made.to_dict())) == made.to_dict()


def test_modules_are_there_when_they_are_named() -> None:
    assert ldp.planning.best_theta(10, 3, 1.0).theta == pytest.approx(0.556, abs=1e-3)
    assert ldp.datasets and ldp.io and ldp.inference
    with pytest.raises(AttributeError, match="no attribute 'regression'"):
        ldp.regression  # noqa: B018


@pytest.mark.parametrize(
    "call",
    [
        lambda: ldp.privacy.post_process(ldp.URR(3, {0}, 1.0), [[10**400, 0, 0]] * 3),
        lambda: ldp.planning.personalized_bound([10**400, 0], [1, 0], [[1.0]], [[1.0]]),
        lambda: ldp.planning.best_theta(2, 1, 1.0, p=[10**400, 0]),
        lambda: ldp.mechanism_from_dict({"format": np.zeros(3)}),
        lambda: ldp.PUM.from_dict({"format": np.zeros(3)}),
        lambda: ldp.FrequencyResults.from_dict({"format": np.zeros(3)}),
        lambda: ldp.FrequencyResults.from_json(None),  # type: ignore[arg-type]
        lambda: ldp.URAP(3, {0}, 1.0).counts([[1], [2, 3]], 10),
        lambda: ldp.PUM(ldp.URR(3, {0}, 1.0), ("home",)).channel(np.array([])),
    ],
)
def test_odd_input_is_refused_in_words(call: Callable[[], Any]) -> None:
    with pytest.raises(ldp.LDPError, match=r"must|is not JSON"):
        call()
