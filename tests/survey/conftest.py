"""Fixtures of the tests of questionnaires and surveys."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
