"""Models, results and their documents, with arguments that work."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from hostile.examples import JOBS, P3, RNG, Examples, Site, rng, taken

import ldpstats as ldp
from ldpstats import priors
from ldpstats.devices import Device, flip, truth, unknown
from ldpstats.estimators import constraints as cons
from ldpstats.inference import chains as diagnostics
from ldpstats.priors import Dirichlet, Margins, Pooling


def model_sites(e: Examples) -> Iterator[Site]:
    data = {"data": e.counts["KRR"]}
    also = {"data": ("counts", "reports")}
    yield Site("FrequencyModel", ldp.FrequencyModel, data, also)
    groups = {"data": [e.counts["KRR"], ldp.KRR(JOBS, 2.0).counts([3, 2, 1])]}
    yield Site("FrequencyModel groups", ldp.FrequencyModel, groups, also)
    opened = {"data": e.counts["ORR"], "candidates": JOBS, "incomplete": True}
    yield Site("FrequencyModel open", ldp.FrequencyModel, opened, also)
    how = {"method": "mle", "constraints": None, "cov_type": "default", "progress": False}
    yield Site("FrequencyModel.fit", e.frequency.fit, how)
    bound = {"method": "mle", "constraints": cons.known_margin({(0, 2): 0.7})}
    yield Site("FrequencyModel.fit constrained", e.frequency.fit, bound, slow=True)
    opened_model = ldp.FrequencyModel(e.counts["ORR"], candidates=JOBS)
    yield Site("FrequencyModel.fit open", opened_model.fit, {"method": "inversion"})
    sums = ldp.FrequencyModel(e.bits["KRAPPOR"])
    yield Site("FrequencyModel.fit bits", sums.fit, {"method": "inversion", "cov_type": "default"})
    yield Site("test_distribution", e.frequency.test_distribution, {"p0": P3})
    two = {"first": e.counts["KRR"], "second": ldp.KRR(JOBS, 2.0).counts([30, 20, 10])}
    named = {"first": ("data", "counts"), "second": ("data", "counts")}
    yield Site("two_sample_test", ldp.two_sample_test, two | {"method": "default"}, named)
    opened_two = {"first": e.counts["ORR"], "second": e.counts["ORR"], "candidates": JOBS}
    yield Site("two_sample_test open", ldp.two_sample_test, opened_two, named)
    several = {"groups": [*two.values(), e.counts["KRR"]], "method": "default"}
    within = {"groups": ("data", "counts")}
    yield Site("homogeneity_test", ldp.homogeneity_test, several, within)
    regions = {"north": e.counts["KRR"], "south": two["second"]}
    grouped = {"groups": regions, "by": ("region",), "name": "job", "n_ungrouped": 2}
    yield Site("GroupedModel", ldp.GroupedModel, grouped, within)
    open_regions = {"north": e.counts["ORR"], "south": e.counts["ORR"]}
    listed_groups = {"groups": open_regions, "candidates": JOBS, "incomplete": True}
    yield Site("GroupedModel open", ldp.GroupedModel, listed_groups, within)
    yield Site("GroupedModel.fit", ldp.GroupedModel(regions).fit, {"method": "mle"})
    joint = {"names": ("job", "late"), "other": False, "candidates": None, "ids": None}
    both = {"reports": (e.reports["KRR"], e.reports["Warner"])}
    yield Site("AssociationModel", _association, both | joint)
    with_ids = both | {"ids": (np.arange(60), np.arange(60)), "names": ["job", "late"]}
    yield Site("AssociationModel ids", _association, with_ids)
    listed = {"candidates": (JOBS, None), "other": ("product", False)}
    opened_both = {"reports": (e.reports["ORR"], e.reports["Warner"])}
    yield Site("AssociationModel open", _association, opened_both | listed)
    yield from _cell_sites(e)
    jointly = {"method": "mle", "cov_type": "default", "progress": False}
    yield Site("AssociationModel.fit", e.association.fit, jointly)
    person = {"data": e.personal_reports, "pum": e.pum, "background": {"home": P3}, "exact": False}
    yield Site("PersonalizedModel", ldp.PersonalizedModel, person, also)
    yield Site("PersonalizedModel.fit", e.personal.fit, {"method": "mle"})
    words = {"reports": e.strings, "keep": "[abc]+"}
    yield Site("DictionaryModel", ldp.DictionaryModel, words)
    find = {
        "alpha": 0.05,
        "threshold": "standard",
        "search": "likelihood",
        "false_grams": 5.0,
        "max_grams": 20,
        "max_candidates": 20,
        "width": 100,
        "progress": None,
    }
    yield Site("DictionaryModel.fit", e.dictionary.fit, find, slow=True)
    lasso = ldp.FrequencyModel(e.bits["RAPPOR"], candidates=JOBS)
    yield Site("FrequencyModel.fit lasso", lasso.fit, {"method": "lasso"})
    yield Site("select", e.strings.select, {"keep": np.arange(5)})
    yield Site("at_pair", e.strings.at_pair, {"number": 0})


def _association(reports: Any, **how: Any) -> Any:
    several = isinstance(reports, list | tuple)
    return ldp.AssociationModel(*(reports if several else (reports,)), **how)


def _cell_sites(e: Examples) -> Iterator[Site]:
    """Joint models of several questions, and what their results answer."""
    yes, dice = ldp.KRR(("no", "yes"), 3.0), rng()
    data = [yes.privatize(dice.choice(["no", "yes"], 400), dice) for _ in range(3)]
    names, law = ["a", "b", "c"], ldp.cells.loglinear("a*b + c")
    given = {"data": data, "structure": law, "names": names, "covariates": None}
    yield Site(
        "CellModel",
        ldp.CellModel,
        given | {"candidates": None, "memoised": False, "parameters": None},
    )
    model = ldp.CellModel(data, law, names)
    how = {"cov_type": "observed", "groups": None, "start": None, "n_starts": 2, "rng": None}
    yield Site("CellModel.fit", model.fit, how | {"unidentified": "keep"})
    results = model.fit()
    margin = {"name": "a", "alpha": 0.05, "method": "delta"}
    yield Site("CellResults.margin", lambda name, **how: results.margin(name, **how), margin)
    yield Site("CellResults.from_dict", ldp.CellResults.from_dict, {"document": results.to_dict()})
    for name, arguments in {
        "summary": {"alpha": 0.05, "max_rows": 40, "details": True},
        "conf_int": {"alpha": 0.05, "method": "wald"},
        "conditional": {"name": "a", "given": "b", "alpha": 0.05, "method": "delta"},
        "wald_test": {"hypothesis": "c[yes] = 0"},
        "lr_test": {"other": ldp.CellModel(data, ldp.cells.loglinear("a*b*c"), names).fit()},
    }.items():
        yield Site(f"CellResults.{name}", getattr(results, name), arguments)
    yield Site("cells.loglinear", ldp.cells.loglinear, {"formula": "a*b"})
    yield Site("cells.latent_class", ldp.cells.latent_class, {"n_classes": 2, "covariates": None})
    items = {"covariates": None, "n_nodes": 21}
    yield Site("cells.rasch", ldp.cells.rasch, items | {"sd": 1.0})
    yield Site("cells.two_parameter", ldp.cells.two_parameter, items)
    yield Site(
        "cells.list_experiment", ldp.cells.list_experiment, {"n_items": 3, "covariates": None}
    )
    waves = {"order": 1, "stationary": True, "latent": 2, "stayers": False}
    yield Site("cells.markov", ldp.cells.markov, {"covariates": None} | waves)
    own = {"p": lambda t: [1 - t[0], t[0]], "start": [0.5], "names": ["share"], "jac": None}
    yield Site("cells.function", ldp.cells.function, own)


def result_sites(e: Examples) -> Iterator[Site]:
    held: dict[str, Any] = {
        "FrequencyResults": e.results,
        "open FrequencyResults": e.open_results,
        "AssociationResults": e.table,
        "three AssociationResults": e.three,
        "PersonalizedResults": e.personal_results,
        "DictionaryResults": e.discovered,
    }
    truth = {"FrequencyResults": P3, "open FrequencyResults": P3, "PersonalizedResults": P3}
    for name, r in held.items():
        simple: dict[str, dict[str, Any]] = {
            "summary": {"alpha": 0.05, "max_rows": 40, "details": True},
            "to_frame": {"alpha": 0.05},
            "summary_frame": {"alpha": 0.05},
            "conf_int": {"alpha": 0.05, "method": "default", "clip": True, "simultaneous": None},
            "cov_params": {"cov_type": "default"},
            "detected": {"alpha": 0.05, "method": "bonferroni", "force": True},
        }
        if name == "DictionaryResults":
            del simple["detected"]
            simple["conf_int"] = {"alpha": 0.05, "method": "selected"}
            simple["detectable_at"] = {"power": 0.8}
        for method, arguments in simple.items():
            call = getattr(r, method)
            yield Site(f"{name}.{method}", call, taken(call, arguments))
        k = len(r.linear_params)
        row = np.zeros(k)
        if k:
            row[0] = 1.0
            for test in ("t_test", "wald_test"):
                yield Site(f"{name}.{test}", getattr(r, test), {"hypothesis": (row, 0.1)})
        if name != "three AssociationResults":
            plot = {"alpha": 0.05, "ax": None, "truth": truth.get(name)}
            plot |= {"sort": True, "most": 2, "title": "Answers"}
            if name == "AssociationResults":
                plot |= {"kind": "heatmap"}
            if name == "DictionaryResults":
                plot |= {"most": 5, "truth": {"abca": 0.3}}
            yield Site(f"{name}.plot", r.plot, taken(r.plot, plot), slow=True)
    looked = {"alpha": 0.05, "clip": False, "simultaneous": "bonferroni", "anytime": True}
    yield Site("conf_int anytime", e.results.conf_int, looked)
    known = {"alpha": 0.05, "method": "profile", "model": e.frequency, "progress": False}
    yield Site("conf_int profile", e.results.conf_int, known)
    redrawn = known | {"method": "bootstrap", "rng": RNG, "n_boot": 39}
    yield Site("conf_int bootstrap", e.results.conf_int, redrawn, slow=True)
    yield Site("t_test text", e.results.t_test, {"hypothesis": "nurse = driver"})
    yield Site("wald_test text", e.results.wald_test, {"hypothesis": "nurse = driver"})
    pair = {"first": "nurse", "second": "driver", "alpha": 0.05}
    yield Site("difference", e.results.difference, pair)
    yield Site("ratio", e.results.ratio, pair)
    yield from _ordered_sites("FrequencyResults", e.results)
    waves = ldp.product({wave: ldp.KRR(("no", "yes"), 2.0) for wave in "ab"})
    paths = ldp.FrequencyModel(waves.counts([40, 20, 10, 30])).fit()
    yield Site("FrequencyResults.turnover", paths.turnover, {"alpha": 0.05})
    yield Site("FrequencyResults.transitions", paths.transitions, {"alpha": 0.05})
    yield from _grouped_sites(e)
    yield Site(
        "plot_graph",
        e.discovered.plot_graph,
        {"ax": None, "max_strings": 3, "title": "Hosts"},
        slow=True,
    )
    t = e.table
    rows = {"rows": ("nurse", "driver"), "alpha": 0.05}
    yield Site("odds_ratio", t.odds_ratio, rows | {"columns": ("yes", "no")})
    yield Site("risk_ratio", t.risk_ratio, rows | {"column": "yes"})
    yield Site("risk_difference", t.risk_difference, rows | {"column": "yes"})
    yield Site("cramers_v", t.cramers_v, {"alpha": 0.05})
    yield Site("conditional", t.conditional, {"on": "late", "alpha": 0.05})
    yield Site("margins", t.margins, {"alpha": 0.05})
    independence = {"method": "score", "model": e.association, "rng": None}
    yield Site("test_independence", t.test_independence, independence)
    permuted = independence | {"n_permutations": 9, "rng": RNG, "progress": False}
    yield Site("test_independence permuted", t.test_independence, permuted, slow=True)
    booted = {"method": "bootstrap", "model": e.association, "n_boot": 3, "rng": RNG}
    yield Site("test_independence bootstrap", t.test_independence, booted, slow=True)
    scores = {"row_scores": [1, 2, 3], "column_scores": [0, 1], "model": e.association}
    yield Site("test_trend", t.test_trend, scores)
    yield Site("test_homogeneity", e.three.test_homogeneity, {"by": "z"})
    yield Site(
        "test_conditional_independence", e.three.test_conditional_independence, {"given": "z"}
    )


def _ordered_sites(name: str, r: Any) -> Iterator[Site]:
    yield Site(f"{name}.mean", r.mean, {"scores": [1, 2, 3], "alpha": 0.05})
    yield Site(f"{name}.cumulative", r.cumulative, {"alpha": 0.05})
    yield Site(f"{name}.quantile", r.quantile, {"q": 0.5, "alpha": 0.05})
    yield Site(f"{name}.quantile several", r.quantile, {"q": [0.25, 0.5], "alpha": 0.05})


def _grouped(e: Examples) -> ldp.GroupedResults:
    groups = {"north": e.counts["KRR"], "south": ldp.KRR(JOBS, 2.0).counts([30, 20, 10])}
    return ldp.GroupedModel(groups, by="region").fit()


def _towns() -> tuple[ldp.GroupedResults, dict[str, Any]]:
    groups = {i: ldp.KRR(JOBS, 2.0).counts([30 + i, 20, 10]) for i in range(7)}
    rows = pd.DataFrame({"town": range(8), "poor": np.arange(8.0) ** 2})
    given = {"formula": "~ poor", "data": rows, "category": "nurse"}
    return ldp.GroupedModel(groups, by="town").fit(), given


def _small_areas() -> ldp.SmallAreas:
    grouped, given = _towns()
    return grouped.small_areas(**given)


def _trend(e: Examples) -> ldp.TrendResults:
    waves = {2023: e.counts["KRR"], 2024: ldp.KRR(JOBS, 2.0).counts([30, 20, 10])}
    return ldp.TrendResults.of(ldp.GroupedModel(waves, by="year").fit())


def _grouped_sites(e: Examples) -> Iterator[Site]:
    r = _grouped(e)
    yield from _ordered_sites("GroupedResults", r)
    how = {"alpha": 0.05, "method": "default", "clip": True, "simultaneous": None}
    yield Site("GroupedResults.conf_int", r.conf_int, how)
    yield Site("GroupedResults.summary_frame", r.summary_frame, {"alpha": 0.05})
    how = {"alpha": 0.05, "max_rows": 40, "details": True}
    yield Site("GroupedResults.summary", r.summary, how)
    yield Site("GroupedResults.to_frame", r.to_frame, {"alpha": 0.05})
    plot = {"alpha": 0.05, "sort": True, "most": 2, "title": "Answers", "figure": None}
    yield Site("GroupedResults.plot", r.plot, plot, slow=True)
    yield Site("GroupedResults.differences", r.differences, {"reference": "south", "alpha": 0.05})
    yield Site("GroupedResults pairs", r.differences, {"alpha": 0.05, "all_pairs": True})
    towns, given = _towns()
    yield Site("GroupedResults.small_areas", towns.small_areas, given)
    areas = _small_areas()
    for name in ("summary_frame", "to_frame", "conf_int"):
        yield Site(f"SmallAreas.{name}", getattr(areas, name), {"alpha": 0.05})
    how = {"alpha": 0.05, "max_rows": 40, "details": True}
    yield Site("SmallAreas.summary", areas.summary, how)
    plot = {"alpha": 0.05, "sort": True, "most": 2, "title": "Answers", "ax": None}
    yield Site("SmallAreas.plot", areas.plot, plot, slow=True)
    trend = _trend(e)
    of = {"waves": trend.by_wave, "order": [2023, 2024]}
    yield Site("TrendResults.of", ldp.TrendResults.of, of)
    yield Site("TrendResults.conf_int", trend.conf_int, {"alpha": 0.05, "simultaneous": True})
    for name in ("smooth", "slopes", "change_points", "summary_frame"):
        yield Site(f"TrendResults.{name}", getattr(trend, name), {"alpha": 0.05})
    plot = {"category": "nurse", "alpha": 0.05, "most": 2, "title": "Answers", "ax": None}
    yield Site("TrendResults.plot", trend.plot, plot, slow=True)
    two = ldp.two_sample_test(e.counts["KRR"], e.counts["KRR"])
    yield Site("two_sample_test.differences", two.differences, {"alpha": 0.05})


def document_sites(e: Examples) -> Iterator[Site]:
    """Specifications and stored results; their own spoiler damages them anywhere."""
    for name, m in e.mechanisms.items():
        document = {"document": m.to_dict()}
        also = {"document": ("specification",)}
        yield Site(f"{name} specification", ldp.mechanism_from_dict, document, also)
    also = {"document": ("specification", "mechanism")}
    yield Site("KRR.from_dict", ldp.KRR.from_dict, {"document": e.krr.to_dict()}, also)
    yield Site("PUM.from_dict", ldp.PUM.from_dict, {"document": e.pum.to_dict()}, also)
    survey = {"document": e.survey.to_dict()}
    yield Site("survey.from_dict", ldp.DictionarySurvey.from_dict, survey, also)
    held: dict[str, Any] = {
        "FrequencyResults": e.results,
        "open FrequencyResults": e.open_results,
        "AssociationResults": e.table,
        "PersonalizedResults": e.personal_results,
        "DictionaryResults": e.discovered,
        "GroupedResults": _grouped(e),
        "TrendResults": _trend(e),
        "SmallAreas": _small_areas(),
    }
    two = ldp.two_sample_test(e.counts["KRR"], e.counts["KRR"])
    yield Site("TwoSampleResult.from_dict", type(two).from_dict, {"document": two.to_dict()})
    for name, r in held.items():
        yield Site(f"{name}.from_dict", type(r).from_dict, {"document": r.to_dict()})
        yield Site(
            f"{name}.from_json", type(r).from_json, {"text": r.to_json()}, {"text": ("document",)}
        )


# Joint analyses of several questions and waves, with arguments that work.


def joint_sites(e: Examples) -> Iterator[Site]:
    first, second = e.reports["KRR"], ldp.KRR(JOBS, 2.0).privatize(e.values["KRR"], RNG.make())
    third, everyone = e.reports["KRAPPOR"], np.ones(60, dtype=bool)
    waves = {"first": first, "second": second, "name": "job", "waves": ("2023", "2024")}
    said = {
        "first": ("reports", "rows", "ids", "counts"),
        "second": ("reports", "rows", "ids", "counts"),
    }
    yield Site("change", ldp.change, waves | {"candidates": None, "method": "mle"}, said)
    masked = {"first": (first, everyone), "second": (second, everyone)}
    yield Site("change of rows", ldp.change, masked | {"candidates": JOBS[:2]}, said)
    many = {"reports": {"job": first, "late": second, "ill": third}, "alpha": 0.05}
    rows = {"reports": ("rows", "names", "ids", "counts")}
    how = {"candidates": None, "other": False, "method": "mle"}
    yield Site("associations", ldp.associations, many | how, rows, slow=True)
    pairs = {"rows": [(first, everyone), (second, None)]}
    yield Site("JointCounts.of_rows", ldp.JointCounts.of_rows, pairs, {"rows": ("reports",)})
    yield from _methods(e, first, second, third)


def _methods(e: Examples, first: Any, second: Any, third: Any) -> Iterator[Site]:
    results = ldp.change(first, second, name="job")
    simple: dict[str, dict[str, Any]] = {
        "summary": {"alpha": 0.05, "max_rows": 40, "details": False},
        "summary_frame": {"alpha": 0.05},
        "conf_int": {"alpha": 0.05, "method": "default", "clip": True},
        "turnover": {"alpha": 0.05},
        "cov_params": {"cov_type": "default"},
        "t_test": {"hypothesis": (np.array([1.0, 0.0, 0.0]), 0.1)},
        "wald_test": {"hypothesis": f"{JOBS[0]} = 0, {JOBS[1]} = 0"},
    }
    for method, arguments in simple.items():
        call = getattr(results, method)
        yield Site(f"ChangeResults.{method}", call, taken(call, arguments))
    drawn = {"kind": "change", "ax": None, "alpha": 0.05, "most": 2, "title": "moves", "sort": True}
    yield Site("ChangeResults.plot", results.plot, drawn, slow=True)
    matrix = ldp.associations({"job": first, "late": second, "ill": third})
    yield Site("AssociationMatrix.summary", matrix.summary, {"max_rows": 2, "details": True})
    yield Site("AssociationMatrix.plot", matrix.plot, {"ax": None, "title": "pairs"}, slow=True)
    yield Site("AssociationMatrix pair", matrix.__getitem__, {"names": ("job", "late")})
    yield Site("collapse", e.three.collapse, {"names": ["x", "z"]})
    for made in (results, matrix):
        kind = type(made)
        yield Site(f"{kind.__name__}.from_dict", kind.from_dict, {"document": made.to_dict()})
        text = {"text": made.to_json()}
        yield Site(f"{kind.__name__}.from_json", kind.from_json, text, {"text": ("document",)})


# Priors, posteriors and their diagnostics, with arguments that work.


def posterior_sites(e: Examples) -> Iterator[Site]:
    """What `FrequencyModel.fit_posterior` takes, and what its results answer."""
    priors = ldp.priors
    yield Site("Dirichlet", priors.Dirichlet, {"concentration": [1.0, 2.0, 3.0]})
    normal = {"mean": [0.0, 0.0, 1.0], "sd": 1.0}
    yield Site("LogisticNormal", priors.LogisticNormal, normal)
    correlated = {"mean": 0.0, "covariance": np.eye(3)}
    yield Site("LogisticNormal covariance", priors.LogisticNormal, correlated)
    fit = {"rng": RNG, "prior": priors.Dirichlet(2.0), "draws": 160, "engine": "hmc"}
    yield Site("FrequencyModel.fit_posterior", _quietly(e), fit, slow=True)
    results = _quietly(e)(rng(), draws=160)
    yield Site("PosteriorResults.conf_int", results.conf_int, {"alpha": 0.05, "method": "hdi"})
    yield Site("PosteriorResults.prob", results.prob, {"claim": "nurse > driver"})
    null = {"hypothesis": f"{JOBS[0]} = .4"}
    yield Site("PosteriorResults.bayes_factor", results.bayes_factor, null)
    yield Site("PosteriorResults.summary_frame", results.summary_frame, {"alpha": 0.05})
    shown = {"alpha": 0.05, "max_rows": 40, "details": True}
    yield Site("PosteriorResults.summary", results.summary, shown)
    yield Site("PosteriorResults.to_frame", results.to_frame, {"alpha": 0.05})
    plot = {"ax": None, "alpha": 0.05, "sort": True, "most": 2, "title": "Answers"}
    yield Site("PosteriorResults.plot", results.plot, plot, slow=True)
    draws = {"draws": np.random.default_rng(1).normal(size=(4, 20))}
    for name in ("rhat", "ess_bulk", "ess_tail", "ess_mean"):
        yield Site(f"diagnostics.{name}", getattr(diagnostics, name), draws)


def _quietly(e: Examples):
    """`fit_posterior` without the warning that so few draws are few."""

    def fit_posterior(rng, prior=None, draws=4000, engine="hmc"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ldp.PosteriorWarning)
            return e.frequency.fit_posterior(rng, prior, draws, engine)

    return fit_posterior


# Posteriors of tables and of pooled groups, with arguments that work.


def pooling_sites(e: Examples) -> Iterator[Site]:
    flat: dict[str, Any] = {"first": [2.0, 3.0], "second": 1.0, "third": None, "log_odds_sd": 2.0}
    yield Site("priors.Margins", Margins, flat)
    law = Margins().draw
    yield Site("priors.Margins.draw", law, {"sizes": (2, 2), "rng": RNG, "draws": 3})
    also = {"categories": ("len(categories)",)}
    yield Site("priors.Pooling", Pooling, {"sd": 1.0, "df": 4.0, "common": Dirichlet(2.0)})
    drawn = {"n_groups": 2, "categories": JOBS, "rng": RNG, "draws": 3}
    yield Site("priors.Pooling.draw", Pooling().draw, drawn, also)
    yes = ldp.KRR(("no", "yes"), 2.0)
    joint = ldp.AssociationModel(ldp.JointCounts.from_table([[40, 15], [15, 30]], (yes, yes)))
    how = {"rng": RNG, "prior": Margins(), "draws": 160, "engine": "hmc"}
    prior = {"prior": ("first", "concentration")}
    yield Site("AssociationModel.fit_posterior", joint.fit_posterior, how, prior, slow=True)
    grouped = ldp.GroupedModel({"a": e.counts["KRR"], "b": e.krr.no_counts()})
    pooled = how | {"prior": Pooling()}
    yield Site("GroupedModel.fit_posterior", grouped.fit_posterior, pooled, slow=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = joint.fit_posterior(np.random.default_rng(1), draws=160)
        groups = grouped.fit_posterior(np.random.default_rng(1), draws=160)
    yield Site("TablePosterior.conditional", table.conditional, {"on": "x"})
    yield Site("TablePosterior.margin", table.margin, {"name": "x"})
    pairs = {"rows": ["no", "yes"], "columns": ["no", "yes"]}
    yield Site("TablePosterior.log_odds_ratio", table.log_odds_ratio, pairs)
    derived = {"labels": "equal", "subject": "Equal answers"}
    yield Site("TablePosterior.derived", _derived(table), derived)
    yield Site("GroupedPosterior.overall", groups.overall, {"weights": [1.0, 2.0]})


def _derived(table: Any) -> Any:
    def derived(labels: Any, subject: Any) -> Any:
        return table.derived(lambda P: P[:, 0, 0] + P[:, 1, 1], labels, subject)

    return derived


# Devices with unknown parameters, their fits and posteriors, with arguments that work.

ANSWERS = ("no", "yes")


def cheating(q: float) -> Device:
    forced = flip(q).when({"heads": "yes"}, otherwise=truth)
    return flip(unknown("cheating")).when({"heads": "no", "tails": forced})


def unknown_sites(e: Examples) -> Iterator[Site]:
    first, second = (ldp.UnknownDevice(cheating(q).step, ANSWERS) for q in (0.25, 0.6))
    made = {"device": cheating(0.25).step, "categories": ANSWERS, "outputs": None}
    yield Site("UnknownDevice", ldp.UnknownDevice, made)
    named = {"values": {"cheating": 0.1}}
    also = {"values": ("cheating",)}
    for name in ("at", "matrix_at", "derivatives_at"):
        yield Site(f"UnknownDevice.{name}", getattr(first, name), named, also)
    drawn: dict[str, Any] = {"values": ["no", "yes"], "rng": RNG, "missing": "raise"}
    yield Site("UnknownDevice.simulate", first.simulate, drawn | {"cheating": 0.1})
    yield Site("UnknownDevice.counts", first.counts, {"n": [3, 4]})
    written = {"document": first.to_dict()}
    said = {"document": ("when", "say", "step", "device", "probability", "p", "outputs")}
    yield Site("UnknownDevice.from_dict", ldp.UnknownDevice.from_dict, written, said)
    groups = [first.counts([420, 180]), second.counts([280, 320])]
    model = ldp.FrequencyModel(groups)
    within = {"data": ("counts", "reports")}
    yield Site("FrequencyModel unknown", ldp.FrequencyModel, {"data": groups}, within)
    how = {"method": "mle", "constraints": None, "cov_type": "default", "progress": False}
    yield Site("FrequencyModel.fit unknown", model.fit, how)
    law = {"cheating": priors.Beta(2.0, 18.0), "frequencies": priors.Dirichlet(1.0)}
    given = {"rng": RNG, "prior": law, "draws": 160, "engine": "hmc"}
    yield Site("FrequencyModel.fit_posterior unknown", model.fit_posterior, given, slow=True)
    yield Site("priors.Beta", priors.Beta, {"a": 2.0, "b": 18.0})
    results = model.fit()
    simple: dict[str, dict[str, Any]] = {
        "conf_int": {"alpha": 0.05, "method": "wald", "clip": True},
        "summary": {"alpha": 0.05, "max_rows": 40, "details": True},
        "summary_frame": {"alpha": 0.05},
        "to_frame": {"alpha": 0.05},
        "cov_params": {"cov_type": "default"},
        "t_test": {"hypothesis": "yes = cheating"},
        "wald_test": {"hypothesis": "yes = 0.1, cheating = 0.1"},
        "plot": {"alpha": 0.05, "truth": [0.8, 0.2, 0.1], "sort": False, "most": 9, "title": "a"},
    }
    for name, arguments in simple.items():
        yield Site(f"ParametersResults.{name}", getattr(results, name), arguments)
    document = {"document": results.to_dict()}
    yield Site("ParametersResults.from_dict", ldp.ParametersResults.from_dict, document)
    text = {"text": results.to_json()}
    yield Site("ParametersResults.from_json", ldp.ParametersResults.from_json, text)
