"""Fixtures that all tests share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")  # no test opens a window
# small matrices many times over: threads that wait for one another cost more than they do
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def replications() -> Callable[..., int]:
    """Replications that a slow simulation runs, given how many its full size has.

    ``LDPSTATS_SLOW_SHARE`` (default 1) scales them; `least`, 500 if not given, are always kept,
    for fewer say too little. Where each costs much, `least` is what finds the defects that its
    control shows. Bands must be computed from the returned number.
    """
    share = _share()
    return lambda full, least=500: min(full, max(least, round(share * full)))


@pytest.fixture(scope="session")
def attempts() -> Callable[[int], int]:
    """Attempts that a slow test with programs of its own makes, given how many its full size has.

    Unlike replications none are needed for a band: ten are always kept.
    """
    share = _share()
    return lambda full: min(full, max(10, round(share * full)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A small share of the slow suite takes every second setting of tests with four or more."""
    if _share() >= 0.5:
        return
    settings: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow"):
            settings.setdefault(item.nodeid.split("[")[0], []).append(item)
    left = {item.nodeid for some in settings.values() if len(some) > 3 for item in some[1::2]}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
    items[:] = [item for item in items if item.nodeid not in left]


def _share() -> float:
    return float(os.environ.get("LDPSTATS_SLOW_SHARE", "1"))


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
