"""Devices as mechanisms: structure, recognition, extremes, and what other processes see."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.devices import (
    Device,
    another,
    cards,
    cohorts,
    flip,
    hashed,
    opposite,
    parts,
    question,
    roll,
    say,
    spin,
    truth,
)
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms import DeviceMechanism, mechanism_from_dict

YES_NO = ("no", "yes")
F = Fraction


def keep(p: Any, otherwise: Any) -> Device:
    return flip(p).when({"heads": truth}, otherwise=otherwise)


RECOGNISED: dict[str, tuple[Device, Any, ldp.Mechanism]] = {
    "warner": (keep("3/4", opposite), YES_NO, ldp.Warner(epsilon=log(3))),
    "warner of numbers": (
        keep("3/4", opposite),
        (0, 1),
        ldp.Warner(epsilon=log(3), categories=(0, 1)),
    ),
    "forced": (
        roll(6).when({1: "yes", 6: "no"}, otherwise=keep("4/5", "no")),
        YES_NO,
        ldp.ForcedResponse(p_truth=float(F(8, 15)), p_yes=float(F(1, 6))),
    ),
    "unrelated": (keep(0.7, question(0.25)), YES_NO, ldp.UnrelatedQuestion(p=0.7, prevalence=0.25)),
    "mangat": (truth.when({"yes": truth, "no": keep(0.6, "yes")}), YES_NO, ldp.Mangat(p=0.6)),
    "k-rr": (
        keep("1/2", spin(dict.fromkeys("abc", "1/3"))),
        tuple("abc"),
        ldp.KRR(list("abc"), log(4)),
    ),
    "k-rr of others": (keep("3/5", another), 5, ldp.KRR(5, log(6))),
    "k-rr in sequence": (keep("3/5", another) >> truth, 5, ldp.KRR(5, log(6))),
}


@pytest.mark.parametrize("name", RECOGNISED)
def test_our_own_mechanisms_are_recognised(name: str) -> None:
    device, categories, expected = RECOGNISED[name]
    mechanism = device.mechanism(categories)
    found = mechanism.equivalent
    assert found is not None and type(found) is type(expected)
    Q, same = found.channel().matrix(), expected.channel().matrix()
    np.testing.assert_allclose(Q, same, rtol=1e-14, atol=0)
    np.testing.assert_allclose(mechanism.channel().matrix(), same, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize(
    ("device", "categories"),
    [
        (keep("1/4", opposite), YES_NO),  # lies more often than not
        (flip().when({"heads": "yes"}, otherwise="no"), YES_NO),  # says nothing of the truth
        (keep("1/2", cards({"a": 1, "b": 2, "c": 3})), tuple("abc")),
        (keep("1/2", "red"), YES_NO),
        (truth, 3),
        (keep(F(1, 10**30), opposite), YES_NO),
        (keep(1 - F(1, 10**30), "yes"), YES_NO),  # no float is so near to one
    ],
)
def test_what_is_none_of_ours(device: Device, categories: Any) -> None:
    outputs = ("no", "yes", "red") if device == keep("1/2", "red") else None
    assert device.mechanism(categories, outputs).equivalent is None


@pytest.mark.parametrize(
    "device",
    [
        keep(0.3, another),
        flip(0.2).when({"heads": another}, otherwise=spin({i: F(i + 1, 21) for i in range(6)})),
        keep(0.3, another) >> keep(0.6, 2),
        keep(0.3, 4) >> flip(0.1).when({"heads": another}, otherwise=truth),
    ],
)
def test_structured_laws_equal_those_by_rows(device: Device) -> None:
    """The same device with a truth that is spelled out has no structure, and the same law."""
    even = device.mechanism(6)
    rows = (truth.when({x: x for x in range(6)}) >> device).mechanism(6)
    assert even.law.even is not None and rows.law.even is None
    assert even.exact == rows.exact and even.ratio == rows.ratio
    assert even.audit().sampler == rows.audit().sampler == even.epsilon
    np.testing.assert_allclose(even.channel().matrix(), rows.channel().matrix(), atol=1e-15)


def test_a_hundred_thousand_categories() -> None:
    mechanism = keep("9/10", another).mechanism(100_000)
    assert mechanism.ratio == F(9 * 99_999)
    assert mechanism.audit().agrees
    true = np.arange(100_000) % 10
    counts = mechanism.privatize(true, np.random.default_rng(1)).tally()
    p = ldp.FrequencyModel(counts).fit("inversion").linear_params
    assert abs(p[:10].sum() - 1.0) < 0.02
    with pytest.raises(NotAvailable, match="100000 x 100000 entries"):
        _ = mechanism.exact
    drawn = mechanism.draw(np.full(100_000, 1e-5), 10**6, np.random.default_rng(1))
    assert drawn.nobs == 10**6


@pytest.mark.parametrize("p", [F(1, 10**299), F(1, 2) + F(1, 10**40), 1 - F(1, 10**17), F(1, 3)])
def test_extremes_of_epsilon(p: Fraction) -> None:
    mechanism = keep(p, opposite).mechanism(YES_NO)
    ratio = max(p / (1 - p), (1 - p) / p)
    with localcontext(prec=400):
        epsilon = float((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())
    assert mechanism.ratio == ratio and mechanism.epsilon == epsilon > 0.0
    audit = mechanism.audit()
    assert audit.agrees and audit.sampler == audit.declared


def test_order_and_types_of_labels() -> None:
    device = keep("2/3", another)
    mixed = device.mechanism((2.5, "x", True))
    assert mechanism_from_dict(json.loads(json.dumps(mixed.to_dict()))).exact == mixed.exact
    back = keep("2/3", opposite).mechanism(("yes", "no"), outputs=("no", "yes"))
    assert back.exact == ((F(1, 3), F(2, 3)), (F(2, 3), F(1, 3)))
    n = pd.Series([30, 70], index=["yes", "no"])
    assert back.counts(n).vector().tolist() == [70, 30]
    assert list(ldp.FrequencyModel(back.counts(n)).fit().params.index) == ["yes", "no"]


SCRIPT = """
import pickle, sys, ldpstats as ldp
mechanism = pickle.load(open(sys.argv[1], "rb"))
device = pickle.loads(pickle.dumps(mechanism.device))
assert device == mechanism.device and {device: 1}[mechanism.device] == 1
assert len({device, ldp.devices.Device.from_dict(ldp.devices.Device(device).to_dict()).step}) == 1
print(mechanism.fingerprint, mechanism.client(state=sys.argv[2], reports=5).report("a"))
"""


def test_other_processes(tmp_path: Path) -> None:
    """Two at once, which take a second each to start, agree, and share the budget of one client."""
    noise = keep("1/3", cards({"a": 1, "b": 2}))
    device = parts(noise, cohorts([hashed(3, 1) >> keep("1/2", another), say("x")]))
    mechanism = device.mechanism(("a", "b"))
    assert hash(mechanism.device) is not None  # a hash that is of this process
    file = tmp_path / "mechanism.pickle"
    file.write_bytes(pickle.dumps(mechanism))
    state = str(tmp_path / "state")
    command = [sys.executable, "-c", SCRIPT, str(file), state]
    own = os.environ | {"PYTHONPATH": str(Path(ldp.__file__).parents[1])}
    ran = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=own | {"PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2")
    ]
    said = [process.communicate(timeout=60)[0].split(" ", 1) for process in ran]
    assert [process.returncode for process in ran] == [0, 0]
    for fingerprint, report in said:
        assert fingerprint == mechanism.fingerprint and report.strip() in set(mechanism.outputs)


def test_a_damaged_specification_is_refused() -> None:
    document = keep("1/3", opposite).mechanism(YES_NO).to_dict()
    document["device"]["source"]["p"] = "1/4"
    with pytest.raises(InvalidArgument, match=r"fingerprint=.*is not that of the other"):
        DeviceMechanism.from_dict(document)
