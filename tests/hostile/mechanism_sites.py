"""Constructors, channels, mechanisms and counts, with arguments that work."""

from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from grid import MECHANISMS
from hostile.examples import JOBS, RNG, Examples, Fresh, Site, rng, taken

import ldpstats as ldp
from ldpstats import datasets
from ldpstats.estimators import EM, MLE, CvxpyMLE, Lasso, OneStep, PlainEM, Smoothed, Thresholded
from ldpstats.estimators import constraints as cons


def constructors(e: Examples) -> Iterator[Site]:
    some = {"categories": JOBS, "epsilon": 1.0}
    hashed: dict[str, Any] = {"n_cohorts": 4, "alphabet": None}
    bloom = hashed | {"n_bits": 8, "n_hashes": 2}
    yield Site("KRR", ldp.KRR, some)
    bins = {"edges": [0, 10, 20.5, 50], "epsilon": 1.0, "half_width": 1}
    yield Site("SquareWave", ldp.SquareWave, bins)
    yield Site("GeometricResponse", ldp.GeometricResponse, some)
    yield Site("KRAPPOR", ldp.KRAPPOR, some | {"theta": 0.5})
    yield Site("SubsetSelection", ldp.SubsetSelection, some | {"size": 2})
    yield Site("HadamardResponse", ldp.HadamardResponse, some)
    yield Site("ProjectiveGeometryResponse", ldp.ProjectiveGeometryResponse, some)
    yield Site("OLH", ldp.OLH, some | {"n_cohorts": 4})
    yield Site("Warner", ldp.Warner, {"epsilon": 1.0, "categories": (0, 1)})
    yield Site("ForcedResponse", ldp.ForcedResponse, {"p_truth": 0.5, "p_yes": 0.25})
    yield Site("UnrelatedQuestion", ldp.UnrelatedQuestion, {"p": 0.5, "prevalence": 0.5})
    yield Site("Mangat", ldp.Mangat, {"p": 0.5})
    Q = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
    three = {"Q": Q, "categories": ("a", "b"), "outputs": JOBS, "description": "a table"}
    yield Site("CustomMechanism", ldp.CustomMechanism, three)
    yield Site("ORR", ldp.ORR, hashed | {"n_outputs": 8, "epsilon": 2.0})
    yield Site("ORR closed", ldp.ORR, hashed | {"n_outputs": 8, "epsilon": 2.0, "alphabet": JOBS})
    yield Site("ORAPPOR", ldp.ORAPPOR, bloom | {"epsilon": 2.0})
    noise = {"f": 0.1, "p": 0.25, "q": 0.75, "hashing": "ldpstats"}
    yield Site("RAPPOR", ldp.RAPPOR, bloom | noise)
    yield Site("URAP", ldp.URAP, some | {"sensitive": ["nurse"], "theta": 0.5})
    yield Site("URR", ldp.URR, some | {"sensitive": ["nurse"]})
    graded = {"epsilon": {"nurse": 0.5, "driver": 1.0}, "categories": JOBS}
    yield Site(
        "URR levels", ldp.URR, graded, {"categories": ("sensitive",), "epsilon": ("sensitive",)}
    )
    levels = some | {"sensitive": ["nurse", "driver"], "levels": (0.5, 1.0)}
    yield Site("URR levels=", ldp.URR, levels, {"levels": ("epsilon",)})
    yield Site(
        "URAP levels", ldp.URAP, graded, {"categories": ("sensitive",), "epsilon": ("sensitive",)}
    )
    yield Site("URAP levels=", ldp.URAP, levels | {"theta": 0.5}, {"levels": ("epsilon",)})
    yield Site("PUM", ldp.PUM, {"mechanism": e.urr, "tags": ("home", "work")})
    yield Site("PUM levels", ldp.PUM, {"mechanism": e.urap, "tags": {"home": 0.5, "work": 1.0}})
    own = {"mechanism": e.urr, "tags": ("home", "work"), "levels": (0.5, 2.0)}
    yield Site("PUM levels=", ldp.PUM, own)
    given = {"labels": JOBS, "cells": np.zeros((4, 3, 2), dtype=int)}
    yield Site("CandidateMap", ldp.CandidateMap, given, {"labels": ("candidates",)})
    survey = {
        "length": 4,
        "gram": 2,
        "alphabet": "abc",
        "epsilon": 6.0,
        "split": (0.4, 0.3, 0.3),
        "gram_mechanism": "krr",
        "string_mechanism": "orr",
        "pad": " ",
        "step": 2,
        "replace": "a",
    }
    yield Site("DictionarySurvey", ldp.DictionarySurvey, survey)
    yield Site("EM", EM, {"tol": 1e-6, "max_iter": 10})
    yield Site("MLE", MLE, {"constraints": cons.monotone(), "tol": 1e-6, "max_iter": 10})
    yield Site("CvxpyMLE", CvxpyMLE, {"tol": 1e-6})
    yield Site("Lasso", Lasso, {"penalty": "quantile", "false_selections": 1.0})
    yield Site("OneStep", OneStep, {"newton": 1})
    yield Site("PlainEM", PlainEM, {"delta": 1e-4, "max_iter": 10})
    smooth = {"penalty": 1e-6, "edges": [0, 1, 2, 5], "tol": 1e-6, "max_iter": 10}
    yield Site("Smoothed", Smoothed, smooth)
    yield Site("Thresholded", Thresholded, {"alpha": 0.05})
    yield Site("known_margin", cons.known_margin, {"margin": [[1, 0, 1]], "values": [0.7]})
    yield Site("known_margin{}", cons.known_margin, {"margin": {(0, 2): 0.7}})
    yield Site("monotone", cons.monotone, {"order": "increasing"})
    yield Site("unimodal", cons.unimodal, {"mode": 1})
    yield Site("bounds", cons.bounds, {"low": [0.1, 0.1, 0.1], "high": 0.9})
    yield Site("Counts", ldp.Counts, {"y": [0, 1], "n": [3, 4], "mechanism": e.krr, "n_missing": 1})
    yield Site("Reports", ldp.Reports, {"y": [0, 1], "mechanism": e.krr, "n_missing": 1})
    yield Site(
        "Counts of cohorts",
        ldp.Counts,
        {"y": [0, 1], "n": [3, 4], "mechanism": e.orr, "cohort": [0, 3]},
    )
    sums = {"ones": [[3, 2, 1]], "reports": [4], "mechanism": e.oue, "n_missing": 0}
    yield Site("BitCounts", ldp.BitCounts, sums)
    noisy = e.counts["URAP"]
    parts = {"y": noisy.y, "n": noisy.n, "mechanism": e.urap, "noise": noisy.noise}
    yield Site("Counts of URAP", ldp.Counts, parts)
    pair = (e.reports["KRR"], e.reports["Warner"])
    ids = (np.arange(60), np.arange(60))
    yield Site("JointCounts", ldp.JointCounts, {"reports": pair, "n": np.ones(60, int), "ids": ids})
    found = e.strings
    whole = {name: getattr(found, name) for name in ("survey", "pair", "first", "second", "string")}
    yield Site("DictionaryReports", ldp.DictionaryReports, whole | {"n_missing": 0})


def constructors_of_grid(named: set[str]) -> Iterator[Site]:
    """Mechanisms without a line above, with the arguments that they have in the grid."""
    kinds = {type(made).__name__: made for made in MECHANISMS.values()}
    for name in sorted({*kinds} & {*ldp.__all__} - named):
        made: Any = kinds[name]
        yield Site(name, type(made), {f.name: getattr(made, f.name) for f in fields(made)})


_FILE = {"state": ("file", "path")}
_STATES = count()


def _state_file(folder: Path) -> str:
    """The name of a file that is not there yet."""
    return str(folder / f"state-{next(_STATES)}")


def channel_sites(e: Examples) -> Iterator[Site]:
    Q = ldp.channels.Dense([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    yield Site("Dense", ldp.channels.Dense, {"Q": Q.Q.tolist()})
    yield Site("Stacked", ldp.channels.Stacked, {"channels": [Q, Q], "shares": [0.5, 0.5]})
    yield Site("Kronecker", ldp.channels.Kronecker, {"channels": [Q, Q]})
    test = {"null": "p = q", "statistic": 1.0, "df": 1.0, "method": "a test"}
    yield Site("TestResult.chi_square", ldp.TestResult.chi_square, test)
    yield Site("TestResult", ldp.TestResult, test | {"pvalue": 0.3})
    whole = e.table.test_independence().to_dict()
    yield Site("TestResult.from_dict", ldp.TestResult.from_dict, {"document": whole})


def mechanism_sites(e: Examples) -> Iterator[Site]:
    for name, m in e.mechanisms.items():
        values, reports = e.values[name], e.reports[name]
        listed = {"candidates": JOBS} if m.is_open else {"candidates": None}
        cohort = {"cohort": np.arange(60) % m.n_cohorts} if m.n_cohorts else {}
        given = {"values": values, "rng": RNG, "missing": "raise"}
        yield Site(f"{name}.privatize", m.privatize, given | cohort)
        sizes = len(m.labels(listed["candidates"]))
        p = np.full(sizes, 1.0 / sizes)
        yield Site(f"{name}.draw", m.draw, {"p": p, "n": 100, "rng": RNG} | listed)
        yield Site(f"{name}.labels", m.labels, dict(listed))
        yield Site(f"{name}.channel", m.channel, dict(listed))
        if m.n_bits:
            found = e.bits[name]
            ones = found.ones if m.n_cohorts else found.ones[0]
            nobs = found.reports if m.n_cohorts else int(found.reports[0])
            yield Site(f"{name}.counts", m.counts, {"n": ones, "nobs": nobs}, {"n": ("ones", "C")})
        else:
            yield Site(f"{name}.counts", m.counts, {"n": e.counts[name].vector(), "nobs": None})
        counted = {"counts": e.counts[name]} | listed
        also = {"counts": ("data",)}
        yield Site(f"{name}.likelihood", m.likelihood, counted, also)
        if m.n_bits:
            counted = {"counts": e.bits[name]} | listed
        yield Site(f"{name}.moments", m.moments, counted, also)
        cohorts = None if reports.cohort is None else reports.cohort
        text = m.report_labels(reports)
        if cohorts is not None:
            text = np.array([str(t).split(":")[-1] for t in text], dtype=object)
        parse = {"name": "report", "labels": text, "cohort": cohorts}
        if cohorts is None:
            parse.pop("cohort")
        parse.pop("name")
        yield Site(f"{name}.parse", partial(m.parse, "labels"), parse)
        client = {
            "entropy": Fresh(lambda: rng().bytes),
            "reports": 2,
            "max_epsilon": 100.0,
            "allow_no_privacy": False,
            "secret": bytes(32),
        }
        for kind in ("client", "collector"):
            make = getattr(m, kind)
            yield Site(f"{name}.{kind}", make, taken(make, client))
        kept = {"state": Fresh(partial(_state_file, e.folder)), "reports": 2}
        yield Site(f"{name}.client of a file", m.client, taken(m.client, kept), _FILE)
        collector = m.collector()
        one = {"value": values[0].item() if isinstance(values[0], np.generic) else values[0]}
        yield Site(f"{name}.collector().report", collector.report, one, {"value": ("values",)})
        many = {"values": values, "missing": "raise"}
        yield Site(f"{name}.collector().privatize", collector.privatize, many)
        yield Site(f"{name}.report", partial(_reported, m), one, {"value": ("values",)})
    pum = {"values": ["park", "centre"], "tags": {"home": ["park", None]}}
    yield Site("PUM.privatize", e.pum.privatize, pum | {"rng": RNG, "missing": "raise"})
    yield Site("PUM.preprocess", e.pum.preprocess, dict(pum))
    yield Site("PUM.channel", e.pum.channel, {"tags": {"home": {"park"}}})
    own = {"tags": {"home": {"park"}}, "entropy": Fresh(lambda: rng().bytes), "reports": 2}
    own |= {"max_epsilon": 10.0, "allow_no_privacy": False}
    yield Site("PUM.client", e.pum.client, taken(e.pum.client, own))
    client = e.pum.client({"home": {"park"}}, **taken(e.pum.client, {"reports": None}))
    yield Site("PUM.client().report", client.report, {"value": "park"}, {"value": ("values",)})
    words = {"values": ["abca", "cc"], "missing": "raise"}
    yield Site("survey.privatize", e.survey.privatize, words | {"rng": RNG})
    also = {"strings": ("candidates", "Q")}
    yield Site("survey.channel", e.survey.channel, {"strings": ["ab", "c"]}, also, slow=True)
    yield Site(
        "survey.client", e.survey.client, taken(e.survey.client, {"entropy": None, "reports": 2})
    )
    yield Site("survey.report", e.survey.collector().report, {"value": "abc"})
    yield Site("survey.collector().privatize", e.survey.collector().privatize, words)
    yield Site("lump", ldp.lump, {"reports": e.reports["KRR"], "keep": ["nurse"], "other": "Rest"})
    yield Site(
        "lump bits", ldp.lump, {"reports": e.reports["KRAPPOR"], "keep": ["nurse"], "other": "Rest"}
    )
    yield Site(
        "withhold",
        ldp.withhold,
        {"reports": e.reports["URR"], "sensitive": ["nurse"], "label": "withheld"},
    )
    other = ldp.KRR(JOBS, epsilon=0.5)
    weights: Any = {e.krr: 0.8, other: 0.2}
    yield Site("mixture", ldp.mixture, {"shares": weights}, {"shares": ("outputs",)})
    yield Site("by_column", ldp.by_column, {"columns": "design", "mechanisms": {"a": e.krr}})
    yield Site("repeated", partial(_again, e.krr), {"other": other}, {"other": ("others",)})
    after = {"other": dict.fromkeys(JOBS, other)}
    yield Site("repeated after", partial(_again, e.krr), after, {"other": ("others",)})
    questions = {"questions": {"job": e.krr, "late": e.warner}}
    yield Site("product", ldp.product, questions)
    both = ldp.product(questions["questions"])
    people = pd.DataFrame({"job": ["nurse", "driver"], "late": ["no", "yes"]})
    reports = both.privatize(people, rng())
    kept = ldp.KRR(2, 1.0) >> ldp.KRR(2, 1.0)
    yield Site("Mechanism.joint_law", kept.joint_law, {"waves": 2})
    waves = {"mechanisms": [kept, kept]}  # what joint_law calls them
    yield Site("Panel.of", ldp.mechanisms.Panel.of, waves, {"mechanisms": ("waves",)})
    panel = kept.joint_law(2)
    yield Site("Panel.epsilon_of", panel.epsilon_of, {"answers": 1})
    waves = [ldp.Reports([0, 1], kept), ldp.Reports([1, 1], kept)]
    yield Site("Panel.join", panel.join, {"waves": waves})
    yield Site("Product.privatize", both.privatize, {"values": people, "rng": RNG})
    yield Site("Product.split", both.split, {"reports": reports})
    for name, made in (
        ("recode", dict.fromkeys(JOBS, "x")),
        ("table", pd.DataFrame(np.eye(3), JOBS)),
    ):
        yield Site(f"KRR >> {name}", e.krr.__rshift__, {"other": made})
    yield Site("paired", ldp.paired, {"first": e.reports["KRR"], "second": e.reports["KRAPPOR"]})


def _again(first: ldp.Mechanism, other: Any) -> ldp.Mechanism:
    """Two reports about one answer."""
    return ldp.repeated(first, other)


def _reported(m: Any, value: object) -> Any:
    """The first report of a client of its own."""
    return m.client().report(value)


def count_sites(e: Examples) -> Iterator[Site]:
    frame = {"frame": e.table_frame, "mechanism": e.krr, "report": "report", "count": "count"}
    also = {"frame": ("column",)}
    yield Site("Counts.from_frame", ldp.Counts.from_frame, frame | {"missing": "raise"}, also)
    cohorts = pd.DataFrame({"report": [0, 1], "cohort": [0, 3], "n": [1, 2]})
    held = {"frame": cohorts, "mechanism": e.orr, "cohort": "cohort", "count": "n"}
    yield Site("Counts.from_frame cohorts", ldp.Counts.from_frame, held, also)
    bits = pd.DataFrame({"report": ["010", "111"]})
    yield Site("Counts.from_frame bits", ldp.Counts.from_frame, {"frame": bits, "mechanism": e.oue})
    table = {"table": [[3, 2], [1, 2], [4, 5]], "mechanisms": (e.krr, e.warner)}
    yield Site("JointCounts.from_table", ldp.JointCounts.from_table, table)
    for name in ("KRR", "KRAPPOR", "ORR"):
        yield Site(f"{name} tally", e.reports[name].tally, {"bits": False})
    yield Site("variable", e.joint.variable, {"v": 0})
    tabulated = datasets.load_gss().head(20)
    yield Site("expand", datasets.expand, {"table": tabulated, "count": "count"})
