"""A third client, in Perl, written from SPECIFICATION.md alone, makes the same reports."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ldpstats.clients.conformance import compared
from ldpstats.clients.conformance.vectors import stored_vectors

CLIENT = Path(__file__).parent / "third_language" / "client.pl"
NEEDS = ["Digest::MD5", "Digest::SHA", "FindBin", "Math::BigFloat", "Math::BigInt"]


@pytest.fixture(scope="module")
def perl() -> str:
    """Perl with 64-bit integers and its core modules."""
    program = shutil.which("perl")
    if program is None:
        pytest.skip("perl is not installed")
    modules = [f"-M{name}" for name in NEEDS]
    tried = subprocess.run([program, *modules, "-e", "use v5.28; exit(~0 != 2 ** 64 - 1)"])
    if tried.returncode:
        pytest.skip("perl 5.28 with 64-bit integers and its core modules is not installed")
    return program


def test_a_client_written_from_the_specification_alone_agrees_with_all_vectors(perl: str) -> None:
    found = compared(stored_vectors(), [perl, str(CLIENT)], timeout=30.0)
    assert found.agrees, str(found)
    assert len(found.vectors) > 500
