"""Fixtures of the tests of likelihoods and moments."""

import pytest

from ldpstats.likelihood import hashed as designs
from ldpstats.likelihood import hashed_rows


@pytest.fixture(params=["numpy", "compiled"])
def path(request, monkeypatch):
    """Both ways of computing, whatever the size."""
    threshold = 0 if request.param == "compiled" else 1 << 62
    for module, name in ((designs, "_LARGE"), (designs, "_DENSE"), (hashed_rows, "_LARGE")):
        monkeypatch.setattr(module, name, threshold)
    if request.param == "compiled":
        monkeypatch.setattr(designs, "_PAIR", 0.0)
        monkeypatch.setattr(hashed_rows, "_FEW", 1.0)
    return str(request.param)
