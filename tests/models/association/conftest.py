"""Fixtures for simulations of pairs."""

from typing import Any

import pytest

from ldpstats.errors import NotAvailable


@pytest.fixture
def without_tests(monkeypatch):
    """Fits leave out their tests of independence, as where there are none.

    Of hashed reports they take three quarters of a fit, and estimates and intervals do not rest
    on them.
    """

    def none(*_: Any) -> None:
        raise NotAvailable("left out by the test")

    for name in ("score_test", "trend_test"):
        monkeypatch.setattr(f"ldpstats.models.association.results.{name}", none)
