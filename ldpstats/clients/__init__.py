"""Respondents' devices: what they refuse, how often they report, what they keep, what they hide."""

from __future__ import annotations

from ldpstats.clients.device import Client, Collector

__all__ = ["Client", "Collector"]
