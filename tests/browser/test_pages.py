"""Pages in a browser: filled in by keys alone, they send reports and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from browser.steps import (
    SECRET,
    SHORT,
    check_report,
    fill_in,
    look,
    make_reports,
    sends_at,
)
from browser.walk import Respondent, collecting
from shared.page_sheets import AWKWARD, GERMAN, six

import ldpstats as ldp
from ldpstats.page import page_text

pytestmark = pytest.mark.browser
TAKEN = {"made": 1, "left": True, "pending": None}  # what is kept at the end


def test_six_questions_by_keys_alone(respondent: Respondent) -> None:
    sheet = six()
    with collecting(page_text(sheet, post="/sheets")) as collector:
        respondent.visit(collector.url)
        fill_in(respondent, look)
        assert respondent.kept() == {} and respondent.entered == [
            "teacher", "sometimes", "park", SECRET, "male", "1",
        ]  # fmt: skip
        assert all(entered in respondent.text() for entered in respondent.entered)
        make_reports(respondent)
        look(respondent)
        assert check_report(respondent, sheet)["sex"] == "male"
        assert SECRET not in respondent.run("return document.documentElement.outerHTML")
        text = sends_at(respondent, collector)
        look(respondent)
        (request,) = respondent.log()
        assert (request["method"], request["url"]) == ("POST", f"{collector.url}sheets")
        assert request["postData"] == text and not request["headers"].get("Referer")
        assert SECRET not in json.dumps(request)
        place = f"ldpstats {sheet.fingerprint}"
        assert respondent.kept() == {place: {"survey": sheet.fingerprint, **TAKEN}}
        nothing = json.dumps([{}, "", collector.url, "Questionnaire", "", None, [], []])
        assert respondent.traces() == nothing.replace(", ", ",") + "[]"

        respondent.visit(collector.url)  # a second time
        assert respondent.heading() == "This device has taken part already"
        look(respondent)
        assert "Start" not in respondent.text() and len(collector.posted) == 1
        assert set(collector.asked) == {"/", "/sheets"}


def test_what_is_said_holds_for_every_question(respondent: Respondent) -> None:
    """Mechanisms without a bound, answers sent as they are, and cells that are no answers."""
    kinds = {
        "sex": ldp.Observed(("f", "m")),
        "mangat": ldp.Mangat(p=0.6),
        "cells": ldp.ORR(3, 1, epsilon=1.0, alphabet=3),
        "bits": ldp.RAPPOR(3, 1, 1, f=0.0, p=0.25, q=0.75, alphabet=3),
    }
    some = "This holds for the answers that are protected."
    doubt = "can tell for sure"
    for left_out, total in (("mangat", "more than 24.5 times"), (None, "may show some of your")):
        sheet = ldp.Questionnaire({name: kinds[name] for name in kinds if name != left_out})
        with collecting(page_text(sheet, post="/sheets")) as collector:
            respondent.visit(collector.url)
            text = respondent.text()
            assert total in text and (some in text) == (doubt in text) == bool(left_out)
            respondent.button("Start")
            badges = {}
            while respondent.heading() != "Check your answers":
                badges[respondent.heading()] = respondent.run(
                    "return document.querySelector('.badge').textContent"
                )
                respondent.choose(1)
                respondent.go_on()
            assert badges["sex"] == "Not protected" and badges["cells"] == "Protected"
            assert badges.get("mangat", "Protected in part") == "Protected in part"
            respondent.button("Make the reports")
            respondent.awaits("What will be sent")
            text = respondent.text()
            assert total in text and (some in text) == bool(left_out)
            assert text.count("This is a code.") == 2 and "undefined" not in text
            assert "Marks at" not in text


def test_a_bound_that_is_hardly_any_is_not_called_protection(respondent: Respondent) -> None:
    sheet = ldp.Questionnaire({"a": ldp.KRR(3, 12.0), "b": ldp.URR(3, (0,), epsilon=12.0)})
    with collecting(page_text(sheet)) as collector:
        respondent.visit(collector.url)
        text = respondent.text()
        assert "hardly any protection" in text and "can tell for sure" not in text
        respondent.button("Start")
        for _ in sheet:
            assert "Protected in part" in respondent.text()
            assert "may show it all the same" in respondent.text()
            respondent.choose(1)
            respondent.go_on()


def test_only_the_drawn_questions_are_asked(respondent: Respondent) -> None:
    with collecting(page_text(six(ask=2), post="/sheets")) as collector:
        respondent.visit(collector.url)
        assert "2 were drawn at random for you from 5" in respondent.text()
        fill_in(respondent)
        assert len(respondent.entered) == 3
        make_reports(respondent)
        sheet = check_report(respondent, six(ask=2))
        assert sum(report is not None for report in sheet.values()) == 3
        assert respondent.text().count("this question was not drawn for you") == 3
        respondent.run("location.reload()")
        respondent.until(lambda: "not been delivered yet" in respondent.text(), "the reports")
        assert json.loads(respondent.exact())["sheet"] == sheet
        sends_at(respondent, collector)


def test_an_outdated_page_says_so(respondent: Respondent) -> None:
    with collecting(page_text(SHORT, post="/sheets")) as collector:
        collector.status = 409
        respondent.visit(collector.url)
        fill_in(respondent)
        make_reports(respondent)
        respondent.button("Send the reports")
        respondent.awaits("This page is out of date")
        look(respondent)
        assert [kept["pending"] for kept in respondent.kept().values()] == [None]


def test_a_page_without_network_saves_a_file(
    respondent: Respondent, tmp_path: Path, downloads: Path
) -> None:
    page = tmp_path / "survey.html"
    ldp.page.write_page(SHORT, page)
    respondent.visit(page.as_uri())
    fill_in(respondent)
    make_reports(respondent)
    look(respondent)
    text = respondent.exact()
    respondent.button("Save as a file")
    name = f"reports-{SHORT.fingerprint}-{json.loads(text)['token'][:8]}.json"
    respondent.until((downloads / name).exists, name)
    assert (downloads / name).read_text(encoding="utf-8") == text
    assert name in respondent.text() and respondent.violations() == []
    respondent.visit(page.as_uri())
    assert respondent.exact() == text
    respondent.button("Delete the reports from this device")
    respondent.awaits("The reports were deleted from this device")
    look(respondent)
    assert [one["url"] for one in respondent.log()] == []
    respondent.visit(page.as_uri())
    assert respondent.heading() == "This device has taken part already"


# -- questions -------------------------------------------------------------------------------------


def test_skipping(respondent: Respondent) -> None:
    """A missing answer is its own, is protected as another, or cannot be."""
    sheet = ldp.Questionnaire(
        {
            "job": ldp.KRR(("nurse", "cook", "none"), 1.0),
            "ill": ldp.Warner(epsilon=1.0),
            "age": ldp.KRR(("young", "old"), 1.0),
        },
        refused={"job": "none"},
    )
    texts = {"questions": {"age": {"skip": False}}}
    with collecting(page_text(sheet, texts, "/sheets")) as collector:
        respondent.visit(collector.url)
        respondent.button("Start")
        assert "counts as the answer “none”" in respondent.text()
        assert respondent.run("return document.querySelectorAll('input').length") == 2
        respondent.button("Skip this question")
        assert "see that you gave no answer" in respondent.text()
        respondent.button("Next")
        assert "Please choose an answer, or skip the question." in respondent.text()
        assert respondent.violations() == []
        respondent.button("Skip this question")
        assert "cannot be skipped" in respondent.text()
        assert "Skip this question" not in respondent.text()
        respondent.choose(1)
        respondent.go_on()
        assert respondent.text().count("Skipped") == 2
        make_reports(respondent)
        found = json.loads(respondent.exact())["sheet"]
        assert found["ill"] is None and found["job"] in sheet["job"].categories


def test_many_answers_are_searched(respondent: Respondent) -> None:
    from selenium.webdriver.common.keys import Keys

    towns = [f"Town {i}" for i in range(3000)] + ["Zürich"]
    sheet = ldp.Questionnaire({"town": ldp.KRR(towns, 1.0), "n": ldp.KRR(500, 1.0)})
    with collecting(page_text(sheet, post="/sheets")) as collector:
        respondent.visit(collector.url)
        respondent.button("Start")
        assert "60 of 3,001 answers are shown" in respondent.text()
        assert respondent.violations() == []
        respondent.press(Keys.TAB, "zuric", Keys.ENTER)
        assert respondent.run("return document.querySelectorAll('input[type=radio]').length") == 1
        respondent.press(Keys.TAB)
        if "Zürich" not in respondent.focused():  # the list that scrolls
            respondent.press(Keys.TAB)
        respondent.press(Keys.SPACE, Keys.ENTER)
        assert respondent.heading() == "n"
        respondent.press(Keys.TAB, "zzz")
        assert "No answer contains this text." in respondent.text()
        respondent.button("Back")
        checked = "return document.querySelector('input:checked').closest('label').textContent"
        assert respondent.run(checked) == "Zürich" and respondent.violations() == []


def test_texts_that_a_question_cannot_take(respondent: Respondent) -> None:
    strings = ldp.DictionarySurvey(length=6, gram=2, alphabet="abc ", epsilon=6.0, pad="_")
    parts = {"positions", "grams", "string"}
    sheet = ldp.Questionnaire({"url": strings})
    with collecting(page_text(sheet, post="/sheets")) as collector:
        respondent.visit(collector.url)
        respondent.button("Start")
        assert "Up to 6 characters count. These can be used: a b c space" in respondent.text()
        respondent.write("xyz")
        respondent.go_on()
        assert "This answer cannot be used." in respondent.text()
        assert "xyz" not in json.dumps(respondent.driver.get_log("browser"))
        respondent.run("document.querySelector('input').value = ''")
        respondent.press("cab")
        respondent.go_on()
        make_reports(respondent)
        assert set(json.loads(respondent.exact())["sheet"]["url"]) == parts


def test_awkward_labels_are_texts(respondent: Respondent) -> None:
    sheet = ldp.Questionnaire(
        {
            "__proto__": ldp.KRR(AWKWARD, 1.0),
            "constructor": ldp.KRAPPOR(("toString", "__proto__", "<b>"), 1.0),
            "<img src=x onerror=alert(1)>": ldp.Observed(AWKWARD),
        }
    )
    with collecting(page_text(sheet, post="/sheets")) as collector:
        respondent.visit(collector.url)
        respondent.button("Start")
        for name in sheet:
            assert respondent.heading() == name
            respondent.press("\ue004", " ")
            respondent.go_on()
        make_reports(respondent)
        sends_at(respondent, collector)
        (found,) = collector.sheets
        assert list(found) == list(sheet) and found["__proto__"] in AWKWARD
        assert found["<img src=x onerror=alert(1)>"] == AWKWARD[0]
        assert respondent.driver.get_log("browser") == []


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_a_narrow_screen_in_another_language(respondent: Respondent, direction: str) -> None:
    texts = json.loads(GERMAN.read_text(encoding="utf-8")) | {"dir": direction}
    respondent.width(320)
    with collecting(page_text(six(), texts, "/sheets")) as collector:
        respondent.visit(collector.url)
        look(respondent)
        respondent.button("Beginnen")
        while respondent.heading() != "Ihre Antworten":
            look(respondent)
            if respondent.heading().startswith("Welche Webseite"):
                respondent.write(SECRET)
            else:
                respondent.choose(1)
            respondent.go_on()
        look(respondent)
        respondent.button("Meldungen machen")
        respondent.awaits("Was gesendet wird")
        look(respondent)
        respondent.button("Meldungen senden")
        respondent.awaits("Ihre Meldungen sind angekommen")
        look(respondent)


def test_long_labels_many_answers_and_a_language_that_is_none(respondent: Respondent) -> None:
    answers = ("", "\u202e\u2066\u200f", "x" * 10_000, *(f"\U0001f600 {i}" for i in range(5_000)))
    sheet = ldp.Questionnaire({"\u202eevil": ldp.KRR(answers, 1.0)})
    with collecting(page_text(sheet, {"lang": "x"}, "/sheets")) as collector:
        respondent.visit(collector.url)
        respondent.button("Start")
        assert not respondent.overflows()
        respondent.press("\ue004", "4999")  # into the search
        respondent.press("\ue004", " ")
        respondent.go_on()
        respondent.button("Make the reports")
        respondent.awaits("What will be sent")
        assert not respondent.overflows()
        sends_at(respondent, collector)
        assert collector.sheets[0]["\u202eevil"] in answers
        assert respondent.driver.get_log("browser") == []


def test_no_random_byte_is_used_twice(respondent: Respondent) -> None:
    """Also not where the page begins anew: what was drawn there is known from the report."""
    place = {"key": f"ldpstats {TAGGED.fingerprint}"}
    with collecting(page_text(TAGGED, post="/sheets")) as collector:
        drawn = []
        for begins_anew in (False, True):
            respondent.visit(collector.url)
            respondent.run("localStorage.clear(); location.reload()")
            if begins_anew:
                event = "dispatchEvent(new StorageEvent('storage', arguments[0]))"
                respondent.run(event, place)
            respondent.button("Start")
            respondent.choose(1)
            respondent.press("\ue004", "\ue015")
            assert respondent.focused() == "home"
            respondent.go_on()
            respondent.run(_COUNTED)
            respondent.button("Make the reports")
            respondent.awaits("What will be sent")
            drawn.append(respondent.run("return drawn"))
        assert drawn[0] == drawn[1] > 16


TAGGED = ldp.Questionnaire(
    {name: ldp.PUM(ldp.URAP(("a", "b", "c"), {"c"}, 1.0), ("home", "work")) for name in "xy"}, ask=1
)
_COUNTED = """
window.drawn = 0;
crypto.getRandomValues = (into) => { window.drawn += into.byteLength; return into.fill(0); };
"""
