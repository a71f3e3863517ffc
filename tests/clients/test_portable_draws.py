"""The client for devices makes the reports of the samplers, from the same random bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from clients.vectors.tapes import Tape
from grid import MECHANISMS

import ldpstats as ldp
from ldpstats.clients.portable import ldpstats_client as portable


@pytest.fixture(autouse=True)
def samplers_alone(monkeypatch):
    """The package draws by its samplers, else the client would be compared with its own code."""
    for module in ("ldpstats.mechanisms.base", "ldpstats.clients.drawing"):
        monkeypatch.setattr(f"{module}.SystemWords", type(None))


def random_bytes(seed: int) -> bytes:
    return np.random.default_rng(seed).bytes(1 << 16)


def awkward_bytes(document: Any, seed: int) -> bytes:
    """Words that are thresholds of the document, or just beside them, with uniform ones between."""
    text = json.dumps(document).replace('"', " ").replace(",", " ").replace("]", " ").split()
    numbers = {int(t) for t in text if t.isdigit()} | {0, 2**64 - 1}
    thresholds = sorted(t for t in numbers if t < 2**64)
    rng = np.random.default_rng(seed)
    near = np.array(thresholds, dtype=np.uint64)[rng.integers(len(thresholds), size=1 << 13)]
    near += rng.integers(-1, 2, size=near.size).astype(np.uint64)
    halves = rng.random(near.size) < 0.2  # ties of the upper half alone
    near[halves] = near[halves] & ~np.uint64(2**32 - 1) | rng.integers(
        2**32, size=int(halves.sum()), dtype=np.uint64
    )
    uniform = rng.integers(2**64, size=near.size, dtype=np.uint64)
    return np.where(rng.random(near.size) < 0.5, near, uniform).astype("<u8").tobytes()


def answers_of(mechanism: Any) -> list[Any]:
    answers = mechanism.client_document()["question"]["answers"]
    if answers is None:
        return ["", "a", "Zürich", "\U0001f600 and more", "\0"]
    labels = mechanism.alphabet if hasattr(mechanism, "alphabet") else mechanism.categories
    return [labels[i] for i in sorted({0, len(labels) // 2, len(labels) - 1})]


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_makes_the_same_reports(name):
    mechanism = MECHANISMS[name]
    document = json.loads(json.dumps(mechanism.client_document()))
    rappor = document["question"]["draw"]["kind"] == "rappor"
    for seed in range(4):
        stream = random_bytes(seed) if seed < 2 else awkward_bytes(document, seed)
        for answer in answers_of(mechanism):
            theirs, ours = Tape(stream), Tape(stream)
            if rappor:
                client = mechanism.client(theirs, allow_no_privacy=True)
            else:
                client = mechanism.collector(theirs, allow_no_privacy=True)
            expected = client.report(answer)
            light = portable.Client(document, entropy=ours, reports=1)
            assert light.report(str(answer)) == str(expected)
            assert ours.used == theirs.used


@pytest.mark.parametrize("seed", range(3))
def test_reports_of_many_bits_are_the_same(seed):
    theirs, ours = (Tape(np.random.default_rng(seed).bytes(1 << 22)) for _ in range(2))
    for mechanism in (ldp.KRAPPOR(300_000, 1.3), ldp.SubsetSelection(30_001, 0.7, size=11_000)):
        expected = mechanism.collector(theirs).report(77)
        light = portable.Client(mechanism.client_document(), entropy=ours)
        assert light.report("77") == expected
        assert ours.used == theirs.used


NAMES = ldp.DictionarySurvey(length=6, gram=2, alphabet="abc", epsilon=9.0, replace="c", step=1)


def texted(report: Any) -> Any:
    """A report with the labels as texts, as devices send them."""
    if isinstance(report, dict):
        return report | {"grams": [str(gram) for gram in report["grams"]]}
    return None if report is None else str(report)


@pytest.mark.parametrize("gram_mechanism", ["krr", "oue", "orr"])
def test_dictionaries_make_the_same_reports(gram_mechanism):
    survey = replace(NAMES, gram_mechanism=gram_mechanism, string_mechanism=None)
    document = survey.client_document()
    for seed in range(12):
        theirs, ours = Tape(random_bytes(seed)), Tape(random_bytes(seed))
        answer = ("a", "abc", "xabcabcabc", "??", "a b", "bbbbbb")[seed % 6]
        expected = survey.collector(theirs).report(answer)
        assert portable.Client(document, entropy=ours).report(answer) == texted(expected)
        assert ours.used == theirs.used


PLACES = ("centre", "park", "hospital", "prison")


@pytest.mark.parametrize("kind", [ldp.URR, ldp.URAP])
def test_categories_of_ones_own_make_the_same_reports(kind):
    pum = ldp.PUM(kind(PLACES, {"hospital"}, 1.0), tags=("home", "work"))
    document = pum.client_document()
    mine = {"home": ["park"], "work": ["prison"]}
    for seed in range(12):
        theirs, ours = Tape(random_bytes(seed)), Tape(random_bytes(seed))
        client = pum.client(mine, theirs, allow_no_privacy=True)
        light = portable.Client(document, entropy=ours, tags=mine)
        assert light.report(PLACES[seed % 4]) == client.report(PLACES[seed % 4])
        assert ours.used == theirs.used


def sheets(seed: int) -> tuple[Any, dict[str, Any]]:
    questions = {
        "job": ldp.KRR(("cook", "nurse", "?"), 1.0),
        "region": ldp.Observed(("n", "s")),
        "ill": ldp.Warner(epsilon=0.5),
        "url": ldp.RAPPOR(8, 2, 4, f=0.5, p=0.25, q=0.75),
        "age": ldp.KRAPPOR(5, 0.5),
        "word": ldp.OLH(("a", "b"), epsilon=1.0),
        "name": NAMES,
    }
    ask = (None, 1, 3, 5, 6)[seed % 5]
    return ldp.Questionnaire(questions, ask=ask, refused={"job": "?"}), {
        "job": None if seed % 2 else "nurse",
        "region": "s",
        "ill": "no",
        "url": "example.org",
        "age": 3,
        "word": None if seed % 3 else "a",
        "name": "ab!ca",
    }


@pytest.mark.parametrize("seed", range(10))
def test_questionnaires_make_the_same_sheets(seed):
    sheet, answers = sheets(seed)
    theirs, ours = Tape(random_bytes(seed)), Tape(random_bytes(seed))
    client = sheet.client(theirs, reports=3, allow_no_privacy=True)
    light = portable.Client(sheet.client_document(), entropy=ours, reports=3)
    texts = {name: None if answer is None else str(answer) for name, answer in answers.items()}
    for _ in range(3):
        assert light.asked == client.asked
        expected = client.report(answers)
        assert light.report(texts) == {name: texted(report) for name, report in expected.items()}
        assert ours.used == theirs.used
