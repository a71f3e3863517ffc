"""Joint models against other estimators of the same law, published fits, and brute force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.stats import binom

import ldpstats as ldp
from ldpstats import cells
from ldpstats.devices import flip, truth, unknown

Array = npt.NDArray[Any]
# answers of 1,000 people to five items of the Law School Admission Test, 00000 to 11111
# (Bock and Lieberman 1970)
LSAT = """3 6 2 11 1 1 3 4 1 8 0 16 0 3 2 15 10 29 14 81 3 28 15 80 16 56 21 173 11 61 28 298"""
# diagnoses of carcinoma in 118 slides by seven pathologists (Agresti 2002, table 13.1)
CARCINOMA = """0000000:34 0000100:2 0100000:6 0100001:1 0100100:4 0100101:5 1000000:2 1010101:1
1100000:2 1100001:1 1100100:2 1100101:7 1100111:1 1101001:1 1101101:2 1101111:3 1110101:13
1110111:5 1111101:10 1111111:16"""
# the National Race and Politics survey of 1991: how many said 0 to 3 to three control items, and 0
# to 4 where an item was on the list; shares and standard errors of who has the item and 0 to 3 of
# the others, then of who has not, and the p-value of no design effect (Blair and Imai 2012, p. 69,
# with the digits of their package list 9.2)
CONTROL = (8, 132, 222, 227)
LISTS = {
    "black family": (
        (19, 123, 229, 219, 34),
        (-0.0169, 0.0101, 0.0200, 0.0545, 0.0304, 0.2140, 0.3569, 0.3309),
        (0.0084, 0.0243, 0.0281, 0.0091, 0.0069, 0.0174, 0.0263, 0.0220),
        0.0443,
    ),
    "affirmative action": (
        (9, 78, 172, 184, 139),
        (-0.0019, 0.0882, 0.1696, 0.2388, 0.0155, 0.1359, 0.2073, 0.1466),
        (0.0070, 0.0229, 0.0287, 0.0177, 0.0051, 0.0155, 0.0271, 0.0267),
        0.7881,
    ),
}
# control and black family, elsewhere and in the South
SOUTH = [(5, 92, 159, 186), (15, 96, 174, 181, 20)], [(3, 40, 63, 41), (4, 27, 55, 38, 14)]


def observed(answers: Array) -> list[ldp.Reports]:
    """Answers without noise, a question a column."""
    made_by = ldp.Observed((0, 1))
    return [made_by.parse("q", column) for column in answers.T]


def lsat() -> Array:
    return np.array(list(product((0, 1), repeat=5))).repeat(list(map(int, LSAT.split())), axis=0)


def carcinoma() -> Array:
    pairs = [cell.split(":") for cell in CARCINOMA.split()]
    return np.array([list(map(int, x)) for x, _ in pairs]).repeat([int(n) for _, n in pairs], 0)


def test_saturated_is_the_joint_table_of_an_association_model() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, 900)
    y = np.where(rng.random(900) < 0.5, x % 2, rng.integers(0, 2, 900))
    reports = [
        ldp.KRR((0, 1, 2), epsilon=1.5).privatize(x, rng),
        ldp.KRAPPOR((0, 1), epsilon=2.0).privatize(y, rng),
        ldp.SubsetSelection((0, 1, 2), epsilon=1.0).privatize(x, rng),
    ]
    table = ldp.AssociationModel(*reports).fit("mle")
    results = ldp.CellModel(reports, cells.saturated()).fit()
    assert results.params.to_numpy() == pytest.approx(table.params.to_numpy(), abs=1e-7)
    assert results.llf == pytest.approx(table.llf, abs=1e-8)
    assert results.gap < 1e-9


def test_a_log_linear_model_without_noise_is_a_poisson_regression() -> None:
    rng = np.random.default_rng(5)
    a = rng.random(3000) < 0.4
    b = rng.random(3000) < np.where(a, 0.6, 0.3)
    c = rng.integers(0, 3, 3000)
    frame = pd.DataFrame({"x": a.astype(int), "y": b.astype(int), "z": c})
    counts = frame.value_counts().reset_index(name="n")
    formula = "x*y + x*C(z)"
    glm = sm.GLM.from_formula(f"n ~ {formula}", counts, family=sm.families.Poisson()).fit()
    reports = [
        ldp.Observed(tuple(range(k))).parse(name, frame[name].to_numpy())
        for name, k in (("x", 2), ("y", 2), ("z", 3))
    ]
    results = ldp.CellModel(reports, cells.loglinear("x*y + x*z"), names=list("xyz")).fit()
    names = {"x[1]": "x", "y[1]": "y", "x[1]:y[1]": "x:y", "z[1]": "C(z)[T.1]"}
    names |= {"z[2]": "C(z)[T.2]", "x[1]:z[1]": "x:C(z)[T.1]", "x[1]:z[2]": "x:C(z)[T.2]"}
    assert set(names) == set(results.params.index)
    for own, theirs in names.items():
        assert results.params[own] == pytest.approx(glm.params[theirs], abs=1e-7)
        assert results.bse[own] == pytest.approx(glm.bse[theirs], abs=1e-6)


def test_scores_of_ordered_answers_are_one_parameter_of_an_association() -> None:
    rng = np.random.default_rng(6)
    x = rng.integers(0, 4, 2000)
    y = np.clip(x + rng.integers(-2, 3, 2000), 0, 3)
    frame = pd.DataFrame({"x": x, "y": y})
    counts = pd.crosstab(x, y).stack().reset_index(name="n").set_axis(["x", "y", "n"], axis=1)
    glm = sm.GLM.from_formula("n ~ C(x) + C(y) + x:y", counts, family=sm.families.Poisson()).fit()
    made_by = ldp.Observed((0, 1, 2, 3))
    reports = [made_by.parse(name, frame[name].to_numpy()) for name in frame]
    structure = cells.loglinear("x + y + score(x):score(y)")
    results = ldp.CellModel(reports, structure, names=["x", "y"]).fit()
    assert results.params["score(x):score(y)"] == pytest.approx(glm.params["x:y"], abs=1e-7)


@pytest.mark.parametrize(("classes", "llf"), [(2, -317.2568), (3, -293.7050)])
def test_latent_classes_of_carcinoma_are_those_of_polca(classes: int, llf: float) -> None:
    model = ldp.CellModel(observed(carcinoma()), cells.latent_class(classes))
    results = model.fit(n_starts=12, unidentified="keep")
    assert results.llf == pytest.approx(llf, abs=1e-3)
    if classes == 2:  # shares and probabilities as published (Agresti 2002, section 13.2)
        assert results.params.iloc[:2].round(2).tolist() == [0.50, 0.50]


@pytest.mark.parametrize(
    ("structure", "llf"),
    [
        (cells.rasch(), -2466.94),
        (cells.rasch(sd=1.0), -2473.05),
        (cells.two_parameter(), -2466.65),
    ],
    ids=str,
)
def test_item_models_of_the_lsat_are_those_of_ltm(structure: Any, llf: float) -> None:
    results = ldp.CellModel(observed(lsat()), structure).fit()
    assert round(results.llf, 2) == llf
    if "sd of abilities" in results.params:  # easinesses and discrimination of R's ltm
        sizes = results.params.to_numpy().round(3).tolist()
        assert sizes == [-2.730, -0.999, -0.240, -1.306, -2.099, 0.755]


def test_a_function_of_a_logit_is_the_regression() -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 3, 4000)
    y = np.where(rng.random(4000) < 1.0 / (1.0 + np.exp(0.5 - 0.6 * x)), "yes", "no")
    reports = ldp.KRR(("no", "yes"), epsilon=1.5).privatize(y, rng)
    logit = ldp.regression("y ~ x", pd.DataFrame({"x": x}), {"y": reports}).fit()

    def law(t: Array) -> Array:
        yes = 1.0 / (1.0 + np.exp(-(t[0] + t[1] * np.arange(3))))
        odds = np.concatenate([t[:1] * 0.0 + 1.0, np.exp(t[2:])])
        out: Array = (odds / odds.sum())[:, None] * np.stack([1.0 - yes, yes], axis=1)
        return out

    public = ldp.Observed((0, 1, 2)).parse("x", x)
    structure = cells.function(law, [0.0, 0.0, 0.0, 0.0], ["const", "x", "u", "v"])
    results = ldp.CellModel([public, reports], structure, names=["x", "y"]).fit()
    assert results.params.to_numpy()[:2] == pytest.approx(logit.params.to_numpy(), abs=1e-6)
    assert results.bse.to_numpy()[:2] == pytest.approx(logit.bse.to_numpy(), abs=1e-6)


def test_unknown_devices_are_estimated_as_by_frequency_models() -> None:
    cheats = flip(unknown("cheating"))
    first, second = (
        cheats.when(
            {"heads": "no", "tails": flip(q).when({"heads": "yes"}, otherwise=truth)}
        ).mechanism(("no", "yes"))
        for q in (0.25, 0.6)
    )
    reference = ldp.FrequencyModel([first.counts([420, 180]), second.counts([280, 320])]).fit()
    there = np.arange(1200) < 600
    parts = [
        (ldp.Reports(np.repeat([0, 1], [420, 180]), first), there),
        (ldp.Reports(np.repeat([0, 1], [280, 320]), second), ~there),
    ]
    results = ldp.CellModel([parts], cells.saturated(), names=["item"]).fit()
    assert results.params.to_numpy() == pytest.approx(reference.params.to_numpy(), abs=1e-6)
    assert results.bse.to_numpy() == pytest.approx(reference.bse.to_numpy(), abs=1e-6)
    assert results.llf == pytest.approx(reference.llf, abs=1e-8)
    ends = reference.conf_int().to_numpy()
    assert results.conf_int().to_numpy() == pytest.approx(ends, abs=2e-4)


def test_parameters_with_covariates_maximise_the_likelihood_by_hand() -> None:
    rng, n = np.random.default_rng(3), 400
    age, sex = rng.normal(40.0, 10.0, n).round(1), rng.choice(["f", "m"], n)
    guess = flip(0.5).when({"heads": "yes", "tails": "no"})
    device = flip(unknown("careless")).when({"heads": guess, "tails": truth}).mechanism(YES)
    careless = rng.random(n) < 1.0 / (1.0 + np.exp(1.0 - 0.05 * (age - 40.0)))
    item, anchor = rng.random(n) < 0.3, np.zeros(n, dtype=bool)
    y = [np.where(careless, rng.random(n) < 0.5, x).astype(int) for x in (item, anchor)]
    law = cells.function(lambda t: [[1.0 - t[0], 0.0 * t[0]], [t[0], 0.0 * t[0]]], [0.3], ["share"])
    model = ldp.CellModel(
        [ldp.Reports(one, device) for one in y],
        law,
        covariates=pd.DataFrame({"age": age, "sex": sex}),
        parameters={"careless": "~ sex + age"},
    )
    results = model.fit(n_starts=3)
    names = ["share", "careless: const", "careless: sex[T.m]", "careless: age"]
    assert results.params.index.tolist() == names

    def fall(t: Array) -> float:
        c = 1.0 / (1.0 + np.exp(-(t[1] + t[2] * (sex == "m") + t[3] * age)))
        no, yes = (np.where(one == x, 1.0 - c / 2.0, c / 2.0) for one, x in ((y[0], 0), (y[0], 1)))
        other = np.where(y[1] == 0, 1.0 - c / 2.0, c / 2.0)
        return -float(np.log(other * ((1.0 - t[0]) * no + t[0] * yes)).sum())

    how = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 9000}
    begin = results.params.to_numpy() * 1.1
    found = minimize(fall, begin, method="Nelder-Mead", options=how)
    assert results.llf == pytest.approx(-found.fun, abs=1e-9)
    assert results.params.to_numpy() == pytest.approx(found.x, abs=1e-6)


def test_a_parameter_of_two_groups_is_two_parameters() -> None:
    n = {(0, 0): [420, 180], (0, 1): [350, 250], (1, 0): [280, 320], (1, 1): [260, 340]}

    def device(name: str, q: float) -> Any:
        forced = flip(q).when({"heads": "yes"}, otherwise=truth)
        return flip(unknown(name)).when({"heads": "no", "tails": forced}).mechanism(YES)

    place = np.repeat(np.arange(4), 600)
    y = np.concatenate([np.repeat([0, 1], own) for own in n.values()])
    parts = [
        (ldp.Reports(y[place // 2 == g], device("cheating", q)), place // 2 == g)
        for g, q in enumerate((0.25, 0.6))
    ]
    frame = pd.DataFrame({"group": np.where(place % 2, "b", "a")})
    one = ldp.CellModel(
        [parts],
        cells.saturated(),
        names=["item"],
        covariates=frame,
        parameters={"cheating": "~ group"},
    ).fit()
    parts = [
        (ldp.Reports(y[place == i], device(f"cheating_{i % 2}", (0.25, 0.6)[i // 2])), place == i)
        for i in range(4)
    ]
    two = ldp.CellModel([parts], cells.saturated(), names=["item"]).fit()
    assert one.llf == pytest.approx(two.llf, abs=1e-8)
    frequencies = ["no", "yes"]
    assert one.params[frequencies].to_numpy() == pytest.approx(two.params[frequencies], abs=1e-6)
    assert one.bse[frequencies].to_numpy() == pytest.approx(two.bse[frequencies], abs=1e-6)
    odds = one.params["cheating: const"] + np.array([0.0, one.params["cheating: group[T.b]"]])
    shares = two.params[["cheating_0", "cheating_1"]].to_numpy()
    assert 1.0 / (1.0 + np.exp(-odds)) == pytest.approx(shares, abs=1e-6)
    low, high = one.conf_int().loc["cheating: const"]
    ends = two.conf_int().loc["cheating_0"].to_numpy()
    assert 1.0 / (1.0 + np.exp(-np.array([low, high]))) == pytest.approx(ends, abs=2e-3)


def test_a_list_experiment_is_the_difference_of_means() -> None:
    rng = np.random.default_rng(4)
    count, has, treated = rng.binomial(4, 0.5, 2000), rng.random(2000) < 0.3, np.arange(2000) < 1000
    count = count + (has & treated)
    reports = [
        (ldp.Observed(tuple(range(5))).parse("control", count[~treated]), ~treated),
        (ldp.Observed(tuple(range(6))).parse("treatment", count[treated]), treated),
    ]
    results = ldp.CellModel(reports, cells.list_experiment(4)).fit()
    groups = count[treated], count[~treated]
    assert results.params["item = yes"] == pytest.approx(groups[0].mean() - groups[1].mean())
    variance = sum(group.var() / group.size for group in groups)
    assert results.bse["item = yes"] == pytest.approx(np.sqrt(variance), rel=1e-5)


def lists(*counts: Any) -> list[tuple[ldp.Reports, Array]]:
    """A control group and one with an item on its list, given counts of answers, by turns."""
    y = np.concatenate([np.repeat(np.arange(len(n)), n) for n in counts])
    treated = np.repeat(np.arange(len(counts)) % 2 == 1, [sum(n) for n in counts])
    made_by = ldp.Observed(tuple(range(4))), ldp.Observed(tuple(range(5)))
    masks = zip(made_by, (~treated, treated), strict=True)
    return [(mech.parse("count", y[there]), there) for mech, there in masks]


@pytest.mark.parametrize("name", LISTS)
def test_published_list_experiments(name: str) -> None:
    """The published shares are differences of cumulated shares; one of either list is negative.

    No probability is: the maximum of the likelihood has nobody with the item alone. The groups then
    have one share of zeros, which is pooled, and the other shares are those of who has said more.
    The item gets more than by the difference of means, .105 instead of .068 of the black family,
    of which the negative share is two standard errors below zero; so says the goodness of fit, too.
    """
    treated, shares, errors, p = LISTS[name]
    groups = np.array([(*CONTROL, 0), treated], dtype=float)
    size, scale = groups.sum(axis=1, keepdims=True), np.arange(5)
    results = ldp.CellModel(lists(CONTROL, treated), cells.list_experiment(3)).fit()

    def types(control: Array, item: Array) -> list[Any]:
        has = [control[: y + 1].sum() - item[: y + 1].sum() for y in range(4)]
        return has + [item[: y + 1].sum() - control[:y].sum() for y in range(4)]

    assert types(*(groups / size)) == pytest.approx(shares, abs=5.1e-5)
    means = groups @ scale / size[:, 0]
    spread = (groups * (scale - means[:, None]) ** 2).sum(axis=1) / (size * (size - 1.0))[:, 0]
    if name == "black family":
        assert means[1] - means[0] == pytest.approx(0.0678, abs=5e-5)
        assert np.sqrt(spread.sum()) == pytest.approx(0.0496, abs=1e-4)
    zeros = groups[:, 0].sum() / groups.sum()
    laws = (1.0 - zeros) * groups / groups[:, 1:].sum(axis=1, keepdims=True)
    laws[:, 0] = zeros
    assert results.params["item = yes"] == pytest.approx(float(np.diff(laws @ scale)[0]), abs=1e-6)
    for i, (share, error, pooled) in enumerate(zip(shares, errors, types(*laws), strict=True)):
        own = results.effect(lambda q, i=i: types(q.sum(axis=1), q.sum(axis=0))[i], method="delta")
        se = (own.upper - own.lower) / (2.0 * 1.959964)
        assert own.estimate == pytest.approx(pooled, abs=1e-6)
        assert abs(own.estimate - share) < 2.1 * error and se < 1.03 * error
        if i % 4 > 1:  # those of two and three control items do not know of zeros
            assert se == pytest.approx(error, rel=0.025)
    assert results.goodness_of_fit().pvalue == pytest.approx(p, abs=5e-4)


def test_a_list_experiment_by_region_is_the_likelihood_written_out() -> None:
    """Imai (2011), binomial counts given the item; with one binary covariate, region by region.

    Elsewhere whoever minds the neighbour minds all: that log odds is infinite.
    """

    def loss(region: int, odds: Array) -> float:
        share, *ps = 1.0 / (1.0 + np.exp(-odds))
        no, yes = (
            weight * binom.pmf(scale, 3, p)
            for weight, p in zip((1.0 - share, share), ps, strict=True)
        )
        control, item = SOUTH[region]
        together = np.append(no, 0.0) + np.append(0.0, yes)
        return -float(control @ np.log(no + yes) + item @ np.log(together))

    scale = np.arange(4)
    best = [minimize(partial(loss, s), [-2.0, 0.5, 2.0], tol=1e-10) for s in (0, 1)]
    x = pd.DataFrame({"south": np.repeat([0, 1], [sum(map(sum, own)) for own in SOUTH])})
    structure = cells.list_experiment(3, "~ south")
    model = ldp.CellModel(lists(*SOUTH[0], *SOUTH[1]), structure, covariates=x)
    results = model.fit()
    assert results.llf == pytest.approx(-sum(one.fun for one in best), abs=1e-4)
    params = results.params.to_numpy()
    assert params[[0, 2]] == pytest.approx(best[0].x[:2], abs=1e-3)
    assert params[::2] + params[1::2] == pytest.approx(best[1].x, abs=1e-3)
    assert params[4] > 10.0 and np.isnan(results.bse.iloc[4])
    ends = results.conf_int()
    assert ends.loc["item = yes: const"].to_numpy() == pytest.approx([-3.536, -2.061], abs=2e-3)
    assert np.isinf(ends.loc["control items | item = yes: south"]).all()


# -- Every law and mechanism: m, and its scores, by brute force ------------------------------------

YES = ("no", "yes")
LAWS = [
    cells.loglinear("q0*q1 + q2"),
    cells.latent_class(2),
    cells.rasch(n_nodes=5),
    cells.two_parameter(n_nodes=5),
]
MECHANISMS: list[Callable[[], Any]] = [
    lambda: ldp.KRR(YES, epsilon=1.0),
    lambda: ldp.KRAPPOR(YES, epsilon=1.0),
    lambda: ldp.Warner(epsilon=1.0),
]


@pytest.mark.parametrize("structure", LAWS, ids=str)
def test_the_likelihood_is_the_sum_over_all_cells(structure: Any) -> None:
    rng, n = np.random.default_rng(7), 60
    mechanisms = [make() for make in MECHANISMS]
    masks = rng.random((3, n)) < 0.7
    masks[0] |= ~masks.any(axis=0)
    data = [
        (mech.privatize(rng.choice(YES, there.sum()), rng), there)
        for mech, there in zip(mechanisms, masks, strict=True)
    ]
    model = ldp.CellModel(data, structure)
    theta = rng.normal(0.0, 0.5, model.law.size)
    p = model.law.cells(theta, model.reports).reshape(2, 2, 2)
    assert p.sum() == pytest.approx(1.0)
    laws = [np.ones((2, n)) for _ in mechanisms]
    for law, mech, (reports, there) in zip(laws, mechanisms, data, strict=True):
        Q, outputs = mech.channel().matrix(), reports.y
        if mech.n_bits:  # a byte has the pattern, in the order of the matrix
            outputs = reports.y[:, 0]
        law[:, there] = Q[:, outputs]
    m = np.einsum("xyz,xn,yn,zn->n", p, *laws)
    assert model.loglike(theta) == pytest.approx(float(np.log(m).sum()), abs=1e-9)
    value, slope = model.evaluate(theta)
    assert value == pytest.approx(model.loglike(theta))
    steps = 1e-6 * np.eye(theta.size)
    differences = [(model.loglike(theta + s) - model.loglike(theta - s)) / 2e-6 for s in steps]
    assert slope == pytest.approx(np.array(differences), abs=1e-5)
    scores = model.law.scores(model.reports, theta)
    assert model.reports.n @ scores == pytest.approx(slope, abs=1e-9)


@pytest.mark.parametrize("structure", [*LAWS, cells.latent_class(2, "~ age")], ids=str)
def test_every_respondent_may_have_a_device_of_her_own(structure: Any) -> None:
    rng, n = np.random.default_rng(8), 40
    guess = flip(unknown("luck")).when({"heads": "yes", "tails": "no"})
    device = flip(unknown("careless")).when({"heads": guess, "tails": truth}).mechanism(YES)
    masks = rng.random((3, n)) < 0.7
    masks[0] |= ~masks.any(axis=0)
    data = [
        (ldp.Reports(rng.integers(0, 2, there.sum()), mech), there)
        for mech, there in zip((device, ldp.KRR(YES, epsilon=1.0), device), masks, strict=True)
    ]
    frame = pd.DataFrame({"age": rng.normal(size=n), "sex": rng.integers(0, 2, n)})
    how = {"covariates": frame, "parameters": {"careless": "~ age + sex"}}
    model = ldp.CellModel(data, structure, **how)
    theta = rng.normal(0.0, 0.5, model.law.size)
    shown = pd.Series(model.law.shown(theta) / model.law.units, model.law.names)
    b = shown[["careless: const", "careless: age", "careless: sex"]].to_numpy()
    careless = 1.0 / (1.0 + np.exp(-(b[0] + frame.to_numpy() @ b[1:])))
    total = 0.0
    for i, c in enumerate(careless):  # respondents differ in age: each has a row of the reports
        one = replace(model.reports, index=model.reports.index[[i]], n=np.ones(1),
                      z=model.reports.z[[i]])  # fmt: skip
        p = model.law.cells(theta, one).reshape(2, 2, 2)
        for (part, there), axis in zip(data, range(3), strict=True):
            if there[i]:
                mech = part.mechanism
                mech = mech.at(careless=c, luck=shown["luck"]) if mech.unknown else mech
                column = mech.channel().matrix()[:, part.y[there[:i].sum()]]
                p = p * np.expand_dims(column, tuple({0, 1, 2} - {axis}))
        total += np.log(p.sum())
    value, slope = model.evaluate(theta)
    assert value == pytest.approx(total, abs=1e-9)
    steps = 1e-6 * np.eye(theta.size)
    differences = [(model.loglike(theta + s) - model.loglike(theta - s)) / 2e-6 for s in steps]
    assert slope == pytest.approx(np.array(differences), abs=1e-5)
    scores = model.law.scores(model.reports, theta)
    assert model.reports.n @ scores == pytest.approx(slope, abs=1e-9)
