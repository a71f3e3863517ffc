"""A mechanism in words: all its parameters, and none of a million labels."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from grid import MECHANISMS

import ldpstats as ldp
from ldpstats.mechanisms.base import parameters


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_number_is_told(name: str) -> None:
    mechanism = MECHANISMS[name]
    text, told = str(mechanism), dict(parameters(mechanism))
    assert text.startswith(f"{type(mechanism).__name__}(") and text.endswith(")")
    for item in dataclasses.fields(mechanism):
        value = getattr(mechanism, item.name)
        if isinstance(value, int | float) and item.name != "epsilon":
            assert told[item.name] == f"{value:.6g}" and f"{item.name}={value:.6g}" in text
    levels = getattr(mechanism, "levels", None)
    assert levels or float(told["epsilon"]) == pytest.approx(mechanism.epsilon, rel=1e-5)
    if not mechanism.is_open and "categories" in {f.name for f in dataclasses.fields(mechanism)}:
        assert told.get("k", "2") == str(mechanism.k)


@pytest.mark.parametrize(
    ("mechanism", "text"),
    [
        (ldp.KRR(3, 1.0), "KRR(k=3, epsilon=1)"),
        (
            ldp.ForcedResponse(p_truth=4 / 6, p_yes=1 / 6),
            "ForcedResponse(p_truth=0.666667, p_yes=0.166667, epsilon=1.60944)",
        ),
        (
            ldp.CustomMechanism(np.eye(2, 3), outputs=("x", "y", "z")),
            "CustomMechanism(k=2, n_outputs=3, epsilon=inf)",
        ),
        (ldp.URR(("a", "b", "c"), {"b"}, 1.0), "URR(k=3, sensitive={'b'}, epsilon=1)"),
        (ldp.URR(9, range(5), 1.0), "URR(k=9, sensitive=5 of 9, epsilon=1)"),
        (ldp.URAP(3, (), 1.0), "URAP(k=3, sensitive=none, epsilon=1)"),
        (
            ldp.URR(("a", "b", "c"), epsilon={"a": 0.5, "b": 2.0}),
            "URR(k=3, sensitive={'a', 'b'}, epsilon=(0.5, 2))",
        ),
        (ldp.KRAPPOR(5, 2.0, theta=0.5), "KRAPPOR(k=5, epsilon=2, theta=0.5)"),
        (
            ldp.RAPPOR(8, 2, 4, f=0.0, p=0.25, q=0.75, hashing="google"),
            "RAPPOR(n_bits=8, n_hashes=2, n_cohorts=4, f=0, p=0.25, q=0.75, hashing='google')",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_designs_are_written_as_they_are_called(mechanism: ldp.Mechanism, text: str) -> None:
    assert str(mechanism) == text


def test_long_labels_are_cut() -> None:
    urr = ldp.URR(("x" * 500, "a\nb", "c"), {"x" * 500, "a\nb"}, 1.0)
    assert len(str(urr)) < 90 and "\n" not in str(urr)
    page = urr._repr_html_()
    assert re.search(r"<th[^>]*>sensitive</th>", page) and "x" * 30 not in page


def test_a_device_is_shown_by_its_steps() -> None:
    die = ldp.devices.library.forced_dice().mechanism(("no", "yes"))
    steps = "roll(6).when({1: 'yes', 6: 'no'}, otherwise=truth)"
    assert str(die) == f"DeviceMechanism({steps}; k=2, epsilon=1.60944)"
    assert die.audit().mechanism == str(die)
    several = ldp.devices.library.kuk(0.8, 0.3, draws=3).mechanism(("no", "yes"))
    start, _, end = str(several).partition(", ...")
    assert start.startswith("DeviceMechanism(truth.when({'yes': ") and end.startswith("; k=2, ")
    assert len(str(several)) < 130
    open_one = ldp.devices.library.moors(0.7, 2).mechanism(("no", "yes"))
    shown = "question(unknown('prevalence')); prevalence unknown, k=2"
    assert str(open_one) == f"UnknownDevice({shown})"


def test_combinations_say_what_they_are() -> None:
    krr, coin = ldp.KRR(("no", "yes"), 1.0), ldp.Warner(epsilon=0.5)
    die = ldp.devices.library.forced_dice()
    table = pd.DataFrame(np.eye(2), ["no", "yes"], ["no", "yes"])
    found = {
        krr >> coin: "KRR(k=2, epsilon=1) >> Warner(epsilon=0.5)",
        krr >> {"no": "a", "yes": "b"}: "KRR(k=2, epsilon=1) >> recoded",
        coin >> table >> table: "Warner(epsilon=0.5) >> a table >> a table",
        coin >> die: "Warner(epsilon=0.5) >> roll(6).when({1: 'yes', 6: 'no'}, ...",
        ldp.mixture({krr: 0.8, coin: 0.2}): (
            "mixture of 80% KRR(k=2, epsilon=1) and 20% Warner(epsilon=0.5)"
        ),
        ldp.repeated(krr, coin): "KRR(k=2, epsilon=1), then Warner(epsilon=0.5)",
    }
    for mechanism, text in found.items():
        assert str(mechanism).startswith(f"CustomMechanism({text}; k=2, ")
        again = ldp.mechanism_from_dict(mechanism.to_dict())
        assert str(again) == str(mechanism) and again == mechanism


def test_a_description_is_no_part_of_the_law() -> None:
    plain = ldp.CustomMechanism(np.eye(2))
    named = ldp.CustomMechanism(np.eye(2), description="  told\nopenly ")
    assert named == plain and "description" not in plain.to_dict()
    assert str(named) == "CustomMechanism(told openly; k=2, epsilon=inf)"
    odd = ldp.CustomMechanism(np.eye(2), description="a\ud800\x00")
    assert str(odd).isprintable() and ldp.mechanism_from_dict(odd.to_dict()) == odd
    for wrong in ("", " ", 3, ["text"]):
        with pytest.raises(ldp.errors.InvalidArgument, match="description"):
            ldp.CustomMechanism(np.eye(2), description=wrong)
