"""Devices with unknown parameters as mechanisms."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hostile.values import BadEq, BadRepr

import ldpstats as ldp
from ldpstats.devices import cards, flip, opposite, parts, question, roll, truth, unknown
from ldpstats.mechanisms import mechanism_from_dict

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
def test_rows_sum_to_one_and_values_give_the_device(name: str) -> None:
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
def test_derivatives_are_differences(name: str) -> None:
    mech = DEVICES[name].mechanism(ANSWERS)
    at = np.linspace(0.3, 0.6, len(mech.unknown))
    slopes = mech.derivatives_at(at)
    assert slopes.shape == (len(mech.unknown), mech.k, mech.n_outputs)
    for j in range(len(at)):
        step = 1e-6 * np.eye(len(at))[j]
        found = (mech.matrix_at(at + step) - mech.matrix_at(at - step)) / 2e-6
        np.testing.assert_allclose(slopes[j], found, atol=1e-8)


@pytest.mark.parametrize("name", DEVICES)
def test_the_document_makes_the_same_mechanism(name: str) -> None:
    mech = DEVICES[name].mechanism(ANSWERS)
    again = mechanism_from_dict(mech.to_dict())
    assert again == mech and again.fingerprint == mech.fingerprint and hash(again) == hash(mech)
    assert again.exact == mech.exact
    other = DEVICES["mix" if name != "mix" else "two"].mechanism(ANSWERS)
    assert other != mech


def test_epsilon_is_the_largest_over_the_values() -> None:
    """Half of the coins are fair, the others show what nobody knows: ln 3 at the most."""
    mix = flip(0.5).when({"heads": flip(0.5), "tails": flip(unknown("c"))})
    mech = mix.when({"heads": truth, "tails": opposite}).mechanism(ANSWERS)
    assert mech.epsilon == pytest.approx(np.log(3))
    assert CHEATS.mechanism(ANSWERS).epsilon == np.inf  # at no cheating "no" reveals


def test_epsilon_of_higher_powers_is_searched_for() -> None:
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


def test_epsilon_counts_limits_where_a_report_becomes_impossible() -> None:
    """c against c (1 + c) / 2: twice as much near zero, where rounding says 1 or infinity."""
    c, d = unknown("c"), unknown("d")
    assert _limits(c, c * (1 + c) / 2).epsilon == pytest.approx(np.log(2), rel=1e-9)
    assert _limits(c / 2, c * c / 2).epsilon == np.inf
    assert _limits((1 - c) / 3, (1 - c) * (1 - c) / 3).epsilon == np.inf
    assert _limits(c / 3, d / 3).epsilon == np.inf
    both = _limits((c + d) / 4, (c * c + d) / 4)  # c against c * c where d is 0
    assert both.epsilon == np.inf


def test_simulated_reports_have_the_law_of_the_values() -> None:
    mech = CHEATS.mechanism(ANSWERS)
    rng = np.random.default_rng(3)
    reports = mech.simulate(["yes"] * 20_000, rng, cheating=0.2)
    assert reports.mechanism == mech
    share = reports.tally().vector()[1] / 20_000
    assert abs(share - 0.8) < 4 * np.sqrt(0.16 / 20_000)
    named = mech.simulate(pd.Series(["no", "yes"], name="drugs"), rng, cheating="1/5")
    assert named.name == "drugs"


@pytest.mark.parametrize("value", [None, np.nan, np.inf, -0.1, 1.1, "x", True, [0.1], unknown("b")])
def test_values_are_probabilities(value: Any) -> None:
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
def test_every_parameter_needs_a_value(values: Any) -> None:
    with pytest.raises(ldp.InvalidArgument):
        CHEATS.mechanism(ANSWERS).at(values)


def test_values_come_by_name_or_in_order() -> None:
    mech = DEVICES["two"].mechanism(ANSWERS)
    assert mech.unknown == ("a", "b")
    first = mech.at({"b": 0.2, "a": 0.1})
    named = pd.Series({"b": 0.2, "a": 0.1})
    given: list[Any] = [[0.1, 0.2], np.array([0.1, 0.2]), named, dict(named)]
    for same in (*map(mech.at, given), mech.at(a=0.1, b=0.2), mech.at({"a": 0.1}, b="1/5")):
        assert same == first


def test_it_cannot_be_made_without_or_with_confusing_names() -> None:
    with pytest.raises(ldp.InvalidArgument, match="no unknown parameter"):
        ldp.UnknownDevice(DIE.step, ANSWERS)
    with pytest.raises(ldp.InvalidArgument, match="steps of a device"):
        ldp.UnknownDevice("die", ANSWERS)
    with pytest.raises(ldp.InvalidArgument, match="is a category too"):
        flip(unknown("yes")).when({"heads": truth, "tails": "no"}).mechanism(ANSWERS)
    with pytest.raises(ldp.InvalidArgument, match="argument of simulate"):
        flip(unknown("rng")).when({"heads": truth, "tails": "no"}).mechanism(ANSWERS)


def test_it_is_no_part_of_other_mechanisms() -> None:
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
