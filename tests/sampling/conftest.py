"""Fixtures of the tests of samplers."""

import numpy as np
import pytest

from ldpstats import kernels
from ldpstats.sampling import samplers


@pytest.fixture(params=["numpy", "streams", "numba"])
def path(request, monkeypatch):
    """Run a test with the generator, and with streams of numpy and of numba, at any size."""
    monkeypatch.setattr(samplers, "LARGE", 1 << 62 if request.param == "numpy" else 0)
    monkeypatch.setattr(kernels, "LOADING", 0.0 if request.param == "numba" else np.inf)
    return request.param
