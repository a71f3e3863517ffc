"""What mechanisms of designs tell respondents, with words that work."""

from __future__ import annotations

from collections.abc import Iterator

from hostile.examples import Site

from ldpstats.devices import library

_WORDS = {"words": {"question": "whether you smoke", "say": "say {label}"}}


def design_sites() -> Iterator[Site]:
    kuk = library.kuk(0.8, 0.2, draws=2).mechanism(("no", "yes"))
    lies = library.stochastic_lie_detector(0.7).mechanism(("no", "yes"))
    yield Site("DeviceMechanism.instructions", kuk.instructions, _WORDS)
    yield Site("UnknownDevice.instructions", lies.instructions, _WORDS)
    pair = {"categories": ("no", "yes")}
    yield Site("Device.instructions of kuk", library.kuk(0.8, 0.2).instructions, pair | _WORDS)
