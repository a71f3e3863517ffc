"""The privacy statement: its numbers are the epsilons and posteriors, and it says what is open."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from grid import MECHANISMS

import ldpstats as ldp
from ldpstats.cli import main
from ldpstats.mechanisms.custom import Enumerated

KRR = ldp.KRR(("nurse", "cook", "spy", "?"), epsilon=1.0)
KEPT = ldp.KRR(("no", "yes"), 2.0).then(ldp.KRR(("no", "yes"), 2.0), keep="first")


def bound(before: float, epsilon: float) -> float:
    return before / (before + (1 - before) * np.exp(-epsilon))


LISTED = [
    name
    for name, one in MECHANISMS.items()
    if isinstance(one, Enumerated) and one.sensitive is None and not one.unprotected
]


@pytest.mark.parametrize("name", LISTED)
def test_beliefs_are_posteriors_and_keep_to_epsilon(name):
    mechanism = MECHANISMS[name]
    row = ldp.Questionnaire({"x": mechanism}).statement().table.loc["x"]
    k, Q = mechanism.k, mechanism.channel().matrix()
    Q = Q[:, Q.any(axis=0)]
    assert row["epsilon"] == mechanism.epsilon and row["before"] == 1 / k
    if mechanism.n_outputs <= 800 and 1 < k <= 100:
        assert row["after"] == pytest.approx((Q / Q.sum(axis=0)).max(), rel=1e-9)
        others = (Q.sum(axis=0) - Q) * 0.99 / (k - 1)
        assert row["rare"] == pytest.approx((0.01 * Q / (0.01 * Q + others)).max(), rel=1e-9)
    for before, after in ((1 / k, "after"), (0.01, "rare")):
        assert before - 1e-9 <= row[after] <= bound(before, mechanism.epsilon) + 1e-9


def test_what_several_sheets_tell_is_bounded():
    fresh = ldp.Warner(epsilon=1.0)
    sheet = ldp.Questionnaire({"late": KEPT, "ill": fresh}, wave="1", link=True, keep=True)
    (over,) = [one for one in sheet.statement().sections if one.heading == "Over several sheets"]
    for T, total, late, ill in (row for row in over.rows[1:]):
        spent = min(int(T) * KEPT.epsilon, 2.0)
        assert float(total) == pytest.approx(spent + int(T) * 1.0, rel=1e-3)
        repeated = ldp.repeated(*[fresh] * int(T)) if int(T) < 10 else None
        if repeated is not None:
            most = ldp.privacy.posterior(repeated, [0.5, 0.5]).to_numpy().max()
            assert ill in (f"{100 * most:.3g}%", ">99.9%")
        assert late == f"{100 * bound(0.5, spent):.3g}%"
        if 1 < int(T) < 5:  # of reports of one answer, at most
            law = (
                KEPT.joint_law(int(T))
                .matrix()
                .loc[[", ".join([x] * int(T)) for x in KEPT.categories]]
            )
            assert (law / law.sum()).to_numpy().max() <= bound(0.5, 2.0)


def test_with_ask_the_sheets_cost_the_largest():
    asked = {"a": ldp.Warner(epsilon=1.0), "b": ldp.Warner(epsilon=0.5), "late": KEPT}
    sheet = ldp.Questionnaire(asked, ask=2, wave="1", link=True, keep=True)
    (over,) = [one for one in sheet.statement().sections if one.heading == "Over several sheets"]
    one = KEPT.epsilon + 1.0
    spent = [float(row[1]) for row in over.rows[1:]]
    assert spent == pytest.approx([one, 2.0 * one, 9.5, 17.0], rel=1e-3)


def test_what_changing_answers_tell_is_the_joint_epsilon_of_two_waves():
    rappor = ldp.RAPPOR(6, 1, 2, f=0.2, p=0.15, q=0.85, alphabet=("a", "b", "c"))
    job = ldp.KRR(4, 2.5)
    asked = {"job": job, "smokes": rappor, "late": KEPT}
    sheet = ldp.Questionnaire(asked, wave="1", link=True, keep=True)
    (over,) = [one for one in sheet.statement().sections if one.heading == "Over several sheets"]
    total = 2.0 * job.epsilon + rappor.joint_epsilon(2) + KEPT.joint_epsilon(2)
    assert f"two sheets together then have an epsilon of {total:.4g}" in over.words
    answers = {"job": [0], "smokes": "a", "late": "no"}
    with pytest.raises(ldp.NotAvailable, match="joint_law"):
        sheet.privatize(pd.DataFrame(answers), np.random.default_rng(1))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


SHEET = ldp.Questionnaire(
    {
        "job<b>": KRR,
        "place": ldp.PUM(ldp.URR(("centre", "park"), {"park"}, 1.0), tags=("home",)),
        "late": KEPT,
        "url": ldp.RAPPOR(16, 2, 8, f=0.5, p=0.25, q=0.75),
        "mangat": ldp.Mangat(p=0.6),
        "text": ldp.DictionarySurvey(length=6, gram=2, alphabet="abcde", epsilon=12.0),
        "region": ldp.Observed(("n", "s")),
    },
    refused={"job<b>": "?"},
    wave="2026-05",
    link=True,
    keep=True,
)


def test_it_says_what_is_open_as_text_and_as_html(tmp_path, capsys):
    statement, path = SHEET.statement(), tmp_path / "statement.html"
    text = " ".join(str(statement).split())
    for said in (
        "Answers to “region”: they are sent as they are.",
        "Answers to “place” other than 'park'",
        "Some answer to “mangat”: a report may tell it for certain.",
        "stays empty: “place”, “late”, “url”, “mangat” and “text”",
        "Whether an answer changed between waves",
        "a missing answer is reported as if it were “?”",
        "keyed hash with a secret of the device",
        SHEET.fingerprint,
    ):
        assert said in text, said
    assert max(map(len, str(statement).splitlines())) <= 80
    statement.to_html(path)
    page = Tags()
    page.feed(path.read_text(encoding="utf-8"))
    assert page.open == [] and "job<b>" in page.text and "<b>" not in path.read_text("utf-8")
    with pytest.raises(ldp.InvalidArgument, match="already exists"):
        statement.to_html(path)
    SHEET.to_json(tmp_path / "sheet.json")
    assert main(["statement", str(tmp_path / "sheet.json")]) == 0
    assert capsys.readouterr().out == f"{statement}\n"
    how = ["--to", str(path), "--force"]
    assert main(["statement", str(tmp_path / "sheet.json"), *how]) == 0
    assert path.read_text("utf-8") == statement.to_html() and "agree" in page.text


def test_what_cannot_be_stated():
    device = ldp.devices.library.cheating_detection("1/2", "1/6").mechanism(("no", "yes"))
    with pytest.raises(ldp.NotAvailable, match="unknown cheating"):
        ldp.Questionnaire({"used": device}).statement()
    nothing = ldp.Questionnaire({"region": ldp.Observed(3)}).statement()
    assert nothing.table.empty and "No question is protected" in str(nothing)
