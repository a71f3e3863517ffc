"""Clients that fill in whole answer sheets: budgets, what is asked, and secrecy."""

import copy
import json
import pickle
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import combinations, product
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shared.races import in_forks, race
from shared.sheets import ANSWERS, MECHANISMS, PUM, every_kind, people
from shared.tracebacks import shown

import ldpstats as ldp
from ldpstats.sampling.samplers import simulation_words
from ldpstats.survey.questions import draw_asked

ONE: dict[str, Any] = {name: answers[0] for name, answers in ANSWERS.items()}

SMALL = ldp.Questionnaire({"job": MECHANISMS["job"], "ill": MECHANISMS["ill"]})

SECRET = "hepatitis-4711"


def plain(value: Any) -> bool:
    """Whether a value is of JSON's own types, not of numpy's."""
    if isinstance(value, dict):
        return all(type(k) is str and plain(v) for k, v in value.items())
    if isinstance(value, list):
        return all(map(plain, value))
    return value is None or type(value) in (str, int, float, bool)


def test_a_sheet_is_plain_json_with_every_question():
    sheet = every_kind().client(tags={"place": {"home": {"park"}}}).report(ONE)
    assert list(sheet) == list(MECHANISMS) and plain(sheet)
    assert json.loads(json.dumps(sheet)) == sheet
    assert sheet["region"] == "north" and type(sheet["children"]) is int
    assert type(sheet["late"]) is bool and type(sheet["size"]) is float
    assert set(sheet["url"]) == {"positions", "grams", "string"}
    assert set(sheet["bits"]) <= {"0", "1"} and sheet["place"] in ("home", "mill")
    assert plain(every_kind().collector().report(ONE))


def test_only_what_is_asked_is_looked_at():
    class Unread(dict[str, Any]):
        def __init__(self) -> None:
            super().__init__(ONE)
            self.read: list[str] = []

        def get(self, name: str, default: Any = None) -> Any:
            self.read.append(name)
            return super().get(name, default)

    client, answers = every_kind(ask=2).client(reports=None), Unread()
    for _ in range(50):
        asked, answers.read = client.asked, []
        assert len(asked) == 3 and "region" in asked
        report = client.report(answers)
        assert tuple(answers.read) == asked
        assert [name for name, found in report.items() if found is not None] == list(asked)
    bad = every_kind(ask=1).client()
    others = {name: SECRET for name in MECHANISMS if name not in bad.asked}
    bad.report({**ONE, **others})


def test_what_is_asked_stays_until_a_sheet_is_made():
    client = every_kind(ask=3).client(reports=None)
    for _ in range(20):
        asked = client.asked
        with pytest.raises(ldp.InvalidArgument):
            client.report({**ONE, asked[0]: [SECRET]})
        assert client.asked == asked
        client.report(ONE)
    later = {tuple(client.asked) for _ in range(40) if client.report(ONE)}
    assert len(later) > 5
    assert every_kind().client().asked == tuple(MECHANISMS)


def test_a_sheet_is_spent_as_one():
    client = SMALL.client()
    assert client.total_epsilon == 1.5
    assert "reports=1, epsilon of all together: 1.5" in repr(client)
    for bad in (None, [], {"jbo": "cook"}, {"job": "x"}, {"ill": "perhaps"}):
        with pytest.raises(ldp.InvalidArgument):
            client.report(bad)
    client.report({"job": "cook"})
    with pytest.raises(ldp.BudgetSpent, match=r"reports=1.*all were made"):
        client.report({"job": "x"})  # not looked at
    assert SMALL.client(reports=3).total_epsilon == 4.5
    assert SMALL.client(reports=None).total_epsilon == np.inf


def test_threads_and_forks_share_a_budget(hasty, tmp_path):
    for _ in range(10):
        client = SMALL.client(reports=2)
        results = race(lambda c=client: c.report({"job": "cook"}), 5)
        assert sum(isinstance(r, ldp.BudgetSpent) for r in results) == 3
    path = tmp_path / "state"
    parent = SMALL.client(reports=4, state=path)
    parent.report({"job": "cook"})
    forks = in_forks(lambda: parent.report({"job": "cook"}), 4)
    assert sum(isinstance(r, ldp.BudgetSpent) for r in forks) == 1
    head, marks = path.read_text().split("\n")
    assert marks == "...." and json.loads(head)["fingerprint"] == SMALL.fingerprint
    with pytest.raises(ldp.MechanismMismatch):
        every_kind().client(state=path)
    memory = SMALL.client()
    assert all(isinstance(r, ldp.NotAvailable) for r in in_forks(lambda: memory.report({})))


def test_no_copy_gets_a_budget_of_its_own():
    client = SMALL.client()
    copies = [copy.copy(client), copy.deepcopy(client)]
    with pytest.raises(ldp.NotAvailable, match="pickled"):
        pickle.dumps(client)
    copies[0].report({"job": "cook"})
    with pytest.raises(ldp.BudgetSpent):
        copies[1].report({"job": "cook"})


def test_what_a_device_refuses():
    with pytest.raises(ldp.InvalidArgument, match=r"max_epsilon=1.*spends, 1\.5"):
        SMALL.client(max_epsilon=1.0)
    SMALL.client(max_epsilon=1.5)
    ldp.Questionnaire(SMALL.mechanisms, ask=1).collector(max_epsilon=1.0)
    open_book = ldp.Questionnaire({"job": SMALL["job"], "x": ldp.CustomMechanism(np.eye(2))})
    with pytest.raises(ldp.InvalidArgument, match="does not protect its respondents"):
        open_book.client()
    open_book.client(allow_no_privacy=True)
    region = {"job": SMALL["job"], "region": MECHANISMS["region"]}
    ldp.Questionnaire(region).client(max_epsilon=1.0)  # observed questions consent themselves
    with pytest.warns(ldp.LDPWarning, match="cohorts"):
        ldp.Questionnaire({"h": ldp.ORR(2, 1 << 17, epsilon=1.0)}).client()


def test_randomness_of_the_system_that_fails():
    def failing(n: int) -> bytes:
        raise OSError("no randomness")

    with pytest.raises(OSError, match="no randomness") as found:
        SMALL.collector(failing).report({"job": "cook", "ill": "no"})
    assert "cook" not in shown(found.value)
    with pytest.raises(ldp.InvalidArgument, match="entropy"):
        SMALL.collector(lambda n: b"").report({"job": "cook"})


@pytest.mark.parametrize("how", ["client", "tags", "collector"])
def test_every_question_takes_the_randomness_that_is_given(how):
    answers = people(1).drop(columns=["id", "home"]).iloc[0].to_dict()

    def sheets(seed: int) -> list[dict[str, Any]]:
        source, sheet = np.random.default_rng(seed).bytes, every_kind()
        tags = {"place": {"home": {"park"}}} if how == "tags" else None
        maker: Any = sheet.collector(source)
        if how != "collector":
            maker = sheet.client(source, reports=None, tags=tags)
        return [maker.report(answers) for _ in range(20)]

    found = sheets(1)
    assert found == sheets(1) and found != sheets(2)
    assert len({made["place"] for made in found}) > 1


@pytest.mark.parametrize("kind", [MECHANISMS["job"], ldp.ORR(8, 4, epsilon=1.0)], ids=str)
def test_a_refusal_takes_the_way_of_an_answer(kind):
    """Else its time would tell who refused, which the category of refusals is to hide."""
    sheet = ldp.Questionnaire({"job": kind}, refused="refused")

    def calls(answers: dict[str, Any]) -> list[str]:
        client, found = sheet.client(np.random.default_rng(1).bytes), list[str]()

        def note(frame: FrameType, event: str, argument: Any) -> None:
            if event == "call":
                found.append(frame.f_code.co_qualname)

        sys.setprofile(note)
        try:
            client.report(answers)
        finally:
            sys.setprofile(None)
        return found

    given = calls({"job": "refused"})
    assert "matched" in given or "as_series" in given
    for missing in ({}, {"job": None}, {"job": float("nan")}, {"job": pd.NA}):
        assert calls(missing) == given


# -- secrecy ---------------------------------------------------------------------------------------
class Hostile:
    """An answer that fails in every way, and shows itself."""

    def __eq__(self, other: object) -> bool:
        raise ValueError(SECRET)

    def __hash__(self) -> int:
        raise TypeError(SECRET)

    def __repr__(self) -> str:
        return SECRET


ANSWERS_THAT_CANNOT_BE = [
    SECRET + "\ud800",
    SECRET.encode(),
    [SECRET],
    (SECRET,),
    {SECRET: 1},
    np.array([SECRET, SECRET]),
    Hostile(),
    4711.5,
]


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_error_shows_an_answer(name):
    sheet, refused = every_kind(), 0
    client, collector = sheet.client(), sheet.collector()  # what cannot be spends no sheet
    unlisted = [] if name in ("host", "filter") else [SECRET]
    for bad in [*ANSWERS_THAT_CANNOT_BE, *unlisted]:
        frame = people(3)
        frame[name] = pd.Series([frame[name][0], bad, frame[name][2]], dtype=object)
        calls: list[Callable[[], Any]] = [
            lambda bad=bad: client.report({**ONE, name: bad}),
            lambda bad=bad: collector.report({**ONE, name: bad}),
            lambda frame=frame: collector.privatize(frame),
        ]
        for call in calls:
            with pytest.raises(ldp.LDPError) as found:
                call()
            text = shown(found.value)
            assert SECRET not in text and "4711" not in text
            assert found.value.__cause__ is None and found.value.__context__ is None
            refused += name in str(found.value)
    assert refused >= 2 * len(ANSWERS_THAT_CANNOT_BE)


@pytest.mark.parametrize(
    "answers",
    [None, [SECRET], SECRET, {SECRET: 1}, {"job": "cook", SECRET: "x"}, {4711: 1}, Hostile()],
    ids=["none", "list", "text", "key", "key too many", "number", "hostile"],
)
def test_no_error_shows_what_is_no_sheet(answers):
    for call in (SMALL.client().report, SMALL.collector().report):
        with pytest.raises(ldp.InvalidArgument, match=r"^answers=") as found:
            call(answers)
        assert SECRET not in shown(found.value) and "4711" not in shown(found.value)


BAD_TAGS: dict[str, Any] = {
    "unknown": {"place": {"home": {SECRET}}},
    "no set": {"place": {"home": SECRET}},
    "no tag": {"place": {SECRET: {"park"}}},
    "no dict": {"place": {SECRET}},
    "no dict of dicts": [SECRET],
    "no question": {SECRET: {"home": {"park"}}},
    "no PUM": {"job": {"home": {SECRET}}},
}


@pytest.mark.parametrize("name", BAD_TAGS)
def test_no_error_shows_own_categories(name):
    with pytest.raises(ldp.InvalidArgument, match="tags") as found:
        every_kind().client(tags=BAD_TAGS[name])
    assert SECRET not in shown(found.value)


def test_own_categories_are_nowhere_but_in_memory():
    client = ldp.Questionnaire({"place": PUM}).client(tags={"place": {"home": {"park"}}})
    assert "park" not in repr(client) and client.report({"place": "park"})["place"] != "park"


def test_the_check_finds_what_is_shown():
    """The negative control."""
    with pytest.raises(ldp.UnknownCategory) as found:
        SMALL["job"].privatize([SECRET], np.random.default_rng(1))
    assert SECRET in shown(found.value)


# What a whole sheet tells: epsilon by enumeration, and the law of the sheets that are drawn.

Sheet = tuple[Any, ...]  # a report for each question, None where it was not asked

QUESTIONS: dict[str, Any] = {  # three of unlike epsilon
    "job": ldp.KRR(("cook", "nurse", "driver"), 1.0),
    "ill": ldp.Warner(epsilon=0.4),
    "late": ldp.CustomMechanism([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], categories=("no", "yes")),
}

ANSWERS_DRAWN = [mechanism.categories.tolist() for mechanism in QUESTIONS.values()]

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
def test_epsilon_of_all_sheets(ask):
    """All answers, all sheets, and which questions they answer."""
    laws = [sheet_law(answers, ask) for answers in product(*ANSWERS_DRAWN)]
    sheet = ldp.Questionnaire(QUESTIONS, ask=ask)
    assert sheet.epsilon == pytest.approx(largest_ratio(laws), abs=LARGEST)
    assert ldp.Questionnaire(QUESTIONS).epsilon == pytest.approx(np.log(7) + 1.4, abs=LARGEST)


def test_questions_that_depend_on_the_answers_tell_more():
    """The negative control: to ask cooks more often for their job is a report about it."""
    laws = []
    for answers in product(*ANSWERS_DRAWN):
        often = 2.0 if answers[0] == "cook" else 1.0
        odds = {asked: often if "job" in asked else 1.0 for asked in combinations(QUESTIONS, 1)}
        laws.append(sheet_law(answers, 1, odds))
    assert largest_ratio(laws) > ldp.Questionnaire(QUESTIONS, ask=1).epsilon + 0.1


def test_a_refusal_that_is_a_category_is_protected_and_an_empty_cell_is_not():
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
def test_sheets_of_a_table_have_that_law(ask):
    answers = ("nurse", "yes", "no")
    frame = pd.DataFrame([answers] * 20_000, columns=list(QUESTIONS))
    sheet = ldp.Questionnaire(QUESTIONS, ask=ask)
    drawn = rows_of(sheet.privatize(frame, np.random.default_rng(7)))
    assert pvalue(drawn, sheet_law(answers, ask)) > 1e-3
    # the negative control: of another answer
    assert pvalue(drawn, sheet_law(("nurse", "no", "no"), ask)) < 1e-6


@pytest.mark.parametrize("kind", ["client", "collector"])
def test_sheets_of_devices_have_that_law(kind):
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
def test_every_set_of_questions_is_as_likely(n_questions, ask):
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


def test_what_is_asked_does_not_depend_on_the_answers():
    sheet, rng = ldp.Questionnaire(QUESTIONS, ask=2), np.random.default_rng
    asked = []
    for answers in (("nurse", "yes", "no"), ("cook", "no", "yes"), ("cook", "yes", "yes")):
        frame = pd.DataFrame([answers] * 1_000, columns=list(QUESTIONS))
        asked.append(sheet.privatize(frame, rng(3)).notna())
    pd.testing.assert_frame_equal(asked[0], asked[1])
    pd.testing.assert_frame_equal(asked[0], asked[2])
