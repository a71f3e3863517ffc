"""What a questionnaire is made of, what it says of itself, and how it is written."""

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shared.sheets import MECHANISMS, PUM, STRINGS, every_kind

import ldpstats as ldp

KRR = ldp.KRR(("cook", "nurse", "refused"), 1.0)
ILL = ldp.Warner(epsilon=0.5)
REGION = ldp.Observed(("north", "south"))


def test_epsilon_is_the_sum_over_private_questions():
    own = {"a": ldp.Warner(epsilon=0.5), "b": KRR, "c": ldp.Warner(epsilon=2.0), "r": REGION}
    assert ldp.Questionnaire(own).epsilon == 3.5
    assert [ldp.Questionnaire(own, ask=m).epsilon for m in (1, 2, 3)] == [2.0, 3.0, 3.5]
    assert ldp.Questionnaire({"r": REGION}).epsilon == np.inf
    nothing = ldp.CustomMechanism(np.eye(2))
    assert ldp.Questionnaire({"a": KRR, "b": nothing}, ask=1).epsilon == np.inf
    assert ldp.Questionnaire({"u": STRINGS, "p": PUM}).epsilon == pytest.approx(7.0, abs=1e-12)
    unprotected = ldp.URR(("a", "b"), [], 1.0)  # protects no category
    assert ldp.Questionnaire({"u": unprotected}).epsilon == np.inf


def test_its_audit():
    sheet = every_kind(ask=2)
    audit = sheet.audit()
    assert audit.agrees and audit.private and list(audit.questions) == list(MECHANISMS)
    largest = sorted((MECHANISMS[n].audit().channel for n in ("url", "filter")), reverse=True)
    assert audit.declared == sheet.epsilon and audit.channel == pytest.approx(sum(largest))
    document = audit.to_dict()
    assert json.loads(json.dumps(document))["questions"]["job"]["declared"] == 1.0
    assert document["questions"]["region"]["declared"] is None
    assert "epsilon of a lifetime" in str(audit) and "job: Privacy audit of KRR" in str(audit)


def test_it_writes_and_reads_itself(tmp_path):
    sheet = every_kind(ask=3)
    text = sheet.to_json()
    assert text is not None
    again = ldp.Questionnaire.from_json(text)
    assert again == sheet and hash(again) == hash(sheet) and again.to_json() == text
    assert again.questions == sheet.questions and again.ask == 3
    assert dict(again.refused) == {"job": "refused"}
    for path in (tmp_path / "sheet.json", str(tmp_path / "other.json")):
        assert sheet.to_json(path) is None
        assert ldp.Questionnaire.from_json(path) == sheet
    with pytest.raises(ldp.InvalidArgument, match="already exists"):
        sheet.to_json(tmp_path / "sheet.json")
    sheet.to_json(tmp_path / "sheet.json", force=True)
    assert pickle.loads(pickle.dumps(sheet)) == copy.deepcopy(sheet) == sheet


def test_whatever_differs_has_another_fingerprint():
    base = {"a": KRR, "b": ILL}
    sheets = [
        ldp.Questionnaire(base),
        ldp.Questionnaire({"b": ILL, "a": KRR}),  # in another order
        ldp.Questionnaire({"a": KRR, "c": ILL}),
        ldp.Questionnaire({"a": KRR, "b": ldp.Warner(epsilon=0.6)}),
        ldp.Questionnaire(base, ask=1),
        ldp.Questionnaire(base, refused={"a": "refused"}),
        ldp.Questionnaire(base, refused={"a": "cook"}),
    ]
    assert len({sheet.fingerprint for sheet in sheets}) == len(sheets)
    assert sheets[0] == ldp.Questionnaire(dict(base)) != sheets[1]


def test_waves_have_what_is_asked_in_common():
    plain = every_kind(ask=3)
    may = replace(plain, refused=plain.refused, wave="2026-05", link=True)
    june = may.in_wave("2026-06")
    assert plain.in_wave(None) is plain and june.in_wave(None) == plain and not plain.link
    assert {sheet.family for sheet in (plain, may, june)} == {plain.fingerprint}
    found = {sheet.fingerprint for sheet in (plain, may, june, replace(may, link=False))}
    assert len(found) == 4 and june.wave == "2026-06" and june.link
    assert not {"wave", "link"} & plain.to_dict().keys()
    assert may.to_dict().items() >= {"wave": "2026-05", "link": True}.items()
    for sheet in (may, june, replace(may, link=False)):
        assert ldp.Questionnaire.from_dict(json.loads(json.dumps(sheet.to_dict()))) == sheet
        assert pickle.loads(pickle.dumps(sheet)) == sheet
    assert str(may).endswith("; wave='2026-05', linked)") and "2026-05, linked" in may._repr_html_()
    observed = ldp.Questionnaire({"r": REGION}, wave="1")
    assert pickle.loads(pickle.dumps(observed)).in_wave(None).family == observed.family


def test_it_cannot_be_changed():
    given = {"a": KRR}
    sheet = ldp.Questionnaire(given)
    given["b"] = ILL
    assert sheet.questions == ("a",)
    with pytest.raises(TypeError):
        sheet.mechanisms["b"] = ILL
    with pytest.raises(AttributeError):
        sheet.ask = 1


def test_what_a_refusal_is():
    both = {"a": KRR, "b": ldp.KRR(("yes", "refused"), 1.0), "r": REGION}
    sheet = ldp.Questionnaire(both, refused="refused")  # for all private questions
    assert dict(sheet.refused) == {"a": "refused", "b": "refused"}
    numbers = ldp.Questionnaire({"n": ldp.KRR(4, 1.0)}, refused=" 3")  # as people write it
    assert dict(numbers.refused) == {"n": 3}
    words = {"h": ldp.ORR(8, 4, epsilon=1.0), "u": STRINGS}
    sheet = ldp.Questionnaire(words, refused={"h": "(refused)", "u": "abc"})
    assert dict(sheet.refused) == {"h": "(refused)", "u": "abc"}


def test_it_shows_itself():
    sheet = ldp.Questionnaire(
        {"<job>": KRR, "host": ldp.ORR(8, 4, epsilon=1.0), "r": REGION}, ask=1
    )
    assert str(sheet) == "Questionnaire(<job>, host; 1 of 2 asked; epsilon=1; observed: r)"
    page = sheet._repr_html_()
    assert "&lt;job&gt;" in page and "<job>" not in page
    assert "any text" in page and "observed" in page and sheet.fingerprint in page


def _spoiled(**changes: Any) -> Callable[[], Any]:
    """Read a document with other fields, which has their fingerprint."""
    from hostile.documents import signed

    document = ldp.Questionnaire({"a": KRR}).to_dict()
    return lambda: ldp.Questionnaire.from_dict(signed({**document, **changes}))


def _of(mechanisms: Any, **how: Any) -> Callable[[], Any]:
    return lambda: ldp.Questionnaire(mechanisms, **how)


_A = {"name": "a", "mechanism": KRR.to_dict()}
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a class": (_of({"job": ldp.KRR}), r"mechanisms\['job'\]='KRR': is a class: pass .*KRR\("),
    "one mechanism": (_of(KRR), "mechanisms=.*must be a dict"),
    "a number as a name": (_of({1: KRR}), "mechanisms=1: must be text"),
    "an empty name": (_of({" ": KRR}), "mechanisms=' ': must be text, not empty"),
    "a column of another": (_of({"u": STRINGS, "u_gram_1": ILL}), "'u_gram_1'.*belongs to.*'u'"),
    "fingerprints": (_of({"questionnaire_fingerprint": ILL}), "belongs to the fingerprints"),
    "fingerprints of another": (
        _of({"job": KRR, "job_fingerprint": ILL}),
        "'job_fingerprint' belongs to the fingerprints of 'job'",
    ),
    "a label beyond 64 bits": (
        _of({"a": ldp.KRR((1, 2**63), 1.0)}),
        r"mechanisms\['a'\]=9223372036854775808: is a whole number beyond 64 bits: make it text",
    ),
    "ask=0": (_of({"a": KRR}, ask=0), "ask=0: must be an integer of at least 1"),
    "ask too many": (_of({"a": KRR, "r": REGION}, ask=2), "ask=2: must be at most 1"),
    "ask nothing private": (_of({"r": REGION}, ask=1), "ask=1: must be None: no question"),
    "refused unknown": (_of({"a": ILL}, refused="refused"), "refused='refused': is not among"),
    "refused missing": (_of({"a": KRR}, refused={"a": None}), r"refused\['a'\]=None: is no"),
    "refused not asked": (_of({"aa": KRR}, refused={"a": "x"}), "refused='a'.*did you mean 'aa'"),
    "refused observed": (_of({"a": KRR, "r": REGION}, refused={"r": "north"}), "not protected"),
    "refused unprotected": (
        _of({"u": ldp.URR(("a", "b", "x"), {"a"}, 1.0)}, refused="x"),
        "refused='x': is not protected by URR.*add it to its sensitive",
    ),
    "refused unprotected place": (
        _of({"place": PUM}, refused={"place": "park"}),
        "='park': is not protected by PUM",
    ),
    "a wave without a name": (_of({"a": KRR}, wave=" "), "wave=' ': must be the name of a wave"),
    "a wave by number": (_of({"a": KRR}, wave=5), "wave=5: must be the name of a wave"),
    "a wave of no text": (_of({"a": KRR}, wave="\ud800"), "wave=.*must be the name"),
    "a link of nothing": (_of({"a": KRR}, link=True), 'link=True: joins.*wave="2026-05"'),
    "a link by name": (_of({"a": KRR}, wave="1", link="x"), "link='x'"),
    "a question called wave": (_of({"Wave": KRR}, wave="1"), "'Wave' belongs to the waves"),
    "a question called token": (_of({"token": KRR}, wave="1", link=True), "'token' belongs to"),
    "no wave": (_spoiled(wave=None), "fingerprint"),
    "a link that is false": (_spoiled(link=False, wave="1"), "fingerprint"),
    "a line break": (_of({"a\nb": KRR}), "has a line break or another control"),
    "another case": (lambda: every_kind()["JOB"], "did you mean 'job'"),
    "refused in vain": (_of({"r": REGION}, refused="north"), "refused='north': must be None"),
    "no question": (lambda: every_kind()["jbo"], "question='jbo': is no.*did you mean 'job'"),
    "columns of none": (lambda: every_kind().columns("x"), "name='x': is no question"),
    "another version": (_spoiled(version=2), "must have version 1"),
    "a field too many": (_spoiled(x=1), "specification="),
    "questions by name": (_spoiled(questions={"a": KRR.to_dict()}), "questions=.*must be a list"),
    "a name twice": (_spoiled(questions=[_A, _A]), "questions='a': is the name of two"),
    "no mechanism": (_spoiled(questions=[{**_A, "mechanism": 1}]), "specification=1"),
    "no file": (lambda: ldp.Questionnaire.from_json("no/such/file.json"), "no such file"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, words = BAD[name]
    with pytest.raises(ldp.InvalidArgument, match=words):
        call()


def test_a_changed_document_is_refused(tmp_path):
    document = ldp.Questionnaire({"a": KRR}).to_dict()
    document["ask"] = 1
    with pytest.raises(ldp.InvalidArgument, match=r"fingerprint=.*was changed"):
        ldp.Questionnaire.from_dict(document)
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(KRR.to_dict()))
    with pytest.raises(ldp.InvalidArgument, match="is not the specification of a questionnaire"):
        ldp.Questionnaire.from_json(path)


def test_a_sheet_that_protects_nothing_does_not_claim_to():
    open_sheet = ldp.Questionnaire({"r": REGION})
    assert open_sheet.epsilon == np.inf and str(open_sheet) == (
        "Questionnaire(nothing protected; observed: r)"
    )
    assert "no question is protected" in open_sheet._repr_html_()
    audit = open_sheet.audit()
    assert audit.agrees and not audit.private and "WARNING: no privacy" in str(audit)
    assert open_sheet.client().total_epsilon == np.inf  # to observe was consent
    with pytest.raises(ldp.InvalidArgument, match=r"max_epsilon=5\.0: is less"):
        open_sheet.client(max_epsilon=5.0)
    assert ldp.Questionnaire.from_json(open_sheet.to_json() or "") == open_sheet


def test_a_refusal_may_be_a_sensitive_category():
    made: list[Any] = [
        ldp.URR(("a", "none"), {"none"}, 1.0),
        ldp.URAP(("none", "a"), {"none"}, 1.0),
    ]
    for mechanism in (*made, ldp.PUM(made[0], ("home",))):
        sheet = ldp.Questionnaire({"u": mechanism}, refused="none")
        assert sheet.refused["u"] == "none" and sheet == ldp.Questionnaire.from_json(
            sheet.to_json()
        )


def test_the_mechanism_of_a_question_is_found_by_its_name():
    sheet = every_kind()
    assert [sheet[name] for name in sheet.questions] == list(sheet.mechanisms.values())
    assert isinstance(sheet.questions[:2], tuple) and json.dumps(sheet.questions[:1])
    assert pickle.loads(pickle.dumps(sheet.questions)) == sheet.questions
    says = r"questions='job': .*questionnaire\['job'\] is the mechanism"
    with pytest.raises(ldp.InvalidArgument, match=says):
        sheet.questions["job"]
    with pytest.raises(ldp.InvalidArgument, match="question='jbo': is no question"):
        sheet["jbo"]
