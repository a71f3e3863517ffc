"""A third client, in Perl, written from SPECIFICATION.md alone, makes the same reports."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ldpstats

CLIENT = Path(__file__).parent / "third_language" / "client.pl"
VECTORS = Path(ldpstats.__file__).parent / "clients" / "vectors.json"
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


def answered(perl: str, requests: list[dict[str, Any]]) -> dict[str, Any]:
    """What the client answers to lines of section 11, by their id."""
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    ran = subprocess.run([perl, CLIENT], input=lines, capture_output=True, text=True, timeout=60)
    assert ran.stderr == "" and ran.returncode == 0
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    return {answer.pop("id"): answer for answer in found}


def test_a_client_written_from_the_specification_alone_agrees_with_all_vectors(perl: str) -> None:
    document = json.loads(VECTORS.read_text(encoding="utf-8"))
    requests, expected = [], {}
    for vector in document["vectors"]:
        request = {"id": vector["name"]} | vector
        del request["name"]
        expected[vector["name"]] = request.pop("expected")
        if isinstance(request["client"], str):
            request["client"] = document["clients"][request["client"]]
        requests.append(request)
    found = answered(perl, requests)
    assert {name for name in expected if found.get(name) != expected[name]} == set()
    assert len(found) == len(expected) > 500
