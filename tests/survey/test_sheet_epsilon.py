"""What a whole sheet tells: epsilon by enumeration, and the law of the sheets that are drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ldpstats as ldp
from ldpstats.sampling.samplers import simulation_words
from ldpstats.survey.questions import draw_asked

Sheet = tuple[Any, ...]  # a report for each question, None where it was not asked

QUESTIONS: dict[str, Any] = {  # three of unlike epsilon
    "job": ldp.KRR(("cook", "nurse", "driver"), 1.0),
    "ill": ldp.Warner(epsilon=0.4),
    "late": ldp.CustomMechanism([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], categories=("no", "yes")),
}
ANSWERS = [mechanism.categories.tolist() for mechanism in QUESTIONS.values()]
LARGEST = 1e-12


def sheet_law(
    answers: Sheet, ask: int, odds: Mapping[Any, float] | None = None
) -> dict[Any, float]:
    """Probability of every sheet of a respondent with these answers, from Q of each question.

    `odds` of each set of questions make the draw uneven.
    """
    rows = {}
    for (name, mechanism), answer in zip(QUESTIONS.items(), answers, strict=True):
        Q = mechanism.channel().matrix()[mechanism.categories.get_loc(answer)]
        rows[name] = dict(zip(mechanism.outputs.tolist(), Q, strict=True))
    sets = list(combinations(QUESTIONS, ask))
    weight = {asked: 1.0 if odds is None else odds[asked] for asked in sets}
    found = {}
    for asked in sets:
        share = weight[asked] / sum(weight.values())
        for reports in product(*(rows[name].items() for name in asked)):
            given = dict(zip(asked, (y for y, _ in reports), strict=True))
            sheet = tuple(given.get(name) for name in QUESTIONS)
            found[sheet] = share * float(np.prod([q for _, q in reports]))
    return found


def largest_ratio(laws: list[dict[Any, float]]) -> float:
    """Epsilon of a channel whose rows are `laws`: the largest log ratio in a column."""
    sheets = sorted({sheet for law in laws for sheet in law}, key=str)
    Q = np.array([[law.get(sheet, 0.0) for sheet in sheets] for law in laws])
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, rtol=1e-12)
    with np.errstate(divide="ignore"):
        return float(np.max(np.log(Q.max(axis=0)) - np.log(Q.min(axis=0))))


@pytest.mark.parametrize("ask", [1, 2, 3])
def test_epsilon_of_all_sheets(ask: int) -> None:
    """All answers, all sheets, and which questions they answer."""
    laws = [sheet_law(answers, ask) for answers in product(*ANSWERS)]
    sheet = ldp.Questionnaire(QUESTIONS, ask=ask)
    assert sheet.epsilon == pytest.approx(largest_ratio(laws), abs=LARGEST)
    assert ldp.Questionnaire(QUESTIONS).epsilon == pytest.approx(np.log(7) + 1.4, abs=LARGEST)


def test_questions_that_depend_on_the_answers_tell_more() -> None:
    """The negative control: to ask cooks more often for their job is a report about it."""
    laws = []
    for answers in product(*ANSWERS):
        often = 2.0 if answers[0] == "cook" else 1.0
        odds = {asked: often if "job" in asked else 1.0 for asked in combinations(QUESTIONS, 1)}
        laws.append(sheet_law(answers, 1, odds))
    assert largest_ratio(laws) > ldp.Questionnaire(QUESTIONS, ask=1).epsilon + 0.1


def test_a_refusal_that_is_a_category_is_protected_and_an_empty_cell_is_not() -> None:
    """An answer sheet has at most epsilon, refusals included, where refusing is a category."""
    made = {"job": ldp.KRR(("cook", "nurse", "refused"), 1.0)}
    frame = pd.DataFrame({"job": [None] * 3_000})
    rng = np.random.default_rng(5)
    hidden = ldp.Questionnaire(made, refused={"job": "refused"}).privatize(frame, rng)
    reports = hidden["job"].value_counts().reindex(["refused", "cook", "nurse"])
    law = made["job"].channel().matrix()[2][[2, 0, 1]]
    assert stats.chisquare(reports, 3_000 * law).pvalue > 1e-3
    assert ldp.Questionnaire(made).privatize(frame, rng)["job"].isna().all()


# -- the sheets that are drawn ---------------------------------------------------------------------


def pvalue(sheets: Counter[Any], law: dict[Any, float]) -> float:
    """Chi-square test of drawn sheets against their law."""
    assert set(sheets) <= set(law)
    n = sum(sheets.values())
    return float(stats.chisquare([sheets[s] for s in law], [n * p for p in law.values()]).pvalue)


def rows_of(frame: pd.DataFrame) -> Counter[Any]:
    table = frame[list(QUESTIONS)].astype(object)
    return Counter(table.where(table.notna(), None).itertuples(index=False, name=None))


@pytest.mark.parametrize("ask", [2, 3])
def test_sheets_of_a_table_have_that_law(ask: int) -> None:
    answers = ("nurse", "yes", "no")
    frame = pd.DataFrame([answers] * 20_000, columns=list(QUESTIONS))
    sheet = ldp.Questionnaire(QUESTIONS, ask=ask)
    drawn = rows_of(sheet.privatize(frame, np.random.default_rng(7)))
    assert pvalue(drawn, sheet_law(answers, ask)) > 1e-3
    # the negative control: of another answer
    assert pvalue(drawn, sheet_law(("nurse", "no", "no"), ask)) < 1e-6


@pytest.mark.parametrize("kind", ["client", "collector"])
def test_sheets_of_devices_have_that_law(kind: str) -> None:
    answers, ask, rng = ("cook", "no", "yes"), 2, np.random.default_rng(8)
    sheet = ldp.Questionnaire(QUESTIONS, ask=ask)
    device: Any = sheet.collector(rng.bytes)
    if kind == "client":
        device = sheet.client(rng.bytes, reports=None)
    given = dict(zip(QUESTIONS, answers, strict=True))
    drawn = Counter(tuple(device.report(given).values()) for _ in range(600))
    assert pvalue(drawn, sheet_law(answers, ask)) > 1e-3
    assert pvalue(drawn, sheet_law(("nurse", "no", "yes"), ask)) < 1e-6


@pytest.mark.parametrize(("n_questions", "ask"), [(1, 1), (4, 3), (5, 2)])
def test_every_set_of_questions_is_as_likely(n_questions: int, ask: int) -> None:
    """Also of two respondents at once; one who is asked too many would be seen."""
    words = simulation_words(np.random.default_rng(9))
    drawn = draw_asked(20_000, n_questions, ask, words)
    assert (drawn.sum(axis=1) == ask).all()
    sets = Counter(map(bytes, drawn))
    law = 1 / len(list(combinations(range(n_questions), ask)))
    assert len(sets) == round(1 / law)
    if len(sets) > 1:
        assert stats.chisquare(list(sets.values())).pvalue > 1e-3
        pairs = Counter(zip(map(bytes, drawn[::2]), map(bytes, drawn[1::2]), strict=True))
        every = [pairs[a, b] for a in sets for b in sets]
        assert stats.chisquare(every).pvalue > 1e-3


def test_what_is_asked_does_not_depend_on_the_answers() -> None:
    sheet, rng = ldp.Questionnaire(QUESTIONS, ask=2), np.random.default_rng
    asked = []
    for answers in (("nurse", "yes", "no"), ("cook", "no", "yes"), ("cook", "yes", "yes")):
        frame = pd.DataFrame([answers] * 1_000, columns=list(QUESTIONS))
        asked.append(sheet.privatize(frame, rng(3)).notna())
    pd.testing.assert_frame_equal(asked[0], asked[1])
    pd.testing.assert_frame_equal(asked[0], asked[2])
