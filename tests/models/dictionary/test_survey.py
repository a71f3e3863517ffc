"""DictionarySurvey: grams of all strings, bad input, specifications, and what is chosen by name."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.dictionary_layouts import SMALL, cut, every_string, make

import ldpstats as ldp
from ldpstats import KRR, ORR, RAPPOR, URR
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.models.dictionary.grams import GramLayout

LAYOUTS = [
    GramLayout(4, 2, "abc", " ", 2),
    GramLayout(4, 2, "abc", " ", 1),
    GramLayout(6, 3, "ab", "c", 1),
    GramLayout(4, 1, "é😀", "ß", 1),
]


# ---- padding and cutting, against all strings


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_grams_are_those_of_all_strings(layout: GramLayout) -> None:
    strings = every_string(layout.length, layout.alphabet)
    padded = layout.strings("values", strings)
    own = [cut(text, layout) for text in strings]
    assert layout.n_positions == len(layout.starts) == len(own[0])
    assert layout.unpadded(padded) == strings
    grams = layout.grams()
    assert len(set(grams.tolist())) == grams.size == layout.n_grams
    nothing = layout.pad * layout.gram
    for position, column in enumerate(zip(*own, strict=True)):
        at = layout.grams_at(padded, position)
        assert at.tolist() == list(column)
        # only the empty string, which is no answer, has nothing at the first position
        assert set(column) == set(grams.tolist()) - ({nothing} if position == 0 else set())
    columns = [layout.grams_at(padded, a) for a in range(layout.n_positions)]
    np.testing.assert_array_equal(layout.joined(columns), padded)
    for size in (1, 3, grams.size):
        blocks = list(layout.gram_blocks(size))
        assert max(map(len, blocks)) <= size
        np.testing.assert_array_equal(np.concatenate(blocks), grams)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_grams_may_follow_where_a_string_has_both(layout: GramLayout) -> None:
    grams = layout.grams()
    own = [cut(text, layout) for text in every_string(layout.length, layout.alphabet, least=0)]
    for gap in range(1, layout.n_positions):
        pairs = [(a, b) for a, b in layout.pairs if b - a == gap]
        seen = {(row[a], row[b]) for row in own for a, b in pairs}
        expected = [[(first, second) in seen for second in grams] for first in grams]
        np.testing.assert_array_equal(layout.may_follow(grams, grams, gap), expected)
    assert layout.may_follow(grams[:0], grams, 1).shape == (0, grams.size)


# ---- bad input

KRR7 = KRR(make().layout.grams().tolist(), epsilon=1.0)
ORR1 = ORR(4, 2, epsilon=1.0)
BOTH = {"gram_mechanism": KRR7, "string_mechanism": ORR1}
MORE = KRR([*KRR7.categories, "zz"], epsilon=1.0)
NUMBERS = {"gram_mechanism": KRR((0, 1, " "), 1.0), "alphabet": "01", "gram": 1}
GIVEN = RAPPOR(8, 1, 2, f=0.0, p=0.25, q=0.75, hashing="given")
INFINITE = RAPPOR(8, 1, 2, f=0.0, p=0.0, q=0.75)


@pytest.mark.parametrize(
    ("changes", "name", "message"),
    [
        ({"length": 5}, "length", "for example 6"),
        ({"length": 1026}, "length", "at most 1024"),
        ({"gram": 300, "length": 600, "gram_mechanism": "krr"}, "gram", "shorter grams"),
        ({"step": 3}, "step", "left out"),
        ({"gram": 3, "length": 6, "step": 2}, "step", "divide 3"),
        ({"alphabet": "ab "}, "alphabet", "holds the pad"),
        ({"alphabet": "abca"}, "alphabet", "occurs twice"),
        ({"alphabet": ["a", "bc"]}, "alphabet", "distinct characters"),
        ({"alphabet": {"a", "b"}}, "alphabet", "no order"),
        ({"pad": "  "}, "pad", "one character"),
        ({"replace": "c"}, "replace", "of the alphabet"),
        ({"epsilon": None}, "epsilon", "is needed"),
        ({"epsilon": np.inf}, "epsilon", "a number from"),
        ({"epsilon": 1e-6}, "epsilon", "do not add up"),
        ({"split": (0.5, 0.3, 0.3)}, "split", "adds up to 1.1"),
        ({"split": (0.2, 0.3, 0.5)}, "split", "the grams equal"),
        ({"split": (1.0, 0.0, 0.0)}, "split", "three positive"),
        ({"split": (0.5, "0.25", 0.25)}, "split", "three positive"),
        ({"gram_mechanism": KRR7, "epsilon": 2.0}, "epsilon", "do not add up"),
        ({"gram_mechanism": KRR7, "split": (0.5, 0.25, 0.25)}, "gram_mechanism", "is 0.75"),
        ({"string_mechanism": ORR1, "split": (0.5, 0.25, 0.25)}, "string_mechanism", "is 1.5"),
        (BOTH | {"epsilon": 3.001}, "gram_mechanism", "does not fit"),
        ({"gram_mechanism": INFINITE}, "gram_mechanism", "no finite epsilon"),
        ({"gram_mechanism": "rr"}, "gram_mechanism", "'best'"),
        ({"gram_mechanism": "oue", "length": 24, "gram": 12}, "gram_mechanism", "'orr'"),
        ({"gram_mechanism": KRR(("aa", "ab"), 1.0)}, "gram_mechanism", "'ba' is at fault"),
        ({"gram_mechanism": KRR(7, 1.0)}, "gram_mechanism", "the 7 grams"),
        ({"gram_mechanism": MORE}, "gram_mechanism", "8 labels"),
        (NUMBERS, "gram_mechanism", "'0' is at fault"),
        # it protects no one who holds another gram
        ({"gram_mechanism": URR(KRR7.categories, ["aa"], 1.0)}, "gram_mechanism", "sensitive"),
        ({"gram_mechanism": GIVEN, "epsilon": 9.0}, "gram_mechanism", "must hash any string"),
        ({"string_mechanism": GIVEN}, "string_mechanism", "must hash any string"),
        ({"string_mechanism": KRR7}, "string_mechanism", "without an alphabet"),
        ({"string_mechanism": ORR(4, 2, epsilon=1.0, alphabet=5)}, "string_mechanism", "alphabet"),
        ({"string_mechanism": "krr"}, "string_mechanism", "'rappor'"),
    ],
)
def test_bad_surveys(changes: dict[str, Any], name: str, message: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        make(**changes)
    assert error.value.name == name and message in str(error.value)


@pytest.mark.parametrize(
    ("values", "name", "message"),
    [
        (["ab", "b!a?"], "values[1]", "outside the alphabet ('!', '?')"),
        (["ab", "aabbé"], "values[1]", "'é'"),  # beyond the length, too
        (["a\0"], "values[0]", "'\\x00'"),
        (["a", "\ud800"], "values[1]", "'\\ud800'"),
        (["a", "", ""], "values[1]", "is empty"),
        (["a", 3], "values[1]", "must be a string"),
        (["a", None], "values[1]", "is missing"),
        (pd.Series(["a", "c", "c"], dtype="category", index=[7, 8, 9]), "values[1]", "'c'"),
        ([["a"], ["b"]], "values", "one-dimensional"),
    ],
)
def test_bad_strings(values: Any, name: str, message: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        make().privatize(values, np.random.default_rng(1))
    assert error.value.name == name and message in str(error.value)


def test_missing_answers_and_places() -> None:
    survey, rng = make(replace="b"), np.random.default_rng(1)
    values = [None, "ab", np.nan, "zz", pd.NA]
    reports = survey.privatize(values, rng, missing="count")
    assert (len(reports), reports.n_missing) == (2, 3)
    assert (reports + reports).n_missing == 6 and reports.select([0]).n_missing == 3
    none = survey.privatize([None], rng, missing="count")
    assert (len(none), none.n_missing, len(survey.privatize([], rng))) == (0, 1, 0)
    for bad, fault in (("?", "outside"), ("", "empty"), (3, "must be")):  # its place among all
        with pytest.raises(InvalidArgument, match=rf"values\[2\].*{fault}"):
            make().privatize([None, "a", bad], rng, missing="count")
    with pytest.raises(InvalidArgument, match="missing"):
        survey.privatize(["a"], rng, missing="drop")
    with pytest.raises(InvalidArgument, match="default_rng"):
        survey.privatize(["a"], 1)  # type: ignore[arg-type]
    with pytest.raises(NotAvailable):
        make(string_mechanism="rappor").channel(["a"])


@pytest.mark.parametrize("dtype", ["object", "category", "string[pyarrow]"])
def test_any_kind_of_text(dtype: str) -> None:
    values = ["ab", "b", "ab", "bbbba"]
    expected = make().privatize(values, np.random.default_rng(2)).to_frame()
    series = pd.Series([*values, None], dtype=dtype)
    for given in (series[:4], series.array[:4], np.array(values), pd.Index(values), values):
        got = make().privatize(given, np.random.default_rng(2)).to_frame()
        pd.testing.assert_frame_equal(got, expected)
    counted = make().privatize(series, np.random.default_rng(2), missing="count")
    pd.testing.assert_frame_equal(counted.to_frame(), expected)


# ---- specifications and reports


def test_specification_round_trip() -> None:
    changes: dict[str, list[Any]] = {
        "length": [4, 6],
        "gram": [1],
        "alphabet": ["ba", "aé"],
        "pad": ["_"],
        "step": [1],
        "replace": ["a", "b"],
        "epsilon": [3.1],
        "split": [(0.3, 0.35, 0.35)],
        "gram_mechanism": ["oue", "rappor"],
        "string_mechanism": ["rappor", ORR1],
    }
    surveys = [make(**{name: value}) for name, values in changes.items() for value in values]
    assert len({survey.fingerprint for survey in surveys}) == len(set(surveys)) == len(surveys)
    for survey in [*surveys, *SMALL.values()]:
        document = json.loads(json.dumps(survey.to_dict()))
        again = ldp.DictionarySurvey.from_dict(document)
        assert again == survey and again.to_dict() == document
        assert again.epsilon == pytest.approx(survey.epsilon, rel=1e-15)
        assert again.audit().agrees and str(again) == str(survey)
    assert make(split=(1 / 3, 1 / 3, 1 / 3), step=2) == make() != "survey"
    assert "2-grams every 1" in str(make(step=1))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", "ldpstats-mechanism"),
        ("format", ["ldpstats-dictionary-survey"]),
        ("version", 2),
        ("unknown", 1),
        ("length", 5),
        ("alphabet", "a "),
        ("step", "2"),
        ("replace", 1),
        ("gram_mechanism", "krr"),
        ("string_mechanism", {"format": "ldpstats-mechanism"}),
        ("string_mechanism", KRR7.to_dict()),
    ],
)
def test_malformed_specifications(field: str, value: Any) -> None:
    document = make().to_dict()
    lacking = {k: v for k, v in document.items() if k != field}
    for other in (document | {field: value}, lacking, list(document), "survey", None):
        if other != document:
            with pytest.raises(InvalidArgument):
                ldp.DictionarySurvey.from_dict(other)  # type: ignore[arg-type]


# ---- what is chosen by name

EPSILON = 2.0 * np.log(9.0)  # of a RAPPOR report with p = .25, q = .75 and two hashes


def test_budget_of_the_paper() -> None:
    # statistics.md section 4: q = .4095 spends a third of 4.394; the printed .32 less than half
    survey = make(epsilon=EPSILON, gram_mechanism="rappor", string_mechanism="rappor")
    for mechanism in survey.mechanisms:
        assert isinstance(mechanism, RAPPOR)
        assert (mechanism.n_bits, mechanism.n_hashes, mechanism.p) == (128, 2, 0.25)
        assert mechanism.q == pytest.approx(0.4095, abs=5e-5)
        assert mechanism.epsilon == pytest.approx(EPSILON / 3.0, abs=1e-12)
    printed = RAPPOR(128, 2, 64, f=0.0, p=0.25, q=0.32)
    assert printed.epsilon == pytest.approx(0.690, abs=5e-4)
    survey = make(epsilon=None, gram_mechanism=printed, string_mechanism=printed)
    assert survey.epsilon == pytest.approx(2.07, abs=5e-3)


def test_best_is_of_the_smaller_variance() -> None:
    # of a rare gram: (k - 2 + e^eps) / (e^eps - 1)^2, against 4 e^eps / (e^eps - 1)^2
    letters = "abcdefghijklmnopqrstuvwxyz"
    for epsilon in (0.5, 1.5, 2.0):
        for n in range(2, 27):
            krr = n + 1 - 2 + np.exp(epsilon) < 4.0 * np.exp(epsilon)
            best = make(alphabet=letters[:n], gram=1, epsilon=3.0 * epsilon).gram_mechanism
            assert isinstance(best, KRR if krr else ORR)
    # what no analysis could list, or go through, is not collected
    for sizes in ({"length": 600, "gram": 300}, {"length": 300, "gram": 1}):
        with pytest.raises(InvalidArgument, match=r"gram=.* more than"):
            make(**sizes)


@pytest.mark.parametrize("split", [None, (0.9, 0.05, 0.05), (0.02, 0.49, 0.49)])
@pytest.mark.parametrize("epsilon", [0.01, 4.39, 47.3])
def test_declared_is_what_is_asked_for_and_spent(epsilon: float, split: Any) -> None:
    for gram in ("best", "krr", "oue", "orr", "rappor"):
        survey = make(epsilon=epsilon, split=split, gram_mechanism=gram, string_mechanism="rappor")
        # q of almost one has few digits left
        assert survey.epsilon == pytest.approx(epsilon, rel=1e-8) and survey.audit().agrees
    one = ORR(8, 1, epsilon=1.0)
    near = make(epsilon=3.0 - 2e-9, gram_mechanism=one, string_mechanism=one)
    assert near.epsilon == 3.0 and near.client()  # not the rounded number, which it exceeds
