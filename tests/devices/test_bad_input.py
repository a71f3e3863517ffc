"""What a device refuses, and what each message says."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ldpstats.devices import (
    Device,
    another,
    cards,
    cohorts,
    flip,
    opposite,
    parts,
    question,
    recode,
    roll,
    say,
    spin,
    truth,
    unknown,
)
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms import DeviceMechanism

YES_NO = ("no", "yes")
FORCED = roll(6).when({1: "yes", 6: "no"}, otherwise=truth)


def nested(deep: int) -> Device:
    device = flip()
    for _ in range(deep):
        device = flip().when({"heads": device}, otherwise="no")
    return device


def doubled(times: int) -> Device:
    device = flip().when({"heads": truth}, otherwise="no")
    for _ in range(times):
        device = device >> device
    return device


def recursive_document() -> dict[str, Any]:
    document: dict[str, Any] = {"step": "then", "first": {"step": "truth"}}
    document["second"] = document
    return document


KINDS: dict[str, tuple[Callable[[], Any], str]] = {
    # probabilities
    "above one": (lambda: flip(1.2), r"p=1\.2: .*probability in \[0, 1\].*understood as 6/5"),
    "nan": (lambda: flip(float("nan")), r"p=nan: must be a probability"),
    "truth value": (lambda: flip(True), "p=True: must be a probability"),
    "over zero": (lambda: flip("1/0"), "p='1/0': must be a probability"),
    "endless fraction": (
        lambda: flip(Fraction(1, 10**5000)),
        "p=.*whose denominator has at most 4000 binary digits",
    ),
    "open beyond one": (
        lambda: flip(unknown("c") * 2),
        r"p=2\*c: must stay in \[0, 1\] whatever the unknown parameters .* where c = 1 it is 2",
    ),
    "open above one inside": (
        lambda: flip(8 * unknown("c") * (1 - unknown("c"))),
        r"must stay in \[0, 1\] whatever .*; where c = 1/2 it is 2",
    ),
    "no name": (lambda: unknown("my cheating"), "name='my cheating': must be a name as Python"),
    "prevalence": (lambda: question(2), r"prevalence=2: must be a probability in \[0, 1\]"),
    # numbers that are no probability law
    "floats of thirds": (
        lambda: spin({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}),
        r"sum to 9999999999999999/10000000000000000, .*understood as 'a': 3333.*'1/3'",
    ),
    "too much": (lambda: spin({"a": 0.5, "b": 0.6}), "sum to 11/10, not to one .*'a': 1/2"),
    "empty law": (lambda: spin({}), r"outcomes=\{\}: must be a dict of labels"),
    "label twice": (
        lambda: spin({1: 0.5, "1": 0.5}),
        "outcomes='1': the label looks the same as 1",
    ),
    "no cards": (lambda: cards({"red": 0}), "outcomes=.*numbers of cards"),
    # labels
    "label none": (lambda: say(None), "label=None: must be a label"),
    "label tuple": (lambda: say(("a", "b")), "label=.*not a tuple: join its parts"),
    "one answer": (lambda: question(0.5, answers=("yes",)), "answers=.*two different labels"),
    "alike answers": (lambda: question(0.5, answers=(1, "1")), "answers=.*two different labels"),
    # sizes
    "broken die": (lambda: roll(2.5), "sides=2.5: must be an integer"),
    "endless die": (lambda: roll(10**12), "sides=1000000000000: must be at most 100000"),
    "one part": (lambda: parts(truth), "parts=.*two steps or more"),
    "list of parts": (lambda: parts([truth, opposite]), "parts=.*one by one"),
    "sum of answers": (lambda: truth + question(0.5), "not added.*recode"),
    "sum of devices": (lambda: sum([truth, truth]), "not added.*recode"),
    "a device as list": (lambda: cohorts(truth), "devices=truth: must be a list of devices"),
    # branches
    "unknown outcome": (
        lambda: roll(6).when({7: "yes"}, otherwise=truth),
        "when=7: is no outcome of the step before; they are 1, 2, 3, 4, 5, 6",
    ),
    "outcome as float": (lambda: roll(6).when({1.0: "yes"}, truth), r"when=1\.0: is no outcome"),
    "no branch": (lambda: flip().when({"heads": truth}), "when='tails': has no branch.*otherwise="),
    "two branches": (
        lambda: roll(6).when({1: "yes", range(1, 3): "no"}, otherwise=truth),
        "when=1: the label occurs twice",
    ),
    "no dict": (lambda: flip().when(["heads"]), "branches=.*must be a dict of outcomes"),
    "dict as branch": (lambda: flip().when({"heads": {"a": 1}}, "b"), "branches=.*is a dict"),
    # recursion
    "a function": (
        lambda: flip().when({"heads": lambda: FORCED}, otherwise="no"),
        "branches=.*is a function: steps are data, so that a device cannot call itself",
    ),
    "grown by doubling": (lambda: doubled(40), "device=.*steps.*cannot call itself"),
    "itself in JSON": (lambda: Device.from_dict(recursive_document()), "cannot call itself"),
    # what fits no categories
    "misspelt report": (
        lambda: roll(6).when({1: "yess", 6: "no"}, otherwise=truth).mechanism(YES_NO),
        r"say='yess': is said by the device and is no category.*outputs=\['no', 'yes', 'yess'\]",
    ),
    "misspelt answer": (
        lambda: truth.when({"yess": "a"}, otherwise="b").mechanism(YES_NO),
        "when='yess': is no answer; they are 'no', 'yes'; did you mean 'yes'",
    ),
    "answer left out": (
        lambda: truth.when({"yes": "a", "no": "b"}).mechanism(("no", "yes", "perhaps")),
        "when='perhaps': has no branch",
    ),
    "opposite of three": (lambda: opposite.mechanism(3), "opposite='3 categories': .*another"),
    "another of one": (
        lambda: (say("a") >> another).mechanism(YES_NO),
        r"another=\('a',\): needs two categories",
    ),
    "answer of another type": (
        lambda: say(1).mechanism((False, True)),
        "say=1: is not True, the category: write it in the same way",
    ),
    "reports that look the same": (
        lambda: flip().when({"heads": "1"}, otherwise=1).mechanism(YES_NO),
        "the label looks the same as|looks the same",
    ),
    "set of categories": (lambda: FORCED.mechanism({"yes", "no"}), "categories=.*has no order"),
    "unknown parameters": (
        lambda: DeviceMechanism(flip(unknown("c")).step, YES_NO),
        "depends on the unknown c",
    ),
    "a device as steps": (
        lambda: DeviceMechanism(truth, YES_NO),
        "device=truth: must be the steps",
    ),
    "too unlikely": (
        lambda: flip(1e-200).when({"heads": flip(1e-200)}, otherwise="tails").mechanism(YES_NO),
        "device=.*gives a report a probability below 1e-300",
    ),
    "too many entries": (
        lambda: parts(*[roll(1000)] * 4).mechanism(YES_NO),
        "more than 4194304 entries",
    ),
    # sequences and documents
    "no step": (lambda: Device("truth"), "step='truth': must be a step"),
    "unknown step": (lambda: Device.from_dict({"step": "toss"}), "step='toss': must be one of"),
    "lost field": (lambda: Device.from_dict({"step": "roll"}), "a roll has the fields sides"),
    "float in JSON": (
        lambda: Device.from_dict({"step": "flip", "p": 0.5}),
        'probability=0.5: must be text such as "1/6"',
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_is_refused(kind):
    make, message = KINDS[kind]
    with pytest.raises((InvalidArgument, NotAvailable), match=message):
        make()


FLOATS: dict[str, tuple[Any, Fraction]] = {
    "a tenth": (0.1, Fraction(1, 10)),
    "small": (1e-300, Fraction(1, 10**300)),
    "single": (np.float32(0.1), Fraction(1, 10)),
    "half": (np.float16(0.1), Fraction(1, 10)),
    "numpy": (np.float64(0.25), Fraction(1, 4)),
    "whole": (np.int64(1), Fraction(1)),
    "decimal": (Decimal("0.30"), Fraction(3, 10)),
    "text": (" 2 / 6 ", Fraction(1, 3)),
    "exponent": ("2.5e-1", Fraction(1, 4)),
    "minus zero": (-0.0, Fraction(0)),
}


@pytest.mark.parametrize("kind", FLOATS)
def test_floats_are_understood_as_their_shortest_decimal(kind):
    given, understood = FLOATS[kind]
    device = flip(given)
    shown = f"'{understood}'" if understood.denominator > 1 else str(understood)
    assert device == flip(understood) and repr(device) == f"flip({shown})"


def test_a_device_never_changes():
    for name in ("step", "_step", "p"):
        with pytest.raises(AttributeError):
            setattr(FORCED, name, truth)
    with pytest.raises(AttributeError):
        del FORCED._step


def test_labels_keep_their_types():
    assert say(1) != say(True) and say(1) != say(1.0) and say(1) != say("1")
    assert len({say(1), say(True), say(1.0), say("1"), say(np.int64(1))}) == 4
    assert spin({1: 1}) != spin({True: 1})
    one = recode({1: 0}).mechanism(3)
    assert one.exact[1] == (1, 0, 0)


def test_a_recoded_outcome_needs_a_branch_once():
    """What `otherwise` would say, were an outcome left, is no outcome."""
    named = flip() >> recode({"heads": "H", "tails": "T"})
    device = named.when({"H": truth, "T": "yes"})
    assert (
        device.mechanism(YES_NO).exact
        == flip().when({"heads": truth}, "yes").mechanism(YES_NO).exact
    )
    with pytest.raises(InvalidArgument, match="has no branch"):
        (flip() >> recode({"heads": "H"})).when({"H": truth})
