"""Respondents' devices.

`instrument` is what a device can run, `specification` how that is written; `device` makes reports.
`limits` says what a device refuses, `budget` how often it reports, `state` what it keeps in a file,
and `secrecy` what its errors hide.
"""

from __future__ import annotations

from ldpstats.clients.device import Client, Collector

__all__ = ["Client", "Collector"]
