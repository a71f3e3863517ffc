"""Pages in a browser: what respondents do, are told and send, and nothing else leaves."""

import json
import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser.walk import DOWN, ENTER, REVIEW, SECRET, SENT, SPACE, TAB
from shared.collecting import collecting
from shared.javascript import sealed
from shared.page_sheets import AWKWARD, GERMAN, embedded, six

import ldpstats as ldp
from ldpstats.collector import collect
from ldpstats.page import page_text, write_page

pytestmark = pytest.mark.browser
SHORT = ldp.Questionnaire({name: six()[name] for name in ("job", "site")})
PAGE = page_text(SHORT, post="/sheets")
TAKEN = {"made": 1, "left": True, "pending": None}  # what is kept at the end
BEFORE = "This device has taken part already"


# -- consent, draw, sending, and what was sent: in this order --------------------------------------


def test_six_questions_by_keys_alone(respondent, collector):
    sheet = six()
    respondent.visit(collector.show(page_text(sheet, post="/sheets")))
    respondent.look("light", "dark")
    respondent.button("Start")
    while respondent.heading() != REVIEW:
        respondent.look()
        assert respondent.focused() == respondent.heading()
        if respondent.heading() == "site":
            respondent.write(SECRET)
        else:
            respondent.choose(1)
        if respondent.heading() == "place":
            respondent.press(TAB, DOWN)  # from "none of these" to "home"
            assert respondent.focused() == "home"
        respondent.press(ENTER)
    respondent.look("light", "dark")
    entered = ["teacher", "sometimes", "park", SECRET, "male", "1"]
    assert respondent.entered == entered and all(one in respondent.text() for one in entered)
    assert respondent.kept() == {} and respondent.log() == []  # nothing is drawn before consent
    respondent.button("Make the reports and send them")
    respondent.awaits(SENT)
    respondent.look("light", "dark")
    assert collector.posted == [respondent.exact()]
    sent = json.loads(respondent.exact())
    assert sent["survey"] == sheet.fingerprint and len(sent["token"]) == 32
    assert list(sent["sheet"]) == list(sheet) and sent["sheet"]["sex"] == "male"
    for name in set(sheet) - {"place"}:
        sheet[name].parse(name, [sent["sheet"][name]])
    (request,) = respondent.log()
    assert (request["method"], request["url"]) == ("POST", f"{collector.url}sheets")
    assert request["postData"] == collector.posted[0] and not request["headers"].get("Referer")
    everything = json.dumps(request) + respondent.run("return document.documentElement.outerHTML")
    assert SECRET not in everything
    place = f"ldpstats {sheet.fingerprint}"
    assert respondent.kept() == {place: {"survey": sheet.fingerprint, **TAKEN}}
    nothing = [{}, "", collector.url, "Questionnaire", "", None, [], [], []]
    assert respondent.traces() == nothing

    respondent.visit(collector.url)  # a second time
    assert respondent.heading() == BEFORE and "Start" not in respondent.text()
    respondent.look()
    assert len(collector.posted) == 1 and set(collector.asked) == {"/", "/sheets"}


def test_either_report_is_explained_before_one_is_drawn(respondent, collector):
    kinds = {
        "ill": ldp.Warner(epsilon=1.0),
        "bits": ldp.KRAPPOR(("a", "b"), 1.0),
        "place": ldp.URR(("park", "hospital"), {"hospital"}, epsilon=1.0),
        "town": ldp.KRR(9, 1.0),
        "sex": ldp.Observed(("f", "m")),
    }
    drawn = "window.drawn = 0; const old = crypto.getRandomValues.bind(crypto);"
    drawn += "crypto.getRandomValues = (into) => { drawn += into.byteLength; return old(into); };"
    respondent.visit(collector.show(page_text(ldp.Questionnaire(kinds), post="/sheets")))
    respondent.fill(0)
    said = respondent.text()
    for words in (
        "If “no” is sent: no 73%, yes 27%", "If “yes” is sent: yes 73%, no 27%",
        "If “10” is sent: a 73%, b 27%", "If “11” is sent: a 50%, b 50%",
        "If “park” is sent: park 100%", "If “hospital” is sent: hospital 73%, park 27%",
        "The answer is sent as it is.", "sends the reports at once, whatever they are",
    ):  # fmt: skip
        assert words in said, words
    assert said.count("What is sent cannot make any answer more than 2.72 times as likely") == 3
    assert said.count("One of many reports will be sent for it.") == 1  # to "town"
    respondent.run(drawn)
    assert collector.posted == [] and respondent.kept() == {}
    respondent.click()
    respondent.awaits(SENT)
    assert respondent.run("return drawn") > 0 and len(collector.posted) == 1
    assert "What was sent" in respondent.text()


def test_the_old_order_shows_first_and_counts_deletions(respondent, collector):
    respondent.visit(collector.show(page_text(SHORT, post="/sheets", show_first=True)))
    respondent.fill()
    assert "If “nurse” is sent" not in respondent.text()
    respondent.click()
    respondent.awaits("What will be sent")
    respondent.look()
    assert "distorts the result" in respondent.text() and respondent.log() == []
    token = json.loads(respondent.exact())["token"]
    respondent.button("Delete without sending")
    respondent.awaits("The reports were deleted")
    respondent.until(lambda: len(collector.deleted) == 1, "a deletion")
    survey = {"format": "ldpstats-withdrawal", "version": 1, "survey": SHORT.fingerprint}
    assert json.loads(collector.deleted[0]) == survey and token not in str(respondent.log())
    assert collector.posted == [] and respondent.pending() == [None]
    respondent.visit(collector.url)
    assert respondent.heading() == BEFORE


def test_from_a_page_to_a_table(respondent, tmp_path):
    """The collector itself: its own page, one under another name, one on a disk, and an old one."""
    sheet, folder = six(ask=3), tmp_path / "sheets"
    old, first = six(ask=2), tmp_path / "first.html"
    with collecting(folder, sheet, origins=["null"]) as sender:
        post = f"http://127.0.0.1:{sender.port}/sheets"
        write_page(sheet, tmp_path / "page.html", post=post)
        write_page(old, tmp_path / "old.html", post=post)
        write_page(sheet, first, post=post, show_first=True)
        urls = [f"http://{host}:{sender.port}/" for host in ("127.0.0.1", "localhost")]
        said = [respondent.sends(url) for url in [*urls, (tmp_path / "page.html").as_uri()]]
        outdated = "This page is out of date"
        respondent.sends((tmp_path / "old.html").as_uri(), outdated)
        assert respondent.kept()[f"ldpstats {old.fingerprint}"]["pending"] is None
        respondent.run("localStorage.clear()")
        respondent.sends(first.as_uri(), "What will be sent")
        respondent.click("quiet")
        respondent.until((folder / ".collecting" / "withdrawn").exists, "a deletion")
    collect(sheet, folder, finish=True)
    survey = ldp.Survey(folder)
    assert len(survey) == len({one["token"] for one in said}) == 3
    table = pd.concat(pd.read_parquet(file) for file in folder.glob("*.parquet"))
    for name in ("job", "place", "sex"):
        expected = Counter(one["sheet"][name] for one in said if one["sheet"][name] is not None)
        assert Counter(table[name].dropna()) == expected


# -- pages that are altered ------------------------------------------------------------------------


def altered(page: str, change: Any) -> str:
    """The page with other data, and a fingerprint that fits."""
    data = embedded(page)
    change(data["client"])
    data["client"] = sealed(data["client"])
    head, rest = page.split('id="data">')
    return f'{head}id="data">{json.dumps(data)}</script>{rest.split("</script>", 1)[1]}'


def test_a_page_that_would_tell_more_than_it_says_is_refused(respondent, collector):
    sheet = ldp.Questionnaire({"ill": ldp.Warner(epsilon=0.1), "late": ldp.Warner(epsilon=1.0)})
    page, always = page_text(sheet, post="/sheets"), str(1 << 64)

    def keeps_all(client: Any) -> None:
        client["questions"][0]["draw"]["keep"] = always

    def keeps_all_and_says_so(client: Any) -> None:
        keeps_all(client)
        client["epsilon"] = "inf"

    def is_not_private(client: Any) -> None:
        client["questions"][0] |= {"private": False, "draw": {"kind": "same"}}

    def swaps(client: Any) -> None:  # the sum is right, each question is not
        first, second = (one["draw"] for one in client["questions"])
        first["keep"], second["keep"] = second["keep"], first["keep"]

    for change in (keeps_all, keeps_all_and_says_so, is_not_private, swaps):
        respondent.visit(collector.show(altered(page, change)))
        assert respondent.heading() == "This page does not work here. Nothing was sent. Please " + (
            "tell those who gave it to you."
        ), change
    respondent.visit(collector.show(altered(page, lambda client: None)))
    respondent.look()
    assert "Start" in respondent.text() and collector.posted == []


# -- what is said ----------------------------------------------------------------------------------


def test_what_is_said_holds_for_every_question(respondent, collector):
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
        respondent.visit(collector.show(page_text(sheet, post="/sheets")))
        text = respondent.text()
        assert total in text and (some in text) == (doubt in text) == bool(left_out)
        respondent.click()
        badges = {}
        while respondent.heading() != REVIEW:
            badge = "return document.querySelector('.badge').textContent"
            badges[respondent.heading()] = respondent.run(badge)
            respondent.run("document.querySelectorAll('input')[1].click()")
            respondent.click()
        assert badges["sex"] == "Not protected" and badges["cells"] == "Protected"
        assert badges.get("mangat", "Protected in part") == "Protected in part"
        respondent.click()
        respondent.awaits(SENT)
        text = respondent.text()
        assert total in text and (some in text) == bool(left_out)
        assert text.count("This is a code.") == 2 and "undefined" not in text
        assert "Marks at" not in text


def test_a_bound_that_is_hardly_any_is_not_called_protection(respondent, collector):
    sheet = ldp.Questionnaire({"a": ldp.KRR(3, 12.0), "b": ldp.URR(3, (0,), epsilon=12.0)})
    respondent.visit(collector.show(page_text(sheet)))
    text = respondent.text()
    assert "hardly any protection" in text and "can tell for sure" not in text
    respondent.click()
    for _ in sheet:
        assert "Protected in part" in respondent.text()
        assert "may show it all the same" in respondent.text()
        respondent.run("document.querySelectorAll('input')[1].click()")
        respondent.click()


C30, C300 = ([f"c{i}" for i in range(k)] for k in (30, 300))
KINDS = {
    "two": ldp.KRR(("no", "yes"), 1.0),
    "thirty": ldp.KRR(C30, 2.0),
    "many": ldp.KRR(C300, 3.0),
    "numbers": ldp.KRR(300, 3.0),
    "hardly any doubt": ldp.KRR(("no", "yes"), 14.0),
    "bits": ldp.KRAPPOR(("a", "b", "c"), 1.0),
    "thirty bits": ldp.KRAPPOR(C30, 1.0),
    "many bits": ldp.KRAPPOR(C300, 4.0),
    "revealing": ldp.URR(("a", "b", "c", "d"), {"a"}, 1.0),
    "revealing bits": ldp.URAP(("a", "b", "c"), {"c"}, 1.0),
    "codes": ldp.HadamardResponse(7, 1.0),
    "subset": ldp.SubsetSelection(6, 1.0),
    "large subset": ldp.SubsetSelection(C30, 1.0),
    "mangat": ldp.Mangat(p=0.6),
    "die": ldp.devices.roll(6)
    .when({1: "yes", 6: "no"}, otherwise=ldp.devices.truth)
    .mechanism(("no", "yes")),
}
_SAID = """
return [...document.querySelectorAll('section.entry')].map((entry) => [
  entry.querySelector('h2').textContent, entry.innerText,
  [...entry.querySelectorAll('tr')].map((row) => [...row.children].slice(0, 2).map(
    (cell) => cell.textContent))]);
"""


def test_what_can_be_concluded_is_the_posterior(respondent, collector):
    """Bayes' theorem: of each report after it was sent, and of either one before."""
    page = collector.show(page_text(ldp.Questionnaire(KINDS), post="/sheets"))
    respondent.visit(page)
    respondent.fill(0)
    may = re.findall("If “(no|yes)” is sent: (.*)", respondent.text())[:2]
    respondent.click()
    respondent.awaits(SENT)
    reports = json.loads(respondent.exact())["sheet"]
    said = respondent.run(_SAID)
    respondent.look()
    assert [one[0] for one in said] == list(KINDS)

    def believed(name: str, report: str) -> pd.Series:
        labels = KINDS[name].labels()
        law = np.full(len(labels), 1 / len(labels))
        table = ldp.privacy.posterior(KINDS[name], law, reports=[report])
        return pd.Series(table.to_numpy()[0], [str(label) for label in labels])

    assert [report for report, _ in may] == ["no", "yes"]
    for report, words in may:
        check("two", "", [one.rsplit(" ", 1) for one in words.split(", ")], believed("two", report))
    for name, text, rows in said:
        check(name, text, rows, believed(name, str(reports[name])))


def check(name: str, text: str, rows: list[list[str]], believed: pd.Series) -> None:
    if believed.max() > 1 - 1e-9:
        assert f"This report shows the answer: {believed.idxmax()}." in text and rows == []
        return
    left = believed.sort_values(ascending=False, kind="stable")
    assert len(rows) == min(len(left), 6), name
    for answer, share in rows:
        rest = re.fullmatch(r"each of the ([0-9]+) others, at most", answer)
        found = float(left.iloc[0]) if rest else float(left.loc[answer])
        assert not rest or int(rest[1]) == len(left)
        assert float(share.rstrip("%")) == pytest.approx(100 * found, rel=0.05)
        assert share != "100%", name
        digits = len(share.rstrip("%").partition(".")[2])
        assert abs(float(share.rstrip("%")) - 100 * found) <= 0.5001 * 10.0**-digits, name
        left = left.iloc[0:0] if rest else left.drop(answer)
    assert left.empty


# -- questions -------------------------------------------------------------------------------------


def test_only_the_drawn_questions_are_asked(respondent, collector):
    respondent.visit(collector.show(page_text(six(ask=2), post="/sheets")))
    assert "2 were drawn at random for you from 5" in respondent.text()
    respondent.fill()
    respondent.click()
    respondent.awaits(SENT)
    (text,) = collector.posted
    assert sum(report is not None for report in json.loads(text)["sheet"].values()) == 3
    assert respondent.text().count("this question was not drawn for you") == 3


def test_skipping(respondent, collector):
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
    respondent.visit(collector.show(page_text(sheet, texts, "/sheets")))
    respondent.click()
    assert "counts as the answer “none”" in respondent.text()
    assert respondent.run("return document.querySelectorAll('input').length") == 2
    respondent.button("Skip this question")
    assert "see that you gave no answer" in respondent.text()
    respondent.button("Next")
    assert "Please choose an answer, or skip the question." in respondent.text()
    respondent.look()
    respondent.button("Skip this question")
    assert "cannot be skipped" in respondent.text()
    assert "Skip this question" not in respondent.text()
    respondent.fill()
    said = respondent.text()
    assert said.count("Skipped") == 2 and said.count("That shows that you gave no answer") == 1
    respondent.click()
    respondent.awaits(SENT)
    found = json.loads(collector.posted[0])["sheet"]
    assert found["ill"] is None and found["job"] in sheet["job"].categories


def test_many_answers_are_searched(respondent, collector):
    towns = [f"Town {i}" for i in range(3000)] + ["Zürich"]
    sheet = ldp.Questionnaire({"town": ldp.KRR(towns, 1.0), "n": ldp.KRR(500, 1.0)})
    respondent.visit(collector.show(page_text(sheet, post="/sheets")))
    respondent.click()
    assert "60 of 3,001 answers are shown" in respondent.text()
    respondent.look()
    respondent.press(TAB, "zuric", ENTER)
    assert respondent.run("return document.querySelectorAll('input[type=radio]').length") == 1
    respondent.press(TAB)
    if "Zürich" not in respondent.focused():  # the list that scrolls
        respondent.press(TAB)
    respondent.press(SPACE, ENTER)
    assert respondent.heading() == "n"
    respondent.press(TAB, "zzz")
    assert "No answer contains this text." in respondent.text()
    respondent.button("Back")
    checked = "return document.querySelector('input:checked').closest('label').textContent"
    assert respondent.run(checked) == "Zürich"


def test_texts_that_a_question_cannot_take(respondent, collector):
    strings = ldp.DictionarySurvey(length=6, gram=2, alphabet="abc ", epsilon=6.0, pad="_")
    respondent.visit(collector.show(page_text(ldp.Questionnaire({"url": strings}), post="/sheets")))
    respondent.click()
    assert "Up to 6 characters count. These can be used: a b c space" in respondent.text()
    respondent.press(TAB, "xyz", ENTER)
    assert "This answer cannot be used." in respondent.text()
    assert "xyz" not in json.dumps(respondent.driver.get_log("browser"))
    respondent.run("document.querySelector('input').value = ''")
    respondent.press("cab", ENTER)
    respondent.click()
    respondent.awaits(SENT)
    url = json.loads(collector.posted[0])["sheet"]["url"]
    assert set(url) == {"positions", "grams", "string"}


def test_awkward_and_long_labels_are_texts(respondent, collector):
    long = ("", "\u202e\u2066\u200f", "x" * 10_000, *(f"\U0001f600 {i}" for i in range(5_000)))
    kinds: dict[str, Any] = {
        "__proto__": ldp.KRR(AWKWARD, 1.0),
        "constructor": ldp.KRAPPOR(("toString", "__proto__", "<b>"), 1.0),
        "<img src=x onerror=alert(1)>": ldp.Observed(AWKWARD),
        "\u202eevil": ldp.KRR(long, 1.0),
    }
    page = page_text(ldp.Questionnaire(kinds), {"lang": "x"}, "/sheets")  # of no language
    respondent.visit(collector.show(page))
    respondent.fill(0)
    assert not respondent.run("return document.documentElement.scrollWidth > innerWidth")
    respondent.click()
    respondent.awaits(SENT)
    assert not respondent.run("return document.documentElement.scrollWidth > innerWidth")
    found = json.loads(collector.posted[0])["sheet"]
    assert list(found) == list(kinds) and found["__proto__"] in AWKWARD
    assert found["<img src=x onerror=alert(1)>"] == AWKWARD[0] and found["\u202eevil"] in long
    assert respondent.driver.get_log("browser") == []


def test_a_narrow_screen_in_another_language(respondent, collector):
    texts = json.loads(GERMAN.read_text(encoding="utf-8")) | {"dir": "rtl"}
    respondent.width(320)
    respondent.visit(collector.show(page_text(six(), texts, "/sheets")))
    respondent.look()
    respondent.click()
    respondent.look()
    respondent.fill()
    assert "Wenn „Schule“ gesendet wird: Schule 48" in respondent.text()
    respondent.look()
    respondent.click()
    respondent.awaits("Ihre Meldungen sind angekommen")
    respondent.look()


TAGGED = ldp.Questionnaire(
    {name: ldp.PUM(ldp.URAP(("a", "b", "c"), {"c"}, 1.0), ("home", "work")) for name in "xy"}, ask=1
)
_COUNTED = """
window.drawn = 0;
crypto.getRandomValues = (into) => { window.drawn += into.byteLength; return into.fill(0); };
"""


def test_no_random_byte_is_used_twice(respondent, collector):
    """Also not where the page begins anew: what was drawn there is known from the report."""
    place = {"key": f"ldpstats {TAGGED.fingerprint}"}
    drawn = []
    for begins_anew in (False, True):
        respondent.visit(collector.show(page_text(TAGGED, post="/sheets")))
        respondent.run("localStorage.clear(); location.reload()")
        if begins_anew:
            respondent.run("dispatchEvent(new StorageEvent('storage', arguments[0]))", place)
        respondent.click()
        respondent.run("document.querySelectorAll('input')[1].click()")
        respondent.run("document.querySelector('input[name=tag]').click()")
        respondent.click()
        respondent.run(_COUNTED)
        respondent.click()
        respondent.awaits(SENT)
        drawn.append(respondent.run("return drawn"))
    assert drawn[0] == drawn[1] > 16
