"""Models, results and their documents, with arguments that work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from hostile.examples import JOBS, P3, RNG, Examples, Site, taken

import ldpstats as ldp
from ldpstats.estimators import constraints as cons


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
    }
    two = ldp.two_sample_test(e.counts["KRR"], e.counts["KRR"])
    yield Site("TwoSampleResult.from_dict", type(two).from_dict, {"document": two.to_dict()})
    for name, r in held.items():
        yield Site(f"{name}.from_dict", type(r).from_dict, {"document": r.to_dict()})
        yield Site(
            f"{name}.from_json", type(r).from_json, {"text": r.to_json()}, {"text": ("document",)}
        )
