"""Plots of effects and coefficients."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from models.regression.examples import JOBS, N, fitted, reports, table

import ldpstats as ldp
from ldpstats.errors import InvalidArgument
from ldpstats.models.regression.plots import plot_coefficients

matplotlib.use("agg")


def axes() -> Any:
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


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


def test_given_axes() -> None:
    ax = axes()
    assert fitted("arrays").plot_effects("kids", ax=ax, title="") is ax
    assert ax.get_title() == ""
    ax = axes()
    assert fitted("robust").plot_coefficients(ax=ax) is ax
    assert ax.get_yticklabels()[0].get_text() == "driver: age"
    with pytest.raises(InvalidArgument, match="pass name="):
        fitted("arrays").plot_effects(ax=ax)


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


def test_other_results() -> None:
    import statsmodels.api as sm

    t = table()
    X = t[["age"]].assign(const=1.0)
    ols = sm.OLS(t.kids, X).fit()
    frame = pd.DataFrame({"params": [0.1], "lower": [0.0], "upper": [0.3]}, index=["age"])
    scores = ldp.PrivatizedOLS(ldp.Observed([0, 1, 2, 3]).parse("kids", t.kids), X).fit()
    ax = plot_coefficients([ols, frame, scores], labels=["a", "b", "c"], names=["age"])
    drawn = lines_of(ax)
    assert drawn["a"].get_xdata() == pytest.approx(drawn["c"].get_xdata())
    assert drawn["b"].get_xdata().tolist() == [0.1]


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
            plot_coefficients(given, **how)  # type: ignore[arg-type]


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
