"""Summaries, plots and storage of personalised results."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from shared.region_visits import CASES, HOMES, PUMS, REGIONS, WORKS, K, R, fit, patterns

import ldpstats as ldp


@pytest.mark.parametrize("kind", PUMS)
@pytest.mark.parametrize("case", CASES)
def test_results_are_read_back(kind: str, case: str) -> None:
    results = fit(kind, case, n=4000)
    text = results.to_json()
    again = ldp.PersonalizedResults.from_json(text)
    assert again.to_json() == text and "NaN" not in text
    assert repr(again) == repr(results)
    pd.testing.assert_frame_equal(again.summary_frame(), results.summary_frame())
    pd.testing.assert_frame_equal(again.linear_cov, results.linear_cov)
    pd.testing.assert_frame_equal(again.cov_params(), results.cov_params())
    pd.testing.assert_frame_equal(again.background, results.background)
    pd.testing.assert_series_equal(again.case, results.case)
    pd.testing.assert_series_equal(again.loss_bound(), results.loss_bound())
    assert again.summary().as_html() == results.summary().as_html()


NOISE_ONLY = "allow for the noise of the reports only, not for an error of the background"


def test_summaries_say_what_is_assumed() -> None:
    summaries = {case: fit("urr", case, n=4000).summary() for case in CASES}
    texts = {case: summary.extra_txt for case, summary in summaries.items()}
    assert "The background is assumed to be exact." in texts["exact"]
    assert NOISE_ONLY not in texts["exact"] and "at worst" not in texts["exact"]
    for case in ("none", "mixed", "given"):
        assert NOISE_ONLY in texts[case]
        assert re.search(r"an error of the background: \d\.\d+ at worst", texts[case])
    assert "no background is given for home, work: these reports were discarded" in texts["none"]
    assert "no background is given for home: these reports were discarded" in texts["mixed"]
    assert "the background of work was used as given" in texts["mixed"]
    assert "the background of home, work was used as given" in texts["given"]
    assert "discarded" not in texts["given"]
    for text in map(str, summaries.values()):
        assert "Frequencies behind a personalised mechanism" in text
        lines = text.split("\n\n")[0].split("\n")[1:]
        assert len({len(line) for line in lines}) == 1


def odd_labels() -> ldp.PersonalizedResults:
    pum = ldp.PUM(ldp.URR(("<b>", "50%"), (), epsilon=1.0), ("a & b",))
    return ldp.PersonalizedModel(pum.common.counts([100, 200, 300]), pum).fit()


def test_summaries_in_other_forms() -> None:
    results = fit("urr", "given", n=4000)
    summary = results.summary(max_rows=2)
    assert "Shown: the 2 largest of 5 estimates." in summary.as_text()
    assert "school" not in summary.as_text().split("\n\n")[0]
    assert "<table" in summary.as_html() and r"\begin{tabular}" in summary.as_latex()
    assert "&lt;b&gt;" in odd_labels().summary().as_html()


def test_summary_frame_and_plot() -> None:
    results = fit("urap", "exact", n=4000)
    frame = results.summary_frame(alpha=0.1)
    assert frame.columns.tolist() == [
        "params",
        "bse",
        "linear",
        "linear_se",
        "lower",
        "upper",
        "presence_pvalue",
    ]
    pd.testing.assert_frame_equal(frame[["lower", "upper"]], results.conf_int(0.1))
    truth = R[:K] + R[K] * HOMES + R[K + 1] * WORKS
    ax = results.plot(truth=pd.Series(truth, index=REGIONS))
    assert "URAP" in ax.get_title() and len(ax.get_yticklabels()) == K


def test_a_background_as_a_series_is_matched_by_label() -> None:
    data, pum = patterns("urr", 1000), PUMS["urr"]
    shuffled = pd.Series(HOMES, index=REGIONS).sample(frac=1, random_state=1)
    first = ldp.PersonalizedModel(data, pum, {"home": shuffled}).fit()
    second = ldp.PersonalizedModel(data, pum, {"home": HOMES}).fit()
    pd.testing.assert_series_equal(first.params, second.params)
