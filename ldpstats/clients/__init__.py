"""Respondents' devices.

`device` is what a device can run, how that is written, how often it reports, what it keeps in a
file, and what its errors hide. `random_vectors` draws questions and answers for `conformance`,
which compares any client with these and with the vectors of vectors.json.

SPECIFICATION.md is for clients in any language, `schemas/` describes the documents that they are
given, and `portable/` holds the clients in Python and JavaScript.
"""

from __future__ import annotations

from ldpstats.clients.device import Client, Collector

__all__ = ["Client", "Collector"]
