"""Clients that do what no client should, and what `ldpstats conformance` says of them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ldpstats.cli import collecting as cli
from ldpstats.cli import main
from ldpstats.clients.conformance import Conformance, compared
from ldpstats.clients.portable import ldpstats_client
from ldpstats.clients.random_vectors import Vector, chosen, kinds
from ldpstats.errors import InvalidArgument

SAME = {"answers": ["a", "b", "é"], "reports": ["a", "b", "é"], "draw": {"kind": "same"}}


def vector(number: int, answers: list[Any]) -> Vector:
    """One of answers that are sent as they are."""
    question = {"question": SAME}
    reports = [one if one in SAME["answers"] else {"refused": "answer"} for one in answers]
    request = {"client": question, "random": "", "reports": None, "answers": answers}
    return Vector(f"same {number}", request, {"reports": reports, "used": 0})


VECTORS = [vector(1, ["a", "b"]), vector(2, ["é", "x", "a"]), vector(3, []), vector(4, ["b"])]

GOOD = """
import json, sys, time, os
known = ["a", "b", "\\u00e9"]
for n, line in enumerate(sys.stdin):
    got = json.loads(line)
    reports = [x if x in known else {"refused": "answer"} for x in got["answers"]]
    said = {"id": got["id"], "reports": reports, "used": 0}
    CHANGE
    print(json.dumps(said), flush=True)
AFTER
"""


def told(change: str = "pass", after: str = "pass", timeout: float = 10.0) -> Conformance:
    """What is found of a client whose program was changed."""
    program = GOOD.replace("CHANGE", change).replace("AFTER", after)
    return compared(VECTORS, [sys.executable, "-S", "-E", "-c", program], timeout)


def test_a_client_that_agrees() -> None:
    result = told()
    assert result.agrees and result.by_kind() == {"same": (4, 4)}
    assert str(result).endswith("The client agrees.")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ('said["used"] = 8 * (n == 1)', 'same 2, used: expected 0, got 8'),
        ('said["used"] = False', "same 1, used: expected 0, got false"),
        ('del said["used"]', "same 1, used: expected 0, got nothing"),
        ('said["refused"] = "answer"', 'same 1, refused: expected nothing, got "answer"'),
        (
            'said = {"id": n, "refused": "tags"}',
            'same 1, answer: expected {"reports": ["a", "b"], "used": 0}, got {"refused": "tags"}',
        ),
        ('said["reports"][:1] = ["b"]', 'same 1, report 1: expected "a", got "b"'),
        ('said["reports"].append(1)', 'same 1, reports: expected ["a", "b"], got ["a", "b", 1]'),
        (
            'said["reports"] = [x if isinstance(x, str) else None for x in reports]',
            'same 2, report 2: expected {"refused": "answer"}, got null',
        ),
        (
            'said["reports"] = ["e\\u0301" if x == "\\u00e9" else x for x in reports]',
            'same 2, report 1: expected "\\u00e9", got "e\\u0301"',
        ),
        ('said["x\\x1b"] = "\\x07"', 'same 1, x\\x1b: expected nothing, got "\\u0007"'),
    ],
)  # fmt: skip
def test_an_answer_that_differs(change: str, expected: str) -> None:
    result = told(change)
    assert not result.agrees and not result.faults and not result.missing
    assert expected in map(str, result.differences) and expected in str(result)
    assert str(result).endswith("The client does NOT agree.")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ('print("hello")', "wrote a line that is no JSON: hello"),
        ("print('\\x1b[31m')", r"wrote a line that is no JSON: \x1b[31m"),
        ("print('[' * 100_000)", "wrote a line that is no JSON: [[["),
        ("print('NaN')", "wrote a line that is no JSON: NaN"),
        ("sys.stdout.buffer.write(b'\\xff\\n')", r"wrote a line that is no JSON: \xff"),
        ("print(3)", "wrote a line that is no JSON object: 3"),
        ('said["id"] = "0"', "answered another line than that of id 0: "),
        ("raise KeyError('no such field')", "ended with status 1 (KeyError: 'no such field')"),
        ("os.kill(os.getpid(), 9)", "was ended by signal 9"),
        ("os.close(1); time.sleep(60)", "closed its output"),  # three times a second's patience
        ("print('x' * 20_000_000)", "wrote a line of more than 16,777,216 bytes"),
        ("print(end='x', flush=True); os._exit(0)", "wrote a line without an end: x"),
    ],
)
def test_a_client_that_fails(change: str, expected: str) -> None:
    """It is started again for the next vector, three times in all."""
    result = told(change, timeout=5.0)
    assert not result.agrees and result.missing == ("same 4",)
    assert [one.place for one in result.differences] == ["line"] * 3
    assert result.differences[0].got.startswith(expected)
    assert "1 vector was not sent, because the client failed 3 times" in str(result)
    assert str(result).isascii() or str(result).isprintable()


def test_a_client_without_its_option_is_told_of_it() -> None:
    client = Path(ldpstats_client.__file__)
    hint = "COMMAND --conformance"
    result = compared(VECTORS, [sys.executable, str(client)], 10.0)
    assert not result.agrees and hint in str(result)
    assert "give the client document, or --conformance" in str(result)
    assert hint not in str(compared(VECTORS, [sys.executable, str(client), "--conformance"], 10.0))
    assert hint not in str(told('said["used"] = 8'))  # it answers, and answers wrong
    assert hint not in str(told("if n == 1: raise KeyError('no such field')"))


@pytest.mark.parametrize(
    "change",
    [
        "if n == 1: time.sleep(60)",
        "if n == 1: sys.stdout = open(os.devnull, 'w')",  # it does not flush
        "if n == 1: os.close(0); time.sleep(60)",
    ],
)
def test_a_client_that_hangs(change: str) -> None:
    start = time.monotonic()
    result = told(change, timeout=0.5)
    assert time.monotonic() - start < 8.0
    assert result.differences[0].got.startswith("wrote no line within 0.5 s (does it flush")
    assert result.answered["same 1"] == () != result.answered["same 2"]


def test_one_failure_costs_one_vector() -> None:
    result = told("if said['reports'] == []: sys.exit(1)")
    assert [one.name for one in result.differences] == ["same 3"] and not result.missing
    assert result.by_kind() == {"same": (4, 3)}


def test_a_client_that_says_too_much() -> None:
    result = told("print(json.dumps(said), flush=True); time.sleep(0.2)")
    assert "wrote a line that nobody asked for" in result.differences[0].got or (
        "answered another line" in result.differences[0].got
    )
    result = told(after="print('goodbye')")
    assert result.faults == (
        "wrote a line that nobody asked for: goodbye, after its input had ended",
    )
    assert not result.agrees and not result.differences


def test_how_a_client_ends() -> None:
    assert told(after="sys.exit(4)").faults == ("ended with status 4, after its input had ended",)
    late = told(after="os.close(1); time.sleep(60)", timeout=0.5)
    assert late.faults == ("did not end when its input did, after its input had ended",)


def test_a_client_that_reads_nothing_and_writes_without_end() -> None:
    """Nor is its standard error read to the end by anybody, or kept."""
    assert told("sys.stderr.write('x' * 5_000_000); sys.stderr.flush()").agrees
    program = "while True: print('x' * 100_000)"
    large = [Vector(one.name, {**one.request, "random": "00" * 10**6}, {}) for one in VECTORS]
    result = compared(large, [sys.executable, "-S", "-E", "-c", program], 2.0)
    assert len(result.differences) == 3 and result.missing == ("same 4",)


def test_what_a_client_started_is_ended_with_it(tmp_path: Path) -> None:
    """Also if it holds the streams open; its mark would come after three seconds, hence as many."""
    start, mark = time.monotonic(), tmp_path / "mark"
    child = f"import time; time.sleep(3); open({str(mark)!r}, 'w')"
    spawn = f"import subprocess; subprocess.Popen([sys.executable, '-S', '-c', {child!r}])"
    result = told(f"{spawn}; os._exit(0)", timeout=0.5)
    assert len(result.differences) == 3 and time.monotonic() - start < 2.9
    time.sleep(max(0.0, start + 3.6 - time.monotonic()))
    assert not mark.exists()


def test_what_cannot_be_run(tmp_path: Path) -> None:
    for name in ("no/such/program", str(tmp_path), "", "a\0b"):
        with pytest.raises(InvalidArgument, match="cannot be run"):
            compared(VECTORS, [name], 1.0)


def test_kinds_of_documents() -> None:
    inner = {"answers": 2, "reports": 2, "draw": {"kind": "keep"}}
    assert kinds({"question": inner}) == ["keep"]
    assert kinds({"questions": [inner, inner | {"draw": {"kind": "parts", "parts": [inner]}}]}) == [
        "questionnaire", "keep", "parts",
    ]  # fmt: skip
    grams = {"kind": "grams", "gram_question": inner}
    assert kinds({"question": {"draw": grams}}) == ["grams", "keep"]
    for broken in (None, 3, [], {}, {"question": 1}, {"question": {"draw": {"kind": 3}}}):
        assert kinds(broken) == ["other"]


def test_some_vectors_are_chosen() -> None:
    assert chosen(VECTORS, []) == tuple(VECTORS)
    assert chosen(VECTORS, ["same 2", "same 4"]) == (VECTORS[1], VECTORS[3])
    assert chosen(VECTORS, ["same"]) == tuple(VECTORS)
    with pytest.raises(InvalidArgument, match=r"is no name of a vector .* of draw: same"):
        chosen(VECTORS, ["keep"])


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "stored_vectors", lambda: tuple(VECTORS))


def run(*arguments: str, change: str = "pass") -> int:
    program = GOOD.replace("CHANGE", change).replace("AFTER", "assert sys.argv[1:] == ['--json']")
    command = [sys.executable, "-S", "-E", "-c", program, "--json"]
    return main(["conformance", *arguments, *command])


@pytest.mark.usefixtures("four")
def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    assert run("--random", "0", "--json", str(path)) == 0
    assert capsys.readouterr().out.endswith("The client agrees.\n")
    assert json.loads(path.read_text())["agrees"] is True
    assert run("--random", "0", "--json", str(path)) == 2  # it is there
    assert run("--random", "0", "--only", "same 1", "--json", "-", change="said['used'] = 1") == 1
    said = json.loads(capsys.readouterr().out)
    assert said["vectors"] == 1 and said["kinds"] == {"same": {"vectors": 1, "agree": 0}}
    assert said["differences"][0] == {
        "name": "same 1", "kind": "same", "place": "used", "expected": "0", "got": "1",
    }  # fmt: skip


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--timeout", "0", "true"],
        ["--random", "-1", "true"],
        ["--random", "1000000000", "true"],
        ["--seed", "x", "true"],
        ["--random", "0", "--only", "no such", "true"],
        ["--no-such-option", "true"],
        ["--random", "0", "no/such/program"],
    ],
)
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", *arguments]) == 2
    out = capsys.readouterr()
    assert out.out == "" and len(out.err.splitlines()) == 1
