"""The client in JavaScript, run by Node, makes the reports of the package from the same bytes."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.sampling.samplers import sample_krr
from ldpstats.sampling.words import system_words

PORTABLE = Path(ldp.__file__).parent / "clients" / "portable"
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="Node is not installed")


def document(question: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A client document with its fingerprint."""
    made = {"format": "ldpstats-client", "version": 1, "survey": "3f2c9a81d04e", "epsilon": "1.0"}
    made |= {"question": question} | fields
    text = json.dumps(made, sort_keys=True, separators=(",", ":"))
    return made | {"fingerprint": hashlib.sha256(text.encode("ascii")).hexdigest()[:12]}


def answered(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    """What the client says to requests, by lines of JSON."""
    lines = "".join(json.dumps({"id": i} | one) + "\n" for i, one in enumerate(requests))
    command = [str(NODE), str(PORTABLE / "conformance.mjs")]
    ran = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and not ran.stderr, ran.stderr
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [one.pop("id") for one in said] == list(range(len(requests)))
    return said


def test_it_keeps_answers_as_the_sampler_does() -> None:
    random = np.random.default_rng(1).bytes(8_000)
    labels, keep = ["Z\u00fcrich", "\U0001f600", '"\\\n\x7f', "__proto__", "constructor"], 1 << 61
    draw = {"kind": "keep", "k": 5, "keep": str(keep)}
    client = document({"answers": labels, "reports": labels, "draw": draw})
    x = np.random.default_rng(2).integers(0, 5, 500)
    request = {"client": client, "random": random.hex(), "reports": None}
    said = answered(request | {"answers": [labels[i] for i in x]})[0]
    left = iter(random)
    words = system_words(lambda n: bytes(next(left) for _ in range(n)))
    expected = [labels[sample_krr([i], 5, keep, words)[0]] for i in x]
    assert said == {"reports": expected, "used": 8_000 - len(bytes(left))}
