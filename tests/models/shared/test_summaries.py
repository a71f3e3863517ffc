"""Summaries of all kinds: one record, one layout, two words at the beginning of a note."""

from __future__ import annotations

import inspect
import pydoc
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.models.shared.tables import SummaryTable, display_width, distinct_lines
from ldpstats.problems.estimates import Unexplained

JOBS = ("nurse", "teacher", "driver")


def results_of_all_kinds() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    krr = ldp.KRR(JOBS, epsilon=1.0)
    pum = ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, epsilon=1.0), ("home",))
    strings = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=12.0)
    pairs = ldp.JointCounts.from_table([[30, 20, 10], [10, 20, 30], [20, 20, 20]], (krr, krr))
    return {
        "frequency": ldp.FrequencyModel(krr.counts([420, 330, 250])).fit(),
        "association": ldp.AssociationModel(pairs).fit(),
        "personalized": ldp.PersonalizedModel(pum.common.counts([180, 60, 370, 390]), pum).fit(),
        "dictionary": ldp.DictionaryModel(strings.privatize(["abca", "cc"] * 600, rng)).fit(),
    }


RESULTS = results_of_all_kinds()
KINDS = sorted(RESULTS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_note_in_capitals_begins_with_warning_or_note(kind: str) -> None:
    notes = RESULTS[kind].summary().extra_txt.split("\n")
    assert notes and all(
        re.match("(WARNING|NOTE): ", note) for note in notes if re.match("[A-Z]{2}", note)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("method", "name"),
    [("conf_int", "level"), ("summary", "conf_level"), ("plot", "confidence_level")],
)
def test_a_level_is_told_that_it_is_alpha(kind: str, method: str, name: str) -> None:
    with pytest.raises(ldp.InvalidArgument, match=rf"^{name}=0\.9: is .*: pass alpha=0\.1$"):
        getattr(RESULTS[kind], method)(**{name: 0.9})


@pytest.mark.parametrize("kind", ["frequency", "personalized", "dictionary"])
def test_a_plot_by_name_is_told_that_it_needs_axes(kind: str) -> None:
    with pytest.raises(
        ldp.InvalidArgument, match=r"^ax='bar': must be matplotlib Axes, .*no name$"
    ):
        RESULTS[kind].plot("bar")
    with pytest.raises(ldp.InvalidArgument, match=r"^ax=3: must be .*, for example .*$"):
        RESULTS[kind].plot(3)


def test_a_plot_of_a_table_names_its_kinds() -> None:
    with pytest.raises(ldp.InvalidArgument, match=r"^kind='bar': must be one of 'heatmap'"):
        RESULTS["association"].plot("bar")


@pytest.mark.parametrize("kind", KINDS)
def test_help_shows_what_may_be_asked(kind: str) -> None:
    results = RESULTS[kind]
    assert len(inspect.signature(type(results)).parameters) <= 5
    page = pydoc.plain(pydoc.render_doc(type(results)))
    for name in ("params", "bse", "conf_int", "cov_params", "t_test", "summary", "plot", "nobs"):
        assert re.search(rf"^ \|  {name}\b", page, flags=re.M), name
    assert " |  _" not in re.sub(r" \|  __\w+__", "", page)  # nothing private
    own = inspect.signature(type(results).conf_int).parameters
    assert list(own)[:2] == ["self", "alpha"]  # as it was written


@pytest.mark.parametrize("kind", KINDS)
def test_results_cannot_be_changed(kind: str) -> None:
    for name in ("nobs", "fit", "params", "llf"):
        with pytest.raises(AttributeError):
            setattr(RESULTS[kind], name, 1)


def test_a_long_mechanism_does_not_widen_a_summary() -> None:
    rng, n = np.random.default_rng(3), 600
    device = ldp.devices.roll(6).when({1: "yes", 6: "no"}, otherwise=ldp.devices.truth)
    forced = device.mechanism(("no", "yes"))
    frame = pd.DataFrame({name: rng.choice(["no", "yes"], n) for name in ("late", "ill")})
    sheet = ldp.Questionnaire({"late": forced, "ill": forced})
    survey = ldp.Survey(sheet.privatize(frame.assign(age=rng.normal(size=n)), rng), sheet)
    for results in (
        survey.frequencies("late"),
        survey.association("late", "ill"),
        survey.regression("late ~ age").fit(),
    ):
        summary = results.summary()
        table = summary.as_text().split("\n\n")[0].split("\n")
        assert max(map(len, table)) <= 80
        cells = "".join(row[1].data.replace(" ", "") for row in summary.tables[0])
        assert repr(forced.device).replace(" ", "") in cells  # the whole device is there


def test_both_sides_of_a_header_are_broken_into_lines() -> None:
    words = "日本 " * 30
    header = [["A:", words, "B:", "one two " * 9], ["C:", "c", "", ""], ["", "", "D:", "d"]]
    table = SummaryTable("Title", header, ["a"], ["row"], [["1"]], [])
    lines = table.layout().as_text().split("\n\n")[0].split("\n")[1:]
    assert max(map(display_width, lines)) == min(map(display_width, lines)) <= 80
    joined = " ".join(" ".join(lines).split())
    assert joined.count("日本") == 30 and joined.count("one") == 9
    names = [line.split()[0] for line in lines if line[:2] in ("A:", "C:")]
    assert names == ["A:", "C:"] and sum("D:" in line for line in lines) == 1


@pytest.mark.parametrize(("sensitive", "told"), [({"nurse"}, True), (set(JOBS), False)])
def test_what_epsilon_protects_is_a_field(sensitive: set[str], told: bool) -> None:
    """A label that looks like a mechanism's text decides nothing."""
    labels = (*JOBS, "k=3, sensitive=1")
    urr = ldp.URR(labels, sensitive if told else set(labels), epsilon=1.0)
    counts = urr.draw(np.full(4, 0.25), 4000, np.random.default_rng(2))
    results = ldp.FrequencyModel(counts).fit()
    again = type(results).from_json(results.to_json())
    for found in (results, again):
        assert found.fit.is_partial == told
        assert ("epsilon protects the sensitive" in str(found.summary())) == told


# -- long labels -------------------------------------------------------------------------------


def test_labels_that_differ_in_the_middle_are_told_apart() -> None:
    labels = ["x" * 50 + letter + "y" * 50 for letter in "AB"] + ["short"]
    counts = ldp.KRR(labels, 1.0).counts([420, 330, 250])
    results = ldp.FrequencyModel(counts).fit()
    summary = results.summary()
    stubs = [row[0].data.strip() for row in summary.tables[1][1:]]
    assert len(set(stubs)) == 3 and "short" in stubs
    grouped = ldp.GroupedModel({"n": counts, "s": counts}).fit().summary()
    assert len({row[0].data.strip() for row in grouped.tables[1][2:5]}) == 3
    ticks = [label.get_text() for label in results.plot().get_yticklabels()]
    assert len(set(ticks)) == 3


def test_lines_of_distinct_labels_are_distinct() -> None:
    hard = ["x" * 400 + letter + "y" * 400 for letter in "ABC"] + ["a\tb", "a b", "a b (5)"]
    shown = distinct_lines(hard, 20)
    assert len(set(shown)) == len(hard)
    assert max(map(len, shown)) < 100
    assert distinct_lines(["one", "two"], 20) == ["one", "two"]


def test_contrasts_say_what_z_is() -> None:
    results = RESULTS["frequency"]
    text = str(results.t_test("nurse, nurse = driver"))
    assert "score z" in text and "<0.001" in text and "0.000" not in text
    weak = str(results.t_test("nurse = 0.5").summary(alpha=0.1))
    assert "[0.05" in weak and "<0.001" not in weak


def test_the_unexplained_share_is_rounded_and_formatted_as_a_number() -> None:
    share = Unexplained(0.07328844, 0.04914654)
    words = "share not among the candidates: 0.07329"
    assert str(share) == f"{words} (std err 0.04915), 95% interval [0, 0.1696]"
    assert str(Unexplained(0.07328844, np.nan)) == words
    assert f"{share:.3f}" == "0.073" and f"{share:8.1%}" == "    7.3%"
    assert f"{share}" == str(share)
    assert round(share, 3) == 0.073 and round(share) == 0
    with pytest.raises(ValueError, match="format"):
        f"{share:x}"


def test_wide_and_combining_characters_are_aligned() -> None:
    labels = ("日本語のラベル", "e\u0301te\u0301", "plain")
    counts = ldp.KRR(labels, 1.0).counts([420, 330, 250])
    text = ldp.FrequencyModel(counts, name="質問").fit().summary().as_text()
    table = text.split("\n\n")[0].split("\n")[1:]
    assert len({display_width(line) for line in table}) == 1
    assert all(label in text for label in labels) and "質問" in text
    assert not any(0xE000 <= ord(c) <= 0xF8FF or ord(c) >= 0xF0000 for c in text)


def test_a_notebook_sets_no_mathematics_between_dollars() -> None:
    counts = ldp.KRR(("$10 to $20", "more"), 1.0).counts([420, 330])
    page = ldp.FrequencyModel(counts).fit()._repr_html_()
    assert "<span>$</span>10 to <span>$</span>20" in page
    assert page.replace("<span>$</span>", "").count("$") == 0


def test_a_plot_of_three_variables_names_the_remedy() -> None:
    krr, rng = ldp.KRR(("a", "b"), 2.0), np.random.default_rng(1)
    counts = [krr.privatize(rng.choice(["a", "b"], 500), rng) for _ in range(3)]
    results = ldp.AssociationModel(*counts, names=("u", "v", "w")).fit()
    with pytest.raises(ldp.NotAvailable, match=r"collapse\(\['u', 'v'\]\)"):
        results.plot()
    results.collapse(["u", "v"]).plot()


def test_a_dash_for_a_standard_error_is_explained() -> None:
    krr, rng = ldp.KRR(50, epsilon=5.0), np.random.default_rng(1)
    before = rng.integers(0, 50, 2000)
    after = np.where(rng.random(2000) < 0.8, before, rng.integers(0, 50, 2000))
    text = str(ldp.change(krr.privatize(before, rng), krr.privatize(after, rng)).summary())
    words = "not computed; those shown belong to the unconstrained estimate"
    assert ("  -  " in text) == (words in " ".join(text.split()))
    assert words in " ".join(text.split())
