"""Channels Q[x, y] = P(report y | true value x) in structured form, and what they guarantee."""

from ldpstats.channels.families import Band, Geometric
from ldpstats.channels.structured import (
    Bits,
    Channel,
    Dense,
    Kronecker,
    Mapped,
    Stacked,
    Uniformised,
)

__all__ = [
    "Band",
    "Bits",
    "Channel",
    "Dense",
    "Geometric",
    "Kronecker",
    "Mapped",
    "Stacked",
    "Uniformised",
]
