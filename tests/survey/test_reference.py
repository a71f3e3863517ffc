"""Surveys against R's package survey: designs, single units, replicates, calibration, tests.

The transcripts, the tables they are of and the script that made them are in `reference/survey`.
Answers are `Observed`: what R estimates from true answers is what is estimated here. Of each
survey every figure is compared that its transcript has.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import ldpstats as ldp

FOLDER = Path(__file__).parents[1] / "reference" / "survey"

JOBS = ["cook", "driver", "nurse", "teacher"]

ANSWERS = {"job": ldp.Observed(JOBS), "health": ldp.Observed(["good", "poor"])}

STAGES: dict[str, Any] = {"strata": "stratum", "clusters": ["psu", "ssu"], "nested": True}

DESIGNS: dict[str, dict[str, Any]] = {
    "weights": {},
    "elements_fpc": {"strata": "stratum", "fpc": "residents"},
    "units": {"clusters": "unit"},
    "clusters": {"strata": "stratum", "clusters": "psu", "nested": True},
    "clusters_fpc": {"strata": "stratum", "clusters": "psu", "nested": True, "fpc": "fpc1"},
    "two_stages_fpc": STAGES | {"fpc": ["fpc1", "fpc2"]},
    "persons_fpc": {
        "strata": "stratum",
        "clusters": "psu",
        "nested": True,
        "fpc": ["fpc1", "persons"],
    },
    "three_stages_fpc": STAGES | {"fpc": ["fpc1", "fpc2", "fpc3"]},
}

UNCORRECTED = ["weights", "units", "clusters"]

SINGLE: dict[str, dict[str, Any]] = {
    "units_fpc": {"strata": "lone", "clusters": "psu", "nested": True, "fpc": "fpc1"},
    "elements_fpc": {"strata": "alone", "fpc": "residents"},
}

RULES = {"certainty": "certainty", "adjust": "centered", "average": "average"}  # R's name, ours

UNITS = np.array([3, 5, 3, 2])

GIVEN: dict[str, dict[str, Any]] = {
    "jk1": {"kind": "JK1"},
    "jkn": {"kind": "JKn", "rscales": np.repeat((UNITS - 1) / UNITS, UNITS)},
    "brr": {"kind": "BRR"},
    "fay": {"kind": "Fay", "rho": 0.3},
    "boot": {"kind": "bootstrap", "scale": 1 / 20},
    "sdr": {"kind": "successive-difference"},
    "other": {"kind": "other", "scale": 0.07, "rscales": 1 / np.arange(1, 21)},
}

WAYS: dict[str, dict[str, Any]] = {
    "raking": {"method": "raking"},
    "linear": {"method": "linear"},
    "linear_bounds": {"method": "linear", "bounds": (0.87, 1.12)},
    "logit": {"method": "logit", "bounds": (0.5, 2.0)},
    "poststratified": {},
}


@cache
def people() -> pd.DataFrame:
    table = pd.read_csv(FOLDER / "people.csv")
    factors = pd.read_csv(FOLDER / "replicates.csv")
    whole = factors.mul(table["weight"], axis=0).add_prefix("w_")
    return pd.concat([table, factors, whole], axis=1)


@cache
def transcript(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def survey(design: Mapping[str, Any]) -> ldp.Survey:
    return ldp.Survey(people(), ANSWERS, weights="weight", **design)


def given(name: str, combined: bool = True) -> ldp.Survey:
    """The survey of replicate weights of `GIVEN`; or of factors, not combined with weights."""
    kind = name.removesuffix("_mse")
    columns = "boot_*" if kind == "other" else f"{kind}_*"
    columns = f"w_{columns}" if combined else columns
    how = GIVEN[kind] | {"mse": name.endswith("_mse"), "combined": combined}
    return survey({"replicate_weights": ldp.ReplicateWeights(columns, **how)})


def same(found: Any, expected: Any) -> None:
    """Equal to 1e-8 of the largest; covariances of nothing are zero to the rounding of R."""
    wanted = np.asarray(expected, dtype=float)
    got = np.asarray(found, dtype=float).reshape(wanted.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-10 * np.abs(wanted).max())


def variances(expected: Mapping[str, Any]) -> Any:
    return np.diagonal(np.atleast_2d(expected["cov"]))


def check(survey: ldp.Survey, r: Mapping[str, Any]) -> None:
    """Every figure of the transcript."""
    jobs, regions = survey.frequencies("job"), survey.frequencies("job", by="region")
    order = np.arange(12).reshape(4, 3).T.ravel()  # R lists the regions of a job first
    same(jobs.params, r["share"]["value"])
    same(jobs.cov_params(), r["share"]["cov"])
    if r["by_region"]:
        same(regions.params, np.array(r["by_region"]["value"])[order])
        same(regions.cov_params(), np.array(r["by_region"]["cov"])[np.ix_(order, order)])
    if "total" in r:
        same(jobs.totals()["estimate"], r["total"]["value"])
        same(jobs.totals()["se"] ** 2, variances(r["total"]))
    if "confint" in r:
        same(jobs.df, [r["df"]] * 4)
        same(jobs.conf_int(method="wald", clip=False), r["confint"])
        same(jobs.deff()["deff"], r["deff"])
    if "difference" in r:
        north = regions.differences(reference="south").loc["north"]
        same(north["estimate"], r["difference"]["value"])
        same(north["se"] ** 2, variances(r["difference"]))
    if "domain" in r:
        found = survey.where("sex == 'f' and age != '65+'").frequencies("job")
        same(found.params, r["domain"]["value"])
        same(found.cov_params(), r["domain"]["cov"])
        if "domain_total" in r:
            same(found.totals()["se"] ** 2, variances(r["domain_total"]))
            same(found.df, [r["domain"]["df"]] * 4)
    if "missing" in r:
        found = survey.frequencies("health")
        same(found.params, r["missing"]["value"])
        same(found.cov_params(), r["missing"]["cov"])
    if "ratio" in r:
        ratio = jobs.ratio("nurse", "cook")
        same([ratio["estimate"]], r["ratio"]["value"])
        same([ratio["se"] ** 2], variances(r["ratio"]))
    if "score" in r:
        score = jobs.mean([1, 2, 3, 4])
        same([score["estimate"]], r["score"]["value"])
        same([score["se"] ** 2], variances(r["score"]))
        by_sex = survey.frequencies("job", by="sex").mean([1, 2, 3, 4])
        same(by_sex["estimate"], r["score_by_sex"]["value"])
        same(by_sex["se"] ** 2, r["score_by_sex"]["variance"])


@pytest.mark.parametrize("name", DESIGNS)
def test_designs(name):
    check(survey(DESIGNS[name]), transcript("designs")[name])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", SINGLE)
def test_strata_of_a_single_unit(name, rule):
    made = survey(SINGLE[name] | {"single_unit": RULES[rule]})
    r = transcript("single_units")[f"{name}_{rule}"]
    if name == "elements_fpc" and rule == "average":
        # R's svyby averages over the strata of all, its svymean of a domain over the domain's, as
        # here: test_design.py
        r = r | {"by_region": None}
    check(made, r)


@pytest.mark.parametrize("name", [*GIVEN, "jkn_mse", "brr_mse", "other_mse"])
def test_replicate_weights(name):
    r = transcript("replicates")[name]
    check(given(name), r)
    if name == "fay":
        same(given(name, combined=False).frequencies("job").bse ** 2, variances(r["share"]))


@pytest.mark.parametrize("name", ["units", "clusters_fpc", "elements_fpc"])
def test_jackknives_of_a_design(name):
    made = survey(DESIGNS[name]).replicates("jackknife")
    check(made, transcript("replicates")[f"jackknife_{name}"])


# -- calibrated weights ----------------------------------------------------------------------------
CALIBRATED = [
    *(f"clusters-{way}" for way in WAYS),
    *("elements_fpc-raking", "elements_fpc-logit", "two_stages_fpc-raking"),
    *("jkn-linear", "jkn-logit", "jkn-poststratified", "boot_mse-raking"),
]


@pytest.mark.parametrize("name", CALIBRATED)
def test_calibrated_weights(name):
    base, way = name.split("-")
    r = transcript("calibration")
    plain = survey(DESIGNS[base]) if base in DESIGNS else given(base)
    if way == "poststratified":
        made = plain.poststratify({"region": r["margins"]["region"]})
    else:
        made = plain.calibrate(r["margins"], **WAYS[way])
    assert made.calibration is not None and made.calibration.steps[0].deviation <= 1e-12
    check(made, r[f"{base}_{way}"])


# -- Rao-Scott and Wald tests ----------------------------------------------------------------------
def independence(survey: ldp.Survey, r: Mapping[str, Any]) -> None:
    """With design effects at the observed table, as R has them; ours are under independence.

    Nor does a correction for finite populations enter our test: designs with fpc are left out.
    """
    table, F, chi2 = survey.association("job", "region"), r["chisq_F"], r["chisq"]
    second = table.test_independence(method="second", effects="observed")
    same([second.statistic, *second.df, second.pvalue], [F["statistic"], *F["df"], F["pvalue"]])
    first = table.test_independence(method="first-chi2", effects="observed")
    same([first.statistic, first.df, first.pvalue], [6 * F["statistic"], 6, chi2["pvalue"]])


@pytest.mark.parametrize("name", UNCORRECTED)
def test_tests_of_designs(name):
    made, r = survey(DESIGNS[name]), transcript("designs")[name]
    independence(made, r)
    table = made.association("job", "region")
    for key, method in [("wald", "wald"), ("adj_wald", "wald-adjusted")]:
        test = table.test_independence(method=method)
        same(
            [test.statistic, *test.df, test.pvalue],
            [r[key]["statistic"], *r[key]["df"], r[key]["pvalue"]],
        )
    # R has Pearson's statistic of totals, N / n times ours, and so are its design effects; its
    # p-value is of their weighted sum of chi-squares, here they are corrected with F laws
    pearson, effects, nu = r["fit"]["statistic"], np.array(r["fit"]["lambda"]), r["df"]
    d = effects.sum() ** 2 / np.sum(effects**2)
    for method, df in [("first", 3), ("second", d)]:
        test = made.frequencies("job").test_distribution([0.4, 0.3, 0.2, 0.1], method=method)
        same([test.statistic, *test.df], [pearson / effects.sum(), df, df * nu])


@pytest.mark.parametrize("name", ["jkn", "brr"])
def test_tests_by_replication(name):
    independence(given(name), transcript("replicates")[name])


# Warner's model and the unrelated question in samples without replacement: published formulas.
#
# From a report z of person i (1 for yes) comes r_i, unbiased for the true y_i, and V_i, unbiased
# for the variance of r_i over the randomisation. The total is estimated by sum r_i / pi_i, and
# its variance by the Horvitz-Thompson formula of the r_i plus sum V_i / pi_i (Chaudhuri, Adhikary
# and Dihidar 2000, Metrika 52; Arcos, Rueda and Singh 2015, Quality & Quantity 49). Warner
# (1965): r = (z - (1 - p)) / (2p - 1), V = p (1 - p) / (2p - 1)^2. Horvitz, Shah and Simmons
# (1967), Greenberg et al. (1969): r = (z - (1 - p) a) / p, V = r (r - 1), a the share of the
# innocuous yes.

Array = NDArray[np.float64]

Device = Callable[[Array], tuple[Array, Array]]


def warner(z: Array, p: float) -> tuple[Array, Array]:
    return (z - (1 - p)) / (2 * p - 1), np.full(z.shape, p * (1 - p) / (2 * p - 1) ** 2)


def unrelated(z: Array, p: float, a: float) -> tuple[Array, Array]:
    r = (z - (1 - p) * a) / p
    return r, r * (r - 1)


def horvitz_thompson(r: Array, V: Array, first: Array, joint: Array) -> tuple[float, float]:
    """Total of yes and its variance, with any probabilities of inclusion, as a double sum."""
    expanded = r / first
    differ = 1 - np.outer(first, first) / joint  # on the diagonal 1 - pi_i
    return expanded.sum(), expanded @ differ @ expanded + (V / first).sum()


def stratified(size: NDArray[np.int64], sampled: NDArray[np.int64]) -> tuple[Array, Array]:
    """Probabilities of inclusion, of one person and of two, drawn at random in each stratum."""
    at = np.repeat(np.arange(size.size), sampled)
    first = (sampled / size)[at]
    within = (sampled * (sampled - 1) / (size * (size - 1)))[at]
    joint = np.where(at[:, None] == at, within[:, None], np.outer(first, first))
    np.fill_diagonal(joint, first)
    return first, joint


CASES: list[tuple[ldp.Mechanism, Device]] = [
    (ldp.Warner(epsilon=np.log(0.7 / 0.3)), lambda z: warner(z, 0.7)),
    (ldp.Warner(epsilon=np.log(0.9 / 0.1)), lambda z: warner(z, 0.9)),
    (ldp.UnrelatedQuestion(p=0.6, prevalence=0.25), lambda z: unrelated(z, 0.6, 0.25)),
    (ldp.UnrelatedQuestion(p=0.8, prevalence=0.9), lambda z: unrelated(z, 0.8, 0.9)),
]

BY_NAME = [f"{type(mechanism).__name__}-{mechanism.epsilon:.2f}" for mechanism, _ in CASES]


def reports(n: int) -> Array:
    return (np.random.default_rng(n).random(n) < 0.4).astype(float)


def words(z: Array) -> NDArray[np.str_]:
    return np.where(z == 1, "yes", "no")


@pytest.mark.parametrize(("mechanism", "device"), CASES, ids=BY_NAME)
def test_stratified_samples(mechanism, device):
    size, sampled = np.array([50, 200, 31]), np.array([40, 25, 11])
    z = reports(int(sampled.sum()))
    table = pd.DataFrame(
        {
            "ill": words(z),
            "h": np.repeat(["a", "b", "c"], sampled),
            "w": np.repeat(size / sampled, sampled),
            "N": np.repeat(size, sampled),
        }
    )
    survey = ldp.Survey(table, {"ill": mechanism}, weights="w", strata="h", fpc="N")
    found = survey.frequencies("ill")
    total, variance = horvitz_thompson(*device(z), *stratified(size, sampled))
    N = size.sum()
    assert found.params["yes"] == pytest.approx(total / N, rel=1e-10)
    assert found.bse["yes"] ** 2 == pytest.approx(variance / N**2, rel=1e-10)


# What svy makes of the indicators of true answers, beside what is estimated here.

JOBS_EXPORTING = ["cook", "driver", "nurse"]


def table() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    unit = np.repeat(np.arange(24), 10)
    job = rng.choice(JOBS_EXPORTING, 240, p=[0.5, 0.3, 0.2])
    public = {"h": unit // 8, "town": unit % 8, "w": rng.uniform(1, 9, 240).round(2)}
    public |= {
        "N": 900,
        "sex": rng.choice(["f", "m"], 240),
        "one": np.where(unit < 23, unit // 8, 9),
    }
    sheet = ldp.Questionnaire(
        {"job": ldp.KRR(JOBS_EXPORTING, epsilon=2.0), "ill": ldp.Warner(epsilon=1.0)}
    )
    ill = np.where(job == "cook", "yes", "no")
    found = sheet.privatize(pd.DataFrame(public | {"job": job, "ill": ill}), rng)
    found.loc[:5, "ill"] = None
    return found


def survey_exporting(**design: Any) -> ldp.Survey:
    sheet = {"job": ldp.KRR(JOBS_EXPORTING, epsilon=2.0), "ill": ldp.Warner(epsilon=1.0)}
    return ldp.Survey(table(), sheet, weights="w", **design)


@pytest.mark.parametrize(
    "design",
    [
        {},
        {"strata": "h"},
        {"strata": "h", "clusters": "town"},
        {"strata": "h", "clusters": ["town", "sex"]},
        {"strata": "one", "clusters": "town", "single_unit": "average"},
        {"strata": "one", "clusters": "town", "single_unit": "centered"},
    ],
    ids=str,
)
def test_svy_estimates_the_same(design):
    pytest.importorskip("svy", reason="svy is not installed")
    own = survey_exporting(**design)
    sample = own.to_svy(["job", "ill"])
    for name in ("job", "ill"):
        expected, totals = own.frequencies(name), own.frequencies(name).totals()
        for label in expected.params.index:
            column = f"{name}_{label}"
            mean, total = (
                method(column, drop_nulls=True).to_polars().row(0, named=True)
                for method in (sample.estimation.mean, sample.estimation.total)
            )
            found = [mean["est"], mean["se"], mean["df"], total["est"], total["se"]]
            rows = expected.params, expected.bse, expected.df, totals["estimate"], totals["se"]
            wanted = [row[label] for row in rows]
            if own.single_unit == "centered":  # svy has another centre for totals
                wanted[-1] = found[-1]
            np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_domains():
    pytest.importorskip("svy", reason="svy is not installed")
    own = survey_exporting(strata="h", clusters="town")
    found = own.to_svy("job").estimation.mean("job_nurse", by="sex").to_polars()
    expected = own.frequencies("job", by="sex")
    np.testing.assert_allclose(found["est"], expected.params.xs("nurse", level="job"), rtol=1e-10)
    np.testing.assert_allclose(found["se"], expected.bse.xs("nurse", level="job"), rtol=1e-10)


@pytest.mark.parametrize("mse", [False, True])
def test_replicate_weights_exporting(mse):
    pytest.importorskip("svy", reason="svy is not installed")
    rng, rows = np.random.default_rng(3), table()
    rows[[f"again_{i}" for i in range(12)]] = rng.poisson(1.0, (len(rows), 12))
    given = ldp.ReplicateWeights("again_*", "other", scale=0.1, mse=mse, combined=False)
    own = ldp.Survey(rows, {"ill": ldp.Warner(epsilon=1.0)}, weights="w", replicate_weights=given)
    how = {"method": "replication", "variance_center": "estimate" if mse else "rep_mean"}
    mean = own.to_svy("ill").estimation.mean("ill_yes", drop_nulls=True, **how).to_polars()
    expected = own.frequencies("ill")
    wanted = [expected.params["yes"], expected.bse["yes"], expected.df["yes"]]
    np.testing.assert_allclose(mean.select("est", "se", "df").row(0), wanted, rtol=1e-10)


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (
            lambda: ldp.Survey(table(), {"ill": ldp.Warner(epsilon=1.0)}),
            "without a design: name its weigh",
        ),
        (lambda: survey_exporting().where("sex == 'f'"), "take the whole survey"),
        (lambda: survey_exporting(strata="h", fpc="N"), "leave fpc= out"),
        (lambda: survey_exporting().trim(upper=8), "calibrate with svy"),
        (lambda: survey_exporting(clusters="town").replicates("jackknife"), "of its own"),
        (lambda: survey_exporting(strata="one", single_unit="certainty"), "choose 'average'"),
    ],
)
def test_what_svy_would_estimate_otherwise_is_refused(own, words):
    pytest.importorskip("svy", reason="svy is not installed")
    with pytest.raises(ldp.NotAvailable, match=words):
        own().to_svy("ill")


def test_without_svy(monkeypatch):
    monkeypatch.setitem(sys.modules, "svy", None)
    with pytest.raises(ldp.NotAvailable, match=r"pip install 'ldpstats\[svy\]'"):
        survey_exporting().to_svy("ill")
