"""Designs from the literature, each a program of a few lines: a function that returns a Device."""

from __future__ import annotations

from collections.abc import Callable

from ldpstats.devices.device import Device
from ldpstats.devices.library.cheating import cheating_detection, stochastic_lie_detector
from ldpstats.devices.library.decks import christofides, disguised_response, kuk
from ldpstats.devices.library.direct import (
    crosswise,
    mangat,
    mangat_singh,
    triangular,
    warner,
)
from ldpstats.devices.library.forced import (
    forced_cards,
    forced_categories,
    forced_coins,
    forced_dice,
    forced_response,
)
from ldpstats.devices.library.unrelated import moors, unrelated_question

__all__ = [
    "DESIGNS",
    "cheating_detection",
    "christofides",
    "crosswise",
    "disguised_response",
    "forced_cards",
    "forced_categories",
    "forced_coins",
    "forced_dice",
    "forced_response",
    "kuk",
    "mangat",
    "mangat_singh",
    "moors",
    "stochastic_lie_detector",
    "triangular",
    "unrelated_question",
    "warner",
]

_ALL: tuple[Callable[..., Device], ...] = (
    *(cheating_detection, christofides, crosswise, disguised_response),
    *(forced_cards, forced_categories, forced_coins, forced_dice, forced_response),
    *(kuk, mangat, mangat_singh, moors, stochastic_lie_detector, triangular),
    *(unrelated_question, warner),
)
DESIGNS: dict[str, Callable[..., Device]] = {
    design.__name__.replace("_", "-"): design for design in _ALL
}
"""The designs by their names on the command line.

Examples
--------
>>> from ldpstats.devices.library import DESIGNS
>>> DESIGNS["forced-dice"]().mechanism(("no", "yes")).ratio
Fraction(5, 1)
"""
