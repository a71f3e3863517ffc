"""PyMC and ArviZ, where they are installed."""

import warnings
from typing import Any

import pytest


def imported(name: str) -> Any:
    with warnings.catch_warnings():  # ArviZ announces its next version
        warnings.simplefilter("ignore", FutureWarning)
        return pytest.importorskip(name, reason="the extra bayes is not installed")


@pytest.fixture(scope="session")
def pm():
    return imported("pymc")


@pytest.fixture(scope="session")
def az():
    return imported("arviz")
