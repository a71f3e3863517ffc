"""Randomising devices: the first steps, what goes on from them, designs, and their mechanisms."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from hostile.examples import JOBS, RNG, Site

import ldpstats as ldp
from ldpstats import devices
from ldpstats.devices import Device, library
from ldpstats.mechanisms import DeviceMechanism, UnknownDevice, mechanism_from_dict

YES_NO = ("no", "yes")

_LAW = ("outcomes", "label", "p[")

_LABELS = ("say", "when", "label", "step", "outcome", "opposite", "another", "categories")


def step_sites() -> Iterator[Site]:
    truth, coin = devices.truth, devices.flip(0.5)
    yield Site("devices.say", devices.say, {"label": "yes"})
    yield Site("devices.flip", devices.flip, {"p": 0.25})
    yield Site("devices.roll", devices.roll, {"sides": 6})
    yield Site(
        "devices.spin", devices.spin, {"outcomes": {"a": 0.25, "b": "3/4"}}, {"outcomes": _LAW}
    )
    yield Site("devices.cards", devices.cards, {"outcomes": {"a": 3, "b": 7}}, {"outcomes": _LAW})
    asked = {"prevalence": 0.1, "text": "Born in May?", "answers": YES_NO}
    yield Site("devices.question", devices.question, asked)
    yield Site("devices.unknown", devices.unknown, {"name": "cheating"})
    yield Site("devices.parts", partial(_parts, truth), {"device": coin}, {"device": ("parts",)})
    yield Site("devices.hashed", devices.hashed, {"n_outputs": 4, "cohort": 2})
    some = {"devices": [truth, coin]}
    yield Site("devices.cohorts", devices.cohorts, some, {"devices": ("cohorts", "label")})
    named = {"devices": {"A": truth, "B": coin}, "shares": {"A": 0.25, "B": "3/4"}}
    yield Site("devices.cohorts named", devices.cohorts, named, {"devices": ("cohorts", "label")})
    recoded = {"labels": {"often": "yes"}}
    also = {"labels": ("branches", *_LABELS)}
    yield Site("devices.recode", devices.recode, recoded, also)


def _parts(first: Device, device: Any) -> Device:
    return devices.parts(first, device)


def method_sites() -> Iterator[Site]:
    die = devices.roll(6)
    card = die.when({1: "yes", 6: "no"}, otherwise=devices.truth)
    branched = {"branches": {1: "yes", 6: "no"}, "otherwise": devices.truth}
    yield Site("Device.when", die.when, branched, {"branches": _LABELS, "otherwise": _LABELS})
    yield Site("Device.>>", card.__rshift__, {"other": devices.opposite}, {"other": (">>",)})
    made = {"categories": YES_NO, "outputs": None}
    yield Site("Device.mechanism", card.mechanism, made, {"categories": _LABELS})
    open_card = devices.flip(devices.unknown("c")).when({"heads": "yes"}, otherwise=card)
    yield Site("Device.mechanism unknown", open_card.mechanism, made, {"categories": _LABELS})
    told = {"categories": YES_NO, "words": {"die": "ten-sided die"}}
    yield Site("Device.instructions", card.instructions, told, {"categories": _LABELS})
    drawn = {"categories": YES_NO, "ax": None}
    yield Site("Device.plot", card.plot, drawn, {"categories": _LABELS}, slow=True)
    yield Site("Device", Device, {"step": card.step}, {"step": ("device",)})
    for name, device in (("card", card), ("unknown", open_card), ("parts", _everything())):
        also = {"document": ("device", "probability", "step", *_LAW, *_LABELS, "cohort", "name")}
        yield Site(
            f"Device.from_dict {name}", Device.from_dict, {"document": device.to_dict()}, also
        )
    both = {"device": card.step} | made
    yield Site("DeviceMechanism steps", DeviceMechanism, both, {"categories": _LABELS})
    both = {"device": open_card.step} | made
    yield Site("UnknownDevice steps", UnknownDevice, both, {"categories": _LABELS})
    whole = {"document": card.mechanism(YES_NO).to_dict()}
    also = {"document": ("device", "probability", *_LAW, *_LABELS)}
    yield Site("mechanism_from_dict device", mechanism_from_dict, whole, also)


def _everything() -> Device:
    """A device with a step of every kind."""
    drawn = devices.cards({"red": 3, "black": 7}).when({"red": devices.question(0.5)}, "no")
    hashed = devices.hashed(2, 1) >> devices.spin({0: 0.5, 1: 0.5}).when({0: devices.another}, 1)
    return devices.parts(devices.cohorts([drawn, devices.opposite]), hashed)


def mechanism_sites_of_devices() -> Iterator[Site]:
    krr = devices.flip(0.5).when({"heads": devices.truth}, otherwise=devices.another)
    mechanism = krr.mechanism(JOBS)
    yield Site("device.privatize", mechanism.privatize, {"values": ["nurse"], "rng": RNG})
    yield Site("device.counts", mechanism.counts, {"n": [3, 2, 1], "nobs": None})
    yield Site("device.draw", mechanism.draw, {"p": (0.5, 0.3, 0.2), "n": 10, "rng": RNG})
    yield Site("device.client.report", mechanism.collector().report, {"value": "nurse"})
    recode = {"other": devices.recode({"nurse": "driver"})}
    yield Site("KRR >> device", ldp.KRR(JOBS, 1.0).__rshift__, recode, {"other": _LABELS})


def library_sites() -> Iterator[Site]:
    p = {"p": 0.7}
    answers = {"answers": YES_NO}
    text = {"text": "Born in May?"} | answers
    also = {name: _LABELS for name in ("answers", "p", "proportions", "shares", "yes", "no")}
    designs: dict[str, dict[str, Any]] = {
        "stochastic_lie_detector": p | {"honesty": 0.8} | answers,
        "cheating_detection": {"p_yes": 0.5, "p_no": 0.1, "cheating": 0.2} | answers,
        "kuk": {"p1": 0.7, "p2": 0.2, "draws": 2} | answers,
        "disguised_response": p | answers,
        "christofides": {"proportions": [0.2, 0.3, 0.5]} | answers,
        "warner": dict(p),
        "mangat": p | answers,
        "mangat_singh": {"t": 0.4} | p,
        "crosswise": p | text,
        "inattentive_crosswise": p | {"attentive": 0.8} | text,
        "one_saying_crosswise": p | {"one_saying": 0.1} | text,
        "triangular": p | text,
        "forced_response": {"p_yes": 0.2, "p_no": 0.1} | answers,
        "forced_dice": {"yes": 1, "no": [5, 6], "sides": 6} | answers,
        "forced_cards": {"truth_cards": 6, "yes": 2, "no": 2} | answers,
        "forced_coins": dict(answers),
        "forced_categories": {"shares": {"nurse": 0.1, "driver": 0.2}},
        "unrelated_question": p | {"prevalence": 0.1} | text,
        "moors": p | {"group": 1} | text,
    }
    assert set(designs) == set(library.__all__) - {"DESIGNS"}
    for name, given in designs.items():
        design: Callable[..., Device] = getattr(library, name)
        yield Site(f"library.{name}", design, given, also)


def device_sites() -> Iterator[Site]:
    """Every public callable of `ldpstats.devices`, and of the mechanisms that they make."""
    yield from step_sites()
    yield from method_sites()
    yield from mechanism_sites_of_devices()
    yield from library_sites()


# What mechanisms of designs tell respondents, with words that work.

_WORDS = {"words": {"question": "whether you smoke", "say": "say {label}"}}


def design_sites() -> Iterator[Site]:
    kuk = library.kuk(0.8, 0.2, draws=2).mechanism(("no", "yes"))
    lies = library.stochastic_lie_detector(0.7).mechanism(("no", "yes"))
    yield Site("DeviceMechanism.instructions", kuk.instructions, _WORDS)
    yield Site("UnknownDevice.instructions", lies.instructions, _WORDS)
    pair = {"categories": ("no", "yes")}
    yield Site("Device.instructions of kuk", library.kuk(0.8, 0.2).instructions, pair | _WORDS)
