"""Fixtures of the tests of samplers."""

from __future__ import annotations

import pytest

from ldpstats.sampling import samplers


@pytest.fixture(params=["numpy", "numba"])
def path(request, monkeypatch):
    """Run a test with the plain and with the compiled path, whatever the size of the arrays."""
    monkeypatch.setattr(samplers, "LARGE", 0 if request.param == "numba" else 1 << 62)
    return request.param
