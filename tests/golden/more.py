"""Samples of every mechanism, fits of them, tables of every engine, and rarer arguments."""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
from golden import objects
from golden.plain import masked, plain, scene, text
from grid import MECHANISMS, WORDS
from hostile.examples import JOBS

import ldpstats as ldp
from ldpstats import datasets, planning, privacy
from ldpstats.estimators import JOINT_ESTIMATORS

Scenes = Iterator[tuple[str, Any]]
Calls = dict[str, Callable[[], Any]]


def samples() -> Scenes:
    """What mechanisms, their clients and collectors draw, and how reports are written and read."""
    for name, mechanism in MECHANISMS.items():
        among = WORDS if mechanism.is_open else None
        labels = np.asarray(mechanism.labels(among))
        values = labels[np.random.default_rng(2).choice(len(labels), 40)]
        p = np.full(len(labels), 1.0 / len(labels))

        def drawn(mechanism: Any = mechanism, values: Any = values) -> Any:
            reports = mechanism.privatize(values, np.random.default_rng(5))
            written = [str(label) for label in mechanism.report_labels(reports)]
            return text(" ".join(written), 160)

        def collected(mechanism: Any = mechanism, values: Any = values) -> Any:
            reports = mechanism.collector(allow_no_privacy=True).privatize(values)
            return text(" ".join(map(str, mechanism.report_labels(reports))), 160)

        def reported(mechanism: Any = mechanism, among: Any = among) -> Any:
            return mechanism.client(allow_no_privacy=True).report(mechanism.labels(among)[0])

        def counted(mechanism: Any = mechanism, p: Any = p, among: Any = among) -> Any:
            counts = mechanism.draw(p, 500, np.random.default_rng(6), among)
            return counts.ones if isinstance(counts, ldp.BitCounts) else [counts.y, counts.n]

        def forward(mechanism: Any = mechanism, p: Any = p, among: Any = among) -> Any:
            return mechanism.channel(among).forward(p)

        parts = {"privatize": drawn, "collector": collected, "client": reported, "draw": counted,
                 "forward": forward}  # fmt: skip
        yield name, {part: scene(f"{name} {part}", call) for part, call in parts.items()}


def fits() -> Scenes:
    """Estimates of every mechanism, with their errors and intervals, by two methods."""
    for name in MECHANISMS:
        for method in ("mle", "inversion"):
            yield f"{name} {method}", scene(name, partial(_fitted, name, method))


def _fitted(name: str, method: str) -> Any:
    found = objects.fit(name, method)
    return {
        "estimate": found.params.to_numpy(),
        "bse": found.bse.to_numpy(),
        "linear": found.linear_params.to_numpy(),
        "intervals": found.conf_int().to_numpy(),
        "pvalues": found.pvalues.to_numpy(),
        "gap": found.gap,
        "fit": None if found.goodness_of_fit is None else str(found.goodness_of_fit),
        "first difference": found.difference(*found.params.index[:2]),
    }


def tables() -> Scenes:
    """The same survey in memory, in files, in a database and in Polars."""
    with tempfile.TemporaryDirectory() as folder, masked(folder):
        table, sheet = objects.collected(), objects.sheet()
        path = Path(folder)
        table.to_parquet(path / "sheets.parquet")
        table.to_csv(path / "sheets.csv", index=False)
        base = duckdb.connect()
        base.register("sheets", table)
        sources = {
            "memory": table,
            "parquet": str(path / "sheets.parquet"),
            "csv": str(path / "sheets.csv"),
            "database": base.sql("select * from sheets"),
            "polars": pl.from_pandas(table),
        }
        wheres = (
            "age > 40",
            "18 <= age < 30 and region == 'n'",
            "not (region in ['s'] or age < 50)",
            "town == 3 or weight > 1.5",
        )
        for name, source in sources.items():
            design: dict[str, Any] = {
                "weights": "weight",
                "strata": "region",
                "clusters": "town",
                "nested": True,
            }
            survey, designed = ldp.Survey(source, sheet), ldp.Survey(source, sheet, **design)
            calls = _analyses(source, survey, designed)
            calls |= {where: partial(_chosen, survey, where) for where in wheres}
            for what, call in calls.items():
                yield f"{name} {what}", scene(what, call)
        base.close()


def _analyses(source: Any, survey: Any, designed: Any) -> Calls:
    krr = objects.sheet().mechanisms["job"]
    return {
        "frequencies": lambda: survey.frequencies("job", by="region"),
        "table": lambda: survey.association("job", "late").table,
        "designed": lambda: designed.frequencies("job").summary_frame(),
        "grouped": lambda: designed.frequencies("job", by="region").summary_frame(),
        "regression": lambda: survey.regression("ill ~ age + region").fit().params,
        "dictionary": lambda: survey.dictionary("word", max_candidates=9).params,
        "personalized": lambda: survey.personalized("place").params,
        "count": lambda: ldp.count(source, krr, "job"),
        "replicates": lambda: designed.replicates("jackknife").frequencies("late").bse,
    }


def _chosen(survey: Any, where: str) -> Any:
    return survey.where(where).frequencies("late").summary_frame()


def arguments() -> Scenes:
    """Results asked with arguments that the other scenes leave at their defaults."""
    for name, call in _asked().items():
        yield name, scene(name, call)
        plt.close("all")


def _asked() -> Calls:
    s: Any = objects.survey()
    designed: Any = objects.survey("designed")
    krr = s.frequencies("job")
    pair, three = s.association("job", "late"), s.association("late", "ill", "region")
    jobs = ldp.FrequencyModel(s.reports("job"))
    both = ldp.AssociationModel(s.reports("job"), s.reports("late"), names=("job", "late"))

    def rng() -> Any:
        return np.random.default_rng(4)

    found: Calls = {
        f"conf_int {method}": partial(krr.conf_int, method=method)
        for method in ("wald", "wald-mle", "exact", "wilson", "none")
    }
    found |= {
        f"conf_int {how}": partial(krr.conf_int, simultaneous=how)
        for how in ("bonferroni", "scheffe", "sidak")
    }
    found |= {
        f"detected {how}": partial(krr.detected, method=how) for how in ("bonferroni", "holm", "bh")
    }
    found |= {
        f"independence {how}": partial(pair.test_independence, method=how, model=both)
        for how in ("score", "wald", "lr", "pearson", "fpe16")
    }
    found |= {f"joint {name}": partial(_table_by, both, name) for name in JOINT_ESTIMATORS}
    found |= {
        f"replicates {kind}": partial(_replicated, kind) for kind in ("jackknife", "bootstrap")
    }
    found |= {
        f"calibrate {how}": partial(_calibrated, how) for how in ("linear", "raking", "logit")
    }
    found |= {f"link {link}": partial(_linked, link) for link in ("logit", "probit", "cloglog")}
    formulas = ("ill ~ age * region", "pay ~ age + late", "age ~ ill + region", "job ~ region",
                "mood ~ age + region", "ill ~ late + job", "ill ~ np.log(age)", "ill ~ C(town)",
                "ill ~ age + nothing", "late ~ ill * age")  # fmt: skip
    found |= {f"formula {formula}": partial(_regressed, formula) for formula in formulas}
    found |= {
        f"fit {how}": partial(_fit_regression, {"method": how})
        for how in ("mle", "em", "newton", "corrected")
    }
    found |= {
        "cov cluster": partial(
            _fit_regression,
            {"cov_type": "cluster", "cov_kwds": {"groups": np.arange(objects.N) // 50}},
        )
    }
    found |= {
        "profile": lambda: krr.conf_int(method="profile", model=jobs),
        "bootstrap": lambda: krr.conf_int(method="bootstrap", model=jobs, rng=rng(), n_boot=59),
        "permuted": lambda: pair.test_independence(model=both, rng=rng(), n_permutations=29),
        "drawn": lambda: pair.test_independence("bootstrap", both, rng(), n_boot=9),
        "t_test": lambda: krr.t_test("nurse = driver"),
        "wald_test": lambda: krr.wald_test("nurse = driver, cook = 0.1"),
        "mean": lambda: krr.mean({"nurse": 1, "teacher": 2, "driver": 3, "cook": 4}),
        "quantile": lambda: s.frequencies("mood").quantile([0.25, 0.5]),
        "ratio": lambda: krr.ratio("nurse", "cook"),
        "conditional": lambda: pair.conditional("late"),
        "odds ratio": lambda: pair.odds_ratio(("nurse", "cook"), ("yes", "no")),
        "risks": lambda: [
            pair.risk_ratio(("nurse", "cook"), "yes"),
            pair.risk_difference(("nurse", "cook"), "yes"),
        ],
        "given": lambda: three.test_conditional_independence("region"),
        "homogeneity": lambda: three.test_homogeneity("region"),
        "collapse": lambda: three.collapse(["late", "ill"]).to_frame(),
        "mosaic": lambda: pair.plot(kind="mosaic"),
        "departures": lambda: pair.plot(kind="departures"),
        "two stages": lambda: designed.frequencies("job", by="region").test_equal(),
        "sure": lambda: designed.frequencies("job").test_distribution([0.4, 0.3, 0.2, 0.1]),
        "trim": lambda: designed.trim(upper=1.9).frequencies("job").summary(),
        "post": lambda: (
            designed.poststratify({"region": {"n": 900.0, "s": 1100.0}})
            .frequencies("job")
            .summary_frame()
        ),
        "posterior prior": lambda: (
            jobs.fit_posterior(rng(), ldp.priors.LogisticNormal(0.0, 1.0), draws=200).params
        ),
        "hashed grams": _hashed_grams,
        "datasets": lambda: [
            datasets.load_fair(),
            datasets.load_gss(),
            datasets.load_military(),
        ],
        "sum of counts": lambda: sum(
            (objects.reports("orr")[i::3].tally() for i in range(3)),
            start=MECHANISMS["orr"].no_counts(),
        ),
        "lump": lambda: ldp.lump(s.reports("job"), ["nurse"]).tally(),
        "withhold": lambda: ldp.withhold(s.reports("job"), ["nurse"]).tally(),
        "beliefs": lambda: privacy.posterior(MECHANISMS["krr-labels"], [0.4, 0.3, 0.2, 0.1]),
        "shuffled hashes": lambda: privacy.amplification(MECHANISMS["krappor"], 50, 1e-3),
        "sensitive design": lambda: planning.design_channel(
            (*JOBS, "cook"), 0.7, (0.4, 0.3, 0.2, 0.1), sensitive=["nurse", "cook"]
        ).summary(),
        "weak design": lambda: planning.design_channel(JOBS, 2.5).mechanism.to_dict(),
        "frontier": lambda: planning.plot_frontier(categories=JOBS, n=1000),
    }
    shown: Calls = {"krr": lambda: krr, "table": lambda: pair, "reports": lambda: s.reports("job"),
             "survey": lambda: s, "sheet": objects.sheet, "audit": MECHANISMS["krr-2"].audit,
             "mechanism": lambda: MECHANISMS["urr"], "test": pair.test_independence,
             "cramer": pair.cramers_v, "change": lambda: s.change("late", "again"),
             "regression": lambda: objects.regression("logit")}  # fmt: skip
    return found | {f"html of {name}": partial(_html, make) for name, make in shown.items()}


def _html(make: Callable[[], Any]) -> Any:
    return plain(make()._repr_html_())


def _table_by(model: Any, name: str) -> Any:
    found = model.fit(name)
    return [found.table, found.bse_table, found.message]


def _replicated(kind: str) -> Any:
    rng = None if kind == "jackknife" else np.random.default_rng(3)
    made = objects.survey("designed").replicates(kind, rng)
    return made.frequencies("job").summary_frame()


def _calibrated(how: str) -> Any:
    bounds = (0.3, 3.0) if how == "logit" else None
    margins = {"region": {"n": 1300.0, "s": 1200.0}}
    made = objects.survey("weighted").calibrate(margins, how, bounds)
    assert made.calibration is not None
    return [made.frequencies("job").summary_frame(), made.calibration.summary()]


def _linked(link: str) -> Any:
    X = pd.DataFrame({"const": 1.0, "age": objects.people()["age"] / 50})
    return ldp.PrivatizedLogit(objects.survey().reports("ill"), X, link=link).fit().summary()


def _regressed(formula: str) -> Any:
    return objects.survey().regression(formula).fit().summary()


def _fit_regression(how: dict[str, Any]) -> Any:
    found = objects.survey().regression("ill ~ age + region").fit(**how)
    return [found.params, found.bse, found.conf_int()]


def _hashed_grams() -> Any:
    survey = ldp.DictionarySurvey(4, 2, "abcd", epsilon=9.0, gram_mechanism="orr")
    words = np.random.default_rng(1).choice(["abca", "cc", "bab"], 3000)
    reports = survey.privatize(words, np.random.default_rng(2))
    return ldp.DictionaryModel(reports).fit(max_candidates=20).summary()
