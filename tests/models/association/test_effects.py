"""Cells, conditionals and effects of joint tables: their intervals and what these agree with."""

import json
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats

import ldpstats as ldp
from ldpstats.inference.tables import ratio
from ldpstats.inference.tables.ratio import Effect
from ldpstats.inference.tails import CellLaw, path_cumulants
from ldpstats.models.association.evidence import cell_law, unconstrained

Array = npt.NDArray[Any]

Results = Any


def with_zeros(k1: int, k2: int) -> Array:
    """A table with an empty row and two more empty cells."""
    P = 1.0 / np.arange(1.0, k1 * k2 + 1.0).reshape(k1, k2)
    P[-1], P[0, -1], P[1, 0] = 0.0, 0.0, 0.0
    return np.asarray(P / P.sum())


def surveys(
    mechanisms: Sequence[Any], P: Array, n: int, R: int, seed: int
) -> Iterator[ldp.AssociationModel]:
    rng = np.random.default_rng(seed)
    for _ in range(R):
        cells = np.unravel_index(rng.choice(P.size, size=n, p=P.ravel()), P.shape)
        pairs = zip(mechanisms, cells, strict=True)
        yield ldp.AssociationModel(*(m.privatize(codes, rng) for m, codes in pairs))


def fitted(mechanisms: Sequence[Any], P: Array, n: int, seed: int, **how: Any) -> Results:
    (model,) = surveys(mechanisms, P, n, 1, seed)
    return model.fit(**how)


def rare(k: int, p: float) -> Array:
    """A k x k table whose first cell has the frequency p; the others are equal."""
    P = np.full((k, k), (1.0 - p) / (k * k - 1))
    P[0, 0] = p
    return P


def dominant(k1: int, k2: int) -> Array:
    P = np.full((k1, k2), 0.05 / (k1 * k2 - 1))
    P[0, 0] = 0.95
    return P


RARE = [  # epsilon, categories, p of the rare cell
    (6.0, 3, 0.002),
    (8.0, 3, 0.003),
    (8.0, 2, 0.002),
]


def unfitted(
    model: ldp.AssociationModel, by_name: bool = False
) -> tuple[Array, CellLaw | None, Any]:
    """What intervals rest on, without a fit: estimate, law and covariance."""
    problem = unconstrained(model.evidence, by_name)
    V = problem.covariance()
    return problem.estimate()[0], cell_law(model.evidence, problem, V), V


def simulated(
    mechanisms: Sequence[Any], P: Array, n: int, R: int, seed: int
) -> tuple[Array, Array, Array]:
    """Coverage of default and of Wald intervals, and mean width of the former, of each cell.

    Whether p is in an interval is asked of the tails at p. The ends are found of a hundred surveys,
    and agree but for cells that rest on next to nothing, whose tails are not monotone.
    """
    p, held, walds, ends, differ = P.ravel(), [], [], [], []
    for model in surveys(mechanisms, P, n, R, seed):
        estimate, law, V = unfitted(model)
        assert law is not None
        tails = [law.tail(estimate, p, upper) for upper in (True, False)]
        held.append(np.minimum(*tails) > 0.025)
        walds.append(np.abs(estimate - p) <= stats.norm.isf(0.025) * np.sqrt(V.variances()))
        if len(ends) < 100:
            ends.append(law.interval(estimate))
            differ.append(held[-1] != (ends[-1][:, 0] < p) & (p < ends[-1][:, 1]))
    assert np.mean(differ) < 0.005
    return np.mean(held, axis=0), np.mean(walds, axis=0), np.diff(ends)[..., 0].mean(axis=0)


# ---- the law of an estimate along its path
def test_path_cumulants_are_those_of_the_reports():
    krr, wide = ldp.KRR(3, epsilon=2.0), ldp.CustomMechanism([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    P = np.random.default_rng(1).dirichlet(np.ones(6)).reshape(3, 2)
    (model,) = surveys((krr, wide), P, 5000, 1, 2)
    problem = unconstrained(model.evidence, False)
    estimate, law, _ = unfitted(model)
    q = problem.in_errors
    Q = np.kron(krr.channel().matrix(), wide.channel().matrix())
    features = [a.features for a in problem.strata[0].alphabets or ()]
    G = reduce(np.kron, [F @ M.T for F, M in zip(features, problem.inverses, strict=True)])
    np.testing.assert_allclose(Q @ G, np.eye(6), atol=1e-9)  # unbiased
    assert law is not None and law.step.size == estimate.size
    for cell in range(6):
        for theta in (0.0, 0.03, 0.4, 1.0):
            rest = np.delete(q, cell) / np.delete(q, cell).sum()
            p = np.insert((1.0 - theta) * rest, cell, theta)
            m = p @ Q
            centred = G[:, cell] - m @ G[:, cell]
            variance, third = m @ centred**2 / 5000, m @ centred**3 / 5000**2
            sd, skewness = law.at(np.full(6, theta))
            assert sd[cell] ** 2 == pytest.approx(variance, rel=1e-9)
            assert skewness[cell] == pytest.approx(third / variance**1.5, rel=1e-7, abs=1e-12)


def count_law(n: float, k: int, step: float = 0.0) -> CellLaw:
    """Of shares that are counted without noise."""
    cumulants = path_cumulants(np.ones((3, k)), np.zeros((3, k)), n)
    return CellLaw(*cumulants, step=np.full(k, step), doubt=np.zeros(k))


def test_an_interval_need_not_hold_the_estimate():
    # -.001 is impossible at 0, where the standard deviation is .0001, but likely at .004
    law = CellLaw(np.array([[1e-8, 1e-2, 0.0]]), np.zeros((1, 4)), np.zeros(1), np.zeros(1))
    low, high = law.interval(np.array([-0.001]))[0]
    for end in (low, high):
        theta = np.array([max(end, 0.0)])
        z = (theta + 0.001) / law.at(theta)[0]
        assert low < 0.0 or abs(z[0]) == pytest.approx(stats.norm.isf(0.025), rel=1e-6)
    assert high == pytest.approx(0.0365, abs=0.001)


def test_intervals_of_a_count_cover_at_every_frequency():
    """Exactly, by summation: at least .942; without any correction as little as .91."""
    n = 2000
    tally = np.arange(0, 200)
    least = {}
    for part in (0.25, 0.0):
        ends = count_law(n, tally.size, part / n).interval(tally / n)
        p = np.linspace(2e-4, 0.03, 600)
        inside = (ends[:, :1] <= p) & (p <= ends[:, 1:])
        least[part] = np.sum(inside * stats.binom.pmf(tally[:, None], n, p), axis=0).min()
    assert least[0.25] > 0.94
    assert least[0.0] < 0.92  # control


def test_no_interval_of_a_noisy_table_has_width_zero():
    krr = ldp.KRR(6, epsilon=0.5)
    for seed in range(20):
        results = fitted((krr, krr), dominant(6, 6), 300, seed)
        widths = np.diff(results.conf_int().to_numpy())
        assert widths.min() > 1e-3
        uncut = results.conf_int(clip=False).to_numpy()
        if np.any(uncut[:, 1] < 0.0):
            break
    else:
        pytest.fail("no interval lay below 0")


def test_pvalues_agree_with_intervals():
    results = fitted((ldp.KRR(3, epsilon=4.0),) * 2, with_zeros(3, 3), 800, 5)
    p = results.pvalues.to_numpy()
    for alpha in (0.01, 0.05, 0.3):
        ends = results.conf_int(alpha, clip=False).to_numpy()
        np.testing.assert_array_equal(p > alpha, (ends[:, 0] <= 0.0) & (0.0 <= ends[:, 1]))
    one_sided = results.detected(0.05)
    assert set(one_sided) <= set(results.index[p < 0.1 / 9])


# ---- rare cells
@pytest.mark.parametrize(("epsilon", "k", "p"), RARE)
def test_a_rare_cell_has_a_skewed_interval(epsilon, k, p):
    krr = ldp.KRR(k, epsilon)
    (model,) = surveys((krr, krr), rare(k, p), 1000, 1, 1)
    results = model.fit()
    low, high = results.conf_int(clip=False).iloc[0]
    estimate = results.linear_params.iloc[0]
    assert high - estimate > 1.3 * (estimate - low)  # a Wald interval is symmetric
    assert "WARNING: 1 of" in str(results.summary())
    assert "(0 : 0:" in str(results.summary())
    assert results.smallest_expected > 10.0  # under independence there are many
    np.testing.assert_allclose(
        results.conf_int(clip=False), unfitted(model)[1].interval(unfitted(model)[0]), rtol=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "k", "p"), RARE[::2])
def test_rare_cells_are_covered(epsilon, k, p, replications):
    """At least .93 in the rare cell, .94 to .965 in the others; Wald intervals fall short in it."""
    R = replications(2000, least=500)
    krr = ldp.KRR(k, epsilon)
    held, wald, _ = simulated((krr, krr), rare(k, p), 1000, R, int(10 * epsilon) + k)
    se = np.sqrt(0.05 * 0.95 / R)
    assert held[0] > 0.93 - se
    assert 0.94 < held[1:].mean() < 0.965
    assert held[1:].min() > 0.94 - 3 * se and held[1:].max() < 0.965 + 3 * se
    assert wald[0] < 0.93 - 2 * se  # control


# ---- bits
BITS = {
    "krappor": (ldp.KRAPPOR(3, epsilon=4.0),) * 2,
    "mixed": (ldp.KRR(3, epsilon=2.0), ldp.KRAPPOR(4, epsilon=4.0)),
    "urap": (ldp.URAP(4, sensitive=[0, 1], epsilon=2.0), ldp.URAP(3, sensitive=[0], epsilon=1.0)),
    "three": (ldp.KRR(2, epsilon=3.0), ldp.KRAPPOR(3, epsilon=3.0), ldp.KRAPPOR(2, epsilon=2.0)),
}


def sizes(mechanisms: Sequence[Any]) -> tuple[int, ...]:
    return tuple(m.k for m in mechanisms)


@pytest.mark.parametrize("name", BITS)
def test_bits_rest_on_their_scores(name):
    mechanisms = BITS[name]
    P = np.random.default_rng(2).dirichlet(np.full(np.prod(sizes(mechanisms)), 5.0))
    (model,) = surveys(mechanisms, P.reshape(sizes(mechanisms)), 3000, 1, 1)
    results = model.fit()
    np.testing.assert_allclose(results.linear_params, model.fit("one_step").params)
    assert results.linear_params.sum() == pytest.approx(1.0, abs=1e-9)
    # the moments that are asked for by name are as they were
    moments = model.fit("moments-gls")
    assert np.abs(moments.linear_params - results.linear_params).max() > 1e-6
    np.testing.assert_allclose(moments.linear_params, moments.params, atol=1e-12)
    assert results.linear_bse.mean() < moments.linear_bse.mean()


def best_widths(mechanisms: Sequence[Any], P: Array, n: int) -> Array:
    """Widths of Wald intervals by the information of all reports at the truth."""
    Q = reduce(np.kron, [m.channel().matrix() for m in mechanisms])
    p = P.ravel()
    m = p @ Q
    some = m > 0.0
    V = np.linalg.inv((Q[:, some] / m[some]) @ Q[:, some].T) - np.outer(p, p)
    return np.asarray(2 * stats.norm.isf(0.025) * np.sqrt(np.diagonal(V) / n))


# mechanisms, law, n, and the mean width of positive cells over that of the information
EFFICIENT = [
    ((ldp.KRAPPOR(4, epsilon=4.0),) * 2, with_zeros, 1000, 1.25),
    ((ldp.URAP(4, sensitive=[0, 1], epsilon=1.0), ldp.KRR(3, epsilon=4.0)), with_zeros, 5000, 1.25),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanisms", "law", "n", "width"), EFFICIENT)
def test_cells_of_bits_are_covered_by_short_intervals(mechanisms, law, n, width, replications):
    """At least .935, positive and empty cells."""
    R = replications(1000, least=300)
    P = law(*sizes(mechanisms))
    held, _, widths = simulated(mechanisms, P, n, R, 17)
    se, positive = np.sqrt(0.05 * 0.95 / R), P.ravel() > 0.0
    for part in (positive, ~positive):
        assert held[part].mean() > 0.94
        assert held[part].min() > 0.935 - 3 * se
    assert np.mean(widths[positive] / best_widths(mechanisms, P, n)[positive]) < width


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanisms", "n", "law"),
    [
        ((ldp.URAP(4, [0, 1], epsilon=1.0), ldp.KRR(3, epsilon=1.0)), 1000, dominant),
        ((ldp.KRAPPOR(3, epsilon=10.0), ldp.KRR(3, epsilon=4.0)), 500, with_zeros),
    ],
)
def test_cells_of_unlike_pairs_are_covered(mechanisms, n, law, replications):
    R = replications(500, least=300)
    P = law(*sizes(mechanisms))
    held = simulated(mechanisms, P, n, R, 23)[0]
    se = np.sqrt(0.05 * 0.95 / R)
    assert held.mean() > 0.94
    assert held.min() > 0.93 - 3.5 * se


def test_conditional_shows_the_fitted_estimate():
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


def test_a_condition_without_share_shows_the_other_margin():
    krr = ldp.KRR(3, epsilon=2.0)
    table = [[300, 100, 50], [100, 250, 60], [30, 40, 12]]
    results = ldp.AssociationModel(ldp.JointCounts.from_table(table, (krr, krr))).fit()
    assert results.table.sum(axis=1)[2] < 1e-10
    rows = results.conditional("x").xs(2, level="x")
    np.testing.assert_allclose(rows["estimate"], results.table.sum(axis=0), atol=1e-9)
    assert rows["unbounded"].all() and not rows["estimate"].isna().any()


def test_effects_have_a_set_whatever_the_table():
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
def test_profile_sets_cover(weakest, replications):
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


def test_the_profile_set_holds_what_the_simulation_asks_for():
    se = 0.02
    for draw in np.array([0.4, 0.2, 0.3, 0.03]) + se * np.random.default_rng(1).normal(size=(5, 4)):
        _, low, high = ratio.odds_profile(draw, se**2 * np.eye(4))
        for end, inwards in ((low, 1.02), (high, 0.98)):
            if 0.0 < end < np.inf:
                assert in_profile_set(draw, end * inwards, se)
                assert not in_profile_set(draw, end / inwards, se)


@pytest.mark.parametrize("table", [[[900, 220], [300, 800]], [[900, 200], [300, 800]]])
def test_effects_are_those_of_the_linear_table(table):
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


def test_detected_cells():
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
def test_intervals_are_those_of_the_groups(mechanism):
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
def test_the_interval_and_the_test_agree_about_zero(pair):
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
def test_weighted_tables_agree_with_their_own_test(k):
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
