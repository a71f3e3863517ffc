"""Regressions on privatised answers, with arguments that work."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from hostile.examples import JOBS, RNG, Examples, Site

import ldpstats as ldp

N = 120
ROWS: dict[str, Any] = {"offset": np.zeros(N), "freq_weights": np.ones(N), "weights": np.ones(N)}
MODEL = ("reports", "X", "formula", "data", "model", "covariate", "column", "response", "groups")
COLUMN = (*MODEL, "exog", "table", "marginal", "offset", "weights", "scores", "question")
FIT: dict[str, Any] = {"method": "mle", "penalty": None, "cov_type": "nonrobust"}
FIT |= {"start_params": None, "maxiter": 100, "disp": False}


def regression_sites(e: Examples) -> Iterator[Site]:
    rng = np.random.default_rng(12)
    X = pd.DataFrame({"const": 1.0, "age": rng.normal(size=N), "city": np.arange(N) % 2.0})
    late = np.where(rng.random(N) < 1 / (1 + np.exp(-X["age"])), "yes", "no")
    table = X[["age", "city"]].assign(pay=rng.normal(size=N), region=rng.choice(["n", "s"], N))
    warner, krr = ldp.Warner(epsilon=3.0), ldp.KRR(JOBS, epsilon=3.0)
    reports, jobs = warner.privatize(late, rng), krr.privatize(rng.choice(JOBS, N), rng)
    yield from _model_sites(reports, jobs, X)
    yield from _formula_sites(table, reports, jobs)
    yield from _survey_sites(table.assign(late=late, job=rng.choice(JOBS, N)), rng)
    made = {
        "Logit": ldp.PrivatizedLogit(reports, X),
        "MNLogit": ldp.PrivatizedMNLogit(jobs, X),
        "OrderedModel": ldp.PrivatizedOrderedModel(jobs, X[["age", "city"]]),
        "private": ldp.regression("city ~ late + age", table, {"late": reports}),
        "formula": ldp.regression("late ~ age + region", table, {"late": reports}),
    }
    for kind, model in made.items():
        yield from _fit_sites(f"Privatized{kind}" if kind[0].isupper() else kind, model)
        yield from _result_sites(kind, model.fit(), kind in ("private", "formula"))
    yield from _posterior_sites(made["Logit"], ldp.PrivatizedOLS(jobs, X, scores=[1.0, 2.0, 4.0]))
    yield from _device_sites(late, X, rng)
    yield from _mixed_sites(reports, X)
    drawn = {"results": [made["Logit"].fit(), made["formula"].fit()], "labels": ["a", "b"]}
    drawn |= {"names": ["age"], "constant": False, "alpha": 0.1, "most": 5, "ax": None}
    yield Site("plot_coefficients", ldp.plot_coefficients, drawn | {"title": "Late"}, slow=True)
    yield from _linear_sites(ldp.PrivatizedOLS(jobs, X, scores=[1.0, 2.0, 4.0]), X)


def _model_sites(reports: Any, jobs: Any, X: pd.DataFrame) -> Iterator[Site]:
    names = {name: MODEL for name in (*ROWS, "reports", "X", "link", "scores", "candidates")}
    rest: dict[str, Any] = ROWS | {"X": X, "candidates": None}
    binary = rest | {"reports": reports, "link": "probit"}
    yield Site("PrivatizedLogit", ldp.PrivatizedLogit, binary, names)
    yield Site("PrivatizedMNLogit", ldp.PrivatizedMNLogit, rest | {"reports": jobs}, names)
    ordered = rest | {"reports": [jobs[:50], jobs[50:]], "X": X[["age", "city"]]}
    yield Site("PrivatizedOrderedModel", ldp.PrivatizedOrderedModel, ordered, names)
    scored = rest | {"reports": jobs, "scores": {"nurse": 1.0, "teacher": 2.0, "driver": 4.0}}
    yield Site("PrivatizedOLS", ldp.PrivatizedOLS, scored, names)


def _formula_sites(table: pd.DataFrame, reports: Any, jobs: Any) -> Iterator[Site]:
    given: dict[str, Any] = {"formula": "late ~ age + region", "data": table}
    given |= {"reports": {"late": reports}, "model": "logit", "marginal": None, "scores": None}
    given |= {"weights": None, "freq_weights": None, "offset": "pay", "candidates": None}
    names = {name: COLUMN for name in given}
    yield Site("regression", ldp.regression, given, names)
    private = given | {"formula": "pay ~ job * age", "reports": {"job": jobs}, "model": None}
    private |= {"marginal": "age", "offset": None, "weights": np.ones(N)}
    private |= {"scores": {"job": {"nurse": 1.0, "teacher": 2.0, "driver": 4.0}}}
    yield Site("regression private", ldp.regression, private, names)


def _survey_sites(people: pd.DataFrame, rng: np.random.Generator) -> Iterator[Site]:
    people = people.assign(w=rng.uniform(1.0, 3.0, N), unit=np.arange(N) // 6)
    sheet = ldp.Questionnaire({"late": ldp.Warner(epsilon=3.0), "job": ldp.KRR(JOBS, 3.0)})
    held = sheet.privatize(people, rng)
    given: dict[str, Any] = {"formula": "late ~ age + region", "model": None, "marginal": None}
    given |= {"scores": None, "offset": "pay", "candidates": None}
    names = {name: COLUMN for name in given}
    for kind, design in {"": {}, " weighted": {"weights": "w", "clusters": "unit"}}.items():
        survey = ldp.Survey(held, sheet, **design)
        yield Site(f"Survey.regression{kind}", survey.regression, given, names)
    fit = survey.regression("late ~ age + region").fit()
    yield Site("RegressionResults.conf_int weighted", fit.conf_int, {"alpha": 0.05})
    yield Site("RegressionResults.predictions weighted", fit.predictions, {"by": "region"})
    contrast = {"hypothesis": "age = 0.5"}
    yield Site("RegressionResults.wald_test weighted", fit.wald_test, contrast)


def _posterior_sites(*models: Any) -> Iterator[Site]:
    for model in models:

        def drawn(model: Any = model, **given: Any) -> Any:
            return model.fit_posterior(**given).params

        names = {"prior": ("prior", "mean", "sd")}
        asked: dict[str, Any] = {"rng": np.random.default_rng(1), "draws": 160, "engine": "hmc"}
        asked |= {"prior": {"age": ldp.priors.Normal(0.0, 1.0)}}
        yield Site(f"{type(model).__name__}.fit_posterior", drawn, asked, names, slow=True)
    yield Site("priors.Normal", ldp.priors.Normal, {"mean": 0.0, "sd": 1.0})


def _device_sites(late: Any, X: pd.DataFrame, rng: np.random.Generator) -> Iterator[Site]:
    cheats = ldp.devices.flip(ldp.devices.unknown("cheating"))
    groups = []
    for i, q in enumerate((0.25, 0.6)):
        forced = ldp.devices.flip(q).when({"heads": "yes"}, otherwise=ldp.devices.truth)
        device = cheats.when({"heads": "no", "tails": forced}).mechanism(("no", "yes"))
        groups.append(device.simulate(np.array_split(late, 2)[i], rng, cheating=0.2))
    r = ldp.PrivatizedLogit(groups, X[["const"]]).fit()
    constraint = {"hypothesis": (np.eye(2)[0], 0.1)}
    drawn = {"prior": {"cheating": ldp.priors.Beta(2, 8)}, "draws": 160, "engine": "hmc"}

    def posterior(**given: Any) -> Any:
        return r.model.fit_posterior(np.random.default_rng(1), **given).params

    names = {"prior": ("prior", "cheating"), "draws": ("draws",)}
    yield Site("DeviceRegression.fit_posterior", posterior, drawn, names, slow=True)
    yield Site("DeviceRegressionResults.conf_int", r.conf_int, {"alpha": 0.05, "method": "wald"})
    yield Site("DeviceRegressionResults.t_test", r.t_test, constraint)
    yield Site("DeviceRegressionResults.wald_test", r.wald_test, constraint)
    yield Site("DeviceRegressionResults.summary", r.summary, {"alpha": 0.05}, slow=True)
    yield Site("DeviceRegressionResults.summary_frame", r.summary_frame, {"alpha": 0.05}, slow=True)


def _mixed_sites(reports: Any, X: pd.DataFrame) -> Iterator[Site]:
    groups = pd.Series(np.arange(N) % 6, name="school")
    given: dict[str, Any] = {"reports": reports, "X": X, "groups": groups, "link": "probit"}
    given |= {name: ROWS[name] for name in ("offset", "freq_weights")} | {"candidates": None}
    names = {name: (*MODEL, "school") for name in given}
    yield Site("PrivatizedMixedLogit", ldp.PrivatizedMixedLogit, given, names)
    model = ldp.PrivatizedMixedLogit(reports, X, groups)

    def fitted(**given: Any) -> Any:
        return model.fit(**given).params

    yield Site("PrivatizedMixedLogit.fit", fitted, FIT | {"n_nodes": 11}, slow=True)
    r, alpha = model.fit(), {"alpha": 0.05}
    yield Site("MixedRegressionResults.conf_int", r.conf_int, alpha | {"method": "wald"})
    yield Site("MixedRegressionResults.icc", r.icc, alpha)
    yield Site("MixedRegressionResults.group_intercepts", r.group_intercepts, alpha)
    yield Site("MixedRegressionResults.group_shares", r.group_shares, alpha)
    averages = alpha | {"by": "city", "kind": "within"}
    by = {"by": ("by", "covariate", "column", "groups")}
    yield Site("MixedRegressionResults.predictions", r.predictions, averages, by)
    plot = alpha | {"most": 3, "ax": None, "title": "Late"}
    yield Site("MixedRegressionResults.plot_groups", r.plot_groups, plot, slow=True)


def _fit_sites(kind: str, model: Any) -> Iterator[Site]:
    def fitted(**given: Any) -> Any:
        return model.fit(**given).params

    names = {"cov_kwds": ("groups", "cov_type"), "groups": ("cov_kwds", "cov_type")}
    yield Site(f"{kind}.fit", fitted, FIT, slow=True)
    cluster = {"cov_type": "cluster", "cov_kwds": {"groups": np.arange(N) // 6}}
    yield Site(f"{kind}.fit cluster", fitted, cluster, names)
    if kind != "private":
        planned = {"params": np.zeros(len(model.fit().cov_params())), "exog": None}
        yield Site(f"{kind}.information", model.information, planned)


def _result_sites(kind: str, r: Any, has_formula: bool) -> Iterator[Site]:
    alpha: dict[str, Any] = {"alpha": 0.05}
    p = len(r.cov_params())
    point = {"exog": [[0.5, 1.0]] if kind == "OrderedModel" else [[1.0, 0.5, 1.0]]}
    point |= {"offset": 0.1}
    if has_formula:
        point["exog"] = pd.DataFrame({"age": [0.5], "region": ["n"], "city": [1.0]})
    constraint = {"hypothesis": (np.eye(p)[0], 0.1)}
    named = {"term": ("term", "terms", "covariate"), "per": ("per", "coefficient")}
    covariate = {"by": ("by", "covariate", "column", "groups"), "name": ("name", "covariate")}
    margins = {"at": "overall", "method": "dydx", "atexog": None, "dummy": True, "count": False}
    effects = r.get_margeff()
    grouped: dict[str, Any] = {"by": np.arange(N) % 3, "kind": "within"}
    if kind == "private":
        grouped = {"by": "late", "kind": "adjusted"}
    averages = r.predictions(**grouped)
    new = {"newdata": point["exog"], "by": None, "at": None, "rng": RNG, "draws": 100}
    moved = alpha | new | {"variables": {"age": 2.0}, "comparison": "difference", "pairs": True}
    rows, lift = {"max_rows": 40, "details": True}, {"comparison": "ratio"}
    odds = alpha | {"per": {"age": 10.0}}
    calls: dict[str, tuple[Any, dict[str, Any]]] = {
        "conf_int": (r.conf_int, alpha | {"method": "wald"}),
        "lr_test": (r.lr_test, {"term": "age"}),
        "score_test": (r.score_test, {"term": ["age"]}),
        "t_test": (r.t_test, constraint),
        "wald_test": (r.wald_test, constraint),
        "predict": (r.predict, point | {"which": "mean" if kind == "private" else "linear"}),
        "get_prediction": (r.get_prediction, point | alpha),
        "predictions": (r.predictions, alpha | grouped),
        "predictions at": (r.predictions, alpha | {"at": {"age": [-1.0, 1.0]}}),
        "predictions newdata": (r.predictions, alpha | new),
        "comparisons": (r.comparisons, moved),
        "slopes": (r.slopes, alpha | new | {"variables": ["age"], "slope": "eydx"}),
        "get_margeff": (r.get_margeff, margins),
        "goodness_of_fit": (r.goodness_of_fit, {"groups": 5}),
        "odds_ratios": (r.odds_ratios, odds),
        "summary": (r.summary, alpha | rows),
        "to_frame": (r.to_frame, alpha),
        "margins conf_int": (effects.conf_int, alpha),
        "margins summary_frame": (effects.summary_frame, alpha),
        "margins summary": (effects.summary, alpha),
        "averages summary_frame": (averages.summary_frame, alpha),
        "averages contrasts": (averages.contrasts, {"reference": averages.groups[0]} | lift),
        "averages differences": (averages.differences, alpha | {"reference": averages.groups[0]}),
    }
    if r.method == "corrected" or kind == "private":
        del calls["goodness_of_fit"]
    for name, (call, given) in calls.items():
        yield Site(f"RegressionResults.{name} {kind}", call, given, named | covariate)
    plot = alpha | {"name": "age", "at": "mean", "points": 5, "ax": None, "title": "Late"}
    yield Site(f"RegressionResults.plot_effects {kind}", r.plot_effects, plot, covariate, slow=True)
    drawn = alpha | {"labels": ["late"], "names": ["age"], "constant": False, "most": 5}
    drawn |= {"ax": None, "title": "Late"}
    plot_site = f"RegressionResults.plot_coefficients {kind}"
    yield Site(plot_site, r.plot_coefficients, drawn, covariate, slow=True)


def _linear_sites(model: Any, X: pd.DataFrame) -> Iterator[Site]:
    names = {"cov_kwds": ("groups", "cov_type")}
    fit = {"cov_type": "cluster", "cov_kwds": {"groups": np.arange(N) // 6}}
    yield Site("PrivatizedOLS.fit", model.fit, fit, names)
    r, alpha = model.fit(), {"alpha": 0.05}
    constraint = {"hypothesis": (np.eye(3)[1], 0.1)}
    calls: dict[str, tuple[Any, dict[str, Any]]] = {
        "conf_int": (r.conf_int, alpha),
        "predict": (r.predict, {"exog": X.iloc[:3], "offset": [0.0, 0.1, 0.2]}),
        "t_test": (r.t_test, constraint),
        "wald_test": (r.wald_test, constraint | {"use_f": True}),
        "f_test": (r.f_test, constraint),
        "summary": (r.summary, alpha | {"max_rows": 40, "details": True}),
        "to_frame": (r.to_frame, alpha),
    }
    for name, (call, given) in calls.items():
        yield Site(f"PrivatizedOLSResults.{name}", call, given)
