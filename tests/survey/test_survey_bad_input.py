"""Surveys that cannot be: an error that names the argument, and says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import LDPError

YES = ldp.KRR(("no", "yes"), 1.0)
STRINGS = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
PLACES = ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, 1.0), ("home",))
TABLE = pd.DataFrame(
    {
        "late": ["no", "yes", None, "no"],
        "ill": ["no", None, "yes", None],
        "never": [None] * 4,
        "word": ["0:1", "1:2", "0:3", None],
        "place": ["centre", "home", "park", "clinic"],
        "age": [18, 40, 60, 80],
        "income": [1.5, 2.5, 3.5, 4.5],
        "region": ["n", "s", None, "n"],
        "same": ["x"] * 4,
        "day": pd.to_datetime(["2024-01-01"] * 4),
        "who": [1, 2, 2, 4],
        "some": ["a", None, "b", "c"],
        "mixed": [1, "a", 2, "b"],
        "nothing": [None] * 4,
    }
)
SHEET = {"late": YES, "ill": YES, "never": YES, "word": ldp.ORR(8, 4, epsilon=1.0), "place": PLACES}


@pytest.fixture(scope="module")
def good() -> ldp.Survey:
    return ldp.Survey(TABLE, SHEET)


def built(*args: Any, **how: Any) -> Callable[[ldp.Survey], Any]:
    return lambda _: ldp.Survey(*args, **how)


def starts(change: dict[str, Any], fit: str = "dictionary") -> Callable[[ldp.Survey], Any]:
    """A table of strings, of which columns are changed."""
    names = ("start_1", "gram_1", "start_2", "gram_2", "string")
    frame = STRINGS.privatize(["abca", "cc"], np.random.default_rng(1)).to_frame()
    frame = frame.astype(object).set_axis([f"host_{name}" for name in names], axis=1)
    made = ldp.Survey(frame.assign(**change), {"host": STRINGS})
    return lambda _: made.dictionary("host") if fit == "dictionary" else made.frequencies("host")


BAD: dict[str, tuple[Callable[[ldp.Survey], Any], str]] = {
    "a directory": (built("/", SHEET), "path='/'"),
    "another format": (built("answers.xlsx", SHEET), "must end in .csv"),
    "a mechanism": (built(TABLE, YES), "must be a Questionnaire, or a dict"),
    "a question without a column": (
        built(TABLE, {"latte": YES}),
        "question='latte': no such column.*did you mean 'late'",
    ),
    "no such question": (lambda s: s.frequencies("latte"), "did you mean 'late'"),
    "nobody answered": (lambda s: s.frequencies("never"), "nobody of 4 answered"),
    "a column of numbers": (lambda s: s.frequencies("age"), "make bands"),
    "where of an unknown value": (lambda s: s.where("region == 'N'"), "is no value of 'region'"),
    "one value only": (lambda s: s.frequencies("same"), "holds 'x' only"),
    "an empty column": (lambda s: s.frequencies("nothing"), "is empty"),
    "values of several types": (lambda s: s.frequencies("mixed"), "several types"),
    "no candidates": (lambda s: s.frequencies("word"), "candidates"),
    "candidates of a list": (lambda s: s.frequencies("late", candidates=["no"]), "candidates"),
    "a PUM question": (lambda s: s.frequencies("place"), r"survey\.personalized\('place'\)"),
    "no PUM question": (lambda s: s.personalized("late"), r"survey\.frequencies\('late'\)"),
    "no dictionary question": (lambda s: s.dictionary("late"), r"survey\.frequencies\('late'\)"),
    "an unknown method": (lambda s: s.frequencies("late", method="mlee"), "method='mlee'"),
    "by a private question": (
        lambda s: s.frequencies("late", by="ill"),
        r"column='ill': is private.*survey\.association\('ill'",
    ),
    "by decimals": (lambda s: s.frequencies("late", by="income"), "make bands"),
    "by an empty column": (lambda s: s.frequencies("late", by="nothing"), "nobody of 4 has"),
    "by itself": (lambda s: s.frequencies("late", by="late"), "other than the question"),
    "a level of the fit": (lambda s: s.frequencies("late", alpha=0.1), "alpha=0.1: is no option"),
    "by too many": (
        lambda _: ldp.Survey(
            pd.DataFrame({"late": ["no"] * 2000, "who": range(2000)}), {"late": YES}
        ).frequencies("late", by="who"),
        "2000 groups, 1000 at most",
    ),
    "one question": (lambda s: s.association("late"), "two different questions"),
    "nobody has both": (
        lambda s: s.where("age < 50").association("ill", "never"),
        "nobody of 2 answered all",
    ),
    "where with a private question": (
        lambda s: s.where("late == 'yes'"),
        "column='late': is private",
    ),
    "where without such a column": (lambda s: s.where("agee > 3"), "did you mean 'age'"),
    "where nobody is": (
        lambda s: s.where("age > 50 and region == 's'"),
        "true for nobody; of 4 rows alone: age > 50: 2, region == 's': 1",
    ),
    "where with a short mask": (lambda s: s.where([True]), "each of the 4 rows"),
    "where with a number": (lambda s: s.where(3), r"survey\[mask\]"),
    "a private expression": (lambda s: s.where(nw.col("ill") == "no"), "not public"),
    "an expression of numbers": (lambda s: s.where(nw.col("age") + 1), "true or false in each"),
    "an expression that nobody meets": (lambda s: s.where(nw.col("age") > 999), "for nobody"),
    "a short mask": (lambda s: s[[True, False]], "each of the 4 rows"),
    "an empty mask": (lambda s: s[np.zeros(4, dtype=bool)], "chooses nobody"),
    "a slice of text": (lambda s: s["a":"b"], "mask=slice.*of whole numbers"),  # type: ignore[misc]
    "an empty slice": (lambda s: s[9:], "chooses nobody"),
    "repeated identifiers": (lambda s: s.reports("late", id="who"), "2 appears 2 times"),
    "missing identifiers": (lambda s: s.reports("late", id="some"), "1 of 4 rows have no"),
    "private identifiers": (lambda s: s.reports("late", id="ill"), "column='ill': is private"),
    "a wave that is no survey": (lambda s: s.matched(TABLE, id="age"), "must be a Survey"),
    "equal suffixes": (lambda s: s.matched(s, "age", suffixes=("_", "_")), "two different"),
    "nobody in both waves": (
        lambda s: s.matched(ldp.Survey(TABLE.assign(age=[1, 2, 3, 4]), SHEET), id="age"),
        "no person is in both",
    ),
    "identifiers of two types": (
        lambda s: s.matched(ldp.Survey(TABLE.assign(age=list("abcd")), SHEET), id="age"),
        "numbers in one wave and text in the other",
    ),
    "suffixes that clash": (
        lambda s: s.matched(
            ldp.Survey(TABLE[["late", "age"]].assign(late_=1), {"late": YES}), "age", ("_", "")
        ),
        "would name two columns 'late_'",
    ),
    "change of other categories": (
        lambda s: s.change("late", "place"),
        "different categories",
    ),
    "a report that cannot be": (
        lambda _: ldp.Survey(
            pd.DataFrame({"w": [None, "0:9"]}), {"w": ldp.ORR(8, 4, epsilon=1.0)}
        ).reports("w"),
        "w, row 2='0:9'",
    ),
    "strings partly empty": (starts({"host_string": [None, "0:1"]}), "host_string, row 1=None"),
    "frequencies of strings": (starts({}, "frequencies"), r"survey\.dictionary\('host'\)"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_refused_with_a_remedy(kind: str, good: ldp.Survey) -> None:
    call, words = BAD[kind]
    with pytest.raises(LDPError, match=words):
        call(good)


def test_questions_that_nobody_was_asked_together_name_ask() -> None:
    yes = ldp.Warner(epsilon=1.0)
    sheet = ldp.Questionnaire({"a": yes, "b": yes}, ask=1)
    people = pd.DataFrame({"a": ["no", "yes"] * 20, "b": ["no", "yes"] * 20})
    survey = ldp.Survey(sheet.privatize(people, np.random.default_rng(1)), sheet)
    for fit in (survey.change, survey.association):
        with pytest.raises(ldp.InvalidArgument, match=r"nobody of 40 answered .*\(ask=1: nobody"):
            fit("a", "b")


def test_words_of_other_spellings_and_separators(tmp_path: Path) -> None:
    sheet = {"a": ldp.Warner(epsilon=1.0)}
    survey = ldp.Survey(pd.DataFrame({"a": ["no", "yes"], "age": [3, 4]}), sheet)
    for condition, remedy in {
        "age \u2265 3": "write >=",
        "age == \u2018n\u2019": "straight quotation marks",
        "NOT age": "'not' in lower case",
    }.items():
        with pytest.raises(ldp.InvalidArgument, match=remedy):
            survey.where(condition)
    path = tmp_path / "a.csv"
    for text, remedy in {"a;b\nno;1\n": "by commas", "a,b\nno,1\n\n": "2 is an empty line"}.items():
        path.write_text(text)
        with pytest.raises(ldp.InvalidArgument, match=remedy):
            ldp.Survey(path, sheet).frequencies("a")


def test_a_type_that_arrow_lacks_is_refused() -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = pl.DataFrame({"a": ["no", "yes"], "r": pl.Series([1, 2], dtype=pl.Int128)})
    with pytest.raises(ldp.InvalidArgument, match="type Int128"):
        ldp.Survey(frame, {"a": ldp.Warner(epsilon=1.0)}).frequencies("a", by="r")
