"""Channels of URR and URAP: the papers' coefficients, special cases, the law of reports."""

import itertools
import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from grid import distribution, report_codes
from scipy import stats
from shared.refusals import refuses
from shared.sensitive_surveys import JOBS, MECHANISMS, URAPS, each_urap, every_report, theta_of

import ldpstats as ldp
from ldpstats.channels import Uniformised
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.privacy import uldp


# -- the coefficients of the paper, and what the mechanisms reduce to ----------------------------
@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, np.log(400), 12.0])
@pytest.mark.parametrize(("k", "S"), [(2, 1), (5, 1), (5, 3), (400, 76), (4, 4)])
def test_coefficients_of_urr(k, S, epsilon):
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
def test_coefficients_of_urap(epsilon, theta):
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
def test_d2_near_zero_keeps_its_digits(theta, epsilon):
    urap = ldp.URAP(4, (1, 2), epsilon, theta)
    assert urap.d2 == pytest.approx((1 - theta) + theta * np.exp(-epsilon), rel=1e-15)
    audit = urap.audit()
    assert audit.channel == pytest.approx(epsilon, abs=1e-11) and audit.agrees


@each_urap
def test_channel_of_urap_is_the_definition(urap):
    reports, Q = every_report(urap)
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, atol=1e-12)
    codes, found = report_codes(reports), urap.channel().matrix()
    merged = np.zeros(found.shape)
    np.add.at(merged.T, codes, Q.T)
    np.testing.assert_allclose(found, merged, rtol=1e-10, atol=1e-15)


def test_all_sensitive_is_krr_and_krappor():
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
def test_reports_have_the_law_of_all_their_bits(name):
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


# What URR and URAP guarantee, category by category, and an audit that catches leaks.


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
def test_each_category_has_its_own_epsilon(levels):
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


def test_equal_levels_are_one_epsilon():
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
def test_levels_far_apart_do_not_leak_by_rounding(low, high):
    # the law of a replaced answer is far from uniform: 64-bit integers hold few of the rare ones
    audit = ldp.URR(5, epsilon={0: low, 1: high, 2: 0.5}).audit()
    assert audit.channel == pytest.approx(high, rel=1e-12)
    assert audit.agrees and audit.sampler <= high * (1 + 1e-9)


def leaky(mechanism: Any, b: list[float]) -> Any:
    """The mechanism with another background, which its declaration does not know of."""
    mechanism.__dict__["_channel"] = Uniformised(mechanism.k, 1.0 - sum(b), np.array(b))
    return mechanism


def test_audit_catches_a_category_that_leaks():
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
def test_audit_catches_a_coefficient_that_leaks(name, factor):
    right = ldp.URAP(4, (0, 2), epsilon=1.0, theta=0.6)
    value = factor * getattr(right, name)
    wrong = type("URAP", (ldp.URAP,), {name: property(lambda self: value)})
    found = wrong(4, (0, 2), epsilon=1.0, theta=0.6).audit()
    assert right.audit().agrees
    # more noise around other answers is less private too: a clear bit tells the owner apart
    assert found.agrees == (name == "d1" and factor > 1) or found.channel > 1.0 + 1e-6


def test_a_million_categories_take_memory_of_order_k():
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


@pytest.mark.parametrize("theta", [1e-9, 0.3, 0.999999, 1 - 1e-12, 1 - 2.0**-53])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0])
def test_no_theta_leaks_by_rounding(theta, epsilon):
    for mechanism in (
        ldp.URAP(3, {0, 1}, epsilon, theta=theta),
        ldp.URAP(4, {2}, epsilon, theta=theta),
        ldp.KRAPPOR(3, epsilon, theta=theta),
    ):
        audit = mechanism.audit()
        assert audit.agrees, audit
        assert audit.channel == pytest.approx(epsilon, rel=1e-12) or theta > 0.99999


# Linear estimates of URR and URAP: unbiased, and their covariance, exactly.


@each_urap
def test_linear_estimate_of_urap_is_unbiased_with_its_covariance(urap):
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
def test_linear_estimate_of_urr_is_unbiased_with_its_covariance(name):
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


# An epsilon for each sensitive category of URAP, and for each tag of PUM.

LEVELS: dict[str, dict[str, Any]] = {
    "two": {"categories": 5, "epsilon": {0: 1.0, 3: 2.0}},
    "alike": {"categories": 4, "epsilon": {0: 0.1, 1: 0.1, 2: 8.0}},
    "all": {"categories": 5, "epsilon": {i: 0.3 * (i + 1) for i in range(5)}},
    "far": {"categories": 5, "epsilon": {4: 1e-3, 0: 3.0, 2: 1.0, 1: 10.0}},
    "theta": {"categories": 4, "epsilon": {1: 0.5, 2: 1.5}, "theta": 0.4},
    "theta near one": {"categories": 3, "epsilon": {1: 0.5, 2: 1.5}, "theta": 0.999},
    "theta small": {"categories": 3, "epsilon": {0: 0.5, 2: 4.0}, "theta": 1e-3},
    "two categories": {"categories": 2, "epsilon": {0: 0.5, 1: 4.0}},
}


def ratios(Q: np.ndarray, protected: int) -> np.ndarray:
    """Largest ln Q[x, y] / Q[x', y] over the protected reports y, shape (k, k)."""
    L = np.log(Q[:, :protected])
    return np.asarray((L[:, None] - L[None]).max(axis=2))


@pytest.mark.parametrize("name", LEVELS)
def test_each_category_has_its_own_epsilon_levels(name):
    """By brute force over all pairs and all protected reports; the bound is reached."""
    urap = ldp.URAP(**LEVELS[name])
    levels, k = LEVELS[name]["epsilon"], urap.k
    Q, G = urap.channel().matrix(), urap.pair_epsilon()
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, atol=1e-13)
    found = ratios(Q, 2 ** len(levels))
    for x, other in itertools.permutations(range(k), 2):
        assert G[x, other] == levels.get(x, 0.0)
        assert found[x, other] == pytest.approx(G[x, other], abs=2e-12)
    audit = urap.audit()
    assert audit.agrees and audit.declared == max(levels.values())
    assert audit.channel == pytest.approx(urap.epsilon, abs=2e-12)
    assert audit.sampler <= urap.epsilon + 1e-9
    assert ldp.privacy.uldp(urap).epsilon == pytest.approx(urap.epsilon, abs=2e-12)


@pytest.mark.parametrize("theta", [None, 1e-9, 0.5, 1.0 - 1e-9])
def test_no_levels_leak_by_rounding(theta):
    for levels in (
        {0: 1e-6, 1: 50.0},
        {0: 50.0, 1: 50.0 - 1e-9},
        {0: 1e-6, 1: 1e-6 + 1e-9},
        {0: 50.0, 1: 1.0, 2: 25.0},
        {0: 0.1, 1: 40.0},
    ):
        for k in (len(levels), len(levels) + 1, 1000):
            audit = ldp.URAP(k, epsilon=levels, theta=theta).audit()
            assert audit.agrees, (levels, k, audit)


def test_equal_levels_are_one_epsilon_levels():
    one = ldp.URAP(4, {1, 3}, 1.5, theta=0.4)
    for other in (
        ldp.URAP(4, epsilon={3: 1.5, 1: 1.5}, theta=0.4),
        ldp.URAP(4, [3, 1], 1.5, 0.4, levels=[1.5, 1.5]),
    ):
        assert one == other and one.fingerprint == other.fingerprint and other.levels is None
    # nearly equal levels make nearly the same channel, by other formulas
    near = ldp.URAP(4, epsilon={1: 1.5, 3: 1.5 + 1e-12}, theta=0.4)
    Q = one.channel().matrix()
    np.testing.assert_allclose(near.channel().matrix(), Q, atol=1e-11)


def test_the_choice_of_bits_is_the_best_for_its_d2():
    """Other bits that keep the guarantee, with the same d2, have larger variances."""
    rng, eps = np.random.default_rng(1), np.array([0.5, 2.0])
    urap = ldp.URAP(3, epsilon={0: 0.5, 1: 2.0})
    p1, d1, d2 = urap.p1, urap.d1, urap.d2
    own = d1 * (1 - d1) / (p1 - d1) ** 2
    for _ in range(200):
        v = d2 + (1 - d2) * rng.random(2) * 0.99
        u = 1 + (d2 * np.exp(eps) - 1) * (1 - 0.99 * rng.random(2))
        d = (1 - v) / (u - v)  # from u d + v (1 - d) = 1
        assert np.all(u <= d2 * np.exp(eps) + 1e-12)
        assert np.all(d * (1 - d) / (d * (u - 1)) ** 2 >= own * (1 - 1e-12))


def test_specifications_before_there_were_levels_are_read():
    one = ldp.URAP(4, {1, 3}, 1.5)
    document = one.to_dict()
    assert "levels" not in document and ldp.URAP.from_dict(document) == one
    graded = ldp.URAP(("a", "b", "c"), epsilon={"c": 0.5, "a": 1.0}, theta=0.4)
    document = json.loads(json.dumps(graded.to_dict()))
    assert document["levels"] == [1.0, 0.5] and ldp.URAP.from_dict(document) == graded
    with pytest.raises(ldp.InvalidArgument, match="fingerprint"):
        ldp.URAP.from_dict(document | {"levels": [1.0, 0.4]})


def test_the_audit_catches_a_category_that_leaks():
    right = ldp.URAP(4, epsilon={0: 0.5, 2: 3.0})
    for place, factor in ((0, 0.999), (1, 0.999)):
        graded = [np.array(part) for part in right._graded]
        graded[1][place] *= factor  # a bit of another category is set less often
        wrong = ldp.URAP(4, epsilon={0: 0.5, 2: 3.0})
        wrong.__dict__["_graded"] = tuple(graded)
        audit = wrong.audit()
        assert right.audit().agrees and not audit.agrees
        assert audit.channel == pytest.approx(3.0 - np.log(factor), rel=1e-3)


def test_realised_ratios_are_those_of_exact_integers():
    one = 1 << 64
    own, other, told = [one // 2, 3 * (one // 4)], [one // 4, one // 4], one // 4
    draw = {"kind": "reveal", "sensitive": [0, 1], "told": str(told)}
    draw |= {"own": list(map(str, own)), "other": list(map(str, other))}
    found = portable.open_draw(portable._BITS, portable.Fields(draw), 4).spent()
    Q = np.array([[0.5, 0.25], [0.25, 0.75], [0.25, 0.25]])
    law = np.array([[np.prod(np.where(b, q, 1 - q)) for b in np.ndindex(2, 2)] for q in Q])
    law[2] *= 0.75
    best = ratios(law, 4)
    np.testing.assert_allclose(found, max(rows.max() for rows in best[:3]), rtol=1e-14)


# ---- tags
def pum(kind: type = ldp.URR, **tags: float) -> ldp.PUM:
    return ldp.PUM(kind(4, {0}, epsilon=1.0), tags or {"home": 0.4, "work": 2.0})


@pytest.mark.parametrize("kind", [ldp.URR, ldp.URAP])
def test_each_tag_has_its_own_epsilon(kind):
    """Proposition 9 by brute force: her own categories have the epsilon of their tags."""
    both = pum(kind)
    assert both.levels == (0.4, 2.0) and both.epsilon == 2.0
    assert both.common.levels == (1.0, 0.4, 2.0) and both.common.audit().agrees
    Q = both.channel({"home": {1}, "work": {2}}).matrix()
    assert ldp.privacy.uldp(Q, [0, 1, 2]).epsilon == pytest.approx(2.0, abs=1e-12)
    made = Q.any(axis=0) & (np.count_nonzero(Q, axis=0) > 1)
    L = np.log(Q[:, made])
    found = (L[:, None] - L[None]).max(axis=2)
    for x, epsilon in enumerate((1.0, 0.4, 2.0, 0.0)):
        for other in set(range(4)) - {x}:
            assert found[x, other] == pytest.approx(epsilon, abs=1e-12)
    together = both.channel({"home": {1, 2}}).matrix()
    np.testing.assert_array_equal(together[1], together[2])


@pytest.mark.parametrize("kind", [ldp.URR, ldp.URAP])
def test_what_a_report_tells_of_her_tags_has_the_epsilon_of_the_tag(kind):
    """Proposition 10: the same answer under two preprocessors, over protected reports."""
    both = pum(kind)
    plain, tagged = both.channel().matrix(), both.channel({"home": {1}}).matrix()
    protected = np.count_nonzero(both.common.channel().matrix(), axis=0) > 1
    ratio = np.log(tagged[1, protected]) - np.log(plain[1, protected])
    assert ratio.max() == pytest.approx(0.4, abs=1e-12) and ratio.min() >= -1e-12


def test_tags_without_levels_are_as_before():
    base = ldp.URR(4, epsilon={0: 2.0, 3: 0.5})
    one, named = ldp.PUM(base, ("home", "work")), ldp.PUM(base, {"home": 0.5, "work": 0.5})
    assert one == named and one.levels is None and one.fingerprint == named.fingerprint
    assert "levels" not in one.to_dict()
    graded = pum()
    document = json.loads(json.dumps(graded.to_dict()))
    assert ldp.PUM.from_dict(document) == graded and document["levels"] == [0.4, 2.0]
    assert "{'home': 0.4, 'work': 2}" in str(graded)
    client = graded.client({"home": {1}})
    assert client.report(1) in {0, "home", "work"}
    reports = graded.privatize([1, 2, 3], np.random.default_rng(1), tags={"home": [1, 1, None]})
    assert reports.mechanism == graded.common


EPSILONS = {
    "negative": -1.0,
    "zero": 0.0,
    "nan": np.nan,
    "text": "1",
    "true": True,
    "huge": 1e300,
    "nothing": None,
}

BAD = [
    *refuses("epsilon['a']", lambda v: ldp.URAP(("a", "b"), epsilon={"a": v}), EPSILONS),
    *refuses(
        "tags['home']",
        lambda v: ldp.PUM(ldp.URR(3, {0}, 1.0), {"home": v}),
        EPSILONS,
    ),
    *refuses(
        "levels",
        lambda v: ldp.URAP(3, {0, 1}, 1.0, levels=v),
        {"one": [1.0], "a number": 1.0, "three": [1.0, 1.0, 0.5], "text": "ab"},
    ),
    *refuses("levels", lambda v: ldp.PUM(ldp.URR(3, {0}, 1.0), ("home",), v), {"two": [1.0, 0.5]}),
    *refuses(
        "theta",
        lambda v: ldp.URAP(3, epsilon={0: 1.0, 1: 2.0}, theta=v),
        {"near one": 1.0 - 1e-10, "one": 1.0, "zero": 0.0, "text": "x"},
    ),
    *refuses("epsilon[2]", lambda v: ldp.URAP(3, {0}, v), {"another": {0: 1.0, 2: 1.0}}),
    *refuses("epsilon", lambda v: ldp.URAP(3, {0, 1}, v), {"lacks one": {0: 1.0}, "none": {}}),
    *refuses("epsilon", lambda v: ldp.URAP(3, {0}, v, levels=[1.0]), {"not the largest": 2.0}),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    case.check()
