"""What results of frequencies and parameters say, and how they are stored."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import pytest
from models.parameters.designs import cheating, protective

import ldpstats as ldp

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def results() -> ldp.ParametersResults:
    groups = [cheating(0.25).counts([420, 180]), cheating(0.6).counts([280, 320])]
    found: ldp.ParametersResults = ldp.FrequencyModel(groups, name="drugs").fit()
    return found


def test_categories_come_first_then_parameters(results: ldp.ParametersResults) -> None:
    assert results.params.index.tolist() == ["no", "yes", "cheating"]
    both = [*results.frequencies, *results.parameters]
    assert both == results.params.tolist() and results.parameters.index.tolist() == ["cheating"]
    assert results.frequencies.sum() == pytest.approx(1.0)
    assert results.nobs == 1200 and results.name == "drugs"


def test_tests_of_hypotheses_know_both(results: ldp.ParametersResults) -> None:
    test = results.t_test("cheating = 0.1")
    z = (results.params["cheating"] - 0.1) / results.bse["cheating"]
    assert float(np.ravel(test.statistic)[0]) == pytest.approx(z, rel=1e-9)
    assert results.wald_test("cheating = 0.1, yes = 0.1").df == 2
    assert results.wald_test("yes + no = 1, cheating = 0.1").df == 1
    with pytest.raises(ldp.InvalidArgument, match="hypothesis"):
        results.wald_test("cheatin = 0.1")


def test_wald_intervals_by_name(results: ldp.ParametersResults) -> None:
    ends = results.conf_int(method="wald").loc["cheating"]
    half = 1.959963984540054 * results.bse["cheating"]
    assert ends.tolist() == pytest.approx([0.2 - half, 0.2 + half], abs=1e-9)
    narrow, wide = (results.conf_int(alpha=a).loc["cheating"] for a in (0.5, 0.01))
    assert wide["lower"] < narrow["lower"] < 0.2 < narrow["upper"] < wide["upper"]


def test_the_document_makes_the_same_results(results: ldp.ParametersResults) -> None:
    again = ldp.ParametersResults.from_json(results.to_json())
    assert str(again.summary(details=True)) == str(results.summary(details=True))
    pd.testing.assert_frame_equal(again.conf_int(0.1), results.conf_int(0.1))
    assert repr(again) == repr(results)
    damaged = results.to_dict() | {"groups": {"mechanisms": [], "counts": [[1]], "missing": [0]}}
    with pytest.raises(ldp.InvalidArgument):
        ldp.ParametersResults.from_dict(damaged)


def test_tables_and_figures(results: ldp.ParametersResults) -> None:
    frame = results.to_frame()
    assert frame["term"].tolist() == ["no", "yes", "cheating"]
    assert results.glance()["n_parameters"].tolist() == [1]
    text = str(results.summary())
    assert "cheating" in text and "profile likelihood" in text and "Goodness" not in text
    axes = results.plot(truth=[0.85, 0.15, 0.2])
    assert "cheating" in [label.get_text() for label in axes.get_yticklabels()]
    matplotlib.pyplot.close("all")


def test_missing_answers_are_counted() -> None:
    device = cheating(0.25)
    rng = np.random.default_rng(5)
    values = pd.Series(["no"] * 70 + ["yes"] * 28 + [None] * 2, dtype=object)
    reports = device.simulate(values, rng, missing="count", cheating=0.1)
    assert len(reports) == 98 and reports.n_missing == 2
    groups = [reports, cheating(0.6).counts([30, 60])]
    assert ldp.FrequencyModel(groups).fit().n_missing == 2


def test_intervals_of_three_answers_are_profiles() -> None:
    first, second = protective(1, 1, 1), protective(1, 3, 2)
    groups = [first.counts([500, 180, 120]), second.counts([330, 290, 180])]
    found = ldp.FrequencyModel(groups).fit()
    wald, profile = found.conf_int(method="wald"), found.conf_int()
    assert 0.0 < (wald - profile).abs().to_numpy().max() < 0.02
