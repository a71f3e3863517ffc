"""What a browser keeps of a page, what it cannot keep, and what respondents are told of it."""

from __future__ import annotations

import pytest
from browser.steps import SECRET, SHORT, answer, fill_in, look, make_reports, sends_at
from browser.walk import Respondent, collecting

from ldpstats.page import page_text

pytestmark = pytest.mark.browser


def test_reports_wait_on_the_device_until_they_are_delivered(respondent: Respondent) -> None:
    with collecting(page_text(SHORT, post="/sheets")) as collector:
        collector.status = 503
        respondent.visit(collector.url)
        fill_in(respondent)
        make_reports(respondent)
        text = respondent.exact()
        respondent.run("document.querySelector('button.main').focus()")
        respondent.go_on()
        respondent.until(lambda: "busy at the moment" in respondent.text(), "busy")
        look_again = respondent.violations()
        assert look_again == [] and collector.asked.count("/sheets") == 3
        (kept,) = respondent.kept().values()
        assert kept["pending"] == text and SECRET not in text

        respondent.visit(collector.url)
        assert "not been delivered yet" in respondent.text() and respondent.exact() == text
        assert "Delete without sending" not in respondent.text()  # they may have arrived
        collector.status = 200
        assert sends_at(respondent, collector) == text


@pytest.mark.parametrize("locks", [True, False])
def test_of_two_windows_one_makes_reports(respondent: Respondent, locks: bool) -> None:
    """Both are at the review, and make reports in the same moment."""
    driver = respondent.driver
    with collecting(page_text(SHORT, post="/sheets")) as collector:
        windows = [driver.current_window_handle]
        for _ in range(2):
            if not locks:
                without = "Object.defineProperty(navigator, 'locks', {value: undefined})"
                before = {"source": without}
                driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", before)
            respondent.visit(collector.url)
            fill_in(respondent)
            if len(windows) == 1:
                driver.switch_to.new_window("tab")
                windows.append(driver.current_window_handle)
        at = respondent.run("return Date.now() + 600")
        press = "const go = document.querySelector('button.main');"
        press += "setTimeout(() => go.click(), arguments[0] - Date.now())"
        for window in windows:
            driver.switch_to.window(window)
            respondent.run(press, at)
        texts = []
        for window in windows:
            driver.switch_to.window(window)
            respondent.awaits("What will be sent")
            texts.append(respondent.exact())
        assert texts[0] == texts[1] == next(iter(respondent.kept().values()))["pending"]
        sends_at(respondent, collector)
        driver.switch_to.window(windows[0])
        respondent.button("Send the reports")
        respondent.awaits("This device has taken part already")
        assert len(collector.posted) == 1


def second_window(respondent: Respondent, url: str, mark: str) -> None:
    """Press a button in another window, and come back to this one."""
    driver = respondent.driver
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    respondent.visit(url)
    respondent.button(mark)
    respondent.until(lambda: "What will be sent" not in respondent.text(), mark)
    driver.switch_to.window(first)


def test_reports_that_another_window_has_sent_are_not_said_to_be_deleted(
    respondent: Respondent,
) -> None:
    with collecting(page_text(SHORT, post="/sheets")) as collector:
        respondent.visit(collector.url)
        fill_in(respondent)
        make_reports(respondent)
        second_window(respondent, collector.url, "Send the reports")
        respondent.button("Delete without sending")
        respondent.awaits("This device has taken part already")
        assert len(collector.posted) == 1


def test_reports_that_another_window_has_deleted_are_not_kept_again(
    respondent: Respondent,
) -> None:
    with collecting(page_text(SHORT)) as collector:
        respondent.visit(collector.url)
        fill_in(respondent)
        make_reports(respondent)
        second_window(respondent, collector.url, "Delete the reports from this device")
        respondent.button("Copy the text")
        assert [kept["pending"] for kept in respondent.kept().values()] == [None]


@pytest.mark.parametrize("pending", ["1", "no sheet", "{}", '{"token": "a", "sheet": null}'])
def test_what_cannot_be_read_counts_as_taken_part(respondent: Respondent, pending: str) -> None:
    with collecting(page_text(SHORT, post="/sheets")) as collector:
        respondent.visit(collector.url)
        keep = "localStorage[arguments[0]] = JSON.stringify({made: 1, pending: arguments[1]})"
        respondent.run(keep, f"ldpstats {SHORT.fingerprint}", pending)
        respondent.visit(collector.url)
        assert respondent.heading() == "This device has taken part already"


def test_a_browser_that_keeps_nothing_is_told_so(respondent: Respondent) -> None:
    without = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('no') }})"
    before = {"source": without}
    respondent.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", before)
    with collecting(page_text(SHORT, post="/sheets")) as collector:
        respondent.visit(collector.url)
        assert "please fill it in only once" in respondent.text()
        fill_in(respondent)
        make_reports(respondent)
        look(respondent)
        assert "close or reload the page" in respondent.text()
        for status, words in ((429, "keep this page open"), (413, "gone when you close")):
            collector.status = status
            respondent.button("Send the reports" if status == 429 else "Try again")
            respondent.until(lambda words=words: words in respondent.text(), words)  # type: ignore[misc]
        collector.status = 200
        sends_at(respondent, collector, "Try again")
        text = respondent.text()
        assert "cannot know later that you have taken part" in text and "keeps only" not in text
        respondent.visit(collector.url)
        fill_in(respondent)
        make_reports(respondent)
        respondent.button("Delete without sending")
        respondent.awaits("The reports were deleted")
        assert "cannot know later that reports were made" in respondent.text()


_FILL = """
let text = "x".repeat(1 << 20);
for (let i = 0; text.length > 0; i++) {
  try { localStorage.setItem(`other ${i}`, text); }
  catch { text = text.slice(0, text.length >> 1); }
}
"""
_ROOM = "localStorage['other 0'] = localStorage['other 0'].slice(arguments[0])"


@pytest.mark.parametrize("room", [0, 60, 250])
def test_answers_are_not_lost_where_storage_is_full(respondent: Respondent, room: int) -> None:
    with collecting(page_text(SHORT, post="/sheets")) as collector:
        respondent.visit(collector.url)
        respondent.run(_FILL + _ROOM, room)
        respondent.visit(collector.url)
        assert "please fill it in only once" in respondent.text()
        fill_in(respondent)
        make_reports(respondent)
        assert "close or reload the page" in respondent.text()
        sends_at(respondent, collector)
        refused = room == 250  # the note that stays fits, the reports did not
        assert ("keeps only a note" in respondent.text()) == refused
        respondent.visit(collector.url)
        assert (respondent.heading() == "This device has taken part already") == refused


def test_reports_are_sent_if_storage_is_full_by_then(respondent: Respondent) -> None:
    with collecting(page_text(SHORT, post="/sheets")) as collector:
        respondent.visit(collector.url)
        fill_in(respondent)
        make_reports(respondent)
        respondent.run("localStorage.clear();" + _FILL)
        sends_at(respondent, collector)


def test_a_full_storage_still_says_that_the_device_has_taken_part(respondent: Respondent) -> None:
    with collecting(page_text(SHORT, post="/sheets")) as collector:
        respondent.visit(collector.url)
        fill_in(respondent)
        make_reports(respondent)
        sends_at(respondent, collector)
        respondent.run(_FILL)
        respondent.visit(collector.url)
        assert respondent.heading() == "This device has taken part already"


_ASKED = "return !dispatchEvent(new Event('beforeunload', {cancelable: true}))"


def test_who_leaves_in_the_middle_is_asked_first(respondent: Respondent) -> None:
    """The browser's own question stands between a slip and the loss of what is not kept."""
    with collecting(page_text(SHORT, post="/sheets")) as collector:
        respondent.visit(collector.url)
        assert not respondent.run(_ASKED)
        respondent.button("Start")
        assert not respondent.run(_ASKED)
        answer(respondent)
        respondent.go_on()
        assert respondent.run(_ASKED)
        respondent.button("Back")
        respondent.button("Back")
        fill_in(respondent)
        assert respondent.run(_ASKED)
        make_reports(respondent)
        assert not respondent.run(_ASKED)  # they are kept
        respondent.run("localStorage.clear();" + _FILL)
        collector.status = 400
        respondent.button("Send the reports")
        respondent.until(lambda: "gone when you close" in respondent.text(), "not accepted")
        assert respondent.run(_ASKED)
        collector.status = 200
        sends_at(respondent, collector, "Try again")
        assert not respondent.run(_ASKED)


def test_a_page_that_was_left_has_forgotten(respondent: Respondent) -> None:
    with collecting(page_text(SHORT, post="/sheets")) as collector:
        respondent.visit(collector.url)
        respondent.button("Start")
        for _ in range(2):
            answer(respondent)
            respondent.go_on()
        respondent.driver.get("about:blank")
        respondent.driver.back()
        respondent.until(lambda: "Start" in respondent.text(), "the introduction")
        respondent.button("Start")
        assert respondent.run("return document.querySelector('input:checked')") is None


def test_reports_can_be_deleted_before_they_are_sent(respondent: Respondent) -> None:
    with collecting(page_text(SHORT, post="/sheets")) as collector:
        respondent.visit(collector.url)
        fill_in(respondent)
        make_reports(respondent)
        respondent.button("Delete without sending")
        respondent.awaits("The reports were deleted")
        respondent.visit(collector.url)
        assert respondent.heading() == "This device has taken part already"
        assert collector.posted == []
