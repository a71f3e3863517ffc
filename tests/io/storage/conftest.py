"""File systems that tests of files run on."""

import errno
import os
from typing import Any

import pytest


def no_links(*paths: Any) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.fixture(params=["links", "no links"])
def links(request, monkeypatch):
    """File systems with hard links, and without."""
    if request.param == "no links":
        monkeypatch.setattr(os, "link", no_links)
