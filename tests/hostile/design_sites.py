"""What the mechanisms of designs tell respondents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hostile.examples import Site

from ldpstats.devices import library


def design_sites() -> Iterator[Site]:
    kuk = library.kuk(0.8, 0.2, draws=2)
    words = {"words": {"question": "whether you smoke"}}
    mechanism: Any = kuk.mechanism(("no", "yes"))
    yield Site("DeviceMechanism.instructions", mechanism.instructions, words)
    lies: Any = library.stochastic_lie_detector(0.7).mechanism(("no", "yes"))
    yield Site("UnknownDevice.instructions", lies.instructions, words)
