"""Surveys of unknown dictionaries: grams, privacy and law by enumeration, what is refused."""

import json
import os
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grid import per_cohort, report_codes
from scipy import stats
from shared.dictionary_layouts import (
    GRAMS,
    SMALL,
    Array,
    GramLayout,
    cut,
    every_string,
    make,
    single,
)

import ldpstats as ldp
from ldpstats import KRR, ORR, RAPPOR, URR
from ldpstats.errors import InvalidArgument, MechanismMismatch, NotAvailable, UnknownCategory
from ldpstats.models.dictionary.survey import gram_mechanism

LAYOUTS = [
    GramLayout(4, 2, "abc", " ", 2),
    GramLayout(4, 2, "abc", " ", 1),
    GramLayout(6, 3, "ab", "c", 1),
    GramLayout(4, 1, "é😀", "ß", 1),
]


# ---- padding and cutting, against all strings


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_grams_are_those_of_all_strings(layout):
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
def test_grams_may_follow_where_a_string_has_both(layout):
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
def test_bad_surveys(changes, name, message):
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
def test_bad_strings(values, name, message):
    with pytest.raises(InvalidArgument) as error:
        make().privatize(values, np.random.default_rng(1))
    assert error.value.name == name and message in str(error.value)


def test_missing_answers_and_places():
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
        survey.privatize(["a"], 1)
    with pytest.raises(NotAvailable):
        make(string_mechanism="rappor").channel(["a"])


@pytest.mark.parametrize("dtype", ["object", "category", "string[pyarrow]"])
def test_any_kind_of_text(dtype):
    values = ["ab", "b", "ab", "bbbba"]
    expected = make().privatize(values, np.random.default_rng(2)).to_frame()
    series = pd.Series([*values, None], dtype=dtype)
    for given in (series[:4], series.array[:4], np.array(values), pd.Index(values), values):
        got = make().privatize(given, np.random.default_rng(2)).to_frame()
        pd.testing.assert_frame_equal(got, expected)
    counted = make().privatize(series, np.random.default_rng(2), missing="count")
    pd.testing.assert_frame_equal(counted.to_frame(), expected)


# ---- specifications and reports


def test_specification_round_trip():
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
def test_malformed_specifications(field, value):
    document = make().to_dict()
    lacking = {k: v for k, v in document.items() if k != field}
    for other in (document | {field: value}, lacking, list(document), "survey", None):
        if other != document:
            with pytest.raises(InvalidArgument):
                ldp.DictionarySurvey.from_dict(other)


# ---- what is chosen by name

EPSILON = 2.0 * np.log(9.0)  # of a RAPPOR report with p = .25, q = .75 and two hashes


def test_budget_of_the_paper():
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


def test_best_is_of_the_smaller_variance():
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
def test_declared_is_what_is_asked_for_and_spent(epsilon, split):
    for gram in ("best", "krr", "oue", "orr", "rappor"):
        survey = make(epsilon=epsilon, split=split, gram_mechanism=gram, string_mechanism="rappor")
        # q of almost one has few digits left
        assert survey.epsilon == pytest.approx(epsilon, rel=1e-8) and survey.audit().agrees
    one = ORR(8, 1, epsilon=1.0)
    near = make(epsilon=3.0 - 2e-9, gram_mechanism=one, string_mechanism=one)
    assert near.epsilon == 3.0 and near.client()  # not the rounded number, which it exceeds


LEVEL = 1e-6  # of each goodness-of-fit test: with fixed seeds a failure means a wrong law


# ---- the whole report, by enumeration


def rows(mechanism: ldp.Mechanism, label: str) -> Array:
    if mechanism.is_open:
        return mechanism.channel([label]).matrix()[0]
    return mechanism.channel().matrix()[list(mechanism.categories).index(label)]


def whole_report(survey: ldp.DictionarySurvey, text: str) -> Array:
    """Law of everything that the holder of a string sends, part by part."""
    own = [rows(survey.gram_mechanism, gram) for gram in cut(text, survey.layout)]
    whole, pairs = rows(survey.string_mechanism, text), survey.layout.pairs
    return np.concatenate([np.kron(np.kron(own[a], own[b]), whole) for a, b in pairs]) / len(pairs)


def log_ratio(Q: Array) -> float:
    """Largest log ratio of two rows in any column."""
    return float(np.log(Q.max(axis=0) / Q.min(axis=0)).max())


@pytest.mark.parametrize("name", SMALL)
def test_total_epsilon_by_enumeration(name):
    survey = SMALL[name]
    strings = every_string(survey.length, survey.alphabet)
    Q = survey.channel(strings).matrix()
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, atol=1e-12)
    expected = np.stack([whole_report(survey, text) for text in strings])
    np.testing.assert_allclose(Q, expected, rtol=1e-12)
    assert log_ratio(Q) <= survey.epsilon + 1e-12
    # reached where two strings differ in both grams and, in a cohort, as much as hashes can;
    # those whose three bits differ share a gram, which costs one, and nothing costs more
    reached = survey.epsilon - (1.0 if name == "out-of-reach" else 0.0)
    assert log_ratio(Q) == pytest.approx(reached, abs=1e-12)
    audit = survey.audit()
    assert audit.agrees and audit.channel == pytest.approx(survey.epsilon, abs=1e-12)
    assert audit.sampler == pytest.approx(survey.epsilon, abs=1e-12)
    assert survey.epsilon * survey.split[0] == pytest.approx(survey.string_mechanism.epsilon)
    assert survey.epsilon * survey.split[2] == pytest.approx(survey.gram_mechanism.epsilon)


class LeakyKRR(KRR):
    """It claims less than it spends, by one notch."""

    def channel(self, candidates: Any = None) -> Any:
        return KRR(self.categories, 1.001 * self.epsilon).channel()


class LeakyORR(ORR):
    """It claims less than it spends, by one notch."""

    @property
    def _krr(self) -> KRR:
        return KRR(self.n_outputs, 1.001 * self.epsilon)


@pytest.mark.parametrize(
    ("gram", "string", "excess"),
    [
        (LeakyKRR(GRAMS, 1.0), ORR(3, 2, epsilon=0.4), 0.002),
        (KRR(GRAMS, 1.0), LeakyORR(3, 2, epsilon=0.4), 0.0004),
        (LeakyORR(3, 2, epsilon=1.0), ORR(3, 2, epsilon=0.4), 0.002),
    ],
)
def test_enumeration_and_audit_catch_what_leaks(gram, string, excess):
    # negative control
    survey = single(gram, string)
    assert survey.epsilon == pytest.approx(2.4)  # as claimed
    worst = log_ratio(survey.channel(every_string(3, "ab")).matrix())
    assert worst == pytest.approx(2.4 + excess, abs=1e-12)
    assert not survey.audit().agrees
    for start in (survey.collector, survey.client):
        with pytest.raises(InvalidArgument, match="leaks more than it claims"):
            start()


def columns(reports: ldp.DictionaryReports) -> Array:
    """Column of each report in ``survey.channel(...)``."""
    number = reports.pair
    for part in (reports.first, reports.second, reports.string):
        width = per_cohort(part.mechanism) * max(part.mechanism.n_cohorts, 1)
        number = number * width + report_codes(part)
    return number


def test_reports_have_the_law_of_the_channel():
    n, rng = 60_000, np.random.default_rng(6)
    for name in ("krr", "oue", "rappor-grams", "overlap"):
        survey = SMALL[name]
        # they share neither grams nor, in every cohort, hashes: a wrong one would show
        strings = ["abb"[: survey.length], "b"]
        Q = survey.channel(strings).matrix()
        for x, text in enumerate(strings):
            seen = np.bincount(columns(survey.privatize([text] * n, rng)), minlength=Q.shape[1])
            assert stats.chisquare(seen, n * Q[x]).pvalue > LEVEL, (name, text)
            assert stats.chisquare(seen, n * Q[1 - x]).pvalue < LEVEL  # negative control
        pairs = len(survey.layout.pairs)
        if pairs > 1:  # the positions are even; negative control: a twenty-fifth less would show
            drawn, odds = seen.reshape(pairs, -1).sum(axis=1), np.linspace(0.96, 1.04, pairs)
            assert stats.chisquare(drawn).pvalue > LEVEL
            assert stats.chisquare(drawn, n * odds / odds.sum()).pvalue < LEVEL


def test_a_report_without_noise_is_the_answer():
    # epsilon = 30 for each report: another than the true one has a probability below 1e-11
    string = ORR(1 << 20, 1, epsilon=30.0)
    layout = GramLayout(6, 2, "aé😀", "x", 1)
    gram = gram_mechanism("krr", 30.0, layout)
    chosen = {"gram_mechanism": gram, "string_mechanism": string, "replace": "é"}
    survey = make(length=6, alphabet=["a", "é", "😀"], epsilon=None, pad="x", step=1, **chosen)
    assert survey.layout == layout
    given = ["a", "é😀", "aaééaaX😀", "a?x!", "😀"] * 40
    kept = ["a", "é😀", "aaééaa", "aééé", "😀"] * 40  # cut; mapped, the pad too
    reports = survey.privatize(given, np.random.default_rng(1))
    cells = string.cells(sorted(set(kept)))[0, :, 0]
    assert reports.string.y.tolist() == [cells[sorted(set(kept)).index(text)] for text in kept]
    grams = [cut(text, layout) for text in kept]
    frame = reports.to_frame()
    for i, row in enumerate(frame.itertuples()):
        assert 0 <= row.start_1 < row.start_2 <= 4
        assert (row.gram_1, row.gram_2) == (grams[i][row.start_1], grams[i][row.start_2])
    assert set(reports.pair) == set(range(10))


# ---- a respondent's device


@pytest.mark.parametrize("survey", SMALL.values(), ids=SMALL)
def test_a_client_reports_text_that_parses_back(survey):
    report = json.loads(json.dumps(survey.client().report("ab")))
    starts = survey.layout.starts
    assert tuple(map(starts.index, report["positions"])) in survey.layout.pairs
    for text in report["grams"]:
        parsed = survey.gram_mechanism.parse("gram", [text])
        assert survey.gram_mechanism.report_labels(parsed)[0] == text
    parsed = survey.string_mechanism.parse("string", [report["string"]])
    assert survey.string_mechanism.report_labels(parsed)[0] == report["string"]


def test_randomness_is_the_systems(monkeypatch):
    asked: list[int] = []
    urandom = os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: (asked.append(n), urandom(n))[1])
    client = make().client(reports=None)
    first = [str(client.report("ab")) for _ in range(30)]
    assert asked and len(set(first)) > 1
    drawn = len(asked)
    start = (make().client, make().collector)
    again = [each(np.random.default_rng(3).bytes).report("ab") for each in start]
    assert again[0] == again[1] and len(asked) == drawn  # a function of the entropy alone
    with pytest.raises(InvalidArgument, match="exactly the"):
        make().client(lambda n: b"").report("ab")
    assert len(make().collector().privatize(["a", None], missing="count")) == 1
    for value in ("", "c", None, 3, ["ab"]):
        with pytest.raises(InvalidArgument, match=r"^value=\(not shown\)") as refused:
            client.report(value)
        assert refused.value.__context__ is None  # which would show it


# ---- specifications and reports


@pytest.mark.parametrize("name", ["krr", "oue", "orr", "rappor-strings", "overlap"])
def test_reports_add_up(name):
    survey, rng = SMALL[name], np.random.default_rng(3)
    chunks = [survey.privatize(["ab", "b", "bba"] * n, rng) for n in (4, 0, 7)]
    total = sum(chunks, start=survey.no_reports())
    assert len(survey.no_reports()) == 0 and len(total) == 33 == len(sum(chunks))
    expected = pd.concat([chunk.to_frame() for chunk in chunks], ignore_index=True)
    pd.testing.assert_frame_equal(total.to_frame(), expected)
    keep = rng.random(33) < 0.4
    for chosen in (keep, np.flatnonzero(keep)):
        part = total.select(chosen).to_frame()
        pd.testing.assert_frame_equal(part, expected[keep].reset_index(drop=True))
    for number, (a, b) in enumerate(survey.layout.pairs):
        first, second = total.at_pair(number)
        starts = expected[["start_1", "start_2"]].to_numpy()
        here = (starts == [survey.layout.starts[a], survey.layout.starts[b]]).all(axis=1)
        text = survey.gram_mechanism.report_labels
        assert text(first).tolist() == expected["gram_1"][here].tolist()
        assert text(second).tolist() == expected["gram_2"][here].tolist()


def test_reports_that_do_not_belong_together():
    reports = make().privatize(["ab", "b"], np.random.default_rng(4))
    with pytest.raises(MechanismMismatch, match="cannot be added"):
        reports + make(pad="_").no_reports()
    with pytest.raises(TypeError):
        reports + 1
    parts = [reports.first, reports.second, reports.string]
    build = ldp.DictionaryReports
    for pair in ([0, 1], [0, -1], [0.0, 0.0], [[0, 0]], 0):
        with pytest.raises(InvalidArgument, match="pair"):
            build(make(), pair, *parts)
    with pytest.raises(InvalidArgument, match="one of each respondent"):
        build(make(), np.array([0, 0, 0]), *parts)
    with pytest.raises(InvalidArgument, match="must be Reports"):
        build(make(), reports.pair, parts[0], parts[1].y, parts[2])
    with pytest.raises(InvalidArgument, match="n_missing"):
        build(make(), reports.pair, *parts, n_missing=-1)
    with pytest.raises(MechanismMismatch, match="are not of the survey's"):
        build(make(epsilon=3.5), reports.pair, *parts)
    for number in (1, -1, 0.5):
        with pytest.raises(InvalidArgument, match="number"):
            reports.at_pair(number)
    with pytest.raises(UnknownCategory):
        reports.survey.gram_mechanism.parse("gram", ["zz"])
