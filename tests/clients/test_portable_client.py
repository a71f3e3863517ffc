"""The client for devices alone: what it refuses, keeps and shows."""

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grid import MECHANISMS, WORDS
from shared.javascript import sealed
from shared.tracebacks import shown

import ldpstats as ldp
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.clients.portable.ldpstats_client import Client, Refused
from ldpstats.sampling import samplers

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


def test_a_pseudonym_is_that_of_the_specification(tmp_path):
    asked = {"ask": None, "family": "0123456789ab", "questions": []}
    found = portable.pseudonym(bytes(range(32)), portable.Fields(asked))
    text = FILE.parents[1].joinpath("SPECIFICATION.md").read_text("utf-8")
    assert f"The token is `{found}`" in text
    document = replace(SHEET, wave="1", link=True).client_document()
    drawn = {Client(document).message({})["token"] for _ in range(9)}
    assert len(drawn) == 9  # without a file another secret each time
    state = tmp_path / "state"
    one = Client(document, state=state, reports=2)
    assert one.message({})["token"] == one.message({})["token"] not in drawn
    for how in ({"secret": b"short"}, {"secret": bytes(32), "state": state}):
        assert reason(lambda how=how: Client(document, **how)) == "random"
    for damaged in ({}, {"secret": 5}, {"secret": "ab"}, {"secret": "A" * 64}):
        kept = {"format": "ldpstats-client", "version": 1, "fingerprint": document["family"]}
        state.write_text(json.dumps(kept | damaged) + "\n")
        assert reason(lambda: Client(document, state=state)) == "state"


def test_secrets_are_those_of_the_package(tmp_path):
    path = tmp_path / "state"
    document = RAPPOR.client_document()
    light, own = Client(document, state=path), RAPPOR.client(state=path)
    question: Any = light._questions["report"]
    assert (question.secret.hex(), question.cohort) == (own.to_dict()["secret"], own.cohort)
    before = path.read_bytes()
    assert light.report("a").startswith(f"{own.cohort}:")
    assert path.read_bytes() == before
    assert Client(document, secret=bytes(range(32)))._questions["report"].cohort == 54
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
    assert "pseudonym" not in err
    document.write_text(json.dumps(replace(SHEET, wave="1", link=True).client_document()))
    status, out, err = run([str(document), "--message"], b"{}\n")
    assert status == 0 and "the same pseudonym, so they are joined" in err
    assert run([str(document)], b'{"job": ')[0] == 1
    assert run([str(tmp_path / "nothing.json")])[0] == 1
    assert run([])[0] == 2


# What a device refuses to send: no privacy, or more epsilon than its limit.

SURVEY = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)

PUM_LIMITS = ldp.PUM(ldp.URR(("a", "b", "c"), {"a"}, epsilon=1.0), ("home",))

MANGAT = ldp.Mangat(p=0.6)

MAKERS: dict[str, Callable[..., Any]] = {
    "client": lambda m, **how: m.client(**how),
    "collector": lambda m, **how: m.collector(**how),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_no_privacy_is_refused_unless_allowed(make):
    identity = ldp.CustomMechanism(np.eye(3))
    nobody = ldp.URR(3, (), epsilon=1.0), ldp.URAP(3, (), epsilon=1.0)
    certain = ldp.RAPPOR(8, 1, 2, f=0.0, p=0.2, q=1.0)
    yes = ldp.ForcedResponse(p_truth=0.7, p_yes=0.3)
    for mechanism in (MANGAT, identity, *nobody, certain, yes):
        with pytest.raises(ldp.InvalidArgument, match="allow_no_privacy=True"):
            make(mechanism)
        make(mechanism, allow_no_privacy=True)
        with pytest.raises(ldp.InvalidArgument, match="max_epsilon"):
            make(mechanism, allow_no_privacy=True, max_epsilon=40.0)
        mechanism.to_dict()
        assert not mechanism.audit().private
    for mechanism in (
        ldp.ForcedResponse(p_truth=2 / 3, p_yes=1 / 6),
        ldp.URR(3, {0}, epsilon=1.0),
        KRR,
    ):
        make(mechanism)
        assert mechanism.audit().private
    assert ldp.FrequencyModel(MANGAT.privatize(["yes"] * 9, np.random.default_rng(1))).fit()
    for bad in (1, None, "yes", np.array([True, False])):
        with pytest.raises(ldp.InvalidArgument, match="allow_no_privacy"):
            make(MANGAT, allow_no_privacy=bad)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_device_has_its_own_limit(make):
    design = ldp.ForcedResponse(p_truth=2 / 3, p_yes=1 / 6)
    for mechanism, epsilon in (
        (KRR, 1.0),
        (design, np.log(5.0)),
        (ldp.URR(3, {0}, epsilon=1.5), 1.5),
        (ldp.URR(3, epsilon={0: 0.5, 2: 2.5}), 2.5),
        (SURVEY, 6.0),
        (ldp.ORR(8, 4, epsilon=2.0), 2.0),
    ):
        make(mechanism, max_epsilon=epsilon)
        with pytest.raises(ldp.InvalidArgument, match=r"max_epsilon=.*spends"):
            make(mechanism, max_epsilon=0.99 * epsilon)
    for bad in (-1.0, np.nan, np.inf, "1", np.array([1.0, 2.0]), True):
        with pytest.raises(ldp.InvalidArgument, match="max_epsilon"):
            make(KRR, max_epsilon=bad)


def test_the_limit_of_a_client_that_remembers_is_that_of_its_lifetime():
    lasting = ldp.RAPPOR(128, 2, 8, f=0.5, p=0.5, q=0.75)
    lasting.client(max_epsilon=lasting.lifetime_epsilon)
    lasting.collector(max_epsilon=lasting.epsilon)
    with pytest.raises(ldp.InvalidArgument, match="max_epsilon"):
        lasting.client(max_epsilon=2.0)
    PUM_LIMITS.client({}, max_epsilon=1.0)
    with pytest.raises(ldp.InvalidArgument, match="max_epsilon"):
        PUM_LIMITS.client({}, max_epsilon=0.5)


def test_too_many_cohorts_are_warned_of():
    ldp.ORR(8, 1 << 16, epsilon=1.0).client()
    for mechanism in (
        ldp.ORR(8, (1 << 16) + 1, epsilon=1.0),
        ldp.RAPPOR(8, 1, (1 << 16) + 1, f=0.5, p=0.2, q=0.8),
        ldp.DictionarySurvey(
            4, 2, "ab", string_mechanism=ldp.ORR(8, 1 << 17, epsilon=1.0), epsilon=3.0
        ),
    ):
        with pytest.warns(ldp.LDPWarning, match="recognised"):
            mechanism.client()
        mechanism.collector()


# No error and no traceback of a device shows an answer.

PACKAGE = Path(ldp.__file__).parent


class HostileSecret:
    """An answer that fails in every way, and shows itself."""

    def __eq__(self, other: object) -> bool:
        raise ValueError(ANSWER)

    def __hash__(self) -> int:
        raise TypeError(ANSWER)

    def __repr__(self) -> str:
        return ANSWER


SOURCES: dict[str, Any] = {  # and an answer that each takes
    "krr": (KRR, "perhaps"),
    "numbers": (ldp.KRR(9_000, 1.0), 4_711),
    "unary": (ldp.KRAPPOR(("a", "b"), 1.0), "a"),
    "orr": (ldp.ORR(8, 4, epsilon=1.0), "a"),
    "rappor": (ldp.RAPPOR(16, 2, 64, f=0.5, p=0.2, q=0.9), "a"),
    "listed": (ldp.RAPPOR(8, 1, 2, f=0.5, p=0.2, q=0.8, alphabet=("a", "b")), "a"),
    "survey": (SURVEY, "abca"),
}

BAD_ANSWERS = [
    ANSWER + "\ud800",
    ANSWER.encode(),
    [ANSWER],
    (ANSWER,),
    {ANSWER: 1},
    np.array([ANSWER, ANSWER]),
    HostileSecret(),
    4711.5,
]


@pytest.mark.parametrize("name", SOURCES)
def test_no_error_shows_an_answer_secret(name):
    source, _ = SOURCES[name]
    calls: list[Callable[[], Any]] = []
    unlisted = [] if name in ("orr", "rappor") else [ANSWER]
    for bad in [*BAD_ANSWERS, *unlisted]:
        calls.append(lambda bad=bad: source.client().report(bad))
        calls.append(lambda bad=bad: source.collector().report(bad))
        calls.append(lambda bad=bad: source.collector().privatize(["a", "b", bad]))
        calls.append(lambda bad=bad: source.collector().privatize(bad))
    refused = 0
    for call in calls:
        try:
            call()
        except ldp.LDPError as error:
            text = shown(error)
            assert ANSWER not in text and "4711" not in text
            assert error.__cause__ is None and error.__context__ is None
            refused += 1
    assert refused > len(calls) / 2


@pytest.mark.parametrize("name", SOURCES)
def test_a_failure_of_the_system_shows_no_answer(name):
    source, answer = SOURCES[name]

    def failing(n: int) -> bytes:
        raise OSError("no randomness")

    calls = [lambda: source.collector(failing).report(answer)]
    if name not in ("rappor", "listed"):  # which draw their secret at once
        calls.append(lambda: source.client(failing).report(answer))
    for call in calls:
        with pytest.raises(OSError, match="no randomness") as found:
            call()
        assert found.value.__context__ is None
        assert len(str(answer)) < 3 or str(answer) not in shown(found.value)


def test_the_check_finds_what_a_simulation_shows():
    with pytest.raises(ldp.UnknownCategory) as found:
        KRR.privatize([ANSWER], np.random.default_rng(1))
    assert ANSWER in shown(found.value)


def test_places_are_named_instead():
    with pytest.raises(ldp.UnknownCategory, match=r"^values\[2\]=\(not shown\): is not among"):
        KRR.collector().privatize(["yes", "no", ANSWER])
    with pytest.raises(ldp.UnknownCategory, match=r"^value=\(not shown\): is not among"):
        KRR.client().report(ANSWER)
    with pytest.raises(ldp.InvalidArgument, match=r"^value=\(not shown\): has characters outside"):
        SURVEY.client().report("abxyz")


# Reports of devices are plain Python, and text of them reads back.

PUM_REPORTS = ldp.PUM(ldp.URR(("a", "b", "c"), {"a"}, epsilon=1.0), ("home",))


def is_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(type(k) is str and is_plain(v) for k, v in value.items())
    if type(value) is list:
        return all(map(is_plain, value))
    return type(value) in (int, float, bool, str)


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_are_plain_python(name):
    mechanism = MECHANISMS[name]
    client = (
        mechanism.client(reports=None, allow_no_privacy=True)
        if name[:6] != "rappor"
        else (mechanism.client(allow_no_privacy=True))
    )
    labels = mechanism.labels(WORDS if mechanism.is_open else None)
    for value in labels[:3]:
        report = client.report(value)
        assert is_plain(report)
        again = json.loads(json.dumps(report))
        assert type(again) is type(report) and again == report
        made = mechanism.parse("report", [report])
        np.testing.assert_array_equal(mechanism.parse("report", [str(report)]).y, made.y)


def test_other_clients_report_plain_python():
    assert is_plain(SURVEY.client().report("ab"))
    assert is_plain(PUM_REPORTS.client({}).report("a"))
    numbers = ldp.PUM(ldp.URR(5, {0}, epsilon=1.0), ("home",)).client({}, reports=9)
    assert all(is_plain(numbers.report(i)) for i in range(5))


def test_text_of_numbers_is_no_other_number():
    krr = ldp.KRR(12, epsilon=1.0)
    assert krr.parse("report", ["7", "11", " 7", "7.0"]).y.tolist() == [7, 11, 7, 7]
    for text in ("07", "7.5", "7 7", "+7", "-1", "12", "٣", "1e1", "0x1"):
        with pytest.raises(ldp.UnknownCategory):
            krr.parse("report", [text])
    halves = ldp.CustomMechanism(np.full((2, 2), 0.5), outputs=(0.5, 1.5))
    assert halves.parse("report", ["1.5", "0.5"]).y.tolist() == [1, 0]
    truths = ldp.KRR((True, False), epsilon=1.0)
    assert truths.parse("report", ["True", "False"]).y.tolist() == [0, 1]


# One answer takes a short way to its report: the same law, words and errors as many.

Q = np.array([[0.8, 0.2, 0.0, 0.0], [0.2, 0.7, 0.1, 0.0], [0.1, 0.1, 0.3, 0.5]])

LABELS = ("a", "b", "c")

MECHANISMS_SINGLE = [
    ldp.KRR(LABELS, epsilon=1.0),
    ldp.KRR(3, epsilon=0.01),
    ldp.KRR((10, 20, 30), epsilon=9.0),
    ldp.KRR(("a", 1, 2.5), epsilon=1.0),
    ldp.KRR((True, "x"), epsilon=1.0),
    ldp.Warner(epsilon=1.0),
    ldp.CustomMechanism(Q, LABELS),
    ldp.CustomMechanism(Q, LABELS, outputs=(5, 6, 7, 8)),
    ldp.URR(LABELS, sensitive={"b"}, epsilon=1.0),
    ldp.KRAPPOR(LABELS, epsilon=1.0),
    ldp.URAP(LABELS, sensitive={"b", "c"}, epsilon=1.0),
    ldp.Observed(LABELS),
    ldp.ORR(n_outputs=4, n_cohorts=3, epsilon=1.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS_SINGLE, ids=str)
def test_a_report_is_that_of_the_long_way(mechanism):
    answers = ["a", "ä"] if mechanism.is_open else mechanism.categories.tolist()
    for answer in answers:
        for seed in range(6):
            entropy = np.random.default_rng(seed).bytes
            client = mechanism.client(entropy, reports=None, allow_no_privacy=True)
            sent = [client.report(answer), client.report(answer)]
            many = mechanism.collector(np.random.default_rng(seed).bytes, allow_no_privacy=True)
            draws = [many.privatize([answer]) for _ in sent]
            expected = mechanism.report_labels(draws[0]).tolist()
            expected += mechanism.report_labels(draws[1]).tolist()
            assert sent == expected and [type(s) for s in sent] == [type(e) for e in expected]


@pytest.mark.parametrize("mechanism", MECHANISMS_SINGLE[:-1], ids=str)
@pytest.mark.parametrize(
    "answer", [None, float("nan"), pd.NA, "z", 7, 2**70, -1, True, 1.0, b"a", [], np.int64(1)]
)
def test_what_is_no_answer_is_refused_in_the_same_words(mechanism, answer):
    collector = mechanism.collector(allow_no_privacy=True)
    try:
        collector.privatize([answer])
    except ldp.errors.InvalidArgument as error:
        told = str(error).replace("values[0]", "value").replace("values=", "value=")
        with pytest.raises(type(error)) as refused:
            collector.report(answer)
        assert str(refused.value) == told
    else:
        assert collector.report(answer) is not None


def test_rows_of_few_users_are_those_of_all():
    rng = np.random.default_rng(1)
    law = rng.dirichlet(np.ones(40) * 0.1, size=40) * (rng.random((40, 40)) < 0.5)
    law[:, 0] += 1.0 - law.sum(axis=1)
    mechanism = ldp.CustomMechanism(law)
    for codes in ([], [3], [39, 3, 3, 0], rng.integers(0, 40, 39), rng.integers(0, 40, 200)):
        codes = np.asarray(codes, dtype=np.int64)
        found = mechanism.sample(codes, samplers.simulation_words(np.random.default_rng(2)))
        rows = samplers.integer_rows(mechanism.Q)
        every = samplers.sample_rows(
            codes, rows, samplers.simulation_words(np.random.default_rng(2))
        )
        assert np.array_equal(found, every)
    for codes in ([-1], [40], [0, 40]):
        with pytest.raises(ldp.errors.InvalidArgument):
            mechanism.sample(np.array(codes), samplers.simulation_words(np.random.default_rng(2)))
