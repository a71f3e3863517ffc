"""What is no sheet of a survey, kind by kind."""

import json
from typing import Any

import pytest
from shared.collecting import JOBS, message, questionnaire, some_reports

import ldpstats as ldp
from ldpstats.collector.intake import Checks, Refused, shape_of

SHEET = questionnaire()
CHECKS = Checks.of(SHEET.client_document())


def read(sent: Any, checks: Checks = CHECKS) -> tuple[bytes, str]:
    return checks.read(sent if isinstance(sent, bytes) else json.dumps(sent).encode())


def test_a_sheet():
    sent = message(SHEET, some_reports(), token="00FF" * 8)
    assert read(sent) == (b"\0\xff" * 8, '["nurse","no","f"]')
    turned = {**sent, "sheet": dict(reversed(sent["sheet"].items()))}
    assert read(turned) == read(sent)
    missing = message(SHEET, some_reports(job=None))
    assert read(missing)[1] == '[null,"no","f"]'


def field(name: str, value: Any) -> dict[str, Any]:
    return {**message(SHEET, some_reports()), name: value}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in field("x", 0).items() if key not in (name, "x")}


def sheet(**reports: Any) -> dict[str, Any]:
    return message(SHEET, some_reports(**reports))


GOOD = json.dumps(message(SHEET, some_reports())).encode()
BAD: dict[str, Any] = {
    "nothing": b"",
    "no JSON": b"hello",
    "more": GOOD + b"{}",
    "not UTF-8": GOOD.replace(b"nurse", b"nurs\xe9"),
    "a NUL": GOOD.replace(b"nurse", b"nur\x00e"),
    "NaN": GOOD.replace(b'"version": 1', b'"version": NaN'),
    "huge": GOOD.replace(b'"version": 1', b'"version": ' + b"1" * 6000),
    "deep": b"[" * 100_000,
    "a list": [message(SHEET, some_reports())],
    "null": None,
    "a field twice": GOOD.replace(b'"version": 1', b'"version": 1, "version": 1'),
    "a report twice": GOOD.replace(b'"late": "no"', b'"late": "no", "late": "yes"'),
    "another format": field("format", "ldpstats-client"),
    "version 2": field("version", 2),
    "version 1.0": field("version", 1.0),
    "version true": field("version", True),
    "no survey at all": field("survey", None),
    "an address": field("address", "1.2.3.4"),
    "short token": field("token", "ab" * 15),
    "token of other digits": field("token", "\u0663" * 32),
    "token with an end of line": field("token", "ab" * 16 + "\n"),
    "token no hexadecimal": field("token", "xy" * 16),
    "token a number": field("token", 0x5F0C),
    "token null": field("token", None),
    "sheet a list": field("sheet", ["nurse", "no", "f"]),
    "a question missing": field("sheet", {"job": "nurse", "late": "no"}),
    "a question more": sheet(age="30"),
    "__proto__": sheet(__proto__="x"),
    "another job": sheet(job="cook"),
    "job empty": sheet(job=""),
    "job a number": sheet(job=0),
    "job a list": sheet(job=["nurse"]),
    "half a surrogate": sheet(job="\ud800"),
    "public question unknown": sheet(sex="x"),
} | {f"without {name}": without(name) for name in ("format", "version", "survey", "token", "sheet")}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_sheet(kind):
    with pytest.raises(Refused) as caught:
        read(BAD[kind])
    text = str(caught.value)
    assert caught.value.status == 400 and text.endswith(tuple('abcdefghijklmnopqrstuvwxyz8"1'))
    assert not any(job in text.lower() for job in (*JOBS, "cook"))


def test_an_outdated_page_is_told_so():
    with pytest.raises(Refused, match="page is outdated") as caught:
        read(field("survey", "0" * 12))
    assert caught.value.status == 409


def test_an_error_of_a_report_names_the_question():
    with pytest.raises(Refused, match="'job'"):
        read(sheet(job="cook"))


# -- which questions are asked ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "refused", "job", "late", "fine"),
    [
        (None, None, "nurse", "no", True),
        (None, None, None, None, True),
        (1, None, "nurse", None, True),
        (1, None, None, None, True),
        (1, None, "nurse", "no", False),
        (2, None, "nurse", "no", True),
        (None, {"job": "nurse"}, None, "no", False),
        (None, {"job": "nurse"}, "nurse", None, True),
        (1, {"job": "nurse", "late": "no"}, None, None, False),
        (1, {"job": "nurse", "late": "no"}, None, "no", True),
        (1, {"job": "nurse"}, None, None, True),  # late was asked, and not answered
        (2, {"job": "nurse"}, None, "no", False),
    ],
)
def test_a_sheet_has_as_many_reports_as_questions_are_asked(ask, refused, job, late, fine):
    asked = questionnaire(ask=ask, refused=refused)
    checks, sent = Checks.of(asked.client_document()), some_reports(job=job, late=late)
    if fine:
        assert read(message(asked, sent), checks)
    else:
        with pytest.raises(Refused, match="questions are asked"):
            read(message(asked, sent), checks)


# -- reports ---------------------------------------------------------------------------------------

MANY = [
    (ldp.KRR(12, 1.0), ["0", "9", "11"], ["12", "-1", "01", "1.0", "", "\u0661", " 1", "+1", 1]),
    (ldp.KRAPPOR(4, 1.0), ["0110", "0000", "1111"], ["011", "01100", "0120", "0x10", "\u0660110"]),
    (ldp.SubsetSelection(4, 1.0, size=2), ["0110"], ["0100", "1110", "0000"]),
    (ldp.URAP(4, {0, 1}, 1.0), ["1100", "1110", "1101", "0000"], ["0011", "1111", "110"]),
    (ldp.ORR(4, 3, epsilon=1.0), ["0:3", "2:0"],
     ["3:0", "0:4", "0", "0:", ":0", "00:1", "0:1:1", "0 :1"]),
    (ldp.ORAPPOR(5, 1, 3, epsilon=1.0), ["2:01010"],
     ["3:01010", "2:0101", "01010", "2:", "-0:01010"]),
    (ldp.KRR(("__proto__", "constructor", "a:b"), 1.0), ["__proto__", "a:b"], ["toString", "a"]),
    (ldp.KRR(("</script>", "\0", '"', "é"), 1.0), ["</script>", "\0", '"', "é"], ["e\u0301", "'"]),
]  # fmt: skip


@pytest.mark.parametrize(("made_by", "good", "bad"), MANY)
def test_reports_of_mechanisms(made_by, good, bad):
    question = ldp.Questionnaire({"q": made_by}).client_document()["questions"][0]
    shape = shape_of(question["reports"], question["draw"])
    assert [report for report in good if not shape.fits(report)] == []
    assert [report for report in (*bad, None, [], {}, 0.5) if shape.fits(report)] == []
    assert max(len(json.dumps(report)) for report in good) <= shape.longest


GRAMS = {"positions": [0, 2], "grams": ["ab", "ca"], "string": "abca"}


@pytest.mark.parametrize(
    "other",
    [
        {"positions": [2, 0]},
        {"positions": [0, 0]},
        {"positions": [0, 1]},  # not a multiple of the step
        {"positions": [0, 2.0]},
        {"positions": "02"},
        {"grams": ["ab", "cx"]},
        {"grams": ["ab", None]},
        {"grams": "ab"},
        {"string": None},
        {"more": 1},
    ],
)
def test_reports_about_strings(other):
    survey = ldp.DictionarySurvey(length=4, gram=2, step=2, alphabet="abc", epsilon=6.0)
    question = ldp.Questionnaire({"q": survey}).client_document()["questions"][0]
    shape = shape_of(question["reports"], question["draw"])
    report = survey.client().report("abca")
    whole = {**GRAMS, "grams": report["grams"], "string": report["string"]}
    assert shape.fits(whole) and shape.fits(report)
    assert len(json.dumps(whole)) <= shape.longest
    assert not shape.fits({**whole, **other})
