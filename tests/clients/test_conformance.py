"""Clients that do what no client should, and what `ldpstats conformance` says of them."""

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from clients.vectors.make import PATH, made, text
from clients.vectors.surveys import SURVEYS
from clients.vectors.tapes import Tape
from grid import MECHANISMS
from shared.javascript import NODE, PORTABLE, needs_node

import ldpstats as ldp
from ldpstats.cli import collecting as cli
from ldpstats.cli import main
from ldpstats.clients.conformance import Conformance, compared
from ldpstats.clients.portable import ldpstats_client
from ldpstats.clients.portable.ldpstats_client import Client
from ldpstats.clients.random_vectors import (
    DRAWS,
    Vector,
    chosen,
    kinds,
    random_vectors,
    stored_vectors,
)
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


def test_a_client_that_agrees():
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
def test_an_answer_that_differs(change, expected):
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
def test_a_client_that_fails(change, expected):
    """It is started again for the next vector, three times in all."""
    result = told(change, timeout=5.0)
    assert not result.agrees and result.missing == ("same 4",)
    assert [one.place for one in result.differences] == ["line"] * 3
    assert result.differences[0].got.startswith(expected)
    assert "1 vector was not sent, because the client failed 3 times" in str(result)
    assert str(result).isascii() or str(result).isprintable()


def test_a_client_without_its_option_is_told_of_it():
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
def test_a_client_that_hangs(change):
    start = time.monotonic()
    result = told(change, timeout=0.5)
    assert time.monotonic() - start < 8.0
    assert result.differences[0].got.startswith("wrote no line within 0.5 s (does it flush")
    assert result.answered["same 1"] == () != result.answered["same 2"]


def test_one_failure_costs_one_vector():
    result = told("if said['reports'] == []: sys.exit(1)")
    assert [one.name for one in result.differences] == ["same 3"] and not result.missing
    assert result.by_kind() == {"same": (4, 3)}


def test_a_client_that_says_too_much():
    result = told("print(json.dumps(said), flush=True); time.sleep(0.2)")
    assert "wrote a line that nobody asked for" in result.differences[0].got or (
        "answered another line" in result.differences[0].got
    )
    result = told(after="print('goodbye')")
    assert result.faults == (
        "wrote a line that nobody asked for: goodbye, after its input had ended",
    )
    assert not result.agrees and not result.differences


def test_how_a_client_ends():
    assert told(after="sys.exit(4)").faults == ("ended with status 4, after its input had ended",)
    late = told(after="os.close(1); time.sleep(60)", timeout=0.5)
    assert late.faults == ("did not end when its input did, after its input had ended",)


def test_a_client_that_reads_nothing_and_writes_without_end():
    """Nor is its standard error read to the end by anybody, or kept."""
    assert told("sys.stderr.write('x' * 5_000_000); sys.stderr.flush()").agrees
    program = "while True: print('x' * 100_000)"
    large = [Vector(one.name, {**one.request, "random": "00" * 10**6}, {}) for one in VECTORS]
    result = compared(large, [sys.executable, "-S", "-E", "-c", program], 2.0)
    assert len(result.differences) == 3 and result.missing == ("same 4",)


def test_what_a_client_started_is_ended_with_it(tmp_path):
    """Also if it holds the streams open; its mark would come after three seconds, hence as many."""
    start, mark = time.monotonic(), tmp_path / "mark"
    child = f"import time; time.sleep(3); open({str(mark)!r}, 'w')"
    spawn = f"import subprocess; subprocess.Popen([sys.executable, '-S', '-c', {child!r}])"
    result = told(f"{spawn}; os._exit(0)", timeout=0.5)
    assert len(result.differences) == 3 and time.monotonic() - start < 2.9
    time.sleep(max(0.0, start + 3.6 - time.monotonic()))
    assert not mark.exists()


def test_what_cannot_be_run(tmp_path):
    for name in ("no/such/program", str(tmp_path), "", "a\0b"):
        with pytest.raises(InvalidArgument, match="cannot be run"):
            compared(VECTORS, [name], 1.0)


def test_kinds_of_documents():
    inner = {"answers": 2, "reports": 2, "draw": {"kind": "keep"}}
    assert kinds({"question": inner}) == ["keep"]
    assert kinds({"questions": [inner, inner | {"draw": {"kind": "parts", "parts": [inner]}}]}) == [
        "questionnaire", "keep", "parts",
    ]  # fmt: skip
    grams = {"kind": "grams", "gram_question": inner}
    assert kinds({"question": {"draw": grams}}) == ["grams", "keep"]
    for broken in (None, 3, [], {}, {"question": 1}, {"question": {"draw": {"kind": 3}}}):
        assert kinds(broken) == ["other"]


def test_some_vectors_are_chosen():
    assert chosen(VECTORS, []) == tuple(VECTORS)
    assert chosen(VECTORS, ["same 2", "same 4"]) == (VECTORS[1], VECTORS[3])
    assert chosen(VECTORS, ["same"]) == tuple(VECTORS)
    with pytest.raises(InvalidArgument, match=r"is no name of a vector .* of draw: same"):
        chosen(VECTORS, ["keep"])


# -- the command -----------------------------------------------------------------------------------
@pytest.fixture
def four(monkeypatch):
    monkeypatch.setattr(cli, "stored_vectors", lambda: tuple(VECTORS))


def run(*arguments: str, change: str = "pass") -> int:
    program = GOOD.replace("CHANGE", change).replace("AFTER", "assert sys.argv[1:] == ['--json']")
    command = [sys.executable, "-S", "-E", "-c", program, "--json"]
    return main(["conformance", *arguments, *command])


@pytest.mark.usefixtures("four")
def test_the_command(capsys, tmp_path):
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
def test_bad_usage(arguments, capsys):
    assert main(["conformance", *arguments]) == 2
    out = capsys.readouterr()
    assert out.out == "" and len(out.err.splitlines()) == 1


# Deliberate faults in copies of the clients: each is caught by conformance.

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
        "messages of linked waves have a token each", ("questionnaire",),
        ("self._token or secrets", "secrets"),
        ("this.#token ?? hexadecimal", "hexadecimal"),
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
        ("spent = spent_of(private, self._ask)", "spent = self.epsilon"),
        ("spent = spentDocument(opened);", "spent = said;"),
    ),
    Fault(
        "questions that are not protected pass a limit", ("questionnaire", "replace", "personal"),
        ("if name not in unprotected and question.shows:", "if False:"),
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
def vectors():
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
def test_a_fault_of_the_client_in_python(fault, vectors, tmp_path):
    source = (PORTABLE / "ldpstats_client.py").read_text(encoding="utf-8")
    copy = tmp_path / "ldpstats_client.py"
    copy.write_text(spoiled(source, *fault.python), encoding="utf-8")
    check([sys.executable, str(copy), "--conformance"], fault, vectors)


@needs_node
@pytest.mark.parametrize("fault", some(2))
def test_a_fault_of_the_client_in_javascript(fault, vectors, tmp_path):
    source = (PORTABLE / "ldpstats-client.mjs").read_text(encoding="utf-8")
    copy = tmp_path / "ldpstats-client.mjs"
    copy.write_text(spoiled(source, *fault.javascript), encoding="utf-8")
    shutil.copy(PORTABLE / "conformance.mjs", tmp_path)
    check([str(NODE), str(tmp_path / "conformance.mjs")], fault, vectors)


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_clients_agree(language, vectors):
    """The negative control."""
    command = [sys.executable, str(PORTABLE / "ldpstats_client.py"), "--conformance"]
    if language == "javascript":
        if NODE is None:
            pytest.skip("Node is not installed")
        command = [NODE, str(PORTABLE / "conformance.mjs")]
    found = compared(vectors, command, 20.0)
    assert found.agrees, str(found)


# The test vectors: what the samplers of numpy make, and others that nobody can have stored.
#
# A third client, in Perl, written from SPECIFICATION.md alone, makes the same reports.

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


def test_it_has_every_mechanism_and_reason_and_stays_small():
    assert set(MECHANISMS) <= set(shipped()["clients"])
    used = {one["client"] for one in shipped()["vectors"] if isinstance(one["client"], str)}
    assert used == set(SURVEYS) and PATH.stat().st_size < 700_000
    said = Counter(reason for one in shipped()["vectors"] for reason in reasons(one["expected"]))
    known = {"document", "epsilon", "tags", "budget", "answer", "random", "invitation"}
    assert set(said) == known and min(said.values()) >= 3


def reasons(expected: Any) -> list[str]:
    found = [expected, *expected.get("reports", ())]
    return [one["refused"] for one in found if isinstance(one, dict) and "refused" in one]


def test_a_permanent_response_is_that_of_the_packages_client():
    one = next(one for one in shipped()["vectors"] if one["name"] == "rappor-16, a secret")
    secret, tape = bytes.fromhex(one["secret"]), Tape(bytes.fromhex(one["random"]))
    client = SURVEYS["rappor-16"].client(tape, secret=secret)
    assert [client.report(answer) for answer in one["answers"]] == one["expected"]["reports"]


def test_reports_of_many_bits_are_those_of_the_samplers(monkeypatch):
    for module in ("ldpstats.mechanisms.base", "ldpstats.clients.device"):
        monkeypatch.setattr(f"{module}.SystemWords", type(None))  # the samplers alone
    theirs, ours = (Tape(np.random.default_rng(0).bytes(1 << 22)) for _ in range(2))
    for mechanism in (ldp.KRAPPOR(300_000, 1.3), ldp.SubsetSelection(30_001, 0.7, size=11_000)):
        light = Client(mechanism.client_document(), entropy=ours)
        assert light.report("77") == mechanism.collector(theirs).report(77)
        assert ours.used == theirs.used


def test_a_client_written_from_the_specification_alone_agrees_with_all_vectors():
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
def vectors_stored():
    return random_vectors(N, 1)


def test_a_seed_makes_them_again(vectors_stored):
    assert random_vectors(40, 1) == vectors_stored[:40] != random_vectors(40, 2)
    assert len({one.name for one in vectors_stored}) == N
    assert all(json.loads(json.dumps(one.request)) == one.request for one in vectors_stored)


def test_every_kind_of_draw_makes_reports(vectors_stored):
    count: Counter[str] = Counter()
    for one in vectors_stored:
        reports = one.expected.get("reports", ())
        n = sum(isinstance(y, str) or (isinstance(y, dict) and "refused" not in y) for y in reports)
        count.update({kind: n for kind in kinds(one.request["client"])})
    assert set(count) >= {*DRAWS, "questionnaire"}
    assert min(count[kind] for kind in (*DRAWS, "questionnaire")) >= 20


def test_every_reason_to_refuse_occurs(vectors_stored):
    at_once = Counter(one.expected.get("refused") for one in vectors_stored)
    said = Counter(reason for one in vectors_stored for reason in reasons(one.expected))
    assert min(at_once[reason] for reason in ("document", "epsilon", "tags")) >= 3
    assert min(said[reason] for reason in ("answer", "budget", "random")) >= 20
    assert at_once[None] > 0.75 * N
    assert 0.05 * N < at_once["document"] < 0.12 * N  # one in twelve is damaged
