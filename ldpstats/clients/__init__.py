"""Respondents' devices.

`instrument` is what a device can run, `specification` how that is written; `device` makes reports,
`drawing` single ones by the code of `portable/`. `limits` says what a device refuses, `budget` how
often it reports, `state` what it keeps in a file, and `secrecy` what its errors hide.

SPECIFICATION.md is for clients in any language: `document` makes what they are given, `schemas/`
describes it, `portable/` holds the clients in Python and JavaScript, and `conformance/` compares
any client with the test vectors of vectors.json and with random ones.
"""

from __future__ import annotations

from ldpstats.clients.device import Client, Collector

__all__ = ["Client", "Collector"]
