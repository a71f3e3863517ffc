"""Regressions, predictions and margins through JSON, pickle and copies."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from models.regression import test_devices

import ldpstats as ldp
from ldpstats import InvalidArgument, LDPError, NotAvailable

N = 500
JOBS = ("nurse", "cook", "driver")


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.uniform(18, 80, N).round(1),
            "city": rng.choice(["a", "b", "c"], N),
            "weight": rng.uniform(0.5, 2.0, N),
        }
    )


@pytest.fixture(scope="module")
def fits(people: pd.DataFrame) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    ill = np.where(rng.random(N) < people["age"] / 100, "yes", "no")
    job = np.array(JOBS)[rng.integers(0, 3, N)]
    asked = {"ill": ldp.Warner(epsilon=2.0).privatize(ill, rng)}
    jobs = {"job": ldp.KRR(JOBS, epsilon=3.0).privatize(job, rng)}
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
            cov_type="cluster", cov_kwds={"groups": np.arange(N) % 20}
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
def test_what_is_read_is_what_was_written(fits: dict[str, Any], kind: str) -> None:
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
def test_predictions_and_margins_are_written_too(fits: dict[str, Any], kind: str) -> None:
    fit = fits[kind]
    for one in (fit.predictions(by="city") if kind != "private" else fit.predictions(by="job"),
                fit.predictions(), fit.get_margeff()):  # fmt: skip
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
def test_what_needs_respondents_is_refused(fits: dict[str, Any], kind: str) -> None:
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


def test_what_cannot_be_text_is_refused_with_a_remedy(people: pd.DataFrame) -> None:
    reports = {"ill": ldp.Warner(epsilon=2.0).privatize(["yes", "no"] * (N // 2), seed_rng())}

    def young(age: Any) -> Any:
        return age < 30

    fit = ldp.regression("ill ~ young(age)", people, reports, unsafe=True).fit()
    with pytest.raises(NotAvailable, match="column of the table"):
        fit.to_json()
    days = people.assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N) % 3, "D"))
    dated = ldp.regression("ill ~ C(day)", days, reports).fit()
    with pytest.raises(NotAvailable, match="cannot be written as text"):
        dated.to_json()


def seed_rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.mark.parametrize("kind", ["logit", "mnlogit", "device", "ols"])
def test_damaged_documents_are_refused(fits: dict[str, Any], kind: str) -> None:
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
    for text in ("", "{", "[]", json.dumps(fit.predictions(exog=new(kind).dropna()).to_dict())):
        with pytest.raises(InvalidArgument):
            type(fit).from_json(text)


def test_a_document_runs_no_code(fits: dict[str, Any]) -> None:
    document = fits["logit"].to_dict()
    for code in ("__import__('os').getcwd()", "age.__class__", "open('x')", "np.load('x')"):
        forged = json.loads(json.dumps(document).replace("center(age)", code.replace('"', "'")))
        forged.pop("fingerprint")
        with pytest.raises(LDPError):
            type(fits["logit"]).from_dict(forged)


def test_what_needs_respondents_says_so(fits: dict[str, Any]) -> None:
    read = type(fits["logit"]).from_json(fits["logit"].to_json())
    assert read.converged is True and read.df_model == fits["logit"].df_model
    for name in ("score_test", "odds_ratios", "llr"):
        with pytest.raises(AttributeError, match=f"{name}: .* not in a document: fit the model"):
            getattr(read, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        read.nonsense  # noqa: B018
