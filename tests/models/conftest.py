"""What all tests of models share."""

import sys

import pytest


@pytest.fixture(autouse=True)
def close_figures():
    """No test leaves a figure to the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
