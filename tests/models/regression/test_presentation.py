"""What summaries and plots of regressions show."""

import contextlib
import copy
import json
import pickle
import re
import warnings
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from models.regression import test_devices
from models.regression.examples import JOBS, N, answers, fitted, reports, table

import ldpstats as ldp
from ldpstats import InvalidArgument, LDPError, NotAvailable


def test_blocks_of_a_multinomial_logit():
    results = fitted("robust")
    lines = str(results.summary(alpha=0.1)).split("\n")
    heads = [line.strip() for line in lines if line.strip() in {f"{job}:" for job in JOBS}]
    assert heads == [f"{job}:" for job in JOBS[1:]]
    assert any("[0.05" in line for line in lines)
    assert any(line.startswith("Reference:") and "cook" in line for line in lines)
    assert str(results) == str(results.summary())
    few = str(results.summary(max_rows=4))
    assert "Shown: the first 4 of 9 coefficients." in few


@pytest.mark.parametrize("of", ["get_margeff", "predictions"])
def test_effects_and_predictions_are_laid_out_as_coefficients(of):
    found = getattr(fitted("multinomial"), of)(**({"by": "kids"} if of == "predictions" else {}))
    summary, first = found.summary(max_rows=3), str(found.index[0][0])
    first = f"kids = {first}" if of == "predictions" else first
    assert summary.as_frame().index[0] == f"{first}:" and summary.as_frame().shape[0] >= 4
    assert f"Shown: the first 3 of {len(found.index)} estimates." in summary.as_text()
    assert "Shown" not in found.summary().as_text()


def test_private_predictors():
    results = fitted("private")
    text = str(results.summary())
    assert re.search(r"use: KRR\(k=3,\s", text)
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


def test_information_that_is_kept():
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


def test_tables_of_data():
    results = fitted("robust")
    frame = results.to_frame()
    assert frame.columns.tolist()[-5:] == ["estimate", "std_error", "lower", "upper", "p_value"]
    np.testing.assert_allclose(frame["estimate"], results.params.to_numpy().T.ravel())
    np.testing.assert_allclose(frame["p_value"], results.pvalues.to_numpy().T.ravel())
    facts = results.glance().iloc[0]
    assert facts["nobs"] == len(table()) and facts["method"] == "mle" and facts["k"] == 4
    assert results.to_maketables().__maketables_depvar__ == "job"


def test_the_log_likelihood_is_given_the_reports_of_private_predictors():
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


def test_a_number_has_a_curve_of_average_predictions():
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


def test_levels_have_points_with_intervals():
    results = fitted("private")
    for name in ("city", "use"):
        ax = results.plot_effects(name, alpha=0.1)
        frame = results.predictions(by=name, kind="adjusted", alpha=0.1).frame
        np.testing.assert_allclose(lines_of(ax)["prediction"].get_ydata(), frame["mean"])
        assert [text.get_text() for text in ax.get_xticklabels()] == frame.index.tolist()
        ends = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
        np.testing.assert_allclose(ends, frame[["lower", "upper"]])


def test_categories_have_a_line_each():
    ax = fitted("multinomial").plot_effects("age", points=3)
    assert list(lines_of(ax)) == list(JOBS)
    assert sum(lines_of(ax)[job].get_ydata()[1] for job in JOBS) == pytest.approx(1.0)
    panels = fitted("ordered").plot_effects()
    assert [ax.get_xlabel() for ax in panels] == ["age", "kids"]


def test_an_infinite_end_is_an_arrow_to_the_edge():
    rows = {"a": (1.0, -np.inf, 2.0), "b": (2.0, 1.0, np.inf), "c": (0.0, -1.0, 1.0)}
    ends = pd.DataFrame.from_dict(rows, orient="index", columns=["params", "lower", "upper"])
    ax = ldp.plot_coefficients(ends)
    arrows = [(arrow.xy, arrow.xycoords[0], arrow.get_position()) for arrow in ax.texts]
    assert arrows == [((0, 2), "axes fraction", (1, 2)), ((1, 1), "axes fraction", (2, 1))]
    drawn = [segment[:, 0].tolist() for segment in ax.collections[0].get_segments()]
    assert drawn == [[1.0, 2.0], [1.0, 2.0], [-1.0, 1.0]]
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "95% interval"


def test_coefficients_with_naive_ones():
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
def test_bad_effects(how, words):
    with pytest.raises(InvalidArgument, match=words):
        fitted("logit").plot_effects(**how)


def test_bad_coefficients():
    results = fitted("arrays")
    for given, how, words in [
        ([], {}, "are none"),
        ([1.0], {}, "must be results of a regression"),
        ([pd.DataFrame({"b": [1.0]})], {}, "'params', 'lower' and 'upper'"),
        ([results], {"labels": ["a", "b"]}, "must be 1 name, one for each"),
        ([results], {"names": ["height"]}, "must be one of"),
        ([results], {"most": 0}, "most=0"),
    ]:
        with pytest.raises(InvalidArgument, match=words):
            ldp.plot_coefficients(given, **how)


@pytest.mark.parametrize(("dtype", "at"), [("uint8", "observed"), ("Int64", "mean")])
def test_a_curve_is_that_of_its_own_places(dtype, at):
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


def test_numbers_that_are_categories_have_points():
    people = pd.DataFrame({"age": np.arange(N) % 9 * 10})
    results = ldp.regression("ill ~ C(age)", people, {"ill": reports("ill")}).fit()
    ax = results.plot_effects("age")
    assert [text.get_text() for text in ax.get_xticklabels()] == [str(a * 10) for a in range(9)]


# Regressions, predictions and margins through JSON, pickle and copies.

N_STORAGE = 500

JOBS_STORAGE = ("nurse", "cook", "driver")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.uniform(18, 80, N_STORAGE).round(1),
            "city": rng.choice(["a", "b", "c"], N_STORAGE),
            "weight": rng.uniform(0.5, 2.0, N_STORAGE),
        }
    )


@pytest.fixture(scope="module")
def fits(people):
    rng = np.random.default_rng(2)
    ill = np.where(rng.random(N_STORAGE) < people["age"] / 100, "yes", "no")
    job = np.array(JOBS_STORAGE)[rng.integers(0, 3, N_STORAGE)]
    asked = {"ill": ldp.Warner(epsilon=2.0).privatize(ill, rng)}
    jobs = {"job": ldp.KRR(JOBS_STORAGE, epsilon=3.0).privatize(job, rng)}
    knots = [50.0]  # a variable of the caller
    X = pd.DataFrame({"const": 1.0, "age": people["age"] / 50})
    scores = {"job": {"nurse": 1.0, "cook": 2.5, "driver": 4.0}}
    devices = test_devices.survey(6)[0]
    aged = test_devices.survey(6)[1][["age"]]
    assert knots
    found = {
        "logit": ldp.regression("ill ~ center(age) + C(city, Sum)", people, asked).fit(),
        "array": ldp.PrivatizedLogit(asked["ill"], X, link="probit").fit(),
        "spline": ldp.regression(
            "ill ~ bs(age, knots=knots, degree=1) + np.sin(age)", people, asked
        ).fit(penalty="jeffreys"),
        "mnlogit": ldp.regression("job ~ standardize(age) * city", people, jobs).fit(),
        "ordered": ldp.regression("job ~ age", people, jobs, model="ordered").fit(),
        "ols": ldp.regression(
            "job ~ age + city", people, jobs, model="linear", scores=scores
        ).fit(),
        "device": ldp.regression("y ~ age", aged, {"y": devices}).fit(),
        "weighted": ldp.regression("ill ~ age", people, asked, weights="weight").fit(),
        "clusters": ldp.regression("ill ~ age", people, asked).fit(
            cov_type="cluster", cov_kwds={"groups": np.arange(N_STORAGE) % 20}
        ),
        "private": ldp.regression("ill ~ age + job", people, asked | jobs).fit(),
    }
    return found


KINDS = "logit array spline mnlogit ordered ols device weighted clusters private".split()


def new(kind: str) -> pd.DataFrame:
    ages = [20.25, 41.0, np.nan, 66.6]
    if kind == "array":
        return pd.DataFrame({"const": 1.0, "age": np.array(ages) / 50})
    return pd.DataFrame({"age": ages, "city": ["c", "a", "b", "b"]}, index=list("wxyz"))


def same(a: Any, b: Any) -> None:
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_is_what_was_written(fits, kind):
    fit = fits[kind]
    text = fit.to_json()
    read = type(fit).from_json(text)
    for name in ("params", "bse", "pvalues", "tvalues", "df_inference"):
        same(getattr(read, name), getattr(fit, name))
    pd.testing.assert_index_equal(read.index, fit.index)
    same(read.cov_params(), fit.cov_params())
    same(read.conf_int(), fit.conf_int())
    assert list(read.cov_params().columns) == list(fit.cov_params().columns)
    pd.testing.assert_frame_equal(read.to_frame(), fit.to_frame())
    pd.testing.assert_frame_equal(read.glance(), fit.glance())
    for details in (False, True):
        assert str(read.summary(details=details)) == str(fit.summary(details=details))
    # other tables are predicted for to the last digit, missing values included
    same(read.predict(new(kind)), fit.predict(new(kind)))
    pd.testing.assert_frame_equal(read.get_prediction(new(kind)), fit.get_prediction(new(kind)))
    first = fit._names[0]
    assert read.t_test(f"`{first}` = 0").pvalue == fit.t_test(f"`{first}` = 0").pvalue
    # a document is text without a respondent, and gives itself again
    assert read.to_json() == text
    assert type(read).from_json(read.to_json()).to_json() == text
    assert len(text) < 40_000
    # and pickles and copies are the results themselves, with the respondents
    for made in (pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)):
        same(made.params, fit.params)
        same(made.predict(new(kind)), fit.predict(new(kind)))


@pytest.mark.parametrize("kind", ["logit", "mnlogit", "private", "ols"])
def test_predictions_and_margins_are_written_too(fits, kind):
    fit = fits[kind]
    for one in (fit.predictions(by="city") if kind != "private" else fit.predictions(by="job"),
                fit.predictions(), fit.slopes("age"),
                fit.comparisons(comparison="ratio")):  # fmt: skip
        text = one.to_json()
        read = type(one).from_json(text)
        pd.testing.assert_frame_equal(read.summary_frame(0.1), one.summary_frame(0.1))
        assert str(read.summary()) == str(one.summary()) and read.to_json() == text
        pd.testing.assert_frame_equal(read.glance(), one.glance())
        same(copy.deepcopy(one).summary_frame(), pickle.loads(pickle.dumps(one)).summary_frame())
    by = fit.predictions(by="job" if kind == "private" else "city")
    read = type(by).from_json(by.to_json())
    pd.testing.assert_frame_equal(read.differences(), by.differences())


@pytest.mark.parametrize("kind", ["logit", "device", "clusters"])
def test_what_needs_respondents_is_refused(fits, kind):
    read = type(fits[kind]).from_json(fits[kind].to_json())
    asked = [read.predict, read.predictions, read.get_margeff, read.get_prediction]
    if kind != "clusters":
        asked.append(lambda: read.conf_int(0.1))
        same(read.conf_int(0.1, "wald"), fits[kind].conf_int(0.1, "wald"))
    else:
        asked.append(lambda: read.wald_test("Intercept = age"))
    for ask in asked:
        with pytest.raises(NotAvailable, match="document"):
            ask()


def test_what_cannot_be_text_is_refused_with_a_remedy(people):
    reports = {
        "ill": ldp.Warner(epsilon=2.0).privatize(["yes", "no"] * (N_STORAGE // 2), seed_rng())
    }

    def young(age: Any) -> Any:
        return age < 30

    fit = ldp.regression("ill ~ young(age)", people, reports, unsafe=True).fit()
    with pytest.raises(NotAvailable, match="column of the table"):
        fit.to_json()
    days = people.assign(
        day=pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N_STORAGE) % 3, "D")
    )
    dated = ldp.regression("ill ~ C(day)", days, reports).fit()
    with pytest.raises(NotAvailable, match="cannot be written as text"):
        dated.to_json()


def seed_rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.mark.parametrize("kind", ["logit", "mnlogit", "device", "ols"])
def test_damaged_documents_are_refused(fits, kind):
    fit, rng = fits[kind], np.random.default_rng(3)
    document = fit.to_dict()

    def places(part: Any, path: tuple[Any, ...] = ()) -> Any:
        yield path
        pairs = part.items() if isinstance(part, dict) else enumerate(part)
        for key, value in pairs if isinstance(part, dict | list) else ():
            yield from (
                places(value, (*path, key)) if isinstance(value, dict | list) else [(*path, key)]
            )

    every = [path for path in places(document) if path]
    for i in rng.choice(len(every), 60, replace=False):
        damaged = json.loads(json.dumps(document))
        *path, last = every[i]
        part = damaged
        for key in path:
            part = part[key]
        part[last] = [None, "x", -3, {"a": 1}, [[2.0]]][i % 5]
        if damaged == json.loads(json.dumps(document)):
            continue
        with pytest.raises(InvalidArgument):
            type(fit).from_dict(damaged)
        damaged.pop("fingerprint", None)  # of whom who edits it can make another
        with contextlib.suppress(LDPError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            type(fit).from_dict(damaged)
    for text in ("", "{", "[]", json.dumps(fit.predictions(newdata=new(kind).dropna()).to_dict())):
        with pytest.raises(InvalidArgument):
            type(fit).from_json(text)


def test_a_document_runs_no_code(fits):
    document = fits["logit"].to_dict()
    for code in ("__import__('os').getcwd()", "age.__class__", "open('x')", "np.load('x')"):
        forged = json.loads(json.dumps(document).replace("center(age)", code.replace('"', "'")))
        forged.pop("fingerprint")
        with pytest.raises(LDPError):
            type(fits["logit"]).from_dict(forged)


def test_what_needs_respondents_says_so(fits):
    read = type(fits["logit"]).from_json(fits["logit"].to_json())
    assert read.converged is True and read.df_model == fits["logit"].df_model
    for name in ("score_test", "odds_ratios", "llr"):
        with pytest.raises(AttributeError, match=f"{name}: .* not in a document: fit the model"):
            getattr(read, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        read.nonsense  # noqa: B018
