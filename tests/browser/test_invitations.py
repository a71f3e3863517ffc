"""Invitations in a browser: by a link, with a used code, with typing errors, in a full survey."""

import csv
import json
import secrets
from collections import Counter

import pandas as pd
import pytest
from browser.walk import Respondent
from shared.collecting import collecting
from shared.page_sheets import six

from ldpstats.collector import invite
from ldpstats.page import page_texts, write_page

pytestmark = pytest.mark.browser

WORDS = page_texts(six())["words"]


def retype(respondent: Respondent, code: str) -> None:
    """Type a code in place of the one in the field, which has the focus."""
    from selenium.webdriver.common.keys import Keys

    assert respondent.focused().startswith(WORDS["code"])
    for keys in (Keys.CONTROL + "a", Keys.DELETE, code):  # a call ends with all keys released
        respondent.driver.switch_to.active_element.send_keys(keys)


def sends(respondent: Respondent) -> None:
    """From the introduction to the collector."""
    respondent.fill()
    respondent.click()


def test_a_code_takes_one_sheet(respondent, tmp_path):
    sheet, folder = six(), tmp_path / "sheets"
    for name in ("codes", "others"):
        invite(sheet, 22, tmp_path / f"{name}.csv", url="http://127.0.0.1:1/page.html")
    with open(tmp_path / "codes.csv", newline="") as file:
        codes = [row["code"] for row in csv.DictReader(file)]
    unknown = (tmp_path / "others.csv").read_text().split()[1].partition(",")[0]
    how = {"invitations": [tmp_path / "codes.invitations.json"], "origins": ["null"]}
    with collecting(folder, sheet, max_sheets=22, **how) as sender:
        # by the link
        respondent.visit(f"http://127.0.0.1:{sender.port}/#{codes[0].lower()}")
        respondent.look()
        sends(respondent)
        respondent.awaits(WORDS["sent"])
        first = json.loads(respondent.exact())
        assert first["invitation"] == codes[0].replace("-", "")
        assert respondent.pending() == [None]

        # another origin has a storage of its own, as another device has: the code is missing, then
        # typed without hyphens, but it was used
        respondent.visit(f"http://localhost:{sender.port}/")
        respondent.button(WORDS["start"])
        assert WORDS["code_missing"] in respondent.text()
        retype(respondent, codes[0].replace("-", "").lower())
        sends(respondent)
        respondent.reads(WORDS["code_spent"])
        respondent.look()
        # two letters change places, then a code of another survey, then the right one
        at = next(i for i in range(3) if codes[1][i] != codes[1][i + 1])
        swapped = codes[1][:at] + codes[1][at + 1] + codes[1][at] + codes[1][at + 2 :]
        retype(respondent, swapped)
        respondent.button(WORDS["again"])
        assert WORDS["code_wrong"] in respondent.text()
        retype(respondent, unknown)
        respondent.button(WORDS["again"])
        respondent.reads(WORDS["code_unknown"])
        retype(respondent, codes[1])
        respondent.button(WORDS["again"])
        respondent.awaits(WORDS["sent"])
        second = json.loads(respondent.exact())
        assert second["invitation"] == codes[1].replace("-", "")

        # others send the rest, and the survey is complete: a page on a disk, by its link
        for code in codes[2:]:
            other = {**second, "token": secrets.token_hex(16), "invitation": code}
            assert sender.send(other).status == 200
        page = tmp_path / "page.html"
        url = f"http://127.0.0.1:{sender.port}/sheets"
        write_page(sheet, page, post=url, invitations=True)
        respondent.visit(f"{page.as_uri()}#{codes[21]}")
        sends(respondent)
        respondent.awaits(WORDS["complete"])
    table = pd.concat(map(pd.read_parquet, folder.glob("*.parquet")))
    assert len(table) == 22
    expected = Counter({second["sheet"]["job"]: 21}) + Counter([first["sheet"]["job"]])
    assert Counter(table["job"]) == expected
