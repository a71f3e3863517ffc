"""Objects of each kind, of which every member that needs no argument is recorded."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from grid import MECHANISMS
from hostile.examples import JOBS

import ldpstats as ldp
from ldpstats import devices, planning, privacy
from ldpstats.devices import library

METHODS = (
    "mle", "em", "cvxpy", "inversion", "normalized", "projected", "thresholded", "nnls",
    "smoothed", "em-fpe16", "minimax",
)  # fmt: skip
N = 2000


@cache
def people() -> pd.DataFrame:
    """Two thousand respondents."""
    rng = np.random.default_rng(7)
    job = rng.choice(np.array([*JOBS, "cook"]), p=[0.4, 0.3, 0.2, 0.1], size=N)
    table = pd.DataFrame({"job": job, "age": rng.integers(18, 80, N)})
    table["late"] = np.where(rng.random(N) < 0.2 + 0.4 * (job == "nurse"), "yes", "no")
    ill = 1 / (1 + np.exp(1 - table["age"] / 60 - (table["late"] == "yes")))
    table["ill"] = np.where(rng.random(N) < ill, "yes", "no")
    table["again"] = np.where(rng.random(N) < 0.2, "no", table["late"])
    table["mood"] = rng.choice(["low", "middle", "high"], p=[0.2, 0.5, 0.3], size=N)
    table["host"] = rng.choice([f"h{i}" for i in range(6)], p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05],
                               size=N)  # fmt: skip
    table["place"] = rng.choice(["centre", "park", "clinic"], N)
    table["word"] = rng.choice(["abca", "cc", "bab"], N)
    table["region"] = rng.choice(["n", "s"], N)
    table["town"] = np.arange(N) // 50
    table["weight"] = rng.uniform(0.5, 2, N)
    table["pay"] = 10 + table["age"] / 20 + 2 * (job == "nurse") + rng.normal(size=N)
    return table


@cache
def sheet() -> ldp.Questionnaire:
    jobs, answers = (*JOBS, "cook"), ("no", "yes")
    return ldp.Questionnaire(
        {
            "job": ldp.KRR(jobs, epsilon=2.0),
            "late": ldp.KRR(answers, epsilon=2.0),
            "ill": ldp.Warner(epsilon=2.0),
            "again": ldp.KRR(answers, epsilon=2.0),
            "mood": ldp.GeometricResponse(("low", "middle", "high"), epsilon=1.5),
            "host": ldp.ORR(8, 16, epsilon=3.0),
            "place": ldp.PUM(ldp.URR(("centre", "park", "clinic"), {"clinic"}, 1.0), ("home",)),
            "word": ldp.DictionarySurvey(4, 2, "abc", epsilon=8.0),
            "region": ldp.Observed(("n", "s")),
        }
    )


@cache
def collected() -> pd.DataFrame:
    tags = {"place": {"home": np.array(["park"] * N, dtype=object)}}
    table: pd.DataFrame = sheet().privatize(people(), np.random.default_rng(8), tags=tags)
    return table


@cache
def survey(kind: str = "plain") -> ldp.Survey:
    design: dict[str, Any] = {"plain": {}, "weighted": {"weights": "weight"}}.get(
        kind, {"weights": "weight", "strata": "region", "clusters": "town", "nested": True}
    )
    made = ldp.Survey(collected(), sheet(), **design)
    if kind == "calibrated":
        return made.calibrate({"region": {"n": 1300.0, "s": 1200.0}})
    if kind == "replicated":
        return made.replicates("bootstrap", np.random.default_rng(3), 30)
    return made


def reports(name: str, n: int = 1500) -> ldp.Reports:
    """Reports of a mechanism of the grid."""
    mechanism = MECHANISMS[name]
    labels = ("apple", "pear", "plum") if mechanism.is_open else mechanism.labels()
    rng = np.random.default_rng(9)
    p = np.arange(len(labels), 0, -1.0)
    return mechanism.privatize(np.asarray(labels)[rng.choice(len(labels), n, p=p / p.sum())], rng)


def fit(name: str, method: str | None = None, **how: Any) -> Any:
    among = ("apple", "pear", "plum") if MECHANISMS[name].is_open else None
    return ldp.FrequencyModel(reports(name), among).fit(method, **how)


@cache
def regression(kind: str) -> Any:
    formulas = {
        "logit": "ill ~ age + region",
        "private": "ill ~ age + late",
        "corrected": "pay ~ age + job",
        "multinomial": "job ~ age",
        "offset": "ill ~ age",
    }
    if kind == "ordered":
        X = people()[["age"]] / 50
        jobs = survey().reports("mood")
        return ldp.PrivatizedOrderedModel(jobs, X).fit()
    if kind == "ols":
        X = pd.DataFrame({"const": 1.0, "age": people()["age"] / 50})
        scores = [1.0, 2.0, 4.0, 8.0]
        return ldp.PrivatizedOLS(survey().reports("job"), X, scores=scores).fit()
    if kind == "probit":
        X = pd.DataFrame({"const": 1.0, "age": people()["age"] / 50})
        return ldp.PrivatizedLogit(survey().reports("ill"), X, link="probit").fit()
    if kind in ("weighted", "designed"):
        return survey(kind).regression("ill ~ age + region").fit()
    if kind == "jeffreys":
        return survey().regression("ill ~ age + region").fit(penalty="jeffreys")
    if kind == "robust":
        return survey().regression("ill ~ age + region").fit(cov_type="HC0")
    return survey().regression(formulas[kind]).fit()


def unknown() -> Any:
    cheats = devices.flip(devices.unknown("cheating"))
    rng, groups = np.random.default_rng(4), []
    for i, q in enumerate((0.25, 0.6)):
        forced = devices.flip(q).when({"heads": "yes"}, otherwise=devices.truth)
        made: Any = cheats.when({"heads": "no", "tails": forced}).mechanism(("no", "yes"))
        groups.append(made.simulate(np.array_split(people()["late"], 2)[i], rng, cheating=0.2))
    return ldp.FrequencyModel(groups)


def dictionary() -> Any:
    return survey().dictionary("word", max_candidates=20, false_grams=5.0)


def tables() -> dict[str, Callable[[], Any]]:
    s = survey()
    return {
        "two questions": lambda: s.association("job", "late"),
        "two questions by inversion": lambda: s.association("job", "late", method="inversion"),
        "three questions": lambda: s.association("late", "ill", "region"),
        "one open": lambda: s.association(
            "host", "late", candidates=[("h0", "h1", "h2"), None], other=("product", False)
        ),
        "weighted": lambda: survey("weighted").association("job", "late"),
        "designed": lambda: survey("designed").association("job", "late"),
        "replicated": lambda: survey("replicated").association("job", "late"),
        "matrix": lambda: s.associations(("job", "late", "region")),
        "change": lambda: s.change("late", "again"),
        "joint counts": lambda: s.joint_counts("job", "late"),
    }


def frequencies() -> dict[str, Callable[[], Any]]:
    s = survey()
    found: dict[str, Callable[[], Any]] = {
        f"krr {method}": partial(fit, "krr-labels", method) for method in METHODS
    }
    found |= {
        "krr constrained": lambda: fit(
            "krr-labels",
            constraints=ldp.estimators.constraints.known_margin({(0, 1): 0.7}),
        ),
        "krr linear": lambda: fit("krr-labels", cov_type="linear"),
        "bits composite": lambda: fit("krappor", "composite"),
        "rappor lasso": lambda: fit("rappor", "lasso"),
        "rappor unweighted": lambda: fit("rappor", "unweighted"),
        "missing": lambda: s.frequencies("job"),
        "open": lambda: s.frequencies("host", candidates=("h0", "h1", "h2")),
        "open incomplete": lambda: s.frequencies(
            "host", candidates=("h0", "h1", "h2"), incomplete=True
        ),
        "ordered": lambda: s.frequencies("mood"),
        "grouped": lambda: s.frequencies("job", by="region"),
        "grouped late": lambda: s.frequencies("late", by=["region"]),
        "trend": lambda: ldp.Survey(
            collected().assign(year=2020 + np.arange(N) % 4), sheet()
        ).trend("job", "year"),
        "weighted": lambda: survey("weighted").frequencies("job"),
        "weighted grouped": lambda: survey("weighted").frequencies("job", by="region"),
        "designed": lambda: survey("designed").frequencies("job", by="region"),
        "calibrated": lambda: survey("calibrated").frequencies("job"),
        "replicated": lambda: survey("replicated").frequencies("job", by="region"),
        "personalized": lambda: s.personalized("place"),
        "parameters": lambda: unknown().fit(),
        "two samples": lambda: ldp.two_sample_test(s.reports("late"), s.reports("again")),
        "homogeneity": lambda: ldp.homogeneity_test([s.reports("late"), s.reports("again")]),
    }
    for name in ("urr", "urap", "subsets", "hadamard", "projective", "square-wave", "orappor",
                 "rappor", "device-cohorts", "mixture", "product", "custom-wide"):  # fmt: skip
        found[name] = partial(fit, name)
    return found


def posteriors() -> dict[str, Callable[[], Any]]:
    def drawn(model: Any, **how: Any) -> Any:
        return model.fit_posterior(np.random.default_rng(1), draws=200, **how)

    s = survey()
    return {
        "frequencies": lambda: drawn(ldp.FrequencyModel(s.reports("job"))),
        "prior": lambda: drawn(
            ldp.FrequencyModel(s.reports("job")), prior=ldp.priors.Dirichlet(2.0)
        ),
        "parameters": lambda: drawn(unknown()),
        "grouped": lambda: s.posterior("late", np.random.default_rng(1), by="region", draws=200),
        "table": lambda: drawn(ldp.AssociationModel(s.reports("late"), s.reports("ill"))),
        "logit": lambda: drawn(regression("logit").model),
    }


def regressions() -> dict[str, Callable[[], Any]]:
    kinds = ("logit", "probit", "private", "corrected", "multinomial", "ordered", "ols",
             "weighted", "designed", "jeffreys", "robust")  # fmt: skip
    found: dict[str, Callable[[], Any]] = {kind: partial(regression, kind) for kind in kinds}
    found |= {
        "margins": lambda: regression("logit").get_margeff(),
        "margins of private": lambda: regression("private").get_margeff(),
        "predictions": lambda: regression("logit").predictions(by="region"),
        "predictions of private": lambda: regression("private").predictions(
            by="late", kind="adjusted"
        ),
    }
    return found


def collecting() -> dict[str, Callable[[], Any]]:
    ledger = privacy.Ledger(limit=50.0)
    ledger.spend_sheet(sheet(), wave="2024")
    ledger.spend("job", MECHANISMS["krr-labels"], wave="2025")
    return {
        "questionnaire": sheet,
        "survey": survey,
        "designed survey": lambda: survey("designed"),
        "calibrated survey": lambda: survey("calibrated"),
        "calibration": lambda: survey("calibrated").calibration,
        "replicated survey": lambda: survey("replicated"),
        "ledger": lambda: ledger,
        "audit": lambda: MECHANISMS["rappor"].audit(),
        "amplification": lambda: privacy.amplification(MECHANISMS["krr-labels"], 200, 1e-3),
        "uldp": lambda: privacy.uldp(MECHANISMS["urr"], ["nurse"]),
        "osldp": lambda: privacy.osldp(MECHANISMS["urr"], ["nurse"]),
        "dictionary": dictionary,
        "dictionary survey": lambda: sheet().question("word"),
        **{
            f"{kind} of {name}": partial(_counted, name, kind)
            for name in ("krr-labels", "krappor", "rappor", "urap", "orr")
            for kind in ("reports", "tally", "bits")
            if kind != "bits" or MECHANISMS[name].n_bits
        },
    }


def _counted(name: str, kind: str) -> Any:
    made = reports(name, 60)
    if kind == "reports":
        return made
    return made.tally(bits=True) if kind == "bits" else made.tally()


def plans() -> dict[str, Callable[[], Any]]:
    krr, p = MECHANISMS["krr-labels"], (0.4, 0.3, 0.2, 0.1)
    table = pd.DataFrame([[0.3, 0.2], [0.1, 0.4]], ["no", "yes"], ["no", "yes"])
    two = [ldp.KRR(("no", "yes"), 1.0)] * 2
    return {
        "precision": lambda: planning.precision(krr, p, 1000),
        "detectable": lambda: planning.minimum_detectable(
            krr, planning.ValueTest(p, "cook", 0.05), 1000
        ),
        "value test": lambda: planning.ValueTest(p, "cook", 0.05),
        "independence": lambda: planning.power(two, planning.IndependenceTest(table), 1000),
        "design": lambda: planning.design_channel(JOBS, 1.0, prior=(0.5, 0.3, 0.2)),
        "recommend": lambda: planning.recommend(JOBS, 1.0),
        "recommend design": lambda: planning.recommend_design(10, 1000, 2.0),
        "manipulation": lambda: planning.manipulation(krr, 0.01, p, n=1000),
        "theta": lambda: planning.best_theta(5, 2, 1.0),
        "dictionary": lambda: planning.plan_dictionary(
            4, "abc", 6.0, 1000, grams=(2,), shares=(0.3,), max_candidates=50
        ),
        "personalized": lambda: planning.personalized_bound(
            p[1:], p[1:], [(0.5, 0.5)], [(0.9, 0.1)]
        ),
        "card": lambda: devices.roll(6).when(
            {1: "yes", 6: "no"}, otherwise=devices.truth
        ),
        "kuk": lambda: library.kuk(0.8, 0.2),
        "crosswise": lambda: library.crosswise(0.25).mechanism(("no", "yes")),
        "forced dice": lambda: library.forced_dice().mechanism(("no", "yes")),
        "unknown": lambda: library.cheating_detection("1/4", "1/6"),
        **{f"prior {name}": partial(_prior, name) for name in ("Beta", "Dirichlet", "Normal")},
        **{f"channel {n}": partial(_channel, n) for n in (
            "krr-labels", "krappor", "hadamard", "geometric", "square-wave", "product", "orr"
        )},
    }  # fmt: skip


def _prior(name: str) -> Any:
    given = {"Beta": (2.0, 3.0), "Dirichlet": ([1.0, 2.0, 3.0],), "Normal": (0.0, 1.0)}
    return getattr(ldp.priors, name)(*given[name])


def _channel(name: str) -> Any:
    mechanism = MECHANISMS[name]
    return mechanism.channel(("apple", "pear") if mechanism.is_open else None)


def mechanisms() -> dict[str, Callable[[], Any]]:
    return {name: partial(MECHANISMS.get, name) for name in MECHANISMS}


FAMILIES: dict[str, Callable[[], dict[str, Callable[[], Any]]]] = {
    "frequencies": frequencies,
    "tables": tables,
    "regressions": regressions,
    "posteriors": posteriors,
    "collecting": collecting,
    "plans": plans,
    "mechanisms": mechanisms,
}
