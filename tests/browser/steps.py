"""What respondents do at a page of the six questions, by keys alone, and what they send."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from browser.walk import Collector, Respondent
from shared.page_sheets import six

import ldpstats as ldp

SECRET = "quokka-7731.example"  # what is typed
SHORT = ldp.Questionnaire({name: six()[name] for name in ("job", "site")})


def look(respondent: Respondent) -> None:
    """Each step is accessible."""
    assert respondent.violations() == [] and not respondent.overflows()
    assert respondent.focused() == respondent.heading()


def fill_in(respondent: Respondent, each: Callable[[Respondent], None] = lambda _: None) -> None:
    """The six questions in English, from the introduction to the review."""
    each(respondent)
    respondent.button("Start")
    while respondent.heading() != "Check your answers":
        each(respondent)
        answer(respondent)
        respondent.go_on()
    each(respondent)


def answer(respondent: Respondent) -> None:
    from selenium.webdriver.common.keys import Keys

    if respondent.heading() == "site":
        respondent.write(SECRET)
    else:
        respondent.choose(1)
    if respondent.heading() == "place":
        respondent.press(Keys.TAB, Keys.ARROW_DOWN)  # from "none of these" to "home"
        assert respondent.focused() == "home"


def make_reports(respondent: Respondent) -> None:
    respondent.button("Make the reports")
    respondent.awaits("What will be sent")


def check_report(respondent: Respondent, sheet: ldp.Questionnaire) -> dict[str, Any]:
    """What is said to be sent is a sheet of the survey."""
    sent = json.loads(respondent.exact())
    assert sent["survey"] == sheet.fingerprint and len(sent["token"]) == 32
    assert list(sent["sheet"]) == list(sheet)
    for name, report in sent["sheet"].items():
        if report is not None and name != "place":
            sheet[name].parse(name, [report])
    found: dict[str, Any] = sent["sheet"]
    return found


def sends_at(respondent: Respondent, collector: Collector, mark: str = "Send the reports") -> str:
    text = respondent.exact()
    respondent.button(mark)
    respondent.awaits("Your reports have arrived")
    assert collector.posted == [text]
    return text
