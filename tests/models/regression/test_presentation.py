"""What summaries and plots of regressions show."""

from __future__ import annotations

import re
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from models.regression.examples import JOBS, N, answers, fitted, reports, table

import ldpstats as ldp
from ldpstats import InvalidArgument


def test_blocks_of_a_multinomial_logit() -> None:
    results = fitted("robust")
    lines = str(results.summary(alpha=0.1)).split("\n")
    heads = [line.strip() for line in lines if line.strip() in {f"{job}:" for job in JOBS}]
    assert heads == [f"{job}:" for job in JOBS[1:]]
    assert any("[0.05" in line for line in lines)
    assert any(line.startswith("Reference:") and "cook" in line for line in lines)
    few = str(results.summary(max_rows=4))
    assert "Shown: the first 4 of 9 coefficients." in few


@pytest.mark.parametrize("of", ["get_margeff", "predictions"])
def test_effects_and_predictions_are_laid_out_as_coefficients(of: str) -> None:
    found = getattr(fitted("multinomial"), of)(**({"by": "kids"} if of == "predictions" else {}))
    summary, first = found.summary(max_rows=3), str(found.index[0][0])
    assert summary.as_frame().index[0] == f"{first}:" and summary.as_frame().shape[0] >= 4
    assert f"Shown: the first 3 of {len(found.index)} estimates." in summary.as_text()
    assert "Shown" not in found.summary().as_text()


def test_private_predictors() -> None:
    results = fitted("private")
    text = str(results.summary())
    assert "use: KRR(k=3, epsilon=2)" in text
    assert "Epsilon, all answers:" in text
    assert "in marginal_params" in text
    assert results.glance()["epsilon"].tolist() == [4.0]
    corrected = " ".join(str(results.model.fit(method="corrected").summary()).split())
    assert "Log-likelihood" not in corrected
    assert "as corrected scores have no likelihood" in corrected


def kept_information(results: ldp.RegressionResults) -> float:
    """The share of the information that the summary says is left, to one percent."""
    text = " ".join(str(results.summary()).split())
    found = re.search(r"would \((\d+)% of them\)", text)
    return float(found[1]) / 100.0 if found else 1.0


def test_information_that_is_kept() -> None:
    # one coefficient: the ratio of the informations of a binomial share
    X = np.ones((len(table()), 1))
    results = ldp.PrivatizedLogit(reports("ill"), X).fit()
    p = float(results.predict().iloc[0])
    Q = reports("ill").mechanism.channel().matrix()
    q = p * Q[1, 1] + (1.0 - p) * Q[0, 1]
    expected = (Q[1, 1] - Q[0, 1]) ** 2 * p * (1.0 - p) / (q * (1.0 - q))
    assert kept_information(results) == pytest.approx(expected, abs=0.005)
    clear = ldp.Observed(("no", "yes")).parse("ill", answers()[1])
    assert kept_information(ldp.PrivatizedLogit(clear, X).fit()) == 1.0
    assert 0.2 < kept_information(fitted("private")) < kept_information(fitted("logit")) < 0.8


def test_tables_of_data() -> None:
    results = fitted("robust")
    frame = results.to_frame()
    assert frame.columns.tolist()[-5:] == ["estimate", "std_error", "lower", "upper", "p_value"]
    np.testing.assert_allclose(frame["estimate"], results.params.to_numpy().T.ravel())
    np.testing.assert_allclose(frame["p_value"], results.pvalues.to_numpy().T.ravel())
    facts = results.glance().iloc[0]
    assert facts["nobs"] == len(table()) and facts["method"] == "mle" and facts["k"] == 4
    assert results.to_maketables().__maketables_depvar__ == "job"


def test_the_log_likelihood_is_given_the_reports_of_private_predictors() -> None:
    rng, n = np.random.default_rng(4), 2000
    ill = rng.choice(["no", "yes"], n, p=[0.6, 0.4])
    late = np.where(rng.random(n) < np.where(ill == "yes", 0.7, 0.2), "yes", "no")
    sheet = ldp.Questionnaire({name: ldp.KRR(("no", "yes"), 2.0) for name in ("late", "ill")})
    survey = ldp.Survey(sheet.privatize(pd.DataFrame({"late": late, "ill": ill}), rng), sheet)
    results = survey.regression("late ~ ill").fit()
    # the model is saturated: its joint law is any table of two by two
    both, alone = survey.association("late", "ill").llf, survey.frequencies("ill").llf
    assert results.llf == pytest.approx(both - alone, abs=1e-5)
    note = "Log-likelihood: of the response's reports, given public covariates and the reports of"
    assert note in " ".join(str(results.summary()).split())
    assert "Log-likelihood: of" not in str(fitted("arrays").summary())


matplotlib.use("agg")


def lines_of(ax: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in ax.lines}


def test_a_number_has_a_curve_of_average_predictions() -> None:
    results = fitted("logit")
    ax = results.plot_effects("age", points=5)
    x, y = lines_of(ax)["prediction"].get_data()
    assert x[0] == table().age.min() and x[-1] == table().age.max()
    np.testing.assert_allclose(y[0], results.predict(table().assign(age=x[0])).mean())
    assert ax.get_title() == "P(ill = yes), by age"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "95% interval",
        "prediction",
    ]


def test_levels_have_points_with_intervals() -> None:
    results = fitted("private")
    for name in ("city", "use"):
        ax = results.plot_effects(name, alpha=0.1)
        frame = results.predictions(by=name, kind="adjusted", alpha=0.1).frame
        np.testing.assert_allclose(lines_of(ax)["prediction"].get_ydata(), frame["mean"])
        assert [text.get_text() for text in ax.get_xticklabels()] == frame.index.tolist()
        ends = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
        np.testing.assert_allclose(ends, frame[["lower", "upper"]])


def test_categories_have_a_line_each() -> None:
    ax = fitted("multinomial").plot_effects("age", points=3)
    assert list(lines_of(ax)) == list(JOBS)
    assert sum(lines_of(ax)[job].get_ydata()[1] for job in JOBS) == pytest.approx(1.0)
    panels = fitted("ordered").plot_effects()
    assert [ax.get_xlabel() for ax in panels] == ["age", "kids"]


def test_coefficients_with_naive_ones() -> None:
    results = fitted("arrays")
    ax = results.plot_coefficients("naive")
    drawn = lines_of(ax)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == ["age", "kids"]
    np.testing.assert_allclose(drawn["corrected"].get_xdata(), results.params[names])
    naive = results.compare_naive()["naive"]
    np.testing.assert_allclose(drawn["naive"].get_xdata(), naive[names])
    ends = [segment[:, 0] for segment in ax.collections[0].get_segments()]
    np.testing.assert_allclose(ends, results.conf_int().loc[names])


BAD: list[tuple[dict[str, Any], str]] = [
    ({"name": "height"}, "is no covariate"),
    ({"at": "median"}, "at='median'"),
    ({"points": 1}, "points=1"),
    ({"alpha": 0.0}, r"alpha=0\.0"),
    ({"name": "age", "ax": "bar"}, "must be matplotlib Axes"),
]


@pytest.mark.parametrize(("how", "words"), BAD)
def test_bad_effects(how: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        fitted("logit").plot_effects(**how)


def test_bad_coefficients() -> None:
    results = fitted("arrays")
    for given, how, words in [
        ([], {}, "are none"),
        ([1.0], {}, "must be results of a regression"),
        ([pd.DataFrame({"b": [1.0]})], {}, "'params', 'lower' and 'upper'"),
        ([results], {"labels": ["a", "b"]}, "must be 1 names"),
        ([results], {"names": ["height"]}, "is no coefficient"),
        ([results], {"most": 0}, "most=0"),
    ]:
        with pytest.raises(InvalidArgument, match=words):
            ldp.plot_coefficients(given, **how)  # type: ignore[arg-type]


@pytest.mark.parametrize(("dtype", "at"), [("uint8", "observed"), ("Int64", "mean")])
def test_a_curve_is_that_of_its_own_places(dtype: str, at: str) -> None:
    rng = np.random.default_rng(8)
    people = pd.DataFrame({"age": rng.integers(18, 91, N), "pay": rng.normal(size=N)})
    mean = float(people["pay"].mean())
    asked = {"ill": reports("ill")}
    results = ldp.regression("ill ~ age + pay", people.astype({"age": dtype}), asked).fit()
    line = results.plot_effects("age", at=at).lines[-1]
    places, drawn = line.get_data()
    assert (places % 1 > 0).any()
    if at == "mean":
        found = results.get_prediction(pd.DataFrame({"age": places, "pay": mean}))["mean"]
    else:
        each = [pd.DataFrame({"age": x, "pay": people["pay"]}) for x in places]
        found = [results.get_prediction(one)["mean"].mean() for one in each]
    np.testing.assert_allclose(drawn, found, rtol=1e-10)


def test_numbers_that_are_categories_have_points() -> None:
    people = pd.DataFrame({"age": np.arange(N) % 9 * 10})
    results = ldp.regression("ill ~ C(age)", people, {"ill": reports("ill")}).fit()
    ax = results.plot_effects("age")
    assert [text.get_text() for text in ax.get_xticklabels()] == [str(a * 10) for a in range(9)]
