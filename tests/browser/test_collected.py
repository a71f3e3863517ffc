"""Pages in a browser, and the collector that takes their reports."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from browser.test_pages import fill_in, make_reports
from browser.walk import Respondent
from shared.collecting import collecting
from shared.page_sheets import six

import ldpstats as ldp
from ldpstats.collector import collect
from ldpstats.page import write_page

pytestmark = pytest.mark.browser


def sends(respondent: Respondent, url: str, ends: str) -> dict[str, Any]:
    """Fill in a page, and press the button; the sheet that is said to be sent."""
    respondent.visit(url)
    fill_in(respondent)
    make_reports(respondent)
    said: dict[str, Any] = json.loads(respondent.exact())
    respondent.button("Send the reports")
    respondent.awaits(ends)
    return said


def page_on_disk(sheet: ldp.Questionnaire, path: Path, port: int) -> str:
    """The address of a page that sends its reports to a collector."""
    write_page(sheet, path, post=f"http://127.0.0.1:{port}/sheets")
    return path.as_uri()


def test_from_a_page_to_a_table(respondent: Respondent, tmp_path: Path) -> None:
    sheet, folder = six(), tmp_path / "sheets"
    with collecting(folder, sheet, origins=["null"]) as sender:
        said = [
            sends(respondent, url, "Your reports have arrived")
            for url in (
                f"http://127.0.0.1:{sender.port}/",
                f"http://localhost:{sender.port}/",
                page_on_disk(sheet, tmp_path / "page.html", sender.port),
            )
        ]
    collect(sheet, folder, finish=True)
    survey = ldp.Survey(folder)
    assert len(survey) == len({one["token"] for one in said}) == 3
    (file,) = folder.glob("*.parquet")
    table = pd.read_parquet(file)
    for name in ("job", "place", "sex"):
        assert Counter(table[name]) == Counter(one["sheet"][name] for one in said)
        assert name == "place" or survey.frequencies(name).nobs == 3


def test_a_page_of_another_questionnaire_says_that_it_is_out_of_date(
    respondent: Respondent, tmp_path: Path
) -> None:
    before, now = six(ask=2), six(ask=3)
    assert before.fingerprint != now.fingerprint
    with collecting(tmp_path / "sheets", now, origins=["null"]) as sender:
        url = page_on_disk(before, tmp_path / "page.html", sender.port)
        sends(respondent, url, "This page is out of date")
        (kept,) = (one for key, one in respondent.kept().items() if before.fingerprint in key)
        assert kept["pending"] is None
    assert not list((tmp_path / "sheets").glob("*.parquet"))
