"""Fixtures for simulations of pairs."""

from typing import Any

import pytest

from ldpstats.errors import NotAvailable
from ldpstats.models.association.evidence import score_test


@pytest.fixture
def without_tests(monkeypatch):
    """Fits leave out their tests of independence, as where there are none.

    Of hashed reports they take three quarters of a fit, and estimates and intervals do not rest
    on them.
    """

    def none(*_: Any) -> None:
        raise NotAvailable("left out by the test")

    def asked(evidence: Any, *how: Any) -> Any:
        return score_test(evidence, *how) if how else none()  # a fit says not how

    monkeypatch.setattr("ldpstats.models.association.results.score_test", asked)
    monkeypatch.setattr("ldpstats.models.association.results.trend_test", none)
