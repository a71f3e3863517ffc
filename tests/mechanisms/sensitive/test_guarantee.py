"""What URR and URAP guarantee, category by category, and an audit that catches leaks."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from shared.sensitive_surveys import JOBS, MECHANISMS

import ldpstats as ldp
from ldpstats.channels import Uniformised
from ldpstats.privacy import uldp


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
