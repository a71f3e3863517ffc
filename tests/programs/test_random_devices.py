"""Random devices against an interpreter that lists every way that chance can go."""

from __future__ import annotations

import decimal
import json
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np
import pytest
from shared.random_devices import listed, random_device

import ldpstats as ldp
from ldpstats import devices
from ldpstats.devices import Device
from ldpstats.mechanisms import DeviceMechanism, mechanism_from_dict
from ldpstats.programs.laws import law, nearest_log

MANY, FEW = 4_000, 200


def mechanism_of(device: Device, categories: tuple[Any, ...]) -> DeviceMechanism:
    """The mechanism; where reports are of both kinds, also in a cohort, with all of them listed."""
    try:
        return device.mechanism(categories)
    except ldp.InvalidArgument as error:
        assert "list all reports, outputs=" in str(error)
        return device.mechanism(categories, outputs=law(device.step, categories).outputs)


def brute_ratio(rows: list[dict[Any, Fraction]]) -> Fraction | float:
    """The largest ratio of two probabilities of a report, pair by pair."""
    worst: Fraction | float = Fraction(1)
    for first in rows:
        for second in rows:
            for report, p in first.items():
                worst = max(worst, p / second[report] if report in second else inf)
    return worst


def is_nearest_log(found: float, ratio: Fraction | float) -> bool:
    """Whether no float is nearer to ln(ratio), by 200 digits of decimal arithmetic."""
    if not isinstance(ratio, Fraction) or ratio == 1:
        return found == (0.0 if ratio == 1 else inf)
    with decimal.localcontext(prec=200):
        exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        off = [abs(Decimal(x) - exact) for x in (found, nextafter(found, 0), nextafter(found, inf))]
    return off[0] == min(off)


def check(number: int) -> None:
    device, categories = random_device(number)
    mechanism = mechanism_of(device, categories)
    rows = listed(device, categories)
    names = [(type(y).__name__, y) for y in mechanism.outputs.tolist()]
    exact = [{y: p for y, p in zip(names, row, strict=True) if p} for row in mechanism.exact]
    assert exact == rows
    assert all(sum(row) == 1 for row in mechanism.exact)
    ratio = brute_ratio(rows)
    assert mechanism.ratio == ratio and is_nearest_log(mechanism.epsilon, ratio)
    audit = mechanism.audit()
    assert audit.agrees and audit.sampler == audit.declared == mechanism.epsilon
    document = json.loads(json.dumps(mechanism.to_dict()))
    again = mechanism_from_dict(document)
    assert again == mechanism and again.fingerprint == mechanism.fingerprint
    assert isinstance(again, DeviceMechanism) and again.exact == mechanism.exact
    assert Device.from_dict(json.loads(json.dumps(device.to_dict()))) == device
    assert eval(repr(device), vars(devices) | {"Fraction": Fraction}) == device
    assert pickle.loads(pickle.dumps(device)) == device
    own = mechanism.equivalent
    if own is not None:
        Q, same = mechanism.channel().matrix(), own.channel().matrix()
        np.testing.assert_allclose(Q, same, rtol=1e-13, atol=1e-15)
    draw(mechanism, number)


def draw(mechanism: DeviceMechanism, seed: int, n: int = 100) -> None:
    """Reports of n respondents of each category: possible ones, in their proportions."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(mechanism.k), n)
    reports = mechanism.privatize(mechanism.categories.take(codes), rng)
    seen = np.zeros((mechanism.k, mechanism.n_outputs))
    np.add.at(seen, (codes, reports.y), 1)
    Q = mechanism.channel().matrix()
    assert not seen[Q == 0.0].any()
    off = np.divide((seen - n * Q) ** 2, n * Q, out=np.zeros_like(Q), where=Q > 0.05)
    # Pearson's sum has mean and half its variance below the number of cells
    assert off.sum() < Q.size + 8 * np.sqrt(2.0 * Q.size) + 20


@pytest.mark.parametrize("start", range(0, FEW, 100))
def test_random_devices(start: int) -> None:
    for number in range(start, start + 100):
        check(number)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, MANY, 1000))
def test_many_random_devices(start: int, attempts: Callable[[int], int]) -> None:
    for number in range(start, start + attempts(1000)):
        check(number)


def test_the_devices_are_of_many_kinds() -> None:
    text = " ".join(repr(random_device(number)[0]) for number in range(FEW))
    words = ("truth", "opposite", "another", "flip(", "roll(", "spin(", "cards(", "question(")
    words += ("parts(", "hashed(", "cohorts(", ">>", "otherwise=", "truth.when(")
    assert all(text.count(word) > 20 for word in words)


def test_the_interpreter_sees_a_small_change() -> None:
    """Negative control: a probability that is off by 1e-30 is another device."""
    p = Fraction(1, 3)
    right, wrong = (
        devices.flip(q).when({"heads": devices.truth}, otherwise="a")
        for q in (p, p + Fraction(1, 10**30))
    )
    assert listed(right, ("a", "b")) != listed(wrong, ("a", "b"))
    first, second = right.mechanism(("a", "b")), wrong.mechanism(("a", "b"))
    assert first.exact != second.exact and first.fingerprint != second.fingerprint
    assert not is_nearest_log(nextafter(nearest_log(Fraction(3)), 9.0), Fraction(3))


def test_a_wrong_law_of_reports_is_seen() -> None:
    """Negative control: reports of another device fail the check of their proportions."""

    class Wrong(DeviceMechanism):
        def sample(self, codes: Any, words: Any) -> Any:
            other = devices.flip(0.7).when({"heads": devices.truth}, otherwise="a")
            return other.mechanism(("a", "b")).sample(codes, words)

    device = devices.flip(0.3).when({"heads": devices.truth}, otherwise="a")
    with pytest.raises(AssertionError):
        draw(Wrong(device.step, ("a", "b")), 1)
    draw(device.mechanism(("a", "b")), 1)
