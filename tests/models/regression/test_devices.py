"""Regressions whose devices have unknown parameters."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import simulate
from scipy.special import expit, logit
from scipy.stats import beta

import ldpstats as ldp
from ldpstats import (
    ConvergenceWarning,
    InvalidArgument,
    LDPWarning,
    NotAvailable,
    NotIdentified,
)
from ldpstats.devices import cohorts, flip, truth, unknown
from ldpstats.priors import Beta, Normal

pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws


CHEATS = flip(unknown("cheating"))


def detection(q, categories=("no", "yes")):
    """Cheating detection: some say the first category whatever they are told."""
    forced = flip(q).when({"heads": categories[-1]}, otherwise=truth)
    return CHEATS.when({"heads": categories[0], "tails": forced}).mechanism(categories)


FIRST, SECOND = detection(0.25), detection(0.6)


def logistic(x):
    return 1.0 / (1.0 + np.exp(-x))


def survey(seed, n=1500, cheating=0.15, slope=0.8):
    """Two groups of reports on a logistic answer, and covariates."""
    rng = np.random.default_rng(seed)
    age = rng.integers(-2, 3, n).astype(float)
    ill = np.where(rng.random(n) < logistic(-0.5 + slope * age), "yes", "no")
    half = n // 2
    reports = [
        FIRST.simulate(ill[:half], rng, cheating=cheating),
        SECOND.simulate(ill[half:], rng, cheating=cheating),
    ]
    return reports, pd.DataFrame({"const": 1.0, "age": age})


def test_without_covariates_it_is_the_frequency_model():
    reports, X = survey(1)
    found = ldp.PrivatizedLogit(reports, X[["const"]]).fit()
    plain = ldp.FrequencyModel(reports).fit()
    share = logistic(found.params["const"])
    assert share == pytest.approx(plain.params["yes"], abs=1e-7)
    assert found.params["cheating"] == pytest.approx(plain.params["cheating"], abs=1e-7)
    assert found.llf == pytest.approx(plain.llf, abs=1e-7)
    assert found.bse["const"] * share * (1.0 - share) == pytest.approx(plain.bse["yes"], rel=1e-4)
    ends, other = found.conf_int(), plain.conf_int()
    np.testing.assert_allclose(ends.loc["cheating"], other.loc["cheating"], atol=1e-4)
    np.testing.assert_allclose(logistic(ends.loc["const"]), other.loc["yes"], atol=1e-4)


@pytest.mark.parametrize("kind", ["logit", "probit", "multinomial", "ordered"])
def test_scores_hessians_and_expected_information(kind):
    rng = np.random.default_rng(3)
    labels = ("a", "b", "c") if kind in ("multinomial", "ordered") else ("a", "b")
    devices = [detection(0.25, labels), detection(0.6, labels)]
    answers = rng.choice(labels, size=(2, 100))
    reports = {
        "y": [d.simulate(a, rng, cheating=0.2) for d, a in zip(devices, answers, strict=True)]
    }
    table = pd.DataFrame({"age": rng.integers(0, 4, 200)})
    found = ldp.regression("y ~ age", table, reports, model=kind).fit()
    likelihood, x = found.model.likelihood, found.theta.copy()
    x[-1] = 0.2
    step = 1e-6 * np.eye(x.size)
    value, score, hessian = likelihood.evaluate(x)
    assert value == pytest.approx(likelihood.value(x))
    numeric = [(likelihood.value(x + e) - likelihood.value(x - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(score, numeric, rtol=1e-5, atol=1e-5)
    bent = [(likelihood.evaluate(x + e)[1] - likelihood.evaluate(x - e)[1]) / 2e-6 for e in step]
    np.testing.assert_allclose(hessian, bent, rtol=1e-5, atol=1e-4)
    # the information is the mean of what squared scores are, over all reports of each row
    total = np.zeros(hessian.shape)
    for g, device in enumerate(devices):
        for y in range(len(device.outputs)):
            for i in np.flatnonzero(likelihood.group == g):
                column = np.array([y + g * len(labels)])
                some = likelihood.take([i], np.ones(1))
                seen = dataclasses.replace(some.seen, at=column)
                p, s, _ = dataclasses.replace(some, seen=seen).evaluate(x)
                total += likelihood.weights[i] * np.exp(p) * np.outer(s, s)
    several = np.array([x, x + 0.01])
    values, scores = likelihood.scores_at(several)
    np.testing.assert_allclose(values, [likelihood.value(one) for one in several])
    np.testing.assert_allclose(scores, [likelihood.evaluate(one)[1] for one in several], atol=1e-9)
    np.testing.assert_allclose(likelihood.expected(x), total, rtol=1e-8, atol=1e-8)


def test_intervals_end_where_the_profile_has_fallen():
    reports, X = survey(4)
    found = ldp.PrivatizedLogit(reports, X).fit()
    ends = found.conf_int()
    for name in found.index:  # models in which each has the value of a limit
        for value in ends.loc[name]:
            if name == "cheating":
                known = [ldp.Reports(one.y, one.mechanism.at(cheating=value)) for one in reports]
                model = ldp.PrivatizedLogit(known, X)
            else:
                offset = value * X[name]
                model = ldp.PrivatizedLogit(reports, X.drop(columns=name), offset=offset)
            assert found.llf - model.fit().llf == pytest.approx(1.9207, abs=2e-3)
    assert np.all(ends["lower"] < found.params) and np.all(found.params < ends["upper"])
    wald = found.conf_int(method="wald")
    np.testing.assert_allclose(ends, wald, atol=0.2)
    assert found.pvalues["age"] < 1e-6
    assert found.t_test("age = 0").pvalue < 1e-6
    np.testing.assert_allclose(found.information(), -found.hessian, rtol=0.3, atol=60.0)
    text = " ".join(str(found.summary()).split())
    assert "cheating" in text and "profiles of the likelihood" in text


def test_an_estimate_on_the_boundary():
    found = next(
        fit
        for seed in range(20)
        if (fit := ldp.PrivatizedLogit(*survey(seed, 400, cheating=0.0)).fit()).on_boundary
    )
    assert found.params["cheating"] == 0.0 and found.converged
    assert np.isnan(found.bse["cheating"]) and np.isfinite(found.bse["age"])
    lower, upper = found.conf_int().loc["cheating"]
    assert lower == 0.0 and 0.0 < upper < 0.5
    assert found.pvalues["cheating"] == 1.0
    assert "boundary" in str(found.summary())


def test_what_devices_leave_open_is_refused_by_name():
    reports, X = survey(5)
    one = reports[0]
    with pytest.raises(NotIdentified, match="const and cheating"):
        ldp.PrivatizedLogit(one, X.iloc[: len(one)][["const"]]).fit()
    # a covariate identifies them by the shape of the logit alone
    with pytest.warns(LDPWarning, match="only the shape of the regression"):
        ldp.PrivatizedLogit(one, X.iloc[: len(one)]).fit()
    # a third group that is asked directly determines everything
    direct = ldp.Observed(("no", "yes")).parse("ill", ["no", "yes"] * 50)
    more = pd.concat([X.iloc[: len(one)], X.iloc[:100]], ignore_index=True)
    found = ldp.PrivatizedLogit([one, direct], more[["const"]]).fit()
    assert list(found.index) == ["const", "cheating"]


def test_what_has_no_likelihood_with_unknown_parameters_is_refused():
    reports, X = survey(6, 200)
    model = ldp.PrivatizedLogit(reports, X)
    for asked in ({"method": "em"}, {"penalty": "jeffreys"}, {"start_params": [0.0, 0.0]}):
        with pytest.raises(NotAvailable, match=next(iter(asked))):
            model.fit(**asked)
    with pytest.raises(NotAvailable, match="weights"):
        ldp.PrivatizedLogit(reports, X, weights=np.ones(200)).fit_posterior(
            np.random.default_rng(1)
        )
    table = pd.DataFrame({"days": [0, 1] * 100, "age": X["age"]})
    with pytest.raises(NotAvailable, match=r"smokes.*cheating.*days is a number.*mechanism\.at"):
        ldp.regression("days ~ age + smokes", table, {"smokes": reports}, model="poisson")
    bits = ldp.KRAPPOR(("no", "yes"), epsilon=2.0).privatize(["no"] * 200, np.random.default_rng(1))
    with pytest.raises(NotAvailable, match="bits"):
        ldp.regression("late ~ smokes", table, {"late": bits, "smokes": reports}).fit()
    found = model.fit()
    for asked in ({"alpha": 2.0}, {"alpha": "x"}, {"method": "bootstrap"}):
        with pytest.raises(InvalidArgument):
            found.conf_int(**asked)
    with pytest.raises(NotAvailable, match="unknown cheating"):
        ldp.PrivatizedOLS(reports, X)


@pytest.mark.slow
def test_intervals_cover(replications):
    R = replications(200, 14)  # more are stored, by `unknown_regressions`
    truth_ = np.array([-0.5, 0.8, 0.15])

    def one(r):
        found = ldp.PrivatizedLogit(*survey([r, 3])).fit()
        # the control takes nobody to cheat
        honest = [
            ldp.Reports(one.y, one.mechanism.at(cheating=0), one.n_missing)
            for one in survey([r, 3])[0]
        ]
        naive = ldp.PrivatizedLogit(honest, survey([r, 3])[1]).fit().conf_int(method="wald")
        return {"profile": found.conf_int(), "naive": naive}

    said = simulate.repeat(R, one)
    assert simulate.near(simulate.coverage(said["profile"], truth_), 0.95, R)
    assert not simulate.near(simulate.coverage(said["naive"], truth_[:2]), 0.95, R)


@pytest.fixture(scope="module")
def fit():
    return ldp.PrivatizedLogit(*survey(6)).fit()


@pytest.fixture(scope="module")
def private():
    """A response by unknown devices, a private predictor, and the table."""
    rng = np.random.default_rng(3)
    n = 1200
    age = rng.integers(-2, 3, n).astype(float)
    smokes = np.where(rng.random(n) < expit(-0.5 + 0.3 * age), "yes", "no")
    ill = np.where(rng.random(n) < expit(-0.5 + 0.8 * age + (smokes == "yes")), "yes", "no")
    reports = [
        FIRST.simulate(ill[: n // 2], rng, cheating=0.1),
        SECOND.simulate(ill[n // 2 :], rng, cheating=0.1),
    ]
    asked = {"smokes": ldp.Warner(epsilon=2.0).privatize(smokes, rng), "ill": reports}
    return asked, pd.DataFrame({"age": age})


def test_true_answers_are_predicted_with_the_joint_covariance(fit):
    X = np.column_stack([np.ones(3), [-2.0, 0.0, 2.0]])
    p = expit(X @ fit.coefficients)
    np.testing.assert_allclose(fit.predict(X), p)
    V = fit.cov_params().to_numpy()[:2, :2]
    se = p * (1 - p) * np.sqrt(np.einsum("ij,jk,ik->i", X, V, X))
    np.testing.assert_allclose(fit.get_prediction(X)["se"], se)
    # who knows the parameter knows more
    known = [
        ldp.Reports(one.y, one.mechanism.at(cheating=fit.parameters["cheating"]))
        for one in fit.model.data.response
    ]
    given = ldp.PrivatizedLogit(known, survey(6)[1]).fit()
    np.testing.assert_allclose(fit.predict(X), given.predict(X), atol=1e-4)
    assert np.all(fit.get_prediction(X)["se"] > 1.02 * given.get_prediction(X)["se"])
    effect = fit.get_margeff().margeff
    np.testing.assert_allclose(effect, given.get_margeff().margeff, atol=1e-4)


def test_terms_are_tested_by_the_models_without_them(fit):
    reports, X = survey(6)
    without = ldp.PrivatizedLogit(reports, X[["const"]]).fit()
    test = fit.lr_test("age")
    assert test.statistic == pytest.approx(2.0 * (fit.llf - without.llf), abs=1e-6)
    assert fit.llnull == pytest.approx(without.llf, abs=1e-6)
    assert fit.term_tests().loc["age", "LR"] == pytest.approx(test.statistic)
    assert fit.score_test("age").statistic == pytest.approx(test.statistic, rel=0.3)
    assert fit.aic == pytest.approx(-2.0 * fit.llf + 6.0)
    # ten cells of one free report each, less three estimates
    assert fit.goodness_of_fit().df == 7.0 and fit.goodness_of_fit().pvalue > 0.001
    assert fit.compare_naive().loc["age", "ratio"] < 0.7
    assert fit.glance().loc[0, "nobs"] == 1500
    assert [text.get_text() for text in fit.plot_coefficients().get_yticklabels()] == [
        "age",
        "cheating",
    ]


def test_private_predictors_are_averaged_over(private):
    asked, table = private
    model = ldp.regression("ill ~ age + smokes", table, asked)
    found = model.fit()
    assert list(found.params.index) == ["Intercept", "smokes[T.yes]", "age", "cheating"]
    assert list(found.marginal_params.columns) == ["yes"]
    x = found.theta + 0.05
    joint = found.model.likelihood
    value, score, hessian = joint.evaluate(x)
    step = 1e-6 * np.eye(x.size)
    up, down = ([joint.evaluate(x + way * e) for e in step] for way in (1, -1))
    slopes = [(a[0] - b[0]) / 2e-6 for a, b in zip(up, down, strict=True)]
    bends = [(a[1] - b[1]) / 2e-6 for a, b in zip(up, down, strict=True)]
    np.testing.assert_allclose(score, slopes, atol=1e-4)
    np.testing.assert_allclose(hessian, bends, atol=1e-3)
    several = joint.scores_at(np.array([x, found.theta]))
    assert several[0][0] == pytest.approx(value)
    np.testing.assert_allclose(several[1][0], score, atol=1e-8)
    # the likelihood of the ordinary model, where the parameter is known
    known = [ldp.Reports(one.y, one.mechanism.at(cheating=0.25)) for one in asked["ill"]]
    plain = ldp.regression("ill ~ age + smokes", table, asked | {"ill": known})
    at = np.append(x[:-1], 0.25)
    assert joint.value(at) == pytest.approx(plain.likelihood.value(at[:-1]))
    assert 0.0 < found.predictions(by="smokes").frame["mean"].min() < 1.0
    assert "marginal_params" in str(found.summary())


# -- private predictors whose devices have unknown parameters --------------------------------------


SLOPES = {"Intercept": -0.8, "smokes[T.yes]": 1.2, "age": 0.4, "cheating": 0.15}


def asked_alike(seed, n=1200, cheating=0.15, late="known", labels=("no", "yes")):
    """A predictor that cheaters deny, in two groups, the answers that it predicts, and a table."""
    rng = np.random.default_rng(seed)
    age = rng.integers(-2, 3, n).astype(float)
    smokes = np.where(rng.random(n) < expit(0.2 + 0.4 * age), "yes", "no")
    ill = rng.random(n) < expit(-0.8 + 1.2 * (smokes == "yes") + 0.4 * age)
    ill = np.where(ill, labels[-1], labels[0])
    half, made = n // 2, {"cheating": cheating}
    smoking = [
        FIRST.simulate(smokes[:half], rng, **made),
        SECOND.simulate(smokes[half:], rng, **made),
    ]
    table = pd.DataFrame({"age": age})
    if late == "public":
        return {"smokes": smoking}, table.assign(ill=ill)
    if late == "known":
        return {"smokes": smoking, "ill": ldp.KRR(labels, 3.0).privatize(ill, rng)}, table
    cut = n // 3  # other groups than those of the predictor
    devices = detection(0.25, labels), detection(0.6, labels)
    said = (ill[:cut], ill[cut:])
    ill = [d.simulate(one, rng, **made) for d, one in zip(devices, said, strict=True)]
    return {"smokes": smoking, "ill": ill}, table


@pytest.mark.parametrize("late", ["known", "public", "shared"])
@pytest.mark.parametrize("kind", ["logit", "cloglog", "multinomial", "ordered"])
def test_derivatives_by_the_devices_of_predictors(late, kind):
    labels = ("a", "b", "c") if kind in ("multinomial", "ordered") else ("no", "yes")
    asked, table = asked_alike(3, 300, late=late, labels=labels)
    if len(labels) == 3 and late == "public":
        table["ill"] = np.resize(labels, 300)
    drinks = np.random.default_rng(4).choice(["no", "yes"], 300)
    asked["drinks"] = ldp.Warner(epsilon=2.0).privatize(drinks, np.random.default_rng(5))
    model = ldp.regression("ill ~ age + smokes + drinks", table, asked, model=kind)
    likelihood = model.likelihood
    x = 0.4 * np.random.default_rng(6).normal(size=likelihood.size)
    x[-1] = 0.2
    value, score, hessian = likelihood.evaluate(x)
    step = 1e-5 * np.eye(x.size)
    numeric = [(likelihood.value(x + e) - likelihood.value(x - e)) / 2e-5 for e in step]
    np.testing.assert_allclose(score, numeric, atol=1e-5)
    bent = [(likelihood.evaluate(x + e)[1] - likelihood.evaluate(x - e)[1]) / 2e-5 for e in step]
    np.testing.assert_allclose(hessian, bent, atol=1e-4)
    np.testing.assert_allclose(likelihood.weights @ likelihood.score_obs(x), score, atol=1e-9)
    values, scores = likelihood.scores_at(np.array([x, 0.9 * x]))
    assert values[0] == pytest.approx(value)
    np.testing.assert_allclose(scores[1], likelihood.evaluate(0.9 * x)[1], atol=1e-9)
    # where the parameter is known it is the likelihood of known devices
    known = {
        name: [ldp.Reports(g.y, g.mechanism.at(cheating=0.2)) for g in groups]
        if isinstance(groups, list)
        else groups
        for name, groups in asked.items()
    }
    plain = ldp.regression("ill ~ age + smokes + drinks", table, known, model=kind).likelihood
    assert value == pytest.approx(plain.value(x[:-1]))
    np.testing.assert_allclose(score[:-1], plain.evaluate(x[:-1])[1], atol=1e-8)


def test_the_likelihood_of_a_few_people_is_a_sum_over_their_answers():
    smokes, ill = np.array([0, 1, 1, 0, 1, 0]), np.array([1, 1, 0, 0, 0, 1])
    asked = {
        "smokes": [ldp.Reports(smokes[:3], FIRST), ldp.Reports(smokes[3:], SECOND)],
        "ill": [ldp.Reports(ill[:2], FIRST), ldp.Reports(ill[2:], SECOND)],
    }
    age = np.array([-1.0, 0.0, 1.0, 2.0, -2.0, 0.5])
    model = ldp.regression("ill ~ smokes + age", pd.DataFrame({"age": age}), asked)
    beta, gamma, u = [-0.5, 1.1, 0.3], [0.2, -0.4], 0.3
    total = 0.0
    for i in range(6):
        x_card, y_card = (FIRST if i < 3 else SECOND), (FIRST if i < 2 else SECOND)
        p = 0.0
        for x in (0, 1):
            has = expit(gamma[0] + gamma[1] * age[i])
            falls = expit(beta[0] + beta[1] * x + beta[2] * age[i])
            said = x_card.matrix_at(cheating=u)[x, smokes[i]]
            law = np.array([1.0 - falls, falls]) @ y_card.matrix_at(cheating=u)[:, ill[i]]
            p += (has if x else 1.0 - has) * said * law
        total += np.log(p)
    assert model.likelihood.value(np.array([*beta, *gamma, u])) == pytest.approx(total)


@pytest.mark.parametrize("late", ["known", "shared"])
def test_it_is_the_log_linear_model_of_the_answers(late):
    device = cohorts(
        {name: CHEATS.when({"heads": "no", "tails": flip(q).when({"heads": "yes"}, truth)})
         for name, q in (("A", 0.25), ("B", 0.6))},
        {"A": 0.5, "B": 0.5},
    ).mechanism(("no", "yes"))  # fmt: skip
    rng, n = np.random.default_rng(8), 3000
    smokes = rng.random(n) < 0.5
    yes = np.column_stack([smokes, rng.random(n) < expit(-0.8 + 1.2 * smokes)])
    people = pd.DataFrame(np.where(yes, "yes", "no"), columns=["smokes", "ill"]).assign(
        w=rng.uniform(0.5, 2.0, n), school=rng.integers(0, 60, n), part=rng.choice(["n", "s"], n)
    )
    made = {"smokes": device, "ill": device if late == "shared" else ldp.Warner(epsilon=3.0)}
    unknowns = {name: {"cheating": 0.15} for name in made if made[name] is device}
    sheet = ldp.Questionnaire(made)
    table = sheet.privatize(people, rng, parameters=unknowns)
    sampled = {"weights": "w", "strata": "part", "clusters": "school", "nested": True}
    for design in ({}, sampled):
        asked = ldp.Survey(table, sheet, **design)
        found = asked.regression("ill ~ smokes").fit()
        joint = asked.cells(["ill", "smokes"], ldp.cells.loglinear("ill*smokes")).fit()
        names = ["ill[yes]", "ill[yes]:smokes[yes]", "cheating"]
        for ours, theirs in ((found.params, joint.params), (found.bse, joint.bse)):
            np.testing.assert_allclose(ours, theirs[names], atol=1e-6)
        np.testing.assert_allclose(found.conf_int(), joint.conf_int().loc[names], atol=2e-3)
        assert found.cov_type == ("design" if design else "nonrobust")
        text = " ".join(str(found.summary()).split())
        assert ("scaled to the sandwich" in text) == bool(design)


def test_the_truth_is_predicted_by_predictors_of_unknown_devices():
    asked, table = asked_alike(9, 6000)
    model = ldp.regression("ill ~ smokes + age", table, asked)
    found = model.fit()
    assert list(found.index) == list(SLOPES)
    assert np.all(np.abs(found.params - pd.Series(SLOPES)) < 3.5 * found.bse)
    u = found.parameters["cheating"]
    known = {
        "ill": asked["ill"],
        "smokes": [ldp.Reports(g.y, g.mechanism.at(cheating=u)) for g in asked["smokes"]],
    }
    given = ldp.regression("ill ~ smokes + age", table, known).fit()
    np.testing.assert_allclose(found.coefficients, given.params, atol=1e-6)
    assert found.llf == pytest.approx(given.llf, abs=1e-6)
    assert np.all(found.bse[:2] > 1.02 * given.bse[:2])  # who knows the parameter knows more
    mean, other = (one.predictions(by="smokes").frame for one in (found, given))
    np.testing.assert_allclose(mean["mean"], other["mean"], atol=1e-6)
    assert np.all(mean["se"] > other["se"])
    np.testing.assert_allclose(found.get_margeff().margeff, given.get_margeff().margeff, atol=1e-6)
    assert found.goodness_of_fit().pvalue > 0.001
    again = type(found).from_json(found.to_json())
    assert str(again.summary()) == str(found.summary())
    rows = pd.DataFrame({"age": [0.0, 1.0], "smokes": ["no", "yes"]})
    np.testing.assert_array_equal(again.predict(rows), found.predict(rows))
    HC0 = model.fit("mle", cov_type="HC0")
    own = {"groups": np.arange(6000), "use_correction": False}
    np.testing.assert_allclose(HC0.bse, model.fit(cov_type="cluster", cov_kwds=own).bse)
    np.testing.assert_allclose(HC0.bse, found.bse, rtol=0.1)
    reduced = model.fit(cov_type="cluster", cov_kwds={"groups": np.arange(6000) % 40})
    assert np.all((reduced.df_inference > 20.0) & (reduced.df_inference < 40.0))
    width = np.diff(reduced.conf_int()).ravel()
    np.testing.assert_allclose(width, np.diff(reduced.conf_int(method="wald")).ravel(), rtol=0.1)


def test_robust_intervals_of_what_is_on_a_bound():
    model = ldp.regression("ill ~ smokes", *asked_alike(4, 500, 0.0)[::-1])
    plain = model.fit()
    assert plain.on_boundary
    for how in ({"cov_type": "HC0"}, {"cov_type": "cluster",
                                      "cov_kwds": {"groups": np.arange(500) % 30}}):  # fmt: skip
        found = model.fit(**how)
        ends, usual = found.conf_int(), plain.conf_int()
        assert ends.loc["cheating", "lower"] == 0.0
        np.testing.assert_allclose(ends, usual, atol=0.6)
        assert found.pvalues["cheating"] == 1.0 and np.isnan(found.bse["cheating"])
        assert "scaled to the sandwich" in " ".join(str(found.summary()).split())


def test_devices_of_predictors_that_leave_something_open_are_named():
    asked, table = asked_alike(10, 800, late="public")
    alone = {"smokes": asked["smokes"][:1]}
    with pytest.raises(NotIdentified, match="cheating"):
        ldp.regression("ill ~ smokes", table[:400], alone).fit()
    with pytest.warns(LDPWarning, match="only the shape of the regression"):
        ldp.regression("ill ~ smokes + age", table[:400], alone).fit()
    # a parameter of both devices is known from the response's groups
    both, table = asked_alike(11, 800, late="shared")
    half = ldp.Reports(np.concatenate([g.y for g in both["smokes"]]), FIRST)
    found = ldp.regression("ill ~ smokes", table, both | {"smokes": half}).fit()
    assert list(found.index) == ["Intercept", "smokes[T.yes]", "cheating"]


@pytest.mark.slow
def test_intervals_beside_predictors_of_unknown_devices_cover(replications):
    R = replications(400, 10)

    def one(r):
        asked, table = asked_alike([r, 9], 8000)
        found = ldp.regression("ill ~ smokes + age", table, asked).fit()
        honest = [ldp.Reports(g.y, g.mechanism.at(cheating=0)) for g in asked["smokes"]]
        naive = ldp.regression("ill ~ smokes + age", table, asked | {"smokes": honest}).fit()
        return {
            "profile": found.conf_int(),
            "wald": found.conf_int(method="wald"),
            "naive": naive.conf_int(method="wald"),
        }

    said, truth_ = simulate.repeat(R, one), np.array([*SLOPES.values()])
    for how in ("profile", "wald"):
        assert simulate.near(simulate.coverage(said[how], truth_), 0.95, R)
    # the control takes nobody to cheat
    assert not simulate.near(simulate.coverage(said["naive"], truth_[:3]), 0.95, R)


@pytest.mark.slow
def test_predictors_of_unknown_devices_have_posteriors():
    model = ldp.regression("ill ~ smokes + age", *asked_alike(12, 8000)[::-1])
    found, fitted = model.fit_posterior(np.random.default_rng(1), draws=320), model.fit()
    assert list(found.terms) == list(SLOPES)
    assert np.all(np.abs(found.params - fitted.params) < found.bse)
    np.testing.assert_allclose(found.bse, fitted.bse, rtol=0.3)
    assert found.replicated.pvalue > 0.001


def test_separated_answers_have_estimates_at_infinity():
    rng = np.random.default_rng(1)
    ill = np.repeat(["no", "yes"], 150)[rng.permutation(300)]
    reports = [
        FIRST.simulate(ill[:150], rng, cheating=0.15),
        SECOND.simulate(ill[150:], rng, cheating=0.15),
    ]
    X = pd.DataFrame({"const": 1.0, "x": np.where(ill == "yes", 1.0, -1.0)})
    with pytest.warns(ConvergenceWarning, match="infinity") as warned:
        found = ldp.PrivatizedLogit(reports, X).fit()
    assert warned[0].filename == __file__
    assert not found.converged and "x" in found.infinite and np.isinf(found.params["x"])
    assert np.isfinite(found.bse["cheating"])
    ends = found.conf_int()
    assert np.isposinf(ends.loc["x", "upper"]) and np.isfinite(ends.loc["cheating"]).all()
    # p < .05, and the interval leaves out zero; it begins where the likelihood has fallen
    assert found.pvalues["x"] < 0.001 and ends.loc["x", "lower"] > 0.0
    beside = ldp.PrivatizedLogit(reports, X[["const"]], offset=ends.loc["x", "lower"] * X["x"])
    assert found.llf - beside.fit().llf == pytest.approx(1.9207, abs=2e-3)
    assert "fit_posterior() has a finite one" in " ".join(str(found.summary()).split())


# -- posteriors ----------------------------------------------------------------------------------


def test_the_posterior_is_that_of_quadrature():
    reports, X = survey(8, 600)
    age = X["age"].to_numpy()
    prior = {"cheating": Beta(2, 8), "age": Normal(0, 1)}
    model = ldp.PrivatizedLogit(reports, X)
    found = model.fit_posterior(np.random.default_rng(2), prior, draws=1600)
    share = (np.arange(60) + 0.5) / 60
    slopes, cheats = np.linspace(0.2, 2.2, 50), (np.arange(60) + 0.5) / 100
    level, slope, cheat = (
        one.ravel() for one in np.meshgrid(logit(share), slopes, cheats, indexing="ij")
    )
    value = beta.logpdf(cheat, 2, 8) - slope**2 / 2  # the share at the mean age is uniform
    for own, ages, q in zip(reports, (age[:300], age[300:]), (0.25, 0.6), strict=True):
        for a in np.unique(ages):
            yes = expit(level + slope * (a - age.mean()))
            said = (1 - cheat) * (q + (1 - q) * yes)
            y = np.asarray(own.y)[ages == a]
            value += y.sum() * np.log(said) + (y.size - y.sum()) * np.log1p(-said)
    weight = np.exp(value - value.max())
    weight /= weight.sum()
    exact = np.column_stack([level - slope * age.mean(), slope, cheat])
    mean = weight @ exact
    sd = np.sqrt(weight @ (exact - mean) ** 2)
    luck = 4.0 * sd / np.sqrt(found.ess["bulk"])
    assert np.all(np.abs(found.params - mean) < luck + 0.01 * sd)
    np.testing.assert_allclose(found.bse, sd, rtol=0.15)
    # without the prior of cheating it is another one
    assert abs(model.fit().params["cheating"] - mean[2]) > luck.iloc[2]
    assert list(found.terms) == ["const", "age", "cheating"]
    assert found.replicated.pvalue > 0.001
    np.testing.assert_allclose(found.mode, mean, atol=4 * sd.max())
    again = type(found).from_json(found.to_json())
    np.testing.assert_array_equal(again.params, found.params)


@pytest.mark.slow
def test_private_predictors_have_posteriors(private):
    asked, table = private
    model = ldp.regression("ill ~ age + smokes", table, asked)
    found = model.fit_posterior(np.random.default_rng(1), draws=160)
    assert list(found.terms) == ["Intercept", "smokes[T.yes]", "age", "cheating"]
    assert np.all(np.abs(found.params - model.fit().params) < 3 * found.bse)


def test_priors_are_read_by_name():
    reports, X = survey(9, 300)
    rng, model = np.random.default_rng(1), ldp.PrivatizedLogit(reports, X)
    for prior, name in (
        ({"cheating": Normal(0, 1)}, "cheating"),
        ({"age": Beta(1, 1)}, "age"),
        ({"cheat": Beta(1, 1)}, "cheat"),
        ("flat", "prior"),
    ):
        with pytest.raises(InvalidArgument, match=name):
            model.fit_posterior(rng, prior)
    found = model.fit_posterior(rng, {"cheating": Beta(0.5, 0.5)}, draws=160)
    with pytest.raises(Exception, match="concentration below 1"):
        _ = found.mode
    # one group, of which a prior tells what the reports leave open
    alone = ldp.PrivatizedLogit(reports[0], X.iloc[:150][["const"]])
    with pytest.raises(NotIdentified, match="Beta"):
        alone.fit_posterior(rng)
    assert alone.fit_posterior(rng, {"cheating": Beta(2, 18)}, draws=160).params["cheating"] < 0.5


def test_a_parameter_may_not_have_the_name_of_a_covariate():
    reports, X = survey(9, 300)
    model = ldp.PrivatizedLogit(reports, X.rename(columns={"age": "cheating"}))
    for run in (model.fit, lambda: model.fit_posterior(np.random.default_rng(1))):
        with pytest.raises(InvalidArgument, match="another name"):
            run()
