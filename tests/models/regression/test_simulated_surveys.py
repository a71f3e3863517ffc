"""Simulated surveys: sizes of tests, coverage of intervals, bias; stored ranks of posteriors.

`benchmarks/regressions.py` has every setting; here are one or two of each kind.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, softmax
from simulate import at_least, at_most, near, repeat

import ldpstats as ldp
from benchmarks.posteriors.regressions import CONTROLS, RANKS, SETTINGS, STORED, pvalues, ranks
from benchmarks.regression.clusters import Clustered
from benchmarks.regression.predictors import Predictor
from benchmarks.regression.responses import Categories, Margins, Slope
from benchmarks.regression.surveys import ALPHA, Cell, Said, take

pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws


Replications = Callable[..., int]


def surveys(cell: Cell, R: int) -> Said:
    taken = take(cell, R, seed=1)
    assert not taken.failures, taken.failures[0]
    return taken.said


def held(said: Said, name: str) -> Any:
    """Share of the surveys whose intervals hold the truth, for each coefficient."""
    ends = said[name]
    truth = said.get("truth", 0.0)
    return np.mean((ends[..., 0] <= truth) & (truth <= ends[..., 1]), axis=0)


SMALL: list[Cell] = [
    Slope(200, 2.0, 0.8, mechanism="RAPPOR"),
    Categories(300, 3.0, "k-RR", (0.0, 0.0), (0.2, -0.2)),
    Margins(500, 2.0, 3),
    Predictor("logit", "mle", 300, 3.0),
    Predictor("private multinomial", "corrected", 500, 3.0),
    Clustered(20, 20, 2.0),
]


@pytest.mark.slow
def test_one_survey():
    """The simulations of the benchmark run."""
    for cell in SMALL:
        assert cell.row(surveys(cell, 2)), cell.name


@pytest.mark.slow
def test_a_slope(replications):
    R = replications(300, least=30)
    said = surveys(Slope(500, 1.0), R)
    size = {name: np.mean(said[name] < ALPHA) for name in ("Wald", "LR", "score", "default")}
    assert near(size["score"], 0.05, R)
    assert at_least(size["default"], 0.03, R) and at_most(size["default"], 0.065, R)
    assert near(held(said, "interval"), 0.95, R, errors=4.5)
    assert np.isfinite(said["interval"]).all()
    assert not np.any(said["far"] & ~said["warned"])
    assert not said["far, Jeffreys"].any()
    assert size["Wald"] <= size["score"]  # conservative: why it is no default


@pytest.mark.slow
def test_five_categories(replications):
    R = replications(120, least=12)
    said = surveys(Categories(500, 2.0, "k-RR"), R)
    size = np.mean(said["default"] < ALPHA, axis=0)[1::2]
    assert at_least(size, 0.03, R) and at_most(size, 0.065, R)
    assert near(held(said, "interval"), 0.95, R, errors=4.5)
    assert not np.any(said["far"] & ~said["warned"])


ESTIMATES: list[Cell] = [  # those by corrected scores are with their estimator
    Predictor("logit", "mle", 1000, 1.0),
    Predictor("private logit", "mle", 1000, 2.0),
    Predictor("linear", "mle", 1000, 1.0),
    Margins(3000, 1.0, 3),
]


@pytest.mark.slow
@pytest.mark.parametrize("cell", ESTIMATES, ids=lambda cell: cell.name)
def test_estimates(replications, cell):
    R = replications(120, least=12)
    said = surveys(cell, R)
    off = said["estimate"] - said["truth"]
    spread = off.std(axis=0)
    # 4 Monte Carlo errors beside the tenth of a standard deviation: there are many coefficients
    assert np.all(np.abs(off.mean(axis=0)) <= (0.1 + 4.0 / np.sqrt(R)) * spread)
    assert near(held(said, "interval"), 0.95, R)
    if isinstance(cell, Predictor):  # the reports taken for answers are far off
        assert np.abs(said["naive"] - said["truth"]).mean(axis=0).max() > 0.25


@pytest.mark.slow
def test_clusters_that_are_ignored(replications):
    """A covariate that is one for all of a cluster."""
    R = replications(400, least=100)
    said = surveys(Clustered(100, 40, 2.0, shared=1.0), R)
    assert near(held(said, "interval, Wald"), 0.95, R)
    assert not at_least(held(said, "interval, not clustered"), 0.95, R)


# ---- effects of variables: covariates are fixed, the truth is an average of the law over them


def logistic(eta: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-eta))


def holds(answer: Any, truth: Any) -> Any:
    """Whether each interval holds the truth."""
    ends = answer.conf_int().to_numpy()
    return (ends[:, 0] <= truth) & (truth <= ends[:, 1])


def taken_for_answers(reports: Any) -> Any:
    labels = reports.mechanism.categories
    return ldp.Observed(tuple(labels)).parse("y", np.asarray(labels)[np.asarray(reports.y)])


def a_polynomial(r: int) -> dict[str, Any]:
    """Its slope on average and at two values; the control takes reports for answers."""
    x, rng = np.random.default_rng(0).uniform(-2.0, 2.0, 2000), np.random.default_rng([1, r])
    table, share = pd.DataFrame({"x": x}), logistic(-0.5 + 0.6 * x + 0.4 * x**2)

    def slope(x: Any) -> Any:
        p = logistic(-0.5 + 0.6 * x + 0.4 * x**2)
        return p * (1.0 - p) * (0.6 + 0.8 * x)

    answers = np.where(rng.random(len(x)) < share, "yes", "no")
    reports = ldp.Warner(epsilon=2.0).privatize(answers, rng)
    each = {}
    for name, y in (("right", reports), ("naive", taken_for_answers(reports))):
        each[name] = ldp.regression("y ~ x + I(x ** 2)", table, {"y": y}).fit()
    at = holds(each["right"].slopes("x", at={"x": [-1.0, 1.0]}), slope(np.array([-1.0, 1.0])))
    whole, naive = (holds(one.slopes("x"), slope(x).mean()) for one in each.values())
    return {"held": np.append(at, whole), "control": naive}


def a_design(r: int) -> dict[str, Any]:
    """Categories and their odds ratios with weights and clusters; the control ignores these."""
    G, size, fixed = 120, 15, np.random.default_rng(5)
    unit, x = np.arange(G * size) // size, fixed.normal(size=G * size)
    city, w = fixed.choice(list("abc"), G)[unit], fixed.uniform(0.5, 2.0, G * size)
    rng = np.random.default_rng([2, r])

    def share(city: Any) -> Any:
        b, c = city == "b", city == "c"
        return logistic(-0.6 + 0.5 * x + 0.7 * b - 0.4 * c + 0.3 * x * b)

    z = 0.4 * rng.normal(size=G)[unit] + np.sqrt(1.0 - 0.4**2) * rng.normal(size=G * size)
    people = pd.DataFrame({"x": x, "city": city, "w": w, "unit": unit})
    people["y"] = np.where(ndtr(z) < share(city), "yes", "no")
    sheet = ldp.Questionnaire({"y": ldp.Warner(epsilon=3.0)})
    held = sheet.privatize(people, rng)
    fit = ldp.Survey(held, sheet, weights="w", clusters="unit").regression("y ~ x * city").fit()
    a, b, c = (np.average(share(np.full(len(x), one)), weights=w) for one in "abc")
    ratios = np.array([p / (1.0 - p) / (a / (1.0 - a)) for p in (b, c)])
    found = fit.comparisons("city"), fit.comparisons("city", comparison="odds_ratio")
    single = ldp.Survey(held, sheet, weights="w").regression("y ~ x * city").fit()
    return {
        "held": np.append(holds(found[0], [b - a, c - a]), holds(found[1], ratios)),
        "control": holds(single.comparisons("city"), [b - a, c - a]),
    }


def a_private_predictor(r: int) -> dict[str, Any]:
    """Its ratios, and slopes on average and among users; the control takes reports for answers."""
    x, rng = np.random.default_rng(7).normal(size=2500), np.random.default_rng([3, r])
    q = logistic(-0.3 + 0.6 * x)

    def share(use: Any) -> Any:
        return logistic(-0.8 + 0.4 * x + 0.9 * use - 0.3 * x * use)

    use = rng.random(len(x)) < q
    y = np.where(rng.random(len(x)) < share(use), "yes", "no")
    reports = {"use": ldp.Warner(epsilon=2.5).privatize(np.where(use, "yes", "no"), rng)}
    reports["y"] = ldp.Warner(epsilon=2.5).privatize(y, rng)
    fit = ldp.regression("y ~ x * use", pd.DataFrame({"x": x}), reports).fit()
    p, high, low = share(1.0), share(1.0).mean(), share(0.0).mean()
    users = p * (1.0 - p) * 0.1 * q
    others = share(0.0) * (1.0 - share(0.0)) * 0.4 * (1.0 - q)
    odds = high / (1.0 - high) / (low / (1.0 - low))
    by_use = [others.sum() / (1.0 - q).sum(), users.sum() / q.sum()]
    seen = pd.DataFrame({"x": x, "use": np.where(reports["use"].y == 1, "yes", "no")})
    naive = ldp.regression("y ~ x * use", seen, {"y": reports["y"]}).fit()
    asked: dict[str, Any] = {"variables": "use", "comparison": "odds_ratio"}
    held = [
        holds(fit.comparisons(**asked), odds),
        holds(fit.comparisons("use", comparison="ratio"), high / low),
        holds(fit.slopes("x"), (users + others).mean()),
        holds(fit.slopes("x", by="use"), by_use),
    ]
    return {"held": np.concatenate(held), "control": holds(naive.comparisons(**asked), odds)}


def several_categories(r: int) -> dict[str, Any]:
    """Slopes by delta method and simulation, ratios; the control takes reports for answers."""
    fixed, rng = np.random.default_rng(9), np.random.default_rng([4, r])
    x, sex = fixed.uniform(-1.5, 1.5, 2500), fixed.choice(["f", "m"], 2500)

    def eta(x: Any, m: Any) -> Any:
        each = 0.0 * x, 0.5 * x - 0.4 * x**2 + 0.3 * m - 0.2, 0.1 - 0.6 * x + 0.2 * m
        return np.column_stack(each)

    def shares(x: Any, m: Any) -> Any:
        return softmax(eta(x, m), axis=1).mean(axis=0)

    m, h, jobs = sex == "m", 1e-5, np.array(["a", "b", "c"])
    y = jobs[(eta(x, m) + rng.gumbel(size=(len(x), 3))).argmax(axis=1)]
    reports = ldp.KRR(tuple(jobs), epsilon=2.0).privatize(y, rng)
    slope = (shares(x + h, m) - shares(x - h, m)) / (2.0 * h)
    table, fits = pd.DataFrame({"x": x, "sex": sex}), []
    for one in (reports, taken_for_answers(reports)):
        fits.append(ldp.regression("y ~ x + I(x ** 2) + sex", table, {"y": one}).fit())
    held = [
        holds(fits[0].slopes("x"), slope),
        holds(fits[0].slopes("x", rng=rng, draws=400), slope),
        holds(fits[0].comparisons("sex", comparison="ratio"), shares(x, 1.0) / shares(x, 0.0)),
    ]
    return {"held": np.concatenate(held), "control": holds(fits[1].slopes("x"), slope)}


EFFECTS = [a_polynomial, a_design, a_private_predictor, several_categories]


@pytest.mark.slow
@pytest.mark.parametrize("setting", EFFECTS)
def test_effects_of_variables(replications, setting):
    R = replications(500, least=150)
    said = repeat(R, setting)
    assert near(said["held"].mean(axis=0), 0.95, R)
    assert not at_least(said["control"].mean(axis=0), 0.95, R, errors=3.0)


SURVEYS = 250  # at least, of every setting


@pytest.fixture(scope="module")
def stored():
    return pd.read_csv(STORED)


def test_stored_ranks_are_uniform(stored):
    found = pvalues(stored)
    right = found[~found["setting"].isin(CONTROLS)]
    assert set(right["setting"]) == set(SETTINGS) - set(CONTROLS)
    assert right["pvalue"].min() > 0.05 / len(right)
    assert right.loc[right["setting"] == "logit", "surveys"].eq(1000).all()
    assert right["surveys"].ge(SURVEYS).all()


def test_the_controls_are_seen(stored):
    """Who takes reports for answers, has another prior, or takes nobody to cheat."""
    found = pvalues(stored).set_index(["setting", "coefficient"])
    assert found["surveys"].min() >= 100
    assert (found.loc["naive", "pvalue"] < 1e-6).all()
    assert found.loc[("other prior", "age"), "pvalue"] < 1e-6
    assert found.loc[("honest", "const"), "pvalue"] < 1e-6


def near_stored(setting: str, number: int, stored: pd.DataFrame) -> bool:
    """Whether a survey has the stored ranks, but for the luck of other draws."""
    own = stored[(stored["setting"] == setting) & (stored["survey"] == number)]
    again = ranks(setting, number)
    for name, rank in zip(own["coefficient"], own["rank"], strict=True):
        share = (rank + 0.5) / RANKS
        # two sets of 63 draws, worth a third of that at least
        luck = np.sqrt(2.0 * share * (1.0 - share) * 3.0 * RANKS) + 1.0
        if abs(again[name] - rank) > 4.0 * luck:
            return False
    return True


def test_a_stored_survey_comes_out_again(stored):
    assert near_stored("logit", 7, stored)


@pytest.mark.slow
@pytest.mark.parametrize("setting", [one for one in SETTINGS if one not in CONTROLS])
def test_other_surveys_are_calibrated(setting, replications):
    """New surveys, beside the stored ones: the mean rank is that of uniform ones."""
    R = replications(40, 8)
    found = pd.DataFrame([ranks(setting, 100_000 + i) for i in range(R)])
    error = np.sqrt((RANKS**2 - 1) / 12.0 / R)
    assert np.all(np.abs(found.mean() - (RANKS - 1) / 2.0) < 4.0 * error)
