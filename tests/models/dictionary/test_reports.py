"""Dictionary reports: privacy and law by enumeration, the respondent's device, and their sums."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grid import per_cohort, report_codes
from scipy import stats
from shared.dictionary_layouts import GRAMS, SMALL, Array, cut, every_string, make, single

import ldpstats as ldp
from ldpstats import KRR, ORR
from ldpstats.errors import InvalidArgument, MechanismMismatch, UnknownCategory
from ldpstats.models.dictionary.grams import GramLayout
from ldpstats.models.dictionary.mechanisms import gram_mechanism

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
def test_total_epsilon_by_enumeration(name: str) -> None:
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
def test_enumeration_and_audit_catch_what_leaks(gram: Any, string: Any, excess: float) -> None:
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


def test_reports_have_the_law_of_the_channel() -> None:
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


def test_a_report_without_noise_is_the_answer() -> None:
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
def test_a_client_reports_text_that_parses_back(survey: ldp.DictionarySurvey) -> None:
    report = json.loads(json.dumps(survey.client().report("ab")))
    starts = survey.layout.starts
    assert tuple(map(starts.index, report["positions"])) in survey.layout.pairs
    for text in report["grams"]:
        parsed = survey.gram_mechanism.parse("gram", [text])
        assert survey.gram_mechanism.report_labels(parsed)[0] == text
    parsed = survey.string_mechanism.parse("string", [report["string"]])
    assert survey.string_mechanism.report_labels(parsed)[0] == report["string"]


def test_randomness_is_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_reports_add_up(name: str) -> None:
    survey, rng = SMALL[name], np.random.default_rng(3)
    chunks = [survey.privatize(["ab", "b", "bba"] * n, rng) for n in (4, 0, 7)]
    total = sum(chunks, start=survey.no_reports())
    assert len(survey.no_reports()) == 0 and len(total) == 33 == len(sum(chunks))  # type: ignore[arg-type]
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


def test_reports_that_do_not_belong_together() -> None:
    reports = make().privatize(["ab", "b"], np.random.default_rng(4))
    with pytest.raises(MechanismMismatch, match="cannot be added"):
        reports + make(pad="_").no_reports()
    with pytest.raises(TypeError):
        reports + 1  # type: ignore[operator]
    parts = [reports.first, reports.second, reports.string]
    build = ldp.DictionaryReports
    for pair in ([0, 1], [0, -1], [0.0, 0.0], [[0, 0]], 0):
        with pytest.raises(InvalidArgument, match="pair"):
            build(make(), pair, *parts)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="one of each respondent"):
        build(make(), np.array([0, 0, 0]), *parts)
    with pytest.raises(InvalidArgument, match="must be Reports"):
        build(make(), reports.pair, parts[0], parts[1].y, parts[2])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="n_missing"):
        build(make(), reports.pair, *parts, n_missing=-1)  # type: ignore[misc]
    with pytest.raises(MechanismMismatch, match="are not of the survey's"):
        build(make(epsilon=3.5), reports.pair, *parts)
    for number in (1, -1, 0.5):
        with pytest.raises(InvalidArgument, match="number"):
            reports.at_pair(number)  # type: ignore[arg-type]
    with pytest.raises(UnknownCategory):
        reports.survey.gram_mechanism.parse("gram", ["zz"])
