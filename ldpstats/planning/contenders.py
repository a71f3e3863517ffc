"""The mechanisms over a closed alphabet that plans choose among: the one list of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

import pandas as pd

from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.binary import Warner
from ldpstats.mechanisms.blocks.hadamard import HadamardResponse
from ldpstats.mechanisms.blocks.projective import ProjectiveGeometryResponse
from ldpstats.mechanisms.blocks.subset import SubsetSelection
from ldpstats.mechanisms.hashed.olh import OLH
from ldpstats.mechanisms.krr import KRR
from ldpstats.mechanisms.unary import KRAPPOR

__all__ = ["KINDS", "Kind", "contenders", "report_bits"]

_LABEL = "A single label suits a large e^epsilon for the number of categories"
_SETS = "A report that stands for several categories suits a small e^epsilon for their number"
MOST_PLANNED = 1 << 22
_MOST_HASHED = 256  # categories for which the cohorts of hashes are worked out
_BITS = "A bit for each category suits a small e^epsilon for the number of categories"


@dataclass(frozen=True)
class Kind:
    """A kind of mechanism: what it is called, how it is made, and where it is good.

    It is for `least` to `most` categories.
    """

    title: str
    make: Callable[[Any, float], Mechanism]
    why: str
    least: int = 2
    most: float = inf


_KINDS = {
    "krr": Kind("k-RR", KRR, _LABEL),
    "warner": Kind(
        "Warner", lambda labels, epsilon: Warner(epsilon=epsilon, categories=labels), _LABEL, most=2
    ),
    "krappor": Kind("k-RAPPOR", KRAPPOR, _BITS),
    "oue": Kind("OUE", lambda labels, epsilon: KRAPPOR(labels, epsilon, theta=0.5), _BITS),
    "subset-selection": Kind("Subset selection", SubsetSelection, _SETS),
    "hadamard-response": Kind("Hadamard response", HadamardResponse, _SETS),
    "projective-geometry-response": Kind("Projective geometry", ProjectiveGeometryResponse, _SETS),
    "olh": Kind("OLH", OLH, _SETS, most=_MOST_HASHED),
}

KINDS = tuple(_KINDS)


def contenders(
    labels: pd.Index[Any], epsilon: float, kinds: Iterable[str] = KINDS
) -> dict[str, tuple[Kind, Mechanism]]:
    """The kinds that are for so many categories, with a mechanism of each, by their short names."""
    if len(labels) > MOST_PLANNED:
        remedy = f"must be at most {MOST_PLANNED}, of which each has a standard error"
        raise InvalidArgument("categories", len(labels), remedy)
    found = {name: _KINDS[name] for name in kinds}
    return {
        name: (kind, kind.make(labels, epsilon))
        for name, kind in found.items()
        if kind.least <= len(labels) <= kind.most
    }


def report_bits(mechanism: Mechanism) -> int:
    """Bits that a report takes: a label, or its bits, and the cohort where there are several."""
    own = mechanism.n_bits or (mechanism.n_outputs - 1).bit_length()
    return own + max(mechanism.n_cohorts - 1, 0).bit_length()
