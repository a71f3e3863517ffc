"""The client for devices alone: what it refuses, keeps and shows."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from shared.javascript import sealed
from shared.tracebacks import shown

import ldpstats as ldp
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.clients.portable.ldpstats_client import Client, Refused

KRR = ldp.KRR(("yes", "no", "perhaps"), epsilon=1.0)
RAPPOR = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=64, f=0.5, p=0.25, q=0.75)
ONCE = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=64, f=0.0, p=0.25, q=0.75)
SHEET = ldp.Questionnaire(
    {"job": ldp.KRR(("cook", "nurse"), 1.0), "ill": ldp.Warner(epsilon=0.5)}, ask=1
)
PUM = ldp.PUM(ldp.URR(("a", "b", "c"), {"c"}, 1.0), tags=("home", "work"))
FILE = Path(portable.__file__)
ANSWER = "hepatitis-4711"


def changed(document: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A document with other fields, and the fingerprint that it then has."""
    return sealed(document | fields)


def with_draw(mechanism: Any, **fields: Any) -> dict[str, Any]:
    document = mechanism.client_document()
    draw = document["question"]["draw"] | fields
    return changed(document, question=document["question"] | {"draw": draw})


def reason(call: Any) -> str:
    with pytest.raises(Refused) as found:
        call()
    return found.value.reason


GOOD = KRR.client_document()
BROKEN: dict[str, Any] = {  # beside those of the vectors
    "null": None,
    "list": [GOOD],
    "a fraction": changed(GOOD, version=1.0),
    "threshold of other digits": with_draw(KRR, keep="\u0661"),
    "truth": with_draw(KRR, k=True),
    "design": with_draw(ldp.HadamardResponse(5, 0.6), design={"kind": "hadamard", "order": 6}),
    "plane": with_draw(
        ldp.ProjectiveGeometryResponse(11, 1.0), design={"kind": "projective", "q": 4, "t": 2}
    ),
    "deep": json.loads("[" * 900 + "]" * 900),
    "a law of nothing": with_draw(
        PUM, draw=PUM.client_document()["question"]["draw"]["draw"] | {"law": None}
    ),
    "two surveys in one": changed(GOOD, questions=[], ask=None),
    "bits beyond a device's memory": with_draw(RAPPOR, cells=(1 << 32) - 1),
    "ranks beyond a device's time": changed(
        GOOD,
        question={
            "answers": 1 << 25,
            "reports": 5,
            "draw": RAPPOR.client_document()["question"]["draw"]
            | {"kind": "hash", "hash": "permutation", "then": {"kind": "keep", "keep": "0"}},
        },
    ),
    "other bits": with_draw(ldp.KRAPPOR(3, 1.0), bits=(1 << 32) - 1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_documents_are_refused(name):
    assert reason(lambda: Client(BROKEN[name])) == "document"


def test_epsilon_is_limited_by_the_device():
    assert Client(GOOD, max_epsilon="1.0").epsilon == 1.0
    for most in ("0.999", "-1", "nan", "much", "", None, True)[:5]:
        assert reason(lambda most=most: Client(GOOD, max_epsilon=most)) == "epsilon"
    open_ = changed(GOOD, epsilon="inf")
    assert reason(lambda: Client(open_, max_epsilon="inf")) == "epsilon"
    assert Client(open_).epsilon == float("inf")
    assert Client(GOOD, reports=3).total_epsilon == 3.0
    assert Client(GOOD, reports=None).total_epsilon == float("inf")
    assert Client(RAPPOR.client_document()).total_epsilon == RAPPOR.lifetime_epsilon


@pytest.mark.parametrize("reports", [0, -1, 1.0, True, "1"])
def test_a_number_of_reports_is_a_whole_one(reports):
    assert reason(lambda: Client(GOOD, reports=reports)) == "budget"


def test_tags_stay_with_answers_of_the_question():
    document = PUM.client_document()
    assert Client(document, tags={"home": ["a"], "work": ["b", "b"]}).report("a")
    assert Client(document, tags={"home": []}).report("a")
    for tags in (
        {"home": ["a"], "work": ["a"]},
        {"pub": []},
        {"home": ["d"]},
        {"home": "a"},
        ["a"],
    ):
        assert reason(lambda tags=tags: Client(document, tags=tags)) == "tags"
    assert reason(lambda: Client(GOOD, tags={"home": ["yes"]})) == "tags"
    sheet = ldp.Questionnaire({"place": PUM, "ill": ldp.Warner(epsilon=0.5)}).client_document()
    client = Client(sheet, tags={"place": {"home": ["a"]}}, reports=None)
    seen = {client.report({"place": "a", "ill": "no"})["place"] for _ in range(200)}
    assert "home" in seen and "a" not in seen
    assert reason(lambda: Client(sheet, tags={"ill": {"home": ["no"]}})) == "tags"
    assert reason(lambda: Client(sheet, tags={"pub": {}})) == "tags"


def test_a_sheet_looks_at_what_is_asked_alone():
    client = Client(SHEET.client_document(), reports=2)
    (asked,) = client.asked
    (other,) = {"job", "ill"} - {asked}
    good = {"job": "nurse", "ill": "no"}
    for bad in (None, [], {"age": 3}, {asked: "x"}, {asked: 1}):
        assert reason(lambda bad=bad: client.report(bad)) == "answer"
        assert client.asked == (asked,)
    sheet = client.report(good | {other: ["never looked at"]})
    assert sheet[other] is None and sheet[asked] is not None
    assert client.report({}) == {"job": None, "ill": None}
    assert reason(lambda: client.report(good)) == "budget"


def test_a_sheet_stands_where_random_bytes_end_after_it():
    document = SHEET.client_document()
    given = portable.Given(bytes(range(8)) + b"\x01" * 8)
    client = Client(document, entropy=given, reports=None)
    for _ in range(2):  # the questions of the second sheet are drawn after the first
        assert client.report({}) == {"job": None, "ill": None}
        assert given.used == 16
    assert reason(lambda: client.report({})) == "random"
    assert reason(lambda: client.asked) == "random"


@pytest.mark.parametrize("found", [b"", b"1234567", bytearray(8), None, "12345678", [1] * 8])
def test_a_broken_random_source_is_refused(found):
    client = Client(GOOD, entropy=lambda n: found)
    assert reason(lambda: client.report("yes")) == "random"


KEEP = {"kind": "keep", "k": 3, "keep": "0"}
SUBSET = {"kind": "subset", "k": 500, "size": 2, "keep": "0"}
NEVER = {"kind": "others", "law": {"upper": [], "rest": [], "total": "1"}}
BLOCK = {"kind": "block", "own": 1, "others": 2, "keep": "0", "design": {"kind": "single"}}


@pytest.mark.parametrize(
    ("question", "byte"),
    [
        ({"answers": 3, "reports": 3, "draw": KEEP}, 0),
        ({"answers": 500, "reports": {"bits": 500}, "draw": SUBSET}, 0),
        ({"answers": 4, "reports": 4, "draw": BLOCK | {"others": 3}}, 255),
        ({"answers": 1, "reports": 1, "draw": NEVER | {"accepted": [["0", "1"]]}}, None),
    ],
)
def test_no_draw_goes_on_for_ever(question, byte, monkeypatch):
    """A source that is always the same, or a document under which nothing is accepted."""
    monkeypatch.setattr(portable, "MOST_TRIES", 1 << 10)
    entropy = os.urandom if byte is None else lambda n: bytes([byte]) * n
    client = Client(changed(GOOD, question=question, epsilon="inf"), entropy=entropy)
    assert reason(lambda: client.report("0")) == "random"


# -- what is spent ---------------------------------------------------------------------------------


def test_state_files_are_those_of_the_package(tmp_path):
    both, theirs = tmp_path / "both", tmp_path / "theirs"
    Client(GOOD, state=both, reports=3).report("yes")
    assert both.stat().st_mode & 0o777 == 0o600 and os.listdir(tmp_path) == ["both"]
    KRR.client(state=both, reports=3).report("yes")
    Client(GOOD, state=both, reports=3).report("yes")
    with pytest.raises(ldp.BudgetSpent):
        KRR.client(state=both, reports=3).report("yes")
    assert reason(lambda: Client(GOOD, state=both, reports=3).report("?")) == "budget"
    KRR.client(state=theirs, reports=3)
    assert both.read_bytes() == theirs.read_bytes() + b"..."
    other = ldp.KRR(("yes", "no"), 1.0).client_document()
    assert reason(lambda: Client(other, state=both)) == "state"
    assert reason(lambda: Client(RAPPOR.client_document(), state=both)) == "state"


def test_secrets_are_those_of_the_package(tmp_path):
    path = tmp_path / "state"
    document = RAPPOR.client_document()
    light, own = Client(document, state=path), RAPPOR.client(state=path)
    question: Any = light._questions["report"]
    assert (question.secret.hex(), question.cohort) == (own.to_dict()["secret"], own.cohort)
    before = path.read_bytes()
    assert light.report("a").startswith(f"{own.cohort}:")
    assert path.read_bytes() == before
    assert Client(document, secret=bytes(range(32)))._questions["report"].cohort == 54  # type: ignore[attr-defined]
    for wrong in (b"short", "0" * 64, 3):
        assert reason(lambda wrong=wrong: Client(document, secret=wrong)) == "random"
    assert reason(lambda: Client(document, secret=bytes(32), state=path)) == "random"
    path.write_text(json.dumps(own.to_dict() | {"cohort": own.cohort ^ 1}) + "\n")
    assert reason(lambda: Client(document, state=path)) == "state"
    once = Client(ONCE.client_document(), state=tmp_path / "once", reports=None)
    once.report("a")
    assert reason(lambda: Client(ONCE.client_document(), state=tmp_path / "once").report("a")) == (
        "budget"
    )


# -- what is shown ---------------------------------------------------------------------------------


class Hostile(str):
    """An answer that fails in every way, and shows itself."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise ValueError(ANSWER)

    def __hash__(self) -> int:
        raise TypeError(ANSWER)

    def __repr__(self) -> str:
        return ANSWER


@pytest.mark.parametrize(
    "mechanism", [KRR, RAPPOR, ldp.ORR(8, 4, epsilon=1.0), SHEET, PUM], ids=str
)
def test_no_error_shows_an_answer(mechanism):
    client = Client(mechanism.client_document(), reports=None)
    names = client.asked if mechanism is SHEET else ()
    refused = 0
    for bad in (ANSWER + "\ud800", ANSWER.encode(), [ANSWER], {ANSWER: 1}, Hostile(ANSWER), 4711):
        try:
            client.report(dict.fromkeys(names, bad) if names else bad)
        except Refused as error:
            text = shown(error)
            assert error.reason == "answer"
            assert ANSWER not in text and "4711" not in text
            assert error.__cause__ is None and error.__context__ is None
            refused += 1
    assert refused == 6


# -- on its own ------------------------------------------------------------------------------------


def run(arguments: list[str], given: bytes = b"") -> tuple[int, str, str]:
    """The file run by itself: in an interpreter without packages of others."""
    command = [sys.executable, "-I", "-S", "-W", "error", str(FILE), *arguments]
    ran = subprocess.run(command, input=given, capture_output=True, timeout=30)
    return ran.returncode, ran.stdout.decode(), ran.stderr.decode()


FLIPPED = ldp.CustomMechanism([[0, 1], [1, 0]], ("no", "yes"))
LATE = ldp.Questionnaire({"late": FLIPPED, "region": ldp.Observed(2)})


def test_a_message_is_made_of_true_answers():
    client = Client(LATE.client_document(), reports=2)
    given = {"late": "yes", "region": "1"}
    message = client.message(given)
    token = message.pop("token")
    assert len(bytes.fromhex(token)) == 16
    head = {"format": "ldpstats-sheet", "version": 1, "survey": LATE.fingerprint}
    assert message == head | {"sheet": {"late": "no", "region": "1"}}  # yes was never sent
    assert reason(lambda: client.message({"late": ANSWER})) == "answer"
    returned = client.report(given)  # the second: nothing was spent by what was refused
    first, second = client.message(returned), client.message(returned)
    assert first["sheet"] == second["sheet"] == returned and first["token"] != second["token"]
    for answers in (given, dict(returned), json.loads(json.dumps(returned))):
        assert reason(lambda answers=answers: client.message(answers)) == "budget"
    head = {"format": "ldpstats-withdrawal", "version": 1, "survey": LATE.fingerprint}
    assert client.withdrawal() == head  # no token, and nothing of a report
    returned["late"] = "yes"
    assert client.message(returned)["sheet"]["late"] == "no"  # as it was made


@pytest.mark.parametrize("answer", ["yes", {"late": "yes", "region": "1"}], ids=["text", "sheet"])
def test_what_report_returned_is_told_from_answers(answer):
    made_by = FLIPPED if answer == "yes" else LATE
    client = Client(made_by.client_document(), reports=2)
    returned = client.report(answer)
    other = Client(made_by.client_document(), reports=1)
    for call in (other.message, other.report):
        assert reason(lambda call=call: call(returned)) == "answer"
    assert reason(lambda: client.report(returned)) == "answer"  # not privatised twice
    said = client.message(returned)["sheet"]
    assert (said["report"] if answer == "yes" else said) == returned
    assert pickle.loads(pickle.dumps(returned)) == returned == copy.deepcopy(returned)
    assert reason(lambda: client.message(copy.deepcopy(returned))) == "answer"
    client.report(answer)
    assert reason(lambda: client.message(answer)) == "budget"


def test_the_file_needs_no_other(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import ldpstats_client as c;"
        "print(sorted({m.split('.')[0] for m in sys.modules} - sys.stdlib_module_names))"
    )
    copy = tmp_path / "ldpstats_client.py"
    copy.write_bytes(FILE.read_bytes())
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(tmp_path)], capture_output=True, check=True
    )
    assert ran.stdout.decode().strip() == "['__main__', 'ldpstats_client']"


def test_the_command_line(tmp_path):
    document, state = tmp_path / "client.json", str(tmp_path / "state")
    document.write_text(json.dumps(GOOD))
    status, out, err = run(["--help"])
    assert status == 0 and "standard input" in " ".join(out.split())
    status, out, err = run([str(document), "--state", state], b"yes\n")
    assert (status, out.strip() in KRR.categories, err) == (0, True, "")
    status, out, err = run([str(document), "--state", state], ANSWER.encode())
    assert (status, out) == (1, "") and "(budget)" in err and ANSWER not in err
    for bad in (ANSWER.encode(), b"\xff", ANSWER.encode() + b"\xff\n"):
        status, out, err = run([str(document)], bad)
        assert (status, out) == (1, "") and "(answer)" in err
        assert ANSWER not in err and "Traceback" not in err
    assert "(epsilon)" in run([str(document), "--max-epsilon", "0.9"], b"yes\n")[2]
    region = ldp.Questionnaire({"ill": ldp.Warner(epsilon=0.5), "region": ldp.Observed(2)})
    document.write_text(json.dumps(region.client_document()))
    limit, sheet = [str(document), "--max-epsilon", "0.5"], b'{"ill": "no", "region": "1"}'
    assert run(limit, sheet)[0] == 1
    assert run([*limit, "--unprotected", "ill", "--unprotected", "region"], sheet)[0] == 0
    names = ldp.KRR(("a\ud800", "\U0001f600\n"), 1.0)
    document.write_text(json.dumps(names.client_document()))
    status, out, err = run([str(document), "--json"], b'"a\\ud800"\n')
    assert status == 0 and json.loads(out) in names.categories
    document.write_text(json.dumps(SHEET.client_document()))
    status, out, err = run(
        [str(document), "--message", "--reports", "2"], b'{"job": "nurse"}\n' * 2
    )
    first, second = map(json.loads, out.splitlines())
    assert first["token"] != second["token"] and len(first["token"]) == 32
    assert set(first["sheet"]) == {"job", "ill"} and first["survey"] == SHEET.fingerprint
    assert run([str(document)], b'{"job": ')[0] == 1
    assert run([str(tmp_path / "nothing.json")])[0] == 1
    assert run([])[0] == 2
