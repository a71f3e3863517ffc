"""Conditionals and effects of joint tables, and what agrees with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from shared.joint_tables import fitted, with_zeros

import ldpstats as ldp
from ldpstats.inference.tables import ratio
from ldpstats.inference.tables.effects import Effect

Array = npt.NDArray[Any]


def test_conditional_shows_the_fitted_estimate() -> None:
    krr = ldp.KRR(3, epsilon=1.0)
    results = fitted((krr, krr), with_zeros(3, 3), 500, 1)
    assert np.any(results.linear_params < 0.0)
    for on, axis in (("x", 1), ("y", 0)):
        frame = results.conditional(on)
        columns = ["estimate", "unconstrained", "lower", "upper", "unbounded", "outside"]
        assert list(frame.columns) == columns
        assert frame["estimate"].between(0.0, 1.0).all()
        sums = frame.groupby(level=on)["estimate"].sum()
        np.testing.assert_allclose(sums, 1.0, atol=1e-9)
        table = results.table
        margin = table.sum(axis=axis)
        for label in results.labels[0 if on == "x" else 1]:
            rows = frame.xs(label, level=on)
            if margin[label] <= 1e-10:
                own = table.sum(axis=1 - axis)
                np.testing.assert_allclose(rows["estimate"], own, atol=1e-9)
                assert rows["unbounded"].all()
            else:
                cells = table.loc[label] if on == "x" else table[label]
                np.testing.assert_allclose(rows["estimate"], cells / margin[label], atol=1e-9)
        outside = (frame["estimate"] < frame["lower"]) | (frame["estimate"] > frame["upper"])
        np.testing.assert_array_equal(frame["outside"], outside)


def test_a_condition_without_share_shows_the_other_margin() -> None:
    krr = ldp.KRR(3, epsilon=2.0)
    table = [[300, 100, 50], [100, 250, 60], [30, 40, 12]]
    results = ldp.AssociationModel(ldp.JointCounts.from_table(table, (krr, krr))).fit()
    assert results.table.sum(axis=1)[2] < 1e-10
    rows = results.conditional("x").xs(2, level="x")
    np.testing.assert_allclose(rows["estimate"], results.table.sum(axis=0), atol=1e-9)
    assert rows["unbounded"].all() and not rows["estimate"].isna().any()


def test_effects_have_a_set_whatever_the_table() -> None:
    krr = ldp.KRR(3, epsilon=1.0)
    results = fitted((krr, krr), with_zeros(3, 3), 500, 1)
    odds, v = results.odds_ratio((0, 2), (0, 1)), results.cramers_v()
    for effect in (odds, v):
        assert effect.given and "standard errors from 0" in effect.message
        assert 0.0 <= effect.lower < effect.upper
        assert effect.ml is None or effect.ml in effect or "does not hold" in effect.message
        assert Effect.from_dict(json.loads(json.dumps(effect.to_dict()))) == effect
    assert v.estimate == v.ml and 0.0 <= v.estimate <= 1.0  # the unconstrained table has none


@pytest.mark.slow
@pytest.mark.parametrize("weakest", [0.0, 0.7])
def test_profile_sets_cover(weakest: float, replications: Callable[[int], int]) -> None:
    """The odds ratio of cells of which one is so many standard errors from 0."""
    R, se = replications(2000), 0.02
    x = np.array([0.4, 0.2, 0.3, se * weakest])
    truth = x[0] * x[1] / max(x[2] * x[3], 1e-7)
    draws = x + se * np.random.default_rng(9).standard_normal((R, 4))
    held = [in_profile_set(draw, truth, se) for draw in draws]
    assert np.mean(held) > 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / R)
    narrow = [in_profile_set(draw, truth, se / 2.0) for draw in draws]
    assert np.mean(narrow) < 0.9  # control


def in_profile_set(draw: Array, odds: float, se: float) -> bool:
    """Whether `odds_profile` holds an odds ratio, from the distance at that one alone."""
    white = np.eye(4) / se
    nearest = np.sum((white @ np.minimum(draw, 0.0)) ** 2)
    (distance,) = ratio._distances(white, white @ draw, np.log([odds]))
    return bool(distance - nearest <= stats.norm.isf(0.025) ** 2)


def test_the_profile_set_holds_what_the_simulation_asks_for() -> None:
    se = 0.02
    for draw in np.array([0.4, 0.2, 0.3, 0.03]) + se * np.random.default_rng(1).normal(size=(5, 4)):
        _, low, high = ratio.odds_profile(draw, se**2 * np.eye(4))
        for end, inwards in ((low, 1.02), (high, 0.98)):
            if 0.0 < end < np.inf:
                assert in_profile_set(draw, end * inwards, se)
                assert not in_profile_set(draw, end / inwards, se)


@pytest.mark.parametrize("table", [[[900, 220], [300, 800]], [[900, 200], [300, 800]]])
def test_effects_are_those_of_the_linear_table(table: list[list[int]]) -> None:
    # in the second table both rows have the same sum: the product of their sums is then stationary
    krr = ldp.KRR(("no", "yes"), epsilon=3.0)
    results = ldp.AssociationModel(ldp.JointCounts.from_table(table, (krr, krr))).fit()
    P = results.linear_table.to_numpy()
    ends = ("no", "yes")
    assert results.odds_ratio(ends, ends).estimate == pytest.approx(
        P[0, 0] * P[1, 1] / (P[0, 1] * P[1, 0])
    )
    risks = P[:, 1] / P.sum(axis=1)
    assert results.risk_difference(ends, "yes").estimate == pytest.approx(risks[0] - risks[1])
    assert results.risk_ratio(ends, "yes").estimate == pytest.approx(risks[0] / risks[1])
    swapped = results.odds_ratio(("yes", "no"), ends)
    assert swapped.estimate == pytest.approx(1 / results.odds_ratio(ends, ends).estimate)


def test_detected_cells() -> None:
    krr = ldp.KRR(2, 3.0)
    joint = ldp.JointCounts.from_table([[950, 46], [46, 2]], (krr, krr))  # what (0, 0) alone gives
    found = ldp.AssociationModel(joint).fit().detected()
    assert list(found) == [(0, 0)]


SEEN = ldp.Observed(("a", "b", "c"))
ANSWERS = ("no", "maybe", "yes")
LAWS = np.array([[0.95, 0.03, 0.02], [0.3, 0.2, 0.5], [0.6, 0.35, 0.05]])


def survey(mechanism: ldp.Mechanism, n: int) -> tuple[ldp.Reports, ldp.Reports]:
    rng = np.random.default_rng(n)
    seen = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    answers = [ANSWERS[rng.choice(3, p=LAWS[i])] for i in seen]
    return ldp.Reports(seen, SEEN), mechanism.privatize(answers, rng)


@pytest.mark.parametrize(
    "mechanism", [ldp.KRR(ANSWERS, 3.0), ldp.KRAPPOR(ANSWERS, 3.0), ldp.Observed(ANSWERS)], ids=str
)
def test_intervals_are_those_of_the_groups(mechanism: Any) -> None:
    seen, reports = survey(mechanism, 300)
    results = ldp.AssociationModel(seen, reports, names=("group", "answer")).fit()
    groups = {label: reports[seen.y == i] for i, label in enumerate("abc")}
    own = ldp.GroupedModel(groups).fit().conf_int()
    given = results.conditional(on="group")
    assert np.array_equal(given[["lower", "upper"]], own)
    turned = ldp.AssociationModel(reports, seen, names=("answer", "group")).fit()
    assert np.array_equal(turned.conditional(on="group")[["lower", "upper"]], own)
    back = ldp.AssociationResults.from_json(results.to_json())
    assert back.conditional(on="group").equals(given)
    # given the answer, which has noise, they are Fieller's
    assert not np.array_equal(turned.conditional(on="answer")[["lower", "upper"]], own)


A, B = ("a", "b", "c"), ("no", "yes")
ALPHAS = (0.2, 0.05, 0.01, 0.001)
PAIRS: dict[str, tuple[Any, Any]] = {
    "labels, 2 x 2": (ldp.KRR(B, epsilon=1.0), ldp.KRR(B, epsilon=2.0)),
    "labels": (ldp.KRR(A, epsilon=2.0), ldp.KRR(B, epsilon=2.0)),
    "bits": (ldp.KRAPPOR(A, epsilon=2.0, theta=0.5), ldp.KRAPPOR(B, epsilon=2.0, theta=0.5)),
    "some protected": (ldp.URR(A, A[:1], epsilon=2.0), ldp.KRR(B, epsilon=2.0)),
    "hashes": (ldp.OLH(A, epsilon=2.0), ldp.KRR(B, epsilon=2.0)),
    "no noise": (ldp.Observed(B), ldp.Observed(B)),
}


def answers(n: int, k: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x, y = rng.choice(k, n, p=(0.7, 0.3) if k == 2 else (0.6, 0.3, 0.1)), rng.integers(2, size=n)
    return x, np.where(rng.random(n) < 0.1 * (seed % 4), x % 2, y)


def agree(effect: ldp.Effect, p: float, alpha: float) -> bool:
    """Whether the interval is above 0 exactly where the test rejects, and holds its estimate."""
    inside = np.isnan(effect.estimate) or effect.lower <= effect.estimate <= effect.upper
    return (effect.lower > 0.0) == (p < alpha) and bool(inside or effect.ml == effect.estimate)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_interval_and_the_test_agree_about_zero(pair: str) -> None:
    first, second = PAIRS[pair]
    for seed, n in enumerate((60, 200, 800)):
        x, y = answers(n, first.k, seed)
        rng = np.random.default_rng(seed)
        sent = (
            ldp.Reports(codes, mech)
            if isinstance(mech, ldp.Observed)
            else mech.privatize(np.array(labels)[codes], rng)
            for mech, codes, labels in ((first, x, A if first.k == 3 else B), (second, y, B))
        )
        results = ldp.AssociationModel(*sent).fit()
        p = results.test_independence().pvalue
        for alpha in (*ALPHAS, *np.clip([p * (1 + 1e-9), p * (1 - 1e-9)], 1e-12, 1 - 1e-12)):
            assert agree(results.cramers_v(alpha), p, float(alpha))


@pytest.mark.parametrize("k", [2, 3])
def test_weighted_tables_agree_with_their_own_test(k: int) -> None:
    for seed in range(4):
        x, y = answers(300, k, seed)
        labels = A if k == 3 else B
        rng = np.random.default_rng(seed)
        sheet = ldp.Questionnaire({"x": ldp.KRR(labels, epsilon=2.0), "y": ldp.KRR(B, epsilon=2.0)})
        people = {"w": rng.uniform(1, 3, 300), "u": np.arange(300) // 10}
        table = pd.DataFrame({"x": np.array(labels)[x], "y": np.array(B)[y], **people})
        survey = ldp.Survey(sheet.privatize(table, rng), sheet, weights="w", clusters="u")
        results = survey.association("x", "y")
        p = results.test_independence().pvalue
        assert all(agree(results.cramers_v(alpha), p, alpha) for alpha in ALPHAS)
