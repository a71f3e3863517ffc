"""The test vectors: what the samplers of numpy make, and others that nobody can have stored.

A third client, in Perl, written from SPECIFICATION.md alone, makes the same reports.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clients.vectors.make import PATH, made, text
from clients.vectors.surveys import SURVEYS
from clients.vectors.tapes import Tape
from grid import MECHANISMS

import ldpstats as ldp
from ldpstats.clients.conformance import compared
from ldpstats.clients.portable.ldpstats_client import Client
from ldpstats.clients.random_vectors import DRAWS, Vector, kinds, random_vectors, stored_vectors

N = 1_000
PERL = Path(__file__).parent / "third_language" / "client.pl"
NEEDS = ["Digest::MD5", "Digest::SHA", "FindBin", "Math::BigInt", "POSIX"]


@cache
def shipped() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(PATH.read_text(encoding="ascii"))
    return found


def same_but_for_rounding(first: Any, second: Any) -> bool:
    """Whether two documents differ in the last digits of probabilities at most, if at all."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            same_but_for_rounding(first[name], second[name])
            for name in first.keys() - {"survey", "fingerprint", "digest"}
        )
    if isinstance(first, list) and isinstance(second, list):
        pairs = zip(first, second, strict=False)
        return len(first) == len(second) and all(same_but_for_rounding(*pair) for pair in pairs)
    if isinstance(first, str) and isinstance(second, str) and first != second:
        try:
            return abs(float(first) - float(second)) <= 1e-14 * abs(float(first))
        except ValueError:
            return False
    return type(first) is type(second) and first == second


def test_the_file_is_what_the_script_makes() -> None:
    found, kept = json.loads(text(made())), shipped()
    assert found["clients"].keys() == kept["clients"].keys()
    other = {name for name, own in found["clients"].items() if own != kept["clients"][name]}
    for name in other:  # a processor whose exponentials differ in the last digit
        assert same_but_for_rounding(found["clients"][name], kept["clients"][name]), name
    assert len(other) < 20, "write the file again: python -m clients.vectors.make in tests/"
    if not other:
        assert text(found) == PATH.read_text(encoding="ascii")
    mine = [one for one in found["vectors"] if str(one["client"]) not in other]
    assert mine == [one for one in kept["vectors"] if str(one["client"]) not in other]


def test_it_has_every_mechanism_and_reason_and_stays_small() -> None:
    assert set(MECHANISMS) <= set(shipped()["clients"])
    used = {one["client"] for one in shipped()["vectors"] if isinstance(one["client"], str)}
    assert used == set(SURVEYS) and PATH.stat().st_size < 660_000
    said = Counter(reason for one in shipped()["vectors"] for reason in reasons(one["expected"]))
    known = {"document", "epsilon", "tags", "budget", "answer", "random", "invitation"}
    assert set(said) == known and min(said.values()) >= 3


def reasons(expected: Any) -> list[str]:
    found = [expected, *expected.get("reports", ())]
    return [one["refused"] for one in found if isinstance(one, dict) and "refused" in one]


def test_a_permanent_response_is_that_of_the_packages_client() -> None:
    one = next(one for one in shipped()["vectors"] if one["name"] == "rappor-16, a secret")
    secret, tape = bytes.fromhex(one["secret"]), Tape(bytes.fromhex(one["random"]))
    client = SURVEYS["rappor-16"].client(tape, secret=secret)
    assert [client.report(answer) for answer in one["answers"]] == one["expected"]["reports"]


def test_reports_of_many_bits_are_those_of_the_samplers(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("ldpstats.mechanisms.base", "ldpstats.clients.device"):
        monkeypatch.setattr(f"{module}.SystemWords", type(None))  # the samplers alone
    theirs, ours = (Tape(np.random.default_rng(0).bytes(1 << 22)) for _ in range(2))
    for mechanism in (ldp.KRAPPOR(300_000, 1.3), ldp.SubsetSelection(30_001, 0.7, size=11_000)):
        light = Client(mechanism.client_document(), entropy=ours)
        assert light.report("77") == mechanism.collector(theirs).report(77)
        assert ours.used == theirs.used


def test_a_client_written_from_the_specification_alone_agrees_with_all_vectors() -> None:
    program = shutil.which("perl")
    if program is None:
        pytest.skip("perl is not installed")
    modules = [f"-M{name}" for name in NEEDS]
    tried = subprocess.run([program, *modules, "-e", "use v5.28; exit(~0 != 2 ** 64 - 1)"])
    if tried.returncode:
        pytest.skip("perl 5.28 with 64-bit integers and its core modules is not installed")
    found = compared(stored_vectors(), [program, str(PERL)], timeout=30.0)
    assert found.agrees, str(found)
    assert len(found.vectors) > 500


# -- random ones -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vectors() -> tuple[Vector, ...]:
    return random_vectors(N, 1)


def test_a_seed_makes_them_again(vectors: tuple[Vector, ...]) -> None:
    assert random_vectors(40, 1) == vectors[:40] != random_vectors(40, 2)
    assert len({one.name for one in vectors}) == N
    assert all(json.loads(json.dumps(one.request)) == one.request for one in vectors)


def test_every_kind_of_draw_makes_reports(vectors: tuple[Vector, ...]) -> None:
    count: Counter[str] = Counter()
    for one in vectors:
        reports = one.expected.get("reports", ())
        n = sum(isinstance(y, str) or (isinstance(y, dict) and "refused" not in y) for y in reports)
        count.update({kind: n for kind in kinds(one.request["client"])})
    assert set(count) >= {*DRAWS, "questionnaire"}
    assert min(count[kind] for kind in (*DRAWS, "questionnaire")) >= 20


def test_every_reason_to_refuse_occurs(vectors: tuple[Vector, ...]) -> None:
    at_once = Counter(one.expected.get("refused") for one in vectors)
    said = Counter(reason for one in vectors for reason in reasons(one.expected))
    assert min(at_once[reason] for reason in ("document", "epsilon", "tags")) >= 3
    assert min(said[reason] for reason in ("answer", "budget", "random")) >= 20
    assert at_once[None] > 0.75 * N
    assert 0.05 * N < at_once["document"] < 0.12 * N  # one in twelve is damaged
