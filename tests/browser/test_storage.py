"""What a browser keeps of a page, what it cannot keep, and what respondents are told of it."""

import json
import math

import pytest
from browser.test_pages import BEFORE, PAGE, SHORT
from browser.walk import REVIEW, SECRET, SENT
from shared.page_sheets import six

import ldpstats as ldp
from ldpstats.clients.portable.ldpstats_client import Client
from ldpstats.page import page_text, write_page

pytestmark = pytest.mark.browser
SHOWN = "What will be sent"
ELSEWHERE = "This questionnaire is already being completed in another window"
FIRST = page_text(SHORT, post="/sheets", show_first=True)
_ASKED = "return !dispatchEvent(new Event('beforeunload', {cancelable: true}))"
_FULL = """
let text = "x".repeat(1 << 20);
for (let i = 0; text.length > 0; i++) {
  try { localStorage.setItem(`other ${i}`, text); }
  catch { text = text.slice(0, text.length >> 1); }
}
"""
_ROOM = "localStorage['other 0'] = localStorage['other 0'].slice(arguments[0])"


def test_reports_wait_on_the_device_until_they_are_delivered(respondent, collector):
    """What was drawn is not shown before it has arrived: nobody can drop it for what it is."""
    respondent.visit(collector.show(PAGE))
    collector.status = 503
    respondent.fill()
    respondent.click()
    respondent.reads("busy at the moment")
    respondent.look()
    (text,) = respondent.pending()
    assert collector.asked.count("/sheets") == 3 and SECRET not in text
    for _ in range(2):
        assert respondent.heading() == "Your reports are on their way"
        assert respondent.run("return document.querySelector('pre')") is None
        assert "Delete" not in respondent.text()
        respondent.visit(collector.url)
    assert "agreed that the reports are sent" in respondent.text()
    collector.status = 200
    respondent.button("Send the reports")
    respondent.awaits(SENT)
    assert collector.posted == [text] == [respondent.exact()]


def test_linked_waves_have_one_pseudonym_and_the_respondent_is_told(respondent, collector):
    kinds = {"job": SHORT["job"], "place": six()["place"], "site": SHORT["site"]}
    may = ldp.Questionnaire(kinds, ask=2, wave="2026-05", link=True)
    other = ldp.Questionnaire({"job": SHORT["job"]}, wave="2026-05", link=True)
    tokens, secrets = [], set()
    for number, sheet in enumerate((may, may.in_wave("2026-06"), may.in_wave("<b>3"), other)):
        respondent.visit(collector.show(page_text(sheet, post="/sheets")))
        respondent.look()
        waves, epsilon = (2, 2, 3, 2)[number], sheet.epsilon
        for words in (
            f"wave “{sheet.wave}” of a questionnaire that comes back",
            "The reports of all its waves are joined",
            "keeps the secret from which your pseudonym is made",
            f"the reports of {waves} waves together cannot make any answers more than",
            f"(epsilon = {waves * epsilon:g})",
        ):
            assert words in respondent.text(), words
        respondent.fill()
        if respondent.run("return document.querySelector('.entry')?.textContent ?? ''").startswith(
            "job"
        ):  # 1 / (1 + 3 exp(-T)) for T = 2, 5 and 10
            said = "(25% each), they can make it up to 71% likely after 2 waves, 98% after 5"
            assert said in respondent.text()
        respondent.click()
        respondent.awaits(SENT)
        assert "The token is your pseudonym" in respondent.text()
        tokens.append(json.loads(respondent.exact())["token"])
        kept = respondent.kept()[f"ldpstats waves {sheet.family}"]
        assert kept["waves"] == (1, 2, 3, 1)[number]
        secrets.add(kept["secret"])
        assert kept["secret"] not in collector.posted[0]
    assert tokens[0] == tokens[1] == tokens[2] != tokens[3] and len(secrets) == 2
    secret = bytes.fromhex(respondent.kept()[f"ldpstats waves {may.family}"]["secret"])
    own = Client(may.client_document(), secret=secret).message({})
    assert own["token"] == tokens[0]


def test_a_device_keeps_its_responses_and_the_respondent_is_told(respondent, collector):
    """Each wave is one more report from the response that the secret in the browser makes."""
    kept = ldp.KRR(("no", "yes"), 1.5).then(ldp.KRR(("no", "yes"), 30.0), keep="first")
    rappor = ldp.RAPPOR(n_bits=8, n_hashes=1, n_cohorts=4, f=0.5, p=0.25, q=0.75)
    sheet = ldp.Questionnaire({"late": kept, "site": rappor}, wave="1", link=True, keep=True)
    sent = []
    for wave in "1234":
        respondent.visit(collector.show(page_text(sheet.in_wave(wave), post="/sheets")))
        respondent.look()
        assert "That an answer changed may show in the reports" in respondent.text()
        waves, epsilon = max(int(wave), 2), math.ceil(1e3 * sheet.epsilon) / 1e3  # of any number
        assert f"the reports of {waves} waves together" in respondent.text()
        assert f"(epsilon = {epsilon:g})" in respondent.text()
        respondent.fill()
        assert "(50% each), they can make it up to 82% likely, in however many waves" in (
            respondent.text()
        )
        respondent.click()
        respondent.awaits(SENT)
        sent.append(json.loads(respondent.exact())["sheet"])
    secret = bytes.fromhex(respondent.kept()[f"ldpstats waves {sheet.family}"]["secret"])
    assert len({one["late"] for one in sent}) == 1  # the second step is hardly random
    assert len({one["site"].split(":")[0] for one in sent}) == 1
    device = Client(sheet.client_document(), secret=secret)
    answers = [device._questions["late"].report(x, device._words) for x in (0, 1)]
    assert sent[0]["late"] in answers
    assert sent[0]["site"].startswith(f"{device._questions['site'].cohort}:")


def test_waves_that_are_not_linked_are_not_joined(respondent, collector):
    tokens = set()
    for wave in ("1", "2"):
        sheet = ldp.Questionnaire({"job": SHORT["job"]}, wave=wave)
        respondent.visit(collector.show(page_text(sheet, post="/sheets")))
        assert "The reports of different waves are not joined" in respondent.text()
        assert "the reports of 2 waves together" in respondent.text()
        respondent.fill()
        assert "pseudonym" not in respondent.text() and "joined" not in respondent.text()
        respondent.click()
        respondent.awaits(SENT)
        tokens.add(json.loads(respondent.exact())["token"])
    assert len(tokens) == 2
    assert respondent.kept()[f"ldpstats waves {sheet.family}"] == {"waves": 2, "secret": None}


def test_an_outdated_page_says_so(respondent, collector):
    respondent.visit(collector.show(PAGE))
    collector.status = 409
    respondent.fill()
    respondent.click()
    respondent.awaits("This page is out of date")
    respondent.look()
    assert respondent.pending() == [None]


def test_a_page_without_network_saves_a_file(respondent, tmp_path, downloads):
    page = tmp_path / "survey.html"
    write_page(SHORT, page)
    respondent.sends(page.as_uri(), SHOWN)
    respondent.look()
    text = respondent.exact()
    respondent.button("Save as a file")
    name = f"reports-{SHORT.fingerprint}-{json.loads(text)['token'][:8]}.json"
    respondent.until((downloads / name).exists, name)
    respondent.until(lambda: (downloads / name).read_text(encoding="utf-8") == text, "its text")
    assert name in respondent.text()
    respondent.visit(page.as_uri())
    assert respondent.exact() == text
    respondent.button("Delete the reports from this device")
    respondent.awaits("The reports were deleted from this device")
    respondent.look()
    assert [one["url"] for one in respondent.log()] == []
    respondent.visit(page.as_uri())
    assert respondent.heading() == BEFORE


@pytest.mark.parametrize("locks", [True, False])
def test_of_two_windows_one_makes_reports(respondent, collector, locks):
    """Both agree in the same moment: the one that is later hears so, at once or when it sends."""
    driver, url = respondent.driver, collector.show(PAGE)
    windows = [driver.current_window_handle]
    for _ in range(2):
        if not locks:
            respondent.before("Object.defineProperty(navigator, 'locks', {value: undefined})")
        respondent.visit(url)
        respondent.fill()
        assert respondent.heading() == REVIEW
        if len(windows) == 1:
            driver.switch_to.new_window("tab")
            windows.append(driver.current_window_handle)
    at = respondent.run("return Date.now() + 400")
    press = "const go = document.querySelector('button.main');"
    press += "setTimeout(() => go.click(), arguments[0] - Date.now())"
    for window in windows:
        driver.switch_to.window(window)
        respondent.run(press, at)
    ends = []
    for window in windows:
        driver.switch_to.window(window)
        respondent.until(lambda: respondent.heading() != REVIEW, "the end of the review")
        if respondent.heading() == "Your reports are on their way":
            respondent.until(lambda: len(collector.posted) == 1, "reports")
            if respondent.heading() != SENT:
                respondent.click()
            respondent.until(lambda: respondent.heading() in (SENT, BEFORE, ELSEWHERE), "the end")
        ends.append(respondent.heading())
    assert ends.count(SENT) == 1 and {*ends} <= {SENT, BEFORE, ELSEWHERE}
    assert len(collector.posted) == 1


@pytest.mark.parametrize(
    ("page", "other", "here"),
    [
        (FIRST, "Send the reports", "Delete without sending"),
        (page_text(SHORT), "Delete the reports from this device", "Copy the text"),
    ],
)
def test_what_another_window_has_done_is_not_undone(respondent, collector, page, other, here):
    """Reports that it sent are not said to be deleted, those that it deleted are not kept again."""
    driver, url = respondent.driver, collector.show(page)
    respondent.sends(url, SHOWN)
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    respondent.visit(url)
    respondent.button(other)
    respondent.until(lambda: SHOWN not in respondent.text(), other)
    driver.switch_to.window(first)
    respondent.button(here)
    if page == FIRST:
        respondent.awaits(BEFORE)
    assert len(collector.posted) == int(page == FIRST) and collector.deleted == []
    assert respondent.pending() == [None]


def test_what_cannot_be_read_counts_as_taken_part(respondent, collector):
    respondent.visit(collector.show(PAGE))
    keep = "localStorage[arguments[0]] = JSON.stringify({made: 1, pending: arguments[1]})"
    for pending in ("1", "no sheet", "{}", '{"token": "a", "sheet": null}'):
        respondent.run(keep, f"ldpstats {SHORT.fingerprint}", pending)
        respondent.visit(collector.url)
        assert respondent.heading() == BEFORE


def test_a_browser_that_keeps_nothing_is_told_so(respondent, collector):
    without = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('no') }})"
    respondent.before(without)
    respondent.visit(collector.show(FIRST))
    assert "please fill it in only once" in respondent.text()
    respondent.fill()
    respondent.click()
    respondent.awaits(SHOWN)
    assert "close or reload the page" in respondent.text()
    respondent.button("Delete without sending")
    respondent.awaits("The reports were deleted")
    assert "cannot know later that reports were made" in respondent.text()
    respondent.visit(collector.show(PAGE))
    respondent.fill()
    collector.status = 429
    respondent.click()
    respondent.reads("keep this page open")
    respondent.look()
    collector.status = 413
    respondent.button("Try again")
    respondent.reads("gone when you close")
    collector.status = 200
    respondent.button("Try again")
    respondent.awaits(SENT)
    text = respondent.text()
    assert "cannot know later that you have taken part" in text and "keeps only" not in text


def test_answers_are_not_lost_where_storage_is_full(respondent, collector):
    url = collector.show(PAGE)
    for room in (0, 60, 250):
        respondent.visit(url)
        respondent.run("localStorage.clear();" + _FULL + _ROOM, room)
        respondent.visit(url)
        assert "please fill it in only once" in respondent.text()
        respondent.fill()
        respondent.click()
        respondent.awaits(SENT)
        refused = room == 250  # the note that stays fits, the reports did not
        assert ("keeps only a note" in respondent.text()) == refused
        respondent.visit(url)
        assert (respondent.heading() == BEFORE) == refused
    assert len(collector.posted) == 3
    respondent.run("localStorage.clear()")
    respondent.sends(url)
    respondent.run(_FULL)
    respondent.visit(url)
    assert respondent.heading() == BEFORE  # a storage that is full can be read


def test_who_leaves_in_the_middle_is_asked_first(respondent, collector):
    """The browser's own question stands between a slip and the loss of what is not kept."""
    respondent.visit(collector.show(FIRST))
    assert not respondent.run(_ASKED)
    respondent.click()
    assert not respondent.run(_ASKED)
    respondent.fill()
    assert respondent.run(_ASKED)
    respondent.click()
    respondent.awaits(SHOWN)
    assert not respondent.run(_ASKED)  # they are kept
    respondent.run("localStorage.clear();" + _FULL)  # and sent all the same
    collector.status = 400
    respondent.click()
    respondent.reads("gone when you close")
    assert respondent.run(_ASKED)
    collector.status = 200
    respondent.click()
    respondent.awaits(SENT)
    assert not respondent.run(_ASKED)


def test_a_page_that_was_left_has_forgotten(respondent, collector):
    respondent.visit(collector.show(PAGE))
    respondent.fill()
    respondent.driver.get("about:blank")
    respondent.driver.back()
    respondent.reads("Start")
    respondent.click()
    assert respondent.run("return document.querySelector('input:checked')") is None
