"""Randomising devices as little programs: what a respondent draws, and says on each outcome.

>>> from ldpstats.devices import roll, truth
>>> card = roll(6).when({1: "yes", 6: "no"}, otherwise=truth)
>>> card.mechanism(("no", "yes")).ratio
Fraction(5, 1)

Probabilities are exact: a float is understood as the Fraction of its shortest decimal.
"""

from __future__ import annotations

from ldpstats.devices import library
from ldpstats.devices.device import (
    Device,
    another,
    cards,
    cohorts,
    flip,
    hashed,
    opposite,
    parts,
    question,
    recode,
    roll,
    say,
    spin,
    truth,
)
from ldpstats.hints import of_module
from ldpstats.programs.instructions import WORDS
from ldpstats.programs.polynomials import unknown

__all__ = [
    "WORDS",
    "Device",
    "another",
    "cards",
    "cohorts",
    "flip",
    "hashed",
    "library",
    "opposite",
    "parts",
    "question",
    "recode",
    "roll",
    "say",
    "spin",
    "truth",
    "unknown",
]


__getattr__ = of_module(__name__)
