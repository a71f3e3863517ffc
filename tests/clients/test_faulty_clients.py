"""Deliberate faults in copies of the clients: each is caught by conformance."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from shared.javascript import NODE, PORTABLE, needs_node

from ldpstats.clients.conformance import compared
from ldpstats.clients.random_vectors import Vector, chosen, random_vectors, stored_vectors

THRESHOLD = "whole(value) <= W:\n        return int(value)"


class Fault(NamedTuple):
    """What is put in the place of what, in each language, and which draws show it."""

    name: str
    kinds: tuple[str, ...]
    python: tuple[str, str]
    javascript: tuple[str, str]


FAULTS = (
    Fault(
        "thresholds are rounded to 53 bits", ("keep",),
        (THRESHOLD, THRESHOLD.replace("int(value)", "int(float(value))")),
        ("return new Threshold(number);", "return new Threshold(BigInt(Number(number)));"),
    ),
    Fault(
        "a message has the answers as they are", ("keep",),
        ("report = str(made) if type(made) is TextReport else", "report = answers if made else"),
        ("? answers : this.report(answers);", "? answers : (this.report(answers), answers);"),
    ),
    Fault(
        "all messages have one token", ("keep",),
        ("secrets.token_hex(16)", '"ab" * 16'),
        ("hexadecimal(CRYPTO.getRandomValues(new Uint8Array(16)));", '"ab".repeat(16);'),
    ),
    Fault(
        "a tie in all 64 bits counts as below", ("keep", "hash", "band"),
        ("kept = further < t & LOW or", "kept = further <= t & LOW or"),
        ("own = words.hi < keep.lo ||", "own = words.hi <= keep.lo ||"),
    ),
    Fault(
        "half words are not rejected", ("keep", "hash", "band"),
        ("while not kept and product & LOW < (1 << 32) % k:", "while False:"),
        ("Math.imul(low, k) >>> 0 < spare;", "false;"),
    ),
    Fault(
        "whole words are not rejected", ("block",),
        ("< W - W % b:", "< W:"),
        ("if (word < most) return", "if (word < W) return"),
    ),
    Fault(
        "coins stop after twelve digits", ("bits",),
        ("    if t and tied:", "    if False:"),
        ("if (limit.rest.value > 0n) settle", "if (false) settle"),
    ),
    Fault(
        "blocks of coins have 8,192 words", ("bits",),
        (
            "range(0, n, 4096):\n        size = min(4096, n - start)",
            "range(0, n, 8192):\n        size = min(8192, n - start)",
        ),
        (
            "start += 8192) {\n    const stop = Math.min(2 * n, start + 8192);",
            "start += 16384) {\n    const stop = Math.min(2 * n, start + 16384);",
        ),
    ),
    Fault(
        "equal keys of a subset are not drawn again", ("subset",),
        ("if bisect_right(ranked, border) == ones:", "if True:"),
        ("sorted[n - 1] !== sorted[n]) {", "true) {"),
    ),
    Fault(
        "answers are normalised", ("hash", "rappor"),
        (
            'raw = answer.encode("utf-8")',
            'raw = __import__("unicodedata").normalize("NFC", answer).encode("utf-8")',
        ),
        ("sha256(utf8(answer.text)).buffer", 'sha256(utf8(answer.text.normalize("NFC"))).buffer'),
    ),
    Fault(
        "an infinite epsilon is below an infinite limit", ("rows",),
        (') or math.isinf(self.epsilon):', "):"),
        ("said === Infinity || !(said <= limit)", "!(said <= limit)"),
    ),
    Fault(
        "what draws spend is taken from the text", ("keep", "rows", "personal"),
        ("spent = spent_document(fields.value)", "spent = self.epsilon"),
        ("spent = spentDocument(opened);", "spent = said;"),
    ),
    Fault(
        "questions that are not protected pass a limit", ("questionnaire", "replace", "personal"),
        ("if name not in unprotected and shows_answers(question):", "if False:"),
        ("if (showsAnswers(question) && !unprotected.includes(name)) {", "if (false) {"),
    ),
    Fault(
        "questions are drawn with replacement", ("questionnaire",),
        ("order[j] = order[i]", "pass"),
        ("left[j] = left[i];", ""),
    ),
    Fault(
        "fingerprints are not looked at", ("same", "keep", "rows", "bits"),
        ('fingerprint(document) == fields.text("fingerprint")', 'fields.text("fingerprint") != ""'),
        (
            'field(found, "fingerprint") !== fingerprinted(found)',
            'field(found, "fingerprint") === ""',
        ),
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def vectors() -> tuple[Vector, ...]:
    return (*stored_vectors(), *random_vectors(250, 22))


def spoiled(source: str, old: str, new: str) -> str:
    assert source.count(old) == 1, f"{old} is there {source.count(old)} times"
    return source.replace(old, new)


def check(command: list[str], fault: Fault, vectors: tuple[Vector, ...]) -> None:
    """The client answers every vector, and some answers differ."""
    found = compared(chosen(vectors, fault.kinds), command, 20.0)
    assert found.differences, fault.name
    assert not found.agrees and not found.missing and not found.faults
    assert not any(one.place == "line" for one in found.differences), found


def some(first: int) -> list[Any]:
    """All faults, of which every fourth is quick."""
    return [
        pytest.param(fault, id=fault.name, marks=[] if i % 4 == first else [pytest.mark.slow])
        for i, fault in enumerate(FAULTS)
    ]


@pytest.mark.parametrize("fault", some(0))
def test_a_fault_of_the_client_in_python(
    fault: Fault, vectors: tuple[Vector, ...], tmp_path: Path
) -> None:
    source = (PORTABLE / "ldpstats_client.py").read_text(encoding="utf-8")
    copy = tmp_path / "ldpstats_client.py"
    copy.write_text(spoiled(source, *fault.python), encoding="utf-8")
    check([sys.executable, str(copy), "--conformance"], fault, vectors)


@needs_node
@pytest.mark.parametrize("fault", some(2))
def test_a_fault_of_the_client_in_javascript(
    fault: Fault, vectors: tuple[Vector, ...], tmp_path: Path
) -> None:
    source = (PORTABLE / "ldpstats-client.mjs").read_text(encoding="utf-8")
    copy = tmp_path / "ldpstats-client.mjs"
    copy.write_text(spoiled(source, *fault.javascript), encoding="utf-8")
    shutil.copy(PORTABLE / "conformance.mjs", tmp_path)
    check([str(NODE), str(tmp_path / "conformance.mjs")], fault, vectors)


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_clients_agree(language: str, vectors: tuple[Vector, ...]) -> None:
    """The negative control."""
    command = [sys.executable, str(PORTABLE / "ldpstats_client.py"), "--conformance"]
    if language == "javascript":
        if NODE is None:
            pytest.skip("Node is not installed")
        command = [NODE, str(PORTABLE / "conformance.mjs")]
    found = compared(vectors, command, 20.0)
    assert found.agrees, str(found)
