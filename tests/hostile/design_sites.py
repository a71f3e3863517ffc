"""Designs of the library, what they tell respondents and how they are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hostile.examples import Examples, Site

from ldpstats.devices import library

_TOLD = {"categories": ("no", "yes"), "words": {"question": "whether you smoke"}}


def design_sites(e: Examples) -> Iterator[Site]:
    answers = {"answers": ("no", "yes")}
    text = {"text": "Were you born in spring?"}
    given: dict[str, dict[str, Any]] = {
        "warner": {"p": 0.7},
        "forced_response": {"p_yes": "1/6", "p_no": 0.1} | answers,
        "forced_dice": {"yes": [1, 2], "no": 6, "sides": 6} | answers,
        "forced_cards": {"truth_cards": 8, "yes": 1, "no": 1} | answers,
        "forced_coins": answers,
        "forced_categories": {"shares": {"nurse": 0.1, "driver": 0.2}},
        "unrelated_question": {"p": 0.7, "prevalence": 0.25} | text | answers,
        "moors": {"p": 0.7, "group": 1} | text | answers,
        "mangat": {"p": 0.6} | answers,
        "mangat_singh": {"t": 0.5, "p": 0.7},
        "kuk": {"p1": 0.8, "p2": 0.2, "draws": 2} | answers,
        "disguised_response": {"p": 0.8} | answers,
        "christofides": {"proportions": [3, 2, 1]} | answers,
        "crosswise": {"p": 0.25} | text | answers,
        "triangular": {"p": 0.25} | text | answers,
        "stochastic_lie_detector": {"p": 0.7, "honesty": 0.9} | answers,
        "cheating_detection": {"p_yes": 0.25, "p_no": 0.1, "cheating": 0.1} | answers,
    }
    also = {
        "answers": ("label",),
        "shares": ("label", "prevalence"),
        "p_yes": ("p_yes + p_no",),
        "p_no": ("p_yes + p_no",),
    }
    for name, arguments in given.items():
        named = {key: also[key] for key in arguments if key in also}
        yield Site(f"library.{name}", getattr(library, name), arguments, named)
    kuk = library.kuk(0.8, 0.2, draws=2)
    yield Site("Device.instructions", kuk.instructions, _TOLD)
    yield Site("Device.plot", kuk.plot, {"categories": ("no", "yes"), "ax": None})
    words = {"words": _TOLD["words"]}
    mechanism: Any = kuk.mechanism(("no", "yes"))
    yield Site("DeviceMechanism.instructions", mechanism.instructions, words)
    lies: Any = library.stochastic_lie_detector(0.7).mechanism(("no", "yes"))
    yield Site("UnknownDevice.instructions", lies.instructions, words)
