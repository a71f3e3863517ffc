"""Devices that keep the first of two steps: their clients have the joint law, and one response."""

import json
import pickle
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from shared.javascript import CLIENTS_TESTS, PORTABLE, needs_node, run_node

import ldpstats as ldp
from ldpstats.clients.portable import ldpstats_client as portable
from ldpstats.clients.portable.ldpstats_client import Client

JOBS = ("cook", "nurse", "none")
FIRST, SECOND = ldp.KRR(JOBS, 2.0), ldp.KRR(JOBS, 1.5)
KEPT = FIRST.then(SECOND, keep="first")
BOOLEAN = ldp.BooleanRAPPOR(f=0.3, p=0.2, q=0.9)
SHEET = ldp.Questionnaire(
    {"job": KEPT, "late": ldp.Warner(epsilon=0.7), "ill": BOOLEAN}, wave="1", link=True, keep=True
)
LEVEL = 1e-6


def p_value(counted: Counter[str], panel: Any, path: tuple[str, ...]) -> float:
    """Chi-square of the reports of devices that answered a path, by the law of the panel."""
    law = panel.matrix().loc[", ".join(path)]
    assert set(counted) <= set(map(str, law.index))
    seen = np.array([counted[str(label)] for label in law.index])
    expected = law.to_numpy() * seen.sum()
    return float(chi2.sf(((seen - expected) ** 2 / expected).sum(), len(law) - 1))


def enumerated(T: int, path: tuple[str, ...]) -> np.ndarray:
    """Law of the reports of a path: over the responses that a device may have drawn to answers."""
    P, R = (one.channel().matrix() for one in (FIRST, SECOND))
    codes, law = [JOBS.index(one) for one in path], np.zeros((3,) * T)
    for kept in product(range(3), repeat=3):
        chance = np.prod([P[x, b] for x, b in enumerate(kept)])
        for seen in product(range(3), repeat=T):
            each = [R[kept[x], y] for x, y in zip(codes, seen, strict=True)]
            law[seen] += chance * np.prod(each)
    return law.ravel()


PATHS = {2: [("cook", "cook"), ("nurse", "cook")], 3: [("cook",) * 3, ("none", "cook", "none")]}


@pytest.mark.parametrize("T", [2, 3])
def test_clients_in_python_have_the_joint_law(T):
    """A new secret for each device; reports that are drawn afresh have another law."""
    panel, document, n = KEPT.joint_law(T), KEPT.client_document(), 1_500
    for path in PATHS[T]:
        law = panel.matrix().loc[", ".join(path)].to_numpy()
        assert law == pytest.approx(enumerated(T, path), abs=1e-14)
        light, own = Counter[str](), Counter[str]()
        for _ in range(n):
            device, other = Client(document), KEPT.client()
            light[", ".join([device.report(one) for one in path])] += 1
            own[", ".join([other.report(one) for one in path])] += 1
        assert min(p_value(some, panel, path) for some in (light, own)) > LEVEL
        afresh = ldp.product({str(t): FIRST >> SECOND for t in range(T)})
        if len(set(path)) == 1:
            assert p_value(light, afresh, path) < LEVEL


@needs_node
@pytest.mark.parametrize("T", [2, 3])
def test_clients_in_javascript_have_the_joint_law(T):
    given = {"client": KEPT.client_document(), "answers": PATHS[T], "waves": True}
    arguments = str(PORTABLE / "ldpstats-client.mjs"), "3000"
    said = json.loads(run_node(CLIENTS_TESTS / "tally.mjs", *arguments, given=json.dumps(given)))
    for path, found in zip(PATHS[T], said, strict=True):
        assert p_value(Counter(dict(found)), KEPT.joint_law(T), path) > LEVEL


def kept_by(sheets: list[dict[str, Any]], name: str, own: Any, answer: object) -> bool:
    """Whether the reports of many sheets may come from one response: a half is another one."""
    law = own.steps[1][own.steps[0][own.categories.get_loc(answer)].argmax()]
    seen = pd.Series([sheet[name] for sheet in sheets]).value_counts(normalize=True)
    laws = pd.DataFrame(own.steps[1], columns=own.outputs)
    miss = (laws - seen.reindex(own.outputs, fill_value=0)).abs().max(axis=1)
    assert law.shape == (len(own.outputs),)
    return bool(miss.min() < 0.1)


def test_a_linked_questionnaire_lets_devices_keep_their_responses(tmp_path: Path):
    answers = {"job": "cook", "late": "no", "ill": True}
    words = answers | {"ill": "True"}
    client = SHEET.client(reports=None, state=tmp_path / "state")
    light = Client(SHEET.client_document(), reports=None, state=str(tmp_path / "state"))
    ours = [client.report(answers) for _ in range(400)]
    theirs = [light.report(words) for _ in range(400)]
    for name, own, answer in (("job", KEPT, "cook"), ("ill", BOOLEAN, True)):
        texts = [{name: type(ours[0][name])(sheet[name])} for sheet in theirs]
        assert kept_by(ours, name, own, answer) and kept_by(texts, name, own, answer)
        mixed = [sheet[name] for sheet in ours], [sheet[name] for sheet in texts]
        first, second = (pd.Series(one).value_counts(normalize=True) for one in mixed)
        assert (first - second).abs().max() < 0.15  # one device, one response
    late = pd.Series([sheet["late"] for sheet in ours]).value_counts(normalize=True)
    assert abs(late["no"] - np.exp(0.7) / (1 + np.exp(0.7))) < 0.12  # drawn anew


def test_sheets_of_two_waves_have_the_joint_law():
    panel, document = KEPT.joint_law(2), SHEET.client_document()
    waves = [document, SHEET.in_wave("2").client_document()]
    rng, counted = np.random.default_rng(5), Counter[str]()
    for _ in range(1_500):
        secret = rng.bytes(32)
        devices = [Client(one, secret=secret) for one in waves]
        assert devices[0]._token == devices[1]._token
        counted[", ".join(one.report({"job": "nurse"})["job"] for one in devices)] += 1
    assert p_value(counted, panel, ("nurse", "nurse")) > LEVEL
    assert p_value(counted, ldp.product({"1": KEPT, "2": KEPT}), ("nurse", "nurse")) < LEVEL


def test_equal_answers_to_two_questions_have_responses_of_their_own():
    made = {"a": KEPT, "b": KEPT}
    document = ldp.Questionnaire(made, wave="1", link=True, keep=True).client_document()
    first = KEPT.steps[0]
    same, n = 0, 1_000
    for _ in range(n):
        device = Client(document)
        words = portable.Words()
        for question in device._questions.values():
            question._then = lambda b, words: b
        a, b = (question.draw(0, words) for question in device._questions.values())
        same += a == b
    expected = (first[0] ** 2).sum()
    assert abs(same / n - expected) < 5 * np.sqrt(expected * (1 - expected) / n)


def test_what_the_mechanism_says_of_what_it_keeps(tmp_path: Path):
    assert KEPT.lifetime_epsilon == KEPT.client().total_epsilon == pytest.approx(2.0)
    audit = KEPT.lifetime_audit()
    assert audit.agrees and audit.declared == pytest.approx(2.0)
    assert KEPT.joint_law(3).epsilon_of(1) <= KEPT.lifetime_epsilon
    assert ldp.mechanism_from_dict(KEPT.to_dict()) == KEPT != FIRST >> SECOND
    assert pickle.loads(pickle.dumps(KEPT)) == KEPT
    changed = KEPT.to_dict()
    changed["steps"] = [KEPT.Q.tolist(), np.eye(3).tolist()]
    with pytest.raises(ldp.InvalidArgument, match="fingerprint"):
        ldp.mechanism_from_dict(changed)
    recoded = KEPT >> {"cook": "works", "nurse": "works", "none": "none"}
    assert recoded.keep == "first" and recoded.permanent == KEPT.permanent
    ledger = ldp.privacy.Ledger()
    for month in "123":
        ledger.spend("job", KEPT, wave=month, permanent="job of 2026")
    assert ledger.total == pytest.approx(2.0)
    client = KEPT.client(state=tmp_path / "one")
    again = KEPT.client(state=tmp_path / "one")
    assert client._question.secret == again._question.secret
    assert (tmp_path / "one").read_text().count(".") == 0  # no report needs counting
    with pytest.raises(ldp.UnknownCategory) as found:
        client.report("spy")
    assert "spy" not in str(found.value)


def test_documents_of_before_are_as_they_were():
    anew = ldp.Questionnaire({"job": KEPT, "ill": BOOLEAN}, wave="1", link=True)
    assert {one["draw"]["kind"] for one in anew.client_document()["questions"]} == {"rows"}
    assert anew.epsilon == pytest.approx(KEPT.epsilon + BOOLEAN.epsilon)
    assert SHEET.epsilon == pytest.approx(2.0 + 0.7 + BOOLEAN.lifetime_epsilon)
    assert SHEET.audit().agrees and SHEET.audit().declared == SHEET.epsilon
    assert "keep" not in anew.to_dict() and SHEET.in_wave(None).link is SHEET.in_wave(None).keep
    assert ldp.Questionnaire.from_dict(SHEET.to_dict()) == SHEET
    assert (FIRST >> SECOND).client_document()["question"]["draw"]["kind"] == "rows"


URR = ldp.URR(JOBS, {"none"}, 1.0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FIRST.then(SECOND, keep="second"), "first"),
        (lambda: FIRST.then(dict.fromkeys(JOBS, "x"), keep="first"), "two random steps"),
        (lambda: URR.then(SECOND, keep="first"), "protects all categories"),
        (lambda: ldp.Questionnaire({"job": KEPT}, wave="1", keep=True), "link=True"),
        (lambda: ldp.Questionnaire({"job": FIRST}, wave="1", link=True, keep=True), "RAPPOR"),
    ],
)
def test_what_cannot_be_kept_is_refused(make: Any, said: str):
    with pytest.raises(ldp.InvalidArgument, match=said):
        make()


def test_many_reports_of_a_response_that_reveals_are_private_only_if_they_stay_revealing():
    """By enumeration: the ratio of likelihoods of T equal reports of one response."""
    first = ldp.URR(JOBS, {"cook", "nurse"}, 1.0)
    rows = [[0.8, 0.2, 0.0], [0.3, 0.7, 0.0], [0.0, 0.0, 1.0]]
    mixed, apart = first >> SECOND, first >> pd.DataFrame(rows, index=JOBS, columns=JOBS)
    for T in (1, 2, 8, 32):
        ratios = [
            np.ptp(np.log(step.steps[0] @ step.steps[1][:, list(outputs)] ** T), axis=0).max()
            for step, outputs in ((mixed, (0, 1, 2)), (apart, (0, 1)))
        ]
        assert ratios[1] <= apart.lifetime_epsilon == pytest.approx(1.0)
    assert ratios[0] > 30.0 and mixed.lifetime_epsilon == np.inf


def test_change_of_two_such_surveys_takes_their_joint_law():
    rng = np.random.default_rng(8)
    path = rng.choice(["cook, cook", "cook, nurse", "none, none"], 6_000, p=[0.5, 0.2, 0.3])
    panel = KEPT.joint_law(2)
    both = panel.split(panel.privatize(path, rng)).values()
    surveys = []
    for wave, own in zip("12", both, strict=True):
        table = pd.DataFrame({"job": KEPT.report_labels(own), "token": range(6_000)})
        sheet = ldp.Questionnaire({"job": KEPT}, wave=wave, link=True, keep=True)
        surveys.append(ldp.Survey(table, sheet))
    first, second = surveys
    found = first.change(second, "job", id="token").turnover()
    told = first.change(second, "job", id="token", memoised=True).turnover()
    assert found == told and found.lower < 0.2 < found.upper
    both = first.matched(second, id="token")
    assert both.change("job_1", "job_2").turnover() == told
    paths = both.paths(["job_1", "job_2"], "job").frequencies("job").turnover()
    assert paths[["estimate", "lower", "upper"]].tolist() == pytest.approx(
        [told.estimate, told.lower, told.upper], abs=2e-3
    )
    anew = first.change(second, "job", id="token", memoised=False).turnover()
    assert anew.upper < 0.2  # what overlooking it would say
    with pytest.raises(ldp.NotAvailable, match="permanent response"):
        first.change(ldp.Survey(table, {"job": KEPT}), "job", id="token")
