"""Frequencies over waves: their axis of time, bands, the smooth line, and changes in time."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import chi2_contingency, multivariate_normal, norm

import ldpstats as ldp

ANSWERS = ldp.Observed(("no", "yes", "dont know"))
TABLE = np.array([[60, 30, 10], [55, 35, 30], [100, 80, 20], [30, 45, 15]])
YEARS = (2014, 2015, 2017, 2021)


def trend_of(mechanism, table, years=YEARS, method="inversion"):
    groups = dict(zip(years, map(mechanism.counts, table), strict=True))
    return ldp.TrendResults.of(ldp.GroupedModel(groups, by="year", name="late").fit(method))


@pytest.fixture
def noisy():
    """Six waves of uneven sizes and times, two categories."""
    table = [[310, 190], [120, 80], [400, 500], [300, 350], [90, 160], [330, 300]]
    return trend_of(ldp.KRR(("no", "yes"), 2.0), table, (1, 2, 4, 5, 9, 10))


def survey_of(waves, persons=120):
    """The same persons in waves with these labels; a third of the answers are missing."""
    rng, k = np.random.default_rng(8), ("no", "yes", "dont know")
    who = np.tile(np.arange(persons), len(waves))
    frame = pd.DataFrame(
        {
            "late": rng.choice(k, who.size),
            "wave": np.repeat(waves, persons),
            "who": who,
            "weight": 1.0 + who % 3,
        }
    )
    frame.loc[rng.random(who.size) < 0.33, "late"] = None
    return frame.assign(one=1), {"late": ldp.KRR(k, 2.0)}


# ---- the axis of time


def ordered(labels):
    return pd.Categorical(np.repeat(labels, 40), categories=labels, ordered=True)


@pytest.mark.parametrize(
    ("waves", "times", "unit"),
    [
        ([2019, 2020, 2024], [2019, 2020, 2024], "unit"),
        ([-1, 0, 4], [-1, 0, 4], "unit"),
        (["2019", "2024"], [2019, 2024], "unit"),
        (["2023-11", "2024-02"], [646, 649], "month"),
        ([202311, 202402], [646, 649], "month"),
        (["2023-Q4", "2024-Q1"], [645, 648], "month"),
        (["1970-01-02", "1970-02-01"], [1, 31], "day"),
        (np.array(["1970-01-02", "1970-01-02T12"], "M8[h]"), [1, 1.5], "day"),
    ],
)
def test_the_time_of_a_wave_is_read_from_its_label(waves, times, unit):
    frame = pd.DataFrame({"late": ["no", "yes"] * 20 * len(waves), "wave": np.repeat(waves, 40)})
    trend = ldp.Survey(frame, {"late": ldp.Warner(epsilon=2.0)}).trend("late", "wave")
    assert trend.times.tolist() == times
    assert trend.unit == unit


def test_ordered_categories_are_evenly_spaced_and_waves_without_answers_are_gaps():
    frame = pd.DataFrame(
        {"late": ["no", "yes"] * 100, "wave": ordered(["spring", "b", "c", "a", "d"])}
    )
    frame.loc[frame["wave"] == "c", "late"] = None
    with pytest.warns(ldp.LDPWarning, match="no report in the group wave='c'"):
        trend = ldp.Survey(frame, {"late": ldp.Warner(epsilon=2.0)}).trend("late", "wave")
    assert trend.unit == "wave"
    assert dict(zip(trend.groups, trend.times, strict=True)) == {
        "spring": 0,
        "b": 1,
        "a": 3,
        "d": 4,
    }


@pytest.mark.parametrize(
    ("waves", "problem"),
    [
        (["spring", "autumn"], "'autumn' and 'spring', whose place in time is not known"),
        (["10", "9"], "place in time is not known"),
        ([True, False], "place in time is not known"),
        (["2024-01", "2024-13"], "place in time is not known"),
        ([2024, 2024], "has one wave with answers, 2024: a trend needs two or more"),
        ([0.5, 1.0], "whole numbers"),
    ],
)
def test_waves_without_a_place_in_time_are_refused(waves, problem):
    frame = pd.DataFrame({"late": ["no", "yes"] * 40, "wave": np.repeat(waves, 40)})
    survey = ldp.Survey(frame, {"late": ldp.Warner(epsilon=2.0)})
    with pytest.raises(ldp.InvalidArgument, match=problem):
        survey.trend("late", "wave")


def test_bad_arguments_are_named(noisy):
    frame, sheet = survey_of((1, 2))
    survey = ldp.Survey(frame, sheet)
    counts = ldp.KRR(2, 1.0).counts([40, 60])
    named = ldp.GroupedModel({"b": counts, "a": counts}, by="wave").fit()
    for call, name in (
        (lambda: survey.trend("late", ["wave"]), "time"),
        (lambda: survey.trend("late", "wave", by="who"), "by"),
        (lambda: noisy.conf_int(simultaneous="yes"), "simultaneous"),
        (lambda: noisy.smooth(alpha=0), "alpha"),
        (lambda: noisy.plot(category="maybe"), "category"),
        (lambda: noisy.plot(most=0), "most"),
        (lambda: ldp.TrendResults.of(noisy.by_wave[4]), "waves"),
        (lambda: ldp.TrendResults.of(named, 5), "order"),
        (lambda: ldp.TrendResults.of(named, ["b"]), "order"),
        (lambda: ldp.TrendResults.of(named, ["a", "b"]), "order"),
    ):
        with pytest.raises(ldp.InvalidArgument, match=name):
            call()
    with pytest.raises(ldp.NotAvailable, match="2000 at most"):
        frame, sheet = survey_of(range(20))
        many = frame.assign(village=frame["who"].astype(str))
        ldp.Survey(many, sheet).trend("village", "wave")


def test_many_years_are_waves_without_a_warning():
    frame, sheet = survey_of(range(2000, 2025), 40)
    trend = ldp.Survey(frame, sheet).trend("late", "wave")
    assert trend.times.tolist() == list(range(2000, 2025))


# ---- wave by wave


def test_estimates_are_those_of_the_waves(noisy):
    waves = noisy.by_wave
    assert noisy.params.equals(waves.params)
    assert noisy.conf_int(0.1).equals(waves.conf_int(0.1))
    V = noisy.cov_params("linear").to_numpy()
    assert np.allclose(np.sqrt(np.diagonal(V)), noisy.linear_bse)
    assert (V[:2, 2:] == 0.0).all()  # waves are independent
    test = noisy.t_test("2:yes = 4:yes")
    two = noisy.linear_params.loc[[(2, "yes"), (4, "yes")]]
    assert float(test.effect[0]) == pytest.approx(two.iloc[0] - two.iloc[1])


def test_simultaneous_intervals_are_those_of_sidak_where_waves_are_independent(noisy):
    """Two categories of a wave err together: six statistics, not twelve."""
    each = 1.0 - 0.95 ** (1.0 / 6.0)
    found, sidak = noisy.conf_int(simultaneous=True), noisy.by_wave.conf_int(each)
    assert np.allclose(found, sidak, atol=2e-4)


def test_waves_of_the_same_reports_are_one_wave():
    frame, sheet = survey_of((1, 2, 3))
    frame["late"] = np.tile(frame["late"][:120], 3)
    trend = ldp.Survey(frame, sheet, weights="one", clusters="who").trend("late", "wave")
    # the largest of three statistics of one wave, which sum to zero
    each = trend.conf_int(simultaneous=True).to_numpy().reshape(3, 3, 2)
    assert np.allclose(each, each[0])
    assert (np.diff(each[0]) > np.diff(trend.conf_int().to_numpy()[:3])).all()
    assert np.allclose(trend.smooth()["estimate"], trend.linear_params)
    assert np.allclose(trend.smooth()["se"], trend.bse, rtol=1e-3)
    for test in (trend.test_trend, trend.test_change_point, trend.slopes, trend.change_points):
        with pytest.raises(ldp.NotAvailable, match="same reports of the same persons"):
            test()
    assert "No jump: all waves have the same reports" in str(trend.summary())


# ---- changes in time


def test_slopes_have_any_unit_of_time():
    krr = ldp.KRR(("no", "yes"), 2.0)
    waves = [krr.counts([500 - 30 * i, 500 + 30 * i]) for i in range(4)]
    days, seconds = (
        ldp.TrendResults.of(ldp.GroupedModel(dict(zip(at, waves, strict=True)), by="time").fit())
        for at in (range(4), range(1_700_000_000, 1_700_345_600, 86_400))
    )
    assert seconds.slopes()["pvalue"].tolist() == pytest.approx(days.slopes()["pvalue"].tolist())
    assert np.allclose(seconds.slopes()["se"] * 86_400, days.slopes()["se"])


def test_one_answer_without_noise_has_no_course():
    counts = ldp.Observed(("no", "yes")).counts([50, 0])
    with pytest.raises(ldp.NotAvailable, match="no variance"):
        ldp.TrendResults.of(ldp.GroupedModel({1: counts, 2: counts}, by="time").fit())


def test_without_noise_no_change_is_pearsons_test_of_homogeneity():
    test = trend_of(ANSWERS, TABLE).test_no_change()
    assert test.statistic == pytest.approx(chi2_contingency(TABLE).statistic)
    assert test.null == "all 4 waves have the same distribution"


def test_slopes_are_those_of_weighted_least_squares():
    trend, n = trend_of(ANSWERS, TABLE), TABLE.sum(axis=1)
    p = TABLE / n[:, None]
    X = sm.add_constant(np.array(YEARS) - 2014.0)
    V = p * (1 - p) / n[:, None]
    slopes = trend.slopes()
    for j, category in enumerate(ANSWERS.labels()):
        fit = sm.WLS(p[:, j], X, weights=n).fit()
        row = np.linalg.solve(X.T @ (X * n[:, None]), X.T * n)[1]
        assert slopes.loc[category, "estimate"] == pytest.approx(fit.params[1])
        assert slopes.loc[category, "se"] == pytest.approx(np.sqrt(row**2 @ V[:, j]))
    assert slopes["pvalue"].to_numpy() == pytest.approx(
        2 * norm.sf(np.abs(slopes["estimate"] / slopes["se"]))
    )
    two = trend_of(ldp.Observed(("no", "yes")), TABLE[:, :2])
    assert two.test_trend().pvalue == pytest.approx(two.slopes()["pvalue"].iloc[0])


def test_change_points_compare_pooled_waves_and_know_how_they_overlap():
    trend = trend_of(ldp.Observed(("no", "yes")), TABLE[:3, :2], YEARS[:3])
    n, yes = TABLE[:3, :2].sum(axis=1), TABLE[:3, 1]
    p = yes / n
    v = p * (1 - p) / n
    rows = np.array([[-1, n[1] / (n[1] + n[2]), n[2] / (n[1] + n[2])],
                     [-n[0] / (n[0] + n[1]), -n[1] / (n[0] + n[1]), 1]])  # fmt: skip
    d, V = rows @ p, rows @ np.diag(v) @ rows.T
    found = trend.change_points().xs("yes", level="late")
    assert found["before"].tolist() == pytest.approx([p[0], yes[:2].sum() / n[:2].sum()])
    assert found["after"].tolist() == pytest.approx([yes[1:].sum() / n[1:].sum(), p[2]])
    assert found["se"].to_numpy() == pytest.approx(np.sqrt(np.diagonal(V)))
    z = np.abs(d / np.sqrt(np.diagonal(V))).max()
    r = V[0, 1] / np.sqrt(V[0, 0] * V[1, 1])
    law = multivariate_normal(cov=[[1, r], [r, 1]])
    test = trend.test_change_point()
    assert test.statistic == pytest.approx(z)
    p_value = 1 - law.cdf([z, z], lower_limit=[-z, -z])
    assert test.pvalue == pytest.approx(p_value, rel=0.02)
    width = (found["upper"] - found["difference"]) / found["se"]
    c = width.iloc[0]
    assert width.to_numpy() == pytest.approx([c, c])
    assert 1 - law.cdf([c, c], lower_limit=[-c, -c]) == pytest.approx(0.05, abs=1e-3)


def test_a_jump_is_found_where_it_is():
    table = [[800, 200], [790, 210], [805, 195], [600, 400], [590, 410]]
    trend = trend_of(ldp.KRR(("no", "yes"), 2.0), table, range(1, 6))
    test, frame = trend.test_change_point(), trend.change_points()
    assert test.pvalue < 1e-6
    assert "the largest is of yes from 4 on" in test.note
    assert frame.index[frame["in_set"]].tolist() == [(4, "no"), (4, "yes")]
    row = frame.loc[(4, "yes")]
    assert row["lower"] > 0.15
    assert row["difference"] == pytest.approx(row["after"] - row["before"])


def test_p_values_of_the_largest_statistic_are_of_any_size():
    """Far out they are a sum over independent statistics; the law of one is that of t."""
    from ldpstats.inference.tails import largest_critical, largest_pvalue

    x = np.array([2.0, 5.0, 9.0])
    assert largest_pvalue(x, np.eye(7)) == pytest.approx(
        -np.expm1(7 * np.log1p(-2 * norm.sf(x))), rel=0.02
    )
    assert largest_pvalue(x, np.ones((7, 7))) == pytest.approx(2 * norm.sf(x), rel=0.01)
    assert largest_critical(0.05, np.ones((3, 3)), 10.0) == pytest.approx(2.228, abs=0.02)


# ---- the smooth line


def kalman(y, v, times, tau):
    """The smoothed state and the diffuse log-likelihood of statsmodels."""
    model = sm.tsa.statespace.MLEModel(y, k_states=1, k_posdef=1, initialization="diffuse")
    model.ssm.initialize_diffuse()
    model["design"] = np.ones((1, 1, 1))
    model["selection"], model["transition"] = np.ones((1, 1)), np.ones((1, 1))
    model["obs_cov"] = v[None, None]
    steps = np.append(np.diff(times), 1.0)
    model["state_cov"] = (tau**2 * steps)[None, None]
    return model.ssm.smooth()


def test_the_smooth_line_is_that_of_the_kalman_smoother(noisy):
    """With the variance of its steps that has the largest diffuse likelihood."""
    from scipy.optimize import minimize_scalar

    yes = noisy.linear_params.to_numpy()[1::2], noisy.linear_bse.to_numpy()[1::2] ** 2
    best = minimize_scalar(
        lambda tau: -kalman(*yes, noisy.times, tau).llf, bounds=(1e-3, 1.0), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    direct = kalman(*yes, noisy.times, best.x)
    found = noisy.smooth().xs("yes", level="late")
    assert found["estimate"].to_numpy() == pytest.approx(direct.smoothed_state[0], abs=1e-6)
    # the band allows for the error of that variance
    own = np.sqrt(direct.smoothed_state_cov[0, 0])
    assert (found["se"] > own).all()
    assert (found["se"] < 1.6 * own).all()


def test_smooth_frequencies_sum_to_one_and_stay_between_the_waves(noisy):
    table = [[310, 190, 80], [120, 80, 60], [400, 500, 200], [300, 350, 90]]
    trend = trend_of(ldp.KRR(("a", "b", "c"), 2.0), table)
    smooth = trend.smooth()["estimate"].to_numpy().reshape(4, 3)
    assert smooth.sum(axis=1) == pytest.approx(np.ones(4))
    raw = trend.linear_params.to_numpy().reshape(4, 3)
    assert (np.ptp(smooth, axis=0) <= np.ptp(raw, axis=0)).all()
    assert (trend.smooth()["se"] < trend.linear_bse).all()


def test_waves_that_do_not_differ_more_than_by_noise_are_smoothed_to_one_line():
    trend = trend_of(ldp.KRR(("no", "yes"), 1.0), [[520, 480], [522, 478], [521, 479], [523, 477]])
    smooth = trend.smooth().xs("yes", level="late")
    assert np.ptp(smooth["estimate"]) < 1e-6
    assert "standard deviation of 0 percentage points" in " ".join(str(trend.summary()).split())


# ---- designs, engines, storage, presentation


def test_persons_in_several_waves_go_together_and_engines_say_the_same(tmp_path):
    frame, sheet = survey_of((2001, 2002, 2004))
    path = tmp_path / "waves.parquet"
    frame.to_parquet(path)
    for design in ({}, {"weights": "weight", "clusters": "who"}):
        here, there = (
            ldp.Survey(d, sheet, **design).trend("late", "wave") for d in (frame, str(path))
        )
        assert str(here.summary()) == str(there.summary())
        assert ("waves are taken to be of different persons" in str(here.summary())) == (not design)
    waves = here.by_wave
    assert here.cov_params().equals(waves.cov_params())
    V = here.linear_cov.to_numpy()
    assert (V[:3, 3:6] != 0.0).any()
    assert here.test_no_change().pvalue == waves.test_equal().pvalue
    assert here.test_trend().df == (2.0, 118.0)
    found, t = here.slopes(), 1.980
    half = (found["upper"] - found["lower"]) / 2 / found["se"]
    assert half.to_numpy() == pytest.approx([t] * 3, abs=1e-3)


@pytest.mark.parametrize("design", [{}, {"weights": "weight", "clusters": "who"}])
def test_trends_round_trip(design):
    frame, sheet = survey_of(("2023-11", "2023-12", "2024-03"))
    trend = ldp.Survey(frame, sheet, **design).trend("late", "wave")
    again = ldp.TrendResults.from_json(trend.to_json())
    assert str(again.summary()) == str(trend.summary())
    assert again.to_json() == trend.to_json()
    assert again.to_frame().equals(trend.to_frame())
    document = trend.to_dict() | {"times": [3.0, 2.0, 1.0]}
    with pytest.raises(ldp.InvalidArgument, match="times"):
        ldp.TrendResults.from_dict(document)


def test_a_wave_in_one_sampling_unit_is_refused_by_name():
    frame, sheet = survey_of((1, 2))
    frame["school"] = np.where(frame["wave"] == 2, 0, frame["who"] // 10)
    survey = ldp.Survey(frame, sheet, weights="one", clusters="school")
    with (
        pytest.warns(ldp.LDPWarning, match="one sampling unit"),
        pytest.raises(ldp.NotAvailable, match="a trend with wave=2"),
    ):
        survey.trend("late", "wave")


def test_the_summary_shows_the_largest_categories_of_all_waves():
    table = np.tile([5, 40, 20, 35], (12, 1))
    trend = trend_of(ldp.Observed(tuple("abcd")), table, range(12))
    text = str(trend.summary(max_rows=24))
    assert "Shown: the 2 largest of 4 categories." in text
    assert text.count("(n = 100)") == 12
    assert "  b " in text and "  d " in text and "  a " not in text


def test_a_plot_has_points_with_intervals_on_an_axis_of_dates(noisy):
    frame, sheet = survey_of(("2023-11", "2023-12", "2024-03"))
    trend = ldp.Survey(frame, sheet).trend("late", "wave")
    ax = trend.plot()
    assert ax.get_title() == f"late, n = {trend.nobs}"
    points = [line for line in ax.lines if line.get_marker() == "o"]
    assert [line.get_label() for line in points] == ["no", "yes", "dont know"]
    assert np.allclose(
        [line.get_ydata() for line in points], trend.params.to_numpy().reshape(3, 3).T
    )
    first = ax.xaxis.get_converter().convert(np.datetime64("2023-11-01"), None, None)
    assert points[1].get_xdata().astype("M8[D]")[0] == np.datetime64("2023-11-01")
    assert ax.get_xlim()[0] < first < ax.get_xlim()[1]
    lines = [line for line in ax.lines if line not in points]
    assert len(lines[0].get_xdata()) == 5  # with January and February, which have no wave
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["95% interval", "all at once", "no", "smooth", "yes", "dont know"]
    assert [line.get_label() for line in noisy.plot().lines] == ["yes", "smooth"]
    assert len(noisy.plot(["no", "yes"]).lines) == 4
