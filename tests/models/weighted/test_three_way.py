"""Weighted tables of three questions: by hand, against unweighted ones, and simulated surveys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from tests.simulate import at_most, coverage

NAMES = ("x", "y", "z")
NOISY = (ldp.KRR(3, 2.5), ldp.KRR(2, 2.5), ldp.Observed(2))
KINDS = {
    "labels": (ldp.KRR(3, 2.0), ldp.KRR(2, 1.5), ldp.KRR(2, 2.0)),
    "observed": (ldp.Observed(3), ldp.Observed(2), ldp.Observed(2)),
    "bits": (ldp.KRAPPOR(3, 3.0), ldp.KRR(2, 2.0), ldp.Observed(2)),
    "hashes": (ldp.ORR(3, 4, epsilon=3.0, alphabet=tuple("abc")), ldp.KRR(2, 2.0), ldp.Observed(2)),
}
DESIGNS: dict[str, dict[str, str]] = {
    "equal": {},
    "unequal": {},
    "strata": {"strata": "s"},
    "clusters": {"clusters": "u"},
}
SHARES = np.array([0.4, 0.3, 0.2, 0.1])  # of the population in strata
Z = np.array([0.55, 0.45])
# of x given z in strata, and in kinds of clusters; y given z is the same in all, so that x and y
# are independent given z in the population, and their odds ratios the same at both z
X = np.array(
    [
        [[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]],
        [[0.2, 0.4, 0.4], [0.2, 0.3, 0.5]],
        [[0.6, 0.2, 0.2], [0.5, 0.3, 0.2]],
        [[0.3, 0.5, 0.2], [0.2, 0.5, 0.3]],
    ]
)
Y = np.array([[0.65, 0.35], [0.4, 0.6]])
WEIGHT = np.linspace(1.0, 2.5, 12).reshape(3, 2, 2)  # by answer


def laws(design: str, null: bool) -> tuple[np.ndarray, np.ndarray]:
    """Joint laws of the answers, in strata or kinds of clusters, and in the population."""
    given_x, given_y = (X.mean(axis=1, keepdims=True), Y.mean(axis=0)) if null else (X, Y)
    P = np.einsum("szx,zy,z->sxyz", np.broadcast_to(given_x, X.shape), given_y + 0.0 * Y, Z)
    if design in ("equal", "unequal"):
        return P, P[0]
    return P, np.tensordot(SHARES if design == "strata" else np.full(4, 0.25), P, 1)


def drawn(design: str, rng: np.random.Generator, n: int = 2000, null: bool = False) -> pd.DataFrame:
    """Answers of a sample with its weights, strata and clusters."""
    P, _ = laws(design, null)
    stratum, unit = np.arange(n) * 4 // n, np.arange(n) // 20
    chances, w = np.broadcast_to(P[0], (n, 3, 2, 2)), np.ones(n)
    if design == "unequal":  # those with large weights are sampled less
        chances = chances / WEIGHT
    elif design == "strata":
        chances, w = P[stratum], SHARES[stratum]
    elif design == "clusters":
        chances, w = P[rng.integers(0, 4, n // 20)][unit], rng.uniform(1.0, 2.5, n)
    sums = chances.reshape(n, -1).cumsum(axis=1)
    cell = (rng.random(n)[:, None] * sums[:, -1:] > sums).sum(axis=1)
    if design == "unequal":
        w = WEIGHT.reshape(-1)[cell]
    x, y, z = np.unravel_index(cell, WEIGHT.shape)
    return pd.DataFrame({"x": x, "y": y, "z": z, "w": w, "s": stratum, "u": unit})


def reports(table: pd.DataFrame, mechanisms: Any, rng: np.random.Generator) -> Any:
    """The reports on x, y and z, and the questionnaire."""
    if isinstance(mechanisms[0], ldp.ORR):
        table = table.assign(x=np.array(list("abc"))[table["x"]])
    sheet = ldp.Questionnaire(dict(zip(NAMES, mechanisms, strict=True)))
    return sheet.privatize(table, rng), sheet


def by_hand(table: pd.DataFrame, inside: Any) -> tuple[float, float]:
    """Weighted share, and its linearised standard error: units within strata."""
    w, z = table["w"].to_numpy(), np.asarray(inside, dtype=float)
    mean = float(w @ z / w.sum())
    scores = table.assign(e=w * (z - mean) / w.sum()).groupby(["s", "u"])["e"].sum()
    strata = scores.groupby("s")
    return mean, float(np.sqrt((strata.var(ddof=1) * strata.size()).sum()))


@pytest.fixture(scope="module")
def plain() -> tuple[pd.DataFrame, ldp.Survey]:
    rng = np.random.default_rng(3)
    table = drawn("clusters", rng)
    how = {"weights": "w", "strata": "s", "clusters": "u"}
    return table, ldp.Survey(*reports(table, KINDS["observed"], rng), **how)


def test_without_noise_shares_and_errors_are_those_computed_by_hand(plain: Any) -> None:
    table, survey = plain
    results = survey.association(*NAMES)
    assert (results.nobs, results.sizes, len(results.parts)) == (2000, (3, 2, 2), 3)
    for cell in results.index:
        found = by_hand(table, (table[list(NAMES)] == list(cell)).all(axis=1))
        assert (results.params[cell], results.bse[cell]) == pytest.approx(found, rel=1e-8)
    for label in range(3):
        found = results.margins()["x"].loc[label]
        expected = by_hand(table, table["x"] == label)
        assert (found["estimate"], found["se"]) == pytest.approx(expected, rel=1e-8)
    one, other = results.params[2, 1, 0], results.params[0, 1, 0]
    assert results.ratio((2, 1, 0), (0, 1, 0))["estimate"] == pytest.approx(one / other, rel=1e-12)
    assert results.totals()["estimate"].sum() == pytest.approx(table["w"].sum(), rel=1e-12)
    jackknife = survey.replicates("jackknife").association(*NAMES)
    np.testing.assert_allclose(jackknife.bse, results.bse, rtol=0.02)


@pytest.mark.parametrize("kind", ["labels", "observed", "bits"])
def test_equal_weights_are_the_unweighted_analysis(kind: str) -> None:
    rng = np.random.default_rng(8)
    held, sheet = reports(drawn("equal", rng).assign(w=3.0), KINDS[kind], rng)
    found = ldp.Survey(held, sheet, weights="w").association(*NAMES)
    same = ldp.Survey(held, sheet).association(*NAMES, method="inversion")
    np.testing.assert_allclose(found.params, same.params, rtol=0, atol=1e-10)
    factor = np.sqrt(2000 / 1999)
    np.testing.assert_allclose(found.bse, factor * same.bse, rtol=1e-10)
    if kind == "bits":  # where the statistics rest on a more precise estimate
        return
    record = found.dependence
    mutual, given = same.test_independence(), same.test_conditional_independence("y")
    assert record.null.pearson == pytest.approx(mutual.statistic, rel=1e-8)
    assert (record.null.d, record.given[1].d) == (mutual.df, given.df)
    assert record.given[1].pearson == pytest.approx(given.statistic, rel=1e-8)
    # effects of a simple random sample are one
    assert found.test_conditional_independence("y").df[0] == pytest.approx(given.df, rel=0.02)
    if kind == "observed":
        alike = same.test_homogeneity("z")
        assert record.alike.pearson == pytest.approx(alike.statistic, rel=1e-8)
        statistic = found.test_homogeneity("z").statistic
        assert found.test_homogeneity("x").statistic == pytest.approx(statistic)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_of_three_is_the_table_of_two(kind: str) -> None:
    rng = np.random.default_rng(4)
    how = {"weights": "w", "clusters": "u"}
    survey = ldp.Survey(*reports(drawn("clusters", rng), KINDS[kind], rng), **how)
    three = survey.association(*NAMES)
    for pair in (("x", "y"), ("z", "x"), ("y", "z")):
        made, two = three.collapse(pair), survey.association(*pair)
        columns = made.summary_frame(), two.summary_frame()
        np.testing.assert_allclose(*columns, rtol=1e-9, atol=1e-12)
        test, expected = made.test_independence(), two.test_independence()
        assert test.null == expected.null
        assert (test.statistic, *test.df) == pytest.approx((expected.statistic, *expected.df))
        assert (
            made.odds_ratio((0, 1), (0, 1)).upper
            == pytest.approx(two.odds_ratio((0, 1), (0, 1)).upper)
            if kind != "hashes"
            else True
        )
        assert made.epsilon == pytest.approx(two.epsilon)
        assert str(type(made).from_json(made.to_json()).summary()) == str(made.summary())


def test_four_questions_collapse_to_three_and_two() -> None:
    rng = np.random.default_rng(4)
    table = drawn("clusters", rng).assign(v=lambda t: (t["y"] + rng.integers(0, 2, len(t))) % 2)
    asked = dict.fromkeys("xyzv", ldp.Observed(2)) | {"x": ldp.Observed(3), "y": ldp.KRR(2, 2.0)}
    held = ldp.Questionnaire(asked).privatize(table, rng)
    survey = ldp.Survey(held, asked, weights="w", clusters="u")
    four, three = survey.association("x", "y", "z", "v"), survey.association("v", "x", "z")
    again = type(four).from_json(four.to_json())
    made = again.collapse("v", "x", "z")
    np.testing.assert_allclose(made.params, three.params, rtol=1e-10)
    for given in ("v", "x", "z"):
        test, expected = (one.test_conditional_independence(given) for one in (made, three))
        assert (test.null, test.statistic) == (expected.null, pytest.approx(expected.statistic))
    assert made.collapse("z", "v").test_independence().statistic == pytest.approx(
        survey.association("z", "v").test_independence().statistic
    )
    assert "v, x and z are independent" in made.test_independence().null
    with pytest.raises(ldp.NotAvailable, match="three variables; there are 4"):
        four.test_homogeneity("x")


def test_documents_give_back_every_bit_and_refuse_damage(plain: Any) -> None:
    results = plain[1].association(*NAMES)
    document = results.to_dict()
    again = type(results).from_dict(document)
    assert again.to_dict() == document
    assert str(again.summary()) == str(results.summary())
    assert again.test_conditional_independence("z") == results.test_conditional_independence("z")
    for damaged in (
        document | {"parts": [*document["parts"][:1], {**document["parts"][1], "channel": [1.0]}]},
        document | {"counted": document["counted"][:2]},
        document | {"names": ["x", "y"]},
    ):
        with pytest.raises(ldp.InvalidArgument):
            type(results).from_dict(damaged)


def test_what_is_of_two_variables_says_so(plain: Any) -> None:
    results = plain[1].association(*NAMES)
    for call in (
        results.cramers_v,
        results.conditional,
        results.differences,
        lambda: results.plot("mosaic"),
        lambda: results.odds_ratio((0, 1), (0, 1)),
    ):
        with pytest.raises(
            ldp.NotAvailable, match=r"take two of these by collapse\(\['x', 'y'\]\)"
        ):
            call()
    with pytest.raises(ldp.NotAvailable, match="for two variables"):
        results.test_independence(effects="observed")
    with pytest.raises(ldp.InvalidArgument, match="given='w'"):
        results.test_conditional_independence("w")
    with pytest.raises(ldp.InvalidArgument, match="each once"):
        results.collapse("x")
    with pytest.raises(ldp.InvalidArgument, match=r"such as \(first label, second label, \.\.\.\)"):
        results.ratio((0, 1), (1, 1))


# -- simulated coverage and size ------------------------------------------------------------------


def simulated(design: str, R: int, naive: bool = False, null: bool = False) -> dict[str, Any]:
    """Coverage of 95 percent intervals, and the share of true hypotheses rejected at .05."""
    rng, (_, P) = np.random.default_rng(7), laws(design, null)
    found: dict[str, list[Any]] = {}
    how = {} if naive else {"weights": "w"} | DESIGNS[design]
    for _ in range(R):
        survey = ldp.Survey(*reports(drawn(design, rng, null=null), NOISY, rng), **how)
        results = survey.association(*NAMES)
        said: dict[str, Any] = {"cells": results.conf_int()}
        said["margin"] = results.margins()["x"][["lower", "upper"]]
        pair = results.collapse("z", "y")
        effects = pair.risk_difference((0, 1), 0), pair.odds_ratio((0, 1), (0, 1))
        said["effects"] = [[one.lower, one.upper] for one in effects]
        tests = {"given": results.test_conditional_independence("z")}
        if null:
            tests = {"mutual": results.test_independence()}
        elif not naive:
            try:
                tests["alike"] = results.test_homogeneity("z")
            except ldp.NotAvailable:  # a weak cell
                pass
        said |= {name: test.pvalue for name, test in tests.items()}
        for name, one in said.items():
            found.setdefault(name, []).append(np.asarray(one))
    zy = P.sum(axis=0).T
    risk = zy[:, 0] / zy.sum(axis=1)
    odds = zy[0, 0] * zy[1, 1] / (zy[0, 1] * zy[1, 0])
    truth = {
        "cells": P.reshape(-1),
        "margin": P.sum(axis=(1, 2)),
        "effects": [risk[0] - risk[1], odds],
    }
    return {
        name: coverage(ends, truth[name]) if name in truth else np.mean(np.array(ends) < 0.05)
        for name, ends in found.items()
    } | {"n_alike": len(found.get("alike", []))}


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_cover_and_tests_keep_their_size(design: str, replications: Any) -> None:
    R = replications(500, 100)
    found, error = simulated(design, R), 3.0 * np.sqrt(0.05 * 0.95 / R)
    for name in ("cells", "margin", "effects"):
        mean = found[name].mean()
        assert 0.93 - error <= mean <= 0.97 + error, (name, found[name])
    assert at_most(found["given"], 0.07, R)
    assert at_most(found["alike"], 0.07, found["n_alike"])
    assert at_most(simulated(design, R, null=True)["mutual"], 0.07, R)


@pytest.mark.slow
def test_without_the_weights_they_do_not(replications: Any) -> None:
    R = replications(150, 150)
    found = simulated("unequal", R, naive=True)
    assert found["cells"].min() < 0.5 and found["margin"].max() < 0.5
