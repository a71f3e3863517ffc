"""Results of frequencies and parameters, and what is refused."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from models.parameters.designs import ANSWERS, cheating, protective, warner

import ldpstats as ldp
from ldpstats import planning, privacy
from ldpstats.devices import flip, truth, unknown

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


A, B = cheating(0.25), cheating(0.6)
PAIR = [A.counts([420, 180]), B.counts([280, 320])]


@pytest.mark.parametrize(
    "how",
    [
        {"method": "em"},
        {"method": "inversion"},
        {"method": 3},
        {"constraints": lambda p: [p[0] == 0.3]},
        {"cov_type": "fpe16"},
    ],
)
def test_only_maximum_likelihood(how: dict[str, Any]) -> None:
    with pytest.raises(ldp.NotAvailable, match=r"unknown cheating.*maximum likelihood"):
        ldp.FrequencyModel(PAIR).fit(**how)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ldp.FrequencyModel(PAIR).likelihood(),
        lambda: ldp.FrequencyModel(PAIR).moments(),
        lambda: ldp.FrequencyModel(PAIR).problems,
        lambda: ldp.FrequencyModel(PAIR).test_distribution([0.5, 0.5]),
        lambda: ldp.GroupedModel({"a": PAIR[0], "b": PAIR[0]}).fit(),
        lambda: ldp.two_sample_test(PAIR[0], PAIR[0]),
        lambda: ldp.homogeneity_test(PAIR),
        lambda: ldp.AssociationModel(_reports(), _reports()).fit(),
        lambda: ldp.change(_reports(), _reports()),
        lambda: ldp.associations({"a": _reports(), "b": _reports()}),
        lambda: _survey().association("ill", "sick"),
        lambda: _survey().frequencies("ill", by="region"),
        lambda: planning.expected_loss(A, [0.8, 0.2], 100),
        lambda: planning.compare([A], [0.8, 0.2], 100),
        lambda: privacy.epsilon(A),
        lambda: privacy.dominates(A, B),
        lambda: A.channel(),
        lambda: A.privatize(["no"], np.random.default_rng(1)),
        lambda: A.draw([0.5, 0.5], 10, np.random.default_rng(1)),
        lambda: A.client(),
        lambda: A.collector(),
        lambda: A.audit(),
    ],
)
def test_other_models_say_what_is_unknown_and_what_to_do(ask: Any) -> None:
    with pytest.raises((ldp.NotAvailable, ldp.InvalidArgument), match=r"unknown|cheating") as error:
        ask()
    remedies = ("at(", "one group at a time", "survey.regression(")
    assert any(remedy in str(error.value) for remedy in remedies)


def _reports() -> ldp.Reports:
    return A.simulate(["no", "yes"] * 10, np.random.default_rng(1), cheating=0.1)


def _survey() -> ldp.Survey:
    table = pd.DataFrame({"ill": ["no", "yes"] * 10, "sick": ["no"] * 20, "age": range(20)})
    table["region"] = ["n", "s"] * 10
    return ldp.Survey(table, {"ill": A, "sick": ldp.Warner(epsilon=1.0)})


def test_one_group_of_a_survey_is_not_identified() -> None:
    with pytest.raises(ldp.NotIdentified, match="cheating"):
        _survey().frequencies("ill")


def test_bits_and_cohorts_cannot_join() -> None:
    unary = ldp.KRAPPOR(ANSWERS, 1.0)
    bits = unary.privatize(["no", "yes"] * 10, np.random.default_rng(1))
    with pytest.raises(ldp.NotAvailable, match="bits or cohorts"):
        ldp.FrequencyModel([*PAIR, bits]).fit()


def test_other_categories_are_refused() -> None:
    with pytest.raises(ldp.MechanismMismatch, match="same labels"):
        ldp.FrequencyModel([PAIR[0], protective(1, 1, 1).counts([3, 2, 1])])


def test_a_report_that_nobody_can_make_is_refused() -> None:
    device = flip(unknown("c")).when({"heads": "no", "tails": truth})
    mech = device.mechanism(ANSWERS, outputs=("no", "yes", "never"))
    groups = [mech.counts([30, 20, 1]), warner(0.8).counts([20, 20])]
    with pytest.raises(ldp.InvalidArgument, match=r"never.*can make"):
        ldp.FrequencyModel(groups).fit()


def test_candidates_are_refused() -> None:
    with pytest.raises(ldp.NotAvailable, match="candidates"):
        ldp.FrequencyModel(PAIR, candidates=["a"])


@pytest.mark.parametrize("n", [1, 2, 10**9])
def test_very_small_and_very_large_surveys(n: int) -> None:
    groups = [A.counts([n, n]), B.counts([n, 2 * n])]
    found = ldp.FrequencyModel(groups).fit()
    ends = found.conf_int()
    assert ((ends["lower"] <= found.params + 1e-6) & (found.params <= ends["upper"] + 1e-6)).all()
    assert ends.to_numpy().min() >= 0.0 and ends.to_numpy().max() <= 1.0
