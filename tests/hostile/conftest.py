"""Objects that hostile arguments are given to."""

import os
from pathlib import Path

import pytest
from hostile.examples import Examples


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """Objects to call, and a working directory for what a hostile name may create."""
    folder, here = tmp_path_factory.mktemp("hostile"), Path.cwd()
    os.chdir(folder)
    yield Examples(folder)
    os.chdir(here)
