"""What results of joint models answer, refuse and keep."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import cells
from ldpstats.devices import flip, truth, unknown

Array = npt.NDArray[Any]
NAMES = ["a", "b", "c", "d"]
TOLERANCE = 1e-6


def answers(n: int, rng: np.random.Generator) -> Array:
    """Two classes of four yes/no questions, (n, 4)."""
    uses = rng.random(n) < 0.4
    return rng.random((n, 4)) < np.where(uses, 0.8, 0.15)[:, None]


@pytest.fixture(scope="module")
def reports() -> list[ldp.Reports]:
    rng = np.random.default_rng(2024)
    krr, yes = ldp.KRR(("no", "yes"), epsilon=2.0), answers(3000, rng)
    return [krr.privatize(np.where(column, "yes", "no"), rng) for column in yes.T]


@pytest.fixture(scope="module")
def classes(reports: list[ldp.Reports]) -> ldp.CellResults:
    return ldp.CellModel(reports, cells.latent_class(2), names=NAMES).fit()


@pytest.fixture(scope="module")
def pairs(reports: list[ldp.Reports]) -> ldp.CellResults:
    return ldp.CellModel(reports, cells.loglinear("a*b + c + d"), names=NAMES).fit()


def test_margins_and_conditionals_are_those_of_the_table(classes: ldp.CellResults) -> None:
    table = classes.table
    assert table.sum() == pytest.approx(1.0)
    margin = classes.margin("c", "a")
    expected = table.groupby(level=["c", "a"]).sum()
    assert margin["estimate"].to_numpy() == pytest.approx(expected[margin.index].to_numpy())
    given = classes.conditional("b", "a")["estimate"]
    both = table.groupby(level=["a", "b"]).sum()
    assert given["yes", "no"] == pytest.approx(both["yes", "no"] / both["yes"].sum())
    effect = classes.effect(lambda p: p.sum(axis=(1, 3))[1, 1])  # a and c
    row = margin.loc["yes", "yes"]
    assert effect.estimate == pytest.approx(row["estimate"])
    assert (effect.lower, effect.upper) == pytest.approx((row["lower"], row["upper"]), abs=0.003)


def test_intervals_end_where_the_likelihood_has_fallen(reports: list[ldp.Reports]) -> None:
    # an effect that is a parameter: its profile by a grid of fits with the parameter fixed
    model = ldp.CellModel(reports[:2], cells.loglinear("a*b"), names=NAMES[:2])
    results = model.fit()
    low, high = results.conf_int().loc["a[yes]:b[yes]"]

    def law(t: Array, fixed: float) -> Array:
        eta = np.stack([t[:1] * 0.0, t[1:], t[:1], t.sum(keepdims=True) + fixed]).ravel()
        p: Array = np.exp(eta) / np.exp(eta).sum()
        return p

    for end in (low, high):
        held = cells.function(lambda t, end=end: law(t, end), [0.0, 0.0], ["a", "b"])
        below = ldp.CellModel(reports[:2], held, names=NAMES[:2]).fit().llf
        assert 2.0 * (results.llf - below) == pytest.approx(3.8415, rel=0.003)


def test_classes_are_in_the_order_of_their_shares(classes: ldp.CellResults) -> None:
    assert classes.params["class 1"] > classes.params["class 2"]
    assert "the largest first" in str(classes.summary())
    beliefs = classes.posterior_classes()
    assert beliefs["respondents"].sum() == classes.nobs
    shares = beliefs[["class 1", "class 2"]]
    assert shares.sum(axis=1).to_numpy() == pytest.approx(1.0)
    mean = (shares.mul(beliefs["respondents"], axis=0)).sum() / classes.nobs
    assert mean.to_numpy() == pytest.approx(classes.params.iloc[:2].to_numpy(), abs=TOLERANCE)


def test_the_robust_covariance_is_a_sandwich_of_scores(reports: list[ldp.Reports]) -> None:
    model = ldp.CellModel(reports[:2], cells.saturated(), names=NAMES[:2])
    observed, robust = model.fit(), model.fit("robust")
    assert robust.bse.to_numpy() == pytest.approx(observed.bse.to_numpy(), rel=1e-6)
    alone = model.fit("cluster", groups=np.arange(3000))
    assert (alone.bse / robust.bse).to_numpy() == pytest.approx(np.sqrt(3000 / 2999))
    twice = ldp.CellModel([part[np.arange(6000) // 2] for part in reports[:2]], cells.saturated())
    doubled = twice.fit("cluster", groups=np.arange(6000) // 2)
    assert doubled.bse.to_numpy() == pytest.approx(alone.bse.to_numpy(), rel=1e-6)
    half = observed.bse.to_numpy() / np.sqrt(2.0)
    assert twice.fit().bse.to_numpy() == pytest.approx(half, rel=1e-5)


def test_likelihood_ratios_are_of_nested_laws(
    reports: list[ldp.Reports], classes: ldp.CellResults, pairs: ldp.CellResults
) -> None:
    none = ldp.CellModel(reports, cells.loglinear("a + b + c + d"), names=NAMES).fit()
    test = none.lr_test(pairs)
    assert test.df == 1
    assert test.statistic == pytest.approx(2.0 * (pairs.llf - none.llf))
    with pytest.raises(ldp.InvalidArgument, match="the other way round"):
        pairs.lr_test(none)
    with pytest.raises(ldp.NotAvailable, match="no chi-square law"):
        none.lr_test(classes)
    drawn = none.lr_test(classes, n_boot=19, rng=np.random.default_rng(1))
    assert drawn.pvalue == 0.05  # no simulated survey of independent answers comes near


def test_goodness_of_fit_tells_a_wrong_law(
    classes: ldp.CellResults, pairs: ldp.CellResults
) -> None:
    assert classes.goodness_of_fit().pvalue > 0.001
    assert pairs.goodness_of_fit().pvalue < 1e-6
    assert "WARNING: observed against expected pairs" in str(pairs.summary())


def test_goodness_of_fit_compares_sets_of_bits_with_their_probabilities() -> None:
    rng, answers_ = np.random.default_rng(11), answers(2000, np.random.default_rng(12))
    krr, bits = ldp.KRR((0, 1), epsilon=1.5), ldp.SubsetSelection((0, 1), epsilon=1.5)
    tests = []
    for made_by in (krr, bits):
        words = np.random.default_rng(13)  # the same noise: a set of one is a report of k-RR
        reports = [made_by.privatize(column.astype(int), words) for column in answers_.T]
        tests.append(ldp.CellModel(reports, cells.latent_class(2)).fit(rng=rng).goodness_of_fit())
    assert tests[1].df == tests[0].df == 2  # ten pairs and margins, of which classes fix eight
    assert tests[1].pvalue > 0.001


def test_estimates_on_a_bound_have_one_sided_intervals() -> None:
    rng = np.random.default_rng(3)
    krr, yes = ldp.KRR((0, 1), epsilon=1.0), np.zeros(400, dtype=int)
    model = ldp.CellModel([krr.privatize(yes, rng), krr.privatize(yes, rng)], cells.saturated())
    results = model.fit()
    at_zero = results.params[results.params < 1e-9].index
    assert len(at_zero)
    assert results.bse[at_zero].isna().all()
    ends = results.conf_int().loc[at_zero]
    assert (ends["lower"] == 0.0).all()
    assert ends["upper"].between(1e-3, 0.5).all()


def test_what_is_not_identified_is_named(reports: list[ldp.Reports]) -> None:
    asked = np.arange(3000) % 2 == 0
    apart = [(reports[0][asked], asked), (reports[1][~asked], ~asked)]
    model = ldp.CellModel(apart, cells.loglinear("a*b"), names=["a", "b"])
    with pytest.raises(ldp.NotIdentified, match=r"3 free parameters, .* determine 2"):
        model.fit()
    kept = model.fit(unidentified="keep")
    known = ldp.FrequencyModel(reports[0][asked]).fit("mle")
    assert kept.margin("a")["estimate"].to_numpy() == pytest.approx(known.params, abs=TOLERANCE)
    assert kept.margin("a")["std_error"].to_numpy() == pytest.approx(known.bse, abs=1e-5)
    with pytest.raises(ldp.NotIdentified, match="do not determine this effect"):
        kept.effect(lambda p: p[1, 1])
    with pytest.raises(ldp.NotIdentified):
        ldp.CellModel(reports[:2], cells.latent_class(2), names=["a", "b"]).fit()


def test_documents_pickles_and_copies(
    reports: list[ldp.Reports], classes: ldp.CellResults, pairs: ldp.CellResults
) -> None:
    saturated = ldp.CellModel(reports[:2], cells.saturated(), names=["a", "b"]).fit()
    for results in (classes, pairs, saturated):
        text = results.to_json()
        again = ldp.CellResults.from_json(text)
        assert again.to_json() == text
        assert str(again.summary()) == str(results.summary())
        assert again.margin("a").equals(results.margin("a"))
        for other in (pickle.loads(pickle.dumps(results)), copy.deepcopy(results)):
            assert other.params.equals(results.params)
    with pytest.raises(ldp.InvalidArgument, match="fingerprint"):
        ldp.CellResults.from_json(classes.to_json().replace('"nobs": 3000', '"nobs": 3001', 1))


@pytest.fixture(scope="module")
def cheating() -> dict[str, Any]:
    """Items with two designs each, which tell the share of cheaters; it differs by age."""
    rng, n = np.random.default_rng(6), 3000
    age, first = rng.integers(0, 3, n), np.arange(n) < n // 2
    cheats = rng.random((n, 3)) < np.array([0.05, 0.2, 0.4])[age][:, None]
    data = []
    for yes, none in zip(answers(n, rng).T, cheats.T, strict=False):
        parts = []
        for q, there in ((0.25, first), (0.6, ~first)):
            forced = flip(q).when({"heads": "yes"}, otherwise=truth)
            device = flip(unknown("cheating")).when({"heads": "no", "tails": forced})
            said = ((yes | (rng.random(n) < q)) & ~none)[there].astype(int)
            parts.append((ldp.Reports(said, device.mechanism(["no", "yes"])), there))
        data.append(parts)
    frame = pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], n)})
    return {"data": data, "covariates": frame, "names": NAMES[:3]}


def test_parameters_of_devices_may_depend_on_covariates(cheating: dict[str, Any]) -> None:
    structure = cells.loglinear("a*b + c")
    none, age, both = (
        ldp.CellModel(structure=structure, **cheating, parameters=own).fit(n_starts=3)
        for own in (None, {"cheating": "~ age"}, {"cheating": "~ age + sex"})
    )
    assert age.params.index[-2:].tolist() == ["cheating: const", "cheating: age"]
    assert none.lr_test(age).df == age.lr_test(both).df == 1
    assert none.lr_test(age).pvalue < 1e-6 < age.lr_test(both).pvalue
    assert float(age.wald_test("`cheating: age` = 0").pvalue) < 1e-4
    low, high = age.conf_int().loc["cheating: age"]
    assert low < np.log(0.4 / 0.6 / (0.05 / 0.95)) / 2.0 < high
    text = " ".join(str(age.summary()).split())
    assert "loglinear('a*b + c'), cheating ~ age of a, b and c" in text
    assert "cheating: a probability whose log odds are linear in the covariates" in text
    again = ldp.CellResults.from_json(age.to_json())
    assert str(again.summary()) == str(age.summary())
    assert again.margin("a").equals(age.margin("a"))


def test_classes_and_devices_may_have_different_covariates(cheating: dict[str, Any]) -> None:
    structure, how = cells.latent_class(2, "~ sex"), {"parameters": {"cheating": "~ age"}}
    results = ldp.CellModel(structure=structure, **cheating, **how).fit(n_starts=8)
    assert {"class 2: sex[T.m]", "cheating: age"} < {*results.params.index}
    beliefs = results.posterior_classes()
    assert beliefs.index.names == ["a", "b", "c", "sex[T.m]", "age"]
    shares = beliefs[["class 1", "class 2"]].mul(beliefs["respondents"], axis=0).sum()
    expected = results.class_shares.to_numpy()
    assert shares.to_numpy() / results.nobs == pytest.approx(expected, abs=1e-5)
    assert results.goodness_of_fit().pvalue > 0.001


def backwards():
    """A list experiment whose counts are named from the last to the first."""
    rng, there = np.random.default_rng(1), np.arange(40) < 20
    data = [
        (ldp.KRR(labels, epsilon=2.0).privatize(rng.choice(labels, 20), rng), mask)
        for labels, mask in (([2, 1, 0], there), ([3, 2, 1, 0], ~there))
    ]
    return ldp.CellModel(data, cells.list_experiment(2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda r: ldp.CellModel(r, "latent_class"), "must be a structure of ldpstats.cells"),
        (lambda r: ldp.CellModel([], cells.saturated()), "has no question"),
        (lambda r: ldp.CellModel([r[0], r[1][:9]], cells.saturated()), "must be 3000"),
        (lambda r: ldp.CellModel(r, cells.saturated(), names=["a"]), "4 different names"),
        (lambda r: ldp.CellModel(r, cells.loglinear("a*q1")), "'a', which is no question"),
        (lambda r: ldp.CellModel(r, cells.loglinear("q0:q1")), "without q0"),
        (lambda r: ldp.CellModel(r, cells.list_experiment(2)), "with 3 and 4 answers"),
        (lambda r: ldp.CellModel(r, cells.rasch("~ age")), "covariates"),
        (lambda r: ldp.CellModel(r, cells.saturated(), parameters=["~ a"]), "must map unknown"),
        (
            lambda r: ldp.CellModel(r, cells.saturated(), parameters={"luck": "~ a"}),
            "is no unknown",
        ),
        (lambda r: backwards(), "counts in order"),
        (lambda r: ldp.CellModel(r, cells.saturated(), candidates={"q0": ["no"]}), "known to"),
        (lambda r: ldp.CellModel(r, cells.saturated()).fit("hc3"), "cov_type"),
        (lambda r: ldp.CellModel(r, cells.saturated()).fit("cluster"), "groups"),
        (lambda r: cells.latent_class(0), "n_classes"),
        (lambda r: cells.function(lambda t: t, [0.0], ["a", "b"]), "as many as names"),
    ],
)
def test_bad_input_is_named(make: Any, message: str, reports: list[ldp.Reports]) -> None:
    with pytest.raises(ldp.InvalidArgument, match=message):
        make(reports)


def test_covariates_may_not_run_code(reports: list[ldp.Reports]) -> None:
    frame = pd.DataFrame({"age": np.arange(3000)})
    structure = cells.latent_class(2, "~ age + __import__('os').getpid()")
    with pytest.raises(ldp.InvalidArgument, match=r"covariates|formula"):
        ldp.CellModel(reports, structure, covariates=frame)


def test_a_question_of_five_respondents_has_its_exact_set():
    # five of five reports are yes: P(report) ** 5 at the end is exp(-1.92)
    krr = ldp.KRR(("no", "yes"), epsilon=2.0)
    model = ldp.CellModel([ldp.Reports(np.ones(5, dtype=int), krr)], cells.saturated(), names=["a"])
    low, high = model.fit().conf_int().loc["yes"]
    kept = krr.channel().matrix()[1, 1]
    end = (kept * np.exp(-3.8415 / 10.0) - (1.0 - kept)) / (2.0 * kept - 1.0)
    assert (low, high) == pytest.approx((end, 1.0), abs=2e-3)


def test_separated_answers_have_one_sided_intervals():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 200)
    b = np.where(a == 1, 1, rng.integers(0, 2, 200))
    reports = [ldp.Observed((0, 1)).parse("q", column) for column in (a, b)]
    results = ldp.CellModel(reports, cells.loglinear("a*b"), names=["a", "b"]).fit()
    low, high = results.conf_int().loc["a[1]:b[1]"]
    assert high == np.inf and 2.0 < low < 10.0
    assert results.bse.isna()["a[1]:b[1]"]
    cell = ldp.CellModel(reports, cells.saturated(), names=["a", "b"]).fit().conf_int().loc["1 : 0"]
    assert tuple(cell) == pytest.approx((0.0, 1.0 - np.exp(-3.8415 / 400.0)), abs=1e-4)


def test_covariates_far_from_zero_are_those_about_their_mean(reports):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"year": 2020.0 + rng.integers(-3, 4, 3000)})
    far = ldp.CellModel(reports, cells.latent_class(2, "~ year"), names=NAMES, covariates=frame)
    near = ldp.CellModel(
        reports, cells.latent_class(2, "~ year"), names=NAMES, covariates=frame - 2020.0
    )
    far_, near_ = far.fit(n_starts=3), near.fit(n_starts=3)
    assert far_.llf == pytest.approx(near_.llf, abs=1e-6)
    assert far_.bse["class 2: year"] == pytest.approx(near_.bse["class 2: year"], rel=1e-4)
    const = far_.params["class 2: const"] + 2020.0 * far_.params["class 2: year"]
    assert const == pytest.approx(near_.params["class 2: const"], abs=1e-3)


def test_factors_of_many_levels_are_identified(reports):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"county": rng.integers(0, 16, 3000).astype(str)})
    structure = cells.latent_class(2, "~ county")
    results = ldp.CellModel(reports, structure, names=NAMES, covariates=frame).fit(n_starts=1)
    assert results.bse.notna().all()


def test_effects_that_drop_the_imaginary_part_are_differentiated_all_the_same(classes):
    plain = classes.effect(lambda p: (p[0, 0] - p[1, 1]).sum() / p[0, 1].sum(), method="delta")
    dropped = classes.effect(
        lambda p: (p[0, 0] - p[1, 1]).sum() / np.abs(p[0, 1].sum()), method="delta"
    )
    assert (dropped.lower, dropped.upper) == pytest.approx((plain.lower, plain.upper), abs=1e-4)
    share = classes.effect({"a": "yes", "c": "yes"}, method="delta")
    assert share.estimate == pytest.approx(classes.margin("a", "c").loc[("yes", "yes"), "estimate"])


@pytest.mark.parametrize(
    ("p", "jac", "message"),
    [
        (lambda t: 1 / 0, None, "fails at"),
        (lambda t: ["a", "b"], None, "fails at"),
        (lambda t: [t[0], t[0], t[0]], None, "must return an array of shape"),
        (lambda t: [t[0], t[0]], None, "sum to one"),
        (lambda t: [1 - t[0], t[0]], lambda t: [1.0], "jac"),
    ],
)
def test_functions_that_fail_are_named(p, jac, message, reports):
    with pytest.raises(ldp.InvalidArgument, match=message):
        ldp.CellModel(reports[:1], cells.function(p, [0.3], ["share"], jac))


def test_functions_of_real_numbers_alone_are_differentiated_all_the_same(reports):
    def law(exp):
        return lambda t: [1.0 - 1.0 / (1.0 + exp(-t[0])), 1.0 / (1.0 + exp(-t[0]))]

    made = [
        ldp.CellModel(reports[:1], cells.function(law(exp), [0.3], ["odds"])).fit()
        for exp in (np.exp, math.exp)
    ]
    assert made[0].bse.to_numpy() == pytest.approx(made[1].bse.to_numpy(), rel=1e-4)


def test_names_of_questions_are_never_taken_for_others(reports):
    names = ["_q1_", "b b", "qq0"]
    model = ldp.CellModel(
        dict(zip(names, reports, strict=False)), cells.loglinear("_q1_ * `b b` + qq0")
    )
    assert "_q1_[yes]:b b[yes]" in model.law.names


@pytest.mark.parametrize("structure", [cells.loglinear("a*b + c"), cells.rasch()])
@pytest.mark.parametrize(("n", "epsilon"), [(1, 2.0), (2, 2.0), (300, 0.01)])
def test_what_hardly_anything_tells_has_intervals_without_ends(structure, n, epsilon):
    rng, krr = np.random.default_rng(2), ldp.KRR(("no", "yes"), epsilon=epsilon)
    said = [krr.privatize(["yes", "no", "yes"][j : j + 1] * n, rng) for j in range(3)]
    results = ldp.CellModel(said, structure, names=NAMES[:3]).fit()
    ends = results.conf_int().to_numpy()
    assert not np.isnan(ends).any()
    assert (np.isinf(ends) | (np.abs(ends) < 1e4 * results.params.abs().max())).all()
    assert max(map(len, str(results.summary()).splitlines())) < 120


@pytest.mark.parametrize("far", [-1e3, 1e3])
@pytest.mark.parametrize("structure", [cells.loglinear("a*b"), cells.rasch()])
def test_log_odds_as_good_as_infinite_have_slopes(structure, far):
    device = flip(unknown("careless")).when({"heads": "yes", "tails": truth})
    said = ldp.Reports(np.array([0, 1, 1]), device.mechanism(("no", "yes")))
    model = ldp.CellModel([said, said], structure, names=NAMES[:2])
    _, slope = model.evaluate(np.full(model.law.size, far))
    assert np.isfinite(slope).all()
    assert np.isfinite(model.law.shown(np.full(model.law.size, far + 1e-30j)).imag).all()


@pytest.mark.slow
def test_a_search_that_was_stuck_far_off_does_not_make_an_interval_infinite():
    rng, answers = np.random.default_rng(100), {"a": ("no", "yes"), "b": tuple("xyz")}
    answers["c"] = answers["a"]
    uses, people = rng.random(600) < 0.4, {}
    for name, (usual, other, *_) in answers.items():
        people[name] = np.where(rng.random(600) < np.where(uses, 0.8, 0.1), other, usual)
    people["region"] = rng.choice(list("pqr"), 600)
    sheet = ldp.Questionnaire({q: ldp.KRR(own, epsilon=2.0) for q, own in answers.items()}, ask=2)
    survey = ldp.Survey(sheet.privatize(pd.DataFrame(people), rng), sheet)
    results = survey.cells(["a", "b", "c"], cells.latent_class(2, "~ region")).fit()
    assert np.isfinite(results.conf_int().iloc[:3].to_numpy()).all()
