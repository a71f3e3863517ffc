"""Devices with unknown parameters that the tests share."""

from __future__ import annotations

from typing import Any

from ldpstats.devices import Device, cards, flip, opposite, question, truth, unknown

ANSWERS = ("no", "yes")


def unrelated(p: Any, prevalence: Any = None) -> Any:
    """The sensitive question with probability p, else another one."""
    other = question(unknown("prevalence") if prevalence is None else prevalence)
    return flip(p).when({"heads": truth, "tails": other}).mechanism(ANSWERS)


def cheating(q: Any, name: str = "cheating") -> Any:
    """A forced "yes" with probability q; cheaters always say "no"."""
    forced = flip(q).when({"heads": "yes"}, otherwise=truth)
    return flip(unknown(name)).when({"heads": "no", "tails": forced}).mechanism(ANSWERS)


def lie_detector(p: Any) -> Any:
    """Warner's cards; carriers who draw the sensitive statement admit it with "honest"."""
    admits = flip(unknown("honest")).when({"heads": "yes", "tails": "no"})
    carrier = flip(p).when({"heads": admits, "tails": "no"})
    other = flip(p).when({"heads": "no", "tails": "yes"})
    return truth.when({"no": other, "yes": carrier}).mechanism(ANSWERS)


def warner(p: Any) -> Any:
    """Warner's cards with the share p of the sensitive statement."""
    return mixed(p).mechanism(ANSWERS)


def mixed(p: Any) -> Device:
    """The truth with probability p, else its opposite."""
    return flip(p).when({"heads": truth, "tails": opposite})


def protective(*tickets: int) -> Any:
    """Of ten tickets some have one of three answers; cheaters always say "never"."""
    answers = ("never", "once", "often")
    bag = dict(zip(answers, tickets, strict=True)) | {"truth": 10 - sum(tickets)}
    forced = cards(bag).when({label: label for label in answers}, otherwise=truth)
    device = flip(unknown("cheating")).when({"heads": "never", "tails": forced})
    return device.mechanism(answers)
