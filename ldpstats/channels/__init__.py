"""Channels Q[x, y] = P(report y | true value x) in structured form, and what they guarantee."""

from ldpstats.channels.base import Channel
from ldpstats.channels.combined import Kronecker, Mapped, Stacked
from ldpstats.channels.ordered import Band, Geometric
from ldpstats.channels.structured import Bits, Dense, Uniformised

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
