"""The client in JavaScript, run by Node."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ldpstats as ldp

PORTABLE = Path(ldp.__file__).parent / "clients" / "portable"
CLIENTS_TESTS = Path(__file__).parents[1] / "clients"
NODE = shutil.which("node")

needs_node = pytest.mark.skipif(NODE is None, reason="Node is not installed")


def client_document(asked: Any, **fields: Any) -> dict[str, Any]:
    """A client document of a question, or of a list of them, with its fingerprint."""
    made = {"format": "ldpstats-client", "version": 1, "survey": "3f2c9a81d04e", "epsilon": "inf"}
    made |= {"questions" if isinstance(asked, list) else "question": asked} | fields
    return sealed(made)


def sealed(document: dict[str, Any]) -> dict[str, Any]:
    """A document with its own fingerprint."""
    rest = {name: value for name, value in document.items() if name != "fingerprint"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return rest | {"fingerprint": hashlib.sha256(text.encode("ascii")).hexdigest()[:12]}


def run_node(script: Path, *arguments: str, given: str = "") -> str:
    """What a script says; it must end well, and complain of nothing."""
    command = [str(NODE), str(script), *arguments]
    ran = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and not ran.stderr, ran.stderr
    return ran.stdout


def answered(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    """What the client says to requests, by lines of JSON (section 11 of the specification)."""
    lines = "".join(json.dumps({"id": i} | one) + "\n" for i, one in enumerate(requests))
    said = [
        json.loads(line)
        for line in run_node(PORTABLE / "conformance.mjs", given=lines).split("\n")
        if line
    ]
    assert [one.pop("id") for one in said] == list(range(len(requests)))
    return said
