"""Devices as mechanisms: structure, recognition, extremes, and what other processes see."""

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
from hostile.values import BadEq, BadRepr

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
    unknown,
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
def test_our_own_mechanisms_are_recognised(name):
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
def test_what_is_none_of_ours(device, categories):
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
def test_structured_laws_equal_those_by_rows(device):
    """The same device with a truth that is spelled out has no structure, and the same law."""
    even = device.mechanism(6)
    rows = (truth.when({x: x for x in range(6)}) >> device).mechanism(6)
    assert even.law.even is not None and rows.law.even is None
    assert even.exact == rows.exact and even.ratio == rows.ratio
    assert even.audit().sampler == rows.audit().sampler == even.epsilon
    np.testing.assert_allclose(even.channel().matrix(), rows.channel().matrix(), atol=1e-15)


def test_a_hundred_thousand_categories():
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
def test_extremes_of_epsilon(p):
    mechanism = keep(p, opposite).mechanism(YES_NO)
    ratio = max(p / (1 - p), (1 - p) / p)
    with localcontext(prec=400):
        epsilon = float((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())
    assert mechanism.ratio == ratio and mechanism.epsilon == epsilon > 0.0
    audit = mechanism.audit()
    assert audit.agrees and audit.sampler == audit.declared


def test_order_and_types_of_labels():
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


def test_other_processes(tmp_path):
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


def test_a_damaged_specification_is_refused():
    document = keep("1/3", opposite).mechanism(YES_NO).to_dict()
    document["device"]["source"]["p"] = "1/4"
    with pytest.raises(InvalidArgument, match=r"fingerprint=.*is not that of the other"):
        DeviceMechanism.from_dict(document)


# Devices with unknown parameters as mechanisms.

ANSWERS = ("no", "yes")

DIE = roll(6).when({1: "yes"}, otherwise=truth)

CHEATS = flip(unknown("cheating")).when({"heads": "no", "tails": DIE})

MIXED = {"heads": truth, "tails": opposite}

LAZY = {"heads": truth, "tails": "no"}

DEVICES = {
    "cheating": CHEATS,
    "prevalence": flip(0.7).when({"heads": truth, "tails": question(unknown("prevalence"))}),
    "mix": cards({"a": unknown("mix"), "b": 1 - unknown("mix")}).when({"a": truth}, opposite),
    "two": flip(unknown("a")).when({"heads": flip(unknown("b")).when(LAZY), "tails": opposite}),
    "twice": flip(unknown("c")).when(MIXED) >> flip(unknown("c")).when(LAZY),
    "parts": parts(flip(unknown("c")).when(MIXED), DIE),
}


@pytest.mark.parametrize("name", DEVICES)
def test_rows_sum_to_one_and_values_give_the_device(name):
    mech = DEVICES[name].mechanism(ANSWERS)
    assert isinstance(mech, ldp.UnknownDevice)
    assert all(sum(row, Fraction(0)) == 1 for row in mech.exact)
    rng = np.random.default_rng(1)
    for values in (rng.uniform(size=len(mech.unknown)).round(3), [0.0] * len(mech.unknown),
                   [1.0] * len(mech.unknown)):  # fmt: skip
        made = mech.at(values)
        assert isinstance(made, ldp.DeviceMechanism)
        assert made.outputs.equals(mech.outputs)
        np.testing.assert_allclose(made.channel().matrix(), mech.matrix_at(values), atol=1e-14)
        assert made.epsilon <= mech.epsilon + 1e-9


@pytest.mark.parametrize("name", DEVICES)
def test_derivatives_are_differences(name):
    mech = DEVICES[name].mechanism(ANSWERS)
    at = np.linspace(0.3, 0.6, len(mech.unknown))
    slopes = mech.derivatives_at(at)
    assert slopes.shape == (len(mech.unknown), mech.k, mech.n_outputs)
    for j in range(len(at)):
        step = 1e-6 * np.eye(len(at))[j]
        found = (mech.matrix_at(at + step) - mech.matrix_at(at - step)) / 2e-6
        np.testing.assert_allclose(slopes[j], found, atol=1e-8)


@pytest.mark.parametrize("name", DEVICES)
def test_the_document_makes_the_same_mechanism(name):
    mech = DEVICES[name].mechanism(ANSWERS)
    again = mechanism_from_dict(mech.to_dict())
    assert again == mech and again.fingerprint == mech.fingerprint and hash(again) == hash(mech)
    assert again.exact == mech.exact
    other = DEVICES["mix" if name != "mix" else "two"].mechanism(ANSWERS)
    assert other != mech


def test_epsilon_is_the_largest_over_the_values():
    """Half of the coins are fair, the others show what nobody knows: ln 3 at the most."""
    mix = flip(0.5).when({"heads": flip(0.5), "tails": flip(unknown("c"))})
    mech = mix.when({"heads": truth, "tails": opposite}).mechanism(ANSWERS)
    assert mech.epsilon == pytest.approx(np.log(3))
    assert CHEATS.mechanism(ANSWERS).epsilon == np.inf  # at no cheating "no" reveals


def test_epsilon_of_higher_powers_is_searched_for():
    """Q = 1/4 + c (1 - c) against 1/2: the ratio is largest inside, at c = 1/2 or at the ends."""
    c = unknown("c")
    share = Fraction(1, 2) + Fraction(4, 5) * c * (1 - c)
    mixed = truth.when({"no": flip(share), "yes": flip(0.5)}).mechanism(ANSWERS)
    assert mixed.epsilon == pytest.approx(np.log(0.5 / 0.3), rel=1e-9)


def _limits(first: Any, second: Any) -> Any:
    """A report "z" with these chances, by answer; else a fair coin."""
    fair = flip(0.5).when({"heads": "no", "tails": "yes"})
    rows = [flip(p).when({"heads": "z", "tails": fair}) for p in (first, second)]
    device = truth.when({"no": rows[0], "yes": rows[1]})
    return device.mechanism(ANSWERS, outputs=(*ANSWERS, "z"))


def test_epsilon_counts_limits_where_a_report_becomes_impossible():
    """c against c (1 + c) / 2: twice as much near zero, where rounding says 1 or infinity."""
    c, d = unknown("c"), unknown("d")
    assert _limits(c, c * (1 + c) / 2).epsilon == pytest.approx(np.log(2), rel=1e-9)
    assert _limits(c / 2, c * c / 2).epsilon == np.inf
    assert _limits((1 - c) / 3, (1 - c) * (1 - c) / 3).epsilon == np.inf
    assert _limits(c / 3, d / 3).epsilon == np.inf
    both = _limits((c + d) / 4, (c * c + d) / 4)  # c against c * c where d is 0
    assert both.epsilon == np.inf


def test_simulated_reports_have_the_law_of_the_values():
    mech = CHEATS.mechanism(ANSWERS)
    rng = np.random.default_rng(3)
    reports = mech.simulate(["yes"] * 20_000, rng, cheating=0.2)
    assert reports.mechanism == mech
    share = reports.tally().vector()[1] / 20_000
    assert abs(share - 0.8) < 4 * np.sqrt(0.16 / 20_000)
    named = mech.simulate(pd.Series(["no", "yes"], name="drugs"), rng, cheating="1/5")
    assert named.name == "drugs"


@pytest.mark.parametrize("value", [None, np.nan, np.inf, -0.1, 1.1, "x", True, [0.1], unknown("b")])
def test_values_are_probabilities(value):
    mech = CHEATS.mechanism(ANSWERS)
    for ask in (mech.at, mech.matrix_at, mech.derivatives_at):
        with pytest.raises(ldp.InvalidArgument, match="cheating"):
            ask(cheating=value)
        with pytest.raises(ldp.InvalidArgument):
            ask({"cheating": value})


@pytest.mark.parametrize(
    "values",
    [
        3,
        "a",
        [],
        [0.1, 0.2],
        {"cheat": 0.1},
        {},
        {"cheating", 0.1},
        None,
        {BadRepr(): 1},
        {BadEq(): 1},
    ],
)
def test_every_parameter_needs_a_value(values):
    with pytest.raises(ldp.InvalidArgument):
        CHEATS.mechanism(ANSWERS).at(values)


def test_values_come_by_name_or_in_order():
    mech = DEVICES["two"].mechanism(ANSWERS)
    assert mech.unknown == ("a", "b")
    first = mech.at({"b": 0.2, "a": 0.1})
    named = pd.Series({"b": 0.2, "a": 0.1})
    given: list[Any] = [[0.1, 0.2], np.array([0.1, 0.2]), named, dict(named)]
    for same in (*map(mech.at, given), mech.at(a=0.1, b=0.2), mech.at({"a": 0.1}, b="1/5")):
        assert same == first


def test_it_cannot_be_made_without_or_with_confusing_names():
    with pytest.raises(ldp.InvalidArgument, match="no unknown parameter"):
        ldp.UnknownDevice(DIE.step, ANSWERS)
    with pytest.raises(ldp.InvalidArgument, match="steps of a device"):
        ldp.UnknownDevice("die", ANSWERS)
    with pytest.raises(ldp.InvalidArgument, match="is a category too"):
        flip(unknown("yes")).when({"heads": truth, "tails": "no"}).mechanism(ANSWERS)
    with pytest.raises(ldp.InvalidArgument, match="argument of simulate"):
        flip(unknown("rng")).when({"heads": truth, "tails": "no"}).mechanism(ANSWERS)


def test_it_is_no_part_of_other_mechanisms():
    """A product of it was made, and could then not even be printed."""
    mech, krr = CHEATS.mechanism(ANSWERS), ldp.KRR(ANSWERS, epsilon=1.0)
    makers: list[Any] = [
        lambda: ldp.product({"drugs": mech, "theft": krr}),
        lambda: ldp.mixture({krr: 0.5, mech: 0.5}),
        lambda: krr >> mech,
    ]
    for make in makers:
        with pytest.raises(ldp.NotAvailable, match="unknown cheating"):
            make()
