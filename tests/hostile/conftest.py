"""Objects that hostile arguments are given to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile.examples import Examples


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Examples]:
    """Objects to call, and a working directory for what a hostile name may create."""
    folder, here = tmp_path_factory.mktemp("hostile"), Path.cwd()
    os.chdir(folder)
    yield Examples(folder)
    os.chdir(here)
