"""Dictionaries recovered without noise, the bounds of the search, results, and bad input."""

import json
import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tqdm
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from scipy import stats
from shared.dictionary_layouts import GramLayout

import ldpstats as ldp
from ldpstats import KRAPPOR, KRR, ORR, RAPPOR
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.tests import selected_intervals

LATIN = "abcdefghijklmnopqrstuvwxyz"

CLEAR = ORR(1 << 16, 1, epsilon=30.0)  # as good as no noise


def clear_survey(length: int, gram: int, alphabet: str, **changes: Any) -> ldp.DictionarySurvey:
    """A survey whose reports have no noise: the chance of another one is below 1e-8."""
    step = changes.get("step") or gram
    grams = GramLayout(length, gram, alphabet, changes.get("pad", " "), step).grams().tolist()
    mechanisms = {"gram_mechanism": KRR(grams, 30.0), "string_mechanism": CLEAR}
    return ldp.DictionarySurvey(length, gram, alphabet, **(mechanisms | changes))


def clear_reports(words: list[str], n: int = 3_000, **changes: Any) -> ldp.DictionaryReports:
    given = {"length": 6, "gram": 2, "alphabet": LATIN} | changes
    rng = np.random.default_rng(3)
    return clear_survey(**given).privatize(rng.permutation(np.resize(words, n)), rng)


@cache
def noisy_results(n: int = 30_000, **fit: Any) -> ldp.DictionaryResults:
    survey = ldp.DictionarySurvey(6, 2, "abcde", 9.0, string_mechanism=ORR(16, 64, epsilon=3.0))
    rng = np.random.default_rng(5)
    words = rng.choice(["abcade", "eedabc", "bad", "ce"], n, p=[0.4, 0.3, 0.2, 0.1])
    return ldp.DictionaryModel(survey.privatize(words, rng)).fit(**({"max_candidates": 60} | fit))


# ---- without noise
DICTIONARIES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "figure-5": ({}, ["rabbit", "hermit", "hebbed"]),  # rabbit and hermit's hebbit is a clique
    "one": ({"alphabet": "abc"}, ["abcabc"]),
    "short": ({"alphabet": "abc"}, ["a", "ab", "abc", "abca", "abcab", "abcabc", "c"]),
    "trigrams": ({"alphabet": "abcd", "length": 6, "gram": 3}, ["abcdab", "dad", "abc", "dadabc"]),
    "overlap": ({"alphabet": "abc", "length": 4, "step": 1}, ["abca", "abcb", "bc", "cabc"]),
    "half-overlap": ({"alphabet": "ab", "length": 8, "gram": 4, "step": 2}, ["abababab", "abba"]),
    "unicode": ({"alphabet": "éö😀", "length": 4, "pad": "_"}, ["éöé😀", "😀", "öö"]),
    "everything": (
        {"alphabet": "ab", "length": 3, "gram": 1},
        ["a", "b", "aa", "ab", "ba", "bb", "aaa", "aab", "aba", "abb", "baa", "bab", "bba", "bbb"],
    ),
}


@pytest.mark.parametrize("name", DICTIONARIES)
def test_dictionaries_are_recovered_exactly(name):
    changes, words = DICTIONARIES[name]
    search = "cliques" if name in ("figure-5", "overlap", "everything") else "likelihood"
    results = ldp.DictionaryModel(clear_reports(words, **changes)).fit(search=search)
    assert set(results.params.index) == set(words)
    if name == "figure-5":  # a false clique is tested and refused
        hebbit = results.candidates_frame.loc["hebbit"]
        assert not hebbit["accepted"] and hebbit["edges"] == 3 and hebbit["pvalue_adjusted"] > 0.5
    share = 1.0 / len(words)
    # hashing to 65,536 labels is all the noise that is left
    np.testing.assert_allclose(results.params, share, atol=1.0 / 3_000 + 1e-4)
    assert results.candidates_frame.loc[words, "edges"].eq(results.n_pairs).all()
    assert results.unexplained.estimate == pytest.approx(0.0, abs=1e-3)
    assert all(isinstance(word, str) for word in results.params.index)


@pytest.mark.parametrize(
    "mechanism",
    [
        KRAPPOR(GramLayout(6, 2, "abcde", " ", 2).grams().tolist(), 6.0, theta=0.5),
        ORR(40, 64, epsilon=6.0),
        ORR(16, 16, epsilon=4.0, alphabet=GramLayout(6, 2, "abcde", " ", 2).grams().tolist()),
        RAPPOR(64, 2, 32, f=0.0, p=0.1, q=0.9),
        ldp.ORAPPOR(32, 1, 32, epsilon=5.0),
    ],
    ids=["oue", "orr", "orr-closed", "rappor", "orappor"],
)
def test_every_mechanism_carries_grams(mechanism):
    words = ["abcade", "eedabc", "bad", "ce"]
    reports = clear_reports(words, 8_000, alphabet="abcde", gram_mechanism=mechanism)
    assert set(ldp.DictionaryModel(reports).fit(max_candidates=50).params.index) == set(words)


# ---- what is tested
def test_only_what_the_filter_keeps_is_tested():
    # in one cohort without noise what is not listed would be one cell: no noise like any other
    cohorts = ORR(1024, 64, epsilon=30.0)
    reports = clear_reports(["rabbit", "hermit", "hebbed", "red"], string_mechanism=cohorts)
    for keep in ("h.*", re.compile("h.*"), lambda text: text.startswith("h")):
        results = ldp.DictionaryModel(reports, keep=keep).fit()
        assert set(results.params.index) == {"hermit", "hebbed"}
        assert all(text.startswith("h") for text in results.candidates_frame.index)
        assert f"the filter excluded {results.n_excluded} strings" in str(results.summary())
    # an expression must match the whole string
    assert ldp.DictionaryModel(reports, keep="h").fit().n_tested == 0
    assert set(ldp.DictionaryModel(reports, keep="...").fit().params.index) == {"red"}


def test_bounds_keep_the_best():
    full = noisy_results(max_candidates=300)
    few = noisy_results(max_candidates=5)
    assert full.n_tested == 300 and few.n_tested == 5
    assert few.n_untested == full.n_untested + 295
    assert few.candidates_frame.index.tolist() == full.candidates_frame.index[:5].tolist()
    assert np.all(np.diff(full.candidates_frame["evidence"]) <= 0.0)
    assert f"{few.n_untested} strings with lower scores" in str(few.summary())
    narrow = noisy_results(width=60)
    assert narrow.n_cut > 0 and "partial strings" in str(narrow.summary())
    assert set(narrow.params.index) == set(full.params.index)
    grams = noisy_results(max_grams=3)
    assert grams.grams.groupby("start").size().tolist() == [3, 3, 3]
    assert sum(grams.left_out) > 0 and "max_grams" in str(grams.summary())


@pytest.mark.parametrize("most", [1, 4])
def test_a_second_search_without_noise(most):
    """The most frequent string is among however few; nothing that nobody holds is found."""
    words = ["rabbit", "hermit", "hebbed", "red"]
    for changes in ({}, {"gram": 1}):
        reports = clear_reports([*words, *words[:1] * 3], **changes)
        results = ldp.DictionaryModel(reports).fit(max_candidates=most)
        assert results.n_tested == most
        assert set(results.params.index) <= set(words) and "rabbit" in results.params.index
        if most > 3:
            assert set(results.params.index) == set(words)


def test_as_many_are_tested_as_can_be_told_apart():
    string = ORR(4, 2, epsilon=2.0)  # two cohorts of four labels: six frequencies
    survey = ldp.DictionarySurvey(6, 2, "abcde", 8.0, string_mechanism=string)
    rng = np.random.default_rng(2)
    reports = survey.privatize(rng.choice(["abcade", "eedabc"], 4_000), rng)
    results = ldp.DictionaryModel(reports).fit()
    assert 1 <= results.n_tested <= 6 and results.n_untested > 0
    assert len(results.candidates_frame) == results.n_tested


@pytest.mark.parametrize(("mechanism", "search"), [("krr", "cliques"), ("rappor", "likelihood")])
def test_progress_is_told_in_order(mechanism, search):
    told: list[tuple[str, float]] = []
    survey = ldp.DictionarySurvey(4, 1, "abcd", 8.0, gram_mechanism=mechanism)
    rng = np.random.default_rng(3)
    strings = rng.choice(["abcd", "dcba", "aab"], 3_000)
    model = ldp.DictionaryModel(survey.privatize(strings, rng))
    fit = model.fit(search=search, progress=lambda stage, share: told.append((stage, share)))
    stages = ["grams", "pairs", "search", "test"]
    for i, stage in enumerate(stages):
        shares = [share for name, share in told if name == stage]
        # six pairs of positions, four positions, all levels: each of them is told
        assert len(shares) >= (5 if stage == "test" else 8)
        assert shares[0] == i / 4 and shares[-1] == (i + 1) / 4
    assert list(dict.fromkeys(name for name, _ in told)) == stages
    assert np.all(np.diff([share for _, share in told]) >= 0.0)
    assert fit.to_json() == model.fit(search=search).to_json()


def test_a_bar_on_request(capsys):
    model = ldp.DictionaryModel(clear_reports(["ab", "cd"], 50, alphabet="abcd", length=4))
    for quiet in (None, False):
        model.fit(progress=quiet)
    assert capsys.readouterr().err == ""
    with pytest.MonkeyPatch.context() as patch:
        made: list[dict[str, Any]] = []

        class Seen(tqdm.tqdm):
            def __init__(self, **how: Any) -> None:
                made.append(how)
                super().__init__(**(how | {"delay": 0, "mininterval": 0}))

        patch.setattr(tqdm, "tqdm", Seen)
        model.fit(progress=True)
    shown = capsys.readouterr().err
    assert "discovering: grams" in shown and "discovering: test 100%" in shown
    assert made[0]["miniters"] == 0  # or a bar that was quick for a while would stand still


@pytest.mark.parametrize(
    ("mechanism", "n"), [("krr", 12), ("oue", 40), ("orr", 12), ("rappor", 40)]
)
def test_few_respondents_are_no_error(mechanism, n):
    survey = ldp.DictionarySurvey(6, 2, "abcde", 3.0, gram_mechanism=mechanism)
    rng = np.random.default_rng(1)
    results = ldp.DictionaryModel(survey.privatize(["abcade"] * n, rng)).fit(max_candidates=20)
    text = str(results.summary())
    assert results.nobs == n and ("too few respondents" in text or "nothing was tested" in text)
    assert ldp.DictionaryResults.from_json(results.to_json()).nobs == n


# ---- bad input
def test_bad_settings_are_refused_before_the_work():
    told: list[str] = []
    model = ldp.DictionaryModel(clear_reports(["ab", "cd"], 50, alphabet="abcd", length=4))
    for given, match in [
        ({"alpha": 1}, "alpha"),
        ({"threshold": "often"}, "'standard', 'fpe16'"),
        ({"threshold": -0.1}, "threshold"),
        ({"search": "beam"}, "'likelihood', 'cliques'"),
        ({"false_grams": np.nan}, "false_grams"),
        ({"false_grams": True}, "false_grams"),
        ({"max_grams": 2.5}, "max_grams"),
        ({"max_candidates": 5_000}, "fitted together"),
        ({"width": 0}, "width"),
    ]:
        with pytest.raises(InvalidArgument, match=match):
            model.fit(**given, progress=lambda stage, _: told.append(stage))
    assert not told


def test_bad_reports_and_filters():
    reports = clear_reports(["ab", "cd"], 50, alphabet="abcd", length=4)
    for wrong in (reports.first, reports.to_frame(), None, [reports]):
        with pytest.raises(InvalidArgument, match="DictionaryReports"):
            ldp.DictionaryModel(wrong)
    with pytest.raises(InvalidArgument, match="hold no report"):
        ldp.DictionaryModel(reports.survey.no_reports())
    for keep in ("[a-", re.compile(b"ab"), 3, True, ["ab"]):
        with pytest.raises(InvalidArgument, match="keep"):
            ldp.DictionaryModel(reports, keep=keep)
    for fails in (lambda text: text.missing, lambda text: "yes"):
        with pytest.raises(InvalidArgument, match="keep"):
            ldp.DictionaryModel(reports, keep=fails).fit()
    with pytest.raises(InvalidArgument, match="progress"):
        ldp.DictionaryModel(reports).fit(progress="yes")
    with pytest.raises(NotAvailable, match="about bits"):
        ldp.DictionaryModel(reports).fit(threshold="fpe16")
    results = ldp.DictionaryModel(reports).fit(false_grams=np.int64(5), threshold=np.float64(0.1))
    assert set(results.params.index) == {"ab", "cd"}


# ---- results
def test_results_are_those_of_the_strings_that_were_accepted():
    results = noisy_results()
    frame = results.candidates_frame
    assert frame.columns.tolist() == [
        "estimate",
        "se",
        "pvalue",
        "pvalue_adjusted",
        "accepted",
        "evidence",
        "edges",
    ]
    assert results.params.index.tolist() == ["abcade", "eedabc", "bad", "ce"]
    assert np.all(np.diff(results.params) < 0.0) and results.k == 4
    own = frame.loc[results.params.index]
    assert own["accepted"].all() and frame["accepted"].sum() == 4
    np.testing.assert_array_equal(results.params, own["estimate"])
    np.testing.assert_allclose(results.bse, own["se"], rtol=1e-9)
    np.testing.assert_array_equal(results.pvalues, own["pvalue_adjusted"])
    share = 1.0 / (20.0 + np.arange(len(frame)))  # by rank
    by_hand = np.minimum(frame["pvalue"] * share.sum() / share, 1.0)
    np.testing.assert_allclose(frame["pvalue_adjusted"], by_hand)
    assert (frame["pvalue_adjusted"] <= results.alpha).equals(frame["accepted"])
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    assert np.abs((results.params - truth) / results.bse).max() < 4.0
    # what is left, with the covariance of the sum
    V = results.cov_params().to_numpy()
    assert results.unexplained.estimate == pytest.approx(1.0 - results.params.sum())
    assert results.unexplained.bse == pytest.approx(np.sqrt(V.sum()))
    assert f"{results.unexplained.estimate:.4f}" in str(results.summary())
    # tests of the accepted strings
    test = results.t_test("abcade = eedabc")
    R = np.array([[1.0, -1.0, 0.0, 0.0]])
    expected = float((R @ results.params.to_numpy() / np.sqrt(R @ V @ R.T)).item())
    assert test.statistic.item() == pytest.approx(expected)
    wald = results.wald_test("abcade = eedabc, bad = 0.2")
    assert wald.df == 2 and 0.0 <= wald.pvalue <= 1.0
    with pytest.raises(InvalidArgument, match="aaaaaa"):
        results.t_test("aaaaaa = bad")


def test_intervals_by_both_methods():
    results = noisy_results()
    z = stats.norm.isf(0.05)
    reach = z * results.bse.to_numpy()
    wald = results.conf_int(0.1, "wald")
    params = results.params.to_numpy()
    np.testing.assert_allclose(wald, np.column_stack([params - reach, params + reach]), rtol=1e-9)
    selected = results.conf_int(0.1)
    assert selected.columns.tolist() == ["lower", "upper"] and list(selected.index) == list(
        results.params.index
    )
    # far above the bound they agree; nearer, the selected one reaches down
    assert np.abs(selected - wald).iloc[0].max() < 1e-6
    assert (selected["lower"] <= wald["lower"] + 1e-9).all()
    least = params * -stats.norm.ppf(results.alpha / results.n_tested)
    least /= -stats.norm.ppf(results.candidates_frame.loc[results.params.index, "pvalue"])
    expected = selected_intervals(params, results.bse.to_numpy(), np.minimum(least, params), 0.1)
    np.testing.assert_allclose(selected, np.clip(expected, 0.0, 1.0), atol=1e-9)
    frame = results.summary_frame(0.1)
    np.testing.assert_array_equal(frame[["lower", "upper"]], selected)
    middle = results.median_unbiased
    assert (middle <= results.params + 1e-9).all() and (middle >= selected["lower"]).all()
    with pytest.raises(InvalidArgument, match="'selected', 'wald'"):
        results.conf_int(method="exact")


def same(left: ldp.DictionaryResults, right: ldp.DictionaryResults) -> None:
    assert str(left.summary()) == str(right.summary()) and repr(left) == repr(right)
    assert left.to_json() == right.to_json()
    pd.testing.assert_frame_equal(left.candidates_frame, right.candidates_frame)
    pd.testing.assert_frame_equal(left.cov_params(), right.cov_params())
    pd.testing.assert_series_equal(left.detectable_at(0.5), right.detectable_at(0.5))


def test_json_keeps_everything():
    results = noisy_results()
    same(results, ldp.DictionaryResults.from_json(results.to_json()))
    document = results.to_dict()
    assert json.loads(json.dumps(document)) == document
    for broken in (document | {"format": "x"}, document | {"version": 99}, {}, None):
        with pytest.raises(InvalidArgument, match="format"):
            ldp.DictionaryResults.from_dict(broken)
    del document["grams"]
    with pytest.raises(InvalidArgument, match="grams"):
        ldp.DictionaryResults.from_dict(document)


def test_damaged_documents_are_refused():
    document = noisy_results(4_000).to_dict()
    damage = {"fitted": [1.5, "x", {}], "nobs": [-1, "many", None], "n_missing": ["x", -1]}
    damage |= {name: [None] for name in ("strings", "candidates", "grams", "edges", "left_out")}
    for name, values in (damage | {"pair_se": [None], "test_se": [None]}).items():
        for value in values:
            with pytest.raises(InvalidArgument):
                ldp.DictionaryResults.from_dict(document | {name: value})


def test_no_string_is_accepted():
    survey = ldp.DictionarySurvey(6, 2, "abcde", 3.1, string_mechanism=ORR(4, 64, epsilon=0.1))
    rng = np.random.default_rng(4)
    reports = survey.privatize(rng.choice(["abcade", "eedabc"], 2_000), rng)
    results = ldp.DictionaryModel(reports).fit(max_candidates=40)
    assert results.k == 0 and results.n_tested > 0
    assert results.params.empty and results.pvalues.empty and results.conf_int().empty
    assert results.cov_params().shape == (0, 0) and results.unexplained.estimate == 1.0
    text = str(results.summary())
    assert "(no string was accepted)" in text and "no string was found. n = 2000" in text
    same(results, ldp.DictionaryResults.from_json(results.to_json()))


def test_no_string_is_tested():
    survey = ldp.DictionarySurvey(6, 2, "abcde", 0.5, string_mechanism=ORR(4, 64, epsilon=0.1))
    rng = np.random.default_rng(4)
    reports = survey.privatize(rng.choice(["abcade", "eedabc"], 500), rng)
    results = ldp.DictionaryModel(reports).fit(false_grams=1e-9)
    assert results.n_tested == 0 and results.grams.empty and results.candidates_frame.empty
    assert "WARNING: too few respondents" in str(results.summary())
    assert results.detectable_at().isna().all()
    same(results, ldp.DictionaryResults.from_json(results.to_json()))


@pytest.mark.slow
def test_the_order_of_the_alphabet_is_of_no_account():
    # what can be tested is the noise of an absent string, also where its name is a frequent one
    rare = [f"{a}{b}{c}bcd" for a in "bcdefg" for b in "bcdef" for c in "h"]
    words = ["aaaaaa"] * 3400 + [rare[i % 30] for i in range(600)]
    survey = ldp.DictionarySurvey(6, 2, "habcdefg", 30.0)
    model = ldp.DictionaryModel(survey.privatize(words, np.random.default_rng(3)))
    assert model.fit().k > 20


def test_pairs_that_nobody_reported_are_no_edges():
    survey = ldp.DictionarySurvey(6, 1, "ab", 36.0)
    reports = survey.privatize(["ababab"] * 14, np.random.default_rng(1))
    assert np.bincount(reports.pair, minlength=15).min() == 0
    results = ldp.DictionaryModel(reports).fit(threshold=0.01)
    assert np.isfinite(results.edges["se"]).all()
    same(ldp.DictionaryResults.from_json(results.to_json()), results)


def test_what_is_detectable_grows_with_the_power():
    results = noisy_results()
    found = pd.DataFrame([results.detectable_at(power) for power in (0.05, 0.5, 0.8, 0.99)])
    assert np.all(np.diff(found, axis=0) >= 0.0) and found["found"].is_monotonic_increasing
    assert (found["found"] >= found[["grams", "pairs", "test"]].max(axis=1) - 1e-12).all()
    assert results.params.iloc[0] > found["found"].iloc[2]
    for power in (0.0, 1.0, "half"):
        with pytest.raises(InvalidArgument, match="power"):
            results.detectable_at(power)


# What the plots of unknown dictionaries draw, and that all of it is inside the figure.

GREY = "#cccccc"

NAMES = ["abcade", "eedabc", "bad", "deceba"]

SHARES = [0.4, 0.3, 0.2, 0.1]

TRUTH = pd.Series(SHARES, NAMES)


@cache
def found(n: int = 6_000, epsilon: float = 12.0, gram: int = 2, alphabet: str = "abcde") -> Any:
    survey = ldp.DictionarySurvey(length=6, gram=gram, alphabet=alphabet, epsilon=epsilon)
    rng = np.random.default_rng(5)
    strings = rng.choice(NAMES, size=n, p=SHARES)
    results = ldp.DictionaryModel(survey.privatize(strings, rng)).fit()
    return ldp.DictionaryResults.from_json(results.to_json())  # plots need no more than is stored


def inside_the_figure(ax: Any) -> None:
    ax.figure.canvas.draw()  # where matplotlib would warn
    extent = ax.get_tightbbox(ax.figure.canvas.get_renderer())
    assert extent.x0 >= -1 and extent.x1 <= ax.figure.bbox.width + 1
    assert extent.y0 >= -1 and extent.y1 <= ax.figure.bbox.height + 1


def rows(ax: Any) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def drawn(ax: Any, label: str) -> Any:
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line


# ---- frequencies
def test_what_was_found_is_drawn_with_its_intervals():
    results = found()
    ax = results.plot(alpha=0.1)
    assert rows(ax) == list(results.index) and set(results.index) == set(NAMES)
    np.testing.assert_allclose(drawn(ax, "estimate").get_xdata(), results.params)
    bars = next(c for c in ax.collections if isinstance(c, LineCollection))
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, results.conf_int(0.1))
    assert "90% interval" in [text.get_text() for text in ax.get_legend().get_texts()]
    inside_the_figure(ax)
    assert results.plot(most=1).get_xlabel().endswith("not shown: 3 rarer ones that were found")


def test_missed_and_false_strings_are_told_apart():
    results = found()
    truth = pd.Series([0.5, 0.3, 0.15, 0.05], ["aaaaaa", *NAMES[:3]])  # one of four is not in it
    ax = results.plot(truth=truth)
    assert rows(ax) == ["aaaaaa  (missed)", *NAMES[:3], NAMES[3]]
    colours = [to_hex(label.get_color()) for label in ax.get_yticklabels()]
    assert colours[0] != colours[1] == colours[4]
    false = drawn(ax, "estimate of a string that nobody holds")
    assert false.get_ydata().tolist() == [0]
    np.testing.assert_allclose(drawn(ax, "true frequency").get_xdata(), [0.5, 0.3, 0.15, 0.05, 0.0])
    inside_the_figure(ax)
    ax = results.plot(truth=TRUTH, most=2)
    assert rows(ax) == NAMES[:2] and "not shown: 2 rarer ones" in ax.get_xlabel()
    assert not any("nobody" in str(line.get_label()) for line in ax.lines)


def test_the_truth_is_read_as_the_survey_reads_it():
    cut = {"abcadeab": 0.1, "abcadeba": 0.3, "eedabc": 0.3, "bad": 0.2, "deceba": 0.1}
    ax = found().plot(truth=cut)
    assert rows(ax)[0] == "abcade"
    np.testing.assert_allclose(drawn(ax, "true frequency").get_xdata(), [0.4, 0.3, 0.2, 0.1])


def test_nothing_found():
    results = found(400, 0.5)
    assert results.k == 0
    ax = results.plot()
    assert rows(ax) == [] and ax.texts[0].get_text() == "no string was found"
    assert rows(results.plot(truth=TRUTH))[0] == "abcade  (missed)"
    inside_the_figure(ax)
    inside_the_figure(results.plot_graph())


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"truth": [0.5, 0.5]}, "truth.*index are strings"),
        ({"truth": {"abc": "high"}}, "truth"),
        ({"truth": {"abc": np.nan}}, "truth.*frequencies"),
        ({"truth": {"abc": 0.7, "bcd": 0.7}}, "truth.*one in all"),
        ({"truth": {"XYZ": 0.5}}, "truth.*alphabet"),
        ({"most": 0}, "most"),
        ({"alpha": 2.0}, "alpha"),
        ({"ax": 1}, "ax="),
    ],
)
def test_refusals(change, match):
    with pytest.raises(InvalidArgument, match=match):
        found().plot(**change)


# ---- graph
def lines(ax: Any, grey: bool) -> list[LineCollection]:
    found = [c for c in ax.collections if isinstance(c, LineCollection)]
    return [c for c in found if (to_hex(c.get_edgecolor()[-1]) == GREY) == grey]


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_strings_are_paths_through_their_grams():
    results = found()
    ax = results.plot_graph()
    inside_the_figure(ax)
    (nodes,) = [c for c in ax.collections if isinstance(c, PathCollection)]
    at = {
        tuple(place): text for place, text in zip(nodes.get_offsets(), texts(ax)[4:], strict=True)
    }
    for string, path in zip(results.index, lines(ax, grey=False), strict=True):
        steps = path.get_segments()
        assert len(steps) == 3  # two edges, and the line to the name
        ends = [steps[0][0], steps[0][-1], steps[1][-1]]
        assert "".join(at[tuple(end)] for end in ends).rstrip("\u2423") == string
    assert [text.split()[0] for text in texts(ax)[:4]] == list(results.index)
    sizes = dict(zip(texts(ax)[4:], nodes.get_sizes(), strict=True))
    assert sizes["ce"] < sizes["da"] < sizes["ca"] < max(sizes.values()) + 1e-9  # .1, .3, .4
    assert max(sizes.values()) == pytest.approx(300.0)


def test_what_is_not_drawn_is_counted():
    results = found()
    ax = results.plot_graph(max_strings=1)
    (nodes,) = [c for c in ax.collections if isinstance(c, PathCollection)]
    (grey,) = lines(ax, grey=True)
    assert len(lines(ax, grey=False)) == 1 and "3 strings" in ax.get_xlabel()
    assert len(nodes.get_offsets()) <= 3 * (1 + 5) and len(grey.get_segments()) <= 120
    rest = results.n_edges - len(grey.get_segments())
    assert (f"{rest:,} edges" in ax.get_xlabel()) == (rest > 0)
    rest = len(results.grams) - len(nodes.get_offsets())
    assert f"{rest:,} grams" in ax.get_xlabel()


def test_many_positions_have_the_edges_of_neighbours_alone():
    results = found(gram=1, alphabet="abcde$")
    assert len(results.grams["start"].unique()) == 6 and results.k
    ax = results.plot_graph()
    inside_the_figure(ax)
    for segment in lines(ax, grey=True)[0].get_segments():
        assert segment[-1, 0] - segment[0, 0] == 1.0
    assert not any(text in ("$", "$$") for text in texts(ax))  # no mathematics
