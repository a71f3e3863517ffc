"""What a page lets respondents believe of each report is what Bayes' theorem says of it."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from browser.steps import make_reports
from browser.walk import Respondent, collecting

import ldpstats as ldp
from ldpstats.page import page_text

pytestmark = pytest.mark.browser
C30, C300 = ([f"c{i}" for i in range(k)] for k in (30, 300))
KINDS = {
    "two": ldp.KRR(("no", "yes"), 1.0),
    "thirty": ldp.KRR(C30, 2.0),
    "many": ldp.KRR(C300, 3.0),
    "numbers": ldp.KRR(300, 3.0),
    "hardly any doubt": ldp.KRR(("no", "yes"), 14.0),
    "warner": ldp.Warner(epsilon=0.5),
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


def test_what_is_said_is_the_posterior(respondent: Respondent) -> None:
    sheet = ldp.Questionnaire(KINDS)
    with collecting(page_text(sheet, post="/sheets")) as collector:
        respondent.visit(collector.url)
        respondent.button("Start")
        for name in KINDS:
            assert respondent.heading() == name
            respondent.run("document.querySelector('input[type=radio]').click()")
            respondent.run("document.querySelector('button.main').click()")
        make_reports(respondent)
        reports = json.loads(respondent.exact())["sheet"]
        said = respondent.run(_SAID)
        assert respondent.violations() == [] and [one[0] for one in said] == list(KINDS)
        for name, text, rows in said:
            mechanism = KINDS[name]
            labels = mechanism.labels()
            law = np.full(len(labels), 1 / len(labels))
            table = ldp.privacy.posterior(mechanism, law, reports=[str(reports[name])])
            believed = pd.Series(table.to_numpy()[0], [str(label) for label in labels])
            check(name, text, rows, believed)


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
