"""What a collector takes, from all and from one address, at most."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import ip_address
from math import ceil

from ldpstats.arguments.checks import positive_integer

__all__ = ["Limits", "Rates"]

MINUTE = 60
_ADDRESSES = 100_000  # that are told apart in a minute; those beyond share one limit
_WITH_PORT = re.compile(r"\[([^]]*)\](?::\d+)?|([0-9.]+):\d+")  # as some proxies write it


@dataclass(frozen=True)
class Limits:
    """Limits of a collector.

    Parameters
    ----------
    per_minute : int
        Sheets that are looked at in a minute, of all senders together.
    per_address : int
        Sheets in a minute from one address; of IPv6, from one network of 64 bits. Respondents
        behind one address, such as a school's, share it.
    requests : int
        Requests that are handled at the same time.
    seconds : int
        How long a request may take to arrive.

    Raises
    ------
    InvalidArgument
        For what is no positive whole number.

    Examples
    --------
    >>> Limits(per_address=600).per_minute
    60000
    """

    per_minute: int = 60_000
    per_address: int = 120
    requests: int = 500
    seconds: int = 20

    def __post_init__(self) -> None:
        for name in ("per_minute", "per_address", "requests", "seconds"):
            object.__setattr__(self, name, positive_integer(name, getattr(self, name)))


@dataclass
class Rates:
    """Counts sheets in the present minute, in memory only: addresses are forgotten with it."""

    limits: Limits
    _minute: int = -1
    _all: int = 0
    _by_address: Counter[str] = field(default_factory=Counter)

    def wait(self, address: str) -> int:
        """Count a sheet; seconds until there is room for it, 0 where there is now."""
        now = self.turn()
        place = network(address)
        if place not in self._by_address and len(self._by_address) >= _ADDRESSES:
            place = ""
        own = self._by_address[place]
        if self._all >= self.limits.per_minute or own >= self.limits.per_address:
            return max(ceil(MINUTE - now % MINUTE), 1)
        self._all += 1
        self._by_address[place] = own + 1
        return 0

    def turn(self) -> float:
        """Forget what was counted in a minute that is over; the time."""
        now = time.monotonic()
        if int(now // MINUTE) != self._minute:
            self._minute, self._all = int(now // MINUTE), 0
            self._by_address.clear()
        return now

    async def forget(self) -> None:
        """Forget addresses at each turn of the minute, also where no other sheet comes."""
        while True:
            await asyncio.sleep(MINUTE - time.monotonic() % MINUTE + 0.1)
            self.turn()


def network(address: str) -> str:
    """The address that a limit is for: whole of IPv4, the first 64 bits of IPv6; without a port."""
    plain = address.strip()
    if port := _WITH_PORT.fullmatch(plain):
        plain = port[1] or port[2]
    try:
        found = ip_address(plain.partition("%")[0])
    except ValueError:
        return ""
    if found.version == 4:
        return str(found)
    return str(found.ipv4_mapped or int(found) >> 64)
