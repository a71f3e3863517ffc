"""The test vectors that come with the package are what the samplers of numpy make."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from clients.vectors.make import PATH, made, text
from clients.vectors.surveys import SURVEYS
from clients.vectors.tapes import Tape
from grid import MECHANISMS


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


def test_the_file_is_what_the_script_makes():
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


def test_it_has_every_mechanism_and_stays_small():
    assert set(MECHANISMS) <= set(shipped()["clients"])
    used = {one["client"] for one in shipped()["vectors"] if isinstance(one["client"], str)}
    assert used == set(SURVEYS)
    assert PATH.stat().st_size < 660_000


@pytest.mark.parametrize(
    "reason", ["document", "epsilon", "tags", "budget", "answer", "random", "invitation"]
)
def test_every_reason_to_refuse_occurs(reason):
    found = [one["expected"] for one in shipped()["vectors"]]
    assert sum(f'"refused": "{reason}"' in json.dumps(one) for one in found) >= 3


def test_a_permanent_response_is_that_of_the_packages_client():
    one = next(one for one in shipped()["vectors"] if one["name"] == "rappor-16, a secret")
    secret, tape = bytes.fromhex(one["secret"]), Tape(bytes.fromhex(one["random"]))
    client = SURVEYS["rappor-16"].client(tape, secret=secret)
    assert [client.report(answer) for answer in one["answers"]] == one["expected"]["reports"]
