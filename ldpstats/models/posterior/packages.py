"""PyMC and ArviZ, which the extra `bayes` installs."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from ldpstats.errors import NotAvailable

__all__ = ["package"]

_TITLES = {"arviz": "ArviZ", "pymc": "PyMC", "pytensor": "PyTensor"}


def package(name: str, need: str) -> Any:
    """The package `name`, imported when it is first needed.

    Parameters
    ----------
    name : {"arviz", "pymc", "pytensor"}
    need : str
        What needs it, for the error.

    Raises
    ------
    NotAvailable
        If it is not installed; the message says how to install it.
    """
    try:
        with warnings.catch_warnings():  # ArviZ announces its next version whenever it is imported
            warnings.simplefilter("ignore", FutureWarning)
            return import_module(name)
    except ImportError:
        remedy = "python -m pip install 'ldpstats[bayes]'"
        raise NotAvailable(f"{need}: {_TITLES[name]} is not installed: {remedy}") from None
