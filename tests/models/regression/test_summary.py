"""What summaries of regressions say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from models.regression.examples import JOBS, answers, fitted, reports, table

import ldpstats as ldp
from ldpstats.models.regression.summary import kept_information


def test_logit() -> None:
    results = fitted("arrays")
    text = str(results.summary())
    assert text == str(results)
    for words in (
        "Logit regression of y",
        "Success:",
        "KRR(k=2, epsilon=2)",
        "observed information",
        f"{results.llf:,.2f}",
        f"{results.llnull:,.2f}",
        "Maxima met:",
        "P-values and 95% intervals: profiles of the penalised likelihood, which agree",
        "Without the channel the slopes would read: age",
    ):
        assert words in text
    row = next(line for line in text.split("\n") if line.startswith("age"))
    assert f"{results.params['age']:.4f}"[:5] in row
    assert "Goodness of fit" not in text
    assert "Goodness of fit (chi-square" in str(results.summary(details=True))
    assert "<table" in results._repr_html_()
    assert "\\begin{tabular}" in results.summary().as_latex()


def test_blocks_of_a_multinomial_logit() -> None:
    results = fitted("robust")
    lines = str(results.summary(alpha=0.1)).split("\n")
    heads = [line.strip() for line in lines if line.strip() in {f"{job}:" for job in JOBS}]
    assert heads == [f"{job}:" for job in JOBS[1:]]
    assert any("[0.05" in line for line in lines)
    assert any(line.startswith("Reference:") and "cook" in line for line in lines)
    few = str(results.summary(max_rows=4))
    assert "Shown: the first 4 of 9 coefficients." in few


def test_thresholds_have_no_test() -> None:
    text = str(fitted("ordered").summary())
    row = next(line for line in text.split("\n") if line.startswith("cook/driver"))
    assert len(row.split()) == 5
    assert "Thresholds: the first, and logarithms of the steps to the next." in text


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


def test_warnings_of_estimates_at_infinity() -> None:
    X = pd.DataFrame({"const": 1.0, "d": np.repeat([0.0, 1.0], 20)})
    y = ldp.Observed([0, 1]).parse("y", np.r_[[0, 1] * 10, np.ones(20, dtype=int)])
    model = ldp.PrivatizedLogit(y, X)
    with pytest.warns(ldp.ConvergenceWarning):
        text = str(model.fit().summary())
    assert "WARNING: the maximum is at infinity in" in text
    assert "fit(penalty='jeffreys') has a finite one" in " ".join(text.split())
    assert "WARNING" not in str(model.fit(penalty="jeffreys").summary())


def test_information_that_is_kept() -> None:
    # one coefficient: the ratio of the informations of a binomial share
    X = np.ones((len(table()), 1))
    results = ldp.PrivatizedLogit(reports("ill"), X).fit()
    p = float(results.predict().iloc[0])
    Q = reports("ill").mechanism.channel().matrix()
    q = p * Q[1, 1] + (1.0 - p) * Q[0, 1]
    expected = (Q[1, 1] - Q[0, 1]) ** 2 * p * (1.0 - p) / (q * (1.0 - q))
    assert kept_information(results) == pytest.approx(expected)
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


def test_reports_made_from_a_covariate_do_not_take_its_name() -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=800)})
    old = X["age"] + rng.normal(size=800) > 0  # a Series of the name "age"
    made = ldp.KRR((False, True), 2.0).privatize(old, rng)
    assert made.name == "age"
    for model, usual in ((ldp.PrivatizedLogit, "y"), (ldp.PrivatizedOLS, "answer")):
        other = X.rename(columns={"age": "years"})
        assert [model(made, one).endog_names for one in (X, other)] == [usual, "age"]
    assert "Logit regression of y " in str(ldp.PrivatizedLogit(made, X).fit().summary())
    assert ldp.PrivatizedLogit(made, X.assign(y=1.0)[["age", "y"]]).endog_names == "response"


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
